/* SPDX-License-Identifier: MIT */
/* What the files of loop synthesis share.
 *
 *   loops.c          the pass: outputs, ports, root
 *   levels.c         what happens inside one iteration of a loop
 *   emit_nest.c      the loops of a definition as code
 *   loop_nest.c      the variables of these loops: ranges, spans, bindings
 *   shared_loops.c   compute_with: loops that several definitions share
 *   prefetch.c       the prefetch directive
 *   time_tiles.c     the time_tile directive
 *   regions.c        the box of each function at a level; needs.c: what accesses ask for
 *   slide.c          sliding windows and storage folding
 *   march.c          sliding windows in the registers of a thread
 *   whole.c          boxes of whole tiles in registers
 *   step_boxes.c     updates that read their neighbours: a box per step
 *   dead_init.c      initial values that no step reads
 *   extern_stage.c   C functions that fill boxes
 *   clamp.c          indices clamped to the storage
 *   extents.c        upper bounds of extents
 *   boxes.c          names and boxes of buffers
 *   prelude.c        lets, allocations and conditions around code
 *
 * A file calls those below it. Only levels.c and emit_nest.c call each other: loops stand in levels, and levels in
 * loops. */
#ifndef KILN_LOWER_LOOPS_BUILD_H
#define KILN_LOWER_LOOPS_BUILD_H

#include "lower/bounds/span.h"

/* A box of coordinates, both ends included. */
typedef struct SymBox {
    bool        known;
    const Expr *min[KN_MAX_RANK], *max[KN_MAX_RANK];
} SymBox;

/* Code that goes around, or before, what follows it. */
typedef enum PreludeKind { PRELUDE_LET, PRELUDE_ALLOC, PRELUDE_BEFORE, PRELUDE_IF } PreludeKind;
typedef struct PreludeItem {
    PreludeKind   kind;
    const char   *name;   /* LET */
    const Expr   *value;  /* LET; the count of ALLOC; the condition of IF */
    const Buffer *buffer; /* ALLOC */
    const Stmt   *stmt;   /* BEFORE */
} PreludeItem;
typedef struct Prelude {
    VEC(PreludeItem) items;
    int    pushed; /* scopes of the simplifier, popped at the end */
    size_t opened; /* names in scope before it */
} Prelude;

/* Updates that read their neighbours: the box of free variables differs from step to step. Entry s+1 of the buffer is
 * the box of step s, entry 0 the box needed before the first step. */
typedef struct StepTable {
    const Buffer *buffer;       /* NULL: one box for all steps */
    const Expr  **lo, **extent; /* per reduction variable */
    SymBox        need;         /* the box after the last step; the same after each where still[d] */
    bool          still[KN_MAX_RANK];
} StepTable;

/* The boxes of a function at one level. */
typedef struct FuncBoxes {
    bool        needed;
    SymBox      pure;    /* what the pure definition is computed over */
    SymBox     *updates; /* the same of each update: its free dimensions count */
    StepTable  *tables;  /* per update */
    SymBox      need;    /* all that is needed; a sliding window makes `pure` less */
    SymBox      asked;   /* the same, with any ends where nothing is needed */
    const Expr *some;    /* the condition that anything is needed; NULL: it always is */
    const Expr *read_if; /* at root: the condition that anything is read of it; NULL: it always is */
    const Expr *missing; /* where it fails `pure` has no points: its readers' windows miss nothing; NULL: it has some */
    const Expr *keep[2]; /* of a sliding window, per moving dimension: what is resident stays so */
    SymBox      resident; /* of a sliding window: the box that keep[0] extends */
} FuncBoxes;

/* The range of one loop or variable of a nest. */
typedef struct NestVar {
    const char *name;
    const Expr *min, *extent; /* NULL: not known yet */
    bool        bound;        /* has a value here */
} NestVar;

