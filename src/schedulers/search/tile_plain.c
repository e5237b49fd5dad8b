/* SPDX-License-Identifier: MIT */
/* The cost function of the paper, for the ablation.
 *
 * From    Jangda and Bondhugula 2020, equation 2 and Algorithm 2 (Algorithm 4 with two levels): tiles for L1 if their
 *         overlap is smaller than the tile, else for L2;
 *
 *             cost = w1 (live-in + live-out) / computed - w2 ((tiles + cores - 1) mod cores) + w3 overlap / footprint +
 *             w4 difference of extents
 *
 *         The weights are those of Table 3 for the Xeon. They are meant for terms between 0 and 1: elements per point,
 *         the fraction of the cores busy in the last round, redundant points per needed point, the standard deviation
 *         of the extents over their mean. */
#include "schedulers/search/tile_internal.h"

#include <math.h>

typedef struct Terms {
    double live, computed, overlap, tiles;
} Terms;

static double tiles_of(const GraphNode *head, const TileShape *shape)
{
    double tiles = 1;
    for (int d = 0; d < head->rank; d++)
        tiles *= ceil((double)box_extent(&head->box, d) / (double)shape->size[d]);
    return tiles;
}

/* Elements that the tile reads from outside, through all nodes of the group and what is inlined into them. An element
 * that two nodes read counts twice. */
static double live_in(const TileSpace *t)
{
    double all = 0;
    for (int i = 0; i < t->among_count; i++) {
        const GraphNode *node = &t->g->nodes[t->among[i]];
        for (int k = 0; k < node->in_count; k++) {
            const int        p      = node->in[k]->producer;
            const GraphNode *from   = &t->g->nodes[p];
            double           points = box_points(&t->boxes[t->among[i]], node->rank) ? 1 : 0;
            const Choice    *c      = &t->d->choices[p];
            if (c->where == WHERE_INLINE || (c->where == WHERE_INSIDE && c->group == t->d->choices[t->head].group))
                continue;
            for (int d = 0; d < from->rank; d++) {
                int64_t lo, hi;
                access_range_span(&node->in[k]->access[d], &t->boxes[t->among[i]], &lo, &hi);
                points *= (double)(hi - lo + 1);
            }
            all += points;
        }
    }
    return all;
}

static Terms terms_of(TileSpace *t, const TileShape *shape)
{
    const GraphNode *head = &t->g->nodes[t->head];
    Terms            out  = { .tiles = tiles_of(head, shape) };
    tile_boxes(t, shape->size);
    for (int i = 0; i < t->count; i++) {
        const GraphNode *node   = &t->g->nodes[t->nodes[i]];
        const double     points = (double)box_points(&t->boxes[t->nodes[i]], node->rank),
                     own        = (double)box_points(&node->box, node->rank) / out.tiles;
        out.computed += points;
        out.overlap += points > own ? points - own : 0;
    }
    out.live = live_in(t) + (double)box_points(&t->boxes[t->head], head->rank);
    return out;
}

/* The mean, over the head's dimensions, of how much the extents of the members differ. */
static double difference(const TileSpace *t)
{
    const GraphNode *head = &t->g->nodes[t->head];
    double           all  = 0;
    for (int d = 0; d < head->rank; d++) {
        double sum = 0, squares = 0, count = 0;
        for (int i = 0; i < t->count; i++) {
            const GraphNode *node = &t->g->nodes[t->nodes[i]];
            const double     e    = d < node->rank ? (double)box_extent(&node->box, d) : 0;
            sum += e;
            squares += e * e;
            count += d < node->rank;
        }
        const double mean = sum / count, variance = squares / count - mean * mean;
        all += mean > 0 && variance > 0 ? sqrt(variance) / mean : 0;
    }
    return all / head->rank;
}

double tile_plain_cost(TileSpace *t, TileShape *shape)
{
    const int cores = t->m->cores;
    *shape          = tile_for_cache(t, (double)t->m->l1);
    Terms terms     = terms_of(t, shape);
    if (terms.overlap > terms.computed - terms.overlap) {
        const int64_t band = shape->size[1];
        *shape             = tile_for_cache(t, (double)t->m->l2);
        shape->band        = t->options.no_two_levels || t->g->nodes[t->head].rank < 2 ? 0
                             : band < shape->size[1]                                   ? band
                                                                                       : shape->size[1];
        terms              = terms_of(t, shape);
    }
    const double busy = fmod(terms.tiles + cores - 1, cores) / cores;
    return WEIGHT_LIVE * terms.live / terms.computed - WEIGHT_CORES * busy +
           WEIGHT_OVERLAP * terms.overlap / (terms.computed - terms.overlap) + WEIGHT_EXTENTS * difference(t);
}
