/* What the files of loop synthesis share: loops.c (the whole), nest.c (the loops of one definition), regions.c (boxes
 * at a level), slide.c (what storage holds), steps.c (updates that read themselves beside), together.c (loops that
 * definitions share), unread.c (what need not be computed), prefetch.c, stages.c (C functions that fill boxes). */
#ifndef KILN_LOWER_BUILD_H
#define KILN_LOWER_BUILD_H

#include "lower/span.h"

/* A box of coordinates, both ends included. */
typedef struct SymBox {
    bool        known;
    const Expr *min[KN_MAX_RANK], *max[KN_MAX_RANK];
} SymBox;

/* Code that goes around, or before, what follows it. */
typedef enum WrapKind { WRAP_LET, WRAP_ALLOC, WRAP_BEFORE, WRAP_IF } WrapKind;
typedef struct Wrap {
    WrapKind      kind;
    const char   *name;   /* LET */
    const Expr   *value;  /* LET; the count of ALLOC; the condition of IF */
    const Buffer *buffer; /* ALLOC */
    const Stmt   *stmt;   /* BEFORE */
} Wrap;
typedef struct Wraps {
    VEC(Wrap) items;
    int    pushed; /* scopes of the simplifier to be popped at the end */
    size_t opened; /* scopes of the build before it */
} Wraps;

/* The boxes of a function at one level: what the pure definition and each update are computed over. */
typedef struct FuncBoxes {
    bool    needed;
    SymBox  pure;
    SymBox *updates; /* free dimensions count */
    const Expr
          *alive; /* while the boxes of root are made: the condition that anything is read of it; NULL: it always is */
    SymBox need;  /* all that is needed, where a slide has made `pure` less */
    SymBox asked; /* the same, but where nothing is needed any ends */
    const Expr       *some;    /* the condition that anything is needed; NULL: it always is */
    const Expr       *keep[2]; /* of a slide, per moving dimension: what is held goes on being held */
    SymBox            held;    /* of a slide: what `keep[0]` is about */
    struct StepTable *tables;  /* per update; .buffer NULL where its free box does not change from step to step */
} FuncBoxes;

/* Free boxes that differ from step to step: entry s+1 of the buffer is that of step s, entry 0 what is needed before
 * the first. */
typedef struct StepTable {
    const Buffer *buffer;
    const Expr  **lo, **extent; /* per reduction variable */
    SymBox        need;         /* the box after the last step; the same after each where still[d] */
    bool          still[KN_MAX_RANK];
} StepTable;

/* The range of one loop or variable of a nest. */
typedef struct NestName {
    const char *name;
    const Expr *min, *extent; /* NULL: not known yet */
    bool        bound;        /* has a value here */
} NestName;

/* How a split is made to fit. */
typedef enum SplitMode {
    SPLIT_OPEN,  /* not decided yet */
    SPLIT_EXACT, /* the inner loop is as long as is left */
    SPLIT_SHIFT, /* the last outer iteration begins earlier */
    SPLIT_GUARD, /* a condition */
    SPLIT_FULL   /* known to fit */
} SplitMode;

/* One definition on its way to loops. */
typedef struct Nest Nest;
struct Nest {
    const PlanDef   *def;
    const FuncBoxes *boxes;
    SymBox           box; /* of its free variables */
    int              name_count;
    NestName        *names;
    SplitMode       *modes;   /* per step */
    bool            *scalar;  /* per loop: a vector or unrolled loop that is serial in this copy */
    const Expr      *guard;   /* conditions for the innermost, or NULL */
    bool             widened; /* bound, align_bounds: see shared */
    /* Along a dimension with `shared` the loops run over more than its box: with bound and align_bounds over what is
     * stored, where what is computed outside the box has no meaning; with compute_with over the boxes of all partners,
     * under a condition. */
    int              partner_count;
    Nest           **partners; /* those that run in its loops */
    const char     **same;     /* of a partner: per name that of the nest whose loops it runs in, or NULL */
    const SplitMode *lead;     /* of a partner: the modes of that nest */
    int *follows; /* of a partner: per step that of that nest, if all loops that it makes are shared; else -1 */
    bool shared[KN_MAX_RANK];
};

