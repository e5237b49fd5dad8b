/* SPDX-License-Identifier: MIT */
/* The cost of a segment in one loop nest: boxes, buffers, recomputation, loads.
 *
 * From    Sioutas et al. 2019, section 3: equations 1 and 8 to 11 are the boxes at store and compute levels (folded
 *         where these differ), 2 to 4 the points of a node at its store level over all iterations, 5 and 6 the loads:
 *         the hardware prefetches consecutive lines, so that only the start of each row exposes latency; section 4.2:
 *         C_total = Σ w·Cl + Cp - C^root.
 * Beyond  All costs are times on the machine: w is its time to start a row over its time of an operation. Prefetched
 *         lines are free only up to the memory bandwidth. So the traffic beyond each cache counts too, overlapped with
 *         the arithmetic: the larger of the two. C^root is the same for all segmentations and is left in, so that
 *         costs of segments are comparable with times. A segment waits for its last tasks. */
#include "schedulers/search/reuse_internal.h"
#include "schedulers/draft/row_copies.h"

#include <math.h>

/* ---- Boxes ------------------------------------------------------------------------------- */

/* Restricts the head's box to the middle iteration of a loop. Gives the number of iterations. */
static double cut(const GroupLoop *l, Box *box)
{
    const int64_t all = box_extent(box, l->dim), count = (all + l->step - 1) / l->step;
    if (count < 1)
        return 1;
    box->min[l->dim] += (count - 1) / 2 * l->step;
    if (box->max[l->dim] > box->min[l->dim] + l->step - 1)
        box->max[l->dim] = box->min[l->dim] + l->step - 1;
    return (double)count;
}

static void level_boxes(Segment *s, const Box *head, int level)
{
    for (int k = 0; k < s->outside_count; k++)
        s->boxes[s->outside[k]].max[0] = s->boxes[s->outside[k]].min[0] - 1;
    s->boxes[s->nodes[s->count - 1]] = *head;
    graph_regions_among(s->g, s->nodes, s->count, s->given, s->member, s->boxes);
    for (int k = 0; k < s->count + s->outside_count; k++) {
        const int        at   = k < s->count ? s->nodes[k] : s->outside[k - s->count];
        const GraphNode *node = &s->g->nodes[at];
        Box             *b    = segment_box(s, level, k);
        *b                    = s->boxes[at];
        for (int d = 0; d < node->rank; d++) {
            b->min[d] = b->min[d] > node->box.min[d] ? b->min[d] : node->box.min[d];
            b->max[d] = b->max[d] < node->box.max[d] ? b->max[d] : node->box.max[d];
        }
    }
}

void nest_boxes(Segment *s, Tiling *n)
{
    Box box          = s->g->nodes[s->nodes[s->count - 1]].box;
    n->iterations[0] = n->tasks = 1;
    level_boxes(s, &box, 0);
    for (int i = 0; i < n->loop_count; i++) {
        const double count   = cut(&n->loops[i], &box);
        n->iterations[i + 1] = n->iterations[i] * count;
        n->tasks *= n->loops[i].parallel ? count : 1;
        level_boxes(s, &box, i + 1);
    }
}

/* ---- Points and buffers -------------------------------------------------------------------- */

typedef struct Model {
    const Segment *s;
    const Tiling  *n;
    const Level   *levels;
    double        *points;  /* by k, of the segment's nodes: computed in all */
    double        *held;    /* bytes stored; outside: 0 */
    uint32_t      *by_data; /* of inlined nodes: dimensions in which data decide the points where they are computed */
    int           *ends; /* of inlined nodes: the one node at whose own points they are computed; -1: at others too */
} Model;

static const GraphNode *node_at(const Segment *s, int k)
{
    return &s->g->nodes[k < s->count ? s->nodes[k] : s->outside[k - s->count]];
}

static bool is_head(const Segment *s, int k)
{
    return k == s->count - 1;
}

/* The node at whose own points k is computed through this edge, by way of inlined nodes; -1: at others. */
static int at_points_of(const Model *c, const Edge *e)
{
    const int at = c->s->place[e->consumer];
    if (!e->pointwise || e->update >= 0 || at < 0 || at >= c->s->count)
        return -1;
    return c->levels[at].where == WHERE_INLINE ? c->ends[at] : at;
}

