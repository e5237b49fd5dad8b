/* SPDX-License-Identifier: MIT */
/* CUDA devices, through the driver's library.
 *
 * The declarations here are those few of the driver API that are used, so that no header of CUDA is needed to build and
 * no library but the driver's to run. A device is its primary context, which the CUDA runtime uses too, and a stream.
 * The thread's current context is as before after each function.
 *
 * The stream is one that the legacy default stream waits for, and that waits for it: work queued by other code there is
 * in order with ours.
 */
#include "runtime/device_parts.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct CuAny *CuObject; /* a context, stream, module, function or event */
typedef uint64_t      CuAddress;

/* Results. */
enum { CU_OK = 0, CU_NO_MEMORY = 2, CU_NO_DEVICE = 100, CU_PTX_TOO_NEW = 222 };

/* Those after which a context is dead: ECC and NVLink errors, an illegal address, a timeout, a destroyed context, an
 * assertion, errors of the hardware's stack, instruction, alignment, address space, program counter, launch. */
static const int cu_lost[] = { 214, 220, 700, 702, 709, 710, 714, 715, 716, 717, 718, 719 };

/* Device attributes and options of the compiler of PTX. */
enum {
    CU_MOST_THREADS    = 1,
    CU_MOST_BLOCKS     = 5, /* x, y, z */
    CU_BLOCK_MEMORY    = 8,
    CU_MOST_PITCH      = 11,
    CU_MULTIPROCESSORS = 16,
    CU_MAJOR           = 75,
    CU_MINOR           = 76,
    CU_JIT_ERROR_LOG   = 5,
    CU_JIT_ERROR_SIZE  = 6
};

enum { CU_EVENT_PLAIN = 2 /* no times */, CU_HOST = 1, CU_DEVICE = 2, CU_LOG_SIZE = DEVICE_ERROR_SIZE - 300 };

/* A copy of rows; the fields that are not named here are 0. */
typedef struct CuSide {
    size_t      x, y;
    int         place; /* CU_HOST, CU_DEVICE */
    const void *host;
    CuAddress   device;
    void       *array;
    size_t      pitch;
} CuSide;

typedef struct CuCopy {
    CuSide from, to;
    size_t width, height;
} CuCopy;

/* Name, name of the symbol, parameters. */
/* clang-format off */
#define CU_FUNCTIONS(F)                                                                                                \
    F(cuInit, "cuInit", (unsigned flags))                                                                              \
    F(cuDriverGetVersion, "cuDriverGetVersion", (int *version))                                                        \
    F(cuGetErrorName, "cuGetErrorName", (int code, const char **name))                                                 \
    F(cuGetErrorString, "cuGetErrorString", (int code, const char **text))                                             \
    F(cuDeviceGetCount, "cuDeviceGetCount", (int *count))                                                              \
    F(cuDeviceGet, "cuDeviceGet", (int *device, int index))                                                            \
    F(cuDeviceGetName, "cuDeviceGetName", (char *name, int room, int device))                                          \
    F(cuDeviceGetAttribute, "cuDeviceGetAttribute", (int *value, int what, int device))                                \
    F(cuDeviceTotalMem, "cuDeviceTotalMem_v2", (size_t *bytes, int device))                                            \
    F(cuDevicePrimaryCtxRetain, "cuDevicePrimaryCtxRetain", (CuObject *context, int device))                           \
    F(cuDevicePrimaryCtxRelease, "cuDevicePrimaryCtxRelease_v2", (int device))                                         \
    F(cuCtxGetCurrent, "cuCtxGetCurrent", (CuObject *context))                                                         \
    F(cuCtxPushCurrent, "cuCtxPushCurrent_v2", (CuObject context))                                                     \
    F(cuCtxPopCurrent, "cuCtxPopCurrent_v2", (CuObject *context))                                                      \
    F(cuMemGetInfo, "cuMemGetInfo_v2", (size_t *free, size_t *total))                                                  \
    F(cuMemAlloc, "cuMemAlloc_v2", (CuAddress *memory, size_t bytes))                                                  \
    F(cuMemFree, "cuMemFree_v2", (CuAddress memory))                                                                   \
    F(cuMemcpyHtoDAsync, "cuMemcpyHtoDAsync_v2", (CuAddress to, const void *from, size_t bytes, CuObject stream))      \
    F(cuMemcpyDtoHAsync, "cuMemcpyDtoHAsync_v2", (void *to, CuAddress from, size_t bytes, CuObject stream))            \
    F(cuMemcpy2DAsync, "cuMemcpy2DAsync_v2", (const CuCopy *copy, CuObject stream))                                    \
    F(cuStreamCreate, "cuStreamCreate", (CuObject *stream, unsigned flags))                                            \
    F(cuStreamDestroy, "cuStreamDestroy_v2", (CuObject stream))                                                        \
    F(cuStreamSynchronize, "cuStreamSynchronize", (CuObject stream))                                                   \
    F(cuStreamWaitEvent, "cuStreamWaitEvent", (CuObject stream, CuObject event, unsigned flags))                       \
    F(cuEventCreate, "cuEventCreate", (CuObject *event, unsigned flags))                                               \
    F(cuEventRecord, "cuEventRecord", (CuObject event, CuObject stream))                                               \
    F(cuEventDestroy, "cuEventDestroy_v2", (CuObject event))                                                           \
    F(cuModuleLoadDataEx, "cuModuleLoadDataEx",                                                                        \
      (CuObject *module, const void *text, unsigned count, const int *options, void *const *values))                   \
    F(cuModuleGetFunction, "cuModuleGetFunction", (CuObject *function, CuObject module, const char *name))             \
    F(cuModuleUnload, "cuModuleUnload", (CuObject module))                                                             \
    F(cuLaunchKernel, "cuLaunchKernel",                                                                                \
      (CuObject function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned threads_x, unsigned threads_y,   \
       unsigned threads_z, unsigned shared, CuObject stream, void **arguments, void **extra))

