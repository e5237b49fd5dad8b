/* SPDX-License-Identifier: MIT */
/* A recursive filter along rows, forward and backward, then along columns: scalars carry its state. Sizes: width. */
#include "tile_test.h"

static void recursive(int N, double A[N][N], double B[N][N], double C[N][N])
{
#pragma scop
    for (int i = 0; i < N; i++) {
        double s = 0;
        for (int j = 0; j < N; j++) {
            B[i][j] = 0.5 * A[i][j] + 0.25 * s;
            s       = B[i][j];
        }
    }
    for (int i = 0; i < N; i++) {
        double r = 0;
        for (int j = N - 1; j >= 0; j--) {
            r       = 0.5 * A[i][j] + 0.25 * r;
            B[i][j] = B[i][j] + r;
        }
    }
    for (int j = 0; j < N; j++) {
        double q = 0;
        for (int i = 0; i < N; i++) {
            C[i][j] = 0.5 * B[i][j] + 0.25 * q;
            q       = C[i][j];
        }
    }
#pragma endscop
}

int main(int argc, char **argv)
{
    const int    N     = size_or(argc, argv, 1, 90);
    const size_t count = (size_t)N * (size_t)N;
    double      *A     = malloc(count * 8);
    double      *B     = malloc(count * 8);
    double      *C     = malloc(count * 8);
    FILL(A, count);
    FILL(B, count);
    FILL(C, count);
    const double began = seconds();
    recursive(N, (double(*)[N])A, (double(*)[N])B, (double(*)[N])C);
    print_time(began);
    print_hash("A", A, count * 8);
    print_hash("B", B, count * 8);
    print_hash("C", C, count * 8);
    free(A), free(B), free(C);
}
