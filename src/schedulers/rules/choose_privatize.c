/* SPDX-License-Identifier: MIT */
/* When histograms are privatized. A private copy costs its bins twice, to initialize and to add up. There are enough
 * copies for every core, but each has many more steps than bins. */
#include "schedulers/draft/draft_legal.h"
#include "schedulers/draft/pattern_forms.h"
#include "schedulers/rules/patterns.h"

/* Evaluations of p for other nodes than s, relative to its points. */
static double other_evaluations(const Draft *d, int p, int s)
{
    const GraphNode *node  = &d->graph->nodes[p];
    double           asked = 0;
    for (int i = 0; i < node->out_count; i++)
        if (node->out[i]->consumer != s)
            asked +=
                node->out[i]->accesses * d->graph->nodes[node->out[i]->consumer].defs[node->out[i]->update + 1].points;
    return asked / (node->defs[0].points > 1 ? node->defs[0].points : 1);
}

/* A node with a copy for s need be stored for other readers only. If these read each point once, it is inlined there.
 */
static void inline_feeds(Draft *d, int s)
{
    const GraphNode *node = &d->graph->nodes[s];
    for (int i = 0; i < node->in_count; i++) {
        const int p = node->in[i]->producer;
        if (d->choices[p].where == WHERE_ROOT && draft_may_inline(d, p) && feeds_rows(d, p, s) &&
            other_evaluations(d, p, s) <= HARDLY_MORE)
            d->choices[p] = (Choice){ .where = WHERE_INLINE, .group = d->choices[s].group };
    }
}

bool privatize_may_pay(const Draft *d, const Machine *m, int s)
{
    (void)m;
    const GraphNode *node = &d->graph->nodes[s];
    return d->patterns[s].kind == PATTERN_NONE && node->kind == NODE_SCATTER && node->func->update_count == 1 &&
           node->defs[1].points >= PRIVATE_LEAST_STEPS;
}

void privatize_choose(Draft *d, const Machine *m, int s)
{
    const GraphNode *node = &d->graph->nodes[s];
    const Work      *work = &node->defs[1];
    const double     bins = (double)box_points(&node->box, node->rank),
                 outer    = node->func->updates[0].rvar_count ? (double)work->extents[0] : 0;
    const double limit    = work->points / (STEPS_PER_BIN * (bins > 1 ? bins : 1));
    double       parts    = (double)PRIVATE_TASKS * m->cores;
    parts                 = parts > limit ? limit : parts;
    parts                 = parts > outer ? outer : parts;
    if (parts < 2)
        return;
    const bool four = limit / parts >= PRIVATE_COPIES;
    d->patterns[s]  = (Pattern){ .kind   = PATTERN_PRIVATIZE,
                                 .rows   = (int64_t)(outer / parts + 0.999),
                                 .copies = four ? PRIVATE_COPIES : 1 };
    if (privatize_applies(d, s))
        inline_feeds(d, s);
    else
        d->patterns[s].kind = PATTERN_NONE;
}
