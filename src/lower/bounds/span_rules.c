/* SPDX-License-Identifier: MIT */
/* The span of an operator from those of its operands.
 *
 * Takes   an operator, and the spans of its operands.
 * Gives   its span. Integers follow the rules of analysis/interval_rules.c, with ends that are expressions
 *         (expr_ends.c). An operand without a bound takes the numbers of its type, or of the values of the function
 *         that it calls. Floats have rules of their own, for monotonic operators only.
 * Holds   an end that cannot be written down is that of the whole type, or NULL. */
#include "lower/bounds/span_parts.h"

#include <math.h>
#include "lower/bounds/expr_ends.h"

typedef SymSpan SpanRule(SpanEnv *sp, const Expr *e);

/* From constant bounds alone. */
static SymSpan span_numbers(SpanEnv *sp, const Expr *e)
{
    Lower        *lw   = sp->lw;
    const kn_type type = (kn_type)e->type;
    const Range   r = value_range(lw, e), all = range_of_type(type);
    if (type_is_float(type))
        return (SymSpan){ r.flo == all.flo ? NULL : expr_float(lw->exprs, type, r.flo),
                          r.fhi == all.fhi ? NULL : expr_float(lw->exprs, type, r.fhi) };
    const bool wide = type_bits(type) >= 32;
    return (SymSpan){ wide && r.lo == all.lo ? NULL : expr_int(lw->exprs, type, (int64_t)r.lo),
                      wide && r.hi == all.hi ? NULL : expr_int(lw->exprs, type, (int64_t)r.hi) };
}

/* The interval of an operand. A coordinate without bounds is any number of its type, so that results made of it have
 * none either. */
static Interval operand(SpanEnv *sp, const Expr *e)
{
    const SymSpan s = span_of(sp, e);
    const Range   r = e->op == EX_VAR ? range_of_type((kn_type)e->type) : value_range(sp->lw, e);
    return (Interval){ expr_end(sp->lw->simplifier, s.min, r.lo), expr_end(sp->lw->simplifier, s.max, r.hi) };
}

/* The end of a span. A number beyond all coordinates, or the last of its type, is no bound. An end without an
 * expression is bounded by the number that it cannot pass. */
static const Expr *span_end(Lower *lw, kn_type type, End a, Wide unbounded)
{
    if (!end_is_known(a))
        a = end_number(unbounded <= 0 ? a.least : a.most);
    const Wide beyond = type == KN_I32 ? (unbounded < 0 ? -MOST_COORDINATE : MOST_COORDINATE) : unbounded;
    const bool wide   = type_bits(type) >= 32 && end_is_number(a);
    if (wide && (unbounded <= 0 ? a.least <= beyond : a.least >= beyond))
        return NULL;
    return end_expr(lw, type, a);
}

static SymSpan span_from(Lower *lw, kn_type type, Interval r)
{
    const Range all = range_of_type(type);
    return (SymSpan){ span_end(lw, type, r.lo, all.lo), span_end(lw, type, r.hi, all.hi) };
}

static SymSpan span_by_rule(SpanEnv *sp, const Expr *e)
{
    const EndMaker maker = expr_end_maker(sp->lw);
    Interval       args[3];
    if (!interval_has_rule((ExprOp)e->op) || !e->count || type_is_float((kn_type)e->args[0]->type))
        return span_numbers(sp, e);
    for (uint32_t i = 0; i < e->count; i++)
        args[i] = operand(sp, e->args[i]);
    return span_from(sp->lw, (kn_type)e->type,
                     interval_apply(&maker, (ExprOp)e->op, (kn_type)e->type, (kn_type)e->args[0]->type, args));
}

/* A cast of values that lie in the type does not wrap, though the ends of their span may lie outside of it. */
static SymSpan span_cast(SpanEnv *sp, const Expr *e)
{
    const EndMaker maker = expr_end_maker(sp->lw);
    const kn_type  type  = (kn_type)e->type;
    const Range    r     = value_range(sp->lw, e->args[0]);
    if (type == KN_BOOL || !range_within(type, r))
        return span_by_rule(sp, e);
    const Interval a = operand(sp, e->args[0]);
    return span_from(sp->lw, type, interval_apply(&maker, EX_SAT_CAST, type, (kn_type)e->args[0]->type, &a));
}

