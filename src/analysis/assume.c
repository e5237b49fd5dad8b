/* SPDX-License-Identifier: MIT */
/* What a condition shows.
 *
 * assume(c, truth) narrows the current environment where `c` is `truth`. A conjunction is its parts, one after the
 * other. A comparison of integers gives a fact sign * (a - b) + shift >= 0, from which each atom of the form gets a
 * bound: k * v >= -max(the rest), so v >= ceil(-max / k) or v <= floor(max / -k). The two operands bound each other.
 * The bound of a node is passed down through conversions that change nothing, floor divisions, magnitudes, min, max
 * and sums. Facts hold for unbounded integers, so they are used only where neither side can have wrapped. */
#include "analysis/evaluate.h"

#include <math.h>

enum { MOST_DOWN = 6 }; /* nodes that one bound is passed down through */

static void bound(Evaluator *ev, const Expr *e, Range r, int depth);

/* Forgets all answers but those that are known. */
static void restart(Evaluator *ev, Environment *env)
{
    env->stamp = ++ev->stamps;
    for (size_t i = 0; i < env->known.count; i++)
        env->cells[env->known.at[i].node->id] = (Cell){ .range = env->known.at[i].range, .evaluated = env->stamp };
}

static void remember(Evaluator *ev, const Expr *e, Range r)
{
    Environment *env = environment_now(ev);
    for (size_t i = 0; i < env->known.count; i++)
        if (env->known.at[i].node == e) {
            env->known.at[i].range = r;
            restart(ev, env);
            return;
        }
    vec_push(ev->arena, &env->known, ((KnownRange){ e, r }));
    restart(ev, env);
}

/* Bounds each atom by sign * form + shift >= 0. */
static void bound_atoms(Evaluator *ev, const Linear *form, int sign, Wide shift, int depth)
{
    for (int i = 0; i < form->count && !environment_now(ev)->dead; i++) {
        const Wide  k = (Wide)form->coefficients[i] * sign;
        const Range v = evaluate(ev, form->atoms[i]), all = evaluate_sum(ev, form, sign);
        const Wide  rest = all.hi + shift - (k > 0 ? k * v.hi : k * v.lo);
        if (k > 0)
            bound(ev, form->atoms[i], range_int(-wide_floor_div(rest, k), v.hi), depth - 1);
        else
            bound(ev, form->atoms[i], range_int(v.lo, wide_floor_div(rest, -k)), depth - 1);
    }
}

/* What e in r says of its operands. */
static void bound_parts(Evaluator *ev, const Expr *e, Range r, int depth)
{
    const Expr *a = e->count ? e->args[0] : NULL;
    switch ((ExprOp)e->op) {
    case EX_CAST:
        if (!type_is_float((kn_type)a->type) && e->type != KN_BOOL && range_within((kn_type)e->type, evaluate(ev, a)))
            bound(ev, a, r, depth - 1);
        return;
    case EX_DIV: {
        const Range d = evaluate(ev, e->args[1]);
        if (d.lo == d.hi && d.lo > 0)
            bound(ev, a, range_int(r.lo * d.lo, r.hi * d.lo + d.lo - 1), depth - 1);
        return;
    }
    case EX_ABS:
        if (range_within((kn_type)e->type,
                         range_int(-evaluate(ev, a).lo, -evaluate(ev, a).lo))) /* no number whose magnitude wraps */
            bound(ev, a, range_int(-r.hi, r.hi), depth - 1);
        return;
    case EX_MIN:
    case EX_MAX:
        for (int i = 0; i < 2; i++) {
            const Range part = evaluate(ev, e->args[i]);
            bound(ev, e->args[i],
                  e->op == EX_MIN ? range_int(r.lo, wide_max(part.hi, r.lo)) : range_int(wide_min(part.lo, r.hi), r.hi),
                  depth - 1);
        }
        return;
    case EX_ADD:
    case EX_SUB:
    case EX_NEG:
    case EX_MUL: {
        const Linear *form = evaluate_form(ev, e);
        if (!form || (form->count == 1 && form->atoms[0] == e) ||
            !range_within((kn_type)e->type, evaluate_linear(ev, form, 1, UINT32_MAX)))
            return;
        bound_atoms(ev, form, 1, -r.lo, depth);
        bound_atoms(ev, form, -1, r.hi, depth);
        return;
    }
    default: return;
    }
}

/* Uses that e is in r. */
static void bound(Evaluator *ev, const Expr *e, Range r, int depth)
{
    const kn_type type = (kn_type)e->type;
    Range         both = evaluate(ev, e);
    if (environment_now(ev)->dead || depth == 0)
        return;
    if (!range_intersect(type, &both, r)) {
        /* two disjoint float ranges may still both have NaN */
        environment_now(ev)->dead = !type_is_float(type) || !both.nan || !r.nan;
        return;
    }
    if (range_equal(type, both, evaluate(ev, e)))
        return;
    if (type_is_int(type))
        bound_parts(ev, e, both, depth);
    remember(ev, e, both);
}

