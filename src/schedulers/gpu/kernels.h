/* SPDX-License-Identifier: MIT */
/* A schedule for a device as data: the groups of a draft, each a kernel, with the shape of its blocks.
 *
 * From    Sioutas et al. 2020. A group is a kernel (section 4.2). Its head, the paper's output stage, is tiled: a tile
 *         is a block, and a thread computes one or several points of it. A member is computed for each block, in
 *         shared memory (overlapping tiles, Figure 3), or inside the threads of the one stage that reads it, in
 *         registers (nested fusion, Figure 4), or it is inlined.
 *
 * The draft of the same schedulers for CPUs says what is inlined (WHERE_INLINE), which nodes are heads (WHERE_ROOT) and
 * which members (WHERE_INSIDE); its loops are not used. A *unit* is a stage with threads of its own: a head, or a
 * member in shared memory. */
#ifndef KILN_SCHEDULERS_KERNELS_H
#define KILN_SCHEDULERS_KERNELS_H

#include "schedulers/draft/draft.h"
#include "schedulers/model/device.h"

/* The tile of a head, per dimension. The threads of a block along it are tile / each. */
typedef struct KernelShape {
    int64_t  tile[KN_MAX_RANK]; /* points of a block */
    int64_t  each[KN_MAX_RANK]; /* of those, points of a thread, in unrolled copies */
    uint32_t inside;            /* bit d: the whole dimension is inside a thread, and has no loop over blocks */
} KernelShape;

/* The times of a kernel, in ns. */
typedef enum KernelTerm {
    KERNEL_MEMORY,
    KERNEL_L2,
    KERNEL_ISSUE,
    KERNEL_ACCESSES,
    KERNEL_LATENCY,
    KERNEL_LAUNCH,
    KERNEL_TERMS
} KernelTerm;
extern const char *const kernel_term_names[KERNEL_TERMS];

/* Why a configuration is invalid (Listing 1, lines 28, 36 and 37). */
typedef enum KernelFault {
    KERNEL_VALID,
    KERNEL_MANY_THREADS, /* thread_count > MAX_THREADS_PER_BLOCK */
    KERNEL_PART_OF_WARP, /* thread_count % WARP_SIZE != 0 */
    KERNEL_MUCH_SHARED,  /* footprint > MAX_SHARED_MEM_PER_BLOCK */
    KERNEL_SPILLS,       /* it would hold more in registers than there are */
    KERNEL_OCCUPANCY,    /* occupancy < OCCUPANCY_THRESHOLD */
    KERNEL_FEW_SMS,      /* active_SMs < SM_COUNT */
    KERNEL_UNBOUNDED,    /* something is stored whose size no constant bounds */
    KERNEL_MUCH_CODE     /* the copies of a thread are too much code */
} KernelFault;

/* What a kernel is predicted to be, in the notation of Table 1. */
typedef struct KernelCost {
    KernelFault fault;
    double      blocks;
    int         thread_block[3], thread_count;
    int64_t     footprint; /* bytes of shared memory */
    int         registers; /* of a thread */
    Occupancy   occupancy;
    double      active_sms;
    double      term[KERNEL_TERMS];
    double      ns;
    double      paper; /* the cost of Listing 1, line 39 */
} KernelCost;

typedef struct Kernel {
    KernelShape shape;
    KernelCost  cost;
    int         resident; /* blocks of a multiprocessor that the compiler is to leave registers for; 0: as predicted */
    int         staged;   /* 1 + X: its sum has its operands in shared memory (kernel_products.c); 0: it has not */
} Kernel;

typedef struct KernelDraft {
    Draft         d;
    const Device *device;
    int          *nested; /* by node, WHERE_INSIDE: 1 + the unit in whose threads it is computed; 0: shared memory */
    int64_t (*each)[KN_MAX_RANK]; /* by node in shared memory: the points of a thread, in unrolled copies; 0: one */
    bool   *left;                 /* by node: it has no tiles: a pattern, or the compiler's default kernels */
    bool   *table;                /* by node: its elements are numbers in the steps that read it, which are copies */
    int    *cells;    /* by node: 1 + the grid whose cells a block of its kernel has in shared memory; 0: none */
    bool    patterns; /* those that are left have the schedules of their patterns */
    bool    products; /* long sums of products have the blocks of kernel_products.c */
    bool    memory;   /* sums of heads are accumulated in memory, step by step */
    Kernel *kernels;  /* by group */
} KernelDraft;

/* What suits a node that is left (kernel_patterns.c). */
typedef enum KernelPattern { KERNEL_PLAIN, KERNEL_HISTOGRAM, KERNEL_TABLE, KERNEL_SCAN, KERNEL_GRID } KernelPattern;
KernelPattern kernel_pattern_of(const Draft *d, int s);
void          kernel_pattern_print(Text *out, const KernelDraft *k, int s);
/* The stage whose kernel had better have the cells of this grid in shared memory; -1: none (kernel_grid.c). */
int kernel_grid_reader(const KernelDraft *k, int s);
/* The time of a grid: in memory, or in the shared memory of its reader's kernel. */
double kernel_grid_ns(const KernelDraft *k, int s, bool shared);
/* Is this scan stored transposed, so that its readers take it through shared memory? */
bool kernel_is_turned(const KernelDraft *k, int s);
void kernel_print_turned(Text *out, const Func *f, const Func *reader, const char *block);

