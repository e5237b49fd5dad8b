/* SPDX-License-Identifier: MIT */
/* The heat equation on arrays whose extents are numbers, in whole or in part. Sizes: steps, extent along the first axis
 * (at most 40). */
#include "tile_test.h"

enum { MOST = 40, ROWS = 19 };

static double small[2][5][6][7];
static float  large[2][MOST][ROWS][2 * 34 + 2];

static void numbers(int T)
{
#pragma scop
    for (int t = 0; t < T; t++)
        for (int i = 1; i < 4; i++)
            for (int j = 1; j < 5; j++)
                for (int k = 1; k < 6; k++)
                    small[(t + 1) % 2][i][j][k] = 0.5 * (small[t % 2][i + 1][j][k] + small[t % 2][i - 1][j][k]) +
                                                  0.25 * small[t % 2][i][j + 1][k] - 0.25 * small[t % 2][i][j - 1][k] +
                                                  0.125 * small[t % 2][i][j][k + 1] - small[t % 2][i][j][k - 1];
#pragma endscop
}

static void mixed(int T, int N, double weight[N][3])
{
#pragma scop
    for (int t = 0; t < T; t++)
        for (int i = 1; i < N - 1; i++)
            for (int j = 1; j < ROWS - 1; j++)
                for (int k = 1; k < 69; k++)
                    large[(t + 1) % 2][i][j][k] = 0.25f * (large[t % 2][i + 1][j][k] + large[t % 2][i - 1][j][k]) +
                                                  0.5f * large[t % 2][i][j - 1][k + 1] + (float)weight[i][t % 3];
#pragma endscop
}

int main(int argc, char **argv)
{
    const int T = size_or(argc, argv, 1, 10), N = size_or(argc, argv, 2, MOST);
    double   *weight = malloc((size_t)N * 3 * sizeof *weight);
    FILL((double *)small, sizeof small / sizeof(double));
    FILL((float *)large, sizeof large / sizeof(float));
    FILL(weight, (size_t)N * 3);
    const double began = seconds();
    numbers(T);
    mixed(T, N, (double(*)[3])weight);
    print_time(began);
    print_hash("small", small, sizeof small);
    print_hash("large", large, sizeof large);
    free(weight);
}
