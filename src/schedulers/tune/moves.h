/* SPDX-License-Identifier: MIT */
/* Edits of a draft: the small changes by which the algorithm `model` moves from one schedule to the next.
 *
 * An edit may ask for anything; draft_legalize makes it legal or takes it back. So every edit gives a legal schedule,
 * though some give the one that was there. */
#ifndef KILN_SCHEDULERS_TUNE_MOVES_H
#define KILN_SCHEDULERS_TUNE_MOVES_H

#include "schedulers/tune/random.h"
#include "schedulers/tune/tune.h"

typedef enum MoveKind {
    MOVE_TILE,       /* the step of a loop of a head, times two or by two */
    MOVE_SPLIT,      /* another loop over a dimension of a head */
    MOVE_JOIN_LOOPS, /* one loop less over a dimension */
    MOVE_SWAP,       /* two loops of a head */
    MOVE_PARALLEL,   /* the loop that is parallel */
    MOVE_VECTOR,     /* lanes of a head or of a member */
    MOVE_UNROLL,
    MOVE_DEFAULT_LOOPS, /* the loops of a head are left to the compiler, or written out */
    MOVE_COMPUTE,       /* the level at which a member is computed */
    MOVE_STORE,         /* the level at which it is stored: a window slides where that is further out */
    MOVE_INLINE,
    MOVE_ROOT,
    MOVE_GROUP, /* into the loops of the group that reads it */
    MOVE_STREAM,
    MOVE_PREFETCH,
    MOVE_PATTERN, /* its sizes, or without it */
    MOVE_NEST,    /* the sizes of a member's own loops, or without them */
    MOVE_LAYOUT,  /* shared loops, chains, alignment of a member: without them */
    MOVE_TIME,    /* the size of diamonds over time */
    MOVE_RULE,    /* a rule at a place where the model has refused it */
    /* Of kernels, beside MOVE_INLINE: kernel_edits.h. */
    MOVE_THREADS,   /* of a block along a dimension, times two or by two */
    MOVE_WARPS,     /* the same, two more or fewer */
    MOVE_POINTS,    /* those of a thread along a dimension */
    MOVE_RESIDENT,  /* blocks of a multiprocessor at once, which bound the registers of a thread */
    MOVE_PLANES,    /* a short dimension inside threads, or a block for each */
    MOVE_KERNEL,    /* a stage as a kernel of its own */
    MOVE_MERGE,     /* a kernel, or what is inlined, into the kernel that reads it, in shared memory */
    MOVE_REGISTERS, /* a member in registers, or in shared memory */
    MOVE_KINDS
} MoveKind;
/* In a word or two. */
const char *move_name(MoveKind kind);

typedef struct Move {
    MoveKind kind;
    int      site; /* a group or a node */
    int      loop; /* of it, or a level, or the number of a rule */
    int      dim;
    int      by; /* the direction, or what is asked for */
} Move;

/* Edits, at most `room`: what is added beyond that is left out. */
typedef struct MoveList {
    Move *at;
    int   count, room;
} MoveList;
void moves_add(MoveList *l, MoveKind kind, int site, int loop, int dim, int by);

/* All edits of a legal draft that may make sense. Gives their number, at most `room`. */
int moves_list(const Draft *d, Move *out, int room);
/* Makes the edit; the draft is to be made legal after it. */
void move_apply(Draft *d, const Machine *m, const Move *move);
/* "tile: out y 32, times 2" */
void move_print(Text *out, const Draft *before, const Move *move);

/* The loops of a node at root as people write them: strips of rows in parallel, vectors along x. */
void moves_plain_loops(const Draft *d, int s, Group *gr);

#endif
