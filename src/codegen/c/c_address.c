/* SPDX-License-Identifier: MIT */
/* Addresses: an index is a sum of terms. What does not change in the innermost block is a name of its own, declared
 * where it is known; what is left stands between the brackets.
 *
 * Takes   an index (i64) as the lowered program has it.
 * Gives   pointer, index of the first lane, and what each lane adds.
 * Holds   i32 coordinates are added as they are where their sum fits into 32 bits, and in 64 bits otherwise. Rows that
 *         differ by a constant number of strides share a name, so that the C compiler sees that loads are the same. */
#include "codegen/c/c.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_TERMS = 64 };

/* factor * value * by */
typedef struct Term {
    CValue      value; /* without its offset and step; no text: 1 */
    const char *by;    /* a stride; NULL: 1 */
    int64_t     factor;
    bool        wide; /* the value has 64 bits */
    double      most; /* of its magnitude */
    const char *text; /* of the whole term without its sign, once printed */
} Term;

typedef struct Terms {
    CGen       *g;
    Term        at[MOST_TERMS];
    int         count;
    int64_t     constant, step;
    const char *lanes; /* the sum of what is another in each lane; NULL: nothing */
    kn_type     lane_type;
    double      lane_most; /* of its magnitude */
    bool        halves;    /* lanes / 2 may be a phase, */
    const char *phase;     /* and is */
    bool        overflow;
} Terms;

static void add_term(Terms *t, Term term)
{
    for (int i = 0; i < t->count; i++) {
        Term *o = &t->at[i];
        if ((o->by ? term.by && !strcmp(o->by, term.by) : !term.by) &&
            (o->value.text ? term.value.text && !strcmp(o->value.text, term.value.text) : !term.value.text)) {
            o->factor += term.factor;
            return;
        }
    }
    if (t->count == MOST_TERMS)
        t->overflow = true;
    else
        t->at[t->count++] = term;
}

static double magnitude(CRange r)
{
    const double lo = r.lo < 0 ? -(double)r.lo : (double)r.lo, hi = r.hi < 0 ? -(double)r.hi : (double)r.hi;
    return lo > hi ? lo : hi;
}

static const char *as_wide(Terms *t, const char *text, kn_type type)
{
    return type == KN_I64
               ? text
               : c_print(t->g, "__builtin_convertvector(%s, %s)", text, c_vector_type(t->g, KN_I64, t->g->lanes));
}

/* What each lane adds of its own: a vector of i32 as long as that is enough. */
static void add_lanes(Terms *t, const char *text, kn_type type, double most)
{
    t->lane_most += most;
    if (t->lanes && (t->lane_type != type || (type == KN_I32 && t->lane_most > 0x1p30))) {
        t->lanes     = as_wide(t, t->lanes, t->lane_type);
        text         = as_wide(t, text, type);
        t->lane_type = KN_I64;
    } else {
        t->lane_type = type;
    }
    t->lanes = t->lanes ? c_print(t->g, "%s + %s", t->lanes, text) : text;
}

/* factor * text * by of an atom that is another in each lane. */
static void add_varying(Terms *t, const Expr *e, CValue v, const char *by, int64_t factor)
{
    CGen        *g    = t->g;
    const double most = magnitude(c_range(g, e)) * (double)llabs(factor);
    const bool   fits = !by && (e->type == KN_I32 ? factor == 1 || most < 0x1p30 : v.shape == LANES && most < 0x1p30);
    const char  *text = c_operand(g, v, P_MUL);
    if (v.shape == RAMP)
        text = c_lanes(g, KN_I64, (CValue){ .shape = RAMP, .step = v.step });
    else if (fits && e->type != KN_I32)
        text = c_print(g, "__builtin_convertvector(%s, %s)", c_full(g, v), c_vector_type(g, KN_I32, g->lanes));
    else if (!fits)
        text = as_wide(t, c_full(g, v), e->type);
    if (by)
        text = c_print(g, "%s * %s", text, c_lanes(g, KN_I64, c_name_value(by, 0)));
    if (factor != 1)
        text = c_print(g, "%s * %lld", text, (long long)factor);
    add_lanes(t, text, fits ? KN_I32 : KN_I64, most);
}

