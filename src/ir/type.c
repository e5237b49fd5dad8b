/* SPDX-License-Identifier: MIT */
/* The scalar types: their table, where two of them meet, wrapping and rounding, and their bits in memory. */
#include "ir/type.h"

#include <math.h>
#include <string.h>

/* clang-format off */
const TypeInfo type_table[KN_TYPE_COUNT] = {
    /*            name    bits float  signed unsigned   mantissa */
    [KN_NONE] = { NULL,   0,   false, false, KN_NONE,   0 },
    [KN_BOOL] = { "bool", 1,   false, false, KN_BOOL,   0 },
    [KN_U8]   = { "u8",   8,   false, false, KN_U8,     0 },
    [KN_U16]  = { "u16",  16,  false, false, KN_U16,    0 },
    [KN_U32]  = { "u32",  32,  false, false, KN_U32,    0 },
    [KN_U64]  = { "u64",  64,  false, false, KN_U64,    0 },
    [KN_I8]   = { "i8",   8,   false, true,  KN_U8,     0 },
    [KN_I16]  = { "i16",  16,  false, true,  KN_U16,    0 },
    [KN_I32]  = { "i32",  32,  false, true,  KN_U32,    0 },
    [KN_I64]  = { "i64",  64,  false, true,  KN_U64,    0 },
    [KN_F16]  = { "f16",  16,  true,  true,  KN_F16,    11 },
    [KN_BF16] = { "bf16", 16,  true,  true,  KN_BF16,   8 },
    [KN_F32]  = { "f32",  32,  true,  true,  KN_F32,    24 },
    [KN_F64]  = { "f64",  64,  true,  true,  KN_F64,    53 },
};
/* clang-format on */

static bool is_type(kn_type t)
{
    return (int)t > KN_NONE && (int)t < KN_TYPE_COUNT;
}

const char *kn_type_name(kn_type type)
{
    return is_type(type) ? type_table[type].name : NULL;
}

kn_type kn_type_from_name(const char *name)
{
    for (int t = KN_NONE + 1; name && t < KN_TYPE_COUNT; t++)
        if (!strcmp(type_table[t].name, name))
            return (kn_type)t;
    return KN_NONE;
}

size_t kn_type_size(kn_type type)
{
    return is_type(type) ? ((size_t)type_table[type].bits + 7) / 8 : 0;
}

kn_type type_meet(kn_type a, kn_type b)
{
    if (a == b)
        return a;
    if (a == KN_BOOL || b == KN_BOOL || a == KN_NONE || b == KN_NONE)
        return KN_NONE;
    const TypeInfo *ta = &type_table[a], *tb = &type_table[b];
    if (ta->is_float != tb->is_float)
        return ta->is_float ? a : b;
    if (ta->is_float && ta->bits == tb->bits)
        return KN_F32; /* f16 and bf16: neither holds the other */
    const bool wider_a = ta->bits > tb->bits;
    if (ta->is_float || ta->is_signed == tb->is_signed)
        return wider_a ? a : b;
    const int bits = wider_a ? ta->bits : tb->bits;
    return bits == 8 ? KN_I8 : bits == 16 ? KN_I16 : bits == 32 ? KN_I32 : KN_I64;
}

int64_t type_min(kn_type t)
{
    return type_is_signed(t) ? (int64_t)(UINT64_MAX << (type_bits(t) - 1)) : 0;
}

int64_t type_max(kn_type t)
{
    const int bits = type_bits(t) - type_is_signed(t);
    return bits >= 63 ? INT64_MAX : ((int64_t)1 << bits) - 1;
}

int64_t type_wrap(kn_type t, int64_t v)
{
    const int unused = 64 - type_bits(t);
    if (!unused)
        return v;
    const uint64_t low = (uint64_t)v << unused;
    return type_is_signed(t) ? (int64_t)low >> unused : (int64_t)(low >> unused);
}

/* Rounding to a short mantissa, ties to even, with the exponent range of f16 (bf16's is f32's): scale so that one unit
 * in the last place is 1, round, scale back. Subnormals have the fixed unit of the smallest exponent. */
