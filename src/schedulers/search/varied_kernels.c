/* SPDX-License-Identifier: MIT */
/* Kernels of many kinds, to compare predictions with: the drafts of varied.c for a device.
 *
 * Takes   a number: a row of a table that says which parts of `gpu` are left out, and the threads of a block and the
 *         points of a thread.
 * Gives   the draft of `gpu` without these parts, with blocks of that shape wherever it is valid.
 * Why     Kendall's tau of predicted and measured times needs schedules of one program that differ (Sioutas et al.
 * 2020, Figure 6, has three of them: without fusion, with overlapping tiles, with nested fusion). */
#include "schedulers/search/schedulers.h"

typedef struct KernelVariant {
    bool    no_fusion, no_nesting, no_places, no_inlining;
    int64_t threads[2], each[2]; /* along the first and the second dimension that threads share */
} KernelVariant;

static const KernelVariant variants[] = {
    { false, false, false, false, { 32, 8 }, { 1, 1 } },  { true, true, true, true, { 32, 8 }, { 1, 1 } },
    { true, false, false, false, { 32, 4 }, { 1, 4 } },   { false, false, true, false, { 64, 4 }, { 2, 2 } },
    { false, false, false, false, { 16, 16 }, { 1, 1 } }, { false, true, true, false, { 128, 1 }, { 1, 8 } },
    { false, false, true, true, { 32, 16 }, { 1, 2 } },   { false, false, false, false, { 8, 8 }, { 4, 4 } },
    { true, false, true, false, { 256, 1 }, { 1, 1 } },   { false, false, false, false, { 32, 2 }, { 2, 8 } },
};
enum { VARIANTS = sizeof variants / sizeof *variants };

/* The shape with the variant's threads and points along the dimensions that the threads of `now` share. */
static KernelShape shape_of(const KernelVariant *v, const KernelShape *now, int rank)
{
    KernelShape shape = *now;
    int         place = 0;
    for (int d = 0; d < rank; d++) {
        if (now->tile[d] == now->each[d] || place == 2)
            continue;
        shape.each[d] = v->each[place];
        shape.tile[d] = v->each[place] * v->threads[place];
        place++;
    }
    return shape;
}

KernelDraft scheduler_varied_kernels(const Graph *g, const Machine *m, const SchedulerOptions *options, Arena *arena)
{
    const KernelVariant *v    = &variants[options->number >= 0 ? options->number % VARIANTS : 0];
    SchedulerOptions     less = *options;
    less.no_fusion |= v->no_fusion;
    less.no_nesting |= v->no_nesting;
    less.no_places |= v->no_places;
    less.no_inlining |= v->no_inlining;
    KernelDraft k     = scheduler_gpu(g, m, &less, arena);
    KernelSpace space = kernel_space(&k, options->plain_cost, arena);
    for (int i = 0; i < k.d.group_count; i++) {
        const int head = k.d.groups[i].head;
        if (k.left[head] || k.kernels[i].staged)
            continue;
        const KernelShape shape = shape_of(v, &k.kernels[i].shape, g->nodes[head].rank);
        KernelCost        cost;
        kernel_space_begin(&space, head);
        kernel_evaluate(&space, &shape, &cost);
        if (cost.fault == KERNEL_VALID) {
            k.kernels[i].shape = shape;
            k.kernels[i].cost  = cost;
        }
    }
    return k;
}
