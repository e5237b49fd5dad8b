/* SPDX-License-Identifier: MIT */
/* Spans of expressions: see span.h.
 *
 * Takes   an expression, and an environment of bound variables and conditions.
 * Gives   its span: of sums by their linear form, of other operators by span_rules.c.
 * Holds   the span contains every value that the expression has for points of the ranges. Sums that may wrap are
 *         checked at run time (`checks`). */
#include "lower/bounds/span_parts.h"

static const char yes, no;

/* ---- Environments ----------------------------------------------------------------------- */

void span_env_forget(SpanLevel *level, Arena *arena)
{
    for (int i = 0; i < 4; i++)
        map_init(&level->spans[i / 2][i % 2], arena);
}

void span_env_reset(SpanEnv *sp, Lower *lw)
{
    sp->lw    = lw;
    sp->depth = 0;
    sp->work  = 0;
    for (int i = 0; i <= SPAN_BRANCHES; i++) {
        sp->level[i] = (SpanLevel){ 0 };
        span_env_forget(&sp->level[i], lw->arena);
        map_init(&sp->level[i].visited, lw->arena);
    }
    if (!sp->reads_memory.arena)
        map_init(&sp->reads_memory, lw->arena);
}

void span_env_know(SpanEnv *sp, const Expr *node, SymSpan span)
{
    SpanKnown k = { node, span, sp->deriving };
    vec_push(sp->lw->arena, &sp->level[sp->depth].known, k);
}

void span_env_bind(SpanEnv *sp, const char *name, SymSpan span)
{
    span_env_know(sp, expr_var(sp->lw->exprs, KN_I32, name), span);
}

static const SymSpan *find_span(const SpanEnv *sp, const Expr *e, bool derived)
{
    for (int level = sp->depth; level >= 0; level--)
        for (size_t i = sp->level[level].known.count; i-- > 0;) {
            const SpanKnown *k = &sp->level[level].known.at[i];
            if (k->node == e && k->derived == derived)
                return &k->span;
        }
    return NULL;
}

/* What is known of a node itself, the newest first. Derived bounds are tighter. */
static const SymSpan *find_known(const SpanEnv *sp, const Expr *e)
{
    const SymSpan *derived = sp->deriving ? find_span(sp, e, true) : NULL;
    return derived ? derived : find_span(sp, e, false);
}

const Expr *span_env_entered(const SpanEnv *sp)
{
    const SpanLevel *now = &sp->level[sp->depth];
    return !sp->deriving ? now->satisfiable
                         : x_and(sp->lw, x_and(sp->lw, now->satisfiable, now->reachable), now->derived);
}

bool reads_memory(SpanEnv *sp, const Expr *e)
{
    const void *known = map_get(&sp->reads_memory, e);
    if (known)
        return known == &yes;
    bool found = e->op == EX_CALL || e->op == EX_EXTERN || e->op == EX_LOAD;
    for (uint32_t i = 0; i < e->count && !found; i++)
        found = reads_memory(sp, e->args[i]);
    map_set(&sp->reads_memory, e, found ? &yes : &no);
    return found;
}

/* Is it made of invariants alone? */
static bool find_invariant(SpanEnv *sp, const Expr *e, Map *memo)
{
    const void *known = map_get(memo, e);
    if (known)
        return known == &yes;
    bool invariant =
        e->op != EX_CALL && e->op != EX_EXTERN && e->op != EX_LOAD && !(e->op == EX_VAR && find_known(sp, e));
    for (uint32_t i = 0; i < e->count && invariant; i++)
        invariant = find_invariant(sp, e->args[i], memo);
    map_set(memo, e, invariant ? &yes : &no);
    return invariant;
}

bool is_loop_invariant(SpanEnv *sp, const Expr *e)
{
    Arena scratch;
    Map   memo;
    scratch_begin(&scratch, sp->lw->cx);
    map_init(&memo, &scratch);
    const bool result = find_invariant(sp, e, &memo);
    scratch_end(&scratch);
    return result;
}

/* ---- Sums ------------------------------------------------------------------------------- */

static double magnitude(int64_t v)
{
    return v < 0 ? -(double)v : (double)v;
}

/* May the sum wrap, or the distance of two of its values? A coordinate lies within ±2^28, so sums with small factors do
 * not. */
