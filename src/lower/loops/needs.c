/* SPDX-License-Identifier: MIT */
/* Needs: the boxes of functions that the accesses of a definition read.
 *
 * Takes   accesses with the spans of their indices, one by one, while a definition is visited (regions.c).
 * Gives   for each function the hull of what is read of it, and the condition that anything is.
 * Holds   every access that can happen lies in the hull. An access that cannot happen adds nothing. */
#include "lower/loops/region_parts.h"

static void report_unbounded(RegionWalk *r, const Expr *call, int d)
{
    Build *b = r->b;
    if (b->failed)
        return;
    b->failed     = true;
    const Func *f = call->u.call.func; /* inlined, it would need no bounds */
    Text        t;
    text_init(&t, b->lw->arena);
    expr_print(&t, call->args[d]);
    diag_error_as(b->lw->cx, f->kind == FUNC_DEFINED && !f->update_count ? ERROR_PROGRAM : ERROR_UNCOMPILABLE,
                  r->update ? r->update->loc : r->reader->loc, "clamp the index, or guard it with a condition",
                  "`%s` is read by `%s` with an index that has no bounds: %s", f->name, r->reader->name,
                  text_string(&t));
}

void grow_need(Lower *lw, SymNeed *n, int rank, const SymSpan *index, const Expr *read_if)
{
    for (int d = 0; d < rank; d++) {
        n->box.min[d] = n->any ? x_min(lw, n->box.min[d], index[d].min) : index[d].min;
        n->box.max[d] = n->any ? x_max(lw, n->box.max[d], index[d].max) : index[d].max;
    }
    n->read_if = !n->any ? read_if : n->read_if && read_if ? x_op(lw, EX_OR, n->read_if, read_if) : NULL;
    n->any     = true;
}

/* Is it the value that the update replaces? That is read only where it is written. */
static bool is_old_value(const RegionWalk *r, const Expr *call)
{
    return r->writing && expr_is_call_at(call, r->reader, r->update->args);
}

void check_inputs(RegionWalk *r)
{
    Build *b  = r->b;
    Lower *lw = b->lw;
    for (int i = 0; i < b->plan->func_count; i++) {
        const Func *f = b->plan->funcs[i].func;
        if (f->kind != FUNC_INPUT || !r->need[i].any)
            continue;
        const Expr *read_if = r->need[i].read_if;
        for (int d = 0; d < f->rank; d++) {
            Stmt *s        = ARENA_NEW(lw->arena, Stmt);
            s->kind        = STMT_NEED;
            s->need.buffer = port_buffer(b, f, 0);
            s->need.dim    = d;
            s->need.min    = r->need[i].box.min[d];
            s->need.max = read_if ? x_select(lw, read_if, r->need[i].box.max[d], x_sub(lw, s->need.min, x_int(lw, 1)))
                                  : r->need[i].box.max[d];
            s->need.reader = r->reader ? r->reader->name : NULL;
            prelude_before(b, r->w, s);
        }
        r->need[i] = (SymNeed){ 0 };
    }
}

const Expr *name_condition(RegionWalk *r, const Expr *read_if)
{
    Build      *b     = r->b;
    const Expr *known = map_get(&r->read_if, read_if);
    if (known || read_if->op == EX_INT || read_if->op == EX_VAR)
        return known ? known : read_if;
    known = prelude_let(b, r->w,
                        arena_printf(b->lw->arena, "reads.%d@%s", r->named_count++,
                                     r->root ? "root" : r->level.def->loops[r->level.loop].var),
                        read_if);
    map_set(&r->read_if, read_if, known);
    return known;
}

/* Is it monotonic in each variable, by rules that keep that? Then its span over an empty range, whose begin is one past
 * its end, lies in the span over a range with that end. `nodes`: how many may still be visited. */
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

/* The condition under which an access counts. Where nothing is computed, an index that is not monotonic, or is narrowed
 * by `guarded` conditions, could have any span. */
static const Expr *need_condition(const RegionWalk *r, const Expr *call, bool guarded)
{
    int nodes = 100;
    for (uint32_t d = 0; r->missing && d < call->count; d++)
        if (guarded || !is_monotonic(call->args[d], &nodes))
            return x_and(r->b->lw, r->when, r->missing);
    return r->when;
}

void grow_need_if(RegionWalk *r, SymNeed *n, const Func *f, const SymSpan *index, const Expr *read_if,
                  const Expr *guard)
{
    Lower  *lw = r->b->lw;
    SymSpan when[KN_MAX_RANK];
    if (guard) {
        guard           = name_condition(r, guard);
        const Expr *far = x_int(lw, MOST_COORDINATE);
        for (int d = 0; d < f->rank; d++)
            when[d] =
                (SymSpan){ x_select(lw, guard, index[d].min, far), x_select(lw, guard, index[d].max, x_neg(lw, far)) };
    }
    grow_need(lw, n, f->rank, guard ? when : index, read_if);
}

static SymSpan span_within(Lower *lw, const SymBox *box, int d, SymSpan s)
{
    return (SymSpan){ x_max(lw, x_min(lw, s.min, box->max[d]), box->min[d]),
                      x_max(lw, x_min(lw, s.max, box->max[d]), box->min[d]) };
}

