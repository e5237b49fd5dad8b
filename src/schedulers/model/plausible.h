/* SPDX-License-Identifier: MIT */
/* The machines that a description may stand for. A description is never exact: sizes come from a system that reports
 * the caches of a whole server, and nothing says what other programs use. A draft is judged on all of these machines.
 */
#ifndef KILN_SCHEDULERS_MODEL_PLAUSIBLE_H
#define KILN_SCHEDULERS_MODEL_PLAUSIBLE_H

#include "schedulers/model/machine.h"

enum { PLAUSIBLE_COUNT = 4 };

/* In a word or two each. The first is the machine as it is described. */
extern const char *const plausible_names[PLAUSIBLE_COUNT];
Machine                  plausible_machine(const Machine *m, int which);

/* The regret of draft i: the largest ratio, over the first `machines` machines k, of its time to the least time of all
 * drafts there,
 *
 *     regret(i) = max over k of  time[i][k] / min over j of time[j][k]
 *
 * (Savage 1951). A draft of regret 1 is the fastest on each of them. */
void plausible_regrets(const double (*time)[PLAUSIBLE_COUNT], int count, int machines, double *regret);

#endif
