/* SPDX-License-Identifier: MIT */
/* Calibrating: the speeds of this machine, as the cost model sees them.
 *
 * Takes   small pipelines of many kinds (a table below), each under drafts of many kinds (schedulers/search/varied.c).
 * Gives   the speeds that explain their measured times best (schedulers/model/fit.c), as lines that machine_parse
 *         reads. The search for them begins at those of loops that do nothing else
 *         (schedulers/model/machine_measure.c).
 * Why     What a cache line or a row costs depends on the processor, its neighbours and this compiler together. No data
 *         sheet says it. */
#include "api/compile.h"
#include "schedulers/model/fit.h"
#include "schedulers/search/schedulers.h"

#include <time.h>

static const char *const programs[] = {
    "input in : u16(x, y) output out b(x, y) = (in(x, y) + in(x+1, y) + in(x+2, y)) / 3 out(x, y) = (b(x, y) + b(x, "
    "y+1) + b(x, y+2)) / 3 estimate out(6000, 4000)",
    "input in : f32(x, y, c) output out e = edge(in) g(x, y) = 0.3*e(x, y, 0) + 0.6*e(x, y, 1) + 0.1*e(x, y, 2) v(x, "
    "y) = g(x, y-2) + 4*g(x, y) + g(x, y+2)"
    " h(x, y) = v(x-1, y) + 2*v(x, y) + v(x+1, y) out(x, y, c) = in(x, y, c) * g(x, y) / (h(x, y) + 1) estimate "
    "out(1536, 1536, 3)",
    "input in : f32(x, y) output out e = edge(in) d(x, y) = e(2*x, 2*y) + e(2*x+1, 2*y) + e(2*x, 2*y+1) + e(2*x+1, "
    "2*y+1) u(x, y) = d(x/2, y/2) + d((x+1)/2, (y+1)/2)"
    " out(x, y) = e(x, y) - u(x, y) * 0.125 estimate out(2048, 2048)",
    "input a : f32(x, y) input b : f32(x, y) output out out(x, y) = sum(a(k, y) * b(x, k) for k in 0..640) estimate "
    "out(640, 640)",
    "input in : u8(x, y) input table : f32(i) output out f(x, y) = table(in(x, y)) out(x, y) = exp(f(x, y)) / (f(x, "
    "y-1) + f(x, y+1) + 2) estimate out(1024, 1024)",
    "input in : f32(x, y) output out s(x, y) = sum(in(x+i, y+j) * in(x+j, y+i) for i in 0..5, j in 0..5) t(x, y) = "
    "s(x, y) * s(x, y)"
    " out(x, y) = t(x, y) + t(x+1, y) + t(x, y+1) estimate out(1024, 1024)",
};
enum { PROGRAMS = sizeof programs / sizeof *programs, DRAFTS = 8, MOST_PORTS = 4, LEAST_RUNS = 3 };
static const double trial_seconds = 0.06;

typedef struct Calibration {
    kn_context  *cx;
    Arena        arena; /* of what outlives the calls of the library */
    Machine      machine;
    FitSample   *samples;
    int          sample_count;
    kn_pipeline *p;
    int          tried;    /* pairs of program and draft so far, failed ones included */
    const char  *schedule; /* its text */
    kn_arg       args[MOST_PORTS];
    kn_buffer    buffers[MOST_PORTS];
    int          arg_count;
    const char  *text; /* the result */
} Calibration;

static double seconds_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* ---- Drafts ------------------------------------------------------------------------------ */

/* A port as large as the draft's sizes need it. */
static void note_port(Calibration *c, const GraphNode *s)
{
    if (c->arg_count == MOST_PORTS || (s->kind != NODE_INPUT && !s->is_output))
        return;
    kn_buffer *b = &c->buffers[c->arg_count];
    *b           = (kn_buffer){ .type = s->func->types[0], .rank = s->rank };
    for (int d = 0; d < s->rank; d++) {
        b->dim[d].min    = (int32_t)s->box.min[d];
        b->dim[d].extent = (int32_t)(s->box.max[d] - s->box.min[d] + 1);
    }
    c->args[c->arg_count++] = (kn_arg){ .name = s->func->name, .buffer = b };
}

