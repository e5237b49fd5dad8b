/* SPDX-License-Identifier: MIT */
/* The proof that instances and scratch are what the other proofs take them for.
 *
 * Takes   a tiled program.
 * Gives   nothing, or what is wrong.
 * Holds   an instance X[o…, i…] is S[i…] of the given program, which the relations of accesses are about, and a place
 *         of scratch belongs to a tile o. So
 *           - what is scheduled is what the statements say;
 *           - X[o…, i…] executes S[i…], an instance of the given program, with the accesses of S;
 *           - all that uses the scratch of a group runs below one mark, which declares it, and the loops around the
 *             mark have one iteration for each tile: scratch lives as long as its tile, and no two tiles share it. */
#include "poly/tile/prove.h"

#include <isl/schedule_node.h>

/* X[o…, i…] -> Y[i…], within the domain of what it executes. */
static bool executes_given(const TiledStatement *x)
{
    isl_space *space = isl_map_get_space(x->executes);
    const int  tiles = (int)isl_space_dim(space, isl_dim_in) - (int)isl_space_dim(space, isl_dim_out);
    isl_id    *id    = isl_space_get_tuple_id(space, isl_dim_out);
    space            = isl_space_domain(space);
    if (tiles < 0) {
        isl_id_free(id);
        isl_space_free(space);
        return false;
    }
    isl_map *may = isl_map_from_multi_aff(isl_multi_aff_project_out_map(space, isl_dim_set, 0, (unsigned)tiles));
    may          = isl_map_set_tuple_id(may, isl_dim_out, id);
    if (x->source)
        may = isl_map_intersect_range(may, isl_set_copy(x->source->domain));
    const bool yes = isl_map_is_subset(x->executes, may) == isl_bool_true;
    isl_map_free(may);
    return yes;
}

static bool accesses_given(const TiledStatement *x)
{
    bool same = !x->source || x->accesses.count == x->source->accesses.count;
    for (size_t k = 0; same && k < x->accesses.count; k++)
        same = x->accesses.at[k].access == &x->source->accesses.at[k];
    return same;
}

const char *tile_prove_runs(const Tiled *t)
{
    isl_union_set *runs  = isl_union_set_empty(isl_set_get_space(t->scop->context));
    isl_union_set *all   = isl_schedule_get_domain(t->schedule);
    const char    *wrong = NULL;
    for (size_t i = 0; i < t->statements.count; i++) {
        const TiledStatement *x = &t->statements.at[i];
        runs                    = isl_union_set_add_set(runs, isl_map_domain(isl_map_copy(x->executes)));
        if (!wrong && !(executes_given(x) && accesses_given(x)))
            wrong = "an instance is none of the given program";
    }
    if (isl_union_set_is_equal(runs, all) != isl_bool_true)
        wrong = "other instances run";
    isl_union_set_free(runs);
    isl_union_set_free(all);
    return wrong;
}

/* ---- Where scratch is declared ---- */

/* What is below a mark of a group's tiles. */
typedef struct Place {
    int      group;
    isl_map *tile; /* iterations of the loops around the mark -> tiles */
} Place;

typedef struct Declared {
    const Tiled *t;
    VEC(Place) places;
    int *seen;  /* for each statement: below how many marks it runs */
    bool whole; /* all of what is seen */
} Declared;

/* Scratch that the statement uses; *alike: all of it is of one group, with the tile's coordinates in front. */
static const Scratch *scratch_by(const TiledStatement *x, bool *alike)
{
    const Scratch *s     = x->copied;
    const int      tiles = (int)isl_map_dim(x->executes, isl_dim_in) - (int)isl_map_dim(x->executes, isl_dim_out);
    for (size_t k = 0; k < x->accesses.count; k++) {
        const Scratch *one = x->accesses.at[k].scratch;
        *alike &= !one || !s || one->tile == s->tile;
        s = s ? s : one;
        *alike &= !one || (int)isl_multi_aff_dim(one->offset, isl_dim_in) == tiles;
    }
    *alike &= !x->copied || (int)isl_multi_aff_dim(x->copied->offset, isl_dim_in) == tiles;
    return s;
}