/* ---- What linear forms see ---------------------------------------------------------------- */

/* Sums in less than 32 bits: computed in 32, then wrapped. */
static SymSpan span_narrow_sum(SpanEnv *sp, const Expr *e)
{
    Lower         *lw    = sp->lw;
    const EndMaker maker = expr_end_maker(lw);
    const Expr    *args[2];
    if (type_bits((kn_type)e->type) >= 32)
        return span_by_rule(sp, e);
    for (uint32_t i = 0; i < e->count; i++)
        args[i] = x_cast(lw, KN_I32, e->args[i]);
    const Expr    *wide = e->count == 1 ? expr_unary(lw->exprs, (ExprOp)e->op, KN_I32, args[0])
                                        : expr_binary(lw->exprs, (ExprOp)e->op, KN_I32, args[0], args[1]);
    const Interval r    = operand(sp, wide);
    return span_from(lw, (kn_type)e->type, interval_fit(&maker, (kn_type)e->type, r.lo, r.hi));
}

/* Simplified without the values of lets: these have other spans than their names. */
static const Expr *by_itself(Lower *lw, const Expr *e)
{
    return simplify(simplifier_new(lw->exprs, lw->arena), e);
}

/* Shifts and masks by constants become products, quotients and remainders when simplified. */
static SymSpan span_bits(SpanEnv *sp, const Expr *e)
{
    const Expr *plain = e->type == KN_I32 ? by_itself(sp->lw, e) : e;
    return plain == e ? span_by_rule(sp, e) : span_of(sp, plain);
}

/* ---- Choices and calls -------------------------------------------------------------------- */

static const Expr *both(Lower *lw, ExprOp op, const Expr *a, const Expr *b)
{
    return a && b ? x_op(lw, op, a, b) : NULL;
}

static const Expr *least(Lower *lw, const Expr *a, const Expr *b)
{
    return both(lw, EX_MIN, a, b);
}

static const Expr *most(Lower *lw, const Expr *a, const Expr *b)
{
    return both(lw, EX_MAX, a, b);
}

static SymSpan span_hull(Lower *lw, SymSpan a, SymSpan b)
{
    return (SymSpan){ least(lw, a.min, b.min), most(lw, a.max, b.max) };
}

/* The one or the other, as an invariant condition decides. */
static SymSpan span_either(Lower *lw, const Expr *condition, SymSpan a, SymSpan b)
{
    return (SymSpan){ a.min && b.min ? x_select(lw, condition, a.min, b.min) : NULL,
                      a.max && b.max ? x_select(lw, condition, a.max, b.max) : NULL };
}

/* The hull of both arms. Where one cannot be entered for these ranges it is the other. */
static SymSpan span_select(SpanEnv *sp, const Expr *e)
{
    Lower      *lw    = sp->lw;
    const Expr *outer = span_env_entered(sp), *satisfiable[2];
    SymSpan     arm[2];
    if (e->type == KN_BOOL)
        return span_numbers(sp, e);
    if (is_loop_invariant(sp, e->args[0]))
        return span_either(lw, e->args[0], span_of(sp, e->args[1]), span_of(sp, e->args[2]));
    for (int i = 0; i < 2; i++) {
        const bool entered = span_env_enter(sp, e->args[0], i == 0);
        arm[i]             = span_of(sp, e->args[1 + i]);
        satisfiable[i]     = span_env_entered(sp);
        if (entered)
            span_env_leave(sp);
    }
    const SymSpan taken = satisfiable[0] == outer ? arm[0] : span_either(lw, satisfiable[0], arm[0], arm[1]);
    const SymSpan other = satisfiable[1] == outer ? arm[1] : span_either(lw, satisfiable[1], arm[1], arm[0]);
    return span_hull(lw, taken, other);
}

