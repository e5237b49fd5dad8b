/* SPDX-License-Identifier: MIT */
/* What trapezoids take in and hand out.
 *
 * Takes   the tiles of a loop over time.
 * Gives   scratch for each array that the loop writes: the box of what a tile touches. Copied in: what flows into the
 *         tile from earlier tiles or from before the loop, and, strip by strip, elements that the loop reads and never
 *         writes. Copied out: of the tile's own share what is read after the tile.
 * Holds   copies in may have more than is read, between elements that are: each is one box, so that it is one nest of
 *         loops. No tile hands out what a neighbour takes in, or there are no such tiles. */
#include "poly/tile/trapezoid.h"
#include "poly/model/model.h"

#include <isl/ilp.h>

const char trapezoid_race[]     = "a tile would overwrite what its neighbours begin with: an array needs a second copy";
static const char hands_twice[] = "two tiles that run at once would hand out the same element";
static const char not_sure[]    = "a read under a condition may be outside of what the loops are sure to access";
static const char no_box[]      = "what a tile touches has no constant size: give sizes for all axes";

static const Access *write_of(const Statement *st)
{
    return &st->accesses.at[st->accesses.count - 1];
}

/* One convex piece around a map. Takes it. */
static isl_map *hull(isl_map *map)
{
    return isl_map_from_basic_map(isl_map_simple_hull(isl_map_coalesce(map)));
}

/* The box around a map: what each coordinate of its range can be, whatever the others are. Takes it. */
static isl_map *box_around(isl_map *map)
{
    map                 = hull(map);
    const isl_size n    = isl_map_dim(map, isl_dim_out); /* -1 where isl has stopped */
    isl_map       *box  = isl_map_universe(isl_map_get_space(map));
    isl_id        *name = isl_map_get_tuple_id(map, isl_dim_out);
    for (int d = 0; d < n; d++) {
        const unsigned before = (unsigned)d, behind = (unsigned)(n - d - 1);
        isl_map       *one = isl_map_project_out(isl_map_copy(map), isl_dim_out, before + 1, behind);
        one                = hull(isl_map_project_out(one, isl_dim_out, 0, before));
        one                = isl_map_insert_dims(one, isl_dim_out, 1, behind);
        one                = isl_map_insert_dims(one, isl_dim_out, 0, before);
        box                = isl_map_intersect(box, isl_map_set_tuple_id(one, isl_dim_out, isl_id_copy(name)));
    }
    isl_id_free(name);
    isl_map_free(map);
    return box;
}

/* The hull of a map, if it has no more than the map, else the map. Takes it. */
static isl_map *exact_hull(isl_map *map)
{
    isl_map *around = hull(isl_map_copy(map));
    if (isl_map_is_subset(around, map) == isl_bool_true) {
        isl_map_free(map);
        return around;
    }
    isl_map_free(around);
    return isl_map_coalesce(map);
}

static bool reads_within(isl_map *in, isl_set *elements)
{
    isl_set *read = isl_map_range(isl_map_copy(in));
    bool     yes  = isl_set_is_subset(read, elements) == isl_bool_true;
    isl_set_free(read);
    return yes;
}

/* Of a copy in: what the scratch has a place for, and the array surely an element. isl's simple hull has bounds of the
 * pieces alone, so that it can have more, or no end. Takes the copy. */
static isl_map *clamped(isl_map *copy, isl_map *places, isl_set *elements)
{
    if (isl_map_is_subset(copy, places) != isl_bool_true)
        copy = isl_map_intersect(copy, isl_map_copy(places));
    return reads_within(copy, elements) ? copy : isl_map_intersect_range(copy, isl_set_copy(elements));
}

static isl_map *joined(isl_map *all, isl_map *one)
{
    return all ? isl_map_union(all, one) : one;
}

/* Of the pairs that flow has: [o…] -> source for a source in `from` and a sink in `to`. Takes both. */
static isl_map *flowing(const Trapezoid *z, isl_map *from, isl_map *to)
{
    isl_space *space = isl_space_map_from_domain_and_range(isl_space_range(isl_map_get_space(from)),
                                                           isl_space_range(isl_map_get_space(to)));
    isl_map   *flow  = isl_union_map_extract_map(z->t->scop->flow, space);
    isl_map   *pairs = isl_map_intersect_range(isl_map_range_product(from, to), isl_map_wrap(flow));
    return isl_map_range_factor_domain(pairs);
}

