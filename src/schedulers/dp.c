/* The scheduler `dp`: groups by dynamic programming, tiles by their cost.
 *
 * From    Jangda and Bondhugula 2020. Inlining first (section 5.1, as the plain draft has it: what costs nothing), so that groups are of what is left; then the groups
 *         (group.h: Algorithms 1 and 5 with the repair), whose cost is that of their best tile (tile.h: Algorithms 2 and 4).
 * Beyond  Reductions may be grouped. Whether a stage may be in a group is the draft's to say, so that what is costed is what will be run. */
#include "schedulers/group.h"
#include "schedulers/schedulers.h"
#include "schedulers/special.h"
#include "schedulers/tile.h"

#include <math.h>

enum { STATES = 4000, SHORT_SUM = 27 };

typedef struct Dp {
    const Graph *g;
    Draft        d;
    TileSpace    tiles;
    int         *stage_of;      /* of a node of the grouping */
    int         *node_of;       /* of a stage; -1: it is inlined, or an input */
    int         *stages;        /* room for a group's */
    int          group;         /* a spare one, for what is being asked about */
    bool        *beside;        /* by stage: a sum at the points of its one reader */
} Dp;

/* ---- Sums at their reader's points ------------------------------------------------------- */

/* A short one is written out. Any other is a stage like others, for the search to place. */
static void free_sum(Draft *d, int s)
{
    const Stage *st    = &d->graph->stages[s];
    double       steps = 0;
    for (int k = 1; k < st->def_count; k++)
        steps += st->defs[k].steps;
    if (draft_may_inline(d, s) && steps <= SHORT_SUM) {
        d->choices[s].where = WHERE_INLINE;
        return;
    }
    d->groups[d->group_count] = (Group){ .head = s };
    d->choices[s]             = (Choice){ .where = WHERE_ROOT, .group = d->group_count++ };
}

static bool *free_sums(Draft *d, Arena *arena)
{
    bool *beside = ARENA_ARRAY(arena, bool, (size_t)d->graph->stage_count + 1);
    for (int s = 0; s < d->graph->stage_count; s++) {
        beside[s] = d->choices[s].where == WHERE_DEFAULT;
        if (beside[s])
            free_sum(d, s);
    }
    return beside;
}

/* ---- What a group costs ------------------------------------------------------------------ */

/* Puts the stages (ascending, the head last) into the spare group, readers first. false: one may not be there. */
static bool put_together(Dp *dp, int count)
{
    const int head          = dp->stages[count - 1];
    dp->d.groups[dp->group] = (Group){ .head = head };
    dp->d.choices[head]     = (Choice){ .where = WHERE_ROOT, .group = dp->group };
    for (int i = count - 2; i >= 0; i--) {
        if (!draft_may_join(&dp->d, dp->stages[i], dp->group))
            return false;
        dp->d.choices[dp->stages[i]] = (Choice){ .where = WHERE_INSIDE, .group = dp->group };
    }
    return true;
}

static void take_apart(Dp *dp, int count)
{
    for (int i = 0; i < count; i++)
        dp->d.choices[dp->stages[i]] = (Choice){ .where = WHERE_ROOT, .group = dp->group };
}

static double group_cost(void *user, const int *nodes, int count, bool *hopeless)
{
    Dp *dp = user;
    for (int i = 0; i < count; i++)
        dp->stages[i] = dp->stage_of[nodes[i]];
    const bool   together = put_together(dp, count);
    const double cost     = together ? tile_best(&dp->tiles, dp->stages, count).cost : INFINITY;
    take_apart(dp, count);
    *hopeless = !together || draft_main(&dp->d, dp->stages[count - 1]) == NO_DEF;
    return cost;
}

/* ---- The graph of what is not inlined ---------------------------------------------------- */

/* Edges to the readers of s, and to those of what is inlined; seen[] says by which node each inlined stage was last met. */
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
        dp->node_of[s] = dp->g->stages[s].kind != STAGE_INPUT && dp->d.choices[s].where == WHERE_ROOT ? count : -1;
        if (dp->node_of[s] >= 0)
            dp->stage_of[count++] = s;
    }
    GroupGraph gg   = group_graph_new(arena, count);
    int       *seen = ARENA_ARRAY(arena, int, (size_t)dp->g->stage_count);
    for (int i = 0; i < count; i++)
        add_readers(dp, &gg, i, dp->stage_of[i], seen);
    group_graph_finish(&gg);
    return gg;
}

