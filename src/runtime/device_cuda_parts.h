/* SPDX-License-Identifier: MIT */
/* The CUDA driver: the declarations of its API that are used, so that no header of CUDA is needed to build, and the
 * state of a device. */
#ifndef KILN_RUNTIME_DEVICE_CUDA_PARTS_H
#define KILN_RUNTIME_DEVICE_CUDA_PARTS_H

#include "runtime/device_parts.h"

typedef struct CuAny *CuObject; /* a context, stream, module, function or event */
typedef uint64_t      CuAddress;

/* Results. */
enum { CU_OK = 0, CU_NO_MEMORY = 2, CU_NO_DEVICE = 100, CU_PTX_TOO_NEW = 222 };

/* Attributes of devices and of functions, and options of the compiler of PTX. */
enum {
    CU_MOST_THREADS       = 1,
    CU_MOST_BLOCKS        = 5, /* x, y, z */
    CU_BLOCK_MEMORY       = 8,
    CU_MOST_BLOCK_MEMORY  = 97, /* where a function asks for it */
    CU_MOST_PITCH         = 11,
    CU_MULTIPROCESSORS    = 16,
    CU_CACHE              = 38,
    CU_SM_THREADS         = 39,
    CU_SM_MEMORY          = 81,
    CU_SM_REGISTERS       = 82,
    CU_SM_BLOCKS          = 106,
    CU_RESERVED_MEMORY    = 111,
    CU_MAJOR              = 75,
    CU_MINOR              = 76,
    CU_FUNCTION_SHARED    = 1,
    CU_FUNCTION_ASKED     = 8, /* shared memory that a launch may ask for */
    CU_FUNCTION_LOCAL     = 3,
    CU_FUNCTION_REGISTERS = 4,
    CU_JIT_ERROR_LOG      = 5,
    CU_JIT_ERROR_SIZE     = 6
};

enum { CU_EVENT_PLAIN = 2 /* without times */, CU_HOST = 1, CU_DEVICE = 2, CU_LOG_SIZE = DEVICE_ERROR_SIZE - 300 };

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

/* A kernel as a node of a graph: the driver's second version of it, of which the first is the beginning. */
typedef struct CuNode {
    CuObject function;
    unsigned grid[3], threads[3], shared;
    void   **arguments, **extra;
    CuObject kernel, context;
} CuNode;

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
    F(cuEventElapsedTime, "cuEventElapsedTime", (float *milliseconds, CuObject from, CuObject to))                     \
    F(cuMemcpyDtoDAsync, "cuMemcpyDtoDAsync_v2", (CuAddress to, CuAddress from, size_t bytes, CuObject stream))        \
    F(cuFuncSetAttribute, "cuFuncSetAttribute", (CuObject function, int what, int value))                              \
    F(cuFuncGetAttribute, "cuFuncGetAttribute", (int *value, int what, CuObject function))                             \
    F(cuOccupancyMaxActiveBlocksPerMultiprocessor, "cuOccupancyMaxActiveBlocksPerMultiprocessor",                      \
      (int *blocks, CuObject function, int threads, size_t shared))                                                    \
    F(cuEventDestroy, "cuEventDestroy_v2", (CuObject event))                                                           \
    F(cuModuleLoadDataEx, "cuModuleLoadDataEx",                                                                        \
      (CuObject *module, const void *text, unsigned count, const int *options, void *const *values))                   \
    F(cuModuleGetFunction, "cuModuleGetFunction", (CuObject *function, CuObject module, const char *name))             \
    F(cuModuleUnload, "cuModuleUnload", (CuObject module))                                                             \
    F(cuLaunchKernel, "cuLaunchKernel",                                                                                \
      (CuObject function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned threads_x, unsigned threads_y,   \
       unsigned threads_z, unsigned shared, CuObject stream, void **arguments, void **extra))

/* Those of graphs, which older drivers lack. */
#define CU_GRAPH_FUNCTIONS(F)                                                                                          \
    F(cuGraphCreate, "cuGraphCreate", (CuObject *graph, unsigned flags))                                               \
    F(cuGraphAddKernelNode, "cuGraphAddKernelNode_v2",                                                                 \
      (CuObject *node, CuObject graph, const CuObject *after, size_t after_count, const CuNode *kernel))               \
    F(cuGraphInstantiate, "cuGraphInstantiateWithFlags",                                                               \
      (CuObject *executable, CuObject graph, unsigned long long flags))                                                \
    F(cuGraphLaunch, "cuGraphLaunch", (CuObject executable, CuObject stream))                                          \
    F(cuGraphExecDestroy, "cuGraphExecDestroy", (CuObject executable))                                                 \
    F(cuGraphDestroy, "cuGraphDestroy", (CuObject graph))

typedef struct CuFunctions {
#define CU_FIELD(name, symbol, parameters) int(*name) parameters;
    CU_FUNCTIONS(CU_FIELD)
    CU_GRAPH_FUNCTIONS(CU_FIELD)
} CuFunctions;

/* clang-format on */

typedef struct CuDevice {
    int               device;
    int               major, minor, most_pitch, block_memory;
    CuObject          context, own_stream;
    _Atomic(CuObject) stream;
} CuDevice;

/* The driver's functions, once it is loaded. */
extern CuFunctions kn_rt_cu;
extern bool        kn_rt_cu_has_graphs;

/* The words for a result that is not CU_OK: "CUDA_ERROR_ILLEGAL_ADDRESS (700, an illegal memory access …)". */
int kn_rt_cu_fail(DeviceError *error, int code, const char *what);
/* Makes the device's context current; whether it has to be popped by kn_rt_cu_leave goes to *pushed. */
int  kn_rt_cu_enter(const CuDevice *d, bool *pushed);
void kn_rt_cu_leave(bool pushed);

/* Of DeviceOps: device_cuda_run.c. */
int  kn_rt_cu_load(void *state, const kn_rt_kernels *kernels, void **module, DeviceError *error);
void kn_rt_cu_unload(void *state, void *module);
int  kn_rt_cu_run(void *state, const DeviceBatch *batch, double *seconds, DeviceError *error);
void kn_rt_cu_kernel_info(void *state, void *module, const kn_rt_kernel *kernel, int index, kn_kernel_profile *profile);

#endif
