/* SPDX-License-Identifier: MIT */
/* Fitting: which speeds of a machine explain measured times best.
 *
 * Takes   the terms of drafts on an assumed machine, and their measured times.
 * Gives   a factor for each speed that minimizes
 *
 *             mean over pairs of drafts of a program of |ln(predicted / predicted' * measured' / measured)|  +  STAY *
 *             sum over speeds of (ln factor)^2
 *
 *         by coordinate descent: each factor is tried larger and smaller, in ever finer steps.
 * Why     Pairs, because a scheduler chooses among the drafts of one program. Ratios, because an error of two weighs
 *         the same in small and large programs. Absolute values, because some measurements are outliers. The last term
 *         keeps speeds that the drafts do not determine. */
#include "schedulers/model/fit.h"

#include <math.h>
#include <stddef.h>

/* A speed, and the terms that it is in: a time, or a rate that divides. */
typedef struct Speed {
    CostTerm terms[2];
    size_t   offset, also; /* in Machine */
    bool     divides;
} Speed;

#define AT(field) offsetof(Machine, field)
/* clang-format off */
static const Speed speeds[] = {
    { { TERM_OPS, TERM_WAITS },     AT(op),          AT(op),         false },
    { { TERM_LOADS, TERM_LOADS },   AT(load),        AT(load),       false },
    { { TERM_L2, TERM_L2 },         AT(l2_rate),     AT(l2_rate),    true },
    { { TERM_L3, TERM_L3 },         AT(l3_rate),     AT(l3_rate),    true },
    { { TERM_MEMORY, TERM_MEMORY }, AT(memory_rate), AT(memory_all), true },
    { { TERM_ROWS, TERM_ROWS },     AT(row),         AT(row),        false },
    { { TERM_ENDS, TERM_ENDS },     AT(split_row),   AT(split_row),  false },
    { { TERM_TASKS, TERM_TASKS },   AT(task),        AT(task),       false },
};
/* clang-format on */
enum { SPEEDS = sizeof speeds / sizeof *speeds };

static const double stay = 0.08;                        /* weight of leaving a speed as it is: with 0.02 the error is
                                                           0.33 instead of 0.35, and rates of caches double */
static const double first_step = 1.0, last_step = 0.02; /* of ln factor */
static const double most_factor = 30;

static double predicted(const FitSample *s, const double *factors)
{
    double by_term[TERM_COUNT], ns = 0;
    for (int i = 0; i < SPEEDS; i++)
        by_term[speeds[i].terms[0]] = by_term[speeds[i].terms[1]] = factors[i];
    for (int g = 0; g < s->group_count; g++) {
        double terms[TERM_COUNT];
        for (int i = 0; i < TERM_COUNT; i++)
            terms[i] = s->terms[g][i] * by_term[i];
        ns += cost_of_terms(terms);
    }
    return ns;
}

/* ln(predicted / measured) */
static double excess(const FitSample *s, const double *factors)
{
    const double ns = predicted(s, factors);
    return ns > 0 ? log(ns / s->ns) : 0;
}

static double error_of(const FitSample *samples, int count, const double *factors)
{
    double sum   = 0;
    int    pairs = 0;
    for (int i = 0; i < count; i++)
        for (int k = 0; k < i; k++)
            if (samples[k].program == samples[i].program) {
                sum += fabs(excess(&samples[i], factors) - excess(&samples[k], factors));
                pairs++;
            }
    return pairs ? sum / pairs : 0;
}

static double loss_of(const FitSample *samples, int count, const double *factors)
{
    double loss = error_of(samples, count, factors);
    for (int i = 0; i < SPEEDS; i++)
        loss += stay * log(factors[i]) * log(factors[i]);
    return loss;
}

/* Tries one factor larger or smaller; keeps the better. */
static bool try_factor(const FitSample *samples, int count, double *factors, int i, double by, double *best)
{
    const double had = factors[i];
    factors[i] *= by;
    const double loss =
        factors[i] > most_factor || factors[i] < 1 / most_factor ? INFINITY : loss_of(samples, count, factors);
    if (loss < *best) {
        *best = loss;
        return true;
    }
    factors[i] = had;
    return false;
}

static void apply(Machine *m, size_t offset, double by)
{
    double *speed = (double *)((char *)m + offset);
    *speed        = machine_rounded(*speed * by);
}

double fit_machine(const FitSample *samples, int count, Machine *m)
{
    double factors[SPEEDS];
    for (int i = 0; i < SPEEDS; i++)
        factors[i] = 1;
    double best = loss_of(samples, count, factors);
    for (double step = first_step; step > last_step; step /= 2)
        for (bool moved = true; moved;) {
            moved = false;
            for (int i = 0; i < SPEEDS; i++)
                moved |= try_factor(samples, count, factors, i, exp(step), &best) ||
                         try_factor(samples, count, factors, i, exp(-step), &best);
        }
    for (int i = 0; i < SPEEDS; i++) {
        apply(m, speeds[i].offset, speeds[i].divides ? 1 / factors[i] : factors[i]);
        if (speeds[i].also != speeds[i].offset)
            apply(m, speeds[i].also, speeds[i].divides ? 1 / factors[i] : factors[i]);
    }
    return error_of(samples, count, factors);
}
