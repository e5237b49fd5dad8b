/* SPDX-License-Identifier: MIT */
/* The blur of blur.c without text: a program that makes pipelines calls the builder. Here the size of the window is an
 * argument, builder [RADIUS], and so the number of terms in the sums is too.
 *
 * Prints the functions it made, and the box that each needs. cc builder.c $(pkg-config --cflags --libs kiln) */
#include <kiln.h>
#include <stdio.h>
#include <stdlib.h>

static const char *const xy[] = { "x", "y" };

/* name(x, y) = the mean of f over 2*radius + 1 pixels along one dimension. NULL in gives NULL out: no need to check on
 * the way. */
static kn_func *mean(kn_pipeline *p, const char *name, kn_func *f, int dim, int radius)
{
    kn_expr *sum = NULL;
    for (int i = -radius; i <= radius; i++) {
        kn_expr *at[] = { kn_var(p, "x"), kn_var(p, "y") };
        at[dim]       = kn_add(at[dim], kn_const(p, kn_int(i)));
        kn_expr *tap  = kn_call(f, 2, at);
        sum           = i == -radius ? tap : kn_add(sum, tap);
    }
    kn_expr *value = kn_div(sum, kn_const(p, kn_int(2 * radius + 1)));
    return kn_define_func(p, name, 2, xy, 1, &value);
}

int main(int argc, char **argv)
{
    const int    radius = argc > 1 ? atoi(argv[1]) : 1;
    kn_context  *cx     = kn_context_new(NULL);
    kn_pipeline *p      = kn_pipeline_new(cx, "blur");
    kn_func     *in     = kn_input(p, "in", KN_U16, 2, xy);
    kn_output(mean(p, "out", mean(p, "blurx", in, 0, radius), 1, radius));

    /* All errors of the construction are told here. */
    if (kn_pipeline_finish(p) != KN_OK) {
        fputs(kn_error_text(cx), stderr);
        kn_context_free(cx);
        return 1;
    }
    fputs(kn_show(p, KN_VIEW_FUNCS), stdout);

    /* What a 640x480 picture suffices for, and what that needs: no pixels yet. */
    const int32_t    size[]  = { 640, 480 };
    kn_buffer        picture = kn_buffer_dense(NULL, KN_U16, 2, size), result = kn_buffer_dense(NULL, KN_NONE, 0, NULL);
    kn_arg           args[] = { { "in", &picture }, { "out", &result } };
    kn_module       *m      = kn_compile(p, NULL);
    const kn_region *regions;
    int              count;
    if (kn_fit(m, args, 2) != KN_OK || kn_bounds(m, args, 2, &regions, &count) != KN_OK) {
        fputs(kn_error_text(cx), stderr);
        count = 0;
    }
    for (int i = 0; i < count; i++)
        printf("%-5s x: %d..%d, y: %d..%d\n", regions[i].name, (int)regions[i].min[0],
               (int)(regions[i].min[0] + regions[i].extent[0]), (int)regions[i].min[1],
               (int)(regions[i].min[1] + regions[i].extent[1]));
    kn_context_free(cx);
    return count ? 0 : 1;
}
