/* SPDX-License-Identifier: MIT */
/* The repair of the recurrence: the best partition into groups of its table.
 *
 * Takes   the table of groups that F visited, with their costs.
 * Gives   disjoint groups that cover every node, without cycles between them, at the least cost.
 * How     Groups without cycles have an order in which each reads only earlier ones. What the first k of them hold is
 *         a down-set D: with each node also its producers. So the least cost is that of a path from the empty down-set
 *         to the whole graph,
 *
 *             C(D ∪ H) = min over groups H outside D, all that H reads inside D ∪ H, of C(D) + cost(H),
 *
 *         in which everything counts once. Down-sets are processed by size. Of equal ones the cheapest is kept. Of each
 *         size the `width` best are kept, by C(D) + Σ_{s not in D} min over groups H with s of cost(H) / |H|, a lower
 *         bound. It is exact as long as no size has more than that.
 *
 *         Not all orders of independent groups are tried. Let t be the lowest node outside D. The group that begins
 *         with t comes sooner or later. So the next group is that one, or one that it depends on, whose first node
 *         leads to a node of some group that begins with t. */
#include "schedulers/search/group_internal.h"
#include "schedulers/graph/constants.h"

#include <math.h>
#include <stdlib.h>

/* A path to a down-set. */
typedef struct Way {
    double   cost, bound;
    int64_t  from;  /* its predecessor, among those kept */
    int32_t  group; /* its last group */
    int32_t  row;   /* of the level: its set */
    uint64_t hash;
} Way;

/* The down-sets of one size. */
typedef struct Level Level;
struct Level {
    Way      *at;
    uint64_t *sets;
    int32_t  *slots; /* by hash: index + 1 */
    int       count;
    Level    *next_free;
};

typedef struct Kept {
    int64_t from;
    int32_t group;
} Kept;

typedef struct Cover {
    const GroupTable *table;
    const GroupGraph *graph;
    int               width, room, slot_count;
    uint64_t         *needs;  /* by group: what it reads outside itself */
    double           *share;  /* by group: Σ of the lower bounds of its nodes */
    int32_t          *order;  /* the groups with a finite cost, by first node */
    int              *begin;  /* by node: where its groups begin in `order` */
    uint64_t         *before; /* by node t: all that leads to a node of a group that begins with t */
    Level           **levels; /* by size */
    Level            *free;
    VEC(Kept) kept;
    double bound;
    bool   exact;
} Cover;

/* ---- What is known of the groups --------------------------------------------------------- */

static const uint64_t *set_of(const Cover *c, int32_t i)
{
    return row(c->table->sets, c->graph->words, i);
}

/* Sorts groups by first node, without those of infinite cost. */
static void sort_groups(Cover *c, Arena *arena)
{
    const GroupTable *t = c->table;
    const int         n = c->graph->count;
    c->begin            = ARENA_ARRAY(arena, int, (size_t)n + 2);
    c->order            = ARENA_ARRAY(arena, int32_t, t->at.count);
    for (size_t i = 0; i < t->at.count; i++)
        if (t->at.at[i].cost < INFINITY)
            c->begin[t->at.at[i].first + 2]++;
    for (int s = 0; s < n; s++)
        c->begin[s + 2] += c->begin[s + 1];
    for (size_t i = 0; i < t->at.count; i++)
        if (t->at.at[i].cost < INFINITY)
            c->order[c->begin[t->at.at[i].first + 1]++] = (int32_t)i;
}

/* By group: what it reads outside itself, and its part of the lower bound. */
static void measure_groups(Cover *c, Arena *arena)
{
    const GroupTable *t = c->table;
    const int         n = c->graph->count, words = c->graph->words;
    double           *least = ARENA_ARRAY(arena, double, (size_t)n);
    c->needs                = ARENA_ARRAY(arena, uint64_t, t->at.count * (size_t)words);
    c->share                = ARENA_ARRAY(arena, double, t->at.count);
    for (int s = 0; s < n; s++)
        least[s] = INFINITY;
    for (size_t i = 0; i < t->at.count; i++) {
        const Visited  *v     = &t->at.at[i];
        const uint64_t *set   = set_of(c, (int32_t)i);
        uint64_t       *needs = c->needs + i * (size_t)words;
        if (!(v->cost < INFINITY))
            continue;
        for (int s = set_next(set, 0, words); s >= 0; s = set_next(set, s + 1, words)) {
            set_unite(needs, row(c->graph->read, words, s), words);
            least[s] = fmin(least[s], v->cost / v->size);
        }
        set_remove(needs, set, words);
    }
    for (size_t i = 0; i < t->at.count; i++) {
        const uint64_t *set = set_of(c, (int32_t)i);
        for (int s = set_next(set, 0, words); s >= 0; s = set_next(set, s + 1, words))
            c->share[i] += least[s];
    }
}

