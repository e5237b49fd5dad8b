/* SPDX-License-Identifier: MIT */
/* Random tiles of an output, and the boxes that they need of every node: by the graph of the schedulers, and by the
 * analysis of regions. */
#ifndef KILN_TESTS_GRAPH_TILES_H
#define KILN_TESTS_GRAPH_TILES_H

#include "check.h"
#include "schedulers/graph/graph.h"

#include <stdlib.h>

typedef struct Tiled {
    kn_context  *cx;
    kn_pipeline *p;
    Arena        arena;
    Graph        graph;
    RunArgs      binding;
    bool         ok;
    bool         has_conditions;  /* the regions of a tile may be refused where those of the whole are found */
    int          compared, exact; /* boxes */
    uint64_t     random;          /* whatever it begins with: the tiles follow from it alone */
} Tiled;

static inline int64_t random_below(Tiled *c, int64_t n)
{
    uint64_t r = c->random ? c->random : 88172645463325252u;
    r ^= r << 13;
    r ^= r >> 7;
    r ^= r << 17;
    c->random = r;
    return (int64_t)(r % (uint64_t)n);
}

/* A part of a box: mostly small, sometimes all of a dimension. */
static inline Box random_tile(Tiled *c, const Box *all, int rank)
{
    Box tile = *all;
    for (int d = 0; d < rank; d++) {
        const int64_t extent = all->max[d] - all->min[d] + 1,
                      most   = random_below(c, 3) ? (extent < 70 ? extent : 70) : extent;
        const int64_t size   = random_below(c, 4) ? 1 + random_below(c, most) : most;
        tile.min[d]          = all->min[d] + random_below(c, extent - size + 1);
        tile.max[d]          = tile.min[d] + size - 1;
    }
    return tile;
}

typedef struct Tile {
    Tiled  *c;
    int     output;
    Box     box;
    Regions regions;
    bool    ok;
} Tile;

static inline void tile_regions(void *arg)
{
    Tile   *t = arg;
    RunArgs b = t->c->binding;
    b.output  = ARENA_ARRAY(&t->c->arena, Box, t->c->p->outputs.count);
    for (size_t i = 0; i < t->c->p->outputs.count; i++)
        b.output[i].max[0] = -1;
    b.output[t->output] = t->box;
    t->ok               = regions_compute(t->c->p, &t->c->arena, &b, false, &t->regions);
}

static inline bool is_needed(const Tile *t, int node)
{
    return t->regions.of[t->c->graph.nodes[node].func->id].needed;
}

static inline bool edge_is_exact(const Graph *g, const Edge *e)
{
    bool exact = true;
    for (int d = 0; d < g->nodes[e->producer].rank; d++)
        exact = exact && e->access[d].exact;
    return exact;
}

/* Is the box of each node to be what the regions say, because all that leads to it is? Not where a consumer is not
 * needed by this tile: a condition that is false in all of the tile keeps the regions from it, the graph has no tiles.
 */
static inline void mark_exact(const Tile *t, const bool *given, bool *exact)
{
    const Graph *g = &t->c->graph;
    for (int i = g->node_count - 1; i >= 0; i--) {
        const GraphNode *s = &g->nodes[i];
        exact[i]           = true;
        for (int k = 0; k < s->out_count && !given[i]; k++)
            exact[i] = exact[i] && exact[s->out[k]->consumer] && is_needed(t, s->out[k]->consumer) &&
                       edge_is_exact(g, s->out[k]);
        for (int k = 0; k < s->self_count; k++)
            exact[i] = exact[i] && edge_is_exact(g, s->self[k]);
    }
}

/* false: said why */
static inline bool compare_boxes(const char *name, const Tile *t, const Box *boxes, const bool *exact,
                                 const bool *given)
{
    const Graph *g = &t->c->graph;
    for (int i = 0; i < g->node_count; i++) {
        const GraphNode  *s = &g->nodes[i];
        const FuncRegion *r = &t->regions.of[s->func->id];
        if (given[i] || !r->needed)
            continue;
        t->c->compared++;
        t->c->exact += exact[i];
        for (int d = 0; d < s->rank; d++) {
            const bool contains = boxes[i].min[d] <= r->box.min[d] && boxes[i].max[d] >= r->box.max[d];
            const bool equals   = boxes[i].min[d] == r->box.min[d] && boxes[i].max[d] == r->box.max[d];
            CHECK(contains && (equals || !exact[i]), "%s: %s along %s: %lld..%lld, the regions say %lld..%lld", name,
                  s->func->name, s->func->args[d], (long long)boxes[i].min[d], (long long)boxes[i].max[d],
                  (long long)r->box.min[d], (long long)r->box.max[d]);
            if (!contains || (!equals && exact[i]))
                return false;
        }
    }
    return true;
}

/* An output without dimensions is never an empty box: then no other can be asked for alone. */
static inline bool can_ask_alone(const Tiled *c, int output)
{
    for (size_t i = 0; i < c->p->outputs.count; i++)
        if ((int)i != output && c->p->outputs.at[i].func->rank == 0)
            return false;
    return true;
}

static inline bool test_tile(const char *name, Tiled *c, int output)
{
    if (!can_ask_alone(c, output))
        return true;
    const Graph *g     = &c->graph;
    const int    node  = g->of_func[c->p->outputs.at[output].func->id];
    bool        *given = calloc((size_t)g->node_count, 1), *member = malloc((size_t)g->node_count),
         *exact = calloc((size_t)g->node_count, 1);
    Box *boxes  = calloc((size_t)g->node_count, sizeof *boxes);
    Tile t      = { .c = c, .output = output, .box = random_tile(c, &c->binding.output[output], g->nodes[node].rank) };
    memset(member, true, (size_t)g->node_count);
    given[node] = true;
    boxes[node] = t.box;
    graph_regions(g, given, member, boxes);
    bool ok = context_try(c->cx, tile_regions, &t) && t.ok;
    CHECK(ok || c->has_conditions, "%s: %s", name, kn_error_text(c->cx));
    if (ok)
        mark_exact(&t, given, exact);
    ok = ok ? compare_boxes(name, &t, boxes, exact, given) : c->has_conditions;
    free(given);
    free(member);
    free(exact);
    free(boxes);
    return ok;
}

#endif
