/* SPDX-License-Identifier: MIT */
/* Prefetch: a group in strips of whole rows prefetches the rows of a large input that later iterations read.
 *
 * The hardware prefetcher follows a row only once it has begun, and only a few rows at a time. A sliding window begins
 * new rows in every iteration. The directive fetches what the head itself reads some iterations later. If the head
 * does not read the input, it fetches what the next iteration's members read. A member that reads further down than
 * the head needs its rows that many iterations earlier.
 *
 * Blocks of rows prefetch where they are unrolled: then each line of the new rows is requested once. With a loop over
 * the rows of a block, each vector of each row would request the rows of the next block: the volume of bench/unseen
 * takes 1.34 times as long. */
#include "schedulers/rules/micro_kernels.h"

typedef struct Rows {
    const Draft *d;
    int          group, loop; /* the loop over rows */
    bool        *given, *member;
    Box         *boxes;
} Rows;

/* The innermost loop over rows that contains nothing but planes and whole rows of vectors; -1: there is none, or it is
 * over blocks of rows that are computed one after the other. Members are computed in it, or further out. */
static int loop_of_rows(const Draft *d, int group)
{
    const Group *gr   = &d->groups[group];
    int          rows = -1, inside = -1;
    for (int i = 0; i < gr->loop_count; i++) {
        if (gr->loops[i].vector && gr->loops[i].dim == 0)
            break;
        if (gr->loops[i].vector || gr->loops[i].unroll || gr->loops[i].dim == 0)
            return -1;
    }
    for (int s = 0; s < d->graph->node_count; s++)
        if (d->choices[s].where == WHERE_INSIDE && d->choices[s].group == group && draft_head_level(d, s) > inside)
            inside = draft_head_level(d, s);
    for (int i = 0; i <= inside; i++)
        rows = gr->loops[i].dim == 1 && !gr->loops[i].parallel ? i : rows;
    return rows >= 0 && (gr->loops[rows].step == 1 || gr->loops[gr->loop_count - 1].unroll) ? rows : -1;
}

/* The footprint outside the group of an iteration in the middle: of the head with what is inlined into it, or with
 * members too. */
static void need_of_iteration(Rows *r, bool members)
{
    const Draft *d    = r->d;
    const Graph *g    = d->graph;
    const int    head = d->groups[r->group].head;
    for (int s = 0; s < g->node_count; s++) {
        const Where where = d->choices[s].where;
        r->given[s]       = s == head;
        r->member[s]      = where == WHERE_INLINE || g->nodes[s].kind == NODE_INPUT ||
                       (members && where == WHERE_INSIDE && d->choices[s].group == r->group);
        r->boxes[s] = g->nodes[s].box;
    }
    Box *box    = &r->boxes[head];
    box->min[1] = box->min[1] + node_extent(&g->nodes[head], 1) / 2;
    box->max[1] = box->min[1];
    graph_regions(g, r->given, r->member, r->boxes);
}

/* The input with the largest footprint in an iteration, if no cache holds it. */
static int large_input(const Rows *r, const Machine *m)
{
    const Graph *g     = r->d->graph;
    const double least = machine_last_cache(m) / 2;
    double       most  = 0;
    int          found = -1;
    for (int s = 0; s < g->node_count; s++) {
        const GraphNode *node  = &g->nodes[s];
        const double     bytes = (double)(box_points(&r->boxes[s], node->rank) * node->bytes);
        if (node->kind != NODE_INPUT || node->rank < 2 ||
            (double)box_points(&node->box, node->rank) * (double)node->bytes < least || bytes <= most)
            continue;
        most  = bytes;
        found = s;
    }
    return found;
}

/* Does the group read nothing but this input row by row, with stride 1: one new row for each of its own? */
static bool is_all_read(const Draft *d, int group, int input)
{
    const Graph *g = d->graph;
    for (int i = 0; i < g->edge_count; i++) {
        const Edge        *e = &g->edges[i];
        const AccessRange *r = &e->access[1];
        if (d->choices[e->consumer].group != group || g->nodes[e->producer].rank < 2)
            continue;
        const bool known = e->producer == input || d->choices[e->producer].group == group;
        if (!known || !access_is_shift(r, 1))
            return false;
    }
    return true;
}

/* Instructions for each vector of the head: one for each plane of the new row that its own planes do not divide up. */
static double prefetches(const Rows *r, const Box *own, int input)
{
    const Graph     *g      = r->d->graph;
    const GraphNode *head   = &g->nodes[r->d->groups[r->group].head];
    double           planes = 1;
    for (int k = 2; k < g->nodes[input].rank; k++)
        planes *= (double)box_extent(own, k);
    for (int k = 2; k < head->rank; k++)
        planes /= (double)node_extent(head, k);
    return planes > 1 ? planes : 1;
}

static void fetch_ahead(Draft *d, int group, const Machine *m, Arena *scratch)
{
    Group       *gr = &d->groups[group];
    const size_t n  = (size_t)d->graph->node_count + 1;
    Rows         r  = { d,
                        group,
                        loop_of_rows(d, group),
                        ARENA_ARRAY(scratch, bool, n),
                        ARENA_ARRAY(scratch, bool, n),
                        ARENA_ARRAY(scratch, Box, n) };
    need_of_iteration(&r, true);
    const int input = large_input(&r, m);
    if (input < 0 || !is_all_read(d, group, input))
        return;
    const Box all = r.boxes[input];
    need_of_iteration(&r, false);
    const Box     own  = box_points(&r.boxes[input], d->graph->nodes[input].rank) ? r.boxes[input] : all;
    const int64_t lead = all.max[1] > own.max[1] ? all.max[1] - own.max[1] : 0, step = gr->loops[r.loop].step;
    if (lead >= MOST_PREFETCH_AHEAD || box_extent(&own, 1) > 1 + MOST_FETCHED)
        return;
    gr->prefetched    = 1 + input;
    gr->prefetch_loop = r.loop;
    gr->ahead         = (int)((lead + step - 1) / step) + 1;
    gr->prefetches    = prefetches(&r, &own, input);
}

bool prefetch_applies(const Draft *d, const Machine *m, int group)
{
    (void)m;
    const Group *gr = &d->groups[group];
    return d->graph->nodes[gr->head].rank > 1 && !gr->prefetched && loop_of_rows(d, group) >= 0;
}

void prefetch_apply(Draft *d, const Machine *m, int group)
{
    Arena scratch;
    scratch_begin(&scratch, d->graph->pipeline->cx);
    fetch_ahead(d, group, m, &scratch);
    scratch_end(&scratch);
}
