/* SPDX-License-Identifier: MIT */
/* Levels: what happens inside one iteration of a loop, or at root.
 *
 * Takes   a level: root, or a loop of a definition with the loops around it.
 * Gives   the names of the boxes needed there, storage for what is stored there, the loops of what is computed there,
 *         producers first, then the next loop.
 * Holds   every level is built the same way. Root is the level without a loop. What follows in it is nothing, or the
 *         copying of outputs that other functions read.
 * From    Ragan-Kelley et al. 2013, sections 4.1 and 4.2. */
#include "lower/loops/build.h"

/* ---- Functions -------------------------------------------------------------------------- */

/* One side of dead initial values: the pure definition over its box up to `last`, or from `first` on; the other is
 * NULL. */
static const Stmt *build_init_part(Build *b, const PlanDef *def, const FuncBoxes *boxes, int d, const Expr *first,
                                   const Expr *last)
{
    Lower      *lw   = b->lw;
    FuncBoxes   side = *boxes;
    SymBox     *box  = &side.pure;
    const char *name = def->func->args[d];
    LoopNest    n;
    Prelude     w = { 0 };
    prelude_open(b, &w);
    if (first)
        box->min[d] = prelude_let(b, &w, arena_printf(lw->arena, "%s.min.after", name), x_max(lw, box->min[d], first));
    else
        box->max[d] = prelude_let(b, &w, arena_printf(lw->arena, "%s.max.before", name), x_min(lw, box->max[d], last));
    prelude_if(b, &w, x_le(lw, box->min[d], box->max[d]));
    nest_init(b, &n, def, &side);
    return prelude_close(b, &w, nest_build(b, &n));
}

const Stmt *definition_build(Build *b, const PlanDef *def, const FuncBoxes *boxes)
{
    Lower   *lw = b->lw;
    DeadInit gap;
    LoopNest n;
    nest_init(b, &n, def, boxes);
    shared_loops_begin(b, &n);
    if (def->update >= 0 || n.partner_count || !dead_init_find(b, def->func, boxes, &gap))
        return nest_build(b, &n);
    return stmt_pair(lw->arena, build_init_part(b, def, boxes, gap.dim, NULL, x_sub(lw, gap.first, x_int(lw, 1))),
                     build_init_part(b, def, boxes, gap.dim, x_add(lw, gap.last, x_int(lw, 1)), NULL));
}

/* One definition: the first version whose condition holds, or the default. */
static const Stmt *versions_build(Build *b, const PlanDef *def, const FuncBoxes *boxes)
{
    const Stmt *s = definition_build(b, def, boxes);
    for (int i = def->version_count - 1; i >= 0; i--) {
        simplifier_push_fact(b->lw->simplifier, def->conditions[i]);
        const Stmt *version = definition_build(b, &def->versions[i], boxes);
        simplifier_pop(b->lw->simplifier);
        s = stmt_if(b->lw->arena, def->conditions[i], version, s);
    }
    return stmt_produce(b->lw->arena, def->func->name, def->update, s);
}

/* The index of the last definition that runs in the loops of another function; -1: there is none. */
static int joined_definition(Build *b, const PlanFunc *pf)
{
    int k = pf->func->kind == FUNC_DEFINED ? pf->func->update_count : -1;
    while (k >= 0 && !shared_loops_joined(b, &pf->defs[k]))
        k--;
    return k;
}

static const Stmt *definitions_build(Build *b, const PlanFunc *pf, int first, int end)
{
    const Stmt *all = NULL;
    for (int k = first; k < end && !b->failed; k++)
        all = stmt_pair(b->lw->arena, all, versions_build(b, &pf->defs[k], &b->boxes[pf->func->id]));
    return all;
}

static const Stmt *guarded(Build *b, const Expr *condition, const Stmt *s)
{
    return condition ? stmt_if(b->lw->arena, condition, s, NULL) : s;
}

