/* SPDX-License-Identifier: MIT */
/* The operators on scalars or lanes: a table of builders. Each gives the bits that interp/ops.c gives.
 *
 * Float operators of f16 and bf16 are built in f32. Where the program is not strict, sums and products may be
 * contracted to fused ones; nothing is ever reordered, and NaN and signed zeros keep their meaning. */
#include "codegen/llvm/llvm.h"

/* ---- Floats ---- */

/* The type that operations on e's first operand are computed in. */
static LLVMValueRef wide(Gen *g, const Expr *e, LLVMValueRef v)
{
    return widen_float(g, v, e->args[0]->type);
}

static LLVMValueRef contractable(Gen *g, const Expr *e, LLVMValueRef v)
{
    if (!g->program->strict_float && !e->strict && LLVMIsAInstruction(v) && LLVMCanValueUseFastMathFlags(v))
        LLVMSetFastMathFlags(v, LLVMFastMathAllowContract);
    return v;
}

static bool on_floats(const Expr *e)
{
    return type_is_float(e->args[0]->type);
}

static bool on_signed(const Expr *e)
{
    return type_is_signed(e->args[0]->type);
}

typedef LLVMValueRef Build2(LLVMBuilderRef b, LLVMValueRef x, LLVMValueRef y, const char *name);

static LLVMValueRef arithmetic(Gen *g, const Expr *e, LLVMValueRef *a, Build2 *ints, Build2 *floats)
{
    if (!on_floats(e))
        return ints(g->b, a[0], a[1], "");
    LLVMValueRef r = floats(g->b, wide(g, e, a[0]), wide(g, e, a[1]), "");
    return narrow_float(g, contractable(g, e, r), e->type);
}

static LLVMValueRef build_add(Gen *g, const Expr *e, LLVMValueRef *a)
{
    return arithmetic(g, e, a, LLVMBuildAdd, LLVMBuildFAdd);
}
static LLVMValueRef build_sub(Gen *g, const Expr *e, LLVMValueRef *a)
{
    return arithmetic(g, e, a, LLVMBuildSub, LLVMBuildFSub);
}
static LLVMValueRef build_mul(Gen *g, const Expr *e, LLVMValueRef *a)
{
    return arithmetic(g, e, a, LLVMBuildMul, LLVMBuildFMul);
}

static LLVMValueRef build_neg(Gen *g, const Expr *e, LLVMValueRef *a)
{
    if (!on_floats(e))
        return LLVMBuildNeg(g->b, a[0], "");
    return narrow_float(g, LLVMBuildFNeg(g->b, wide(g, e, a[0]), ""), e->type);
}

static const char *const float_functions[EX_COUNT] = {
    [EX_FLOOR] = "llvm.floor", [EX_CEIL] = "llvm.ceil", [EX_ROUND] = "llvm.rint",
    [EX_TRUNC] = "llvm.trunc", [EX_SQRT] = "llvm.sqrt", [EX_ABS] = "llvm.fabs",
};

static LLVMValueRef build_float_function(Gen *g, const Expr *e, LLVMValueRef *a)
{
    return narrow_float(g, intrinsic1(g, float_functions[e->op], wide(g, e, a[0])), e->type);
}

static LLVMValueRef build_rsqrt(Gen *g, const Expr *e, LLVMValueRef *a)
{
    LLVMValueRef root = intrinsic1(g, "llvm.sqrt", wide(g, e, a[0]));
    return narrow_float(g, LLVMBuildFDiv(g->b, float_like(LLVMTypeOf(root), 1), root, ""), e->type);
}

static LLVMValueRef build_fma(Gen *g, const Expr *e, LLVMValueRef *a)
{
    LLVMValueRef x[3] = { wide(g, e, a[0]), wide(g, e, a[1]), wide(g, e, a[2]) };
    LLVMTypeRef  type = LLVMTypeOf(x[0]);
    return narrow_float(g, intrinsic(g, "llvm.fma", 1, &type, 3, x), e->type);
}

/* ---- Division: Euclidean, total ---- */

