/* SPDX-License-Identifier: MIT */
/* What the tests of the device runtime share: a driver that counts and fails, a pipeline as compiled code calls it, and
 * buffers of all shapes. */
#ifndef KILN_TESTS_DEVICE_PIPELINE_H
#define KILN_TESTS_DEVICE_PIPELINE_H

#include "device_kernels.h"
#include "runtime/device_parts.h"

#include <pthread.h>
#include <string.h>

#define COUNT(array) ((int)(sizeof(array) / sizeof *(array)))

static kn_device_kind kind = KN_DEVICE_OPENCL;

static kn_rt_kernels kernels = { KN_RT_OPENCL, COUNT(both_kernels), opencl_text, NULL, both_kernels, 0, 0, NULL };

/* ---- A driver that counts and fails ----------------------------------------------------- */

static const DeviceOps *real;
static DeviceOps        counting;
static atomic_int       calls, fail_at; /* the call that fails; 0: none */
static atomic_int       opened, allocated, loaded, copied, launched;

/* Whether this call is the one that fails. */
static bool fails(DeviceError *error)
{
    const int n = atomic_fetch_add(&calls, 1) + 1;
    if (n != atomic_load(&fail_at))
        return false;
    kn_rt_device_error(error, KN_ERROR_DEVICE, "call %d was made to fail", n);
    return true;
}

/* Runs it unless it is to fail; counts it if it went well. */
#define PASS(counter, by, call)                                                                                        \
    do {                                                                                                               \
        const int status_ = fails(error) ? KN_ERROR_DEVICE : (call);                                                   \
        if (!status_)                                                                                                  \
            atomic_fetch_add(counter, by);                                                                             \
        return status_;                                                                                                \
    } while (0)

static atomic_int nothing;

static int count_(int *count, DeviceError *error)
{
    PASS(&nothing, 1, real->count(count, error));
}

static int open_(int index, void **state, kn_device_info *info, DeviceError *error)
{
    PASS(&opened, 1, real->open(index, state, info, error));
}

static void close_(void *state)
{
    atomic_fetch_sub(&opened, 1);
    real->close(state);
}

static int free_memory_(void *state, uint64_t *bytes, DeviceError *error)
{
    PASS(&nothing, 1, real->free_memory(state, bytes, error));
}

static int alloc_(void *state, size_t bytes, uint64_t *memory, DeviceError *error)
{
    PASS(&allocated, 1, real->alloc(state, bytes, memory, error));
}

static void free_(void *state, uint64_t memory)
{
    atomic_fetch_sub(&allocated, 1);
    real->free(state, memory);
}

static int copy_(void *state, const DeviceCopy *copy, DeviceError *error)
{
    PASS(&copied, 1, real->copy(state, copy, error));
}

static int load_(void *state, const kn_rt_kernels *k, void **module, DeviceError *error)
{
    PASS(&loaded, 1, real->load(state, k, module, error));
}

static void unload_(void *state, void *module)
{
    atomic_fetch_sub(&loaded, 1);
    real->unload(state, module);
}

static int run_(void *state, const DeviceBatch *batch, double *seconds, DeviceError *error)
{
    PASS(&launched, batch->count, real->run(state, batch, seconds, error));
}

static int duplicate_(void *state, uint64_t to, uint64_t from, size_t bytes, DeviceError *error)
{
    PASS(&copied, 1, real->duplicate(state, to, from, bytes, error));
}

/* One that fails has waited all the same. */
static int sync_(void *state, DeviceError *error)
{
    const int status = real->sync(state, error);
    PASS(&nothing, 1, status);
}

static int set_stream_(void *state, void *stream, DeviceError *error)
{
    PASS(&nothing, 1, real->set_stream(state, stream, error));
}

static void use_counting_driver(void)
{
    real                   = kn_rt_device_ops[kind];
    counting               = *real;
    counting.count         = count_;
    counting.open          = open_;
    counting.close         = close_;
    counting.free_memory   = free_memory_;
    counting.alloc         = alloc_;
    counting.free          = free_;
    counting.copy          = copy_;
    counting.load          = load_;
    counting.unload        = unload_;
    counting.run           = run_;
    counting.duplicate     = duplicate_;
    counting.sync          = sync_;
    counting.set_stream    = set_stream_;
    kn_rt_device_ops[kind] = &counting;
}

