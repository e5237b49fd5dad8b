/* SPDX-License-Identifier: MIT */
/* The loops of one definition before they are code: variables, ranges and bindings.
 *
 * Takes   a definition with its loops and the steps (splits, fuses) that made them, and the box to be computed.
 * Gives   the range of each loop, the span of each variable while some loops are open, and a `let` for every variable
 *         whose value is known. emit_nest.c makes the loops.
 * From    Ragan-Kelley et al. 2013, section 4.1. */
#include "lower/loops/build.h"

/* ---- Names ------------------------------------------------------------------------------ */

NestVar *nest_find(const LoopNest *n, const char *name)
{
    for (int i = 0; i < n->var_count; i++)
        if (n->vars[i].name == name)
            return &n->vars[i];
    return NULL;
}

static NestVar *add_name(LoopNest *n, const char *name)
{
    NestVar *at = nest_find(n, name);
    if (at)
        return at;
    at  = &n->vars[n->var_count++];
    *at = (NestVar){ .name = name };
    return at;
}

bool nest_is_bound(const LoopNest *n, const char *name)
{
    return nest_find(n, name)->bound;
}

const Update *nest_update(const LoopNest *n)
{
    return n->def->update < 0 ? NULL : &n->def->func->updates[n->def->update];
}

const PlanStep *nest_split_of_inner(const LoopNest *n, const char *name, int *index)
{
    for (int i = 0; i < n->def->step_count; i++)
        if (n->def->steps[i].kind == STEP_SPLIT && n->def->steps[i].inner == name)
            return *index = i, &n->def->steps[i];
    return NULL;
}

const PlanStep *nest_split_of_outer(const LoopNest *n, const char *name, int *index)
{
    for (int i = 0; i < n->def->step_count; i++)
        if (n->def->steps[i].kind == STEP_SPLIT && n->def->steps[i].outer == name)
            return *index = i, &n->def->steps[i];
    return NULL;
}

int nest_loop(const PlanDef *def, const char *name)
{
    for (int i = 0; i < def->loop_count; i++)
        if (def->loops[i].var == name)
            return i;
    return -1;
}

bool nest_is_fixed_length(const LoopNest *n, const char *name)
{
    const int i = nest_loop(n->def, name);
    return i >= 0 && !n->scalar[i] && loop_table[n->def->loops[i].kind].constant;
}

/* Points are then computed twice: not by two threads where the result has no meaning. */
bool nest_may_shift(const LoopNest *n, const PlanStep *s)
{
    bool parallel = false;
    for (int i = 0; i < n->def->loop_count; i++)
        parallel |= n->def->loops[i].kind == LOOP_PARALLEL;
    return (s->tail == TAIL_SHIFT_INWARD || s->tail == TAIL_ROUND_UP) && !(n->widened && parallel);
}

/* The mode of a split. That of a split that follows is the leading nest's. */
static SplitMode split_mode(const LoopNest *n, int step)
{
    return n->follows && n->follows[step] >= 0 ? n->lead[n->follows[step]] : n->modes[step];
}

void nest_init(Build *b, LoopNest *n, const PlanDef *def, const FuncBoxes *boxes)
{
    const Func   *f = def->func;
    Arena        *a = b->lw->arena;
    const Update *u = def->update < 0 ? NULL : &f->updates[def->update];
    *n = (LoopNest){ .def = def, .boxes = boxes, .box = def->update < 0 ? boxes->pure : boxes->updates[def->update] };
    const StepTable *table = u && boxes->tables[def->update].buffer ? &boxes->tables[def->update] : NULL;
    const SymBox     range = f->id < 0 || table ? n->box : box_widened(b, f, n->box);
    n->vars =
        ARENA_ARRAY(a, NestVar, (size_t)(f->rank + (u ? u->rvar_count : 0) + 3 * def->step_count + def->loop_count));
    n->modes  = ARENA_ARRAY(a, SplitMode, (size_t)def->step_count);
    n->scalar = ARENA_ARRAY(a, bool, (size_t)def->loop_count);
    for (int d = 0; d < f->rank; d++)
        if (!u || u->is_free[d]) {
            NestVar *at = add_name(n, f->args[d]);
            if (table && !table->still[d])
                continue; /* known in each step only */
            at->min      = range.min[d];
            at->extent   = x_extent(b->lw, range.min[d], range.max[d]);
            n->shared[d] = f->id >= 0 && !table && box_widens(b, f, d);
            n->widened |= n->shared[d];
        }
    for (int i = 0; u && i < u->rvar_count; i++)
        add_name(n, u->rvars[i].name);
    for (int i = 0; i < def->step_count; i++) {
        add_name(n, def->steps[i].whole);
        add_name(n, def->steps[i].outer);
        add_name(n, def->steps[i].inner);
    }
    for (int i = 0; i < def->loop_count; i++)
        add_name(n, def->loops[i].var);
}

