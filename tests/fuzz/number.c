/* SPDX-License-Identifier: MIT */
/* The operators of the language a second time. See number.h. */
#include "number.h"

#include <math.h>
#include <string.h>

/* ---- Types ------------------------------------------------------------------------------ */

static int bits_of(kn_type t)
{
    return t == KN_BOOL ? 1 : (int)kn_type_size(t) * 8;
}

static bool is_signed_int(kn_type t)
{
    return t >= KN_I8 && t <= KN_I64;
}

static bool is_float(kn_type t)
{
    return t >= KN_F16;
}

static __int128 least(kn_type t)
{
    return is_signed_int(t) ? -((__int128)1 << (bits_of(t) - 1)) : 0;
}

static __int128 most(kn_type t)
{
    return ((__int128)1 << (bits_of(t) - is_signed_int(t))) - 1;
}

Number number_int(kn_type type, __int128 v)
{
    const __int128 size = (__int128)1 << bits_of(type);
    v %= size;
    if (v < 0)
        v += size;
    if (v > most(type))
        v -= size;
    return (Number){ type, { .i = (int64_t)(uint64_t)v } };
}

__int128 number_value(Number a)
{
    return a.type == KN_U64 ? (__int128)(uint64_t)a.as.i : a.as.i;
}

/* ---- Short floats: sign, exponent and fraction of a pattern with `fraction` bits ---------- */

static double short_value(uint16_t bits, int fraction)
{
    const int    width = 15 - fraction, bias = (1 << (width - 1)) - 1;
    const int    e = bits >> fraction & ((1 << width) - 1), m = bits & ((1 << fraction) - 1);
    const double sign = bits & 0x8000 ? -1 : 1;
    if (e == (1 << width) - 1)
        return m ? (double)NAN : sign * INFINITY;
    return e ? sign * ldexp((double)m + (1 << fraction), e - bias - fraction) : sign * ldexp(m, 1 - bias - fraction);
}

/* The nearest pattern, ties to the even one: patterns of one sign are ordered like their values, so a search by halves
 * finds it. */
static uint16_t short_bits(double v, int fraction)
{
    const uint16_t sign = signbit(v) ? 0x8000 : 0, infinite = (uint16_t)(((1 << (15 - fraction)) - 1) << fraction);
    if (isnan(v))
        return infinite | 1;
    v            = fabs(v);
    uint16_t low = 0, high = infinite; /* value(low) <= v < value(high), or v is infinite */
    if (isinf(v))
        return sign | infinite;
    while (high - low > 1) {
        const uint16_t middle = (uint16_t)((low + high) / 2);
        if (short_value(middle, fraction) <= v)
            low = middle;
        else
            high = middle;
    }
    /* The pattern after the largest finite one counts as if exponents went on. */
    const double below  = short_value(low, fraction),
                 step   = below - (low ? short_value((uint16_t)(low - 1), fraction) : -short_value(1, fraction));
    const double above  = high == infinite ? below + step : short_value(high, fraction);
    const double to_low = v - below, to_high = above - v;
    return sign | (to_low < to_high || (to_low == to_high && low % 2 == 0) ? low : high);
}

enum { HALF = 10, BRAIN = 7 };

Number number_float(kn_type type, double v)
{
    switch (type) {
    case KN_F16: v = short_value(short_bits(v, HALF), HALF); break;
    case KN_BF16: v = short_value(short_bits(v, BRAIN), BRAIN); break;
    case KN_F32: v = (float)v; break;
    default: break;
    }
    return (Number){ type, { .f = v } };
}

/* ---- Memory ----------------------------------------------------------------------------- */

Number number_load(kn_type type, const void *at)
{
    uint64_t bits = 0;
    memcpy(&bits, at, kn_type_size(type));
    float  f;
    double d;
    switch (type) {
    case KN_F16: return number_float(type, short_value((uint16_t)bits, HALF));
    case KN_BF16: return number_float(type, short_value((uint16_t)bits, BRAIN));
    case KN_F32: memcpy(&f, at, sizeof f); return number_float(type, (double)f);
    case KN_F64: memcpy(&d, at, sizeof d); return number_float(type, d);
    case KN_BOOL: return number_int(type, bits != 0);
    default: return number_int(type, bits);
    }
}

