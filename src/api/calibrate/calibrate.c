/* SPDX-License-Identifier: MIT */
/* Calibrating: this machine, as the cost model sees it.
 *
 * Takes   the curves of its memory (schedulers/model/curve.h), which give the caches and their rates; then small
 *         pipelines of many kinds (a table below), each under drafts of many kinds (schedulers/search/varied.c).
 * Gives   the speeds that explain their measured times best (schedulers/model/fit.c), as lines that machine_parse
 *         reads. The search for them begins at those of the curves, and of loops that do nothing else
 *         (schedulers/model/machine_measure.c).
 * Check   Other small programs are scheduled by `auto` for the machine as it was known before and as it was found.
 *         Where the schedules differ they are timed in turns. If the new ones are slower, the old figures are kept.
 * Why     What a cache line or a row costs depends on the processor, its neighbours and this compiler together. No data
 *         sheet says it. */
#include "api/calibrate/calibrate.h"
#include "api/compile.h"
#include "schedulers/model/fit.h"
#include "schedulers/search/schedulers.h"

#include <math.h>
#include <time.h>

/* What the speeds are fitted to. */
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
enum { PROGRAMS = sizeof programs / sizeof *programs, DRAFTS = 6, MOST_PORTS = 4, LEAST_RUNS = 3 };

/* What the result is checked on: a chain of stencils, a step of a pyramid, a maximum over a window, a pointwise
 * function with a table, a separable filter with its use, a reduction over a disc whose steps read by data,
 * products of gradients, means and variances, a filter of a volume, scans both ways, a pyramid, and a histogram. */
