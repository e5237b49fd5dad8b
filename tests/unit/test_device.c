/* SPDX-License-Identifier: MIT */
/* The device runtime, by kernels written by hand: copies by need, buffers on devices, errors of every function of a
 * driver, threads, forks. On OpenCL, where a driver is (PoCL runs on CPUs); with the argument `cuda` on CUDA. */
#include "check.h"
#include "device_kernels.h"
#include "runtime/device_parts.h"

#include <pthread.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define COUNT(array) ((int)(sizeof(array) / sizeof *(array)))

static kn_device_kind kind = KN_DEVICE_OPENCL;

static kn_rt_kernels kernels = { KN_RT_OPENCL, COUNT(both_kernels), opencl_text, NULL, both_kernels };

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
                                    narrow(K) };
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
    { "transposed", 0, { { 0, 37, 21 }, { 0, 21, 1 }, { 0, 3, 777 } } },
    { "one element", 77, { { 0, 1, 5 }, { 0, 1, 0 }, { 0, 1, INT64_MAX } } },
};

static kn_buffer view(const Shape *s, int32_t *store)
{
    kn_buffer b = { .data = store + s->at, .type = KN_I32, .rank = 3 };
    memcpy(b.dim, s->dim, sizeof s->dim);
    return b;
}

/* ---- Tests ------------------------------------------------------------------------------ */

static int32_t in_store[STORE], out_store[STORE];

static void test_shapes(void)
{
    for (int i = 0; i < COUNT(shapes); i++)
        for (int k = 0; k < COUNT(shapes); k++)
            for (int part = 0; part < 2; part++) {
                kn_buffer in = view(&shapes[i], in_store), out = view(&shapes[k], out_store);
                bool      fits = true;
                for (int d = 0; d < 3; d++)
                    fits = fits && out.dim[d].extent <= in.dim[d].extent;
                if (!fits)
                    continue;
                fill(in_store, 1);
                fill(out_store, 2);
                const int status = run_on(NULL, &program, &kernels, &in, &out, part);
                CHECK(status == 0 && right(&in, &out, out_store, 2, part), "%s to %s, %d: `%s`", shapes[i].name,
                      shapes[k].name, part, kn_rt_last_error());
                CHECK(!in.device && !out.device && !in.flags && !out.flags, "the user's buffers are as before");
            }
    kn_buffer in = view(&shapes[0], in_store), out = view(&shapes[0], out_store);
    in.dim[1].stride = 0;
    in.dim[2].stride = 1;
    fill(out_store, 2);
    CHECK(!run(&in, &out) && right(&in, &out, out_store, 2, false), "repeated and overlapping: %s", kn_rt_last_error());
}

static void test_dense_ports(void)
{
    kn_device *d  = kn_device_default(kind);
    kn_buffer  in = view(&shapes[3], in_store), out = view(&shapes[8], out_store);
    fill(in_store, 1);
    fill(out_store, 2);
    CHECK(!run_on(NULL, &dense_program, &kernels, &in, &out, false) && right(&in, &out, out_store, 2, false), "%s",
          kn_rt_last_error());
    fill(out_store, 2);
    CHECK(!kn_copy_to_device(d, &in) && !kn_buffer_alloc_device(&out, d), "%s", kn_rt_last_error());
    in.flags = KN_DEVICE_NEWER;
    memset(in_store, 0, sizeof in_store);
    CHECK(!run_on(NULL, &dense_program, &kernels, &in, &out, false) && right(&in, &out, out_store, 2, false), "%s",
          kn_rt_last_error());
    CHECK(out.flags == KN_HOST_NEWER, "the dense copy went to the host: %u", out.flags);
    void *const data = in.data;
    in.data          = NULL;
    CHECK(run_on(NULL, &dense_program, &kernels, &in, &out, false) == KN_ERROR_ARGUMENT &&
              strstr(kn_rt_last_error(), "mixed: input `in`: its data is NULL and its stride along x is 3"),
          "%s", kn_rt_last_error());
    in.data = data;
    kn_buffer_free_device(&in);
    kn_buffer_free_device(&out);
}

