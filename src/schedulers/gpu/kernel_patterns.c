/* SPDX-License-Identifier: MIT */
/* Stages that have no point for each thread: histograms and scans, which tiles do not suit.
 *
 *     histogram   n(bin(u, v)) += 1: each block counts some rows in shared memory, by atomic additions, and adds its
 * table to the result. table       a scan of one dimension, as a cumulative histogram: one thread computes it, in
 * shared memory. scan        f(x, j) = a*f(x, j-1) + …: a thread for each point across the recursion, whose unrolled
 * steps read ahead of their stores.
 *
 * Others are left to the compiler's default kernels. */
#include "schedulers/gpu/kernels.h"
#include "schedulers/gpu/kernel_text.h"
#include "schedulers/draft/nest_text.h"
#include "schedulers/graph/constants.h"
#include "schedulers/graph/def_facts.h"

/* Do no bounds of its reduction variables depend on each other? */
static bool has_plain_bounds(const DefFacts *facts)
{
    return !facts->bounding && !facts->bounds_read;
}

/* Histograms side by side: a cell for each point of the first dimensions, over steps of its own, along a dimension that
 * data decide. */
static bool is_grid(const Draft *d, int s)
{
    const DefFacts *facts = &d->facts[s].defs[1];
    const Update   *u     = &d->graph->nodes[s].func->updates[0];
    return d->graph->nodes[s].rank > 2 && (facts->free & 3) == 3 && !facts->other_points && has_plain_bounds(facts) &&
           u->rvar_count > 0 && d->facts[s].readers.count;
}

KernelPattern kernel_pattern_of(const Draft *d, int s)
{
    const GraphNode *node = &d->graph->nodes[s];
    const Func      *f    = node->func;
    if (f->kind != FUNC_DEFINED || !f->update_count || f->component_count != 1)
        return KERNEL_PLAIN;
    const DefFacts *facts = &d->facts[s].defs[1];
    const bool      table = node->rank == 1 && f->update_count == 1 && !node->is_output &&
                       node_extent(node, 0) <= KERNEL_MOST_TABLE && !facts->free && has_plain_bounds(facts);
    if (node->kind == NODE_SCATTER && table && facts->combines && f->updates[0].rvar_count == 2 &&
        node->defs[1].steps >= PRIVATE_LEAST_STEPS)
        return KERNEL_HISTOGRAM;
    if (node->kind == NODE_SCAN && table && f->updates[0].rvar_count == 1 && node->out_count)
        return KERNEL_TABLE;
    if (node->kind == NODE_SCATTER && f->update_count == 1 && is_grid(d, s))
        return KERNEL_GRID;
    if (node->kind != NODE_SCAN || !node->rank)
        return KERNEL_PLAIN;
    for (int k = 0; k < f->update_count; k++) {
        const DefFacts *of = &d->facts[s].defs[k + 1];
        if (of->other_points || !of->free || f->updates[k].rvar_count != 1 || of->bounding)
            return KERNEL_PLAIN;
    }
    return KERNEL_SCAN;
}

/* Is this read of an update staged: its rows along the recursion, at the threads' own places across it? */
static bool is_staged_row(const Draft *d, const Edge *e)
{
    const GraphNode *from = &d->graph->nodes[e->producer];
    bool             own  = from->rank == d->graph->nodes[e->consumer].rank && e->access[0].var < 0 && !e->gathers &&
               d->choices[e->producer].where == WHERE_ROOT;
    for (int i = 1; own && i < from->rank; i++)
        own = access_is_identity(&e->access[i], i);
    return own;
}

/* Lanes of a warp are rows of a scan along the first dimension: each would read a line of its own. Stored transposed,
 * its rows are side by side; what its first step reads, and what reads it, goes through shared memory. */
bool kernel_is_turned(const KernelDraft *k, int s)
{
    const GraphNode *node = &k->d.graph->nodes[s];
    if (!k->patterns || !k->left[s] || node->is_output || node->rank < 2 || !node->out_count ||
        kernel_pattern_of(&k->d, s) != KERNEL_SCAN)
        return false;
    for (int u = 0; u < node->func->update_count; u++)
        if (k->d.facts[s].defs[u + 1].free != ((1u << node->rank) - 2))
            return false;
    for (int i = 0; i < node->out_count; i++) {
        const Edge      *e  = node->out[i];
        const GraphNode *to = &k->d.graph->nodes[e->consumer];
        if (!e->pointwise || to->rank != node->rank || to->def_count > 1 || k->left[e->consumer] ||
            k->d.choices[e->consumer].where != WHERE_ROOT)
            return false;
    }
    return node_extent(node, 0) >= TURNED_TILE && node_extent(node, 1) >= TURNED_TILE;
}

