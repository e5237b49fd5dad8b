/* SPDX-License-Identifier: MIT */
/* Random kernels: edits of what the scheduler for devices makes, one after the other. Each has to leave kernels that
 * the compiler obeys. */
#include "random_kernels.h"

#include "api/schedule.h"
#include "schedulers/tune/kernel_edits.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_EDITS = 10, MOST_MOVES = 4096 };

typedef struct Drawing {
    Choices     *c;
    kn_pipeline *p;
    char        *text;
} Drawing;

static KernelDraft begin(Choices *c, const Graph *g, Arena *arena)
{
    const SchedulerOptions options = { .budget      = 1,
                                       .no_fusion   = choose(c, 4) == 0,
                                       .no_nesting  = choose(c, 4) == 0,
                                       .no_places   = choose(c, 2) == 0,
                                       .no_patterns = choose(c, 4) == 0,
                                       .no_tables   = choose(c, 4) == 0,
                                       .no_products = true,
                                       .no_inlining = choose(c, 4) == 0 };
    Machine                m       = machine_usual();
    schedule_fit_device(DEVICE_OPENCL, &m);
    return scheduler_gpu(g, &m, &options, arena);
}

/* Points of the threads of stages, should these be in shared memory. */
static void draw_points(Choices *c, const Graph *g, KernelDraft *k)
{
    static const int64_t points[] = { 1, 2, 3, 4, 8 };
    for (int s = 0; s < g->node_count; s++)
        for (int d = 0; d < g->nodes[s].rank; d++)
            k->each[s][d] = points[choose(c, sizeof points / sizeof *points)];
}

static void draw(void *arg)
{
    Drawing      *w       = arg;
    Arena        *arena   = &w->p->cx->call;
    const RunArgs binding = graph_binding(w->p, arena);
    Graph         g;
    Text          out;
    Regions       regions;
    w->text = strdup("");
    if (!regions_compute(w->p, arena, &binding, true, &regions) || !graph_make(w->p, arena, &binding, &g))
        return;
    KernelDraft k     = begin(w->c, &g, arena);
    Move       *moves = ARENA_ARRAY(arena, Move, MOST_MOVES);
    if (choose(w->c, 2))
        draw_points(w->c, &g, &k);
    for (int edits = 1 + (int)choose(w->c, MOST_EDITS); edits > 0; edits--) {
        const int count = kernel_edits_list(&k, DEVICE_CUDA, moves, MOST_MOVES);
        if (!count)
            break;
        KernelDraft next = kernel_edits_copy(&k, arena);
        kernel_edits_apply(&next, &moves[choose(w->c, (uint32_t)count)]);
        if (kernel_edits_legalize(&next, &k, arena))
            k = next;
    }
    text_init(&out, arena);
    kernel_draft_print(&out, &k, arena);
    if (!schedule_accepts_kernels(w->p, text_string(&out), arena))
        return;
    free(w->text);
    w->text = strdup(text_string(&out));
}

char *random_kernels(Choices *c, kn_pipeline *p)
{
    Drawing w = { c, p, NULL };
    context_begin(p->cx);
    if (!context_try(p->cx, draw, &w) && p->cx->status != KN_ERROR_LIMIT) {
        free(w.text);
        return NULL;
    }
    context_begin(p->cx);
    return w.text;
}
