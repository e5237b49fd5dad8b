/* SPDX-License-Identifier: MIT */
/* Conversions between types, and between values and memory.
 *
 * bool is i1 as a value and a byte 0 or 1 in memory. f16 and bf16 are carried as their 16 bits: an operation widens
 * them to f32, exactly, and rounds its result, to nearest, ties to even. */
#include "codegen/llvm/llvm.h"

#include <math.h>
#include <string.h>

/* ---- Short floats ---- */

/* a ? x : y, lane by lane, as integers. */
static LLVMValueRef choose(Gen *g, LLVMValueRef a, LLVMValueRef x, LLVMValueRef y)
{
    return LLVMBuildSelect(g->b, a, x, y, "");
}

/* f16 to f32 without an instruction for it: the magnitude shifted into place is the number divided by 2^112; inf and
 * NaN keep their bits. */
static LLVMValueRef widen_half(Gen *g, LLVMValueRef v)
{
    LLVMTypeRef  i32 = like(g->t.i32, v), f32 = like(g->t.f32, v);
    LLVMValueRef bits = LLVMBuildZExt(g->b, v, i32, "");
    LLVMValueRef sign = LLVMBuildShl(g->b, LLVMBuildAnd(g->b, bits, int_like(i32, 0x8000), ""), int_like(i32, 16), "");
    LLVMValueRef size = LLVMBuildShl(g->b, LLVMBuildAnd(g->b, bits, int_like(i32, 0x7FFF), ""), int_like(i32, 13), "");
    LLVMValueRef scaled = LLVMBuildFMul(g->b, LLVMBuildBitCast(g->b, size, f32, ""), float_like(f32, 0x1p112), "");
    LLVMValueRef large  = LLVMBuildICmp(g->b, LLVMIntUGE, size, int_like(i32, 0x7C00 << 13), "");
    size                = choose(g, large, LLVMBuildOr(g->b, size, int_like(i32, 0x7F800000), ""),
                                 LLVMBuildBitCast(g->b, scaled, i32, ""));
    return LLVMBuildBitCast(g->b, LLVMBuildOr(g->b, size, sign, ""), f32, "");
}

/* f32 to f16 without an instruction for it. Normal results: the exponent moved by 112, and rounded as round_bfloat
 * does; small ones: adding 1/2 leaves their bits, rounded, at the end of the sum; from 65536 on there is only inf, or
 * NaN. */
static LLVMValueRef narrow_half(Gen *g, LLVMValueRef v)
{
    LLVMTypeRef  i32 = like(g->t.i32, v), f32 = LLVMTypeOf(v);
    LLVMValueRef bits  = LLVMBuildBitCast(g->b, v, i32, "");
    LLVMValueRef size  = LLVMBuildAnd(g->b, bits, int_like(i32, 0x7FFFFFFF), "");
    LLVMValueRef sign  = LLVMBuildLShr(g->b, LLVMBuildXor(g->b, bits, size, ""), int_like(i32, 16), "");
    LLVMValueRef odd   = LLVMBuildAnd(g->b, LLVMBuildLShr(g->b, size, int_like(i32, 13), ""), int_like(i32, 1), "");
    LLVMValueRef whole = LLVMBuildAdd(g->b, LLVMBuildAdd(g->b, size, int_like(i32, 0xFFF - (112 << 23)), ""), odd, "");
    LLVMValueRef small = LLVMBuildFAdd(g->b, LLVMBuildBitCast(g->b, size, f32, ""), float_like(f32, 0.5), "");
    whole              = LLVMBuildLShr(g->b, whole, int_like(i32, 13), "");
    small              = LLVMBuildSub(g->b, LLVMBuildBitCast(g->b, small, i32, ""), int_like(i32, 0x3F000000), "");
    LLVMValueRef large = choose(g, LLVMBuildICmp(g->b, LLVMIntUGT, size, int_like(i32, 0x7F800000), ""),
                                int_like(i32, 0x7E00), int_like(i32, 0x7C00));
    LLVMValueRef r     = choose(g, LLVMBuildICmp(g->b, LLVMIntULT, size, int_like(i32, 0x38800000), ""), small, whole);
    r                  = choose(g, LLVMBuildICmp(g->b, LLVMIntUGE, size, int_like(i32, 0x47800000), ""), large, r);
    return LLVMBuildTrunc(g->b, LLVMBuildOr(g->b, r, sign, ""), like(g->t.i16, v), "");
}

