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
#include "plan/planner.h"

enum { MOST_FACTORS = 32 };

/* One try, with the argument `dim` as y. */
typedef struct Separation {
    Planner      *pl;
    const Func   *f;
    const Update *u;
    int           rvar; /* j */
    const char   *y, *j;
    const Expr   *t;  /* the variable of the new function */
    Direction     by; /* of the sums that y and j are in */
    bool          failed;
    Map           done;
    Arena         scratch;
} Separation;

/* ---- j and y as t ----------------------------------------------------------------------- */

/* Is e the variable y or j? */
static bool is_moving(const Separation *s, const Expr *e)
{
    return e->op == EX_VAR && (e->u.name == s->y || e->u.name == s->j);
}

static const Expr *replace(Separation *s, const Expr *e);

/* A sum whose parts are done, and n*y + m*j with them. */
static const Expr *replace_sum(Separation *s, const Expr *e, Linear *form)
{
    int64_t      n = 0, m = 0;
    int          count        = 0;
    bool         same         = true;
    const Expr **atoms        = ARENA_ARRAY(&s->scratch, const Expr *, (size_t)form->count + 1);
    int64_t     *coefficients = ARENA_ARRAY(&s->scratch, int64_t, (size_t)form->count + 1);
    for (int i = 0; i < form->count; i++) {
        const Expr *atom = form->atoms[i];
        if (is_moving(s, atom)) {
            *(atom->u.name == s->y ? &n : &m) = form->coefficients[i];
            continue;
        }
        atoms[count]          = replace(s, atom);
        coefficients[count++] = form->coefficients[i];
        same &= atoms[count - 1] == atom;
    }
    if (n || m) {
        const int64_t k = direction_multiple(&s->by, n, m);
        s->failed |= k == 0;
        atoms[count]          = s->t;
        coefficients[count++] = k;
    } else if (same) {
        return e;
    }
    form->atoms        = atoms;
    form->coefficients = coefficients;
    form->count        = count;
    return linear_sum(&s->pl->plan->exprs, form);
}

/* The form of an i32 sum, or of y or j alone; false if it is none. */
static bool sum_form(Separation *s, const Expr *e, Linear *form)
{
    const bool may = is_moving(s, e) ||
                     (e->type == KN_I32 && (e->op == EX_ADD || e->op == EX_SUB || e->op == EX_NEG || e->op == EX_MUL));
    return may && expr_linear(&s->scratch, e, form) && (is_moving(s, e) || form->count != 1 || form->atoms[0] != e);
}

/* `e` with a*y + c*j replaced by t; s->failed if y or j is left. */
static const Expr *replace(Separation *s, const Expr *e)
{
    const Expr *result = map_get(&s->done, e);
    if (result || s->failed)
        return result ? result : e;
    context_spend(s->pl->cx, 1);
    Linear form;
    if (sum_form(s, e, &form)) {
        result = replace_sum(s, e, &form);
    } else {
        const Expr **args = ARENA_ARRAY(&s->scratch, const Expr *, e->count);
        bool         same = true;
        for (uint32_t i = 0; i < e->count; i++) {
            args[i] = replace(s, e->args[i]);
            same &= args[i] == e->args[i];
        }
        result = same ? e : expr_rebuild(&s->pl->plan->exprs, e, args);
    }
    if (!s->failed)
        map_set(&s->done, e, result);
    return result;
}

/* ---- Factors ---------------------------------------------------------------------------- */

typedef struct Factors {
    VEC(const Expr *) at;
} Factors;

/* The factors of e in the type's low bits; one that is no product is its own. */
static void add_factors(Separation *s, const Expr *e, int bits, Factors *out)
{
    const bool room = out->at.count < MOST_FACTORS;
    if (room && e->op == EX_MUL) {
        add_factors(s, e->args[0], bits, out);
        add_factors(s, e->args[1], bits, out);
    } else if (room && e->op == EX_NEG) {
        vec_push(&s->scratch, &out->at, expr_int(&s->pl->plan->exprs, (kn_type)e->type, -1));
        add_factors(s, e->args[0], bits, out);
    } else if (e->op == EX_CAST && type_is_int((kn_type)e->args[0]->type) &&
               type_bits((kn_type)e->args[0]->type) >= bits) {
        add_factors(s, e->args[0], bits, out);
    } else {
        vec_push(&s->scratch, &out->at, e);
    }
}

/* a * e in the type; `a` NULL: e */
static const Expr *times(ExprPool *pool, kn_type type, const Expr *a, const Expr *e)
{
    const Expr *b = e->type == type ? e : expr_unary(pool, EX_CAST, type, e);
    return a ? expr_binary(pool, EX_MUL, type, a, b) : b;
}

