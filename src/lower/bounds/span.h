/* SPDX-License-Identifier: MIT */
/* Spans: the smallest and the largest value of an expression while some of its variables vary, as expressions.
 *
 * The symbolic counterpart of analysis/: what that computes with numbers, this writes down as code. An expression
 * without varying parts is its own span. Linear forms come first: they are exact for affine indices. Then there is a
 * rule per operator. Inside a branch the condition narrows the spans of what it compares. A branch also carries the
 * condition that it can be entered at all (`reachable`). From Ragan-Kelley et al. 2013, section 4.2. */
#ifndef KILN_LOWER_BOUNDS_SPAN_H
#define KILN_LOWER_BOUNDS_SPAN_H

#include "lower/bounds/index_expr.h"
#include "lower/bounds/value_range.h"

/* Both ends included. An end is NULL where there is no bound. */
typedef struct SymSpan {
    const Expr *min, *max;
} SymSpan;

/* The span of a node that a binding or a condition gives. */
typedef struct SpanKnown {
    const Expr *node;
    SymSpan     span;
    bool        derived; /* from all that conditions say, also of the nodes that it is a part of */
} SpanKnown;

/* What a condition says of a sum of several varying atoms: sum of coefficient * atom >= bound, or <= bound. */
typedef struct SpanSum {
    Linear      form;
    const Expr *bound;
    bool        is_min;
} SpanSum;

enum {
    SPAN_BRANCHES = 6,     /* nested branches whose conditions are used */
    SPAN_WORK     = 20000, /* nodes per definition; after that conditions are not used */
};

/* What is known inside a branch; of the outermost, outside all branches. */
typedef struct SpanLevel {
    Map spans[2][2]; /* node -> SymSpan; [1]: with derived bounds, [.][1]: inside a clamp */
    Map visited;     /* node -> itself */
    VEC(SpanKnown) known;
    VEC(SpanSum) sums;
    VEC(const Expr *) guarded; /* the variables that `satisfiable` is about */
    const Expr *reachable;     /* the condition that it is entered; NULL: always */
    const Expr *guard; /* the loop-invariant part of `reachable` (parameters, sizes), known when the code is called;
                          NULL: none */
    const Expr *satisfiable; /* the condition that some point of the ranges satisfies the comparisons x == c and x != c
                                around; NULL: one does */
    const Expr *derived;     /* the same, for derived bounds */
} SpanLevel;

/* An access that can happen, under `reachable` and `guard` (NULL: true). `must_clamp` has a bit for each dimension
 * whose index may leave its span, because it depends on a condition or is inexact. `nonmonotonic` has the bits of
 * indices that are not made by linear and monotonic operators: over a part of the ranges such an index may leave its
 * span over all of them. */
typedef void SpanAccess(void *user, const Expr *call, const SymSpan *index, const Expr *reachable, const Expr *guard,
                        unsigned must_clamp, unsigned nonmonotonic);

typedef struct SpanEnv {
    Lower      *lw;
    SpanLevel   level[SPAN_BRANCHES + 1];
    int         depth;
    int64_t     work;
    SpanAccess *access;
    void       *user;
    bool        in_clamp; /* inside a clamp to two invariant ends: a value that may be any number needs no bound */
    bool        deriving; /* derived bounds are used */
    bool        checking; /* collect the checks that no index wraps, and the conditions of branches in `reachable` */
    VEC(const Expr *) checks;
    Map reads_memory; /* node -> &yes or &no */
} SpanEnv;

/* Forgets all variables and conditions. */
void    span_env_reset(SpanEnv *sp, Lower *lw);
void    span_env_bind(SpanEnv *sp, const char *name, SymSpan span);
SymSpan span_of(SpanEnv *sp, const Expr *e);
/* Tells of every access that evaluating `e` can make. */
void visit_accesses(SpanEnv *sp, const Expr *e);
/* What follows happens where `condition` is `truth`. False: branches are nested too deep, and none was begun. */
bool span_env_enter(SpanEnv *sp, const Expr *condition, bool truth);
void span_env_leave(SpanEnv *sp);
/* The condition that the branches around are entered for some point of the ranges; NULL: they are. Every loop knows it
 * alike. */
const Expr *span_env_entered(const SpanEnv *sp);
/* Does nothing in it vary, and does it read no memory? Then it is its own span. */
bool is_loop_invariant(SpanEnv *sp, const Expr *e);

#endif
