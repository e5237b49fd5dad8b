/* What only the files of tiles share: shapes, and the boxes of a tile. */
#ifndef KILN_SCHEDULERS_TILE_INTERNAL_H
#define KILN_SCHEDULERS_TILE_INTERNAL_H

#include "schedulers/tile.h"

enum { TASKS = 4 /* for each core */, FEW_PLANES = 8 };

/* The tiles of a head, of at most two levels. */
typedef struct TileShape {
    int64_t size[KN_MAX_RANK]; /* of the tiles that are tasks, by dimension; 0 in one that is not of the head */
    int64_t band; /* rows of the tiles inside them, along which windows slide; 0: there are none, and a tile's members
                     are computed first */
} TileShape;

/* The product of a head's dimensions but for the first two: pictures of several planes. */
int64_t tile_planes(const GraphNode *head);
/* The boxes of all nodes of the group for a tile of this size in the middle, in t->boxes. */
void tile_boxes(TileSpace *t, const int64_t *size);
/* Bytes that the group's own nodes take in those. */
double tile_bytes(const TileSpace *t);

/* Algorithm 2: the overlapped tiles that suit a cache. */
TileShape tile_for_cache(TileSpace *t, double cache);
/* Of the tiles of one plane whose boxes fit the one that computes least twice. false: none fits. */
bool tile_least_overlap(TileSpace *t, double cache, TileShape *shape);
/* The width, of a strip whose windows slide `band` rows at a time, that lets them stay in the cache. */
int64_t tile_fit_width(TileSpace *t, const TileShape *shape, double cache);

/* Equation 2: the paper's cost, and the shape that it comes from. */
double tile_plain_cost(TileSpace *t, TileShape *shape);

#endif
