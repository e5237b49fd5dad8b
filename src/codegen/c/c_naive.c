/* SPDX-License-Identifier: MIT */
/* Plain loop nests as C that `kiln tile` reads.
 *
 * Takes   nests whose calls have subscripts for arguments (ir/nests.h).
 * Gives   one function: its arguments are floats that parameters are, inputs, outputs; other arrays are its own. Runs
 * of affine nests stand between `#pragma scop` and `#pragma endscop`; arrays that nothing else reads are declared
 *         temporary. A nest that is not affine stands outside, and a comment says why.
 * Holds   an element is read only where the program reads it: what is chosen by ?: is not computed before it. A part
 *         that is used twice and always computed is a constant of the loop body. */
#include "codegen/c/c.h"
#include "ir/math.h"
#include "ir/nests.h"

#include <ctype.h>
#include <string.h>

enum {
    WORTH_A_NAME = 8,   /* nodes of a part that is used twice */
    MOST_NODES   = 5000 /* of one expression as it is written */
};

extern const char naive_support_text[]; /* embedded by the build */

static const CDialect naive = { .support = naive_support_text, .name_end = "", .vectors = false };

typedef struct Naive {
    CGen         *g;
    const Nests  *n;
    const char ***names; /* of arrays: by Func.id and component */
    Map           params;
    /* of the nest being written, by Expr.id: */
    bool *always; /* computed whatever is chosen */
    int  *uses;
    int  *size;  /* nodes, as it is written */
    Map   named; /* Expr -> the name of its constant */
    int   constants;
} Naive;

static CValue expr_value(Naive *w, const Expr *e);

static const char *expr_text(Naive *w, const Expr *e)
{
    return c_full(w->g, expr_value(w, e));
}

/* ---- Leaves ---- */

static CValue of_memory(CGen *g, const Expr *e, const char *text)
{
    if (e->type != KN_BOOL)
        return (CValue){ .text = text, .prec = P_PRIMARY };
    return (CValue){ .text = c_print(g, "%s != 0", text), .prec = P_EQUAL };
}

/* Nothing of it is ever read: what reads it is not executed. */
static bool is_empty(const Naive *w, const Func *f)
{
    const NestArray *a = &w->n->arrays[f->id];
    for (int d = 0; d < f->rank; d++)
        if (!a->extent[d])
            return true;
    return a->role == NEST_UNUSED;
}

/* name[z][y][x] */
static const char *element(Naive *w, const Func *f, int component, const Expr *const *at)
{
    Text t;
    text_init(&t, w->g->arena);
    text_add(&t, w->names[f->id][component]);
    for (int d = f->rank - 1; d >= 0; d--)
        text_printf(&t, "[%s]", expr_text(w, at[d]));
    return f->rank ? text_string(&t) : c_print(w->g, "%s[0]", text_string(&t));
}

static const char *arguments(Naive *w, const Expr *e)
{
    Text t;
    text_init(&t, w->g->arena);
    for (uint32_t i = 0; i < e->count; i++)
        text_printf(&t, "%s%s", i ? ", " : "", expr_text(w, e->args[i]));
    return text_string(&t);
}

static CValue call_of_c(Naive *w, const Expr *e)
{
    CGen *g = w->g;
    if (c_helper_new(g, c_print(g, "extern %s", e->u.name))) {
        text_printf(&g->externs, "%s %s(", c_memory_type(e->type), e->u.name);
        for (uint32_t i = 0; i < e->count; i++)
            text_printf(&g->externs, "%s%s", i ? ", " : "", c_memory_type(e->args[i]->type));
        text_printf(&g->externs, "%s) __attribute__((const));\n", e->count ? "" : "void");
    }
    return of_memory(g, e, c_print(g, "%s(%s)", e->u.name, arguments(w, e)));
}

static CValue literal(CGen *g, const Expr *e)
{
    const char *text = e->op == EX_FLOAT    ? c_float_text(g, e->type, e->u.f)
                       : e->type == KN_BOOL ? (e->u.i ? "true" : "false")
                                            : c_int_text(g, e->type, e->u.i);
    return (CValue){ .text = text, .prec = text[0] == '-' || text[0] == '(' ? P_UNARY : P_PRIMARY };
}

/* ---- Operators ---- */

