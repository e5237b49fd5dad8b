/* The span of an operator from those of its operands.
 *
 * Of integers by the rules of analysis/interval_rules.c, whose ends are expressions here. These are made in 32 bits
 * where the numbers that they lie between show that nothing can wrap, in 64 bits else; what needs more is unknown, and
 * the whole type is said instead. Where an operand has no bound, the numbers of its type, or those that functions'
 * values lie between, take the place. Floats have rules of their own, which only know what is monotonic. */
#include "lower/span.h"

#include <math.h>

#include "analysis/interval_rules.h"

typedef Span Rule(Spans *sp, const Expr *e);

/* From the numbers alone. */
static Span span_numbers(Spans *sp, const Expr *e)
{
    Lower        *lw   = sp->lw;
    const kn_type type = (kn_type)e->type;
    const Range   r = value_range(lw, e), all = range_of_type(type);
    if (type_is_float(type))
        return (Span){ r.flo == all.flo ? NULL : expr_float(lw->exprs, type, r.flo),
                       r.fhi == all.fhi ? NULL : expr_float(lw->exprs, type, r.fhi) };
    const bool wide = type_bits(type) >= 32;
    return (Span){ wide && r.lo == all.lo ? NULL : expr_int(lw->exprs, type, (int64_t)r.lo),
                   wide && r.hi == all.hi ? NULL : expr_int(lw->exprs, type, (int64_t)r.hi) };
}

/* ---- Ends that are expressions ------------------------------------------------------------ */

/* The end as an integer of the type. */
static const Expr *as_type(Lower *lw, kn_type type, End a)
{
    return end_is_number(a) ? expr_int(lw->exprs, type, (int64_t)a.least) : x_cast(lw, type, a.expr);
}

static const Expr *as_truth(Lower *lw, End a)
{
    if (end_is_number(a))
        return expr_bool(lw->exprs, a.least != 0);
    if (a.expr->type == KN_BOOL)
        return a.expr;
    return x_op(lw, EX_NE, a.expr, expr_int(lw->exprs, (kn_type)a.expr->type, 0));
}

static bool fits(kn_type type, Wide least, Wide most)
{
    return range_within(type, range_int(least, most));
}

/* The type in which operands and result, if it is no truth, have room; bool: there is none. */
static kn_type type_for(int count, const End *args, Wide least, Wide most)
{
    for (int i = 0; i < count; i++) {
        least = wide_min(least, args[i].least);
        most  = wide_max(most, args[i].most);
    }
    return fits(KN_I32, least, most) ? KN_I32 : fits(KN_I64, least, most) ? KN_I64 : KN_BOOL;
}

/* As an expression an operation is one operator, but that a length is the width less the zeros in front. */
static const ExprOp operators[END_OP_COUNT] = {
    [END_ADD] = EX_ADD, [END_SUB] = EX_SUB,       [END_MUL] = EX_MUL,         [END_DIV] = EX_DIV,
    [END_MOD] = EX_MOD, [END_MIN] = EX_MIN,       [END_MAX] = EX_MAX,         [END_ABS] = EX_ABS,
    [END_SHL] = EX_SHL, [END_LENGTH] = EX_CLZ,    [END_BIT_AND] = EX_BIT_AND, [END_BIT_XOR] = EX_BIT_XOR,
    [END_LT] = EX_LT,   [END_LE] = EX_LE,         [END_EQ] = EX_EQ,           [END_AND] = EX_AND,
    [END_OR] = EX_OR,   [END_SELECT] = EX_SELECT,
};

/* A conversion does it; of a truth there is none. */
static const Expr *make_wrapped(Lower *lw, const End *args)
{
    static const kn_type types[2][65] = { { [8] = KN_U8, [16] = KN_U16, [32] = KN_U32, [64] = KN_U64 },
                                          { [8] = KN_I8, [16] = KN_I16, [32] = KN_I32, [64] = KN_I64 } };
    const kn_type        to           = types[args[2].least][args[1].least];
    return args[1].least > 1 ? as_type(lw, to, args[0]) : NULL;
}