/* Another version of the loops from here on. */
LoopNest nest_copy(Build *b, const LoopNest *n)
{
    LoopNest  c    = *n;
    Arena    *a    = b->lw->arena;
    const int vars = n->def->func->rank + 3 * n->def->step_count + n->def->loop_count + 2 * KN_MAX_RANK + 2;
    c.vars         = ARENA_ARRAY(a, NestVar, (size_t)vars);
    c.modes        = ARENA_ARRAY(a, SplitMode, (size_t)n->def->step_count);
    c.scalar       = ARENA_ARRAY(a, bool, (size_t)n->def->loop_count);
    memcpy(c.vars, n->vars, (size_t)n->var_count * sizeof *c.vars);
    memcpy(c.modes, n->modes, (size_t)n->def->step_count * sizeof *c.modes);
    memcpy(c.scalar, n->scalar, (size_t)n->def->loop_count * sizeof *c.scalar);
    c.partners = ARENA_ARRAY(a, LoopNest *, (size_t)n->partner_count);
    for (int i = 0; i < n->partner_count; i++) {
        c.partners[i]            = ARENA_NEW(a, LoopNest);
        *c.partners[i]           = nest_copy(b, n->partners[i]);
        c.partners[i]->lead      = c.modes;
        c.partners[i]->lead_vars = c.vars;
    }
    return c;
}

/* ---- Ranges ----------------------------------------------------------------------------- */

/* A reduction variable: its bounds over the variables that are not bound yet. Where that is more than its own range, a
 * guard is added. */
static void find_rvar_range(Build *b, LoopNest *n, NestVar *at, const RVar *r)
{
    Lower        *lw = b->lw;
    const Update *u  = nest_update(n);
    span_env_reset(&b->spans, lw);
    b->spans.checking = false;
    for (int i = 0; i < n->var_count; i++)
        if (!n->vars[i].bound && &n->vars[i] != at && n->vars[i].min)
            span_env_bind(&b->spans, n->vars[i].name, nest_span(b, n, n->vars[i].name));
    for (int d = 0; d < n->def->func->rank; d++) /* with a step table: the largest box of all steps */
        if (u->is_free[d] && !nest_find(n, n->def->func->args[d])->min)
            span_env_bind(&b->spans, n->def->func->args[d], (SymSpan){ n->box.min[d], n->box.max[d] });
    const SymSpan lo = span_of(&b->spans, r->lo), hi = span_of(&b->spans, r->hi);
    at->min    = clamped(b, lo.min ? lo.min : r->lo);
    at->extent = x_sub(lw, clamped(b, hi.max ? hi.max : r->hi), at->min);
    if (lo.min != lo.max || hi.min != hi.max) {
        const Expr *v = x_var(b->lw, r->name);
        n->guard      = x_and(lw, n->guard, x_and(lw, x_le(lw, r->lo, v), x_op(lw, EX_LT, v, r->hi)));
    }
}

/* The inner loop of a split: the rest of the extent where that is known, else the factor. */
static void find_inner_range(Build *b, LoopNest *n, NestVar *at, const PlanStep *s, int index)
{
    Lower      *lw     = b->lw;
    const Expr *factor = x_int(lw, s->factor);
    nest_range(b, n, s->whole);
    const Expr *extent = nest_find(n, s->whole)->extent;
    at->min            = x_int(lw, 0);
    at->extent         = factor;
    const bool follows = n->follows && n->follows[index] >= 0;
    if (follows || nest_is_fixed_length(n, s->inner) ||
        (n->modes[index] != SPLIT_OPEN && n->modes[index] != SPLIT_EXACT))
        return;
    /* if the outer loop is one loop, no span has used the pieces before it was opened */
    const bool again = nest_may_shift(n, s) && n->modes[index] == SPLIT_OPEN && nest_loop(n->def, s->outer) >= 0;
    if (!nest_is_bound(n, s->outer)) {
        n->modes[index] = SPLIT_GUARD;
    } else if (again) {
        n->modes[index] = SPLIT_SHIFT;
        at->extent      = x_min(lw, factor, extent);
    } else {
        n->modes[index] = SPLIT_EXACT;
        at->extent      = x_min(lw, factor, x_sub(lw, extent, x_op(lw, EX_MUL, x_var(b->lw, s->outer), factor)));
    }
}