/* { iteration around the mark -> tile } of a statement below it. Bounds are left out: with them there is no more. */
static isl_map *tiles_of(const TiledStatement *x, isl_union_map *around)
{
    isl_space *space = isl_space_domain(isl_map_get_space(x->executes));
    unsigned   rest  = (unsigned)isl_map_dim(x->executes, isl_dim_out);
    unsigned   tiles = (unsigned)isl_space_dim(space, isl_dim_set) - rest;
    isl_map   *tile  = isl_map_from_multi_aff(isl_multi_aff_project_out_map(space, isl_dim_set, tiles, rest));
    isl_set   *of    = isl_set_universe(isl_space_domain(isl_map_get_space(tile)));
    isl_map   *loops =
        isl_map_from_union_map(isl_union_map_intersect_domain(isl_union_map_copy(around), isl_union_set_from_set(of)));
    return isl_map_apply_domain(isl_map_reset_tuple_id(tile, isl_dim_out), loops);
}

static void add_place(Declared *d, size_t here, int group, isl_map *tile)
{
    for (size_t i = 0; i < d->places.count; i++) {
        Place *p = &d->places.at[i];
        if (p->group != group)
            continue;
        d->whole &= i >= here; /* not below another mark */
        if (isl_map_plain_is_equal(p->tile, tile) == isl_bool_true)
            isl_map_free(tile);
        else
            p->tile = isl_map_union(p->tile, tile);
        return;
    }
    vec_push(d->t->scop->arena, &d->places, ((Place){ group, tile }));
}

static isl_bool note_mark(isl_schedule_node *node, void *user)
{
    Declared *d = user;
    isl_id   *id =
        isl_schedule_node_get_type(node) == isl_schedule_node_mark ? isl_schedule_node_mark_get_id(node) : NULL;
    const bool tile = id && !strcmp(isl_id_get_name(id), MARK_TILE);
    isl_id_free(id);
    if (!tile)
        return isl_bool_true;
    const size_t   here   = d->places.count;
    isl_union_set *below  = isl_schedule_node_get_domain(node);
    isl_union_map *around = isl_schedule_node_get_prefix_schedule_union_map(node);
    for (size_t i = 0; i < d->t->statements.count; i++) {
        const TiledStatement *x     = &d->t->statements.at[i];
        bool                  alike = true;
        const Scratch        *s     = scratch_by(x, &alike);
        isl_set *set = s ? isl_union_set_extract_set(below, isl_space_domain(isl_map_get_space(x->executes))) : NULL;
        if (set && isl_set_plain_is_empty(set) != isl_bool_true) {
            isl_set *runs = isl_map_domain(isl_map_copy(x->executes));
            d->whole &= alike && isl_set_is_subset(runs, set) == isl_bool_true;
            isl_set_free(runs);
            d->seen[i]++;
            add_place(d, here, s->tile, tiles_of(x, around));
        }
        isl_set_free(set);
    }
    isl_union_set_free(below);
    isl_union_map_free(around);
    return isl_bool_true;
}

const char *tile_prove_declared(const Tiled *t)
{
    Declared           d = { .t = t, .seen = ARENA_ARRAY(t->scop->arena, int, t->statements.count + 1), .whole = true };
    isl_schedule_node *root = isl_schedule_get_root(t->schedule);
    bool found = isl_schedule_node_foreach_descendant_top_down(root, note_mark, &d) == isl_stat_ok, each = d.whole;
    isl_schedule_node_free(root);
    for (size_t i = 0; i < t->statements.count; i++) {
        bool alike = true;
        found &= !scratch_by(&t->statements.at[i], &alike) || d.seen[i] > 0 ||
                 isl_map_is_empty(t->statements.at[i].executes) == isl_bool_true;
        each &= alike && d.seen[i] <= 1;
    }
    for (size_t i = 0; i < d.places.count; i++) {
        each &= isl_map_is_bijective(d.places.at[i].tile) == isl_bool_true;
        isl_map_free(d.places.at[i].tile);
    }
    return !found ? "scratch is used where no tile has it" : each ? NULL : "a tile has its scratch not for itself";
}
