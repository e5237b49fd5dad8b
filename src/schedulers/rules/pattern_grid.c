/* SPDX-License-Identifier: MIT */
/* Grid accumulation: scatters whose place is their own along most dimensions, and data-dependent along others.
 *
 *     bin.stage(g).compute_at(g.update(0), y).vectorize(x, 16)
 *     g.compute_root().reorder_storage(c, z, x, y).reorder(c, z, x, y).fuse(c, z, cz).vectorize(cz, 16).parallel(y)
 *     g.update(0).split(x, xo, xi, 4).reorder(c, xi, i, j, xo, y).unroll(xi).unroll(c, 2).parallel(y)
 *
 * for g(x, y, bin(S*x + i, S*y + j), c) += …: all bins of one cell (z) and the few planes (c) are adjacent in memory,
 * so that the working set of a cell is a few cache lines. Several cells take their steps together, because each step
 * of a cell waits for the one before. Planes of a bin are neighbours, since a step writes all of them. Where there is
 * one dimension of each kind, vectors run over both as one fused loop. The bins are computed in vectors, a row of
 * cells at a time.
 *
 * Nodes that read the grid at their own place or near it, and those that read these, have the same memory order and
 * loops in that order. Gathers along z find their neighbours in the same line. */
#include "schedulers/draft/draft_legal.h"
#include "schedulers/rules/pattern_internal.h"

enum {
    FEW_PLANES  = 4,
    CELLS       = 4 /* cells at a time */,
    LEAST_LANES = 4,
    MOST_RVARS  = 8,
    MOST_TASKS  = 8,
    LEAST_STEP  = 4
};

/* The dimensions of a grid. */
typedef struct GridDims {
    int  rank;
    int  order[KN_MAX_RANK]; /* in memory, innermost first: bins, few planes, cells; fused: planes before bins */
    int  bins, few;          /* how many are bins, and few planes */
    bool fused;              /* one of each: one loop runs over both */
} GridDims;

/* 0: bins, chosen by data; 1: a few planes; 2: cells. */
static int kind_of(const GraphNode *node, int dim)
{
    return !node->func->updates[0].is_free[dim] ? 0 : node_extent(node, dim) <= FEW_PLANES ? 1 : 2;
}

/* The dimensions of a scatter with one update. */
static GridDims grid_dims(const GraphNode *node)
{
    GridDims c = { .rank = node->rank };
    for (int kind = 0, n = 0; kind < 3; kind++)
        for (int k = 0; k < node->rank; k++)
            if (kind_of(node, k) == kind) {
                c.order[n++] = k;
                c.bins += kind == 0;
                c.few += kind == 1;
            }
    c.fused = c.bins == 1 && c.few == 1 && node_extent(node, c.order[1]) > 1;
    if (c.fused) {
        const int data = c.order[0];
        c.order[0]     = c.order[1];
        c.order[1]     = data;
    }
    return c;
}

/* The i-th dimension of planes, and of bins, in memory order. */
static int plane_dim(const GridDims *c, int i)
{
    return c->order[c->fused ? 0 : c->bins + i];
}
static int bin_dim(const GridDims *c, int i)
{
    return c->order[c->fused ? 1 : i];
}

static int first_cell_dim(const GridDims *c)
{
    return c->order[c->bins + c->few];
}

bool grid_applies(const Draft *d, int s)
{
    const GraphNode *node = &d->graph->nodes[s];
    const Func      *f    = node->func;
    bool             data = false;
    if (node->kind != NODE_SCATTER || node->is_output || f->update_count != 1)
        return false;
    if (d->choices[s].where != WHERE_ROOT || d->groups[d->choices[s].group].loop_count != 0)
        return false;
    const DefFacts *facts = &d->facts[s].defs[1];
    const Update   *u     = &f->updates[0];
    const GridDims  c     = grid_dims(node);
    for (int k = 0; k < c.bins; k++)
        data |= expr_reads(&d->graph->pipeline->exprs, u->args[bin_dim(&c, k)], NULL);
    if (u->rvar_count < 1 || u->rvar_count > MOST_RVARS)
        return false;
    return data && c.bins + c.few < c.rank && !facts->other_points && !facts->bounding;
}

void grid_choose(Draft *d, int s, const Machine *m)
{
    (void)m;
    if (grid_applies(d, s))
        d->patterns[s] = (Pattern){ .kind = PATTERN_GRID };
}

/* ---- What reads the grid ---------------------------------------------------------------- */

/* Vectors along the bins, or along bins and planes: as long as they fit. */
static int64_t lanes_along(const Draft *d, int s, const GridDims *c)
{
    const GraphNode *node   = &d->graph->nodes[s];
    const int64_t    extent = node_extent(node, c->order[0]) * (c->fused ? node_extent(node, c->order[1]) : 1);
    int64_t          lanes  = draft_lanes(d, s);
    while (lanes > LEAST_LANES && extent % lanes)
        lanes /= 2;
    return lanes;
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
        loops[count++] = (GroupLoop){ .dim = plane_dim(c, i), .step = 1 };
    for (int i = c->bins - 1; i >= 0; i--)
        loops[count++] =
            (GroupLoop){ .dim = bin_dim(c, i), .step = i ? 1 : lanes_along(d, s, c), .vector = !i, .fused = c->fused };
    return count;
}

