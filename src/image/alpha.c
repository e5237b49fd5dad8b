/* SPDX-License-Identifier: MIT */
/* Removing the alpha channel of a picture: drops it, or premultiplies the other channels by it first. */
#include "image/convert.h"

typedef struct AlphaCall {
    kn_context *cx;
    kn_buffer  *b;
    bool        apply;
} AlphaCall;

/* Multiplies a row of one channel (a) by the alpha of the same pixels (b), as a fraction of white. */
static bool multiply_row(void *arg, int part, const RowPair *row)
{
    const kn_type t     = *(const kn_type *)arg;
    const double  white = white_of(t);
    (void)part;
    for (int64_t done = 0, n; done < row->count; done += n) {
        double color[ROW_BLOCK], alpha[ROW_BLOCK];
        n = row->count - done < ROW_BLOCK ? row->count - done : ROW_BLOCK;
        row_to_doubles(t, row->a + done * row->a_step, row->a_step, n, color);
        row_to_doubles(t, row->b + done * row->b_step, row->b_step, n, alpha);
        for (int64_t i = 0; i < n; i++)
            color[i] = color[i] * alpha[i] / white;
        for (int64_t i = 0; !type_is_float(t) && i < n; i++)
            color[i] = (double)(int32_t)(color[i] + 0.5);
        row_from_doubles(t, row->a + done * row->a_step, row->a_step, n, color);
    }
    return true;
}

/* One channel of a picture, as a buffer of rank 2. */
static kn_buffer channel(const kn_buffer *b, int32_t c)
{
    kn_buffer one = *b;
    one.data      = buffer_address(b, (int32_t[]){ 0, 0, c });
    one.rank      = 2;
    return one;
}

static void drop_run(void *arg)
{
    AlphaCall *call = arg;
    kn_buffer *b    = call->b;
    if (buffer_check(call->cx, b, "kn_image_drop_alpha", true))
        return;
    if (b->rank != 3 || b->dim[2].extent < 2 || white_of(b->type) == 0 || b->type == KN_BOOL) {
        diag_status(call->cx, KN_ERROR_ARGUMENT,
                    "kn_image_drop_alpha: a picture of u8, u16 or floats with rank 3 and two channels or more was "
                    "expected");
        return;
    }
    const int32_t   colors = b->dim[2].extent - 1;
    const kn_buffer alpha  = channel(b, colors);
    for (int32_t c = 0; call->apply && c < colors; c++) {
        const kn_buffer color = channel(b, c);
        rows_walk(&color, &alpha, multiply_row, &b->type);
    }
    b->dim[2].extent = colors;
    b->rank          = colors == 1 ? 2 : 3;
}

kn_status kn_image_drop_alpha(kn_context *cx, kn_buffer *b, bool apply)
{
    if (!cx)
        return KN_ERROR_ARGUMENT;
    context_begin(cx);
    AlphaCall call = { cx, b, apply };
    context_try(cx, drop_run, &call);
    return cx->status;
}
