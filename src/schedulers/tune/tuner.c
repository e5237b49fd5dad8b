/* SPDX-License-Identifier: MIT */
/* What the algorithms share: the incumbent, what was tried, candidates and their races.
 *
 * Takes   a job (tune.h) and an algorithm.
 * Gives   the best schedule; at the end it is checked against that of `auto` with turns that no choice depended on.
 * Holds   Memory does not grow with the number of candidates, but for eight bytes of each: drafts of a round are freed
 *         with it, and what is kept has arenas of its own. The search is a function of the seed and of the outcomes, so
 *         that an interrupted search is repeated from a journal of them. */
#include "schedulers/tune/tuner_internal.h"

#include "schedulers/draft/pattern.h"
#include "schedulers/tune/kernel_edits.h"
#include "schedulers/tune/race.h"

const char *const tune_fault_names[TUNE_FAULTS] = {
    [TUNE_FINE] = "fine", [TUNE_REFUSED] = "refused",         [TUNE_CRASHED] = "crashed",
    [TUNE_HUNG] = "hung", [TUNE_NO_MEMORY] = "out of memory", [TUNE_WRONG] = "wrong",
};

const TuneAlgorithm tune_algorithms[] = {
    { "model", "edits of schedules, in the order of predictions that are corrected by what is measured",
      tune_by_model },
    { "genetic", "the genetic search of Ragan-Kelley et al. 2013, section 5", tune_genetic },
};
const int tune_algorithm_count = sizeof tune_algorithms / sizeof *tune_algorithms;

const TuneAlgorithm *tune_algorithm(const char *name)
{
    for (int i = 0; i < tune_algorithm_count; i++)
        if (!strcmp(tune_algorithms[i].name, name))
            return &tune_algorithms[i];
    return NULL;
}

uint64_t tune_key(const char *text)
{
    uint64_t key = 0xcbf29ce484222325u;
    for (; *text; text++)
        key = (key ^ (unsigned char)*text) * 0x100000001b3u;
    return key ? key : 1;
}

/* ---- What was tried --------------------------------------------------------------------- */

bool tuner_seen(const Tuner *t, uint64_t key)
{
    for (size_t i = key % t->seen_room; t->seen[i]; i = (i + 1) % t->seen_room)
        if (t->seen[i] == key)
            return true;
    return false;
}

static void insert(Tuner *t, uint64_t key)
{
    size_t i = key % t->seen_room;
    while (t->seen[i])
        i = (i + 1) % t->seen_room;
    t->seen[i] = key;
    t->seen_count++;
}

void tuner_mark(Tuner *t, uint64_t key)
{
    if (tuner_seen(t, key))
        return;
    if (2 * t->seen_count >= t->seen_room) {
        const uint64_t *before = t->seen;
        const size_t    room   = t->seen_room;
        t->seen_room           = 4 * room;
        t->seen                = ARENA_ARRAY(t->arena, uint64_t, t->seen_room);
        t->seen_count          = 0;
        for (size_t i = 0; i < room; i++)
            if (before[i])
                insert(t, before[i]);
    }
    insert(t, key);
}

/* ---- Candidates ------------------------------------------------------------------------- */

void tuner_round(Tuner *t)
{
    arena_free(&t->round);
    arena_init(&t->round, t->job.cx);
    for (int i = 0; i < t->job.space_count; i++)
        t->job.spaces[i].graph.arena = &t->round;
}

bool tuner_goes_on(Tuner *t)
{
    t->job.cx->quota_left = t->job.cx->config.quota;
    return (!t->job.most || t->number < t->job.most) && t->job.host->goes_on(t->job.host->user);
}

Tried tuner_candidate(const Tuner *t, Arena *arena, TuneSpace *space, const Draft *d, const char *what)
{
    Tried c = { .space = space, .draft = draft_copy(d, arena), .what = what };
    Text  text;
    draft_legalize(&c.draft);
    text_init(&text, arena);
    text_add(&text, space->directives);
    draft_print(&text, &c.draft);
    c.trial           = (TuneTrial){ .text = text_string(&text), .slot = -1 };
    c.trial.key       = tune_key(c.trial.text);
    c.trial.predicted = cost_draft(&c.draft, t->job.m);
    return c;
}