static void test_empty(void)
{
    kn_buffer in = view(&shapes[0], in_store), out = view(&shapes[0], out_store);
    fill(out_store, 2);
    out.dim[1].extent = 0;
    CHECK(!run(&in, &out) && right(&in, &out, out_store, 2, false), "no rows: %s", kn_rt_last_error());
    out.data          = NULL;
    out.dim[0].stride = INT64_MIN;
    CHECK(!run(&in, &out), "no rows, no memory: %s", kn_rt_last_error());
    in.dim[0].extent = 0;
    in.data          = NULL;
    CHECK(!run(&in, &out), "nothing to read: %s", kn_rt_last_error());
    out                        = view(&shapes[9], out_store);
    kn_buffer nothing_read     = view(&shapes[0], in_store);
    nothing_read.dim[0].extent = 0;
    CHECK(!run(&nothing_read, &out), "a kernel that reads of an empty input: %s", kn_rt_last_error());
}

/* Data that stays on the device. */
static void test_resident(void)
{
    kn_device *d  = kn_device_default(kind);
    kn_buffer  in = view(&shapes[1], in_store), out = view(&shapes[6], out_store);
    fill(in_store, 1);
    fill(out_store, 2);
    CHECK(!kn_copy_to_device(d, &in) && in.device == d && in.handle && !in.flags, "%s", kn_rt_last_error());
    CHECK(!kn_buffer_alloc_device(&out, d) && out.device == d && out.handle && !out.flags, "%s", kn_rt_last_error());
    int before = copied;
    CHECK(!run(&in, &out) && !run(&in, &out) && copied == before, "%d copies: %s", copied - before, kn_rt_last_error());
    CHECK(out.flags == KN_DEVICE_NEWER && !in.flags, "%u", out.flags);
    CHECK(out_store[21 * 40] == 21 * 40 * 7 + 2, "the host's copy is as before");
    CHECK(!kn_device_sync(d), "%s", kn_rt_last_error());
    CHECK(!kn_copy_to_host(&out) && !out.flags && right(&in, &out, out_store, 2, false), "%s", kn_rt_last_error());
    before = copied;
    CHECK(!kn_copy_to_host(&out) && !kn_copy_to_device(d, &in) && copied == before, "nothing is newer");

    fill(in_store, 9); /* the host writes, and says so */
    in.flags = KN_HOST_NEWER;
    CHECK(!run(&in, &out) && !in.flags && copied > before, "%s", kn_rt_last_error());
    before = copied;
    CHECK(!run(&in, &out) && copied == before, "copied once");
    CHECK(!kn_copy_to_host(&out) && right(&in, &out, out_store, 2, false), "%s", kn_rt_last_error());

    kn_buffer last = view(&shapes[0], out_store); /* out becomes an input, and no copy is on the host */
    CHECK(!run(&in, &out), "%s", kn_rt_last_error());
    kn_buffer middle = out;
    middle.data      = NULL;
    CHECK(!run(&middle, &last), "%s", kn_rt_last_error());
    CHECK(*element(&last, 3, 4, 1) == expected(expected(*element(&in, 3, 4, 1), false), false), "two calls in a row");
    kn_buffer_free_device(&in);
    kn_buffer_free_device(&out);
    kn_buffer_free_device(&out);
    CHECK(!in.device && !in.handle && !in.flags, "freed");
}

