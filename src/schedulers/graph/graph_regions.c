/* SPDX-License-Identifier: MIT */
/* Boxes from consumers to producers over the access ranges of a graph, as tiles need them.
 *
 * The edges of a node are in the order of its definitions, so walking them backwards visits its updates from the last
 * to the first. What an update reads of the node itself is made by earlier updates, whose box grows by it. (The ranges
 * of free variables do not grow by that, except in time loops, whose access ranges include all steps.) The box of a
 * function without dimensions is 0..0 in the first, so that it can be empty too. */
#include "schedulers/graph/access_range.h"

static bool is_empty(const Box *box, int rank)
{
    for (int d = 0; d < rank || d == 0; d++)
        if (box->min[d] > box->max[d])
            return true;
    return false;
}

int64_t box_points(const Box *box, int rank)
{
    int64_t points = 1;
    for (int d = 0; d < rank; d++)
        points *= box_extent(box, d);
    return is_empty(box, rank) ? 0 : points;
}

/* box += what the edge reads for the points of `reader` */
static void add_reads(const Edge *e, int rank, const Box *reader, Box *box)
{
    const bool fresh = is_empty(box, rank);
    if (rank == 0)
        box->min[0] = box->max[0] = 0;
    for (int d = 0; d < rank; d++) {
        int64_t lo, hi;
        access_range_span(&e->access[d], reader, &lo, &hi);
        box->min[d] = fresh || lo < box->min[d] ? lo : box->min[d];
        box->max[d] = fresh || hi > box->max[d] ? hi : box->max[d];
    }
}

static void clip(Box *box, const Box *root, int rank)
{
    for (int d = 0; d < rank; d++) {
        box->min[d] = box->min[d] > root->min[d] ? box->min[d] : root->min[d];
        box->max[d] = box->max[d] < root->max[d] ? box->max[d] : root->max[d];
    }
}

/* Propagates the box of a node to what it reads. *box grows by what it reads of itself. */
static void read_from(const Graph *g, int node, Box *box, const bool *given, const bool *member, Box *boxes)
{
    const GraphNode *s    = &g->nodes[node];
    int              self = s->self_count - 1;
    for (int i = s->in_count - 1; i >= -1; i--) {
        const Edge *e = i >= 0 ? s->in[i] : NULL;
        for (; self >= 0 && (!e || s->self[self]->update >= e->update); self--) {
            const Box now = *box;
            add_reads(s->self[self], s->rank, &now, box);
            clip(box, &s->box, s->rank);
        }
        if (e && member[e->producer] && !given[e->producer])
            add_reads(e, g->nodes[e->producer].rank, box, &boxes[e->producer]);
    }
}

void graph_regions_among(const Graph *g, const int *nodes, int count, const bool *given, const bool *member, Box *boxes)
{
    for (int k = 0; k < count; k++) {
        const int i = nodes[k];
        for (int d = 0; (d < g->nodes[i].rank || d == 0) && member[i] && !given[i]; d++) {
            boxes[i].min[d] = 0;
            boxes[i].max[d] = -1;
        }
    }
    for (int k = count - 1; k >= 0; k--) {
        const int i = nodes[k];
        if ((!member[i] && !given[i]) || is_empty(&boxes[i], g->nodes[i].rank))
            continue;
        if (given[i]) {
            Box own = boxes[i];
            read_from(g, i, &own, given, member, boxes);
        } else {
            clip(&boxes[i], &g->nodes[i].box, g->nodes[i].rank);
            read_from(g, i, &boxes[i], given, member, boxes);
        }
    }
}

void graph_regions(const Graph *g, const bool *given, const bool *member, Box *boxes)
{
    graph_regions_among(g, g->order, g->node_count, given, member, boxes);
}

uint32_t edge_by_data(const Graph *g, const Edge *e, uint32_t reader)
{
    uint32_t dims = e->gathers;
    for (int d = 0; d < g->nodes[e->producer].rank && reader; d++)
        dims |= e->access[d].var >= 0 ? (reader >> e->access[d].var & 1) << d : 0;
    return dims;
}