/* ---- The draft --------------------------------------------------------------------------- */

static void add_loop(Group *gr, int dim, int64_t step, bool parallel, bool vector)
{
    gr->loops[gr->loop_count++] = (GroupLoop){ .dim = dim, .step = step, .parallel = parallel, .vector = vector };
}

/* Loops over tiles outside, those in a tile inside: rows, then the other dimensions, then vectors. Gives the innermost loop over tiles; *rows that over rows. */
static int make_loops(const Dp *dp, Group *gr, const Tile *tile, int *rows)
{
    const Stage *st    = &dp->g->stages[gr->head];
    const int    lanes = draft_lanes(&dp->d, gr->head);
    for (int d = st->rank - 1; d >= 0; d--) {
        const int64_t size = d ? tile->size[d] : (tile->size[0] + lanes - 1) / lanes * lanes;
        if (size <= st->box.max[d] - st->box.min[d])
            add_loop(gr, d, size, true, false);
    }
    const int last = gr->loop_count - 1;
    *rows          = gr->loop_count;
    if (st->rank > 1 && (tile->size[1] > 1 || st->box.max[1] <= st->box.min[1]))
        add_loop(gr, 1, 1, false, false);
    for (int d = st->rank - 1; d >= 2; d--)
        if (tile->size[d] > 1 || st->box.max[d] <= st->box.min[d])
            add_loop(gr, d, 1, false, false);
    add_loop(gr, 0, lanes, false, true);
    return last;
}

static void make_group(Dp *dp, int count, int group)
{
    Group    *gr        = &dp->d.groups[group];
    const int head      = dp->stages[count - 1];
    *gr                 = (Group){ .head = head };
    dp->d.choices[head] = (Choice){ .where = WHERE_ROOT, .group = group };
    for (int i = count - 2; i >= 0; i--)
        dp->d.choices[dp->stages[i]] = (Choice){ .where = WHERE_INSIDE, .group = group };
    if (count == 1 && dp->beside[head])
        dp->d.choices[head].where = WHERE_DEFAULT;
    if (draft_main(&dp->d, head) == NO_DEF)
        return;
    gr->stream = draft_streams(&dp->d, head, dp->tiles.m);
    int        rows;
    const Tile tile = tile_best(&dp->tiles, dp->stages, count);
    const int  last = make_loops(dp, gr, &tile, &rows);
    for (int i = count - 2; i >= 0; i--) {
        Choice       *c      = &dp->d.choices[dp->stages[i]];
        const Choice *reader = &dp->d.choices[dp->g->stages[dp->stages[i]].out[0]->consumer];
        c->store             = last < 0 ? 0 : last;
        c->compute           = tile.slides && rows < gr->loop_count ? rows : c->store;
        if (dp->beside[dp->stages[i]])
            c->compute = c->store = reader->where == WHERE_INSIDE ? reader->compute : gr->loop_count - 1;
    }
}

Draft scheduler_dp(const Graph *g, const Machine *m, const SchedulerOptions *options, Arena *arena)
{
    const size_t n  = (size_t)g->stage_count + 1;
    Dp           dp = { .g = g, .d = draft_plain(g, m, arena), .stage_of = ARENA_ARRAY(arena, int, n), .node_of = ARENA_ARRAY(arena, int, n), .stages = ARENA_ARRAY(arena, int, n) };
    dp.beside       = free_sums(&dp.d, arena);
    GroupGraph   gg = make_graph(&dp, arena);
    dp.tiles        = tile_space(&dp.d, m, options->no_two_levels, arena);
    dp.group        = dp.d.group_count;
    const GroupSearch search = { .cost = group_cost, .user = &dp, .from_readers = true, .states = STATES + 4 * gg.count, .seconds = options->budget / 2 };
    const Grouping    found  = group_search(&gg, &search, arena);
    for (int k = 0; k < found.count; k++) {
        int count = 0;
        for (int i = 0; i < gg.count; i++)
            if (found.of_stage[i] == k)
                dp.stages[count++] = dp.stage_of[i];
        make_group(&dp, count, k);
    }
    dp.d.group_count = found.count;
    special_finish(&dp.d);
    draft_settle(&dp.d);
    return dp.d;
}
