/* SPDX-License-Identifier: MIT */
/* Functions of the plan: copies with variables of their own.
 *
 * Takes   the functions of a pipeline.
 * Gives   drafts in the same order: expressions in the plan's pool; argument x of out named "out.x", reduction variable
 *         r of the update 0 of hist "hist.u0.r"; the sizes of inputs as the variables that lowered code has for them.
 * Holds   no two definitions share a variable, but for the arguments of one function, which its updates have as free
 *         variables. */
#include "plan/planner.h"

const char *fresh_name(Planner *pl, const char *base)
{
    const char *name = intern(pl->cx, base);
    for (int i = 1; map_get(&pl->names, name); i++)
        name = intern(pl->cx, arena_printf(pl->arena, "%s.%d", base, i));
    map_set(&pl->names, name, name);
    return name;
}

/* The variables of lowered code that stand for a port: see ir/stmt.h. */
static void reserve_port(Planner *pl, const char *name, int rank)
{
    static const char *const parts[] = { "min", "extent", "stride" };
    for (int d = 0; d < rank; d++)
        for (int k = 0; k < 3; k++)
            fresh_name(pl, arena_printf(pl->arena, "%s.%s.%d", name, parts[k], d));
    fresh_name(pl, arena_printf(pl->arena, "%s.count", name));
}

/* ---- Expressions ------------------------------------------------------------------------ */

/* Copying the expressions of one definition. */
typedef struct Copy {
    Planner     *pl;
    int          count;
    const char **from, **to;
    Map          done;
    Arena        scratch;
} Copy;

static const Expr *copy_leaf(Copy *c, const Expr *e)
{
    ExprPool *pool = &c->pl->plan->exprs;
    switch ((ExprOp)e->op) {
    case EX_VAR:
        for (int i = 0; i < c->count; i++)
            if (c->from[i] == e->u.name)
                return expr_var(pool, (kn_type)e->type, c->to[i]);
        return expr_var(pool, (kn_type)e->type, e->u.name);
    case EX_DIM_MIN:
    case EX_DIM_EXTENT: {
        const char *part = e->op == EX_DIM_MIN ? "min" : "extent";
        return expr_var(
            pool, KN_I32,
            intern(c->pl->cx, arena_printf(&c->scratch, "%s.%s.%u", e->u.call.func->name, part, e->u.call.index)));
    }
    default: return expr_rebuild(pool, e, NULL);
    }
}

static const Expr *copy(Copy *c, const Expr *e)
{
    const Expr *result = map_get(&c->done, e);
    if (result)
        return result;
    const Expr **args = ARENA_ARRAY(&c->scratch, const Expr *, e->count);
    for (uint32_t i = 0; i < e->count; i++)
        args[i] = copy(c, e->args[i]);
    if (e->op == EX_CALL)
        result = expr_call(&c->pl->plan->exprs, draft_of(c->pl, e->u.call.func)->func, (int)e->u.call.index,
                           (kn_type)e->type, (int)e->count, args);
    else
        result = e->count ? expr_rebuild(&c->pl->plan->exprs, e, args) : copy_leaf(c, e);
    map_set(&c->done, e, result);
    return result;
}

static void copy_begin(Copy *c, Planner *pl)
{
    *c = (Copy){ .pl = pl };
    scratch_begin(&c->scratch, pl->cx);
    map_init(&c->done, &c->scratch);
}

static const Expr **copy_all(Copy *c, const Expr *const *from, int count)
{
    const Expr **to = ARENA_ARRAY(c->pl->arena, const Expr *, (size_t)count);
    for (int i = 0; i < count; i++)
        to[i] = copy(c, from[i]);
    return to;
}

const Expr *plan_expr(Planner *pl, const Expr *e)
{
    Copy c;
    copy_begin(&c, pl);
    const Expr *result = copy(&c, e);
    scratch_end(&c.scratch);
    return result;
}

/* ---- Functions -------------------------------------------------------------------------- */

static void copy_update(Planner *pl, Func *f, const Func *from, int k)
{
    const Update *u  = &from->updates[k];
    Update       *to = &f->updates[k];
    Copy          c;
    copy_begin(&c, pl);
    c.from = ARENA_ARRAY(&c.scratch, const char *, (size_t)(f->rank + u->rvar_count));
    c.to   = ARENA_ARRAY(&c.scratch, const char *, (size_t)(f->rank + u->rvar_count));
    for (int d = 0; d < f->rank; d++)
        if (u->is_free[d]) {
            c.from[c.count] = from->args[d];
            c.to[c.count++] = f->args[d];
        }
    *to       = *u;
    to->rvars = ARENA_ARRAY(pl->arena, RVar, (size_t)u->rvar_count);
    for (int i = 0; i < u->rvar_count; i++) {
        to->rvars[i].name = fresh_name(pl, arena_printf(&c.scratch, "%s.u%d.%s", f->name, k, u->rvars[i].name));
        c.from[c.count]   = u->rvars[i].name;
        c.to[c.count++]   = to->rvars[i].name;
    }
    for (int i = 0; i < u->rvar_count; i++) {
        to->rvars[i].lo = copy(&c, u->rvars[i].lo);
        to->rvars[i].hi = copy(&c, u->rvars[i].hi);
    }
    to->args   = copy_all(&c, u->args, f->rank);
    to->values = copy_all(&c, u->values, f->component_count);
    to->where  = u->where ? copy(&c, u->where) : NULL;
    scratch_end(&c.scratch);
}