/* A function that is stored outside the loop it is computed in. */
typedef struct Slide {
    const Buffer
           *held; /* 2 * 2 * rank numbers: min and max of each dimension of the two boxes that the storage holds */
    bool    decided;
    int     count;     /* of the dimensions that are computed piece by piece: 0 to 2 */
    int     dims[2];   /* the one that an outer loop moves along first */
    size_t  opened;    /* scopes open at the store level */
    int64_t window[2]; /* the most coordinates along each of them that are needed at a time; 0: not known */
} Slide;

/* A name in scope: a loop's variable (value NULL) or a let's. */
typedef struct Scope {
    const char *name;
    const Expr *value;
} Scope;

typedef struct Build {
    Lower      *lw;
    const Plan *plan;
    Spans       spans;
    Map         unsafe; /* call nodes with indices that must be clamped: the dimensions, a bit each */
    Map         live;   /* call nodes that can be made, as far as root knows; the others ask for nothing anywhere */
    bool *
        read; /* per function id: something is read of it, as far as root knows; what is not is not computed anywhere */
    const Expr *
        *alive; /* per function id: the condition that anything is read of it in this call; NULL: it always is. What it
                 * needs of the inputs was asked for under this condition, so it is computed only then */
    SymBox    *stored; /* per function id: the box of its storage */
    FuncBoxes *boxes;  /* per function id: at its compute level, while that is open */
    Slide     *slides; /* per function id */
    Func **ports; /* per function id: of an output that is computed elsewhere and copied, what is copied; else NULL */
    int64_t (*fold)[KN_MAX_RANK]; /* per function id: 0 where not folded, -1 where it cannot be, so far */
    VEC(Scope) scopes;
    bool failed;
} Build;

/* ---- Wraps ---- */
void        wraps_open(Build *b, Wraps *w);
const Expr *wrap_let(Build *b, Wraps *w, const char *name,
                     const Expr *value); /* gives the variable, or the value itself if it needs no name */
/* A let of which only this need be known: min <= value <= max. Gives the variable. */
const Expr *wrap_between(Build *b, Wraps *w, const char *name, const Expr *value, const Expr *min, const Expr *max);
void        wrap_alloc(Build *b, Wraps *w, const Buffer *buffer, const Expr *count);
void        wrap_before(Build *b, Wraps *w, const Stmt *s);
void        wrap_if(Build *b, Wraps *w, const Expr *condition);
const Stmt *wraps_close(Build *b, Wraps *w, const Stmt *core);
Buffer     *build_scratch(Build *b, const char *name, kn_type type);
const Expr *build_load(Build *b, const Buffer *buffer, const Expr *index); /* i32 */
const Stmt *build_store(Build *b, const Buffer *buffer, const Expr *index, const Expr *value);

/* ---- regions.c ---- */
/* Begins a level: names the boxes of all functions computed inside it, consumers first. `nest`: of level.def, whose
 * loops down to level.loop are open; NULL at root. Slides and steps come in here where a function is computed at this
 * level. */
void        regions_begin(Build *b, PlanLevel level, Nest *nest, Wraps *w);
const char *region_name(Build *b, const Func *f, int d, const char *what, PlanLevel level);
/* The port buffer of a component of an input or output. */
const Buffer *port_buffer(Build *b, const Func *f, int component);
/* The box of a port buffer. */
SymBox port_box(Build *b, const Func *f);
/* What is computed and stored for a box that is needed: bound and align_bounds make it larger. Nothing more is asked of
 * others for that: the function's reads are brought into what they have (regions_widen marks them). */
SymBox box_widened(Build *b, const Func *f, SymBox box);
bool   box_widens(Build *b, const Func *f, int d);
void   regions_widen(Build *b, const Func *f);
/* From now on the indices of these dimensions, a bit each, of a call are clamped. */
void        regions_clamp(Build *b, const Expr *call, unsigned dimensions);
const Expr *box_nonempty(Build *b, const SymBox *box, int rank);

/* Tells of all accesses of the nest's definition, over what the loops that are not open run through. */
void nest_accesses(Build *b, Nest *n, SpanAccess *access, void *user);

