/* SPDX-License-Identifier: MIT */
/* Right-rectangle trapezoids: stages shifted until all flow goes one way.
 *
 * Takes   a group of stages as scalene tiles have it.
 * Gives   shifts z = p + shift(stage) such that a point depends on points with no greater z along any axis, and needs
 *         in these coordinates: tiles grow to the left only. The stages of a tile then run in one nest of loops over z.
 * Holds   for stages that all have the root's loops at the same scale; others are refused.
 * From    Zhao and Cohen 2019, 3.2. Figure 14 of that paper lacks the guards that keep a stage to the points that the
 *         tile needs of it; here they follow from the needs. */
#include "poly/model/model.h"
#include "poly/tile/overlap.h"
#include "poly/tile/stages.h"

#include <isl/ilp.h>
#include <isl/schedule_node.h>

/* shift(from) = min over consumers of shift(to) + the least distance along each of the first `shared` axes; false:
 * there is no least. */
static bool shift_stage(const Stages *p, int g, Stage *from, int shared)
{
    for (size_t b = 0; b < p->at.count; b++) {
        const Stage *to = &p->at.at[b];
        if (to->group != g || to == from || to->dims != from->dims)
            continue;
        isl_map *flow = stages_flow(p, from, to);
        if (isl_map_is_empty(flow) == isl_bool_true) {
            isl_map_free(flow);
            continue;
        }
        isl_set *distance = isl_map_deltas(flow);
        bool     ok       = true;
        for (int d = 0; d < shared; d++) {
            isl_val *least = isl_set_dim_min_val(isl_set_copy(distance), d);
            scop_isl_unbounded(p->tiled->scop);
            ok             = ok && isl_val_is_int(least) == isl_bool_true;
            int64_t v      = ok ? isl_val_get_num_si(least) + to->shift[d] : 0;
            from->shift[d] = v < from->shift[d] ? v : from->shift[d];
            isl_val_free(least);
        }
        isl_set_free(distance);
        if (!ok)
            return false;
    }
    return true;
}

/* Has the stage the root's loops, with the tile coordinates on the same ones? */
static bool like_root(const Stages *p, const Group *g, const Stage *s)
{
    const Stage *root = &p->at.at[g->root];
    if (s->dims != root->dims)
        return false;
    for (int k = 0; s != root && k < g->tile_dims; k++)
        if (s->axis[k] != g->axis[k] || s->stride[k] != g->size[k])
            return false;
    return true;
}

bool stages_shift(Stages *p, int group, int shared)
{
    const Group *g                      = &p->groups.at[group];
    const Stage *root                   = &p->at.at[g->root];
    int64_t      least[MOST_POINT_DIMS] = { 0 };
    for (size_t i = p->at.count; i-- > 0;) {
        Stage *s = &p->at.at[i];
        if (s->group != group)
            continue;
        if (!like_root(p, g, s))
            return false;
        for (int d = 0; d < shared; d++)
            s->shift[d] = s == root ? 0 : INT64_MAX;
        if (s != root && !shift_stage(p, group, s, shared))
            return false;
        for (int d = 0; d < shared; d++)
            least[d] = s->shift[d] < least[d] ? s->shift[d] : least[d];
    }
    for (size_t i = 0; i < p->at.count; i++) /* from zero on */
        for (int d = 0; d < shared && p->at.at[i].group == group; d++)
            p->at.at[i].shift[d] -= least[d];
    return true;
}

bool rectangle_shift(Stages *p, int group)
{
    Group *g    = &p->groups.at[group];
    Stage *root = &p->at.at[g->root];
    if (!stages_shift(p, group, root->dims))
        return false;
    for (size_t i = p->at.count; i-- > 0;) { /* needs anew, consumers first */
        Stage *s = &p->at.at[i];
        if (s->group != group)
            continue;
        isl_map *core = stages_tile_of(g, s);
        isl_map_free(s->need);
        s->need = s == root ? isl_map_copy(core) : stages_need(p, s, group, s->live ? core : NULL);
        isl_map_free(s->core);
        s->core = s->live ? core : isl_map_free(core);
        if (!s->need)
            return false;
    }
    return true;
}

/* { X -> p_d + shift } for all statements of the group, without the bounds of X: the tree's domain has them, and isl
 * would intersect them at each step. */
static isl_union_pw_aff *shifted(const Made *m, int d)
{
    isl_union_pw_aff *all = NULL;
    const Scop       *s   = m->p->tiled->scop;
    for (size_t i = 0; i < m->run.count; i++) {
        const Statement *st    = m->run.at[i].source;
        const Stage     *stage = &m->p->at.at[m->p->stage_of[st - s->statements.at]];
        isl_space       *space =
            isl_space_map_from_domain_and_range(isl_set_get_space(st->domain), isl_set_get_space(stage->all));
        isl_map *point         = isl_union_map_extract_map(stage->points, space);
        point                  = isl_map_apply_range(isl_map_copy(m->run.at[i].executes), point);
        isl_set          *runs = isl_map_domain(isl_map_copy(m->run.at[i].executes));
        isl_pw_multi_aff *at   = isl_pw_multi_aff_gist(isl_pw_multi_aff_from_map(point), runs);
        isl_pw_aff       *z    = isl_pw_multi_aff_get_pw_aff(at, d);
        z                      = isl_pw_aff_add_constant_val(z, isl_val_int_from_si(s->isl, stage->shift[d]));
        isl_union_pw_aff *one  = isl_union_pw_aff_from_pw_aff(z);
        isl_pw_multi_aff_free(at);
        all = all ? isl_union_pw_aff_union_add(all, one) : one;
    }
    return all;
}

isl_schedule *rectangle_loops(const Made *m, isl_schedule *stages, int from, int to)
{
    for (int d = to - 1; d >= from; d--) {
        isl_multi_union_pw_aff *band = isl_multi_union_pw_aff_from_union_pw_aff(shifted(m, d));
        stages                       = isl_schedule_insert_partial_schedule(stages, band);
        isl_schedule_node *node      = isl_schedule_node_child(isl_schedule_get_root(stages), 0);
        isl_schedule_free(stages);
        node   = isl_schedule_node_band_member_set_ast_loop_type(node, 0, isl_ast_loop_atomic);
        stages = isl_schedule_node_get_schedule(node);
        isl_schedule_node_free(node);
    }
    return stages;
}
