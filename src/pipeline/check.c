/* SPDX-License-Identifier: MIT */
/* Checks of a pipeline as a whole: no cycles, legal self references. Orders the functions, lists the ports,
 * and has indices written anew (indices.c).
 *
 * Gives   functions in topological order, producers first, with ids in that order.
 * Holds   an update that reads its own function reads no value that another point of the same step writes. So the
 * points of a step may be computed in any order, or at once. */
#include "pipeline/pipeline.h"

/* ---- Order ------------------------------------------------------------------------------ */

typedef struct Sort {
    kn_pipeline *p;
    Arena        scratch;
    FuncList    *callees; /* by id */
    uint8_t     *state;   /* 0 new, 1 on the path, 2 done */
    size_t      *next;    /* which callee to look at next */
    VEC(Func *) path, order;
    bool ok;
} Sort;

static void report_cycle(Sort *s, const Func *to)
{
    Text   t;
    size_t from = s->path.count;
    while (s->path.at[from - 1] != to)
        from--;
    text_init(&t, &s->scratch);
    for (size_t i = from - 1; i < s->path.count; i++)
        text_printf(&t, "%s -> ", s->path.at[i]->name);
    diag_error(s->p->cx, to->loc,
               "only the updates of a function may read it, and directly: not through another function or a sum(…)",
               "`%s` is defined in terms of itself: %s%s", to->name, text_string(&t), to->name);
    s->ok = false;
}

/* Depth-first search with an explicit stack: a chain of functions may be longer than the call stack allows. */
static void visit_from(Sort *s, Func *root)
{
    vec_push(&s->scratch, &s->path, root);
    s->state[root->id] = 1;
    while (s->path.count) {
        Func *f = s->path.at[s->path.count - 1];
        if (s->next[f->id] == s->callees[f->id].items.count) {
            s->state[f->id] = 2;
            vec_push(&s->scratch, &s->order, f);
            s->path.count--;
            continue;
        }
        Func *g = s->p->funcs.at[s->callees[f->id].items.at[s->next[f->id]++]->id];
        if (s->state[g->id] == 1) {
            report_cycle(s, g);
        } else if (s->state[g->id] == 0) {
            s->state[g->id] = 1;
            vec_push(&s->scratch, &s->path, g);
        }
    }
}

static bool order_functions(kn_pipeline *p)
{
    const size_t n = p->funcs.count;
    Sort         s = { .p = p, .ok = true };
    scratch_begin(&s.scratch, p->cx);
    s.callees = ARENA_ARRAY(&s.scratch, FuncList, n);
    s.state   = ARENA_ARRAY(&s.scratch, uint8_t, n);
    s.next    = ARENA_ARRAY(&s.scratch, size_t, n);
    for (size_t i = 0; i < n; i++)
        func_callees(&s.scratch, p->funcs.at[i], &s.callees[i]);
    for (int inputs = 1; inputs >= 0; inputs--) /* inputs first, in the order of their declarations */
        for (size_t i = 0; i < n; i++)
            if (s.state[i] == 0 && (p->funcs.at[i]->kind == FUNC_INPUT || !inputs))
                visit_from(&s, p->funcs.at[i]);
    for (size_t i = 0; s.ok && i < n; i++) {
        p->funcs.at[i]     = s.order.at[i];
        p->funcs.at[i]->id = (int)i;
    }
    scratch_end(&s.scratch);
    return s.ok;
}

/* ---- Self references -------------------------------------------------------------------- */

typedef struct SelfCheck {
    kn_pipeline  *p;
    const Func   *f;
    const Update *u;
    bool          ok;
} SelfCheck;

static void note_free_variable(const Expr *e, void *user)
{
    SelfCheck *c = user;
    for (int d = 0; e->op == EX_VAR && d < c->f->rank; d++)
        if (c->u->is_free[d] && c->f->args[d] == e->u.name)
            c->ok = true;
}

static bool uses_free_variable(SelfCheck *c, const Expr *e)
{
    SelfCheck found = { c->p, c->f, c->u, false };
    expr_visit(&c->p->exprs, e, note_free_variable, &found);
    return found.ok;
}

