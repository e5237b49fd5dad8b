/* Facts of definitions: free variables, bounds, self reads, sizes; and who reads a function. */
#include "schedulers/def_facts.h"

enum { MOST_STEPS = 64 /* as plan/expand.c */ };

typedef struct Walk {
    const Func   *f;
    const Update *u;
    DefFacts      facts;
    uint32_t      vars; /* the free variables met */
} Walk;

static void note_expr(const Expr *e, void *user)
{
    Walk *w = user;
    w->facts.expr_nodes++;
    w->facts.depth = e->depth > w->facts.depth ? e->depth : w->facts.depth;
    for (int d = 0; w->u && e->op == EX_CALL && e->u.call.func == w->f && d < w->f->rank; d++)
        if (e->args[d] != w->u->args[d]) {
            w->facts.own_place = false;
            w->facts.other_points |= w->u->is_free[d];
        }
}

static void note_variable(const Expr *e, void *user)
{
    Walk *w = user;
    for (int d = 0; e->op == EX_VAR && d < w->f->rank; d++)
        if (w->u->is_free[d] && w->f->args[d] == e->u.name)
            w->vars |= 1u << d;
}

int64_t rvar_steps(const RVar *v)
{
    int64_t steps;
    return expr_difference(v->hi, v->lo, &steps) && steps >= 1 && steps <= INT32_MAX ? steps : 0;
}

static void note_call(const Expr *e, void *user)
{
    Walk *w = user;
    w->facts.bounds_read |= e->op == EX_CALL;
}

static int64_t step_count(const Update *u)
{
    int64_t count = 1;
    for (int i = 0; i < u->rvar_count; i++)
        count = count > INT32_MAX ? 0 : count * rvar_steps(&u->rvars[i]);
    return count;
}

static DefFacts def_facts(kn_pipeline *p, const Func *f, int update)
{
    Walk w = { .f = f, .u = update < 0 ? NULL : &f->updates[update], .facts = { .own_place = true, .steps = 1 } };
    def_visit(&p->exprs, f, update, note_expr, &w);
    for (int d = 0; d < f->rank; d++)
        w.facts.free |= !w.u || w.u->is_free[d] ? 1u << d : 0;
    for (int i = 0; w.u && i < w.u->rvar_count; i++) {
        expr_visit(&p->exprs, w.u->rvars[i].lo, note_variable, &w);
        expr_visit(&p->exprs, w.u->rvars[i].hi, note_variable, &w);
        expr_visit(&p->exprs, w.u->rvars[i].lo, note_call, &w);
        expr_visit(&p->exprs, w.u->rvars[i].hi, note_call, &w);
    }
    w.facts.bounding = w.vars;
    w.facts.steps    = w.u ? step_count(w.u) : 1;
    return w.facts;
}

/* Are its bounds constants, not just the difference of the two? */
static bool has_constant_bounds(const Update *u)
{
    int64_t v;
    for (int i = 0; i < u->rvar_count; i++)
        if (!expr_is_int(u->rvars[i].lo, &v) || !expr_is_int(u->rvars[i].hi, &v))
            return false;
    return true;
}

static bool expands(const Func *f, const DefFacts *defs)
{
    int64_t steps = 0;
    for (int k = 0; k < f->update_count; k++) {
        const DefFacts *facts = &defs[k + 1];
        steps += facts->steps;
        if (!facts->steps || steps > MOST_STEPS || !facts->own_place || facts->free != (1u << f->rank) - 1 ||
            f->updates[k].where || !has_constant_bounds(&f->updates[k]))
            return false;
    }
    return true;
}

/* ---- Movers ----------------------------------------------------------------------------- */

typedef struct MoveWalk {
    kn_pipeline  *p;
    const Func   *f, *read;
    const Update *u;
    int           dim;
    uint32_t      found;
} MoveWalk;

static void note_mover(const Expr *e, void *user)
{
    MoveWalk *w = user;
    w->found |= e->op == EX_CALL ? MOVED_BY_DATA : 0;
    for (int d = 0; e->op == EX_VAR && d < w->f->rank; d++)
        w->found |= w->f->args[d] == e->u.name ? 1u << d : 0;
    for (int i = 0; w->u && e->op == EX_VAR && i < w->u->rvar_count && KN_MAX_RANK + i < MOST_MOVERS; i++)
        w->found |= w->u->rvars[i].name == e->u.name ? 1u << (KN_MAX_RANK + i) : 0;
}

static void note_movers_of_read(const Expr *e, void *user)
{
    MoveWalk *w = user;
    if (e->op == EX_CALL && e->u.call.func == w->read)
        expr_visit(&w->p->exprs, e->args[w->dim], note_mover, w);
}

uint32_t def_movers(kn_pipeline *p, const Func *f, int update, const Func *read, int dim)
{
    MoveWalk w = { p, f, read, update < 0 ? NULL : &f->updates[update], dim, 0 };
    def_visit(&p->exprs, f, update, note_movers_of_read, &w);
    return w.found;
}

/* ---- Readers ---------------------------------------------------------------------------- */

typedef struct Readers {
    FuncFacts *facts;
    Arena     *arena;
    TextReader now;
} Readers;

static void add_reader(Readers *r, const Func *f)
{
    FuncFacts        *facts = &r->facts[f->id];
    const TextReader *last  = facts->readers.count ? &facts->readers.at[facts->readers.count - 1] : NULL;
    if (f != r->now.func && !(last && last->func == r->now.func && last->update == r->now.update))
        vec_push(r->arena, &facts->readers, r->now);
}

static void note_read(const Expr *e, void *user)
{
    if (e->op == EX_CALL)
        add_reader(user, e->u.call.func);
}

static bool is_output(const kn_pipeline *p, const Func *f)
{
    for (size_t i = 0; i < p->outputs.count; i++)
        if (p->outputs.at[i].func == f)
            return true;
    return false;
}

/* From the end back: a function comes after those it reads, so all that need it have been met. */
static void find_readers(kn_pipeline *p, FuncFacts *facts, Arena *arena)
{
    for (size_t i = p->funcs.count; i-- > 0;) {
        const Func *f = p->funcs.at[i];
        Readers     r = { facts, arena, { f, -1 } };
        if (!facts[f->id].readers.count && !is_output(p, f))
            continue;
        for (int k = -1; f->kind == FUNC_DEFINED && k < f->update_count; k++) {
            r.now.update = k;
            def_visit(&p->exprs, f, k, note_read, &r);
        }
        for (int k = 0; k < f->stage_arg_count; k++)
            if (f->stage_args[k].func)
                add_reader(&r, f->stage_args[k].func);
    }
}

FuncFacts *func_facts(kn_pipeline *p, Arena *arena)
{
    FuncFacts *all = ARENA_ARRAY(arena, FuncFacts, p->funcs.count + 1);
    for (size_t i = 0; i < p->funcs.count; i++) {
        const Func *f     = p->funcs.at[i];
        FuncFacts  *facts = &all[f->id];
        if (f->kind != FUNC_DEFINED)
            continue;
        facts->defs = ARENA_ARRAY(arena, DefFacts, (size_t)f->update_count + 1);
        for (int k = -1; k < f->update_count; k++)
            facts->defs[k + 1] = def_facts(p, f, k);
        facts->expands = expands(f, facts->defs);
    }
    find_readers(p, all, arena);
    return all;
}
