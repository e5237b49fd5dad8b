/* SPDX-License-Identifier: MIT */
/* Time tiles: an update that reads earlier steps of itself, whose moments no cache holds, runs in diamonds over its
 * steps and its outermost argument (time_tile).
 *
 * Step by step, each step reads and writes a whole moment in memory. A diamond of size B takes B / slope steps of at
 * most B rows, so that a row crosses memory once for about B / 2 of its steps. Its rows of all live moments stay in the
 * second-level cache: that is what B is chosen by. There must be tiles enough for all threads. */
#include "legal/time_distances.h"
#include "schedulers/def_facts.h"
#include "schedulers/micro_kernels.h"

enum { LEAST_STEPS = 4, LEAST_SIZE = 8, MOST_SIZE = 64, TILES_A_THREAD = 2 };

/* Bytes of the components of one point. */
static double point_bytes(const Func *f)
{
    double bytes = 0;
    for (int c = 0; c < f->component_count; c++)
        bytes += (double)kn_type_size(f->types[c]);
    return bytes;
}

/* The outermost argument that the update is free in, if there is one inside it for vectors; else -1. */
static int tiled_dim(const Func *f, const Update *u)
{
    for (int dim = f->rank - 1; dim >= 1; dim--)
        if (u->is_free[dim])
            return dim;
    return -1;
}

/* As lower/loops/time_tiles.c will find it, or less where storage is folded tightly. */
static int slope_of(const TimeDistances *far)
{
    int64_t slope = 1;
    for (int i = 0; i < far->read_count; i++) {
        const int64_t need = (far->reads[i].reach + far->reads[i].back - 1) / far->reads[i].back;
        slope              = need > slope ? need : slope;
    }
    return (int)slope;
}

/* The size of a diamond for update k of node s; 0: step by step is as good. */
static int time_size(const Draft *d, const Machine *m, int s, int k, int dim, int *slope)
{
    const GraphNode *node = &d->graph->nodes[s];
    const Func      *f    = node->func;
    TimeDistances    far;
    if (d->facts[s].defs[k + 1].steps < LEAST_STEPS && d->facts[s].defs[k + 1].steps > 0)
        return 0;
    if (!time_distances(&d->graph->pipeline->exprs, f, k, dim, &far))
        return 0;
    *slope          = slope_of(&far);
    int64_t moments = 1;
    for (int i = 0; i < far.read_count; i++)
        moments = far.reads[i].back + 1 > moments ? far.reads[i].back + 1 : moments;
    double row = point_bytes(f) * (double)moments; /* of all live moments */
    for (int i = 0; i < dim; i++)
        row *= i == far.time_dim ? 1 : (double)node_extent(node, i);
    const double rows = (double)node_extent(node, dim);
    if (row * rows <= machine_kept_l2(m))
        return 0;
    int64_t size = (int64_t)(machine_kept_l2(m) / row) / 4 * 4;
    size         = size > MOST_SIZE ? MOST_SIZE : size;
    return size < LEAST_SIZE || rows < (double)(size * m->cores * TILES_A_THREAD) ? 0 : (int)size;
}

void choose_time_tiles(Draft *d, const Machine *m)
{
    for (int s = 0; s < d->graph->node_count; s++) {
        const GraphNode *node = &d->graph->nodes[s];
        Choice          *c    = &d->choices[s];
        c->time_size          = 0;
        if (c->where != WHERE_ROOT || node->func->kind != FUNC_DEFINED)
            continue;
        for (int k = 0; k < node->func->update_count && !c->time_size; k++) {
            const int dim  = d->facts[s].defs[k + 1].other_points ? tiled_dim(node->func, &node->func->updates[k]) : -1;
            c->time_size   = dim < 0 ? 0 : time_size(d, m, s, k, dim, &c->time_slope);
            c->time_dim    = dim;
            c->time_update = k;
        }
    }
}
