/* SPDX-License-Identifier: MIT */
/* Fusion: at which loops of the head the nodes of a segment are computed and stored.
 *
 * From    Sioutas et al. 2019, section 4.1: Algorithm 1 chooses one point of the space of figure 6, Algorithm 2
 *         inlines.
 * Overlap The paper asks for the dimensions in which a node is read around a point. Here the boxes tell: a node
 *         overlaps along a loop iff the footprints of its iterations add up to more than that of the loop. So windows,
 *         pyramids and reads through other nodes are treated alike, and reuse may be full: a plane that all channels
 *         read.
 * Beyond  A node without overlap is not inlined at any cost (the draft begins with what costs nothing inlined). It is
 *         computed where its readers are, a row at a time. Sums at the points of their one reader are computed next to
 *         it. */
#include "schedulers/search/reuse_internal.h"

/* Do iterations of loop i share points of node k? */
static bool overlaps(const Segment *s, const Tiling *n, int i, int k)
{
    return segment_points(s, i + 1, k) * (n->iterations[i + 1] / n->iterations[i]) >
           HARDLY_MORE * segment_points(s, i, k);
}

/* Do all of them need all of it? */
static bool overlaps_fully(const Segment *s, int i, int k)
{
    return segment_points(s, i + 1, k) >= segment_points(s, i, k);
}

/* The innermost loop that encloses all readers of node k. */
static int around_readers(const Segment *s, const Tiling *n, const Level *levels, int k)
{
    const GraphNode *node = &s->g->nodes[s->nodes[k]];
    int              most = n->loop_count - 1;
    for (int i = 0; i < node->out_count; i++) {
        const int    at    = s->place[node->out[i]->consumer];
        const Level *level = at >= 0 && at < s->count - 1 ? &levels[at] : NULL;
        if (!level)
            continue;
        const int around = level->where == WHERE_INLINE ? around_readers(s, n, levels, at) : level->compute;
        most             = around < most ? around : most;
    }
    return most;
}

/* Algorithm 1 for node K_k. The loops of D_m are visited outermost first, so the first one in the tile with overlap is
 * the maximum that it takes. */
static Level fuse_node(const Segment *s, const Tiling *n, const Level *levels, int k)
{
    const int most = around_readers(s, n, levels, k),
              rows = n->loop_count > 1 ? n->loop_count - 2 : 0; /* the loop around vectors */
    int c          = n->inter;
    while (c < n->loop_count && !overlaps(s, n, c, k))
        c++;
    int store = c > 0 ? c - 1 : 0; /* next(D_m, c_i) */
    if (c >= n->loop_count)
        c = store = rows; /* no overlap */
    else if (c == n->loop_count - 1 || (c > n->inter && overlaps_fully(s, c, k)))
        c = store; /* the innermost loop, or full reuse: computed where it is stored */
    c     = c < most ? c : most;
    store = store < c ? store : c;
    c     = s->g->nodes[s->nodes[k]].kind == NODE_SCAN ? store : c; /* a scan does not slide */
    return (Level){ .where = WHERE_INSIDE, .compute = c, .store = store };
}

void fuse_nodes(const Segment *s, const Tiling *n, Level *levels)
{
    levels[s->count - 1] = (Level){ .where = WHERE_ROOT };
    for (int k = s->count - 2; k >= 0; k--) {
        const Where where = s->plain[s->nodes[k]];
        if (where == WHERE_INLINE) {
            levels[k] = (Level){ .where = WHERE_INLINE };
        } else if (where == WHERE_DEFAULT) {
            const int beside = around_readers(s, n, levels, k);
            levels[k]        = (Level){ .where = WHERE_INSIDE, .compute = beside, .store = beside };
        } else {
            levels[k] = fuse_node(s, n, levels, k);
            levels[k].whole =
                n->iterations[n->inter] > 1 && segment_points(s, n->inter, k) > NEARLY_ALL * segment_points(s, 0, k);
        }
    }
}

void inline_trivial(const Segment *s, const Tiling *n, Level *levels)
{
    double cost = nest_cost(s, n, levels).ns;
    for (int k = s->count - 2; k >= 0; k--) {
        const Level had = levels[k];
        if (had.where != WHERE_INSIDE || s->plain[s->nodes[k]] != WHERE_ROOT ||
            s->g->nodes[s->nodes[k]].def_count > 1 || !draft_may_inline(s->d, s->nodes[k]))
            continue;
        levels[k].where   = WHERE_INLINE;
        const double with = nest_cost(s, n, levels).ns;
        if (with < cost && s->points[k] <= REUSE_MOST_TIMES * (double)box_points(&s->g->nodes[s->nodes[k]].box,
                                                                                 s->g->nodes[s->nodes[k]].rank))
            cost = with;
        else
            levels[k] = had;
    }
}
