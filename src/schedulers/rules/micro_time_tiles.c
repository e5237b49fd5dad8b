/* SPDX-License-Identifier: MIT */
/* Time tiles: an update that reads earlier steps of itself, whose moments no cache holds, runs in diamonds over its
 * steps and its outermost argument (time_tile).
 *
 * Step by step, each step reads and writes a whole moment in memory. A diamond of size B takes B / slope steps of at
 * most B rows, so that a row crosses memory once for about B / 2 of its steps. Its rows of all live moments stay in the
 * second-level cache: that is what B is chosen by. Where rows are planes or lines too large for a large B, diamonds run
 * in pieces along the dimension inside. There must be tiles enough for all threads. */
#include "legal/time_distances.h"
#include "schedulers/graph/def_facts.h"
#include "schedulers/rules/micro_kernels.h"

/* Bytes of the components of one point. */
static double point_bytes(const Func *f)
{
    double bytes = 0;
    for (int c = 0; c < f->component_count; c++)
        bytes += (double)kn_type_size(f->types[c]);
    return bytes;
}

/* The next dimension before `dim`, not before `first`, that the update is free in; else -1. */
static int next_dim(const Update *u, int dim, int first)
{
    for (dim--; dim >= first; dim--)
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

/* The dimensions of a function of steps, in bytes. */
typedef struct Volume {
    double row, rows; /* of all live moments: a row of the tiled dimension, and how many there are */
    double moments;   /* that are live */
    double piece;     /* of all live moments: one coordinate of the dimension inside that; 0: there is none */
} Volume;

static Volume volume_of(const GraphNode *node, const TimeDistances *far, int inner)
{
    int64_t moments = 1;
    for (int i = 0; i < far->read_count; i++)
        moments = far->reads[i].back + 1 > moments ? far->reads[i].back + 1 : moments;
    Volume v = { .rows = (double)node_extent(node, far->dim), .moments = (double)moments };
    v.row    = point_bytes(node->func) * v.moments;
    for (int i = 0; i < far->dim; i++)
        v.row *= i == far->time_dim ? 1 : (double)node_extent(node, i);
    v.piece = inner < 0 ? 0 : v.row / (double)node_extent(node, inner);
    return v;
}

static int64_t multiple_of(int64_t of, double v, int64_t most)
{
    const int64_t multiple = (int64_t)v / of * of;
    return multiple > most ? most : multiple;
}

/* Rows that leave every thread some tiles. */
static bool has_tiles(const Machine *m, const Volume *v, int64_t size)
{
    return v->rows >= (double)(size * m->cores * TIME_TILES_A_THREAD);
}

/* The coordinates of a piece of a diamond of that size; 0: too few fit. A diamond has half as many rows as its size on
 * average, and those of a piece stay in the L2. Along vectors a piece is short enough, too, that the rows which a step
 * reads and writes stay in the L1 until the next row. */
static int64_t piece_of(const Machine *m, const GraphNode *node, const Volume *v, int inner, int64_t size)
{
    const double fit = machine_kept_l2(m) / v->piece / ((double)size / 2);
    if (inner > 0)
        return fit < TIME_LEAST_SIZE ? 0 : multiple_of(4, fit, TIME_MOST_SIZE);
    const double  in_l1 = (double)m->l1 / TIME_ROWS_OF_L1 / (v->piece / v->moments);
    const int64_t piece = multiple_of(TIME_LEAST_ROW, fit < in_l1 ? fit : in_l1, node_extent(node, inner));
    return node_extent(node, inner) < 2 * piece ? 0 : piece;
}

/* Sets the size of diamonds for update k of node s, and of their pieces. 0: step by step is as good. Diamonds are in
 * pieces where those of whole rows would be smaller. */
static void choose_sizes(const Draft *d, const Machine *m, int s, int k, int dim, Choice *c)
{
    const GraphNode *node  = &d->graph->nodes[s];
    const int        inner = next_dim(&node->func->updates[k], dim, 0);
    ExprPool        *pool  = &d->graph->pipeline->exprs;
    TimeDistances    far, across;
    if (d->facts[s].defs[k + 1].steps < TIME_LEAST_STEPS && d->facts[s].defs[k + 1].steps > 0)
        return;
    if (!time_distances(pool, node->func, k, dim, &far))
        return;
    const double  kept  = machine_kept_l2(m);
    const bool    cut   = inner >= 0 && time_distances(pool, node->func, k, inner, &across);
    const Volume  v     = volume_of(node, &far, cut ? inner : -1);
    const int64_t whole = multiple_of(4, kept / v.row, TIME_MOST_SIZE);
    c->time_slope       = slope_of(&far);
    if (v.row * v.rows <= kept)
        return;
    if (whole >= TIME_LEAST_SIZE && has_tiles(m, &v, whole))
        c->time_size = (int)whole;
    for (int64_t size = inner > 0 ? TIME_PIECED_SIZE : TIME_MOST_SIZE; cut && size > c->time_size;
         size -= TIME_LEAST_SIZE) {
        const int64_t piece = piece_of(m, node, &v, inner, size);
        if (!piece || !has_tiles(m, &v, size))
            continue;
        c->time_size  = (int)size;
        c->time_piece = (int)piece;
        return;
    }
}

bool time_tiles_applies(const Draft *d, const Machine *m, int s)
{
    (void)m;
    return d->choices[s].where == WHERE_ROOT && d->graph->nodes[s].func->kind == FUNC_DEFINED;
}

void time_tiles_apply(Draft *d, const Machine *m, int s)
{
    const GraphNode *node  = &d->graph->nodes[s];
    Choice           tiled = d->choices[s];
    tiled.time_size        = 0;
    for (int k = 0; k < node->func->update_count && !tiled.time_size; k++) {
        const Update *u   = &node->func->updates[k];
        const int     dim = d->facts[s].defs[k + 1].other_points ? next_dim(u, node->func->rank, 1) : -1;
        tiled.time_dim    = dim;
        tiled.time_update = k;
        if (dim >= 0)
            choose_sizes(d, m, s, k, dim, &tiled);
    }
    if (tiled.time_size)
        d->choices[s] = tiled;
}
