/* SPDX-License-Identifier: MIT */
/* Statements: control flow, allocations, checks. A varying `if` becomes a mask around what it holds, behind a branch
 * that is taken if any lane takes part. */
#include "codegen/llvm/llvm.h"
#include "ir/fields.h"

#include <string.h>

enum {
    MOST_AUTO_STACK = 64 << 10, /* bytes of AUTO scratch that one function keeps on its stack */
    MOST_STACK      = 1 << 20,  /* of all scratch, however it was asked for */
    ALIGNMENT       = 64,       /* of scratch, and what may be read behind its end */
};

/* ---- Names and loops ---- */

/* The values of the statement's own expressions that stand in a vector loop: their loads are looked at together. */
static void begin_with(Gen *g, const Expr *e)
{
    statement_begin(g);
    collect_loads(g, e);
}

/* What a kernel loads by a statement of its own is wanted there: marked as constant, ptxas would load it late to use
 * fewer registers. */
static bool is_early_load(const Gen *g, const Expr *value)
{
    return g->kernel && value->op == EX_LOAD && value->u.buffer->memory != MEMORY_SHARED;
}

static void gen_let(Gen *g, const Stmt *s)
{
    begin_with(g, s->let.value);
    g->stays              = is_early_load(g, s->let.value);
    ShapedValue v         = gen_expr(g, s->let.value);
    g->stays              = false;
    const bool coordinate = is_named_coordinate(g, s->let.value);
    const bool lasts =
        v.pure; /* else the memory it is made of may be written in the body: what it was has this name alone */
    scope_push(g, NULL);
    v.named                                  = g->depth;
    v.pure                                   = true;
    bind(g, s->let.name, v, coordinate)->sum = coordinate && lasts && s->let.value->op != EX_VAR ? s->let.value : NULL;
    gen_stmt(g, s->let.body);
    unbind(g, s->let.name);
    scope_pop(g);
}

/* A bound in the type that the loop counts in, where the bound itself is computed. */
static LLVMValueRef bound_as(Gen *g, const Expr *e, LLVMTypeRef type, int *level)
{
    const ShapedValue v = gen_expr(g, e);
    if (v.shape != UNIFORM)
        gen_fail(g, "a loop inside a vector loop has bounds that differ from lane to lane");
    *level = *level > v.level ? *level : v.level;
    at_level(g, v.level);
    return LLVMTypeOf(v.v) == type ? v.v : LLVMBuildSExt(g->b, v.v, type, "");
}

/* What stands in a loop, but not in another serial loop: the lanes of its vectors, and the constant factors of its
 * variable. */
typedef struct Multiples {
    Gen        *g;
    const char *name;
    uint64_t    factors, lanes; /* the bits of all of them */
} Multiples;

static void find_multiples(void *user, const Expr *e)
{
    Multiples *m = user;
    int64_t    c;
    if (!e || m->g->seen[e->id] == m->g->statement)
        return;
    m->g->seen[e->id] = m->g->statement;
    if (e->op == EX_MUL && e->args[0]->op == EX_VAR && e->args[0]->u.name == m->name && expr_is_int(e->args[1], &c))
        m->factors |= (uint64_t)c;
    for (uint32_t i = 0; i < e->count; i++)
        find_multiples(m, e->args[i]);
}

static void find_vectors(void *user, const Stmt *s)
{
    Multiples *m = user;
    int64_t    lanes;
    if (s->kind == STMT_FOR && s->loop.kind != LOOP_VECTOR)
        return;
    if (s->kind == STMT_FOR && expr_is_int(s->loop.extent, &lanes))
        m->lanes |= (uint64_t)lanes;
    stmt_children(s, find_multiples, find_vectors, m);
}

/* By what a loop around vectors counts: the power of two that divides their lanes and all factors of its variable. Then
 * the addresses of its vectors are a pointer and what it counts, in elements, which is an addressing mode. */
