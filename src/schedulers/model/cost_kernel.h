/* SPDX-License-Identifier: MIT */
/* Instruction counts of the inner loops of a node. Private to the cost model. */
#ifndef KILN_SCHEDULERS_COST_KERNEL_H
#define KILN_SCHEDULERS_COST_KERNEL_H

#include "schedulers/model/cost_tiles.h"

/* Instructions on a full register, or on one scalar where there are no vectors. Over the whole run, all threads
 * together. */
typedef struct KernelCost {
    double ops;
    double loads, stores;
    double waits;   /* latency bound: operations that would fit while a sum waits for its last step, beyond `ops` */
    double rows;    /* rows started; unrolled copies share one */
    bool   bounded; /* its formulas, with those inlined into them, test coordinates: each row is split where a test
                       changes */
} KernelCost;

/* The instructions of node k when this many points of its pure definition are computed. */
KernelCost kernel_cost(const Tiles *t, int k, double points);

#endif
