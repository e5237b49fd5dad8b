/* SPDX-License-Identifier: MIT */
/* What compiled code calls where a part of it runs on a device. kiln_runtime.h has what users call.
 *
 * One idea: a buffer has at most two copies, and flags say which is newer. A kernel, or code of the host, says before
 * it begins what it will read and write; what has to be copied follows from the flags, and nothing else is copied. Both
 * copies have one layout: element i of one is element i of the other. Element 0 lies at a multiple of 16 bytes on the
 * device.
 *
 * A call of a pipeline is
 *     kn_rt_enter_device; kn_rt_device_enter; …; kn_rt_device_leave; kn_rt_leave
 * with, in between, kn_rt_device_alloc and _free for scratch that kernels use, kn_rt_host_need before code of the host
 * that touches a buffer which a kernel touches too, and kn_rt_launch.
 *
 * A kernel's parameters: for each buffer its memory, for OpenCL followed by one `long`, then the values in order.
 *     CUDA    .param .u64: the address of element 0, the one at the smallest coordinates
 *     OpenCL  __global T *memory, long first: element 0 is memory[first]. With negative strides other elements lie
 *             before it, and an OpenCL buffer cannot be pointed into. */
#ifndef KILN_RUNTIME_DEVICE_H
#define KILN_RUNTIME_DEVICE_H

#include "runtime/runtime.h"

/* As DeviceKind of the compiler (ir/target.h). */
enum { KN_RT_CUDA = KN_DEVICE_CUDA, KN_RT_OPENCL = KN_DEVICE_OPENCL };
/* Bits of `access`. */
enum { KN_RT_READ = 1, KN_RT_WRITE = 2 };
enum { KN_RT_MOST_ARGUMENTS = 512 };

typedef struct kn_rt_kernel {
    const char    *name;
    int32_t        threads[3]; /* of a block: x, y, z */
    int32_t        buffer_count, value_count;
    const uint8_t *access;       /* of each buffer: KN_RT_READ, KN_RT_WRITE */
    const uint8_t *value_size;   /* of each value: 1, 2, 4 or 8 bytes */
    int32_t        shared_bytes; /* of a block, that the launch asks for; 0: the text declares all that there is */
} kn_rt_kernel;

/* The kernels of one program: a constant in the object. Its address tells modules apart as long as the code is
 * loaded; kn_rt_device_forget() ends that. Of code that was unloaded without it, and whose address others have now, the
 * id tells them apart. */
typedef struct kn_rt_kernels kn_rt_kernels;
struct kn_rt_kernels {
    int32_t             kind; /* KN_RT_CUDA: text is PTX; KN_RT_OPENCL: OpenCL C */
    int32_t             count;
    const char         *text;    /* ended by NUL */
    const char         *options; /* for the device's compiler; NULL: none */
    const kn_rt_kernel *kernels;
    uint64_t            id; /* follows from the text */
    /* A launch with a buffer of more elements, from the first to the last, takes the kernel of `large`: the same
     * kernels with wider indices, loaded when they are first needed. 0: any number. */
    int64_t              most_elements;
    const kn_rt_kernels *large; /* NULL: such a launch is refused with KN_RT_LARGE */
};

/* A status of kn_rt_launch, and so of compiled code: kernels for large buffers are needed, which the code does not
 * have. No error is told: who has compiled it compiles it again. Objects of kn_build have them. */
enum { KN_RT_LARGE = 1000 };

/* The device's side of one call. */
typedef struct kn_rt_call kn_rt_call;

/* As kn_rt_enter, for a program with kernels: a port may have its newer, or its only, copy on a device. */
KN_API int kn_rt_enter_device(kn_rt *rt, const kn_rt_program *program, const kn_buffer *const *given, kn_buffer *used);

/* Where a call of a program runs that has code for the host alone, too. 1: on a device, since a buffer has a copy
 * there, or it was asked for, or there is a device of that kind, which is asked once. 0: on the host; a trace hears of
 * it where there is no device (KN_RT_NO_DEVICE), and no error is told. -1: KN_PLACE of the environment is no place; the
 * error was told. With KN_RT_PREFERS_HOST in `kind`: on the host, where no buffer and nobody asks for a device. */
enum { KN_RT_PREFERS_HOST = 256 };
KN_API int32_t kn_rt_device_present(kn_rt *rt, const kn_rt_program *program, int32_t kind,
                                    const kn_buffer *const *given);

/* Chooses the device (that of the ports that have one, which must be the same for all; else the one of the instance),
 * and loads the kernels there, unless they are loaded. `used` are the ports, as kn_rt_enter filled them. *call is NULL
 * if the status is not 0. */
KN_API int kn_rt_device_enter(kn_rt *rt, const kn_rt_program *program, const kn_rt_kernels *kernels, kn_buffer *used,
                              kn_rt_call **call);
/* Ends it: outputs that came without a device are copied to the host, after which the kernels have ended; copies that
 * were made for this call are released. Outputs that have a device stay there, with KN_DEVICE_NEWER in given[i]->flags.
 * Gives the status back, or a worse one. */
KN_API int kn_rt_device_leave(kn_rt_call *call, const kn_buffer *const *given, int status);

/* Scratch of `count` elements in *b, which is all that is needed of it: one dimension, stride 1. With `host` there is
 * memory of the host too, at b->data. Its values are not defined. count <= 0: nothing is allocated. */
KN_API int  kn_rt_device_alloc(kn_rt_call *call, kn_buffer *b, int32_t type, int64_t count, int32_t host);
KN_API void kn_rt_device_free(kn_rt_call *call, kn_buffer *b);

/* The host's copy is made current; with KN_RT_WRITE it is the newer one from now on. */
KN_API int kn_rt_host_need(kn_rt_call *call, kn_buffer *b, int32_t access);

/* Starts kernels->kernels[kernel] for grid[0] x grid[1] x grid[2] blocks, after what was started before; no block where
 * one of them is not positive. args: the address of a kn_buffer for each buffer, then the bits of each value, the first
 * byte of the value first. The device's copies are made current, and newer where the kernel writes. KN_RT_LARGE: there
 * are no kernels for buffers of this size. */
KN_API int kn_rt_launch(kn_rt_call *call, int32_t kernel, const int32_t *grid, const uint64_t *args);

/* The code with these kernels is about to be unloaded. */
KN_API void kn_rt_device_forget(const kn_rt_kernels *kernels);

#endif