static int64_t counting_step(Gen *g, const Stmt *s)
{
    Multiples m = { .g = g, .name = s->loop.name };
    find_vectors(&m, s->loop.body);
    const uint64_t all = m.factors | m.lanes;
    return m.factors && m.lanes ? (int64_t)(all & (0 - all)) : 1;
}

/* if (0 < extent) { i = min; do { body } while (++i < min + extent) }, counted in multiples of `step` and in 64 bits,
 * as addresses are; in a kernel by one and in the type of the bounds, because registers have 32 bits. (That the
 * addition does not wrap is not said: LLVM would then compare what was before it, and keep both.) */
static void gen_serial(Gen *g, const Stmt *s)
{
    statement_begin(g);
    const bool    wide_bounds = s->loop.min->type == KN_I64 || s->loop.extent->type == KN_I64;
    LLVMTypeRef   type        = g->kernel && !wide_bounds ? g->t.i32 : g->t.i64;
    const int64_t step        = g->kernel ? 1 : counting_step(g, s);
    int           level       = g->f->base;
    LLVMValueRef  first = bound_as(g, s->loop.min, type, &level), extent = bound_as(g, s->loop.extent, type, &level);
    at_level(g, level);
    LLVMValueRef end       = LLVMBuildMul(g->b, LLVMBuildAdd(g->b, first, extent, ""), int_like(type, step), "");
    first                  = LLVMBuildMul(g->b, first, int_like(type, step), "");
    LLVMBasicBlockRef body = block_new(g, s->loop.name), after = block_new(g, "after");
    here(g);
    LLVMBasicBlockRef before = LLVMGetInsertBlock(g->b);
    LLVMBuildCondBr(g->b, LLVMBuildICmp(g->b, LLVMIntSGT, extent, int_like(type, 0), ""), body, after);
    scope_push_loop(g, body);
    here(g);
    LLVMValueRef i    = LLVMBuildPhi(g->b, type, s->loop.name);
    LLVMValueRef wide = step > 1 ? LLVMBuildExactSDiv(g->b, i, i64_const(g, step), "") : i;
    ShapedValue  v    = { .v = wide, .shape = UNIFORM, .level = g->depth, .named = g->depth, .pure = true };
    if (s->loop.min->type != KN_I64 && type == g->t.i64)
        v.v = LLVMBuildTrunc(g->b, wide, g->t.i32, "");
    NameBinding *b = bind(g, s->loop.name, v, true);
    b->wide        = type == g->t.i64 ? wide : NULL;
    b->scaled      = step > 1 ? i : NULL;
    b->scale       = step;
    gen_stmt(g, s->loop.body);
    unbind(g, s->loop.name);
    here(g);
    LLVMValueRef      next = LLVMBuildAdd(g->b, i, int_like(type, step), "");
    LLVMBasicBlockRef last = LLVMGetInsertBlock(g->b);
    LLVMBuildCondBr(g->b, LLVMBuildICmp(g->b, LLVMIntSLT, next, end, ""), body, after);
    LLVMAddIncoming(i, (LLVMValueRef[]){ first, next }, (LLVMBasicBlockRef[]){ before, last }, 2);
    scope_pop(g);
    go_to(g, after);
}

/* The body for `lanes` iterations at once from `first` on: the variable is a ramp. One iteration is no vector. */
static void gen_lanes(Gen *g, const Stmt *s, ShapedValue first, int lanes)
{
    scope_push(g, NULL);
    first.named         = g->depth;
    first.pure          = true;
    g->transposed_count = 0;
    if (lanes > 1) {
        first.shape     = RAMP;
        first.step      = 1;
        g->lanes        = lanes;
        g->vector_level = g->depth;
    }
    bind(g, s->loop.name, first, true);
    gen_stmt(g, s->loop.body);
    unbind(g, s->loop.name);
    g->lanes = 0;
    scope_pop(g);
}

