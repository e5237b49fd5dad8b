/* SPDX-License-Identifier: MIT */
/* The cost model: the time that the groups of a draft take.
 *
 * Takes   the boxes of a group at each of its loop levels (cost_tiles.c) and a machine.
 * Gives   points, bytes, and ns per term: arithmetic, the traffic of each memory level, rows, tasks.
 * Points  of a member: those of its boxes at its store level, over all tiles, in whole vectors. A sliding window
 *         computes each point once between its store level and its compute level.
 * Traffic into a cache. Let level j be the outermost one whose iteration has a working set that fits. Iterations of
 *         loop j reuse what they share, so data is fetched once per iteration of the loops outside: the boxes of level
 *         j-1. If the whole group fits, nothing is fetched. (Sioutas et al. 2019, equations 1 to 11; folded buffers
 *         count with their folded size.) Traffic never exceeds what each row of a reader reads, nor the loads of the
 *         code. Where the rows that one row of a member reads do not fit, successive rows reuse nothing.
 * Starts  The hardware prefetcher needs a few consecutive lines to start, and stops at the end of a page. Each start
 *         of a run costs as much as the machine's `ahead` lines (equation 6). Runs that one loop step reads together
 *         start together, so they pay once. Hence split rows cost more to read than whole ones. What a prefetch
 *         directive covers has no start latency, and its memory traffic overlaps that of the caches, if the L2 holds it
 *         until it is read. Its instructions take the issue slots of loads.
 * Streams A prefetcher follows MOST_STREAMS rows at a time. Beyond that every line is unprefetched and costs the
 *         machine's `wait`.
 * Code    the instructions of the inner loops (cost_kernel.c).
 * Time    max(arithmetic, data movement) + start-up of rows and tasks. Data movement is the sum of the loads and of
 *         the traffic of each level: a line from memory passes all caches in turn, with little overlap (the model of
 *         Treibig and Hager 2009). Fitted, it orders measured times better than maxima or plain sums. */
#include "schedulers/model/cost_kernel.h"
#include "schedulers/draft/pattern.h"

const char *const cost_term_names[TERM_COUNT] = { "arithmetic", "loads", "waiting", "L2",   "L3",
                                                  "memory",     "rows",  "ends",    "tasks" };

typedef struct Model {
    Tiles          tiles;
    const Machine *m;
    NodeCost      *nodes;        /* by k */
    KernelCost    *kernels;      /* by k; of heads and members */
    int           *read_level;   /* by k: see find_read_levels */
    double        *rows_at_once; /* by k: rows of it that one step of its readers' row loops reads */
    double *streams; /* by k: rows of it, each a stream, that the steps of one vector of a sum walk through; 0: it is
                        read row by row */
    double threads;  /* at work at a time */
} Model;

static const GraphNode *node_at(const Model *c, int k)
{
    return &c->tiles.graph->nodes[c->tiles.nodes[k]];
}
static const Choice *choice_at(const Model *c, int k)
{
    return &c->tiles.draft->choices[c->tiles.nodes[k]];
}
static bool is_head(const Model *c, int k)
{
    return tiles_role(&c->tiles, k) == ROLE_HEAD;
}
static bool is_inlined(const Model *c, int k)
{
    return tiles_role(&c->tiles, k) == ROLE_INLINED;
}
static bool is_inside(const Model *c, int k)
{
    return tiles_role(&c->tiles, k) == ROLE_INSIDE;
}
static bool is_outside(const Model *c, int k)
{
    return tiles_role(&c->tiles, k) == ROLE_OUTSIDE;
}
static int compute_level(const Model *c, int k)
{
    return tiles_compute_level(&c->tiles, k);
}
static int store_level(const Model *c, int k)
{
    return tiles_store_level(&c->tiles, k);
}

/* ---- Points and bytes ------------------------------------------------------------------- */

static int64_t power_above(int64_t v)
{
    int64_t p = 1;
    while (p < v)
        p *= 2;
    return p;
}

