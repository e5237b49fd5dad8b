/* SPDX-License-Identifier: MIT */
/* Jacobi's iteration with a copy back: two statements in a step. Sizes: steps, width. */
#include "tile_test.h"

static void jacobi(int T, int N, double A[N][N], double B[N][N])
{
#pragma scop
    for (int t = 0; t < T; t++) {
        for (int i = 1; i < N - 1; i++)
            for (int j = 1; j < N - 1; j++)
                B[i][j] = 0.2 * (A[i][j] + A[i][j - 1] + A[i][1 + j] + A[1 + i][j] + A[i - 1][j]);
        for (int i = 1; i < N - 1; i++)
            for (int j = 1; j < N - 1; j++)
                A[i][j] = 0.2 * (B[i][j] + B[i][j - 1] + B[i][1 + j] + B[1 + i][j] + B[i - 1][j]);
    }
#pragma endscop
}

int main(int argc, char **argv)
{
    const int    T = size_or(argc, argv, 1, 20), N = size_or(argc, argv, 2, 120);
    const size_t count = (size_t)N * (size_t)N;
    double      *A = malloc(count * 8), *B = malloc(count * 8);
    FILL(A, count);
    FILL(B, count);
    const double began = seconds();
    jacobi(T, N, (double(*)[N])A, (double(*)[N])B);
    print_time(began);
    print_hash("A", A, count * 8);
    print_hash("B", B, count * 8);
    free(A), free(B);
}
