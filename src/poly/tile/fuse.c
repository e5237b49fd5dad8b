/* SPDX-License-Identifier: MIT */
/* Which stages are tiled together.
 *
 * Takes   stages and the flow between their points.
 * Gives   groups. From the last stage to the first, a stage joins the group of its consumers if there is only one, and
 *         needs(o), the points that tile o computes of it, is the union of what the consumers' points of tile o read
 *         and, where its values are live, of its own share of the tiles.
 * Holds   needs are closed: whatever a point of a tile reads from a stage of its group, that tile computes. A stage of
 *         which a tile would compute more than MOST_REDUNDANT percent of its share stays outside, unless all fusion is
 *         asked for. Joining never makes a cycle of groups.
 * From    Zhao and Cohen 2019, 3.1 (dependence propagation), 3.7 (fusion: that of PolyMage). */
#include "poly/tile/size.h"
#include "poly/tile/stages.h"

#include <isl/fixed_box.h>

/* The one group that reads the stage; -1: none, -2: several. */
static int only_consumer(const Stages *p, size_t stage)
{
    size_t n    = p->at.count;
    int    only = -1;
    for (size_t b = stage + 1; b < n; b++) {
        if (!p->before[stage * n + b])
            continue;
        isl_space *space = isl_space_map_from_domain_and_range(
            isl_set_get_space(p->at.at[stage].all),
            p->at.at[b].all ? isl_set_get_space(p->at.at[b].all) : isl_set_get_space(p->at.at[stage].all));
        isl_map *flow  = isl_union_map_extract_map(p->flow, space);
        bool     reads = isl_map_plain_is_empty(flow) != isl_bool_true || !p->at.at[b].all;
        isl_map_free(flow);
        if (reads && only != p->at.at[b].group)
            only = only == -1 ? p->at.at[b].group : -2;
        if (only == -2)
            break;
    }
    return only;
}

/* Would the groups, with the stage in group g, have a cycle? A path from the stage through another group back to g. */
static bool makes_cycle(const Stages *p, size_t stage, int g)
{
    size_t n     = p->at.count;
    bool  *reach = ARENA_ARRAY(p->tiled->scop->arena, bool, p->groups.count + 1);
    for (size_t b = stage + 1; b < n; b++)
        if (p->before[stage * n + b] && p->at.at[b].group != g)
            reach[p->at.at[b].group] = true;
    for (bool grown = true; grown;) {
        grown = false;
        for (size_t a = 0; a < n; a++)
            for (size_t b = a + 1; b < n; b++)
                if (p->before[a * n + b] && p->at.at[a].group >= 0 && reach[p->at.at[a].group] &&
                    p->at.at[a].group != g && !reach[p->at.at[b].group])
                    grown = reach[p->at.at[b].group] = true;
    }
    return reach[g];
}

/* Are some of the stage's values read after the region? (Readers in other groups make a stage a group's root.) */
static bool is_live(const Stages *p, const Stage *s)
{
    isl_union_map *out =
        isl_union_map_intersect_domain(isl_union_map_copy(p->tiled->scop->live_out), isl_union_set_copy(s->domain));
    isl_bool none = isl_union_map_is_empty(out);
    isl_union_map_free(out);
    return none != isl_bool_true;
}

/* What the consumers in the group read of the stage, tile by tile. */
static isl_map *needed(const Stages *p, const Stage *s, int g)
{
    isl_map *need = NULL;
    for (size_t b = 0; b < p->at.count; b++) {
        const Stage *c = &p->at.at[b];
        if (c->group != g || c == s)
            continue;
        isl_space *space = isl_space_map_from_domain_and_range(isl_set_get_space(s->all), isl_set_get_space(c->all));
        isl_map   *flow  = isl_union_map_extract_map(p->flow, space);
        isl_map   *from  = isl_map_apply_range(isl_map_copy(c->need), isl_map_reverse(flow));
        need             = need ? isl_map_union(need, from) : from;
    }
    return need;
}

/* { [o] -> p : offset(o) <= p < offset(o) + size } among the stage's points, for the least such box of constant size
 * around the map; NULL if there is none. Hulls that follow more directions than the axes grow with every stage. Takes
 * the map. */
