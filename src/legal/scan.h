/* SPDX-License-Identifier: MIT */
/* Scans: updates that go along one argument a step at a time, and read what the step before has written.
 *
 * f(x, p(r)) = e(f(x, p(r-1)), …) for r in lo..hi, where p(r) = origin + r or origin - r. What the update reads of f at
 * p(r) itself is the value from before the update, because each place is written once. */
#ifndef KILN_LEGAL_SCAN_H
#define KILN_LEGAL_SCAN_H

#include "legal/facts.h"

typedef enum ScanFault {
    SCAN_LEGAL,
    SCAN_DOMAIN, /* several reduction variables, or a condition */
    SCAN_PLACE,  /* it does not go along one argument by one coordinate at a step, at all points of the others */
    SCAN_BOUNDS, /* the steps depend on arguments or values */
    SCAN_READS   /* it reads its function elsewhere than at its own place and that of the step before, or never there */
} ScanFault;

typedef struct Scan {
    int         dim;    /* the argument that it goes along */
    int         way;    /* 1: up, -1: down */
    const Expr *origin; /* p(0) */
} Scan;

/* Where the update writes: is it along one argument, by one coordinate at a step? */
ScanFault scan_place(ExprPool *pool, const Func *f, const Update *u, Scan *out);
/* The same, with all that a scan is. */
ScanFault scan_of(ExprPool *pool, const Func *f, const Update *u, Scan *out);
/* How many steps before its own the update writes what the call of f reads; false: that is not known. */
bool scan_distance(const Func *f, const Update *u, const Scan *s, const Expr *call, int64_t *steps);

#endif
