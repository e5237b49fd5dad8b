/* SPDX-License-Identifier: MIT */
/* The common cost model: what the groups of a draft compute, store and move, and the time that takes on a machine.
 *
 * Points, boxes and bytes are exact for accesses of the graph's forms: a test compares them with counted runs. The
 * time is a model. It is the larger of arithmetic and data movement, plus the start-up cost of rows and tasks. Its
 * weights are those of the machine. */
#ifndef KILN_SCHEDULERS_COST_H
#define KILN_SCHEDULERS_COST_H

#include "schedulers/draft/draft.h"
#include "schedulers/model/machine.h"

typedef enum CostTerm {
    TERM_OPS,
    TERM_LOADS,
    TERM_WAITS,
    TERM_L2,
    TERM_L3,
    TERM_MEMORY,
    TERM_ROWS,
    TERM_ENDS,
    TERM_TASKS,
    TERM_COUNT
} CostTerm;
extern const char *const cost_term_names[TERM_COUNT];

typedef struct NodeCost {
    double  points; /* computed in all by the pure definition, redundant ones included */
    double  needed; /* without redundancy: each point once */
    int64_t held;   /* bytes of storage that are live at a time; per thread where it is inside a parallel loop */
} NodeCost;

typedef struct GroupCost {
    double  live_in, live_out; /* bytes read from and written to other groups, inputs and outputs, over the run */
    double  redundant;         /* points computed again, as a fraction of those needed */
    int64_t footprint;         /* working set of one iteration of the innermost tile loop, bytes */
    double  tasks;             /* iterations of its parallel loops */
    double  term[TERM_COUNT];  /* ns, with all threads at work */
    double  ns;                /* predicted */
} GroupCost;

void cost_group(const Draft *d, int group, const Machine *m, NodeCost *nodes /* per node; may be NULL */,
                GroupCost *out);
/* The predicted ns as if all tiles were like the middle one. Many times faster than cost_group: for searches. */
double cost_group_quick(const Draft *d, int group, const Machine *m);
/* The predicted ns of a group from its terms. */
double cost_of_terms(const double *terms);
double cost_draft(const Draft *d, const Machine *m);

/* Is a node at root best written by streaming stores: nobody reads it again, and it is larger than the L2 caches? Not
 * where rows are unaligned to cache lines: most of their stores would not stream. */
bool cost_streams(const Draft *d, int s, const Machine *m);

#endif
