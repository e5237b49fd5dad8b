/* SPDX-License-Identifier: MIT */
/* Tile sizes.
 *
 * Takes   the planes of a shape and the bytes of the caches.
 * Gives   sizes under which what a tile touches stays in a cache while it runs: a tile of H steps of time covers
 *         W = H (a + b) / 2 rows, and along each further axis its piece and the skew of H steps. With B bytes for each
 *         point of space:
 *             one axis     W B <= 2/3 L1               (its rows are so short that loop overhead counts)
 *             two axes     W / 2 RUN B <= 1/4 L2       (three rows of RUN elements stay in L1)
 *             more         W / 2 H^(n-2) row B <= L2
 *         A step of a tile has W / 2 rows on average, and its pieces move with time. H is as large as that allows:
 *         memory traffic goes with 1 / H. Numbers known for extents bound it: H <= steps, and at least TILES_EACH tiles
 *         for each thread along a wavefront.
 * Seen    ms on two threads of a Zen 5 in f64, by H. heat-2d of 4000^2: 28: 255, 40: 234, 64: 220, 96: 214. heat-3d of
 *         300^3: 12: 333, 16: 325, 20: 297, 24: 300. */
#include "poly/tile/size.h"
#include "poly/model/model.h"
#include "poly/tile/trapezoid.h"

#include <isl/ilp.h>
#include <math.h>

enum {
    RUN = 512, /* elements of a piece of a row; heat-2d, 1 thread: 32x512 0.89 s, 32x1024 0.90, 64x256 0.83 (loaded
                  machine) */
    LEAST_STEPS = 4,    /* of time */
    MOST_STEPS  = 2048, /* of time, with one axis */
    MANY_STEPS  = 64,   /* with more */
    TILES_EACH  = 4,    /* tiles of a wavefront for each thread, to share the work evenly: heat-3d of 150^3, two threads
                           of a Zen 5, 279 ms with H of 16, 307 with 24 */
    COLUMN       = 32,  /* rows of a column */
    FEW          = 16,  /* values of a loop that is not tiled: the channels of an image */
    MOST_TILED   = 2,   /* loops of a stage */
    TILE_ROWS    = 32,  /* of an overlapped tile; this and the next two are not tuned */
    TILE_COLUMNS = 256,
    TILE_RUN     = 4096,  /* of a tile of one dimension */
    STRIP_ROWS   = 128,   /* of a tile whose rows slide; harris_polymage on two threads of a Zen 3, ms: 32 rows 15.2,
                             64 14.9, 128 14.8, 256 14.1, 354 15.3, 708 15.0 */
    FEWEST_ROWS   = 32,   /* of such a tile: with fewer, too much is computed twice */
    STRIP_COLUMNS = 4096, /* of a row whose length is not known */
    BLOCK_ROWS    = 16,   /* the same of a block of a device, whose scratch is shared memory */
    BLOCK_COLUMNS = 64,
    BLOCK_RUN     = 1024,
    DEFAULT_L1    = 32 << 10,
    DEFAULT_L2    = 1 << 20,
    MOST_SCRATCH  = 1 << 20,  /* bytes: half of the least stack that threads have by default */
    MOST_SHARED   = 227 << 10 /* of shared memory for a block, from sm_90 on */
};

/* The number of values of an affine function on a set, or INT64_MAX. Takes both. */
static int64_t values_of(const Scop *s, isl_set *set, isl_aff *aff)
{
    isl_val *low = isl_set_min_val(set, aff), *high = isl_set_max_val(set, aff);
    scop_isl_unbounded(s);
    isl_val *n = isl_val_add_ui(isl_val_sub(high, low), 1);
    int64_t  v = isl_val_is_int(n) == isl_bool_true ? isl_val_get_num_si(n) : INT64_MAX;
    isl_val_free(n);
    isl_set_free(set);
    isl_aff_free(aff);
    return v;
}

/* The extent of an axis, if it is a number. */
static int64_t axis_extent(const Axes *x, int k)
{
    int64_t most = 0;
    for (size_t i = 0; i < x->statement_count; i++) {
        int64_t n = values_of(x->scop, isl_set_copy(x->statements[i]->domain), isl_aff_copy(x->at[i][k]));
        most      = n > most ? n : most;
    }
    return most;
}

/* Bytes for each point of space: each array once, times the numbers that its leading extents are ([2] for two steps).
 */
static int64_t point_bytes(const Axes *x)
{
    int64_t sum               = 0;
    VEC(const CSymbol *) seen = { 0 };
    for (size_t i = 0; i < x->statement_count; i++)
        for (size_t k = 0; k < x->statements[i]->accesses.count; k++) {
            const CSymbol *array = x->statements[i]->accesses.at[k].array;
            bool           known = array->rank < x->count - 1;
            for (size_t m = 0; m < seen.count && !known; m++)
                known = seen.at[m] == array;
            if (known)
                continue;
            vec_push(x->scop->arena, &seen, array);
            int64_t bytes = type_bits(array->type) / 8;
            for (int d = 0; d <= array->rank - x->count; d++)
                if (array->extents && array->extents[d] && array->extents[d]->kind == CEXPR_INT &&
                    array->extents[d]->u.i <= FEW)
                    bytes *= array->extents[d]->u.i;
            sum += bytes;
        }
    return sum ? sum : 8;
}

