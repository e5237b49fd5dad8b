/* Tile sizes and the cost of a group.
 *
 * From    Jangda and Bondhugula 2020: Algorithm 2 (ComputeTileSizes and the four terms of equation 2, section 4) and Algorithm 4 (two levels, section 5.2).
 * Sizes   The innermost dimension has a fixed size; the others share the volume that the cache allows in the ratio of the reuse along them. Sizes are any numbers,
 *         and are made smaller until the exact boxes of all stages fit: first into L1, then into L2.
 * Levels  Inside a tile for L2 the parallelogram tiles of the paper are a sliding window here, one row of the head at a time: what it computes is what the L2 tile computes, and what
 *         it holds are the rows that are needed again.
 * Beyond  The terms are times, all by the machine's speeds: live-in and live-out bytes over the speed of the memory they are in; the work, and what of it is done twice; the cores that wait
 *         while the last tiles are done; the beginnings of rows. The fourth of the paper, the difference in size, is in the boxes, which are exact. */
#include "schedulers/tile.h"
#include "schedulers/reach.h"

#include <math.h>

enum { INNERMOST = 256, TASKS = 4, FEW_PLANES = 8 };

static int64_t extent(const Box *b, int d)
{
    return b->max[d] < b->min[d] ? 0 : b->max[d] - b->min[d] + 1;
}

TileSpace tile_space(const Draft *d, const Machine *m, bool one_level, Arena *arena)
{
    const size_t n = (size_t)d->graph->stage_count + 1;
    return (TileSpace){ d->graph, m, d, one_level, ARENA_ARRAY(arena, bool, n), ARENA_ARRAY(arena, bool, n), ARENA_ARRAY(arena, Box, n) };
}

/* ---- Sizes ------------------------------------------------------------------------------- */

/* How often elements are read again along a dimension: the widths of all windows that the group reads through. */
static double reuse(const TileSpace *t, const int *stages, int count, int dim)
{
    double score = 1;
    for (int i = 0; i < count; i++) {
        const Stage *st = &t->g->stages[stages[i]];
        for (int k = 0; k < st->in_count; k++)
            for (int e = 0; e < t->g->stages[st->in[k]->producer].rank; e++) {
                const Reach *r = &st->in[k]->reach[e];
                if (r->var == dim)
                    score += (double)(r->hi - r->lo) / (double)r->den;
            }
    }
    return score;
}

static int64_t planes_of(const Stage *head)
{
    int64_t planes = 1;
    for (int d = 2; d < head->rank; d++)
        planes *= extent(&head->box, d);
    return planes;
}

/* ComputeTileSizes: `volume` points, of which the innermost dimension has its own, and the k others share the rest in the ratio γ of the reuse along them: τ^k Πγ is the rest. Few planes are
 * all in a tile, and share nothing. */
static void compute_sizes(const TileSpace *t, const int *stages, int count, double volume, int64_t *size)
{
    const Stage *head = &t->g->stages[stages[count - 1]];
    const int    last = planes_of(head) <= FEW_PLANES && head->rank > 1 ? 1 : head->rank - 1;      /* that shares */
    double       gamma[KN_MAX_RANK], most = 1, tau = volume;
    for (int d = 1; d <= last; d++) {
        gamma[d] = reuse(t, stages, count, d);
        most     = fmax(most, gamma[d]);
    }
    for (int d = 0; d < head->rank; d++) {
        const int64_t all = extent(&head->box, d);
        size[d]           = d == 0 && all > INNERMOST ? INNERMOST : all;
        tau /= d >= 1 && d <= last ? gamma[d] / most : (double)size[d];
    }
    tau = last > 0 ? pow(tau, 1.0 / last) : tau;
    for (int d = 1; d <= last; d++) {
        const double share = floor(tau * gamma[d] / most);
        size[d]            = share < 1 ? 1 : share < (double)size[d] ? (int64_t)share : size[d];
    }
}

/* ---- Boxes ------------------------------------------------------------------------------- */

/* The boxes of all stages of the group for a tile in the middle. */
static void tile_boxes(TileSpace *t, const int *stages, int count, const int64_t *size)
{
    const int    head = stages[count - 1];
    const Stage *st   = &t->g->stages[head];
    Box          box  = st->box;
    for (int d = 0; d < st->rank; d++) {
        box.min[d] += extent(&st->box, d) / 2 / size[d] * size[d];
        box.max[d] = box.min[d] + size[d] - 1 < st->box.max[d] ? box.min[d] + size[d] - 1 : st->box.max[d];
    }
    for (int i = 0; i < t->g->stage_count; i++) {
        t->given[i]  = i == head;
        t->member[i] = t->d->choices[i].where == WHERE_INLINE || t->d->choices[i].where == WHERE_DEFAULT;
    }
    for (int i = 0; i + 1 < count; i++)
        t->member[stages[i]] = true;
    t->boxes[head] = box;
    graph_regions(t->g, t->given, t->member, t->boxes);
}

