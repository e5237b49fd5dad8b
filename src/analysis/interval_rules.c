/* SPDX-License-Identifier: MIT */
/* The rules of integer operators: see interval_rules.h.
 *
 * Exact for + - * / min max, comparisons, absd, averages and conversions: these are monotonic between the corners of
 * the box of operands. Bitwise operators are exact where one operand is a single number whose ones are contiguous (a
 * mask of the low bits, of the high bits, of a field); else they are bounded by powers of two. A rule recognizes a
 * single number by equal ends (end_same), so numbers and expressions give the same interval. Shifts by several amounts
 * are exact where nothing wraps. */
#include "analysis/interval_rules.h"

typedef const EndMaker Maker;

/* ---- Operations ------------------------------------------------------------------------- */

static End apply(Maker *m, EndOp op, End a, End b)
{
    return end_apply(m, op, a, b, (End){ 0 });
}

static End num(Wide v)
{
    return end_number(v);
}
static End add(Maker *m, End a, End b)
{
    return apply(m, END_ADD, a, b);
}
static End sub(Maker *m, End a, End b)
{
    return apply(m, END_SUB, a, b);
}
static End mul(Maker *m, End a, End b)
{
    return apply(m, END_MUL, a, b);
}
static End divide(Maker *m, End a, End b)
{
    return apply(m, END_DIV, a, b);
}
static End least(Maker *m, End a, End b)
{
    return apply(m, END_MIN, a, b);
}
static End most(Maker *m, End a, End b)
{
    return apply(m, END_MAX, a, b);
}
static End lt(Maker *m, End a, End b)
{
    return apply(m, END_LT, a, b);
}
static End le(Maker *m, End a, End b)
{
    return apply(m, END_LE, a, b);
}
static End eq(Maker *m, End a, End b)
{
    return apply(m, END_EQ, a, b);
}
static End both(Maker *m, End a, End b)
{
    return apply(m, END_AND, a, b);
}
static End either(Maker *m, End a, End b)
{
    return apply(m, END_OR, a, b);
}
static End negative(Maker *m, End a)
{
    return lt(m, a, num(0));
}
static End neg(Maker *m, End a)
{
    return sub(m, num(0), a);
}
static End choose(Maker *m, End c, End a, End b)
{
    return end_apply(m, END_SELECT, c, a, b);
}

/* a * 2^n, rounded down. */
static End shifted(Maker *m, End a, End n)
{
    if (!end_is_number(n) || n.least > 100 || n.least < -100)
        return apply(m, END_SHL, a, n);
    return n.least >= 0 ? mul(m, a, num((Wide)1 << n.least)) : divide(m, a, num((Wide)1 << -n.least));
}

/* The least 2^n above a; 1 for a < 0. */
static End power_above(Maker *m, End a)
{
    return shifted(m, num(1), apply(m, END_LENGTH, most(m, a, num(0)), num(0)));
}

static Interval interval(End lo, End hi)
{
    return (Interval){ lo, hi };
}
static Interval numbers(Wide lo, Wide hi)
{
    return (Interval){ num(lo), num(hi) };
}
static bool is_single(Interval a)
{
    return end_same(a.lo, a.hi);
}

static Interval hull(Maker *m, Interval a, Interval b)
{
    return interval(least(m, a.lo, b.lo), most(m, a.hi, b.hi));
}

static Interval choose_interval(Maker *m, End c, Interval a, Interval b)
{
    return interval(choose(m, c, a.lo, b.lo), choose(m, c, a.hi, b.hi));
}

/* ---- Types ------------------------------------------------------------------------------ */

static Interval whole(kn_type type)
{
    const Range r = range_of_type(type);
    return numbers(r.lo, r.hi);
}

/* An end clamped to the type; an unknown one is the type's. */
static End in_type(End a, End end, Interval all)
{
    if (!end_is_known(a))
        return end;
    return (End){ wide_max(a.least, all.lo.least), wide_min(a.most, all.hi.least), a.expr };
}

static bool surely_in(End a, Interval all)
{
    return end_is_known(a) && a.least >= all.lo.least && a.most <= all.hi.least;
}

