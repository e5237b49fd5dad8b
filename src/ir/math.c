/* SPDX-License-Identifier: MIT */
/* The mathematical functions as expressions.
 *
 * Takes   a node exp, log, pow, sin, cos, tan, atan2, tanh or erf of a float type.
 * Gives   the same value from +, -, *, /, fma, comparisons, selects, and the bits of floats as unsigned integers.
 * Holds   within math_error() of the true value; for NaN, infinities, zeros of both signs and subnormals as in C (Annex
 *         F).
 *
 * A function is written once for both formats, over a Format with the constants and polynomials of the type. The
 * polynomials are minimax (scripts/minimax.py); "rest" is what remains of a series when its first terms, which need no
 * rounding, are taken away.
 *
 * From    Cody and Waite, "Software Manual for the Elementary Functions", 1980 (the reductions); Dekker, "A
 *         floating-point technique for extending the available precision", 1971 (pairs hi + lo, for pow and the
 *         reduction of angles).
 */
#include "ir/math.h"
#include "ir/math_format.h"

#include <math.h>

typedef const Expr *Value;

/* Where nodes are made, and for which format. */
typedef struct Maker {
    ExprPool     *pool;
    const Format *k;
} Maker;

/* ---- Operators -------------------------------------------------------------------------- */

/* A node, strict if it is a float. */
static Value node(const Maker *m, ExprOp op, kn_type type, int count, Value a, Value b, Value c)
{
    const Expr like = {
        .op = (uint8_t)op, .type = (uint8_t)type, .strict = type_is_float(type), .count = (uint32_t)count
    };
    return expr_rebuild(m->pool, &like, (const Expr *[]){ a, b, c });
}

static Value real1(const Maker *m, ExprOp op, Value a)
{
    return node(m, op, m->k->real, 1, a, NULL, NULL);
}
static Value real2(const Maker *m, ExprOp op, Value a, Value b)
{
    return node(m, op, m->k->real, 2, a, b, NULL);
}
static Value word2(const Maker *m, ExprOp op, Value a, Value b)
{
    return node(m, op, m->k->word, 2, a, b, NULL);
}
static Value test(const Maker *m, ExprOp op, Value a, Value b)
{
    return node(m, op, KN_BOOL, 2, a, b, NULL);
}

static Value add(const Maker *m, Value a, Value b)
{
    return real2(m, EX_ADD, a, b);
}
static Value sub(const Maker *m, Value a, Value b)
{
    return real2(m, EX_SUB, a, b);
}
static Value mul(const Maker *m, Value a, Value b)
{
    return real2(m, EX_MUL, a, b);
}
static Value divide(const Maker *m, Value a, Value b)
{
    return real2(m, EX_DIV, a, b);
}
static Value neg(const Maker *m, Value a)
{
    return real1(m, EX_NEG, a);
}
static Value mul_add(const Maker *m, Value a, Value b, Value c)
{
    return node(m, EX_FMA, m->k->real, 3, a, b, c);
}
static Value less(const Maker *m, Value a, Value b)
{
    return test(m, EX_LT, a, b);
}
static Value both(const Maker *m, Value a, Value b)
{
    return test(m, EX_BIT_AND, a, b);
}
static Value either(const Maker *m, Value a, Value b)
{
    return test(m, EX_BIT_OR, a, b);
}
static Value is_nan(const Maker *m, Value a)
{
    return test(m, EX_NE, a, a);
}
static Value equal(const Maker *m, Value a, Value b)
{
    return test(m, EX_EQ, a, b);
}

static Value real(const Maker *m, double v)
{
    return expr_float(m->pool, m->k->real, v);
}
static Value word(const Maker *m, uint64_t v)
{
    return expr_int(m->pool, m->k->word, (int64_t)v);
}
static Value bits_of(const Maker *m, Value a)
{
    return node(m, EX_REINTERPRET, m->k->word, 1, a, NULL, NULL);
}
static Value from_bits(const Maker *m, Value a)
{
    return real1(m, EX_REINTERPRET, a);
}

