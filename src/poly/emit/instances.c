/* SPDX-License-Identifier: MIT */
/* Statements in the loops: what their iterators are there, and where their scratch is.
 *
 * Takes   each statement as isl places it in its loops.
 * Gives   expressions over the loop variables: the iterators of the source's statement, and the subscripts of what lies
 *         in scratch: element - offset(tile). Folds are left to the writer.
 * From    Zhao and Cohen 2019, section 3.7: indices of scratchpads. */
#include "poly/emit/writer.h"

#include <isl/aff.h>
#include <isl/space.h>
#include <isl/val.h>
#include <string.h>

static const TiledStatement *statement_named(const Tiled *t, const char *name)
{
    for (size_t i = 0; i < t->statements.count; i++)
        if (!strcmp(t->statements.at[i].name, name))
            return &t->statements.at[i];
    return NULL;
}

static isl_stat take_piece(isl_set *domain, isl_multi_aff *value, void *user)
{
    isl_set_free(domain);
    *(isl_multi_aff **)user = value;
    return isl_stat_ok;
}

/* The function that the map is. Where it is one on all of its domain, it is taken everywhere: its text is that of the
 * one piece, and to compose functions without domains takes isl half of the time. Takes the map. */
static isl_pw_multi_aff *function_of(isl_map *map)
{
    isl_pw_multi_aff *f     = isl_pw_multi_aff_from_map(map);
    isl_multi_aff    *whole = NULL;
    if (isl_pw_multi_aff_n_piece(f) != 1)
        return f;
    isl_pw_multi_aff_foreach_piece(f, take_piece, &whole);
    isl_pw_multi_aff_free(f);
    return isl_pw_multi_aff_from_multi_aff(whole);
}

static isl_ast_expr **ast_exprs(Writer *w, isl_ast_build *build, isl_pw_multi_aff *values, int *count)
{
    *count               = (int)isl_pw_multi_aff_dim(values, isl_dim_out);
    isl_ast_expr **exprs = ARENA_ARRAY(w->arena, isl_ast_expr *, (size_t)(*count > 0 ? *count : 1));
    for (int i = 0; i < *count; i++) {
        exprs[i] = isl_ast_build_expr_from_pw_aff(build, isl_pw_multi_aff_get_pw_aff(values, i));
        w->failed |= !exprs[i];
    }
    isl_pw_multi_aff_free(values);
    return exprs;
}

/* Instance -> tile coordinates. */
static isl_multi_aff *tile_of(const Scratch *scratch, isl_pw_multi_aff *of_instance)
{
    const int      tile_dims = (int)isl_multi_aff_dim(scratch->offset, isl_dim_in);
    isl_space     *space     = isl_space_domain(isl_pw_multi_aff_get_space(of_instance));
    isl_multi_aff *tile      = isl_multi_aff_identity_on_domain_space(space);
    const int      dims      = (int)isl_multi_aff_dim(tile, isl_dim_out);
    tile                     = isl_multi_aff_reset_tuple_id(tile, isl_dim_out);
    return isl_multi_aff_drop_dims(tile, isl_dim_out, (unsigned)tile_dims, (unsigned)(dims - tile_dims));
}

/* Instance -> subscripts of scratch: element - offset(tile). */
static isl_pw_multi_aff *scratch_subscripts(const Scratch *scratch, isl_pw_multi_aff *element)
{
    isl_multi_aff *tile  = tile_of(scratch, element);
    isl_multi_aff *first = isl_multi_aff_pullback_multi_aff(isl_multi_aff_copy(scratch->offset), tile);
    return isl_pw_multi_aff_sub(element, isl_pw_multi_aff_from_multi_aff(first));
}

/* Subscripts of scratch where some of the array's own depend on data: those are NULL, and printed as the source has
 * them. Their part of the scratch begins at 0, or there is no text. */