/* Does the one statement read what the other writes? */
static bool flows(const Trapezoid *z, const Statement *a, const Statement *b)
{
    isl_space *space = isl_space_map_from_domain_and_range(isl_set_get_space(a->domain), isl_set_get_space(b->domain));
    isl_map   *flow  = isl_union_map_extract_map(z->t->scop->flow, space);
    bool       none  = isl_map_plain_is_empty(flow) == isl_bool_true;
    isl_map_free(flow);
    return !none;
}

void trapezoid_live(Trapezoid *z)
{
    const Scop    *s   = z->t->scop;
    isl_union_set *out = isl_union_map_domain(isl_union_map_copy(s->live_out));
    for (size_t i = 0; i < z->x.statement_count; i++) {
        const Statement *st   = z->x.statements[i];
        isl_set         *last = isl_union_set_extract_set(out, isl_set_get_space(st->domain));
        isl_map         *live = isl_map_intersect_range(isl_map_copy(z->own[i]), last);
        for (size_t k = 0; k < s->statements.count; k++)
            if (flows(z, st, &s->statements.at[k]))
                live = isl_map_union(live,
                                     flowing(z, isl_map_copy(z->own[i]), trapezoid_beyond(z, &s->statements.at[k], 1)));
        z->live[i] = isl_map_intersect(hull(live), isl_map_copy(z->own[i]));
    }
    isl_union_set_free(out);
}

/* The convex piece of the elements that the loop writes; NULL: none. */
static isl_set *written(const Trapezoid *z, const CSymbol *array)
{
    isl_set *all = NULL;
    for (size_t i = 0; i < z->x.statement_count; i++) {
        const Access *w = write_of(z->x.statements[i]);
        if (w->array != array)
            continue;
        isl_set *one = isl_map_range(isl_map_copy(w->relation));
        all          = all ? isl_set_union(all, one) : one;
    }
    return all ? isl_set_from_basic_set(isl_set_simple_hull(all)) : NULL;
}

/* Elements that come from writes before the tile: [o…] -> element. NULL: none. */
static isl_map *from_before(const Trapezoid *z, const CSymbol *array)
{
    const Scop *s   = z->t->scop;
    isl_map    *all = NULL;
    for (size_t k = 0; k < s->statements.count; k++) {
        const Statement *source = &s->statements.at[k];
        if (write_of(source)->array != array)
            continue;
        for (size_t i = 0; i < z->x.statement_count; i++)
            if (flows(z, source, z->x.statements[i])) {
                isl_map *at = flowing(z, trapezoid_beyond(z, source, -1), isl_map_copy(z->tile[i]));
                all         = joined(all, isl_map_apply_range(at, isl_map_copy(write_of(source)->relation)));
            }
    }
    return all;
}

/* Elements that the tile's statement reads by that access and no instance has written. */
static isl_map *from_outside(const Trapezoid *z, size_t i, const Access *a)
{
    isl_map *in = isl_union_map_extract_map(z->t->scop->live_in, isl_map_get_space(a->relation));
    return isl_map_apply_range(isl_map_copy(z->tile[i]), isl_map_intersect(in, isl_map_copy(a->relation)));
}

static void copy_in(Made *m, const Scratch *scratch, isl_map *elements)
{
    vec_push(m->t->scop->arena, &m->in, scratch_copy(m, scratch, elements, false));
}

/* An array with its scratch. */
typedef struct Copied {
    const Scratch *scratch;
    isl_set       *inner;    /* around what the loop writes */
    isl_set       *elements; /* that the array surely has */
    isl_map       *places;   /* { [o…] -> element } of the scratch */
    isl_map       *strips;   /* copied in so far */
} Copied;