/* How the pieces of a split cover an extent that its factor may not divide. */
typedef enum SplitMode {
    SPLIT_OPEN,  /* not decided yet */
    SPLIT_EXACT, /* the inner loop is as long as is left */
    SPLIT_SHIFT, /* the last outer iteration begins earlier */
    SPLIT_GUARD, /* a condition */
    SPLIT_FULL   /* known to fit */
} SplitMode;

/* The loops of one definition while they are made. */
typedef struct LoopNest LoopNest;
struct LoopNest {
    const PlanDef   *def;
    const FuncBoxes *boxes;
    SymBox           box; /* of its free variables */
    int              var_count;
    NestVar         *vars;
    SplitMode       *modes;   /* per step */
    bool            *scalar;  /* per loop: a vector or unrolled loop that is serial in this copy */
    const Expr      *guard;   /* conditions of the innermost statement, or NULL */
    bool             widened; /* by bound or align_bounds: see shared */
    /* Along a dimension with `shared` the loops run over more than its box. With bound and align_bounds they run over
     * what is stored: what is computed outside the box has no meaning. With compute_with they run over the boxes of all
     * partners, under a condition. */
    bool shared[KN_MAX_RANK];

    /* compute_with */
    int              partner_count;
    LoopNest       **partners;  /* the nests that run in its loops */
    const char     **same;      /* of a partner: per variable that of the leading nest, or NULL */
    const SplitMode *lead;      /* of a partner: the modes of the leading nest, */
    const NestVar   *lead_vars; /* and its variables */
    int *follows; /* of a partner: per step that of the leading nest, if all its loops are shared; else -1 */
    struct TimeTiles *time_tiles; /* that are open */
    const Expr
        *some; /* the condition that its box is not empty: partners make its loops run then, too; NULL: it holds */
};

/* A window in the registers of a thread. */
typedef struct MarchWindow {
    int64_t     step;   /* coordinates that it moves by in each iteration; 0: it does not march */
    int64_t     extent; /* of its storage */
    const Expr *base;   /* the coordinate of element 0 in this iteration */
    const Expr *last;   /* that of the last element */
    bool        widens; /* that may lie beyond the box */
    const Expr *first;  /* the condition that this iteration is the first */
} MarchWindow;

/* A function that is stored outside the loop it is computed in. */
typedef struct Slide {
    const Buffer *resident; /* the two boxes that the storage holds: 2 * 2 * rank numbers, min and max per dimension */
    bool          decided;
    int           count;     /* of the dimensions that are computed piece by piece: 0 to 2 */
    int           dims[2];   /* the one that an outer loop moves along first */
    size_t        opened;    /* names in scope at the store level */
    int64_t       window[2]; /* the most coordinates along each of them that are needed at a time; 0: not known */
    MarchWindow   march;     /* along dims[0] */
} Slide;

/* A name in scope: a loop's variable (value NULL) or a let's. */
typedef struct BoundName {
    const char *name;
    const Expr *value;
    LoopKind    kind; /* of a loop */
    const Expr *min;
} BoundName;

typedef struct Build {
    Lower      *lw;
    const Plan *plan;
    SpanEnv     spans;
    VEC(BoundName) names; /* in scope, outermost first */
    bool failed;

    Map clamp_dims; /* call -> the dimensions whose index is clamped, a bit each */
    Map reachable;  /* the calls that root finds can happen; the others ask for nothing anywhere */

    /* Per function id. */
    bool        *is_read; /* as far as root knows; what is not read is not computed */
    const Expr **read_if; /* the condition that anything is read of it in this call; NULL: it always is. Its needs of
                           * inputs were checked under this condition, so it is computed only then */
    SymBox    *stored;    /* the box of its storage */
    SymBox    *at_root;   /* the box that is needed of it in all */
    FuncBoxes *boxes;     /* at its compute level, while that is open */
    Slide     *slides;
    Func     **ports;             /* of an output that is computed elsewhere and copied: the copy; else NULL */
    int64_t (*fold)[KN_MAX_RANK]; /* the fold factor; 0: not folded, -1: cannot be */
} Build;

