/* SPDX-License-Identifier: MIT */
/* Regions at a level: the box of every function that is needed within one iteration of a loop.
 *
 * Takes   a level, with the loops around it open.
 * Gives   a `let` for each end of each box, consumers before producers. A box refers to others by name, so the code is
 *         linear in the size of the pipeline.
 * How     The definition whose loop it is reads over the ranges of its inner loops. Every function computed inside the
 *         level reads over its own box at this level. A box is the hull of what is read. Updates are visited from the
 *         last to the first, as in analysis/boxes.c.
 * Holds   every access that can happen lies in the boxes. Accesses whose spans depend on conditions, data or floats
 *         are marked to be clamped.
 * From    Ragan-Kelley et al. 2013, section 4.2. */
#include "lower/loops/region_parts.h"

/* ---- Definitions ------------------------------------------------------------------------- */

/* Binds reduction variables to their bounds, each with those before it. */
static void bind_rvars(RegionWalk *r, const Update *u)
{
    Build *b = r->b;
    for (int i = 0; i < u->rvar_count; i++) {
        const SymSpan lo = span_of(&b->spans, u->rvars[i].lo), hi = span_of(&b->spans, u->rvars[i].hi);
        if ((!lo.min || !hi.max) && !b->failed) {
            b->failed = true;
            diag_error(b->lw->cx, u->loc, "give it bounds that can be known before anything is computed",
                       "the bounds of `%s` in an update of `%s` are unbounded", u->rvars[i].name, r->reader->name);
        }
        if (b->failed)
            return;
        const SymSpan range = { lo.min, x_sub(b->lw, hi.max, x_int(b->lw, 1)) };
        const Expr   *some  = x_le(b->lw, range.min, range.max);
        if (r->root || some->op == EX_INT) /* without steps nothing is read */
            b->spans.level[0].reachable = x_and(b->lw, b->spans.level[0].reachable, some);
        span_env_bind(&b->spans, u->rvars[i].name, range);
    }
}

/* Visits the accesses of an update whose variables are bound. *writing: the element that is written is known to be
 * needed. */
static void visit_update(SpanEnv *sp, const Func *f, const Update *u, bool *writing)
{
    for (int i = 0; i < u->rvar_count; i++) {
        visit_accesses(sp, u->rvars[i].lo);
        visit_accesses(sp, u->rvars[i].hi);
    }
    bool entered = false;
    *writing     = true; /* the condition, too, is evaluated only for elements that are needed */
    if (u->where) {
        visit_accesses(sp, u->where);
        entered = span_env_enter(sp, u->where, true);
    }
    for (int d = 0; d < f->rank; d++)
        visit_accesses(sp, u->args[d]);
    for (int c = 0; c < f->component_count; c++)
        visit_accesses(sp, u->values[c]);
    *writing = false;
    if (entered)
        span_env_leave(sp);
}

static void begin_definition(RegionWalk *r, const Func *f, const Update *u, const Expr *read_if)
{
    SpanEnv *sp = &r->b->spans;
    span_env_reset(sp, r->b->lw);
    sp->access             = note_access;
    sp->user               = r;
    sp->checking           = r->root;
    sp->level[0].reachable = read_if;
    r->reader              = f;
    r->update              = u;
}

static void bind_box(RegionWalk *r, const Func *f, const Update *u, const SymBox *box)
{
    for (int d = 0; d < f->rank; d++)
        if (!u || u->is_free[d])
            span_env_bind(&r->b->spans, f->args[d], (SymSpan){ box->min[d], box->max[d] });
}

/* The accesses of one definition over a box of its free variables. */
static void read_over(RegionWalk *r, const Func *f, int update, const SymBox *box, const Expr *read_if, SymNeed *self)
{
    const Update *u = update < 0 ? NULL : &f->updates[update];
    begin_definition(r, f, u, read_if);
    bind_box(r, f, u, box);
    r->self = self;
    if (u) {
        bind_rvars(r, u);
        if (!r->b->failed)
            visit_update(&r->b->spans, f, u, &r->writing);
    } else {
        for (int c = 0; c < f->component_count; c++)
            visit_accesses(&r->b->spans, f->values[c]);
    }
    const PlanFunc *pf = plan_func(r->b->plan, f);
    for (size_t i = 0; r->root && i < pf->kept_reads.count; i++)
        if (pf->kept_reads.at[i].update == update)
            visit_accesses(&r->b->spans, pf->kept_reads.at[i].call);
    r->self = NULL;
    if (r->root)
        check_inputs(r);
}

