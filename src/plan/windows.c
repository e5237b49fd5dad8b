/* SPDX-License-Identifier: MIT */
/* Rewriting windows: j and y as t. */
#include "plan/windows.h"

void window_begin(WindowRewrite *r, const Func *f, int update, int rvar, int dim, const Func *g)
{
    ExprPool *pool = &r->pl->plan->exprs;
    scratch_begin(&r->scratch, r->pl->cx);
    map_init(&r->done, &r->scratch);
    r->t = expr_var(pool, KN_I32, g->args[dim]);
    r->w = window_of(pool, &r->scratch, f, update, rvar, dim);
}

/* A sum whose parts are done, and n*y + m*j with them. */
static const Expr *replace_sum(WindowRewrite *r, const Expr *e, Linear *form)
{
    int64_t      n = 0, m = 0;
    int          count        = 0;
    bool         same         = true;
    const Expr **atoms        = ARENA_ARRAY(&r->scratch, const Expr *, (size_t)form->count + 1);
    int64_t     *coefficients = ARENA_ARRAY(&r->scratch, int64_t, (size_t)form->count + 1);
    for (int i = 0; i < form->count; i++) {
        const Expr *atom = form->atoms[i];
        if (window_moves(&r->w, atom)) {
            *(atom->u.name == r->w.y ? &n : &m) = form->coefficients[i];
            continue;
        }
        atoms[count]          = window_replace(r, atom);
        coefficients[count++] = form->coefficients[i];
        same &= atoms[count - 1] == atom;
    }
    if (n || m) {
        atoms[count]          = r->t;
        coefficients[count++] = direction_multiple(&r->w.by, n, m);
    } else if (same) {
        return e;
    }
    form->atoms        = atoms;
    form->coefficients = coefficients;
    form->count        = count;
    return linear_sum(&r->pl->plan->exprs, form);
}

const Expr *window_replace(WindowRewrite *r, const Expr *e)
{
    const Expr *result = map_get(&r->done, e);
    if (result)
        return result;
    context_spend(r->pl->cx, 1);
    Linear form;
    if (window_sum(&r->w, e, &form)) {
        result = replace_sum(r, e, &form);
    } else {
        const Expr **args = ARENA_ARRAY(&r->scratch, const Expr *, e->count);
        bool         same = true;
        for (uint32_t i = 0; i < e->count; i++) {
            args[i] = window_replace(r, e->args[i]);
            same &= args[i] == e->args[i];
        }
        result = same ? e : expr_rebuild(&r->pl->plan->exprs, e, args);
    }
    map_set(&r->done, e, result);
    return result;
}
