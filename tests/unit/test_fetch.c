/* SPDX-License-Identifier: MIT */
/* Whatever is asked to be prefetched ahead in whatever loop: once legalized, the draft is one that the compiler
 * accepts. */
#include "graph_of.h"

/* What begins with i_ is inlined, with d_ left to the compiler. */
static const char *const programs[] = {
    "input in : f32(x, y) output out a(x, y) = in(x-1, y) + in(x+1, y) out(x, y) = a(x, y-1) + a(x, y+1) estimate "
    "out(64, 32)",
    /* the component of what is inlined that reads `in` is not the one that is read */
    "input in : f32(x, y) output out i_t(x, y) = (in(x, y), x - y) far(x, y) = exp(i_t(x-1, y).0) + exp(i_t(x+1, y).0) "
    "out(x, y) = far(x-1, y) + far(x+1, y) + i_t(x, y+1).1 estimate out(64, 32)",
    /* `b` takes rows of what is inlined: they are made outside the vectors */
    "input in : u16(x, y) output out i_s(x, y) = in(x, y) + 1 i_r(x, y) = i_s(x-2, y) - i_s(x+1, y) + 3*i_s(x-2, y+1) "
    "- i_s(x+1, y+1) b(x, y) = i_r(x, y) - i_r(x+1, y)"
    " out(x, y) = b(x+1, y) - b(x+2, y) estimate out(64, 32)",
    /* the first reader of what is inlined is in no group */
    "input in : i64(x, y) output d_out i_s(x, y) = f32(in(x, y)) * 3 i_a(x, y) = i_s(x-2, y-1) - i_s(x, y-1) b(x, y) = "
    "exp(i_s(x, y-1)) - exp(i_s(x, y)) d_out(x, y) = i_a(x+2, y) + b(x-2, y-2) + b(x, y)"
    " estimate d_out(64, 32)",
};

static void obey_names(Draft *d)
{
    for (int s = 0; s < d->graph->node_count; s++) {
        const char *name = d->graph->nodes[s].func->name;
        if (name[1] == '_')
            d->choices[s] = (Choice){ .where = name[0] == 'i' ? WHERE_INLINE : WHERE_DEFAULT, .group = -1 };
    }
}

/* The number of groups that fetch after all. */
static int test_draft(GraphOf *o, int node, int loop, bool turned)
{
    Draft d        = draft_plain(&o->graph, &o->machine, 0, &o->arena);
    int   fetching = 0;
    obey_names(&d);
    draft_legalize(&d);
    for (int i = 0; i < d.group_count; i++) {
        Group *gr         = &d.groups[i];
        gr->prefetched    = 1 + node;
        gr->prefetch_loop = loop;
        gr->ahead         = 1;
        for (int k = 0, rank = o->graph.nodes[gr->head].rank; k < rank; k++)
            gr->loops[gr->loop_count++] = (GroupLoop){ .dim = turned ? k : rank - 1 - k, .step = 1 };
    }
    draft_legalize(&d);
    accepted_text(o, &d);
    for (int i = 0; i < d.group_count; i++)
        fetching += d.groups[i].prefetched != 0;
    return fetching;
}

static void test_program(const char *text)
{
    GraphOf o;
    int     fetching = 0;
    graph_of(&o, text);
    for (int node = 0; node <= o.graph.node_count; node++)
        for (int loop = -1; loop < 4; loop++)
            fetching += test_draft(&o, node, loop, false) + test_draft(&o, node, loop, true);
    CHECK(fetching || text != programs[0], "%s: nothing was prefetched", text);
    graph_of_end(&o);
}

int main(void)
{
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++)
        test_program(programs[i]);
    return check_done();
}
