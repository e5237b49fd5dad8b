/* SPDX-License-Identifier: MIT */
/* What the algorithms share: the incumbent, what was tried, candidates and their races. */
#ifndef KILN_SCHEDULERS_TUNE_INTERNAL_H
#define KILN_SCHEDULERS_TUNE_INTERNAL_H

#include "schedulers/tune/random.h"
#include "schedulers/tune/tune.h"

/* A schedule with what is known of it. A copy that is kept has an arena of its own. */
typedef struct Tried Tried;
struct Tried {
    TuneSpace  *space;
    Draft       draft;   /* for a CPU */
    KernelDraft kernels; /* for a device */
    TuneTrial   trial;
    const char *what;
    TuneOutcome outcome;
    int         tag; /* of the algorithm */
};

/* A Tried that outlives a round. */
typedef struct Kept {
    Arena arena;
    bool  used;
    Tried tried;
} Kept;

struct Tuner {
    TuneJob   job;
    Random    random;
    Arena     round;                        /* of drafts and texts of one round */
    Kept      start, best, beam[TUNE_BEAM]; /* the last are of the algorithm */
    uint64_t *seen;                         /* keys, open addressed; 0: none */
    size_t    seen_count, seen_room;
    int       number, won, faults[TUNE_FAULTS];
    double    turns[TUNE_SPREAD_TURNS]; /* of the incumbent, since it is that: the last ones */
    int       turn_count;
    double    start_ns;
    Tried    *starts;             /* what the schedulers make: that of `auto` first. In `arena` */
    int       start_count, first; /* the index of the one that is the start */
    Arena    *arena;
};

/* Begins a round: what the round before has made is freed. Graphs make their parts of drafts in the round's arena. */
void tuner_round(Tuner *t);
/* May another candidate be tried? Refills the context's quota. */
bool tuner_goes_on(Tuner *t);

/* Makes a draft of a space legal, prints and predicts it. */
Tried tuner_candidate(const Tuner *t, Arena *arena, TuneSpace *space, const Draft *d, const char *what);
/* The same for kernels, which are legal. */
Tried tuner_kernels(Arena *arena, TuneSpace *space, const KernelDraft *k, const char *what);
/* Was this schedule tried? The second marks it. */
bool tuner_seen(const Tuner *t, uint64_t key);
void tuner_mark(Tuner *t, uint64_t key);

/* Compiles the candidates and races each with the incumbent, which the winner replaces. Fills the outcomes. */
void tuner_measure(Tuner *t, Tried *const *candidates, int count);

/* A deep copy of a candidate, which is no part of `k`, in an arena of its own. What `k` held before is freed. */
void kept_set(Kept *k, kn_context *cx, const Tried *from);
void kept_free(Kept *k);

/* Adds a candidate to t->starts, unless its text is there already. */
void tuner_add_start(Tuner *t, const Tried *made);
/* Fills t->starts; the second for a device. */
void tuner_starts(Tuner *t);
void tuner_kernel_starts(Tuner *t);

/* The algorithms. */
void tune_by_model(Tuner *t);
void tune_genetic(Tuner *t);

#endif
