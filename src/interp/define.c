/* SPDX-License-Identifier: MIT */
/* Running one definition: step by step over its reduction variables, all at once over its free variables, in rows of
 *         lanes.
 *
 * The pure definition is an update in which every variable is free. At a step each point of the free variables is
 * tested in this order: is it in the bounds of the reduction variables, does `where` hold, is the element that it
 * writes stored. Only then are the values computed, all components before any is stored. Lanes run along a free
 * variable: the points of one step are independent. Where the points are few and the definition is separable (below),
 * lanes run along the innermost reduction variable instead, and stores are made lane by lane, in the order of the
 * steps. */
#include "interp/define.h"

/* The lengths of good rows: with LONG_ROW points along dimension 0 memory is walked in order. */
enum { LONG_ROW = 64, SHORT_ROW = 16 };

/* How the new value of a component is made, where lanes are steps: f(args) = operand, f(args) = f(args) op operand, or
 * f(args) = operand op f(args). The operand does not read the function. */
typedef enum UpdateForm { FORM_PLAIN, FORM_SELF_FIRST, FORM_SELF_SECOND, FORM_OTHER } UpdateForm;

typedef struct RunDefinition {
    const Func        *func;
    const Expr *const *args;    /* NULL: the free variables */
    const bool        *is_free; /* NULL: all are */
    const Expr *const *values;
    int                rvar_count;
    const RVar        *rvars;
    const Expr        *where;
    UpdateRegion       region;
} RunDefinition;

/* Coordinates in lexicographic order, the last one fastest: lo <= at < hi. */
typedef struct PointWalk {
    int      count;
    int64_t  lo[KN_MAX_RANK * 2], hi[KN_MAX_RANK * 2];
    int64_t *at[KN_MAX_RANK * 2];
} PointWalk;

/* A definition prepared for running. */
typedef struct PreparedDef {
    const RunDefinition *def;
    Run                 *run;
    const View          *views;
    Eval                 ev;
    EvalVariable        *dim[KN_MAX_RANK]; /* the free variables; NULL where not free */
    EvalVariable        *rvar[KN_MAX_RANK * 2];
    int                  lane_dim, lane_rvar; /* the variable along the lanes, or -1 */
    Node                *args[KN_MAX_RANK];   /* where not free */
    Node                *lo[KN_MAX_RANK * 2], *hi[KN_MAX_RANK * 2];
    Node                *where;
    Node               **values; /* per component: the value, or the operand of its form */
    UpdateForm          *forms;
} PreparedDef;

static void walk_add(PointWalk *w, int64_t *at, int64_t lo, int64_t hi)
{
    w->at[w->count] = at;
    w->lo[w->count] = lo;
    w->hi[w->count] = hi;
    w->count++;
}

/* Goes to the first point; false if there is none. */
static bool walk_begin(PointWalk *w)
{
    for (int i = 0; i < w->count; i++) {
        if (w->lo[i] >= w->hi[i])
            return false;
        *w->at[i] = w->lo[i];
    }
    return true;
}

static bool walk_next(PointWalk *w)
{
    for (int i = w->count - 1; i >= 0; i--) {
        if (++*w->at[i] < w->hi[i])
            return true;
        *w->at[i] = w->lo[i];
    }
    return false;
}

static bool is_free(const RunDefinition *def, int d)
{
    return !def->is_free || def->is_free[d];
}

/* ---- What the lanes run along ---------------------------------------------------------------- */

static bool reads_self(Run *run, const Func *f, const Expr *e)
{
    return e && expr_reads(&run->p->exprs, e, f);
}

/* Is `e` component c of the function at the element that is written? */
static bool is_old_value(const RunDefinition *def, const Expr *e, int c)
{
    return expr_is_call_at(e, def->func, def->args) && e->u.call.index == (uint32_t)c;
}

static UpdateForm form_of(Run *run, const RunDefinition *def, int c)
{
    const Expr *e = def->values[c];
    if (!reads_self(run, def->func, e))
        return FORM_PLAIN;
    if (e->count != 2 || !operator_kernel(e->op, e->args[0]->type, e->type))
        return FORM_OTHER;
    for (int i = 0; i < 2; i++)
        if (is_old_value(def, e->args[i], c) && !reads_self(run, def->func, e->args[1 - i]))
            return i ? FORM_SELF_SECOND : FORM_SELF_FIRST;
    return FORM_OTHER;
}

/* A definition is separable if a step depends on others only through the old value of the element it writes, by one of
 * the forms. Then each element has its own history, and only the order within it counts. */
