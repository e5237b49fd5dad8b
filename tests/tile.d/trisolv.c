/* SPDX-License-Identifier: MIT */
/* A triangular system, solved forward. Sizes: width. */
#include "tile_test.h"

static void trisolv(int N, double L[N][N], double b[N], double x[N])
{
#pragma scop
    for (int i = 0; i < N; i++) {
        x[i] = b[i];
        for (int j = 0; j < i; j++)
            x[i] -= L[i][j] * x[j];
        x[i] = x[i] / L[i][i];
    }
#pragma endscop
}

int main(int argc, char **argv)
{
    const int    N     = size_or(argc, argv, 1, 90);
    const size_t width = (size_t)N, count = width * width;
    double      *L = malloc(count * 8);
    double      *b = malloc(width * 8);
    double      *x = malloc(width * 8);
    FILL(L, count);
    FILL(b, width);
    FILL(x, width);
    for (size_t i = 0; i < count; i++)
        L[i] += 1;
    const double began = seconds();
    trisolv(N, (double(*)[N])L, b, x);
    print_time(began);
    print_hash("L", L, count * 8);
    print_hash("b", b, width * 8);
    print_hash("x", x, width * 8);
    free(L), free(b), free(x);
}
