/* SPDX-License-Identifier: MIT */
/* The scheduler `dp`: groups by dynamic programming, tiles by their cost.
 *
 * From    Jangda and Bondhugula 2020. First what costs nothing is inlined (section 5.1, Algorithm 3, in the plain
 *         draft). Then the rest is grouped (group.h: Algorithms 1 and 5 with the repair); the cost of a group is that
 *         of its best tiles (tile.h: Algorithms 2 and 4). The groups that are taken are searched again thoroughly.
 * Slices  A second draft has each slice group (slice_groups.h) as one group from the beginning. The draft with the
 *         lower predicted time is taken.
 * Beyond  Reductions may be grouped. The draft decides whether a node may be in a group, so that what is costed is
 *         what runs. The cost is the time of the common model.
 * Less    The options of the ablation (section 7.4.3) leave out inlining, two levels, shared loops, the dynamic
 *         program, or the cost model. */
#include "schedulers/search/group.h"
#include "schedulers/rules/slice_groups.h"
#include "schedulers/search/tile.h"

#include <math.h>

typedef struct Dp {
    const Graph       *g;
    Draft              d;
    TileSpace          tiles;
    int               *node_of; /* of a unit of the grouping */
    int               *unit_of; /* of a node; -1: it is inlined, or an input */
    int               *nodes;   /* room for the nodes of a group */
    int                group;   /* a spare one, for the group in question */
    double            *alone;   /* by unit: its cost as a group of its own; 0: not known yet */
    double             left;    /* budget: nodes to look at */
    const SliceGroup **slices;  /* by node: the slice group that it heads; NULL: none, or it is a member */
    bool              *sliced;  /* by node: it is a member of a slice group, not its head */
} Dp;

/* ---- What is inlined ---------------------------------------------------------------------- */

static void make_unit(Draft *d, int s)
{
    d->groups[d->group_count] = (Group){ .head = s };
    d->choices[s]             = (Choice){ .where = WHERE_ROOT, .group = d->group_count++ };
}

/* Keeps what the plain draft inlines, unless inlining is off. A short sum at the points of its one reader is unrolled
 * there. Other sums are nodes like any, for the search to place. */
static void choose_inlined(Draft *d, const SchedulerOptions *options)
{
    for (int s = 0; s < d->graph->node_count; s++) {
        Choice *c = &d->choices[s];
        if (c->where == WHERE_DEFAULT && !options->no_inlining && scheduler_short_sum(d, s))
            c->where = WHERE_INLINE;
        else if (c->where == WHERE_DEFAULT || (c->where == WHERE_INLINE && options->no_inlining))
            make_unit(d, s);
    }
}

/* Makes each slice group one unit: that of its head. */
static void keep_together(Dp *dp, const SliceGroup *all)
{
    dp->slices[all->head] = all;
    for (int i = 0; i + 1 < all->count; i++)
        dp->sliced[all->nodes[i]] = true;
    if (dp->d.choices[all->head].where != WHERE_ROOT)
        make_unit(&dp->d, all->head);
}

/* Appends the nodes of a unit, without inlined ones, to dp->nodes. */
static int add_nodes(Dp *dp, int s, int count)
{
    const SliceGroup *all = dp->slices[s];
    for (int i = 0; all && i + 1 < all->count; i++)
        if (dp->d.choices[all->nodes[i]].where == WHERE_ROOT)
            dp->nodes[count++] = all->nodes[i];
    dp->nodes[count++] = s;
    return count;
}

/* ---- What a group costs ------------------------------------------------------------------ */

/* The budget is counted in nodes looked at, so that the same pipeline always gets the same schedule. A group that costs
 * far more than its nodes apart is not grown. (Single nodes are asked about first.) */
