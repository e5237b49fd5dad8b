/* SPDX-License-Identifier: MIT */
/* The boxes of a group at every level of its loops.
 *
 * Takes   a group of a draft: a head with loops, members, and what they read.
 * Gives   per level and node the box that the middle tile needs, and the points and rows of the boxes of all tiles.
 * How     A tile of level i is a product of ranges, one per dimension of the head. A dimension of a member mostly
 *         depends on one of them. So the sum over all tiles of the product of extents is the number of tiles times a
 *         product of mean extents:
 *
 *             sum of points = tiles * product over e of (mean over the tiles along each dimension d of extent e,
 *             relative to the middle tile's)
 *
 *         It is exact where the dimensions are separable. A few tiles along a dimension are looked at one by one. Of
 *         many, those at both ends are, where clamps and tails act, and a sample of the others; in a pyramid it needs
 *         both even and odd tiles. */
#include "schedulers/model/cost_tiles.h"
#include "schedulers/draft/draft_legal.h"
#include "schedulers/draft/pattern.h"

#include <stdlib.h>

/* Tiles of a dimension that are looked at: at each end, between them, and all of so few. */
enum { AT_ENDS = 3, BETWEEN = 4, FEW = 2 * AT_ENDS + BETWEEN };

/* ---- Loops ------------------------------------------------------------------------------ */

/* May iterations of the loop over d run at once in all definitions? */
static bool is_parallel(const Draft *draft, int node, int d)
{
    const GraphNode *s        = &draft->graph->nodes[node];
    bool             parallel = s->kind != NODE_SCATTER;
    for (int u = 0; u < s->func->update_count && s->kind == NODE_SCAN; u++)
        parallel &= s->func->updates[u].is_free[d] && !(draft->facts[node].defs[u + 1].other_points & 1u << d);
    return parallel;
}

/* The loops of the default schedule: rows in parallel, vectors along x. */
static void default_loops(const Draft *draft, const Machine *m, Group *g)
{
    const GraphNode *head = &draft->graph->nodes[g->head];
    for (int d = head->rank - 1; d > 0; d--)
        g->loops[g->loop_count++] =
            (GroupLoop){ .dim = d, .step = 1, .parallel = d == head->rank - 1 && is_parallel(draft, g->head, d) };
    if (head->rank > 0) {
        const int lanes           = m->vector_bits / (head->wide > 0 ? head->wide : 8);
        g->loops[g->loop_count++] = (GroupLoop){ .dim = 0, .step = lanes > 0 ? lanes : 1, .vector = true };
    }
}

/* The extent of a tile of a level along a dimension of the head: the step of the innermost fixed loop over it. */
static int64_t tile_extent(const Tiles *t, int level, int d)
{
    int64_t extent = box_extent(&t->graph->nodes[t->group.head].box, d);
    for (int i = 0; i < level; i++)
        if (t->group.loops[i].dim == d && t->group.loops[i].step < extent)
            extent = t->group.loops[i].step;
    return extent > 0 ? extent : 1;
}

static int64_t tiles_along(const Tiles *t, int level, int d)
{
    const int64_t whole = box_extent(&t->graph->nodes[t->group.head].box, d), tile = tile_extent(t, level, d);
    return (whole + tile - 1) / tile;
}

/* Sets tile number `at` along d; it ends where the whole ends. (Where an inner step does not divide the outer one there
 * are a few more tiles than this says.) */
static void set_tile(const Tiles *t, int level, int d, int64_t at, Box *head)
{
    const Box    *whole = &t->graph->nodes[t->group.head].box;
    const int64_t tile  = tile_extent(t, level, d);
    head->min[d]        = whole->min[d] + at * tile;
    head->max[d]        = head->min[d] + tile - 1 < whole->max[d] ? head->min[d] + tile - 1 : whole->max[d];
}

/* ---- Nodes ----------------------------------------------------------------------------- */

/* Is a node that the group reads part of it? An inlined node is part of every group that reads it. */
static bool joins(const Tiles *t, int node)
{
    const Choice *c = &t->draft->choices[node];
    if (t->graph->nodes[node].kind == NODE_INPUT || c->where == WHERE_ROOT)
        return false;
    return c->where == WHERE_INLINE || c->group == t->index;
}

