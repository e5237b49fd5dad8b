/* SPDX-License-Identifier: MIT */
/* A thread that stops isl when a step of the work takes too long. */
#ifndef KILN_POLY_MODEL_BUDGET_H
#define KILN_POLY_MODEL_BUDGET_H

#include "poly/scop.h"

#include <pthread.h>

struct Watch {
    isl_ctx        *isl;
    clockid_t       clock; /* processor time of the thread that works */
    pthread_t       thread;
    pthread_mutex_t lock; /* of what follows */
    pthread_cond_t  wake;
    int64_t         deadline; /* nanoseconds of that clock; 0: none yet */
    bool            running, ended, late;
};

/* Watches the work of this thread with that isl context, in the steps that scop_budget begins. */
void watch_begin(Watch *w, isl_ctx *isl);
void watch_end(Watch *w);

#endif
