/* SPDX-License-Identifier: MIT */
/* A graph as text: a line per node with its box and work, then a line per edge with what a point reads.
 *
 *     out(0..6400, 0..4800): pure output, 2 bytes, 16 bits, 6 ops, 3 loads
 *         blurx: x, y + 0..3
 *
 * Ranges are half open, as in the language. A ~ marks a range that encloses the reads and may be larger. "jumps along
 * x": neighbours along x read what is not side by side. */
#include "schedulers/graph/access_range.h"

#include <inttypes.h>

static const char *const kind_names[] = {
    [NODE_INPUT] = "input", [NODE_PURE] = "pure",       [NODE_REDUCTION] = "reduction",
    [NODE_SCAN] = "scan",   [NODE_SCATTER] = "scatter", [NODE_EXTERN] = "extern",
};

static void print_range(Text *out, int64_t lo, int64_t hi)
{
    if (lo == hi)
        text_printf(out, "%" PRId64, lo);
    else
        text_printf(out, "%" PRId64 "..%" PRId64, lo, hi + 1);
}

/* "2*x + -1..2", "(x + 1) / 2", "x in 0..99" */
static void print_access_range(Text *out, const AccessRange *r, const Func *reader)
{
    text_add(out, r->exact ? "" : "~");
    if (r->var < 0) {
        print_range(out, r->lo, r->hi);
        return;
    }
    const bool sum = r->lo || r->hi;
    text_add(out, r->den > 1 && sum ? "(" : "");
    if (r->num != 1)
        text_printf(out, "%" PRId64 "*", r->num);
    text_add(out, reader->args[r->var]);
    if (sum) {
        text_add(out, " + ");
        print_range(out, r->lo, r->hi);
    }
    text_add(out, r->den > 1 && sum ? ")" : "");
    if (r->den > 1)
        text_printf(out, " / %" PRId64, r->den);
    if (access_is_clamped(r)) {
        text_add(out, " in ");
        if (r->least != no_least)
            text_printf(out, "%" PRId64, r->least);
        text_add(out, "..");
        if (r->most != no_most)
            text_printf(out, "%" PRId64, r->most + 1);
    }
}

static void print_edge(Text *out, const Graph *g, const Edge *e)
{
    const GraphNode *producer = &g->nodes[e->producer], *consumer = &g->nodes[e->consumer];
    text_add(out, "    ");
    if (e->update >= 0)
        text_printf(out, "update %d: ", e->update);
    text_printf(out, "%s:", producer->func->name);
    for (int d = 0; d < producer->rank; d++) {
        text_add(out, d ? ", " : " ");
        print_access_range(out, &e->access[d], consumer->func);
    }
    if (e->accesses > 1)
        text_printf(out, "; %d accesses", e->accesses);
    for (int d = 0, first = 1; d < consumer->rank; d++)
        if (e->jumps >> d & 1) {
            text_printf(out, "%s%s", first ? "; jumps along " : ", ", consumer->func->args[d]);
            first = 0;
        }
    text_add(out, e->pointwise ? "; pointwise\n" : "\n");
}

static void print_work(Text *out, const Work *w, int update)
{
    if (update >= 0)
        text_printf(out, "; update %d: %g steps,", update, w->steps);
    else
        text_add(out, ",");
    text_printf(out, " %.4g op%s, %g load%s%s", w->ops, w->ops == 1 ? "" : "s", w->loads, w->loads == 1 ? "" : "s",
                w->gathers ? ", gathers" : "");
}

static void print_node(Text *out, const GraphNode *s)
{
    text_printf(out, "%s(", s->func->name);
    for (int d = 0; d < s->rank; d++)
        text_printf(out, "%s%" PRId64 "..%" PRId64, d ? ", " : "", s->box.min[d], s->box.max[d] + 1);
    text_printf(out, "): %s%s, %" PRId64 " byte%s", kind_names[s->kind], s->is_output ? " output" : "", s->bytes,
                s->bytes == 1 ? "" : "s");
    if (s->def_count && s->narrow < s->wide)
        text_printf(out, ", %d to %d bits", s->narrow, s->wide);
    else if (s->def_count)
        text_printf(out, ", %d bits", s->wide);
    text_add(out, s->reads_size ? ", reads sizes" : "");
    for (int d = 0; d < s->def_count; d++)
        print_work(out, &s->defs[d], d - 1);
    text_add(out, "\n");
}

void graph_print(Text *out, const Graph *g)
{
    for (int i = 0; i < g->node_count; i++) {
        const GraphNode *s = &g->nodes[i];
        print_node(out, s);
        for (int k = 0; k < s->in_count; k++)
            print_edge(out, g, s->in[k]);
        for (int k = 0; k < s->self_count; k++)
            print_edge(out, g, s->self[k]);
    }
}
