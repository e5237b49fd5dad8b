/* SPDX-License-Identifier: MIT */
/* The instructions of a node's inner loops.
 *
 * Takes   a computed node (a head or a member) with its vector loop, its unrolled copies, and all that is inlined into
 *         it.
 * Gives   operations, loads and stores on vector registers, and the latency that sums expose.
 * Rows    A row of w points takes ceil(w / lanes) vectors; a row shorter than a vector is computed point by point.
 * Inlined An inlined node is computed once per access in the text, but at most once per distinct point: the size of
 *         the box that one point of the reader needs.
 * Copies  Unrolled copies are one expression and share what several of them read or compute. So a register tile costs
 *         as much more than one point as its box is larger (matrix products and convolutions). A window that does not
 *         fit the registers is shared in part.
 * Loads   A load takes one slot per cache line that it touches. Where rows are read at every offset, a load of b bytes
 *         touches 1 + b / line of them, so half registers do not double the cost. Loads that are not dense take more:
 *         stride 2 takes two registers and a shuffle. Gathers take a load per lane, and so does an upsampled read of
 *         an upsampled read, whose stride is not constant, and an index that is not linear, as i % 8. An inlined
 *         node has the stride of its reader, times the stride at which it is read.
 * Sums    A sum whose register tile stays live over all steps loads and stores nothing of itself. Each step waits
 *         LATENCY for the step before. Other sums of the tile fill that time, and so do the next sums where all steps
 *         of one fit into WINDOW. A step that is not unrolled has overhead, once for all registers of the tile: STEP
 *         for the loop, or STEP_BY_DATA where data decide the address, which is then computed anew, lane by lane.
 *         Unrolled, the address is computed once per row. */
#include "schedulers/model/cost_kernel.h"
#include "schedulers/draft/row_copies.h"
#include "schedulers/draft/pattern.h"

/* ---- Vectors and copies ------------------------------------------------------------------ */

typedef struct Shape {
    int     dim;                 /* dimension of the vector loop; -1: none */
    int     fast;                /* dimension fused into the vector loop, the faster one of the two; -1: none */
    double  lanes;               /* lanes of the vector loop */
    double  row;                 /* points along it */
    bool    whole;               /* the row is that of the whole node, not cut by tiles */
    double  registers;           /* registers per vector */
    int64_t copies[KN_MAX_RANK]; /* unrolled copies, by dimension */
    double  copied;              /* their product */
    bool    in_registers;        /* sums stay in registers over all steps */
} Shape;

/* Reads the unrolled loops and the vector loop. */
static void read_loops(const GroupLoop *loops, int count, Shape *sh)
{
    for (int i = 0; i < count; i++) {
        if (loops[i].vector) {
            sh->dim   = loops[i].dim;
            sh->lanes = (double)loops[i].step;
            sh->fast  = i > 0 && loops[i].fused ? loops[i - 1].dim : -1;
        }
        if (!loops[i].unroll || loops[i].dim >= STEP_DIM)
            continue;
        for (int k = i - 1; k >= 0; k--)
            if (loops[k].dim == loops[i].dim) {
                sh->copies[loops[i].dim] = loops[k].step;
                sh->copied *= (double)loops[k].step;
                break;
            }
    }
}

/* Do the loops over steps contain nothing but the vector loop and unrolled loops? */
static bool sums_in_nest(const MemberNest *n)
{
    bool steps = false, fine = true;
    for (int i = 0; i < n->count; i++) {
        steps |= n->loops[i].dim >= STEP_DIM;
        fine &= !steps || n->loops[i].dim >= STEP_DIM || n->loops[i].unroll || n->loops[i].vector;
    }
    return fine;
}

static const Pattern *pattern_of(const Tiles *t, int node)
{
    return &t->draft->patterns[node];
}

/* Bits of the widest type in its arithmetic. Separated sums are of integers and have no more bits than are stored. */
static int widest(const Tiles *t, int node)
{
    const GraphNode *s = &t->graph->nodes[node];
    for (int i = 0; i < s->in_count; i++)
        if (pattern_of(t, s->in[i]->producer)->kind == PATTERN_SEPARATE && s->func->component_count == 1)
            return (int)s->bytes * 8;
    return s->wide > 0 ? s->wide : 8;
}

