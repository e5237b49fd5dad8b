/* SPDX-License-Identifier: MIT */
/* The shape of a kernel's blocks (Sioutas et al. 2020, section 4.2).
 *
 * Loops     that threads share are the two longest of the head, the first dimension among them if it is no short one:
 *           neighbours of a warp are neighbours in memory. A loop of few iterations is not tiled; it is inside the
 *           threads, in copies, or one block each.
 * Grouping  tries few shapes whose sizes are powers of two, the final pass all of them; then sizes in steps of two as
 *           long as threads are whole warps (the paper's last tiling pass).
 * Beyond    A thread computes several points, which share what they read in registers. */
#include "schedulers/gpu/kernels.h"
#include "schedulers/graph/constants.h"

/* The dimensions that threads share; y -1: there is only one. */
typedef struct ThreadDims {
    int x, y;
} ThreadDims;

static ThreadDims thread_dims(const GraphNode *head)
{
    ThreadDims t = { 0, -1 };
    for (int d = 1; d < head->rank; d++)
        if (node_extent(head, 0) < WARP_SIZE / 2 && node_extent(head, d) > node_extent(head, t.x))
            t.x = d;
    for (int d = 0; d < head->rank; d++)
        if (d != t.x && node_extent(head, d) > 1 && (t.y < 0 || node_extent(head, d) > node_extent(head, t.y)))
            t.y = d;
    if (t.y >= 0 && node_extent(head, t.y) < KERNEL_FEW_PLANES)
        t.y = -1;
    return t;
}

static int64_t power_at_least(int64_t n)
{
    int64_t p = 1;
    while (p < n)
        p *= 2;
    return p;
}

typedef struct Trial {
    KernelSpace *s;
    ThreadDims   dims;
    Kernel      *best;
    bool         any;
} Trial;

static void try_shape(Trial *t, const KernelShape *shape)
{
    KernelCost cost;
    kernel_evaluate(t->s, shape, &cost);
    if (t->any && !kernel_better(t->s, &cost, &t->best->cost))
        return;
    t->any         = true;
    t->best->shape = *shape;
    t->best->cost  = cost;
}

/* The dimensions that threads do not share: short ones in copies inside the thread, or all of them blocks. False: there
 * are none in copies. */
static bool place_others(const Trial *t, bool inside, KernelShape *shape)
{
    const GraphNode *head = &t->s->g->nodes[t->s->head];
    bool             any  = false;
    for (int d = 0; d < head->rank; d++) {
        if (d == t->dims.x || d == t->dims.y)
            continue;
        const bool copies = inside && node_extent(head, d) > 1 && node_extent(head, d) <= KERNEL_FEW_PLANES;
        shape->tile[d] = shape->each[d] = copies ? node_extent(head, d) : 1;
        shape->inside |= copies ? 1u << d : 0;
        any |= copies;
    }
    return any;
}

static int64_t copies_of(const KernelShape *shape, int rank)
{
    int64_t copies = 1;
    for (int d = 0; d < rank; d++)
        copies *= shape->each[d];
    return copies;
}

/* One number of threads and of points of a thread along both dimensions. */
static void try_sizes(Trial *t, KernelShape shape, int64_t tx, int64_t ty, int64_t ex, int64_t ey)
{
    const GraphNode *head = &t->s->g->nodes[t->s->head];
    const int64_t    wide = node_extent(head, t->dims.x), high = t->dims.y < 0 ? 1 : node_extent(head, t->dims.y);
    if (tx * ty < 2 || (tx > 1 && tx * ex >= 2 * power_at_least(wide)) ||
        (ty * ey > 1 && ty * ey >= 2 * power_at_least(high)))
        return;
    shape.tile[t->dims.x] = tx * ex;
    shape.each[t->dims.x] = ex;
    if (t->dims.y >= 0) {
        shape.tile[t->dims.y] = ty * ey;
        shape.each[t->dims.y] = ey;
    }
    if (copies_of(&shape, head->rank) <= KERNEL_MOST_COPIES)
        try_shape(t, &shape);
}

static void try_powers(Trial *t, const KernelShape *shape, KernelEffort effort)
{
    static const struct {
        int64_t least_x, most_x, most_y, step_y, most_ex, most_ey, step_ey;
    } ranges[]         = { [KERNEL_QUICK]    = { 32, 32, 16, 4, 1, 4, 4 },
                           [KERNEL_SEARCH]   = { 32, 64, 16, 4, 2, 8, 2 },
                           [KERNEL_THOROUGH] = { 8, 256, 32, 2, 4, 16, 2 } };
    const int64_t wide = power_at_least(node_extent(&t->s->g->nodes[t->s->head], t->dims.x));
    for (int64_t tx = ranges[effort].least_x < wide ? ranges[effort].least_x : wide; tx <= ranges[effort].most_x;
         tx *= 2)
        for (int64_t ty = 1; ty <= ranges[effort].most_y && ty * tx <= t->s->k->device->block_threads;
             ty *= ranges[effort].step_y)
            for (int64_t ex = 1; ex <= ranges[effort].most_ex; ex *= 2)
                for (int64_t ey = 1; ey <= ranges[effort].most_ey; ey *= ranges[effort].step_ey)
                    if (ty * tx >= WARP_SIZE || effort == KERNEL_THOROUGH)
                        try_sizes(t, *shape, tx, ty, ex, ey);
}

