/* SPDX-License-Identifier: MIT */
/* Calls whose indices may leave the storage.
 *
 * Takes   marks on calls, a bit per dimension, made while regions are found.
 * Gives   expressions in which the marked indices are clamped to the storage of the function that is called. */
#include "lower/loops/build.h"

void clamp_mark(Build *b, const Expr *call, unsigned dimensions)
{
    const uintptr_t marked = (uintptr_t)map_get(&b->clamp_dims, call) | dimensions;
    if (marked)
        map_set(&b->clamp_dims, call, (void *)marked);
}

/* What an index depends on: variables of dimensions that are not widened, and nothing else but numbers? */
typedef struct Dependence {
    Build      *b;
    const Func *f;
    bool        widened;
} Dependence;

static bool is_widened(const Build *b, const Func *f, int d)
{
    const PlanFunc *pf = plan_func(b->plan, f);
    return pf->bound_min[d] || pf->align_factor[d];
}

static void find_widened(const Expr *e, void *user)
{
    Dependence *of = user;
    int         d  = 0;
    while (e->op == EX_VAR && d < of->f->rank && (e->u.name != of->f->args[d] || is_widened(of->b, of->f, d)))
        d++;
    of->widened |= e->op == EX_CALL || (e->op == EX_VAR && d == of->f->rank);
}

/* Of code for CPUs all indices: loops are partitioned there, and what is in the middle has no clamps. */
static void mark_call(const Expr *e, void *user)
{
    const Dependence *of = user;
    for (uint32_t d = 0; e->op == EX_CALL && d < e->count; d++) {
        Dependence index = { of->b, of->f, !of->b->lw->gpu };
        expr_visit(of->b->lw->exprs, e->args[d], find_widened, &index);
        clamp_mark(of->b, e, (unsigned)index.widened << d);
    }
}

void clamp_mark_widened(Build *b, const Func *f)
{
    Dependence of = { b, f, false };
    for (int k = -1; f->kind == FUNC_DEFINED && k < f->update_count; k++)
        def_visit(b->lw->exprs, f, k, mark_call, &of);
}

/* The indices that vary with one argument of a function. */
typedef struct Along {
    Build      *b;
    const char *arg;
    bool        found;
} Along;

static void find_arg(const Expr *e, void *user)
{
    Along *a = user;
    a->found |= e->op == EX_VAR && e->u.name == a->arg;
}

static void mark_along(const Expr *e, void *user)
{
    Along   *a          = user;
    unsigned dimensions = 0;
    for (uint32_t i = 0; e->op == EX_CALL && i < e->count; i++) {
        a->found = false;
        expr_visit(a->b->lw->exprs, e->args[i], find_arg, a);
        dimensions |= (unsigned)a->found << i;
    }
    clamp_mark(a->b, e, dimensions);
}

void clamp_mark_along(Build *b, const Func *f, int d)
{
    Along a = { .b = b, .arg = f->args[d] };
    def_visit(b->lw->exprs, f, -1, mark_along, &a);
}

/* Clamping one expression. Marks are of calls before their own indices changed. */
typedef struct Clamping {
    Build         *b;
    const PlanDef *def; /* whose value it is, or NULL */
    Map            done;
} Clamping;

/* The dimensions along which a call is of the element that the update itself writes. Loops keep these in the storage,
 * and an atomic update must find its own element. */
static uintptr_t own_element_dims(const Clamping *c, const Expr *call)
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

/* Clamps the indices of the marked dimensions. An empty box clamps to its min: it has one element for that. */
static void clamp_indices(Build *b, const Func *f, uintptr_t marked, const Expr **args)
{
    Lower     *lw  = b->lw;
    SymBox     box = storage_box(b, f);
    const bool any = f->kind == FUNC_INPUT || box.known;        /* else it is read nowhere */
    if (f->kind != FUNC_INPUT && b->slides[f->id].march.step) { /* the window is all that is stored */
        const Slide *s      = &b->slides[f->id];
        box.min[s->dims[0]] = s->march.base;
        box.max[s->dims[0]] = s->march.last;
    }
    for (int d = 0; d < f->rank && any; d++)
        if (marked >> d & 1)
            args[d] = x_max(lw, x_min(lw, args[d], box.max[d]), box.min[d]);
}

static const Expr *clamp_node(Clamping *c, const Expr *e)
{
    Lower      *lw    = c->b->lw;
    const Expr *known = map_get(&c->done, e);
    if (known || !e->count)
        return known ? known : e;
    const uintptr_t marked  = e->op == EX_CALL ? (uintptr_t)map_get(&c->b->clamp_dims, e) & ~own_element_dims(c, e) : 0;
    const Expr    **args    = ARENA_ARRAY(lw->arena, const Expr *, e->count);
    bool            changed = marked;
    for (uint32_t i = 0; i < e->count; i++) {
        args[i] = clamp_node(c, e->args[i]);
        changed |= args[i] != e->args[i];
    }
    if (marked)
        clamp_indices(c->b, e->u.call.func, marked, args);
    const Expr *result = changed ? expr_rebuild(lw->exprs, e, args) : e;
    map_set(&c->done, e, result);
    return result;
}

const Expr *clamped_in(Build *b, const PlanDef *def, const Expr *e)
{
    Clamping c = { .b = b, .def = def };
    map_init(&c.done, b->lw->arena);
    return clamp_node(&c, e);
}

const Expr *clamped(Build *b, const Expr *e)
{
    return clamped_in(b, NULL, e);
}
