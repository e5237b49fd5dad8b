/* SPDX-License-Identifier: MIT */
/* A product of matrices: not a stencil. */
#include <stdio.h>
#include <stdlib.h>

#ifndef N
#define N 500
#endif

static double A[N][N], B[N][N], C[N][N];

int main(void)
{
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) {
            A[i][j] = (i * j + 1) % N / (double)N;
            B[i][j] = (i * (j + 1)) % N / (double)N;
        }

#pragma scop
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) {
            C[i][j] = 0;
            for (int k = 0; k < N; k++)
                C[i][j] += A[i][k] * B[k][j];
        }
#pragma endscop

    double sum = 0;
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++)
            sum += C[i][j] * ((i + 2 * j) % 7 + 1);
    printf("%.17g\n", sum);
    return 0;
}
