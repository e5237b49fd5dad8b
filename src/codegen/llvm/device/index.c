/* SPDX-License-Identifier: MIT */
/* Indices of kernels, in 32 bits or in 64.
 *
 * Takes   the parts of an index that all lanes have in common: factor * atom * stride each.
 * Gives   their sum in the type asked for. Parts of one loop are added before the stride multiplies them; sums of outer
 *         loops come first, so that they are computed outside.
 * Holds   a buffer with indices of 32 bits has at most MOST_INDEX elements (the runtime chooses the kernels of a launch
 *         by that), so that an index is what its lower 32 bits say, whatever wraps on the way: registers have 32 bits,
 *         and a product of 64 takes four instructions. Arrays of a block or a thread are never larger. */
#include "codegen/llvm/llvm.h"

/* Numbers for sum_find; those of addresses are -1 and -2. */
enum { INDEX_SUM = -3, INDEX_PRODUCT = -4 };

/* One that was computed further inside does not dominate what stands at `level`: it is computed again. */
static LLVMValueRef combine(Gen *g, LLVMValueRef a, LLVMValueRef b, int kind, int level)
{
    if (!a || !b)
        return a ? a : b;
    AddressSum *s = sum_find(g, a, b, kind);
    if (s->result && s->level <= level)
        return s->result;
    at_level(g, level);
    return sum_keep(g, s, level, kind == INDEX_SUM ? LLVMBuildAdd(g->b, a, b, "") : LLVMBuildMul(g->b, a, b, ""));
}

/* Coordinates of 32 bits do not wrap. */
static LLVMValueRef as_type(Gen *g, LLVMValueRef v, int level, LLVMTypeRef type)
{
    if (!v || LLVMTypeOf(v) == type)
        return v;
    at_level(g, level);
    return LLVMBuildIntCast2(g->b, v, type, true, "");
}

LLVMTypeRef kernel_index_type(const Gen *g, const Buffer *b)
{
    return g->options->large_buffers && !g->f->buffers[b->id].elements ? g->t.i64 : g->t.i32;
}

static bool part_before(const Gen *g, const IndexPart *a, const IndexPart *b)
{
    const int in_a = g->scopes[a->level].loop, in_b = g->scopes[b->level].loop;
    if (!a->atom != !b->atom)
        return a->atom != NULL;
    if (in_a != in_b)
        return in_a < in_b;
    if (a->stride_id != b->stride_id)
        return a->stride_id < b->stride_id;
    return a->level != b->level ? a->level < b->level : a->id < b->id;
}

/* Constant multiples of strides, which tell rows apart, come last: all rows share what is before. */
static void sort_parts(const Gen *g, IndexPart *parts, int count)
{
    for (int i = 1; i < count; i++) {
        const IndexPart p = parts[i];
        int             k = i;
        for (; k > 0 && part_before(g, &p, &parts[k - 1]); k--)
            parts[k] = parts[k - 1];
        parts[k] = p;
    }
}

static bool same_group(const Gen *g, const IndexPart *a, const IndexPart *b)
{
    return !a->atom == !b->atom && a->stride_id == b->stride_id && g->scopes[a->level].loop == g->scopes[b->level].loop;
}

LLVMValueRef kernel_index(Gen *g, LLVMTypeRef type, IndexPart *parts, int count, int *level)
{
    LLVMValueRef index = NULL;
    sort_parts(g, parts, count);
    for (int i = 0, end; i < count; i = end) {
        LLVMValueRef sum = NULL;
        int          at  = g->f->base;
        for (end = i; end < count && same_group(g, &parts[i], &parts[end]); end++) {
            const IndexPart *p = &parts[end];
            at                 = p->level > at ? p->level : at;
            LLVMValueRef atom  = as_type(g, p->atom, p->level, type);
            LLVMValueRef by    = p->factor == 1 && atom ? NULL : int_like(type, p->factor);
            sum                = combine(g, sum, combine(g, atom, by, INDEX_PRODUCT, p->level), INDEX_SUM, at);
        }
        sum    = combine(g, sum, as_type(g, parts[i].stride, at, type), INDEX_PRODUCT, at);
        *level = at > *level ? at : *level;
        index  = combine(g, index, sum, INDEX_SUM, *level);
    }
    return index;
}
