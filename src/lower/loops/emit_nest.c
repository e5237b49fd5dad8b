/* SPDX-License-Identifier: MIT */
/* The loops of one definition as code.
 *
 * Takes   a definition with its loops (loop_nest.c) and the box to be computed.
 * Gives   the loops, outermost first; after each, a `let` for every variable whose value is known, and what is
 *         computed at that level.
 * Tails   The inner loop of a split is as long as the rest of the extent. If it is a vector or unrolled its length is
 *         fixed. SHIFT_INWARD begins the last piece earlier, and has a serial version for extents below the factor.
 *         GUARD tests whether a whole piece is left, and has a serial epilogue. PREDICATE runs the last piece under a
 *         mask. No region grows, so every size can be computed.
 * From    Ragan-Kelley et al. 2013, section 4.1. */
#include "lower/loops/build.h"

enum { MOST_VERSIONS = 3 };

/* ---- The innermost statement ---- */

/* Is the coordinate always in the range, whatever data it depends on? Where a step happens, what it reads has been
 * computed. */
static bool is_in_range(Lower *lw, const Expr *place, const Expr *min, const Expr *max)
{
    int64_t lo, hi;
    if (!expr_is_int(min, &lo) || !expr_is_int(max, &hi))
        return false;
    const Range r = value_range(lw, place);
    return lo <= r.lo && r.hi <= hi;
}

/* Stores outside the box are dropped. The box is all that is stored, because a later step may read it; with a step
 * table it is the box of this step. */
static const Expr *write_guard(Build *b, const LoopNest *n)
{
    Lower        *lw = b->lw;
    const Update *u  = nest_update(n);
    const Expr   *c  = NULL;
    if (!u)
        return NULL;
    const SymBox *box = n->boxes->tables[n->def->update].buffer ? &n->box : &n->boxes->pure;
    for (int d = 0; d < n->def->func->rank; d++)
        if (!u->is_free[d] && !is_in_range(lw, u->args[d], box->min[d], box->max[d])) {
            const Expr *at = clamped(b, u->args[d]);
            c              = x_and(lw, c, x_and(lw, x_le(lw, box->min[d], at), x_le(lw, at, box->max[d])));
        }
    return c;
}

/* The conjuncts of a condition that read no function, and those that do; NULL: none. */
static void split_by_reads(Lower *lw, const Expr *e, const Expr **plain, const Expr **reading)
{
    if (e->op == EX_AND) {
        split_by_reads(lw, e->args[0], plain, reading);
        split_by_reads(lw, e->args[1], plain, reading);
        return;
    }
    const Expr **part = expr_reads(lw->exprs, e, NULL) ? reading : plain;
    *part             = x_and(lw, *part, e);
}

/* The condition that a point is needed, where bound or align_bounds make the loops run over more; NULL elsewhere. */
static const Expr *point_needed(Build *b, const LoopNest *n)
{
    Lower      *lw = b->lw;
    const Func *f  = n->def->func;
    const Expr *c  = NULL;
    for (int d = 0; n->widened && d < f->rank; d++)
        if (n->shared[d])
            c = x_and(lw, c,
                      x_and(lw, x_le(lw, n->box.min[d], x_var(b->lw, f->args[d])),
                            x_le(lw, x_var(b->lw, f->args[d]), n->box.max[d])));
    return c;
}

/* Does where a step stores depend on what it reads? */
static bool place_reads(Lower *lw, const Func *f, const Update *u)
{
    bool reads = false;
    for (int d = 0; u && d < f->rank; d++)
        reads |= expr_reads(lw->exprs, u->args[d], NULL);
    return reads;
}

static const Stmt *store_point(Build *b, LoopNest *n)
{
    Lower        *lw    = b->lw;
    const Func   *f     = n->def->func;
    const Update *u     = nest_update(n);
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
        s->provide.args[d] = u ? clamped(b, u->args[d]) : x_var(b->lw, f->args[d]);
    for (int c = 0; c < f->component_count; c++)
        s->provide.values[c] = clamped_in(b, n->def, u ? u->values[c] : f->values[c]);
    /* The guards, outermost first: the loops' own; the conjuncts that read nothing; that the point is needed; that the
     * store hits the box; the conjuncts that read. Each inner one may read memory that was not computed where an outer
     * one fails. */
    const Stmt *result = s;
    const Expr *at = write_guard(b, n), *needed = point_needed(b, n);
    if (u && u->where)
        split_by_reads(lw, u->where, &plain, &reading);
    if (reading)
        result = stmt_if(lw->arena, clamped(b, reading), result, NULL);
    if (at)
        result = stmt_if(lw->arena, at, result, NULL);
    if (needed && (at || reading || place_reads(lw, f, u)))
        result = stmt_if(lw->arena, needed, result, NULL);
    if (plain)
        result = stmt_if(lw->arena, clamped(b, plain), result, NULL);
    if (n->guard)
        result = stmt_if(lw->arena, simplify(lw->simplifier, clamped(b, n->guard)), result, NULL);
    return result;
}

/* ---- Loops ---- */

static const Stmt *open_loop(Build *b, LoopNest *n, int i);

