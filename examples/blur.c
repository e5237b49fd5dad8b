/* SPDX-License-Identifier: MIT */
/* A pipeline in a C string, run on an array: the 3x3 box blur.
 *
 * Prints the blurred numbers. cc blur.c $(pkg-config --cflags --libs kiln) */
#include <kiln.h>
#include <stdio.h>

static const char text[] = "input  in : u16(x, y)\n"
                           "output out\n"
                           "blurx(x, y) = (in(x-1, y) + in(x, y) + in(x+1, y)) / 3\n"
                           "out(x, y)   = (blurx(x, y-1) + blurx(x, y) + blurx(x, y+1)) / 3\n";

int main(void)
{
    /* A white dot on black, and room for the result: the blur needs one pixel more on each side. */
    uint16_t      dot[7 * 5] = { 0 }, blurred[5 * 3];
    const int32_t dot_size[] = { 7, 5 }, blurred_size[] = { 5, 3 };
    kn_buffer     in  = kn_buffer_dense(dot, KN_U16, 2, dot_size);
    kn_buffer     out = kn_buffer_dense(blurred, KN_U16, 2, blurred_size);
    dot[2 * 7 + 3]    = 900;
    out.dim[0].min = out.dim[1].min = 1; /* blurred[0] is the pixel at (1, 1) */

    kn_context  *cx     = kn_context_new(NULL);
    kn_pipeline *p      = kn_parse(cx, "blur.kiln", text, -1);
    kn_module   *m      = kn_compile(p, NULL);
    kn_arg       args[] = { { "in", &in }, { "out", &out } };

    /* NULL in gives an error out, so it is enough to look here. */
    const kn_status status = kn_run(m, args, 2);
    if (status != KN_OK)
        fputs(kn_error_text(cx), stderr);
    for (int y = 0; y < 3 && status == KN_OK; y++) {
        for (int x = 0; x < 5; x++)
            printf("%4d", blurred[y * 5 + x]);
        putchar('\n');
    }
    kn_context_free(cx);
    return status == KN_OK ? 0 : 1;
}
