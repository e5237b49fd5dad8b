/* The scheduler `dp`: groups by dynamic programming, tiles by their cost.
 *
 * From    Jangda and Bondhugula 2020. Inlining first (section 5.1, Algorithm 3, as the plain draft has it: what costs
 *         nothing), so that groups are of what is left; then the groups (group.h: Algorithms 1 and 5 with the repair),
 *         whose cost is that of their best tiles (tile.h: Algorithms 2 and 4). The groups that are taken are then done
 *         thoroughly.
 * Slices  A second draft has each set of stages that share slices (slices.h) as one group from the beginning; of the
 *         two the one with the least predicted time is taken.
 * Beyond  Reductions may be grouped. Whether a stage may be in a group is the draft's to say, so that what is costed is
 *         what will be run. The cost is the common model's time.
 * Less    The options of the ablation (section 7.4.3) leave out inlining, two levels, loops shared inside a tile, the
 *         dynamic program, or the cost. */
#include "schedulers/group.h"
#include "schedulers/slices.h"
#include "schedulers/tile.h"
#include "schedulers/together.h"

#include <math.h>

enum { STATES = 400, STAGES_PER_SECOND = 200000 };
static const double far_more = 1.2;

typedef struct Dp {
    const Graph   *g;
    Draft          d;
    TileSpace      tiles;
    int           *stage_of; /* of a node of the grouping */
    int           *node_of;  /* of a stage; -1: it is inlined, or an input */
    int           *stages;   /* room for a group's */
    int            group;    /* a spare one, for what is being asked about */
    double        *alone;    /* by node: its cost as a group of its own; 0: not asked yet */
    double         left;     /* stages to look at */
    const Slices **slices;   /* by stage: those that it is the head of; NULL: it is of none, or a member */
    bool          *sliced;   /* by stage: it is a member of slices, and not the head */
} Dp;

/* ---- What is inlined ---------------------------------------------------------------------- */

static void make_node(Draft *d, int s)
{
    d->groups[d->group_count] = (Group){ .head = s };
    d->choices[s]             = (Choice){ .where = WHERE_ROOT, .group = d->group_count++ };
}

/* What the plain draft inlines stays so, unless nothing is to be. A sum at the points of its one reader is written out
 * if it is short; any other is a stage like others, for the search to place. */
static void choose_inlined(Draft *d, const SchedulerOptions *options)
{
    for (int s = 0; s < d->graph->stage_count; s++) {
        Choice *c = &d->choices[s];
        if (c->where == WHERE_DEFAULT && !options->no_inlining && scheduler_short_sum(d, s))
            c->where = WHERE_INLINE;
        else if (c->where == WHERE_DEFAULT || (c->where == WHERE_INLINE && options->no_inlining))
            make_node(d, s);
    }
}

/* A set of slices is one node, its head's. */
static void keep_together(Dp *dp, const Slices *all)
{
    dp->slices[all->head] = all;
    for (int i = 0; i + 1 < all->count; i++)
        dp->sliced[all->stages[i]] = true;
    if (dp->d.choices[all->head].where != WHERE_ROOT)
        make_node(&dp->d, all->head);
}

/* The stages that a node stands for, but for those that are inlined, to the end of dp->stages. */
static int add_stages(Dp *dp, int s, int count)
{
    const Slices *all = dp->slices[s];
    for (int i = 0; all && i + 1 < all->count; i++)
        if (dp->d.choices[all->stages[i]].where == WHERE_ROOT)
            dp->stages[count++] = all->stages[i];
    dp->stages[count++] = s;
    return count;
}

/* ---- What a group costs ------------------------------------------------------------------ */

/* What may be spent is counted in stages looked at, so that the same pipeline always gets the same schedule. From a
 * group that costs far more than its stages apart nothing good grows. (Single stages are asked about first.) */