/* ---- A pipeline ------------------------------------------------------------------------- */

enum { K = 3, SMALL = 200, WIDE = 60000, ADDED = 5 };

static const kn_rt_port    ports[] = { { "in", KN_I32, 3, -1, 0, "x\0y\0c" }, { "out", KN_I32, 3, -1, 1, "x\0y\0c" } };
static const kn_rt_program program = { "mixed", COUNT(ports), ports, 0, NULL };
static const kn_rt_port dense_ports[] = { { "in", KN_I32, 3, 0, 0, "x\0y\0c" }, { "out", KN_I32, 3, 0, 1, "x\0y\0c" } };
static const kn_rt_program dense_program = { "mixed", COUNT(dense_ports), dense_ports, 0, NULL };

static int32_t expected(int32_t v, bool host_part)
{
    return 2 * (v * K + SMALL + WIDE + (host_part ? ADDED : 0)) - v;
}

static uint64_t argument(const kn_buffer *b)
{
    return (uint64_t)(uintptr_t)b;
}

static uint64_t narrow(int64_t v)
{
    uint64_t      bits  = 0;
    const int32_t value = (int32_t)v;
    memcpy(&bits, &value, sizeof value);
    return bits;
}

static int factor = K; /* of scale; another only while times are measured */

/* Between device_enter and device_leave: the code of the host. */
static int body(kn_rt_call *call, kn_buffer *in, kn_buffer *out, bool host_part)
{
    const int     w = out->dim[0].extent, h = out->dim[1].extent, d = out->dim[2].extent;
    const int64_t n = (int64_t)w * h * d;
    kn_buffer     t;
    int           status = kn_rt_device_alloc(call, &t, KN_I32, n, host_part);
    if (status)
        return status;
    const uint8_t  small        = SMALL;
    const uint16_t wide         = WIDE;
    uint64_t       scale[11]    = { argument(in),
                                    argument(&t),
                                    (uint64_t)in->dim[0].stride,
                                    (uint64_t)in->dim[1].stride,
                                    (uint64_t)in->dim[2].stride,
                                    narrow(w),
                                    narrow(h),
                                    narrow(d),
                                    narrow(factor) };
    const uint64_t mixed[]      = { argument(&t),
                                    argument(in),
                                    argument(out),
                                    (uint64_t)in->dim[0].stride,
                                    (uint64_t)in->dim[1].stride,
                                    (uint64_t)in->dim[2].stride,
                                    (uint64_t)out->dim[0].stride,
                                    (uint64_t)out->dim[1].stride,
                                    (uint64_t)out->dim[2].stride,
                                    narrow(w),
                                    narrow(h),
                                    narrow(d) };
    const int32_t  scale_grid[] = { (w + 15) / 16, (h + 3) / 4, d },
                  mix_grid[]    = { (w + 31) / 32, (h + 1) / 2, (d + 1) / 2 };
    memcpy(&scale[9], &small, sizeof small);
    memcpy(&scale[10], &wide, sizeof wide);
    status = kn_rt_launch(call, SCALE, scale_grid, scale);
    if (!status && host_part) {
        status = kn_rt_host_need(call, &t, KN_RT_READ | KN_RT_WRITE);
        for (int64_t i = 0; i < n && !status; i++)
            ((int32_t *)t.data)[i] += ADDED;
    }
    if (!status)
        status = kn_rt_launch(call, MIX, mix_grid, mixed);
    kn_rt_device_free(call, &t);
    return status;
}

static int run_on(kn_rt *rt, const kn_rt_program *p, const kn_rt_kernels *k, const kn_buffer *in, kn_buffer *out,
                  bool host_part)
{
    const kn_buffer *given[] = { in, out };
    kn_buffer        used[2];
    kn_rt_call      *call;
    int              status = kn_rt_enter_device(rt, p, given, used);
    if (status)
        return status;
    status = kn_rt_device_enter(rt, p, k, used, &call);
    if (!status) {
        status = body(call, &used[0], &used[1], host_part);
        status = kn_rt_device_leave(call, given, status);
    }
    return kn_rt_leave(rt, p, given, used, status);
}

static int run(const kn_buffer *in, kn_buffer *out)
{
    return run_on(NULL, &program, &kernels, in, out, false);
}

/* ---- Views ------------------------------------------------------------------------------ */

enum { STORE = 1 << 14 };