/* time_tile: diamonds while their loops are made. */
typedef struct TimeTiles {
    int64_t     slope;
    Prelude     outside, inside, in_tile; /* outside the waves, in a wave, in a tile */
    const char *wave_name, *tile_name;
    const Expr *first, *min, *h; /* the first step; the first coordinate, and the last seen from it */
    const Expr *size;            /* of a tile, in u and v */
    const Expr *wave_first, *waves, *tile_first, *tiles;
    const Expr *from, *to; /* steps of a wave, from the first one */
    const Expr *u, *v;     /* where the tile begins */
    /* Pieces of a tile along the argument inside: a step begins across_slope coordinates before the one before. */
    int64_t     across_slope, across_factor;
    Prelude     in_piece;
    const char *piece_name;
    const Expr *across_min, *piece_size, *pieces; /* pieces NULL: there are none */
} TimeTiles;

/* ---- prelude.c ---- */
void prelude_open(Build *b, Prelude *w);
/* Gives the variable, or the value itself if it needs no name. */
const Expr *prelude_let(Build *b, Prelude *w, const char *name, const Expr *value);
/* A let of which only min <= value <= max is known. Gives the variable. */
const Expr *prelude_let_between(Build *b, Prelude *w, const char *name, const Expr *value, const Expr *min,
                                const Expr *max);
void        prelude_alloc(Build *b, Prelude *w, const Buffer *buffer, const Expr *count);
void        prelude_before(Build *b, Prelude *w, const Stmt *s);
void        prelude_if(Build *b, Prelude *w, const Expr *condition);
/* `core` inside all of it. */
const Stmt *prelude_close(Build *b, Prelude *w, const Stmt *core);
Buffer     *build_scratch(Build *b, const char *name, kn_type type);
const Expr *build_load(Build *b, const Buffer *buffer, const Expr *index); /* i32 */
const Stmt *build_store(Build *b, const Buffer *buffer, const Expr *index, const Expr *value);
/* Ends the call with the status and message unless the condition holds. */
const Stmt *build_check(Build *b, kn_status status, const Expr *condition, const char *message);

/* ---- boxes.c ---- */
const char *region_name(Build *b, const Func *f, int d, const char *what, PlanLevel level);
/* The loop's variable, or "root". */
const char *level_name(PlanLevel level);
/* The port buffer of a component of an input or output, and its box. */
const Buffer *port_buffer(Build *b, const Func *f, int component);
SymBox        port_box(Build *b, const Func *f);
/* Where a function's values are read from: its port or its storage. */
SymBox      storage_box(Build *b, const Func *f);
const Expr *box_nonempty(Build *b, const SymBox *box, int rank);
const Expr *box_extent(Build *b, const SymBox *box, int d);
bool        box_same(const SymBox *a, const SymBox *b, int rank);
bool        slide_moves(const Slide *s, int d);
/* bound and align_bounds compute and store more than is needed. They ask no more of producers for that: the reads of
 * such a function are clamped (clamp_mark_widened). */
SymBox box_widened(Build *b, const Func *f, SymBox box);
bool   box_widens(Build *b, const Func *f, int d);

/* ---- time_tiles.c ---- */
void time_tiles_open(Build *b, LoopNest *n, TimeTiles *tt);
/* The ranges of the two loops in a tile, from those without tiles. */
void time_tiles_steps(Build *b, const TimeTiles *tt, const Expr **min, const Expr **extent);
void time_tiles_along(Build *b, const TimeTiles *tt, const char *steps, const Expr **min, const Expr **extent);
/* That of the loop inside, in a piece; of a split's outer loop, `begin` is the coordinate where its first iteration
 * begins. */
void        time_tiles_across(Build *b, const TimeTiles *tt, const char *steps, const Expr *begin, const Expr **min,
                              const Expr **extent);
const Stmt *time_tiles_close(Build *b, TimeTiles *tt, const Stmt *steps);

/* ---- extents.c ---- */
/* The most coordinates along d that the box has at a time, or -1. */
int64_t box_max_extent(Build *b, const SymBox *box, int d);
/* The extent that storage from min to max gets. */
const Expr *storage_extent(Build *b, bool root, const Expr *min, const Expr *max);

