/* What an update overwrites before anyone reads it need not be computed first.
 *
 * Takes   a function whose first update writes whole slices, one after the other: f(x, t) = … for t in lo..hi, which reads f at earlier t alone.
 * Gives   the box of the pure definition without the slices lo..hi at its upper end.
 * Holds   each step writes its slice wherever anything reads it afterwards; a slice is read only by steps after its own, and by what comes after them. So nobody sees
 *         what the pure definition had there. Without steps (hi <= lo) nothing is taken away. */
#include "lower/build.h"

typedef struct Earlier {
    const Func *f;
    const Expr *step;
    int         dim;
    bool        ok;
} Earlier;

static void earlier_visit(const Expr *e, void *user)
{
    Earlier *r = user;
    int64_t  back;
    if (e->op == EX_CALL && e->u.call.func == r->f)
        r->ok = r->ok && expr_difference(e->args[r->dim], r->step, &back) && back < 0;
}

/* The dimension whose slices the first update of `f` writes, each whole and without having read it; -1 if it does not do that. */
static int sliced(Build *b, const Func *f)
{
    const Update *u   = f->id >= 0 && f->kind == FUNC_DEFINED && f->update_count ? &f->updates[0] : NULL;
    int           dim = -1, others = 0;
    if (!u || u->where || u->rvar_count != 1)
        return -1;
    for (int d = 0; d < f->rank; d++)
        if (!u->is_free[d]) {
            dim = d;
            others++;
        }
    if (others != 1 || u->args[dim]->op != EX_VAR || u->args[dim]->u.name != u->rvars[0].name)
        return -1;
    Earlier r = { f, u->args[dim], dim, true };
    def_visit(b->lw->exprs, f, 0, earlier_visit, &r);
    return r.ok ? dim : -1;
}

SymBox box_not_overwritten(Build *b, const Func *f, SymBox box)
{
    Lower    *lw = b->lw;
    const int d  = sliced(b, f);
    if (d < 0 || box_widens(b, f, d))
        return box;
    const Update *u = &f->updates[0];
    spans_reset(&b->spans, lw);
    b->spans.checking = false;
    for (int i = 0; i < f->rank; i++)
        if (u->is_free[i])
            spans_bind(&b->spans, f->args[i], (Span){ box.min[i], box.max[i] });
    const Span lo = span_of(&b->spans, u->rvars[0].lo), hi = span_of(&b->spans, u->rvars[0].hi);
    if (!lo.min || !hi.min || lo.min != lo.max || hi.min != hi.max)
        return box;
    const Expr *one = x_int(lw, 1), *rest = x_max(lw, x_min(lw, box.max[d], x_sub(lw, lo.min, one)), x_sub(lw, box.min[d], one));
    box.max[d]      = x_select(lw, x_op(lw, EX_LT, box.max[d], hi.min), rest, box.max[d]);
    return box;
}
