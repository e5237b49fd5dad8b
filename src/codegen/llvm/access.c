/* SPDX-License-Identifier: MIT */
/* Pointers and accesses of a known address: one element, or one for each lane; checked where that is asked for. */
#include "codegen/llvm/llvm.h"

#include <stdio.h>

LLVMValueRef buffer_base(Gen *g, const Buffer *b)
{
    BufferState *state = &g->f->buffers[b->id];
    if (state->base)
        return state->base;
    if (b->kind == BUFFER_SCRATCH)
        gen_fail(g, "the lowered program uses `%s` outside its allocation", b->name);
    at_level(g, g->f->base);
    LLVMValueRef at = LLVMBuildInBoundsGEP2(
        g->b, g->t.buffer, g->f->used, (LLVMValueRef[]){ i32_const(g, b->id), i32_const(g, BUFFER_FIELD_DATA) }, 2, "");
    state->base  = LLVMBuildLoad2(g->b, g->t.ptr, at, b->name);
    state->level = g->f->base;
    return state->base;
}

LLVMValueRef port_field_address(Gen *g, const Buffer *b, int dim, int field)
{
    return LLVMBuildInBoundsGEP2(
        g->b, g->t.buffer, g->f->used,
        (LLVMValueRef[]){ i32_const(g, b->id), i32_const(g, BUFFER_FIELD_DIM), i32_const(g, dim), i32_const(g, field) },
        4, "");
}

LLVMValueRef mark_access(Gen *g, const Buffer *b, LLVMValueRef access)
{
    LLVMSetMetadata(access, g->kind_alias, LLVMMetadataAsValue(g->cx, g->alias_scope[b->id]));
    if (g->alias_others[b->id])
        LLVMSetMetadata(access, g->kind_noalias, LLVMMetadataAsValue(g->cx, g->alias_others[b->id]));
    return access;
}

/* A vector in a kernel, element by element. LLVM joins those of which it knows that they are aligned; of a vector that
 * is not, LLVM 19 reads bytes by words. */
static LLVMValueRef load_elements(Gen *g, const Buffer *b, LLVMValueRef ptr, LLVMTypeRef type)
{
    LLVMTypeRef  element = memory_type(g, b->type);
    LLVMValueRef all     = LLVMGetPoison(type);
    for (unsigned i = 0; i < LLVMGetVectorSize(type); i++) {
        LLVMValueRef by = i64_const(g, i), at = LLVMBuildGEP2(g->b, element, ptr, &by, 1, "");
        all = LLVMBuildInsertElement(g->b, all, load_element(g, b, at, element), i32_const(g, (int)i), "");
    }
    return all;
}

LLVMValueRef load_element(Gen *g, const Buffer *b, LLVMValueRef ptr, LLVMTypeRef type)
{
    if (g->kernel && LLVMGetTypeKind(type) == LLVMVectorTypeKind)
        return load_elements(g, b, ptr, type);
    LLVMValueRef v = LLVMBuildLoad2(g->b, type, ptr, "");
    LLVMSetAlignment(v, (unsigned)kn_type_size(b->type));
    if (g->f->buffers[b->id].constant && !g->stays)
        LLVMSetMetadata(v, g->kind_invariant, LLVMMetadataAsValue(g->cx, g->empty));
    return mark_access(g, b, v);
}

LLVMValueRef store_element(Gen *g, const Buffer *b, LLVMValueRef v, LLVMValueRef ptr)
{
    LLVMValueRef store = LLVMBuildStore(g->b, v, ptr);
    LLVMSetAlignment(store, (unsigned)kn_type_size(b->type));
    return mark_access(g, b, store);
}

/* ---- Pointers ---- */

LLVMValueRef address_pointer(Gen *g, const Address *a, int64_t offset)
{
    const int64_t constant = (int64_t)((uint64_t)a->constant + (uint64_t)offset);
    LLVMValueRef  by       = i64_const(g, constant);
    at_level(g, a->level);
    return constant ? LLVMBuildGEP2(g->b, memory_type(g, a->buffer->type), a->ptr, &by, 1, "") : a->ptr;
}

/* Element 0 lies at a multiple of 16 bytes, and the terms of an index are multiples of their factors. LLVM would find
 * that out of short sums only. */
