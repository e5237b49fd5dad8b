/* SPDX-License-Identifier: MIT */
/* Triangular loops of depth 3, and a diagonal. Sizes: width. */
#include "tile_test.h"

static void cholesky(int N, double A[N][N])
{
#pragma scop
    for (int i = 0; i < N; i++) {
        for (int j = 0; j < i; j++) {
            for (int k = 0; k < j; k++)
                A[i][j] -= A[i][k] * A[j][k];
            A[i][j] /= A[j][j];
        }
        for (int k = 0; k < i; k++)
            A[i][i] -= A[i][k] * A[i][k];
        A[i][i] = A[i][i] * 0.5 + 1;
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
    cholesky(N, (double(*)[N])A);
    print_time(began);
    print_hash("A", A, count * 8);
    free(A);
}