void nest_range(Build *b, LoopNest *n, const char *name)
{
    Lower   *lw = b->lw;
    NestVar *at = nest_find(n, name);
    int      index;
    if (at->min)
        return;
    const Update *u = nest_update(n);
    for (int i = 0; u && i < u->rvar_count; i++)
        if (u->rvars[i].name == name) {
            find_rvar_range(b, n, at, &u->rvars[i]);
            return;
        }
    const PlanStep *s = nest_split_of_outer(n, name, &index);
    if (s) {
        nest_range(b, n, s->whole);
        at->min = x_int(lw, 0);
        at->extent =
            x_op(lw, EX_DIV, x_add(lw, nest_find(n, s->whole)->extent, x_int(lw, s->factor - 1)), x_int(lw, s->factor));
        return;
    }
    s = nest_split_of_inner(n, name, &index);
    if (s) {
        find_inner_range(b, n, at, s, index);
        return;
    }
    for (int i = 0; i < n->def->step_count; i++)
        if (n->def->steps[i].kind == STEP_FUSE && n->def->steps[i].whole == name) {
            nest_range(b, n, n->def->steps[i].outer);
            nest_range(b, n, n->def->steps[i].inner);
            at->min    = x_int(lw, 0);
            at->extent = x_op(lw, EX_MUL, x_max(lw, nest_find(n, n->def->steps[i].outer)->extent, x_int(lw, 0)),
                              x_max(lw, nest_find(n, n->def->steps[i].inner)->extent, x_int(lw, 0)));
        }
}

/* Is any loop that the variable was split into bound? */
static bool is_partly_bound(const LoopNest *n, const char *name)
{
    if (nest_is_bound(n, name))
        return true;
    for (int i = 0; i < n->def->step_count; i++) {
        const PlanStep *s = &n->def->steps[i];
        if (s->kind == STEP_SPLIT && s->whole == name)
            return is_partly_bound(n, s->outer) || is_partly_bound(n, s->inner);
        if (s->kind == STEP_FUSE && (s->outer == name || s->inner == name))
            return is_partly_bound(n, s->whole);
    }
    return false;
}

/* Where the piece of outer iteration `at` begins, counted from the begin of the split variable. */
static const Expr *piece_begin(Lower *lw, const PlanStep *s, SplitMode mode, const Expr *at, const Expr *extent)
{
    const Expr *begin = x_op(lw, EX_MUL, at, x_int(lw, s->factor));
    if (mode != SPLIT_SHIFT)
        return begin;
    return x_min(lw, begin, x_max(lw, x_sub(lw, extent, x_int(lw, s->factor)), x_int(lw, 0)));
}

/* The extent that the pieces of a split are shifted within. Those of a split that follows begin where the leading
 * nest's do: a piece of a piece may have less than the factor there. */
static const Expr *shifted_extent(const LoopNest *n, int step)
{
    const NestVar *at = nest_find(n, n->def->steps[step].whole), *lead = n->lead_vars;
    if (split_mode(n, step) != SPLIT_SHIFT || !n->follows || n->follows[step] < 0)
        return at->extent;
    while (lead->name != n->same[at - n->vars])
        lead++;
    return lead->extent;
}

SymSpan nest_span_all(Build *b, LoopNest *n, const char *name)
{
    Lower         *lw = b->lw;
    const NestVar *at = nest_find(n, name);
    if (at->bound)
        return (SymSpan){ x_var(b->lw, name), x_var(b->lw, name) };
    if (!at->min)
        nest_range(b, n, name);
    for (int d = 0; !at->min; d++) /* its range differs from step to step: the largest box of all steps */
        if (n->def->func->args[d] == name)
            return (SymSpan){ n->box.min[d], n->box.max[d] };
    const Expr   *last = x_sub(lw, x_add(lw, at->min, at->extent), x_int(lw, 1));
    const SymSpan all  = { at->min, last };
    if (!is_partly_bound(n, name))
        return all;
    for (int i = 0; i < n->def->step_count; i++) {
        const PlanStep *s = &n->def->steps[i];
        if (s->kind != STEP_SPLIT || s->whole != name)
            continue;
        const SymSpan outer = nest_span_all(b, n, s->outer), inner = nest_span_all(b, n, s->inner);
        const Expr   *within = shifted_extent(n, i);
        const Expr   *low    = x_add(lw, piece_begin(lw, s, split_mode(n, i), outer.min, within), inner.min);
        const Expr   *high   = x_add(lw, piece_begin(lw, s, split_mode(n, i), outer.max, within), inner.max);
        /* a guarded piece may begin beyond the end; a span is never empty */
        const bool  guarded = split_mode(n, i) == SPLIT_GUARD || split_mode(n, i) == SPLIT_OPEN;
        const Expr *first   = x_add(lw, at->min, low);
        return (SymSpan){ guarded ? x_min(lw, last, first) : first, x_min(lw, last, x_add(lw, at->min, high)) };
    }
    return all;
}

