/* Spans of expressions: see span.h. */
#include "lower/span.h"

static const char yes, no;

/* ---- Environments ----------------------------------------------------------------------- */

static void forget_spans(SpanLevel *level, Arena *arena)
{
    for (int i = 0; i < 4; i++)
        map_init(&level->spans[i / 2][i % 2], arena);
}

void spans_reset(Spans *sp, Lower *lw)
{
    sp->lw    = lw;
    sp->depth = 0;
    sp->work  = 0;
    for (int i = 0; i <= SPAN_LEVELS; i++) {
        sp->level[i] = (SpanLevel){ 0 };
        forget_spans(&sp->level[i], lw->arena);
        map_init(&sp->level[i].visited, lw->arena);
    }
    if (!sp->has_calls.arena)
        map_init(&sp->has_calls, lw->arena);
}

static void know(Spans *sp, const Expr *node, Span span)
{
    SpanKnown k = { node, span, sp->deriving };
    vec_push(sp->lw->arena, &sp->level[sp->depth].known, k);
}

void spans_bind(Spans *sp, const char *name, Span span)
{
    know(sp, expr_var(sp->lw->exprs, KN_I32, name), span);
}

static const Span *find_among(const Spans *sp, const Expr *e, bool derived)
{
    for (int level = sp->depth; level >= 0; level--)
        for (size_t i = sp->level[level].known.count; i-- > 0;) {
            const SpanKnown *k = &sp->level[level].known.at[i];
            if (k->node == e && k->derived == derived)
                return &k->span;
        }
    return NULL;
}

/* What is known of a node itself; the newest first. What was derived is the tighter. */
static const Span *find_known(const Spans *sp, const Expr *e)
{
    const Span *derived = sp->deriving ? find_among(sp, e, true) : NULL;
    return derived ? derived : find_among(sp, e, false);
}

const Expr *spans_entered(const Spans *sp)
{
    const SpanLevel *now = &sp->level[sp->depth];
    return !sp->deriving ? now->possible : x_and(sp->lw, x_and(sp->lw, now->possible, now->alive), now->derived);
}

/* Does it read memory, or call C? */
static bool has_calls(Spans *sp, const Expr *e)
{
    const void *known = map_get(&sp->has_calls, e);
    if (known)
        return known == &yes;
    bool found = e->op == EX_CALL || e->op == EX_EXTERN || e->op == EX_LOAD;
    for (uint32_t i = 0; i < e->count && !found; i++)
        found = has_calls(sp, e->args[i]);
    map_set(&sp->has_calls, e, found ? &yes : &no);
    return found;
}

/* Does nothing in it run? */
static bool is_fixed(Spans *sp, const Expr *e, Map *memo)
{
    const void *known = map_get(memo, e);
    if (known)
        return known == &yes;
    bool fixed = e->op != EX_CALL && e->op != EX_EXTERN && e->op != EX_LOAD && !(e->op == EX_VAR && find_known(sp, e));
    for (uint32_t i = 0; i < e->count && fixed; i++)
        fixed = is_fixed(sp, e->args[i], memo);
    map_set(memo, e, fixed ? &yes : &no);
    return fixed;
}

bool spans_fixed(Spans *sp, const Expr *e)
{
    Arena scratch;
    Map   memo;
    scratch_begin(&scratch, sp->lw->cx);
    map_init(&memo, &scratch);
    const bool result = is_fixed(sp, e, &memo);
    scratch_end(&scratch);
    return result;
}

/* ---- Sums ------------------------------------------------------------------------------- */

static double magnitude(int64_t v)
{
    return v < 0 ? -(double)v : (double)v;
}

/* May the sum, or the number of coordinates between two of them, wrap, for all that is known of its terms? A coordinate
 * lies within ±2^28, so those with small factors do not. */
static bool may_wrap(const Spans *sp, const Linear *form, const Span *atoms)
{
    Lower *lw    = sp->lw;
    double total = magnitude(form->constant);
    for (int i = 0; i < form->count; i++) {
        int64_t lo, hi, none;
        simplifier_bounds(lw->simplifier, atoms[i].min, &lo, &none);
        simplifier_bounds(lw->simplifier, atoms[i].max, &none, &hi);
        total += magnitude(form->coefficients[i]) * (magnitude(lo) > magnitude(hi) ? magnitude(lo) : magnitude(hi));
    }
    return total >= (sp->clamped ? 0x1p31 : 0x1p30);
}

