/* The scheduler `greedy`: groups by the best merge of two at a time, in overlapped tiles.
 *
 * From    Mullapudi et al. 2016 as Jangda and Bondhugula 2020, section 2.3, have it: Halide's classic auto-scheduler,
 *         the baseline that the others must beat. Every node begins as a group of its own, in tiles. Of all merges of
 *         a group with the one that reads it, that with the largest benefit
 *
 *             gain(p, c) = cost(p) + cost(c) - cost(p u c)
 *
 *         is made, each cost that of the best tile (tile.h, one level: no windows slide); until there is none with a
 *         benefit (group_greedy.c).
 * So it is `dp` without its dynamic program and without its second level of tiles. */
#include "schedulers/schedulers.h"

Draft scheduler_greedy(const Graph *g, const Machine *m, const SchedulerOptions *options, Arena *arena)
{
    SchedulerOptions less = *options;
    less.greedy_fusion = less.no_two_levels = true;
    return scheduler_dp(g, m, &less, arena);
}