static bool is_coordinate(const Expr *e)
{
    if (e->type != KN_I32 || e->op == EX_CALL || e->op == EX_EXTERN || e->op == EX_CAST || e->op == EX_PARAM)
        return false;
    for (uint32_t i = 0; i < e->count; i++)
        if (e->args[i]->type == KN_I32 && !is_coordinate(e->args[i]))
            return false;
    return true;
}

/* The smaller or larger of two coordinates, in a form that is affine for who reads it. */
static CValue extreme(Naive *w, const Expr *e)
{
    const CValue a = expr_value(w, e->args[0]), b = expr_value(w, e->args[1]);
    const char  *x = c_operand(w->g, a, P_ADD), *y = c_operand(w->g, b, P_ADD);
    return (CValue){ .text = c_print(w->g, "%s %s %s ? %s : %s", x, e->op == EX_MIN ? "<" : ">", y, x, y),
                     .prec = P_CHOICE };
}

static CValue node(Naive *w, const Expr *e)
{
    CGen  *g = w->g;
    CValue args[3];
    switch ((ExprOp)e->op) {
    case EX_INT:
    case EX_FLOAT: return literal(g, e);
    case EX_VAR: return c_binding(g, e->u.name)->value;
    case EX_PARAM: return (CValue){ .text = map_get(&w->params, e->u.param), .prec = P_PRIMARY };
    case EX_CALL:
        if (is_empty(w, e->u.call.func))
            return (CValue){ .text = "0", .prec = P_PRIMARY };
        return of_memory(g, e, element(w, e->u.call.func, (int)e->u.call.index, e->args));
    case EX_EXTERN: return call_of_c(w, e);
    default: break;
    }
    if (math_has((ExprOp)e->op)) {
        const char *text = arguments(w, e);
        return (CValue){ .text = c_print(g, "%s(%s)", c_math(g, e, 0), text), .prec = P_PRIMARY };
    }
    if ((e->op == EX_MIN || e->op == EX_MAX) && is_coordinate(e))
        return extreme(w, e);
    if (e->count > 3)
        c_fail(g, "it has the operator `%s`", expr_op_table[e->op].name);
    for (uint32_t i = 0; i < e->count; i++)
        args[i] = expr_value(w, e->args[i]);
    const bool sums = e->op == EX_ADD || e->op == EX_SUB || e->op == EX_MUL || e->op == EX_NEG;
    return c_operator(g, e, args, sums && c_wraps(g, e));
}

static CValue expr_value(Naive *w, const Expr *e)
{
    const char *name = map_get(&w->named, e);
    return name ? (CValue){ .text = name, .prec = P_PRIMARY } : node(w, e);
}

/* ---- Parts that are used twice ---- */

static bool chooses(const Expr *e)
{
    return e->op == EX_SELECT || e->op == EX_AND || e->op == EX_OR;
}

static void mark_always(Naive *w, const Expr *e)
{
    if (w->always[e->id])
        return;
    w->always[e->id] = true;
    for (uint32_t i = 0; i < (chooses(e) ? 1 : e->count); i++)
        mark_always(w, e->args[i]);
}

static void count_uses(Naive *w, const Expr *e)
{
    if (w->uses[e->id]++)
        return;
    for (uint32_t i = 0; i < e->count; i++)
        count_uses(w, e->args[i]);
}

/* Declares the parts of an expression that are worth it, operands first; gives the nodes that are left to write. */
static int declare_parts(Naive *w, const Expr *e)
{
    if (w->size[e->id])
        return w->size[e->id];
    int64_t size = 1;
    for (uint32_t i = 0; i < e->count; i++)
        size += declare_parts(w, e->args[i]);
    if (size > MOST_NODES)
        c_fail(w->g, "an expression would be written with more than %d operators", MOST_NODES);
    if (w->always[e->id] && w->uses[e->id] > 1 && size >= WORTH_A_NAME && e->op != EX_CALL && !is_coordinate(e)) {
        const char *name = c_print(w->g, "t%d", w->constants++);
        c_line(w->g, "const %s %s = %s;", c_type(e->type), name, expr_text(w, e));
        map_set(&w->named, e, name);
        size = 1;
    }
    return w->size[e->id] = (int)size;
}

static void forget_parts(Naive *w)
{
    const size_t count = w->n->exprs->count;
    w->always          = ARENA_ARRAY(w->g->arena, bool, count);
    w->uses            = ARENA_ARRAY(w->g->arena, int, count);
    w->size            = ARENA_ARRAY(w->g->arena, int, count);
    w->constants       = 0;
    map_init(&w->named, w->g->arena);
}

