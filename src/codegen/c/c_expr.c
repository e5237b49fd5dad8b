/* SPDX-License-Identifier: MIT */
/* Expressions: leaves, operators by shape, and what gets a name.
 *
 * Takes   the expressions of one statement, of which c_count() has seen every root.
 * Gives   texts in which a part that is used more than once is a name.
 * Holds   no operator does anything but compute and no load is out of bounds, also in a choice that is not taken
 *         (interp/execute.h): so a part may be computed before the choice that it stands in. */
#include "codegen/c/c.h"
#include "ir/math.h"
#include "ir/func.h"

#include <stdlib.h>
#include <string.h>

enum {
    WORTH_NAMING = 14,  /* characters of a text that is used twice */
    MOST_TEXT    = 1500 /* of one that is used once */
};

void c_statement(CGen *g)
{
    g->statement = ++g->statement_count;
}

void c_count(CGen *g, const Expr *e)
{
    if (g->counted[e->id] == g->statement) {
        g->uses[e->id]++;
        return;
    }
    g->counted[e->id] = g->statement;
    g->uses[e->id]    = 1;
    for (uint32_t i = 0; i < e->count; i++)
        c_count(g, e->args[i]);
}

/* ---- Names ---- */

static bool is_name(const char *text)
{
    for (const char *c = text; *c; c++)
        if (!strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_", *c))
            return false;
    return true;
}

static const char *value_type(CGen *g, kn_type type, CValue v)
{
    if (v.shape != LANES)
        return c_type(type);
    return type == KN_BOOL ? c_mask_type(g, v.mask, g->lanes) : c_vector_type(g, type, g->lanes);
}

/* The value under a name: declared where all it is made of is known, or here if it reads memory. */
CValue c_named(CGen *g, kn_type type, CValue v, const char *hint)
{
    if (!v.text || is_name(v.text))
        return v;
    const int level = v.reads ? g->depth : v.level < g->f->base ? g->f->base : v.level;
    return c_declare_value(g, level, value_type(g, type, v), hint, v);
}

/* ---- Leaves ---- */

/* args->in.dim[1].stride, as a constant of the function. */
const char *c_port_field(CGen *g, const Buffer *b, const char *field, int dim)
{
    const char *port = c_identifier(g, b->name);
    const char *hint = c_print(g, "%s_%s_%d", port, field, dim);
    const char *type = !strcmp(field, "stride") ? "int64_t" : "int32_t";
    return c_declare(g, g->f->base, type, hint, c_print(g, "args->%s.dim[%d].%s", port, dim, field));
}

/* How many elements from the first to the last of a port; 0 if it is empty. */
static const char *port_count(CGen *g, const Buffer *b)
{
    const char *name = "kn_count";
    if (c_helper_new(g, name))
        text_add(&g->helpers, "/* The elements from the first to the last of a buffer; 0 if it is empty. */\n"
                              "KN_INLINE int64_t kn_count(const kn_buffer *b)\n{\n  int64_t count = 1;\n"
                              "  for (int d = 0; d < b->rank; d++) {\n    if (b->dim[d].extent <= 0)\n      return 0;\n"
                              "    const int64_t stride = b->dim[d].stride;\n"
                              "    count += (b->dim[d].extent - (int64_t)1) * (stride < 0 ? -stride : stride);\n  }\n"
                              "  return count;\n}\n\n");
    const char *port = c_identifier(g, b->name);
    return c_declare(g, g->f->base, "int64_t", c_print(g, "%s_count", port), c_print(g, "kn_count(&args->%s)", port));
}

/* B.min.D, B.extent.D, B.stride.D and B.count of a port. */
static CValue port_variable(CGen *g, const char *name)
{
    static const char *const fields[] = { "min", "extent", "stride" };
    for (int i = 0; i < g->program->port_count; i++) {
        const Buffer *b = g->program->buffers.at[i];
        const size_t  n = strlen(b->name);
        if (strncmp(name, b->name, n) != 0 || name[n] != '.')
            continue;
        const char *rest = name + n + 1;
        if (!strcmp(rest, "count"))
            return c_name_value(port_count(g, b), g->f->base);
        for (int k = 0; k < 3; k++) {
            const size_t m = strlen(fields[k]);
            if (!strncmp(rest, fields[k], m) && rest[m] == '.' && atoi(rest + m + 1) < b->rank)
                return c_name_value(c_port_field(g, b, fields[k], atoi(rest + m + 1)), g->f->base);
        }
    }
    c_fail(g, "it uses `%s`, which nothing binds", name);
}

static CValue variable(CGen *g, const Expr *e)
{
    CBinding *b = c_binding(g, e->u.name);
    if (!b && g->kernel)
        c_fail(g, "the kernel `%s` uses `%s`, which nothing binds", g->kernel->stmt->kernel.name, e->u.name);
    if (!b)
        return port_variable(g, e->u.name);
    if (b->pending) {
        b->value   = c_named(g, b->type, b->value, c_identifier(g, b->name));
        b->pending = false;
    }
    return b->value;
}

static CValue input_size(CGen *g, const Expr *e)
{
    for (int i = 0; i < g->program->port_count; i++) {
        const Buffer *b = g->program->buffers.at[i];
        if (b->func == e->u.call.func->name && b->kind == BUFFER_INPUT)
            return c_name_value(c_port_field(g, b, e->op == EX_DIM_EXTENT ? "extent" : "min", (int)e->u.call.index),
                                g->f->base);
    }
    c_fail(g, "it asks for the size of an input that is no port");
}

const char *c_param_key(CGen *g, const Param *p)
{
    return intern(g->program->cx, c_print(g, "param %s", p->name));
}

static CValue parameter(CGen *g, const Expr *e)
{
    if (g->kernel)
        return c_binding(g, c_param_key(g, e->u.param))->value;
    const char *name = c_identifier(g, e->u.param->name);
    return c_name_value(c_declare(g, g->f->base, c_type(e->type), name, c_print(g, "args->%s", name)), g->f->base);
}

static CValue int_value(CGen *g, const Expr *e)
{
    const char *text = e->type == KN_BOOL ? (e->u.i ? "true" : "false") : c_int_text(g, e->type, e->u.i);
    return (CValue){ .text = text, .prec = text[0] == '-' ? P_UNARY : P_PRIMARY, .level = g->f->base };
}

static CValue float_value(CGen *g, const Expr *e)
{
    const char *text = c_float_text(g, e->type, e->u.f);
    return (
        CValue){ .text = text, .prec = text[0] == '-' || text[0] == '(' ? P_UNARY : P_PRIMARY, .level = g->f->base };
}

/* ---- Sums of coordinates ---- */

static bool is_index(const Expr *e)
{
    return e->type == KN_I32 || e->type == KN_I64;
}

/* base + sign * other, either of which may be nothing. */
static CValue joined(CGen *g, CValue a, CValue b, bool minus)
{
    CValue r = { .prec   = P_ADD,
                 .offset = minus ? a.offset - b.offset : a.offset + b.offset,
                 .step   = minus ? a.step - b.step : a.step + b.step,
                 .level  = a.level > b.level ? a.level : b.level,
                 .reads  = a.reads || b.reads };
    r.shape  = r.step ? RAMP : UNIFORM;
    a.offset = b.offset = 0;
    if (!b.text) {
        r.text = a.text;
        r.prec = a.prec;
    } else if (!a.text && !minus) {
        r.text = b.text;
        r.prec = b.prec;
    } else if (!a.text) {
        r.text = c_print(g, "-%s", c_operand(g, b, P_PRIMARY));
        r.prec = P_UNARY;
    } else {
        r.text = c_print(g, "%s %s %s", c_operand(g, a, P_ADD), minus ? "-" : "+", c_operand(g, b, P_MUL));
    }
    return r;
}

static bool small_constant(const Expr *e, int64_t *c)
{
    return expr_is_int(e, c) && *c > -(1 << 30) && *c < 1 << 30;
}

/* Sums, differences and multiples that do not wrap keep their constant and their step apart. */
static bool linear(CGen *g, const Expr *e, const CValue *args, CValue *out)
{
    int64_t      c;
    const CValue constant = { 0 };
    if (!is_index(e) || args[0].shape == LANES || (e->count > 1 && args[1].shape == LANES))
        return false;
    if (e->op == EX_CAST && e->type == KN_I64 && e->args[0]->type == KN_I32) {
        *out      = args[0];
        out->text = args[0].text
                        ? c_print(g, "(int64_t)%s",
                                  c_operand(g, (CValue){ .text = args[0].text, .prec = args[0].prec }, P_UNARY))
                        : NULL;
        out->prec = P_UNARY;
        return true;
    }
    if (e->op == EX_CAST && e->type == e->args[0]->type) {
        *out = args[0];
        return true;
    }
    if ((e->op != EX_ADD && e->op != EX_SUB && e->op != EX_MUL && e->op != EX_NEG) || c_wraps(g, e))
        return false;
    if (e->op == EX_NEG) {
        *out = joined(g, constant, args[0], true);
        return true;
    }
    if (e->op == EX_MUL) {
        const int place = small_constant(e->args[1], &c) ? 1 : 0;
        if (!small_constant(e->args[place], &c))
            return false;
        CValue a   = args[1 - place];
        out->text  = a.text ? c_print(g, "%s * %lld", c_operand(g, (CValue){ .text = a.text, .prec = a.prec }, P_MUL),
                                      (long long)c)
                            : NULL;
        *out       = (CValue){ .text   = out->text,
                               .prec   = P_MUL,
                               .offset = a.offset * c,
                               .step   = a.step * c,
                               .level  = a.level,
                               .reads  = a.reads };
        out->shape = out->step ? RAMP : UNIFORM;
        return true;
    }
    CValue a = args[0], b = args[1];
    if (small_constant(e->args[0], &c))
        a = (CValue){ .offset = c, .level = g->f->base };
    if (small_constant(e->args[1], &c))
        b = (CValue){ .offset = c, .level = g->f->base };
    *out = joined(g, a, b, e->op == EX_SUB);
    return true;
}

/* ---- Operators ---- */

/* a*b + c where a product and a sum may be one operation: the product, or NULL. Of two the first, and none that is used
 * elsewhere too: as LLVM chooses. */
static const Expr *contracted(CGen *g, const Expr *e, int *place)
{
    if ((e->op != EX_ADD && e->op != EX_SUB) || (e->type != KN_F32 && e->type != KN_F64) || e->strict ||
        g->program->strict_float)
        return NULL;
    for (*place = 0; *place < 2; ++*place) {
        const Expr *p = e->args[*place];
        if (p->op == EX_MUL && !p->strict && g->uses[p->id] == 1)
            return p;
    }
    return NULL;
}

/* kn_fma_f32(a, b, c): one operation where the machine has it, else a product and a sum. */
static const char *fma_function(CGen *g, kn_type t, int lanes)
{
    const char *name =
        lanes ? c_print(g, "kn_fma_%sx%d", kn_type_name(t), lanes) : c_print(g, "kn_fma_%s", kn_type_name(t));
    const char *ct = c_type(t);
    if (!c_helper_new(g, name))
        return name;
    if (!lanes) {
        text_printf(&g->helpers,
                    "/* a * b + c: rounded once where the machine has an instruction for that. */\n"
                    "#ifdef KN_FMA_%s\n"
                    "KN_INLINE %s %s(%s a, %s b, %s c)\n{\n  return fma%s(a, b, c);\n}\n"
                    "#else\n"
                    "KN_INLINE %s %s(%s a, %s b, %s c)\n{\n  return a * b + c;\n}\n#endif\n\n",
                    t == KN_F32 ? "F32" : "F64", ct, name, ct, ct, ct, t == KN_F32 ? "f" : "", ct, name, ct, ct, ct);
        return name;
    }
    const char *scalar = fma_function(g, t, 0), *vt = c_vector_type(g, t, lanes);
    text_printf(&g->lane_helpers,
                "KN_LANE %s %s(%s a, %s b, %s c)\n{\n#if defined __clang__\n#pragma STDC FP_CONTRACT ON\n"
                "  return a * b + c;\n#else\n  %s r = c;\n  KN_UNROLL for (int i = 0; i < %d; i++)\n"
                "    r[i] = %s(a[i], b[i], c[i]);\n  return r;\n#endif\n}\n\n",
                vt, name, vt, vt, vt, vt, lanes, scalar);
    return name;
}

/* The sum of a product and another number, rounded once if the machine likes. */
static bool fused(CGen *g, const Expr *e, CValue *out)
{
    int         place;
    const Expr *p = contracted(g, e, &place);
    if (!p)
        return false;
    CValue      v[3]  = { c_expr(g, p->args[0]), c_expr(g, p->args[1]), c_expr(g, e->args[1 - place]) };
    const bool  lanes = v[0].shape == LANES || v[1].shape == LANES || v[2].shape == LANES;
    const char *text[3];
    *out = (CValue){ .prec = P_PRIMARY, .shape = lanes ? LANES : UNIFORM };
    for (int i = 0; i < 3; i++) {
        text[i]    = lanes ? c_lanes(g, e->type, v[i]) : c_full(g, v[i]);
        out->level = v[i].level > out->level ? v[i].level : out->level;
        out->reads |= v[i].reads;
    }
    /* a*b - c is a*b + -c, and c - a*b is -a*b + c */
    if (e->op == EX_SUB)
        text[place ? 0 : 2] = c_print(g, "-(%s)", text[place ? 0 : 2]);
    out->text = c_print(g, "%s(%s, %s, %s)", fma_function(g, e->type, lanes ? g->lanes : 0), text[0], text[1], text[2]);
    return true;
}

static CValue call_extern(CGen *g, const Expr *e)
{
    Text   t;
    CValue r = { .prec = P_PRIMARY, .level = g->depth, .reads = true };
    if (g->kernel)
        c_fail(g, "the kernel `%s` calls the C function `%s`, and a device cannot call functions of the host",
               g->kernel->stmt->kernel.name, e->u.name);
    text_init(&t, g->arena);
    const char *declared = c_print(g, "extern %s", e->u.name);
    const bool  first    = c_helper_new(g, declared);
    if (first)
        text_printf(&g->externs, "%s %s(", c_memory_type(e->type), e->u.name);
    text_printf(&t, "%s(", e->u.name);
    for (uint32_t i = 0; i < e->count; i++) {
        if (first)
            text_printf(&g->externs, "%s%s", i ? ", " : "", c_memory_type(e->args[i]->type));
        text_printf(&t, "%s%s", i ? ", " : "", c_uniform(g, e->args[i]));
    }
    if (first)
        text_printf(&g->externs, "%s);\n", e->count ? "" : "void");
    text_add(&t, ")");
    r.text = text_string(&t);
    if (e->type == KN_BOOL) {
        r.text = c_print(g, "%s != 0", r.text);
        r.prec = P_EQUAL;
    }
    return r;
}

static CValue load(CGen *g, const Expr *e)
{
    const CAddress a = c_address(g, e->u.buffer, e->args[0], true);
    if (a.shape != UNIFORM)
        return c_vector_load(g, e, &a);
    CValue v = { .text = c_print(g, "%s[%s]", a.buffer, a.index), .prec = P_PRIMARY, .level = g->depth, .reads = true };
    if (e->type == KN_BOOL) {
        v.text = c_print(g, "%s != 0", v.text);
        v.prec = P_EQUAL;
    }
    return v;
}

static CValue mathematics(CGen *g, const Expr *e)
{
    CValue r = { .prec = P_PRIMARY }, args[3];
    for (uint32_t i = 0; i < e->count; i++) {
        args[i] = c_expr(g, e->args[i]);
        r.shape = args[i].shape != UNIFORM ? LANES : r.shape;
        r.level = args[i].level > r.level ? args[i].level : r.level;
        r.reads |= args[i].reads;
    }
    const int lanes = r.shape == LANES ? g->lanes : 0;
    Text      t;
    text_init(&t, g->arena);
    text_printf(&t, "%s(", c_math(g, e, lanes));
    for (uint32_t i = 0; i < e->count; i++)
        text_printf(&t, "%s%s", i ? ", " : "", lanes ? c_lanes(g, e->args[i]->type, args[i]) : c_full(g, args[i]));
    text_add(&t, ")");
    r.text = text_string(&t);
    return r;
}

static CValue operator_value(CGen *g, const Expr *e)
{
    CValue args[3], r;
    bool   lanes = false;
    if (math_has((ExprOp)e->op))
        return mathematics(g, e);
    if (e->count > 3)
        c_fail(g, "it has the operator `%s`", expr_op_table[e->op].name);
    if (fused(g, e, &r))
        return r;
    for (uint32_t i = 0; i < e->count; i++) {
        args[i] = c_expr(g, e->args[i]);
        lanes |= args[i].shape != UNIFORM;
    }
    if (linear(g, e, args, &r))
        return r;
    const bool sums = e->op == EX_ADD || e->op == EX_SUB || e->op == EX_MUL || e->op == EX_NEG;
    return lanes ? c_vector_operator(g, e, args) : c_operator(g, e, args, sums && c_wraps(g, e));
}

static CValue node(CGen *g, const Expr *e)
{
    switch (e->op) {
    case EX_INT: return int_value(g, e);
    case EX_FLOAT: return float_value(g, e);
    case EX_VAR: return variable(g, e);
    case EX_PARAM: return parameter(g, e);
    case EX_DIM_MIN:
    case EX_DIM_EXTENT: return input_size(g, e);
    case EX_LOAD: return load(g, e);
    case EX_EXTERN: return call_extern(g, e);
    default: return operator_value(g, e);
    }
}

/* What a part of an expression is called that the program has no name for. */
static const char *hint_of(const Expr *e)
{
    return e->op == EX_LOAD ? "pixel" : e->type == KN_BOOL ? "is" : type_is_float(e->type) ? "t" : "n";
}

CValue c_expr(CGen *g, const Expr *e)
{
    if (g->stamps[e->id] == g->statement)
        return g->answers[e->id];
    CValue       v    = node(g, e);
    const size_t size = v.text ? strlen(v.text) : 0;
    const bool   leaf = e->count == 0;
    if (!leaf &&
        ((g->counted[e->id] == g->statement && g->uses[e->id] > 1 && (size > WORTH_NAMING || v.shape == LANES)) ||
         size > MOST_TEXT))
        v = c_named(g, e->type, v, hint_of(e));
    g->stamps[e->id]  = g->statement;
    g->answers[e->id] = v;
    return v;
}

const char *c_uniform(CGen *g, const Expr *e)
{
    const CValue v = c_expr(g, e);
    if (v.shape != UNIFORM)
        c_fail(g, "a value that must be the same in all lanes is not");
    return c_full(g, v);
}