/* Is a factor over a reduction variable that goes? */
static bool must_go(const Separation *s, const Expr *factor)
{
    const uint32_t vars = update_variables(s->pl, s->f, s->u, factor);
    for (int i = 0; i < s->u->rvar_count; i++)
        if (i != s->rvar && (vars & 1u << (FIRST_RVAR + i)))
            return true;
    return false;
}

/* Is a factor that need not go better left with f: is it over j and y in another way than by t, or not at all? */
static bool stays(Separation *s, const Expr *factor)
{
    const Direction by    = s->by;
    const Expr     *moved = replace(s, factor);
    if (!s->failed)
        return moved == factor;
    s->failed = false;
    s->by     = by;
    map_init(&s->done, &s->scratch);
    return true;
}

/* e = *staying * *moved; staying NULL where it is 1. Not so if s->failed. */
static void split_product(Separation *s, const Expr *e, const Expr **staying, const Expr **moved)
{
    ExprPool     *pool = &s->pl->plan->exprs;
    const kn_type type = (kn_type)e->type;
    Factors       all  = { { 0 } };
    *staying = *moved = NULL;
    add_factors(s, e, type_bits(type), &all);
    for (int goes = 1; goes >= 0; goes--) /* what must go says what t is */
        for (size_t i = 0; i < all.at.count && !s->failed; i++) {
            const Expr *factor = all.at.at[i];
            if (must_go(s, factor) != goes)
                continue;
            if (!goes && stays(s, factor))
                *staying = times(pool, type, *staying, factor);
            else
                *moved = times(pool, type, *moved, replace(s, factor));
        }
    if (!*moved)
        *moved = expr_int(pool, type, 1);
}

/* ---- The two functions ------------------------------------------------------------------ */

/* What each component is made of, and the condition of the steps. */
typedef struct Parts {
    const Expr **staying, **moved, *where;
} Parts;

/* All of the update with the argument `dim` as y. */
static bool try_argument(Planner *pl, Separation *s, int dim, const Func *g, Parts *out)
{
    s->y      = s->f->args[dim];
    s->t      = expr_var(&pl->plan->exprs, KN_I32, g->args[dim]);
    s->failed = false;
    s->by     = (Direction){ .a = 1 };
    scratch_begin(&s->scratch, pl->cx);
    map_init(&s->done, &s->scratch);
    for (int c = 0; c < s->f->component_count && !s->failed; c++) {
        const Expr  *e  = gathered(s->f, s->u->values[c]);
        const ExprOp op = (ExprOp)s->u->values[c]->op;
        if (op == EX_ADD || op == EX_SUB) {
            split_product(s, e, &out->staying[c], &out->moved[c]);
        } else {
            out->staying[c] = NULL;
            out->moved[c]   = replace(s, e);
        }
    }
    out->where = s->u->where ? replace(s, s->u->where) : NULL;
    scratch_end(&s->scratch);
    return !s->failed;
}

/* The new function: over the reduction variables but j. */
static void make_sums(Separation *s, Func *g, const Parts *p)
{
    Planner      *pl    = s->pl;
    ExprPool     *pool  = &pl->plan->exprs;
    const Func   *f     = s->f;
    Update       *to    = &g->updates[0];
    const Update *names = &draft_of(pl, g)->origin->updates[0]; /* as schedules know them */
    const int     most  = f->rank + s->u->rvar_count;
    const char  **from  = ARENA_ARRAY(pl->arena, const char *, (size_t)most);
    const Expr  **with  = ARENA_ARRAY(pl->arena, const Expr *, (size_t)most);
    int           count = 0;
    *to                 = (Update){ .loc = names->loc, .is_free = names->is_free, .where = p->where };
    to->rvars           = ARENA_ARRAY(pl->arena, RVar, (size_t)s->u->rvar_count);
    to->args            = ARENA_ARRAY(pl->arena, const Expr *, (size_t)g->rank);
    to->values          = ARENA_ARRAY(pl->arena, const Expr *, (size_t)g->component_count);
    g->values           = ARENA_ARRAY(pl->arena, const Expr *, (size_t)g->component_count);
    for (int k = 0; k < f->rank; k++) {
        from[count]   = f->args[k];
        with[count++] = to->args[k] = expr_var(pool, KN_I32, g->args[k]);
    }
    for (int i = 0; i < s->u->rvar_count; i++) {
        if (i == s->rvar)
            continue;
        RVar *r     = &to->rvars[to->rvar_count];
        *r          = s->u->rvars[i];
        r->name     = fresh_name(pl, arena_printf(pl->arena, "%s.u0.%s", g->name, names->rvars[to->rvar_count++].name));
        from[count] = s->u->rvars[i].name;
        with[count++] = expr_var(pool, KN_I32, r->name);
    }
    for (int c = 0; c < g->component_count; c++) {
        const ExprOp op    = s->u->values[c]->op == EX_SUB ? EX_ADD : (ExprOp)s->u->values[c]->op;
        const Expr  *place = expr_call(pool, g, c, g->types[c], g->rank, to->args);
        g->values[c]       = identity(pool, op, g->types[c]);
        to->values[c]      = expr_binary(pool, op, g->types[c], place, p->moved[c]);
    }
    substitute_update(pool, g, to, count, from, with);
}

