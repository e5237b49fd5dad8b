/* SPDX-License-Identifier: MIT */
/* Values and their shapes: what is made of two, and lanes spelt out. Sums and products of addresses are remembered by
 * their operands, as long as the scope that has them is open. */
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

/* ---- Sums that are remembered ---- */

static AddressSum *sum_slot(Gen *g, LLVMValueRef a, LLVMValueRef b, int64_t scale)
{
    const uint64_t h = ((uint64_t)(uintptr_t)a * 31 + (uint64_t)(uintptr_t)b) * 0x9E3779B97F4A7C15u +
                       (uint64_t)scale * 0xC2B2AE3D27D4EB4Fu;
    size_t i = (size_t)(h >> 24) & (g->sum_capacity - 1);
    while (g->sums[i].a && (g->sums[i].a != a || g->sums[i].b != b || g->sums[i].scale != scale))
        i = (i + 1) & (g->sum_capacity - 1);
    return &g->sums[i];
}

AddressSum *sum_find(Gen *g, LLVMValueRef a, LLVMValueRef b, int64_t scale)
{
    if (2 * g->sum_count >= g->sum_capacity) {
        const AddressSum *old = g->sums;
        const size_t      n   = g->sum_capacity;
        g->sum_capacity       = n ? 2 * n : 256;
        g->sums               = gen_alloc(g, g->sum_capacity * sizeof *g->sums);
        for (size_t i = 0; i < n; i++)
            if (old[i].a)
                *sum_slot(g, old[i].a, old[i].b, old[i].scale) = old[i];
    }
    AddressSum *s = sum_slot(g, a, b, scale);
    g->sum_count += !s->a;
    const bool seen = s->a && s->level >= g->f->base && s->level <= g->depth && g->scopes[s->level].serial == s->serial;
    if (!seen)
        *s = (AddressSum){ .a = a, .b = b, .scale = scale };
    return s;
}

LLVMValueRef sum_keep(Gen *g, AddressSum *s, int level, LLVMValueRef result)
{
    s->level         = level;
    s->serial        = g->scopes[level].serial;
    return s->result = result;
}
