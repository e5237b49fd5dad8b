/* SPDX-License-Identifier: MIT */
/* A search for a fast schedule, by measured times (search.h).
 *
 * How     The search is that of schedulers/tune/. Its host here has workers (workers.h), a clock and a journal; with
 *         `simulate` it is a simulated one, which runs nothing. */
#include "api/tune/search.h"

#include <math.h>
#include <stdio.h>
#include <time.h>

#include "api/backend.h"
#include "api/compile.h"
#include "api/schedule.h"

/* Limits of a candidate, in seconds; that of a run is a least value. */
static const double compile_limit = 60, run_limit = 3;
static const double default_budget = 60;
/* Of the budget of a simulation, for the search; the rest is for the last check. */
static const double search_share = 0.94;

/* ---- The host ---------------------------------------------------------------------------- */

static double seconds(void *user)
{
    const Search *s = user;
    if (s->how->simulate)
        return s->simulation.seconds;
    return workers_now() - s->begun + s->journal.seconds;
}

static bool stops(void *user)
{
    return ((const Search *)user)->stopped;
}

/* Is there time left beyond that of the last check: fresh processes, and turns of at least their least length? */
static bool goes_on(void *user)
{
    const Search *s     = user;
    const double  turn  = fmax(s->workers.shortest, workers_turn(&s->workers));
    const double  check = TUNE_CHECK_ROUNDS * (s->opening + 2 * TUNE_CHECK_PAIRS * turn);
    return !s->stopped && seconds(user) + check < s->budget;
}

/* Kernels are refused where a constant size of their memory cannot be proved; else a schedule has to be taken. */
static bool is_bug(const Search *s, TuneFault fault)
{
    return fault && !(s->device && fault == TUNE_REFUSED);
}

/* Of a simulation: what a compiler would say. */
static bool accepts(void *user, const TuneTrial *trial)
{
    Search *s = user;
    Arena   scratch;
    arena_init(&scratch, s->p->cx);
    const bool taken = schedule_accepts_kernels(s->p, trial->text, &scratch);
    arena_free(&scratch);
    return taken;
}

static bool recall(void *user, const TuneTrial *trial, TuneOutcome *outcome)
{
    const Search *s = user;
    return journal_find(&s->journal, trial->key, outcome);
}

static const char *result_of(const TuneOutcome *o)
{
    if (o->fault)
        return tune_fault_names[o->fault];
    return o->verdict == TUNE_WON ? "faster" : "not faster";
}

static void tell_step(void *user, const TuneStep *step)
{
    Search *s = user;
    if (!step->recalled)
        journal_add(&s->journal, step->trial->key, step->outcome, step->seconds);
    s->busy = s->busy || step->spread > TUNE_BUSY;
    s->bugs += is_bug(s, step->outcome->fault);
    if (!s->how->step)
        return;
    const kn_tune_step told = {
        .number   = step->number,
        .what     = step->what,
        .result   = step->number           ? result_of(step->outcome)
                    : step->outcome->fault ? result_of(step->outcome)
                                           : "start",
        .reason   = step->trial->reason,
        .schedule = step->trial->text,
        .ratio    = step->outcome->ratio,
        .pairs    = step->outcome->pairs,
        .speedup  = step->speedup,
        .ms       = 1e-6 * step->outcome->ns,
        .seconds  = step->seconds,
        .left     = fmax(0, s->budget - step->seconds),
        .spread   = step->spread,
        .is_best  = !step->number || step->outcome->verdict == TUNE_WON,
        .is_fault = is_bug(s, step->outcome->fault),
        .is_busy  = step->spread > TUNE_BUSY,
        .recalled = step->recalled,
        .of       = s->of,
    };
    s->stopped = !s->how->step(s->how->user, &told) || s->stopped;
}

static void choose_host(Search *s)
{
    if (s->how->simulate) {
        s->simulation = (TuneSimulation){ .seed    = s->how->seed,
                                          .budget  = search_share * s->budget,
                                          .user    = s,
                                          .stops   = stops,
                                          .accepts = s->device ? accepts : NULL,
                                          .recall  = recall,
                                          .step    = tell_step };
        tune_simulate(&s->simulation);
        s->host = s->simulation.host;
        return;
    }
    s->host = (TuneHost){ .user = s, .seconds = seconds, .goes_on = goes_on, .recall = recall, .step = tell_step };
}

/* Workers have a `user` of their own. */
static void open_trials(void *user, TuneTrial *const *trials, int count)
{
    Search      *s     = user;
    const double begin = workers_now();
    workers_open(&s->workers, trials, count);
    s->opening = fmax(s->opening, workers_now() - begin);
}

static double sample(void *user, TuneTrial *trial)
{
    return workers_sample(&((Search *)user)->workers, trial);
}

static void close_trial(void *user, TuneTrial *trial)
{
    workers_close(&((Search *)user)->workers, trial);
}

