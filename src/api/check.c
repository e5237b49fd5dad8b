/* SPDX-License-Identifier: MIT */
/* kn_check: all diagnostics of a pipeline and its schedules that need no sizes.
 *
 * First unbounded indices, found as kn_run finds them. Then each schedule is planned and lowered to loops as kn_compile
 * does it, so both refuse the same schedules with the same messages. Errors of the backend, and those that depend on
 * the sizes of a call, are not found here. */
#include "api/compile.h"
#include "schedulers/graph/graph.h"

typedef struct CheckCall {
    kn_pipeline      *p;
    const kn_options *given;
} CheckCall;

typedef struct Usual {
    kn_pipeline *p;
    Arena       *arena;
    RunArgs      binding;
} Usual;

static void find_usual(void *arg)
{
    Usual *u   = arg;
    u->binding = graph_binding(u->p, u->arena);
}

/* Has every index bounds? Asked for one point of each output, with inputs of default size: an index that is unbounded
 * there is unbounded in any call. Skipped where finding such sizes takes too long. */
static bool check_bounds(kn_pipeline *p)
{
    Arena arena;
    scratch_begin(&arena, p->cx);
    Usual u       = { .p = p, .arena = &arena };
    bool  bounded = true;
    if (context_attempt(p->cx, find_usual, &u)) {
        for (size_t i = 0; i < p->outputs.count; i++)
            memcpy(u.binding.output[i].max, u.binding.output[i].min, sizeof u.binding.output[i].max);
        bounded = regions_bounded(p, &arena, &u.binding);
    }
    scratch_end(&arena);
    return bounded;
}

/* `schedule` NULL: the default one. */
static void check_schedule(kn_pipeline *p, const Schedule *schedule, const kn_options *options)
{
    Targets     targets;
    const char *target = schedule && schedule->target ? schedule->target : options->target;
    if (!targets_parse(p->cx, target, "host", &targets))
        return;
    Arena arena;
    scratch_begin(&arena, p->cx);
    Plan *plan = compile_schedule(p, schedule, &targets, &arena);
    if (plan)
        compile_loops(plan, options, &targets);
    scratch_end(&arena);
}

static void check(void *arg)
{
    CheckCall      *call = arg;
    kn_pipeline    *p    = call->p;
    const Schedule *named;
    kn_options      options;
    if (!options_take(p, call->given, &options) || !plan_choose(p, options.schedule, NULL, &named))
        return;
    if (!check_bounds(p))
        return;
    if (options.schedule || !p->schedules.count) {
        check_schedule(p, named, &options);
        return;
    }
    for (size_t i = 0; i < p->schedules.count; i++)
        if (target_find(p->schedules.at[i]->target)) /* a schedule for an unknown target is never used */
            check_schedule(p, p->schedules.at[i], &options);
}

kn_status kn_check(kn_pipeline *p, const kn_options *options)
{
    if (!p)
        return KN_ERROR_ARGUMENT;
    CheckCall call = { p, options };
    context_begin(p->cx);
    context_call(p->cx, check, &call);
    return p->cx->status;
}