/* floor(x / c) for c > 0: x or its complement is not negative, and floor(x/c) = ~(~x / c) for x < 0. */
LLVMValueRef floor_by_constant(Gen *g, LLVMValueRef x, int64_t c, int bits)
{
    LLVMTypeRef type = LLVMTypeOf(x);
    if (!(c & (c - 1)))
        return LLVMBuildAShr(g->b, x, int_like(type, __builtin_ctzll((uint64_t)c)), "");
    LLVMValueRef sign = LLVMBuildAShr(g->b, x, int_like(type, bits - 1), "");
    LLVMValueRef q    = LLVMBuildUDiv(g->b, LLVMBuildXor(g->b, x, sign, ""), int_like(type, c), "");
    return LLVMBuildXor(g->b, q, sign, "");
}

typedef struct Quotient {
    LLVMValueRef q, r;
} Quotient;

/* By a constant other than 0 and the least value. x / -c = -(x / c), with the same remainder. */
static Quotient divide_constant(Gen *g, LLVMValueRef x, int64_t c, int bits)
{
    LLVMTypeRef   type = LLVMTypeOf(x);
    const int64_t size = c < 0 ? -c : c;
    LLVMValueRef  q    = floor_by_constant(g, x, size, bits);
    LLVMValueRef  r    = size & (size - 1) ? LLVMBuildSub(g->b, x, LLVMBuildMul(g->b, q, int_like(type, size), ""), "")
                                           : LLVMBuildAnd(g->b, x, int_like(type, size - 1), "");
    return (Quotient){ c < 0 ? LLVMBuildNeg(g->b, q, "") : q, r };
}

/* By anything: 0 and -1 are divided by 1 instead and put right afterwards, so that nothing traps. */
static Quotient divide_signed(Gen *g, LLVMValueRef x, LLVMValueRef y)
{
    LLVMTypeRef  type = LLVMTypeOf(x);
    LLVMValueRef zero = LLVMConstNull(type), one = int_like(type, 1);
    LLVMValueRef special = LLVMBuildICmp(g->b, LLVMIntULE, LLVMBuildAdd(g->b, y, one, ""), one, "");
    LLVMValueRef by      = LLVMBuildSelect(g->b, special, one, y, "");
    LLVMValueRef q       = LLVMBuildSDiv(g->b, x, by, "");
    LLVMValueRef r       = LLVMBuildSub(g->b, x, LLVMBuildMul(g->b, q, by, ""), "");
    LLVMValueRef below   = LLVMBuildICmp(g->b, LLVMIntSLT, r, zero, "");
    LLVMValueRef upward  = LLVMBuildICmp(g->b, LLVMIntSGT, by, zero, "");
    LLVMValueRef step    = LLVMBuildSelect(g->b, upward, one, int_like(type, -1), "");
    LLVMValueRef size    = LLVMBuildSelect(g->b, upward, by, LLVMBuildNeg(g->b, by, ""), "");
    q                    = LLVMBuildSub(g->b, q, LLVMBuildSelect(g->b, below, step, zero, ""), "");
    r                    = LLVMBuildAdd(g->b, r, LLVMBuildSelect(g->b, below, size, zero, ""), "");
    return (Quotient){ LLVMBuildSelect(g->b, special, LLVMBuildMul(g->b, x, y, ""), q, ""),
                       LLVMBuildSelect(g->b, special, zero, r, "") };
}

static Quotient divide_unsigned(Gen *g, LLVMValueRef x, LLVMValueRef y)
{
    LLVMTypeRef  type = LLVMTypeOf(x);
    LLVMValueRef zero = LLVMConstNull(type);
    LLVMValueRef none = LLVMBuildICmp(g->b, LLVMIntEQ, y, zero, "");
    LLVMValueRef by   = LLVMBuildSelect(g->b, none, int_like(type, 1), y, "");
    LLVMValueRef q = LLVMBuildUDiv(g->b, x, by, ""), r = LLVMBuildURem(g->b, x, by, "");
    return (Quotient){ LLVMBuildSelect(g->b, none, zero, q, ""), LLVMBuildSelect(g->b, none, zero, r, "") };
}

