/* SPDX-License-Identifier: MIT */
/* compute_with: a definition runs in the loops of another, down to one of them.
 *
 * Takes   f, or an update of it, asked to run with a definition of g.
 * Gives   the level in g's loops that is shared, and an order of functions in which f comes just after g: all that
 *         either reads comes before both.
 * Holds   iff neither depends on the other, directly or through others; both are computed at the same level; their
 *         loops down to the shared one have the same shape; g's definition is its last, so that the definitions of f
 *         before it can run before them; each is stored where it is computed, and no box changes from step to step. A
 *         loop of f that is shared is g's: what is to be computed in it, is in g's. */
#include "plan/planner.h"

bool note_compute_with(Planner *pl, FuncDraft *f, DefDraft *d, const Directive *dir)
{
    (void)d;
    vec_push(pl->arena, &f->partners, dir);
    return true;
}

const Directive *asked_partner(const FuncDraft *f)
{
    return f->partners.count ? f->partners.at[0] : NULL;
}

/* ---- Order ------------------------------------------------------------------------------ */

/* Marks what f reads, directly or through others, by place among the drafts. */
static bool *mark_needs(Planner *pl, size_t of)
{
    bool *marked = ARENA_ARRAY(pl->arena, bool, pl->drafts.count);
    Map   places;
    map_init(&places, pl->arena);
    for (size_t i = 0; i <= of; i++)
        map_set_mutable(&places, pl->drafts.at[i]->func, &marked[i]);
    marked[of] = true;
    for (size_t i = of + 1; i-- > 0;) {
        FuncDraft *f = pl->drafts.at[i];
        for (int k = -1; marked[i] && f->defs && k < f->func->update_count; k++)
            for (size_t r = 0; r < draft_def(f, k)->reads.count; r++) {
                bool *m = map_get_mutable(&places, draft_def(f, k)->reads.at[r]);
                if (m)
                    *m = true;
            }
    }
    marked[of] = false;
    return marked;
}

/* Puts f just after g: what the later of them needs from between goes before both, the rest after. */
static bool bring_together(Planner *pl, FuncDraft *f, FuncDraft *g, const Directive *d)
{
    const size_t at_f = draft_place(pl, f), at_g = draft_place(pl, g), first = at_f < at_g ? at_f : at_g,
                 last = at_f < at_g ? at_g : at_f;
    const bool *needs = mark_needs(pl, last);
    if (needs[first])
        return refuse(pl, ERROR_NOT_SHARED, d->loc, "leave it out",
                      "`%s` cannot be computed with `%s`: one of them needs the other", f->func->name, g->func->name);
    FuncDraft **now = ARENA_ARRAY(pl->arena, FuncDraft *, last - first + 1);
    size_t      n   = 0;
    for (size_t i = first + 1; i < last; i++)
        if (needs[i])
            now[n++] = pl->drafts.at[i];
    for (size_t i = 0; i < n; i++)
        if (asked_partner(now[i]))
            return refuse(pl, ERROR_NOT_SHARED, d->loc, "leave it out for one of them",
                          "`%s` needs `%s`, which is computed with another function itself",
                          last == at_f ? f->func->name : g->func->name, now[i]->func->name);
    now[n++] = g;
    now[n++] = f;
    for (size_t i = first + 1; i < last; i++)
        if (!needs[i])
            now[n++] = pl->drafts.at[i];
    memcpy(&pl->drafts.at[first], now, n * sizeof *now);
    return true;
}

/* The function that f is to be computed with; NULL, refused, if that cannot be. */
static FuncDraft *partner(Planner *pl, FuncDraft *f, const Directive *d)
{
    FuncDraft  *g   = draft_of(pl, d->args[0].func);
    const char *why = g == f                          ? "it is the same function"
                      : g->inlined                    ? "that is inlined"
                      : g->func->kind != FUNC_DEFINED ? "that has no loops"
                      : !g->needed                    ? "no output needs that"
                      : asked_partner(g)              ? "that is computed with another function itself"
                      : d->args[0].update >= 0 && d->args[0].update != g->func->update_count - 1
                          ? "that update is not its last"
                          : NULL;
    if (!why && f->partners.count > 1)
        refuse(pl, ERROR_NOT_SHARED, f->partners.at[1]->loc, "leave one of them out",
               "`%s` is computed with another function already", f->func->name);
    if (why)
        refuse(pl, ERROR_NOT_SHARED, d->loc, "name a function with loops of its own",
               "`%s` cannot be computed with `%s`: %s", f->func->name, g->func->name, why);
    return pl->failed ? NULL : g;
}