/* The bytes of a member's storage: its box at the store level. A dimension along which it slides is folded to a power
 * of two. The first dimension is not folded; its rows may be padded to cache lines. */
static int64_t held_bytes(const Model *c, int k)
{
    const GraphNode *s     = node_at(c, k);
    const int64_t   *store = tiles_box(&c->tiles, store_level(c, k), k)->most,
                  *compute = tiles_box(&c->tiles, compute_level(c, k), k)->most;
    int64_t bytes          = s->bytes;
    for (int d = 0; d < s->rank; d++) {
        const int64_t all = store[d], now = d == 1 && c->tiles.draft->choices[c->tiles.nodes[k]].chain
                                                ? CHAIN_ROWS
                                                : power_above(compute[d]);
        const int64_t unit = d ? 1 : draft_row_unit(c->tiles.draft, c->tiles.nodes[k]);
        bytes *= d > 0 && now < all ? now : (all + unit - 1) / unit * unit;
    }
    return bytes;
}

/* Points computed for the readers: one per access if inlined; one per point of the reader for a reduction next to its
 * reader. */
static double readers_points(const Model *c, int k)
{
    const GraphNode *s      = node_at(c, k);
    double           points = 0;
    for (int i = 0; i < s->out_count; i++) {
        const int reader = s->out[i]->consumer, at = tiles_find(&c->tiles, reader);
        if (c->tiles.nodes[at] != reader || is_outside(c, at))
            continue;
        const GraphNode *r    = &c->tiles.graph->nodes[reader];
        const Work      *work = &r->defs[s->out[i]->update + 1];
        const double     root = r->defs[0].points > 0 ? r->defs[0].points : 1;
        points +=
            is_inlined(c, k) ? c->nodes[at].points * work->points / root * s->out[i]->accesses : c->nodes[at].points;
    }
    return points;
}

/* Vector tails: a row is computed in whole vectors, the last one overlapping. A row shorter than a vector is computed
 * point by point. Gives computed points per point of the row. */
static double with_tails(const Model *c, int k)
{
    const Box    *b   = &tiles_box(&c->tiles, compute_level(c, k), k)->middle;
    const int64_t row = node_at(c, k)->rank ? box_extent(b, 0) : 1;
    const int64_t lanes =
        choice_at(c, k)->lanes ? choice_at(c, k)->lanes : draft_lanes(c->tiles.draft, c->tiles.nodes[k]);
    return row < lanes || lanes < 1 ? 1 : (double)((row + lanes - 1) / lanes * lanes) / (double)row;
}

/* How often a member inside another member's loops is computed, relative to its boxes: as often as those loops run. A
 * sliding owner runs only for new rows. */
static double owner_repeats(const Model *c, int k)
{
    if (!choice_at(c, k)->at)
        return 1;
    const int    owner  = tiles_find(&c->tiles, choice_at(c, k)->at - 1);
    const double needed = tiles_box(&c->tiles, compute_level(c, owner), owner)->points;
    return (needed > 0 ? tiles_box(&c->tiles, store_level(c, owner), owner)->points / needed : 1) *
           owner_repeats(c, owner);
}

static void count_nodes(Model *c)
{
    for (int k = c->tiles.node_count - 1; k >= 0; k--) {
        const GraphNode *s  = node_at(c, k);
        NodeCost        *sc = &c->nodes[k];
        sc->needed          = (double)box_points(&s->box, s->rank);
        if (is_head(c, k)) {
            sc->points = sc->needed;
            sc->held   = (int64_t)sc->needed * s->bytes;
        } else if (is_inlined(c, k) || choice_at(c, k)->where == WHERE_DEFAULT) {
            sc->points = readers_points(c, k);
            sc->held   = is_inlined(c, k) ? 0 : s->bytes;
        } else if (is_inside(c, k)) {
            sc->points = tiles_box(&c->tiles, store_level(c, k), k)->points * owner_repeats(c, k) * with_tails(c, k);
            sc->held   = held_bytes(c, k);
        }
    }
}

/* The working set of one iteration of a level: what is read from outside, the part of the head, and the storage of
 * members. */
