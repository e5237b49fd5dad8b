/* SPDX-License-Identifier: MIT */
/* The numbers of the schedulers: what the model, the rules and the searches take for granted.
 *
 * What a machine is like is in a Machine (model/machine.h), and can be measured by `kiln calibrate`. These are the same
 * on every machine; none is fitted. The origin of a number says how far to trust it:
 *
 *     measured    the remark says on what
 *     paper       a paper's own number
 *     known       of processors in general
 *     chosen      by hand, so that the apps' schedules are good; bench/tau and bench/ablation show what they are worth
 *     limit       it bounds what a search or an analysis takes; it is no judgement
 *
 * A row: name, value, unit, origin, what it is. Limits that only keep arrays and recursions finite are beside them. */
#ifndef KILN_SCHEDULERS_CONSTANTS_H
#define KILN_SCHEDULERS_CONSTANTS_H

/* clang-format off */

/* ---- The program ----------------------------------------------------------------------------- */

enum {
    USUAL_EXTENT               = 1024,     /* points        chosen    extent of an output whose size is not known */
    USUAL_CHANNELS             = 3,        /* points        chosen    the same along a third dimension */
    OPS_BY_CONSTANT            = 3,        /* operations    chosen    an integer division by a constant */
    OPS_BY_POWER               = 1,        /* operations    chosen    an integer division by a power of two */
    LONG_PERIOD                = 64,       /* points        chosen    of a remainder from which on a vector is mostly
                                                                      inside of one period */
};

/* ---- The model ------------------------------------------------------------------------------- */

enum {
    PAGE_BYTES                 = 4096,     /* bytes         known     the hardware prefetcher stops at the end of a
                                                                      page */
    MOST_OUTSTANDING           = 12,       /* lines         known     fetches that one core has in flight */
    MOST_STREAMS               = 32,       /* rows          known     streams that the hardware prefetcher follows */
    MOST_STRIDE                = 1 << 16,  /* elements      limit     larger strides are not told apart */
    LINE_BYTES                 = 64,       /* bytes         known     a cache line; what a streaming store should
                                                                      fill at once */
    SUM_LATENCY                = 8,        /* operations    chosen    from one step of a sum to the next */
    WHOLE_SUM_LATENCY          = 2,        /* operations    known     the same of integers: an addition takes a cycle */
    LOOK_AHEAD                 = 200,      /* instructions  known     that a processor looks ahead */
    REGISTERS                  = 16,       /* registers     known     of vectors, in x86-64 without AVX-512 */
    REGISTERS_OF_512           = 32,       /* registers     known     the same with vectors of 512 bits */
    OPS_OF_STEP                = 2,        /* operations    chosen    overhead of a loop over steps */
    OPS_OF_STEP_BY_DATA        = 30,       /* operations    chosen    the same where data decide the address */
    LOADS_OF_CONFLICT          = 3,        /* loads         chosen    a load where rows conflict in the L1 */
    SLIDE_ROWS                 = 8,        /* rows          chosen    updating the bounds of a sliding window takes
                                                                      as long as starting so many rows */
    STEPS_PER_NODE             = 8,        /* steps         limit     of the context's quota for one node of a
                                                                      predicted group; a step takes about 100 ns */
    MANY_ROWS                  = 16,       /* rows          chosen    a run of rows: bounds of split rows are
                                                                      computed once for all of them */
    L1_WAYS                    = 8,        /* lines         known     that one set of an L1 holds */
};

static const double KEPT_L2                    = 0.75;   /* of a cache    measured  that survives until it is reused:
                                                                                    others use it too, and it is not
                                                                                    replaced by LRU. A window in an L2
                                                                                    of 2 MiB: 0.87 of it costs 5 % more
                                                                                    per pixel than 0.67, 1.01 a third
                                                                                    more */
static const double KEPT_L3                    = 0.5;    /* of a cache    measured  the same: of 48 MiB 15 were seen to
                                                                                    survive */
static const double SPLIT_ROW_IN_RUN           = 0.5;    /* of a row      chosen    cost of a split row in a run of
                                                                                    rows, relative to one by itself */
