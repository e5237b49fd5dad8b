/* SPDX-License-Identifier: MIT */
/* Software prefetch: requests the cache lines that a loop will read some iterations later.
 *
 * Takes   a nest in which the loop has just been opened, or one inside it, and a function that is stored outside it.
 * Gives   a prefetch for each cache line, up to a bound, of the box that is read of the function in one iteration of
 *         the loop last opened, `ahead` iterations of the named loop later, less what the iteration before has
 *         requested. The box is read by the definition itself, or else by functions computed inside the named loop.
 *         Around vectors the loop last opened is the one just outside the vector: while a row is computed, a later row
 *         is requested line by line.
 * Holds   an address lies in the storage. An end of the box that depends on data is the end of the storage. */
#include "lower/loops/build.h"

enum { LINE = 64, MOST_LINES = 16, MOST_ROWS = 16, MOST_PLANES = 4 }; /* LINE: bytes; the others: of one prefetch */

/* The loop in whose iterations the lines of a prefetch at `loop` are requested: the innermost serial one around the
 * vector, but none of a reduction. */
static int prefetch_level(const LoopNest *n, int loop)
{
    const PlanLoop *loops = n->def->loops;
    int             level = loop, vector = loop;
    for (int i = loop + 1; i < n->def->loop_count; i++)
        if (loops[i].kind == LOOP_VECTOR)
            vector = i;
    for (int i = loop + 1; i < vector && !loops[i].is_reduction && loops[i].kind != LOOP_PARALLEL; i++)
        if (loops[i].kind == LOOP_SERIAL)
            level = i;
    return level;
}

/* Does each iteration begin where the one before ended: are they vectors of one row? */
static bool is_contiguous(const LoopNest *n, int loop)
{
    const PlanDef *def = n->def;
    for (int i = 0; i < def->step_count; i++)
        for (int k = loop + 1; k < def->loop_count; k++)
            if (def->steps[i].kind == STEP_SPLIT && def->steps[i].outer == def->loops[loop].var &&
                def->steps[i].inner == def->loops[k].var)
                return def->loops[k].kind == LOOP_VECTOR;
    return false;
}

/* The hull of what is read of a function. */
typedef struct ReadBox {
    bool   any;
    SymBox box;
} ReadBox;

typedef struct PrefetchWalk {
    Build   *b;
    ReadBox *reads;
} PrefetchWalk;

/* The smaller (larger) of two ends. NULL is no bound. */
static const Expr *hull_end(Lower *lw, ExprOp op, bool any, const Expr *a, const Expr *b)
{
    return !any ? b : a && b ? x_op(lw, op, a, b) : NULL;
}

static void prefetch_access(void *user, const Expr *call, const SymSpan *index, const Expr *reachable,
                            const Expr *guard, unsigned must_clamp, unsigned nonmonotonic)
{
    PrefetchWalk *at = user;
    ReadBox      *r  = &at->reads[call->u.call.func->id];
    (void)reachable;
    (void)guard;
    (void)must_clamp;
    (void)nonmonotonic;
    for (uint32_t d = 0; d < call->count; d++) {
        r->box.min[d] = hull_end(at->b->lw, EX_MIN, r->any, r->box.min[d], index[d].min);
        r->box.max[d] = hull_end(at->b->lw, EX_MAX, r->any, r->box.max[d], index[d].max);
    }
    r->any = true;
}

/* What the definitions of a function read over a box of it. */
static void read_over(PrefetchWalk *at, const Func *f, const SymBox *box)
{
    Build *b = at->b;
    for (int k = -1; k < f->update_count; k++) {
        const Update *u = k < 0 ? NULL : &f->updates[k];
        span_env_reset(&b->spans, b->lw);
        b->spans.access   = prefetch_access;
        b->spans.user     = at;
        b->spans.checking = false;
        for (int d = 0; d < f->rank; d++)
            if (!u || u->is_free[d])
                span_env_bind(&b->spans, f->args[d], (SymSpan){ box->min[d], box->max[d] });
        for (int i = 0; u && i < u->rvar_count; i++) {
            const Expr *end = span_of(&b->spans, u->rvars[i].hi).max;
            span_env_bind(
                &b->spans, u->rvars[i].name,
                (SymSpan){ span_of(&b->spans, u->rvars[i].lo).min, end ? x_sub(b->lw, end, x_int(b->lw, 1)) : NULL });
        }
        for (int c = 0; c < f->component_count; c++)
            visit_accesses(&b->spans, u ? u->values[c] : f->values[c]);
    }
}

/* What is read of f in an iteration of the loop last opened: by the definition, or else by the functions computed
 * inside `loop`, consumers first. */
