/* What the cost model says of the apps against counted runs: under the schedule that `dp` makes for a small picture and small caches, the points that are computed of each function, and
 * the bytes that it holds.
 *
 * The model claims its points where all that leads from a function to the outputs is of the graph's forms (graph.h: `exact`), and where the function is computed as the draft says and not in a special form. The
 * others count in the sum over all functions. It does not claim bounds that are rounded to even ones (align_bounds), nor what is computed inside the loops of another
 * member. */
#include "counted.h"
#include "schedulers/schedulers.h"
#include "schedulers/special.h"

enum { VECTOR_BITS = 8 };         /* no vectors: the last one of a row may compute again what the one before has */

static const struct App {
    const char *name;
    int32_t     size[4];
    double      within;     /* this factor the points of all functions together are as predicted, those too that the model does not claim */
    const char *defined, *value;    /* a const that is smaller here: step by step the app as it is takes long */
} apps[] = {
    { "blur", { 160, 96 }, 1.05, NULL, NULL },
    { "unsharp", { 96, 64, 3 }, 1.05, NULL, NULL },
    { "harris", { 96, 80 }, 1.05, NULL, NULL },
    { "bilateral_grid", { 96, 64 }, 1.05, NULL, NULL },
    { "camera_pipe", { 64, 48, 3 }, 1.05, NULL, NULL },
    { "interpolate", { 64, 48, 3 }, 1.05, "levels", "6" },
    { "local_laplacian", { 48, 32, 3 }, 1.05, "pyramid_levels", "4" },
    { "pyramid_blend", { 64, 48, 3 }, 1.05, NULL, NULL },
    { "lens_blur", { 24, 16, 3 }, 2, NULL, NULL },
    { "nl_means", { 24, 16, 3 }, 1.05, NULL, NULL },
    { "max_filter", { 40, 32, 3 }, 6, NULL, NULL },
    { "vdsr", { 8, 6 }, 6, "channels", "8" },
    { "stencil_chain", { 48, 40 }, 1.05, NULL, NULL },
    { "iir_blur", { 64, 48, 3 }, 1.05, NULL, NULL },
    { "hist", { 96, 64, 3 }, 1.05, NULL, NULL },
    { "conv_layer", { 8, 6, 4, 1 }, 1.05, NULL, NULL },
    { "mat_mul", { 96, 96 }, 1.05, NULL, NULL },
};

typedef struct Case {
    const struct App *app;
    kn_context       *cx;
    kn_pipeline      *p;
    Arena             arena;
    Binding           binding;
    Graph             graph;
    Draft             draft;
    StageCost        *stages;
    Text              text;
    bool              ok;
} Case;

static void make(void *arg)
{
    Case                  *c       = arg;
    Machine                machine = machine_usual();
    const SchedulerOptions options = { .budget = 2 };
    GroupCost              cost;
    machine.cores = 2;
    machine.vector_bits = VECTOR_BITS;
    machine.l1    = 4 << 10;
    machine.l2    = 16 << 10;
    for (size_t i = 0; i < c->p->outputs.count; i++)
        for (int d = 0; d < c->p->outputs.at[i].func->rank; d++)
            c->p->outputs.at[i].estimate[d] = c->app->size[d];
    c->binding = graph_binding(c->p, &c->arena);
    c->ok      = graph_make(c->p, &c->arena, &c->binding, &c->graph);
    if (!c->ok)
        return;
    c->draft  = scheduler_dp(&c->graph, &machine, &options, &c->arena);
    c->stages = ARENA_ARRAY(&c->arena, StageCost, (size_t)c->graph.stage_count);
    for (int i = 0; i < c->draft.group_count; i++)
        cost_group(&c->draft, i, &machine, c->stages, &cost);
    text_init(&c->text, &c->arena);
    draft_print(&c->text, &c->draft);
}

/* Does the model claim the box of each stage? */
static bool *find_exact(const Case *c)
{
    const Graph *g     = &c->graph;
    bool        *exact = calloc((size_t)g->stage_count, sizeof *exact);
    for (int s = g->stage_count - 1; s >= 0; s--) {
        const Stage *st = &g->stages[s];
        exact[s]        = st->kind != STAGE_EXTERN && c->draft.specials[s].form == SPECIAL_NONE && !st->self_count && c->draft.choices[s].even <= 1 && !c->draft.choices[s].at;
        for (int i = 0; i < st->out_count; i++)
            for (int d = 0; d < st->rank; d++)
                exact[s] = exact[s] && exact[st->out[i]->consumer] && st->out[i]->reach[d].exact;
    }
    return exact;
}

/* Folded storage has powers of two of rows and columns, and the smallest one a few cache lines. */
static bool storage_agrees(const Case *c, int s, int64_t counted)
{
    const int64_t said = c->stages[s].held;
    if (c->graph.stages[s].is_output)
        return true;
    return c->draft.choices[s].where == WHERE_ROOT ? said == counted : said <= counted && counted <= 4 * said + 256;
}

static bool is_compared(const Case *c, int s)
{
    const Where where = c->draft.choices[s].where;
    return c->graph.stages[s].kind != STAGE_INPUT && !c->graph.stages[s].self_count && c->draft.specials[s].form == SPECIAL_NONE && (where == WHERE_ROOT || where == WHERE_INSIDE);
}

static void compare(const Case *c, const Counted *run)
{
    bool  *exact = find_exact(c);
    double said = 0, counted = 0;
    for (int s = 0; s < c->graph.stage_count; s++) {
        const char   *name   = c->graph.stages[s].func->name;
        const int64_t points = counted_points(run, name), held = counted_storage(run, name);
        if (!is_compared(c, s) || (points < 0 && !exact[s]))        /* beside a special form it has another name */
            continue;
        said += c->stages[s].points;
        counted += (double)points;
        CHECK(!exact[s] || (int64_t)c->stages[s].points == points, "%s\n%s: %s: %.1f points are predicted, %lld are computed", text_string(&c->text), c->app->name, name, c->stages[s].points,
              (long long)points);
        CHECK(!exact[s] || storage_agrees(c, s, held), "%s\n%s: %s: %lld bytes are predicted, %lld are held", text_string(&c->text), c->app->name, name, (long long)c->stages[s].held, (long long)held);
    }
    CHECK(said <= c->app->within * counted && counted <= c->app->within * said, "%s: %.0f points of all functions are predicted, %.0f are computed", c->app->name, said, counted);
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
    if (app->defined)
        kn_define(c.cx, app->defined, app->value);
    c.p        = kn_parse(c.cx, path, text, -1);
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
        test_app(&apps[i]);
    return check_done();
}
