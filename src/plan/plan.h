/* SPDX-License-Identifier: MIT */
/* A plan: a pipeline and a schedule, resolved and found legal; what lowering obeys without asking.
 *
 * A plan has functions of its own: copies in which inlined functions are gone, `stage`, `rfactor` and `separate` have
 * made new ones, and every variable has a name that is unique in the plan ("out.x", "hist.u0.r"), so that expressions
 * of different definitions can meet in one piece of code. All expressions are in the plan's pool. Functions come after
 * those they read.
 *
 * What holds for the loops of an update: the bounds of a reduction variable are over variables whose loops are outside
 * its own, unless the update reads other points of itself; then all reduction loops are outside those over the free
 * variables along which these points differ, and a bound over a free variable is a condition on the steps of a box.
 *
 * Every function has a place to be computed and a place to be stored: root, or inside one loop of one definition. Every
 * definition (the pure one, each update) has its loops, outermost first, and the steps by which they were made from its
 * variables. */
#ifndef KILN_PLAN_PLAN_H
#define KILN_PLAN_PLAN_H

#include "ir/stmt.h"
#include "ir/target.h"
#include "legal/time_distances.h"
#include "pipeline/schedule.h"

/* One loop of a definition. */
typedef struct PlanLoop {
    const char *name; /* as schedules write it: "yo" */
    const char *var;  /* its variable in lowered code, unique in the plan: "out.yo" */
    LoopKind    kind;
    bool        is_reduction; /* it comes, at least in part, from a reduction variable */
} PlanLoop;

/* whole = outer * factor + inner, by variable names. SPLIT: `whole` became the two. FUSE: the two became `whole` (outer
 * and inner are variables or earlier results, whose extents are known: factor is not used). In order of application. */
typedef enum PlanStepKind { STEP_SPLIT, STEP_FUSE } PlanStepKind;
typedef struct PlanStep {
    PlanStepKind kind;
    const char  *whole, *outer, *inner;
    int64_t      factor;
    Tail         tail; /* of a split. SHIFT_INWARD only where computing a point twice changes nothing */
    bool asked; /* the tail is what the schedule says, not the default: SHIFT_INWARD for vectors and copies, else GUARD
                 */
} PlanStep;

typedef struct PlanPrefetch {
    const Func *func;
    int         loop; /* index into the definition's loops */
    int64_t     ahead;
} PlanPrefetch;

/* time_tile: the steps of an update are cut into diamonds. */
typedef struct PlanTimeTile {
    int64_t       size; /* of a diamond, in coordinates; 0: there are none */
    int           loop; /* over the steps; the next one is over the argument */
    TimeDistances distances;
    int64_t       piece;  /* coordinates of the loop inside these two that a diamond computes at a time; 0: all */
    TimeDistances across; /* along that one */
} PlanTimeTile;

typedef struct PlanDef PlanDef;

/* Inside loop `loop` of `def`, which is neither a vector loop nor inside one; def NULL: root, outside all loops. */
typedef struct PlanLevel {
    const PlanDef *def;
    int            loop;
} PlanLevel;

/* How one definition is run. */
struct PlanDef {
    const Func   *func;   /* of the plan */
    int           update; /* -1: the pure definition */
    int           loop_count;
    PlanLoop     *loops; /* outermost first; at least those of its variables */
    int           step_count;
    PlanStep     *steps;
    bool          atomic;
    int           threads, resident; /* launch_bounds; 0: not said */
    int           prefetch_count;
    PlanPrefetch *prefetches;
    PlanTimeTile  time_tile;
    /* compute_with: its loops down to `with.loop` are those of with.def, which runs first in each iteration. def NULL:
     * none. with.def is the last definition of its function, both functions are computed at the same level, and this
     * one's comes just after it, or after others that are computed with it. Definitions of this function before this
     * one run before with.def. */
    PlanLevel with;
    /* specialize: the loops are made once more for each condition, in order; the first that holds is run. Their loops
     * and steps: those of versions[i]. No function is computed or stored inside the loops of a definition that has
     * versions. */
    int          version_count;
    const Expr **conditions;
    PlanDef     *versions;
};

