/* SPDX-License-Identifier: MIT */
/* Plain loop nests: a pipeline without a schedule, at one size.
 *
 * Takes   a plan by the default schedule, of which only what it inlines counts, and the boxes of all functions.
 * Gives   a nest for the pure definition of each function and one for each of its updates, producers first. Short
 *         reductions are one expression (as plan/expand.c has them). Sizes and parameters that are no floats are
 *         numbers, so bounds and subscripts are affine or seen not to be.
 * Holds   each point is computed from the same values in the same order as by the interpreter: steps outside all
 *         points, or inside them where a step reads and writes its own point alone. */
#include "lower/nests.h"

#include "analysis/boxes.h"
#include "base/map.h"

#include <string.h>

enum { MOST_STEPS_AS_ONE = 27, MOST_STEPS_APART = 64 };

typedef struct Maker {
    Nests         *nests;
    Plan          *plan;
    const RunArgs *args;
    const Regions *regions;
    Simplifier    *simplifier;
    ExprPool      *pool;
    Arena         *arena;
    Map            numbers; /* name of a variable -> the number that it is */
    bool           fine;
} Maker;

static const Expr *number(const Maker *m, int64_t v)
{
    return expr_int(m->pool, KN_I32, v);
}

/* ---- Numbers in place of sizes and parameters ---- */

static void note_sizes(Maker *m, const Func *input, const Box *box)
{
    for (int d = 0; d < input->rank; d++) {
        const char *min = arena_printf(m->arena, "%s.min.%d", input->name, d),
                   *all = arena_printf(m->arena, "%s.extent.%d", input->name, d);
        map_set(&m->numbers, intern(m->nests->cx, min), number(m, box->min[d]));
        map_set(&m->numbers, intern(m->nests->cx, all), number(m, box->max[d] - box->min[d] + 1));
    }
}

static bool stays_param(const Param *p)
{
    return p->type == KN_F32 || p->type == KN_F64;
}

static const Expr *as_number(void *user, const Expr *e)
{
    const Maker *m = user;
    if (e->op == EX_VAR) {
        const Expr *v = map_get(&m->numbers, e->u.name);
        return v ? v : e;
    }
    if (e->op != EX_PARAM || stays_param(e->u.param))
        return e;
    size_t i = 0;
    while (m->plan->pipeline->params.at[i] != e->u.param)
        i++;
    const kn_scalar v = m->args->param[i];
    return type_is_float(e->type) ? expr_float(m->pool, e->type, v.as.f) : expr_int(m->pool, e->type, v.as.i);
}

static const Expr *with_numbers(Maker *m, const Expr *e)
{
    return e ? simplify(m->simplifier, expr_rewrite(m->pool, e, as_number, m)) : NULL;
}

/* ---- What is affine ---- */

static bool is_affine(Maker *m, const Expr *e);

static bool divides_affinely(Maker *m, const Expr *e)
{
    int64_t by, lo, hi;
    if (!expr_is_int(e->args[1], &by) || by <= 0 || !is_affine(m, e->args[0]))
        return false;
    simplifier_bounds(m->simplifier, e->args[0], &lo, &hi);
    return lo >= 0 || !(by & (by - 1));
}

static bool is_affine(Maker *m, const Expr *e)
{
    int64_t c;
    switch ((ExprOp)e->op) {
    case EX_INT:
    case EX_VAR: return true;
    case EX_MUL:
        return (expr_is_int(e->args[0], &c) || expr_is_int(e->args[1], &c)) && is_affine(m, e->args[0]) &&
               is_affine(m, e->args[1]);
    case EX_DIV:
    case EX_MOD: return divides_affinely(m, e);
    case EX_BIT_NOT: return e->type == KN_BOOL && is_affine(m, e->args[0]);
    case EX_NEG:
    case EX_ADD:
    case EX_SUB:
    case EX_MIN:
    case EX_MAX:
    case EX_LT:
    case EX_LE:
    case EX_EQ:
    case EX_NE:
    case EX_AND:
    case EX_OR:
    case EX_SELECT: break;
    default: return false;
    }
    for (uint32_t i = 0; i < e->count; i++)
        if (type_is_float(e->args[i]->type) || !is_affine(m, e->args[i]))
            return false;
    return true;
}

