/* SPDX-License-Identifier: MIT */
/* Forms of code for kernels that LLVM or the driver's compiler gets wrong, put into others.
 *
 * Takes   the module of the kernels, optimized.
 * Gives   the same, in which no vector of bytes is loaded that is not aligned, and no loop ends by an unsigned test.
 * Holds   each instruction computes what it did.
 *
 * Loads: LLVM 19 makes one instruction of 16 bytes of every load of 16 bytes, whatever its alignment is. Kernels load
 * element by element where nothing is known; but of a masked load from an array of the thread LLVM makes a whole one.
 * Tests: LLVM writes i + 1 < 1 as i > 0x7ffffffe without sign. ptxas of CUDA 12.0 to 13.4, and drivers with the same,
 * write such a test of a loop as i + 1 > 0x7fffffff without sign, which is another where i is -1: the loop ends an
 * iteration too early. */
#include "codegen/llvm/llvm.h"

/* A load of bytes that has to be split? */
static bool is_misread(LLVMValueRef load)
{
    enum { WIDE = 16 };
    LLVMTypeRef type = LLVMTypeOf(load);
    if (LLVMGetTypeKind(type) != LLVMVectorTypeKind || LLVMGetTypeKind(LLVMGetElementType(type)) != LLVMIntegerTypeKind)
        return false;
    return LLVMGetIntTypeWidth(LLVMGetElementType(type)) == 8 && LLVMGetVectorSize(type) > WIDE / 2 &&
           LLVMGetAlignment(load) < WIDE;
}

static void copy_metadata(LLVMValueRef to, LLVMValueRef from, unsigned kind)
{
    LLVMValueRef data = LLVMGetMetadata(from, kind);
    if (data)
        LLVMSetMetadata(to, kind, data);
}

/* The same bytes one by one, each aligned as its place in the vector says. */
static LLVMValueRef load_bytes(Gen *g, LLVMValueRef load)
{
    LLVMTypeRef    type = LLVMTypeOf(load), byte = LLVMGetElementType(type);
    LLVMValueRef   all   = LLVMGetPoison(type);
    const unsigned align = LLVMGetAlignment(load);
    LLVMPositionBuilderBefore(g->b, load);
    for (unsigned i = 0; i < LLVMGetVectorSize(type); i++) {
        LLVMValueRef   by = i64_const(g, i), at = LLVMBuildGEP2(g->b, byte, LLVMGetOperand(load, 0), &by, 1, "");
        LLVMValueRef   v    = LLVMBuildLoad2(g->b, byte, at, "");
        const unsigned bits = align | i;
        LLVMSetAlignment(v, bits & (0 - bits));
        copy_metadata(v, load, g->kind_alias);
        copy_metadata(v, load, g->kind_noalias);
        copy_metadata(v, load, g->kind_invariant);
        all = LLVMBuildInsertElement(g->b, all, v, i32_const(g, (int)i), "");
    }
    return all;
}

/* Is it i > MAX - 1 without sign, of what a loop counts? */
static bool is_unsigned_end(LLVMValueRef test)
{
    LLVMValueRef i = LLVMGetOperand(test, 0), bound = LLVMGetOperand(test, 1);
    if (LLVMGetICmpPredicate(test) != LLVMIntUGT || !LLVMIsAPHINode(i) || !LLVMIsAConstantInt(bound))
        return false;
    const unsigned bits = LLVMGetIntTypeWidth(LLVMTypeOf(i));
    return bits <= 64 && LLVMConstIntGetZExtValue(bound) == ((uint64_t)INT64_MAX >> (64 - bits)) - 1;
}

static LLVMValueRef end_by_sign(Gen *g, LLVMValueRef test)
{
    LLVMValueRef i   = LLVMGetOperand(test, 0);
    LLVMValueRef one = int_like(LLVMTypeOf(i), 1);
    LLVMPositionBuilderBefore(g->b, test);
    return LLVMBuildICmp(g->b, LLVMIntSLT, LLVMBuildAdd(g->b, i, one, ""), one, "");
}

void avoid_faults(Gen *g)
{
    for (LLVMValueRef f = LLVMGetFirstFunction(g->module); f; f = LLVMGetNextFunction(f))
        for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(f); b; b = LLVMGetNextBasicBlock(b))
            for (LLVMValueRef i = LLVMGetFirstInstruction(b), next; i; i = next) {
                next                = LLVMGetNextInstruction(i);
                LLVMValueRef better = LLVMIsALoadInst(i) && is_misread(i)        ? load_bytes(g, i)
                                      : LLVMIsAICmpInst(i) && is_unsigned_end(i) ? end_by_sign(g, i)
                                                                                 : NULL;
                if (!better)
                    continue;
                LLVMReplaceAllUsesWith(i, better);
                LLVMInstructionEraseFromParent(i);
            }
}
