/* SPDX-License-Identifier: MIT */
/* What a user does with devices, on OpenCL: where there is no driver every function says so. */
#include "api.h"

#include "../unit/opencl_leaks.h"

#include <string.h>

static void test_without(void)
{
    CHECK(!kn_device_open(KN_DEVICE_OPENCL, 0) && *kn_rt_last_error(), "says why");
    CHECK(!kn_device_default(KN_DEVICE_OPENCL) && *kn_rt_last_error(), "says why");
    CHECK(!kn_device_describe(NULL) && !kn_device_context(NULL), "of no device");
    kn_device_close(NULL);
}

static void test_copies(kn_device *d)
{
    float         values[12], more[12];
    const int32_t extents[] = { 4, 3 };
    kn_buffer     b = kn_buffer_dense(values, KN_F32, 2, extents), same = kn_buffer_dense(more, KN_F32, 2, extents);
    for (int i = 0; i < 12; i++)
        values[i] = (float)i;
    CHECK(kn_copy_to_device(d, &b) == KN_OK && b.device == d && b.flags == 0, "%s", kn_rt_last_error());
    memset(values, 0, sizeof values);
    CHECK(kn_copy_to_host(&b) == KN_OK && values[5] == 0, "the copies were said to be equal");
    b.flags = KN_DEVICE_NEWER;
    CHECK(kn_copy_to_host(&b) == KN_OK && values[5] == 5 && b.flags == 0, "%s", kn_rt_last_error());

    CHECK(kn_buffer_wrap_device(&same, d, b.handle) == KN_OK && same.flags == KN_DEVICE_NEWER, "%s",
          kn_rt_last_error());
    CHECK(kn_copy_to_host(&same) == KN_OK && more[11] == 11, "%s", kn_rt_last_error());
    kn_buffer_free_device(&same);
    CHECK(!same.device && !same.handle && !same.flags, "forgotten");
    kn_buffer_free_device(&b);
    CHECK(!b.device && !b.handle, "freed");

    CHECK(kn_buffer_alloc_device(&b, d) == KN_OK && b.handle && !b.flags, "%s", kn_rt_last_error());
    CHECK(kn_buffer_alloc_device(&b, d) == KN_ERROR_ARGUMENT && strstr(kn_rt_last_error(), "kn_buffer_free_device"),
          "%s", kn_rt_last_error());
    kn_buffer_free_device(&b);
    kn_buffer_free_device(NULL);
}

static void test_queue(kn_device *d)
{
    const kn_device_info *info = kn_device_describe(d);
    uint64_t              left = 0;
    CHECK(info && info->kind == KN_DEVICE_OPENCL && *info->name && info->memory && info->most_threads > 0, "described");
    CHECK(kn_device_context(d) != NULL, "a context");
    CHECK(kn_device_free_memory(d, &left) == KN_OK && left > 0, "%s", kn_rt_last_error());
    CHECK(kn_device_set_cache_limit(d, 0) == KN_OK, "%s", kn_rt_last_error());
    CHECK(kn_device_sync(d) == KN_OK && kn_device_set_stream(d, NULL) == KN_OK, "%s", kn_rt_last_error());
    kn_device_speed   speed;
    kn_kernel_profile profile;
    CHECK(kn_device_measure(d, &speed) == KN_OK && speed.inside > 0, "%s", kn_rt_last_error());
    CHECK(kn_device_set_profile(d, true) == KN_OK && !kn_device_profile_get(d, 0, &profile), "nothing ran yet");
    CHECK(kn_rt_set_device(NULL, d) == KN_OK && kn_rt_set_device(NULL, NULL) == KN_OK, "%s", kn_rt_last_error());
}

