/* SPDX-License-Identifier: MIT */
/* Loop fusion inside a tile (compute_with): members of a group that share their loops. */
#ifndef KILN_SCHEDULERS_SHARED_LOOPS_H
#define KILN_SCHEDULERS_SHARED_LOOPS_H

#include "schedulers/draft/draft.h"

/* Fuses the loops of members that read the same. The draft is legal. */
void draft_share_loops(Draft *d, const Machine *m);
/* The last step of legalizing: undoes what cannot be fused. */
void draft_legalize_shared(Draft *d);

#endif