static Quotient divide(Gen *g, const Expr *e, LLVMValueRef *a)
{
    const kn_type t = e->type;
    int64_t       c;
    if (!on_signed(e))
        return divide_unsigned(g, a[0], a[1]);
    if (expr_is_int(e->args[1], &c) && c && c != type_min(t))
        return divide_constant(g, a[0], c, type_bits(t));
    return divide_signed(g, a[0], a[1]);
}

static LLVMValueRef build_div(Gen *g, const Expr *e, LLVMValueRef *a)
{
    if (!on_floats(e))
        return divide(g, e, a).q;
    return narrow_float(g, LLVMBuildFDiv(g->b, wide(g, e, a[0]), wide(g, e, a[1]), ""), e->type);
}

static LLVMValueRef build_mod(Gen *g, const Expr *e, LLVMValueRef *a)
{
    return divide(g, e, a).r;
}

/* ---- Order ---- */

static LLVMValueRef compare(Gen *g, const Expr *e, LLVMValueRef *a, LLVMIntPredicate s, LLVMIntPredicate u,
                            LLVMRealPredicate f)
{
    if (on_floats(e))
        return LLVMBuildFCmp(g->b, f, wide(g, e, a[0]), wide(g, e, a[1]), "");
    return LLVMBuildICmp(g->b, on_signed(e) ? s : u, a[0], a[1], "");
}

static LLVMValueRef build_lt(Gen *g, const Expr *e, LLVMValueRef *a)
{
    return compare(g, e, a, LLVMIntSLT, LLVMIntULT, LLVMRealOLT);
}
static LLVMValueRef build_le(Gen *g, const Expr *e, LLVMValueRef *a)
{
    return compare(g, e, a, LLVMIntSLE, LLVMIntULE, LLVMRealOLE);
}
static LLVMValueRef build_eq(Gen *g, const Expr *e, LLVMValueRef *a)
{
    return compare(g, e, a, LLVMIntEQ, LLVMIntEQ, LLVMRealOEQ);
}
static LLVMValueRef build_ne(Gen *g, const Expr *e, LLVMValueRef *a)
{
    return compare(g, e, a, LLVMIntNE, LLVMIntNE, LLVMRealUNE);
}

/* a < b ? a : b, and the same with >: what NaN gives follows from that. */
static LLVMValueRef build_min(Gen *g, const Expr *e, LLVMValueRef *a)
{
    if (!on_floats(e))
        return intrinsic2(g, on_signed(e) ? "llvm.smin" : "llvm.umin", a[0], a[1]);
    return LLVMBuildSelect(g->b, LLVMBuildFCmp(g->b, LLVMRealOLT, wide(g, e, a[0]), wide(g, e, a[1]), ""), a[0], a[1],
                           "");
}

static LLVMValueRef build_max(Gen *g, const Expr *e, LLVMValueRef *a)
{
    if (!on_floats(e))
        return intrinsic2(g, on_signed(e) ? "llvm.smax" : "llvm.umax", a[0], a[1]);
    return LLVMBuildSelect(g->b, LLVMBuildFCmp(g->b, LLVMRealOGT, wide(g, e, a[0]), wide(g, e, a[1]), ""), a[0], a[1],
                           "");
}

static LLVMValueRef build_abs(Gen *g, const Expr *e, LLVMValueRef *a)
{
    if (on_floats(e))
        return build_float_function(g, e, a);
    return on_signed(e) ? intrinsic2(g, "llvm.abs", a[0], LLVMConstInt(g->t.i1, 0, false)) : a[0];
}