Tried tuner_kernels(Arena *arena, TuneSpace *space, const KernelDraft *k, const char *what)
{
    Tried c = { .space = space, .kernels = kernel_edits_copy(k, arena), .what = what };
    Text  text;
    text_init(&text, arena);
    text_add(&text, space->directives);
    kernel_draft_print(&text, &c.kernels, arena);
    c.trial           = (TuneTrial){ .text = text_string(&text), .slot = -1 };
    c.trial.key       = tune_key(c.trial.text);
    c.trial.predicted = kernel_draft_cost(&c.kernels);
    return c;
}

/* ---- What is kept ----------------------------------------------------------------------- */

static const int *copy_order(Arena *arena, const int *order, int rank)
{
    return order ? memcpy(ARENA_ARRAY(arena, int, (size_t)rank), order, sizeof *order * (size_t)rank) : NULL;
}

/* Copies what drafts otherwise share. */
static Draft copy_deep(const Draft *d, Arena *arena)
{
    Draft copy = draft_copy(d, arena);
    copy.nests = draft_nests(arena);
    for (int s = 0; s < d->graph->node_count; s++) {
        Choice *c = &copy.choices[s];
        if (c->nest)
            c->nest = draft_nest(&copy, c->nest);
        c->memory = copy_order(arena, c->memory, d->graph->nodes[s].rank);
    }
    StagedCopy *copies = ARENA_ARRAY(arena, StagedCopy, (size_t)d->copy_count + 1);
    for (int i = 0; i < d->copy_count; i++) {
        copies[i]        = d->copies[i];
        copies[i].memory = copy_order(arena, d->copies[i].memory, d->graph->nodes[d->copies[i].of].rank);
    }
    copy.copies = copies;
    return copy;
}

void kept_free(Kept *k)
{
    if (k->used)
        arena_free(&k->arena);
    k->used = false;
}

void kept_set(Kept *k, kn_context *cx, const Tried *from)
{
    kept_free(k);
    arena_init(&k->arena, cx);
    k->used  = true; /* from here on a bail-out leaves the arena to tune_end */
    k->tried = *from;
    if (from->kernels.kernels) {
        k->tried.kernels   = kernel_edits_copy(&from->kernels, &k->arena);
        k->tried.kernels.d = copy_deep(&k->tried.kernels.d, &k->arena);
    } else {
        k->tried.draft = copy_deep(&from->draft, &k->arena);
    }
    k->tried.trial.text = arena_strdup(&k->arena, from->trial.text);
    k->tried.what       = arena_strdup(&k->arena, from->what);
}

/* ---- Measuring -------------------------------------------------------------------------- */

/* Turns of the incumbent say how quiet the machine is. */
static void note_turn(void *user, double ns)
{
    Tuner *t                                      = user;
    t->turns[t->turn_count++ % TUNE_SPREAD_TURNS] = ns;
}

static double spread_of(const Tuner *t)
{
    double    sorted[TUNE_SPREAD_TURNS];
    const int count = t->turn_count < TUNE_SPREAD_TURNS ? t->turn_count : TUNE_SPREAD_TURNS;
    if (count < 4)
        return 0;
    memcpy(sorted, t->turns, sizeof *sorted * (size_t)count);
    const double median = median_of(sorted, count);
    return median / sorted[0] - 1;
}

static void tell(Tuner *t, const Tried *c, bool recalled)
{
    const TuneHost *host = t->job.host;
    const TuneStep  step = { .number   = t->number,
                             .what     = c->what,
                             .trial    = &c->trial,
                             .outcome  = &c->outcome,
                             .speedup  = exp(-t->best.tried.outcome.log_time),
                             .seconds  = host->seconds(host->user),
                             .spread   = spread_of(t),
                             .recalled = recalled };
    t->faults[c->outcome.fault]++;
    t->number++;
    host->step(host->user, &step);
}

static void close_trial(Tuner *t, TuneTrial *trial)
{
    if (trial->slot >= 0)
        t->job.host->close(t->job.host->user, trial);
    trial->slot = -1;
}

