/* Regions at a level: the box of every function that is needed within one iteration of a loop.
 *
 * Takes   a level, with the loops around it open.
 * Gives   a `let` for each end of each box, consumers before producers, so that no definition contains another: linear
 *         in the pipeline.
 * How     The definition whose loop it is reads over what its inner loops run through; every function computed inside
 *         the level reads over its own box at this level. A box is the hull of what is read. Updates are taken from the
 *         last to the first, as in analysis/regions.c.
 * Holds   every access that can happen lies in the boxes; accesses whose spans rest on conditions, on data or on floats
 *         are marked, and get clamped.
 * From    Ragan-Kelley et al. 2013, section 4.2. */
#include "lower/build.h"

/* What is needed of a function, so far. A box is never empty but where a loop around it does not run; what is not read
 * in fact (an empty output, a branch that is never taken) makes boxes larger than need be, but asks nothing of
 * inputs. */
typedef struct Need {
    bool        any, certain; /* certain: not only under conditions that may not hold when the code is called */
    SymBox      box;
    const Expr *alive; /* at root: the condition that it is read at all; NULL: it always is */
} Need;

/* At root: what an access would ask for in a branch that is never taken. The same call may be made elsewhere; boxes in
 * loops, which know less, then ask for it here too, and root's box must hold that. */
typedef struct Dormant Dormant;
struct Dormant {
    Span           index[KN_MAX_RANK];
    const Expr    *alive, *decided;
    const Dormant *next; /* of the same call */
};

typedef struct Regions {
    Build        *b;
    PlanLevel     level;
    Need         *need; /* per function id */
    const Func   *reader;
    const Update *update;
    bool          writing;
    const Expr *when; /* the condition that anything of the reader is computed (in loops that others share, or where its
                         box may be empty); NULL: it is */
    const Expr *missing; /* of a reader that slides: the condition that any of it is missing; NULL: it does not slide */
    Need       *self;    /* where accesses of the reader to itself go; NULL: nowhere */
    Wraps      *w;
    bool        root;
    Map         alive; /* conditions that have a name: condition -> its variable */
    int         alive_count;
    Map         dormant; /* call -> its Dormant accesses */
} Regions;

const char *region_name(Build *b, const Func *f, int d, const char *what, PlanLevel level)
{
    const PlanFunc *pf = plan_func(b->plan, f);
    Arena          *a  = b->lw->arena;
    if (level_same(level, pf->compute))
        return arena_printf(a, "%s.%s", f->args[d], what);
    if (level_same(level, pf->store))
        return arena_printf(a, "%s.%s.stored", f->args[d], what);
    return arena_printf(a, "%s.%s@%s", f->args[d], what, level.def ? level.def->loops[level.loop].var : "root");
}

const Buffer *port_buffer(Build *b, const Func *f, int component)
{
    const Program *p = b->lw->program;
    if (f->id >= 0 && b->ports[f->id])
        f = b->ports[f->id];
    for (int i = 0; i < p->port_count; i++)
        if (b->lw->ports.at[i] == f && p->buffers.at[i]->component == component)
            return p->buffers.at[i];
    return NULL;
}

SymBox port_box(Build *b, const Func *f)
{
    Lower      *lw   = b->lw;
    const char *name = port_buffer(b, f, 0)->name;
    SymBox      box  = { 0 };
    for (int d = 0; d < f->rank; d++) {
        box.min[d] = x_var(lw, arena_printf(lw->arena, "%s.min.%d", name, d));
        box.max[d] =
            x_add(lw, box.min[d], x_sub(lw, x_var(lw, arena_printf(lw->arena, "%s.extent.%d", name, d)), x_int(lw, 1)));
    }
    return box;
}

const Expr *box_nonempty(Build *b, const SymBox *box, int rank)
{
    const Expr *c = NULL;
    for (int d = 0; d < rank; d++)
        c = x_and(b->lw, c, x_le(b->lw, box->min[d], box->max[d]));
    return c;
}

