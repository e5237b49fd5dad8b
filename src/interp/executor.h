/* SPDX-License-Identifier: MIT */
/* The executor of lowered code (execute.h): values in lanes, code for the expressions of one statement, and memory with
 * a shadow that records, for every element, who touched it.
 *
 * Outside vector loops there is one lane. A vector loop of n iterations in a place that has w lanes has w*n of them,
 * its own fastest; what was bound or allocated where there were fewer lanes is found by dividing. Code of a kernel
 * outside its thread nests is run once for all threads of a block. */
#ifndef KILN_INTERP_EXECUTOR_H
#define KILN_INTERP_EXECUTOR_H

#include "interp/call_c.h"
#include "interp/execute.h"
#include "interp/formula.h"
#include "ir/kernel.h"

/* One value per lane. `undefined`: it depends on memory that was never written. */
typedef struct LaneValues {
    Lane    *lane;
    uint8_t *undefined;
} LaneValues;

/* A variable. */
typedef struct VariableSlot {
    int        width;
    LaneValues value;
} VariableSlot;

/* The shadow of one element of memory. */
typedef struct Shadow {
    uint8_t  exists;         /* false between the elements of a port with gaps */
    uint8_t  defined;        /* was written */
    uint8_t  atomic;         /* the last store was atomic */
    uint8_t  definitions;    /* who stored to it: bit 0 the pure definition, then the updates, modulo 8 */
    uint32_t writer, reader; /* the last strands that did */
    uint32_t event;          /* the store statement, numbered as executed, that wrote it last */
} Shadow;

/* The elements low .. high of a buffer, as one lane sees it. */
typedef struct LaneMemory {
    char   *data; /* of index 0 */
    int64_t low, high;
    Shadow *shadow; /* of index low */
} LaneMemory;

/* A byte of shared memory that several buffers have in turns: what was done to it last, and by way of which buffer. */
typedef struct SharedByte {
    const Buffer *buffer; /* NULL: nothing was stored to it */
    Shadow       *owner;  /* the element of that buffer */
    uint32_t      writer, reader;
} SharedByte;

typedef struct BufferMemory {
    const Buffer *buffer;
    BufferCounts *counts;
    int           width;
    LaneMemory   *per_lane;  /* NULL where the buffer is not allocated */
    const int    *thread;    /* each thread has its own: the one that runs now, -1 outside thread nests; else NULL */
    bool          in_kernel; /* allocated there */
    bool          on_device; /* the device has a copy: code of the host may read and write what a STMT_SYNC says */
    bool          host_reads, host_writes;
    const Stmt   *kernel;   /* that was found last to have it in shared memory, and the bytes of */
    int64_t       shared;   /* that memory: of shared_home alone */
    int64_t       in_turns; /* bytes that other buffers have too, in any kernel; likewise */
    SharedByte   *bytes;    /* of the element 0 on; NULL: it has memory of its own */
} BufferMemory;

/* What may run at the same time forms a tree: strand 0 is the function, each iteration of a parallel loop, each block
 * of a kernel and each thread of a block is a child of the strand that met the loop. Two strands may run at the same
 * time iff they descend from different iterations of one execution of a loop. What the threads of a block do from one
 * barrier to the next counts as a loop over them. */
typedef struct Strand {
    uint32_t parent, loop; /* loop: numbers the executions, from 1 */
} Strand;

/* One execution of a loop whose iterations are strands. */
typedef struct StrandLoop {
    const char *others; /* what a message calls the other iterations */
    uint32_t    parent; /* the strand that met it */
    uint32_t    all;    /* a strand that stands for several of the iterations; 0: none is needed yet */
} StrandLoop;

/* Where a statement stands, as ir/stmt.h says at STMT_KERNEL. */
typedef enum CodePlace { PLACE_HOST, PLACE_BLOCK, PLACE_THREAD, PLACE_COUNT } CodePlace;

typedef struct Code Code;

typedef struct Executor {
    kn_context      *cx;
    Program         *program;
    Arena            arena;
    BufferMemory    *memories; /* by Buffer.id */
    Map              slots;    /* name -> Slot, of what is bound here */
    const kn_scalar *params;
    ExecuteCounts   *counts;
    VEC(Strand) strands;
    VEC(StrandLoop) loops; /* by their numbers */
    uint32_t          strand, event;
    bool              in_atomic;
    Formula          *formulas[EX_COUNT][KN_TYPE_COUNT]; /* of the mathematical functions that were met */
    DefinitionCounts *producing;
    int64_t           bytes;        /* allocated now */
    CodePlace         place;        /* of the step that is being made */
    const Stmt       *kernel;       /* that it stands in */
    int64_t           shared_bytes; /* of that kernel */
    struct BlockRun  *block;        /* of a kernel, that runs now; NULL: the host's code does */
} Executor;

/* The block loops of a kernel, or a thread nest: values at the entry, x first. */
typedef struct ExecNest {
    int           axes;
    LaneValues    extents[GPU_AXES];
    VariableSlot *slots[GPU_AXES];
} ExecNest;

typedef struct ExecStep ExecStep;
typedef void            StepAction(Executor *ex, const ExecStep *s, const uint8_t *active);

