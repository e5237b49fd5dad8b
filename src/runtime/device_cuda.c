/* SPDX-License-Identifier: MIT */
/* CUDA devices, through the driver's library.
 *
 * No library but the driver's is needed to run. A device is its primary context, which the CUDA runtime uses too, and a
 * stream. The thread's current context is as before after each function.
 *
 * The stream is one that the legacy default stream waits for, and that waits for it: work queued by other code there is
 * in order with ours.
 */
#include "runtime/device_cuda_parts.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

CuFunctions kn_rt_cu;
bool        kn_rt_cu_has_graphs;

/* Those after which a context is dead: ECC and NVLink errors, an illegal address, a timeout, a destroyed context, an
 * assertion, errors of the hardware's stack, instruction, alignment, address space, program counter, launch. */
static const int cu_lost[] = { 214, 220, 700, 702, 709, 710, 714, 715, 716, 717, 718, 719 };

/* clang-format off */
typedef struct CuSymbol {
    const char *name;
    void       *address;
} CuSymbol;
#define CU_SYMBOL(name, symbol, parameters) { symbol, &kn_rt_cu.name },
static const CuSymbol cu_symbols[]       = { CU_FUNCTIONS(CU_SYMBOL) };
static const CuSymbol cu_graph_symbols[] = { CU_GRAPH_FUNCTIONS(CU_SYMBOL) };
/* clang-format on */

/* ---- The library ------------------------------------------------------------------------ */

/* "CUDA_ERROR_ILLEGAL_ADDRESS (an illegal memory access was encountered)". */
int kn_rt_cu_fail(DeviceError *error, int code, const char *what)
{
    const char *name = NULL, *text = NULL;
    (void)kn_rt_cu.cuGetErrorName(code, &name);
    (void)kn_rt_cu.cuGetErrorString(code, &text);
    for (size_t i = 0; i < sizeof cu_lost / sizeof *cu_lost; i++)
        error->lost = error->lost || code == cu_lost[i];
    return kn_rt_device_error(error, code == CU_NO_MEMORY ? KN_ERROR_LIMIT : KN_ERROR_DEVICE,
                              "%s failed: %s (%d, %s)%s", what, name ? name : "an error of CUDA", code,
                              text ? text : "unknown",
                              error->lost ? "; CUDA can be used again by a new process only" : "");
}

static bool cu_loaded;

/* Looks symbols up; the name of one that is missing, or NULL. */
static const char *cu_find(void *library, const CuSymbol *symbols, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        void *symbol = dlsym(library, symbols[i].name);
        if (!symbol)
            return symbols[i].name;
        memcpy(symbols[i].address, &symbol, sizeof symbol);
    }
    return NULL;
}

/* Called under the registry of devices. */
static int cu_load_library(DeviceError *error)
{
    if (cu_loaded)
        return KN_OK;
    void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!library)
        return kn_rt_device_error(error, KN_ERROR_DEVICE, "there is no driver (%s)", dlerror());
    const char *missing = cu_find(library, cu_symbols, sizeof cu_symbols / sizeof *cu_symbols);
    if (missing) {
        dlclose(library);
        return kn_rt_device_error(error, KN_ERROR_DEVICE, "the driver's libcuda.so.1 has no %s: it is too old",
                                  missing);
    }
    kn_rt_cu_has_graphs = !cu_find(library, cu_graph_symbols, sizeof cu_graph_symbols / sizeof *cu_graph_symbols);
    const int code      = kn_rt_cu.cuInit(0);
    if (code != CU_OK) {
        const int status = code == CU_NO_DEVICE
                               ? kn_rt_device_error(error, KN_ERROR_DEVICE, "there is a driver, but no device")
                               : kn_rt_cu_fail(error, code, "cuInit");
        dlclose(library);
        return status;
    }
    cu_loaded = true;
    return KN_OK;
}

/* ---- The current context ---------------------------------------------------------------- */

/* Makes the device's context current; whether it has to be popped goes to *pushed. */
int kn_rt_cu_enter(const CuDevice *d, bool *pushed)
{
    CuObject current = NULL;
    *pushed          = false;
    if (kn_rt_cu.cuCtxGetCurrent(&current) == CU_OK && current == d->context)
        return CU_OK;
    const int code = kn_rt_cu.cuCtxPushCurrent(d->context);
    *pushed        = code == CU_OK;
    return code;
}

void kn_rt_cu_leave(bool pushed)
{
    CuObject popped;
    if (pushed)
        (void)kn_rt_cu.cuCtxPopCurrent(&popped);
}

/* ---- Devices ---------------------------------------------------------------------------- */

static int cu_count(int *count, DeviceError *error)
{
    const int status = cu_load_library(error);
    if (status)
        return status;
    const int code = kn_rt_cu.cuDeviceGetCount(count);
    if (code != CU_OK)
        return kn_rt_cu_fail(error, code, "cuDeviceGetCount");
    return *count ? KN_OK : kn_rt_device_error(error, KN_ERROR_DEVICE, "there is a driver, but no device");
}

