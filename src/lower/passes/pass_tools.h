/* What the late passes share: how large a statement is, what varies with a loop variable, and the unrolling of one
 * loop. */
#ifndef KILN_LOWER_LATE_H
#define KILN_LOWER_LATE_H

#include "lower/lower.h"

/* Which expressions vary with a loop variable, itself or through lets. The lets are made known one by one, as a walk
 * from the loop inwards meets them; siblings may bind one name to different values. */
typedef struct Varying {
    ExprPool *pool;
    Arena    *arena;
    bool      reads; /* does everything that is read from memory, or comes from an extern function, count as varying? */
    Map       names; /* of those bound so far, and buffers -> "yes" or "no" */
    Map       known; /* expression -> likewise */
} Varying;

void varying_init(Varying *v, ExprPool *pool, Arena *arena, const char *variable); /* NULL: none yet */
bool varying_expr(Varying *v, const Expr *e);
void varying_bind(Varying *v, const char *name, bool varies);
/* What is read from the buffer varies: each iteration has its own. */
void varying_buffer(Varying *v, const Buffer *buffer);

/* Copies of the loop's body, one after the other, if it has a constant extent and they are not too large together; else
 * the loop as a serial one. */
const Stmt *unroll_loop(Lower *lw, const Stmt *loop);
/* The loop as one of another kind. */
const Stmt *loop_as(Arena *a, const Stmt *loop, LoopKind kind);

/* a + b, a - b of i32 or i64, folded where both are constants or one is 0. */
const Expr *index_add(ExprPool *pool, const Expr *a, const Expr *b);
const Expr *index_sub(ExprPool *pool, const Expr *a, const Expr *b);

#endif
