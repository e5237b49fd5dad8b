/* SPDX-License-Identifier: MIT */
/* Barriers: where one thread of a block reads what another has stored.
 *
 * Takes   kernels.
 * Gives   the same with barriers between thread nests: one before a nest that reads what an earlier nest stored since
 *         the last barrier, or stores what an earlier one read or stored.
 * Holds   a barrier stands outside thread loops, where all threads come by. A loop of the block is looked at twice: its
 *         first nest follows its last. Memory of one thread needs none. Buffers that share memory count as one. */
#include "ir/kernel.h"
#include "lower/lower.h"

/* What was read and written since the last barrier, by the id of the buffer whose memory it is. */
typedef struct Pending {
    bool *read, *written;
} Pending;

typedef struct BarrierPass {
    Lower  *lw;
    size_t  count; /* of buffers */
    Pending now;
} BarrierPass;

static const Stmt *place(void *user, const Stmt *s);

static Pending pending_new(const BarrierPass *b, const Pending *from)
{
    Pending p = { ARENA_ARRAY(b->lw->arena, bool, b->count + 1), ARENA_ARRAY(b->lw->arena, bool, b->count + 1) };
    for (size_t i = 0; from && i < b->count; i++) {
        p.read[i]    = from->read[i];
        p.written[i] = from->written[i];
    }
    return p;
}

static void pending_join(const BarrierPass *b, Pending *p, const Pending *other)
{
    for (size_t i = 0; i < b->count; i++) {
        p->read[i] |= other->read[i];
        p->written[i] |= other->written[i];
    }
}

/* ---- What a statement touches ---------------------------------------------------------------- */

typedef struct Touch {
    const BarrierPass *pass;
    Pending            p;
    Map                seen; /* expressions */
} Touch;

/* Do several threads of a block see it? */
static bool is_common(const Buffer *b)
{
    return b->kind != BUFFER_SCRATCH || b->memory == MEMORY_SHARED || b->memory == MEMORY_GLOBAL;
}

static void touch_expr(void *user, const Expr *e)
{
    Touch *t = user;
    if (!e || map_get(&t->seen, e))
        return;
    map_set(&t->seen, e, e);
    if (e->op == EX_LOAD && is_common(e->u.buffer))
        t->p.read[shared_home(e->u.buffer)->id] = true;
    for (uint32_t i = 0; i < e->count; i++)
        touch_expr(t, e->args[i]);
}

static void touch_stmt(void *user, const Stmt *s)
{
    Touch *t = user;
    for (int i = 0; s->kind == STMT_STORE && i < s->store.count; i++)
        if (is_common(s->store.places[i].buffer))
            t->p.written[shared_home(s->store.places[i].buffer)->id] = true;
    stmt_children(s, touch_expr, touch_stmt, t);
}

static Touch touch_new(const BarrierPass *b)
{
    Touch t = { .pass = b, .p = pending_new(b, NULL) };
    map_init(&t.seen, b->lw->arena);
    return t;
}

/* ---- Placing ---------------------------------------------------------------------------------- */

/* Must all have come by before this is done? If so nothing is pending any more. Then it is pending itself. */
static bool needs_barrier(BarrierPass *b, const Pending *next)
{
    bool needs = false;
    for (size_t i = 0; i < b->count; i++)
        needs |= (next->read[i] && b->now.written[i]) || (next->written[i] && (b->now.read[i] || b->now.written[i]));
    if (needs)
        b->now = pending_new(b, NULL);
    pending_join(b, &b->now, next);
    return needs;
}

static const Stmt *after_barrier(BarrierPass *b, bool needs, const Stmt *s)
{
    if (!needs)
        return s;
    Stmt *barrier = ARENA_NEW(b->lw->arena, Stmt);
    barrier->kind = STMT_BARRIER;
    return stmt_pair(b->lw->arena, barrier, s);
}

