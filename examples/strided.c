/* SPDX-License-Identifier: MIT */
/* Strides: a part of a larger RGB image, its bytes interleaved, is smoothed where it lies: no copy in, no copy out.
 *
 * Prints the middle row before and after. cc strided.c $(pkg-config --cflags --libs kiln) */
#include <kiln.h>
#include <stdio.h>

enum { WIDTH = 64, HEIGHT = 48 };

static uint8_t image[HEIGHT][WIDTH][3], result[HEIGHT][WIDTH][3];

static const char text[] = "input  in : u8(x, y, c)\n"
                           "output out\n"
                           "out(x, y, c) = u8((u16(in(x-1, y, c)) + 2*u16(in(x, y, c)) + u16(in(x+1, y, c))) / 4)\n";

/* The w by h pixels from (x, y) of an interleaved image: one step along x is 3 bytes, along y a row, along c one byte.
 * The coordinates stay those of the whole image. */
static kn_buffer crop(uint8_t pixels[HEIGHT][WIDTH][3], int x, int y, int w, int h)
{
    const int32_t extent[] = { w, h, 3 };
    kn_buffer     b        = kn_buffer_dense(&pixels[y][x][0], KN_U8, 3, extent);
    b.dim[0].min           = x;
    b.dim[0].stride        = 3;
    b.dim[1].min           = y;
    b.dim[1].stride        = 3 * WIDTH;
    b.dim[2].stride        = 1;
    return b;
}

static void print_row(const char *name, uint8_t row[WIDTH][3])
{
    printf("%s", name);
    for (int x = 18; x < 28; x++)
        printf(" %3d", row[x][1]);
    putchar('\n');
}

int main(void)
{
    for (int y = 0; y < HEIGHT; y++)
        for (int x = 0; x < WIDTH; x++)
            for (int c = 0; c < 3; c++)
                image[y][x][c] = (uint8_t)(x % 4 == 0 ? 200 : 40 * c);

    /* 6x8 pixels are computed; the input is a crop that has one more column on each side. */
    kn_buffer   in = crop(image, 19, 20, 8, 8), out = crop(result, 20, 20, 6, 8);
    kn_context *cx     = kn_context_new(NULL);
    kn_module  *m      = kn_compile(kn_parse(cx, "smooth.kiln", text, -1), NULL);
    kn_arg      args[] = { { "in", &in }, { "out", &out } };
    const bool  ok     = kn_run(m, args, 2) == KN_OK;
    if (!ok)
        fputs(kn_error_text(cx), stderr);
    print_row("before", image[24]);
    print_row("after ", result[24]);
    kn_context_free(cx);
    return ok ? 0 : 1;
}
