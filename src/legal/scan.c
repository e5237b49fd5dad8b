/* SPDX-License-Identifier: MIT */
/* Scans: which updates are scans. */
#include "legal/scan.h"

typedef struct ScanWalk {
    const Func   *f;
    const Update *u;
    const Scan   *scan;
    bool          free;      /* an argument, or a value, was found */
    bool          elsewhere; /* it reads its function at another place */
    bool          chained;   /* and that of the step before */
} ScanWalk;

static void find_free(const Expr *e, void *user)
{
    ScanWalk *w = user;
    w->free |= e->op == EX_CALL || e->op == EX_EXTERN;
    for (int d = 0; d < w->f->rank; d++)
        w->free |= e->op == EX_VAR && e->u.name == w->f->args[d];
}

/* Is it over sizes, parameters and reduction variables alone? */
static bool is_uniform(ExprPool *pool, const Func *f, const Expr *e)
{
    ScanWalk w = { .f = f };
    expr_visit(pool, e, find_free, &w);
    return !w.free;
}

bool scan_distance(const Func *f, const Update *u, const Scan *s, const Expr *call, int64_t *steps)
{
    for (int d = 0; d < f->rank; d++)
        if (d != s->dim && call->args[d] != u->args[d])
            return false;
    if (!expr_difference(u->args[s->dim], call->args[s->dim], steps))
        return false;
    *steps *= s->way;
    return true;
}

static void find_read(const Expr *e, void *user)
{
    ScanWalk *w = user;
    int64_t   steps;
    if (e->op != EX_CALL || e->u.call.func != w->f)
        return;
    const bool known = scan_distance(w->f, w->u, w->scan, e, &steps);
    w->elsewhere |= !known || (steps != 0 && steps != 1);
    w->chained |= known && steps == 1;
}

ScanFault scan_place(ExprPool *pool, const Func *f, const Update *u, Scan *out)
{
    int fixed = 0;
    if (u->rvar_count != 1 || u->where)
        return SCAN_DOMAIN;
    for (int d = 0; d < f->rank; d++)
        if (!u->is_free[d]) {
            out->dim = d;
            fixed++;
        }
    if (fixed != 1)
        return SCAN_PLACE;
    const Expr *place = u->args[out->dim], *r = expr_var(pool, KN_I32, u->rvars[0].name);
    const Expr *next = expr_binary(pool, EX_ADD, KN_I32, r, expr_int(pool, KN_I32, 1)),
               *none = expr_int(pool, KN_I32, 0);
    int64_t way;
    if (!is_uniform(pool, f, place) ||
        !expr_difference(expr_substitute(pool, place, 1, &u->rvars[0].name, &next), place, &way) ||
        (way != 1 && way != -1))
        return SCAN_PLACE;
    out->way          = (int)way;
    out->origin       = expr_substitute(pool, place, 1, &u->rvars[0].name, &none);
    const bool bounds = is_uniform(pool, f, u->rvars[0].lo) && is_uniform(pool, f, u->rvars[0].hi);
    return bounds ? SCAN_LEGAL : SCAN_BOUNDS;
}

ScanFault scan_of(ExprPool *pool, const Func *f, const Update *u, Scan *out)
{
    const ScanFault fault = scan_place(pool, f, u, out);
    ScanWalk        w     = { .f = f, .u = u, .scan = out };
    if (fault != SCAN_LEGAL)
        return fault;
    for (int c = 0; c < f->component_count; c++)
        expr_visit(pool, u->values[c], find_read, &w);
    return w.elsewhere || !w.chained ? SCAN_READS : SCAN_LEGAL;
}
