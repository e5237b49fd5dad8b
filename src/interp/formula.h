/* SPDX-License-Identifier: MIT */
/* Formulas: the expansion of a mathematical function (ir/math.h) as a list of kernels over short rows.
 *
 * The operands of a node are computed first, then its formula in one pass: without recursion over the expansion, and
 * without keeping any of it. So nested functions need no stack, and the rows between two kernels stay in the L1 cache.
 */
#ifndef KILN_INTERP_FORMULA_H
#define KILN_INTERP_FORMULA_H

#include "base/context.h"
#include "interp/ops.h"

typedef struct Formula Formula;

/* The formula of an operator that math_has(), on operands of a float type. It lives in the arena, and serves one
 * thread. */
Formula *formula_new(kn_context *cx, Arena *arena, ExprOp op, kn_type type);

/* r = op(a) or op(a, b) for n lanes; b is used only where op has two operands. */
void formula_run(Formula *f, Lane *r, const Lane *a, const Lane *b, int n);

#endif