/* The check that a sum does not wrap: |sum| <= 2^28, in 64 bits. What is clamped need not be a coordinate: |sum| <
 * 2^31. */
static void check_sum(Spans *sp, const Linear *form, const Span *atoms)
{
    Lower *lw = sp->lw;
    if (!sp->checking || !may_wrap(sp, form, atoms))
        return;
    const int64_t most = sp->clamped ? INT32_MAX : MOST_COORDINATE;
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

static const Expr *scaled(Lower *lw, const Expr *e, int64_t factor)
{
    return factor == 1 ? e : x_op(lw, EX_MUL, e, expr_int(lw->exprs, (kn_type)e->type, factor));
}

/* The span of constant + sum of coefficient * atom; an end is NULL if an atom's is. `skip`: leave that atom out. */
static Span span_sum(Spans *sp, const Linear *form, const Span *atoms, int skip)
{
    Lower      *lw  = sp->lw;
    const Expr *min = x_int(lw, form->constant), *max = min;
    for (int i = 0; i < form->count; i++) {
        if (i == skip)
            continue;
        const int64_t c    = form->coefficients[i];
        const Expr   *low  = c > 0 ? atoms[i].min : atoms[i].max;
        const Expr   *high = c > 0 ? atoms[i].max : atoms[i].min;
        min                = low && min ? x_add(lw, min, scaled(lw, low, c)) : NULL;
        max                = high && max ? x_add(lw, max, scaled(lw, high, c)) : NULL;
    }
    return (Span){ min, max };
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

/* The span of a sum brought to the side of every condition about it. */
static Span span_known_sum(Spans *sp, const Linear *sum, Span s)
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

/* The terms that run, and the others with the constant. */
static void part_form(Spans *sp, const Linear *form, Linear *runs, Linear *rest)
{
    Arena *a = sp->lw->arena;
    *runs = *rest      = (Linear){ 0 };
    runs->atoms        = ARENA_ARRAY(a, const Expr *, (size_t)form->count);
    rest->atoms        = ARENA_ARRAY(a, const Expr *, (size_t)form->count);
    runs->coefficients = ARENA_ARRAY(a, int64_t, (size_t)form->count);
    rest->coefficients = ARENA_ARRAY(a, int64_t, (size_t)form->count);
    rest->constant     = form->constant;
    for (int i = 0; i < form->count; i++) {
        Linear *to                    = spans_fixed(sp, form->atoms[i]) ? rest : runs;
        to->atoms[to->count]          = form->atoms[i];
        to->coefficients[to->count++] = form->coefficients[i];
    }
}

static Span *atom_spans(Spans *sp, const Linear *form, bool *whole)
{
    Span *atoms = ARENA_ARRAY(sp->lw->arena, Span, (size_t)form->count);
    for (int i = 0; i < form->count; i++) {
        atoms[i] = span_of(sp, form->atoms[i]);
        *whole   = *whole && atoms[i].min && atoms[i].max;
    }
    return atoms;
}

/* Is there a number among the terms that data or floats decide, and that is no coordinate for all that is known? */
static bool may_be_anything(Spans *sp, const Linear *form, const Span *atoms)
{
    for (int i = 0; i < form->count; i++) {
        int64_t lo, hi, none;
        simplifier_bounds(sp->lw->simplifier, atoms[i].min, &lo, &none);
        simplifier_bounds(sp->lw->simplifier, atoms[i].max, &none, &hi);
        const Expr *a       = form->atoms[i];
        const bool  decided = has_calls(sp, a) || (a->op == EX_CAST && type_is_float((kn_type)a->args[0]->type));
        if (decided && (lo < -MOST_COORDINATE || hi > MOST_COORDINATE))
            return true;
    }
    return false;
}

/* i32 sums, differences and multiples: what runs, then the rest added. */
static bool span_linear(Spans *sp, const Expr *e, Span *out)
{
    Lower *lw = sp->lw;
    Linear form, runs, rest;
    bool   whole = true;
    if (e->type != KN_I32 || !expr_linear(lw->arena, e, &form) || (form.count == 1 && form.atoms[0] == e))
        return false;
    part_form(sp, &form, &runs, &rest);
    Span       *atoms = atom_spans(sp, &runs, &whole), *fixed_atoms = atom_spans(sp, &rest, &whole);
    const Span  moved = span_known_sum(sp, &runs, span_sum(sp, &runs, atoms, -1));
    const Expr *base  = span_sum(sp, &rest, fixed_atoms, -1).min;
    *out = (Span){ moved.min ? x_add(lw, moved.min, base) : NULL, moved.max ? x_add(lw, moved.max, base) : NULL };
    const Span *all = whole ? atom_spans(sp, &form, &whole) : NULL;
    if (whole && sp->clamped && may_be_anything(sp, &form, all))
        *out = (Span){ NULL, NULL };
    else if (whole)
        check_sum(sp, &form, all);
    return true;
}

/* min(max(a, b), c) or max(min(a, b), c), where nothing runs in c, and in a or b. */
static bool is_clamp(Spans *sp, const Expr *e)
{
    const ExprOp other = e->op == EX_MIN ? EX_MAX : EX_MIN;
    if (e->type != KN_I32 || (e->op != EX_MIN && e->op != EX_MAX))
        return false;
    for (int i = 0; i < 2; i++) {
        const Expr *inner = e->args[i];
        if (inner->op == other && spans_fixed(sp, e->args[1 - i]) &&
            (spans_fixed(sp, inner->args[0]) || spans_fixed(sp, inner->args[1])))
            return true;
    }
    return false;
}

static Span compute(Spans *sp, const Expr *e)
{
    Span        r;
    const Span *known = find_known(sp, e);
    if (known)
        return *known;
    if (e->op == EX_VAR || (!has_calls(sp, e) && spans_fixed(sp, e)))
        return (Span){ e, e };
    if (span_linear(sp, e, &r))
        return r;
    if (!sp->clamped && is_clamp(sp, e)) {
        sp->clamped = true;
        r           = span_of(sp, e);
        sp->clamped = false;
        return r;
    }
    return span_rule(sp, e);
}

Span span_of(Spans *sp, const Expr *e)
{
    Map        *memo  = &sp->level[sp->depth].spans[sp->deriving][sp->clamped];
    const Span *known = map_get(memo, e);
    if (known)
        return *known;
    context_spend(sp->lw->cx, 1);
    sp->work++;
    Span *s = ARENA_NEW(sp->lw->arena, Span);
    *s      = compute(sp, e);
    map_set(&sp->level[sp->depth].spans[sp->deriving][sp->clamped], e, s);
    return *s;
}

/* ---- Conditions ------------------------------------------------------------------------- */

/* A condition that the branch around is entered at all. */
static void note_alive(Spans *sp, const Expr *condition)
{
    const Expr **holds = sp->deriving ? &sp->level[sp->depth].derived : &sp->level[sp->depth].alive;
    if (sp->checking)
        *holds = x_and(sp->lw, *holds, condition);
}

static void narrow(Spans *sp, const Expr *node, const Expr *min, const Expr *max);
static void assume_order(Spans *sp, const Expr *a, const Expr *b, int64_t shift);

/* What a bound of a node says of its parts: an end is passed down through conversions that change nothing, sums,
 * quotients by a number, magnitudes, and min and max of the right side. That is for inputs alone: boxes of functions
 * follow from plain bounds of variables, which are cheap to keep at every loop. */
static void narrow_parts(Spans *sp, const Expr *node, const Expr *min, const Expr *max)
{
    Lower      *lw = sp->lw;
    const Expr *a  = node->count ? node->args[0] : NULL;
    int64_t     d;
    switch ((ExprOp)node->op) {
    case EX_CAST:
        if (type_is_int((kn_type)a->type) && type_is_int((kn_type)node->type) &&
            range_within((kn_type)node->type, value_range(lw, a)) &&
            range_within((kn_type)a->type, value_range(lw, min ? min : max)))
            narrow(sp, a, min ? x_cast(lw, (kn_type)a->type, min) : NULL,
                   max ? x_cast(lw, (kn_type)a->type, max) : NULL);
        break;
    case EX_DIV:
        if (node->type == KN_I32 && expr_is_int(node->args[1], &d) && d > 0)
            narrow(sp, a, min ? scaled(lw, min, d) : NULL,
                   max ? x_add(lw, scaled(lw, max, d), x_int(lw, d - 1)) : NULL);
        break;
    case EX_ADD:
    case EX_SUB:
        if (node->type == KN_I32)
            assume_order(sp, min ? min : node, min ? node : max, 0);
        break;
    case EX_ABS:
        if (node->type == KN_I32 && max) {
            narrow(sp, a, x_neg(lw, max), NULL);
            narrow(sp, a, NULL, max);
        }
        break;
    case EX_MIN:
    case EX_MAX:
        for (int i = 0; i < 2 && (node->op == EX_MIN ? min : max); i++)
            narrow(sp, node->args[i], min, max);
        break;
    default: break;
    }
}

/* Uses that min <= node, or node <= max; the other is NULL. Both ends are brought to the side where the condition
 * holds, so that a span is never empty: where the condition holds nowhere, one point too many is said to be read, and
 * `alive` says that it is not. */
static void narrow(Spans *sp, const Expr *node, const Expr *min, const Expr *max)
{
    if (!min && !max)
        return;
    Lower       *lw  = sp->lw;
    const Span   was = span_of(sp, node);
    const ExprOp op  = min ? EX_MAX : EX_MIN;
    const Expr  *end = min ? min : max, *near = min ? was.min : was.max, *beyond = min ? was.max : was.min;
    const Expr  *now_near  = near ? x_op(lw, op, near, end) : end,
               *now_beyond = beyond ? x_op(lw, op, beyond, end) : NULL;
    const Span now         = min ? (Span){ now_near, now_beyond } : (Span){ now_beyond, now_near };
    if (now.min != was.min || now.max != was.max) {
        know(sp, node, now);
        if (beyond && (sp->deriving || !has_calls(sp, node)) && !type_is_float((kn_type)node->type))
            note_alive(sp, min ? x_le(lw, end, beyond) : x_le(lw, beyond, end));
        /* what was computed with less is still right, but not as tight */
        forget_spans(&sp->level[sp->depth], lw->arena);
    }
    if (sp->deriving)
        narrow_parts(sp, node, min, max);
}

/* Uses that form >= 0. One thing that runs is bounded itself, of several their sum is. */
static void assume_form(Spans *sp, const Linear *form)
{
    Lower *lw = sp->lw;
    Linear runs, rest;
    bool   whole = true;
    part_form(sp, form, &runs, &rest);
    const Expr *base = span_sum(sp, &rest, atom_spans(sp, &rest, &whole), -1).min;
    if (runs.count == 1) {
        const int64_t c     = runs.coefficients[0];
        const Expr   *limit = x_op(lw, EX_DIV, base, x_int(lw, c < 0 ? -c : c));
        if (c > 0)
            narrow(sp, runs.atoms[0], x_neg(lw, limit), NULL);
        else
            narrow(sp, runs.atoms[0], NULL, limit);
    } else if (runs.count > 1 && !sp->deriving) {
        const Span    s     = span_known_sum(sp, &runs, span_sum(sp, &runs, atom_spans(sp, &runs, &whole), -1));
        const SpanSum sum   = { runs, x_neg(lw, base), true };
        SpanLevel    *level = &sp->level[sp->depth];
        vec_push(lw->arena, &level->sums, sum);
        if (s.max)
            note_alive(sp, x_le(lw, sum.bound, s.max));
        forget_spans(level, lw->arena);
    }
}

/* The end and a small number; the end itself where it is a float, or the sum may wrap. */
static const Expr *moved_by(Lower *lw, const Expr *end, int64_t shift)
{
    const kn_type type = end ? (kn_type)end->type : KN_NONE;
    if (!end || !shift || !type_is_int(type))
        return end;
    const Range r = value_range(lw, end);
    return range_within(type, range_int(r.lo + shift, r.hi + shift)) ? x_add(lw, end, expr_int(lw->exprs, type, shift))
                                                                     : end;
}

/* Uses that a + shift <= b. */
static void assume_order(Spans *sp, const Expr *a, const Expr *b, int64_t shift)
{
    Lower *lw = sp->lw;
    Linear form;
    if (a->type == KN_I32) {
        const Expr *difference = expr_binary(lw->exprs, EX_SUB, KN_I32, b, a);
        if (!expr_linear(lw->arena, difference, &form))
            return;
        form.constant -= shift;
        assume_form(sp, &form);
    }
    if (a->type != KN_I32 && a->type != KN_BOOL) {
        narrow(sp, a, NULL, moved_by(lw, span_of(sp, b).max, -shift));
        narrow(sp, b, moved_by(lw, span_of(sp, a).min, shift), NULL);
    }
}

/* A condition on a variable, that these ranges have a point where the branch around is entered. */
static void note_possible(Spans *sp, const Expr *variable, const Expr *condition)
{
    vec_push(sp->lw->arena, &sp->level[sp->depth].guarded, variable);
    const Expr **holds = sp->deriving ? &sp->level[sp->depth].derived : &sp->level[sp->depth].possible;
    *holds             = x_and(sp->lw, *holds, condition);
}

/* Uses that node != limit, which does not run: an end of the span that is that number moves inward by one. A span of
 * that one number stays as it is: then the branch is not entered for these ranges, which `possible` says. (The part of
 * a range that a loop inside runs through has another number only if the whole has: boxes inside lie in those outside.)
 */
static void exclude(Spans *sp, const Expr *node, const Expr *limit)
{
    Lower     *lw  = sp->lw;
    const Span was = span_of(sp, node);
    if (!was.min || !was.max)
        return;
    const Expr *one = expr_int(lw->exprs, (kn_type)node->type, 1), *first = x_op(lw, EX_EQ, was.min, limit),
               *last = x_op(lw, EX_EQ, was.max, limit);
    const Span now   = { x_select(lw, first, x_min(lw, x_add(lw, was.min, one), was.max), was.min),
                         x_select(lw, last, x_max(lw, x_sub(lw, was.max, one), was.min), was.max) };
    note_possible(sp, node, x_op(lw, EX_OR, x_op(lw, EX_NE, was.min, limit), x_op(lw, EX_NE, was.max, limit)));
    if (now.min == was.min && now.max == was.max)
        return;
    know(sp, node, now);
    forget_spans(&sp->level[sp->depth], lw->arena);
}

/* Is a - b a variable that runs, or its negative, less something that does not? Then a == b where the variable is
 * *limit. */
static const Expr *variable_against(Spans *sp, const Expr *a, const Expr *b, const Expr **limit)
{
    Lower *lw = sp->lw;
    Linear form, runs, rest;
    bool   whole = true;
    if (a->type != KN_I32 || has_calls(sp, a) || has_calls(sp, b) ||
        !expr_linear(lw->arena, expr_binary(lw->exprs, EX_SUB, KN_I32, a, b), &form))
        return NULL;
    part_form(sp, &form, &runs, &rest);
    if (runs.count != 1 || runs.atoms[0]->op != EX_VAR || (runs.coefficients[0] != 1 && runs.coefficients[0] != -1))
        return NULL;
    const Expr *base = span_sum(sp, &rest, atom_spans(sp, &rest, &whole), -1).min;
    *limit           = runs.coefficients[0] > 0 ? x_neg(lw, base) : base;
    return runs.atoms[0];
}

/* Uses that a == b. Where a variable does not come to be that number, the branch is not entered for these ranges. */
static void assume_same(Spans *sp, const Expr *a, const Expr *b)
{
    Lower      *lw = sp->lw;
    const Expr *limit, *node = variable_against(sp, a, b, &limit);
    const Span  was = node ? span_of(sp, node) : (Span){ NULL, NULL };
    if (was.min && was.max)
        note_possible(sp, node, x_and(lw, x_le(lw, was.min, limit), x_le(lw, limit, was.max)));
    assume_order(sp, a, b, 0);
    assume_order(sp, b, a, 0);
}

/* Uses that a != b. A variable is kept from that number; else it cannot be where both are one and the same number. */
static void assume_other(Spans *sp, const Expr *a, const Expr *b)
{
    Lower      *lw = sp->lw;
    const Expr *limit, *node = variable_against(sp, a, b, &limit);
    if (node) {
        exclude(sp, node, limit);
        return;
    }
    if (a->type != KN_I32 || has_calls(sp, a) || has_calls(sp, b))
        return;
    const Span p = span_of(sp, a), q = span_of(sp, b);
    if (p.min && p.max && q.min && q.max)
        note_alive(sp, x_op(lw, EX_OR, x_op(lw, EX_NE, p.min, q.max), x_op(lw, EX_NE, p.max, q.min)));
}

static void assume(Spans *sp, const Expr *c, bool truth)
{
    switch ((ExprOp)c->op) {
    case EX_AND:
    case EX_OR:
    case EX_BIT_AND:
    case EX_BIT_OR:
        if ((c->op == EX_AND || c->op == EX_BIT_AND) == truth) {
            assume(sp, c->args[0], truth);
            assume(sp, c->args[1], truth);
        }
        break;
    case EX_BIT_NOT: assume(sp, c->args[0], !truth); break;
    case EX_LT:
        if (truth)
            assume_order(sp, c->args[0], c->args[1], 1);
        else if (!type_is_float((kn_type)c->args[0]->type))
            assume_order(sp, c->args[1], c->args[0], 0);
        break;
    case EX_LE:
        if (truth)
            assume_order(sp, c->args[0], c->args[1], 0);
        else if (!type_is_float((kn_type)c->args[0]->type))
            assume_order(sp, c->args[1], c->args[0], 1);
        break;
    case EX_EQ:
    case EX_NE:
        if ((c->op == EX_EQ) == truth) {
            assume_same(sp, c->args[0], c->args[1]);
        } else {
            assume_other(sp, c->args[0], c->args[1]);
        }
        break;
    case EX_CAST: /* bool(n) is n != 0 */
        if (c->args[0]->type == KN_I32)
            assume(sp, expr_binary(sp->lw->exprs, EX_NE, KN_BOOL, c->args[0], x_int(sp->lw, 0)), truth);
        break;
    default: break;
    }
}

bool spans_enter(Spans *sp, const Expr *condition, bool truth)
{
    if (sp->depth == SPAN_LEVELS || sp->work > SPAN_WORK)
        return false;
    const Expr *alive = sp->level[sp->depth].alive, *decided = sp->level[sp->depth].decided,
               *possible = sp->level[sp->depth].possible, *derived = sp->level[sp->depth].derived;
    sp->depth++;
    SpanLevel *level = &sp->level[sp->depth];
    *level           = (SpanLevel){ .alive = alive, .decided = decided, .possible = possible, .derived = derived };
    forget_spans(level, sp->lw->arena);
    map_init(&level->visited, sp->lw->arena);
    if (!spans_fixed(sp, condition)) {
        const bool deriving = sp->deriving;
        for (int i = 0; i < 1 + sp->checking; i++) {
            sp->deriving = i;
            assume(sp, condition, truth);
        }
        sp->deriving = deriving;
        return true;
    }
    if (!truth)
        condition = simplify(sp->lw->simplifier, expr_unary(sp->lw->exprs, EX_BIT_NOT, KN_BOOL, condition));
    level->decided = x_and(sp->lw, decided, condition);
    if (sp->checking)
        level->alive = x_and(sp->lw, alive, condition);
    return true;
}

void spans_leave(Spans *sp)
{
    sp->depth--;
}

/* ---- Accesses --------------------------------------------------------------------------- */

/* Is the index computed in integers by operators whose spans are exact about wrapping, from what runs? */
static bool is_exact(Spans *sp, const Expr *e)
{
    if (e->type != KN_I32 || has_calls(sp, e))
        return false;
    switch ((ExprOp)e->op) {
    case EX_INT:
    case EX_VAR:
    case EX_PARAM: return true;
    case EX_ADD:
    case EX_SUB:
    case EX_NEG:
    case EX_MUL:
    case EX_DIV:
    case EX_MOD:
    case EX_MIN:
    case EX_MAX:
        for (uint32_t i = 0; i < e->count; i++)
            if (!is_exact(sp, e->args[i]))
                return false;
        return e->op != EX_MUL || spans_fixed(sp, e->args[0]) || spans_fixed(sp, e->args[1]);
    default: return false;
    }
}

/* The span where no condition is known. The levels of conditions that are entered for it take the place of those
 * around. */
static Span span_anywhere(Spans *sp, const Expr *e)
{
    const int depth = sp->depth;
    SpanLevel kept[SPAN_LEVELS];
    memcpy(kept, &sp->level[1], sizeof kept);
    sp->depth    = 0;
    const Span s = span_of(sp, e);
    sp->depth    = depth;
    memcpy(&sp->level[1], kept, sizeof kept);
    return s;
}

typedef struct Mention {
    const Spans *sp;
    bool         found;
} Mention;

static void mention_node(const Expr *e, void *user)
{
    Mention *m = user;
    for (int level = 1; level <= m->sp->depth && e->op == EX_VAR && !m->found; level++)
        for (size_t i = 0; i < m->sp->level[level].guarded.count; i++)
            m->found |= m->sp->level[level].guarded.at[i] == e;
}

/* Does the index depend on a variable that `possible` is about? Else it is the same whether the branch is entered or
 * not. This is asked of the expression and not of its span: the answer is the same at every loop. */
static bool is_guarded(Spans *sp, const Expr *call)
{
    Mention m = { .sp = sp };
    for (uint32_t d = 0; d < call->count && sp->level[sp->depth].possible; d++)
        expr_visit(sp->lw->exprs, call->args[d], mention_node, &m);
    return m.found;
}

/* An input is read only as far as all that the conditions say lets it: boxes inside loops do not depend on it. */
static void tell_access(Spans *sp, const Expr *call)
{
    Lower           *lw    = sp->lw;
    const SpanLevel *now   = &sp->level[sp->depth];
    const Expr      *alive = x_and(lw, now->alive, sp->checking ? now->possible : NULL);
    const bool       input = sp->checking && call->u.call.func->kind == FUNC_INPUT,
               always      = !now->decided && alive == sp->level[0].alive;
    Span     index[KN_MAX_RANK];
    unsigned unsafe = 0, loose = 0;
    for (int d = 0; d < (int)call->count; d++) {
        const Span base  = sp->depth ? span_anywhere(sp, call->args[d]) : span_of(sp, call->args[d]);
        sp->deriving     = input;
        index[d]         = span_of(sp, call->args[d]);
        sp->deriving     = false;
        const bool moved = base.min != index[d].min || base.max != index[d].max, exact = is_exact(sp, call->args[d]);
        unsafe |= (unsigned)(!always || moved || !exact) << d;
        loose |= (unsigned)!exact << d;
    }
    const Expr *possible = is_guarded(sp, call) ? now->possible : NULL;
    const Expr *decided  = x_and(lw, now->decided, possible);
    if (possible)
        unsafe = ~0u;
    if (input && !always)
        decided = x_and(lw, x_and(lw, decided, alive), now->derived);
    sp->access(sp->user, call, index, alive, decided, unsafe, loose);
}

static void visit_arm(Spans *sp, const Expr *condition, bool truth, const Expr *arm)
{
    if (!has_calls(sp, arm))
        return;
    const bool entered = spans_enter(sp, condition, truth);
    spans_visit(sp, arm);
    if (entered)
        spans_leave(sp);
}

void spans_visit(Spans *sp, const Expr *e)
{
    if (!has_calls(sp, e) || map_get(&sp->level[sp->depth].visited, e))
        return;
    map_set(&sp->level[sp->depth].visited, e, &yes);
    context_spend(sp->lw->cx, 1);
    sp->work++;
    if (e->op == EX_SELECT) {
        spans_visit(sp, e->args[0]);
        visit_arm(sp, e->args[0], true, e->args[1]);
        visit_arm(sp, e->args[0], false, e->args[2]);
        return;
    }
    if (e->op == EX_AND || e->op == EX_OR) {
        spans_visit(sp, e->args[0]);
        visit_arm(sp, e->args[0], e->op == EX_AND, e->args[1]);
        return;
    }
    for (uint32_t i = 0; i < e->count; i++)
        spans_visit(sp, e->args[i]);
    if (e->op == EX_CALL)
        tell_access(sp, e);
}