static struct {
#define CU_FIELD(name, symbol, parameters) int(*name) parameters;
    CU_FUNCTIONS(CU_FIELD)
} cu;

static const struct {
    const char *name;
    void       *address;
} cu_symbols[] = {
#define CU_SYMBOL(name, symbol, parameters) { symbol, &cu.name },
    CU_FUNCTIONS(CU_SYMBOL)
};
/* clang-format on */

typedef struct CuDevice {
    int               device;
    int               major, minor, most_pitch;
    CuObject          context, own_stream;
    _Atomic(CuObject) stream;
} CuDevice;

typedef struct CuModule {
    CuObject module;
    CuObject functions[];
} CuModule;

/* ---- The library ------------------------------------------------------------------------ */

/* "CUDA_ERROR_ILLEGAL_ADDRESS (an illegal memory access was encountered)". */
static int cu_fail(DeviceError *error, int code, const char *what)
{
    const char *name = NULL, *text = NULL;
    (void)cu.cuGetErrorName(code, &name);
    (void)cu.cuGetErrorString(code, &text);
    for (size_t i = 0; i < sizeof cu_lost / sizeof *cu_lost; i++)
        error->lost = error->lost || code == cu_lost[i];
    return kn_rt_device_error(error, code == CU_NO_MEMORY ? KN_ERROR_LIMIT : KN_ERROR_DEVICE,
                              "%s failed: %s (%d, %s)%s", what, name ? name : "an error of CUDA", code,
                              text ? text : "unknown",
                              error->lost ? "; CUDA can be used again by a new process only" : "");
}

static bool cu_loaded;

/* Called under the registry of devices. */
static int cu_load_library(DeviceError *error)
{
    if (cu_loaded)
        return KN_OK;
    void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!library)
        return kn_rt_device_error(error, KN_ERROR_DEVICE, "there is no driver (%s)", dlerror());
    for (size_t i = 0; i < sizeof cu_symbols / sizeof *cu_symbols; i++) {
        void *symbol = dlsym(library, cu_symbols[i].name);
        if (!symbol) {
            dlclose(library);
            return kn_rt_device_error(error, KN_ERROR_DEVICE, "the driver's libcuda.so.1 has no %s: it is too old",
                                      cu_symbols[i].name);
        }
        memcpy(cu_symbols[i].address, &symbol, sizeof symbol);
    }
    const int code = cu.cuInit(0);
    if (code != CU_OK) {
        const int status = code == CU_NO_DEVICE
                               ? kn_rt_device_error(error, KN_ERROR_DEVICE, "there is a driver, but no device")
                               : cu_fail(error, code, "cuInit");
        dlclose(library);
        return status;
    }
    cu_loaded = true;
    return KN_OK;
}

