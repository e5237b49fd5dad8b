/* SPDX-License-Identifier: MIT */
/* Grouping by the best merge of two at a time: the ablation compares the dynamic program with it.
 *
 * From    Jangda and Bondhugula 2020, section 2.3 (Halide's heuristic) with the cost of Algorithm 2: their
 *         PolyMage+G+TC of section 7.4.3.
 * How     Every node is a group at first. A group whose readers are all in one other group may be merged into it,
 *         which closes no cycle. The merge that gains most is made, until none gains. */
#include "schedulers/search/group_internal.h"

#include <math.h>

typedef struct Greedy {
    const GroupGraph  *g;
    const GroupSearch *search;
    uint64_t          *sets;   /* by group, which is numbered by one of its nodes; empty: it was merged */
    uint64_t          *both;   /* room for a union */
    int               *of;     /* by node: its group */
    double            *cost;   /* by group */
    double            *merged; /* by group: the cost with its reader; NAN: not known yet */
    int               *list;   /* room for nodes */
    int64_t            asked;
} Greedy;

static uint64_t *set_of(const Greedy *s, int group)
{
    return s->sets + (size_t)group * (size_t)s->g->words;
}

static double ask(Greedy *s, const uint64_t *set)
{
    bool hopeless;
    int  count = 0;
    for (int i = set_next(set, 0, s->g->words); i >= 0; i = set_next(set, i + 1, s->g->words))
        s->list[count++] = i;
    s->asked++;
    return s->search->cost(s->search->user, s->list, count, &hopeless);
}

/* The one group that reads this one; -1: none, or several. */
static int only_reader(const Greedy *s, int group)
{
    const int words = s->g->words;
    int       only  = -1;
    for (int i = set_next(set_of(s, group), 0, words); i >= 0; i = set_next(set_of(s, group), i + 1, words)) {
        const uint64_t *readers = row(s->g->readers, words, i);
        for (int r = set_next(readers, 0, words); r >= 0; r = set_next(readers, r + 1, words)) {
            if (s->of[r] == group || s->of[r] == only)
                continue;
            if (only >= 0)
                return -1;
            only = s->of[r];
        }
    }
    return only;
}

/* What merging a group into its reader gains. */
static double gain(Greedy *s, int group, int reader)
{
    if (isnan(s->merged[group])) {
        memset(s->both, 0, (size_t)s->g->words * sizeof *s->both);
        set_unite(s->both, set_of(s, group), s->g->words);
        set_unite(s->both, set_of(s, reader), s->g->words);
        s->merged[group] = ask(s, s->both);
    }
    return s->cost[group] + s->cost[reader] - s->merged[group];
}

static void merge(Greedy *s, int group, int reader)
{
    const int words = s->g->words;
    for (int i = set_next(set_of(s, group), 0, words); i >= 0; i = set_next(set_of(s, group), i + 1, words))
        s->of[i] = reader;
    set_unite(set_of(s, reader), set_of(s, group), words);
    memset(set_of(s, group), 0, (size_t)words * sizeof *s->sets);
    s->cost[reader]   = s->merged[group];
    s->merged[reader] = NAN;
    for (int k = 0; k < s->g->count; k++)
        if (s->of[k] == k && only_reader(s, k) == reader)
            s->merged[k] = NAN;
}

static bool merge_best(Greedy *s, double until)
{
    int    best = -1;
    double most = 0;
    for (int k = 0; k < s->g->count; k++) {
        const int    reader = s->of[k] == k ? only_reader(s, k) : -1;
        const double now    = reader < 0 || (until > 0 && group_clock() > until) ? 0 : gain(s, k, reader);
        if (now > most) {
            most = now;
            best = k;
        }
    }
    if (best >= 0)
        merge(s, best, only_reader(s, best));
    return best >= 0;
}

Grouping group_greedy(const GroupGraph *g, const GroupSearch *search, Arena *arena)
{
    const size_t n     = (size_t)g->count;
    Grouping     out   = { .of_node = ARENA_ARRAY(arena, int, n), .rounds = 1 };
    const double until = search->seconds > 0 ? group_clock() + search->seconds : 0;
    Arena        scratch;
    scratch_begin(&scratch, arena->cx);
    Greedy s = { .g      = g,
                 .search = search,
                 .sets   = ARENA_ARRAY(&scratch, uint64_t, n * (size_t)g->words),
                 .both   = ARENA_ARRAY(&scratch, uint64_t, (size_t)g->words),
                 .of     = out.of_node,
                 .cost   = ARENA_ARRAY(&scratch, double, n),
                 .merged = ARENA_ARRAY(&scratch, double, n),
                 .list   = ARENA_ARRAY(&scratch, int, n) };
    for (int k = 0; k < g->count; k++) {
        set_add(set_of(&s, k), k);
        s.of[k]     = k;
        s.cost[k]   = ask(&s, set_of(&s, k));
        s.merged[k] = NAN;
    }
    while (merge_best(&s, until))
        ;
    for (int k = 0; k < g->count; k++)
        out.cost += s.of[k] == k ? s.cost[k] : 0;
    out.states = s.asked;
    out.count  = groups_number(g, out.of_node, &scratch);
    scratch_end(&scratch);
    return out;
}
