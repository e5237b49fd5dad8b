/* SPDX-License-Identifier: MIT */
/* The scheduler `greedy`: groups by the best merge of two at a time, in overlapped tiles.
 *
 * From    Mullapudi et al. 2016 as in Jangda and Bondhugula 2020, section 2.3: Halide's classic auto-scheduler, the
 *         baseline. Every node begins as a group of its own. The merge of a group with one that reads it that has the
 *         largest benefit is made,
 *
 *             gain(p, c) = cost(p) + cost(c) - cost(p u c)
 *
 *         where each cost is that of the best tile (tile.h, one level, no sliding windows); until none has a benefit
 *         (group_greedy.c).
 * So it is `dp` without the dynamic program and without the second level of tiles. */
#include "schedulers/search/schedulers.h"

Draft scheduler_greedy(const Graph *g, const Machine *m, const SchedulerOptions *options, Arena *arena)
{
    SchedulerOptions less = *options;
    less.greedy_fusion = less.no_two_levels = true;
    return scheduler_dp(g, m, &less, arena);
}