static bool separable(Run *run, const RunDefinition *def, UpdateForm *forms)
{
    const Func *f    = def->func;
    bool        self = reads_self(run, f, def->where);
    for (int i = 0; i < def->rvar_count; i++)
        self = self || reads_self(run, f, def->rvars[i].lo) || reads_self(run, f, def->rvars[i].hi);
    for (int d = 0; d < f->rank; d++)
        self = self || reads_self(run, f, def->args[d]);
    for (int c = 0; c < f->component_count; c++) {
        forms[c] = form_of(run, def, c);
        self     = self || forms[c] == FORM_OTHER;
    }
    return !self;
}

static int64_t free_extent(const RunDefinition *def, int d)
{
    int64_t       longest = 0;
    const int64_t boxes   = def->region.steps ? def->region.steps : 1;
    for (int64_t s = 0; s < boxes; s++) {
        const int64_t extent = def->region.free[s].max[d] - def->region.free[s].min[d] + 1;
        longest              = extent > longest ? extent : longest;
    }
    return longest;
}

static void choose_lanes(PreparedDef *p)
{
    const RunDefinition *def  = p->def;
    int64_t              best = 0;
    p->lane_dim = p->lane_rvar = -1;
    for (int d = 0; d < def->func->rank && best < LONG_ROW; d++)
        if (is_free(def, d) && free_extent(def, d) > best) {
            p->lane_dim = d;
            best        = free_extent(def, d);
        }
    const int last = def->rvar_count - 1;
    if (last >= 0 && !def->region.steps && best < SHORT_ROW && def->region.hi[last] - def->region.lo[last] > best &&
        separable(p->run, def, p->forms)) {
        p->lane_dim  = -1;
        p->lane_rvar = last;
        best         = def->region.hi[last] - def->region.lo[last];
    } else {
        memset(p->forms, 0, (size_t)def->func->component_count * sizeof *p->forms);
    }
    eval_along(&p->ev, p->lane_rvar >= 0 ? p->rvar[p->lane_rvar] : p->lane_dim >= 0 ? p->dim[p->lane_dim] : NULL, best);
}

/* ---- Making ready ---------------------------------------------------------------------------- */

/* The node that the form of a component needs: the whole value, or the operand. */
static Node *plan_value(PreparedDef *p, int c)
{
    const Expr *e = p->def->values[c];
    switch (p->forms[c]) {
    case FORM_SELF_FIRST: return eval_node(&p->ev, e->args[1]);
    case FORM_SELF_SECOND: return eval_node(&p->ev, e->args[0]);
    default: return eval_node(&p->ev, e);
    }
}

static void plan_init(PreparedDef *p, Run *run, const RunDefinition *def)
{
    const Func *f = def->func;
    *p            = (PreparedDef){ .def = def, .run = run, .views = run->storage[f->id].views };
    eval_init(&p->ev, run, f);
    p->values = ARENA_ARRAY(&run->scratch, Node *, (size_t)f->component_count);
    p->forms  = ARENA_ARRAY(&run->scratch, UpdateForm, (size_t)f->component_count);
    for (int d = 0; d < f->rank; d++)
        p->dim[d] = is_free(def, d) ? eval_variable(&p->ev, f->args[d]) : NULL;
    for (int i = 0; i < def->rvar_count; i++)
        p->rvar[i] = eval_variable(&p->ev, def->rvars[i].name);
    choose_lanes(p);

    for (int i = 0; i < def->rvar_count; i++) {
        p->lo[i] = eval_node(&p->ev, def->rvars[i].lo);
        p->hi[i] = eval_node(&p->ev, def->rvars[i].hi);
    }
    for (int d = 0; d < f->rank; d++)
        p->args[d] = p->dim[d] ? NULL : eval_node(&p->ev, def->args[d]);
    p->where = def->where ? eval_node(&p->ev, def->where) : NULL;
    for (int c = 0; c < f->component_count; c++)
        p->values[c] = plan_value(p, c);
}

/* ---- One chunk of lanes ---------------------------------------------------------------------- */

/* Keeps the lanes where lo <= v < hi. */
static void keep_in_range(PreparedDef *p, int i, Mask *live)
{
    const int64_t at   = p->rvar[i]->value;
    const int     step = i == p->lane_rvar;
    eval(&p->ev, p->lo[i], live);
    for (int l = 0; l < p->ev.n; l++)
        if (at + step * l < p->lo[i]->lanes[l].i)
            mask_remove(live, l);
    eval(&p->ev, p->hi[i], live);
    for (int l = 0; l < p->ev.n; l++)
        if (at + step * l >= p->hi[i]->lanes[l].i)
            mask_remove(live, l);
}

