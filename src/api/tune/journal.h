/* SPDX-License-Identifier: MIT */
/* The journal of a search: a line for each race, written before the next begins. A search that was killed is repeated
 * with it: races that it has are not run again. */
#ifndef KILN_API_TUNE_JOURNAL_H
#define KILN_API_TUNE_JOURNAL_H

#include "base/context.h"
#include "schedulers/tune/tune.h"

typedef struct JournalLine {
    uint64_t    key;
    TuneOutcome outcome;
    double      seconds; /* of the search, when it was written */
} JournalLine;

typedef struct Journal {
    int fd; /* -1: none */
    VEC(JournalLine) lines;
    double seconds; /* that the search had taken */
} Journal;

/* Opens the file. With `resume` its lines are read, and those of a last, incomplete one dropped; else it is emptied.
 * `title` says what is searched: a journal of another search is refused. false after a diagnostic. */
bool journal_open(kn_context *cx, Journal *j, Arena *arena, const char *path, const char *title, bool resume);
void journal_add(Journal *j, uint64_t key, const TuneOutcome *outcome, double seconds);
bool journal_find(const Journal *j, uint64_t key, TuneOutcome *outcome);
void journal_close(Journal *j);

#endif
