/* SPDX-License-Identifier: MIT */
/* Random schedules for a pipeline: most of them legal, none of them sensible.
 *
 * The generator follows the loops of every definition through its own directives, so that names are always right, and
 * knows enough of what is legal (a function is computed outside of all that reads it, steps of a reduction keep their
 * order, nothing is stored outside a parallel loop that computes it) that most schedules are accepted. Now and then it
 * does not care, so that refusals are tried too. */
#ifndef KILN_TESTS_FUZZ_GENERATE_SCHEDULE_H
#define KILN_TESTS_FUZZ_GENERATE_SCHEDULE_H

#include "generate.h"
#include "pipeline/pipeline.h"

/* The box of a function that is needed, over all sizes it is run with: what `bound` may promise. */
typedef struct Reach {
    bool    known;
    int32_t min[KN_MAX_RANK], max[KN_MAX_RANK];
} Reach;

/* A schedule block, to be freed; NULL if there is no memory. `reach` is by function. `gpu`: for a device. */
char *generate_schedule(Choices *c, kn_pipeline *p, const Reach *reach, bool gpu);

#endif
