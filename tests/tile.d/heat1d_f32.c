/* SPDX-License-Identifier: MIT */
/* The heat equation in 1 dimension. Sizes: steps, width. */
#include "tile_test.h"

static void heat(int T, int N, float A[2][N])
{
#pragma scop
    for (int t = 0; t < T; t++)
        for (int i = 1; i < N - 1; i++)
            A[(t + 1) % 2][i] = 0.25f * (A[t % 2][i + 1] - 2.0f * A[t % 2][i] + A[t % 2][i - 1]) + A[t % 2][i];
#pragma endscop
}

int main(int argc, char **argv)
{
    const int    T = size_or(argc, argv, 1, 20), N = size_or(argc, argv, 2, 5000);
    const size_t count = 2 * (size_t)N;
    float       *A     = malloc(count * sizeof *A);
    FILL(A, count);
    const double began = seconds();
    heat(T, N, (float(*)[N])A);
    print_time(began);
    print_hash("A", A, count * sizeof *A);
    free(A);
}
