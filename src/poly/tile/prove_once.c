/* SPDX-License-Identifier: MIT */
/* The proof for arrays of which each element is written once, before it is read: those of a pipeline's stages.
 *
 * Takes   a tiled program.
 * Gives   the arrays whose values, results and conflicts are as they should be. About the others nothing is said.
 * Holds   let statement w of the given program write each element e of its range once, and all reads stand behind it.
 * In the tiled program whatever writes a place of e, in the array or in scratch, executes the one instance of w that
 *         writes e, or copies e. So a read has the right source if it has one; no dataflow has to be found. It has one
 * if
 *           - a tile sets every place of scratch that it reads: by w, or by copying an element that w does not write;
 *           - all that w writes is in the array, where the array is read itself or lives on;
 *           - the writes of a place run before its reads, and none in another iteration of a loop marked parallel;
 *           - no two instances write one place.
 *         Order is asked of pairs of all instances of a tile, which are cheap, before those of one place. */
#include "poly/model/model.h"
#include "poly/tile/prove.h"

/* How a statement of the tiled program uses the array. */
typedef struct Use {
    const TiledStatement *x;
    const Scratch        *scratch; /* NULL: the array itself */
    const Access         *access;  /* NULL: x copies */
    bool                  write;
} Use;

typedef struct Uses {
    const Tiled     *t;
    const CSymbol   *array;
    const Statement *by; /* in the given program; NULL: nothing writes the array */
    VEC(Use) all;
} Uses;

static Uses uses_of(const Tiled *t, const CSymbol *array)
{
    Uses u = { .t = t, .array = array };
    for (size_t i = 0; i < t->statements.count; i++) {
        const TiledStatement *x = &t->statements.at[i];
        if (!x->source && x->copied->array == array) {
            vec_push(t->scop->arena, &u.all, ((Use){ x, x->copied, NULL, !x->copy_out }));
            vec_push(t->scop->arena, &u.all, ((Use){ x, NULL, NULL, x->copy_out }));
        }
        for (size_t k = 0; k < x->accesses.count; k++)
            if (x->accesses.at[k].access->array == array)
                vec_push(
                    t->scop->arena, &u.all,
                    ((Use){ x, x->accesses.at[k].scratch, x->accesses.at[k].access, x->accesses.at[k].access->write }));
    }
    return u;
}

/* The number of tile coordinates in front of an instance. */
static unsigned tiles_of(const TiledStatement *x)
{
    return (unsigned)isl_map_dim(x->executes, isl_dim_in) - (unsigned)isl_map_dim(x->executes, isl_dim_out);
}

/* { X -> element } */
static isl_map *elements_of(const Use *u)
{
    isl_map *of = isl_map_copy(u->x->executes);
    return u->access ? isl_map_apply_range(of, isl_map_copy(u->access->relation)) : of;
}

/* { [o…] -> element } */
static isl_map *touched(const Use *u)
{
    const unsigned tiles = tiles_of(u->x), rest = (unsigned)isl_map_dim(u->x->executes, isl_dim_in) - tiles;
    isl_map       *of = isl_map_project_out(isl_map_copy(u->x->executes), isl_dim_in, tiles, rest);
    of                = isl_map_reset_tuple_id(of, isl_dim_in);
    return u->access ? isl_map_apply_range(of, isl_map_copy(u->access->relation)) : of;
}

/* { X -> place }: the element, and in scratch the tile. */
static isl_map *places_of(const Use *u)
{
    isl_map *element = elements_of(u);
    if (!u->scratch)
        return element;
    isl_space *space = isl_space_domain(isl_map_get_space(element));
    unsigned   tiles = tiles_of(u->x), rest = (unsigned)isl_space_dim(space, isl_dim_set) - tiles;
    isl_map   *o = isl_map_from_multi_aff(isl_multi_aff_project_out_map(space, isl_dim_set, tiles, rest));
    return isl_map_range_product(o, element);
}

/* Takes both. */
static bool subset(isl_map *a, isl_map *b)
{
    const bool yes = isl_map_is_subset(a, b) == isl_bool_true;
    isl_map_free(a);
    isl_map_free(b);
    return yes;
}

/* The uses that write, of each kind one at most. */
typedef struct Writers {
    const Use *by, *in, *out; /* what executes the given program's write; copies */
    bool       read;          /* is the array itself read, other than by copies? */
} Writers;

/* false: there are others. */
static bool find_writers(const Uses *u, Writers *w)
{
    *w = (Writers){ 0 };
    for (size_t i = 0; i < u->all.count; i++) {
        const Use  *use  = &u->all.at[i];
        const Use **kind = use->access ? &w->by : use->scratch ? &w->in : &w->out;
        w->read |= !use->write && use->access && !use->scratch;
        if (use->write && *kind)
            return false;
        if (use->write)
            *kind = use;
    }
    for (size_t i = 0; i < u->all.count; i++)
        if (u->all.at[i].scratch && (!w->by || u->all.at[i].scratch != w->by->scratch))
            return false;
    return u->by ? w->by && w->by->x->source == u->by : !w->by && !w->in && !w->out;
}

