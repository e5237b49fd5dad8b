/* SliceGroup: nodes that carry one dimension through to a last one, each place of it for itself. */
#ifndef KILN_SCHEDULERS_SLICE_GROUPS_H
#define KILN_SCHEDULERS_SLICE_GROUPS_H

#include "schedulers/draft.h"

/* All that reads a member is a member too; the head is read by others. */
typedef struct SliceGroup {
    int        head, dim; /* which of its dimensions */
    int        count;
    const int *nodes; /* ascending, the head last; those that the draft inlines too */
} SliceGroup;

/* Those of a draft, of at least so many slices each; no node is in two of them. `out` has room for one per node.
 * Gives their number. */
int slice_groups_find(const Draft *d, int64_t least, SliceGroup *out, Arena *arena);

#endif
