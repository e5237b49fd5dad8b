/* SPDX-License-Identifier: MIT */
/* The operators on rows of lanes: one kernel per operator and kind of operand, and the table of them.
 *
 * Integers are carried sign- or zero-extended, so one kernel on int64_t is right for every integer type but u64, which
 * has its own column. Sums, differences, products, quotients and square roots of floats are computed in double and
 * rounded once more: for f32 that is the correctly rounded result (53 >= 2*24 + 2 bits; Figueroa, "When is double
 * rounding innocuous?", 1995), and f16 and bf16 are defined as computed in f32 and then rounded. */
#include "interp/ops.h"

#include <math.h>

/* ---- Kernels --------------------------------------------------------------------------------- */

/* name: for each lane, r.to = expression of x (and y, z), which are the operands' field `from` as a T. */
#define KERNEL1(name, T, from, to, expression)                                                                         \
    static void name(const Row *row)                                                                                   \
    {                                                                                                                  \
        Lane *restrict r       = row->r;                                                                               \
        const Lane *restrict a = row->a;                                                                               \
        for (int i = 0; i < row->n; i++) {                                                                             \
            const T x = (T)a[i].from;                                                                                  \
            r[i].to   = (expression);                                                                                  \
        }                                                                                                              \
    }
#define KERNEL2(name, T, from, to, expression)                                                                         \
    static void name(const Row *row)                                                                                   \
    {                                                                                                                  \
        Lane *restrict r       = row->r;                                                                               \
        const Lane *restrict a = row->a;                                                                               \
        const Lane *restrict b = row->b;                                                                               \
        for (int i = 0; i < row->n; i++) {                                                                             \
            const T x = (T)a[i].from, y = (T)b[i].from;                                                                \
            r[i].to = (expression);                                                                                    \
        }                                                                                                              \
    }
#define KERNEL3(name, T, from, to, expression)                                                                         \
    static void name(const Row *row)                                                                                   \
    {                                                                                                                  \
        for (int i = 0; i < row->n; i++) {                                                                             \
            const T x = (T)row->a[i].from, y = (T)row->b[i].from;                                                      \
            const T z    = (T)row->c[i].from;                                                                          \
            row->r[i].to = (expression);                                                                               \
        }                                                                                                              \
    }

