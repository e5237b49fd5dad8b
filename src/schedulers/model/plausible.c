/* SPDX-License-Identifier: MIT */
/* The machines that a description may stand for: a table of what may be wrong with it. Vector width, cores and the L1
 * are not in doubt: the system is right about them. */
#include "schedulers/model/plausible.h"

#include <math.h>

enum { NOTHING = 1024 /* bytes of the L3 that a core can count on: fewer than of any L2 */ };

static int64_t half_of(int64_t bytes, int64_t least)
{
    return bytes / 2 > least ? bytes / 2 : least;
}

static void change_nothing(Machine *m)
{
    (void)m;
}

/* A sibling thread or other data in the same sets. Outputs stream from the same size on. */
static void halve_caches(Machine *m)
{
    m->stream  = (int64_t)machine_streams_from(m);
    m->l2      = half_of(m->l2, m->l1);
    m->l3      = m->l3 ? half_of(m->l3, m->l2) : 0;
    m->l3_core = half_of(m->l3_core, NOTHING);
}

/* An L3 that other guests of the server fill: what leaves the L2 comes from memory. */
static void lose_l3(Machine *m)
{
    m->l3_core = NOTHING;
}

/* Another thread at the same memory and the same L3. */
static void share_memory(Machine *m)
{
    m->l3_core = half_of(m->l3_core, NOTHING);
    m->memory_rate /= 2;
    m->memory_all /= 2;
}

/* clang-format off */
static void (*const changes[PLAUSIBLE_COUNT])(Machine *) = { change_nothing, halve_caches, lose_l3, share_memory };
const char *const plausible_names[PLAUSIBLE_COUNT] = { "as described", "half the caches", "no L3", "shared memory" };
/* clang-format on */

Machine plausible_machine(const Machine *m, int which)
{
    Machine changed = *m;
    changes[which](&changed);
    return changed;
}

void plausible_regrets(const double (*time)[PLAUSIBLE_COUNT], int count, int machines, double *regret)
{
    for (int i = 0; i < count; i++)
        regret[i] = 1;
    for (int k = 0; k < machines; k++) {
        double least = INFINITY;
        for (int i = 0; i < count; i++)
            least = fmin(least, time[i][k]);
        for (int i = 0; i < count && least > 0; i++)
            regret[i] = fmax(regret[i], time[i][k] / least);
    }
}