static ReadBox reads_of(Build *b, LoopNest *n, int loop, const Func *f)
{
    PrefetchWalk at = { b, ARENA_ARRAY(b->lw->arena, ReadBox, (size_t)b->plan->func_count) };
    nest_accesses(b, n, prefetch_access, &at);
    const bool itself = at.reads[f->id].any;
    for (int i = b->plan->func_count - 1; i >= 0 && !itself; i--) {
        const PlanFunc *pf = &b->plan->funcs[i];
        if (at.reads[i].any && pf->func->kind == FUNC_DEFINED && pf->func != n->def->func &&
            level_encloses(b->plan, (PlanLevel){ n->def, loop }, pf->compute))
            read_over(&at, pf->func, &at.reads[i].box);
    }
    return at.reads[f->id];
}

/* The end of a box `ahead` iterations later, in names from outside the loop; NULL where it is not known. */
static const Expr *shifted(Build *b, const Expr *end, const char *loop, int64_t ahead)
{
    Lower *lw = b->lw;
    for (size_t i = b->names.count; end && i-- > 0;) {
        const BoundName *s = &b->names.at[i];
        if (s->value)
            end = expr_substitute(lw->exprs, end, 1, &s->name, &s->value);
        if (s->name == loop)
            break;
    }
    if (!end || expr_reads_any(lw->exprs, end))
        return NULL;
    const Expr *then = x_add(lw, expr_var(lw->exprs, KN_I32, loop), x_int(lw, ahead));
    return simplify(lw->simplifier, expr_substitute(lw->exprs, end, 1, &loop, &then));
}

static const Expr *within(Build *b, const Expr *e, const Expr *min, const Expr *max)
{
    return simplify(b->lw->simplifier, x_max(b->lw, x_min(b->lw, e, max), min));
}

static bool is_invariant(Build *b, const Expr *e, const char *loop)
{
    const Expr *next = x_add(b->lw, expr_var(b->lw->exprs, KN_I32, loop), x_int(b->lw, 1));
    return expr_substitute(b->lw->exprs, e, 1, &loop, &next) == e;
}

/* Without the clamps of a boundary or of the end of a split: limits that are invariant in the loop. */
static const Expr *unclamped(Build *b, const Expr *e, const char *loop)
{
    if (e->op == EX_MIN || e->op == EX_MAX) {
        const bool first = is_invariant(b, e->args[0], loop), second = is_invariant(b, e->args[1], loop);
        return first == second ? e : unclamped(b, e->args[first], loop);
    }
    if (e->op == EX_ADD || e->op == EX_SUB)
        return x_op(b->lw, (ExprOp)e->op, unclamped(b, e->args[0], loop), unclamped(b, e->args[1], loop));
    return e;
}

/* How far the end of a box moves at most from one iteration to the next; -1 where that is no constant. Where it is
 * clamped it moves less. */
static int64_t advance(Build *b, const Expr *end, const char *loop)
{
    int64_t     by;
    const Expr *now = shifted(b, end, loop, 0), *before = shifted(b, end, loop, -1), *moved;
    if (!now || !before)
        return -1;
    moved = simplify(b->lw->simplifier, x_sub(b->lw, unclamped(b, now, loop), unclamped(b, before, loop)));
    return expr_is_int(moved, &by) && by >= 0 ? by : -1;
}

/* Where a window moves along one dimension only, earlier iterations have requested all but its end. */
static void drop_prefetched(Build *b, int rank, SymBox *box, const char *loop)
{
    int     moving = -1, count = 0;
    int64_t by = 0;
    for (int d = 0; d < rank; d++) {
        const int64_t a = advance(b, box->max[d], loop);
        count += a != 0;
        if (a > 0) {
            moving = d;
            by     = a;
        }
    }
    if (count == 1 && moving >= 0)
        box->min[moving] = x_max(b->lw, box->min[moving], x_sub(b->lw, box->max[moving], x_int(b->lw, by - 1)));
}

static const Stmt *prefetch_point(Build *b, const Func *f, const Expr *const *args)
{
    Arena *a         = b->lw->arena;
    Stmt  *s         = ARENA_NEW(a, Stmt);
    s->kind          = STMT_PREFETCH;
    s->prefetch.func = f;
    s->prefetch.rank = f->rank;
    s->prefetch.args = ARENA_ARRAY(a, const Expr *, (size_t)f->rank);
    for (int d = 0; d < f->rank; d++)
        s->prefetch.args[d] = args[d];
    return s;
}

/* The i-th dimension of a function in memory order. */
static int memory_dim(Build *b, const Func *f, int i)
{
    return f->kind == FUNC_INPUT ? i : plan_func(b->plan, f)->order[i];
}

