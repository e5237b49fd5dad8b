/* SPDX-License-Identifier: MIT */
/* Calibrating a device: the rates that the model of kernels needs, measured by kernels of our own.
 *
 * Takes   the device at hand, through the runtime; what its driver tells of it.
 * Gives   lines gpu_…= that machine_parse reads (schedulers/model/device.h), with what was measured as comments.
 * How     Small pipelines with schedules, each bound by one thing: a copy beyond the L2 cache and one inside it, shared
 *         memory, fused multiplications and additions, atomics, a chain of dependent loads, and a kernel without work.
 *         Data stay on the device; a time is that of several calls that are waited for together, the least of a few.
 * Holds   shared memory and atomics have no line: the model takes both from the clock. */
#include "api/compile.h"

#include <math.h>
#include <stdio.h>
#include <time.h>

enum { STEPS = 2048 /* of a fused operation */, TAPS = 64, LOADS = 512 /* of the chain */, BATCHES = 5 };
enum { MOST_THREADS = 1024 /* of a block, that a machine may have (machine.c) */ };

typedef struct Probe {
    const char *what;
    const char *program, *schedule;
    bool        chain; /* an element of the input is the place of another */
} Probe;

typedef enum ProbeId { COPY, CACHED, FUSED, SHARED, ATOMIC, CHAIN, LAUNCH, PROBES } ProbeId;

#define COPY_PROGRAM "input in : f32(x, y) output out out(x, y) = in(x, y)"
#define COPY_SCHEDULE                                                                                                  \
    "out.split(x, xo, xi, 512).split(xi, xt, xe, 4).split(y, yo, yi, 4).reorder(xe, yi, xt, xo, yo)"                   \
    ".gpu_blocks(xo, yo).gpu_threads(xt).unroll(xe)"

static const Probe probes[PROBES] = {
    [COPY]   = { "memory", COPY_PROGRAM, COPY_SCHEDULE, false },
    [CACHED] = { "L2 cache", COPY_PROGRAM, COPY_SCHEDULE, false },
    [FUSED]  = { "fused operations",
                 "param a : f32 = 0.999 param b : f32 = 0.5 input in : f32(x, y) output out f(x, y) = in(x, y) "
                  "f(x, y) = f(x, y) * a + b for k in 0..2048 out(x, y) = f(x, y)",
                 "out.split(x, xo, xi, 512).split(xi, xt, xe, 4).reorder(xe, xt, xo, y).gpu_blocks(xo, y)"
                  ".gpu_threads(xt).unroll(xe) f.compute_at(out, xt).store_in(register).unroll(x, 4) "
                  "f.update(0).reorder(x, y, k).unroll(x, 4)",
                 false },
    [SHARED] = { "shared memory",
                 "input in : f32(x, y) output out s(x, y) = edge(in)(x, y) "
                 "out(x, y) = sum(s(x + i, y) for i in 0..64)",
                 "out.split(x, xo, xt, 256).split(y, yo, yi, 4).reorder(xt, yi, xo, yo).gpu_blocks(xo, yo)"
                 ".gpu_threads(xt, yi) out.sum.inline() s.compute_at(out, xo).gpu_threads(x, y)",
                 false },
    [ATOMIC] = { "atomics",
                 "input in : f32(x, y) output out n(x, y) = 0 "
                 "n(i32(clamp(in(u, v) * 4096, 0, 4095)), 0) += 1 for v in 0..in.height, u in 0..in.width "
                 "out(x, y) = f32(n(clamp(x, 0, 4095), 0))",
                 "n.compute_root().split(x, xo, xi, 256).gpu_blocks(xo, y).gpu_threads(xi) "
                 "n.update(0).split(u, uo, ui, 256).reorder(ui, uo, v).gpu_blocks(uo, v).gpu_threads(ui).atomic() "
                 "out.split(x, xo, xi, 256).gpu_blocks(xo, y).gpu_threads(xi)",
                 false },
    [CHAIN]  = { "a load from memory",
                 "input in : i32(x, y) output out f(x, y) = x "
                  "f(x, y) = in(clamp(f(x, y), 0, in.width - 1), 0) for k in 0..512 out(x, y) = f32(f(x, y))",
                 "out.split(x, xo, xi, 2).gpu_blocks(xo, y).gpu_threads(xi) f.compute_at(out, xi).store_in(register)",
                 true },
    [LAUNCH] = { "a launch", "input in : f32(x, y) output out out(x, y) = in(x, y)",
                 "out.split(x, xo, xi, 32).gpu_blocks(xo, y).gpu_threads(xi)", false },
};

typedef struct DeviceCalibration {
    kn_context           *cx;
    const char           *target;
    kn_device            *device;
    const kn_device_info *info;
    double                ns[PROBES];   /* of a call */
    double                work[PROBES]; /* of a call: bytes, operations, loads */
    kn_device_speed       copies;
    const char           *text;
} DeviceCalibration;