/* Of integers of 8 or 16 bits on a GPU, whose registers have 32. */
static LLVMValueRef build_absd_in_32(Gen *g, const Expr *e, LLVMValueRef *a)
{
    LLVMTypeRef  type = LLVMTypeOf(a[0]);
    LLVMValueRef wide[2];
    for (int i = 0; i < 2; i++)
        wide[i] = on_signed(e) ? LLVMBuildSExt(g->b, a[i], g->t.i32, "") : LLVMBuildZExt(g->b, a[i], g->t.i32, "");
    LLVMValueRef args[] = { LLVMBuildSub(g->b, wide[0], wide[1], ""), LLVMConstInt(g->t.i1, 0, false) };
    return LLVMBuildTrunc(g->b, intrinsic(g, "llvm.abs", 1, &g->t.i32, 2, args), type, "");
}

static LLVMValueRef build_absd(Gen *g, const Expr *e, LLVMValueRef *a)
{
    if (g->target->arch == ARCH_NVPTX && kn_type_size(e->type) < 4 && !g->lanes)
        return build_absd_in_32(g, e, a);
    LLVMValueRef high = intrinsic2(g, on_signed(e) ? "llvm.smax" : "llvm.umax", a[0], a[1]);
    LLVMValueRef low  = intrinsic2(g, on_signed(e) ? "llvm.smin" : "llvm.umin", a[0], a[1]);
    return LLVMBuildSub(g->b, high, low, "");
}

static LLVMValueRef build_select(Gen *g, const Expr *e, LLVMValueRef *a)
{
    (void)e;
    return LLVMBuildSelect(g->b, a[0], a[1], a[2], "");
}

/* ---- Bits ---- */

static LLVMValueRef build_and(Gen *g, const Expr *e, LLVMValueRef *a)
{
    (void)e;
    return LLVMBuildAnd(g->b, a[0], a[1], "");
}
static LLVMValueRef build_or(Gen *g, const Expr *e, LLVMValueRef *a)
{
    (void)e;
    return LLVMBuildOr(g->b, a[0], a[1], "");
}
static LLVMValueRef build_xor(Gen *g, const Expr *e, LLVMValueRef *a)
{
    (void)e;
    return LLVMBuildXor(g->b, a[0], a[1], "");
}
static LLVMValueRef build_not(Gen *g, const Expr *e, LLVMValueRef *a)
{
    (void)e;
    return LLVMBuildNot(g->b, a[0], "");
}

static LLVMValueRef build_popcount(Gen *g, const Expr *e, LLVMValueRef *a)
{
    return convert(g, intrinsic1(g, "llvm.ctpop", a[0]), type_table[e->args[0]->type].as_unsigned, e->type, false);
}

static LLVMValueRef build_clz(Gen *g, const Expr *e, LLVMValueRef *a)
{
    LLVMValueRef zeros = intrinsic2(g, "llvm.ctlz", a[0], LLVMConstInt(g->t.i1, 0, false));
    return convert(g, zeros, type_table[e->args[0]->type].as_unsigned, e->type, false);
}

/* (a + b + 1) >> 1 in a wider type is an instruction for unsigned bytes and words; elsewhere a + b = 2*(a | b) - (a ^
 * b). */
static LLVMValueRef build_avg_up(Gen *g, const Expr *e, LLVMValueRef *a)
{
    LLVMTypeRef type = LLVMTypeOf(a[0]);
    if (e->type == KN_U8 || e->type == KN_U16) {
        LLVMValueRef whole = arch_average(g, e->type, a[0], a[1]);
        if (whole)
            return whole;
        LLVMTypeRef  more = like(LLVMIntTypeInContext(g->cx, 2 * (unsigned)type_bits(e->type)), a[0]);
        LLVMValueRef sum =
            LLVMBuildAdd(g->b, LLVMBuildZExt(g->b, a[0], more, ""), LLVMBuildZExt(g->b, a[1], more, ""), "");
        sum = LLVMBuildAdd(g->b, sum, int_like(more, 1), "");
        return LLVMBuildTrunc(g->b, LLVMBuildLShr(g->b, sum, int_like(more, 1), ""), type, "");
    }
    LLVMValueRef half = LLVMBuildXor(g->b, a[0], a[1], "");
    half              = on_signed(e) ? LLVMBuildAShr(g->b, half, int_like(type, 1), "")
                                     : LLVMBuildLShr(g->b, half, int_like(type, 1), "");
    return LLVMBuildSub(g->b, LLVMBuildOr(g->b, a[0], a[1], ""), half, "");
}

