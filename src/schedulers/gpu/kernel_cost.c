/* SPDX-License-Identifier: MIT */
/* The cost of a kernel: the analysis of Sioutas et al. 2020, Listing 1, and a time.
 *
 * Listing 1 loads from stages outside the group (lines 3-4) and of members (5-7), the threads of a block over the
 *           regions of all members (9-25), occupancy, active threads and SMs (26-34), the constraints (28, 36-37) and
 *           the cost (39) are here as the paper has them, in its notation (Table 1). Registers are predicted, within
 *           its bound.
 * Beyond    That cost has no unit, and knows nothing of caches or of several points in a thread. The time is the
 *           largest of
 *               memory      compulsory bytes at the memory's rate,
 *               L2          bytes that blocks read, halos included, at the L2's rate,
 *               issue       operations and accesses, at the rate at which multiprocessors issue them,
 *               accesses    wavefronts of loads and stores, one a cycle,
 *               latency     waves of blocks, each as long as its stages wait for what they read,
 *           and a part of the others, which overlap imperfectly, and the launch. */
#include "ir/fold.h"
#include "schedulers/gpu/kernel_points.h"
#include "schedulers/graph/constants.h"

#include <math.h>

const char *const kernel_term_names[KERNEL_TERMS] = { "memory", "L2", "issue", "accesses", "latency", "launch" };

/* The work of one thread of a unit, for the points that it computes. */
typedef struct UnitWork {
    double operations;
    double loads, wavefronts; /* instructions of a warp, and cycles that they take */
    double paper_loads;       /* elements, as Listing 1 counts them */
    double stores, store_wavefronts;
    double steps;       /* of the longest reduction that is no copies of code */
    double live;        /* registers that it would have, if there were enough */
    double code;        /* operations of all copies, before the compiler finds what they have in common */
    bool   from_memory; /* it waits for global memory, and not for shared memory alone */
} UnitWork;

static double least(double a, double b)
{
    return a < b ? a : b;
}

static int64_t points_of(const KernelSpace *s, const Box *boxes, int node)
{
    return box_points(&boxes[node], s->g->nodes[node].rank);
}

/* ---- Boxes ------------------------------------------------------------------------------- */

/* The box of a tile in the middle of a node's. */
static Box middle(const Box *all, int rank, const int64_t *size)
{
    Box box = { .min = { 0 } };
    for (int d = 0; d < rank; d++) {
        const int64_t extent = box_extent(all, d), tile = size[d] < extent ? size[d] : extent;
        const int64_t at = tile > 0 ? extent / 2 / tile * tile : 0;
        box.min[d]       = all->min[d] + (at + tile <= extent ? at : extent - tile);
        box.max[d]       = box.min[d] + tile - 1;
    }
    return box;
}

/* The boxes of all nodes of the group that a tile of the head needs (dependence_analysis of line 14). */
void kernel_find_blocks(KernelSpace *s, const KernelShape *shape)
{
    const GraphNode *head = &s->g->nodes[s->head];
    s->block[s->head]     = middle(&head->box, head->rank, shape->tile);
    for (int i = 0; i < s->among_count; i++)
        s->member[s->among[i]] = true;
    s->given[s->head] = true;
    graph_regions_among(s->g, s->among, s->among_count, s->given, s->member, s->block);
    s->given[s->head] = false;
    for (int i = 0; i < s->among_count; i++)
        s->member[s->among[i]] = false;
}

/* The boxes of what is computed in the threads of a unit, for one of them. */
void kernel_find_threads(KernelSpace *s, int unit, const int64_t *each)
{
    s->thread[unit] = middle(&s->block[unit], s->g->nodes[unit].rank, each);
    for (int i = 0; i < s->among_count; i++)
        s->member[s->among[i]] = kernel_in_threads(s, s->among[i], unit);
    s->given[unit] = true;
    graph_regions_among(s->g, s->among, s->among_count, s->given, s->member, s->thread);
    s->given[unit] = false;
    for (int i = 0; i < s->among_count; i++)
        s->member[s->among[i]] = false;
}

static void add_to_hull(Box *hull, const Box *more, int rank, bool fresh)
{
    for (int d = 0; d < rank; d++) {
        hull->min[d] = fresh || more->min[d] < hull->min[d] ? more->min[d] : hull->min[d];
        hull->max[d] = fresh || more->max[d] > hull->max[d] ? more->max[d] : hull->max[d];
    }
}

