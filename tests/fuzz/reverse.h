/* SPDX-License-Identifier: MIT */
/* Loops that are marked as independent, run the other way. */
#ifndef KILN_TESTS_FUZZ_REVERSE_H
#define KILN_TESTS_FUZZ_REVERSE_H

#include <stdio.h>

/* Copies C text that `kiln tile` has written. The loop below each line `#pragma omp` runs from its last iteration to
 * its first. If no iteration depends on another, results are the same; a wrong mark shows without luck with threads.
 * Gives the number of such loops. */
int reverse_loops(FILE *out, const char *text);

#endif