/* What leads to a node: the node itself, and what leads to its producers. */
static void find_before(Cover *c, Arena *arena)
{
    const GroupGraph *g     = c->graph;
    const int         words = g->words;
    uint64_t         *past  = ARENA_ARRAY(arena, uint64_t, (size_t)g->count * (size_t)words);
    uint64_t         *all   = ARENA_ARRAY(arena, uint64_t, (size_t)words);
    c->before               = ARENA_ARRAY(arena, uint64_t, (size_t)g->count * (size_t)words);
    for (int s = 0; s < g->count; s++) {
        const uint64_t *read = row(g->read, words, s);
        set_add(past + (size_t)s * (size_t)words, s);
        for (int p = set_next(read, 0, words); p >= 0; p = set_next(read, p + 1, words))
            set_unite(past + (size_t)s * (size_t)words, row(past, words, p), words);
    }
    for (int t = 0; t < g->count; t++) {
        memset(all, 0, sizeof *all * (size_t)words);
        for (int k = c->begin[t]; k < c->begin[t + 1]; k++)
            set_unite(all, set_of(c, c->order[k]), words);
        for (int s = set_next(all, 0, words); s >= 0; s = set_next(all, s + 1, words))
            set_unite(c->before + (size_t)t * (size_t)words, row(past, words, s), words);
    }
}

/* ---- Levels ------------------------------------------------------------------------------ */

static Level *level_new(Cover *c, Arena *arena)
{
    Level *l = c->free;
    if (l) {
        c->free  = l->next_free;
        l->count = 0;
        memset(l->slots, 0, sizeof *l->slots * (size_t)c->slot_count);
        return l;
    }
    l        = ARENA_NEW(arena, Level);
    l->at    = ARENA_ARRAY(arena, Way, (size_t)c->room);
    l->sets  = ARENA_ARRAY(arena, uint64_t, (size_t)c->room * (size_t)c->graph->words);
    l->slots = ARENA_ARRAY(arena, int32_t, (size_t)c->slot_count);
    return l;
}

static int32_t *level_slot(const Cover *c, const Level *l, const uint64_t *set, uint64_t hash)
{
    const int words = c->graph->words;
    size_t    i     = hash & (size_t)(c->slot_count - 1);
    while (l->slots[i] && memcmp(row(l->sets, words, l->at[l->slots[i] - 1].row), set, sizeof *set * (size_t)words))
        i = (i + 1) & (size_t)(c->slot_count - 1);
    return &l->slots[i];
}

/* The best first. Ties by row number, so that the order is deterministic. */
static int by_bound(const void *a, const void *b)
{
    const Way *x = a, *y = b;
    return x->bound < y->bound ? -1 : x->bound > y->bound ? 1 : (x->row > y->row) - (x->row < y->row);
}

static void level_sort(Level *l)
{
    qsort(l->at, (size_t)l->count, sizeof *l->at, by_bound);
}

/* Cuts a full level down to its best. */
static void level_cut(Cover *c, Level *l, Arena *arena)
{
    const size_t words = (size_t)c->graph->words;
    Arena        scratch;
    scratch_begin(&scratch, arena->cx);
    uint64_t *sets = ARENA_ARRAY(&scratch, uint64_t, (size_t)c->width * words);
    level_sort(l);
    c->exact = false;
    l->count = c->width;
    for (int i = 0; i < l->count; i++)
        memcpy(sets + (size_t)i * words, row(l->sets, (int)words, l->at[i].row), sizeof *sets * words);
    memcpy(l->sets, sets, sizeof *sets * words * (size_t)l->count);
    scratch_end(&scratch);
    memset(l->slots, 0, sizeof *l->slots * (size_t)c->slot_count);
    for (int i = 0; i < l->count; i++) {
        l->at[i].row                                                  = i;
        *level_slot(c, l, row(l->sets, (int)words, i), l->at[i].hash) = i + 1;
    }
}

