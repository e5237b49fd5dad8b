/* SPDX-License-Identifier: MIT */
/* The mathematical functions, each written once as an expression of basic operators.
 *
 * exp, log, pow, sin, cos, tan, atan2, tanh and erf have no other definition than these expansions: whoever evaluates
 * one operator by operator, in the order written, gets the same bits. Every float operation of an expansion is strict.
 * An expansion has no branches, reads no memory and is total: both sides of its selects may be evaluated. f32 uses only
 * f32 and u32, f64 only f64 and u64; f16 and bf16 are computed in f32 and rounded. */
#ifndef KILN_IR_MATH_H
#define KILN_IR_MATH_H

#include "ir/expr.h"

/* Does math_expand() know this operator? */
bool math_has(ExprOp op);

/* The expansion of a node whose operator math_has(); any other node as it is. An expansion is up to MATH_DEPTH deeper
 * than the node: whoever has nodes nested as deep as EXPR_MAX_DEPTH allows expands each over variables of its operands'
 * types, and puts the operands in their place. */
enum { MATH_DEPTH = 80 };
const Expr *math_expand(ExprPool *pool, const Expr *e);

/* The error that is never exceeded, in units in the last place of the true result; below the normal numbers, in the
 * smallest number. For sin, cos and tan it holds up to |x| = math_reach(type); beyond, sin and cos are some numbers in
 * [-1, 1] and tan is their quotient. */
double math_error(ExprOp op, kn_type type);
double math_reach(kn_type type);

#endif