/* ---- What is read ------------------------------------------------------------------------ */

static void fail_unbounded(Regions *r, const Expr *call, int d)
{
    Build *b = r->b;
    if (b->failed)
        return;
    b->failed = true;
    Text t;
    text_init(&t, b->lw->arena);
    expr_print(&t, call->args[d]);
    diag_error(b->lw->cx, r->update ? r->update->loc : r->reader->loc, "clamp the index, or guard it with a condition",
               "`%s` is read by `%s` with an index that has no bounds: %s", call->u.call.func->name, r->reader->name,
               text_string(&t));
}

/* Adds a box to a need. */
static void need_add(Lower *lw, Need *n, int rank, const Span *index, const Expr *alive)
{
    for (int d = 0; d < rank; d++) {
        n->box.min[d] = n->any ? x_min(lw, n->box.min[d], index[d].min) : index[d].min;
        n->box.max[d] = n->any ? x_max(lw, n->box.max[d], index[d].max) : index[d].max;
    }
    n->alive = !n->any ? alive : n->alive && alive ? x_op(lw, EX_OR, n->alive, alive) : NULL;
    n->any   = true;
}

/* The value that the update replaces: it is read only where it is written. */
static bool is_old_value(const Regions *r, const Expr *call)
{
    bool same = r->writing && call->u.call.func == r->reader;
    for (uint32_t d = 0; same && d < call->count; d++)
        same = call->args[d] == r->update->args[d];
    return same;
}

void regions_clamp(Build *b, const Expr *call, unsigned dimensions)
{
    const uintptr_t marked = (uintptr_t)map_get(&b->unsafe, call) | dimensions;
    if (marked)
        map_set(&b->unsafe, call, (void *)marked);
}

/* Inputs must have what is read of them: said once per reading definition, before anything is computed. */
static void need_inputs(Regions *r)
{
    Build *b  = r->b;
    Lower *lw = b->lw;
    for (int i = 0; i < b->plan->func_count; i++) {
        const Func *f = b->plan->funcs[i].func;
        if (f->kind != FUNC_INPUT || !r->need[i].any)
            continue;
        const Expr *alive = r->need[i].alive;
        for (int d = 0; d < f->rank; d++) {
            Stmt *s        = ARENA_NEW(lw->arena, Stmt);
            s->kind        = STMT_NEED;
            s->need.buffer = port_buffer(b, f, 0);
            s->need.dim    = d;
            s->need.min    = r->need[i].box.min[d];
            s->need.max    = alive ? x_select(lw, alive, r->need[i].box.max[d], x_sub(lw, s->need.min, x_int(lw, 1)))
                                   : r->need[i].box.max[d];
            s->need.reader = r->reader ? r->reader->name : NULL;
            wrap_before(b, r->w, s);
        }
        r->need[i] = (Need){ 0 };
    }
}

/* A condition under which something is read is used in many boxes: it gets a name. */
static const Expr *name_alive(Regions *r, const Expr *alive)
{
    Build      *b     = r->b;
    const Expr *known = map_get(&r->alive, alive);
    if (known || alive->op == EX_INT || alive->op == EX_VAR)
        return known ? known : alive;
    known = wrap_let(b, r->w,
                     arena_printf(b->lw->arena, "reads.%d@%s", r->alive_count++,
                                  r->root ? "root" : r->level.def->loops[r->level.loop].var),
                     alive);
    map_set(&r->alive, alive, known);
    return known;
}

/* Does it only rise or only fall with each variable, by rules that keep to that? Then the span of an index over an
 * empty range, whose begin is one past its end, lies in the span over a range with that end. `nodes`: how many may
 * still be looked at. */
