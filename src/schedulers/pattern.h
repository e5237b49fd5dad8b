/* Pattern forms: what is done with nodes whose loops are no rows and tiles: histograms, scans, sums over windows that
 * are sums of sums.
 *
 * They are rules from the graph, the same for every scheduler. draft_plain asks patterns_choose, because a form decides
 * what its neighbours may do (the bins that a histogram reads need not be stored); a draft that is finished asks
 * patterns_choose_late. draft_legalize drops a form that does not apply, so that what is left is legal.
 *
 *     parts      f(bin(u, v)) += 1: a partial result for each strip of steps, strips in parallel, and then their sum;
 *                in each strip several, so that neighbours that fall into the same bin do not wait for each other. What
 *                the steps read, and is not stored, is computed in vectors, a row at a time, into a copy for this
 *                node.
 *     scan       f(x, j) = a*f(x, j-1) + …: vectors across the recursion, strips of them in parallel, all definitions
 *                of a strip while it is in cache; a copy for its readers takes it from there, or
 *     host       the one reader of a scan, which takes it from its strips itself.
 *     separate   sum(a(i)*b(j)*f(x+i, y+j) for j…, i…): of integers; columns are summed first, a row of them for each
 *                row of the reader.
 *     cells      g(x, y, bin(S*x + i, S*y + j)) += …: what data can choose for a cell lies together in memory, some
 *                cells at a time, rows of them in parallel; readers follow. */
#ifndef KILN_SCHEDULERS_PATTERN_H
#define KILN_SCHEDULERS_PATTERN_H

#include "schedulers/draft.h"

typedef enum PatternKind {
    PATTERN_NONE,
    PATTERN_PRIVATIZE,
    PATTERN_SCAN,
    PATTERN_SCAN_READER,
    PATTERN_SEPARATE,
    PATTERN_GRID,
    PATTERN_COUNT
} PatternKind;

typedef struct Pattern {
    PatternKind kind;
    int64_t     rows;    /* PARTS: steps of the outermost reduction variable in a strip. SCAN: the width of a strip */
    int         ways;    /* PARTS: partial results in a strip; 1: the strip's own */
    int         across;  /* SCAN: the dimension of its vectors and strips */
    int         dense;   /* SCAN: the dimension of its copy that is dense in memory */
    int         partner; /* SCAN: 1 + its host; 0: it has a copy. HOST: 1 + its scan */
    int         rvar;    /* SEPARATE: the reduction variable that goes with x */
    int enclosing_scan;  /* SCAN: 1 + the scan, its one reader, inside whose outer loops the copy is made; 0: at root */
} Pattern;

/* Room for the forms of all nodes, none chosen. */
Pattern *patterns_new(const Graph *g, Arena *arena);
/* Chooses forms for the plain draft, and what then is best inlined. */
void patterns_choose(Draft *d, const Machine *m);
/* Chooses what depends on where all nodes are. */
void patterns_choose_late(Draft *d);
/* May node s be inside the loops of this head, as far as forms decide it? */
bool pattern_may_join(const Draft *d, int s, int head);
/* Drops hosts that cannot be ones: before levels are legalized. */
void patterns_legalize_scan_readers(Draft *d);
/* Drops what is not legal in the draft, whose levels are legalized. */
void patterns_legalize(Draft *d);
/* The part of the steps of a node's updates that its form leaves. */
double pattern_work_share(const Draft *d, int s);
/* The lines of the schedule for a node with a form. */
void pattern_print(Text *out, const Draft *d, int s);

#endif