/* Memory of somebody else, without any on the host. */
static void test_wrapped(void)
{
    kn_device *d     = kn_device_default(kind);
    kn_buffer  owner = view(&shapes[0], in_store), wrapped = owner, out = view(&shapes[0], out_store);
    fill(in_store, 4);
    fill(out_store, 2);
    CHECK(!kn_copy_to_device(d, &owner), "%s", kn_rt_last_error());
    wrapped.data = NULL;
    CHECK(!kn_buffer_wrap_device(&wrapped, d, owner.handle) && wrapped.flags == KN_DEVICE_NEWER, "%s",
          kn_rt_last_error());
    CHECK(!run(&wrapped, &out) && right(&owner, &out, out_store, 2, false), "%s", kn_rt_last_error());
    CHECK(wrapped.flags == KN_DEVICE_NEWER && kn_copy_to_host(&wrapped) == KN_ERROR_ARGUMENT &&
              strstr(kn_rt_last_error(), "kn_copy_to_host: a buffer has a copy on a device only"),
          "%s", kn_rt_last_error());
    kn_buffer same = owner;
    CHECK(run(&wrapped, &same) == KN_ERROR_ARGUMENT && strstr(kn_rt_last_error(), "share memory on the device"), "%s",
          kn_rt_last_error());
    CHECK(kn_buffer_wrap_device(&wrapped, d, owner.handle) == KN_ERROR_ARGUMENT &&
              strstr(kn_rt_last_error(), "kn_buffer_wrap_device: the buffer has a copy on a device already"),
          "%s", kn_rt_last_error());
    const int before = allocated;
    kn_device_set_cache_limit(d, 0);
    const int kept = allocated;
    wrapped.device = NULL;
    wrapped.handle = 0;
    CHECK(kn_buffer_wrap_device(&wrapped, d, 0) == KN_ERROR_ARGUMENT, "%s", kn_rt_last_error());
    kn_buffer_free_device(&wrapped);
    CHECK(allocated == kept && kept <= before, "a wrapped buffer's memory is its owner's");
    kn_buffer_free_device(&owner);
    CHECK(allocated == kept - 1 && allocated == 0, "%d blocks are left", allocated);
    kn_device_set_cache_limit(d, 1 << 28);
}

static void test_cache(void)
{
    kn_device *d  = kn_device_default(kind);
    kn_buffer  in = view(&shapes[0], in_store), out = view(&shapes[1], out_store);
    CHECK(!run(&in, &out), "%s", kn_rt_last_error());
    atomic_store(&calls, 0);
    const int before = allocated, modules = loaded;
    for (int i = 0; i < 10; i++)
        CHECK(!run(&in, &out), "%s", kn_rt_last_error());
    CHECK(allocated == before && loaded == modules, "the steady state allocates and loads nothing");
    CHECK(calls == 10 * 7, "10 calls: a batch, four copies and two waits each, not %d in all", calls);
    kn_device_set_cache_limit(d, 4096);
    CHECK(allocated <= 1, "%d blocks are kept", allocated);
    kn_device_set_cache_limit(d, 0);
    CHECK(!run(&in, &out) && allocated == 0, "%d blocks are kept", allocated);
    kn_device_set_cache_limit(d, 1 << 28);
    kn_rt_device_forget(&kernels);
    CHECK(loaded == modules - 1, "forgotten");
    CHECK(!run(&in, &out) && loaded == modules, "loaded again: %s", kn_rt_last_error());
}

static void check_error(int status, int wanted, const char *text)
{
    CHECK(status == wanted && strstr(kn_rt_last_error(), text), "%d, not %d with `%s`: %s", status, wanted, text,
          kn_rt_last_error());
}