static int cu_attribute(int device, int what)
{
    int value = 0;
    (void)kn_rt_cu.cuDeviceGetAttribute(&value, what, device);
    return value;
}

static void cu_describe(CuDevice *d, kn_device_info *info)
{
    int    version = 0;
    size_t bytes   = 0;
    d->major       = cu_attribute(d->device, CU_MAJOR);
    d->minor       = cu_attribute(d->device, CU_MINOR);
    d->most_pitch  = cu_attribute(d->device, CU_MOST_PITCH);
    if (kn_rt_cu.cuDeviceGetName(info->name, (int)sizeof info->name, d->device) != CU_OK)
        snprintf(info->name, sizeof info->name, "unknown");
    (void)kn_rt_cu.cuDriverGetVersion(&version);
    (void)kn_rt_cu.cuDeviceTotalMem(&bytes, d->device);
    snprintf(info->capability, sizeof info->capability, "%d.%d", d->major, d->minor);
    snprintf(info->driver, sizeof info->driver, "CUDA %d.%d", version / 1000, version % 1000 / 10);
    info->is_gpu          = true;
    info->multiprocessors = cu_attribute(d->device, CU_MULTIPROCESSORS);
    info->most_threads    = cu_attribute(d->device, CU_MOST_THREADS);
    info->memory          = bytes;
    d->block_memory       = cu_attribute(d->device, CU_MOST_BLOCK_MEMORY);
    d->block_memory       = d->block_memory > 0 ? d->block_memory : cu_attribute(d->device, CU_BLOCK_MEMORY);
    info->block_memory    = (uint64_t)d->block_memory;
    info->sm_threads      = cu_attribute(d->device, CU_SM_THREADS);
    info->sm_blocks       = cu_attribute(d->device, CU_SM_BLOCKS);
    info->sm_registers    = cu_attribute(d->device, CU_SM_REGISTERS);
    info->sm_memory       = (uint64_t)cu_attribute(d->device, CU_SM_MEMORY);
    info->reserved_memory = (uint64_t)cu_attribute(d->device, CU_RESERVED_MEMORY);
    info->cache           = (uint64_t)cu_attribute(d->device, CU_CACHE);
    for (int i = 0; i < 3; i++)
        info->most_blocks[i] = cu_attribute(d->device, CU_MOST_BLOCKS + i);
}

static void cu_close(void *state)
{
    CuDevice *d = state;
    bool      pushed;
    if (d->own_stream && kn_rt_cu_enter(d, &pushed) == CU_OK) {
        (void)kn_rt_cu.cuStreamDestroy(d->own_stream);
        kn_rt_cu_leave(pushed);
    }
    if (d->context)
        (void)kn_rt_cu.cuDevicePrimaryCtxRelease(d->device);
    free(d);
}

