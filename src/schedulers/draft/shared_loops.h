/* SPDX-License-Identifier: MIT */
/* Loop fusion inside a tile (compute_with): members of a group that share their loops. */
#ifndef KILN_SCHEDULERS_SHARED_LOOPS_H
#define KILN_SCHEDULERS_SHARED_LOOPS_H

#include "schedulers/draft/draft.h"

typedef struct Pairs {
    Draft *d;
    bool  *needs;         /* by node: the one last asked about depends on it */
    int    count, *later; /* the later node of each pair */
} Pairs;

/* No pairs yet. */
Pairs pairs_begin(Draft *d, Arena *arena);
/* May b share the loops of a, beside the pairs that are made? */
bool pairs_may_share(Pairs *p, int a, int b);
void pairs_share(Pairs *p, int a, int b);

/* Does a member have the loops of the default schedule, and is it stored where it is computed? */
bool shares_plainly(const Draft *d, int s);
/* Are two members computed at the same level with the same lanes? */
bool shares_same_loops(const Draft *d, int a, int b);

/* The last step of legalizing: undoes what cannot be fused. */
void draft_legalize_shared(Draft *d);

#endif
