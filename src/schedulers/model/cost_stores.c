/* SPDX-License-Identifier: MIT */
/* What the cost model knows of stores and of tiles over time. */
#include "schedulers/model/cost_tiles.h"

bool cost_streams(const Draft *d, int s, const Machine *m)
{
    const GraphNode *node = &d->graph->nodes[s];
    if (!draft_has_rule(d, RULE_STREAMS))
        return false;
    if (node->rank > 1 && box_extent(&node->box, 0) * node->bytes % m->line)
        return false;
    const double bytes = (double)box_points(&node->box, node->rank) * (double)node->bytes;
    return node->is_output && !node->out_count && node->def_count == 1 && bytes > machine_streams_from(m);
}

double time_tiles_kept(const Draft *d, const Machine *m, int head, double size)
{
    const Choice *c = &d->choices[head];
    if (!c->time_size || size < machine_kept_l2(m))
        return 1;
    const double steps = (double)c->time_size / c->time_slope / 2;
    return steps > 1 ? steps : 1;
}

double time_tiles_tasks(const Draft *d, int head)
{
    const GraphNode *node = &d->graph->nodes[head];
    const Choice    *c    = &d->choices[head];
    if (!c->time_size)
        return 0;
    const double area = (double)c->time_size * c->time_size / c->time_slope / 2;
    return (double)node_extent(node, c->time_dim) * node->defs[c->time_update + 1].steps / area;
}
