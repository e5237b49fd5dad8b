/* SPDX-License-Identifier: MIT */
/* Buffers of more elements than indices of 32 bits reach, on a driver that notes what it is given and runs nothing: the
 * kernels for them are compiled, and loaded, when a call first needs them, and launches of one call may need both. */
#include "check.h"

#include "kiln.h"
#include "runtime/device_parts.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* ---- The driver ------------------------------------------------------------------------- */

static char     notes[1000];
static uint64_t next_memory = 4096;

static void note(const char *format, ...)
{
    const size_t n = strlen(notes);
    va_list      args;
    va_start(args, format);
    vsnprintf(notes + n, sizeof notes - n, format, args);
    va_end(args);
}

/* Both forms of a kernel are called alike. */
static const char *form(const kn_rt_kernels *k)
{
    return k->most_elements ? "small" : "large";
}

static int count_(int *count, DeviceError *error)
{
    (void)error;
    *count = 1;
    return 0;
}

static int open_(int index, void **state, kn_device_info *info, DeviceError *error)
{
    (void)index, (void)error;
    *state               = NULL;
    info->most_threads   = 1024;
    info->most_blocks[0] = info->most_blocks[1] = info->most_blocks[2] = INT32_MAX;
    return 0;
}

static void close_(void *state)
{
    (void)state;
}

static int alloc_(void *state, size_t bytes, uint64_t *memory, DeviceError *error)
{
    (void)state, (void)error;
    *memory = next_memory;
    next_memory += (bytes + 4095) / 4096 * 4096;
    return 0;
}

static void free_(void *state, uint64_t memory)
{
    (void)state, (void)memory;
}

static int copy_(void *state, const DeviceCopy *copy, DeviceError *error)
{
    (void)state, (void)copy, (void)error;
    return 0;
}

static int load_(void *state, const kn_rt_kernels *k, void **module, DeviceError *error)
{
    (void)state, (void)error;
    note("load %s%s\n", form(k), strstr(k->text, "mad.lo.s64") || strstr(k->text, "mul.lo.s64") ? " s64" : "");
    *module = (void *)(uintptr_t)k->text;
    return 0;
}

static void unload_(void *state, void *module)
{
    (void)state, (void)module;
    note("unload\n");
}

static int run_(void *state, const DeviceBatch *batch, double *seconds, DeviceError *error)
{
    const uint64_t *words = batch->words;
    (void)state, (void)seconds, (void)error;
    CHECK(batch->module == (const void *)batch->kernels->text, "the module of the kernels");
    note("run %s", form(batch->kernels));
    for (int i = 0; i < batch->count; i++) {
        const kn_rt_kernel *k = &batch->kernels->kernels[words[LAUNCH_KERNEL]];
        note(" %s", k->name);
        words += kn_rt_launch_words(k);
    }
    note("\n");
    return 0;
}

static int sync_(void *state, DeviceError *error)
{
    (void)state, (void)error;
    return 0;
}

static const DeviceOps noting = { .name      = "CUDA",
                                  .addresses = true,
                                  .count     = count_,
                                  .open      = open_,
                                  .close     = close_,
                                  .alloc     = alloc_,
                                  .free      = free_,
                                  .copy      = copy_,
                                  .load      = load_,
                                  .unload    = unload_,
                                  .run       = run_,
                                  .sync      = sync_ };

/* ---- Calls ------------------------------------------------------------------------------ */

/* `row` stays small whatever the size of `out`. */
static const char text[]     = "input  in : u8(x, y)\n"
                               "input  k : u8(x)\n"
                               "output out\n"
                               "row(x)    = k(x) / 2\n"
                               "out(x, y) = row(x) + in(x, y)\n";
static const char schedule[] = "row.split(x, xo, xi, 64).gpu_blocks(xo).gpu_threads(xi)\n"
                               "out.gpu_tile(x, y, xo, yo, xi, yi, 32, 8)\n";

/* Runs a module with an output of that size, all memory on the device. */
static void call(kn_context *cx, kn_module *m, int width, int height, const char *expected)
{
    kn_device     *d  = kn_device_default(KN_DEVICE_CUDA);
    kn_buffer      in = kn_buffer_dense(NULL, KN_U8, 2, (int32_t[]){ width, height }), k = in, out = in;
    const kn_arg   args[] = { { "in", .buffer = &in }, { "k", .buffer = &k }, { "out", .buffer = &out } };
    const uint64_t bytes = (uint64_t)width * (uint64_t)height, at = (uint64_t)1 << 40;
    notes[0] = 0;
    k.rank   = 1;
    CHECK(d && !kn_buffer_wrap_device(&in, d, at) && !kn_buffer_wrap_device(&out, d, at + bytes) &&
              !kn_buffer_wrap_device(&k, d, at + 2 * bytes),
          "%s", kn_rt_last_error());
    CHECK(kn_run(m, args, 3) == KN_OK && !kn_interpreted(m), "%s", kn_error_text(cx));
    CHECK(!strcmp(notes, expected), "%dx%d:\n%s, not\n%s", width, height, notes, expected);
}

int main(void)
{
    kn_rt_device_ops[KN_DEVICE_CUDA] = &noting;
    kn_context  *cx                  = kn_context_new(NULL);
    kn_pipeline *p                   = kn_parse(cx, "large.kiln", text, -1);
    CHECK(p && kn_schedule_parse(p, "large.sched", schedule, -1) == KN_OK, "%s", kn_error_text(cx));
    kn_module *m = kn_compile(p, &(kn_options){ .target = "cuda" });
    CHECK(m, "%s", kn_error_text(cx));
    if (m) {
        call(cx, m, 64, 64, "load small\nrun small k_row_0 k_out_1\n");
        call(cx, m, 65536, 32765, "run small k_row_0 k_out_1\n");
        call(cx, m, 65536, 32768, "unload\nload small\nrun small k_row_0\nload large s64\nrun large k_out_1\n");
        call(cx, m, 65536, 32768, "run small k_row_0\nrun large k_out_1\n");
        call(cx, m, 64, 64, "run small k_row_0 k_out_1\n");
    }
    notes[0] = 0;
    kn_context_free(cx);
    CHECK(!strcmp(notes, "unload\nunload\n"), "%s", notes);
    return check_done();
}