static Value choose(const Maker *m, Value condition, Value yes, Value no)
{
    return node(m, EX_SELECT, yes->type, 3, condition, yes, no);
}

/* lo <= a <= hi; NaN stays NaN (min and max give their second operand then). */
static Value clamp(const Maker *m, Value a, double lo, double hi)
{
    return real2(m, EX_MIN, real(m, hi), real2(m, EX_MAX, real(m, lo), a));
}

static Value polynomial(const Maker *m, Poly p, Value x)
{
    Value r = real(m, p.c[p.count - 1]);
    for (int i = p.count - 2; i >= 0; i--)
        r = mul_add(m, r, x, real(m, p.c[i]));
    return r;
}

/* The bits of a constant of the format. */
static uint64_t constant_bits(const Maker *m, double v)
{
    int64_t bits = 0;
    type_store_float(m->k->real, &bits, v);
    return (uint64_t)type_load_int(m->k->word, &bits);
}

static uint64_t sign_mask(const Maker *m)
{
    return (uint64_t)1 << (m->k->size - 1);
}

/* |a| with the sign that the top bit of `sign` adds. */
static Value flip_sign(const Maker *m, Value a, Value sign)
{
    return from_bits(m, word2(m, EX_BIT_XOR, bits_of(m, a), sign));
}

static Value sign_bit(const Maker *m, Value a)
{
    return word2(m, EX_BIT_AND, bits_of(m, a), word(m, sign_mask(m)));
}

/* Is the last bit of a word set? */
static Value last_bit(const Maker *m, Value w)
{
    return test(m, EX_NE, word2(m, EX_BIT_AND, w, word(m, 1)), word(m, 0));
}

/* Added to a number below 2^(fraction-1), it leaves the nearest whole number in the lowest bits. */
static double whole(const Maker *m)
{
    return ldexp(1.5, m->k->fraction);
}

/* 2^n for a whole number n with a normal 2^n: the biased exponent comes into the lowest bits, and is shifted to its
 * place. */
static Value two_to(const Maker *m, Value n)
{
    const Value biased = bits_of(m, add(m, n, real(m, whole(m) + m->k->bias)));
    return from_bits(m, word2(m, EX_SHL, biased, word(m, (uint64_t)m->k->fraction)));
}

/* Products of numbers near 0 would be subnormal, which is slow: where f(x) for |x| < 2^exponent is known, f is computed
 * of 0 instead. */
static Value is_below(const Maker *m, Value x, int exponent)
{
    return less(m, real1(m, EX_ABS, x), real(m, ldexp(1, exponent)));
}

/* Is x so small that x + O(x^3) is x? */
static Value is_small(const Maker *m, Value x)
{
    return is_below(m, x, -m->k->fraction / 2 - 2);
}

static Value zero_if(const Maker *m, Value condition, Value x)
{
    return choose(m, condition, real(m, 0), x);
}

/* ---- Pairs: a number as an unevaluated sum hi + lo --------------------------------------- */

typedef struct Pair {
    Value hi, lo;
} Pair;

/* a + b + rest, exact but for the rounding of lo, if |a| >= |b| or a = 0. */
static Pair pair_sum(const Maker *m, Value a, Value b, Value rest)
{
    const Value hi = add(m, a, b);
    return (Pair){ hi, add(m, add(m, sub(m, a, hi), b), rest) };
}

/* a * (b.hi + b.lo) */
static Pair pair_scale(const Maker *m, Value a, Pair b)
{
    const Value hi = mul(m, a, b.hi);
    return (Pair){ hi, mul_add(m, a, b.lo, mul_add(m, a, b.hi, neg(m, hi))) };
}

/* a * b without the product of the low parts */
static Pair pair_product(const Maker *m, Pair a, Pair b)
{
    const Pair p = pair_scale(m, a.hi, b);
    return (Pair){ p.hi, mul_add(m, a.lo, b.hi, p.lo) };
}

