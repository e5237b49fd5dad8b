/* SPDX-License-Identifier: MIT */
/* Kiln's runtime, as a program sees it that calls compiled pipelines: buffers, errors, threads, memory. This header
 * stands alone: with NAME.h and NAME.a of `kiln build` nothing else of Kiln is needed. kiln.h includes it.
 *
 *     kn_buffer in = kn_buffer_dense(pixels, KN_U8, 2, (int32_t[]){ 640, 480 }), out = …;
 *     if (blur(&in, &out) != KN_OK)
 *         fputs(kn_rt_last_error(), stderr);
 *
 * A compiled pipeline runs on an instance of the runtime, a kn_rt: threads, scratch memory and hooks. blur() uses the
 * process's own, which is made on first use; blur_on() takes one of yours. Any number of threads may call any pipelines
 * on one instance at once.
 */
#ifndef KILN_RUNTIME_H
#define KILN_RUNTIME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined __GNUC__
#define KN_API __attribute__((visibility("default")))
#else
#define KN_API
#endif

#define KN_MAX_RANK 8

typedef enum kn_status {
    KN_OK = 0,
    KN_ERROR_PROGRAM,  /* the text or the schedule is wrong */
    KN_ERROR_ARGUMENT, /* an argument of a call is wrong: a name, a type, a buffer's shape */
    KN_ERROR_BOUNDS,   /* a region is unbounded, or larger than the buffer given for it */
    KN_ERROR_FILE,     /* a file cannot be read or written, or is not what it should be */
    KN_ERROR_LIMIT,    /* out of memory, or the context's quota is spent */
    KN_ERROR_DEVICE    /* there is no such device, or it failed */
} kn_status;

typedef enum kn_type {
    KN_NONE = 0,
    KN_BOOL,
    KN_U8,
    KN_U16,
    KN_U32,
    KN_U64,
    KN_I8,
    KN_I16,
    KN_I32,
    KN_I64,
    KN_F16,
    KN_BF16,
    KN_F32,
    KN_F64,
    KN_TYPE_COUNT
} kn_type;

/* A scalar: exactly one of the two fields is meant, as `is_float` says. */
typedef struct kn_scalar {
    bool is_float;
    union {
        int64_t i;
        double  f;
    } as;
} kn_scalar;

static inline kn_scalar kn_int(int64_t v)
{
    kn_scalar s;
    s.is_float = false;
    s.as.i     = v;
    return s;
}

static inline kn_scalar kn_float(double v)
{
    kn_scalar s;
    s.is_float = true;
    s.as.f     = v;
    return s;
}

/* ---- Buffers ---------------------------------------------------------------------------- */

/* One dimension of a buffer: the coordinates min .. min+extent-1; one step along it moves
 * `stride` elements (any sign; 0 repeats an input along this dimension). */
typedef struct kn_dim {
    int32_t min, extent;
    int64_t stride;
} kn_dim;

/* A device that holds copies of buffers and runs kernels: see Devices below. */
typedef struct kn_device kn_device;

/* Bits of kn_buffer.flags: which copy of the elements is newer. Neither: the copies are equal, or the host has the only
 * one. */
enum { KN_HOST_NEWER = 1, KN_DEVICE_NEWER = 2 };

/* A view of memory that somebody else owns. `data` is the address of the element at the
 * smallest coordinates (min of every dimension). dim[0] is x.
 *
 * The device part, from `device` on, is all zero for a buffer of the host alone. kn_buffer_dense, kn_buffer_alloc and
 * an initializer that names the fields it sets make it so. A pipeline without kernels works on `data` and changes no
 * flag: who keeps a copy of an output on a device sets KN_HOST_NEWER after the call. It refuses a buffer while
 * KN_DEVICE_NEWER is set, because `data` is out of date. A pipeline with kernels takes the newer copy and sets the
 * flags. Both refuse unknown flags and a `reserved` that is not zero.
 *
 * This layout is ABI: compiled code, the runtime and the caller share it. Size, order, types and offsets of the fields
 * and KN_MAX_RANK stay as they are. What is new takes the place of `reserved`, and zero there means what it means now.
 */
typedef struct kn_buffer {
    void      *data;
    kn_type    type;
    int32_t    rank;
    kn_dim     dim[KN_MAX_RANK];
    kn_device *device;    /* NULL: no device has a copy */
    uint64_t   handle;    /* the device's name for its copy; 0 without a device. CUDA: the address of the element at
                             the smallest coordinates, a multiple of 16; OpenCL: a cl_mem that begins with the lowest
                             element, or up to 15 bytes before, so that the former lies at a multiple of 16 */
    uint32_t flags;       /* KN_HOST_NEWER, KN_DEVICE_NEWER */
    uint32_t reserved[3]; /* must be zero */
} kn_buffer;

