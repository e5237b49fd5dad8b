/* Regions at a level, while they are found: shared by regions.c (definitions and boxes) and needs.c (accesses). */
#ifndef KILN_LOWER_LOOPS_REGION_PARTS_H

#define KILN_LOWER_LOOPS_REGION_PARTS_H

#include "lower/loops/build.h"

/* What is needed of a function, so far. A box is never empty but where a loop around it does not run; what is not read
 * in fact (an empty output, a branch that is never taken) makes boxes larger than need be, but asks nothing of
 * inputs. */
typedef struct Need {
    bool        any, certain; /* certain: not only under conditions that may not hold when the code is called */
    SymBox      box;
    const Expr *read_if; /* at root: the condition that it is read at all; NULL: it always is */
} Need;

/* At root: what an access would ask for in a branch that is never taken. The same call may be made elsewhere; boxes in
 * loops, which know less, then ask for it here too, and root's box must hold that. */
typedef struct Dormant Dormant;

struct Dormant {
    SymSpan        index[KN_MAX_RANK];
    const Expr    *read_if, *guard;
    const Dormant *next; /* of the same call */
};

typedef struct RegionWalk {
    Build        *b;
    PlanLevel     level;
    Need         *need; /* per function id */
    const Func   *reader;
    const Update *update;
    bool          writing;
    const Expr *when; /* the condition that anything of the reader is computed (in loops that others share, or where its
                         box may be empty); NULL: it is */
    const Expr *missing; /* of a reader that slides: the condition that any of it is missing; NULL: it does not slide */
    Need       *self;    /* where accesses of the reader to itself go; NULL: nowhere */
    Prelude    *w;
    bool        root;
    Map         read_if; /* conditions that have a name: condition -> its variable */
    int         named_count;
    Map         dormant; /* call -> its Dormant accesses */
} RegionWalk;

/* ---- needs.c ---- */

/* Adds a box to a need. */
void grow_need(Lower *lw, Need *n, int rank, const SymSpan *index, const Expr *read_if);
/* Inputs must have what is read of them: said once per reading definition, before anything is computed. */
void check_inputs(RegionWalk *r);
/* A condition under which something is read is used in many boxes: it gets a name. */
const Expr *name_condition(RegionWalk *r, const Expr *read_if);
/* Adds a box to a need that asks for nothing unless `guard` holds (NULL: it does). */
void grow_need_if(RegionWalk *r, Need *n, const Func *f, const SymSpan *index, const Expr *read_if, const Expr *guard);
void note_access(void *user, const Expr *call, const SymSpan *index, const Expr *read_if, const Expr *guard,
                 unsigned unsafe, unsigned loose);

#endif
