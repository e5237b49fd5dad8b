/* SPDX-License-Identifier: MIT */
/* Facts of functions: of their definitions, and who reads them. */
#include "schedulers/graph/def_facts.h"

static void note_expr(const Expr *e, void *user)
{
    DefSize *size = user;
    size->expr_nodes++;
    size->depth = e->depth > size->depth ? e->depth : size->depth;
}

static DefSize def_size(kn_pipeline *p, const Func *f, int update)
{
    DefSize size = { 0, 0 };
    def_visit(&p->exprs, f, update, note_expr, &size);
    return size;
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

/* Backwards: a function comes after its producers, so all its readers are known. */
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
        facts->defs  = ARENA_ARRAY(arena, DefFacts, (size_t)f->update_count + 1);
        facts->sizes = ARENA_ARRAY(arena, DefSize, (size_t)f->update_count + 1);
        for (int k = -1; k < f->update_count; k++) {
            facts->defs[k + 1]  = def_facts(&p->exprs, f, k);
            facts->sizes[k + 1] = def_size(p, f, k);
        }
        facts->expands = func_expands(&p->exprs, f);
    }
    find_readers(p, all, arena);
    return all;
}
