/* SPDX-License-Identifier: MIT */
/* The device runtime, by kernels written by hand: copies by need, buffers on devices, errors of every function of a
 * driver, threads, forks. On OpenCL, where a driver is (PoCL runs on CPUs); with the argument `cuda` on CUDA.
 *     test_device [opencl|cuda] [speed]      speed: what a call costs the host, and nothing else */
#include "check.h"
#include "device_speed.h"
#include "opencl_leaks.h"

#include <pthread.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

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
    kn_buffer  in = view(&shapes[3], in_store), out = view(&shapes[9], out_store);
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
    out                        = view(&shapes[10], out_store);
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
    CHECK(!run(&in, &out), "%s", kn_rt_last_error());
    atomic_store(&calls, 0);
    CHECK(!run(&in, &out) && copied == before && calls == 1, "%d copies, %d calls of the driver: %s", copied - before,
          calls, kn_rt_last_error());
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
    kn_buffer_free_device(&wrapped);
    CHECK(kn_buffer_wrap_device(&wrapped, d, 0) == KN_ERROR_ARGUMENT, "%s", kn_rt_last_error());
    CHECK(allocated == kept && kept <= before, "a wrapped buffer's memory is its owner's");
    kn_buffer_free_device(&owner);
    CHECK(allocated == kept - 1 && allocated == 0, "%d blocks are left", allocated);
    CHECK(!kn_copy_to_device(d, &owner) && !kn_buffer_wrap_device(&wrapped, d, owner.handle), "%s", kn_rt_last_error());
    kn_buffer_free_device(&owner);
    CHECK(allocated == 1 && !run(&wrapped, &out) && right(&owner, &out, out_store, 2, false), "%s", kn_rt_last_error());
    kn_buffer_free_device(&wrapped);
    CHECK(allocated == 0, "freed with the last");
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
    CHECK(!kn_copy_to_device(d, &in), "%s", kn_rt_last_error());
    in.handle += 4;
    if (kind == KN_DEVICE_CUDA)
        check_error(run(&in, &out), KN_ERROR_ARGUMENT,
                    "its address on the device, the handle, must be a multiple of 16");
    in.handle -= 4;
    kn_buffer_free_device(&in);
    in.flags = 8;
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

    const kn_rt_kernels bad = { kernels.kind, 1, "this is no program", NULL, both_kernels, 0, 0, NULL };
    check_error(run_on(NULL, &program, &bad, &in, &out, false), KN_ERROR_DEVICE,
                kind == KN_DEVICE_CUDA ? "compiling the kernels' PTX for compute capability" : "its compiler refuses");
    printf("%s\n", kn_rt_last_error());
    kn_rt_kernel lost[2]        = { both_kernels[0], both_kernels[1] };
    lost[1].name                = "lost";
    const kn_rt_kernels without = { kernels.kind, 2, kernels.text, NULL, lost, 0, 0, NULL };
    check_error(run_on(NULL, &program, &without, &in, &out, false), KN_ERROR_DEVICE, "kernel `lost`");
    lost[1]            = both_kernels[1];
    lost[1].threads[0] = 1 << 20;
    check_error(run_on(NULL, &program, &without, &in, &out, false), KN_ERROR_LIMIT, "threads");
    lost[1]              = both_kernels[1];
    lost[1].shared_bytes = 1 << 30;
    check_error(run_on(NULL, &program, &without, &in, &out, false), KN_ERROR_LIMIT, "bytes of shared memory");
    kn_rt_device_forget(&without);
    kn_rt_kernels others = kernels; /* code that others take the place of */
    CHECK(!run_on(NULL, &program, &others, &in, &out, false), "%s", kn_rt_last_error());
    others.text = "this is no program";
    CHECK(!run_on(NULL, &program, &others, &in, &out, false), "%s", kn_rt_last_error());
    others.id = 1;
    check_error(run_on(NULL, &program, &others, &in, &out, false), KN_ERROR_DEVICE, "");
    kn_rt_device_forget(&others);
    CHECK(!run(&in, &out), "%s", kn_rt_last_error());
}

static int missing; /* the kind of device that a trace heard of */

static void hear(void *user, const kn_rt_event *event)
{
    (void)user;
    if (event->kind == KN_RT_NO_DEVICE && strcmp(event->pipeline, "mixed") == 0)
        missing = (int)event->value;
}