static const double GATHER_PER_LANE            = 1.5;    /* loads         chosen    a lane of a gather */
static const double INVARIANT_GATHER_PER_LANE  = 0.75;   /* loads         chosen    the same at an address that was
                                                                                    gathered before */
static const double NEARLY_WHOLE_ROW           = 1.25;   /* of a row      chosen    a row counts as whole if the
                                                                                    node's is shorter than so many:
                                                                                    clamps at its ends are split off */

/* ---- Drafts ---------------------------------------------------------------------------------- */

enum {
    ROW_COPY_LEAST_WORK        = 6,        /* operations    chosen    and loads: less is recomputed as fast as a row
                                                                      is stored and loaded again */
    MOST_INLINED_DEPTH         = 4,        /* nodes         limit     inlined nodes that a copy is looked for through */
    CHAIN_ROWS                 = 8,        /* rows          chosen    that each node of a chain stores */
    GRID_FEW_PLANES            = 4,        /* planes        chosen    a dimension of a grid with no more is of
                                                                      planes, not of cells */
    GRID_CELLS                 = 4,        /* cells         chosen    of a grid at a time */
    GRID_LEAST_LANES           = 4,        /* lanes         chosen    of a grid's vectors */
    PRIVATE_COPIES             = 4,        /* copies        chosen    of a histogram in a strip, where it has several */
    MOST_SCAN_WIDTH            = 256,      /* points        chosen    of a strip across a scan */
    SCAN_TRANSPOSED            = 4,        /* vectors       chosen    that are transposed together */
    SCAN_AHEAD                 = 16,       /* rows          chosen    to prefetch ahead of a scan */
    SEPARATE_LEAST_SIDE        = 3,        /* taps          chosen    of the side of a window that is separated */
    SEPARATE_TERM_OPS          = 2,        /* operations    chosen    of a term of a separated sum */
    TAIL_MOST_PART             = 16,       /* parts         chosen    a tail that is computed again is no more than
                                                                      one of so many of the row */
    SHORT_REDUCTION            = 64,       /* steps         chosen    a loop over no more stays inside the vectors */
};

static const double HARDLY_MORE                = 1.02;   /* evaluations   chosen    of a point for each that is
                                                                                    needed, up to which recomputation
                                                                                    is negligible */

/* ---- Kernels --------------------------------------------------------------------------------- */

enum {
    WAVEFRONT_BYTES            = 128,      /* bytes         known     that a multiprocessor's L1 gives in a cycle */
    WIDEST_ACCESS              = 16,       /* bytes         known     of an access of a thread */
    SECTOR_BYTES               = 32,       /* bytes         known     of a sector, the least that the L2 gives */
    REGISTERS_BASE             = 18,       /* registers     measured  of a thread beside what it reads: ptxas 13.0, blur
                                                                      with 1x1 to 4x16 points of a thread */
    MANY_REGISTERS             = 96,       /* registers     chosen    of a thread, from which on the prediction may fall
                                                                      short by REGISTERS_MARGIN */
    MOST_THREAD_CODE           = 6000,     /* operations    chosen    of the copies of a thread */
    THREAD_OVERHEAD            = 16,       /* operations    chosen    of a thread, for addresses and its tests */
    KERNEL_MOST_COPIES         = 48,       /* points        chosen    of a thread */
    KERNEL_FEW_PLANES          = 8,        /* planes        chosen    so many can be inside a thread */
    FEW_WAVES                  = 4,        /* waves         chosen    of blocks, of which the last is a whole one */
    BUSY_WARPS                 = 16,       /* warps         chosen    with which a multiprocessor is never idle: no
                                                                      bound of registers leaves fewer */
    MOST_ALIGNED               = 1 << 10,  /* points        limit     of which a coordinate is known to be a multiple */
    MOST_WIDENED               = 4,        /* points        chosen    to a multiple of which what a kernel computes is
                                                                      widened, so that its threads divide evenly */
    MOST_SCALINGS              = 1,        /* levels        limit     of pyramids between a head and a member: beyond,
                                                                      no bound of its size is found */
    PLACE_PASSES               = 2,        /* passes        limit     over all stages in their other places */
    KERNEL_MOST_TABLE          = 4096,     /* points        chosen    of a table in shared memory */
    SCAN_COPIES                = 32,       /* steps         chosen    of a scan that are unrolled: they read ahead */
    TABLE_MOST_STEPS           = 64,       /* steps         limit     of a sum that are copies, so that elements of
                                                                      tables are numbers */
    GRID_ROWS                  = 4,        /* cells         chosen    of a block of a grid, along y */
    GRID_MOST_ROW              = 16,       /* steps         chosen    of a cell that are read at once */
    CELLS_WIDE                 = 16,       /* cells         chosen    of a block that has a grid in shared memory */
    CELLS_HIGH                 = 8,        /* cells         chosen    likewise, along y */
    CELLS_MOST_BINS            = 16,       /* bins          chosen    of its threads, in copies */
    CELLS_BLOCKS               = 6,        /* blocks        chosen    that its shared memory leaves room for */
    TURNED_TILE                = 32,       /* points        chosen    of a tile of a transposed scan, both ways */
    TURNED_EACH                = 8,        /* points        chosen    of a thread that turns it back */
    TURNED_THREADS             = 128,      /* threads       chosen    that load what a warp scans */
    STAGED_LEAST_STEPS         = 64,       /* steps         chosen    of a sum whose operands are in shared memory */
    STAGED_STEPS               = 16,       /* steps         chosen    of it at a time */
    PRODUCT_EACH               = 8,        /* points        measured  of its threads, along both dimensions: an H200,
                                                                      mat_mul of 4096: 3.0 ms, with 4 of them 4.5 */
    PRODUCT_COPIES             = 8,        /* steps         chosen    of it that are unrolled */
    KERNEL_STEPS               = 16,       /* steps         limit     of the final tiling pass */
};

