/* SPDX-License-Identifier: MIT */
/* The arguments of a call, found by name, checked, and in the order in which the parts of Kiln want them. */
#ifndef KILN_API_ARGUMENTS_H
#define KILN_API_ARGUMENTS_H

#include "analysis/regions.h"

typedef enum Purpose {
    FOR_RUN,     /* every buffer has its memory */
    FOR_KERNELS, /* likewise, on the host or on a device; of the latter the runtime checks more */
    FOR_BOUNDS,  /* only the boxes count: no memory and no stride is looked at */
    FOR_FIT,     /* likewise; an output may be missing, and one of rank 0 is computed */
    FOR_SIZES    /* likewise; anything may be missing: then an input is unbounded, a parameter has some value of its
                  * range */
} Purpose;

typedef struct Arguments {
    RunArgs     binding;
    kn_buffer **inputs;  /* per function id; NULL for what is not an input */
    kn_buffer **outputs; /* one per component of each output, in order; NULL where missing */
    bool       *given;   /* per output: binding.output holds its box */
} Arguments;

/* Fills `out` in the arena of the call. Every error is diagnosed; true if there is none. */
bool arguments_bind(kn_pipeline *p, Purpose purpose, const kn_arg *args, int count, Arguments *out);

/* The coordinates a sound buffer holds. */
Box box_of_buffer(const kn_buffer *b);

#endif