static void test_mistakes(void)
{
    kn_device *d  = kn_device_default(kind);
    kn_buffer  in = view(&shapes[0], in_store), out = view(&shapes[0], out_store), none = { .rank = -1 };
    check_error(kn_copy_to_device(NULL, &in), KN_ERROR_ARGUMENT, "no device was given");
    check_error(kn_copy_to_device(d, NULL), KN_ERROR_ARGUMENT, "no buffer was given");
    check_error(kn_copy_to_device(d, &none), KN_ERROR_ARGUMENT, "it has no shape yet");
    check_error(kn_copy_to_host(NULL), KN_ERROR_ARGUMENT, "no buffer was given");
    check_error(kn_device_sync(NULL), KN_ERROR_ARGUMENT, "kn_device_sync: no device was given");
    check_error(kn_device_open(kind, 1 << 16) != NULL, 0, "there is no device 65536, but ");
    check_error(kn_device_open((kn_device_kind)7, 0) != NULL, 0, "7 is no kind of device");
    check_error(kn_device_count((kn_device_kind)0), 0, "0 is no kind of device");
    kn_buffer nowhere = in;
    nowhere.data      = NULL;
    check_error(kn_copy_to_device(d, &nowhere), KN_ERROR_ARGUMENT, "a buffer has a copy on a device only");
    CHECK(!nowhere.device && !nowhere.handle, "nothing is held");
    nowhere.dim[0].stride = INT64_MAX;
    check_error(kn_buffer_alloc_device(&nowhere, d), KN_ERROR_ARGUMENT, "beyond the address space");
    nowhere               = in;
    nowhere.dim[2].stride = (int64_t)1 << 44;
    check_error(kn_buffer_alloc_device(&nowhere, d), KN_ERROR_LIMIT, "out of device memory: no ");
    in.handle = 8;
    check_error(run(&in, &out), KN_ERROR_ARGUMENT, "mixed: input `in`: of its fields device and handle one is zero");
    in.handle = 0;
    in.flags  = 8;
    check_error(run(&in, &out), KN_ERROR_ARGUMENT, "unknown flags");
    in.flags = 0;

    kn_device *second = kn_device_open(kind, 0);
    CHECK(second && second != d && !kn_copy_to_device(d, &in) && !kn_buffer_alloc_device(&out, second), "%s",
          kn_rt_last_error());
    check_error(run(&in, &out), KN_ERROR_ARGUMENT, "input `in` and output `out` are on different devices");
    check_error(kn_copy_to_device(second, &in), KN_ERROR_ARGUMENT, "a copy on another device");
    kn_rt_kernels other = kernels;
    other.kind          = kind == KN_DEVICE_CUDA ? KN_RT_OPENCL : KN_RT_CUDA;
    check_error(run_on(NULL, &program, &other, &in, &out, false), KN_ERROR_ARGUMENT, "and the kernels are for");
    kn_buffer_free_device(&in);
    kn_buffer_free_device(&out);
    kn_device_close(second);
    kn_device_close(d); /* the default stays */
    CHECK(!run(&in, &out), "%s", kn_rt_last_error());

    const kn_rt_kernels bad = { kernels.kind, 1, "this is no program", NULL, both_kernels };
    check_error(run_on(NULL, &program, &bad, &in, &out, false), KN_ERROR_DEVICE,
                kind == KN_DEVICE_CUDA ? "compiling the kernels' PTX for compute capability" : "its compiler refuses");
    printf("%s\n", kn_rt_last_error());
    kn_rt_kernel lost[2]        = { both_kernels[0], both_kernels[1] };
    lost[1].name                = "lost";
    const kn_rt_kernels without = { kernels.kind, 2, kernels.text, NULL, lost };
    check_error(run_on(NULL, &program, &without, &in, &out, false), KN_ERROR_DEVICE, "kernel `lost`");
    lost[1]            = both_kernels[1];
    lost[1].threads[0] = 1 << 20;
    check_error(run_on(NULL, &program, &without, &in, &out, false), KN_ERROR_LIMIT, "threads");
    kn_rt_device_forget(&without);
    CHECK(!run(&in, &out), "%s", kn_rt_last_error());
}

