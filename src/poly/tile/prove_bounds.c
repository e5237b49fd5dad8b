/* SPDX-License-Identifier: MIT */
/* The proof about bounds.
 *
 * Takes   a tiled program with scratch.
 * Gives   nothing, or what is wrong.
 * Holds   what an instance writes in scratch is in the box of its tile, so that two elements of a tile have two
 *         places; and what it reads there, since a tile reads what it has set (prove_flow.c). A copy touches no element
 *         outside of the box of those that the given program is sure to access: a copy in may have more than the tile
 *         reads. */
#include "poly/model/model.h"
#include "poly/tile/overlap.h"
#include "poly/tile/prove.h"

/* Are the elements { X[o…, i…] -> array[…] } in the scratch of the tile? Takes them. */
static bool in_scratch(const Scratch *s, isl_map *elements)
{
    isl_space *space = isl_space_domain(isl_map_get_space(elements));
    unsigned   tiles = (unsigned)isl_multi_aff_dim(s->offset, isl_dim_in);
    unsigned   rest  = (unsigned)isl_space_dim(space, isl_dim_set) - tiles;
    isl_map   *tile  = isl_map_from_multi_aff(isl_multi_aff_project_out_map(space, isl_dim_set, tiles, rest));
    isl_map   *has   = isl_map_apply_range(isl_map_reset_tuple_id(tile, isl_dim_out), scratch_places(s));
    bool       in    = isl_map_is_subset(elements, has) == isl_bool_true;
    isl_map_free(has);
    isl_map_free(elements);
    return in;
}

static bool in_array(const Scop *s, const TiledStatement *copy)
{
    isl_set *read = isl_map_range(isl_map_copy(copy->executes)), *known = scop_elements(s, copy->copied->array);
    bool     in = isl_set_is_subset(read, known) == isl_bool_true;
    isl_set_free(read);
    isl_set_free(known);
    return in;
}

const char *tile_prove_bounds(const Tiled *t)
{
    for (size_t i = 0; i < t->statements.count; i++) {
        const TiledStatement *x = &t->statements.at[i];
        if (!x->source && !in_array(t->scop, x))
            return "a copy may touch what no array has";
        if (!x->source && !in_scratch(x->copied, isl_map_copy(x->executes)))
            return "a copy is outside of its scratch";
        for (size_t k = 0; k < x->accesses.count; k++) {
            const TiledAccess *a = &x->accesses.at[k];
            if (a->scratch && a->access->write &&
                !in_scratch(a->scratch,
                            isl_map_apply_range(isl_map_copy(x->executes), isl_map_copy(a->access->relation))))
                return "an access is outside of its scratch";
        }
    }
    return NULL;
}
