/* The common cost model: what a draft's groups compute, hold and move, and the time that takes on a machine.
 *
 * Points, boxes and bytes are exact for accesses of the graph's forms (a test compares them with counted runs); the
 * time is a model: the larger of arithmetic and of all moving of data, plus what rows and tasks cost to begin. Its
 * weights are the machine's. */
#ifndef KILN_SCHEDULERS_COST_H
#define KILN_SCHEDULERS_COST_H

#include "schedulers/draft.h"

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

enum {
    STEPS_PER_NODE = 8
}; /* of the context's quota, for a node of a group that is predicted: a step takes about 100 ns */
enum { SLIDE_ROWS = 8 }; /* finding out what a window lacks takes as long as beginning so many rows */

typedef struct NodeCost {
    double  points; /* computed in all, those of the pure definition */
    double  needed; /* of them, each once */
    int64_t held;   /* bytes of its storage at a time, per thread where it is inside a parallel loop */
} NodeCost;

typedef struct GroupCost {
    double  live_in, live_out; /* bytes read from and written to other groups, inputs and outputs, over the run */
    double  redundant;         /* points computed more than once, as a part of those needed */
    int64_t footprint;         /* bytes that one iteration of the innermost tile loop touches */
    double  tasks;             /* pieces of its parallel loops */
    double  term[TERM_COUNT];  /* ns, all threads together at work */
    double  ns;                /* predicted */
} GroupCost;

void cost_group(const Draft *d, int group, const Machine *m, NodeCost *nodes /* per node; may be NULL */,
                GroupCost *out);
/* The time as if all tiles were like the one in the middle: many times faster, for searches. */
double cost_group_quick(const Draft *d, int group, const Machine *m);
/* The time of a group by its terms. */
double cost_of_terms(const double *terms);
double cost_draft(const Draft *d, const Machine *m);

#endif