/* The level of the head around its vectors. A member inside them is computed for a whole row of the tile. */
static int row_level(const Tiles *t)
{
    int level = 0;
    while (level < t->group.loop_count && !t->group.loops[level].vector)
        level++;
    return level < t->group.loop_count ? level : t->level_count - 1;
}

static void shape_of(const Tiles *t, int k, Shape *sh)
{
    const int        node = t->nodes[k];
    const GraphNode *s    = &t->graph->nodes[node];
    const Choice    *c    = &t->draft->choices[node];
    *sh                   = (Shape){ .dim = -1, .fast = -1, .lanes = 1, .copied = 1, .whole = true };
    for (int d = 0; d < KN_MAX_RANK; d++)
        sh->copies[d] = 1;
    int level = tiles_compute_level(t, k);
    if (tiles_role(t, k) == ROLE_HEAD) {
        read_loops(t->group.loops, t->group.loop_count, sh);
        level = row_level(t);
    } else if (c->nest) {
        read_loops(c->nest->loops, c->nest->count, sh);
    } else if (s->rank) {
        sh->dim   = 0;
        sh->lanes = c->lanes ? c->lanes : draft_lanes(t->draft, node);
    }
    const bool scans =
        pattern_of(t, node)->kind == PATTERN_SCAN; /* in strips of whole vectors, step by step: no row start-up */
    const Box   *box       = scans ? &s->box : &tiles_box(t, level, k)->middle;
    const double at_a_time = (double)t->draft->datapath / widest(t, node);
    if (scans) {
        sh->dim   = pattern_of(t, node)->across;
        sh->lanes = (double)t->draft->vector_bits / widest(t, node);
    }
    sh->row = sh->dim >= 0 && sh->dim < s->rank ? (double)box_extent(box, sh->dim) : 1;
    if (sh->dim >= 0 && sh->dim < s->rank) {
        const Box *rows = scans || level <= row_level(t) ? box : &tiles_box(t, row_level(t), k)->middle;
        sh->whole =
            NEARLY_WHOLE_ROW * (double)box_extent(rows, sh->dim) > (double)(s->box.max[sh->dim] - s->box.min[sh->dim]);
    }
    if (sh->fast >= 0 && sh->fast < s->rank)
        sh->row *= (double)box_extent(box, sh->fast);
    sh->registers    = sh->lanes > at_a_time ? sh->lanes / at_a_time : 1;
    sh->in_registers = c->nest ? sums_in_nest(c->nest)
                               : c->where == WHERE_DEFAULT || (tiles_role(t, k) == ROLE_INSIDE &&
                                                               s->kind == NODE_REDUCTION && sh->row <= 4 * sh->lanes);
}

/* Register operations per point: the inverse of the lanes in use. */
static double vectors_per_point(const Shape *sh)
{
    if (sh->dim < 0 || sh->row < sh->lanes || sh->row < 1)
        return 1;
    const double vectors = (double)(int64_t)((sh->row + sh->lanes - 1) / sh->lanes);
    return vectors * sh->registers / sh->row;
}

/* Is it serial: a scan along the dimension of its vectors, or a scatter to data-dependent places? */
static bool is_serial(const GraphNode *s, int def, const Shape *sh)
{
    if (def == 0 || (s->kind != NODE_SCAN && s->kind != NODE_SCATTER))
        return false;
    return sh->dim < 0 || !s->func->updates[def - 1].is_free[sh->dim];
}

/* ---- What is inlined ---------------------------------------------------------------------- */

static bool is_clamped(const AccessRange *r, int dim)
{
    return r->var == dim && (r->least > INT64_MIN || r->most < INT64_MAX);
}

/* Is an index a function of this coordinate that is not linear, as i % 8? */
static bool jumps_along(const Edge *e, int dim)
{
    return dim >= 0 && (e->jumps >> dim & 1);
}

/* The dense dimension of a producer, as node `reader` sees it: in the copy made for it, or in its storage. Of two
 * dimensions in one fused loop the slower one. */