/* ---- Nests ---- */

/* A name for a loop's variable that neither an array nor a loop around has. */
static const char *loop_name(Naive *w, const Nest *n, int loop)
{
    CGen       *g    = w->g;
    const char *dot  = strrchr(n->loops[loop].var, '.');
    const char *name = c_identifier(g, dot ? dot + 1 : n->loops[loop].var);
    bool        free = false;
    while (!free) {
        free = !map_get(&g->f->used, intern(w->n->cx, name));
        for (int i = 0; i < loop; i++)
            free &= strcmp(c_binding(g, n->loops[i].var)->value.text, name) != 0;
        name = free ? name : c_print(g, "%s_", name);
    }
    return name;
}

static void write_stores(Naive *w, const Nest *n)
{
    const Func *f = n->func;
    forget_parts(w);
    for (int c = 0; c < f->component_count; c++) {
        mark_always(w, n->values[c]);
        count_uses(w, n->values[c]);
    }
    for (int c = 0; c < f->component_count; c++)
        declare_parts(w, n->values[c]);
    for (int c = 0; c < f->component_count && f->component_count > 1; c++)
        c_line(w->g, "const %s new%d = %s;", c_type(f->types[c]), c, expr_text(w, n->values[c]));
    for (int c = 0; c < f->component_count; c++)
        c_line(w->g, "%s = %s;", element(w, f, c, n->at),
               f->component_count > 1 ? c_print(w->g, "new%d", c) : expr_text(w, n->values[c]));
}

static void write_nest(Naive *w, const Nest *n)
{
    CGen *g = w->g;
    c_statement(g);
    forget_parts(w);
    for (int i = 0; i < n->loop_count; i++) {
        const NestLoop *l    = &n->loops[i];
        const char     *name = loop_name(w, n, i), *lo = expr_text(w, l->lo),
                   *last = c_operand(g, expr_value(w, l->last), P_SHIFT);
        c_scope_push(g, c_print(g, "for (int32_t %s = %s; %s <= %s; %s++) {", name, lo, name, last, name));
        c_bind(g, l->var, KN_I32, c_name_value(name, g->depth), (CRange){ l->least, l->most });
    }
    const bool block = n->where || !n->loop_count;
    if (block)
        c_scope_push(g, n->where ? c_print(g, "if (%s) {", expr_text(w, n->where)) : "{");
    write_stores(w, n);
    for (int i = 0; i < n->loop_count + block; i++)
        c_scope_pop(g);
    for (int i = 0; i < n->loop_count; i++)
        c_unbind(g, n->loops[i].var);
}

/* ---- Regions ---- */

typedef struct Uses {
    const Func *f;
    bool        found;
} Uses;

static void note_use(const Expr *e, void *user)
{
    Uses *u = user;
    u->found |= e->op == EX_CALL && e->u.call.func == u->f;
}

static bool nest_uses(const Nests *n, const Nest *nest, const Func *f)
{
    Uses u = { f, nest->func == f };
    for (int c = 0; c < nest->func->component_count && !u.found; c++)
        expr_visit(n->exprs, nest->values[c], note_use, &u);
    for (int d = 0; d < nest->func->rank && !u.found; d++)
        expr_visit(n->exprs, nest->at[d], note_use, &u);
    for (int i = 0; i < nest->loop_count && !u.found; i++) {
        expr_visit(n->exprs, nest->loops[i].lo, note_use, &u);
        expr_visit(n->exprs, nest->loops[i].last, note_use, &u);
    }
    if (nest->where && !u.found)
        expr_visit(n->exprs, nest->where, note_use, &u);
    return u.found;
}

/* Arrays of its own that are used in the nests from `from` to before `to` and in no other. */
static void write_temporaries(Naive *w, size_t from, size_t to)
{
    const Nests *n = w->n;
    Text         t;
    text_init(&t, w->g->arena);
    for (size_t i = from; i < to; i++) {
        const Func *f    = n->nests.at[i].func;
        bool        here = n->arrays[f->id].role == NEST_LOCAL && n->nests.at[i].update < 0;
        for (size_t k = 0; k < n->nests.count && here; k++)
            here = (k >= from && k < to) || !nest_uses(n, &n->nests.at[k], f);
        for (int c = 0; c < f->component_count && here; c++)
            text_printf(&t, "%s%s", t.count ? ", " : "", w->names[f->id][c]);
    }
    if (t.count)
        text_printf(&w->g->scopes[w->g->depth].text, "#pragma kiln temporary(%s)\n", text_string(&t));
}

