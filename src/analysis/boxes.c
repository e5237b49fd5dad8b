/* SPDX-License-Identifier: MIT */
/* The box of every function that the outputs need.
 *
 * Takes   a finished pipeline, the boxes of its inputs and outputs, the values of its parameters.
 * Gives   per function the smallest box that holds every access that can happen; per update the points and steps to
 *         run.
 * How     Consumers first, each function once: the accesses of its definitions over its own box grow the boxes of its
 *         producers. Updates are visited from the last to the first, because an earlier one makes what a later one
 *         reads: the free box of an update is what is needed after it. An update that reads its neighbours (a time
 *         loop: a(x+1, t-1)) is walked backwards step by step. Its box grows by one ring per step, but not past a
 *         border that the condition excludes.
 * From    Ragan-Kelley et al. 2013, section 4.2, over numbers. */
#include "analysis/boxes.h"

/* Is it the value that the update replaces? A store outside the box is dropped before its old value is read. */
static bool is_old_value(const Boxes *b, const Expr *call)
{
    return b->writing && expr_is_call_at(call, b->reader, b->update->args);
}

static void record_access(void *user, const Expr *call, const Range *index)
{
    Boxes      *b = user;
    const Func *f = call->u.call.func;
    if (is_old_value(b, call))
        return;
    for (int d = 0; d < f->rank; d++)
        need_add(b, f, d, index[d].lo, index[d].hi, (Cause){ b->reader, call });
    b->need[f->id].needed = true;
}

static void check_points(Boxes *b, const Func *f)
{
    const BoxNeed *n      = &b->need[f->id];
    Wide           points = 1;
    for (int d = 0; d < f->rank && !b->unlimited; d++) {
        points *= n->box.max[d] - n->box.min[d] + 1;
        if (points >> most_points_log2) {
            boxes_fail(b, (Failure){ .kind = FAIL_LARGE, .func = f });
            return;
        }
    }
}

/* ---- Updates ---------------------------------------------------------------------------- */

/* Does `e` read `f` at another coordinate of a free dimension than it writes? Visited nodes are marked in the cells of
 * the evaluator. */
static bool reads_shifted(Evaluator *ev, const Expr *e, const Func *f, const Update *u)
{
    Cell *c = &environment_now(ev)->cells[e->id];
    if (c->visited == environment_now(ev)->stamp || !has_calls(ev, e))
        return false;
    c->visited = environment_now(ev)->stamp;
    for (uint32_t i = 0; i < e->count; i++) {
        if (e->op == EX_CALL && e->u.call.func == f && u->is_free[i] && e->args[i] != u->args[i])
            return true;
        if (reads_shifted(ev, e->args[i], f, u))
            return true;
    }
    return false;
}

static bool reads_neighbours(Boxes *b, const Func *f, const Update *u)
{
    Evaluator *ev = &b->evaluator;
    environment_reset(ev);
    bool yes = u->where && reads_shifted(ev, u->where, f, u);
    for (int i = 0; i < u->rvar_count && !yes; i++)
        yes = reads_shifted(ev, u->rvars[i].lo, f, u) || reads_shifted(ev, u->rvars[i].hi, f, u);
    for (int d = 0; d < f->rank && !yes; d++)
        yes = reads_shifted(ev, u->args[d], f, u);
    for (int c = 0; c < f->component_count && !yes; c++)
        yes = reads_shifted(ev, u->values[c], f, u);
    return yes;
}

/* The accesses of an update over `free`, of one step or of the whole domain. */
static void visit_update(Boxes *b, const Func *f, int update, const Box *free, const int64_t *step, UpdateRegion *r)
{
    const int bound = update_bind(&b->evaluator, f, update, free, step, r->lo, r->hi);
    update_visit(&b->evaluator, f, update, bound, &b->writing);
}

/* The number of steps of the reduction domain's box; false if it has no bounds. */
static bool count_steps(Boxes *b, const Func *f, const Update *u, const UpdateRegion *r, int64_t *steps)
{
    Wide n = 1;
    for (int i = 0; i < u->rvar_count; i++) {
        const int64_t extent = r->hi[i] - r->lo[i];
        if (extent >= most_extent) {
            boxes_fail(b, (Failure){ .kind = FAIL_REDUCTION, .func = f, .update = u, .dim = i });
            return false;
        }
        n = extent <= 0 ? 0 : wide_min(n * extent, INT64_MAX);
    }
    *steps = (int64_t)n;
    return true;
}