/* Functions that join the loops of this one: their definitions before the one that joins. */
static const Stmt *build_before_joined(Build *b, const PlanFunc *pf)
{
    const Stmt *all = NULL;
    for (int i = pf->func->id + 1; i < b->plan->func_count; i++) {
        const PlanFunc *other = &b->plan->funcs[i];
        const int       k     = joined_definition(b, other);
        if (k >= 0 && other->defs[k].with.def->func == pf->func)
            all = stmt_pair(b->lw->arena, all, guarded(b, b->read_if[i], definitions_build(b, other, 0, k)));
    }
    return all;
}

/* Do the loops of others run in those of this function? */
static bool has_joined(Build *b, const Func *f)
{
    for (int i = f->id + 1; i < b->plan->func_count; i++) {
        const PlanFunc *other = &b->plan->funcs[i];
        const int       k     = joined_definition(b, other);
        if (k >= 0 && other->defs[k].with.def->func == f)
            return true;
    }
    return false;
}

/* Is anything computed in the loops of this function? */
static bool has_members(Build *b, const PlanFunc *pf)
{
    for (int i = 0; i < b->plan->func_count; i++) {
        const PlanDef *def = b->plan->funcs[i].compute.def;
        if (def && def->func == pf->func)
            return true;
    }
    return false;
}

/* The condition under which a function is computed at all. An empty box may become one that is not where it is widened.
 * Where loops are split, the boxes of what is computed in them count on a box that has points. NULL: it is computed
 * always, or others run in its loops. */
static const Expr *computed_if(Build *b, const PlanFunc *pf)
{
    const Func      *f      = pf->func;
    const FuncBoxes *boxes  = &b->boxes[f->id];
    bool             widens = false;
    for (int d = 0; f->id >= 0 && d < f->rank; d++)
        widens |= box_widens(b, f, d);
    const bool counts = boxes->missing && has_members(b, pf);
    if ((!widens && !counts) || has_joined(b, f))
        return NULL;
    return simplify(b->lw->simplifier, widens ? box_nonempty(b, &boxes->pure, f->rank) : boxes->missing);
}

static const Stmt *function_build(Build *b, const PlanFunc *pf)
{
    const Func *f   = pf->func;
    const Stmt *all = f->kind == FUNC_STAGE
                          ? extern_stage_call(b, f)
                          : stmt_pair(b->lw->arena, build_before_joined(b, pf),
                                      definitions_build(b, pf, joined_definition(b, pf) + 1, f->update_count + 1));
    all             = guarded(b, computed_if(b, pf), all);
    if (!level_same(pf->compute, pf->store))
        all = slide_end(b, f, all);
    return guarded(b, shared_loops_read_if(b, pf), all);
}

/* ---- Levels ----------------------------------------------------------------------------- */

/* How the storage slides, for those who print the loops; NULL if it does not. */
static const Sliding *sliding_note(Build *b, const Func *f)
{
    const Slide *s = &b->slides[f->id];
    if (!s->decided)
        return NULL;
    Sliding *note = ARENA_NEW(b->lw->arena, Sliding);
    *note         = (Sliding){ .count  = s->count,
                               .dims   = { s->dims[0], s->dims[1] },
                               .window = { s->window[0], s->window[1] },
                               .folded = s->march.step || (s->count && b->fold[f->id][s->dims[0]] > 0) };
    return note;
}

/* The check that the number of elements does not overflow: extents are below 2^29, so three or more of them may. NULL:
 * it cannot. */
static const Stmt *size_check(Build *b, const Func *f, const Expr **extent)
{
    enum { MOST_BITS = 33 };
    Lower      *lw   = b->lw;
    const Expr *most = expr_int(lw->exprs, KN_I64, (int64_t)1 << MOST_BITS), *size = expr_int(lw->exprs, KN_I64, 1);
    for (int d = 0; d < f->rank; d++)
        size = x_op(lw, EX_MUL, d < 2 ? size : x_min(lw, size, most), x_cast(lw, KN_I64, extent[d]));
    const Expr *fits = f->rank < 3 ? NULL : x_le(lw, size, most);
    if (!fits || fits->op == EX_INT)
        return NULL;
    return build_check(b, KN_ERROR_BOUNDS, fits,
                       arena_printf(lw->arena, "the box of `%s` has more elements than compiled code can store (2^%d)",
                                    f->name, MOST_BITS));
}