static LLVMValueRef build_avg_down(Gen *g, const Expr *e, LLVMValueRef *a)
{
    LLVMTypeRef  type = LLVMTypeOf(a[0]);
    LLVMValueRef half = LLVMBuildXor(g->b, a[0], a[1], "");
    half              = on_signed(e) ? LLVMBuildAShr(g->b, half, int_like(type, 1), "")
                                     : LLVMBuildLShr(g->b, half, int_like(type, 1), "");
    return LLVMBuildAdd(g->b, LLVMBuildAnd(g->b, a[0], a[1], ""), half, "");
}

/* ---- Shifts: by any amount, a negative one the other way ---- */

/* x * 2^s by a constant: bits shifted out are gone, the sign (or 0) comes in. */
static LLVMValueRef shift_constant(Gen *g, LLVMValueRef x, int64_t s, int bits, bool is_signed)
{
    LLVMTypeRef type = LLVMTypeOf(x);
    if (s >= bits || (!is_signed && s <= -bits))
        return LLVMConstNull(type);
    if (s >= 0)
        return s ? LLVMBuildShl(g->b, x, int_like(type, s), "") : x;
    if (!is_signed)
        return LLVMBuildLShr(g->b, x, int_like(type, -s), "");
    return LLVMBuildAShr(g->b, x, int_like(type, s <= -bits ? bits - 1 : -s), "");
}

/* An amount of any integer type brought into -limit .. limit, as an integer like x. */
static LLVMValueRef shift_amount(Gen *g, LLVMValueRef s, kn_type t, LLVMValueRef x, int limit)
{
    LLVMTypeRef type = LLVMTypeOf(s), to = LLVMTypeOf(x);
    const int   most   = limit < type_max(t) ? limit : (int)type_max(t);
    LLVMTypeRef scalar = LLVMGetTypeKind(to) == LLVMVectorTypeKind ? LLVMGetElementType(to) : to;
    const int   bits   = (int)LLVMGetIntTypeWidth(scalar);
    if (type_is_signed(t)) {
        s = intrinsic2(g, "llvm.smin", s, int_like(type, most));
        s = intrinsic2(g, "llvm.smax", s, int_like(type, -most));
        return type_bits(t) < bits   ? LLVMBuildSExt(g->b, s, to, "")
               : type_bits(t) > bits ? LLVMBuildTrunc(g->b, s, to, "")
                                     : s;
    }
    s = intrinsic2(g, "llvm.umin", s, int_like(type, most));
    return type_bits(t) < bits   ? LLVMBuildZExt(g->b, s, to, "")
           : type_bits(t) > bits ? LLVMBuildTrunc(g->b, s, to, "")
                                 : s;
}

/* x << s for 0 <= s; 0 from `bits` on. */
static LLVMValueRef shift_left(Gen *g, LLVMValueRef x, LLVMValueRef s, int bits)
{
    LLVMTypeRef  type = LLVMTypeOf(x);
    LLVMValueRef fits = LLVMBuildICmp(g->b, LLVMIntULT, s, int_like(type, bits), "");
    LLVMValueRef safe = LLVMBuildSelect(g->b, fits, s, LLVMConstNull(type), "");
    return LLVMBuildSelect(g->b, fits, LLVMBuildShl(g->b, x, safe, ""), LLVMConstNull(type), "");
}

static LLVMValueRef shift_right(Gen *g, LLVMValueRef x, LLVMValueRef s, int bits, bool is_signed)
{
    LLVMTypeRef type = LLVMTypeOf(x);
    if (is_signed)
        return LLVMBuildAShr(g->b, x, intrinsic2(g, "llvm.umin", s, int_like(type, bits - 1)), "");
    LLVMValueRef fits = LLVMBuildICmp(g->b, LLVMIntULT, s, int_like(type, bits), "");
    LLVMValueRef safe = LLVMBuildSelect(g->b, fits, s, LLVMConstNull(type), "");
    return LLVMBuildSelect(g->b, fits, LLVMBuildLShr(g->b, x, safe, ""), LLVMConstNull(type), "");
}

