/* SPDX-License-Identifier: MIT */
/* Loops over a stage, and the steps between levels of a pyramid: which elements each reads is what counts here. */
#define EACH(y0, y1, x0, x1)                                                                                           \
    for (int y = y0; y < y1; y++)                                                                                      \
        for (int x = x0; x < x1; x++)
/* Twice as many rows, or columns: an element is made of the three nearest ones. */
#define UP(at, i) (at(i / 2) * 3 + at(i / 2 - 1) + at(i / 2 + 1))
/* Half as many: of the four nearest ones. */
#define DOWN(at, i) (at(2 * i - 1) + 3 * at(2 * i) + 3 * at(2 * i + 1) + at(2 * i + 2))
