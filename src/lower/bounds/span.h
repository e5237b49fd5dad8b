/* Spans: the smallest and the largest value of an expression while some of its variables run, as expressions.
 *
 * The symbolic counterpart of analysis/: what that computes with numbers, this writes down as code. An expression in
 * which nothing runs is its own span. Linear forms come first (exact for affine indices), then a rule per operator;
 * inside a branch the condition narrows what it speaks of, and the branch carries the condition that it can be entered
 * at all (`reachable`). From Ragan-Kelley et al. 2013, section 4.2. */
#ifndef KILN_LOWER_BOUNDS_SPAN_H
#define KILN_LOWER_BOUNDS_SPAN_H

#include "lower/bounds/index_expr.h"
#include "lower/bounds/value_range.h"

/* Either end is NULL where there is no bound. */
typedef struct SymSpan {
    const Expr *min, *max;
} SymSpan;

/* What is known of a node in an environment. */
typedef struct SpanKnown {
    const Expr *node;
    SymSpan     span;
    bool        derived; /* from all that conditions say, also of what the node is a part of */
} SpanKnown;

/* What a condition says of a sum of several things that run: sum of coefficient * atom >= bound, or <= bound. */
typedef struct SpanSum {
    Linear      form;
    const Expr *bound;
    bool        is_min;
} SpanSum;

enum { SPAN_LEVELS = 6, SPAN_WORK = 20000 };

typedef struct SpanLevel {
    Map spans[2][2]; /* node -> Span, without and with what was derived; the second of each: inside a clamp */
    Map visited;     /* node -> itself */
    VEC(SpanKnown) known;
    VEC(SpanSum) sums;
    VEC(const Expr *) guarded; /* the variables that `satisfiable` is about */
    const Expr *reachable;     /* NULL: always */
    const Expr *guard; /* the part of it in which nothing runs (a parameter, a size): known when the code is called.
                            NULL: none */
    const Expr *satisfiable; /* the condition that the ranges have a point where what is said around with x == c and x
                             != c holds; NULL: they have */
    const Expr *derived;     /* the condition that they have one where derived bounds hold */
} SpanLevel;

/* An access that can happen: a call, the span of each index, the conditions that it happens at all (alive and decided;
 * NULL: true), and the dimensions, a bit each, whose index is not safe as it stands: inside its span whatever the
 * conditions around are, and computed exactly. Of these the loose ones are not made by linear and monotonic operators:
 * the span over a part of the ranges need not lie in the span over all of them. */
typedef void SpanAccess(void *user, const Expr *call, const SymSpan *index, const Expr *reachable, const Expr *guard,
                        unsigned unsafe, unsigned loose);

typedef struct SpanEnv {
    Lower      *lw;
    SpanLevel   level[SPAN_LEVELS + 1];
    int         depth;
    int64_t     work;
    SpanAccess *access;
    void       *user;
    bool clamped;  /* what is looked at is clamped to two ends: where it may be anything, nothing need be known of it */
    bool deriving; /* derived bounds count */
    bool checking; /* collect what must hold so that no index wraps, and the conditions of branches in `reachable` */
    VEC(const Expr *) checks;
    Map reads_memory; /* node -> &yes or &no */
} SpanEnv;

/* Forgets all variables and conditions. */
void    span_env_reset(SpanEnv *sp, Lower *lw);
void    span_env_bind(SpanEnv *sp, const char *name, SymSpan span);
SymSpan span_of(SpanEnv *sp, const Expr *e);
/* Tells of every access that evaluating `e` can make. */
void visit_accesses(SpanEnv *sp, const Expr *e);
/* What follows happens where `condition` is `truth`; false: no room for that, nothing was begun. */
bool span_env_enter(SpanEnv *sp, const Expr *condition, bool truth);
void span_env_leave(SpanEnv *sp);
/* The condition that the branches around are entered for these ranges, as far as it is known at every loop; NULL: they
 * are. */
const Expr *span_env_entered(const SpanEnv *sp);
/* Does nothing in it run, and is nothing in it read? Then it is its own span. */
bool is_loop_invariant(SpanEnv *sp, const Expr *e);

#endif
