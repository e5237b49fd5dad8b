/* SPDX-License-Identifier: MIT */
/* Sizes of a program's arguments: boxes of outputs that no schedule expects, and inputs that are just large enough. */
#ifndef KILN_TESTS_FUZZ_SIZES_H
#define KILN_TESTS_FUZZ_SIZES_H

#include "cases.h"
#include "generate.h"

/* Other boxes, parameters and strides in the place of those of the comments. Extents are 1, 2, primes, powers of two
 * and their neighbours, seldom 0; in one case of three all are 0 to 3. Mins are on both sides of 0; of two dimensions
 * at most one is long; in one case of three the outputs are as large as an input. */
void vary_sizes(Choices *choices, Case *c);

/* Gives each input whose size the program does not speak of the box that is needed of it, or a little more. */
void fit_inputs(Choices *choices, Run *r, Case *c);

/* The comments that say these sizes, as read_comments reads them; to be freed. NULL if there is no memory. */
char *write_comments(const Case *c);

#endif