/* What was pending where a loop is entered, or where its last iteration ended. */
static const Stmt *place_loop(BarrierPass *b, const Stmt *s)
{
    const StmtMap m      = { b->lw->arena, place, NULL, b };
    const Pending before = b->now;
    b->now               = pending_new(b, &before);
    stmt_map(&m, s);
    pending_join(b, &b->now, &before);
    s = stmt_map(&m, s);
    pending_join(b, &b->now, &before);
    return s;
}

static const Stmt *place_branch(BarrierPass *b, const Stmt *s)
{
    const Pending before = b->now;
    b->now               = pending_new(b, &before);
    const Stmt   *yes    = s->branch.yes ? place(b, s->branch.yes) : NULL;
    const Pending after  = b->now;
    b->now               = pending_new(b, &before);
    const Stmt *no       = s->branch.no ? place(b, s->branch.no) : NULL;
    pending_join(b, &b->now, &after);
    return stmt_if(b->lw->arena, s->branch.condition, yes, no);
}

/* A statement of the block. */
static const Stmt *place(void *user, const Stmt *s)
{
    BarrierPass  *b = user;
    const StmtMap m = { b->lw->arena, place, NULL, b };
    Touch         t = touch_new(b);
    if (s->kind == STMT_FOR && loop_table[s->loop.kind].thread) {
        touch_stmt(&t, s);
        return after_barrier(b, needs_barrier(b, &t.p), s);
    }
    stmt_children(s, touch_expr, NULL, &t); /* its own expressions are read by all threads */
    const bool needs = needs_barrier(b, &t.p);
    if (s->kind == STMT_FOR)
        return after_barrier(b, needs, place_loop(b, s));
    return after_barrier(b, needs, s->kind == STMT_IF ? place_branch(b, s) : stmt_map(&m, s));
}

static const Stmt *place_in_kernel(BarrierPass *b, const Stmt *s)
{
    if (s->kind != STMT_FOR || s->loop.kind != LOOP_BLOCK)
        return place(b, s);
    return stmt_for(b->lw->arena, s->loop.name, s->loop.kind, s->loop.min, s->loop.extent,
                    place_in_kernel(b, s->loop.body));
}

/* ---- Counting --------------------------------------------------------------------------------- */

enum { SOME_ITERATIONS = 8 }; /* of a loop whose extent is not known */

typedef struct BarrierCount {
    int64_t times, all; /* that what is looked at is executed; barriers */
} BarrierCount;

static void count_barriers(void *user, const Stmt *s)
{
    BarrierCount *c     = user;
    const int64_t outer = c->times;
    int64_t       extent;
    c->all += s->kind == STMT_BARRIER ? c->times : 0;
    if (s->kind == STMT_FOR && loop_table[s->loop.kind].thread)
        return;
    if (s->kind == STMT_FOR && s->loop.kind != LOOP_BLOCK)
        c->times *= expr_is_int(s->loop.extent, &extent) && extent > 0 ? extent : SOME_ITERATIONS;
    stmt_children(s, NULL, count_barriers, c);
    c->times = outer;
}

int64_t barriers_needed(Lower *lw, const Stmt *kernel)
{
    BarrierPass  b = { .lw = lw, .count = lw->program->buffers.count };
    BarrierCount c = { .times = 1 };
    b.now          = pending_new(&b, NULL);
    count_barriers(&c, place_in_kernel(&b, kernel->kernel.body));
    return c.all;
}

/* ---- The pass --------------------------------------------------------------------------------- */

static const Stmt *find_kernels(void *user, const Stmt *s)
{
    BarrierPass  *b = user;
    const StmtMap m = { b->lw->arena, find_kernels, NULL, b };
    if (s->kind != STMT_KERNEL)
        return stmt_map(&m, s);
    b->now              = pending_new(b, NULL);
    Stmt *kernel        = ARENA_NEW(b->lw->arena, Stmt);
    *kernel             = *s;
    kernel->kernel.body = place_in_kernel(b, s->kernel.body);
    return kernel;
}

const Stmt *lower_barriers(Lower *lw, const Stmt *s)
{
    BarrierPass b = { .lw = lw, .count = lw->program->buffers.count };
    return s ? find_kernels(&b, s) : NULL;
}
