/* SPDX-License-Identifier: MIT */
/* Rewriting definitions of a plan: what the directives that make functions share.
 *
 * An update that combines is f(args) = f(args) op rest, or rest op f(args): taken apart by combined_rest
 * (legal/window.h), put together again by combine. */
#include "legal/window.h"
#include "plan/planner.h"

/* ---- All expressions of a function ------------------------------------------------------ */

static void rewrite_list(ExprPool *pool, const Expr **at, int count, Change *change, void *user)
{
    for (int i = 0; at && i < count; i++)
        at[i] = expr_rewrite(pool, at[i], change, user);
}

void rewrite_update(ExprPool *pool, const Func *f, Update *u, Change *change, void *user)
{
    rewrite_list(pool, u->args, f->rank, change, user);
    rewrite_list(pool, u->values, f->component_count, change, user);
    rewrite_list(pool, &u->where, u->where ? 1 : 0, change, user);
    for (int i = 0; i < u->rvar_count; i++) {
        rewrite_list(pool, &u->rvars[i].lo, 1, change, user);
        rewrite_list(pool, &u->rvars[i].hi, 1, change, user);
    }
}

void rewrite_pure(ExprPool *pool, Func *f, Change *change, void *user)
{
    rewrite_list(pool, f->values, f->component_count, change, user);
}

void rewrite_function(ExprPool *pool, Func *f, Change *change, void *user)
{
    rewrite_pure(pool, f, change, user);
    for (int k = 0; k < f->update_count; k++)
        rewrite_update(pool, f, &f->updates[k], change, user);
    for (int i = 0; i < f->stage_arg_count; i++)
        rewrite_list(pool, &f->stage_args[i].value, f->stage_args[i].value ? 1 : 0, change, user);
}

static void substitute_list(ExprPool *pool, const Expr **at, int count, int names, const char *const *from,
                            const Expr *const *to)
{
    for (int i = 0; i < count; i++)
        at[i] = expr_substitute(pool, at[i], names, from, to);
}

void substitute_update(ExprPool *pool, const Func *f, Update *u, int names, const char *const *from,
                       const Expr *const *to)
{
    substitute_list(pool, u->args, f->rank, names, from, to);
    substitute_list(pool, u->values, f->component_count, names, from, to);
    substitute_list(pool, &u->where, u->where ? 1 : 0, names, from, to);
    for (int i = 0; i < u->rvar_count; i++) {
        substitute_list(pool, &u->rvars[i].lo, 1, names, from, to);
        substitute_list(pool, &u->rvars[i].hi, 1, names, from, to);
    }
}

/* ---- Expressions ------------------------------------------------------------------------ */

const Expr *linear_sum(ExprPool *pool, const Linear *form)
{
    const Expr *sum = NULL;
    for (int i = 0; i < form->count; i++) {
        const int64_t c    = form->coefficients[i];
        const int64_t size = c < 0 && sum ? -c : c;
        const Expr   *term = form->atoms[i];
        if (size != 1)
            term = expr_binary(pool, EX_MUL, KN_I32, term, expr_int(pool, KN_I32, size));
        sum = sum ? expr_binary(pool, c < 0 ? EX_SUB : EX_ADD, KN_I32, sum, term) : term;
    }
    if (!sum)
        return expr_int(pool, KN_I32, form->constant);
    if (form->constant)
        sum = expr_binary(pool, form->constant < 0 ? EX_SUB : EX_ADD, KN_I32, sum,
                          expr_int(pool, KN_I32, form->constant < 0 ? -form->constant : form->constant));
    return sum;
}

const Expr *identity(ExprPool *pool, ExprOp op, kn_type t)
{
    const int64_t ones = -1, most = type_is_signed(t) ? type_max(t) : ones;
    switch (op) {
    case EX_MUL: return expr_int(pool, t, 1);
    case EX_MIN: return expr_int(pool, t, most);
    case EX_MAX: return expr_int(pool, t, type_min(t));
    case EX_BIT_AND:
    case EX_AND: return expr_int(pool, t, ones);
    default: return expr_int(pool, t, 0);
    }
}

const Expr *combine(ExprPool *pool, const Func *f, const Expr *e, ExprOp op, const Expr *place, const Expr *rest)
{
    const bool first = combined_rest(f, e) == e->args[1];
    return expr_binary(pool, op, (kn_type)e->type, first ? place : rest, first ? rest : place);
}

/* ---- Updates ---------------------------------------------------------------------------- */

void void_update(Planner *pl, Func *f, int update)
{
    ExprPool *pool = &pl->plan->exprs;
    Update   *u    = &f->updates[update];
    u->is_free     = ARENA_ARRAY(pl->arena, bool, (size_t)f->rank);
    u->args        = ARENA_ARRAY(pl->arena, const Expr *, (size_t)f->rank);
    u->values      = ARENA_ARRAY(pl->arena, const Expr *, (size_t)f->component_count);
    for (int d = 0; d < f->rank; d++) {
        u->is_free[d] = true;
        u->args[d]    = expr_var(pool, KN_I32, f->args[d]);
    }
    for (int c = 0; c < f->component_count; c++)
        u->values[c] = expr_call(pool, f, c, f->types[c], f->rank, u->args);
    const char *r = u->rvars[0].name;
    u->rvars      = ARENA_NEW(pl->arena, RVar);
    u->rvars[0]   = (RVar){ r, expr_int(pool, KN_I32, 0), expr_int(pool, KN_I32, 0) };
    u->where      = NULL;
    u->gone       = true;
    while (f->update_count && f->updates[f->update_count - 1].gone)
        f->update_count--;
}

/* ---- Drafts ----------------------------------------------------------------------------- */

size_t draft_place(const Planner *pl, const FuncDraft *f)
{
    size_t i = 0;
    while (pl->drafts.at[i] != f)
        i++;
    return i;
}

void move_last_draft(Planner *pl, size_t at)
{
    FuncDraft *last = pl->drafts.at[pl->drafts.count - 1];
    memmove(&pl->drafts.at[at + 1], &pl->drafts.at[at], (pl->drafts.count - 1 - at) * sizeof *pl->drafts.at);
    pl->drafts.at[at] = last;
}

void use_up(Planner *pl, const Directive *d)
{
    map_set(&pl->used, d, d);
    pl->plan->made[pl->plan->made_count++] = d;
}

void rename_origin(Planner *pl, FuncDraft *f, int update, const char *r)
{
    Func   *origin = ARENA_NEW(pl->arena, Func);
    Update *u      = ARENA_ARRAY(pl->arena, Update, (size_t)f->origin->update_count);
    *origin        = *f->origin;
    memcpy(u, origin->updates, (size_t)origin->update_count * sizeof *u);
    u[update].rvar_count    = 1;
    u[update].rvars         = ARENA_NEW(pl->arena, RVar);
    u[update].rvars[0].name = r;
    origin->updates         = u;
    f->origin = f->plan->origin = origin;
}
