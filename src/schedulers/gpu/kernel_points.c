/* SPDX-License-Identifier: MIT */
/* What a block, or a thread, computes and reads of each node, as the code tells elements apart.
 *
 * Takes   a group, and the boxes of a block or of a thread (kernel_cost.c).
 * Gives   the span of each node along each dimension, and its points.
 * Why     Copies of code share what they read. The iterations of a loop do not: what one of them reads, or computes
 *         for itself, the next one does again. */
#include "schedulers/gpu/kernel_points.h"
#include "schedulers/graph/constants.h"
#include "ir/fold.h"

#include <math.h>

static double least(double a, double b)
{
    return a < b ? a : b;
}

static int64_t least_int(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

double kernel_steps_of(const GraphNode *node, int update)
{
    return update < 0 ? 1 : node->defs[update + 1].steps;
}

double kernel_copies_of_steps(const KernelSpace *s, int node, int def)
{
    const int64_t steps = kernel_steps_of_table(s->k, node);
    return s->k->table[node]                                      ? 0
           : !def                                                 ? 1
           : s->k->d.choices[node].where == WHERE_INLINE || steps ? s->g->nodes[node].defs[def].steps
                                                                  : 1;
}

/* The iterations of the loop that a thread has for the steps of an update, if they are no copies: what one of them
 * reads, or computes for itself, the next one does again. */
static double iterations_of(const KernelSpace *s, int node, int update)
{
    return update >= 0 && kernel_copies_of_steps(s, node, update + 1) == 1 ? kernel_steps_of(&s->g->nodes[node], update)
                                                                           : 1;
}

double kernel_copies_at_once(const KernelSpace *s, int node, int update)
{
    return update >= 0 && s->k->d.choices[node].where == WHERE_INLINE ? kernel_steps_of(&s->g->nodes[node], update) : 1;
}

KernelSpan kernel_span_read(const KernelSpace *s, const Edge *e, int d)
{
    const AccessRange *r = &e->access[d];
    const double most = iterations_of(s, e->consumer, e->update) > 1 ? e->accesses : INFINITY; /* elements of a point */
    if (r->var < 0)
        return (KernelSpan){ least(most, (double)(floor_div(r->hi, r->den) - floor_div(r->lo, r->den) + 1)), 1 };
    const KernelSpan of       = s->span[e->consumer][r->var];
    const int64_t    by       = of.aligned * (r->num < 0 ? -r->num : r->num);
    const double     wide     = least(most - 1, (double)(r->hi - r->lo));
    const double     long_way = fabs((double)r->num) * (of.points - 1) + wide;
    if (r->den == 1)
        return (KernelSpan){ long_way + 1, least_int(by, MOST_ALIGNED) };
    if (by && by % r->den == 0)
        return (KernelSpan){ floor(long_way / (double)r->den) + 1, least_int(by / r->den, MOST_ALIGNED) };
    return (KernelSpan){ of.points * least(e->accesses, wide + 1), 1 };
}

double kernel_span_points(const KernelSpace *s, int node)
{
    double points = 1;
    for (int d = 0; d < s->g->nodes[node].rank; d++)
        points *= s->span[node][d].points;
    return points;
}

/* What a node reads of others is added to their spans, and to the times that a thread needs these. */
static void add_to_spans(KernelSpace *s, int node)
{
    for (int i = 0; i < s->g->nodes[node].in_count; i++) {
        const Edge  *e          = s->g->nodes[node].in[i];
        const double iterations = iterations_of(s, node, e->update);
        s->repeats[e->producer] = fmax(s->repeats[e->producer], s->repeats[node] * iterations);
        s->shifted[e->producer] |= s->shifted[node] || (iterations > 1 && e->access[0].lo < e->access[0].hi);
        for (int d = 0; d < s->g->nodes[e->producer].rank; d++) {
            const KernelSpan now = kernel_span_read(s, e, d), had = s->span[e->producer][d];
            s->span[e->producer][d] =
                (KernelSpan){ fmax(now.points, had.points),
                              had.points > 0 ? least_int(now.aligned, had.aligned) : now.aligned };
        }
    }
}

/* The spans of a thread of a unit begin with its own points. */
static void begin_spans(KernelSpace *s, int unit, const int64_t *each)
{
    for (int i = 0; i < s->among_count; i++) {
        const GraphNode *node = &s->g->nodes[s->among[i]];
        memset(s->span[s->among[i]], 0, sizeof s->span[0]);
        for (int k = 0; k < node->in_count; k++) {
            memset(s->span[node->in[k]->producer], 0, sizeof s->span[0]);
            s->repeats[node->in[k]->producer] = 1;
            s->shifted[node->in[k]->producer] = false;
        }
    }
    s->repeats[unit] = 1;
    s->shifted[unit] = false;
    for (int d = 0; d < s->g->nodes[unit].rank; d++)
        s->span[unit][d] = (KernelSpan){ (double)box_extent(&s->thread[unit], d),
                                         unit == s->head ? kernel_alignment(s, d, each[d]) : 1 };
}

void kernel_find_points(KernelSpace *s, const Box *boxes, int unit, const int64_t *each)
{
    if (unit >= 0)
        begin_spans(s, unit, each);
    for (int i = s->among_count; i-- > 0;) {
        const int        n    = s->among[i];
        const GraphNode *node = &s->g->nodes[n];
        double           read = 0, once = 0, step = 0;
        for (int k = 0; k < node->out_count; k++) {
            const Edge *e = node->out[k];
            if (!s->within[e->consumer])
                continue;
            read += s->points[e->consumer] * kernel_steps_of(&s->g->nodes[e->consumer], e->update) * e->accesses;
            once += s->at_once[e->consumer] * kernel_copies_at_once(s, e->consumer, e->update) * e->accesses;
            step += s->at_step[e->consumer] * e->accesses;
        }
        const bool given = n == (unit < 0 ? s->head : unit);
        s->within[n]     = given || unit < 0 || kernel_in_threads(s, n, unit);
        const double all = !s->within[n] ? 0
                           : unit >= 0   ? kernel_span_points(s, n)
                                         : (double)box_points(&boxes[n], node->rank);
        s->points[n]     = given ? all : least(unit >= 0 ? s->repeats[n] * all : all, read);
        s->at_once[n]    = given ? all : least(all, once);
        s->at_step[n]    = given ? all : least(all, step);
        if (unit >= 0 && s->points[n] > 0)
            add_to_spans(s, n);
    }
    for (int i = 0; i < s->among_count; i++)
        s->within[s->among[i]] = false;
}