static const Stmt *own_loops(Build *b, LoopNest *n, int i)
{
    return i < n->def->loop_count ? open_loop(b, n, i) : store_point(b, n);
}

/* The loops that are not shared, where the shared ones have come to its box. */
static const Stmt *own_loops_guarded(Build *b, LoopNest *n, int i)
{
    Prelude w = { 0 };
    prelude_open(b, &w);
    const Expr *meets = shared_loops_meet(b, n);
    if (meets)
        prelude_if(b, &w, meets);
    nest_bind_known(b, n, &w);
    const Stmt *body = own_loops(b, n, i);
    return prelude_close(b, &w, body);
}

/* The body of loop i - 1: the nest's own loops, then the partners whose last shared loop it is. */
static const Stmt *inside_loop(Build *b, LoopNest *n, int i)
{
    const Stmt *body = n->partner_count && i == shared_loops_depth(n) ? own_loops_guarded(b, n, i) : own_loops(b, n, i);
    for (int k = 0; k < n->partner_count; k++)
        if (n->partners[k]->def->with.loop == i - 1)
            body = stmt_pair(b->lw->arena, body,
                             stmt_produce(b->lw->arena, n->partners[k]->def->func->name, n->partners[k]->def->update,
                                          own_loops_guarded(b, n->partners[k], i)));
    return body;
}

/* Do the bounds of a reduction variable depend on an argument? */
static bool steps_depend(Build *b, const Update *u, const char *arg)
{
    ExprPool *pool   = b->lw->exprs;
    bool      depend = false;
    for (int i = 0; u && i < u->rvar_count; i++)
        depend |= expr_has_variable(pool, u->rvars[i].lo, arg) || expr_has_variable(pool, u->rvars[i].hi, arg);
    return depend;
}

/* Skips points that only bound or align_bounds adds, where the steps of a point depend on it: those of such a point
 * would ask producers for more than they store. `open`: the dimensions, a bit each, that had no value yet. */
static void skip_unneeded(Build *b, LoopNest *n, unsigned open, Prelude *w)
{
    Lower      *lw = b->lw;
    const Func *f  = n->def->func;
    for (int d = 0; n->widened && d < f->rank; d++)
        if (n->shared[d] && open >> d & 1 && nest_find(n, f->args[d])->bound &&
            steps_depend(b, nest_update(n), f->args[d])) {
            const Expr *x = x_var(lw, f->args[d]);
            prelude_if(b, w, x_and(lw, x_le(lw, n->box.min[d], x), x_le(lw, x, n->box.max[d])));
        }
}

/* The dimensions whose variables have no value yet, a bit each. */
static unsigned open_dimensions(const LoopNest *n)
{
    unsigned open = 0;
    for (int d = 0; d < n->def->func->rank; d++)
        open |= (unsigned)(n->shared[d] && !nest_find(n, n->def->func->args[d])->bound) << d;
    return open;
}

/* Loop i without versions. */
static const Stmt *open_plain(Build *b, LoopNest *n, int i)
{
    Lower          *lw   = b->lw;
    const PlanLoop *loop = &n->def->loops[i];
    const unsigned  open = open_dimensions(n);
    nest_range(b, n, loop->var);
    NestVar    *at  = nest_find(n, loop->var);
    const Expr *min = at->min, *extent = at->extent;
    if (n->time_tiles && i == n->def->time_tile.loop)
        time_tiles_steps(b, n->time_tiles, &min, &extent);
    if (n->time_tiles && i == n->def->time_tile.loop + 1)
        time_tiles_along(b, n->time_tiles, n->def->loops[i - 1].var, &min, &extent);
    if (n->time_tiles && n->time_tiles->pieces && i == n->def->time_tile.loop + 2) {
        const char *whole = n->def->func->args[n->def->time_tile.across.dim];
        nest_range(b, n, whole);
        time_tiles_across(b, n->time_tiles, n->def->loops[i - 2].var, nest_find(n, whole)->min, &min, &extent);
    }
    min              = simplify(lw->simplifier, min);
    extent           = simplify(lw->simplifier, extent);
    const Expr *last = x_sub(lw, x_add(lw, min, extent), x_int(lw, 1));
    Prelude     w    = { 0 };
    prelude_open(b, &w);
    BoundName scope = { loop->var, NULL, n->scalar[i] ? LOOP_SERIAL : loop->kind, min };
    vec_push(lw->arena, &b->names, scope);
    simplifier_push_range(lw->simplifier, loop->var, min, last);
    w.pushed++;
    at->bound = true;
    nest_bind_known(b, n, &w);
    skip_unneeded(b, n, open, &w);
    shared_loops_bind(b, n, i, &w);
    prefetches(b, n, i, &w);
    const Stmt *body = level_build(b, (PlanLevel){ n->def, i }, n, inside_loop, i + 1);
    body             = prelude_close(b, &w, body);
    return stmt_for(lw->arena, loop->var, n->scalar[i] ? LOOP_SERIAL : loop->kind, min, extent, body);
}