static double level_bytes(const Model *c, int level)
{
    double bytes = 0;
    for (int k = 0; k < c->tiles.node_count; k++) {
        const GraphNode *s   = node_at(c, k);
        const double     box = (double)box_points(&tiles_box(&c->tiles, level, k)->middle, s->rank) * (double)s->bytes;
        if (is_inlined(c, k))
            continue;
        bytes += is_inside(c, k) && (double)c->nodes[k].held < box ? (double)c->nodes[k].held : box;
    }
    return bytes;
}

/* Do the prefetched rows of node k stay in the L2 until they are read, beside what an iteration of that loop uses? */
static bool is_prefetched(const Model *c, int k)
{
    const Group *gr = &c->tiles.group;
    if (gr->prefetched != c->tiles.nodes[k] + 1)
        return false;
    const int    level = gr->prefetch_loop + 1;
    const Box   *box   = &tiles_box(&c->tiles, level, k)->middle;
    const double row =
        (double)box_points(box, node_at(c, k)->rank) / (double)box_extent(box, 1) * (double)node_at(c, k)->bytes;
    return level_bytes(c, level) + gr->ahead * row <= machine_kept_l2(c->m);
}

/* ---- Traffic ---------------------------------------------------------------------------- */

typedef struct Traffic {
    double read, written;
    double run_starts;   /* bytes of `read` in the first lines of runs, before the hardware prefetcher runs ahead */
    double unprefetched; /* bytes of `read` in unprefetched lines */
    double prefetched;   /* bytes of `read` covered by prefetch directives */
} Traffic;

/* Rows of the producer that one point of the reader reads. */
static double rows_of_point(const Model *c, const Edge *e, int reader)
{
    Box    point = tiles_box(&c->tiles, 0, reader)->middle;
    double all   = 1;
    for (int d = 0; d < node_at(c, reader)->rank; d++)
        point.max[d] = point.min[d] += (point.max[d] - point.min[d]) / 2;
    for (int d = 1; d < c->tiles.graph->nodes[e->producer].rank; d++) {
        int64_t lo, hi;
        access_range_span(&e->access[d], &point, &lo, &hi);
        all *= (double)(hi - lo + 1);
    }
    return all;
}

/* Does the reader use a copy laid out in its order of use? */
static bool is_copied(const Draft *d, const Edge *e)
{
    for (int i = 0; i < d->copy_count; i++)
        if (d->copies[i].of == e->producer && d->copies[i].reader == e->consumer)
            return true;
    return false;
}

/* A sum is computed vector by vector, with all steps of one vector in turn. Inlined nodes add the rows that they read.
 */
static void find_streams(Model *c)
{
    const Tiles *t = &c->tiles;
    for (int k = t->node_count - 1; k >= 0; k--) {
        const GraphNode *s    = node_at(c, k);
        const bool       sums = (is_head(c, k) || is_inside(c, k)) && s->kind == NODE_REDUCTION;
        for (int i = 0; i < s->in_count && (sums || (is_inlined(c, k) && c->streams[k] > 0)); i++) {
            const Edge *e  = s->in[i];
            const int   at = tiles_find(t, e->producer);
            if (is_copied(t->draft, e))
                continue;
            const double rows = rows_of_point(c, e, k) * (sums ? s->defs[e->update + 1].steps > 1 : c->streams[k]);
            c->streams[at]    = rows > c->streams[at] ? rows : c->streams[at];
        }
    }
}

/* Elements of the producer per point of the reader, where one row of the reader reuses nothing of another. */
static double row_reads(const Model *c, const Edge *e, int reader)
{
    const GraphNode *s = node_at(c, reader);
    Box row = tiles_box(&c->tiles, is_inside(c, reader) ? compute_level(c, reader) : c->tiles.level_count - 1, reader)
                  ->middle;
    double all = 1, length = s->rank ? (double)box_extent(&row, 0) : 1;
    for (int d = 1; d < s->rank; d++)
        row.max[d] = row.min[d];
    for (int d = 0; d < c->tiles.graph->nodes[e->producer].rank; d++) {
        int64_t lo, hi;
        access_range_span(&e->access[d], &row, &lo, &hi);
        all *= (double)(hi - lo + 1);
    }
    return length > 0 ? all / length : all;
}

