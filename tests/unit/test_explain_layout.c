/* SPDX-License-Identifier: MIT */
/* The layout of random graphs: boxes apart, each below all that it reads, edges from side to side of their boxes and
 * behind none, and the same layout each time. */
#include "check.h"

#include "base/context.h"
#include "kiln.h"
#include "schedulers/explain/explain_layout.h"

#include <string.h>

enum { GRAPHS = 300, MOST_NODES = 40, LARGE = 200, CLEAR = 3 };

static unsigned next_random(unsigned *state, unsigned below)
{
    *state = *state * 1664525u + 1013904223u;
    return (*state >> 8) % below;
}

/* Some read the node before them, some any: chains, trees, and edges that pass many layers. */
static Layout random_graph(unsigned seed, int most, Arena *arena)
{
    unsigned state = seed;
    Layout   l     = { .node_count = 1 + (int)next_random(&state, (unsigned)most) };
    l.nodes        = ARENA_ARRAY(arena, LayoutNode, (size_t)l.node_count);
    l.edges        = ARENA_ARRAY(arena, LayoutEdge, 3 * (size_t)l.node_count);
    for (int n = 0; n < l.node_count; n++) {
        bool *read = ARENA_ARRAY(arena, bool, (size_t)n + 1);
        l.nodes[n] = (LayoutNode){ .width  = 30 + (int)next_random(&state, 300),
                                   .height = 36 + 16 * (int)next_random(&state, 20) };
        for (unsigned k = next_random(&state, 4); n > 0 && k > 0; k--) {
            const int from = next_random(&state, 2) ? n - 1 : (int)next_random(&state, (unsigned)n);
            if (!read[from])
                l.edges[l.edge_count++] = (LayoutEdge){ .from = from, .to = n };
            read[from] = true;
        }
    }
    return l;
}

static bool are_apart(const LayoutNode *a, const LayoutNode *b)
{
    return a->x > b->x + b->width + CLEAR || b->x > a->x + a->width + CLEAR || a->y > b->y + b->height + CLEAR ||
           b->y > a->y + a->height + CLEAR;
}

static void check_boxes(const Layout *l, unsigned seed)
{
    for (int i = 0; i < l->node_count; i++) {
        const LayoutNode *n = &l->nodes[i];
        CHECK(n->x >= 0 && n->y >= 0 && n->x + n->width <= l->width && n->y + n->height <= l->height,
              "graph %u: node %d is outside", seed, i);
        for (int k = 0; k < i; k++)
            CHECK(are_apart(n, &l->nodes[k]), "graph %u: nodes %d and %d overlap", seed, k, i);
    }
}

/* Is a line straight down at x clear of all boxes but the two where the edge ends? */
static bool is_clear(const Layout *l, const LayoutEdge *e, const LayoutStop *s)
{
    for (int i = 0; i < l->node_count; i++) {
        const LayoutNode *n = &l->nodes[i];
        if (i != e->from && i != e->to && s->x > n->x - CLEAR && s->x < n->x + n->width + CLEAR && s->bottom > n->y &&
            s->top < n->y + n->height)
            return false;
    }
    return true;
}

/* A curve stays between the heights of its ends: no box may reach there. */
static bool is_gap(const Layout *l, int top, int bottom)
{
    for (int i = 0; i < l->node_count; i++)
        if (l->nodes[i].y < bottom && l->nodes[i].y + l->nodes[i].height > top)
            return false;
    return top < bottom;
}

static void check_edge(const Layout *l, const LayoutEdge *e, unsigned seed)
{
    const LayoutNode *from = &l->nodes[e->from], *to = &l->nodes[e->to];
    const LayoutStop *first = &e->stops[0], *last = &e->stops[e->count - 1];
    CHECK(from->layer < to->layer && e->count == to->layer - from->layer + 1, "graph %u: %d to %d has %d stops", seed,
          e->from, e->to, e->count);
    CHECK(first->top == from->y + from->height && first->x > from->x && first->x < from->x + from->width,
          "graph %u: %d to %d begins elsewhere", seed, e->from, e->to);
    CHECK(last->top == to->y && last->x > to->x && last->x < to->x + to->width, "graph %u: %d to %d ends elsewhere",
          seed, e->from, e->to);
    for (int i = 0; i < e->count; i++) {
        CHECK(is_clear(l, e, &e->stops[i]), "graph %u: %d to %d goes behind a box", seed, e->from, e->to);
        CHECK(e->stops[i].x >= 0 && e->stops[i].x <= l->width, "graph %u: %d to %d leaves the drawing", seed, e->from,
              e->to);
        CHECK(!i || is_gap(l, e->stops[i - 1].bottom, e->stops[i].top), "graph %u: %d to %d bends beside a box", seed,
              e->from, e->to);
    }
}

static void test_graph(kn_context *cx, unsigned seed, int most)
{
    Arena arena;
    scratch_begin(&arena, cx);
    Layout l = random_graph(seed, most, &arena), again = random_graph(seed, most, &arena);
    layout_make(&l, &arena);
    layout_make(&again, &arena);
    check_boxes(&l, seed);
    for (int e = 0; e < l.edge_count; e++)
        check_edge(&l, &l.edges[e], seed);
    CHECK(!memcmp(l.nodes, again.nodes, sizeof *l.nodes * (size_t)l.node_count), "graph %u: another layout", seed);
    scratch_end(&arena);
}

/* A tree has an order without crossings: edges between two layers then end in the order in which they begin. */
static void test_tree(kn_context *cx)
{
    enum { NODES = 15 };
    Arena      arena;
    LayoutNode nodes[NODES] = { 0 };
    LayoutEdge edges[NODES - 1];
    Layout     l = { .nodes = nodes, .node_count = NODES, .edges = edges, .edge_count = NODES - 1 };
    for (int n = 0; n < NODES; n++)
        nodes[n] = (LayoutNode){ .width = 40, .height = 40 };
    for (int n = 1; n < NODES; n++) /* children of a layer come in an order that crosses */
        edges[n - 1] = (LayoutEdge){ .from = (n * 7 % 8) % ((n + 1) / 2), .to = n };
    scratch_begin(&arena, cx);
    layout_make(&l, &arena);
    for (int a = 0; a < l.edge_count; a++)
        for (int b = 0; b < l.edge_count; b++)
            if (nodes[edges[a].from].layer == nodes[edges[b].from].layer && edges[a].stops[0].x < edges[b].stops[0].x)
                CHECK(edges[a].stops[1].x <= edges[b].stops[1].x, "%d to %d crosses %d to %d", edges[a].from,
                      edges[a].to, edges[b].from, edges[b].to);
    scratch_end(&arena);
}

int main(void)
{
    kn_context *cx = kn_context_new(NULL);
    for (unsigned seed = 0; seed < GRAPHS; seed++)
        test_graph(cx, seed, MOST_NODES);
    test_graph(cx, 1, LARGE);
    test_tree(cx);
    kn_context_free(cx);
    return check_done();
}
