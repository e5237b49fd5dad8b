/* SPDX-License-Identifier: MIT */
/* The layout of a drawing: layers, the slots in them, and at last boxes and edges.
 *
 * Takes   nodes with their sizes, and edges.
 * Gives   the position of each node and the route of each edge.
 * Holds   Boxes do not overlap. An edge crosses a layer in a slot of its own, and bends only between layers, where
 *         there are no boxes: so it is never behind one.
 * How     The layer of a node is the longest path to it, so that it lies below all that it reads. A node that reads
 *         nothing lies just above its first reader. All edges of a node that cross a layer share one slot there: they
 *         leave as one line, from which each branches off above its end. */
#include "schedulers/explain/explain_layout_internal.h"

#include <math.h>

enum {
    MARGIN        = 12,
    PASSING       = 2 /* the width of an edge */,
    LEAST_GAP     = 44,
    MOST_GAP      = 110,
    GAP_SHARE     = 6 /* of the horizontal distance of an edge */,
    BESIDE_CORNER = 14,
    BETWEEN_ENDS  = 16
};

/* ---- Layers ------------------------------------------------------------------------------ */

static void find_layers(Layout *l)
{
    for (int n = 0; n < l->node_count; n++)
        for (int e = 0; e < l->edge_count; e++)
            if (l->edges[e].to == n && l->nodes[l->edges[e].from].layer >= l->nodes[n].layer)
                l->nodes[n].layer = l->nodes[l->edges[e].from].layer + 1;
    for (int n = 0; n < l->node_count; n++) {
        int first = -1;
        for (int e = 0; e < l->edge_count; e++)
            if (l->edges[e].from == n && (first < 0 || l->nodes[l->edges[e].to].layer < first))
                first = l->nodes[l->edges[e].to].layer;
        if (!l->nodes[n].layer && first > 0)
            l->nodes[n].layer = first - 1;
    }
}

/* ---- Slots ------------------------------------------------------------------------------- */

/* The lowest layer that a node has an edge to. */
static int last_layer(const Layout *l, int node)
{
    int last = l->nodes[node].layer;
    for (int e = 0; e < l->edge_count; e++)
        if (l->edges[e].from == node && l->nodes[l->edges[e].to].layer > last)
            last = l->nodes[l->edges[e].to].layer;
    return last;
}

/* Slots for the nodes, then those where edges cross. passing[n]: the first of node n, in the layer below it. */
static void make_slots(const Layout *l, Slots *s, int *passing)
{
    int most = l->node_count;
    for (int n = 0; n < l->node_count; n++)
        most += last_layer(l, n) - l->nodes[n].layer;
    s->at = ARENA_ARRAY(s->arena, Slot, (size_t)most + 1);
    for (int n = 0; n < l->node_count; n++) {
        s->at[s->count++] = (Slot){ .node = n, .layer = l->nodes[n].layer, .width = l->nodes[n].width };
        s->layer_count    = l->nodes[n].layer >= s->layer_count ? l->nodes[n].layer + 1 : s->layer_count;
    }
    for (int n = 0; n < l->node_count; n++) {
        passing[n] = s->count;
        for (int layer = l->nodes[n].layer + 1; layer < last_layer(l, n); layer++)
            s->at[s->count++] = (Slot){ .node = -1, .layer = layer, .width = PASSING };
    }
}

static void fill_layers(Slots *s)
{
    s->layers = ARENA_ARRAY(s->arena, int *, (size_t)s->layer_count + 1);
    s->sizes  = ARENA_ARRAY(s->arena, int, (size_t)s->layer_count + 1);
    for (int i = 0; i < s->count; i++)
        s->sizes[s->at[i].layer]++;
    for (int layer = 0; layer < s->layer_count; layer++) {
        s->layers[layer] = ARENA_ARRAY(s->arena, int, (size_t)s->sizes[layer]);
        s->sizes[layer]  = 0;
    }
    for (int i = 0; i < s->count; i++)
        s->layers[s->at[i].layer][s->sizes[s->at[i].layer]++] = i;
}

/* The slot from which an edge goes to its end node. */
static int slot_before(const Layout *l, const int *passing, const LayoutEdge *e)
{
    const int layers = l->nodes[e->to].layer - l->nodes[e->from].layer;
    return layers == 1 ? e->from : passing[e->from] + layers - 2;
}

typedef struct Link {
    int upper, lower;
} Link;

/* Links, each once: from a node through the slots where its edges cross, and from these to their ends. */
static void link_slots(const Layout *l, Slots *s, const int *passing)
{
    Link *links = ARENA_ARRAY(s->arena, Link, (size_t)(l->edge_count + s->count) + 1);
    int   count = 0;
    for (int n = 0; n < l->node_count; n++)
        for (int k = 0; k < last_layer(l, n) - l->nodes[n].layer - 1; k++)
            links[count++] = (Link){ k ? passing[n] + k - 1 : n, passing[n] + k };
    for (int e = 0; e < l->edge_count; e++)
        links[count++] = (Link){ slot_before(l, passing, &l->edges[e]), l->edges[e].to };
    for (int i = 0; i < count; i++) {
        s->at[links[i].upper].down_count++;
        s->at[links[i].lower].up_count++;
    }
    for (int i = 0; i < s->count; i++) {
        s->at[i].up       = ARENA_ARRAY(s->arena, int, (size_t)s->at[i].up_count + 1);
        s->at[i].down     = ARENA_ARRAY(s->arena, int, (size_t)s->at[i].down_count + 1);
        s->at[i].up_count = s->at[i].down_count = 0;
    }
    for (int i = 0; i < count; i++) {
        Slot *upper = &s->at[links[i].upper], *lower = &s->at[links[i].lower];
        upper->down[upper->down_count++] = links[i].lower;
        lower->up[lower->up_count++]     = links[i].upper;
    }
}

