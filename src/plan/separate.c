/* SPDX-License-Identifier: MIT */
/* Sums that are a sum of sums: separate.
 *
 *   f.update(k).separate(j)        with update k:  f(x, y) = f(x, y) + b(x, y, j) * h(x, a*y + c*j, i)  for i…, j
 *                                  f.separate.sum(x, t) = 0
 *                                  f.separate.sum(x, t) = f.separate.sum(x, t) + h(x, t, i)  for i…
 *                                  f.separate(x, t)     = f.separate.sum(x, t)
 *                                  f(x, y)              = f(x, y) + b(x, y, j) * f.separate(x, a*y + c*j)  for j
 *
 * A window whose weights are a product is summed along one side and then along the other: m + n steps, not m * n. Other
 * operations that are exact in any order are regrouped in the same way, without factors b.
 *
 * Takes   an update at every point, f(x, …) = f(x, …) op e, over a domain that is a box: no bound of a reduction
 *         variable is over another variable.
 * Gives   the functions above. f.separate is there, like f of f(x) = sum(…), so that what is stored can be computed in
 *         vectors at once, from sums in registers. A factor of e goes to the new function if it is over another
 *         reduction variable, or over j and y by t alone; else it stays.
 * Holds   integers wrap, so mod 2^n every product distributes over the sum. Conversions to a type that is not wider are
 *         factors' own: u16(a * b) = u16(a) * u16(b). In the new function j and y are replaced by t: each maximal i32
 *         sum n*y + m*j + … of it has (n, m) = k * (a, c) with the same a, c, and becomes k*t + … What is read is the
 *         same, because boxes of a*y + c*j are. */
#include "plan/windows.h"

/* ---- Factors ---------------------------------------------------------------------------- */

/* a * e in the type; `a` NULL: e */
static const Expr *times(ExprPool *pool, kn_type type, const Expr *a, const Expr *e)
{
    const Expr *b = e->type == type ? e : expr_unary(pool, EX_CAST, type, e);
    return a ? expr_binary(pool, EX_MUL, type, a, b) : b;
}

/* e = *staying * *moved; staying NULL where it is 1. */
typedef struct Product {
    WindowRewrite *s;
    kn_type        type;
    bool           gathered; /* which factors this visit is about */
    const Expr   **staying, **moved;
} Product;

/* A factor that need not be gathered first stays with f if it is over j and y in another way than by t, or not at
 * all. */
static void place_factor(const Expr *factor, void *user)
{
    const Product *p    = user;
    ExprPool      *pool = &p->s->pl->plan->exprs;
    if (window_gathers(&p->s->w, factor) != p->gathered)
        return;
    const Expr  *now = window_fits(&p->s->w, factor) ? window_replace(p->s, factor) : factor;
    const Expr **to  = now == factor && !p->gathered ? p->staying : p->moved;
    *to              = times(pool, p->type, *to, now);
}

static void split_product(WindowRewrite *s, const Expr *e, const Expr **staying, const Expr **moved)
{
    ExprPool *pool = &s->pl->plan->exprs;
    *staying = *moved = NULL;
    for (int gathered = 1; gathered >= 0; gathered--) {
        Product p = { s, (kn_type)e->type, gathered, staying, moved };
        visit_factors(pool, e, type_bits(p.type), place_factor, &p);
    }
    if (!*moved)
        *moved = expr_int(pool, (kn_type)e->type, 1);
}

/* ---- The two functions ------------------------------------------------------------------ */

/* What each component is made of, and the condition of the steps. */
typedef struct Parts {
    const Expr **staying, **moved, *where;
} Parts;

/* All of the update with the argument `dim` as y; false where that cannot be. */
static bool try_argument(WindowRewrite *s, const Func *f, int update, int rvar, int dim, const Func *g, Parts *out)
{
    const Update *u = &f->updates[update];
    window_begin(s, f, update, rvar, dim, g);
    const bool fits = window_separates(&s->w);
    for (int c = 0; c < f->component_count && fits; c++) {
        const Expr  *e  = combined_rest(f, u->values[c]);
        const ExprOp op = (ExprOp)u->values[c]->op;
        if (op == EX_ADD || op == EX_SUB) {
            split_product(s, e, &out->staying[c], &out->moved[c]);
        } else {
            out->staying[c] = NULL;
            out->moved[c]   = window_replace(s, e);
        }
    }
    out->where = fits && u->where ? window_replace(s, u->where) : NULL;
    scratch_end(&s->scratch);
    return fits;
}

/* The new function: over the reduction variables but j. */
static void make_sums(WindowRewrite *s, Func *g, const Parts *p)
{
    Planner      *pl    = s->pl;
    ExprPool     *pool  = &pl->plan->exprs;
    const Func   *f     = s->w.f;
    const Update *u     = &f->updates[s->w.update];
    Update       *to    = &g->updates[0];
    const Update *names = &draft_of(pl, g)->origin->updates[0]; /* as schedules know them */
    const int     most  = f->rank + u->rvar_count;
    const char  **from  = ARENA_ARRAY(pl->arena, const char *, (size_t)most);
    const Expr  **with  = ARENA_ARRAY(pl->arena, const Expr *, (size_t)most);
    int           count = 0;
    *to                 = (Update){ .loc = names->loc, .is_free = names->is_free, .where = p->where };
    to->rvars           = ARENA_ARRAY(pl->arena, RVar, (size_t)u->rvar_count);
    to->args            = ARENA_ARRAY(pl->arena, const Expr *, (size_t)g->rank);
    to->values          = ARENA_ARRAY(pl->arena, const Expr *, (size_t)g->component_count);
    g->values           = ARENA_ARRAY(pl->arena, const Expr *, (size_t)g->component_count);
    for (int k = 0; k < f->rank; k++) {
        from[count]   = f->args[k];
        with[count++] = to->args[k] = expr_var(pool, KN_I32, g->args[k]);
    }
    for (int i = 0; i < u->rvar_count; i++) {
        if (i == s->w.rvar)
            continue;
        RVar *r     = &to->rvars[to->rvar_count];
        *r          = u->rvars[i];
        r->name     = fresh_name(pl, arena_printf(pl->arena, "%s.u0.%s", g->name, names->rvars[to->rvar_count++].name));
        from[count] = u->rvars[i].name;
        with[count++] = expr_var(pool, KN_I32, r->name);
    }
    for (int c = 0; c < g->component_count; c++) {
        const ExprOp op    = u->values[c]->op == EX_SUB ? EX_ADD : (ExprOp)u->values[c]->op;
        const Expr  *place = expr_call(pool, g, c, g->types[c], g->rank, to->args);
        g->values[c]       = identity(pool, op, g->types[c]);
        to->values[c]      = expr_binary(pool, op, g->types[c], place, p->moved[c]);
    }
    substitute_update(pool, g, to, count, from, with);
}

