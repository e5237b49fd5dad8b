/* SPDX-License-Identifier: MIT */
/* Row copies: when they are worth it, and the lines of the schedule that make them.
 *
 *     g.stage(h).compute_at(h, y).vectorize(x, 16)    h(x, y) reads g(2*x-1, y) … g(2*x+2, y), and g is inlined */
#include "schedulers/draft/row_copies.h"
#include "schedulers/draft/pattern.h"

#include <math.h>

double row_copy_points(const Edge *e)
{
    return fabs((double)e->access[0].num / (double)e->access[0].den);
}

/* Does it read one row only, the same for all points of the reader's row? */
static bool is_of_one_row(const Edge *e, int rank)
{
    for (int k = 1; k < rank; k++)
        if (!e->access[k].exact || e->access[k].var == 0 || e->access[k].lo != e->access[k].hi)
            return false;
    return true;
}

bool row_copy_fits(const Draft *d, const Edge *e)
{
    const GraphNode *p = &d->graph->nodes[e->producer], *r = &d->graph->nodes[e->consumer];
    if (!draft_has_rule(d, RULE_ROW_COPIES) || p->kind != NODE_PURE || p->is_output || p->rank < 2 ||
        r->kind != NODE_PURE || r->rank < 2)
        return false;
    const bool along = !e->gathers && e->access[0].var == 0 && e->access[0].exact && is_of_one_row(e, p->rank);
    return along && e->accesses >= 2 * row_copy_points(e) && p->defs[0].ops + p->defs[0].loads >= ROW_COPY_LEAST_WORK;
}

/* Does the node share its loops with another? */
static bool shares_loops(const Draft *d, int s)
{
    bool shared = d->choices[s].shares_with > 0;
    for (int i = 0; i < d->graph->node_count && !shared; i++)
        shared = d->choices[i].where == WHERE_INSIDE && d->choices[i].shares_with == s + 1;
    return shared;
}

/* Is all that is read through s, which is inlined, computed before the row of the reader: outside loop `row` of its
 * head, if the reader is the head, else before the reader? */
static bool is_ready(const Draft *d, int s, int reader, int row, int depth)
{
    const GraphNode *node = &d->graph->nodes[s];
    for (int i = 0; i < node->in_count; i++) {
        const int     p = node->in[i]->producer;
        const Choice *c = &d->choices[p];
        if (c->where == WHERE_DEFAULT ||
            (c->where == WHERE_INLINE && (!depth || !is_ready(d, p, reader, row, depth - 1))))
            return false;
        if (c->where == WHERE_INSIDE && (c->at || (d->choices[reader].where == WHERE_ROOT && c->compute > row)))
            return false;
    }
    return true;
}

/* The loop around the rows of a stored node; -1: there is none. 0 where the draft has no loops for it. */
static int row_level(const Draft *d, int s)
{
    const Choice *c = &d->choices[s];
    if (c->where == WHERE_INSIDE)
        return c->nest ? draft_row_level(c->nest->loops, c->nest->count) : 0;
    const Group *gr = &d->groups[c->group];
    return gr->loop_count ? draft_row_level(gr->loops, gr->loop_count) : 0;
}

bool row_copy_is_made(const Draft *d, const Edge *e)
{
    const Choice *r = &d->choices[e->consumer];
    return d->choices[e->producer].where == WHERE_INLINE && (r->where == WHERE_ROOT || r->where == WHERE_INSIDE) &&
           row_copy_fits(d, e) && row_level(d, e->consumer) >= 0 &&
           is_ready(d, e->producer, e->consumer, row_level(d, e->consumer), MOST_INLINED_DEPTH) &&
           !d->patterns[e->producer].kind && !d->patterns[e->consumer].kind && !shares_loops(d, e->consumer);
}

void row_copies_print(Text *out, const Draft *d, int reader)
{
    const GraphNode *node = &d->graph->nodes[reader];
    for (int i = 0; i < node->in_count; i++) {
        int level;
        if (!row_copy_is_made(d, node->in[i]))
            continue;
        const Func *f    = d->graph->nodes[node->in[i]->producer].func;
        const char *loop = draft_row_loop(out->arena, d, reader, &level);
        if (loop)
            text_printf(out, "%s.stage(%s).compute_at(%s, %s).vectorize(%s, %d)\n", f->name, node->func->name,
                        node->func->name, loop, f->args[0], draft_lanes(d, node->in[i]->producer));
    }
}
