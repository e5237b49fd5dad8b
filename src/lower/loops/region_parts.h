/* SPDX-License-Identifier: MIT */
/* Regions at a level, while they are found: shared by regions.c (definitions and boxes) and needs.c (accesses). */
#ifndef KILN_LOWER_LOOPS_REGION_PARTS_H

#define KILN_LOWER_LOOPS_REGION_PARTS_H

#include "lower/loops/build.h"

/* What is needed of a function so far. A box is empty only where a loop around it does not run. Accesses that do not
 * happen (an empty output, a branch that is never taken) may make boxes larger, but ask nothing of inputs. */
typedef struct SymNeed {
    bool        any, certain; /* certain: not only under conditions on parameters and sizes */
    SymBox      box;
    const Expr *read_if; /* at root: the condition that it is read at all; NULL: it always is */
    const Expr *missing; /* where it fails the box has no points, and begins one past its end; NULL: it has some */
} SymNeed;

/* At root: an access in a branch that is never taken. If the same call happens elsewhere, the boxes inside loops
 * include this access too, because they know less. Then the box at root must hold it. */
typedef struct Dormant Dormant;

struct Dormant {
    SymSpan        index[KN_MAX_RANK];
    const Expr    *read_if, *guard;
    const Dormant *next; /* of the same call */
};

typedef struct RegionWalk {
    Build        *b;
    PlanLevel     level;
    SymNeed      *need; /* per function id */
    const Func   *reader;
    const Update *update;
    bool          writing;
    const Expr *when; /* the condition that anything of the reader is computed; NULL: it is. For shared loops, and boxes
                         that may be empty */
    const Expr *missing; /* of a reader with a sliding window, or read by one alone: the condition that any of the
                            window is missing; NULL: it has none */
    SymNeed *self;       /* where accesses of the reader to itself go; NULL: nowhere */
    Prelude *w;
    bool     root;
    Map      read_if; /* condition -> the variable that names it */
    int      named_count;
    Map      dormant; /* call -> its Dormant accesses */
} RegionWalk;

/* ---- needs.c ---- */

/* Grows a need to the hull with a box. */
void grow_need(Lower *lw, SymNeed *n, int rank, const SymSpan *index, const Expr *read_if);
/* Checks that inputs have what the reader reads of them, before anything is computed. */
void check_inputs(RegionWalk *r);
/* The variable of a condition: it is used in many boxes. */
const Expr *name_condition(RegionWalk *r, const Expr *read_if);
/* Grows a need by a box that counts only if `guard` holds (NULL: it does). */
void grow_need_if(RegionWalk *r, SymNeed *n, const Func *f, const SymSpan *index, const Expr *read_if,
                  const Expr *guard);
void note_access(void *user, const Expr *call, const SymSpan *index, const Expr *read_if, const Expr *guard,
                 unsigned must_clamp, unsigned nonmonotonic);

#endif
