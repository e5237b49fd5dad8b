/* SPDX-License-Identifier: MIT */
/* Ranges of float operators.
 *
 * The ends are computed in double and rounded to the type. Rounding is monotonic, so the rounded ends hold for every
 * value between them. An inexact end moves outward by one unit in the last place (widen), for evaluation without that
 * rounding. The mathematical functions always move outward by their error (ir/math.h) and that of the C library.
 * Infinite ends are values too: inf - inf, 0 * inf and the like may be NaN. */
#include "analysis/interval.h"
#include "ir/math.h"

#include <math.h>

/* The distance from |v| to the next number of the type, at least. */
static double ulp(kn_type type, double v)
{
    static const int least[KN_TYPE_COUNT] = { [KN_F16] = -24, [KN_BF16] = -133, [KN_F32] = -149, [KN_F64] = -1074 };
    if (isinf(v))
        return 0;
    const double relative = ldexp(fabs(v), 1 - type_table[type].mantissa), absolute = ldexp(1, least[type]);
    return relative > absolute ? relative : absolute;
}

/* The largest finite number. */
static double largest(kn_type type)
{
    static const int exponent[KN_TYPE_COUNT] = { [KN_F16] = 16, [KN_BF16] = 128, [KN_F32] = 128, [KN_F64] = 1024 };
    return ldexp(2 - ldexp(1, 1 - type_table[type].mantissa), exponent[type] - 1);
}

/* Moved outward by so many units. An end that overflowed may have been the largest number before. */
static double down(kn_type type, double v, double units)
{
    v = fmin(v, largest(type));
    return type_round(type, v - units * ulp(type, v));
}

static double up(kn_type type, double v, double units)
{
    return -down(type, -v, units);
}

/* A number computed in double, and by how many units in the last place of the type it may be wrong; 0: it is exact. */
typedef struct Rounded {
    double value, off;
} Rounded;

static Rounded rounded(double v, bool exact)
{
    return (Rounded){ v, exact ? 0 : 1 };
}

/* [lo, hi] in the type, inexact ends moved outward. NaN ends: nothing is known. */
static Range enclose(kn_type type, Rounded lo, Rounded hi, bool nan)
{
    if (isnan(lo.value) || isnan(hi.value))
        return range_of_type(type);
    const double l = type_round(type, lo.value), h = type_round(type, hi.value);
    return range_float(lo.off == 0 && l == lo.value ? l : down(type, l, fmax(lo.off, 1)),
                       hi.off == 0 && h == hi.value ? h : up(type, h, fmax(hi.off, 1)), nan);
}

static Range always_widened(kn_type type, double units, double lo, double hi, bool nan)
{
    return enclose(type, (Rounded){ lo, units }, (Rounded){ hi, units }, nan);
}

/* How far the value of a function may be from that of the C library here. */
static double units_of(ExprOp op, kn_type type)
{
    return math_error(op, type) + 1;
}

static bool has_infinity(const Range *a)
{
    return isinf(a->flo) || isinf(a->fhi);
}

static bool has_zero(const Range *a)
{
    return a->flo <= 0 && a->fhi >= 0;
}

/* ---- Arithmetic ------------------------------------------------------------------------- */

/* Exact iff the error of the sum (Knuth's two-sum) is zero. */
static Rounded sum(double a, double b)
{
    const double s = a + b, t = s - a;
    return rounded(s, isinf(s) || (a - (s - t)) + (b - t) == 0);
}

static Rounded times(double a, double b)
{
    const double p =
        a == 0 || b == 0 ? 0 : a * b; /* 0 * inf: the limit of finite products with it is any number; see rule_mul */
    return rounded(p, isinf(p) || (fma(a, b, -p) == 0 && (p != 0 || a == 0 || b == 0)));
}

static Rounded quotient(double a, double b)
{
    const double q = a == 0 ? 0 : a / b;
    return rounded(q, isinf(q) || isinf(b) || (fma(q, b, -a) == 0 && (q != 0 || a == 0)));
}

static Range rule_neg(kn_type type, kn_type from, const Range *a)
{
    (void)type;
    (void)from;
    return range_float(-a->fhi, -a->flo, a->nan);
}