/* max - min of a dimension: constant if it is before the box is clamped to the storage. */
static const Expr *length(Build *b, const SymBox *box, const SymBox *now, int d)
{
    Lower  *lw = b->lw;
    int64_t n;
    if (now->min[d] && now->max[d]) {
        const Expr *e = simplify(lw->simplifier, x_sub(lw, now->max[d], now->min[d]));
        if (expr_is_int(e, &n) && n >= 0)
            return e;
    }
    return x_sub(lw, box->max[d], box->min[d]);
}

/* Loops over the lines, rows and planes of the box. Their lengths are those of `now` where these are constants. A row
 * may begin within a line, so it has one line more, unless the next iteration requests that. */
static const Stmt *prefetch_box(Build *b, const PlanDef *def, const Func *f, const SymBox *box, const SymBox *now,
                                bool dense)
{
    Lower      *lw = b->lw;
    const Expr *args[KN_MAX_RANK], *count[KN_MAX_RANK];
    const char *names[KN_MAX_RANK];
    int64_t     n;
    for (int i = 0; i < f->rank; i++) {
        const int     d    = memory_dim(b, f, i);
        const int64_t step = i ? 1 : LINE / (int64_t)kn_type_size(f->types[0]), most = i == 0   ? MOST_LINES
                                                                                       : i == 1 ? MOST_ROWS
                                                                                                : MOST_PLANES;
        const Expr   *last = x_op(lw, EX_DIV, length(b, box, now, d), x_int(lw, step));
        names[d]           = intern(lw->cx, arena_printf(lw->arena, "%s.fetch.%s", def->func->name, f->args[d]));
        count[d] = simplify(lw->simplifier, x_min(lw, x_add(lw, last, x_int(lw, i || dense ? 1 : 2)), x_int(lw, most)));
        args[d] =
            x_min(lw, x_add(lw, box->min[d], x_op(lw, EX_MUL, expr_var(lw->exprs, KN_I32, names[d]), x_int(lw, step))),
                  box->max[d]);
    }
    const Stmt *s = prefetch_point(b, f, args);
    for (int i = 0; i < f->rank; i++) {
        const int d = memory_dim(b, f, i);
        s = stmt_for(lw->arena, names[d], expr_is_int(count[d], &n) ? LOOP_UNROLL : LOOP_SERIAL, x_int(lw, 0), count[d],
                     s);
    }
    return s;
}

/* The end of the prefetched box. An end that is the same in all iterations is read in this one too: it lies in the
 * storage, and needs no clamp. `unknown` is the end where it depends on data. */
static const Expr *prefetch_end(Build *b, const Expr *end, const PlanPrefetch *p, const char *loop, const Expr *min,
                                const Expr *max, const Expr *unknown)
{
    const Expr *then = shifted(b, end, loop, p->ahead);
    return !then ? unknown : then == shifted(b, end, loop, 0) ? then : within(b, then, min, max);
}

static void prefetch_one(Build *b, LoopNest *n, const PlanPrefetch *p, int level, Prelude *w)
{
    const Func *f     = p->func;
    const char *loop  = n->def->loops[p->loop].var;
    const bool  dense = p->loop < level && is_contiguous(n, level);
    if (f->kind != FUNC_INPUT && !b->stored[f->id].known)
        return;
    const SymBox stored = storage_box(b, f);
    ReadBox      read   = reads_of(b, n, p->loop, f);
    SymBox       box    = { 0 };
    if (!read.any)
        return;
    drop_prefetched(b, f->rank, &read.box, loop);
    if (dense)
        drop_prefetched(b, f->rank, &read.box, n->def->loops[level].var);
    for (int d = 0; d < f->rank; d++) {
        box.min[d] = prefetch_end(b, read.box.min[d], p, loop, stored.min[d], stored.max[d], stored.min[d]);
        box.max[d] = prefetch_end(b, read.box.max[d], p, loop, stored.min[d], stored.max[d], stored.max[d]);
    }
    prelude_before(b, w, prefetch_box(b, n->def, f, &box, &read.box, dense));
}

void prefetches(Build *b, LoopNest *n, int loop, Prelude *w)
{
    for (int i = 0; i < n->def->prefetch_count; i++) {
        const PlanPrefetch *p = &n->def->prefetches[i];
        if (prefetch_level(n, p->loop) == loop)
            prefetch_one(b, n, p, loop, w);
    }
    for (int i = 0; i < n->partner_count; i++)
        if (n->partners[i]->def->with.loop >= loop)
            prefetches(b, n->partners[i], loop, w);
}
