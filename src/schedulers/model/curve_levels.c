/* SPDX-License-Identifier: MIT */
/* What the curves tell: the caches, where a curve bends, and the rate of each level.
 *
 * Takes   the time y(s) of an access in a working set of s bytes, at sizes in geometric steps.
 * Gives   plateaus: the cuts of the curve into 1 to 4 pieces of at least four points that minimize
 *
 *             sum over pieces of  sum over its points of |ln y(s) - m|  +  NEW_LEVEL * pieces
 *
 *         where m is the median of ln y in the piece, and each piece is slower than the one before by LEAST_STEP at
 *         least. The effective size of a cache is where the curve crosses the middle of its plateau and the next,
 *
 *             ln y = (m + m') / 2,   by linear interpolation in ln s.
 *
 * Why     Medians: a point that was disturbed counts as one. Absolute values: points on the way from one plateau to
 *         the next go to the nearer one. A curve without bends, as of a machine that is disturbed all the time, has
 *         one piece, and nothing is found. */
#include "schedulers/model/curve.h"

#include <math.h>
#include <stdlib.h>

enum { LEAST_POINTS = 4, MOST_PIECES = MOST_CACHES + 1 };
static const double NEW_LEVEL  = 0.7; /* |ln y|: the total deviation that another plateau must save */
static const double LEAST_STEP = 1.3; /* of y, from one plateau to the next: caches differ by two or more */

/* ---- Plateaus ---------------------------------------------------------------------------- */

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double curve_median(const double *values, int count)
{
    double sorted[CURVE_POINTS];
    memcpy(sorted, values, sizeof *values * (size_t)count);
    qsort(sorted, (size_t)count, sizeof *sorted, compare);
    return (sorted[(count - 1) / 2] + sorted[count / 2]) / 2;
}

typedef struct Cuts {
    const double *y; /* ln ns */
    int           count;
    int           at[MOST_PIECES + 1], pieces; /* first points of the pieces, and the end */
    double        middle[MOST_PIECES];
    double        loss;
} Cuts;

/* Tries all ways to cut the points from `from` on into pieces; `best` is the best of all so far. */
static void try_cuts(Cuts *now, int from, Cuts *best)
{
    for (int end = from + LEAST_POINTS; end <= now->count; end++) {
        const double m    = curve_median(now->y + from, end - from);
        double       loss = NEW_LEVEL;
        if (now->pieces && m < now->middle[now->pieces - 1] + log(LEAST_STEP))
            continue;
        for (int i = from; i < end; i++)
            loss += fabs(now->y[i] - m);
        now->middle[now->pieces] = m;
        now->at[now->pieces++]   = from;
        now->loss += loss;
        if (end == now->count && now->loss < best->loss) {
            *best                  = *now;
            best->at[best->pieces] = end;
        } else if (end < now->count && now->pieces < MOST_PIECES && now->loss < best->loss) {
            try_cuts(now, end, best);
        }
        now->pieces--;
        now->loss -= loss;
    }
}

/* Where the curve crosses a height between the point before a cut and the one behind it. */
static double crossing(const Curve *c, const double *y, int cut, double height)
{
    const double rise = y[cut] - y[cut - 1], part = rise > 0 ? (height - y[cut - 1]) / rise : 0.5;
    return (double)c->bytes[cut - 1] * pow((double)c->bytes[cut] / (double)c->bytes[cut - 1], fmax(0, fmin(1, part)));
}

Levels curve_levels(const Curve *c, CurveKind kind)
{
    double y[CURVE_POINTS];
    Cuts   now = { .y = y, .count = c->count }, best = { .loss = INFINITY };
    Levels found = { 0 };
    for (int i = 0; i < c->count; i++) {
        if (!(c->ns[kind][i] > 0))
            return found;
        y[i] = log(c->ns[kind][i]);
    }
    try_cuts(&now, 0, &best);
    for (int i = 0; i < best.pieces; i++)
        found.ns[i] = exp(best.middle[i]);
    for (int i = 0; i + 1 < best.pieces; i++)
        found.bytes[found.count++] = crossing(c, y, best.at[i + 1], (best.middle[i] + best.middle[i + 1]) / 2);
    return found;
}
