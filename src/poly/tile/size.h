/* SPDX-License-Identifier: MIT */
/* Tile sizes, given or by a model of the caches. */
#ifndef KILN_POLY_TILE_SIZE_H
#define KILN_POLY_TILE_SIZE_H

#include "poly/tile/hyper.h"
#include "poly/tile/stages.h"

/* Sizes of skewed tiles: of p and q, then of the planes of further axes; 0 leaves an axis whole. `cut` tells which axes
 * can be cut. t->options.sizes are set to what was decided: steps of time, then extents along the axes. */
void size_skewed(Tiled *t, const Axes *x, const Hyper *p, const Hyper *q, const bool cut[], int64_t sizes[]);

/* The loops of a group's root that are tiled, and the sizes; false: none can be. */
bool size_overlapped(const Stages *p, const Stage *root, Group *g);

/* The most bytes of scratch that a tile may have: on a stack, in shared memory, or for rows that auto lets slide in
 * half of L2, beside what they are computed from. */
int64_t size_scratch(const Tiled *t);

#endif
