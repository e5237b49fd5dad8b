/* Rows of what is inlined: a copy for one reader, so that a point that it reads at several places of a row is computed
 * once.
 *
 * Between the two ends of inlining (computed for each access) and of storing (written for all readers, and read again)
 * there is a row at a time, for the readers that need it: level 0 of a pyramid is never stored, though the half of a
 * filter reads each of its points twice. It follows from what is inlined, so that a draft says nothing of it. */
#ifndef KILN_SCHEDULERS_ROW_COPIES_H
#define KILN_SCHEDULERS_ROW_COPIES_H

#include "schedulers/draft.h"

/* Would the reader of an edge that is stored itself take a row of its producer, if that were inlined: since it reads
 * several places of the row, and of one row only, and it is worth it? */
bool row_copy_fits(const Graph *g, const Edge *e);
/* Does it in this draft? */
bool row_copy_is_made(const Draft *d, const Edge *e);
/* Points of the row for each point of the reader. */
double row_copy_points(const Edge *e);
/* The copies that a node reads, a line each. */
void row_copies_print(Text *out, const Draft *d, int reader);

#endif
