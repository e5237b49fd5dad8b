/* SPDX-License-Identifier: MIT */
/* Tuning: a search for a fast schedule that is guided by measured times.
 *
 * Takes   the graph of a pipeline, a machine, and a host: callbacks that compile a schedule, time it once, and know the
 *         clock. Here are no processes, no files and no clock, so that a search on a simulated host (simulate.c) is the
 *         same for the same seed.
 * Gives   the text of the fastest schedule found, and how sure it is that this is faster than that of `auto`.
 * How     Every time is a ratio to the incumbent, the best so far, in turns with it (race.h). `auto` has the time 1.
 * From    Ragan-Kelley et al. 2013, section 5, for the algorithm `genetic`. */
#ifndef KILN_SCHEDULERS_TUNE_H
#define KILN_SCHEDULERS_TUNE_H

#include "ir/target.h"
#include "schedulers/search/schedulers.h"

/* What became of a candidate that gave no time: faults of the compiler, each with the schedule that shows it. */
typedef enum TuneFault {
    TUNE_FINE,
    TUNE_REFUSED, /* the compiler refused the schedule */
    TUNE_CRASHED,
    TUNE_HUNG, /* compiling it or its run did not end in many times the time of others */
    TUNE_NO_MEMORY,
    TUNE_WRONG, /* its result is not that of the reference */
    TUNE_FAULTS
} TuneFault;
extern const char *const tune_fault_names[TUNE_FAULTS];

/* A schedule that a host times. */
typedef struct TuneTrial {
    const char *text;
    uint64_t    key;       /* of the text */
    double      predicted; /* ns, by the cost model */
    TuneFault   fault;
    const char *reason; /* of the fault: one line, or NULL. In memory of the host, until it is closed */
    int         slot;   /* of the host, while it is open; else -1 */
} TuneTrial;

typedef enum TuneVerdict { TUNE_LOST, TUNE_WON } TuneVerdict;

/* The result of a race of a candidate with the incumbent. */
typedef struct TuneOutcome {
    TuneFault   fault;
    TuneVerdict verdict;
    int         pairs;    /* of turns */
    double      ratio;    /* the median over the pairs of its time over the incumbent's */
    double      log_time; /* of its time over that of `auto`, through the incumbents in between */
    double      ns;       /* its shortest turn */
} TuneOutcome;

/* What is told after each candidate. */
typedef struct TuneStep {
    int                number; /* from 0, which is `auto` */
    const char        *what;   /* how it was made: an edit, a scheduler, a mutation */
    const TuneTrial   *trial;
    const TuneOutcome *outcome;
    double             speedup; /* of the best so far over `auto` */
    double             seconds; /* since the search began */
    double             spread;  /* of the incumbent's times: median over least, less 1 */
    bool               recalled;
} TuneStep;

typedef struct TuneHost {
    void *user;
    /* Compiles the trials, as many at once as it likes, runs each and compares its result. Sets slots or faults. */
    void (*open)(void *user, TuneTrial *const *trials, int count);
    /* ns of a turn of an open trial; <= 0: it failed, and the fault is set. */
    double (*sample)(void *user, TuneTrial *trial);
    void (*close)(void *user, TuneTrial *trial);
    double (*seconds)(void *user); /* since the search began */
    bool (*goes_on)(void *user);   /* is there time for another candidate? */
    /* Is the race of this trial known from an earlier search? */
    bool (*recall)(void *user, const TuneTrial *trial, TuneOutcome *outcome);
    void (*step)(void *user, const TuneStep *step);
} TuneHost;

/* The pipeline, or the pipeline as directives rewrite it. Drafts of a space point to its graph. */
typedef struct TuneSpace {
    const char *directives; /* "", or lines that stand before the text of every draft */
    const char *name;       /* of the rewrite: what its first candidate is called, and its rule */
    RuleId      rule;
    Graph       graph;
} TuneSpace;

enum { TUNE_SPACES = 3 };

