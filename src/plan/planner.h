/* SPDX-License-Identifier: MIT */
/* Making a plan: what its files share.
 *
 * A plan is made in steps, each a file: copy (functions with variables of their own), stage, clone, derive, separate,
 * double and checkpoint (functions that directives make), inline (and expand, what is inlined with its updates), narrow
 * (stored with the bits that are needed), loops (directives applied to the loops of each definition), order (is that
 * nest legal?), defaults (for what the schedule is silent about), levels (where functions are computed and stored),
 * sharing (compute_with), storage. directives.c calls the handler of each directive; rewrite.c has what those that make
 * functions share; refuse.c has the refusals. What is legal is decided in legal/. */
#ifndef KILN_PLAN_PLANNER_H
#define KILN_PLAN_PLANNER_H

#include "legal/nest.h"
#include "pipeline/schedule.h"
#include "plan/plan.h"

/* A loop of a definition that is being planned. Its number is its own; by these the order of reduction loops is kept.
 */
typedef struct Loop {
    PlanLoop         loop;
    int              number;
    uint32_t         vars;    /* the variables behind it: legal/facts.h */
    int64_t          extent;  /* where it is a constant; else 0 */
    uint64_t         lineage; /* equal where loops were made in the same way from the same variables */
    const Directive *by;      /* what gave it its kind */
} Loop;

/* A definition that is being planned. */
typedef struct DefDraft DefDraft;
typedef struct Version {
    const Expr *condition;
    DefDraft   *draft;
} Version;

struct DefDraft {
    PlanDef      *def;
    const Update *update; /* of the plan's function; NULL: the pure definition */
    DefFacts      facts;
    const char   *prefix; /* of its loops' variables: "out.", "hist.u0." */
    VEC(Loop) loops;      /* outermost first */
    VEC(PlanStep) steps;
    VEC(int) order;              /* numbers of the reduction loops as the language runs them, outermost first */
    bool             order_lost; /* a fused loop goes through the reduction in another order */
    bool             mixed;      /* a fused loop goes through free and reduction variables */
    int              next_number;
    const Directive *moved_by; /* the last directive that moved loops */
    VEC(Version) versions;     /* specialize */
    VEC(const Directive *) prefetches;
    const Directive *time_tile;
    VEC(const Func *) reads;       /* the functions it reads, each once, itself excluded */
    VEC(const Func *) bound_reads; /* of them those that the bounds of its reduction variables read */
};

struct FuncDraft;
/* A definition that reads a function. */
typedef struct Reader {
    struct FuncDraft *func;
    int               update;
    bool              in_bounds; /* the bounds of its reduction variables do */
} Reader;

/* A function that is being planned. */
typedef struct FuncDraft {
    const Func *origin; /* of the pipeline or of the schedule */
    Func       *func;   /* of the plan; its id is its place among the drafts */
    PlanFunc   *plan;
    DefDraft   *defs; /* 1 + update_count; none for an input */
    VEC(Reader) readers;
    VEC(const Directive *) directives;
    bool              is_scheduled; /* the schedule speaks of it */
    bool              is_made;      /* by a directive: not inlined by default */
    bool              inlined;
    bool              read_by_extern; /* an extern stage reads it, as a whole */
    bool              needed;         /* an output depends on it, and it is not inlined */
    struct FuncDraft *inside;         /* by default computed just outside the vector loop of this reader; NULL: root */
    const Directive  *computed_by;    /* the last of inline, compute_root, compute_at */
    const Directive  *stored_by;      /* the last of store_root, store_at */
    const Directive  *shaped_by;      /* the first that is about loops or storage */
    VEC(const Directive *) partners;  /* all compute_with */
} FuncDraft;

typedef struct Planner {
    kn_context     *cx;
    Arena          *arena;
    Plan           *plan;
    kn_pipeline    *pipeline;
    const Schedule *schedule;
    PlanTarget      target;
    Map             names;     /* variables that are taken: interned name -> itself */
    Map             drafts_of; /* Func of the pipeline, the schedule or the plan -> FuncDraft */
    Map             used;      /* directives that have made functions: Directive -> itself */
    VEC(FuncDraft *) drafts;   /* callees before callers */
    VEC(const Expr *) marks;   /* conditions that stage.c puts before calls, until all is inlined */
    bool failed;
} Planner;

/* A directive's handler. `d`: of a directive about loops, the definition or the version of it; NULL for all others.
 * False if the directive cannot be obeyed; then it is refused. */
typedef bool Handler(Planner *pl, FuncDraft *f, DefDraft *d, const Directive *dir);

/* ---- refuse.c ---- */
/* An error: reason and remedy. Returns false, to be returned. */
__attribute__((format(printf, 5, 6))) bool refuse(Planner *pl, ErrorId id, Loc loc, const char *remedy,
                                                  const char *format, ...);
/* "`out`", "update 0 of `hist`": in messages. */
const char *def_text(Planner *pl, const DefDraft *d);
/* The name of a loop in messages: of x.lanes, x. */
const char *loop_text(Planner *pl, const PlanLoop *l);

static inline FuncDraft *draft_of(const Planner *pl, const Func *f)
{
    return map_get_mutable(&pl->drafts_of, f);
}
static inline DefDraft *draft_def(const FuncDraft *f, int update)
{
    return &f->defs[update + 1];
}
/* ---- plan.c ---- */
/* The first steps: drafts of all functions, and those that directives make. False, with diagnostics, if one is refused.
 */
bool plan_begin(Planner *pl, kn_pipeline *p, const Schedule *schedule, Arena *arena, PlanTarget target);

