/* Ranges of integer operators, and what all ranges share.
 *
 * Each rule takes the ranges of the operands and gives the smallest range that is easy to find: exact for + - * / min max, shifts, absd and
 * conversions, from the corners of the box of operands; by powers of two for the bitwise ones. */
#include "analysis/interval.h"

#include <math.h>

/* ---- Types ------------------------------------------------------------------------------ */

static Wide int_min(kn_type t)
{
    return type_is_signed(t) ? -((Wide)1 << (type_bits(t) - 1)) : 0;
}

static Wide int_max(kn_type t)
{
    return ((Wide)1 << (type_bits(t) - type_is_signed(t))) - 1;
}

bool range_within(kn_type type, Range r)
{
    return r.lo >= int_min(type) && r.hi <= int_max(type);
}

Range range_of_type(kn_type type)
{
    return type_is_float(type) ? range_float(-INFINITY, INFINITY, true) : range_int(int_min(type), int_max(type));
}

/* The whole interval may have wrapped, but by the same multiple of 2^bits at both ends: then it is still one interval. */
Range range_fit(kn_type type, Wide lo, Wide hi)
{
    const Wide min = int_min(type), max = int_max(type);
    if (lo >= min && hi <= max)
        return range_int(lo, hi);
    const Wide size = (Wide)1 << type_bits(type), turns = wide_floor_div(lo - min, size);
    if (turns != wide_floor_div(hi - min, size))
        return range_int(min, max);
    return range_int(lo - turns * size, hi - turns * size);
}

Range range_of_scalar(kn_type type, kn_scalar value)
{
    const Range exact = value.is_float ? range_float(value.as.f, value.as.f, isnan(value.as.f))
                        : type == KN_U64 ? range_int((uint64_t)value.as.i, (uint64_t)value.as.i)
                                         : range_int(value.as.i, value.as.i);
    if (value.is_float && exact.nan)
        return type_is_float(type) ? range_of_type(type) : range_int(0, 0);
    return range_apply(EX_CAST, type, value.is_float ? KN_F64 : type == KN_U64 ? KN_U64 : KN_I64, &exact);
}

Range range_union(kn_type type, Range a, Range b)
{
    if (type_is_float(type))
        return range_float(fmin(a.flo, b.flo), fmax(a.fhi, b.fhi), a.nan || b.nan);
    return range_int(wide_min(a.lo, b.lo), wide_max(a.hi, b.hi));
}

bool range_equal(kn_type type, Range a, Range b)
{
    if (type_is_float(type))
        return a.flo == b.flo && a.fhi == b.fhi && a.nan == b.nan;
    return a.lo == b.lo && a.hi == b.hi;
}

bool range_intersect(kn_type type, Range *a, Range b)
{
    if (type_is_float(type)) {
        const Range both = range_float(fmax(a->flo, b.flo), fmin(a->fhi, b.fhi), a->nan && b.nan);
        if (both.flo > both.fhi)
            return false;
        *a = both;
        return true;
    }
    const Range both = range_int(wide_max(a->lo, b.lo), wide_min(a->hi, b.hi));
    if (both.lo > both.hi)
        return false;
    *a = both;
    return true;
}

/* ---- Arithmetic ------------------------------------------------------------------------- */

static Range rule_neg(kn_type type, kn_type from, const Range *a)
{
    (void)from;
    return range_fit(type, -a->hi, -a->lo);
}

static Range rule_add(kn_type type, kn_type from, const Range *a)
{
    (void)from;
    return range_fit(type, a[0].lo + a[1].lo, a[0].hi + a[1].hi);
}

static Range rule_sub(kn_type type, kn_type from, const Range *a)
{
    (void)from;
    return range_fit(type, a[0].lo - a[1].hi, a[0].hi - a[1].lo);
}

/* The product's range, from the four corners; false where it needs more than 128 bits (u64 * u64). */
static bool product(const Range *a, Range *out)
{
    const Wide left[] = { a[0].lo, a[0].lo, a[0].hi, a[0].hi }, right[] = { a[1].lo, a[1].hi, a[1].lo, a[1].hi };
    for (int i = 0; i < 4; i++) {
        Wide p;
        if (__builtin_mul_overflow(left[i], right[i], &p))
            return false;
        *out = i ? range_int(wide_min(out->lo, p), wide_max(out->hi, p)) : range_int(p, p);
    }
    return true;
}

static Range rule_mul(kn_type type, kn_type from, const Range *a)
{
    (void)from;
    Range p;
    return product(a, &p) ? range_fit(type, p.lo, p.hi) : range_of_type(type);
}

/* Euclidean: the remainder is in [0, |b|), so dividing by b < 0 is minus the floor of a / |b|; by zero it is 0. */
static Wide euclid_div(Wide a, Wide b)
{
    return b > 0 ? wide_floor_div(a, b) : b < 0 ? -wide_floor_div(a, -b) : 0;
}

