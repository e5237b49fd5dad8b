/* Loops that members of a group share. */
#ifndef KILN_SCHEDULERS_TOGETHER_H
#define KILN_SCHEDULERS_TOGETHER_H

#include "schedulers/draft.h"

/* Of a settled draft: lets members that read the same run in the same loops. */
void draft_share_loops(Draft *d, const Machine *m);
/* The last step of settling: members that cannot share loops do not. */
void draft_settle_shared(Draft *d);

#endif