static void test_present(void)
{
    const kn_buffer *none[8] = { NULL };
    kn_rt           *rt      = kn_rt_new(&(kn_rt_hooks){ .trace = hear });
    CHECK(kn_rt_device_present(rt, &program, (int)kind, none) == 1 && !missing, "there is one");
    CHECK(kn_rt_device_present(rt, &program, 0, none) == 0 && missing == 0, "no kind");
    CHECK(kn_rt_device_present(rt, &program, (int)kind | KN_RT_PREFERS_HOST, none) == 0 && !missing, "a faster host");
    const kn_device_kind other = kind == KN_DEVICE_CUDA ? KN_DEVICE_OPENCL : KN_DEVICE_CUDA;
    const bool           there = kn_device_count(other) > 0;
    CHECK(kn_rt_device_present(rt, &program, (int)other, none) == there && missing == (there ? 0 : (int)other), "%d",
          missing);
    kn_rt_destroy(rt);
}

/* What is asked for counts, unless a buffer has a copy on a device. */
static void test_place(void)
{
    const kn_buffer  there     = { .device = kn_device_default(kind) };
    const kn_buffer *none[8]   = { NULL };
    const kn_buffer *there1[8] = { NULL, &there };
    kn_rt           *rt        = kn_rt_new(NULL);
    CHECK(kn_rt_set_place(rt, KN_ON_HOST) == KN_OK && kn_rt_device_present(rt, &program, (int)kind, none) == 0, "host");
    CHECK(kn_rt_device_present(rt, &program, (int)kind, there1) == 1, "a copy on a device");
    CHECK(kn_rt_set_place(rt, KN_ON_DEVICE) == KN_OK && kn_rt_device_present(rt, &program, 0, none) == 1, "device");
    check_error(kn_rt_set_place(rt, (kn_place)3), KN_ERROR_ARGUMENT, "there is no place 3");
    CHECK(kn_rt_set_place(rt, KN_ANYWHERE) == KN_OK && kn_rt_device_present(rt, &program, 0, none) == 0, "anywhere");
    setenv("KN_PLACE", "host", 1);
    CHECK(kn_rt_device_present(rt, &program, (int)kind, none) == 0, "the environment's host");
    setenv("KN_PLACE", "device", 1);
    CHECK(kn_rt_device_present(rt, &program, 0, none) == 1, "the environment's device");
    setenv("KN_PLACE", "gpu", 1);
    CHECK(kn_rt_device_present(rt, &program, (int)kind, none) == -1, "no place");
    check_error(KN_ERROR_ARGUMENT, KN_ERROR_ARGUMENT, "KN_PLACE of the environment is `gpu`; it can be host or device");
    unsetenv("KN_PLACE");
    kn_rt_destroy(rt);
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

/* Blocks with more shared memory than a text may declare; the third time as a graph. */
static void test_asked(void)
{
    kn_rt_kernel  rows[] = { both_kernels[0], both_kernels[1] };
    kn_rt_kernels asking = kernels;
    kn_buffer     in = view(&shapes[1], in_store), out = view(&shapes[6], out_store);
    asking.kernels = rows;
    for (int i = 0; i < 2; i++)
        rows[i].shared_bytes = 90 << 10;
    for (int i = 0; i < 3 && kind == KN_DEVICE_CUDA; i++) {
        fill(in_store, 1);
        fill(out_store, 2);
        CHECK(!run_on(NULL, &program, &asking, &in, &out, false) && right(&in, &out, out_store, 2, false), "%s",
              kn_rt_last_error());
    }
    kn_rt_device_forget(&asking);
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
    static const char *const funcs[]  = { "out" };
    const kn_rt_program      profiled = { "profiled", COUNT(ports), ports, 1, funcs };
    kn_rt                   *rt       = kn_rt_new(NULL);
    char                     text[2000];
    kn_rt_profile_enter(rt, &profiled, 0);
    CHECK(!run_on(rt, &profiled, &kernels, &in, &out, false), "%s", kn_rt_last_error());
    kn_rt_profile_leave(rt, &profiled, 0);
    kn_rt_profile_report(rt, text, sizeof text);
    CHECK(strstr(text, " ms in kernels\n") && strstr(text, "  1  scale: 54 blocks of 64 threads") &&
              strstr(text, "  1  mix_them: 44 blocks of 128 threads"),
          "%s", text);
    printf("%s", text);
    kn_rt_profile_reset(rt);
    CHECK(!run_on(rt, &profiled, &kernels, &in, &out, false), "%s", kn_rt_last_error());
    kn_rt_profile_report(rt, text, sizeof text);
    CHECK(!strncmp(text, "profiled: ", 10) && strstr(text, " ms in kernels\n") && !strstr(text, "function"), "%s",
          text);
    kn_rt_profile_reset(rt);
    CHECK(!kn_rt_profile_report(rt, text, sizeof text), "forgotten");
    kn_rt_destroy(rt);
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

/* Two GPUs by turns, in one thread. */
static void test_two(void)
{
    kn_device *d[] = { kn_device_default(kind), kn_device_open(kind, 1) };
    kn_buffer  in[2], out[2];
    if (!d[1]) {
        printf("skipped: two devices: %s\n", kn_rt_last_error());
        return;
    }
    fill(in_store, 1);
    for (int i = 0; i < 2; i++) {
        in[i]  = view(&shapes[1], in_store);
        out[i] = view(&shapes[6 + i], out_store);
        CHECK(!kn_copy_to_device(d[i], &in[i]) && !kn_buffer_alloc_device(&out[i], d[i]), "%s", kn_rt_last_error());
    }
    check_error(run(&in[0], &out[1]), KN_ERROR_ARGUMENT, "are on different devices");
    for (int i = 0; i < 8; i++) {
        CHECK(!run(&in[i % 2], &out[i % 2]), "%s", kn_rt_last_error());
        if (i < 4)
            continue;
        fill(out_store, 2);
        CHECK(!kn_copy_to_host(&out[i % 2]) && right(&in[0], &out[i % 2], out_store, 2, false), "%s",
              kn_rt_last_error());
    }
    for (int i = 0; i < 2; i++) {
        kn_buffer_free_device(&in[i]);
        kn_buffer_free_device(&out[i]);
    }
    kn_device_close(d[1]);
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

/* A device whose memory is full: the call says so, and works when there is some again. */
static void test_full(void)
{
    enum { MOST = 4096 };
    kn_device *d    = kn_device_default(kind);
    kn_buffer *held = calloc(MOST, sizeof *held), in = view(&shapes[0], in_store), out = view(&shapes[0], out_store);
    int        n = 0;
    kn_device_set_cache_limit(d, 0);
    for (int64_t bytes = (int64_t)d->info.memory; bytes >= 512; bytes /= 2)
        for (bool more = true; more && n < MOST; n += more) {
            held[n] = (kn_buffer){ .type = KN_U8, .rank = 2, .dim = { { 0, 256, 1 }, { 0, (int)(bytes / 256), 256 } } };
            more    = kn_buffer_alloc_device(&held[n], d) == KN_OK;
        }
    fill(in_store, 1);
    fill(out_store, 2);
    check_error(run(&in, &out), KN_ERROR_LIMIT, "out of device memory: no ");
    printf("%s\n", kn_rt_last_error());
    CHECK(out_store[100] == 702, "the output is as before");
    for (int i = 0; i < n; i++)
        kn_buffer_free_device(&held[i]);
    CHECK(!run(&in, &out) && right(&in, &out, out_store, 2, false), "%s", kn_rt_last_error());
    kn_device_set_cache_limit(d, 1 << 28);
    free(held);
}

/* A kernel that writes nowhere ends CUDA in this process: said at once, and from then on. */
static void test_stray(void)
{
    const kn_rt_kernels strays = { KN_RT_CUDA, 1, stray_text, NULL, stray_kernel, 0, 0, NULL };
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
    kn_device *next = kn_device_open(kind, 0);
    printf("a device opened after that: %s\n", next ? "works" : kn_rt_last_error());
    kn_device_close(next);
    CHECK(in_store[100] == 701, "the host's data is intact");
}

int main(int count, char **words)
{
    if (count > 1 && strcmp(words[1], "cuda") == 0) {
        kind    = KN_DEVICE_CUDA;
        kernels = (kn_rt_kernels){ KN_RT_CUDA, COUNT(both_kernels), ptx_text, NULL, both_kernels, 0, 0, NULL };
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
    if (count > 2 && strcmp(words[2], "speed") == 0) {
        measure(in_store, out_store);
        return check_done();
    }
    test_shapes();
    test_dense_ports();
    test_empty();
    test_resident();
    test_wrapped();
    test_cache();
    test_mistakes();
    test_present();
    test_place();
    test_instances();
    test_repeated();
    test_two();
    test_asked();
    test_measured();
    test_failures();
    test_threads();
    test_fork();
    if (kind == KN_DEVICE_CUDA) {
        test_full();
        test_stray();
    }
    return check_done();
}