/* Inside a loop, of a function that is stored outside of it: clamped to what is stored. */
static SymSpan span_within_stored(const RegionWalk *r, const Func *f, int d, SymSpan s)
{
    const SymBox   *stored = &r->b->stored[f->id];
    const PlanFunc *pf     = plan_func(r->b->plan, f);
    if (f->kind == FUNC_INPUT || !stored->known || level_same(r->level, pf->store) ||
        !level_encloses(r->b->plan, pf->store, r->level))
        return s;
    return span_within(r->b->lw, stored, d, s);
}

static void note_float(const Expr *e, void *user)
{
    *(bool *)user |= type_is_float((kn_type)e->type);
}

/* Inside a loop, of an index that is made of floats: root may know more of its span, and what is computed beyond the
 * box there would read what nobody has. */
static SymSpan span_within_root(const RegionWalk *r, const Expr *call, int d, SymSpan s)
{
    const Func   *f      = call->u.call.func;
    const SymBox *all    = &r->b->at_root[f->id];
    bool          floats = false;
    if (r->root || f->kind == FUNC_INPUT || !all->known)
        return s;
    expr_visit(r->b->lw->exprs, call->args[d], note_float, &floats);
    return floats ? span_within(r->b->lw, all, d, s) : s;
}

/* The first dimension without bounds; the rank if all have some. */
static int first_unbounded(const SymSpan *index, int rank)
{
    int d = 0;
    while (d < rank && index[d].min && index[d].max)
        d++;
    return d;
}

static bool check_bounded(RegionWalk *r, const Expr *call, const SymSpan *index)
{
    const int rank = call->u.call.func->rank, d = first_unbounded(index, rank);
    if (d < rank)
        report_unbounded(r, call, d);
    return d == rank;
}

/* At root: the call happens somewhere, so its dormant accesses count too. */
static void add_dormant(RegionWalk *r, const Expr *call)
{
    const Func *f = call->u.call.func;
    SymNeed    *n = &r->need[f->id];
    for (const Dormant *d = map_get(&r->dormant, call); d; d = d->next) {
        if (!check_bounded(r, call, d->index))
            return;
        grow_need_if(r, n, f, d->index, d->read_if, d->guard);
        n->certain = n->certain || !d->guard;
    }
    map_set(&r->dormant, call, NULL);
    map_set(&r->b->reachable, call, r->b);
}

/* Is the call in a branch that is never taken, as far as root knows, and nowhere else so far? Root keeps the access for
 * later. An access of a definition to itself cannot wait: its box is used before earlier definitions are visited. Only
 * root checks inputs. */
static bool is_dormant(RegionWalk *r, const Expr *call, const SymSpan *index, const Expr *read_if, const Expr *guard)
{
    Build      *b     = r->b;
    const Func *f     = call->u.call.func;
    const bool  live  = map_get(&b->reachable, call);
    const bool  never = read_if && read_if->op == EX_INT && !read_if->u.i;
    if (!r->root)
        return !live;
    if (never && f->kind == FUNC_INPUT)
        return true;
    if (!never || live || (f == r->reader && first_unbounded(index, f->rank) == f->rank)) {
        add_dormant(r, call);
        return false;
    }
    if (f != r->reader) {
        Dormant *put = ARENA_NEW(b->lw->arena, Dormant);
        *put         = (Dormant){ .read_if = read_if, .guard = guard, .next = map_get(&r->dormant, call) };
        memcpy(put->index, index, sizeof *index * (size_t)f->rank);
        map_set(&r->dormant, call, put);
    }
    return true;
}

void note_access(void *user, const Expr *call, const SymSpan *index, const Expr *read_if, const Expr *guard,
                 unsigned must_clamp, unsigned nonmonotonic)
{
    RegionWalk *r = user;
    Build      *b = r->b;
    const Func *f = call->u.call.func;
    if (is_old_value(r, call))
        return;
    guard = x_and(b->lw, guard, need_condition(r, call, guard));
    if (is_dormant(r, call, index, read_if, guard)) {
        clamp_mark(b, call, ~0u);
        return;
    }
    clamp_mark(b, call, must_clamp);
    const PlanFunc *pf     = plan_func(b->plan, f);
    const bool      inside = f->kind == FUNC_INPUT ? r->root : level_encloses(b->plan, r->level, pf->compute);
    SymNeed        *n      = f == r->reader ? r->self : inside ? &r->need[f->id] : NULL;
    if (!n || !check_bounded(r, call, index))
        return;
    SymSpan kept[KN_MAX_RANK];
    for (int d = 0; d < f->rank; d++) {
        kept[d] = nonmonotonic >> d & 1 ? span_within_stored(r, f, d, index[d]) : index[d];
        kept[d] = must_clamp >> d & 1 ? span_within_root(r, call, d, kept[d]) : kept[d];
    }
    n->missing = !n->any ? r->missing : n->missing && r->missing ? x_op(b->lw, EX_OR, n->missing, r->missing) : NULL;
    grow_need_if(r, n, f, kept, read_if ? name_condition(r, read_if) : NULL, guard);
    n->certain = n->certain || !guard;
}
