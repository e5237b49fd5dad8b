/* SPDX-License-Identifier: MIT */
/* Interleaved channels: the planes of a point computed together.
 *
 * Takes   a group whose head has a loop over a few planes just outside its vectors, where several planes read or
 *         compute the same: an image without planes, one plane that all read (alpha), or places that are computed in
 *         floats (the addresses and weights of a warp).
 * Gives   the plane loop unrolled inside the vector loop, so that the shared part is loaded and computed once. Members
 *         are inlined, so that their planes are interleaved too. Vectors of gathers are cut to one register, so that
 *         the copies fit: a bilinear warp of three channels takes 0.7 of the time of vectors of two.
 * How     The cost model counts what unrolled copies share. */
#include "schedulers/rules/micro_kernels.h"
#include "schedulers/draft/pattern.h"

/* The loop over planes of [..., c, x in vectors]; -1: the loops are others. */
static int plane_loop(const Group *gr, const GraphNode *head)
{
    const int at = gr->loop_count - 2;
    if (at < 0 || gr->loop_count >= MOST_GROUP_LOOPS || !gr->loops[at + 1].vector || gr->loops[at + 1].dim != 0)
        return -1;
    const GroupLoop *l = &gr->loops[at];
    if (l->dim < 2 || l->step != 1 || l->parallel || l->unroll)
        return -1;
    return node_extent(head, l->dim) > 1 && node_extent(head, l->dim) <= CHANNELS_MOST ? at : -1;
}

/* Does each plane read its own plane and nothing else? */
static bool is_apart(const Graph *g, const Edge *e, int plane)
{
    for (int k = 0; k < g->nodes[e->producer].rank; k++)
        if (e->access[k].var == plane && e->access[k].lo == e->access[k].hi)
            return true;
    return false;
}

/* Operations and loads of node s at a point, with all that is not at root. All of these have the planes of the head. */
static double plane_ops(const Draft *d, int s, int plane, int depth, bool *fine, bool *common)
{
    const GraphNode *node = &d->graph->nodes[s];
    double           ops  = node->defs[0].ops - node->defs[0].plane_invariant + node->defs[0].loads;
    *common |= node->defs[0].gathers && node->defs[0].plane_invariant > 0;
    *fine &= node->kind == NODE_PURE && depth > 0;
    for (int i = 0; i < node->in_count && *fine && ops <= CHANNELS_MOST_OPS; i++) {
        const Edge   *e     = node->in[i];
        const Choice *c     = &d->choices[e->producer];
        const bool    apart = is_apart(d->graph, e, plane);
        *common |= !apart && d->graph->nodes[e->producer].rank > 1;
        if (c->where == WHERE_INSIDE)
            *fine &= apart && !c->nest && !c->at && draft_may_inline(d, e->producer);
        *fine &= c->where != WHERE_DEFAULT;
        if (c->where == WHERE_INLINE || c->where == WHERE_INSIDE)
            ops += e->accesses * plane_ops(d, e->producer, plane, depth - 1, fine, common);
    }
    return ops;
}

bool channels_apply_to(const Draft *d, const Machine *m, int group)
{
    (void)m;
    const Group     *gr   = &d->groups[group];
    const GraphNode *head = &d->graph->nodes[gr->head];
    const int        at   = head->kind == NODE_PURE && !d->patterns[gr->head].kind ? plane_loop(gr, head) : -1;
    bool             fine = true, common = false;
    return at >= 0 &&
           plane_ops(d, gr->head, gr->loops[at].dim, CHANNELS_MOST_DEPTH, &fine, &common) <= CHANNELS_MOST_OPS &&
           fine && common;
}

void channels_apply(Draft *d, const Machine *m, int group)
{
    (void)m;
    Group           *gr    = &d->groups[group];
    const GraphNode *head  = &d->graph->nodes[gr->head];
    const int        at    = plane_loop(gr, head);
    const int        lanes = head->wide > 0 ? d->vector_bits / head->wide : 0;
    if (head->defs[0].gathers && lanes > 1 && gr->loops[at + 1].step > lanes)
        gr->loops[at + 1].step = lanes;
    gr->loops[at].step          = node_extent(head, gr->loops[at].dim);
    gr->loops[gr->loop_count++] = (GroupLoop){ .dim = gr->loops[at].dim, .step = 1, .unroll = true };
    for (int s = 0; s < d->graph->node_count; s++)
        if (d->choices[s].group == group && d->choices[s].where == WHERE_INSIDE)
            d->choices[s] = (Choice){ .where = WHERE_INLINE, .group = group };
}
