/* SPDX-License-Identifier: MIT */
/* Updates over boxes: binding their reduction variables, and visiting their accesses. */
#include "analysis/evaluate.h"

static const Expr **domain_of(const Evaluator *ev, const Func *f, int update)
{
    const Expr **domain = ev->domains[f->id];
    for (int u = 0; u < update; u++)
        domain += f->updates[u].rvar_count * 2;
    return domain;
}

int update_bind(Evaluator *ev, const Func *f, int update, const Box *free, const int64_t *step, int64_t *lo,
                int64_t *hi)
{
    const Update *u = &f->updates[update];
    environment_reset(ev);
    for (int d = 0; d < f->rank; d++)
        if (u->is_free[d])
            environment_bind(ev, f->args[d], free ? range_int(free->min[d], free->max[d]) : range_of_type(KN_I32));
    for (int i = 0; i < u->rvar_count; i++) {
        lo[i] = (int64_t)evaluate(ev, u->rvars[i].lo).lo;
        hi[i] = (int64_t)evaluate(ev, u->rvars[i].hi).hi;
        if (lo[i] >= hi[i])
            return i;
        environment_bind(ev, u->rvars[i].name, step ? range_int(step[i], step[i]) : range_int(lo[i], hi[i] - 1));
    }
    return u->rvar_count;
}

bool update_assume(Evaluator *ev, const Func *f, int update)
{
    const Expr **domain = domain_of(ev, f, update);
    for (int i = 0; i < f->updates[update].rvar_count * 2; i++)
        if (domain[i])
            assume(ev, domain[i], true);
    return !environment_now(ev)->dead;
}

void update_visit(Evaluator *ev, const Func *f, int update, int bound, bool *writing)
{
    const Update *u = &f->updates[update];
    for (int i = 0; i < u->rvar_count && i <= bound; i++) {
        visit(ev, u->rvars[i].lo);
        visit(ev, u->rvars[i].hi);
    }
    if (bound < u->rvar_count || !update_assume(ev, f, update))
        return;
    if (u->where)
        visit(ev, u->where);
    const Branch branch = u->where ? branch_enter(ev, u->where, true) : (Branch){ 0 };
    if (branch.dead)
        return;
    for (int d = 0; d < f->rank; d++)
        visit(ev, u->args[d]);
    *writing = true;
    for (int c = 0; c < f->component_count; c++)
        visit(ev, u->values[c]);
    *writing = false;
    branch_leave(ev, branch);
}
