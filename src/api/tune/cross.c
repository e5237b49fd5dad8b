/* SPDX-License-Identifier: MIT */
/* kn_cross: schedules that were tuned for one size or machine, run on others.
 *
 * Takes   cases: a size, a machine, a schedule or none.
 * Gives   a table of slowdowns: the time of each schedule in each case over that of the case's own.
 * How     Each case is a search (search.h), whose host then times the schedules of all cases. A simulated host needs
 *         what the model predicts of them: a draft that was found for one graph is one of the other graphs too, which
 *         are of the same functions. */
#include "api/tune/search.h"

#include "api/schedule.h"

enum { MOST_CASES = 16 };

typedef struct Case {
    const kn_cross_case *given;
    kn_tune_options      how;
    Search               search;
    const char          *text;
    bool                 begun, is_column;
} Case;

typedef struct Cross {
    kn_pipeline           *p;
    const kn_options      *options;
    const kn_tune_options *how;
    int                    count;
    Case                   at[MOST_CASES];
    kn_crossed            *out;
} Cross;

/* ---- Searches ---------------------------------------------------------------------------- */

static void begin_case(Cross *x, int i)
{
    Case *c        = &x->at[i];
    c->how         = *x->how;
    c->how.journal = NULL;
    c->how.seed    = x->how->seed + (uint64_t)i;
    c->is_column   = c->given->args && (x->how->simulate || !c->given->machine);
    if (c->given->machine) {
        c->how.machine  = c->given->machine;
        c->how.simulate = true;
    }
    c->search = (Search){
        .p = x->p, .given = x->options, .how = &c->how, .args = c->given->args, .count = c->given->count, .of = i
    };
    search_begin(&c->search);
    c->begun = true;
}

/* A schedule that was given is known; what cannot be run needs a search alone. */
static bool find_schedule(const Cross *x, Case *c)
{
    c->text = c->given->schedule;
    if (c->text && x->how->simulate) {
        diag_status(x->p->cx, KN_ERROR_ARGUMENT, "a schedule cannot be given to a simulation of kn_cross");
        return false;
    }
    if (!c->text && !c->given->args) {
        diag_status(x->p->cx, KN_ERROR_ARGUMENT, "a case of kn_cross has neither arguments nor a schedule");
        return false;
    }
    if (!c->is_column && c->text)
        return true;
    kn_tuned found;
    if (!search_prepare(&c->search))
        return false;
    if (c->text)
        return true;
    search_run(&c->search, &found);
    c->text = arena_strdup(&c->search.arena, found.schedule); /* workers begin calls of their own */
    return true;
}

/* ---- Predictions ------------------------------------------------------------------------- */

typedef struct Prediction {
    const Case *row;
    Case       *column;
    double      ns;
} Prediction;

static void predict(void *arg)
{
    Prediction     *a     = arg;
    Search         *s     = &a->column->search;
    const TuneFound found = tune_found(a->row->search.tuner);
    Graph           own, *graph = &s->spaces[0].graph;
    if (*found.space->directives) {
        graph = &own;
        if (!schedule_rewritten(s->p, found.space->directives, &s->bound.binding, &s->arena, graph))
            return;
    }
    a->ns = tune_predict(&found, graph, &s->machine, &s->arena);
}

/* The trial of a row in a column: of a simulation with what its model predicts. */
static TuneTrial trial_of(const Case *row, Case *column)
{
    kn_context *cx    = column->search.p->cx;
    TuneTrial   trial = { .text = row->text, .key = tune_key(row->text), .slot = -1 };
    Prediction  p     = { row, column, 0 };
    if (!column->how.simulate)
        return trial;
    trial.key      = tune_found(row->search.tuner).trial->key;
    cx->quota_left = cx->config.quota;
    if (!context_attempt(cx, predict, &p) || !(p.ns > 0))
        trial.fault = TUNE_REFUSED;
    trial.predicted = p.ns;
    return trial;
}

/* ---- The table --------------------------------------------------------------------------- */

static void fill_column(Cross *x, int j)
{
    Case      *column = &x->at[j];
    Arena     *arena  = &x->p->cx->call;
    TuneTrial *trials = ARENA_ARRAY(arena, TuneTrial, (size_t)x->count);
    TuneCell  *cells  = ARENA_ARRAY(arena, TuneCell, (size_t)x->count);
    for (int i = 0; i < x->count; i++)
        trials[i] = trial_of(&x->at[i], column);
    x->out->ms[j] =
        1e-6 * tune_column(&column->search.host, trials, x->count, j, search_batch(&column->search), arena, cells);
    for (int i = 0; i < x->count; i++)
        x->out->cells[i * x->count + j] =
            (kn_cross_cell){ cells[i].ratio, cells[i].chance, cells[i].fault ? tune_fault_names[cells[i].fault] : NULL,
                             cells[i].reason };
}

static void work(void *arg)
{
    Cross       *x     = arg;
    Arena       *arena = &x->p->cx->call;
    const size_t n     = (size_t)x->count;
    for (int i = 0; i < x->count; i++) {
        begin_case(x, i);
        if (!find_schedule(x, &x->at[i]))
            return;
    }
    x->out->schedules = ARENA_ARRAY(arena, const char *, n);
    x->out->ms        = ARENA_ARRAY(arena, double, n);
    x->out->cells     = ARENA_ARRAY(arena, kn_cross_cell, n * n);
    for (int i = 0; i < x->count; i++) {
        x->out->schedules[i] = arena_strdup(arena, x->at[i].text);
        if (x->at[i].is_column)
            fill_column(x, i);
    }
}

kn_status kn_cross(kn_pipeline *p, const kn_options *options, const kn_tune_options *how, const kn_cross_case *cases,
                   int count, kn_crossed *out)
{
    static const kn_tune_options defaults = { 0 };
    if (!p || !out || !cases || count < 1 || count > MOST_CASES)
        return KN_ERROR_ARGUMENT;
    Cross x = { .p = p, .options = options, .how = how ? how : &defaults, .count = count, .out = out };
    for (int i = 0; i < count; i++)
        x.at[i].given = &cases[i];
    *out = (kn_crossed){ 0 };
    context_begin(p->cx);
    context_call(p->cx, work, &x);
    for (int i = 0; i < count; i++)
        if (x.at[i].begun)
            search_end(&x.at[i].search);
    return p->cx->status;
}
