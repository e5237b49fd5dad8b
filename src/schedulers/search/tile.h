/* SPDX-License-Identifier: MIT */
/* The best schedule of one group: the loops of its head, tile sizes, and where each member is computed and stored.
 *
 * The searches (`dp`, `greedy`) decide which nodes are a group. This finds the best way to compute it. The draft is
 * changed in place: a group is put into it, costed by the common model, and taken out again. */
#ifndef KILN_SCHEDULERS_TILE_H
#define KILN_SCHEDULERS_TILE_H

#include "schedulers/search/schedulers.h"

typedef enum TileEffort {
    TILE_QUICK,   /* a handful of shapes, all members alike: for each of many groups in a search */
    TILE_SLICES,  /* one slice of a dimension at a time, each member whole: for the groups of slice_groups.h */
    TILE_THOROUGH /* more shapes, and each member at its own best level: for the groups that are taken */
} TileEffort;

typedef struct TileSpace {
    Draft           *d;
    const Graph     *g;
    const Machine   *m;
    SchedulerOptions options; /* no_two_levels, no_inlining, plain_cost */
    const int       *nodes;   /* the group in question: ascending, the head last */
    int              count, head;
    int             *among, among_count; /* the group and what is inlined into it, ascending */
    bool            *given, *member;     /* all false between calls */
    Box             *boxes;
    Choice          *kept;   /* by place in the group: the best choices so far */
    double          *points; /* by place in the group */
} TileSpace;

/* `d` has the inlining decisions; nodes to be grouped later are at root. */
TileSpace tile_space(Draft *d, const Machine *m, const SchedulerOptions *options, Arena *arena);

/* Puts these nodes (ascending, the head last) into group number `group` of the draft in the best way found, and gives
 * its predicted ns (plain_cost: the paper's cost). INFINITY: they cannot be a group; they are at root then. *hopeless
 * (may be NULL): no larger group with this head can be one either. */
double tile_group(TileSpace *t, const int *nodes, int count, int group, TileEffort effort, bool *hopeless);

/* May it be inlined, and could that pay? Tables and nodes with many reads per point are never recomputed for each read.
 */
bool tile_may_inline(const Draft *d, int s);

/* Puts the nodes at root again. */
void tile_ungroup(TileSpace *t, const int *nodes, int count);

#endif