const char *const calibrate_checks[] = {
    "input in : f32(x, y) output out e = edge(in) a(x, y) = e(x-1, y) + e(x+1, y) + e(x, y-1) + e(x, y+1) b(x, y) = "
    "a(x-1, y) + a(x+1, y) + a(x, y-1) + a(x, y+1) c(x, y) = b(x-1, y) + b(x+1, y) + b(x, y-1) + b(x, y+1) out(x, y) = "
    "c(x-1, y) + c(x+1, y) + c(x, y-1) + c(x, y+1) estimate out(2048, 1536)",
    "input in : f32(x, y) output out e = edge(in) dx(x, y) = (e(2*x-1, y) + 3*e(2*x, y) + 3*e(2*x+1, y) + e(2*x+2, y)) "
    "/ 8 d(x, y) = (dx(x, 2*y-1) + 3*dx(x, 2*y) + 3*dx(x, 2*y+1) + dx(x, 2*y+2)) / 8 ux(x, y) = (3*d(x/2, y) + "
    "d(x/2 + 2*(x%2) - 1, y)) / 4 u(x, y) = (3*ux(x, y/2) + ux(x, y/2 + 2*(y%2) - 1)) / 4 out(x, y) = e(x, y) - u(x, "
    "y) estimate out(2048, 1536)",
    "input in : u8(x, y) output out e = edge(in) m(x, y) = max(e(x+i, y) for i in -7..8) n(x, y) = max(m(x, y+j) for j "
    "in -7..8) out(x, y) = n(x, y) - e(x, y) estimate out(2048, 1536)",
    "input in : u8(x, y, c) input table : f32(i) output out g(x, y) = (i32(in(x, y, 0)) + 2*in(x, y, 1) + in(x, y, "
    "2)) / 4 out(x, y, c) = table(g(x, y)) * in(x, y, c) estimate out(1536, 1024, 3)",
    "input in : f32(x, y, c) output out e = edge(in) h(x, y, c) = (e(x-2, y, c) + 4*e(x-1, y, c) + 6*e(x, y, c) + "
    "4*e(x+1, y, c) + e(x+2, y, c)) / 16 v(x, y, c) = (h(x, y-2, c) + 4*h(x, y-1, c) + 6*h(x, y, c) + 4*h(x, y+1, c) + "
    "h(x, y+2, c)) / 16 out(x, y, c) = 2*in(x, y, c) - v(x, y, c) estimate out(1536, 1024, 3)",
    "input in : f32(x, y) output out const R = 26 def slice(t) = 31 - clz(2*t + 1) m(x, y, s) = edge(in)(x, y) m(x, y, "
    "s) = max(m(x, y, s-1), m(x, y + (1 << (s-1)), s-1)) for s in 1..slice(R + 1) + 1 v(x, y, t) = max(m(x, y-t, "
    "slice(t)), m(x, y+t+1 - (1 << slice(t)), slice(t))) h(i) = sum(i32(f32(i*i + d*d) < 689.06) for d in 0..R+1) "
    "out(x, y) = max(v(x+i, y, clamp(h(i), 0, R+1)) for i in -R..R+1) estimate out(1024, 768)",
    "input in : f32(x, y) output out e = edge(in) p(x, y) = e(x+1, y) - e(x-1, y) q(x, y) = e(x, y+1) - e(x, y-1) "
    "a(x, y) = sum(p(x+i, y+j) * p(x+i, y+j) for i in -1..2, j in -1..2) b(x, y) = sum(q(x+i, y+j) * q(x+i, y+j) for i "
    "in -1..2, j in -1..2) c(x, y) = sum(p(x+i, y+j) * q(x+i, y+j) for i in -1..2, j in -1..2) out(x, y) = a(x, y) * "
    "b(x, y) - c(x, y) * c(x, y) estimate out(2048, 1536)",
    "input in : f32(x, y) output out e = edge(in) r(x, y) = sum(e(x+i, y) for i in -8..9) q(x, y) = sum(e(x+i, y) * "
    "e(x+i, y) for i in -8..9) m(x, y) = sum(r(x, y+j) for j in -8..9) / 289 v(x, y) = sum(q(x, y+j) for j in -8..9) "
    "/ 289 - m(x, y) * m(x, y) a(x, y) = v(x, y) / (v(x, y) + 1) s(x, y) = sum(a(x+i, y) for i in -8..9) out(x, y) = "
    "sum(s(x, y+j) for j in -8..9) / 289 * (e(x, y) - m(x, y)) estimate out(1920, 1080)",
    "input in : f32(x, y, z) output out e = edge(in) a(x, y, z) = e(x-1, y, z) + 2*e(x, y, z) + e(x+1, y, z) b(x, y, "
    "z) = a(x, y-1, z) + 2*a(x, y, z) + a(x, y+1, z) out(x, y, z) = b(x, y, z-1) + 2*b(x, y, z) + b(x, y, z+1) "
    "estimate out(256, 256, 128)",
    "input in : f32(x, y) output out s(x, y) = in(x, y) s(x, j) = 0.5*s(x, j-1) + 0.5*in(x, j) for j in 1..in.height "
    "t(x, y) = s(x, y) t(i, y) = 0.5*t(i-1, y) + 0.5*s(i, y) for i in 1..in.width out(x, y) = t(x, y) - in(x, y) "
    "estimate out(2048, 1536)",
    "input in : f32(x, y, c) output out def d(f, x, y, c) = (f(2*x, 2*y, c) + f(2*x+1, 2*y, c) + f(2*x, 2*y+1, c) + "
    "f(2*x+1, 2*y+1, c)) / 4 e = edge(in) a(x, y, c) = d(e, x, y, c) b(x, y, c) = d(a, x, y, c) g(x, y, c) = d(b, x, "
    "y, c) h(x, y, c) = b(x, y, c) + g(x/2, y/2, c) k(x, y, c) = a(x, y, c) + h(x/2, y/2, c) out(x, y, c) = e(x, y, "
    "c) + k(x/2, y/2, c) estimate out(1920, 1080, 3)",
    "input in : u8(x, y) output out n(i) = 0 n(i32(in(u, v))) += 1 for v in 0..in.height, u in 0..in.width s(i) = "
    "n(i) s(i) = s(i-1) + n(i) for i in 1..256 out(x, y) = s(i32(in(x, y))) estimate out(2048, 1536)",
};
_Static_assert(sizeof calibrate_checks / sizeof *calibrate_checks == CALIBRATE_CHECKS, "there is a ratio for each");

static const double trial_seconds = 0.06, check_seconds = 0.25;
static const double measuring_seconds = 13;   /* no more trials after so many: the machine has a slow moment */
static const double noise             = 0.01; /* chosen: how much slower the checks may be in the geometric mean, */
static const double noise_of_one      = 0.05; /* and each of them */