static const Stmt *realize(Build *b, const Func *f, const Stmt *body)
{
    Arena *a = b->lw->arena;
    if (!body)
        return NULL;
    Stmt *s            = ARENA_NEW(a, Stmt);
    s->kind            = STMT_REALIZE;
    s->realize.func    = f;
    s->realize.rank    = f->rank;
    s->realize.min     = ARENA_ARRAY(a, const Expr *, (size_t)f->rank);
    s->realize.extent  = ARENA_ARRAY(a, const Expr *, (size_t)f->rank);
    s->realize.fold    = memcpy(ARENA_ARRAY(a, int64_t, KN_MAX_RANK), b->fold[f->id], sizeof b->fold[f->id]);
    s->realize.body    = body;
    s->realize.sliding = sliding_note(b, f);
    for (int d = 0; d < f->rank; d++) {
        const SymBox *box    = &b->stored[f->id];
        s->realize.min[d]    = box->min[d];
        s->realize.extent[d] = b->fold[f->id][d] > 0
                                   ? x_int(b->lw, b->fold[f->id][d])
                                   : storage_extent(b, !plan_func(b->plan, f)->store.def, box->min[d], box->max[d]);
    }
    const Slide *slide = &b->slides[f->id];
    if (slide->march.step) { /* the base is a name of each iteration */
        s->realize.min[slide->dims[0]]    = slide->march.base;
        s->realize.extent[slide->dims[0]] = x_int(b->lw, slide->march.extent);
    }
    return stmt_pair(a, size_check(b, f, s->realize.extent), s);
}

static bool is_direct(Build *b, const PlanFunc *pf)
{
    return pf->is_output && !b->ports[pf->func->id];
}

const Stmt *level_build(Build *b, PlanLevel level, LoopNest *nest,
                        const Stmt *(*core)(Build *b, LoopNest *nest, int loop), int loop)
{
    const Plan *plan = b->plan;
    bool        any  = !level.def;
    for (int i = 0; i < plan->func_count; i++)
        any |= plan->funcs[i].func->kind != FUNC_INPUT &&
               (level_same(plan->funcs[i].compute, level) || level_same(plan->funcs[i].store, level));
    if (!any || b->failed)
        return b->failed ? NULL : core(b, nest, loop);
    Prelude w = { 0 };
    prelude_open(b, &w);
    for (int i = 0; i < plan->func_count; i++)
        if (plan->funcs[i].func->kind != FUNC_INPUT && level_same(plan->funcs[i].store, level) &&
            !level_same(plan->funcs[i].compute, level))
            slide_begin(b, plan->funcs[i].func, &w);
    for (int i = 0; i < plan->func_count; i++)
        if (level_same(plan->funcs[i].compute, level))
            b->boxes[i].needed = false;
    regions_begin(b, level, nest, &w);
    const Stmt *body = NULL;
    for (int i = 0; i < plan->func_count && !b->failed; i++)
        if (plan->funcs[i].func->kind != FUNC_INPUT && level_same(plan->funcs[i].compute, level) &&
            b->boxes[i].needed && (b->stored[i].known || is_direct(b, &plan->funcs[i])))
            body = stmt_pair(b->lw->arena, body, function_build(b, &plan->funcs[i]));
    body = stmt_pair(b->lw->arena, body, b->failed ? NULL : core(b, nest, loop));
    for (int i = 0; i < plan->func_count && !b->failed; i++)
        if (level_same(plan->funcs[i].compute, level) && b->boxes[i].needed && b->slides[i].march.step)
            body = stmt_pair(b->lw->arena, body, march_move(b, plan->funcs[i].func));
    for (int i = plan->func_count - 1; i >= 0 && !b->failed; i--)
        if (plan->funcs[i].func->kind != FUNC_INPUT && level_same(plan->funcs[i].store, level) && b->stored[i].known &&
            !is_direct(b, &plan->funcs[i]))
            body = realize(b, plan->funcs[i].func, body);
    for (int i = 0; i < plan->func_count; i++)
        if (level_same(plan->funcs[i].store, level))
            slide_close(b, plan->funcs[i].func, &w);
    return prelude_close(b, &w, body);
}
