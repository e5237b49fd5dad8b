/* Fitting the weights of the cost model to measured times. */
#ifndef KILN_SCHEDULERS_FIT_H
#define KILN_SCHEDULERS_FIT_H

#include "schedulers/cost.h"

/* A draft that was measured: the terms of its groups, as the machine that is to be fitted predicts them. */
typedef struct FitSample {
    int group_count;
    double (*terms)[TERM_COUNT];
    double ns;
    int    program; /* whose draft it is */
} FitSample;

/* Changes the speeds of `m` so that predicted times of drafts of a program stand to each other as the measured ones do.
 * Gives the mean of |ln| of what is left. */
double fit_machine(const FitSample *samples, int count, Machine *m);

#endif