/* The spans of its reduction variables. To be found before other spans are begun: it takes spans itself. */
static const SymSpan *nest_reduction(Build *b, LoopNest *n)
{
    const Update *u    = nest_update(n);
    SymSpan      *span = ARENA_ARRAY(b->lw->arena, SymSpan, (size_t)(u ? u->rvar_count : 0));
    for (int i = 0; u && i < u->rvar_count; i++)
        span[i] = nest_span(b, n, u->rvars[i].name);
    return span;
}

static void visit_nest(Build *b, LoopNest *n, const SymSpan *reduction, bool *writing)
{
    const Func   *f = n->def->func;
    const Update *u = nest_update(n);
    for (int i = 0; u && i < u->rvar_count; i++)
        span_env_bind(&b->spans, u->rvars[i].name, reduction[i]);
    for (int d = 0; d < f->rank; d++)
        if (!u || u->is_free[d])
            span_env_bind(&b->spans, f->args[d], nest_span(b, n, f->args[d]));
    if (u)
        visit_update(&b->spans, f, u, writing);
    else
        for (int c = 0; c < f->component_count; c++)
            visit_accesses(&b->spans, f->values[c]);
}

/* The accesses of the definition whose loop the level is, over the ranges of its inner loops. */
static void read_nest(RegionWalk *r, LoopNest *n)
{
    const SymSpan *reduction = nest_reduction(r->b, n);
    begin_definition(r, n->def->func, nest_update(n), NULL);
    r->when = r->level.loop < shared_loops_depth(n) ? shared_loops_compute_if(r->b, n) : NULL;
    visit_nest(r->b, n, reduction, &r->writing);
    r->when = NULL;
}

void nest_accesses(Build *b, LoopNest *n, SpanAccess *access, void *user)
{
    bool           writing;
    const SymSpan *reduction = nest_reduction(b, n);
    span_env_reset(&b->spans, b->lw);
    b->spans.access   = access;
    b->spans.user     = user;
    b->spans.checking = false;
    visit_nest(b, n, reduction, &writing);
}

/* ---- Boxes ------------------------------------------------------------------------------- */

static void name_box(RegionWalk *r, const Func *f, SymBox *box, const char *suffix)
{
    Build *b = r->b;
    for (int d = 0; d < f->rank; d++) {
        box->min[d] = prelude_let(b, r->w, region_name(b, f, d, arena_printf(b->lw->arena, "min%s", suffix), r->level),
                                  box->min[d]);
        box->max[d] = prelude_let(b, r->w, region_name(b, f, d, arena_printf(b->lw->arena, "max%s", suffix), r->level),
                                  box->max[d]);
    }
}

/* Gives a box that may be empty the ends 0..-1 where it is, so that no code computes with ends far apart. Keeps the
 * ends before, and the condition that it is not empty. */
static void normalize_empty(RegionWalk *r, const Func *f, FuncBoxes *boxes)
{
    Lower  *lw  = r->b->lw;
    SymBox *box = &boxes->pure;
    name_box(r, f, box, ".asked");
    boxes->asked = *box;
    boxes->some  = f->rank ? name_condition(r, box_nonempty(r->b, box, f->rank)) : NULL;
    for (int d = 0; d < f->rank; d++) {
        box->min[d] = x_select(lw, boxes->some, box->min[d], x_int(lw, 0));
        box->max[d] = x_select(lw, boxes->some, box->max[d], x_int(lw, -1));
    }
}

/* bound: the needed box must lie in the promised one. */
static void check_bounds(RegionWalk *r, const Func *f, const SymBox *box, const Expr *read_if)
{
    Lower          *lw = r->b->lw;
    const PlanFunc *pf = plan_func(r->b->plan, f);
    for (int d = 0; d < f->rank; d++) {
        if (!pf->bound_min[d])
            continue;
        const Expr *min = pf->bound_min[d], *max = x_sub(lw, x_add(lw, min, pf->bound_extent[d]), x_int(lw, 1));
        const Expr *none = x_op(lw, EX_LT, box->max[d], box->min[d]);
        if (read_if)
            none = x_op(lw, EX_OR, none, expr_unary(lw->exprs, EX_BIT_NOT, KN_BOOL, read_if));
        const Expr *kept = x_op(lw, EX_OR, none, x_and(lw, x_le(lw, min, box->min[d]), x_le(lw, box->max[d], max)));
        const char *message =
            arena_printf(lw->arena, "more of `%s` is needed along %s than its schedule promises with `bound`", f->name,
                         pf->origin->args[d]);
        /* an error of the schedule: running the interpreter instead would hide it */
        prelude_before(r->b, r->w, build_check(r->b, KN_ERROR_ARGUMENT, kept, message));
    }
}

