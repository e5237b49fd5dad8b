/* SPDX-License-Identifier: MIT */
/* What a kernel takes from the host. The host's part of a program and the device's are made by different backends: both
 * read the arguments from here. */
#ifndef KILN_IR_KERNEL_H
#define KILN_IR_KERNEL_H

#include "base/map.h"
#include "ir/stmt.h"
#include "ir/target.h"

enum { GPU_AXES = 3, GPU_WARP = 32 };
/* What every device has that is worth a kernel: threads of a block, of them along z, and bytes of shared memory. */
enum { GPU_MOST_THREADS = 1024, GPU_MOST_THREADS_Z = 64, GPU_SHARED_BYTES = 48 << 10 };
/* What a block may ask for where its kernels are for CUDA: devices of compute capability 9.0 and 10.0 have it, others
 * less, which is told when a kernel is launched. */
enum { CUDA_SHARED_BYTES = 227 << 10, SHARED_ALIGNMENT = 16 /* the widest access */ };

static inline int gpu_shared_bytes(DeviceKind device)
{
    return device == DEVICE_CUDA ? CUDA_SHARED_BYTES : GPU_SHARED_BYTES;
}

/* A port, or scratch of the host, that the kernel touches. */
typedef struct KernelBuffer {
    const Buffer *buffer;
    bool          reads, writes;
} KernelBuffer;

/* Shared memory of a block, which buffers may have in turns. */
typedef struct KernelShared {
    const Buffer *home;
    int64_t       offset, bytes;
} KernelShared;

/* The arguments, in order: the buffers, then the values. */
struct Kernel {
    const char *name;           /* the statement's, with a number where another copy of it has the name */
    const Stmt *stmt;           /* the STMT_KERNEL */
    const Stmt *grid[GPU_AXES]; /* its block loops, x first; NULL: there is none along that axis */
    const Stmt *block;          /* what stands in them */
    VEC(KernelBuffer) buffers;
    VEC(const Expr *) values; /* EX_VAR, EX_PARAM: what the host knows and the kernel uses, each once */
    VEC(KernelShared) shared; /* one after the other */
    int64_t       shared_bytes;
    const Kernel *same; /* an earlier one, whose code does what this one does; NULL: it has code of its own */
};

/* The kernel that has the code. */
static inline const Kernel *kernel_code(const Kernel *k)
{
    return k->same ? k->same : k;
}

/* Fills Program.kernels, in the order of the text. A kernel that stands in the program several times (copies of a loop
 * around it) is there once. */
void program_find_kernels(Program *p);

/* Is the code of `a` that of `b`, with other arguments? `lets` are those of the host by name. */
bool kernel_same(const Program *p, const Map *lets, const Kernel *a, const Kernel *b);

/* The kernel of a statement; NULL if there is none. */
const Kernel *program_kernel(const Program *p, const Stmt *s);

/* The thread nest at `s`, which is a thread loop: its loops, x first, NULL where there is none, and what stands in
 * them. */
typedef struct ThreadNest {
    const Stmt *loops[GPU_AXES];
    const Stmt *body;
} ThreadNest;
ThreadNest thread_nest(const Stmt *s);

/* Whose shared memory a buffer has: another's, or its own. */
static inline const Buffer *shared_home(const Buffer *b)
{
    return b->shares ? b->shares : b;
}
/* The most elements of the type that the block `s` allocates in the memory of `home`; 0: none. */
int64_t shared_elements(const Stmt *s, const Buffer *home, kn_type type);
/* The bytes of that memory. */
int64_t shared_bytes(const Stmt *s, const Buffer *home);

#endif