static void write_nests(Naive *w)
{
    const Nests *n = w->n;
    Text        *t = &w->g->scopes[w->g->depth].text;
    for (size_t i = 0; i < n->nests.count; i++) {
        const Nest *nest  = &n->nests.at[i];
        const bool  begin = !nest->not_affine && (!i || n->nests.at[i - 1].not_affine);
        size_t      to    = i;
        while (to < n->nests.count && !n->nests.at[to].not_affine)
            to++;
        if (begin) {
            text_add(t, "#pragma scop\n");
            write_temporaries(w, i, to);
        }
        if (nest->not_affine)
            c_comment(w->g, c_print(w->g, "Not affine: %s.", nest->not_affine));
        write_nest(w, nest);
        if (!nest->not_affine && to == i + 1)
            text_add(t, "#pragma endscop\n");
    }
}

/* ---- The function ---- */

/* [3][480][640], from the given dimension on inwards */
static const char *extents(Naive *w, const NestArray *a, int from)
{
    Text t;
    text_init(&t, w->g->arena);
    for (int d = from; d >= 0; d--)
        text_printf(&t, "[%lld]", (long long)a->extent[d]);
    return text_string(&t);
}

static void declare_arguments(Naive *w, Text *t, const Func *f)
{
    const NestArray *a = &w->n->arrays[f->id];
    for (int c = 0; c < f->component_count; c++)
        text_printf(t, "%s%s%s %s[restrict %lld]%s", t->count ? ", " : "", a->role == NEST_INPUT ? "const " : "",
                    c_memory_type(f->types[c]), w->names[f->id][c], f->rank ? (long long)a->extent[f->rank - 1] : 1ll,
                    extents(w, a, f->rank - 2));
}

/* Lines of the comment before the function: "img: y 0..479, x 0..639". */
static void describe(Naive *w, Text *t, const Func *f)
{
    const NestArray *a = &w->n->arrays[f->id];
    text_printf(t, " *     %s", f->name);
    for (int d = f->rank - 1; d >= 0; d--) {
        const char *dot = strrchr(f->args[d], '.');
        text_printf(t, "%s %s %lld..%lld", d == f->rank - 1 ? ":" : ",", dot ? dot + 1 : f->args[d],
                    (long long)a->min[d], (long long)(a->min[d] + a->extent[d] - 1));
    }
    text_add(t, "\n");
}

/* Memory for the arrays of its own; all of it or none. */
static void write_arrays(Naive *w, Text *before, Text *after)
{
    const Nests *n = w->n;
    Text         held, freed;
    text_init(&held, w->g->arena);
    text_init(&freed, w->g->arena);
    for (int i = 0; i < n->array_count; i++) {
        const NestArray *a = &n->arrays[i];
        if (a->role != NEST_LOCAL)
            continue;
        for (int c = 0; c < a->func->component_count; c++) {
            const char *name = w->names[i][c], *type = c_memory_type(a->func->types[c]),
                       *whole = a->func->rank ? extents(w, a, a->func->rank - 1) : "[1]";
            text_printf(before, "  %s %s%s%s%s = malloc(sizeof(%s%s));\n", type,
                        a->func->rank > 1 ? "(*restrict " : "*restrict ", name, a->func->rank > 1 ? ")" : "",
                        extents(w, a, a->func->rank - 2), type, whole);
            text_printf(&held, "%s!%s", held.count ? " || " : "", name);
            text_printf(after, "  free(%s);\n", name);
            text_printf(&freed, "    free(%s);\n", name);
        }
    }
    if (held.count)
        text_printf(before, "  if (%s) {\n%s    return 1;\n  }\n", text_string(&held), text_string(&freed));
}

