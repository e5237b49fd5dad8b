/* Slices: stages that carry one dimension through to a last one, each place of it for itself. */
#ifndef KILN_SCHEDULERS_SLICES_H
#define KILN_SCHEDULERS_SLICES_H

#include "schedulers/draft.h"

/* All that reads a member is a member too; the head is read by others. */
typedef struct Slices {
    int        head, dim; /* which of its dimensions */
    int        count;
    const int *stages; /* ascending, the head last; those that the draft inlines too */
} Slices;

/* Those of a draft, of at least so many slices each; no stage is in two of them. `out` has room for one per stage.
 * Gives their number. */
int slices_find(const Draft *d, int64_t least, Slices *out, Arena *arena);

#endif
