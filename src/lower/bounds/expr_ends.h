/* SPDX-License-Identifier: MIT */
/* Ends of intervals that are expressions (analysis/ends.h): the rules of analysis/interval_rules.c then write code.
 *
 * An operation on ends is made in 32 bits where the numbers that its operands and result lie between show that nothing
 * can wrap, and in 64 bits else. What needs more bits is unknown. */
#ifndef KILN_LOWER_BOUNDS_EXPR_ENDS_H
#define KILN_LOWER_BOUNDS_EXPR_ENDS_H

#include "analysis/interval_rules.h"
#include "lower/bounds/index_expr.h"

EndMaker expr_end_maker(Lower *lw);
/* An expression as an end; `number` where it is NULL, or may be larger than 64 bits can say. */
End expr_end(Simplifier *known, const Expr *e, Wide number);
/* A known end as an integer or bool of the type. */
const Expr *end_expr(Lower *lw, kn_type type, End a);

#endif
