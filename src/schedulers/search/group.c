/* SPDX-License-Identifier: MIT */
/* Grouping: the graph, the direction, and the rounds of Algorithm 5.
 *
 * From    Jangda and Bondhugula 2020, Algorithm 5 (section 6): where not all groups can be visited, group with a
 *         limit, make a node of each group, and repeat on the smaller graph until nothing is gained. The limit here is
 *         on visited groups. The table is filled by size, so all small groups are considered, and the groups of a
 *         round are as large as there was room for. Each round gives a partition no worse than the one before: a group
 *         is never broken up, and may stay as it is. */
#include "schedulers/search/group_internal.h"
#include "schedulers/graph/constants.h"

#include <math.h>
#include <stdlib.h>

/* ---- Graphs ------------------------------------------------------------------------------ */

GroupGraph group_graph_new(Arena *arena, int count)
{
    const int    words = count ? (count + 63) / 64 : 1;
    const size_t all   = (size_t)count * (size_t)words;
    return (GroupGraph){
        .count     = count,
        .words     = words,
        .readers   = ARENA_ARRAY(arena, uint64_t, all),
        .read      = ARENA_ARRAY(arena, uint64_t, all),
        .reachable = ARENA_ARRAY(arena, uint64_t, all),
        .alone     = ARENA_ARRAY(arena, bool, (size_t)count),
    };
}

void group_graph_edge(GroupGraph *g, int producer, int consumer)
{
    set_add(g->readers + (size_t)producer * (size_t)g->words, consumer);
    set_add(g->read + (size_t)consumer * (size_t)g->words, producer);
}

void group_graph_close(GroupGraph *g)
{
    for (int s = g->count - 1; s >= 0; s--) {
        uint64_t       *reachable = g->reachable + (size_t)s * (size_t)g->words;
        const uint64_t *readers   = row(g->readers, g->words, s);
        set_add(reachable, s);
        for (int r = set_next(readers, 0, g->words); r >= 0; r = set_next(readers, r + 1, g->words))
            set_unite(reachable, row(g->reachable, g->words, r), g->words);
    }
}

/* Copies the edges of one graph to another, node s to to[s]. A mapping that reverses the order reverses the edges. */
static void copy_edges(const GroupGraph *g, const int *to, GroupGraph *out)
{
    for (int s = 0; s < g->count; s++) {
        const uint64_t *readers = row(g->readers, g->words, s);
        out->alone[to[s]]       = out->alone[to[s]] || g->alone[s];
        for (int r = set_next(readers, 0, g->words); r >= 0; r = set_next(readers, r + 1, g->words))
            if (to[s] != to[r])
                group_graph_edge(out, to[s] < to[r] ? to[s] : to[r], to[s] < to[r] ? to[r] : to[s]);
    }
    group_graph_close(out);
}

GroupGraph group_graph_rooted(Arena *arena, const GroupGraph *g)
{
    int  sources = 0;
    int *to      = ARENA_ARRAY(arena, int, (size_t)g->count);
    for (int s = 0; s < g->count; s++)
        sources += set_next(row(g->read, g->words, s), 0, g->words) < 0;
    if (sources < 2)
        return *g;
    GroupGraph out = group_graph_new(arena, g->count + 1);
    for (int s = 0; s < g->count; s++) {
        to[s] = s + 1;
        if (set_next(row(g->read, g->words, s), 0, g->words) < 0)
            group_graph_edge(&out, 0, s + 1);
    }
    copy_edges(g, to, &out);
    return out;
}

GroupGraph group_graph_reversed(Arena *arena, const GroupGraph *g)
{
    GroupGraph out = group_graph_new(arena, g->count);
    int       *to  = ARENA_ARRAY(arena, int, (size_t)g->count);
    for (int s = 0; s < g->count; s++)
        to[s] = g->count - 1 - s;
    copy_edges(g, to, &out);
    return out;
}

int64_t group_count(const GroupGraph *g, int most, Arena *arena)
{
    GroupTable       t;
    const GroupGraph rooted = group_graph_rooted(arena, g);
    table_fill(&t, &rooted, &(TableLimits){ .most_nodes = most, .states = INT32_MAX }, arena);
    return (int64_t)t.at.count;
}