static int dense_dim(const Draft *d, int producer, int reader, const Shape *sh)
{
    for (int i = 0; i < d->copy_count; i++)
        if (d->copies[i].of == producer && d->copies[i].reader == reader && d->copies[i].memory)
            return d->copies[i].memory[0];
    const int *memory = d->choices[producer].memory;
    return !memory ? 0 : memory[0] == sh->fast && memory[1] == sh->dim ? sh->dim : memory[0];
}

/* Lines that a dense access of so many bytes touches, relative to those of a full register. */
static double lines_touched(const Tiles *t, double bytes)
{
    const double whole = t->draft->vector_bits / 8.0;
    return bytes < whole ? (LINE_BYTES + bytes) / (LINE_BYTES + whole) : 1;
}

typedef struct Stride {
    int64_t num, den; /* elements along the vector per lane */
} Stride;

/* The stride of what is read through an edge: reader's times the edge's. A division rounds, so a later multiplication
 * does not cancel it. */
static Stride stride_of(const Stride *reader, const AccessRange *r)
{
    Stride p = { reader->num < MOST_STRIDE ? reader->num * r->num : MOST_STRIDE,
                 reader->den < MOST_STRIDE ? reader->den * r->den : MOST_STRIDE };
    const bool cancels = reader->den == 1 || r->den > 1;
    while (cancels && p.num > 1 && p.den > 1 && (p.num | p.den) % 2 == 0)
        p = (Stride){ p.num / 2, p.den / 2 };
    return p;
}

/* Loads that a lane of a gather takes. Unrolled copies along the planes have one address for all: it is
 * loop-invariant for all but the first. */
static double loads_of_lane(const Tiles *t, const Edge *e, const Shape *sh)
{
    const GraphNode *s     = &t->graph->nodes[e->consumer];
    const int        plane = s->rank - 1;
    bool             apart = false;
    for (int d = 0; d < t->graph->nodes[e->producer].rank; d++)
        apart |= e->access[d].var == plane && !(e->gathers >> d & 1);
    if (plane < 2 || e->update >= 0 || !apart || s->defs[0].plane_invariant <= 0)
        return GATHER_PER_LANE;
    const double copies = (double)sh->copies[plane];
    return (GATHER_PER_LANE + (copies - 1) * INVARIANT_GATHER_PER_LANE) / copies;
}

static bool has_updates(const Tiles *t, int k)
{
    return t->graph->nodes[t->nodes[k]].kind != NODE_PURE;
}

/* The cost of a load in dense loads. Where a tile cuts rows, the clamped reads of a node with updates count as gathers:
 * the vectors at the border of the image gather the taps of all steps. For pure nodes they are too few to count.
 * `reader`: the stride of the node that reads, 1 unless it is inlined. `by_data`: the reader's own place depends on
 * data. */
static double load_weight(const Tiles *t, int k, const Edge *e, const Shape *sh, double lanes, const Stride *reader,
                          bool by_data)
{
    const int        dim    = sh->dim;
    const GraphNode *p      = &t->graph->nodes[e->producer];
    const int        dense  = dense_dim(t->draft, e->producer, t->nodes[k], sh);
    bool             across = false;
    for (int d = 0; d < p->rank; d++)
        across |= d != dense && e->access[d].var == dim;
    if (pattern_of(t, t->nodes[k])->kind == PATTERN_SCAN)
        return 2; /* it reads a dense copy */
    if (lanes > 1 && by_data && !e->gathers && !across)
        return INVARIANT_GATHER_PER_LANE * lanes; /* a gather whose address is loop-invariant */
    const bool clamped = !sh->whole && has_updates(t, k) && p->rank && is_clamped(&e->access[dense], dim);
    if (lanes > 1 && e->gathers && e->consumer == t->nodes[k])
        return loads_of_lane(t, e, sh) * lanes;
    if (lanes > 1 && (across || e->gathers || clamped || jumps_along(e, dim)))
        return GATHER_PER_LANE * lanes;
    if (!p->rank || e->access[dense].var != dim || dim < 0 || lanes <= 1)
        return 1;
    const Stride stride = stride_of(reader, &e->access[dense]);
    if (stride.num > 1)
        return stride.num <= 4 && stride.den == 1 ? (double)stride.num + 1 : GATHER_PER_LANE * lanes;
    if (stride.den > 1)
        return reader->den > 1 && e->access[dense].den > 1 && !e->access[dense].exact ? GATHER_PER_LANE * lanes : 2;
    return lines_touched(t, lanes * (double)p->bytes);
}

