/* SPDX-License-Identifier: MIT */
/* Table 4: the groups of the local Laplacian filter with more than two stages, with eight levels of intensity. Which of
 * the eight a point takes depends on data. */
#include "stages.h"

static int   lev[1024][1024];
static float finer[8][1024][1024], coarser[8][512][512], below[512][512], result[1024][1024];

#define ROW(i)        coarser[k][i][x]
#define COLUMN(i)     UX[k][y][i]
#define OUT_ROW(i)    below[i][x]
#define OUT_COLUMN(i) UX_OUT[y][i]
#define TWO(i)        outGP_L4[y / 2][i]
#define ARRAYS        static float UX[8][1024][512], U[8][1024][1024], UX_OUT[1024][512], OUT_LP[1024][1024];
#define GROUP                                                                                                          \
    for (int k = 0; k < 8; k++)                                                                                        \
        EACH(2, 1022, 0, 512)                                                                                          \
    UX[k][y][x] = UP(ROW, y);                                                                                          \
    for (int k = 0; k < 8; k++)                                                                                        \
        EACH(2, 1022, 2, 1022)                                                                                         \
    U[k][y][x] = UP(COLUMN, x);                                                                                        \
    EACH(2, 1022, 0, 512)                                                                                              \
    UX_OUT[y][x] = UP(OUT_ROW, y);                                                                                     \
    EACH(2, 1022, 2, 1022)                                                                                             \
    OUT_LP[y][x] = finer[lev[y][x]][y][x] - U[lev[y][x]][y][x];                                                        \
    EACH(2, 1022, 2, 1022)                                                                                             \
    result[y][x] = OUT_LP[y][x] + UP(OUT_COLUMN, x);

void level_3(void)
{
    static float U_IP_L4[8][512][100], outLP_L4[512][100], outGP_L4[512][100];
    static float Ux_IP_L3[8][1024][100], U_IP_L3[8][1024][200], outLP_L3[1024][200];
#define UX Ux_IP_L3
#pragma scop
#pragma kiln temporary(U_IP_L4, outLP_L4, outGP_L4, Ux_IP_L3, U_IP_L3, outLP_L3)
    for (int k = 0; k < 8; k++)
        EACH(0, 512, 0, 100)
    U_IP_L4[k][y][x] = coarser[k][y / 2][x / 2];
    EACH(0, 512, 0, 100)
    outLP_L4[y][x] = finer[lev[y][x]][y][x] - U_IP_L4[lev[y][x]][y][x];
    EACH(0, 512, 0, 100)
    outGP_L4[y][x] = outLP_L4[y][x] + below[y / 2][x / 2];
    for (int k = 0; k < 8; k++)
        EACH(2, 1022, 0, 100)
    Ux_IP_L3[k][y][x] = UP(ROW, y);
    for (int k = 0; k < 8; k++)
        EACH(2, 1022, 2, 198)
    U_IP_L3[k][y][x] = UP(COLUMN, x);
    EACH(2, 1022, 2, 198)
    outLP_L3[y][x] = finer[lev[y][x]][y][x] - U_IP_L3[lev[y][x]][y][x];
    EACH(2, 1022, 2, 198)
    result[y][x] = outLP_L3[y][x] + UP(TWO, x) + outGP_L4[y / 2 - 1][x / 2] + outGP_L4[y / 2 + 1][x / 2];
#pragma endscop
#undef UX
}

void level_2(void)
{
#define UX     Ux_IP_L2
#define U      U_IP_L2
#define UX_OUT Ux_outGP_L2
#define OUT_LP outLP_L2
    ARRAYS
#pragma scop
#pragma kiln temporary(Ux_IP_L2, U_IP_L2, Ux_outGP_L2, outLP_L2)
    GROUP
#pragma endscop
#undef UX
#undef U
#undef UX_OUT
#undef OUT_LP
}

void level_1(void)
{
#define UX     Ux_IP_L1
#define U      U_IP_L1
#define UX_OUT Ux_outGP_L1
#define OUT_LP outLP_L1
    ARRAYS
#pragma scop
#pragma kiln temporary(Ux_IP_L1, U_IP_L1, Ux_outGP_L1, outLP_L1)
    GROUP
#pragma endscop
#undef UX
#undef U
#undef UX_OUT
#undef OUT_LP
}

void level_0(void)
{
#define UX     Ux_IP_L0
#define U      U_IP_L0
#define UX_OUT Ux_result_ref_gray
#define OUT_LP outLP_L0
    ARRAYS
#pragma scop
#pragma kiln temporary(Ux_IP_L0, U_IP_L0, Ux_result_ref_gray, outLP_L0)
    GROUP
#pragma endscop
}
