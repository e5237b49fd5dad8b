/* SPDX-License-Identifier: MIT */
/* Small tables in registers.
 *
 * A load of bytes or of 32 bits at a place of its own in each lane, from scratch of at most 1024 bytes: the whole table
 * is read, as vectors of 64 bytes, which LLVM keeps in registers while nothing writes to it, and every lane takes its
 * element from there. With AVX-512 (for bytes: VBMI) one instruction looks 64 bytes of lanes up in two such vectors;
 * the bits of the index above these choose among the results, two by two. A gather takes more than a cycle for each
 * lane, this less than one.
 *
 * With VBMI and lanes enough, 32 bits are four tables of bytes: a quarter of the lookups. Packing the places into bytes
 * and unpacking the bytes into 32 bits are each other's inverse within 128 bits, so nothing has to be put into
 * order. */
#include "codegen/llvm/arch/arch.h"

enum { PIECE_BYTES = 64, MOST_BYTES = 1024, MOST_PIECES = MOST_BYTES / PIECE_BYTES, MOST_PER_PIECE = 64 };

bool x86_can_look_up(const Gen *g, const Address *a)
{
    const BufferState *state = &g->f->buffers[a->buffer->id];
    const int          bits = type_bits(a->buffer->type), size = bits / 8;
    const bool         can =
        target_has(g->target, bits == 8 ? FEATURE_AVX512VBMI : FEATURE_AVX512BW) && (bits == 8 || bits == 32);
    return can && a->lanes && a->buffer->kind == BUFFER_SCRATCH && state->elements > 0 &&
           state->elements <= MOST_BYTES / size && a->ptr == state->base && g->lanes % (PIECE_BYTES / size) == 0;
}

/* The elements, `per` to a piece, at as many places in a table of `pairs` times two pieces. */
static LLVMValueRef lookup(Gen *g, LLVMValueRef const table[], int pairs, int per, LLVMValueRef places)
{
    const char *name = per == MOST_PER_PIECE ? "llvm.x86.avx512.vpermi2var.qi.512" : "llvm.x86.avx512.vpermi2var.d.512";
    LLVMTypeRef type = LLVMTypeOf(places);
    LLVMValueRef low = LLVMBuildIntCast2(g->b, places, LLVMTypeOf(table[0]), false, ""), found[MOST_PIECES / 2];
    for (int i = 0; i < pairs; i++)
        found[i] = intrinsic(g, name, 0, NULL, 3, (LLVMValueRef[]){ table[2 * i], low, table[2 * i + 1] });
    for (int bit = 2 * per; pairs > 1; bit *= 2, pairs = (pairs + 1) / 2) {
        LLVMValueRef set = LLVMBuildICmp(g->b, LLVMIntNE, LLVMBuildAnd(g->b, places, int_like(type, bit), ""),
                                         LLVMConstNull(type), "");
        for (int i = 0; i < pairs; i += 2)
            found[i / 2] = i + 1 < pairs ? LLVMBuildSelect(g->b, set, found[i + 1], found[i], "") : found[i];
    }
    return found[0];
}

/* The bytes number `byte` of all elements of a table of 32 bits, given in pieces of 16. */
static LLVMValueRef byte_plane(Gen *g, LLVMValueRef const table[4], int byte)
{
    LLVMTypeRef  type = LLVMVectorType(g->t.i8, MOST_PER_PIECE / 4);
    LLVMValueRef all  = LLVMGetPoison(LLVMVectorType(g->t.i8, MOST_PER_PIECE));
    for (int i = 0; i < 4; i++) {
        LLVMValueRef bytes =
            LLVMBuildTrunc(g->b, LLVMBuildLShr(g->b, table[i], int_like(LLVMTypeOf(table[i]), 8 * byte), ""), type, "");
        all = intrinsic(g, "llvm.vector.insert", 2, (LLVMTypeRef[]){ LLVMTypeOf(all), type }, 3,
                        (LLVMValueRef[]){ all, bytes, i64_const(g, i * MOST_PER_PIECE / 4) });
    }
    return all;
}

