/* SPDX-License-Identifier: MIT */
/* Kiln's objects as a peer, on a GPU, or with PEER_HOST on the CPU of the machine: then it works on the arrays of the
 * host, and is what results are compared with.
 *
 * Takes   a table `kiln_entries` of functions, their objects, and Kiln's runtime.
 * Gives   `device_peer`.
 */
#include "device.h"

#include <kiln_runtime.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern const DeviceEntry kiln_entries[];
extern const DevicePeer  device_peer;

typedef struct Prepared {
    int (*call)(void **args);
    int       count;
    void     *args[DEVICE_ARGS];
    kn_buffer buffers[DEVICE_ARGS];
} Prepared;

static char complaint[1000];

static bool complain(void)
{
    snprintf(complaint, sizeof complaint, "%s", kn_rt_last_error());
    complaint[strcspn(complaint, "\n")] = 0;
    return false;
}

#ifdef PEER_HOST

static bool open_peer(void *context)
{
    (void)context;
    return true;
}

static bool wrap(kn_buffer *b, uint64_t address)
{
    (void)b, (void)address;
    return true;
}

static void unwrap(kn_buffer *b)
{
    (void)b;
}

static bool wait(void)
{
    return true;
}

static void forget(void)
{
    kn_rt_trim(NULL);
}

static const char *kernels(void *prepared)
{
    (void)prepared;
    return NULL;
}

#else

static kn_device *gpu;

/* The device's own stream works in the primary context, and the legacy default stream waits for it. */
static bool open_peer(void *context)
{
    (void)context;
    gpu = kn_device_open(KN_DEVICE_CUDA, 0);
    return gpu ? true : complain();
}

static bool wrap(kn_buffer *b, uint64_t address)
{
    return kn_buffer_wrap_device(b, gpu, address) == KN_OK ? true : complain();
}

static void unwrap(kn_buffer *b)
{
    kn_buffer_free_device(b);
}

static bool wait(void)
{
    return kn_device_sync(gpu) == KN_OK ? true : complain();
}

static void forget(void)
{
    kn_device_set_cache_limit(gpu, 0);
    kn_device_set_cache_limit(gpu, UINT64_MAX);
}

#endif

static kn_type type_of(const DeviceArray *a)
{
    static const kn_type unsigned_types[] = { [1] = KN_U8, [2] = KN_U16, [4] = KN_U32, [8] = KN_U64 },
                         signed_types[]   = { [1] = KN_I8, [2] = KN_I16, [4] = KN_I32, [8] = KN_I64 };
    if (a->kind == 'f')
        return a->bytes == 4 ? KN_F32 : KN_F64;
    return (a->kind == 'u' ? unsigned_types : signed_types)[a->bytes];
}

static void release(void *prepared)
{
    Prepared *p = prepared;
    for (int k = 0; k < p->count; k++)
        if (p->args[k] == &p->buffers[k])
            unwrap(&p->buffers[k]);
    free(p);
}

static bool fill_buffer(kn_buffer *b, const DeviceArray *a)
{
    *b = kn_buffer_dense(a->host, type_of(a), a->dims, a->size);
    for (int d = 0; d < a->dims; d++)
        b->dim[d].min = a->min[d];
    return wrap(b, a->device);
}

static void *prepare(const DeviceEntry *entry, DeviceArg *args, int count)
{
    Prepared *p = calloc(1, sizeof *p);
    if (!p)
        abort();
    p->call  = entry->call;
    p->count = count;
    for (int k = 0; k < count; k++) {
        p->args[k] = args[k].array ? (void *)&p->buffers[k] : (void *)&args[k].value;
        if (args[k].array && !fill_buffer(&p->buffers[k], args[k].array)) {
            release(p);
            return NULL;
        }
    }
    return p;
}

static bool call(void *prepared)
{
    Prepared *p = prepared;
    return p->call(p->args) == KN_OK ? true : complain();
}

static const char *error(void)
{
    return complaint;
}

#ifndef PEER_HOST

enum { PROFILED_CALLS = 5 };

/* "k_g_0 12.3 us 64 registers 0 spilled 100x128, …" */
static const char *kernels(void *prepared)
{
    static char       text[20000];
    size_t            n = 0;
    kn_kernel_profile k;
    bool              good = kn_device_set_profile(gpu, true) == KN_OK;
    for (int i = 0; good && i < PROFILED_CALLS; i++)
        good = call(prepared) && wait();
    text[0] = 0;
    for (int i = 0; good && n < sizeof text && kn_device_profile_get(gpu, i, &k); i++)
        n += (size_t)snprintf(text + n, sizeof text - n, "%s%s %.2f us %d registers %d spilled %lldx%d", i ? ", " : "",
                              k.kernel, 1e6 * k.seconds / PROFILED_CALLS, (int)k.registers, (int)k.spilled_bytes,
                              (long long)k.blocks, (int)k.threads);
    kn_device_set_profile(gpu, false);
    return good ? text : NULL;
}

#endif

const DevicePeer device_peer = { PEER_NAME, kiln_entries, open_peer, prepare, call,
                                 wait,      release,      forget,    error,   kernels };
