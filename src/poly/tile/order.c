/* SPDX-License-Identifier: MIT */
/* Which loops can run in parallel.
 *
 * Takes   a schedule tree and all dependences.
 * Gives   the tree with marks. A loop is parallel if no dependence between instances with equal values of the loops
 *         around it goes from one of its iterations to another. */
#include "poly/tile/order.h"

#include <isl/union_set.h>

isl_union_map *order_dependences(const Scop *s)
{
    isl_union_map *all = isl_union_map_union(isl_union_map_copy(s->flow), isl_union_map_copy(s->anti));
    return isl_union_map_coalesce(isl_union_map_union(all, isl_union_map_copy(s->output)));
}

isl_union_map *order_remaining(isl_schedule_node *node, isl_union_map *dependences)
{
    isl_union_set          *domain = isl_schedule_node_get_domain(node);
    isl_multi_union_pw_aff *prefix = isl_schedule_node_get_prefix_schedule_multi_union_pw_aff(node);
    isl_union_map *inside = isl_union_map_intersect_domain(isl_union_map_copy(dependences), isl_union_set_copy(domain));
    inside                = isl_union_map_intersect_range(inside, domain);
    return isl_union_map_eq_at_multi_union_pw_aff(inside, prefix);
}

bool order_parallel(isl_schedule_node *band, isl_union_map *dependences)
{
    isl_union_map          *left    = order_remaining(band, dependences);
    isl_multi_union_pw_aff *partial = isl_schedule_node_band_get_partial_schedule(band);
    isl_multi_union_pw_aff *first =
        isl_multi_union_pw_aff_from_union_pw_aff(isl_multi_union_pw_aff_get_union_pw_aff(partial, 0));
    isl_multi_union_pw_aff_free(partial);
    isl_union_map *same    = isl_union_map_eq_at_multi_union_pw_aff(isl_union_map_copy(left), first);
    isl_bool       carried = isl_union_map_is_subset(left, same);
    isl_union_map_free(left);
    isl_union_map_free(same);
    return carried == isl_bool_true;
}

bool order_is_loop_mark(const char *mark)
{
    return !strcmp(mark, MARK_PARALLEL) || !strcmp(mark, MARK_VECTOR) ||
           !strncmp(mark, MARK_BLOCK, strlen(MARK_BLOCK)) || !strncmp(mark, MARK_THREAD, strlen(MARK_THREAD));
}

static isl_bool not_a_band(isl_schedule_node *node, void *user)
{
    bool *found = user;
    *found      = *found || isl_schedule_node_get_type(node) == isl_schedule_node_band;
    return isl_bool_ok(!*found);
}

bool order_innermost(isl_schedule_node *band)
{
    bool               found = false;
    isl_schedule_node *child = isl_schedule_node_get_child(band, 0);
    isl_schedule_node_foreach_descendant_top_down(child, not_a_band, &found);
    isl_schedule_node_free(child);
    return !found;
}

static isl_schedule_node *mark(isl_schedule_node *node, const char *name)
{
    isl_ctx *isl = isl_schedule_node_get_ctx(node);
    return isl_schedule_node_child(isl_schedule_node_insert_mark(node, isl_id_alloc(isl, name, NULL)), 0);
}

isl_schedule_node *order_mark(isl_schedule_node *node, isl_union_map *dependences, bool threads)
{
    int up = 0; /* marks above the node */
    if (isl_schedule_node_get_type(node) == isl_schedule_node_band && order_parallel(node, dependences)) {
        if (!threads) {
            node    = mark(node, MARK_PARALLEL);
            threads = true;
            up++;
        }
        if (order_innermost(node)) {
            node = mark(node, MARK_VECTOR);
            up++;
        }
    }
    for (int i = 0; i < isl_schedule_node_n_children(node); i++)
        node = isl_schedule_node_parent(order_mark(isl_schedule_node_child(node, i), dependences, threads));
    return isl_schedule_node_ancestor(node, up);
}

void order_identity_of(Tiled *t, const Statement *st)
{
    TiledStatement x = { .name = st->name, .source = st, .executes = isl_set_identity(isl_set_copy(st->domain)) };
    for (size_t k = 0; k < st->accesses.count; k++)
        vec_push(t->scop->arena, &x.accesses, ((TiledAccess){ .access = &st->accesses.at[k] }));
    vec_push(t->scop->arena, &t->statements, x);
}

void order_identity(Tiled *t)
{
    for (size_t i = 0; i < t->scop->statements.count; i++)
        order_identity_of(t, &t->scop->statements.at[i]);
}