/* A statement in a place of `width` lanes. The kind of the statement says which fields have a meaning. */
struct ExecStep {
    StepAction      *run;
    const Stmt      *stmt;
    int              width;
    Code            *code;   /* for the values below */
    LaneValues       a, b;   /* let: value; loop: min, extent; if, check: condition; alloc: count; need: min, max */
    LaneValues      *values; /* store: index and value of each place; stage: see make_stage */
    VariableSlot    *slot;   /* let, loop */
    const ExecStep  *body, *no;
    int              count;
    const ExecStep **items;
    uint8_t         *mask, *other; /* room for sets of lanes: of the body, of `no` */
    int              definition;
    const ExecNest  *nest;
};

/* ---- executor.c ---- */

/* Ends the run: lowered code is wrong. */
__attribute__((noreturn, format(printf, 2, 3))) void executor_mistake(Executor *ex, const char *format, ...);
/* Values of `width` lanes, in the executor's arena. */
LaneValues lane_values_new(Executor *ex, int width);
bool       any_active(const uint8_t *active, int width);
/* Ends the run where an active lane depends on memory that was never written. */
void expect_defined(Executor *ex, const LaneValues *v, int width, const uint8_t *active, const char *what);

/* A new execution of a loop that the strand `parent` meets. */
uint32_t strand_loop(Executor *ex, const char *others, uint32_t parent);
/* A new iteration of it. */
uint32_t strand_of_loop(Executor *ex, uint32_t loop);
/* The strand that stands for several of its iterations: each other strand of the loop may run at the same time. */
uint32_t strand_of_all(Executor *ex, uint32_t loop);
/* The loop that makes two strands run at the same time; 0: they do not. */
uint32_t concurrent_by(const Executor *ex, uint32_t a, uint32_t b);
/* `count` iterations are run in a scrambled order: each that many after the one before, modulo count. */
int64_t scrambled_step(int64_t count);

/* What iterations add to the counts that are not sums. */
typedef struct AtOnce {
    int64_t begin, longest, width, all;
} AtOnce;
AtOnce at_once_begin(const Executor *ex);
void   at_once_iteration(Executor *ex, const AtOnce *a);
void   at_once_next(Executor *ex, AtOnce *a);
void   at_once_end(Executor *ex, const AtOnce *a);

/* ---- execute_steps.c, execute_stage.c, execute_kernel.c: statements ---- */

/* A statement and what is in it, in a place of `width` lanes. */
const ExecStep *make_step(Executor *ex, const Stmt *s, int width);
/* The rest of the step of an extern stage. */
void make_stage(Executor *ex, ExecStep *step, const Stmt *s);
/* Of a kernel, a thread loop, an allocation in a kernel, a barrier and a sync. */
void make_kernel(Executor *ex, ExecStep *step, const Stmt *s);
void make_threads(Executor *ex, ExecStep *step, const Stmt *s);
void make_kernel_alloc(Executor *ex, ExecStep *step, const Stmt *s);
void make_barrier(Executor *ex, ExecStep *step, const Stmt *s);
void make_sync(Executor *ex, ExecStep *step, const Stmt *s);
/* Ends the run where the statement may not stand. */
void expect_place(Executor *ex, const Stmt *s);

/* Binds a name to `width` values until it is unbound. An inner binding never hides an outer one. */
VariableSlot *bind_name(Executor *ex, const char *name, int width);
void          unbind_name(Executor *ex, const char *name);
/* The memory of a scratch buffer during the body of an allocation: `bytes` count as allocated. */
void run_allocated(Executor *ex, const ExecStep *s, const uint8_t *active, int64_t bytes);

/* ---- code.c: expressions ---- */

/* Code for the expressions of one statement, in a place of `width` lanes. Each node is computed once, operands
 * first. */
Code *code_new(Executor *ex, int width);
/* The value that `e` has after code_run; it stays where it is. */
LaneValues code_add(Executor *ex, Code *code, const Expr *e);
/* Computes all of it. Memory is read in the lanes that are active; what lies in the others means nothing. */
void code_run(Executor *ex, const Code *code, const uint8_t *active);

/* ---- memory.c ---- */

/* The port's buffer, and which of its elements exist. */
void lane_memory_of_port(Executor *ex, LaneMemory *mem, const kn_buffer *b, bool is_output);
/* `count` elements of garbage, in an arena of their own. */
void lane_memory_allocate(Arena *arena, LaneMemory *mem, kn_type type, int64_t count);
/* The values are garbage again; who touched the elements is not forgotten. */
void lane_memory_spoil(LaneMemory *mem, kn_type type);

/* Ends the run where code of the host touches a buffer whose newer copy may be the device's. */
void expect_current(Executor *ex, const BufferMemory *s, bool writes);

/* The memory of a buffer that lane `lane` of `width` uses. */
static inline LaneMemory *memory_of_lane(const BufferMemory *s, int lane, int width)
{
    if (s->thread)
        return &s->per_lane[*s->thread];
    return &s->per_lane[width == s->width ? lane : lane / (width / s->width)];
}

Lane memory_load(Executor *ex, const BufferMemory *s, int lane, int width, int64_t index, uint8_t *undefined);
/* The value that was loaded is used: it must not be what another strand changes. */
void memory_watch(Executor *ex, const BufferMemory *s, int lane, int width, int64_t index);
void memory_store(Executor *ex, const BufferMemory *s, int lane, int width, int64_t index, Lane v, bool undefined);

#endif
