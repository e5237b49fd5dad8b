/* SPDX-License-Identifier: MIT */
/* Updates that read their neighbours (a time loop: a(x+1, t-1)): the free box differs from step to step.
 *
 * Takes   the box needed after the last step.
 * Gives   code that walks the steps backwards and keeps in a table the box needed after each: entry n for the last
 *         step, entry 0 before the first. The box grows by what a step reads of the function itself, if the step
 *         writes into it.
 * Holds   the boxes are those of analysis/boxes.c, which walks the same steps with numbers. */
#include "lower/loops/build.h"

typedef struct NeighbourDims {
    const Func   *f;
    const Update *u;
    bool          along[KN_MAX_RANK];
} NeighbourDims;

static void neighbour_visit(const Expr *e, void *user)
{
    NeighbourDims *s = user;
    for (uint32_t d = 0; e->op == EX_CALL && e->u.call.func == s->f && d < e->count; d++)
        s->along[d] |= e->args[d] != s->u->args[d];
}

/* The dimensions along which the update reads itself at another coordinate than it writes. */
static NeighbourDims find_neighbour_dims(Build *b, const Func *f, int update)
{
    NeighbourDims s = { .f = f, .u = &f->updates[update] };
    def_visit(b->lw->exprs, f, update, neighbour_visit, &s);
    return s;
}

bool update_reads_neighbours(Build *b, const Func *f, int update)
{
    const NeighbourDims s     = find_neighbour_dims(b, f, update);
    bool                found = false;
    for (int d = 0; d < f->rank; d++)
        found |= s.u->is_free[d] && s.along[d];
    return found;
}

/* The hull of what one step reads of the function itself. */
typedef struct StepReads {
    Build        *b;
    const Func   *f;
    const Update *u;
    SymBox        box;
} StepReads;

static void self_read(void *user, const Expr *call, const SymSpan *index, const Expr *read_if, const Expr *guard,
                      unsigned must_clamp, unsigned nonmonotonic)
{
    StepReads *s  = user;
    Lower     *lw = s->b->lw;
    (void)nonmonotonic;
    clamp_mark(s->b, call, must_clamp);
    if (call->u.call.func != s->f || expr_is_call_at(call, s->f, s->u->args))
        return;
    const Expr *far = x_int(lw, MOST_COORDINATE), *when = read_if ? read_if : guard;
    for (int d = 0; d < s->f->rank; d++) {
        if (!index[d].min || !index[d].max) {
            if (!s->b->failed)
                diag_error(lw->cx, s->u->loc, "clamp the index, or guard it with a condition",
                           "`%s` reads itself with an index that has no bounds", s->f->name);
            s->b->failed = true;
            return;
        }
        const Expr *min = when ? x_select(lw, when, index[d].min, far) : index[d].min;
        const Expr *max = when ? x_select(lw, when, index[d].max, x_neg(lw, far)) : index[d].max;
        s->box.min[d]   = x_min(lw, s->box.min[d], min);
        s->box.max[d]   = x_max(lw, s->box.max[d], max);
    }
}

/* Entry `index` of the table, one end of one dimension. */
static const Expr *table_index(Build *b, const Func *f, const Expr *index, int d, int end)
{
    Lower *lw = b->lw;
    return x_add(lw, x_op(lw, EX_MUL, index, x_int(lw, 2 * f->rank)), x_int(lw, 2 * d + end));
}

/* The value is a coordinate, or a check has failed. The clamp tells later passes, for which a table could hold any
 * number. */
static const Expr *load_end(Build *b, const Func *f, const StepTable *t, const Expr *index, int d, int end)
{
    Lower      *lw  = b->lw;
    const Expr *far = x_int(lw, MOST_COORDINATE);
    return x_max(lw, x_min(lw, build_load(b, t->buffer, table_index(b, f, index, d, end)), far), x_neg(lw, far));
}

static const Stmt *store_box(Build *b, const Func *f, const StepTable *t, const Expr *index, const SymBox *box)
{
    const Stmt *all = NULL;
    for (int d = 0; d < f->rank; d++) {
        all = stmt_pair(b->lw->arena, all, build_store(b, t->buffer, table_index(b, f, index, d, 0), box->min[d]));
        all = stmt_pair(b->lw->arena, all, build_store(b, t->buffer, table_index(b, f, index, d, 1), box->max[d]));
    }
    return all;
}

