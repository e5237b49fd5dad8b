/* SPDX-License-Identifier: MIT */
/* Table 6: the three groups of pyramid blending with more than two stages, with three channels. The first one has
 * tiles of 16 x 128: a point of it stands for two columns of the level above. */
#include "stages.h"

static float img1[3][1024][1024], img2[3][1024][1024], low1[3][512][512], low2[3][512][512], mask[2048][2048];
static float collapsed[3][512][512], out[3][1024][1024];

#define EACH_C(y0, y1, x0, x1)                                                                                         \
    for (int c = 0; c < 3; c++)                                                                                        \
    EACH(y0, y1, x0, x1)
#define MASK_ROW(i)    mask[i][x]
#define DX2_COLUMN(i)  Dx_2_mask[y][i]
#define DY2_ROW(i)     Dy_2_mask[i][x]
#define DX3_COLUMN(i)  Dx_3_mask[y][i]
#define IMG1_ROW(i)    img1[c][i][x]
#define IMG2_ROW(i)    img2[c][i][x]
#define DX1_COLUMN(i)  Dx_3_img1[c][y][i]
#define DX2I_COLUMN(i) Dx_3_img2[c][y][i]
#define DY1_ROW(i)     Dy_3_img1[c][i][x]
#define DY2I_ROW(i)    Dy_3_img2[c][i][x]
#define UX1_COLUMN(i)  Ux_2_img1[c][y][i]
#define UX2_COLUMN(i)  Ux_2_img2[c][y][i]
#define RES_ROW(i)     Res_3[c][i][x]
#define COL_COLUMN(i)  Col_2_x[c][y][i]

void level_2(void)
{
    static float Dx_3_img1[3][256][512], Dx_3_img2[3][256][512], Dy_3_img1[3][256][256], Dy_3_img2[3][256][256];
    static float Col_2_x[3][512][256], Dx_3_mask[256][512], Dy_3_mask[256][256], Ux_2_img1[3][512][256];
    static float Ux_2_img2[3][512][256], Dx_2_mask[512][1024], Dy_2_mask[512][512], Uy_2_img1[3][512][512];
    static float Uy_2_img2[3][512][512], Res_3[3][256][256], Res_2[3][512][512];
#pragma scop
#pragma kiln temporary(Dx_3_img1, Dx_3_img2, Dy_3_img1, Dy_3_img2, Col_2_x, Dx_3_mask, Dy_3_mask, Ux_2_img1, Ux_2_img2)
#pragma kiln temporary(Dx_2_mask, Dy_2_mask, Uy_2_img1, Uy_2_img2, Res_3, Res_2)
    EACH(1, 511, 0, 1024)
    Dx_2_mask[y][x] = DOWN(MASK_ROW, y);
    EACH(1, 511, 1, 511)
    Dy_2_mask[y][x] = DOWN(DX2_COLUMN, x);
    EACH(1, 254, 1, 511)
    Dx_3_mask[y][x] = DOWN(DY2_ROW, y);
    EACH(1, 254, 1, 254)
    Dy_3_mask[y][x] = DOWN(DX3_COLUMN, x);
    EACH_C(1, 254, 0, 512)
    Dx_3_img1[c][y][x] = DOWN(IMG1_ROW, y);
    EACH_C(1, 254, 0, 512)
    Dx_3_img2[c][y][x] = DOWN(IMG2_ROW, y);
    EACH_C(1, 254, 1, 254)
    Dy_3_img1[c][y][x] = DOWN(DX1_COLUMN, x);
    EACH_C(1, 254, 1, 254)
    Dy_3_img2[c][y][x] = DOWN(DX2I_COLUMN, x);
    EACH_C(1, 254, 1, 254)
    Res_3[c][y][x] = Dy_3_mask[y][x] * Dy_3_img1[c][y][x] + (1 - Dy_3_mask[y][x]) * Dy_3_img2[c][y][x];
    EACH_C(4, 504, 1, 254)
    Ux_2_img1[c][y][x] = UP(DY1_ROW, y);
    EACH_C(4, 504, 1, 254)
    Ux_2_img2[c][y][x] = UP(DY2I_ROW, y);
    EACH_C(4, 504, 4, 504)
    Uy_2_img1[c][y][x] = UP(UX1_COLUMN, x);
    EACH_C(4, 504, 4, 504)
    Uy_2_img2[c][y][x] = UP(UX2_COLUMN, x);
    EACH_C(4, 504, 4, 504)
    Res_2[c][y][x] = Dy_2_mask[y][x] * (img1[c][y][x] - Uy_2_img1[c][y][x]) +
                     (1 - Dy_2_mask[y][x]) * (img2[c][y][x] - Uy_2_img2[c][y][x]);
    EACH_C(4, 504, 1, 254)
    Col_2_x[c][y][x] = UP(RES_ROW, y);
    EACH_C(4, 504, 4, 504)
    out[c][y][x] = Res_2[c][y][x] + UP(COL_COLUMN, x);
#pragma endscop
}

#define LOW1_ROW(i)  low1[c][i][x]
#define LOW2_ROW(i)  low2[c][i][x]
#define LOW_ROW(i)   collapsed[c][i][x]
#define U1_COLUMN(i) UX1[c][y][i]
#define U2_COLUMN(i) UX2[c][y][i]
#define X_COLUMN(i)  COL_X[c][y][i]
#define ARRAYS                                                                                                         \
    static float UX1[3][1024][512], UX2[3][1024][512], COL_X[3][1024][512], UY1[3][1024][1024], UY2[3][1024][1024],    \
        RES[3][1024][1024];
#define GROUP                                                                                                          \
    EACH_C(2, 1022, 0, 512) UX1[c][y][x]  = UP(LOW1_ROW, y);                                                           \
    EACH_C(2, 1022, 0, 512) UX2[c][y][x]  = UP(LOW2_ROW, y);                                                           \
    EACH_C(2, 1022, 2, 1022) UY1[c][y][x] = UP(U1_COLUMN, x);                                                          \
    EACH_C(2, 1022, 2, 1022) UY2[c][y][x] = UP(U2_COLUMN, x);                                                          \
    EACH_C(2, 1022, 2, 1022)                                                                                           \
    RES[c][y][x] = mask[y][x] * (img1[c][y][x] - UY1[c][y][x]) + (1 - mask[y][x]) * (img2[c][y][x] - UY2[c][y][x]);    \
    EACH_C(2, 1022, 0, 512) COL_X[c][y][x] = UP(LOW_ROW, y);                                                           \
    EACH_C(2, 1022, 2, 1022) out[c][y][x]  = RES[c][y][x] + UP(X_COLUMN, x);

void level_1(void)
{
#define UX1   Ux_1_img1
#define UX2   Ux_1_img2
#define UY1   Uy_1_img1
#define UY2   Uy_1_img2
#define RES   Res_1
#define COL_X Col_1_x
    ARRAYS
#pragma scop
#pragma kiln temporary(Ux_1_img1, Ux_1_img2, Uy_1_img1, Uy_1_img2, Res_1, Col_1_x)
    GROUP
#pragma endscop
#undef UX1
#undef UX2
#undef UY1
#undef UY2
#undef RES
#undef COL_X
}

void level_0(void)
{
#define UX1   Ux_0_img1
#define UX2   Ux_0_img2
#define UY1   Uy_0_img1
#define UY2   Uy_0_img2
#define RES   Res_0
#define COL_X blend_x
    ARRAYS
#pragma scop
#pragma kiln temporary(Ux_0_img1, Ux_0_img2, Uy_0_img1, Uy_0_img2, Res_0, blend_x)
    GROUP
#pragma endscop
}
