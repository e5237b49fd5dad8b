/* SPDX-License-Identifier: MIT */
/* Table 3: the camera pipeline up to the colour matrix. Stages at half the resolution are 512 x 512. */
#include "stages.h"

#define HALF(m) EACH(m, 512 - m, m, 512 - m)

static float in[1024][1024], corrected[3][1024][1024], matrix[3][3];
static float denoised[1024][1024], deinterleaved[4][512][512], r_r[512][512], g_gr[512][512], b_b[512][512];
static float g_gb[512][512], g_r[512][512], g_b[512][512], r_gr[512][512], b_gr[512][512], r_gb[512][512];
static float b_gb[512][512], r_b[512][512], b_r[512][512], redX1[512][1024], redX2[512][1024], greenX1[512][1024];
static float greenX2[512][1024], blueX1[512][1024], blueX2[512][1024], red[1024][1024], green[1024][1024];
static float blue[1024][1024];

#define LINE(out, even, odd) EACH(4, 508, 8, 1016) out[y][x] = x % 2 == 0 ? even[y][x / 2] : odd[y][x / 2];
#define ROWS(out, even, odd) EACH(8, 1016, 8, 1016) out[y][x] = y % 2 == 0 ? even[y / 2][x] : odd[y / 2][x];

void camera(void)
{
#pragma scop
#pragma kiln temporary(denoised, deinterleaved, r_r, g_gr, b_b, g_gb, g_r, g_b, r_gr, b_gr, r_gb, b_gb, r_b, b_r)
#pragma kiln temporary(redX1, redX2, greenX1, greenX2, blueX1, blueX2, red, green, blue)
    EACH(2, 1022, 2, 1022)
    denoised[y][x] = in[y - 2][x] + in[y + 2][x] + in[y][x - 2] + in[y][x + 2] + in[y][x];
    HALF(1)
    {
        deinterleaved[0][y][x] = denoised[2 * y][2 * x];
        deinterleaved[1][y][x] = denoised[2 * y][2 * x + 1];
        deinterleaved[2][y][x] = denoised[2 * y + 1][2 * x];
        deinterleaved[3][y][x] = denoised[2 * y + 1][2 * x + 1];
    }
    HALF(1) g_gr[y][x] = deinterleaved[0][y][x];
    HALF(1) r_r[y][x]  = deinterleaved[1][y][x];
    HALF(1) b_b[y][x]  = deinterleaved[2][y][x];
    HALF(1) g_gb[y][x] = deinterleaved[3][y][x];
    HALF(2) g_r[y][x]  = g_gb[y - 1][x] + g_gb[y][x] + g_gr[y][x + 1] + g_gr[y][x];
    HALF(2) g_b[y][x]  = g_gr[y + 1][x] + g_gr[y][x] + g_gb[y][x - 1] + g_gb[y][x];
    HALF(4) r_gr[y][x] = r_r[y][x - 1] + r_r[y][x] + g_gr[y][x] - g_r[y][x - 1] - g_r[y][x];
    HALF(4) b_gr[y][x] = b_b[y - 1][x] + b_b[y][x] + g_gr[y][x] - g_b[y - 1][x] - g_b[y][x];
    HALF(4) r_gb[y][x] = r_r[y + 1][x] + r_r[y][x] + g_gb[y][x] - g_r[y + 1][x] - g_r[y][x];
    HALF(4) b_gb[y][x] = b_b[y][x + 1] + b_b[y][x] + g_gb[y][x] - g_b[y][x + 1] - g_b[y][x];
    HALF(4) r_b[y][x]  = r_r[y][x] + r_r[y + 1][x - 1] + g_b[y][x] - g_r[y][x] - g_r[y + 1][x - 1];
    HALF(4) b_r[y][x]  = b_b[y][x] + b_b[y - 1][x + 1] + g_r[y][x] - g_b[y][x] - g_b[y - 1][x + 1];
    LINE(redX1, r_gr, r_r)
    LINE(redX2, r_b, r_gb)
    LINE(greenX1, g_gr, g_r)
    LINE(greenX2, g_b, g_gb)
    LINE(blueX1, b_gr, b_r)
    LINE(blueX2, b_b, b_gb)
    ROWS(red, redX1, redX2)
    ROWS(green, greenX1, greenX2)
    ROWS(blue, blueX1, blueX2)
    for (int c = 0; c < 3; c++)
        EACH(8, 1016, 8, 1016)
    corrected[c][y][x] = matrix[c][0] * red[y][x] + matrix[c][1] * green[y][x] + matrix[c][2] * blue[y][x];
#pragma endscop
}