static SymBox load_box(Build *b, const Func *f, const StepTable *t, const Expr *index, Prelude *w, const char *what)
{
    SymBox box = { 0 };
    for (int d = 0; d < f->rank; d++) {
        if (t->still[d]) {
            box.min[d] = t->need.min[d];
            box.max[d] = t->need.max[d];
            continue;
        }
        box.min[d] = prelude_let(b, w, arena_printf(b->lw->arena, "%s.min.%s", f->args[d], what),
                                 load_end(b, f, t, index, d, 0));
        box.max[d] = prelude_let(b, w, arena_printf(b->lw->arena, "%s.max.%s", f->args[d], what),
                                 load_end(b, f, t, index, d, 1));
    }
    return box;
}

/* Begins the spans of one step: free variables vary in `box`, reduction variables are fixed. */
static void begin_step(Build *b, const Func *f, const Update *u, const SymBox *box, StepReads *reads)
{
    span_env_reset(&b->spans, b->lw);
    b->spans.checking = true; /* an access that does not happen must not grow the box */
    b->spans.access   = self_read;
    b->spans.user     = reads;
    for (int d = 0; d < f->rank; d++)
        if (u->is_free[d])
            span_env_bind(&b->spans, f->args[d], (SymSpan){ box->min[d], box->max[d] });
}

/* Does the step write into the box? */
static const Expr *step_writes_box(Build *b, const Func *f, const Update *u, const SymBox *box)
{
    Lower      *lw = b->lw;
    const Expr *c  = NULL;
    for (int d = 0; d < f->rank; d++) {
        if (u->is_free[d])
            continue;
        const SymSpan at = span_of(&b->spans, u->args[d]);
        c                = at.min ? x_and(lw, c, x_le(lw, at.min, box->max[d])) : c;
        c                = at.max ? x_and(lw, c, x_le(lw, box->min[d], at.max)) : c;
    }
    return c;
}

static void visit_step(Build *b, const Func *f, const Update *u)
{
    SpanEnv *sp = &b->spans;
    if (u->where)
        visit_accesses(sp, u->where);
    const bool entered = u->where && span_env_enter(sp, u->where, true);
    for (int d = 0; d < f->rank; d++)
        visit_accesses(sp, u->args[d]);
    for (int c = 0; c < f->component_count; c++)
        visit_accesses(sp, u->values[c]);
    if (entered)
        span_env_leave(sp);
}

/* The body of the backward walk: from the box after a step to the box before it. */
static const Stmt *step_back(Build *b, const Func *f, const Update *u, const StepTable *t, const Expr *at)
{
    Lower  *lw = b->lw;
    Prelude w  = { 0 };
    prelude_open(b, &w);
    const Expr *rest = at;
    for (int i = u->rvar_count - 1; i >= 0; i--) {
        prelude_let(b, &w, u->rvars[i].name, x_add(lw, t->lo[i], x_op(lw, EX_MOD, rest, t->extent[i])));
        rest = x_op(lw, EX_DIV, rest, t->extent[i]);
    }
    const SymBox after  = load_box(b, f, t, x_add(lw, at, x_int(lw, 1)), &w, "after");
    StepReads    reads  = { b, f, u, after };
    const size_t checks = b->spans.checks.count;
    begin_step(b, f, u, &after, &reads);
    const Expr *writes = step_writes_box(b, f, u, &after);
    visit_step(b, f, u);
    b->spans.checks.count = checks; /* these mention names of this step; root checks the whole update */
    for (int d = 0; d < f->rank && writes; d++) {
        reads.box.min[d] = x_select(lw, writes, reads.box.min[d], after.min[d]);
        reads.box.max[d] = x_select(lw, writes, reads.box.max[d], after.max[d]);
    }
    return prelude_close(b, &w, store_box(b, f, t, at, &reads.box));
}

