/* SPDX-License-Identifier: MIT */
/* Grids of histograms: a cell for each point of the first dimensions, whose steps add to places that data decide, as
 * the grid of a bilateral filter.
 *
 *     g(x, y, bin(8*x + i, 8*y + j), c) += …  for j in 0..8, i in 0..8
 *
 * In memory         a thread for each cell, its planes side by side, which share what they read. A step loads and
 *                   stores an element of each plane, in a sector of its own.
 * In shared memory  the one stage that reads the grid is a kernel, and a block has the histograms of its cells. Steps
 *                   that add outside of them are skipped, so a block may have a part of the bins: the memory has a
 *                   constant size, however many bins there are. Blocks of other bins take the same steps again.
 *
 * Either way a row of the steps of a cell is read, and its bins computed, before the first of them is added. */
#include "schedulers/gpu/kernels.h"
#include "schedulers/gpu/kernel_text.h"
#include "schedulers/draft/nest_text.h"
#include "schedulers/graph/constants.h"
#include "schedulers/graph/def_facts.h"

#include <math.h>

/* What a row of steps reads is in registers, where its places follow from the cell and the step by constants. */
static void print_grid_rows(Text *out, const Draft *d, int s, int64_t wide)
{
    const GraphNode *node = &d->graph->nodes[s];
    const Func      *f    = node->func;
    const Update    *u    = &f->updates[0];
    for (int i = 0; i < node->in_count; i++) {
        const Edge      *e    = node->in[i];
        const GraphNode *from = &d->graph->nodes[e->producer];
        int              dim = -1, moved = 0;
        if (e->update < 0 || from->kind != NODE_PURE || e->gathers || d->choices[e->producer].where != WHERE_INLINE)
            continue;
        for (int k = 0; k < from->rank; k++)
            if (def_movers(d->graph->pipeline, f, 0, from->func, k) >> (KN_MAX_RANK + u->rvar_count - 1) & 1) {
                dim = k;
                moved++;
            }
        if (moved != 1 || e->accesses != 1)
            continue;
        text_printf(out, "%s.stage(%s.update(0)).compute_at(%s.update(0), %s).store_in(register).unroll(%s, %lld)\n",
                    from->func->name, f->name, f->name, u->rvars[u->rvar_count - 2].name, from->func->args[dim],
                    (long long)wide);
    }
}

/* Dimensions beyond the cells that the update does not scatter along: a thread has few of them in copies. */
static int planes_of(const Draft *d, int s)
{
    const GraphNode *node = &d->graph->nodes[s];
    for (int i = 2; i < node->rank; i++)
        if (d->facts[s].defs[1].free >> i & 1 && node_extent(node, i) <= KERNEL_FEW_PLANES)
            return i;
    return -1;
}

/* The steps of a row, if a thread has them in copies; else 0. */
static int64_t row_of(const Update *u)
{
    const int64_t wide = rvar_steps(&u->rvars[u->rvar_count - 1]);
    return wide > 1 && wide <= GRID_MOST_ROW ? wide : 0;
}

void kernel_print_grid(Text *out, const KernelDraft *k, int s)
{
    const Draft     *d    = &k->d;
    const GraphNode *node = &d->graph->nodes[s];
    const Func      *f    = node->func;
    const Update    *u    = &f->updates[0];
    const int64_t    wide = row_of(u);
    if (node->out_count && k->cells[node->out[0]->consumer] == s + 1)
        return;
    for (int def = -1; def < 1; def++) {
        LoopNames   names = loop_names(out->arena, f, def);
        const char *xo = loop_name(&names, f->args[0], "o"), *xi = loop_name(&names, f->args[0], "i"),
                   *yo = loop_name(&names, f->args[1], "o"), *yi = loop_name(&names, f->args[1], "i");
        const char *order[MOST_LOOP_NAMES], *blocks[KN_MAX_RANK] = { xo, yo };
        const int   planes = def < 0 ? -1 : planes_of(d, s);
        int         count = 0, block_count = 2;
        kernel_print_name(out, f, def);
        text_printf(out, "%s.split(%s, %s, %s, %d).split(%s, %s, %s, %d)", def < 0 ? ".compute_root()" : "", f->args[0],
                    xo, xi, WARP_SIZE, f->args[1], yo, yi, GRID_ROWS);
        for (int i = 2; i < f->rank; i++)
            if (i != planes && (def < 0 || d->facts[s].defs[1].free >> i & 1))
                blocks[block_count++] = f->args[i];
        if (planes >= 0)
            order[count++] = f->args[planes];
        for (int i = def < 0 ? 0 : u->rvar_count; i-- > 0;)
            order[count++] = u->rvars[i].name;
        block_count    = kernel_fuse_blocks(out, blocks, block_count);
        order[count++] = xi;
        order[count++] = yi;
        for (int i = 0; i < block_count; i++)
            order[count++] = blocks[i];
        kernel_print_list(out, "reorder", order, count);
        kernel_print_list(out, "gpu_blocks", blocks, block_count);
        text_printf(out, ".gpu_threads(%s, %s)", xi, yi);
        if (planes >= 0)
            text_printf(out, ".unroll(%s, %lld)", f->args[planes], (long long)node_extent(node, planes));
        if (def >= 0 && wide)
            text_printf(out, ".unroll(%s)", u->rvars[u->rvar_count - 1].name);
        text_add(out, "\n");
    }
    if (wide && u->rvar_count > 1)
        print_grid_rows(out, d, s, wide);
}

