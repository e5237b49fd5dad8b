/* SPDX-License-Identifier: MIT */
/* The schedulers `plain` and `strips`.
 *
 * `strips` is a rule of thumb: what experts write first for images. Nodes are visited consumers first. A node whose
 * readers are all in one group joins it, if little is redundant; any other node is the head of a new group. Strips of
 * a head's rows are the tasks. Inside a strip a member is computed a row at a time, just before it is read; rows that
 * are read again stay stored (a sliding window). Nodes that are read at their reader's own points are inlined. Short
 * sums are unrolled; long ones are computed vector by vector.
 *
 * Strips are as high as leaves TILE_TASKS tasks for each core, because sliding windows start anew in each strip. */
#include "schedulers/graph/def_facts.h"
#include "schedulers/search/schedulers.h"
#include "schedulers/search/tile_internal.h"

typedef struct Strips {
    const Graph   *g;
    const Machine *m;
    Draft          d;
    bool          *given, *member; /* for graph_regions */
    Box           *boxes, *row;
} Strips;

Draft scheduler_plain(const Graph *g, const Machine *m, const SchedulerOptions *options, Arena *arena)
{
    Draft d = draft_plain(g, m, options->without, arena);
    draft_choose_micro_kernels(&d, m);
    draft_legalize(&d);
    return d;
}

static double node_ops(const GraphNode *node)
{
    double ops = 0;
    for (int k = 0; k < node->def_count; k++)
        ops += (node->defs[k].ops + 1) * node->defs[k].points;
    return ops;
}

/* ---- Heads ------------------------------------------------------------------------------ */

/* The height that makes TILE_TASKS tasks per core, or fewer with TILE_LEAST_TASK points each. It is rounded, so that
 * members at half the resolution have whole strips too. */
static int64_t strip_height(const Strips *s, const GraphNode *node, int64_t outer)
{
    const int64_t strips = (TILE_TASKS * s->m->cores + outer - 1) / outer, rows = box_extent(&node->box, 1);
    const int64_t per_row = box_points(&node->box, node->rank) / (outer * (rows > 0 ? rows : 1));
    const int64_t least   = TILE_LEAST_TASK / (per_row > 0 ? per_row : 1);
    int64_t       height  = rows / (strips > 0 ? strips : 1);
    height                = height < least ? least : height;
    height                = height > STRIP_MOST_ROWS ? STRIP_MOST_ROWS : height;
    const int64_t unit    = height >= 64 ? STRIP_UNIT : height >= 16 ? 8 : height >= 4 ? 4 : 1;
    return height < 1 ? 1 : height / unit * unit;
}

/* [planes] strips, rows, [few planes], vectors along x. A one-dimensional head is split into chunks. */
static void make_head(Strips *s, int at)
{
    const GraphNode *node  = &s->g->nodes[at];
    Group           *gr    = &s->d.groups[s->d.choices[at].group];
    const int        lanes = draft_lanes(&s->d, at);
    const bool       few   = tile_planes(node) <= TILE_FEW_PLANES;
    if (draft_main(&s->d, at) == NO_DEF || node->kind == NODE_EXTERN)
        return;
    gr->stream = cost_streams(&s->d, at, s->m);
    if (node->rank == 1) {
        const int64_t chunk = box_extent(&node->box, 0) / (TILE_TASKS * s->m->cores) / lanes * lanes;
        if (chunk >= STRIP_LEAST_CHUNK)
            group_add_loop(gr, 0, chunk, true, false);
        group_add_loop(gr, 0, lanes, false, true);
        return;
    }
    for (int d = node->rank - 1; d >= 2 && !few; d--)
        group_add_loop(gr, d, 1, true, false);
    group_add_loop(gr, 1, strip_height(s, node, few ? 1 : tile_planes(node)), true, false);
    group_add_loop(gr, 1, 1, false, false);
    for (int d = node->rank - 1; d >= 2 && few; d--)
        group_add_loop(gr, d, 1, false, false);
    group_add_loop(gr, 0, lanes, false, true);
}

/* The loop over strips, with the loop over rows inside it; -1: there is none. */
static int strip_loop(const Group *gr)
{
    for (int i = 0; i + 1 < gr->loop_count; i++)
        if (gr->loops[i].dim == 1 && gr->loops[i + 1].dim == 1)
            return i;
    return -1;
}