/* The inner loop is serial in this version, as long as the rest of the extent. */
static void make_serial(LoopNest *n, const PlanStep *s, int index)
{
    n->scalar[nest_loop(n->def, s->inner)] = true;
    n->modes[index]                        = SPLIT_EXACT;
    nest_find(n, s->inner)->min            = NULL;
}

/* The version for extents below the factor: at most one iteration of the outer loop, and a serial inner one. */
static const Stmt *open_short(Build *b, LoopNest *n, int i, const PlanStep *s, int index, const Expr *large)
{
    Lower   *lw    = b->lw;
    NestVar *outer = nest_find(n, s->outer);
    make_serial(n, s, index);
    outer->min    = x_int(lw, 0);
    outer->extent = x_min(lw, nest_find(n, s->whole)->extent, x_int(lw, 1));
    simplifier_push_fact(lw->simplifier, expr_unary(lw->exprs, EX_BIT_NOT, KN_BOOL, large));
    const Stmt *result = open_plain(b, n, i);
    simplifier_pop(lw->simplifier);
    return result;
}

/* The outer loop of a split whose inner one has a fixed length, and whose last piece may begin earlier: two versions,
 * the second for extents below the factor. */
static const Stmt *open_versions(Build *b, LoopNest *n, int i, const PlanStep *s, int index)
{
    Lower *lw = b->lw;
    nest_range(b, n, s->whole);
    const Expr *large = simplify(lw->simplifier, x_le(lw, x_int(lw, s->factor), nest_find(n, s->whole)->extent));
    LoopNest    small = nest_copy(b, n);
    n->modes[index]   = SPLIT_SHIFT;
    simplifier_push_fact(lw->simplifier, large);
    const Stmt *yes = large->op == EX_INT && !large->u.i ? NULL : open_plain(b, n, i);
    simplifier_pop(lw->simplifier);
    if (large->op == EX_INT && large->u.i)
        return yes;
    return stmt_if(lw->arena, large, yes, open_short(b, &small, i, s, index, large));
}

/* A loop of fixed length under GUARD or PREDICATE, inside its outer loop: a whole piece, or else the rest. */
static const Stmt *open_guarded(Build *b, LoopNest *n, int i, const PlanStep *s, int index)
{
    Lower      *lw     = b->lw;
    const Expr *extent = nest_find(n, s->whole)->extent, *factor = x_int(lw, s->factor);
    if (lw->gpu && s->tail == TAIL_PREDICATE) { /* interior blocks lose the guards (passes/interior.c) */
        n->modes[index] = SPLIT_GUARD;
        return open_plain(b, n, i);
    }
    const Expr *whole = simplify(
        lw->simplifier, x_le(lw, x_op(lw, EX_MUL, x_add(lw, x_var(b->lw, s->outer), x_int(lw, 1)), factor), extent));
    LoopNest rest   = nest_copy(b, n);
    n->modes[index] = SPLIT_FULL;
    simplifier_push_fact(lw->simplifier, whole);
    const Stmt *yes = open_plain(b, n, i);
    simplifier_pop(lw->simplifier);
    if (whole->op == EX_INT && whole->u.i)
        return yes;
    if (s->tail == TAIL_PREDICATE)
        rest.modes[index] = SPLIT_GUARD;
    else
        make_serial(&rest, s, index);
    return stmt_if(lw->arena, whole, yes, open_plain(b, &rest, i));
}

static int count_versions(const LoopNest *n)
{
    int count = 0;
    for (int i = 0; i < n->def->step_count; i++)
        count += n->modes[i] == SPLIT_SHIFT;
    return count;
}

static const Stmt *open_time_tiles(Build *b, LoopNest *n, int i)
{
    TimeTiles *tt = ARENA_NEW(b->lw->arena, TimeTiles);
    time_tiles_open(b, n, tt);
    n->time_tiles     = tt;
    const Stmt *steps = open_plain(b, n, i);
    n->time_tiles     = NULL;
    return time_tiles_close(b, tt, steps);
}

static const Stmt *open_loop(Build *b, LoopNest *n, int i)
{
    if (n->def->time_tile.size && i == n->def->time_tile.loop)
        return open_time_tiles(b, n, i);
    const char     *name = n->def->loops[i].var;
    int             index;
    const PlanStep *s = nest_split_of_outer(n, name, &index);
    if (s && n->modes[index] == SPLIT_OPEN && nest_is_fixed_length(n, s->inner) && !nest_is_bound(n, s->inner) &&
        nest_may_shift(n, s) && count_versions(n) < MOST_VERSIONS)
        return open_versions(b, n, i, s, index);
    s = nest_split_of_inner(n, name, &index);
    if (s && n->modes[index] == SPLIT_OPEN && nest_is_fixed_length(n, name) && nest_is_bound(n, s->outer))
        return open_guarded(b, n, i, s, index);
    return open_plain(b, n, i);
}

const Stmt *nest_build(Build *b, LoopNest *n)
{
    Prelude w = { 0 };
    prelude_open(b, &w);
    nest_bind_known(b, n, &w);
    const Stmt *body = inside_loop(b, n, 0);
    return prelude_close(b, &w, body);
}