static Range add(kn_type type, const Range *a, const Range *b)
{
    const bool nan =
        a->nan || b->nan || (a->flo == -INFINITY && b->fhi == INFINITY) || (a->fhi == INFINITY && b->flo == -INFINITY);
    const Rounded lo = sum(a->flo, b->flo), hi = sum(a->fhi, b->fhi);
    return enclose(type, isnan(lo.value) ? rounded(-INFINITY, true) : lo,
                   isnan(hi.value) ? rounded(INFINITY, true) : hi, nan);
}

static Range rule_add(kn_type type, kn_type from, const Range *a)
{
    (void)from;
    return add(type, &a[0], &a[1]);
}

static Range rule_sub(kn_type type, kn_type from, const Range *a)
{
    const Range minus = rule_neg(type, from, &a[1]);
    return add(type, &a[0], &minus);
}

/* The extremes over the four corners of an operation that is monotonic in each operand. */
static Range corners(kn_type type, const Range *a, Rounded (*op)(double, double), bool nan)
{
    Rounded lo = op(a[0].flo, a[1].flo), hi = lo;
    for (int i = 1; i < 4; i++) {
        const Rounded r = op(i & 1 ? a[0].fhi : a[0].flo, i & 2 ? a[1].fhi : a[1].flo);
        if (isnan(r.value))
            return range_of_type(type);
        lo = r.value < lo.value || (r.value == lo.value && r.off > lo.off) ? r : lo;
        hi = r.value > hi.value || (r.value == hi.value && r.off > hi.off) ? r : hi;
    }
    return enclose(type, lo, hi, nan);
}

/* 0 * inf is NaN, and 0 is the bound of the other products with an end of 0. */
static Range rule_mul(kn_type type, kn_type from, const Range *a)
{
    (void)from;
    const bool nan =
        a[0].nan || a[1].nan || (has_zero(&a[0]) && has_infinity(&a[1])) || (has_infinity(&a[0]) && has_zero(&a[1]));
    return corners(type, a, times, nan);
}

static Range rule_div(kn_type type, kn_type from, const Range *a)
{
    (void)from;
    if (has_zero(&a[1]) || (has_infinity(&a[0]) && has_infinity(&a[1])))
        return range_of_type(type);
    return corners(type, a, quotient, a[0].nan || a[1].nan);
}

static Range rule_fma(kn_type type, kn_type from, const Range *a)
{
    const Range p = rule_mul(KN_F64, from, a);
    return add(type, &p, &a[2]);
}

/* a < b ? a : b is b if either is NaN. */
static Range rule_min(kn_type type, kn_type from, const Range *a)
{
    (void)from;
    const Range r = range_float(fmin(a[0].flo, a[1].flo), fmin(a[0].fhi, a[1].fhi), a[1].nan);
    return a[0].nan ? range_union(type, r, a[1]) : r;
}

static Range rule_max(kn_type type, kn_type from, const Range *a)
{
    (void)from;
    const Range r = range_float(fmax(a[0].flo, a[1].flo), fmax(a[0].fhi, a[1].fhi), a[1].nan);
    return a[0].nan ? range_union(type, r, a[1]) : r;
}

static Range rule_abs(kn_type type, kn_type from, const Range *a)
{
    (void)type;
    (void)from;
    if (a->flo >= 0)
        return *a;
    return a->fhi <= 0 ? range_float(-a->fhi, -a->flo, a->nan) : range_float(0, fmax(-a->flo, a->fhi), a->nan);
}

/* ---- Functions of one operand ----------------------------------------------------------- */

/* To whole numbers: exact, and monotonic. */
static Range rule_floor(kn_type type, kn_type from, const Range *a)
{
    (void)type;
    (void)from;
    return range_float(floor(a->flo), floor(a->fhi), a->nan);
}

static Range rule_ceil(kn_type type, kn_type from, const Range *a)
{
    (void)type;
    (void)from;
    return range_float(ceil(a->flo), ceil(a->fhi), a->nan);
}

static Range rule_round(kn_type type, kn_type from, const Range *a)
{
    (void)type;
    (void)from;
    return range_float(nearbyint(a->flo), nearbyint(a->fhi), a->nan);
}

