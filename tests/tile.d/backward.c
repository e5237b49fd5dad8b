/* SPDX-License-Identifier: MIT */
/* Loops over time that count down: heat from the last step to the first, and a triangular update. Sizes: steps, width.
 */
#include "tile_test.h"

static void heat(int T, int N, double A[2][N])
{
#pragma scop
    for (int t = T - 1; t >= 0; t--)
        for (int i = 1; i < N - 1; i++)
            A[t % 2][i] = 0.25 * (A[(t + 1) % 2][i + 1] + 2.0 * A[(t + 1) % 2][i] + A[(t + 1) % 2][i - 1]);
#pragma endscop
}

static void update(int T, int N, double B[T][N], double C[T][N])
{
#pragma scop
    for (int i = T - 1; i >= 0; i--)
        for (int j = 0; j < N; j++) {
            for (int k = 0; k < i; k++)
                B[k][j] += 0.25 * C[i][j] * C[k][j];
            B[i][j] = 0.5 * B[i][j] + C[i][j];
        }
#pragma endscop
}

int main(int argc, char **argv)
{
    const int    T = size_or(argc, argv, 1, 20), N = size_or(argc, argv, 2, 500);
    const size_t count = 2 * (size_t)N, wide = (size_t)T * (size_t)N;
    double      *A = malloc(count * 8), *B = malloc((wide + 1) * 8), *C = malloc((wide + 1) * 8);
    FILL(A, count);
    FILL(B, wide);
    FILL(C, wide);
    const double began = seconds();
    heat(T, N, (double(*)[N])A);
    update(T, N, (double(*)[N])B, (double(*)[N])C);
    print_time(began);
    print_hash("A", A, count * 8);
    print_hash("B", B, wide * 8);
    free(A), free(B), free(C);
}
