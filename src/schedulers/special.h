/* Special forms: what is done with stages whose loops are no rows and tiles: histograms, scans, sums over windows that are sums of sums.
 *
 * They are rules from the graph, the same for every scheduler. draft_plain asks special_begin, because a form decides what its neighbours may do (the bins that a histogram reads
 * need not be stored); a draft that is finished asks special_finish. draft_settle drops a form that does not apply, so that what is left is legal.
 *
 *     parts      f(bin(u, v)) += 1: a partial result for each strip of steps, strips in parallel, and then their sum; in each strip several, so that neighbours that fall into
 *                the same bin do not wait for each other. What the steps read, and is not stored, is computed in vectors, a row at a time, into a copy for this stage. */
#ifndef KILN_SCHEDULERS_SPECIAL_H
#define KILN_SCHEDULERS_SPECIAL_H

#include "schedulers/draft.h"

typedef enum SpecialForm { SPECIAL_NONE, SPECIAL_PARTS, SPECIAL_FORMS } SpecialForm;

typedef struct Special {
    SpecialForm form;
    int64_t     rows;           /* PARTS: steps of the outermost reduction variable in a strip */
    int         ways;           /* PARTS: partial results in a strip; 1: the strip's own */
} Special;

/* Room for the forms of all stages, none chosen. */
Special *special_new(const Graph *g, Arena *arena);
/* Chooses forms for the plain draft, and what then is best inlined. */
void special_begin(Draft *d, const Machine *m);
/* Drops what is not legal in the draft, whose levels are settled. */
void special_settle(Draft *d);
/* The lines of the schedule for a stage with a form. */
void special_print(Text *out, const Draft *d, int s);

#endif