Interval interval_fit(Maker *m, kn_type type, End lo, End hi)
{
    const Interval all = whole(type);
    if (surely_in(lo, all) && surely_in(hi, all))
        return interval(lo, hi);
    const End bits = num(type_bits(type)), size = num((Wide)1 << type_bits(type)),
              is_signed = num(type_is_signed(type));
    End same            = eq(m, divide(m, sub(m, lo, all.lo), size), divide(m, sub(m, hi, all.lo), size));
    if (!end_is_known(same))
        same = both(m, le(m, all.lo, lo), le(m, hi, all.hi));
    const End least_end = choose(m, same, end_apply(m, END_WRAP, lo, bits, is_signed), all.lo);
    const End most_end  = choose(m, same, end_apply(m, END_WRAP, hi, bits, is_signed), all.hi);
    return interval(in_type(least_end, all.lo, all), in_type(most_end, all.hi, all));
}

static Interval fit(Maker *m, kn_type type, Interval a)
{
    return interval_fit(m, type, a.lo, a.hi);
}

/* ---- Arithmetic ------------------------------------------------------------------------- */

typedef Interval IntervalRule(Maker *m, kn_type type, kn_type from, const Interval *a);

static Interval rule_neg(Maker *m, kn_type type, kn_type from, const Interval *a)
{
    (void)from;
    return interval_fit(m, type, neg(m, a->hi), neg(m, a->lo));
}

static Interval rule_add(Maker *m, kn_type type, kn_type from, const Interval *a)
{
    (void)from;
    return interval_fit(m, type, add(m, a[0].lo, a[1].lo), add(m, a[0].hi, a[1].hi));
}

static Interval rule_sub(Maker *m, kn_type type, kn_type from, const Interval *a)
{
    (void)from;
    return interval_fit(m, type, sub(m, a[0].lo, a[1].hi), sub(m, a[0].hi, a[1].lo));
}

/* The four corners. */
static Interval product(Maker *m, Interval a, Interval b)
{
    const End p = mul(m, a.lo, b.lo), q = mul(m, a.hi, b.lo), r = mul(m, a.lo, b.hi), s = mul(m, a.hi, b.hi);
    return interval(least(m, least(m, least(m, p, q), r), s), most(m, most(m, most(m, p, q), r), s));
}

static Interval rule_mul(Maker *m, kn_type type, kn_type from, const Interval *a)
{
    (void)from;
    return fit(m, type, product(m, a[0], a[1]));
}

static Interval quotient(Maker *m, Interval a, End b)
{
    const End p = divide(m, a.lo, b), q = divide(m, a.hi, b);
    return b.least >= 0 ? interval(p, q) : b.most <= 0 ? interval(q, p) : interval(least(m, p, q), most(m, p, q));
}

/* The hull of the quotients by the outermost divisors, and by those of -1, 0, 1 that are among the divisors: for
 * divisors of one sign the quotient is monotonic in each operand. */
static Interval rule_div(Maker *m, kn_type type, kn_type from, const Interval *a)
{
    (void)from;
    Interval r = quotient(m, a[0], a[1].lo);
    if (is_single(a[1]))
        return fit(m, type, r);
    r = hull(m, r, quotient(m, a[0], a[1].hi));
    for (int d = -1; d <= 1; d++) {
        const End there = both(m, le(m, a[1].lo, num(d)), le(m, num(d), a[1].hi));
        if (!end_is_false(there))
            r = choose_interval(m, there, hull(m, r, quotient(m, a[0], num(d))), r);
    }
    return fit(m, type, r);
}

static Interval magnitude(Maker *m, Interval a)
{
    if (is_single(a)) {
        const End v = apply(m, END_ABS, a.lo, num(0));
        return interval(v, v);
    }
    const End hi = most(m, a.hi, neg(m, a.lo));
    return interval(most(m, most(m, a.lo, neg(m, a.hi)), num(0)), (End){ wide_max(hi.least, 0), hi.most, hi.expr });
}

