/* SPDX-License-Identifier: MIT */
/* The internals of devices: the table of what a driver does, and the state of a device.
 *
 * A driver's library is a DeviceOps, a table of functions that know nothing of buffers and pipelines. Everything else
 * (device*.c but device_cuda.c and device_opencl.c) is the same for all of them. */
#ifndef KILN_RUNTIME_DEVICE_PARTS_H
#define KILN_RUNTIME_DEVICE_PARTS_H

#include "runtime/copy.h"
#include "runtime/device.h"

enum {
    DEVICE_KINDS      = 3, /* one more than the largest KN_DEVICE_… */
    DEVICE_ERROR_SIZE = 1500
};

/* ---- One driver ---- */

/* Why a function of the table failed. */
typedef struct DeviceError {
    char text[DEVICE_ERROR_SIZE];
    bool lost; /* nothing can be done with the device any more */
} DeviceError;

/* Element 0 of a buffer on a device lies at a multiple of this many bytes: kernels join accesses by it. */
enum { DEVICE_ALIGN = 16 };

/* Rows between a host's memory and a device's: from `offset` on in the memory. */
typedef struct DeviceCopy {
    bool     to_host;
    uint64_t memory;
    size_t   offset;
    char    *host;
    size_t   width, height, pitch; /* bytes of a row; rows; bytes from row to row, on both sides */
} DeviceCopy;

/* Launches that follow each other. Each is a row of words, so that equal batches are equal words:
 *     the kernel's index; blocks along x, y, z; for each buffer its handle and the index of element 0, which is 0 where
 *     handles are addresses; each value, its first byte first, filled up with zeros. */
typedef struct DeviceBatch {
    void                *module;
    const kn_rt_kernels *kernels;
    const uint64_t      *words;
    size_t               word_count;
    int                  count;
} DeviceBatch;
enum { LAUNCH_KERNEL, LAUNCH_GRID, LAUNCH_ARGUMENTS = LAUNCH_GRID + 3 };

static inline size_t kn_rt_launch_words(const kn_rt_kernel *kernel)
{
    return (size_t)LAUNCH_ARGUMENTS + 2 * (size_t)kernel->buffer_count + (size_t)kernel->value_count;
}

/* Functions return KN_OK, or a status with the reason in *error; then nothing is held. `state` is what open made. Any
 * number of threads may call them at once. Copies and kernels are queued and run in order; sync waits for all. */
typedef struct DeviceOps {
    const char *name;      /* "CUDA" */
    bool        addresses; /* handles are addresses: one may point anywhere into memory */
    int (*count)(int *count, DeviceError *error);
    int (*open)(int index, void **state, kn_device_info *info, DeviceError *error);
    void (*close)(void *state);
    int (*free_memory)(void *state, uint64_t *bytes, DeviceError *error);
    int (*alloc)(void *state, size_t bytes, uint64_t *memory, DeviceError *error);
    void (*free)(void *state, uint64_t memory);
    int (*copy)(void *state, const DeviceCopy *copy, DeviceError *error);
    int (*load)(void *state, const kn_rt_kernels *kernels, void **module, DeviceError *error);
    void (*unload)(void *state, void *module);
    /* With `seconds`: waits, and measures each launch. */
    int (*run)(void *state, const DeviceBatch *batch, double *seconds, DeviceError *error);
    /* Fills what the driver knows of a kernel. */
    void (*kernel_info)(void *state, void *module, const kn_rt_kernel *kernel, int index, kn_kernel_profile *profile);
    /* A copy inside the device's memory. */
    int (*duplicate)(void *state, uint64_t to, uint64_t from, size_t bytes, DeviceError *error);
    int (*sync)(void *state, DeviceError *error);
    /* NULL: the device's own. The new one goes on when the old one is done. */
    int (*set_stream)(void *state, void *stream, DeviceError *error);
    void *(*context)(void *state);
} DeviceOps;

extern const DeviceOps kn_rt_cuda_ops, kn_rt_opencl_ops;
/* By kind; a test puts its own there before the first device is opened. */
extern const DeviceOps *kn_rt_device_ops[DEVICE_KINDS];

/* Writes the reason and gives the status back. */
__attribute__((format(printf, 3, 4))) int kn_rt_device_error(DeviceError *error, int status, const char *format, ...);

/* ---- Memory: device_memory.c ---- */

