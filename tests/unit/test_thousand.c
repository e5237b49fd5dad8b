/* SPDX-License-Identifier: MIT */
/* A pipeline of a thousand functions gets a schedule from every scheduler, in so many steps and in bounded memory: a
 * chain, and a graph in which each reads some of those before it. */
#include "check.h"

#include "kiln.h"
#include "steps.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { COUNT = 1000 };
static const uint64_t most_steps =
    50000 * COUNT; /* half of what a call may take; the schedulers that search go on as long as their budget lasts */
static const size_t memory_limit = (size_t)96 << 20;

static const char machine[] = "cores=4, vector_bits=256, l1=32k, l2=512k, l3=16M, op=0.25, l1_rate=40, l2_rate=20, "
                              "l3_rate=10, memory_rate=6, memory_all=12";

/* g0 … g999, of which each reads up to three of those before it: the last and others further back. */
static char *thousand(bool chain)
{
    char    *text = calloc(COUNT + 8, 128);
    size_t   n    = (size_t)sprintf(text, "input in : f32(x, y)\noutput out\ng0(x, y) = in(x, y) + in(x+1, y)\n");
    uint32_t seed = 1;
    for (int i = 1; i < COUNT; i++) {
        seed        = seed * 1664525 + 1013904223;
        const int j = chain || i < 9 ? i - 1 : i - 1 - (int)(seed >> 29),
                  k = chain || i < 9 ? i - 1 : i - 1 - (int)(seed >> 26 & 3);
        n += (size_t)sprintf(text + n, "g%d(x, y) = (g%d(x-1, y) + g%d(x+1, y) + g%d(x, y+1)) / 3.0\n", i, i - 1, j, k);
    }
    sprintf(text + n, "out(x, y) = g%d(x, y)\nestimate out(1024, 1024)\n", COUNT - 1);
    return text;
}

/* Made, and read back. */
static void make(const char *name, const char *text, const char *scheduler)
{
    kn_context    *cx    = kn_context_new(&(kn_config){ .memory_limit = memory_limit });
    kn_pipeline   *p     = kn_parse(cx, name, text, -1);
    const char    *made  = p ? kn_schedule_make(p, scheduler, machine, NULL, NULL, 0) : NULL;
    const uint64_t taken = steps_spent(cx);
    char          *copy  = made ? strdup(made) : NULL;
    CHECK(made, "%s by %s: %s", name, scheduler, kn_error_text(cx));
    CHECK(taken <= most_steps, "%s by %s: %llu steps", name, scheduler, (unsigned long long)taken);
    CHECK(copy && kn_schedule_parse(p, "made", copy, -1) == KN_OK, "%s by %s: %s", name, scheduler, kn_error_text(cx));
    free(copy);
    kn_context_free(cx);
}

int main(void)
{
    for (int chain = 0; chain < 2; chain++) {
        char *text = thousand(chain);
        for (int i = 0; strcmp(kn_scheduler_get(i).name, "gpu"); i++)
            make(chain ? "a chain of 1000" : "1000 functions", text, kn_scheduler_get(i).name);
        free(text);
    }
    return check_done();
}
