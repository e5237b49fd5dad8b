/* SPDX-License-Identifier: MIT */
/* The proof about folds of scratch.
 *
 * Takes   a tiled program whose dataflow is proved with a place for each element.
 * Gives   nothing, or what is wrong.
 * Holds   two elements e and e' of a tile have one place only if they differ by a multiple of the fold along a folded
 *         dimension. If e' is the greater one along the first such dimension, each write of e' comes after all reads
 *         and writes of e. So between the write and a read of a value nothing else is written in its place, and each
 *         read has the source that it has without folds. Multiples are left out: all e' that are at least the fold
 *         away are taken, which asks for more. The code takes remainders by `&`, so that a fold is a power of two. */
#include "poly/tile/prove.h"

#include <isl/constraint.h>

/* { X[o…, i…] -> [o…, e…] } from { X[o…, i…] -> array[e…] }, which it takes. */
static isl_union_map *placed(const Scratch *s, isl_map *element)
{
    isl_space *space = isl_space_domain(isl_map_get_space(element));
    unsigned   tiles = (unsigned)isl_multi_aff_dim(s->offset, isl_dim_in);
    unsigned   rest  = (unsigned)isl_space_dim(space, isl_dim_set) - tiles;
    isl_map   *tile  = isl_map_from_multi_aff(isl_multi_aff_project_out_map(space, isl_dim_set, tiles, rest));
    tile             = isl_map_reset_tuple_id(tile, isl_dim_out);
    return isl_union_map_from_map(isl_map_flat_range_product(tile, isl_map_reset_tuple_id(element, isl_dim_out)));
}

/* All accesses of the scratch, or its writes. */
static isl_union_map *accesses_of(const Tiled *t, const Scratch *s, bool writes)
{
    isl_union_map *all = isl_union_map_empty(isl_set_get_space(t->scop->context));
    for (size_t i = 0; i < t->statements.count; i++) {
        const TiledStatement *x = &t->statements.at[i];
        if (x->copied == s && !(writes && x->copy_out))
            all = isl_union_map_union(all, placed(s, isl_map_copy(x->executes)));
        for (size_t k = 0; k < x->accesses.count; k++) {
            const TiledAccess *a = &x->accesses.at[k];
            if (a->scratch == s && (a->access->write || !writes))
                all = isl_union_map_union(
                    all, placed(s, isl_map_apply_range(isl_map_copy(x->executes), isl_map_copy(a->access->relation))));
        }
    }
    return all;
}

/* { [o…, e…] -> [o…, e'…] : e' is at least the fold further along dimension j, and nowhere else before it }. */
static isl_map *further(const Scratch *s, int j, isl_space *params)
{
    int        tiles = (int)isl_multi_aff_dim(s->offset, isl_dim_in), n = tiles + s->rank;
    isl_space *space = isl_space_add_dims(isl_space_set_from_params(params), isl_dim_set, (unsigned)n);
    isl_map   *map   = isl_map_universe(isl_space_map_from_set(space));
    for (int d = 0; d < n; d++)
        if (d < tiles + j || !s->fold[d - tiles])
            map = isl_map_equate(map, isl_dim_in, d, isl_dim_out, d);
    isl_constraint *c = isl_constraint_alloc_inequality(isl_local_space_from_space(isl_map_get_space(map)));
    c                 = isl_constraint_set_coefficient_si(c, isl_dim_out, tiles + j, 1);
    c                 = isl_constraint_set_coefficient_si(c, isl_dim_in, tiles + j, -1);
    return isl_map_add_constraint(map, isl_constraint_set_constant_si(c, -(int)s->fold[j]));
}

/* All folds at once: the tree is walked once, not for each of them. */
const char *tile_prove_fold(const Tiled *t)
{
    isl_union_map *all = isl_union_map_empty(isl_set_get_space(t->scop->context));
    bool           two = true; /* are the rows of each fold a power of two? */
    for (size_t i = 0; i < t->scratch.count; i++)
        for (int j = 0; j < t->scratch.at[i]->rank; j++) {
            const Scratch *s = t->scratch.at[i];
            if (!s->fold[j])
                continue;
            two &= s->fold[j] > 0 && !(s->fold[j] & (s->fold[j] - 1)) && s->fold[j] == s->size[j];
            isl_union_map *later = isl_union_map_from_map(further(s, j, isl_set_get_space(t->scop->context)));
            isl_union_map *pairs = isl_union_map_apply_range(accesses_of(t, s, false), later);
            pairs                = isl_union_map_apply_range(pairs, isl_union_map_reverse(accesses_of(t, s, true)));
            all                  = isl_union_map_union(all, pairs);
        }
    const bool forward = prove_forward(t->schedule, all);
    return !two      ? "the rows of a fold are no power of two"
           : forward ? NULL
                     : "scratch is written again before its last read";
}
