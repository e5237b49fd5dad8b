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
    if (node->kind != NODE_SCAN || !node->rank)
        return KERNEL_PLAIN;
    for (int k = 0; k < f->update_count; k++) {
        const DefFacts *of = &d->facts[s].defs[k + 1];
        if (of->other_points || !of->free || f->updates[k].rvar_count != 1 || of->bounding)
            return KERNEL_PLAIN;
    }
    return KERNEL_SCAN;
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
    for (size_t k = 0; k < d->facts[s].readers.count; k++) {
        const TextReader r = d->facts[s].readers.at[k];
        text_printf(out, "%s%s", k ? ", " : "", r.func->name);
        if (r.update >= 0)
            text_printf(out, ".update(%d)", r.update);
    }
    text_printf(out, ").compute_root().split(%s, %s, %s, 256).gpu_blocks(%s).gpu_threads(%s)\n", i, io, ii, io, ii);
    text_printf(out, "%s.compute_at(%s.stage, %s).gpu_threads(%s)\n", n, n, io, i);
    text_printf(out, "%s.update(0).unroll(%s, 16)\n", n, f->updates[0].rvars[0].name);
}

/* One definition of a scan: threads along the first free dimension, the others are blocks. */
static void print_scan_def(Text *out, const Func *f, int update, uint32_t free)
{
    LoopNames   names = loop_names(out->arena, f, update);
    const char *blocks[KN_MAX_RANK], *order[MOST_LOOP_NAMES], *thread = NULL;
    int         block_count = 0, count = 0;
    kernel_print_name(out, f, update);
    if (update < 0)
        text_add(out, ".compute_root()");
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
        order[count++] = loop_name(&names, j, "o");
        text_printf(out, ".split(%s, %s, %s, %d)", j, order[1], order[0], SCAN_COPIES);
    }
    block_count    = kernel_fuse_blocks(out, blocks, block_count);
    order[count++] = thread;
    for (int i = 0; i < block_count; i++)
        order[count++] = blocks[i];
    kernel_print_list(out, "reorder", order, count);
    kernel_print_list(out, "gpu_blocks", blocks, block_count);
    kernel_print_list(out, "gpu_threads", &thread, 1);
    if (update >= 0)
        text_printf(out, ".unroll(%s)", order[0]);
    text_add(out, "\n");
}

void kernel_pattern_print(Text *out, const Draft *d, int s)
{
    const GraphNode *node = &d->graph->nodes[s];
    switch (kernel_pattern_of(d, s)) {
    case KERNEL_PLAIN: break;
    case KERNEL_HISTOGRAM: print_histogram(out, node->func); break;
    case KERNEL_TABLE: print_table(out, d, s); break;
    case KERNEL_SCAN:
        for (int k = -1; k < node->func->update_count; k++)
            print_scan_def(out, node->func, k, k < 0 ? (1u << node->rank) - 1 : d->facts[s].defs[k + 1].free);
        break;
    }
}
