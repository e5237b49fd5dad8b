/* SPDX-License-Identifier: MIT */
/* The stages of a region.
 *
 * Takes   a schedule tree as the text has it.
 * Gives   its stages, their points, and the flow between points. */
#include "poly/tile/stages.h"
#include "poly/model/model.h"
#include "poly/tile/order.h"

#include <isl/constraint.h>

/* Adds the loop at the node to the stage's points. */
static isl_multi_union_pw_aff *add_loop(isl_multi_union_pw_aff *points, isl_schedule_node *band)
{
    isl_multi_union_pw_aff *loop = isl_schedule_node_band_get_partial_schedule(band);
    return points ? isl_multi_union_pw_aff_flat_range_product(points, loop) : loop;
}

static void add_stage(Stages *p, isl_schedule_node *node, isl_union_map *dependences)
{
    Arena                  *arena  = p->tiled->scop->arena;
    Stage                   s      = { .name   = arena_printf(arena, "P%zu", p->at.count),
                                       .domain = isl_schedule_node_get_domain(node),
                                       .group  = -1 };
    isl_multi_union_pw_aff *points = NULL;
    isl_schedule_node      *at     = isl_schedule_node_copy(node);
    while (isl_schedule_node_get_type(at) == isl_schedule_node_band && s.dims < MOST_POINT_DIMS &&
           order_parallel(at, dependences)) {
        points = add_loop(points, at);
        s.dims++;
        at = isl_schedule_node_child(at, 0);
    }
    isl_schedule_node_free(at);
    if (points) {
        points   = isl_multi_union_pw_aff_set_tuple_name(points, isl_dim_set, s.name);
        s.points = isl_union_map_from_multi_union_pw_aff(points);
        s.points = isl_union_map_intersect_domain(s.points, isl_union_set_copy(s.domain));
        s.all    = isl_set_from_union_set(isl_union_map_range(isl_union_map_copy(s.points)));
        s.all    = isl_set_coalesce(s.all);
    }
    vec_push(arena, &p->at, s);
}

/* The stage of each statement. */
static void find_stages(Stages *p)
{
    const Scop *s = p->tiled->scop;
    p->stage_of   = ARENA_ARRAY(s->arena, int, s->statements.count + 1);
    for (size_t i = 0; i < s->statements.count; i++)
        for (size_t k = 0; k < p->at.count; k++) {
            isl_set *here =
                isl_union_set_extract_set(p->at.at[k].domain, isl_set_get_space(s->statements.at[i].domain));
            if (isl_set_plain_is_empty(here) != isl_bool_true)
                p->stage_of[i] = (int)k;
            isl_set_free(here);
        }
}

static int stage_named(const Stages *p, const char *statement)
{
    const Statement *st = scop_statement(p->tiled->scop, statement);
    return p->stage_of[st - p->tiled->scop->statements.at];
}

/* Notes that the one stage depends on the other. */
static isl_stat note_dependence(isl_map *map, void *user)
{
    Stages *p = user;
    int     a = stage_named(p, isl_map_get_tuple_name(map, isl_dim_in));
    int     b = stage_named(p, isl_map_get_tuple_name(map, isl_dim_out));
    if (a != b && isl_map_plain_is_empty(map) != isl_bool_true)
        p->before[(size_t)a * p->at.count + (size_t)b] = true;
    isl_map_free(map);
    return isl_stat_ok;
}

