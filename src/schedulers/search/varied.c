/* SPDX-License-Identifier: MIT */
/* Drafts of many kinds, to compare predictions with and to fit the weights of the cost model on.
 *
 * Takes   a number: a row of a table that says how much is inlined, how large groups grow, the size of tiles, and
 *         whether windows slide in them.
 * Gives   a draft made without judgement but one: nothing is recomputed more than a few times, or measuring would take
 *         for ever.
 * Why     A model has to tell good schedules from bad ones, so it is tested on both. */
#include "schedulers/graph/def_facts.h"
#include "schedulers/search/schedulers.h"

typedef enum Inlining { INLINE_NOTHING, INLINE_PLAIN, INLINE_MUCH } Inlining;

typedef struct Variant {
    Inlining inlining;
    int      members;       /* of a group, beside its head */
    int64_t  rows, columns; /* of a tile of the head; 0 columns: all */
    bool slides, overlaps;  /* windows slide in a tile; or members are computed for the whole tile; neither: row by row,
                               nothing is stored */
    int  lanes;             /* vectors of heads, as a fraction of the default lanes: 1, 2, 4 */
    bool finished;          /* with the micro kernels of draft_choose_micro_kernels */
} Variant;

/* clang-format off */
static const Variant variants[] = {
    { INLINE_PLAIN,    99, 64,   0, true,  false, 1, true },  { INLINE_NOTHING,  0, 16,   0, false, false, 1, false },
      { INLINE_MUCH,     0, 32,   0, false, false, 1, false },
    { INLINE_PLAIN,    99, 16, 128, false, true,  1, false }, { INLINE_PLAIN,    3, 32,   0, true,  false, 1, false },
      { INLINE_NOTHING, 99,  8,   0, true,  false, 1, true },
    { INLINE_PLAIN,    99, 64, 256, false, true,  1, true },  { INLINE_PLAIN,    0,  4,   0, false, false, 2, true },
       { INLINE_PLAIN,   99, 32,   0, false, false, 1, false },
    { INLINE_MUCH,     99, 128,  0, true,  false, 1, true },  { INLINE_PLAIN,    2, 32,  64, false, true,  1, false },
      { INLINE_PLAIN,   99, 128, 512, true,  false, 1, true },
};
/* clang-format on */
enum { VARIANTS = sizeof variants / sizeof *variants };

enum {
    MOST_TIMES = 9,  /* evaluations of an inlined point for each that is needed */
    MOST_OPS   = 60, /* operations of these for each point */
    MOST_STEPS = 32  /* of a sum that is unrolled */
};
static const double little_more = 1.1; /* evaluations of a sum for each that is needed */
static const double most_again  = 3;   /* points of a member for each that is needed */

typedef struct Varied {
    const Graph   *g;
    const Machine *m;
    const Variant *v;
    Draft          d;
    double        *asked;   /* by node: how often its points are computed if it is inlined */
    int           *members; /* by group */
    NodeCost      *costs;
} Varied;

/* ---- Inlining --------------------------------------------------------------------------- */

static double times_asked(const Varied *v, int s)
{
    const GraphNode *node  = &v->g->nodes[s];
    double           asked = 0;
    for (int i = 0; i < node->out_count; i++) {
        const Edge *e = node->out[i];
        asked += e->accesses * (v->d.choices[e->consumer].where == WHERE_INLINE
                                    ? v->asked[e->consumer]
                                    : v->g->nodes[e->consumer].defs[e->update + 1].points);
    }
    return asked;
}

static bool is_inlined(const Varied *v, int s)
{
    const GraphNode *node = &v->g->nodes[s];
    if (v->v->inlining == INLINE_NOTHING || node->def_count > 1 || !draft_may_inline(&v->d, s))
        return false;
    if (v->v->inlining == INLINE_PLAIN)
        return v->d.choices[s].where == WHERE_INLINE;
    return v->asked[s] <= MOST_TIMES * node->defs[0].points &&
           v->asked[s] * node->defs[0].ops <= MOST_OPS * node->defs[0].points;
}

/* Is it a short sum next to its one reader? Then it is unrolled there. */
static bool is_short_sum(const Varied *v, int s)
{
    double steps = 0;
    for (int k = 0; k < v->g->nodes[s].func->update_count; k++)
        steps += v->d.facts[s].defs[k + 1].steps ? (double)v->d.facts[s].defs[k + 1].steps : MOST_STEPS + 1;
    return v->v->inlining != INLINE_NOTHING && v->d.choices[s].where == WHERE_DEFAULT && draft_may_inline(&v->d, s) &&
           steps <= MOST_STEPS && v->asked[s] <= little_more * v->g->nodes[s].defs[0].points;
}