static const char *why_not_affine(Maker *m, const Nest *n)
{
    for (int i = 0; i < n->loop_count; i++)
        if (!is_affine(m, n->loops[i].lo) || !is_affine(m, n->loops[i].last))
            return arena_printf(m->arena, "the bounds of `%s` depend on data", n->loops[i].var);
    for (int d = 0; d < n->func->rank; d++)
        if (!is_affine(m, n->at[d]))
            return "the place that is written depends on data";
    return n->where && !is_affine(m, n->where) ? "its condition depends on data" : NULL;
}

/* ---- Loops ---- */

void nest_enter(Simplifier *s, const Nest *nest)
{
    for (int i = 0; i < nest->loop_count; i++)
        simplifier_push_range(s, nest->loops[i].var, nest->loops[i].lo, nest->loops[i].last);
}

void nest_leave(Simplifier *s, const Nest *nest)
{
    for (int i = 0; i < nest->loop_count; i++)
        simplifier_pop(s);
}

/* A loop inside those that are there. */
static void add_loop(Maker *m, Nest *n, const char *var, const Expr *lo, const Expr *last, int64_t least, int64_t most)
{
    n->loops[n->loop_count++] = (NestLoop){ var, lo, last, least, most };
    simplifier_push_range(m->simplifier, var, lo, last);
}

static void add_dims(Maker *m, Nest *n, const Box *box)
{
    for (int d = n->func->rank - 1; d >= 0; d--)
        if (n->update < 0 || n->func->updates[n->update].is_free[d])
            add_loop(m, n, n->func->args[d], number(m, box->min[d]), number(m, box->max[d]), box->min[d], box->max[d]);
}

static void add_steps(Maker *m, Nest *n, const Update *u, const UpdateRegion *r)
{
    for (int i = 0; i < u->rvar_count; i++) {
        const Expr *lo = with_numbers(m, u->rvars[i].lo);
        const Expr *hi = with_numbers(m, expr_binary(m->pool, EX_SUB, KN_I32, u->rvars[i].hi, number(m, 1)));
        add_loop(m, n, u->rvars[i].name, lo, hi, r->lo[i], r->hi[i] - 1);
    }
}

static bool is_empty(const Box *box, const Func *f, const Update *u)
{
    for (int d = 0; d < f->rank; d++)
        if ((!u || u->is_free[d]) && box->min[d] > box->max[d])
            return true;
    return false;
}

static bool refuse(Maker *m, Loc loc, const char *name, const char *why)
{
    diag_error(m->nests->cx, loc, NULL, "c-naive: `%s` %s", name, why);
    m->fine = false;
    return false;
}

/* base + slope * (t - lo): the coordinate of a box in the step t. */
static const Expr *at_step(const Maker *m, const RVar *t, int64_t lo, int64_t base, int64_t slope)
{
    const Expr *var = expr_var(m->pool, KN_I32, t->name);
    return expr_binary(m->pool, EX_ADD, KN_I32, number(m, base - slope * lo),
                       expr_binary(m->pool, EX_MUL, KN_I32, var, number(m, slope)));
}

/* The loops of an update with a box for each step: they are from `from` to `to`, and their ends are affine in t. */
static bool add_moving_dims(Maker *m, Nest *n, const Update *u, const UpdateRegion *r, int64_t from, int64_t to)
{
    for (int d = n->func->rank - 1; d >= 0; d--) {
        if (!u->is_free[d])
            continue;
        const Box    *first = &r->free[from], *last = &r->free[to];
        const int64_t steps = to > from ? to - from : 1, min = (last->min[d] - first->min[d]) / steps,
                      max = (last->max[d] - first->max[d]) / steps;
        int64_t least = first->min[d], most = first->max[d];
        for (int64_t k = from; k <= to; k++) {
            const Box *b = &r->free[k];
            if (b->min[d] != first->min[d] + min * (k - from) || b->max[d] != first->max[d] + max * (k - from))
                return false;
            least = b->min[d] < least ? b->min[d] : least;
            most  = b->max[d] > most ? b->max[d] : most;
        }
        const int64_t t0 = r->lo[0] + from;
        add_loop(m, n, n->func->args[d], simplify(m->simplifier, at_step(m, &u->rvars[0], t0, first->min[d], min)),
                 simplify(m->simplifier, at_step(m, &u->rvars[0], t0, first->max[d], max)), least, most);
    }
    return true;
}

