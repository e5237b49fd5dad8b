/* SPDX-License-Identifier: MIT */
/* The scheduler `reuse`: separate compute and store levels; tiles and loop permutations by loads and recomputation.
 *
 * From    Sioutas et al. 2019, section 4. A segment is a node, whose loops run over all of it, and nodes that only the
 *         segment reads. For each: levels (reuse_fuse.c: Algorithms 1 and 2), permutations and tiles (reuse_tile.c:
 *         Algorithm 3), costs (reuse_cost.c: section 3). Here: node grouping (section 4.3: Algorithms 4 and 5).
 * How     A segmentation is a set of nodes at root. Any other node is in the segment that all its readers are in, and
 *         at root if there is none. At first as few as possible are at root: all else is fused, as in the paper.
 *         Algorithm 5 then tries every first cut of a segment, and every way to cut the rest. The rest does not depend
 *         on the way to it, so it is solved once. A chain of n nodes has n^2/2 cuts; a segment with more than
 *         MOST_TRIED is split at the one node where that costs least, then its parts again. Solutions of segments are
 *         memoized by their nodes.
 * Beyond  Algorithm 4 makes every node with several readers a root; here only those whose readers are in different
 *         segments. The paper splits only what does not fit; here a segment is also split where its parts cost less: a
 *         fused pyramid fits, and recomputes its levels again and again.
 * Not     Section 4.4 reorders the loops of each member: the least stride innermost, and the loop of the compute level
 *         outermost. Here stride 1 is innermost in every member without a nest, and micro_steps.c orders the loops
 *         over the steps of sums. The loop of the compute level mostly has one iteration. With it outermost,
 *         interpolate took 11.25 ms instead of 11.21, and pyramid_blend 21.9 instead of 22.3: no measurable
 *         difference. */
#include "schedulers/graph/def_facts.h"
#include "schedulers/search/group_internal.h"
#include "schedulers/search/reuse_internal.h"

#include <math.h>
#include <stdlib.h>

enum {
    BUCKETS = 1024, /* of the memo table */
};
typedef struct Known {
    struct Known *next;
    int           count, *key;
    bool          quick;
    Solution      solution;
    int           round; /* of the search that knows its best split: */
    NestCost      split; /* the cost of all its parts */
    int           where; /* the first node to cut off; -1: none */
} Known;

typedef struct Reuse {
    const Graph   *g;
    const Machine *m;
    Draft          d;
    Arena         *arena;
    Where         *plain; /* by node */
    bool *light;     /* by node: cheap enough to inline at every use: not at root, but stored in its segment if that is
                        better */
    int    *key;     /* room */
    bool   *cut;     /* by node: put at root by choice */
    int    *head;    /* by node: of its segment; itself: at root; -1: an input, inlined, or left to the compiler */
    Segment segment; /* room */
    Known **known;
    int     round, tried; /* searches; cuts tried in the last one, and what each must gain: */
    double  cut_ns;
    double  until; /* group_clock: afterwards nothing is split or inlined any more, and tiles are searched quickly */
} Reuse;

/* ---- Segments ------------------------------------------------------------------------------ */

static bool is_node(const Reuse *r, int s)
{
    return r->g->nodes[s].kind != NODE_INPUT && (r->plain[s] != WHERE_INLINE || r->light[s]);
}

