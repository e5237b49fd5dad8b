/* SPDX-License-Identifier: MIT */
/* Atomic stores: an instruction where there is one, a loop of compare-and-exchange for other updates of one element, a
 * lock for several; in a kernel one after the other.
 *
 * In a vector loop they are done lane by lane: every name that differs between the lanes is bound to its value in one
 * of them, and the statement made for that. */
#include "codegen/llvm/llvm.h"

#include <string.h>

/* ---- Lane by lane ---- */

/* Answers that were found with all lanes must not be taken for those of one. */
static void forget_answers(Gen *g)
{
    for (int i = g->vector_level; i <= g->depth; i++)
        g->scopes[i].serial = ++g->serial;
}

static ShapedValue in_lane(Gen *g, ShapedValue v, int lane)
{
    if (v.shape == UNIFORM)
        return v;
    at_level(g, v.level);
    v.v     = v.shape == RAMP ? LLVMBuildAdd(g->b, v.v, int_like(LLVMTypeOf(v.v), v.step * lane), "")
                              : LLVMBuildExtractElement(g->b, v.v, i32_const(g, lane), "");
    v.shape = UNIFORM;
    return v;
}

static void gen_lane_by_lane(Gen *g, const Stmt *s, void (*gen)(Gen *g, const Stmt *s))
{
    Function    *f     = g->f;
    const int    lanes = g->lanes;
    LLVMValueRef mask  = g->mask;
    const size_t size  = f->binding_capacity * sizeof *f->bindings;
    NameBinding *saved = gen_alloc(g, size);
    const size_t n     = f->binding_capacity;
    memcpy(saved, f->bindings, size);
    g->mask = NULL;
    for (int lane = 0; lane < lanes; lane++) {
        forget_answers(g);
        for (size_t i = 0; i < n; i++)
            if (saved[i].live)
                binding_find(g, saved[i].name)->value = in_lane(g, saved[i].value, lane);
        LLVMBasicBlockRef after = NULL;
        here(g);
        if (mask) {
            LLVMBasicBlockRef one = block_new(g, "lane");
            after                 = block_new(g, "after");
            LLVMBuildCondBr(g->b, LLVMBuildExtractElement(g->b, mask, i32_const(g, lane), ""), one, after);
            scope_push(g, one);
        } else {
            scope_push(g, NULL);
        }
        g->lanes = 0;
        gen(g, s);
        g->lanes = lanes;
        if (after) {
            here(g);
            LLVMBuildBr(g->b, after);
        }
        scope_pop(g);
        if (after)
            go_to(g, after);
    }
    for (size_t i = 0; i < n; i++)
        if (saved[i].live)
            *binding_find(g, saved[i].name) = saved[i];
    forget_answers(g);
    g->mask = mask;
}

/* ---- One element ---- */

static bool is_own_load(const Expr *e, const Place *p)
{
    return e->op == EX_LOAD && e->u.buffer == p->buffer && e->args[0] == p->index;
}

/* The instruction for old = old op operand. */
static bool find_instruction(const Place *p, LLVMAtomicRMWBinOp *op, const Expr **operand)
{
    const Expr *e = p->value;
    if (e->count != 2 || e->type != p->buffer->type || e->type == KN_BOOL)
        return false;
    const bool first = is_own_load(e->args[0], p), is_signed = type_is_signed(e->type);
    if (!first && (e->op == EX_SUB || !is_own_load(e->args[1], p)))
        return false;
    *operand = e->args[first];
    if (type_is_float(e->type)) {
        *op = e->op == EX_ADD ? LLVMAtomicRMWBinOpFAdd : LLVMAtomicRMWBinOpFSub;
        return (e->op == EX_ADD || e->op == EX_SUB) && type_bits(e->type) >= 32;
    }
    switch (e->op) {
    case EX_ADD: *op = LLVMAtomicRMWBinOpAdd; return true;
    case EX_SUB: *op = LLVMAtomicRMWBinOpSub; return true;
    case EX_MIN: *op = is_signed ? LLVMAtomicRMWBinOpMin : LLVMAtomicRMWBinOpUMin; return true;
    case EX_MAX: *op = is_signed ? LLVMAtomicRMWBinOpMax : LLVMAtomicRMWBinOpUMax; return true;
    case EX_BIT_AND: *op = LLVMAtomicRMWBinOpAnd; return true;
    case EX_BIT_OR: *op = LLVMAtomicRMWBinOpOr; return true;
    case EX_BIT_XOR: *op = LLVMAtomicRMWBinOpXor; return true;
    default: return false;
    }
}

