/* SPDX-License-Identifier: MIT */
/* Tile sizes for a cache, and the boxes of tiles.
 *
 * From    Jangda and Bondhugula 2020, section 4.2 and Algorithm 2 (ComputeTileSizes): the innermost dimension has a
 *         fixed size; the others share the volume that the cache allows in the ratio of the reuse along them. Sizes
 *         are any numbers, not only powers of two.
 * Beyond  Boxes are exact, so tiles shrink until all nodes of the group fit. Tiles are tight by construction: the box
 *         of a node is what its readers read, no more (the scalene tiles of Zhao and Cohen 2019, section 3). */
#include "schedulers/graph/access_range.h"
#include "schedulers/search/tile_internal.h"

#include <math.h>

int64_t tile_planes(const GraphNode *head)
{
    int64_t planes = 1;
    for (int d = 2; d < head->rank; d++)
        planes *= box_extent(&head->box, d) > 0 ? box_extent(&head->box, d) : 1;
    return planes;
}

/* ---- Boxes ------------------------------------------------------------------------------- */

void tile_boxes(TileSpace *t, const int64_t *size)
{
    const GraphNode *node = &t->g->nodes[t->head];
    Box              box  = node->box;
    for (int d = 0; d < node->rank; d++) {
        box.min[d] += box_extent(&node->box, d) / 2 / size[d] * size[d];
        box.max[d] = box.min[d] + size[d] - 1 < node->box.max[d] ? box.min[d] + size[d] - 1 : node->box.max[d];
    }
    for (int i = 0; i < t->among_count; i++) {
        Box *b                 = &t->boxes[t->among[i]];
        b->min[0]              = 0;
        b->max[0]              = -1;
        t->member[t->among[i]] = t->among[i] != t->head;
    }
    t->given[t->head] = true;
    t->boxes[t->head] = box;
    graph_regions_among(t->g, t->among, t->among_count, t->given, t->member, t->boxes);
    t->given[t->head] = false;
    for (int i = 0; i < t->among_count; i++)
        t->member[t->among[i]] = false;
}

double tile_bytes(const TileSpace *t)
{
    double bytes = 0;
    for (int i = 0; i < t->count; i++) {
        const GraphNode *node = &t->g->nodes[t->nodes[i]];
        bytes += (double)box_points(&t->boxes[t->nodes[i]], node->rank) * (double)node->bytes;
    }
    return bytes;
}

/* ---- Sizes ------------------------------------------------------------------------------- */

/* The reuse along a dimension: the widths of all windows that the group reads through. */
static double reuse_along(const TileSpace *t, int dim)
{
    double score = 1;
    for (int i = 0; i < t->count; i++) {
        const GraphNode *node = &t->g->nodes[t->nodes[i]];
        for (int k = 0; k < node->in_count; k++)
            for (int e = 0; e < t->g->nodes[node->in[k]->producer].rank; e++) {
                const AccessRange *r = &node->in[k]->access[e];
                if (r->var == dim)
                    score += (double)(r->hi - r->lo) / (double)r->den;
            }
    }
    return score;
}

/* ComputeTileSizes: `volume` points. The innermost dimension has its own size, and the k others share the rest in the
 * ratio γ of the reuse along them: τ^k Πγ is the rest. A few planes are all in a tile, and share nothing. */
static void compute_sizes(const TileSpace *t, double volume, int64_t *size)
{
    const GraphNode *head = &t->g->nodes[t->head];
    const int        last =
        tile_planes(head) <= TILE_FEW_PLANES && head->rank > 1 ? 1 : head->rank - 1; /* dimensions that share */
    double gamma[KN_MAX_RANK], most = 1, tau = volume;
    for (int d = 1; d <= last; d++) {
        gamma[d] = reuse_along(t, d);
        most     = fmax(most, gamma[d]);
    }
    for (int d = 0; d < head->rank; d++) {
        const int64_t all = box_extent(&head->box, d);
        size[d]           = d == 0 && all > TILE_WIDTH ? TILE_WIDTH : all;
        tau /= d >= 1 && d <= last ? gamma[d] / most : (double)size[d];
    }
    tau = last > 0 ? pow(tau, 1.0 / last) : tau;
    for (int d = 1; d <= last; d++) {
        const double share = floor(tau * gamma[d] / most);
        size[d]            = share < 1 ? 1 : share < (double)size[d] ? (int64_t)share : size[d];
    }
}