static void make_draft(void *arg)
{
    Calibration           *c       = arg;
    Arena                 *arena   = &c->cx->call;
    const RunArgs          binding = graph_binding(c->p, arena);
    const SchedulerOptions options = { .number = c->tried / PROGRAMS };
    FitSample             *sample  = &c->samples[c->sample_count];
    Graph                  g;
    Text                   text;
    if (!graph_make(c->p, arena, &binding, &g))
        return;
    const Draft d = scheduler_varied(&g, &c->machine, &options, arena);
    *sample       = (FitSample){ .group_count = d.group_count,
                                 .program     = c->tried % PROGRAMS,
                                 .terms       = arena_array(&c->arena, (size_t)d.group_count, sizeof *sample->terms) };
    for (int i = 0; i < d.group_count; i++) {
        GroupCost cost;
        cost_group(&d, i, &c->machine, NULL, &cost);
        memcpy(sample->terms[i], cost.term, sizeof cost.term);
    }
    c->arg_count = 0;
    for (int s = 0; s < g.node_count; s++)
        note_port(c, &g.nodes[s]);
    text_init(&text, &c->arena);
    draft_print(&text, &d);
    c->schedule = text_string(&text);
}

/* ---- Times ------------------------------------------------------------------------------- */

static bool fill_buffers(Calibration *c)
{
    bool fine = true;
    for (int i = 0; fine && i < c->arg_count; i++)
        fine = kn_buffer_alloc(c->cx, &c->buffers[i]) == KN_OK &&
               kn_fill_noise(c->cx, &c->buffers[i], (uint64_t)i) == KN_OK;
    return fine;
}

/* The shortest of several runs, in ns; 0 after an error. */
static double best_run(Calibration *c, kn_module *module)
{
    double best = 0;
    int    runs = 0;
    for (double begin = seconds_now(), before = begin, now; runs < LEAST_RUNS || before - begin < trial_seconds;
         before = now, runs++) {
        if (kn_run(module, c->args, c->arg_count) != KN_OK)
            return 0;
        now  = seconds_now();
        best = runs == 0 || now - before < best ? now - before : best;
    }
    return 1e9 * best;
}

/* Measures the next pair of program and draft: all programs under the first draft, then all under the second, so that
 * the loop may stop at any time. Pairs that fail are skipped. */
static void try_next(Calibration *c)
{
    c->p        = kn_parse(c->cx, "calibrate", programs[c->tried % PROGRAMS], -1);
    c->schedule = NULL;
    context_begin(c->cx);
    if (!c->p || !context_call(c->cx, make_draft, c) || !c->schedule ||
        kn_schedule_parse(c->p, "varied", c->schedule, -1) != KN_OK)
        return;
    kn_module *module = kn_compile(c->p, NULL);
    if (module && fill_buffers(c))
        c->samples[c->sample_count].ns = best_run(c, module);
    c->sample_count += c->samples[c->sample_count].ns > 0;
    for (int i = 0; i < c->arg_count; i++)
        kn_buffer_free(c->cx, &c->buffers[i]);
}

/* ---- The call ---------------------------------------------------------------------------- */

static void begin(void *arg)
{
    Calibration *c = arg;
    c->machine     = machine_detect();
    machine_measure(c->cx, &c->machine);
    c->samples = ARENA_ARRAY(&c->arena, FitSample, PROGRAMS * DRAFTS);
}

/* Fits the speeds, if there are enough measurements. */
static void fit_speeds(void *arg)
{
    Calibration *c = arg;
    Text         out;
    if (2 * c->sample_count < c->tried || !c->tried) {
        diag_status(c->cx, KN_ERROR_LIMIT,
                    c->tried ? "most of the programs that are measured could not be run"
                             : "stopped before anything was measured");
        return;
    }
    text_init(&out, &c->cx->call);
    const double error = fit_machine(c->samples, c->sample_count, &c->machine);
    text_printf(&out,
                "// Speeds of this machine, fitted by kiln calibrate to %d measured times; of two schedules of a "
                "program the predicted ratio is wrong by %.0f %% in the mean.\n",
                c->sample_count, 100 * error);
    machine_print_speeds(&out, &c->machine);
    c->text = text_string(&out);
}

const char *kn_calibrate(kn_context *cx, int (*progress)(void *user, int done, int all), void *user)
{
    if (!cx)
        return NULL;
    Calibration c = { .cx = cx };
    arena_init(&c.arena, cx);
    context_begin(cx);
    if (context_try(cx, begin, &c)) {
        for (; c.tried < PROGRAMS * DRAFTS && (!progress || progress(user, c.tried, PROGRAMS * DRAFTS)); c.tried++) {
            try_next(&c);
            kn_pipeline_free(c.p);
        }
        context_begin(cx);
        context_try(cx, fit_speeds, &c);
    }
    arena_free(&c.arena);
    return cx->status ? NULL : c.text;
}
