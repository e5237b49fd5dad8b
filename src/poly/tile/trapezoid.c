/* SPDX-License-Identifier: MIT */
/* Trapezoids over time.
 *
 * Takes   a loop t that carries dependences, with loops x, y… inside, and the flow between its instances.
 * Gives   tiles of `rows` rows of time and [B o, B o + B) along each tiled axis of space, grown towards their base by
 *         what the rows above read: a tile computes for itself what its neighbours compute too.
 *             for o_t  parallel for o_x  for o_y…  copies in, the loops as they were, copies out
 *         What is left of the rows at the end runs as it did. scalene: B o are points of space; rectangle: points
 *         shifted by the right slope times the row, so that tiles grow to the left alone; hybrid: along one axis.
 * Holds   h = a t + x + c grows along no flow backwards, so { h <= most } has, with an instance, all that flows to it.
 * From    Zhao and Cohen 2019, 3.1 and 3.2; Krishnamoorthy et al. 2007. */
#include "poly/tile/trapezoid.h"
#include "poly/tile/order.h"
#include "poly/tile/size.h"

#include <isl/ilp.h>

/* ---- Functions on { X[o…, i…] } ---- */

static int tile_dims(const Trapezoid *z)
{
    return 1 + z->dims;
}

static isl_space *x_space(const Trapezoid *z, const Statement *st)
{
    isl_space *space = isl_space_reset_tuple_id(isl_set_get_space(st->domain), isl_dim_set);
    return isl_space_insert_dims(space, isl_dim_set, 0, (unsigned)tile_dims(z));
}

static isl_multi_aff *x_executes(const Trapezoid *z, const Statement *st)
{
    isl_multi_aff *to = isl_multi_aff_project_out_map(x_space(z, st), isl_dim_set, 0, (unsigned)tile_dims(z));
    return isl_multi_aff_set_tuple_name(to, isl_dim_out, st->name);
}

/* A function of the statement's iterators. Takes it. */
static isl_aff *x_of(const Trapezoid *z, const Statement *st, isl_aff *aff)
{
    return isl_aff_pullback_multi_aff(aff, x_executes(z, st));
}

static isl_aff *scaled(isl_aff *aff, int64_t by)
{
    return isl_aff_scale_val(aff, isl_val_int_from_si(isl_aff_get_ctx(aff), by));
}

static isl_aff *plus(isl_aff *aff, int64_t n)
{
    return isl_aff_add_constant_val(aff, isl_val_int_from_si(isl_aff_get_ctx(aff), n));
}

static isl_aff *x_coordinate(const Trapezoid *z, const Statement *st, int k, int64_t by)
{
    isl_local_space *ls = isl_local_space_from_space(x_space(z, st));
    return scaled(isl_aff_var_on_domain(ls, isl_dim_set, (unsigned)k), by);
}

/* A function of the parameters, on a space. */
static isl_aff *on_params(isl_aff *aff, isl_space *space)
{
    isl_aff *out = isl_aff_zero_on_domain(isl_local_space_from_space(isl_space_copy(space)));
    for (int p = 0; p < isl_aff_dim(aff, isl_dim_param); p++)
        out = isl_aff_set_coefficient_val(out, isl_dim_param, p, isl_aff_get_coefficient_val(aff, isl_dim_param, p));
    return isl_aff_set_constant_val(out, isl_aff_get_constant_val(aff));
}

static isl_aff *x_param(const Trapezoid *z, const Statement *st, isl_aff *aff)
{
    isl_space *space = x_space(z, st);
    isl_aff   *out   = on_params(aff, space);
    isl_space_free(space);
    return out;
}

/* The last row of the tile. */
static isl_aff *x_top(const Trapezoid *z, const Statement *st)
{
    isl_aff *top = isl_aff_add(x_coordinate(z, st, 0, z->rows), x_param(z, st, z->first));
    return plus(top, z->rows - 1);
}

static isl_aff *x_row(const Trapezoid *z, size_t i)
{
    return plus(scaled(x_of(z, z->x.statements[i], isl_aff_copy(z->x.at[i][0])), z->stages), z->stage[i]);
}

