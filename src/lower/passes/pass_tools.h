/* SPDX-License-Identifier: MIT */
/* What the passes share: what varies with a loop variable, unrolling one loop, index arithmetic. */
#ifndef KILN_LOWER_PASSES_PASS_TOOLS_H
#define KILN_LOWER_PASSES_PASS_TOOLS_H

#include "lower/lower.h"

/* Which expressions vary with a loop variable, directly or through lets. HostLets are added one by one, as a walk from
 * the loop inward meets them. Siblings may bind one name to different values. */
typedef struct Varying {
    ExprPool *pool;
    Arena    *arena;
    bool      reads; /* memory and extern functions count as varying */
    Map       names; /* name bound so far, or buffer -> "yes" or "no" */
    Map       known; /* expression -> likewise */
} Varying;

void varying_init(Varying *v, ExprPool *pool, Arena *arena, const char *variable); /* NULL: none yet */
bool varying_expr(Varying *v, const Expr *e);
void varying_bind(Varying *v, const char *name, bool varies);
/* Loads from the buffer vary: each iteration has elements of its own. */
void varying_buffer(Varying *v, const Buffer *buffer);

/* The loop unrolled, if it has a constant extent and the copies are not too large together; else the loop as a serial
 * one. */
const Stmt *unroll_loop(Lower *lw, const Stmt *loop);
/* The statement with the lets that are sums of variables and constants substituted; with a name, those that it occurs
 * in. */
const Stmt *stmt_without_sums(Lower *lw, const Stmt *s, const char *name);
/* The last value of the loop's variable. */
const Expr *loop_last(Lower *lw, const Stmt *loop);
/* The loop as one of another kind. */
const Stmt *loop_as(Arena *a, const Stmt *loop, LoopKind kind);

/* Are there unrolled loops in the body, and no serial loop but for a constant number of times? */
bool has_unrolled(Simplifier *known, const Stmt *body);
/* Do loops of which the number of iterations is not constant index registers of a thread? */
bool indexes_registers(Lower *lw, const Stmt *s);

/* HostLets around a statement. */
typedef struct HostLets {
    const char **names;
    const Expr **values; /* without names of lets */
    int          count;
} HostLets;

/* channels.c: the code of a block for outputs with exactly as many channels as unrolled copies, and the condition of
 * that; NULL: there is none. */
const Stmt *with_channels(Lower *lw, const HostLets *host, const Stmt *s, const Expr **condition);

/* a + b, a - b of i32 or i64, folded where both are constants or one is 0. */
const Expr *index_add(ExprPool *pool, const Expr *a, const Expr *b);
const Expr *index_sub(ExprPool *pool, const Expr *a, const Expr *b);

#endif