static double group_cost(void *user, const int *nodes, int count, bool *hopeless)
{
    Dp    *dp     = user;
    double apart  = 0;
    int    stages = 0;
    for (int i = 0; i < count; i++) {
        stages = add_stages(dp, dp->stage_of[nodes[i]], stages);
        apart += dp->alone[nodes[i]];
    }
    dp->left -= stages;
    if (dp->left < 0 && count > 1) {
        *hopeless = true;
        return INFINITY;
    }
    const double cost = tile_group(&dp->tiles, dp->stages, stages, dp->group,
                                   dp->slices[dp->stages[stages - 1]] ? TILE_SLICES : TILE_QUICK, hopeless);
    tile_apart(&dp->tiles, dp->stages, stages);
    if (count == 1)
        dp->alone[nodes[0]] = cost;
    else
        *hopeless |= cost != INFINITY && cost > far_more * apart && !dp->tiles.options.plain_cost;
    return cost;
}

/* ---- The graph of what is not inlined ---------------------------------------------------- */

/* Edges to the readers of s, and to those of what is inlined; seen[] says by which node each inlined stage was last
 * met. */
static void add_readers(const Dp *dp, GroupGraph *gg, int node, int s, int *seen)
{
    const Stage *st = &dp->g->stages[s];
    for (int k = 0; k < st->out_count; k++) {
        const int reader = st->out[k]->consumer;
        if (dp->node_of[reader] >= 0) {
            group_graph_edge(gg, node, dp->node_of[reader]);
        } else if (seen[reader] != node + 1) {
            seen[reader] = node + 1;
            add_readers(dp, gg, node, reader, seen);
        }
    }
}

static GroupGraph make_graph(Dp *dp, Arena *arena)
{
    int count = 0;
    for (int s = 0; s < dp->g->stage_count; s++) {
        dp->node_of[s] =
            dp->g->stages[s].kind != STAGE_INPUT && dp->d.choices[s].where == WHERE_ROOT && !dp->sliced[s] ? count : -1;
        if (dp->node_of[s] >= 0)
            dp->stage_of[count++] = s;
    }
    GroupGraph gg   = group_graph_new(arena, count);
    int       *seen = ARENA_ARRAY(arena, int, (size_t)dp->g->stage_count);
    for (int i = 0; i < count; i++) {
        gg.alone[i] = dp->slices[dp->stage_of[i]] != NULL;
        add_readers(dp, &gg, i, dp->stage_of[i], seen);
    }
    group_graph_finish(&gg);
    return gg;
}

/* ---- The draft --------------------------------------------------------------------------- */

/* Group k of those found, as group k of the draft. */
static void take_group(Dp *dp, const GroupGraph *gg, const Grouping *found, int k)
{
    int count = 0;
    for (int i = 0; i < gg->count; i++)
        if (found->of_stage[i] == k)
            count = add_stages(dp, dp->stage_of[i], count);
    tile_group(&dp->tiles, dp->stages, count, k, dp->slices[dp->stages[count - 1]] ? TILE_SLICES : TILE_THOROUGH, NULL);
}

/* ---- Groups that are best inlined ------------------------------------------------------------ */

/* The predicted time of all groups that read a stage, by themselves or through what is inlined; each once: those with
 * seen[] = mark are done. */
