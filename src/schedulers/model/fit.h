/* SPDX-License-Identifier: MIT */
/* Fitting the weights of the cost model to measured times. */
#ifndef KILN_SCHEDULERS_FIT_H
#define KILN_SCHEDULERS_FIT_H

#include "schedulers/model/cost.h"

/* A measured draft: the terms of its groups, as the unfitted machine predicts them. */
typedef struct FitSample {
    int group_count;
    double (*terms)[TERM_COUNT];
    double ns;
    int    program; /* whose draft it is */
} FitSample;

/* Changes the speeds of `m` so that the ratios of predicted times of a program's drafts match the measured ones. Gives
 * the mean remaining |ln ratio|. */
double fit_machine(const FitSample *samples, int count, Machine *m);

#endif
