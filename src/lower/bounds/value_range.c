/* SPDX-License-Identifier: MIT */
/* What lowering asks of analysis/value_range.h. */
#include "lower/bounds/value_range.h"

Range value_range(Lower *lw, const Expr *e)
{
    if (!lw->values) {
        lw->values = ARENA_NEW(lw->arena, ValueRanges);
        value_ranges_init(lw->values, lw->cx, lw->plan->func_count, lw->arena);
    }
    return value_range_of(lw->values, e);
}
