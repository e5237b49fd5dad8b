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
    return isl_union_map_copy(s->either);
}

isl_union_map *order_remaining(isl_schedule_node *node, isl_union_map *dependences)
{
    isl_union_set          *domain = isl_schedule_node_get_domain(node);
    isl_multi_union_pw_aff *prefix = isl_schedule_node_get_prefix_schedule_multi_union_pw_aff(node);
    isl_union_map *inside = isl_union_map_intersect_domain(isl_union_map_copy(dependences), isl_union_set_copy(domain));
    inside                = isl_union_map_intersect_range(inside, domain);
    return isl_union_map_eq_at_multi_union_pw_aff(inside, prefix);
}

bool order_carries_none(isl_schedule_node *band, isl_union_map *left)
{
    isl_multi_union_pw_aff *partial = isl_schedule_node_band_get_partial_schedule(band);
    isl_multi_union_pw_aff *first =
        isl_multi_union_pw_aff_from_union_pw_aff(isl_multi_union_pw_aff_get_union_pw_aff(partial, 0));
    isl_multi_union_pw_aff_free(partial);
    isl_union_map *same    = isl_union_map_eq_at_multi_union_pw_aff(isl_union_map_copy(left), first);
    isl_bool       carried = isl_union_map_is_subset(left, same);
    isl_union_map_free(same);
    return carried == isl_bool_true;
}

bool order_parallel(isl_schedule_node *band, isl_union_map *dependences)
{
    isl_union_map *left = order_remaining(band, dependences);
    const bool     none = order_carries_none(band, left);
    isl_union_map_free(left);
    return none;
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

isl_union_map *order_left_below(isl_schedule_node *node, int child, isl_union_map *left)
{
    enum isl_schedule_node_type type = isl_schedule_node_get_type(node);
    left                             = isl_union_map_copy(left);
    if (type == isl_schedule_node_band)
        return isl_union_map_eq_at_multi_union_pw_aff(left, isl_schedule_node_band_get_partial_schedule(node));
    if (type != isl_schedule_node_sequence && type != isl_schedule_node_set)
        return left;
    isl_schedule_node *filter = isl_schedule_node_get_child(node, child);
    isl_union_set     *inside = isl_schedule_node_filter_get_filter(filter);
    isl_schedule_node_free(filter);
    left = isl_union_map_intersect_domain(left, isl_union_set_copy(inside));
    return isl_union_map_intersect_range(left, inside);
}

/* The dependences between statements that have instances in the set; which instances does not matter. */
static isl_union_map *among(isl_union_map *dependences, isl_union_set *domain)
{
    isl_union_set *all = isl_union_set_universe(domain);
    dependences        = isl_union_map_intersect_domain(isl_union_map_copy(dependences), isl_union_set_copy(all));
    return isl_union_map_intersect_range(dependences, all);
}

/* The same with the dependences between statements below the node. Which of them the loops around it leave is asked
 * only where a mark depends on it: of a group's loops, the innermost ones, with few statements below. */
static isl_schedule_node *mark_below(isl_schedule_node *node, isl_union_map *dependences, bool threads)
{
    int up = 0; /* marks above the node */
    if (isl_schedule_node_get_type(node) == isl_schedule_node_band) {
        const bool innermost = order_innermost(node);
        if ((!threads || innermost) && (!isl_union_map_n_map(dependences) || order_parallel(node, dependences))) {
            if (!threads) {
                node    = mark(node, MARK_PARALLEL);
                threads = true;
                up++;
            }
            if (innermost) {
                node = mark(node, MARK_VECTOR);
                up++;
            }
        }
    }
    const isl_size n = isl_schedule_node_n_children(node);
    for (int i = 0; i < n; i++) {
        node                = isl_schedule_node_child(node, i);
        const bool     part = isl_schedule_node_get_type(node) == isl_schedule_node_filter;
        isl_union_map *below =
            part ? among(dependences, isl_schedule_node_filter_get_filter(node)) : isl_union_map_copy(dependences);
        node = isl_schedule_node_parent(mark_below(node, below, threads));
        isl_union_map_free(below);
    }
    return isl_schedule_node_ancestor(node, up);
}

isl_schedule_node *order_mark(isl_schedule_node *node, isl_union_map *dependences, bool threads)
{
    bool           root = isl_schedule_node_get_type(node) == isl_schedule_node_domain; /* nothing is above it */
    isl_union_map *below =
        root ? isl_union_map_copy(dependences) : among(dependences, isl_schedule_node_get_domain(node));
    node = mark_below(node, below, threads);
    isl_union_map_free(below);
    return node;
}

static bool over_time(isl_schedule_node *node, isl_union_map *left)
{
    bool found = isl_schedule_node_get_type(node) == isl_schedule_node_band && !order_innermost(node) &&
                 !order_carries_none(node, left);
    for (int i = 0; !found && i < isl_schedule_node_n_children(node); i++) {
        isl_schedule_node *child = isl_schedule_node_get_child(node, i);
        isl_union_map     *below = order_left_below(node, i, left);
        found                    = over_time(child, below);
        isl_union_map_free(below);
        isl_schedule_node_free(child);
    }
    return found;
}

bool order_over_time(const Scop *s)
{
    isl_schedule_node *root  = isl_schedule_get_root(s->schedule);
    const bool         found = over_time(root, s->either);
    isl_schedule_node_free(root);
    return found;
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
