/* Sizes of a program's arguments: boxes of outputs that no schedule expects, and inputs that are just large enough. */
#ifndef KILN_TESTS_FUZZ_SIZES_H
#define KILN_TESTS_FUZZ_SIZES_H

#include "cases.h"
#include "generate.h"

/* Other boxes, parameters and strides in the place of those of the comments. Extents are 0 (seldom), 1, 2, primes, powers of two and their neighbours; mins
 * are on both sides of 0; of two dimensions at most one is long. */
void vary_sizes(Choices *choices, Case *c);

/* Gives each input whose size the program does not speak of the box that is needed of it, or a little more. */
void fit_inputs(Choices *choices, Run *r, Case *c);

/* The comments that say these sizes, as read_comments reads them; to be freed. NULL if there is no memory. */
char *write_comments(const Case *c);

#endif