/* The final tiling pass: threads of the second dimension more or fewer by two, and of the first by a warp, as long as
 * that gains. */
static void step_sizes(Trial *t)
{
    for (int i = 0; i < KERNEL_STEPS; i++) {
        const KernelShape now = t->best->shape;
        for (int sign = -1; sign <= 1; sign += 2) {
            for (int k = 0; k < 2; k++) {
                const int     d    = k ? t->dims.y : t->dims.x;
                KernelShape   next = now;
                const int64_t by   = d < 0 ? 0 : 2 * now.each[d];
                if (d < 0 || now.tile[d] + sign * by < now.each[d] || now.tile[d] == now.each[d])
                    continue;
                next.tile[d] += sign * by;
                KernelCost cost;
                kernel_evaluate(t->s, &next, &cost);
                if (cost.thread_count % WARP_SIZE == 0 && kernel_better(t->s, &cost, &t->best->cost)) {
                    t->best->shape = next;
                    t->best->cost  = cost;
                }
            }
        }
        if (!memcmp(&now, &t->best->shape, sizeof now))
            return;
    }
}

/* The blocks of a sum whose operands are in shared memory. */
static bool choose_staged(Trial *t)
{
    KernelShape shape = { .inside = 0 };
    if (t->s->paper || !t->s->k->products || !kernel_product_shape(t->s, t->dims.x, &shape))
        return false;
    try_shape(t, &shape);
    return true;
}

/* The blocks of what reads a transposed scan: as many rows as columns, through shared memory. */
static bool choose_turned(Trial *t)
{
    const GraphNode *head   = &t->s->g->nodes[t->s->head];
    KernelShape      shape  = { .inside = 0 };
    bool             turned = false;
    for (int i = 0; i < head->in_count; i++)
        turned |= kernel_is_turned(t->s->k, head->in[i]->producer);
    for (int d = 0; d < head->rank; d++) {
        shape.tile[d] = d < 2 ? TURNED_TILE : 1;
        shape.each[d] = d == 1 ? TURNED_EACH : 1;
    }
    if (turned)
        try_shape(t, &shape);
    return turned;
}

/* The points of a thread of a member along its second dimension; short ones beyond are in copies, or threads. Along the
 * first one a thread has one point: with two, the kernels of a guided filter of 17 x 17 took 95 -> 250 and 94 -> 556 us
 * on an H200, for more shared loads and stores of a warp meet in a bank, and its loads from memory span more lines. */
static const int64_t member_points[] = { 1, 2, 4, 8 };

void kernel_choose_points(KernelSpace *s, int member)
{
    enum { CHOICES = sizeof member_points / sizeof *member_points };
    const int rank = s->g->nodes[member].rank;
    Kernel    best, now;
    int64_t   kept[KN_MAX_RANK], *each = s->k->each[member];
    memcpy(kept, each, sizeof kept);
    kernel_choose_shape(s, KERNEL_QUICK, &best);
    for (int i = 0; i < CHOICES * (rank > 2 ? 2 : 1) && kernel_may_have_points(s, member); i++) {
        for (int d = 0; d < rank; d++)
            each[d] = d == 1 ? member_points[i % CHOICES] : d < 1 || i < CHOICES ? 1 : KERNEL_FEW_PLANES;
        kernel_choose_shape(s, KERNEL_QUICK, &now);
        if (!kernel_better(s, &now.cost, &best.cost))
            continue;
        best = now;
        memcpy(kept, each, sizeof kept);
    }
    memcpy(each, kept, sizeof kept);
}

void kernel_choose_shape(KernelSpace *s, KernelEffort effort, Kernel *out)
{
    const GraphNode *head = &s->g->nodes[s->head];
    Trial            t    = { .s = s, .dims = thread_dims(head), .best = out };
    out->staged           = choose_staged(&t) ? 1 + t.dims.x : 0;
    if (out->staged || choose_turned(&t))
        return;
    for (int inside = 0; inside < 2; inside++) {
        KernelShape shape = { .inside = 0 };
        for (int d = 0; d < head->rank; d++)
            shape.tile[d] = shape.each[d] = 1;
        const bool copies = place_others(&t, inside, &shape);
        if (!inside || copies)
            try_powers(&t, &shape, effort);
    }
    if (!t.any) { /* a head of few points */
        KernelShape shape = { .inside = 0 };
        for (int d = 0; d < head->rank; d++)
            shape.tile[d] = shape.each[d] = 1;
        shape.tile[t.dims.x] = power_at_least(node_extent(head, t.dims.x) < 2 ? 2 : node_extent(head, t.dims.x));
        shape.tile[t.dims.x] = shape.tile[t.dims.x] < WARP_SIZE ? shape.tile[t.dims.x] : WARP_SIZE;
        try_shape(&t, &shape);
    }
    if (effort == KERNEL_THOROUGH)
        step_sizes(&t);
}