static const Expr *make_end(void *user, EndOp op, const End *args, Wide least, Wide most)
{
    Lower       *lw    = user;
    const ExprOp ex    = operators[op];
    const int    first = op == END_SELECT, count = first + (op == END_ABS || op == END_LENGTH ? 1 : 2);
    if (op == END_AND || op == END_OR)
        return x_op(lw, ex, as_truth(lw, args[0]), as_truth(lw, args[1]));
    if (op == END_WRAP)
        return make_wrapped(lw, args);
    const kn_type type = type_for(count, args, least, most);
    if (type == KN_BOOL)
        return NULL;
    const Expr *a = as_type(lw, type, args[first]), *b = count > 1 ? as_type(lw, type, args[first + 1]) : NULL;
    if (op == END_SELECT)
        return x_select(lw, as_truth(lw, args[0]), a, b);
    if (b)
        return x_op(lw, ex, a, b);
    const Expr *e = simplify(lw->simplifier, expr_unary(lw->exprs, ex, type, a));
    return op == END_LENGTH ? x_sub(lw, expr_int(lw->exprs, type, type_bits(type)), e) : e;
}

/* An expression as an end; `number` where it is none, or may be larger than 64 bits can say. */
static End end_of(Lower *lw, const Expr *e, Wide number)
{
    int64_t lo, hi;
    if (!e)
        return end_number(number);
    if (expr_is_int(e, &lo))
        return end_number(e->type == KN_U64 ? (Wide)(uint64_t)lo : lo);
    simplifier_bounds(lw->simplifier, e, &lo, &hi);
    if (e->type == KN_U64 && hi == INT64_MAX)
        return end_number(number);
    return (End){ lo, hi, lo == hi ? NULL : e };
}

/* The interval of an operand. A coordinate without bounds is said to be any number of its type, so that what is made of
 * it is seen to have none either. */
static Interval operand(Spans *sp, const Expr *e)
{
    const Span  s = span_of(sp, e);
    const Range r = e->op == EX_VAR ? range_of_type((kn_type)e->type) : value_range(sp->lw, e);
    return (Interval){ end_of(sp->lw, s.min, r.lo), end_of(sp->lw, s.max, r.hi) };
}

/* The end of a span: a number that no coordinate can have, or the last of a type, is no bound. Of an end that no
 * expression says, the bound is the number that it cannot pass. */
static const Expr *span_end(Lower *lw, kn_type type, End a, Wide unbounded)
{
    if (!end_is_known(a))
        a = end_number(unbounded <= 0 ? a.least : a.most);
    const Wide beyond = type == KN_I32 ? (unbounded < 0 ? -MOST_COORDINATE : MOST_COORDINATE) : unbounded;
    const bool wide   = type_bits(type) >= 32 && end_is_number(a);
    if (wide && (unbounded <= 0 ? a.least <= beyond : a.least >= beyond))
        return NULL;
    return type == KN_BOOL ? as_truth(lw, a) : as_type(lw, type, a);
}

static Span span_from(Lower *lw, kn_type type, Interval r)
{
    const Range all = range_of_type(type);
    return (Span){ span_end(lw, type, r.lo, all.lo), span_end(lw, type, r.hi, all.hi) };
}

static Span span_by_rule(Spans *sp, const Expr *e)
{
    const EndMaker maker = { make_end, sp->lw };
    Interval       args[3];
    if (!interval_has_rule((ExprOp)e->op) || !e->count || type_is_float((kn_type)e->args[0]->type))
        return span_numbers(sp, e);
    for (uint32_t i = 0; i < e->count; i++)
        args[i] = operand(sp, e->args[i]);
    return span_from(sp->lw, (kn_type)e->type,
                     interval_apply(&maker, (ExprOp)e->op, (kn_type)e->type, (kn_type)e->args[0]->type, args));
}

/* A cast of values that are known to lie in the type does not wrap, though the ends of their span may lie outside of
 * it. */