/* The steps from `from` to `to` of an update with one reduction variable. */
static bool add_moving(Maker *m, Nest *n, const Update *u, const UpdateRegion *r, int64_t from, int64_t to)
{
    const int64_t lo = r->lo[0] + from, last = r->lo[0] + to;
    add_loop(m, n, u->rvars[0].name, number(m, lo), number(m, last), lo, last);
    return add_moving_dims(m, n, u, r, from, to);
}

/* Does the step of an update depend on the point, and the order of both matter? That is refused. */
static bool is_refused(Maker *m, const Func *f, int k)
{
    const bool depends = def_facts(m->pool, f, k).bounding & FREE_VARIABLES;
    if (depends)
        refuse(m, f->updates[k].loc, f->name, "has bounds of steps that depend on its points, and reads others");
    return depends;
}

/* The loops of an update; false: there are no points, or it is refused. */
static bool add_update_loops(Maker *m, Nest *n, const Update *u, const UpdateRegion *r)
{
    const DefFacts facts = def_facts(m->pool, n->func, n->update);
    bool           inner = facts.own_place;
    for (int d = 0; d < n->func->rank; d++)
        inner &= u->is_free[d];
    for (int i = 0; i < u->rvar_count; i++)
        if (r->lo[i] >= r->hi[i])
            return false;
    if (is_empty(r->free, n->func, u))
        return false;
    if (!inner && is_refused(m, n->func, n->update))
        return false;
    if (!inner)
        add_steps(m, n, u, r);
    add_dims(m, n, r->free);
    if (inner)
        add_steps(m, n, u, r);
    return true;
}

/* ---- Nests ---- */

/* One step of a reduction, written out. */
typedef struct StepValue {
    const Func  *f;
    const Expr **now; /* its components before this step */
} StepValue;

static const Expr *value_before(void *user, const Expr *e)
{
    const StepValue *s = user;
    return e->op == EX_CALL && e->u.call.func == s->f ? s->now[e->u.call.index] : e;
}

static void write_out_step(Maker *m, StepValue *s, const Update *u, int64_t step)
{
    const Expr **next = ARENA_ARRAY(m->arena, const Expr *, (size_t)s->f->component_count);
    const char  *names[KN_MAX_RANK * 2];
    const Expr  *values[KN_MAX_RANK * 2];
    for (int i = u->rvar_count - 1; i >= 0; i--) {
        int64_t lo = 0, hi = 1;
        expr_is_int(u->rvars[i].lo, &lo);
        expr_is_int(u->rvars[i].hi, &hi);
        names[i]  = u->rvars[i].name;
        values[i] = number(m, lo + step % (hi - lo));
        step /= hi - lo;
    }
    for (int c = 0; c < s->f->component_count; c++)
        next[c] = expr_rewrite(m->pool, expr_substitute(m->pool, u->values[c], u->rvar_count, names, values),
                               value_before, s);
    s->now = next;
}

/* The steps of all updates of a function, if it can be one expression; else 0. */
static int64_t steps_as_one(Maker *m, const Func *f)
{
    int64_t steps = f->update_count && func_expands(m->pool, f) ? 1 : 0;
    for (int k = 0; k < f->update_count; k++)
        steps *= def_facts(m->pool, f, k).steps;
    return steps <= MOST_STEPS_AS_ONE ? steps : 0;
}

static const Expr **written_out(Maker *m, const Func *f)
{
    StepValue s = { f, f->values };
    for (int k = 0; k < f->update_count; k++)
        for (int64_t step = 0, all = def_facts(m->pool, f, k).steps; step < all; step++)
            write_out_step(m, &s, &f->updates[k], step);
    return s.now;
}

