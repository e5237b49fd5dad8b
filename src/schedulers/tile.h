/* The best schedule of one group: the loops of its head, their sizes, and where each member is computed and stored.
 *
 * What `dp`, `greedy` and others share: they decide which nodes are a group, this says how well it can be done and
 * does it. The draft is changed in place: a group is put into it, costed by the common model, and taken apart again. */
#ifndef KILN_SCHEDULERS_TILE_H
#define KILN_SCHEDULERS_TILE_H

#include "schedulers/schedulers.h"

typedef enum TileEffort {
    TILE_QUICK,   /* a handful of shapes, all members alike: for each of many groups in a search */
    TILE_SLICES,  /* one place of a dimension after the other, each member as a whole: for the groups of slice_groups.h
                   */
    TILE_THOROUGH /* more shapes, and each member where it is best: for the groups that are taken */
} TileEffort;

typedef struct TileSpace {
    Draft           *d;
    const Graph     *g;
    const Machine   *m;
    SchedulerOptions options; /* no_two_levels, no_inlining, plain_cost */
    const int       *nodes;   /* the group that is asked about: ascending, the head last */
    int              count, head;
    int             *among, among_count; /* the group and what is inlined into it, ascending */
    bool            *given, *member;     /* all false between calls */
    Box             *boxes;
    Choice          *kept;   /* by place in the group: the best so far */
    double          *points; /* by place in the group */
} TileSpace;

/* `d` holds what is inlined; what is asked about later must be at root until then. */
TileSpace tile_space(Draft *d, const Machine *m, const SchedulerOptions *options, Arena *arena);

/* Puts these nodes (ascending, the head last) into group number `group` of the draft in the best way found, and gives
 * its predicted ns (plain_cost: the paper's cost). INFINITY: they are no group; they are at root then, as tile_ungroup
 * leaves them. *hopeless (may be NULL): no larger group with this head is one either. */
double tile_group(TileSpace *t, const int *nodes, int count, int group, TileEffort effort, bool *hopeless);

/* May it be inlined, and is it worth a thought: a table, or what is read at many places, is never computed again for
 * each. */
bool tile_may_inline(const Draft *d, int s);

/* Puts them at root again. */
void tile_ungroup(TileSpace *t, const int *nodes, int count);

#endif
