/* SPDX-License-Identifier: MIT */
/* A picture of a tile and its neighbours, as in the figures of Zhao and Cohen 2019.
 *
 * Takes   a tiled program.
 * Gives   SVG: along one axis of space the points of each row, coloured by tile; rows are steps of time or stages, the
 *         first at the bottom. A point that several tiles compute has their colours one over the other.
 * Holds   a row of a tile is drawn from its least to its greatest point. */
#include "poly/tile/sample.h"
#include "poly/tile/tile.h"

#include <isl/point.h>
#include <isl/schedule_node.h>
#include <string.h>

enum {
    CELL       = 12, /* of a point, in units of the picture */
    WIDTH      = 960,
    MOST_CELLS = 80, /* points of a row that are drawn one by one; longer rows are bars */
    MOST_ROWS  = 64,
    MARGIN     = 24,
    MOST_SEEN  = 8 /* coordinates of a tile */
};

static const char *const colours[] = { "#c0392b", "#2980b9", "#27ae60", "#8e44ad", "#d68910", "#16a085" };
enum { COLOURS = sizeof colours / sizeof *colours };

typedef struct View {
    const Tiled *t;
    Text        *out;
    int          dims;               /* of a tile's coordinates */
    int          row_of;             /* rows of one step of time: the statements of the tile */
    bool         time;               /* rows are steps of time */
    int          vary[2];            /* coordinates in which neighbours differ; -1: none */
    int64_t      middle[MOST_SEEN];  /* the tile in the middle */
    int64_t      rows[2], points[2]; /* of the window */
    int          step;               /* only each step-th row is drawn */
    isl_set     *now;                /* { [o…, row, x] } that is being drawn */
} View;

static isl_bool find_mark(isl_schedule_node *node, void *user)
{
    isl_schedule_node **found = user;
    if (*found || isl_schedule_node_get_type(node) != isl_schedule_node_mark)
        return isl_bool_ok(!*found);
    isl_id *id = isl_schedule_node_mark_get_id(node);
    if (!strcmp(isl_id_get_name(id), MARK_TILE))
        *found = isl_schedule_node_copy(node);
    isl_id_free(id);
    return isl_bool_ok(!*found);
}

/* Does a serial loop stand around the tiles? Then it is the loop over time. */
static bool over_time(isl_schedule_node *tile)
{
    isl_schedule_node *at    = isl_schedule_node_copy(tile);
    bool               found = false;
    while (!found && isl_schedule_node_has_parent(at)) {
        at = isl_schedule_node_parent(at);
        if (isl_schedule_node_get_type(at) == isl_schedule_node_mark) {
            isl_id *id = isl_schedule_node_mark_get_id(at);
            found      = !strcmp(isl_id_get_name(id), MARK_PARALLEL);
            isl_id_free(id);
        }
    }
    bool serial = found && isl_schedule_node_get_schedule_depth(at) > 0;
    isl_schedule_node_free(at);
    return serial;
}

/* { X -> [o…] }; NULL: the statement is not below the mark, or has no axis of space. */
static isl_map *tile_of(const View *v, const TiledStatement *x, isl_union_map *prefix)
{
    int depth = x->source ? x->source->depth : 0;
    if (depth < (v->time ? 2 : 1))
        return NULL;
    isl_space *space = isl_space_domain(isl_map_get_space(x->executes));
    space            = isl_space_add_dims(isl_space_from_domain(space), isl_dim_out, (unsigned)v->dims);
    isl_map *tile    = isl_union_map_extract_map(prefix, space);
    if (isl_map_plain_is_empty(tile) != isl_bool_true)
        return tile;
    isl_map_free(tile);
    return NULL;
}

