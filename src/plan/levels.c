/* SPDX-License-Identifier: MIT */
/* Levels: where each function is computed and where it is stored.
 *
 * Takes   drafts with their final loops.
 * Gives   a level for each: root, or inside one loop of one definition.
 * Holds   the level of a function belongs to a function after it, so levels nest; it is around every read of the
 *         function; storage is around it, with no parallel loop between, whose iterations would write to it at once. A
 *         level at a vector loop or inside one is just outside it. */
#include "legal/levels.h"
#include "plan/planner.h"

bool note_compute(Planner *pl, FuncDraft *f, DefDraft *d, const Directive *dir)
{
    (void)pl;
    (void)d;
    f->computed_by = dir;
    return true;
}

bool note_store(Planner *pl, FuncDraft *f, DefDraft *d, const Directive *dir)
{
    (void)pl;
    (void)d;
    f->stored_by = dir;
    return true;
}

/* ---- The tree of levels ----------------------------------------------------------------- */

static TreeLevel to_tree(PlanLevel l)
{
    return (TreeLevel){ l.def, l.loop };
}

static PlanLevel from_tree(TreeLevel l)
{
    return (PlanLevel){ l.def, l.loop };
}

/* The loops that a definition shares with another are the other's. */
static TreeLevel around(const void *of, const void *at)
{
    const Plan    *plan = of;
    const PlanDef *def  = at;
    return to_tree(def->with.def ? def->with : plan->funcs[def->func->id].compute);
}

static bool is_parallel(const void *of, TreeLevel at)
{
    (void)of;
    const PlanDef *def = at.def;
    return loop_table[def->loops[at.loop].kind].at_once && !(def->with.def && at.loop <= def->with.loop);
}

static LevelTree tree_of(const Plan *plan)
{
    return (LevelTree){ plan, around, is_parallel };
}

bool level_encloses(const Plan *plan, PlanLevel outer, PlanLevel inner)
{
    const LevelTree t = tree_of(plan);
    return tree_encloses(&t, to_tree(outer), to_tree(inner));
}

static PlanLevel outside_vectors(const Planner *pl, PlanLevel level)
{
    while (level.def) {
        int i = 0;
        while (i <= level.loop && level.def->loops[i].kind != LOOP_VECTOR)
            i++;
        if (i > level.loop)
            return level;
        if (i > 0)
            return (PlanLevel){ level.def, i - 1 };
        level = draft_of(pl, level.def->func)->plan->compute;
    }
    return level;
}

/* ---- Finding ---------------------------------------------------------------------------- */

/* The definition of g with a loop of that name: the pure one first; only the one named where an update is given. */
static DefDraft *def_with_loop(FuncDraft *g, int update, const char *name, int *loop)
{
    for (int k = update; k < (update < 0 ? g->func->update_count : update + 1); k++)
        if ((*loop = find_loop(draft_def(g, k), name)) >= 0)
            return draft_def(g, k);
    return NULL;
}

/* A loop that is another's too is that one's. */
static PlanLevel level_owner(PlanLevel level)
{
    return level.def && level.def->with.def && level.loop <= level.def->with.loop
               ? (PlanLevel){ level.def->with.def, level.loop }
               : level;
}

