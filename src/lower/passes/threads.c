/* SPDX-License-Identifier: MIT */
/* Threads: thread nests on the threads that the block has.
 *
 * Takes   kernels whose thread nests have the extents of what they compute.
 * Gives   nests that fit into the block as they are, or else nests of the block's own shape: all threads, numbered
 *         through, take the points of the nest one after the other, and each finds its coordinates by division.
 * Holds   so a stage with a halo, or of another shape than the block, keeps all threads busy. */
#include "ir/kernel.h"
#include "lower/bounds/index_expr.h"

typedef struct ThreadPass {
    Lower *lw;
    int    threads[GPU_AXES];
} ThreadPass;

/* Does each iteration have a thread of its own, along the nest's own axes? */
static bool fits(const ThreadPass *p, const ThreadNest *n)
{
    int64_t extent;
    for (int i = 0; i < GPU_AXES; i++)
        if (n->loops[i] && (n->loops[i]->loop.kind == LOOP_LANE || !expr_is_int(n->loops[i]->loop.extent, &extent) ||
                            extent > p->threads[i]))
            return n->loops[i]->loop.kind == LOOP_LANE;
    return true;
}

/* The number of the thread in its block, from the variables of the loops around. */
static const Expr *thread_number(ThreadPass *p, const char *const *names)
{
    Lower      *lw  = p->lw;
    const Expr *sum = x_int(lw, 0);
    for (int i = GPU_AXES; i-- > 0;) {
        sum = x_op(lw, EX_MUL, sum, x_int(lw, p->threads[i]));
        sum = p->threads[i] > 1 ? x_add(lw, sum, x_var(lw, names[i])) : sum;
    }
    return sum;
}

static const Stmt *spread(ThreadPass *p, const ThreadNest *n)
{
    static const char *const names[GPU_AXES] = { "thread.x", "thread.y", "thread.z" };
    Lower                   *lw              = p->lw;
    Arena                   *a               = lw->arena;
    const int                all             = p->threads[0] * p->threads[1] * p->threads[2];
    const Expr              *total = x_int(lw, 1), *point = x_var(lw, intern(lw->cx, "thread.point"));
    const Stmt              *s = n->body;
    for (int i = 0; i < GPU_AXES && n->loops[i]; i++)
        total = x_op(lw, EX_MUL, total, n->loops[i]->loop.extent);
    const Expr *left = point;
    for (int i = 0; i < GPU_AXES && n->loops[i]; i++) { /* point = x + extent.x * (y + extent.y * z) */
        const bool  last   = i == GPU_AXES - 1 || !n->loops[i + 1];
        const Expr *extent = n->loops[i]->loop.extent;
        s                  = stmt_let(a, n->loops[i]->loop.name, last ? left : x_op(lw, EX_MOD, left, extent), s);
        left               = x_op(lw, EX_DIV, left, extent);
    }
    s                  = stmt_if(a, x_op(lw, EX_LT, point, total), s, NULL);
    const char *pieces = intern(lw->cx, "thread.piece");
    const Expr *count  = x_op(lw, EX_DIV, x_add(lw, total, x_int(lw, all - 1)), x_int(lw, all));
    const Expr *before = x_op(lw, EX_MUL, x_var(lw, pieces), x_int(lw, all));
    s                  = stmt_let(a, point->u.name, x_add(lw, before, thread_number(p, names)), s);
    s                  = stmt_for(a, pieces, LOOP_UNROLL, x_int(lw, 0), count, s);
    for (int i = 0; i < GPU_AXES; i++)
        if (i == 0 || p->threads[i] > 1)
            s = stmt_for(a, intern(lw->cx, names[i]), LOOP_THREAD, x_int(lw, 0), x_int(lw, p->threads[i]), s);
    return s;
}

static const Stmt *visit(void *user, const Stmt *s)
{
    ThreadPass   *p = user;
    const StmtMap m = { p->lw->arena, visit, NULL, p };
    if (s->kind == STMT_KERNEL) {
        p->threads[0] = s->kernel.threads_x;
        p->threads[1] = s->kernel.threads_y;
        p->threads[2] = s->kernel.threads_z;
    }
    if (s->kind != STMT_FOR || !loop_table[s->loop.kind].thread)
        return stmt_map(&m, s);
    const ThreadNest n = thread_nest(s);
    return fits(p, &n) ? s : spread(p, &n);
}

const Stmt *lower_threads(Lower *lw, const Stmt *s)
{
    ThreadPass p = { .lw = lw };
    return s ? visit(&p, s) : NULL;
}
