/* SPDX-License-Identifier: MIT */
/* The operators: a table of cases written by hand, and all pairs of edge values of every integer type against
 * arithmetic on 128 bits. */
#include "interp/ops.h"
#include "check.h"

#include <math.h>

static bool same(kn_type t, Lane a, Lane b)
{
    if (!type_is_float(t))
        return a.i == b.i;
    return isnan(a.f) ? isnan(b.f) : a.f == b.f && signbit(a.f) == signbit(b.f);
}

static void compare(const char *name, kn_type t, Lane want, Lane got)
{
    if (type_is_float(t))
        CHECK(same(t, want, got), "%s: expected %a, got %a", name, want.f, got.f);
    else
        CHECK(same(t, want, got), "%s: expected %lld, got %lld", name, (long long)want.i, (long long)got.i);
}

/* ---- By hand --------------------------------------------------------------------------------- */

#define I(...)                                                                                                         \
    {                                                                                                                  \
        { __VA_ARGS__ },                                                                                               \
        {                                                                                                              \
            0                                                                                                          \
        }                                                                                                              \
    }
#define F(...)                                                                                                         \
    {                                                                                                                  \
        { 0 },                                                                                                         \
        {                                                                                                              \
            __VA_ARGS__                                                                                                \
        }                                                                                                              \
    }
#define MIN64 INT64_MIN
#define MAX64 INT64_MAX
#define UMAX  (-1) /* the bits of u64's largest */

/* op, type of the result, types of the operands; operands in i or f, as their types say; the result likewise. */
typedef struct Case {
    ExprOp  op;
    kn_type type;
    kn_type types[3];
    struct {
        int64_t i[3];
        double  f[3];
    } in;
    int64_t i;
    double  f;
} Case;

#define ONE(t)                                                                                                         \
    {                                                                                                                  \
        t                                                                                                              \
    }
#define TWO(t)                                                                                                         \
    {                                                                                                                  \
        t, t                                                                                                           \
    }
#define THREE(t)                                                                                                       \
    {                                                                                                                  \
        t, t, t                                                                                                        \
    }