/* The level that compute_at or store_at names. */
static bool find_level(Planner *pl, const FuncDraft *f, const Directive *dir, PlanLevel *out)
{
    const ScheduleArg *to   = &dir->args[0];
    FuncDraft         *g    = draft_of(pl, to->func);
    const char        *name = dir->args[1].name;
    int                loop = -1;
    if (g == f)
        return refuse(pl, ERROR_LEVEL, dir->loc, "name a loop of a function that reads it",
                      "`%s` cannot be computed or stored inside its own loops", f->func->name);
    if (g->inlined)
        return refuse(pl, ERROR_NO_LOOPS, to->loc,
                      arena_printf(pl->arena,
                                   "name a loop of the function that `%s` is inlined into, or %s.compute_root()",
                                   g->func->name, g->func->name),
                      "`%s` is inlined: it has no loops", g->func->name);
    if (!g->needed || !g->defs || g->func->kind != FUNC_DEFINED)
        return refuse(pl, ERROR_NO_LOOPS, to->loc, "name a loop of a function that reads it", "`%s` has no loops: %s",
                      g->func->name,
                      g->func->kind == FUNC_INPUT   ? "it is an input"
                      : g->func->kind == FUNC_STAGE ? "it is an extern stage"
                                                    : "no output needs it");
    if (g->func->id < f->func->id)
        return refuse(pl, ERROR_LEVEL, to->loc, "name a loop of a function that reads it",
                      "`%s` cannot be inside a loop of `%s`, which does not read it", f->func->name, g->func->name);
    const DefDraft *d = def_with_loop(g, to->update, name, &loop);
    if (!d)
        return refuse(pl, ERROR_NO_LOOP, dir->args[1].loc, NULL, "`%s` has no loop `%s`", g->func->name, name);
    if (d->versions.count)
        return refuse(pl, ERROR_SPECIALIZED, dir->args[1].loc,
                      arena_printf(pl->arena, "compute_root(), or %s without specialize", g->func->name),
                      "nothing can be computed inside the loops of `%s`: they are specialized", g->func->name);
    *out = level_owner(outside_vectors(pl, (PlanLevel){ d->def, loop }));
    return true;
}

/* Just outside the vector loop of the reader; its innermost loop if it has none. */
static PlanLevel default_level(const Planner *pl, const FuncDraft *f)
{
    const PlanDef *def = draft_def(f->inside, -1)->def;
    return outside_vectors(pl, (PlanLevel){ def, def->loop_count - 1 });
}

/* ---- Checking --------------------------------------------------------------------------- */

static const char *level_text(Planner *pl, PlanLevel level)
{
    if (!level.def)
        return "root";
    return arena_printf(pl->arena, "the loop `%s` of `%s`", loop_text(pl, &level.def->loops[level.loop]),
                        level.def->func->name);
}

static int first_reduction(const PlanDef *def)
{
    int i = 0;
    while (i < def->loop_count && !def->loops[i].is_reduction)
        i++;
    return i;
}

static bool encloses_use(const Planner *pl, PlanLevel level, const Reader *r)
{
    const FuncDraft *g = r->func;
    if (!level.def)
        return true;
    const PlanDef *reader = draft_def(r->func, r->update)->def;
    if (reader->with.def == level.def)
        return level.loop <= reader->with.loop && (!r->in_bounds || level.loop < first_reduction(level.def));
    if (level.def->func == g->func)
        return level.def->update == r->update && (!r->in_bounds || level.loop < first_reduction(level.def));
    return level_encloses(pl->plan, level, g->plan->compute);
}

static bool check_uses(Planner *pl, const FuncDraft *f)
{
    for (size_t i = 0; i < f->readers.count; i++) {
        const Reader *r = &f->readers.at[i];
        if (encloses_use(pl, f->plan->compute, r))
            continue;
        const char *who = def_text(pl, draft_def(r->func, r->update));
        return refuse(pl, ERROR_LEVEL, f->computed_by ? f->computed_by->loc : f->func->loc,
                      "compute_root(), or a loop around all that read it",
                      "`%s` cannot be computed inside %s: %s reads it %s", f->func->name,
                      level_text(pl, f->plan->compute), who,
                      r->in_bounds ? "for the bounds of its reduction" : "outside");
    }
    return true;
}

