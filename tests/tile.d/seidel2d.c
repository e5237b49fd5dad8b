/* SPDX-License-Identifier: MIT */
/* Gauss-Seidel: each point reads what its step has already written. Sizes: steps, width. */
#include "tile_test.h"

static void seidel(int T, int N, double A[N][N])
{
#pragma scop
    for (int t = 0; t <= T - 1; t++)
        for (int i = 1; i <= N - 2; i++)
            for (int j = 1; j <= N - 2; j++)
                A[i][j] = (A[i - 1][j - 1] + A[i - 1][j] + A[i - 1][j + 1] + A[i][j - 1] + A[i][j] + A[i][j + 1] +
                           A[i + 1][j - 1] + A[i + 1][j] + A[i + 1][j + 1]) /
                          9.0;
#pragma endscop
}

int main(int argc, char **argv)
{
    const int    T = size_or(argc, argv, 1, 20), N = size_or(argc, argv, 2, 120);
    const size_t count = (size_t)N * (size_t)N;
    double      *A     = malloc(count * 8);
    FILL(A, count);
    const double began = seconds();
    seidel(T, N, (double(*)[N])A);
    print_time(began);
    print_hash("A", A, count * 8);
    free(A);
}