/* The fact of a comparison of integers, if neither side can have wrapped. */
static void add_fact(Evaluator *ev, const Expr *comparison, int sign, int shift)
{
    const Expr   *a = comparison->args[0], *b = comparison->args[1];
    const Linear *form = evaluate_form(ev, comparison);
    if (!form || !range_within((kn_type)a->type, evaluate_linear(ev, evaluate_form(ev, a), 1, UINT32_MAX)) ||
        !range_within((kn_type)b->type, evaluate_linear(ev, evaluate_form(ev, b), 1, UINT32_MAX)))
        return;
    bound_atoms(ev, form, sign, shift, MOST_DOWN);
    Environment *env = environment_now(ev);
    if (form->count > 1 && env->fact_count < MOST_FACTS) {
        env->facts[env->fact_count++] = (RangeFact){ form, sign, shift };
        restart(ev, env);
    }
}

/* a + gap <= b for integers, a <= b for floats that are numbers. */
static void assume_order(Evaluator *ev, const Expr *a, const Expr *b, int gap)
{
    if (type_is_float((kn_type)a->type)) {
        bound(ev, a, range_float(-INFINITY, evaluate(ev, b).fhi, false), MOST_DOWN);
        bound(ev, b, range_float(evaluate(ev, a).flo, INFINITY, false), MOST_DOWN);
        return;
    }
    const Range all = range_of_type((kn_type)a->type);
    bound(ev, a, range_int(all.lo, evaluate(ev, b).hi - gap), MOST_DOWN);
    bound(ev, b, range_int(evaluate(ev, a).lo + gap, all.hi), MOST_DOWN);
}

/* a != b where b is one number at an end of a's range. */
static void assume_apart(Evaluator *ev, const Expr *a, const Expr *b)
{
    const Range ra = evaluate(ev, a), rb = evaluate(ev, b);
    if (!type_is_float((kn_type)a->type) && rb.lo == rb.hi && ra.lo < ra.hi && (rb.lo == ra.lo || rb.lo == ra.hi))
        bound(ev, a, range_int(ra.lo + (rb.lo == ra.lo), ra.hi - (rb.lo == ra.hi)), MOST_DOWN);
}

static void assume_comparison(Evaluator *ev, const Expr *c, bool truth)
{
    const Expr *a = c->args[0], *b = c->args[1];
    const bool  is_int = type_is_int((kn_type)a->type), is_equal = (c->op == EX_EQ) == truth;
    if (!is_int && !type_is_float((kn_type)a->type))
        return;
    if (c->op == EX_EQ || c->op == EX_NE) {
        if (is_equal) {
            assume_order(ev, a, b, 0);
            assume_order(ev, b, a, 0);
            if (is_int) {
                add_fact(ev, c, 1, 0);
                add_fact(ev, c, -1, 0);
            }
        } else {
            assume_apart(ev, a, b);
            assume_apart(ev, b, a);
        }
        return;
    }
    if (!is_int && !truth && (evaluate(ev, a).nan || evaluate(ev, b).nan))
        return;
    const int gap = (c->op == EX_LT) == truth; /* a < b: a + 1 <= b; not a <= b: b + 1 <= a */
    assume_order(ev, truth ? a : b, truth ? b : a, gap);
    if (is_int)
        add_fact(ev, c, truth ? -1 : 1, -gap);
}

/* In a conjunction that holds, or a disjunction that does not, both parts are `truth`. Else one is: the one that is
 * left if the other is decided. */
static void assume_logic(Evaluator *ev, const Expr *c, bool truth)
{
    const bool is_and = c->op == EX_AND || c->op == EX_BIT_AND;
    if (is_and == truth) {
        assume(ev, c->args[0], truth);
        assume(ev, c->args[1], truth);
        return;
    }
    for (int i = 0; i < 2; i++) {
        const Range other = evaluate(ev, c->args[1 - i]);
        if (truth ? range_is_false(other) : range_is_true(other))
            assume(ev, c->args[i], truth);
    }
}

void assume(Evaluator *ev, const Expr *condition, bool truth)
{
    if (environment_now(ev)->dead)
        return;
    switch ((ExprOp)condition->op) {
    case EX_AND:
    case EX_OR:
    case EX_BIT_AND:
    case EX_BIT_OR: assume_logic(ev, condition, truth); break;
    case EX_BIT_NOT: assume(ev, condition->args[0], !truth); break;
    case EX_LT:
    case EX_LE:
    case EX_EQ:
    case EX_NE: assume_comparison(ev, condition, truth); break;
    default: break;
    }
    if (!environment_now(ev)->dead)
        bound(ev, condition, range_int(truth, truth), 1);
}