/* Bytes that a tile of `steps` touches; with more than one axis, that a step of it touches on average. */
static double touched(const Axes *x, int slope, int64_t steps, int64_t row, int64_t bytes)
{
    const double all = (double)bytes * (double)steps * (slope > 1 ? slope : 2) / 2;
    if (x->count < 3)
        return all;
    return all / 2 * pow((double)steps, x->count - 3) * (double)(row < RUN ? row : RUN);
}

static void model_skewed(Tiled *t, const Axes *x, int slope)
{
    TileOptions *o  = &t->options;
    int64_t      l1 = o->l1 > 0 ? o->l1 : DEFAULT_L1, l2 = o->l2 > 0 ? o->l2 : DEFAULT_L2;
    int64_t      row = axis_extent(x, x->count - 1), bytes = point_bytes(x), length = axis_extent(x, 0);
    int64_t      rows = axis_extent(x, 1), threads = o->threads > 0 ? o->threads : 1;
    double       cache = x->count == 2 ? (double)l1 * 2 / 3 : x->count == 3 ? (double)l2 / 4 : (double)l2;
    int64_t      most = x->count == 2 ? MOST_STEPS : MANY_STEPS, step = x->count == 2 ? 32 : 4;
    int64_t      steps = LEAST_STEPS;
    while (steps + step <= most && steps < length && touched(x, slope, steps + step, row, bytes) <= cache &&
           (steps + step) * (slope > 1 ? slope : 2) / 2 * TILES_EACH * threads <= rows)
        steps += step;
    o->sizes[0] = (int)steps;
    o->sizes[1] = slope ? (int)steps : x->count == 2 ? RUN : COLUMN;
    for (int k = 2; k < x->count && k < MOST_TILE_DIMS; k++)
        o->sizes[k] = k < x->count - 1 ? (int)steps : row <= RUN ? 0 : RUN;
    o->size_count = x->count < MOST_TILE_DIMS ? x->count : MOST_TILE_DIMS;
}

void size_skewed(Tiled *t, const Axes *x, const Hyper *p, const Hyper *q, const bool cut[], int64_t sizes[])
{
    TileOptions *o       = &t->options;
    int          slope   = p->coefficient[0] + q->coefficient[0];
    bool         columns = slope == 0, diamond = q->coefficient[1] < 0;
    if (!o->size_count)
        model_skewed(t, x, slope);
    int width = o->size_count > 1 && o->sizes[1] > 0 ? o->sizes[1] : o->sizes[0];
    sizes[0]  = columns ? width : diamond ? (int64_t)o->sizes[0] * slope / 2 : o->sizes[0];
    sizes[1]  = diamond ? sizes[0] : width;
    sizes[0]  = sizes[0] < 1 ? 1 : sizes[0];
    sizes[1]  = sizes[1] < 1 ? 1 : sizes[1];
    for (int k = 2; k < MOST_TILE_DIMS; k++)
        sizes[k] = k < x->count && cut[k] && k < o->size_count ? o->sizes[k] : 0;
}

/* The number of values along dimension d of the points, if it is a number. */
static int64_t extent_of(const Stages *p, const Stage *s, int d)
{
    isl_local_space *ls = isl_local_space_from_space(isl_set_get_space(s->all));
    return values_of(p->tiled->scop, isl_set_copy(s->all), isl_aff_var_on_domain(ls, isl_dim_set, (unsigned)d));
}

/* The rows of a strip: about STRIP_ROWS, such that each thread has as many strips. 0: too few. Of so many rows that
 * threads do not matter, or of an unknown number, STRIP_ROWS. */
static int64_t strip_rows(const TileOptions *o, int64_t rows)
{
    if (rows > INT32_MAX)
        return STRIP_ROWS;
    int64_t threads = o->threads > 0 ? o->threads : 1, each = (rows + threads - 1) / threads;
    int64_t strips = (each + STRIP_ROWS / 2) / STRIP_ROWS;
    strips         = strips < 1 ? 1 : strips;
    each           = (rows + threads * strips - 1) / (threads * strips);
    return each < FEWEST_ROWS ? 0 : each;
}

/* Tiles whose rows slide: strips of rows along the first loop that has many. Rows are cut if they have no known length,
 * or where scratch would be too large. */