/* For divisors of one sign the quotient is monotonic in each operand: the extremes are at corners. */
static Range rule_div(kn_type type, kn_type from, const Range *a)
{
    (void)from;
    const Wide ends[]  = { a[1].lo, -1, 0, 1, a[1].hi };
    bool       started = false;
    Range      out     = range_int(0, 0);
    for (int i = 0; i < 5; i++) {
        if (ends[i] < a[1].lo || ends[i] > a[1].hi)
            continue;
        const Wide  p = euclid_div(a[0].lo, ends[i]), q = euclid_div(a[0].hi, ends[i]);
        const Range r = range_int(wide_min(p, q), wide_max(p, q));
        out           = started ? range_union(KN_I64, out, r) : r;
        started       = true;
    }
    return range_fit(type, out.lo, out.hi);
}

/* In [0, m-1] for the largest |divisor| m; where the divisor is known and the dividend stays in one period, that piece of it. */
static Range rule_mod(kn_type type, kn_type from, const Range *a)
{
    (void)from;
    (void)type;
    const Wide m = wide_max(-a[1].lo, a[1].hi), smallest = a[1].lo > 0 ? a[1].lo : a[1].hi < 0 ? -a[1].hi : 0;
    if (m == 0)
        return range_int(0, 0);
    if (smallest == m && wide_floor_div(a[0].lo, m) == wide_floor_div(a[0].hi, m)) {
        const Wide start = wide_floor_div(a[0].lo, m) * m;
        return range_int(a[0].lo - start, a[0].hi - start);
    }
    if (a[0].lo >= 0 && a[0].hi < smallest)
        return a[0];
    return range_int(0, a[0].lo >= 0 ? wide_min(a[0].hi, m - 1) : m - 1);
}

static Range rule_min(kn_type type, kn_type from, const Range *a)
{
    (void)from;
    (void)type;
    return range_int(wide_min(a[0].lo, a[1].lo), wide_min(a[0].hi, a[1].hi));
}

static Range rule_max(kn_type type, kn_type from, const Range *a)
{
    (void)from;
    (void)type;
    return range_int(wide_max(a[0].lo, a[1].lo), wide_max(a[0].hi, a[1].hi));
}

static Range magnitude(Range a)
{
    if (a.lo >= 0)
        return a;
    return a.hi <= 0 ? range_int(-a.hi, -a.lo) : range_int(0, wide_max(-a.lo, a.hi));
}

static Range rule_abs(kn_type type, kn_type from, const Range *a)
{
    (void)from;
    const Range r = magnitude(*a);
    return range_fit(type, r.lo, r.hi);
}

static Range rule_absd(kn_type type, kn_type from, const Range *a)
{
    (void)from;
    const Range r = magnitude(range_int(a[0].lo - a[1].hi, a[0].hi - a[1].lo));
    return range_fit(type, r.lo, r.hi);
}

static Range rule_avg_up(kn_type type, kn_type from, const Range *a)
{
    (void)from;
    return range_fit(type, wide_floor_div(a[0].lo + a[1].lo + 1, 2), wide_floor_div(a[0].hi + a[1].hi + 1, 2));
}

static Range rule_avg_down(kn_type type, kn_type from, const Range *a)
{
    (void)from;
    return range_fit(type, wide_floor_div(a[0].lo + a[1].lo, 2), wide_floor_div(a[0].hi + a[1].hi, 2));
}

static Range rule_popcount(kn_type type, kn_type from, const Range *a)
{
    (void)type;
    return range_int(a->lo > 0 || a->hi < 0, a->lo == 0 && a->hi == 0 ? 0 : type_bits(from));
}

static int bit_length(Wide v)
{
    int n = 0;
    for (; v > 0; v >>= 1)
        n++;
    return n;
}

/* Falls as the number grows; a negative one has its first bit set. */
static Range rule_clz(kn_type type, kn_type from, const Range *a)
{
    (void)type;
    const int bits = type_bits(from);
    return range_int(a->lo < 0 ? 0 : bits - bit_length(a->hi), a->hi < 0 ? 0 : bits - bit_length(wide_max(a->lo, 0)));
}

/* ---- Shifts and bits -------------------------------------------------------------------- */

/* v shifted left by n (right if n < 0) in a type of `bits`, before wrapping. */
static Wide shifted(Wide v, Wide n, int bits)
{
    if (n >= bits)
        return 0;
    if (n >= 0)
        return v * ((Wide)1 << n);
    return n <= -bits ? (v < 0 ? -1 : 0) : wide_floor_div(v, (Wide)1 << -n);
}

/* The union over all amounts, of which no more than 2*bits + 1 differ. `sign` is 1 for a left shift, -1 for a right one. */
static Range shift(kn_type type, const Range *a, int sign)
{
    const int  bits = type_bits(type);
    const Wide from = wide_min(wide_max(a[1].lo, -bits), bits), to = wide_min(wide_max(a[1].hi, -bits), bits);
    Range      out  = { 0 };
    for (Wide n = from; n <= to; n++) {
        const Range r = range_fit(type, shifted(a[0].lo, sign * n, bits), shifted(a[0].hi, sign * n, bits));
        out           = n == from ? r : range_union(type, out, r);
    }
    return out;
}

