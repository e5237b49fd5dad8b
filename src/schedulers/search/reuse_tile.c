/* SPDX-License-Identifier: MIT */
/* Group tiling: the loop permutation and the tile sizes of a segment.
 *
 * From    Sioutas et al. 2019, section 4.2, Algorithm 3: for every permutation of the loops in a tile and of those
 *         over tiles the levels are found (Algorithms 1 and 2), and every tile size is costed. Loops with few
 *         iterations are not interchanged: they stay around the vectors. The first dimension of a tile is a multiple
 *         of vectors and lines. Equation 14: a tile for each thread.
 * Sizes   In steps of about two, and the heights that leave each thread a given number of tasks. Small segments try
 *         all combinations; others one dimension at a time, twice.
 * Beyond  Equation 15 (a tile is at least as large as the overlap) is left to the cost, which counts recomputation. */
#include "schedulers/search/reuse_internal.h"

#include <math.h>

typedef struct Space {
    Segment *s;
    int      rank, lanes;
    int      big_count, big[KN_MAX_RANK]; /* dimensions whose loops are interchanged */
    int      size_count[KN_MAX_RANK];
    int64_t  sizes[KN_MAX_RANK][REUSE_MOST_SIZES];
    int      intra[KN_MAX_RANK], inter[KN_MAX_RANK]; /* the orders in question, outermost first */
    bool     quick, natural;                         /* natural: the order over tiles is the first one tried */
    Level   *levels;                                 /* by k */
    Solution best;
} Space;

static const GraphNode *head_of(const Segment *s)
{
    return &s->g->nodes[s->nodes[s->count - 1]];
}

/* ---- A nest -------------------------------------------------------------------------------- */

static void tiling_add_loop(Tiling *n, int dim, int64_t step, bool vector)
{
    n->loops[n->loop_count++] = (GroupLoop){ .dim = dim, .step = step, .vector = vector };
}

/* The outermost loops over tiles are the tasks: as many of them as needed (equation 14). */
static void make_parallel(const Segment *s, Tiling *n)
{
    const GraphNode *head  = head_of(s);
    double           tasks = 1;
    for (int i = 0; i < n->inter && tasks < 4 * s->m->cores; i++) {
        n->loops[i].parallel = true;
        tasks *= ceil((double)box_extent(&head->box, n->loops[i].dim) / (double)n->loops[i].step);
    }
}

void nest_make(const Segment *s, const int64_t *size, const int *intra, const int *inter, Tiling *out)
{
    const GraphNode *head  = head_of(s);
    const int        lanes = draft_lanes(s->d, s->nodes[s->count - 1]);
    *out                   = (Tiling){ 0 };
    for (int i = 0; i < head->rank; i++)
        if (size[inter[i]] < box_extent(&head->box, inter[i]))
            tiling_add_loop(out, inter[i], size[inter[i]], false);
    out->inter = out->loop_count;
    for (int i = 0; i < head->rank; i++) {
        const int d = intra[i];
        if (d == 0 && i + 1 < head->rank && size[0] > lanes)
            tiling_add_loop(out, 0, lanes, false);
        else if (d != 0 && (size[d] > 1 || box_extent(&head->box, d) <= 1))
            tiling_add_loop(out, d, 1, false);
    }
    tiling_add_loop(out, 0, lanes, true);
    make_parallel(s, out);
}

/* ---- Sizes --------------------------------------------------------------------------------- */

static void add_size(Space *sp, int d, int64_t size)
{
    int *count = &sp->size_count[d];
    if (size < 1 || size > box_extent(&head_of(sp->s)->box, d) || *count >= REUSE_MOST_SIZES)
        return;
    for (int i = 0; i < *count; i++)
        if (sp->sizes[d][i] == size)
            return;
    sp->sizes[d][(*count)++] = size;
}

/* Rows: heights that leave each thread 1, 2, 4 … tasks, rounded so that nodes at half the resolution have whole tiles;
 * and the powers of two. */
static void row_sizes(Space *sp)
{
    const int64_t rows = box_extent(&head_of(sp->s)->box, 1);
    for (int64_t tasks = sp->s->m->cores; tasks <= 16 * sp->s->m->cores; tasks *= 2) {
        const int64_t height = (rows + tasks - 1) / tasks, unit = height >= 64   ? 32
                                                                  : height >= 16 ? 8
                                                                  : height >= 4  ? 4
                                                                                 : 1;
        add_size(sp, 1, (height + unit - 1) / unit * unit);
    }
    for (int64_t height = 512; height >= 1 && !sp->quick; height /= 2)
        add_size(sp, 1, height);
}

