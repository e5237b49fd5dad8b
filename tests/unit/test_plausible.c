/* SPDX-License-Identifier: MIT */
/* Plausible machines: each is a machine that can be described, the regrets of drafts follow their definition, and of
 * the drafts that are nearly the fastest `auto` takes that of the least. */
#include "check.h"
#include "schedulers/model/plausible.h"
#include "schedulers/search/schedulers.h"
#include "graph_of.h"

/* ---- The machines ------------------------------------------------------------------------ */

static const char *const described[] = {
    "",          "l1=32k, l2=32k, l3=32k", "l2=1M, l3=0", "l3_core=1k, l3=1G", "cores=64, l2=1M, l3=32M, l3_shared=8",
    "stream=1M",
};

/* Its text reads back: caches are not smaller than the ones before them. */
static void sound(kn_context *cx)
{
    for (size_t i = 0; i < sizeof described / sizeof *described; i++)
        for (int k = 0; k < PLAUSIBLE_COUNT; k++) {
            Machine m = machine_usual(), again = m;
            Text    text;
            CHECK(machine_parse(cx, "machine", described[i], &m), "%s", kn_error_text(cx));
            const Machine likely = plausible_machine(&m, k);
            text_init(&text, &cx->call);
            machine_print(&text, &likely);
            CHECK(machine_parse(cx, plausible_names[k], text_string(&text), &again), "%s: %s", described[i],
                  kn_error_text(cx));
            CHECK(likely.cores == m.cores && likely.vector_bits == m.vector_bits && likely.l1 == m.l1, "%s, %s",
                  described[i], plausible_names[k]);
            CHECK(machine_kept_l2(&likely) <= machine_kept_l2(&m) &&
                      machine_last_cache(&likely) <= machine_last_cache(&m),
                  "%s, %s: more cache", described[i], plausible_names[k]);
            CHECK(machine_streams_from(&likely) == machine_streams_from(&m), "%s, %s: streams from %g", described[i],
                  plausible_names[k], machine_streams_from(&likely));
        }
}

/* ---- Regrets ----------------------------------------------------------------------------- */

static void regrets(void)
{
    static const double time[][PLAUSIBLE_COUNT] = { { 10, 20, 10, 10 }, { 11, 11, 12, 10 }, { 10, 30, 0, 10 } };
    double              regret[3];
    plausible_regrets(time, 1, PLAUSIBLE_COUNT, regret);
    CHECK(regret[0] == 1, "alone: %g", regret[0]);
    plausible_regrets(time, 2, PLAUSIBLE_COUNT, regret);
    CHECK(regret[0] == 20 / 11.0 && regret[1] == 12 / 10.0, "%g %g", regret[0], regret[1]);
    plausible_regrets(time, 3, PLAUSIBLE_COUNT, regret); /* a time of 0 is of a machine on which nothing is computed */
    CHECK(regret[2] == 30 / 11.0 && regret[1] == 11 / 10.0, "%g %g", regret[2], regret[1]);
}

/* ---- The choice -------------------------------------------------------------------------- */

static const char *const programs[] = {
    "input in : f32(x, y) output out b(x, y) = in(x-1, y) + in(x+1, y) out(x, y) = b(x, y-1) + b(x, y+1) "
    "estimate out(2048, 2048)",
    "input in : f32(x, y) output out s(x, y) = sum(in(x+i, y+j) for i in 0..9, j in 0..9) t(x, y) = s(x, y) * s(x, y) "
    "out(x, y) = t(x, y) + t(x+8, y) + t(x, y+8) estimate out(1024, 1024)",
};

static const SchedulerOptions choices[] = {
    { .budget = 20 },
    { .budget = 20, .no_robust = true },
};

static double fastest_of(const Candidate *all, int count)
{
    double fastest = all[0].ns;
    for (int i = 1; i < count; i++)
        fastest = all[i].ns < fastest ? all[i].ns : fastest;
    return fastest;
}

/* The first is near the fastest, and of the least regret of those; the others are in the order of their times. */
static void check_candidates(const Candidate *all, int count, const SchedulerOptions *options)
{
    const double most = (1 + NEAR_PERCENT / 100.0) * fastest_of(all, count);
    CHECK(count >= 2 && all[0].ns <= most, "%d candidates, %s is slow", count, all[0].scheduler->name);
    for (int i = 0; i < count; i++) {
        const Candidate *c = &all[i];
        CHECK(c->ns > most || c->regret >= all[0].regret, "%s: %g, %g", c->scheduler->name, c->regret, all[0].regret);
        CHECK(c->likely_ns[0] == c->ns, "%s", c->scheduler->name);
        CHECK(!options->no_robust || c->regret == c->ns / fastest_of(all, count), "%s: %g", c->scheduler->name,
              c->regret);
        CHECK(i < 2 || c->ns >= all[i - 1].ns, "%s is out of order", c->scheduler->name);
        for (int k = 0; k < i; k++)
            CHECK(all[k].ns != c->ns || all[k].draft.group_count != c->draft.group_count, "%s twice",
                  c->scheduler->name);
    }
}

static void take(kn_context *cx, const char *program)
{
    kn_pipeline  *p       = kn_parse(cx, "test.kiln", program, -1);
    const RunArgs binding = graph_binding(p, &cx->call);
    const Machine m       = machine_usual();
    Graph         g;
    Candidate     all[64];
    CHECK(graph_make(p, &cx->call, &binding, &g) && scheduler_count <= 64, "%s", kn_error_text(cx));
    for (size_t i = 0; i < sizeof choices / sizeof *choices; i++)
        check_candidates(all, scheduler_candidates(&g, &m, &choices[i], &cx->call, all), &choices[i]);
    kn_pipeline_free(p);
}

int main(void)
{
    kn_context *cx = kn_context_new(NULL);
    context_begin(cx);
    sound(cx);
    regrets();
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++)
        take(cx, programs[i]);
    kn_context_free(cx);
    return check_done();
}
