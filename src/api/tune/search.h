/* SPDX-License-Identifier: MIT */
/* A search of kn_tune, or one of those of kn_cross: what is searched, its host and its result.
 *
 * A Search is zeroed but for the fields up to `count`; search_begin comes first and search_end last. The others are
 * called between them, inside a call of the context. */
#ifndef KILN_API_TUNE_SEARCH_H
#define KILN_API_TUNE_SEARCH_H

#include "api/arguments.h"
#include "api/tune/journal.h"
#include "api/tune/workers.h"
#include "ir/target.h"

typedef struct Search {
    kn_pipeline           *p;
    const kn_options      *given;
    const kn_tune_options *how;
    const kn_arg          *args;
    int                    count;
    int                    of;    /* the case of kn_cross that it is for */
    Arena                  arena; /* lives as long as the call; cx->call would not, in workers */
    kn_options             options;
    Arguments              bound;
    DeviceKind             device; /* NONE: a CPU */
    const TuneAlgorithm   *algorithm;
    Workers                workers;
    Journal                journal;
    TuneSimulation         simulation;
    TuneHost               host;
    TuneSpace              spaces[TUNE_SPACES];
    int                    space_count;
    Tuner                 *tuner;
    Machine                machine;
    double                 begun, budget;
    double                 opening; /* seconds that opening a batch took, at most */
    bool                   stopped, busy;
    int                    bugs;
} Search;

void search_begin(Search *s);
/* The machine, the sizes, what is searched, and the host that times it. false after a diagnostic. */
bool search_prepare(Search *s);
/* Candidates are compiled at once: as many as threads run. */
int search_batch(const Search *s);
/* Searches. `out->schedule` is in the context's arena of the call. */
void search_run(Search *s, kn_tuned *out);
/* Ends its processes and frees its memory; may come after any failure. */
void search_end(Search *s);

#endif