static bool is_monotonic(const Expr *e, int *nodes)
{
    int64_t value;
    bool    linear = e->type == KN_I32 && --*nodes > 0;
    switch (e->op) {
    case EX_INT:
    case EX_VAR:
    case EX_PARAM:
    case EX_DIM_MIN:
    case EX_DIM_EXTENT: return true;
    case EX_ADD:
    case EX_SUB:
    case EX_MIN:
    case EX_MAX: break;
    case EX_MUL: linear = linear && (expr_is_int(e->args[0], &value) || expr_is_int(e->args[1], &value)); break;
    case EX_DIV: linear = linear && expr_is_int(e->args[1], &value); break;
    default: return false;
    }
    return linear && is_monotonic(e->args[0], nodes) && is_monotonic(e->args[1], nodes);
}

/* The condition under which an access asks for its span: where nothing is computed, what is not monotonic, or narrowed
 * by `guarded` conditions, could ask for anything. */
static const Expr *asks_when(const Regions *r, const Expr *call, bool guarded)
{
    int nodes = 100;
    for (uint32_t d = 0; r->missing && d < call->count; d++)
        if (guarded || !is_monotonic(call->args[d], &nodes))
            return x_and(r->b->lw, r->when, r->missing);
    return r->when;
}

/* Adds a box to a need that asks for nothing unless `decided` holds (NULL: it does). */
static void need_when(Regions *r, Need *n, const Func *f, const Span *index, const Expr *alive, const Expr *decided)
{
    Lower *lw = r->b->lw;
    Span   when[KN_MAX_RANK];
    if (decided) {
        decided         = name_alive(r, decided);
        const Expr *far = x_int(lw, MOST_COORDINATE);
        for (int d = 0; d < f->rank; d++)
            when[d] =
                (Span){ x_select(lw, decided, index[d].min, far), x_select(lw, decided, index[d].max, x_neg(lw, far)) };
    }
    need_add(lw, n, f->rank, decided ? when : index, alive);
}

/* Inside a loop, of a function that is stored outside of it: no more than is stored. */
static Span span_stored(const Regions *r, const Func *f, int d, Span s)
{
    Lower          *lw     = r->b->lw;
    const SymBox   *stored = &r->b->stored[f->id];
    const PlanFunc *pf     = plan_func(r->b->plan, f);
    if (f->kind == FUNC_INPUT || !stored->known || level_same(r->level, pf->store) ||
        !level_encloses(r->b->plan, pf->store, r->level))
        return s;
    return (Span){ x_max(lw, x_min(lw, s.min, stored->max[d]), stored->min[d]),
                   x_max(lw, x_min(lw, s.max, stored->max[d]), stored->min[d]) };
}

/* The first dimension without bounds; the rank if there is none. */
static int first_unbounded(const Span *index, int rank)
{
    int d = 0;
    while (d < rank && index[d].min && index[d].max)
        d++;
    return d;
}

static bool check_bounded(Regions *r, const Expr *call, const Span *index)
{
    const int rank = call->u.call.func->rank, d = first_unbounded(index, rank);
    if (d < rank)
        fail_unbounded(r, call, d);
    return d == rank;
}

/* At root: the call is made somewhere, so what it asked for where it is not made counts too. */
static void wake(Regions *r, const Expr *call)
{
    const Func *f = call->u.call.func;
    Need       *n = &r->need[f->id];
    for (const Dormant *d = map_get(&r->dormant, call); d; d = d->next) {
        if (!check_bounded(r, call, d->index))
            return;
        need_when(r, n, f, d->index, d->alive, d->decided);
        n->certain = n->certain || !d->decided;
    }
    map_set(&r->dormant, call, NULL);
    map_set(&r->b->live, call, r->b);
}

/* Is the call not made here, for all that root knows, nor anywhere else so far? Root keeps in mind what it would ask
 * for. What a definition reads of itself cannot wait: its box is used before the definitions before it are visited. Of
 * inputs, only root asks. */
