/* SPDX-License-Identifier: MIT */
/* Windows that separate: the decision. plan/separate.c writes the functions. */
#include "legal/window.h"

enum { MOST_FACTORS = 32 };

Window window_of(ExprPool *pool, Arena *arena, const Func *f, int update, int rvar, int dim)
{
    Window w = { .pool   = pool,
                 .arena  = arena,
                 .f      = f,
                 .update = update,
                 .rvar   = rvar,
                 .y      = f->args[dim],
                 .j      = f->updates[update].rvars[rvar].name,
                 .by.a   = 1 };
    map_init(&w.known, arena);
    return w;
}

bool window_moves(const Window *w, const Expr *e)
{
    return e->op == EX_VAR && (e->u.name == w->y || e->u.name == w->j);
}

bool window_sum(const Window *w, const Expr *e, Linear *form)
{
    const bool may = window_moves(w, e) ||
                     (e->type == KN_I32 && (e->op == EX_ADD || e->op == EX_SUB || e->op == EX_NEG || e->op == EX_MUL));
    return may && expr_linear(w->arena, e, form) && (window_moves(w, e) || form->count != 1 || form->atoms[0] != e);
}

static bool fits(Window *w, const Expr *e);

/* Of n*y + m*j + …: is that in the direction, and are the other parts? */
static bool sum_fits(Window *w, const Linear *form)
{
    int64_t n = 0, m = 0;
    for (int k = 0; k < form->count; k++) {
        const Expr *atom = form->atoms[k];
        if (window_moves(w, atom))
            *(atom->u.name == w->y ? &n : &m) = form->coefficients[k];
        else if (!fits(w, atom))
            return false;
    }
    return (!n && !m) || direction_multiple(&w->by, n, m);
}

static bool fits(Window *w, const Expr *e)
{
    Linear form;
    bool   ok = true;
    if (map_get(&w->known, e))
        return true;
    context_spend(w->pool->cx, 1);
    if (window_sum(w, e, &form))
        ok = sum_fits(w, &form);
    else
        for (uint32_t k = 0; k < e->count && ok; k++)
            ok = fits(w, e->args[k]);
    if (ok)
        map_set(&w->known, e, e);
    return ok;
}

bool window_fits(Window *w, const Expr *e)
{
    const Direction by = w->by;
    if (fits(w, e))
        return true;
    w->by = by;
    map_init(&w->known, w->arena);
    return false;
}

bool window_gathers(const Window *w, const Expr *factor)
{
    const uint32_t others = ~(uint32_t)FREE_VARIABLES & ~(1u << (FIRST_RVAR + w->rvar));
    return def_variables(w->pool, w->f, w->update, factor) & others;
}

/* ---- Factors ---------------------------------------------------------------------------- */

const Expr *combined_rest(const Func *f, const Expr *e)
{
    return e->args[e->args[0]->op == EX_CALL && e->args[0]->u.call.func == f];
}

typedef struct FactorWalk {
    ExprPool *pool;
    int       bits, count;
    void (*visit)(const Expr *factor, void *user);
    void *user;
} FactorWalk;

static void walk_factors(FactorWalk *w, const Expr *e)
{
    const bool room = w->count < MOST_FACTORS;
    if (room && e->op == EX_MUL) {
        walk_factors(w, e->args[0]);
        walk_factors(w, e->args[1]);
    } else if (room && e->op == EX_NEG) {
        w->count++;
        w->visit(expr_int(w->pool, (kn_type)e->type, -1), w->user);
        walk_factors(w, e->args[0]);
    } else if (e->op == EX_CAST && type_is_int((kn_type)e->args[0]->type) &&
               type_bits((kn_type)e->args[0]->type) >= w->bits) {
        walk_factors(w, e->args[0]);
    } else {
        w->count++;
        w->visit(e, w->user);
    }
}

void visit_factors(ExprPool *pool, const Expr *e, int bits, void (*visit)(const Expr *factor, void *user), void *user)
{
    FactorWalk w = { pool, bits, 0, visit, user };
    walk_factors(&w, e);
}

typedef struct Separates {
    Window *w;
    bool    ok;
} Separates;

static void check_factor(const Expr *factor, void *user)
{
    Separates *s = user;
    s->ok        = s->ok && (!window_gathers(s->w, factor) || fits(s->w, factor));
}

bool window_separates(Window *w)
{
    const Update *u = &w->f->updates[w->update];
    Separates     s = { w, true };
    for (int c = 0; c < w->f->component_count && s.ok; c++) {
        const Expr *rest = combined_rest(w->f, u->values[c]);
        if (u->values[c]->op == EX_ADD || u->values[c]->op == EX_SUB)
            visit_factors(w->pool, rest, type_bits((kn_type)rest->type), check_factor, &s);
        else
            s.ok = fits(w, rest);
    }
    return s.ok && (!u->where || fits(w, u->where));
}

bool window_doubles(Window *w)
{
    const Update *u  = &w->f->updates[w->update];
    bool          ok = !u->where || fits(w, u->where);
    for (int c = 0; c < w->f->component_count && ok; c++)
        ok = fits(w, combined_rest(w->f, u->values[c]));
    return ok && w->by.known && w->by.c;
}
