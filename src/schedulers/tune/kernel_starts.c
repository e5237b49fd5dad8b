/* SPDX-License-Identifier: MIT */
/* Where a search for a device starts: the kernels of the scheduler `gpu`.
 *
 * Gives   those of `auto` first: of the pipeline, or of the pipeline with its windows separated or by doubling where
 * that is predicted to pay; then, in the order in which `auto` falls back to them, those with less in a kernel; then
 *         `gpu` without each of its parts, and kernels of many shapes. Each text once.
 * Holds   The order depends on the pipeline and the device alone. */
#include "schedulers/tune/tuner_internal.h"

typedef struct Starts {
    Tuner           *t;
    TuneSpace       *space;
    SchedulerOptions options;
    const Scheduler *scheduler;
    const char      *what;
} Starts;

static void run_scheduler(void *arg)
{
    const Starts     *a    = arg;
    const KernelDraft k    = a->scheduler->kernels(&a->space->graph, a->t->job.m, &a->options, a->t->arena);
    const Tried       made = tuner_kernels(a->t->arena, a->space, &k, a->what);
    tuner_add_start(a->t, &made);
}

/* A start that bails out is left out. */
static void attempt(Tuner *t, TuneSpace *space, const char *scheduler, const char *what)
{
    Starts a              = { .t = t, .space = space, .options = t->job.options, .what = what };
    a.scheduler           = scheduler_find(scheduler, &a.options);
    t->job.cx->quota_left = t->job.cx->config.quota;
    context_attempt(t->job.cx, run_scheduler, &a);
}

static double predicted(const Tuner *t, int i)
{
    return t->starts[i].trial.predicted;
}

/* That of another space is first if `auto` takes it. */
static void order_spaces(Tuner *t, int other, RuleId rule)
{
    if (other >= t->start_count || predicted(t, other) >= draft_rules[rule].most * predicted(t, 0))
        return;
    const Tried first = t->starts[other];
    t->starts[other]  = t->starts[0];
    t->starts[0]      = first;
}

void tuner_kernel_starts(Tuner *t)
{
    static const struct {
        const char *name, *what;
    } parts[] = {
        { "gpu/no-patterns", "gpu without patterns" },
        { "gpu/no-fusion", "gpu without fusion" },
        { "gpu/no-patterns/no-fusion/no-nesting", "gpu without patterns, fusion, nesting" },
        { "gpu/no-nesting", "gpu without nesting" },
        { "gpu/no-places", "gpu without places" },
        { "gpu/no-registers", "gpu without registers" },
        { "gpu/no-tables", "gpu without tables" },
        { "gpu/no-inlining", "gpu without inlining" },
        { "gpu/no-products", "gpu without products" },
        { "gpu/no-greedy", "gpu by dynamic programming" },
        { "gpu/no-model", "gpu by the paper's costs" },
        { "varied/0", "varied/0" },
        { "varied/2", "varied/2" },
        { "varied/3", "varied/3" },
        { "varied/4", "varied/4" },
        { "varied/5", "varied/5" },
        { "varied/7", "varied/7" },
        { "varied/9", "varied/9" },
    };
    for (int i = 0; i < t->job.space_count; i++) {
        const int before = t->start_count;
        attempt(t, &t->job.spaces[i], "gpu", i ? t->job.spaces[i].name : "auto (gpu)");
        if (i)
            order_spaces(t, before, t->job.spaces[i].rule);
    }
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        attempt(t, &t->job.spaces[0], parts[i].name, parts[i].what);
}
