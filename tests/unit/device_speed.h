/* SPDX-License-Identifier: MIT */
/* What a call of kernels costs the host. */
#ifndef KILN_TESTS_DEVICE_SPEED_H
#define KILN_TESTS_DEVICE_SPEED_H

#include "check.h"
#include "device_pipeline.h"

#include <time.h>

/* A call of 14 small kernels on data that stays on the device. */
static inline int run_fourteen(const kn_buffer *in, kn_buffer *out)
{
    const kn_buffer *given[] = { in, out };
    kn_buffer        used[2];
    kn_rt_call      *call;
    int              status = kn_rt_enter_device(NULL, &program, given, used);
    status                  = status ? status : kn_rt_device_enter(NULL, &program, &kernels, used, &call);
    if (status)
        return status;
    for (int i = 0; i < 7 && !status; i++)
        status = body(call, &used[0], &used[1], false);
    status = kn_rt_device_leave(call, given, status);
    return kn_rt_leave(NULL, &program, given, used, status);
}

/* Microseconds of a call: of the host until it returns, and until its kernels are done, in batches and one by one. */
static inline void measure_calls(const char *what, bool same, const kn_buffer *in, kn_buffer *out)
{
    enum { CALLS = 200 };
    kn_device      *d = kn_device_default(kind);
    struct timespec t[4];
    for (int i = 0; i < 5; i++)
        CHECK(!run_fourteen(in, out), "%s", kn_rt_last_error());
    kn_device_sync(d);
    clock_gettime(CLOCK_MONOTONIC, &t[0]);
    for (int i = 0; i < CALLS; i++, factor += same ? 0 : 1)
        run_fourteen(in, out);
    clock_gettime(CLOCK_MONOTONIC, &t[1]);
    kn_device_sync(d);
    clock_gettime(CLOCK_MONOTONIC, &t[2]);
    for (int i = 0; i < CALLS; i++, factor += same ? 0 : 1) {
        run_fourteen(in, out);
        kn_device_sync(d);
    }
    clock_gettime(CLOCK_MONOTONIC, &t[3]);
    double us[4];
    for (int i = 0; i < 4; i++)
        us[i] = (1e6 * (double)(t[i].tv_sec - t[0].tv_sec) + 1e-3 * (double)(t[i].tv_nsec - t[0].tv_nsec)) / CALLS;
    printf("14 kernels, %s: %.1f us of the host, %.1f us batched, %.1f us synchronous\n", what, us[1], us[2],
           us[3] - us[2]);
    factor = K;
}

static inline void measure(int32_t *in_store, int32_t *out_store)
{
    kn_device *d  = kn_device_default(kind);
    kn_buffer  in = view(&shapes[0], in_store), out = view(&shapes[0], out_store);
    CHECK(!kn_copy_to_device(d, &in) && !kn_buffer_alloc_device(&out, d), "%s", kn_rt_last_error());
    measure_calls("the same arguments each time", true, &in, &out);
    measure_calls("other arguments each time", false, &in, &out);
    kn_buffer_free_device(&in);
    kn_buffer_free_device(&out);
}

#endif