static const double PRODUCT_MOST_WASTE         = 1.3;    /* points        chosen    for each that is needed, in tiles of
                                                                                    a long sum of products */
static const double PRODUCT_WASTE              = 0.05;   /* points        chosen    that another tile has to save */
static const double OCCUPANCY_THRESHOLD        = 0.1;    /* of the warps  paper     Sioutas et al. 2020, section 4.2 */
static const double GLOBAL_LOAD_COST           = 40;     /* operations    chosen    of a load, in the cost of Listing
                                                                                    1 (Halide's balance for GPUs) */
static const double SHARED_WAIT                = 60;     /* ns            known     of a stage that reads shared memory,
                                                                                    and its barrier */
static const double ROUND_WAIT                 = 0.4;    /* of a latency  chosen    of the rounds of a stage behind the
                                                                                    first, which overlap */
static const double STEP_WAIT                  = 4;      /* ns            chosen    of a step of a sum */
static const double L2_KEPT                    = 0.3;    /* of the L2     chosen    that a stage may fill so that its
                                                                                    reader finds it there */
static const double INLINED_REGISTERS          = 0.2;    /* registers     measured  for a point of an inlined stage:
                                                                                    ptxas 13.0, unsharp */
static const double MOST_PRESSURE              = 0.8;    /* of registers  chosen    that a thread would have, over those
                                                                                    that there are, without spills */
static const double REGISTERS_MARGIN           = 1.25;   /* of registers  measured  that a thread may need beyond those
                                                                                    predicted, where these are many:
                                                                                    ptxas 13.0, tophat and flow */
static const double LEAST_BUSY                 = 0.4;    /* of its rate   chosen    at which few warps issue */
static const double KERNEL_GAIN                = 0.99;   /* of the time   chosen    predicted, relative to that before:
                                                                                    a stage goes elsewhere for more */
static const double KERNEL_OVERLAP             = 0.2;    /* of a time     chosen    of the terms of a kernel but the
                                                                                    largest that does not overlap */

/* ---- Rules ----------------------------------------------------------------------------------- */