static bool stays_dormant(Regions *r, const Expr *call, const Span *index, const Expr *alive, const Expr *decided)
{
    Build      *b     = r->b;
    const Func *f     = call->u.call.func;
    const bool  live  = map_get(&b->live, call);
    const bool  never = alive && alive->op == EX_INT && !alive->u.i;
    if (!r->root)
        return !live;
    if (never && f->kind == FUNC_INPUT)
        return true;
    if (!never || live || (f == r->reader && first_unbounded(index, f->rank) == f->rank)) {
        wake(r, call);
        return false;
    }
    if (f != r->reader) {
        Dormant *put = ARENA_NEW(b->lw->arena, Dormant);
        *put         = (Dormant){ .alive = alive, .decided = decided, .next = map_get(&r->dormant, call) };
        memcpy(put->index, index, sizeof *index * (size_t)f->rank);
        map_set(&r->dormant, call, put);
    }
    return true;
}

static void record(void *user, const Expr *call, const Span *index, const Expr *alive, const Expr *decided,
                   unsigned unsafe, unsigned loose)
{
    Regions    *r = user;
    Build      *b = r->b;
    const Func *f = call->u.call.func;
    if (is_old_value(r, call))
        return;
    decided = x_and(b->lw, decided, asks_when(r, call, decided));
    if (stays_dormant(r, call, index, alive, decided)) {
        regions_clamp(b, call, ~0u);
        return;
    }
    regions_clamp(b, call, unsafe);
    const PlanFunc *pf     = plan_func(b->plan, f);
    const bool      inside = f->kind == FUNC_INPUT ? r->root : level_encloses(b->plan, r->level, pf->compute);
    Need           *n      = f == r->reader ? r->self : inside ? &r->need[f->id] : NULL;
    if (!n || !check_bounded(r, call, index))
        return;
    Span kept[KN_MAX_RANK];
    for (int d = 0; d < f->rank; d++)
        kept[d] = loose >> d & 1 ? span_stored(r, f, d, index[d]) : index[d];
    need_when(r, n, f, kept, alive ? name_alive(r, alive) : NULL, decided);
    n->certain = n->certain || !decided;
}

/* ---- Definitions ------------------------------------------------------------------------- */

/* Reduction variables run through their bounds, each with those before it. */
static void bind_rvars(Regions *r, const Update *u)
{
    Build *b = r->b;
    for (int i = 0; i < u->rvar_count; i++) {
        const Span lo = span_of(&b->spans, u->rvars[i].lo), hi = span_of(&b->spans, u->rvars[i].hi);
        if ((!lo.min || !hi.max) && !b->failed) {
            b->failed = true;
            diag_error(b->lw->cx, u->loc, "give it bounds that can be known before anything is computed",
                       "the bounds of `%s` in an update of `%s` are unbounded", u->rvars[i].name, r->reader->name);
        }
        if (b->failed)
            return;
        const Span  range = { lo.min, x_sub(b->lw, hi.max, x_int(b->lw, 1)) };
        const Expr *some  = x_le(b->lw, range.min, range.max);
        if (r->root || some->op == EX_INT) /* there may be no steps: then nothing is read */
            b->spans.level[0].alive = x_and(b->lw, b->spans.level[0].alive, some);
        spans_bind(&b->spans, u->rvars[i].name, range);
    }
}

/* Tells of all accesses of an update; its variables are bound. `writing` is set where the place that is written is
 * known to be needed. */
static void visit_update(Spans *sp, const Func *f, const Update *u, bool *writing)
{
    for (int i = 0; i < u->rvar_count; i++) {
        spans_visit(sp, u->rvars[i].lo);
        spans_visit(sp, u->rvars[i].hi);
    }
    bool entered = false;
    *writing     = true; /* the condition too is asked only at places that are needed */
    if (u->where) {
        spans_visit(sp, u->where);
        entered = spans_enter(sp, u->where, true);
    }
    for (int d = 0; d < f->rank; d++)
        spans_visit(sp, u->args[d]);
    for (int c = 0; c < f->component_count; c++)
        spans_visit(sp, u->values[c]);
    *writing = false;
    if (entered)
        spans_leave(sp);
}