/* Never empty: where the loops are outside the box it is the nearest point of the box. So accesses need no
 * condition. */
SymSpan nest_span(Build *b, LoopNest *n, const char *name)
{
    Lower      *lw = b->lw;
    const Func *f  = n->def->func;
    SymSpan     s  = nest_span_all(b, n, name);
    for (int d = 0; d < f->rank; d++)
        if (n->shared[d] && f->args[d] == name) {
            s.min = x_max(lw, x_min(lw, s.min, n->box.max[d]), n->box.min[d]);
            s.max = x_max(lw, x_min(lw, s.max, n->box.max[d]), n->box.min[d]);
        }
    return s;
}

/* ---- Variables that have become known --------------------------------------------------- */

void nest_bind(Build *b, LoopNest *n, const char *name, const Expr *value, Prelude *w)
{
    prelude_let(b, w, name, value);
    nest_find(n, name)->bound = true;
}

/* whole = min + piece_begin(outer) + inner, guarded where the mode does not keep it in range. Copies of an unrolled
 * inner loop are constants away from a named begin, so that they share loads; a constant added to a minimum may become
 * part of it. */
static void bind_whole(Build *b, LoopNest *n, int index, Prelude *w)
{
    Lower          *lw = b->lw;
    const PlanStep *s  = &n->def->steps[index];
    nest_range(b, n, s->whole);
    nest_range(b, n, s->inner);
    const NestVar *whole = nest_find(n, s->whole);
    const Expr    *begin = piece_begin(lw, s, n->modes[index], x_var(b->lw, s->outer), whole->extent);
    const int      loop  = nest_loop(n->def, s->inner);
    if (n->modes[index] == SPLIT_SHIFT && loop >= 0 && n->def->loops[loop].kind == LOOP_UNROLL)
        begin = prelude_let(b, w, arena_printf(lw->arena, "%s.begin", s->whole), begin);
    const Expr *value = x_add(lw, whole->min, x_add(lw, begin, x_var(b->lw, s->inner)));
    const Expr *last  = x_sub(lw, x_add(lw, whole->min, whole->extent), x_int(lw, 1));
    const bool  guard = n->modes[index] == SPLIT_GUARD || n->modes[index] == SPLIT_OPEN;
    nest_bind(b, n, s->whole, value, w);
    if (guard)
        prelude_if(b, w, x_le(lw, x_var(b->lw, s->whole), last));
}

static bool bind_step(Build *b, LoopNest *n, int index, Prelude *w)
{
    Lower          *lw = b->lw;
    const PlanStep *s  = &n->def->steps[index];
    if (s->kind == STEP_SPLIT) {
        if (nest_is_bound(n, s->whole) || !nest_is_bound(n, s->outer) || !nest_is_bound(n, s->inner))
            return false;
        bind_whole(b, n, index, w);
        return true;
    }
    if (!nest_is_bound(n, s->whole) || nest_is_bound(n, s->outer))
        return false;
    const NestVar *outer = nest_find(n, s->outer), *inner = nest_find(n, s->inner);
    nest_bind(b, n, s->outer, x_add(lw, outer->min, x_op(lw, EX_DIV, x_var(b->lw, s->whole), inner->extent)), w);
    nest_bind(b, n, s->inner, x_add(lw, inner->min, x_op(lw, EX_MOD, x_var(b->lw, s->whole), inner->extent)), w);
    return true;
}

/* With a step table: the box of this step, once all reduction variables are bound. */
static void bind_step_box(Build *b, LoopNest *n, Prelude *w)
{
    Lower        *lw = b->lw;
    const Func   *f  = n->def->func;
    const Update *u  = nest_update(n);
    if (!u || !n->boxes->tables[n->def->update].buffer)
        return;
    for (int i = 0; i < u->rvar_count; i++)
        if (!nest_is_bound(n, u->rvars[i].name))
            return;
    const StepTable *table = &n->boxes->tables[n->def->update];
    for (int d = 0; d < f->rank; d++)
        if (u->is_free[d] && !table->still[d] && nest_find(n, f->args[d])->min)
            return;
    step_box(b, f, n->def->update, table, w, &n->box);
    for (int d = 0; d < f->rank; d++) {
        NestVar *at = u->is_free[d] && !table->still[d] ? nest_find(n, f->args[d]) : NULL;
        if (at) {
            at->min    = n->box.min[d];
            at->extent = x_extent(lw, n->box.min[d], n->box.max[d]);
        }
    }
}

void nest_bind_known(Build *b, LoopNest *n, Prelude *w)
{
    bool again = true;
    while (again) {
        again = false;
        for (int i = n->def->step_count - 1; i >= 0; i--)
            again |= bind_step(b, n, i, w);
    }
    bind_step_box(b, n, w);
}