/* The boxes of the definitions of a function, from the last update to the pure definition, and their accesses. */
static void visit_function(RegionWalk *r, const Func *f, FuncBoxes *boxes)
{
    Build *b       = r->b;
    boxes->updates = ARENA_ARRAY(b->lw->arena, SymBox, (size_t)f->update_count);
    boxes->tables  = ARENA_ARRAY(b->lw->arena, StepTable, (size_t)f->update_count);
    for (int u = f->update_count - 1; u >= 0 && !b->failed; u--) {
        SymNeed self = { .any = true, .certain = true, .box = boxes->pure };
        if (update_reads_neighbours(b, f, u)) {
            SymBox before, after;
            step_boxes_make(b, f, u, &boxes->pure, r->level, r->w, &boxes->tables[u], &before, &after);
            boxes->updates[u] = after;
            read_over(r, f, u, &after, boxes->read_if, NULL);
            self.box = before;
        } else {
            boxes->updates[u] = boxes->pure;
            read_over(r, f, u, &boxes->pure, boxes->read_if, &self);
        }
        if (!box_same(&self.box, &boxes->pure, f->rank)) {
            boxes->pure = self.box;
            name_box(r, f, &boxes->pure, arena_printf(b->lw->arena, ".u%d", u));
        }
    }
    if (!b->failed && f->kind == FUNC_DEFINED)
        read_over(r, f, -1, &boxes->pure, boxes->read_if, NULL);
}

/* The boxes that an extern stage asks of its arguments. */
static void visit_stage(RegionWalk *r, const Func *f, const FuncBoxes *boxes)
{
    Build *b                    = r->b;
    SymSpan(*need)[KN_MAX_RANK] = arena_array(b->lw->arena, (size_t)f->stage_arg_count + 1, sizeof *need);
    extern_stage_needs(b, f, &boxes->pure, boxes->read_if, r->level, r->w, need);
    r->reader = f;
    r->update = NULL;
    for (int i = 0; i < f->stage_arg_count; i++) {
        const Func *arg = f->stage_args[i].func;
        if (arg &&
            (arg->kind == FUNC_INPUT ? r->root : level_encloses(b->plan, r->level, plan_func(b->plan, arg)->compute)))
            grow_need_if(r, &r->need[arg->id], arg, need[i], boxes->read_if, r->when);
    }
    if (r->root)
        check_inputs(r);
}

/* A box that may lie beyond the coordinates, because data or parameters decide it, is checked not to, if it is read at
 * all. Sums that may wrap have checks of their own. */
static void check_coordinates(RegionWalk *r, const SymBox *asked, const FuncBoxes *boxes, int rank)
{
    enum { SURELY_COORDINATES = 1 << 30 };
    Lower *lw = r->b->lw;
    for (int d = 0; d < rank; d++) {
        int64_t lo, hi, none;
        simplifier_bounds(lw->simplifier, asked->min[d], &lo, &none);
        simplifier_bounds(lw->simplifier, asked->max[d], &none, &hi);
        if (lo >= -SURELY_COORDINATES && hi <= SURELY_COORDINATES)
            continue;
        const Expr *far = x_int(lw, MOST_COORDINATE), *min = boxes->pure.min[d], *max = boxes->pure.max[d];
        const Expr *ok =
            x_op(lw, EX_OR, x_op(lw, EX_LT, max, min), x_and(lw, x_le(lw, x_neg(lw, far), min), x_le(lw, max, far)));
        if (boxes->read_if)
            ok = x_op(lw, EX_OR, ok, expr_unary(lw->exprs, EX_BIT_NOT, KN_BOOL, boxes->read_if));
        vec_push(lw->arena, &r->b->spans.checks, ok);
    }
}