/* The load of the element itself among the operands of e, or NULL. */
static const Expr *own_load(Gen *g, const Expr *e, const Place *p)
{
    if (g->seen[e->id] == g->statement)
        return NULL;
    g->seen[e->id]    = g->statement;
    const Expr *found = is_own_load(e, p) ? e : NULL;
    for (uint32_t i = 0; !found && i < e->count; i++)
        found = own_load(g, e->args[i], p);
    return found;
}

/* do { new = value with the load answered by old } while (the element is not old any more). `load` is NULL where the
 * element is read by an index that is written in another way, or not at all: what is read of it then is read again each
 * time. */
static void gen_exchange_loop(Gen *g, const Place *p, const Expr *load, LLVMValueRef ptr)
{
    LLVMTypeRef type         = memory_type(g, p->buffer->type),
                bits         = LLVMIntTypeInContext(g->cx, 8 * (unsigned)kn_type_size(p->buffer->type));
    LLVMValueRef      first  = LLVMBuildLoad2(g->b, bits, ptr, "");
    LLVMBasicBlockRef before = LLVMGetInsertBlock(g->b), loop = block_new(g, "again"),
                      after = block_new(g, "exchanged");
    LLVMSetAlignment(first, (unsigned)kn_type_size(p->buffer->type));
    LLVMSetOrdering(first, LLVMAtomicOrderingMonotonic);
    LLVMBuildBr(g->b, loop);
    go_to(g, loop);
    here(g);
    LLVMValueRef old = LLVMBuildPhi(g->b, bits, "");
    ShapedValue  v   = { .shape = UNIFORM, .level = g->depth, .named = g->depth };
    v.v              = from_memory(g, LLVMBuildBitCast(g->b, old, type, ""), p->buffer->type);
    if (load)
        g->answers[load->id] = (KnownValue){ .value = v, .serial = g->statement };
    const ShapedValue result = gen_expr(g, p->value);
    here(g);
    LLVMValueRef      new_bits = LLVMBuildBitCast(g->b, to_memory(g, result.v, p->buffer->type), bits, "");
    LLVMValueRef      pair     = LLVMBuildAtomicCmpXchg(g->b, ptr, old, new_bits, LLVMAtomicOrderingMonotonic,
                                                        LLVMAtomicOrderingMonotonic, false);
    LLVMBasicBlockRef last     = LLVMGetInsertBlock(g->b);
    LLVMValueRef      seen     = LLVMBuildExtractValue(g->b, pair, 0, "");
    LLVMBuildCondBr(g->b, LLVMBuildExtractValue(g->b, pair, 1, ""), after, loop);
    LLVMAddIncoming(old, (LLVMValueRef[]){ first, seen }, (LLVMBasicBlockRef[]){ before, last }, 2);
    go_to(g, after);
}

/* Of parts of words LLVM 19 makes a loop that compares with the first value it has read, not with the last. */
static bool is_miscompiled(const Gen *g, const Buffer *b, LLVMAtomicRMWBinOp op)
{
    const bool extreme = op == LLVMAtomicRMWBinOpMin || op == LLVMAtomicRMWBinOpUMin || op == LLVMAtomicRMWBinOpMax ||
                         op == LLVMAtomicRMWBinOpUMax;
    return g->kernel && extreme && kn_type_size(b->type) < 4;
}

