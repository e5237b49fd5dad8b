/* SPDX-License-Identifier: MIT */
/* The directives of schedules: one table, from which come the parser's checks, the messages, the handlers of plan/, the
 * printing and the documentation. */
#ifndef KILN_PIPELINE_SCHEDULE_H
#define KILN_PIPELINE_SCHEDULE_H

#include "pipeline/pipeline.h"

/* Columns: id, name, arguments, targets, properties, the handler in plan/ with the phase in which it is called
 * (plan/directives.c), and the documentation (the row of docs/language.md).
 *
 * Arguments, one letter each:
 *     v  a loop variable that exists        n  a new loop variable          d  an argument of the function (storage)
 *     i  a positive integer                 e  any integer expression (known sizes, inputs, parameters)
 *     f  a function                         l  a loop of the function named just before
 *     c  a condition                        m  a memory: a row of memory_table
 *  '*' after a letter: one or more; '?' after a letter: may be left out.
 *
 * Properties:
 *     TAIL      takes `tail: …`
 *     WHOLE     is about the function as a whole: not about one update, nor one version of a definition
 *     VERSIONS  is about all versions of a definition: comes before `specialize`
 *     CONSUMES  its `v`s are gone afterwards
 *     INPUTS    is for inputs too */
/* clang-format off */
#define DIRECTIVES(X)                                                                                                  \
    /* domain order */                                                                                                 \
    X(SPLIT,           "split",           "vnni",     CPU | GPU, TAIL | CONSUMES, LOOPS,    apply_split,               \
      "an outer and an inner loop in its place; the inner has `factor` iterations")                                    \
    X(FUSE,            "fuse",            "vvn",      CPU | GPU, CONSUMES,        LOOPS,    apply_fuse,                \
      "one loop over both; the first is the inner one")                                                                \
    X(TILE,            "tile",            "vvnnnnii", CPU | GPU, TAIL | CONSUMES, LOOPS,    apply_tile,                \
      "x, y split by the two factors into outer x, outer y, inner x, inner y")                                         \
    X(REORDER,         "reorder",         "v*",       CPU | GPU, 0,               LOOPS,    apply_reorder,             \
      "nests the loops, innermost first")                                                                              \
    X(VECTORIZE,       "vectorize",       "vi?",      CPU | GPU, TAIL,            LOOPS,    apply_loop_kind,           \
      "all iterations of the loop at once, as a vector; with a factor, of an inner loop split off")                    \
    X(UNROLL,          "unroll",          "vi?",      CPU | GPU, TAIL,            LOOPS,    apply_loop_kind,           \
      "a copy of the body per iteration")                                                                              \
    X(PARALLEL,        "parallel",        "vi?",      CPU,       TAIL,            LOOPS,    apply_loop_kind,           \
      "iterations on the thread pool; with a factor, so many per task")                                                \
    X(SERIAL,          "serial",          "v",        CPU | GPU, 0,               LOOPS,    apply_loop_kind,           \
      "one after the other")                                                                                           \
    /* call schedule */                                                                                                \
    X(INLINE,          "inline",          "",         CPU | GPU, WHOLE,           PLACE,    note_compute,              \
      "computed where it is used, never stored")                                                                       \
    X(COMPUTE_ROOT,    "compute_root",    "",         CPU | GPU, WHOLE,           PLACE,    note_compute,              \
      "computed before all its consumers")                                                                             \
    X(COMPUTE_AT,      "compute_at",      "fl",       CPU | GPU, WHOLE,           PLACE,    note_compute,              \
      "computed in each iteration of that loop, as much as it needs")                                                  \
    X(STORE_ROOT,      "store_root",      "",         CPU | GPU, WHOLE,           PLACE,    note_store,                \
      "stored outside all loops")                                                                                      \
    X(STORE_AT,        "store_at",        "fl",       CPU | GPU, WHOLE,           PLACE,    note_store,                \
      "stored outside where it is computed, so that values can be used again (sliding window)")                        \
    X(COMPUTE_WITH,    "compute_with",    "fl",       CPU | GPU, VERSIONS,        PLACE,    note_compute_with,         \
      "computed in the same loops, down to that one")                                                                  \
    /* storage */                                                                                                      \
    X(FOLD_STORAGE,    "fold_storage",    "di",       CPU | GPU, WHOLE,           STORAGE,  apply_fold_storage,        \
      "stored modulo `factor` along a dimension")                                                                      \
    X(ALIGN_STORAGE,   "align_storage",   "di",       CPU | GPU, WHOLE,           STORAGE,  apply_align_storage,       \
      "strides a multiple of `factor`")                                                                                \
    X(REORDER_STORAGE, "reorder_storage", "d*",       CPU | GPU, WHOLE,           STORAGE,  apply_reorder_storage,     \
      "the order of dimensions in memory, innermost first")                                                            \
    X(STORE_IN,        "store_in",        "m",        CPU | GPU, WHOLE,           STORAGE,  apply_store_in,            \
      "where the memory comes from")                                                                                   \
    X(STREAM,          "stream",          "",         CPU | GPU, WHOLE,           STORAGE,  apply_stream,              \
      "non-temporal stores")                                                                                           \
    /* functions that are made */                                                                                      \
    X(STAGE,           "stage",           "f*",       CPU | GPU, WHOLE | INPUTS,  REWRITE,  apply_stage,               \
      "a copy of the function for these consumers, to be scheduled on its own; the one directive for inputs")          \
    X(CLONE,           "clone",           "f*",       CPU | GPU, WHOLE,           REWRITE,  apply_clone,               \
      "a second function with the same definitions for these consumers, computed and scheduled on its own")            \
    /* bounds and the rest */                                                                                          \
    X(BOUND,           "bound",           "dee",      CPU | GPU, WHOLE,           STORAGE,  apply_bound,               \
      "promises min and extent of what is needed along a dimension")                                                   \
    X(ALIGN_BOUNDS,    "align_bounds",    "die?",     CPU | GPU, WHOLE,           STORAGE,  apply_align_bounds,        \
      "widens what is computed to a multiple of `factor`, with this remainder")                                        \
    X(SPECIALIZE,      "specialize",      "c",        CPU | GPU, 0,               LOOPS,    apply_specialize,          \
      "a second version for when the condition holds")                                                                 \
    X(RFACTOR,         "rfactor",         "vn",       CPU | GPU, VERSIONS,        REWRITE,  apply_rfactor,             \
      "splits an associative reduction: partial results along the new dimension")                                      \
    X(CHECKPOINT,      "checkpoint",      "vnnie?",   CPU | GPU, VERSIONS,        REWRITE,  apply_checkpoint,          \
      "keeps the values of a scan before each chunk of `factor` steps; chunks are computed where they are read")      \
    X(SEPARATE,        "separate",        "v",        CPU | GPU, VERSIONS,        REWRITE,  apply_separate,            \
      "makes a sum over a window two: over the other reduction loops first, then over this one. Halide has none")      \
    X(DOUBLE,          "double",          "v",        CPU | GPU, VERSIONS,        REWRITE,  apply_double,              \
      "makes a window of n taps of windows of 1, 2, 4, … taps, each of two of the one before. Halide has none")        \
    X(ATOMIC,          "atomic",          "",         CPU | GPU, 0,               LOOPS,    apply_atomic,              \
      "an update whose steps may run at once, each store being atomic")                                                \
    X(PREFETCH,        "prefetch",        "fvi",      CPU | GPU, 0,               LOOPS,    apply_prefetch,            \
      "fetches what the loop will need `factor` iterations ahead")                                                     \
    X(TIME_TILE,       "time_tile",       "vviv?i?",  CPU,       0,               LOOPS,    apply_time_tile,           \
      "of an update that reads earlier steps of itself: diamonds over the two loops, in pieces of the third")          \
    /* GPU */                                                                                                          \
    X(GPU_BLOCKS,      "gpu_blocks",      "v*",       GPU,       0,               LOOPS,    apply_gpu_loops,           \
      "loops over the blocks of a kernel")                                                                             \
    X(GPU_THREADS,     "gpu_threads",     "v*",       GPU,       0,               LOOPS,    apply_gpu_loops,           \
      "loops over the threads of a block")                                                                             \
    X(GPU_LANES,       "gpu_lanes",       "v",        GPU,       0,               LOOPS,    apply_gpu_loops,           \
      "a loop over the lanes of a warp")                                                                               \
    X(GPU_TILE,        "gpu_tile",        "vvnnnnii", GPU,       TAIL | CONSUMES, LOOPS,    apply_gpu_tile,            \
      "a `tile` whose outer loops are blocks and inner ones threads")                                                  \
    X(LAUNCH_BOUNDS,   "launch_bounds",   "ii?",      GPU,       0,               LOOPS,    apply_launch_bounds,       \
      "threads of a block, and blocks that a multiprocessor should hold at once")
