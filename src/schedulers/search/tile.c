/* SPDX-License-Identifier: MIT */
/* The best schedule of one group: shapes of tiles, and levels of members.
 *
 * Takes   nodes that are to be a group, in a draft where they are at root.
 * Gives   the group in the draft: loops of the head, a level for each member, and the cost by the common model.
 * Shapes  overlapped tiles for L1 and for L2 (Jangda and Bondhugula 2020, Algorithm 2), and tiles of two levels
 *         (Algorithm 4): outer strips, narrow enough that a window stays in the cache; inside them bands of rows. The
 *         paper's parallelogram tiles are sliding windows here: a band computes only new rows, and stored are the rows
 *         that are read again. Full-width strips with bands of one row usually win.
 * Levels  All members alike at first. Then, consumers first, each at its cheapest level: inlined (Algorithm 3, inside
 *         the cost), a row at a time, sliding, or a tile at a time. */
#include "schedulers/rules/rules.h"
#include "schedulers/search/tile_internal.h"

#include <math.h>
#include <stdlib.h>

TileSpace tile_space(Draft *d, const Machine *m, const SchedulerOptions *options, Arena *arena)
{
    const size_t n = (size_t)d->graph->node_count + 1;
    return (TileSpace){
        .d       = d,
        .g       = d->graph,
        .m       = m,
        .options = *options,
        .among   = ARENA_ARRAY(arena, int, n),
        .given   = ARENA_ARRAY(arena, bool, n),
        .member  = ARENA_ARRAY(arena, bool, n),
        .boxes   = ARENA_ARRAY(arena, Box, n),
        .kept    = ARENA_ARRAY(arena, Choice, n),
        .points  = ARENA_ARRAY(arena, double, n),
    };
}

/* ---- The group --------------------------------------------------------------------------- */

static Choice *choice_of(const TileSpace *t, int place)
{
    return &t->d->choices[t->nodes[place]];
}

void tile_ungroup(TileSpace *t, const int *nodes, int count)
{
    for (int i = 0; i < count; i++)
        t->d->choices[nodes[i]] = (Choice){ .where = WHERE_ROOT, .group = t->d->choices[nodes[count - 1]].group };
}

/* Consumers first. false: a node may not join. */
static bool put_together(TileSpace *t, int group)
{
    t->d->groups[group]         = (Group){ .head = t->head };
    *choice_of(t, t->count - 1) = (Choice){ .where = WHERE_ROOT, .group = group };
    for (int i = t->count - 2; i >= 0; i--) {
        if (!draft_may_join(t->d, t->nodes[i], group))
            return false;
        *choice_of(t, i) = (Choice){ .where = WHERE_INSIDE, .group = group };
    }
    return true;
}

