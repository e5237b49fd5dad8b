/* SPDX-License-Identifier: MIT */
/* Half vectors: rows of floats in registers of half the width.
 *
 * Takes   a group whose vectors are full registers of 512 bits.
 * Gives   the same with half as many lanes, if all nodes are stencils of 32 bits. The cause of
 *         the gain is not known: the rule's row has the measurements.
 * Not     where long sums are unrolled: they are latency bound, and half the lanes double the exposed latency (a fifth
 *         slower). */
#include "schedulers/rules/micro_kernels.h"

/* Does it have default loops, over 32-bit elements and without gathers? */
static bool is_light(const Draft *d, int s)
{
    const GraphNode *node          = &d->graph->nodes[s];
    const bool       default_loops = !d->choices[s].nest && !d->choices[s].lanes;
    const bool       dense_floats  = !node->defs[0].gathers && node->narrow == 32 && node->wide == 32;
    return default_loops && dense_floats && node->kind == NODE_PURE;
}

/* Is a long latency-bound sum unrolled in it? */
static bool inlines_sums(const Draft *d, int s)
{
    const GraphNode *node = &d->graph->nodes[s];
    bool             any  = node->kind == NODE_REDUCTION && node->defs[node->def_count - 1].steps > HALF_LONG_SUM;
    for (int i = 0; i < node->in_count && !any; i++)
        any = d->choices[node->in[i]->producer].where == WHERE_INLINE && inlines_sums(d, node->in[i]->producer);
    return any;
}

bool half_vectors_applies(const Draft *d, const Machine *m, int group)
{
    const Group *gr = &d->groups[group];
    if (!gr->loop_count)
        return false;
    const GroupLoop *last = &gr->loops[gr->loop_count - 1];
    bool             fits = m->vector_bits >= HALF_WIDE_BITS && last->vector && last->step == m->vector_bits / 32;
    for (int s = 0; s < d->graph->node_count && fits; s++)
        if (s == gr->head || (d->choices[s].group == group && d->choices[s].where == WHERE_INSIDE))
            fits = is_light(d, s) && !inlines_sums(d, s);
    return fits;
}

void half_vectors_apply(Draft *d, const Machine *m, int group)
{
    Group    *gr   = &d->groups[group];
    const int half = m->vector_bits / 32 / 2;

    gr->loops[gr->loop_count - 1].step = half;
    for (int s = 0; s < d->graph->node_count; s++)
        if (d->choices[s].group == group && d->choices[s].where == WHERE_INSIDE)
            d->choices[s].lanes = half;
}
