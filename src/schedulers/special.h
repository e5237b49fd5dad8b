/* Special forms: what is done with stages whose loops are no rows and tiles: histograms, scans, sums over windows that
 * are sums of sums.
 *
 * They are rules from the graph, the same for every scheduler. draft_plain asks special_begin, because a form decides
 * what its neighbours may do (the bins that a histogram reads need not be stored); a draft that is finished asks
 * special_finish. draft_settle drops a form that does not apply, so that what is left is legal.
 *
 *     parts      f(bin(u, v)) += 1: a partial result for each strip of steps, strips in parallel, and then their sum;
 *                in each strip several, so that neighbours that fall into the same bin do not wait for each other. What
 *                the steps read, and is not stored, is computed in vectors, a row at a time, into a copy for this
 *                stage.
 *     scan       f(x, j) = a*f(x, j-1) + …: vectors across the recursion, strips of them in parallel, all definitions
 *                of a strip while it is in cache; a copy for its readers takes it from there, or
 *     host       the one reader of a scan, which takes it from its strips itself.
 *     separate   sum(a(i)*b(j)*f(x+i, y+j) for j…, i…): of integers; columns are summed first, a row of them for each
 *                row of the reader.
 *     cells      g(x, y, bin(S*x + i, S*y + j)) += …: what data can choose for a cell lies together in memory, some
 *                cells at a time, rows of them in parallel; readers follow. */
#ifndef KILN_SCHEDULERS_SPECIAL_H
#define KILN_SCHEDULERS_SPECIAL_H

#include "schedulers/draft.h"

typedef enum SpecialForm {
    SPECIAL_NONE,
    SPECIAL_PARTS,
    SPECIAL_SCAN,
    SPECIAL_HOST,
    SPECIAL_SEPARATE,
    SPECIAL_CELLS,
    SPECIAL_FORMS
} SpecialForm;

typedef struct Special {
    SpecialForm form;
    int64_t     rows;   /* PARTS: steps of the outermost reduction variable in a strip. SCAN: the width of a strip */
    int         ways;   /* PARTS: partial results in a strip; 1: the strip's own */
    int         across; /* SCAN: the dimension of its vectors and strips */
    int         dense;  /* SCAN: the dimension of its copy that is dense in memory */
    int         host;   /* SCAN: 1 + its host; 0: it has a copy. HOST: 1 + its scan */
    int         rvar;   /* SEPARATE: the reduction variable that goes with x */
    int         within; /* SCAN: 1 + the scan, its one reader, inside whose outer loops the copy is made; 0: at root */
} Special;

/* Room for the forms of all stages, none chosen. */
Special *special_new(const Graph *g, Arena *arena);
/* Chooses forms for the plain draft, and what then is best inlined. */
void special_begin(Draft *d, const Machine *m);
/* Chooses what depends on where all stages are. */
void special_finish(Draft *d);
/* May stage s be inside the loops of this head, as far as forms decide it? */
bool special_may_join(const Draft *d, int s, int head);
/* Drops hosts that cannot be ones: before levels are settled. */
void special_settle_hosts(Draft *d);
/* Drops what is not legal in the draft, whose levels are settled. */
void special_settle(Draft *d);
/* The part of the steps of a stage's updates that its form leaves. */
double special_share(const Draft *d, int s);
/* The lines of the schedule for a stage with a form. */
void special_print(Text *out, const Draft *d, int s);

#endif
