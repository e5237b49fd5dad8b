/* SPDX-License-Identifier: MIT */
/* What tests/cli/load.test and bench.test load: a scalar function, one that breaks the rules, and a stage that flips
 * its input upside down. */
#include "kiln.h"

KN_API float half_of(float v);
KN_API float tally(float v);
KN_API int   flip(bool query, kn_buffer *inputs, int input_count, const kn_scalar *values, int value_count,
                  kn_buffer *output, void *user);

float half_of(float v)
{
    return v / 2;
}

/* Another value at every call, which no function of a pipeline may have. */
float tally(float v)
{
    static float calls;
    return v + (calls += 1);
}

/* output(x, y) = input(x, h - 1 - y), where the scalar h is the height. */
int flip(bool query, kn_buffer *inputs, int input_count, const kn_scalar *values, int value_count, kn_buffer *output,
         void *user)
{
    (void)user;
    if (input_count != 1 || value_count != 1)
        return 1;
    const int32_t h  = (int32_t)values[0].as.i;
    const kn_dim *o  = output->dim;
    kn_dim       *in = inputs[0].dim;
    if (query) {
        in[0].min    = o[0].min;
        in[0].extent = o[0].extent;
        in[1].min    = h - o[1].min - o[1].extent;
        in[1].extent = o[1].extent;
        return 0;
    }
    for (int32_t y = o[1].min; y < o[1].min + o[1].extent; y++)
        for (int32_t x = o[0].min; x < o[0].min + o[0].extent; x++) {
            float       *to = (float *)output->data + (x - o[0].min) * o[0].stride + (y - o[1].min) * o[1].stride;
            const float *from =
                (const float *)inputs[0].data + (x - in[0].min) * in[0].stride + (h - 1 - y - in[1].min) * in[1].stride;
            *to = *from;
        }
    return 0;
}
