/* SPDX-License-Identifier: MIT */
/* kn_tune: a search for a fast schedule, by measured times.
 *
 * Takes   a pipeline, arguments as for kn_run, and how to search.
 * Gives   the text of a schedule, with comments that say where, when and how surely it was found to be how much faster.
 * How     The search is that of schedulers/tune/. Its host here has workers (workers.h), a clock and a journal; with
 *         `simulate` it is a simulated one, which runs nothing. */
#include <math.h>
#include <stdio.h>
#include <time.h>

#include "api/arguments.h"
#include "api/backend.h"
#include "api/compile.h"
#include "api/schedule.h"
#include "api/tune/journal.h"
#include "api/tune/workers.h"

/* Limits of a candidate, in seconds; that of a run is a least value. */
static const double compile_limit = 60, run_limit = 3;
static const double default_budget = 60;
/* Of the budget of a simulation, for the search; the rest is for the last check. */
static const double search_share = 0.94;

typedef struct Tune {
    kn_pipeline           *p;
    const kn_options      *given;
    const kn_tune_options *how;
    const kn_arg          *args;
    int                    count;
    kn_tuned              *out;
    Arena                  arena; /* lives as long as the call; cx->call would not, in workers */
    Workers                workers;
    Journal                journal;
    TuneSimulation         simulation;
    TuneHost               host;
    TuneSpace              spaces[TUNE_SPACES];
    Tuner                 *tuner;
    Machine                machine;
    double                 begun, budget;
    double                 opening; /* seconds that opening a batch took, at most */
    bool                   stopped, busy;
    int                    bugs;
} Tune;

/* ---- The host ---------------------------------------------------------------------------- */

static double seconds(void *user)
{
    const Tune *t = user;
    if (t->how->simulate)
        return t->simulation.seconds;
    return workers_now() - t->begun + t->journal.seconds;
}

static bool stops(void *user)
{
    return ((const Tune *)user)->stopped;
}

/* Is there time left beyond that of the last check: fresh processes, and turns of at least 4 ms? */
static bool goes_on(void *user)
{
    const double least_turn = 0.004;
    const Tune  *t          = user;
    const double turn       = t->workers.shortest > least_turn ? t->workers.shortest : least_turn;
    const double check      = TUNE_CHECK_ROUNDS * (t->opening + 2 * TUNE_CHECK_PAIRS * turn);
    return !t->stopped && seconds(user) + check < t->budget;
}

static bool recall(void *user, const TuneTrial *trial, TuneOutcome *outcome)
{
    const Tune *t = user;
    return journal_find(&t->journal, trial->key, outcome);
}

static const char *result_of(const TuneOutcome *o)
{
    if (o->fault)
        return tune_fault_names[o->fault];
    return o->verdict == TUNE_WON ? "faster" : "not faster";
}

static void tell_step(void *user, const TuneStep *step)
{
    Tune *t = user;
    if (!step->recalled)
        journal_add(&t->journal, step->trial->key, step->outcome, step->seconds);
    t->busy = t->busy || step->spread > TUNE_BUSY;
    t->bugs += step->outcome->fault != TUNE_FINE;
    if (!t->how->step)
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
        .left     = fmax(0, t->budget - step->seconds),
        .spread   = step->spread,
        .is_best  = !step->number || step->outcome->verdict == TUNE_WON,
        .is_fault = step->outcome->fault != TUNE_FINE,
        .is_busy  = step->spread > TUNE_BUSY,
        .recalled = step->recalled,
    };
    t->stopped = !t->how->step(t->how->user, &told) || t->stopped;
}

static void choose_host(Tune *t)
{
    if (t->how->simulate) {
        t->simulation = (TuneSimulation){ .seed   = t->how->seed,
                                          .budget = search_share * t->budget,
                                          .user   = t,
                                          .stops  = stops,
                                          .recall = recall,
                                          .step   = tell_step };
        tune_simulate(&t->simulation);
        t->host = t->simulation.host;
        return;
    }
    t->host = (TuneHost){ .user = t, .seconds = seconds, .goes_on = goes_on, .recall = recall, .step = tell_step };
}

/* Workers have a `user` of their own. */
static void open_trials(void *user, TuneTrial *const *trials, int count)
{
    Tune        *t     = user;
    const double begin = workers_now();
    workers_open(&t->workers, trials, count);
    t->opening = fmax(t->opening, workers_now() - begin);
}

static double sample(void *user, TuneTrial *trial)
{
    return workers_sample(&((Tune *)user)->workers, trial);
}

static void close_trial(void *user, TuneTrial *trial)
{
    workers_close(&((Tune *)user)->workers, trial);
}