static Range rule_shl(kn_type type, kn_type from, const Range *a)
{
    (void)from;
    return shift(type, a, 1);
}

static Range rule_shr(kn_type type, kn_type from, const Range *a)
{
    (void)from;
    return shift(type, a, -1);
}

static Range rule_mul_shift(kn_type type, kn_type from, const Range *a)
{
    (void)from;
    Range p;
    if (!product(a, &p) || a[2].lo < 0)
        return range_of_type(type);
    const Wide least = wide_min(a[2].lo, 126), most = wide_min(a[2].hi, 126);
    return range_fit(type, wide_min(p.lo >> least, p.lo >> most), wide_max(p.hi >> least, p.hi >> most));
}

/* The smallest 2^n - 1 that is not below v >= 0; -1 for v < 0. */
static Wide ones(Wide v)
{
    return v < 0 ? -1 : ((Wide)1 << bit_length(v)) - 1;
}

/* The largest -2^n that is not above v < 0; 0 for v >= 0. */
static Wide leading(Wide v)
{
    return v >= 0 ? 0 : -ones(-v - 1) - 1;
}

/* a & b is not above an operand that is >= 0, nor negative if one is; two negative ones give no less than their common leading ones. */
static Range rule_and(kn_type type, kn_type from, const Range *a)
{
    (void)from;
    (void)type;
    const Wide lo = a[0].lo >= 0 || a[1].lo >= 0 ? 0 : wide_min(leading(a[0].lo), leading(a[1].lo));
    const Wide hi = a[0].lo >= 0 && a[1].lo >= 0 ? wide_min(a[0].hi, a[1].hi)
                    : a[0].lo >= 0               ? a[0].hi
                    : a[1].lo >= 0               ? a[1].hi
                                                 : wide_max(a[0].hi, a[1].hi);
    return range_int(lo, hi);
}

static Range rule_or(kn_type type, kn_type from, const Range *a)
{
    (void)from;
    (void)type;
    const Wide lo = a[0].lo >= 0 && a[1].lo >= 0 ? wide_max(a[0].lo, a[1].lo) : wide_min(a[0].lo, a[1].lo);
    return range_int(lo, wide_max(ones(a[0].hi), ones(a[1].hi)));
}

static Range rule_xor(kn_type type, kn_type from, const Range *a)
{
    (void)from;
    (void)type;
    const Wide lo = wide_min(leading(a[0].lo), leading(a[1].lo)), hi = wide_max(ones(a[0].hi), ones(a[1].hi));
    return lo == 0 ? range_int(0, hi) : range_int(wide_min(lo, -hi - 1), wide_max(hi, -lo - 1));
}

static Range rule_not(kn_type type, kn_type from, const Range *a)
{
    (void)from;
    const Wide sum = type_is_signed(type) ? -1 : int_max(type);     /* ~a + a */
    return range_int(sum - a->hi, sum - a->lo);
}

/* ---- Comparisons and conversions -------------------------------------------------------- */

static Range rule_lt(kn_type type, kn_type from, const Range *a)
{
    (void)from;
    (void)type;
    return range_int(a[0].hi < a[1].lo, a[0].lo < a[1].hi);
}

static Range rule_le(kn_type type, kn_type from, const Range *a)
{
    (void)from;
    (void)type;
    return range_int(a[0].hi <= a[1].lo, a[0].lo <= a[1].hi);
}

static Range rule_eq(kn_type type, kn_type from, const Range *a)
{
    (void)from;
    (void)type;
    const bool one = a[0].lo == a[0].hi && a[1].lo == a[1].hi && a[0].lo == a[1].lo;
    return range_int(one, a[0].lo <= a[1].hi && a[1].lo <= a[0].hi);
}

static Range rule_ne(kn_type type, kn_type from, const Range *a)
{
    const Range equal = rule_eq(type, from, a);
    return range_int(1 - equal.hi, 1 - equal.lo);
}

static Range rule_cast(kn_type type, kn_type from, const Range *a)
{
    (void)from;
    if (type == KN_BOOL)
        return range_int(a->lo > 0 || a->hi < 0, a->lo != 0 || a->hi != 0);
    return range_fit(type, a->lo, a->hi);
}

static Range rule_sat_cast(kn_type type, kn_type from, const Range *a)
{
    if (type == KN_BOOL)
        return rule_cast(type, from, a);
    const Range all = range_of_type(type);
    return range_int(wide_min(wide_max(a->lo, all.lo), all.hi), wide_min(wide_max(a->hi, all.lo), all.hi));
}

static RangeRule *const int_rules[EX_COUNT] = {
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

Range range_apply(ExprOp op, kn_type type, kn_type from, const Range *args)
{
    RangeRule *rule = type_is_float(type) || type_is_float(from) ? range_float_rules[op] : int_rules[op];
    return rule ? rule(type, from, args) : range_of_type(type);
}