/* The arguments of the function, or its own arrays. */
static void name_arrays(Naive *w, bool own)
{
    CGen *g = w->g;
    for (int i = 0; i < w->n->array_count; i++) {
        const Func *f = w->n->arrays[i].func;
        if (w->n->arrays[i].role == NEST_UNUSED || (w->n->arrays[i].role == NEST_LOCAL) != own)
            continue;
        w->names[i] = ARENA_ARRAY(g->arena, const char *, (size_t)f->component_count);
        for (int c = 0; c < f->component_count; c++) {
            const char *name = f->component_count > 1 ? c_print(g, "%s.%d", f->name, c) : f->name;
            w->names[i][c]   = c_fresh(g, &g->f->used, c_identifier(g, name));
        }
    }
}

/* For compilers that warn of arguments that are not used. */
static void note_unused(Text *t, const char *body, const char *name)
{
    const size_t n = strlen(name);
    for (const char *at = strstr(body, name); at; at = strstr(at + 1, name))
        if (!isalnum((unsigned char)at[-1]) && at[-1] != '_' && !isalnum((unsigned char)at[n]) && at[n] != '_')
            return;
    text_printf(t, "  (void)%s;\n", name);
}

static const char *whole_text(Naive *w)
{
    CGen        *g = w->g;
    const Nests *n = w->n;
    CFunction    f = { 0 };
    Text         t, ports, list, before, after;
    Text *const  texts[] = { &t, &ports, &list, &before, &after };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        text_init(texts[i], g->arena);
    c_function_begin(g, &f);
    map_init(&w->params, g->arena);
    map_set(&f.used, intern(n->cx, n->name), n->name);
    for (size_t i = 0; i < n->params.count; i++) {
        const char *name = c_fresh(g, &f.used, c_identifier(g, n->params.at[i]->name));
        map_set(&w->params, n->params.at[i], name);
        text_printf(&list, "%s%s %s", list.count ? ", " : "", c_type(n->params.at[i]->type), name);
    }
    w->names = ARENA_ARRAY(g->arena, const char **, (size_t)n->array_count);
    name_arrays(w, false);
    name_arrays(w, true);
    for (size_t i = 0; i < n->inputs.count; i++) {
        declare_arguments(w, &list, n->inputs.at[i]);
        describe(w, &ports, n->inputs.at[i]);
    }
    for (int i = 0; i < n->output_count; i++) {
        declare_arguments(w, &list, n->outputs[i]);
        describe(w, &ports, n->outputs[i]);
    }
    write_nests(w);
    const char *body = c_function_end(g);
    write_arrays(w, &before, &after);
    for (size_t i = 0; i < n->params.count; i++)
        note_unused(&before, body, map_get(&w->params, n->params.at[i]));
    for (size_t i = 0; i < n->inputs.count; i++)
        for (int c = 0; c < n->inputs.at[i]->component_count; c++)
            note_unused(&before, body, w->names[n->inputs.at[i]->id][c]);
    for (int i = 0; i < n->output_count; i++)
        for (int c = 0; c < n->outputs[i]->component_count; c++)
            note_unused(&before, body, w->names[n->outputs[i]->id][c]);
    text_printf(&t,
                "/* %s, written by Kiln " KN_VERSION " as plain loops, for arrays of one size:\n%s *\n"
                " *     kiln tile %s.naive.c -o %s.tiled.c\n"
                " *     cc -O3 -fopenmp -ffp-contract=off -fno-trapping-math -c %s.tiled.c\n *\n"
                " * It returns 0, or 1 if there is no memory. */\n",
                n->name, text_string(&ports), n->name, n->name, n->name);
    c_write_sections(g, &t);
    text_add(&t, text_string(&g->externs));
    text_add(&t, text_string(&g->helpers));
    c_text_wrapped(g, &t, 0, c_print(g, "int %s(%s);", n->name, list.count ? text_string(&list) : "void"));
    text_add(&t, "\n");
    c_text_wrapped(g, &t, 0, c_print(g, "int %s(%s)", n->name, list.count ? text_string(&list) : "void"));
    text_printf(&t, "{\n%s%s%s  return 0;\n}\n", text_string(&before), body, text_string(&after));
    return text_string(&t);
}

const char *c_naive_text(const Nests *nests, Arena *arena, const char **why)
{
    CGen   *g       = ARENA_NEW(arena, CGen);
    Program program = { .cx = nests->cx, .arena = arena, .exprs = nests->exprs, .name = nests->name };
    Naive   w       = { .g = g, .n = nests };
    if (setjmp(g->bail)) {
        *why = g->why;
        return NULL;
    }
    c_begin_file(g, &program, &naive, arena);
    c_section(g, "head");
    return whole_text(&w);
}
