/* SPDX-License-Identifier: MIT */
/* Index arithmetic: expressions that are folded as they are made.
 *
 * Sums are kept as linear forms. Minima and comparisons of forms that differ by a constant are decided at once. All of
 * it holds for coordinates, which do not wrap (lower.h). */
#ifndef KILN_LOWER_BOUNDS_INDEX_EXPR_H
#define KILN_LOWER_BOUNDS_INDEX_EXPR_H

#include "lower/lower.h"

const Expr *x_int(Lower *lw, int64_t v);        /* i32 */
const Expr *x_var(Lower *lw, const char *name); /* i32; the name need not be interned */
/* Of the operands' type; comparisons, && and || are bool. */
const Expr *x_op(Lower *lw, ExprOp op, const Expr *a, const Expr *b);
const Expr *x_neg(Lower *lw, const Expr *a);
const Expr *x_select(Lower *lw, const Expr *c, const Expr *a, const Expr *b);
const Expr *x_cast(Lower *lw, kn_type type, const Expr *a);

static inline const Expr *x_add(Lower *lw, const Expr *a, const Expr *b)
{
    return x_op(lw, EX_ADD, a, b);
}
static inline const Expr *x_sub(Lower *lw, const Expr *a, const Expr *b)
{
    return x_op(lw, EX_SUB, a, b);
}
static inline const Expr *x_min(Lower *lw, const Expr *a, const Expr *b)
{
    return x_op(lw, EX_MIN, a, b);
}
static inline const Expr *x_max(Lower *lw, const Expr *a, const Expr *b)
{
    return x_op(lw, EX_MAX, a, b);
}
static inline const Expr *x_le(Lower *lw, const Expr *a, const Expr *b)
{
    return x_op(lw, EX_LE, a, b);
}
/* NULL stands for true. */
static inline const Expr *x_and(Lower *lw, const Expr *a, const Expr *b)
{
    return !a ? b : !b ? a : x_op(lw, EX_AND, a, b);
}
/* The number of coordinates from min to max, both included. */
static inline const Expr *x_extent(Lower *lw, const Expr *min, const Expr *max)
{
    return x_add(lw, x_sub(lw, max, min), x_int(lw, 1));
}

#endif