/* Copies the part of the map outside of `inner`, in one piece, unless a strip before has it. Takes the map. */
static void copy_strip(Made *m, Copied *c, isl_map *elements)
{
    isl_map *outside = isl_map_subtract(
        elements, isl_map_intersect_range(isl_map_universe(isl_map_get_space(elements)), isl_set_copy(c->inner)));
    if (isl_map_is_empty(outside) != isl_bool_false) {
        isl_map_free(outside);
        return;
    }
    isl_map *strip = clamped(box_around(outside), c->places, c->elements);
    if (c->strips && isl_map_is_subset(strip, c->strips) == isl_bool_true) {
        isl_map_free(strip);
        return;
    }
    c->strips = joined(c->strips, isl_map_copy(strip));
    copy_in(m, c->scratch, strip);
}

/* { [o…] -> [o'…] } of different tiles of the same time where the one hands out what the other takes in. */
static bool races(isl_map *in, isl_map *out)
{
    isl_map *meet = isl_map_apply_range(isl_map_copy(in), isl_map_reverse(isl_map_copy(out)));
    meet          = isl_map_equate(meet, isl_dim_in, 0, isl_dim_out, 0);
    meet          = isl_map_subtract(meet, isl_map_identity(isl_map_get_space(meet)));
    isl_bool none = isl_map_is_empty(meet);
    isl_map_free(meet);
    return none != isl_bool_true;
}

/* Do tiles that run at once hand out the same element? What is live has a hull, which can have instances that a
 * neighbour's replace. */
static bool handed_twice(isl_map *out)
{
    isl_map *meet = isl_map_apply_range(isl_map_copy(out), isl_map_reverse(isl_map_copy(out)));
    meet          = isl_map_equate(meet, isl_dim_in, 0, isl_dim_out, 0);
    isl_map *same = isl_map_equate(isl_map_copy(meet), isl_dim_in, 1, isl_dim_out, 1);
    isl_bool once = isl_map_is_subset(meet, same);
    isl_map_free(meet);
    isl_map_free(same);
    return once != isl_bool_true;
}

/* ---- Boxes ---- */

/* The range of element d less `time` o_t + `space` o_k over all tiles: least and greatest. false: it has none. */
static bool extent(isl_set *touched, int tile_dims, int d, int64_t time, int k, int64_t space, int64_t range[2])
{
    isl_local_space *ls   = isl_local_space_from_space(isl_set_get_space(touched));
    isl_ctx         *isl  = isl_set_get_ctx(touched);
    isl_aff         *less = isl_aff_var_on_domain(ls, isl_dim_set, (unsigned)(tile_dims + d));
    less                  = isl_aff_set_coefficient_val(less, isl_dim_in, 0, isl_val_int_from_si(isl, -time));
    if (space)
        less = isl_aff_set_coefficient_val(less, isl_dim_in, k + 1, isl_val_int_from_si(isl, -space));
    isl_val *v[2]  = { isl_set_min_val(touched, less), isl_set_max_val(touched, less) };
    bool     known = isl_val_is_int(v[0]) == isl_bool_true && isl_val_is_int(v[1]) == isl_bool_true;
    for (int i = 0; i < 2; i++) {
        range[i] = known ? isl_val_get_num_si(v[i]) : 0;
        isl_val_free(v[i]);
    }
    isl_aff_free(less);
    return known;
}

/* The least box for dimension d that stands still, moves with the tiles of one axis, or with those of time. */
static bool box_along(const Trapezoid *z, isl_set *touched, int d, isl_multi_aff **offset, int64_t *size)
{
    *size = INT64_MAX;
    for (int k = -2; k < z->dims; k++) {
        int64_t time = 0, space = k >= 0 ? z->size[k] : 0, range[2];
        if (k == -2)
            time = z->rows / z->stages;
        if (k >= 0 && z->t->options.shape == SHAPE_RECTANGLE)
            time = -z->right[k].coefficient[0] * z->rows / z->stages;
        if (!extent(touched, 1 + z->dims, d, time, k, space, range) || range[1] - range[0] + 1 >= *size)
            continue;
        isl_aff *first =
            isl_aff_zero_on_domain(isl_local_space_from_space(isl_space_domain(isl_multi_aff_get_space(*offset))));
        isl_ctx *isl = isl_set_get_ctx(touched);
        first        = isl_aff_set_coefficient_val(first, isl_dim_in, 0, isl_val_int_from_si(isl, time));
        if (space)
            first = isl_aff_set_coefficient_val(first, isl_dim_in, k + 1, isl_val_int_from_si(isl, space));
        first   = isl_aff_set_constant_val(first, isl_val_int_from_si(isl, range[0]));
        *offset = isl_multi_aff_set_aff(*offset, d, first);
        *size   = range[1] - range[0] + 1;
    }
    return *size < INT64_MAX;
}