/* The working set of successive rows of a reader: the rows that one row reads, and the row that it writes. */
static double window_bytes(const Model *c, int reader)
{
    const GraphNode *s     = node_at(c, reader);
    const int        level = compute_level(c, reader);
    const Box       *own   = &tiles_box(&c->tiles, level, reader)->middle;
    double           bytes = (double)(s->rank ? box_extent(own, 0) : 1) * (double)s->bytes;
    for (int i = 0; i < s->in_count; i++) {
        const Edge      *e   = s->in[i];
        const int        at  = tiles_find(&c->tiles, e->producer);
        const Box       *box = &tiles_box(&c->tiles, level, at)->middle;
        const GraphNode *p   = node_at(c, at);
        bytes += rows_of_point(c, e, reader) * (double)(p->rank ? box_extent(box, 0) : 1) * (double)p->bytes;
    }
    return bytes;
}

/* Is it a member whose window does not fit a cache of this size? */
static bool loses_window(const Model *c, int k, double size)
{
    return is_inside(c, k) && window_bytes(c, k) > size;
}

/* Elements of node k that are fetched if successive rows of a reader reuse nothing; at most one per access of the code.
 * With a size: only for members whose window does not fit a cache of that size. */
static double fetched_by_rows(const Model *c, int k, double size)
{
    const GraphNode *s   = node_at(c, k);
    double           all = 0;
    for (int i = 0; i < s->out_count; i++) {
        const Edge *e        = s->out[i];
        const int   at       = tiles_find(&c->tiles, e->consumer);
        const bool  in_group = c->tiles.nodes[at] == e->consumer && !is_outside(c, at);
        if (!in_group || (size > 0 && !loses_window(c, at, size)))
            continue;
        const GraphNode *r     = node_at(c, at);
        const double     times = r->defs[0].points > 0 ? c->nodes[at].points / r->defs[0].points : 1;
        const double     rows  = c->nodes[at].points * row_reads(c, e, at),
                     code      = r->defs[e->update + 1].points * times * e->accesses;
        all += rows < code ? rows : code;
    }
    return all;
}

/* The innermost level at which node k is read: the compute level of its readers. For the head the levels inside its
 * register tile do not count. */
static void find_read_levels(Model *c)
{
    const Tiles *t    = &c->tiles;
    int          last = t->level_count - 1;
    while (last > 1 && (t->group.loops[last - 1].unroll || t->group.loops[last - 1].vector))
        last--;
    for (int k = t->node_count - 1; k >= 0; k--) {
        const GraphNode *s     = node_at(c, k);
        const int        level = is_head(c, k) ? last : is_inside(c, k) ? compute_level(c, k) : c->read_level[k];
        for (int i = 0; i < s->in_count && !is_outside(c, k); i++) {
            int *at = &c->read_level[tiles_find(t, s->in[i]->producer)];
            *at     = level > *at ? level : *at;
        }
    }
}

/* Rows of a producer that the head reads for one vector, all unrolled copies together. */
static double rows_of_vector(const Model *c, int k)
{
    const Tiles *t     = &c->tiles;
    int          level = t->level_count - 1;
    while (level > 1 && !t->group.loops[level - 1].vector)
        level--;
    const Box *box = &tiles_box(t, level, k)->middle;
    double     all = 1;
    for (int d = 1; d < node_at(c, k)->rank; d++)
        all *= (double)box_extent(box, d);
    return all;
}