static double group_cost(void *user, const int *units, int count, bool *hopeless)
{
    Dp    *dp    = user;
    double apart = 0;
    int    nodes = 0;
    for (int i = 0; i < count; i++) {
        nodes = add_nodes(dp, dp->node_of[units[i]], nodes);
        apart += dp->alone[units[i]];
    }
    dp->left -= nodes;
    if (dp->left < 0 && count > 1) {
        *hopeless = true;
        return INFINITY;
    }
    const double cost = tile_group(&dp->tiles, dp->nodes, nodes, dp->group,
                                   dp->slices[dp->nodes[nodes - 1]] ? TILE_SLICES : TILE_QUICK, hopeless);
    tile_ungroup(&dp->tiles, dp->nodes, nodes);
    if (count == 1)
        dp->alone[units[0]] = cost;
    else
        *hopeless |= cost != INFINITY && cost > DP_FAR_MORE * apart && !dp->tiles.options.plain_cost;
    return cost;
}

/* ---- The graph of what is not inlined ---------------------------------------------------- */

/* Adds edges to the readers of s, through inlined nodes. seen[]: the unit by which each inlined node was last met. */
static void add_readers(const Dp *dp, GroupGraph *gg, int unit, int s, int *seen)
{
    const GraphNode *node = &dp->g->nodes[s];
    for (int k = 0; k < node->out_count; k++) {
        const int reader = node->out[k]->consumer;
        if (dp->unit_of[reader] >= 0) {
            group_graph_edge(gg, unit, dp->unit_of[reader]);
        } else if (seen[reader] != unit + 1) {
            seen[reader] = unit + 1;
            add_readers(dp, gg, unit, reader, seen);
        }
    }
}

static GroupGraph make_graph(Dp *dp, Arena *arena)
{
    int count = 0;
    for (int s = 0; s < dp->g->node_count; s++) {
        dp->unit_of[s] =
            dp->g->nodes[s].kind != NODE_INPUT && dp->d.choices[s].where == WHERE_ROOT && !dp->sliced[s] ? count : -1;
        if (dp->unit_of[s] >= 0)
            dp->node_of[count++] = s;
    }
    GroupGraph gg   = group_graph_new(arena, count);
    int       *seen = ARENA_ARRAY(arena, int, (size_t)dp->g->node_count);
    for (int i = 0; i < count; i++) {
        gg.alone[i] = dp->slices[dp->node_of[i]] != NULL;
        add_readers(dp, &gg, i, dp->node_of[i], seen);
    }
    group_graph_close(&gg);
    return gg;
}

/* ---- The draft --------------------------------------------------------------------------- */

/* Makes group k of those found group k of the draft. */
static void take_group(Dp *dp, const GroupGraph *gg, const Grouping *found, int k)
{
    int count = 0;
    for (int i = 0; i < gg->count; i++)
        if (found->of_node[i] == k)
            count = add_nodes(dp, dp->node_of[i], count);
    tile_group(&dp->tiles, dp->nodes, count, k, dp->slices[dp->nodes[count - 1]] ? TILE_SLICES : TILE_THOROUGH, NULL);
}

/* ---- Groups that are best inlined ------------------------------------------------------------ */

/* The predicted time of all groups that read a node, directly or through inlined nodes. Each counts once: those with
 * seen[] = mark are done. */
static double readers_cost(const Dp *dp, int s, int *seen, int mark)
{
    const GraphNode *node = &dp->g->nodes[s];
    double           ns   = 0;
    for (int k = 0; k < node->out_count; k++) {
        const int     reader = node->out[k]->consumer;
        const Choice *c      = &dp->d.choices[reader];
        if (c->where == WHERE_INLINE) {
            ns += readers_cost(dp, reader, seen, mark);
        } else if (seen[c->group] != mark) {
            seen[c->group] = mark;
            ns += cost_group_quick(&dp->d, c->group, dp->tiles.m);
        }
    }
    return ns;
}

/* Lists the nodes of a group of the draft, without inlined ones; 0: one of them cannot be inlined. */
static int list_inlinable(const Dp *dp, int group)
{
    int count = 0;
    for (int s = 0; s < dp->g->node_count; s++) {
        const Choice *c = &dp->d.choices[s];
        if (c->group != group || c->where == WHERE_INLINE || dp->g->nodes[s].kind == NODE_INPUT)
            continue;
        if (dp->g->nodes[s].def_count > 1 || !tile_may_inline(&dp->d, s))
            return 0;
        dp->nodes[count++] = s;
    }
    return count;
}