/* An instance with a device of its own, and a second queue. */
static void test_instances(void)
{
    kn_rt     *rt     = kn_rt_new(NULL);
    kn_device *second = kn_device_open(kind, 0);
    kn_buffer  in = view(&shapes[0], in_store), out = view(&shapes[0], out_store);
    const int  open = opened;
    fill(in_store, 3);
    fill(out_store, 2);
    CHECK(!kn_rt_set_device(rt, second), "%s", kn_rt_last_error());
    CHECK(!run_on(rt, &program, &kernels, &in, &out, false) && right(&in, &out, out_store, 2, false), "%s",
          kn_rt_last_error());
    CHECK(second->modules && second->memory.kept, "it ran there");
    CHECK(!kn_device_set_stream(second, kind == KN_DEVICE_CUDA ? (void *)1 : NULL) &&
              !run_on(rt, &program, &kernels, &in, &out, false) && !kn_device_set_stream(second, NULL) &&
              !kn_device_sync(second),
          "%s", kn_rt_last_error());
    CHECK(kn_device_context(second) && kn_device_describe(second)->kind == kind, "described");
    uint64_t left = 0;
    CHECK(!kn_device_free_memory(second, &left) && left > 0 && left <= kn_device_describe(second)->memory, "%llu bytes",
          (unsigned long long)left);
    kn_rt_destroy(rt);
    kn_device_close(second);
    CHECK(opened == open - 1, "closed");
}

/* The same arguments again and again, and others between them: the third time CUDA replays a graph. */
static void test_repeated(void)
{
    kn_device *d    = kn_device_default(kind);
    kn_buffer  in[] = { view(&shapes[1], in_store), view(&shapes[1], in_store) }, out = view(&shapes[6], out_store);
    fill(in_store, 1);
    CHECK(!kn_copy_to_device(d, &in[0]), "%s", kn_rt_last_error());
    fill(in_store, 5);
    CHECK(!kn_copy_to_device(d, &in[1]) && !kn_buffer_alloc_device(&out, d), "%s", kn_rt_last_error());
    const int before = launched;
    for (int i = 0; i < 40; i++) {
        const int which = i % 3 == 2;
        fill(in_store, which ? 5 : 1);
        fill(out_store, 2);
        out.dim[0].extent = i % 5 == 4 ? 36 : 37;
        CHECK(!run(&in[which], &out) && !kn_copy_to_host(&out) && right(&in[which], &out, out_store, 2, false),
              "run %d: %s", i, kn_rt_last_error());
    }
    CHECK(launched - before == 80, "%d kernels", launched - before);
    kn_rt_device_forget(&kernels);
    CHECK(!run(&in[0], &out), "%s", kn_rt_last_error());
    for (int i = 0; i < 2; i++)
        kn_buffer_free_device(&in[i]);
    kn_buffer_free_device(&out);
}

static void test_measured(void)
{
    kn_device        *d  = kn_device_default(kind);
    kn_buffer         in = view(&shapes[0], in_store), out = view(&shapes[0], out_store);
    kn_kernel_profile p[2], none;
    kn_device_speed   speed;
    CHECK(!kn_device_set_profile(d, true) && !kn_device_profile_get(d, 0, &none), "%s", kn_rt_last_error());
    fill(in_store, 1);
    fill(out_store, 2);
    for (int i = 0; i < 3; i++)
        CHECK(!run_on(NULL, &program, &kernels, &in, &out, i == 1), "%s", kn_rt_last_error());
    CHECK(right(&in, &out, out_store, 2, false), "profiled");
    for (int i = 0; i < 2; i++)
        CHECK(kn_device_profile_get(d, i, &p[i]) && p[i].launches == 3 && p[i].seconds > 0 && p[i].threads == 64 << i &&
                  !strcmp(p[i].kernel, both_kernels[i].name) && !strcmp(p[i].pipeline, "mixed"),
              "kernel %d", i);
    CHECK(p[0].blocks == 3 * 6 * 3 && !kn_device_profile_get(d, 2, &none), "%lld blocks", (long long)p[0].blocks);
    CHECK(kind == KN_DEVICE_OPENCL || (p[0].registers > 0 && p[0].resident_blocks > 0), "%d", p[0].registers);
    CHECK(!kn_device_set_profile(d, false) && !kn_device_profile_get(d, 0, &none), "forgotten");
    const int live = d->memory.used != NULL;
    CHECK(!kn_device_measure(d, &speed) && speed.to_device > 0 && speed.to_host > 0 && speed.inside > 0, "%s",
          kn_rt_last_error());
    CHECK(!live && !d->memory.used, "memory is held");
    printf("%.1f GB/s to the device, %.1f GB/s to the host, %.1f GB/s inside\n", speed.to_device * 1e-9,
           speed.to_host * 1e-9, speed.inside * 1e-9);
    for (int n = 1; n < 20; n += 3) {
        atomic_store(&calls, 0);
        atomic_store(&fail_at, n);
        check_error(kn_device_measure(d, &speed), KN_ERROR_DEVICE, "was made to fail");
        CHECK(!d->memory.used, "memory is held");
    }
    atomic_store(&fail_at, 0);
}

