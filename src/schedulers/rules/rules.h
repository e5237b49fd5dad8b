/* SPDX-License-Identifier: MIT */
/* Rules: what all schedulers choose alike. */
#ifndef KILN_SCHEDULERS_RULES_H
#define KILN_SCHEDULERS_RULES_H

#include "schedulers/model/cost.h"

/* Every node in a group of its own with the loops of the default schedule, or inlined where that costs nothing. All
 * schedulers start from it. */
Draft draft_plain(const Graph *g, const Machine *m, Arena *arena);

/* Chooses the micro kernels of every group and member, the same way for all schedulers. Comes before draft_legalize. */
void draft_choose_micro_kernels(Draft *d, const Machine *m);
/* Fuses the loops of members that read the same. The draft is legal. */
void choose_shared_loops(Draft *d, const Machine *m);

#endif
