/* The loops of one definition.
 *
 * Takes   a definition with its loops and the steps that made them from its variables, and the box to be computed.
 * Gives   the loops, outermost first; after each, a `let` for every variable that has become known, and what is
 *         computed at that level.
 * Tails   A split inner loop is as long as is left. If it is a vector or unrolled, its length is fixed: SHIFT_INWARD
 *         begins the last one earlier, and keeps a plain copy of the loops for extents below the factor; GUARD tests
 *         whether a whole one is left and else runs a plain loop; PREDICATE runs the last one under a condition per
 *         lane. No region grows, so every size can be computed.
 * From    Ragan-Kelley et al. 2013, section 4.1. */
#include "lower/build.h"

enum { MOST_TWINS = 3 };

/* ---- Names ------------------------------------------------------------------------------ */

NestName *nest_find(const Nest *n, const char *name)
{
    for (int i = 0; i < n->name_count; i++)
        if (n->names[i].name == name)
            return &n->names[i];
    return NULL;
}

static NestName *add_name(Nest *n, const char *name)
{
    NestName *at = nest_find(n, name);
    if (at)
        return at;
    at  = &n->names[n->name_count++];
    *at = (NestName){ .name = name };
    return at;
}

static bool is_bound(const Nest *n, const char *name)
{
    return nest_find(n, name)->bound;
}

static const Expr *var(Build *b, const char *name)
{
    return expr_var(b->lw->exprs, KN_I32, name);
}

static const Update *update_of(const Nest *n)
{
    return n->def->update < 0 ? NULL : &n->def->func->updates[n->def->update];
}

static const PlanStep *split_of_inner(const Nest *n, const char *name, int *index)
{
    for (int i = 0; i < n->def->step_count; i++)
        if (n->def->steps[i].kind == STEP_SPLIT && n->def->steps[i].inner == name)
            return *index = i, &n->def->steps[i];
    return NULL;
}

static const PlanStep *split_of_outer(const Nest *n, const char *name, int *index)
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

/* Is it a loop of fixed length: a vector, or copies? */
static bool is_hard(const Nest *n, const char *name)
{
    const int i = nest_loop(n->def, name);
    return i >= 0 && !n->scalar[i] && (n->def->loops[i].kind == LOOP_VECTOR || n->def->loops[i].kind == LOOP_UNROLL);
}

/* May the last piece of a split begin earlier, so that some points are computed twice? Not by two threads where what
 * they compute has no meaning. */
static bool may_shift(const Nest *n, const PlanStep *s)
{
    bool parallel = false;
    for (int i = 0; i < n->def->loop_count; i++)
        parallel |= n->def->loops[i].kind == LOOP_PARALLEL;
    return (s->tail == TAIL_SHIFT_INWARD || s->tail == TAIL_ROUND_UP) && !(n->widened && parallel);
}

/* How a split fits. What a partner shares is decided in the nest whose loops it runs in. */
static SplitMode mode_of(const Nest *n, int step)
{
    return n->follows && n->follows[step] >= 0 ? n->lead[n->follows[step]] : n->modes[step];
}

