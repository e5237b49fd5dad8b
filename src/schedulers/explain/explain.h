/* SPDX-License-Identifier: MIT */
/* Why a schedule is as it is: what its groups compute, store and move, what bounds each, and the best refused change;
 * as text and as a page. */
#ifndef KILN_SCHEDULERS_EXPLAIN_H
#define KILN_SCHEDULERS_EXPLAIN_H

#include "schedulers/search/schedulers.h"

/* A small change of the draft that was not made: of those tried for a group, the fastest. */
typedef struct Refused {
    const char *what;    /* "blurx at root"; NULL: none was legal */
    RuleOf      rule;    /* of the scheduler, that would decide it */
    double      ns;      /* the whole draft with it */
    int64_t     exceeds; /* the footprint of its group, if the change makes it exceed the L2; else 0 */
    CostTerm    term;    /* the term that grows most, over all groups */
    double      more;    /* by how much */
    const char *illegal; /* what could not be tried, and why; NULL: all could */
} Refused;

typedef struct Explained {
    const Scheduler *scheduler;
    const Draft     *d;
    const Machine   *m;
    GroupCost       *costs; /* by group, like all that follow */
    Refused         *refused;
    int             *number;    /* as shown: in the order of computing, from 1 */
    int             *order;     /* the groups in the order of computing */
    NodeCost        *nodes;     /* by node */
    int              functions; /* that are computed */
    double           ns;        /* of all */
    const Candidate *all;       /* the candidates of `auto`, or NULL */
    int              all_count;
} Explained;

void explain_make(Explained *x, const Candidate *made, const Machine *m, Arena *arena);
void explain_text(Text *out, const Explained *x);
/* One page without other files. `schedule` is the text of the schedule. */
void explain_html(Text *out, const Explained *x, const char *schedule);

/* ---- What text and page share (explain.c) ------------------------------------------------ */

/* "61.4 MB", "2.31 ms" */
const char *explain_bytes(Arena *arena, double bytes);
const char *explain_time(Arena *arena, double ns);

/* A node outside group `to` that it reads, with the bytes of the whole node. One per node, ascending. */
typedef struct GroupRead {
    int    node;
    double bytes;
} GroupRead;
int explain_reads(const Explained *x, int to, Arena *arena, GroupRead **out);

/* The loop nest of a group, a line per loop, indented by two spaces each. */
int explain_nest(const Explained *x, int group, Arena *arena, const char ***lines);

enum { EXPLAIN_COLUMNS = 10 };
extern const char *const explain_titles[EXPLAIN_COLUMNS];
/* The cells of the row of a group. */
void explain_row(const Explained *x, int group, Arena *arena, const char *cells[EXPLAIN_COLUMNS]);
/* Does the column have words, not numbers? */
bool explain_is_words(int column);
/* The best refused change of a group, and the rule that refused it: "blurx at root: the cost model, 1.10 ms more
 * (memory + 1.02 ms)". */
const char *explain_refused(const Explained *x, int group, Arena *arena);
/* What has become of a rule, "chains in 1 place" or "chains, refused in 2: 5.31 ms instead of 5.02 ms"; NULL: it does
 * not apply anywhere. */
const char *explain_rule(const Explained *x, RuleId rule, Arena *arena);
/* What of the caches is counted on: a sentence. */
const char *explain_machine(const Explained *x, Arena *arena);
/* Why `auto` took the first of its candidates. */
const char *explain_taken(const Explained *x, Arena *arena);

/* The beginning of a page up to its heading, and its end: the schedule. */
void explain_page_begin(Text *out, const char *name);
void explain_page_end(Text *out, const char *schedule);
/* The text with HTML's special characters escaped. */
void explain_escape(Text *out, const char *s);
/* The groups as a drawing (explain_draw.c). */
void explain_draw(Text *out, const Explained *x);

#endif
