/* One computation of boxes: what regions.c fills, report.c explains and fit.c repeats. */
#ifndef KILN_ANALYSIS_BOXES_H
#define KILN_ANALYSIS_BOXES_H

#include "analysis/evaluate.h"

/* Longer than this along one dimension is what "unbounded" means for a box; no index is exact to more. */
static const int64_t most_extent      = (int64_t)1 << 30;
static const int     most_points_log2 = 40;

/* Who made an end of a box what it is: a reader and its access (NULL: through an extern stage). No reader: the output
 * was asked for. */
typedef struct Cause {
    const Func *reader;
    const Expr *access;
} Cause;

/* The box of a function, as far as it is needed yet. */
typedef struct Need {
    bool  needed;
    Box   box;
    Cause cause[KN_MAX_RANK][2]; /* of min and max */
} Need;

typedef enum FailureKind {
    FAIL_NONE,
    FAIL_UNBOUNDED, /* func is read by `reader` at `access` with an unbounded index in `dim` */
    FAIL_REDUCTION, /* reduction variable `dim` of `update` has no bounds */
    FAIL_LARGE,     /* the box of func has more than 2^40 points */
    FAIL_INPUT,     /* an input is too small; which ones, the needs say */
    FAIL_NO_STAGE,  /* the C function behind func is not known */
    FAIL_STAGE      /* it returned `code`, or an extent that cannot be for argument `dim` */
} FailureKind;

typedef struct Failure {
    FailureKind   kind;
    const Func   *func, *reader;
    const Update *update;
    const Expr   *access;
    int           dim, code;
} Failure;

typedef struct Boxes {
    Evaluator      evaluator;
    kn_pipeline   *pipeline;
    kn_context    *cx;
    const Binding *binding;
    Need          *need;      /* per function id */
    const Func    *reader;    /* whose definition is being visited */
    const Update  *update;    /* NULL: its pure definition */
    bool           writing;   /* its values are being visited: they are computed where the place they go to is needed */
    Arena         *keep;      /* where the steps of updates are kept; NULL: they are not */
    bool           unlimited; /* no limit on the number of points: fit.c probes far away */
    bool is_frugal; /* steps of updates are walked only while there are `steps_left`; a box that needs more is too large
                     */
    int64_t steps_left; /* -1: they did not suffice */
    Failure failure;
} Boxes;

/* What does not depend on the outputs is computed here, once. */
void boxes_init(Boxes *b, kn_pipeline *p, Arena *arena, const Binding *binding);
/* The boxes for the outputs of the binding; kept in `out`, if that is given, with memory from `arena`. false: see
 * `failure`. */
bool boxes_compute(Boxes *b, Arena *arena, Regions *out);

/* stage.c: what an extern stage needs for its box. */
void stage_query(Boxes *b, const Func *f);
/* Adds lo..hi of dimension d to what is needed of f. Not bounded: a failure. */
void need_add(Boxes *b, const Func *f, int d, Wide lo, Wide hi, Cause cause);
/* An empty box of every rank. */
Box box_empty(void);

/* hidden.c: the stored function whose value guards the read `access` in a definition of `reader`, as called; or NULL.
 */
const Expr *hidden_guard(kn_pipeline *p, const Func *reader, const Expr *access);

/* report.c: the failure as diagnostics. */
void report_failure(Boxes *b);

/* fit.c: the largest box of output `index` if all the others are as in the binding. false if there is none, or
 * something is unlimited without an input to say how far. */
bool fit_output(Boxes *b, Box *outputs, int index, FitDim *dims);

#endif
