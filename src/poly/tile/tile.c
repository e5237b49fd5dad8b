/* SPDX-License-Identifier: MIT */
/* The shapes as a table, and the way from a Scop to a proved Tiled. */
#include "poly/tile/tile.h"
#include "poly/model/model.h"
#include "poly/source/source.h"
#include "poly/tile/order.h"
#include "poly/tile/overlap.h"
#include "poly/tile/prove.h"
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

typedef struct Shape {
    bool (*make)(Tiled *t);
    const char *unfit; /* why not */
} Shape;

static const Shape shapes[] = {
    [SHAPE_NONE]          = { shape_none, "isl failed" },
    [SHAPE_RECTANGLE]     = { shape_overlapped, "no two stages can be fused, or their loops are not alike" },
    [SHAPE_HYBRID]        = { shape_overlapped, "no two stages of constant size across the tiles can be fused" },
    [SHAPE_SCALENE]       = { shape_overlapped, "no two stages can be fused" },
    [SHAPE_DIAMOND]       = { shape_skewed, "no loop over time has dependences that diamonds can follow" },
    [SHAPE_PARALLELOGRAM] = { shape_skewed, "no loop over time has dependences that parallelograms can follow" },
};

/* What auto tries, the first that fits. */
static const TileShape preferred[] = { SHAPE_DIAMOND, SHAPE_PARALLELOGRAM, SHAPE_SCALENE, SHAPE_NONE };

static Tiled *attempt(Scop *s, const TileOptions *options, TileShape shape)
{
    Tiled *t         = ARENA_NEW(s->arena, Tiled);
    *t               = (Tiled){ .scop = s, .options = *options };
    t->options.shape = shape;
    if (shapes[shape].make && shapes[shape].make(t))
        return t;
    tile_free(t);
    return NULL;
}

Tiled *tile_new(Scop *s, const TileOptions *options)
{
    kn_context *cx = s->arena->cx;
    Loc         at = region_loc(s->region, s->region->body->place);
    Tiled      *t  = NULL;
    if (options->shape == SHAPE_AUTO) {
        for (size_t i = 0; !t && i < sizeof preferred / sizeof *preferred; i++)
            t = attempt(s, options, preferred[i]);
    } else {
        t = attempt(s, options, options->shape);
    }
    if (isl_ctx_last_error(s->isl) != isl_error_none) {
        scop_isl_failed(s);
    } else if (!t) {
        diag_error(cx, at, "--shape auto", "%s tiles do not fit: %s", tile_shape_name(options->shape),
                   shapes[options->shape].unfit);
    } else {
        const char *wrong = tile_prove(t);
        if (!wrong)
            return t;
        if (isl_ctx_last_error(s->isl) != isl_error_none)
            scop_isl_failed(s);
        else
            diag_error_as(cx, ERROR_INTERNAL, at, "--shape none", "the tiled program is not proved: %s", wrong);
    }
    tile_free(t);
    return NULL;
}

void tile_free(Tiled *t)
{
    if (!t)
        return;
    isl_schedule_free(t->schedule);
    for (size_t i = 0; i < t->statements.count; i++)
        isl_map_free(t->statements.at[i].executes);
    for (size_t i = 0; i < t->scratch.count; i++)
        isl_multi_aff_free(t->scratch.at[i]->offset);
    *t = (Tiled){ 0 };
}

void tile_explain(Text *out, const Tiled *t)
{
    text_printf(out, "shape: %s\n", tile_shape_name(t->options.shape));
    char *tree = isl_schedule_to_str(t->schedule);
    text_printf(out, "schedule: %s\n", tree ? tree : "");
    free(tree);
}
