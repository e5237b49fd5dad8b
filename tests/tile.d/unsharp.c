/* SPDX-License-Identifier: MIT */
/* Unsharp mask of PolyMage's benchmarks: four stages on three channels. Sizes: height, width. */
#include "tile_test.h"

static void unsharp(int R, int C, float in[3][R + 4][C + 4], float bx[3][R + 4][C + 4], float by[3][R + 4][C + 4],
                    float sh[3][R + 4][C + 4], float out[3][R + 4][C + 4])
{
#pragma scop
#pragma kiln temporary(bx, by, sh)
    for (int c = 0; c < 3; c++)
        for (int i = 2; i < R + 2; i++)
            for (int j = 0; j < C + 4; j++)
                bx[c][i][j] = in[c][i - 2][j] * 0.0625f + in[c][i - 1][j] * 0.25f + in[c][i][j] * 0.375f +
                              in[c][i + 1][j] * 0.25f + in[c][i + 2][j] * 0.0625f;
    for (int c = 0; c < 3; c++)
        for (int i = 2; i < R + 2; i++)
            for (int j = 2; j < C + 2; j++)
                by[c][i][j] = bx[c][i][j - 2] * 0.0625f + bx[c][i][j - 1] * 0.25f + bx[c][i][j] * 0.375f +
                              bx[c][i][j + 1] * 0.25f + bx[c][i][j + 2] * 0.0625f;
    for (int c = 0; c < 3; c++)
        for (int i = 2; i < R + 2; i++)
            for (int j = 2; j < C + 2; j++)
                sh[c][i][j] = in[c][i][j] * 4 + by[c][i][j] * -3;
    for (int c = 0; c < 3; c++)
        for (int i = 2; i < R + 2; i++)
            for (int j = 2; j < C + 2; j++)
                out[c][i][j] = in[c][i][j] - by[c][i][j] < 0.001f && by[c][i][j] - in[c][i][j] < 0.001f ? in[c][i][j]
                                                                                                        : sh[c][i][j];
#pragma endscop
}

int main(int argc, char **argv)
{
    const int    R = size_or(argc, argv, 1, 60), C = size_or(argc, argv, 2, 700);
    const size_t count = 3 * (size_t)(R + 4) * (size_t)(C + 4);
    float       *a[5];
    for (int k = 0; k < 5; k++)
        a[k] = calloc(count, 4);
    FILL(a[0], count);
#define P(k) (float(*)[R + 4][C + 4]) a[k]
    const double began = seconds();
    unsharp(R, C, P(0), P(1), P(2), P(3), P(4));
    print_time(began);
    print_hash("out", a[4], count * 4);
    for (int k = 0; k < 5; k++)
        free(a[k]);
}