static void choose_inlined(Varied *v)
{
    for (int s = v->g->node_count; s-- > 0;) {
        if (v->g->nodes[s].kind == NODE_INPUT)
            continue;
        v->asked[s] = times_asked(v, s);
        if (is_inlined(v, s) || is_short_sum(v, s)) {
            v->d.choices[s] =
                (Choice){ .where = WHERE_INLINE, .group = v->d.choices[v->g->nodes[s].out[0]->consumer].group };
        } else if (v->d.choices[s].where == WHERE_INLINE) {
            v->d.groups[v->d.group_count] = (Group){ .head = s };
            v->d.choices[s]               = (Choice){ .where = WHERE_ROOT, .group = v->d.group_count++ };
        }
    }
    draft_legalize(&v->d);
}

/* ---- Groups ----------------------------------------------------------------------------- */

/* Planes in parallel, tiles, rows, few planes, vectors along x. */
static void make_loops(Varied *v, int s)
{
    enum { FEW = 4 };
    const GraphNode *node  = &v->g->nodes[s];
    const Variant   *var   = v->v;
    Group           *gr    = &v->d.groups[v->d.choices[s].group];
    const int        lanes = draft_lanes(&v->d, s) / var->lanes;
    if (draft_main(&v->d, s) == NO_DEF)
        return;
    gr->stream = cost_streams(&v->d, s, v->m);
    for (int d = node->rank - 1; d >= 2; d--)
        if (box_extent(&node->box, d) > FEW)
            group_add_loop(gr, d, 1, true, false);
    if (node->rank > 1)
        group_add_loop(gr, 1, var->rows, true, false);
    if (var->columns || node->rank == 1)
        group_add_loop(gr, 0, node->rank == 1 ? 64 * lanes : var->columns, node->rank == 1, false);
    if (node->rank > 1)
        group_add_loop(gr, 1, 1, false, false);
    for (int d = node->rank - 1; d >= 2; d--)
        if (box_extent(&node->box, d) <= FEW)
            group_add_loop(gr, d, 1, false, false);
    group_add_loop(gr, 0, lanes > 1 ? lanes : 2, false, true);
}

/* The loop before the rows; -1: there are no rows. */
static int piece_loop(const Group *gr)
{
    for (int i = gr->loop_count; i-- > 1;)
        if (gr->loops[i].dim == 1)
            return i - 1;
    return -1;
}

static int group_of_readers(const Varied *v, int s)
{
    const GraphNode *node = &v->g->nodes[s];
    while (node->out_count && v->d.choices[node->out[0]->consumer].where == WHERE_INLINE)
        node = &v->g->nodes[node->out[0]->consumer];
    return node->out_count ? v->d.choices[node->out[0]->consumer].group : -1;
}

/* Other sums are computed for each vector of their reader. */
static void place_sum(Varied *v, int s)
{
    const int group = group_of_readers(v, s);
    if (!draft_may_join(&v->d, s, group) || !v->d.groups[group].loop_count)
        return;
    const Choice *reader = &v->d.choices[v->g->nodes[s].out[0]->consumer];
    const int     level  = reader->where == WHERE_INSIDE ? reader->compute : v->d.groups[group].loop_count - 1;
    v->d.choices[s]      = (Choice){ .where = WHERE_INSIDE, .group = group, .compute = level, .store = level };
}

static bool try_join(Varied *v, int s)
{
    const Choice had   = v->d.choices[s];
    const int    group = group_of_readers(v, s);
    if (group < 0 || v->members[group] >= v->v->members || !draft_may_join(&v->d, s, group))
        return false;
    const int piece = piece_loop(&v->d.groups[group]);
    GroupCost cost;
    if (piece < 0)
        return false;
    v->d.choices[s] = (Choice){ .where   = WHERE_INSIDE,
                                .group   = group,
                                .compute = v->v->overlaps ? piece : piece + 1,
                                .store   = v->v->slides || v->v->overlaps ? piece : piece + 1 };
    cost_group(&v->d, group, v->m, v->costs, &cost);
    if (v->costs[s].points > most_again * v->costs[s].needed || cost.redundant > most_again) {
        v->d.choices[s] = had;
        return false;
    }
    v->members[group]++;
    return true;
}

Draft scheduler_varied(const Graph *g, const Machine *m, const SchedulerOptions *options, Arena *arena)
{
    const size_t n = (size_t)g->node_count + 1;
    Varied       v = { .g       = g,
                       .m       = m,
                       .v       = &variants[options->number >= 0 ? options->number % VARIANTS : 0],
                       .d       = draft_plain(g, m, options->without, arena),
                       .asked   = ARENA_ARRAY(arena, double, n),
                       .members = ARENA_ARRAY(arena, int, n),
                       .costs   = ARENA_ARRAY(arena, NodeCost, n) };
    choose_inlined(&v);
    for (int s = g->node_count; s-- > 0;) {
        if (v.d.choices[s].where == WHERE_DEFAULT && v.v->inlining != INLINE_NOTHING)
            place_sum(&v, s);
        else if (v.d.choices[s].where == WHERE_ROOT && g->nodes[s].kind != NODE_INPUT && !try_join(&v, s))
            make_loops(&v, s);
    }
    if (v.v->finished)
        draft_choose_micro_kernels(&v.d, m);
    draft_legalize(&v.d);
    return v.d;
}
