/* SPDX-License-Identifier: MIT */
/* Schedules that were tuned for several sizes or machines, timed on one of them.
 *
 * How     As the last check of a search: pairs of turns with the schedule that was tuned for this one, in fresh
 *         processes, so that what slows the machine down slows both. The ratio is the median over the pairs, and its
 *         chance that of a sign test in both directions.
 * From    Ragan-Kelley et al. 2013, section 6, figure 8. */
#include "schedulers/tune/kernel_edits.h"
#include "schedulers/tune/race.h"

#include <math.h>

/* Opens those without a fault, so many at a time. */
static void open_trials(const TuneHost *host, TuneTrial *trials, int count, int batch, const TuneCell *cells,
                        Arena *arena)
{
    TuneTrial **some = ARENA_ARRAY(arena, TuneTrial *, (size_t)batch);
    for (int i = 0; i < count;) {
        int opened = 0;
        for (; i < count && opened < batch; i++)
            if (!cells[i].fault)
                some[opened++] = &trials[i];
        if (opened)
            host->open(host->user, some, opened);
    }
}

/* What has become of each, before its reason is gone with its process. */
static void close_trials(const TuneHost *host, TuneTrial *trials, int count, Arena *arena, TuneCell *cells)
{
    for (int i = 0; i < count; i++) {
        if (trials[i].fault && !cells[i].fault) {
            cells[i].fault  = trials[i].fault;
            cells[i].reason = trials[i].reason ? arena_strdup(arena, trials[i].reason) : NULL;
        }
        if (trials[i].slot >= 0)
            host->close(host->user, &trials[i]);
        trials[i].slot = -1;
    }
}

static TuneCell cell_of(const Race *r, TuneCell cell)
{
    if (!r->pairs || cell.fault)
        return cell;
    const int more = 2 * r->wins > r->pairs ? r->wins : r->pairs - r->wins;
    cell.ratio     = race_median(r);
    cell.chance    = fmin(1, 2 * race_chance(r->pairs, more));
    return cell;
}

double tune_column(const TuneHost *host, TuneTrial *trials, int count, int own, int batch, Arena *arena,
                   TuneCell *cells)
{
    Race  *races = ARENA_ARRAY(arena, Race, (size_t)count);
    double least = 0;
    for (int i = 0; i < count; i++)
        cells[i] = (TuneCell){ .fault = trials[i].fault };
    for (int round = 0; round < TUNE_CHECK_ROUNDS && !cells[own].fault; round++) {
        open_trials(host, trials, count, batch, cells, arena);
        for (int i = 0; i < count && trials[own].slot >= 0; i++) {
            if (i != own && trials[i].slot >= 0)
                race_pairs(host, &trials[i], &trials[own], TUNE_CHECK_PAIRS, &races[i]);
        }
        const double ns = trials[own].slot >= 0 ? host->sample(host->user, &trials[own]) : 0;
        least           = ns > 0 && (round == 0 || ns < least) ? ns : least;
        close_trials(host, trials, count, arena, cells);
    }
    for (int i = 0; i < count; i++)
        cells[i] = cell_of(&races[i], cells[i]);
    if (!cells[own].fault)
        cells[own] = (TuneCell){ .ratio = 1, .chance = 1 };
    return cells[own].fault ? 0 : least;
}

/* ---- Predictions ------------------------------------------------------------------------- */

/* The same stages and blocks on another graph. */
static double predict_kernels(const KernelDraft *from, const Graph *g, const Machine *m, Arena *arena)
{
    KernelDraft k     = kernel_edits_copy(from, arena);
    k.d.graph         = g;
    k.device          = &m->device;
    KernelSpace space = kernel_space(&k, false, arena);
    for (int i = 0; i < k.d.group_count; i++) {
        if (k.left[k.d.groups[i].head])
            continue;
        kernel_space_begin(&space, k.d.groups[i].head);
        kernel_evaluate(&space, &k.kernels[i].shape, &k.kernels[i].cost);
    }
    return kernel_draft_cost(&k);
}

double tune_predict(const TuneFound *found, const Graph *g, const Machine *m, Arena *arena)
{
    if (found->kernels)
        return predict_kernels(found->kernels, g, m, arena);
    Draft d = *found->draft;
    d.graph = g;
    return cost_draft(&d, m);
}