LLVMValueRef widen_float(Gen *g, LLVMValueRef v, kn_type t)
{
    if (t == KN_F16 && !arch_converts_half(g))
        return widen_half(g, v);
    if (t == KN_F16)
        return LLVMBuildFPExt(g->b, LLVMBuildBitCast(g->b, v, like(LLVMHalfTypeInContext(g->cx), v), ""),
                              like(g->t.f32, v), "");
    if (t != KN_BF16)
        return v;
    LLVMTypeRef i32 = like(g->t.i32, v);
    v               = LLVMBuildShl(g->b, LLVMBuildZExt(g->b, v, i32, ""), int_like(i32, 16), "");
    return LLVMBuildBitCast(g->b, v, like(g->t.f32, v), "");
}

/* The upper half, after adding just less than half of its unit, or half of it if it is odd. A NaN keeps a bit. */
static LLVMValueRef round_bfloat(Gen *g, LLVMValueRef v)
{
    LLVMTypeRef  i32  = like(g->t.i32, v);
    LLVMValueRef bits = LLVMBuildBitCast(g->b, v, i32, "");
    LLVMValueRef odd  = LLVMBuildAnd(g->b, LLVMBuildLShr(g->b, bits, int_like(i32, 16), ""), int_like(i32, 1), "");
    LLVMValueRef up   = LLVMBuildAdd(g->b, LLVMBuildAdd(g->b, bits, int_like(i32, 0x7FFF), ""), odd, "");
    LLVMValueRef nan  = LLVMBuildFCmp(g->b, LLVMRealUNO, v, v, "");
    up                = choose(g, nan, LLVMBuildOr(g->b, bits, int_like(i32, 0x400000), ""), up);
    return LLVMBuildTrunc(g->b, LLVMBuildLShr(g->b, up, int_like(i32, 16), ""), like(g->t.i16, v), "");
}

LLVMValueRef narrow_float(Gen *g, LLVMValueRef v, kn_type t)
{
    if (t == KN_BF16)
        return round_bfloat(g, v);
    if (t != KN_F16)
        return v;
    if (!arch_converts_half(g))
        return narrow_half(g, v);
    v = LLVMBuildFPTrunc(g->b, v, like(LLVMHalfTypeInContext(g->cx), v), "");
    return LLVMBuildBitCast(g->b, v, like(g->t.i16, v), "");
}

/* f64 to f32 by rounding to odd: what is not exact goes to the neighbour whose last bit is 1, so that rounding once
 * more, to a much shorter float, is as if it were done at once (Boldo and Melquiond, "Emulation of a FMA and correctly
 * rounded sums: proved algorithms using rounding to odd", 2008). */
static LLVMValueRef round_to_odd(Gen *g, LLVMValueRef v)
{
    LLVMTypeRef  f32 = like(g->t.f32, v), f64 = like(g->t.f64, v), i32 = like(g->t.i32, v);
    LLVMValueRef near    = LLVMBuildFPTrunc(g->b, v, f32, "");
    LLVMValueRef back    = LLVMBuildFPExt(g->b, near, f64, "");
    LLVMValueRef bits    = LLVMBuildBitCast(g->b, near, i32, "");
    LLVMValueRef inexact = LLVMBuildFCmp(g->b, LLVMRealONE, back, v, "");
    LLVMValueRef beyond =
        LLVMBuildFCmp(g->b, LLVMRealOGT, intrinsic1(g, "llvm.fabs", back), intrinsic1(g, "llvm.fabs", v), "");
    LLVMValueRef toward = LLVMBuildSub(g->b, bits, LLVMBuildZExt(g->b, beyond, i32, ""), "");
    LLVMValueRef odd    = LLVMBuildOr(g->b, toward, int_like(i32, 1), "");
    return LLVMBuildBitCast(g->b, choose(g, inexact, odd, bits), f32, "");
}

/* ---- Conversions ---- */

static LLVMValueRef float_to_float(Gen *g, LLVMValueRef v, kn_type from, kn_type to)
{
    if (from == to)
        return v;
    if (from == KN_F64 && type_bits(to) == 16)
        return narrow_float(g, round_to_odd(g, v), to);
    v = widen_float(g, v, from);
    if (to == KN_F64)
        return LLVMBuildFPExt(g->b, v, like(g->t.f64, v), "");
    if (from == KN_F64)
        v = LLVMBuildFPTrunc(g->b, v, like(g->t.f32, v), "");
    return narrow_float(g, v, to);
}

