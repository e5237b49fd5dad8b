/* SPDX-License-Identifier: MIT */
/* Loop partitioning: partition.c walks and copies, partition_decide.c decides conditions, partition_affine.c has the
 * arithmetic. */
#ifndef KILN_LOWER_PASSES_PARTITION_H
#define KILN_LOWER_PASSES_PARTITION_H

#include "ir/simplify.h"
#include "lower/passes/pass_tools.h"
#include "lower/bounds/size_guess.h"

enum { MOST_TERMS = 12 };

/* One term of an affine form. Its value lies between lo and hi, which are known before the loop; both are the term
 * itself if it is invariant. */
typedef struct AffineTerm {
    const Expr *atom;
    int64_t     coefficient;
    const Expr *lo, *hi;
    bool        inner; /* it varies with an inner loop */
} AffineTerm;

/* An integer (constant + step * v + sum of coefficient * term) / denominator, without remainder; v is the variable of
 * the loop. */
typedef struct Affine {
    int64_t    denominator, constant, step;
    int        count;
    AffineTerm terms[MOST_TERMS];
} Affine;

/* step * v + rest + constant >= 0, for all lanes and inner iterations. `rest` is NULL for 0. */
typedef struct Constraint {
    int64_t     step, constant;
    const Expr *rest;  /* i32 or i64 */
    bool        exact; /* if it fails for one lane or inner iteration, it fails for all */
} Constraint;
typedef VEC(Constraint) Constraints;

/* One loop while it is analysed. */
typedef struct Partition {
    Lower      *lw;
    Arena      *scratch;
    Simplifier *known;         /* what holds at the statement visited */
    SizeGuess  *guess;         /* of names bound outside the loop */
    const Map  *outer_strides; /* name bound outside the loop -> int64_t: its largest coefficient of the variable of a
                                  serial loop */
    const Stmt *loop;
    Varying     varying; /* with the loop's variable, inner loops, and memory */
    Map         affines; /* name bound inside the loop that varies -> its Affine, if it has one */
    Map         values;  /* name of an invariant let inside the loop -> its value, in names from outside */
    int         serial_loops,
        unrolled_loops;   /* inner loops around the statement visited that are no vectors: serial, or to be unrolled */
    int         budget;   /* of nodes for one affine form */
    Varying     lanes;    /* with inner vector loops */
    Varying     copies;   /* with other inner loops */
    int         vectors;  /* vector loops in the loop's body, not in other loops */
    int64_t     row_step; /* lanes of the first vector loop in it: with such a step it goes along a row; 0: none */
    bool        branch;   /* the condition of a branch is visited */
    bool        pays;     /* something was decided that costs more than a scalar operation per vector */
    bool        per_iteration; /* something was decided outside unrolled loops, so that an iteration is short */
    bool        guard;         /* the condition of a tail is visited */
    bool        guard_low;     /* and it may fail because v is too small */
    Constraints lower, upper,
        guards; /* of the steady state: v not too small, not too large; guards: upper ones that come from tails */
    int     decisions, upper_decisions; /* how often something was added to any of these, and to `upper` */
    bool    guess_known;
    int64_t guess_min, guess_end;   /* of the loop */
    int64_t steady_min, steady_end; /* of the steady state, guessed */
} Partition;

/* The affine form of an integer expression; `false` where it is not affine in v, or may leave its type. */
bool affine_of(Partition *p, const Expr *e, Affine *out);
/* The same of the value of a let, which is a coordinate however far apart its terms are. */
bool affine_of_let(Partition *p, const Expr *value, Affine *out);
/* out = a - b - less */
bool affine_difference(const Affine *a, const Affine *b, int64_t less, Affine *out);
bool affine_add(Affine *f, int64_t factor, const Affine *g);
/* The affine form of an inner loop's variable, from its bounds. */
bool affine_of_loop_variable(Partition *p, const Stmt *loop, Affine *out);
/* An invariant expression in names from outside the loop. */
const Expr *partition_outside(Partition *p, const Expr *e);
/* The constraint that the form is >= 0; false if it cannot be computed, or is for another loop to decide. */
bool affine_constraint(Partition *p, const Affine *f, Constraint *out);

/* An expression of the body in the steady state; adds the constraints that this needs. */
const Expr *partition_expr(Partition *p, const Expr *e);
/* The least v that satisfies all lower constraints, or the first that fails an upper one: i32, within first..end. */
const Expr *partition_bound(Partition *p, const Constraints *list, const Expr *first, const Expr *end);

#endif
