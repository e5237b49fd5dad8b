/* SPDX-License-Identifier: MIT */
/* The scheduler `auto`: runs all others and takes the draft that the cost model (cost.h) predicts to be fastest.
 *
 * Order   of the table. Each scheduler gets the whole budget, as long as half of it is left, so that it drafts what it
 *         would by itself; then it gets the rest.
 * Ties    go to the first. The model is accurate to a few percent only. So of the drafts that near to the best, the
 *         one that moves far less data between groups is taken: memory traffic is what other threads compete for.
 * Fails   A scheduler that runs out of memory or steps is skipped. One whose turn comes after the budget is spent is
 *         skipped too; this alone makes the choice depend on the clock. The first, `plain`, is always run. */
#include "schedulers/search/schedulers.h"

#include <time.h>

typedef struct Ask {
    const Graph            *g;
    const Machine          *m;
    const SchedulerOptions *options;
    Arena                  *arena;
    Candidate              *out;
} Ask;

static void ask(void *arg)
{
    const Ask *a  = arg;
    a->out->draft = a->out->scheduler->run(a->g, a->m, a->options, a->arena);
    a->out->ns    = cost_draft(&a->out->draft, a->m);
}

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Moves the last candidate before those that are slower. */
static void sort_in(Candidate *at, int last)
{
    const Candidate moved = at[last];
    for (; last > 0 && moved.ns < at[last - 1].ns; last--)
        at[last] = at[last - 1];
    at[last] = moved;
}

/* Bytes moved between groups, from inputs and to outputs. */
static double moved(const Draft *d, const Machine *m)
{
    double bytes = 0;
    for (int i = 0; i < d->group_count; i++) {
        GroupCost cost;
        cost_group(d, i, m, NULL, &cost);
        bytes += cost.live_in + cost.live_out;
    }
    return bytes;
}

/* Of the candidates that are as good as the first, puts the one that moves least first. */
static void least_moved_first(Candidate *at, int count, const Machine *m)
{
    double least = FAR_LESS_PERCENT / 100.0 * moved(&at[0].draft, m);
    int    best  = 0;
    for (int i = 1; i < count && at[i].ns <= (1 + AS_GOOD_PERCENT / 100.0) * at[0].ns; i++) {
        const double bytes = moved(&at[i].draft, m);
        if (bytes < least) {
            least = bytes;
            best  = i;
        }
    }
    const Candidate first = at[best];
    for (; best > 0; best--)
        at[best] = at[best - 1];
    at[0] = first;
}

int scheduler_candidates(const Graph *g, const Machine *m, const SchedulerOptions *options, Arena *arena,
                         Candidate *out)
{
    const double     end   = seconds() + options->budget;
    SchedulerOptions share = *options;
    int              count = 0;
    for (int i = 0; scheduler_table[i].run != scheduler_auto; i++) {
        const double left = end - seconds();
        Ask          a    = { g, m, &share, arena, &out[count] };
        share.budget      = left > options->budget / 2 ? options->budget : left;
        out[count]        = (Candidate){ .scheduler = &scheduler_table[i] };
        if (count > 0 && (left <= 0 || !context_attempt(g->pipeline->cx, ask, &a)))
            continue;
        if (count == 0)
            ask(&a);
        sort_in(out, count++);
    }
    least_moved_first(out, count, m);
    return count;
}

Draft scheduler_auto(const Graph *g, const Machine *m, const SchedulerOptions *options, Arena *arena)
{
    Candidate *all = ARENA_ARRAY(arena, Candidate, (size_t)scheduler_count);
    scheduler_candidates(g, m, options, arena, all);
    return all[0].draft;
}
