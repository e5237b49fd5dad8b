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
    const Choice *c     = &d->choices[s];
    const int     lanes = c->lanes ? c->lanes : draft_lanes(d, s);
    MemberNest    n     = { 0 };
    n.loops[n.count++]  = (GroupLoop){ .dim = 1, .step = CHAIN_ROWS_AT_ONCE };
    n.loops[n.count++]  = (GroupLoop){ .dim = 1, .step = 1 };
    n.loops[n.count++]  = (GroupLoop){ .dim = 0, .step = lanes, .vector = true };
    return draft_nest(d, &n);
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

static int chained_loop(const Draft *d, int group)
{
    const Group *gr = &d->groups[group];
    return d->graph->nodes[gr->head].kind == NODE_PURE ? row_loop(gr) : -1;
}

bool chain_applies(const Draft *d, const Machine *m, int group)
{
    (void)m;
    const int row = chained_loop(d, group);
    return row >= 0 && chain_length(d, group, row) >= LEAST_CHAIN;
}

void chain_apply(Draft *d, const Machine *m, int group)
{
    (void)m;
    Group    *gr  = &d->groups[group];
    const int row = chained_loop(d, group);
    for (int s = 0; s < gr->head; s++)
        if (d->choices[s].where == WHERE_INSIDE && d->choices[s].group == group) {
            d->choices[s].nest  = rows_nest(d, s);
            d->choices[s].chain = true;
        }
    gr->loops[row].step         = CHAIN_ROWS_AT_ONCE;
    gr->loops[gr->loop_count++] = gr->loops[row + 1];
    gr->loops[row + 1]          = (GroupLoop){ .dim = 1, .step = 1 };
}