bool order_partners(Planner *pl)
{
    VEC(FuncDraft *) all = { 0 };
    for (size_t i = 0; i < pl->drafts.count; i++)
        if (pl->drafts.at[i]->needed && pl->drafts.at[i]->defs && asked_partner(pl->drafts.at[i]))
            vec_push(pl->arena, &all, pl->drafts.at[i]);
    for (size_t i = 0; i < all.count; i++) {
        const Directive *d = asked_partner(all.at[i]);
        FuncDraft       *g = partner(pl, all.at[i], d);
        if (!g || !bring_together(pl, all.at[i], g, d))
            return false;
    }
    return true;
}

/* ---- Loops ------------------------------------------------------------------------------ */

static bool same_shape(const Loop *a, const Loop *b)
{
    return a->loop.kind == b->loop.kind && a->lineage == b->lineage && a->extent == b->extent &&
           a->loop.is_reduction == b->loop.is_reduction;
}

/* Do the reduction variables behind the loops down to `loop` run through the same? */
static bool same_bounds(const DefDraft *a, const DefDraft *b, int loop)
{
    uint32_t vars = 0;
    for (int i = 0; i <= loop; i++)
        vars |= a->loops.at[i].vars;
    for (int i = 0; vars >> FIRST_RVAR && i < a->update->rvar_count; i++)
        if (vars >> (FIRST_RVAR + i) & 1 &&
            (a->update->rvars[i].lo != b->update->rvars[i].lo || a->update->rvars[i].hi != b->update->rvars[i].hi))
            return false;
    return true;
}

static bool check_pair(Planner *pl, FuncDraft *f, const Directive *d)
{
    FuncDraft *g   = draft_of(pl, d->args[0].func);
    DefDraft  *own = draft_def(f, d->update), *with = draft_def(g, g->func->update_count - 1);
    int        loop = find_loop(with, d->args[1].name);
    if (own->versions.count || with->versions.count)
        return refuse(pl, ERROR_SPECIALIZED, d->loc, "leave out specialize",
                      "a specialized definition cannot be computed with another");
    if (loop < 0)
        return refuse(pl, ERROR_NO_LOOP, d->args[1].loc, NULL, "%s has no loop `%s`", def_text(pl, with),
                      d->args[1].name);
    if (!level_same(f->plan->compute, g->plan->compute))
        return refuse(pl, ERROR_NOT_SHARED, d->loc, "give both the same compute_at",
                      "`%s` and `%s` are computed at different levels", f->func->name, g->func->name);
    while (loop >= 0 && with->loops.at[loop].loop.kind == LOOP_VECTOR)
        loop--;
    if (loop < 0)
        return refuse(pl, ERROR_LOOP_KIND, d->args[1].loc, "name a loop outside it",
                      "the vector loop `%s` cannot be shared", d->args[1].name);
    for (int i = 0; i <= loop; i++)
        if (i >= (int)own->loops.count || !same_shape(&own->loops.at[i], &with->loops.at[i]) ||
            with->loops.at[i].loop.kind == LOOP_VECTOR)
            return refuse(pl, ERROR_NOT_SHARED, d->loc, "give both the same splits, order and kinds of loops",
                          "the loops of %s down to `%s` are not like those of %s", def_text(pl, own), d->args[1].name,
                          def_text(pl, with));
    if (!level_same(f->plan->store, f->plan->compute) || !level_same(g->plan->store, g->plan->compute))
        return refuse(pl, ERROR_NOT_SHARED, d->loc, "leave out store_at and store_root",
                      "`%s` cannot be computed with `%s`: storage outside the loop it is computed in keeps what "
                      "it holds, and another part of each may be missing",
                      f->func->name, g->func->name);
    if (own->facts.other_points || with->facts.other_points)
        return refuse(
            pl, ERROR_NOT_SHARED, d->loc, "leave it out",
            "`%s` cannot be computed with `%s`: an update that reads its neighbours has another box in each step",
            f->func->name, g->func->name);
    if (!same_bounds(own, with, loop))
        return refuse(pl, ERROR_NOT_SHARED, d->loc, "name a loop further out",
                      "the reduction loops of %s down to `%s` have not the bounds of those of %s", def_text(pl, own),
                      d->args[1].name, def_text(pl, with));
    own->def->with = (PlanLevel){ with->def, loop };
    return true;
}

void join_partners(Planner *pl, const FuncDraft *g)
{
    for (size_t i = 0; i < pl->drafts.count; i++) {
        FuncDraft       *f = pl->drafts.at[i];
        const Directive *d = f->needed && f->defs ? asked_partner(f) : NULL;
        if (d && draft_of(pl, d->args[0].func) == g)
            check_pair(pl, f, d);
    }
}