/* && and ||: of the smallest values, and of the largest. The second operand is evaluated where the first does not
 * decide. */
static SymSpan span_logic(SpanEnv *sp, const Expr *e)
{
    const SymSpan a       = span_of(sp, e->args[0]);
    const bool    entered = span_env_enter(sp, e->args[0], e->op == EX_AND);
    const SymSpan b       = span_of(sp, e->args[1]);
    if (entered)
        span_env_leave(sp);
    if (!a.min || !a.max || !b.min || !b.max)
        return span_numbers(sp, e);
    return (SymSpan){ x_op(sp->lw, (ExprOp)e->op, a.min, b.min), x_op(sp->lw, (ExprOp)e->op, a.max, b.max) };
}

/* The span of a component of a function for all coordinates, in terms of parameters and sizes; and the checks it
 * depends on. */
typedef struct FunctionSpan {
    SymSpan      span;
    int          check_count;
    const Expr **checks;
} FunctionSpan;

/* The span of one value of f while its coordinates take every value. */
static FunctionSpan span_everywhere(Lower *lw, const Func *f, const Expr *value)
{
    SpanEnv *sp  = ARENA_NEW(lw->arena, SpanEnv);
    sp->checking = true;
    span_env_reset(sp, lw);
    for (int d = 0; d < f->rank; d++)
        span_env_bind(sp, f->args[d], (SymSpan){ NULL, NULL });
    const SymSpan span = span_of(sp, value);
    return (FunctionSpan){ span, (int)sp->checks.count, sp->checks.at };
}

static FunctionSpan function_span(Lower *lw, const Func *f, int component)
{
    if (f->kind != FUNC_DEFINED || f->update_count)
        return (FunctionSpan){ 0 };
    if (!lw->function_spans)
        lw->function_spans = ARENA_ARRAY(lw->arena, FunctionSpan *, (size_t)lw->plan->func_count);
    FunctionSpan **known = &lw->function_spans[f->id];
    if (!*known) {
        *known = ARENA_ARRAY(lw->arena, FunctionSpan, (size_t)f->component_count); /* a recursive query has no bounds */
        for (int c = 0; c < f->component_count; c++)
            (*known)[c] = span_everywhere(lw, f, f->values[c]);
    }
    return (*known)[component];
}

/* The values of a function: constant bounds, or bounds by parameters where these say more and need no check. */
static SymSpan span_call(SpanEnv *sp, const Expr *e)
{
    const SymSpan      s = span_numbers(sp, e);
    const FunctionSpan f = function_span(sp->lw, e->u.call.func, e->u.call.index);
    if (s.min && s.max) {
        const bool more = !f.check_count && e->type == KN_I32;
        return (SymSpan){ more && f.span.min ? x_max(sp->lw, s.min, f.span.min) : s.min,
                          more && f.span.max ? x_min(sp->lw, s.max, f.span.max) : s.max };
    }
    for (int i = 0; i < f.check_count && sp->checking; i++)
        vec_push(sp->lw->arena, &sp->checks, f.checks[i]);
    return (SymSpan){ s.min ? s.min : f.span.min, s.max ? s.max : f.span.max };
}

/* ---- Floats ------------------------------------------------------------------------------- */

static const Expr *apply_one(Lower *lw, const Expr *e, const Expr *a)
{
    return a ? simplify(lw->simplifier, expr_unary(lw->exprs, (ExprOp)e->op, (kn_type)e->type, a)) : NULL;
}

/* Monotonic operators of one operand: rounding, and casts to floats. */
static SymSpan span_rising(SpanEnv *sp, const Expr *e)
{
    const SymSpan a = span_of(sp, e->args[0]);
    return (SymSpan){ apply_one(sp->lw, e, a.min), apply_one(sp->lw, e, a.max) };
}

static SymSpan span_to_float(SpanEnv *sp, const Expr *e)
{
    return e->args[0]->type == KN_BOOL ? span_numbers(sp, e) : span_rising(sp, e);
}

