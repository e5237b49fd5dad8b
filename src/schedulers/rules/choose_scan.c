/* SPDX-License-Identifier: MIT */
/* When scans run in strips, and which node takes a strip. */
#include "schedulers/draft/draft_legal.h"
#include "schedulers/draft/pattern_forms.h"
#include "schedulers/rules/patterns.h"

/* The node that reads each point of s once, directly or through inlined nodes; -1: there is none. */
static int pointwise_reader(const Draft *d, int s)
{
    for (;;) {
        const GraphNode *node = &d->graph->nodes[s];
        if (node->out_count != 1 || !node->out[0]->pointwise || scan_only_reader(d, s) < 0)
            return -1;
        s = node->out[0]->consumer;
        if (d->choices[s].where != WHERE_INLINE)
            return s;
    }
}

/* The loops that scan_reader_print writes, but for blocks. Gives the loop over strips. */
static int scan_reader_loops(Draft *d, Group *gr, int scan)
{
    const int      across = d->patterns[scan].across, rank = d->graph->nodes[scan].rank;
    const uint32_t outer = scan_outer_dims(d, scan);
    gr->loop_count       = 0;
    for (int k = rank - 1; k >= 0; k--)
        if (outer & 1u << k)
            group_add_loop(gr, k, 1, false, false);
    const int strips = gr->loop_count;
    group_add_loop(gr, across, d->patterns[scan].rows, true, false);
    for (int k = rank - 1; k > 0; k--)
        if (!(outer & 1u << k) && k != across)
            group_add_loop(gr, k, 1, false, false);
    if (across)
        group_add_loop(gr, across, 1, false, false);
    group_add_loop(gr, 0, stored_lanes(d, scan), false, true);
    return strips;
}

static void find_scan_reader(Draft *d, int s)
{
    const int r = pointwise_reader(d, s);
    if (r < 0 || d->graph->nodes[r].kind != NODE_PURE || d->choices[r].where != WHERE_ROOT ||
        d->patterns[r].kind != PATTERN_NONE || d->graph->nodes[r].rank != d->graph->nodes[s].rank ||
        !scan_is_alone(d, d->choices[r].group, s))
        return;
    const int group        = d->choices[r].group;
    const int strips       = scan_reader_loops(d, &d->groups[group], s);
    d->choices[s]          = (Choice){ .where = WHERE_INSIDE, .group = group, .compute = strips, .store = strips };
    d->patterns[s].partner = r + 1;
    d->patterns[r]         = (Pattern){ .kind = PATTERN_SCAN_READER, .partner = s + 1 };
}

bool scan_may_pay(const Draft *d, const Machine *m, int s)
{
    (void)m;
    const GraphNode *node = &d->graph->nodes[s];
    return d->patterns[s].kind == PATTERN_NONE && node->kind == NODE_SCAN && node->rank &&
           box_points(&node->box, node->rank) >= SCAN_LEAST_POINTS;
}

void scan_choose(Draft *d, const Machine *m, int s)
{
    const GraphNode *node   = &d->graph->nodes[s];
    const int        lanes  = stored_lanes(d, s);
    int              across = 0;
    const uint32_t   steps  = scan_dims(d, s);
    while (across < node->rank && (steps & 1u << across))
        across++;
    if (across == node->rank || lanes < 2 || box_extent(&node->box, across) < 2 * lanes)
        return;
    int64_t bytes = node->bytes * 2 * lanes;
    for (int k = 0; k < node->rank; k++)
        bytes *= steps & 1u << k ? box_extent(&node->box, k) : 1;
    d->patterns[s] =
        (Pattern){ .kind   = PATTERN_SCAN,
                   .across = across,
                   .rows   = bytes > machine_last_cache(m) / 2 || 2 * lanes > MOST_SCAN_WIDTH ? lanes : 2 * lanes };
    if (!scan_has_pattern(d, s))
        d->patterns[s] = (Pattern){ .kind = PATTERN_NONE };
}

bool scan_reader_may_pay(const Draft *d, const Machine *m, int s)
{
    (void)m;
    return d->choices[s].where == WHERE_ROOT && scan_has_pattern(d, s);
}

void scan_reader_choose(Draft *d, const Machine *m, int s)
{
    (void)m;
    Pattern  *sp     = &d->patterns[s];
    const int reader = scan_only_reader(d, s);
    find_scan_reader(d, s);
    if (sp->partner || reader < 0 || !scan_has_pattern(d, reader))
        return;
    const int across   = d->patterns[reader].across;
    sp->dense          = across != sp->across && (scan_inner_dims(d, s) & 1u << across) ? across : 0;
    sp->enclosing_scan = scan_read_at_own_outer_point(d, s, reader) ? reader + 1 : 0;
}