static bool may_wrap(const SpanEnv *sp, const Linear *form, const SymSpan *atoms)
{
    Lower *lw    = sp->lw;
    double total = magnitude(form->constant);
    for (int i = 0; i < form->count; i++) {
        int64_t lo, hi, none;
        simplifier_bounds(lw->simplifier, atoms[i].min, &lo, &none);
        simplifier_bounds(lw->simplifier, atoms[i].max, &none, &hi);
        total += magnitude(form->coefficients[i]) * (magnitude(lo) > magnitude(hi) ? magnitude(lo) : magnitude(hi));
    }
    return total >= (sp->in_clamp ? 0x1p31 : 0x1p30);
}

/* The check that a sum does not wrap: |sum| <= 2^28, in 64 bits. Inside a clamp it need not be a coordinate: |sum| <
 * 2^31. */
static void check_sum(SpanEnv *sp, const Linear *form, const SymSpan *atoms)
{
    Lower *lw = sp->lw;
    if (!sp->checking || !may_wrap(sp, form, atoms))
        return;
    const int64_t most = sp->in_clamp ? INT32_MAX : MOST_COORDINATE;
    for (int side = 0; side < 2; side++) {
        const Expr *sum = expr_int(lw->exprs, KN_I64, form->constant);
        for (int i = 0; i < form->count; i++) {
            const Expr *end    = (form->coefficients[i] > 0) == (side == 0) ? atoms[i].min : atoms[i].max;
            const Expr *factor = expr_int(lw->exprs, KN_I64, form->coefficients[i]);
            sum                = x_add(lw, sum, x_op(lw, EX_MUL, x_cast(lw, KN_I64, end), factor));
        }
        const Expr *limit = expr_int(lw->exprs, KN_I64, side == 0 ? -most : most);
        vec_push(lw->arena, &sp->checks, side == 0 ? x_le(lw, limit, sum) : x_le(lw, sum, limit));
    }
}

const Expr *scaled(Lower *lw, const Expr *e, int64_t factor)
{
    return factor == 1 ? e : x_op(lw, EX_MUL, e, expr_int(lw->exprs, (kn_type)e->type, factor));
}

SymSpan span_sum(SpanEnv *sp, const Linear *form, const SymSpan *atoms)
{
    Lower      *lw  = sp->lw;
    const Expr *min = x_int(lw, form->constant), *max = min;
    for (int i = 0; i < form->count; i++) {
        const int64_t c    = form->coefficients[i];
        const Expr   *low  = c > 0 ? atoms[i].min : atoms[i].max;
        const Expr   *high = c > 0 ? atoms[i].max : atoms[i].min;
        min                = low && min ? x_add(lw, min, scaled(lw, low, c)) : NULL;
        max                = high && max ? x_add(lw, max, scaled(lw, high, c)) : NULL;
    }
    return (SymSpan){ min, max };
}

/* Are the sums equal up to sign? Returns the sign, or 0. */
static int same_sum(const Linear *a, const Linear *b)
{
    int sign = a->count == b->count ? 1 : 0;
    for (int i = 0; i < a->count && sign; i++) {
        if (a->atoms[i] != b->atoms[i])
            return 0;
        const int here = a->coefficients[i] == b->coefficients[i]    ? 1
                         : a->coefficients[i] == -b->coefficients[i] ? -1
                                                                     : 0;
        sign           = i && here != sign ? 0 : here;
    }
    return sign;
}

SymSpan span_known_sum(SpanEnv *sp, const Linear *sum, SymSpan s)
{
    Lower *lw = sp->lw;
    for (int level = 0; level <= sp->depth; level++)
        for (size_t i = 0; i < sp->level[level].sums.count; i++) {
            const SpanSum *k    = &sp->level[level].sums.at[i];
            const int      sign = same_sum(sum, &k->form);
            if (!sign)
                continue;
            const Expr  *bound = sign > 0 ? k->bound : x_neg(lw, k->bound);
            const bool   low   = k->is_min == (sign > 0);
            const ExprOp op    = low ? EX_MAX : EX_MIN;
            s.min              = s.min ? x_op(lw, op, s.min, bound) : low ? bound : NULL;
            s.max              = s.max ? x_op(lw, op, s.max, bound) : low ? NULL : bound;
        }
    return s;
}

void split_form(SpanEnv *sp, const Linear *form, Linear *varying, Linear *invariant)
{
    Arena *a = sp->lw->arena;
    *varying = *invariant   = (Linear){ 0 };
    varying->atoms          = ARENA_ARRAY(a, const Expr *, (size_t)form->count);
    invariant->atoms        = ARENA_ARRAY(a, const Expr *, (size_t)form->count);
    varying->coefficients   = ARENA_ARRAY(a, int64_t, (size_t)form->count);
    invariant->coefficients = ARENA_ARRAY(a, int64_t, (size_t)form->count);
    invariant->constant     = form->constant;
    for (int i = 0; i < form->count; i++) {
        Linear *to                    = is_loop_invariant(sp, form->atoms[i]) ? invariant : varying;
        to->atoms[to->count]          = form->atoms[i];
        to->coefficients[to->count++] = form->coefficients[i];
    }
}

