/* SPDX-License-Identifier: MIT */
/* Halide's objects as a peer.
 *
 * Takes   a table `halide_entries` of functions NAME_argv, their objects, and Halide's runtime for CUDA.
 * Gives   `device_peer`.
 * Holds   buffers have their host's and the device's memory, neither marked as newer: nothing is copied.
 */
#include "device.h"

#include <HalideRuntimeCuda.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct CUctx_st;
struct CUstream_st;

extern const DeviceEntry halide_entries[];
extern const DevicePeer  device_peer;

typedef struct Prepared {
    int (*call)(void **args);
    int                count;
    void              *args[DEVICE_ARGS];
    halide_buffer_t    buffers[DEVICE_ARGS];
    halide_dimension_t dims[DEVICE_ARGS][DEVICE_DIMS];
} Prepared;

static void *the_context;
static char  complaint[1000];

/* The runtime asks these, instead of its own, for the context and the stream. */
int halide_cuda_acquire_context(void *user_context, struct CUctx_st **context, bool create)
{
    (void)user_context, (void)create;
    *context = the_context;
    return 0;
}

int halide_cuda_release_context(void *user_context)
{
    (void)user_context;
    return 0;
}

int halide_cuda_get_stream(void *user_context, struct CUctx_st *context, struct CUstream_st **stream)
{
    (void)user_context, (void)context;
    *stream = NULL;
    return 0;
}

static void complain(void *user_context, const char *text)
{
    (void)user_context;
    snprintf(complaint, sizeof complaint, "%s", text);
}

static bool open_peer(void *context)
{
    the_context = context;
    halide_set_error_handler(complain);
    return true;
}

static bool fill_buffer(Prepared *p, int k, const DeviceArray *a)
{
    halide_buffer_t *b = &p->buffers[k];
    b->host            = a->host;
    b->type.code       = a->kind == 'f' ? halide_type_float : a->kind == 'u' ? halide_type_uint : halide_type_int;
    b->type.bits       = (uint8_t)(8 * a->bytes);
    b->type.lanes      = 1;
    b->dimensions      = a->dims;
    b->dim             = p->dims[k];
    for (int d = 0, stride = 1; d < a->dims; stride *= a->size[d++])
        b->dim[d] = (halide_dimension_t){ a->min[d], a->size[d], stride, 0 };
    return !halide_cuda_wrap_device_ptr(NULL, b, a->device);
}

static void release(void *prepared)
{
    Prepared *p = prepared;
    for (int k = 0; k < p->count; k++)
        if (p->buffers[k].device)
            halide_cuda_detach_device_ptr(NULL, &p->buffers[k]);
    free(p);
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
        if (args[k].array && !fill_buffer(p, k, args[k].array)) {
            release(p);
            return NULL;
        }
    }
    return p;
}

static bool call(void *prepared)
{
    Prepared *p = prepared;
    return p->call(p->args) == 0;
}

static bool wait(void)
{
    return true; /* its work is in the default stream, for which the program waits */
}

static void forget(void)
{
    halide_device_release(NULL, halide_cuda_device_interface());
}

static const char *error(void)
{
    complaint[strcspn(complaint, "\n")] = 0;
    return complaint;
}

const DevicePeer device_peer = {
    PEER_NAME, halide_entries, open_peer, prepare, call, wait, release, forget, error, NULL
};
