/* SPDX-License-Identifier: MIT */
/* Where a search starts: what the schedulers make of the pipeline.
 *
 * Gives   the schedule of `auto` first; then those of all schedulers, of parts of them left out, of `auto` without each
 *         rule that it has applied, and of `auto` for the other plausible machines (model/plausible.h). Each text once.
 * Holds   The order depends on the pipeline and the machine alone. */
#include "schedulers/tune/tuner_internal.h"

enum { MOST_STARTS = 64 };

typedef struct Starts {
    Tuner           *t;
    TuneSpace       *space;
    const Machine   *m;
    SchedulerOptions options;
    const Scheduler *scheduler; /* NULL: all, as auto has them */
    const char      *what;
} Starts;

void tuner_add_start(Tuner *t, const Tried *made)
{
    t->starts = t->starts ? t->starts : ARENA_ARRAY(t->arena, Tried, MOST_STARTS);
    for (int i = 0; i < t->start_count; i++)
        if (t->starts[i].trial.key == made->trial.key)
            return;
    if (t->start_count < MOST_STARTS)
        t->starts[t->start_count++] = *made;
}

static void add(const Starts *a, const Draft *d, const char *what)
{
    const Tried made = tuner_candidate(a->t, a->t->arena, a->space, d, what);
    tuner_add_start(a->t, &made);
}

static void run_schedulers(void *arg)
{
    Starts *a     = arg;
    Arena  *arena = a->t->arena;
    if (a->scheduler) {
        const Draft d = a->scheduler->run(&a->space->graph, a->m, &a->options, arena);
        add(a, &d, arena_printf(arena, "%s%s", a->scheduler->name, a->what));
        return;
    }
    Candidate *all   = ARENA_ARRAY(arena, Candidate, (size_t)scheduler_count);
    const int  count = scheduler_candidates(&a->space->graph, a->m, &a->options, arena, all);
    for (int i = 0; i < count; i++)
        add(a, &all[i].draft,
            i ? arena_printf(arena, "%s%s", all[i].scheduler->name, a->what)
              : arena_printf(arena, "auto (%s)%s", all[i].scheduler->name, a->what));
}

/* A start that bails out or is refused is left out. */
static void attempt(Starts a)
{
    a.t->job.cx->quota_left = a.t->job.cx->config.quota;
    context_attempt(a.t->job.cx, run_schedulers, &a);
}

/* dp without its parts: other groups and tiles of the same tables. */
static void add_parts(Starts a)
{
    const struct {
        const char *name, *what;
    } parts[] = {
        { "dp/no-inlining", " without inlining" },
        { "dp/no-two-levels", " without two levels" },
        { "dp/no-model", " by the paper's costs" },
        { "dp/no-repair", " without repair" },
    };
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        a.options   = a.t->job.options;
        a.scheduler = scheduler_find(parts[i].name, &a.options);
        a.what      = parts[i].what;
        attempt(a);
    }
}

static void add_without_rules(Starts a, const RuleUse *uses)
{
    for (RuleId id = 0; id < RULE_IDS; id++) {
        if (!uses[id].applied && draft_rules[id].phase != RULES_ELSEWHERE)
            continue;
        a.options = a.t->job.options;
        a.options.without |= 1u << id;
        a.what = arena_printf(a.t->arena, " without %s", draft_rules[id].name);
        attempt(a);
    }
}

static void add_plausible(Starts a)
{
    for (int k = 1; k < PLAUSIBLE_COUNT; k++) {
        const Machine m = plausible_machine(a.t->job.m, k);
        a.m             = &m;
        a.what          = arena_printf(a.t->arena, " for %s", plausible_names[k]);
        attempt(a);
    }
}

/* Windows by doubling come first if auto takes them. */
static void order_spaces(Tuner *t, int doubled)
{
    const double most = draft_rules[RULE_DOUBLE].most;
    if (doubled >= t->start_count || t->starts[doubled].trial.predicted > most * t->starts[0].trial.predicted)
        return;
    const Tried first  = t->starts[doubled];
    t->starts[doubled] = t->starts[0];
    t->starts[0]       = first;
}

void tuner_starts(Tuner *t)
{
    for (int i = 0; i < t->job.space_count; i++) {
        const int before = t->start_count;
        attempt((Starts){ t, &t->job.spaces[i], t->job.m, t->job.options, NULL, "" });
        if (i)
            order_spaces(t, before);
    }
    if (!t->start_count) { /* no scheduler has an answer: the plain draft always has */
        const Starts plain = { t, &t->job.spaces[0], t->job.m, t->job.options, NULL, "" };
        const Draft  d     = draft_plain(&t->job.spaces[0].graph, t->job.m, 0, t->arena);
        add(&plain, &d, "plain");
    }
    const Starts first = { t, t->starts[0].space, t->job.m, t->job.options, NULL, "" };
    RuleUse      uses[RULE_IDS];
    memcpy(uses, t->starts[0].draft.uses, sizeof uses);
    add_without_rules(first, uses);
    add_parts(first);
    add_plausible(first);
}