/* ---- copy.c ---- */
/* Drafts of all functions of the pipeline, with their expressions in the plan's pool and names of their own. */
void plan_copy(Planner *pl);
/* One more, at the end. */
FuncDraft *add_draft(Planner *pl, const Func *origin);
/* `base`, or `base.1` … if that is taken; taken from now on. */
const char *fresh_name(Planner *pl, const char *base);
/* An expression of the pipeline's pool that has no variables, in the plan's pool. */
const Expr *plan_expr(Planner *pl, const Expr *e);
/* Notes which functions each definition reads, and who reads each function. */
void plan_readers(Planner *pl);

/* ---- rewrite.c ---- */
typedef const Expr *Change(void *user, const Expr *e);
/* expr_rewrite on all expressions of an update, of a pure definition, of a function. */
void rewrite_update(ExprPool *pool, const Func *f, Update *u, Change *change, void *user);
void rewrite_pure(ExprPool *pool, Func *f, Change *change, void *user);
void rewrite_function(ExprPool *pool, Func *f, Change *change, void *user);
/* Replaces variables in all of an update. */
void substitute_update(ExprPool *pool, const Func *f, Update *u, int names, const char *const *from,
                       const Expr *const *to);
/* c0*a0 + c1*a1 + … + constant */
const Expr *linear_sum(ExprPool *pool, const Linear *form);
/* The value that changes nothing. */
const Expr *identity(ExprPool *pool, ExprOp op, kn_type t);
/* `e` = f(args) op rest, with another operator, place and rest. */
const Expr *combine(ExprPool *pool, const Func *f, const Expr *e, ExprOp op, const Expr *place, const Expr *rest);
/* Leaves nothing of an update whose values are in the pure definition now. Without steps it keeps the numbers of those
 * after it; at the end there is none. */
void void_update(Planner *pl, Func *f, int update);
/* The place of a draft among the others. */
size_t draft_place(const Planner *pl, const FuncDraft *f);
/* Moves the last draft to that place; those behind move on. */
void move_last_draft(Planner *pl, size_t at);
/* Notes that a directive has been obeyed: it is one that makes a function. */
void use_up(Planner *pl, const Directive *d);
/* Schedules know the update's reduction by this one name from now on. */
void rename_origin(Planner *pl, FuncDraft *f, int update, const char *r);

/* ---- stage.c, clone.c, derive.c, separate.c, double.c, checkpoint.c ---- */
Handler apply_stage, apply_clone, apply_rfactor, apply_separate, apply_double, apply_checkpoint;
/* After inlining: what reads a copy with a boundary and read an input without it needs that of the input still. */
void plan_kept_reads(Planner *pl);

/* ---- expand.c ---- */
/* Makes a function that func_expands (legal/facts.h) a pure definition. */
void expand(Planner *pl, Func *f);

/* ---- inline.c ---- */
bool plan_inline(Planner *pl);

/* ---- narrow.c ---- */
/* Functions of which no reader needs the high bits are stored without them. */
void plan_narrow(Planner *pl);

/* ---- order.c ---- */
/* May the loops run as they are nested, with the kinds they have? */
bool check_nest(Planner *pl, DefDraft *d);

/* ---- loops.c ---- */
Handler apply_split, apply_fuse, apply_tile, apply_reorder, apply_loop_kind, apply_gpu_loops, apply_gpu_tile,
    apply_launch_bounds, apply_atomic, apply_specialize, apply_prefetch;

/* ---- time_tile.c ---- */
Handler apply_time_tile;
/* Can it be obeyed, now that loops and levels are known? */
bool check_time_tile(Planner *pl, DefDraft *d);

/* ---- loops.c ---- */
/* The loops of a definition before any directive. */
void begin_loops(Planner *pl, FuncDraft *f, DefDraft *d);
/* Checks the loops and hands them to the plan. */
bool end_loops(Planner *pl, DefDraft *d);
/* The place of a loop, -1 if there is none of that name. */
int find_loop(const DefDraft *d, const char *name);
/* Splits loop `at` into two of these names. `tail` may be NULL. */
bool split_loop(Planner *pl, DefDraft *d, int at, const char *outer, const char *inner, int64_t factor,
                const ScheduleArg *tail);
/* Nests the loops, given innermost first, in the places that they have together. */
void reorder_loops(Planner *pl, DefDraft *d, int count, const int *loops);

/* ---- defaults.c ---- */
/* Chooses the place and the loops of a function that the schedule is silent about; its readers have theirs. */
void default_place(Planner *pl, FuncDraft *f);
bool default_loops(Planner *pl, FuncDraft *f);

/* ---- defaults_gpu.c ---- */
/* The loops of a definition on a device. */
bool default_kernel(Planner *pl, FuncDraft *f, DefDraft *d);
/* Does the definition call C functions? */
bool calls_c(Planner *pl, const Func *f, const Update *u);

/* ---- levels.c ---- */
Handler note_compute, note_store;
bool    plan_levels(Planner *pl);

/* ---- sharing.c ---- */
Handler note_compute_with;
/* Brings functions that are computed with another to its place; before functions are numbered. */
bool order_partners(Planner *pl);
/* g and what is to be computed with it have their levels: checks the pairs, and notes what is shared. */
void join_partners(Planner *pl, const FuncDraft *g);
/* The first compute_with of a function, or NULL. */
const Directive *asked_partner(const FuncDraft *f);

/* ---- storage.c ---- */
Handler apply_fold_storage, apply_align_storage, apply_reorder_storage, apply_store_in, apply_stream, apply_bound,
    apply_align_bounds;
void begin_storage(FuncDraft *f);
/* An expression of a schedule in the plan's pool; NULL, refused, if it reads a function. */
const Expr *schedule_expr(Planner *pl, const ScheduleArg *a);

#endif
