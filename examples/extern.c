/* SPDX-License-Identifier: MIT */
/* C inside a pipeline: a function of numbers, called at every pixel, and a stage that fills a whole box at once.
 *
 * Prints the result. cc extern.c $(pkg-config --cflags --libs kiln) */
#include <kiln.h>
#include <stdio.h>

static const char text[] = "input  in : i32(x)\n"
                           "param  reach : i32 = 2\n"
                           "output out\n"
                           "extern i32 collatz(i32)\n"
                           "steps(x) = collatz(in(x))\n"
                           "extern stage window_max(steps, reach) : i32(x)\n"
                           "out(x)   = window_max(x) * 10\n";

/* extern i32 collatz(i32): how many steps of n/2 or 3n+1 lead to 1. Pure: its result depends on its argument only. */
static int32_t collatz(int32_t n)
{
    int32_t steps = 0;
    for (int64_t v = n; v > 1; steps++)
        v = v % 2 ? 3 * v + 1 : v / 2;
    return steps;
}

/* extern stage window_max: the largest of the `reach` values from x on. Asked first which box of its input it needs for
 * a box of its output, then to compute that box. Buffers come with any strides. */
static int window_max(bool query, kn_buffer *inputs, int input_count, const kn_scalar *values, int value_count,
                      kn_buffer *output, void *user)
{
    const int32_t reach = (int32_t)values[0].as.i;
    kn_dim       *from = &inputs[0].dim[0], *to = &output->dim[0];
    (void)input_count, (void)value_count, (void)user;
    if (query) {
        from->min    = to->min;
        from->extent = to->extent + reach - 1;
        return 0;
    }
    for (int32_t x = to->min; x < to->min + to->extent; x++) {
        int32_t best = INT32_MIN;
        for (int32_t i = x; i < x + reach; i++) {
            const int32_t v = ((const int32_t *)inputs[0].data)[(i - from->min) * from->stride];
            best            = v > best ? v : best;
        }
        ((int32_t *)output->data)[(x - to->min) * to->stride] = best;
    }
    return 0;
}

int main(void)
{
    int32_t       numbers[10], result[8];
    const int32_t ten[] = { 10 }, eight[] = { 8 };
    kn_buffer     in = kn_buffer_dense(numbers, KN_I32, 1, ten), out = kn_buffer_dense(result, KN_I32, 1, eight);
    for (int32_t i = 0; i < 10; i++)
        numbers[i] = i + 1;

    kn_context *cx = kn_context_new(NULL);
    kn_extern_function(cx, "collatz", (void (*)(void))collatz);
    kn_extern_stage(cx, "window_max", window_max, NULL);
    kn_module *m      = kn_compile(kn_parse(cx, "extern.kiln", text, -1), NULL);
    kn_arg     args[] = { { "in", &in }, { "out", &out }, { "reach", NULL, kn_int(3) } };
    if (kn_run(m, args, 3) != KN_OK) {
        fputs(kn_error_text(cx), stderr);
        kn_context_free(cx);
        return 1;
    }
    for (int i = 0; i < 8; i++)
        printf("%d%s", (int)result[i], i < 7 ? " " : "\n");
    kn_context_free(cx);
    return 0;
}
