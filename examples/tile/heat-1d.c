/* SPDX-License-Identifier: MIT */
/* The heat equation on a line: steps of a 3-point stencil between two copies of the line. */
#include <stdio.h>
#include <stdlib.h>

#ifndef N
#define N 160000
#endif
#ifndef T
#define T 1000
#endif
#ifndef REAL
#define REAL double
#endif

static REAL A[2][N + 2];

int main(void)
{
    for (int i = 0; i < N + 2; i++)
        A[0][i] = A[1][i] = (REAL)(i % 17) / 16;

#pragma scop
    for (int t = 0; t < T; t++)
        for (int i = 1; i < N + 1; i++)
            A[(t + 1) % 2][i] =
                (REAL)0.125 * (A[t % 2][i + 1] - (REAL)2.0 * A[t % 2][i] + A[t % 2][i - 1]) + A[t % 2][i];
#pragma endscop

    double sum = 0;
    for (int i = 0; i < N + 2; i++)
        sum += (double)A[T % 2][i] * (i % 7 + 1);
    printf("%.17g\n", sum);
    return 0;
}
