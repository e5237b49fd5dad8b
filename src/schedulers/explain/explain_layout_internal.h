/* SPDX-License-Identifier: MIT */
/* Private to the layout: the layered graph, in which every link goes from a layer to the next. */
#ifndef KILN_SCHEDULERS_EXPLAIN_LAYOUT_INTERNAL_H
#define KILN_SCHEDULERS_EXPLAIN_LAYOUT_INTERNAL_H

#include "schedulers/explain/explain_layout.h"

/* A node, or the place where edges of one node cross a layer. */
typedef struct Slot {
    int    node;         /* -1: edges cross */
    int    layer, place; /* the place is counted from the left */
    int    width;
    double x;         /* of its middle */
    int   *up, *down; /* the slots it is linked to in the layers above and below */
    int    up_count, down_count;
} Slot;

typedef struct Slots {
    Arena *arena;
    Slot  *at; /* those of nodes first, by node */
    int    count;
    int  **layers; /* slots from the left */
    int   *sizes;
    int    layer_count;
} Slots;

/* Orders the slots of each layer so that few links cross (explain_order.c). */
void slots_order(Slots *s);
/* Gives the slots their x: in that order and apart, near to what they are linked to, crossing edges straight
 * (explain_place.c). */
void slots_place(Slots *s);

/* The numbers nearest to those wanted, by the weighted sum of squares, that ascend by at least `apart[i]` from i to i
 * + 1. In place. */
void spread_apart(double *wanted, const double *weight, const double *apart, int count, Arena *arena);

#endif