static void gen_vector(Gen *g, const Stmt *s)
{
    int64_t lanes;
    if (!expr_is_int(s->loop.extent, &lanes) || lanes < 1 || lanes > MOST_VECTOR_LANES)
        gen_fail(g, "the vector loop over `%s` has no constant number of lanes between 1 and %d", s->loop.name,
                 MOST_VECTOR_LANES);
    if (g->lanes)
        gen_fail(g, "the vector loop over `%s` stands inside another vector loop", s->loop.name);
    statement_begin(g);
    gen_lanes(g, s, gen_expr(g, s->loop.min), (int)lanes);
}

static void gen_for(Gen *g, const Stmt *s)
{
    if (s->loop.kind == LOOP_VECTOR)
        gen_vector(g, s);
    else if (loop_table[s->loop.kind].thread)
        gen_thread_nest(g, s);
    else if (s->loop.kind == LOOP_PARALLEL && !g->lanes && !g->kernel)
        gen_parallel(g, s);
    else
        gen_serial(g, s);
}

static void gen_block(Gen *g, const Stmt *s)
{
    for (int i = 0; i < s->block.count; i++)
        gen_stmt(g, s->block.items[i]);
}

/* ---- Branches ---- */

typedef void GenStmt(Gen *g, const Stmt *s);

/* The arm in a scope of its own, then on to `after`. */
static void gen_arm(Gen *g, const Stmt *s, GenStmt *gen, LLVMBasicBlockRef block, LLVMBasicBlockRef after)
{
    scope_push(g, block);
    gen(g, s);
    here(g);
    LLVMBuildBr(g->b, after);
    scope_pop(g);
}

static void gen_branch(Gen *g, const Stmt *s, GenStmt *gen, LLVMValueRef condition)
{
    LLVMBasicBlockRef yes = block_new(g, "yes"), no = s->branch.no ? block_new(g, "no") : NULL,
                      after = block_new(g, "after");
    here(g);
    LLVMBasicBlockRef before = LLVMGetInsertBlock(g->b);
    LLVMBuildCondBr(g->b, condition, yes, no ? no : after);
    gen_arm(g, s->branch.yes, gen, yes, after);
    if (no) {
        go_to(g, before);
        gen_arm(g, s->branch.no, gen, no, after);
    }
    go_to(g, after);
}

/* The lanes where `mask` holds, if there is any. */
static void gen_masked(Gen *g, const Stmt *s, LLVMValueRef mask)
{
    LLVMValueRef outer = g->mask;
    here(g);
    if (outer)
        mask = LLVMBuildAnd(g->b, outer, mask, "");
    LLVMBasicBlockRef some = block_new(g, "some"), after = block_new(g, "after");
    LLVMBuildCondBr(g->b, any_lane(g, mask), some, after);
    g->mask = mask;
    gen_arm(g, s, gen_stmt, some, after);
    g->mask = outer;
    go_to(g, after);
}

/* Does a conjunction hold in all lanes? What they have in common is asked once: *common, i1; of the rest *apart has the
 * lanes where it does not hold. NULL: there is none. */
static void split_conjunction(Gen *g, const Expr *e, LLVMValueRef *common, LLVMValueRef *apart)
{
    const ShapedValue v = gen_expr(g, e);
    if (v.shape != UNIFORM && e->op == EX_AND) {
        split_conjunction(g, e->args[0], common, apart);
        split_conjunction(g, e->args[1], common, apart);
        return;
    }
    here(g);
    if (v.shape == UNIFORM) {
        *common = *common ? LLVMBuildAnd(g->b, *common, v.v, "") : v.v;
    } else {
        LLVMValueRef no = LLVMBuildNot(g->b, v.v, "");
        *apart          = *apart ? LLVMBuildOr(g->b, *apart, no, "") : no;
    }
}