static double bytes_in(const TileSpace *t, int s)
{
    return (double)box_points(&t->boxes[s], t->g->stages[s].rank) * (double)t->g->stages[s].bytes;
}

static double bytes_held(const TileSpace *t, const int *stages, int count)
{
    double bytes = 0;
    for (int i = 0; i < count; i++)
        bytes += bytes_in(t, stages[i]);
    return bytes;
}

/* Bytes that the tile reads of stage p, which is outside, through stages of the group and what is inlined into them. */
static double bytes_read(const TileSpace *t, int p)
{
    const Stage *st = &t->g->stages[p];
    Box          all;
    bool         any = false;
    for (int k = 0; k < st->out_count; k++) {
        const Edge *e = st->out[k];
        if ((!t->given[e->consumer] && !t->member[e->consumer]) || !box_points(&t->boxes[e->consumer], t->g->stages[e->consumer].rank))
            continue;
        for (int d = 0; d < st->rank; d++) {
            int64_t lo, hi;
            reach_span(&e->reach[d], &t->boxes[e->consumer], &lo, &hi);
            lo         = lo < st->box.min[d] ? st->box.min[d] : lo;
            hi         = hi > st->box.max[d] ? st->box.max[d] : hi;
            all.min[d] = any && all.min[d] < lo ? all.min[d] : lo;
            all.max[d] = any && all.max[d] > hi ? all.max[d] : hi;
        }
        any = true;
    }
    return any ? (double)box_points(&all, st->rank) * (double)st->bytes : 0;
}

/* ---- The terms --------------------------------------------------------------------------- */

static double stage_ns(const TileSpace *t, const Stage *st)
{
    const double lanes = (double)t->m->vector_bits / (st->wide < 8 ? 8 : st->wide);
    double       ops   = 0;
    for (int k = 0; k < st->def_count; k++)
        ops += (st->defs[k].ops + st->defs[k].loads + 1) * st->defs[k].points;
    return ops / (lanes < 1 ? 1 : lanes) * t->m->op;
}

/* ns to read or write so many bytes of an array of `size` bytes, all cores at it. A copy moves a byte twice. */
static double moved_ns(const Machine *m, double bytes, double size)
{
    const double rate = size <= (double)m->l2 ? m->l2_rate * m->cores : size <= (double)m->l3 / 2 ? m->l3_rate * m->cores : m->memory_all;
    return bytes / (2 * rate);
}

static double root_bytes(const Stage *st)
{
    return (double)box_points(&st->box, st->rank) * (double)st->bytes;
}

static double tiles_of(const Stage *head, const int64_t *size)
{
    double tiles = 1;
    for (int d = 0; d < head->rank; d++)
        tiles *= ceil((double)extent(&head->box, d) / (double)(size[d] > 0 ? size[d] : 1));
    return tiles;
}

/* Work of the group, once and again, and the traffic between its stages inside the cache that they fit into. */
static void add_work(const TileSpace *t, const int *stages, int count, double tiles, Tile *out)
{
    const Machine *m    = t->m;
    const double   rate = (double)out->footprint <= (double)m->l1 ? m->l1_rate : (double)out->footprint <= (double)m->l2 ? m->l2_rate : m->l3_rate;
    for (int i = 0; i < count; i++) {
        const Stage *st     = &t->g->stages[stages[i]];
        const double needed = (double)box_points(&st->box, st->rank), points = (double)box_points(&t->boxes[stages[i]], st->rank);
        const double times  = needed >= 1 ? fmax(points * tiles / needed, 1) : 1, ns = stage_ns(t, st) / m->cores;
        const double width  = (double)extent(&t->boxes[stages[i]], 0);
        out->volume += points;
        out->overlap += points - needed / tiles > 0 ? points - needed / tiles : 0;
        out->term[TILE_WORK] += ns;
        out->term[TILE_OVERLAP] += ns * (times - 1);
        out->term[TILE_ROWS] += points * tiles / (width < 1 ? 1 : width) * m->row / m->cores;
        if (i + 1 < count)
            out->term[TILE_TRAFFIC] += points * tiles * (double)st->bytes / (rate * m->cores);
    }
}

static void add_traffic(const TileSpace *t, const int *stages, int count, double tiles, Tile *out)
{
    const Stage *head = &t->g->stages[stages[count - 1]];
    out->term[TILE_TRAFFIC] += moved_ns(t->m, root_bytes(head), root_bytes(head));
    for (int p = 0; p < t->g->stage_count; p++) {
        const double bytes = t->given[p] || t->member[p] ? 0 : bytes_read(t, p) * tiles;
        if (bytes > 0)
            out->term[TILE_TRAFFIC] += moved_ns(t->m, bytes, root_bytes(&t->g->stages[p]));
    }
}

