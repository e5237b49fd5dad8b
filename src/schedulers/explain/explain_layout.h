/* SPDX-License-Identifier: MIT */
/* The layout of a drawing: boxes in layers, each below all that it reads, and edges that run between boxes, never
 * behind them.
 *
 * From    Sugiyama, Tagawa and Toda 1981: layers, an order in each with few crossings, then coordinates. */
#ifndef KILN_SCHEDULERS_EXPLAIN_LAYOUT_H
#define KILN_SCHEDULERS_EXPLAIN_LAYOUT_H

#include "base/arena.h"

typedef struct LayoutNode {
    int width, height; /* given */
    int layer, x, y;   /* found: its left and upper side */
} LayoutNode;

/* Where an edge runs straight down, past the boxes of a layer. Between two stops it is a curve, and no boxes are there.
 */
typedef struct LayoutStop {
    int x, top, bottom;
} LayoutStop;

typedef struct LayoutEdge {
    int         from, to; /* given */
    int         count;
    LayoutStop *stops; /* found: the first at the lower side of `from`, the last at the upper side of `to` */
} LayoutEdge;

typedef struct Layout {
    LayoutNode *nodes; /* an edge goes from a node to a later one */
    int         node_count;
    LayoutEdge *edges;
    int         edge_count;
    int         width, height; /* found: of all */
} Layout;

/* Deterministic. Takes time in proportion to the square of the nodes. */
void layout_make(Layout *l, Arena *arena);

#endif
