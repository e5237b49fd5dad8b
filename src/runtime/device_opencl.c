/* SPDX-License-Identifier: MIT */
/* OpenCL devices, through the ICD loader's library.
 *
 * The declarations here are those few of OpenCL 1.2 that are used, so that no header of it is needed to build. A device
 * is a context of its own with one queue in order; its memory objects, its programs. Handles are cl_mem, which cannot
 * be pointed into: DeviceArgument.first.
 */
#include "runtime/device_parts.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef struct ClAny *ClObject; /* any of the interface's handles */

enum {
    CL_OK                 = 0,
    CL_ALLOCATION_FAILURE = -4,
    CL_NO_RESOURCES       = -5,
    CL_NO_HOST_MEMORY     = -6,
    CL_BUILD_FAILURE      = -11,
    CL_BAD_BUFFER_SIZE    = -61,
    CL_GPU_OR_OTHER       = 1 << 2 | 1 << 3, /* device types: GPU, accelerator */
    CL_CPU                = 1 << 1,
    CL_GPU                = 1 << 2,
    CL_PROGRAM_LOG        = 0x1183,
    CL_INFO_TYPE          = 0x1000,
    CL_INFO_COMPUTE_UNITS = 0x1002,
    CL_INFO_MOST_THREADS  = 0x1004,
    CL_INFO_MEMORY        = 0x101F,
    CL_INFO_BLOCK_MEMORY  = 0x1023,
    CL_INFO_NAME          = 0x102B,
    CL_INFO_DRIVER        = 0x102D,
    CL_INFO_VERSION       = 0x102F,
    MOST_CL_PLATFORMS     = 16,
    MOST_CL_DEVICES       = 64,
    CL_LOG_SIZE           = DEVICE_ERROR_SIZE - 200
};

/* Result, name, parameters. */
/* clang-format off */
#define CL_FUNCTIONS(F)                                                                                                \
    F(int, clGetPlatformIDs, (unsigned room, ClObject *platforms, unsigned *count))                                    \
    F(int, clGetDeviceIDs, (ClObject platform, uint64_t type, unsigned room, ClObject *found, unsigned *count))        \
    F(int, clGetDeviceInfo, (ClObject device, unsigned what, size_t room, void *value, size_t *size))                  \
    F(ClObject, clCreateContext, (const intptr_t *properties, unsigned count, const ClObject *of,                      \
                                  void (*notify)(const char *, const void *, size_t, void *), void *user, int *error)) \
    F(int, clReleaseContext, (ClObject context))                                                                       \
    F(ClObject, clCreateCommandQueue, (ClObject context, ClObject device, uint64_t properties, int *error))            \
    F(int, clReleaseCommandQueue, (ClObject queue))                                                                    \
    F(ClObject, clCreateBuffer, (ClObject context, uint64_t flags, size_t bytes, void *host, int *error))              \
    F(int, clReleaseMemObject, (ClObject memory))                                                                      \
    F(int, clEnqueueFillBuffer, (ClObject queue, ClObject memory, const void *pattern, size_t pattern_size,            \
                                 size_t offset, size_t bytes, unsigned waits, const ClObject *list, ClObject *event))  \
    F(int, clEnqueueReadBuffer, (ClObject queue, ClObject memory, unsigned blocking, size_t offset, size_t bytes,      \
                                 void *host, unsigned waits, const ClObject *list, ClObject *event))                   \
    F(int, clEnqueueWriteBuffer, (ClObject queue, ClObject memory, unsigned blocking, size_t offset, size_t bytes,     \
                                  const void *host, unsigned waits, const ClObject *list, ClObject *event))            \
    F(int, clEnqueueReadBufferRect, (ClObject queue, ClObject memory, unsigned blocking, const size_t *at,             \
                                     const size_t *host_at, const size_t *region, size_t row, size_t slice,            \
                                     size_t host_row, size_t host_slice, void *host, unsigned waits,                   \
                                     const ClObject *list, ClObject *event))                                           \
    F(int, clEnqueueWriteBufferRect, (ClObject queue, ClObject memory, unsigned blocking, const size_t *at,            \
                                      const size_t *host_at, const size_t *region, size_t row, size_t slice,           \
                                      size_t host_row, size_t host_slice, const void *host, unsigned waits,            \
                                      const ClObject *list, ClObject *event))                                          \
    F(ClObject, clCreateProgramWithSource, (ClObject context, unsigned count, const char **texts,                      \
                                            const size_t *lengths, int *error))                                        \
    F(int, clBuildProgram, (ClObject program, unsigned count, const ClObject *of, const char *options,                 \
                            void (*notify)(ClObject, void *), void *user))                                             \
    F(int, clGetProgramBuildInfo, (ClObject program, ClObject device, unsigned what, size_t room, void *value,         \
                                   size_t *size))                                                                      \
    F(int, clReleaseProgram, (ClObject program))                                                                       \
    F(ClObject, clCreateKernel, (ClObject program, const char *name, int *error))                                      \
    F(int, clReleaseKernel, (ClObject kernel))                                                                         \
    F(int, clSetKernelArg, (ClObject kernel, unsigned index, size_t size, const void *value))                          \
    F(int, clEnqueueNDRangeKernel, (ClObject queue, ClObject kernel, unsigned rank, const size_t *from,                \
                                    const size_t *threads, const size_t *block, unsigned waits, const ClObject *list,  \
                                    ClObject *event))                                                                  \
    F(int, clEnqueueCopyBuffer, (ClObject queue, ClObject from, ClObject to, size_t from_offset, size_t to_offset,     \
                                 size_t bytes, unsigned waits, const ClObject *list, ClObject *event))                 \
    F(int, clFlush, (ClObject queue))                                                                                  \
    F(int, clFinish, (ClObject queue))

