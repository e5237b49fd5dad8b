/* SPDX-License-Identifier: MIT */
/* The corner detector of PolyMage's benchmarks, a loop nest for each stage. Sizes: width, height. */
#include "tile_test.h"

static void harris(int R, int C, float in[R + 2][C + 2], float Ix[R + 2][C + 2], float Iy[R + 2][C + 2],
                   float Ixx[R + 2][C + 2], float Ixy[R + 2][C + 2], float Iyy[R + 2][C + 2], float Sxx[R + 2][C + 2],
                   float Sxy[R + 2][C + 2], float Syy[R + 2][C + 2], float out[R + 2][C + 2])
{
#pragma scop
#pragma kiln temporary(Ix, Iy, Ixx, Ixy, Iyy, Sxx, Sxy, Syy)
    for (int i = 1; i <= R; i++)
        for (int j = 1; j <= C; j++)
            Iy[i][j] = in[i - 1][j - 1] * -0.0833333f + in[i + 1][j - 1] * 0.0833333f + in[i - 1][j] * -0.1666667f +
                       in[i + 1][j] * 0.1666667f + in[i - 1][j + 1] * -0.0833333f + in[i + 1][j + 1] * 0.0833333f;
    for (int i = 1; i <= R; i++)
        for (int j = 1; j <= C; j++)
            Ix[i][j] = in[i - 1][j - 1] * -0.0833333f + in[i - 1][j + 1] * 0.0833333f + in[i][j - 1] * -0.1666667f +
                       in[i][j + 1] * 0.1666667f + in[i + 1][j - 1] * -0.0833333f + in[i + 1][j + 1] * 0.0833333f;
    for (int i = 1; i <= R; i++)
        for (int j = 1; j <= C; j++)
            Iyy[i][j] = Iy[i][j] * Iy[i][j];
    for (int i = 1; i <= R; i++)
        for (int j = 1; j <= C; j++)
            Ixy[i][j] = Ix[i][j] * Iy[i][j];
    for (int i = 1; i <= R; i++)
        for (int j = 1; j <= C; j++)
            Ixx[i][j] = Ix[i][j] * Ix[i][j];
    for (int i = 2; i < R; i++)
        for (int j = 2; j < C; j++)
            Syy[i][j] = Iyy[i - 1][j - 1] + Iyy[i - 1][j] + Iyy[i - 1][j + 1] + Iyy[i][j - 1] + Iyy[i][j] +
                        Iyy[i][j + 1] + Iyy[i + 1][j - 1] + Iyy[i + 1][j] + Iyy[i + 1][j + 1];
    for (int i = 2; i < R; i++)
        for (int j = 2; j < C; j++)
            Sxy[i][j] = Ixy[i - 1][j - 1] + Ixy[i - 1][j] + Ixy[i - 1][j + 1] + Ixy[i][j - 1] + Ixy[i][j] +
                        Ixy[i][j + 1] + Ixy[i + 1][j - 1] + Ixy[i + 1][j] + Ixy[i + 1][j + 1];
    for (int i = 2; i < R; i++)
        for (int j = 2; j < C; j++)
            Sxx[i][j] = Ixx[i - 1][j - 1] + Ixx[i - 1][j] + Ixx[i - 1][j + 1] + Ixx[i][j - 1] + Ixx[i][j] +
                        Ixx[i][j + 1] + Ixx[i + 1][j - 1] + Ixx[i + 1][j] + Ixx[i + 1][j + 1];
    for (int i = 2; i < R; i++)
        for (int j = 2; j < C; j++) {
            float det   = Sxx[i][j] * Syy[i][j] - Sxy[i][j] * Sxy[i][j];
            float trace = Sxx[i][j] + Syy[i][j];
            out[i][j]   = det - 0.04f * trace * trace;
        }
#pragma endscop
}

int main(int argc, char **argv)
{
    const int    R = size_or(argc, argv, 1, 100), C = size_or(argc, argv, 2, 130);
    const size_t count = (size_t)(R + 2) * (size_t)(C + 2);
    float       *a[10];
    for (int k = 0; k < 10; k++) {
        a[k] = calloc(count, 4);
        if (!k)
            FILL(a[0], count);
    }
#define P(k) (float(*)[C + 2]) a[k]
    const double began = seconds();
    harris(R, C, P(0), P(1), P(2), P(3), P(4), P(5), P(6), P(7), P(8), P(9));
    print_time(began);
    print_hash("out", a[9], count * 4);
    for (int k = 0; k < 10; k++)
        free(a[k]);
}