/* ---- The current context ---------------------------------------------------------------- */

/* Makes the device's context current; whether it has to be popped goes to *pushed. */
static int cu_enter(const CuDevice *d, bool *pushed)
{
    CuObject current = NULL;
    *pushed          = false;
    if (cu.cuCtxGetCurrent(&current) == CU_OK && current == d->context)
        return CU_OK;
    const int code = cu.cuCtxPushCurrent(d->context);
    *pushed        = code == CU_OK;
    return code;
}

static void cu_leave(bool pushed)
{
    CuObject popped;
    if (pushed)
        (void)cu.cuCtxPopCurrent(&popped);
}

/* ---- Devices ---------------------------------------------------------------------------- */

static int cu_count(int *count, DeviceError *error)
{
    const int status = cu_load_library(error);
    if (status)
        return status;
    const int code = cu.cuDeviceGetCount(count);
    if (code != CU_OK)
        return cu_fail(error, code, "cuDeviceGetCount");
    return *count ? KN_OK : kn_rt_device_error(error, KN_ERROR_DEVICE, "there is a driver, but no device");
}

static int cu_attribute(int device, int what)
{
    int value = 0;
    (void)cu.cuDeviceGetAttribute(&value, what, device);
    return value;
}

static void cu_describe(CuDevice *d, kn_device_info *info)
{
    int    version = 0;
    size_t bytes   = 0;
    d->major       = cu_attribute(d->device, CU_MAJOR);
    d->minor       = cu_attribute(d->device, CU_MINOR);
    d->most_pitch  = cu_attribute(d->device, CU_MOST_PITCH);
    if (cu.cuDeviceGetName(info->name, (int)sizeof info->name, d->device) != CU_OK)
        snprintf(info->name, sizeof info->name, "unknown");
    (void)cu.cuDriverGetVersion(&version);
    (void)cu.cuDeviceTotalMem(&bytes, d->device);
    snprintf(info->capability, sizeof info->capability, "%d.%d", d->major, d->minor);
    snprintf(info->driver, sizeof info->driver, "CUDA %d.%d", version / 1000, version % 1000 / 10);
    info->is_gpu          = true;
    info->multiprocessors = cu_attribute(d->device, CU_MULTIPROCESSORS);
    info->most_threads    = cu_attribute(d->device, CU_MOST_THREADS);
    info->memory          = bytes;
    info->block_memory    = (uint64_t)cu_attribute(d->device, CU_BLOCK_MEMORY);
    for (int i = 0; i < 3; i++)
        info->most_blocks[i] = cu_attribute(d->device, CU_MOST_BLOCKS + i);
}

static void cu_close(void *state)
{
    CuDevice *d = state;
    bool      pushed;
    if (d->own_stream && cu_enter(d, &pushed) == CU_OK) {
        (void)cu.cuStreamDestroy(d->own_stream);
        cu_leave(pushed);
    }
    if (d->context)
        (void)cu.cuDevicePrimaryCtxRelease(d->device);
    free(d);
}

static int cu_open(int index, void **state, kn_device_info *info, DeviceError *error)
{
    CuDevice *d = calloc(1, sizeof *d);
    if (!d)
        return kn_rt_device_error(error, KN_ERROR_LIMIT, "out of memory");
    bool        pushed = false;
    const char *what   = "cuDeviceGet";
    int         code   = cu.cuDeviceGet(&d->device, index);
    if (code == CU_OK) {
        what = "cuDevicePrimaryCtxRetain";
        code = cu.cuDevicePrimaryCtxRetain(&d->context, d->device);
    }
    if (code == CU_OK) {
        what = "cuCtxPushCurrent";
        code = cu_enter(d, &pushed);
    }
    if (code == CU_OK) {
        what = "cuStreamCreate";
        code = cu.cuStreamCreate(&d->own_stream, 0);
    }
    cu_leave(pushed);
    if (code != CU_OK) {
        cu_close(d);
        return cu_fail(error, code, what);
    }
    atomic_init(&d->stream, d->own_stream);
    cu_describe(d, info);
    *state = d;
    return KN_OK;
}

