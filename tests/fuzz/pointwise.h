/* SPDX-License-Identifier: MIT */
/* What a pipeline means, straight from the definition: the second oracle.
 *
 * A value is computed when it is asked for, one point at a time, and remembered. There are no regions, no rows and no
 * storage: f(p) is the history of the writes to p, found by going through every step of every update at that one point.
 * It shares with the interpreter the pipeline (pipeline/) and the expressions (ir/), and none of its code. */
#ifndef KILN_TESTS_FUZZ_POINTWISE_H
#define KILN_TESTS_FUZZ_POINTWISE_H

#include "number.h"
#include "pipeline/pipeline.h"

typedef struct Pointwise Pointwise;

/* `inputs` per function id (NULL where not an input), `params` in the order of the pipeline's. After `work` operations
 * it gives up. */
Pointwise *pointwise_new(const kn_pipeline *p, const kn_buffer *const *inputs, const kn_scalar *params, uint64_t work);
void       pointwise_free(Pointwise *pw);

typedef enum PointwiseStatus {
    POINTWISE_OK,
    POINTWISE_TIRED,   /* too much work */
    POINTWISE_OUTSIDE, /* an input was read where it has nothing */
    POINTWISE_UNKNOWN  /* something this evaluator does not know: C functions */
} PointwiseStatus;

/* Component `component` of f at `at`. */
PointwiseStatus pointwise_value(Pointwise *pw, const Func *f, int component, const int64_t *at, Number *out);
/* What the last call that did not go well met. */
const char *pointwise_why(const Pointwise *pw);

#endif
