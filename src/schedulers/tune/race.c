/* SPDX-License-Identifier: MIT */
/* Races: sequential sign tests on alternating turns (race.h). */
#include "schedulers/tune/race.h"

#include <math.h>
#include <stdlib.h>

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double median_of(double *values, int count)
{
    if (!count)
        return 0;
    qsort(values, (size_t)count, sizeof *values, compare);
    return count % 2 ? values[count / 2] : 0.5 * (values[count / 2 - 1] + values[count / 2]);
}

double race_median(const Race *r)
{
    double sorted[RACE_MOST_PAIRS];
    memcpy(sorted, r->ratio, sizeof *sorted * (size_t)r->pairs);
    return median_of(sorted, r->pairs);
}

/* A win multiplies the likelihood ratio by p / 0.5, a loss by (1 - p) / 0.5. By Wald's inequality it exceeds 1 / wrong
 * with chance `wrong` at most if the candidate is not faster; the cut after RACE_MOST_PAIRS only makes it lose. */
RaceState race_add(Race *r, double candidate_ns, double incumbent_ns)
{
    const bool win       = candidate_ns < incumbent_ns;
    r->ratio[r->pairs++] = candidate_ns / incumbent_ns;
    r->evidence += log(2 * (win ? TUNE_CHANCE : 1 - TUNE_CHANCE));
    r->wins += win;
    const double median = race_median(r);
    if (median > (r->pairs > 1 ? TUNE_HOPELESS : TUNE_FAR_SLOWER) || r->evidence <= log(TUNE_MISSED))
        return RACE_LOST;
    if (r->evidence >= -log(TUNE_WRONG_WINNER) && median < 1)
        return RACE_WON;
    return r->pairs == RACE_MOST_PAIRS ? RACE_LOST : RACE_GOES_ON;
}

double race_chance(int pairs, int wins)
{
    double chance = 0;
    for (int k = wins; k <= pairs; k++)
        chance += exp(lgamma(pairs + 1) - lgamma(k + 1) - lgamma(pairs - k + 1) - pairs * log(2));
    return chance < 1 ? chance : 1;
}

/* A pair of turns; the candidate is first in every second one. false if one of them failed. */
static bool take_pair(const TuneHost *host, TuneTrial *candidate, TuneTrial *incumbent, int number, double ns[2])
{
    for (int i = 0; i < 2; i++) {
        const int which = (i + number) % 2;
        ns[which]       = host->sample(host->user, which ? incumbent : candidate);
        if (!(ns[which] > 0))
            return false;
    }
    return true;
}

void race_run(const TuneHost *host, TuneTrial *candidate, TuneTrial *incumbent, TuneOutcome *out,
              void (*noted)(void *user, double ns), void *user)
{
    Race      r     = { 0 };
    RaceState state = RACE_GOES_ON;
    double    ns[2];
    *out = (TuneOutcome){ .verdict = TUNE_LOST, .ratio = 1 };
    while (state == RACE_GOES_ON && take_pair(host, candidate, incumbent, r.pairs, ns)) {
        state   = race_add(&r, ns[0], ns[1]);
        out->ns = r.pairs == 1 || ns[0] < out->ns ? ns[0] : out->ns;
        if (noted)
            noted(user, ns[1]);
    }
    out->pairs   = r.pairs;
    out->ratio   = r.pairs ? race_median(&r) : 1;
    out->verdict = state == RACE_WON ? TUNE_WON : TUNE_LOST;
    out->fault   = candidate->fault;
}

bool race_pairs(const TuneHost *host, TuneTrial *candidate, TuneTrial *start, int pairs, Race *r)
{
    double ns[2];
    for (int i = 0; i < pairs && r->pairs < RACE_MOST_PAIRS; i++) {
        if (!take_pair(host, candidate, start, r->pairs, ns))
            return false;
        r->wins += ns[0] < ns[1];
        r->ratio[r->pairs++] = ns[0] / ns[1];
    }
    return true;
}