static int cu_free_memory(void *state, uint64_t *bytes, DeviceError *error)
{
    size_t left = 0, all = 0;
    bool   pushed;
    int    code = cu_enter(state, &pushed);
    if (code == CU_OK)
        code = cu.cuMemGetInfo(&left, &all);
    cu_leave(pushed);
    *bytes = left;
    return code == CU_OK ? KN_OK : cu_fail(error, code, "cuMemGetInfo");
}

static void *cu_context(void *state)
{
    return ((CuDevice *)state)->context;
}

static int cu_sync(void *state, DeviceError *error)
{
    CuDevice *d = state;
    bool      pushed;
    int       code = cu_enter(d, &pushed);
    if (code == CU_OK)
        code = cu.cuStreamSynchronize(atomic_load(&d->stream));
    cu_leave(pushed);
    return code == CU_OK ? KN_OK : cu_fail(error, code, "a kernel or a copy");
}

/* The new stream waits for an event at the end of the old one. */
static int cu_set_stream(void *state, void *stream, DeviceError *error)
{
    CuDevice *d     = state;
    CuObject  event = NULL, next = stream ? stream : d->own_stream;
    bool      pushed;
    int       code = cu_enter(d, &pushed);
    if (code == CU_OK)
        code = cu.cuEventCreate(&event, CU_EVENT_PLAIN);
    if (code == CU_OK)
        code = cu.cuEventRecord(event, atomic_load(&d->stream));
    if (code == CU_OK)
        code = cu.cuStreamWaitEvent(next, event, 0);
    if (event)
        (void)cu.cuEventDestroy(event); /* when it has happened */
    cu_leave(pushed);
    if (code != CU_OK)
        return cu_fail(error, code, "changing the stream");
    atomic_store(&d->stream, next);
    return KN_OK;
}

/* ---- Memory ----------------------------------------------------------------------------- */

static int cu_alloc(void *state, size_t bytes, uint64_t *memory, DeviceError *error)
{
    bool   pushed;
    size_t left = 0, all = 0;
    int    code = cu_enter(state, &pushed);
    if (code == CU_OK)
        code = cu.cuMemAlloc(memory, bytes);
    if (code == CU_NO_MEMORY)
        (void)cu.cuMemGetInfo(&left, &all);
    cu_leave(pushed);
    if (code == CU_NO_MEMORY)
        return kn_rt_device_error(error, KN_ERROR_LIMIT, "out of device memory: no %zu bytes, %zu of %zu are free",
                                  bytes, left, all);
    return code == CU_OK ? KN_OK : cu_fail(error, code, "cuMemAlloc");
}

static void cu_free(void *state, uint64_t memory)
{
    bool pushed;
    if (cu_enter(state, &pushed) == CU_OK)
        (void)cu.cuMemFree(memory);
    cu_leave(pushed);
}

static int cu_copy_row(const DeviceCopy *c, size_t row, CuObject stream)
{
    const CuAddress device = c->memory + c->offset + row * c->pitch;
    char           *host   = c->host + row * c->pitch;
    return c->to_host ? cu.cuMemcpyDtoHAsync(host, device, c->width, stream)
                      : cu.cuMemcpyHtoDAsync(device, host, c->width, stream);
}

static int cu_copy_rows(const DeviceCopy *c, CuObject stream)
{
    const CuSide host   = { .place = CU_HOST, .host = c->host, .pitch = c->pitch };
    const CuSide device = { .place = CU_DEVICE, .device = c->memory + c->offset, .pitch = c->pitch };
    const CuCopy copy   = {
          .from = c->to_host ? device : host, .to = c->to_host ? host : device, .width = c->width, .height = c->height
    };
    return cu.cuMemcpy2DAsync(&copy, stream);
}

static int cu_copy(void *state, const DeviceCopy *c, DeviceError *error)
{
    CuDevice *d      = state;
    CuObject  stream = atomic_load(&d->stream);
    bool      pushed;
    int       code = cu_enter(d, &pushed);
    if (code == CU_OK && c->height > 1 && c->pitch <= (size_t)d->most_pitch)
        code = cu_copy_rows(c, stream);
    else
        for (size_t row = 0; row < c->height && code == CU_OK; row++)
            code = cu_copy_row(c, row, stream);
    cu_leave(pushed);
    return code == CU_OK ? KN_OK : cu_fail(error, code, c->to_host ? "a copy to the host" : "a copy to the device");
}

/* ---- Kernels ---------------------------------------------------------------------------- */