/* clang-format off */
static const Case cases[] = {
    /* wrapping */
    { EX_ADD, KN_U8, TWO(KN_U8), I(200, 100), 44, 0 },
    { EX_ADD, KN_I8, TWO(KN_I8), I(127, 1), -128, 0 },
    { EX_ADD, KN_I64, TWO(KN_I64), I(MAX64, 1), MIN64, 0 },
    { EX_ADD, KN_U64, TWO(KN_U64), I(UMAX, 2), 1, 0 },
    { EX_SUB, KN_U16, TWO(KN_U16), I(0, 1), 65535, 0 },
    { EX_SUB, KN_I64, TWO(KN_I64), I(MIN64, 1), MAX64, 0 },
    { EX_MUL, KN_I32, TWO(KN_I32), I(65536, 32768), INT32_MIN, 0 },
    { EX_MUL, KN_I64, TWO(KN_I64), I(MIN64, -1), MIN64, 0 },
    { EX_NEG, KN_I8, ONE(KN_I8), I(-128), -128, 0 },
    { EX_NEG, KN_I64, ONE(KN_I64), I(MIN64), MIN64, 0 },
    { EX_NEG, KN_U8, ONE(KN_U8), I(1), 255, 0 },
    /* Euclidean division */
    { EX_DIV, KN_I32, TWO(KN_I32), I(-7, 2), -4, 0 },
    { EX_DIV, KN_I32, TWO(KN_I32), I(-7, -2), 4, 0 },
    { EX_DIV, KN_I32, TWO(KN_I32), I(7, -2), -3, 0 },
    { EX_MOD, KN_I32, TWO(KN_I32), I(-7, 2), 1, 0 },
    { EX_MOD, KN_I32, TWO(KN_I32), I(-7, -2), 1, 0 },
    { EX_MOD, KN_I32, TWO(KN_I32), I(7, -2), 1, 0 },
    { EX_DIV, KN_I32, TWO(KN_I32), I(5, 0), 0, 0 },
    { EX_MOD, KN_I32, TWO(KN_I32), I(5, 0), 0, 0 },
    { EX_DIV, KN_I8, TWO(KN_I8), I(-128, -1), -128, 0 },
    { EX_DIV, KN_I32, TWO(KN_I32), I(INT32_MIN, -1), INT32_MIN, 0 },
    { EX_DIV, KN_I64, TWO(KN_I64), I(MIN64, -1), MIN64, 0 },
    { EX_MOD, KN_I64, TWO(KN_I64), I(MIN64, -1), 0, 0 },
    { EX_MOD, KN_I64, TWO(KN_I64), I(-1, MIN64), MAX64, 0 },
    { EX_DIV, KN_I64, TWO(KN_I64), I(-1, MIN64), 1, 0 },
    { EX_DIV, KN_U64, TWO(KN_U64), I(UMAX, 2), MAX64, 0 },
    { EX_MOD, KN_U64, TWO(KN_U64), I(UMAX, 10), 5, 0 },
    { EX_DIV, KN_U64, TWO(KN_U64), I(5, UMAX), 0, 0 },
    { EX_DIV, KN_U64, TWO(KN_U64), I(UMAX, 0), 0, 0 },
    /* shifts: too far, and backwards */
    { EX_SHL, KN_I32, TWO(KN_I32), I(1, 31), INT32_MIN, 0 },
    { EX_SHL, KN_I32, TWO(KN_I32), I(-1, 200), 0, 0 },
    { EX_SHR, KN_I32, TWO(KN_I32), I(-5, 200), -1, 0 },
    { EX_SHR, KN_I32, TWO(KN_I32), I(5, 200), 0, 0 },
    { EX_SHR, KN_U8, { KN_U8, KN_I32 }, I(255, 200), 0, 0 },
    { EX_SHL, KN_I32, TWO(KN_I32), I(40, -3), 5, 0 },
    { EX_SHR, KN_U8, { KN_U8, KN_I32 }, I(255, -3), 248, 0 },
    { EX_SHL, KN_U8, { KN_U8, KN_I32 }, I(255, 8), 0, 0 },
    { EX_SHL, KN_I8, { KN_I8, KN_I64 }, I(1, 7), -128, 0 },
    { EX_SHL, KN_I64, TWO(KN_I64), I(3, 64), 0, 0 },
    { EX_SHL, KN_I64, TWO(KN_I64), I(3, 63), MIN64, 0 },
    { EX_SHR, KN_I64, TWO(KN_I64), I(MIN64, 63), -1, 0 },
    { EX_SHR, KN_I64, TWO(KN_I64), I(MIN64, MIN64), 0, 0 },
    { EX_SHL, KN_I64, TWO(KN_I64), I(MIN64, MIN64), -1, 0 },
    { EX_SHR, KN_U64, TWO(KN_U64), I(UMAX, 63), 1, 0 },
    { EX_SHR, KN_U64, TWO(KN_U64), I(UMAX, 64), 0, 0 },
    { EX_SHR, KN_U64, TWO(KN_U64), I(UMAX, UMAX), 0, 0 },           /* a huge amount, not -1 */
    { EX_SHL, KN_U64, TWO(KN_U64), I(UMAX, UMAX), 0, 0 },
    { EX_SHR, KN_I32, { KN_I32, KN_U64 }, I(-8, UMAX), -1, 0 },
    /* u64 is not i64 */
    { EX_LT, KN_BOOL, TWO(KN_U64), I(1, UMAX), 1, 0 },
    { EX_LE, KN_BOOL, TWO(KN_U64), I(UMAX, 1), 0, 0 },
    { EX_LT, KN_BOOL, TWO(KN_I64), I(1, -1), 0, 0 },
    { EX_MIN, KN_U64, TWO(KN_U64), I(1, UMAX), 1, 0 },
    { EX_MAX, KN_U64, TWO(KN_U64), I(1, UMAX), UMAX, 0 },
    { EX_ABSD, KN_U64, TWO(KN_I64), I(MIN64, MAX64), UMAX, 0 },
    { EX_ABSD, KN_U64, TWO(KN_U64), I(1, UMAX), UMAX - 1, 0 },
    { EX_ABSD, KN_U8, TWO(KN_I8), I(-128, 127), 255, 0 },
    { EX_ABS, KN_I8, ONE(KN_I8), I(-128), -128, 0 },
    { EX_ABS, KN_I64, ONE(KN_I64), I(MIN64), MIN64, 0 },
    { EX_ABS, KN_U64, ONE(KN_U64), I(UMAX), UMAX, 0 },
    /* halves without overflow */
    { EX_AVG_UP, KN_U8, TWO(KN_U8), I(255, 255), 255, 0 },
    { EX_AVG_UP, KN_U8, TWO(KN_U8), I(254, 255), 255, 0 },
    { EX_AVG_DOWN, KN_U8, TWO(KN_U8), I(254, 255), 254, 0 },
    { EX_AVG_UP, KN_I64, TWO(KN_I64), I(MAX64, MAX64), MAX64, 0 },
    { EX_AVG_DOWN, KN_I64, TWO(KN_I64), I(MIN64, MAX64), -1, 0 },
    { EX_AVG_UP, KN_I64, TWO(KN_I64), I(MIN64, MAX64), 0, 0 },
    { EX_AVG_UP, KN_U64, TWO(KN_U64), I(UMAX, UMAX), UMAX, 0 },
    { EX_AVG_DOWN, KN_U64, TWO(KN_U64), I(UMAX, 0), MAX64, 0 },
    /* products of double width */
    { EX_MUL_SHIFT, KN_U8, { KN_U8, KN_U8, KN_I32 }, I(255, 255, 8), 254, 0 },
    { EX_MUL_SHIFT, KN_I16, { KN_I16, KN_I16, KN_I32 }, I(-32768, -32768, 15), -32768, 0 },
    { EX_MUL_SHIFT, KN_I16, { KN_I16, KN_I16, KN_I32 }, I(-1, 1, 200), -1, 0 },
    { EX_MUL_SHIFT, KN_I16, { KN_I16, KN_I16, KN_I32 }, I(3, 5, -2), 60, 0 },
    { EX_MUL_SHIFT, KN_I64, THREE(KN_I64), I(MIN64, MIN64, 126), 1, 0 },
    { EX_MUL_SHIFT, KN_I64, THREE(KN_I64), I(MIN64, MAX64, 127), -1, 0 },
    { EX_MUL_SHIFT, KN_I64, THREE(KN_I64), I(MAX64, MAX64, 64), 0x3FFFFFFFFFFFFFFF, 0 },
    { EX_MUL_SHIFT, KN_U64, THREE(KN_U64), I(UMAX, UMAX, 64), UMAX - 1, 0 },
    { EX_MUL_SHIFT, KN_U64, THREE(KN_U64), I(UMAX, UMAX, 127), 1, 0 },
    { EX_MUL_SHIFT, KN_U64, THREE(KN_U64), I(UMAX, UMAX, 128), 0, 0 },
    { EX_MUL_SHIFT, KN_U64, { KN_U64, KN_U64, KN_I32 }, I(UMAX, 1, -1), UMAX - 1, 0 },
    { EX_MUL_SHIFT, KN_U64, { KN_U64, KN_U64, KN_I32 }, I(UMAX, 1, -64), 0, 0 },
    /* bits */
    { EX_POPCOUNT, KN_I8, ONE(KN_I8), I(-1), 8, 0 },
    { EX_POPCOUNT, KN_I64, ONE(KN_I64), I(-1), 64, 0 },
    { EX_CLZ, KN_U8, ONE(KN_U8), I(0), 8, 0 },
    { EX_CLZ, KN_U8, ONE(KN_U8), I(1), 7, 0 },
    { EX_CLZ, KN_I16, ONE(KN_I16), I(-1), 0, 0 },
    { EX_CLZ, KN_U64, ONE(KN_U64), I(0), 64, 0 },
    { EX_BIT_NOT, KN_U8, ONE(KN_U8), I(1), 254, 0 },
    { EX_BIT_NOT, KN_BOOL, ONE(KN_BOOL), I(1), 0, 0 },
    { EX_BIT_NOT, KN_BOOL, ONE(KN_BOOL), I(0), 1, 0 },
    { EX_BIT_XOR, KN_BOOL, TWO(KN_BOOL), I(1, 1), 0, 0 },
    /* conversions from floats: toward zero, saturating, NaN is 0 */
    { EX_CAST, KN_U8, ONE(KN_F32), F(300), 255, 0 },
    { EX_CAST, KN_U8, ONE(KN_F32), F(255.9), 255, 0 },
    { EX_CAST, KN_U8, ONE(KN_F32), F(-0.9), 0, 0 },
    { EX_CAST, KN_U8, ONE(KN_F32), F(-3), 0, 0 },
    { EX_CAST, KN_I8, ONE(KN_F32), F(-128.9), -128, 0 },
    { EX_CAST, KN_I8, ONE(KN_F32), F(-1.9), -1, 0 },
    { EX_CAST, KN_I32, ONE(KN_F64), F(NAN), 0, 0 },
    { EX_CAST, KN_U64, ONE(KN_F64), F(NAN), 0, 0 },
    { EX_CAST, KN_I32, ONE(KN_F32), F(INFINITY), INT32_MAX, 0 },
    { EX_CAST, KN_I32, ONE(KN_F64), F(2147483647.5), INT32_MAX, 0 },
    { EX_CAST, KN_I64, ONE(KN_F64), F(0x1p63), MAX64, 0 },
    { EX_CAST, KN_I64, ONE(KN_F64), F(-0x1p63), MIN64, 0 },
    { EX_CAST, KN_I64, ONE(KN_F64), F(-1e300), MIN64, 0 },
    { EX_CAST, KN_U64, ONE(KN_F64), F(0x1p63), MIN64, 0 },
    { EX_CAST, KN_U64, ONE(KN_F64), F(0x1p64), UMAX, 0 },
    { EX_CAST, KN_U64, ONE(KN_F64), F(-1), 0, 0 },
    { EX_CAST, KN_BOOL, ONE(KN_F32), F(0.25), 1, 0 },
    { EX_CAST, KN_BOOL, ONE(KN_F32), F(-0.0), 0, 0 },
    { EX_CAST, KN_BOOL, ONE(KN_F32), F(NAN), 1, 0 },
    { EX_SAT_CAST, KN_U8, ONE(KN_F32), F(1e30), 255, 0 },
    /* and of integers */
    { EX_CAST, KN_BOOL, ONE(KN_I32), I(256), 1, 0 },
    { EX_CAST, KN_I32, ONE(KN_BOOL), I(1), 1, 0 },
    { EX_CAST, KN_U8, ONE(KN_I32), I(-1), 255, 0 },
    { EX_CAST, KN_I8, ONE(KN_U64), I(UMAX), -1, 0 },
    { EX_CAST, KN_U64, ONE(KN_I8), I(-1), UMAX, 0 },
    { EX_CAST, KN_U32, ONE(KN_I64), I(-1), 4294967295, 0 },
    { EX_SAT_CAST, KN_U8, ONE(KN_I32), I(-1), 0, 0 },
    { EX_SAT_CAST, KN_U8, ONE(KN_I32), I(256), 255, 0 },
    { EX_SAT_CAST, KN_I8, ONE(KN_I32), I(-200), -128, 0 },
    { EX_SAT_CAST, KN_I64, ONE(KN_U64), I(UMAX), MAX64, 0 },
    { EX_SAT_CAST, KN_U64, ONE(KN_I64), I(-1), 0, 0 },
    { EX_SAT_CAST, KN_I8, ONE(KN_U64), I(UMAX), 127, 0 },
    { EX_SAT_CAST, KN_U64, ONE(KN_U64), I(UMAX), UMAX, 0 },
    { EX_CAST, KN_F64, ONE(KN_U64), I(UMAX), 0, 0x1p64 },
    { EX_CAST, KN_F32, ONE(KN_U64), I(UMAX), 0, 0x1p64 },
    { EX_CAST, KN_F32, ONE(KN_U64), I(MIN64), 0, 0x1p63 },
    { EX_CAST, KN_F32, ONE(KN_I64), I(0x2000002000000001), 0, 0x1.000002p61 },      /* through f64 it would be a tie */
    { EX_CAST, KN_F32, ONE(KN_U64), I(0x2000002000000001), 0, 0x1.000002p61 },
    { EX_CAST, KN_F32, ONE(KN_I32), I(16777217), 0, 16777216 },
    { EX_CAST, KN_F16, ONE(KN_I32), I(65519), 0, 65504 },
    { EX_CAST, KN_F16, ONE(KN_I32), I(65520), 0, INFINITY },
    { EX_CAST, KN_BF16, ONE(KN_I32), I(257), 0, 256 },
    { EX_CAST, KN_F16, ONE(KN_F64), F(1 + 0x1p-11 + 0x1p-40), 0, 1 + 0x1p-10 },     /* through f32 it would be a tie */
    { EX_CAST, KN_F16, ONE(KN_F64), F(0x1p-25), 0, 0 },
    { EX_CAST, KN_F16, ONE(KN_F64), F(0x1.8p-25), 0, 0x1p-24 },
    { EX_CAST, KN_F32, ONE(KN_F64), F(1e300), 0, INFINITY },
    { EX_REINTERPRET, KN_U32, ONE(KN_F32), F(1), 0x3F800000, 0 },
    { EX_REINTERPRET, KN_F32, ONE(KN_I32), I(INT32_MIN), 0, -0.0 },
    { EX_REINTERPRET, KN_I64, ONE(KN_F64), F(-0.0), MIN64, 0 },
    { EX_REINTERPRET, KN_U16, ONE(KN_F16), F(1), 0x3C00, 0 },
    { EX_REINTERPRET, KN_BF16, ONE(KN_U16), I(0x3F80), 0, 1 },
    { EX_REINTERPRET, KN_I8, ONE(KN_U8), I(255), -1, 0 },
    /* floats */
    { EX_ADD, KN_F32, TWO(KN_F32), F(16777216, 1), 0, 16777216 },
    { EX_ADD, KN_F64, TWO(KN_F64), F(16777216, 1), 0, 16777217 },
    { EX_ADD, KN_F16, TWO(KN_F16), F(2048, 1), 0, 2048 },
    { EX_ADD, KN_F16, TWO(KN_F16), F(65504, 16), 0, INFINITY },
    { EX_ADD, KN_BF16, TWO(KN_BF16), F(256, 1), 0, 256 },
    { EX_ADD, KN_BF16, TWO(KN_BF16), F(256, 3), 0, 260 },
    { EX_MUL, KN_F32, TWO(KN_F32), F(0x1p-100, 0x1p-60), 0, 0 },
    { EX_DIV, KN_F32, TWO(KN_F32), F(1, 3), 0, 1.0f / 3 },
    { EX_DIV, KN_F32, TWO(KN_F32), F(1, -0.0), 0, -INFINITY },
    { EX_DIV, KN_F64, TWO(KN_F64), F(0, 0), 0, NAN },
    { EX_MIN, KN_F32, TWO(KN_F32), F(NAN, 1), 0, 1 },
    { EX_MIN, KN_F32, TWO(KN_F32), F(1, NAN), 0, NAN },
    { EX_MAX, KN_F32, TWO(KN_F32), F(NAN, 1), 0, 1 },
    { EX_MAX, KN_F32, TWO(KN_F32), F(0.0, -0.0), 0, -0.0 },
    { EX_ABS, KN_F32, ONE(KN_F32), F(-0.0), 0, 0.0 },
    { EX_NEG, KN_F32, ONE(KN_F32), F(0.0), 0, -0.0 },
    { EX_ROUND, KN_F32, ONE(KN_F32), F(2.5), 0, 2 },
    { EX_ROUND, KN_F32, ONE(KN_F32), F(-3.5), 0, -4 },
    { EX_ROUND, KN_F32, ONE(KN_F32), F(-0.25), 0, -0.0 },
    { EX_FLOOR, KN_F32, ONE(KN_F32), F(-0.25), 0, -1 },
    { EX_CEIL, KN_F64, ONE(KN_F64), F(0.25), 0, 1 },
    { EX_TRUNC, KN_F64, ONE(KN_F64), F(-1.75), 0, -1 },
    { EX_SQRT, KN_F32, ONE(KN_F32), F(2), 0, 0x1.6a09e6p0 },
    { EX_SQRT, KN_F32, ONE(KN_F32), F(-1), 0, NAN },
    { EX_RSQRT, KN_F32, ONE(KN_F32), F(2), 0, 0x1.6a09e6p-1 },
    { EX_RSQRT, KN_F32, ONE(KN_F32), F(0), 0, INFINITY },
    /* 1 + 2^-23 squared is 1 + 2^-22 + 2^-46: only an unrounded product leaves the last term */
    { EX_FMA, KN_F32, THREE(KN_F32), F(1 + 0x1p-23, 1 + 0x1p-23, -1 - 0x1p-22), 0, 0x1p-46 },
    { EX_FMA, KN_F64, THREE(KN_F64), F(1 + 0x1p-52, 1 + 0x1p-52, -1 - 0x1p-51), 0, 0x1p-104 },
    /* in double this sum is a tie that rounds down; rounded once it is above the tie */
    { EX_FMA, KN_F32, THREE(KN_F32), F(1 + 0x1p-12, 0x1p-24 - 0x1p-36 + 0x1p-47, 1), 0, 1 + 0x1p-23 },
    { EX_LT, KN_BOOL, TWO(KN_F32), F(NAN, 1), 0, 0 },
    { EX_NE, KN_BOOL, TWO(KN_F32), F(NAN, NAN), 1, 0 },
    { EX_EQ, KN_BOOL, TWO(KN_F32), F(0.0, -0.0), 1, 0 },
};
/* clang-format on */

