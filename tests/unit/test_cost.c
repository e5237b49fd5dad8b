/* SPDX-License-Identifier: MIT */
/* The cost model against counted runs: the points that drafts say are computed, and the bytes that they hold, if not in
 * the loops of another member; and which of two drafts it takes for the faster one. */
#include "counted.h"
#include "schedulers/search/schedulers.h"

#define BLUR                                                                                                           \
    "input in : u16(x, y) output out bx(x, y) = in(x, y) + in(x+1, y) + in(x+2, y) out(x, y) = bx(x, y) + bx(x, y+1) " \
    "+ bx(x, y+2) estimate out(100, 70)"
#define SHARP                                                                                                          \
    "input in : f32(x, y) output out g(x, y) = edge(in)(x, y) * 0.5 by(x, y) = g(x, y-2) + g(x, y) + g(x, y+2) bx(x, " \
    "y) = by(x-2, y) + by(x+2, y)"                                                                                     \
    " out(x, y) = g(x, y) / bx(x, y) estimate out(96, 81)"
#define PYRAMID                                                                                                        \
    "input in : f32(x, y) output out f(x, y) = in(x, y) * in(x, y) d(x, y) = f(2*x-1, 2*y) + f(2*x+1, 2*y+1) u(x, y) " \
    "= d(x/2, y/2) + d(x/2+1, y/2+1)"                                                                                  \
    " out(x, y) = u(x, y) - u(x, y+1) estimate out(128, 64)"

#define SUMS                                                                                                           \
    "input in : f32(x, y) output out a(x, y) = sum(in(x, y + j) * j for j in 0..9) + 1 out(x, y) = a(x, y) + a(x, "    \
    "y+1) + a(x, y+2) + a(x, y+3)"                                                                                     \
    " estimate out(128, 64)"
#define WINDOW                                                                                                         \
    "input in : f32(x, y) output out a(x, y) = in(x, y) + in(x+1, y) b(x, y) = a(x, y) + a(x, y+1) + a(x, y+2) + "     \
    "a(x, y+3) + a(x, y+4) + a(x, y+5) + a(x, y+6)"                                                                    \
    " out(x, y) = b(x, y) + b(x, y+1) estimate out(2048, 2048)"
#define HALF                                                                                                           \
    "input in : f32(x, y) output out h(x, y) = in(2*x, y) + in(2*x+1, y) u(x, y) = 0.75*h(x/2, y) + 0.25*h(x/2 - 1 + " \
    "2*(x % 2), y)"                                                                                                    \
    " out(x, y) = u(x, y) + u(x, y+1) estimate out(4096, 2048)"

#define PAGES                                                                                                          \
    "input in : f32(x, y) output out c(x, y) = in(x, y) * 2 out(x, y) = c(x, y) + c(x, y+1) + c(x, y+2) + c(x, y+3) "  \
    "+ c(x, y+4) + c(x, y+5) + c(x, y+6) + c(x, y+7)"                                                                  \
    " + c(x, y+8) + c(x, y+9) + c(x, y+10) + c(x, y+11) estimate out(2048, 2048)"

/* A loop is "dim step"; a member "name compute store", -1: inlined. */
typedef struct Row {
    const char *text;
    int         loop_count;
    GroupLoop   loops[4];
    int         member_count;
    struct {
        const char *name;
        int         compute, store;
    } members[4];
} Row;

#define LOOP(d, s)                                                                                                     \
    {                                                                                                                  \
        .dim = d, .step = s                                                                                            \
    }
#define VECTOR(s)                                                                                                      \
    {                                                                                                                  \
        .dim = 0, .step = s, .vector = true                                                                            \
    }