/* Offers a path to the down-set `set`; w has all but its row. */
static void level_offer(Cover *c, Level *l, const uint64_t *set, Way w, Arena *arena)
{
    const size_t words = (size_t)c->graph->words;
    w.hash             = set_hash(set, (int)words);
    int32_t *slot      = level_slot(c, l, set, w.hash);
    if (*slot) {
        Way *old = &l->at[*slot - 1];
        w.row    = old->row;
        if (w.cost < old->cost)
            *old = w;
        return;
    }
    if (l->count == c->room) {
        level_cut(c, l, arena);
        slot = level_slot(c, l, set, w.hash);
    }
    w.row = l->count;
    memcpy(l->sets + (size_t)w.row * words, set, sizeof *set * words);
    l->at[l->count++] = w;
    *slot             = l->count;
}

/* ---- The ways ---------------------------------------------------------------------------- */

/* Extends a path by each group that begins with node s and may come next. */
static void expand_by(Cover *c, const Way *way, const uint64_t *done, int size, int s, uint64_t *next, Arena *arena)
{
    const int words = c->graph->words;
    for (int k = c->begin[s]; k < c->begin[s + 1]; k++) {
        const int32_t  i = c->order[k];
        const Visited *v = &c->table->at.at[i];
        const Way      w = { .cost  = way->cost + v->cost,
                             .bound = way->bound + v->cost - c->share[i],
                             .from  = (int64_t)c->kept.count - 1,
                             .group = i };
        if (w.bound >= c->bound || !set_inside(row(c->needs, words, i), done, words))
            continue;
        memcpy(next, done, sizeof *next * (size_t)words);
        set_unite(next, set_of(c, i), words);
        Level **level = &c->levels[size + v->size];
        if (!*level)
            *level = level_new(c, arena);
        level_offer(c, *level, next, w, arena);
    }
}

static void expand(Cover *c, const Way *way, const uint64_t *done, int size, uint64_t *next, Arena *arena)
{
    const GroupGraph *g     = c->graph;
    const int         words = g->words;
    int               t     = 0;
    while (set_has(done, t))
        t++;
    vec_push(arena, &c->kept, ((Kept){ way->from, way->group }));
    const uint64_t *before = row(c->before, words, t);
    for (int s = set_next(before, t, words); s >= 0; s = set_next(before, s + 1, words))
        if (!set_has(done, s) && set_inside(row(g->read, words, s), done, words))
            expand_by(c, way, done, size, s, next, arena);
}

static void run_levels(Cover *c, double until, Arena *arena)
{
    const int n    = c->graph->count;
    uint64_t *next = ARENA_ARRAY(arena, uint64_t, (size_t)c->graph->words);
    for (int size = 0; size < n; size++) {
        Level *l = c->levels[size];
        if (!l)
            continue;
        level_sort(l);
        const bool late = until > 0 && group_clock() > until;
        const int  most = late ? 1 : c->width;
        c->exact        = c->exact && l->count <= most;
        for (int i = 0; i < l->count && i < most; i++)
            expand(c, &l->at[i], row(l->sets, c->graph->words, l->at[i].row), size, next, arena);
        l->next_free    = c->free;
        c->free         = l;
        c->levels[size] = NULL;
    }
}

int table_cover(const GroupTable *t, int width, double bound, double until, int32_t *chosen, bool *exact)
{
    const int n = t->graph->count;
    Cover     c = {
            .table = t, .graph = t->graph, .width = width, .room = GROUP_ROOM * width, .slot_count = 2, .exact = true
    };
    while (c.slot_count < 2 * c.room)
        c.slot_count *= 2;
    c.bound  = bound;
    c.levels = ARENA_ARRAY(t->arena, Level *, (size_t)n + 1);
    sort_groups(&c, t->arena);
    measure_groups(&c, t->arena);
    find_before(&c, t->arena);

    uint64_t *none = ARENA_ARRAY(t->arena, uint64_t, (size_t)t->graph->words);
    Way       way  = { .from = -1, .group = -1 };
    for (int s = 0; s < n; s++)
        way.bound += c.share[s];
    c.levels[0] = level_new(&c, t->arena);
    level_offer(&c, c.levels[0], none, way, t->arena);
    run_levels(&c, until, t->arena);

    *exact = c.exact;
    if (!c.levels[n] || !c.levels[n]->count)
        return 0;
    const Way *last  = &c.levels[n]->at[0];
    int        count = 0;
    chosen[count++]  = last->group;
    for (int64_t k = last->from; c.kept.at[k].group >= 0; k = c.kept.at[k].from)
        chosen[count++] = c.kept.at[k].group;
    for (int i = 0; i < count / 2; i++) {
        const int32_t other   = chosen[i];
        chosen[i]             = chosen[count - 1 - i];
        chosen[count - 1 - i] = other;
    }
    return count;
}