static const MemberNest *grid_nest(const Draft *d, int s, const GridDims *c)
{
    MemberNest *n = ARENA_NEW(d->graph->arena, MemberNest);
    for (int i = c->rank - 1; i >= c->bins + c->few; i--)
        n->loops[n->count++] = (GroupLoop){ .dim = c->order[i], .step = 1 };
    n->count = add_inner(d, s, c, n->loops, n->count);
    return n;
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
        } else if (gr->loops[i].parallel && tasks < MOST_TASKS) {
            tasks *= node_extent(&d->graph->nodes[gr->head], gr->loops[i].dim) / gr->loops[i].step;
        }
        now[i] = count ? count - 1 : 0;
    }
    if (!count || count + c->bins + c->few > MOST_GROUP_LOOPS)
        return;
    loops[0].parallel |= !parallel;
    tasks         = tasks > MOST_TASKS ? MOST_TASKS : tasks;
    loops[0].step = tasks > 1 && loops[0].step > LEAST_STEP * tasks ? loops[0].step / tasks : loops[0].step;
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

void grid_choose_late(Draft *d, int s)
{
    if (d->patterns[s].kind != PATTERN_GRID || !grid_applies(d, s))
        return;
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

/* ---- The text --------------------------------------------------------------------------- */

static void print_order(Text *out, const char *what, const Func *f, const GridDims *c)
{
    text_printf(out, ".%s(", what);
    for (int i = 0; i < c->rank; i++)
        text_printf(out, "%s%s", f->args[c->order[i]], i + 1 < c->rank ? ", " : ")");
}

/* Does it compute the bin of a step? */
static bool computes_bin(const Draft *d, int p, int s, const GridDims *c)
{
    const Update *u     = &d->graph->nodes[s].func->updates[0];
    bool          reads = false;
    for (int i = 0; i < c->bins && !reads; i++)
        reads = expr_reads(&d->graph->pipeline->exprs, u->args[bin_dim(c, i)], d->graph->nodes[p].func);
    return reads;
}

static void print_update(Text *out, const GraphNode *node, const GridDims *c, const char *outer, const char *inner)
{
    const Func   *f = node->func;
    const Update *u = &f->updates[0];
    const int     x = first_cell_dim(c);
    text_printf(out, "%s.update(0).split(%s, %s, %s, %d).reorder(", f->name, f->args[x], outer, inner, CELLS);
    for (int i = 0; i < c->few; i++)
        text_printf(out, "%s, ", f->args[plane_dim(c, i)]);
    text_add(out, inner);
    for (int i = u->rvar_count - 1; i >= 0; i--)
        text_printf(out, ", %s", u->rvars[i].name);
    text_printf(out, ", %s", outer);
    for (int i = c->bins + c->few + 1; i < c->rank; i++)
        text_printf(out, ", %s", f->args[c->order[i]]);
    text_printf(out, ").unroll(%s)", inner);
    if (c->few && node_extent(node, plane_dim(c, 0)) > 1)
        text_printf(out, ".unroll(%s, %d)", f->args[plane_dim(c, 0)], (int)node_extent(node, plane_dim(c, 0)));
}

void grid_print(Text *out, const Draft *d, int s)
{
    const GraphNode *node  = &d->graph->nodes[s];
    const Func      *f     = node->func;
    const GridDims   c     = grid_dims(node);
    const int        last  = c.order[c.rank - 1];
    LoopNames        names = loop_names(out->arena, f, 0);
    const char      *outer = loop_name(&names, f->args[first_cell_dim(&c)], "o"),
               *inner      = loop_name(&names, f->args[first_cell_dim(&c)], "i");
    const char *row        = last == first_cell_dim(&c) ? outer : f->args[last];
    text_printf(out, "%s.compute_root()", f->name);
    print_order(out, "reorder_storage", f, &c);
    print_order(out, "reorder", f, &c);
    const char *along = c.fused ? loop_name(&names, f->args[c.order[0]], f->args[c.order[1]]) : f->args[c.order[0]];
    if (c.fused)
        text_printf(out, ".fuse(%s, %s, %s)", f->args[c.order[0]], f->args[c.order[1]], along);
    text_printf(out, ".vectorize(%s, %d).parallel(%s)\n", along, (int)lanes_along(d, s, &c), f->args[last]);
    print_update(out, node, &c, outer, inner);
    text_printf(out, ".parallel(%s)\n", row);
    for (int p = 0; p < d->graph->node_count; p++)
        if (d->choices[p].where == WHERE_INLINE && computes_bin(d, p, s, &c) && feeds_rows(d, p, s))
            text_printf(out, "%s.stage(%s).compute_at(%s.update(0), %s).vectorize(%s, %d)\n",
                        d->graph->nodes[p].func->name, f->name, f->name, row, d->graph->nodes[p].func->args[0],
                        draft_lanes(d, p));
}