static isl_map *boxed(const Stage *s, isl_map *need)
{
    isl_fixed_box *box = isl_map_get_range_simple_fixed_box_hull(need);
    isl_map       *all = NULL;
    if (isl_fixed_box_is_valid(box) == isl_bool_true) {
        isl_multi_aff *low  = isl_fixed_box_get_offset(box);
        isl_multi_val *size = isl_fixed_box_get_size(box);
        for (int d = 0; d < s->dims; d++)
            size = isl_multi_val_set_val(size, d, isl_val_sub_ui(isl_multi_val_get_val(size, d), 1));
        isl_multi_aff *high = isl_multi_aff_add(
            isl_multi_aff_copy(low),
            isl_multi_aff_multi_val_on_domain_space(isl_space_domain(isl_multi_aff_get_space(low)), size));
        all = isl_map_universe(isl_multi_aff_get_space(low));
        all = isl_map_intersect(
            all, isl_map_upper_bound_multi_pw_aff(isl_map_copy(all), isl_multi_pw_aff_from_multi_aff(high)));
        all = isl_map_lower_bound_multi_pw_aff(all, isl_multi_pw_aff_from_multi_aff(low));
        all = isl_map_intersect_range(all, isl_set_copy(s->all));
        all = isl_map_intersect_domain(all,
                                       isl_set_from_basic_set(isl_set_simple_hull(isl_map_domain(isl_map_copy(need)))));
    }
    isl_fixed_box_free(box);
    isl_map_free(need);
    return all;
}

/* The share of the stage along each tile coordinate: { [o] -> p : stride o <= p < stride o + stride } with the stride
 * at which the needed box moves. *percent: the box's size to the share's. NULL if the box does not move along some
 * coordinate, or moves by fractions. */
static isl_map *share(const Group *g, Stage *s, isl_map *need, int *percent)
{
    isl_fixed_box *box   = isl_map_get_range_simple_fixed_box_hull(need);
    double         ratio = 1;
    int            found = 0;
    if (isl_fixed_box_is_valid(box) == isl_bool_true) {
        isl_multi_aff *offset = isl_fixed_box_get_offset(box);
        isl_multi_val *size   = isl_fixed_box_get_size(box);
        for (int d = 0; d < s->dims; d++)
            for (int k = 0; k < g->tile_dims; k++) {
                isl_aff *aff    = isl_multi_aff_get_aff(offset, d);
                isl_val *stride = isl_aff_get_coefficient_val(aff, isl_dim_in, k);
                isl_val *extent = isl_multi_val_get_val(size, d);
                if (isl_val_is_pos(stride) == isl_bool_true && isl_val_is_int(stride) == isl_bool_true) {
                    s->axis[k]   = d;
                    s->stride[k] = isl_val_get_num_si(stride);
                    ratio *= (double)isl_val_get_num_si(extent) / (double)s->stride[k];
                    found |= 1 << k;
                }
                isl_val_free(extent);
                isl_val_free(stride);
                isl_aff_free(aff);
            }
        isl_multi_aff_free(offset);
        isl_multi_val_free(size);
    }
    isl_fixed_box_free(box);
    *percent = ratio > 1e6 ? 100000000 : (int)(ratio * 100);
    return found == (1 << g->tile_dims) - 1 ? stages_tile_of(g, s) : NULL;
}

isl_map *stages_need(const Stages *p, const Stage *s, int g, isl_map *core)
{
    isl_map *need = needed(p, s, g);
    return boxed(s, core ? isl_map_union(need, isl_map_copy(core)) : need);
}

bool stages_join(Stages *p, size_t stage, int most, int *percent)
{
    Stage *s = &p->at.at[stage];
    int    g = s->dims ? only_consumer(p, stage) : -2;
    if (g < 0 || !p->groups.at[g].tiled || makes_cycle(p, stage, g))
        return false;
    isl_map *need = boxed(s, needed(p, s, g));
    isl_map *core = need ? share(&p->groups.at[g], s, need, percent) : NULL;
    if (core && *percent <= most) {
        s->live = is_live(p, s);
        if (s->live)
            need = boxed(s, isl_map_union(need, isl_map_copy(core)));
        if (need) {
            s->core  = s->live ? core : isl_map_free(core);
            s->need  = need;
            s->group = g;
            return true;
        }
    }
    isl_map_free(need);
    isl_map_free(core);
    return false;
}

void stages_begin(Stages *p, size_t stage)
{
    Stage *s = &p->at.at[stage];
    Group  g = { .root = (int)stage };
    s->group = (int)p->groups.count;
    s->live  = true; /* what other groups read lives on too */
    g.tiled  = s->dims > 0 && size_overlapped(p, s, &g);
    if (g.tiled) {
        for (int k = 0; k < g.tile_dims; k++) {
            s->axis[k]   = g.axis[k];
            s->stride[k] = g.size[k];
        }
        s->core = stages_tile_of(&g, s);
        s->need = isl_map_copy(s->core);
    }
    vec_push(p->tiled->scop->arena, &p->groups, g);
}