/* clang-format off */
static const Row rows[] = {
    { BLUR, 3, { LOOP(1, 16), LOOP(1, 1), VECTOR(8) }, 1, { { "bx", 1, 0 } } },                     /* strips,
      a window slides */
    { BLUR, 3, { LOOP(1, 16), LOOP(1, 1), VECTOR(8) }, 1, { { "bx", 0, 0 } } },                     /* strips,
      overlapped */
    { BLUR, 4, { LOOP(1, 16), LOOP(0, 32), LOOP(1, 1), VECTOR(8) }, 1, { { "bx", 1, 1 } } },        /* tiles */
    { BLUR, 4, { LOOP(1, 16), LOOP(0, 32), LOOP(1, 1), VECTOR(8) }, 1, { { "bx", 2, 1 } } },
             /* tiles in which a window slides */
    { SHARP, 3, { LOOP(1, 32), LOOP(1, 1), VECTOR(8) }, 3, { { "bx", 1, 1 }, { "by", 1, 1 }, { "g", 1, 0 } } },
    { SHARP, 4, { LOOP(1, 32), LOOP(0, 32), LOOP(1, 1), VECTOR(8) }, 3, { { "bx", 1, 1 }, { "by", 1, 1 }, { "g", 1,
      1 } } },
    { PYRAMID, 3, { LOOP(1, 16), LOOP(1, 1), VECTOR(8) }, 3, { { "u", 1, 0 }, { "d", 1, 0 }, { "f", 0, 0 } } },
    { PYRAMID, 4, { LOOP(1, 16), LOOP(0, 32), LOOP(1, 1), VECTOR(8) }, 3, { { "u", 1, 1 }, { "d", 1, 1 }, { "f", 1,
      1 } } },
};
/* clang-format on */

/* With the micro choices of draft_choose_micro_kernels: sums in the loops of a member that slides. */
static const Row finished[] = {
    { SUMS, 3, { LOOP(1, 16), LOOP(1, 1), VECTOR(8) }, 2, { { "a", 1, 0 }, { "a.sum", 1, 1 } } },
};

/* The first of each pair is faster. */
static const Row pairs[][2] = {
    /* Seven rows do not stay in the first cache: many rows of b at a time read them as often as one does. */
    { { WINDOW, 3, { LOOP(1, 512), LOOP(1, 1), VECTOR(8) }, 2, { { "a", 1, 0 }, { "b", 1, 0 } } },
      { WINDOW, 4, { LOOP(1, 512), LOOP(1, 8), LOOP(1, 1), VECTOR(8) }, 2, { { "a", 1, 0 }, { "b", 1, 0 } } } },
    /* 2*(x/2) is not x: its vectors are gathered. */
    { { HALF, 3, { LOOP(1, 64), LOOP(1, 1), VECTOR(8) }, 2, { { "u", 1, 0 }, { "h", 1, 1 } } },
      { HALF, 3, { LOOP(1, 64), LOOP(1, 1), VECTOR(8) }, 2, { { "u", 1, 0 }, { "h", -1, -1 } } } },
    /* Twelve rows of whole pages fall on the same lines of the first cache; those of a copy do not. */
    { { PAGES, 3, { LOOP(1, 64), LOOP(1, 1), VECTOR(8) }, 1, { { "c", 1, 0 } } },
      { PAGES, 3, { LOOP(1, 64), LOOP(1, 1), VECTOR(8) }, 1, { { "c", -1, -1 } } } },
};

typedef struct Case {
    const Row   *row;
    bool         finished;
    kn_context  *cx;
    kn_pipeline *p;
    Arena        arena;
    Graph        graph;
    Draft        draft;
    Machine      machine;
    NodeCost    *nodes;
    GroupCost    cost;
    Text         text;
    bool         ok;
} Case;

static int find_stage(const Graph *g, const char *name)
{
    for (int i = 0; i < g->node_count; i++)
        if (!strcmp(g->nodes[i].func->name, name))
            return i;
    return -1;
}