/* Shrinks tiles until their exact boxes fit: the longest dimension first, the width last. */
static void shrink(TileSpace *t, double cache, int64_t *size)
{
    const int rank = t->g->nodes[t->head].rank;
    for (int round = 0; round < TILE_MOST_ROUNDS; round++) {
        tile_boxes(t, size);
        const double part    = cache / tile_bytes(t);
        int          largest = rank > 1 ? 1 : 0;
        if (part >= 1)
            return;
        for (int d = 2; d < rank; d++)
            largest = size[d] > size[largest] ? d : largest;
        if (largest > 0 && size[largest] > 1)
            size[largest] = (int64_t)fmax(fmin((double)size[largest] * fmax(part, 0.25), (double)size[largest] - 1), 1);
        else if (size[0] > TILE_LEAST_WIDTH)
            size[0] /= 2;
        else
            return;
    }
}

TileShape tile_for_cache(TileSpace *t, double cache)
{
    TileShape    shape = { .band = 0 };
    const double bytes = (double)t->g->nodes[t->head].bytes;
    double       total = 0;
    for (int i = 0; i < t->count; i++) {
        const GraphNode *node = &t->g->nodes[t->nodes[i]];
        total += (double)box_points(&node->box, node->rank) * (double)node->bytes;
    }
    const double held = fmin(total / (TILE_TASKS * t->m->cores), cache); /* enough tiles for all cores */
    compute_sizes(t, held / t->count / (bytes < 1 ? 1 : bytes), shape.size);
    shrink(t, held, shape.size);
    return shape;
}

/* The most rows of a tile of this width, one plane at a time, whose exact boxes fit; 0: not even one row fits. */
static int64_t most_rows(TileSpace *t, double cache, int64_t *size)
{
    int64_t       fits = 0, step = 1;
    const int64_t all = box_extent(&t->g->nodes[t->head].box, 1);
    while (step < all)
        step *= 2;
    for (; step > 0; step /= 2) {
        size[1] = fits + step;
        if (size[1] > all)
            continue;
        tile_boxes(t, size);
        fits = tile_bytes(t) <= cache ? size[1] : fits;
    }
    return size[1] = fits;
}

bool tile_least_overlap(TileSpace *t, double cache, TileShape *shape)
{
    const GraphNode *head = &t->g->nodes[t->head];
    double           best = INFINITY;
    TileShape        now  = { .band = 0 };
    for (int d = 0; d < head->rank; d++)
        now.size[d] = d > 1 ? 1 : box_extent(&head->box, d);
    for (int64_t width = box_extent(&head->box, 0); width >= TILE_LEAST_WIDTH;
         width         = width > TILE_MOST_WIDTH ? TILE_MOST_WIDTH : width / 2) {
        now.size[0] = width;
        if (!most_rows(t, cache, now.size))
            continue;
        now.size[1] = now.size[1] > 16 ? now.size[1] / 16 * 16 : now.size[1];
        tile_boxes(t, now.size);
        const double bytes = tile_bytes(t) / ((double)now.size[0] * (double)now.size[1]);
        if (bytes < best) {
            best   = bytes;
            *shape = now;
        }
    }
    return best < INFINITY;
}

int64_t tile_fit_width(TileSpace *t, const TileShape *shape, double cache)
{
    int64_t window[KN_MAX_RANK];
    memcpy(window, shape->size, sizeof window);
    window[1] = shape->band < window[1] ? shape->band : window[1];
    while (window[0] > TILE_LEAST_WIDTH) {
        tile_boxes(t, window);
        if (tile_bytes(t) <= cache)
            break;
        window[0] = window[0] / 2 < TILE_LEAST_WIDTH
                        ? TILE_LEAST_WIDTH
                        : (window[0] / 2 + TILE_LEAST_WIDTH - 1) / TILE_LEAST_WIDTH * TILE_LEAST_WIDTH;
    }
    return window[0];
}