/* ---- clamp.c ---- */
/* From now on the indices of these dimensions of a call, a bit each, are clamped. */
void clamp_mark(Build *b, const Expr *call, unsigned dimensions);
/* The indices of calls in a function's definitions that depend on dimensions which `bound` or `align_bounds` widens. */
void clamp_mark_widened(Build *b, const Func *f);
/* The indices of the calls of its pure definition that vary with its argument d. */
void clamp_mark_along(Build *b, const Func *f, int d);
/* The expression with the marked calls clamped. */
const Expr *clamped(Build *b, const Expr *e);
/* The same, of a value of `def`: the element that an update writes is not clamped. */
const Expr *clamped_in(Build *b, const PlanDef *def, const Expr *e);

/* ---- extern_stage.c ---- */
/* What extern stages read is not folded. */
void extern_stages_not_folded(Build *b);
/* Asks the stage which box it needs of each argument. */
void extern_stage_needs(Build *b, const Func *f, const SymBox *box, const Expr *read_if, PlanLevel level, Prelude *w,
                        SymSpan (*need)[KN_MAX_RANK]);
/* At the compute level: the call. */
const Stmt *extern_stage_call(Build *b, const Func *f);

/* ---- dead_init.c ---- */
/* Coordinates first..last along dim whose initial values the first update overwrites before they are read; first >
 * last: none. */
typedef struct DeadInit {
    int         dim;
    const Expr *first, *last;
    int64_t     back;    /* how far back a step reads */
    bool        forward; /* from first to last */
} DeadInit;
bool dead_init_find(Build *b, const Func *f, const FuncBoxes *boxes, DeadInit *dead);
/* The most coordinates of a scan that are live at a time along *dim, the dimension of its steps, or -1; *dim -1: it is
 * no scan. */
int64_t scan_window(Build *b, const Func *f, const FuncBoxes *boxes, int *dim);

/* ---- step_boxes.c ---- */
bool update_reads_neighbours(Build *b, const Func *f, int update);
void step_boxes_make(Build *b, const Func *f, int update, const SymBox *need, PlanLevel level, Prelude *w,
                     StepTable *table, SymBox *before, SymBox *after_first);
/* In the loops over the steps: the free box of this step. */
void step_box(Build *b, const Func *f, int update, const StepTable *table, Prelude *w, SymBox *box);

/* ---- slide.c ---- */
/* At the store level: nothing is resident. */
void slide_begin(Build *b, const Func *f, Prelude *w);
/* At the compute level: narrows the boxes to what is missing. Gives the condition that anything is, or NULL where the
 * boxes stay as they were. */
const Expr *slide_box(Build *b, const Func *f, FuncBoxes *boxes, Prelude *w);
/* At the store level, when all inside it is built: drops what slide_begin keeps, where nothing reads it. */
void slide_close(Build *b, const Func *f, Prelude *w);
/* Computes, then notes what is resident. */
const Stmt *slide_end(Build *b, const Func *f, const Stmt *produce);
/* At the compute level: which dimensions can be folded; `box` is all that is stored there. */
void fold_check(Build *b, const Func *f, const SymBox *box, const FuncBoxes *boxes);

/* ---- whole.c ---- */
/* Is another function computed in its loops, or do they share some? Then that is asked for what the loops run over. */
bool has_loops_of_others(const Build *b, const Func *f);
/* Is it in registers, in the threads of a kernel, and computed at a level where a window may march? */
bool is_of_march(const Build *b, const Func *f);
/* At the compute and the store level: the box of a function in registers, with the ends of a whole tile. */
void whole_box(Build *b, const Func *f, PlanLevel level, SymBox *box, Prelude *w);

/* ---- march.c ---- */
/* At the compute level: the window of a function that marches, whose box is the one needed. False: it does not. */
bool march_find(Build *b, const Func *f, const FuncBoxes *boxes, MarchWindow *out);
/* At the end of an iteration: what the next one needs moves to where it looks for it. NULL: nothing. */
const Stmt *march_move(Build *b, const Func *f);

