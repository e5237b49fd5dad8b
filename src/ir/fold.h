/* SPDX-License-Identifier: MIT */
/* Operators on constants. */
#ifndef KILN_IR_FOLD_H
#define KILN_IR_FOLD_H

#include "ir/expr.h"

/* The constant that `e`, an operator on constants, is; NULL if an operand is not constant or the value is not exact
 * everywhere (of floats: conversions, + - * /, min, max and comparisons are, as long as the result is finite). */
const Expr *fold_constant(ExprPool *pool, const Expr *e);

/* Euclidean: a = q*b + r with 0 <= r < |b|; both 0 for b = 0; the least value by -1 wraps. */
int64_t floor_div(int64_t a, int64_t b);
int64_t floor_mod(int64_t a, int64_t b);

#endif
