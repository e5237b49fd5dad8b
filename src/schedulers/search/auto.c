/* SPDX-License-Identifier: MIT */
/* The scheduler `auto`: runs all others and, of the drafts that the cost model (cost.h) predicts to be nearly the
 * fastest, takes the one of the least regret (plausible.h): never much slower than the best of them, whichever of
 * several plausible machines this is.
 *
 * Near    Only drafts within NEAR_PERCENT of the fastest on the machine as described are taken: the description is the
 *         likeliest of the machines. `no-robust` counts only this machine's times.
 * Order   of the table. Each scheduler gets the whole budget, as long as half of it is left, so that it drafts what it
 *         would by itself; then it gets the rest.
 * Ties    of regret go to the fastest on the machine as it is described. The model is accurate to a few percent only.
 *         So of the drafts of nearly the least regret, the one that moves far less data between groups is taken: memory
 *         traffic is what other threads compete for.
 * Quick   On the other machines the costs are those of a tile in the middle: only ratios count there.
 * Fails   A scheduler that runs out of memory or steps is skipped. One whose turn comes after the budget is spent is
 *         skipped too; this alone makes the choice depend on the clock. The first, `plain`, is always run. */
#include "schedulers/search/schedulers.h"

#include <math.h>
#include <time.h>

typedef struct Ask {
    const Graph            *g;
    const Machine          *m;
    const Scheduler        *scheduler;
    const SchedulerOptions *options;
    Arena                  *arena;
    Candidate              *out;
    int                     last;
} Ask;

static void ask(void *arg)
{
    const Ask *a = arg;
    Candidate *c = &a->out[a->last];
    c->draft     = a->scheduler->run(a->g, a->m, a->options, a->arena);
    c->ns        = cost_draft(&c->draft, a->m);
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

static double quick_cost(const Draft *d, const Machine *m)
{
    double ns = 0;
    for (int i = 0; i < d->group_count; i++)
        ns += cost_group_quick(d, i, m);
    return ns;
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

/* Of the first `near` candidates, and those whose regret is as good as that of `best`, the one that moves least, if
 * that is far less. */
static int least_moved(const Candidate *at, int near, int best, const Machine *m)
{
    const double most  = (1 + AS_GOOD_PERCENT / 100.0) * at[best].regret;
    double       least = FAR_LESS_PERCENT / 100.0 * moved(&at[best].draft, m);
    for (int i = 0; i < near; i++) {
        const double bytes = at[i].regret <= most ? moved(&at[i].draft, m) : INFINITY;
        if (bytes < least) {
            least = bytes;
            best  = i;
        }
    }
    return best;
}

/* Predicts the candidates on the plausible machines; their regrets are relative to all candidates. `machines`: on how
 * many of the plausible ones. */
static void find_regrets(Candidate *at, int count, const Machine *m, int machines, Arena *arena)
{
    double(*time)[PLAUSIBLE_COUNT] = arena_array(arena, (size_t)count, sizeof *time);
    double *regret                 = ARENA_ARRAY(arena, double, (size_t)count);
    for (int k = 0; k < PLAUSIBLE_COUNT; k++) {
        const Machine likely = plausible_machine(m, k);
        for (int i = 0; i < count; i++)
            time[i][k] = at[i].likely_ns[k] = k ? quick_cost(&at[i].draft, &likely) : at[i].ns;
    }
    plausible_regrets((const double(*)[PLAUSIBLE_COUNT])time, count, machines, regret);
    for (int i = 0; i < count; i++)
        at[i].regret = regret[i];
}

/* Puts the candidate to take first. They are sorted by their times on the machine as described: those of nearly the
 * least come first. */
static void choose(Candidate *at, int count, const Machine *m)
{
    int near = 1, best = 0;
    while (near < count && at[near].ns <= (1 + NEAR_PERCENT / 100.0) * at[0].ns)
        near++;
    for (int i = 1; i < near; i++)
        best = at[i].regret < at[best].regret ? i : best;
    best                  = least_moved(at, near, best, m);
    const Candidate first = at[best];
    for (; best > 0; best--)
        at[best] = at[best - 1];
    at[0] = first;
}

/* Is it the draft of an earlier candidate? Equal times on all of the machine's terms come of equal drafts. */
static bool is_known(const Candidate *at, int last)
{
    for (int i = 0; i < last; i++)
        if (at[i].ns == at[last].ns && at[i].draft.group_count == at[last].draft.group_count)
            return true;
    return false;
}

/* Asks a scheduler for a draft. */
static int ask_for(Ask *a)
{
    const int count = a->last;
    a->out[count]   = (Candidate){ .scheduler = a->scheduler };
    if (count == 0)
        ask(a);
    else if (!context_attempt(a->g->pipeline->cx, ask, a) || is_known(a->out, count))
        return count;
    sort_in(a->out, count);
    return count + 1;
}

int scheduler_candidates(const Graph *g, const Machine *m, const SchedulerOptions *options, Arena *arena,
                         Candidate *out)
{
    const double     end   = seconds() + options->budget;
    SchedulerOptions share = *options;
    int              count = 0;
    for (int i = 0; scheduler_table[i].run != scheduler_auto; i++) {
        const double left = end - seconds();
        share.budget      = left > options->budget / 2 ? options->budget : left;
        if (count == 0 || left > 0)
            count = ask_for(&(Ask){ g, m, &scheduler_table[i], &share, arena, out, count });
    }
    find_regrets(out, count, m, options->no_robust ? 1 : PLAUSIBLE_COUNT, arena);
    choose(out, count, m);
    return count;
}

Draft scheduler_auto(const Graph *g, const Machine *m, const SchedulerOptions *options, Arena *arena)
{
    Candidate *all = ARENA_ARRAY(arena, Candidate, (size_t)scheduler_count);
    scheduler_candidates(g, m, options, arena, all);
    return all[0].draft;
}

/* A copy begins as late as a launch does. */
DeviceCopies device_copies(const Graph *g, const Device *d)
{
    DeviceCopies c = { .buffers = 0 };
    for (int s = 0; s < g->node_count; s++) {
        const GraphNode *node = &g->nodes[s];
        if (node->kind != NODE_INPUT && !node->is_output)
            continue;
        c.buffers++;
        c.bytes += (double)box_points(&node->box, node->rank) * (double)node->bytes;
    }
    c.ns = c.bytes / d->host_rate + c.buffers * d->launch;
    return c;
}