typedef struct DeviceBlock DeviceBlock;
struct DeviceBlock {
    uint64_t     memory; /* as the driver names it */
    size_t       bytes;
    DeviceBlock *next, **link;
    DeviceBlock *call_next; /* of those made for one call */
    int          sharers;   /* buffers of users that have it, but the first */
};

/* Blocks in use, and blocks kept for reuse, those freed last first. */
typedef struct DeviceMemory {
    DeviceBlock *used, *kept;
    size_t       kept_bytes, limit;
} DeviceMemory;

/* Whether a freed block is used for so many bytes. */
bool kn_rt_device_block_fits(const DeviceBlock *b, size_t bytes);
/* A block of at least that many bytes, of which the values are not defined. */
int  kn_rt_device_take(kn_device *d, size_t bytes, DeviceBlock **block, DeviceError *error);
void kn_rt_device_give(kn_device *d, DeviceBlock *block);
/* Another buffer has memory of that handle, and a buffer has it no more; the last one gives its block back. Memory that
 * is not the device's is left alone. */
void kn_rt_device_share(kn_device *d, uint64_t handle);
void kn_rt_device_unshare(kn_device *d, uint64_t handle);
/* Frees kept blocks, the oldest first, until at most so many bytes are kept. */
void kn_rt_device_keep(kn_device *d, size_t bytes);
/* Frees all blocks, used ones too. */
void kn_rt_device_memory_drop(kn_device *d);

/* ---- Devices: device.c ---- */

/* Kernels loaded on a device. */
typedef struct DeviceModule DeviceModule;
struct DeviceModule {
    const kn_rt_kernels *kernels;
    uint64_t             id; /* that the kernels had */
    void                *module;
    DeviceModule        *next;
};

struct kn_device {
    const DeviceOps *ops;
    void            *state;
    kn_device_info   info;
    kn_device       *next, **link; /* all devices, under their registry */
    pthread_mutex_t  lock;         /* of what follows */
    DeviceMemory     memory;
    DeviceModule    *modules;
    KernelProfile   *profiles; /* in the order in which they were first launched */
    atomic_bool      profiling;
    atomic_bool      lost;   /* read without the lock, too */
    bool             forked; /* the driver's state is the parent's: none of its functions may be called */
    char             reason[DEVICE_ERROR_SIZE];
};

/* Tells what a function of the table said, and remembers a device that is lost. */
int kn_rt_device_fail(kn_rt *rt, const char *who, kn_device *d, int status, const DeviceError *error);
/* An error if the device was lost. */
int kn_rt_device_usable(kn_rt *rt, const char *who, kn_device *d);
/* The device of an instance for kernels of that kind; NULL: an error was told. */
kn_device *kn_rt_device_of(kn_rt *rt, const char *who, int kind);
/* The kernels on that device. */
int kn_rt_device_module(kn_rt *rt, const char *who, kn_device *d, const kn_rt_kernels *kernels, void **module);

/* ---- Profiles: device_profile.c ---- */

/* Whether kernels of a program are measured on that device. */
static inline bool kn_rt_device_profiled(kn_device *d, const kn_rt_program *program)
{
    return program->func_count > 0 || atomic_load(&d->profiling);
}
/* Runs the batch, waits for it, and adds the times of its kernels: to the instance's where the program was compiled for
 * profiling, to the device's where that was asked for. */
int kn_rt_device_run_profiled(kn_device *d, kn_rt *rt, const kn_rt_program *program, const DeviceBatch *batch,
                              DeviceError *error);

/* ---- Copies: device_copy.c ---- */

/* The bytes of a buffer's elements, relative to element 0: low <= 0 < high. An extent below 1 counts as 1. False if
 * they are not in the address space. */
bool kn_rt_device_range(const kn_buffer *b, int64_t *low, int64_t *high);
/* The byte with which its memory on the device begins: `low`, or a little before, so that element 0 lies at a multiple
 * of DEVICE_ALIGN. */
static inline int64_t kn_rt_device_begin(int64_t low)
{
    return low - (low % DEVICE_ALIGN + DEVICE_ALIGN) % DEVICE_ALIGN;
}
/* The block is the buffer's memory on the device; `low` is that of kn_rt_device_range. */
void kn_rt_device_point(kn_buffer *b, kn_device *d, const DeviceBlock *block, int64_t low);
/* Copies the elements, and nothing that lies between them, and waits for that. Of an empty buffer that has memory one
 * element along each empty dimension is copied to the device, since kernels may read what they then do not use. */
int kn_rt_device_copy(kn_rt *rt, const char *who, const kn_buffer *b, bool to_host);

#endif