/* Each call of the driver fails in turn: an error or a right result, what was given is as before, nothing is lost, and
 * the next call works. */
static void test_failures(void)
{
    for (int part = 0; part < 2; part++)
        for (int n = 1, failed = 1; failed; n++) {
            kn_device *d  = kn_device_open(kind, 0);
            kn_rt     *rt = kn_rt_new(NULL);
            kn_buffer  in = view(&shapes[1], in_store), out = view(&shapes[6], out_store);
            fill(in_store, 1);
            fill(out_store, 2);
            kn_rt_set_device(rt, d);
            const int live = allocated, modules = loaded;
            atomic_store(&calls, 0);
            atomic_store(&fail_at, n);
            int status = run_on(rt, &program, &kernels, &in, &out, part);
            if (!status)
                status = kn_copy_to_device(d, &in);
            if (!status)
                status = kn_buffer_alloc_device(&out, d);
            if (!status)
                status = run_on(rt, &program, &kernels, &in, &out, part);
            if (!status)
                status = kn_copy_to_host(&out);
            atomic_store(&fail_at, 0);
            failed = calls >= n;
            CHECK(status == 0 || (failed && strstr(kn_rt_last_error(), "was made to fail")), "%d: %d %s", n, status,
                  kn_rt_last_error());
            CHECK(status || right(&in, &out, out_store, 2, part), "%d: a call that went well is right", n);
            for (int i = 0; i < STORE; i++)
                if (in_store[i] != i * 7 + 1) {
                    CHECK(false, "%d: the input changed", n);
                    break;
                }
            status = run_on(rt, &program, &kernels, &in, &out, part);
            if (!status)
                status = kn_copy_to_host(&out);
            CHECK(!status && right(&in, &out, out_store, 2, part), "after failure %d: %s", n, kn_rt_last_error());
            kn_buffer_free_device(&in);
            kn_buffer_free_device(&out);
            CHECK(!d->memory.used, "%d: memory is held", n);
            kn_rt_destroy(rt);
            kn_device_close(d);
            CHECK(allocated == live && loaded == modules, "%d: %d blocks, %d modules more", n, allocated - live,
                  loaded - modules);
            if (n > 200) {
                CHECK(false, "it does not end");
                return;
            }
        }
    atomic_store(&calls, 0);
    atomic_store(&fail_at, 1);
    CHECK(!kn_device_open(kind, 0) && strstr(kn_rt_last_error(), "made to fail"), "%s", kn_rt_last_error());
    atomic_store(&calls, 0);
    atomic_store(&fail_at, 2);
    const int open = opened;
    CHECK(!kn_device_open(kind, 0) && opened == open, "%s", kn_rt_last_error());
    atomic_store(&fail_at, 0);
}

typedef struct Worker {
    pthread_t thread;
    int       index, wrong;
    int32_t   in[STORE], out[STORE];
} Worker;

enum { WORKERS = 8, WORKER_CALLS = 100 };

static void *work(void *given)
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