/* f's own update: over j. */
static void make_rest(Separation *s, int dim, const Func *g, const Parts *p, Update *to)
{
    ExprPool    *pool           = &s->pl->plan->exprs;
    const Func  *f              = s->f;
    const Expr **args           = ARENA_ARRAY(s->pl->arena, const Expr *, (size_t)f->rank),
               **values         = ARENA_ARRAY(s->pl->arena, const Expr *, (size_t)f->component_count);
    const Expr  *yj[]           = { to->args[dim], expr_var(pool, KN_I32, s->j) };
    int64_t      coefficients[] = { s->by.a, s->by.c };
    const Linear at             = { 0, s->by.c ? 2 : 1, yj, coefficients };
    memcpy(args, to->args, (size_t)f->rank * sizeof *args);
    args[dim] = linear_sum(pool, &at);
    for (int c = 0; c < f->component_count; c++) {
        const Expr *e    = to->values[c];
        const Expr *sums = expr_call(pool, g, c, f->types[c], g->rank, args);
        values[c]        = regather(pool, f, e, (ExprOp)e->op, expr_call(pool, f, c, f->types[c], f->rank, to->args),
                             p->staying[c] ? times(pool, f->types[c], p->staying[c], sums) : sums);
    }
    to->values     = values;
    to->rvars      = &to->rvars[s->rvar];
    to->rvar_count = 1;
    to->where      = NULL;
}

/* ---- All -------------------------------------------------------------------------------- */

static bool can_separate(Planner *pl, const Directive *d, const Func *f, const Update *u)
{
    const SelfReads self = self_reads(pl, f, u);
    bool            all  = true;
    if (self.inexact)
        return refuse(pl, d->loc, "leave it out, or let it add integers",
                      "`separate` would add floats in another order, which is another result");
    for (int k = 0; k < f->rank; k++)
        all &= u->is_free[k];
    if (!self.combines || !all)
        return refuse(pl, d->loc, "leave it out",
                      "`separate` needs an update f(x, …) = f(x, …) op e at every point that reads itself nowhere "
                      "else, with an operation that is exact in any order");
    if (u->rvar_count < 2)
        return refuse(pl, d->loc, "leave it out; `stage` keeps what is read",
                      "`%s` is the only reduction variable: nothing is left to be summed before", d->args[0].name);
    for (int i = 0; i < u->rvar_count; i++)
        if (update_variables(pl, f, u, u->rvars[i].lo) | update_variables(pl, f, u, u->rvars[i].hi))
            return refuse(pl, d->loc, "let the bounds be constants or sizes, with `where` for the rest",
                          "the bounds of a reduction variable of `%s` depend on other variables of the update",
                          f->name);
    return true;
}

bool apply_separate(Planner *pl, const Directive *d)
{
    FuncDraft  *f     = draft_of(pl, d->func);
    Update     *u     = &f->func->updates[d->update];
    Separation  s     = { .pl = pl, .f = f->func, .u = u };
    const RVar *known = f->origin->updates[d->update].rvars;
    use_up(pl, d);
    if (!can_separate(pl, d, f->func, u))
        return false;
    while (known[s.rvar].name != d->args[0].name)
        s.rvar++;
    s.j               = u->rvars[s.rvar].name;
    FuncDraft   *sums = add_draft(pl, d->sums);
    const size_t size = (size_t)f->func->component_count;
    Parts        p   = { ARENA_ARRAY(pl->arena, const Expr *, size), ARENA_ARRAY(pl->arena, const Expr *, size), NULL };
    int          dim = 0;
    while (dim < f->func->rank && !try_argument(pl, &s, dim, sums->func, &p))
        dim++;
    if (dim == f->func->rank)
        return refuse(pl, d->args[0].loc, "separate another reduction variable, or leave it out",
                      "`%s` cannot be separated: what is gathered has to be b * h, b over no other reduction variable "
                      "(1 where it is not a sum), and h over `%s` only in "
                      "a*y + c*%s, with one argument y of `%s` that h is over in no other way",
                      d->args[0].name, d->args[0].name, d->args[0].name, f->func->name);
    put_before(pl, f);
    FuncDraft *made = add_draft(pl, d->made);
    made->kept      = true;
    put_before(pl, f);
    make_sums(&s, sums->func, &p);
    make_rest(&s, dim, made->func, &p, u);
    rename_origin(pl, f, d->update, d->args[0].name);
    return true;
}