static LLVMValueRef int_to_float(Gen *g, LLVMValueRef v, kn_type from, kn_type to)
{
    LLVMTypeRef type = like(to == KN_F64 ? g->t.f64 : g->t.f32, v);
    v                = type_is_signed(from) ? LLVMBuildSIToFP(g->b, v, type, "") : LLVMBuildUIToFP(g->b, v, type, "");
    return narrow_float(g, v, to);
}

/* In a kernel, of a float from 0 to 65535: the sum with 2^23, rounded toward zero, has it in its last bits. A GPU adds
 * twice as fast as it converts. NULL: this is none. */
static LLVMValueRef whole_by_sum(Gen *g, LLVMValueRef v)
{
    if (!g->kernel || LLVMTypeOf(v) != g->t.f32)
        return NULL;
    LLVMValueRef args[2] = { v, float_like(g->t.f32, 0x1p23) };
    return LLVMBuildBitCast(g->b, intrinsic(g, "llvm.nvvm.add.rz.f", 0, NULL, 2, args), g->t.i32, "");
}

/* In a kernel, any float brought into a byte, a NaN to 0, by the one instruction for it. NULL: this is none. */
LLVMValueRef float_to_byte(Gen *g, LLVMValueRef v)
{
    static const char        text[] = "cvt.rzi.u8.f32 $0, $1;", operands[] = "=r,f";
    static const char *const plain[] = { "memory", "nounwind", "willreturn" };
    if (!g->kernel || LLVMTypeOf(v) != g->t.f32)
        return NULL;
    LLVMTypeRef  type = LLVMFunctionType(g->t.i32, &g->t.f32, 1, false);
    LLVMValueRef cvt  = LLVMGetInlineAsm(type, text, sizeof text - 1, operands, sizeof operands - 1, false, false,
                                         LLVMInlineAsmDialectATT, false);
    LLVMValueRef byte = LLVMBuildCall2(g->b, type, cvt, &v, 1, "");
    for (int i = 0; i < 3; i++) { /* accesses of memory may be joined across it */
        const unsigned kind = LLVMGetEnumAttributeKindForName(plain[i], strlen(plain[i]));
        LLVMAddCallSiteAttribute(byte, LLVMAttributeFunctionIndex, LLVMCreateEnumAttribute(g->cx, kind, 0));
    }
    return LLVMBuildTrunc(g->b, byte, g->t.i8, "");
}

/* To 32 bits. */
LLVMValueRef float_to_int_short(Gen *g, LLVMValueRef v, kn_type from, kn_type to)
{
    LLVMValueRef sum = whole_by_sum(g, widen_float(g, v, from));
    return sum ? LLVMBuildAnd(g->b, sum, i32_const(g, 0xFFFF), "") : float_to_int_within(g, v, from, to);
}

/* Of what lies within a type of at most 32 bits. */
LLVMValueRef float_to_int_within(Gen *g, LLVMValueRef v, kn_type from, kn_type to)
{
    v                = widen_float(g, v, from);
    LLVMValueRef sum = to == KN_U8 || to == KN_U16 ? whole_by_sum(g, v) : NULL;
    if (sum)
        return LLVMBuildTrunc(g->b, sum, value_type(g, to, 0), "");
    if (to == KN_U32)
        return LLVMBuildFPToUI(g->b, v, like(g->t.i32, v), "");
    LLVMValueRef n = LLVMBuildFPToSI(g->b, v, like(g->t.i32, v), "");
    if (to == KN_I32)
        return n;
    /* it says again what is known, which LLVM makes packs of */
    LLVMTypeRef i32 = LLVMTypeOf(n);
    n               = intrinsic2(g, "llvm.smin", intrinsic2(g, "llvm.smax", n, int_like(i32, type_min(to))),
                                 int_like(i32, type_max(to)));
    return LLVMBuildTrunc(g->b, n, like(value_type(g, to, 0), v), "");
}

/* To fewer than 32 bits: brought into the range first, in which a NaN becomes its lower end. */
static LLVMValueRef float_to_small(Gen *g, LLVMValueRef v, kn_type to)
{
    LLVMTypeRef  type = LLVMTypeOf(v);
    LLVMValueRef byte = to == KN_U8 ? float_to_byte(g, v) : NULL;
    if (byte)
        return byte;
    LLVMValueRef low = float_like(type, (double)type_min(to)), high = float_like(type, (double)type_max(to));
    LLVMValueRef in = choose(g, LLVMBuildFCmp(g->b, LLVMRealOGT, v, low, ""), v, low);
    in              = choose(g, LLVMBuildFCmp(g->b, LLVMRealOLT, in, high, ""), in, high);
    if (type_is_signed(to))
        in = choose(g, LLVMBuildFCmp(g->b, LLVMRealUNO, v, v, ""), LLVMConstNull(type), in);
    return float_to_int_within(g, in, KN_F32, to);
}