/* The copy of a transposed scan that a block of its reader has in shared memory. */
void kernel_print_turned(Text *out, const Func *f, const Func *reader, const char *block)
{
    const char *order[KN_MAX_RANK];
    for (int d = 0; d < f->rank; d++)
        order[d] = f->args[d < 2 ? 1 - d : d];
    text_printf(out, "%s.stage(%s).compute_at(%s, %s)", f->name, reader->name, reader->name, block);
    kernel_print_list(out, "reorder_storage", order, f->rank);
    text_printf(out, ".align_storage(%s, %d)", order[0], TURNED_TILE + 1);
    kernel_print_list(out, "reorder", order, f->rank);
    kernel_print_list(out, "gpu_threads", order, 2);
    text_add(out, "\n");
}

static void print_histogram(Text *out, const Func *f)
{
    const char *n = f->name, *i = f->args[0], *v = f->updates[0].rvars[0].name, *u = f->updates[0].rvars[1].name;
    LoopNames   names = loop_names(out->arena, f, 0);
    const char *io = loop_name(&names, i, "o"), *ii = loop_name(&names, i, "i"), *vo = loop_name(&names, v, "o"),
               *vi = loop_name(&names, v, "i"), *z = loop_name(&names, v, "z"), *ve = loop_name(&names, v, "e"),
               *vt = loop_name(&names, v, "t"), *uo = loop_name(&names, u, "o"), *ui = loop_name(&names, u, "i"),
               *ut = loop_name(&names, u, "t"), *ue = loop_name(&names, u, "e");
    text_printf(out, "%s.compute_root().split(%s, %s, %s, 256).gpu_blocks(%s).gpu_threads(%s)\n", n, i, io, ii, io, ii);
    text_printf(out, "%s.update(0).split(%s, %s, %s, 16).rfactor(%s, %s)\n", n, v, vo, vi, vo, z);
    text_printf(out, "%s.update(0).reorder(%s, %s).gpu_blocks(%s).gpu_threads(%s).atomic()\n", n, i, vo, vo, i);
    text_printf(out, "%s.rfactor.compute_at(%s.update(0), %s).gpu_threads(%s)\n", n, n, vo, i);
    text_printf(out, "%s.rfactor.update(0).split(%s, %s, %s, 8).split(%s, %s, %s, 512).split(%s, %s, %s, 16)", n, vi,
                ve, vt, u, uo, ui, ui, ut, ue);
    text_printf(out, ".reorder(%s, %s, %s, %s, %s).gpu_threads(%s, %s).unroll(%s).atomic()\n", ue, uo, ve, ut, vt, ut,
                vt, ue);
}

static void print_table(Text *out, const Draft *d, int s)
{
    const Func *f = d->graph->nodes[s].func;
    const char *n = f->name, *i = f->args[0];
    LoopNames   names = loop_names(out->arena, f, 0);
    const char *io = loop_name(&names, i, "o"), *ii = loop_name(&names, i, "i");
    text_printf(out, "%s.stage(", n);
    kernel_print_readers(out, d, s);
    text_printf(out, ").compute_root().split(%s, %s, %s, 256).gpu_blocks(%s).gpu_threads(%s)\n", i, io, ii, io, ii);
    text_printf(out, "%s.compute_at(%s.stage, %s).gpu_threads(%s)\n", n, n, io, i);
    text_printf(out, "%s.update(0).unroll(%s, 16)\n", n, f->updates[0].rvars[0].name);
}

/* What an update of a transposed scan reads: some of its steps at a time in shared memory, while all threads of the
 * block load the next ones. `name`: the loop over these. Without `stages` the directives of the update alone. */
