/* SPDX-License-Identifier: MIT */
/* Arithmetic of access ranges. Private to the files that make a graph. */
#ifndef KILN_SCHEDULERS_ACCESS_RANGE_H
#define KILN_SCHEDULERS_ACCESS_RANGE_H

#include "schedulers/graph/graph.h"

static const int64_t no_least = INT64_MIN, no_most = INT64_MAX;

/* The same interval for all points of the reader. */
AccessRange access_range_numbers(int64_t lo, int64_t hi, bool exact);
/* The reader's own coordinate. */
AccessRange access_range_coordinate(int dim);

/* Each gives a range that encloses the operation's values for all points of `root`, the whole box of the reader, and
 * for every part of it. */
AccessRange access_range_add(const AccessRange *a, const AccessRange *b, const Box *root);
AccessRange access_range_scale(const AccessRange *a, int64_t factor, const Box *root);
AccessRange access_range_divide(const AccessRange *a, int64_t by, const Box *root); /* floor, by > 0 */
AccessRange access_range_clamp(const AccessRange *a, int64_t least, int64_t most);
/* The hull. */
AccessRange access_range_hull(const AccessRange *a, const AccessRange *b, const Box *root);
/* It is known to lie in lo..hi. A clamp that has no effect over the whole box is dropped. */
AccessRange access_range_clip(const AccessRange *a, int64_t lo, int64_t hi, const Box *root);

#endif
