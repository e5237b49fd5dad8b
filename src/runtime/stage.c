/* SPDX-License-Identifier: MIT */
/* Extern stages: C functions of the user that fill a buffer. */
#include "runtime/internal.h"

static int missing(kn_rt *rt, const char *name)
{
    return kn_rt_error(rt, KN_ERROR_ARGUMENT,
                       "the extern stage `%s` is not there; give it with kn_extern_stage, or `kiln run --load LIBRARY`",
                       name);
}

int kn_rt_stage(kn_rt *rt, const char *name, kn_stage *stage, void *user, kn_buffer *inputs, int32_t input_count,
                const kn_scalar *values, int32_t value_count, kn_buffer *output)
{
    rt = kn_rt_of(rt);
    if (!stage)
        return missing(rt, name);
    kn_rt_trace(rt, KN_RT_STAGE_BEGIN, NULL, name, 0);
    const int failed = stage(false, inputs, input_count, values, value_count, output, user);
    kn_rt_trace(rt, KN_RT_STAGE_END, NULL, name, failed);
    if (failed)
        return kn_rt_error(rt, KN_ERROR_ARGUMENT, "the extern stage `%s` stopped the run: it returned %d", name,
                           failed);
    return KN_OK;
}

/* One input's answer into the table. */
static int take_answer(kn_rt *rt, const char *name, const kn_buffer *b, int32_t rank, int32_t *table)
{
    enum { MOST = 1 << 28 };
    bool some = true;
    for (int32_t d = 0; d < rank; d++) {
        const int64_t max = (int64_t)b->dim[d].min + b->dim[d].extent - 1;
        if (b->rank != rank || b->dim[d].extent < 0)
            return kn_rt_error(rt, KN_ERROR_ARGUMENT,
                               "the extern stage `%s` answered with a wrong rank or a negative extent", name);
        if (b->dim[d].extent && (b->dim[d].min < -MOST || max > MOST))
            return kn_rt_error(rt, KN_ERROR_BOUNDS, "the extern stage `%s` needs coordinates beyond 2^28", name);
        some = some && b->dim[d].extent;
    }
    for (int32_t d = 0; some && d < rank; d++) {
        table[2 * d]     = b->dim[d].min;
        table[2 * d + 1] = b->dim[d].min + b->dim[d].extent - 1;
    }
    return KN_OK;
}

int kn_rt_stage_query(kn_rt *rt, const char *name, kn_stage *stage, void *user, kn_buffer *inputs, int32_t input_count,
                      const kn_scalar *values, int32_t value_count, kn_buffer *output, const uint8_t *ranks,
                      int32_t *table)
{
    rt = kn_rt_of(rt);
    if (!stage)
        return missing(rt, name);
    const int failed = stage(true, inputs, input_count, values, value_count, output, user);
    int       status = KN_OK;
    if (failed)
        return kn_rt_error(rt, KN_ERROR_ARGUMENT,
                           "the extern stage `%s` refused the query for its regions: it returned %d", name, failed);
    for (int32_t i = 0; i < input_count && !status; i++) {
        status = take_answer(rt, name, &inputs[i], ranks[i], table);
        table += 2 * ranks[i];
    }
    return status;
}
