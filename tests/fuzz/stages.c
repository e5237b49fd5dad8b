/* SPDX-License-Identifier: MIT */
/* The C stages of random programs. See stages.h. */
#include "stages.h"

/* By these names C that Kiln has written finds them. */
KN_API kn_stage blend, turn, row;

/* An element of an i32 buffer: 0 outside, where the caller has broken its word (and then the value differs). */
static int32_t *element(const kn_buffer *b, int32_t x, int32_t y)
{
    static _Thread_local int32_t nothing;
    const int32_t                at[]   = { x, y };
    int64_t                      offset = 0;
    nothing                             = 0;
    for (int d = 0; d < b->rank; d++) {
        if (at[d] < b->dim[d].min || at[d] - b->dim[d].min >= b->dim[d].extent)
            return &nothing;
        offset += (int64_t)(at[d] - b->dim[d].min) * b->dim[d].stride;
    }
    return (int32_t *)b->data + offset;
}

/* Asks for the coordinates from lo to hi along a dimension of an input. */
static void ask(kn_buffer *b, int d, int32_t lo, int32_t hi)
{
    b->dim[d].min    = lo;
    b->dim[d].extent = hi - lo + 1;
}

static int32_t last(const kn_buffer *b, int d)
{
    return b->dim[d].min + b->dim[d].extent - 1;
}

static int32_t combine(int32_t a, int32_t factor, int32_t b)
{
    return (int32_t)((uint32_t)a + (uint32_t)factor * (uint32_t)b);
}

/* f(x-k, y) - 3 f(x+1, y+k), for 0 <= k. */
int blend(bool query, kn_buffer *inputs, int input_count, const kn_scalar *values, int value_count, kn_buffer *output,
          void *user)
{
    const int32_t k = (int32_t)values[0].as.i;
    (void)input_count, (void)value_count, (void)user;
    if (query) {
        ask(&inputs[0], 0, output->dim[0].min - k, last(output, 0) + 1);
        ask(&inputs[0], 1, output->dim[1].min, last(output, 1) + k);
        return 0;
    }
    for (int32_t y = output->dim[1].min; y <= last(output, 1); y++)
        for (int32_t x = output->dim[0].min; x <= last(output, 0); x++) {
            const int32_t a        = *element(&inputs[0], x - k, y);
            *element(output, x, y) = combine(a, -3, *element(&inputs[0], x + 1, y + k));
        }
    return 0;
}

/* f(y, x) + g(x, y). */
int turn(bool query, kn_buffer *inputs, int input_count, const kn_scalar *values, int value_count, kn_buffer *output,
         void *user)
{
    (void)input_count, (void)values, (void)value_count, (void)user;
    if (query) {
        for (int d = 0; d < 2; d++) {
            ask(&inputs[0], 1 - d, output->dim[d].min, last(output, d));
            ask(&inputs[1], d, output->dim[d].min, last(output, d));
        }
        return 0;
    }
    for (int32_t y = output->dim[1].min; y <= last(output, 1); y++)
        for (int32_t x = output->dim[0].min; x <= last(output, 0); x++) {
            const int32_t a        = *element(&inputs[0], y, x);
            *element(output, x, y) = combine(a, 1, *element(&inputs[1], x, y));
        }
    return 0;
}

/* f(2x) + 5 f(2x+1). */
int row(bool query, kn_buffer *inputs, int input_count, const kn_scalar *values, int value_count, kn_buffer *output,
        void *user)
{
    (void)input_count, (void)values, (void)value_count, (void)user;
    if (query) {
        ask(&inputs[0], 0, 2 * output->dim[0].min, 2 * last(output, 0) + 1);
        return 0;
    }
    for (int32_t x = output->dim[0].min; x <= last(output, 0); x++) {
        const int32_t a        = *element(&inputs[0], 2 * x, 0);
        *element(output, x, 0) = combine(a, 5, *element(&inputs[0], 2 * x + 1, 0));
    }
    return 0;
}

void stages_register(kn_context *cx)
{
    kn_extern_stage(cx, "blend", blend, NULL);
    kn_extern_stage(cx, "turn", turn, NULL);
    kn_extern_stage(cx, "row", row, NULL);
}