static bool start_workers(Search *s)
{
    if (s->how->simulate)
        return true;
    s->host.open   = open_trials;
    s->host.sample = sample;
    s->host.close  = close_trial;
    s->workers     = (Workers){ .p             = s->p,
                                .options       = s->options,
                                .args          = s->args,
                                .arg_count     = s->count,
                                .device        = s->device,
                                .compile_limit = compile_limit,
                                .run_limit     = run_limit };
    return backend_load(s->p->cx, backend_loading()) && (!s->device || workers_find_device(&s->workers)) &&
           workers_begin(&s->workers, &s->arena);
}

/* ---- What is searched -------------------------------------------------------------------- */

typedef struct Rewriting {
    Search    *s;
    TuneSpace *space;
    bool       made;
} Rewriting;

static void try_rewriting(void *arg)
{
    Rewriting *r = arg;
    Search    *s = r->s;
    r->made      = schedule_rewritten(s->p, r->space->directives, &s->bound.binding, &s->arena, &r->space->graph);
}

/* The pipeline, and the pipeline with its windows by doubling, on a device also separated, where that is possible. 0
 * after diagnostics. */
static int make_spaces(Search *s)
{
    static const struct {
        const char *name;
        RuleId      rule;
        int (*print)(Text *out, const Graph *g);
        bool only_device;
    } rewrites[] = { { "auto (gpu), windows separated", RULE_SEPARATE, separating_print, true },
                     { "auto (gpu), windows by doubling", RULE_DOUBLE, doubling_print, false } };
    int count    = 1;
    s->spaces[0] = (TuneSpace){ .directives = "" };
    if (!graph_make(s->p, &s->arena, &s->bound.binding, &s->spaces[0].graph))
        return 0;
    for (size_t i = 0; i < sizeof rewrites / sizeof *rewrites; i++) {
        Text text;
        text_init(&text, &s->arena);
        if ((rewrites[i].only_device && !s->device) || !rewrites[i].print(&text, &s->spaces[0].graph))
            continue;
        s->spaces[count] =
            (TuneSpace){ .directives = text_string(&text), .name = rewrites[i].name, .rule = rewrites[i].rule };
        Rewriting r = { s, &s->spaces[count], false };
        count += context_attempt(s->p->cx, try_rewriting, &r) && r.made;
    }
    return count;
}

/* ---- The text ---------------------------------------------------------------------------- */

static void print_sizes(const Search *s, Text *out)
{
    for (size_t o = 0; o < s->p->outputs.count; o++) {
        const Box *box = &s->bound.binding.output[o];
        text_printf(out, "%s %s", o ? "," : "", s->p->outputs.at[o].name);
        for (int d = 0; d < s->p->outputs.at[o].func->rank; d++)
            text_printf(out, "%s%lld", d ? "x" : " ", (long long)(box->max[d] - box->min[d] + 1));
    }
}

static void print_machine(const Search *s, Text *out)
{
    const Machine *m = &s->machine;
    if (s->device)
        text_printf(out, "; kernels for %s, %d multiprocessors", target_of_device(s->device)->name, m->device.sms);
    else
        text_printf(out, "; %d thread%s, vectors of %d bits", m->cores, m->cores == 1 ? "" : "s", m->vector_bits);
}

static void print_title(Search *s, Text *out, const TuneResult *r)
{
    char         day[32] = "";
    const time_t now     = time(NULL);
    struct tm    date;
    const char  *name = s->device ? s->workers.device_name : kn_processor_name(s->p->cx);
    text_printf(out, "// Tuned by kiln tune (%s), for", s->algorithm->name);
    print_sizes(s, out);
    print_machine(s, out);
    if (s->how->simulate)
        text_printf(out, ", simulated with seed %llu.\n", (unsigned long long)s->how->seed);
    else if (localtime_r(&now, &date) && strftime(day, sizeof day, "%Y-%m-%d", &date))
        text_printf(out, ", on %s, %s.\n", *name ? name : "this machine", day);
    if (r->wrong >= 1)
        text_printf(out, "// It is the schedule of auto: none of %d candidates was found to be faster in %.0f s.\n",
                    r->candidates, seconds(s));
    else
        text_printf(out,
                    "// %.2f times as fast as auto, the median of %d pairs of turns; the chance that it is not faster "
                    "is below %.1g. %d candidates in %.0f s.\n",
                    r->speedup, r->pairs, r->wrong, r->candidates, seconds(s));
}

/* ---- The search -------------------------------------------------------------------------- */

/* What makes a search another one: its journal is of no use then. */
static const char *title_of(Search *s)
{
    Text out, graph;
    text_init(&out, &s->arena);
    text_init(&graph, &s->arena);
    graph_print(&graph, &s->spaces[0].graph);
    text_printf(&out, "%s, %s, seed %llu,", s->p->name, s->algorithm->name, (unsigned long long)s->how->seed);
    print_sizes(s, &out);
    print_machine(s, &out);
    text_printf(&out, "; program %llx", (unsigned long long)tune_key(text_string(&graph)));
    return text_string(&out);
}