static void find_sizes(Space *sp)
{
    const GraphNode *head  = head_of(sp->s);
    const int64_t    least = head->rank > 1 ? 64 : REUSE_LEAST_TASK, width = box_extent(&head->box, 0);
    const int64_t    unit   = sp->lanes * (sp->s->m->line / (head->bytes > 0 ? head->bytes * sp->lanes : 1) > 1
                                               ? sp->s->m->line / (head->bytes * sp->lanes)
                                               : 1);
    int64_t          planes = 1;
    add_size(sp, 0, width);
    for (int64_t size = least > unit ? least : unit; size < width && size <= 1 << 20; size *= sp->quick ? 8 : 2)
        add_size(sp, 0, (size + unit - 1) / unit * unit);
    if (head->rank > 1)
        row_sizes(sp);
    for (int d = 2; d < head->rank; d++)
        planes *= box_extent(&head->box, d);
    for (int d = 2; d < head->rank; d++) {
        add_size(sp, d, box_extent(&head->box, d));
        add_size(sp, d, 1);
        if (planes > REUSE_FEW_ITERATIONS)
            add_size(sp, d, 8);
    }
    for (int d = 0; d < head->rank; d++) {
        if (!sp->size_count[d])
            sp->sizes[d][sp->size_count[d]++] = box_extent(&head->box, d) > 0 ? box_extent(&head->box, d) : 1;
        if (d < 2 || box_extent(&head->box, d) > REUSE_FEW_ITERATIONS)
            sp->big[sp->big_count++] = d;
    }
}

/* ---- Costs of points of the space ------------------------------------------------------------ */

/* What fits beats what does not. */
static bool is_better(const NestCost *a, const NestCost *b)
{
    return a->fits != b->fits ? a->fits : a->ns < b->ns;
}

/* Equation 14, as far as there is work for all threads. */
static bool is_parallel(const Space *sp, const Tiling *n)
{
    const GraphNode *head = head_of(sp->s);
    return n->tasks >= sp->s->m->cores ||
           (double)box_points(&head->box, head->rank) < (double)REUSE_LEAST_TASK * sp->s->m->cores;
}

static NestCost evaluate(Space *sp, const int64_t *size)
{
    Tiling nest;
    nest_make(sp->s, size, sp->intra, sp->inter, &nest);
    if (nest.inter < 2 && !sp->natural)
        return (NestCost){ .ns = INFINITY }; /* a duplicate */
    nest_boxes(sp->s, &nest);
    if (!is_parallel(sp, &nest))
        return (NestCost){ .ns = INFINITY };
    fuse_nodes(sp->s, &nest, sp->levels);
    const NestCost cost = nest_cost(sp->s, &nest, sp->levels);
    if (is_better(&cost, &sp->best.cost)) {
        sp->best.cost = cost;
        sp->best.nest = nest;
        memcpy(sp->best.levels, sp->levels, (size_t)sp->s->count * sizeof *sp->levels);
    }
    return cost;
}

/* All combinations. */
static void all_sizes(Space *sp)
{
    int     at[KN_MAX_RANK] = { 0 };
    int64_t size[KN_MAX_RANK];
    for (int d = 0; d >= 0;) {
        for (int i = 0; i < sp->rank; i++)
            size[i] = sp->sizes[i][at[i]];
        evaluate(sp, size);
        for (d = sp->rank - 1; d >= 0 && ++at[d] == sp->size_count[d]; d--)
            at[d] = 0;
    }
}

/* One dimension at a time, rows first, beginning with full width. */
static void some_sizes(Space *sp)
{
    int64_t size[KN_MAX_RANK];
    for (int d = 0; d < sp->rank; d++)
        size[d] = sp->sizes[d][0];
    for (int pass = 0; pass < (sp->quick ? 1 : REUSE_PASSES); pass++)
        for (int i = 1; i <= sp->rank; i++) {
            const int d    = i % sp->rank;
            NestCost  best = { .ns = INFINITY };
            int64_t   with = size[d];
            for (int k = 0; k < sp->size_count[d]; k++) {
                size[d]             = sp->sizes[d][k];
                const NestCost cost = evaluate(sp, size);
                if (is_better(&cost, &best)) {
                    best = cost;
                    with = size[d];
                }
            }
            size[d] = with;
        }
}

