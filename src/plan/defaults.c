/* SPDX-License-Identifier: MIT */
/* The default schedule: level and loops of functions that the schedule does not name.
 *
 * Every function that is not inlined (inline.c) is computed at root, rows in parallel, its first dimension as vectors.
 * A reduction at each point of its one consumer, like the hidden out.sum of out, is computed just outside the
 * consumer's vector loop instead: its values stay in cache. */
#include "plan/planner.h"

enum { MOST_DEFAULT_LANES = 64, SHORT_REDUCTION = 64 };

/* ---- Place ------------------------------------------------------------------------------ */

typedef struct OwnPoint {
    const Func *f, *reader;
    bool        always;
} OwnPoint;

static void note_point(const Expr *e, void *user)
{
    OwnPoint *p = user;
    for (uint32_t i = 0; e->op == EX_CALL && e->u.call.func == p->f && i < e->count; i++)
        p->always &= e->args[i]->op == EX_VAR && e->args[i]->u.name == p->reader->args[i];
}

static bool read_at_own_point(Planner *pl, const Func *f, const Func *reader)
{
    OwnPoint p = { f, reader, f->rank == reader->rank };
    for (int i = 0; i < reader->component_count && p.always; i++)
        expr_visit(&pl->plan->exprs, reader->values[i], note_point, &p);
    return p.always;
}

void default_place(Planner *pl, FuncDraft *f)
{
    if (f->plan->is_output || f->func->kind != FUNC_DEFINED || !f->func->update_count || f->readers.count != 1)
        return;
    const Reader r = f->readers.at[0];
    if (r.update >= 0 || r.func->func->kind != FUNC_DEFINED || !r.func->func->rank ||
        draft_def(r.func, -1)->versions.count || asked_partner(r.func) || !read_at_own_point(pl, f->func, r.func->func))
        return;
    for (int k = 0; k < f->func->update_count; k++) {
        for (int d = 0; d < f->func->rank; d++)
            if (!f->func->updates[k].is_free[d])
                return;
        if (draft_def(f, k)->facts.other_points)
            return;
    }
    f->inside = r.func;
}

/* ---- Lanes ------------------------------------------------------------------------------ */

typedef struct Widths {
    int narrow, wide;
} Widths;

static void note_type(Widths *w, kn_type t)
{
    const int bits = type_bits(t) < 8 ? 8 : type_bits(t);
    w->narrow      = bits < w->narrow ? bits : w->narrow;
    w->wide        = bits > w->wide ? bits : w->wide;
}

static void note_call_type(const Expr *e, void *user)
{
    if (e->op == EX_CALL)
        note_type(user, (kn_type)e->type);
}

/* Lanes that fill one vector register with the narrowest type of the definition, and at most four with the widest. */
static int choose_lanes(Planner *pl, const Func *f, const Expr *const *values)
{
    Widths w = { 64, 8 };
    for (int i = 0; i < f->component_count; i++) {
        note_type(&w, f->types[i]);
        note_type(&w, (kn_type)values[i]->type);
        expr_visit(&pl->plan->exprs, values[i], note_call_type, &w);
    }
    int lanes = pl->target.vector_bits / w.narrow;
    while (lanes > MOST_DEFAULT_LANES || lanes > 4 * pl->target.vector_bits / w.wide)
        lanes /= 2;
    return lanes;
}

/* ---- Loops ------------------------------------------------------------------------------ */

static int loop_of_dimension(const DefDraft *d, int dim)
{
    for (size_t i = 0; i < d->loops.count; i++)
        if (d->loops.at[i].vars == 1u << dim)
            return (int)i;
    return -1;
}

/* The vector loop of a function's pure definition if it is along dimension 0: its lanes, else 0. */
static int lanes_along_rows(const FuncDraft *f)
{
    const DefDraft *d = draft_def(f, -1);
    for (size_t i = 0; i < d->loops.count; i++)
        if (d->loops.at[i].loop.kind == LOOP_VECTOR)
            return d->loops.at[i].vars == 1u ? (int)d->loops.at[i].extent : 0;
    return 0;
}

/* Is the reduction so short that all its steps are best taken for one vector before the next? */
static bool is_short(const DefDraft *d)
{
    int64_t steps = 1;
    for (size_t i = 0; i < d->loops.count; i++)
        if (d->loops.at[i].loop.is_reduction) {
            if (!d->loops.at[i].extent || d->loops.at[i].extent > SHORT_REDUCTION)
                return false;
            steps *= d->loops.at[i].extent;
        }
    return steps <= SHORT_REDUCTION;
}

/* Nests the free loops outside the reduction loops, but those over variables in `inside`, which are innermost. */
static void free_outside(Planner *pl, DefDraft *d, uint32_t inside)
{
    int      *loops = ARENA_ARRAY(pl->arena, int, d->loops.count), count = 0;
    const int n = (int)d->loops.count;
    for (int i = n - 1; i >= 0; i--) /* innermost first */
        if (d->loops.at[i].vars & inside)
            loops[count++] = i;
    for (int i = n - 1; i >= 0; i--)
        if (d->loops.at[i].loop.is_reduction)
            loops[count++] = i;
    for (int i = n - 1; i >= 0; i--)
        if (!d->loops.at[i].loop.is_reduction && !(d->loops.at[i].vars & inside))
            loops[count++] = i;
    reorder_loops(pl, d, count, loops);
}

static void make_vectors(Planner *pl, DefDraft *d, int lanes, bool innermost)
{
    const int   x    = loop_of_dimension(d, 0);
    const char *name = d->loops.at[x].loop.name;
    if (!split_loop(pl, d, x, name, intern(pl->cx, arena_printf(pl->arena, "%s.lanes", name)), lanes, NULL))
        return;
    d->loops.at[x + 1].loop.kind = LOOP_VECTOR;
    if (!innermost)
        return;
    const Loop vector = d->loops.at[x + 1];
    for (size_t i = (size_t)x + 1; i + 1 < d->loops.count; i++)
        d->loops.at[i] = d->loops.at[i + 1];
    d->loops.at[d->loops.count - 1] = vector;
}

/* The loop along dimension 0 may be of vectors: it is a free variable, and bounds no reduction. */
static bool has_rows(const DefDraft *d)
{
    return loop_of_dimension(d, 0) >= 0 && !(d->facts.bounding & 1u);
}

static bool default_def(Planner *pl, FuncDraft *f, DefDraft *d)
{
    const Func *func = f->func;
    const bool  rows = has_rows(d);
    const int   lanes =
        f->inside ? lanes_along_rows(f->inside) : choose_lanes(pl, func, d->update ? d->update->values : func->values);
    const bool inner = d->update && d->update->rvar_count && !d->facts.other_points && is_short(d);
    if (d->update)
        free_outside(pl, d, d->facts.other_points ? d->facts.other_points | 1u : inner || !rows ? 0 : 1u);
    for (int dim = func->rank - 1, left = 2; dim >= 1 && left > 0 && !f->inside;
         dim--, left--) { /* nested parallel loops are fine: planes and rows */
        const int at = loop_of_dimension(d, dim);
        if (at >= 0)
            d->loops.at[at].loop.kind = LOOP_PARALLEL;
    }
    if (rows && lanes > 1)
        make_vectors(pl, d, lanes, inner);
    return end_loops(pl, d);
}

bool default_loops(Planner *pl, FuncDraft *f)
{
    bool ok = true;
    for (int k = -1; k < f->func->update_count && ok; k++)
        ok = (pl->target.kind == TARGET_GPU ? default_kernel : default_def)(pl, f, draft_def(f, k));
    return ok;
}
