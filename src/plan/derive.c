/* SPDX-License-Identifier: MIT */
/* Functions that rfactor makes; stage.c, clone.c, separate.c and checkpoint.c are for the other directives that make
 * some.
 *
 *   f.update(k).rfactor(r, v)      with update k:  f(args) = f(args) op e  for q…, r in lo..hi  where c, op exact in
 *   any order:
 *                                  f.rfactor(x, …, v)  = identity of op
 *                                  f.rfactor(args, v)  = f.rfactor(args, v) op e[r := v]  for q…  where c[r := v]
 *                                  f(x, …)             = f(x, …) op f.rfactor(x, …, r)  for r in lo..hi
 *
 * Holds   drafts stay in order: partial results come just before their function. Splits of reduction variables that
 *         come before rfactor are made in the update itself: r = lo + ro*factor + ri, where
 *         that is below hi; it is written as the smaller of that and hi - 1, so that nothing more is read. */
#include "legal/window.h"
#include "plan/planner.h"

/* ---- rfactor ---------------------------------------------------------------------------- */

/* The update that rfactor is about, with the names that schedules know its reduction variables by. */
typedef struct Steps {
    Func        *f;
    Update      *u;
    const char **names;
    const char  *prefix;
} Steps;

static int step_number(const Steps *s, const char *name)
{
    for (int i = 0; i < s->u->rvar_count; i++)
        if (s->names[i] == name)
            return i;
    return -1;
}

/* a op b, with constants put together and zeros left out. */
static const Expr *sum(ExprPool *pool, ExprOp op, const Expr *a, const Expr *b)
{
    int64_t x, y;
    if (expr_is_int(a, &x) && expr_is_int(b, &y))
        return expr_int(pool, KN_I32, op == EX_ADD ? x + y : x - y);
    if (expr_is_int(b, &y) && !y)
        return a;
    return op == EX_ADD && expr_is_int(a, &x) && !x ? b : expr_binary(pool, op, KN_I32, a, b);
}

/* ceil((hi - lo) / factor) */
static const Expr *count_blocks(ExprPool *pool, const RVar *r, int64_t factor)
{
    const Expr *last = sum(pool, EX_ADD, sum(pool, EX_SUB, r->hi, r->lo), expr_int(pool, KN_I32, factor - 1));
    int64_t     n;
    if (expr_is_int(last, &n))
        return expr_int(pool, KN_I32, n < 0 ? 0 : n / factor);
    return expr_binary(pool, EX_DIV, KN_I32, last, expr_int(pool, KN_I32, factor));
}

/* r in lo..hi becomes ro in 0..ceil((hi - lo) / factor), ri in 0..factor, where lo + ro*factor + ri < hi. */
static bool split_steps(Planner *pl, Steps *s, const Directive *d)
{
    ExprPool     *pool   = &pl->plan->exprs;
    Update       *u      = s->u;
    const int     at     = step_number(s, d->args[0].name);
    const int64_t factor = d->args[3].value;
    int64_t       steps;
    if (at < 0 || u->rvar_count == LEGAL_RVARS)
        return refuse(pl, ERROR_FACTOR, d->loc, NULL,
                      "`%s` cannot be split for rfactor: there are %d reduction variables", d->args[0].name,
                      u->rvar_count);
    const RVar whole = u->rvars[at];
    const bool exact = expr_difference(whole.hi, whole.lo, &steps) && steps % factor == 0;
    memmove(&u->rvars[at + 1], &u->rvars[at], (size_t)(u->rvar_count - at) * sizeof *u->rvars);
    memmove(&s->names[at + 1], &s->names[at], (size_t)(u->rvar_count - at) * sizeof *s->names);
    u->rvar_count++;
    for (int k = 0; k < 2; k++) {
        s->names[at + k] = d->args[1 + k].name;
        u->rvars[at + k] = (RVar){ fresh_name(pl, arena_printf(pl->arena, "%s%s", s->prefix, s->names[at + k])),
                                   expr_int(pool, KN_I32, 0),
                                   k ? expr_int(pool, KN_I32, factor) : count_blocks(pool, &whole, factor) };
    }
    const Expr *outer = expr_var(pool, KN_I32, u->rvars[at].name),
               *inner = expr_var(pool, KN_I32, u->rvars[at + 1].name);
    const Expr *block = expr_binary(pool, EX_MUL, KN_I32, outer, expr_int(pool, KN_I32, factor));
    const Expr *r     = sum(pool, EX_ADD, sum(pool, EX_ADD, whole.lo, block), inner);
    const Expr *value =
        exact ? r : expr_binary(pool, EX_MIN, KN_I32, r, sum(pool, EX_SUB, whole.hi, expr_int(pool, KN_I32, 1)));
    substitute_update(pool, s->f, u, 1, &whole.name, &value);
    if (!exact) {
        const Expr *in = expr_binary(pool, EX_LT, KN_BOOL, r, whole.hi);
        u->where       = u->where ? expr_binary(pool, EX_AND, KN_BOOL, in, u->where) : in;
    }
    return true;
}

