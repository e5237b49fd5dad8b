/* SPDX-License-Identifier: MIT */
/* Plans: a pipeline and a schedule become what lowering obeys. The steps are in plan_begin and plan_make. */
#include "plan/directives.h"

/* ---- What the schedule says ------------------------------------------------------------- */

/* Functions that directives make, in the order of the schedule. */
static bool make_functions(Planner *pl)
{
    const size_t count = pl->schedule ? pl->schedule->directives.count : 0;
    pl->plan->made     = ARENA_ARRAY(pl->arena, const Directive *, count);
    for (size_t i = 0; i < count && !pl->failed; i++) {
        const Directive *d = &pl->schedule->directives.at[i];
        directive_apply(pl, PHASE_REWRITE, draft_of(pl, d->func), d);
    }
    for (size_t i = 0; i < pl->drafts.count; i++)
        pl->drafts.at[i]->func->id = (int)i;
    return !pl->failed;
}

/* Is the directive for this kind of target? */
static bool fits_target(Planner *pl, const Directive *d)
{
    const bool gpu = pl->target.kind == TARGET_GPU;
    if (d->info->targets & (gpu ? FOR_GPU : FOR_CPU))
        return true;
    return refuse(pl, ERROR_TARGET, d->loc,
                  gpu ? "gpu_blocks and gpu_threads are for GPUs"
                      : "parallel and vectorize are for CPUs; --target cuda or --target opencl is for GPUs",
                  "`%s` is for %s: not for this target", d->info->name, gpu ? "CPUs" : "GPUs");
}

/* Is there still something of the update that the directive is about? */
static bool has_definition(Planner *pl, const FuncDraft *f, const Directive *d)
{
    if (d->update < 0 || f->func->kind != FUNC_DEFINED ||
        (d->update < f->func->update_count && !f->func->updates[d->update].gone))
        return true;
    return refuse(pl, ERROR_NO_LOOPS, d->loc, "schedule the functions that were made of it",
                  "nothing is left of update %d of `%s` for `%s`", d->update, f->func->name, d->info->name);
}

/* Hands each directive to its function. A function whose loops `compute_at` or its kin name counts as scheduled too:
 * its loops keep their names. */
static void distribute(Planner *pl)
{
    for (size_t i = 0; pl->schedule && i < pl->schedule->directives.count; i++) {
        const Directive *d = &pl->schedule->directives.at[i];
        FuncDraft       *f = draft_of(pl, d->func);
        if (map_get(&pl->used, d))
            continue;
        if (!fits_target(pl, d) || !has_definition(pl, f, d))
            continue;
        f->is_scheduled = true;
        vec_push(pl->arena, &f->directives, d);
        directive_apply(pl, PHASE_PLACE, f, d);
        if (f->computed_by != d && !f->shaped_by)
            f->shaped_by = d;
        for (int k = 0; k < d->arg_count; k++)
            if (d->args[k].kind == ARG_FUNC && d->info->shape[0] == 'f' && d->info->shape[1] == 'l')
                draft_of(pl, d->args[k].func)->is_scheduled = true;
    }
}

/* ---- Steps ------------------------------------------------------------------------------ */

static void begin_defs(Planner *pl)
{
    for (size_t i = 0; i < pl->drafts.count; i++) {
        FuncDraft *f = pl->drafts.at[i];
        if (f->inlined || f->func->kind == FUNC_INPUT)
            continue;
        const int count = 1 + f->func->update_count;
        f->defs         = ARENA_ARRAY(pl->arena, DefDraft, (size_t)count);
        f->plan->defs   = ARENA_ARRAY(pl->arena, PlanDef, (size_t)count);
        for (int k = -1; k < f->func->update_count; k++) {
            DefDraft *d = draft_def(f, k);
            d->def      = &f->plan->defs[k + 1];
            *d->def     = (PlanDef){ .func = f->func, .update = k };
            d->update   = k < 0 ? NULL : &f->func->updates[k];
            d->prefix   = k < 0 ? arena_printf(pl->arena, "%s.", f->func->name)
                                : arena_printf(pl->arena, "%s.u%d.", f->func->name, k);
            d->facts    = def_facts(&pl->plan->exprs, f->func, k);
        }
    }
}

static bool read_by_needed(const FuncDraft *f)
{
    for (size_t i = 0; i < f->readers.count; i++)
        if (f->readers.at[i].func->needed)
            return true;
    return false;
}

/* Dead functions are dropped as readers, consumers first, so that what only they read is dead too. */
static void find_needed(Planner *pl)
{
    for (size_t i = pl->drafts.count; i-- > 0;) {
        FuncDraft *f = pl->drafts.at[i];
        f->needed    = f->plan->is_output || f->func->kind == FUNC_INPUT || (!f->inlined && read_by_needed(f));
        size_t kept  = 0;
        for (size_t r = 0; r < f->readers.count; r++)
            if (f->readers.at[r].func->needed)
                f->readers.at[kept++] = f->readers.at[r];
        f->readers.count = kept;
    }
}

/* A dead function that could be inlined is printed as inlined, so that a plan that is read back has it too. */
static bool is_dead_and_inlinable(const FuncDraft *f)
{
    return !f->needed && f->func->kind == FUNC_DEFINED && !f->func->update_count && !f->read_by_extern;
}