/* ---- exp -------------------------------------------------------------------------------- */

/* e^(x.hi + x.lo) = 2^n (1 + r + r^2 rest(r)): n = round(x/ln 2), r = x - n ln 2. x.lo may be NULL. x.hi is not beyond
 * what exp is clamped to. n*ln2[0] is subtracted exactly. */
typedef struct Power {
    Value n, counter, r, rest; /* counter: a float whose lowest bits are n */
} Power;

static Power exp_parts(const Maker *m, Pair x)
{
    const Value magic = real(m, whole(m)), counter = mul_add(m, x.hi, real(m, m->k->log2e), magic),
                n      = sub(m, counter, magic);
    const Value ln2_hi = real(m, -m->k->ln2[0]), ln2_lo = real(m, -m->k->ln2[1]), top = mul_add(m, n, ln2_hi, x.hi);
    const Value r = x.lo ? add(m, top, mul_add(m, n, ln2_lo, x.lo)) : mul_add(m, n, ln2_lo, top);
    return (Power){ n, counter, r, polynomial(m, m->k->exp_rest, r) };
}

/* e^x where 2^n is normal. */
static Value exp_inside(const Maker *m, Value x)
{
    const Power e     = exp_parts(m, (Pair){ x, NULL });
    const Value scale = two_to(m, e.n);
    return mul_add(m, mul_add(m, mul(m, e.r, e.r), e.rest, e.r), scale, scale);
}

/* e^x anywhere, overflow and subnormal results included: n is added to the exponent of 1 + p, as whole numbers. Where
 * the sum has no exponent above 0 left, the result is subnormal. A multiplication with such a result takes a CPU 150
 * cycles, so it is made as a whole number w of the smallest one: w < 2^fraction added to 2^fraction is rounded as it
 * must be, and then the fraction of the sum is w, which is what the bits of the result are. An exponent beyond the last
 * is infinity. x is finite or NaN. */
static Value exp_anywhere(const Maker *m, Pair x)
{
    const Format *k      = m->k;
    const kn_type number = k->size == 32 ? KN_I32 : KN_I64;
    const double  unit   = ldexp(1, k->fraction);
    const Power   e      = exp_parts(m, x);
    const Value   one = real(m, 1), one_p = mul_add(m, e.r, mul_add(m, e.r, e.rest, one), one);
    const Value   sum =
        word2(m, EX_ADD, bits_of(m, one_p), word2(m, EX_SHL, bits_of(m, e.counter), word(m, (uint64_t)k->fraction)));
    const Value signed_sum = node(m, EX_REINTERPRET, number, 1, sum, NULL, NULL);
    const Value tiny       = less(m, signed_sum, expr_int(m->pool, number, (int64_t)1 << k->fraction));
    const Value w = from_bits(m, word2(m, EX_ADD, sum, word(m, (uint64_t)(k->bias + k->fraction - 1) << k->fraction)));
    const Value fine =
        from_bits(m, word2(m, EX_SUB, bits_of(m, add(m, w, real(m, unit))), word(m, constant_bits(m, unit))));
    const Value normal = real2(m, EX_MIN, from_bits(m, sum), real(m, INFINITY));
    return mul_add(m, x.hi, real(m, 0), choose(m, tiny, fine, normal)); /* NaN stays NaN */
}

/* A subnormal x would make slow products. A number is added to it that changes no x for which e^x is not 1. */
static Value expand_exp(const Maker *m, const Value *a)
{
    const Value x = add(m, a[0], real(m, ldexp(1, -2 * m->k->fraction - 4)));
    return exp_anywhere(m, (Pair){ clamp(m, x, m->k->exp_low, m->k->exp_high), NULL });
}

/* ---- log, pow --------------------------------------------------------------------------- */

