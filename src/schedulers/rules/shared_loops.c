/* SPDX-License-Identifier: MIT */
/* Shared loops: members that read the same run in the same iteration, so that loads are shared.
 *
 * From    Jangda and Bondhugula 2020, section 5.3: two functions of a group share their loops if they have common
 *         inputs and the same bounds. What is legal: draft/shared_loops.h. */
#include "schedulers/draft/shared_loops.h"
#include "schedulers/model/cost_tiles.h"
#include "schedulers/rules/micro_kernels.h"

static bool same_bounds(const Tiles *t, int level, int a, int b)
{
    const Box *ba = &tiles_box(t, level, tiles_find(t, a))->middle,
              *bb = &tiles_box(t, level, tiles_find(t, b))->middle;
    for (int d = 0; d < t->graph->nodes[a].rank; d++)
        if (ba->min[d] != bb->min[d] || ba->max[d] != bb->max[d])
            return false;
    return true;
}

static bool read_the_same(const Graph *g, int a, int b)
{
    for (int i = 0; i < g->nodes[a].in_count; i++)
        for (int k = 0; k < g->nodes[b].in_count; k++)
            if (g->nodes[a].in[i]->producer == g->nodes[b].in[k]->producer &&
                g->nodes[g->nodes[a].in[i]->producer].rank > 0)
                return true;
    return false;
}

static int list_plain(const Draft *d, int group, int *out)
{
    int count = 0;
    for (int s = 0; s < d->graph->node_count; s++)
        if (shares_plainly(d, s) && d->choices[s].group == group && !d->choices[s].at)
            out[count++] = s;
    return count;
}

bool shared_loops_applies(const Draft *d, const Machine *m, int group)
{
    (void)m;
    int count = 0;
    for (int s = 0; s < d->graph->node_count; s++)
        count += shares_plainly(d, s) && d->choices[s].group == group && !d->choices[s].at;
    return count > 1;
}

void shared_loops_apply(Draft *d, const Machine *m, int group)
{
    Arena scratch;
    scratch_begin(&scratch, d->graph->pipeline->cx);
    int      *at    = ARENA_ARRAY(&scratch, int, (size_t)d->graph->node_count + 1);
    Pairs     p     = pairs_begin(d, &scratch);
    const int count = list_plain(d, group, at);
    Tiles     tiles;
    tiles_make(&tiles, d, group, m, true, &scratch);
    for (int i = 0; i < count; i++)
        for (int k = i + 1; k < count; k++)
            if (read_the_same(d->graph, at[i], at[k]) && shares_same_loops(d, at[i], at[k]) &&
                same_bounds(&tiles, d->choices[at[i]].compute + 1, at[i], at[k]) && pairs_may_share(&p, at[i], at[k]))
                pairs_share(&p, at[i], at[k]);
    scratch_end(&scratch);
}