static Span span_cast(Spans *sp, const Expr *e)
{
    const EndMaker maker = { make_end, sp->lw };
    const kn_type  type  = (kn_type)e->type;
    const Range    r     = value_range(sp->lw, e->args[0]);
    if (type == KN_BOOL || !range_within(type, r))
        return span_by_rule(sp, e);
    const Interval a = operand(sp, e->args[0]);
    return span_from(sp->lw, type, interval_apply(&maker, EX_SAT_CAST, type, (kn_type)e->args[0]->type, &a));
}

/* ---- What linear forms see ---------------------------------------------------------------- */

/* Sums in less than 32 bits: as if in 32, then wrapped. */
static Span span_narrow_sum(Spans *sp, const Expr *e)
{
    Lower         *lw    = sp->lw;
    const EndMaker maker = { make_end, lw };
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

/* Simplified without knowing what lets stand for, which has other spans than their names. */
static const Expr *by_itself(Lower *lw, const Expr *e)
{
    return simplify(simplifier_new(lw->exprs, lw->arena), e);
}

/* Shifts and masks by constants are products, quotients and remainders once simplified. */
static Span span_bits(Spans *sp, const Expr *e)
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

static Span span_hull(Lower *lw, Span a, Span b)
{
    return (Span){ least(lw, a.min, b.min), most(lw, a.max, b.max) };
}

/* The one or the other, as a condition in which nothing runs decides. */
static Span span_either(Lower *lw, const Expr *condition, Span a, Span b)
{
    return (Span){ a.min && b.min ? x_select(lw, condition, a.min, b.min) : NULL,
                   a.max && b.max ? x_select(lw, condition, a.max, b.max) : NULL };
}

/* The hull of both arms; where one is not entered for these ranges, the other. */
static Span span_select(Spans *sp, const Expr *e)
{
    Lower      *lw    = sp->lw;
    const Expr *outer = spans_entered(sp), *possible[2];
    Span        arm[2];
    if (e->type == KN_BOOL)
        return span_numbers(sp, e);
    if (spans_fixed(sp, e->args[0]))
        return span_either(lw, e->args[0], span_of(sp, e->args[1]), span_of(sp, e->args[2]));
    for (int i = 0; i < 2; i++) {
        const bool entered = spans_enter(sp, e->args[0], i == 0);
        arm[i]             = span_of(sp, e->args[1 + i]);
        possible[i]        = spans_entered(sp);
        if (entered)
            spans_leave(sp);
    }
    const Span taken = possible[0] == outer ? arm[0] : span_either(lw, possible[0], arm[0], arm[1]);
    const Span other = possible[1] == outer ? arm[1] : span_either(lw, possible[1], arm[1], arm[0]);
    return span_hull(lw, taken, other);
}

/* && and ||: of the smallest values, and of the largest; the second is asked where the first does not decide. */
static Span span_logic(Spans *sp, const Expr *e)
{
    const Span a       = span_of(sp, e->args[0]);
    const bool entered = spans_enter(sp, e->args[0], e->op == EX_AND);
    const Span b       = span_of(sp, e->args[1]);
    if (entered)
        spans_leave(sp);
    if (!a.min || !a.max || !b.min || !b.max)
        return span_numbers(sp, e);
    return (Span){ x_op(sp->lw, (ExprOp)e->op, a.min, b.min), x_op(sp->lw, (ExprOp)e->op, a.max, b.max) };
}

/* A function's values: numbers, and parameters where those say nothing, or say more and nothing has to hold for it. */
static Span span_call(Spans *sp, const Expr *e)
{
    const Span         s = span_numbers(sp, e);
    const FunctionSpan f = function_span(sp->lw, e->u.call.func, e->u.call.index);
    if (s.min && s.max) {
        const bool more = !f.check_count && e->type == KN_I32;
        return (Span){ more && f.span.min ? x_max(sp->lw, s.min, f.span.min) : s.min,
                       more && f.span.max ? x_min(sp->lw, s.max, f.span.max) : s.max };
    }
    for (int i = 0; i < f.check_count && sp->checking; i++)
        vec_push(sp->lw->arena, &sp->checks, f.checks[i]);
    return (Span){ s.min ? s.min : f.span.min, s.max ? s.max : f.span.max };
}

/* ---- Floats ------------------------------------------------------------------------------- */

static const Expr *apply_one(Lower *lw, const Expr *e, const Expr *a)
{
    return a ? simplify(lw->simplifier, expr_unary(lw->exprs, (ExprOp)e->op, (kn_type)e->type, a)) : NULL;
}

/* Operators of one operand that never decrease: rounding, and casts to floats. */
static Span span_rising(Spans *sp, const Expr *e)
{
    const Span a = span_of(sp, e->args[0]);
    return (Span){ apply_one(sp->lw, e, a.min), apply_one(sp->lw, e, a.max) };
}

static Span span_to_float(Spans *sp, const Expr *e)
{
    return e->args[0]->type == KN_BOOL ? span_numbers(sp, e) : span_rising(sp, e);
}

static Span span_min(Spans *sp, const Expr *e)
{
    Lower     *lw = sp->lw;
    const Span a = span_of(sp, e->args[0]), b = span_of(sp, e->args[1]);
    return (Span){ least(lw, a.min, b.min), !a.max ? b.max : !b.max ? a.max : x_min(lw, a.max, b.max) };
}

static Span span_max(Spans *sp, const Expr *e)
{
    Lower     *lw = sp->lw;
    const Span a = span_of(sp, e->args[0]), b = span_of(sp, e->args[1]);
    return (Span){ !a.min ? b.min : !b.min ? a.min : x_max(lw, a.min, b.min), most(lw, a.max, b.max) };
}

static Span span_neg(Spans *sp, const Expr *e)
{
    const Span a = span_of(sp, e->args[0]);
    return (Span){ a.max ? x_neg(sp->lw, a.max) : NULL, a.min ? x_neg(sp->lw, a.min) : NULL };
}

/* May a sum or product of floats be no number? Then the sum or product of their ends may be none either, and nothing
 * compares with that. */
static bool may_be_nan(Spans *sp, const Expr *e)
{
    return value_range(sp->lw, e).nan;
}

/* An end, or infinity where it is no number. */
static const Expr *number_or(Lower *lw, const Expr *e, bool guard, double infinity)
{
    return e && guard ? x_select(lw, x_op(lw, EX_EQ, e, e), e, expr_float(lw->exprs, (kn_type)e->type, infinity)) : e;
}

static Span span_float_sum(Spans *sp, const Expr *e)
{
    Lower      *lw    = sp->lw;
    const bool  guard = may_be_nan(sp, e);
    const Span  a = span_of(sp, e->args[0]), b = span_of(sp, e->args[1]);
    const bool  sum = e->op == EX_ADD;
    const Expr *min = both(lw, (ExprOp)e->op, a.min, sum ? b.min : b.max),
               *max = both(lw, (ExprOp)e->op, a.max, sum ? b.max : b.min);
    return (Span){ number_or(lw, min, guard, -INFINITY), number_or(lw, max, guard, INFINITY) };
}

/* The hull of the four corners, or of two where nothing runs in the second operand; where a corner is no number,
 * everything. */
static Span float_corners(Spans *sp, const Expr *e, Span a, Span b)
{
    Lower     *lw    = sp->lw;
    const bool guard = may_be_nan(sp, e);
    Span       r     = { 0 };
    for (int i = 0; i < (b.min == b.max ? 2 : 4); i++) {
        const Expr *p   = x_op(lw, (ExprOp)e->op, i & 1 ? a.max : a.min, i & 2 ? b.max : b.min);
        const Expr *low = number_or(lw, p, guard, -INFINITY), *high = number_or(lw, p, guard, INFINITY);
        r = (Span){ r.min ? x_min(lw, r.min, low) : low, r.max ? x_max(lw, r.max, high) : high };
    }
    return r;
}

static Span span_float_product(Spans *sp, const Expr *e)
{
    const Span a = span_of(sp, e->args[0]), b = span_of(sp, e->args[1]);
    return a.min && a.max && b.min && b.max ? float_corners(sp, e, a, b) : span_numbers(sp, e);
}

/* A quotient by something that does not run: between those of the ends. By 0 these are infinite, or none. */
static Span span_float_div(Spans *sp, const Expr *e)
{
    Lower      *lw = sp->lw;
    const Span  a  = span_of(sp, e->args[0]);
    const Expr *d  = e->args[1];
    if (!spans_fixed(sp, d) || !a.min || !a.max)
        return span_numbers(sp, e);
    if (d->op != EX_FLOAT || d->u.f == 0)
        return float_corners(sp, e, a, (Span){ d, d });
    const Expr *p = x_op(lw, EX_DIV, a.min, d), *q = x_op(lw, EX_DIV, a.max, d);
    return d->u.f > 0 ? (Span){ p, q } : (Span){ q, p };
}

/* Is it made so that where it may be no number its span is everything? Of coordinates and of what does not run, by
 * operators whose spans see to that. `nodes`: how many may still be looked at. */
static bool says_nan(Spans *sp, const Expr *e, int *nodes)
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
            says = spans_fixed(sp, e->args[i]) || says_nan(sp, e->args[i], nodes);
        return says;
    default: return false;
    }
}

