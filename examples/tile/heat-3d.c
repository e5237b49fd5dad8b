/* SPDX-License-Identifier: MIT */
/* The heat equation in space: steps of a 7-point stencil between two copies of the grid. */
#include <stdio.h>
#include <stdlib.h>

#ifndef N
#define N 150
#endif
#ifndef T
#define T 100
#endif
#ifndef REAL
#define REAL double
#endif

static REAL A[2][N + 2][N + 2][N + 2];

int main(void)
{
    for (int i = 0; i < N + 2; i++)
        for (int j = 0; j < N + 2; j++)
            for (int k = 0; k < N + 2; k++)
                A[0][i][j][k] = A[1][i][j][k] = (REAL)((3 * i + 5 * j + 7 * k) % 31) / 32;

#pragma scop
    for (int t = 0; t < T; t++)
        for (int i = 1; i < N + 1; i++)
            for (int j = 1; j < N + 1; j++)
                for (int k = 1; k < N + 1; k++)
                    A[(t + 1) % 2][i][j][k] =
                        (REAL)0.125 * (A[t % 2][i + 1][j][k] - (REAL)2.0 * A[t % 2][i][j][k] + A[t % 2][i - 1][j][k]) +
                        (REAL)0.125 * (A[t % 2][i][j + 1][k] - (REAL)2.0 * A[t % 2][i][j][k] + A[t % 2][i][j - 1][k]) +
                        (REAL)0.125 * (A[t % 2][i][j][k - 1] - (REAL)2.0 * A[t % 2][i][j][k] + A[t % 2][i][j][k + 1]) +
                        A[t % 2][i][j][k];
#pragma endscop

    double sum = 0;
    for (int i = 0; i < N + 2; i++)
        for (int j = 0; j < N + 2; j++)
            for (int k = 0; k < N + 2; k++)
                sum += (double)A[T % 2][i][j][k] * ((i + 2 * j + 3 * k) % 7 + 1);
    printf("%.17g\n", sum);
    return 0;
}