static void gen_if(Gen *g, const Stmt *s)
{
    begin_with(g, s->branch.condition);
    const ShapedValue c = gen_expr(g, s->branch.condition);
    if (c.shape == UNIFORM) {
        gen_branch(g, s, gen_stmt, c.v);
        return;
    }
    if (s->branch.whole) {
        LLVMValueRef common = NULL, apart = NULL;
        split_conjunction(g, s->branch.condition, &common, &apart);
        here(g);
        if (g->mask)
            apart = LLVMBuildAnd(g->b, apart, g->mask, "");
        LLVMValueRef all = LLVMBuildNot(g->b, any_lane(g, apart), "");
        gen_branch(g, s, gen_stmt, common ? LLVMBuildAnd(g->b, common, all, "") : all);
        return;
    }
    gen_masked(g, s->branch.yes, c.v);
    if (s->branch.no) {
        here(g);
        gen_masked(g, s->branch.no, LLVMBuildNot(g->b, c.v, ""));
    }
}

/* ---- Stores ---- */

static void gen_values(Gen *g, const Stmt *s)
{
    statement_begin(g);
    const int n = s->store.count;
    for (int i = 0; i < n; i++) {
        collect_loads(g, s->store.places[i].index);
        collect_loads(g, s->store.places[i].value);
    }
    ShapedValue *values = gen_alloc(g, (size_t)n * sizeof *values);
    for (int i = 0; i < n; i++)
        values[i] = gen_expr(g, s->store.places[i].value);
    Address *at = gen_alloc(g, (size_t)n * sizeof *at);
    for (int i = 0; i < n; i++)
        at[i] = address_of(g, s->store.places[i].buffer, s->store.places[i].index, false);
    for (int i = 0; i < n; i++)
        gen_store_lanes(g, &at[i], values[i], s->store.stream);
}

static void gen_store(Gen *g, const Stmt *s)
{
    const Place *first = &s->store.places[0];
    g->stays           = first->buffer->memory == MEMORY_REGISTER && is_early_load(g, first->value);
    if (s->store.atomic)
        gen_atomic(g, s);
    else
        gen_values(g, s);
    g->stays = false;
    for (int i = 0; i < s->store.count; i++)
        g->f->buffers[s->store.places[i].buffer->id].writes++;
}

static void gen_prefetch(Gen *g, const Stmt *s)
{
    statement_begin(g);
    const Address a   = address_of(g, s->prefetch.buffer, s->prefetch.index, false);
    LLVMValueRef  ptr = address_pointer(g, &a, a.offsets ? a.offsets[0] : 0);
    here(g);
    intrinsic(g, "llvm.prefetch", 1, &g->t.ptr, 4,
              (LLVMValueRef[]){ ptr, i32_const(g, 0), i32_const(g, 3), i32_const(g, 1) });
}

/* ---- Allocations ---- */

/* Scratch of constant size in the function's frame; NULL if it belongs on the heap. */
static LLVMValueRef alloc_on_stack(Gen *g, const Buffer *b, const Expr *count)
{
    int64_t       n;
    const int64_t size = (int64_t)kn_type_size(b->type), pad = ALIGNMENT / size;
    const int64_t most = memory_table[b->memory].if_small ? MOST_AUTO_STACK : MOST_STACK;
    if (!memory_table[b->memory].on_stack || !expr_is_int(count, &n) || n > most / size ||
        (int64_t)g->f->stack_used + n * size > most)
        return NULL;
    n = n < 1 ? 1 : n;
    g->f->stack_used += (size_t)(n * size + ALIGNMENT);
    LLVMPositionBuilderBefore(g->b, LLVMGetBasicBlockTerminator(g->f->entry));
    LLVMValueRef at = LLVMBuildAlloca(g->b, LLVMArrayType2(memory_type(g, b->type), (uint64_t)(n + pad)), b->name);
    LLVMSetAlignment(at, ALIGNMENT);
    return at;
}