/* x = 2^k f with sqrt(1/2) <= f < sqrt(2), for finite x > 0: the bits of x, moved so that the exponent changes at
 * sqrt(2). A subnormal x is its bits times the smallest number; they become a float as the fraction of one, since a
 * multiplication of a subnormal number is slow. */
typedef struct Scaled {
    Value k, f;
} Scaled;

static Scaled scaled(const Maker *m, Value x)
{
    const Format  *k    = m->k;
    const int      up   = k->bias + k->fraction - 1;
    const uint64_t root = constant_bits(m, M_SQRT1_2), one = constant_bits(m, 1),
                   counter = constant_bits(m, ldexp(1, k->fraction));
    const Value tiny       = less(m, x, real(m, k->least));
    const Value whole_x =
        sub(m, from_bits(m, word2(m, EX_BIT_OR, bits_of(m, x), word(m, counter))), real(m, ldexp(1, k->fraction)));
    const Value  normal = choose(m, tiny, whole_x, x);
    const Value  moved  = word2(m, EX_ADD, bits_of(m, normal), word(m, one - root));
    const Value  biased = word2(m, EX_SHR, moved, word(m, (uint64_t)k->fraction));
    const double offset = ldexp(1, k->fraction) + k->bias;
    const Value  count  = from_bits(m, word2(m, EX_BIT_OR, biased, word(m, counter)));
    const Value  low    = word2(m, EX_BIT_AND, moved, word(m, ((uint64_t)1 << k->fraction) - 1));
    return (Scaled){ sub(m, count, choose(m, tiny, real(m, offset + up), real(m, offset))),
                     from_bits(m, word2(m, EX_ADD, low, word(m, root))) };
}

/* log(2^k (1 + f)) = k ln 2 + f - (h - s (h + R)), s = f/(2 + f), h = f^2/2, R = s^2 (2/3 + s^2 rest(s^2)): the terms
 * of log((1 + s)/(1 - s)) = 2s + sR, with 2s = f - s f taken so that f enters without error. */
static Value expand_log(const Maker *m, const Value *a)
{
    const Value  x = a[0];
    const Scaled v = scaled(m, x);
    const Value  f = sub(m, v.f, real(m, 1)), s = divide(m, f, add(m, f, real(m, 2))), z = mul(m, s, s);
    const Value  half = mul(m, mul(m, f, real(m, 0.5)), f);
    const Value  rest = mul(m, z, mul_add(m, z, polynomial(m, m->k->log_rest, z), real(m, m->k->two_thirds[0])));
    const Value  tail = sub(m, mul_add(m, s, add(m, half, rest), mul(m, v.k, real(m, m->k->ln2[1]))), half);
    const Value  log  = mul_add(m, v.k, real(m, m->k->ln2[0]), add(m, f, tail));
    const Value  zero = real(m, 0), infinity = real(m, INFINITY);
    return choose(m, less(m, zero, x), choose(m, less(m, x, infinity), log, x),
                  choose(m, equal(m, x, zero), real(m, -INFINITY), real(m, NAN)));
}

/* s = (f - 1)/(f + 1) as a pair: the quotient is corrected by its remainder. */
static Pair ratio_pair(const Maker *m, Value f)
{
    const Value one = real(m, 1), top = sub(m, f, one), bottom = add(m, f, one), lost = sub(m, f, sub(m, bottom, one));
    const Value inverse = divide(m, one, bottom), s = mul(m, top, inverse), minus = neg(m, s);
    const Value remainder = mul_add(m, minus, lost, mul_add(m, minus, bottom, top));
    return (Pair){ s, mul(m, remainder, inverse) };
}