/* The plan's functions: those that are needed, in order. */
static void number_functions(Planner *pl)
{
    Plan *plan  = pl->plan;
    plan->funcs = ARENA_ARRAY(pl->arena, PlanFunc, pl->drafts.count);
    for (size_t i = 0; i < pl->drafts.count; i++) {
        FuncDraft *f = pl->drafts.at[i];
        if (!f->needed)
            continue;
        f->func->id                   = plan->func_count;
        plan->funcs[plan->func_count] = *f->plan;
        f->plan                       = &plan->funcs[plan->func_count++];
    }
    plan->inlined = ARENA_ARRAY(pl->arena, const Func *, pl->drafts.count);
    for (size_t i = 0; i < pl->drafts.count; i++)
        if (pl->drafts.at[i]->inlined || is_dead_and_inlinable(pl->drafts.at[i]))
            plan->inlined[plan->inlined_count++] = pl->drafts.at[i]->origin;
    plan->output_count = (int)pl->pipeline->outputs.count;
    plan->outputs      = ARENA_ARRAY(pl->arena, const Func *, pl->pipeline->outputs.count);
    for (int i = 0; i < plan->output_count; i++)
        plan->outputs[i] = draft_of(pl, pl->pipeline->outputs.at[i].func)->func;
}

/* The loops of one function, by its directives or by default. */
static bool make_loops(Planner *pl, FuncDraft *f)
{
    bool ok = true;
    begin_storage(f);
    for (size_t i = 0; i < f->directives.count; i++) {
        const Directive *d = f->directives.at[i];
        if (f->func->kind != FUNC_DEFINED && !d->info->whole)
            return refuse(pl, ERROR_EXTERN, d->loc, "compute_root() or compute_at(f, loop) are for it",
                          "`%s` is an extern stage: it has no loops for `%s`", f->func->name, d->info->name);
        ok = directive_apply(pl, PHASE_STORAGE, f, d) && ok;
    }
    if (f->func->kind != FUNC_DEFINED)
        return ok;
    for (int k = -1; k < f->func->update_count; k++)
        begin_loops(pl, f, draft_def(f, k));
    if (!f->is_scheduled) {
        default_place(pl, f);
        return ok && default_loops(pl, f);
    }
    for (size_t i = 0; i < f->directives.count && ok; i++)
        ok = directive_apply(pl, PHASE_LOOPS, f, f->directives.at[i]);
    for (int k = -1; k < f->func->update_count && ok; k++)
        ok = end_loops(pl, draft_def(f, k));
    return ok;
}

static bool plan_loops(Planner *pl)
{
    for (size_t i = pl->drafts.count; i-- > 0;) /* consumers first: the defaults of a producer follow them */
        if (pl->drafts.at[i]->needed && pl->drafts.at[i]->func->kind != FUNC_INPUT)
            make_loops(pl, pl->drafts.at[i]);
    return !pl->failed;
}

bool plan_begin(Planner *pl, kn_pipeline *p, const Schedule *schedule, Arena *arena, PlanTarget target)
{
    Plan *plan = ARENA_NEW(arena, Plan);
    *plan      = (Plan){ .cx = p->cx, .arena = arena, .pipeline = p, .name = p->name };
    expr_pool_init(&plan->exprs, p->cx, arena);
    *pl = (Planner){ .cx = p->cx, .arena = arena, .plan = plan, .pipeline = p, .schedule = schedule, .target = target };
    if (!target.vector_bits)
        pl->target.vector_bits = 256;
    map_init(&pl->names, arena);
    map_init(&pl->drafts_of, arena);
    map_init(&pl->used, arena);
    plan_copy(pl);
    return make_functions(pl);
}

Plan *plan_make(kn_pipeline *p, const Schedule *schedule, Arena *arena, PlanTarget target)
{
    Planner pl;
    if (!plan_begin(&pl, p, schedule, arena, target))
        return NULL;
    distribute(&pl);
    if (!plan_inline(&pl))
        return NULL;
    plan_kept_reads(&pl);
    plan_narrow(&pl);
    begin_defs(&pl);
    plan_readers(&pl);
    find_needed(&pl);
    if (!order_partners(&pl))
        return NULL;
    number_functions(&pl);
    return plan_loops(&pl) && plan_levels(&pl) ? pl.plan : NULL;
}

/* ---- Choice ----------------------------------------------------------------------------- */

/* Does it have a directive that is for GPUs alone? */
static bool is_of_kernels(const Schedule *s)
{
    bool found = false;
    for (size_t i = 0; i < s->directives.count; i++)
        found |= s->directives.at[i].info->targets == FOR_GPU;
    return found;
}

static bool fits(const Schedule *s, const Target *target)
{
    const bool gpu = target && target->kind == TARGET_GPU;
    if (!s->target)
        return !gpu || is_of_kernels(s);
    return !target || !strcmp(s->target, target->name) || (gpu && !strcmp(s->target, "gpu"));
}

bool plan_suits(const Schedule *s, const Target *target)
{
    return fits(s, target) && (s->target || is_of_kernels(s) == (target->kind == TARGET_GPU));
}

bool plan_choose(kn_pipeline *p, const char *name, const Target *target, const Schedule **out)
{
    *out = NULL;
    if (name && !*name)
        return true;
    VEC(const char *) known = { 0 };
    for (size_t i = 0; i < p->schedules.count; i++) {
        const Schedule *s = p->schedules.at[i];
        if (s->name)
            vec_push(&p->cx->call, &known, s->name);
        const bool kernels =
            *out && target && target->kind == TARGET_CPU && is_of_kernels(s); /* one for CPUs is there */
        if (name ? s->name && !strcmp(s->name, name)
                 : fits(s, target) && (!s->name || p->schedules.count == 1) && !kernels)
            *out = s;
    }
    if (!name || *out)
        return true;
    const char *suggestion = text_suggest(&p->cx->call, name, known.at, known.count);
    diag_error(p->cx, (Loc){ 0 }, suggestion ? suggestion : "`kiln show --schedules` lists them",
               "there is no schedule `%s`", name);
    return false;
}
