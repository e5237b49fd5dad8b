/* SPDX-License-Identifier: MIT */
/* Boxes of a group's tiles at every loop level. Private to the cost model. */
#ifndef KILN_SCHEDULERS_COST_TILES_H
#define KILN_SCHEDULERS_COST_TILES_H

#include "schedulers/model/cost.h"

/* Level 0 is the whole group. Level i is one iteration of loop i-1, with all loops outside it fixed. */
enum { MOST_LEVELS_OF_GROUP = MOST_GROUP_LOOPS + 1 };

/* What the middle tile of a level needs of a node, and sums over all tiles of that level. */
typedef struct LevelBox {
    Box     middle;
    double  points;            /* points of the boxes of all tiles */
    double  rows;              /* rows of these boxes: runs along the first dimension */
    int64_t most[KN_MAX_RANK]; /* the largest extents over all tiles; in pyramids odd tiles need more than even ones */
} LevelBox;

typedef struct Tiles {
    const Draft *draft;
    const Graph *graph;
    Group        group; /* as in the draft; with the compiler's default loops where the draft has none */
    int          index;
    bool         quick;
    int          level_count;                 /* 1 + loops */
    double       tiles[MOST_LEVELS_OF_GROUP]; /* tiles of each level */
    int          node_count;                  /* nodes of the group and those it reads */
    int         *nodes;                       /* ascending */
    int          inner_count, *inner;         /* nodes of the group */
    bool        *given, *member, *joined; /* by node of the graph: the head; the group and what it reads; the group */
    LevelBox    *boxes;                   /* [level * node_count + k] */
    Arena       *arena;
} Tiles;

/* Finds all boxes of a group. Memory comes from `arena`. `quick`: as if all tiles were like the middle one. */
void tiles_make(Tiles *t, const Draft *d, int group, const Machine *m, bool quick, Arena *arena);
/* The k of a node of the graph. */
int tiles_find(const Tiles *t, int node);

/* The role of node k: head, computed inside the head's loops, inlined, or read from another group or an input. */
typedef enum Role { ROLE_HEAD, ROLE_INSIDE, ROLE_INLINED, ROLE_OUTSIDE } Role;
Role tiles_role(const Tiles *t, int k);
/* The levels where a member is computed and stored. WHERE_DEFAULT counts as the innermost loop of its reader. */
int tiles_compute_level(const Tiles *t, int k);
int tiles_store_level(const Tiles *t, int k);

/* Iterations of the group's parallel loops. */
double tiles_tasks(const Tiles *t);

/* The steps of a head for which its rows, and what they read, stay in a cache of this size; 1
 * without tiles over time. The cache is to hold a diamond; a row is in it for half of the diamond's steps on average.
 */
double time_tiles_kept(const Draft *d, const Machine *m, int head, double size);
/* The diamonds of a head, each of size^2 / (2 slope) points of its steps and rows; 0 without them. */
double time_tiles_tasks(const Draft *d, int head);

static inline const LevelBox *tiles_box(const Tiles *t, int level, int k)
{
    return &t->boxes[level * t->node_count + k];
}

#endif
