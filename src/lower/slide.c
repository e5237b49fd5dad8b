/* Sliding windows: a function stored outside the loop it is computed in is computed only where its storage does not hold it already.
 *
 * Takes   at the compute level the box that one iteration needs, and a small buffer, filled at the store level, that says which box the storage holds.
 * Gives   the box to be computed: what is missing along one dimension if all the rest is held, else all of it; and afterwards the new box held.
 * Holds   whatever the loops between do: the first iteration, tails that begin earlier, loops that are skipped, windows larger than a tile. Nothing is proved, because
 *         nothing is assumed: what is held is known when the code runs.
 * Folding: along a dimension with extent E needed at most, only the last F >= E coordinates are kept, at coordinate % F. What is held is then no more than F of them. F is rounded up to
 *         a power of two. Not the dimension that is dense in memory, unless a schedule asks for it.
 * From    Ragan-Kelley et al. 2013, section 4.3, where the dimension is found by proof and the warm-up is a condition on the loop's first iteration. */
#include "lower/build.h"

enum { MOST_FOLD = 1 << 16 };

/* ---- Which dimension moves --------------------------------------------------------------- */

typedef struct Depends {
    Build      *b;
    const char *loop;
    bool        found;
} Depends;

static void depends_visit(const Expr *e, void *user)
{
    Depends *d = user;
    if (e->op != EX_VAR || d->found)
        return;
    if (e->u.name == d->loop) {
        d->found = true;
        return;
    }
    for (size_t i = d->b->scopes.count; i-- > 0;)
        if (d->b->scopes.at[i].name == e->u.name) {
            if (d->b->scopes.at[i].value)
                expr_visit(d->b->lw->exprs, d->b->scopes.at[i].value, depends_visit, user);
            return;
        }
}

static bool depends(Build *b, const Expr *e, const char *loop)
{
    Depends d = { b, loop, false };
    expr_visit(b->lw->exprs, e, depends_visit, &d);
    return d.found;
}

typedef struct Separate {
    const Func   *f;
    const Update *u;
    int           dim;
    bool          ok;
} Separate;

static void separate_visit(const Expr *e, void *user)
{
    Separate *s = user;
    if (e->op == EX_CALL && e->u.call.func == s->f && e->args[s->dim] != s->u->args[s->dim])
        s->ok = false;
}

/* Can pieces along d be computed alone? Every update must leave d to itself. */
static bool separates(Build *b, const Func *f, int d)
{
    for (int k = 0; k < f->update_count; k++) {
        Separate s = { f, &f->updates[k], d, f->updates[k].is_free[d] };
        def_visit(b->lw->exprs, f, k, separate_visit, &s);
        if (!s.ok)
            return false;
    }
    return f->kind == FUNC_DEFINED;
}

/* The dimension that moves with the innermost loop that moves any; -1 if there is none. */
static int moving_dim(Build *b, const Func *f, const SymBox *box)
{
    for (size_t i = b->scopes.count; i-- > b->slides[f->id].opened;) {
        if (b->scopes.at[i].value)
            continue;
        for (int d = f->rank - 1; d >= 0; d--)
            if (depends(b, box->max[d], b->scopes.at[i].name) && separates(b, f, d))
                return d;
    }
    return -1;
}

/* ---- Folding ----------------------------------------------------------------------------- */

static int64_t power_of_two(int64_t v)
{
    int64_t p = 1;
    while (p < v)
        p *= 2;
    return p;
}

/* The most coordinates along d that the box has at a time, or -1. */
static int64_t most_extent(Build *b, const SymBox *box, int d)
{
    int64_t lo, hi;
    simplifier_bounds(b->lw->simplifier, x_add(b->lw, x_sub(b->lw, box->max[d], box->min[d]), x_int(b->lw, 1)), &lo, &hi);
    return hi > 0 && hi <= MOST_FOLD ? hi : -1;
}

void fold_check(Build *b, const Func *f, const SymBox *box)
{
    const PlanFunc *pf = plan_func(b->plan, f);
    for (int d = 0; d < f->rank; d++) {
        if (!pf->fold[d])
            continue;
        const int64_t most = most_extent(b, box, d);
        if ((most < 0 || most > pf->fold[d]) && !b->failed) {
            b->failed = true;
            diag_error(b->lw->cx, f->loc, most < 0 ? "leave it out: storage that slides is folded by itself" : arena_printf(b->lw->arena, "%s.fold_storage(…, %lld) would do", f->name, (long long)most),
                       "`%s` cannot be folded to %lld: more of it may be needed at a time along %s", f->name, (long long)pf->fold[d], f->args[d]);
        }
        b->fold[f->id][d] = pf->fold[d];
    }
}

/* Folds the moving dimension as far as it can be shown that it may be; the largest factor of all the places where the function is computed counts. */
static void fold_moving(Build *b, const Func *f, int d, int64_t most)
{
    const PlanFunc *pf   = plan_func(b->plan, f);
    int64_t        *fold = &b->fold[f->id][d];
    if (pf->fold[d] || pf->order[0] == d || *fold < 0)
        return;
    const int64_t factor = most < 0 ? -1 : power_of_two(most);
    *fold                = factor < 0 ? -1 : factor > *fold ? factor : *fold;
}

/* What is known of the first coordinate to be computed along d: it is within the box, or one past it. Where the box has at most so many coordinates, its lower end is given by its
 * upper one: for windows that feed windows, lower ends are minima of minima, upper ends are not. */