/* By one number: if the dividend stays in one period, the remainders of its ends; else 0 .. |d|-1. */
static Interval remainder_by(Maker *m, Interval a, End d)
{
    const End same = eq(m, divide(m, a.lo, d), divide(m, a.hi, d));
    const End last = most(m, sub(m, apply(m, END_ABS, d, num(0)), num(1)), num(0));
    return interval(choose(m, same, apply(m, END_MOD, a.lo, d), num(0)),
                    choose(m, same, apply(m, END_MOD, a.hi, d), last));
}

/* By several: a dividend below all of them is its own remainder; one that is not negative only decreases. */
static Interval rule_mod(Maker *m, kn_type type, kn_type from, const Interval *a)
{
    (void)from;
    (void)type;
    if (is_single(a[1]))
        return remainder_by(m, a[0], a[1].lo);
    const Interval d       = magnitude(m, a[1]);
    const End      natural = le(m, num(0), a[0].lo), last = most(m, sub(m, d.hi, num(1)), num(0)),
              inside = both(m, natural, lt(m, a[0].hi, d.lo));
    return interval(choose(m, inside, a[0].lo, num(0)),
                    choose(m, natural, choose(m, inside, a[0].hi, least(m, a[0].hi, last)), last));
}

static Interval rule_min(Maker *m, kn_type type, kn_type from, const Interval *a)
{
    (void)from;
    (void)type;
    return interval(least(m, a[0].lo, a[1].lo), least(m, a[0].hi, a[1].hi));
}

static Interval rule_max(Maker *m, kn_type type, kn_type from, const Interval *a)
{
    (void)from;
    (void)type;
    return interval(most(m, a[0].lo, a[1].lo), most(m, a[0].hi, a[1].hi));
}

static Interval rule_abs(Maker *m, kn_type type, kn_type from, const Interval *a)
{
    (void)from;
    return fit(m, type, magnitude(m, *a));
}

static Interval rule_absd(Maker *m, kn_type type, kn_type from, const Interval *a)
{
    (void)from;
    return fit(m, type, magnitude(m, interval(sub(m, a[0].lo, a[1].hi), sub(m, a[0].hi, a[1].lo))));
}

static Interval average(Maker *m, kn_type type, const Interval *a, int round)
{
    return interval_fit(m, type, divide(m, add(m, add(m, a[0].lo, a[1].lo), num(round)), num(2)),
                        divide(m, add(m, add(m, a[0].hi, a[1].hi), num(round)), num(2)));
}

static Interval rule_avg_up(Maker *m, kn_type type, kn_type from, const Interval *a)
{
    (void)from;
    return average(m, type, a, 1);
}

static Interval rule_avg_down(Maker *m, kn_type type, kn_type from, const Interval *a)
{
    (void)from;
    return average(m, type, a, 0);
}

/* ---- Bits ------------------------------------------------------------------------------- */

/* Falls as the number grows; a negative one has its first bit set. */
static Interval rule_clz(Maker *m, kn_type type, kn_type from, const Interval *a)
{
    (void)type;
    const End zero = num(0), bits = num(type_bits(from));
    const End few  = sub(m, bits, apply(m, END_LENGTH, most(m, a->hi, zero), zero)),
              many = sub(m, bits, apply(m, END_LENGTH, most(m, a->lo, zero), zero));
    return interval(choose(m, negative(m, a->lo), zero, few), choose(m, negative(m, a->hi), zero, many));
}

/* Of the numbers 0 .. n, 2^k - 1 with the largest k has the most ones: k = log2(n + 1), rounded down. */
static Interval rule_popcount(Maker *m, kn_type type, kn_type from, const Interval *a)
{
    (void)type;
    const End zero = num(0), some = either(m, lt(m, zero, a->lo), negative(m, a->hi));
    const End ones = sub(m, apply(m, END_LENGTH, add(m, most(m, a->hi, zero), num(1)), zero), num(1));
    return interval(choose(m, some, num(1), zero), choose(m, negative(m, a->lo), num(type_bits(from)), ones));
}

/* v << n for n.lo <= n <= n.hi. By fewer than `bits` it is monotonic in n, with a direction by its sign; by more it is
 * 0. */