static void keep_boxes(Boxes *b, UpdateRegion *r)
{
    r->free = b->keep ? ARENA_ARRAY(b->keep, Box, (size_t)r->steps + 1) : NULL;
}

static void keep_box(UpdateRegion *r, int64_t step, const Box *box)
{
    if (r->free)
        r->free[step] = *box;
}

/* One visit for the whole reduction domain. */
static void whole_update(Boxes *b, const Func *f, int update, UpdateRegion *r)
{
    const Box box = b->need[f->id].box;
    int64_t   steps;
    update_bind(&b->evaluator, f, update, &box, NULL, r->lo, r->hi);
    if (!count_steps(b, f, &f->updates[update], r, &steps))
        return;
    visit_update(b, f, update, &box, NULL, r);
    keep_boxes(b, r);
    keep_box(r, 0, &box);
}

/* Can the step write into the box at all? */
static bool step_matters(Boxes *b, const Func *f, int update, const Box *box, const int64_t *step)
{
    Evaluator    *ev = &b->evaluator;
    const Update *u  = &f->updates[update];
    int64_t       lo[KN_MAX_RANK * 2], hi[KN_MAX_RANK * 2];
    if (update_bind(ev, f, update, box, step, lo, hi) < u->rvar_count || !update_assume(ev, f, update))
        return false;
    const Branch branch = u->where ? branch_enter(ev, u->where, true) : (Branch){ 0 };
    if (branch.dead)
        return false;
    bool inside = true;
    for (int d = 0; d < f->rank && inside; d++) {
        const Range at = evaluate(ev, u->args[d]);
        inside         = at.lo <= box->max[d] && at.hi >= box->min[d];
    }
    branch_leave(ev, branch);
    return inside;
}

/* The steps from the last to the first: what each reads is needed before it. */
static void walk_steps(Boxes *b, const Func *f, int update, UpdateRegion *r)
{
    const Update *u = &f->updates[update];
    UpdateRegion  one;
    for (int64_t s = r->steps - 1; s >= 0 && b->failure.kind == FAIL_NONE; s--) {
        int64_t step[KN_MAX_RANK * 2], rest = s;
        for (int i = u->rvar_count - 1; i >= 0; i--) {
            step[i] = r->lo[i] + rest % (r->hi[i] - r->lo[i]);
            rest /= r->hi[i] - r->lo[i];
        }
        context_spend(b->cx, 16);
        const Box  box = b->need[f->id].box, none = box_empty();
        const bool run = step_matters(b, f, update, &box, step);
        keep_box(r, s, run ? &box : &none);
        if (run)
            visit_update(b, f, update, &box, step, &one);
    }
}

/* The box of all coordinates. */
static Box box_everything(void)
{
    Box box;
    for (int d = 0; d < KN_MAX_RANK; d++) {
        box.min[d] = INT32_MIN;
        box.max[d] = INT32_MAX;
    }
    return box;
}

/* Step by step. The bounds of the steps may depend on the free variables, whose box grows during the walk: then it is
 * repeated with the larger domain. A domain that still grows after some rounds, more if it is small, becomes that of
 * all points. Steps that are too many then write into no box, and cost only time. */
static void stepwise_update(Boxes *b, const Func *f, int update, UpdateRegion *r)
{
    enum { ROUNDS = 4, ROUNDS_IF_SMALL = 16, SMALL = 256 };
    const Update *u     = &f->updates[update];
    const BoxNeed start = b->need[f->id];
    Box           box   = start.box;
    bool          last  = false;
    for (int round = 0; b->failure.kind == FAIL_NONE; round++) {
        b->need[f->id] = start;
        if (last)
            box = box_everything();
        const bool any = update_bind(&b->evaluator, f, update, &box, NULL, r->lo, r->hi) == u->rvar_count;
        if (!count_steps(b, f, u, r, &r->steps))
            return;
        r->steps = any ? r->steps : 0;
        if (b->is_frugal && r->steps > b->steps_left) {
            b->steps_left = -1;
            boxes_fail(b, (Failure){ .kind = FAIL_LARGE, .func = f });
            return;
        }
        b->steps_left -= b->is_frugal ? r->steps : 0;
        context_spend(b->cx, (uint64_t)r->steps);
        keep_boxes(b, r);
        keep_box(r, 0, &box);
        walk_steps(b, f, update, r);
        if (last)
            return;
        last               = round + 1 >= (r->steps <= SMALL ? ROUNDS_IF_SMALL : ROUNDS);
        box                = b->need[f->id].box;
        UpdateRegion again = { 0 };
        update_bind(&b->evaluator, f, update, &box, NULL, again.lo, again.hi);
        if (!memcmp(again.lo, r->lo, sizeof again.lo[0] * (size_t)u->rvar_count) &&
            !memcmp(again.hi, r->hi, sizeof again.hi[0] * (size_t)u->rvar_count))
            return;
    }
}