static void gen_one_element(Gen *g, const Place *p)
{
    const Address a = address_of(g, p->buffer, p->index, false);
    address_check(g, &a);
    LLVMValueRef       ptr = address_pointer(g, &a, 0);
    LLVMAtomicRMWBinOp op;
    const Expr        *operand;
    if (find_instruction(p, &op, &operand) && !is_miscompiled(g, p->buffer, op)) {
        const ShapedValue v = gen_expr(g, operand);
        here(g);
        const bool negate = g->kernel && op == LLVMAtomicRMWBinOpFSub; /* devices only add */
        LLVMBuildAtomicRMW(g->b, negate ? LLVMAtomicRMWBinOpFAdd : op, ptr, negate ? LLVMBuildFNeg(g->b, v.v, "") : v.v,
                           LLVMAtomicOrderingMonotonic, false);
        return;
    }
    const Expr *load = own_load(g, p->value, p);
    here(g);
    gen_exchange_loop(g, p, load, ptr);
}

/* ---- Several elements ---- */

static void gen_locked(Gen *g, const Stmt *s)
{
    const int     n       = s->store.count;
    const Address first   = address_of(g, s->store.places[0].buffer, s->store.places[0].index, false);
    LLVMValueRef  args[2] = { g->f->rt, address_pointer(g, &first, 0) };
    here(g);
    rt_call(g, "kn_rt_lock", g->t.none, 2, args);
    Cleanup     *c      = cleanup_push(g);
    ShapedValue *values = gen_alloc(g, (size_t)n * sizeof *values);
    for (int i = 0; i < n; i++)
        values[i] = gen_expr(g, s->store.places[i].value);
    for (int i = 0; i < n; i++) {
        const Address a = address_of(g, s->store.places[i].buffer, s->store.places[i].index, false);
        gen_store_lanes(g, &a, values[i], false);
    }
    if (cleanup_pop(g)) {
        rt_call(g, "kn_rt_unlock", g->t.none, 2, args);
        cleanup_go_on(g, c);
    }
    here(g);
    rt_call(g, "kn_rt_unlock", g->t.none, 2, args);
}

/* Does the value for one place depend on what is stored in another, apart from its own element? */
static bool depends(Gen *g, const Expr *e, const Place *p, const Buffer *other)
{
    if (g->seen[e->id] == g->statement)
        return false;
    g->seen[e->id] = g->statement;
    bool found     = e->op == EX_LOAD && e->u.buffer == other && !is_own_load(e, p);
    for (uint32_t i = 0; !found && i < e->count; i++)
        found = depends(g, e->args[i], p, other);
    return found;
}

/* In a kernel there are no locks: elements that do not depend on each other are updated one by one. What only its
 * thread can reach is stored as anything else. */
static void gen_one_by_one(Gen *g, const Stmt *s)
{
    const Place *places = s->store.places;
    for (int i = 0; i < s->store.count; i++)
        for (int k = 0; k < s->store.count; k++) {
            statement_begin(g);
            if (i != k && depends(g, places[i].value, &places[i], places[k].buffer))
                gen_fail(g,
                         "the kernel `%s` updates `%s` and `%s` atomically, and one depends on the other: a device "
                         "exchanges one element at a time",
                         g->kernel->stmt->kernel.name, places[i].buffer->name, places[k].buffer->name);
        }
    for (int i = 0; i < s->store.count; i++) {
        statement_begin(g);
        if (g->f->buffers[places[i].buffer->id].own) {
            const ShapedValue v = gen_expr(g, places[i].value);
            const Address     a = address_of(g, places[i].buffer, places[i].index, false);
            gen_store_lanes(g, &a, v, false);
        } else {
            gen_one_element(g, &places[i]);
        }
    }
}

void gen_atomic(Gen *g, const Stmt *s)
{
    if (g->lanes) {
        gen_lane_by_lane(g, s, gen_atomic);
        return;
    }
    if (g->kernel) {
        gen_one_by_one(g, s);
        return;
    }
    statement_begin(g);
    if (s->store.count == 1)
        gen_one_element(g, &s->store.places[0]);
    else
        gen_locked(g, s);
}