/* Can the loops of this node be scheduled here: has each of its definitions a point for each thread? */
bool kernel_may_head(const Draft *d, int s);

/* ---- One kernel (kernel_space.c, kernel_cost.c, kernel_tiles.c) ---- */

/* A coordinate of a member over that of the head: num/den, by so many steps. */
typedef struct KernelScale {
    int64_t num, den;
    int     steps;
} KernelScale;

/* The points of a node along a dimension that a thread computes or reads: as many as the code tells apart. Where it
 * begins at a multiple of `aligned`, quotients of neighbours are known to be the same. */
typedef struct KernelSpan {
    double  points;
    int64_t aligned;
} KernelSpan;

/* Work space for the group in question. */
typedef struct KernelSpace {
    KernelDraft *k;
    const Graph *g;
    bool         paper; /* costs are those of Listing 1 */
    int          head;
    int         *among, among_count;   /* the group and what is inlined into it, ascending */
    bool        *given, *member;       /* all false between calls */
    Box         *block, *thread;       /* boxes of a block, of a thread */
    Box         *hull;                 /* of what is read of a node */
    double      *points;               /* of a node that are computed */
    double      *at_once, *at_step;    /* of these, those of one iteration of a loop over steps, and of one step */
    bool        *within;               /* all false between calls */
    double      *repeats;              /* iterations of a thread that each have a node's span of their own */
    bool        *shifted;              /* by node: the steps of a loop move along its rows */
    double      *asked, *held;         /* reads of a node; elements of it that are read at a time */
    int         *touched;              /* nodes that are read */
    uint32_t (*depends)[KN_MAX_RANK];  /* by node and dimension: the dimensions of the head that it moves with */
    KernelSpan (*span)[KN_MAX_RANK];   /* by node and dimension: what a thread has of it */
    KernelScale (*scale)[KN_MAX_RANK]; /* likewise: by how much */
    bool        aligns;                /* what is computed may be widened: inputs are read within their bounds anyway */
    const bool *constant;              /* by edge: its span follows from its reader's tile by constants alone */
    bool       *unbounded;             /* by node: no constant bounds what a tile needs of it */
    int *last; /* by node: the last unit of the group that reads it, directly, or through what is inlined or nested */
} KernelSpace;

KernelSpace kernel_space(KernelDraft *k, bool paper, Arena *arena);
/* Takes the group of this head, whose choices are in the draft. */
void kernel_space_begin(KernelSpace *s, int head);
bool kernel_is_unit(const KernelSpace *s, int node);
/* Is this node a head whose sums are in registers, and stored as a copy when they are whole? */
bool kernel_holds_sums(const KernelDraft *k, int node);
/* Is it computed in the threads of a unit: inlined, or nested in it? */
bool kernel_in_threads(const KernelSpace *s, int node, int unit);
/* The steps of a sum that are copies, so that what it reads of tables are numbers; 0: it has none, or too many. */
int64_t kernel_steps_of_table(const KernelDraft *k, int node);

/* The number of which the coordinates of the head along a dimension are known to be multiples, where a thread has so
 * many points of it: 1, or that which align_bounds asks for, or, of an output, the points themselves. */
int64_t kernel_alignment(const KernelSpace *s, int d, int64_t each);

/* The points of a thread of a unit: of the head those of the shape. Boxes of the block are known. */
void kernel_points_of_thread(const KernelSpace *s, const KernelShape *shape, int unit, int64_t *each);
/* May the threads of a member in shared memory have several points? */
bool kernel_may_have_points(const KernelSpace *s, int member);
/* The boxes that a block needs of the nodes of the group, and then those that one thread of a unit needs. */
void kernel_find_blocks(KernelSpace *s, const KernelShape *shape);
void kernel_find_threads(KernelSpace *s, int unit, const int64_t *each);
/* The one definition of a unit that reads a node, directly or through what is in its threads: -1 the pure one, else an
 * update; NO_DEF: there are several, or another stage reads it too. */
int kernel_reading_def(const KernelSpace *s, int node, int unit);

/* The one long sum that a head reads at its own points, of products of inputs or stages of other kernels: a block takes
 * some of its steps at a time from shared memory. -1: there is none. */
int kernel_staged_sum(const KernelSpace *s);

/* The shape of its blocks, threads along x; false: its operands, or its sizes, do not suit. */
bool kernel_product_shape(const KernelSpace *s, int x, KernelShape *shape);
void kernel_print_product(Text *out, const KernelSpace *s, const Kernel *kernel);

/* The cost of the group with that shape. */
void kernel_evaluate(KernelSpace *s, const KernelShape *shape, KernelCost *out);
/* The blocks that a multiprocessor should hold of a kernel with that cost. */
int kernel_resident_blocks(const Device *device, const KernelCost *c);
/* Is `a` better than `b`? An invalid configuration is worse than any that is not. */
bool kernel_better(const KernelSpace *s, const KernelCost *a, const KernelCost *b);

typedef enum KernelEffort { KERNEL_QUICK, KERNEL_SEARCH, KERNEL_THOROUGH } KernelEffort;
/* The best shape of the group (section 4.2). */
void kernel_choose_shape(KernelSpace *s, KernelEffort effort, Kernel *out);
/* The best points of a thread of a member in shared memory. */
void kernel_choose_points(KernelSpace *s, int member);

/* ---- All kernels ---- */

/* The text of the schedule. */
void kernel_draft_print(Text *out, KernelDraft *k, Arena *arena);

#endif