static int compare_numbers(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

/* Walks from the head to its producers, through the group. */
static void find_nodes(Tiles *t)
{
    const Graph *g          = t->graph;
    const size_t n          = (size_t)g->node_count;
    t->given                = ARENA_ARRAY(t->arena, bool, n);
    t->member               = ARENA_ARRAY(t->arena, bool, n);
    t->joined               = ARENA_ARRAY(t->arena, bool, n);
    t->inner                = ARENA_ARRAY(t->arena, int, n);
    t->nodes                = ARENA_ARRAY(t->arena, int, n);
    t->given[t->group.head] = t->joined[t->group.head] = t->member[t->group.head] = true;
    t->inner[t->inner_count++] = t->nodes[t->node_count++] = t->group.head;
    for (int i = 0; i < t->inner_count; i++) {
        const GraphNode *s = &g->nodes[t->inner[i]];
        for (int k = 0; k < s->in_count; k++) {
            const int p = s->in[k]->producer;
            if (t->member[p])
                continue;
            t->member[p]              = true;
            t->nodes[t->node_count++] = p;
            if (joins(t, p)) {
                t->joined[p]               = true;
                t->inner[t->inner_count++] = p;
            }
        }
    }
    qsort(t->inner, (size_t)t->inner_count, sizeof *t->inner, compare_numbers);
    qsort(t->nodes, (size_t)t->node_count, sizeof *t->nodes, compare_numbers);
}

int tiles_find(const Tiles *t, int node)
{
    int lo = 0, hi = t->node_count - 1;
    while (lo < hi) {
        const int mid = (lo + hi) / 2;
        if (t->nodes[mid] < node)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

Role tiles_role(const Tiles *t, int k)
{
    const int node = t->nodes[k];
    if (!t->joined[node])
        return ROLE_OUTSIDE;
    return node == t->group.head                           ? ROLE_HEAD
           : t->draft->choices[node].where == WHERE_INLINE ? ROLE_INLINED
                                                           : ROLE_INSIDE;
}

static int level_of(const Tiles *t, int k, bool store)
{
    const int     node  = t->nodes[k];
    const Choice *c     = &t->draft->choices[node];
    int           level = t->level_count - 1;
    if (c->where == WHERE_INSIDE)
        level = (c->at                                                     ? draft_head_level(t->draft, node)
                 : store || t->draft->graph->nodes[node].kind == NODE_SCAN ? c->store
                                                                           : c->compute) +
                1;
    return level < t->level_count ? level : t->level_count - 1;
}

int tiles_compute_level(const Tiles *t, int k)
{
    return level_of(t, k, false);
}

int tiles_store_level(const Tiles *t, int k)
{
    return level_of(t, k, true);
}

/* ---- Sums over tiles -------------------------------------------------------------------- */

/* The i-th of the sampled tiles, of `count`; it stands for *weight of them. */
static int64_t sample(int64_t count, int i, double *weight)
{
    *weight = 1;
    if (count <= FEW || i < AT_ENDS)
        return i;
    if (i >= AT_ENDS + BETWEEN)
        return count - (FEW - i);
    *weight = (double)(count - 2 * AT_ENDS) / BETWEEN;
    return count / 2 - BETWEEN / 2 + i - AT_ENDS;
}

static void regions_of(const Tiles *t, const Box *head, Box *boxes)
{
    for (int k = 0; k < t->node_count; k++)
        boxes[t->nodes[k]].max[0] = boxes[t->nodes[k]].min[0] - 1;
    boxes[t->group.head] = *head;
    graph_regions_among(t->graph, t->inner, t->inner_count, t->given, t->member, boxes);
    for (int k = 0; k < t->node_count; k++) {
        const GraphNode *s = &t->graph->nodes[t->nodes[k]];
        Box             *b = &boxes[t->nodes[k]];
        for (int d = 0; d < s->rank; d++) {
            b->min[d] = b->min[d] > s->box.min[d] ? b->min[d] : s->box.min[d];
            b->max[d] = b->max[d] < s->box.max[d] ? b->max[d] : s->box.max[d];
        }
    }
}

static void note_most(LevelBox *b, int e, int64_t extent)
{
    b->most[e] = extent > b->most[e] ? extent : b->most[e];
}

/* mean[k][e] *= the mean extent over the tiles along d, relative to the middle tile's */
static void add_dimension(const Tiles *t, int level, int d, const Box *middle, Box *boxes, double (*mean)[KN_MAX_RANK])
{
    const int64_t count       = tiles_along(t, level, d);
    double(*sum)[KN_MAX_RANK] = arena_array(t->arena, (size_t)t->node_count, sizeof *sum);
    if (count == 1)
        return;
    for (int i = 0; i < (count < FEW ? count : FEW); i++) {
        double weight;
        Box    head = t->boxes[level * t->node_count + tiles_find(t, t->group.head)].middle;
        set_tile(t, level, d, sample(count, i, &weight), &head);
        regions_of(t, &head, boxes);
        for (int k = 0; k < t->node_count; k++)
            for (int e = 0; e < t->graph->nodes[t->nodes[k]].rank; e++) {
                sum[k][e] += weight * (double)box_extent(&boxes[t->nodes[k]], e);
                note_most(&t->boxes[level * t->node_count + k], e, box_extent(&boxes[t->nodes[k]], e));
            }
    }
    for (int k = 0; k < t->node_count; k++)
        for (int e = 0; e < t->graph->nodes[t->nodes[k]].rank; e++) {
            const double at_middle = (double)box_extent(&middle[k], e);
            mean[k][e] *= at_middle > 0 ? sum[k][e] / (double)count / at_middle : 1;
        }
}

static void make_level(Tiles *t, int level, Box *boxes)
{
    const GraphNode *head   = &t->graph->nodes[t->group.head];
    Box             *middle = ARENA_ARRAY(t->arena, Box, (size_t)t->node_count), tile = head->box;
    double(*mean)[KN_MAX_RANK] = arena_array(t->arena, (size_t)t->node_count, sizeof *mean);
    t->tiles[level]            = 1;
    for (int d = 0; d < head->rank; d++) {
        const int64_t count = tiles_along(t, level, d);
        t->tiles[level] *= (double)count;
        set_tile(t, level, d, count / 2 < count - 1 || count == 1 ? count / 2 : 0, &tile);
    }
    regions_of(t, &tile, boxes);
    for (int k = 0; k < t->node_count; k++) {
        middle[k] = t->boxes[level * t->node_count + k].middle = boxes[t->nodes[k]];
        for (int e = 0; e < KN_MAX_RANK; e++) {
            mean[k][e]                                  = 1;
            t->boxes[level * t->node_count + k].most[e] = box_extent(&middle[k], e);
        }
    }
    double all = t->tiles[level];
    for (int d = 0; d < head->rank; d++) {
        if (t->quick)
            all *= (double)box_extent(&head->box, d) / (double)(tiles_along(t, level, d) * tile_extent(t, level, d));
        else
            add_dimension(t, level, d, middle, boxes, mean);
    }
    for (int k = 0; k < t->node_count; k++) {
        LevelBox *b = &t->boxes[level * t->node_count + k];
        b->points = b->rows = box_points(&middle[k], t->graph->nodes[t->nodes[k]].rank) ? all : 0;
        for (int e = 0; e < t->graph->nodes[t->nodes[k]].rank; e++) {
            const double extent = (double)box_extent(&middle[k], e) * mean[k][e];
            b->points *= extent;
            b->rows *= e > 0 ? extent : 1;
        }
    }
}

void tiles_make(Tiles *t, const Draft *d, int group, const Machine *m, bool quick, Arena *arena)
{
    *t = (Tiles){
        .draft = d, .graph = d->graph, .group = d->groups[group], .index = group, .quick = quick, .arena = arena
    };
    if (t->group.loop_count == 0)
        default_loops(d, m, &t->group);
    t->level_count = 1 + t->group.loop_count;
    find_nodes(t);
    t->boxes   = ARENA_ARRAY(arena, LevelBox, (size_t)(t->level_count * t->node_count));
    Box *boxes = ARENA_ARRAY(arena, Box, (size_t)d->graph->node_count);
    for (int level = 0; level < t->level_count; level++)
        make_level(t, level, boxes);
}

/* ---- Tasks ------------------------------------------------------------------------------ */

/* Strips of reduction steps (privatize), or of the dimension across a scan. */
static double pattern_tasks(const Tiles *t, const Pattern *pattern)
{
    const GraphNode *s      = &t->graph->nodes[t->group.head];
    const Work      *update = &s->defs[s->def_count - 1];
    double           extent = 1;
    const bool       sums   = s->func->update_count && s->func->updates[s->func->update_count - 1].rvar_count;
    if (pattern->kind == PATTERN_PRIVATIZE && sums)
        extent = (double)update->extents[0];
    else if (pattern->kind == PATTERN_SCAN)
        extent = (double)box_extent(&s->box, pattern->across);
    return pattern->rows > 0 && extent > (double)pattern->rows ? extent / (double)pattern->rows : 1;
}

double tiles_tasks(const Tiles *t)
{
    const Pattern *pattern = &t->draft->patterns[t->group.head];
    double         tasks = 1, outer = 1;
    if (pattern->kind == PATTERN_PRIVATIZE || pattern->kind == PATTERN_SCAN)
        return pattern_tasks(t, pattern);
    for (int i = 0; i < t->group.loop_count; i++) {
        tasks *= t->group.loops[i].parallel ? t->tiles[i + 1] / outer : 1;
        outer = t->tiles[i + 1];
    }
    return tasks;
}