/* Toward zero; beyond the type its nearest value; NaN gives 0. LLVM has this as one operation, but does it lane by
 * lane. What is out of range converts to whatever it may be, and is replaced. */
static LLVMValueRef float_to_int(Gen *g, LLVMValueRef v, kn_type from, kn_type to)
{
    v = widen_float(g, v, from);
    if (type_bits(to) < 32)
        return float_to_small(g, v, to);
    LLVMTypeRef  type = LLVMTypeOf(v), result = like(value_type(g, to, 0), v);
    const bool   is_signed = type_is_signed(to);
    const double beyond    = ldexp(1.0, type_bits(to) - is_signed);
    LLVMValueRef most      = is_signed ? int_like(result, type_max(to)) : LLVMConstAllOnes(result);
    LLVMValueRef n         = is_signed ? LLVMBuildFPToSI(g->b, v, result, "") : LLVMBuildFPToUI(g->b, v, result, "");
    n                      = LLVMBuildFreeze(g->b, n, "");
    n                      = choose(g, LLVMBuildFCmp(g->b, LLVMRealOGE, v, float_like(type, beyond), ""), most, n);
    n = choose(g, LLVMBuildFCmp(g->b, LLVMRealULT, v, float_like(type, is_signed ? -beyond : 0.0), ""),
               int_like(result, type_min(to)), n);
    return is_signed ? choose(g, LLVMBuildFCmp(g->b, LLVMRealUNO, v, v, ""), LLVMConstNull(result), n) : n;
}

/* Wrapped, or brought into the range of `to` first. */
static LLVMValueRef int_to_int(Gen *g, LLVMValueRef v, kn_type from, kn_type to, bool saturate)
{
    LLVMTypeRef type      = LLVMTypeOf(v);
    const bool  is_signed = type_is_signed(from);
    if (saturate && is_signed && type_min(to) > type_min(from))
        v = intrinsic2(g, "llvm.smax", v, int_like(type, type_min(to)));
    const int magnitude_from = type_bits(from) - is_signed, magnitude_to = type_bits(to) - type_is_signed(to);
    if (saturate && magnitude_to < magnitude_from)
        v = intrinsic2(g, is_signed ? "llvm.smin" : "llvm.umin", v, int_like(type, type_max(to)));
    if (type_bits(to) == type_bits(from))
        return v;
    LLVMTypeRef target = like(value_type(g, to, 0), v);
    if (type_bits(to) < type_bits(from))
        return LLVMBuildTrunc(g->b, v, target, "");
    return is_signed ? LLVMBuildSExt(g->b, v, target, "") : LLVMBuildZExt(g->b, v, target, "");
}

LLVMValueRef convert(Gen *g, LLVMValueRef v, kn_type from, kn_type to, bool saturate)
{
    if (from == to)
        return v;
    if (type_is_float(from)) {
        if (to == KN_BOOL) {
            v = widen_float(g, v, from);
            return LLVMBuildFCmp(g->b, LLVMRealUNE, v, LLVMConstNull(LLVMTypeOf(v)), "");
        }
        return type_is_float(to) ? float_to_float(g, v, from, to) : float_to_int(g, v, from, to);
    }
    if (type_is_float(to))
        return int_to_float(g, v, from, to);
    if (to == KN_BOOL)
        return LLVMBuildICmp(g->b, LLVMIntNE, v, LLVMConstNull(LLVMTypeOf(v)), "");
    return int_to_int(g, v, from, to, saturate);
}

/* ---- Memory ---- */

LLVMValueRef from_memory(Gen *g, LLVMValueRef v, kn_type t)
{
    return t == KN_BOOL ? LLVMBuildICmp(g->b, LLVMIntNE, v, LLVMConstNull(LLVMTypeOf(v)), "") : v;
}

LLVMValueRef to_memory(Gen *g, LLVMValueRef v, kn_type t)
{
    return t == KN_BOOL ? LLVMBuildZExt(g->b, v, like(g->t.i8, v), "") : v;
}
