/* SPDX-License-Identifier: MIT */
/* Dead initialization: values of a pure definition that the first update with steps overwrites before anything reads
 * them; and the window of a scan.
 *
 * A scan f(x, j) = f(x, j-1) + … for j in lo..hi reads only the initial values before its first step. The rest, all of
 * an image but a row, need not be computed. This holds where the update has one reduction variable r and no condition,
 * writes along one dimension at p(r) with p(r + 1) = p(r) + 1 or p(r) - 1, at all points of the other dimensions, and
 * reads f only at p(r - k) with k > 0. The other coordinates of a read must be those of the write, or each step has a
 * box of its own (step_boxes.c), which holds what later steps read. Then p(lo)..p(hi - 1) is left out, and the pure
 * definition is computed on both sides. */
#include "lower/loops/build.h"

typedef struct Scan {
    const Func   *f;
    const Update *u;
    int           number;     /* of the update */
    int           dim;        /* of the write */
    int64_t       step, back; /* the furthest step that it reads */
    bool          boxes;      /* each step has a box of its own */
    bool          plain;      /* the conditions hold so far */
} Scan;

/* A read of the function itself must be of an earlier step. */
static void read_visit(const Expr *e, void *user)
{
    Scan   *s = user;
    int64_t back;
    if (e->op != EX_CALL || e->u.call.func != s->f)
        return;
    for (int d = 0; d < s->f->rank; d++)
        s->plain = s->plain && (s->boxes || d == s->dim || e->args[d] == s->u->args[d]);
    s->plain = s->plain && expr_difference(s->u->args[s->dim], e->args[s->dim], &back) && (back *= s->step) > 0;
    s->back  = s->plain && back > s->back ? back : s->back;
}

/* The coordinate of the write must depend on the step alone. */
static void place_visit(const Expr *e, void *user)
{
    Scan *s  = user;
    s->plain = s->plain && e->op != EX_CALL && e->op != EX_EXTERN;
    for (int d = 0; d < s->f->rank; d++)
        s->plain = s->plain && !(e->op == EX_VAR && e->u.name == s->f->args[d]);
}

/* p with the reduction variable at another value. */
static const Expr *place_at(Build *b, const Scan *s, const Expr *value)
{
    return expr_substitute(b->lw->exprs, s->u->args[s->dim], 1, &s->u->rvars[0].name, &value);
}

static bool find_scan(Build *b, const Func *f, const FuncBoxes *boxes, Scan *s)
{
    int number = 0, fixed = 0;
    while (number < f->update_count && f->updates[number].gone)
        number++;
    const Update *u = number < f->update_count ? &f->updates[number] : NULL;
    if (!u || u->rvar_count != 1 || u->where)
        return false;
    *s = (Scan){ .f = f, .u = u, .number = number, .boxes = boxes->tables[number].buffer, .plain = true };
    for (int d = 0; d < f->rank; d++)
        if (!u->is_free[d]) {
            s->dim = d;
            fixed++;
        }
    if (fixed != 1)
        return false;
    const Expr *next = place_at(b, s, x_add(b->lw, x_var(b->lw, u->rvars[0].name), x_int(b->lw, 1)));
    if (!expr_difference(next, u->args[s->dim], &s->step) || (s->step != 1 && s->step != -1))
        return false;
    expr_visit(b->lw->exprs, u->args[s->dim], place_visit, s);
    expr_visit(b->lw->exprs, u->rvars[0].lo, place_visit, s);
    expr_visit(b->lw->exprs, u->rvars[0].hi, place_visit, s);
    def_visit(b->lw->exprs, f, number, read_visit, s);
    return s->plain;
}

/* Is the update computed over all points of the pure definition along the free dimensions? */
static bool covers(Build *b, const Scan *s, const FuncBoxes *boxes)
{
    const PlanFunc *pf   = plan_func(b->plan, s->f);
    bool            same = level_same(pf->compute, pf->store) && !pf->defs[0].with.def;
    for (int d = 0; d < s->f->rank; d++) {
        same = same && !box_widens(b, s->f, d);
        same = same && (s->boxes || d == s->dim ||
                        (boxes->pure.min[d] == boxes->updates[s->number].min[d] &&
                         boxes->pure.max[d] == boxes->updates[s->number].max[d]));
    }
    return same;
}

bool dead_init_find(Build *b, const Func *f, const FuncBoxes *boxes, DeadInit *gap)
{
    Scan   s;
    Lower *lw = b->lw;
    if (f->id < 0 || !find_scan(b, f, boxes, &s) || !covers(b, &s, boxes))
        return false;
    const Expr *first = place_at(b, &s, s.u->rvars[0].lo),
               *last  = place_at(b, &s, x_sub(lw, s.u->rvars[0].hi, x_int(lw, 1)));
    *gap              = (DeadInit){ .dim     = s.dim,
                                    .first   = s.step > 0 ? first : last,
                                    .last    = s.step > 0 ? last : first,
                                    .back    = s.back,
                                    .forward = s.step > 0 };
    return true;
}

/* f(x, t) = … f(x+1, t-1) … for t in lo..hi, where nothing beyond the last step is read. Step t needs what it reads and
 * its own coordinate; after the last step the needed box is live. */
int64_t scan_window(Build *b, const Func *f, const FuncBoxes *boxes, int *dim)
{
    DeadInit gap;
    *dim = -1;
    if (f->update_count != 1 || !boxes->tables[0].buffer || !dead_init_find(b, f, boxes, &gap))
        return -1;
    *dim               = gap.dim;
    const int64_t most = box_max_extent(b, &boxes->need, gap.dim);
    if (most < 0 || !gap.forward ||
        !simplifier_proves(b->lw->simplifier, x_op(b->lw, EX_LE, boxes->need.max[gap.dim], gap.last)))
        return -1;
    return most > gap.back + 1 ? most : gap.back + 1;
}
