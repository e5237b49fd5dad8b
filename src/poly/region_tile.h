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
#include "poly/tiled.h"

/* The C text that takes the region's place, in the region's arena; NULL after diagnostics. `explained` may be NULL. */
const char *region_tile(kn_context *cx, const Region *region, const TileOptions *options, Text *explained);

#endif
