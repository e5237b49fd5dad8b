/* SPDX-License-Identifier: MIT */
/* Tiled programs for a GPU. */
#ifndef KILN_POLY_TILE_DEVICE_H
#define KILN_POLY_TILE_DEVICE_H

#include "poly/tiled.h"

/* Marks kernels, blocks and threads in place of parallel and vector loops. false: isl failed. */
bool device_map(Tiled *t);

#endif