/* Algorithm 3 across groups: a group that several others read is inlined into all of them where recomputing costs less
 * than storing. */
static void inline_groups(Dp *dp, int group_count, Arena *arena)
{
    int    *seen = ARENA_ARRAY(arena, int, (size_t)group_count + 1);
    Choice *had  = ARENA_ARRAY(arena, Choice, (size_t)dp->g->node_count + 1);
    for (int k = group_count - 1; k >= 0; k--) {
        const int head = dp->d.groups[k].head, count = list_inlinable(dp, k);
        if (!count)
            continue;
        const double before = cost_group_quick(&dp->d, k, dp->tiles.m) + readers_cost(dp, head, seen, 2 * k + 1);
        for (int i = 0; i < count; i++) {
            had[i]                            = dp->d.choices[dp->nodes[i]];
            dp->d.choices[dp->nodes[i]].where = WHERE_INLINE;
        }
        const bool better = readers_cost(dp, head, seen, 2 * k + 2) < DP_GAIN * before;
        for (int i = 0; i < count && !better; i++)
            dp->d.choices[dp->nodes[i]] = had[i];
    }
}

/* A draft with these slice groups. */
static Draft draft_with(const Graph *g, const Machine *m, const SchedulerOptions *options, const SliceGroup *slices,
                        int slice_count, Arena *arena)
{
    const size_t n  = (size_t)g->node_count + 1;
    Dp           dp = { .g       = g,
                        .d       = draft_plain(g, m, options->without, arena),
                        .node_of = ARENA_ARRAY(arena, int, n),
                        .unit_of = ARENA_ARRAY(arena, int, n),
                        .nodes   = ARENA_ARRAY(arena, int, n),
                        .slices  = ARENA_ARRAY(arena, const SliceGroup *, n),
                        .sliced  = ARENA_ARRAY(arena, bool, n) };
    choose_inlined(&dp.d, options);
    for (int i = 0; i < slice_count; i++)
        keep_together(&dp, &slices[i]);
    GroupGraph gg            = make_graph(&dp, arena);
    dp.tiles                 = tile_space(&dp.d, m, options, arena);
    dp.group                 = dp.d.group_count;
    dp.alone                 = ARENA_ARRAY(arena, double, n);
    dp.left                  = options->budget / 2 * DP_NODES_PER_SECOND;
    const GroupSearch search = { .cost         = group_cost,
                                 .user         = &dp,
                                 .from_readers = true,
                                 .unrepaired   = options->no_repair,
                                 .states       = DP_STATES + 4 * gg.count,
                                 .seconds      = options->budget / 2 };
    const Grouping    found =
        options->greedy_fusion ? group_greedy(&gg, &search, arena) : group_search(&gg, &search, arena);
    for (int k = 0; k < found.count; k++)
        take_group(&dp, &gg, &found, k);
    if (!options->no_inlining && !options->plain_cost)
        inline_groups(&dp, found.count, arena);
    dp.d.group_count = found.count;
    draft_choose_micro_kernels(&dp.d, m);
    draft_legalize(&dp.d);
    draft_apply_rules(&dp.d, m, RULES_SHARED);
    return dp.d;
}

Draft scheduler_dp(const Graph *g, const Machine *m, const SchedulerOptions *options, Arena *arena)
{
    const Draft plain = draft_with(g, m, options, NULL, 0, arena);
    const Draft begin = draft_plain(g, m, options->without, arena);
    SliceGroup *found = ARENA_ARRAY(arena, SliceGroup, (size_t)g->node_count + 1);
    const int   count = !draft_has_rule(&begin, RULE_SLICES) || options->plain_cost || options->greedy_fusion
                            ? 0
                            : slice_groups_find(&begin, m->cores, found, arena);
    if (!count)
        return plain;
    const Draft sliced = draft_with(g, m, options, found, count, arena);
    return cost_draft(&sliced, m) < cost_draft(&plain, m) ? sliced : plain;
}
