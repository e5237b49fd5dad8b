/* SPDX-License-Identifier: MIT */
/* Finite differences in the time domain, in two dimensions: three fields. Sizes: steps, width, height. */
#include "tile_test.h"

static void fdtd(int T, int NX, int NY, double ex[NX][NY], double ey[NX][NY], double hz[NX][NY], const double *fict)
{
#pragma scop
    for (int t = 0; t < T; t++) {
        for (int j = 0; j < NY; j++)
            ey[0][j] = fict[t];
        for (int i = 1; i < NX; i++)
            for (int j = 0; j < NY; j++)
                ey[i][j] = ey[i][j] - 0.5 * (hz[i][j] - hz[i - 1][j]);
        for (int i = 0; i < NX; i++)
            for (int j = 1; j < NY; j++)
                ex[i][j] = ex[i][j] - 0.5 * (hz[i][j] - hz[i][j - 1]);
        for (int i = 0; i < NX - 1; i++)
            for (int j = 0; j < NY - 1; j++)
                hz[i][j] = hz[i][j] - 0.7 * (ex[i][j + 1] - ex[i][j] + ey[i + 1][j] - ey[i][j]);
    }
#pragma endscop
}

int main(int argc, char **argv)
{
    const int    T = size_or(argc, argv, 1, 20), NX = size_or(argc, argv, 2, 90), NY = size_or(argc, argv, 3, 110);
    const size_t count = (size_t)NX * (size_t)NY;
    double      *ex = malloc(count * 8), *ey = malloc(count * 8), *hz = malloc(count * 8);
    double      *fict = malloc(((size_t)T + 1) * 8);
    FILL(ex, count);
    FILL(ey, count);
    FILL(hz, count);
    FILL(fict, T + 1);
    const double began = seconds();
    fdtd(T, NX, NY, (double(*)[NY])ex, (double(*)[NY])ey, (double(*)[NY])hz, fict);
    print_time(began);
    print_hash("ex", ex, count * 8);
    print_hash("ey", ey, count * 8);
    print_hash("hz", hz, count * 8);
    free(ex), free(ey), free(hz), free(fict);
}
