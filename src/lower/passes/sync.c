/* SPDX-License-Identifier: MIT */
/* Synchronization of the host with the device.
 *
 * Takes   a program with kernels.
 * Gives   the same with a `sync` before each piece of the host's code that reads or writes a port or a buffer that
 *         kernels use.
 * Holds   whether anything is copied is known when it runs: the buffers say which copy is newer. A piece is as large as
 *         it can be without a kernel in it. */
#include "ir/kernel.h"
#include "lower/lower.h"

typedef struct SyncPass {
    Lower *lw;
    bool  *read, *written; /* by Buffer.id: by the piece that is looked at */
    Map    seen;           /* its expressions */
} SyncPass;

static bool is_on_device(const Buffer *b)
{
    return b->kind != BUFFER_SCRATCH || b->memory == MEMORY_GLOBAL;
}

static void note_expr(void *user, const Expr *e)
{
    SyncPass *p = user;
    if (!e || map_get(&p->seen, e))
        return;
    map_set(&p->seen, e, e);
    if (e->op == EX_LOAD)
        p->read[e->u.buffer->id] |= is_on_device(e->u.buffer);
    for (uint32_t i = 0; i < e->count; i++)
        note_expr(p, e->args[i]);
}

static void note_operand(SyncPass *p, const StageOperand *o, bool writes)
{
    if (o->buffer && is_on_device(o->buffer))
        (writes ? p->written : p->read)[o->buffer->id] = true;
}

static void note_stmt(void *user, const Stmt *s)
{
    SyncPass *p = user;
    for (int i = 0; s->kind == STMT_STORE && i < s->store.count; i++)
        p->written[s->store.places[i].buffer->id] |= is_on_device(s->store.places[i].buffer);
    if (s->kind == STMT_STAGE) {
        note_operand(p, &s->stage->output, true);
        for (int i = 0; i < s->stage->count; i++)
            note_operand(p, &s->stage->operands[i], false);
    }
    stmt_children(s, note_expr, note_stmt, p);
}

static void begin(SyncPass *p)
{
    const size_t n = p->lw->program->buffers.count + 1;
    p->read        = ARENA_ARRAY(p->lw->arena, bool, n);
    p->written     = ARENA_ARRAY(p->lw->arena, bool, n);
    map_init(&p->seen, p->lw->arena);
}

/* The statement after a sync of each buffer that was noted. */
static const Stmt *after_syncs(SyncPass *p, const Stmt *s)
{
    Arena *a = p->lw->arena;
    for (size_t i = p->lw->program->buffers.count; i-- > 0;) {
        if (!p->read[i] && !p->written[i])
            continue;
        Stmt *sync        = ARENA_NEW(a, Stmt);
        sync->kind        = STMT_SYNC;
        sync->sync.buffer = p->lw->program->buffers.at[i];
        sync->sync.write  = p->written[i];
        s                 = stmt_pair(a, sync, s);
    }
    return s;
}

static void find_kernel(void *found, const Stmt *s)
{
    *(bool *)found |= s->kind == STMT_KERNEL;
    if (!*(bool *)found)
        stmt_children(s, NULL, find_kernel, found);
}

static const Stmt *synchronize(void *user, const Stmt *s)
{
    SyncPass     *p      = user;
    const StmtMap m      = { p->lw->arena, synchronize, NULL, p };
    bool          kernel = false;
    find_kernel(&kernel, s);
    if (s->kind != STMT_KERNEL && kernel)
        s = stmt_map(&m, s);
    begin(p);
    if (s->kind == STMT_KERNEL) /* the host computes how many blocks there are */
        for (const Stmt *at = s->kernel.body; at->kind == STMT_FOR && at->loop.kind == LOOP_BLOCK; at = at->loop.body)
            note_expr(p, at->loop.extent);
    else if (kernel)
        stmt_children(s, note_expr, NULL, p);
    else
        note_stmt(p, s);
    return after_syncs(p, s);
}

const Stmt *lower_sync(Lower *lw, const Stmt *s)
{
    SyncPass p      = { .lw = lw };
    bool     kernel = false;
    if (s)
        find_kernel(&kernel, s);
    return kernel ? synchronize(&p, s) : s;
}
