/* SPDX-License-Identifier: MIT */
/* Sliding windows and storage folding: a function stored outside the loop it is computed in is computed only where its
 * storage does not hold it already.
 *
 * Takes   at the compute level the box that one iteration needs, and a small buffer, initialized at the store level,
 *         with the boxes that are resident in the storage.
 * Gives   the box to be computed, and afterwards the new resident boxes. It is what is missing along one or two
 *         dimensions, if all the rest is resident; else all of it.
 * Two     moving dimensions: an outer loop moves along y, an inner one along x. One box has the rows of former sweeps,
 *         the other what this sweep has computed of the rows after them. What is missing is a corner: beyond the first
 *         box along y, beyond the second along x. At the end of a sweep its box is merged into the first. Along y they
 *         must meet; along the other dimensions the intersection stays.
 * Holds   for every order of the loops between: the first iteration, shifted tails, skipped loops, windows larger than
 *         a tile. Nothing is proved, because nothing is assumed: the resident boxes are known at run time. An
 *         iteration that needs nothing leaves them as they are, and so does one in which nothing is missing: its box
 *         may be narrower along the other dimensions, and what is resident would be lost to the next.
 * Chains  of windows: a producer inside the loop of its consumer is asked for one piece of the consumer at a time,
 *         also in the prologue. So the window, and the storage, does not grow with the work of the first iteration.
 * Folding Along a dimension with a window of at most E coordinates only the last F >= E are kept, at coordinate % F. F
 *         is a power of two. The dimension that is dense in memory is not folded, unless the schedule asks for it.
 * From    Ragan-Kelley et al. 2013, section 4.3, where the dimension is found by proof and the prologue is a condition
 *         on the loop's first iteration. */
#include "lower/loops/build.h"

/* ---- Which dimension moves --------------------------------------------------------------- */

static void note_number(const Expr *e, void *user)
{
    if (e->type != KN_BOOL && e->op == EX_VAR)
        map_set(user, e->u.name, e);
}

/* The names that `e` depends on, also through lets inside the store level. A let mentions only names further out, so
 * one pass outward finds all. Named conditions are not followed: whether anything is needed or missing moves
 * nothing. */
static Map names_behind(Build *b, const Expr *e, size_t opened)
{
    Map names;
    map_init(&names, b->lw->arena);
    expr_visit(b->lw->exprs, e, note_number, &names);
    for (size_t i = b->names.count; i-- > opened;)
        if (b->names.at[i].value && map_get(&names, b->names.at[i].name))
            expr_visit(b->lw->exprs, b->names.at[i].value, note_number, &names);
    return names;
}

typedef struct Independence {
    const Func   *f;
    const Update *u;
    int           dim;
    bool          ok;
} Independence;

static void independence_visit(const Expr *e, void *user)
{
    Independence *s = user;
    if (e->op == EX_CALL && e->u.call.func == s->f && e->args[s->dim] != s->u->args[s->dim])
        s->ok = false;
}

/* Can pieces along d be computed independently? No update may write or read f at another coordinate of d. */
static bool is_independent(Build *b, const Func *f, int d)
{
    for (int k = 0; k < f->update_count; k++) {
        Independence s = { f, &f->updates[k], d, f->updates[k].is_free[d] };
        def_visit(b->lw->exprs, f, k, independence_visit, &s);
        if (!s.ok)
            return false;
    }
    return f->kind == FUNC_DEFINED;
}

/* May more than the window be resident along every dimension but d? Not where the schedule folds it. */
static bool may_exceed_window(Build *b, const Func *f, int d)
{
    const PlanFunc *pf = plan_func(b->plan, f);
    for (int e = 0; e < f->rank; e++)
        if (e != d && pf->fold[e])
            return false;
    return true;
}

/* The dimensions that the innermost loops move along, the innermost loop last. */
static void find_moving(Build *b, const Func *f, const SymBox *box, Slide *s)
{
    Map behind[KN_MAX_RANK];
    for (int d = 0; d < f->rank; d++)
        behind[d] = names_behind(b, box->max[d], s->opened);
    for (size_t i = b->names.count; i-- > s->opened && s->count < 2;) {
        if (b->names.at[i].value)
            continue;
        for (int d = f->rank - 1; d >= 0; d--) {
            if (!map_get(&behind[d], b->names.at[i].name) || !is_independent(b, f, d))
                continue;
            if (s->count == 0 || (s->dims[0] != d && may_exceed_window(b, f, d))) {
                s->dims[1] = s->dims[0];
                s->dims[0] = d;
                s->count++;
            }
            break;
        }
    }
}