/* Does an edge before the i-th read the same points for the same node? The compiler computes them once. */
static bool is_duplicate(const Model *c, const GraphNode *node, int i)
{
    const int end = at_points_of(c, node->out[i]);
    for (int j = 0; j < i && end >= 0; j++)
        if (at_points_of(c, node->out[j]) == end)
            return true;
    return false;
}

/* Does the reader have a row copy of it, if it is inlined? */
static bool is_row(const Model *c, const Edge *e)
{
    const int at = c->s->place[e->consumer];
    return at >= 0 && at < c->s->count && c->levels[at].where != WHERE_INLINE && row_copy_fits(c->s->d, e);
}

/* Points of an inlined node: computed for each access, unless there is a row copy. */
static double inlined_points(const Model *c, int k)
{
    const GraphNode *node = node_at(c->s, k);
    double           all  = 0;
    c->ends[k]            = node->out_count ? at_points_of(c, node->out[0]) : -1;
    for (int i = 0; i < node->out_count; i++) {
        const Edge *e  = node->out[i];
        const int   at = c->s->place[e->consumer], end = at_points_of(c, e);
        c->ends[k] = end == c->ends[k] ? end : -1;
        if (at >= 0 && at < c->s->count)
            c->by_data[k] |= edge_by_data(c->s->g, e, c->by_data[at]);
        if (at < 0 || at >= c->s->count || is_duplicate(c, node, i))
            continue;
        const GraphNode *r    = node_at(c->s, at);
        const double     root = r->defs[0].points > 0 ? r->defs[0].points : 1;
        all += end >= 0 ? c->points[end]
                        : c->points[at] * r->defs[e->update + 1].points / root *
                              (is_row(c, e) ? row_copy_points(e) : e->accesses);
    }
    return all;
}

/* Equations 1 and 9: the box at the store level. If it slides, all but the first dimension are folded to the footprint
 * of one iteration, rounded to a power of two. */
static double stored_bytes(const Segment *s, const Level *l, int k)
{
    const GraphNode *node  = node_at(s, k);
    const Box       *store = segment_box(s, l->store + 1, k), *now = segment_box(s, l->compute + 1, k);
    double           bytes = (double)node->bytes;
    for (int d = 0; d < node->rank; d++) {
        int64_t fold = 1;
        while (fold < box_extent(now, d))
            fold *= 2;
        const int64_t all = box_extent(store, d);
        bytes *= (double)(d > 0 && l->store < l->compute && fold < all ? fold : all);
    }
    return bytes;
}

static void count_node(Model *c, int k, NestCost *out)
{
    const Level *l = &c->levels[k];
    c->held[k]     = 0;
    c->by_data[k]  = 0;
    if (is_head(c->s, k)) {
        c->points[k] = segment_points(c->s, 0, k);
    } else if (l->where == WHERE_INLINE) {
        c->points[k] = inlined_points(c, k);
    } else {
        c->points[k] = segment_points(c->s, l->store + 1, k) * c->n->iterations[l->store + 1];
        c->held[k]   = stored_bytes(c->s, l, k);
        *(l->store < l->compute ? &out->folded : &out->unfolded) += c->held[k];
    }
}

/* ---- Times --------------------------------------------------------------------------------- */

/* The box that one run of a node's own loops computes. */
static const Box *run_box(const Model *c, int k)
{
    const int vectors = c->n->loop_count > 0 ? c->n->loop_count - 1 : 0;
    return segment_box(c->s,
                       is_head(c->s, k) || c->levels[k].where == WHERE_INLINE ? vectors : c->levels[k].compute + 1, k);
}

/* Loads of a definition with stride 2 or 1/2: they take wide loads and shuffles. */
static double shuffles(const GraphNode *node, int update)
{
    double extra = 0;
    for (int i = 0; i < node->in_count; i++) {
        const Edge        *e = node->in[i];
        const AccessRange *r = &e->access[0];
        if (e->update != update || r->var != 0 || r->num == r->den)
            continue;
        extra += e->accesses * fmin(fabs((double)r->num / (double)r->den), 4);
    }
    return extra;
}

/* Loads of a definition, without those replaced by inlined computation. */
static double loads_of(const Model *c, const GraphNode *node, int update)
{
    double loads = node->defs[update + 1].loads;
    for (int i = 0; i < node->in_count; i++) {
        const int  p       = c->s->place[node->in[i]->producer];
        const bool inlined = p >= 0 && p < c->s->count && c->levels[p].where == WHERE_INLINE;
        if (node->in[i]->update == update && inlined && !is_row(c, node->in[i]))
            loads -= node->in[i]->accesses;
    }
    return loads > 0 ? loads : 0;
}

