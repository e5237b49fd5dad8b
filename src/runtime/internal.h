/* SPDX-License-Identifier: MIT */
/* The internals of the runtime: the state of an instance and of a thread.
 *
 * There are three places for state.
 *   kn_rt        an instance; the process's default instance is static.
 *   Thread       what a thread is doing: the text of its last error, the loop it is in. Thread-local, owns no memory.
 *   Local        one thread's part of one instance: scratch for reuse and profile counters. Used by that thread alone.
 * Instances and Locals are in lists under one mutex of the process, the registry.
 *
 * Names shared between files begin with kn_rt_, so that the runtime's objects link into any program without clashes. */
#ifndef KILN_RUNTIME_INTERNAL_H
#define KILN_RUNTIME_INTERNAL_H

#include "runtime/cpus.h"
#include "runtime/runtime.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>

enum {
    CACHE_LINE   = 64,
    ERROR_SIZE   = 2048, /* bytes of the text of an error */
    MOST_THREADS = 512,
    LOCK_COUNT   = 64,
    CLASS_COUNT  = 168, /* sizes of scratch, see memory.c */
    MOST_NESTED  = 64   /* functions being profiled inside each other */
};

/* ---- Parallel loops: pool.c ---- */

typedef struct ParallelLoop ParallelLoop;

typedef struct Pool {
    pthread_mutex_t lock;       /* of what follows */
    pthread_cond_t  work;       /* there is a loop to help with, or `stop` was set */
    ParallelLoop   *newest;     /* the loops that may have iterations left */
    int             started;    /* threads made */
    int             idle, busy; /* those of them that sleep, and those that work */
    bool            stop;
    atomic_int      threads;   /* that may work on a loop, its owner included; also read without the lock */
    bool            may_spin;  /* there is a CPU for each of them */
    atomic_uint     published; /* counts published loops; idle threads poll it before they sleep */
    pthread_mutex_t control;   /* held while threads are being ended */
    pthread_t       worker[MOST_THREADS];
} Pool;

void kn_rt_pool_init(Pool *pool, int threads);
/* Ends the threads; the next loop that needs them starts new ones. Without `wait`, does nothing while one is busy. */
void kn_rt_pool_stop(Pool *pool, bool wait);
void kn_rt_pool_destroy(Pool *pool);
void kn_rt_pool_set_threads(Pool *pool, int threads);
int  kn_rt_pool_threads(Pool *pool);
/* In the child of a fork: the threads are gone. */
void kn_rt_pool_forked(Pool *pool);

/* ---- Scratch: memory.c ---- */

typedef struct ScratchBlock ScratchBlock;

/* Blocks kept for reuse: those of a size class, and all of them by age. */
typedef struct Scratch {
    ScratchBlock *free[CLASS_COUNT];
    ScratchBlock *newest, *oldest;
    size_t        kept; /* bytes of them */
} Scratch;

void kn_rt_scratch_drop(kn_rt *rt, Scratch *scratch);
/* Frees the scratch that the calling thread keeps, and marks that of other threads as old. */
void kn_rt_scratch_expire(kn_rt *rt);
/* The allocator of an instance. */
void *kn_rt_allocate(kn_rt *rt, size_t bytes);
void  kn_rt_release(kn_rt *rt, void *block);

/* ---- Profiles: profile.c ---- */

/* What is known of a program that was profiled; names are copies, so that it outlives the code. */
typedef struct Profiled Profiled;
/* One thread's counters for one program. */
typedef struct Counts Counts;

typedef struct Frame {
    Counts *counts;
    int32_t func;
} Frame;

typedef struct Profile {
    Counts *counts;
    Frame   stack[MOST_NESTED];
    int     depth;
    int64_t since; /* start of the time not yet charged to the function on top of the stack */
} Profile;

/* What was measured of a kernel; names are copies. */
typedef struct KernelProfile KernelProfile;
struct KernelProfile {
    kn_kernel_profile profile;
    KernelProfile    *next;
    char              names[]; /* the pipeline's, then the kernel's */
};

/* Frees a list of them that the instance allocated. */
void kn_rt_kernels_drop(kn_rt *rt, KernelProfile **list);

/* Adds a thread's counts to the instance's, and frees them. The registry is held. */
void kn_rt_profile_retire(kn_rt *rt, Profile *profile);
void kn_rt_profile_drop(kn_rt *rt);

/* ---- Instances and threads: rt.c, local.c ---- */

typedef struct Local Local;
struct Local {
    kn_rt  *rt;
    Local  *next, **link;               /* of the instance; *link is this */
    Local  *thread_next, **thread_link; /* of the thread */
    Scratch scratch;
    Profile profile;
};

typedef struct Lock {
    _Alignas(CACHE_LINE) atomic_bool held;
} Lock;

struct kn_rt {
    kn_rt_hooks          hooks; /* with the defaults filled in */
    uint64_t             id;    /* never used twice */
    atomic_uint_fast64_t calls; /* pipelines called so far: the clock by which kept scratch ages */
    Pool                 pool;
    Lock                 locks[LOCK_COUNT];
    Local               *locals;   /* under the registry */
    Profiled            *profiled; /* under the registry */
    KernelProfile       *kernels;  /* likewise: of programs compiled for profiling */
    _Atomic(kn_device *) device;   /* kn_rt_set_device; NULL: the default of the kernels' kind */
    atomic_int           place;    /* kn_rt_set_place */
    kn_rt               *next, **link;
};

typedef struct Thread {
    char          error[ERROR_SIZE];
    size_t        error_length;
    const char   *reader;   /* kn_rt_last_reader */
    kn_place      place;    /* kn_rt_last_place */
    ParallelLoop *loop;     /* whose iteration it is in; NULL if none */
    uint64_t      local_rt; /* the id of the instance that `local` is of */
    Local        *local;
    Local        *locals; /* all of them, under the registry */
} Thread;

Thread *kn_rt_thread(void);
/* `rt`, or the process's own for NULL. */
kn_rt *kn_rt_of(kn_rt *rt);

/* Every change to a list of instances or Locals happens between these two. Calls of pipelines do not need them. */
void kn_rt_registry_lock(void);
void kn_rt_registry_unlock(void);
/* Both under the registry. */
void kn_rt_register(kn_rt *rt);
void kn_rt_unregister(kn_rt *rt);

/* The calling thread's Local of rt; NULL without memory. */
Local *kn_rt_local(kn_rt *rt);
/* Frees the calling thread's Local of rt. */
void kn_rt_local_end(kn_rt *rt);
/* Before the code of the default instance is unloaded: removes the thread-exit callback that the C library would
 * call. */
void kn_rt_local_unload(void);

/* ---- Errors: error.c ---- */

void kn_rt_error_clear(void);
/* Adds a line to the thread's text, calls the hook, and gives the status back. */
__attribute__((format(printf, 3, 4))) int kn_rt_error(kn_rt *rt, kn_status status, const char *format, ...);

static inline void kn_rt_trace(kn_rt *rt, kn_rt_event_kind kind, const char *pipeline, const char *name, int64_t value)
{
    if (rt->hooks.trace) {
        const kn_rt_event event = { kind, pipeline, name, value };
        rt->hooks.trace(rt->hooks.user, &event);
    }
}

#endif
