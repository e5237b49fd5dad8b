/* SPDX-License-Identifier: MIT */
/* Means, differences, and a triangle that is written to both sides of the diagonal. Sizes: width. */
#include "tile_test.h"

static void covariance(int N, double A[N][N], double C[N][N], double mean[N])
{
#pragma scop
    for (int j = 0; j < N; j++) {
        mean[j] = 0;
        for (int i = 0; i < N; i++)
            mean[j] += A[i][j];
        mean[j] /= N;
    }
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++)
            A[i][j] -= mean[j];
    for (int i = 0; i < N; i++)
        for (int j = i; j < N; j++) {
            C[i][j] = 0;
            for (int k = 0; k < N; k++)
                C[i][j] += A[k][i] * A[k][j];
            C[j][i] = C[i][j];
        }
#pragma endscop
}

int main(int argc, char **argv)
{
    const int    N     = size_or(argc, argv, 1, 90);
    const size_t width = (size_t)N, count = width * width;
    double      *A    = malloc(count * 8);
    double      *C    = malloc(count * 8);
    double      *mean = malloc(width * 8);
    FILL(A, count);
    FILL(C, count);
    FILL(mean, width);
    const double began = seconds();
    covariance(N, (double(*)[N])A, (double(*)[N])C, mean);
    print_time(began);
    print_hash("A", A, count * 8);
    print_hash("C", C, count * 8);
    print_hash("mean", mean, width * 8);
    free(A), free(C), free(mean);
}