/* The range of each reduction variable, and the number of all steps. */
static const Expr *name_domain(Build *b, const Func *f, int update, const SymBox *need, const char *place, Prelude *w,
                               StepTable *t)
{
    Lower        *lw     = b->lw;
    const Update *u      = &f->updates[update];
    StepReads     none   = { b, f, u, *need };
    const size_t  checks = b->spans.checks.count;
    begin_step(b, f, u, need, &none);
    for (int d = 0; d < f->rank; d++)
        if (u->is_free[d] && !t->still[d])
            span_env_bind(&b->spans, f->args[d],
                          (SymSpan){ NULL, NULL }); /* its box grows during the walk, though it may be one point now */
    t->lo             = ARENA_ARRAY(lw->arena, const Expr *, (size_t)u->rvar_count);
    t->extent         = ARENA_ARRAY(lw->arena, const Expr *, (size_t)u->rvar_count);
    const Expr *steps = x_int(lw, 1), *wide = expr_int(lw->exprs, KN_I64, 1);
    for (int i = 0; i < u->rvar_count; i++) {
        const SymSpan lo = span_of(&b->spans, u->rvars[i].lo), hi = span_of(&b->spans, u->rvars[i].hi);
        if (!lo.min || !hi.max || lo.min != lo.max || hi.min != hi.max) {
            if (!b->failed)
                diag_error_as(
                    lw->cx, ERROR_UNCOMPILABLE, u->loc,
                    "run it with --interpret, or give constant bounds and a `where`",
                    "the steps of this update of `%s` have bounds that depend on the point or on other steps, "
                    "and it reads its neighbours: this cannot be compiled",
                    f->name);
            b->failed = true;
            return steps;
        }
        t->lo[i]     = prelude_let(b, w, arena_printf(lw->arena, "%s.lo@%s", u->rvars[i].name, place), lo.min);
        t->extent[i] = prelude_let(b, w, arena_printf(lw->arena, "%s.extent@%s", u->rvars[i].name, place),
                                   x_max(lw, x_sub(lw, hi.max, lo.min), x_int(lw, 0)));
        span_env_bind(&b->spans, u->rvars[i].name, (SymSpan){ lo.min, x_sub(lw, hi.max, x_int(lw, 1)) });
        steps = x_op(lw, EX_MUL, steps, t->extent[i]);
        wide  = x_op(lw, EX_MUL, wide, x_cast(lw, KN_I64, t->extent[i]));
    }
    b->spans.checks.count = checks;
    const char *message =
        arena_printf(lw->arena, "an update of `%s` that reads its neighbours has more than 2^24 steps", f->name);
    prelude_before(b, w,
                   build_check(b, KN_ERROR_BOUNDS, x_le(lw, wide, expr_int(lw->exprs, KN_I64, 1 << 24)), message));
    return prelude_let(b, w, arena_printf(lw->arena, "%s.u%d.steps@%s", f->name, update, place), steps);
}

void step_boxes_make(Build *b, const Func *f, int update, const SymBox *need, PlanLevel level, Prelude *w, StepTable *t,
                     SymBox *before, SymBox *after_first)
{
    Lower        *lw    = b->lw;
    const Update *u     = &f->updates[update];
    const char   *place = level.def ? level.def->loops[level.loop].var : "root";
    *before = *after_first = t->need = *need;
    const NeighbourDims neighbours   = find_neighbour_dims(b, f, update);
    for (int d = 0; d < f->rank; d++)
        t->still[d] = u->is_free[d] && !neighbours.along[d];
    t->buffer         = build_scratch(b, arena_printf(lw->arena, "%s.u%d.steps@%s", f->name, update, place), KN_I32);
    const Expr *steps = name_domain(b, f, update, need, place, w, t);
    if (b->failed)
        return;
    const Expr *entries = x_add(lw, steps, x_int(lw, 1));
    prelude_alloc(b, w, t->buffer,
                  x_op(lw, EX_MUL, x_cast(lw, KN_I64, entries), expr_int(lw->exprs, KN_I64, 2 * f->rank)));
    prelude_before(b, w, store_box(b, f, t, steps, need));
    const char *name = intern(lw->cx, arena_printf(lw->arena, "%s.u%d.back", f->name, update));
    const Expr *at   = x_sub(lw, x_sub(lw, steps, x_int(lw, 1)), expr_var(lw->exprs, KN_I32, name));
    prelude_before(b, w, stmt_for(lw->arena, name, LOOP_SERIAL, x_int(lw, 0), steps, step_back(b, f, u, t, at)));
    *before = load_box(b, f, t, x_int(lw, 0), w, arena_printf(lw->arena, "u%d.before@%s", update, place));
    *after_first =
        load_box(b, f, t, x_min(lw, steps, x_int(lw, 1)), w, arena_printf(lw->arena, "u%d.most@%s", update, place));
}

void step_box(Build *b, const Func *f, int update, const StepTable *t, Prelude *w, SymBox *box)
{
    Lower        *lw = b->lw;
    const Update *u  = &f->updates[update];
    const Expr   *at = x_int(lw, 0);
    for (int i = 0; i < u->rvar_count; i++)
        at = x_add(lw, x_op(lw, EX_MUL, at, t->extent[i]),
                   x_sub(lw, expr_var(lw->exprs, KN_I32, u->rvars[i].name), t->lo[i]));
    *box = load_box(b, f, t, x_add(lw, at, x_int(lw, 1)), w, arena_printf(lw->arena, "u%d.step", update));
}
