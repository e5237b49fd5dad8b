/* Extern stages: C functions of the user that fill a buffer. */
#include "runtime/internal.h"

int kn_rt_stage(kn_rt *rt, const char *name, kn_stage *stage, void *user, kn_buffer *inputs, int32_t input_count, const kn_scalar *values,
                int32_t value_count, kn_buffer *output)
{
    rt = kn_rt_of(rt);
    if (!stage)
        return kn_rt_error(rt, KN_ERROR_ARGUMENT,
                           "the extern stage `%s` is not there; give it with kn_extern_stage, or `kiln run --load LIBRARY`", name);
    kn_rt_trace(rt, KN_RT_STAGE_BEGIN, NULL, name, 0);
    const int failed = stage(false, inputs, input_count, values, value_count, output, user);
    kn_rt_trace(rt, KN_RT_STAGE_END, NULL, name, failed);
    if (failed)
        return kn_rt_error(rt, KN_ERROR_ARGUMENT, "the extern stage `%s` stopped the run: it returned %d", name, failed);
    return KN_OK;
}
