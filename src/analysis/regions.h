/* SPDX-License-Identifier: MIT */
/* Regions: for every function the box that the outputs need.
 *
 * Interval analysis over numbers: the sizes of the inputs and the values of the parameters are known. Each function is
 * visited once, after all its consumers, so the cost is linear in the size of the pipeline. An index is put into
 * linear form first, which is exact for affine accesses and for floor division by a constant. Intervals are the
 * fallback. Inside a branch of `if`, `&&`, `||` and under `where` the condition narrows what it compares. These are
 * the boxes of the interpreter, and the oracle for the symbolic ones of compiled code (lower/bounds). */
#ifndef KILN_ANALYSIS_REGIONS_H
#define KILN_ANALYSIS_REGIONS_H

#include "pipeline/pipeline.h"

/* min > max in any dimension: empty. */
typedef struct Box {
    int64_t min[KN_MAX_RANK], max[KN_MAX_RANK];
} Box;

/* The arguments of a run that decide its boxes. */
typedef struct RunArgs {
    Box       *input;  /* per function id; used for inputs */
    kn_scalar *param;  /* in the order of pipeline->params */
    Box       *output; /* per output: the box asked for */
} RunArgs;

/* How one update is run. */
typedef struct UpdateRegion {
    int64_t lo[KN_MAX_RANK * 2],
        hi[KN_MAX_RANK * 2]; /* per reduction variable: lo <= v < hi over all points; hi <= lo: no steps */
    int64_t steps; /* where the free box differs from step to step: their number, the product of all hi - lo; else 0 */
    Box    *free;  /* the points of the free variables: one box, or one per step in the order of execution. An empty one
                      skips the step. Dimensions that are not free are unused */
} UpdateRegion;

typedef struct FuncRegion {
    bool          needed;
    Box           box; /* what is stored and initialized */
    UpdateRegion *updates;
} FuncRegion;

typedef struct Regions {
    FuncRegion *of; /* per function id */
} Regions;

/* Fills `out` (in `arena`). On an error (unbounded, or an input too small) adds a diagnostic with the chain of
 * functions, the box needed, the box given and the remedies, and returns false. If `quiet`, adds none. */
bool regions_compute(kn_pipeline *p, Arena *arena, const RunArgs *binding, bool quiet, Regions *out);

/* Checks only errors that no other sizes would remove: false, with the diagnostic, if an index or a reduction has no
 * bounds. */
bool regions_bounded(kn_pipeline *p, Arena *arena, const RunArgs *binding);

/* Where the extent of an output's dimension comes from. */
typedef struct FitDim {
    bool        unlimited; /* one side at least could grow without limit, so it is as in ... */
    const Func *like;      /* ... this input's dimension of the same name */
} FitDim;

/* Sets the boxes of the outputs that are not `given` to the largest that the inputs suffice for, one output after the
 * other in the order of declaration; see kn_fit. A side is unlimited if 2^20 more coordinates would do. `dims` (per
 * output; may be NULL) says what each dimension comes from. False, with diagnostics, if there is no such box, or a
 * dimension is unlimited and no input has it. */
bool regions_fit(kn_pipeline *p, Arena *arena, RunArgs *binding, const bool *given, FitDim (*dims)[KN_MAX_RANK]);

#endif
