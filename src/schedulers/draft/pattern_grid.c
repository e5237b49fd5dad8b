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
 * cells at a time. */
#include "schedulers/draft/pattern_forms.h"

enum { MOST_RVARS = 8 };

/* 0: bins, chosen by data; 1: a few planes; 2: cells. */
static int kind_of(const GraphNode *node, int dim)
{
    return !node->func->updates[0].is_free[dim] ? 0 : node_extent(node, dim) <= GRID_FEW_PLANES ? 1 : 2;
}

/* The dimensions of a scatter with one update. */
GridDims grid_dims(const GraphNode *node)
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
int grid_plane_dim(const GridDims *c, int i)
{
    return c->order[c->fused ? 0 : c->bins + i];
}
int grid_bin_dim(const GridDims *c, int i)
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
        data |= expr_reads(&d->graph->pipeline->exprs, u->args[grid_bin_dim(&c, k)], NULL);
    if (u->rvar_count < 1 || u->rvar_count > MOST_RVARS)
        return false;
    return data && c.bins + c.few < c.rank && !facts->other_points && !facts->bounding;
}

/* Vectors along the bins, or along bins and planes: as long as they fit. */
int64_t grid_lanes(const Draft *d, int s, const GridDims *c)
{
    const GraphNode *node   = &d->graph->nodes[s];
    const int64_t    extent = node_extent(node, c->order[0]) * (c->fused ? node_extent(node, c->order[1]) : 1);
    int64_t          lanes  = draft_lanes(d, s);
    while (lanes > GRID_LEAST_LANES && extent % lanes)
        lanes /= 2;
    return lanes;
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
        reads = expr_reads(&d->graph->pipeline->exprs, u->args[grid_bin_dim(c, i)], d->graph->nodes[p].func);
    return reads;
}

static void print_update(Text *out, const GraphNode *node, const GridDims *c, const char *outer, const char *inner)
{
    const Func   *f = node->func;
    const Update *u = &f->updates[0];
    const int     x = first_cell_dim(c);
    text_printf(out, "%s.update(0).split(%s, %s, %s, %d).reorder(", f->name, f->args[x], outer, inner, GRID_CELLS);
    for (int i = 0; i < c->few; i++)
        text_printf(out, "%s, ", f->args[grid_plane_dim(c, i)]);
    text_add(out, inner);
    for (int i = u->rvar_count - 1; i >= 0; i--)
        text_printf(out, ", %s", u->rvars[i].name);
    text_printf(out, ", %s", outer);
    for (int i = c->bins + c->few + 1; i < c->rank; i++)
        text_printf(out, ", %s", f->args[c->order[i]]);
    text_printf(out, ").unroll(%s)", inner);
    if (c->few && node_extent(node, grid_plane_dim(c, 0)) > 1)
        text_printf(out, ".unroll(%s, %d)", f->args[grid_plane_dim(c, 0)],
                    (int)node_extent(node, grid_plane_dim(c, 0)));
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
    text_printf(out, ".vectorize(%s, %d).parallel(%s)\n", along, (int)grid_lanes(d, s, &c), f->args[last]);
    print_update(out, node, &c, outer, inner);
    text_printf(out, ".parallel(%s)\n", row);
    for (int p = 0; p < d->graph->node_count; p++)
        if (d->choices[p].where == WHERE_INLINE && computes_bin(d, p, s, &c) && feeds_rows(d, p, s))
            text_printf(out, "%s.stage(%s).compute_at(%s.update(0), %s).vectorize(%s, %d)\n",
                        d->graph->nodes[p].func->name, f->name, f->name, row, d->graph->nodes[p].func->args[0],
                        draft_lanes(d, p));
}