static double round_short(double v, int mantissa, int min_exponent, int max_exponent)
{
    if (v == 0 || !isfinite(v))
        return v;
    int exponent;
    frexp(v, &exponent); /* |v| in [2^(e-1), 2^e) */
    const int    unit = (exponent < min_exponent ? min_exponent : exponent) - mantissa;
    const double r    = ldexp(rint(ldexp(v, -unit)), unit);
    return fabs(r) >= ldexp(1, max_exponent) ? copysign(INFINITY, v) : r;
}

double type_round(kn_type t, double v)
{
    switch (t) {
    case KN_F32: return (float)v;
    case KN_F16: return round_short(v, 11, -13, 16);
    case KN_BF16: return round_short(v, 8, -125, 128);
    default: return v;
    }
}

static uint16_t to_half(double v)
{
    const uint16_t sign = signbit(v) ? 0x8000 : 0;
    if (isnan(v))
        return sign | 0x7E00;
    v = fabs(type_round(KN_F16, v));
    if (isinf(v))
        return sign | 0x7C00;
    if (v < ldexp(1, -14))
        return sign | (uint16_t)ldexp(v, 24);
    int          exponent;
    const double m = frexp(v, &exponent);
    return (uint16_t)(sign | ((exponent + 14) << 10) | ((int)ldexp(m, 11) & 0x3FF));
}

static double from_half(uint16_t h)
{
    const int    exponent = h >> 10 & 31, fraction = h & 0x3FF;
    const double v = exponent == 31  ? (fraction ? NAN : INFINITY)
                     : exponent == 0 ? ldexp(fraction, -24)
                                     : ldexp(fraction + 1024, exponent - 25);
    return h & 0x8000 ? -v : v;
}

static uint16_t to_bfloat(double v)
{
    const float r = (float)type_round(KN_BF16, v);
    uint32_t    bits;
    memcpy(&bits, &r, sizeof bits);
    return isnan(v) ? (uint16_t)(bits >> 16 | 0x40) : (uint16_t)(bits >> 16);
}

static double from_bfloat(uint16_t h)
{
    const uint32_t bits = (uint32_t)h << 16;
    float          v;
    memcpy(&v, &bits, sizeof v);
    return v;
}

int64_t type_load_int(kn_type t, const void *at)
{
    int64_t v = 0;
    switch (kn_type_size(t)) {
    case 1: {
        uint8_t w;
        memcpy(&w, at, sizeof w);
        v = w;
        break;
    }
    case 2: {
        uint16_t w;
        memcpy(&w, at, sizeof w);
        v = w;
        break;
    }
    case 4: {
        uint32_t w;
        memcpy(&w, at, sizeof w);
        v = w;
        break;
    }
    default: memcpy(&v, at, sizeof v);
    }
    return t == KN_BOOL ? v != 0 : type_wrap(t, v);
}

void type_store_int(kn_type t, void *at, int64_t v)
{
    switch (kn_type_size(t)) {
    case 1: {
        const uint8_t w = (uint8_t)v;
        memcpy(at, &w, sizeof w);
        break;
    }
    case 2: {
        const uint16_t w = (uint16_t)v;
        memcpy(at, &w, sizeof w);
        break;
    }
    case 4: {
        const uint32_t w = (uint32_t)v;
        memcpy(at, &w, sizeof w);
        break;
    }
    default: memcpy(at, &v, sizeof v);
    }
}

double type_load_float(kn_type t, const void *at)
{
    if (t == KN_F32) {
        float v;
        memcpy(&v, at, sizeof v);
        return v;
    }
    if (t == KN_F64) {
        double v;
        memcpy(&v, at, sizeof v);
        return v;
    }
    uint16_t h;
    memcpy(&h, at, sizeof h);
    return t == KN_F16 ? from_half(h) : from_bfloat(h);
}

void type_store_float(kn_type t, void *at, double v)
{
    if (t == KN_F32) {
        const float w = (float)v;
        memcpy(at, &w, sizeof w);
    } else if (t == KN_F64) {
        memcpy(at, &v, sizeof v);
    } else {
        const uint16_t h = t == KN_F16 ? to_half(v) : to_bfloat(v);
        memcpy(at, &h, sizeof h);
    }
}