static double defs_ratio(const GraphNode *s, int def)
{
    return s->defs[0].points > 0 ? s->defs[def].points / s->defs[0].points : 1;
}

/* The boxes that one point of node k, or its register tile, needs of what is inlined into it and of what it reads. */
static void point_boxes(const Tiles *t, int k, const Shape *sh, Box *boxes)
{
    const int node = t->nodes[k], head = t->group.head;
    Box       unit = tiles_box(t, 0, k)->middle;
    for (int d = 0; d < t->graph->nodes[node].rank; d++) {
        const int64_t middle = unit.min[d] + (unit.max[d] - unit.min[d]) / 2, copies = sh ? sh->copies[d] : 1;
        unit.min[d] = middle;
        unit.max[d] = middle + copies - 1 < unit.max[d] || middle == unit.max[d] ? middle + copies - 1 : unit.max[d];
    }
    for (int i = 0; i < t->node_count; i++)
        boxes[t->nodes[i]].max[0] = boxes[t->nodes[i]].min[0] - 1;
    boxes[node] = unit;
    int *among = ARENA_ARRAY(t->arena, int, (size_t)t->inner_count), count = 0;
    for (int i = 0; i < t->inner_count && t->inner[i] <= node; i++)
        if (t->inner[i] == node || tiles_role(t, tiles_find(t, t->inner[i])) == ROLE_INLINED)
            among[count++] = t->inner[i];
    t->given[head] = false;
    t->given[node] = true;
    graph_regions_among(t->graph, among, count, t->given, t->member, boxes);
    t->given[node] = false;
    t->given[head] = true;
}

typedef struct Walk {
    const Tiles *t;
    int          k;
    const Shape *sh;
    double       lanes;
    double      *times;      /* by k: computed or read so often for each point */
    double      *loads;      /* by k: loads for each point, weighted */
    Box         *one, *tile; /* by node of the graph: boxes of one point, and of the register tile; NULL: not needed */
    Stride      *stride;     /* by k: of inlined nodes */
    uint32_t    *by_data;    /* by k: dimensions in which data decide the place, through inlined nodes */
    uint64_t     defs;       /* definitions of node k that count, bit 0 is the pure one */
    double       copied;     /* loads of row copies, and the stores into them */
    double       held;       /* the fraction of a point's window that registers hold for the next copy */
} Walk;

static bool inlines_any(const Tiles *t, int k)
{
    const GraphNode *s = &t->graph->nodes[t->nodes[k]];
    for (int i = 0; i < s->in_count; i++)
        if (tiles_role(t, tiles_find(t, s->in[i]->producer)) == ROLE_INLINED)
            return true;
    return false;
}

/* The fraction of a node's accesses that is left: each distinct point once, and copies share. */
static double shared_part(const Walk *w, int j)
{
    const int    node = w->t->nodes[j], rank = w->t->graph->nodes[node].rank;
    const double reads = w->times[j], one = w->one ? (double)box_points(&w->one[node], rank) : 0;
    double       places = one > 0 && one < reads ? one : reads;
    if (w->tile && one > 0) {
        const double copies = (double)box_points(&w->tile[node], rank) / w->sh->copied;
        places -= copies < places ? w->held * (places - copies) : 0;
    }
    return places / reads;
}

/* A load that does not depend on the vector's dimension serves all registers of a vector. Gives loads per register. */
static double loads_per_register(const Walk *w, const Edge *e)
{
    if (e->consumer != w->t->nodes[w->k] || w->sh->registers <= 1)
        return 1;
    for (int d = 0; d < w->t->graph->nodes[e->producer].rank; d++)
        if (e->access[d].var == w->sh->dim || e->gathers)
            return 1;
    return 1 / w->sh->registers;
}

/* Is it the same for all points? Then it is hoisted out of all loops. */
static bool is_invariant(const Tiles *t, const Edge *e)
{
    bool same = !e->gathers && !e->jumps && t->graph->nodes[e->consumer].defs[e->update + 1].steps <= 1;
    for (int d = 0; d < t->graph->nodes[e->producer].rank; d++)
        same &= e->access[d].var < 0;
    return same;
}