static void test_by_hand(void)
{
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        const Case *c     = &cases[k];
        int         count = 0;
        Lane        operands[3];
        for (; count < 3 && c->types[count]; count++)
            operands[count] = type_is_float(c->types[count])
                                  ? (Lane){ .f = type_round(c->types[count], c->in.f[count]) }
                                  : (Lane){ .i = c->in.i[count] };
        const Lane want = type_is_float(c->type) ? (Lane){ .f = c->f } : (Lane){ .i = c->i };
        const Lane got  = operator_apply(c->op, c->type, count, c->types, operands);
        char       name[80];
        snprintf(name, sizeof name, "case %zu (%s on %s)", k, expr_op_table[c->op].text, kn_type_name(c->types[0]));
        compare(name, c->type, want, got);
    }
}

/* ---- By 128-bit arithmetic ------------------------------------------------------------------- */

typedef __int128 Wide;

static Wide value_of(kn_type t, int64_t carrier)
{
    return t == KN_U64 ? (Wide)(uint64_t)carrier : (Wide)carrier;
}

/* The carrier of a number modulo 2^bits. */
static int64_t carrier_of(kn_type t, Wide v)
{
    const Wide modulus = (Wide)1 << type_bits(t);
    v %= modulus;
    if (v < 0)
        v += modulus;
    if (type_is_signed(t) && v >= modulus / 2)
        v -= modulus;
    return (int64_t)(uint64_t)v;
}