static int compare(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

/* The segment of a head, with what is inlined into it. */
static Segment *gather(Reuse *r, int head)
{
    Segment *s = &r->segment;
    for (int i = 0; i < r->g->node_count; i++) {
        s->place[i] = -1;
        s->given[i] = s->member[i] = false;
    }
    s->count = s->outside_count = 0;
    s->nodes[s->count++]        = head;
    s->member[head] = s->given[head] = true;
    for (int i = 0; i < s->count; i++) {
        const GraphNode *node = &r->g->nodes[s->nodes[i]];
        for (int k = 0; k < node->in_count; k++) {
            const int p = node->in[k]->producer;
            if (s->member[p])
                continue;
            s->member[p] = true;
            if (r->head[p] == head || (r->plain[p] == WHERE_INLINE && r->g->nodes[p].kind != NODE_INPUT))
                s->nodes[s->count++] = p;
            else
                s->outside[s->outside_count++] = p;
        }
    }
    qsort(s->nodes, (size_t)s->count, sizeof *s->nodes, compare);
    qsort(s->outside, (size_t)s->outside_count, sizeof *s->outside, compare);
    for (int k = 0; k < s->count; k++)
        s->place[s->nodes[k]] = k;
    for (int k = 0; k < s->outside_count; k++)
        s->place[s->outside[k]] = s->count + k;
    return s;
}

/* The memo key of a segment: its nodes, and which of them are inlined. */
static size_t make_key(const Reuse *r, const Segment *s, int *key)
{
    uint32_t h = 2166136261u;
    for (int k = 0; k < s->count; k++) {
        key[k] = 2 * s->nodes[k] + (r->plain[s->nodes[k]] == WHERE_INLINE);
        h      = (h ^ (uint32_t)key[k]) * 16777619u;
    }
    return h % BUCKETS;
}

/* The solution of a head's present segment, memoized. */
static Known *find(Reuse *r, int head, bool quick)
{
    Segment     *s     = gather(r, head);
    Known      **at    = &r->known[make_key(r, s, r->key)];
    const size_t bytes = (size_t)s->count * sizeof *r->key;
    for (Known *k = *at; k; k = k->next)
        if (k->quick == quick && k->count == s->count && !memcmp(k->key, r->key, bytes))
            return k;
    Known *k = ARENA_NEW(r->arena, Known);
    *k = (Known){ .next = *at, .count = s->count, .key = ARENA_ARRAY(r->arena, int, (size_t)s->count), .quick = quick };
    memcpy(k->key, r->key, bytes);
    if (draft_main(&r->d, head) == NO_DEF)
        k->solution = (Solution){ .cost = { .fits = true } };
    else
        k->solution = tiling_analysis(s, quick, r->arena);
    *at = k;
    return k;
}

static const Solution *solve(Reuse *r, int head, bool quick)
{
    return &find(r, head, quick)->solution;
}

/* ---- Algorithm 4: which nodes are in which segment ------------------------------------------ */

/* The one segment that all readers of s are in; -1: there is none. */
static int segment_of_readers(const Reuse *r, int s)
{
    const GraphNode *node = &r->g->nodes[s];
    int              head = -1;
    for (int i = 0; i < node->out_count; i++) {
        const int c  = node->out[i]->consumer;
        const int at = r->plain[c] == WHERE_INLINE ? segment_of_readers(r, c) : r->head[c];
        if (at < 0 || (head >= 0 && at != head))
            return -1;
        head = at;
    }
    return head;
}

/* Puts a node into the segment of its readers, or at root. Its readers have been placed. */
static void assign(Reuse *r, int s)
{
    const int  head = r->cut[s] ? -1 : segment_of_readers(r, s);
    const bool join = head >= 0 && draft_may_join(&r->d, s, r->d.choices[head].group);
    if (r->light[s])
        r->plain[s] = join ? WHERE_ROOT : WHERE_INLINE;
    if (join)
        r->d.choices[s] = (Choice){ .where = WHERE_INSIDE, .group = r->d.choices[head].group };
    else
        r->d.choices[s] = (Choice){ .where = r->plain[s], .group = s };
    r->head[s] = join ? head : r->plain[s] == WHERE_ROOT ? s : -1;
}

static void assign_all(Reuse *r, const int *nodes, int count)
{
    for (int i = count - 1; i >= 0; i--)
        if (is_node(r, nodes[i]))
            assign(r, nodes[i]);
}

/* ---- Algorithm 5: splitting -------------------------------------------------------------------- */

/* The cost of the segments that these nodes are in now, except that of `without`. */
static NestCost cost_of(Reuse *r, const int *nodes, int count, int without)
{
    NestCost all = { .fits = true };
    for (int i = 0; i < count; i++)
        if (r->head[nodes[i]] == nodes[i] && nodes[i] != without) {
            const NestCost *cost = &solve(r, nodes[i], true)->cost;
            all.ns += cost->ns;
            all.fits &= cost->fits;
        }
    return all;
}

static bool is_better(const NestCost *a, const NestCost *b)
{
    return a->fits != b->fits ? a->fits : a->ns < (1 - REUSE_LEAST_GAIN) * b->ns;
}

static void split_parts(Reuse *r, const int *nodes, int count);

/* A node that every tile needs whole has full reuse over all loops: it goes to root. false: there are none. */
static bool cut_whole(Reuse *r, int head, const int *nodes, int count)
{
    const Solution *sol = solve(r, head, true);
    bool            any = false;
    for (int k = 0; k + 1 < count; k++)
        if (sol->nest.loop_count > 0 && sol->levels[k].whole && r->plain[nodes[k]] == WHERE_ROOT &&
            !r->light[nodes[k]] && sol->levels[k].where == WHERE_INSIDE)
            any = r->cut[nodes[k]] = true;
    if (any)
        assign_all(r, nodes, count);
    return any;
}

static bool may_cut(const Reuse *r, int head, int s)
{
    return s != head && r->head[s] == head && r->plain[s] == WHERE_ROOT && !r->light[s];
}

static void set_cut(Reuse *r, int at, bool cut, const int *nodes, int count)
{
    r->cut[at] = cut;
    assign_all(r, nodes, count);
}

/* The recursion: a segment is best as it is, or with its first cut at the i-th of these nodes or a later one, and the
 * rest cut again. What is cut off comes before the cut and is not changed by later cuts. So the rest alone decides, and
 * is memoized. Parts that do not fit are skipped. */
static const Known *search(Reuse *r, int head, const int *nodes, int count, int i)
{
    Known *k = find(r, head, true);
    if (k->round == r->round)
        return k;
    k->round              = r->round;
    k->split              = k->solution.cost;
    k->where              = -1;
    const NestCost before = cost_of(r, nodes, count, head);
    for (; i < count && r->tried < REUSE_MOST_TRIED; i++) {
        if (!may_cut(r, head, nodes[i]))
            continue;
        r->tried++;
        set_cut(r, nodes[i], true, nodes, count);
        const NestCost parts = cost_of(r, nodes, count, head);
        if (parts.fits) {
            NestCost with = search(r, head, nodes, count, i + 1)->split;
            with.ns += parts.ns - before.ns + r->cut_ns;
            if (is_better(&with, &k->split)) {
                k->split = with;
                k->where = nodes[i];
            }
        }
        set_cut(r, nodes[i], false, nodes, count);
    }
    return k;
}

/* Cuts a segment as the recursion finds best. false: it has too many parts to try them all. */
static bool split_best(Reuse *r, int head, const int *nodes, int count)
{
    int cuts = 0;
    for (int i = 0; i < count; i++)
        cuts += may_cut(r, head, nodes[i]);
    if (cuts * (cuts + 1) / 2 > REUSE_MOST_TRIED) /* the cuts of a chain */
        return false;
    r->round++;
    r->tried  = 0;
    r->cut_ns = REUSE_LEAST_GAIN * solve(r, head, true)->cost.ns;
    search(r, head, nodes, count, 0);
    if (r->tried >= REUSE_MOST_TRIED)
        return false;
    for (const Known *k = find(r, head, true); k->round == r->round && k->where >= 0; k = find(r, head, true))
        set_cut(r, k->where, true, nodes, count);
    return true;
}

/* Cuts a segment where that is cheapest, then its parts again. */
static void split_greedily(Reuse *r, int head, const int *nodes, int count)
{
    NestCost best  = solve(r, head, true)->cost;
    int      where = -1;
    for (int i = 0; i + 1 < count && group_clock() < r->until; i++) {
        if (!may_cut(r, head, nodes[i]))
            continue;
        set_cut(r, nodes[i], true, nodes, count);
        const NestCost cost = cost_of(r, nodes, count, -1);
        set_cut(r, nodes[i], false, nodes, count);
        if (is_better(&cost, &best)) {
            best  = cost;
            where = nodes[i];
        }
    }
    if (where < 0)
        return;
    set_cut(r, where, true, nodes, count);
    split_parts(r, nodes, count);
}

static void split_segment(Reuse *r, int head)
{
    const Segment *s     = gather(r, head);
    const int      count = s->count;
    int           *nodes = ARENA_ARRAY(r->arena, int, (size_t)count);
    memcpy(nodes, s->nodes, (size_t)count * sizeof *nodes);
    if (cut_whole(r, head, nodes, count))
        split_parts(r, nodes, count);
    else if (!split_best(r, head, nodes, count))
        split_greedily(r, head, nodes, count);
}

static void split_parts(Reuse *r, const int *nodes, int count)
{
    for (int i = 0; i < count; i++)
        if (r->head[nodes[i]] == nodes[i])
            split_segment(r, nodes[i]);
}

/* ---- Algorithm 2 over segments ------------------------------------------------------------------ */

/* Inlines a root that several segments read into all of them, where that costs less than to store and reload it. */
static void inline_roots(Reuse *r)
{
    const int n    = r->g->node_count;
    NestCost  best = cost_of(r, r->g->order, n, -1);
    for (int s = n; s-- > 0 && group_clock() < r->until;) {
        if (r->head[s] != s || r->g->nodes[s].def_count > 1 || !draft_may_inline(&r->d, s))
            continue;
        const bool cut = r->cut[s];
        r->light[s]    = true;
        r->cut[s]      = false;
        assign_all(r, r->g->order, n);
        const NestCost cost = cost_of(r, r->g->order, n, -1);
        if (is_better(&cost, &best)) {
            best = cost;
            continue;
        }
        r->light[s] = false;
        r->cut[s]   = cut;
        r->plain[s] = WHERE_ROOT;
        assign_all(r, r->g->order, n);
    }
}

/* ---- The draft --------------------------------------------------------------------------------- */

/* A short sum at the points of its one reader is unrolled; a longer one is computed next to it. */
static Where plain_of(const Draft *d, int s)
{
    const GraphNode *node  = &d->graph->nodes[s];
    double           steps = 0;
    for (int k = 1; k < node->def_count; k++)
        steps += node->defs[k].steps;
    return d->choices[s].where == WHERE_DEFAULT && draft_may_inline(d, s) && steps <= SHORT_SUM ? WHERE_INLINE
                                                                                                : d->choices[s].where;
}

/* By node: is it recomputed if it is inlined together with what the plain draft inlines? */
static bool *find_again(const Reuse *r)
{
    bool *again = ARENA_ARRAY(r->arena, bool, (size_t)r->g->node_count + 1);
    for (int s = r->g->node_count; s-- > 0;) {
        const GraphNode *node = &r->g->nodes[s];
        double           all  = 0;
        for (int i = 0; i < node->out_count; i++) {
            const int reader = node->out[i]->consumer;
            all += node->out[i]->accesses * r->g->nodes[reader].defs[node->out[i]->update + 1].points;
            again[s] |= r->plain[reader] == WHERE_INLINE && again[reader];
        }
        again[s] |= node->def_count > 0 && all > HARDLY_MORE * node->defs[0].points;
    }
    return again;
}

static bool is_pointwise(const GraphNode *node)
{
    for (int i = 0; i < node->out_count; i++)
        if (!node->out[i]->pointwise)
            return false;
    return true;
}

/* What the plain draft inlines with recomputation: Algorithm 2 decides. */
static void find_light(Reuse *r, const bool *again)
{
    for (int s = 0; s < r->g->node_count; s++)
        r->light[s] =
            r->plain[s] == WHERE_INLINE && r->g->nodes[s].def_count == 1 && !is_pointwise(&r->g->nodes[s]) && again[s];
}

/* Stores the readers of sums that would otherwise be recomputed with them. */
static void keep_readers_of_sums(Reuse *r, const bool *again)
{
    for (int s = 0; s < r->g->node_count; s++) {
        const int reader = r->d.choices[s].where == WHERE_DEFAULT ? r->g->nodes[s].out[0]->consumer : -1;
        if (reader >= 0 && r->plain[reader] == WHERE_INLINE && again[reader])
            r->plain[reader] = WHERE_ROOT;
    }
}

static void begin(Reuse *r)
{
    const int n = r->g->node_count;
    for (int s = 0; s < n; s++) {
        r->plain[s] = plain_of(&r->d, s);
        r->head[s]  = -1;
    }
    const bool *again = find_again(r);
    keep_readers_of_sums(r, again);
    find_light(r, again);
    for (int s = 0; s < n; s++)
        r->d.choices[s] = (Choice){ .where = r->plain[s], .group = r->g->nodes[s].kind == NODE_INPUT ? -1 : s };
    for (int s = 0; s < n; s++)
        r->d.groups[s] = (Group){ .head = s };
    r->d.group_count = n;
}

static void fill(Reuse *r, int head)
{
    Group          *gr  = &r->d.groups[r->d.choices[head].group];
    const Solution *sol = solve(r, head, group_clock() > r->until);
    const Segment  *s   = gather(r, head);
    if (draft_main(&r->d, head) == NO_DEF || sol->nest.loop_count == 0)
        return;
    gr->stream     = cost_streams(&r->d, head, r->m);
    gr->loop_count = sol->nest.loop_count;
    memcpy(gr->loops, sol->nest.loops, sizeof gr->loops);
    for (int k = 0; k + 1 < s->count; k++) {
        Choice *c = &r->d.choices[s->nodes[k]];
        if (c->where == WHERE_INSIDE)
            *c = (Choice){ .where   = sol->levels[k].where,
                           .group   = c->group,
                           .compute = sol->levels[k].compute,
                           .store   = sol->levels[k].store };
    }
}

Segment segment_new(const Draft *d, const Machine *m, const Where *plain, Arena *arena)
{
    const size_t n = (size_t)d->graph->node_count + 1;
    return (Segment){ .g       = d->graph,
                      .m       = m,
                      .d       = d,
                      .plain   = plain,
                      .nodes   = ARENA_ARRAY(arena, int, n),
                      .outside = ARENA_ARRAY(arena, int, n),
                      .place   = ARENA_ARRAY(arena, int, n),
                      .given   = ARENA_ARRAY(arena, bool, n),
                      .member  = ARENA_ARRAY(arena, bool, n),
                      .boxes   = ARENA_ARRAY(arena, Box, n),
                      .levels  = ARENA_ARRAY(arena, Box, n * MOST_REUSE_LEVELS),
                      .points  = ARENA_ARRAY(arena, double, n),
                      .held    = ARENA_ARRAY(arena, double, n),
                      .by_data = ARENA_ARRAY(arena, uint32_t, n),
                      .ends    = ARENA_ARRAY(arena, int, n) };
}

static Reuse new_reuse(const Graph *g, const Machine *m, const SchedulerOptions *options, Arena *arena)
{
    const size_t n = (size_t)g->node_count + 1;
    return (Reuse){ .g     = g,
                    .m     = m,
                    .d     = draft_plain(g, m, options->without, arena),
                    .arena = arena,
                    .plain = ARENA_ARRAY(arena, Where, n),
                    .light = ARENA_ARRAY(arena, bool, n),
                    .key   = ARENA_ARRAY(arena, int, n),
                    .cut   = ARENA_ARRAY(arena, bool, n),
                    .head  = ARENA_ARRAY(arena, int, n),
                    .known = ARENA_ARRAY(arena, Known *, BUCKETS) };
}

Draft scheduler_reuse(const Graph *g, const Machine *m, const SchedulerOptions *options, Arena *arena)
{
    Reuse r   = new_reuse(g, m, options, arena);
    r.until   = group_clock() + options->budget / 4;
    r.segment = segment_new(&r.d, m, r.plain, arena);
    begin(&r);
    assign_all(&r, g->order, g->node_count);
    for (int s = g->node_count; s-- > 0;)
        if (r.head[s] == s)
            split_segment(&r, s);
    inline_roots(&r);
    for (int s = 0; s < g->node_count; s++)
        if (r.head[s] == s)
            fill(&r, s);
    draft_choose_micro_kernels(&r.d, m);
    draft_legalize(&r.d);
    draft_apply_rules(&r.d, m, RULES_SHARED);
    return r.d;
}
