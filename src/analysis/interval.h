/* SPDX-License-Identifier: MIT */
/* Ranges: the values that an expression can have, as numbers.
 *
 * A range contains every value that the operator of the language gives for operands in their ranges: wrapping,
 * division by zero, shifts by too much, NaN and saturation included. Integers have 128 bits here, so nothing
 * overflows, and u64 is like every other type. A result that may leave its type may wrap; then it is the whole type.
 * The ends of a float range are rounded as the operation rounds. An inexact end moves outward by one unit in the last
 * place, so that the range also holds if the operation is contracted with the next one. */
#ifndef KILN_ANALYSIS_INTERVAL_H
#define KILN_ANALYSIS_INTERVAL_H

#include "ir/expr.h"

typedef __int128 Wide;

/* Of an integer or bool (0 and 1): lo <= v <= hi. Of a float: flo <= v <= fhi, or v is NaN if `nan`. The type says
 * which. */
typedef struct Range {
    union {
        struct {
            Wide lo, hi;
        };
        struct {
            double flo, fhi;
            bool   nan;
        };
    };
} Range;

static inline Range range_int(Wide lo, Wide hi)
{
    return (Range){ .lo = lo, .hi = hi };
}
static inline Range range_float(double lo, double hi, bool nan)
{
    return (Range){ .flo = lo, .fhi = hi, .nan = nan };
}
static inline Wide wide_min(Wide a, Wide b)
{
    return a < b ? a : b;
}
static inline Wide wide_max(Wide a, Wide b)
{
    return a > b ? a : b;
}

/* a / b rounded toward minus infinity; b > 0. */
static inline Wide wide_floor_div(Wide a, Wide b)
{
    return a / b - (a % b < 0);
}

/* Every value of the type. */
Range range_of_type(kn_type type);
/* One number, converted to the type. */
Range range_of_scalar(kn_type type, kn_scalar value);
/* What [lo, hi] is once wrapped into the integer type: one interval if both ends wrap by the same multiple of 2^bits,
 * else the whole type. */
Range range_fit(kn_type type, Wide lo, Wide hi);

/* Is every number of an integer range in the type? */
bool range_within(kn_type type, Range r);

Range range_union(kn_type type, Range a, Range b);
bool  range_equal(kn_type type, Range a, Range b);

/* Makes *a the values in both; false if there are none (then *a is unchanged). */
bool range_intersect(kn_type type, Range *a, Range b);

/* A condition's range that leaves one answer. */
static inline bool range_is_true(Range r)
{
    return r.lo == 1;
}
static inline bool range_is_false(Range r)
{
    return r.hi == 0;
}

/* The range of an operator's result: `type` is the node's, `from` that of its first operand. For operators that have
 * operands and are neither calls nor && || if. */
Range range_apply(ExprOp op, kn_type type, kn_type from, const Range *args);

/* One float operator's rule: interval_float.c. NULL: the whole type. */
typedef Range           RangeRule(kn_type type, kn_type from, const Range *args);
extern RangeRule *const range_float_rules[EX_COUNT];

#endif