/* Left by s where s >= 0, else right by -s. */
static LLVMValueRef shift_either(Gen *g, LLVMValueRef x, LLVMValueRef s, int bits, bool is_signed)
{
    LLVMValueRef left = LLVMBuildICmp(g->b, LLVMIntSGE, s, LLVMConstNull(LLVMTypeOf(s)), "");
    LLVMValueRef back = LLVMBuildNeg(g->b, s, "");
    return LLVMBuildSelect(g->b, left, shift_left(g, x, s, bits), shift_right(g, x, back, bits, is_signed), "");
}

/* The constant amount of a shift, within ±limit. */
static bool constant_amount(const Expr *s, int limit, int64_t *out)
{
    if (!expr_is_int(s, out))
        return false;
    if (s->type == KN_U64 && *out < 0)
        *out = limit;
    *out = *out > limit ? limit : *out < -limit ? -limit : *out;
    return true;
}

static LLVMValueRef build_shift(Gen *g, const Expr *e, LLVMValueRef *a, bool left)
{
    const kn_type amount = e->args[1]->type;
    const int     bits   = type_bits(e->type);
    int64_t       s;
    if (constant_amount(e->args[1], bits, &s))
        return shift_constant(g, a[0], left ? s : -s, bits, on_signed(e));
    LLVMValueRef n = shift_amount(g, a[1], amount, a[0], bits);
    if (type_is_signed(amount))
        return shift_either(g, a[0], left ? n : LLVMBuildNeg(g->b, n, ""), bits, on_signed(e));
    return left ? shift_left(g, a[0], n, bits) : shift_right(g, a[0], n, bits, on_signed(e));
}

static LLVMValueRef build_shl(Gen *g, const Expr *e, LLVMValueRef *a)
{
    return build_shift(g, e, a, true);
}
static LLVMValueRef build_shr(Gen *g, const Expr *e, LLVMValueRef *a)
{
    return build_shift(g, e, a, false);
}

/* (a * b) >> s with the whole product, of twice the width. */
static LLVMValueRef build_mul_shift(Gen *g, const Expr *e, LLVMValueRef *a)
{
    const bool  is_signed = on_signed(e);
    const int   bits      = type_bits(e->type);
    LLVMTypeRef type      = LLVMTypeOf(a[0]);
    LLVMTypeRef more      = like(LLVMIntTypeInContext(g->cx, 2 * (unsigned)bits), a[0]);
    int64_t     s;
    const bool  constant = constant_amount(e->args[2], 2 * bits, &s);
    if (bits == 16 && constant && s >= 16 && s < 32 && arch_can_multiply_high(g, e->type, lane_count(a[0]), false))
        return arch_multiply_high(g, e->type, a[0], a[1], (int)s, false);
    LLVMValueRef x[2];
    for (int i = 0; i < 2; i++)
        x[i] = is_signed ? LLVMBuildSExt(g->b, a[i], more, "") : LLVMBuildZExt(g->b, a[i], more, "");
    LLVMValueRef product = LLVMBuildMul(g->b, x[0], x[1], "");
    if (constant)
        return LLVMBuildTrunc(g->b, shift_constant(g, product, -s, 2 * bits, is_signed), type, "");
    LLVMValueRef n = shift_amount(g, a[2], e->args[2]->type, product, 2 * bits);
    product        = type_is_signed(e->args[2]->type)
                         ? shift_either(g, product, LLVMBuildNeg(g->b, n, ""), 2 * bits, is_signed)
                         : shift_right(g, product, n, 2 * bits, is_signed);
    return LLVMBuildTrunc(g->b, product, type, "");
}

/* ---- Conversions ---- */

