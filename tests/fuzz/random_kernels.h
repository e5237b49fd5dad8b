/* SPDX-License-Identifier: MIT */
/* Random kernels: what a search for a device could come to. */
#ifndef KILN_TESTS_FUZZ_RANDOM_KERNELS_H
#define KILN_TESTS_FUZZ_RANDOM_KERNELS_H

#include "generate.h"
#include "pipeline/pipeline.h"

/* The text of the kernels of `gpu`, with some of its parts left out, after random edits
 * (schedulers/tune/kernel_edits.h); to be freed. "": the compiler does not accept it, because it cannot prove that what
 * a kernel stores has a constant size. NULL: the pipeline has no graph; the context says why. */
char *random_kernels(Choices *c, kn_pipeline *p);

#endif