static double seconds_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* ---- Sizes --------------------------------------------------------------------------------------- */

/* Elements of 4 bytes along x and y: what exceeds each cache, or fits it, and a memory that is small. */
static void size_of(const DeviceCalibration *c, ProbeId id, int32_t *size)
{
    const double most = fmin(256e6, (double)c->info->memory / 16), cache = (double)c->info->cache;
    const double bytes[PROBES] = { [COPY]   = most,
                                   [CACHED] = fmin(cache > 0 ? cache / 4 : 4e6, most),
                                   [FUSED]  = fmin(16e6, most),
                                   [SHARED] = fmin(32e6, most),
                                   [ATOMIC] = fmin(32e6, most),
                                   [CHAIN]  = most,
                                   [LAUNCH] = 4 * 32 };
    const bool   row           = id == CHAIN || id == LAUNCH;
    const int    side          = (int)(sqrt(bytes[id] / 4) / 512) * 512;
    size[0]                    = row ? (int32_t)(bytes[id] / 4) : side > 512 ? side : 512;
    size[1]                    = row ? 1 : size[0];
}

/* What a call does: bytes read and written, or operations. */
static double work_of(ProbeId id, const int32_t *size)
{
    const double points = (double)size[0] * size[1];
    return id == FUSED    ? points * STEPS
           : id == SHARED ? 4 * points * TAPS
           : id == ATOMIC ? points
           : id == CHAIN  ? LOADS
           : id == LAUNCH ? 1
                          : 8 * points;
}

/* ---- Times --------------------------------------------------------------------------------------- */

/* The least ns of a call of some batches, after one that loads the kernels; 0 after an error. */
static double best_time(const DeviceCalibration *c, kn_module *module, const kn_arg *args, int count)
{
    double best = INFINITY;
    int    runs = 1;
    for (int batch = 0; batch <= BATCHES; batch++) {
        const double begin = seconds_now();
        for (int i = 0; i < runs; i++)
            if (kn_run(module, args, count) != KN_OK)
                return 0;
        if (kn_device_sync(c->device) != KN_OK)
            return 0;
        const double each = (seconds_now() - begin) / runs;
        best              = batch > 1 && each < best ? each : best;
        runs              = batch == 0 ? 3 : batch == 1 ? (int)fmin(fmax(0.03 / each, 3), 1000) : runs;
    }
    return 1e9 * best;
}

static kn_buffer port_of(kn_type type, const int32_t *size)
{
    return (kn_buffer){ .type = type,
                        .rank = 2,
                        .dim  = { { .extent = size[0], .stride = 1 }, { .extent = size[1], .stride = size[0] } } };
}

static bool fill_input(const DeviceCalibration *c, const Probe *probe, kn_buffer *in)
{
    static const char *const dims[] = { "x", "y" };
    char                     formula[80];
    if (kn_buffer_alloc(c->cx, in) != KN_OK)
        return false;
    if (probe->chain) {
        snprintf(formula, sizeof formula, "(x * 16661 + 92821) %% %d", (int)in->dim[0].extent);
        return kn_fill(c->cx, in, dims, formula) == KN_OK;
    }
    return kn_fill_noise(c->cx, in, 1) == KN_OK;
}

/* Ports of one probe on the device, and its time; false after an error. */
static bool measure_on(DeviceCalibration *c, ProbeId id, kn_module *module)
{
    const Probe  *probe  = &probes[id];
    const int32_t few[2] = { id == CHAIN ? 2 : 4096, 1 };
    int32_t       size[2];
    size_of(c, id, size);
    kn_buffer  in   = port_of(id == CHAIN ? KN_I32 : KN_F32, size);
    kn_buffer  out  = port_of(KN_F32, id == CHAIN || id == ATOMIC ? few : size);
    const bool fine = fill_input(c, probe, &in) && kn_copy_to_device(c->device, &in) == KN_OK &&
                      kn_buffer_alloc_device(&out, c->device) == KN_OK;
    if (fine) {
        c->work[id]         = work_of(id, size);
        const kn_arg args[] = { { .name = "in", .buffer = &in }, { .name = "out", .buffer = &out } };
        c->ns[id]           = best_time(c, module, args, 2);
    }
    kn_buffer_free_device(&in);
    kn_buffer_free_device(&out);
    kn_buffer_free(c->cx, &in);
    return c->ns[id] > 0;
}

static bool measure_probe(DeviceCalibration *c, ProbeId id)
{
    kn_pipeline *p  = kn_parse(c->cx, probes[id].what, probes[id].program, -1);
    bool         ok = p && kn_schedule_parse(p, "probe", probes[id].schedule, -1) == KN_OK;
    kn_module   *m  = ok ? kn_compile(p, &(kn_options){ .target = c->target }) : NULL;
    ok              = m && measure_on(c, id, m);
    kn_pipeline_free(p);
    return ok;
}

