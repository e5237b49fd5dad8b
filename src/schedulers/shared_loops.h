/* Loops that members of a group share. */
#ifndef KILN_SCHEDULERS_SHARED_LOOPS_H
#define KILN_SCHEDULERS_SHARED_LOOPS_H

#include "schedulers/draft.h"

/* Of a legalized draft: lets members that read the same run in the same loops. */
void draft_share_loops(Draft *d, const Machine *m);
/* The last step of legalizing: members that cannot share loops do not. */
void draft_legalize_shared(Draft *d);

#endif
