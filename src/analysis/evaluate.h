/* SPDX-License-Identifier: MIT */
/* Evaluation of expressions over boxes: shared by the files of this folder.
 *
 * An Evaluator knows the numbers of a run (input sizes, parameters), the range of every function's values, and an
 * environment: the ranges of the variables, and what the conditions around the node have shown. Environments nest, one
 * per condition. Each remembers its answers per node, so a shared node is evaluated once. The number of nested
 * branches can be exponential in the depth, so each may spend half of what its environment has left; beyond that a
 * branch is evaluated without its condition. */
#ifndef KILN_ANALYSIS_EVALUATE_H
#define KILN_ANALYSIS_EVALUATE_H

#include "analysis/interval.h"
#include "analysis/regions.h"

enum {
    MOST_LEVELS    = 8,       /* deeper conditions narrow nothing */
    MOST_WORK      = 1 << 15, /* evaluations in branches, per definition; after that conditions narrow nothing */
    MOST_FACTS     = 16,      /* per environment; further ones are dropped */
    MOST_VARIABLES = KN_MAX_RANK * 3,
};

/* sign * form + shift >= 0 */
typedef struct RangeFact {
    const Linear *form;
    int           sign, shift;
} RangeFact;

/* A node's range that a condition has shown. */
typedef struct KnownRange {
    const Expr *node;
    Range       range;
} KnownRange;

/* The answers for one node; valid where the stamp is the environment's. */
typedef struct Cell {
    Range    range;
    uint64_t evaluated, visited;
} Cell;

typedef struct Environment {
    uint64_t stamp;
    Cell    *cells; /* by expression id; NULL until the level is first used */
    uint64_t limit; /* no branches are entered once the evaluator's work has reached this */
    bool     dead;  /* its conditions contradict each other: it is never entered */
    VEC(KnownRange) known;
    RangeFact facts[MOST_FACTS];
    int       fact_count;
} Environment;

typedef struct BoundVariable {
    const char *name;
    Range       range;
} BoundVariable;

typedef struct Evaluator {
    kn_pipeline   *pipeline;
    kn_context    *cx;
    Arena         *arena;
    const RunArgs *binding;
    Range        **values;  /* per function id, per component; NULL while not known: the whole type */
    const Linear **forms;   /* by expression id, see evaluate_form */
    uint8_t       *calls;   /* by expression id, see has_calls */
    const Expr  ***domains; /* per function id: lo <= v, v < hi of each reduction variable of each update, one after the
                               other; NULL where unused */
    uint64_t      stamps, work;
    int           level;
    Environment   environment[MOST_LEVELS + 1];
    BoundVariable variables[MOST_VARIABLES];
    int           variable_count;
    /* Called by visit() for every access that can happen: a call and the range of each index. */
    void (*record)(void *user, const Expr *call, const Range *index);
    void *user;
} Evaluator;

/* Without the ranges of functions' values. */
void evaluator_init(Evaluator *ev, kn_pipeline *p, Arena *arena, const RunArgs *binding);
/* function_values.c: the range of every function's values, whatever the coordinates. */
void evaluator_add_values(Evaluator *ev);

/* ---- Environments ---- */

/* Forgets all variables and conditions. */
void environment_reset(Evaluator *ev);
void environment_bind(Evaluator *ev, const char *name, Range range);

static inline Environment *environment_now(Evaluator *ev)
{
    return &ev->environment[ev->level];
}

/* A branch that is entered where `condition` is `truth`. Unless `dead`, evaluate inside, then leave. */
typedef struct Branch {
    bool dead, entered;
} Branch;

Branch branch_enter(Evaluator *ev, const Expr *condition, bool truth);
void   branch_leave(Evaluator *ev, Branch b);

/* assume.c: uses in the current environment that `condition` is `truth`. */
void assume(Evaluator *ev, const Expr *condition, bool truth);

/* Begins an update: resets the environment, binds the free variables to `free` (every i32 if NULL) and the reduction
 * variables to their ranges or, if given, to the numbers of `step`. Stores the ranges in lo and hi (half open). Gives
 * the number of variables bound: fewer than all if a range is empty. */
int update_bind(Evaluator *ev, const Func *f, int update, const Box *free, const int64_t *step, int64_t *lo,
                int64_t *hi);
/* Then uses that the reduction variables are within their bounds; false if that is impossible. */
bool update_assume(Evaluator *ev, const Func *f, int update);

/* ---- Expressions ---- */

Range evaluate(Evaluator *ev, const Expr *e);
/* Records every access that evaluating `e` can make. */
void visit(Evaluator *ev, const Expr *e);
/* The same for an update after update_bind, which bound so many reduction variables. The bounds of these are read at
 * every point, the rest where they and the condition hold. *writing is true while its values are visited. */
void update_visit(Evaluator *ev, const Func *f, int update, int bound, bool *writing);
bool has_calls(Evaluator *ev, const Expr *e);

/* The linear form of an integer expression, or of a - b for a comparison of integers; NULL if there is none. */
const Linear *evaluate_form(Evaluator *ev, const Expr *e);
/* The range of sign * a form before wrapping, over a box of independent atoms. */
Range evaluate_sum(Evaluator *ev, const Linear *form, int sign);
/* The same, with what is known about other forms whose atoms have ids below `below`. An operand's id is smaller than
 * that of its node, so a node that passes its own id is never asked for itself. */
Range evaluate_linear(Evaluator *ev, const Linear *form, int sign, uint32_t below);

#endif