static bool start_workers(Tune *t, const kn_options *options)
{
    if (t->how->simulate)
        return true;
    t->host.open   = open_trials;
    t->host.sample = sample;
    t->host.close  = close_trial;
    t->workers     = (Workers){ .p             = t->p,
                                .options       = *options,
                                .args          = t->args,
                                .arg_count     = t->count,
                                .compile_limit = compile_limit,
                                .run_limit     = run_limit };
    return backend_load(t->p->cx, backend_loading()) && workers_begin(&t->workers, &t->arena);
}

/* ---- What is searched -------------------------------------------------------------------- */

typedef struct Doubled {
    Tune          *t;
    TuneSpace     *space;
    const RunArgs *binding;
    bool           made;
} Doubled;

static void try_doubled(void *arg)
{
    Doubled *d = arg;
    d->made    = schedule_rewritten(d->t->p, d->space->directives, d->binding, &d->t->arena, &d->space->graph);
}

/* The pipeline, and the pipeline with its windows by doubling where that is possible. 0 after diagnostics. */
static int make_spaces(Tune *t, const Arguments *a)
{
    TuneSpace *spaces = t->spaces;
    Text       text;
    text_init(&text, &t->arena);
    spaces[0].directives = "";
    if (!graph_make(t->p, &t->arena, &a->binding, &spaces[0].graph))
        return 0;
    const int windows    = doubling_print(&text, &spaces[0].graph);
    spaces[1].directives = text_string(&text);
    Doubled d            = { t, &spaces[1], &a->binding, false };
    return windows && context_attempt(t->p->cx, try_doubled, &d) && d.made ? 2 : 1;
}

/* ---- The text ---------------------------------------------------------------------------- */

static void print_sizes(Text *out, const kn_pipeline *p, const Arguments *a)
{
    for (size_t o = 0; o < p->outputs.count; o++) {
        const Box *box = &a->binding.output[o];
        text_printf(out, "%s %s", o ? "," : "", p->outputs.at[o].name);
        for (int d = 0; d < p->outputs.at[o].func->rank; d++)
            text_printf(out, "%s%lld", d ? "x" : " ", (long long)(box->max[d] - box->min[d] + 1));
    }
}

static void print_title(const Tune *t, Text *out, const Arguments *a, const char *algorithm, const TuneResult *r)
{
    char           day[32] = "";
    const time_t   now     = time(NULL);
    struct tm      date;
    const Machine *m    = &t->machine;
    const char    *name = kn_processor_name(t->p->cx);
    text_printf(out, "// Tuned by kiln tune (%s), for", algorithm);
    print_sizes(out, t->p, a);
    text_printf(out, "; %d thread%s, vectors of %d bits", m->cores, m->cores == 1 ? "" : "s", m->vector_bits);
    if (t->how->simulate)
        text_printf(out, ", simulated with seed %llu.\n", (unsigned long long)t->how->seed);
    else if (localtime_r(&now, &date) && strftime(day, sizeof day, "%Y-%m-%d", &date))
        text_printf(out, ", on %s, %s.\n", *name ? name : "this machine", day);
    if (r->wrong >= 1)
        text_printf(out, "// It is the schedule of auto: none of %d candidates was found to be faster in %.0f s.\n",
                    r->candidates, seconds((void *)(uintptr_t)t));
    else
        text_printf(out,
                    "// %.2f times as fast as auto, the median of %d pairs of turns; the chance that it is not faster "
                    "is below %.1g. %d candidates in %.0f s.\n",
                    r->speedup, r->pairs, r->wrong, r->candidates, seconds((void *)(uintptr_t)t));
}

/* ---- The call ---------------------------------------------------------------------------- */

/* What makes a search another one: its journal is of no use then. */
static const char *title_of(Tune *t, const Arguments *a, const char *algorithm)
{
    Text out, graph;
    text_init(&out, &t->arena);
    text_init(&graph, &t->arena);
    graph_print(&graph, &t->spaces[0].graph);
    text_printf(&out, "%s, %s, seed %llu,", t->p->name, algorithm, (unsigned long long)t->how->seed);
    print_sizes(&out, t->p, a);
    text_printf(&out, "; %d threads, vectors of %d bits; program %llx", t->machine.cores, t->machine.vector_bits,
                (unsigned long long)tune_key(text_string(&graph)));
    return text_string(&out);
}

