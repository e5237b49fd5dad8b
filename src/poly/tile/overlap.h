/* SPDX-License-Identifier: MIT */
/* Overlapped tiles of pipelines. */
#ifndef KILN_POLY_TILE_OVERLAP_H
#define KILN_POLY_TILE_OVERLAP_H

#include "poly/tile/stages.h"

/* false: no two stages can be fused. */
bool shape_overlapped(Tiled *t);

/* A group while its tiled statements are made. */
typedef struct Made {
    Stages *p;
    int     group;
    int     tile_dims;
    VEC(TiledStatement) in, out; /* copies */
    VEC(TiledStatement) run;
    VEC(isl_map *) tiles; /* of `run`: [o…] -> instance */
} Made;

/* Finds the arrays of the group that need scratch, and makes their copies. false: an array has no constant box, or a
 * tile's share of it is not its own. */
bool scratch_make(Made *m);

/* The stages of a tile in one nest of loops over shifted points (rectangle.c). */
isl_schedule *rectangle_loops(const Made *m, isl_schedule *stages);

/* { X[o…, i…] -> Y[i…] } from { [o…] -> Y[i…] }. */
isl_map *overlap_executes(isl_map *tile, const char *name);

#endif
