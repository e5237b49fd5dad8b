/* The scheduler `greedy`: groups by the best merge of two at a time, in overlapped tiles.
 *
 * From    Mullapudi et al. 2016 as Jangda and Bondhugula 2020, section 2.3, have it: Halide's classic auto-scheduler, the baseline that the others must beat. Every stage begins as a
 *         group of its own, in tiles. Of all merges of a group with the one that reads it, that with the largest benefit
 *
 *             gain(p, c) = cost(p) + cost(c) - cost(p u c)
 *
 *         is made, each cost that of the best tile (tile.h, one level: no windows slide); until there is none with a benefit.
 * Holds   A merge is asked about again only if one of its two groups has changed since. What it may spend is counted in stages looked at, so that the same
 *         pipeline always gets the same schedule. */
#include "schedulers/schedulers.h"
#include "schedulers/tile.h"

#include <math.h>

enum { STAGES_PER_SECOND = 200000, NOBODY = -1, NOT_ASKED = -2 };

/* What a group could be merged into. */
typedef struct Merge {
    int    into;                /* a group; NOBODY: several read it, or it may not be; NOT_ASKED */
    double cost, gain;          /* of both together */
} Merge;

typedef struct Greedy {
    const Graph *g;
    Draft        d;
    TileSpace    tiles;
    bool        *sum;           /* by stage: a reduction at the points of its one reader */
    int         *stages;        /* room for a group's */
    Merge       *merges;        /* by group */
    double      *cost;          /* by group; NAN: it is of another by now */
    double       left;          /* stages to look at */
} Greedy;

/* The stages of a group, ascending: its head is the last. */
static int list_stages(Greedy *r, int group)
{
    int count = 0;
    for (int s = 0; s < r->g->stage_count; s++) {
        const Choice *c = &r->d.choices[s];
        if ((c->where == WHERE_ROOT || c->where == WHERE_INSIDE) && c->group == group)
            r->stages[count++] = s;
    }
    return count;
}

static Tile best_tile(Greedy *r, int count)
{
    r->left -= r->g->stage_count;
    return tile_best(&r->tiles, r->stages, count);
}

/* ---- Sums at their reader's points ------------------------------------------------------- */

/* A short one is written out; any other goes with its reader. */
static void place_sums(Greedy *r)
{
    for (int s = r->g->stage_count; s-- > 0;) {
        Choice *c = &r->d.choices[s];
        r->sum[s] = c->where == WHERE_DEFAULT;
        if (r->sum[s] && scheduler_short_sum(&r->d, s))
            c->where = WHERE_INLINE;
        else if (r->sum[s] && c->group >= 0 && draft_may_join(&r->d, s, c->group))
            c->where = WHERE_INSIDE;
    }
}

/* ---- Merging ----------------------------------------------------------------------------- */

/* The one group that the readers of a stage are in; those of what is inlined count. */
static int group_of_readers(const Greedy *r, int s, int known)
{
    const Stage *st = &r->g->stages[s];
    for (int k = 0; k < st->out_count && known != NOBODY; k++) {
        const int     reader = st->out[k]->consumer;
        const Choice *c      = &r->d.choices[reader];
        const int     group  = c->where == WHERE_INLINE ? group_of_readers(r, reader, known) : c->group;
        known                = known == NOT_ASKED || known == group ? group : NOBODY;
    }
    return known;
}

/* Moves stages into a group, readers first. false: one may not be there. */
static bool move(Greedy *r, int count, const int *stages, int into)
{
    for (int i = count; i-- > 0;) {
        if (!draft_may_join(&r->d, stages[i], into))
            return false;
        r->d.choices[stages[i]] = (Choice){ .where = WHERE_INSIDE, .group = into };
    }
    return true;
}

static void move_back(Greedy *r, int count, const int *stages, int group)
{
    for (int i = 0; i < count; i++)
        r->d.choices[stages[i]] = (Choice){ .where = stages[i] == r->d.groups[group].head ? WHERE_ROOT : WHERE_INSIDE, .group = group };
}

/* What the group would gain by being merged into that of its readers. */
static Merge ask(Greedy *r, int group, int *mine)
{
    Merge merge = { .into = group_of_readers(r, r->d.groups[group].head, NOT_ASKED) };
    if (merge.into < 0 || merge.into == group)
        return (Merge){ .into = NOBODY };
    const int count = list_stages(r, group);
    memcpy(mine, r->stages, sizeof *mine * (size_t)count);
    const bool fits = move(r, count, mine, merge.into);
    merge.cost      = fits ? best_tile(r, list_stages(r, merge.into)).cost : INFINITY;
    merge.gain      = isfinite(merge.cost) ? r->cost[group] + r->cost[merge.into] - merge.cost : 0;
    move_back(r, count, mine, group);
    return fits ? merge : (Merge){ .into = NOBODY };
}

