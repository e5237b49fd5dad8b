/* SPDX-License-Identifier: MIT */
/* The table of groups and the recurrence F over it.
 *
 * From    Jangda and Bondhugula 2020, Algorithm 1 (section 3): the recurrence of group.h.
 * How     A group grows from its first node, on which all others depend, so the first node is its lowest. F of a group
 *         needs F of larger groups with the same first node, and of later single nodes. Therefore the table is filled
 *         by size, without recursion, and solved backwards. */
#include "schedulers/search/group_internal.h"

#include <math.h>
#include <stdlib.h>
#include <time.h>

static const double DEAREST = 1e18; /* the cost of a single node that must not be alone */

double group_clock(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* ---- Finding ----------------------------------------------------------------------------- */

static const uint64_t *set_of(const GroupTable *t, int64_t i)
{
    return row(t->sets, t->graph->words, i);
}

/* The slot of a set: its own, or the empty one where it belongs. */
static int32_t *slot_of(const GroupTable *t, const uint64_t *set)
{
    const int words = t->graph->words;
    size_t    i     = set_hash(set, words) & (t->slot_count - 1);
    while (t->slots[i] && memcmp(set_of(t, t->slots[i] - 1), set, sizeof *set * (size_t)words))
        i = (i + 1) & (t->slot_count - 1);
    return &t->slots[i];
}

/* Doubles the slots when half of them are taken. */
static void grow_slots(GroupTable *t)
{
    if (2 * (t->at.count + 1) <= t->slot_count)
        return;
    t->slot_count = t->slot_count ? 2 * t->slot_count : 1024;
    t->slots      = ARENA_ARRAY(t->arena, int32_t, t->slot_count);
    for (size_t i = 0; i < t->at.count; i++)
        *slot_of(t, set_of(t, (int64_t)i)) = (int32_t)i + 1;
}

static void grow_sets(GroupTable *t)
{
    const size_t words = (size_t)t->graph->words;
    if ((int64_t)t->at.count < t->room)
        return;
    const int64_t room = t->room ? 2 * t->room : 256;
    uint64_t     *sets = ARENA_ARRAY(t->arena, uint64_t, (size_t)room * words);
    if (t->room)
        memcpy(sets, t->sets, sizeof *sets * words * t->at.count);
    t->sets = sets;
    t->room = room;
}

/* ---- Filling ----------------------------------------------------------------------------- */

/* S(H): the readers of a set's nodes that are not in it. */
static void readers_of(const GroupGraph *g, const uint64_t *set, uint64_t *out)
{
    memset(out, 0, sizeof *out * (size_t)g->words);
    for (int i = set_next(set, 0, g->words); i >= 0; i = set_next(set, i + 1, g->words))
        set_unite(out, row(g->readers, g->words, i), g->words);
    set_remove(out, set, g->words);
}

/* The nodes of S(H) that no other of S(H) reaches, and that may share a group. */
static void joiners_of(const GroupGraph *g, const uint64_t *readers, uint64_t *out)
{
    const int n = g->words;
    memcpy(out, readers, sizeof *out * (size_t)n);
    for (int t = set_next(readers, 0, n); t >= 0; t = set_next(readers, t + 1, n)) {
        const uint64_t *reachable = row(g->reachable, n, t);
        for (int w = 0; w < n; w++)
            out[w] &= ~(w == t >> 6 ? reachable[w] & ~((uint64_t)1 << (t & 63)) : reachable[w]);
        if (g->alone[t])
            out[t >> 6] &= ~((uint64_t)1 << (t & 63));
    }
}

static bool holds_alone(const GroupGraph *g, const uint64_t *set)
{
    for (int i = set_next(set, 0, g->words); i >= 0; i = set_next(set, i + 1, g->words))
        if (g->alone[i])
            return true;
    return false;
}

/* Adds a new set, and asks for its cost. */
static void visit(GroupTable *t, const TableLimits *limits, const uint64_t *set, int first, int size)
{
    bool    hopeless = false;
    Visited v        = { .cost   = limits->cost ? limits->cost(limits->user, set, &hopeless) : 1,
                         .first  = first,
                         .size   = size,
                         .joined = -1 };
    v.hopeless       = hopeless;
    if (!(v.cost < INFINITY))
        v.cost = size > 1 ? INFINITY : DEAREST;
    grow_slots(t);
    grow_sets(t);
    memcpy(t->sets + (int64_t)t->at.count * t->graph->words, set, sizeof *set * (size_t)t->graph->words);
    *slot_of(t, set) = (int32_t)t->at.count + 1;
    vec_push(t->arena, &t->at, v);
}

static bool spent(const GroupTable *t, const TableLimits *limits)
{
    const bool full = (int64_t)t->at.count >= limits->states;
    return full || (limits->until > 0 && t->at.count % 64 == 0 && group_clock() > limits->until);
}

/* Visits what group i grows into, by one node. */
static bool grow_group(GroupTable *t, const TableLimits *limits, int64_t i, uint64_t *readers, uint64_t *joiners,
                       uint64_t *next)
{
    const GroupGraph *g = t->graph;
    const Visited     v = t->at.at[i];
    readers_of(g, set_of(t, i), readers);
    joiners_of(g, readers, joiners);
    for (int s = set_next(joiners, 0, g->words); s >= 0; s = set_next(joiners, s + 1, g->words)) {
        memcpy(next, set_of(t, i), sizeof *next * (size_t)g->words);
        set_add(next, s);
        if (*slot_of(t, next))
            continue;
        if (spent(t, limits))
            return false;
        visit(t, limits, next, v.first, v.size + 1);
    }
    return true;
}

void table_fill(GroupTable *t, const GroupGraph *g, const TableLimits *limits, Arena *arena)
{
    *t               = (GroupTable){ .graph = g, .arena = arena };
    const size_t n   = (size_t)g->words;
    uint64_t    *set = ARENA_ARRAY(arena, uint64_t, 3 * n);
    for (int s = 0; s < g->count; s++) {
        memset(set, 0, sizeof *set * n);
        set_add(set, s);
        visit(t, limits, set, s, 1);
    }
    for (size_t i = 0; i < t->at.count && !t->cut; i++) {
        const Visited *v = &t->at.at[i];
        if (v->hopeless || (limits->most_nodes && v->size >= limits->most_nodes) ||
            holds_alone(g, set_of(t, (int64_t)i)))
            continue;
        t->cut = !grow_group(t, limits, (int64_t)i, set, set + n, set + 2 * n);
    }
}

/* ---- F ----------------------------------------------------------------------------------- */

static void solve_one(GroupTable *t, int64_t i, uint64_t *readers, uint64_t *joiners, uint64_t *next)
{
    const GroupGraph *g = t->graph;
    Visited          *v = &t->at.at[i];
    readers_of(g, set_of(t, i), readers);
    joiners_of(g, readers, joiners);
    v->best = v->cost;
    for (int s = set_next(readers, 0, g->words); s >= 0; s = set_next(readers, s + 1, g->words))
        v->best += t->at.at[s].best;
    for (int s = set_next(joiners, 0, g->words); s >= 0; s = set_next(joiners, s + 1, g->words)) {
        memcpy(next, set_of(t, i), sizeof *next * (size_t)g->words);
        set_add(next, s);
        const int larger = *slot_of(t, next) - 1;
        if (larger >= 0 && t->at.at[larger].best < v->best) {
            v->best   = t->at.at[larger].best;
            v->joined = larger;
        }
    }
}

/* The groups by their first node, the last first, and the largest first. `begin`: where those of a node begin. */
static int32_t *solving_order(const GroupTable *t)
{
    const int n     = t->graph->count;
    int      *begin = ARENA_ARRAY(t->arena, int, (size_t)n + 1);
    int32_t  *order = ARENA_ARRAY(t->arena, int32_t, t->at.count);
    for (size_t i = 0; i < t->at.count; i++)
        begin[n - 1 - t->at.at[i].first + 1]++;
    for (int s = 0; s < n; s++)
        begin[s + 1] += begin[s];
    for (size_t i = t->at.count; i-- > 0;)
        order[begin[n - 1 - t->at.at[i].first]++] = (int32_t)i;
    return order;
}

double table_solve(GroupTable *t)
{
    const GroupGraph *g     = t->graph;
    const size_t      n     = (size_t)g->words;
    uint64_t         *sets  = ARENA_ARRAY(t->arena, uint64_t, 3 * n);
    const int32_t    *order = solving_order(t);
    for (size_t i = 0; i < t->at.count; i++)
        solve_one(t, order[i], sets, sets + n, sets + 2 * n);
    double total = 0;
    for (int s = 0; s < g->count; s++)
        if (set_next(row(g->read, g->words, s), 0, g->words) < 0)
            total += t->at.at[s].best;
    return total;
}

/* ---- F's own choices, as a partition ----------------------------------------------------- */

/* The groups that F's choices lead to from the nodes without producers, each once. */
static int chosen_groups(const GroupTable *t, int32_t *chosen)
{
    const GroupGraph *g       = t->graph;
    uint64_t         *readers = ARENA_ARRAY(t->arena, uint64_t, (size_t)g->words);
    bool             *begins  = ARENA_ARRAY(t->arena, bool, (size_t)g->count);
    int               count   = 0;
    for (int s = 0; s < g->count; s++) {
        const uint64_t *read = row(g->read, g->words, s);
        if (!begins[s] && set_next(read, 0, g->words) >= 0)
            continue;
        int32_t i = s;
        while (t->at.at[i].joined >= 0)
            i = t->at.at[i].joined;
        chosen[count++] = i;
        readers_of(g, set_of(t, i), readers);
        for (int r = set_next(readers, 0, g->words); r >= 0; r = set_next(readers, r + 1, g->words))
            begins[r] = true;
    }
    return count;
}

typedef struct Offer {
    double  cost; /* per node */
    int32_t index;
} Offer;

static int by_cost(const void *a, const void *b)
{
    const Offer *x = a, *y = b;
    return x->cost < y->cost ? -1 : x->cost > y->cost ? 1 : (x->index > y->index) - (x->index < y->index);
}

/* Assigns the group's nodes to it, if none is taken and no cycle results. */
static bool take_group(const GroupTable *t, int32_t i, uint64_t *taken, int *first, int *work)
{
    const GroupGraph *g   = t->graph;
    const uint64_t   *set = set_of(t, i);
    if (set_meets(set, taken, g->words))
        return false;
    for (int s = set_next(set, 0, g->words); s >= 0; s = set_next(set, s + 1, g->words))
        first[s] = t->at.at[i].first;
    if (groups_ordered(g, first, g->count, work, work + 4 * g->count)) {
        set_unite(taken, set, g->words);
        return true;
    }
    for (int s = set_next(set, 0, g->words); s >= 0; s = set_next(set, s + 1, g->words))
        first[s] = s;
    return false;
}

/* Where F's choices overlap, the group that is cheapest per node keeps its nodes. A node that is left is alone. */
double table_plain(const GroupTable *t, int *first)
{
    const int n      = t->graph->count;
    int32_t  *chosen = ARENA_ARRAY(t->arena, int32_t, (size_t)n);
    const int count  = chosen_groups(t, chosen);
    Offer    *offers = ARENA_ARRAY(t->arena, Offer, (size_t)count);
    int      *work   = ARENA_ARRAY(t->arena, int, 5 * (size_t)n);
    uint64_t *taken  = ARENA_ARRAY(t->arena, uint64_t, (size_t)t->graph->words);
    double    cost   = 0;
    for (int s = 0; s < n; s++) {
        first[s] = s;
        cost += t->at.at[s].cost;
    }
    for (int i = 0; i < count; i++)
        offers[i] = (Offer){ t->at.at[chosen[i]].cost / t->at.at[chosen[i]].size, chosen[i] };
    qsort(offers, (size_t)count, sizeof *offers, by_cost);
    for (int i = 0; i < count; i++) {
        const Visited *v = &t->at.at[offers[i].index];
        if (v->size < 2 || !take_group(t, offers[i].index, taken, first, work))
            continue;
        cost += v->cost;
        const uint64_t *set = set_of(t, offers[i].index);
        for (int s = set_next(set, 0, t->graph->words); s >= 0; s = set_next(set, s + 1, t->graph->words))
            cost -= t->at.at[s].cost;
    }
    return cost;
}
