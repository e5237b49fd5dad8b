/* SPDX-License-Identifier: MIT */
/* Loads and stores by the shape of their address.
 *
 * Contiguous lanes are one vector access. Lanes at other constant offsets close together (strides 2, 3, 4; reversed;
 * x/2) are wide loads and a shuffle. The wide loads cover exactly what is needed, never an element past the last. Loads
 * of one statement that differ by a constant share them. Large constant strides in scratch are columns (transpose.c).
 * The rest are scalar accesses at constant offsets, or gathers (gather.c). Under a mask only active lanes touch memory.
 * Stores of several lanes into one element happen in lane order. */
#include "codegen/llvm/llvm.h"

enum { MOST_WIDE = 8 }; /* how many vectors the wide loads for one vector may be */

/* The masked accesses of LLVM. Before version 22 their alignment is an operand. */
typedef enum MaskedKind { MASKED_LOAD, MASKED_STORE, MASKED_GATHER, MASKED_SCATTER } MaskedKind;

static LLVMValueRef masked_access(Gen *g, MaskedKind kind, const Buffer *b, LLVMTypeRef element, LLVMValueRef v,
                                  LLVMValueRef ptr)
{
    static const char *const names[]  = { "llvm.masked.load", "llvm.masked.store", "llvm.masked.gather",
                                          "llvm.masked.scatter" };
    const bool               store    = kind == MASKED_STORE || kind == MASKED_SCATTER;
    LLVMTypeRef              type     = with_lanes(element, g->lanes);
    LLVMTypeRef              types[2] = { type, LLVMTypeOf(ptr) };
    LLVMValueRef             mask = g->mask ? g->mask : LLVMConstAllOnes(LLVMVectorType(g->t.i1, (unsigned)g->lanes));
    LLVMValueRef             args[4];
    int                      n = 0;
    if (store)
        args[n++] = v;
    args[n++] = ptr;
#if LLVM_VERSION_MAJOR < 22
    args[n++] = i32_const(g, (int64_t)kn_type_size(b->type));
#endif
    args[n++] = mask;
    if (!store)
        args[n++] = LLVMConstNull(type);
    return mark_access(g, b, intrinsic(g, names[kind], 2, types, n, args));
}

/* ---- Shapes of addresses ---- */

static bool is_dense(const Address *a, int lanes)
{
    if (a->lanes || !a->offsets)
        return false;
    for (int i = 1; i < lanes; i++)
        if (a->offsets[i] != a->offsets[0] + i)
            return false;
    return true;
}

static void offset_range(const Address *a, int lanes, int64_t *first, int64_t *last)
{
    *first = *last = a->offsets[0];
    for (int i = 1; i < lanes; i++) {
        *first = a->offsets[i] < *first ? a->offsets[i] : *first;
        *last  = a->offsets[i] > *last ? a->offsets[i] : *last;
    }
}

/* Constant places, not one after the other, near enough to be taken from wide loads. */
static bool is_strided(const Address *a, int lanes)
{
    if (a->lanes || !a->offsets || is_dense(a, lanes))
        return false;
    int64_t first, last;
    offset_range(a, lanes, &first, &last);
    return last - first < (int64_t)MOST_WIDE * lanes;
}

/* ---- Wide loads ---- */

/* Remembers the loads below e that wide loads could serve, so that they are seen together. A thread of a kernel has no
 * vector registers to take lanes from. */
void collect_loads(Gen *g, const Expr *e)
{
    if (!g->lanes || g->mask || g->kernel || g->seen[e->id] == g->statement)
        return;
    g->seen[e->id] = g->statement;
    for (uint32_t i = 0; i < e->count; i++)
        collect_loads(g, e->args[i]);
    if (e->op != EX_LOAD)
        return;
    const Address a = address_of(g, e->u.buffer, e->args[0], true);
    if (!is_strided(&a, g->lanes)) {
        gather_collect(g, e, &a);
        return;
    }
    if (g->strided_count == g->strided_capacity) {
        g->strided_capacity = g->strided_capacity ? 2 * g->strided_capacity : 16;
        g->strided          = gen_grow(g, g->strided, (size_t)g->strided_capacity, sizeof *g->strided);
    }
    Strided s = { .load = e, .address = a, .group = -1 };
    offset_range(&a, g->lanes, &s.first, &s.last);
    s.first += a.constant;
    s.last += a.constant;
    g->strided[g->strided_count++] = s;
}

static int64_t round_up(int64_t n, int64_t to)
{
    return (n + to - 1) / to * to;
}

