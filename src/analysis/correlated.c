/* SPDX-License-Identifier: MIT */
/* Terms of a sum that are functions of one of its atoms.
 *
 * Takes   a sum c1*t + c2*f(t) + … + others, where t is an atom of few values and f is made of t and numbers.
 * Gives   the range of c1*t + c2*f(t) + …: all values of t are tried.
 * Holds   Intervals of the terms, added up, contain it; but they forget that both have the same t. In tables of the
 *         maxima of 1, 2, 4, … rows, y + t - (1 << log2(t)) reads up to t/2 rows above y, and up to t by intervals. */
#include "analysis/correlated.h"

#include "analysis/interval_rules.h"

/* Is it made of t and numbers by integer operators? `left`: nodes that may still be looked at. */
static bool is_function_of(const Expr *e, const Expr *t, int *left)
{
    if (e == t || e->op == EX_INT)
        return true;
    if (--*left < 0 || !e->count || e->count > 3 || !interval_has_rule((ExprOp)e->op) ||
        type_is_float((kn_type)e->type))
        return false;
    for (uint32_t i = 0; i < e->count; i++)
        if (type_is_float((kn_type)e->args[i]->type) || !is_function_of(e->args[i], t, left))
            return false;
    return true;
}

uint32_t correlated_terms(const Linear *form, int at)
{
    const Expr *t     = form->atoms[at];
    uint32_t    terms = 0;
    int         left  = MOST_CORRELATED_NODES;
    if (at >= MOST_CORRELATED_TERMS || t->op == EX_INT || !type_is_int((kn_type)t->type))
        return 0;
    for (int i = 0; i < form->count && i < MOST_CORRELATED_TERMS; i++)
        if (i != at && is_function_of(form->atoms[i], t, &left))
            terms |= 1u << i;
    return terms ? terms | 1u << at : 0;
}

/* The value where t is v. */
static Range value_at(const Expr *e, const Expr *t, Range v)
{
    Range args[3];
    if (e == t)
        return v;
    if (e->op == EX_INT)
        return range_of_scalar((kn_type)e->type, kn_int(e->u.i));
    for (uint32_t i = 0; i < e->count; i++)
        args[i] = value_at(e->args[i], t, v);
    return range_apply((ExprOp)e->op, (kn_type)e->type, (kn_type)e->args[0]->type, args);
}

static Range sum_at(const Linear *form, int at, uint32_t terms, Wide v)
{
    Range sum = range_int(0, 0);
    for (int i = 0; i < form->count; i++) {
        if (i >= MOST_CORRELATED_TERMS || !(terms >> i & 1))
            continue;
        const Range r = value_at(form->atoms[i], form->atoms[at], range_int(v, v));
        const Wide  c = form->coefficients[i];
        sum           = range_int(sum.lo + c * (c > 0 ? r.lo : r.hi), sum.hi + c * (c > 0 ? r.hi : r.lo));
    }
    return sum;
}

bool correlated_range(kn_context *cx, const Linear *form, int at, uint32_t terms, Range of, Range *out)
{
    if (of.hi < of.lo || of.hi - of.lo >= MOST_CORRELATED_VALUES)
        return false;
    context_spend(cx, (uint64_t)(of.hi - of.lo + 1));
    *out = sum_at(form, at, terms, of.lo);
    for (Wide v = of.lo + 1; v <= of.hi; v++) {
        const Range r = sum_at(form, at, terms, v);
        *out          = range_int(wide_min(out->lo, r.lo), wide_max(out->hi, r.hi));
    }
    return true;
}
