/* SPDX-License-Identifier: MIT */
/* time_tile: may the steps of an update be cut into diamonds?
 *
 * Takes   an update f(…, y, …, t) = … f(…, y+k, …, t-m) … for t in lo..hi, with the loop over t outermost and directly
 *         outside that over y.
 * Gives   the distances of its dependences, by the rules of legal/time_distances.h, or a refusal.
 *         lower/loops/time_tiles.c makes the loops. */
#include "plan/planner.h"

bool apply_time_tile(Planner *pl, FuncDraft *f, DefDraft *d, const Directive *dir)
{
    (void)f;
    if (dir->args[2].value < 4 || dir->args[2].value > LEGAL_TIME_SIZE)
        return refuse(pl, ERROR_FACTOR, dir->args[2].loc, NULL, "the size of a diamond is from 4 to %d",
                      LEGAL_TIME_SIZE);
    if (dir->arg_count == 4 || (dir->arg_count > 4 && (dir->args[4].value < 4 || dir->args[4].value > LEGAL_TIME_SIZE)))
        return refuse(pl, ERROR_FACTOR, dir->args[3].loc, NULL, "a piece of a diamond has from 4 to %d coordinates",
                      LEGAL_TIME_SIZE);
    d->time_tile = dir;
    return true;
}

/* The argument whose loop it is, or -1. */
static int argument_of(const Func *f, const Update *u, const char *variable)
{
    for (int k = 0; k < f->rank; k++)
        if (u->is_free[k] && f->args[k] == variable)
            return k;
    return -1;
}

/* What is computed inside the loops would be asked for more than its tile's part. */
static bool check_alone(Planner *pl, const DefDraft *d)
{
    const PlanDef *own = d->def;
    for (size_t i = 0; i < pl->drafts.count; i++) {
        const FuncDraft *g = pl->drafts.at[i];
        if (!g->needed || g->func->kind == FUNC_INPUT)
            continue;
        if (g->plan->compute.def == own || g->plan->store.def == own)
            return refuse(pl, ERROR_LEVEL, d->time_tile->loc, arena_printf(pl->arena, "inline `%s`", g->func->name),
                          "`%s` is computed inside the loops of %s, which are to be tiled in time", g->func->name,
                          def_text(pl, d));
        for (int k = -1; g->func->kind == FUNC_DEFINED && k < g->func->update_count; k++) {
            const PlanDef *def = draft_def(g, k)->def;
            if (def->with.def == own || (def == own && def->with.def))
                return refuse(pl, ERROR_NOT_SHARED, d->time_tile->loc, "leave out compute_with",
                              "%s shares its loops, and they are to be tiled in time", def_text(pl, d));
        }
    }
    return true;
}

static bool check_distances(Planner *pl, const DefDraft *d, const char *along, int dim, TimeDistances *out)
{
    if (time_distances(&pl->plan->exprs, d->def->func, d->def->update, dim, out))
        return true;
    return refuse(pl, ERROR_STEP_ORDER, d->time_tile->loc, "leave it out",
                  "%s reads itself at a place whose distance from its own, in steps and along `%s`, is not a known "
                  "number of at most %d for each step",
                  def_text(pl, d), along, MOST_REACH);
}

/* The loop that cuts diamonds into pieces. */
static bool check_pieces(Planner *pl, DefDraft *d, int y)
{
    const Directive *dir = d->time_tile;
    PlanDef         *p   = d->def;
    if (dir->arg_count < 5)
        return true;
    const int z   = find_loop(d, dir->args[3].name);
    const int dim = z == y + 1 ? argument_of(p->func, d->update, p->loops[z].var) : -1;
    if (dim < 0 || p->loops[z].kind != LOOP_SERIAL)
        return refuse(pl, ERROR_NO_LOOP, dir->args[3].loc, "give an argument that is neither split nor a vector",
                      "%s has no serial loop `%s` over an argument directly inside the loop `%s`", def_text(pl, d),
                      dir->args[3].name, dir->args[1].name);
    if (!check_distances(pl, d, dir->args[3].name, dim, &p->time_tile.across))
        return false;
    p->time_tile.piece = dir->args[4].value;
    return true;
}

bool check_time_tile(Planner *pl, DefDraft *d)
{
    const Directive *dir = d->time_tile;
    if (!dir)
        return true;
    const Func   *f = d->def->func;
    const Update *u = d->update;
    PlanDef      *p = d->def;
    const int     t = find_loop(d, dir->args[0].name), y = find_loop(d, dir->args[1].name);
    if (!u || t != 0 || y != t + 1)
        return refuse(pl, ERROR_NO_LOOP, dir->loc, "reorder the two, the steps outside",
                      "%s has no loop `%s` directly inside an outermost loop `%s`", def_text(pl, d), dir->args[1].name,
                      dir->args[0].name);
    const int dim = argument_of(f, u, p->loops[y].var);
    if (dim < 0 || u->rvar_count != 1 || u->rvars[0].name != p->loops[t].var)
        return refuse(pl, ERROR_STEP_ORDER, dir->loc, "give the steps' variable first, then an argument, neither split",
                      "%s is no update f(…, %s, …, %s) with steps `%s` alone", def_text(pl, d), dir->args[1].name,
                      dir->args[0].name, dir->args[0].name);
    if (p->loops[t].kind != LOOP_SERIAL || p->loops[y].kind != LOOP_SERIAL || p->version_count || p->atomic)
        return refuse(pl, ERROR_LOOP_KIND, dir->loc, "leave out what else is said about these two loops",
                      "the loops `%s` and `%s` of %s are not serial: their diamonds run in parallel", dir->args[0].name,
                      dir->args[1].name, def_text(pl, d));
    if (!check_alone(pl, d))
        return false;
    if (!check_distances(pl, d, dir->args[1].name, dim, &p->time_tile.distances) || !check_pieces(pl, d, y))
        return false;
    p->time_tile.size = dir->args[2].value;
    p->time_tile.loop = t;
    return true;
}