/* ---- prefetch.c ---- */
void prefetches(Build *b, Nest *n, int loop,
                Wraps *w); /* those whose lines are asked for in loop `loop`; the partners' too */

/* ---- nest.c ---- */
void        nest_init(Build *b, Nest *n, const PlanDef *def, const FuncBoxes *boxes);
const Stmt *nest_build(Build *b, Nest *n);
/* The span of a variable of the nest's definition, in which what is bound is fixed and the rest runs; inside its own
 * box. */
Span nest_span(Build *b, Nest *n, const char *name);
/* The same, where loops run over the boxes of all partners. */
Span      nest_span_all(Build *b, Nest *n, const char *name);
NestName *nest_find(const Nest *n, const char *name);
int nest_loop(const PlanDef *def, const char *name); /* the place of the loop with that variable; -1: it is none */
/* Gives a name a value. */
void nest_bind(Build *b, Nest *n, const char *name, const Expr *value, Wraps *w);
Nest nest_copy(Build *b, const Nest *n);

/* ---- together.c ---- */
void        together_begin(Build *b, Nest *n); /* finds its partners, and what the shared loops run over */
void        together_bind(Build *b, Nest *n, int loop,
                          Wraps *w);       /* partners' names, after some of its own have got a value in that loop */
int         together_depth(const Nest *n); /* the number of loops that it shares with any */
const Expr *together_meets(Build *b, Nest *n); /* do the shared loops come to its own box here? NULL: they do */
const Expr      *
together_alive(Build          *b,
                    const PlanFunc *pf); /* is anything read of it, or of those that run in its loops? NULL: it is */
bool together_joined(Build *b, const PlanDef *def); /* does it run in the loops of another? */

/* ---- slide.c ---- */
void slide_begin(Build *b, const Func *f, Wraps *w); /* at the store level: nothing is held */
/* At the compute level: narrows the boxes to what is missing. Gives the condition that anything is, or NULL where the
 * boxes stay as they were. */
const Expr *slide_box(Build *b, const Func *f, FuncBoxes *boxes, Wraps *w);
const Stmt *slide_end(Build *b, const Func *f, const Stmt *produce); /* computes, then notes what is held */
bool        slide_moves(const Slide *s, int d);
int64_t     box_most(Build *b, const SymBox *box,
                     int d); /* the most coordinates along d that the box has at a time, or -1 */
/* At the compute level: which dimensions can be folded; `box` is all that is stored there. */
void fold_check(Build *b, const Func *f, const SymBox *box, const FuncBoxes *boxes);

/* ---- steps.c ---- */
bool update_shifts(Build *b, const Func *f, int update);
void steps_table(Build *b, const Func *f, int update, const SymBox *need, PlanLevel level, Wraps *w, StepTable *table,
                 SymBox *before, SymBox *after_first);
void steps_box(Build *b, const Func *f, int update, const StepTable *table, Wraps *w,
               SymBox *box); /* in the step loops: the free box of this step */

/* ---- unread.c ---- */
/* Coordinates first..last along dim at which the first update writes over the pure definition's values unread; first >
 * last: none. */
typedef struct Unread {
    int         dim;
    const Expr *first, *last;
    int64_t     back;    /* how far back a step reads */
    bool        forward; /* from first to last */
} Unread;
bool    unread_find(Build *b, const Func *f, const FuncBoxes *boxes, Unread *gap);
int64_t scan_window(Build *b, const Func *f, const FuncBoxes *boxes,
                    int *dim); /* the most coordinates that are needed at a time along *dim, along which its steps go,
                                  or -1; *dim -1: there is none */

/* ---- stages.c ---- */
void        stages_begin(Build *b); /* what stages read is not folded */
void        stage_ask(Build *b, const Func *f, const SymBox *box, const Expr *alive, PlanLevel level, Wraps *w,
                      Span (*need)[KN_MAX_RANK]); /* per argument: what is needed */
const Stmt *stage_build(Build *b, const Func *f); /* at the compute level: the call */

/* ---- loops.c ---- */
/* Everything that happens inside a level: what is computed and stored there, then core. */
const Stmt *level_build(Build *b, PlanLevel level, Nest *nest, const Stmt *(*core)(Build *b, Nest *nest, int loop),
                        int loop);

#endif
