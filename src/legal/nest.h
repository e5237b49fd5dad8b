/* SPDX-License-Identifier: MIT */
/* The loops of one definition: which nests, with which kinds of loops, leave its result as it is.
 *
 * With S the set of places that an update reads of its own function:
 *
 *   free outside reduction   each point goes through all its steps before the next: right iff every read in S is at the
 *                            reader's own point of those free variables
 *   another order of steps   right iff f(args) = f(args) op e with op exact, associative and commutative, and nothing
 *                            else reads f; or iff no two of these steps touch a common place: f(… c*r …) with S nothing
 *                            but the written place
 *   steps at once            right iff the steps touch no common place; those that do need `atomic` beside the first
 *                            condition */
#ifndef KILN_LEGAL_NEST_H
#define KILN_LEGAL_NEST_H

#include "legal/facts.h"

/* Of a definition: the lanes of its vector loop, the copies of its body, its loops over blocks and over threads,
 * the threads of a block. */
enum { LEGAL_LANES = 1024, LEGAL_COPIES = 4096, LEGAL_AXES = 3, LEGAL_THREADS = 1024 };

/* A loop of a nest. */
typedef struct NestLoop {
    LoopKind kind;
    uint32_t vars;   /* the variables behind it */
    int64_t  extent; /* where it is a constant; else 0 */
    int      number; /* of a reduction loop: its place in the order that the language has them in, from outside */
} NestLoop;

typedef struct Nesting {
    const DefFacts *facts;
    const NestLoop *loops; /* outermost first */
    int             count;
    bool            atomic;     /* its stores are */
    bool            order_lost; /* a fused loop goes through the reduction in another order */
    bool            mixed;      /* a fused loop goes through free and reduction variables */
} Nesting;

typedef enum NestFault {
    NEST_LEGAL,
    NEST_TWO_VECTORS,        /* `loop` is a vector loop, and so is `other` outside it */
    NEST_WIDE_VECTOR,        /* `loop` has more iterations than a vector lanes */
    NEST_PARALLEL_IN_VECTOR, /* `loop` is parallel, inside the vector loop `other` */
    NEST_MANY_COPIES,        /* with `loop` the body is copied too often */
    NEST_BLOCK_INSIDE,       /* `loop` is over blocks, inside `other`, which is of another kind and in a kernel */
    NEST_THREAD_APART,       /* `loop` is over threads, inside `other`, which is inside a loop over threads */
    NEST_MANY_AXES,          /* with `loop` there are more loops of its kind than a device has axes */
    NEST_PARALLEL_KERNEL,    /* `loop` is parallel, `other` of a kernel, or the other way round */
    NEST_STEP_ORDER,         /* steps are taken in another order, and the result may depend on it */
    NEST_POINTS_OUTSIDE,     /* `loop` over points is outside `other` over steps, which read other points along it */
    NEST_POINTS_AND_STEPS,   /* one loop goes through both, and steps read other points */
    NEST_STEPS_AT_ONCE,      /* iterations of `loop` run at once, and their steps may touch the same place */
    NEST_BOUND_INSIDE,       /* `loop` is inside `other`, which it bounds */
    NEST_BOUND_FUSED,        /* `loop` is over two variables of which one bounds the other */
    NEST_BOUND_VECTOR        /* `loop` is of vectors, and bounds a reduction: lanes would differ in their steps */
} NestFault;

/* What is wrong, and with which loops, counted from outside; -1 where there is none. */
typedef struct NestVerdict {
    NestFault fault;
    int       loop, other;
} NestVerdict;

/* The first fault that is found. */
NestVerdict nest_check(const Nesting *n);

#endif