/* ---- Functions -------------------------------------------------------------------------- */

static void visit_pure(Boxes *b, const Func *f)
{
    Evaluator *ev  = &b->evaluator;
    const Box  box = b->need[f->id].box;
    environment_reset(ev);
    for (int d = 0; d < f->rank; d++)
        environment_bind(ev, f->args[d], range_int(box.min[d], box.max[d]));
    for (int c = 0; c < f->component_count; c++)
        visit(ev, f->values[c]);
}

static UpdateRegion *visit_defined(Boxes *b, const Func *f)
{
    UpdateRegion *regions = b->keep ? ARENA_ARRAY(b->keep, UpdateRegion, (size_t)f->update_count) : NULL;
    for (int u = f->update_count - 1; u >= 0 && b->failure.kind == FAIL_NONE; u--) {
        UpdateRegion r = { 0 };
        b->update      = &f->updates[u];
        if (reads_neighbours(b, f, b->update))
            stepwise_update(b, f, u, &r);
        else
            whole_update(b, f, u, &r);
        if (regions)
            regions[u] = r;
    }
    b->update = NULL;
    if (b->failure.kind == FAIL_NONE)
        visit_pure(b, f);
    return regions;
}

static void check_input(Boxes *b, const Func *f)
{
    const Box *given = &b->binding->input[f->id], *box = &b->need[f->id].box;
    for (int d = 0; d < f->rank; d++)
        if (box->min[d] < given->min[d] || box->max[d] > given->max[d])
            boxes_fail(b, (Failure){ .kind = FAIL_INPUT, .func = f, .dim = d });
}

/* The boxes of the outputs. */
static void note_outputs(Boxes *b)
{
    for (size_t i = 0; i < b->pipeline->outputs.count; i++) {
        const Func *f   = b->pipeline->outputs.at[i].func;
        const Box  *box = &b->binding->output[i];
        if (box_is_empty(box, f->rank))
            continue;
        for (int d = 0; d < f->rank; d++)
            need_add(b, f, d, box->min[d], box->max[d], (Cause){ 0 });
        b->need[f->id].needed = true;
    }
}

void boxes_init(Boxes *b, kn_pipeline *p, Arena *arena, const RunArgs *binding)
{
    *b      = (Boxes){ .pipeline = p, .cx = p->cx, .binding = binding };
    b->need = ARENA_ARRAY(arena, BoxNeed, p->funcs.count);
    evaluator_init(&b->evaluator, p, arena, binding);
    evaluator_add_values(&b->evaluator);
    b->evaluator.record = record_access;
    b->evaluator.user   = b;
}

/* Inputs are checked last: a region without bounds is reported before an input that is too small for it. */
bool boxes_compute(Boxes *b, Arena *arena, Regions *out)
{
    const size_t count = b->pipeline->funcs.count;
    b->failure         = (Failure){ 0 };
    memset(b->need, 0, count * sizeof *b->need);
    b->keep        = out ? arena : NULL;
    FuncRegion *of = out ? ARENA_ARRAY(arena, FuncRegion, count) : NULL;
    note_outputs(b);
    for (size_t i = count; i-- > 0 && b->failure.kind == FAIL_NONE;) {
        const Func *f = b->pipeline->funcs.at[i];
        b->reader     = f;
        if (!b->need[i].needed)
            continue;
        UpdateRegion *updates = NULL;
        if (f->kind == FUNC_STAGE)
            extern_stage_query(b, f);
        else if (f->kind == FUNC_DEFINED)
            updates = visit_defined(b, f);
        check_points(b, f);
        if (of)
            of[i] = (FuncRegion){ .needed = true, .box = b->need[i].box, .updates = updates };
    }
    for (size_t i = 0; i < count && b->failure.kind == FAIL_NONE; i++)
        if (b->need[i].needed && b->pipeline->funcs.at[i]->kind == FUNC_INPUT)
            check_input(b, b->pipeline->funcs.at[i]);
    if (out)
        out->of = of;
    return b->failure.kind == FAIL_NONE;
}