enum {
    FREE_OPS                   = 2,        /* operations    chosen    per point, that are free to repeat: as in
                                                                      plan/inline.c */
    CHEAP_OPS                  = 8,        /* operations    chosen    per point, that are cheap to repeat */
    PLAIN_MOST_TIMES           = 32,       /* evaluations   chosen    of an inlined point for each that is needed:
                                                                      never more */
    MANY_PLANES                = 4,        /* planes        chosen    for each point of the readers, from which on a
                                                                      node is a table */
    PRIVATE_TASKS              = 4,        /* tasks         chosen    of a histogram for each core */
    STEPS_PER_BIN              = 8,        /* steps         chosen    of a private copy for each of its bins */
    PRIVATE_LEAST_STEPS        = 1 << 14,  /* steps         chosen    of a histogram that is privatized */
    SCAN_LEAST_POINTS          = 1 << 14,  /* points        chosen    of a scan that is cut in strips */
    GRID_MOST_TASKS            = 8,        /* tasks         chosen    of the readers of a grid */
    GRID_LEAST_STEP            = 4,        /* rows          chosen    of such a task */
    CHANNELS_MOST              = 4,        /* planes        chosen    that are interleaved */
    CHANNELS_MOST_OPS          = 64,       /* operations    chosen    of a copy: more would spill */
    STEP_TILE_WIDE             = 8,        /* vectors       chosen    in a row of a tile of sums */
    STEP_TILE_HIGH             = 16,       /* rows          chosen    of a tile of sums */
    STEP_TRIVIAL_OPS           = 1,        /* operations    chosen    per point: less is recomputed for each tap */
    STEP_LEAST_STEPS           = 4,        /* steps         chosen    of a sum whose producers are inside its steps */
    STEP_MOST_AGAIN            = 2,        /* evaluations   chosen    of a point for each that is needed */
    MOST_FETCHED               = 8,        /* rows          chosen    prefetched beside the new ones; each line has a
                                                                      cost */
    TIME_LEAST_STEPS           = 4,        /* steps         chosen    of time that are tiled */
    TIME_LEAST_SIZE            = 8,        /* points        chosen    of a diamond */
    TIME_MOST_SIZE             = 64,       /* points        chosen    of a diamond */
    TIME_PIECED_SIZE           = 32,       /* points        measured  of a diamond in pieces of planes: wave3d of 320^3,
                                                                      two threads of a Zen 5, 0.94 of the time of 24
                                                                      and 0.95 of that of 48 */
    TIME_LEAST_ROW             = 128,      /* points        chosen    what a piece along vectors is a multiple of */
    TIME_ROWS_OF_L1            = 24,       /* rows          measured  of a piece, of one moment, that the L1 would hold:
                                                                      2 KiB of 48. gray_scott takes 53 ms with 1.5 to
                                                                      2.5 KiB, 67 with 3 and 4; heat 49 with 2, 52 with
                                                                      1, 54 with 4 (Zen 5, two threads) */
    TIME_TILES_A_THREAD        = 2,        /* tiles         chosen    at a time for each thread */
    ROWS_MOST_SPAN             = 4,        /* rows          chosen    of a stencil, less one, whose rows are blocked */
    ROWS_MOST_OPS              = 40,       /* operations    chosen    per point */
    ROWS_MOST_DEPTH            = 5,        /* nodes         chosen    in a chain: longer ones are never cheap */
    ROWS_OF_MEMBERS            = 2,        /* rows          measured  of a member that reads several */
    ROWS_OF_WINDOWS            = 4,        /* rows          measured  of a head with sliding windows that are computed
                                                                      at a time: harris in 2, 3, 4 and 8 rows takes
                                                                      2.73, 2.62, 2.60 and 2.64 ms */
    ROWS_SHORT_WINDOW          = 16,       /* steps         chosen    that are unrolled */
    ROWS_MOST_UPSAMPLING       = 4,        /* points        chosen    for each point of the producer */
    VECTORS_OF_SUM             = 4,        /* vectors       chosen    that share the work of a step */
    VECTORS_OF_SUM_BY_DATA     = 8,        /* vectors       measured  the same where data decide what a step reads:
                                                                      max_filter, one thread of a Zen 3, in tiles of
                                                                      64x80: 106 ms instead of 160, with boxes of its
                                                                      tables half as high as today's */
    REGISTERS_LEAST_STEPS      = 8,        /* steps         chosen    of a sum in registers */
    REGISTERS_MOST_VECTORS     = 4,        /* vectors       chosen    of a register tile along v */
    REGISTERS_LEAST_ROWS       = 4,        /* rows          chosen    of a register tile along u */
    REGISTERS_MOST_ROWS        = 6,        /* rows          chosen    the same */
    REGISTERS_TASKS            = 3,        /* tasks         chosen    for each core */
    REGISTERS_COPY_USES        = 384,      /* points        measured  for which an element is copied: conv_layer on a
                                                                      Zen 3 73 ms for 400, 78 for 200, 86 for 100 */
    REGISTERS_LEAST_WORK       = 1 << 16,  /* steps         chosen    over all points: less is not worth a copy */
    CHAIN_ROWS_AT_ONCE         = 4,        /* rows          chosen    of a chain that are computed at a time */
    LEAST_CHAIN                = 4,        /* nodes         chosen    of a chain */
    SLICE_LEAST_WINDOWS        = 4,        /* nodes         chosen    that read windows or with a stride */
    MUCH_OPS                   = 8,        /* operations    chosen    per point, of a sum that is stored */
    MANY_STEPS                 = 1024,     /* steps         chosen    of such a sum */
    CHANNELS_MOST_DEPTH        = 4,        /* nodes         limit     inlined nodes that are looked through for what
                                                                      planes share */
    CHANNELS_MOST_INLINED      = 8,        /* nodes         limit     that are interleaved with the planes of a head */
};