static void begin_definition(Regions *r, const Func *f, const Update *u, const Expr *alive)
{
    Spans *sp = &r->b->spans;
    spans_reset(sp, r->b->lw);
    sp->access         = record;
    sp->user           = r;
    sp->checking       = r->root;
    sp->level[0].alive = alive;
    r->reader          = f;
    r->update          = u;
}

static void bind_box(Regions *r, const Func *f, const Update *u, const SymBox *box)
{
    for (int d = 0; d < f->rank; d++)
        if (!u || u->is_free[d])
            spans_bind(&r->b->spans, f->args[d], (Span){ box->min[d], box->max[d] });
}

/* The accesses of one definition over a box of its free variables. */
static void read_over(Regions *r, const Func *f, int update, const SymBox *box, const Expr *alive, Need *self)
{
    const Update *u = update < 0 ? NULL : &f->updates[update];
    begin_definition(r, f, u, alive);
    bind_box(r, f, u, box);
    r->self = self;
    if (u) {
        bind_rvars(r, u);
        if (!r->b->failed)
            visit_update(&r->b->spans, f, u, &r->writing);
    } else {
        for (int c = 0; c < f->component_count; c++)
            spans_visit(&r->b->spans, f->values[c]);
    }
    r->self = NULL;
    if (r->root)
        need_inputs(r);
}

static const Update *update_of(const Nest *n)
{
    return n->def->update < 0 ? NULL : &n->def->func->updates[n->def->update];
}

/* What its reduction variables run through. To be asked for before the spans of anything else are begun: it takes spans
 * to find out. */
static const Span *nest_reduction(Build *b, Nest *n)
{
    const Update *u    = update_of(n);
    Span         *span = ARENA_ARRAY(b->lw->arena, Span, (size_t)(u ? u->rvar_count : 0));
    for (int i = 0; u && i < u->rvar_count; i++)
        span[i] = nest_span(b, n, u->rvars[i].name);
    return span;
}

static void visit_nest(Build *b, Nest *n, const Span *reduction, bool *writing)
{
    const Func   *f = n->def->func;
    const Update *u = update_of(n);
    for (int i = 0; u && i < u->rvar_count; i++)
        spans_bind(&b->spans, u->rvars[i].name, reduction[i]);
    for (int d = 0; d < f->rank; d++)
        if (!u || u->is_free[d])
            spans_bind(&b->spans, f->args[d], nest_span(b, n, f->args[d]));
    if (u)
        visit_update(&b->spans, f, u, writing);
    else
        for (int c = 0; c < f->component_count; c++)
            spans_visit(&b->spans, f->values[c]);
}

/* The accesses of the definition whose loop is the level: what its inner loops run through. */
static void read_nest(Regions *r, Nest *n)
{
    const Span *reduction = nest_reduction(r->b, n);
    begin_definition(r, n->def->func, update_of(n), NULL);
    r->when = r->level.loop < together_depth(n) ? r->b->alive[n->def->func->id] : NULL;
    visit_nest(r->b, n, reduction, &r->writing);
    r->when = NULL;
}

void nest_accesses(Build *b, Nest *n, SpanAccess *access, void *user)
{
    bool        writing;
    const Span *reduction = nest_reduction(b, n);
    spans_reset(&b->spans, b->lw);
    b->spans.access   = access;
    b->spans.user     = user;
    b->spans.checking = false;
    visit_nest(b, n, reduction, &writing);
}

/* ---- Boxes ------------------------------------------------------------------------------- */

static void name_box(Regions *r, const Func *f, SymBox *box, const char *suffix)
{
    Build *b = r->b;
    for (int d = 0; d < f->rank; d++) {
        box->min[d] =
            wrap_let(b, r->w, region_name(b, f, d, arena_printf(b->lw->arena, "min%s", suffix), r->level), box->min[d]);
        box->max[d] =
            wrap_let(b, r->w, region_name(b, f, d, arena_printf(b->lw->arena, "max%s", suffix), r->level), box->max[d]);
    }
}

/* A box that may be empty is made empty in one way, so that nothing is computed with ends that lie far apart. Notes
 * what it was, and the condition that it is not. */