static SymSpan span_min(SpanEnv *sp, const Expr *e)
{
    Lower        *lw = sp->lw;
    const SymSpan a = span_of(sp, e->args[0]), b = span_of(sp, e->args[1]);
    return (SymSpan){ least(lw, a.min, b.min), !a.max ? b.max : !b.max ? a.max : x_min(lw, a.max, b.max) };
}

static SymSpan span_max(SpanEnv *sp, const Expr *e)
{
    Lower        *lw = sp->lw;
    const SymSpan a = span_of(sp, e->args[0]), b = span_of(sp, e->args[1]);
    return (SymSpan){ !a.min ? b.min : !b.min ? a.min : x_max(lw, a.min, b.min), most(lw, a.max, b.max) };
}

static SymSpan span_neg(SpanEnv *sp, const Expr *e)
{
    const SymSpan a = span_of(sp, e->args[0]);
    return (SymSpan){ a.max ? x_neg(sp->lw, a.max) : NULL, a.min ? x_neg(sp->lw, a.min) : NULL };
}

/* May a sum or product of floats be NaN? Then that of their ends may be too, and comparisons with it fail. */
static bool may_be_nan(SpanEnv *sp, const Expr *e)
{
    return value_range(sp->lw, e).nan;
}

/* An end, or infinity where it is NaN. */
static const Expr *number_or(Lower *lw, const Expr *e, bool guard, double infinity)
{
    return e && guard ? x_select(lw, x_op(lw, EX_EQ, e, e), e, expr_float(lw->exprs, (kn_type)e->type, infinity)) : e;
}

static SymSpan span_float_sum(SpanEnv *sp, const Expr *e)
{
    Lower        *lw    = sp->lw;
    const bool    guard = may_be_nan(sp, e);
    const SymSpan a = span_of(sp, e->args[0]), b = span_of(sp, e->args[1]);
    const bool    sum = e->op == EX_ADD;
    const Expr   *min = both(lw, (ExprOp)e->op, a.min, sum ? b.min : b.max),
               *max   = both(lw, (ExprOp)e->op, a.max, sum ? b.max : b.min);
    return (SymSpan){ number_or(lw, min, guard, -INFINITY), number_or(lw, max, guard, INFINITY) };
}

/* The hull of the four corners, or of two where the second operand is invariant. Where a corner is NaN it is
 * everything. */
static SymSpan float_corners(SpanEnv *sp, const Expr *e, SymSpan a, SymSpan b)
{
    Lower     *lw    = sp->lw;
    const bool guard = may_be_nan(sp, e);
    SymSpan    r     = { 0 };
    for (int i = 0; i < (b.min == b.max ? 2 : 4); i++) {
        const Expr *p   = x_op(lw, (ExprOp)e->op, i & 1 ? a.max : a.min, i & 2 ? b.max : b.min);
        const Expr *low = number_or(lw, p, guard, -INFINITY), *high = number_or(lw, p, guard, INFINITY);
        r = (SymSpan){ r.min ? x_min(lw, r.min, low) : low, r.max ? x_max(lw, r.max, high) : high };
    }
    return r;
}

static SymSpan span_float_product(SpanEnv *sp, const Expr *e)
{
    const SymSpan a = span_of(sp, e->args[0]), b = span_of(sp, e->args[1]);
    return a.min && a.max && b.min && b.max ? float_corners(sp, e, a, b) : span_numbers(sp, e);
}

/* A quotient by an invariant lies between those of the ends. By 0 these are infinite or NaN. */
static SymSpan span_float_div(SpanEnv *sp, const Expr *e)
{
    Lower        *lw = sp->lw;
    const SymSpan a  = span_of(sp, e->args[0]);
    const Expr   *d  = e->args[1];
    if (!is_loop_invariant(sp, d) || !a.min || !a.max)
        return span_numbers(sp, e);
    if (d->op != EX_FLOAT || d->u.f == 0)
        return float_corners(sp, e, a, (SymSpan){ d, d });
    const Expr *p = x_op(lw, EX_DIV, a.min, d), *q = x_op(lw, EX_DIV, a.max, d);
    return d->u.f > 0 ? (SymSpan){ p, q } : (SymSpan){ q, p };
}