static void print_staged_rows(Text *out, const Draft *d, int s, int update, const char *name, bool stages)
{
    const GraphNode *node = &d->graph->nodes[s];
    bool             any  = false;
    for (int i = 0; i < node->in_count; i++) {
        const Edge *e = node->in[i];
        const Func *f = d->graph->nodes[e->producer].func;
        if (e->update != update || !is_staged_row(d, e))
            continue;
        if (stages) {
            text_printf(out, "%s.stage(%s.update(%d)).compute_at(%s.update(%d), %s).align_storage(%s, %d)", f->name,
                        node->func->name, update, node->func->name, update, name, f->args[0], 2 * WARP_SIZE + 1);
            kernel_print_list(out, "gpu_threads", (const char *const *)f->args, 2);
            text_add(out, "\n");
        } else {
            text_printf(out, ".prefetch(%s, %s, 1)", f->name, name);
        }
        any = true;
    }
    if (any && !stages)
        text_printf(out, ".launch_bounds(%d)", TURNED_THREADS);
}

static bool has_staged_rows(const Draft *d, int s, int update)
{
    const GraphNode *node = &d->graph->nodes[s];
    for (int i = 0; i < node->in_count; i++)
        if (node->in[i]->update == update && is_staged_row(d, node->in[i]))
            return true;
    return false;
}

/* One definition of a scan: threads along the first free dimension, the others are blocks. */
static void print_scan_def(Text *out, const KernelDraft *k, int s, int update)
{
    const Draft   *draft  = &k->d;
    const Func    *f      = draft->graph->nodes[s].func;
    const bool     turned = kernel_is_turned(k, s);
    const bool     staged = turned && update >= 0 && has_staged_rows(draft, s, update);
    const uint32_t free =
        update >= 0 ? draft->facts[s].defs[update + 1].free : ((1u << f->rank) - 1) & (turned ? ~1u : ~0u);
    LoopNames   names = loop_names(out->arena, f, update);
    const char *blocks[KN_MAX_RANK], *order[MOST_LOOP_NAMES], *thread = NULL, *steps = NULL;
    int         block_count = 0, count = 0;
    kernel_print_name(out, f, update);
    if (update < 0)
        text_add(out, ".compute_root()");
    if (update < 0 && turned) {
        const char *storage[KN_MAX_RANK];
        for (int d = 0; d < f->rank; d++)
            storage[d] = f->args[d < 2 ? 1 - d : d];
        kernel_print_list(out, "reorder_storage", storage, f->rank);
        order[count++] = f->args[0];
    }
    for (int d = 0; d < f->rank; d++) {
        const char *v = f->args[d];
        if (!(free >> d & 1))
            continue;
        if (thread) {
            blocks[block_count++] = v;
            continue;
        }
        blocks[block_count++] = loop_name(&names, v, "o");
        thread                = loop_name(&names, v, "i");
        text_printf(out, ".split(%s, %s, %s, %d)", v, blocks[0], thread, WARP_SIZE);
    }
    if (update >= 0) {
        const char *j  = f->updates[update].rvars[0].name;
        order[count++] = loop_name(&names, j, "i");
        steps          = loop_name(&names, j, "o");
        if (!staged)
            order[count++] = steps;
        text_printf(out, ".split(%s, %s, %s, %d)", j, steps, order[0], staged ? 2 * WARP_SIZE : SCAN_COPIES);
    }
    block_count    = kernel_fuse_blocks(out, blocks, block_count);
    order[count++] = thread;
    if (staged)
        order[count++] = steps;
    for (int i = 0; i < block_count; i++)
        order[count++] = blocks[i];
    kernel_print_list(out, "reorder", order, count);
    kernel_print_list(out, "gpu_blocks", blocks, block_count);
    kernel_print_list(out, "gpu_threads", &thread, 1);
    if (update >= 0)
        text_printf(out, ".unroll(%s)", order[0]);
    if (staged)
        print_staged_rows(out, draft, s, update, steps, false);
    text_add(out, "\n");
    if (staged)
        print_staged_rows(out, draft, s, update, steps, true);
}

void kernel_pattern_print(Text *out, const KernelDraft *k, int s)
{
    const Draft     *d    = &k->d;
    const GraphNode *node = &d->graph->nodes[s];
    if (k->cells[s])
        kernel_print_cells(out, k, s);
    switch (kernel_pattern_of(d, s)) {
    case KERNEL_PLAIN: break;
    case KERNEL_HISTOGRAM: print_histogram(out, node->func); break;
    case KERNEL_TABLE: print_table(out, d, s); break;
    case KERNEL_GRID: kernel_print_grid(out, k, s); break;
    case KERNEL_SCAN:
        for (int u = -1; u < node->func->update_count; u++)
            print_scan_def(out, k, s, u);
        break;
    }
}