/* The loads that fit into as many vectors as this one needs alone. */
static void form_group(Gen *g, int leader)
{
    Strided *s         = &g->strided[leader];
    s->group           = leader;
    s->from            = s->first;
    s->to              = s->last;
    const int64_t room = round_up(s->last - s->first + 1, g->lanes);
    for (int i = 0; i < g->strided_count; i++) {
        Strided *m = &g->strided[i];
        if (m->group >= 0 || m->address.ptr != s->address.ptr || m->address.buffer != s->address.buffer)
            continue;
        const int64_t from = m->first < s->from ? m->first : s->from, to = m->last > s->to ? m->last : s->to;
        if (to - from + 1 > room)
            continue;
        m->group = leader;
        s->from  = from;
        s->to    = to;
    }
}

/* Loads what the group needs: `body` elements from the first in one piece and, where that is not all, the last `chunk`
 * elements. Behind scratch of the host there is room to read. */
static void load_wide(Gen *g, Strided *s)
{
    const Buffer *b     = s->address.buffer;
    const int64_t span  = s->to - s->from + 1;
    int           chunk = 1;
    while (2 * chunk <= span && 2 * chunk <= g->lanes)
        chunk *= 2;
    const int64_t beyond = round_up(span, chunk) - span;
    const bool    whole  = beyond * (int64_t)kn_type_size(b->type) <= 64 && b->kind == BUFFER_SCRATCH && !g->kernel;
    s->chunk             = chunk;
    s->body              = (int)(whole ? round_up(span, chunk) : span - span % chunk);
    LLVMTypeRef  type    = memory_type(g, b->type);
    LLVMValueRef ptr     = address_pointer(g, &s->address, s->from - s->address.constant);
    here(g);
    s->wide = load_element(g, b, ptr, LLVMVectorType(type, (unsigned)s->body));
    if (s->body >= span)
        return;
    ptr = address_pointer(g, &s->address, s->to - chunk + 1 - s->address.constant);
    here(g);
    LLVMValueRef tail = load_element(g, b, ptr, LLVMVectorType(type, (unsigned)chunk)),
                 places[MOST_VECTOR_LANES * MOST_WIDE];
    for (int i = 0; i < s->body; i++)
        places[i] = i < chunk ? i32_const(g, i) : LLVMGetPoison(g->t.i32);
    s->tail = LLVMBuildShuffleVector(g->b, tail, LLVMGetPoison(LLVMTypeOf(tail)),
                                     LLVMConstVector(places, (unsigned)s->body), "");
}

static LLVMValueRef load_strided(Gen *g, const Address *a, int at)
{
    if (g->strided[at].group < 0)
        form_group(g, at);
    Strided *s = &g->strided[g->strided[at].group];
    if (!s->wide)
        load_wide(g, s);
    LLVMValueRef  places[MOST_VECTOR_LANES];
    const int64_t tail = s->to - s->chunk + 1;
    for (int i = 0; i < g->lanes; i++) {
        const int64_t place = a->constant + a->offsets[i];
        places[i]           = i32_const(g, place - s->from < s->body ? place - s->from : s->body + place - tail);
    }
    here(g);
    return LLVMBuildShuffleVector(g->b, s->wide, s->tail ? s->tail : LLVMGetPoison(LLVMTypeOf(s->wide)),
                                  LLVMConstVector(places, (unsigned)g->lanes), "");
}

/* ---- Loads ---- */

static LLVMValueRef load_each(Gen *g, const Address *a)
{
    LLVMTypeRef  type = memory_type(g, a->buffer->type);
    LLVMValueRef all  = LLVMGetPoison(LLVMVectorType(type, (unsigned)g->lanes));
    for (int i = 0; i < g->lanes; i++) {
        LLVMValueRef ptr = address_lane(g, a, i);
        here(g);
        LLVMValueRef v = load_element(g, a->buffer, ptr, type);
        address_align(g, a, a->offsets ? a->offsets[i] : 0, v);
        all = LLVMBuildInsertElement(g->b, all, v, i32_const(g, i), "");
    }
    return all;
}

/* Lanes (phase + step*i) / phases. The elements up to that of the last lane in phase 0 are needed in every phase: one
 * load; the last one of all, which may be one more, by itself. Each phase is a shuffle of them, and the phase
 * chooses. */