void address_align(Gen *g, const Address *a, int64_t offset, LLVMValueRef access)
{
    enum { MOST_BYTES = 16 };
    const uint64_t size = kn_type_size(a->buffer->type);
    const uint64_t bits = (a->factors | ((uint64_t)a->constant + (uint64_t)offset)) * size | MOST_BYTES;
    if (g->kernel && !a->lanes)
        LLVMSetAlignment(access, (unsigned)(bits & (0 - bits)));
}

/* <L x i64>: what each lane adds to the pointer. */
static LLVMValueRef lane_indices(Gen *g, const Address *a)
{
    LLVMValueRef constant[MOST_VECTOR_LANES];
    for (int i = 0; i < g->lanes; i++)
        constant[i] = i64_const(g, (int64_t)((uint64_t)a->constant + (uint64_t)(a->offsets ? a->offsets[i] : 0)));
    LLVMValueRef all = LLVMConstVector(constant, (unsigned)g->lanes);
    at_level(g, a->level);
    return a->lanes ? LLVMBuildAdd(g->b, a->lanes, all, "") : all;
}

/* A constant of all lanes goes to the pointer: pointer and i32 lanes are what gather instructions take. */
LLVMValueRef address_lanes(Gen *g, const Address *a)
{
    const bool   plain = a->lanes && !a->offsets;
    LLVMValueRef ptr = plain ? address_pointer(g, a, 0) : a->ptr, by = plain ? a->lanes : lane_indices(g, a);
    at_level(g, a->level);
    return LLVMBuildGEP2(g->b, memory_type(g, a->buffer->type), ptr, &by, 1, "");
}

/* Lanes without the conversions that widened them; `is_signed`: how each is widened again. */
static LLVMValueRef narrow_lanes(LLVMValueRef lanes, bool *is_signed)
{
    *is_signed = true;
    while ((LLVMIsASExtInst(lanes) && *is_signed) || LLVMIsAZExtInst(lanes)) {
        *is_signed = LLVMIsASExtInst(lanes);
        lanes      = LLVMGetOperand(lanes, 0);
    }
    return lanes;
}

/* What one lane adds to the pointer, as i64. Moving lanes to scalar registers is dear: those of less than 64 bits are
 * moved several at once, and shifted there. */
static LLVMValueRef lane_index(Gen *g, LLVMValueRef lanes, int lane)
{
    bool         is_signed;
    LLVMValueRef narrow = narrow_lanes(lanes, &is_signed);
    LLVMTypeRef  type   = LLVMGetElementType(LLVMTypeOf(narrow));
    const int    bits = (int)LLVMGetIntTypeWidth(type), per = 64 / bits;
    if (g->kernel || g->lanes % per)
        return LLVMBuildExtractElement(g->b, lanes, i32_const(g, lane), "");
    LLVMValueRef wide = LLVMBuildBitCast(g->b, narrow, LLVMVectorType(g->t.i64, (unsigned)(g->lanes / per)), "");
    LLVMValueRef some = LLVMBuildExtractElement(g->b, wide, i32_const(g, lane / per), "");
    some              = LLVMBuildLShr(g->b, some, i64_const(g, (int64_t)bits * (lane % per)), "");
    return LLVMBuildIntCast2(g->b, LLVMBuildTrunc(g->b, some, type, ""), g->t.i64, is_signed, "");
}

LLVMValueRef address_lane(Gen *g, const Address *a, int lane)
{
    LLVMValueRef ptr = address_pointer(g, a, a->offsets ? a->offsets[lane] : 0);
    if (!a->lanes)
        return ptr;
    at_level(g, a->level);
    LLVMValueRef by = lane_index(g, a->lanes, lane);
    return LLVMBuildGEP2(g->b, memory_type(g, a->buffer->type), ptr, &by, 1, "");
}

/* ---- Checked accesses ---- */

/* The smallest and largest index of a port: sums of (extent - 1) * stride, of the negative strides and of the others.
 * An empty input has the memory of extents of 1. */
