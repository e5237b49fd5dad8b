/* SPDX-License-Identifier: MIT */
/* Tile sizes.
 *
 * Takes   the planes of a shape and the bytes of the caches.
 * Gives   sizes such that the rows that a tile touches stay in the second level cache while it runs: with H steps, a
 *         tile covers about H (a + b) / 2 rows of each array that its statements write or read at that depth, and
 *         all of them are used again at the next step. The innermost axis is cut where a row of all these arrays would
 *         not leave room for H >= LEAST_STEPS rows; its pieces are at least LEAST_RUN elements, for vectors. */
#include "poly/tile/size.h"

#include <isl/ilp.h>

enum {
    FEW          = 16, /* values of a loop that is not tiled: the channels of an image */
    MOST_TILED   = 2,  /* loops of a stage */
    TILE_ROWS    = 32, /* of an overlapped tile */
    TILE_COLUMNS = 256,
    TILE_RUN     = 4096, /* of a tile of one dimension */
    LEAST_RUN    = 512,  /* elements of a piece of a row: 8 KiB of doubles read and written */
    STEPS        = 32    /* of time by default; more gains little once memory traffic is 1/16 of naive */
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

/* The number of values along dimension d of the points, if it is a number. */
static int64_t extent_of(const Stage *s, int d)
{
    isl_set *all = isl_set_copy(s->all);
    all          = isl_set_project_out(all, isl_dim_set, (unsigned)d + 1, (unsigned)(s->dims - d - 1));
    all          = isl_set_project_out(all, isl_dim_set, 0, (unsigned)d);
    isl_val *low = isl_set_dim_min_val(isl_set_copy(all), 0), *high = isl_set_dim_max_val(all, 0);
    isl_val *n = isl_val_add_ui(isl_val_sub(high, low), 1);
    int64_t  v = isl_val_is_int(n) == isl_bool_true ? isl_val_get_num_si(n) : INT64_MAX;
    isl_val_free(n);
    return v;
}

bool size_overlapped(const Stages *p, const Stage *root, Group *g)
{
    TileOptions *o   = &p->tiled->options;
    int          max = o->shape == SHAPE_HYBRID ? 1 : MOST_TILED;
    int          dims[MOST_POINT_DIMS], n = 0;
    for (int d = 0; d < root->dims; d++)
        if (extent_of(root, d) > FEW)
            dims[n++] = d;
    g->tile_dims = n < max ? n : max;
    for (int k = 0; k < g->tile_dims; k++) {
        g->axis[k] = dims[k];
        bool row   = dims[k] == root->dims - 1;
        g->size[k] = k < o->size_count ? o->sizes[k] : !row ? TILE_ROWS : k == 0 ? TILE_RUN : TILE_COLUMNS;
        g->size[k] = g->size[k] < 1 ? 1 : g->size[k];
    }
    return g->tile_dims > 0;
}
