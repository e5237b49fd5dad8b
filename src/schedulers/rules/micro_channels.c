/* SPDX-License-Identifier: MIT */
/* Interleaved channels: the planes of a point computed together.
 *
 * Takes   a group whose head has a loop over a few planes just outside its vectors, where several planes read or
 *         compute the same: an image without planes, one plane that all read (alpha), or places that are computed in
 *         floats (the addresses and weights of a warp).
 * Gives   the plane loop unrolled inside the vector loop, so that the shared part is loaded and computed once. Members
 *         with planes are inlined, so that these are interleaved too. So are those that all planes read at their own
 *         point, in registers: unsharp masking scales three channels by one ratio. Vectors of gathers are cut to one
 *         register, so that the copies fit: a bilinear warp of three channels takes 0.7 of the time of vectors of two.
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

/* Is it read at its reader's own point alone, and not by planes? */
static bool is_below(const Graph *g, const Edge *e, int plane)
{
    bool below = e->accesses == 1 && g->nodes[e->producer].out_count == 1;
    for (int k = 0; k < g->nodes[e->producer].rank; k++)
        below &= k < plane && access_is_identity(&e->access[k], k);
    return below;
}

/* What becomes of a group. */
typedef struct Planes {
    const Draft *d;
    int          at;     /* the loop over planes */
    int          plane;  /* its dimension */
    double       ops;    /* and loads of a point, with all that will be inlined */
    bool         fine;   /* nothing is in the way */
    bool         common; /* several planes read or compute the same */
    int          inlined[CHANNELS_MOST_INLINED], count;
} Planes;

static void meet_node(Planes *p, int s, double times, int depth);

/* A member with planes of its own, or one that they share point by point, is inlined. Any other one stays outside the
 * loop over planes. */
static void meet_edge(Planes *p, const Edge *e, double times, int depth)
{
    const Graph  *g     = p->d->graph;
    const Choice *c     = &p->d->choices[e->producer];
    const bool    apart = is_apart(g, e, p->plane);
    bool          moves = c->where == WHERE_INLINE;
    p->common |= !apart && g->nodes[e->producer].rank > 1;
    if (c->where == WHERE_INSIDE && (apart || is_below(g, e, p->plane))) {
        p->fine &= !c->nest && !c->at && draft_may_inline(p->d, e->producer) && p->count < CHANNELS_MOST_INLINED;
        if (p->fine)
            p->inlined[p->count++] = e->producer;
        moves = true;
    } else if (c->where == WHERE_INSIDE) {
        p->fine &= draft_head_level(p->d, e->producer) < p->at;
    }
    p->fine &= c->where != WHERE_DEFAULT;
    if (moves)
        meet_node(p, e->producer, times * e->accesses, depth - 1);
}

static void meet_node(Planes *p, int s, double times, int depth)
{
    const GraphNode *node = &p->d->graph->nodes[s];
    p->ops += times * (node->defs[0].ops - node->defs[0].plane_invariant + node->defs[0].loads);
    p->common |= node->defs[0].gathers && node->defs[0].plane_invariant > 0;
    p->fine &= node->kind == NODE_PURE && depth > 0;
    for (int i = 0; i < node->in_count && p->fine && p->ops <= CHANNELS_MOST_OPS; i++)
        meet_edge(p, node->in[i], times, depth);
}

/* Of a group whose planes can be interleaved; at < 0: they cannot. */
static Planes planes_of(const Draft *d, int group)
{
    const Group     *gr   = &d->groups[group];
    const GraphNode *head = &d->graph->nodes[gr->head];
    const int        at   = head->kind == NODE_PURE && !d->patterns[gr->head].kind ? plane_loop(gr, head) : -1;
    Planes           p    = { .d = d, .at = at, .plane = at < 0 ? 0 : gr->loops[at].dim, .fine = at >= 0 };
    if (at >= 0)
        meet_node(&p, gr->head, 1, CHANNELS_MOST_DEPTH);
    if (!p.fine || !p.common || p.ops > CHANNELS_MOST_OPS)
        p.at = -1;
    return p;
}

bool channels_apply_to(const Draft *d, const Machine *m, int group)
{
    (void)m;
    return planes_of(d, group).at >= 0;
}

void channels_apply(Draft *d, const Machine *m, int group)
{
    (void)m;
    Group           *gr    = &d->groups[group];
    const GraphNode *head  = &d->graph->nodes[gr->head];
    const Planes     p     = planes_of(d, group);
    const int        lanes = head->wide > 0 ? d->vector_bits / head->wide : 0;
    if (head->defs[0].gathers && lanes > 1 && gr->loops[p.at + 1].step > lanes)
        gr->loops[p.at + 1].step = lanes;
    gr->loops[p.at].step        = node_extent(head, p.plane);
    gr->loops[gr->loop_count++] = (GroupLoop){ .dim = p.plane, .step = 1, .unroll = true };
    for (int i = 0; i < p.count; i++)
        d->choices[p.inlined[i]] = (Choice){ .where = WHERE_INLINE, .group = group };
}