static Interval shift(Maker *m, kn_type type, Interval v, Interval n)
{
    const End bits = num(type_bits(type)), limit = num(type_bits(type) - 1), least_shift = neg(m, bits), zero = num(0);
    const End from = most(m, least(m, n.lo, limit), least_shift), to = most(m, least(m, n.hi, limit), least_shift);
    const Interval r    = interval_fit(m, type, least(m, shifted(m, v.lo, from), shifted(m, v.lo, to)),
                                       most(m, shifted(m, v.hi, from), shifted(m, v.hi, to)));
    const End      gone = le(m, bits, n.lo), may_go = le(m, bits, n.hi);
    return choose_interval(m, gone, numbers(0, 0), choose_interval(m, may_go, hull(m, r, interval(zero, zero)), r));
}

static Interval rule_shl(Maker *m, kn_type type, kn_type from, const Interval *a)
{
    (void)from;
    return shift(m, type, a[0], a[1]);
}

static Interval rule_shr(Maker *m, kn_type type, kn_type from, const Interval *a)
{
    (void)from;
    return shift(m, type, a[0], interval(neg(m, a[1].hi), neg(m, a[1].lo)));
}

/* The product in double width, then to the right; to the left, by a negative amount, it may wrap. */
static Interval rule_mul_shift(Maker *m, kn_type type, kn_type from, const Interval *a)
{
    (void)from;
    const Interval p    = product(m, a[0], a[1]);
    const End      last = num(-2 * type_bits(type)), zero = num(0); /* by more all bits are gone, as by that many */
    const End      from_bit = most(m, least(m, neg(m, a[2].lo), zero), last),
              to_bit        = most(m, least(m, neg(m, a[2].hi), zero), last);
    const Interval r        = interval_fit(m, type, least(m, shifted(m, p.lo, from_bit), shifted(m, p.lo, to_bit)),
                                           most(m, shifted(m, p.hi, from_bit), shifted(m, p.hi, to_bit)));
    return choose_interval(m, negative(m, a[2].lo), whole(type), r);
}

/* ~a, where all ones are `sum`: ~a + a. */
static Interval complement(Maker *m, Interval a, End sum)
{
    return interval(sub(m, sum, a.hi), sub(m, sum, a.lo));
}

static End all_ones(kn_type type)
{
    return type_is_signed(type) ? num(-1) : whole(type).hi;
}

/* a & b <= a if a >= 0 or b < 0, and the same for b. It is >= 0 if either operand is; else >= -2^n for the first power
 * that covers both. */
static Interval and_any(Maker *m, Interval a, Interval b)
{
    const End natural_a = le(m, num(0), a.lo), natural_b = le(m, num(0), b.lo);
    const End under_a = either(m, natural_a, negative(m, b.hi)), under_b = either(m, natural_b, negative(m, a.hi));
    const End lo = neg(m, power_above(m, sub(m, num(-1), least(m, a.lo, b.lo))));
    const End hi = choose(m, under_a, choose(m, under_b, least(m, a.hi, b.hi), a.hi),
                          choose(m, under_b, b.hi, most(m, a.hi, b.hi)));
    return interval(choose(m, either(m, natural_a, natural_b), num(0), lo), hi);
}

/* a rounded down to a multiple of `step` > 0. */
static End multiple(Maker *m, End a, End step)
{
    return end_is_number(step) ? mul(m, divide(m, a, step), step) : sub(m, a, apply(m, END_MOD, a, step));
}

static Interval aligned(Maker *m, Interval a, End step)
{
    if (end_is_number(step) && step.least == 1)
        return a;
    return interval(multiple(m, a.lo, step), multiple(m, a.hi, step));
}

/* `r`; where the operand is a single number, `op` of that and the mask. */
static Interval unless_single(Maker *m, EndOp op, Interval a, End mask, Interval r)
{
    const End one = eq(m, a.lo, a.hi), v = apply(m, op, a.lo, mask);
    return end_is_known(one) && end_is_known(v) ? choose_interval(m, one, interval(v, v), r) : r;
}