/* 64 places in a table of 32 bits, given in four times four pieces: the elements, 16 to a vector. */
static void lookup_by_bytes(Gen *g, LLVMValueRef const table[MOST_PIECES], LLVMValueRef places, LLVMValueRef found[4])
{
    LLVMTypeRef  words = LLVMVectorType(g->t.i16, 32), type = LLVMVectorType(g->t.i32, 16);
    LLVMValueRef packed[2], at, bytes[4];
    for (int i = 0; i < 2; i++)
        packed[i] =
            intrinsic(g, "llvm.x86.avx512.packusdw.512", 0, NULL, 2,
                      (LLVMValueRef[]){ slice_lanes(g, places, 32 * i, 16), slice_lanes(g, places, 32 * i + 16, 16) });
    at = intrinsic(g, "llvm.x86.avx512.packuswb.512", 0, NULL, 2, packed);
    for (int byte = 0; byte < 4; byte++) {
        LLVMValueRef planes[4];
        for (int i = 0; i < 4; i++)
            planes[i] = byte_plane(g, &table[4 * i], byte);
        bytes[byte] = lookup(g, planes, 2, MOST_PER_PIECE, at);
    }
    for (int i = 0; i < 4; i++) {
        LLVMValueRef low  = LLVMBuildBitCast(g->b, interleave_lanes(g, bytes[0], bytes[1], 16, i / 2), words, "");
        LLVMValueRef high = LLVMBuildBitCast(g->b, interleave_lanes(g, bytes[2], bytes[3], 16, i / 2), words, "");
        found[i]          = LLVMBuildBitCast(g->b, interleave_lanes(g, low, high, 8, i % 2), type, "");
    }
}

/* Behind scratch there is room to read, so the last piece may reach beyond the table. */
LLVMValueRef x86_look_up(Gen *g, const Address *a)
{
    const Buffer *b   = a->buffer;
    const int     per = PIECE_BYTES * 8 / type_bits(b->type), last = (int)((g->f->buffers[b->id].elements - 1) / per),
              pairs    = last / 2 + 1;
    LLVMTypeRef  whole = per == MOST_PER_PIECE ? g->t.i8 : g->t.i32, type = LLVMVectorType(whole, (unsigned)per);
    LLVMTypeRef  place = per == MOST_PER_PIECE ? g->t.i16 : g->t.i32;
    LLVMValueRef table[MOST_PIECES];
    for (int i = 0; i < MOST_PIECES; i++) {
        LLVMValueRef ptr = i > last ? NULL : address_pointer(g, a, i * per - a->constant);
        here(g);
        table[i] = ptr ? load_element(g, b, ptr, type) : LLVMGetPoison(type);
    }
    LLVMValueRef index    = LLVMBuildAdd(g->b, a->lanes, int_like(LLVMTypeOf(a->lanes), a->constant), "");
    LLVMValueRef places   = LLVMBuildTrunc(g->b, index, LLVMVectorType(place, (unsigned)g->lanes), "");
    LLVMValueRef all      = LLVMGetPoison(LLVMVectorType(whole, (unsigned)g->lanes));
    const bool   by_bytes = per < MOST_PER_PIECE && pairs > 2 && g->lanes % MOST_PER_PIECE == 0 &&
                          target_has(g->target, FEATURE_AVX512VBMI);
    LLVMValueRef found[4];
    for (int i = 0; i < g->lanes; i += per) {
        if (!by_bytes)
            found[i / per % 4] = lookup(g, table, pairs, per, slice_lanes(g, places, i, per));
        else if (i % MOST_PER_PIECE == 0)
            lookup_by_bytes(g, table, slice_lanes(g, places, i, MOST_PER_PIECE), found);
        all = intrinsic(g, "llvm.vector.insert", 2, (LLVMTypeRef[]){ LLVMTypeOf(all), type }, 3,
                        (LLVMValueRef[]){ all, found[i / per % 4], i64_const(g, i) });
    }
    return LLVMBuildBitCast(g->b, all, LLVMVectorType(memory_type(g, b->type), (unsigned)g->lanes), "");
}