static Wide floor_half(Wide v)
{
    return v >= 0 ? v / 2 : -((1 - v) / 2);
}

static Wide wide_mod(Wide a, Wide b)
{
    if (b == 0)
        return 0;
    const Wide size = b < 0 ? -b : b, r = a % size;
    return r < 0 ? r + size : r;
}

static Wide wide_op(ExprOp op, Wide a, Wide b)
{
    switch (op) {
    case EX_ADD: return a + b;
    case EX_SUB: return a - b;
    case EX_MUL: return (Wide)((unsigned __int128)a * (unsigned __int128)b);
    case EX_DIV: return b ? (a - wide_mod(a, b)) / b : 0;
    case EX_MOD: return wide_mod(a, b);
    case EX_MIN: return a < b ? a : b;
    case EX_MAX: return a < b ? b : a;
    case EX_ABSD: return a < b ? b - a : a - b;
    case EX_AVG_UP: return floor_half(a + b + 1);
    case EX_AVG_DOWN: return floor_half(a + b);
    case EX_LT: return a < b;
    case EX_LE: return a <= b;
    case EX_EQ: return a == b;
    case EX_NE: return a != b;
    default: return 0;
    }
}

static void test_edges(void)
{
    static const ExprOp ops[] = { EX_ADD,  EX_SUB,    EX_MUL,      EX_DIV, EX_MOD, EX_MIN, EX_MAX,
                                  EX_ABSD, EX_AVG_UP, EX_AVG_DOWN, EX_LT,  EX_LE,  EX_EQ,  EX_NE };
    for (kn_type t = KN_U8; t <= KN_I64; t++) {
        const int64_t top = carrier_of(t, ((Wide)1 << (type_bits(t) - type_is_signed(t))) - 1), low = type_min(t);
        const int64_t edges[] = { low, low + 1, low + 2, low / 2, -3,      -2,      -1,      0,  1,
                                  2,   3,       7,       100,     top / 2, top - 2, top - 1, top };
        enum { EDGES = sizeof edges / sizeof *edges };
        for (int i = 0; i < EDGES * EDGES; i++) {
            const kn_type types[2]    = { t, t };
            const Lane    operands[2] = { { .i = carrier_of(t, edges[i / EDGES]) },
                                          { .i = carrier_of(t, edges[i % EDGES]) } };
            for (size_t k = 0; k < sizeof ops / sizeof *ops; k++) {
                const kn_type to   = ops[k] == EX_ABSD ? type_table[t].as_unsigned : ops[k] >= EX_LT ? KN_BOOL : t;
                const Wide    wide = wide_op(ops[k], value_of(t, operands[0].i), value_of(t, operands[1].i));
                const Lane    want = { .i = carrier_of(to, wide) };
                const Lane    got  = operator_apply(ops[k], to, 2, types, operands);
                char          name[80];
                snprintf(name, sizeof name, "%lld %s %lld on %s", (long long)operands[0].i, expr_op_table[ops[k]].text,
                         (long long)operands[1].i, kn_type_name(t));
                compare(name, to, want, got);
            }
        }
    }
}