/* No more than all vector registers hold. */
static bool fits_registers(const Gen *g, const Buffer *b, int64_t elements)
{
    const int64_t bits = (int64_t)g->target->byte_vector_bits * g->target->vector_registers;
    return elements > 0 && elements <= bits / type_bits(b->type);
}

/* kn_rt_alloc of at least one element; a failure ends the function. */
static LLVMValueRef alloc_on_heap(Gen *g, const Buffer *b, LLVMValueRef count)
{
    here(g);
    LLVMValueRef n     = intrinsic2(g, "llvm.smax", count, i64_const(g, 1));
    n                  = intrinsic2(g, "llvm.smin", n, i64_const(g, (int64_t)1 << 58));
    LLVMValueRef bytes = LLVMBuildMul(g->b, n, i64_const(g, (int64_t)kn_type_size(b->type)), "");
    LLVMValueRef at    = rt_call(g, "kn_rt_alloc", g->t.ptr, 2, (LLVMValueRef[]){ g->f->rt, bytes });
    LLVMValueRef none  = LLVMBuildICmp(g->b, LLVMIntEQ, at, LLVMConstNull(g->t.ptr), "");
    fail_unless_zero(g, LLVMBuildSelect(g->b, none, i32_const(g, KN_ERROR_LIMIT), i32_const(g, 0), ""));
    return at;
}

static void gen_alloc_stmt(Gen *g, const Stmt *s)
{
    const Buffer *b     = s->alloc.buffer;
    BufferState  *state = &g->f->buffers[b->id];
    if (g->lanes)
        gen_fail(g, "`%s` is allocated inside a vector loop", b->name);
    if (b->memory == MEMORY_GLOBAL) {
        gen_device_scratch(g, s);
        return;
    }
    statement_begin(g);
    LLVMValueRef count = gen_uniform(g, s->alloc.count);
    LLVMValueRef at    = alloc_on_stack(g, b, s->alloc.count);
    const bool   heap  = !at;
    if (heap)
        at = alloc_on_heap(g, b, count);
    scope_push(g, NULL);
    int64_t elements = 0;
    if (!expr_is_int(s->alloc.count, &elements))
        elements = 0;
    *state = (BufferState){ .base     = at,
                            .level    = heap ? g->depth : g->f->base,
                            .elements = elements,
                            .tile     = !heap && fits_registers(g, b, elements) };
    here(g);
    state->low  = i64_const(g, 0);
    state->high = LLVMBuildSub(g->b, count, i64_const(g, 1), "");
    Cleanup *c  = heap ? cleanup_push(g) : NULL;
    gen_stmt(g, s->alloc.body);
    if (heap) {
        LLVMValueRef args[2] = { g->f->rt, at };
        if (cleanup_pop(g)) {
            rt_call(g, "kn_rt_free", g->t.none, 2, args);
            cleanup_go_on(g, c);
        }
        here(g);
        rt_call(g, "kn_rt_free", g->t.none, 2, args);
    }
    *state = (BufferState){ 0 };
    scope_pop(g);
}

/* ---- Checks ---- */

static void gen_need(Gen *g, const Stmt *s)
{
    statement_begin(g);
    LLVMValueRef min = gen_uniform(g, s->need.min), max = gen_uniform(g, s->need.max);
    const char  *reader = s->need.reader;
    here(g);
    LLVMValueRef name   = reader ? text_const(g, reader, strlen(reader) + 1) : LLVMConstNull(g->t.ptr);
    LLVMValueRef args[] = {
        g->f->rt, g->rt_program, i32_const(g, s->need.buffer->id), i32_const(g, s->need.dim), min, max, g->f->used, name
    };
    fail_unless_zero(g, rt_call(g, "kn_rt_need", g->t.i32, 8, args));
}

