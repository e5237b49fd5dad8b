/* SPDX-License-Identifier: MIT */
/* The algorithm `genetic`: the search of Ragan-Kelley et al. 2013, section 5, "Genetic Algorithm Search".
 *
 * How     A population of fixed size, 128. The next one has the fastest of it (elitism), children of two parents that
 *         win tournaments (two-point crossover between functions), mutated winners of tournaments, and random
 *         individuals: reasonable schedules or, with equal probability, random ones. What is invalid, or was measured
 *         before, is rejected and drawn again. The first population is one of breadth-first and reasonable schedules.
 * Other   than in the paper: an individual runs turns against the best so far, and is stopped when it is hopeless; its
 *         ratio is its fitness. The best so far begins as the schedule of `auto`, which is no parent.
 * Holds   Functions with a pattern (histograms, scans, C code) keep the schedule of `plain`: they have no gene. */
#include "schedulers/tune/genes.h"
#include "schedulers/tune/tuner_internal.h"

typedef struct Individual {
    Gene  *genes;
    double log_time;
} Individual;

typedef struct Population {
    Tuner      *t;
    GeneSpace   space;
    int         size, generation;
    Individual *now, *next;
} Population;

/* ---- Selection --------------------------------------------------------------------------- */

static void sort(Individual *at, int count)
{
    for (int i = 1; i < count; i++) {
        const Individual moved = at[i];
        int              k     = i;
        for (; k > 0 && moved.log_time < at[k - 1].log_time; k--)
            at[k] = at[k - 1];
        at[k] = moved;
    }
}

/* The fastest of a few that are drawn. */
static const Individual *tournament(Population *p)
{
    const Individual *best = NULL;
    for (int i = 0; i < GENETIC_TOURNAMENT; i++) {
        const Individual *one = &p->now[random_below(&p->t->random, p->size)];
        best                  = !best || one->log_time < best->log_time ? one : best;
    }
    return best;
}

/* ---- Making individuals ------------------------------------------------------------------ */

typedef enum Origin { BY_CROSSOVER, BY_MUTATION, AT_RANDOM, REASONABLE } Origin;

static void copy_genes(const Population *p, Gene *to, const Gene *from)
{
    memcpy(to, from, sizeof *to * (size_t)p->space.g->node_count);
}

static const char *draw(Population *p, Origin origin, Gene *out)
{
    Random *r = &p->t->random;
    switch (origin) {
    case BY_CROSSOVER: {
        const Individual *a = tournament(p), *b = tournament(p);
        genes_cross(&p->space, r, a->genes, b->genes, out);
        return "crossover";
    }
    case BY_MUTATION: copy_genes(p, out, tournament(p)->genes); return mutations[genes_mutate(&p->space, r, out)].name;
    case AT_RANDOM:
        if (random_below(r, 2)) {
            genes_random(&p->space, r, out);
            return "a random individual";
        } /* fall through */
    case REASONABLE: genes_reasonable(&p->space, r, out); return "a reasonable individual";
    }
    return "";
}

/* Draws until an individual is valid and new; after GENETIC_RESAMPLES draws there is none. */
static bool make_individual(Population *p, Origin origin, Gene *genes, Tried *out)
{
    Tuner *t = p->t;
    for (int i = 0; i < GENETIC_RESAMPLES; i++) {
        Draft       d;
        const char *what = draw(p, origin, genes);
        if (!genes_draft(&p->space, genes, &t->round, &d))
            continue;
        *out = tuner_candidate(t, &t->round, &t->job.spaces[0], &d,
                               arena_printf(&t->round, "generation %d: %s", p->generation, what));
        if (!tuner_seen(t, out->trial.key)) {
            tuner_mark(t, out->trial.key);
            return true;
        }
    }
    return false;
}

/* Makes and measures individuals for `next`, a batch at a time. Gives how many it holds now. */
static int grow(Population *p, int have, int want, Origin origin)
{
    Tuner  *t     = p->t;
    Tried **batch = ARENA_ARRAY(t->arena, Tried *, (size_t)t->job.batch);
    while (have < want && tuner_goes_on(t)) {
        int count = 0;
        tuner_round(t);
        for (; count < t->job.batch && have + count < want; count++) {
            batch[count] = ARENA_NEW(&t->round, Tried);
            if (!make_individual(p, origin, p->next[have + count].genes, batch[count]))
                break;
        }
        if (!count)
            return have;
        tuner_measure(t, batch, count);
        for (int i = 0; i < count; i++)
            p->next[have + i].log_time = batch[i]->outcome.log_time;
        have += count;
    }
    return have;
}

/* ---- Generations ------------------------------------------------------------------------- */

static void begin_next(Population *p, int have)
{
    Individual *before = p->now;
    p->now             = p->next;
    p->next            = before;
    p->size            = have;
    p->generation++;
    sort(p->now, p->size);
}

/* The first generation; false if nothing was found to begin with. */
static bool first_generation(Population *p, int size)
{
    Tuner *t = p->t;
    Draft  d;
    int    have = 0;
    tuner_round(t);
    genes_breadth_first(&p->space, p->next[0].genes);
    if (genes_draft(&p->space, p->next[0].genes, &t->round, &d)) {
        Tried one = tuner_candidate(t, &t->round, &t->job.spaces[0], &d, "generation 0: breadth first");
        tuner_measure(t, &(Tried *){ &one }, 1);
        p->next[have++].log_time = one.outcome.log_time;
    }
    have = grow(p, have, size, REASONABLE);
    have = grow(p, have, size, AT_RANDOM);
    begin_next(p, have);
    return have > 0;
}

static void next_generation(Population *p, int size)
{
    const int elite   = 1 + size * GENETIC_ELITE_PERCENT / 100;
    const int crossed = elite + size * GENETIC_CROSSED_PERCENT / 100;
    const int mutated = crossed + size * GENETIC_MUTATED_PERCENT / 100;
    int       have    = 0;
    for (; have < elite && have < p->size; have++) {
        copy_genes(p, p->next[have].genes, p->now[have].genes);
        p->next[have].log_time = p->now[have].log_time;
    }
    have = grow(p, have, crossed < size ? crossed : size, BY_CROSSOVER);
    have = grow(p, have, mutated < size ? mutated : size, BY_MUTATION);
    have = grow(p, have, size, AT_RANDOM);
    begin_next(p, have);
}

static Individual *individuals(const Population *p, int size)
{
    Individual *at = ARENA_ARRAY(p->t->arena, Individual, (size_t)size);
    for (int i = 0; i < size; i++)
        at[i].genes = ARENA_ARRAY(p->t->arena, Gene, (size_t)p->space.g->node_count);
    return at;
}

void tune_genetic(Tuner *t)
{
    const int  size              = t->job.population > 0 ? t->job.population : GENETIC_POPULATION;
    Population p                 = { .t = t };
    t->job.spaces[0].graph.arena = t->arena;
    p.space                      = gene_space(&t->job.spaces[0].graph, t->job.m, t->arena);
    p.now                        = individuals(&p, size);
    p.next                       = individuals(&p, size);
    bool any                     = false;
    for (int s = 0; s < p.space.g->node_count; s++)
        any = any || p.space.decided[s];
    if (!any || !first_generation(&p, size))
        return;
    while (tuner_goes_on(t) && (!t->job.generations || p.generation < t->job.generations)) {
        const int before = t->number;
        next_generation(&p, size);
        if (t->number == before) /* nothing new is left */
            return;
    }
}