/* log(x) = k ln 2 + 2s + s z (2/3 + z rest(z)), z = s^2, as a pair; for finite x > 0. */
static Pair log_pair(const Maker *m, Value x)
{
    const Format *k = m->k;
    const Scaled  v = scaled(m, x);
    const Pair    s = ratio_pair(m, v.f), z = pair_product(m, s, s);
    const Pair    c     = pair_sum(m, real(m, k->two_thirds[0]), mul(m, z.hi, polynomial(m, k->log_rest, z.hi)),
                                   real(m, k->two_thirds[1]));
    const Pair    cubic = pair_product(m, s, pair_product(m, z, c));
    const Pair    log_f = pair_sum(m, add(m, s.hi, s.hi), cubic.hi, add(m, add(m, s.lo, s.lo), cubic.lo));
    const Pair    log_k = pair_scale(m, v.k, (Pair){ real(m, k->ln2[0]), real(m, k->ln2[1]) });
    return pair_sum(m, log_k.hi, log_f.hi, add(m, log_k.lo, log_f.lo));
}

/* x^y for finite x > 0 and any y but NaN: e^(y log x), y and the product clamped to what makes a difference. */
static Value pow_positive(const Maker *m, Value x, Value y)
{
    const Value flat = is_below(m, y, -m->k->fraction - 13); /* |log x| < 2^10, so x^y = 1 */
    const Pair  p    = pair_scale(m, zero_if(m, flat, clamp(m, y, -m->k->pow_most, m->k->pow_most)), log_pair(m, x));
    const Value most = clamp(m, p.hi, m->k->exp_low, m->k->exp_high);
    return exp_anywhere(m, (Pair){ most, choose(m, equal(m, most, p.hi), p.lo, real(m, 0)) });
}

/* Is y a whole number, and is it odd? With 2^fraction added to |y| the lowest bit of y is the last one of the sum; from
 * 2^fraction on it is that already, and from twice that on there is none. */
typedef struct Parity {
    Value is_whole, is_odd;
} Parity;

static Parity parity(const Maker *m, Value y)
{
    const Value size = real1(m, EX_ABS, y), unit = real(m, ldexp(1, m->k->fraction)), small = less(m, size, unit);
    const Value sum      = choose(m, small, add(m, size, unit), size);
    const Value is_whole = equal(m, choose(m, small, sub(m, sum, unit), size), size);
    const Value has_last = both(m, last_bit(m, bits_of(m, sum)), less(m, size, real(m, ldexp(1, m->k->fraction + 1))));
    return (Parity){ is_whole, both(m, is_whole, has_last) };
}

/* C's pow (F.10.4.4): the cases outside e^(y log |x|) in the order in which they matter, the last first. */
static Value expand_pow(const Maker *m, const Value *a)
{
    const Value  x = a[0], y = a[1], zero = real(m, 0), one = real(m, 1), infinity = real(m, INFINITY);
    const Value  size = real1(m, EX_ABS, x), falls = less(m, y, zero);
    const Parity of_y    = parity(m, y);
    Value        r       = pow_positive(m, size, y);
    r                    = choose(m, equal(m, size, zero), choose(m, falls, infinity, zero), r);
    r                    = choose(m, equal(m, size, infinity), choose(m, falls, zero, infinity), r);
    r                    = choose(m, of_y.is_odd, flip_sign(m, r, sign_bit(m, x)), r);
    const Value negative = both(m, less(m, x, zero), less(m, size, infinity));
    r                    = choose(m, negative, choose(m, of_y.is_whole, r, real(m, NAN)), r);
    r                    = choose(m, either(m, is_nan(m, x), is_nan(m, y)), add(m, x, y), r);
    return choose(m, either(m, equal(m, x, one), equal(m, y, zero)), one, r);
}

/* ---- sin, cos, tan ---------------------------------------------------------------------- */

/* x = q pi/2 + r: sin r and cos r, and q in the lowest bits of a word. */
typedef struct Angle {
    Value sine, cosine, quadrant;
} Angle;

/* pi/2 is subtracted q times in three parts. The first difference is exact, the others are a pair. Beyond the reach r
 * is anything: clamped, sine and cosine stay within [-1, 1]. */