/* The box is grown by the updates before it is stored or folded. */
static void find_region(RegionWalk *r, const Func *f)
{
    Build          *b    = r->b;
    const PlanFunc *pf   = plan_func(b->plan, f);
    const bool      here = level_same(r->level, pf->compute), stored = level_same(r->level, pf->store);
    FuncBoxes       boxes = { .needed = true, .pure = r->need[f->id].box };

    if (!r->need[f->id].certain)
        normalize_empty(r, f, &boxes);
    r->when = boxes.some;
    name_box(r, f, &boxes.pure, "");
    if (r->need[f->id].certain)
        boxes.asked = boxes.pure;
    boxes.read_if = r->need[f->id].read_if ? name_condition(r, r->need[f->id].read_if) : NULL;
    boxes.need    = boxes.pure;
    if (r->root) {
        b->is_read[f->id] = true;
        b->read_if[f->id] = boxes.read_if;
        check_coordinates(r, &r->need[f->id].box, &boxes, f->rank);
        b->at_root[f->id]       = boxes.need;
        b->at_root[f->id].known = true;
    }
    boxes.missing = r->missing = r->need[f->id].missing;
    if (here && !stored)
        r->missing = x_and(b->lw, r->missing, slide_box(b, f, &boxes, r->w));
    visit_function(r, f, &boxes);
    if (here && !stored && b->slides[f->id].march.step)
        boxes.pure.max[b->slides[f->id].dims[0]] = b->slides[f->id].march.last;
    r->missing = NULL;
    if ((here || stored) && !boxes.some)
        whole_box(b, f, r->level, &boxes.pure, r->w);
    if (f->kind == FUNC_STAGE)
        visit_stage(r, f, &boxes);
    r->when = NULL;
    if (r->root)
        check_bounds(r, f, &boxes.pure, boxes.read_if);
    if (here) {
        SymBox all = boxes.pure;
        for (int i = 0; !stored && i < b->slides[f->id].count; i++)
            all.min[b->slides[f->id].dims[i]] = boxes.need.min[b->slides[f->id].dims[i]];
        all = box_widened(b, f, all);
        fold_check(b, f, &all, &boxes);
        b->boxes[f->id] = boxes;
    }
    if (stored) {
        b->stored[f->id]       = box_widened(b, f, boxes.pure);
        b->stored[f->id].known = true;
    }
}

/* The boxes of the outputs. Where there are several, an empty one asks for nothing. */
static void add_output_needs(RegionWalk *r)
{
    Build *b = r->b;
    for (int i = 0; i < b->plan->output_count; i++) {
        const Func  *f   = b->plan->outputs[i];
        const SymBox box = port_box(b, f);
        SymSpan      index[KN_MAX_RANK];
        for (int d = 0; d < f->rank; d++)
            index[d] = (SymSpan){ box.min[d], box.max[d] };
        grow_need(b->lw, &r->need[f->id], f->rank, index,
                  b->plan->output_count > 1 && f->rank ? box_nonempty(b, &box, f->rank) : NULL);
        r->need[f->id].certain = true;
    }
}

/* One check for all sums that might wrap. */
static void add_checks(RegionWalk *r)
{
    Build      *b   = r->b;
    Lower      *lw  = b->lw;
    const Expr *all = NULL;
    for (size_t i = 0; i < b->spans.checks.count; i++)
        all = x_and(lw, all, b->spans.checks.at[i]);
    if (all)
        prelude_before(b, r->w,
                       build_check(b, KN_ERROR_BOUNDS, all,
                                   "an index is beyond the coordinates that compiled code can use (2^28)"));
}

void regions_begin(Build *b, PlanLevel level, LoopNest *nest, Prelude *w)
{
    RegionWalk r = { .b = b, .level = level, .w = w, .root = !level.def };
    map_init(&r.read_if, b->lw->arena);
    map_init(&r.dormant, b->lw->arena);
    r.need = ARENA_ARRAY(b->lw->arena, SymNeed, (size_t)b->plan->func_count);
    if (nest)
        read_nest(&r, nest);
    else
        add_output_needs(&r);
    for (int i = 0; nest && i < nest->partner_count; i++) /* after the leading nest, whose split modes they take */
        if (nest->partners[i]->def->with.loop >= level.loop)
            read_nest(&r, nest->partners[i]);
    for (int i = b->plan->func_count - 1; i >= 0 && !b->failed; i--) {
        const Func     *f  = b->plan->funcs[i].func;
        const PlanFunc *pf = &b->plan->funcs[i];
        if (f->kind != FUNC_INPUT && r.need[i].any && (r.root || b->is_read[i]) &&
            level_encloses(b->plan, level, pf->compute))
            find_region(&r, f);
    }
    if (r.root)
        add_checks(&r);
}