/* ---- Folding ----------------------------------------------------------------------------- */

static int64_t power_of_two(int64_t v)
{
    int64_t p = 1;
    while (p < v)
        p *= 2;
    return p;
}

/* Folds a moving dimension, if its window has a bound. The largest factor of all the places where the function is
 * computed counts. */
static void raise_fold(Build *b, const Func *f, int d, int64_t most)
{
    const PlanFunc *pf   = plan_func(b->plan, f);
    int64_t        *fold = &b->fold[f->id][d];
    if (pf->fold[d] || pf->order[0] == d || *fold < 0)
        return;
    const int64_t factor = most < 0 ? -1 : power_of_two(most);
    *fold                = factor < 0 ? -1 : factor > *fold ? factor : *fold;
}

void fold_check(Build *b, const Func *f, const SymBox *box, const FuncBoxes *boxes)
{
    const PlanFunc *pf = plan_func(b->plan, f);
    int             scan;
    const int64_t   rows = scan_window(b, f, boxes, &scan);
    if (scan >= 0)
        raise_fold(b, f, scan, rows);
    for (int d = 0; d < f->rank; d++) {
        if (!pf->fold[d])
            continue;
        const int64_t most = d == scan ? rows : box_max_extent(b, box, d);
        if ((most < 0 || most > pf->fold[d]) && !b->failed) {
            b->failed = true;
            diag_error(b->lw->cx, f->loc,
                       most < 0
                           ? "leave it out: storage that slides is folded by itself"
                           : arena_printf(b->lw->arena, "%s.fold_storage(…, %lld) would do", f->name, (long long)most),
                       "`%s` cannot be folded to %lld: more of it may be needed at a time along %s", f->name,
                       (long long)pf->fold[d], f->args[d]);
        }
        b->fold[f->id][d] = pf->fold[d];
    }
}

/* A lower bound of the first coordinate to be computed along d; the upper one is one past the box. Where the extent has
 * a bound, it follows from the upper end. For chains of windows lower ends are minima of minima, upper ends are not. */
static const Expr *least_first(Build *b, const SymBox *box, int d, int64_t most)
{
    return most < 0 ? box->min[d] : x_sub(b->lw, box->max[d], x_int(b->lw, most - 1));
}

/* ---- Resident boxes ---------------------------------------------------------------------- */

static const Expr *resident_index(Build *b, const Func *f, int box, int d, int end)
{
    return x_int(b->lw, 2 * (box * (f->rank ? f->rank : 1) + d) + end);
}

/* Resident box 0 or 1. With one moving dimension there is only box 0. */
static SymBox resident(Build *b, const Func *f, int box)
{
    SymBox h = { 0 };
    for (int d = 0; d < f->rank; d++) {
        h.min[d] = build_load(b, b->slides[f->id].resident, resident_index(b, f, box, d, 0));
        h.max[d] = build_load(b, b->slides[f->id].resident, resident_index(b, f, box, d, 1));
    }
    return h;
}

static const Stmt *store_resident(Build *b, const Func *f, int box, int d, int end, const Expr *value)
{
    return build_store(b, b->slides[f->id].resident, resident_index(b, f, box, d, end), value);
}

void slide_begin(Build *b, const Func *f, Prelude *w)
{
    Lower    *lw   = b->lw;
    Slide    *s    = &b->slides[f->id];
    const int rank = f->rank ? f->rank : 1;
    if (!s->resident) {
        Buffer *kept      = build_scratch(b, arena_printf(lw->arena, "%s.held", f->name), KN_I32);
        kept->coordinates = true;
        s->resident       = kept;
    }
    s->opened = b->names.count;
    prelude_alloc(b, w, s->resident, expr_int(lw->exprs, KN_I64, 4 * rank));
    for (int box = 0; box < 2; box++)
        for (int d = 0; d < rank; d++) {
            prelude_before(b, w, store_resident(b, f, box, d, 0, x_int(lw, MOST_COORDINATE)));
            prelude_before(b, w, store_resident(b, f, box, d, 1, x_int(lw, -MOST_COORDINATE)));
        }
}

