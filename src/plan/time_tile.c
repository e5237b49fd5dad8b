/* SPDX-License-Identifier: MIT */
/* time_tile: may the steps of an update be cut into diamonds?
 *
 * Takes   an update f(…, y, …, t) = … f(…, y+k, …, t-m) … for t in lo..hi, with the loop over t directly outside that
 *         over y.
 * Gives   how far it reads, for each number m of steps back: the distance vectors (m, k) of its dependences.
 * Holds   every read of f is an earlier step at a bounded distance along y, or the directive is refused. A coordinate
 *         clamped to a range is no further away than the one before clamping, as long as y itself is in the range.
 * From    Bondhugula et al. 2017: diamond tiling; lower/loops/time_tiles.c makes the loops. */
#include "plan/planner.h"

enum { MOST_TIME_READS = 64, MOST_REACH = 16, MOST_TIME_SIZE = 4096 };

bool apply_time_tile(Planner *pl, FuncDraft *f, DefDraft *d, const Directive *dir)
{
    (void)f;
    if (dir->args[2].value < 4 || dir->args[2].value > MOST_TIME_SIZE)
        return refuse(pl, ERROR_FACTOR, dir->args[2].loc, NULL, "the size of a diamond is from 4 to %d",
                      MOST_TIME_SIZE);
    d->time_tile = dir;
    return true;
}

/* ---- Distances ---- */

typedef struct Distances {
    Planner      *pl;
    const Func   *func;
    const Update *update;
    const Expr   *time, *along; /* the variables */
    PlanTimeTile *out;
    const Expr   *fault; /* the first read that is not understood */
} Distances;

/* e - along is from `least` to `most`. */
typedef struct Reach {
    int64_t least, most;
} Reach;

static bool has_variable(Planner *pl, const Func *f, int update, const Expr *e)
{
    return def_variables(&pl->plan->exprs, f, update, e) != 0;
}

static bool same_expr(const Expr **at, int count, const Expr *e)
{
    for (int i = 0; i < count; i++)
        if (at[i] == e)
            return true;
    return false;
}

static bool note_end(const Expr **at, int *count, const Expr *e)
{
    if (same_expr(at, *count, e))
        return true;
    if (*count == MOST_TIME_READS)
        return false;
    at[(*count)++] = e;
    return true;
}

static bool reach_of(Distances *s, const Expr *e, Reach *out);

/* min or max of a coordinate and of an end that is the same everywhere. */
static bool reach_of_clamp(Distances *s, const Expr *e, const Expr *coordinate, const Expr *end, Reach *out)
{
    const int update = (int)(s->update - s->func->updates);
    if (has_variable(s->pl, s->func, update, end) || expr_reads_any(&s->pl->plan->exprs, end) ||
        !reach_of(s, coordinate, out))
        return false;
    if (e->op == EX_MIN) {
        out->least = out->least < 0 ? out->least : 0;
        return note_end(s->out->above, &s->out->above_count, end);
    }
    out->most = out->most > 0 ? out->most : 0;
    return note_end(s->out->below, &s->out->below_count, end);
}

static bool reach_of_both(Distances *s, const Expr *a, const Expr *b, Reach *out)
{
    Reach other;
    if (!reach_of(s, a, out) || !reach_of(s, b, &other))
        return false;
    out->least = other.least < out->least ? other.least : out->least;
    out->most  = other.most > out->most ? other.most : out->most;
    return true;
}

static bool reach_of(Distances *s, const Expr *e, Reach *out)
{
    int64_t k;
    if (expr_difference(e, s->along, &k)) {
        *out = (Reach){ k, k };
        return true;
    }
    if (e->op == EX_SELECT)
        return reach_of_both(s, e->args[1], e->args[2], out);
    if (e->op != EX_MIN && e->op != EX_MAX)
        return false;
    return reach_of_clamp(s, e, e->args[0], e->args[1], out) || reach_of_clamp(s, e, e->args[1], e->args[0], out) ||
           reach_of_both(s, e->args[0], e->args[1], out);
}

static void note_read(const Expr *e, void *user)
{
    Distances *s = user;
    if (e->op != EX_CALL || e->u.call.func != s->func || s->fault)
        return;
    PlanTimeTile *t = s->out;
    Reach         r;
    int64_t       back;
    if (!expr_difference(s->time, e->args[t->time_dim], &back) || back < 1 || !reach_of(s, e->args[t->dim], &r)) {
        s->fault = e;
        return;
    }
    const int64_t reach = -r.least > r.most ? -r.least : r.most;
    for (int i = 0; i < t->read_count; i++)
        if (t->reads[i].back == back) {
            t->reads[i].reach = reach > t->reads[i].reach ? reach : t->reads[i].reach;
            return;
        }
    if (t->read_count == MOST_TIME_READS || reach > MOST_REACH * back) {
        s->fault = e;
        return;
    }
    t->reads[t->read_count++] = (TimeRead){ back, reach };
}