/* A place outside of the box is not written. */
static void guard_places(Maker *m, Nest *n, const Box *box)
{
    for (int d = 0; d < n->func->rank; d++) {
        int64_t lo, hi;
        simplifier_bounds(m->simplifier, n->at[d], &lo, &hi);
        const Expr *in[2] = { NULL, NULL };
        if (lo < box->min[d])
            in[0] = expr_binary(m->pool, EX_LE, KN_BOOL, number(m, box->min[d]), n->at[d]);
        if (hi > box->max[d])
            in[1] = expr_binary(m->pool, EX_LE, KN_BOOL, n->at[d], number(m, box->max[d]));
        for (int i = 0; i < 2; i++)
            if (in[i])
                n->where = n->where ? expr_binary(m->pool, EX_AND, KN_BOOL, n->where, in[i]) : in[i];
    }
}

/* The nest whose loops are open, with its values and places. */
static void finish_nest(Maker *m, Nest *n, const Expr *const *at, const Expr *const *values, const Expr *where,
                        const Box *box)
{
    const Func *f = n->func;
    n->at         = ARENA_ARRAY(m->arena, const Expr *, (size_t)f->rank + 1);
    n->values     = ARENA_ARRAY(m->arena, const Expr *, (size_t)f->component_count);
    for (int d = 0; d < f->rank; d++)
        n->at[d] = with_numbers(m, at[d]);
    n->where = with_numbers(m, where);
    for (int c = 0; c < f->component_count; c++)
        n->values[c] = with_numbers(m, values[c]);
    guard_places(m, n, box);
    n->not_affine = why_not_affine(m, n);
    nest_leave(m->simplifier, n);
    vec_push(m->arena, &m->nests->nests, *n);
}

/* An update whose box differs from step to step: one nest where a formula gives the boxes, else one for each step. */
static void make_moving(Maker *m, const Func *f, int k, const FuncRegion *region)
{
    const Update       *u    = &f->updates[k];
    const UpdateRegion *r    = &region->updates[k];
    int64_t             from = 0, to = r->steps - 1;
    if (is_refused(m, f, k))
        return;
    while (from <= to && is_empty(&r->free[from], f, u))
        from++;
    while (to >= from && is_empty(&r->free[to], f, u))
        to--;
    Nest all = { .func = f, .update = k };
    if (u->rvar_count == 1 && from <= to && add_moving(m, &all, u, r, from, to)) {
        finish_nest(m, &all, u->args, u->values, u->where, &region->box);
        return;
    }
    nest_leave(m->simplifier, &all);
    if (u->rvar_count != 1 || to - from >= MOST_STEPS_APART) {
        refuse(m, u->loc, f->name, "computes another box in each of many steps, which no formula gives");
        return;
    }
    for (; from <= to; from++) {
        Nest one = { .func = f, .update = k };
        if (is_empty(&r->free[from], f, u))
            continue;
        add_moving(m, &one, u, r, from, from);
        finish_nest(m, &one, u->args, u->values, u->where, &region->box);
    }
}

static void make_nests(Maker *m, const Func *f, const FuncRegion *r)
{
    const Expr *at[KN_MAX_RANK];
    const bool  as_one = steps_as_one(m, f) > 0;
    Nest        pure   = { .func = f, .update = -1 };
    if (is_empty(&r->box, f, NULL))
        return;
    for (int d = 0; d < f->rank; d++)
        at[d] = expr_var(m->pool, KN_I32, f->args[d]);
    add_dims(m, &pure, &r->box);
    finish_nest(m, &pure, at, as_one ? written_out(m, f) : f->values, NULL, &r->box);
    for (int k = 0; k < f->update_count && !as_one && m->fine; k++) {
        const Update *u    = &f->updates[k];
        Nest          nest = { .func = f, .update = k };
        if (r->updates[k].steps)
            make_moving(m, f, k, r);
        else if (add_update_loops(m, &nest, u, &r->updates[k]))
            finish_nest(m, &nest, u->args, u->values, u->where, &r->box);
        else
            nest_leave(m->simplifier, &nest);
    }
}

/* ---- Arrays ---- */

static bool is_output(const Plan *plan, const Func *f)
{
    for (int i = 0; i < plan->output_count; i++)
        if (plan->outputs[i] == f)
            return true;
    return false;
}

