/* SPDX-License-Identifier: MIT */
/* compute_with: definitions that share the outer loops of another.
 *
 * Takes   the nest of a definition, and partners whose loops the plan has found to have the same shape.
 * Gives   a nest for each partner. The shared loops run over the hull of all boxes. A variable of one nest corresponds
 *         to a variable of the others by the same splits and fuses. Inside the last shared loop each nest goes on
 *         alone, under the condition that the point is in its own box.
 * Holds   for all boxes. Where they are equal the conditions simplify to true. */
#include "lower/loops/build.h"

bool shared_loops_joined(Build *b, const PlanDef *def)
{
    return def->with.def && b->boxes[def->with.def->func->id].needed && b->boxes[def->func->id].needed;
}

int shared_loops_depth(const LoopNest *n)
{
    int depth = n->same ? n->def->with.loop + 1 : 0;
    for (int i = 0; i < n->partner_count; i++)
        if (n->partners[i]->def->with.loop >= depth)
            depth = n->partners[i]->def->with.loop + 1;
    return depth;
}

const Expr *shared_loops_read_if(Build *b, const PlanFunc *pf)
{
    const Expr *read_if = b->read_if[pf->func->id];
    for (int i = pf->func->id + 1; i < b->plan->func_count && read_if; i++) {
        const PlanFunc *other = &b->plan->funcs[i];
        for (int k = 0; other->func->kind == FUNC_DEFINED && k <= other->func->update_count && read_if; k++)
            if (other->defs[k].with.def && other->defs[k].with.def->func == pf->func &&
                shared_loops_joined(b, &other->defs[k]))
                read_if = b->read_if[i] ? x_op(b->lw, EX_OR, read_if, b->read_if[i]) : NULL;
    }
    return read_if;
}

/* ---- Names that are the same ------------------------------------------------------------- */

static const char **same_of(const LoopNest *p, const char *name)
{
    return &p->same[nest_find(p, name) - p->vars];
}

static bool set_same(const LoopNest *p, const char *name, const char *same)
{
    const char **at = same_of(p, name);
    const bool new  = !*at;
    *at             = same;
    return new;
}

/* Variables that correspond by one step of the partner and the same step of the leading nest. True: new ones were
 * found. */
static bool match_step(const LoopNest *p, const PlanStep *mine, const PlanStep *other)
{
    const char *whole = *same_of(p, mine->whole), *outer = *same_of(p, mine->outer), *inner = *same_of(p, mine->inner);
    const bool like = mine->kind == STEP_SPLIT ? outer == other->outer || inner == other->inner : whole == other->whole;
    if (mine->kind != other->kind || !like)
        return false;
    bool more = set_same(p, mine->whole, other->whole);
    more |= set_same(p, mine->outer, other->outer);
    more |= set_same(p, mine->inner, other->inner);
    return more;
}

/* From the shared loops back to the variables that they are made of. */
static void match_names(Build *b, LoopNest *p, const LoopNest *n)
{
    p->same = ARENA_ARRAY(b->lw->arena, const char *, (size_t)p->var_count);
    for (int i = 0; i <= p->def->with.loop; i++)
        set_same(p, p->def->loops[i].var, n->def->loops[i].var);
    for (bool again = true; again;) {
        again = false;
        for (int i = 0; i < p->def->step_count; i++)
            for (int k = 0; k < n->def->step_count; k++)
                again |= match_step(p, &p->def->steps[i], &n->def->steps[k]);
    }
}

/* Are all the loops that a variable was split into shared? */
static bool is_shared(const PlanDef *def, const char *name)
{
    const int loop = nest_loop(def, name);
    for (int i = 0; loop < 0 && i < def->step_count; i++) {
        const PlanStep *s = &def->steps[i];
        if (s->kind == STEP_SPLIT && s->whole == name)
            return is_shared(def, s->outer) && is_shared(def, s->inner);
        if (s->kind == STEP_FUSE && (s->outer == name || s->inner == name))
            return is_shared(def, s->whole);
    }
    return loop >= 0 && loop <= def->with.loop;
}

/* A split whose loops are all shared takes the mode of that of the leading nest. */
static void follow_splits(Build *b, LoopNest *p, const LoopNest *n)
{
    p->lead      = n->modes;
    p->lead_vars = n->vars;
    p->follows   = ARENA_ARRAY(b->lw->arena, int, (size_t)p->def->step_count);
    for (int i = 0; i < p->def->step_count; i++) {
        const PlanStep *mine = &p->def->steps[i];
        p->follows[i]        = -1;
        for (int k = 0; k < n->def->step_count; k++)
            if (mine->kind == STEP_SPLIT && n->def->steps[k].kind == STEP_SPLIT &&
                *same_of(p, mine->outer) == n->def->steps[k].outer && is_shared(p->def, mine->whole))
                p->follows[i] = k;
    }
}

/* ---- Ranges ------------------------------------------------------------------------------ */

static bool is_free(const LoopNest *n, int d)
{
    return n->def->update < 0 || n->def->func->updates[n->def->update].is_free[d];
}