static const double NO_WORSE                   = 1.03;   /* of the time   measured  predicted, up to which a rule
                                                                                    stays. With two threads: at 1.00
                                                                                    step-producers is refused in
                                                                                    lens_blur, by 1.009, which takes
                                                                                    15.4 ms instead of 12.4 (noise 16
                                                                                    %) */
static const double REGISTERS_ROW_VALUE        = 0.015;  /* of the work   chosen    of a tile: what another row is
                                                                                    worth against waste */

/* ---- Searches -------------------------------------------------------------------------------- */

enum {
    NEAR_PERCENT               = 5,        /* per cent      measured  auto takes drafts that are predicted to be at
                                                                      most so much slower than the fastest. Of 24
                                                                      programs (bench/unseen/learn, bench/fresh) two
                                                                      threads of a Zen 5 take 0.944 of what the best of
                                                                      thirteen drafts takes with 3 or 5, 0.927 with 8 or
                                                                      12 */
    AS_GOOD_PERCENT            = 8,        /* per cent      measured  of those it takes one whose regret is so near the
                                                                      least if it moves far fewer bytes. nl_means, an
                                                                      L2 of 1280 KiB: the draft that moves a quarter of
                                                                      the bytes is predicted to take 1.062 times as
                                                                      long, and takes 0.94 */
    FAR_LESS_PERCENT           = 50,       /* per cent      chosen    of the bytes, which are far fewer */
    DOUBLE_LEAST_TAPS          = 12,       /* taps          measured  of a side that is doubled. Sums of 9x9
                                                                      (bench/unseen/held/stereo) took 17.6 ms instead of
                                                                      13.0 with one thread and 22.4 instead of 10.8 with
                                                                      two; of 25x25 (bench/unseen/learn/box25) 1.7
                                                                      instead of 3.3 and 1.4 instead of 1.6 */
    SHORT_SUM                  = 27,       /* steps         chosen    of a sum up to which it is unrolled */
    TILE_WIDTH                 = 256,      /* points        paper     of a tile along the first dimension (Jangda and
                                                                      Bondhugula 2020, Algorithm 2) */
    TILE_LEAST_WIDTH           = 64,       /* points        chosen    the same */
    TILE_MOST_WIDTH            = 1024,     /* points        chosen    the same */
    TILE_MOST_ROUNDS           = 24,       /* rounds        limit     of shrinking */
    TILE_TASKS                 = 4,        /* tasks         chosen    for each core */
    TILE_LEAST_TASK            = 1 << 13,  /* points        chosen    of a task */
    TILE_FEW_PLANES            = 8,        /* planes        chosen    so many can be inside the loop over rows */
    TILE_MOST_TIMES            = 6,        /* evaluations   chosen    of an inlined point for each that is needed */
    TILE_MOST_SPILLED          = 4,        /* L2s           chosen    that a tile may fill: where halos are most of its
                                                                      work, its data had better come from the L3 */
    TILE_MOST_BAND             = 32,       /* rows          chosen    of a band of a tile */
    TILE_MOST_STEPS            = 16,       /* steps         chosen    of a sum that is unrolled */
    TILE_FEW_OPS               = 8,        /* operations    chosen    per point */
    GROUP_STATES               = 50000,    /* groups        limit     to visit */
    GROUP_MOST_WIDTH           = 512,      /* down-sets     limit     of a size */
    GROUP_LEAST_WIDTH          = 16,       /* down-sets     limit     of a size */
    GROUP_DOWN_SETS            = 65536,    /* down-sets     limit     over all sizes */
    GROUP_ROOM                 = 4,        /* widths        limit     that a level holds before it is cut to one */
    DP_STATES                  = 400,      /* groups        limit     to visit, and four for each node */
    DP_NODES_PER_SECOND        = 200000,   /* nodes         measured  of groups that are costed in a second of the
                                                                      budget */
    REUSE_NODE_STEPS           = 2,        /* steps         limit     of the context's quota for a node, as
                                                                      STEPS_PER_NODE */
    REUSE_LINES_AHEAD          = 8,        /* lines         chosen    of latency at the start of a row that is not in
                                                                      the caches */
    REUSE_FEW_ITERATIONS       = 8,        /* iterations    chosen    a loop with no more is not interchanged */
    REUSE_MOST_SIZES           = 24,       /* sizes         limit     of a dimension */
    REUSE_SMALL_SEGMENT        = 6,        /* nodes         limit     all combinations of sizes are tried */
    REUSE_LEAST_TASK           = 1 << 12,  /* points        chosen    of a task */
    REUSE_PASSES               = 2,        /* passes        limit     over the dimensions of other segments */
    REUSE_MOST_TRIED           = 200,      /* cuts          limit     of a segment */
    STRIP_MOST_ROWS            = 256,      /* rows          chosen    of a strip */
    STRIP_UNIT                 = 32,       /* rows          chosen    high strips are multiples of it */
    STRIP_LEAST_CHUNK          = 1 << 12,  /* points        chosen    of a chunk of a one-dimensional head */
    STRIP_LEAST_TASKS          = 2,        /* tasks         chosen    for each core, in long chains of stencils */
};