/* No parallel loop is between where f is stored and where it is computed. */
static bool check_between(Planner *pl, const FuncDraft *f)
{
    const LevelTree tree = tree_of(pl->plan);
    const PlanLevel at   = from_tree(tree_parallel_between(&tree, to_tree(f->plan->store), to_tree(f->plan->compute)));
    if (!at.def)
        return true;
    const char *loop = loop_text(pl, &at.def->loops[at.loop]), *host = at.def->func->name;
    return refuse(pl, ERROR_SHARED_STORAGE, f->stored_by->loc,
                  arena_printf(pl->arena, "%s.store_at(%s, %s), or inside that loop", f->func->name, host, loop),
                  "`%s` is stored outside the parallel loop `%s` of `%s` and computed inside: iterations that "
                  "run at once would share its storage",
                  f->func->name, loop, host);
}

static bool check_storage(Planner *pl, const FuncDraft *f)
{
    if (!level_encloses(pl->plan, f->plan->store, f->plan->compute))
        return refuse(pl, ERROR_LEVEL, f->stored_by->loc, "store it at that level, or at a loop around it",
                      "`%s` is computed at %s, which is not inside where it is stored, %s", f->func->name,
                      level_text(pl, f->plan->compute), level_text(pl, f->plan->store));
    return check_between(pl, f);
}

static bool reads(const DefDraft *d, const Func *g)
{
    for (size_t i = 0; i < d->reads.count; i++)
        if (d->reads.at[i] == g)
            return true;
    return false;
}

/* Is g read in the loop, by the definition itself or by what is computed there? */
static bool is_read_within(Planner *pl, const DefDraft *d, PlanLevel loop, const Func *g)
{
    if (reads(d, g))
        return true;
    for (size_t i = 0; i < draft_of(pl, g)->readers.count; i++) {
        const FuncDraft *by = draft_of(pl, g)->readers.at[i].func;
        if (by->needed && by->func != d->def->func && level_encloses(pl->plan, loop, by->plan->compute))
            return true;
    }
    return false;
}

/* A prefetch is of what is stored outside its loop and read inside. */
static bool check_prefetches(Planner *pl, const DefDraft *d)
{
    for (int i = 0; i < d->def->prefetch_count; i++) {
        const PlanPrefetch *p  = &d->def->prefetches[i];
        const PlanLevel     at = level_owner((PlanLevel){ d->def, p->loop });
        if (p->func->kind != FUNC_INPUT && level_encloses(pl->plan, at, plan_func(pl->plan, p->func)->store))
            return refuse(pl, ERROR_PREFETCH, d->prefetches.at[i]->loc, "leave it out",
                          "`%s` is stored inside the loop `%s`: there is nothing to fetch before it is computed",
                          p->func->name, d->def->loops[p->loop].name);
        if (!is_read_within(pl, d, at, p->func))
            return refuse(pl, ERROR_NOT_READ, d->prefetches.at[i]->args[0].loc, "name a function that it reads",
                          "%s does not read `%s`, nor does anything that is computed in its loop `%s`", def_text(pl, d),
                          p->func->name, d->def->loops[p->loop].name);
    }
    return true;
}

/* ---- Kernels ---------------------------------------------------------------------------- */

static bool has_kernel_loop(const PlanDef *def, int count)
{
    for (int i = 0; i < count; i++)
        if (def->loops[i].kind == LOOP_BLOCK || loop_table[def->loops[i].kind].thread)
            return true;
    return false;
}

/* Is the level inside a loop of a kernel? */
static bool in_kernel(const Plan *plan, PlanLevel at)
{
    while (at.def && !has_kernel_loop(at.def, at.loop + 1))
        at = from_tree(around(plan, at.def));
    return at.def != NULL;
}

