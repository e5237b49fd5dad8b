/* SPDX-License-Identifier: MIT */
/* The operators on rows of lanes.
 *
 * A lane carries one value: an integer or bool as an int64_t wrapped to its type (u64: its bits), a float as a double
 * rounded to its type. A kernel computes one operator for a row of lanes, as exactly as the carrier allows; a finish
 * brings the results into their type. So an operator is one row of a table, whatever the number of types. Everything
 * here is total: no lane value can make it undefined. A NaN stays a NaN, but which one is not said. */
#ifndef KILN_INTERP_OPS_H
#define KILN_INTERP_OPS_H

#include "ir/expr.h"

typedef union Lane {
    int64_t i;
    double  f;
} Lane;

/* r = op(a, b, c) for n lanes. r overlaps none of the others. */
typedef struct Row {
    Lane       *r;
    const Lane *a, *b, *c;
    int         n;
    kn_type     type;   /* of the result */
    kn_type     from;   /* of the first operand */
    kn_type     amount; /* of the last operand: a shift's may be of another type */
} Row;

typedef void RowKernel(const Row *row);
typedef void Finish(Lane *r, int n);

/* The kernel of an operator on operands of type `from` with a result of type `to`; NULL if it has no meaning there, or
 * is not an operator on values (leaves, calls, &&, ||, if; what ir/math.h expands, see formula.h). */
RowKernel *operator_kernel(ExprOp op, kn_type from, kn_type to);
/* What brings a kernel's results into a type; NULL if they are always in it. */
Finish *operator_finish(kn_type type);

/* One lane: op on `count` operands of the given types. The operator must have a kernel. */
Lane operator_apply(ExprOp op, kn_type type, int count, const kn_type *types, const Lane *operands);

/* A value of a type in memory (any alignment), from and to a lane. */
Lane lane_load(kn_type type, const void *at);
void lane_store(kn_type type, void *at, Lane v);
/* A scalar given from outside, as a value of the type. */
Lane lane_from_scalar(kn_type type, kn_scalar s);

#endif
