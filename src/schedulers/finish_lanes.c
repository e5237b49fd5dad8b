/* Lanes: rows of floats in registers of half the width.
 *
 * Takes   a group whose vectors are full registers of 512 bits.
 * Gives   the same with half as many lanes, if all of it are stencils of 32 bits: they are as fast or faster so,
 *         measured (waves by a quarter, interpolate, harris and unsharp by a tenth), not explained.
 * Not     where long sums are written out: their operations wait for each other, and half as many lanes are twice as
 *         many waits (a fifth slower). */
#include "schedulers/finish.h"

enum { WIDE_BITS = 512, LONG_SUM = 12 };

/* Are its loops those of the default, over elements of 32 bits at places that no data decides? */
static bool is_light(const Draft *d, int s)
{
    const Stage *st = &d->graph->stages[s];
    return st->kind == STAGE_PURE && st->narrow == 32 && st->wide == 32 && !st->defs[0].gathers &&
           !d->choices[s].nest && !d->choices[s].lanes;
}

/* Is a long sum written out in it, whose operations wait for each other? */
static bool inlines_sums(const Draft *d, int s)
{
    const Stage *st  = &d->graph->stages[s];
    bool         any = st->kind == STAGE_REDUCTION && st->defs[st->def_count - 1].steps > LONG_SUM;
    for (int i = 0; i < st->in_count && !any; i++)
        any = d->choices[st->in[i]->producer].where == WHERE_INLINE && inlines_sums(d, st->in[i]->producer);
    return any;
}

static void halve_lanes(Draft *d, int group, const Machine *m)
{
    Group     *gr   = &d->groups[group];
    const int  full = m->vector_bits / 32;
    GroupLoop *last = &gr->loops[gr->loop_count - 1];
    bool       fits = m->vector_bits >= WIDE_BITS && last->vector && last->step == full;
    for (int s = 0; s < d->graph->stage_count && fits; s++)
        if (s == gr->head || (d->choices[s].group == group && d->choices[s].where == WHERE_INSIDE))
            fits = is_light(d, s) && !inlines_sums(d, s);
    if (!fits)
        return;
    last->step = full / 2;
    for (int s = 0; s < d->graph->stage_count; s++)
        if (d->choices[s].group == group && d->choices[s].where == WHERE_INSIDE)
            d->choices[s].lanes = full / 2;
}

void finish_lanes(Draft *d, const Machine *m)
{
    for (int i = 0; i < d->group_count; i++)
        if (d->groups[i].loop_count)
            halve_lanes(d, i, m);
}