#define SIGNED1(name, e)   KERNEL1(name, int64_t, i, i, e)
#define SIGNED2(name, e)   KERNEL2(name, int64_t, i, i, e)
#define UNSIGNED1(name, e) KERNEL1(name, uint64_t, i, i, (int64_t)(e))
#define UNSIGNED2(name, e) KERNEL2(name, uint64_t, i, i, (int64_t)(e))
#define FLOAT1(name, e)    KERNEL1(name, double, f, f, e)
#define FLOAT2(name, e)    KERNEL2(name, double, f, f, e)
#define COMPARE(name, operator_)                                                                                       \
    SIGNED2(name##_i, x operator_ y)                                                                                   \
    UNSIGNED2(name##_u, x operator_ y)                                                                                 \
    KERNEL2(name##_f, double, f, i, x operator_ y)
#define LIBM1(name) FLOAT1(name##_f, name(x))

/* Modulo 2^64, and so right modulo 2^n for every type once finished. */
/* clang-format off */
UNSIGNED1(neg_i, 0 - x)
UNSIGNED2(add_i, x + y)
UNSIGNED2(sub_i, x - y)
UNSIGNED2(mul_i, x * y)
UNSIGNED2(and_i, x & y)
UNSIGNED2(or_i, x | y)
UNSIGNED2(xor_i, x ^ y)
UNSIGNED1(not_i, ~x)
FLOAT1(neg_f, -x)
FLOAT2(add_f, x + y)
FLOAT2(sub_f, x - y)
FLOAT2(mul_f, x * y)
FLOAT2(div_f, x / y)
/* clang-format on */

/* Euclidean: a = q*b + r with 0 <= r < |b|; both are 0 for b = 0. The least value by -1 wraps. */
static int64_t euclidean_div(int64_t a, int64_t b)
{
    if (b == 0 || b == -1)
        return (int64_t)((uint64_t)a * (uint64_t)b);
    return a / b - (a % b < 0 ? (b > 0) - (b < 0) : 0);
}

static int64_t euclidean_mod(int64_t a, int64_t b)
{
    if (b == 0 || b == -1)
        return 0;
    const int64_t r = a % b;
    return r >= 0 ? r : b > 0 ? r + b : r - b;
}

/* clang-format off */
SIGNED2(div_i, euclidean_div(x, y))
SIGNED2(mod_i, euclidean_mod(x, y))
UNSIGNED2(div_u, y ? x / y : 0)
UNSIGNED2(mod_u, y ? x % y : 0)
/* clang-format on */

/* clang-format off */
SIGNED2(min_i, x < y ? x : y)
SIGNED2(max_i, x > y ? x : y)
UNSIGNED2(min_u, x < y ? x : y)
UNSIGNED2(max_u, x > y ? x : y)
FLOAT2(min_f, x < y ? x : y)
FLOAT2(max_f, x > y ? x : y)
/* clang-format on */

/* clang-format off */
UNSIGNED1(abs_i, (int64_t)x < 0 ? 0 - x : x)
UNSIGNED1(abs_u, x)
FLOAT1(abs_f, fabs(x))
UNSIGNED2(absd_i, (int64_t)x > (int64_t)y ? x - y : y - x)
UNSIGNED2(absd_u, x > y ? x - y : y - x)
/* clang-format on */

/* a + b = 2*(a & b) + (a ^ b) = 2*(a | b) - (a ^ b), so halves need no wider sum. */
/* clang-format off */
UNSIGNED2(avg_up_i, (x | y) - (uint64_t)((int64_t)(x ^ y) >> 1))
UNSIGNED2(avg_down_i, (x & y) + (uint64_t)((int64_t)(x ^ y) >> 1))
UNSIGNED2(avg_up_u, (x | y) - ((x ^ y) >> 1))
UNSIGNED2(avg_down_u, (x & y) + ((x ^ y) >> 1))
/* clang-format on */

/* The bits of a value as the type has them, zero-extended. */
static uint64_t plain_bits(kn_type t, int64_t v)
{
    return (uint64_t)v << (64 - type_bits(t)) >> (64 - type_bits(t));
}

/* clang-format off */
SIGNED1(popcount_i, __builtin_popcountll(plain_bits(row->from, x)))
/* clang-format on */

static int leading_zeros(kn_type t, int64_t v)
{
    const uint64_t bits = plain_bits(t, v);
    return bits ? __builtin_clzll(bits) - (64 - type_bits(t)) : type_bits(t);
}

/* clang-format off */
SIGNED1(clz_i, leading_zeros(row->from, x))
/* clang-format on */

/* A shift's amount, brought into -limit .. limit. */
static int shift_amount(kn_type t, int64_t v, int limit)
{
    if (t == KN_U64 && v < 0)
        return limit;
    return v > limit ? limit : v < -limit ? -limit : (int)v;
}

/* v * 2^s rounded down, modulo 2^64, for |s| <= 64: bits shifted out are gone, the sign (or 0) comes in. */
static int64_t shifted_signed(int64_t v, int s)
{
    if (s >= 0)
        return s < 64 ? (int64_t)((uint64_t)v << s) : 0;
    return v >> (s > -64 ? -s : 63);
}

static int64_t shifted_unsigned(int64_t v, int s)
{
    if (s >= 0)
        return shifted_signed(v, s);
    return s > -64 ? (int64_t)((uint64_t)v >> -s) : 0;
}

/* clang-format off */
SIGNED2(shl_i, shifted_signed(x, shift_amount(row->amount, y, 64)))
SIGNED2(shr_i, shifted_signed(x, -shift_amount(row->amount, y, 64)))
SIGNED2(shl_u, shifted_unsigned(x, shift_amount(row->amount, y, 64)))
SIGNED2(shr_u, shifted_unsigned(x, -shift_amount(row->amount, y, 64)))
/* clang-format on */

/* (a * b) >> s with the whole product. */
static int64_t mul_shift_signed(int64_t a, int64_t b, int s)
{
    const __int128 product = (__int128)a * b;
    if (s < 0)
        return shifted_signed((int64_t)(uint64_t)product, s > -64 ? -s : 64);
    return (int64_t)(product >> (s < 128 ? s : 127));
}

static int64_t mul_shift_unsigned(uint64_t a, uint64_t b, int s)
{
    const unsigned __int128 product = (unsigned __int128)a * b;
    if (s < 0)
        return shifted_signed((int64_t)(uint64_t)product, s > -64 ? -s : 64);
    return s < 128 ? (int64_t)(uint64_t)(product >> s) : 0;
}

/* clang-format off */
KERNEL3(mul_shift_i, int64_t, i, i, mul_shift_signed(x, y, shift_amount(row->amount, z, 128)))
KERNEL3(mul_shift_u, int64_t, i, i, mul_shift_unsigned((uint64_t)x, (uint64_t)y, shift_amount(row->amount, z, 128)))
/* clang-format on */

/* clang-format off */
LIBM1(floor)
LIBM1(ceil)
LIBM1(trunc)
LIBM1(rint)
LIBM1(sqrt)
/* clang-format on */

/* The type that an operation on t is computed in. */
static double rounded_as_computed(kn_type t, double v)
{
    return t == KN_F64 ? v : (double)(float)v;
}

/* clang-format off */
FLOAT1(rsqrt_f, 1 / rounded_as_computed(row->type, sqrt(x)))
KERNEL3(fma_f64, double, f, f, fma(x, y, z))
KERNEL3(fma_f32, float, f, f, fmaf(x, y, z))
/* clang-format on */

/* The same where the CPU has the instruction: formulas are fma for the most part. */
#ifdef __x86_64__
__attribute__((target("fma"))) KERNEL3(fast_fma_f64, double, f, f, __builtin_fma(x, y, z))
    __attribute__((target("fma"))) KERNEL3(fast_fma_f32, float, f, f, __builtin_fmaf(x, y, z))
#define FMA_IS_FAST __builtin_cpu_supports("fma")
#else
#define fast_fma_f64 fma_f64
#define fast_fma_f32 fma_f32
#define FMA_IS_FAST  false
#endif

        static RowKernel *fma_kernel(kn_type type)
{
    if (!type_is_float(type))
        return NULL;
    if (FMA_IS_FAST)
        return type == KN_F64 ? fast_fma_f64 : fast_fma_f32;
    return type == KN_F64 ? fma_f64 : fma_f32;
}

/* clang-format off */
COMPARE(lt, <)
COMPARE(le, <=)
COMPARE(eq, ==)
COMPARE(ne, !=)
/* clang-format on */

/* ---- Conversions ----------------------------------------------------------------------------- */

/* 2^n as a double. */
static double power_of_two(int n)
{
    return ldexp(1, n);
}

/* Truncated toward zero; beyond the type its nearest value; NaN gives 0. Not for u64. */
static int64_t float_to_int(kn_type t, double v)
{
    const int bits = type_bits(t) - type_is_signed(t);
    if (v >= power_of_two(bits))
        return type_max(t);
    if (v <= (double)type_min(t))
        return type_min(t);
    return v == v ? (int64_t)v : 0;
}

static int64_t float_to_u64(double v)
{
    if (v >= power_of_two(64))
        return -1;
    return v > 0 ? (int64_t)(uint64_t)v : 0;
}

/* Within the range of a type other than u64. */
static int64_t clamped(kn_type t, int64_t v)
{
    return v < type_min(t) ? type_min(t) : v > type_max(t) ? type_max(t) : v;
}

/* clang-format off */
SIGNED1(keep_i, x)
SIGNED1(i_to_bool, x != 0)
KERNEL1(f_to_bool, double, f, i, x != 0)
KERNEL1(i_to_f, int64_t, i, f, row->type == KN_F64 ? (double)x : (double)(float)x)
KERNEL1(u_to_f, uint64_t, i, f, row->type == KN_F64 ? (double)x : (double)(float)x)
KERNEL1(f_to_i, double, f, i, float_to_int(row->type, x))
KERNEL1(f_to_u, double, f, i, float_to_u64(x))
FLOAT1(f_to_f, type_round(row->type, x))
SIGNED1(sat_i_to_i, clamped(row->type, x))
SIGNED1(sat_i_to_u, x < 0 ? 0 : x)
UNSIGNED1(sat_u_to_i, x > (uint64_t)type_max(row->type) ? (uint64_t)type_max(row->type) : x)
/* clang-format on */

/* The same bits, read as another type of the same size. */
static void reinterpret_any(const Row *row)
{
    for (int i = 0; i < row->n; i++) {
        unsigned char bits[8] = { 0 };
        lane_store(row->from, bits, row->a[i]);
        row->r[i] = lane_load(row->type, bits);
    }
}

static float float_of(uint32_t bits)
{
    float v;
    memcpy(&v, &bits, sizeof v);
    return v;
}

static int32_t bits_of(float v)
{
    int32_t bits;
    memcpy(&bits, &v, sizeof bits);
    return bits;
}

/* clang-format off */
KERNEL1(bits_to_f32, uint32_t, i, f, float_of(x))
KERNEL1(f32_to_bits, float, f, i, bits_of(x))
/* clang-format on */

/* In 64 bits the carriers have the bits already; those of an f32 are wrapped to their type by the finish. */
static RowKernel *reinterpret_kernel(kn_type from, kn_type to)
{
    if (type_bits(from) == 64 || from == to)
        return keep_i;
    return from == KN_F32 ? f32_to_bits : to == KN_F32 ? bits_to_f32 : reinterpret_any;
}

/* ---- Tables ---------------------------------------------------------------------------------- */

/* How a type is carried. bool operands are carried like integers, but a conversion to bool is its own. */
typedef enum Carrier { AS_INT, AS_U64, AS_FLOAT, AS_BOOL, CARRIERS } Carrier;

static Carrier carrier(kn_type t)
{
    return type_is_float(t) ? AS_FLOAT : t == KN_U64 ? AS_U64 : t == KN_BOOL ? AS_BOOL : AS_INT;
}

/* By the type of the first operand: integers and bool, u64, floats. */
/* clang-format off */
static RowKernel *const kernel_table[EX_COUNT][3] = {
    [EX_NEG]         = { neg_i, neg_i, neg_f },
    [EX_ADD]         = { add_i, add_i, add_f },
    [EX_SUB]         = { sub_i, sub_i, sub_f },
    [EX_MUL]         = { mul_i, mul_i, mul_f },
    [EX_DIV]         = { div_i, div_u, div_f },
    [EX_MOD]         = { mod_i, mod_u, NULL },
    [EX_MIN]         = { min_i, min_u, min_f },
    [EX_MAX]         = { max_i, max_u, max_f },
    [EX_ABS]         = { abs_i, abs_u, abs_f },
    [EX_ABSD]        = { absd_i, absd_u, NULL },
    [EX_AVG_UP]      = { avg_up_i, avg_up_u, NULL },
    [EX_AVG_DOWN]    = { avg_down_i, avg_down_u, NULL },
    [EX_MUL_SHIFT]   = { mul_shift_i, mul_shift_u, NULL },
    [EX_POPCOUNT]    = { popcount_i, popcount_i, NULL },
    [EX_CLZ]         = { clz_i, clz_i, NULL },
    [EX_SHL]         = { shl_i, shl_u, NULL },
    [EX_SHR]         = { shr_i, shr_u, NULL },
    [EX_BIT_AND]     = { and_i, and_i, NULL },
    [EX_BIT_OR]      = { or_i, or_i, NULL },
    [EX_BIT_XOR]     = { xor_i, xor_i, NULL },
    [EX_BIT_NOT]     = { not_i, not_i, NULL },
    [EX_FLOOR]       = { NULL, NULL, floor_f },
    [EX_CEIL]        = { NULL, NULL, ceil_f },
    [EX_ROUND]       = { NULL, NULL, rint_f },
    [EX_TRUNC]       = { NULL, NULL, trunc_f },
    [EX_SQRT]        = { NULL, NULL, sqrt_f },
    [EX_RSQRT]       = { NULL, NULL, rsqrt_f },
    [EX_LT]          = { lt_i, lt_u, lt_f },
    [EX_LE]          = { le_i, le_u, le_f },
    [EX_EQ]          = { eq_i, eq_u, eq_f },
    [EX_NE]          = { ne_i, ne_u, ne_f },
};
/* clang-format on */

/* From integers and bool, u64, floats; to what the column says. */
static RowKernel *const cast_table[3][CARRIERS] = {
    [AS_INT]   = { [AS_INT] = keep_i, [AS_U64] = keep_i, [AS_FLOAT] = i_to_f, [AS_BOOL] = i_to_bool },
    [AS_U64]   = { [AS_INT] = keep_i, [AS_U64] = keep_i, [AS_FLOAT] = u_to_f, [AS_BOOL] = i_to_bool },
    [AS_FLOAT] = { [AS_INT] = f_to_i, [AS_U64] = f_to_u, [AS_FLOAT] = f_to_f, [AS_BOOL] = f_to_bool },
};
static RowKernel *const sat_cast_table[3][CARRIERS] = {
    [AS_INT]   = { [AS_INT] = sat_i_to_i, [AS_U64] = sat_i_to_u, [AS_FLOAT] = i_to_f, [AS_BOOL] = i_to_bool },
    [AS_U64]   = { [AS_INT] = sat_u_to_i, [AS_U64] = keep_i, [AS_FLOAT] = u_to_f, [AS_BOOL] = i_to_bool },
    [AS_FLOAT] = { [AS_INT] = f_to_i, [AS_U64] = f_to_u, [AS_FLOAT] = f_to_f, [AS_BOOL] = f_to_bool },
};

RowKernel *operator_kernel(ExprOp op, kn_type from, kn_type to)
{
    const Carrier row = carrier(from) == AS_BOOL ? AS_INT : carrier(from);
    if (op == EX_CAST)
        return cast_table[row][carrier(to)];
    if (op == EX_REINTERPRET)
        return reinterpret_kernel(from, to);
    if (op == EX_FMA)
        return fma_kernel(to);
    if (op == EX_SAT_CAST)
        return sat_cast_table[row][carrier(to)];
    return kernel_table[op][row];
}

#define FINISH(name, field, expression)                                                                                \
    static void name(Lane *r, int n)                                                                                   \
    {                                                                                                                  \
        for (int i = 0; i < n; i++)                                                                                    \
            r[i].field = (expression);                                                                                 \
    }

/* clang-format off */
FINISH(into_bool, i, r[i].i & 1)
FINISH(into_u8, i, (uint8_t)r[i].i)
FINISH(into_u16, i, (uint16_t)r[i].i)
FINISH(into_u32, i, (uint32_t)r[i].i)
FINISH(into_i8, i, (int8_t)r[i].i)
FINISH(into_i16, i, (int16_t)r[i].i)
FINISH(into_i32, i, (int32_t)r[i].i)
FINISH(into_f16, f, type_round(KN_F16, (float)r[i].f))
FINISH(into_bf16, f, type_round(KN_BF16, (float)r[i].f))
FINISH(into_f32, f, (float)r[i].f)
/* clang-format on */

static Finish *const finish_table[KN_TYPE_COUNT] = {
    [KN_BOOL] = into_bool, [KN_U8] = into_u8,   [KN_U16] = into_u16, [KN_U32] = into_u32,   [KN_I8] = into_i8,
    [KN_I16] = into_i16,   [KN_I32] = into_i32, [KN_F16] = into_f16, [KN_BF16] = into_bf16, [KN_F32] = into_f32,
};

Finish *operator_finish(kn_type type)
{
    return finish_table[type];
}

Lane operator_apply(ExprOp op, kn_type type, int count, const kn_type *types, const Lane *operands)
{
    Lane      r   = { 0 };
    const Row row = { .r      = &r,
                      .a      = &operands[0],
                      .b      = count > 1 ? &operands[1] : NULL,
                      .c      = count > 2 ? &operands[2] : NULL,
                      .n      = 1,
                      .type   = type,
                      .from   = types[0],
                      .amount = types[count - 1] };
    operator_kernel(op, types[0], type)(&row);
    if (finish_table[type])
        finish_table[type](&r, 1);
    return r;
}

/* ---- Memory ---------------------------------------------------------------------------------- */

Lane lane_load(kn_type type, const void *at)
{
    if (type_is_float(type))
        return (Lane){ .f = type_load_float(type, at) };
    return (Lane){ .i = type_load_int(type, at) };
}

void lane_store(kn_type type, void *at, Lane v)
{
    if (type_is_float(type))
        type_store_float(type, at, v.f);
    else
        type_store_int(type, at, v.i);
}

Lane lane_from_scalar(kn_type type, kn_scalar s)
{
    const kn_type from = s.is_float ? KN_F64 : KN_I64;
    const Lane    v    = s.is_float ? (Lane){ .f = s.as.f } : (Lane){ .i = s.as.i };
    return operator_apply(EX_CAST, type, 1, &from, &v);
}
