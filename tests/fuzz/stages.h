/* SPDX-License-Identifier: MIT */
/* The C stages of random programs: what a random program declares with `extern stage` is one of these. */
#ifndef KILN_TESTS_FUZZ_STAGES_H
#define KILN_TESTS_FUZZ_STAGES_H

#include "kiln.h"

/* Gives the context
 *     extern stage blend(f, k) : i32(x, y)       f(x-k, y) - 3 f(x+1, y+k) of an i32 function
 *     extern stage turn(f, g) : i32(x, y)        f(y, x) + g(x, y): the dimensions of f change places
 *     extern stage row(f) : i32(x)               f(2x) + 5 f(2x+1) */
void stages_register(kn_context *cx);

#endif