/* A float becomes an integer by saturating, NaN 0: that keeps order. */
static Span span_from_float(Spans *sp, const Expr *e)
{
    Lower *lw    = sp->lw;
    int    nodes = 100;
    if (e->type == KN_BOOL)
        return span_numbers(sp, e);
    const Span  rising = span_rising(sp, e), all = span_numbers(sp, e);
    const Span  r    = { rising.min ? rising.min : all.min, rising.max ? rising.max : all.max };
    const Expr *zero = expr_int(lw->exprs, (kn_type)e->type, 0);
    if (!may_be_nan(sp, e->args[0]) || says_nan(sp, e->args[0], &nodes))
        return r;
    return (Span){ least(lw, r.min, zero), most(lw, r.max, zero) };
}

/* ---- The tables --------------------------------------------------------------------------- */

/* Integers for which there is more to say than the rule of the operator. */
/* clang-format off */
static Rule *const int_rules[EX_COUNT] = {
    [EX_ADD] = span_narrow_sum, [EX_SUB] = span_narrow_sum, [EX_NEG] = span_narrow_sum, [EX_MUL] = span_narrow_sum,
    [EX_SHL] = span_bits,       [EX_SHR] = span_bits,       [EX_BIT_AND] = span_bits,   [EX_BIT_OR] = span_bits,
    [EX_BIT_XOR] = span_bits,   [EX_SELECT] = span_select,  [EX_CALL] = span_call,      [EX_CAST] = span_cast,
    [EX_AND] = span_logic, [EX_OR] = span_logic,
};
/* clang-format on */
static Rule *const float_rules[EX_COUNT] = {
    [EX_ADD] = span_float_sum, [EX_SUB] = span_float_sum, [EX_NEG] = span_neg,      [EX_MUL] = span_float_product,
    [EX_DIV] = span_float_div, [EX_MIN] = span_min,       [EX_MAX] = span_max,      [EX_FLOOR] = span_rising,
    [EX_CEIL] = span_rising,   [EX_ROUND] = span_rising,  [EX_TRUNC] = span_rising, [EX_CAST] = span_to_float,
    [EX_SELECT] = span_select, [EX_CALL] = span_call,
};
/* From floats to integers. */
static Rule *const rounding_rules[EX_COUNT] = {
    [EX_CAST]     = span_from_float,
    [EX_SAT_CAST] = span_from_float,
};

Span span_rule(Spans *sp, const Expr *e)
{
    if (type_is_float((kn_type)e->type))
        return float_rules[e->op] ? float_rules[e->op](sp, e) : span_numbers(sp, e);
    if (e->op != EX_SELECT && e->op != EX_CALL && e->count && type_is_float((kn_type)e->args[0]->type))
        return rounding_rules[e->op] ? rounding_rules[e->op](sp, e) : span_numbers(sp, e);
    return int_rules[e->op] ? int_rules[e->op](sp, e) : span_by_rule(sp, e);
}
