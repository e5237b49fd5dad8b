/* SPDX-License-Identifier: MIT */
/* Loops over steps whose trip count parameters decide, as in sum(in(x+i) for i in -radius..radius+1). */
#ifndef KILN_SCHEDULERS_GIVEN_STEPS_H
#define KILN_SCHEDULERS_GIVEN_STEPS_H

#include "schedulers/draft/draft.h"

/* The steps of a reduction variable of the node's main update for the values that the parameters have; 0: something
 * else decides too, or there are none. */
int64_t given_steps(const Draft *d, int s, int rvar);
/* ".specialize(radius == 3).unroll(i, 7)" */
void given_steps_print(Text *out, const Draft *d, int s, int rvar, const char *loop);

#endif