/* ---- Permutations -------------------------------------------------------------------------- */

/* The next in lexicographic order; false: that was the last. */
static bool next_permutation(int *a, int count)
{
    int i = count - 2;
    while (i >= 0 && a[i] > a[i + 1])
        i--;
    if (i < 0)
        return false;
    int j = count - 1;
    while (a[j] < a[i])
        j--;
    int swap = a[i];
    a[i]     = a[j];
    a[j]     = swap;
    for (int l = i + 1, r = count - 1; l < r; l++, r--) {
        swap = a[l];
        a[l] = a[r];
        a[r] = swap;
    }
    return true;
}

/* The whole order: the interchanged dimensions; the others just outside the first dimension, or innermost where that is
 * further out. */
static void with_few(const Space *sp, const int *big, int *order)
{
    const bool first_last = big[sp->big_count - 1] == 0;
    int        count      = 0;
    for (int i = 0; i < sp->big_count - first_last; i++)
        order[count++] = big[i];
    for (int d = sp->rank - 1; d >= 2; d--)
        if (box_extent(&head_of(sp->s)->box, d) <= REUSE_FEW_ITERATIONS)
            order[count++] = d;
    if (first_last)
        order[count++] = 0;
}

static void outermost_few(const Space *sp, const int *big, int *order)
{
    int count = 0;
    for (int d = sp->rank - 1; d >= 2; d--)
        if (box_extent(&head_of(sp->s)->box, d) <= REUSE_FEW_ITERATIONS)
            order[count++] = d;
    for (int i = 0; i < sp->big_count; i++)
        order[count++] = big[i];
}

/* The dimensions that are interchanged, outermost first; at most three, the inner ones. Gives their number. */
static int first_permutation(const Space *sp, int *order)
{
    const int most = sp->big_count <= 3 ? sp->big_count : 3, fixed = sp->big_count - most;
    for (int i = 0; i < sp->big_count; i++)
        order[i] = sp->big[i < fixed ? sp->big_count - 1 - i : i - fixed];
    return most;
}

static void all_permutations(Space *sp)
{
    int       intra[KN_MAX_RANK], inter[KN_MAX_RANK];
    const int most = first_permutation(sp, intra), fixed = sp->big_count - most;
    do {
        with_few(sp, intra, sp->intra);
        first_permutation(sp, inter);
        sp->natural = true;
        do {
            outermost_few(sp, inter, sp->inter);
            if (sp->s->count <= REUSE_SMALL_SEGMENT && sp->rank <= 3)
                all_sizes(sp);
            else
                some_sizes(sp);
            sp->natural = false;
        } while (next_permutation(inter + fixed, most));
    } while (next_permutation(intra + fixed, most));
}

/* The natural order: outer dimensions outside, rows of vectors inside. */
static void one_permutation(Space *sp)
{
    int order[KN_MAX_RANK];
    for (int i = 0; i < sp->big_count; i++)
        order[i] = sp->big[sp->big_count - 1 - i];
    with_few(sp, order, sp->intra);
    outermost_few(sp, order, sp->inter);
    sp->natural = true;
    some_sizes(sp);
}

Solution tiling_analysis(Segment *s, bool quick, Arena *arena)
{
    Space sp = { .s      = s,
                 .quick  = quick,
                 .rank   = head_of(s)->rank,
                 .lanes  = draft_lanes(s->d, s->nodes[s->count - 1]),
                 .levels = ARENA_ARRAY(arena, Level, (size_t)s->count) };
    sp.best  = (Solution){ .cost = { .ns = INFINITY }, .levels = ARENA_ARRAY(arena, Level, (size_t)s->count) };
    find_sizes(&sp);
    if (quick)
        one_permutation(&sp);
    else
        all_permutations(&sp);
    if (sp.best.nest.loop_count > 0) {
        nest_boxes(s, &sp.best.nest);
        inline_trivial(s, &sp.best.nest, sp.best.levels);
        sp.best.cost = nest_cost(s, &sp.best.nest, sp.best.levels);
    }
    return sp.best;
}