/* { [o…] -> S[i…] } from a set of X. Takes it. */
static isl_map *by_tile(const Trapezoid *z, const Statement *st, isl_set *x)
{
    isl_map *to = isl_map_intersect_domain(isl_map_from_multi_aff(x_executes(z, st)), x);
    isl_map *o  = isl_map_from_multi_aff(
         isl_multi_aff_project_out_map(x_space(z, st), isl_dim_set, (unsigned)tile_dims(z), (unsigned)st->depth));
    return isl_map_apply_range(isl_map_reverse(o), to);
}

/* Intersects with aff >= 0. Takes both. */
static isl_set *where(isl_set *set, isl_aff *aff)
{
    return isl_set_intersect(set, isl_pw_aff_nonneg_set(isl_pw_aff_from_aff(aff)));
}

isl_map *trapezoid_beyond(const Trapezoid *z, const Statement *st, int side)
{
    isl_set *x = isl_set_universe(x_space(z, st));
    for (size_t i = 0; i < z->x.statement_count; i++)
        if (z->x.statements[i] == st) {
            isl_aff *over = isl_aff_sub(x_row(z, i), x_top(z, st));
            x             = where(x, side > 0 ? plus(over, -1) : plus(isl_aff_neg(over), -z->rows));
        }
    return by_tile(z, st, x);
}

/* ---- Faces ---- */

/* What the statement adds to stages x + a u, or, with the left plane, to -stages x + b u. */
static int64_t offset_of(const Trapezoid *z, const Hyper *h, size_t i)
{
    return z->stages * h->shift[i] - (int64_t)h->coefficient[0] * z->stage[i];
}

static int64_t greatest(const Trapezoid *z, int k, bool right, bool left)
{
    int64_t most = INT64_MIN;
    for (size_t i = 0; i < z->x.statement_count; i++) {
        int64_t v = (right ? offset_of(z, &z->right[k], i) : 0) + (left ? offset_of(z, &z->left[k], i) : 0);
        most      = v > most ? v : most;
    }
    return most;
}

static bool shifted(const Trapezoid *z)
{
    return z->t->options.shape == SHAPE_RECTANGLE;
}

/* stages x + a u + e with the right plane, -stages x + b u + f with the left. */
static isl_aff *face(const Trapezoid *z, size_t i, int k, bool right)
{
    const Hyper *h = right ? &z->right[k] : &z->left[k];
    isl_aff     *x = x_of(z, z->x.statements[i], isl_aff_copy(z->x.at[i][z->axis[k]]));
    x              = isl_aff_add(scaled(x, right ? z->stages : -z->stages), scaled(x_row(z, i), h->coefficient[0]));
    return plus(x, offset_of(z, h, i));
}

/* The instances of the tile's own share along axis k: [B o, B o + B) of x, or of the shifted x. */
static isl_set *share(const Trapezoid *z, isl_set *set, size_t i, int k)
{
    const Statement *st   = z->x.statements[i];
    int64_t          unit = z->stages * z->size[k];
    isl_aff         *at =
        shifted(z) ? face(z, i, k, true) : scaled(x_of(z, st, isl_aff_copy(z->x.at[i][z->axis[k]])), z->stages);
    isl_aff *from = isl_aff_sub(at, x_coordinate(z, st, 1 + k, unit));
    set           = where(set, isl_aff_copy(from));
    return where(set, plus(isl_aff_neg(from), unit - 1));
}

/* The instances of the tile along axis k. */
static isl_set *reach(const Trapezoid *z, isl_set *set, size_t i, int k)
{
    const Statement *st   = z->x.statements[i];
    int64_t          unit = z->stages * z->size[k];
    int              a = z->right[k].coefficient[0], b = z->left[k].coefficient[0];
    isl_aff         *right = x_coordinate(z, st, 1 + k, unit), *left = x_coordinate(z, st, 1 + k, -unit);
    if (shifted(z)) {
        right = plus(right, unit - 1);
        left  = isl_aff_add(plus(left, greatest(z, k, true, true)), scaled(x_top(z, st), a + b));
    } else {
        right = isl_aff_add(plus(right, unit - z->stages + greatest(z, k, true, false)), scaled(x_top(z, st), a));
        left  = isl_aff_add(plus(left, greatest(z, k, false, true)), scaled(x_top(z, st), b));
    }
    set = where(set, isl_aff_sub(right, face(z, i, k, true)));
    return where(set, isl_aff_sub(left, face(z, i, k, false)));
}