void number_store(Number a, void *at)
{
    const float    f     = (float)a.as.f;
    const uint16_t small = short_bits(a.as.f, a.type == KN_F16 ? HALF : BRAIN);
    switch (a.type) {
    case KN_F16:
    case KN_BF16: memcpy(at, &small, sizeof small); break;
    case KN_F32: memcpy(at, &f, sizeof f); break;
    case KN_F64: memcpy(at, &a.as.f, sizeof a.as.f); break;
    default: memcpy(at, &a.as.i, kn_type_size(a.type)); break; /* little endian, as every machine of this test */
    }
}

bool number_same(Number a, Number b)
{
    if (a.type != b.type)
        return false;
    if (!is_float(a.type))
        return a.as.i == b.as.i;
    return (isnan(a.as.f) && isnan(b.as.f)) || (a.as.f == b.as.f && !signbit(a.as.f) == !signbit(b.as.f));
}

/* ---- Conversions ------------------------------------------------------------------------ */

static Number float_to_int(kn_type type, double v)
{
    if (isnan(v))
        return number_int(type, 0);
    v = trunc(v);
    if (v >= ldexp(1, bits_of(type) - is_signed_int(type)))
        return number_int(type, most(type));
    if (v <= (double)least(type))
        return number_int(type, least(type));
    return number_int(type, (__int128)v);
}

Number number_cast(kn_type type, Number a, bool saturate)
{
    if (type == KN_BOOL)
        return number_int(type, is_float(a.type) ? a.as.f != 0 : a.as.i != 0);
    if (is_float(a.type))
        return is_float(type) ? number_float(type, a.as.f) : float_to_int(type, a.as.f);
    const __int128 v = number_value(a);
    if (type == KN_F64)
        return number_float(type, (double)v);
    if (is_float(type))
        return number_float(type, (double)(float)v);
    if (saturate)
        return number_int(type, v < least(type) ? least(type) : v > most(type) ? most(type) : v);
    return number_int(type, v);
}

/* ---- Integers --------------------------------------------------------------------------- */

/* The remainder in 0 .. |b|-1. */
static __int128 remainder_of(__int128 a, __int128 b)
{
    if (b < 0)
        b = -b;
    const __int128 r = b ? a % b : 0;
    return r < 0 ? r + b : r;
}

/* floor(v * 2^s), of which only the low bits matter where it is large. */
static __int128 scaled(__int128 v, __int128 s)
{
    if (s >= 0)
        return s > 64 ? 0 : (__int128)((unsigned __int128)v << s);
    return v >> (s < -127 ? 127 : (int)-s);
}

static int ones(__int128 v, int bits)
{
    int n = 0;
    for (int i = 0; i < bits; i++)
        n += (int)(v >> i & 1);
    return n;
}

static int zeros_above(__int128 v, int bits)
{
    int n = 0;
    while (n < bits && !(v >> (bits - 1 - n) & 1))
        n++;
    return n;
}

/* The low 128 bits. */
static __int128 product(__int128 a, __int128 b)
{
    return (__int128)((unsigned __int128)a * (unsigned __int128)b);
}

static bool apply_int(ExprOp op, kn_type from, __int128 a, __int128 b, __int128 c, __int128 *r)
{
    switch (op) {
    case EX_NEG: *r = -a; break;
    case EX_ADD: *r = a + b; break;
    case EX_SUB: *r = a - b; break;
    case EX_MUL: *r = product(a, b); break;
    case EX_DIV: *r = b ? (a - remainder_of(a, b)) / b : 0; break;
    case EX_MOD: *r = remainder_of(a, b); break;
    case EX_MIN: *r = a < b ? a : b; break;
    case EX_MAX: *r = a > b ? a : b; break;
    case EX_ABS: *r = a < 0 ? -a : a; break;
    case EX_ABSD: *r = a < b ? b - a : a - b; break;
    case EX_AVG_UP: *r = (a + b + 1) >> 1; break;
    case EX_AVG_DOWN: *r = (a + b) >> 1; break;
    case EX_MUL_SHIFT:
        *r = is_signed_int(from) || c < 0 ? scaled(product(a, b), -c)
             : c > 127                    ? 0
                                          : (__int128)(((unsigned __int128)a * (unsigned __int128)b) >> c);
        break;
    case EX_POPCOUNT: *r = ones(a, bits_of(from)); break;
    case EX_CLZ: *r = zeros_above(a, bits_of(from)); break;
    case EX_SHL: *r = scaled(a, b); break;
    case EX_SHR: *r = scaled(a, -b); break;
    case EX_BIT_AND: *r = a & b; break;
    case EX_BIT_OR: *r = a | b; break;
    case EX_BIT_XOR: *r = a ^ b; break;
    case EX_BIT_NOT: *r = ~a; break;
    case EX_LT: *r = a < b; break;
    case EX_LE: *r = a <= b; break;
    case EX_EQ: *r = a == b; break;
    case EX_NE: *r = a != b; break;
    default: return false;
    }
    return true;
}