/* ---- Partitions -------------------------------------------------------------------------- */

/* Topological order: groups follow as soon as all their producers have, first come first served. */
bool groups_ordered(const GroupGraph *g, const int *group, int count, int *work, int *order)
{
    int *pending = work, *queue = pending + g->count, *head = queue + g->count, *next = head + g->count, ready = 0;
    for (int i = 0; i < count; i++) {
        pending[i] = 0;
        head[i]    = -1;
    }
    for (int s = g->count - 1; s >= 0; s--) {
        const uint64_t *read = row(g->read, g->words, s);
        next[s]              = head[group[s]];
        head[group[s]]       = s;
        for (int p = set_next(read, 0, g->words); p >= 0; p = set_next(read, p + 1, g->words))
            pending[group[s]] += group[p] != group[s];
    }
    for (int i = 0; i < count; i++)
        if (!pending[i])
            queue[ready++] = i;
    for (int k = 0; k < ready; k++) {
        order[queue[k]] = k;
        for (int s = head[queue[k]]; s >= 0; s = next[s]) {
            const uint64_t *readers = row(g->readers, g->words, s);
            for (int r = set_next(readers, 0, g->words); r >= 0; r = set_next(readers, r + 1, g->words))
                if (group[r] != group[s] && --pending[group[r]] == 0)
                    queue[ready++] = group[r];
        }
    }
    return ready == count;
}

/* ---- Rounds ------------------------------------------------------------------------------ */

/* The graph of a round; its nodes are groups of the original one. */
typedef struct Round {
    const GroupSearch *search;
    GroupGraph         graph;
    int *begin, *nodes; /* by node of the round: the caller's nodes that it stands for, at nodes[begin[s]] … */
    int *list;          /* room for the caller's nodes */
} Round;