/* ---- Members ---------------------------------------------------------------------------- */

/* The footprint of a piece of the head in all nodes of the group: `rows` rows in the middle, and one of the outer
 * planes. */
static void piece_boxes(Strips *s, const Group *gr, int group, int64_t rows, Box *boxes)
{
    const int strip = strip_loop(gr);
    Box       head  = s->g->nodes[gr->head].box;
    for (int i = 0; i < strip; i++)
        head.max[gr->loops[i].dim] = head.min[gr->loops[i].dim];
    const int64_t middle = head.min[1] + box_extent(&head, 1) / 2 / gr->loops[strip].step * gr->loops[strip].step;
    head.min[1]          = middle;
    head.max[1]          = middle + rows - 1;
    for (int i = 0; i < s->g->node_count; i++) {
        s->given[i]  = i == gr->head;
        s->member[i] = s->d.choices[i].where == WHERE_INLINE ||
                       (s->d.choices[i].where == WHERE_INSIDE && s->d.choices[i].group == group);
    }
    boxes[gr->head] = head;
    graph_regions(s->g, s->given, s->member, boxes);
}

static double pieces_of(const Strips *s, const Group *gr)
{
    const GraphNode *head  = &s->g->nodes[gr->head];
    const int        strip = strip_loop(gr);
    const int64_t    step  = gr->loops[strip].step;
    double           count = (double)((box_extent(&head->box, 1) + step - 1) / step);
    for (int i = 0; i < strip; i++)
        count *= (double)box_extent(&head->box, gr->loops[i].dim);
    return count;
}

/* The fraction of the group's work that is redundant. */
static double redundancy(const Strips *s, const Group *gr, int group)
{
    double needed = node_ops(&s->g->nodes[gr->head]), done = needed;
    for (int i = 0; i < s->g->node_count; i++) {
        const GraphNode *node = &s->g->nodes[i];
        const double     root = (double)box_points(&node->box, node->rank);
        if (s->d.choices[i].group != group || s->d.choices[i].where != WHERE_INSIDE || root < 1)
            continue;
        const double times = (double)box_points(&s->boxes[i], node->rank) * pieces_of(s, gr) / root;
        needed += node_ops(node);
        done += node_ops(node) * (times > 1 ? times : 1);
    }
    return done / needed - 1;
}

/* Bytes of the rows of all members that are live in a strip; a node of a chain stores few (micro_chains.c). */
static double rows_held(const Strips *s, int group)
{
    double bytes = 0;
    for (int i = 0; i < s->g->node_count; i++) {
        const GraphNode *node = &s->g->nodes[i];
        if (s->d.choices[i].group != group || s->d.choices[i].where != WHERE_INSIDE)
            continue;
        const int64_t points = box_points(&s->row[i], node->rank),
                      most   = draft_may_chain(&s->d, i) ? CHAIN_ROWS * box_extent(&s->row[i], 0) : points;
        bytes += (double)((points < most ? points : most) * node->bytes);
    }
    return bytes;
}

/* Is the row of the member that one row of the head reads long enough for vectors? */
static bool has_rows(const Strips *s, int at)
{
    const GraphNode *node = &s->g->nodes[at];
    return node->rank == 0 || box_extent(&s->row[at], 0) >= 16 ||
           box_extent(&s->row[at], 0) == box_extent(&node->box, 0);
}

/* The group of its readers, by the first one; an inlined reader stands for its own readers. */
static int group_of_readers(const Strips *s, int at)
{
    const Edge *e = s->g->nodes[at].out_count ? s->g->nodes[at].out[0] : NULL;
    while (e && s->d.choices[e->consumer].where == WHERE_INLINE)
        e = s->g->nodes[e->consumer].out[0];
    return e ? s->d.choices[e->consumer].group : -1;
}