static void give_result(Tune *t, const Arguments *a, const char *algorithm, const TuneResult *r)
{
    Text out;
    text_init(&out, &t->p->cx->call);
    print_title(t, &out, a, algorithm, r);
    text_add(&out, r->text);
    *t->out = (kn_tuned){ .schedule   = text_string(&out),
                          .speedup    = r->speedup,
                          .wrong      = r->wrong,
                          .checked    = r->checked,
                          .candidates = r->candidates,
                          .won        = r->won,
                          .faults     = t->bugs,
                          .start_ms   = 1e-6 * r->start_ns,
                          .best_ms    = 1e-6 * r->best_ns,
                          .seconds    = seconds(t),
                          .spread     = r->spread,
                          .is_busy    = t->busy };
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

/* Threads that run at a time: as many candidates are compiled at once. */
static int batch_of(const Machine *m)
{
    enum { MOST_BATCH = 16 };
    return m->cores < 1 ? 1 : m->cores > MOST_BATCH ? MOST_BATCH : m->cores;
}

static void work(void *arg)
{
    Tune                *t  = arg;
    kn_context          *cx = t->p->cx;
    kn_options           options;
    Targets              targets;
    Arguments            a;
    TuneResult           result;
    const TuneAlgorithm *algorithm = find_algorithm(cx, t->how->algorithm);
    if (!algorithm || !options_take(t->p, t->given, &options) || !targets_parse(cx, options.target, "host", &targets))
        return;
    if (targets.at[0].device) {
        diag_status(cx, KN_ERROR_ARGUMENT, "kn_tune is for CPUs; schedules of kernels are not tuned yet");
        return;
    }
    const ScheduleRequest request = { .scheduler   = "auto",
                                      .machine     = t->how->machine,
                                      .cores       = options.threads,
                                      .vector_bits = options.target ? targets.at[0].vector_bits : 0 };
    if (!schedule_machine(t->p, &request, &t->machine) || !schedule_sizes(t->p, t->args, t->count, &t->arena, &a)) {
        if (!cx->error_count)
            diag_status(cx, KN_ERROR_ARGUMENT, "the sizes of outputs are not known: give inputs or sizes");
        return;
    }
    const int space_count = make_spaces(t, &a);
    choose_host(t);
    if (!space_count)
        return;
    if (t->how->journal &&
        !journal_open(cx, &t->journal, &t->arena, t->how->journal, title_of(t, &a, algorithm->name), t->how->resume))
        return;
    const TuneJob job = { .cx          = cx,
                          .m           = &t->machine,
                          .spaces      = t->spaces,
                          .space_count = space_count,
                          .options     = { .budget = 2 },
                          .host        = &t->host,
                          .seed        = t->how->seed,
                          .batch       = batch_of(&t->machine),
                          .most        = t->how->candidates,
                          .population  = t->how->population,
                          .generations = t->how->generations };
    if (!start_workers(t, &options))
        return;
    t->tuner = tune_begin(&job, &t->arena);
    tune_run(t->tuner, algorithm, &t->arena, &result);
    give_result(t, &a, algorithm->name, &result);
}

typedef struct NameCall {
    kn_context *cx;
    const char *found, *name;
} NameCall;

static void keep_name(void *arg)
{
    NameCall *call = arg;
    call->name     = intern(call->cx, call->found);
}

const char *kn_processor_name(kn_context *cx)
{
    static const char field[] = "model name";
    char              line[256];
    if (!cx)
        return "";
    FILE *file  = fopen("/proc/cpuinfo", "r"); /* nothing is allocated while it is open */
    bool  found = false;
    while (file && !found && fgets(line, sizeof line, file))
        found = !strncmp(line, field, strlen(field));
    if (file)
        fclose(file);
    const char *colon = found ? strchr(line, ':') : NULL;
    if (!colon)
        return "";
    line[strcspn(line, "\n")] = 0;
    NameCall call             = { .cx = cx, .found = colon + 1 + strspn(colon + 1, " ") };
    return context_try(cx, keep_name, &call) ? call.name : "";
}

kn_pass kn_tune_algorithm_get(int index)
{
    if (index < 0 || index >= tune_algorithm_count)
        return (kn_pass){ 0 };
    return (kn_pass){ tune_algorithms[index].name, tune_algorithms[index].summary };
}

kn_status kn_tune(kn_pipeline *p, const kn_options *options, const kn_tune_options *how, const kn_arg *args, int count,
                  kn_tuned *out)
{
    if (!p || !out)
        return KN_ERROR_ARGUMENT;
    static const kn_tune_options defaults = { 0 };
    Tune t       = { .p = p, .given = options, .how = how ? how : &defaults, .args = args, .count = count, .out = out };
    *out         = (kn_tuned){ 0 };
    t.begun      = workers_now();
    t.budget     = t.how->seconds > 0 ? t.how->seconds : default_budget;
    t.journal.fd = -1;
    arena_init(&t.arena, p->cx);
    context_begin(p->cx);
    context_call(p->cx, work, &t);
    workers_end(&t.workers);
    journal_close(&t.journal);
    if (t.tuner)
        tune_end(t.tuner);
    arena_free(&t.arena);
    return p->cx->status;
}