/* clang-format on */

typedef enum DirectiveId {
#define DIRECTIVE_ID(id, name, shape, targets, properties, phase, handler, summary) DIR_##id,
    DIRECTIVES(DIRECTIVE_ID)
#undef DIRECTIVE_ID
        DIRECTIVE_COUNT
} DirectiveId;

/* Kinds of targets, as a set. */
typedef enum DirectiveTargets { FOR_CPU = 1, FOR_GPU = 2 } DirectiveTargets;

typedef struct DirectiveInfo {
    DirectiveId      id;
    const char      *name;
    const char      *shape; /* the letters of its arguments */
    DirectiveTargets targets;
    bool             tail, whole, versions, consumes, inputs; /* properties, as above */
    const char      *summary;
} DirectiveInfo;

/* What happens where a factor does not divide an extent. */
typedef enum Tail { TAIL_ROUND_UP, TAIL_GUARD, TAIL_SHIFT_INWARD, TAIL_PREDICATE } Tail;

extern const DirectiveInfo directive_table[DIRECTIVE_COUNT];
extern const char *const   tail_names[]; /* by Tail; NULL at the end */

/* NULL: there is none of that name. For the parser alone: everything else asks for the id. */
const DirectiveInfo *directive_find(const char *name);

static inline bool directive_is(const Directive *d, DirectiveId id)
{
    return d && d->info->id == id;
}

