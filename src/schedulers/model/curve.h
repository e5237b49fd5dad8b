/* SPDX-License-Identifier: MIT */
/* The memory of this machine as it is measured: the time of an access over the size of the working set, for one thread
 * and for all at once, and what the curves tell of the caches. */
#ifndef KILN_SCHEDULERS_CURVE_H
#define KILN_SCHEDULERS_CURVE_H

#include "schedulers/model/machine.h"

typedef enum CurveKind {
    CURVE_LATENCY, /* dependent loads at random lines */
    CURVE_READ,
    CURVE_WRITE, /* each line is fetched for ownership, and written back */
    CURVE_COPY,
    CURVE_STREAM, /* a copy by streaming stores: no line is fetched for ownership */
    CURVE_KINDS
} CurveKind;

enum { CURVE_POINTS = 29 };

typedef struct Curve {
    int     count;                         /* points, ascending */
    int64_t bytes[CURVE_POINTS];           /* working set of each thread; of copies both buffers together */
    double  ns[CURVE_KINDS][CURVE_POINTS]; /* of a thread: of an access, or of a byte read, written or copied; 0: not
                                              measured */
} Curve;

typedef struct CurveBench CurveBench;
/* Memory and threads to measure with; NULL if there are none. */
CurveBench *curve_bench_new(kn_context *cx, const Machine *m);
void        curve_bench_free(kn_context *cx, CurveBench *b);
/* The working sets to measure, for one thread or for all; nothing is measured yet. */
Curve curve_begin(const CurveBench *b, bool all);
/* Measures one point, all kinds: a few ms for small sets, 0.1 s for the largest. */
void curve_measure(CurveBench *b, bool all, int point, Curve *c);

/* The plateaus of a curve: see curve_levels.c. */
enum { MOST_CACHES = 3 };
typedef struct Levels {
    int    count;              /* caches that were found */
    double bytes[MOST_CACHES]; /* their effective sizes, ascending */
    double ns[MOST_CACHES + 1];
} Levels;
Levels curve_levels(const Curve *c, CurveKind kind);
double curve_median(const double *values, int count);

/* What was found of a machine. A size or a time that was not found is 0. */
typedef struct Found {
    double l1, l2, l3, l3_core;              /* bytes; l3 by one thread alone, l3_core of each of all */
    double ns[CURVE_KINDS][MOST_CACHES + 1]; /* one thread: from l1, l2, l3, memory */
    double all[CURVE_KINDS];                 /* from memory, each of all threads */
} Found;
/* Finds sizes and speeds, and puts those that can be trusted into the machine. */
Found curve_apply(const Curve *one, const Curve *all, Machine *m);
/* Tables as comments of a machine's text: what was found beside what the system reports and what is used; and the
 * curves. */
void found_print(Text *out, const Found *f, const Machine *reported, const Machine *used);
void curve_print(Text *out, const Curve *one, const Curve *all, int threads);

#endif
