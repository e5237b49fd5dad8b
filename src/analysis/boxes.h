/* SPDX-License-Identifier: MIT */
/* One computation of boxes: boxes.c fills it, report.c explains it, largest_output.c repeats it. */
#ifndef KILN_ANALYSIS_BOXES_H
#define KILN_ANALYSIS_BOXES_H

#include "analysis/evaluate.h"

/* A box that is longer along a dimension counts as unbounded; no index is exact to more. */
static const int64_t most_extent      = (int64_t)1 << 30;
static const int     most_points_log2 = 40;

/* The access that made an end of a box what it is: a reader and its call (NULL: an extern stage). No reader: the output
 * was asked for. */
typedef struct Cause {
    const Func *reader;
    const Expr *access;
} Cause;

/* The box of a function, as far as it is needed so far. */
typedef struct BoxNeed {
    bool  needed;
    Box   box;
    Cause cause[KN_MAX_RANK][2]; /* of min and max */
} BoxNeed;

typedef enum FailureKind {
    FAIL_NONE,
    FAIL_UNBOUNDED, /* func is read by `reader` at `access` with an unbounded index in `dim` */
    FAIL_REDUCTION, /* reduction variable `dim` of `update` has no bounds */
    FAIL_LARGE,     /* the box of func has more than 2^40 points */
    FAIL_INPUT,     /* an input is too small; the needs say which */
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
    const RunArgs *binding;
    BoxNeed       *need;       /* per function id */
    const Func    *reader;     /* whose definition is being visited */
    const Update  *update;     /* NULL: its pure definition */
    bool           writing;    /* its values are being visited: they are computed only for elements that are needed */
    Arena         *keep;       /* where the boxes of steps are kept; NULL: they are not */
    bool           unlimited;  /* the number of points is not limited: largest_output.c probes far away */
    bool           is_frugal;  /* only `steps_left` steps of updates are walked; a box that needs more is too large */
    int64_t        steps_left; /* -1: too few */
    Failure        failure;
} Boxes;

/* Computes what does not depend on the outputs. */
void boxes_init(Boxes *b, kn_pipeline *p, Arena *arena, const RunArgs *binding);
/* The boxes for the outputs of the arguments; kept in `out`, if given, with memory from `arena`. False: see
 * `failure`. */
bool boxes_compute(Boxes *b, Arena *arena, Regions *out);

/* extern_stage.c: what an extern stage needs for its box. */
void extern_stage_query(Boxes *b, const Func *f);
/* ---- needs.c ---- */
/* Adds lo..hi of dimension d to what is needed of f. Not bounded: a failure. */
void need_add(Boxes *b, const Func *f, int d, Wide lo, Wide hi, Cause cause);
/* Keeps the first failure. */
void boxes_fail(Boxes *b, Failure failure);
/* An empty box of every rank. */
Box  box_empty(void);
bool box_is_empty(const Box *box, int rank);

/* hidden_guard.c: the call of a stored function that guards the read `access` in a definition of `reader`; or NULL. */
const Expr *hidden_guard(kn_pipeline *p, const Func *reader, const Expr *access);

/* report.c: the failure as diagnostics. */
void report_failure(Boxes *b);

/* largest_output.c: the largest box of output `index`, the others being as given. False if there is none, or a
 * dimension is unlimited and no input has it. */
bool largest_output(Boxes *b, Box *outputs, int index, FitDim *dims);
/* The range of the input's dimension that has the name of the output's. */
typedef struct DimGuess {
    const Func *input; /* NULL: none has */
    int64_t     min, max;
} DimGuess;
DimGuess guess_dim(const Boxes *b, const char *name);

#endif
