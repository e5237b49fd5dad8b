/* SPDX-License-Identifier: MIT */
/* Edits of drafts: a row for each kind (moves.h), with a function that lists the edits of a draft and one that makes
 * one.
 *
 * Holds   Levels of members are indices of the head's loops, so that an edit that adds or removes a loop moves them
 *         along. What is not legal afterwards is up to draft_legalize. */
#include "schedulers/tune/moves.h"

#include "schedulers/draft/draft_legal.h"
#include "schedulers/draft/pattern.h"

typedef struct List {
    const Draft *d;
    MoveList     moves;
} List;

void moves_add(MoveList *l, MoveKind kind, int site, int loop, int dim, int by)
{
    if (l->count < l->room)
        l->at[l->count++] = (Move){ kind, site, loop, dim, by };
}

static void add_both(List *l, MoveKind kind, int site, int loop, int dim)
{
    moves_add(&l->moves, kind, site, loop, dim, 1);
    moves_add(&l->moves, kind, site, loop, dim, -1);
}

static int64_t scaled(int64_t value, int by)
{
    return by > 0 ? 2 * value : value > 1 ? value / 2 : 1;
}

/* ---- Loops of heads ---------------------------------------------------------------------- */

/* Moves the levels of the members of a group, from that loop on. */
static void shift_levels(Draft *d, int group, int from, int by)
{
    for (int s = 0; s < d->graph->node_count; s++) {
        Choice *c = &d->choices[s];
        if (c->where != WHERE_INSIDE || c->group != group || c->at)
            continue;
        c->compute += c->compute >= from ? by : 0;
        c->store += c->store >= from ? by : 0;
    }
    d->groups[group].prefetch_loop += d->groups[group].prefetch_loop >= from ? by : 0;
}

static void insert_loop(Draft *d, int group, int at, GroupLoop loop)
{
    Group *gr = &d->groups[group];
    if (gr->loop_count == MOST_GROUP_LOOPS)
        return;
    memmove(&gr->loops[at + 1], &gr->loops[at], sizeof *gr->loops * (size_t)(gr->loop_count++ - at));
    gr->loops[at] = loop;
    shift_levels(d, group, at, 1);
}

static void remove_loop(Draft *d, int group, int at)
{
    Group     *gr  = &d->groups[group];
    const bool was = gr->loops[at].parallel;
    memmove(&gr->loops[at], &gr->loops[at + 1], sizeof *gr->loops * (size_t)(--gr->loop_count - at));
    if (was && at < gr->loop_count)
        gr->loops[at].parallel = true;
    shift_levels(d, group, at + 1, -1);
}

static bool is_last_of_dim(const Group *gr, int loop)
{
    for (int i = loop + 1; i < gr->loop_count; i++)
        if (gr->loops[i].dim == gr->loops[loop].dim)
            return false;
    return true;
}

static int loops_of_dim(const Group *gr, int dim)
{
    int count = 0;
    for (int i = 0; i < gr->loop_count; i++)
        count += gr->loops[i].dim == dim;
    return count;
}

static void list_loops(List *l, int group)
{
    const Group *gr = &l->d->groups[group];
    for (int i = 0; i < gr->loop_count; i++) {
        const GroupLoop *loop = &gr->loops[i];
        const bool       last = is_last_of_dim(gr, i);
        if (loop->vector)
            add_both(l, MOVE_VECTOR, group, i, -1);
        else if (!last)
            add_both(l, MOVE_TILE, group, i, loop->dim);
        if (!last)
            moves_add(&l->moves, MOVE_JOIN_LOOPS, group, i, loop->dim, 0);
        if (!loop->vector)
            moves_add(&l->moves, MOVE_PARALLEL, group, i, loop->dim, loop->parallel ? -1 : 1);
        if (last && !loop->vector)
            moves_add(&l->moves, MOVE_UNROLL, group, i, loop->dim, loop->unroll ? -1 : 1);
        if (i + 1 < gr->loop_count && gr->loops[i + 1].dim != loop->dim)
            moves_add(&l->moves, MOVE_SWAP, group, i, loop->dim, 0);
        if (loops_of_dim(gr, loop->dim) < 3)
            for (int step = 4; step <= 256; step *= 4)
                moves_add(&l->moves, MOVE_SPLIT, group, i, loop->dim, step);
    }
}

