/* SPDX-License-Identifier: MIT */
/* Random C programs with affine loops: for `kiln tile`. */
#ifndef KILN_TESTS_FUZZ_AFFINE_H
#define KILN_TESTS_FUZZ_AFFINE_H

#include <stdint.h>
#include <stdio.h>

/* The largest values of the parameters n, m and p of a program: no subscript leaves its array below them. */
enum { AFFINE_MOST_N = 11, AFFINE_MOST_M = 11, AFFINE_MOST_P = 6 };

/* Writes `unsigned long case_ID(int n, int m, int p)`: fills arrays, runs a region between `#pragma scop` and `#pragma
 * endscop`, gives a hash of all bytes of the arrays. It calls what affine_prelude declares. The seed says all. */
void affine_program(FILE *out, uint64_t seed, int id);
void affine_prelude(FILE *out);
/* The functions that the prelude declares, and a main that prints a line for each case and size. */
void affine_main(FILE *out, const int *ids, int count);

#endif