static const TuneAlgorithm *find_algorithm(kn_context *cx, const char *name)
{
    const TuneAlgorithm *found = tune_algorithm(name ? name : tune_algorithms[0].name);
    const char         **names = ARENA_ARRAY(&cx->call, const char *, (size_t)tune_algorithm_count);
    for (int i = 0; i < tune_algorithm_count; i++)
        names[i] = tune_algorithms[i].name;
    if (!found)
        diag_unknown(cx, "there is no algorithm", name, "this version knows", names, (size_t)tune_algorithm_count);
    return found;
}

/* Options, machine and sizes. */
static bool understand(Search *s)
{
    kn_context *cx = s->p->cx;
    Targets     targets;
    s->algorithm = find_algorithm(cx, s->how->algorithm);
    if (!s->algorithm || !options_take(s->p, s->given, &s->options) ||
        !targets_parse(cx, s->options.target, "host", &targets))
        return false;
    s->device = targets.at[0].device;
    if (targets.host || targets.count > 1) {
        diag_status(cx, KN_ERROR_ARGUMENT, "kn_tune is for one target: a CPU, cuda or opencl");
        return false;
    }
    if (s->device && s->algorithm != &tune_algorithms[0]) {
        diag_status(cx, KN_ERROR_ARGUMENT, "the algorithm %s is for CPUs; %s tunes kernels", s->algorithm->name,
                    tune_algorithms[0].name);
        return false;
    }
    const ScheduleRequest request = { .scheduler   = "auto",
                                      .machine     = s->how->machine,
                                      .device      = s->device,
                                      .cores       = s->options.threads,
                                      .vector_bits = s->options.target ? targets.at[0].vector_bits : 0 };
    const bool            known =
        schedule_machine(s->p, &request, &s->machine) && schedule_sizes(s->p, s->args, s->count, &s->arena, &s->bound);
    if (s->device)
        schedule_fit_device(s->device, &s->machine);
    if (known)
        return true;
    if (!cx->error_count)
        diag_status(cx, KN_ERROR_ARGUMENT, "the sizes of outputs are not known: give inputs or sizes");
    return false;
}

bool search_prepare(Search *s)
{
    if (!understand(s))
        return false;
    s->space_count = make_spaces(s);
    choose_host(s);
    return s->space_count &&
           (!s->how->journal ||
            journal_open(s->p->cx, &s->journal, &s->arena, s->how->journal, title_of(s), s->how->resume)) &&
           start_workers(s);
}

int search_batch(const Search *s)
{
    enum { MOST_BATCH = 16 };
    const int cores = s->machine.cores;
    return cores < 1 ? 1 : cores > MOST_BATCH ? MOST_BATCH : cores;
}

static void give_result(Search *s, const TuneResult *r, kn_tuned *result)
{
    Text out;
    text_init(&out, &s->p->cx->call);
    print_title(s, &out, r);
    text_add(&out, r->text);
    *result = (kn_tuned){ .schedule   = text_string(&out),
                          .speedup    = r->speedup,
                          .wrong      = r->wrong,
                          .checked    = r->checked,
                          .candidates = r->candidates,
                          .won        = r->won,
                          .faults     = s->bugs,
                          .start_ms   = 1e-6 * r->start_ns,
                          .best_ms    = 1e-6 * r->best_ns,
                          .seconds    = seconds(s),
                          .spread     = r->spread,
                          .is_busy    = s->busy };
}

void search_run(Search *s, kn_tuned *out)
{
    TuneResult    result;
    const TuneJob job = { .cx          = s->p->cx,
                          .m           = &s->machine,
                          .spaces      = s->spaces,
                          .space_count = s->space_count,
                          .options     = { .budget = 2, .no_products = s->device == DEVICE_OPENCL },
                          .device      = s->device,
                          .host        = &s->host,
                          .seed        = s->how->seed,
                          .batch       = search_batch(s),
                          .most        = s->how->candidates,
                          .population  = s->how->population,
                          .generations = s->how->generations };
    s->tuner          = tune_begin(&job, &s->arena);
    tune_run(s->tuner, s->algorithm, &s->arena, &result);
    give_result(s, &result, out);
}

void search_begin(Search *s)
{
    s->begun      = workers_now();
    s->budget     = s->how->seconds > 0 ? s->how->seconds : default_budget;
    s->journal.fd = -1;
    arena_init(&s->arena, s->p->cx);
}

void search_end(Search *s)
{
    workers_end(&s->workers);
    journal_close(&s->journal);
    if (s->tuner)
        tune_end(s->tuner);
    arena_free(&s->arena);
}