/* The partial results: pure definition and update. */
static void make_partial(Planner *pl, const Steps *s, int r, const Directive *d, Func *g)
{
    ExprPool     *pool  = &pl->plan->exprs;
    const Func   *f     = s->f;
    const Update *u     = s->u;
    Update       *to    = &g->updates[0];
    const char  **from  = ARENA_ARRAY(pl->arena, const char *, (size_t)(f->rank + u->rvar_count));
    const Expr  **with  = ARENA_ARRAY(pl->arena, const Expr *, (size_t)(f->rank + u->rvar_count));
    int           count = 0, kept = 0;
    *to         = *u;
    to->is_free = d->made->updates[0].is_free;
    to->rvars   = ARENA_ARRAY(pl->arena, RVar, (size_t)u->rvar_count);
    to->args    = ARENA_ARRAY(pl->arena, const Expr *, (size_t)g->rank);
    to->values  = ARENA_ARRAY(pl->arena, const Expr *, (size_t)f->component_count);
    for (int k = 0; k < f->rank; k++) {
        from[count]   = f->args[k];
        with[count++] = expr_var(pool, KN_I32, g->args[k]);
        to->args[k]   = u->args[k];
    }
    to->args[f->rank] = expr_var(pool, KN_I32, g->args[f->rank]);
    for (int i = 0; i < u->rvar_count; i++) {
        from[count] = u->rvars[i].name;
        if (i == r) {
            with[count++] = to->args[f->rank];
            continue;
        }
        to->rvars[kept]      = u->rvars[i];
        to->rvars[kept].name = fresh_name(pl, arena_printf(pl->arena, "%s.u0.%s", g->name, s->names[i]));
        with[count++]        = expr_var(pool, KN_I32, to->rvars[kept++].name);
    }
    to->rvar_count = kept;
    memcpy(to->values, u->values, (size_t)f->component_count * sizeof *to->values);
    substitute_update(pool, g, to, count, from, with);
    g->values = ARENA_ARRAY(pl->arena, const Expr *, (size_t)f->component_count);
    for (int c = 0; c < f->component_count; c++) {
        const Expr *e     = to->values[c];
        const Expr *place = expr_call(pool, g, c, f->types[c], g->rank, to->args);
        g->values[c]      = identity(pool, (ExprOp)e->op, f->types[c]);
        to->values[c]     = combine(pool, f, e, (ExprOp)e->op, place, combined_rest(f, e));
    }
}

/* f's own update: over the one reduction variable, at every point. */
static void make_merge(Planner *pl, Steps *s, int r, const Func *g)
{
    ExprPool    *pool = &pl->plan->exprs;
    const Func  *f    = s->f;
    Update       u    = *s->u;
    const Expr **args = ARENA_ARRAY(pl->arena, const Expr *, (size_t)g->rank);
    u.is_free         = ARENA_ARRAY(pl->arena, bool, (size_t)f->rank);
    u.args            = args;
    u.values          = ARENA_ARRAY(pl->arena, const Expr *, (size_t)f->component_count);
    u.rvars           = &s->u->rvars[r];
    u.rvar_count      = 1;
    u.where           = NULL;
    for (int k = 0; k < f->rank; k++) {
        u.is_free[k] = true;
        args[k]      = expr_var(pool, KN_I32, f->args[k]);
    }
    args[f->rank] = expr_var(pool, KN_I32, u.rvars[0].name);
    for (int c = 0; c < f->component_count; c++) {
        const Expr  *e = s->u->values[c];
        const ExprOp op =
            e->op == EX_SUB ? EX_ADD : (ExprOp)e->op; /* the parts are sums of what is taken away, negated */
        u.values[c] = combine(pool, f, e, op, expr_call(pool, f, c, f->types[c], f->rank, args),
                              expr_call(pool, g, c, f->types[c], g->rank, args));
    }
    *s->u = u;
}

static bool can_factor(Planner *pl, const Steps *s, const Directive *d, int r)
{
    const DefFacts facts = def_facts(&pl->plan->exprs, s->f, d->update);
    if (facts.inexact)
        return refuse(pl, ERROR_FLOAT_ORDER, d->loc,
                      "leave it out: the loops over the function's arguments can still run at once",
                      "`rfactor` would add floats in another order, which is another result");
    if (!facts.combines)
        return refuse(pl, ERROR_NOT_ASSOCIATIVE, d->loc, "leave it out",
                      "`rfactor` needs an update f(…) = f(…) op e that reads itself nowhere else, with an operation "
                      "that is exact in any order");
    if (facts.bounds[r])
        return refuse(pl, ERROR_DEPENDENT_BOUNDS, d->args[0].loc, "rfactor an outer reduction variable",
                      "the bounds of `%s` depend on other variables of the update", d->args[0].name);
    return true;
}

bool apply_rfactor(Planner *pl, FuncDraft *f, DefDraft *def, const Directive *d)
{
    (void)def;
    Steps s     = { .f = f->func, .u = &f->func->updates[d->update] };
    RVar *rvars = ARENA_ARRAY(pl->arena, RVar, LEGAL_RVARS + 1);
    memcpy(rvars, s.u->rvars, (size_t)s.u->rvar_count * sizeof *rvars);
    s.u->rvars = rvars;
    s.names    = ARENA_ARRAY(pl->arena, const char *, LEGAL_RVARS + 1);
    s.prefix   = arena_printf(pl->arena, "%s.u%d.", f->func->name, d->update);
    for (int i = 0; i < s.u->rvar_count; i++)
        s.names[i] = f->origin->updates[d->update].rvars[i].name;
    for (const Directive *b = pl->schedule->directives.at; b < d; b++)
        if (b->func == d->func && b->update == d->update && !map_get(&pl->used, b)) {
            if (!split_steps(pl, &s, b))
                return false;
            use_up(pl, b);
        }
    use_up(pl, d);
    const int r = step_number(&s, d->args[0].name);
    if (r < 0 || !can_factor(pl, &s, d, r))
        return r < 0 ? refuse(pl, ERROR_NO_LOOP, d->args[0].loc, NULL, "`%s` is no reduction variable of %s",
                              d->args[0].name, f->func->name)
                     : false;
    FuncDraft *made = add_draft(pl, d->made);
    made->is_made   = true;
    move_last_draft(pl, draft_place(pl, f));
    make_partial(pl, &s, r, d, made->func);
    make_merge(pl, &s, r, made->func);
    rename_origin(pl, f, d->update, d->args[0].name);
    return true;
}