/* a & mask. Ones from bit j up: rounded down to a multiple of 2^j. Ones from j to k: the same, of the remainder modulo
 * 2^(k+1). */
static Interval masked(Maker *m, Interval a, End mask)
{
    const End step = apply(m, END_BIT_AND, mask, neg(m, mask)), beyond = add(m, mask, step),
              size  = power_above(m, mask);
    const End high  = both(m, negative(m, mask), eq(m, beyond, num(0))),
              field = both(m, le(m, num(0), mask), eq(m, beyond, size));
    Interval r      = end_is_true(high) || end_is_true(field)
                          ? a
                          : unless_single(m, END_BIT_AND, a, mask, and_any(m, a, interval(mask, mask)));
    if (!end_is_false(field))
        r = choose_interval(m, field, aligned(m, remainder_by(m, a, size), step), r);
    if (!end_is_false(high))
        r = choose_interval(m, high, aligned(m, a, step), r);
    return r;
}

static Interval rule_and(Maker *m, kn_type type, kn_type from, const Interval *a)
{
    (void)from;
    (void)type;
    if (is_single(a[0]) && is_single(a[1])) {
        const End v = apply(m, END_BIT_AND, a[0].lo, a[1].lo);
        return interval(v, v);
    }
    return is_single(a[1])   ? masked(m, a[0], a[1].lo)
           : is_single(a[0]) ? masked(m, a[1], a[0].lo)
                             : and_any(m, a[0], a[1]);
}

/* ~(~a & ~b): with as many ones in front as a number without bounds has, which keeps the size of the operands; and with
 * those of the type, in which the zeros of a mask are contiguous. */
static Interval rule_or(Maker *m, kn_type type, kn_type from, const Interval *a)
{
    const End      ones = all_ones(type), minus = num(-1);
    const Interval plain[] = { complement(m, a[0], minus), complement(m, a[1], minus) },
                   r       = complement(m, rule_and(m, type, from, plain), minus);
    if (type_is_signed(type) || is_single(a[0]) == is_single(a[1]))
        return r;
    const Interval inside[] = { complement(m, a[0], ones), complement(m, a[1], ones) },
                   q        = complement(m, rule_and(m, type, from, inside), ones);
    return interval(most(m, r.lo, q.lo), least(m, r.hi, q.hi));
}

/* a ^ mask leaves the bits above the mask's: a stays in its block of 2^n. A negative mask: ~(a ^ ~mask). */
static Interval flipped(Maker *m, Interval a, End mask)
{
    const End      is_negative = negative(m, mask), size = power_above(m, most(m, mask, sub(m, num(-1), mask)));
    const Interval block = aligned(m, a, size);
    const Interval r     = interval(block.lo, add(m, block.hi, sub(m, size, num(1))));
    return unless_single(m, END_BIT_XOR, a, mask, choose_interval(m, is_negative, complement(m, r, num(-1)), r));
}

/* As many bits as the operands; the sign is known where both signs are. */
static Interval xor_any(Maker *m, Interval a, Interval b)
{
    const End top       = most(m, most(m, a.hi, b.hi), sub(m, num(-1), least(m, a.lo, b.lo)));
    const End size      = power_above(m, top);
    const End natural_a = le(m, num(0), a.lo), natural_b = le(m, num(0), b.lo), negative_a = negative(m, a.hi),
              negative_b = negative(m, b.hi);
    const End same       = either(m, both(m, natural_a, natural_b), both(m, negative_a, negative_b));
    const End other      = either(m, both(m, natural_a, negative_b), both(m, negative_a, natural_b));
    return interval(choose(m, same, num(0), neg(m, size)), choose(m, other, num(-1), sub(m, size, num(1))));
}

static Interval rule_xor(Maker *m, kn_type type, kn_type from, const Interval *a)
{
    (void)from;
    (void)type;
    if (is_single(a[0]) && is_single(a[1])) {
        const End v = apply(m, END_BIT_XOR, a[0].lo, a[1].lo);
        return interval(v, v);
    }
    return is_single(a[1])   ? flipped(m, a[0], a[1].lo)
           : is_single(a[0]) ? flipped(m, a[1], a[0].lo)
                             : xor_any(m, a[0], a[1]);
}