static void normalize_empty(Regions *r, const Func *f, FuncBoxes *boxes)
{
    Lower  *lw  = r->b->lw;
    SymBox *box = &boxes->pure;
    name_box(r, f, box, ".asked");
    boxes->asked = *box;
    boxes->some  = f->rank ? name_alive(r, box_nonempty(r->b, box, f->rank)) : NULL;
    for (int d = 0; d < f->rank; d++) {
        box->min[d] = x_select(lw, boxes->some, box->min[d], x_int(lw, 0));
        box->max[d] = x_select(lw, boxes->some, box->max[d], x_int(lw, -1));
    }
}

/* bound: what is needed must be in what was promised. */
static void check_bounds(Regions *r, const Func *f, const SymBox *box, const Expr *alive)
{
    Lower          *lw = r->b->lw;
    const PlanFunc *pf = plan_func(r->b->plan, f);
    for (int d = 0; d < f->rank; d++) {
        if (!pf->bound_min[d])
            continue;
        const Expr *min = pf->bound_min[d], *max = x_sub(lw, x_add(lw, min, pf->bound_extent[d]), x_int(lw, 1));
        const Expr *none = x_op(lw, EX_LT, box->max[d], box->min[d]);
        if (alive)
            none = x_op(lw, EX_OR, none, expr_unary(lw->exprs, EX_BIT_NOT, KN_BOOL, alive));
        Stmt *s            = ARENA_NEW(lw->arena, Stmt);
        s->kind            = STMT_CHECK;
        s->check.status    = KN_ERROR_ARGUMENT; /* a mistake of the schedule, which the interpreter would hide */
        s->check.condition = x_op(lw, EX_OR, none, x_and(lw, x_le(lw, min, box->min[d]), x_le(lw, box->max[d], max)));
        s->check.message =
            arena_printf(lw->arena, "more of `%s` is needed along %s than its schedule promises with `bound`", f->name,
                         pf->origin->args[d]);
        wrap_before(r->b, r->w, s);
    }
}

bool box_widens(Build *b, const Func *f, int d)
{
    const PlanFunc *pf = plan_func(b->plan, f);
    return (pf->bound_min[d] || pf->align_factor[d]) && !slide_moves(&b->slides[f->id], d);
}

/* bound: the promise takes the place of the box. align_bounds: the ends moved outward. Not where only a part of what is
 * held is computed. */
SymBox box_widened(Build *b, const Func *f, SymBox box)
{
    Lower          *lw = b->lw;
    const PlanFunc *pf = plan_func(b->plan, f);
    for (int d = 0; d < f->rank; d++) {
        if (!box_widens(b, f, d))
            continue;
        if (pf->bound_min[d]) {
            box.min[d] = pf->bound_min[d];
            box.max[d] = x_sub(lw, x_add(lw, pf->bound_min[d], pf->bound_extent[d]), x_int(lw, 1));
        }
        if (pf->align_factor[d]) {
            const Expr *m = x_int(lw, pf->align_factor[d]),
                       *o = pf->align_offset[d] ? pf->align_offset[d] : x_int(lw, 0);
            box.min[d]    = x_add(lw, x_op(lw, EX_MUL, x_op(lw, EX_DIV, x_sub(lw, box.min[d], o), m), m), o);
            const Expr *n = x_add(lw, x_sub(lw, box.max[d], box.min[d]), m);
            box.max[d]    = x_sub(lw, x_add(lw, box.min[d], x_op(lw, EX_MUL, x_op(lw, EX_DIV, n, m), m)), x_int(lw, 1));
        }
    }
    return box;
}

static void mark_unsafe(const Expr *e, void *user)
{
    if (e->op == EX_CALL)
        regions_clamp(user, e, ~0u);
}