/* ramp / 2: all lanes share base / 2, and lie behind it in one of two ways. */
static bool add_half(Terms *t, const Expr *e, const char *by, int64_t factor)
{
    CGen   *g = t->g;
    int64_t c;
    if (!t->halves || t->phase || by || factor != 1 || e->op != EX_DIV || !expr_is_int(e->args[1], &c) || c != 2 ||
        e->type != KN_I32)
        return false;
    CValue v = c_expr(g, e->args[0]);
    if (v.shape != RAMP || v.step != 1)
        return false;
    v.shape = UNIFORM;
    v.step  = 0;
    if (!v.text) { /* a number */
        t->phase = v.offset & 1 ? "1" : "0";
        t->constant += v.offset >> 1;
        return true;
    }
    v                = c_named(g, KN_I32, v, "first");
    const char *base = c_operand(g, v, P_PRIMARY);
    t->phase         = c_print(g, "%s & 1", base);
    const CValue q   = { .text = c_print(g, "(%s >> 1)", base), .prec = P_PRIMARY, .level = v.level, .reads = v.reads };
    add_term(t, (Term){ .value = q, .factor = 1, .most = magnitude(c_range(g, e)) });
    return true;
}

/* A value that is no sum: its parts to the terms. */
static void add_atom(Terms *t, const Expr *e, const char *by, int by_level, int64_t factor)
{
    CGen *g = t->g;
    if (add_half(t, e, by, factor))
        return;
    CValue v = c_expr(g, e);
    if (v.shape == LANES || (v.shape == RAMP && by))
        add_varying(t, e, v, by, factor);
    if (v.shape == LANES)
        return;
    t->step += by ? 0 : v.step * factor;
    if (v.offset && by)
        add_term(t, (Term){ .by = by, .factor = v.offset * factor, .value = { .level = by_level }, .wide = true });
    else
        t->constant += v.offset * factor;
    if (!v.text)
        return;
    const bool wide = e->type == KN_I64 || by;
    if (by)
        v.level = v.level > by_level ? v.level : by_level;
    v.offset = v.step = 0;
    v.shape           = UNIFORM;
    add_term(t, (Term){ .value = v, .by = by, .factor = factor, .wide = wide, .most = magnitude(c_range(g, e)) });
}

static void add_sum(Terms *t, const Expr *e, const char *by, int by_level, int64_t factor);

/* A sum times a stride: term by term. */
static bool add_strided(Terms *t, const Expr *e, int64_t factor)
{
    if (e->op != EX_MUL || e->type != KN_I64 || (e->args[0]->op != EX_VAR && e->args[1]->op != EX_VAR))
        return false;
    const int    place  = e->args[0]->op == EX_VAR ? 0 : 1;
    const CValue stride = c_expr(t->g, e->args[place]);
    if (stride.shape != UNIFORM || stride.offset || !stride.text || stride.prec != P_PRIMARY)
        return false;
    add_sum(t, e->args[1 - place], stride.text, stride.level, factor);
    return true;
}

