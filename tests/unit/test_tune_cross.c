/* SPDX-License-Identifier: MIT */
/* A column of the table of kiln tune --cross on a host of its own: ratios, what is told from noise, and what fails. */
#include "check.h"

#include <math.h>

#include "schedulers/tune/race.h"

enum { MOST = 8 };

typedef struct Host {
    int turns, open, most_open, opened_at_once; /* trials that are open, at most; of one call at most */
    int refused, crashes;                       /* trials whose slot is this: at once, in a turn; -1: none */
} Host;

static void open_some(void *user, TuneTrial *const *trials, int count)
{
    Host *h           = user;
    h->opened_at_once = count > h->opened_at_once ? count : h->opened_at_once;
    for (int i = 0; i < count; i++) {
        trials[i]->fault = (int)trials[i]->key == h->refused ? TUNE_REFUSED : TUNE_FINE;
        trials[i]->slot  = trials[i]->fault ? -1 : (int)trials[i]->key;
        h->open += !trials[i]->fault;
        trials[i]->reason = trials[i]->fault ? "it is not liked" : NULL;
    }
    h->most_open = h->open > h->most_open ? h->open : h->most_open;
}

/* Every second turn takes a tenth longer, whoever has it. */
static double sample(void *user, TuneTrial *trial)
{
    Host *h = user;
    if (trial->slot == h->crashes) {
        trial->slot  = -1;
        trial->fault = TUNE_CRASHED;
        h->open--;
        return -1;
    }
    return trial->predicted * (h->turns++ % 2 ? 1.1 : 1);
}

static void close_one(void *user, TuneTrial *trial)
{
    ((Host *)user)->open--;
    trial->slot = -1;
}

/* The column of trial `own` among times of 100, 150, 50, 100. */
static double column(Host *h, int own, int batch, Arena *arena, TuneCell *cells)
{
    const TuneHost host      = { .user = h, .open = open_some, .sample = sample, .close = close_one };
    const double   times[]   = { 100, 150, 50, 100 };
    TuneTrial      trials[4] = { { 0 } };
    for (int i = 0; i < 4; i++)
        trials[i] = (TuneTrial){ .text = "", .key = (uint64_t)i, .predicted = times[i], .slot = -1 };
    const double ns = tune_column(&host, trials, 4, own, batch, arena, cells);
    CHECK(h->open == 0, "%d are left open", h->open);
    return ns;
}

static void test_ratios(Arena *arena)
{
    TuneCell     c[MOST];
    Host         h  = { .refused = -1, .crashes = -1 };
    const double ns = column(&h, 0, 2, arena, c);
    CHECK(ns >= 100 && ns <= 110, "%g", ns);
    CHECK(c[0].ratio == 1 && c[0].chance == 1, "%g", c[0].ratio);
    CHECK(c[1].ratio > 1.35 && c[1].ratio < 1.66 && c[1].chance < 1e-6, "%g, %g", c[1].ratio, c[1].chance);
    CHECK(c[2].ratio > 0.45 && c[2].ratio < 0.56 && c[2].chance < 1e-6, "%g, %g", c[2].ratio, c[2].chance);
    CHECK(fabs(c[3].ratio - 1) < 0.11 && c[3].chance > 0.5, "equal ones: %g, %g", c[3].ratio, c[3].chance);
    CHECK(h.most_open == 4 && h.opened_at_once == 2, "%d, %d", h.most_open, h.opened_at_once);
}

static void test_faults(Arena *arena)
{
    TuneCell c[MOST];
    Host     h = { .refused = 1, .crashes = 2 };
    CHECK(column(&h, 0, 4, arena, c) > 0, "the others are measured");
    CHECK(c[1].fault == TUNE_REFUSED && !strcmp(c[1].reason, "it is not liked") && c[1].ratio == 0, "%d", c[1].fault);
    CHECK(c[2].fault == TUNE_CRASHED && c[2].ratio == 0, "%d", c[2].fault);
    CHECK(!c[3].fault && c[3].ratio > 0, "%d", c[3].fault);
    h = (Host){ .refused = 0, .crashes = -1 };
    CHECK(column(&h, 0, 4, arena, c) == 0 && c[0].fault == TUNE_REFUSED, "its own does not run");
    CHECK(c[1].ratio == 0 && !c[1].fault, "then there is nothing to compare with");
    h = (Host){ .refused = -1, .crashes = 0 };
    CHECK(column(&h, 0, 4, arena, c) == 0 && c[0].fault == TUNE_CRASHED, "its own crashes");
}

int main(void)
{
    Arena       arena;
    kn_context *cx = kn_context_new(NULL);
    arena_init(&arena, cx);
    test_ratios(&arena);
    test_faults(&arena);
    arena_free(&arena);
    kn_context_free(cx);
    return check_done();
}