/* Does no instance write a place that another one of the statement writes? */
static bool writes_alone(const Use *use)
{
    isl_map   *places = use ? places_of(use) : NULL;
    const bool alone  = !use || isl_map_is_injective(places) == isl_bool_true;
    isl_map_free(places);
    return alone;
}

/* Is what a tile reads in scratch set there, and does no copy in bring an element that the given program writes? */
static bool is_set(const Uses *u, const Writers *w)
{
    isl_map *set = touched(w->by);
    bool     ok  = true;
    if (w->out)
        ok = subset(touched(w->out), isl_map_copy(set));
    if (w->in) {
        isl_set *range = isl_map_range(isl_map_copy(w->by->access->relation));
        isl_set *both  = isl_set_intersect(isl_map_range(isl_map_copy(w->in->x->executes)), range);
        ok             = ok && isl_set_is_empty(both) == isl_bool_true;
        set            = isl_map_union(set, touched(w->in));
        isl_set_free(both);
    }
    for (size_t i = 0; i < u->all.count && ok; i++)
        if (u->all.at[i].scratch && !u->all.at[i].write && u->all.at[i].access)
            ok = subset(touched(&u->all.at[i]), isl_map_copy(set));
    isl_map_free(set);
    return ok;
}

/* Is all that the given program writes written to the array, where someone can see it? */
static bool is_kept(const Uses *u, const Writers *w)
{
    if (!w->read && scop_dies(u->array))
        return true;
    const Use *last = w->by->scratch ? w->out : w->by;
    if (!last)
        return false;
    isl_map   *to   = elements_of(last);
    isl_set   *kept = isl_map_range(to), *all = isl_map_range(isl_map_copy(w->by->access->relation));
    const bool yes = isl_set_is_subset(all, kept) == isl_bool_true;
    isl_set_free(kept);
    isl_set_free(all);
    return yes;
}

/* Everything but the order. */
static bool holds(const Uses *u)
{
    Writers w;
    if (!find_writers(u, &w))
        return false;
    return !u->by || (writes_alone(w.by) && writes_alone(w.in) && writes_alone(w.out) &&
                      (!w.by->scratch || is_set(u, &w)) && is_kept(u, &w));
}

/* { X -> Y }: a write and a read of one place. */
static isl_map *of_place(const Use *a, const Use *b)
{
    return isl_map_apply_range(places_of(a), isl_map_reverse(places_of(b)));
}

/* All instances; in scratch, those of one tile. */
static isl_map *of_tile(const Use *a, const Use *b)
{
    isl_space *from = isl_space_domain(isl_map_get_space(a->x->executes));
    isl_space *to   = isl_space_domain(isl_map_get_space(b->x->executes));
    isl_map   *all  = isl_map_universe(isl_space_map_from_domain_and_range(from, to));
    for (int k = 0; a->scratch && k < (int)tiles_of(a->x); k++)
        all = isl_map_equate(all, isl_dim_in, k, isl_dim_out, k);
    return all;
}

/* Does the use before it stand for the same pairs of tiles? */
static bool repeats(const Uses *u, size_t k)
{
    const Use *a = k ? &u->all.at[k - 1] : NULL, *b = &u->all.at[k];
    return a && a->x == b->x && a->scratch == b->scratch && a->write == b->write;
}

/* Writes and reads of one place, or around them of one tile. A copy in reads what nothing writes. */
static isl_union_map *pairs(const Uses *u, bool exact)
{
    isl_union_map *all = isl_union_map_empty(isl_set_get_space(u->t->scop->context));
    for (size_t i = 0; i < u->all.count; i++)
        for (size_t k = 0; k < u->all.count; k++) {
            const Use *a = &u->all.at[i], *b = &u->all.at[k];
            if (a->write && !b->write && a->scratch == b->scratch && (b->access || b->scratch) &&
                (exact || !repeats(u, k)))
                all = isl_union_map_add_map(all, exact ? of_place(a, b) : of_tile(a, b));
        }
    return all;
}

ProvedArrays prove_once(const Tiled *t)
{
    const Region  *r    = t->scop->region;
    isl_union_map *both = isl_union_map_empty(isl_set_get_space(t->scop->context));
    VEC(Uses) open      = { 0 };
    ProvedArrays proved = { 0 };
    for (size_t i = 0; i < r->symbols.count; i++) {
        Uses u = uses_of(t, r->symbols.at[i]);
        if (!u.all.count || scop_private(t->scop, u.array) || !scop_once(t->scop, u.array, &u.by) || !holds(&u))
            continue;
        both = isl_union_map_union(both, pairs(&u, false));
        vec_push(t->scop->arena, &open, u);
    }
    const bool all = prove_forward(t->schedule, both);
    for (size_t i = 0; i < open.count; i++)
        if (all || prove_forward(t->schedule, pairs(&open.at[i], false)) ||
            prove_forward(t->schedule, pairs(&open.at[i], true)))
            vec_push(t->scop->arena, &proved.at, open.at[i].array);
    return proved;
}
