/* SPDX-License-Identifier: MIT */
/* Questions about orders and dependences, and the marks of loops. */
#ifndef KILN_POLY_TILE_ORDER_H
#define KILN_POLY_TILE_ORDER_H

#include "poly/tiled.h"

#include <isl/schedule_node.h>

/* All dependences: flow, and reuse of memory. */
isl_union_map *order_dependences(const Scop *s);
/* Those between instances that the bands above the node give the same values. */
isl_union_map *order_remaining(isl_schedule_node *node, isl_union_map *dependences);
/* Can iterations of the band's first loop run in any order? */
bool order_parallel(isl_schedule_node *band, isl_union_map *dependences);
/* The same, if `left` are the dependences between instances that the bands above give the same values. */
bool order_carries_none(isl_schedule_node *band, isl_union_map *left);
/* What is left of the dependences below a child of the node: at a band those between equal iterations, in a sequence
 * those inside of the child. */
isl_union_map *order_left_below(isl_schedule_node *node, int child, isl_union_map *left);
/* Is it the mark of a loop whose iterations are independent? */
bool order_is_loop_mark(const char *mark);
/* Is there a band below? */
bool order_innermost(isl_schedule_node *band);

/* Has the region a loop that carries a dependence, with loops inside? */
bool order_over_time(const Scop *s);

/* Marks the loops at the node and below: the outermost parallel ones, unless `threads` says that there are threads
 * already, and innermost ones that can be vectors. Takes the node and gives it at the same place. */
isl_schedule_node *order_mark(isl_schedule_node *node, isl_union_map *dependences, bool threads);

/* The statements of the tiled program when each instance runs once and where it did; or one of them. */
void order_identity(Tiled *t);
void order_identity_of(Tiled *t, const Statement *st);

#endif