/* A read of f at `args` while f(u->args) is written over all free variables at once. It is legal if it reads the point
 * itself in every free dimension, or if in some dimension it differs from every point written in this step by a
 * constant that is not 0. */
static void check_read(const Expr *e, void *user)
{
    SelfCheck *c = user;
    if (e->op != EX_CALL || e->u.call.func != c->f || !c->ok)
        return;
    int moved = -1;
    for (int d = 0; d < c->f->rank; d++) {
        int64_t    apart;
        const bool fixed =
            !c->u->is_free[d] && !uses_free_variable(c, c->u->args[d]) && !uses_free_variable(c, e->args[d]);
        if (fixed && expr_difference(e->args[d], c->u->args[d], &apart) && apart != 0)
            return;
        if (c->u->is_free[d] && e->args[d] != c->u->args[d])
            moved = d;
    }
    if (moved < 0)
        return;
    Text t;
    text_init(&t, &c->p->arena);
    expr_print(&t, e);
    const char *v = c->f->args[moved];
    diag_error(
        c->p->cx, c->u->loc,
        arena_printf(
            &c->p->arena,
            "to go step by step along %s, make it a reduction variable: … for %s in a..b; to keep the old values, "
            "read another function",
            v, v),
        "this update of `%s` reads %s while that point is being written: its %s is free", c->f->name, text_string(&t),
        v);
    c->ok = false;
}

static bool check_self_references(kn_pipeline *p)
{
    bool ok = true;
    for (size_t i = 0; i < p->funcs.count; i++)
        for (int k = 0; k < p->funcs.at[i]->update_count; k++) {
            const Func *f = p->funcs.at[i];
            SelfCheck   c = { p, f, &f->updates[k], true };
            def_visit(&p->exprs, f, k, check_read, &c);
            ok &= c.ok;
        }
    return ok;
}

/* ---- Ports ------------------------------------------------------------------------------ */

static void add_ports(kn_pipeline *p)
{
    for (size_t i = 0; i < p->funcs.count; i++) {
        const Func *f = p->funcs.at[i];
        if (f->kind == FUNC_INPUT)
            vec_push(&p->arena, &p->ports,
                     ((kn_port){
                         .kind = KN_INPUT, .name = f->name, .type = f->types[0], .rank = f->rank, .dims = f->args }));
    }
    for (size_t i = 0; i < p->params.count; i++) {
        const Param *q = p->params.at[i];
        vec_push(&p->arena, &p->ports,
                 ((kn_port){ .kind        = KN_PARAM,
                             .name        = q->name,
                             .type        = q->type,
                             .has_default = q->has_default,
                             .value       = q->value }));
    }
    for (size_t i = 0; i < p->outputs.count; i++) {
        const Func *f = p->outputs.at[i].func;
        for (int c = 0; c < f->component_count; c++) {
            const char *name = f->component_count == 1 ? p->outputs.at[i].name
                                                       : arena_printf(&p->arena, "%s.%d", p->outputs.at[i].name, c);
            vec_push(&p->arena, &p->ports,
                     ((kn_port){ .kind     = KN_OUTPUT,
                                 .name     = name,
                                 .type     = f->types[c],
                                 .rank     = f->rank,
                                 .dims     = f->args,
                                 .estimate = p->outputs.at[i].estimate }));
        }
    }
}

int kn_port_count(const kn_pipeline *p)
{
    return p ? (int)p->ports.count : 0;
}

kn_port kn_port_get(const kn_pipeline *p, int index)
{
    if (!p || index < 0 || (size_t)index >= p->ports.count)
        return (kn_port){ .name = "" };
    return p->ports.at[index];
}

int kn_schedule_count(const kn_pipeline *p)
{
    return p ? (int)p->schedules.count : 0;
}

const char *kn_schedule_name(const kn_pipeline *p, int index)
{
    return index < 0 || index >= kn_schedule_count(p) ? NULL : p->schedules.at[index]->name;
}

bool pipeline_check(kn_pipeline *p)
{
    if (!order_functions(p) || !check_self_references(p))
        return false;
    add_ports(p);
    pipeline_tighten_indices(p);
    p->finished = true;
    return true;
}