void nest_init(Build *b, Nest *n, const PlanDef *def, const FuncBoxes *boxes)
{
    const Func   *f = def->func;
    Arena        *a = b->lw->arena;
    const Update *u = def->update < 0 ? NULL : &f->updates[def->update];
    *n = (Nest){ .def = def, .boxes = boxes, .box = def->update < 0 ? boxes->pure : boxes->updates[def->update] };
    const SymBox range = f->id < 0 ? n->box : box_widened(b, f, n->box);
    n->names =
        ARENA_ARRAY(a, NestName, (size_t)(f->rank + (u ? u->rvar_count : 0) + 3 * def->step_count + def->loop_count));
    n->modes  = ARENA_ARRAY(a, SplitMode, (size_t)def->step_count);
    n->scalar = ARENA_ARRAY(a, bool, (size_t)def->loop_count);
    for (int d = 0; d < f->rank; d++)
        if (!u || u->is_free[d]) {
            NestName *at = add_name(n, f->args[d]);
            if (u && boxes->tables[def->update].buffer)
                continue; /* known in each step */
            at->min      = range.min[d];
            at->extent   = x_add(b->lw, x_sub(b->lw, range.max[d], range.min[d]), x_int(b->lw, 1));
            n->shared[d] = f->id >= 0 && box_widens(b, f, d);
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

/* Another copy of the loops from here on. */
Nest nest_copy(Build *b, const Nest *n)
{
    Nest   c = *n;
    Arena *a = b->lw->arena;
    c.names  = ARENA_ARRAY(
         a, NestName, (size_t)(n->def->func->rank + 3 * n->def->step_count + n->def->loop_count + 2 * KN_MAX_RANK + 2));
    c.modes  = ARENA_ARRAY(a, SplitMode, (size_t)n->def->step_count);
    c.scalar = ARENA_ARRAY(a, bool, (size_t)n->def->loop_count);
    memcpy(c.names, n->names, (size_t)n->name_count * sizeof *c.names);
    memcpy(c.modes, n->modes, (size_t)n->def->step_count * sizeof *c.modes);
    memcpy(c.scalar, n->scalar, (size_t)n->def->loop_count * sizeof *c.scalar);
    c.partners = ARENA_ARRAY(a, Nest *, (size_t)n->partner_count);
    for (int i = 0; i < n->partner_count; i++) {
        c.partners[i]       = ARENA_NEW(a, Nest);
        *c.partners[i]      = nest_copy(b, n->partners[i]);
        c.partners[i]->lead = c.modes;
    }
    return c;
}

/* ---- Ranges ----------------------------------------------------------------------------- */

static void        range_of(Build *b, Nest *n, const char *name);
static const Expr *safe(Build *b, const Expr *e);

/* A reduction variable: its bounds over what is not fixed yet. Where that is more than its own, a condition keeps it in
 * them. */
static void range_of_rvar(Build *b, Nest *n, NestName *at, const RVar *r)
{
    Lower        *lw = b->lw;
    const Update *u  = update_of(n);
    spans_reset(&b->spans, lw);
    b->spans.checking = false;
    for (int i = 0; i < n->name_count; i++)
        if (!n->names[i].bound && &n->names[i] != at && n->names[i].min)
            spans_bind(&b->spans, n->names[i].name, nest_span(b, n, n->names[i].name));
    for (int d = 0; d < n->def->func->rank; d++) /* of a step table's nest: the most it can be */
        if (u->is_free[d] && !nest_find(n, n->def->func->args[d])->min)
            spans_bind(&b->spans, n->def->func->args[d], (Span){ n->box.min[d], n->box.max[d] });
    const Span lo = span_of(&b->spans, r->lo), hi = span_of(&b->spans, r->hi);
    at->min    = safe(b, lo.min ? lo.min : r->lo);
    at->extent = x_sub(lw, safe(b, hi.max ? hi.max : r->hi), at->min);
    if (lo.min != lo.max || hi.min != hi.max) {
        const Expr *v = var(b, r->name);
        n->guard      = x_and(lw, n->guard, x_and(lw, x_le(lw, r->lo, v), x_op(lw, EX_LT, v, r->hi)));
    }
}

/* The inner part of a split: what is left, where that is known; the factor otherwise. */
static void range_of_inner(Build *b, Nest *n, NestName *at, const PlanStep *s, int index)
{
    Lower      *lw     = b->lw;
    const Expr *factor = x_int(lw, s->factor);
    range_of(b, n, s->whole);
    const Expr *extent = nest_find(n, s->whole)->extent;
    at->min            = x_int(lw, 0);
    at->extent         = factor;
    const bool follows = n->follows && n->follows[index] >= 0;
    if (follows || is_hard(n, s->inner) || (n->modes[index] != SPLIT_OPEN && n->modes[index] != SPLIT_EXACT))
        return;
    /* only where the outer loop is one loop has nothing been said of the pieces before it was opened */
    const bool again = may_shift(n, s) && n->modes[index] == SPLIT_OPEN && nest_loop(n->def, s->outer) >= 0;
    if (!is_bound(n, s->outer)) {
        n->modes[index] = SPLIT_GUARD;
    } else if (again) {
        n->modes[index] = SPLIT_SHIFT;
        at->extent      = x_min(lw, factor, extent);
    } else {
        n->modes[index] = SPLIT_EXACT;
        at->extent      = x_min(lw, factor, x_sub(lw, extent, x_op(lw, EX_MUL, var(b, s->outer), factor)));
    }
}

static void range_of(Build *b, Nest *n, const char *name)
{
    Lower    *lw = b->lw;
    NestName *at = nest_find(n, name);
    int       index;
    if (at->min)
        return;
    const Update *u = update_of(n);
    for (int i = 0; u && i < u->rvar_count; i++)
        if (u->rvars[i].name == name) {
            range_of_rvar(b, n, at, &u->rvars[i]);
            return;
        }
    const PlanStep *s = split_of_outer(n, name, &index);
    if (s) {
        range_of(b, n, s->whole);
        at->min = x_int(lw, 0);
        at->extent =
            x_op(lw, EX_DIV, x_add(lw, nest_find(n, s->whole)->extent, x_int(lw, s->factor - 1)), x_int(lw, s->factor));
        return;
    }
    s = split_of_inner(n, name, &index);
    if (s) {
        range_of_inner(b, n, at, s, index);
        return;
    }
    for (int i = 0; i < n->def->step_count; i++)
        if (n->def->steps[i].kind == STEP_FUSE && n->def->steps[i].whole == name) {
            range_of(b, n, n->def->steps[i].outer);
            range_of(b, n, n->def->steps[i].inner);
            at->min    = x_int(lw, 0);
            at->extent = x_op(lw, EX_MUL, x_max(lw, nest_find(n, n->def->steps[i].outer)->extent, x_int(lw, 0)),
                              x_max(lw, nest_find(n, n->def->steps[i].inner)->extent, x_int(lw, 0)));
        }
}

/* Is any part of a name fixed here? */
static bool touched(const Nest *n, const char *name)
{
    if (is_bound(n, name))
        return true;
    for (int i = 0; i < n->def->step_count; i++) {
        const PlanStep *s = &n->def->steps[i];
        if (s->kind == STEP_SPLIT && s->whole == name)
            return touched(n, s->outer) || touched(n, s->inner);
        if (s->kind == STEP_FUSE && (s->outer == name || s->inner == name))
            return touched(n, s->whole);
    }
    return false;
}

/* The begin of the piece of a split that outer iteration `at` is about, counted from the split's own begin. */
static const Expr *piece(Lower *lw, const PlanStep *s, SplitMode mode, const Expr *at, const Expr *extent)
{
    const Expr *begin = x_op(lw, EX_MUL, at, x_int(lw, s->factor));
    if (mode != SPLIT_SHIFT)
        return begin;
    return x_min(lw, begin, x_max(lw, x_sub(lw, extent, x_int(lw, s->factor)), x_int(lw, 0)));
}

Span nest_span_all(Build *b, Nest *n, const char *name)
{
    Lower          *lw = b->lw;
    const NestName *at = nest_find(n, name);
    if (at->bound)
        return (Span){ var(b, name), var(b, name) };
    if (!at->min)
        range_of(b, n, name);
    for (int d = 0; !at->min; d++) /* free in a step that is not known here: the most it can be */
        if (n->def->func->args[d] == name)
            return (Span){ n->box.min[d], n->box.max[d] };
    const Expr *last = x_sub(lw, x_add(lw, at->min, at->extent), x_int(lw, 1));
    const Span  all  = { at->min, last };
    if (!touched(n, name))
        return all;
    for (int i = 0; i < n->def->step_count; i++) {
        const PlanStep *s = &n->def->steps[i];
        if (s->kind != STEP_SPLIT || s->whole != name)
            continue;
        const Span  outer = nest_span_all(b, n, s->outer), inner = nest_span_all(b, n, s->inner);
        const Expr *low  = x_add(lw, piece(lw, s, mode_of(n, i), outer.min, at->extent), inner.min);
        const Expr *high = x_add(lw, piece(lw, s, mode_of(n, i), outer.max, at->extent), inner.max);
        /* where a condition keeps what is beyond the end from running, the begin may be beyond it too: a span is never
         * empty */
        const bool  guarded = mode_of(n, i) == SPLIT_GUARD || mode_of(n, i) == SPLIT_OPEN;
        const Expr *first   = x_add(lw, at->min, low);
        return (Span){ guarded ? x_min(lw, last, first) : first, x_min(lw, last, x_add(lw, at->min, high)) };
    }
    return all;
}

/* Never empty: where the loops are beside the box, the point of it that is nearest. What reads this needs no conditions
 * then. */
Span nest_span(Build *b, Nest *n, const char *name)
{
    Lower      *lw = b->lw;
    const Func *f  = n->def->func;
    Span        s  = nest_span_all(b, n, name);
    for (int d = 0; d < f->rank; d++)
        if (n->shared[d] && f->args[d] == name) {
            s.min = x_max(lw, x_min(lw, s.min, n->box.max[d]), n->box.min[d]);
            s.max = x_max(lw, x_min(lw, s.max, n->box.max[d]), n->box.min[d]);
        }
    return s;
}

/* ---- Variables that have become known --------------------------------------------------- */

void nest_bind(Build *b, Nest *n, const char *name, const Expr *value, Wraps *w)
{
    wrap_let(b, w, name, value);
    nest_find(n, name)->bound = true;
}

/* whole = min + piece(outer) + inner, with the condition that it is in range where the mode does not see to that. */
static void bind_whole(Build *b, Nest *n, int index, Wraps *w)
{
    Lower          *lw = b->lw;
    const PlanStep *s  = &n->def->steps[index];
    range_of(b, n, s->whole);
    range_of(b, n, s->inner);
    const NestName *whole = nest_find(n, s->whole);
    const Expr     *begin = piece(lw, s, n->modes[index], var(b, s->outer), whole->extent);
    const Expr     *value = x_add(lw, whole->min, x_add(lw, begin, var(b, s->inner)));
    const Expr     *last  = x_sub(lw, x_add(lw, whole->min, whole->extent), x_int(lw, 1));
    const bool      guard = n->modes[index] == SPLIT_GUARD || n->modes[index] == SPLIT_OPEN;
    nest_bind(b, n, s->whole, value, w);
    if (guard)
        wrap_if(b, w, x_le(lw, var(b, s->whole), last));
}

static bool bind_step(Build *b, Nest *n, int index, Wraps *w)
{
    Lower          *lw = b->lw;
    const PlanStep *s  = &n->def->steps[index];
    if (s->kind == STEP_SPLIT) {
        if (is_bound(n, s->whole) || !is_bound(n, s->outer) || !is_bound(n, s->inner))
            return false;
        bind_whole(b, n, index, w);
        return true;
    }
    if (!is_bound(n, s->whole) || is_bound(n, s->outer))
        return false;
    const NestName *outer = nest_find(n, s->outer), *inner = nest_find(n, s->inner);
    nest_bind(b, n, s->outer, x_add(lw, outer->min, x_op(lw, EX_DIV, var(b, s->whole), inner->extent)), w);
    nest_bind(b, n, s->inner, x_add(lw, inner->min, x_op(lw, EX_MOD, var(b, s->whole), inner->extent)), w);
    return true;
}

/* In a nest with a step table: the free box, once all reduction variables are known. */
static void bind_step_box(Build *b, Nest *n, Wraps *w)
{
    Lower        *lw = b->lw;
    const Func   *f  = n->def->func;
    const Update *u  = update_of(n);
    if (!u || !n->boxes->tables[n->def->update].buffer)
        return;
    for (int i = 0; i < u->rvar_count; i++)
        if (!is_bound(n, u->rvars[i].name))
            return;
    for (int d = 0; d < f->rank; d++)
        if (u->is_free[d] && nest_find(n, f->args[d])->min)
            return;
    steps_box(b, f, n->def->update, &n->boxes->tables[n->def->update], w, &n->box);
    for (int d = 0; d < f->rank; d++) {
        NestName *at = u->is_free[d] ? nest_find(n, f->args[d]) : NULL;
        if (at) {
            at->min    = n->box.min[d];
            at->extent = x_add(lw, x_sub(lw, n->box.max[d], n->box.min[d]), x_int(lw, 1));
        }
    }
}

static void bind_known(Build *b, Nest *n, Wraps *w)
{
    bool again = true;
    while (again) {
        again = false;
        for (int i = n->def->step_count - 1; i >= 0; i--)
            again |= bind_step(b, n, i, w);
    }
    bind_step_box(b, n, w);
}

/* ---- The innermost ----------------------------------------------------------------------- */

/* An expression on its way to having all its marked calls clamped. Marked is what a call was before its own indices
 * changed. */
typedef struct Clamping {
    Build         *b;
    const PlanDef *def; /* whose value it is; NULL: nobody's */
    Map            done;
} Clamping;

/* The dimensions along which a call is of the place that the update itself writes, which its loops keep within the
 * storage: an atomic update must find its own place. */
static uintptr_t own_place(const Clamping *c, const Expr *call)
{
    const Update *u    = c->def && c->def->update >= 0 && call->u.call.func == c->def->func
                             ? &c->def->func->updates[c->def->update]
                             : NULL;
    uintptr_t     dims = 0;
    for (int d = 0; u && d < c->def->func->rank; d++)
        if (u->is_free[d] && call->args[d] == u->args[d])
            dims |= (uintptr_t)1 << d;
    return dims;
}

/* The indices of the marked dimensions brought into the storage. A box that is empty has its min: there is one element
 * for that. */
static void clamp_indices(Build *b, const Func *f, uintptr_t marked, const Expr **args)
{
    Lower       *lw  = b->lw;
    const SymBox box = f->kind == FUNC_INPUT ? port_box(b, f) : b->stored[f->id];
    const bool   any = f->kind == FUNC_INPUT || box.known; /* else it is read nowhere */
    for (int d = 0; d < f->rank && any; d++)
        if (marked >> d & 1)
            args[d] = x_max(lw, x_min(lw, args[d], box.max[d]), box.min[d]);
}

static const Expr *clamp_calls(Clamping *c, const Expr *e)
{
    Lower      *lw    = c->b->lw;
    const Expr *known = map_get(&c->done, e);
    if (known || !e->count)
        return known ? known : e;
    const uintptr_t marked  = e->op == EX_CALL ? (uintptr_t)map_get(&c->b->unsafe, e) & ~own_place(c, e) : 0;
    const Expr    **args    = ARENA_ARRAY(lw->arena, const Expr *, e->count);
    bool            changed = marked;
    for (uint32_t i = 0; i < e->count; i++) {
        args[i] = clamp_calls(c, e->args[i]);
        changed |= args[i] != e->args[i];
    }
    if (marked)
        clamp_indices(c->b, e->u.call.func, marked, args);
    const Expr *result = changed ? expr_rebuild(lw->exprs, e, args) : e;
    map_set(&c->done, e, result);
    return result;
}

static const Expr *safe_in(Build *b, const PlanDef *def, const Expr *e)
{
    Clamping c = { .b = b, .def = def };
    map_init(&c.done, b->lw->arena);
    return clamp_calls(&c, e);
}

static const Expr *safe(Build *b, const Expr *e)
{
    return safe_in(b, NULL, e);
}

/* Does the place lie between two numbers, whatever is read to find it? Where a step happens, what it reads has been
 * computed. */
static bool is_within(Lower *lw, const Expr *place, const Expr *min, const Expr *max)
{
    int64_t lo, hi;
    if (!expr_is_int(min, &lo) || !expr_is_int(max, &hi))
        return false;
    const Range r = value_range(lw, place);
    return lo <= r.lo && r.hi <= hi;
}

/* What is written outside the box is dropped: outside all that is stored, because a later step may read it, or where it
 * is known, what this step is for. */
static const Expr *write_guard(Build *b, const Nest *n)
{
    Lower        *lw = b->lw;
    const Update *u  = update_of(n);
    const Expr   *c  = NULL;
    if (!u)
        return NULL;
    const SymBox *box = n->boxes->tables[n->def->update].buffer ? &n->box : &n->boxes->pure;
    for (int d = 0; d < n->def->func->rank; d++)
        if (!u->is_free[d] && !is_within(lw, u->args[d], box->min[d], box->max[d])) {
            const Expr *at = safe(b, u->args[d]);
            c              = x_and(lw, c, x_and(lw, x_le(lw, box->min[d], at), x_le(lw, at, box->max[d])));
        }
    return c;
}

static void note_call(const Expr *e, void *calls)
{
    *(bool *)calls |= e->op == EX_CALL;
}

/* The parts of a condition that read nothing, and those that do; NULL: none. */
static void split_condition(Lower *lw, const Expr *e, const Expr **plain, const Expr **reading)
{
    if (e->op == EX_AND) {
        split_condition(lw, e->args[0], plain, reading);
        split_condition(lw, e->args[1], plain, reading);
        return;
    }
    bool calls = false;
    expr_visit(lw->exprs, e, note_call, &calls);
    const Expr **part = calls ? reading : plain;
    *part             = x_and(lw, *part, e);
}

/* The condition that a point is needed, of loops that bound or align_bounds make run over more; NULL: they do not. */
static const Expr *point_needed(Build *b, const Nest *n)
{
    Lower      *lw = b->lw;
    const Func *f  = n->def->func;
    const Expr *c  = NULL;
    for (int d = 0; n->widened && d < f->rank; d++)
        if (n->shared[d])
            c = x_and(
                lw, c,
                x_and(lw, x_le(lw, n->box.min[d], var(b, f->args[d])), x_le(lw, var(b, f->args[d]), n->box.max[d])));
    return c;
}

static const Stmt *provide(Build *b, Nest *n)
{
    Lower        *lw    = b->lw;
    const Func   *f     = n->def->func;
    const Update *u     = update_of(n);
    const Expr   *plain = NULL, *reading = NULL;
    Stmt         *s   = ARENA_NEW(lw->arena, Stmt);
    s->kind           = STMT_PROVIDE;
    s->provide.func   = f;
    s->provide.rank   = f->rank;
    s->provide.count  = f->component_count;
    s->provide.atomic = n->def->atomic;
    s->provide.args   = ARENA_ARRAY(lw->arena, const Expr *, (size_t)f->rank);
    s->provide.values = ARENA_ARRAY(lw->arena, const Expr *, (size_t)f->component_count);
    for (int d = 0; d < f->rank; d++)
        s->provide.args[d] = u ? safe(b, u->args[d]) : var(b, f->args[d]);
    for (int c = 0; c < f->component_count; c++)
        s->provide.values[c] = safe_in(b, n->def, u ? u->values[c] : f->values[c]);
    /* the place before what the condition reads: where a step writes nothing that is needed, that may not be there; and
     * after the rest of the condition: where that does not hold, what the place reads may not be there. Neither may be
     * there for points that nobody needs */
    const Stmt *result = s;
    const Expr *at = write_guard(b, n), *needed = point_needed(b, n);
    if (u && u->where)
        split_condition(lw, u->where, &plain, &reading);
    if (reading)
        result = stmt_if(lw->arena, safe(b, reading), result, NULL);
    if (at)
        result = stmt_if(lw->arena, at, result, NULL);
    if (needed && (at || reading))
        result = stmt_if(lw->arena, needed, result, NULL);
    if (plain)
        result = stmt_if(lw->arena, safe(b, plain), result, NULL);
    if (n->guard)
        result = stmt_if(lw->arena, simplify(lw->simplifier, safe(b, n->guard)), result, NULL);
    return result;
}

/* ---- Loops ------------------------------------------------------------------------------- */

static const Stmt *open_loop(Build *b, Nest *n, int i);

static const Stmt *own(Build *b, Nest *n, int i)
{
    return i < n->def->loop_count ? open_loop(b, n, i) : provide(b, n);
}

/* The loops that are not shared, where the shared ones have come to its box. */
static const Stmt *own_part(Build *b, Nest *n, int i)
{
    Wraps w = { 0 };
    wraps_open(b, &w);
    const Expr *meets = together_meets(b, n);
    if (meets)
        wrap_if(b, &w, meets);
    bind_known(b, n, &w);
    const Stmt *body = own(b, n, i);
    return wraps_close(b, &w, body);
}

/* What is inside loop i - 1: the nest's own, then the partners that leave it here. */
static const Stmt *next(Build *b, Nest *n, int i)
{
    const Stmt *body = n->partner_count && i == together_depth(n) ? own_part(b, n, i) : own(b, n, i);
    for (int k = 0; k < n->partner_count; k++)
        if (n->partners[k]->def->with.loop == i - 1)
            body = stmt_pair(b->lw->arena, body,
                             stmt_produce(b->lw->arena, n->partners[k]->def->func->name, n->partners[k]->def->update,
                                          own_part(b, n->partners[k], i)));
    return body;
}

/* Loop i as it stands now. */
static const Stmt *plain_loop(Build *b, Nest *n, int i)
{
    Lower          *lw   = b->lw;
    const PlanLoop *loop = &n->def->loops[i];
    range_of(b, n, loop->var);
    NestName   *at  = nest_find(n, loop->var);
    const Expr *min = simplify(lw->simplifier, at->min), *extent = simplify(lw->simplifier, at->extent);
    const Expr *last = x_sub(lw, x_add(lw, min, extent), x_int(lw, 1));
    Wraps       w    = { 0 };
    wraps_open(b, &w);
    Scope scope = { loop->var, NULL };
    vec_push(lw->arena, &b->scopes, scope);
    simplifier_push_range(lw->simplifier, loop->var, min, last);
    w.pushed++;
    at->bound = true;
    bind_known(b, n, &w);
    together_bind(b, n, i, &w);
    prefetches(b, n, i, &w);
    const Stmt *body = level_build(b, (PlanLevel){ n->def, i }, n, next, i + 1);
    body             = wraps_close(b, &w, body);
    return stmt_for(lw->arena, loop->var, n->scalar[i] ? LOOP_SERIAL : loop->kind, min, extent, body);
}

/* Its loop is a plain one in this copy, as long as is left. */
static void make_scalar(Nest *n, const PlanStep *s, int index)
{
    n->scalar[nest_loop(n->def, s->inner)] = true;
    n->modes[index]                        = SPLIT_EXACT;
    nest_find(n, s->inner)->min            = NULL;
}

/* The loops for extents below the factor: at most one iteration of the outer one, and a plain inner one. */
static const Stmt *small_loops(Build *b, Nest *n, int i, const PlanStep *s, int index, const Expr *large)
{
    Lower    *lw    = b->lw;
    NestName *outer = nest_find(n, s->outer);
    make_scalar(n, s, index);
    outer->min    = x_int(lw, 0);
    outer->extent = x_min(lw, nest_find(n, s->whole)->extent, x_int(lw, 1));
    simplifier_push_fact(lw->simplifier, expr_unary(lw->exprs, EX_BIT_NOT, KN_BOOL, large));
    const Stmt *result = plain_loop(b, n, i);
    simplifier_pop(lw->simplifier);
    return result;
}

/* The outer loop of a split whose inner one is a vector or copies, and which may begin its last piece earlier: two
 * copies, the second for extents below the factor. */
static const Stmt *twin_loops(Build *b, Nest *n, int i, const PlanStep *s, int index)
{
    Lower *lw = b->lw;
    range_of(b, n, s->whole);
    const Expr *large = simplify(lw->simplifier, x_le(lw, x_int(lw, s->factor), nest_find(n, s->whole)->extent));
    Nest        small = nest_copy(b, n);
    n->modes[index]   = SPLIT_SHIFT;
    simplifier_push_fact(lw->simplifier, large);
    const Stmt *yes = large->op == EX_INT && !large->u.i ? NULL : plain_loop(b, n, i);
    simplifier_pop(lw->simplifier);
    if (large->op == EX_INT && large->u.i)
        return yes;
    return stmt_if(lw->arena, large, yes, small_loops(b, &small, i, s, index, large));
}

/* A vector or copies under GUARD or PREDICATE, inside its outer loop: whole, or else what is left. */
static const Stmt *guarded_loop(Build *b, Nest *n, int i, const PlanStep *s, int index)
{
    Lower      *lw     = b->lw;
    const Expr *extent = nest_find(n, s->whole)->extent, *factor = x_int(lw, s->factor);
    const Expr *whole =
        simplify(lw->simplifier, x_le(lw, x_op(lw, EX_MUL, x_add(lw, var(b, s->outer), x_int(lw, 1)), factor), extent));
    Nest rest       = nest_copy(b, n);
    n->modes[index] = SPLIT_FULL;
    simplifier_push_fact(lw->simplifier, whole);
    const Stmt *yes = plain_loop(b, n, i);
    simplifier_pop(lw->simplifier);
    if (whole->op == EX_INT && whole->u.i)
        return yes;
    if (s->tail == TAIL_PREDICATE)
        rest.modes[index] = SPLIT_GUARD;
    else
        make_scalar(&rest, s, index);
    return stmt_if(lw->arena, whole, yes, plain_loop(b, &rest, i));
}

static int count_twins(const Nest *n)
{
    int count = 0;
    for (int i = 0; i < n->def->step_count; i++)
        count += n->modes[i] == SPLIT_SHIFT;
    return count;
}

static const Stmt *open_loop(Build *b, Nest *n, int i)
{
    const char     *name = n->def->loops[i].var;
    int             index;
    const PlanStep *s = split_of_outer(n, name, &index);
    if (s && n->modes[index] == SPLIT_OPEN && is_hard(n, s->inner) && !is_bound(n, s->inner) && may_shift(n, s) &&
        count_twins(n) < MOST_TWINS)
        return twin_loops(b, n, i, s, index);
    s = split_of_inner(n, name, &index);
    if (s && n->modes[index] == SPLIT_OPEN && is_hard(n, name) && is_bound(n, s->outer))
        return guarded_loop(b, n, i, s, index);
    return plain_loop(b, n, i);
}

const Stmt *nest_build(Build *b, Nest *n)
{
    Wraps w = { 0 };
    wraps_open(b, &w);
    bind_known(b, n, &w);
    const Stmt *body = next(b, n, 0);
    return wraps_close(b, &w, body);
}