static void port_limits(Gen *g, const Buffer *b, BufferState *state)
{
    at_level(g, g->f->base);
    const bool   input = b->kind == BUFFER_INPUT;
    LLVMValueRef low = i64_const(g, 0), high = i64_const(g, 0), empty = LLVMConstInt(g->t.i1, 0, false);
    for (int d = 0; d < b->rank; d++) {
        LLVMValueRef at[DIM_FIELD_COUNT];
        for (int k = DIM_FIELD_EXTENT; k <= DIM_FIELD_STRIDE; k++)
            at[k] = port_field_address(g, b, d, k);
        LLVMValueRef extent = LLVMBuildLoad2(g->b, g->t.i32, at[DIM_FIELD_EXTENT], "");
        extent              = LLVMBuildSExt(g->b, extent, g->t.i64, "");
        if (input)
            extent = intrinsic2(g, "llvm.smax", extent, i64_const(g, 1));
        LLVMValueRef span = LLVMBuildMul(g->b, LLVMBuildSub(g->b, extent, i64_const(g, 1), ""),
                                         LLVMBuildLoad2(g->b, g->t.i64, at[DIM_FIELD_STRIDE], ""), "");
        low               = LLVMBuildAdd(g->b, low, intrinsic2(g, "llvm.smin", span, i64_const(g, 0)), "");
        high              = LLVMBuildAdd(g->b, high, intrinsic2(g, "llvm.smax", span, i64_const(g, 0)), "");
        empty             = LLVMBuildOr(g->b, empty, LLVMBuildICmp(g->b, LLVMIntSLE, extent, i64_const(g, 0), ""), "");
    }
    state->low  = LLVMBuildSelect(g->b, empty, i64_const(g, 0), low, "");
    state->high = LLVMBuildSelect(g->b, empty, i64_const(g, -1), high, "");
}

/* Is any element that the access touches outside the buffer? i1. */
static LLVMValueRef is_outside(Gen *g, const Address *a, const BufferState *state)
{
    LLVMValueRef bytes = LLVMBuildSub(g->b, LLVMBuildPtrToInt(g->b, a->ptr, g->t.i64, ""),
                                      LLVMBuildPtrToInt(g->b, state->base, g->t.i64, ""), "");
    LLVMValueRef index = LLVMBuildExactSDiv(g->b, bytes, i64_const(g, (int64_t)kn_type_size(a->buffer->type)), "");
    LLVMValueRef low = state->low, high = state->high;
    if (!a->lanes && !a->offsets) {
        index = LLVMBuildAdd(g->b, index, i64_const(g, a->constant), "");
    } else {
        LLVMValueRef more = lane_indices(g, a);
        here(g);
        index = LLVMBuildAdd(g->b, splat(g, index, g->lanes), more, "");
        low   = splat(g, low, g->lanes);
        high  = splat(g, high, g->lanes);
    }
    LLVMValueRef bad = LLVMBuildOr(g->b, LLVMBuildICmp(g->b, LLVMIntSLT, index, low, ""),
                                   LLVMBuildICmp(g->b, LLVMIntSGT, index, high, ""), "");
    if (g->mask && (a->lanes || a->offsets))
        bad = LLVMBuildAnd(g->b, bad, g->mask, "");
    return any_lane(g, bad);
}

void address_check(Gen *g, const Address *a)
{
    if (!g->options->check_access || g->kernel) /* kernels are checked by the executor */
        return;
    BufferState *state = &g->f->buffers[a->buffer->id];
    if (!state->low)
        port_limits(g, a->buffer, state);
    here(g);
    LLVMValueRef      bad = is_outside(g, a, state);
    LLVMBasicBlockRef no = block_new(g, "outside"), yes = block_new(g, "inside");
    LLVMBuildCondBr(g->b, bad, no, yes);
    char      text[256];
    const int n = snprintf(text, sizeof text,
                           "the compiled code reads or writes `%s` outside its elements: an error of the compiler",
                           a->buffer->name);
    go_to(g, no);
    here(g);
    LLVMValueRef message = text_const(g, text, (size_t)(n < (int)sizeof text ? n : (int)sizeof text - 1) + 1);
    fail_with(g, rt_call(g, "kn_rt_fail", g->t.i32, 4,
                         (LLVMValueRef[]){ g->f->rt, g->rt_program, i32_const(g, KN_ERROR_PROGRAM), message }));
    go_to(g, yes);
}