/* ---- In shared memory -------------------------------------------------------------------- */

/* The blocks of the stage that reads a grid. */
typedef struct Cells {
    int     bins;              /* the dimension along which data decide */
    int64_t tile[KN_MAX_RANK]; /* points of the reader */
    int64_t more[KN_MAX_RANK]; /* of the grid beyond those */
    int64_t bytes;             /* of shared memory */
    double  again;             /* times that each step is taken, by blocks that overlap or have other bins */
} Cells;

/* The edge of the one stage that reads the grid, around its own points; NULL: there is none, or others read it. */
static const Edge *reading_edge(const Draft *d, int s)
{
    const GraphNode *node = &d->graph->nodes[s];
    const Edge      *e    = node->out_count == 1 ? node->out[0] : NULL;
    const GraphNode *to   = e ? &d->graph->nodes[e->consumer] : NULL;
    if (!e || d->facts[s].readers.count != 1 || to->kind != NODE_PURE || to->rank != node->rank ||
        to->func->component_count != 1)
        return NULL;
    for (int i = 0; i < node->rank; i++)
        if (!access_is_shift(&e->access[i], i) || !e->access[i].exact || access_is_clamped(&e->access[i]))
            return NULL;
    return e;
}

/* The tile of the reader: a thread for each cell, and its bins and planes whole, or as many bins as there is room for.
 */
static bool find_cells(const KernelDraft *k, int s, Cells *c)
{
    const Draft     *d    = &k->d;
    const GraphNode *node = &d->graph->nodes[s];
    const Edge      *e    = reading_edge(d, s);
    *c                    = (Cells){ .bins = -1, .again = 1 };
    if (!e)
        return false;
    const GraphNode *reader = &d->graph->nodes[e->consumer];
    for (int i = 0; i < node->rank; i++) {
        const bool free = d->facts[s].defs[1].free >> i & 1;
        if ((!free && c->bins >= 0) || (free && i > 1 && node_extent(node, i) > KERNEL_FEW_PLANES))
            return false;
        c->bins    = free ? c->bins : i;
        c->tile[i] = i == 0 ? CELLS_WIDE : i == 1 ? CELLS_HIGH : node_extent(reader, i);
        c->more[i] = e->access[i].hi - e->access[i].lo;
    }
    for (int64_t parts = 1;; parts++) {
        const int64_t all = node_extent(reader, c->bins);
        c->tile[c->bins]  = (all + parts - 1) / parts;
        c->bytes          = node->bytes;
        for (int i = 0; i < node->rank; i++)
            c->bytes *= c->tile[i] + c->more[i];
        if (c->tile[c->bins] > CELLS_MOST_BINS || c->bytes > k->device->block_shared / CELLS_BLOCKS) {
            if (c->tile[c->bins] <= 1)
                return false;
            continue;
        }
        c->again = (double)((all + c->tile[c->bins] - 1) / c->tile[c->bins]);
        break;
    }
    for (int i = 0; i < 2; i++)
        c->again *= (double)(c->tile[i] + c->more[i]) / (double)c->tile[i];
    return true;
}

int kernel_grid_reader(const KernelDraft *k, int s)
{
    Cells c;
    if (kernel_pattern_of(&k->d, s) != KERNEL_GRID || !find_cells(k, s, &c) ||
        kernel_grid_ns(k, s, true) >= KERNEL_GAIN * kernel_grid_ns(k, s, false))
        return -1;
    return k->d.graph->nodes[s].out[0]->consumer;
}