static int by_number(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

static double round_cost(void *user, const uint64_t *set, bool *hopeless)
{
    const Round *r     = user;
    const int    words = r->graph.words;
    int          count = 0;
    for (int s = set_next(set, 0, words); s >= 0; s = set_next(set, s + 1, words))
        for (int k = r->begin[s]; k < r->begin[s + 1]; k++)
            r->list[count++] = r->nodes[k];
    qsort(r->list, (size_t)count, sizeof *r->list, by_number);
    return r->search->cost(r->search->user, r->list, count, hopeless);
}

/* The first round: every node of the caller's graph by itself, reversed where groups grow from the last. */
static Round first_round(const GroupGraph *g, const GroupSearch *search, Arena *arena)
{
    Round r = { .search = search, .graph = search->from_readers ? group_graph_reversed(arena, g) : *g };
    r.begin = ARENA_ARRAY(arena, int, (size_t)g->count + 1);
    r.nodes = ARENA_ARRAY(arena, int, (size_t)g->count);
    r.list  = ARENA_ARRAY(arena, int, (size_t)g->count);
    for (int s = 0; s < g->count; s++) {
        r.begin[s + 1] = s + 1;
        r.nodes[s]     = search->from_readers ? g->count - 1 - s : s;
    }
    return r;
}

/* The next round, with a node per group. group[]: by node of the round, numbered in order. */
static Round next_round(const Round *r, const int *group, int count, Arena *arena)
{
    const int all  = r->begin[r->graph.count];
    Round     next = { .search = r->search, .graph = group_graph_new(arena, count), .list = r->list };
    int       at   = 0;
    next.begin     = ARENA_ARRAY(arena, int, (size_t)count + 1);
    next.nodes     = ARENA_ARRAY(arena, int, (size_t)all);
    for (int i = 0; i < count; i++) {
        for (int s = 0; s < r->graph.count; s++)
            for (int k = r->begin[s]; group[s] == i && k < r->begin[s + 1]; k++)
                next.nodes[at++] = r->nodes[k];
        next.begin[i + 1] = at;
    }
    copy_edges(&r->graph, group, &next.graph);
    return next;
}

int groups_number(const GroupGraph *g, int *first, Arena *arena)
{
    int *number = ARENA_ARRAY(arena, int, (size_t)g->count), *order = ARENA_ARRAY(arena, int, (size_t)g->count);
    int  count = 0;
    for (int s = 0; s < g->count; s++)
        number[s] = first[s] == s ? count++ : 0;
    for (int s = 0; s < g->count; s++)
        first[s] = number[first[s]];
    groups_ordered(g, first, count, ARENA_ARRAY(arena, int, 4 * (size_t)g->count), order);
    for (int s = 0; s < g->count; s++)
        first[s] = order[first[s]];
    return count;
}

static int usual_width(int nodes)
{
    const int width = GROUP_DOWN_SETS / nodes;
    return width > GROUP_MOST_WIDTH ? GROUP_MOST_WIDTH : width < GROUP_LEAST_WIDTH ? GROUP_LEAST_WIDTH : width;
}

/* Half of the remaining time; 0 stays 0. */
static double half_way(double until)
{
    const double now = group_clock();
    return until > now ? now + (until - now) / 2 : until;
}

/* One round: the table, F, and the better of F's own partition and the repaired one, as group[] in order. Gives the
 * number of groups. */
static int run_round(Round *r, int64_t states, double until, int *group, Grouping *out, bool *whole, Arena *arena)
{
    const GroupGraph  *g = &r->graph;
    const GroupSearch *s = r->search;
    GroupTable         t;
    table_fill(&t, g, &(TableLimits){ round_cost, r, s->most_nodes, states, half_way(until) }, arena);
    const double f      = table_solve(&t);
    double       cost   = table_plain(&t, group);
    int32_t     *chosen = ARENA_ARRAY(arena, int32_t, (size_t)g->count);
    bool         exact  = false;
    if (out->rounds++ == 0) {
        out->recurrence = f;
        out->plain      = cost;
    }
    out->states += (int64_t)t.at.count;
    const int count =
        s->unrepaired ? 0 : table_cover(&t, s->width ? s->width : usual_width(g->count), cost, until, chosen, &exact);
    if (count > 0)
        cost = 0;
    for (int i = 0; i < count; i++) {
        const uint64_t *set = row(t.sets, g->words, chosen[i]);
        cost += t.at.at[chosen[i]].cost;
        for (int k = set_next(set, 0, g->words); k >= 0; k = set_next(set, k + 1, g->words))
            group[k] = t.at.at[chosen[i]].first;
    }
    out->cost = cost;
    *whole    = !t.cut && exact && !s->most_nodes;
    return groups_number(g, group, arena);
}

/* Every round has half of the remaining groups and time. */
Grouping group_search(const GroupGraph *g, const GroupSearch *search, Arena *arena)
{
    if (!g->count)
        return (Grouping){ .exact = true };
    Grouping      out    = { .of_node = ARENA_ARRAY(arena, int, (size_t)g->count) };
    const int64_t states = search->states ? search->states : GROUP_STATES;
    const double  until  = search->seconds > 0 ? group_clock() + search->seconds : 0;
    Arena         scratch;
    scratch_begin(&scratch, arena->cx);
    Round r     = first_round(g, search, &scratch);
    bool  again = true;
    while (again) {
        bool      whole;
        int      *group = ARENA_ARRAY(&scratch, int, (size_t)r.graph.count);
        const int had   = r.graph.count,
                  count = run_round(&r, (states - out.states) / 2, half_way(until), group, &out, &whole, &scratch);
        out.exact       = out.rounds == 1 && whole;
        r               = next_round(&r, group, count, &scratch);
        const bool left = out.states + 2 * count < states && (until == 0 || group_clock() < until);
        again           = !whole && count < had && left;
    }
    out.count = r.graph.count;
    for (int i = 0; i < out.count; i++)
        for (int k = r.begin[i]; k < r.begin[i + 1]; k++)
            out.of_node[r.nodes[k]] = search->from_readers ? out.count - 1 - i : i;
    scratch_end(&scratch);
    return out;
}