static Box box_read(const Edge *e, int rank, const Box *reader)
{
    Box box = { .min = { 0 } };
    for (int d = 0; d < rank; d++)
        access_range_span(&e->access[d], reader, &box.min[d], &box.max[d]);
    return box;
}

/* ---- Work -------------------------------------------------------------------------------- */

/* Elements that are read at a time: by a pure definition, and by an inlined sum, all; else those of one step. */
static double held_of(const KernelSpace *s, const Edge *e, const Box *reader)
{
    double held = 1;
    for (int d = 0; d < s->g->nodes[e->producer].rank; d++) {
        const AccessRange *r = &e->access[d];
        if (e->update < 0 || s->k->d.choices[e->consumer].where == WHERE_INLINE)
            held *= kernel_span_read(s, e, d).points;
        else if (r->var >= 0)
            held *= fmax(1, (double)(box_extent(reader, r->var) * r->num) / (double)r->den);
    }
    return held;
}

/* Notes what a node reads from stages that are not computed in these threads. */
static int note_reads(KernelSpace *s, int node, const Box *boxes, int unit, int count)
{
    const GraphNode *n      = &s->g->nodes[node];
    const double     points = s->points[node];
    for (int i = 0; i < n->in_count; i++) {
        const Edge *e = n->in[i];
        const int   p = e->producer;
        if (kernel_in_threads(s, p, unit))
            continue;
        const Box read  = box_read(e, s->g->nodes[p].rank, &boxes[node]);
        bool      fresh = true;
        for (int k = 0; k < count; k++)
            fresh &= s->touched[k] != p;
        add_to_hull(&s->hull[p], &read, s->g->nodes[p].rank, fresh);
        s->asked[p] = (fresh ? 0 : s->asked[p]) + points * kernel_steps_of(n, e->update) * e->accesses;
        if (unit >= 0)
            s->held[p] = fmax(fresh ? 0 : s->held[p],
                              least(held_of(s, e, &boxes[node]),
                                    s->at_once[node] * kernel_copies_at_once(s, node, e->update) * e->accesses));
        if (fresh)
            s->touched[count++] = p;
    }
    return count;
}

/* Distinct elements that a block, or a thread, reads of a node: no more than there are reads. */
static double elements_read(const KernelSpace *s, int p, bool of_block)
{
    return least(of_block ? (double)box_points(&s->hull[p], s->g->nodes[p].rank)
                          : s->repeats[p] * kernel_span_points(s, p),
                 s->asked[p]);
}

/* Elements along the first dimension of a producer from a point of a unit to the next along x. */
static double stride_of(const KernelSpace *s, int unit, int p)
{
    const KernelScale *from = &s->scale[p][0], *to = &s->scale[unit][0];
    if (!s->g->nodes[p].rank || !s->g->nodes[unit].rank || !s->depends[p][0])
        return 0;
    if (s->depends[p][0] != s->depends[unit][0] || !from->den || !to->num)
        return WARP_SIZE;
    return (double)from->num / (double)from->den * (double)to->den / (double)to->num;
}

/* Elements of a row that one access takes: those of a thread's own points, if rows begin at multiples of them. */
static double width_of(const KernelSpace *s, int n, double across)
{
    const GraphNode *node   = &s->g->nodes[n];
    const bool       shared = n != s->head && kernel_is_unit(s, n);
    const int64_t    row    = shared ? box_extent(&s->block[n], 0) : node_extent(node, 0);
    double           wide   = 1;
    while (2 * wide <= across && 2 * wide * (double)node->bytes <= WIDEST_ACCESS && row % (int64_t)(2 * wide) == 0)
        wide *= 2;
    return wide;
}

/* Cycles of the L1 for an access of `wide` elements by each lane of a warp, `stride` elements apart. */
static double wavefronts_of(double stride, double wide, double bytes)
{
    return fmax(1, least(fmax(stride, wide) * bytes * WARP_SIZE / WAVEFRONT_BYTES, WARP_SIZE));
}

/* The loads of a unit's thread. Neighbours along x are one load where a thread has several of them; what it reads
 * beside them is not aligned. */
