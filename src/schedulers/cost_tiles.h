/* Boxes of a group's tiles at every loop level: what only the cost model's files share. */
#ifndef KILN_SCHEDULERS_COST_TILES_H
#define KILN_SCHEDULERS_COST_TILES_H

#include "schedulers/cost.h"

/* Level 0 is the whole; level i is one iteration of loop i-1, with all loops outside it fixed. */
enum { MOST_LEVELS_OF_GROUP = MOST_GROUP_LOOPS + 1 };

/* What one tile of a level, in the middle, needs of a node; and the sums over all tiles of that level. */
typedef struct LevelBox {
    Box     middle;
    double  points;            /* of the boxes of all tiles */
    double  rows;              /* of them: runs along the first dimension */
    int64_t most[KN_MAX_RANK]; /* the largest extents of any tile: in pyramids odd tiles need more than even ones */
} LevelBox;

typedef struct Tiles {
    const Draft *draft;
    const Graph *graph;
    Group     group; /* as the draft has it; where that leaves the loops to the compiler, as the compiler makes them */
    int       index;
    bool      quick;
    int       level_count;                 /* 1 + loops */
    double    tiles[MOST_LEVELS_OF_GROUP]; /* of each level */
    int       node_count;                  /* of the group and what it reads: */
    int      *nodes;                       /* ascending */
    int       inner_count, *inner;         /* those of the group */
    bool     *given, *member, *joined;     /* by node of the graph: the head; all of these; those of the group */
    LevelBox *boxes;                       /* [level * node_count + k] */
    Arena    *arena;
} Tiles;

/* All boxes of a group. Memory is `arena`'s. Quick: as if all tiles were like the one in the middle. */
void tiles_make(Tiles *t, const Draft *d, int group, const Machine *m, bool quick, Arena *arena);
/* The k of a node of the graph. */
int tiles_find(const Tiles *t, int node);

/* What node k is to the group: its head, computed inside its loops, inlined, or read from other groups or an input. */
typedef enum Role { ROLE_HEAD, ROLE_INSIDE, ROLE_INLINED, ROLE_OUTSIDE } Role;
Role tiles_role(const Tiles *t, int k);
/* The levels where a member is computed and stored. What is left to the compiler is beside its reader's innermost
 * loop. */
int tiles_compute_level(const Tiles *t, int k);
int tiles_store_level(const Tiles *t, int k);

static inline const LevelBox *tiles_box(const Tiles *t, int level, int k)
{
    return &t->boxes[level * t->node_count + k];
}

#endif
