/* SPDX-License-Identifier: MIT */
/* One region from end to end.
 *
 * One idea: isl's objects belong to the functions that make them, and every function reaches its end. isl's errors are
 * values: once its quota is used up, every call of isl gives NULL, and NULL in gives NULL out. Running out of memory or
 * of quota elsewhere would leave by longjmp and lose them; here it is put off (context_hold): isl is stopped instead,
 * and the bail-out follows when all objects are freed. */
#ifndef KILN_POLY_REGION_TILE_H
#define KILN_POLY_REGION_TILE_H

#include "base/text.h"
#include "poly/poly.h"
#include "poly/tiled.h"

/* Where the texts of a region go besides its place. */
typedef struct Outputs {
    Text         *explained; /* NULL: nobody asked */
    Text         *picture;   /* of the first region with tiles; NULL likewise */
    Text         *cuda;      /* NULL: for processors */
    PolyPrograms *programs;  /* for Kiln's own backend, and where they live; NULL: as C text */
    Arena        *arena;
    int           region; /* in the file, from 0 */
} Outputs;

/* The C text that takes the region's place, in the region's arena; NULL after diagnostics. */
const char *region_tile(kn_context *cx, const Region *region, const TileOptions *options, const Outputs *out);

#endif
