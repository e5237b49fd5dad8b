/* SPDX-License-Identifier: MIT */
/* LLVM's types for ours, constants in any number of lanes, and intrinsics by name. */
#include "codegen/llvm/llvm.h"

#include <string.h>

LLVMTypeRef with_lanes(LLVMTypeRef scalar, int lanes)
{
    return lanes ? LLVMVectorType(scalar, (unsigned)lanes) : scalar;
}

LLVMTypeRef value_type(Gen *g, kn_type t, int lanes)
{
    LLVMTypeRef scalar = t == KN_F32   ? g->t.f32
                         : t == KN_F64 ? g->t.f64
                                       : LLVMIntTypeInContext(g->cx, (unsigned)type_bits(t));
    return with_lanes(scalar, lanes);
}

LLVMTypeRef memory_type(Gen *g, kn_type t)
{
    return t == KN_BOOL ? g->t.i8 : value_type(g, t, 0);
}

static bool is_vector(LLVMTypeRef t)
{
    return LLVMGetTypeKind(t) == LLVMVectorTypeKind;
}

LLVMTypeRef like(LLVMTypeRef scalar, LLVMValueRef v)
{
    LLVMTypeRef t = LLVMTypeOf(v);
    return is_vector(t) ? LLVMVectorType(scalar, LLVMGetVectorSize(t)) : scalar;
}

int lane_count(LLVMValueRef v)
{
    LLVMTypeRef t = LLVMTypeOf(v);
    return is_vector(t) ? (int)LLVMGetVectorSize(t) : 0;
}

/* A constant of every lane. */
static LLVMValueRef repeated(LLVMTypeRef type, LLVMValueRef element)
{
    LLVMValueRef   all[MOST_VECTOR_LANES];
    const unsigned n = LLVMGetVectorSize(type);
    for (unsigned i = 0; i < n; i++)
        all[i] = element;
    return LLVMConstVector(all, n);
}

LLVMValueRef int_like(LLVMTypeRef type, int64_t v)
{
    if (!is_vector(type))
        return LLVMConstInt(type, (uint64_t)v, true);
    return repeated(type, LLVMConstInt(LLVMGetElementType(type), (uint64_t)v, true));
}

LLVMValueRef float_like(LLVMTypeRef type, double v)
{
    if (!is_vector(type))
        return LLVMConstReal(type, v);
    return repeated(type, LLVMConstReal(LLVMGetElementType(type), v));
}

LLVMValueRef splat(Gen *g, LLVMValueRef scalar, int lanes)
{
    LLVMTypeRef type = LLVMVectorType(LLVMTypeOf(scalar), (unsigned)lanes);
    if (LLVMIsConstant(scalar))
        return repeated(type, scalar);
    LLVMValueRef one = LLVMBuildInsertElement(g->b, LLVMGetPoison(type), scalar, i32_const(g, 0), "");
    return LLVMBuildShuffleVector(g->b, one, LLVMGetPoison(type),
                                  LLVMConstNull(LLVMVectorType(g->t.i32, (unsigned)lanes)), "");
}

LLVMValueRef i32_const(Gen *g, int64_t v)
{
    return LLVMConstInt(g->t.i32, (uint64_t)v, true);
}

LLVMValueRef i64_const(Gen *g, int64_t v)
{
    return LLVMConstInt(g->t.i64, (uint64_t)v, true);
}

LLVMValueRef text_const(Gen *g, const char *text, size_t size)
{
    LLVMValueRef bytes = LLVMConstStringInContext(g->cx, text, (unsigned)size, true);
    LLVMValueRef it    = LLVMAddGlobal(g->module, LLVMTypeOf(bytes), "text");
    LLVMSetInitializer(it, bytes);
    LLVMSetLinkage(it, LLVMPrivateLinkage);
    LLVMSetGlobalConstant(it, true);
    LLVMSetUnnamedAddress(it, LLVMGlobalUnnamedAddr);
    LLVMSetAlignment(it, 1);
    return it;
}

LLVMValueRef intrinsic(Gen *g, const char *name, int type_count, LLVMTypeRef *types, int count, LLVMValueRef *args)
{
    const unsigned id = LLVMLookupIntrinsicID(name, strlen(name));
    if (!id)
        gen_fail(g, "this LLVM has no %s", name);
    LLVMValueRef f    = LLVMGetIntrinsicDeclaration(g->module, id, types, (size_t)type_count);
    LLVMTypeRef  type = LLVMIntrinsicGetType(g->cx, id, types, (size_t)type_count);
    return LLVMBuildCall2(g->b, type, f, args, (unsigned)count, "");
}

LLVMValueRef intrinsic1(Gen *g, const char *name, LLVMValueRef a)
{
    LLVMTypeRef type = LLVMTypeOf(a);
    return intrinsic(g, name, 1, &type, 1, &a);
}

LLVMValueRef intrinsic2(Gen *g, const char *name, LLVMValueRef a, LLVMValueRef b)
{
    LLVMTypeRef type = LLVMTypeOf(a);
    return intrinsic(g, name, 1, &type, 2, (LLVMValueRef[]){ a, b });
}

LLVMValueRef any_lane(Gen *g, LLVMValueRef bools)
{
    return is_vector(LLVMTypeOf(bools)) ? intrinsic1(g, "llvm.vector.reduce.or", bools) : bools;
}

LLVMValueRef extern_function(Gen *g, const char *name, LLVMTypeRef type)
{
    LLVMValueRef f = LLVMGetNamedFunction(g->module, name);
    if (!f) {
        f                       = LLVMAddFunction(g->module, name, type);
        const unsigned nounwind = LLVMGetEnumAttributeKindForName("nounwind", 8);
        LLVMAddAttributeAtIndex(f, (LLVMAttributeIndex)LLVMAttributeFunctionIndex,
                                LLVMCreateEnumAttribute(g->cx, nounwind, 0));
    }
    return f;
}
