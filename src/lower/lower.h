/* SPDX-License-Identifier: MIT */
/* Lowering: from a plan to a program of loops over memory, pass by pass. The lists of passes are in lower.c. */
#ifndef KILN_LOWER_LOWER_H
#define KILN_LOWER_LOWER_H

#include "ir/simplify.h"
#include "ir/target.h"
#include "plan/plan.h"

typedef struct Lower {
    kn_context *cx;
    Arena      *arena;
    ExprPool   *exprs; /* the plan's */
    const Plan *plan;
    Program    *program;
    VEC(const Func *) ports;              /* the functions behind the program's ports */
    Simplifier           *simplifier;     /* knows what always holds (base_simplifier) */
    struct ValueRanges   *values;         /* bounds/value_range.c */
    struct FunctionSpan **function_spans; /* bounds/span_rules.c: per function id */
    int                   vector_bits;    /* of the target: decides lanes of copies */
    bool                  gpu;            /* the target has a device */
    DeviceKind            device;         /* its kind; NONE: what every device takes */
} Lower;

/* One pass: takes the body of the program, gives the next. */
typedef struct LowerPass {
    const char *name, *summary;
    const Stmt *(*run)(Lower *lw, const Stmt *body);
} LowerPass;

typedef struct LowerPassList {
    const LowerPass *at;
    int              count;
} LowerPassList;

extern const LowerPassList lower_pass_lists[PASS_LIST_COUNT]; /* a target names one of them */

typedef struct LowerOptions {
    PassListId  passes;
    DeviceKind  device; /* NONE, with passes for GPUs: kernels for any */
    bool        strict_float;
    int         vector_bits; /* 0: 256 */
    const char *until;       /* stop after this pass; NULL: all of them */
} LowerOptions;

/* NULL, with diagnostics, where the plan cannot be lowered (a region without bounds). */
Program *lower(Plan *plan, const LowerOptions *options);

/* passes/pass_tools.c: the size of a statement in statements and expression nodes, a node once for each statement that
 * has it. Stops at `most`. */
int64_t stmt_size(ExprPool *pool, const Stmt *s, int64_t most);

/* passes/barriers.c: how many barriers a block of the kernel would execute. */
int64_t barriers_needed(Lower *lw, const Stmt *kernel);

/* ---- The passes, in order; after the first each is the file of its name in passes/ ---- */
/* loops/loops.c: loops for every definition, with regions, storage and sliding windows. */
const Stmt *lower_loops(Lower *lw, const Stmt *none);
const Stmt *lower_flatten(Lower *lw, const Stmt *s);      /* flatten.c: functions become buffers, calls loads */
const Stmt *lower_unswitch(Lower *lw, const Stmt *s);     /* unswitch.c */
const Stmt *lower_inside(Lower *lw, const Stmt *s);       /* inside.c */
const Stmt *lower_partition(Lower *lw, const Stmt *s);    /* partition.c */
const Stmt *lower_unroll(Lower *lw, const Stmt *s);       /* unroll.c */
const Stmt *lower_vectorize(Lower *lw, const Stmt *s);    /* vectorize.c: bodies of vector loops for lanes */
const Stmt *lower_simplify(Lower *lw, const Stmt *s);     /* simplify.c */
const Stmt *lower_kernels(Lower *lw, const Stmt *s);      /* kernels.c */
const Stmt *lower_kernel_names(Lower *lw, const Stmt *s); /* kernels.c: copies have names of their own */
const Stmt *lower_peel(Lower *lw, const Stmt *s);         /* peel.c: first iterations, where windows fill */
const Stmt *lower_interior(Lower *lw, const Stmt *s);     /* interior.c: blocks without guards */
const Stmt *lower_wide(Lower *lw, const Stmt *s);         /* wide.c: rows that begin at multiples */
const Stmt *lower_threads(Lower *lw, const Stmt *s);      /* threads.c: thread nests on the threads of the block */
const Stmt *lower_registers(Lower *lw, const Stmt *s);    /* registers.c: scratch of blocks in registers of threads */
const Stmt *lower_ahead(Lower *lw, const Stmt *s);        /* ahead.c: loads of the next iteration before this one */
const Stmt *lower_clamped(Lower *lw, const Stmt *s);      /* multiples.c: clamped rows by wide accesses */
const Stmt *lower_multiples(Lower *lw, const Stmt *s);    /* multiples.c: where tiles begin */
const Stmt *lower_loads(Lower *lw, const Stmt *s);        /* loads.c: loads of unrolled copies before their stores */
const Stmt *lower_shared(Lower *lw, const Stmt *s);       /* shared.c: shared memory of blocks packed */
const Stmt *lower_barriers(Lower *lw, const Stmt *s);     /* barriers.c */
const Stmt *lower_banks(Lower *lw, const Stmt *s);        /* banks/banks.c: rows of shared memory padded */
const Stmt *lower_sync(Lower *lw, const Stmt *s);         /* sync.c */
const Stmt *lower_math(Lower *lw, const Stmt *s);         /* math.c: mathematical functions as their expansions */

#endif
