/* SPDX-License-Identifier: MIT */
/* clone: a function again, for some of its consumers.
 *
 *   f.clone(c, …)       f.clone has the definitions of f, with variables of its own; the consumers read it in the place
 *                       of f.
 *
 * Holds   drafts stay in order: a clone comes just after its function. */
#include "plan/planner.h"

typedef struct Redirect {
    ExprPool   *pool;
    const Func *from, *to;
    bool        any;
} Redirect;

static const Expr *redirect_call(void *user, const Expr *e)
{
    Redirect *r = user;
    if (e->op != EX_CALL || e->u.call.func != r->from)
        return e;
    r->any = true;
    return expr_call(r->pool, r->to, (int)e->u.call.index, (kn_type)e->type, (int)e->count, e->args);
}

/* Lets the readers that the directive names read the clone. */
static bool redirect_named(Planner *pl, const FuncDraft *from, const FuncDraft *made, const Directive *d)
{
    for (int i = 0; i < d->arg_count; i++) {
        FuncDraft *reader = draft_of(pl, d->args[i].func);
        Func      *f      = reader->func;
        const int  update = d->args[i].update;
        Redirect   r      = { &pl->plan->exprs, from->func, made->func, false };
        if (reader != from && reader != made && update < 0)
            rewrite_function(r.pool, f, redirect_call, &r);
        else if (reader != from && reader != made && update < f->update_count)
            rewrite_update(r.pool, f, &f->updates[update], redirect_call, &r);
        if (!r.any)
            return refuse(pl, ERROR_NOT_READ, d->args[i].loc,
                          "name functions that read it; what they are inlined into reads it too",
                          "`%s` does not read `%s`", f->name, from->func->name);
    }
    return true;
}

/* Update k of f as one of g, with names of its own. */
static void clone_update(Planner *pl, const Func *f, Func *g, int k)
{
    const Update *u = &f->updates[k], *known = &draft_of(pl, g)->origin->updates[k];
    Update       *to    = &g->updates[k];
    const char  **from  = ARENA_ARRAY(pl->arena, const char *, (size_t)(f->rank + u->rvar_count));
    const Expr  **with  = ARENA_ARRAY(pl->arena, const Expr *, (size_t)(f->rank + u->rvar_count));
    Redirect      r     = { &pl->plan->exprs, f, g, false };
    int           count = 0;
    *to                 = *u;
    to->args            = ARENA_ARRAY(pl->arena, const Expr *, (size_t)f->rank);
    to->values          = ARENA_ARRAY(pl->arena, const Expr *, (size_t)f->component_count);
    to->rvars           = ARENA_ARRAY(pl->arena, RVar, (size_t)u->rvar_count);
    memcpy(to->args, u->args, (size_t)f->rank * sizeof *to->args);
    memcpy(to->values, u->values, (size_t)f->component_count * sizeof *to->values);
    memcpy(to->rvars, u->rvars, (size_t)u->rvar_count * sizeof *to->rvars);
    for (int d = 0; d < f->rank; d++) {
        from[count]   = f->args[d];
        with[count++] = expr_var(r.pool, KN_I32, g->args[d]);
    }
    for (int i = 0; i < u->rvar_count; i++) {
        to->rvars[i].name = fresh_name(pl, arena_printf(pl->arena, "%s.u%d.%s", g->name, k, known->rvars[i].name));
        from[count]       = u->rvars[i].name;
        with[count++]     = expr_var(r.pool, KN_I32, to->rvars[i].name);
    }
    substitute_update(r.pool, g, to, count, from, with);
    rewrite_update(r.pool, g, to, redirect_call, &r);
}

/* Are the reduction variables of its updates those that it was written with? */
static bool has_own_steps(const FuncDraft *from, const Func *written)
{
    bool same = true;
    for (int k = 0; k < from->func->update_count && same; k++) {
        const Update *now = &from->origin->updates[k], *then = &written->updates[k];
        same = now->rvar_count == then->rvar_count;
        for (int i = 0; i < now->rvar_count && same; i++)
            same = now->rvars[i].name == then->rvars[i].name;
    }
    return same;
}

bool apply_clone(Planner *pl, FuncDraft *from, DefDraft *def, const Directive *d)
{
    (void)def;
    FuncDraft *made = add_draft(pl, d->made);
    made->is_made   = true;
    move_last_draft(pl, draft_place(pl, from) + 1);
    use_up(pl, d);
    Func *g = made->func;
    if (!has_own_steps(from, d->made))
        return refuse(pl, ERROR_STEP_ORDER, d->loc, "clone it first, and give the clone its own rfactor or separate",
                      "the updates of `%s` have been rewritten before `clone`", from->func->name);
    const Expr **args = ARENA_ARRAY(pl->arena, const Expr *, (size_t)g->rank);
    for (int k = 0; k < g->rank; k++)
        args[k] = expr_var(&pl->plan->exprs, KN_I32, g->args[k]);
    g->values = ARENA_ARRAY(pl->arena, const Expr *, (size_t)g->component_count);
    for (int c = 0; c < g->component_count; c++)
        g->values[c] = expr_substitute(&pl->plan->exprs, from->func->values[c], g->rank, from->func->args, args);
    g->update_count = from->func->update_count;
    g->total        = from->func->total;
    for (int k = 0; k < g->update_count; k++)
        clone_update(pl, from->func, g, k);
    return redirect_named(pl, from, made, d);
}