/* The dimension of the partner that is dimension d of the nest, or -1. */
static int same_dim(const LoopNest *p, const LoopNest *n, int d)
{
    for (int e = 0; e < p->def->func->rank; e++)
        if (is_free(p, e) && *same_of(p, p->def->func->args[e]) == n->def->func->args[d])
            return e;
    return -1;
}

/* The loops of dimension d go from min to max. Points outside the nest's own box are guarded. */
static void set_range(Build *b, LoopNest *n, int d, const Expr *min, const Expr *max)
{
    Lower      *lw = b->lw;
    NestVar    *at = nest_find(n, n->def->func->args[d]);
    const Expr *x  = expr_var(lw->exprs, KN_I32, at->name);
    at->min        = min;
    at->extent     = x_extent(lw, min, max);
    if (n->box.min[d] == min && n->box.max[d] == max) {
        n->shared[d] = false;
        return;
    }
    n->shared[d] = true;
    n->guard     = x_and(lw, n->guard, x_and(lw, x_le(lw, n->box.min[d], x), x_le(lw, x, n->box.max[d])));
}

/* Dimension d: the hull of the boxes, for all that share its loops. */
static void share_range(Build *b, LoopNest *n, int d)
{
    Lower      *lw  = b->lw;
    const Expr *min = n->box.min[d], *max = n->box.max[d];
    bool        any = false;
    for (int i = 0; i < n->partner_count; i++) {
        const int e = same_dim(n->partners[i], n, d);
        if (e < 0)
            continue;
        any = true;
        min = simplify(lw->simplifier, x_min(lw, min, n->partners[i]->box.min[e]));
        max = simplify(lw->simplifier, x_max(lw, max, n->partners[i]->box.max[e]));
    }
    if (!any)
        return;
    set_range(b, n, d, min, max);
    for (int i = 0; i < n->partner_count; i++) {
        const int e = same_dim(n->partners[i], n, d);
        if (e >= 0)
            set_range(b, n->partners[i], e, min, max);
    }
}

/* The condition that the box of a nest is not empty: that of a producer of a sliding window may be, while its partners
 * make the loops run. NULL: it is known to hold. */
static const Expr *box_some(Build *b, const LoopNest *n)
{
    int64_t     holds;
    const Expr *some = box_nonempty(b, &n->box, n->def->func->rank);
    some             = some ? simplify(b->lw->simplifier, some) : NULL;
    return some && expr_is_int(some, &holds) && holds ? NULL : some;
}

void shared_loops_begin(Build *b, LoopNest *n)
{
    const Plan *plan    = b->plan;
    VEC(LoopNest *) all = { 0 };
    for (int i = n->def->func->id + 1; n->def->func->id >= 0 && i < plan->func_count; i++) {
        const PlanFunc *pf = &plan->funcs[i];
        for (int k = 0; pf->func->kind == FUNC_DEFINED && k <= pf->func->update_count; k++) {
            if (pf->defs[k].with.def != n->def || !shared_loops_joined(b, &pf->defs[k]))
                continue;
            LoopNest *p = ARENA_NEW(b->lw->arena, LoopNest);
            nest_init(b, p, &pf->defs[k], &b->boxes[i]);
            match_names(b, p, n);
            follow_splits(b, p, n);
            vec_push(b->lw->arena, &all, p);
        }
    }
    n->partners      = all.at;
    n->partner_count = (int)all.count;
    for (int d = 0; d < n->def->func->rank && all.count; d++)
        if (is_free(n, d))
            share_range(b, n, d);
    n->some = n->partner_count ? box_some(b, n) : NULL;
    for (int i = 0; i < n->partner_count; i++)
        n->partners[i]->some = box_some(b, n->partners[i]);
}

/* ---- In the loops ------------------------------------------------------------------------- */

void shared_loops_bind(Build *b, LoopNest *n, int loop, Prelude *w)
{
    for (int i = 0; i < n->partner_count; i++) {
        LoopNest *p = n->partners[i];
        for (int k = 0; loop <= p->def->with.loop && k < p->var_count; k++) {
            if (!p->same[k] || p->vars[k].bound || !nest_find(n, p->same[k])->bound)
                continue;
            nest_span_all(b, p, p->vars[k].name); /* may add a guard: the bounds of a reduction */
            nest_bind(b, p, p->vars[k].name, expr_var(b->lw->exprs, KN_I32, p->same[k]), w);
        }
    }
}

const Expr *shared_loops_compute_if(Build *b, const LoopNest *n)
{
    const Expr *read_if = b->read_if[n->def->func->id];
    return n->some ? x_and(b->lw, read_if, n->some) : read_if;
}

const Expr *shared_loops_meet(Build *b, LoopNest *n)
{
    Lower      *lw = b->lw;
    const Expr *c  = shared_loops_compute_if(b, n);
    for (int d = 0; d < n->def->func->rank; d++) {
        if (!n->shared[d])
            continue;
        const SymSpan s = nest_span_all(b, n, n->def->func->args[d]);
        c               = x_and(lw, c, x_and(lw, x_le(lw, s.min, n->box.max[d]), x_le(lw, n->box.min[d], s.max)));
    }
    return c;
}
