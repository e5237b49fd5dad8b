/* SPDX-License-Identifier: MIT */
/* CUDA as far as kiln tile's output uses it, emulated by one processor: for tests where there is no device.
 *
 * The threads of a block are contexts that run one after the other up to their next barrier, in ascending order, or in
 * descending order with KN_REVERSE set: what needs a barrier and has none gives other results. A barrier that some
 * threads pass by ends the program. A launch k<<<grid, block, shared>>>(…) is written
 * kn_emulate(grid, block, [&] { k(…); }). */
#ifndef CUDA_RUNTIME_H
#define CUDA_RUNTIME_H

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <ucontext.h>
#include <vector>

#define __global__
#define __device__
#define __host__
#define __launch_bounds__(...)
#define __shared__ static
#define __align__(n)

struct dim3 {
    unsigned x, y, z;
    dim3(unsigned x_ = 1, unsigned y_ = 1, unsigned z_ = 1) : x(x_), y(y_), z(z_) {}
};

static dim3          threadIdx, blockIdx, blockDim, gridDim;
static unsigned char kn_shared[227 << 10] __attribute__((aligned(64)));

struct KnThread {
    ucontext_t        context;
    std::vector<char> stack;
    dim3              index;
    bool              done;
};

static ucontext_t             kn_scheduler;
static KnThread              *kn_running;
static std::function<void()> *kn_body;

static void kn_run()
{
    (*kn_body)();
    kn_running->done = true;
    swapcontext(&kn_running->context, &kn_scheduler);
}

static void __syncthreads()
{
    swapcontext(&kn_running->context, &kn_scheduler);
}

static void kn_block(std::vector<KnThread> &threads)
{
    const size_t n       = threads.size();
    const bool   reverse = getenv("KN_REVERSE") != NULL;
    memset(kn_shared, 0xff, sizeof kn_shared);
    for (KnThread &t : threads) {
        t.done = false;
        getcontext(&t.context);
        t.context.uc_stack.ss_sp   = t.stack.data();
        t.context.uc_stack.ss_size = t.stack.size();
        makecontext(&t.context, kn_run, 0);
    }
    for (size_t done = 0; done < n;) {
        done = 0;
        for (size_t i = 0; i < n; i++) {
            kn_running = &threads[reverse ? n - 1 - i : i];
            threadIdx  = kn_running->index;
            swapcontext(&kn_scheduler, &kn_running->context);
            done += kn_running->done;
        }
        if (done && done < n) {
            fprintf(stderr, "a barrier that not all threads reach\n");
            abort();
        }
    }
}

static void kn_emulate(dim3 grid, dim3 block, std::function<void()> body)
{
    std::vector<KnThread> threads(block.x * block.y * block.z);
    for (unsigned i = 0; i < threads.size(); i++) {
        threads[i].stack.resize(64 << 10);
        threads[i].index = dim3(i % block.x, i / block.x % block.y, i / block.x / block.y);
    }
    kn_body  = &body;
    gridDim  = grid;
    blockDim = block;
    for (unsigned i = 0; i < grid.x * grid.y * grid.z; i++) {
        blockIdx = dim3(i % grid.x, i / grid.x % grid.y, i / grid.x / grid.y);
        kn_block(threads);
    }
}

/* ---- The host's part: the device's memory is the host's ---- */

typedef int cudaError_t;
typedef int cudaEvent_t;
enum { cudaSuccess, cudaFailed };
enum { cudaMemcpyHostToDevice, cudaMemcpyDeviceToHost };
enum { cudaMemoryTypeHost, cudaMemoryTypeDevice, cudaMemoryTypeManaged };
enum { cudaFuncAttributeMaxDynamicSharedMemorySize };
struct cudaPointerAttributes {
    int type;
};

static const char *cudaGetErrorString(cudaError_t e)
{
    return e ? "no device" : "";
}
static cudaError_t cudaGetLastError()
{
    return cudaSuccess;
}
static cudaError_t cudaPointerGetAttributes(cudaPointerAttributes *a, const void *)
{
    a->type = getenv("KN_MANAGED") ? cudaMemoryTypeManaged : cudaMemoryTypeHost;
    return cudaSuccess;
}
static cudaError_t cudaMalloc(char **p, size_t n)
{
    if (getenv("KN_NO_DEVICE"))
        return cudaFailed;
    *p = (char *)malloc(n);
    memset(*p, 0xff, n);
    return cudaSuccess;
}
static cudaError_t cudaFree(void *p)
{
    free(p);
    return cudaSuccess;
}
static cudaError_t cudaMemcpy(void *to, const void *from, size_t n, int)
{
    memcpy(to, from, n);
    return cudaSuccess;
}
static cudaError_t cudaEventCreate(cudaEvent_t *)
{
    return cudaSuccess;
}
static cudaError_t cudaEventRecord(cudaEvent_t)
{
    return cudaSuccess;
}
static cudaError_t cudaEventSynchronize(cudaEvent_t)
{
    return cudaSuccess;
}
static cudaError_t cudaEventDestroy(cudaEvent_t)
{
    return cudaSuccess;
}
static cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t, cudaEvent_t)
{
    *ms = 0;
    return cudaSuccess;
}
template <class F> static cudaError_t cudaFuncSetAttribute(F, int, int)
{
    return cudaSuccess;
}

#endif
