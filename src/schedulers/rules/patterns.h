/* SPDX-License-Identifier: MIT */
/* The choice of patterns (draft/pattern.h), by rules on the graph and on expressions, the same for every scheduler.
 *
 * draft_plain calls patterns_choose, because a pattern decides what its neighbours may do (the bins that a histogram
 * reads need not be stored). The choice of micro kernels calls patterns_choose_late. */
#ifndef KILN_SCHEDULERS_PATTERNS_H
#define KILN_SCHEDULERS_PATTERNS_H

#include "schedulers/draft/pattern.h"
#include "schedulers/model/machine.h"

/* Chooses patterns for the plain draft, and what is then best inlined. */
void patterns_choose(Draft *d, const Machine *m);
/* Chooses what depends on where all nodes are. */
void patterns_choose_late(Draft *d);

void privatize_choose(Draft *d, int s, const Machine *m);
void scan_choose(Draft *d, int s, const Machine *m);
void scan_choose_late(Draft *d, int s);
void separate_choose(Draft *d, int s, const Machine *m);
void grid_choose(Draft *d, int s, const Machine *m);
void grid_choose_late(Draft *d, int s);

#endif
