/* SPDX-License-Identifier: MIT */
/* Windows that may pay to be made by doubling, and the directives for it.
 *
 *     f.max.update(0).separate(i)                  max(in(x + i, y + j) for j in -20..21, i in -20..21)
 *     f.max.update(0).double(i)
 *     f.max.separate.sum.update(0).double(j)
 *
 * A window over several reduction variables is separated first, the last side along x: the others are then done in rows
 * of whole vectors. What is left is another graph, with a function for each window of 2^k taps, scheduled like any
 * other. The model compares the two. */
#include "legal/window.h"
#include "schedulers/draft/pattern_forms.h"
#include "schedulers/search/schedulers.h"

/* The argument along which reduction variable `rvar` goes; -1: none. */
static int side_of(const Graph *g, const Func *f, int rvar)
{
    Arena scratch;
    int   dim = -1;
    scratch_begin(&scratch, g->pipeline->cx);
    for (int d = 0; d < f->rank && dim < 0; d++) {
        Window w = window_of(&g->pipeline->exprs, &scratch, f, 0, rvar, d);
        dim      = window_doubles(&w) ? d : -1;
    }
    scratch_end(&scratch);
    return dim;
}

/* The sides of the window, those along the first arguments first, in `order`. 0: it is none, or has no long side. */
static int find_sides(const Graph *g, const Func *f, int *order)
{
    const DefFacts facts = def_facts(&g->pipeline->exprs, f, 0);
    const Update  *u     = f->updates;
    int            dims[LEGAL_RVARS];
    bool           is_long = false;
    if (!facts.combines || facts.inexact || facts.bounding || facts.free != (1u << f->rank) - 1)
        return 0;
    for (int k = 0; k < u->rvar_count; k++) {
        const int dim = side_of(g, f, k);
        int       at  = k;
        if (dim < 0 || !rvar_steps(&u->rvars[k]))
            return 0;
        for (; at > 0 && dims[at - 1] > dim; at--) {
            dims[at]  = dims[at - 1];
            order[at] = order[at - 1];
        }
        dims[at]  = dim;
        order[at] = k;
        is_long |= rvar_steps(&u->rvars[k]) >= DOUBLE_LEAST_TAPS;
    }
    return is_long ? u->rvar_count : 0;
}

/* Are the names free by which the directives know the functions that `separate` makes? */
static bool names_are_free(const Graph *g, const char *name)
{
    return name_is_free(g->pipeline, name, ".separate") && name_is_free(g->pipeline, name, ".separate.sum");
}

static bool print_window(Text *out, const Graph *g, const Func *f)
{
    int         order[LEGAL_RVARS];
    const int   sides = find_sides(g, f, order);
    const char *name  = f->name;
    for (int i = 0; i + 1 < sides; i++, name = arena_printf(out->arena, "%s.separate.sum", name))
        if (!names_are_free(g, name))
            return false;
    name = f->name;
    for (int i = 0; i < sides; i++, name = arena_printf(out->arena, "%s.separate.sum", name)) {
        const RVar *v = &f->updates[0].rvars[order[i]];
        if (i + 1 < sides)
            text_printf(out, "%s.update(0).separate(%s)\n", name, v->name);
        if (rvar_steps(v) >= DOUBLE_LEAST_TAPS)
            text_printf(out, "%s.update(0).double(%s)\n", name, v->name);
    }
    return sides > 0;
}

int doubling_print(Text *out, const Graph *g)
{
    int count = 0;
    for (int s = 0; s < g->node_count; s++) {
        const Func *f = g->nodes[s].func;
        if (g->nodes[s].kind == NODE_REDUCTION && f->update_count == 1 && f->rank &&
            f->updates[0].rvar_count <= LEGAL_RVARS)
            count += print_window(out, g, f);
    }
    return count;
}