void regions_widen(Build *b, const Func *f)
{
    ExprPool *p = b->lw->exprs;
    for (int c = 0; f->kind == FUNC_DEFINED && c < f->component_count; c++)
        expr_visit(p, f->values[c], mark_unsafe, b);
    for (int k = 0; k < f->update_count; k++) {
        const Update *u = &f->updates[k];
        for (int c = 0; c < f->component_count; c++)
            expr_visit(p, u->values[c], mark_unsafe, b);
        for (int d = 0; d < f->rank; d++)
            expr_visit(p, u->args[d], mark_unsafe, b);
        for (int i = 0; i < u->rvar_count; i++) {
            expr_visit(p, u->rvars[i].lo, mark_unsafe, b);
            expr_visit(p, u->rvars[i].hi, mark_unsafe, b);
        }
        if (u->where)
            expr_visit(p, u->where, mark_unsafe, b);
    }
}

static bool same_box(const SymBox *a, const SymBox *b, int rank)
{
    for (int d = 0; d < rank; d++)
        if (a->min[d] != b->min[d] || a->max[d] != b->max[d])
            return false;
    return true;
}

/* The boxes of a function's definitions, from the last update to the pure one, and what they read. */
static void visit_function(Regions *r, const Func *f, FuncBoxes *boxes)
{
    Build *b       = r->b;
    boxes->updates = ARENA_ARRAY(b->lw->arena, SymBox, (size_t)f->update_count);
    boxes->tables  = ARENA_ARRAY(b->lw->arena, StepTable, (size_t)f->update_count);
    for (int u = f->update_count - 1; u >= 0 && !b->failed; u--) {
        Need self = { .any = true, .certain = true, .box = boxes->pure };
        if (update_shifts(b, f, u)) {
            SymBox before, after;
            steps_table(b, f, u, &boxes->pure, r->level, r->w, &boxes->tables[u], &before, &after);
            boxes->updates[u] = after;
            read_over(r, f, u, &after, boxes->alive, NULL);
            self.box = before;
        } else {
            boxes->updates[u] = boxes->pure;
            read_over(r, f, u, &boxes->pure, boxes->alive, &self);
        }
        if (!same_box(&self.box, &boxes->pure, f->rank)) {
            boxes->pure = self.box;
            name_box(r, f, &boxes->pure, arena_printf(b->lw->arena, ".u%d", u));
        }
    }
    if (!b->failed && f->kind == FUNC_DEFINED)
        read_over(r, f, -1, &boxes->pure, boxes->alive, NULL);
}

/* What a stage needs of its arguments, by its own word. */
static void visit_stage(Regions *r, const Func *f, const FuncBoxes *boxes)
{
    Build *b                 = r->b;
    Span(*need)[KN_MAX_RANK] = arena_array(b->lw->arena, (size_t)f->stage_arg_count + 1, sizeof *need);
    stage_ask(b, f, &boxes->pure, boxes->alive, r->level, r->w, need);
    r->reader = f;
    r->update = NULL;
    for (int i = 0; i < f->stage_arg_count; i++) {
        const Func *arg = f->stage_args[i].func;
        if (arg &&
            (arg->kind == FUNC_INPUT ? r->root : level_encloses(b->plan, r->level, plan_func(b->plan, arg)->compute)))
            need_when(r, &r->need[arg->id], arg, need[i], boxes->alive, r->when);
    }
    if (r->root)
        need_inputs(r);
}

/* A box that may reach beyond all coordinates, for all that is known, is checked not to, if it is read at all: numbers
 * that data or parameters decide. Sums that may wrap are checked by themselves. */