static void count_loads(const KernelSpace *s, int unit, const int64_t *each, int count, UnitWork *w)
{
    const GraphNode *node   = &s->g->nodes[unit];
    const double     across = node->rank ? (double)each[0] : 1;
    for (int i = 0; i < count; i++) {
        const int        p        = s->touched[i];
        const GraphNode *from     = &s->g->nodes[p];
        const double     elements = elements_read(s, p, false), stride = stride_of(s, unit, p);
        const double     bytes   = (double)from->bytes;
        const double     row     = from->rank ? fmax(1, least(elements, s->span[p][0].points)) : 1;
        const bool       own_row = stride == 1 && from->rank && !s->shifted[p];
        const double     wide    = own_row ? width_of(s, p, least(across, row)) : 1;
        /* a row of shared memory begins where that of the block's first thread does */
        const double own  = !own_row ? 0 : across > 1 && kernel_is_unit(s, p) ? row : least(across, row);
        const double rows = elements / row, loads = rows * (own / wide + row - own);
        w->loads += loads;
        w->wavefronts += rows * (own / wide * wavefronts_of(across * stride, wide, bytes) +
                                 (row - own) * wavefronts_of(across * stride, 1, bytes));
        w->paper_loads += elements;
        w->from_memory |= !kernel_is_unit(s, p);
        w->live += s->held[p] * fmax(1, bytes / 4);
    }
}

/* Operations of the copies of a thread's points, each with all that is inlined into it. */
static double code_of(KernelSpace *s, int unit, const int64_t *each)
{
    int64_t ones[KN_MAX_RANK];
    double  operations = 0, copies = 1;
    for (int d = 0; d < KN_MAX_RANK; d++) {
        ones[d] = 1;
        copies *= d < s->g->nodes[unit].rank ? (double)each[d] : 1;
    }
    kernel_find_threads(s, unit, ones);
    kernel_find_points(s, s->thread, unit, ones);
    for (int i = 0; i < s->among_count; i++) {
        const int        n    = s->among[i];
        const GraphNode *node = &s->g->nodes[n];
        for (int k = 0; k < node->def_count; k++)
            operations +=
                s->at_once[n] * (node->defs[k].lane_ops + node->defs[k].loads) * kernel_copies_of_steps(s, n, k);
    }
    return operations * copies;
}

/* Lines 3-7 and 29-30 for a unit: the work of a thread of it. */
static UnitWork unit_work(KernelSpace *s, int unit, const int64_t *each)
{
    UnitWork w     = { .steps = 1, .code = code_of(s, unit, each) };
    int      count = 0;
    kernel_find_threads(s, unit, each);
    kernel_find_points(s, s->thread, unit, each);
    for (int i = 0; i < s->among_count; i++) {
        const int        n      = s->among[i];
        const GraphNode *node   = &s->g->nodes[n];
        const double     points = s->points[n];
        if (points <= 0 || s->k->table[n])
            continue;
        for (int k = 0; k < node->def_count; k++) {
            const double steps = k ? node->defs[k].steps : 1;
            w.operations += points * (k ? steps : node->begun) * (node->defs[k].lane_ops + (k ? 1 : 0));
            w.steps = fmax(w.steps, steps);
        }
        if (n != unit)
            w.live += s->at_step[n] * fmax(1, (double)node->bytes / 4) *
                      (s->k->d.choices[n].where == WHERE_INSIDE ? 1 : INLINED_REGISTERS);
        count = note_reads(s, n, s->thread, unit, count);
    }
    count_loads(s, unit, each, count, &w);
    const GraphNode *node   = &s->g->nodes[unit];
    const double     across = node->rank ? (double)each[0] : 1, wide = node->rank ? width_of(s, unit, across) : 1;
    w.stores           = (double)points_of(s, s->thread, unit) / wide;
    w.store_wavefronts = w.stores * wavefronts_of(across, wide, (double)node->bytes);
    if (kernel_holds_sums(s->k, unit))
        w.live += s->points[unit] * fmax(1, (double)node->bytes / 4);
    for (int k = 1; k < node->def_count && !kernel_holds_sums(s->k, unit); k++) { /* loaded and stored in each step */
        const double steps = s->points[unit] * node->defs[k].steps;
        w.loads += steps;
        w.stores += steps;
        w.wavefronts += 2 * steps * wavefronts_of(across, 1, (double)node->bytes);
        w.from_memory |= unit == s->head;
    }
    return w;
}

/* ---- Traffic ------------------------------------------------------------------------------ */

