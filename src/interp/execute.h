/* SPDX-License-Identifier: MIT */
/* Running lowered code, statement by statement: what a program of loops does, with every step watched.
 *
 * It is the judge of lowering, as the interpreter is of the language, and is as strict as the statements' contract
 * (ir/stmt.h) allows:
 *   - every access must hit an element of its buffer, also in the branch of an `if` expression that is not taken;
 *   - a value that was never written may be moved about, but may not reach an output, a condition, a bound or the place
 *     of a store;
 *   - the iterations of a parallel loop run in a scrambled order, and no two may touch an element that one of them
 *     changes (a load whose value is not used, in the branch of an `if` that is not taken, does not count); what two
 *     store to scratch at once counts as never written;
 *   - a vector loop runs statement by statement over all lanes, and no two lanes may store different values to one
 *     element;
 *   - blocks of a kernel, and threads of a block from one barrier to the next, are such iterations: no two may touch an
 *     element that one of them changes. Memory that is allocated again in a block is the same memory;
 *   - statements of a kernel stand where STMT_KERNEL says, and its sizes are those that a device has;
 *   - code of the host touches what a kernel touches after a STMT_SYNC says so;
 *   - memory that was just allocated holds garbage.
 * What breaks a rule ends the run with an error that says "mistake in Kiln". */
#ifndef KILN_INTERP_EXECUTE_H
#define KILN_INTERP_EXECUTE_H

#include "ir/stmt.h"

typedef struct BufferCounts {
    int64_t loaded, stored;       /* bytes */
    int64_t allocations, largest; /* of scratch: how often, and bytes of the largest */
} BufferCounts;

/* One definition of a function: a PRODUCE. */
typedef struct DefinitionCounts {
    const char *func;   /* its name, interned */
    int         update; /* -1: the pure one */
    int64_t     points; /* stores executed */
    int64_t fresh; /* of them, to an element that this definition had not stored to since it was allocated: the others
                    * were redundant, or storage was folded, or it is an update that meets its points again */
} DefinitionCounts;

typedef struct ExecuteCounts {
    BufferCounts     *buffers; /* by Buffer.id; in the program's arena, like what follows */
    int               definition_count;
    DefinitionCounts *definitions;
    int64_t           peak_bytes, total_bytes; /* of scratch: at a time, and over the run */
    int64_t           undefined_loads; /* loads of elements that were never written (and turned out not to matter) */
    int64_t           parallel_loops, parallel_iterations; /* how often one was entered, and its iterations */
    int64_t           vector_loops, vector_lanes;
    int64_t           kernels, blocks, barriers; /* how often one was executed */
    int64_t width; /* the most stores that could happen at once: of a parallel loop all iterations, of a serial one or
                    * of statements in a row the largest; the paper's "span" (Ragan-Kelley et al. 2013, figure 3) */
    int64_t work, span; /* stores: all lanes of all iterations; the longest chain of statements where parallel
                           iterations count as one and so do lanes */
} ExecuteCounts;

/* Runs the program, which must be flattened. `ports` are the buffers of its ports, in order, with any strides (copied
 * where the code takes a dimension for dense that is not); `params` in the order of the program's. `counts` may be
 * NULL. An error is a diagnostic of the context; the outputs are then whatever they were at that point. */
kn_status execute(Program *p, kn_buffer *const *ports, const kn_scalar *params, ExecuteCounts *counts);

#endif