/* The driver compiles PTX; its log says what it does not like. */
static int load_text(CuDevice *d, const char *text, CuObject *module, DeviceError *error)
{
    char        log[CU_LOG_SIZE] = "";
    const int   options[]        = { CU_JIT_ERROR_LOG, CU_JIT_ERROR_SIZE };
    void *const values[]         = { log, (void *)(uintptr_t)sizeof log };
    const int   code             = cu.cuModuleLoadDataEx(module, text, 2, options, values);
    if (code == CU_OK)
        return KN_OK;
    char what[100];
    snprintf(what, sizeof what, "compiling the kernels' PTX for compute capability %d.%d", d->major, d->minor);
    const int    status = cu_fail(error, code, what);
    const size_t length = strlen(error->text);
    const char  *hint   = code == CU_PTX_TOO_NEW ? "; the driver is older than the PTX: a newer driver takes it" : "";
    snprintf(error->text + length, sizeof error->text - length, "%s%s%s", hint, *log ? ": " : "", log);
    return status;
}

static void cu_unload(void *state, void *module)
{
    CuModule *m = module;
    bool      pushed;
    if (cu_enter(state, &pushed) == CU_OK)
        (void)cu.cuModuleUnload(m->module);
    cu_leave(pushed);
    free(m);
}

static int load_module(CuDevice *d, const kn_rt_kernels *kernels, CuModule *m, DeviceError *error)
{
    int status = load_text(d, kernels->text, &m->module, error);
    for (int i = 0; i < kernels->count && !status; i++) {
        const int code = cu.cuModuleGetFunction(&m->functions[i], m->module, kernels->kernels[i].name);
        if (code == CU_OK)
            continue;
        char what[200];
        snprintf(what, sizeof what, "looking up kernel `%s`", kernels->kernels[i].name);
        status = cu_fail(error, code, what);
        (void)cu.cuModuleUnload(m->module);
    }
    return status;
}

static int cu_load(void *state, const kn_rt_kernels *kernels, void **module, DeviceError *error)
{
    CuModule *m = calloc(1, sizeof *m + (size_t)kernels->count * sizeof *m->functions);
    if (!m)
        return kn_rt_device_error(error, KN_ERROR_LIMIT, "out of memory");
    bool      pushed;
    const int code   = cu_enter(state, &pushed);
    const int status = code == CU_OK ? load_module(state, kernels, m, error) : cu_fail(error, code, "cuCtxPushCurrent");
    cu_leave(pushed);
    if (status)
        free(m);
    else
        *module = m;
    return status;
}

static int cu_launch(void *state, const DeviceLaunch *l, DeviceError *error)
{
    CuDevice       *d     = state;
    const CuModule *m     = l->module;
    const int32_t  *block = l->kernel->threads;
    void           *arguments[KN_RT_MOST_ARGUMENTS];
    int             n = 0;
    bool            pushed;
    for (int i = 0; i < l->kernel->buffer_count; i++)
        arguments[n++] = (void *)(uintptr_t)&l->buffers[i].handle;
    for (int i = 0; i < l->kernel->value_count; i++)
        arguments[n++] = (void *)(uintptr_t)&l->values[i];
    int code = cu_enter(d, &pushed);
    if (code == CU_OK)
        code = cu.cuLaunchKernel(m->functions[l->index], (unsigned)l->grid[0], (unsigned)l->grid[1],
                                 (unsigned)l->grid[2], (unsigned)block[0], (unsigned)block[1], (unsigned)block[2], 0,
                                 atomic_load(&d->stream), arguments, NULL);
    cu_leave(pushed);
    if (code == CU_OK)
        return KN_OK;
    char what[200];
    snprintf(what, sizeof what, "the launch of kernel `%s`", l->kernel->name);
    return cu_fail(error, code, what);
}

const DeviceOps kn_rt_cuda_ops = { .name        = "CUDA",
                                   .addresses   = true,
                                   .count       = cu_count,
                                   .open        = cu_open,
                                   .close       = cu_close,
                                   .free_memory = cu_free_memory,
                                   .alloc       = cu_alloc,
                                   .free        = cu_free,
                                   .copy        = cu_copy,
                                   .load        = cu_load,
                                   .unload      = cu_unload,
                                   .launch      = cu_launch,
                                   .sync        = cu_sync,
                                   .set_stream  = cu_set_stream,
                                   .context     = cu_context };
