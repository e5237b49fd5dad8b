/* SPDX-License-Identifier: MIT */
/* The ranges of the values of functions, whatever the coordinates.
 *
 * An index may come from another function: f(order(x)). One pass in the order of the pipeline, producers first, gives
 * each component the range of its pure definition over all coordinates, joined with those of its updates. A function
 * that reads itself gets a range that is closed under its updates: V = init, then V = V + update(V) a few times.
 * Without a fixed point the updates are evaluated with the whole type for the function itself. */
#include "analysis/evaluate.h"

/* ---- Evaluators ------------------------------------------------------------------------- */

/* The conditions on the reduction variables as expressions. Made before the tables by expression id. */
static const Expr **make_domains(Evaluator *ev, const Func *f)
{
    ExprPool *pool  = &ev->pipeline->exprs;
    size_t    count = 0;
    for (int u = 0; u < f->update_count; u++)
        count += (size_t)f->updates[u].rvar_count * 2;
    const Expr **domain = ARENA_ARRAY(ev->arena, const Expr *, count), **at = domain;
    for (int u = 0; u < f->update_count; u++)
        for (int i = 0; i < f->updates[u].rvar_count; i++, at += 2) {
            const RVar *r = &f->updates[u].rvars[i];
            if (r->lo->depth >= EXPR_MAX_DEPTH || r->hi->depth >= EXPR_MAX_DEPTH)
                continue;
            at[0] = expr_binary(pool, EX_LE, KN_BOOL, r->lo, expr_var(pool, KN_I32, r->name));
            at[1] = expr_binary(pool, EX_LT, KN_BOOL, expr_var(pool, KN_I32, r->name), r->hi);
        }
    return domain;
}

void evaluator_init(Evaluator *ev, kn_pipeline *p, Arena *arena, const RunArgs *binding)
{
    *ev         = (Evaluator){ .pipeline = p, .cx = p->cx, .arena = arena, .binding = binding };
    ev->values  = ARENA_ARRAY(arena, Range *, p->funcs.count);
    ev->domains = ARENA_ARRAY(arena, const Expr **, p->funcs.count);
    for (size_t i = 0; i < p->funcs.count; i++)
        ev->domains[i] = make_domains(ev, p->funcs.at[i]);
    ev->forms = ARENA_ARRAY(arena, const Linear *, p->exprs.count);
    ev->calls = ARENA_ARRAY(arena, uint8_t, p->exprs.count);
}

/* ---- Values ----------------------------------------------------------------------------- */

/* Joins the values that an update can store. */
static void add_update(Evaluator *ev, const Func *f, int update, Range *out)
{
    const Update *u = &f->updates[update];
    int64_t       lo[KN_MAX_RANK * 2], hi[KN_MAX_RANK * 2];
    if (update_bind(ev, f, update, NULL, NULL, lo, hi) < u->rvar_count || !update_assume(ev, f, update))
        return;
    const Branch b = u->where ? branch_enter(ev, u->where, true) : (Branch){ 0 };
    if (b.dead)
        return;
    for (int c = 0; c < f->component_count; c++)
        out[c] = range_union(f->types[c], out[c], evaluate(ev, u->values[c]));
    branch_leave(ev, b);
}

static bool all_equal(const Func *f, const Range *a, const Range *b)
{
    for (int c = 0; c < f->component_count; c++)
        if (!range_equal(f->types[c], a[c], b[c]))
            return false;
    return true;
}

static void add_values(Evaluator *ev, const Func *f)
{
    enum { ROUNDS = 3 };
    const size_t size = sizeof(Range) * (size_t)f->component_count;
    Range       *init = arena_alloc(ev->arena, size), *next = arena_alloc(ev->arena, size),
          *value = arena_alloc(ev->arena, size);
    environment_reset(ev);
    for (int c = 0; c < f->component_count; c++)
        init[c] = evaluate(ev, f->values[c]);
    memcpy(value, init, size);
    for (int round = 0; round <= ROUNDS; round++) {
        ev->values[f->id] = round < ROUNDS ? value : NULL;
        memcpy(next, round < ROUNDS ? value : init, size);
        for (int u = 0; u < f->update_count; u++)
            add_update(ev, f, u, next);
        const bool rests = all_equal(f, value, next);
        memcpy(value, next, size);
        if (rests)
            break;
    }
    ev->values[f->id] = value;
}

void evaluator_add_values(Evaluator *ev)
{
    for (size_t i = 0; i < ev->pipeline->funcs.count; i++)
        if (ev->pipeline->funcs.at[i]->kind == FUNC_DEFINED)
            add_values(ev, ev->pipeline->funcs.at[i]);
}