static Range rule_trunc(kn_type type, kn_type from, const Range *a)
{
    (void)type;
    (void)from;
    return range_float(trunc(a->flo), trunc(a->fhi), a->nan);
}

/* An increasing function on [from, inf), NaN below, with values in [least, most]. */
static Range rising(kn_type type, double units, const Range *a, double (*f)(double), double from, double least,
                    double most)
{
    if (a->fhi < from)
        return range_of_type(type);
    const Range r = always_widened(type, units, f(fmax(a->flo, from)), f(a->fhi), a->nan || a->flo < from);
    return range_float(fmax(r.flo, least), fmin(r.fhi, most), r.nan);
}

static Range rule_sqrt(kn_type type, kn_type from, const Range *a)
{
    (void)from;
    return rising(type, 1, a, sqrt, 0, 0, INFINITY);
}

static Range rule_exp(kn_type type, kn_type from, const Range *a)
{
    (void)from;
    return rising(type, units_of(EX_EXP, type), a, exp, -INFINITY, 0, INFINITY);
}

static Range rule_log(kn_type type, kn_type from, const Range *a)
{
    (void)from;
    return rising(type, units_of(EX_LOG, type), a, log, 0, -INFINITY, INFINITY);
}

static Range rule_tanh(kn_type type, kn_type from, const Range *a)
{
    (void)from;
    return rising(type, units_of(EX_TANH, type), a, tanh, -INFINITY, -1, 1);
}

static Range rule_erf(kn_type type, kn_type from, const Range *a)
{
    (void)from;
    return rising(type, units_of(EX_ERF, type), a, erf, -INFINITY, -1, 1);
}

/* 1 / sqrt(x), two roundings; 1 / sqrt(-0) is -inf. */
static Range rule_rsqrt(kn_type type, kn_type from, const Range *a)
{
    const Range root = rule_sqrt(type, from, a);
    if (root.flo <= 0)
        return range_of_type(type);
    return always_widened(type, 1, 1 / root.fhi, 1 / root.flo, root.nan);
}

/* In [-1, 1]; of a single number that is not too large, its value. */
static Range wave(kn_type type, double units, const Range *a, double (*f)(double))
{
    const bool nan = a->nan || has_infinity(a);
    if (a->flo != a->fhi || nan || fabs(a->flo) > math_reach(type))
        return range_float(-1, 1, nan);
    const Range r = always_widened(type, units, f(a->flo), f(a->flo), false);
    return range_float(fmax(r.flo, -1), fmin(r.fhi, 1), false);
}

static Range rule_sin(kn_type type, kn_type from, const Range *a)
{
    (void)from;
    return wave(type, units_of(EX_SIN, type), a, sin);
}

static Range rule_cos(kn_type type, kn_type from, const Range *a)
{
    (void)from;
    return wave(type, units_of(EX_COS, type), a, cos);
}

/* ---- Functions of two ------------------------------------------------------------------- */

/* The angle of (x, y) = (a[1], a[0]), by the half planes that contain the point. */
static Range rule_atan2(kn_type type, kn_type from, const Range *a)
{
    (void)from;
    const bool right = a[1].flo > 0;
    return always_widened(type, units_of(EX_ATAN2, type),
                          a[0].flo > 0 ? 0
                          : right      ? -M_PI_2
                                       : -M_PI,
                          a[0].fhi < 0 ? 0
                          : right      ? M_PI_2
                                       : M_PI,
                          a[0].nan || a[1].nan);
}

static Rounded power(double a, double b)
{
    return (Rounded){ pow(a, b), fmax(units_of(EX_POW, KN_F32), units_of(EX_POW, KN_F64)) };
}

/* a^b = exp(b log a) for a > 0: b log a has its extremes at corners. */
static Range rule_pow(kn_type type, kn_type from, const Range *a)
{
    (void)from;
    if (a[0].flo <= 0 || has_infinity(&a[0]) || has_infinity(&a[1])) {
        const bool positive = a[0].flo > 0 || (a[0].flo == 0 && a[1].flo >= 0);
        return positive && !a[0].nan && !a[1].nan ? range_float(0, INFINITY, false) : range_of_type(type);
    }
    const Range r = corners(type, a, power, a[0].nan || a[1].nan);
    return range_float(fmax(r.flo, 0), r.fhi, r.nan);
}

