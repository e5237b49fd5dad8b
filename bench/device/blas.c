/* SPDX-License-Identifier: MIT */
/* cuBLAS as a peer for mat_mul, in f32 without tensor cores; loaded if it is there. */
#include "program.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

enum { OPERATION_NONE = 0, MATH_DEFAULT = 0 };

static struct {
    int (*create)(void **handle);
    int (*set_math)(void *handle, int mode);
    int (*multiply)(void *handle, int a_op, int b_op, int m, int n, int k, const float *alpha, const void *a, int lda,
                    const void *b, int ldb, const float *beta, void *c, int ldc);
} library;

static void *handle;
static int   status;
static char  complaint[80];

static bool open_peer(void *context)
{
    (void)context;
    status = library.create(&handle);
    return status == 0 && library.set_math(handle, MATH_DEFAULT) == 0;
}

/* out(x, y) is the sum over k of A(k, y) B(x, k): by columns, as cuBLAS counts, B times A. */
static void *prepare(const DeviceEntry *entry, DeviceArg *args, int count)
{
    (void)entry, (void)count;
    return args;
}

static bool call(void *prepared)
{
    const DeviceArg *args = prepared;
    const int        n    = args[2].array->size[0];
    const float      one = 1, zero = 0;
    status = library.multiply(
        handle, OPERATION_NONE, OPERATION_NONE, n, n, n, &one, (const void *)(uintptr_t)args[1].array->device, n,
        (const void *)(uintptr_t)args[0].array->device, n, &zero, (void *)(uintptr_t)args[2].array->device, n);
    return status == 0;
}

static bool wait(void)
{
    return true;
}

static void release(void *prepared)
{
    (void)prepared;
}

static void forget(void) {}

static const char *error(void)
{
    snprintf(complaint, sizeof complaint, "cuBLAS returned %d", status);
    return complaint;
}

static const DeviceEntry entries[] = { { "mat_mul", NULL, "A:b B:b out:b" }, { NULL, NULL, NULL } };
static const DevicePeer  peer = { "cublas", entries, open_peer, prepare, call, wait, release, forget, error, NULL };

const DevicePeer *blas_peer(void)
{
    static const char *const names[] = { "libcublas.so.13", "libcublas.so.12", "libcublas.so.11", "libcublas.so" };
    void                    *so      = NULL;
    for (size_t k = 0; k < sizeof names / sizeof *names && !so; k++)
        so = dlopen(names[k], RTLD_NOW | RTLD_LOCAL);
    if (!so)
        return NULL;
    *(void **)&library.create   = dlsym(so, "cublasCreate_v2");
    *(void **)&library.set_math = dlsym(so, "cublasSetMathMode");
    *(void **)&library.multiply = dlsym(so, "cublasSgemm_v2");
    return library.create && library.set_math && library.multiply ? &peer : NULL;
}