/* Instances in the rows of each tile, of tiles whose rows are all there. */
static isl_set *in_rows(const Trapezoid *z, size_t i)
{
    const Statement *st = z->x.statements[i];
    isl_set         *set =
        isl_map_domain(isl_map_intersect_range(isl_map_from_multi_aff(x_executes(z, st)), isl_set_copy(st->domain)));
    isl_aff *left = isl_aff_sub(x_top(z, st), x_row(z, i));
    set           = where(set, isl_aff_copy(left));
    set           = where(set, plus(isl_aff_neg(left), z->rows - 1));
    isl_aff *last = isl_aff_sub(plus(x_param(z, st, z->last), -z->rest), x_top(z, st));
    return where(where(set, last), x_coordinate(z, st, 0, 1));
}

/* false: nothing that tiles have is read later. */
static bool make_tiles(Trapezoid *z)
{
    isl_set *some  = NULL; /* tiles of which something is read later */
    Arena   *arena = z->t->scop->arena;
    size_t   n     = z->x.statement_count;
    z->own         = ARENA_ARRAY(arena, isl_map *, n);
    z->tile        = ARENA_ARRAY(arena, isl_map *, n);
    z->live        = ARENA_ARRAY(arena, isl_map *, n);
    for (size_t i = 0; i < n; i++) {
        isl_set *own = in_rows(z, i);
        for (int k = 0; k < z->dims; k++)
            own = share(z, own, i, k);
        z->own[i] = by_tile(z, z->x.statements[i], own);
    }
    trapezoid_live(z);
    for (size_t i = 0; i < n; i++) {
        isl_set *tiles = isl_map_domain(isl_map_copy(z->live[i]));
        some           = some ? isl_set_union(some, tiles) : tiles;
    }
    some = isl_set_from_basic_set(isl_set_simple_hull(some));
    for (size_t i = 0; i < n; i++) {
        isl_set *all = in_rows(z, i);
        for (int k = 0; k < z->dims; k++)
            all = reach(z, all, i, k);
        z->tile[i] = isl_map_intersect_domain(by_tile(z, z->x.statements[i], all), isl_set_copy(some));
    }
    const isl_bool none = isl_set_is_empty(some);
    isl_set_free(some);
    return none == isl_bool_false;
}

/* ---- Planes, rows ---- */

static bool least_slope(const Axes *x, int axis, int sign, Hyper *h)
{
    *h                   = (Hyper){ 0 };
    h->coefficient[axis] = sign;
    for (; h->coefficient[0] <= MOST_SLOPE; h->coefficient[0]++)
        if (hyper_shift(x, h))
            return true;
    return false;
}

/* The stage of each statement: the child of the loop's body that has it. */
static void find_stages(Trapezoid *z)
{
    isl_schedule_node *body = isl_schedule_node_get_child(z->x.loop, 0);
    z->stages               = 1;
    z->stage                = ARENA_ARRAY(z->t->scop->arena, int, z->x.statement_count);
    if (isl_schedule_node_get_type(body) == isl_schedule_node_sequence) {
        z->stages = (int)isl_schedule_node_n_children(body);
        for (int c = 0; c < z->stages; c++) {
            isl_schedule_node *child = isl_schedule_node_get_child(body, c);
            isl_union_set     *has   = isl_schedule_node_filter_get_filter(child);
            for (size_t i = 0; i < z->x.statement_count; i++) {
                isl_set *here = isl_union_set_extract_set(has, isl_set_get_space(z->x.statements[i]->domain));
                if (isl_set_plain_is_empty(here) != isl_bool_true)
                    z->stage[i] = c;
                isl_set_free(here);
            }
            isl_union_set_free(has);
            isl_schedule_node_free(child);
        }
    }
    isl_schedule_node_free(body);
}

/* One function of the parameters, without a division; NULL otherwise. Takes it. */
static isl_aff *one_piece(isl_pw_aff *pa)
{
    isl_set *domain = isl_pw_aff_domain(isl_pw_aff_copy(pa));
    pa              = isl_pw_aff_coalesce(isl_pw_aff_gist(pa, domain));
    isl_aff *aff    = isl_pw_aff_isa_aff(pa) == isl_bool_true ? isl_pw_aff_as_aff(isl_pw_aff_copy(pa)) : NULL;
    isl_pw_aff_free(pa);
    return aff && isl_aff_dim(aff, isl_dim_div) == 0 ? aff : isl_aff_free(aff);
}

