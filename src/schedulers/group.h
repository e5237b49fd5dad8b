/* Grouping: the nodes of a pipeline parted into groups at the least cost. On an abstract graph: what a group costs,
 * the caller says.
 *
 * From    Jangda and Bondhugula 2020: Algorithm 1 (section 3) with the memo table keyed by one group, Algorithm 5
 *         (section 6).
 *
 * With S(H) the readers of nodes of H that are not in H:
 *
 *     F(H) = cost(H)                                          if S(H) is empty
 *     F(H) = min( cost(H) + Σ_{s in S(H)} F({s}),             H is closed; a new group begins at each reader
 *                 min over s in S(H) that may join of F(H ∪ {s}) )
 *
 * s may join H iff no other t in S(H) reaches s, else there would be a cycle through t.
 *
 * Beyond  The sum counts what lies behind a join once per branch, and two branches may put one node into different
 *         groups, so F is not the cost of a partition and its choices are none. Here F is the table of groups worth
 *         asking about, and the partition is found by a second dynamic program over those groups: along down-sets,
 *         which are what is computed when the first k groups are (group_cover.c). It is the best of all partitions into
 *         groups of the table, as long as no more than `width` down-sets of a size are in the race.
 *
 * Which way  Groups grow from a first node to its readers, as in the paper; or from a last node to what it reads
 * (`from_readers` false or true: the same on the graph turned around).
 *         Kiln's groups have one node whose loops run over all of it and members that nobody else reads. Growing from
 *         the last node visits every one of those, and nothing else if the cost says that a group is hopeless: a node
 *         joins only after all its readers that can still join, so a reader outside stays outside. */
#ifndef KILN_SCHEDULERS_GROUP_H
#define KILN_SCHEDULERS_GROUP_H

#include <stdbool.h>

#include "base/arena.h"

/* Nodes are numbered so that producers come before consumers. Sets of them are rows of `words` words. */
typedef struct GroupGraph {
    int       count, words;
    uint64_t *readers, *read; /* by node: those that read it, those it reads */
    uint64_t *reachable;      /* by node: itself and all that depends on it; by group_graph_close */
    bool     *alone;          /* it never shares a group (the paper's reductions) */
} GroupGraph;

GroupGraph group_graph_new(Arena *arena, int count);
/* producer < consumer. Twice is once. */
void group_graph_edge(GroupGraph *g, int producer, int consumer);
/* After the last edge. */
void group_graph_close(GroupGraph *g);
/* Section 3.1: with one more node, number 0, before all that read no node; the graph itself if that is one node
 * only. Finished. */
GroupGraph group_graph_rooted(Arena *arena, const GroupGraph *g);
/* Every edge the other way round; node i is count-1-i. Finished. */
GroupGraph group_graph_reversed(Arena *arena, const GroupGraph *g);

/* What the group of these nodes (ascending) costs; INFINITY: they are no group, but with others they may be. A node
 * by itself always is one. *hopeless = true: no group that grows from it is one either. */
typedef double GroupCostOf(void *user, const int *nodes, int count, bool *hopeless);

typedef struct GroupSearch {
    GroupCostOf *cost;
    void        *user;
    bool         from_readers; /* grow groups from the last node */
    bool         unrepaired;   /* take the partition that F's own choices make */
    int          most_nodes;   /* of a group, per round of Algorithm 5; 0: no limit */
    int64_t      states;       /* groups to visit in all; 0: 50,000 */
    int          width;        /* down-sets of a size that are looked at; 0: 512, fewer for more than 128 nodes */
    double seconds; /* after which the best so far is taken; 0: no limit. What it cuts off is the one thing that may
                       differ from run to run. */
} GroupSearch;

typedef struct Grouping {
    int     count;      /* groups, numbered so that each reads only those before it */
    int    *of_node;    /* by node: its group */
    double  cost;       /* the sum of the groups' */
    double  recurrence; /* F of the whole graph, first round */
    double  plain;      /* the cost of the partition that F's own choices make, first round (group_table.c) */
    int64_t states;     /* groups visited */
    int     rounds;     /* of Algorithm 5 */
    bool    exact;      /* nothing was cut off: no partition into visited groups is better, and all were visited */
} Grouping;

/* Always a partition whose groups do not read each other in a circle. */
Grouping group_search(const GroupGraph *g, const GroupSearch *search, Arena *arena);

/* The same by merging two groups at a time, the best merge first (group_greedy.c). */
Grouping group_greedy(const GroupGraph *g, const GroupSearch *search, Arena *arena);

/* The paper's "groupings enumerated" (Tables 1 and 9): the groups that F visits from the first node, where nothing
 * joins a group of `most` nodes (0: no limit). */
int64_t group_count(const GroupGraph *g, int most, Arena *arena);

#endif