void slide_close(Build *b, const Func *f, Prelude *w)
{
    const Buffer *kept  = b->slides[f->id].resident;
    size_t        count = 0;
    for (size_t i = 0; b->slides[f->id].march.step && i < w->items.count; i++) {
        const PreludeItem *at = &w->items.at[i];
        if (at->kind == PRELUDE_ALLOC ? at->buffer != kept
                                      : at->kind != PRELUDE_BEFORE || at->stmt->kind != STMT_STORE ||
                                            at->stmt->store.places[0].buffer != kept)
            w->items.at[count++] = *at;
    }
    w->items.count = b->slides[f->id].march.step ? count : w->items.count;
}

/* Does the resident box `h` cover the box in every dimension, but for what lies beyond its end along `moving`? */
static const Expr *covers(Lower *lw, int rank, const SymBox *h, const SymBox *box, int moving)
{
    const Expr *c = NULL;
    for (int d = 0; d < rank; d++) {
        const Expr *reach =
            d == moving ? x_le(lw, box->min[d], x_add(lw, h->max[d], x_int(lw, 1))) : x_le(lw, box->max[d], h->max[d]);
        c = x_and(lw, c, x_and(lw, x_le(lw, h->min[d], box->min[d]), reach));
    }
    return c;
}

/* The first missing coordinate along d: within the box, or one past it. */
static const Expr *first_missing(Lower *lw, const SymBox *h, const SymBox *box, int d, const Expr *keep)
{
    const Expr *one = x_int(lw, 1), *next = x_max(lw, box->min[d], x_add(lw, h->max[d], one));
    return x_select(lw, keep, x_min(lw, next, x_add(lw, box->max[d], one)), box->min[d]);
}

/* The first box with the sweep merged into it, unless the sweep goes on. Where they do not meet, the newer one
 * stays. */
static SymBox merge_sweep(Build *b, const Func *f, const SymBox *first, const SymBox *sweep, const Expr *goes_on,
                          Prelude *w)
{
    Lower      *lw   = b->lw;
    const int   y    = b->slides[f->id].dims[0];
    const Expr *meet = x_and(lw, x_le(lw, first->min[y], sweep->min[y]),
                             x_le(lw, sweep->min[y], x_add(lw, first->max[y], x_int(lw, 1))));
    SymBox      r    = { 0 };
    meet             = prelude_let(b, w, arena_printf(lw->arena, "%s.meet", f->name), meet);
    for (int d = 0; d < f->rank; d++) {
        const Expr *min = d == y ? first->min[d] : x_max(lw, first->min[d], sweep->min[d]);
        const Expr *max = d == y ? x_max(lw, first->max[d], sweep->max[d]) : x_min(lw, first->max[d], sweep->max[d]);
        min             = x_select(lw, goes_on, first->min[d], x_select(lw, meet, min, sweep->min[d]));
        max             = x_select(lw, goes_on, first->max[d], x_select(lw, meet, max, sweep->max[d]));
        r.min[d]        = prelude_let(b, w, arena_printf(lw->arena, "%s.kept.min", f->args[d]), min);
        r.max[d]        = prelude_let(b, w, arena_printf(lw->arena, "%s.kept.max", f->args[d]), max);
    }
    return r;
}

/* With two moving dimensions: the rows of former sweeps, as this iteration finds them. */
static SymBox former_sweeps(Build *b, const Func *f, const SymBox *need, Prelude *w)
{
    Lower       *lw    = b->lw;
    const Slide *s     = &b->slides[f->id];
    const SymBox first = resident(b, f, 0), sweep = resident(b, f, 1);
    SymBox       rest = *need;
    const int    y    = s->dims[0];
    rest.min[y]       = prelude_let(b, w, arena_printf(lw->arena, "%s.next", f->args[y]),
                                    first_missing(lw, &first, need, y, covers(lw, f->rank, &first, need, y)));
    const Expr *goes_on =
        x_op(lw, EX_OR, x_op(lw, EX_LT, need->max[y], rest.min[y]), covers(lw, f->rank, &sweep, &rest, s->dims[1]));
    goes_on = prelude_let(b, w, arena_printf(lw->arena, "%s.goes_on", f->name), goes_on);
    return merge_sweep(b, f, &first, &sweep, goes_on, w);
}