/* Steps of a definition for each point of node k. */
static double steps_of(const Tiles *t, int k, int def)
{
    const GraphNode *s = &t->graph->nodes[t->nodes[k]];
    return def ? defs_ratio(s, def) * pattern_work_share(t->draft, t->nodes[k]) : s->begun;
}

/* Is the bit of that definition set? Those beyond the last bit share it. */
static bool is_counted(uint64_t defs, int def)
{
    return defs >> (def < 63 ? def : 63) & 1;
}

/* Adds what node c reads, `times` it is computed, to its producers. */
static void read_of(Walk *w, int c)
{
    const GraphNode *s = &w->t->graph->nodes[w->t->nodes[c]];
    for (int i = 0; i < s->in_count; i++) {
        const Edge *e = s->in[i];
        const int   j = tiles_find(w->t, e->producer);
        if (is_invariant(w->t, e) || (c == w->k && !is_counted(w->defs, e->update + 1)))
            continue;
        const double   times = w->times[c] * steps_of(w->t, c, e->update + 1), reads = times * e->accesses;
        const uint32_t by = edge_by_data(w->t->graph, e, w->by_data[c]);
        const double   chained =
            e->gathers && w->by_data[c] ? 2 : 1; /* a lookup at a gathered index: the latencies add up */
        const double weight = chained * load_weight(w->t, w->k, e, w->sh, w->lanes, &w->stride[c], by != 0);
        w->by_data[j] |= by;
        if (c == w->k && row_copy_is_made(w->t->draft, e)) {
            w->times[j] += times * row_copy_points(e);
            w->copied += reads * weight + times * row_copy_points(e);
            continue;
        }
        w->times[j] += reads;
        if (w->sh->dim >= 0 && w->sh->dim < w->t->graph->nodes[e->producer].rank &&
            e->access[w->sh->dim].var == w->sh->dim)
            w->stride[j] = stride_of(&w->stride[c], &e->access[w->sh->dim]);
        w->loads[j] += reads * weight * loads_per_register(w, e);
    }
}

/* Cache conflicts: rows that are whole pages long map to the same sets of the L1. More of them than its ways evict each
 * other, and the loads come from the L2. */
static double conflict_factor(const Walk *w, int j)
{
    const GraphNode *p    = &w->t->graph->nodes[w->t->nodes[j]];
    double           rows = 1;
    for (int d = 1; w->one && d < p->rank; d++)
        rows *= (double)box_extent(&w->one[w->t->nodes[j]], d);
    const int64_t row = p->rank ? box_extent(&p->box, 0) * p->bytes : 0;
    return tiles_role(w->t, j) == ROLE_OUTSIDE && row && row % PAGE_BYTES == 0 && rows > L1_WAYS ? LOADS_OF_CONFLICT
                                                                                                 : 1;
}

/* The fraction of what a point of a pure node loads that fits the registers. A sum has a register tile. */
static double held_in_registers(const Tiles *t, int k, const Shape *sh, const Box *one)
{
    const double registers = t->draft->vector_bits >= 512 ? REGISTERS_OF_512 : REGISTERS;
    double       window    = 0;
    for (int j = 0; j < k && t->graph->nodes[t->nodes[k]].kind == NODE_PURE; j++)
        if (tiles_role(t, j) != ROLE_INLINED)
            window += sh->registers * (double)box_points(&one[t->nodes[j]], t->graph->nodes[t->nodes[j]].rank);
    return window > registers ? registers / window : 1;
}

/* Operations and loads for each point of node k: of those of its definitions whose bits are set (bit 0: the pure one),
 * and of what is inlined. */