static const Expr *least_first(Build *b, const SymBox *box, int d, int64_t most)
{
    return most < 0 ? box->min[d] : x_sub(b->lw, box->max[d], x_int(b->lw, most - 1));
}

/* ---- What is held ------------------------------------------------------------------------ */

static const Expr *held(Build *b, const Func *f, int d, int end)
{
    return build_load(b, b->slides[f->id].held, x_int(b->lw, 2 * d + end));
}

static const Stmt *set_held(Build *b, const Func *f, int d, int end, const Expr *value)
{
    return build_store(b, b->slides[f->id].held, x_int(b->lw, 2 * d + end), value);
}

void slide_begin(Build *b, const Func *f, Wraps *w)
{
    Lower *lw = b->lw;
    Slide *s  = &b->slides[f->id];
    if (!s->held)
        s->held = build_scratch(b, arena_printf(lw->arena, "%s.held", f->name), KN_I32);
    s->opened = b->scopes.count;
    wrap_alloc(b, w, s->held, expr_int(lw->exprs, KN_I64, f->rank ? 2 * f->rank : 2));
    for (int d = 0; d < (f->rank ? f->rank : 1); d++) {
        wrap_before(b, w, set_held(b, f, d, 0, x_int(lw, MOST_COORDINATE)));
        wrap_before(b, w, set_held(b, f, d, 1, x_int(lw, -MOST_COORDINATE)));
    }
}

/* Does what is held cover the box in every dimension, but for what lies beyond the end along `moving`? */
static const Expr *covers(Build *b, const Func *f, const SymBox *box, int moving)
{
    Lower      *lw = b->lw;
    const Expr *c  = NULL;
    for (int d = 0; d < f->rank; d++) {
        const Expr *end = d == moving ? box->min[d] : box->max[d];
        const Expr *max = d == moving ? x_add(lw, held(b, f, d, 1), x_int(lw, 1)) : held(b, f, d, 1);
        c               = x_and(lw, c, x_and(lw, x_le(lw, held(b, f, d, 0), box->min[d]), x_le(lw, end, max)));
    }
    return c ? c : x_le(lw, held(b, f, 0, 0), x_int(lw, 0));
}

void slide_box(Build *b, const Func *f, FuncBoxes *boxes, Wraps *w)
{
    Lower *lw = b->lw;
    Slide *s  = &b->slides[f->id];
    if (!s->decided)
        s->dim = moving_dim(b, f, &boxes->pure);
    s->decided = true;
    boxes->keep = wrap_let(b, w, arena_printf(lw->arena, "%s.keep", f->name), covers(b, f, &boxes->pure, s->dim));
    if (s->dim < 0)
        return;
    const int   d     = s->dim;
    const Expr *next  = x_max(lw, boxes->pure.min[d], x_add(lw, held(b, f, d, 1), x_int(lw, 1)));
    const Expr *first = x_select(lw, boxes->keep, x_min(lw, next, x_add(lw, boxes->pure.max[d], x_int(lw, 1))), boxes->pure.min[d]);
    const int64_t most = most_extent(b, &boxes->pure, d);
    fold_moving(b, f, d, most);
    boxes->pure.min[d] = wrap_between(b, w, arena_printf(lw->arena, "%s.first", f->args[d]), first, least_first(b, &boxes->pure, d, most),
                                      x_add(lw, boxes->pure.max[d], x_int(lw, 1)));
    simplifier_push_fact(lw->simplifier, expr_binary(lw->exprs, EX_LE, KN_BOOL, boxes->need.min[d], boxes->pure.min[d]));
    w->pushed++;
    s->window = most > s->window ? most : s->window;
}

const Stmt *slide_end(Build *b, const Func *f, const Stmt *produce)
{
    Lower           *lw    = b->lw;
    const Slide     *s     = &b->slides[f->id];
    const FuncBoxes *boxes = &b->boxes[f->id];
    VEC(const Stmt *) all = { 0 };
    if (s->dim >= 0)        /* nothing may be missing */
        produce = stmt_if(lw->arena, x_le(lw, boxes->pure.min[s->dim], boxes->pure.max[s->dim]), produce, NULL);
    vec_push(lw->arena, &all, produce);
    for (int d = 0; d < f->rank; d++) {
        const Expr *min = boxes->need.min[d], *max = boxes->need.max[d];
        if (d == s->dim) {
            const int64_t fold = b->fold[f->id][d];
            min                = x_select(lw, boxes->keep, held(b, f, d, 0), min);
            max                = x_select(lw, boxes->keep, x_max(lw, held(b, f, d, 1), max), max);
            if (fold > 0)
                min = x_max(lw, min, x_sub(lw, max, x_int(lw, fold - 1)));
        }
        /* both ends are computed before either is stored: min may read the old end */
        const char *name = intern(lw->cx, arena_printf(lw->arena, "%s.held.min", f->args[d]));
        const Stmt *set  = stmt_pair(lw->arena, set_held(b, f, d, 1, max), set_held(b, f, d, 0, expr_var(lw->exprs, KN_I32, name)));
        vec_push(lw->arena, &all, stmt_let(lw->arena, name, min, set));
    }
    if (!f->rank)
        vec_push(lw->arena, &all, set_held(b, f, 0, 0, x_int(lw, 0)));
    const Stmt *done = stmt_block(lw->arena, (int)all.count, all.at);
    if (s->dim >= 0)
        return done;
    return stmt_if(lw->arena, expr_unary(lw->exprs, EX_BIT_NOT, KN_BOOL, boxes->keep), done, NULL);
}