bool stages_init(Stages *p, Tiled *t)
{
    *p                             = (Stages){ .tiled = t };
    const Scop        *s           = t->scop;
    isl_union_map     *dependences = order_dependences(s);
    isl_schedule_node *root        = isl_schedule_get_root(s->schedule);
    root                           = isl_schedule_node_child(root, 0);
    if (isl_schedule_node_get_type(root) == isl_schedule_node_sequence)
        for (int i = 0; i < isl_schedule_node_n_children(root); i++) {
            isl_schedule_node *filter = isl_schedule_node_get_child(root, i);
            filter                    = isl_schedule_node_child(filter, 0);
            add_stage(p, filter, dependences);
            isl_schedule_node_free(filter);
        }
    else
        add_stage(p, root, dependences);
    isl_schedule_node_free(root);

    isl_union_map *points = isl_union_map_empty(isl_set_get_space(s->context));
    isl_union_map *inside = isl_union_map_copy(points);
    size_t         n      = p->at.count;
    for (size_t i = 0; i < n; i++)
        if (p->at.at[i].dims) {
            isl_union_set *all = isl_union_set_from_set(isl_set_copy(p->at.at[i].all));
            points             = isl_union_map_union(points, isl_union_map_copy(p->at.at[i].points));
            inside = isl_union_map_union(inside, isl_union_map_from_domain_and_range(isl_union_set_copy(all), all));
        }
    p->flow   = isl_union_map_apply_domain(isl_union_map_copy(s->flow), isl_union_map_copy(points));
    p->flow   = isl_union_map_subtract(isl_union_map_apply_range(p->flow, points), inside);
    p->before = ARENA_ARRAY(s->arena, bool, n *n + 1);
    find_stages(p);
    isl_union_map_foreach_map(dependences, note_dependence, p);
    isl_union_map_free(dependences);
    return p->flow != NULL;
}

bool slides(const Tiled *t)
{
    return t->options.shape == SHAPE_HYBRID && t->options.target != FOR_CUDA;
}

void stages_free(Stages *p)
{
    for (size_t i = 0; i < p->at.count; i++) {
        Stage *s = &p->at.at[i];
        isl_union_set_free(s->domain);
        isl_union_map_free(s->points);
        isl_set_free(s->all);
        isl_map_free(s->core);
        isl_map_free(s->need);
    }
    isl_union_map_free(p->flow);
}

isl_map *stages_flow(const Stages *p, const Stage *from, const Stage *to)
{
    isl_space *space = isl_space_map_from_domain_and_range(isl_set_get_space(from->all), isl_set_get_space(to->all));
    isl_map   *flow  = isl_union_map_extract_map(p->flow, space);
    return isl_map_reset_tuple_id(isl_map_reset_tuple_id(flow, isl_dim_in), isl_dim_out);
}

isl_map *stages_tile_of(const Group *g, const Stage *s)
{
    isl_space *space =
        isl_space_add_dims(isl_space_from_range(isl_set_get_space(s->all)), isl_dim_in, (unsigned)g->tile_dims);
    isl_map         *map = isl_map_universe(isl_space_copy(space));
    isl_local_space *ls  = isl_local_space_from_space(space);
    for (int k = 0; k < g->tile_dims; k++)
        for (int side = 0; side < 2; side++) {
            int             d = s->axis[k], stride = (int)s->stride[k], shift = (int)s->shift[d], sign = side ? -1 : 1;
            isl_constraint *c = isl_constraint_alloc_inequality(isl_local_space_copy(ls));
            c                 = isl_constraint_set_coefficient_si(c, isl_dim_out, d, sign);
            c                 = isl_constraint_set_coefficient_si(c, isl_dim_in, k, -sign * stride);
            c                 = isl_constraint_set_constant_si(c, sign * shift + (side ? stride - 1 : 0));
            map               = isl_map_add_constraint(map, c);
        }
    isl_local_space_free(ls);
    return isl_map_intersect_range(map, isl_set_copy(s->all));
}

/* The group that has no group before it among those left; text order where there are several. */
void stages_order(const Stages *p, int *groups)
{
    size_t n = p->at.count, m = p->groups.count;
    bool  *done = ARENA_ARRAY(p->tiled->scop->arena, bool, m + 1);
    for (size_t k = 0; k < m; k++) {
        int best = -1;
        for (size_t g = 0; g < m; g++) {
            bool free = !done[g];
            for (size_t a = 0; a < n && free; a++)
                for (size_t b = 0; b < n && free; b++)
                    free = !(p->before[a * n + b] && p->at.at[b].group == (int)g && p->at.at[a].group != (int)g &&
                             !done[p->at.at[a].group]);
            if (free && (best < 0 || p->groups.at[g].root < p->groups.at[best].root))
                best = (int)g;
        }
        groups[k]  = best;
        done[best] = true;
    }
}