/* ---- loop_nest.c ---- */
void     nest_init(Build *b, LoopNest *n, const PlanDef *def, const FuncBoxes *boxes);
LoopNest nest_copy(Build *b, const LoopNest *n);
NestVar *nest_find(const LoopNest *n, const char *name);
bool     nest_is_bound(const LoopNest *n, const char *name);
/* The index of the loop with that variable; -1: there is none. */
int nest_loop(const PlanDef *def, const char *name);
/* The update that the nest computes; NULL: the pure definition. */
const Update   *nest_update(const LoopNest *n);
const PlanStep *nest_split_of_inner(const LoopNest *n, const char *name, int *index);
const PlanStep *nest_split_of_outer(const LoopNest *n, const char *name, int *index);
/* Is it a loop of fixed length: a vector, or copies? */
bool nest_is_fixed_length(const LoopNest *n, const char *name);
/* May the last piece of a split begin earlier, so that some points are computed twice? */
bool nest_may_shift(const LoopNest *n, const PlanStep *s);
/* Finds the range of a variable, if it is not known yet. */
void nest_range(Build *b, LoopNest *n, const char *name);
/* The span of a variable of the definition, inside its own box: bound loops are fixed, the others run. */
SymSpan nest_span(Build *b, LoopNest *n, const char *name);
/* The same, where loops run over the boxes of all partners. */
SymSpan nest_span_all(Build *b, LoopNest *n, const char *name);
/* Gives a variable a value. */
void nest_bind(Build *b, LoopNest *n, const char *name, const Expr *value, Prelude *w);
/* Gives every variable its value that follows from those bound. */
void nest_bind_known(Build *b, LoopNest *n, Prelude *w);

/* ---- shared_loops.c ---- */
/* Finds the partners of a nest, and what the shared loops run over. */
void shared_loops_begin(Build *b, LoopNest *n);
/* Binds the partners' variables, after some of the nest's own have got a value in loop `loop`. */
void shared_loops_bind(Build *b, LoopNest *n, int loop, Prelude *w);
/* The number of loops that it shares with any. */
int shared_loops_depth(const LoopNest *n);
/* The condition that a nest in shared loops computes anything in them; NULL: it does, or its loops are not shared. */
const Expr *shared_loops_compute_if(Build *b, const LoopNest *n);
/* The condition that the shared loops have come to the nest's own box; NULL: they have. */
const Expr *shared_loops_meet(Build *b, LoopNest *n);
/* The condition that anything is read of the function, or of those in its loops; NULL: something is. */
const Expr *shared_loops_read_if(Build *b, const PlanFunc *pf);
/* Does it run in the loops of another? */
bool shared_loops_joined(Build *b, const PlanDef *def);

/* ---- regions.c ---- */
/* Begins a level: names the boxes of all functions computed inside it, consumers first. `nest`: of level.def, whose
 * loops down to level.loop are open; NULL at root. */
void regions_begin(Build *b, PlanLevel level, LoopNest *nest, Prelude *w);
/* Tells of all accesses of the nest's definition, while the loops that are not open run. */
void nest_accesses(Build *b, LoopNest *n, SpanAccess *access, void *user);

/* ---- prefetch.c ---- */
/* Prefetches whose lines are asked for in loop `loop`; the partners' too. */
void prefetches(Build *b, LoopNest *n, int loop, Prelude *w);

/* ---- emit_nest.c ---- */
const Stmt *nest_build(Build *b, LoopNest *n);

/* ---- levels.c ---- */
/* Everything that happens inside a level: what is computed and stored there, then core. */
const Stmt *level_build(Build *b, PlanLevel level, LoopNest *nest,
                        const Stmt *(*core)(Build *b, LoopNest *nest, int loop), int loop);
const Stmt *definition_build(Build *b, const PlanDef *def, const FuncBoxes *boxes);

#endif