typedef struct Calibration {
    kn_context *cx;
    Arena       arena; /* of what outlives the calls of the library */
    const char *before_text;
    Calibrated  result;
    CurveBench *bench;
    int (*progress)(void *user, int done, int all);
    void  *user;
    int    done, all; /* steps */
    double begun;     /* seconds */
    bool   stopped;

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

/* Is the next step to be made? */
static bool goes_on(Calibration *c)
{
    c->stopped = c->stopped || (c->progress && !c->progress(c->user, c->done, c->all));
    c->done += !c->stopped;
    return !c->stopped;
}

/* ---- Curves ------------------------------------------------------------------------------ */

static void measure_curve(Calibration *c, bool all, Curve *curve)
{
    for (int i = 0; i < curve->count && goes_on(c); i++)
        curve_measure(c->bench, all, i, curve);
}

static void measure_curves(Calibration *c)
{
    Calibrated *r = &c->result;
    measure_curve(c, false, &r->one);
    if (r->reported.cores > 1)
        measure_curve(c, true, &r->all);
    else
        r->all = r->one;
    if (!c->stopped)
        r->found = curve_apply(&r->one, &r->all, &r->measured);
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

/* Ports as large as the estimate needs them. */
static bool find_ports(Calibration *c, Graph *g)
{
    Arena        *arena   = &c->cx->call;
    const RunArgs binding = graph_binding(c->p, arena);
    c->arg_count          = 0;
    if (!graph_make(c->p, arena, &binding, g))
        return false;
    for (int s = 0; s < g->node_count; s++)
        note_port(c, &g->nodes[s]);
    return true;
}

static void make_draft(void *arg)
{
    Calibration           *c       = arg;
    Arena                 *arena   = &c->cx->call;
    const SchedulerOptions options = { .number = c->tried / PROGRAMS };
    FitSample             *sample  = &c->samples[c->sample_count];
    Graph                  g;
    Text                   text;
    if (!find_ports(c, &g))
        return;
    const Draft d = scheduler_varied(&g, &c->result.measured, &options, arena);
    *sample       = (FitSample){ .group_count = d.group_count,
                                 .program     = c->tried % PROGRAMS,
                                 .terms       = arena_array(&c->arena, (size_t)d.group_count, sizeof *sample->terms) };
    for (int i = 0; i < d.group_count; i++) {
        GroupCost cost;
        cost_group(&d, i, &c->result.measured, NULL, &cost);
        memcpy(sample->terms[i], cost.term, sizeof cost.term);
    }
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

static void free_buffers(Calibration *c)
{
    for (int i = 0; i < c->arg_count; i++)
        kn_buffer_free(c->cx, &c->buffers[i]);
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
    free_buffers(c);
}

/* ---- The check --------------------------------------------------------------------------- */

/* A program with a schedule of its own. */
typedef struct Contender {
    kn_pipeline *p;
    kn_module   *module;
    const char  *schedule;
    double       best; /* seconds */
} Contender;

static void find_check_ports(void *arg)
{
    Graph g;
    find_ports(arg, &g);
}

/* The lines that are no comments: these say what is predicted, which differs always. */
static const char *schedule_alone(Arena *arena, const char *text)
{
    Text out;
    text_init(&out, arena);
    for (size_t n; *text; text += n) {
        n = strcspn(text, "\n");
        n += text[n] == '\n';
        if (strncmp(text, "//", 2))
            text_printf(&out, "%.*s", (int)n, text);
    }
    return text_string(&out);
}

/* Schedules a check for a machine. */
static bool enter(Calibration *c, int check, const Machine *m, Contender *e)
{
    Text machine;
    *e = (Contender){ .p = kn_parse(c->cx, "calibrate", calibrate_checks[check], -1) };
    text_init(&machine, &c->arena);
    machine_print(&machine, m);
    const char *made = e->p ? kn_schedule_make(e->p, NULL, text_string(&machine), NULL, NULL, 0) : NULL;
    e->schedule      = made ? schedule_alone(&c->arena, made) : NULL;
    return e->schedule;
}

static bool build(Contender *e)
{
    if (kn_schedule_parse(e->p, "auto", e->schedule, -1) == KN_OK)
        e->module = kn_compile(e->p, NULL);
    return e->module;
}

/* Runs both in turns; the first run of each warms the caches up. */
static bool take_turns(Calibration *c, Contender *pair)
{
    int turns = 0;
    for (double begin = seconds_now(); turns <= LEAST_RUNS || seconds_now() - begin < check_seconds; turns++)
        for (int i = 0; i < 2; i++) {
            const double before = seconds_now();
            if (kn_run(pair[i].module, c->args, c->arg_count) != KN_OK)
                return false;
            const double took = seconds_now() - before;
            if (turns == 1 || (turns > 1 && took < pair[i].best))
                pair[i].best = took;
        }
    return pair[0].best > 0;
}

/* Checks that fail count as unchanged. */
static void check_one(Calibration *c, int check)
{
    Calibrated *r       = &c->result;
    Contender   pair[2] = { { 0 } };
    double      ratio   = 1;
    if (enter(c, check, &r->before, &pair[0]) && enter(c, check, &r->measured, &pair[1]) &&
        strcmp(pair[0].schedule, pair[1].schedule)) {
        r->changed++;
        c->p = pair[0].p;
        context_begin(c->cx);
        if (context_call(c->cx, find_check_ports, c) && build(&pair[0]) && build(&pair[1]) && fill_buffers(c) &&
            take_turns(c, pair))
            ratio = pair[1].best / pair[0].best;
        free_buffers(c);
    }
    for (int i = 0; i < 2; i++)
        if (pair[i].p)
            kn_pipeline_free(pair[i].p);
    r->ratio[r->checks++] = ratio;
}

static double mean_ratio(const Calibrated *c)
{
    double sum = 0;
    for (int i = 0; i < c->checks; i++)
        sum += log(c->ratio[i]);
    return c->checks ? exp(sum / c->checks) : 1;
}

bool calibrated_is_worse(const Calibrated *c)
{
    bool worse = mean_ratio(c) > 1 + noise;
    for (int i = 0; i < c->checks; i++)
        worse |= c->ratio[i] > 1 + noise_of_one;
    return worse;
}

/* ---- The text ---------------------------------------------------------------------------- */

static void print_check(Text *out, const Calibrated *c)
{
    if (!c->checks) {
        text_add(out, "// Not checked: it was stopped.\n");
        return;
    }
    text_printf(out, "// Checked: %d of %d programs are scheduled differently; the times over those before are",
                c->changed, c->checks);
    for (int i = 0; i < c->checks; i++)
        text_printf(out, " %.2f", c->ratio[i]);
    text_printf(out, ", in the geometric mean %.2f.%s\n", mean_ratio(c),
                calibrated_is_worse(c) ? " So the old figures are kept." : "");
}

void calibrated_print(Text *out, const Calibrated *c)
{
    const Machine *used = calibrated_is_worse(c) ? &c->before : &c->measured;
    text_add(out, "// This machine, by kiln calibrate.\n//\n");
    found_print(out, &c->found, &c->reported, used);
    text_add(out, "//\n");
    curve_print(out, &c->one, &c->all, c->reported.cores);
    text_printf(
        out,
        "//\n// The speeds are fitted to %d measured times; of two schedules of a program the predicted ratio is "
        "wrong by %.0f %% in the mean.\n",
        c->times, 100 * c->fit_error);
    print_check(out, c);
    machine_print_measured(out, used);
}

/* ---- The call ---------------------------------------------------------------------------- */

static void begin(void *arg)
{
    Calibration *c = arg;
    Calibrated  *r = &c->result;
    r->reported    = machine_detect();
    r->before      = r->reported;
    if (c->before_text && !machine_parse(c->cx, "machine", c->before_text, &r->before))
        return;
    r->measured = r->reported;
    machine_measure(&r->measured);
    c->samples = ARENA_ARRAY(&c->arena, FitSample, PROGRAMS * DRAFTS);
    c->bench   = curve_bench_new(c->cx, &r->reported);
    if (c->bench) {
        r->one = curve_begin(c->bench, false);
        r->all = curve_begin(c->bench, true);
    }
    c->all = r->one.count + (r->reported.cores > 1 ? r->all.count : 0) + PROGRAMS * DRAFTS + CALIBRATE_CHECKS;
}

/* Fits the speeds, if there are enough measurements. */
static void fit_speeds(void *arg)
{
    Calibration *c = arg;
    Calibrated  *r = &c->result;
    if (2 * c->sample_count < c->tried || !c->tried) {
        diag_status(c->cx, KN_ERROR_LIMIT,
                    c->tried ? "most of the programs that are measured could not be run"
                             : "stopped before anything was measured");
        return;
    }
    r->times     = c->sample_count;
    r->fit_error = fit_machine(c->samples, c->sample_count, &r->measured);
}

static void write_text(void *arg)
{
    Calibration *c = arg;
    Text         out;
    text_init(&out, &c->cx->call);
    calibrated_print(&out, &c->result);
    c->text = text_string(&out);
}

static void measure_all(Calibration *c)
{
    measure_curves(c);
    curve_bench_free(c->cx, c->bench);
    for (; c->tried < PROGRAMS * DRAFTS && seconds_now() - c->begun < measuring_seconds && goes_on(c); c->tried++) {
        try_next(c);
        kn_pipeline_free(c->p);
    }
    context_begin(c->cx);
    if (!context_try(c->cx, fit_speeds, c) || c->cx->status)
        return;
    for (int i = 0; i < CALIBRATE_CHECKS && goes_on(c); i++)
        check_one(c, i);
    context_begin(c->cx);
    context_try(c->cx, write_text, c);
}

const char *kn_calibrate(kn_context *cx, const char *before, int (*progress)(void *user, int done, int all), void *user)
{
    if (!cx)
        return NULL;
    Calibration c = { .cx = cx, .before_text = before, .progress = progress, .user = user, .begun = seconds_now() };
    arena_init(&c.arena, cx);
    context_begin(cx);
    if (context_try(cx, begin, &c) && !cx->status)
        measure_all(&c);
    arena_free(&c.arena);
    return cx->status ? NULL : c.text;
}