static void fill(int32_t *store, int seed)
{
    for (int i = 0; i < STORE; i++)
        store[i] = i * 7 + seed;
}

static int32_t *element(const kn_buffer *b, int x, int y, int z)
{
    return (int32_t *)b->data + x * b->dim[0].stride + y * b->dim[1].stride + z * b->dim[2].stride;
}

/* Whether `out` holds the results, and `store` around it what fill() put there. */
static bool right(const kn_buffer *in, const kn_buffer *out, const int32_t *store, int seed, bool host_part)
{
    static _Thread_local bool is_out[STORE];
    memset(is_out, 0, sizeof is_out);
    for (int z = 0; z < out->dim[2].extent; z++)
        for (int y = 0; y < out->dim[1].extent; y++)
            for (int x = 0; x < out->dim[0].extent; x++) {
                if (*element(out, x, y, z) != expected(*element(in, x, y, z), host_part))
                    return false;
                is_out[element(out, x, y, z) - store] = true;
            }
    for (int i = 0; i < STORE; i++)
        if (!is_out[i] && store[i] != i * 7 + seed)
            return false;
    return true;
}

typedef struct Shape {
    const char *name;
    int         at; /* of element 0 in its store */
    kn_dim      dim[3];
} Shape;

static const Shape shapes[] = {
    { "dense", 0, { { 0, 37, 1 }, { 0, 21, 37 }, { 0, 3, 777 } } },
    { "rows with gaps", 5, { { -2, 37, 1 }, { 9, 21, 50 }, { 0, 3, 1100 } } },
    { "planes with gaps", 5, { { 0, 37, 1 }, { 0, 21, 37 }, { 0, 3, 800 } } },
    { "interleaved", 1, { { 0, 37, 3 }, { 0, 21, 111 }, { 0, 3, 1 } } },
    { "one channel of four", 2, { { 0, 37, 4 }, { 0, 21, 148 }, { 0, 1, 0 } } },
    { "two channels of four", 2, { { 0, 37, 4 }, { 0, 21, 150 }, { 0, 2, 1 } } },
    { "upside down", 21 * 40, { { 0, 37, 1 }, { 0, 21, -40 }, { 0, 3, 900 } } },
    { "mirrored in all", STORE - 1, { { 0, 37, -1 }, { 0, 21, -40 }, { 0, 3, -900 } } },
    { "mirrored, of odd size", 5000, { { 0, 36, -1 }, { 0, 19, -39 }, { 0, 3, 901 } } },
    { "transposed", 0, { { 0, 37, 21 }, { 0, 21, 1 }, { 0, 3, 777 } } },
    { "one element", 77, { { 0, 1, 5 }, { 0, 1, 0 }, { 0, 1, INT64_MAX } } },
};

static kn_buffer view(const Shape *s, int32_t *store)
{
    kn_buffer b = { .data = store + s->at, .type = KN_I32, .rank = 3 };
    memcpy(b.dim, s->dim, sizeof s->dim);
    return b;
}

/* ---- Threads ---------------------------------------------------------------------------- */

/* A thread's calls, on memory of its own. */
typedef struct Worker {
    pthread_t thread;
    int       index, wrong;
    int32_t   in[STORE], out[STORE];
} Worker;

enum { WORKERS = 8, WORKER_CALLS = 125 };

static inline void *work(void *given)
{
    Worker *w = given;
    for (int i = 0; i < WORKER_CALLS; i++) {
        kn_buffer in = view(&shapes[i % 3], w->in), out = view(&shapes[(i + w->index) % 9], w->out);
        out.dim[2].extent = out.dim[2].extent < in.dim[2].extent ? out.dim[2].extent : in.dim[2].extent;
        fill(w->in, i);
        fill(w->out, 2);
        const bool resident = (i + w->index) % 4 == 0;
        if (resident &&
            (kn_copy_to_device(kn_device_default(kind), &in) || kn_buffer_alloc_device(&out, kn_device_default(kind))))
            w->wrong++;
        if (run_on(NULL, &program, &kernels, &in, &out, i % 5 == 0) || kn_copy_to_host(&out) ||
            !right(&in, &out, w->out, 2, i % 5 == 0))
            w->wrong++;
        kn_buffer_free_device(&in);
        kn_buffer_free_device(&out);
    }
    return NULL;
}

#endif
