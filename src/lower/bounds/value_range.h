/* SPDX-License-Identifier: MIT */
/* Numbers that values lie between, whatever sizes, coordinates and pixels are given; and the facts that follow. */
#ifndef KILN_LOWER_BOUNDS_VALUE_RANGE_H
#define KILN_LOWER_BOUNDS_VALUE_RANGE_H

#include "analysis/value_range.h"
#include "lower/lower.h"

/* The range of an expression. Functions' values are followed; everything else may be any value of its type. */
Range value_range(Lower *lw, const Expr *e);

/* base_simplifier.c: a simplifier that knows what always holds: the ranges of parameters, and of what is made of
 * them. */
Simplifier *base_simplifier(Lower *lw, Arena *arena);

#endif
