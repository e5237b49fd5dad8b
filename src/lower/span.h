/* Spans: the smallest and the largest value of an expression while some of its variables run, as expressions.
 *
 * The symbolic counterpart of analysis/: what that computes with numbers, this writes down as code. An expression in
 * which nothing runs is its own span. Linear forms come first (exact for affine indices), then a rule per operator;
 * inside a branch the condition narrows what it speaks of, and the branch carries the condition that it can be entered
 * at all (`alive`). From Ragan-Kelley et al. 2013, section 4.2. */
#ifndef KILN_LOWER_SPAN_H
#define KILN_LOWER_SPAN_H

#include "analysis/interval.h"
#include "lower/lower.h"

/* Either end is NULL where there is no bound. */
typedef struct Span {
    const Expr *min, *max;
} Span;

/* What is known of a node in an environment. */
typedef struct SpanKnown {
    const Expr *node;
    Span        span;
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
    VEC(const Expr *) guarded; /* the variables that `possible` is about */
    const Expr *alive;         /* NULL: always */
    const Expr *decided;  /* the part of it in which nothing runs (a parameter, a size): known when the code is called.
                             NULL: none */
    const Expr *possible; /* the condition that the ranges have a point where what is said around with x == c and x != c
                             holds; NULL: they have */
    const Expr *derived;  /* the condition that they have one where derived bounds hold */
} SpanLevel;

/* An access that can happen: a call, the span of each index, the conditions that it happens at all (alive and decided;
 * NULL: true), and the dimensions, a bit each, whose index is not safe as it stands: inside its span whatever the
 * conditions around are, and computed exactly. Of these the loose ones are not made by linear and monotonic operators:
 * the span over a part of the ranges need not lie in the span over all of them. */
typedef void SpanAccess(void *user, const Expr *call, const Span *index, const Expr *alive, const Expr *decided,
                        unsigned unsafe, unsigned loose);

typedef struct Spans {
    Lower      *lw;
    SpanLevel   level[SPAN_LEVELS + 1];
    int         depth;
    int64_t     work;
    SpanAccess *access;
    void       *user;
    bool clamped;  /* what is looked at is clamped to two ends: where it may be anything, nothing need be known of it */
    bool deriving; /* derived bounds count */
    bool checking; /* collect what must hold so that no index wraps, and the conditions of branches in `alive` */
    VEC(const Expr *) checks;
    Map has_calls; /* node -> &yes or &no */
} Spans;

/* Forgets all variables and conditions. */
void spans_reset(Spans *sp, Lower *lw);
void spans_bind(Spans *sp, const char *name, Span span);
Span span_of(Spans *sp, const Expr *e);
/* Tells of every access that evaluating `e` can make. */
void spans_visit(Spans *sp, const Expr *e);
/* What follows happens where `condition` is `truth`; false: no room for that, nothing was begun. */
bool spans_enter(Spans *sp, const Expr *condition, bool truth);
void spans_leave(Spans *sp);
/* The condition that the branches around are entered for these ranges, as far as it is known at every loop; NULL: they
 * are. */
const Expr *spans_entered(const Spans *sp);
/* Does nothing in it run, and is nothing in it read? Then it is its own span. */
bool spans_fixed(Spans *sp, const Expr *e);
/* span_rules.c: the span of an operator from those of its operands. */
Span span_rule(Spans *sp, const Expr *e);

/* values.c: the numbers a node lies between, whatever the coordinates: functions' values are followed, everything else
 * may be any value of its type. */
Range value_range(Lower *lw, const Expr *e);
/* values.c: the span of a component of a function, whatever the coordinates, in terms of parameters and sizes; and what
 * must hold so that it is one. */
typedef struct FunctionSpan {
    Span         span;
    int          check_count;
    const Expr **checks;
} FunctionSpan;
FunctionSpan function_span(Lower *lw, const Func *f, int component);

/* ---- terse.c: making expressions that are small from the start ---- */
const Expr               *x_int(Lower *lw, int64_t v);        /* i32 */
const Expr               *x_var(Lower *lw, const char *name); /* i32; the name need not be interned */
const Expr               *x_op(Lower *lw, ExprOp op, const Expr *a,
                               const Expr *b); /* of the operands' type; comparisons and && || are bool */
const Expr               *x_neg(Lower *lw, const Expr *a);
const Expr               *x_select(Lower *lw, const Expr *c, const Expr *a, const Expr *b);
const Expr               *x_cast(Lower *lw, kn_type type, const Expr *a);
static inline const Expr *x_add(Lower *lw, const Expr *a, const Expr *b)
{
    return x_op(lw, EX_ADD, a, b);
}
static inline const Expr *x_sub(Lower *lw, const Expr *a, const Expr *b)
{
    return x_op(lw, EX_SUB, a, b);
}
static inline const Expr *x_min(Lower *lw, const Expr *a, const Expr *b)
{
    return x_op(lw, EX_MIN, a, b);
}
static inline const Expr *x_max(Lower *lw, const Expr *a, const Expr *b)
{
    return x_op(lw, EX_MAX, a, b);
}
static inline const Expr *x_le(Lower *lw, const Expr *a, const Expr *b)
{
    return x_op(lw, EX_LE, a, b);
}
static inline const Expr *x_and(Lower *lw, const Expr *a, const Expr *b)
{
    return !a ? b : !b ? a : x_op(lw, EX_AND, a, b);
}

#endif
