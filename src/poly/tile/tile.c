/* SPDX-License-Identifier: MIT */
/* The shapes as a table, and the way from a Scop to a proved Tiled. */
#include "poly/tile/tile.h"
#include "poly/model/model.h"
#include "poly/source/source.h"
#include "poly/tile/device.h"
#include "poly/tile/order.h"
#include "poly/tile/overlap.h"
#include "poly/tile/prove.h"
#include "poly/tile/size.h"
#include "poly/tile/skew.h"

static const char *const shape_names[] = {
    [SHAPE_AUTO]          = "auto",
    [SHAPE_NONE]          = "none",
    [SHAPE_SCALENE]       = "scalene",
    [SHAPE_RECTANGLE]     = "rectangle",
    [SHAPE_HYBRID]        = "hybrid",
    [SHAPE_DIAMOND]       = "diamond",
    [SHAPE_PARALLELOGRAM] = "parallelogram",
};

const char *tile_shape_name(TileShape shape)
{
    return shape_names[shape];
}

static bool shape_none(Tiled *t)
{
    isl_union_map     *dependences = order_dependences(t->scop);
    isl_schedule_node *root        = isl_schedule_get_root(t->scop->schedule);
    root                           = order_mark(root, dependences, false);
    t->schedule                    = isl_schedule_node_get_schedule(root);
    isl_schedule_node_free(root);
    isl_union_map_free(dependences);
    order_identity(t);
    return t->schedule != NULL;
}

/* false: no loop was tiled. */
static bool shape_skewed(Tiled *t)
{
    if (!order_over_time(t->scop))
        return false;
    int                tiled       = 0;
    isl_union_map     *dependences = order_dependences(t->scop);
    isl_schedule_node *root        = isl_schedule_get_root(t->scop->schedule);
    root                           = skew_tile(t, root, dependences, &tiled);
    t->schedule                    = isl_schedule_node_get_schedule(root);
    isl_schedule_node_free(root);
    isl_union_map_free(dependences);
    order_identity(t);
    return t->schedule && tiled > 0;
}

/* Loops over time, or else stages. What auto takes hybrid tiles for are stages. */
static bool shape_either(Tiled *t)
{
    const bool over_time = order_over_time(t->scop);
    if (over_time && t->options.automatic && t->options.shape == SHAPE_HYBRID)
        return false;
    if (over_time && shape_trapezoid(t))
        return true;
    if (t->reason)
        return false;
    overlap_reset(t);
    return shape_overlapped(t);
}

typedef struct Shape {
    bool (*make)(Tiled *t);
    const char *unfit; /* why not */
} Shape;

static const Shape shapes[] = {
    [SHAPE_NONE]          = { shape_none, "isl failed" },
    [SHAPE_RECTANGLE]     = { shape_either, "no two stages can be fused, or their loops are not alike" },
    [SHAPE_HYBRID]        = { shape_either, "no two stages can be fused, or their loops are not alike" },
    [SHAPE_SCALENE]       = { shape_either, "no two stages can be fused" },
    [SHAPE_DIAMOND]       = { shape_skewed, "no loop over time has dependences that diamonds can follow" },
    [SHAPE_PARALLELOGRAM] = { shape_skewed, "no loop over time has dependences that parallelograms can follow" },
};

/* What auto tries, the first that fits. */
static const TileShape preferred[] = { SHAPE_DIAMOND, SHAPE_PARALLELOGRAM, SHAPE_HYBRID, SHAPE_SCALENE, SHAPE_NONE };
static const TileShape device_preferred[] = { SHAPE_SCALENE, SHAPE_NONE };

enum { MOST_HALVED = 6 };

/* Makes tiles whose scratch fits on a stack, or into shared memory: smaller ones where the model chooses. NULL, or why
 * there are none. */
static const char *make_within(Tiled *t)
{
    const TileOptions options = t->options;
    for (;;) {
        if (!shapes[options.shape].make(t))
            return t->reason ? t->reason : shapes[options.shape].unfit;
        int64_t bytes = scratch_most(t), most = size_scratch(t);
        if (bytes <= most)
            return NULL;
        if (options.size_count || t->options.halved == MOST_HALVED)
            return arena_printf(t->scop->arena,
                                "a tile has %lld KiB of scratch, there is %lld for it: give smaller sizes (--tile)",
                                (long long)(bytes >> 10), (long long)(most >> 10));
        const int halved = t->options.halved + 1;
        overlap_reset(t);
        t->options        = options;
        t->options.halved = halved;
    }
}

/* A proved program of that shape, or NULL and why; *unfit: the shape is not for such a region. */
static Tiled *attempt(Scop *s, const TileOptions *options, TileShape shape, const char **why, bool *unfit)
{
    Tiled *t             = ARENA_NEW(s->arena, Tiled);
    *t                   = (Tiled){ .scop = s, .options = *options };
    t->options.shape     = shape;
    t->options.automatic = options->shape == SHAPE_AUTO;
    *why                 = make_within(t);
    *unfit               = *why != NULL;
    if (!*why && options->target == FOR_CUDA && !device_map(t))
        *why = "isl failed";
    if (!*why && isl_ctx_last_error(s->isl) == isl_error_none) {
        const char *wrong = tile_prove(t);
        if (wrong)
            *why = arena_printf(s->arena, "the tiled program is not proved: %s", wrong);
    }
    if (!*why && isl_ctx_last_error(s->isl) == isl_error_none)
        return t;
    tile_free(t);
    return NULL;
}

/* The first preferred shape that fits within its budget. */
static Tiled *automatic(Scop *s, const TileOptions *options, const char **why)
{
    Tiled *t = NULL;
    Text   tried;
    text_init(&tried, s->arena);
    const TileShape *tries = options->target == FOR_CUDA ? device_preferred : preferred;
    for (size_t i = 0; !t && (!i || tries[i - 1] != SHAPE_NONE); i++) {
        bool        unfit;
        const char *name = tile_shape_name(tries[i]);
        isl_ctx_reset_error(s->isl);
        scop_budget(s, 150);
        t = attempt(s, options, tries[i], why, &unfit);
        if (scop_spent(s)) {
            *why = "its budget of operations is used up";
            i += tries[i] == SHAPE_DIAMOND; /* parallelograms are as hard */
        }
        if (!t)
            text_printf(&tried, "%s%s: %s", tried.count ? "; " : "", name, *why ? *why : "isl failed");
    }
    if (t)
        t->reason = tried.count ? text_string(&tried) : "the first of the preferred shapes fits";
    return t;
}

Tiled *tile_new(Scop *s, const TileOptions *options)
{
    Loc         at = region_loc(s->region, s->region->body->place);
    const char *why;
    bool        unfit = false;
    scop_budget(s, 450);
    Tiled *t =
        options->shape == SHAPE_AUTO ? automatic(s, options, &why) : attempt(s, options, options->shape, &why, &unfit);
    if (t)
        return t;
    if (isl_ctx_last_error(s->isl) != isl_error_none)
        scop_isl_failed(s);
    else if (unfit)
        diag_error(s->arena->cx, at, "--shape auto", "%s tiles do not fit: %s", tile_shape_name(options->shape), why);
    else
        diag_error_as(s->arena->cx, ERROR_INTERNAL, at, "--shape none", "%s", why);
    return NULL;
}

void tile_free(Tiled *t)
{
    if (!t)
        return;
    overlap_reset(t);
    *t = (Tiled){ 0 };
}
