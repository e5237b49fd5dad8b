/* SPDX-License-Identifier: MIT */
/* Maxwell's equations in the plane by finite differences in time: four statements, three fields. */
#include <stdio.h>
#include <stdlib.h>

static void fdtd_2d(int tmax, int nx, int ny, double ex[restrict nx][ny], double ey[restrict nx][ny],
                    double hz[restrict nx][ny], const double fict[restrict tmax])
{
#pragma scop
    for (int t = 0; t < tmax; t++) {
        for (int j = 0; j < ny; j++)
            ey[0][j] = fict[t];
        for (int i = 1; i < nx; i++)
            for (int j = 0; j < ny; j++)
                ey[i][j] = ey[i][j] - 0.5 * (hz[i][j] - hz[i - 1][j]);
        for (int i = 0; i < nx; i++)
            for (int j = 1; j < ny; j++)
                ex[i][j] = ex[i][j] - 0.5 * (hz[i][j] - hz[i][j - 1]);
        for (int i = 0; i < nx - 1; i++)
            for (int j = 0; j < ny - 1; j++)
                hz[i][j] = hz[i][j] - 0.7 * (ex[i][j + 1] - ex[i][j] + ey[i + 1][j] - ey[i][j]);
    }
#pragma endscop
}

int main(int argc, char **argv)
{
    const int nx = argc > 1 ? atoi(argv[1]) : 1000, ny = argc > 2 ? atoi(argv[2]) : 1200;
    const int tmax  = argc > 3 ? atoi(argv[3]) : 100;
    double(*ex)[ny] = malloc(sizeof(double[nx][ny])), (*ey)[ny] = malloc(sizeof(double[nx][ny]));
    double(*hz)[ny] = malloc(sizeof(double[nx][ny])), *fict = malloc(sizeof(double[tmax + 1]));
    for (int t = 0; t < tmax; t++)
        fict[t] = t;
    for (int i = 0; i < nx; i++)
        for (int j = 0; j < ny; j++) {
            ex[i][j] = (double)i * (j + 1) / nx;
            ey[i][j] = (double)i * (j + 2) / ny;
            hz[i][j] = (double)i * (j + 3) / nx;
        }
    fdtd_2d(tmax, nx, ny, ex, ey, hz, fict);
    double sum = 0;
    for (int i = 0; i < nx; i++)
        for (int j = 0; j < ny; j++)
            sum += (ex[i][j] + ey[i][j] + hz[i][j]) * ((i + 2 * j) % 7 + 1);
    printf("%.17g\n", sum);
    free(ex);
    free(ey);
    free(hz);
    free(fict);
    return 0;
}