/* The first and the last row. */
static bool find_rows(Trapezoid *z)
{
    isl_set *all = NULL;
    for (size_t i = 0; i < z->x.statement_count; i++) {
        isl_map *to  = isl_map_from_aff(isl_aff_copy(z->x.at[i][0]));
        isl_set *one = isl_set_apply(isl_set_copy(z->x.statements[i]->domain), to);
        all          = all ? isl_set_union(all, one) : one;
    }
    all      = isl_set_coalesce(all);
    z->first = one_piece(isl_set_dim_min(isl_set_copy(all), 0));
    z->last  = one_piece(isl_set_dim_max(all, 0));
    if (!z->first || !z->last)
        return false;
    z->first = scaled(z->first, z->stages);
    z->last  = plus(scaled(z->last, z->stages), z->stages - 1);
    return true;
}

enum { MOST_REST = 16 };

/* Rows of the end that several tiles in time would have to hand out: if both of the last two rows are read behind the
 * region, then the tiles end a row before, and what they hand out is one row. */
static int64_t rows_behind(const Trapezoid *z)
{
    int64_t rest = 0;
    for (size_t i = 0; i < z->x.statement_count; i++) {
        const Statement *st   = z->x.statements[i];
        isl_union_set   *out  = isl_union_map_domain(isl_union_map_copy(z->t->scop->live_out));
        isl_set         *set  = isl_union_set_extract_set(out, isl_set_get_space(st->domain));
        isl_aff         *row  = plus(scaled(isl_aff_copy(z->x.at[i][0]), z->stages), z->stage[i]);
        isl_space       *in   = isl_set_get_space(st->domain);
        isl_aff         *back = isl_aff_sub(on_params(z->last, in), row);
        isl_val         *v    = isl_set_max_val(set, back);
        int64_t          most = isl_val_is_int(v) == isl_bool_true ? isl_val_get_num_si(v) : 0;
        rest                  = most > rest && most <= MOST_REST ? most : rest;
        isl_val_free(v);
        isl_set_free(set);
        isl_aff_free(back);
        isl_union_set_free(out);
        isl_space_free(in);
    }
    return rest;
}

/* ---- The loop ---- */

static void free_tiles(Trapezoid *z)
{
    for (size_t i = 0; z->own && i < z->x.statement_count; i++) {
        isl_map_free(z->own[i]);
        isl_map_free(z->tile[i]);
        isl_map_free(z->live[i]);
    }
    z->own = NULL;
}

static void trapezoid_free(Trapezoid *z)
{
    free_tiles(z);
    isl_aff_free(z->first);
    isl_aff_free(z->last);
    axes_free(&z->x);
}

/* The rows of a statement's instances behind those of the last whole tile. */
static isl_set *rows_left(const Trapezoid *z, size_t i)
{
    const Statement *st    = z->x.statements[i];
    isl_space       *space = isl_set_get_space(st->domain);
    isl_aff         *row   = plus(scaled(isl_aff_copy(z->x.at[i][0]), z->stages), z->stage[i]);
    isl_aff         *first = on_params(z->first, space);
    isl_aff         *count = plus(isl_aff_sub(on_params(z->last, space), isl_aff_copy(first)), 1 - z->rest);
    isl_ctx         *isl   = z->t->scop->isl;
    count                  = isl_aff_floor(isl_aff_scale_down_val(count, isl_val_int_from_si(isl, z->rows)));
    isl_space_free(space);
    return where(isl_set_copy(st->domain), isl_aff_sub(isl_aff_sub(row, first), scaled(count, z->rows)));
}

