/* SPDX-License-Identifier: MIT */
/* Shared memory of blocks, used again.
 *
 * Takes   kernels whose blocks have scratch in shared memory, each buffer in memory of its own.
 * Gives   the same with buffers that take turns in one memory (Buffer.shares): their live ranges do not overlap.
 * Holds   the live range of an allocation is from the first statement of the block that touches it to the last; a loop
 *         of the block inside the allocation that touches it counts as a whole. The order is made by barriers, which
 *         are placed after this pass. Where memory suffices, two buffers share only if that needs no further barrier.
 *         A block that needs more than a device has is refused, with the place. */
#include "ir/kernel.h"
#include "lower/lower.h"

/* Of one allocation; positions are statements of the block in the order of the text. */
typedef struct LiveRange {
    const Buffer *buffer;
    int           first, last;
} LiveRange;

typedef VEC(const Buffer *) BufferList;

typedef struct SharedKernel {
    const Stmt *stmt;
    BufferList  buffers; /* in shared memory, in the order of the text */
} SharedKernel;

typedef struct SharedPass {
    Lower *lw;
    VEC(SharedKernel) kernels;
    VEC(LiveRange) ranges;
    VEC(size_t) open; /* the ranges of the allocations around, the innermost last */
    int position;
} SharedPass;

static bool is_thread_loop(const Stmt *s)
{
    return s->kind == STMT_FOR && loop_table[s->loop.kind].thread;
}

/* ---- Live ranges ------------------------------------------------------------------------------ */

static void touch(SharedPass *p, const Buffer *b)
{
    for (size_t i = p->open.count; i-- > 0;) {
        LiveRange *range = &p->ranges.at[p->open.at[i]];
        if (range->buffer != b)
            continue;
        range->first = range->first < 0 ? p->position : range->first;
        range->last  = p->position;
        return;
    }
}

static void touch_node(const Expr *e, void *user)
{
    if (e->op == EX_LOAD)
        touch(user, e->u.buffer);
}

static void touch_expr(void *user, const Expr *e)
{
    SharedPass *p = user;
    expr_visit(p->lw->exprs, e, touch_node, p);
}

static void touch_stmt(void *user, const Stmt *s)
{
    for (int i = 0; s->kind == STMT_STORE && i < s->store.count; i++)
        touch(user, s->store.places[i].buffer);
    stmt_children(s, touch_expr, touch_stmt, user);
}

static void walk(void *user, const Stmt *s);

static void note_buffer(SharedPass *p, const Buffer *b)
{
    BufferList *list = &p->kernels.at[p->kernels.count - 1].buffers;
    for (size_t i = 0; i < list->count; i++)
        if (list->at[i] == b)
            return;
    vec_push(p->lw->arena, list, b);
}

static void walk_alloc(SharedPass *p, const Stmt *s)
{
    if (s->alloc.buffer->memory != MEMORY_SHARED) {
        walk(p, s->alloc.body);
        return;
    }
    note_buffer(p, s->alloc.buffer);
    vec_push(p->lw->arena, &p->open, p->ranges.count);
    vec_push(p->lw->arena, &p->ranges, ((LiveRange){ s->alloc.buffer, -1, -1 }));
    walk(p, s->alloc.body);
    p->open.count--;
}

/* What an iteration left is there in the next one. */
static void walk_loop(SharedPass *p, const Stmt *s)
{
    const int begin = p->position;
    walk(p, s->loop.body);
    for (size_t i = 0; i < p->open.count; i++) {
        LiveRange *range = &p->ranges.at[p->open.at[i]];
        if (range->last <= begin)
            continue;
        range->first = range->first < begin ? range->first : begin;
        range->last  = p->position;
    }
}

static void walk(void *user, const Stmt *s)
{
    SharedPass *p = user;
    p->position++;
    if (is_thread_loop(s)) {
        touch_stmt(p, s);
        return;
    }
    stmt_children(s, touch_expr, NULL, p); /* by all threads */
    if (s->kind == STMT_ALLOC)
        walk_alloc(p, s);
    else if (s->kind == STMT_FOR)
        walk_loop(p, s);
    else
        stmt_children(s, NULL, walk, p);
}

static void find_kernels(void *user, const Stmt *s)
{
    SharedPass *p = user;
    if (s->kind != STMT_KERNEL) {
        stmt_children(s, NULL, find_kernels, p);
        return;
    }
    vec_push(p->lw->arena, &p->kernels, ((SharedKernel){ .stmt = s }));
    walk(p, s->kernel.body);
}

