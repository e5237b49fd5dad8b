/* SPDX-License-Identifier: MIT */
/* Expanding: a short reduction as one expression, so that it can be inlined like any other.
 *
 * Takes   a function whose updates write and read nothing of it but the point they are at, over reduction variables
 *         with constant bounds:
 *             s(x) = a        s(x) = e(s(x), x, r)  for r in lo..hi
 * Gives   the value after the last step: e(… e(e(a, x, lo), x, lo+1) …, x, hi-1).
 * Holds   the steps keep their order, so not a bit of the result is another; MOST_EXPANDED_STEPS bounds how large the
 *         expression gets. */
#include "plan/planner.h"

static int64_t step_count(const Update *u)
{
    int64_t count = 1;
    for (int i = 0; i < u->rvar_count; i++)
        count *= rvar_steps(&u->rvars[i]);
    return count;
}

typedef struct Expanding {
    const Func  *f;
    const Expr **now; /* its components before this step */
} Expanding;

static const Expr *value_before(void *user, const Expr *e)
{
    const Expanding *x = user;
    return e->op == EX_CALL && e->u.call.func == x->f ? x->now[e->u.call.index] : e;
}

/* One step of an update, the `step`-th in lexicographic order: the last variable is the fastest. */
static void expand_step(Planner *pl, Expanding *x, const Update *u, int64_t step)
{
    ExprPool    *pool   = &pl->plan->exprs;
    const Expr **values = ARENA_ARRAY(pl->arena, const Expr *, u->rvar_count),
               **next   = ARENA_ARRAY(pl->arena, const Expr *, x->f->component_count);
    const char **names  = ARENA_ARRAY(pl->arena, const char *, u->rvar_count);
    for (int i = u->rvar_count - 1; i >= 0; i--) {
        int64_t lo = 0, hi = 1;
        expr_is_int(u->rvars[i].lo, &lo);
        expr_is_int(u->rvars[i].hi, &hi);
        names[i]  = u->rvars[i].name;
        values[i] = expr_int(pool, KN_I32, lo + step % (hi - lo));
        step /= hi - lo;
    }
    for (int c = 0; c < x->f->component_count; c++)
        next[c] =
            expr_rewrite(pool, expr_substitute(pool, u->values[c], u->rvar_count, names, values), value_before, x);
    x->now = next;
}

void expand(Planner *pl, Func *f)
{
    Expanding x = { f, f->values };
    for (int k = 0; k < f->update_count; k++) {
        const int64_t steps = step_count(&f->updates[k]);
        for (int64_t step = 0; step < steps; step++)
            expand_step(pl, &x, &f->updates[k], step);
    }
    f->values       = x.now;
    f->update_count = 0;
}
