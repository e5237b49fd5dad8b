/* SPDX-License-Identifier: MIT */
/* Windows by doubling: double.
 *
 *   f.update(0).double(j)          with update 0:  f(x, y) = f(x, y) op h(x, a*y + c*j)  for j in lo..lo+n
 *                                  f.double[1](x, t)  = h(x, t)
 *                                  f.double[2m](x, t) = f.double[m](x, t) op f.double[m](x, t + c*m)
 *                                  f(x, y)            = init op f.double[m](x, t0) op f.double[m](x, t0 + c*(n - m))
 *                                  with m the largest power of 2 that is at most n, and t0 = a*y + c*lo
 *
 * f.double[m](x, t) is the op of the m taps from t on, so a window costs log n operations a point, not n. With an op of
 * which x op x = x, the two windows of m taps that n taps are made of may overlap. For others n is written as a sum of
 * powers of 2, 41 = 32 + 8 + 1, and windows of so many taps stand side by side.
 *
 * Takes   the first update of f, at every point, f(x, …) = f(x, …) op e, over one reduction variable of n steps, n a
 *         constant, with e over y and j in a*y + c*j alone, c != 0.
 * Gives   the functions above; nothing is left of the update. A condition of the steps is in f.double[1], which is
 *         the neutral element where it does not hold.
 * Holds   the op is exact in any order. What is read is the same, because boxes of a*y + c*j are. */
#include "plan/windows.h"

/* One rewriting. */
typedef struct Doubling {
    WindowRewrite    r;
    Func            *f;
    const Update    *u;
    const Directive *d;
    int              dim;   /* y */
    int64_t          steps; /* n */
} Doubling;

/* ---- Expressions ------------------------------------------------------------------------ */

/* What combines windows: those of f - e are sums. */
static ExprOp window_op(const Doubling *w, int component)
{
    const ExprOp op = (ExprOp)w->u->values[component]->op;
    return op == EX_SUB ? EX_ADD : op;
}

/* Is x op x = x? */
static bool is_idempotent(ExprOp op)
{
    return op == EX_MIN || op == EX_MAX || op == EX_BIT_AND || op == EX_BIT_OR || op == EX_AND || op == EX_OR;
}

/* g at these arguments, but t + step along y. */
static const Expr *window_at(const Doubling *w, const Func *g, int component, const Expr **args, const Linear *t,
                             int64_t step)
{
    ExprPool    *pool = &w->r.pl->plan->exprs;
    const Linear at   = { t->constant + w->r.w.by.c * step, t->count, t->atoms, t->coefficients };
    args[w->dim]      = linear_sum(pool, &at);
    return expr_call(pool, g, component, g->types[component], g->rank, args);
}

static const Expr **own_arguments(const Doubling *w, const Func *g)
{
    const Expr **args = ARENA_ARRAY(w->r.pl->arena, const Expr *, (size_t)g->rank);
    for (int k = 0; k < g->rank; k++)
        args[k] = expr_var(&w->r.pl->plan->exprs, KN_I32, g->args[k]);
    return args;
}

/* ---- The functions ---------------------------------------------------------------------- */

/* f.double[1]: h, or the neutral element where the condition does not hold. */
static void make_taps(Doubling *w, Func *g)
{
    Planner     *pl    = w->r.pl;
    ExprPool    *pool  = &pl->plan->exprs;
    const Expr **args  = own_arguments(w, g);
    const Expr  *where = w->u->where ? window_replace(&w->r, w->u->where) : NULL;
    g->values          = ARENA_ARRAY(pl->arena, const Expr *, (size_t)g->component_count);
    for (int c = 0; c < g->component_count; c++) {
        const Expr *e = window_replace(&w->r, combined_rest(w->f, w->u->values[c]));
        if (where)
            e = expr_ternary(pool, EX_SELECT, g->types[c], where, e, identity(pool, window_op(w, c), g->types[c]));
        g->values[c] = expr_substitute(pool, e, g->rank, w->f->args, args);
    }
}

/* f.double[2m] of f.double[m]. */
static void make_window(const Doubling *w, Func *g, const Func *half, int64_t taps)
{
    Planner     *pl   = w->r.pl;
    ExprPool    *pool = &pl->plan->exprs;
    const Expr **args = own_arguments(w, g);
    const Expr  *own  = args[w->dim];
    int64_t      one  = 1;
    const Linear t    = { 0, 1, &own, &one };
    g->values         = ARENA_ARRAY(pl->arena, const Expr *, (size_t)g->component_count);
    for (int c = 0; c < g->component_count; c++)
        g->values[c] = expr_binary(pool, window_op(w, c), g->types[c], window_at(w, half, c, args, &t, 0),
                                   window_at(w, half, c, args, &t, taps));
}

