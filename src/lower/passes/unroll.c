/* SPDX-License-Identifier: MIT */
/* Unrolling: a loop of a few iterations becomes copies of its body.
 *
 * Takes   a statement after flattening.
 * Gives   the statement with each `unroll` loop of constant extent as a block of copies, with the variable replaced by
 *         its value in each. Inner loops come first, so the size counted is the size copied. A let that adds to the
 *         variable, such as the coordinate of a split, is substituted too: then loads that copies share are seen to be
 *         equal.
 * Holds   the copies of one loop have at most MOST_NODES statements and expression nodes, in a program with
 *         kernels MOST_KERNEL_NODES. A loop that would have more,
 *         or whose extent is not constant, is serial. No `unroll` loop is left. */
#include "lower/passes/pass_tools.h"

/* Of a kernel's loop: 8 steps of 8x8 sums are 30,000. */
enum { MOST_NODES = 20000, MOST_KERNEL_NODES = 60000 };

typedef struct SumWalk {
    const char *name;
    bool        named, other; /* the name occurs in it; it is no sum of variables and constants */
} SumWalk;

static void find_terms(const Expr *e, void *user)
{
    SumWalk *sum = user;
    sum->named |= e->op == EX_VAR && e->u.name == sum->name;
    sum->other |= e->op != EX_VAR && e->op != EX_INT && e->op != EX_ADD && e->op != EX_SUB && e->op != EX_MUL;
}

typedef struct Coordinates {
    Lower      *lw;
    const char *name;
} Coordinates;

/* The statement with the lets that are sums of the name substituted. */
static const Stmt *without_coordinates(void *user, const Stmt *s)
{
    Coordinates  *c = user;
    const StmtMap m = { c->lw->arena, without_coordinates, NULL, c };
    if (s->kind != STMT_LET)
        return stmt_map(&m, s);
    SumWalk sum = { .name = c->name };
    expr_visit(c->lw->exprs, s->let.value, find_terms, &sum);
    if (!sum.named || sum.other)
        return stmt_map(&m, s);
    return without_coordinates(
        c, stmt_substitute(c->lw->exprs, c->lw->arena, s->let.body, 1, &s->let.name, &s->let.value));
}

const Stmt *unroll_loop(Lower *lw, const Stmt *loop)
{
    const int64_t most = lw->gpu ? MOST_KERNEL_NODES : MOST_NODES;
    int64_t       n;
    if (!expr_is_int(loop->loop.extent, &n))
        return loop_as(lw->arena, loop, LOOP_SERIAL);
    if (n <= 0)
        return NULL;
    if (n > most || n * stmt_size(lw->exprs, loop->loop.body, most + 1) > most)
        return loop_as(lw->arena, loop, LOOP_SERIAL);
    Coordinates  c      = { lw, loop->loop.name };
    const Stmt  *body   = without_coordinates(&c, loop->loop.body);
    const Stmt **copies = ARENA_ARRAY(lw->arena, const Stmt *, (size_t)n);
    for (int64_t i = 0; i < n; i++) {
        const Expr *value = index_add(lw->exprs, loop->loop.min, expr_int(lw->exprs, (kn_type)loop->loop.min->type, i));
        copies[i]         = stmt_substitute(lw->exprs, lw->arena, body, 1, &loop->loop.name, &value);
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
