/* SPDX-License-Identifier: MIT */
/* Grouping: a partition of the nodes of a pipeline into groups at the least cost. The graph is abstract; the caller
 * gives the cost of a group.
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
 * Beyond  The sum counts what follows a join once per branch, and two branches may put one node into different groups.
 *         So F is not the cost of a partition, and its choices are none. Here F is the table of groups to consider. A
 *         second dynamic program over down-sets finds the partition (group_cover.c): a down-set is what the first k
 *         groups compute. It is the best partition into groups of the table, as long as at most `width` down-sets of a
 *         size are kept.
 *
 * Growth  Groups grow from a first node to its readers, as in the paper, or from a last node to its producers
 *         (`from_readers` false or true: the same on the reversed graph). Kiln's groups have a head whose loops run
 *         over all of it, and members that nobody else reads. Growing from the last node visits all of those, and no
 *         others if the cost prunes hopeless groups: a node joins only after all its readers that can still join. */
#ifndef KILN_SCHEDULERS_GROUP_H
#define KILN_SCHEDULERS_GROUP_H

#include <stdbool.h>

#include "base/arena.h"

/* Nodes are numbered so that producers come before consumers. Sets of them are rows of `words` words. */
typedef struct GroupGraph {
    int       count, words;
    uint64_t *readers, *read; /* by node: its consumers, its producers */
    uint64_t *reachable;      /* by node: itself and all that depends on it; set by group_graph_close */
    bool     *alone;          /* it never shares a group (the paper's reductions) */
} GroupGraph;

GroupGraph group_graph_new(Arena *arena, int count);
/* producer < consumer. Duplicates are ignored. */
void group_graph_edge(GroupGraph *g, int producer, int consumer);
/* Computes reachability. After the last edge. */
void group_graph_close(GroupGraph *g);
/* Section 3.1: with an additional node 0 before all nodes without producers; the graph itself if there is only one of
 * those. Closed. */
GroupGraph group_graph_rooted(Arena *arena, const GroupGraph *g);
/* Every edge reversed; node i becomes count-1-i. Closed. */
GroupGraph group_graph_reversed(Arena *arena, const GroupGraph *g);

/* The cost of the group of these nodes (ascending). INFINITY: they cannot be a group, though with others they may. A
 * single node always can. *hopeless = true: no group that grows from it can be one. */
typedef double GroupCostOf(void *user, const int *nodes, int count, bool *hopeless);

typedef struct GroupSearch {
    GroupCostOf *cost;
    void        *user;
    bool         from_readers; /* grow groups from the last node */
    bool         unrepaired;   /* take the partition that F's own choices make */
    int          most_nodes;   /* of a group, per round of Algorithm 5; 0: no limit */
    int64_t      states;       /* groups to visit in all; 0: 50,000 */
    int          width;        /* down-sets of a size to keep; 0: 512, fewer for more than 128 nodes */
    double seconds; /* after which the best so far is taken; 0: no limit. Only this cut may differ from run to run. */
} GroupSearch;

typedef struct Grouping {
    int     count;      /* groups, numbered so that each reads only earlier ones */
    int    *of_node;    /* by node: its group */
    double  cost;       /* the sum over the groups */
    double  recurrence; /* F of the whole graph, first round */
    double  plain;      /* the cost of the partition that F's own choices make, first round (group_table.c) */
    int64_t states;     /* groups visited */
    int     rounds;     /* of Algorithm 5 */
    bool    exact;      /* nothing was cut off: all groups were visited, and no partition into them is better */
} Grouping;

/* Gives a partition without cycles between groups. */
Grouping group_search(const GroupGraph *g, const GroupSearch *search, Arena *arena);

/* The same by merging two groups at a time, the best merge first (group_greedy.c). */
Grouping group_greedy(const GroupGraph *g, const GroupSearch *search, Arena *arena);

/* The paper's "groupings enumerated" (Tables 1 and 9): the groups that F visits from the first node, where no group
 * exceeds `most` nodes (0: no limit). */
int64_t group_count(const GroupGraph *g, int most, Arena *arena);

#endif