static Angle angle(const Maker *m, Value x)
{
    const Format *k   = m->k;
    const Value magic = real(m, whole(m)), sum = mul_add(m, x, real(m, k->two_over_pi), magic), q = sub(m, sum, magic);
    const Pair  small = pair_scale(m, q, (Pair){ real(m, k->half_pi[1]), real(m, k->half_pi[2]) });
    const Value a = mul_add(m, q, real(m, -k->half_pi[0]), x), b = sub(m, a, small.hi);
    const Value lost = add(m, sub(m, small.hi, sub(m, a, b)), small.lo);
    const Value r = clamp(m, sub(m, b, lost), -0.8, 0.8), z = mul(m, r, r);
    const Value sine = mul_add(m, mul(m, r, z), polynomial(m, k->sin_rest, z), r);
    return (Angle){ sine,
                    mul_add(m, mul(m, z, z), polynomial(m, k->cos_rest, z), mul_add(m, z, real(m, -0.5), real(m, 1))),
                    bits_of(m, sum) };
}

/* sin(q pi/2 + r): sin r, cos r, -sin r, -cos r for q = 0, 1, 2, 3 modulo 4. */
static Value sine_of(const Maker *m, const Angle *v, Value quadrant)
{
    const Value sign = word2(m, EX_SHL, word2(m, EX_BIT_AND, quadrant, word(m, 2)), word(m, (uint64_t)m->k->size - 2));
    return flip_sign(m, choose(m, last_bit(m, quadrant), v->cosine, v->sine), sign);
}

static Value expand_sin(const Maker *m, const Value *a)
{
    const Value small = is_small(m, a[0]);
    const Angle v     = angle(m, zero_if(m, small, a[0]));
    return choose(m, small, a[0], sine_of(m, &v, v.quadrant));
}

static Value expand_cos(const Maker *m, const Value *a)
{
    const Angle v = angle(m, zero_if(m, is_small(m, a[0]), a[0]));
    return sine_of(m, &v, word2(m, EX_ADD, v.quadrant, word(m, 1)));
}

/* sin r / cos r, or -cos r / sin r. */
static Value expand_tan(const Maker *m, const Value *a)
{
    const Value small = is_small(m, a[0]);
    const Angle v     = angle(m, zero_if(m, small, a[0]));
    const Value odd = last_bit(m, v.quadrant), top = choose(m, odd, v.cosine, v.sine),
                bottom = choose(m, odd, v.sine, v.cosine);
    return choose(
        m, small, a[0],
        flip_sign(m, divide(m, top, bottom), word2(m, EX_SHL, v.quadrant, word(m, (uint64_t)m->k->size - 1))));
}

/* ---- atan2 ------------------------------------------------------------------------------ */

/* With t = min(|x|,|y|)/max(|x|,|y|), atan t = t + t^3 rest(t^2); the eighth of the circle says what it is added to or
 * subtracted from: 0, pi/2 (as a pair) or pi. 0/0 counts as 0, inf/inf as 1. */
static Value expand_atan2(const Maker *m, const Value *a)
{
    const Value y = a[0], x = a[1], zero = real(m, 0);
    const Value up = real1(m, EX_ABS, y), along = real1(m, EX_ABS, x), steep = less(m, along, up);
    const Value small = choose(m, steep, along, up), large = choose(m, steep, up, along);
    const Value safe = choose(m, equal(m, large, zero), real(m, 1), large);
    const Value t    = choose(m, equal(m, small, real(m, INFINITY)), real(m, 1), divide(m, small, safe));
    const Value flat = is_small(m, t), root = zero_if(m, flat, t), z = mul(m, root, root);
    const Value eighth = choose(m, flat, t, mul_add(m, mul(m, root, z), polynomial(m, m->k->atan_rest, z), root));

    const Value  left = test(m, EX_NE, sign_bit(m, x), word(m, 0));
    const Value  turn = choose(m, test(m, EX_BIT_XOR, steep, left), neg(m, eighth), eighth);
    const double hi = m->k->half_pi[0], lo = m->k->half_pi[1];
    const Value  base_hi = choose(m, steep, real(m, hi), choose(m, left, real(m, 2 * hi), zero));
    const Value  base_lo = choose(m, steep, real(m, lo), choose(m, left, real(m, 2 * lo), zero));
    const Value  r       = flip_sign(m, add(m, base_hi, add(m, turn, base_lo)), sign_bit(m, y));
    return choose(m, either(m, is_nan(m, x), is_nan(m, y)), add(m, x, y), r);
}

