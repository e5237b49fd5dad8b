/* SPDX-License-Identifier: MIT */
/* The space of figure 6 of Sioutas et al. 2019: blurx computed at one of the loops yo, xo, yi, xi of out, and stored at
 * the same one or further out. All ten are legal, and the one that Algorithm 1 takes, without a look at the others,
 * costs at most a tenth more than any by the cost of section 3.
 *
 *     build/tests/unit-test_figure6 --table [WIDTHxHEIGHT]      prints the points for tiles of that size: what each
 *     costs, and its schedule (bench/figure6 runs them) */
#include "graph_of.h"
#include "schedulers/search/reuse_internal.h"

#include <stdio.h>

static const char blur[] =
    "type pixel = u16\ninput in : pixel(x, y)\noutput out\nblurx(x, y) = (in(x, y) + in(x+1, y) + in(x+2, y)) / 3\n"
    "out(x, y) = (blurx(x, y) + blurx(x, y+1) + blurx(x, y+2)) / 3\nestimate out(6400, 4800)\n";
static const char *const loops[] = { "yo", "xo", "yi", "xi" };

enum { LOOPS = 4 };

/* A segment of two nodes, the first of which the second reads. */
typedef struct Blur {
    GraphOf of;
    Draft   draft;
    Segment segment;
    Tiling  nest;
} Blur;

static int stage_named(const Graph *g, const char *name)
{
    for (int s = 0; s < g->node_count; s++)
        if (!strcmp(g->nodes[s].func->name, name))
            return s;
    return -1;
}

static void make_segment(Blur *b)
{
    const Graph *g = &b->of.graph;
    Segment     *s = &b->segment;
    *s = segment_new(&b->draft, &b->of.machine, ARENA_ARRAY(&b->of.arena, Where, (size_t)g->node_count), &b->of.arena);
    s->nodes[s->count++]           = stage_named(g, "blurx");
    s->nodes[s->count++]           = stage_named(g, "out");
    s->outside[s->outside_count++] = stage_named(g, "in");
    s->given[s->nodes[1]]          = true;
    for (int k = 0; k < 3; k++) {
        const int at  = k < 2 ? s->nodes[k] : s->outside[0];
        s->place[at]  = k;
        s->member[at] = true;
    }
}

static void begin(Blur *b, int64_t width, int64_t height)
{
    static const int y_then_x[] = { 1, 0 };
    graph_of(&b->of, blur);
    b->draft = draft_plain(&b->of.graph, &b->of.machine, 0, &b->of.arena);
    make_segment(b);
    nest_make(&b->segment, (int64_t[]){ width, height }, y_then_x, y_then_x, &b->nest);
    nest_boxes(&b->segment, &b->nest);
}

/* The schedule of a point. */
static const char *schedule_of(Blur *b, int compute, int store)
{
    const int blurx = b->segment.nodes[0], out = b->segment.nodes[1];
    Draft     d    = draft_plain(&b->of.graph, &b->of.machine, 0, &b->of.arena);
    Group    *gr   = &d.groups[d.choices[out].group];
    gr->loop_count = b->nest.loop_count;
    memcpy(gr->loops, b->nest.loops, sizeof gr->loops);
    gr->stream = cost_streams(&d, out, &b->of.machine);
    d.choices[blurx] =
        (Choice){ .where = WHERE_INSIDE, .group = d.choices[out].group, .compute = compute, .store = store };
    draft_legalize(&d);
    CHECK(d.choices[blurx].where == WHERE_INSIDE && d.choices[blurx].compute == compute &&
              d.choices[blurx].store == store,
          "%s, %s became %s, %s", loops[compute], loops[store], loops[d.choices[blurx].compute],
          loops[d.choices[blurx].store]);
    return accepted_text(&b->of, &d);
}

static NestCost cost_of(Blur *b, int compute, int store)
{
    const Level levels[2] = { { .where = WHERE_INSIDE, .compute = compute, .store = store }, { .where = WHERE_ROOT } };
    return nest_cost(&b->segment, &b->nest, levels);
}

static Level picked(Blur *b)
{
    Level levels[2];
    fuse_nodes(&b->segment, &b->nest, levels);
    return levels[0];
}

/* The point that Algorithm 1 takes for these loops is the paper's, and the cheapest. */
static void test_space(void)
{
    Blur b;
    begin(&b, 512, 128);
    const Level    pick   = picked(&b);
    const NestCost best   = cost_of(&b, pick.compute, pick.store);
    int            points = 0;
    CHECK(b.nest.loop_count == LOOPS, "%d loops", b.nest.loop_count);
    CHECK(!strcmp(loops[pick.compute], "yi") && !strcmp(loops[pick.store], "xo"), "%s, %s is picked",
          loops[pick.compute], loops[pick.store]);
    for (int compute = 0; compute < LOOPS; compute++)
        for (int store = 0; store <= compute; store++, points++) {
            const NestCost cost = cost_of(&b, compute, store);
            schedule_of(&b, compute, store);
            CHECK(best.ns <= cost.ns * 1.1, "%s, %s costs %.3f ms, less than the one that is picked: %.3f ms",
                  loops[compute], loops[store], cost.ns * 1e-6, best.ns * 1e-6);
        }
    CHECK(points == 10, "%d points", points);
    graph_of_end(&b.of);
}

/* "compute store, cost, points computed again, bytes held, whether it is picked", then the schedule, indented. */
static void print_table(const char *size)
{
    Blur b;
    int  width = 512, height = 128;
    if (size &&
        (sscanf(size, "%dx%d", &width, &height) != 2 || width < 64 || width > 3200 || height < 2 || height > 2400)) {
        printf("a tile is WIDTHxHEIGHT, from 64x2 to 3200x2400\n");
        return;
    }
    begin(&b, width, height);
    const Level pick = picked(&b);
    for (int compute = 0; compute < LOOPS; compute++)
        for (int store = 0; store <= compute; store++) {
            const NestCost cost  = cost_of(&b, compute, store);
            const char    *text  = schedule_of(&b, compute, store);
            const double   again = b.segment.points[0] - segment_points(&b.segment, 0, 0);
            printf("%s %s %.3f %.3f %.3f %.0f %.0f %d\n", loops[compute], loops[store], cost.ns * 1e-6,
                   cost.compute * 1e-6, cost.load * 1e-6, again, cost.folded + cost.unfolded,
                   compute == pick.compute && store == pick.store);
            for (const char *c = text; *c; c++)
                printf("%s%c", c == text || c[-1] == '\n' ? "    " : "", *c);
        }
    graph_of_end(&b.of);
}

int main(int argc, char **argv)
{
    if (argc > 1 && !strcmp(argv[1], "--table")) {
        print_table(argv[2]);
        return 0;
    }
    test_space();
    return check_done();
}