/* Consumers first. An inlined node is read by the loops of its readers. */
static void find_rows_at_once(Model *c)
{
    bool *by_head = ARENA_ARRAY(c->tiles.arena, bool, (size_t)c->tiles.node_count);
    for (int k = c->tiles.node_count - 1; k >= 0; k--) {
        const GraphNode *s = node_at(c, k);
        by_head[k] |= is_head(c, k);
        for (int i = 0; i < s->in_count && !is_outside(c, k); i++) {
            const int    at     = tiles_find(&c->tiles, s->in[i]->producer);
            const double rows   = by_head[k]
                                      ? rows_of_vector(c, at)
                                      : rows_of_point(c, s->in[i], k) * (is_inlined(c, k) ? c->rows_at_once[k] : 1);
            c->rows_at_once[at] = rows > c->rows_at_once[at] ? rows : c->rows_at_once[at];
            by_head[at] |= by_head[k] && is_inlined(c, at);
        }
    }
}

/* The fraction of the bytes read of node k that pays start latency. A run is a row of the box that is read at a time,
 * or several rows where the box has them whole; it ends at a page. */
static double start_latency_share(const Model *c, int k)
{
    const GraphNode *s   = node_at(c, k);
    const Box       *box = &tiles_box(&c->tiles, c->read_level[k], k)->middle;
    double           run = (double)s->bytes;
    bool             all = true;
    if (is_prefetched(c, k))
        return 0;
    for (int d = 0; d < s->rank && all; d++) {
        run *= (double)box_extent(box, d);
        all = box->min[d] == s->box.min[d] && box->max[d] == s->box.max[d];
    }
    const double lines = c->m->ahead * (double)c->m->line, length = run < PAGE_BYTES ? run : PAGE_BYTES,
                 once = c->rows_at_once[k] < MOST_OUTSTANDING ? c->rows_at_once[k] : MOST_OUTSTANDING;
    return (length > lines ? lines / length : 1) / (once > 1 ? once : 1);
}

/* The traffic across the border of a cache of this size. Members whose storage fits cause none. Otherwise each row that
 * is computed fetches what it reads, unless tiles reuse more. */
static Traffic traffic_beyond(const Model *c, double size)
{
    int          j    = 0;
    Traffic      t    = { 0 };
    const double kept = time_tiles_kept(c->tiles.draft, c->m, c->tiles.group.head, size);
    while (j < c->tiles.level_count && level_bytes(c, j) > size)
        j++;
    if (j == 0)
        return t;
    for (int k = 0; k < c->tiles.node_count; k++) {
        const int    level = c->read_level[k] < j - 1 ? c->read_level[k] : j - 1;
        const double bytes = (double)node_at(c, k)->bytes, by_tiles = tiles_box(&c->tiles, level, k)->points;
        const bool   large = is_inside(c, k) && (double)c->nodes[k].held > size;
        if (is_outside(c, k) || large) {
            const double by_rows = fetched_by_rows(c, k, 0), again = fetched_by_rows(c, k, size),
                         least = again > by_tiles ? again : by_tiles;
            const double read  = bytes * (by_rows < least ? by_rows : least) / kept;
            t.read += read;
            t.run_starts += read * start_latency_share(c, k);
            t.unprefetched += c->streams[k] > MOST_STREAMS ? read : 0;
            t.prefetched += is_prefetched(c, k) ? read : 0;
        }
        if (is_head(c, k) || large)
            t.written += c->nodes[k].points * bytes / kept;
    }
    return t;
}

/* ---- Time ------------------------------------------------------------------------------- */

/* The instructions of all nodes. kernel_cost counts vector tails itself, so they are divided out here. */
static KernelCost instructions(Model *c)
{
    KernelCost all = { 0 };
    for (int k = 0; k < c->tiles.node_count; k++) {
        if (!is_head(c, k) && !is_inside(c, k))
            continue;
        const bool       tails = is_inside(c, k) && choice_at(c, k)->where == WHERE_INSIDE;
        const KernelCost one   = c->kernels[k] =
            kernel_cost(&c->tiles, k, c->nodes[k].points / (tails ? with_tails(c, k) : 1));
        all = (KernelCost){
            all.ops + one.ops, all.loads + one.loads, all.stores + one.stores, all.waits + one.waits, 0, false
        };
    }
    return all;
}