static bool size_strips(const Stages *p, const Stage *root, Group *g)
{
    TileOptions *o     = &p->tiled->options;
    int          first = 0, last = root->dims - 1;
    while (first < last && extent_of(p, root, first) <= FEW)
        first++;
    int64_t rows = extent_of(p, root, first), row = extent_of(p, root, last);
    int64_t most = row < INT64_MAX ? row : STRIP_COLUMNS;
    g->axis[0]   = first;
    g->axis[1]   = last;
    g->size[0]   = o->size_count ? o->sizes[0] : first == last ? TILE_RUN >> o->halved : strip_rows(o, rows);
    g->size[1]   = o->size_count > 1 ? o->sizes[1] : most >> o->halved;
    g->size[0]   = g->size[0] < 1 && o->size_count ? 1 : g->size[0];
    g->tile_dims = rows <= g->size[0] || g->size[0] < 1                   ? 0
                   : first == last || g->size[1] >= row || g->size[1] < 1 ? 1
                                                                          : 2;
    return g->tile_dims > 0;
}

int64_t size_scratch(const Tiled *t)
{
    const TileOptions *o    = &t->options;
    const int64_t      rows = (o->l2 > 0 ? o->l2 : DEFAULT_L2) / 2;
    if (o->target == FOR_CUDA)
        return MOST_SHARED;
    return slides(t) && o->automatic && rows < MOST_SCRATCH ? rows : MOST_SCRATCH;
}

bool size_overlapped(const Stages *p, const Stage *root, Group *g)
{
    TileOptions *o   = &p->tiled->options;
    int          max = o->shape == SHAPE_HYBRID ? 1 : MOST_TILED;
    int          dims[MOST_POINT_DIMS], n = 0;
    if (slides(p->tiled))
        return size_strips(p, root, g);
    for (int d = 0; d < root->dims; d++)
        if (extent_of(p, root, d) > FEW)
            dims[n++] = d;
    g->tile_dims = n < max ? n : max;
    for (int k = 0; k < g->tile_dims; k++) {
        g->axis[k] = dims[k];
        bool row   = dims[k] == root->dims - 1;
        if (o->target == FOR_CUDA)
            g->size[k] = !row ? BLOCK_ROWS : k == 0 ? BLOCK_RUN : BLOCK_COLUMNS;
        else
            g->size[k] = !row ? TILE_ROWS : k == 0 ? TILE_RUN : TILE_COLUMNS;
        g->size[k] = k < o->size_count ? o->sizes[k] : g->size[k] >> o->halved;
        g->size[k] = g->size[k] < 1 ? 1 : g->size[k];
    }
    int kept = 0; /* loops longer than a tile */
    for (int k = 0; k < g->tile_dims; k++)
        if (extent_of(p, root, g->axis[k]) > g->size[k]) {
            g->axis[kept]   = g->axis[k];
            g->size[kept++] = g->size[k];
        }
    g->tile_dims = kept;
    return kept > 0;
}

int size_trapezoid_axes(const Tiled *t, const Axes *x, int axis[])
{
    const TileOptions *o = &t->options;
    int                n = 0;
    for (int k = 1; k < x->count; k++) {
        bool whole = k < o->size_count ? o->sizes[k] < 1 : axis_extent(x, k) <= FEW;
        if (!whole && (n == 0 || o->shape != SHAPE_HYBRID))
            axis[n++] = k;
    }
    return n;
}

/* Whole rows of a piece stay in L1, what a tile touches in L2; steps such that a quarter of the work is done twice at
 * most. Not tuned further: diamonds are faster on processors. */
void size_trapezoid(Trapezoid *z)
{
    /* Steps, then sizes, by the number of tiled axes. With what they grow by, those for a device fill its blocks: two
     * planes of two axes are 64 KiB. heat-2d on an H200, ms a step of 4000 x 4000: f64 5,54,54 0.038, 7,50,114 0.042;
     * f32 7,50,114 0.019, 5,54,54 0.023. */
    static const int processor[][4] = { { 31, 1024, 0, 0 }, { 9, 64, 256, 0 }, { 3, 16, 16, 64 } };
    static const int device[][4]    = { { 15, 994, 0, 0 }, { 5, 54, 54, 0 }, { 3, 8, 8, 26 } };
    TileOptions     *o              = &z->t->options;
    const int        dims           = z->dims < 3 ? z->dims : 3;
    static const int narrow[]       = { 7, 50, 114, 0 }; /* for elements of 4 bytes */
    const Statement *first          = z->x.statements[0];
    const bool       small          = type_bits(first->accesses.at[first->accesses.count - 1].array->type) <= 32;
    const int *piece = o->target != FOR_CUDA ? processor[dims - 1] : dims == 2 && small ? narrow : device[dims - 1];
    int64_t    steps = o->size_count ? o->sizes[0] : piece[0];
    z->rows          = (steps < 1 ? 1 : steps) * z->stages;
    for (int k = 0; k < z->dims; k++) {
        int64_t model = piece[k < 3 ? k + 1 : 3] >> o->halved;
        z->size[k]    = z->axis[k] < o->size_count ? o->sizes[z->axis[k]] : model < 1 ? 1 : model;
    }
    if (!o->size_count) { /* as decided */
        o->sizes[0] = (int)steps;
        for (int k = 0; k < z->dims; k++)
            o->sizes[z->axis[k]] = (int)z->size[k];
        o->size_count = z->x.count;
    }
}