/* The box of what the tile touches, and scratch for it; NULL: it has no constant size. */
static Scratch *box(const Trapezoid *z, Made *m, const CSymbol *array)
{
    isl_map *all = NULL;
    for (size_t i = 0; i < z->x.statement_count; i++)
        for (size_t k = 0; k < z->x.statements[i]->accesses.count; k++) {
            const Access *a = &z->x.statements[i]->accesses.at[k];
            if (a->array == array)
                all = joined(all, hull(isl_map_apply_range(isl_map_copy(z->tile[i]), isl_map_copy(a->relation))));
        }
    isl_set *touched = isl_set_flatten(isl_map_wrap(isl_map_copy(all)));
    Scratch *s       = scratch_new(m, array, isl_multi_aff_zero(isl_map_get_space(all)));
    bool     known   = true;
    for (int d = 0; d < array->rank && known; d++)
        known = box_along(z, touched, d, &s->offset, &s->size[d]);
    isl_set_free(touched);
    isl_map_free(all);
    if (!known)
        isl_multi_aff_free(s->offset);
    return known ? s : NULL;
}

/* ---- Copies ---- */

static const char *scratch_of(const Trapezoid *z, Made *m, const CSymbol *array, isl_set *inner)
{
    Arena   *arena   = m->t->scop->arena;
    Scratch *scratch = box(z, m, array);
    if (!scratch)
        return no_box;
    vec_push(arena, &m->t->scratch, scratch);
    scratch_use(m, scratch);

    Copied   c    = { scratch, inner, scop_elements(z->t->scop, array), scratch_places(scratch), NULL };
    isl_map *base = from_before(z, array), *out = NULL;
    bool     sure = true; /* all that may be read before it is written can be copied in */
    if (base) {
        copy_strip(m, &c, isl_map_copy(base));
        base = isl_map_intersect_range(base, isl_set_copy(inner));
    }
    for (size_t i = 0; i < z->x.statement_count; i++) {
        const Statement *st = z->x.statements[i];
        for (size_t k = 0; k < st->accesses.count; k++) {
            if (st->accesses.at[k].array != array || st->accesses.at[k].write)
                continue;
            isl_map *in = from_outside(z, i, &st->accesses.at[k]);
            sure        = sure && (!st->accesses.at[k].unsure || reads_within(in, c.elements));
            base        = joined(base, isl_map_intersect_range(isl_map_copy(in), isl_set_copy(inner)));
            copy_strip(m, &c, in);
        }
        if (write_of(st)->array == array)
            out = joined(out, isl_map_apply_range(isl_map_copy(z->live[i]), isl_map_copy(write_of(st)->relation)));
    }
    base       = base ? clamped(box_around(base), c.places, c.elements) : NULL;
    out        = exact_hull(out);
    bool race  = (base && races(base, out)) || (c.strips && races(c.strips, out));
    bool twice = !race && handed_twice(out);
    if (base && isl_map_is_empty(base) == isl_bool_false)
        copy_in(m, scratch, base);
    else
        isl_map_free(base);
    if (isl_map_is_empty(out) == isl_bool_false)
        vec_push(arena, &m->out, scratch_copy(m, scratch, out, true));
    else
        isl_map_free(out);
    isl_map_free(c.strips);
    isl_map_free(c.places);
    isl_set_free(c.elements);
    return race ? trapezoid_race : twice ? hands_twice : sure ? NULL : not_sure;
}

const char *trapezoid_scratch(const Trapezoid *z, Made *m)
{
    const Scop *s   = z->t->scop;
    const char *why = NULL;
    for (size_t i = 0; !why && i < s->region->symbols.count; i++) {
        const CSymbol *array = s->region->symbols.at[i];
        isl_set       *inner = scop_private(s, array) ? NULL : written(z, array);
        if (inner)
            why = scratch_of(z, m, array, inner);
        isl_set_free(inner);
    }
    return why;
}