/* Prefetch instructions, which take the issue slots of loads. */
static double prefetches(const Model *c)
{
    const Group *gr = &c->tiles.group;
    return gr->prefetched ? gr->prefetches * c->nodes[tiles_find(&c->tiles, gr->head)].points /
                                (double)draft_lanes(c->tiles.draft, gr->head)
                          : 0;
}

/* Are many rows of a member computed in a run? The bounds of split rows are then computed once for all of them. */
static bool is_run_of_rows(const Model *c, int k)
{
    const Box *b = &tiles_box(&c->tiles, compute_level(c, k), k)->middle;
    return is_inside(c, k) && node_at(c, k)->rank > 1 && box_extent(b, 1) >= MANY_ROWS;
}

/* Rows started by all nodes: those that are split where a condition changes, or the others. */
static double rows_begun(const Model *c, bool bounded)
{
    double rows = 0;
    for (int k = 0; k < c->tiles.node_count; k++)
        rows += c->kernels[k].bounded == bounded
                    ? c->kernels[k].rows * (bounded && is_run_of_rows(c, k) ? SPLIT_ROW_IN_RUN : 1)
                    : 0;
    return rows;
}

/* How often the bounds of sliding windows are updated. */
static double slides(const Model *c)
{
    double all = 0;
    for (int k = 0; k < c->tiles.node_count; k++)
        if (is_inside(c, k) && store_level(c, k) < compute_level(c, k))
            all += c->tiles.tiles[compute_level(c, k)];
    return all;
}

/* A copy reads a line, fetches the line that it overwrites, and writes it back: three moves, two with streaming stores.
 * memory_rate is of such copies. */
static double memory_time(const Traffic *t, bool stream, double rate)
{
    return (t->read + t->written * (stream ? 1 : 2)) / 3 / rate;
}

static double cache_time(const Traffic *t, double rate)
{
    return (t->read + t->written) / 2 / rate;
}

/* The time of prefetched traffic that overlaps loads and cache traffic. */
static double hidden_time(const double *term, double ahead)
{
    const double rest = term[TERM_LOADS] + term[TERM_L2] + term[TERM_L3];
    return ahead < rest ? ahead : rest;
}

double cost_of_terms(const double *term)
{
    const double busy  = term[TERM_OPS] + term[TERM_WAITS],
                 moves = term[TERM_LOADS] + term[TERM_L2] + term[TERM_L3] + term[TERM_MEMORY];
    return (busy > moves ? busy : moves) + term[TERM_ROWS] + term[TERM_ENDS] + term[TERM_TASKS];
}

static void find_terms(Model *c, GroupCost *out)
{
    const Machine *m     = c->m;
    const double   share = c->threads;
    const Traffic  l1 = traffic_beyond(c, (double)m->l1), l2 = traffic_beyond(c, machine_kept_l2(m));
    const double   waves =
        out->tasks > share ? share * (double)(int64_t)((out->tasks + share - 1) / share) / out->tasks : 1;
    const double     all  = m->memory_all < m->memory_rate * share ? m->memory_all : m->memory_rate * share;
    const Traffic    far  = traffic_beyond(c, machine_last_cache(m));
    const KernelCost code = instructions(c);
    out->term[TERM_OPS]   = code.ops * m->op / share * waves;
    out->term[TERM_LOADS] = (code.loads + prefetches(c) + 2 * code.stores) * m->load / share * waves;
    out->term[TERM_WAITS] = code.waits * m->op / share * waves;
    out->term[TERM_L2]    = cache_time(&l1, m->l2_rate * share) * waves;
    out->term[TERM_L3] =
        (m->l3 ? (cache_time(&l2, m->l3_rate * share) + l2.run_starts / m->l3_rate / share) * waves : 0) +
        l2.unprefetched / (double)m->line * m->wait / share;
    out->term[TERM_MEMORY] =
        memory_time(&far, c->tiles.group.stream, all) + far.run_starts / machine_start_rate(m) / share;
    out->term[TERM_MEMORY] -= hidden_time(out->term, far.prefetched / 3 / all);
    out->term[TERM_ROWS]  = (rows_begun(c, false) + SLIDE_ROWS * slides(c)) * m->row / share;
    out->term[TERM_ENDS]  = rows_begun(c, true) * m->split_row / share;
    out->term[TERM_TASKS] = out->tasks > 1 ? out->tasks * m->task / share : 0;
    out->ns               = cost_of_terms(out->term);
}