/* Puts the node into the group of its readers, if that is legal and worth it. */
static bool join(Strips *s, int at)
{
    const Choice had   = s->d.choices[at];
    const int    group = group_of_readers(s, at);
    if (group < 0 || !draft_may_join(&s->d, at, group))
        return false;
    const Group     *gr    = &s->d.groups[group];
    const GraphNode *node  = &s->g->nodes[at];
    const int        strip = strip_loop(gr);
    if (strip < 0)
        return false;
    s->d.choices[at] = (Choice){ .where = WHERE_INSIDE, .group = group, .compute = strip + 1, .store = strip };
    piece_boxes(s, gr, group, 1, s->row);
    piece_boxes(s, gr, group, gr->loops[strip].step, s->boxes);
    const double per_row   = (double)box_points(&s->row[at], node->rank),
                 per_strip = (double)box_points(&s->boxes[at], node->rank);
    const double own       = per_strip * pieces_of(s, gr) / (double)box_points(&node->box, node->rank) - 1;
    const bool   whole     = per_strip >= NEARLY_ALL * (double)box_points(&node->box, node->rank);
    const bool   redundant = own > STRIP_MOST_OWN || redundancy(s, gr, group) > STRIP_MOST_REDUNDANT;
    if (whole || redundant || !has_rows(s, at) || rows_held(s, group) > machine_kept_l2(s->m)) {
        s->d.choices[at] = had;
        return false;
    }
    if (per_row * (double)gr->loops[strip].step <= NO_REUSE * per_strip)
        s->d.choices[at].store = strip + 1; /* no row is read twice */
    return true;
}

/* A long chain of stencils gets strips as high as leaves every core some, because each node adds to the halo. */
static bool join_higher(Strips *s, int at)
{
    const int group = group_of_readers(s, at), strip = group < 0 ? -1 : strip_loop(&s->d.groups[group]);
    if (strip < 0 || !draft_may_chain(&s->d, at))
        return false;
    GroupLoop    *loop = &s->d.groups[group].loops[strip];
    const int64_t had = loop->step, most = box_extent(&s->g->nodes[s->d.groups[group].head].box, 1) /
                                           (STRIP_LEAST_TASKS * s->m->cores) / STRIP_UNIT * STRIP_UNIT;
    if (most <= had)
        return false;
    loop->step = most;
    if (join(s, at))
        return true;
    loop->step = had;
    return false;
}

static bool try_join(Strips *s, int at)
{
    return join(s, at) || join_higher(s, at);
}

/* ---- Sums and small things ---------------------------------------------------------------- */

bool scheduler_short_sum(const Draft *d, int s)
{
    int64_t steps = 0;
    for (int k = 0; k < d->graph->nodes[s].func->update_count; k++)
        steps += d->facts[s].defs[k + 1].steps ? d->facts[s].defs[k + 1].steps : INT32_MAX;
    return draft_may_inline(d, s) && steps <= SHORT_SUM;
}

/* A reduction at the points of its one reader: unrolled if it is short, else computed for each vector of the reader. */
static void place_reduction(Strips *s, int at)
{
    const Edge *e     = s->g->nodes[at].out[0];
    const int   group = group_of_readers(s, at);
    if (scheduler_short_sum(&s->d, at)) {
        s->d.choices[at] = (Choice){ .where = WHERE_INLINE, .group = group };
        return;
    }
    if (!draft_may_join(&s->d, at, group) || !s->d.groups[group].loop_count)
        return;
    const Choice *reader = &s->d.choices[e->consumer];
    const int     level  = reader->where == WHERE_INSIDE ? reader->compute : s->d.groups[group].loop_count - 1;
    s->d.choices[at]     = (Choice){ .where = WHERE_INSIDE, .group = group, .compute = level, .store = level };
}

static void place(Strips *s, int at)
{
    const GraphNode *node = &s->g->nodes[at];
    if (node->kind == NODE_INPUT || s->d.choices[at].where == WHERE_INLINE)
        return;
    if (s->d.choices[at].where == WHERE_DEFAULT)
        place_reduction(s, at);
    else if (!try_join(s, at))
        make_head(s, at);
}

Draft scheduler_strips(const Graph *g, const Machine *m, const SchedulerOptions *options, Arena *arena)
{
    const size_t n = (size_t)g->node_count + 1;
    Strips       s = { .g      = g,
                       .m      = m,
                       .d      = draft_plain(g, m, options->without, arena),
                       .given  = ARENA_ARRAY(arena, bool, n),
                       .member = ARENA_ARRAY(arena, bool, n),
                       .boxes  = ARENA_ARRAY(arena, Box, n),
                       .row    = ARENA_ARRAY(arena, Box, n) };
    for (int at = g->node_count; at-- > 0;)
        place(&s, at);
    draft_choose_micro_kernels(&s.d, m);
    draft_legalize(&s.d);
    draft_apply_rules(&s.d, m, RULES_SHARED);
    return s.d;
}