/* Does each tile need nearly all of a member? Then it is better by itself. */
static bool is_all_of_one(const TileSpace *t, const int *stages, int count)
{
    for (int i = 0; i + 1 < count; i++) {
        const Stage *st = &t->g->stages[stages[i]];
        if ((double)box_points(&t->boxes[stages[i]], st->rank) > 0.9 * (double)box_points(&st->box, st->rank))
            return true;
    }
    return false;
}

/* The cost of the group in tiles of these sizes. */
static Tile tile_cost(TileSpace *t, const int *stages, int count, const int64_t *size, bool slides)
{
    Tile         out   = { .slides = slides };
    const Stage *head  = &t->g->stages[stages[count - 1]];
    const double tiles = tiles_of(head, size);
    int64_t      window[KN_MAX_RANK];
    memcpy(out.size, size, sizeof out.size);
    memcpy(window, size, sizeof window);
    if (slides && head->rank > 1)
        window[1] = 1;
    tile_boxes(t, stages, count, window);
    out.footprint = (int64_t)bytes_held(t, stages, count);
    if (slides)
        tile_boxes(t, stages, count, size);
    if (tiles > 1 && is_all_of_one(t, stages, count))
        return (Tile){ .cost = INFINITY };
    add_work(t, stages, count, tiles, &out);
    add_traffic(t, stages, count, tiles, &out);
    const double busy      = ceil(tiles / t->m->cores) * t->m->cores / tiles;
    out.term[TILE_BALANCE] = (out.term[TILE_WORK] + out.term[TILE_OVERLAP]) * (busy - 1) + tiles * t->m->task / t->m->cores;
    for (int i = 0; i < TILE_TERMS; i++)
        out.cost += out.term[i];
    return out;
}

/* ---- Choosing ---------------------------------------------------------------------------- */

/* Makes tiles smaller until their exact boxes fit: the longest dimension first, the width last. */
static void shrink(TileSpace *t, const int *stages, int count, double cache, int64_t *size)
{
    const int rank = t->g->stages[stages[count - 1]].rank;
    for (;;) {
        tile_boxes(t, stages, count, size);
        if (bytes_held(t, stages, count) <= cache)
            return;
        int largest = 1;
        for (int d = 2; d < rank; d++)
            largest = size[d] > size[largest] ? d : largest;
        if (rank > 1 && size[largest] > 1)
            size[largest] -= (size[largest] + 7) / 8;
        else if (size[0] > 64)
            size[0] /= 2;
        else
            return;
    }
}

/* CostForCacheSize: at least a tile for each core, and as large as the cache allows. */
static Tile for_cache(TileSpace *t, const int *stages, int count, double cache)
{
    double  total = 0;
    int64_t size[KN_MAX_RANK] = { 0 };
    for (int i = 0; i < count; i++)
        total += root_bytes(&t->g->stages[stages[i]]);
    const double held = fmin(total / (TASKS * t->m->cores), cache), bytes = (double)t->g->stages[stages[count - 1]].bytes;
    compute_sizes(t, stages, count, held / count / (bytes < 1 ? 1 : bytes), size);
    shrink(t, stages, count, held, size);
    return tile_cost(t, stages, count, size, false);
}

/* Strips as high as leaves TASKS for each core, as wide as lets a window of rows stay in the cache. */
static Tile sliding(TileSpace *t, const int *stages, int count, double cache)
{
    const Stage *head = &t->g->stages[stages[count - 1]];
    int64_t      size[KN_MAX_RANK] = { 0 }, window[KN_MAX_RANK], planes;
    planes = planes_of(head) <= FEW_PLANES ? 1 : planes_of(head);
    for (int d = 0; d < head->rank; d++)
        size[d] = d > 1 && planes > 1 ? 1 : extent(&head->box, d);
    size[1] = extent(&head->box, 1) * planes / (TASKS * t->m->cores);
    size[1] = size[1] < 1 ? 1 : size[1] > extent(&head->box, 1) ? extent(&head->box, 1) : size[1];
    memcpy(window, size, sizeof window);
    window[1] = 1;
    shrink(t, stages, count, cache, window);
    size[0] = window[0];
    return tile_cost(t, stages, count, size, true);
}

Tile tile_best(TileSpace *t, const int *stages, int count)
{
    const Stage *head      = &t->g->stages[stages[count - 1]];
    const double caches[2] = { (double)t->m->l1, 0.75 * (double)t->m->l2 };
    Tile         best      = { .cost = INFINITY };
    if (!box_points(&head->box, head->rank))
        return (Tile){ .size = { 1, 1, 1, 1, 1, 1, 1, 1 } };
    for (int i = 0; i < 2; i++) {
        const Tile whole = for_cache(t, stages, count, caches[i]);
        best             = whole.cost < best.cost ? whole : best;
    }
    if (head->rank < 2 || t->one_level)
        return best;
    const Tile rows = sliding(t, stages, count, caches[1]);
    return rows.cost < best.cost ? rows : best;
}
