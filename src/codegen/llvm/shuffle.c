/* SPDX-License-Identifier: MIT */
/* Lanes of vectors taken apart, put together and interleaved. */
#include "codegen/llvm/llvm.h"

LLVMValueRef slice_lanes(Gen *g, LLVMValueRef v, int from, int count)
{
    LLVMValueRef places[MOST_VECTOR_LANES];
    for (int i = 0; i < count; i++)
        places[i] = i32_const(g, from + i);
    return LLVMBuildShuffleVector(g->b, v, LLVMGetPoison(LLVMTypeOf(v)), LLVMConstVector(places, (unsigned)count), "");
}

LLVMValueRef concat_lanes(Gen *g, LLVMValueRef a, LLVMValueRef b)
{
    LLVMValueRef   places[MOST_VECTOR_LANES];
    const unsigned count = LLVMGetVectorSize(LLVMTypeOf(a));
    for (unsigned i = 0; i < 2 * count; i++)
        places[i] = i32_const(g, i);
    return LLVMBuildShuffleVector(g->b, a, b, LLVMConstVector(places, 2 * count), "");
}

LLVMValueRef interleave_lanes(Gen *g, LLVMValueRef a, LLVMValueRef b, int piece, int half)
{
    const int    count = (int)LLVMGetVectorSize(LLVMTypeOf(a));
    LLVMValueRef places[MOST_VECTOR_LANES];
    for (int i = 0; i < count; i++)
        places[i] = i32_const(g, i / piece * piece + half * piece / 2 + i % piece / 2 + i % 2 * count);
    return LLVMBuildShuffleVector(g->b, a, b, LLVMConstVector(places, (unsigned)count), "");
}