/* The offset of the element that each lane writes; keeps the lanes whose element is stored. */
static void place(PreparedDef *p, int64_t *offset, Mask *live)
{
    const View *v = p->views;
    memset(offset, 0, (size_t)p->ev.n * sizeof *offset);
    for (int d = 0; d < v->rank; d++) {
        if (p->args[d])
            eval(&p->ev, p->args[d], live);
        for (int l = 0; l < p->ev.n; l++) {
            const int64_t  at   = p->args[d] ? p->args[d]->lanes[l].i : p->dim[d]->value + (d == p->lane_dim ? l : 0);
            const uint64_t step = (uint64_t)at - (uint64_t)v->min[d];
            if (step >= (uint64_t)v->extent[d])
                mask_remove(live, l);
            offset[l] = (int64_t)((uint64_t)offset[l] + step * (uint64_t)v->stride[d]);
        }
    }
}

/* f(args) = f(args) op operand, lane by lane: two lanes may write one element. */
static void apply_in_order(PreparedDef *p, int c, const int64_t *offset, const Mask *live)
{
    const View   *v        = &p->views[c];
    const Expr   *e        = p->def->values[c];
    const int     old      = p->forms[c] == FORM_SELF_FIRST ? 0 : 1;
    const kn_type types[2] = { e->args[0]->type, e->args[1]->type };
    for (int l = 0; l < p->ev.n; l++) {
        if (!mask_has(live, l))
            continue;
        char *at = v->data + offset[l] * (int64_t)kn_type_size(v->type);
        Lane  operands[2];
        operands[old]     = lane_load(v->type, at);
        operands[1 - old] = p->values[c]->lanes[l];
        lane_store(v->type, at, operator_apply(e->op, e->type, 2, types, operands));
    }
}

static void run_chunk(PreparedDef *p)
{
    const int count = p->def->func->component_count;
    Mask      live  = p->ev.all;
    for (int i = 0; i < p->def->rvar_count; i++)
        keep_in_range(p, i, &live);
    if (p->where) {
        eval(&p->ev, p->where, &live);
        live = eval_true(&p->ev, p->where, &live);
    }
    int64_t offset[LANES];
    place(p, offset, &live);
    if (mask_empty(&live))
        return;
    for (int c = 0; c < count; c++)
        eval(&p->ev, p->values[c], &live);
    for (int c = 0; c < count; c++) {
        if (p->forms[c] == FORM_PLAIN)
            view_scatter(&p->views[c], p->values[c]->lanes, offset, &live, p->ev.n);
        else
            apply_in_order(p, c, offset, &live);
    }
}

/* ---- All steps, all points ------------------------------------------------------------------- */

/* The values of the lane variable, a chunk at a time. */
static void run_row(PreparedDef *p, int64_t lo, int64_t hi)
{
    eval_begin_row(&p->ev);
    for (int64_t at = lo; at < hi; at += p->ev.width) {
        eval_begin_chunk(&p->ev, at, hi - at < p->ev.width ? (int)(hi - at) : p->ev.width);
        run_chunk(p);
    }
}

/* One step: every point of the free box. */
static void run_step(PreparedDef *p, const Box *box)
{
    PointWalk rows = { 0 };
    int64_t   lo = 0, hi = 1;
    for (int d = 0; d < p->def->func->rank; d++)
        if (p->dim[d] && d != p->lane_dim)
            walk_add(&rows, &p->dim[d]->value, box->min[d], box->max[d] + 1);
    if (p->lane_dim >= 0) {
        lo = box->min[p->lane_dim];
        hi = box->max[p->lane_dim] + 1;
    } else if (p->lane_rvar >= 0) {
        lo = p->def->region.lo[p->lane_rvar];
        hi = p->def->region.hi[p->lane_rvar];
    }
    for (bool more = walk_begin(&rows); more; more = walk_next(&rows))
        run_row(p, lo, hi);
}

static void run_definition(Run *run, const RunDefinition *def)
{
    PreparedDef p;
    PointWalk   steps = { 0 };
    int64_t     step  = 0;
    if (!run->storage[def->func->id].views[0].data)
        return;
    plan_init(&p, run, def);
    for (int i = 0; i < def->rvar_count; i++)
        if (i != p.lane_rvar)
            walk_add(&steps, &p.rvar[i]->value, def->region.lo[i], def->region.hi[i]);
    for (bool more = walk_begin(&steps); more; more = walk_next(&steps), step++)
        run_step(&p, &def->region.free[def->region.steps ? step : 0]);
}

void run_pure(Run *run, const Func *f)
{
    Box                 box = run->regions->of[f->id].box;
    const RunDefinition def = { .func = f, .values = f->values, .region = { .free = &box } };
    run_definition(run, &def);
}

void run_update(Run *run, const Func *f, int index)
{
    const Update       *u   = &f->updates[index];
    const RunDefinition def = { .func       = f,
                                .args       = u->args,
                                .is_free    = u->is_free,
                                .values     = u->values,
                                .rvar_count = u->rvar_count,
                                .rvars      = u->rvars,
                                .where      = u->where,
                                .region     = run->regions->of[f->id].updates[index] };
    run_definition(run, &def);
}