static struct {
#define CL_FIELD(result, name, parameters) result(*name) parameters;
    CL_FUNCTIONS(CL_FIELD)
} cl;

static const struct {
    const char *name;
    void       *address;
} cl_symbols[] = {
#define CL_SYMBOL(result, name, parameters) { #name, &cl.name },
    CL_FUNCTIONS(CL_SYMBOL)
};
/* clang-format on */

typedef struct ClDevice {
    ClObject          device, context, own_queue;
    _Atomic(ClObject) queue;
} ClDevice;

typedef struct ClModule {
    ClObject        program;
    pthread_mutex_t lock; /* from the first argument of a kernel to its launch */
    int             count;
    ClObject        kernels[];
} ClModule;

/* ---- The library ------------------------------------------------------------------------ */

static bool cl_loaded;

/* Called under the registry of devices. */
static int cl_load_library(DeviceError *error)
{
    if (cl_loaded)
        return KN_OK;
    void *library = dlopen("libOpenCL.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!library)
        return kn_rt_device_error(error, KN_ERROR_DEVICE,
                                  "there is no ICD loader (%s); install ocl-icd-libopencl1 and a driver", dlerror());
    for (size_t i = 0; i < sizeof cl_symbols / sizeof *cl_symbols; i++) {
        void *symbol = dlsym(library, cl_symbols[i].name);
        if (!symbol) {
            dlclose(library);
            return kn_rt_device_error(error, KN_ERROR_DEVICE, "libOpenCL.so.1 has no %s: it is older than OpenCL 1.2",
                                      cl_symbols[i].name);
        }
        memcpy(cl_symbols[i].address, &symbol, sizeof symbol);
    }
    cl_loaded = true;
    return KN_OK;
}

/* The names of the errors that a caller can do something about. */
static const char *cl_error_name(int code)
{
    static const struct {
        int         code;
        const char *name;
    } names[] = {
        { -1, "CL_DEVICE_NOT_FOUND" },
        { -2, "CL_DEVICE_NOT_AVAILABLE" },
        { -3, "CL_COMPILER_NOT_AVAILABLE" },
        { CL_ALLOCATION_FAILURE, "CL_MEM_OBJECT_ALLOCATION_FAILURE" },
        { CL_NO_RESOURCES, "CL_OUT_OF_RESOURCES" },
        { CL_NO_HOST_MEMORY, "CL_OUT_OF_HOST_MEMORY" },
        { CL_BUILD_FAILURE, "CL_BUILD_PROGRAM_FAILURE" },
        { -36, "CL_INVALID_COMMAND_QUEUE" },
        { -38, "CL_INVALID_MEM_OBJECT" },
        { -45, "CL_INVALID_PROGRAM_EXECUTABLE" },
        { -46, "CL_INVALID_KERNEL_NAME" },
        { -52, "CL_INVALID_KERNEL_ARGS" },
        { -54, "CL_INVALID_WORK_GROUP_SIZE" },
        { -55, "CL_INVALID_WORK_ITEM_SIZE" },
        { CL_BAD_BUFFER_SIZE, "CL_INVALID_BUFFER_SIZE" },
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (names[i].code == code)
            return names[i].name;
    return "an error of OpenCL";
}

static int cl_fail(DeviceError *error, int code, const char *what)
{
    const bool memory = code == CL_ALLOCATION_FAILURE || code == CL_NO_HOST_MEMORY;
    return kn_rt_device_error(error, memory ? KN_ERROR_LIMIT : KN_ERROR_DEVICE, "%s failed: %s (%d)", what,
                              cl_error_name(code), code);
}

/* ---- Devices ---------------------------------------------------------------------------- */

/* All devices, GPUs and accelerators first; returns how many. */
static int cl_devices(ClObject found[MOST_CL_DEVICES])
{
    static const uint64_t types[] = { CL_GPU_OR_OTHER, CL_CPU };
    ClObject              platforms[MOST_CL_PLATFORMS];
    unsigned              platform_count = 0, total = 0;
    if (cl.clGetPlatformIDs(MOST_CL_PLATFORMS, platforms, &platform_count) != CL_OK)
        return 0;
    for (int t = 0; t < 2; t++)
        for (unsigned p = 0; p < platform_count && p < MOST_CL_PLATFORMS; p++) {
            unsigned count = 0;
            if (total < MOST_CL_DEVICES &&
                cl.clGetDeviceIDs(platforms[p], types[t], MOST_CL_DEVICES - total, found + total, &count) == CL_OK)
                total += count < MOST_CL_DEVICES - total ? count : MOST_CL_DEVICES - total;
        }
    return (int)total;
}

static int cl_count(int *count, DeviceError *error)
{
    ClObject  found[MOST_CL_DEVICES];
    const int status = cl_load_library(error);
    *count           = status ? 0 : cl_devices(found);
    if (!status && !*count)
        return kn_rt_device_error(error, KN_ERROR_DEVICE,
                                  "no driver has a device; clinfo shows what there is (pocl-opencl-icd runs on CPUs)");
    return status;
}

static uint64_t cl_number(ClObject device, unsigned what, size_t size)
{
    uint64_t wide   = 0;
    uint32_t narrow = 0;
    if (cl.clGetDeviceInfo(device, what, size, size == sizeof wide ? (void *)&wide : (void *)&narrow, NULL) != CL_OK)
        return 0;
    return size == sizeof wide ? wide : narrow;
}

static void cl_text(ClObject device, unsigned what, char *text, size_t size)
{
    char   whole[1024];
    size_t length = 0;
    if (cl.clGetDeviceInfo(device, what, sizeof whole, whole, &length) != CL_OK || !length)
        snprintf(text, size, "unknown");
    else
        snprintf(text, size, "%.*s", (int)size - 1, whole);
}

static void cl_describe(ClObject device, kn_device_info *info)
{
    cl_text(device, CL_INFO_NAME, info->name, sizeof info->name);
    cl_text(device, CL_INFO_VERSION, info->capability, sizeof info->capability);
    info->capability[strcspn(info->capability + strlen("OpenCL "), " ") + strlen("OpenCL ")] = 0;
    cl_text(device, CL_INFO_DRIVER, info->driver, sizeof info->driver);
    info->is_gpu          = cl_number(device, CL_INFO_TYPE, 8) & CL_GPU;
    info->multiprocessors = (int32_t)cl_number(device, CL_INFO_COMPUTE_UNITS, 4);
    info->most_threads    = (int32_t)cl_number(device, CL_INFO_MOST_THREADS, sizeof(size_t));
    info->memory          = cl_number(device, CL_INFO_MEMORY, 8);
    info->block_memory    = cl_number(device, CL_INFO_BLOCK_MEMORY, 8);
    for (int i = 0; i < 3; i++)
        info->most_blocks[i] = INT32_MAX;
}

static void cl_close(void *state)
{
    ClDevice *d = state;
    if (d->own_queue)
        cl.clReleaseCommandQueue(d->own_queue);
    if (d->context)
        cl.clReleaseContext(d->context);
    free(d);
}

static int cl_open(int index, void **state, kn_device_info *info, DeviceError *error)
{
    ClObject  found[MOST_CL_DEVICES];
    int       code = CL_OK;
    ClDevice *d    = index < cl_devices(found) ? calloc(1, sizeof *d) : NULL;
    if (!d)
        return kn_rt_device_error(error, KN_ERROR_LIMIT, "out of memory");
    d->device          = found[index];
    d->context         = cl.clCreateContext(NULL, 1, &d->device, NULL, NULL, &code);
    const char *failed = "clCreateContext";
    if (code == CL_OK) {
        d->own_queue = cl.clCreateCommandQueue(d->context, d->device, 0, &code);
        failed       = "clCreateCommandQueue";
    }
    if (code != CL_OK) {
        cl_close(d);
        return cl_fail(error, code, failed);
    }
    atomic_init(&d->queue, d->own_queue);
    cl_describe(d->device, info);
    *state = d;
    return KN_OK;
}

/* OpenCL tells the size of the memory alone. */
static int cl_free_memory(void *state, uint64_t *bytes, DeviceError *error)
{
    (void)error;
    *bytes = cl_number(((ClDevice *)state)->device, CL_INFO_MEMORY, 8);
    return KN_OK;
}

static void *cl_context(void *state)
{
    return ((ClDevice *)state)->context;
}

static int cl_sync(void *state, DeviceError *error)
{
    ClDevice *d    = state;
    const int code = cl.clFinish(atomic_load(&d->queue));
    return code == CL_OK ? KN_OK : cl_fail(error, code, "waiting for its kernels");
}

static int cl_set_stream(void *state, void *stream, DeviceError *error)
{
    ClDevice *d      = state;
    const int status = cl_sync(d, error);
    if (!status)
        atomic_store(&d->queue, stream ? stream : d->own_queue);
    return status;
}

/* ---- Memory ----------------------------------------------------------------------------- */

static uint64_t handle_of(ClObject memory)
{
    return (uint64_t)(uintptr_t)memory;
}

static ClObject memory_of(uint64_t handle)
{
    return (ClObject)(uintptr_t)handle;
}

/* Drivers allocate when the memory is first used: writing a byte tells here, and not in a kernel, that there is none.
 */
static int cl_alloc(void *state, size_t bytes, uint64_t *memory, DeviceError *error)
{
    ClDevice  *d    = state;
    int        code = CL_OK;
    const char zero = 0;
    ClObject   made = cl.clCreateBuffer(d->context, 1 /* read and write */, bytes, NULL, &code);
    if (code == CL_OK) {
        code = cl.clEnqueueFillBuffer(atomic_load(&d->queue), made, &zero, 1, 0, 1, 0, NULL, NULL);
        if (code == CL_OK) {
            *memory = handle_of(made);
            return KN_OK;
        }
        cl.clReleaseMemObject(made);
    }
    if (code == CL_ALLOCATION_FAILURE || code == CL_BAD_BUFFER_SIZE || code == CL_NO_RESOURCES)
        return kn_rt_device_error(error, KN_ERROR_LIMIT, "out of device memory: no %zu bytes (%s)", bytes,
                                  cl_error_name(code));
    return cl_fail(error, code, "clCreateBuffer");
}

static void cl_free(void *state, uint64_t memory)
{
    (void)state;
    cl.clReleaseMemObject(memory_of(memory));
}

static int cl_copy(void *state, const DeviceCopy *c, DeviceError *error)
{
    ClDevice    *d     = state;
    ClObject     queue = atomic_load(&d->queue), memory = memory_of(c->memory);
    const size_t at[3] = { c->offset, 0, 0 }, host_at[3] = { 0, 0, 0 };
    const size_t region[] = { c->width, c->height, 1 };
    int          code;
    if (c->height == 1)
        code = c->to_host ? cl.clEnqueueReadBuffer(queue, memory, 0, c->offset, c->width, c->host, 0, NULL, NULL)
                          : cl.clEnqueueWriteBuffer(queue, memory, 0, c->offset, c->width, c->host, 0, NULL, NULL);
    else if (c->to_host)
        code = cl.clEnqueueReadBufferRect(queue, memory, 0, at, host_at, region, c->pitch, 0, c->pitch, 0, c->host, 0,
                                          NULL, NULL);
    else
        code = cl.clEnqueueWriteBufferRect(queue, memory, 0, at, host_at, region, c->pitch, 0, c->pitch, 0, c->host, 0,
                                           NULL, NULL);
    return code == CL_OK ? KN_OK : cl_fail(error, code, c->to_host ? "a copy to the host" : "a copy to the device");
}

/* ---- Kernels ---------------------------------------------------------------------------- */

static void cl_unload(void *state, void *module)
{
    (void)state;
    ClModule *m = module;
    for (int i = 0; i < m->count; i++)
        cl.clReleaseKernel(m->kernels[i]);
    if (m->program)
        cl.clReleaseProgram(m->program);
    pthread_mutex_destroy(&m->lock);
    free(m);
}

static int build_program(ClDevice *d, ClModule *m, const kn_rt_kernels *kernels, DeviceError *error)
{
    int         code = CL_OK;
    const char *text = kernels->text;
    m->program       = cl.clCreateProgramWithSource(d->context, 1, &text, NULL, &code);
    if (code != CL_OK)
        return cl_fail(error, code, "clCreateProgramWithSource");
    code = cl.clBuildProgram(m->program, 1, &d->device, kernels->options, NULL, NULL);
    if (code == CL_OK)
        return KN_OK;
    char   log[CL_LOG_SIZE] = "";
    size_t size             = 0;
    if (cl.clGetProgramBuildInfo(m->program, d->device, CL_PROGRAM_LOG, sizeof log, log, &size) != CL_OK)
        snprintf(log, sizeof log, "the driver has no log of less than %d bytes", (int)sizeof log);
    return kn_rt_device_error(error, KN_ERROR_DEVICE, "its compiler refuses the kernels, %s (%d): %s",
                              cl_error_name(code), code, log);
}

static int cl_load(void *state, const kn_rt_kernels *kernels, void **module, DeviceError *error)
{
    ClModule *m = calloc(1, sizeof *m + (size_t)kernels->count * sizeof *m->kernels);
    if (!m)
        return kn_rt_device_error(error, KN_ERROR_LIMIT, "out of memory");
    pthread_mutex_init(&m->lock, NULL);
    int status = build_program(state, m, kernels, error);
    while (!status && m->count < kernels->count) {
        int         code     = CL_OK;
        const char *name     = kernels->kernels[m->count].name;
        m->kernels[m->count] = cl.clCreateKernel(m->program, name, &code);
        if (code == CL_OK)
            m->count++;
        else
            status = kn_rt_device_error(error, KN_ERROR_DEVICE, "its driver finds no kernel `%s`: %s (%d)", name,
                                        cl_error_name(code), code);
    }
    if (status)
        cl_unload(state, m);
    else
        *module = m;
    return status;
}

/* An argument for each buffer's memory and first index, then the values. */
static int cl_set_arguments(ClObject object, const kn_rt_kernel *kernel, const uint64_t *arguments)
{
    unsigned n    = 0;
    int      code = CL_OK;
    for (int i = 0; i < kernel->buffer_count && code == CL_OK; i++) {
        ClObject memory = memory_of(*arguments++);
        code            = cl.clSetKernelArg(object, n++, sizeof memory, memory ? &memory : NULL);
        if (code == CL_OK)
            code = cl.clSetKernelArg(object, n++, sizeof *arguments, arguments++);
    }
    for (int i = 0; i < kernel->value_count && code == CL_OK; i++)
        code = cl.clSetKernelArg(object, n++, kernel->value_size[i], arguments++);
    return code;
}

static int cl_launch(ClObject queue, ClModule *m, const kn_rt_kernel *kernel, const uint64_t *words)
{
    ClObject object = m->kernels[words[LAUNCH_KERNEL]];
    size_t   threads[3], block[3];
    for (int i = 0; i < 3; i++) {
        block[i]   = (size_t)kernel->threads[i];
        threads[i] = (size_t)words[LAUNCH_GRID + i] * block[i];
    }
    pthread_mutex_lock(&m->lock);
    int code = cl_set_arguments(object, kernel, words + LAUNCH_ARGUMENTS);
    if (code == CL_OK)
        code = cl.clEnqueueNDRangeKernel(queue, object, 3, NULL, threads, block, 0, NULL, NULL);
    pthread_mutex_unlock(&m->lock);
    return code;
}

static double cl_clock(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static int cl_run(void *state, const DeviceBatch *batch, double *seconds, DeviceError *error)
{
    ClDevice       *d     = state;
    ClObject        queue = atomic_load(&d->queue);
    const uint64_t *words = batch->words;
    int             code  = seconds ? cl.clFinish(queue) : CL_OK;
    for (int i = 0; i < batch->count; i++) {
        const kn_rt_kernel *kernel = &batch->kernels->kernels[words[LAUNCH_KERNEL]];
        const double        begin  = seconds ? cl_clock() : 0;
        if (code == CL_OK)
            code = cl_launch(queue, batch->module, kernel, words);
        if (code == CL_OK && seconds) {
            code       = cl.clFinish(queue);
            seconds[i] = cl_clock() - begin;
        }
        if (code != CL_OK) {
            char what[200];
            snprintf(what, sizeof what, "the launch of kernel `%s`", kernel->name);
            return cl_fail(error, code, what);
        }
        words += kn_rt_launch_words(kernel);
    }
    code = cl.clFlush(queue);
    return code == CL_OK ? KN_OK : cl_fail(error, code, "clFlush");
}

static void cl_kernel_info(void *state, void *module, const kn_rt_kernel *kernel, int index, kn_kernel_profile *profile)
{
    (void)state;
    (void)module;
    (void)kernel;
    (void)index;
    (void)profile;
}

static int cl_duplicate(void *state, uint64_t to, uint64_t from, size_t bytes, DeviceError *error)
{
    ClDevice *d = state;
    const int code =
        cl.clEnqueueCopyBuffer(atomic_load(&d->queue), memory_of(from), memory_of(to), 0, 0, bytes, 0, NULL, NULL);
    return code == CL_OK ? KN_OK : cl_fail(error, code, "a copy inside the device");
}

const DeviceOps kn_rt_opencl_ops = { .name        = "OpenCL",
                                     .addresses   = false,
                                     .count       = cl_count,
                                     .open        = cl_open,
                                     .close       = cl_close,
                                     .free_memory = cl_free_memory,
                                     .alloc       = cl_alloc,
                                     .free        = cl_free,
                                     .copy        = cl_copy,
                                     .load        = cl_load,
                                     .unload      = cl_unload,
                                     .run         = cl_run,
                                     .kernel_info = cl_kernel_info,
                                     .duplicate   = cl_duplicate,
                                     .sync        = cl_sync,
                                     .set_stream  = cl_set_stream,
                                     .context     = cl_context };
