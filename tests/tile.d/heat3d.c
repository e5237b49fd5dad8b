/* SPDX-License-Identifier: MIT */
/* The heat equation in 3 dimensions. Sizes: steps, width. REAL: the type, double if not said. */
#include "tile_test.h"

#ifndef REAL
#define REAL double
#endif

static void heat(int T, int N, REAL A[2][N][N][N])
{
#pragma scop
    for (int t = 0; t < T; t++)
        for (int i = 1; i < N - 1; i++)
            for (int j = 1; j < N - 1; j++)
                for (int k = 1; k < N - 1; k++)
                    A[(t + 1) % 2][i][j][k] =
                        (REAL)0.125 * (A[t % 2][i + 1][j][k] - (REAL)2.0 * A[t % 2][i][j][k] + A[t % 2][i - 1][j][k]) +
                        (REAL)0.125 * (A[t % 2][i][j + 1][k] - (REAL)2.0 * A[t % 2][i][j][k] + A[t % 2][i][j - 1][k]) +
                        (REAL)0.125 * (A[t % 2][i][j][k + 1] - (REAL)2.0 * A[t % 2][i][j][k] + A[t % 2][i][j][k - 1]) +
                        A[t % 2][i][j][k];
#pragma endscop
}

int main(int argc, char **argv)
{
    const int    T = size_or(argc, argv, 1, 10), N = size_or(argc, argv, 2, 40);
    const size_t count = 2 * (size_t)N * (size_t)N * (size_t)N;
    REAL        *A     = malloc(count * sizeof *A);
    FILL(A, count);
    const double began = seconds();
    heat(T, N, (REAL(*)[N][N][N])A);
    print_time(began);
    print_hash("A", A, count * sizeof *A);
    free(A);
}
