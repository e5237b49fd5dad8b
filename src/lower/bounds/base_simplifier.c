/* SPDX-License-Identifier: MIT */
/* The simplifier that lowering begins with: see value_range.h.
 *
 * Takes   the parameters of the program.
 * Gives   a simplifier that knows their ranges, and asks value_range for expressions that it cannot bound itself. */
#include "lower/bounds/value_range.h"

/* Does the value follow from its operators alone? A stored function has other values where it was not computed. Not
 * answered for large expressions. */
static bool stands_alone(const Expr *e, int *nodes)
{
    if (--*nodes < 0 || (e->op == EX_CALL && e->u.call.func->kind != FUNC_INPUT))
        return false;
    for (uint32_t i = 0; i < e->count && e->op != EX_CALL && e->op != EX_LOAD; i++)
        if (!stands_alone(e->args[i], nodes))
            return false;
    return true;
}

static bool range_of_rounded(void *user, const Expr *e, int64_t *lo, int64_t *hi)
{
    int nodes = 64;
    if (e->type != KN_I32 || !stands_alone(e, &nodes))
        return false;
    const Range r = value_range(user, e);
    *lo           = (int64_t)r.lo;
    *hi           = (int64_t)r.hi;
    return true;
}

Simplifier *base_simplifier(Lower *lw, Arena *arena)
{
    Simplifier *s = simplifier_new(lw->exprs, arena);
    simplifier_ask(s, range_of_rounded, lw);
    for (size_t i = 0; i < lw->program->params.count; i++) {
        const Param *q = lw->program->params.at[i];
        if (!q->has_range || !type_is_int(q->type))
            continue;
        const Expr *v = expr_param(lw->exprs, q->type, q);
        simplifier_push_fact(s, expr_binary(lw->exprs, EX_LE, KN_BOOL, expr_int(lw->exprs, q->type, q->lo.as.i), v));
        simplifier_push_fact(s, expr_binary(lw->exprs, EX_LT, KN_BOOL, v, expr_int(lw->exprs, q->type, q->hi.as.i)));
    }
    return s;
}
