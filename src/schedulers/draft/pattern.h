/* SPDX-License-Identifier: MIT */
/* Patterns: schedules for nodes that rows and tiles do not suit: histograms, scans, separable windows, grids.
 *
 * Here is what each of them is: where it applies, how it is made legal, its text. Rules choose them
 * (rules/patterns.h). draft_legalize drops a pattern that does not apply, so that what is left is legal.
 *
 *     privatize    f(bin(u, v)) += 1: a private copy of f for each strip of steps, strips in parallel, then their
 *                  sum. A strip has several copies, so that successive steps that hit the same bin do not wait for
 *                  each other. What the steps read and is not stored is computed in vectors, a row at a time, into a
 *                  copy for this node.
 *     scan         f(x, j) = a*f(x, j-1) + …: vectors across the recursion, strips of them in parallel, all
 *                  definitions of a strip while it is in the cache. A copy for its readers takes it from there, or
 *     scan reader  the one reader of a scan takes it from the strips itself.
 *     separate     sum(a(i)*b(j)*f(x+i, y+j) for j…, i…) of integers: columns are summed first, a row of them for
 *                  each row of the reader.
 *     grid         g(x, y, bin(S*x + i, S*y + j)) += …: grid accumulation. All bins of a cell are adjacent in memory;
 *                  some cells at a time, rows of cells in parallel. Readers have the same memory order. */
#ifndef KILN_SCHEDULERS_PATTERN_H
#define KILN_SCHEDULERS_PATTERN_H

#include "schedulers/draft/draft.h"

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
    int64_t     rows; /* PRIVATIZE: steps of the outermost reduction variable in a strip. SCAN: the width of a strip */
    int         copies;  /* PRIVATIZE: private copies in a strip; 1: only the strip's own */
    int         across;  /* SCAN: the dimension of its vectors and strips */
    int         dense;   /* SCAN: the dimension of its copy that is dense in memory */
    int         partner; /* SCAN: 1 + its scan reader; 0: it has a copy. SCAN_READER: 1 + its scan */
    int         rvar;    /* SEPARATE: the reduction variable along x */
    int enclosing_scan;  /* SCAN: 1 + the scan, its one reader, inside whose outer loops the copy is made; 0: at root */
} Pattern;

/* Room for the patterns of all nodes, none chosen. */
Pattern *patterns_new(const Graph *g, Arena *arena);
/* May node s be inside the loops of this head, as far as patterns decide it? */
bool pattern_may_join(const Draft *d, int s, int head);
/* Drops scan readers that cannot be: before levels are legalized. */
void patterns_legalize_scan_readers(Draft *d);
/* Drops what is not legal in the draft, whose levels are legal. */
void patterns_legalize(Draft *d);
/* The fraction of the steps of a node's updates that its pattern leaves. */
double pattern_work_share(const Draft *d, int s);
/* Prints the lines of the schedule for a node with a pattern. */
void pattern_print(Text *out, const Draft *d, int s);

#endif