static void add_sum(Terms *t, const Expr *e, const char *by, int by_level, int64_t factor)
{
    int64_t c;
    if (expr_is_int(e, &c)) {
        if (by && c)
            add_term(t, (Term){ .by = by, .factor = c * factor, .value = { .level = by_level }, .wide = true });
        else if (!by)
            t->constant += c * factor;
    } else if (e->op == EX_ADD || e->op == EX_SUB) {
        add_sum(t, e->args[0], by, by_level, factor);
        add_sum(t, e->args[1], by, by_level, e->op == EX_ADD ? factor : -factor);
    } else if (e->op == EX_NEG) {
        add_sum(t, e->args[0], by, by_level, -factor);
    } else if (e->op == EX_MUL && expr_is_int(e->args[1], &c) && c > -(1 << 30) && c < 1 << 30) {
        add_sum(t, e->args[0], by, by_level, factor * c);
    } else if (e->op == EX_CAST && e->type == KN_I64 && e->args[0]->type == KN_I32) {
        const Expr *a   = e->args[0];
        const bool  sum = a->op == EX_ADD || a->op == EX_SUB || a->op == EX_NEG || a->op == EX_MUL;
        if (!sum || !c_wraps(t->g, a))
            sum ? add_sum(t, a, by, by_level, factor) : add_atom(t, a, by, by_level, factor);
        else
            add_atom(t, e, by, by_level, factor);
    } else if (e->op == EX_CAST && type_is_int(e->args[0]->type) && type_bits(e->args[0]->type) < 32 && !by &&
               c_expr(t->g, e->args[0]).shape == LANES) {
        add_varying(t, e->args[0], c_expr(t->g, e->args[0]), by, factor);
    } else if (by || !add_strided(t, e, factor)) {
        add_atom(t, e, by, by_level, factor);
    }
}

/* ---- Printing ---- */

static const char *term_text(CGen *g, const Term *t)
{
    const int64_t factor = t->factor < 0 ? -t->factor : t->factor;
    const char   *text   = t->value.text ? c_operand(g, t->value, P_MUL) : NULL;
    if (t->by)
        text = text ? c_print(g, "%s * %s", t->by, c_operand(g, t->value, P_UNARY)) : t->by;
    if (factor == 1)
        return text;
    return t->wide ? c_print(g, "%s * %lld", text, (long long)factor)
                   : c_print(g, "(int64_t)%s * %lld", c_operand(g, t->value, P_UNARY), (long long)factor);
}

/* Single names first, then products, each in the order of their text: the same sum has the same text. */
static bool before(const Term *a, const Term *b)
{
    if ((a->factor < 0) != (b->factor < 0))
        return a->factor > 0;
    if ((a->by != NULL) != (b->by != NULL))
        return !a->by;
    return strcmp(a->text, b->text) < 0;
}

/* stride * a - stride * b is stride * (a - b), which never is larger than what the stride leads to. */
static int group_strided(CGen *g, Term *at, int count)
{
    int left = 0;
    for (int i = 0; i < count; i++) {
        Term *first = NULL;
        for (int k = 0; k < left && at[i].by && at[i].value.text; k++)
            if (at[k].by && at[k].value.text && !strcmp(at[k].by, at[i].by))
                first = &at[k];
        if (!first) {
            at[left++] = at[i];
            continue;
        }
        Term a = *first, b = at[i];
        if (a.factor < 0 && b.factor > 0) {
            a = at[i];
            b = *first;
        }
        const char   *x    = a.factor == 1 ? c_operand(g, a.value, P_ADD)
                                           : c_print(g, "%s * %lld", c_operand(g, a.value, P_MUL), (long long)a.factor);
        const int64_t size = b.factor < 0 ? -b.factor : b.factor;
        const char   *y    = size == 1 ? c_operand(g, b.value, P_MUL)
                                       : c_print(g, "%s * %lld", c_operand(g, b.value, P_MUL), (long long)size);
        *first             = a;
        first->factor      = 1;
        first->value.text  = c_print(g, "%s %s %s", x, b.factor < 0 ? "-" : "+", y);
        first->value.prec  = P_ADD;
    }
    return left;
}