/* Is its span everything where it may be NaN? True of coordinates and invariants, under operators whose spans see to
 * it. `nodes`: how many may still be visited. */
static bool says_nan(SpanEnv *sp, const Expr *e, int *nodes)
{
    bool says = --*nodes > 0;
    switch ((ExprOp)e->op) {
    case EX_CAST: return type_is_int((kn_type)e->args[0]->type);
    case EX_ADD:
    case EX_SUB:
    case EX_MUL:
    case EX_DIV:
    case EX_NEG:
    case EX_FLOOR:
    case EX_CEIL:
    case EX_ROUND:
    case EX_TRUNC:
        for (uint32_t i = 0; i < e->count && says; i++)
            says = is_loop_invariant(sp, e->args[i]) || says_nan(sp, e->args[i], nodes);
        return says;
    default: return false;
    }
}

/* A conversion from float saturates, and NaN becomes 0. That is monotonic. */
static SymSpan span_from_float(SpanEnv *sp, const Expr *e)
{
    Lower *lw    = sp->lw;
    int    nodes = 100;
    if (e->type == KN_BOOL)
        return span_numbers(sp, e);
    const SymSpan rising = span_rising(sp, e), all = span_numbers(sp, e);
    const SymSpan r    = { rising.min ? rising.min : all.min, rising.max ? rising.max : all.max };
    const Expr   *zero = expr_int(lw->exprs, (kn_type)e->type, 0);
    if (!may_be_nan(sp, e->args[0]) || says_nan(sp, e->args[0], &nodes))
        return r;
    return (SymSpan){ least(lw, r.min, zero), most(lw, r.max, zero) };
}

/* ---- The tables --------------------------------------------------------------------------- */

/* Integers for which more is known than by the rule of the operator. */
/* clang-format off */

static SpanRule *const int_rules[EX_COUNT] = {
    [EX_ADD] = span_narrow_sum, [EX_SUB] = span_narrow_sum, [EX_NEG] = span_narrow_sum, [EX_MUL] = span_narrow_sum,
    [EX_SHL] = span_bits,       [EX_SHR] = span_bits,       [EX_BIT_AND] = span_bits,   [EX_BIT_OR] = span_bits,
    [EX_BIT_XOR] = span_bits,   [EX_SELECT] = span_select,  [EX_CALL] = span_call,      [EX_CAST] = span_cast,
    [EX_AND] = span_logic, [EX_OR] = span_logic,
};

/* clang-format on */

static SpanRule *const float_rules[EX_COUNT] = {
    [EX_ADD] = span_float_sum, [EX_SUB] = span_float_sum, [EX_NEG] = span_neg,      [EX_MUL] = span_float_product,
    [EX_DIV] = span_float_div, [EX_MIN] = span_min,       [EX_MAX] = span_max,      [EX_FLOOR] = span_rising,
    [EX_CEIL] = span_rising,   [EX_ROUND] = span_rising,  [EX_TRUNC] = span_rising, [EX_CAST] = span_to_float,
    [EX_SELECT] = span_select, [EX_CALL] = span_call,
};

/* From floats to integers. */
static SpanRule *const rounding_rules[EX_COUNT] = {
    [EX_CAST]     = span_from_float,
    [EX_SAT_CAST] = span_from_float,
};

SymSpan span_rule(SpanEnv *sp, const Expr *e)
{
    if (type_is_float((kn_type)e->type))
        return float_rules[e->op] ? float_rules[e->op](sp, e) : span_numbers(sp, e);
    if (e->op != EX_SELECT && e->op != EX_CALL && e->count && type_is_float((kn_type)e->args[0]->type))
        return rounding_rules[e->op] ? rounding_rules[e->op](sp, e) : span_numbers(sp, e);
    return int_rules[e->op] ? int_rules[e->op](sp, e) : span_by_rule(sp, e);
}
