/* SPDX-License-Identifier: MIT */
/* No stencil: a product of matrices. Sizes: width. */
#include "tile_test.h"

static void matmul(int N, float A[N][N], float B[N][N], float C[N][N])
{
#pragma scop
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) {
            C[i][j] = 0;
            for (int k = 0; k < N; k++)
                C[i][j] += A[i][k] * B[k][j];
        }
#pragma endscop
}

int main(int argc, char **argv)
{
    const int    N     = size_or(argc, argv, 1, 90);
    const size_t count = (size_t)N * (size_t)N;
    float       *A = malloc(count * 4), *B = malloc(count * 4), *C = malloc(count * 4);
    FILL(A, count);
    FILL(B, count);
    FILL(C, count);
    const double began = seconds();
    matmul(N, (float(*)[N])A, (float(*)[N])B, (float(*)[N])C);
    print_time(began);
    print_hash("C", C, count * 4);
    free(A), free(B), free(C);
}