static void list_group(List *l, int group)
{
    const Draft *d  = l->d;
    const Group *gr = &d->groups[group];
    if (draft_main(d, gr->head) == NO_DEF || d->patterns[gr->head].kind)
        return;
    list_loops(l, group);
    moves_add(&l->moves, MOVE_DEFAULT_LOOPS, group, 0, -1, gr->loop_count ? -1 : 1);
    if (gr->loop_count && d->graph->nodes[gr->head].is_output)
        moves_add(&l->moves, MOVE_STREAM, group, 0, -1, gr->stream ? -1 : 1);
    if (gr->prefetched) {
        add_both(l, MOVE_PREFETCH, group, 0, -1);
        moves_add(&l->moves, MOVE_PREFETCH, group, 0, -1, 0);
    }
}

static void tile(Draft *d, const Machine *m, const Move *mv)
{
    (void)m;
    GroupLoop *loop = &d->groups[mv->site].loops[mv->loop];
    loop->step      = scaled(loop->step, mv->by);
}

/* A loop over pieces of `by` points in front of this one. */
static void split(Draft *d, const Machine *m, const Move *mv)
{
    (void)m;
    Group *gr = &d->groups[mv->site];
    for (int i = mv->loop + 1; i < gr->loop_count; i++)
        if (gr->loops[i].dim == mv->dim && gr->loops[i].step >= mv->by)
            return; /* the pieces would be smaller than those inside */
    insert_loop(d, mv->site, mv->loop, (GroupLoop){ .dim = mv->dim, .step = mv->by });
    gr->loops[mv->loop].parallel     = gr->loops[mv->loop + 1].parallel && mv->loop == 0;
    gr->loops[mv->loop + 1].parallel = gr->loops[mv->loop + 1].parallel && mv->loop > 0;
}

static void join_loops(Draft *d, const Machine *m, const Move *mv)
{
    (void)m;
    remove_loop(d, mv->site, mv->loop);
}

static void swap(Draft *d, const Machine *m, const Move *mv)
{
    (void)m;
    GroupLoop      *at    = &d->groups[mv->site].loops[mv->loop];
    const GroupLoop first = at[0];
    at[0]                 = at[1];
    at[1]                 = first;
    const bool parallel   = at[0].parallel || at[1].parallel;
    at[0].parallel        = parallel && at[1].parallel && !at[0].vector;
    at[1].parallel        = parallel && !at[0].parallel;
}

/* The loop is parallel instead of the others, or too, or no more. */
static void parallel(Draft *d, const Machine *m, const Move *mv)
{
    (void)m;
    Group *gr                    = &d->groups[mv->site];
    gr->loops[mv->loop].parallel = mv->by > 0;
    for (int i = 0; i < gr->loop_count && mv->by > 0; i++)
        gr->loops[i].parallel = i == mv->loop || (gr->loops[i].parallel && gr->loops[i].dim != mv->dim && i < mv->loop);
}

static void unroll(Draft *d, const Machine *m, const Move *mv)
{
    (void)m;
    d->groups[mv->site].loops[mv->loop].unroll = mv->by > 0;
}

void moves_plain_loops(const Draft *d, int s, Group *gr)
{
    const GraphNode *node  = &d->graph->nodes[s];
    const int        lanes = draft_lanes(d, s) > 1 ? draft_lanes(d, s) : 2;
    gr->loop_count         = 0;
    for (int k = node->rank - 1; k >= 2; k--)
        group_add_loop(gr, k, 1, box_extent(&node->box, k) > GENETIC_SMALL_BOUND, false);
    if (node->rank > 1)
        group_add_loop(gr, 1, 32, true, false);
    if (node->rank > 1)
        group_add_loop(gr, 1, 1, false, false);
    else
        group_add_loop(gr, 0, 64 * lanes, true, false);
    group_add_loop(gr, 0, lanes, false, true);
}