/* A view of dense memory, x fastest, all mins 0. The extents are given in the order x, y, c. */
KN_API kn_buffer kn_buffer_dense(void *data, kn_type type, int rank, const int32_t *extent);

/* The C function behind `extern stage warp(f, k) : f32(x, y)`. If `query`, it sets min and extent of each input's
 * dimensions to what the box of `output` needs, and computes nothing (data is NULL everywhere); else it fills
 * `output`. Scalar arguments come in `values`. Returns 0, or another number to stop the run with an error. */
typedef int kn_stage(bool query, kn_buffer *inputs, int input_count, const kn_scalar *values, int value_count,
                     kn_buffer *output, void *user);

/* ---- Instances -------------------------------------------------------------------------- */

typedef struct kn_rt kn_rt;

/* What a trace tells. */
typedef enum kn_rt_event_kind {
    KN_RT_CALL_BEGIN,
    KN_RT_CALL_END, /* of a pipeline; value: its status at the end */
    KN_RT_FUNC_BEGIN,
    KN_RT_FUNC_END, /* of the code that computes a function, in pipelines compiled for profiling */
    KN_RT_LOOP_BEGIN,
    KN_RT_LOOP_END, /* of a parallel loop; value: its extent, then its status */
    KN_RT_STAGE_BEGIN,
    KN_RT_STAGE_END, /* of a call of an extern stage; value: what it returned at the end */
    KN_RT_NO_DEVICE  /* a pipeline with kernels runs its code for the host; value: the kn_device_kind that there is none
                        of */
} kn_rt_event_kind;

typedef struct kn_rt_event {
    kn_rt_event_kind kind;
    const char *pipeline, *name; /* the pipeline and the function or stage; NULL where there is none. They live as long
                                    as the compiled code */
    int64_t value;
} kn_rt_event;

/* One iteration of a parallel loop, for the hook below. */
typedef int kn_rt_task(void *closure, int32_t index);

/* What an instance uses instead of its own means; a zero field means the default. A hook is called from many threads at
 * once, and must not call kn_rt_* functions itself, nor pipelines (tasks of `parallel` do, of course). */
typedef struct kn_rt_hooks {
    void *user;                                  /* first argument of the hooks */
    void *(*allocate)(void *user, size_t bytes); /* default malloc; may return NULL */
    void (*release)(void *user, void *block);    /* default free; given together with allocate, or not at all */
    /* Calls task(closure, i) for every i in 0 .. count-1, on any threads and in any order, and returns when all have
     * returned: 0, or what one of them returned that was not 0. Default: the instance's own threads. */
    int (*parallel)(void *user, int32_t count, kn_rt_task *task, void *closure);
    void (*error)(void *user, kn_status status,
                  const char *message); /* hears of every error; kn_rt_last_error tells too */
    void (*trace)(void *user, const kn_rt_event *event);
    int    threads;       /* as kn_rt_set_threads */
    size_t scratch_limit; /* bytes of scratch that a thread keeps for reuse; default 1 GiB */
} kn_rt_hooks;

/* NULL hooks are all defaults. Returns NULL only if there is no memory, or allocate is given without release. */
KN_API kn_rt *kn_rt_new(const kn_rt_hooks *hooks);
/* Ends the instance's threads and frees all it holds. No pipeline may be running on it. NULL is fine: the process's own
 * stays. */
KN_API void kn_rt_destroy(kn_rt *rt);

/* How many threads work on a parallel loop, the calling one among them; 0: what the environment's KN_NUM_THREADS says,
 * else the number of CPUs this process may use. Not from inside a parallel loop. Threads are made when they are first
 * needed. */
KN_API kn_status kn_rt_set_threads(kn_rt *rt, int threads);
KN_API int       kn_rt_threads(kn_rt *rt);

/* Gives scratch kept for reuse back, and ends the threads, which come again when needed. Other threads of the program
 * give theirs back when they next free some, or end. Not from inside a parallel loop. */
KN_API kn_status kn_rt_trim(kn_rt *rt);

/* The errors of the last call of a pipeline, or of a function for devices, in this thread, a line each; "" if there was
 * none. The text stays until the thread's next call. */