/* Merges, and forgets what is no longer so. */
static void merge_best(Greedy *r, int group)
{
    const Merge made = r->merges[group];
    move(r, list_stages(r, group), r->stages, made.into);
    r->cost[made.into] = made.cost;
    r->cost[group]     = NAN;
    for (int i = 0; i < r->d.group_count; i++)
        if (i == made.into || r->merges[i].into == group || r->merges[i].into == made.into || r->merges[i].into == NOBODY)
            r->merges[i].into = NOT_ASKED;
}

static void merge_all(Greedy *r, int *room)
{
    for (;;) {
        int best = NOBODY;
        for (int i = 0; i < r->d.group_count; i++) {
            if (isnan(r->cost[i]))
                continue;
            if (r->merges[i].into == NOT_ASKED && r->left > 0)
                r->merges[i] = ask(r, i, room);
            if (r->merges[i].into >= 0 && r->merges[i].gain > 0 && (best < 0 || r->merges[i].gain > r->merges[best].gain))
                best = i;
        }
        if (best < 0)
            return;
        merge_best(r, best);
    }
}

/* ---- The draft --------------------------------------------------------------------------- */

/* All loops over tiles, in parallel; then those in a tile, the last over vectors. Gives the innermost loop over tiles, -1: there is none. */
static int tile_loops(const Draft *d, const Tile *tile, Group *gr)
{
    const Stage *st    = &d->graph->stages[gr->head];
    const int    lanes = draft_lanes(d, gr->head);
    int          tiled = 0;
    for (int e = st->rank - 1; e >= 0; e--) {
        const int64_t size = e ? tile->size[e] : (tile->size[0] + lanes - 1) / lanes * lanes;
        if (size <= st->box.max[e] - st->box.min[e])
            gr->loops[tiled++] = (GroupLoop){ .dim = e, .step = size, .parallel = true };
    }
    gr->loop_count = tiled;
    for (int e = st->rank - 1; e > 0; e--)
        if (tile->size[e] != 1 || st->box.max[e] <= st->box.min[e])
            gr->loops[gr->loop_count++] = (GroupLoop){ .dim = e, .step = 1 };
    gr->loops[gr->loop_count++] = (GroupLoop){ .dim = 0, .step = lanes, .vector = true };
    return tiled - 1;
}

static void make_group(Greedy *r, int group)
{
    Group    *gr    = &r->d.groups[group];
    const int count = list_stages(r, group);
    if (isnan(r->cost[group]) || draft_main(&r->d, gr->head) == NO_DEF)
        return;
    const Tile tile = tile_best(&r->tiles, r->stages, count);
    const int  last = tile_loops(&r->d, &tile, gr);
    gr->stream      = draft_streams(&r->d, gr->head, r->tiles.m);
    for (int i = count - 2; i >= 0; i--) {
        const int     s      = r->stages[i];
        const Choice *reader = &r->d.choices[r->g->stages[s].out[0]->consumer];
        const int     level  = !r->sum[s] ? last : reader->where == WHERE_INSIDE ? reader->compute : gr->loop_count - 1;
        r->d.choices[s].compute = r->d.choices[s].store = level < 0 ? 0 : level;
    }
}

Draft scheduler_greedy(const Graph *g, const Machine *m, const SchedulerOptions *options, Arena *arena)
{
    const size_t n = (size_t)g->stage_count + 1;
    Greedy       r = { .g = g, .d = draft_plain(g, m, arena), .sum = ARENA_ARRAY(arena, bool, n), .stages = ARENA_ARRAY(arena, int, n),
                       .merges = ARENA_ARRAY(arena, Merge, n), .cost = ARENA_ARRAY(arena, double, n), .left = options->budget * STAGES_PER_SECOND };
    place_sums(&r);
    r.tiles = tile_space(&r.d, m, true, arena);
    for (int i = 0; i < r.d.group_count; i++) {
        r.merges[i].into = NOT_ASKED;
        r.cost[i]        = best_tile(&r, list_stages(&r, i)).cost;
    }
    merge_all(&r, ARENA_ARRAY(arena, int, n));
    for (int i = 0; i < r.d.group_count; i++)
        make_group(&r, i);
    draft_settle(&r.d);
    return r.d;
}
