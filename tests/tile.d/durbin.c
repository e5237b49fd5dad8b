/* SPDX-License-Identifier: MIT */
/* A recurrence that reads what it has made in the opposite direction. Sizes: width. */
#include "tile_test.h"

static void durbin(int N, double r[N], double y[N], double z[N])
{
#pragma scop
    for (int k = 1; k < N; k++) {
        double s = 0;
        for (int i = 0; i < k; i++)
            s += 0.125 * r[k - i - 1] * y[i];
        for (int i = 0; i < k; i++)
            z[i] = y[i] + 0.5 * s * y[k - i - 1];
        for (int i = 0; i < k; i++)
            y[i] = z[i];
        y[k] = 0.25 * s;
    }
#pragma endscop
}

int main(int argc, char **argv)
{
    const int    N     = size_or(argc, argv, 1, 90);
    const size_t width = (size_t)N;
    double      *r     = malloc(width * 8);
    double      *y     = malloc(width * 8);
    double      *z     = malloc(width * 8);
    FILL(r, width);
    FILL(y, width);
    FILL(z, width);
    const double began = seconds();
    durbin(N, r, y, z);
    print_time(began);
    print_hash("r", r, width * 8);
    print_hash("y", y, width * 8);
    print_hash("z", z, width * 8);
    free(r), free(y), free(z);
}
