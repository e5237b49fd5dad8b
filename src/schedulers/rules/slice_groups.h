/* SPDX-License-Identifier: MIT */
/* Slice groups: nodes that carry one dimension through to a head, each slice of it independent of the others. */
#ifndef KILN_SCHEDULERS_SLICE_GROUPS_H
#define KILN_SCHEDULERS_SLICE_GROUPS_H

#include "schedulers/draft/draft.h"

/* All readers of a member are members; the head has other readers. */
typedef struct SliceGroup {
    int        head, dim; /* the dimension of the head */
    int        count;
    const int *nodes; /* ascending, the head last; inlined ones too */
} SliceGroup;

/* Finds those of a draft with at least so many slices; no node is in two of them. `out` has room for one per node.
 * Gives their number. */
int slice_groups_find(const Draft *d, int64_t least, SliceGroup *out, Arena *arena);

#endif
