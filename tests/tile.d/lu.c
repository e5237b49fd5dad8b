/* SPDX-License-Identifier: MIT */
/* No stencil, triangular loops: LU factors in place. Sizes: width. */
#include "tile_test.h"

static void lu(int N, double A[N][N])
{
#pragma scop
    for (int k = 0; k < N; k++) {
        for (int j = k + 1; j < N; j++)
            A[k][j] = A[k][j] / A[k][k];
        for (int i = k + 1; i < N; i++)
            for (int j = k + 1; j < N; j++)
                A[i][j] -= A[i][k] * A[k][j];
    }
#pragma endscop
}

int main(int argc, char **argv)
{
    const int    N     = size_or(argc, argv, 1, 90);
    const size_t count = (size_t)N * (size_t)N;
    double      *A     = malloc(count * 8);
    FILL(A, count);
    for (int i = 0; i < N; i++)
        A[(size_t)i * (size_t)N + (size_t)i] += N;
    const double began = seconds();
    lu(N, (double(*)[N])A);
    print_time(began);
    print_hash("A", A, count * 8);
    free(A);
}