static Interval rule_not(Maker *m, kn_type type, kn_type from, const Interval *a)
{
    (void)from;
    return complement(m, *a, all_ones(type));
}

/* ---- Comparisons and conversions -------------------------------------------------------- */

static Interval rule_lt(Maker *m, kn_type type, kn_type from, const Interval *a)
{
    (void)from;
    (void)type;
    return interval(lt(m, a[0].hi, a[1].lo), lt(m, a[0].lo, a[1].hi));
}

static Interval rule_le(Maker *m, kn_type type, kn_type from, const Interval *a)
{
    (void)from;
    (void)type;
    return interval(le(m, a[0].hi, a[1].lo), le(m, a[0].lo, a[1].hi));
}

static Interval rule_eq(Maker *m, kn_type type, kn_type from, const Interval *a)
{
    (void)from;
    (void)type;
    const End one = both(m, both(m, eq(m, a[0].lo, a[0].hi), eq(m, a[1].lo, a[1].hi)), eq(m, a[0].lo, a[1].lo));
    return interval(one, both(m, le(m, a[0].lo, a[1].hi), le(m, a[1].lo, a[0].hi)));
}

static Interval rule_ne(Maker *m, kn_type type, kn_type from, const Interval *a)
{
    const Interval equal = rule_eq(m, type, from, a);
    return interval(sub(m, num(1), equal.hi), sub(m, num(1), equal.lo));
}

static Interval rule_cast(Maker *m, kn_type type, kn_type from, const Interval *a)
{
    (void)from;
    if (type == KN_BOOL) {
        const End zero = both(m, eq(m, a->lo, num(0)), eq(m, a->hi, num(0)));
        return interval(either(m, lt(m, num(0), a->lo), negative(m, a->hi)), sub(m, num(1), zero));
    }
    return fit(m, type, *a);
}

static Interval rule_sat_cast(Maker *m, kn_type type, kn_type from, const Interval *a)
{
    if (type == KN_BOOL)
        return rule_cast(m, type, from, a);
    const Interval all = whole(type);
    return interval(least(m, most(m, a->lo, all.lo), all.hi), least(m, most(m, a->hi, all.lo), all.hi));
}

/* clang-format off */
static IntervalRule *const rules[EX_COUNT] = {
    [EX_CAST] = rule_cast,         [EX_SAT_CAST] = rule_sat_cast, [EX_REINTERPRET] = rule_cast,
    [EX_NEG] = rule_neg,           [EX_ADD] = rule_add,           [EX_SUB] = rule_sub,
    [EX_MUL] = rule_mul,           [EX_DIV] = rule_div,           [EX_MOD] = rule_mod,
    [EX_MIN] = rule_min,           [EX_MAX] = rule_max,           [EX_ABS] = rule_abs,
    [EX_ABSD] = rule_absd,         [EX_AVG_UP] = rule_avg_up,     [EX_AVG_DOWN] = rule_avg_down,
    [EX_MUL_SHIFT] = rule_mul_shift, [EX_POPCOUNT] = rule_popcount, [EX_CLZ] = rule_clz,
    [EX_SHL] = rule_shl,           [EX_SHR] = rule_shr,           [EX_BIT_AND] = rule_and,
    [EX_BIT_OR] = rule_or,         [EX_BIT_XOR] = rule_xor,       [EX_BIT_NOT] = rule_not,
    [EX_LT] = rule_lt,             [EX_LE] = rule_le,             [EX_EQ] = rule_eq,
    [EX_NE] = rule_ne,
};
/* clang-format on */

bool interval_has_rule(ExprOp op)
{
    return rules[op] != NULL;
}

Interval interval_apply(Maker *m, ExprOp op, kn_type type, kn_type from, const Interval *args)
{
    const Interval all = whole(type), r = rules[op] ? rules[op](m, type, from, args) : all;
    return interval(in_type(r.lo, all.lo, all), in_type(r.hi, all.hi, all));
}