static LLVMValueRef load_phases(Gen *g, const Address *a)
{
    const Buffer *b    = a->buffer;
    LLVMTypeRef   type = memory_type(g, b->type), index = LLVMTypeOf(a->phase);
    const int64_t reach = a->step * (g->lanes - 1);
    const int     sure  = (int)(reach / a->phases) + 1;
    LLVMValueRef  first = address_pointer(g, a, 0);
    here(g);
    LLVMValueRef last =
        LLVMBuildUDiv(g->b, LLVMBuildAdd(g->b, a->phase, int_like(index, reach), ""), int_like(index, a->phases), "");
    LLVMValueRef wide  = load_element(g, b, first, LLVMVectorType(type, (unsigned)sure));
    LLVMValueRef extra = load_element(g, b, LLVMBuildGEP2(g->b, type, first, &last, 1, ""), type);
    LLVMValueRef rest  = LLVMBuildInsertElement(g->b, LLVMGetPoison(LLVMTypeOf(wide)), extra, i32_const(g, 0), "");
    LLVMValueRef r     = NULL;
    for (int phase = 0; phase < a->phases; phase++) {
        LLVMValueRef places[MOST_VECTOR_LANES];
        for (int i = 0; i < g->lanes; i++)
            places[i] = i32_const(g, (phase + a->step * i) / a->phases);
        LLVMValueRef one = LLVMBuildShuffleVector(g->b, wide, rest, LLVMConstVector(places, (unsigned)g->lanes), "");
        LLVMValueRef now = LLVMBuildICmp(g->b, LLVMIntEQ, a->phase, int_like(index, phase), "");
        r                = r ? LLVMBuildSelect(g->b, now, one, r, "") : one;
    }
    return r;
}

/* Is there an instruction for a gather of small elements? There may be one for 32 bits, and behind scratch there is
 * room to read. */
static bool can_gather_wide(const Gen *g, const Address *a)
{
    return a->lanes && type_bits(a->buffer->type) < 32 && a->buffer->kind == BUFFER_SCRATCH && g->lanes >= 8 &&
           arch_gathers(g, type_bits(a->buffer->type));
}

/* The 32 bits that begin at each lane's place; of these the first. */
static LLVMValueRef gather_wide(Gen *g, const Address *a)
{
    LLVMValueRef ptrs = address_lanes(g, a);
    here(g);
    LLVMValueRef wide = masked_access(g, MASKED_GATHER, a->buffer, g->t.i32, NULL, ptrs);
    return LLVMBuildTrunc(g->b, wide, with_lanes(memory_type(g, a->buffer->type), g->lanes), "");
}

/* Are the lanes' indices i32, as the faster gathers take them? Those of 64 bits take longer than loads one by one. */
static bool has_narrow_lanes(const Address *a)
{
    const LaneTerm *t = &a->own[0];
    return a->own_count == 1 && !a->offsets && !t->by && t->factor == 1 &&
           (t->atom->type == KN_I32 || (t->atom->op == EX_CAST && t->atom->args[0]->type == KN_I32));
}

static LLVMValueRef load_lanes(Gen *g, const Expr *e, const Address *a)
{
    const Buffer *b     = a->buffer;
    const bool    dense = is_dense(a, g->lanes);
    if (a->phases)
        return load_phases(g, a);
    if (dense && !g->mask && g->kernel)
        return load_each(g, a);
    if (dense && !g->mask) {
        LLVMValueRef ptr = address_pointer(g, a, a->offsets[0]);
        here(g);
        return load_element(g, b, ptr, LLVMVectorType(memory_type(g, b->type), (unsigned)g->lanes));
    }
    if (!dense && arch_can_look_up(g, a))
        return arch_look_up(g, a);
    LLVMValueRef near = dense ? NULL : gather_adjacent(g, e);
    if (near)
        return near;
    if (!dense && can_gather_wide(g, a))
        return gather_wide(g, a);
    const bool narrow = a->lanes && type_bits(b->type) >= 32 && has_narrow_lanes(a) && !g->kernel;
    if (dense || g->mask || (narrow && arch_gathers(g, type_bits(b->type)))) {
        LLVMValueRef ptr = dense ? address_pointer(g, a, a->offsets[0]) : address_lanes(g, a);
        here(g);
        return masked_access(g, dense ? MASKED_LOAD : MASKED_GATHER, b, memory_type(g, b->type), NULL, ptr);
    }
    for (int i = 0; i < g->strided_count; i++)
        if (g->strided[i].load == e && g->strided[i].address.ptr == a->ptr)
            return load_strided(g, a, i);
    return is_column(g, a) ? load_column(g, a) : load_each(g, a);
}