static double readers_cost(const Dp *dp, int s, int *seen, int mark)
{
    const Stage *st = &dp->g->stages[s];
    double       ns = 0;
    for (int k = 0; k < st->out_count; k++) {
        const int     reader = st->out[k]->consumer;
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

/* The stages of a group of the draft, but for those that are inlined; 0: one of them cannot be. */
static int list_inlinable(const Dp *dp, int group)
{
    int count = 0;
    for (int s = 0; s < dp->g->stage_count; s++) {
        const Choice *c = &dp->d.choices[s];
        if (c->group != group || c->where == WHERE_INLINE || dp->g->stages[s].kind == STAGE_INPUT)
            continue;
        if (dp->g->stages[s].def_count > 1 || !tile_may_inline(&dp->d, s))
            return 0;
        dp->stages[count++] = s;
    }
    return count;
}

/* Algorithm 3 beyond a group: what several groups read is inlined into all of them where computing it again costs less
 * than storing it. */
static void inline_groups(Dp *dp, int group_count, Arena *arena)
{
    int    *seen = ARENA_ARRAY(arena, int, (size_t)group_count + 1);
    Choice *had  = ARENA_ARRAY(arena, Choice, (size_t)dp->g->stage_count + 1);
    for (int k = group_count - 1; k >= 0; k--) {
        const int head = dp->d.groups[k].head, count = list_inlinable(dp, k);
        if (!count)
            continue;
        const double before = cost_group_quick(&dp->d, k, dp->tiles.m) + readers_cost(dp, head, seen, 2 * k + 1);
        for (int i = 0; i < count; i++) {
            had[i]                             = dp->d.choices[dp->stages[i]];
            dp->d.choices[dp->stages[i]].where = WHERE_INLINE;
        }
        const bool better = readers_cost(dp, head, seen, 2 * k + 2) < 0.95 * before;
        for (int i = 0; i < count && !better; i++)
            dp->d.choices[dp->stages[i]] = had[i];
    }
}

/* A draft in which these slices are groups. */
static Draft draft_with(const Graph *g, const Machine *m, const SchedulerOptions *options, const Slices *slices,
                        int slice_count, Arena *arena)
{
    const size_t n  = (size_t)g->stage_count + 1;
    Dp           dp = { .g        = g,
                        .d        = draft_plain(g, m, arena),
                        .stage_of = ARENA_ARRAY(arena, int, n),
                        .node_of  = ARENA_ARRAY(arena, int, n),
                        .stages   = ARENA_ARRAY(arena, int, n),
                        .slices   = ARENA_ARRAY(arena, const Slices *, n),
                        .sliced   = ARENA_ARRAY(arena, bool, n) };
    choose_inlined(&dp.d, options);
    for (int i = 0; i < slice_count; i++)
        keep_together(&dp, &slices[i]);
    GroupGraph gg            = make_graph(&dp, arena);
    dp.tiles                 = tile_space(&dp.d, m, options, arena);
    dp.group                 = dp.d.group_count;
    dp.alone                 = ARENA_ARRAY(arena, double, n);
    dp.left                  = options->budget / 2 * STAGES_PER_SECOND;
    const GroupSearch search = { .cost         = group_cost,
                                 .user         = &dp,
                                 .from_readers = true,
                                 .unrepaired   = options->no_repair,
                                 .states       = STATES + 4 * gg.count,
                                 .seconds      = options->budget / 2 };
    const Grouping    found =
        options->greedy_fusion ? group_greedy(&gg, &search, arena) : group_search(&gg, &search, arena);
    for (int k = 0; k < found.count; k++)
        take_group(&dp, &gg, &found, k);
    if (!options->no_inlining && !options->plain_cost)
        inline_groups(&dp, found.count, arena);
    dp.d.group_count = found.count;
    draft_finish(&dp.d, m);
    draft_settle(&dp.d);
    if (!options->no_together)
        draft_share_loops(&dp.d, m);
    return dp.d;
}

Draft scheduler_dp(const Graph *g, const Machine *m, const SchedulerOptions *options, Arena *arena)
{
    const Draft plain = draft_with(g, m, options, NULL, 0, arena);
    const Draft begin = draft_plain(g, m, arena);
    Slices     *found = ARENA_ARRAY(arena, Slices, (size_t)g->stage_count + 1);
    const int   count = options->no_slices || options->plain_cost || options->greedy_fusion
                            ? 0
                            : slices_find(&begin, m->cores, found, arena);
    if (!count)
        return plain;
    const Draft sliced = draft_with(g, m, options, found, count, arena);
    return cost_draft(&sliced, m) < cost_draft(&plain, m) ? sliced : plain;
}
