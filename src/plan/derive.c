/* SPDX-License-Identifier: MIT */
/* Functions that directives make: stage, clone and rfactor; separate.c and checkpoint.c have the others.
 *
 *   f.stage(c, …)                  f.stage(x, …) = f(x, …); the consumers read it in the place of f. Where f.stage is
 *   itself named as a consumer, of
 *                                  what f reads, it is written out.
 *   f.clone(c, …)                  f.clone has the definitions of f, with variables of its own; the consumers read it.
 *   f.update(k).rfactor(r, v)      with update k:  f(args) = f(args) op e  for q…, r in lo..hi  where c, op exact in
 *   any order:
 *                                  f.rfactor(x, …, v)  = identity of op
 *                                  f.rfactor(args, v)  = f.rfactor(args, v) op e[r := v]  for q…  where c[r := v]
 *                                  f(x, …)             = f(x, …) op f.rfactor(x, …, r)  for r in lo..hi
 *
 * Holds   drafts stay in order: a stage comes just after its function, partial results just before theirs. Splits of
 *         reduction variables that come before rfactor are made in the update itself: r = lo + ro*factor + ri, where
 *         that is below hi; it is written as the smaller of that and hi - 1, so that nothing more is read. */
#include "legal/window.h"
#include "plan/planner.h"

/* ---- stage ------------------------------------------------------------------------------ */

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

/* Lets f, or one update of it, read `to` in the place of `from`. */
static bool redirect_reader(Redirect *r, Func *f, int update)
{
    if (update < 0)
        rewrite_pure(r->pool, f, redirect_call, r);
    for (int k = 0; k < f->update_count; k++)
        if (update < 0 || k == update)
            rewrite_update(r->pool, f, &f->updates[k], redirect_call, r);
    for (int i = 0; update < 0 && i < f->stage_arg_count; i++) {
        if (f->stage_args[i].func != r->from)
            continue;
        f->stage_args[i].func = r->to;
        r->any                = true;
    }
    return r->any;
}

/* f(x, …) = g(x, …), as stage makes it: f becomes what g is, so that it reads what g reads. False where it is not one,
 * or g has updates. */
static bool write_out(ExprPool *pool, Func *f)
{
    const Func *g = f->component_count && f->values[0]->op == EX_CALL ? f->values[0]->u.call.func : NULL;
    if (!g || g->kind != FUNC_DEFINED || g->update_count || f->update_count || g->component_count != f->component_count)
        return false;
    for (int i = 0; i < f->component_count; i++)
        if (f->values[i]->op != EX_CALL || f->values[i]->u.call.func != g)
            return false;
    for (int i = 0; i < f->component_count; i++)
        f->values[i] =
            expr_substitute(pool, g->values[f->values[i]->u.call.index], g->rank, g->args, f->values[i]->args);
    return true;
}

/* Lets the reader, or what a copy of it stands for, read `to` in the place of `from`. */
static bool redirect_copy(Redirect *r, Func *f, int update)
{
    return redirect_reader(r, f, update) || (write_out(r->pool, f) && redirect_reader(r, f, update));
}

/* The draft of what the directive makes, just after its function. */
static FuncDraft *add_after(Planner *pl, const FuncDraft *from, const Directive *d)
{
    FuncDraft *made = add_draft(pl, d->made);
    made->is_made   = true;
    move_last_draft(pl, draft_place(pl, from) + 1);
    use_up(pl, d);
    return made;
}

/* Lets the readers that the directive names read what it makes. */
static bool redirect_named(Planner *pl, const FuncDraft *from, const FuncDraft *made, const Directive *d)
{
    for (int i = 0; i < d->arg_count; i++) {
        FuncDraft *reader = draft_of(pl, d->args[i].func);
        Redirect   r      = { &pl->plan->exprs, from->func, made->func, false };
        if (reader == from || reader == made || !redirect_copy(&r, reader->func, d->args[i].update))
            return refuse(pl, ERROR_NOT_READ, d->args[i].loc,
                          "name functions that read it; what they are inlined into reads it too",
                          "`%s` does not read `%s`", reader->func->name, from->func->name);
    }
    return true;
}

bool apply_stage(Planner *pl, FuncDraft *from, DefDraft *def, const Directive *d)
{
    (void)def;
    return redirect_named(pl, from, add_after(pl, from, d), d);
}

/* ---- clone ------------------------------------------------------------------------------ */

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
    FuncDraft *made = add_after(pl, from, d);
    Func      *g    = made->func;
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