/* ---- The text ------------------------------------------------------------------------------------ */

/* Operations on f32 that a multiprocessor begins in a cycle (CUDA's programming guide, arithmetic instructions). */
static int lanes_of(const char *capability)
{
    static const struct {
        const char *capability;
        int         lanes;
    } rows[] = { { "3.", 192 }, { "6.0", 64 }, { "7.", 64 }, { "8.0", 64 } };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (!strncmp(capability, rows[i].capability, strlen(rows[i].capability)))
            return rows[i].lanes;
    return 128;
}

static void add_line(Text *out, const char *name, double value)
{
    if (value > 0)
        text_printf(out, "gpu_%s=%.10g\n", name, value);
}

static double rate(const DeviceCalibration *c, ProbeId id)
{
    return c->work[id] / c->ns[id];
}

static void write_device(void *arg)
{
    DeviceCalibration    *c     = arg;
    const kn_device_info *info  = c->info;
    const int             lanes = lanes_of(info->capability);
    const double          host  = 2 / (1 / c->copies.to_device + 1 / c->copies.to_host) * 1e-9;
    Text                  out;
    text_init(&out, &c->cx->call);
    text_printf(&out, "// %s, %s, %s, by kiln calibrate --target %s.\n", info->name, info->capability, info->driver,
                c->target);
    text_printf(&out, "// A copy reaches %.4g bytes a ns, one inside the L2 cache %.4g, shared memory %.4g.\n",
                rate(c, COPY), rate(c, CACHED), rate(c, SHARED));
    text_printf(&out, "// Fused operations: %.4g a ns; atomic additions: %.4g; a launch behind another: %.4g ns.\n",
                rate(c, FUSED), rate(c, ATOMIC), c->ns[LAUNCH]);
    add_line(&out, "sms", info->multiprocessors);
    add_line(&out, "sm_threads", info->sm_threads);
    add_line(&out, "sm_blocks", info->sm_blocks);
    add_line(&out, "block_threads", fmin(info->most_threads, MOST_THREADS));
    add_line(&out, "sm_registers", info->sm_registers);
    add_line(&out, "sm_shared", (double)info->sm_memory);
    add_line(&out, "block_shared", (double)info->block_memory);
    add_line(&out, "block_reserved", (double)info->reserved_memory);
    add_line(&out, "l2", (double)info->cache);
    add_line(&out, "lanes", lanes);
    add_line(&out, "clock", rate(c, FUSED) / lanes / info->multiprocessors);
    add_line(&out, "memory_rate", rate(c, COPY));
    add_line(&out, "l2_rate", fmax(rate(c, CACHED), rate(c, COPY)));
    add_line(&out, "latency", (c->ns[CHAIN] - c->ns[LAUNCH]) / LOADS);
    add_line(&out, "launch", c->ns[LAUNCH]);
    add_line(&out, "host_rate", host);
    c->text = text_string(&out);
}

/* ---- The call ------------------------------------------------------------------------------------ */

static bool open_device(DeviceCalibration *c)
{
    const int kind = kn_target_device(c->target);
    if (kind <= 0) {
        diag_status(c->cx, KN_ERROR_ARGUMENT, "the target %s has no device: cuda and opencl have one",
                    c->target ? c->target : "host");
        return false;
    }
    c->device = kn_device_default((kn_device_kind)kind);
    if (!c->device) {
        diag_status(c->cx, KN_ERROR_DEVICE, "no device can be measured: %s", kn_rt_last_error());
        return false;
    }
    c->info = kn_device_describe(c->device);
    return true;
}

static void fail_with_runtime(DeviceCalibration *c, const char *what)
{
    if (!c->cx->error_count)
        diag_status(c->cx, KN_ERROR_DEVICE, "%s could not be measured: %s", what, kn_rt_last_error());
}

static void measure_device(DeviceCalibration *c, int (*progress)(void *user, int done, int all), void *user)
{
    for (int i = 0; i < PROBES; i++) {
        if (progress && !progress(user, i, PROBES)) {
            diag_status(c->cx, KN_ERROR_LIMIT, "stopped before everything was measured");
            return;
        }
        if (!measure_probe(c, (ProbeId)i)) {
            fail_with_runtime(c, probes[i].what);
            return;
        }
    }
    if (kn_device_measure(c->device, &c->copies) != KN_OK) {
        fail_with_runtime(c, "copies");
        return;
    }
    context_begin(c->cx);
    context_try(c->cx, write_device, c);
}

const char *kn_calibrate_device(kn_context *cx, const char *target, int (*progress)(void *user, int done, int all),
                                void *user)
{
    if (!cx)
        return NULL;
    DeviceCalibration c = { .cx = cx, .target = target };
    context_begin(cx);
    if (open_device(&c))
        measure_device(&c, progress, user);
    return cx->status ? NULL : c.text;
}
