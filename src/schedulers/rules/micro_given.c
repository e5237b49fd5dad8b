/* SPDX-License-Identifier: MIT */
/* Short windows whose size parameters give.
 *
 * Takes   a sum in vectors whose innermost steps are as many as parameters say, as
 *         sum(in(x+i, y) for i in -radius..radius+1).
 * Gives   a second version of it for the values that the parameters have now, in which these steps are unrolled, as
 *         they are where the size is a number. For other values the loop stays. */
#include "schedulers/rules/micro_kernels.h"
#include "schedulers/draft/given_steps.h"

bool given_steps_applies(const Draft *d, const Machine *m, int s)
{
    (void)m;
    const Choice *c = &d->choices[s];
    if (c->where != WHERE_INSIDE || !c->nest || draft_main(d, s) < 0)
        return false;
    const GroupLoop *last = &c->nest->loops[c->nest->count - 1];
    if (last->dim < STEP_DIM || last->unroll || last->given)
        return false;
    const int64_t steps = given_steps(d, s, last->dim - STEP_DIM);
    return steps > 1 && steps <= ROWS_SHORT_WINDOW;
}

void given_steps_apply(Draft *d, const Machine *m, int s)
{
    (void)m;
    MemberNest n               = *d->choices[s].nest;
    n.loops[n.count - 1].given = true;
    d->choices[s].nest         = draft_nest(d, &n);
}
