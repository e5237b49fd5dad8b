/* SPDX-License-Identifier: MIT */
/* The mathematical functions for the second oracle: their expansions (ir/math.h), which are their definition, evaluated
 * one number at a time with number.h. */
#ifndef KILN_TESTS_FUZZ_EXPANSION_H
#define KILN_TESTS_FUZZ_EXPANSION_H

#include "number.h"

typedef struct Expansions Expansions;

Expansions *expansions_new(void);
void        expansions_free(Expansions *x);

/* op on one or two numbers of its type. False if ir/math.h does not have it. */
bool expansions_apply(Expansions *x, ExprOp op, const Number *operands, Number *out);

#endif