/* ---- tanh, erf -------------------------------------------------------------------------- */

/* |x| + |x|^3 rest(x^2) near 0; 1 - 2/(e^2|x| + 1) where that is at least 1/2. */
static Value expand_tanh(const Maker *m, const Value *a)
{
    const Value small = is_small(m, a[0]), x = zero_if(m, small, real1(m, EX_ABS, a[0])), z = mul(m, x, x),
                one  = real(m, 1);
    const Value near = mul_add(m, mul(m, x, z), polynomial(m, m->k->tanh_rest, z), x);
    const Value most = real2(m, EX_MIN, real(m, m->k->tanh_one), x);
    const Value far  = sub(m, one, divide(m, real(m, 2), add(m, exp_inside(m, add(m, most, most)), one)));
    return choose(m, small, a[0], flip_sign(m, choose(m, less(m, x, real(m, 0.55)), near, far), sign_bit(m, a[0])));
}

/* |x| + |x| rest(x^2) below 1; 1 - e^(log erfc |x|) from there on. */
static Value expand_erf(const Maker *m, const Value *a)
{
    const Value x = real1(m, EX_ABS, a[0]), root = zero_if(m, is_small(m, x), x), one = real(m, 1);
    const Value near = mul_add(m, x, polynomial(m, m->k->erf_rest, mul(m, root, root)), x);
    const Value past = sub(m, clamp(m, x, 1, m->k->erf_one), one);
    const Value far  = sub(m, one, exp_inside(m, polynomial(m, m->k->erfc_log, past)));
    return flip_sign(m, choose(m, less(m, x, one), near, far), sign_bit(m, a[0]));
}

/* ---- The table -------------------------------------------------------------------------- */

static const struct Function {
    Value (*expand)(const Maker *m, const Value *args);
    double error_f32, error_f64;
} function_table[EX_COUNT] = {
    [EX_EXP] = { expand_exp, 1.5, 1.5 }, [EX_LOG] = { expand_log, 1, 1 },   [EX_POW] = { expand_pow, 1.5, 1.5 },
    [EX_SIN] = { expand_sin, 2, 2 },     [EX_COS] = { expand_cos, 2, 2 },   [EX_TAN] = { expand_tan, 4, 4 },
    [EX_ATAN2] = { expand_atan2, 2, 2 }, [EX_TANH] = { expand_tanh, 2, 2 }, [EX_ERF] = { expand_erf, 1.5, 1.5 },
};

bool math_has(ExprOp op)
{
    return function_table[op].expand;
}

double math_error(ExprOp op, kn_type type)
{
    return type == KN_F64 ? function_table[op].error_f64 : type == KN_F32 ? function_table[op].error_f32 : 0.51;
}

double math_reach(kn_type type)
{
    return type == KN_F64 ? twice.reach : single.reach;
}

const Expr *math_expand(ExprPool *pool, const Expr *e)
{
    if (!math_has(e->op))
        return e;
    const Maker m       = { pool, e->type == KN_F64 ? &twice : &single };
    const bool  narrow  = e->type != m.k->real;
    Value       args[2] = { NULL };
    for (uint32_t i = 0; i < e->count; i++)
        args[i] = narrow ? real1(&m, EX_CAST, e->args[i]) : e->args[i];
    const Value r = function_table[e->op].expand(&m, args);
    return narrow ? node(&m, EX_CAST, e->type, 1, r, NULL, NULL) : r;
}