/* The sum of some of the terms; NULL if there are none. */
static const char *sum_text(CGen *g, Term *at, int count, bool *wide)
{
    double most = 0;
    *wide       = false;
    count       = group_strided(g, at, count);
    for (int i = 0; i < count; i++) {
        at[i].text = term_text(g, &at[i]);
        most += at[i].wide || at[i].factor > 1 || at[i].factor < -1 ? 0 : at[i].most;
        *wide |= at[i].wide || at[i].factor > 1 || at[i].factor < -1;
        for (int k = i; k > 0 && before(&at[k], &at[k - 1]); k--) {
            const Term swap = at[k];
            at[k]           = at[k - 1];
            at[k - 1]       = swap;
        }
    }
    if (!count)
        return NULL;
    Text t;
    text_init(&t, g->arena);
    if (most > 0x1p30) {
        text_add(&t, "(int64_t)");
        *wide = true;
        if (strpbrk(at[0].text, " ("))
            at[0].text = c_print(g, "(%s)", at[0].text);
        if (at[0].factor < 0)
            text_add(&t, "0 - ");
        text_add(&t, at[0].text);
    } else {
        text_printf(&t, "%s%s", at[0].factor < 0 ? "-" : "", at[0].text);
    }
    for (int i = 1; i < count; i++)
        text_printf(&t, " %s %s", at[i].factor < 0 ? "-" : "+", at[i].text);
    return text_string(&t);
}

/* The terms that are the same in all iterations of the innermost block, under a name; the others stay. */
static void name_outer(Terms *t, const char *hint, int below, bool strided_only)
{
    CGen *g = t->g;
    Term  outer[MOST_TERMS];
    int   count = 0, left = 0, level = g->f->base;
    for (int i = 0; i < t->count; i++) {
        const Term *o               = &t->at[i];
        const bool  constant_stride = o->by && !o->value.text;
        if (o->value.level < below && !constant_stride && !o->value.reads && (!strided_only || o->by)) {
            outer[count++] = *o;
            level          = o->value.level > level ? o->value.level : level;
        } else {
            t->at[left++] = *o;
        }
    }
    if (count == 1 && !outer[0].by && (outer[0].factor == 1 || outer[0].factor == -1)) {
        t->at[left++] = outer[0];
        count         = 0;
    }
    t->count = left;
    if (!count)
        return;
    bool        wide;
    const char *text  = sum_text(g, outer, count, &wide);
    const char *name  = c_declare(g, level, "int64_t", hint, text);
    t->at[t->count++] = (Term){ .value = c_name_value(name, level), .factor = 1, .wide = true };
}

CAddress c_address(CGen *g, const Buffer *b, const Expr *index, bool load)
{
    Terms       t    = { .g = g, .halves = load && g->lanes };
    const char *name = g->f->buffers[b->id];
    if (!name)
        c_fail(g, "it uses `%s` where there is none", b->name);
    const bool trusted = g->trusted;
    g->trusted         = true;
    add_sum(&t, index, NULL, 0, 1);
    if (t.phase && (t.lanes || t.step)) { /* not the only term that varies */
        t = (Terms){ .g = g };
        add_sum(&t, index, NULL, 0, 1);
    }
    g->trusted = trusted;
    if (t.overflow)
        c_fail(g, "an index of `%s` has too many terms", b->name);
    int zero = 0;
    for (int i = 0; i < t.count; i++)
        if (t.at[i].factor)
            t.at[zero++] = t.at[i];
    t.count          = zero;
    const char *hint = c_print(g, "%s_row", c_identifier(g, b->name));
    name_outer(&t, hint, g->depth, false);
    name_outer(&t, hint, g->depth + 1, true);
    bool        wide;
    const char *text = sum_text(g, t.at, t.count, &wide);
    if (!text)
        text = c_print(g, "%lld", (long long)t.constant);
    else if (t.constant)
        text = c_print(g, "%s %s %lld", text, t.constant < 0 ? "-" : "+",
                       t.constant < 0 ? -(long long)t.constant : (long long)t.constant);
    if (t.lanes && t.step)
        add_lanes(&t, c_lanes(g, t.lane_type, (CValue){ .shape = RAMP, .step = t.step }), t.lane_type, 0);
    const bool varies = t.lanes || t.phase;
    return (CAddress){ .buffer    = name,
                       .index     = text,
                       .shape     = varies   ? LANES
                                    : t.step ? RAMP
                                             : UNIFORM,
                       .step      = t.step,
                       .lanes     = t.lanes,
                       .lane_bits = type_bits(t.lane_type),
                       .phase     = t.phase };
}