static isl_ast_expr **known_subscripts(Writer *w, isl_ast_build *build, const TiledAccess *a,
                                       isl_pw_multi_aff *executes, isl_pw_multi_aff *instance)
{
    const Scratch *s     = a->scratch;
    isl_ast_expr **exprs = ARENA_ARRAY(w->arena, isl_ast_expr *, (size_t)s->rank + 1);
    for (int d = 0; d < s->rank; d++) {
        isl_map *along = isl_map_copy(a->access->relation);
        along          = isl_map_project_out(along, isl_dim_out, (unsigned)d + 1, (unsigned)(s->rank - d - 1));
        along          = isl_map_project_out(along, isl_dim_out, 0, (unsigned)d);
        isl_aff *first = isl_multi_aff_get_aff(s->offset, d);
        if (isl_map_is_single_valued(along) == isl_bool_true) {
            isl_pw_multi_aff *at = function_of(along);
            at                   = isl_pw_multi_aff_pullback_pw_multi_aff(at, isl_pw_multi_aff_copy(executes));
            isl_multi_aff *from  = isl_multi_aff_from_aff(first);
            from                 = isl_multi_aff_pullback_multi_aff(from, tile_of(s, at));
            at                   = isl_pw_multi_aff_sub(at, isl_pw_multi_aff_from_multi_aff(from));
            at                   = isl_pw_multi_aff_pullback_pw_multi_aff(at, isl_pw_multi_aff_copy(instance));
            int            count;
            isl_ast_expr **one = ast_exprs(w, build, isl_pw_multi_aff_coalesce(at), &count);
            exprs[d]           = one[0];
            w->failed |= s->fold[d] != 0;
        } else {
            w->failed |= isl_aff_plain_is_zero(first) != isl_bool_true || s->fold[d];
            exprs[d] = NULL;
            isl_map_free(along);
            isl_aff_free(first);
        }
    }
    return exprs;
}

isl_ast_node *note_instance(isl_ast_node *node, isl_ast_build *build, void *user)
{
    Writer               *w     = user;
    isl_map              *order = isl_map_from_union_map(isl_ast_build_get_schedule(build));
    const TiledStatement *s     = order ? statement_named(w->tiled, isl_map_get_tuple_name(order, isl_dim_in)) : NULL;
    if (!s) {
        isl_map_free(order);
        w->failed = true;
        return node;
    }
    /* loop variables -> instance -> iterators of the source */
    isl_pw_multi_aff *instance = function_of(isl_map_reverse(order));
    isl_pw_multi_aff *executes = function_of(isl_map_copy(s->executes));
    Instance         *n        = ARENA_NEW(w->arena, Instance);
    n->statement               = s;
    n->iterators               = ast_exprs(w, build,
                                           isl_pw_multi_aff_coalesce(isl_pw_multi_aff_pullback_pw_multi_aff(
                                               isl_pw_multi_aff_copy(executes), isl_pw_multi_aff_copy(instance))),
                                           &n->count);
    n->access_count            = s->source ? (int)s->accesses.count : 1;
    n->scratch = ARENA_ARRAY(w->arena, isl_ast_expr **, (size_t)(n->access_count ? n->access_count : 1));
    for (int i = 0; i < n->access_count; i++) {
        const Scratch *scratch = s->source ? s->accesses.at[i].scratch : s->copied;
        n->scratch[i]          = NULL;
        if (!scratch)
            continue;
        if (s->source && isl_map_is_single_valued(s->accesses.at[i].access->relation) != isl_bool_true) {
            n->scratch[i] = known_subscripts(w, build, &s->accesses.at[i], executes, instance);
            continue;
        }
        isl_pw_multi_aff *element = isl_pw_multi_aff_copy(executes);
        if (s->source)
            element = isl_pw_multi_aff_pullback_pw_multi_aff(
                function_of(isl_map_copy(s->accesses.at[i].access->relation)), element);
        isl_pw_multi_aff *at = isl_pw_multi_aff_pullback_pw_multi_aff(scratch_subscripts(scratch, element),
                                                                      isl_pw_multi_aff_copy(instance));
        int               rank;
        n->scratch[i] = ast_exprs(w, build, isl_pw_multi_aff_coalesce(at), &rank);
    }
    isl_pw_multi_aff_free(instance);
    isl_pw_multi_aff_free(executes);
    vec_push(w->arena, &w->instances, n);
    isl_id *id = isl_id_alloc(isl_ast_node_get_ctx(node), "instance", n);
    return isl_ast_node_set_annotation(node, id);
}

const Instance *instance_of(isl_ast_node *node)
{
    isl_id         *id = isl_ast_node_get_annotation(node);
    const Instance *n  = id ? isl_id_get_user(id) : NULL;
    isl_id_free(id);
    return n;
}

void free_instances(Writer *w)
{
    for (size_t i = 0; i < w->places.count; i++)
        isl_set_free(w->places.at[i].tiles);
    for (size_t i = 0; i < w->instances.count; i++) {
        Instance *n = w->instances.at[i];
        for (int k = 0; k < n->count; k++)
            isl_ast_expr_free(n->iterators[k]);
        for (int a = 0; a < n->access_count; a++) {
            const Scratch *scratch = n->statement->source ? n->statement->accesses.at[a].scratch : n->statement->copied;
            for (int d = 0; n->scratch[a] && d < scratch->rank; d++)
                isl_ast_expr_free(n->scratch[a][d]);
        }
    }
}