typedef struct Traffic {
    double l2, memory;
} Traffic;

static double whole_bytes(const GraphNode *node)
{
    return (double)box_points(&node->box, node->rank) * (double)node->bytes;
}

/* Bytes that all blocks read from the L2, and that come from memory: each element once, unless the L2 holds it from the
 * kernel that made it. */
static Traffic traffic_of(KernelSpace *s, double blocks)
{
    const Device *device = s->k->device;
    Traffic       t      = { 0 };
    int           count  = 0;
    kernel_find_points(s, s->block, -1, NULL);
    for (int i = 0; i < s->among_count; i++)
        if (s->points[s->among[i]] > 0)
            count = note_reads(s, s->among[i], s->block, -1, count);
    for (int i = 0; i < count; i++) {
        const int        p    = s->touched[i];
        const GraphNode *node = &s->g->nodes[p];
        if (kernel_is_unit(s, p) || s->k->d.choices[p].where == WHERE_INSIDE)
            continue;
        const double row  = node->rank ? (double)box_extent(&s->hull[p], 0) * (double)node->bytes : (double)node->bytes;
        const double rows = fmax(1, elements_read(s, p, true) * (double)node->bytes / fmax(row, 1));
        const double all = blocks * rows * (ceil(row / SECTOR_BYTES) + 1) * SECTOR_BYTES, once = whole_bytes(node);
        t.l2 += all;
        t.memory += once < L2_KEPT * (double)device->l2 ? 0 : least(all, once);
    }
    const GraphNode *head  = &s->g->nodes[s->head];
    const double     bytes = whole_bytes(head);
    t.l2 += bytes;
    t.memory += bytes < L2_KEPT * (double)device->l2 ? 0 : bytes;
    return t;
}

/* ---- Resources ---------------------------------------------------------------------------- */

/* Points of a member in shared memory: of whole threads. */
static int64_t stored_points(const KernelSpace *s, const KernelShape *shape, int member)
{
    int64_t each[KN_MAX_RANK], points = 1;
    kernel_points_of_thread(s, shape, member, each);
    for (int d = 0; d < s->g->nodes[member].rank; d++)
        points *= (box_extent(&s->block[member], d) + each[d] - 1) / each[d] * each[d];
    return points;
}

/* Bytes of shared memory that are live at a time: stages have it in turns (lower/passes/shared.c). Line 7 is their
 * sum. */
static int64_t shared_bytes(const KernelSpace *s, const KernelShape *shape)
{
    const GraphNode *head  = &s->g->nodes[s->head];
    double           whole = 1; /* tiles that are larger than the head have memory for all of their points */
    int64_t          most  = 0;
    for (int d = 0; d < head->rank; d++)
        whole *= (double)shape->tile[d] / least((double)shape->tile[d], fmax(1, (double)node_extent(head, d)));
    for (int i = 0; i < s->among_count; i++) {
        int64_t live = 0;
        for (int k = 0; k <= i; k++) {
            const int n = s->among[k];
            if (n != s->head && kernel_is_unit(s, n) && s->last[n] >= s->among[i])
                live += stored_points(s, shape, n) * s->g->nodes[n].bytes;
        }
        most = live > most ? live : most;
    }
    return (int64_t)((double)most * whole);
}

/* Lines 9-12: the threads of a block, over the loops that are shared by threads (loop_threads). */
static void find_thread_block(const KernelSpace *s, const KernelShape *shape, KernelCost *out)
{
    int axis = 0;
    for (int i = 0; i < 3; i++)
        out->thread_block[i] = 1;
    for (int d = 0; d < s->g->nodes[s->head].rank && axis < 3; d++)
        if (shape->tile[d] > shape->each[d])
            out->thread_block[axis++] = (int)((shape->tile[d] + shape->each[d] - 1) / shape->each[d]);
    out->thread_count = out->thread_block[0] * out->thread_block[1] * out->thread_block[2];
}

static double blocks_of(const KernelSpace *s, const KernelShape *shape)
{
    const GraphNode *head   = &s->g->nodes[s->head];
    double           blocks = 1;
    for (int d = 0; d < head->rank; d++)
        blocks *= shape->inside >> d & 1 ? 1 : ceil((double)node_extent(head, d) / (double)shape->tile[d]);
    return blocks;
}

