/* SPDX-License-Identifier: MIT */
/* A simulated host: the times of schedules without running them, for tests and for trying out searches.
 *
 * Gives   model x error x noise. The error belongs to the schedule: it is what the model does not know, and what a
 *         search has to find out. The noise belongs to the turn, and never makes it shorter: other programs take time.
 * Holds   The same seed and the same questions give the same answers and the same clock. */
#include "schedulers/tune/random.h"
#include "schedulers/tune/tune.h"

static void open_all(void *user, TuneTrial *const *trials, int count)
{
    TuneSimulation *s = user;
    for (int i = 0; i < count; i++) {
        const bool taken = !s->accepts || s->accepts(s->user, trials[i]);
        trials[i]->fault = taken ? TUNE_FINE : TUNE_REFUSED;
        trials[i]->slot  = taken ? 0 : -1;
        s->seconds += SIMULATED_COMPILE_SECONDS;
    }
}

static double sample(void *user, TuneTrial *trial)
{
    TuneSimulation *s     = user;
    Random          error = { s->seed ^ trial->key }, noise = { s->seed + random_mix(++s->turns) };
    const double    ns = trial->predicted * exp(SIMULATED_ERROR * random_normal(&error)) *
                      (1 + SIMULATED_NOISE * fabs(random_normal(&noise)));
    s->seconds += 1e-9 * ns;
    return ns;
}

static void close_one(void *user, TuneTrial *trial)
{
    (void)user;
    trial->slot = -1;
}

static double seconds(void *user)
{
    return ((TuneSimulation *)user)->seconds;
}

static bool goes_on(void *user)
{
    const TuneSimulation *s = user;
    return s->seconds < s->budget && !(s->stops && s->stops(s->user));
}

static bool recall(void *user, const TuneTrial *trial, TuneOutcome *outcome)
{
    const TuneSimulation *s = user;
    return s->recall && s->recall(s->user, trial, outcome);
}

static void step(void *user, const TuneStep *told)
{
    const TuneSimulation *s = user;
    if (s->step)
        s->step(s->user, told);
}

void tune_simulate(TuneSimulation *s)
{
    s->host = (TuneHost){ s, open_all, sample, close_one, seconds, goes_on, recall, step };
}
