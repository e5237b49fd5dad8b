/* SPDX-License-Identifier: MIT */
/* Loads along a column of scratch: lanes a constant stride apart, too large for wide loads.
 *
 * Takes   the address of one column. Its neighbours are read by the next copies of an unrolled loop as a rule: a
 *         transposed tile.
 * Gives   P columns in registers. Each lane loads 16 bytes (P elements) of its row. Row r + P*k goes into piece k of
 *         vector r, by loads alone; then log2(P) rounds of interleaving vector i with vector i + P/2, piece by piece,
 *         transpose each piece: one instruction a vector and round on any machine with vectors of 128 bits.
 * Holds   the columns are kept for the loads that follow in the same basic block, until the buffer is written. A single
 *         column costs no more than its elements one by one. Scratch is padded, so reading past its end is harmless. */
#include "codegen/llvm/llvm.h"

enum { PIECE_BYTES = 16, MOST_COLUMNS = PIECE_BYTES };

struct TransposedBlock {
    LLVMBasicBlockRef block;
    LLVMValueRef      ptr;
    const Buffer     *buffer;
    uint32_t          writes;
    int               lanes, count;
    int64_t           constant, step;
    LLVMValueRef      columns[MOST_COLUMNS];
};

/* The distance from lane to lane; 0 if that is not one constant. */
static int64_t lane_step(const Address *a, int lanes)
{
    if (a->lanes || !a->offsets || a->offsets[0])
        return 0;
    for (int i = 2; i < lanes; i++)
        if (a->offsets[i] != a->offsets[1] * i)
            return 0;
    return a->offsets[1];
}

static int column_count(const Gen *g, const Buffer *b)
{
    const int count = PIECE_BYTES / (int)kn_type_size(b->type);
    return count < g->lanes ? count : g->lanes;
}

bool is_column(const Gen *g, const Address *a)
{
    const int count = column_count(g, a->buffer);
    return a->buffer->kind == BUFFER_SCRATCH && !g->kernel && !g->f->buffers[a->buffer->id].tile && !g->mask &&
           !(g->lanes & (g->lanes - 1)) && count > 1 && lane_step(a, g->lanes);
}

/* Vectors joined two by two. */
static LLVMValueRef join(Gen *g, LLVMValueRef *parts, int count)
{
    for (; count > 1; count /= 2)
        for (int i = 0; i < count / 2; i++)
            parts[i] = concat_lanes(g, parts[2 * i], parts[2 * i + 1]);
    return parts[0];
}

static void transpose(Gen *g, const Address *a, TransposedBlock *t)
{
    const int    n    = t->count;
    LLVMTypeRef  type = LLVMVectorType(memory_type(g, a->buffer->type), (unsigned)n);
    LLVMValueRef rows[MOST_VECTOR_LANES], next[MOST_COLUMNS];
    for (int r = 0; r < n; r++) {
        for (int k = 0; k < g->lanes / n; k++) {
            LLVMValueRef ptr = address_pointer(g, a, a->offsets[r + k * n]);
            here(g);
            rows[k] = load_element(g, a->buffer, ptr, type);
        }
        t->columns[r] = join(g, rows, g->lanes / n);
    }
    for (int round = 1; round < n; round *= 2) {
        for (int i = 0; i < n; i++)
            next[i] = interleave_lanes(g, t->columns[i / 2], t->columns[i / 2 + n / 2], n, i % 2);
        for (int i = 0; i < n; i++)
            t->columns[i] = next[i];
    }
}

LLVMValueRef load_column(Gen *g, const Address *a)
{
    const uint32_t writes = g->f->buffers[a->buffer->id].writes;
    const int64_t  step   = lane_step(a, g->lanes);
    here(g);
    LLVMBasicBlockRef block = LLVMGetInsertBlock(g->b);
    for (int i = 0; i < g->transposed_count; i++) {
        const TransposedBlock *t = &g->transposed[i];
        if (t->block == block && t->ptr == a->ptr && t->buffer == a->buffer && t->writes == writes &&
            t->lanes == g->lanes && t->step == step && a->constant >= t->constant &&
            a->constant - t->constant < t->count)
            return t->columns[a->constant - t->constant];
    }
    if (g->transposed_count && g->transposed[0].block != block)
        g->transposed_count = 0;
    if (g->transposed_count == g->transposed_capacity) {
        g->transposed_capacity = g->transposed_capacity ? 2 * g->transposed_capacity : 8;
        g->transposed          = gen_grow(g, g->transposed, (size_t)g->transposed_capacity, sizeof *g->transposed);
    }
    TransposedBlock *t = &g->transposed[g->transposed_count++];
    *t                 = (TransposedBlock){ .block    = block,
                                            .ptr      = a->ptr,
                                            .buffer   = a->buffer,
                                            .writes   = writes,
                                            .lanes    = g->lanes,
                                            .count    = column_count(g, a->buffer),
                                            .constant = a->constant,
                                            .step     = step };
    transpose(g, a, t);
    return t->columns[0];
}
