/* SPDX-License-Identifier: MIT */
/* Private to the scheduler `reuse`: a segment under analysis, a loop nest with its levels, and its cost. */
#ifndef KILN_SCHEDULERS_REUSE_INTERNAL_H
#define KILN_SCHEDULERS_REUSE_INTERNAL_H

#include "schedulers/search/schedulers.h"

/* Level 0 is the whole segment. Level i is the middle iteration of loop i-1 of the head, with the loops outside it
 * fixed. */
enum { MOST_REUSE_LEVELS = MOST_GROUP_LOOPS + 1 };

/* A part of the pipeline that is computed in the loops of its last node: P of the paper, with what the segment reads.
 */
typedef struct Segment {
    const Graph   *g;
    const Machine *m;
    const Draft   *d;
    const Where
             *plain; /* by node of the graph, from the plain draft: what is inlined, and what is next to its reader */
    int       count; /* nodes of it, ascending; the head, K_m, is last */
    int      *nodes;
    int       outside_count, *outside; /* what they read: other segments and inputs */
    int      *place;                   /* by node of the graph: its k, in nodes and then in outside */
    bool     *given, *member;          /* for graph_regions_among; by node of the graph */
    Box      *boxes;                   /* by node of the graph */
    Box      *levels;                  /* [level * (count + outside_count) + k] */
    double   *points, *held;           /* by k; room for nest_cost */
    uint32_t *by_data;
    int      *ends;
} Segment;

/* The loops D_m of the paper, outermost first, and S_i = (compute, store) of every node. */
typedef struct Tiling {
    int       loop_count, inter; /* the first `inter` loops are over tiles */
    GroupLoop loops[MOST_GROUP_LOOPS];
    double    iterations[MOST_REUSE_LEVELS]; /* total, by level */
    double    tasks;
} Tiling;

typedef struct Level {
    Where where;
    int   compute, store;
    bool  whole; /* every tile needs nearly all of it */
} Level;

typedef struct NestCost {
    double ns;
    double load, compute, again; /* Cl, Cp and Cp - C^root of the paper, in ns */
    double folded, unfolded;     /* bytes per thread: circular buffers, and others */
    bool   fits;                 /* section 4.3: folded buffers fit the last-level cache, others the L2 */
} NestCost;

/* The best nest of a segment. */
typedef struct Solution {
    NestCost cost;
    Tiling   nest;
    Level   *levels; /* by k */
} Solution;

static inline Box *segment_box(const Segment *s, int level, int k)
{
    return &s->levels[level * (s->count + s->outside_count) + k];
}

static inline double segment_points(const Segment *s, int level, int k)
{
    const int node = k < s->count ? s->nodes[k] : s->outside[k - s->count];
    return (double)box_points(segment_box(s, level, k), s->g->nodes[node].rank);
}

/* A segment without nodes, with room for all of the graph. */
Segment segment_new(const Draft *d, const Machine *m, const Where *plain, Arena *arena);
/* Finds the boxes of all nodes at all levels, and the iterations. */
void nest_boxes(Segment *s, Tiling *n);
/* Algorithm 1: the levels of all nodes. `levels` is by k. */
void fuse_nodes(const Segment *s, const Tiling *n, Level *levels);
/* Algorithm 2: inlines nodes that are cheaper to recompute at every use than to store. */
void inline_trivial(const Segment *s, const Tiling *n, Level *levels);
/* The cost of equations 2 to 6. */
NestCost nest_cost(const Segment *s, const Tiling *n, const Level *levels);
/* Algorithm 3. The levels are in `arena`. quick: rows and strips only, to find out where to split. */
Solution tiling_analysis(Segment *s, bool quick, Arena *arena);

/* One point of the space: tile sizes (by dimension of the head), and the orders of the loops in a tile and over tiles,
 * outermost first. */
void nest_make(const Segment *s, const int64_t *size, const int *intra, const int *inter, Tiling *out);

#endif