/* { [o…, row, x] } of a statement. Takes its tiles. */
static isl_set *seen(const View *v, const TiledStatement *x, isl_map *tile, int index)
{
    int            axis = v->time ? 1 : x->source->depth - 1;
    isl_multi_aff *at   = isl_multi_aff_identity_on_domain_space(isl_set_get_space(x->source->domain));
    isl_space     *ls   = isl_set_get_space(x->source->domain);
    isl_aff       *row;
    if (v->time) {
        row = isl_aff_scale_val(isl_multi_aff_get_aff(at, 0), isl_val_int_from_si(v->t->scop->isl, v->row_of));
        row = isl_aff_add_constant_si(row, index);
    } else {
        row = isl_aff_add_constant_si(isl_aff_zero_on_domain_space(isl_space_copy(ls)), index);
    }
    isl_map *row_x =
        isl_map_flat_range_product(isl_map_from_aff(row), isl_map_from_aff(isl_multi_aff_get_aff(at, axis)));
    isl_multi_aff_free(at);
    isl_space_free(ls);
    row_x        = isl_map_apply_range(isl_map_copy(x->executes), row_x);
    isl_map *all = isl_map_apply_domain(row_x, tile);
    return sample_at(isl_set_flatten(isl_map_wrap(all)));
}

static void point(const View *v, int64_t row, const int64_t x[2], const char *colour)
{
    bool   cells = v->points[1] - v->points[0] < MOST_CELLS;
    double unit  = cells ? CELL : (double)(WIDTH - 2 * MARGIN) / (double)(v->points[1] - v->points[0] + 1);
    double y     = MARGIN + ((double)(v->rows[1] - row) / v->step + 0.5) * CELL;
    if (!cells) {
        text_printf(v->out, "<rect x='%.1f' y='%.1f' width='%.1f' height='%d' fill='%s' fill-opacity='0.45'/>\n",
                    MARGIN + (double)(x[0] - v->points[0]) * unit, y - CELL / 2.0 + 1, (double)(x[1] - x[0] + 1) * unit,
                    CELL - 2, colour);
        return;
    }
    for (int64_t i = x[0]; i <= x[1]; i++)
        text_printf(v->out, "<circle cx='%.1f' cy='%.1f' r='4.5' fill='%s' fill-opacity='0.45' stroke='%s'/>\n",
                    MARGIN + ((double)(i - v->points[0]) + 0.5) * unit, y, colour, colour);
}

static isl_stat draw_row(isl_point *at, void *user)
{
    View    *v    = user;
    isl_set *here = isl_set_copy(v->now);
    int64_t  row = 0, x[2], which = 0;
    for (int k = 0; k <= v->dims; k++) {
        isl_val *c = isl_point_get_coordinate_val(at, isl_dim_set, k);
        int64_t  n = isl_val_get_num_si(c);
        here       = isl_set_fix_si(here, isl_dim_set, (unsigned)k, (int)n);
        if (k == v->dims)
            row = n;
        else
            which += (n - v->middle[k]) * (k == v->vary[0] ? 1 : 2);
        isl_val_free(c);
    }
    if ((row - v->rows[0]) % v->step == 0 && sample_range(here, v->dims + 1, x))
        point(v, row, x, colours[(which % COLOURS + COLOURS) % COLOURS]);
    isl_set_free(here);
    isl_point_free(at);
    return isl_stat_ok;
}

/* The tile in the middle, by the statement that comes last, and the window around what it computes. */
static bool find_window(View *v, isl_set **all, int count)
{
    isl_set *tiles = isl_set_copy(all[count - 1]);
    bool     known = true;
    for (int k = 0; k < v->dims && known; k++) {
        int64_t range[2];
        known        = sample_range(tiles, k, range);
        v->middle[k] = (range[0] + range[1]) / 2;
        tiles        = isl_set_fix_si(tiles, isl_dim_set, (unsigned)k, (int)v->middle[k]);
    }
    isl_set_free(tiles);
    v->rows[0] = v->points[0] = INT64_MAX;
    v->rows[1] = v->points[1] = INT64_MIN;
    for (int i = 0; i < count && known; i++) {
        isl_set *tile = isl_set_copy(all[i]);
        int64_t  row[2], x[2];
        for (int k = 0; k < v->dims; k++)
            tile = isl_set_fix_si(tile, isl_dim_set, (unsigned)k, (int)v->middle[k]);
        if (sample_range(tile, v->dims, row) && sample_range(tile, v->dims + 1, x))
            for (int e = 0; e < 2; e++) {
                v->rows[e]   = (row[e] < v->rows[e]) == !e ? row[e] : v->rows[e];
                v->points[e] = (x[e] < v->points[e]) == !e ? x[e] : v->points[e];
            }
        isl_set_free(tile);
    }
    if (!known || v->rows[0] > v->rows[1])
        return false;
    int64_t wide = v->points[1] - v->points[0] + 1, high = v->time ? v->rows[1] - v->rows[0] + 1 : 0;
    v->points[0] -= wide / 2;
    v->points[1] += wide / 2;
    v->rows[0] -= high / 3;
    v->rows[1] += high / 3;
    v->step = (int)((v->rows[1] - v->rows[0]) / MOST_ROWS) + 1;
    return true;
}