static void check_near(Regions *r, const SymBox *asked, const FuncBoxes *boxes, int rank)
{
    enum { SURELY_NEAR = 1 << 30 };
    Lower *lw = r->b->lw;
    for (int d = 0; d < rank; d++) {
        int64_t lo, hi, none;
        simplifier_bounds(lw->simplifier, asked->min[d], &lo, &none);
        simplifier_bounds(lw->simplifier, asked->max[d], &none, &hi);
        if (lo >= -SURELY_NEAR && hi <= SURELY_NEAR)
            continue;
        const Expr *far = x_int(lw, MOST_COORDINATE), *min = boxes->pure.min[d], *max = boxes->pure.max[d];
        const Expr *ok =
            x_op(lw, EX_OR, x_op(lw, EX_LT, max, min), x_and(lw, x_le(lw, x_neg(lw, far), min), x_le(lw, max, far)));
        if (boxes->alive)
            ok = x_op(lw, EX_OR, ok, expr_unary(lw->exprs, EX_BIT_NOT, KN_BOOL, boxes->alive));
        vec_push(lw->arena, &r->b->spans.checks, ok);
    }
}

/* Grown by updates first, so that slides know the whole of it. */
static void region_of(Regions *r, const Func *f)
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
    boxes.alive = r->need[f->id].alive ? name_alive(r, r->need[f->id].alive) : NULL;
    boxes.need  = boxes.pure;
    if (r->root) {
        b->read[f->id]  = true;
        b->alive[f->id] = boxes.alive;
        check_near(r, &r->need[f->id].box, &boxes, f->rank);
    }
    if (here && !stored)
        r->missing = slide_box(b, f, &boxes, r->w);
    visit_function(r, f, &boxes);
    r->missing = NULL;
    if (f->kind == FUNC_STAGE)
        visit_stage(r, f, &boxes);
    r->when = NULL;
    if (r->root)
        check_bounds(r, f, &boxes.pure, boxes.alive);
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

/* The boxes that the caller asks for. Where there are several outputs, an empty one asks for nothing. */
static void need_outputs(Regions *r)
{
    Build *b = r->b;
    for (int i = 0; i < b->plan->output_count; i++) {
        const Func  *f   = b->plan->outputs[i];
        const SymBox box = port_box(b, f);
        Span         index[KN_MAX_RANK];
        for (int d = 0; d < f->rank; d++)
            index[d] = (Span){ box.min[d], box.max[d] };
        need_add(b->lw, &r->need[f->id], f->rank, index,
                 b->plan->output_count > 1 && f->rank ? box_nonempty(b, &box, f->rank) : NULL);
        r->need[f->id].certain = true;
    }
}

/* Indices must not wrap: one check for all the sums with large factors. */
static void add_checks(Regions *r)
{
    Build      *b   = r->b;
    Lower      *lw  = b->lw;
    const Expr *all = NULL;
    for (size_t i = 0; i < b->spans.checks.count; i++)
        all = x_and(lw, all, b->spans.checks.at[i]);
    if (!all)
        return;
    Stmt *s            = ARENA_NEW(lw->arena, Stmt);
    s->kind            = STMT_CHECK;
    s->check.status    = KN_ERROR_BOUNDS;
    s->check.condition = all;
    s->check.message   = "an index is beyond the coordinates that compiled code can use (2^28)";
    wrap_before(b, r->w, s);
}

void regions_begin(Build *b, PlanLevel level, Nest *nest, Wraps *w)
{
    Regions r = { .b = b, .level = level, .w = w, .root = !level.def };
    map_init(&r.alive, b->lw->arena);
    map_init(&r.dormant, b->lw->arena);
    r.need = ARENA_ARRAY(b->lw->arena, Need, (size_t)b->plan->func_count);
    if (nest)
        read_nest(&r, nest);
    else
        need_outputs(&r);
    for (int i = 0; nest && i < nest->partner_count; i++) /* they follow in how splits fit */
        if (nest->partners[i]->def->with.loop >= level.loop)
            read_nest(&r, nest->partners[i]);
    for (int i = b->plan->func_count - 1; i >= 0 && !b->failed; i--) {
        const Func     *f  = b->plan->funcs[i].func;
        const PlanFunc *pf = &b->plan->funcs[i];
        if (f->kind != FUNC_INPUT && r.need[i].any && (r.root || b->read[i]) &&
            level_encloses(b->plan, level, pf->compute))
            region_of(&r, f);
    }
    if (r.root)
        add_checks(&r);
}