static int by_number(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

/* The group, and all that is inlined into it. */
static void find_among(TileSpace *t)
{
    memcpy(t->among, t->nodes, (size_t)t->count * sizeof *t->among);
    t->among_count = t->count;
    for (int i = 0; i < t->count; i++)
        t->member[t->nodes[i]] = true;
    for (int i = 0; i < t->among_count; i++) {
        const GraphNode *node = &t->g->nodes[t->among[i]];
        for (int k = 0; k < node->in_count; k++) {
            const int p = node->in[k]->producer;
            if (t->member[p] || t->d->choices[p].where != WHERE_INLINE)
                continue;
            t->member[p]               = true;
            t->among[t->among_count++] = p;
        }
    }
    for (int i = 0; i < t->among_count; i++)
        t->member[t->among[i]] = false;
    qsort(t->among, (size_t)t->among_count, sizeof *t->among, by_number);
}

/* ---- Loops ------------------------------------------------------------------------------- */

/* Indices into a head's loops; -1: there is no such loop. */
typedef struct Places {
    int tile;  /* the innermost loop over outer tiles */
    int band;  /* over bands, or else over rows */
    int plane; /* the innermost loop around the vectors that is not the band's */
    int last;  /* over vectors */
} Places;

static bool has_all_loops(const Group *gr, int dim)
{
    for (int i = 0; i < gr->loop_count; i++)
        if (gr->loops[i].dim == dim && gr->loops[i].step == 1)
            return true;
    return false;
}

/* Outer tiles; inside them bands, rows, the other dimensions, vectors. */
static Places make_loops(const TileSpace *t, Group *gr, const TileShape *shape)
{
    const GraphNode *node  = &t->g->nodes[t->head];
    const int        lanes = draft_lanes(t->d, t->head);
    Places           at    = { -1, -1, -1, -1 };
    gr->loop_count         = 0;
    for (int d = node->rank - 1; d >= 0; d--) {
        const int64_t size = d ? shape->size[d] : (shape->size[0] + lanes - 1) / lanes * lanes;
        if (size < box_extent(&node->box, d) ||
            (d == 1 && shape->band && !gr->loop_count && size == box_extent(&node->box, d)))
            at.tile = group_add_loop(gr, d, size, true, false);
    }
    if (node->rank > 1 && shape->band > 1 && shape->band < shape->size[1])
        at.band = group_add_loop(gr, 1, shape->band, false, false);
    if (node->rank > 1 && !has_all_loops(gr, 1))
        at.plane = group_add_loop(gr, 1, 1, false, false);
    at.band = at.band < 0 ? at.plane : at.band;
    for (int d = node->rank - 1; d >= 2; d--)
        if (!has_all_loops(gr, d))
            at.plane = group_add_loop(gr, d, 1, false, false);
    at.last = group_add_loop(gr, 0, lanes, false, true);
    return at;
}

/* ---- Levels ------------------------------------------------------------------------------ */

/* Does one reader read it, at its own points? If that reader is inlined, the same must hold for it. */
static bool is_read_in_place(const Draft *d, int s)
{
    const GraphNode *node = &d->graph->nodes[s];
    return node->out_count == 1 && node->out[0]->pointwise && node->out[0]->update < 0 &&
           (d->choices[node->out[0]->consumer].where != WHERE_INLINE || is_read_in_place(d, node->out[0]->consumer));
}

/* Is it a sum at the points of its one reader? */
static bool is_beside(const Draft *d, int s)
{
    return d->graph->nodes[s].kind == NODE_REDUCTION && is_read_in_place(d, s);
}

/* The innermost loop that encloses all readers of s in the group. */
static int around_readers(const TileSpace *t, int s, int innermost)
{
    const GraphNode *node = &t->g->nodes[s];
    int              most = innermost;
    for (int k = 0; k < node->out_count; k++) {
        const int     reader = node->out[k]->consumer;
        const Choice *c      = &t->d->choices[reader];
        const int     around = c->where == WHERE_INLINE   ? around_readers(t, reader, innermost)
                               : c->where == WHERE_INSIDE ? c->compute
                                                          : innermost;
        most                 = around < most ? around : most;
    }
    return most;
}

/* Moves members outward until they enclose their readers. */
static void follow_readers(const TileSpace *t, const Places *at)
{
    for (int i = t->count - 2; i >= 0; i--) {
        Choice *c = choice_of(t, i);
        if (c->where != WHERE_INSIDE)
            continue;
        const int most = around_readers(t, t->nodes[i], at->last);
        c->compute     = c->compute < most ? c->compute : most;
        c->store       = c->store < c->compute ? c->store : c->compute;
        c->compute     = t->g->nodes[t->nodes[i]].kind == NODE_SCAN ? c->store : c->compute;
    }
}

static double points_in(const TileSpace *t, int place)
{
    return (double)box_points(&t->boxes[t->nodes[place]], t->g->nodes[t->nodes[place]].rank);
}

/* A row that no later row reads is stored where it is computed. */
static void store_inside(TileSpace *t, const TileShape *shape, const Places *at)
{
    int64_t window[KN_MAX_RANK];
    memcpy(window, shape->size, sizeof window);
    window[1] = shape->band < window[1] ? shape->band : window[1];
    tile_boxes(t, shape->size);
    for (int i = 0; i + 1 < t->count; i++)
        t->points[i] = points_in(t, i) * (double)window[1] / (double)shape->size[1];
    tile_boxes(t, window);
    for (int i = 0; i + 1 < t->count; i++)
        choice_of(t, i)->store = points_in(t, i) <= NO_REUSE * t->points[i] ? at->band : at->tile < 0 ? 0 : at->tile;
}

/* Gives all members the same levels. */
static void place_all(TileSpace *t, const TileShape *shape, const Places *at)
{
    const bool slides = shape->band && at->band > at->tile;
    for (int i = 0; i + 1 < t->count; i++) {
        Choice *c  = choice_of(t, i);
        c->where   = WHERE_INSIDE;
        c->store   = at->tile < 0 ? 0 : at->tile;
        c->compute = slides ? at->band : c->store;
    }
    if (slides)
        store_inside(t, shape, at);
    for (int i = 0; i + 1 < t->count; i++)
        if (is_beside(t->d, t->nodes[i]))
            choice_of(t, i)->compute = choice_of(t, i)->store = at->last;
    follow_readers(t, at);
}

/* ---- Costs ------------------------------------------------------------------------------- */

/* The member whose sums the rule will have next to the head's vectors, several vectors at a time; -1: there is none. */
static int wide_sum(const TileSpace *t)
{
    const Rule *rule = &draft_rules[RULE_SUMS_BY_VECTORS];
    for (int i = t->count - 2; i >= 0 && draft_has_rule(t->d, RULE_SUMS_BY_VECTORS); i--) {
        const int s = t->nodes[i];
        if (is_beside(t->d, s) && t->g->nodes[s].out[0]->consumer == t->head && rule->applies(t->d, t->m, s) &&
            sum_lanes(t->d, s) > draft_lanes(t->d, s))
            return s;
    }
    return -1;
}

/* The cost of the group as the rule for sums will have it: vectors share the work of a step, which may be most of it. */
static double cost_now(const TileSpace *t)
{
    const int group = choice_of(t, t->count - 1)->group, s = wide_sum(t);
    if (s < 0)
        return cost_group_quick(t->d, group, t->m);
    const Choice plain = t->d->choices[s];
    const Group  loops = t->d->groups[group];
    draft_rules[RULE_SUMS_BY_VECTORS].apply(t->d, t->m, s);
    const double ns     = cost_group_quick(t->d, group, t->m);
    t->d->choices[s]    = plain;
    t->d->groups[group] = loops;
    return ns;
}

static void keep_choices(const TileSpace *t)
{
    for (int i = 0; i < t->count; i++)
        t->kept[i] = *choice_of(t, i);
}

static void restore_choices(const TileSpace *t)
{
    for (int i = 0; i < t->count; i++)
        *choice_of(t, i) = t->kept[i];
}

/* Does each tile need nearly all of a member? Then the member is better at root. */
static bool is_all_of_one(TileSpace *t, const TileShape *shape)
{
    const GraphNode *head  = &t->g->nodes[t->head];
    bool             whole = true;
    for (int d = 0; d < head->rank; d++)
        whole &= shape->size[d] >= box_extent(&head->box, d);
    tile_boxes(t, shape->size);
    for (int i = 0; i + 1 < t->count && !whole; i++) {
        const GraphNode *node = &t->g->nodes[t->nodes[i]];
        if (points_in(t, i) > NEARLY_ALL * (double)box_points(&node->box, node->rank))
            return true;
    }
    return false;
}

static double shape_cost(TileSpace *t, Group *gr, const TileShape *shape, Places *at)
{
    *at = make_loops(t, gr, shape);
    if (is_all_of_one(t, shape))
        return INFINITY;
    place_all(t, shape, at);
    return cost_now(t);
}

/* ---- Shapes ------------------------------------------------------------------------------ */

typedef struct Best {
    double    cost;
    TileShape shape;
} Best;

/* Keeps the earlier shape unless this one is clearly better: the model is no more accurate. Splitting rows has to be
 * much better than whole rows: each start of a row loses the hardware prefetch (harris in tiles 768 wide instead of
 * 1530: 11.2 ms instead of 9.2). */
static void try_shape(TileSpace *t, Group *gr, const TileShape *shape, Best *best)
{
    Places       at;
    const double cost = shape_cost(t, gr, shape, &at);
    if (cost < (shape->size[0] < best->shape.size[0] ? TILE_MUCH_BETTER : TILE_BETTER) * best->cost)
        *best = (Best){ cost, *shape };
}

/* The height that makes `tasks` tasks per core of at least LEAST_TASK points each. It is rounded, so that members at
 * half the resolution have whole strips too. */
static int64_t strip_height(const TileSpace *t, const TileShape *shape, int tasks)
{
    const GraphNode *head  = &t->g->nodes[t->head];
    const int64_t    rows  = box_extent(&head->box, 1);
    int64_t          outer = 1, row = 1;
    for (int d = 0; d < head->rank; d++) {
        outer *= d > 1 ? (box_extent(&head->box, d) + shape->size[d] - 1) / shape->size[d] : 1;
        row *= d != 1 ? shape->size[d] : 1;
    }
    const int64_t strips = ((int64_t)tasks * t->m->cores + outer - 1) / outer,
                  least  = TILE_LEAST_TASK / (row > 0 ? row : 1);
    int64_t height       = rows / strips;
    if (strips <= 1)
        return rows;
    height             = height < least ? least : height;
    const int64_t unit = height >= 64 ? 32 : height >= 16 ? 8 : height >= 4 ? 4 : 1;
    height             = height / unit * unit;
    return height < 1 ? 1 : height > rows ? rows : height;
}

/* All planes inside the rows, or one plane at a time. */
static TileShape strips(const TileSpace *t, int tasks, int64_t band, bool planes_inside)
{
    const GraphNode *head  = &t->g->nodes[t->head];
    TileShape        shape = { .band = band };
    for (int d = 0; d < head->rank; d++)
        shape.size[d] = d > 1 && !planes_inside ? 1 : box_extent(&head->box, d);
    shape.size[1] = strip_height(t, &shape, tasks);
    shape.band    = band < shape.size[1] ? band : shape.size[1];
    return shape;
}

/* Rows of the head per row of its coarsest member, a power of two. */
static int64_t rows_of_coarsest(const TileSpace *t)
{
    const int64_t rows = box_extent(&t->g->nodes[t->head].box, 1);
    int64_t       most = 1;
    for (int i = 0; i + 1 < t->count; i++) {
        const GraphNode *node = &t->g->nodes[t->nodes[i]];
        while (node->rank > 1 && most < TILE_MOST_BAND && box_extent(&node->box, 1) * most * 3 / 2 < rows)
            most *= 2;
    }
    return most;
}

/* Does a member, or what is read, depend on the plane? */
static bool has_planes(const TileSpace *t)
{
    return t->g->nodes[t->head].rank > 2 && tile_planes(&t->g->nodes[t->head]) > 1;
}

static void try_strips(TileSpace *t, Group *gr, int tasks, int64_t band, bool planes_inside, double cache, Best *best)
{
    TileShape shape = strips(t, tasks, band, planes_inside);
    shape.size[0]   = t->count > 1 ? tile_fit_width(t, &shape, cache) : shape.size[0];
    try_shape(t, gr, &shape, best);
}

static void try_two_levels(TileSpace *t, Group *gr, TileEffort effort, Best *best)
{
    const double  l1 = (double)t->m->l1, l2 = machine_kept_l2(t->m);
    const int64_t coarsest = rows_of_coarsest(t);
    const bool    few      = tile_planes(&t->g->nodes[t->head]) <= TILE_FEW_PLANES;
    try_strips(t, gr, TILE_TASKS, 1, few, l2, best);
    if (coarsest > 1)
        try_strips(t, gr, TILE_TASKS, coarsest, few, l2, best);
    if (few && has_planes(t) && t->count > 1)
        try_strips(t, gr, TILE_TASKS, 1, false, l2, best);
    if (effort == TILE_QUICK)
        return;
    for (int64_t band = 1; band <= TILE_MOST_BAND && t->count > 1; band *= 2) {
        try_strips(t, gr, TILE_TASKS, band, few, l1, best);
        try_strips(t, gr, TILE_TASKS, band, few, l2, best);
        try_strips(t, gr, TILE_TASKS, band, few, INFINITY, best);
        if (few && has_planes(t))
            try_strips(t, gr, TILE_TASKS, band, false, l2, best);
    }
    const TileShape found = best->shape;
    for (int tasks = 2; tasks <= 4 * TILE_TASKS && found.band; tasks *= 2) {
        TileShape shape = found;
        shape.size[1]   = strip_height(t, &shape, tasks);
        shape.band      = shape.band < shape.size[1] ? shape.band : shape.size[1];
        try_shape(t, gr, &shape, best);
    }
}

/* One slice of a dimension at a time, the rest whole. Where all members carry that dimension through (slice_groups.h)
 * nothing is redundant, and the working set is one slice. */
static void try_slices(TileSpace *t, Group *gr, int64_t least, Best *best)
{
    const GraphNode *head = &t->g->nodes[t->head];
    for (int dim = 2; dim < head->rank; dim++) {
        TileShape shape = { .band = 0 };
        for (int d = 0; d < head->rank; d++)
            shape.size[d] = d == dim ? 1 : box_extent(&head->box, d);
        if (box_extent(&head->box, dim) >= least)
            try_shape(t, gr, &shape, best);
    }
}

/* One-dimensional heads: chunks. */
static void try_chunks(TileSpace *t, Group *gr, Best *best)
{
    const int64_t all = box_extent(&t->g->nodes[t->head].box, 0);
    for (int tasks = 1; tasks <= 4 * TILE_TASKS; tasks *= 2) {
        TileShape shape = { .size = { all / ((int64_t)tasks * t->m->cores) } };
        shape.size[0]   = shape.size[0] < TILE_LEAST_TASK / 2 ? TILE_LEAST_TASK / 2 : shape.size[0];
        shape.size[0]   = shape.size[0] > all ? all : shape.size[0];
        try_shape(t, gr, &shape, best);
    }
}

/* ---- Each member where it is best --------------------------------------------------------- */

/* Points of a node that its readers read, each once. */
static double asked_for(const Draft *d, int s)
{
    const Graph *g   = d->graph;
    double       all = 0;
    for (int k = 0; k < g->nodes[s].out_count; k++) {
        const Edge *e = g->nodes[s].out[k];
        all += e->accesses * (d->choices[e->consumer].where == WHERE_INLINE
                                  ? asked_for(d, e->consumer)
                                  : g->nodes[e->consumer].defs[e->update + 1].points);
    }
    return all;
}

/* Is it a few operations on one element? For a gathered read the load dominates, so that recomputing is free. */
static bool is_of_one(const GraphNode *node)
{
    bool gathered = false;
    for (int i = 0; i < node->out_count; i++)
        gathered |= node->out[i]->gathers;
    const bool single = node->def_count == 1 && node->in_count == 1 && node->in[0]->pointwise;
    return gathered && single && node->defs[0].ops <= TILE_FEW_OPS;
}

bool tile_may_inline(const Draft *d, int s)
{
    const GraphNode *node = &d->graph->nodes[s];
    for (int k = 1; k < node->def_count; k++)
        if (node->defs[k].steps > TILE_MOST_STEPS)
            return false;
    return draft_may_inline(d, s) &&
           (is_of_one(node) ||
            asked_for(d, s) <= TILE_MOST_TIMES * (node->defs[0].points > 1 ? node->defs[0].points : 1));
}

/* Changes one member, and keeps the change if it is worth it. */
static void try_choice(TileSpace *t, const Places *at, int place, Choice with, double *cost)
{
    *choice_of(t, place) = with;
    follow_readers(t, at);
    const double now = cost_now(t);
    if (now < TILE_BETTER_CHOICE * *cost) {
        *cost = now;
        keep_choices(t);
    } else {
        restore_choices(t);
    }
}

static void place_each(TileSpace *t, const Places *at, double *cost)
{
    const int tile = at->tile < 0 ? 0 : at->tile, levels[] = { tile, at->band, at->plane, at->last };
    keep_choices(t);
    for (int i = t->count - 2; i >= 0; i--) {
        const Choice was = *choice_of(t, i);
        for (int k = 0; k < (is_beside(t->d, t->nodes[i]) ? 4 : 3); k++) {
            if (levels[k] < 0 || (t->options.no_two_levels && levels[k] != tile && levels[k] != at->last))
                continue;
            try_choice(t, at, i,
                       (Choice){ .where = WHERE_INSIDE, .group = was.group, .compute = levels[k], .store = levels[k] },
                       cost);
            if (levels[k] > tile && !t->options.no_two_levels)
                try_choice(t, at, i,
                           (Choice){ .where = WHERE_INSIDE, .group = was.group, .compute = levels[k], .store = tile },
                           cost);
        }
        if (!t->options.no_inlining && tile_may_inline(t->d, t->nodes[i]))
            try_choice(t, at, i, (Choice){ .where = WHERE_INLINE, .group = was.group }, cost);
    }
}

/* ---- The best ---------------------------------------------------------------------------- */

/* A scan does not slide: a tile stores all that it needs of it. So only tiles that fit are any good. */
static bool holds_scan(const TileSpace *t)
{
    for (int i = 0; i + 1 < t->count; i++)
        if (t->g->nodes[t->nodes[i]].kind == NODE_SCAN)
            return true;
    return false;
}

static Best find_shape(TileSpace *t, Group *gr, TileEffort effort)
{
    const int rank = t->g->nodes[t->head].rank;
    Best      best = { .cost = INFINITY };
    if (t->options.plain_cost) {
        best.cost = tile_plain_cost(t, &best.shape);
        return best;
    }
    if (effort == TILE_SLICES) {
        try_slices(t, gr, t->m->cores, &best);
        return best;
    }
    if (rank > 1 && !t->options.no_two_levels && !holds_scan(t))
        try_two_levels(t, gr, effort, &best);
    if (t->count > 1 && draft_has_rule(t->d, RULE_SLICES))
        try_slices(t, gr, 2 * (int64_t)t->m->cores, &best);
    if (rank > 1 && (t->count > 1 || t->options.no_two_levels || effort == TILE_THOROUGH)) {
        const TileShape l2 = tile_for_cache(t, machine_kept_l2(t->m));
        try_shape(t, gr, &l2, &best);
    }
    if (rank > 1 && (t->options.no_two_levels || effort == TILE_THOROUGH)) {
        const TileShape l1 = tile_for_cache(t, (double)t->m->l1);
        try_shape(t, gr, &l1, &best);
    }
    TileShape  least;
    const bool tries_overlap = rank > 1 && t->count > 1 && (effort == TILE_THOROUGH || holds_scan(t));
    if (tries_overlap && tile_least_overlap(t, machine_kept_l2(t->m), &least))
        try_shape(t, gr, &least, &best);
    if (rank == 1)
        try_chunks(t, gr, &best);
    return best;
}

double tile_group(TileSpace *t, const int *nodes, int count, int group, TileEffort effort, bool *hopeless)
{
    Group *gr                 = &t->d->groups[group];
    t->nodes                  = nodes;
    t->count                  = count;
    t->head                   = nodes[count - 1];
    const GraphNode *node     = &t->g->nodes[t->head];
    const bool       together = put_together(t, group),
               loops          = draft_main(t->d, t->head) != NO_DEF && box_points(&node->box, node->rank);
    if (hopeless)
        *hopeless = !together || !loops;
    if (!together || (!loops && count > 1)) {
        tile_ungroup(t, nodes, count);
        return INFINITY;
    }
    if (!loops)
        return cost_now(t);
    find_among(t);
    gr->stream = cost_streams(t->d, t->head, t->m);
    Best best  = find_shape(t, gr, effort);
    if (best.cost == INFINITY) {
        tile_ungroup(t, nodes, count);
        return INFINITY;
    }
    const Places at = make_loops(t, gr, &best.shape);
    place_all(t, &best.shape, &at);
    if (effort == TILE_THOROUGH && !t->options.plain_cost)
        place_each(t, &at, &best.cost);
    return best.cost;
}