/* Makes a candidate the incumbent; the worker that has it open stays. */
static void crown(Tuner *t, Tried *c)
{
    close_trial(t, &t->best.tried.trial);
    kept_set(&t->best, t->job.cx, c);
    c->trial.slot = -1;
    t->turn_count = 0;
    t->won++;
}

/* The incumbent has a worker; false if it has none any more. */
static bool incumbent_opens(Tuner *t)
{
    TuneTrial *trial = &t->best.tried.trial;
    if (trial->slot < 0)
        t->job.host->open(t->job.host->user, &trial, 1);
    return trial->slot >= 0;
}

/* A winner runs a second race, in fresh processes: two processes with the same schedule may differ as long as they
 * live. */
static void race_again(Tuner *t, Tried *c)
{
    TuneTrial *both[] = { &c->trial, &t->best.tried.trial };
    for (int i = 0; i < 2; i++)
        close_trial(t, both[i]);
    t->job.host->open(t->job.host->user, both, 2);
    if (both[0]->slot < 0 || both[1]->slot < 0)
        return;
    TuneOutcome again;
    race_run(t->job.host, &c->trial, &t->best.tried.trial, &again, note_turn, t);
    c->outcome.ratio = sqrt(c->outcome.ratio * again.ratio);
    c->outcome.pairs += again.pairs;
    c->outcome.verdict = again.verdict;
}

static void race_one(Tuner *t, Tried *c)
{
    if (c->trial.slot >= 0 && incumbent_opens(t))
        race_run(t->job.host, &c->trial, &t->best.tried.trial, &c->outcome, note_turn, t);
    if (c->outcome.verdict == TUNE_WON)
        race_again(t, c);
    c->outcome.fault    = c->trial.fault;
    c->outcome.log_time = c->outcome.pairs ? t->best.tried.outcome.log_time + log(c->outcome.ratio) : INFINITY;
    if (c->outcome.fault || c->outcome.log_time >= t->best.tried.outcome.log_time)
        c->outcome.verdict = TUNE_LOST;
}

/* A race that is known: whoever won then, and is faster than the incumbent of now, wins again. */
static bool recalled(Tuner *t, Tried *c)
{
    if (!t->job.host->recall(t->job.host->user, &c->trial, &c->outcome))
        return false;
    c->trial.fault = c->outcome.fault;
    if (!(c->outcome.log_time < t->best.tried.outcome.log_time))
        c->outcome.verdict = TUNE_LOST;
    return true;
}

void tuner_measure(Tuner *t, Tried *const *candidates, int count)
{
    TuneTrial **open   = ARENA_ARRAY(&t->round, TuneTrial *, (size_t)count + 1);
    bool       *old    = ARENA_ARRAY(&t->round, bool, (size_t)count + 1);
    int         opened = 0;
    for (int i = 0; i < count; i++) {
        tuner_mark(t, candidates[i]->trial.key);
        old[i] = recalled(t, candidates[i]);
        if (!old[i])
            open[opened++] = &candidates[i]->trial;
    }
    if (opened)
        t->job.host->open(t->job.host->user, open, opened);
    for (int i = 0; i < count; i++) {
        Tried *c = candidates[i];
        if (!old[i])
            race_one(t, c);
        const char *reason = c->trial.reason ? arena_strdup(&t->round, c->trial.reason) : NULL;
        if (c->outcome.verdict == TUNE_WON)
            crown(t, c);
        close_trial(t, &c->trial);
        c->trial.reason = reason;
        tell(t, c, old[i]);
    }
}

/* ---- The search ------------------------------------------------------------------------- */

Tuner *tune_begin(const TuneJob *job, Arena *arena)
{
    enum { ROOM = 1024 };
    Tuner *t     = ARENA_NEW(arena, Tuner);
    t->job       = *job;
    t->random    = (Random){ job->seed };
    t->arena     = arena;
    t->seen_room = ROOM;
    t->seen      = ARENA_ARRAY(arena, uint64_t, ROOM);
    arena_init(&t->round, job->cx);
    return t;
}