/* The innermost tile level: inside it only loops over single rows and vectors are left. */
static int tile_level(const Tiles *t)
{
    int level = t->level_count - 1;
    while (level > 0 && (t->group.loops[level - 1].step == 1 || t->group.loops[level - 1].vector))
        level--;
    return level > 0 ? level : t->level_count > 1 ? 1 : 0;
}

static void find_totals(const Model *c, GroupCost *out)
{
    double needed = 0, again = 0;
    for (int k = 0; k < c->tiles.node_count; k++) {
        const double bytes = (double)node_at(c, k)->bytes;
        if (is_outside(c, k)) {
            out->live_in += tiles_box(&c->tiles, 0, k)->points * bytes;
        } else if (is_head(c, k)) {
            out->live_out += c->nodes[k].points * bytes;
        }
        if (is_head(c, k) || is_inside(c, k)) {
            needed += c->nodes[k].needed;
            again += c->nodes[k].points > c->nodes[k].needed ? c->nodes[k].points - c->nodes[k].needed : 0;
        }
    }
    out->redundant = needed > 0 ? again / needed : 0;
    out->footprint = (int64_t)level_bytes(c, tile_level(&c->tiles));
    out->tasks     = tiles_tasks(&c->tiles);
    if (time_tiles_tasks(c->tiles.draft, c->tiles.group.head) > out->tasks)
        out->tasks = time_tiles_tasks(c->tiles.draft, c->tiles.group.head);
}

static void model_group(const Draft *d, int group, const Machine *m, bool quick, NodeCost *nodes, GroupCost *out)
{
    Arena scratch;
    Model c = { .m = m };
    *out    = (GroupCost){ 0 };
    scratch_begin(&scratch, d->graph->pipeline->cx);
    tiles_make(&c.tiles, d, group, m, quick, &scratch);
    context_spend(scratch.cx, STEPS_PER_NODE * (uint64_t)c.tiles.node_count);
    c.nodes        = ARENA_ARRAY(&scratch, NodeCost, (size_t)c.tiles.node_count);
    c.kernels      = ARENA_ARRAY(&scratch, KernelCost, (size_t)c.tiles.node_count);
    c.read_level   = ARENA_ARRAY(&scratch, int, (size_t)c.tiles.node_count);
    c.rows_at_once = ARENA_ARRAY(&scratch, double, (size_t)c.tiles.node_count);
    c.streams      = ARENA_ARRAY(&scratch, double, (size_t)c.tiles.node_count);
    count_nodes(&c);
    find_rows_at_once(&c);
    find_read_levels(&c);
    find_streams(&c);
    find_totals(&c, out);
    c.threads = out->tasks < m->cores ? out->tasks : m->cores;
    c.threads = c.threads < 1 ? 1 : c.threads;
    find_terms(&c, out);
    for (int k = 0; nodes && k < c.tiles.node_count; k++)
        if (!is_outside(&c, k))
            nodes[c.tiles.nodes[k]] = c.nodes[k];
    scratch_end(&scratch);
}

void cost_group(const Draft *d, int group, const Machine *m, NodeCost *nodes, GroupCost *out)
{
    model_group(d, group, m, false, nodes, out);
}

double cost_group_quick(const Draft *d, int group, const Machine *m)
{
    GroupCost cost;
    model_group(d, group, m, true, NULL, &cost);
    return cost.ns;
}

double cost_draft(const Draft *d, const Machine *m)
{
    double ns = 0;
    for (int i = 0; i < d->group_count; i++) {
        GroupCost cost;
        cost_group(d, i, m, NULL, &cost);
        ns += cost.ns;
    }
    return ns;
}