/* One component of f: its windows, largest first, on what it begins with. */
static const Expr *whole_window(const Doubling *w, Func *const *windows, int component, const Linear *t)
{
    ExprPool     *pool = &w->r.pl->plan->exprs;
    const kn_type type = w->f->types[component];
    const ExprOp  op   = (ExprOp)w->u->values[component]->op;
    const Expr  **args = own_arguments(w, w->f);
    const Expr   *value =
        w->f->values[component] == identity(pool, op, type) && op != EX_SUB ? NULL : w->f->values[component];
    int64_t step = 0;
    for (int k = w->d->window_count - 1; k >= 0; k--) {
        const int64_t taps = (int64_t)1 << k;
        if (step + taps > w->steps)
            continue;
        const Expr *part = window_at(w, windows[k], component, args, t, step);
        value            = value ? expr_binary(pool, op, type, value, part) : part;
        step += taps;
        if (is_idempotent(op) && step < w->steps)
            return expr_binary(pool, op, type, value, window_at(w, windows[k], component, args, t, w->steps - taps));
    }
    return value;
}

/* f itself; t = a*y + c*lo. */
static void make_whole(const Doubling *w, Func *const *windows)
{
    Planner         *pl             = w->r.pl;
    const Direction *by             = &w->r.w.by;
    const Expr      *lo             = w->u->rvars[0].lo;
    const Expr      *atoms[]        = { expr_var(&pl->plan->exprs, KN_I32, w->f->args[w->dim]), lo };
    int64_t          coefficients[] = { by->a, by->c };
    int64_t          first          = 0;
    const bool       known          = expr_is_int(lo, &first);
    const Linear     t              = { by->c * first, known ? 1 : 2, atoms, coefficients };
    const Expr     **values         = ARENA_ARRAY(pl->arena, const Expr *, (size_t)w->f->component_count);
    for (int c = 0; c < w->f->component_count; c++)
        values[c] = whole_window(w, windows, c, &t);
    w->f->values = values;
    void_update(pl, w->f, w->d->update);
}

/* ---- All -------------------------------------------------------------------------------- */

static bool can_double(Doubling *w, const DefFacts *facts)
{
    Planner         *pl = w->r.pl;
    const Directive *d  = w->d;
    const char      *j  = d->args[0].name;
    if (facts->inexact)
        return refuse(
            pl, ERROR_FLOAT_ORDER, d->loc, "leave it out, or let it combine integers",
            "`double` would combine floats in another order, which is another result: sums round, and min and "
            "max depend on it where there are NaNs or zeros of both signs");
    if (!facts->combines || facts->free != (1u << w->f->rank) - 1)
        return refuse(pl, ERROR_NOT_ASSOCIATIVE, d->loc, "leave it out",
                      "`double` needs an update f(x, …) = f(x, …) op e at every point that reads itself nowhere else, "
                      "with an operation that is exact in any order");
    if (w->u->rvar_count != 1)
        return refuse(pl, ERROR_NOT_SEPARABLE, d->loc,
                      arena_printf(pl->arena, "separate(%s) first: %s.separate.sum then has the others", j, w->f->name),
                      "`%s` is one of several reduction variables: `double` is for one", j);
    for (int i = 0; i < d->update; i++)
        if (!w->f->updates[i].gone)
            return refuse(pl, ERROR_STEP_ORDER, d->loc, "define the window as a function of its own",
                          "`double` of update %d of `%s`: update %d comes before it", d->update, w->f->name, i);
    if (facts->bounding)
        return refuse(pl, ERROR_DEPENDENT_BOUNDS, d->loc,
                      "let the bounds be constants or sizes, with `where` for the rest",
                      "the bounds of a reduction variable of `%s` depend on other variables of the update", w->f->name);
    return true;
}

/* Finds y: begins the rewriting with the first argument that suits. */
static bool find_argument(Doubling *w, const Func *g)
{
    for (w->dim = 0; w->dim < w->f->rank; w->dim++) {
        window_begin(&w->r, w->f, w->d->update, 0, w->dim, g);
        if (window_doubles(&w->r.w))
            return true;
        scratch_end(&w->r.scratch);
    }
    const char *j = w->d->args[0].name;
    return refuse(
        w->r.pl, ERROR_NOT_SEPARABLE, w->d->args[0].loc, "leave it out",
        "`%s` cannot be doubled: what is combined has to be over `%s` in a*y + c*%s alone, with one argument y "
        "of `%s` that it is over in no other way",
        j, j, j, w->f->name);
}

bool apply_double(Planner *pl, FuncDraft *f, DefDraft *def, const Directive *d)
{
    (void)def;
    Doubling       w     = { .r.pl = pl, .f = f->func, .u = &f->func->updates[d->update], .d = d };
    const DefFacts facts = def_facts(&pl->plan->exprs, f->func, d->update);
    Func         **made  = ARENA_ARRAY(pl->arena, Func *, (size_t)d->window_count);
    use_up(pl, d);
    w.steps = facts.steps;
    if (!can_double(&w, &facts))
        return false;
    for (int k = 0; k < d->window_count; k++) {
        FuncDraft *window = add_draft(pl, d->windows[k]);
        window->is_made   = k > 0;
        made[k]           = window->func;
        move_last_draft(pl, draft_place(pl, f));
    }
    if (!find_argument(&w, made[0]))
        return false;
    make_taps(&w, made[0]);
    for (int k = 1; k < d->window_count; k++)
        make_window(&w, made[k], made[k - 1], (int64_t)1 << (k - 1));
    make_whole(&w, made);
    scratch_end(&w.r.scratch);
    return true;
}