static void test_threads(void)
{
    Worker *workers = calloc(WORKERS, sizeof *workers);
    for (int i = 0; i < WORKERS; i++) {
        workers[i].index = i;
        CHECK(!pthread_create(&workers[i].thread, NULL, work, &workers[i]), "a thread");
    }
    for (int i = 0; i < WORKERS; i++) {
        pthread_join(workers[i].thread, NULL);
        CHECK(!workers[i].wrong, "thread %d: %d of %d calls wrong", i, workers[i].wrong, WORKER_CALLS);
    }
    free(workers);
    CHECK(!kn_device_default(kind)->memory.used, "memory is held");
}

static void test_fork(void)
{
    kn_buffer in = view(&shapes[0], in_store), out = view(&shapes[0], out_store);
    fflush(stdout);
    const pid_t child = fork();
    if (child == 0)
        _exit(run(&in, &out) == KN_ERROR_DEVICE && strstr(kn_rt_last_error(), "it was opened before a fork") ? 7 : 1);
    int status = 0;
    CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 7, "the child's end: %d",
          status);
    CHECK(!run(&in, &out), "%s", kn_rt_last_error());
}

/* A kernel that writes nowhere ends CUDA in this process: said at once, and from then on. */
static void test_stray(void)
{
    const kn_rt_kernels strays = { KN_RT_CUDA, 1, stray_text, NULL, stray_kernel };
    const int32_t       grid[] = { 1, 1, 1 };
    kn_buffer           in = view(&shapes[0], in_store), out = view(&shapes[0], out_store), used[2];
    const kn_buffer    *given[] = { &in, &out };
    kn_rt_call         *call;
    fill(in_store, 1);
    int status = kn_rt_enter_device(NULL, &program, given, used);
    status     = status ? status : kn_rt_device_enter(NULL, &program, &strays, used, &call);
    CHECK(!status, "%s", kn_rt_last_error());
    if (status)
        return;
    status = kn_rt_launch(call, 0, grid, (uint64_t[]){ argument(&used[0]) });
    status = status ? status : kn_rt_host_need(call, &used[1], KN_RT_READ);
    status = kn_rt_device_leave(call, given, status);
    status = kn_rt_leave(NULL, &program, given, used, status);
    CHECK(!status, "nothing waited for the kernel: %s", kn_rt_last_error());
    check_error(kn_device_sync(kn_device_default(kind)), KN_ERROR_DEVICE, "CUDA_ERROR_ILLEGAL_ADDRESS");
    printf("%s\n", kn_rt_last_error());
    check_error(run(&in, &out), KN_ERROR_DEVICE, "it cannot be used any more: ");
    printf("%s\n", kn_rt_last_error());
    CHECK(in_store[100] == 701, "the host's data is intact");
}

int main(int count, char **words)
{
    if (count > 1 && strcmp(words[1], "cuda") == 0) {
        kind    = KN_DEVICE_CUDA;
        kernels = (kn_rt_kernels){ KN_RT_CUDA, COUNT(both_kernels), ptx_text, NULL, both_kernels };
    }
    if (kn_device_count(kind) == 0) {
        printf("skipped: %s\n", kn_rt_last_error());
        CHECK(*kn_rt_last_error(), "says why there is none");
        return check_done();
    }
    use_counting_driver();
    const kn_device_info *info = kn_device_describe(kn_device_default(kind));
    CHECK(info, "%s", kn_rt_last_error());
    if (!info)
        return check_done();
    printf("%s, %s, %s, %d multiprocessors, %.1f GiB\n", info->name, info->capability, info->driver,
           info->multiprocessors, (double)info->memory / (1 << 30));
    test_shapes();
    test_dense_ports();
    test_empty();
    test_resident();
    test_wrapped();
    test_cache();
    test_mistakes();
    test_instances();
    test_repeated();
    test_measured();
    test_failures();
    test_threads();
    test_fork();
    if (kind == KN_DEVICE_CUDA)
        test_stray();
    return check_done();
}
