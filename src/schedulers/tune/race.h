/* SPDX-License-Identifier: MIT */
/* A race: is a candidate faster than the incumbent? Turns alternate, so that what slows the machine down slows both.
 *
 * Only which of a pair of turns is shorter counts: the sign test needs no assumption on the noise but that a candidate
 * which is not faster wins a pair with chance 1/2 at most. The test is sequential (Wald 1945) between that and a chance
 * of TUNE_CHANCE: a candidate that is not faster wins a race with chance TUNE_WRONG_WINNER at most, whatever the number
 * of pairs. It is stopped as soon as it is hopeless. */
#ifndef KILN_SCHEDULERS_TUNE_RACE_H
#define KILN_SCHEDULERS_TUNE_RACE_H

#include "schedulers/tune/tune.h"

enum { RACE_MOST_PAIRS = 48 };

typedef enum RaceState { RACE_GOES_ON, RACE_WON, RACE_LOST } RaceState;

typedef struct Race {
    int    pairs, wins;
    double evidence; /* log of the likelihood ratio */
    double ratio[RACE_MOST_PAIRS];
} Race;

/* Adds a pair of turns. */
RaceState race_add(Race *r, double candidate_ns, double incumbent_ns);
/* The median of the ratios. */
double race_median(const Race *r);
/* The chance that a fair coin shows at least `wins` heads in `pairs` throws. */
double race_chance(int pairs, int wins);

/* Runs a race of two open trials. `noted`, if not NULL, is called with each turn of the incumbent. */
void race_run(const TuneHost *host, TuneTrial *candidate, TuneTrial *incumbent, TuneOutcome *out,
              void (*noted)(void *user, double ns), void *user);
/* Adds a fixed number of pairs, for a check whose chance of error is race_chance; false if a turn failed. */
bool race_pairs(const TuneHost *host, TuneTrial *candidate, TuneTrial *start, int pairs, Race *r);

/* The median of some values, which are sorted. */
double median_of(double *values, int count);

#endif