static const double TILE_BETTER                = 0.97;   /* of the time   chosen    predicted, relative to the best
                                                                                    so far: see try_shape */
static const double TILE_MUCH_BETTER           = 0.65;   /* of the time   chosen    the same */
static const double TILE_BETTER_CHOICE         = 0.99;   /* of the time   chosen    the same for the choice of one
                                                                                    member */
static const double NO_REUSE                   = 1.05;   /* points        chosen    of a window or of single rows,
                                                                                    relative to those of a step or
                                                                                    strip, up to which nothing is
                                                                                    read again */
static const double NEARLY_ALL                 = 0.9;    /* of the points chosen    of a member: a tile or strip that
                                                                                    needs more of them needs it whole */
static const double WEIGHT_LIVE                = 47.04;  /*               paper     Jangda and Bondhugula 2020,
                                                                                    equation 2, Table 3 for the Xeon */
static const double WEIGHT_CORES               = 1.0;    /*               paper     the same */
static const double WEIGHT_OVERLAP             = 13.18;  /*               paper     the same */
static const double WEIGHT_EXTENTS             = 33.57;  /*               paper     the same */
static const double DP_FAR_MORE                = 1.2;    /* of the time   chosen    of its nodes apart: a group that
                                                                                    takes more is not grown */
static const double DP_GAIN                    = 0.95;   /* of the time   chosen    before, to inline a group */
static const double REUSE_GATHER_OPS           = 1.75;   /* operations    chosen    of a lane that is gathered */
static const double REUSE_KNOWN_OPS            = 0.3;    /* operations    chosen    the same for an inlined node at
                                                                                    an address that was gathered
                                                                                    before */
static const double REUSE_LEAST_PART           = 0.25;   /* of the time   chosen    of the smaller of arithmetic and
                                                                                    traffic that does not overlap */
