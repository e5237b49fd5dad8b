/* SPDX-License-Identifier: MIT */
/* The scheduler of docs/schedulers.md, which shows how one is written: tests/docs compares the text. What it makes is
 * accepted, and what is inside rows is. */
#include "graph_of.h"

SchedulerRun scheduler_rows;

/* The loops of a head: the rows in parallel, vectors along them. */
static void make_rows(Draft *d, int group)
{
    Group    *gr   = &d->groups[group];
    const int rank = d->graph->nodes[gr->head].rank;
    for (int dim = rank - 1; dim > 0; dim--)
        gr->loops[gr->loop_count++] = (GroupLoop){ .dim = dim, .step = 1, .parallel = dim == rank - 1 };
    if (rank > 0)
        gr->loops[gr->loop_count++] = (GroupLoop){ .dim = 0, .step = draft_lanes(d, gr->head), .vector = true };
}

Draft scheduler_rows(const Graph *g, const Machine *m, const SchedulerOptions *options, Arena *arena)
{
    Draft d = draft_plain(g, m, options->without, arena);
    for (int i = 0; i < d.group_count; i++)
        make_rows(&d, i);
    for (int s = g->node_count; s-- > 0;) { /* readers first: a group must be there to be joined */
        const GraphNode *node  = &g->nodes[s];
        const int        group = node->out_count ? d.choices[node->out[0]->consumer].group : -1;
        if (group >= 0 && d.choices[s].where == WHERE_ROOT && draft_may_join(&d, s, group))
            d.choices[s] = (Choice){ .where = WHERE_INSIDE, .group = group, .compute = 0, .store = 0 };
    }
    draft_choose_micro_kernels(&d, m);
    draft_legalize(&d);
    return d;
}

static const char *const programs[] = {
    "input in : f32(x, y) output out a(x, y) = exp(in(x-1, y)) + exp(in(x, y)) * 3 + exp(in(x+1, y)) out(x, y) = a(x, "
    "y-1) + a(x, y) * 7 + a(x, y+1)",
    "input in : f32(x, y, c) output out s() = sum(in(i, 0, 0) for i in 0..8) f(x, y) = in(x, y, 0) / s() + in(x, y, 1) "
    "* in(x, y, 1) out(x, y) = f(x-2, y) * f(x+2, y) estimate out(64, 32)",
    "output out h(i) = 0 h(r % 4) += 1 for r in 0..64 out(x) = h(x % 4)",
    "output out out() = 7",
};

static void test_program(const char *text)
{
    GraphOf o;
    graph_of(&o, text);
    const Draft d    = scheduler_rows(&o.graph, &o.machine, &(SchedulerOptions){ .budget = 1 }, &o.arena);
    const char *made = accepted_text(&o, &d);
    CHECK(text != programs[0] || strstr(made, ".compute_at(out, y)"), "%s", made);
    graph_of_end(&o);
}

int main(void)
{
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++)
        test_program(programs[i]);
    return check_done();
}
