/* SPDX-License-Identifier: MIT */
/* How far an update reads back in its own steps: the distance vectors of time tiling. */
#ifndef KILN_LEGAL_TIME_DISTANCES_H
#define KILN_LEGAL_TIME_DISTANCES_H

#include "legal/facts.h"

enum { MOST_TIME_READS = 32, MOST_REACH = 16 /* coordinates for each step */, LEGAL_TIME_SIZE = 4096 };

typedef struct TimeRead {
    int64_t back, reach; /* it reads `back` steps ago, at most `reach` coordinates away */
} TimeRead;

/* Of an update f(…, y, …, t) = … f(…, y+k, …, t-m) … for t in lo..hi. */
typedef struct TimeDistances {
    int         time_dim, dim; /* of t and of y */
    int         read_count;
    TimeRead    reads[MOST_TIME_READS];
    int         below_count, above_count; /* they hold if every y is at least, or at most, these */
    const Expr *below[MOST_TIME_READS], *above[MOST_TIME_READS];
} TimeDistances;

/* Are all reads of f in the update of earlier steps, at distances along the argument `dim` that are known? Its one
 * reduction variable is t. */
bool time_distances(ExprPool *pool, const Func *f, int update, int dim, TimeDistances *out);

#endif