static const double REUSE_KEPT_PART            = 0.75;   /* of a cache    chosen    the last level, that survives
                                                                                    until it is reused */
static const double REUSE_LEAST_GAIN           = 0.01;   /* of the cost   chosen    of a segment, that a cut gains */
static const double REUSE_MOST_TIMES           = 32.0;   /* evaluations   chosen    of an inlined point for each that
                                                                                    is needed */
static const double STRIP_MOST_REDUNDANT       = 0.10;   /* of the work   chosen    of a group that is redundant, in
                                                                                    the halos of strips */
static const double STRIP_MOST_OWN             = 0.40;   /* of the work   chosen    the same of one member */

/* ---- Tuning ---------------------------------------------------------------------------------- */

enum {
    TUNE_BEAM                  = 4,        /* schedules     chosen    whose edits are candidates: the best, and others
                                                                      nearly as fast */
    TUNE_PROPOSALS             = 256,      /* edits         limit     that are predicted before a candidate is chosen */
    TUNE_CHECK_ROUNDS          = 3,        /* rounds        chosen    of the last check, each in fresh processes */
    TUNE_CHECK_PAIRS           = 11,       /* pairs         chosen    of turns in each of them */
    TUNE_MOST_EDITS            = 3,        /* edits         chosen    of a candidate, where single ones are used up */
    TUNE_SPREAD_TURNS          = 32,       /* turns         chosen    of the incumbent, for its spread */
    GENETIC_POPULATION         = 128,      /* individuals   paper     Ragan-Kelley et al. 2013, section 5 */
    GENETIC_ELITE_PERCENT      = 10,       /* per cent      chosen    of a population, which survive */
    GENETIC_CROSSED_PERCENT    = 40,       /* per cent      chosen    of it, by crossover */
    GENETIC_MUTATED_PERCENT    = 40,       /* per cent      chosen    of it, by mutation; the rest are random ones */
    GENETIC_TOURNAMENT         = 3,        /* individuals   chosen    of which the fastest is a parent */
    GENETIC_TRANSFORMS         = 6,        /* steps         chosen    of a function's domain; the paper's too */
    GENETIC_RESAMPLES          = 64,       /* draws         limit     until a valid individual */
    GENETIC_SMALL_BOUND        = 16,       /* points        chosen    of a dimension, up to which it is not tiled */
};

static const double TUNE_CHANCE                = 0.8;    /* of the pairs  chosen    that a good candidate wins */
static const double TUNE_WRONG_WINNER          = 0.01;   /* chance        chosen    at most, that the winner of a race
                                                                                    is not faster */
static const double TUNE_MISSED                = 0.1;    /* chance        chosen    at most, that a candidate worth
                                                                                    having loses a race */
static const double TUNE_HOPELESS              = 1.12;   /* of the time   chosen    of the incumbent, the median from
                                                                                    which on a candidate is stopped */
static const double TUNE_FAR_SLOWER            = 1.5;    /* of the time   chosen    the same after a single pair, which
                                                                                    may be an accident */
static const double TUNE_RIDGE                 = 4.0;    /* measurements  chosen    that a weight of 0 counts for */
static const double TUNE_OPTIMISM              = 0.06;   /* log of time   chosen    for each deviation of a prediction:
                                                                                    what is not known is tried */
static const double TUNE_NEAR                  = 0.08;   /* log of time   chosen    behind the best, up to which others
                                                                                    are edited, too */
static const double TUNE_BUSY                  = 0.15;   /* of the time   chosen    median over least of equal turns,
                                                                                    less 1: the machine is busy */
static const double GENETIC_IMAGING            = 0.5;    /* chance        chosen    of the two mutations that know
                                                                                    images; the paper: higher than the
                                                                                    other six */
static const double SIMULATED_COMPILE_SECONDS  = 0.1;    /* s             chosen    of compiling a candidate */
static const double SIMULATED_ERROR            = 0.15;   /* log of time   chosen    deviation of a schedule's time from
                                                                                    the model's */
static const double SIMULATED_NOISE            = 0.02;   /* of the time   chosen    of a turn on a quiet machine */

/* clang-format on */

#endif
