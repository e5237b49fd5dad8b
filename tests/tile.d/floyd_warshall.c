/* SPDX-License-Identifier: MIT */
/* Shortest paths: every loop but the outermost can run in any order. Sizes: width. */
#include "tile_test.h"

static void floyd_warshall(int N, double P[N][N])
{
#pragma scop
    for (int k = 0; k < N; k++)
        for (int i = 0; i < N; i++)
            for (int j = 0; j < N; j++)
                P[i][j] = P[i][j] < P[i][k] + P[k][j] ? P[i][j] : P[i][k] + P[k][j];
#pragma endscop
}

int main(int argc, char **argv)
{
    const int    N     = size_or(argc, argv, 1, 90);
    const size_t count = (size_t)N * (size_t)N;
    double      *P     = malloc(count * 8);
    FILL(P, count);
    const double began = seconds();
    floyd_warshall(N, (double(*)[N])P);
    print_time(began);
    print_hash("P", P, count * 8);
    free(P);
}