SymSpan *atom_spans(SpanEnv *sp, const Linear *form, bool *whole)
{
    SymSpan *atoms = ARENA_ARRAY(sp->lw->arena, SymSpan, (size_t)form->count);
    for (int i = 0; i < form->count; i++) {
        atoms[i] = span_of(sp, form->atoms[i]);
        *whole   = *whole && atoms[i].min && atoms[i].max;
    }
    return atoms;
}

/* Does data or a float decide a term that may lie outside the coordinates? */
static bool may_be_any_number(SpanEnv *sp, const Linear *form, const SymSpan *atoms)
{
    for (int i = 0; i < form->count; i++) {
        int64_t lo, hi, none;
        simplifier_bounds(sp->lw->simplifier, atoms[i].min, &lo, &none);
        simplifier_bounds(sp->lw->simplifier, atoms[i].max, &none, &hi);
        const Expr *a       = form->atoms[i];
        const bool  is_data = reads_memory(sp, a) || (a->op == EX_CAST && type_is_float((kn_type)a->args[0]->type));
        if (is_data && (lo < -MOST_COORDINATE || hi > MOST_COORDINATE))
            return true;
    }
    return false;
}

/* i32 sums, differences and multiples: the span of the varying terms, plus the invariant ones. */
static bool span_linear(SpanEnv *sp, const Expr *e, SymSpan *out)
{
    Lower *lw = sp->lw;
    Linear form, varying, invariant;
    bool   whole = true;
    if (e->type != KN_I32 || !expr_linear(lw->arena, e, &form) || (form.count == 1 && form.atoms[0] == e))
        return false;
    split_form(sp, &form, &varying, &invariant);
    SymSpan      *atoms = atom_spans(sp, &varying, &whole), *invariant_atoms = atom_spans(sp, &invariant, &whole);
    const SymSpan moved = span_known_sum(sp, &varying, span_sum(sp, &varying, atoms));
    const Expr   *base  = span_sum(sp, &invariant, invariant_atoms).min;
    *out = (SymSpan){ moved.min ? x_add(lw, moved.min, base) : NULL, moved.max ? x_add(lw, moved.max, base) : NULL };
    const SymSpan *all = whole ? atom_spans(sp, &form, &whole) : NULL;
    if (whole && sp->in_clamp && may_be_any_number(sp, &form, all))
        *out = (SymSpan){ NULL, NULL };
    else if (whole)
        check_sum(sp, &form, all);
    return true;
}

/* min(max(a, b), c) or max(min(a, b), c), where c is invariant, and a or b. */
static bool is_clamp(SpanEnv *sp, const Expr *e)
{
    const ExprOp other = e->op == EX_MIN ? EX_MAX : EX_MIN;
    if (e->type != KN_I32 || (e->op != EX_MIN && e->op != EX_MAX))
        return false;
    for (int i = 0; i < 2; i++) {
        const Expr *inner = e->args[i];
        if (inner->op == other && is_loop_invariant(sp, e->args[1 - i]) &&
            (is_loop_invariant(sp, inner->args[0]) || is_loop_invariant(sp, inner->args[1])))
            return true;
    }
    return false;
}

static SymSpan compute(SpanEnv *sp, const Expr *e)
{
    SymSpan        r;
    const SymSpan *known = find_known(sp, e);
    if (known)
        return *known;
    if (e->op == EX_VAR || (!reads_memory(sp, e) && is_loop_invariant(sp, e)))
        return (SymSpan){ e, e };
    if (span_linear(sp, e, &r))
        return r;
    if (!sp->in_clamp && is_clamp(sp, e)) {
        sp->in_clamp = true;
        r            = span_of(sp, e);
        sp->in_clamp = false;
        return r;
    }
    return span_rule(sp, e);
}

SymSpan span_of(SpanEnv *sp, const Expr *e)
{
    Map           *memo  = &sp->level[sp->depth].spans[sp->deriving][sp->in_clamp];
    const SymSpan *known = map_get(memo, e);
    if (known)
        return *known;
    context_spend(sp->lw->cx, 1);
    sp->work++;
    SymSpan *s = ARENA_NEW(sp->lw->arena, SymSpan);
    *s         = compute(sp, e);
    map_set(&sp->level[sp->depth].spans[sp->deriving][sp->in_clamp], e, s);
    return *s;
}