/* Narrows the box along moving dimension `i` to what is missing in `h`. */
static void narrow_to_missing(Build *b, const Func *f, FuncBoxes *boxes, int i, const SymBox *h, Prelude *w)
{
    Lower        *lw   = b->lw;
    const int     d    = b->slides[f->id].dims[i];
    const int64_t most = box_max_extent(b, &boxes->asked, d);
    boxes->keep[i] =
        prelude_let(b, w, arena_printf(lw->arena, "%s.keep", f->args[d]), covers(lw, f->rank, h, &boxes->pure, d));
    if (i == 0)
        raise_fold(b, f, d, most);
    const Expr *first = first_missing(lw, h, &boxes->pure, d, boxes->keep[i]);
    boxes->pure.min[d] =
        prelude_let_between(b, w, arena_printf(lw->arena, "%s.first", f->args[d]), first,
                            least_first(b, &boxes->need, d, most), x_add(lw, boxes->pure.max[d], x_int(lw, 1)));
    simplifier_push_fact(lw->simplifier,
                         expr_binary(lw->exprs, EX_LE, KN_BOOL, boxes->need.min[d], boxes->pure.min[d]));
    w->pushed++;
    if (most > b->slides[f->id].window[i])
        b->slides[f->id].window[i] = most;
}

/* The condition that anything is missing along the moving dimensions; NULL if there are none. */
static const Expr *any_missing(Build *b, const Slide *s, const SymBox *box)
{
    const Expr *some = NULL;
    for (int i = 0; i < s->count; i++)
        some = x_and(b->lw, some, x_le(b->lw, box->min[s->dims[i]], box->max[s->dims[i]]));
    return some;
}

/* The box of a function that marches. */
static void narrow_to_step(Build *b, const Func *f, FuncBoxes *boxes, Prelude *w)
{
    Lower       *lw   = b->lw;
    MarchWindow *m    = &b->slides[f->id].march;
    const int    d    = b->slides[f->id].dims[0];
    m->last           = prelude_let(b, w, arena_printf(lw->arena, "%s.last", f->args[d]), m->last);
    m->base           = x_sub(lw, m->last, x_int(lw, m->extent - 1));
    const Expr *first = x_select(lw, m->first, boxes->pure.min[d], x_sub(lw, m->last, x_int(lw, m->step - 1)));
    boxes->pure.min[d] =
        prelude_let_between(b, w, arena_printf(lw->arena, "%s.first", f->args[d]), first, m->base, m->last);
    if (m->widens)
        clamp_mark_along(b, f, d);
}

/* Does the function march? What is built for one version of the loops holds for all. */
static bool decide_march(Build *b, const Func *f, const FuncBoxes *boxes)
{
    Slide        *s   = &b->slides[f->id];
    const int64_t was = s->march.step, rows = s->march.extent;
    const bool    tried = s->decided;
    if (!tried)
        find_moving(b, f, &boxes->asked, s);
    s->decided = true;
    if (tried && !was)
        return false;
    const bool found = march_find(b, f, boxes, &s->march);
    if (tried && (!found || s->march.step != was || s->march.extent != rows) && !b->failed) {
        b->failed = true;
        diag_error(b->lw->cx, f->loc, "store it where it is computed",
                   "`%s` cannot be kept in registers: its window moves in one way here, in another there", f->name);
    }
    s->window[0] = s->march.extent;
    return found;
}

const Expr *slide_box(Build *b, const Func *f, FuncBoxes *boxes, Prelude *w)
{
    Lower *lw = b->lw;
    Slide *s  = &b->slides[f->id];
    if (decide_march(b, f, boxes)) {
        narrow_to_step(b, f, boxes, w);
        return NULL;
    }
    if (!s->count) {
        const SymBox h = resident(b, f, 0);
        const Expr  *c = f->rank ? covers(lw, f->rank, &h, &boxes->pure, -1)
                                 : x_le(lw, build_load(b, s->resident, x_int(lw, 0)), x_int(lw, 0));
        boxes->keep[0] = prelude_let(b, w, arena_printf(lw->arena, "%s.keep", f->name), c);
        return NULL;
    }
    boxes->resident = s->count == 2 ? former_sweeps(b, f, &boxes->need, w) : resident(b, f, 0);
    narrow_to_missing(b, f, boxes, 0, &boxes->resident, w);
    if (s->count == 2) {
        const SymBox sweep = resident(b, f, 1);
        narrow_to_missing(b, f, boxes, 1, &sweep, w);
    }
    return any_missing(b, s, &boxes->pure);
}

/* ---- After computing ------------------------------------------------------------------------ */

