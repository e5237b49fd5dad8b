/* SPDX-License-Identifier: MIT */
/* The pipeline that directives which make functions leave: what a scheduler is asked about in its place.
 *
 * Takes   a pipeline and a schedule of directives that make functions (separate, double …), and no others.
 * Gives   a pipeline with these functions among the others, all with the names and variables by which a schedule knows
 *         them. A schedule of it, behind those directives, is one of the pipeline that was given.
 * Holds   inputs, parameters and outputs are the same, in the same order; functions have other ids. */
#include "plan/directives.h"

/* Variables of the plan, "out.x" or "in.extent.0", and what the pipeline has for them. */
typedef struct Renaming {
    ExprPool *pool;
    Map       to; /* interned name -> expression */
} Renaming;

static void rename_list(Renaming *r, const char **names, int count, const char *const *known)
{
    for (int i = 0; i < count; i++) {
        map_set(&r->to, names[i], expr_var(r->pool, KN_I32, known[i]));
        names[i] = known[i];
    }
}

static void rename_sizes(Renaming *r, kn_context *cx, Arena *arena, const Func *input)
{
    for (int d = 0; d < input->rank; d++) {
        map_set(&r->to, intern(cx, arena_printf(arena, "%s.min.%d", input->name, d)),
                expr_dim(r->pool, EX_DIM_MIN, input, d));
        map_set(&r->to, intern(cx, arena_printf(arena, "%s.extent.%d", input->name, d)),
                expr_dim(r->pool, EX_DIM_EXTENT, input, d));
    }
}

static void rename_variables(Renaming *r, const FuncDraft *f)
{
    rename_list(r, f->func->args, f->func->rank, f->origin->args);
    for (int k = 0; k < f->func->update_count; k++)
        for (int i = 0; i < f->func->updates[k].rvar_count; i++)
            rename_list(r, &f->func->updates[k].rvars[i].name, 1, &f->origin->updates[k].rvars[i].name);
}

static const Expr *known_name(void *user, const Expr *e)
{
    const Renaming *r  = user;
    const Expr     *to = e->op == EX_VAR ? map_get(&r->to, e->u.name) : NULL;
    return to ? to : e;
}

kn_pipeline *plan_rewritten(kn_pipeline *p, const Schedule *schedule, Arena *arena)
{
    Planner      pl;
    kn_pipeline *made = ARENA_NEW(arena, kn_pipeline);
    if (!plan_begin(&pl, p, schedule, arena, (PlanTarget){ 0 }))
        return NULL;
    Renaming r = { .pool = &pl.plan->exprs };
    map_init(&r.to, arena);
    for (size_t i = 0; i < pl.drafts.count; i++)
        if (pl.drafts.at[i]->func->kind == FUNC_INPUT)
            rename_sizes(&r, p->cx, arena, pl.drafts.at[i]->func);
        else
            rename_variables(&r, pl.drafts.at[i]);
    *made = (kn_pipeline){ .cx = p->cx, .name = p->name, .params = p->params, .ports = p->ports, .finished = true };
    for (size_t i = 0; i < pl.drafts.count; i++) {
        rewrite_function(r.pool, pl.drafts.at[i]->func, known_name, &r);
        vec_push(arena, &made->funcs, pl.drafts.at[i]->func);
    }
    for (size_t i = 0; i < p->outputs.count; i++) {
        Output out = p->outputs.at[i];
        out.func   = draft_of(&pl, out.func)->func;
        vec_push(arena, &made->outputs, out);
    }
    made->exprs = pl.plan->exprs;
    return made;
}