static void default_loops(Draft *d, const Machine *m, const Move *mv)
{
    (void)m;
    Group *gr = &d->groups[mv->site];
    if (mv->by > 0)
        moves_plain_loops(d, gr->head, gr);
    else
        gr->loop_count = 0;
}

static void stream(Draft *d, const Machine *m, const Move *mv)
{
    (void)m;
    d->groups[mv->site].stream = mv->by > 0;
}

static void prefetch(Draft *d, const Machine *m, const Move *mv)
{
    (void)m;
    Group *gr = &d->groups[mv->site];
    if (mv->by)
        gr->ahead = (int)scaled(gr->ahead, mv->by);
    else
        gr->prefetched = 0;
}

/* ---- Lanes ------------------------------------------------------------------------------- */

/* Of a head's vector loop (loop >= 0), or of a member. */
static void vector(Draft *d, const Machine *m, const Move *mv)
{
    (void)m;
    if (mv->loop >= 0) {
        GroupLoop *loop = &d->groups[mv->site].loops[mv->loop];
        loop->step      = scaled(loop->step, mv->by);
        return;
    }
    Choice *c = &d->choices[mv->site];
    c->lanes  = (int)scaled(c->lanes ? c->lanes : draft_lanes(d, mv->site), mv->by);
}

/* ---- Places of nodes --------------------------------------------------------------------- */

static void list_member(List *l, int s)
{
    const Choice *c = &l->d->choices[s];
    add_both(l, MOVE_COMPUTE, s, 0, -1);
    add_both(l, MOVE_STORE, s, 0, -1);
    if (c->store != c->compute) /* no window */
        moves_add(&l->moves, MOVE_STORE, s, c->compute, -1, 0);
    if (c->store != 0)
        moves_add(&l->moves, MOVE_STORE, s, 0, -1, 0);
    if (!c->nest)
        add_both(l, MOVE_VECTOR, s, -1, -1);
    for (int i = 0; c->nest && i < c->nest->count; i++)
        if (c->nest->loops[i].step > 1)
            add_both(l, MOVE_NEST, s, i, c->nest->loops[i].dim);
    if (c->nest)
        moves_add(&l->moves, MOVE_NEST, s, -1, -1, 0);
    if (c->shares_with || c->chain || c->align)
        moves_add(&l->moves, MOVE_LAYOUT, s, 0, -1, 0);
}

/* The group that reads a node, through what is inlined; -1: there is none. */
static int group_of_readers(const Draft *d, int s)
{
    const GraphNode *node = &d->graph->nodes[s];
    while (node->out_count && d->choices[node->out[0]->consumer].where == WHERE_INLINE)
        node = &d->graph->nodes[node->out[0]->consumer];
    return node->out_count ? d->choices[node->out[0]->consumer].group : -1;
}

static void list_places(List *l, int s)
{
    const Draft *d     = l->d;
    const Where  where = d->choices[s].where;
    const int    group = group_of_readers(d, s);
    if (where != WHERE_INLINE && draft_may_inline(d, s))
        moves_add(&l->moves, MOVE_INLINE, s, 0, -1, 0);
    if (where != WHERE_ROOT)
        moves_add(&l->moves, MOVE_ROOT, s, 0, -1, 0);
    if (where == WHERE_INSIDE || group < 0 || !draft_may_join(d, s, group))
        return;
    const int last = draft_innermost(d->groups[group].loops, d->groups[group].loop_count);
    for (int i = 0; i <= last; i++)
        moves_add(&l->moves, MOVE_GROUP, s, i, -1, group);
}

