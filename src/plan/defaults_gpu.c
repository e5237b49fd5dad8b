/* SPDX-License-Identifier: MIT */
/* The default schedule of a target with a device: right for every program, not fast.
 *
 * Takes   a definition of a function that the schedule does not name.
 * Gives   a kernel of two-dimensional tiles: a thread for each point along the first two free variables, blocks along
 *         the third, all other loops inside a thread. An update whose steps may be taken in any order, and that has no
 *         free variable, has its steps in threads, with atomic stores.
 * Holds   what calls C, and what has neither free variables nor such steps, is computed by the host. Steps that read
 *         other points of the step before are a loop of the host around kernels. */
#include "plan/planner.h"

enum { TILE_X = 32, TILE_Y = 8 };

static void find_c(const Expr *e, void *found)
{
    *(bool *)found |= e->op == EX_EXTERN;
}

bool calls_c(Planner *pl, const Func *f, const Update *u)
{
    bool found = false;
    for (int i = 0; i < f->component_count; i++)
        expr_visit(&pl->plan->exprs, u ? u->values[i] : f->values[i], find_c, &found);
    for (int d = 0; u && d < f->rank; d++)
        expr_visit(&pl->plan->exprs, u->args[d], find_c, &found);
    if (u && u->where)
        expr_visit(&pl->plan->exprs, u->where, find_c, &found);
    return found;
}

/* Do the bounds of a reduction variable depend on another? */
static bool steps_bound_steps(const DefDraft *d)
{
    for (int r = 0; r < LEGAL_RVARS; r++)
        if (d->facts.bounds[r] & d->facts.rvars)
            return true;
    return false;
}

/* The loops that threads share, x first: those over free variables or, with `steps`, over steps; only the outermost of
 * these where one bounds the other. */
static int shared_loops(const DefDraft *d, bool steps, int *loops)
{
    int count = 0;
    for (size_t i = d->loops.count; i-- > 0 && count < 3;)
        if (d->loops.at[i].loop.is_reduction == steps)
            loops[count++] = (int)i;
    if (count > 1 && steps && steps_bound_steps(d)) {
        for (loops[0] = 0; !d->loops.at[loops[0]].loop.is_reduction;)
            loops[0]++;
        count = 1;
    }
    return count;
}

/* Splits a loop; gives the place of the inner one, or -1. */
static int split_off(Planner *pl, DefDraft *d, int at, int factor)
{
    const char *name  = d->loops.at[at].loop.name;
    const char *inner = intern(pl->cx, arena_printf(pl->arena, "%s.threads", name));
    return split_loop(pl, d, at, name, inner, factor, NULL) ? at + 1 : -1;
}

/* Blocks outside, then threads, then what is left, in the order that it has. Steps that are not shared stay outside
 * where they read other points. */
static void nest_kernel(Planner *pl, DefDraft *d)
{
    const int  n     = (int)d->loops.count;
    int       *loops = ARENA_ARRAY(pl->arena, int, (size_t)n), count = 0;
    const bool outside = d->facts.other_points;
    for (int kind = 0; kind < 4; kind++)
        for (int i = n - 1; i >= 0; i--) {
            const Loop *l    = &d->loops.at[i];
            const int   rank = l->loop.kind == LOOP_THREAD       ? 1
                               : l->loop.kind == LOOP_BLOCK      ? 2
                               : outside && l->loop.is_reduction ? 3
                                                                 : 0;
            if (rank == kind)
                loops[count++] = i;
        }
    reorder_loops(pl, d, count, loops);
}

bool default_kernel(Planner *pl, FuncDraft *f, DefDraft *d)
{
    int        loops[3] = { 0 };
    const bool steps =
        d->update && d->facts.combines && f->func->component_count == 1 && !shared_loops(d, false, loops);
    const int count = calls_c(pl, f->func, d->update) || f->inside ? 0 : shared_loops(d, steps, loops);
    d->def->atomic |= steps && count;
    for (int i = 0; i < count; i++) { /* outer loops are before inner ones: their places stay */
        const int at    = loops[i];
        const int inner = i == 2 ? -1 : split_off(pl, d, at, i ? TILE_Y : TILE_X);
        if (i < 2 && inner < 0)
            return false;
        d->loops.at[at].loop.kind = LOOP_BLOCK;
        if (inner >= 0)
            d->loops.at[inner].loop.kind = LOOP_THREAD;
    }
    nest_kernel(pl, d);
    return end_loops(pl, d);
}
