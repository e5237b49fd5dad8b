/* SPDX-License-Identifier: MIT */
/* The rules of integer operators: the interval of a result from those of the operands.
 *
 * One table for the interpreter's analysis, whose ends are numbers, and for lowering, whose ends are expressions
 * (ends.h). An interval contains every value that the operator of the language gives for operands in their intervals:
 * wrapping, division by zero and shifts by too much included. */
#ifndef KILN_ANALYSIS_INTERVAL_RULES_H
#define KILN_ANALYSIS_INTERVAL_RULES_H

#include "analysis/ends.h"

typedef struct Interval {
    End lo, hi;
} Interval;

/* Has the operator a rule? Operators whose result and operands are integers or bool. */
bool interval_has_rule(ExprOp op);
/* `type` is the node's, `from` that of its first operand. The ends lie in the type, and are known. */
Interval interval_apply(const EndMaker *maker, ExprOp op, kn_type type, kn_type from, const Interval *args);
/* [lo, hi] wrapped into the type: shifted by one multiple of 2^bits if that brings all of it into the type, else the
 * whole type. */
Interval interval_fit(const EndMaker *maker, kn_type type, End lo, End hi);

#endif
