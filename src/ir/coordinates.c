/* SPDX-License-Identifier: MIT */
/* How large sums of coordinates are: see coordinates.h. */
#include "ir/coordinates.h"

#include <math.h>

double coordinate_magnitude(const Expr *e, int *nodes)
{
    int64_t value;
    if (--*nodes < 0)
        return HUGE_VAL;
    switch (e->op) {
    case EX_INT: return expr_is_int(e, &value) ? fabs((double)value) : HUGE_VAL;
    case EX_VAR: return MOST_COORDINATE;
    case EX_ADD:
    case EX_SUB: return coordinate_magnitude(e->args[0], nodes) + coordinate_magnitude(e->args[1], nodes);
    case EX_MUL: return coordinate_magnitude(e->args[0], nodes) * coordinate_magnitude(e->args[1], nodes);
    case EX_MIN:
    case EX_MAX: return fmax(coordinate_magnitude(e->args[0], nodes), coordinate_magnitude(e->args[1], nodes));
    case EX_NEG:
    case EX_CAST:
    case EX_DIV:
    case EX_MOD: return coordinate_magnitude(e->args[0], nodes);
    default: return HUGE_VAL;
    }
}