typedef struct TuneJob {
    kn_context      *cx;
    const Machine   *m;
    TuneSpace       *spaces; /* the pipeline first */
    int              space_count;
    SchedulerOptions options; /* of the schedulers that make the first candidates */
    const TuneHost  *host;
    uint64_t         seed;
    int              batch;       /* candidates that are compiled at a time */
    int              most;        /* candidates in all; 0: no limit */
    DeviceKind       device;      /* not NONE: schedules are those of kernels, for the device of `m` */
    int              population;  /* genetic */
    int              generations; /* genetic; 0: no limit */
} TuneJob;

typedef struct TuneResult {
    const char *text;    /* of the best schedule; in the arena given */
    double      speedup; /* over `auto`: 1 / the median ratio of the last check, or the product of the races */
    double      wrong;   /* bound on the chance that `auto` is as fast; 1: not checked, or nothing faster was found */
    int         pairs;   /* of that check */
    double      checked; /* the median ratio in it; 1: there was none */
    int         candidates; /* measured or refused */
    int         won;        /* times that the incumbent changed */
    int         faults[TUNE_FAULTS];
    double      start_ns, best_ns; /* the shortest turns of `auto` and of the best */
    double      spread;
} TuneResult;

typedef struct Tuner Tuner;

typedef struct TuneAlgorithm {
    const char *name, *summary;
    void (*run)(Tuner *t);
} TuneAlgorithm;
extern const TuneAlgorithm tune_algorithms[];
extern const int           tune_algorithm_count;
/* NULL: there is none of that name. */
const TuneAlgorithm *tune_algorithm(const char *name);

/* Searches until host->goes_on says no. Arenas of `t` are freed by tune_end, which comes after it even where it bails
 * out. */
Tuner *tune_begin(const TuneJob *job, Arena *arena);
void   tune_run(Tuner *t, const TuneAlgorithm *algorithm, Arena *arena, TuneResult *result);
void   tune_end(Tuner *t);

/* What a search has found: until tune_end. */
typedef struct TuneFound {
    const TuneTrial   *trial;
    const Draft       *draft;   /* NULL: it is for a device */
    const KernelDraft *kernels; /* NULL: it is not */
    const TuneSpace   *space;
} TuneFound;
TuneFound tune_found(const Tuner *t);
/* What the model predicts of it on another graph of the same functions and another machine: ns. */
double tune_predict(const TuneFound *found, const Graph *g, const Machine *m, Arena *arena);

/* ---- cross.c ---- */

/* A schedule that was found for one size or machine, on another. */
typedef struct TuneCell {
    double ratio;       /* its time over that of the schedule found for this one: a median over pairs of turns; 0: none
                         * was taken */
    double      chance; /* that as large a difference of wins and losses is noise */
    TuneFault   fault;
    const char *reason; /* in the arena given */
} TuneCell;

/* Times schedules in turns with that of index `own`, in TUNE_CHECK_ROUNDS fresh processes of each; at most `batch` are
 * compiled at a time. One that has a fault is not opened. Gives the shortest turn of `own` in ns; 0 if it failed. */
double tune_column(const TuneHost *host, TuneTrial *trials, int count, int own, int batch, Arena *arena,
                   TuneCell *cells);

/* FNV-1a of a text. */
uint64_t tune_key(const char *text);

/* ---- simulate.c ---- */

/* A host whose times are those of the model, times an error that belongs to the schedule, times noise of each turn; all
 * by the seed. Its clock is counted, not read. */
typedef struct TuneSimulation {
    uint64_t seed, turns;
    double   seconds, budget;
    TuneHost host;
    void    *user; /* of the functions below; may be NULL each */
    bool (*stops)(void *user);
    bool (*accepts)(void *user, const TuneTrial *trial); /* would the compiler take this schedule? */
    bool (*recall)(void *user, const TuneTrial *trial, TuneOutcome *outcome);
    void (*step)(void *user, const TuneStep *step);
} TuneSimulation;
void tune_simulate(TuneSimulation *s);

#endif