static bool is_bounded(const Expr *e, ExprOp op, double by)
{
    return e->op == op && e->args[1]->op == EX_FLOAT && e->args[1]->u.f == by;
}

/* The cast of a float in a kernel that is brought to 0 and 255, by the instruction that does both; NULL: it is another.
 * A NaN is brought to 0. */
static LLVMValueRef build_byte(Gen *g, const Expr *e, LLVMValueRef v)
{
    const Expr *from = e->args[0];
    if (!g->kernel || from->type != KN_F32 || !type_is_int(e->type) || type_max(e->type) < 255 ||
        !is_bounded(from, EX_MIN, 255) || !is_bounded(from->args[0], EX_MAX, 0))
        return NULL;
    for (int i = 0; i < 2; i++) /* build_min, build_max */
        v = v && LLVMIsASelectInst(v) ? LLVMGetOperand(v, 1) : NULL;
    LLVMValueRef byte = v ? float_to_byte(g, v) : NULL;
    return !byte || type_bits(e->type) == 8 ? byte : LLVMBuildZExt(g->b, byte, value_type(g, e->type, 0), "");
}

static LLVMValueRef build_cast(Gen *g, const Expr *e, LLVMValueRef *a)
{
    const kn_type from = (kn_type)e->args[0]->type;
    LLVMValueRef  byte = build_byte(g, e, a[0]);
    if (byte)
        return byte;
    if (type_is_float(from) && (e->type == KN_I32 || e->type == KN_U32) && expr_clamped_within(e->args[0], KN_U16))
        return float_to_int_short(g, a[0], from, e->type);
    if (type_is_float(from) && type_is_int(e->type) && expr_clamped_within(e->args[0], e->type))
        return float_to_int_within(g, a[0], from, e->type);
    return convert(g, a[0], e->args[0]->type, e->type, false);
}

static LLVMValueRef build_sat_cast(Gen *g, const Expr *e, LLVMValueRef *a)
{
    if (type_is_float(e->args[0]->type))
        return build_cast(g, e, a);
    return convert(g, a[0], e->args[0]->type, e->type, true);
}

/* The same bits in memory. */
static LLVMValueRef build_reinterpret(Gen *g, const Expr *e, LLVMValueRef *a)
{
    LLVMValueRef v = to_memory(g, a[0], e->args[0]->type);
    return from_memory(g, LLVMBuildBitCast(g->b, v, like(memory_type(g, e->type), v), ""), e->type);
}

/* clang-format off */
Operator *const operator_table[EX_COUNT] = {
    [EX_CAST] = build_cast, [EX_SAT_CAST] = build_sat_cast, [EX_REINTERPRET] = build_reinterpret,
    [EX_NEG] = build_neg, [EX_ADD] = build_add, [EX_SUB] = build_sub, [EX_MUL] = build_mul, [EX_DIV] = build_div,
    [EX_MOD] = build_mod,
    [EX_MIN] = build_min, [EX_MAX] = build_max, [EX_ABS] = build_abs, [EX_ABSD] = build_absd,
    [EX_AVG_UP] = build_avg_up, [EX_AVG_DOWN] = build_avg_down, [EX_MUL_SHIFT] = build_mul_shift,
    [EX_POPCOUNT] = build_popcount, [EX_CLZ] = build_clz, [EX_SHL] = build_shl, [EX_SHR] = build_shr,
    [EX_BIT_AND] = build_and, [EX_BIT_OR] = build_or, [EX_BIT_XOR] = build_xor, [EX_BIT_NOT] = build_not,
    [EX_FLOOR] = build_float_function, [EX_CEIL] = build_float_function, [EX_ROUND] = build_float_function,
    [EX_TRUNC] = build_float_function, [EX_SQRT] = build_float_function, [EX_RSQRT] = build_rsqrt, [EX_FMA] = build_fma,
    [EX_LT] = build_lt, [EX_LE] = build_le, [EX_EQ] = build_eq, [EX_NE] = build_ne,
    [EX_AND] = build_and, [EX_OR] = build_or, [EX_SELECT] = build_select,
};
/* clang-format on */