/* Everything in the group of the output. */
static void make(void *arg)
{
    Case         *c       = arg;
    const Row    *row     = c->row;
    const RunArgs binding = graph_binding(c->p, &c->arena);
    c->machine            = machine_usual();
    c->ok                 = graph_make(c->p, &c->arena, &binding, &c->graph);
    if (!c->ok)
        return;
    c->draft        = draft_plain(&c->graph, &c->machine, 0, &c->arena);
    const int group = c->draft.choices[find_stage(&c->graph, "out")].group;
    Group    *g     = &c->draft.groups[group];
    g->loop_count   = row->loop_count;
    memcpy(g->loops, row->loops, sizeof row->loops);
    for (int i = 0; i < row->member_count; i++)
        c->draft.choices[find_stage(&c->graph, row->members[i].name)] =
            (Choice){ .where   = row->members[i].compute < 0 ? WHERE_INLINE : WHERE_INSIDE,
                      .group   = group,
                      .compute = row->members[i].compute,
                      .store   = row->members[i].store };
    if (c->finished)
        draft_choose_micro_kernels(&c->draft, &c->machine);
    draft_legalize(&c->draft);
    c->nodes = ARENA_ARRAY(&c->arena, NodeCost, (size_t)c->graph.node_count);
    cost_group(&c->draft, c->draft.choices[find_stage(&c->graph, "out")].group, &c->machine, c->nodes, &c->cost);
    text_init(&c->text, &c->arena);
    draft_print(&c->text, &c->draft);
}

static void compare(const Case *c, const Counted *run)
{
    for (int i = 0; i < c->row->member_count; i++) {
        const int     s       = find_stage(&c->graph, c->row->members[i].name);
        const int64_t counted = counted_points(run, c->row->members[i].name);
        const double  said    = c->nodes[s].points;
        CHECK(said > 0.999 * (double)counted && said < 1.001 * (double)counted,
              "%s\n%s%s: %.1f points are predicted, %lld are computed", c->row->text, text_string(&c->text),
              c->row->members[i].name, said, (long long)counted);
        const int64_t held = counted_storage(run, c->row->members[i].name);
        CHECK(c->draft.choices[s].at || (c->nodes[s].held >= held / 2 && c->nodes[s].held <= 2 * held),
              "%s\n%s%s: %lld bytes are predicted, %lld are held", c->row->text, text_string(&c->text),
              c->row->members[i].name, (long long)c->nodes[s].held, (long long)held);
    }
}

static Case begin(const Row *row, bool with_micro_choices)
{
    Case c = { .row = row, .finished = with_micro_choices, .cx = kn_context_new(NULL) };
    c.p    = kn_parse(c.cx, "test.kiln", row->text, -1);
    arena_init(&c.arena, c.cx);
    context_begin(c.cx);
    CHECK(c.p && context_try(c.cx, make, &c) && c.ok, "%s: %s", row->text, kn_error_text(c.cx));
    return c;
}

static void end(Case *c)
{
    arena_free(&c->arena);
    kn_context_free(c->cx);
}

static void test_row(const Row *row, bool with_micro_choices)
{
    Case    c = begin(row, with_micro_choices);
    Counted run;
    if (c.ok && counted_begin(&run, c.cx, "counted.kiln", row->text, text_string(&c.text))) {
        const Box *box       = &c.graph.nodes[find_stage(&c.graph, "out")].box,
                  *in        = &c.graph.nodes[find_stage(&c.graph, "in")].box;
        const int32_t min[2] = { 0, 0 }, extent[2] = { (int32_t)box->max[0] + 1, (int32_t)box->max[1] + 1 };
        const int32_t input[2] = { (int32_t)in->max[0] + 1, (int32_t)in->max[1] + 1 };
        if (counted_buffers(&run, min, extent, strstr(row->text, "edge") ? input : NULL) && counted_run(&run))
            compare(&c, &run);
        counted_end(&run);
    }
    end(&c);
}

static void test_pair(const Row *pair)
{
    Case fast = begin(&pair[0], false), slow = begin(&pair[1], false);
    CHECK(fast.cost.ns < slow.cost.ns, "%s\n%sis predicted to take %g ns, and\n%s%g ns", pair->text,
          text_string(&fast.text), fast.cost.ns, text_string(&slow.text), slow.cost.ns);
    end(&fast);
    end(&slow);
}

int main(void)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        test_row(&rows[i], false);
    for (size_t i = 0; i < sizeof finished / sizeof *finished; i++)
        test_row(&finished[i], true);
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        test_pair(pairs[i]);
    return check_done();
}
