/* Unrolling: a loop of a few iterations becomes its iterations.
 *
 * Takes   a statement after flattening.
 * Gives   the same statement in which each `unroll` loop of constant extent is a block of copies of its body, with the variable
 *         replaced by its value in each; inner loops first, so that what is counted is what is copied.
 * Holds   the copies of one loop have at most MOST_NODES statements and expression nodes; a loop that would have more, or whose
 *         extent is not a constant, is a serial loop. No `unroll` loop is left. */
#include "lower/late.h"

enum { MOST_NODES = 20000 };

const Stmt *unroll_loop(Lower *lw, const Stmt *loop)
{
    int64_t n;
    if (!expr_is_int(loop->loop.extent, &n))
        return loop_as(lw->arena, loop, LOOP_SERIAL);
    if (n <= 0)
        return NULL;
    if (n > MOST_NODES || n * stmt_size(lw->exprs, loop->loop.body, MOST_NODES + 1) > MOST_NODES)
        return loop_as(lw->arena, loop, LOOP_SERIAL);
    const Stmt **copies = ARENA_ARRAY(lw->arena, const Stmt *, (size_t)n);
    for (int64_t i = 0; i < n; i++) {
        const Expr *value = index_add(lw->exprs, loop->loop.min, expr_int(lw->exprs, (kn_type)loop->loop.min->type, i));
        copies[i]         = stmt_substitute(lw->exprs, lw->arena, loop->loop.body, 1, &loop->loop.name, &value);
    }
    return stmt_block(lw->arena, (int)n, copies);
}

static const Stmt *unroll(void *user, const Stmt *s)
{
    Lower        *lw = user;
    const StmtMap m  = { lw->arena, unroll, NULL, lw };
    s                = stmt_map(&m, s);
    return s && s->kind == STMT_FOR && s->loop.kind == LOOP_UNROLL ? unroll_loop(lw, s) : s;
}

const Stmt *lower_unroll(Lower *lw, const Stmt *s)
{
    return s ? unroll(lw, s) : NULL;
}