/* Gathers: an inlined node is computed at each gathered point, and gathers itself. In operations per lane. */
static double gathers_of(const Model *c, int k, int update)
{
    const GraphNode *node = node_at(c->s, k);
    double           all  = 0;
    for (int i = 0; i < node->in_count; i++) {
        const Edge *e = node->in[i];
        const int   p = c->s->place[e->producer];
        if (e->update == update && edge_by_data(c->s->g, e, c->by_data[k]) &&
            (p < 0 || p >= c->s->count || c->levels[p].where != WHERE_INLINE))
            all += (e->gathers ? REUSE_GATHER_OPS : REUSE_KNOWN_OPS) * e->accesses;
    }
    return all;
}

/* ns of one point of a node, with its updates. An inlined node stores nothing, and its last operation often fuses with
 * its reader's (multiply-add). */
static double point_ns(const Model *c, int k)
{
    const GraphNode *node  = node_at(c->s, k);
    const double     row   = node->rank ? (double)box_extent(run_box(c, k), 0) : 1;
    double           lanes = (double)machine_datapath(c->s->m) / (node->wide > 8 ? node->wide : 8), ops = 0;
    lanes = node->kind == NODE_SCATTER || lanes < 1 ? 1 : row >= 1 && row < lanes ? row : lanes;
    for (int i = 0; i < node->def_count; i++) {
        const Work  *w      = &node->defs[i];
        const double gather = lanes * gathers_of(c, k, i - 1),
                     times  = node->defs[0].points > 0 ? w->points / node->defs[0].points : 1;
        const bool inlined  = c->levels[k].where == WHERE_INLINE;
        ops += times * (fmax(w->ops - inlined, 0) + loads_of(c, node, i - 1) / 2 + gather + shuffles(node, i - 1) +
                        (inlined ? 0 : 0.5));
    }
    return ops / lanes * c->s->m->op;
}

/* Rows that a node is computed in. A sliding window also updates its bounds in each iteration, even if nothing is
 * missing. */
static double rows_of(const Model *c, int k)
{
    const Level *l    = &c->levels[k];
    const double row  = node_at(c->s, k)->rank ? (double)box_extent(run_box(c, k), 0) : 1;
    const double rows = c->points[k] / (row < 1 ? 1 : row);
    return l->where == WHERE_INSIDE && l->store < l->compute ? rows + SLIDE_ROWS * c->n->iterations[l->compute + 1]
                                                             : rows;
}

/* The working set of one iteration of a level. */
static double level_bytes(const Model *c, int level)
{
    double bytes = 0;
    for (int k = 0; k < c->s->count + c->s->outside_count; k++) {
        if (k < c->s->count && c->levels[k].where == WHERE_INLINE)
            continue;
        const double box = segment_points(c->s, level, k) * (double)node_at(c->s, k)->bytes;
        bytes += k < c->s->count - 1 && c->held[k] < box ? c->held[k] : box;
    }
    return bytes;
}

/* The level outside which reads are reused in a cache of this size: one outside the outermost level whose working set
 * fits. */
static int reuse_level(const Model *c, double size)
{
    int level = 0;
    while (level <= c->n->loop_count && level_bytes(c, level) > size)
        level++;
    return level > 0 ? level - 1 : 0;
}

/* Bytes of node k, outside, that are fetched if they are reused from this level on. */
static double fetched_bytes(const Model *c, int level, int k)
{
    return segment_points(c->s, level, k) * c->n->iterations[level] * (double)node_at(c->s, k)->bytes;
}

static double root_bytes(const GraphNode *node)
{
    return (double)box_points(&node->box, node->rank) * (double)node->bytes;
}

