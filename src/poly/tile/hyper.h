/* SPDX-License-Identifier: MIT */
/* Hyperplanes: functions of the instances below a loop that no dependence decreases. */
#ifndef KILN_POLY_TILE_HYPER_H
#define KILN_POLY_TILE_HYPER_H

#include "poly/tiled.h"

#include <isl/schedule_node.h>

enum { MOST_AXES = 6, MOST_SLOPE = 8 };

/* The instances below a loop in common coordinates: axis 0 is the loop itself (time, growing as it runs), the others
 * are the loops inside it, by depth. A statement inside fewer loops lies where the elements that it writes lie. */
typedef struct Axes {
    const Scop        *scop;
    isl_schedule_node *loop;        /* kept by the caller */
    isl_union_map     *dependences; /* between these instances, at one iteration of the loops around */
    int                outer;       /* loops around the loop */
    int                count;
    size_t             statement_count;
    const Statement  **statements;
    isl_aff *(*at)[MOST_AXES]; /* by statement */
} Axes;

/* false if the node is no loop with loops inside, or the statements have no common coordinates. */
bool axes_init(Axes *x, const Scop *s, isl_schedule_node *loop, isl_union_map *dependences);
void axes_free(Axes *x);

/* h = sum of coefficient * axis + shift of the statement. */
typedef struct Hyper {
    int      coefficient[MOST_AXES];
    int64_t *shift; /* by statement */
} Hyper;

/* Finds shifts for which no dependence decreases h; false if there are none. */
bool hyper_shift(const Axes *x, Hyper *h);

/* floor(h / size) for every instance. */
isl_union_pw_aff *hyper_tile(const Axes *x, const Hyper *h, int64_t size);

#endif
