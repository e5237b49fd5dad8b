/* SPDX-License-Identifier: MIT */
/* Diamond and parallelogram tiles. */
#ifndef KILN_POLY_TILE_SKEW_H
#define KILN_POLY_TILE_SKEW_H

#include "poly/tile/hyper.h"

/* Tiles each outermost loop that carries dependences and has loops inside (an iteration over time), and marks what is
 * parallel. *tiled counts the loops that were tiled. Takes the node and gives it at the same place. */
isl_schedule_node *skew_tile(Tiled *t, isl_schedule_node *node, isl_union_map *dependences, int *tiled);

#endif