static void gen_check(Gen *g, const Stmt *s)
{
    statement_begin(g);
    LLVMValueRef      holds = gen_uniform(g, s->check.condition);
    LLVMBasicBlockRef no = block_new(g, "refused"), yes = block_new(g, "checked");
    here(g);
    LLVMBuildCondBr(g->b, holds, yes, no);
    go_to(g, no);
    here(g);
    LLVMValueRef message = text_const(g, s->check.message, strlen(s->check.message) + 1);
    fail_with(g, rt_call(g, "kn_rt_fail", g->t.i32, 4,
                         (LLVMValueRef[]){ g->f->rt, g->rt_program, i32_const(g, s->check.status), message }));
    go_to(g, yes);
}

/* What a large function produces is a function of its own, and so is each version of a definition that has several:
 * LLVM's time grows with the square of a function. */
static void produced(Gen *g, const Stmt *body)
{
    if (body && body->kind == STMT_IF && g->f->large && !g->lanes) {
        begin_with(g, body->branch.condition);
        gen_branch(g, body, produced, gen_uniform(g, body->branch.condition));
    } else if (!gen_outlined(g, body))
        gen_stmt(g, body);
}

/* With `profile`, between enter and leave, whichever way it ends. */
static void gen_produce(Gen *g, const Stmt *s)
{
    const int func = g->options->profile && !g->lanes && !g->kernel ? produced_index(g, s->produce.func) : -1;
    if (func < 0) {
        produced(g, s->produce.body);
        return;
    }
    LLVMValueRef args[3] = { g->f->rt, g->rt_program, i32_const(g, func) };
    here(g);
    rt_call(g, "kn_rt_profile_enter", g->t.none, 3, args);
    Cleanup *c = cleanup_push(g);
    produced(g, s->produce.body);
    if (cleanup_pop(g)) {
        rt_call(g, "kn_rt_profile_leave", g->t.none, 3, args);
        cleanup_go_on(g, c);
    }
    here(g);
    rt_call(g, "kn_rt_profile_leave", g->t.none, 3, args);
}

static void gen_stage_stmt(Gen *g, const Stmt *s)
{
    gen_stage(g, s->stage);
}

static void gen_nothing(Gen *g, const Stmt *s)
{
    (void)g, (void)s;
}

/* clang-format off */
static GenStmt *const stmt_table[STMT_COUNT] = {
    [STMT_LET] = gen_let, [STMT_FOR] = gen_for, [STMT_BLOCK] = gen_block, [STMT_IF] = gen_if,
    [STMT_PRODUCE] = gen_produce,
    [STMT_PROVIDE] = NULL, [STMT_REALIZE] = NULL, [STMT_STORE] = gen_store, [STMT_ALLOC] = gen_alloc_stmt,
    [STMT_NEED] = gen_need,
    [STMT_CHECK] = gen_check, [STMT_STAGE] = gen_stage_stmt, [STMT_PREFETCH] = gen_prefetch,
    [STMT_KERNEL] = gen_launch, [STMT_SYNC] = gen_sync,
};

/* In a kernel. */
static GenStmt *const kernel_table[STMT_COUNT] = {
    [STMT_LET] = gen_let, [STMT_FOR] = gen_for, [STMT_BLOCK] = gen_block, [STMT_IF] = gen_if,
    [STMT_PRODUCE] = gen_produce, [STMT_STORE] = gen_store, [STMT_ALLOC] = gen_kernel_scratch,
    [STMT_PREFETCH] = gen_nothing, [STMT_BARRIER] = gen_barrier,
};
/* clang-format on */

void gen_stmt(Gen *g, const Stmt *s)
{
    if (!s)
        return;
    GenStmt *gen = (g->kernel ? kernel_table : stmt_table)[s->kind];
    if (!gen && g->kernel)
        gen_fail(g, "`%s` cannot stand in the kernel %s", stmt_records[s->kind].name, g->kernel->stmt->kernel.name);
    if (!gen)
        gen_fail(g, "the program reached the backend before it was flattened");
    gen(g, s);
}
