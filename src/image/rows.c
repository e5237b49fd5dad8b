/* SPDX-License-Identifier: MIT */
/* Rows of elements: the loops, one for each type. */
#include "image/rows.h"

#include <float.h>

/* The element at `at`, wherever that is. */
#define LOAD(T, at)     (((const struct { T v; } __attribute__((packed, may_alias)) *)(const void *)(at))->v)
#define STORE(T, at, x) (((struct { T v; } __attribute__((packed, may_alias)) *)(void *)(at))->v = (x))

/* A loop over a row, in two versions: the compiler vectorizes the one whose step is a constant. */
#define EACH(step, size, statement)                                                                                    \
    if ((step) == (int64_t)(size)) {                                                                                   \
        for (int64_t i = 0, at = 0; i < count; i++, at += (int64_t)(size))                                             \
            statement;                                                                                                 \
    } else {                                                                                                           \
        for (int64_t i = 0, at = 0; i < count; i++, at += (step))                                                      \
            statement;                                                                                                 \
    }

static float float_of_bits(uint32_t bits)
{
    float v;
    memcpy(&v, &bits, sizeof v);
    return v;
}

static uint32_t bits_of_float(float v)
{
    uint32_t bits;
    memcpy(&bits, &v, sizeof bits);
    return bits;
}

/* An IEEE half: its exponent and mantissa moved to those of a float, and the difference of the biases multiplied in,
 * which makes subnormals normal. Infinities and NaNs keep the largest exponent. */
static double half_to_double(uint16_t h)
{
    const uint32_t size = h & 0x7FFFu, sign = (uint32_t)(h & 0x8000u) << 16;
    const float    finite = float_of_bits(size << 13) * 0x1p112f;
    const float    v      = float_of_bits(size >= 0x7C00u ? size << 13 | 0x7F800000u : bits_of_float(finite));
    return (double)float_of_bits(bits_of_float(v) | sign);
}

static double bfloat_to_double(uint16_t h)
{
    return (double)float_of_bits((uint32_t)h << 16);
}

/* |v| rounded to `mantissa` bits, ties to even: added to and taken from the power of two whose last place is that unit.
 * Below 2^least the unit is that of 2^least. */
static double round_size(double size, int mantissa, double least)
{
    uint64_t bits;
    memcpy(&bits, &size, sizeof bits);
    bits &= 0x7FF0000000000000u;
    double power;
    memcpy(&power, &bits, sizeof power);
    const double unit = (power < least ? least : power) * (double)((uint64_t)1 << (DBL_MANT_DIG - mantissa));
    return (size + unit) - unit;
}

static uint16_t half_of_double(double v)
{
    const double   size    = round_size(__builtin_fabs(v), 11, 0x1p-14);
    const uint32_t normal  = (bits_of_float((float)size) >> 13) - (112u << 10);
    const uint32_t small   = (uint32_t)(int32_t)(size < 0x1p-14 ? size * 0x1p24 : 0);
    const uint32_t finite  = size < 0x1p-14 ? small : normal;
    const uint32_t special = v != v ? 0x7E00u : 0x7C00u;
    return (uint16_t)((size < 65536 ? finite : special) | (__builtin_signbit(v) ? 0x8000u : 0u));
}

static uint16_t bfloat_of_double(double v)
{
    const double   size    = round_size(__builtin_fabs(v), 8, 0x1p-126);
    const uint32_t special = v != v ? 0x7FC0u : 0x7F80u;
    return (uint16_t)((size < 0x1p128 ? bits_of_float((float)size) >> 16 : special) |
                      (__builtin_signbit(v) ? 0x8000u : 0u));
}

/* The types in memory: how they become a double and come from one. */
/* clang-format off */
#define ROW_TYPES(X)                                                                                                   \
    X(KN_BOOL, uint8_t, (double)(v != 0), (uint8_t)(d != 0))                                                           \
    X(KN_U8, uint8_t, (double)v, (uint8_t)(int32_t)d)                                                                  \
    X(KN_U16, uint16_t, (double)v, (uint16_t)(int32_t)d)                                                               \
    X(KN_U32, uint32_t, (double)v, (uint32_t)(int64_t)d)                                                               \
    X(KN_U64, uint64_t, (double)v, (uint64_t)d)                                                                        \
    X(KN_I8, int8_t, (double)v, (int8_t)(int32_t)d)                                                                    \
    X(KN_I16, int16_t, (double)v, (int16_t)(int32_t)d)                                                                 \
    X(KN_I32, int32_t, (double)v, (int32_t)d)                                                                          \
    X(KN_I64, int64_t, (double)v, (int64_t)d)                                                                          \
    X(KN_F16, uint16_t, half_to_double(v), half_of_double(d))                                                          \
    X(KN_BF16, uint16_t, bfloat_to_double(v), bfloat_of_double(d))                                                     \
    X(KN_F32, float, (double)v, (float)d)                                                                              \
    X(KN_F64, double, v, d)
