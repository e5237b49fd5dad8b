/* SPDX-License-Identifier: MIT */
/* The plain draft, with which every scheduler begins.
 *
 * Takes   a graph.
 * Gives   a draft: each node a group of its own with the loops of the default schedule, or inlined where that costs
 *         nothing, or with a pattern. */
#include "schedulers/draft/draft_legal.h"
#include "schedulers/draft/pattern.h"
#include "schedulers/rules/rules.h"

/* How often a node would be computed if it were inlined, and whether only at its readers' own points. */
typedef struct Demand {
    double evaluations;
    bool   pointwise;
} Demand;

static Demand demand_of(const Draft *d, const Demand *demands, int s)
{
    const Graph *g      = d->graph;
    Demand       demand = { 0, true };
    for (int i = 0; i < g->nodes[s].out_count; i++) {
        const Edge *e       = g->nodes[s].out[i];
        const bool  through = d->choices[e->consumer].where == WHERE_INLINE;
        demand.evaluations += e->accesses * (through ? demands[e->consumer].evaluations
                                                     : g->nodes[e->consumer].defs[e->update + 1].points);
        demand.pointwise &= e->pointwise && (!through || demands[e->consumer].pointwise);
    }
    return demand;
}

/* Does it read a row with stride above 1? The shuffles for that are better done once than by each reader. */
static bool has_stride(const Edge *e, int rank)
{
    for (int d = 0; d < rank; d++)
        if (e->access[d].var == 0 && e->access[d].num > e->access[d].den)
            return true;
    return false;
}

/* Is it upsampled by a reader (stride below 1)? Then its loads need shuffles too. */
static bool is_upsampled(const GraphNode *node)
{
    for (int i = 0; i < node->out_count; i++)
        if (node->rank && node->out[i]->access[0].var == 0 && node->out[i]->access[0].num < node->out[i]->access[0].den)
            return true;
    return false;
}

/* Does it read at most two elements and do an operation or two? Inlined, its dense loads take the place of one load. A
 * sum does not count as an element: it is best computed next to its reader. */
static bool is_trivial(const Graph *g, const GraphNode *node)
{
    bool single =
        node->in_count <= (is_upsampled(node) ? 1 : 2) && node->defs[0].ops <= FREE_OPS && !node->defs[0].gathers;
    for (int i = 0; i < node->in_count; i++)
        single &= node->in[i]->accesses == 1 && g->nodes[node->in[i]->producer].kind != NODE_REDUCTION &&
                  !has_stride(node->in[i], g->nodes[node->in[i]->producer].rank);
    return single;
}

/* Does it have many planes, of which each step of a reader uses one, and cost less to compute there than to store and
 * reload? */
static bool is_cheap_table(const Graph *g, const GraphNode *node, double evaluations)
{
    const double work    = node->defs[0].ops + node->defs[0].loads;
    double       readers = 0;
    for (int i = 0; i < node->out_count; i++)
        readers += g->nodes[node->out[i]->consumer].defs[0].points;
    return node->defs[0].points > MANY_PLANES * readers && evaluations * (work - 1) < node->defs[0].points * (work + 2);
}

/* Is it expensive and read only by sums without free dimensions? Inlined there it could not be vectorized. */
static bool feeds_scalar_sums(const Draft *d, const GraphNode *node)
{
    bool all = node->out_count > 0 && node->rank > 0 && node->defs[0].ops >= MUCH_OPS;
    for (int i = 0; i < node->out_count; i++) {
        const Edge *e = node->out[i];
        all &= e->update >= 0 && d->graph->nodes[e->consumer].kind == NODE_REDUCTION &&
               !d->facts[e->consumer].defs[e->update + 1].free &&
               d->graph->nodes[e->consumer].defs[e->update + 1].steps >= MANY_STEPS;
    }
    return all;
}

/* Inlining is free where no point is computed more often than at root, and nearly free where it is cheap. */
static bool is_best_inlined(const Draft *d, int s, const Demand *demand)
{
    const GraphNode *node  = &d->graph->nodes[s];
    const double     times = demand->evaluations / (node->defs[0].points > 1 ? node->defs[0].points : 1);
    const bool       cheap = demand->pointwise && node->defs[0].ops <= CHEAP_OPS;
    if (node->def_count > 1 || !draft_may_inline(d, s) || feeds_scalar_sums(d, node))
        return false;
    return times <= HARDLY_MORE || is_cheap_table(d->graph, node, demand->evaluations) ||
           (times <= PLAIN_MOST_TIMES && (is_trivial(d->graph, node) || cheap));
}

/* Is it a reduction that one node reads at its own point? If that reader is inlined, its readers must read it at their
 * own points, else each would sum anew. */
static bool is_own_points_reduction(const Graph *g, int s, const Demand *demand)
{
    const GraphNode *node       = &g->nodes[s];
    const bool       one_reader = !node->is_output && node->out_count == 1 && node->out[0]->update < 0;
    return node->kind == NODE_REDUCTION && one_reader && demand->pointwise;
}

Draft draft_plain(const Graph *g, const Machine *m, uint32_t without, Arena *arena)
{
    FuncFacts       *facts = ARENA_ARRAY(arena, FuncFacts, (size_t)g->node_count + 1);
    const FuncFacts *all   = func_facts(g->pipeline, arena);
    for (int s = 0; s < g->node_count; s++)
        facts[s] = all[g->nodes[s].func->id];
    Draft   d       = { .graph       = g,
                        .facts       = facts,
                        .vector_bits = m->vector_bits,
                        .datapath    = machine_datapath(m),
                        .groups      = ARENA_ARRAY(arena, Group, (size_t)g->node_count + 1),
                        .choices     = ARENA_ARRAY(arena, Choice, (size_t)g->node_count + 1),
                        .patterns    = patterns_new(g, arena),
                        .nests       = draft_nests(g->arena),
                        .without     = without };
    Demand *demands = ARENA_ARRAY(arena, Demand, (size_t)g->node_count + 1);
    for (int s = g->node_count; s-- > 0;) { /* consumers first: an inlined node has the group of its reader */
        const GraphNode *node = &g->nodes[s];
        demands[s]            = demand_of(&d, demands, s);
        if (node->kind == NODE_INPUT)
            d.choices[s] = (Choice){ .where = WHERE_ROOT, .group = -1 };
        else if (is_best_inlined(&d, s, &demands[s]))
            d.choices[s] = (Choice){ .where = WHERE_INLINE, .group = d.choices[node->out[0]->consumer].group };
        else if (is_own_points_reduction(g, s, &demands[s]))
            d.choices[s] = (Choice){ .where = WHERE_DEFAULT, .group = d.choices[node->out[0]->consumer].group };
        else
            draft_make_root(&d, s);
    }
    draft_apply_rules(&d, m, RULES_PLAIN);
    draft_legalize_inlining(&d);
    return d;
}