static bool live_together(const SharedPass *p, const Buffer *a, const Buffer *b)
{
    for (size_t i = 0; i < p->ranges.count; i++)
        for (size_t k = 0; p->ranges.at[i].buffer == a && k < p->ranges.count; k++)
            if (p->ranges.at[k].buffer == b && p->ranges.at[i].first <= p->ranges.at[k].last &&
                p->ranges.at[k].first <= p->ranges.at[i].last && p->ranges.at[i].last >= 0 && p->ranges.at[k].last >= 0)
                return true;
    return false;
}

/* ---- Sharing ---------------------------------------------------------------------------------- */

static int64_t bytes_of(const SharedKernel *k, const Buffer *home)
{
    const int64_t bytes = shared_bytes(k->stmt, home);
    return (bytes + SHARED_ALIGNMENT - 1) / SHARED_ALIGNMENT * SHARED_ALIGNMENT;
}

static int64_t kernel_bytes(const SharedKernel *k)
{
    int64_t sum = 0;
    for (size_t i = 0; i < k->buffers.count; i++)
        sum += k->buffers.at[i]->shares ? 0 : bytes_of(k, k->buffers.at[i]);
    return sum;
}

static bool has_buffer(const SharedKernel *k, const Buffer *b)
{
    for (size_t i = 0; i < k->buffers.count; i++)
        if (k->buffers.at[i] == b)
            return true;
    return false;
}

/* May b lie in the memory of `home`: is it dead where the others there are live, in every copy of the kernel? */
static bool may_share(const SharedPass *p, const SharedKernel *k, const Buffer *home, const Buffer *b)
{
    for (size_t i = 0; i < k->buffers.count; i++)
        if (shared_home(k->buffers.at[i]) == home && live_together(p, k->buffers.at[i], b))
            return false;
    for (size_t i = 0; i < p->kernels.count; i++)
        if (has_buffer(&p->kernels.at[i], home) != has_buffer(&p->kernels.at[i], b))
            return false;
    return true;
}

/* Puts b into the memory of another, the first in the order of the text where it may be. */
static void place_buffer(SharedPass *p, const SharedKernel *k, Buffer *b, int64_t most_barriers)
{
    for (size_t i = 0; i < k->buffers.count && k->buffers.at[i] != b; i++) {
        const Buffer *home = k->buffers.at[i];
        if (home->shares || !may_share(p, k, home, b))
            continue;
        b->shares = home;
        if (barriers_needed(p->lw, k->stmt) <= most_barriers)
            return;
        b->shares = NULL;
    }
}

/* Is the memory of others in it? */
static bool is_home(const SharedKernel *k, const Buffer *b)
{
    for (size_t i = 0; i < k->buffers.count; i++)
        if (k->buffers.at[i]->shares == b)
            return true;
    return false;
}

/* At first without a further barrier; if that does not suffice, with as many as it takes. */
static void pack(SharedPass *p, const SharedKernel *k)
{
    Buffer *const *all = p->lw->program->buffers.at;
    for (size_t i = 0; i < k->buffers.count; i++)
        if (k->buffers.at[i]->shares || is_home(k, k->buffers.at[i])) /* decided with another copy of the kernel */
            return;
    if (k->buffers.count < 2)
        return;
    const int64_t few = barriers_needed(p->lw, k->stmt);
    for (size_t i = 1; i < k->buffers.count; i++)
        place_buffer(p, k, all[k->buffers.at[i]->id], few);
    for (size_t i = 1; i < k->buffers.count && kernel_bytes(k) > GPU_SHARED_BYTES; i++)
        if (!k->buffers.at[i]->shares && !is_home(k, k->buffers.at[i]))
            place_buffer(p, k, all[k->buffers.at[i]->id], INT64_MAX);
}

/* ---- The limit -------------------------------------------------------------------------------- */

static Loc place_of(const Lower *lw, const char *func)
{
    for (int i = 0; func && i < lw->plan->func_count; i++)
        if (!strcmp(lw->plan->funcs[i].func->name, func))
            return lw->plan->funcs[i].func->loc;
    return (Loc){ 0 };
}

static void check_size(const SharedPass *p, const SharedKernel *k)
{
    const int64_t bytes = kernel_bytes(k);
    const int     most  = gpu_shared_bytes(p->lw->device);
    const Buffer *last  = k->buffers.count ? k->buffers.at[k->buffers.count - 1] : NULL;
    if (bytes > most)
        diag_error(p->lw->cx, place_of(p->lw, last->func), "smaller tiles, or compute it at root",
                   "with `%s` a block has %lld bytes of shared memory, and a device has %d",
                   last->func ? last->func : last->name, (long long)bytes, most);
}

const Stmt *lower_shared(Lower *lw, const Stmt *s)
{
    SharedPass p = { .lw = lw };
    if (s)
        find_kernels(&p, s);
    for (size_t i = 0; i < p.kernels.count; i++) {
        pack(&p, &p.kernels.at[i]);
        check_size(&p, &p.kernels.at[i]);
    }
    return s;
}