static KernelCost per_point(const Tiles *t, int k, const Shape *sh, uint64_t defs)
{
    const size_t n = (size_t)t->node_count, all = (size_t)t->graph->node_count;
    Walk         w = { .t       = t,
                       .k       = k,
                       .sh      = sh,
                       .defs    = defs,
                       .lanes   = sh->row < sh->lanes ? 1 : sh->lanes / sh->registers,
                       .times   = ARENA_ARRAY(t->arena, double, n),
                       .loads   = ARENA_ARRAY(t->arena, double, n),
                       .stride  = ARENA_ARRAY(t->arena, Stride, n),
                       .by_data = ARENA_ARRAY(t->arena, uint32_t, n) };
    KernelCost   c = { 0 };
    if (inlines_any(t, k) || sh->copied > 1)
        point_boxes(t, k, NULL, w.one = ARENA_ARRAY(t->arena, Box, all));
    if (sh->copied > 1)
        point_boxes(t, k, sh, w.tile = ARENA_ARRAY(t->arena, Box, all));
    w.held     = sh->copied > 1 ? held_in_registers(t, k, sh, w.one) : 1;
    w.times[k] = 1;
    for (size_t j = 0; j < n; j++)
        w.stride[j] = (Stride){ 1, 1 };
    for (int j = k; j >= 0; j--) {
        const GraphNode *s = &t->graph->nodes[t->nodes[j]];
        if (w.times[j] <= 0)
            continue;
        const double part = j == k ? 1 : shared_part(&w, j);
        w.times[j] *= part;
        if (j != k && tiles_role(t, j) != ROLE_INLINED) {
            c.loads += w.loads[j] * part * conflict_factor(&w, j);
            continue;
        }
        c.bounded |= s->reads_size;
        for (int i = 0; i < s->def_count; i++)
            if (j != k || is_counted(defs, i))
                c.ops += w.times[j] * steps_of(t, j, i) * s->defs[i].ops;
        if (j == k && (defs & 1) && s->rank > 2 && sh->copies[s->rank - 1] > 1)
            c.ops -= s->begun * s->defs[0].plane_invariant * (1 - 1 / (double)sh->copies[s->rank - 1]);
        read_of(&w, j);
    }
    c.loads += w.copied;
    return c;
}

/* ---- All ---------------------------------------------------------------------------------- */

/* Latency of an update's steps beyond its own operations, in operations for each point and register. */
static double exposed_latency(const GraphNode *s, int def, const Shape *sh, const KernelCost *point)
{
    const double steps = defs_ratio(s, def), length = steps * (s->defs[def].ops + s->defs[def].loads + 1),
                 serial = SUM_LATENCY * steps;
    const double ahead = length < LOOK_AHEAD ? LOOK_AHEAD / length : 1, chains = sh->registers * sh->copied * ahead;
    const double taken = serial / chains;
    return taken > point->ops ? taken - point->ops : 0;
}

/* Are there loops over steps that are not unrolled? */
static bool loops_over_steps(const MemberNest *n)
{
    bool any = !n;
    for (int i = 0; n && i < n->count; i++)
        any |= n->loops[i].dim >= STEP_DIM && !n->loops[i].unroll && !n->loops[i].given;
    return any;
}

/* The overhead of an update's step loops, in operations for each point and register. */
static double step_overhead(const Tiles *t, int k, int def, const Shape *sh)
{
    const GraphNode *s = &t->graph->nodes[t->nodes[k]];
    if (s->defs[def].steps <= 1 || !sh->in_registers || !loops_over_steps(t->draft->choices[t->nodes[k]].nest))
        return 0;
    return defs_ratio(s, def) * (s->defs[def].gathers ? OPS_OF_STEP_BY_DATA : OPS_OF_STEP) /
           (sh->registers * sh->copied);
}

/* The definitions of a scan that run along its vectors: one point after the other, each waiting for the last. The
 * others are vectors as usual. */
static uint64_t serial_scans(const GraphNode *s, const Shape *sh)
{
    uint64_t defs = 0;
    for (int i = 1; i < s->def_count && s->kind == NODE_SCAN; i++)
        if (is_serial(s, i, sh))
            defs |= (uint64_t)1 << (i < 63 ? i : 63);
    return defs;
}

