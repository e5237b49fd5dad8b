/* SPDX-License-Identifier: MIT */
/* Chains of stencils: a few rows at a time, each node inside the loop of its reader.
 *
 *     out.split(y, yo, yi, 4)…
 *     c.store_at(out, xo).compute_at(out, yo).split(y, yo, yi, 4)
 *     b.store_at(out, xo).compute_at(c, yo).split(y, yo, yi, 4)
 *     a.store_at(out, xo).compute_at(b, yo).split(y, yo, yi, 4)
 *
 * Why     One row of out needs as many rows of a as all windows in between add up to. Computed inside the row loop of
 *         out, a would store them all. Inside the loop of b it stores the few that b reads at a time. Several rows at
 *         a time, because updating the bounds of a sliding window has a cost too. */
#include "schedulers/rules/micro_kernels.h"

enum {
    ROWS        = 4, /* computed at a time */
    LEAST_CHAIN = 4  /* nodes */
};

/* The one node, not inlined, whose pure definition reads s, directly or through inlined nodes; `found` if one is known
 * already. -1: there are several, or it is no pure definition. */
static int sole_reader(const Draft *d, int s, int found)
{
    const FuncFacts *facts = &d->facts[s];
    for (size_t i = 0; i < facts->readers.count; i++) {
        const int at = d->graph->of_func[facts->readers.at[i].func->id];
        if (at < 0)
            return -1;
        if (d->choices[at].where == WHERE_INLINE)
            found = sole_reader(d, at, found);
        else
            found = (found == at || found == NO_DEF) && d->graph->nodes[at].kind == NODE_PURE ? at : -1;
        if (found == -1)
            return -1;
    }
    return found;
}

int draft_chain_reader(const Draft *d, int s)
{
    const int reader = sole_reader(d, s, NO_DEF);
    return reader < 0 ? -1 : reader;
}

/* Are its rows read with stride 1? */
static bool has_unit_stride(const Draft *d, int s)
{
    const GraphNode *node = &d->graph->nodes[s];
    for (int i = 0; i < node->out_count; i++) {
        const Edge *e = node->out[i];
        if (e->access[1].var != 1 || e->access[1].num != 1 || e->access[1].den != 1)
            return false;
        if (d->choices[e->consumer].where == WHERE_INLINE &&
            (d->graph->nodes[e->consumer].rank != 2 || !has_unit_stride(d, e->consumer)))
            return false;
    }
    return true;
}

bool draft_may_chain(const Draft *d, int s)
{
    const GraphNode *node = &d->graph->nodes[s];
    if (node->kind != NODE_PURE || node->rank != 2 || node->is_output)
        return false;
    return draft_chain_reader(d, s) >= 0 && has_unit_stride(d, s);
}

/* The loop over single rows of [..., y, x in vectors], in which all windows slide; -1: the loops are others. */
static int row_loop(const Group *gr)
{
    const int        row  = gr->loop_count - 2;
    const GroupLoop *last = &gr->loops[row < 0 ? 0 : row + 1];
    if (row < 1 || gr->loop_count >= MOST_GROUP_LOOPS || !last->vector || last->dim != 0)
        return -1;
    const GroupLoop *l = &gr->loops[row];
    return l->dim == 1 && l->step == 1 && !l->parallel && !l->unroll ? row : -1;
}

/* Is it a member that slides along the row loop and can be in a chain? */
static bool is_in_chain(const Draft *d, int s, int group, int row)
{
    const Choice *c = &d->choices[s];
    if (c->where != WHERE_INSIDE || c->group != group || c->at || c->nest)
        return false;
    return c->compute == row && c->store < row && draft_may_chain(d, s);
}

static const MemberNest *rows_nest(const Draft *d, int s)
{
    const Choice *c      = &d->choices[s];
    const int     lanes  = c->lanes ? c->lanes : draft_lanes(d, s);
    MemberNest   *n      = ARENA_NEW(d->graph->arena, MemberNest);
    n->loops[n->count++] = (GroupLoop){ .dim = 1, .step = ROWS };
    n->loops[n->count++] = (GroupLoop){ .dim = 1, .step = 1 };
    n->loops[n->count++] = (GroupLoop){ .dim = 0, .step = lanes, .vector = true };
    return n;
}

/* The number of members if all are in one chain, else 0. */
static int chain_length(const Draft *d, int group, int row)
{
    int links = 0, next = d->groups[group].head;
    for (int s = d->groups[group].head; s-- > 0;) {
        if (d->choices[s].where != WHERE_INSIDE || d->choices[s].group != group)
            continue;
        if (!is_in_chain(d, s, group, row) || draft_chain_reader(d, s) != next)
            return 0;
        next = s;
        links++;
    }
    return links;
}

static void chain_group(Draft *d, int group)
{
    Group    *gr  = &d->groups[group];
    const int row = d->graph->nodes[gr->head].kind == NODE_PURE ? row_loop(gr) : -1;
    if (row < 0 || chain_length(d, group, row) < LEAST_CHAIN)
        return;
    for (int s = 0; s < gr->head; s++)
        if (d->choices[s].where == WHERE_INSIDE && d->choices[s].group == group) {
            d->choices[s].nest  = rows_nest(d, s);
            d->choices[s].chain = true;
        }
    gr->loops[row].step         = ROWS;
    gr->loops[gr->loop_count++] = gr->loops[row + 1];
    gr->loops[row + 1]          = (GroupLoop){ .dim = 1, .step = 1 };
}

void choose_chains(Draft *d)
{
    for (int i = 0; i < d->group_count; i++)
        chain_group(d, i);
}
