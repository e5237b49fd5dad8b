/* The table of schedulers. A scheduler takes a graph and a machine and fills a draft; writing a new one is one file and one row. */
#ifndef KILN_SCHEDULERS_SCHEDULERS_H
#define KILN_SCHEDULERS_SCHEDULERS_H

#include "schedulers/cost.h"

/* What a scheduler may spend, and what it leaves out (the ablation of Jangda and Bondhugula 2020, section 7.4.3). */
typedef struct SchedulerOptions {
    double budget;              /* seconds */
    bool   no_inlining, no_two_levels, no_together, greedy_fusion, plain_cost;
} SchedulerOptions;

typedef Draft SchedulerRun(const Graph *g, const Machine *m, const SchedulerOptions *options, Arena *arena);

typedef struct Scheduler {
    const char   *name, *summary;
    SchedulerRun *run;
} Scheduler;

SchedulerRun scheduler_plain, scheduler_strips, scheduler_dp, scheduler_reuse;

extern const Scheduler scheduler_table[];
extern const int       scheduler_count;
const Scheduler *scheduler_find(const char *name);

#endif
