/* The inner loops of a node that is computed: the instructions that they take. What only the cost model's files
 * share. */
#ifndef KILN_SCHEDULERS_COST_KERNEL_H
#define KILN_SCHEDULERS_COST_KERNEL_H

#include "schedulers/cost_tiles.h"

/* Instructions on a whole register, or on one number where there are no vectors; over the whole run, all threads
 * together. */
typedef struct KernelCost {
    double ops;
    double loads, stores;
    double waits;   /* operations that could have been done while a sum waits for its last step: what its chains take
                       beyond `ops` */
    double rows;    /* that are begun: one for all copies */
    bool   bounded; /* its formulas, with what is inlined, speak of the ends of something: each row is parted there */
} KernelCost;

/* Of node k, of which so many points of the pure definition are computed. */
KernelCost kernel_cost(const Tiles *t, int k, double points);

#endif
