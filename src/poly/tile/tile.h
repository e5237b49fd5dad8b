/* SPDX-License-Identifier: MIT */
/* From a Scop to a tiled program.
 *
 * One idea: a shape is a set of hyperplanes. A function h of the instances that no dependence decreases can be cut into
 * [o B, o B + B) for any B, and tiles run in the order of o. Two such functions whose sum orders time give tiles that
 * start concurrently (diamonds) or in wavefronts (parallelograms). Overlapped tiles drop the condition: a tile computes
 * for itself what it needs of its neighbours. Whatever the shape, the result is proved (prove.h) before it is returned.
 */
#ifndef KILN_POLY_TILE_TILE_H
#define KILN_POLY_TILE_TILE_H

#include "base/text.h"
#include "poly/tiled.h"

/* NULL after a diagnostic: the shape does not fit, or isl's quota is used up. SHAPE_AUTO always finds one. */
Tiled *tile_new(Scop *s, const TileOptions *options);
void   tile_free(Tiled *t);

/* What was decided and why: schedule trees before and after, sizes, footprints, work done twice. */
void tile_explain(Text *out, const Tiled *t);
/* A picture of a tile and its neighbours, as SVG; false: there are no tiles. */
bool tile_picture(Text *out, const Tiled *t);

const char *tile_shape_name(TileShape shape);

#endif
