/* SPDX-License-Identifier: MIT */
/* When windows with separable weights are separated. */
#include "schedulers/draft/draft_legal.h"
#include "schedulers/draft/pattern_forms.h"
#include "schedulers/rules/patterns.h"

/* The reader of the sums that is best stored: the first that is not inlined, or that others read at other points than
 * their own. -1: none. */
static int stored_reader(const Draft *d, int s)
{
    for (;;) {
        const GraphNode *node = &d->graph->nodes[s];
        if (node->out_count != 1 || node->out[0]->update >= 0 || !node->out[0]->pointwise ||
            d->facts[s].readers.count != 1)
            return -1;
        s                       = node->out[0]->consumer;
        const GraphNode *reader = &d->graph->nodes[s];
        if (d->choices[s].where != WHERE_INLINE || reader->out_count != 1 || !reader->out[0]->pointwise)
            return reader->kind == NODE_PURE ? s : -1;
    }
}

bool separate_may_pay(const Draft *d, const Machine *m, int s)
{
    (void)m;
    const Func *f = d->graph->nodes[s].func;
    return d->patterns[s].kind == PATTERN_NONE && f->kind == FUNC_DEFINED && f->update_count == 1 &&
           stored_reader(d, s) >= 0;
}

void separate_choose(Draft *d, const Machine *m, int s)
{
    (void)m;
    const Func *f = d->graph->nodes[s].func;
    for (int k = 0; k < f->updates[0].rvar_count; k++)
        if (separate_is_legal(d, s, k)) {
            const Pattern had = d->patterns[s];
            d->patterns[s]    = (Pattern){ .kind = PATTERN_SEPARATE, .rvar = k };
            if (!draft_may_inline(d, s)) {
                d->patterns[s] = had;
                return;
            }
            d->choices[s] = (Choice){ .where = WHERE_INLINE, .group = d->choices[s].group };
            if (d->choices[stored_reader(d, s)].where == WHERE_INLINE)
                draft_make_root(d, stored_reader(d, s));
            return;
        }
}
