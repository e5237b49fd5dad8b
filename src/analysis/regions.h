/* Regions: for every function the box that the outputs need.
 *
 * Interval analysis over numbers: the sizes of the inputs and the values of the parameters are known. Each function is
 * visited once, after all its consumers, so the cost is linear in the text of the pipeline, whatever its depth. An
 * index is put into linear form first (exact for affine accesses; floor division by a constant keeps that), intervals
 * are the fallback; inside a branch of `if`, `&&`, `||` and under `where` the condition narrows what it speaks of. The
 * compiler's symbolic bounds are built on their own; these are the interpreter's, and the oracle for those. */
#ifndef KILN_ANALYSIS_REGIONS_H
#define KILN_ANALYSIS_REGIONS_H

#include "pipeline/pipeline.h"

/* min > max in any dimension: empty. */
typedef struct Box {
    int64_t min[KN_MAX_RANK], max[KN_MAX_RANK];
} Box;

/* What is known before a run. */
typedef struct RunArgs {
    Box       *input;  /* per function id; used for inputs */
    kn_scalar *param;  /* in the order of pipeline->params */
    Box       *output; /* per output: the box asked for */
} RunArgs;

/* How one update is run. */
typedef struct UpdateRegion {
    int64_t lo[KN_MAX_RANK * 2],
        hi[KN_MAX_RANK * 2]; /* per reduction variable: lo <= v < hi over all points; hi <= lo: no steps */
    int64_t
         steps; /* where the free box differs from step to step: the number of steps, product of all hi - lo; else 0 */
    Box *free;  /* the points of the free variables: one box, or one per step in the order of execution (empty: skip the
                 * step; dimensions that are not free are unused) */
} UpdateRegion;

typedef struct FuncRegion {
    bool          needed;
    Box           box; /* what must be stored and initialized */
    UpdateRegion *updates;
} FuncRegion;

typedef struct Regions {
    FuncRegion *of; /* per function id */
} Regions;

/* Fills `out` (in `arena`). On an error (unbounded, or an input too small) adds the diagnostic, with the chain of
 * functions, the box needed, the box given and the remedies, and returns false. If `quiet`, adds nothing and only says
 * whether it would do. */
bool regions_compute(kn_pipeline *p, Arena *arena, const RunArgs *binding, bool quiet, Regions *out);

/* Only what other sizes would not mend: false, with the diagnostic, if an index or a reduction has no bounds. */
bool regions_bounded(kn_pipeline *p, Arena *arena, const RunArgs *binding);

/* Where the extent of an output's dimension comes from. */
typedef struct FitDim {
    bool        unlimited; /* more would do on one side at least, so that side is as in ... */
    const Func *like;      /* ... this input's dimension of the same name */
} FitDim;

/* Sets the boxes in `binding` of the outputs that are not `given` to the largest that the inputs suffice for, one
 * output after the other in the order of declaration; see kn_fit. A side counts as unlimited if 2^20 more coordinates
 * would do. `dims` (per output; may be NULL) gets what each dimension comes from. false, with the reason as
 * diagnostics, if there is no such box, or a dimension is unlimited and no input has it. */
bool regions_fit(kn_pipeline *p, Arena *arena, RunArgs *binding, const bool *given, FitDim (*dims)[KN_MAX_RANK]);

#endif
