/* SPDX-License-Identifier: MIT */
/* Diamond and parallelogram tiles for loops over time.
 *
 * Takes   a loop t that carries dependences, with loops x, y… inside.
 * Gives   tiles by two hyperplanes p and q, run in wavefronts:
 *             for w = floor(p / P) + floor(q / Q)  parallel for floor(p / P)  for floor(r / R)…  the loops as they were
 *         diamond: p = a t + x, q = b t - x with the least slopes: all tiles along a wavefront start at once;
 *         parallelogram: p = t, q = a t + x: the wavefront grows tile by tile.
 *         columns, of either shape: where no dependence moves along x, p = x alone, and no wavefronts.
 *         Further axes are cut by r = a t + y (with x skewed in, if that is needed) inside a tile, or left whole.
 * Holds   no hyperplane decreases along a dependence. So floor(p/P) and floor(q/Q) do not either, and two tiles of one
 *         wavefront have no dependence; inside a tile the order is that of the text.
 * From    Bondhugula et al. 2017. */
#include "poly/tile/skew.h"
#include "poly/tile/order.h"
#include "poly/tile/size.h"

/* Time coefficients from 0 on until shifts are found. */
static bool least_slope(const Axes *x, Hyper *h)
{
    for (h->coefficient[0] = 0; h->coefficient[0] <= MOST_SLOPE; h->coefficient[0]++)
        if (hyper_shift(x, h))
            return true;
    return false;
}

/* a t + c x + … + axis k with the least c, then the least a. */
static bool along(const Axes *x, int k, Hyper *h)
{
    for (int c = 0; c <= 2; c++) {
        *h = (Hyper){ 0 };
        for (int m = 1; m < k; m++)
            h->coefficient[m] = c;
        h->coefficient[k] = 1;
        if (least_slope(x, h))
            return true;
    }
    return false;
}

static bool diamond_planes(const Axes *x, Hyper *p, Hyper *q)
{
    *p = *q           = (Hyper){ 0 };
    p->coefficient[1] = 1;
    q->coefficient[1] = -1;
    if (!least_slope(x, p) || !least_slope(x, q))
        return false;
    return true;
}

static bool parallelogram_planes(const Axes *x, Hyper *p, Hyper *q)
{
    *p                = (Hyper){ 0 };
    p->coefficient[0] = 1;
    return hyper_shift(x, p) && along(x, 1, q);
}

static isl_schedule_node *insert_band(isl_schedule_node *node, isl_union_pw_aff *upa)
{
    node = isl_schedule_node_insert_partial_schedule(node, isl_multi_union_pw_aff_from_union_pw_aff(upa));
    return isl_schedule_node_band_member_set_ast_loop_type(node, 0, isl_ast_loop_atomic);
}

static isl_schedule_node *insert_mark(isl_schedule_node *node, const char *name)
{
    return isl_schedule_node_insert_mark(node, isl_id_alloc(isl_schedule_node_get_ctx(node), name, NULL));
}

/* Tiles the loop at the node; the node itself if the planes do not fit. */
static isl_schedule_node *tile_loop(Tiled *t, isl_schedule_node *node, isl_union_map *dependences, bool *done)
{
    Axes  x;
    Hyper p, q, r[MOST_AXES];
    *done = axes_init(&x, t->scop, node, dependences) &&
            ((diamond_planes(&x, &p, &q) &&
              (t->options.shape == SHAPE_DIAMOND || p.coefficient[0] + q.coefficient[0] == 0)) ||
             (t->options.shape == SHAPE_PARALLELOGRAM && parallelogram_planes(&x, &p, &q)));
    if (*done) {
        bool cut[MOST_AXES] = { false };
        for (int k = 2; k < x.count; k++)
            cut[k] = along(&x, k, &r[k]);
        int64_t sizes[MOST_TILE_DIMS];
        size_skewed(t, &x, &p, &q, cut, sizes);
        int down = 0;
        node     = isl_schedule_node_band_member_set_ast_loop_type(node, 0, isl_ast_loop_atomic);
        for (int k = x.count - 1; k >= 2; k--)
            if (sizes[k]) {
                node = insert_band(node, hyper_tile(&x, &r[k], sizes[k]));
                down++;
            }
        isl_union_pw_aff *first = hyper_tile(&x, &p, sizes[0]), *second = hyper_tile(&x, &q, sizes[1]);
        bool              columns = p.coefficient[0] + q.coefficient[0] == 0;
        node                      = insert_mark(node, MARK_TILE);
        node                      = insert_band(node, isl_union_pw_aff_copy(first));
        node                      = insert_mark(node, MARK_PARALLEL);
        if (columns) {
            isl_union_pw_aff_free(first);
            isl_union_pw_aff_free(second);
        } else {
            node = insert_band(node, isl_union_pw_aff_add(first, second));
        }
        for (down += columns ? 3 : 4; down > 0; down--)
            node = isl_schedule_node_child(node, 0);
    }
    axes_free(&x);
    return node;
}

isl_schedule_node *skew_tile(Tiled *t, isl_schedule_node *node, isl_union_map *dependences, int *tiled)
{
    if (isl_schedule_node_get_type(node) == isl_schedule_node_band) {
        if (order_parallel(node, dependences) || order_innermost(node))
            return order_mark(node, dependences, false);
        int  depth = isl_schedule_node_get_tree_depth(node);
        bool done;
        node = tile_loop(t, node, dependences, &done);
        if (done) {
            ++*tiled;
            node = order_mark(node, dependences, true);
            return isl_schedule_node_ancestor(node, isl_schedule_node_get_tree_depth(node) - depth);
        }
    }
    for (int i = 0; i < isl_schedule_node_n_children(node); i++)
        node = isl_schedule_node_parent(skew_tile(t, isl_schedule_node_child(node, i), dependences, tiled));
    return node;
}