ShapedValue gen_load(Gen *g, const Expr *e)
{
    const Address a = address_of(g, e->u.buffer, e->args[0], true);
    ShapedValue   v = { .level = g->depth, .named = g->depth, .pure = a.pure && a.buffer->kind == BUFFER_INPUT };
    address_check(g, &a);
    if (a.lanes || a.offsets || a.phases) {
        v.shape = LANES;
        v.v     = load_lanes(g, e, &a);
    } else {
        LLVMValueRef ptr = address_pointer(g, &a, 0);
        here(g);
        v.shape = UNIFORM;
        v.v     = load_element(g, a.buffer, ptr, memory_type(g, a.buffer->type));
        address_align(g, &a, 0, v.v);
    }
    here(g);
    v.v = from_memory(g, v.v, a.buffer->type);
    return v;
}

/* ---- Stores ---- */

/* The bits of an address below `align`, by integers from where this block begins to add to it: what a loop adds in
 * whole vectors is then seen not to matter. */
static LLVMValueRef low_bits(Gen *g, LLVMValueRef ptr, uint64_t align)
{
    LLVMValueRef      sum   = i64_const(g, 0);
    LLVMBasicBlockRef block = LLVMGetInsertBlock(g->b);
    while (LLVMIsAGetElementPtrInst(ptr) && LLVMGetNumOperands(ptr) == 2 && LLVMGetInstructionParent(ptr) == block) {
        const uint64_t bytes = LLVMABISizeOfType(g->layout, LLVMGetGEPSourceElementType(ptr));
        sum = LLVMBuildAdd(g->b, sum, LLVMBuildMul(g->b, LLVMGetOperand(ptr, 1), i64_const(g, (int64_t)bytes), ""), "");
        ptr = LLVMGetOperand(ptr, 0);
    }
    sum = LLVMBuildAdd(g->b, sum, LLVMBuildPtrToInt(g->b, ptr, g->t.i64, ""), "");
    return LLVMBuildAnd(g->b, sum, i64_const(g, (int64_t)align - 1), "");
}

/* Past the cache where the address is aligned as the instruction needs it; the same store where it is not. */
static void store_stream(Gen *g, const Buffer *b, LLVMValueRef v, LLVMValueRef ptr)
{
    const uint64_t bytes = LLVMABISizeOfType(g->layout, LLVMTypeOf(v)), align = bytes < 64 ? bytes : 64;
    if (bytes < 16 || (bytes & (bytes - 1))) {
        store_element(g, b, v, ptr);
        return;
    }
    LLVMValueRef      aligned = LLVMBuildICmp(g->b, LLVMIntEQ, low_bits(g, ptr, align), i64_const(g, 0), "");
    LLVMBasicBlockRef yes = block_new(g, "stream"), no = block_new(g, "plain"), join = block_new(g, "stored");
    LLVMBuildCondBr(g->b, aligned, yes, no);
    for (int i = 0; i < 2; i++) {
        go_to(g, i ? no : yes);
        here(g);
        LLVMValueRef store = store_element(g, b, v, ptr);
        if (!i) {
            LLVMSetAlignment(store, (unsigned)align);
            LLVMSetMetadata(store, g->kind_nontemporal, LLVMMetadataAsValue(g->cx, g->nontemporal));
        }
        LLVMBuildBr(g->b, join);
    }
    go_to(g, join);
    g->f->streams = true;
    g->streams    = true;
}

static void store_each(Gen *g, const Address *a, LLVMValueRef all)
{
    for (int i = 0; i < g->lanes; i++) {
        LLVMValueRef ptr = address_lane(g, a, i);
        here(g);
        address_align(g, a, a->offsets ? a->offsets[i] : 0,
                      store_element(g, a->buffer, LLVMBuildExtractElement(g->b, all, i32_const(g, i), ""), ptr));
    }
}

void gen_store_lanes(Gen *g, const Address *a, ShapedValue v, bool stream)
{
    const Buffer *b = a->buffer;
    address_check(g, a);
    if (!a->lanes && !a->offsets && v.shape == UNIFORM) {
        LLVMValueRef ptr = address_pointer(g, a, 0);
        here(g);
        address_align(g, a, 0, store_element(g, b, to_memory(g, v.v, b->type), ptr));
        return;
    }
    LLVMValueRef all   = value_lanes(g, v, g->lanes);
    const bool   dense = is_dense(a, g->lanes);
    here(g);
    all = to_memory(g, all, b->type);
    if (!g->mask && (!dense || g->kernel)) {
        store_each(g, a, all);
        return;
    }
    LLVMValueRef ptr = dense ? address_pointer(g, a, a->offsets[0]) : address_lanes(g, a);
    here(g);
    if (g->mask)
        masked_access(g, dense ? MASKED_STORE : MASKED_SCATTER, b, memory_type(g, b->type), all, ptr);
    else if (stream)
        store_stream(g, b, all, ptr);
    else
        store_element(g, b, all, ptr);
}
