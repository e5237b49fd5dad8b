/* SPDX-License-Identifier: MIT */
/* The choice of patterns, in the order of their rows. */
#include "schedulers/rules/patterns.h"

static void (*const choices[])(Draft *d, int s, const Machine *m) = { privatize_choose, scan_choose, separate_choose,
                                                                      grid_choose };

void patterns_choose(Draft *d, const Machine *m)
{
    for (int s = 0; s < d->graph->node_count; s++)
        for (size_t i = 0; i < sizeof choices / sizeof *choices; i++)
            if (d->patterns[s].kind == PATTERN_NONE)
                choices[i](d, s, m);
}

void patterns_choose_late(Draft *d)
{
    for (int s = d->graph->node_count; s-- > 0;) {
        scan_choose_late(d, s);
        grid_choose_late(d, s);
    }
}
