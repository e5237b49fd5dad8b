/* SPDX-License-Identifier: MIT */
/* Windows that may pay to be separated on a device, and the directives for it.
 *
 *     f.sum.update(0).separate(j)                  sum(w(i)*v(j)*f(x+i, y+j) for j in -2..3, i in -2..3)
 *
 * A thread has several rows: it sums along x first, once for each row that they need, and then along y. What is left is
 * another graph, scheduled like any other; the model compares the two. */
#include "legal/window.h"
#include "schedulers/draft/pattern_forms.h"
#include "schedulers/search/schedulers.h"

/* Is the window separable along a reduction variable that goes with the second argument? Gives which; -1: it is not. */
static int side_of(const Graph *g, const Func *f)
{
    Arena scratch;
    int   side = -1;
    scratch_begin(&scratch, g->pipeline->cx);
    for (int k = 0; k < f->updates[0].rvar_count && side < 0; k++) {
        Window w = window_of(&g->pipeline->exprs, &scratch, f, 0, k, 1);
        side     = window_separates(&w) && w.by.known && w.by.c ? k : -1;
    }
    scratch_end(&scratch);
    return side;
}

/* Is it a sum over two sides of constant length, exact in any order? */
static bool is_window(const Graph *g, const GraphNode *node)
{
    const Func *f = node->func;
    if (node->kind != NODE_REDUCTION || node->is_output || f->rank < 2 || f->update_count != 1 || f->updates[0].where ||
        f->updates[0].rvar_count != 2)
        return false;
    const DefFacts facts = def_facts(&g->pipeline->exprs, f, 0);
    for (int k = 0; k < 2; k++)
        if (rvar_steps(&f->updates[0].rvars[k]) < SEPARATE_LEAST_SIDE)
            return false;
    return facts.combines && !facts.inexact && !facts.bounding && facts.free == (1u << f->rank) - 1 &&
           name_is_free(g->pipeline, f->name, ".separate") && name_is_free(g->pipeline, f->name, ".separate.sum");
}

int separating_print(Text *out, const Graph *g)
{
    int count = 0;
    for (int s = 0; s < g->node_count; s++) {
        const Func *f    = g->nodes[s].func;
        const int   side = is_window(g, &g->nodes[s]) ? side_of(g, f) : -1;
        if (side < 0)
            continue;
        text_printf(out, "%s.update(0).separate(%s)\n", f->name, f->updates[0].rvars[side].name);
        count++;
    }
    return count;
}