/* ---- Floats ----------------------------------------------------------------------------- */

/* Operators that round once: in float for what is not f64, in double for that. */
#define ROUNDED(T, suffix)                                                                                             \
    static bool apply_##suffix(ExprOp op, T a, T b, T c, double *r)                                                    \
    {                                                                                                                  \
        switch (op) {                                                                                                  \
        case EX_NEG: *r = (double)-a; break;                                                                           \
        case EX_ADD: *r = (double)(T)(a + b); break;                                                                   \
        case EX_SUB: *r = (double)(T)(a - b); break;                                                                   \
        case EX_MUL: *r = (double)(T)(a * b); break;                                                                   \
        case EX_DIV: *r = (double)(T)(a / b); break;                                                                   \
        case EX_MIN: *r = (double)(a < b ? a : b); break;                                                              \
        case EX_MAX: *r = (double)(a > b ? a : b); break;                                                              \
        case EX_ABS: *r = (double)(signbit(a) ? -a : a); break;                                                        \
        case EX_SQRT: *r = (double)(T)sqrt((double)a); break;                                                          \
        case EX_RSQRT: *r = (double)(T)(1 / (T)sqrt((double)a)); break;                                                \
        case EX_FMA: *r = (double)FMA_##suffix(a, b, c); break;                                                        \
        default: return false;                                                                                         \
        }                                                                                                              \
        return true;                                                                                                   \
    }
#define FMA_single fmaf
#define FMA_double fma
/* clang-format off */
ROUNDED(float, single)
ROUNDED(double, double)
/* clang-format on */

/* Those that are exact. */
static bool apply_exact(ExprOp op, double a, double *r)
{
    switch (op) {
    case EX_FLOOR: *r = floor(a); break;
    case EX_CEIL: *r = ceil(a); break;
    case EX_TRUNC: *r = trunc(a); break;
    case EX_ROUND:
        *r = fabs(a) >= 0x1p52 || isnan(a)
                 ? a
                 : copysign(fabs(a) - floor(fabs(a)) == 0.5 ? 2 * floor((fabs(a) + 1) / 2) : floor(fabs(a) + 0.5), a);
        break;
    default: return false;
    }
    return true;
}

static bool compare_float(ExprOp op, double a, double b, bool *r)
{
    switch (op) {
    case EX_LT: *r = a < b; break;
    case EX_LE: *r = a <= b; break;
    case EX_EQ: *r = a == b; break;
    case EX_NE: *r = !(a == b); break;
    default: return false;
    }
    return true;
}

bool number_apply(ExprOp op, kn_type type, int count, const Number *n, Number *out)
{
    const kn_type from = n[0].type;
    const Number  zero = { from, { 0 } }, a = n[0], b = count > 1 ? n[1] : zero, c = count > 2 ? n[2] : zero;
    if (op == EX_CAST || op == EX_SAT_CAST) {
        *out = number_cast(type, a, op == EX_SAT_CAST);
        return true;
    }
    if (op == EX_REINTERPRET) {
        unsigned char bits[8] = { 0 };
        number_store(a, bits);
        *out = number_load(type, bits);
        return true;
    }
    if (!is_float(from)) {
        __int128   r;
        const bool known = apply_int(op, from, number_value(a), number_value(b), number_value(c), &r);
        *out             = number_int(type, known ? r : 0);
        return known;
    }
    bool   truth;
    double r;
    if (compare_float(op, a.as.f, b.as.f, &truth)) {
        *out = number_int(KN_BOOL, truth);
        return true;
    }
    const bool known = apply_exact(op, a.as.f, &r) ||
                       (from == KN_F64 ? apply_double(op, a.as.f, b.as.f, c.as.f, &r)
                                       : apply_single(op, (float)a.as.f, (float)b.as.f, (float)c.as.f, &r));
    *out = number_float(type, !known           ? 0
                              : from == KN_F64 ? r
                                               : (double)(float)r); /* f16 and bf16: computed in f32, then rounded */
    return known;
}
