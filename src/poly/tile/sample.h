/* SPDX-License-Identifier: MIT */
/* Sets looked at with numbers for their parameters. */
#ifndef KILN_POLY_TILE_SAMPLE_H
#define KILN_POLY_TILE_SAMPLE_H

#include "poly/tiled.h"

enum { SAMPLE = 1 << 15 }; /* the value of all parameters: far more than a tile has */

/* The set with parameters fixed at SAMPLE. Takes it. */
isl_set *sample_at(isl_set *set);
/* The least and greatest value of coordinate d; false: there is none. */
bool sample_range(isl_set *set, int d, int64_t range[2]);

#endif
