/* SPDX-License-Identifier: MIT */
/* The pipeline of three stages of Zhao and Cohen 2019, figure 3. Sizes: width. */
#include "tile_test.h"

static double f(int i)
{
    return i * 0.5 + i % 7;
}

static void stages(int N, double *restrict A, double *restrict B, double *restrict C)
{
#pragma scop
#pragma kiln temporary(A, B)
    for (int i = 1; i < N; i++)
        A[i] = f(i);
    for (int i = 2; i < N - 1; i++)
        B[i] = 0.25 * (A[i - 1] + 2 * A[i] + A[i + 1]);
    for (int i = 4; i < N - 3; i++)
        C[i] = 0.25 * (B[i - 2] + 2 * B[i] + B[i + 2]);
#pragma endscop
}

int main(int argc, char **argv)
{
    const int    N = size_or(argc, argv, 1, 1000);
    double      *A = calloc((size_t)N + 8, 8), *B = calloc((size_t)N + 8, 8), *C = calloc((size_t)N + 8, 8);
    const double began = seconds();
    stages(N, A, B, C);
    print_time(began);
    print_hash("C", C, ((size_t)N + 8) * 8);
    free(A), free(B), free(C);
}