static void copy_func(Planner *pl, FuncDraft *draft)
{
    const Func *from = draft->origin;
    Func       *f    = draft->func;
    Copy        c;
    copy_begin(&c, pl);
    c.count = from->rank;
    c.from  = (const char **)from->args;
    c.to    = ARENA_ARRAY(pl->arena, const char *, (size_t)from->rank);
    for (int d = 0; d < from->rank; d++)
        c.to[d] = from->kind == FUNC_INPUT
                      ? from->args[d]
                      : fresh_name(pl, arena_printf(&c.scratch, "%s.%s", from->name, from->args[d]));
    f->args = c.to;
    if (from->values)
        f->values = copy_all(&c, from->values, from->component_count);
    f->stage_args = ARENA_ARRAY(pl->arena, StageArg, (size_t)from->stage_arg_count);
    for (int i = 0; i < from->stage_arg_count; i++) {
        const StageArg *a      = &from->stage_args[i];
        f->stage_args[i].func  = a->func ? draft_of(pl, a->func)->func : NULL;
        f->stage_args[i].value = a->value ? copy(&c, a->value) : NULL;
    }
    scratch_end(&c.scratch);
    f->updates = ARENA_ARRAY(pl->arena, Update, (size_t)from->update_count);
    for (int k = 0; from->values && k < from->update_count;
         k++) /* the functions of rfactor and separate get their expressions later */
        copy_update(pl, f, from, k);
}

FuncDraft *add_draft(Planner *pl, const Func *origin)
{
    FuncDraft *draft    = ARENA_NEW(pl->arena, FuncDraft);
    draft->origin       = origin;
    draft->func         = ARENA_NEW(pl->arena, Func);
    draft->plan         = ARENA_NEW(pl->arena, PlanFunc);
    *draft->func        = *origin;
    draft->func->id     = (int)pl->drafts.count;
    draft->plan->func   = draft->func;
    draft->plan->origin = origin;
    vec_push(pl->arena, &pl->drafts, draft);
    map_set_mutable(&pl->drafts_of, origin, draft);
    map_set_mutable(&pl->drafts_of, draft->func, draft);
    copy_func(pl, draft);
    return draft;
}

void plan_copy(Planner *pl)
{
    const kn_pipeline *p = pl->pipeline;
    for (size_t i = 0; i < p->ports.count; i++)
        if (p->ports.at[i].kind != KN_PARAM)
            reserve_port(pl, p->ports.at[i].name, p->ports.at[i].rank);
    for (size_t i = 0; i < p->funcs.count; i++)
        add_draft(pl, p->funcs.at[i]);
    for (size_t i = 0; i < p->outputs.count; i++)
        draft_of(pl, p->outputs.at[i].func)->plan->is_output = true;
}

/* ---- Walks ------------------------------------------------------------------------------ */

typedef struct CalleeWalk {
    Planner    *pl;
    const Func *self;
    DefDraft   *def;
    bool        bounds;
    Map         seen; /* expressions and functions */
} CalleeWalk;

static void add_callee(CalleeWalk *w, const Func *g)
{
    if (g == w->self || map_get(&w->seen, g))
        return;
    map_set(&w->seen, g, w);
    if (w->bounds)
        vec_push(w->pl->arena, &w->def->bound_reads, g);
    else
        vec_push(w->pl->arena, &w->def->reads, g);
}

static void walk_callees(const Expr *e, void *user)
{
    CalleeWalk *w = user;
    if (map_get(&w->seen, e))
        return;
    map_set(&w->seen, e, w);
    context_spend(w->pl->cx, 1);
    if (e->op == EX_CALL)
        add_callee(w, e->u.call.func);
    for (uint32_t i = 0; i < e->count; i++)
        walk_callees(e->args[i], user);
}

static void find_callees(Planner *pl, const FuncDraft *f, int update, bool bounds)
{
    Arena      scratch;
    CalleeWalk w = { .pl = pl, .self = f->func, .def = draft_def(f, update), .bounds = bounds };
    scratch_begin(&scratch, pl->cx);
    map_init(&w.seen, &scratch);
    def_roots(f->func, update, bounds, walk_callees, &w);
    for (int i = 0; update < 0 && i < f->func->stage_arg_count; i++)
        if (f->func->stage_args[i].func)
            add_callee(&w, f->func->stage_args[i].func);
    scratch_end(&scratch);
}

void plan_readers(Planner *pl)
{
    for (size_t i = 0; i < pl->drafts.count; i++) {
        FuncDraft *f = pl->drafts.at[i];
        for (int k = -1; f->defs && k < f->func->update_count; k++) {
            DefDraft *d = draft_def(f, k);
            find_callees(pl, f, k, false);
            if (k >= 0)
                find_callees(pl, f, k, true);
            for (size_t r = 0; r < d->reads.count; r++) {
                bool in_bounds = false;
                for (size_t b = 0; b < d->bound_reads.count; b++)
                    in_bounds |= d->bound_reads.at[b] == d->reads.at[r];
                vec_push(pl->arena, &draft_of(pl, d->reads.at[r])->readers, ((Reader){ f, k, in_bounds }));
            }
        }
    }
}
