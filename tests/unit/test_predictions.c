/* SPDX-License-Identifier: MIT */
/* What the cost model says of the apps against counted runs: under the schedule that `dp` makes for a small picture and
 * small caches, the points that are computed of each function, and the bytes that it holds.
 *
 * The model claims both, exactly, of every function that is at root or inside loops of a head. It does not claim
 * special forms; bounds that are rounded to even ones (align_bounds), which count in the sum over all functions; nor
 * what is computed inside the loops of another member. Storage under a nest of a member's own is in whole tiles of
 * that. */
#include "counted.h"
#include "schedulers/search/schedulers.h"
#include "schedulers/draft/pattern.h"

#include <math.h>

static const double most_off = 1.1; /* the points of all functions together that are not inside another member */
enum { VECTOR_BITS = 8 };           /* no vectors: the last one of a row may compute again what the one before has */

static const struct App {
    const char *name;
    int32_t     size[4];
    const char *define[2][2]; /* consts that are smaller here: step by step the app as it is takes long */
    bool estimated; /* what is inside loops and is read through clamps (`edge` of small levels), so that what one row
                       needs has no form of the graph */
} apps[] = {
    { "blur", { 160, 96 }, { { NULL } }, false },
    { "unsharp", { 96, 64, 3 }, { { NULL } }, false },
    { "harris", { 96, 80 }, { { NULL } }, false },
    { "bilateral_grid", { 96, 64 }, { { NULL } }, false },
    { "camera_pipe", { 64, 48, 3 }, { { NULL } }, false },
    { "interpolate", { 64, 48, 3 }, { { "levels", "6" } }, false },
    { "local_laplacian", { 48, 32, 3 }, { { "pyramid_levels", "4" } }, false },
    { "pyramid_blend", { 64, 48, 3 }, { { NULL } }, false },
    { "lens_blur", { 24, 16, 3 }, { { "levels", "4" } }, true },
    { "nl_means", { 24, 16, 3 }, { { NULL } }, false },
    { "max_filter", { 40, 32, 3 }, { { NULL } }, false },
    { "vdsr", { 8, 6 }, { { "channels", "8" }, { "layers", "7" } }, false },
    { "stencil_chain", { 48, 40 }, { { "stencils", "14" } }, false },
    { "iir_blur", { 64, 48, 3 }, { { NULL } }, false },
    { "hist", { 96, 64, 3 }, { { NULL } }, false },
    { "conv_layer", { 8, 6, 2, 1 }, { { NULL } }, false },
    { "mat_mul", { 96, 96 }, { { NULL } }, false },
};

typedef struct Case {
    const struct App *app;
    kn_context       *cx;
    kn_pipeline      *p;
    Arena             arena;
    RunArgs           binding;
    Graph             graph;
    Draft             draft;
    NodeCost         *nodes;
    Text              text;
    bool              ok;
} Case;

static void make(void *arg)
{
    Case                  *c       = arg;
    Machine                machine = machine_usual();
    const SchedulerOptions options = { .budget = 2 };
    GroupCost              cost;
    machine.cores       = 2;
    machine.vector_bits = VECTOR_BITS;
    machine.l1          = 4 << 10;
    machine.l2          = 16 << 10;
    for (size_t i = 0; i < c->p->outputs.count; i++)
        for (int d = 0; d < c->p->outputs.at[i].func->rank; d++)
            c->p->outputs.at[i].estimate[d] = c->app->size[d];
    c->binding = graph_binding(c->p, &c->arena);
    c->ok      = graph_make(c->p, &c->arena, &c->binding, &c->graph);
    if (!c->ok)
        return;
    c->draft = scheduler_dp(&c->graph, &machine, &options, &c->arena);
    c->nodes = ARENA_ARRAY(&c->arena, NodeCost, (size_t)c->graph.node_count);
    for (int i = 0; i < c->draft.group_count; i++)
        cost_group(&c->draft, i, &machine, c->nodes, &cost);
    text_init(&c->text, &c->arena);
    draft_print(&c->text, &c->draft);
}

/* What the model claims of a node. */
typedef enum Claim { CLAIM_NOTHING, CLAIM_POINTS /* bytes in whole tiles of its own loops */, CLAIM_ALL } Claim;

/* Is all that leads from each node to the outputs of the graph's forms (graph.h: `exact`)? */
static bool *find_exact(const Graph *g)
{
    bool *exact = calloc((size_t)g->node_count, sizeof *exact);
    for (int s = g->node_count - 1; s >= 0; s--) {
        const GraphNode *node = &g->nodes[s];
        exact[s]              = true;
        for (int i = 0; i < node->out_count; i++)
            for (int d = 0; d < node->rank; d++)
                exact[s] = exact[s] && exact[node->out[i]->consumer] && node->out[i]->access[d].exact;
    }
    return exact;
}

static Claim claim_of(const Case *c, int s, bool exact)
{
    const Choice *choice = &c->draft.choices[s];
    if (choice->align > 1 || choice->at || (choice->where == WHERE_INSIDE && c->app->estimated && !exact))
        return CLAIM_NOTHING;
    return choice->nest ? CLAIM_POINTS : CLAIM_ALL;
}