/* N_regs <= min(MAX_REGS_PER_THREAD, TOTAL_REGS_PER_SM / N_threads) (section 4.2). */
static double most_registers(const Device *d, const KernelCost *cost)
{
    return least(d->thread_registers, (double)d->sm_registers / fmax(1, cost->thread_count));
}

static bool stores_unbounded(const KernelSpace *s)
{
    for (int i = 0; i < s->among_count; i++)
        if (s->among[i] != s->head && s->k->d.choices[s->among[i]].where == WHERE_INSIDE && s->unbounded[s->among[i]])
            return true;
    return false;
}

/* Lines 28, 36 and 37. */
static KernelFault fault_of(const KernelSpace *s, const KernelCost *cost, double code, double live)
{
    const Device *d = s->k->device;
    if (stores_unbounded(s))
        return KERNEL_UNBOUNDED;
    if (cost->thread_count > d->block_threads)
        return KERNEL_MANY_THREADS;
    if (cost->footprint > d->block_shared)
        return KERNEL_MUCH_SHARED;
    if (code > MOST_THREAD_CODE)
        return KERNEL_MUCH_CODE;
    if (REGISTERS_BASE + live > MOST_PRESSURE * most_registers(d, cost))
        return KERNEL_SPILLS;
    if (cost->occupancy.fraction < OCCUPANCY_THRESHOLD)
        return KERNEL_OCCUPANCY;
    if (cost->thread_count % WARP_SIZE)
        return KERNEL_PART_OF_WARP;
    return cost->active_sms < d->sms ? KERNEL_FEW_SMS : KERNEL_VALID;
}

/* ---- The cost ----------------------------------------------------------------------------- */

/* The points of a unit that its threads compute one after the other, in rounds. */
static double rounds_of(const KernelSpace *s, int unit, const int64_t *each, const KernelCost *cost, double *tiles)
{
    const GraphNode *node = &s->g->nodes[unit];
    *tiles                = 1;
    for (int d = 0; d < node->rank; d++)
        *tiles *= ceil((double)box_extent(&s->block[unit], d) / (double)each[d]);
    return ceil(*tiles / fmax(1, cost->thread_count));
}

/* The part of its rate at which a multiprocessor issues with the warps that it has: few of them wait for each other. */
static double busy_part(const KernelCost *cost, double waves)
{
    const double blocks = least(cost->occupancy.blocks, fmax(1, waves * cost->occupancy.blocks));
    const double warps  = blocks * ceil(cost->thread_count / (double)WARP_SIZE);
    return least(1, LEAST_BUSY + (1 - LEAST_BUSY) * warps / BUSY_WARPS);
}

/* What all stages of a block come to. */
typedef struct BlockWork {
    double issue, wavefronts, wait; /* instructions of warps, cycles of the L1, ns */
    double live, code;              /* the most of a thread */
    double arithmetic, loads;       /* as Listing 1 counts them */
} BlockWork;

static BlockWork block_work(KernelSpace *s, const KernelShape *shape, const KernelCost *cost)
{
    BlockWork all = { 0 };
    int64_t   each[KN_MAX_RANK];
    for (int i = 0; i < s->among_count; i++) {
        const int unit = s->among[i];
        if (!kernel_is_unit(s, unit) || !points_of(s, s->block, unit))
            continue;
        kernel_points_of_thread(s, shape, unit, each);
        const UnitWork w = unit_work(s, unit, each);
        double         tiles;
        const double   rounds = rounds_of(s, unit, each, cost, &tiles);
        const double   warps  = ceil((unit == s->head ? cost->thread_count : tiles) / WARP_SIZE);
        all.issue += warps * (w.operations + w.loads + w.stores + THREAD_OVERHEAD);
        all.wavefronts += warps * (w.wavefronts + w.store_wavefronts);
        all.wait += (1 + ROUND_WAIT * (rounds - 1)) * (w.from_memory ? s->k->device->latency : SHARED_WAIT) +
                    (w.steps > 1 ? rounds * w.steps * STEP_WAIT : 0);
        all.live = fmax(all.live, w.live);
        all.code = fmax(all.code, w.code);
        all.arithmetic += tiles * w.operations;
        all.loads += tiles * w.paper_loads;
    }
    return all;
}

/* The terms of the time. A last wave that fills the device in part takes as long as a whole one; of many waves it is a
 * small part. */
