/* SPDX-License-Identifier: MIT */
/* Table 5: the way up of multiscale interpolation, with four channels. Each level is the one below it, interpolated. */
#include "stages.h"

static float i_L4[4][66][66], out[4][1024][1024];
static float i_L3[4][130][130], i_L2[4][258][258], i_L1[4][514][514], i_L0[4][1026][1026];
static float Ux_i_L3[4][130][66], Ux_i_L2[4][258][130], Ux_i_L1[4][514][258], Ux_i_L0[4][1026][514];

#define LEVEL(ux, to, from, n)                                                                                         \
    for (int c = 0; c < 4; c++)                                                                                        \
        EACH(0, n, 0, n / 2 + 1)                                                                                       \
    ux[c][y][x] = from[c][y / 2][x] + from[c][(y + 1) / 2][x];                                                         \
    for (int c = 0; c < 4; c++)                                                                                        \
        EACH(0, n, 0, n)                                                                                               \
    to[c][y][x] = ux[c][y][x / 2] + ux[c][y][(x + 1) / 2];

void interpolate(void)
{
#pragma scop
#pragma kiln temporary(i_L3, i_L2, i_L1, i_L0, Ux_i_L3, Ux_i_L2, Ux_i_L1, Ux_i_L0)
    LEVEL(Ux_i_L3, i_L3, i_L4, 129)
    LEVEL(Ux_i_L2, i_L2, i_L3, 257)
    LEVEL(Ux_i_L1, i_L1, i_L2, 513)
    LEVEL(Ux_i_L0, i_L0, i_L1, 1025)
    for (int c = 0; c < 4; c++)
        EACH(0, 1024, 0, 1024)
    out[c][y][x] = i_L0[c][y][x];
#pragma endscop
}