/* ---- Printing ---- */

/* ".split(x, xo, xi, 8)" */
void directive_print(Text *out, const Directive *d);
/* The same, of a directive that is not of a schedule. */
void directive_write(Text *out, DirectiveId id, int count, const ScheduleArg *args);

static inline ScheduleArg arg_name(const char *name)
{
    return (ScheduleArg){ .kind = ARG_VAR, .name = name };
}
static inline ScheduleArg arg_int(int64_t value)
{
    return (ScheduleArg){ .kind = ARG_INT, .value = value };
}
static inline ScheduleArg arg_expr(const Expr *e)
{
    return (ScheduleArg){ .kind = ARG_EXPR, .expr = e };
}
/* A function, or one of its updates. */
static inline ScheduleArg arg_def(const Func *f, int update)
{
    return (ScheduleArg){ .kind = ARG_FUNC, .func = f, .update = update };
}
static inline ScheduleArg arg_tail(Tail tail)
{
    return (ScheduleArg){ .label = "tail", .kind = ARG_WORD, .name = tail_names[tail], .value = tail };
}
/* directive_write of the arguments given. */
#define DIRECTIVE_WRITE(out, id, ...)                                                                                  \
    directive_write(out, id, (int)(sizeof((const ScheduleArg[]){ __VA_ARGS__ }) / sizeof(ScheduleArg)),                \
                    (const ScheduleArg[]){ __VA_ARGS__ })

#endif
