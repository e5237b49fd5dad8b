/* SPDX-License-Identifier: MIT */
/* Values and their shapes: what is made of two, and lanes spelt out. */
#include "codegen/llvm/llvm.h"

ShapedValue value_constant(Gen *g, LLVMValueRef v)
{
    return (ShapedValue){ .v = v, .shape = UNIFORM, .level = g->f->base, .named = g->f->base, .pure = true };
}

ShapedValue value_merge(ShapedValue a, const ShapedValue *b)
{
    a.level = a.level > b->level ? a.level : b->level;
    a.named = a.named > b->named ? a.named : b->named;
    a.pure  = a.pure && b->pure;
    return a;
}

LLVMValueRef value_lanes(Gen *g, ShapedValue v, int lanes)
{
    if (v.shape == LANES || (!lanes && v.shape == UNIFORM))
        return v.v;
    if (!lanes)
        gen_fail(g, "a value that differs from lane to lane stands outside a vector loop");
    at_level(g, v.level);
    LLVMValueRef all = splat(g, v.v, lanes);
    if (v.shape == UNIFORM)
        return all;
    LLVMValueRef steps[MOST_VECTOR_LANES];
    LLVMTypeRef  type = LLVMTypeOf(v.v);
    for (int i = 0; i < lanes; i++)
        steps[i] = LLVMConstInt(type, (uint64_t)v.step * (uint64_t)i, true);
    return LLVMBuildAdd(g->b, all, LLVMConstVector(steps, (unsigned)lanes), "");
}
