/* SPDX-License-Identifier: MIT */
/* Trapezoids over time: the tiles of one loop that carries dependences. */
#ifndef KILN_POLY_TILE_TRAPEZOID_H
#define KILN_POLY_TILE_TRAPEZOID_H

#include "poly/tile/hyper.h"
#include "poly/tile/overlap.h"

/* Rows are what time is cut into: the stage s of `stages` that one iteration t of the loop runs is row
 * u = stages t + s. An instance at x along a tiled axis is bounded by
 *     to the right    stages x + a u + e <= the greatest value of that in the tile's last rows,
 *     to the left    -stages x + b u + f <= the same of that,
 * with the slopes a and b of hyperplanes that no flow decreases. */
typedef struct Trapezoid {
    Tiled   *t;
    int      number; /* of the loop in the region */
    Axes     x;
    int      stages;
    int     *stage; /* by statement of x */
    isl_aff *first; /* row, of the parameters */
    isl_aff *last;
    int64_t  rows; /* of a tile */
    int64_t  rest; /* rows at the end that are never tiled, at least */
    int      dims; /* tiled axes of space */
    int      axis[MOST_AXES];
    int64_t  size[MOST_AXES];
    Hyper    right[MOST_AXES], left[MOST_AXES]; /* by tiled axis */
    isl_map *(*own);  /* by statement: { [o…] -> S[i…] }, each instance of one tile alone */
    isl_map *(*tile); /* the same with what the tile needs */
    isl_map *(*live); /* of `own`, what is read after the tile */
} Trapezoid;

/* Axes of space that are tiled, and how many (size.c). */
int size_trapezoid_axes(const Tiled *t, const Axes *x, int axis[]);
/* Sets z->rows and z->size: as the options say, or by the model. */
void size_trapezoid(Trapezoid *z);

/* By statement of the region: { [o…] -> S[i…] } of rows before the tile (-1) or after it (1). */
isl_map *trapezoid_beyond(const Trapezoid *z, const Statement *st, int side);

/* Scratch for all arrays that the loop writes, and copies (trapezoid_copy.c). NULL, or why there is none. */
const char       *trapezoid_scratch(const Trapezoid *z, Made *m);
extern const char trapezoid_race[]; /* the reason, where a tile would hand out what its neighbours take in */
/* Sets z->live. */
void trapezoid_live(Trapezoid *z);

#endif