static bool is_compared(const Case *c, int s)
{
    const Where where = c->draft.choices[s].where;
    return c->graph.nodes[s].kind != NODE_INPUT && c->graph.nodes[s].kind != NODE_EXTERN &&
           !c->graph.nodes[s].self_count && c->draft.patterns[s].kind == PATTERN_NONE &&
           (where == WHERE_ROOT || where == WHERE_INSIDE);
}

/* Outputs are the caller's memory; a tuple has several buffers, of other names. A window that slides behind two others
 * is kept in twice, four or eight times as many rows where the compiler cannot see that they move together. */
static bool storage_agrees(const Case *c, int s, Claim claim, int64_t counted)
{
    const int64_t said = c->nodes[s].held;
    const bool    slides =
        c->draft.choices[s].where == WHERE_INSIDE && c->draft.choices[s].store < c->draft.choices[s].compute;
    if (c->graph.nodes[s].is_output || counted < 0)
        return true;
    if (claim == CLAIM_ALL)
        return said == counted || (slides && (2 * said == counted || 4 * said == counted || 8 * said == counted));
    return said <= counted && counted <= 3 * said;
}

static void compare(const Case *c, const Counted *run)
{
    bool  *exact = find_exact(&c->graph);
    double said = 0, counted = 0;
    for (int s = 0; s < c->graph.node_count; s++) {
        const char   *name   = c->graph.nodes[s].func->name;
        const int64_t points = counted_points(run, name), held = counted_storage(run, name);
        const Claim   claim = claim_of(c, s, exact[s]);
        if (!is_compared(c, s) || points < 0) /* beside a special form it has another name */
            continue;
        said += c->draft.choices[s].at ? 0 : c->nodes[s].points;
        counted += c->draft.choices[s].at ? 0 : (double)points;
        CHECK(!claim || llround(c->nodes[s].points) == points,
              "%s\n%s: %s: %.1f points are predicted, %lld are computed", text_string(&c->text), c->app->name, name,
              c->nodes[s].points, (long long)points);
        CHECK(!claim || storage_agrees(c, s, claim, held), "%s\n%s: %s: %lld bytes are predicted, %lld are held",
              text_string(&c->text), c->app->name, name, (long long)c->nodes[s].held, (long long)held);
    }
    CHECK(said <= most_off * counted && counted <= most_off * said,
          "%s: %.0f points of all functions are predicted, %.0f are computed", c->app->name, said, counted);
    free(exact);
}

/* Noise in the inputs, of the sizes that the schedule was made for. */
static bool fill_ports(const Case *c, Counted *run)
{
    for (int kind = KN_INPUT; kind <= KN_OUTPUT; kind++)
        for (int i = 0; i < kn_port_count(c->p); i++) {
            const kn_port port = kn_port_get(c->p, i);
            const Box    *box  = NULL;
            if (port.kind != (kn_port_kind)kind || kind == KN_PARAM)
                continue;
            for (size_t k = 0; kind == KN_INPUT && k < c->p->funcs.count; k++)
                box = !strcmp(c->p->funcs.at[k]->name, port.name) ? &c->binding.input[k] : box;
            for (size_t k = 0; kind == KN_OUTPUT && k < c->p->outputs.count; k++)
                box = !strcmp(c->p->outputs.at[k].name, port.name) ? &c->binding.output[k] : box;
            kn_buffer *b = &run->port[run->count++];
            *b           = (kn_buffer){ .type = port.type, .rank = port.rank };
            for (int d = 0; d < port.rank; d++)
                b->dim[d] = (kn_dim){ (int32_t)box->min[d], (int32_t)(box->max[d] - box->min[d] + 1), 0 };
            if (kn_buffer_alloc(run->cx, b) || (kind == KN_INPUT && kn_fill_noise(run->cx, b, 1)))
                return false;
        }
    return true;
}

static void test_app(const struct App *app)
{
    char path[64];
    snprintf(path, sizeof path, "apps/%s/%s.kiln", app->name, app->name);
    char *text = check_read(path);
    Case  c    = { .app = app, .cx = kn_context_new(NULL) };
    for (int i = 0; i < 2 && app->define[i][0]; i++)
        kn_define(c.cx, app->define[i][0], app->define[i][1]);
    c.p = kn_parse(c.cx, path, text, -1);
    arena_init(&c.arena, c.cx);
    context_begin(c.cx);
    CHECK(c.p && context_try(c.cx, make, &c) && c.ok, "%s: %s", path, kn_error_text(c.cx));
    Counted run;
    if (c.ok && counted_begin_bits(&run, c.cx, path, text, text_string(&c.text), VECTOR_BITS)) {
        const bool filled = fill_ports(&c, &run);
        CHECK(filled, "%s: %s", path, kn_error_text(c.cx));
        if (filled && counted_run(&run))
            compare(&c, &run);
        counted_end(&run);
    }
    arena_free(&c.arena);
    kn_context_free(c.cx);
    free(text);
}

int main(void)
{
    for (size_t i = 0; i < sizeof apps / sizeof *apps; i++)
        if (check_sampled(i))
            test_app(&apps[i]);
    return check_done();
}
