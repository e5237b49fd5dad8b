/* SPDX-License-Identifier: MIT */
/* The proof about private variables.
 *
 * Takes   a tiled program and its private variables. The accesses of one variable in one iteration of its loops (and
 * one tile) are a class. Gives   nothing, or what is wrong. Holds   classes do not interleave, and none is shared by
 * iterations of one loop: so one variable for each thread or vector lane will do. The tree is walked from the root with
 * the pairs of accesses that it has not told apart, of one class and of two. As long as there are pairs of two classes,
 * a loop must have one value for each class and a sequence must not divide one. */
#include "poly/model/model.h"
#include "poly/tile/prove.h"

#include <isl/schedule_node.h>

/* Takes the pairs. */
static bool together(isl_schedule_node *node, isl_union_map *same, isl_union_map *other);

static bool together_child(isl_schedule_node *node, int i, isl_union_map *same, isl_union_map *other)
{
    isl_schedule_node *child = isl_schedule_node_get_child(node, i);
    bool               ok    = together(child, same, other);
    isl_schedule_node_free(child);
    return ok;
}

static bool together_band(isl_schedule_node *node, isl_union_map *same, isl_union_map *other)
{
    isl_multi_union_pw_aff *band = isl_schedule_node_band_get_partial_schedule(node);
    isl_union_map          *equal =
        isl_union_map_eq_at_multi_union_pw_aff(isl_union_map_copy(same), isl_multi_union_pw_aff_copy(band));
    isl_bool whole = isl_union_map_is_subset(same, equal);
    isl_union_map_free(same);
    other = isl_union_map_eq_at_multi_union_pw_aff(other, band);
    if (whole != isl_bool_true) {
        isl_union_map_free(equal);
        isl_union_map_free(other);
        return false;
    }
    return together_child(node, 0, equal, other);
}

static isl_union_map *inside(isl_union_map *pairs, isl_union_set *filter)
{
    pairs = isl_union_map_intersect_domain(isl_union_map_copy(pairs), isl_union_set_copy(filter));
    return isl_union_map_intersect_range(pairs, isl_union_set_copy(filter));
}

static bool together_sequence(isl_schedule_node *node, isl_union_map *same, isl_union_map *other)
{
    bool ok = true;
    for (int i = 0; ok && i < isl_schedule_node_n_children(node); i++) {
        isl_schedule_node *child  = isl_schedule_node_get_child(node, i);
        isl_union_set     *filter = isl_schedule_node_filter_get_filter(child);
        isl_union_map     *in     = inside(same, filter);
        isl_union_map     *from = isl_union_map_intersect_domain(isl_union_map_copy(same), isl_union_set_copy(filter));
        isl_union_map     *others = inside(other, filter);
        ok                        = isl_union_map_is_subset(from, in) == isl_bool_true;
        isl_union_map_free(from);
        if (ok) {
            ok = together_child(child, 0, in, others);
        } else {
            isl_union_map_free(in);
            isl_union_map_free(others);
        }
        isl_union_set_free(filter);
        isl_schedule_node_free(child);
    }
    isl_union_map_free(same);
    isl_union_map_free(other);
    return ok;
}

static bool together(isl_schedule_node *node, isl_union_map *same, isl_union_map *other)
{
    enum isl_schedule_node_type type = isl_schedule_node_get_type(node);
    if (type == isl_schedule_node_error || type == isl_schedule_node_leaf ||
        isl_union_map_is_empty(other) == isl_bool_true) {
        isl_union_map_free(same);
        isl_union_map_free(other);
        return type != isl_schedule_node_error;
    }
    if (type == isl_schedule_node_band)
        return together_band(node, same, other);
    if (type == isl_schedule_node_sequence || type == isl_schedule_node_set)
        return together_sequence(node, same, other);
    return together_child(node, 0, same, other);
}

/* { X -> v[o…, iteration…] } and { X -> v[] } of the accesses of a private variable. */
static void classes(const Tiled *t, const CSymbol *v, isl_union_map **exact, isl_union_map **any)
{
    isl_space *params = isl_set_get_space(t->scop->context);
    *exact            = isl_union_map_empty(isl_space_copy(params));
    *any              = isl_union_map_empty(params);
    for (size_t i = 0; i < t->statements.count; i++) {
        const TiledStatement *x = &t->statements.at[i];
        for (size_t k = 0; x->source && k < x->accesses.count; k++) {
            const Access *a = x->accesses.at[k].access;
            if (a->array != v)
                continue;
            int      in    = (int)isl_map_dim(x->executes, isl_dim_in);
            int      tiles = in - (int)isl_map_dim(x->executes, isl_dim_out);
            isl_map *e     = isl_map_apply_range(isl_map_copy(x->executes), isl_map_copy(a->relation));
            int      rank  = (int)isl_map_dim(e, isl_dim_out);
            /* what the variable is itself an array of does not tell iterations apart */
            e            = isl_map_project_out(e, isl_dim_out, (unsigned)(rank - v->rank), (unsigned)v->rank);
            isl_map *o   = isl_map_from_multi_aff(isl_multi_aff_project_out_map(
                  isl_space_domain(isl_map_get_space(e)), isl_dim_set, (unsigned)tiles, (unsigned)(in - tiles)));
            o            = isl_map_reset_tuple_id(o, isl_dim_out);
            e            = isl_map_flat_range_product(o, isl_map_reset_tuple_id(e, isl_dim_out));
            isl_map *all = isl_map_project_out(isl_map_copy(e), isl_dim_out, 0, (unsigned)isl_map_dim(e, isl_dim_out));
            *exact       = isl_union_map_add_map(*exact, e);
            *any         = isl_union_map_add_map(*any, all);
        }
    }
}

const char *tile_prove_private(const Tiled *t)
{
    const Scop *s  = t->scop;
    bool        ok = true;
    for (size_t i = 0; ok && i < s->privates.count; i++) {
        isl_union_map *exact, *any;
        classes(t, s->privates.at[i], &exact, &any);
        isl_union_map *back      = isl_union_map_reverse(isl_union_map_copy(exact));
        isl_union_map *same      = isl_union_map_apply_range(exact, back);
        back                     = isl_union_map_reverse(isl_union_map_copy(any));
        isl_union_map     *pairs = isl_union_map_apply_range(any, back);
        isl_union_map     *other = isl_union_map_subtract(pairs, isl_union_map_copy(same));
        isl_schedule_node *root  = isl_schedule_get_root(t->schedule);
        ok                       = together(root, same, other);
        isl_schedule_node_free(root);
    }
    return ok ? NULL : "iterations share a private variable";
}
