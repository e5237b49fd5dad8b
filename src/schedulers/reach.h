/* Arithmetic of reaches: what only the files of this folder that make a graph share. */
#ifndef KILN_SCHEDULERS_REACH_H
#define KILN_SCHEDULERS_REACH_H

#include "schedulers/graph.h"

static const int64_t no_least = INT64_MIN, no_most = INT64_MAX;

/* The same numbers for all points of the reader. */
Reach reach_numbers(int64_t lo, int64_t hi, bool exact);
/* The reader's own coordinate. */
Reach reach_coordinate(int dim);

/* All of these give a reach that encloses the values of the operation for all points of `root`, the whole box of the
 * reader, whatever part of it is asked for later. */
Reach reach_add(const Reach *a, const Reach *b, const Box *root);
Reach reach_scale(const Reach *a, int64_t factor, const Box *root);
Reach reach_divide(const Reach *a, int64_t by, const Box *root); /* floor, by > 0 */
Reach reach_clamp(const Reach *a, int64_t least, int64_t most);
/* Both. */
Reach reach_hull(const Reach *a, const Reach *b, const Box *root);
/* It is known to lie in lo..hi; and a clamp that does nothing over the whole box is left out. */
Reach reach_within(const Reach *a, int64_t lo, int64_t hi, const Box *root);

#endif
