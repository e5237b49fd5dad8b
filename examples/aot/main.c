/* SPDX-License-Identifier: MIT */
/* A pipeline compiled ahead of time, called like any C function. The program needs nothing of Kiln but what `kiln
 * build` has made:
 *
 *     kiln build soften.kiln -o soften
 *     cc main.c soften.a -lm -lpthread -o main
 */
#include "soften.h"
#include <stdio.h>

enum { WIDTH = 8, HEIGHT = 3 };

int main(void)
{
    uint8_t       picture[HEIGHT][WIDTH] = { { 0 } }, softer[HEIGHT][WIDTH];
    const int32_t size[]                 = { WIDTH, HEIGHT };
    kn_buffer     in                     = kn_buffer_dense(picture, KN_U8, 2, size);
    kn_buffer     out                    = kn_buffer_dense(softer, KN_U8, 2, size);
    picture[1][3]                        = 180;

    if (soften(&in, 0.5f, &out) != KN_OK) {
        fprintf(stderr, "%s\n", kn_rt_last_error());
        return 1;
    }
    for (int y = 0; y < HEIGHT; y++)
        for (int x = 0; x < WIDTH; x++)
            printf("%4d%s", softer[y][x], x == WIDTH - 1 ? "\n" : "");

    /* What is wrong with a call is said in words, before anything is written. */
    if (soften(&in, 2.0f, &out) == KN_OK)
        return 1;
    printf("%s\n", kn_rt_last_error());
    in.type = KN_U16;
    if (soften(&in, 0.5f, &out) != KN_ERROR_ARGUMENT)
        return 1;
    printf("%s\n", kn_rt_last_error());
    return 0;
}
