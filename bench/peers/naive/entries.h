/* SPDX-License-Identifier: MIT */
/* The setups of the naive programs, by app. */
#ifndef ENTRIES_H
#define ENTRIES_H

#include "../peer.h"

/* clang-format off */
#define NAIVE_APPS(ROW)                                                                                                \
    ROW(blur) ROW(unsharp) ROW(harris) ROW(stencil_chain) ROW(max_filter) ROW(bilateral_grid) ROW(camera_pipe)         \
    ROW(interpolate) ROW(local_laplacian) ROW(lens_blur) ROW(nl_means) ROW(iir_blur) ROW(hist) ROW(conv_layer)         \
    ROW(mat_mul)
/* clang-format on */

#define DECLARE(app) void naive_##app(PeerCall *call);
NAIVE_APPS(DECLARE)
#undef DECLARE

#endif
