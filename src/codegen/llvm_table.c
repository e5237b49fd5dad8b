/* Tables of bytes in registers.
 *
 * A load of bytes at a place of its own in each lane, from scratch of at most 1024 bytes: the whole table is read, as vectors, which LLVM keeps in registers while nothing
 * writes to it, and every lane takes its byte from there. With AVX-512 VBMI one instruction looks 64 lanes up in 128 bytes; the bits of the index above these seven choose
 * among the results, two by two. A gather takes more than a cycle for each lane, this a third of one. */
#include "codegen/llvm.h"

enum { PIECE = 64, MOST_BYTES = 1024, MOST_PAIRS = MOST_BYTES / (2 * PIECE) };

bool is_table(const Gen *g, const Address *a)
{
    const BufferState *state = &g->f->buffers[a->buffer->id];
    return a->lanes && a->buffer->kind == BUFFER_SCRATCH && type_bits(a->buffer->type) == 8 && state->elements > 0 && state->elements <= MOST_BYTES && a->ptr == state->base &&
           g->lanes % PIECE == 0 && target_has_byte_tables(g->target);
}

/* Lanes from..from+63 of v. */
static LLVMValueRef piece(Gen *g, LLVMValueRef v, int from)
{
    LLVMValueRef places[PIECE];
    for (int i = 0; i < PIECE; i++)
        places[i] = i32_const(g, from + i);
    return LLVMBuildShuffleVector(g->b, v, LLVMGetPoison(LLVMTypeOf(v)), LLVMConstVector(places, PIECE), "");
}

/* The bytes at 64 places, of type i16, in a table of `pairs` times 128 bytes. */
static LLVMValueRef lookup(Gen *g, LLVMValueRef const table[], int pairs, LLVMValueRef places)
{
    LLVMTypeRef  words = LLVMTypeOf(places);
    LLVMValueRef low   = LLVMBuildTrunc(g->b, places, LLVMVectorType(g->t.i8, PIECE), ""), found[MOST_PAIRS];
    for (int i = 0; i < pairs; i++)
        found[i] = intrinsic(g, "llvm.x86.avx512.vpermi2var.qi.512", 0, NULL, 3, (LLVMValueRef[]){ table[2 * i], low, table[2 * i + 1] });
    for (int bit = 2 * PIECE; pairs > 1; bit *= 2, pairs = (pairs + 1) / 2) {
        LLVMValueRef set = LLVMBuildICmp(g->b, LLVMIntNE, LLVMBuildAnd(g->b, places, int_like(words, bit), ""), LLVMConstNull(words), "");
        for (int i = 0; i < pairs; i += 2)
            found[i / 2] = i + 1 < pairs ? LLVMBuildSelect(g->b, set, found[i + 1], found[i], "") : found[i];
    }
    return found[0];
}

/* Behind scratch there is room to read, so the last piece may reach beyond the table. */
LLVMValueRef load_table(Gen *g, const Address *a)
{
    const Buffer *b     = a->buffer;
    const int     last  = (int)((g->f->buffers[b->id].elements - 1) / PIECE), pairs = last / 2 + 1;
    LLVMTypeRef   bytes = LLVMVectorType(g->t.i8, PIECE);
    LLVMValueRef  table[2 * MOST_PAIRS], all = NULL;
    for (int i = 0; i < 2 * pairs; i++) {
        LLVMValueRef ptr = i > last ? NULL : address_pointer(g, a, i * PIECE - a->constant);
        here(g);
        table[i] = ptr ? load_element(g, b, ptr, bytes) : LLVMGetPoison(bytes);
    }
    here(g);
    LLVMValueRef index = LLVMBuildAdd(g->b, a->lanes, int_like(LLVMTypeOf(a->lanes), a->constant), "");
    LLVMValueRef words = LLVMBuildTrunc(g->b, index, LLVMVectorType(g->t.i16, (unsigned)g->lanes), "");
    LLVMValueRef parts[MOST_LANES / PIECE];
    const int    count = g->lanes / PIECE;
    for (int i = 0; i < count; i++)
        parts[i] = lookup(g, table, pairs, count > 1 ? piece(g, words, i * PIECE) : words);
    all = count > 1 ? LLVMGetPoison(LLVMVectorType(g->t.i8, (unsigned)g->lanes)) : parts[0];
    for (int i = 0; count > 1 && i < count; i++)
        all = intrinsic(g, "llvm.vector.insert", 2, (LLVMTypeRef[]){ LLVMTypeOf(all), bytes }, 3, (LLVMValueRef[]){ all, parts[i], i64_const(g, i * PIECE) });
    return all;
}
