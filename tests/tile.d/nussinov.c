/* SPDX-License-Identifier: MIT */
/* A triangle from its last row upward, each element from those left of it and below. Sizes: width. */
#include "tile_test.h"

static void nussinov(int N, double A[N][N])
{
#pragma scop
    for (int i = N - 1; i >= 0; i--)
        for (int j = i + 1; j < N; j++) {
            A[i][j] = A[i][j] > A[i][j - 1] ? A[i][j] : A[i][j - 1];
            if (i + 1 < N)
                A[i][j] = A[i][j] > A[i + 1][j] ? A[i][j] : A[i + 1][j];
            for (int k = i + 1; k < j; k++)
                A[i][j] = A[i][j] > 0.5 * (A[i][k] + A[k + 1][j]) ? A[i][j] : 0.5 * (A[i][k] + A[k + 1][j]);
        }
#pragma endscop
}

int main(int argc, char **argv)
{
    const int    N     = size_or(argc, argv, 1, 90);
    const size_t count = (size_t)N * (size_t)N;
    double      *A     = malloc(count * 8);
    FILL(A, count);
    const double began = seconds();
    nussinov(N, (double(*)[N])A);
    print_time(began);
    print_hash("A", A, count * 8);
    free(A);
}
