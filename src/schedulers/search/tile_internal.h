/* SPDX-License-Identifier: MIT */
/* Private to the tile files: shapes, and the boxes of a tile. */
#ifndef KILN_SCHEDULERS_TILE_INTERNAL_H
#define KILN_SCHEDULERS_TILE_INTERNAL_H

#include "schedulers/search/tile.h"

/* The tiles of a head, of at most two levels. */
typedef struct TileShape {
    int64_t size[KN_MAX_RANK]; /* of the outer tiles, which are the tasks, by dimension; 0 beyond the head's rank */
    int64_t band; /* rows of the inner tiles, along which windows slide; 0: one level, members are computed for the
                     whole tile */
} TileShape;

/* The product of a head's extents beyond the first two dimensions. */
int64_t tile_planes(const GraphNode *head);
/* The boxes of all nodes of the group for the middle tile of this size, in t->boxes. */
void tile_boxes(TileSpace *t, const int64_t *size);
/* The bytes of the group's own nodes in those boxes. */
double tile_bytes(const TileSpace *t);

/* Algorithm 2: overlapped tiles that fit a cache. */
TileShape tile_for_cache(TileSpace *t, double cache);
/* Of the tiles of one plane whose boxes fit, the one with the least redundant work. false: none fits. */
bool tile_least_overlap(TileSpace *t, double cache, TileShape *shape);
/* The width of a strip whose windows, sliding `band` rows at a time, fit the cache. */
int64_t tile_fit_width(TileSpace *t, const TileShape *shape, double cache);

/* Equation 2: the paper's cost, and the shape that it comes from. */
double tile_plain_cost(TileSpace *t, TileShape *shape);

#endif
