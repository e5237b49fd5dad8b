/* SPDX-License-Identifier: MIT */
/* When grids are accumulated a cell at a time, and the memory order of what reads them.
 *
 * Nodes that read the grid at their own place or near it, and those that read these, have the same memory order and
 * loops in that order. Gathers along z find their neighbours in the same line. */
#include "schedulers/draft/draft_legal.h"
#include "schedulers/draft/pattern_forms.h"
#include "schedulers/rules/patterns.h"

bool grid_may_pay(const Draft *d, const Machine *m, int s)
{
    (void)m;
    return d->patterns[s].kind == PATTERN_NONE && grid_applies(d, s);
}

void grid_choose(Draft *d, const Machine *m, int s)
{
    (void)m;
    d->patterns[s] = (Pattern){ .kind = PATTERN_GRID };
}

static bool reads_near(const Edge *e, int rank)
{
    for (int k = 0; k < rank; k++)
        if (e->access[k].var != k || e->access[k].num != 1 || e->access[k].den != 1)
            return false;
    return true;
}

/* Planes, then vectors: what is inside all loops over cells. */
static int add_inner(const Draft *d, int s, const GridDims *c, GroupLoop *loops, int count)
{
    for (int i = c->few - 1; i >= 0; i--)
        loops[count++] = (GroupLoop){ .dim = grid_plane_dim(c, i), .step = 1 };
    for (int i = c->bins - 1; i >= 0; i--)
        loops[count++] = (GroupLoop){
            .dim = grid_bin_dim(c, i), .step = i ? 1 : grid_lanes(d, s, c), .vector = !i, .fused = c->fused
        };
    return count;
}

static const MemberNest *grid_nest(const Draft *d, int s, const GridDims *c)
{
    MemberNest n = { 0 };
    for (int i = c->rank - 1; i >= c->bins + c->few; i--)
        n.loops[n.count++] = (GroupLoop){ .dim = c->order[i], .step = 1 };
    n.count = add_inner(d, s, c, n.loops, n.count);
    return draft_nest(d, &n);
}

static bool is_cell_dim(const GridDims *c, int dim)
{
    for (int i = c->bins + c->few; i < c->rank; i++)
        if (c->order[i] == dim)
            return true;
    return false;
}

/* Keeps the loops over cells and what is inside them; the others move inside. The outermost loop over cells gets their
 * tasks. */
static void reorder_head(Draft *d, int group, const GridDims *c)
{
    Group    *gr = &d->groups[group];
    GroupLoop loops[MOST_GROUP_LOOPS];
    int       now[MOST_GROUP_LOOPS] = { 0 }, count = 0;
    int64_t   tasks    = 1;
    bool      parallel = false;
    for (int i = 0; i < gr->loop_count; i++) {
        if (is_cell_dim(c, gr->loops[i].dim)) {
            loops[count] = gr->loops[i];
            if (loops[count].vector)
                loops[count] = (GroupLoop){ .dim = loops[count].dim, .step = 1 };
            parallel |= loops[count++].parallel;
        } else if (gr->loops[i].parallel && tasks < GRID_MOST_TASKS) {
            tasks *= node_extent(&d->graph->nodes[gr->head], gr->loops[i].dim) / gr->loops[i].step;
        }
        now[i] = count ? count - 1 : 0;
    }
    if (!count || count + c->bins + c->few > MOST_GROUP_LOOPS)
        return;
    loops[0].parallel |= !parallel;
    tasks         = tasks > GRID_MOST_TASKS ? GRID_MOST_TASKS : tasks;
    loops[0].step = tasks > 1 && loops[0].step > GRID_LEAST_STEP * tasks ? loops[0].step / tasks : loops[0].step;
    for (int s = 0; s < d->graph->node_count; s++) {
        Choice *m = &d->choices[s];
        if (m->where == WHERE_INSIDE && m->group == group && !m->at) {
            m->compute = now[m->compute];
            m->store   = now[m->store];
        }
    }
    gr->loop_count = add_inner(d, gr->head, c, loops, count);
    memcpy(gr->loops, loops, sizeof *loops * (size_t)gr->loop_count);
}

static void set_memory_order(Draft *d, int s, const GridDims *c, const int *memory)
{
    Choice *choice = &d->choices[s];
    if (choice->where == WHERE_INSIDE)
        choice->nest = grid_nest(d, s, c);
    else if (choice->where == WHERE_ROOT && d->groups[choice->group].loop_count)
        reorder_head(d, choice->group, c);
    else
        return;
    choice->memory = memory;
}

static bool may_have_order(const Draft *d, int s, int rank, const bool *ordered)
{
    const GraphNode *node = &d->graph->nodes[s];
    if (node->kind != NODE_PURE || node->rank != rank || node->is_output || d->patterns[s].kind != PATTERN_NONE)
        return false;
    for (int i = 0; i < node->in_count; i++)
        if (ordered[node->in[i]->producer] && reads_near(node->in[i], rank))
            return true;
    return false;
}

bool grid_reader_may_pay(const Draft *d, const Machine *m, int s)
{
    (void)m;
    return d->patterns[s].kind == PATTERN_GRID && grid_applies(d, s);
}

void grid_reader_choose(Draft *d, const Machine *m, int s)
{
    (void)m;
    const Graph   *g       = d->graph;
    const GridDims c       = grid_dims(&g->nodes[s]);
    int           *memory  = ARENA_ARRAY(g->arena, int, KN_MAX_RANK);
    bool          *ordered = ARENA_ARRAY(g->arena, bool, (size_t)g->node_count);
    memcpy(memory, c.order, sizeof c.order);
    ordered[s]           = true;
    d->choices[s].memory = memory;
    for (int t = s + 1; t < g->node_count; t++)
        if ((ordered[t] = may_have_order(d, t, c.rank, ordered)))
            set_memory_order(d, t, &c, memory);
}
