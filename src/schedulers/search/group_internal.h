/* SPDX-License-Identifier: MIT */
/* Private to the grouping: sets, the table of groups, the partition made of them. */
#ifndef KILN_SCHEDULERS_GROUP_INTERNAL_H
#define KILN_SCHEDULERS_GROUP_INTERNAL_H

#include "base/vec.h"
#include "schedulers/search/group.h"

/* ---- Sets ---------------------------------------------------------------------------- */

static inline bool set_has(const uint64_t *set, int i)
{
    return set[i >> 6] >> (i & 63) & 1;
}

static inline void set_add(uint64_t *set, int i)
{
    set[i >> 6] |= (uint64_t)1 << (i & 63);
}

static inline void set_unite(uint64_t *set, const uint64_t *other, int words)
{
    for (int w = 0; w < words; w++)
        set[w] |= other[w];
}

static inline void set_remove(uint64_t *set, const uint64_t *other, int words)
{
    for (int w = 0; w < words; w++)
        set[w] &= ~other[w];
}

static inline bool set_inside(const uint64_t *set, const uint64_t *other, int words)
{
    for (int w = 0; w < words; w++)
        if (set[w] & ~other[w])
            return false;
    return true;
}

static inline bool set_meets(const uint64_t *set, const uint64_t *other, int words)
{
    for (int w = 0; w < words; w++)
        if (set[w] & other[w])
            return true;
    return false;
}

/* The first member from i on; -1: none.  for (int i = set_next(s, 0, n); i >= 0; i = set_next(s, i + 1, n)) */
static inline int set_next(const uint64_t *set, int i, int words)
{
    for (int w = i >> 6; w < words; w++) {
        const uint64_t rest = w == i >> 6 ? set[w] >> (i & 63) << (i & 63) : set[w];
        if (rest)
            return w * 64 + __builtin_ctzll(rest);
    }
    return -1;
}

static inline uint64_t set_hash(const uint64_t *set, int words)
{
    uint64_t h = 0;
    for (int w = 0; w < words; w++) {
        h = (h ^ set[w]) * UINT64_C(0x9e3779b97f4a7c15);
        h ^= h >> 32;
    }
    return h;
}

static inline const uint64_t *row(const uint64_t *rows, int words, int64_t i)
{
    return rows + i * words;
}

/* ---- The table ----------------------------------------------------------------------- */

/* A visited group. Its first node is its lowest: all others depend on it. */
typedef struct Visited {
    double cost;
    double best; /* F */
    int    first, size;
    int    joined;   /* F's choice: the group that grows out of it; -1: it is closed */
    bool   hopeless; /* nothing grows from it */
} Visited;

typedef struct GroupTable {
    const GroupGraph *graph;
    Arena            *arena;
    VEC(Visited) at; /* by size; the first `count` are the single nodes */
    uint64_t *sets;  /* rows */
    int64_t   room;  /* rows that `sets` has */
    int32_t  *slots; /* open addressed; index + 1 */
    size_t    slot_count;
    bool      cut; /* not all groups were visited */
} GroupTable;

/* The cost of a set of the table's graph; NULL: always 1. */
typedef struct TableLimits {
    double (*cost)(void *user, const uint64_t *set, bool *hopeless);
    void   *user;
    int     most_nodes; /* 0: no limit */
    int64_t states;
    double  until; /* group_clock; 0: no limit */
} TableLimits;

double group_clock(void);

/* Visits the groups, smaller ones first, so that a limit cuts off the largest. */
void table_fill(GroupTable *t, const GroupGraph *g, const TableLimits *limits, Arena *arena);
/* Computes F of every group. Gives that of the whole graph. */
double table_solve(GroupTable *t);
/* A partition made of the groups that F chose, by node: the index of its group's first node. Gives its cost. */
double table_plain(const GroupTable *t, int *first);

/* The best partition into groups of the table that costs less than `bound`: chosen[] (room for one per node) gets their
 * indices, in order. Gives their number; 0: none was found. *exact: there is none better. */
int table_cover(const GroupTable *t, int width, double bound, double until, int32_t *chosen, bool *exact);

/* Are there no cycles between the groups? group[]: by node, numbers below `count`, which is at most the number of
 * nodes. If so, order[] has the position of each. work: room for 4 numbers per node. */
bool groups_ordered(const GroupGraph *g, const int *group, int count, int *work, int *order);
/* Numbers the groups of a partition in order. first[]: by node, in: a node that identifies its group; out: its number.
 * Gives how many there are. */
int groups_number(const GroupGraph *g, int *first, Arena *arena);

#endif