/* ---- Boxes ------------------------------------------------------------------------------- */

/* Moves all to the right of the margin. */
static void begin_at_margin(Layout *l, Slots *s)
{
    double left = 0, right = 0;
    for (int i = 0; i < s->count; i++)
        left = fmin(left, s->at[i].x - s->at[i].width / 2.0);
    for (int i = 0; i < s->count; i++) {
        s->at[i].x += MARGIN - left;
        right = fmax(right, s->at[i].x + s->at[i].width / 2.0);
    }
    l->width = (int)right + MARGIN;
}

/* Places the boxes of a layer; gives the height of the largest. */
static int place_layer(Layout *l, const Slots *s, int layer, int y)
{
    int height = 0;
    for (int i = 0; i < s->sizes[layer]; i++) {
        const Slot *slot = &s->at[s->layers[layer][i]];
        if (slot->node < 0)
            continue;
        LayoutNode *node = &l->nodes[slot->node];
        node->x          = (int)(slot->x - node->width / 2.0);
        node->y          = y;
        height           = node->height > height ? node->height : height;
    }
    return height;
}

/* The gap below a layer is higher the further its edges go sideways. */
static int gap_below(const Slots *s, int layer)
{
    double across = 0;
    for (int i = 0; i < s->sizes[layer]; i++) {
        const Slot *slot = &s->at[s->layers[layer][i]];
        for (int k = 0; k < slot->down_count; k++)
            across = fmax(across, fabs(slot->x - s->at[slot->down[k]].x));
    }
    return (int)fmin(fmax(across / GAP_SHARE, LEAST_GAP), MOST_GAP);
}

static void place_boxes(Layout *l, Slots *s, int *tops, int *bottoms)
{
    begin_at_margin(l, s);
    for (int layer = 0, y = MARGIN; layer < s->layer_count; layer++) {
        tops[layer]    = y;
        bottoms[layer] = y + place_layer(l, s, layer, y);
        l->height      = bottoms[layer] + MARGIN;
        y              = bottoms[layer] + gap_below(s, layer);
    }
}

/* ---- Edges ------------------------------------------------------------------------------- */

/* All stops but the last. */
static void route_edge(const Layout *l, const Slots *s, const int *passing, const int *tops, const int *bottoms,
                       LayoutEdge *e)
{
    const LayoutNode *from   = &l->nodes[e->from];
    const int         passed = l->nodes[e->to].layer - from->layer - 1;
    e->stops                 = ARENA_ARRAY(s->arena, LayoutStop, (size_t)passed + 2);
    e->stops[e->count++]     = (LayoutStop){ from->x + from->width / 2, from->y + from->height, bottoms[from->layer] };
    for (int k = 0; k < passed; k++)
        e->stops[e->count++] = (LayoutStop){ (int)lround(s->at[passing[e->from] + k].x), tops[from->layer + 1 + k],
                                             bottoms[from->layer + 1 + k] };
}

/* The edges that end at a node, from the left as they come from above. */
static int edges_into(const Layout *l, int node, LayoutEdge **into)
{
    int count = 0;
    for (int i = 0; i < l->edge_count; i++) {
        LayoutEdge *e = &l->edges[i];
        if (e->to != node)
            continue;
        int at = count++;
        for (; at > 0 && into[at - 1]->stops[into[at - 1]->count - 1].x > e->stops[e->count - 1].x; at--)
            into[at] = into[at - 1];
        into[at] = e;
    }
    return count;
}

/* The ends of edges at a node: below where they come from, as far as the box allows, and apart. */
static void end_edges(const Layout *l, int n, LayoutEdge **into, Arena *arena)
{
    const LayoutNode *node  = &l->nodes[n];
    const int         count = edges_into(l, n, into);
    const double      left = node->x + BESIDE_CORNER, right = node->x + node->width - BESIDE_CORNER;
    double           *x = ARENA_ARRAY(arena, double, 3 * ((size_t)count + 1)), *weight = x + count + 1,
           *apart = weight + count + 1;
    for (int i = 0; i < count; i++) {
        x[i]      = fmin(fmax(into[i]->stops[into[i]->count - 1].x, left), right);
        weight[i] = 1;
        apart[i]  = fmin(BETWEEN_ENDS, (right - left) / (count > 1 ? count - 1 : 1));
    }
    spread_apart(x, weight, apart, count, arena);
    for (int i = 0; i < count; i++) {
        const double least = left + i * apart[i], most = right - (count - 1 - i) * apart[i];
        into[i]->stops[into[i]->count++] = (LayoutStop){ (int)lround(fmin(fmax(x[i], least), most)), node->y, node->y };
    }
}

void layout_make(Layout *l, Arena *arena)
{
    Slots        s       = { .arena = arena };
    const size_t nodes   = (size_t)l->node_count + 1;
    int         *passing = ARENA_ARRAY(arena, int, nodes);
    find_layers(l);
    make_slots(l, &s, passing);
    fill_layers(&s);
    link_slots(l, &s, passing);
    slots_order(&s);
    slots_place(&s);
    int *tops    = ARENA_ARRAY(arena, int, (size_t)s.layer_count + 1),
        *bottoms = ARENA_ARRAY(arena, int, (size_t)s.layer_count + 1);
    place_boxes(l, &s, tops, bottoms);
    for (int e = 0; e < l->edge_count; e++)
        route_edge(l, &s, passing, tops, bottoms, &l->edges[e]);
    LayoutEdge **into = ARENA_ARRAY(arena, LayoutEdge *, (size_t)l->edge_count + 1);
    for (int n = 0; n < l->node_count; n++)
        end_edges(l, n, into, arena);
}