/* A module for OpenCL: on buffers of the host, and on data that stays on the device. */
static void test_module(kn_device *d)
{
    uint16_t     values[32 * 32], result[30 * 30], again[30 * 30];
    kn_context  *cx = kn_context_new(NULL);
    kn_pipeline *p  = kn_parse(cx, "blur.kiln", blur_text, -1);
    kn_module   *m = kn_compile(p, &(kn_options){ .target = "opencl" }), *host = kn_compile(p, NULL);
    kn_buffer    in  = kn_buffer_dense(values, KN_U16, 2, (int32_t[]){ 32, 32 });
    kn_buffer    out = kn_buffer_dense(result, KN_U16, 2, (int32_t[]){ 30, 30 }), there = out;
    const kn_arg args[] = { { "in", .buffer = &in }, { "out", .buffer = &out } },
                 far[]  = { { "in", .buffer = &in }, { "out", .buffer = &there } };
    there.data          = again;
    for (int i = 0; i < 2; i++)
        out.dim[i].min = there.dim[i].min = 1;
    for (int i = 0; i < 32 * 32; i++)
        values[i] = (uint16_t)(i * 37 % 1001);
    CHECK(m && host, "%s", kn_error_text(cx));
    CHECK(kn_run(host, args, 2) == KN_OK, "%s", kn_error_text(cx));
    CHECK(kn_run(m, far, 2) == KN_OK && !memcmp(result, again, sizeof result), "%s", kn_error_text(cx));
    CHECK(kn_copy_to_device(d, &in) == KN_OK && kn_buffer_alloc_device(&there, d) == KN_OK, "%s", kn_rt_last_error());
    memset(values, 0, sizeof values);
    memset(again, 0, sizeof again);
    for (int i = 0; i < 2; i++)
        CHECK(kn_run(m, far, 2) == KN_OK && there.flags == KN_DEVICE_NEWER && !again[7], "%s", kn_error_text(cx));
    CHECK(kn_run(host, far, 2) == KN_ERROR_ARGUMENT && strstr(kn_error_text(cx), "copy it to the host first"), "%s",
          kn_error_text(cx));
    CHECK(kn_copy_to_host(&there) == KN_OK && !memcmp(result, again, sizeof result), "%s", kn_rt_last_error());
    there.data = in.data = NULL;
    CHECK(kn_run(m, far, 2) == KN_OK, "without memory on the host: %s", kn_error_text(cx));
    there.data = again;
    memset(again, 0, sizeof again);
    CHECK(kn_copy_to_host(&there) == KN_OK && !memcmp(result, again, sizeof result), "%s", kn_rt_last_error());
    kn_device *other = kn_device_open(KN_DEVICE_OPENCL, 0);
    kn_buffer_free_device(&there);
    CHECK(kn_buffer_alloc_device(&there, other) == KN_OK && kn_run(m, far, 2) == KN_ERROR_ARGUMENT &&
              strstr(kn_error_text(cx), "different devices"),
          "%s", kn_error_text(cx));
    kn_buffer_free_device(&there);
    kn_buffer_free_device(&in);
    kn_device_close(other);
    kn_context_free(cx);
}

/* A device or else the host: the same values, wherever it runs. */
static void test_places(void)
{
    static const char *const targets[] = { "host-opencl", "host-cuda" }, *const places[] = { "", "host" };
    uint16_t     values[32 * 32], result[30 * 30], again[30 * 30];
    kn_context  *cx     = kn_context_new(NULL);
    kn_pipeline *p      = kn_parse(cx, "blur.kiln", blur_text, -1);
    kn_buffer    in     = kn_buffer_dense(values, KN_U16, 2, (int32_t[]){ 32, 32 });
    kn_buffer    out    = kn_buffer_dense(result, KN_U16, 2, (int32_t[]){ 30, 30 });
    const kn_arg args[] = { { "in", .buffer = &in }, { "out", .buffer = &out } };
    out.dim[0].min = out.dim[1].min = 1;
    for (int i = 0; i < 32 * 32; i++)
        values[i] = (uint16_t)(i * 37 % 1001);
    CHECK(kn_rt_last_place() == KN_ANYWHERE, "nothing was called");
    CHECK(kn_run(kn_compile(p, NULL), args, 2) == KN_OK, "%s", kn_error_text(cx));
    out.data = again;
    for (int i = 0; i < 4; i++) {
        setenv("KN_PLACE", places[i % 2], 1);
        memset(again, 0, sizeof again);
        kn_module *m = kn_compile(p, &(kn_options){ .target = targets[i / 2] });
        CHECK(m && kn_run(m, args, 2) == KN_OK && !memcmp(result, again, sizeof result), "%s, %s: %s", targets[i / 2],
              places[i % 2], kn_error_text(cx));
    }
    unsetenv("KN_PLACE");
    CHECK(kn_rt_set_place(NULL, KN_ON_HOST) == KN_OK && kn_rt_set_place(NULL, KN_ANYWHERE) == KN_OK, "places");
    CHECK(kn_rt_set_place(NULL, (kn_place)7) == KN_ERROR_ARGUMENT && strstr(kn_rt_last_error(), "no place 7"), "%s",
          kn_rt_last_error());
    kn_context_free(cx);
}

int main(void)
{
    test_places();
    CHECK(kn_target_device("cuda") == KN_DEVICE_CUDA && kn_target_device("opencl") == KN_DEVICE_OPENCL, "devices");
    CHECK(!kn_target_device(NULL) && !kn_target_device("x86-64") && !kn_target_device("toaster"), "no devices");
    const int count = kn_device_count(KN_DEVICE_OPENCL);
    CHECK(count >= 0, "%d devices", count);
    if (count == 0) {
        printf("without a device: %s\n", kn_rt_last_error());
        test_without();
        return check_done();
    }
    CHECK(kn_device_default(KN_DEVICE_OPENCL), "%s", kn_rt_last_error());
    kn_device *d = kn_device_open(KN_DEVICE_OPENCL, 0);
    CHECK(d, "%s", kn_rt_last_error());
    if (d) {
        test_copies(d);
        test_queue(d);
        test_module(d);
    }
    kn_device_close(d);
    return check_done();
}