static void find_times(KernelSpace *s, const BlockWork *work, KernelCost *out)
{
    const Device *device = s->k->device;
    const double  waves  = out->blocks / ((double)device->sms * fmax(1, out->occupancy.blocks));
    const double  rate   = device->clock * fmax(1, out->active_sms) * busy_part(out, waves);
    const Traffic t      = traffic_of(s, out->blocks);
    double        sum = 0, most = 0;
    out->term[KERNEL_MEMORY]   = t.memory / device->memory_rate;
    out->term[KERNEL_L2]       = t.l2 / device->l2_rate;
    out->term[KERNEL_ISSUE]    = out->blocks * work->issue / (rate * device->lanes / WARP_SIZE);
    out->term[KERNEL_ACCESSES] = out->blocks * work->wavefronts / rate;
    out->term[KERNEL_LATENCY]  = fmax(waves < FEW_WAVES ? ceil(waves) : waves + 0.5, 1) * work->wait;
    out->term[KERNEL_LAUNCH]   = device->launch;
    for (int i = 0; i < KERNEL_LATENCY; i++) {
        sum += out->term[i];
        most = fmax(most, out->term[i]);
    }
    /* A block waits while the others of its multiprocessor work, if there are any. */
    const double busy = most + KERNEL_OVERLAP * (sum - most), wait = out->term[KERNEL_LATENCY];
    const double part = fmax(KERNEL_OVERLAP, 1 / fmax(1, out->occupancy.blocks));
    out->ns           = fmax(busy, wait) + part * least(busy, wait) + device->launch;
}

void kernel_evaluate(KernelSpace *s, const KernelShape *shape, KernelCost *out)
{
    const Device *device = s->k->device;
    *out                 = (KernelCost){ .blocks = blocks_of(s, shape) };
    find_thread_block(s, shape, out);
    kernel_find_blocks(s, shape);
    out->footprint       = shared_bytes(s, shape);
    const BlockWork work = block_work(s, shape, out);
    out->registers       = (int)least(most_registers(device, out), REGISTERS_BASE + work.live);
    out->occupancy       = device_occupancy(device, out->thread_count, out->registers, out->footprint);
    out->active_sms      = least(device->sms, out->blocks);
    find_times(s, &work, out);
    const double active = fmax(1e-9, out->occupancy.fraction * least(device->block_threads, out->thread_count));
    out->paper          = out->blocks * (work.arithmetic + GLOBAL_LOAD_COST * work.loads) / active;
    out->fault          = fault_of(s, out, work.code, work.live);
}

/* The assembler gives threads as many registers as leave room for these blocks, and fills what it may take with loads
 * in advance. Where registers are many the prediction may fall short, and spills take longer than fewer blocks do; but
 * a kernel has no fewer warps than keep a multiprocessor busy, even if some registers spill for them. */
int kernel_resident_blocks(const Device *device, const KernelCost *c)
{
    const double there     = c->blocks * c->thread_count / (device->sms * (double)WARP_SIZE);
    const double busy      = (double)device->sm_registers / (WARP_SIZE * fmax(1, least(BUSY_WARPS, there)));
    const double many      = c->registers >= MANY_REGISTERS ? REGISTERS_MARGIN : 1;
    const double registers = least(least(device->thread_registers, busy), many * c->registers);
    const int    blocks    = device_occupancy(device, c->thread_count, (int)registers, c->footprint).blocks;
    return blocks > 0 ? blocks : 1;
}

/* Configurations without a fault first; those with too few blocks, or parts of warps, are all there is for a small
 * stage; the others cannot be launched. */
static int rank_of(const KernelCost *c)
{
    static const int ranks[] = {
        [KERNEL_PART_OF_WARP] = 1, [KERNEL_FEW_SMS] = 1,      [KERNEL_OCCUPANCY] = 2,   [KERNEL_SPILLS] = 3,
        [KERNEL_MUCH_CODE] = 3,    [KERNEL_MANY_THREADS] = 4, [KERNEL_MUCH_SHARED] = 4, [KERNEL_UNBOUNDED] = 4
    };
    return ranks[c->fault];
}

bool kernel_better(const KernelSpace *s, const KernelCost *a, const KernelCost *b)
{
    if (rank_of(a) != rank_of(b) && (s->paper || rank_of(a) > 1 || rank_of(b) > 1))
        return rank_of(a) < rank_of(b);
    return s->paper ? a->paper < b->paper : a->ns < b->ns;
}
