/* Lanes: rows of floats in registers of half the width.
 *
 * Takes   a group whose vectors are full registers of 512 bits.
 * Gives   the same with half as many lanes, if all of it are stencils of 32 bits: they are as fast or faster so,
 *         measured (waves by a quarter, interpolate, harris and unsharp by a tenth), not explained.
 * Not     where long sums are written out: their operations wait for each other, and half as many lanes are twice as
 *         many waits (a fifth slower). */
#include "schedulers/micro_kernels.h"

enum { WIDE_BITS = 512, LONG_SUM = 12 };

/* Are its loops those of the default, over elements of 32 bits at places that no data decides? */
static bool is_light(const Draft *d, int s)
{
    const GraphNode *node = &d->graph->nodes[s];
    return node->kind == NODE_PURE && node->narrow == 32 && node->wide == 32 && !node->defs[0].gathers &&
           !d->choices[s].nest && !d->choices[s].lanes;
}

/* Is a long sum written out in it, whose operations wait for each other? */
static bool inlines_sums(const Draft *d, int s)
{
    const GraphNode *node = &d->graph->nodes[s];
    bool             any  = node->kind == NODE_REDUCTION && node->defs[node->def_count - 1].steps > LONG_SUM;
    for (int i = 0; i < node->in_count && !any; i++)
        any = d->choices[node->in[i]->producer].where == WHERE_INLINE && inlines_sums(d, node->in[i]->producer);
    return any;
}

static void halve_lanes(Draft *d, int group, const Machine *m)
{
    Group     *gr   = &d->groups[group];
    const int  full = m->vector_bits / 32;
    GroupLoop *last = &gr->loops[gr->loop_count - 1];
    bool       fits = m->vector_bits >= WIDE_BITS && last->vector && last->step == full;
    for (int s = 0; s < d->graph->node_count && fits; s++)
        if (s == gr->head || (d->choices[s].group == group && d->choices[s].where == WHERE_INSIDE))
            fits = is_light(d, s) && !inlines_sums(d, s);
    if (!fits)
        return;
    last->step = full / 2;
    for (int s = 0; s < d->graph->node_count; s++)
        if (d->choices[s].group == group && d->choices[s].where == WHERE_INSIDE)
            d->choices[s].lanes = full / 2;
}

void choose_half_vectors(Draft *d, const Machine *m)
{
    for (int i = 0; i < d->group_count; i++)
        if (d->groups[i].loop_count)
            halve_lanes(d, i, m);
}