static void list_node(List *l, int s)
{
    const Draft     *d    = l->d;
    const GraphNode *node = &d->graph->nodes[s];
    if (!is_defined(node))
        return;
    if (d->patterns[s].kind) {
        if (d->patterns[s].rows > 0)
            add_both(l, MOVE_PATTERN, s, 0, -1);
        moves_add(&l->moves, MOVE_PATTERN, s, 0, -1, 0);
        return;
    }
    if (d->choices[s].time_size > 0)
        add_both(l, MOVE_TIME, s, 0, -1);
    if (d->choices[s].where == WHERE_INSIDE)
        list_member(l, s);
    if (!node->is_output)
        list_places(l, s);
}

static void compute(Draft *d, const Machine *m, const Move *mv)
{
    (void)m;
    Choice    *c    = &d->choices[mv->site];
    const bool same = c->store == c->compute;
    c->compute += mv->by;
    c->store = same ? c->compute : c->store;
}

static void store(Draft *d, const Machine *m, const Move *mv)
{
    (void)m;
    Choice *c = &d->choices[mv->site];
    c->store  = mv->by ? c->store + mv->by : mv->loop;
}

static void inline_node(Draft *d, const Machine *m, const Move *mv)
{
    (void)m;
    d->choices[mv->site] = (Choice){ .where = WHERE_INLINE, .group = group_of_readers(d, mv->site) };
}

static void root(Draft *d, const Machine *m, const Move *mv)
{
    (void)m;
    draft_make_root(d, mv->site);
    if (draft_main(d, mv->site) != NO_DEF)
        moves_plain_loops(d, mv->site, &d->groups[d->choices[mv->site].group]);
}

/* Into a group at that level, with what was inside its own loops. */
static void into_group(Draft *d, const Machine *m, const Move *mv)
{
    (void)m;
    const int    own  = d->choices[mv->site].where == WHERE_ROOT ? d->choices[mv->site].group : -1;
    const Choice made = { .where = WHERE_INSIDE, .group = mv->by, .compute = mv->loop, .store = mv->loop };
    for (int s = 0; s < d->graph->node_count && own >= 0; s++)
        if (d->choices[s].where == WHERE_INSIDE && d->choices[s].group == own)
            d->choices[s] = made;
    d->choices[mv->site] = made;
}

/* ---- The rest ---------------------------------------------------------------------------- */

static void pattern(Draft *d, const Machine *m, const Move *mv)
{
    (void)m;
    Pattern *p = &d->patterns[mv->site];
    if (mv->by)
        p->rows = scaled(p->rows, mv->by);
    else
        *p = (Pattern){ 0 };
}

static void nest(Draft *d, const Machine *m, const Move *mv)
{
    (void)m;
    Choice *c = &d->choices[mv->site];
    if (mv->loop < 0) {
        c->nest = NULL;
        return;
    }
    MemberNest n           = *c->nest;
    n.loops[mv->loop].step = scaled(n.loops[mv->loop].step, mv->by);
    c->nest                = draft_nest(d, &n);
}

static void layout(Draft *d, const Machine *m, const Move *mv)
{
    (void)m;
    Choice *c = &d->choices[mv->site];
    if (c->shares_with)
        c->shares_with = 0;
    else if (c->chain)
        c->chain = false;
    else
        c->align = 0;
}

static void time_size(Draft *d, const Machine *m, const Move *mv)
{
    (void)m;
    Choice *c    = &d->choices[mv->site];
    c->time_size = (int)scaled(c->time_size, mv->by);
}

/* Rules of inner loops at all places; those of other phases decide what a draft is built from. */
static void list_rules(List *l)
{
    for (RuleId id = 0; id < RULE_IDS; id++) {
        const Rule *r = &draft_rules[id];
        if (r->phase == RULES_PLAIN || !r->apply)
            continue;
        const int sites = r->sites == AT_GROUPS ? l->d->group_count : l->d->graph->node_count;
        for (int i = 0; i < sites; i++)
            moves_add(&l->moves, MOVE_RULE, i, (int)id, -1, 0);
    }
}

