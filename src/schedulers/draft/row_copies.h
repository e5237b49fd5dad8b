/* SPDX-License-Identifier: MIT */
/* Row copies: a row of an inlined node, stored for one reader, so that points that it reads several times are computed
 * once.
 *
 * Inlining computes a node for each access. Storing it writes it for all readers and reads it back. A row at a time,
 * for the readers that need it, is in between: level 0 of a pyramid is never stored, though the downsampling filter
 * reads each of its points twice. Row copies follow from what is inlined, so they are not part of a draft. */
#ifndef KILN_SCHEDULERS_ROW_COPIES_H
#define KILN_SCHEDULERS_ROW_COPIES_H

#include "schedulers/draft/draft.h"

/* Would the stored reader of this edge take a row of its producer, if that were inlined: it reads several points of one
 * row only, and they are worth storing? */
bool row_copy_fits(const Draft *d, const Edge *e);
/* Does it in this draft? */
bool row_copy_is_made(const Draft *d, const Edge *e);
/* Points of the row for each point of the reader. */
double row_copy_points(const Edge *e);
/* Prints the copies that a node reads, a line each. */
void row_copies_print(Text *out, const Draft *d, int reader);

#endif