static int cu_open(int index, void **state, kn_device_info *info, DeviceError *error)
{
    CuDevice *d = calloc(1, sizeof *d);
    if (!d)
        return kn_rt_device_error(error, KN_ERROR_LIMIT, "out of memory");
    bool        pushed = false;
    const char *what   = "cuDeviceGet";
    int         code   = kn_rt_cu.cuDeviceGet(&d->device, index);
    if (code == CU_OK) {
        what = "cuDevicePrimaryCtxRetain";
        code = kn_rt_cu.cuDevicePrimaryCtxRetain(&d->context, d->device);
    }
    if (code == CU_OK) {
        what = "cuCtxPushCurrent";
        code = kn_rt_cu_enter(d, &pushed);
    }
    if (code == CU_OK) {
        what = "cuStreamCreate";
        code = kn_rt_cu.cuStreamCreate(&d->own_stream, 0);
    }
    kn_rt_cu_leave(pushed);
    if (code != CU_OK) {
        cu_close(d);
        return kn_rt_cu_fail(error, code, what);
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
    int    code = kn_rt_cu_enter(state, &pushed);
    if (code == CU_OK)
        code = kn_rt_cu.cuMemGetInfo(&left, &all);
    kn_rt_cu_leave(pushed);
    *bytes = left;
    return code == CU_OK ? KN_OK : kn_rt_cu_fail(error, code, "cuMemGetInfo");
}

static void *cu_context(void *state)
{
    return ((CuDevice *)state)->context;
}

static int cu_sync(void *state, DeviceError *error)
{
    CuDevice *d = state;
    bool      pushed;
    int       code = kn_rt_cu_enter(d, &pushed);
    if (code == CU_OK)
        code = kn_rt_cu.cuStreamSynchronize(atomic_load(&d->stream));
    kn_rt_cu_leave(pushed);
    return code == CU_OK ? KN_OK : kn_rt_cu_fail(error, code, "a kernel or a copy");
}

/* The new stream waits for an event at the end of the old one. */
static int cu_set_stream(void *state, void *stream, DeviceError *error)
{
    CuDevice *d     = state;
    CuObject  event = NULL, next = stream ? stream : d->own_stream;
    bool      pushed;
    int       code = kn_rt_cu_enter(d, &pushed);
    if (code == CU_OK)
        code = kn_rt_cu.cuEventCreate(&event, CU_EVENT_PLAIN);
    if (code == CU_OK)
        code = kn_rt_cu.cuEventRecord(event, atomic_load(&d->stream));
    if (code == CU_OK)
        code = kn_rt_cu.cuStreamWaitEvent(next, event, 0);
    if (event)
        (void)kn_rt_cu.cuEventDestroy(event); /* when it has happened */
    kn_rt_cu_leave(pushed);
    if (code != CU_OK)
        return kn_rt_cu_fail(error, code, "changing the stream");
    atomic_store(&d->stream, next);
    return KN_OK;
}

/* ---- Memory ----------------------------------------------------------------------------- */

static int cu_alloc(void *state, size_t bytes, uint64_t *memory, DeviceError *error)
{
    bool   pushed;
    size_t left = 0, all = 0;
    int    code = kn_rt_cu_enter(state, &pushed);
    if (code == CU_OK)
        code = kn_rt_cu.cuMemAlloc(memory, bytes);
    if (code == CU_NO_MEMORY)
        (void)kn_rt_cu.cuMemGetInfo(&left, &all);
    kn_rt_cu_leave(pushed);
    if (code == CU_NO_MEMORY)
        return kn_rt_device_error(error, KN_ERROR_LIMIT, "out of device memory: no %zu bytes, %zu of %zu are free",
                                  bytes, left, all);
    return code == CU_OK ? KN_OK : kn_rt_cu_fail(error, code, "cuMemAlloc");
}

static void cu_free(void *state, uint64_t memory)
{
    bool pushed;
    if (kn_rt_cu_enter(state, &pushed) == CU_OK)
        (void)kn_rt_cu.cuMemFree(memory);
    kn_rt_cu_leave(pushed);
}

static int cu_copy_row(const DeviceCopy *c, size_t row, CuObject stream)
{
    const CuAddress device = c->memory + c->offset + row * c->pitch;
    char           *host   = c->host + row * c->pitch;
    return c->to_host ? kn_rt_cu.cuMemcpyDtoHAsync(host, device, c->width, stream)
                      : kn_rt_cu.cuMemcpyHtoDAsync(device, host, c->width, stream);
}

static int cu_copy_rows(const DeviceCopy *c, CuObject stream)
{
    const CuSide host   = { .place = CU_HOST, .host = c->host, .pitch = c->pitch };
    const CuSide device = { .place = CU_DEVICE, .device = c->memory + c->offset, .pitch = c->pitch };
    const CuCopy copy   = {
          .from = c->to_host ? device : host, .to = c->to_host ? host : device, .width = c->width, .height = c->height
    };
    return kn_rt_cu.cuMemcpy2DAsync(&copy, stream);
}

static int cu_copy(void *state, const DeviceCopy *c, DeviceError *error)
{
    CuDevice *d      = state;
    CuObject  stream = atomic_load(&d->stream);
    bool      pushed;
    int       code = kn_rt_cu_enter(d, &pushed);
    if (code == CU_OK && c->height > 1 && c->pitch <= (size_t)d->most_pitch)
        code = cu_copy_rows(c, stream);
    else
        for (size_t row = 0; row < c->height && code == CU_OK; row++)
            code = cu_copy_row(c, row, stream);
    kn_rt_cu_leave(pushed);
    return code == CU_OK ? KN_OK
                         : kn_rt_cu_fail(error, code, c->to_host ? "a copy to the host" : "a copy to the device");
}

static int cu_duplicate(void *state, uint64_t to, uint64_t from, size_t bytes, DeviceError *error)
{
    CuDevice *d = state;
    bool      pushed;
    int       code = kn_rt_cu_enter(d, &pushed);
    if (code == CU_OK)
        code = kn_rt_cu.cuMemcpyDtoDAsync(to, from, bytes, atomic_load(&d->stream));
    kn_rt_cu_leave(pushed);
    return code == CU_OK ? KN_OK : kn_rt_cu_fail(error, code, "a copy inside the device");
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
                                   .load        = kn_rt_cu_load,
                                   .unload      = kn_rt_cu_unload,
                                   .run         = kn_rt_cu_run,
                                   .kernel_info = kn_rt_cu_kernel_info,
                                   .duplicate   = cu_duplicate,
                                   .sync        = cu_sync,
                                   .set_stream  = cu_set_stream,
                                   .context     = cu_context };
