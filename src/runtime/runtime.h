/* The runtime: what compiled code calls. Plain C with libc, libm and pthread; goes into every NAME.a that `kiln build`
 * makes, and into the library.
 *
 * Everything hangs from a kn_rt (NULL: one for the process, made on first use): the thread pool, scratch kept for
 * reuse, the hooks. Functions called by compiled code take it first and return 0 or a kn_status.
 *
 * More than one copy in a process. All copies are of one version of Kiln.
 *   - Archives linked into one program: NAME.a holds the runtime as one object whose symbols are weak (scripts/weaken).
 *     The linker takes the first it meets and leaves the others out, or, with --whole-archive or libkiln.a beside it,
 *     joins them to one: weak yields.
 *   - Shared libraries: what is declared here and in kiln_runtime.h has default visibility and everything else is
 *     hidden, so that either all calls in the process go to the first library's copy (one pool of threads, one instance
 *     NULL, one kn_rt_last_error), or, where a version script or RTLD_LOCAL keeps libraries apart, each library has a
 *     whole copy of its own. No state is reached but through these functions. */
#ifndef KILN_RUNTIME_RUNTIME_H
#define KILN_RUNTIME_RUNTIME_H

#include "kiln_runtime.h"

/* A port buffer as the compiled code was made for it: a constant in the object. */
typedef struct kn_rt_port {
    const char *name;
    int32_t     type, rank; /* kn_type */
    int32_t     dense;      /* the dimension that must have stride 1; -1 if none */
    int32_t     is_output;
    const char *dims; /* names of the dimensions, each ended by NUL, one after the other */
} kn_rt_port;

typedef struct kn_rt_program {
    const char        *name;
    int32_t            port_count;
    const kn_rt_port  *ports;
    int32_t            func_count; /* read by the profiler only */
    const char *const *funcs;      /* the names by which kn_rt_profile_enter counts */
} kn_rt_program;

/* Begins a call: checks the buffers (not NULL, type, rank, extents not negative and coordinates within ±2^28, no newer
 * copy on a device, data not NULL where there are elements, aligned, an output overlapping nothing), and fills used[]
 * with what the code is to use: the buffer itself, or a dense copy where the stride of `dense` is not 1. Every error is
 * told with the buffer's name, the dimension, what is needed and what was given; there may be several. Status not 0:
 * nothing is held, and kn_rt_leave need not be called. */
KN_API int kn_rt_enter(kn_rt *rt, const kn_rt_program *program, const kn_buffer *const *given, kn_buffer *used);
/* Ends it: copies outputs back where they were copies (only if status is 0), frees copies. Gives the status back, or a
 * worse one. */
KN_API int kn_rt_leave(kn_rt *rt, const kn_rt_program *program, const kn_buffer *const *given, kn_buffer *used,
                       int status);

/* The buffer must have the coordinates min..max of dimension dim, because `reader` reads them (NULL: they are written).
 * min > max: nothing is needed. `used` is the array that kn_rt_enter filled. */
KN_API int kn_rt_need(kn_rt *rt, const kn_rt_program *program, int32_t port, int32_t dim, int32_t min, int32_t max,
                      const kn_buffer *used, const char *reader);
/* Tells an error (the code's own checks) and gives its status back. */
KN_API int kn_rt_fail(kn_rt *rt, const kn_rt_program *program, int32_t status, const char *message);
/* The function for which the last kn_rt_need of this thread found too little since the call began, as it was given;
 * NULL: there was none. */
KN_API const char *kn_rt_last_reader(void);

/* Scratch: aligned to 64 bytes, with 64 more readable behind its end; kept by the thread for the next call. NULL: no
 * memory, and the error was told (return KN_ERROR_LIMIT). A negative size is such an error too: a product that wrapped.
 * Freeing NULL is nothing. */
KN_API void *kn_rt_alloc(kn_rt *rt, int64_t bytes);
KN_API void  kn_rt_free(kn_rt *rt, void *block);

/* body(rt, i, closure) for min <= i < min + extent, on the pool's threads, each chunk in ascending order. The first
 * status that is not 0 ends it soon and is returned. Nested calls work on their own iterations only, and never
 * deadlock. */
typedef int kn_rt_body(kn_rt *rt, int32_t i, void *closure);
KN_API int  kn_rt_parallel(kn_rt *rt, kn_rt_body *body, int32_t min, int32_t extent, void *closure);

/* An extern stage: fills box of output from the inputs; buffers have the storage's mins, extents and strides. `stage`
 * is the C function (kn_stage), `user` its last argument. */
KN_API int kn_rt_stage(kn_rt *rt, const char *name, kn_stage *stage, void *user, kn_buffer *inputs, int32_t input_count,
                       const kn_scalar *values, int32_t value_count, kn_buffer *output);

/* Asks it which boxes of the inputs it needs for the box of the output; no buffer has data. ranks: of the inputs.
 * table: min and max of each dimension of each input; where nothing is needed of one, its numbers are left as they
 * are. */
KN_API int kn_rt_stage_query(kn_rt *rt, const char *name, kn_stage *stage, void *user, kn_buffer *inputs,
                             int32_t input_count, const kn_scalar *values, int32_t value_count, kn_buffer *output,
                             const uint8_t *ranks, int32_t *table);

/* A lock for atomic stores that no instruction can do; held for a few instructions only, never nested. */
KN_API void kn_rt_lock(kn_rt *rt, const void *address);
KN_API void kn_rt_unlock(kn_rt *rt, const void *address);

/* Around the code that computes function `func` of the program; they nest, and each enter has its leave in the same
 * thread. Some 40 ns each. */
KN_API void kn_rt_profile_enter(kn_rt *rt, const kn_rt_program *program, int32_t func);
KN_API void kn_rt_profile_leave(kn_rt *rt, const kn_rt_program *program, int32_t func);

#endif
