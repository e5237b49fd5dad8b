/* SPDX-License-Identifier: MIT */
/* The table of schedulers. A scheduler takes a graph and a machine and fills a draft. A new one is one file and one
 * row. */
#ifndef KILN_SCHEDULERS_SCHEDULERS_H
#define KILN_SCHEDULERS_SCHEDULERS_H

#include "schedulers/gpu/kernels.h"
#include "schedulers/model/plausible.h"
#include "schedulers/rules/rules.h"

/* The budget of a scheduler, and the parts that it leaves out (the ablation of Jangda and Bondhugula 2020,
 * section 7.4.3). */
typedef struct SchedulerOptions {
    double   budget;                                                           /* seconds */
    int      number;                                                           /* of `varied`: which of its drafts */
    uint32_t without;                                                          /* 1 << RuleId: rules to leave out */
    bool     no_inlining, no_two_levels, no_repair, greedy_fusion, plain_cost; /* parts of dp */
    bool     no_robust;                                                        /* a part of auto */
    bool     no_fusion, no_nesting, no_places, no_patterns, no_registers, no_tables, dp_groups; /* parts of gpu */
} SchedulerOptions;

typedef Draft SchedulerRun(const Graph *g, const Machine *m, const SchedulerOptions *options, Arena *arena);

/* The same for a device. */
typedef KernelDraft KernelRun(const Graph *g, const Machine *m, const SchedulerOptions *options, Arena *arena);

/* What a scheduler decides by its own rules, whatever the cost model predicts. */
typedef enum RuleOf { RULE_OF_TILES, RULE_OF_GROUPS, RULE_COUNT } RuleOf;

typedef struct Scheduler {
    const char   *name, *summary;
    SchedulerRun *run;               /* for CPUs; NULL: it has none for them */
    KernelRun    *kernels;           /* for GPUs; likewise */
    const char   *rules[RULE_COUNT]; /* each a clause, for explanations */
} Scheduler;

SchedulerRun scheduler_plain, scheduler_strips, scheduler_greedy, scheduler_dp, scheduler_reuse, scheduler_auto,
    scheduler_varied;
KernelRun scheduler_gpu, scheduler_varied_kernels;
/* The predicted ns. */
double kernel_draft_cost(const KernelDraft *k);

extern const Scheduler scheduler_table[];
extern const int       scheduler_count;
/* NULL: there is none. A number or parts to leave out may follow the name: `varied/3`, `dp/no-inlining/no-two-levels`.
 */
const Scheduler *scheduler_find(const char *name, SchedulerOptions *options);
/* The names of what can be left out: of all schedulers the rules, of dp and auto their parts. NULL: there are no more.
 */
const char *scheduler_part(int index);

/* auto.c: the drafts of all other schedulers: the one to take, then the others from the fastest predicted on. `out` has
 * room for one per scheduler. Gives their number, at least 1. */
typedef struct Candidate {
    const Scheduler *scheduler;
    Draft            draft;
    double           ns;                         /* predicted */
    double           likely_ns[PLAUSIBLE_COUNT]; /* on the plausible machines; beyond the first, quick predictions */
    double           regret;                     /* see plausible.h */
} Candidate;
int scheduler_candidates(const Graph *g, const Machine *m, const SchedulerOptions *options, Arena *arena,
                         Candidate *out);

/* auto.c: what a call with ports in the host's memory copies: inputs to the device and outputs back, each by itself. */
typedef struct DeviceCopies {
    int    buffers;
    double bytes, ns;
} DeviceCopies;
DeviceCopies device_copies(const Graph *g, const Device *d);

/* double.c: the directives that make windows by doubling, where that may pay. Gives the number of windows. */
int doubling_print(Text *out, const Graph *g);

/* separate.c: the same for windows that are separated, for a device. */
int separating_print(Text *out, const Graph *g);

/* strips.c: is a reduction at the points of its reader so short that it is best unrolled? */
bool scheduler_short_sum(const Draft *d, int s);

#endif