KN_API const char *kn_rt_last_error(void);

/* ---- Devices ---------------------------------------------------------------------------- */

/* Pipelines compiled for a GPU run their kernels on a device. Without a word of yours they run on the first one, copy
 * the inputs there and the outputs back: nothing of this section is needed.
 *
 * A kn_device is one queue of work on one GPU, with the memory that it keeps there. Work is done in the order in which
 * it was queued; that of two kn_devices may overlap, also on one GPU. Any number of threads may use a device at once.
 * The driver's library is loaded when the first function here is called, or the first kernel is to run.
 *
 * To keep data on the device between calls, give buffers a copy there:
 *
 *     kn_device *gpu = kn_device_default(KN_DEVICE_CUDA);
 *     if (kn_copy_to_device(gpu, &in) || kn_buffer_alloc_device(&out, gpu) || blur(&in, &out) || kn_copy_to_host(&out))
 *         fputs(kn_rt_last_error(), stderr);
 *     kn_buffer_free_device(&in), kn_buffer_free_device(&out);
 *
 * A call whose outputs all have a device returns while its kernels still run, unless a part of the pipeline on the host
 * had to wait for them; kn_device_sync and kn_copy_to_host wait. A kernel that fails is told by the next function that
 * waits. A buffer with two copies of which one is newer must not be given to two calls at once.
 *
 * Functions return KN_OK or an error; kn_rt_last_error() has the words. */
typedef enum kn_device_kind { KN_DEVICE_CUDA = 1, KN_DEVICE_OPENCL = 2 } kn_device_kind;

typedef struct kn_device_info {
    kn_device_kind kind;
    int            index;                /* among those of its kind */
    char           name[128];            /* "NVIDIA H200" */
    char           capability[64];       /* "9.0"; OpenCL: the version that it supports */
    char           driver[64];           /* the driver's version */
    bool           is_gpu;               /* OpenCL has CPUs as devices, too */
    int32_t        multiprocessors;      /* OpenCL: compute units */
    int32_t        most_threads;         /* of a block */
    int32_t        most_blocks[3];       /* of a grid: x, y, z */
    uint64_t       memory, block_memory; /* bytes; those of shared memory that a block may have */
    /* Of a multiprocessor: resident threads and blocks, registers, bytes of shared memory, and of these what the system
     * takes for each block; bytes of the L2 cache. 0: the driver does not tell. */
    int32_t  sm_threads, sm_blocks, sm_registers;
    uint64_t sm_memory, reserved_memory, cache;
} kn_device_info;

/* How many devices of that kind there are; 0 also where there is no driver, and kn_rt_last_error() says why. OpenCL's
 * are counted over all platforms, GPUs first. */
KN_API int kn_device_count(kn_device_kind kind);

/* A new queue on the device of that index, 0 .. kn_device_count() - 1. NULL: kn_rt_last_error() says why. CUDA: in the
 * primary context, which the CUDA runtime and libraries on top of it use, too. */
KN_API kn_device *kn_device_open(kn_device_kind kind, int index);
/* Waits for its work and frees all memory that it gave: buffers that have copies there must not be used with them
 * again. Not for one that a running call uses. NULL, and what kn_device_default gave, is left alone. */
KN_API void kn_device_close(kn_device *device);

/* The device that pipelines of that kind run on if neither their buffers nor their instance has one: opened on first
 * use, with the index that the environment's KN_DEVICE says, else 0. NULL: kn_rt_last_error() says why. */
KN_API kn_device *kn_device_default(kn_device_kind kind);
/* The device on which an instance runs kernels if their buffers have none; NULL: the default again. It must not be
 * closed before. */
KN_API kn_status kn_rt_set_device(kn_rt *rt, kn_device *device);

/* A pipeline built for `host-cuda` or `host-opencl` has code for a device and code for the host alone. A call runs on a
 * device if one of its buffers has a copy there; else where the instance was told, or the environment's KN_PLACE says,
 * host or device; else, if both halves have schedules of `auto`, where it is predicted to be faster, copies counted;
 * else on a device. Where there is none, on the host. An error of a device, as too little memory, is an error of the
 * call: it is not run again on the host. */
typedef enum kn_place { KN_ANYWHERE, KN_ON_HOST, KN_ON_DEVICE } kn_place;
KN_API kn_status kn_rt_set_place(kn_rt *rt, kn_place place);
/* Where the last call of a pipeline in this thread ran; KN_ANYWHERE: there was none, or its buffers were refused. */
KN_API kn_place kn_rt_last_place(void);

