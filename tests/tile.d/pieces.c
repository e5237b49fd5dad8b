/* SPDX-License-Identifier: MIT */
/* A loop over time that writes an array in two pieces, with elements between them that it leaves as they are. Sizes:
 * steps, width (at least 4). */
#include "tile_test.h"

static void pieces(int T, int N, double A[N])
{
#pragma scop
    for (int t = 0; t < T; t++) {
        for (int i = 0; i < N - 3; i++)
            A[i] = 0.75 * A[i] + 0.125;
        A[N - 1] = 0.5 * A[N - 1];
    }
#pragma endscop
}

int main(int argc, char **argv)
{
    const int T = size_or(argc, argv, 1, 20), N = size_or(argc, argv, 2, 5000);
    double   *A = malloc((size_t)N * 8);
    FILL(A, (size_t)N);
    const double began = seconds();
    pieces(T, N, A);
    print_time(began);
    print_hash("A", A, (size_t)N * 8);
    free(A);
}
