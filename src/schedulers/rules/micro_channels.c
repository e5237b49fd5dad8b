/* SPDX-License-Identifier: MIT */
/* Interleaved channels: the planes of a point computed together.
 *
 * Takes   a group whose head has a loop over a few planes just outside its vectors, where several planes read or
 *         compute the same: an image without planes, one plane that all read (alpha), or places that are computed in
 *         floats (the addresses and weights of a warp).
 * Gives   the plane loop unrolled inside the vector loop, so that the shared part is loaded and computed once. Members
 *         are inlined, so that their planes are interleaved too. Vectors of gathers are cut to one register, so that
 *         the copies fit: a bilinear warp of three channels takes 0.7 of the time of vectors of two.
 * Sums    inside tiles are the other case: over displacements whose weights serve all channels, say. The loops of the
 *         sum get the same form. What is computed inside its vector loop is then computed once for all planes.
 * How     The cost model counts what unrolled copies share. */
#include "schedulers/rules/micro_kernels.h"
#include "schedulers/draft/pattern.h"
#include "schedulers/model/cost_tiles.h"

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

/* ---- Members ---------------------------------------------------------------------------- */

/* Sums only. With pure members too, one noisy run each: camera_pipe, chroma and ortho 1.18, 1.04 and 1.02 times as long
 * (ortho was also grouped anew), interpolate 0.94. */

/* Does a definition read something that is the same for all planes, itself or through inlined nodes? What has no rows
 * is in registers anyway. */
static bool reads_common(const Draft *d, int s, int update, int plane, int depth)
{
    const GraphNode *node = &d->graph->nodes[s];
    for (int i = 0; i < node->in_count; i++) {
        const Edge      *e = node->in[i];
        const GraphNode *p = &d->graph->nodes[e->producer];
        int              k = 0;
        if (e->update != update || e->producer == s)
            continue;
        while (k < p->rank && e->access[k].var != plane && !(e->gathers >> k & 1))
            k++;
        if (k == p->rank ? p->rank > 1
                         : depth > 0 && p->kind == NODE_PURE && d->choices[e->producer].where == WHERE_INLINE &&
                               reads_common(d, e->producer, -1, k, depth - 1))
            return true;
    }
    return false;
}

/* The loops of a member with its planes unrolled inside its vectors; NULL: they are others. *was_at, *vector: the loops
 * over planes and vectors before. */
static const MemberNest *planes_in_vectors(const Draft *d, int s, int *was_at, int *was_vector)
{
    const GraphNode  *node  = &d->graph->nodes[s];
    const Choice     *c     = &d->choices[s];
    const int         plane = node->rank - 1;
    const MemberNest *was   = c->nest ? c->nest : row_nest(d, s, c->lanes ? c->lanes : draft_lanes(d, s));
    int at = -1, vector = -1, loops = 0;
    for (int i = 0; i < was->count; i++) {
        at     = was->loops[i].dim == plane ? i : at;
        vector = was->loops[i].vector ? i : vector;
        loops += was->loops[i].dim == plane;
    }
    if (loops != 1 || vector <= at || was->loops[vector].dim != 0 || was->loops[at].step != 1 ||
        was->loops[at].unroll || was->count >= MOST_GROUP_LOOPS)
        return NULL;
    for (int i = 0; i < s && vector > at + 1; i++) /* they would be inside other loops than before */
        if (d->choices[i].where == WHERE_INSIDE && d->choices[i].at == s + 1)
            return NULL;
    MemberNest *n = ARENA_NEW(d->graph->arena, MemberNest);
    *n            = *was;
    memmove(&n->loops[at], &n->loops[at + 1], sizeof *n->loops * (size_t)(vector - at - 1));
    n->loops[vector - 1] = (GroupLoop){ .dim = plane, .step = node_extent(node, plane) };
    n->loops[n->count++] = (GroupLoop){ .dim = plane, .step = 1, .unroll = true };
    *was_at              = at;
    *was_vector          = vector;
    return n;
}

/* The lanes of a nest's vector loop. */
static int64_t lanes_of(const MemberNest *n)
{
    int64_t lanes = 0;
    for (int i = 0; n && i < n->count; i++)
        lanes = n->loops[i].vector ? n->loops[i].step : lanes;
    return lanes;
}

/* What was computed for a row of all planes, and a vector of which one of all planes reads, is computed next to it. */
static void move_into_vectors(Draft *d, int s, int row, int vector)
{
    const int64_t lanes = lanes_of(d->choices[s].nest);
    for (int i = 0; i < s; i++) {
        Choice *c = &d->choices[i];
        if (c->where == WHERE_INSIDE && c->at == s + 1 && c->compute == row && c->store == row && c->stepped &&
            lanes_of(c->nest) == lanes)
            c->compute = c->store = vector;
    }
}

/* Are all planes of a member computed at once, and not one by one in a loop of the head? */
static bool has_all_planes(const Draft *d, const Machine *m, int s, int plane)
{
    Arena scratch;
    Tiles tiles;
    scratch_begin(&scratch, d->graph->pipeline->cx);
    tiles_make(&tiles, d, d->choices[s].group, m, true, &scratch);
    const int  k   = tiles_find(&tiles, s);
    const Box *box = &tiles_box(&tiles, tiles_compute_level(&tiles, k), k)->middle;
    const bool all = box_extent(box, plane) == node_extent(&d->graph->nodes[s], plane);
    scratch_end(&scratch);
    return all;
}

bool sum_channels_apply_to(const Draft *d, const Machine *m, int s)
{
    const GraphNode *node  = &d->graph->nodes[s];
    const int        plane = node->rank - 1, main = draft_main(d, s);
    return d->choices[s].where == WHERE_INSIDE && plane >= 2 && main >= 0 && !d->patterns[s].kind &&
           !d->choices[s].chain && !d->choices[s].shares_with && node_extent(node, plane) > 1 &&
           node_extent(node, plane) <= CHANNELS_MOST && reads_common(d, s, main, plane, CHANNELS_MOST_DEPTH) &&
           has_all_planes(d, m, s, plane);
}

void sum_channels_apply(Draft *d, const Machine *m, int s)
{
    (void)m;
    int               at, vector;
    const MemberNest *nest = planes_in_vectors(d, s, &at, &vector);
    if (!nest)
        return;
    d->choices[s].nest = nest;
    if (at == vector - 1)
        move_into_vectors(d, s, at - 1, vector);
}