/* C runs on the host. */
static bool check_c(Planner *pl, const FuncDraft *f)
{
    const bool inside = in_kernel(pl->plan, f->plan->compute);
    const Loc  loc    = f->computed_by ? f->computed_by->loc : f->func->loc;
    if (f->func->kind == FUNC_STAGE)
        return !inside ||
               refuse(pl, ERROR_EXTERN, loc, "compute_root()",
                      "`%s` is an extern stage, and a kernel cannot call functions of the host", f->func->name);
    for (int k = 0; f->func->kind == FUNC_DEFINED && k <= f->func->update_count; k++) {
        const PlanDef *def = &f->plan->defs[k];
        if ((inside || has_kernel_loop(def, def->loop_count)) &&
            calls_c(pl, f->func, k ? &f->func->updates[k - 1] : NULL))
            return refuse(pl, ERROR_EXTERN, loc,
                          "compute what calls C in a function of its own, at root and without loops of a kernel: the "
                          "host computes that",
                          "`%s` calls a C function, and a kernel cannot call functions of the host", f->func->name);
    }
    return true;
}

/* Constant memory is filled before the kernels that read it. */
static bool check_constant(Planner *pl, const FuncDraft *f)
{
    if (f->plan->memory != MEMORY_CONSTANT || !in_kernel(pl->plan, f->plan->store))
        return true;
    return refuse(pl, ERROR_LEVEL, f->computed_by ? f->computed_by->loc : f->func->loc,
                  "compute_root(); or store_in(shared), which each block fills",
                  "`%s` is computed inside a kernel: it cannot be in constant memory", f->func->name);
}

/* ---- All -------------------------------------------------------------------------------- */

static bool check_output(Planner *pl, const FuncDraft *f)
{
    const Directive *at = directive_is(f->computed_by, DIR_COMPUTE_AT) ? f->computed_by
                          : directive_is(f->stored_by, DIR_STORE_AT)   ? f->stored_by
                                                                       : NULL;
    if (!f->plan->is_output || !at)
        return true;
    return refuse(pl, ERROR_OUTPUT, at->loc, "compute_root(), or nothing: outputs are computed at root",
                  "`%s` is an output: it is computed as a whole, into the caller's buffer", f->func->name);
}

static bool find_levels(Planner *pl, FuncDraft *f)
{
    PlanFunc *pf = f->plan;
    if (!check_output(pl, f))
        return false;
    if (f->inside)
        pf->compute = pf->store = level_owner(default_level(pl, f));
    if (directive_is(f->stored_by, DIR_STORE_AT) && !directive_is(f->computed_by, DIR_COMPUTE_AT))
        return refuse(pl, ERROR_LEVEL, f->stored_by->loc, "compute_at(f, loop) beside it",
                      "`%s` is stored inside a loop but computed at root", f->func->name);
    if (!directive_is(f->computed_by, DIR_COMPUTE_AT))
        return true;
    if (!find_level(pl, f, f->computed_by, &pf->compute))
        return false;
    pf->store = pf->compute;
    if (directive_is(f->stored_by, DIR_STORE_ROOT))
        pf->store = (PlanLevel){ 0 };
    return !directive_is(f->stored_by, DIR_STORE_AT) || find_level(pl, f, f->stored_by, &pf->store);
}

bool plan_levels(Planner *pl)
{
    for (size_t i = pl->drafts.count; i-- > 0;) { /* readers first */
        FuncDraft *f = pl->drafts.at[i];
        if (!f->needed || f->func->kind == FUNC_INPUT)
            continue;
        if (!find_levels(pl, f) || !check_uses(pl, f) || !check_storage(pl, f))
            f->plan->compute = f->plan->store = (PlanLevel){ 0 };
        join_partners(pl, f);
    }
    for (size_t i = 0; i < pl->drafts.count && !pl->failed; i++) {
        FuncDraft *f = pl->drafts.at[i];
        for (int k = -1; f->needed && f->func->kind == FUNC_DEFINED && k < f->func->update_count; k++)
            if (check_prefetches(pl, draft_def(f, k)))
                check_time_tile(pl, draft_def(f, k));
        if (f->needed && f->func->kind != FUNC_INPUT && pl->target.kind == TARGET_GPU) {
            check_c(pl, f);
            check_constant(pl, f);
        }
    }
    return !pl->failed;
}