static void rule(Draft *d, const Machine *m, const Move *mv)
{
    const Rule *r = &draft_rules[mv->loop];
    if (!r->applies(d, m, mv->site))
        return;
    r->apply(d, m, mv->site);
    d->uses[mv->loop].applied++;
}

/* ---- The table --------------------------------------------------------------------------- */

/* clang-format off */
static const struct Row {
    const char *name;
    void (*apply)(Draft *d, const Machine *m, const Move *mv);
    bool at_group;
} rows[MOVE_KINDS] = {
    [MOVE_TILE]          = { "tile",            tile,          true },
    [MOVE_SPLIT]         = { "split",           split,         true },
    [MOVE_JOIN_LOOPS]    = { "one loop less",   join_loops,    true },
    [MOVE_SWAP]          = { "loops swapped",   swap,          true },
    [MOVE_PARALLEL]      = { "parallel",        parallel,      true },
    [MOVE_VECTOR]        = { "lanes",           vector,        false },
    [MOVE_UNROLL]        = { "unroll",          unroll,        true },
    [MOVE_DEFAULT_LOOPS] = { "default loops",   default_loops, true },
    [MOVE_COMPUTE]       = { "compute level",   compute,       false },
    [MOVE_STORE]         = { "storage level",   store,         false },
    [MOVE_INLINE]        = { "inline",          inline_node,   false },
    [MOVE_ROOT]          = { "root",            root,          false },
    [MOVE_GROUP]         = { "into its reader", into_group,    false },
    [MOVE_STREAM]        = { "stream",          stream,        true },
    [MOVE_PREFETCH]      = { "prefetch",        prefetch,      true },
    [MOVE_PATTERN]       = { "pattern",         pattern,       false },
    [MOVE_NEST]          = { "own loops",       nest,          false },
    [MOVE_LAYOUT]        = { "own rows",        layout,        false },
    [MOVE_TIME]          = { "tiles over time", time_size,     false },
    [MOVE_RULE]          = { "rule",            rule,          false },
};
/* clang-format on */

const char *move_name(MoveKind kind)
{
    return rows[kind].name;
}

int moves_list(const Draft *d, Move *out, int room)
{
    List l = { d, { out, 0, room } };
    for (int i = 0; i < d->group_count; i++)
        list_group(&l, i);
    for (int s = 0; s < d->graph->node_count; s++)
        list_node(&l, s);
    list_rules(&l);
    return l.moves.count;
}

void move_apply(Draft *d, const Machine *m, const Move *mv)
{
    rows[mv->kind].apply(d, m, mv);
}

void move_print(Text *out, const Draft *before, const Move *mv)
{
    const bool by_group = rows[mv->kind].at_group || (mv->kind == MOVE_VECTOR && mv->loop >= 0) ||
                          (mv->kind == MOVE_RULE && draft_rules[mv->loop].sites == AT_GROUPS);
    const int   node = by_group ? before->groups[mv->site].head : mv->site;
    const Func *f    = before->graph->nodes[node].func;
    text_printf(out, "%s", rows[mv->kind].name);
    if (mv->kind == MOVE_RULE)
        text_printf(out, " %s", draft_rules[mv->loop].name);
    text_printf(out, " of %s", f->name);
    if (mv->dim >= 0 && mv->dim < f->rank)
        text_printf(out, " along %s", f->args[mv->dim]);
    if (mv->kind == MOVE_GROUP || (mv->kind == MOVE_STORE && !mv->by))
        text_printf(out, ", loop %d", mv->loop);
    else if (mv->kind == MOVE_SPLIT)
        text_printf(out, ", %d", mv->by);
    else if (mv->by)
        text_add(out, mv->by > 0 ? ", more" : ", less");
}