/* ns of the lines that cross the borders of the L2 and of the last-level cache, all threads together. */
static double traffic_ns(const Model *c)
{
    const Machine *m    = c->s->m;
    const double   last = machine_last_cache(m);
    const int      near = reuse_level(c, machine_kept_l2(m)), far = reuse_level(c, REUSE_KEPT_PART * last);
    double         close = 0, memory = 0;
    for (int k = c->s->count; k < c->s->count + c->s->outside_count; k++) {
        close += fetched_bytes(c, near, k);
        memory += root_bytes(node_at(c->s, k)) > last ? fetched_bytes(c, far, k) : 0;
    }
    const double out     = root_bytes(node_at(c->s, c->s->count - 1)),
                 threads = c->n->tasks < m->cores ? c->n->tasks : m->cores;
    const double all     = m->memory_all < m->memory_rate * threads ? m->memory_all : m->memory_rate * threads;
    const bool   streams = cost_streams(c->s->d, c->s->nodes[c->s->count - 1], m);
    close += out;
    memory += out > last ? out * (streams ? 1 : 2) : 0;
    const double l3_ns = close / 2 / ((m->l3 ? m->l3_rate : m->memory_rate) * threads), memory_ns = memory / 3 / all;
    return l3_ns > memory_ns ? l3_ns : memory_ns;
}

/* ns of storing and reloading members. Where their buffers exceed a cache they go to the next. In L1 that is part of
 * their operations. */
static double buffers_ns(const Model *c, const NestCost *cost)
{
    const Machine *m     = c->s->m;
    const double   all   = cost->folded + cost->unfolded;
    const double   rate  = all <= (double)m->l2 ? m->l2_rate : m->l3 ? m->l3_rate : m->memory_rate;
    double         bytes = 0;
    for (int k = 0; k + 1 < c->s->count; k++)
        bytes += c->levels[k].where == WHERE_INSIDE ? c->points[k] * (double)node_at(c->s, k)->bytes : 0;
    return all > (double)m->l1 ? bytes / rate : 0;
}

/* Equation 6: each row of a tile that comes from outside exposes latency where it starts. Short rows are in the cache
 * or negligible. A node that fits the L2 is never far away. */
static double rows_outside_ns(const Model *c)
{
    const Machine *m  = c->s->m;
    double         ns = 0;
    for (int k = c->s->count; k < c->s->count + c->s->outside_count; k++) {
        const GraphNode *node = node_at(c->s, k);
        const double     row  = node->rank ? (double)box_extent(segment_box(c->s, c->n->inter, k), 0) : 1,
                     bytes    = root_bytes(node);
        const double rate     = bytes > machine_last_cache(m) ? m->memory_rate : m->l3_rate;
        const double lines    = fmin((double)(REUSE_LINES_AHEAD * m->line), row * (double)node->bytes);
        if (bytes > (double)m->l2 && row >= 1)
            ns += fetched_bytes(c, c->n->inter, k) / ((double)node->bytes * row) * lines / rate;
    }
    return ns;
}

/* The time of two that overlap in part. */
static double overlapped(double a, double b)
{
    return a > b ? a + REUSE_LEAST_PART * b : b + REUSE_LEAST_PART * a;
}

/* Load imbalance: threads wait for the last tasks. A whole task where their number is no multiple of the threads, else
 * an eighth of one, because no two take the same time. */
static double imbalance(double tasks, double threads)
{
    const double waves = (double)(int64_t)((tasks + threads - 1) / threads);
    return threads > 1 ? waves * threads / tasks * (1 + threads / tasks / 8) : 1;
}

NestCost nest_cost(const Segment *s, const Tiling *n, const Level *levels)
{
    const Machine *m    = s->m;
    NestCost       out  = { 0 };
    double         rows = 0, *points = s->points;
    Model          c = { s, n, levels, s->points, s->held, s->by_data, s->ends };
    context_spend(s->g->pipeline->cx, REUSE_NODE_STEPS * (uint64_t)s->count);
    for (int k = s->count - 1; k >= 0; k--) {
        count_node(&c, k, &out);
        const double ns   = point_ns(&c, k) * points[k],
                     root = (double)box_points(&node_at(s, k)->box, node_at(s, k)->rank);
        out.compute += ns;
        out.again += points[k] > root ? ns * (1 - root / points[k]) : 0;
        rows += levels[k].where == WHERE_INLINE ? 0 : rows_of(&c, k);
    }
    const double threads = n->tasks < m->cores ? n->tasks : m->cores;
    const double traffic = fmax(traffic_ns(&c), buffers_ns(&c, &out) / threads);
    const double last    = machine_claimed_cache(m);
    out.load             = (rows * m->row + rows_outside_ns(&c)) / threads;
    out.ns               = (overlapped(out.compute / threads, traffic) + out.load) * imbalance(n->tasks, threads) +
             n->tasks * m->task / threads;
    out.fits = out.unfolded <= (double)m->l2 && (out.folded + out.unfolded) * threads <= last;
    return out;
}
