/* SPDX-License-Identifier: MIT */
/* Table 7: the unsharp mask, with three channels. */
#include "stages.h"

static float in[3][1032][1032], mask[3][1032][1032];
static float blurx[3][1032][1032], blury[3][1032][1032], sharpen[3][1032][1032];

void unsharp(void)
{
#pragma scop
#pragma kiln temporary(blurx, blury, sharpen)
    for (int c = 0; c < 3; c++)
        EACH(0, 1024, 0, 1028)
    blurx[c][y][x] = in[c][y][x] + 4 * in[c][y + 1][x] + 6 * in[c][y + 2][x] + 4 * in[c][y + 3][x] + in[c][y + 4][x];
    for (int c = 0; c < 3; c++)
        EACH(0, 1024, 0, 1024)
    blury[c][y][x] =
        blurx[c][y][x] + 4 * blurx[c][y][x + 1] + 6 * blurx[c][y][x + 2] + 4 * blurx[c][y][x + 3] + blurx[c][y][x + 4];
    for (int c = 0; c < 3; c++)
        EACH(0, 1024, 0, 1024)
    sharpen[c][y][x] = in[c][y + 2][x + 2] * 4 - blury[c][y][x] * 3;
    for (int c = 0; c < 3; c++)
        EACH(0, 1024, 0, 1024)
    mask[c][y][x] = in[c][y + 2][x + 2] - blury[c][y][x] < 0.001f ? in[c][y + 2][x + 2] : sharpen[c][y][x];
#pragma endscop
}