/* The points of a box along the dimensions of its cells and planes. */
static double free_points(const Draft *d, int s)
{
    const GraphNode *node   = &d->graph->nodes[s];
    double           points = 1;
    for (int i = 0; i < node->rank; i++)
        points *= d->facts[s].defs[1].free >> i & 1 ? (double)node_extent(node, i) : 1;
    return points;
}

/* Steps take instructions, and in memory a sector is loaded and stored for each. There the grid is stored and read
 * once more, by a kernel of its own. */
double kernel_grid_ns(const KernelDraft *k, int s, bool shared)
{
    const GraphNode *node   = &k->d.graph->nodes[s];
    const Device    *device = k->device;
    const double     steps = free_points(&k->d, s) * node->defs[1].steps, lanes = (double)device->sms * device->lanes;
    const double     issue = steps * (node->defs[1].lane_ops + node->defs[1].loads + 2) / (device->clock * lanes);
    Cells            c;
    if (shared && find_cells(k, s, &c))
        return issue * c.again + device->launch;
    const double whole = (double)box_points(&node->box, node->rank) * (double)node->bytes;
    return fmax(issue, 2 * (steps * SECTOR_BYTES + whole) / device->l2_rate) + 2 * device->launch;
}

/* The kernel of the grid's reader: a thread for each cell, whose bins and planes are copies. Gives its innermost loop
 * over blocks. */
static const char *print_reader(Text *out, const GraphNode *reader, const Cells *c)
{
    const Func *f     = reader->func;
    LoopNames   names = loop_names(out->arena, f, -1);
    const char *order[MOST_LOOP_NAMES], *blocks[KN_MAX_RANK], *inner[KN_MAX_RANK];
    int         count = 0;
    text_printf(out, reader->is_output ? "%s" : "%s.compute_root()", f->name);
    for (int i = 0; i < f->rank; i++) {
        blocks[i] = loop_name(&names, f->args[i], "o");
        inner[i]  = loop_name(&names, f->args[i], "i");
        text_printf(out, ".split(%s, %s, %s, %lld)", f->args[i], blocks[i], inner[i], (long long)c->tile[i]);
    }
    const int block_count = kernel_fuse_blocks(out, blocks, f->rank);
    order[count++]        = inner[c->bins];
    for (int i = 2; i < f->rank; i++)
        if (i != c->bins)
            order[count++] = inner[i];
    for (int i = 0; i < 2; i++)
        order[count++] = inner[i];
    for (int i = 0; i < block_count; i++)
        order[count++] = blocks[i];
    kernel_print_list(out, "reorder", order, count);
    kernel_print_list(out, "gpu_blocks", blocks, block_count);
    kernel_print_list(out, "gpu_threads", inner, 2);
    for (int i = 2; i < f->rank; i++)
        text_printf(out, ".unroll(%s)", inner[i]);
    text_add(out, "\n");
    return blocks[0];
}

void kernel_print_cells(Text *out, const KernelDraft *k, int reader)
{
    const Draft  *d = &k->d;
    const int     s = k->cells[reader] - 1, planes = planes_of(d, s);
    const Func   *g    = d->graph->nodes[s].func;
    const Update *u    = &g->updates[0];
    const int64_t wide = row_of(u);
    Cells         c;
    find_cells(k, s, &c);
    const char *block = print_reader(out, &d->graph->nodes[reader], &c);
    for (int def = -1; def < 1; def++) {
        const char *order[MOST_LOOP_NAMES];
        int         count = 0;
        kernel_print_name(out, g, def);
        if (def < 0)
            text_printf(out, ".compute_at(%s, %s)", d->graph->nodes[reader].func->name, block);
        if (planes >= 0)
            order[count++] = g->args[planes];
        for (int i = def < 0 ? 0 : u->rvar_count; i-- > 0;)
            order[count++] = u->rvars[i].name;
        for (int i = 0; i < g->rank; i++)
            if (i != planes && (def < 0 || d->facts[s].defs[1].free >> i & 1))
                order[count++] = g->args[i];
        kernel_print_list(out, "reorder", order, count);
        kernel_print_list(out, "gpu_threads", (const char *const *)g->args, 2);
        if (planes >= 0)
            text_printf(out, ".unroll(%s, %lld)", g->args[planes], (long long)node_extent(&d->graph->nodes[s], planes));
        if (def >= 0 && wide)
            text_printf(out, ".unroll(%s)", u->rvars[u->rvar_count - 1].name);
        text_add(out, "\n");
    }
    if (wide && u->rvar_count > 1)
        print_grid_rows(out, d, s, wide);
}