KN_API const kn_device_info *kn_device_describe(const kn_device *device);
/* Bytes of its memory that nobody uses: those kept for reuse are used. */
KN_API kn_status kn_device_free_memory(kn_device *device, uint64_t *bytes);

/* Memory freed by pipelines and buffers is kept for reuse, at most this many bytes; at first a quarter of the device's.
 * 0 keeps none, and frees what is kept now. */
KN_API kn_status kn_device_set_cache_limit(kn_device *device, uint64_t bytes);

/* Waits until all that was queued is done. */
KN_API kn_status kn_device_sync(kn_device *device);

/* Work goes to a queue of yours from now on, after what was queued so far: a CUstream (cudaStream_t), with the legacy
 * default stream as (void *)1; or a cl_command_queue of the device's context, in order. NULL: the device's own again.
 * It must live until then. The device's own CUDA stream waits for the legacy default stream, and that one for it. */
KN_API kn_status kn_device_set_stream(kn_device *device, void *stream);
/* Its CUcontext or cl_context, in which memory and queues that it is given must be made. */
KN_API void *kn_device_context(const kn_device *device);

/* Memory on the device for a copy of b, without values: for outputs. b must have no device yet; its shape stays as it
 * is from now on. Its memory on the device is as large as that on the host, gaps between rows included. */
KN_API kn_status kn_buffer_alloc_device(kn_buffer *b, kn_device *device);
/* The same with memory of yours, or with a part of another buffer's: handle is what kn_buffer.handle says, with room
 * for all elements. It holds the newer copy, KN_DEVICE_NEWER; b->data may be NULL if no part of a pipeline on the host
 * needs it. */
KN_API kn_status kn_buffer_wrap_device(kn_buffer *b, kn_device *device, uint64_t handle);
/* Frees memory of the first kind, forgets that of the second; what several buffers have is freed with the last of
 * them. b is of the host alone. A newer copy is lost. A buffer without a device is fine. */
KN_API void kn_buffer_free_device(kn_buffer *b);

/* The device's copy is made current: allocated if there is none yet, copied unless it is current. data can be changed
 * when it returns. */
KN_API kn_status kn_copy_to_device(kn_device *device, kn_buffer *b);
/* The host's copy is made current: waits and copies if that of the device is newer. */
KN_API kn_status kn_copy_to_host(kn_buffer *b);

/* How fast memory is copied, in bytes per second: from the host, to it, and inside the device, where a byte that is
 * read and written counts twice. Takes some tenths of a second, and up to 1 GiB of the device's memory. */
typedef struct kn_device_speed {
    double to_device, to_host, inside;
} kn_device_speed;
KN_API kn_status kn_device_measure(kn_device *device, kn_device_speed *speed);

/* What was measured of a kernel. */
typedef struct kn_kernel_profile {
    const char *pipeline, *kernel;
    int64_t     launches;
    double      seconds;                            /* of all launches */
    int64_t     blocks;                             /* of the last launch */
    int32_t     threads;                            /* of a block */
    int32_t registers, spilled_bytes, shared_bytes; /* of a thread, a thread, a block; OpenCL does not tell them: 0 */
    int32_t resident_blocks;                        /* of a multiprocessor at once; 0: not known */
} kn_kernel_profile;

/* Measures the kernels on a device from now on, or no more. Each call then waits for its kernels, which are launched
 * one by one. CUDA: by events; OpenCL: by the host's clock. What was measured before is forgotten. */
KN_API kn_status kn_device_set_profile(kn_device *device, bool on);
/* The kernels that were measured, in the order of their first launches. False if there are not so many. Names live
 * until the next kn_device_set_profile. */
KN_API bool kn_device_profile_get(kn_device *device, int index, kn_kernel_profile *profile);

/* ---- Profiles --------------------------------------------------------------------------- */

/* Where the time went in pipelines compiled for profiling, as a table in text: for each function the time of all
 * threads spent in its own code, and how often it was computed; then for each kernel its time on the device, and what
 * kn_kernel_profile says. A function's time is that of its kernels, too: each is waited for. Writes at most size bytes,
 * NUL included, and returns the length of the whole text, as snprintf does. */
KN_API size_t kn_rt_profile_report(kn_rt *rt, char *text, size_t size);
/* Forgets what was measured. No profiled pipeline may be running. */
KN_API void kn_rt_profile_reset(kn_rt *rt);

#ifdef __cplusplus
}
#endif
#endif
