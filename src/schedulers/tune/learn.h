/* SPDX-License-Identifier: MIT */
/* Corrections of the cost model, learned while a search measures.
 *
 * The model is right about much and wrong about some things in the same way again and again: a term is too cheap on
 * this machine, a rule pays more than predicted. So the residual of the log of a time is a linear function of what a
 * candidate has more or less than its parent: shares of the model's terms, rules, levels, and the kind of the edit. Its
 * weights are a ridge regression over all that was measured, and their covariance says how sure each prediction is. */
#ifndef KILN_SCHEDULERS_TUNE_LEARN_H
#define KILN_SCHEDULERS_TUNE_LEARN_H

#include <stdbool.h>

enum { LEARN_MOST = 96 };

typedef struct Learned {
    int    count;                             /* of features */
    double precision[LEARN_MOST][LEARN_MOST]; /* ridge + sum of x x' */
    double moment[LEARN_MOST];                /* sum of x y */
    double factor[LEARN_MOST][LEARN_MOST];    /* Cholesky's, lower, of the precision */
    double weight[LEARN_MOST];
    bool   fresh; /* factor and weight are those of the precision */
} Learned;

void learn_begin(Learned *l, int count);
/* A residual y was seen of features x. */
void learn_add(Learned *l, const double *x, double y);
/* The residual expected of x, and its deviation in units of that of a measurement. */
double learn_predict(Learned *l, const double *x, double *deviation);

#endif
