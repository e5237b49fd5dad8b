/* SPDX-License-Identifier: MIT */
/* Sweeps along rows and columns in turn, forward and backward. Sizes: steps, width. */
#include "tile_test.h"

static void adi(int T, int N, double X[N][N], double B[N][N], double A[N][N])
{
#pragma scop
    for (int t = 0; t < T; t++) {
        for (int i = 0; i < N; i++)
            for (int j = 1; j < N; j++) {
                X[i][j] = X[i][j] - X[i][j - 1] * A[i][j] / B[i][j - 1];
                B[i][j] = B[i][j] - A[i][j] * A[i][j] / B[i][j - 1];
            }
        for (int i = 0; i < N; i++)
            for (int j = N - 2; j >= 0; j--)
                X[i][j] = (X[i][j] - X[i][j + 1] * A[i][j + 1]) / B[i][j];
        for (int i = 1; i < N; i++)
            for (int j = 0; j < N; j++)
                X[i][j] = X[i][j] - X[i - 1][j] * A[i][j] / B[i - 1][j];
    }
#pragma endscop
}

int main(int argc, char **argv)
{
    const int    T = size_or(argc, argv, 1, 4), N = size_or(argc, argv, 2, 90);
    const size_t count = (size_t)N * (size_t)N;
    double      *X = malloc(count * 8), *A = malloc(count * 8), *B = malloc(count * 8);
    FILL(X, count);
    FILL(A, count);
    FILL(B, count);
    for (size_t i = 0; i < count; i++)
        B[i] += 3;
    const double began = seconds();
    adi(T, N, (double(*)[N])X, (double(*)[N])B, (double(*)[N])A);
    print_time(began);
    print_hash("X", X, count * 8);
    print_hash("B", B, count * 8);
    free(X), free(A), free(B);
}