/* ---- Comparisons: with NaN only != holds ------------------------------------------------ */

static Range rule_lt(kn_type type, kn_type from, const Range *a)
{
    (void)type;
    (void)from;
    return range_int(a[0].fhi < a[1].flo && !a[0].nan && !a[1].nan, a[0].flo < a[1].fhi);
}

static Range rule_le(kn_type type, kn_type from, const Range *a)
{
    (void)type;
    (void)from;
    return range_int(a[0].fhi <= a[1].flo && !a[0].nan && !a[1].nan, a[0].flo <= a[1].fhi);
}

static Range rule_eq(kn_type type, kn_type from, const Range *a)
{
    (void)type;
    (void)from;
    const bool one = a[0].flo == a[0].fhi && a[1].flo == a[1].fhi && a[0].flo == a[1].flo && !a[0].nan && !a[1].nan;
    return range_int(one, a[0].flo <= a[1].fhi && a[1].flo <= a[0].fhi);
}

static Range rule_ne(kn_type type, kn_type from, const Range *a)
{
    const Range equal = rule_eq(type, from, a);
    return range_int(1 - equal.hi, 1 - equal.lo);
}

/* ---- Conversions ------------------------------------------------------------------------ */

static Wide saturated(double v, Range all)
{
    return v <= (double)all.lo ? all.lo : v >= (double)all.hi ? all.hi : (Wide)v;
}

/* Toward zero, saturating, NaN to 0. */
static Range to_int(kn_type type, const Range *a)
{
    const Range all = range_of_type(type);
    const Range r   = range_int(saturated(a->flo, all), saturated(a->fhi, all));
    return a->nan ? range_union(type, r, range_int(0, 0)) : r;
}

/* Through one rounding or two (int to double to the type): exact below 2^53, else outward. */
static Range from_int(kn_type type, const Range *a)
{
    const double lo = (double)a->lo, hi = (double)a->hi;
    const bool   safe = fabs(lo) <= 0x1p53 && fabs(hi) <= 0x1p53;
    return safe ? range_float(type_round(type, lo), type_round(type, hi), false)
                : always_widened(type, 1, lo, hi, false);
}

static Range rule_cast(kn_type type, kn_type from, const Range *a)
{
    if (!type_is_float(from))
        return from_int(type, a);
    if (type_is_float(type))
        return range_float(type_round(type, a->flo), type_round(type, a->fhi), a->nan);
    if (type == KN_BOOL)
        return range_int(!has_zero(a) && !a->nan, a->flo != 0 || a->fhi != 0 || a->nan);
    return to_int(type, a);
}

/* A number beyond a smaller float type is its largest finite one, or infinite. */
static Range rule_sat_cast(kn_type type, kn_type from, const Range *a)
{
    const Range r = rule_cast(type, from, a);
    return type_is_float(type) && has_infinity(&r) ? range_of_type(type) : r;
}

/* clang-format off */
RangeRule *const range_float_rules[EX_COUNT] = {
    [EX_CAST] = rule_cast,   [EX_SAT_CAST] = rule_sat_cast,
    [EX_NEG] = rule_neg,     [EX_ADD] = rule_add,     [EX_SUB] = rule_sub,     [EX_MUL] = rule_mul,
    [EX_DIV] = rule_div,     [EX_MIN] = rule_min,     [EX_MAX] = rule_max,     [EX_ABS] = rule_abs,
    [EX_FLOOR] = rule_floor, [EX_CEIL] = rule_ceil,   [EX_ROUND] = rule_round, [EX_TRUNC] = rule_trunc,
    [EX_SQRT] = rule_sqrt,   [EX_RSQRT] = rule_rsqrt, [EX_EXP] = rule_exp,     [EX_LOG] = rule_log,
    [EX_POW] = rule_pow,     [EX_SIN] = rule_sin,     [EX_COS] = rule_cos,     [EX_ATAN2] = rule_atan2,
    [EX_TANH] = rule_tanh,   [EX_ERF] = rule_erf,     [EX_FMA] = rule_fma,
    [EX_LT] = rule_lt,       [EX_LE] = rule_le,       [EX_EQ] = rule_eq,       [EX_NE] = rule_ne,
};
/* clang-format on */
