/* Making a plan: what its files share.
 *
 * A plan is made in steps, each a file: copy (functions with variables of their own), derive (stage and rfactor;
 * separate), inline (and expand, what is inlined with its updates), narrow (stored with the bits that are needed),
 * loops (directives applied to the loops of each definition), order (is that order of an update's steps the same?),
 * defaults (for what the schedule is silent about), levels (where functions are computed and stored), together
 * (compute_with), storage. */
#ifndef KILN_PLAN_PLANNER_H
#define KILN_PLAN_PLANNER_H

#include "pipeline/schedule.h"
#include "plan/plan.h"

enum { MOST_LANES = 1024, MOST_COPIES = 4096, FIRST_RVAR = KN_MAX_RANK };

/* What an update's reads of its own function allow. */
typedef struct SelfReads {
    bool any;
    bool other_points;   /* some read is at another point of the free variables */
    bool only_own_place; /* all are of the very place that is written */
    bool combines; /* f(args) = f(args) op e in every component, op exact in any order, and e, args and conditions do
                      not read f */
    bool inexact;  /* the same, but for a float operation, whose result depends on the order */
} SelfReads;

/* A loop on the way. Each has a number of its own, by which the order of reduction loops is kept. */
typedef struct Loop {
    PlanLoop         loop;
    int              number;
    uint32_t         vars;    /* bit d: the free variable of dimension d; bit FIRST_RVAR + i: reduction variable i */
    int64_t          extent;  /* where it is a constant; else 0 */
    uint64_t         lineage; /* equal where loops were made in the same way from the same variables */
    const Directive *by;      /* what gave it its kind */
} Loop;

/* One definition on the way. */
typedef struct DefDraft DefDraft;
typedef struct Version {
    const Expr *condition;
    DefDraft   *draft;
} Version;