/* A call of an input that a definition had before it read a copy in its place. The input must have what it asks for. */
typedef struct KeptRead {
    int         update; /* of the definition */
    const Expr *call;
} KeptRead;

typedef struct PlanFunc {
    const Func *func;
    const Func
             *origin; /* the function of the pipeline that it is a copy of: its arguments have their own names there */
    bool      is_output;
    PlanLevel compute, store; /* store encloses compute, or is the same */
    PlanDef  *defs;           /* 1 + update_count of them; an extern stage has one without loops; an input none */
    /* Storage: the order of dimensions in memory, innermost first; per dimension what its stride in memory (of the next
     * dimension out) is rounded up to, 0 if not said; the fold factor that was asked for, 0 if none */
    int     order[KN_MAX_RANK];
    int64_t align[KN_MAX_RANK], fold[KN_MAX_RANK];
    Memory  memory;
    bool    stream;
    /* bound: what was promised about the box needed, NULL where nothing. align_bounds: factor (0: none) and
     * remainder. */
    const Expr *bound_min[KN_MAX_RANK], *bound_extent[KN_MAX_RANK];
    int64_t     align_factor[KN_MAX_RANK];
    const Expr *align_offset[KN_MAX_RANK];
    VEC(KeptRead) kept_reads;
} PlanFunc;

typedef struct Plan {
    kn_context  *cx;
    Arena       *arena;
    ExprPool     exprs;
    kn_pipeline *pipeline;
    const char  *name;
    int          func_count;
    PlanFunc    *funcs; /* by Func.id of the plan's functions */
    int          output_count;
    const Func **outputs; /* in the order of the pipeline's outputs */
    int          made_count;
    const Directive **
        made; /* stage, separate, rfactor and the splits before it, which made functions that are not in the pipeline */
    int inlined_count;
    const Func **inlined;      /* functions of the pipeline that are not here because they are inlined */
    double       predicted_ns; /* of a call with buffers of the host, by the scheduler that made it; 0: not known */
} Plan;

/* What the plan is made for. All zero: a CPU with vectors of 256 bits. */
typedef struct PlanTarget {
    TargetKind kind;
    int        vector_bits; /* of its registers; 0: 256 */
} PlanTarget;

/* Makes a plan in `arena`. `schedule` NULL: the default schedule, also for every function that the schedule does not
 * speak of. NULL, with diagnostics that say the reason and a remedy, if the schedule cannot be obeyed. */
Plan *plan_make(kn_pipeline *p, const Schedule *schedule, Arena *arena, PlanTarget target);

/* The pipeline with the functions that a schedule makes, in `arena`; the schedule has directives that make functions,
 * and no others. NULL, with diagnostics, if one is refused. */
kn_pipeline *plan_rewritten(kn_pipeline *p, const Schedule *schedule, Arena *arena);

/* The schedule to be used: the one of that name; for NULL, the last that fits the target and has no name or is the only
 * one; NULL if there is none, or for "". A schedule for `gpu` fits every target with a device; so does one without a
 * target that has directives for GPUs alone. An unknown name is a diagnostic. */
bool plan_choose(kn_pipeline *p, const char *name, const Target *target, const Schedule **out);
/* Is a schedule that was not made for another target for one of this kind? Directives for GPUs alone are for GPUs. */
bool plan_suits(const Schedule *s, const Target *target);

/* The plan as the text of a schedule that makes it again. */
void plan_print(Text *out, const Plan *plan);

/* ---- Questions that lowering asks too ---- */

static inline PlanFunc *plan_func(const Plan *plan, const Func *f)
{
    return &plan->funcs[f->id];
}
/* Is `inner` at `outer` or inside it? */
bool               level_encloses(const Plan *plan, PlanLevel outer, PlanLevel inner);
static inline bool level_same(PlanLevel a, PlanLevel b)
{
    return a.def == b.def && (!a.def || a.loop == b.loop);
}

#endif
