/* The parts of loop partitioning: partition.c walks and copies, partition_claim.c decides nodes, partition_motion.c has
 * the arithmetic. */
#ifndef KILN_LOWER_PARTITION_H
#define KILN_LOWER_PARTITION_H

#include "ir/simplify.h"
#include "lower/passes/pass_tools.h"
#include "lower/passes/size_guess.h"

enum { MOST_TERMS = 12 };

/* One summand of a motion. Its value lies between lo and hi, which can be computed before the loop; for what does not
 * vary inside the loop both are itself. */
typedef struct Term {
    const Expr *atom;
    int64_t     coefficient;
    const Expr *lo, *hi;
    bool        inner; /* it varies with a loop inside the loop */
} Term;

/* An integer, (constant + step * v + sum of coefficient * term) / denominator without remainder, where v is the
 * variable of the loop. */
typedef struct Motion {
    int64_t denominator, constant, step;
    int     count;
    Term    terms[MOST_TERMS];
} Motion;

/* step * v + rest + constant >= 0, for all that the loop contains. `rest` is NULL for 0. */
typedef struct Constraint {
    int64_t     step, constant;
    const Expr *rest;  /* i32 or i64 */
    bool        exact; /* it is the same for all of it: what does not hold for one holds for none */
} Constraint;
typedef VEC(Constraint) Constraints;

/* One loop that is looked at. */
typedef struct Partition {
    Lower      *lw;
    Arena      *scratch;
    Simplifier *known; /* what holds at the statement looked at */
    SizeGuess  *guess; /* of names bound outside the loop */
    const Map  *reach; /* name bound outside the loop -> int64_t: the largest coefficient in it of the variable of a
                          serial loop */
    const Stmt *loop;
    Varying     varying; /* with the loop's variable, loops inside it, and memory */
    Map         motions; /* name bound inside the loop that varies -> its Motion, if it has one */
    Map values; /* name of a let inside the loop that does not vary -> its value in terms of what is bound outside */
    int stay, unrolled; /* loops inside the loop and around the statement looked at that are no vectors: to stay loops,
                           or to be unrolled */
    int     budget;     /* of nodes for one motion */
    Varying lanes;      /* with vector loops inside the loop */
    Varying copies;     /* with other loops inside the loop */
    int     vectors;    /* vector loops in the loop's body, not in others */
    bool    branch;     /* the condition of a branch is looked at */
    bool    worth; /* something was decided, or stands there, that costs more than an operation for a whole vector */
    bool    often; /* something was claimed that is not inside copies, so that an iteration is short */
    bool    guard; /* the condition of a tail is looked at */
    bool    guard_low; /* and v being too small may decide it */
    Constraints lows, highs,
        guards; /* that the steady state needs: v not too small, not too large; guards: highs that come from tails */
    int     claims, high_claims; /* how often something was added to one of these, and to `highs` */
    bool    typical_known;
    int64_t typical_min, typical_end; /* of the loop */
    int64_t steady_min, steady_end;   /* of the steady state, typically */
} Partition;

/* The motion of an integer expression, if it has one: `false` where it is not linear in v, or may leave its type. */
bool motion_of(Partition *p, const Expr *e, Motion *out);
/* out = a - b - less */
bool motion_difference(const Motion *a, const Motion *b, int64_t less, Motion *out);
bool motion_add(Motion *f, int64_t factor, const Motion *g);
/* The motion of a loop's variable inside the loop, from its bounds. */
bool motion_of_variable(Partition *p, const Stmt *loop, Motion *out);
/* An expression that does not vary, in terms of what is bound outside the loop. */
const Expr *partition_outside(Partition *p, const Expr *e);
/* What makes motion >= 0; false if it cannot be computed, or is not for this loop to decide. */
bool motion_constraint(Partition *p, const Motion *f, Constraint *out);

/* An expression of the body as it is in the steady state; the constraints that it needs are added. */
const Expr *partition_expr(Partition *p, const Expr *e);
/* The least v that satisfies all of these (if they are lows), or the first that does not satisfy all (highs): i32,
 * within first..end. */
const Expr *partition_bound(Partition *p, const Constraints *list, const Expr *first, const Expr *end);

#endif