struct DefDraft {
    PlanDef      *def;
    const Update *update; /* of the plan's function; NULL: the pure definition */
    SelfReads     self;
    const char   *prefix; /* of its loops' variables: "out.", "hist.u0." */
    VEC(Loop) loops;      /* outermost first */
    VEC(PlanStep) steps;
    VEC(int) order;              /* numbers of the reduction loops as the language runs them, outermost first */
    bool             order_lost; /* a fused loop goes through the reduction in another order */
    bool             mixed;      /* a fused loop goes through free and reduction variables */
    int              numbers;
    const Directive *moved_by; /* the last directive that moved loops */
    VEC(Version) versions;     /* specialize */
    VEC(const Directive *) prefetches;
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

/* One function on the way. */
typedef struct FuncDraft {
    const Func *origin; /* of the pipeline or of the schedule */
    Func       *func;   /* of the plan; its id is its place among the drafts */
    PlanFunc   *plan;
    DefDraft   *defs; /* 1 + update_count; none for an input */
    VEC(Reader) readers;
    VEC(const Directive *) directives;
    bool              spoken; /* the schedule speaks of it */
    bool              kept;   /* made by a directive: not inlined by default */
    bool              inlined;
    bool              by_stage;  /* read by an extern stage, as a whole */
    bool              needed;    /* an output depends on it, and it is not inlined */
    struct FuncDraft *inside;    /* by default computed beside the vector loop of this reader; NULL: root */
    const Directive  *called_by; /* the last of inline, compute_root, compute_at */
    const Directive  *stored_by; /* the last of store_root, store_at */
    const Directive  *shaped_by; /* the first that is about loops or storage */
} FuncDraft;

typedef struct Planner {
    kn_context     *cx;
    Arena          *arena;
    Plan           *plan;
    kn_pipeline    *pipeline;
    const Schedule *schedule;
    int             vector_bits;
    Map             names;     /* variables that are taken: interned name -> itself */
    Map             drafts_of; /* Func of the pipeline, the schedule or the plan -> FuncDraft */
    Map             used;      /* directives that derive.c has obeyed: Directive -> itself */
    VEC(FuncDraft *) drafts;   /* callees before callers */
    bool failed;
} Planner;

/* An error: reason and remedy. Returns false, to be returned. */
__attribute__((format(printf, 4, 5))) bool refuse(Planner *pl, Loc loc, const char *remedy, const char *format, ...);

static inline FuncDraft *draft_of(const Planner *pl, const Func *f)
{
    return map_get_mutable(&pl->drafts_of, f);
}
static inline DefDraft *draft_def(const FuncDraft *f, int update)
{
    return &f->defs[update + 1];
}
/* "`out`", "update 0 of `hist`": in messages. */
const char *def_text(Planner *pl, const DefDraft *d);
/* The name of a loop in messages: of x.lanes, x. */
const char *loop_text(Planner *pl, const PlanLoop *l);

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

/* ---- derive.c ---- */
bool plan_derive(Planner *pl);
/* Notes that a directive has been obeyed: it is one that makes a function. */
void use_up(Planner *pl, const Directive *d);
/* Puts the last draft just before f. */
void put_before(Planner *pl, const FuncDraft *f);
/* Replaces variables in all of an update. */
void substitute_update(ExprPool *pool, const Func *f, Update *u, int names, const char *const *from,
                       const Expr *const *to);
/* The value that changes nothing. */
const Expr *identity(ExprPool *pool, ExprOp op, kn_type t);
/* `e` = f(args) op rest: the rest. */
const Expr *gathered(const Func *f, const Expr *e);
/* `e` = f(args) op rest, with another operator, place and rest. */
const Expr *regather(ExprPool *pool, const Func *f, const Expr *e, ExprOp op, const Expr *place, const Expr *rest);
/* Schedules know the update's reduction by this one name from now on. */
void rename_origin(Planner *pl, FuncDraft *f, int update, const char *r);

/* ---- separate.c ---- */
bool apply_separate(Planner *pl, const Directive *d);

/* ---- expand.c ---- */
/* Is the function a pure definition, or a reduction short enough to be written as one? */
bool can_expand(Planner *pl, const Func *f);
/* Makes it a pure definition. */
void expand(Planner *pl, Func *f);

/* ---- inline.c ---- */
bool plan_inline(Planner *pl);
/* c0*a0 + c1*a1 + … + constant */
const Expr *linear_sum(ExprPool *pool, const Linear *form);

/* ---- narrow.c ---- */
/* Functions of which no reader needs the high bits are stored without them. */
void plan_narrow(Planner *pl);

/* ---- order.c ---- */
SelfReads self_reads(Planner *pl, const Func *f, const Update *u);
/* The variables of an update that an expression is over: bits as in Loop.vars. */
uint32_t update_variables(Planner *pl, const Func *f, const Update *u, const Expr *e);
/* May the loops run as they are nested, with the kinds they have? */
bool check_order(Planner *pl, DefDraft *d);

/* ---- loops.c ---- */
/* The loops of a definition before any directive. */
void begin_loops(Planner *pl, FuncDraft *f, DefDraft *d);
/* Applies a directive of the domain order; any other is left alone. */
bool apply_loops(Planner *pl, DefDraft *d, const Directive *dir);
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

/* ---- levels.c ---- */
bool plan_levels(Planner *pl);

/* ---- together.c ---- */
/* Brings functions that are computed with another to its place; before functions are numbered. */
bool order_together(Planner *pl);
/* g and what is to be computed with it have their levels: checks the pairs, and notes what is shared. */
void join_partners(Planner *pl, const FuncDraft *g);
/* The first compute_with of a function, or NULL. */
const Directive *asked_together(const FuncDraft *f);

/* ---- storage.c ---- */
void begin_storage(FuncDraft *f);
/* Applies a directive about storage or bounds; any other is left alone. */
bool apply_storage(Planner *pl, FuncDraft *f, const Directive *dir);
/* An expression of a schedule in the plan's pool; NULL, refused, if it reads a function. */
const Expr *schedule_expr(Planner *pl, const ScheduleArg *a);

#endif