/* clang-format on */

#define ROW_LOOPS(type, T, load, store)                                                                                \
    static void load_##type(const char *from, int64_t step, int64_t count, double *to)                                 \
    {                                                                                                                  \
        EACH(step, sizeof(T), {                                                                                        \
            const T v = LOAD(T, from + at);                                                                            \
            to[i]     = load;                                                                                          \
        })                                                                                                             \
    }                                                                                                                  \
    static void store_##type(char *to, int64_t step, int64_t count, const double *from)                                \
    {                                                                                                                  \
        EACH(step, sizeof(T), {                                                                                        \
            const double d = from[i];                                                                                  \
            STORE(T, to + at, store);                                                                                  \
        })                                                                                                             \
    }
/* clang-format off */
ROW_TYPES(ROW_LOOPS)
/* clang-format on */

#define ROW_ENTRY(type, T, load, store) [type] = { load_##type, store_##type },
static const struct {
    void (*load)(const char *from, int64_t step, int64_t count, double *to);
    void (*store)(char *to, int64_t step, int64_t count, const double *from);
} loops[KN_TYPE_COUNT] = { ROW_TYPES(ROW_ENTRY) };

void row_to_doubles(kn_type t, const char *from, int64_t step, int64_t count, double *to)
{
    loops[t].load(from, step, count, to);
}

void row_from_doubles(kn_type t, char *to, int64_t step, int64_t count, const double *from)
{
    loops[t].store(to, step, count, from);
}

#define LOAD_INTEGERS(type, T, mean)                                                                                   \
    case type:                                                                                                         \
        EACH(step, sizeof(T), {                                                                                        \
            const T v = LOAD(T, from + at);                                                                            \
            to[i]     = (int64_t)(mean);                                                                               \
        })                                                                                                             \
        break;

void row_to_integers(kn_type t, const char *from, int64_t step, int64_t count, int64_t *to)
{
    switch (t) {
        LOAD_INTEGERS(KN_BOOL, uint8_t, v != 0)
        LOAD_INTEGERS(KN_U8, uint8_t, v)
        LOAD_INTEGERS(KN_U16, uint16_t, v)
        LOAD_INTEGERS(KN_U32, uint32_t, v)
        LOAD_INTEGERS(KN_I8, int8_t, v)
        LOAD_INTEGERS(KN_I16, int16_t, v)
        LOAD_INTEGERS(KN_I32, int32_t, v)
    default: EACH(step, sizeof(int64_t), to[i] = LOAD(int64_t, from + at))
    }
}

void row_from_integers(kn_type t, char *to, int64_t step, int64_t count, const int64_t *from)
{
    switch (kn_type_size(t)) {
    case 1: EACH(step, sizeof(uint8_t), STORE(uint8_t, to + at, (uint8_t)from[i])) break;
    case 2: EACH(step, sizeof(uint16_t), STORE(uint16_t, to + at, (uint16_t)from[i])) break;
    case 4: EACH(step, sizeof(uint32_t), STORE(uint32_t, to + at, (uint32_t)from[i])) break;
    default: EACH(step, sizeof(int64_t), STORE(int64_t, to + at, from[i]))
    }
}

#define COPY(T)                                                                                                        \
    for (int64_t i = 0; i < count; i++)                                                                                \
    STORE(T, to + i * to_step, LOAD(T, from + i * from_step))

void row_copy(char *to, int64_t to_step, const char *from, int64_t from_step, int64_t count, size_t size)
{
    if (to_step == (int64_t)size && from_step == (int64_t)size) {
        memcpy(to, from, (size_t)count * size);
        return;
    }
    switch (size) {
    case 1: COPY(uint8_t); break;
    case 2: COPY(uint16_t); break;
    case 4: COPY(uint32_t); break;
    default: COPY(uint64_t); break;
    }
}