static bool find_distances(Planner *pl, DefDraft *d, const Expr *time, const Expr *along)
{
    const Func   *f = d->def->func;
    const Update *u = d->update;
    Distances     s = { pl, f, u, time, along, &d->def->time_tile, NULL };
    s.out->reads    = ARENA_ARRAY(pl->arena, TimeRead, MOST_TIME_READS);
    s.out->below    = ARENA_ARRAY(pl->arena, const Expr *, MOST_TIME_READS);
    s.out->above    = ARENA_ARRAY(pl->arena, const Expr *, MOST_TIME_READS);
    for (int c = 0; c < f->component_count; c++)
        expr_visit(&pl->plan->exprs, u->values[c], note_read, &s);
    for (int k = 0; k < f->rank; k++)
        expr_visit(&pl->plan->exprs, u->args[k], note_read, &s);
    if (u->where)
        expr_visit(&pl->plan->exprs, u->where, note_read, &s);
    if (s.fault)
        return refuse(pl, ERROR_STEP_ORDER, d->time_tile->loc, "leave it out",
                      "%s reads itself at a place whose distance from its own, in steps and along `%s`, is not a known "
                      "number of at most %d for each step",
                      def_text(pl, d), d->time_tile->args[1].name, MOST_REACH);
    return true;
}

/* ---- The rest of the nest ---- */

/* The argument whose loop it is, or -1. */
static int argument_of(const Func *f, const Update *u, const char *variable)
{
    for (int k = 0; k < f->rank; k++)
        if (u->is_free[k] && f->args[k] == variable)
            return k;
    return -1;
}

/* The dimension along which the update writes the step's own number, or -1. */
static int time_dimension(const Func *f, const Update *u, const char *variable)
{
    for (int k = 0; k < f->rank; k++)
        if (!u->is_free[k] && u->args[k]->op == EX_VAR && u->args[k]->u.name == variable)
            return k;
    return -1;
}

/* Something that is computed inside the loops would be asked for more than its tile's part. */
static bool check_alone(Planner *pl, DefDraft *d)
{
    for (size_t i = 0; i < pl->drafts.count; i++) {
        const FuncDraft *g = pl->drafts.at[i];
        if (!g->needed || g->func->kind == FUNC_INPUT)
            continue;
        if (g->plan->compute.def == d->def || g->plan->store.def == d->def)
            return refuse(pl, ERROR_LEVEL, d->time_tile->loc, arena_printf(pl->arena, "inline `%s`", g->func->name),
                          "`%s` is computed inside the loops of %s, which are to be tiled in time", g->func->name,
                          def_text(pl, d));
        for (int k = -1; g->func->kind == FUNC_DEFINED && k < g->func->update_count; k++)
            if (draft_def(g, k)->def->with.def == d->def || (d->def->with.def && draft_def(g, k)->def == d->def))
                return refuse(pl, ERROR_NOT_SHARED, d->time_tile->loc, "leave out compute_with",
                              "%s shares its loops, and they are to be tiled in time", def_text(pl, d));
    }
    return true;
}

bool check_time_tile(Planner *pl, DefDraft *d)
{
    const Directive *dir = d->time_tile;
    if (!dir)
        return true;
    const Func   *f = d->def->func;
    const Update *u = d->update;
    const int     t = find_loop(d, dir->args[0].name), y = find_loop(d, dir->args[1].name);
    if (!u || t < 0 || y != t + 1)
        return refuse(pl, ERROR_NO_LOOP, dir->loc, "reorder the two, the steps outside",
                      "%s has no loop `%s` directly inside a loop `%s`", def_text(pl, d), dir->args[1].name,
                      dir->args[0].name);
    const char   *steps = d->def->loops[t].var, *variable = d->def->loops[y].var;
    PlanTimeTile *out = &d->def->time_tile;
    *out              = (PlanTimeTile){ .size     = dir->args[2].value,
                                        .loop     = t,
                                        .time_dim = time_dimension(f, u, steps),
                                        .dim      = argument_of(f, u, variable) };
    if (out->time_dim < 0 || out->dim < 0 || u->rvar_count != 1)
        return refuse(pl, ERROR_STEP_ORDER, dir->loc, "give the steps' variable first, then an argument, neither split",
                      "%s is no update f(…, %s, …, %s) with steps `%s` alone", def_text(pl, d), dir->args[1].name,
                      dir->args[0].name, dir->args[0].name);
    if (d->def->loops[t].kind != LOOP_SERIAL || d->def->loops[y].kind != LOOP_SERIAL || d->def->version_count ||
        d->def->atomic)
        return refuse(pl, ERROR_LOOP_KIND, dir->loc, "leave out what is said about these two loops",
                      "the loops `%s` and `%s` of %s are not serial: their diamonds run in parallel", dir->args[0].name,
                      dir->args[1].name, def_text(pl, d));
    return check_alone(pl, d) && find_distances(pl, d, expr_var(&pl->plan->exprs, KN_I32, steps),
                                                expr_var(&pl->plan->exprs, KN_I32, variable));
}