/* Every operator that has a kernel takes any operands of any type it accepts, and stays in the type of its result. */
static void test_total(void)
{
    static const double values[] = { 0, 1, -1, 0.5, 1e30, -1e30, 300 };
    enum { VALUES = sizeof values / sizeof *values };
    for (int op = 0; op < EX_COUNT; op++)
        for (kn_type from = KN_BOOL; from < KN_TYPE_COUNT; from++)
            for (kn_type to = KN_BOOL; to < KN_TYPE_COUNT; to++) {
                const bool converts = op == EX_CAST || op == EX_SAT_CAST;
                if (!operator_kernel(op, from, to) || (!converts && from != to))
                    continue;
                for (int i = 0; i < VALUES * VALUES; i++) {
                    const kn_type any      = KN_F64;
                    const kn_type types[3] = { from, from, from };
                    Lane          operands[3];
                    for (int k = 0; k < 3; k++) {
                        const Lane v = { .f = values[k == 1 ? i / VALUES : i % VALUES] };
                        operands[k]  = operator_apply(EX_CAST, from, 1, &any, &v);
                    }
                    const Lane r = operator_apply(op, to, expr_op_table[op].arity, types, operands);
                    const Lane w =
                        type_is_float(to) ? (Lane){ .f = type_round(to, r.f) } : (Lane){ .i = type_wrap(to, r.i) };
                    compare(expr_op_table[op].name, to, w, r);
                }
            }
}

int main(void)
{
    test_by_hand();
    test_edges();
    test_total();
    return check_done();
}