/* What no tile has: the loop as it was, for the rows at the end. */
static isl_schedule *rest_of(const Trapezoid *z)
{
    Tiled         *t    = z->t;
    isl_union_set *left = isl_union_set_empty(isl_set_get_space(t->scop->context));
    for (size_t i = 0; i < z->x.statement_count; i++) {
        isl_set *rest = rows_left(z, i);
        if (isl_set_is_empty(rest) == isl_bool_false) {
            order_identity_of(t, z->x.statements[i]);
            TiledStatement *x = &t->statements.at[t->statements.count - 1];
            x->executes       = isl_map_intersect_domain(x->executes, isl_set_copy(rest));
        }
        left = isl_union_set_add_set(left, rest);
    }
    return overlap_plain(t, left);
}

static bool find_planes(Trapezoid *z)
{
    for (int k = 0; k < z->dims; k++)
        if (!least_slope(&z->x, z->axis[k], 1, &z->right[k]) || !least_slope(&z->x, z->axis[k], -1, &z->left[k]))
            return false;
    return z->dims > 0;
}

/* The tree of the loop; NULL, and t->reason: such tiles do not fit. */
static isl_schedule *tile_rows(Trapezoid *z)
{
    Made          m    = { .t = z->t, .group = z->number, .tile_dims = tile_dims(z), .serial = 1 };
    isl_schedule *tree = NULL;
    size_t        had  = z->t->scratch.count;
    const bool    some = make_tiles(z);
    for (size_t i = 0; i < z->x.statement_count; i++)
        overlap_add(&m, z->x.statements[i], isl_map_copy(z->tile[i]));
    z->t->reason = some ? trapezoid_scratch(z, &m) : "nothing that a tile would compute is read later";
    if (!z->t->reason) {
        tree = overlap_then(overlap_tree(&m), rest_of(z));
    } else {
        overlap_forget(&m);
        while (z->t->scratch.count > had)
            isl_multi_aff_free(z->t->scratch.at[--z->t->scratch.count]->offset);
    }
    for (size_t i = 0; i < m.tiles.count; i++)
        isl_map_free(m.tiles.at[i]);
    free_tiles(z);
    return tree;
}

/* With a row less where an array has two planes, one for even steps and one for odd ones: a tile must not end on the
 * plane that its neighbours begin with. */
static isl_schedule *tile_loop(Tiled *t, isl_schedule_node *loop, int number)
{
    Trapezoid     z    = { .t = t, .number = number };
    isl_schedule *tree = NULL;
    if (axes_init(&z.x, t->scop, loop, t->scop->flow) && z.x.outer == 0) {
        find_stages(&z);
        z.dims = size_trapezoid_axes(t, &z.x, z.axis);
        if (t->options.target == FOR_CUDA && t->options.automatic && z.dims > 2)
            t->reason = "tiles of three axes over time are slower on a device than none";
        else if (find_rows(&z) && find_planes(&z)) {
            z.rest = rows_behind(&z);
            size_trapezoid(&z);
            tree = tile_rows(&z);
            if (t->reason == trapezoid_race && z.rows-- > 1)
                tree = tile_rows(&z);
        }
    }
    trapezoid_free(&z);
    return tree;
}

bool shape_trapezoid(Tiled *t)
{
    const Scop        *s           = t->scop;
    isl_schedule_node *root        = isl_schedule_node_child(isl_schedule_get_root(s->schedule), 0);
    bool               sequence    = isl_schedule_node_get_type(root) == isl_schedule_node_sequence;
    isl_union_map     *dependences = order_dependences(s);
    int                n = sequence ? (int)isl_schedule_node_n_children(root) : 1, tiled = 0;
    for (int i = 0; i < n; i++) {
        isl_schedule_node *child = sequence ? isl_schedule_node_get_child(root, i) : isl_schedule_node_copy(root);
        child                    = sequence ? isl_schedule_node_child(child, 0) : child;
        bool time = isl_schedule_node_get_type(child) == isl_schedule_node_band && !order_innermost(child) &&
                    !order_parallel(child, dependences);
        isl_schedule *tree = time ? tile_loop(t, child, i) : NULL;
        tiled += tree != NULL;
        if (!tree) {
            isl_union_set *domain = isl_schedule_node_get_domain(child);
            overlap_identity(t, domain);
            tree = overlap_plain(t, domain);
        }
        t->schedule = overlap_then(t->schedule, tree);
        isl_schedule_node_free(child);
    }
    isl_schedule_node_free(root);
    isl_union_map_free(dependences);
    if (tiled)
        t->reason = NULL;
    return tiled > 0;
}
