/* SPDX-License-Identifier: MIT */
/* The arrays of plain loop nests.
 *
 * Takes   nests whose calls and written places are in coordinates.
 * Gives   the same in subscripts. A function a(…, t) whose one update runs over t, reads at most m steps back, and of
 *         which others read only the last m + 1 steps, has an array of m + 1 steps: t modulo m + 1. Its pure definition
 *         is computed for the steps before the first.
 * Holds   step t overwrites step t - m - 1, which nobody reads from then on. */
#include "lower/nests.h"

enum { MOST_STEPS_BACK = 8 };

typedef struct Folding {
    const Func *f;
    int         dim; /* of t */
    const Expr *t;   /* its variable, while the update itself is looked at; else NULL */
    int64_t     back, oldest;
    bool        fine;
} Folding;

static void look_at_read(const Expr *e, void *user)
{
    Folding *s = user;
    int64_t  by;
    if (e->op != EX_CALL || e->u.call.func != s->f)
        return;
    const Expr *at = e->args[s->dim];
    if (s->t && expr_difference(s->t, at, &by) && by >= 1 && by <= MOST_STEPS_BACK)
        s->back = by > s->back ? by : s->back;
    else if (!s->t && expr_is_int(at, &by))
        s->oldest = by < s->oldest ? by : s->oldest;
    else
        s->fine = false;
}

static void visit_nest(ExprPool *pool, const Nest *n, void (*visit)(const Expr *e, void *user), void *user)
{
    for (int d = 0; d < n->func->rank; d++)
        expr_visit(pool, n->at[d], visit, user);
    for (int c = 0; c < n->func->component_count; c++)
        expr_visit(pool, n->values[c], visit, user);
    for (int i = 0; i < n->loop_count; i++) {
        expr_visit(pool, n->loops[i].lo, visit, user);
        expr_visit(pool, n->loops[i].last, visit, user);
    }
    if (n->where)
        expr_visit(pool, n->where, visit, user);
}

/* The dimension along which the update writes its steps, if these are its outermost loop; else -1. */
static int step_dim(const Nest *n)
{
    const Update *u = n->update < 0 ? NULL : &n->func->updates[n->update];
    if (!u || u->rvar_count != 1 || n->where || n->loops[0].var != u->rvars[0].name || n->not_affine)
        return -1;
    for (int d = 0; d < n->func->rank; d++)
        if (!u->is_free[d])
            return n->at[d]->op == EX_VAR && n->at[d]->u.name == u->rvars[0].name ? d : -1;
    return -1;
}

/* Nest i is the pure definition of a function and nest i + 1 its only update. */
static void try_fold(Nests *n, size_t i)
{
    Nest       *pure = &n->nests.at[i];
    const Nest *step = &n->nests.at[i + 1];
    NestArray  *a    = &n->arrays[pure->func->id];
    const int   dim  = step_dim(step);
    if (dim < 0 || a->role != NEST_LOCAL || step->func != pure->func || pure->func->update_count != 1 ||
        (i + 2 < n->nests.count && n->nests.at[i + 2].func == pure->func))
        return;
    const NestLoop *t = &step->loops[0];
    Folding         s = { .f = pure->func, .dim = dim, .oldest = t->most, .fine = true };
    s.t               = expr_var(n->exprs, KN_I32, t->var);
    visit_nest(n->exprs, step, look_at_read, &s);
    s.t = NULL;
    for (size_t k = 0; k < n->nests.count; k++)
        if (k != i + 1)
            visit_nest(n->exprs, &n->nests.at[k], look_at_read, &s);
    const int64_t fold = s.back + 1;
    if (!s.fine || !s.back || s.oldest <= t->most - fold || a->min[dim] < t->least - fold || a->min[dim] >= t->least ||
        a->extent[dim] <= fold || a->min[dim] + a->extent[dim] - 1 != t->most)
        return;
    a->fold[dim] = fold;
    for (int k = 0; k < pure->loop_count; k++)
        if (pure->loops[k].var == pure->func->args[dim]) {
            pure->loops[k].most = t->least - 1;
            pure->loops[k].last = expr_int(n->exprs, KN_I32, t->least - 1);
        }
}

/* ---- Subscripts ---- */

typedef struct Subscripts {
    Nests      *n;
    Simplifier *s;
} Subscripts;

static const Expr *subscript(const Subscripts *s, const NestArray *a, int d, const Expr *e)
{
    ExprPool *pool = s->n->exprs;
    if (a->min[d])
        e = expr_binary(pool, EX_SUB, KN_I32, e, expr_int(pool, KN_I32, a->min[d]));
    if (a->fold[d])
        e = expr_binary(pool, EX_MOD, KN_I32, e, expr_int(pool, KN_I32, a->fold[d]));
    return a->min[d] || a->fold[d] ? simplify(s->s, e) : e;
}

static const Expr *in_subscripts(void *user, const Expr *e)
{
    const Subscripts *s = user;
    const Expr       *args[KN_MAX_RANK];
    if (e->op != EX_CALL)
        return e;
    const NestArray *a = &s->n->arrays[e->u.call.func->id];
    for (uint32_t d = 0; d < e->count; d++)
        args[d] = subscript(s, a, (int)d, e->args[d]);
    return expr_rebuild(s->n->exprs, e, args);
}

static const Expr *changed(Subscripts *s, const Expr *e)
{
    return e ? expr_rewrite(s->n->exprs, e, in_subscripts, s) : NULL;
}

static void use_subscripts(Subscripts *s, Nest *n)
{
    const NestArray *a = &s->n->arrays[n->func->id];
    for (int i = 0; i < n->loop_count; i++) {
        n->loops[i].lo   = changed(s, n->loops[i].lo);
        n->loops[i].last = changed(s, n->loops[i].last);
    }
    nest_enter(s->s, n);
    n->where = changed(s, n->where);
    for (int d = 0; d < n->func->rank; d++)
        n->at[d] = subscript(s, a, d, changed(s, n->at[d]));
    for (int c = 0; c < n->func->component_count; c++)
        n->values[c] = changed(s, n->values[c]);
    nest_leave(s->s, n);
}

void nests_assign_storage(Nests *n, Simplifier *simplifier)
{
    Subscripts s = { n, simplifier };
    for (size_t i = 0; i + 1 < n->nests.count; i++)
        try_fold(n, i);
    for (size_t i = 0; i < n->nests.count; i++)
        use_subscripts(&s, &n->nests.at[i]);
    for (int i = 0; i < n->array_count; i++)
        for (int d = 0; n->arrays[i].func && d < n->arrays[i].func->rank; d++)
            n->arrays[i].extent[d] = n->arrays[i].fold[d] ? n->arrays[i].fold[d] : n->arrays[i].extent[d];
}