static void draw(View *v, isl_set **all, int count)
{
    bool         cells = v->points[1] - v->points[0] < MOST_CELLS;
    double       width = cells ? 2 * MARGIN + (double)(v->points[1] - v->points[0] + 1) * CELL : WIDTH;
    int64_t      rows  = (v->rows[1] - v->rows[0]) / v->step + 1;
    const CStmt *body  = v->t->scop->region->body;
    text_printf(v->out,
                "<svg xmlns='http://www.w3.org/2000/svg' width='%.0f' height='%lld' font-family='sans-serif' "
                "font-size='11'>\n<rect width='100%%' height='100%%' fill='white'/>\n"
                "<text x='%d' y='16'>line %d: %s tiles; %s from the bottom up, points %lld to %lld</text>\n",
                width < 460 ? 460 : width, (long long)(rows * CELL + 2 * MARGIN), MARGIN, body->place.line,
                tile_shape_name(v->t->options.shape), v->time ? "steps of time" : "stages", (long long)v->points[0],
                (long long)v->points[1]);
    for (int i = 0; i < count; i++) {
        isl_set *set = isl_set_copy(all[i]);
        for (int k = 0; k < v->dims; k++)
            if (k != v->vary[0] && k != v->vary[1])
                set = isl_set_fix_si(set, isl_dim_set, (unsigned)k, (int)v->middle[k]);
        for (int d = 0; d < 2; d++) {
            const int64_t *w = d ? v->points : v->rows;
            set              = isl_set_lower_bound_si(set, isl_dim_set, (unsigned)(v->dims + d), (int)w[0]);
            set              = isl_set_upper_bound_si(set, isl_dim_set, (unsigned)(v->dims + d), (int)w[1]);
        }
        v->now          = set;
        isl_set *by_row = isl_set_project_out(isl_set_copy(set), isl_dim_set, (unsigned)v->dims + 1, 1);
        by_row          = isl_set_project_out(by_row, isl_dim_param, 0, (unsigned)isl_set_dim(by_row, isl_dim_param));
        isl_set_foreach_point(by_row, draw_row, v);
        isl_set_free(by_row);
        isl_set_free(set);
    }
    text_add(v->out, "</svg>\n");
}

bool tile_picture(Text *out, const Tiled *t)
{
    View               v    = { .t = t, .out = out };
    isl_schedule_node *mark = NULL, *root = isl_schedule_get_root(t->schedule);
    isl_schedule_node_foreach_descendant_top_down(root, find_mark, &mark);
    isl_schedule_node_free(root);
    if (!mark)
        return false;
    isl_union_map *prefix = isl_schedule_node_get_prefix_schedule_union_map(mark);
    v.dims                = (int)isl_schedule_node_get_schedule_depth(mark);
    v.time                = over_time(mark);
    v.vary[0]             = v.time ? 1 : v.dims - 1;
    v.vary[1]             = v.time ? 0 : -1;
    isl_set **all         = ARENA_ARRAY(t->scop->arena, isl_set *, t->statements.count + 1);
    int       count       = 0;
    for (size_t i = 0; i < t->statements.count && v.dims <= MOST_SEEN; i++) {
        isl_map *tile = tile_of(&v, &t->statements.at[i], prefix);
        v.row_of += tile != NULL;
        isl_map_free(tile);
    }
    for (size_t i = 0; i < t->statements.count && v.row_of; i++) {
        isl_map *tile = tile_of(&v, &t->statements.at[i], prefix);
        if (tile) {
            all[count] = seen(&v, &t->statements.at[i], tile, count);
            count++;
        }
    }
    bool drawn = count && find_window(&v, all, count);
    if (drawn)
        draw(&v, all, count);
    for (int i = 0; i < count; i++)
        isl_set_free(all[i]);
    isl_union_map_free(prefix);
    isl_schedule_node_free(mark);
    return drawn;
}
