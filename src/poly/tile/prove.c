/* SPDX-License-Identifier: MIT */
/* The proof.
 *
 * Takes   a tiled program.
 * Gives   nothing, if its dataflow is that of the given program; else what differs.
 * Holds   without overlap or scratch: every instance runs once, and each flow, anti and output dependence goes forward
 * in the new order, which keeps the source of every read and every last write. The tree is walked from the root with
 * the dependences whose ends it has not yet told apart: a band must not decrease along one, a sequence must not go
 *         back, nothing may be left at a leaf, and at a loop marked parallel or vector none may go from one iteration
 *         to another. */
#include "poly/tile/prove.h"
#include "poly/tile/order.h"

/* Do the dependences that are left go forward below the node? Takes them. */
static const char *walk(isl_schedule_node *node, isl_union_map *left);

static const char *walk_child(isl_schedule_node *node, int i, isl_union_map *left)
{
    isl_schedule_node *child = isl_schedule_node_get_child(node, i);
    const char        *wrong = walk(child, left);
    isl_schedule_node_free(child);
    return wrong;
}

static const char *walk_band(isl_schedule_node *node, isl_union_map *left)
{
    isl_multi_union_pw_aff *partial = isl_schedule_node_band_get_partial_schedule(node);
    isl_size                n       = isl_multi_union_pw_aff_dim(partial, isl_dim_set);
    bool                    back    = n < 0;
    for (int m = 0; m < n && !back; m++) {
        isl_union_pw_aff       *member = isl_multi_union_pw_aff_get_union_pw_aff(partial, m);
        isl_multi_union_pw_aff *one    = isl_multi_union_pw_aff_from_union_pw_aff(member);
        isl_union_map          *wrong =
            isl_union_map_lex_gt_at_multi_union_pw_aff(isl_union_map_copy(left), isl_multi_union_pw_aff_copy(one));
        back = isl_union_map_is_empty(wrong) != isl_bool_true;
        isl_union_map_free(wrong);
        left = isl_union_map_eq_at_multi_union_pw_aff(left, one);
    }
    isl_multi_union_pw_aff_free(partial);
    if (back) {
        isl_union_map_free(left);
        return "a loop runs against a dependence";
    }
    return walk_child(node, 0, left);
}

/* In a sequence, what is between two children must go forward; what is inside one is left to it. */
static const char *walk_sequence(isl_schedule_node *node, isl_union_map *left)
{
    isl_size       n      = isl_schedule_node_n_children(node);
    const char    *wrong  = n < 0 ? "isl failed" : NULL;
    bool           order  = isl_schedule_node_get_type(node) == isl_schedule_node_sequence;
    isl_union_set *before = NULL;
    for (int i = 0; i < n && !wrong; i++) {
        isl_schedule_node *child  = isl_schedule_node_get_child(node, i);
        isl_union_set     *filter = isl_schedule_node_filter_get_filter(child);
        isl_union_map     *out = isl_union_map_intersect_domain(isl_union_map_copy(left), isl_union_set_copy(filter));
        if (before) { /* in a set, neither way */
            isl_union_map *back = isl_union_map_intersect_range(isl_union_map_copy(out), isl_union_set_copy(before));
            if (!order) {
                isl_union_map *in =
                    isl_union_map_intersect_domain(isl_union_map_copy(left), isl_union_set_copy(before));
                back = isl_union_map_union(back, isl_union_map_intersect_range(in, isl_union_set_copy(filter)));
            }
            if (isl_union_map_is_empty(back) != isl_bool_true)
                wrong = "statements run in another order than a dependence between them";
            isl_union_map_free(back);
        }
        isl_union_map *inside = isl_union_map_intersect_range(out, isl_union_set_copy(filter));
        if (wrong)
            isl_union_map_free(inside);
        else
            wrong = walk_child(child, 0, inside);
        before = before ? isl_union_set_union(before, filter) : filter;
        isl_schedule_node_free(child);
    }
    isl_union_set_free(before);
    isl_union_map_free(left);
    return wrong;
}

/* The loop below the mark has no dependence between its iterations. */
static const char *walk_mark(isl_schedule_node *node, isl_union_map *left)
{
    isl_id     *id   = isl_schedule_node_mark_get_id(node);
    const char *name = isl_id_get_name(id);
    bool        loop = order_is_loop_mark(name);
    isl_id_free(id);
    isl_schedule_node *band = isl_schedule_node_get_child(node, 0);
    while (loop && isl_schedule_node_get_type(band) == isl_schedule_node_mark)
        band = isl_schedule_node_child(band, 0);
    bool wrong =
        loop && (isl_schedule_node_get_type(band) != isl_schedule_node_band || !order_carries_none(band, left));
    isl_schedule_node_free(band);
    if (wrong) {
        isl_union_map_free(left);
        return "a loop is marked parallel and carries a dependence";
    }
    return walk_child(node, 0, left);
}

static const char *walk(isl_schedule_node *node, isl_union_map *left)
{
    switch (isl_schedule_node_get_type(node)) {
    case isl_schedule_node_band: return walk_band(node, left);
    case isl_schedule_node_sequence:
    case isl_schedule_node_set: return walk_sequence(node, left);
    case isl_schedule_node_mark: return walk_mark(node, left);
    case isl_schedule_node_domain:
    case isl_schedule_node_filter: return walk_child(node, 0, left);
    case isl_schedule_node_leaf: {
        isl_bool none = isl_union_map_is_empty(left);
        isl_union_map_free(left);
        return none == isl_bool_true ? NULL : "instances of a dependence have no order";
    }
    default: isl_union_map_free(left); return "a node of the schedule is unknown to the proof";
    }
}

bool prove_forward(isl_schedule *schedule, isl_union_map *pairs)
{
    isl_schedule_node *root  = isl_schedule_get_root(schedule);
    const char        *wrong = walk(root, pairs);
    isl_schedule_node_free(root);
    return !wrong;
}

/* Do the instances of the given program run, each once and in the arrays themselves? */
static bool is_plain(const Tiled *t)
{
    bool plain = t->scratch.count == 0;
    for (size_t i = 0; i < t->statements.count; i++)
        plain =
            plain && t->statements.at[i].source && !strcmp(t->statements.at[i].name, t->statements.at[i].source->name);
    return plain;
}

/* With overlap or scratch. */
static const char *prove_tiles(const Tiled *t)
{
    static const char *(*const parts[])(const Tiled *t) = { tile_prove_bounds, tile_prove_runs, tile_prove_declared,
                                                            tile_prove_fold, tile_prove_flow };
    const char *wrong                                   = NULL;
    for (size_t i = 0; !wrong && i < sizeof parts / sizeof *parts; i++)
        wrong = parts[i](t);
    return wrong;
}

static const char *prove_order(const Tiled *t)
{
    if (!is_plain(t))
        return prove_tiles(t);
    const char *wrong = tile_prove_runs(t);
    if (wrong)
        return wrong;
    isl_union_set *runs = isl_schedule_get_domain(t->schedule);
    isl_bool       same = isl_union_set_is_equal(runs, t->scop->domain);
    isl_union_set_free(runs);
    if (same != isl_bool_true)
        return "other instances run";
    isl_schedule_node *root = isl_schedule_get_root(t->schedule);
    wrong                   = walk(root, order_dependences(t->scop));
    isl_schedule_node_free(root);
    return wrong;
}

const char *tile_prove(const Tiled *t)
{
    const char *wrong = prove_order(t);
    return wrong ? wrong : tile_prove_private(t);
}
