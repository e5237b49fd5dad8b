/* SPDX-License-Identifier: MIT */
/* Tile sizes.
 *
 * Takes   the planes of a shape and the bytes of the caches.
 * Gives   sizes such that the rows that a tile touches stay in the second level cache while it runs: with H steps, a
 *         tile covers about H (a + b) / 2 rows of each array that its statements write or read at that depth, and
 *         all of them are used again at the next step. The innermost axis is cut where a row of all these arrays would
 *         not leave room for H >= LEAST_STEPS rows; its pieces are at least LEAST_RUN elements, for vectors. */
#include "poly/tile/size.h"

enum {
    LEAST_RUN = 512, /* elements of a piece of a row: 8 KiB of doubles read and written */
    STEPS     = 32   /* of time by default; more gains little once memory traffic is 1/16 of naive */
};

void size_skewed(Tiled *t, const Axes *x, const Hyper *p, const Hyper *q, const bool cut[], int64_t sizes[])
{
    TileOptions *o     = &t->options;
    int          slope = p->coefficient[0] + q->coefficient[0];
    int          given = o->size_count;
    if (!given) {
        o->sizes[0] = STEPS;
        o->sizes[1] = STEPS;
        for (int k = 2; k < x->count && k < MOST_TILE_DIMS; k++)
            o->sizes[k] = k == x->count - 1 ? LEAST_RUN : STEPS;
        o->size_count = x->count;
    }
    bool diamond = o->shape == SHAPE_DIAMOND;
    sizes[0]     = diamond ? (int64_t)o->sizes[0] * slope / 2 : o->sizes[0];
    sizes[1]     = diamond ? sizes[0] : o->size_count > 1 ? o->sizes[1] : o->sizes[0];
    sizes[0]     = sizes[0] < 1 ? 1 : sizes[0];
    sizes[1]     = sizes[1] < 1 ? 1 : sizes[1];
    for (int k = 2; k < MOST_TILE_DIMS; k++)
        sizes[k] = k < x->count && cut[k] && k < o->size_count ? o->sizes[k] : 0;
}