/* f's own update: over j. */
static void make_rest(WindowRewrite *s, int dim, const Func *g, const Parts *p, Update *to)
{
    ExprPool    *pool           = &s->pl->plan->exprs;
    const Func  *f              = s->w.f;
    const Expr **args           = ARENA_ARRAY(s->pl->arena, const Expr *, (size_t)f->rank),
               **values         = ARENA_ARRAY(s->pl->arena, const Expr *, (size_t)f->component_count);
    const Expr  *yj[]           = { to->args[dim], expr_var(pool, KN_I32, s->w.j) };
    int64_t      coefficients[] = { s->w.by.a, s->w.by.c };
    const Linear at             = { 0, s->w.by.c ? 2 : 1, yj, coefficients };
    memcpy(args, to->args, (size_t)f->rank * sizeof *args);
    args[dim] = linear_sum(pool, &at);
    for (int c = 0; c < f->component_count; c++) {
        const Expr *e    = to->values[c];
        const Expr *sums = expr_call(pool, g, c, f->types[c], g->rank, args);
        values[c]        = combine(pool, f, e, (ExprOp)e->op, expr_call(pool, f, c, f->types[c], f->rank, to->args),
                            p->staying[c] ? times(pool, f->types[c], p->staying[c], sums) : sums);
    }
    to->values     = values;
    to->rvars      = &to->rvars[s->w.rvar];
    to->rvar_count = 1;
    to->where      = NULL;
}

/* ---- All -------------------------------------------------------------------------------- */

static bool can_separate(Planner *pl, const Directive *d, const Func *f, const DefFacts *facts)
{
    if (facts->inexact)
        return refuse(pl, ERROR_FLOAT_ORDER, d->loc, "leave it out, or let it add integers",
                      "`separate` would add floats in another order, which is another result");
    if (!facts->combines || facts->free != (1u << f->rank) - 1)
        return refuse(pl, ERROR_NOT_ASSOCIATIVE, d->loc, "leave it out",
                      "`separate` needs an update f(x, …) = f(x, …) op e at every point that reads itself nowhere "
                      "else, with an operation that is exact in any order");
    if (f->updates[d->update].rvar_count < 2)
        return refuse(pl, ERROR_NOT_SEPARABLE, d->loc, "leave it out; `stage` keeps what is read",
                      "`%s` is the only reduction variable: nothing is left to be summed before", d->args[0].name);
    if (facts->bounding)
        return refuse(pl, ERROR_DEPENDENT_BOUNDS, d->loc,
                      "let the bounds be constants or sizes, with `where` for the rest",
                      "the bounds of a reduction variable of `%s` depend on other variables of the update", f->name);
    return true;
}

bool apply_separate(Planner *pl, FuncDraft *f, DefDraft *def, const Directive *d)
{
    (void)def;
    Update        *u     = &f->func->updates[d->update];
    WindowRewrite  s     = { .pl = pl };
    const RVar    *known = f->origin->updates[d->update].rvars;
    const DefFacts facts = def_facts(&pl->plan->exprs, f->func, d->update);
    use_up(pl, d);
    if (!can_separate(pl, d, f->func, &facts))
        return false;
    int rvar = 0, dim = 0;
    while (known[rvar].name != d->args[0].name)
        rvar++;
    FuncDraft   *sums = add_draft(pl, d->also);
    const size_t size = (size_t)f->func->component_count;
    Parts        p = { ARENA_ARRAY(pl->arena, const Expr *, size), ARENA_ARRAY(pl->arena, const Expr *, size), NULL };
    while (dim < f->func->rank && !try_argument(&s, f->func, d->update, rvar, dim, sums->func, &p))
        dim++;
    if (dim == f->func->rank)
        return refuse(pl, ERROR_NOT_SEPARABLE, d->args[0].loc, "separate another reduction variable, or leave it out",
                      "`%s` cannot be separated: what is gathered has to be b * h, b over no other reduction variable "
                      "(1 where it is not a sum), and h over `%s` only in "
                      "a*y + c*%s, with one argument y of `%s` that h is over in no other way",
                      d->args[0].name, d->args[0].name, d->args[0].name, f->func->name);
    move_last_draft(pl, draft_place(pl, f));
    FuncDraft *made = add_draft(pl, d->made);
    made->is_made   = true;
    move_last_draft(pl, draft_place(pl, f));
    make_sums(&s, sums->func, &p);
    make_rest(&s, dim, made->func, &p, u);
    rename_origin(pl, f, d->update, d->args[0].name);
    return true;
}