/* An output of which others read more than is asked for: the box asked for is copied out of it. */
static void copy_output(Maker *m, int output)
{
    const Func *f   = m->nests->outputs[output];
    NestArray  *all = &m->nests->arrays[f->id], *a = &m->nests->arrays[m->plan->func_count + output];
    const Box  *box  = &m->args->output[output];
    bool        same = true;
    for (int d = 0; d < f->rank; d++)
        same &= all->min[d] == box->min[d] && all->min[d] + all->extent[d] - 1 == box->max[d];
    if (same || all->role != NEST_OUTPUT || !m->regions->of[m->plan->funcs[f->id].origin->id].needed)
        return;
    Func        *copy   = ARENA_NEW(m->arena, Func);
    const Expr **values = ARENA_ARRAY(m->arena, const Expr *, (size_t)f->component_count);
    const Expr  *at[KN_MAX_RANK];
    *copy              = *f;
    copy->id           = m->plan->func_count + output;
    copy->update_count = 0;
    all->role          = NEST_LOCAL;
    *a                 = (NestArray){ .func = copy, .role = NEST_OUTPUT };
    for (int d = 0; d < f->rank; d++) {
        at[d]        = expr_var(m->pool, KN_I32, f->args[d]);
        a->min[d]    = box->min[d];
        a->extent[d] = box->max[d] < box->min[d] ? 0 : box->max[d] - box->min[d] + 1;
    }
    for (int c = 0; c < f->component_count; c++)
        values[c] = expr_call(m->pool, f, c, f->types[c], f->rank, at);
    m->nests->outputs[output] = copy;
    if (is_empty(box, f, NULL))
        return;
    Nest nest = { .func = copy, .update = -1 };
    add_dims(m, &nest, box);
    finish_nest(m, &nest, at, values, NULL, box);
}

static void make_array(Maker *m, const PlanFunc *pf)
{
    const Func       *f     = pf->func;
    const FuncRegion *r     = &m->regions->of[pf->origin->id];
    NestArray        *a     = &m->nests->arrays[f->id];
    const bool        input = f->kind == FUNC_INPUT;
    const Box        *box   = input ? &m->args->input[pf->origin->id] : &r->box;
    a->func                 = f;
    a->role = is_output(m->plan, f) ? NEST_OUTPUT : !r->needed ? NEST_UNUSED : input ? NEST_INPUT : NEST_LOCAL;
    for (int d = 0; d < f->rank; d++) {
        a->min[d]    = box->min[d];
        a->extent[d] = !r->needed || box->max[d] < box->min[d] ? 0 : box->max[d] - box->min[d] + 1;
    }
    if (input && r->needed)
        vec_push(m->arena, &m->nests->inputs, f);
    if (input)
        note_sizes(m, f, box);
}

Nests *nests_make(Plan *plan, const RunArgs *args, const Regions *regions, Arena *arena)
{
    Nests *n        = ARENA_NEW(arena, Nests);
    n->cx           = plan->cx;
    n->arena        = arena;
    n->exprs        = &plan->exprs;
    n->array_count  = plan->func_count + plan->output_count;
    n->arrays       = ARENA_ARRAY(arena, NestArray, (size_t)n->array_count);
    n->outputs      = ARENA_ARRAY(arena, const Func *, (size_t)plan->output_count);
    n->output_count = plan->output_count;
    Maker m         = { .nests = n, .plan = plan, .args = args, .regions = regions, .arena = arena, .fine = true };
    m.pool          = &plan->exprs;
    m.simplifier    = simplifier_new(m.pool, arena);
    map_init(&m.numbers, arena);
    for (size_t i = 0; i < plan->pipeline->params.count; i++)
        if (stays_param(plan->pipeline->params.at[i]))
            vec_push(arena, &n->params, plan->pipeline->params.at[i]);
    memcpy(n->outputs, plan->outputs, (size_t)plan->output_count * sizeof *n->outputs);
    for (int i = 0; i < plan->func_count; i++)
        make_array(&m, &plan->funcs[i]);
    for (int i = 0; i < plan->func_count && m.fine; i++) {
        const Func *f = plan->funcs[i].func;
        if (!regions->of[plan->funcs[i].origin->id].needed || f->kind == FUNC_INPUT)
            continue;
        make_nests(&m, f, &regions->of[plan->funcs[i].origin->id]);
    }
    for (int i = 0; i < plan->output_count && m.fine; i++)
        copy_output(&m, i);
    if (m.fine)
        nests_assign_storage(n, m.simplifier);
    return m.fine ? n : NULL;
}
