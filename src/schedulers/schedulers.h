/* The table of schedulers. A scheduler takes a graph and a machine and fills a draft; writing a new one is one file and
 * one row. */
#ifndef KILN_SCHEDULERS_SCHEDULERS_H
#define KILN_SCHEDULERS_SCHEDULERS_H

#include "schedulers/cost.h"

/* What a scheduler may spend, and what it leaves out (the ablation of Jangda and Bondhugula 2020, section 7.4.3). */
typedef struct SchedulerOptions {
    double budget; /* seconds */
    int    number; /* of `varied`: which of its drafts */
    bool   no_inlining, no_two_levels, no_together, no_repair, no_slices, greedy_fusion, plain_cost;
} SchedulerOptions;

typedef Draft SchedulerRun(const Graph *g, const Machine *m, const SchedulerOptions *options, Arena *arena);

/* What a scheduler decides by rules of its own, whatever the common model predicts. */
typedef enum RuleOf { RULE_OF_TILES, RULE_OF_GROUPS, RULE_COUNT } RuleOf;

typedef struct Scheduler {
    const char   *name, *summary;
    SchedulerRun *run;
    const char   *rules[RULE_COUNT]; /* each a clause, for explanations */
} Scheduler;

SchedulerRun scheduler_plain, scheduler_strips, scheduler_greedy, scheduler_dp, scheduler_reuse, scheduler_auto,
    scheduler_varied;

extern const Scheduler scheduler_table[];
extern const int       scheduler_count;
/* NULL: there is none. Behind the name and a / may stand a number, or what is left out: `varied/3`,
 * `dp/no-inlining/no-two-levels`; of inlining, two-levels, slices, together, search, repair, model. */
const Scheduler *scheduler_find(const char *name, SchedulerOptions *options);

/* Of drafts whose predictions are so near to the fastest `auto` takes the one that moves less than such a part of what
 * the fastest does. AS_GOOD_PERCENT: nl_means for an L2 of 1280 KiB, where the draft that moves a quarter of the bytes
 * is predicted to take 1.062 times as long and takes 0.94. From 7 to 10 no other app's choice changes, for L2s of 1280
 * KiB and 2 MiB, with one and two threads. */
enum { AS_GOOD_PERCENT = 8, FAR_LESS_PERCENT = 50 };
/* auto.c: what all the others have drafted, the one to take first and then the fastest as predicted; `out` has room for
 * as many as there are schedulers. Gives their number, which is not 0. */
typedef struct Candidate {
    const Scheduler *scheduler;
    Draft            draft;
    double           ns; /* predicted */
} Candidate;
int scheduler_candidates(const Graph *g, const Machine *m, const SchedulerOptions *options, Arena *arena,
                         Candidate *out);

/* strips.c: does a reduction at the points of its reader have so few steps that it is best written out? */
bool scheduler_short_sum(const Draft *d, int s);

#endif
