/* SPDX-License-Identifier: MIT */
/* Loop fusion inside a tile: members that read the same run in the same iteration, so that loads are shared.
 *
 * Legal   if both are pure, computed and stored at the same level with the loops of the default schedule, and neither
 *         depends on the other. Each function is in at most one pair, and no pair depends on a node of another, so
 *         that the order in which loops are fused does not matter. */
#include "schedulers/draft/shared_loops.h"

Pairs pairs_begin(Draft *d, Arena *arena)
{
    const size_t n = (size_t)d->graph->node_count + 1;
    return (Pairs){ .d = d, .needs = ARENA_ARRAY(arena, bool, n), .later = ARENA_ARRAY(arena, int, n) };
}

/* Marks what node s depends on. */
static void mark_needs(Pairs *p, int s)
{
    const Graph *g = p->d->graph;
    memset(p->needs, 0, (size_t)g->node_count * sizeof *p->needs);
    p->needs[s] = true;
    for (int i = s; i >= 0; i--)
        for (int k = 0; p->needs[i] && k < g->nodes[i].in_count; k++)
            p->needs[g->nodes[i].in[k]->producer] = true;
}

/* Does one of the first two depend on one of the others, or is it one? */
static bool meets(Pairs *p, const int *first, const int *other)
{
    for (int i = 0; i < 2; i++) {
        mark_needs(p, first[i]);
        if (p->needs[other[0]] || p->needs[other[1]])
            return true;
    }
    return false;
}

/* Does it have the loops of the default schedule, and is it stored where it is computed? */
bool shares_plainly(const Draft *d, int s)
{
    const Choice *c = &d->choices[s];
    if (c->where != WHERE_INSIDE || c->nest || c->memory || c->shares_with)
        return false;
    return c->store == c->compute && d->graph->nodes[s].def_count == 1 && d->graph->nodes[s].rank > 0;
}

bool shares_same_loops(const Draft *d, int a, int b)
{
    const Choice *ca = &d->choices[a], *cb = &d->choices[b];
    const int     la = ca->lanes ? ca->lanes : draft_lanes(d, a), lb = cb->lanes ? cb->lanes : draft_lanes(d, b);
    const bool    level = ca->group == cb->group && ca->at == cb->at && ca->compute == cb->compute;
    return level && ca->align == cb->align && la == lb && d->graph->nodes[a].rank == d->graph->nodes[b].rank;
}

bool pairs_may_share(Pairs *p, int a, int b)
{
    if (a >= b || !shares_plainly(p->d, a) || !shares_plainly(p->d, b) || !shares_same_loops(p->d, a, b))
        return false;
    mark_needs(p, b);
    if (p->needs[a])
        return false;
    for (int i = 0; i < p->count; i++) {
        const int now[2] = { a, b }, made[2] = { p->later[i], p->d->choices[p->later[i]].shares_with - 1 };
        if (meets(p, now, made) || meets(p, made, now))
            return false;
    }
    return true;
}

void pairs_share(Pairs *p, int a, int b)
{
    p->d->choices[b].shares_with = 1 + a;
    p->later[p->count++]         = b;
}

void draft_legalize_shared(Draft *d)
{
    Arena scratch;
    scratch_begin(&scratch, d->graph->pipeline->cx);
    int  *asked = ARENA_ARRAY(&scratch, int, (size_t)d->graph->node_count + 1);
    Pairs p     = pairs_begin(d, &scratch);
    for (int s = 0; s < d->graph->node_count; s++) {
        asked[s]                  = d->choices[s].shares_with - 1;
        d->choices[s].shares_with = 0;
    }
    for (int s = 0; s < d->graph->node_count; s++)
        if (asked[s] >= 0 && pairs_may_share(&p, asked[s], s))
            pairs_share(&p, asked[s], s);
    scratch_end(&scratch);
}