TuneFound tune_found(const Tuner *t)
{
    const Tried *best = &t->best.tried;
    return (TuneFound){ &best->trial, best->kernels.kernels ? NULL : &best->draft,
                        best->kernels.kernels ? &best->kernels : NULL, best->space };
}

void tune_end(Tuner *t)
{
    for (int i = 0; i < t->job.space_count; i++)
        t->job.spaces[i].graph.arena = t->arena;
    kept_free(&t->start);
    kept_free(&t->best);
    for (int i = 0; i < TUNE_BEAM; i++)
        kept_free(&t->beam[i]);
    arena_free(&t->round);
}

/* `auto` is the first incumbent: a turn of it gives its time. false if it cannot be run. */
static bool measure_start(Tuner *t, Tried *start)
{
    TuneTrial *trial = &start->trial;
    tuner_mark(t, trial->key);
    kept_set(&t->start, t->job.cx, start); /* not open */
    kept_set(&t->best, t->job.cx, start);
    const bool old = t->job.host->recall(t->job.host->user, trial, &start->outcome);
    if (!old && incumbent_opens(t))
        start->outcome.ns = t->job.host->sample(t->job.host->user, &t->best.tried.trial);
    if (!old)
        start->outcome.fault = t->best.tried.trial.fault;
    if (t->job.device && start->outcome.fault == TUNE_REFUSED)
        return false;
    start->trial.fault    = start->outcome.fault;
    start->trial.reason   = t->best.tried.trial.reason;
    start->outcome.ratio  = 1;
    t->start_ns           = start->outcome.ns;
    t->best.tried.outcome = t->start.tried.outcome = start->outcome;
    tell(t, start, old);
    return !start->outcome.fault;
}

/* Memory of a kernel must have a constant size, which only lowering proves: as for `auto`, the first schedule that is
 * accepted is the one to beat. */
static bool measure_first(Tuner *t)
{
    for (int i = 0; i < t->start_count; i++) {
        if (measure_start(t, &t->starts[i])) {
            t->first = i;
            return true;
        }
        if (!t->job.device || t->starts[i].outcome.fault != TUNE_REFUSED)
            return false;
    }
    return false;
}

/* Fresh turns of the best and of `auto`, which no choice has depended on, so that the best is not best by luck; in
 * several processes of each. */
static void check_best(Tuner *t, TuneResult *r)
{
    TuneTrial *both[] = { &t->best.tried.trial, &t->start.tried.trial };
    Race       race   = { 0 };
    for (int round = 0; t->won && round < TUNE_CHECK_ROUNDS; round++) {
        for (int i = 0; i < 2; i++)
            close_trial(t, both[i]);
        t->job.host->open(t->job.host->user, both, 2);
        if (both[0]->slot < 0 || both[1]->slot < 0 ||
            !race_pairs(t->job.host, both[0], both[1], TUNE_CHECK_PAIRS, &race))
            break;
    }
    for (int i = 0; i < 2; i++)
        close_trial(t, both[i]);
    r->pairs   = race.pairs;
    r->checked = race.pairs ? race_median(&race) : 1;
    r->wrong   = race_chance(race.pairs, race.wins);
    r->speedup = 1 / r->checked;
    if (t->won && r->wrong <= TUNE_WRONG_WINNER && r->checked < 1)
        return;
    kept_set(&t->best, t->job.cx, &t->start.tried);
    r->speedup = r->wrong = 1;
    r->best_ns            = t->start_ns;
}

void tune_run(Tuner *t, const TuneAlgorithm *algorithm, Arena *arena, TuneResult *r)
{
    *r = (TuneResult){ .speedup = 1, .wrong = 1, .checked = 1 };
    if (t->job.device)
        tuner_kernel_starts(t);
    else
        tuner_starts(t);
    tuner_round(t);
    if (measure_first(t))
        algorithm->run(t);
    r->best_ns = t->best.tried.outcome.ns;
    check_best(t, r);
    r->text       = arena_strdup(arena, t->best.tried.trial.text);
    r->candidates = t->number;
    r->won        = t->won;
    r->start_ns   = t->start_ns;
    r->spread     = spread_of(t);
    memcpy(r->faults, t->faults, sizeof r->faults);
}