/* Their instructions for each point. The last value stays in a register; those that are read and written are dense. */
static KernelCost serial_steps(const Tiles *t, int k, const Shape *sh, uint64_t defs)
{
    const GraphNode *s     = &t->graph->nodes[t->nodes[k]];
    Shape            one   = *sh;
    double           steps = 0;
    one.lanes = one.registers = 1;
    KernelCost c              = per_point(t, k, &one, defs);
    for (int i = 1; i < s->def_count; i++)
        steps += is_counted(defs, i) ? defs_ratio(s, i) : 0;
    const double latency = type_is_float(s->func->types[0]) ? SUM_LATENCY : WHOLE_SUM_LATENCY;
    c.stores             = steps * lines_touched(t, (double)s->bytes);
    c.loads += c.stores;
    c.waits = latency * steps > c.ops ? latency * steps - c.ops : 0;
    return c;
}

/* A strip of a scan is copied to its place, which it leaves transposed unless it is across rows: vectors of
 * SCAN_TRANSPOSED points are loaded, and whole ones stored. Its one reader may do that by itself. Gives instructions
 * for each point. */
static KernelCost strip_copies(const Tiles *t, int k)
{
    const GraphNode *s       = &t->graph->nodes[t->nodes[k]];
    const Pattern   *pattern = pattern_of(t, t->nodes[k]);
    KernelCost       c       = { 0 };
    if (pattern->kind != PATTERN_SCAN || pattern->partner)
        return c;
    for (int i = 0; i < s->func->component_count; i++) {
        const double bytes = type_bits(s->func->types[i]) / 8.0,
                     lanes = (double)t->draft->datapath / type_bits(s->func->types[i]),
                     part  = pattern->across && SCAN_TRANSPOSED < lanes ? SCAN_TRANSPOSED : lanes;
        c.loads += lines_touched(t, part * bytes) / part;
        c.stores += 1 / lanes;
    }
    return c;
}

static KernelCost cost_of(const Tiles *t, int k, double points)
{
    const GraphNode *s = &t->graph->nodes[t->nodes[k]];
    Shape            sh;
    shape_of(t, k, &sh);
    const uint64_t   scans  = serial_scans(s, &sh);
    const KernelCost serial = scans ? serial_steps(t, k, &sh, scans) : strip_copies(t, k);
    const double     per    = vectors_per_point(&sh);
    KernelCost       c      = per_point(t, k, &sh, ~scans);
    const double     narrow = s->wide > 0 ? (double)s->bytes * 8 / s->wide : 1;
    c.stores                = s->begun * (sh.lanes > 1 && sh.registers <= 1
                                              ? narrow * lines_touched(t, sh.lanes * (s->wide > 0 ? s->wide : 8) / 8)
                                              : narrow);
    double vectors          = per;
    for (int i = 1; i < s->def_count; i++) {
        const double steps = defs_ratio(s, i);
        if (is_counted(scans, i))
            continue;
        if (is_serial(s, i, &sh)) {
            const Pattern *pattern = pattern_of(t, t->nodes[k]);
            vectors =
                pattern->kind == PATTERN_PRIVATIZE ? per : 1; /* privatize computes the bins in vectors beforehand */
            c.loads += steps / vectors;
            c.stores += steps / vectors;
            c.waits += SUM_LATENCY * steps / vectors / (pattern->kind == PATTERN_PRIVATIZE ? pattern->copies : 1);
        } else if (sh.in_registers) {
            c.ops += step_overhead(t, k, i, &sh);
            c.waits += exposed_latency(s, i, &sh, &c);
        } else {
            c.loads += s->defs[i].adds ? steps : 0;
            c.stores += steps * narrow;
        }
    }
    const double at_once = sh.row * sh.copied;
    return (KernelCost){ points * (vectors * c.ops + serial.ops),
                         points * (vectors * c.loads + serial.loads),
                         points * (vectors * c.stores + serial.stores),
                         points * (vectors * c.waits + serial.waits),
                         (at_once > 1 ? points / at_once : points) * s->begun,
                         c.bounded || serial.bounded };
}

/* What a kernel takes in memory is as large as the group: a group's many kernels take it in turn. */
KernelCost kernel_cost(const Tiles *t, int k, double points)
{
    Arena scratch;
    Tiles own = *t;
    scratch_begin(&scratch, t->graph->pipeline->cx);
    own.arena          = &scratch;
    const KernelCost c = cost_of(&own, k, points);
    scratch_end(&scratch);
    return c;
}