/* Stores a resident box. All its ends are computed before any is stored: they may read the old ones. */
static const Stmt *note_resident(Build *b, const Func *f, int box, const SymBox *now)
{
    Lower      *lw  = b->lw;
    const Stmt *set = NULL;
    const char *names[2 * KN_MAX_RANK];
    for (int i = 0; i < 2 * f->rank; i++) {
        names[i] = intern(lw->cx, arena_printf(lw->arena, "%s.held%d.%s", f->args[i / 2], box, i % 2 ? "max" : "min"));
        set = stmt_pair(lw->arena, set, store_resident(b, f, box, i / 2, i % 2, expr_var(lw->exprs, KN_I32, names[i])));
    }
    for (int i = 2 * f->rank - 1; i >= 0; i--)
        set = stmt_let(lw->arena, names[i], i % 2 ? now->max[i / 2] : now->min[i / 2], set);
    return set;
}

/* If `keep` holds, the box grows along d by what was resident. */
static void grow_resident(Lower *lw, SymBox *box, const SymBox *h, int d, const Expr *keep)
{
    box->min[d] = x_select(lw, keep, h->min[d], box->min[d]);
    box->max[d] = x_select(lw, keep, x_max(lw, h->max[d], box->max[d]), box->max[d]);
}

/* A folded dimension keeps only the last coordinates. */
static void drop_folded(Build *b, const Func *f, SymBox *box, const Expr *max, int d)
{
    const int64_t fold = b->fold[f->id][d];
    if (fold > 0)
        box->min[d] = x_max(b->lw, box->min[d], x_sub(b->lw, max, x_int(b->lw, fold - 1)));
}

static const Stmt *note_one_dim(Build *b, const Func *f)
{
    const FuncBoxes *boxes = &b->boxes[f->id];
    const int        d     = b->slides[f->id].dims[0];
    const SymBox     h     = resident(b, f, 0);
    SymBox           now   = boxes->need;
    grow_resident(b->lw, &now, &h, d, boxes->keep[0]);
    drop_folded(b, f, &now, now.max[d], d);
    return note_resident(b, f, 0, &now);
}

static const Stmt *note_two_dims(Build *b, const Func *f)
{
    Lower           *lw    = b->lw;
    const FuncBoxes *boxes = &b->boxes[f->id];
    const int        y = b->slides[f->id].dims[0], x = b->slides[f->id].dims[1];
    const SymBox     sweep = resident(b, f, 1);
    SymBox           rows = boxes->resident, now = boxes->need;
    for (int d = 0; d < f->rank; d++) {
        rows.min[d] = x_select(lw, boxes->keep[0], rows.min[d], x_int(lw, MOST_COORDINATE));
        rows.max[d] = x_select(lw, boxes->keep[0], rows.max[d], x_int(lw, -MOST_COORDINATE));
    }
    drop_folded(b, f, &rows, boxes->need.max[y], y);
    now.min[y] = boxes->pure.min[y];
    grow_resident(lw, &now, &sweep, x, boxes->keep[1]);
    const Expr *some =
        x_le(lw, boxes->pure.min[y], boxes->need.max[y]); /* nothing missing along y: this sweep's box stays */
    return stmt_pair(lw->arena, note_resident(b, f, 0, &rows),
                     stmt_if(lw->arena, some, note_resident(b, f, 1, &now), NULL));
}

const Stmt *slide_end(Build *b, const Func *f, const Stmt *produce)
{
    Lower           *lw    = b->lw;
    const Slide     *s     = &b->slides[f->id];
    const FuncBoxes *boxes = &b->boxes[f->id];
    if (s->march.step)
        return produce;
    const Expr *some = any_missing(b, s, &boxes->pure);
    if (some && s->count == 1)
        return stmt_if(lw->arena, some, stmt_pair(lw->arena, produce, note_one_dim(b, f)), NULL);
    if (some) {
        const Stmt *note = note_two_dims(b, f);
        return stmt_pair(lw->arena, stmt_if(lw->arena, some, produce, NULL),
                         boxes->some ? stmt_if(lw->arena, boxes->some, note, NULL) : note);
    }
    const Stmt *note =
        f->rank ? note_resident(b, f, 0, &boxes->need) : build_store(b, s->resident, x_int(lw, 0), x_int(lw, 0));
    return stmt_if(lw->arena, expr_unary(lw->exprs, EX_BIT_NOT, KN_BOOL, boxes->keep[0]),
                   stmt_pair(lw->arena, produce, note), NULL);
}
