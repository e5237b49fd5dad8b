/* SPDX-License-Identifier: MIT */
/* Scratch of tiles.
 *
 * Takes   the tiled statements of a group.
 * Gives   for each array that two tiles would both write, and for each local one, scratch: the box of the elements that
 *         a tile touches, [offset(o), offset(o) + size). Elements that a tile reads and does not write are copied in;
 *         those of its own share that are live are copied out.
 * Holds   boxes have constant size. No element is copied out by two tiles. */
#include "poly/tile/overlap.h"
#include "poly/model/model.h"

#include <isl/fixed_box.h>

/* { [o…] -> array[…] } of one access of one tiled statement. */
static isl_map *touched(const Made *m, size_t i, const Access *a)
{
    return isl_map_apply_range(isl_map_copy(m->tiles.at[i]), isl_map_copy(a->relation));
}

/* All that a tile reads, or writes, of the array; NULL: nothing. */
static isl_map *all_touched(const Made *m, const CSymbol *array, bool write)
{
    isl_map *all = NULL;
    for (size_t i = 0; i < m->run.count; i++) {
        const Statement *st = m->run.at[i].source;
        for (size_t k = 0; k < st->accesses.count; k++)
            if (st->accesses.at[k].array == array && st->accesses.at[k].write == write) {
                isl_map *one = touched(m, i, &st->accesses.at[k]);
                all          = all ? isl_map_union(all, one) : one;
            }
    }
    return all;
}

static bool writes(const Made *m, const CSymbol *array)
{
    bool any = false;
    for (size_t i = 0; i < m->run.count; i++) {
        const Statement *st = m->run.at[i].source;
        for (size_t k = 0; k < st->accesses.count; k++)
            any |= st->accesses.at[k].write && st->accesses.at[k].array == array;
    }
    return any;
}

/* Does an instance that writes the array run in two tiles? */
static bool overlaps(const Made *m, const CSymbol *array)
{
    for (size_t i = 0; i < m->run.count; i++) {
        const Statement *st = m->run.at[i].source;
        if (st->accesses.at[st->accesses.count - 1].array == array &&
            isl_map_is_injective(m->tiles.at[i]) != isl_bool_true)
            return true;
    }
    return false;
}

/* Is the array used by statements of the group alone? */
static bool only_here(const Made *m, const CSymbol *array)
{
    const Scop *s    = m->t->scop;
    size_t      here = 0, all = 0;
    for (size_t i = 0; i < s->statements.count; i++)
        for (size_t k = 0; k < s->statements.at[i].accesses.count; k++)
            all += s->statements.at[i].accesses.at[k].array == array;
    for (size_t i = 0; i < m->run.count; i++)
        for (size_t k = 0; k < m->run.at[i].source->accesses.count; k++)
            here += m->run.at[i].source->accesses.at[k].array == array;
    return here == all;
}

/* What the tile's own share writes of the array, of the stages whose values are live. */
static isl_map *share_written(const Made *m, const CSymbol *array)
{
    isl_map *all = NULL;
    for (size_t i = 0; i < m->run.count; i++) {
        const Statement *st    = m->run.at[i].source;
        const Access    *write = &st->accesses.at[st->accesses.count - 1];
        if (write->array != array)
            continue;
        for (size_t k = 0; k < m->p->at.count; k++) {
            const Stage *stage = &m->p->at.at[k];
            if (stage->group != m->group || !stage->core)
                continue;
            isl_space *space =
                isl_space_map_from_domain_and_range(isl_set_get_space(st->domain), isl_set_get_space(stage->all));
            isl_map *points = isl_union_map_extract_map(stage->points, space);
            isl_map *own    = isl_map_apply_range(isl_map_copy(stage->core), isl_map_reverse(points));
            own             = isl_map_apply_range(own, isl_map_copy(write->relation));
            all             = all ? isl_map_union(all, own) : own;
        }
    }
    return all ? isl_map_coalesce(all) : NULL;
}

TiledStatement scratch_copy(const Made *m, const Scratch *scratch, isl_map *elements, bool out)
{
    Arena *arena = m->t->scop->arena;
    int    same  = 0;
    for (size_t i = 0; !out && i < m->in.count; i++)
        same += m->in.at[i].copied == scratch;
    const char    *number = same ? arena_printf(arena, "%d", same + 1) : "";
    TiledStatement x      = { .name     = arena_printf(arena, "%s%s_%s", out ? "out" : "in", number, scratch->name),
                              .copied   = scratch,
                              .copy_out = out };
    x.executes            = overlap_executes(elements, x.name);
    isl_map_free(elements);
    return x;
}

Scratch *scratch_new(const Made *m, const CSymbol *array, isl_multi_aff *offset)
{
    Arena   *arena = m->t->scop->arena;
    Scratch *s     = ARENA_NEW(arena, Scratch);
    int      same  = 1;
    for (size_t i = 0; i < m->t->scratch.count; i++)
        same += m->t->scratch.at[i]->array == array;
    *s      = (Scratch){ .array = array, .tile = m->group, .rank = array->rank, .offset = offset };
    s->name = arena_printf(arena, "%s_tile%s", array->name, same > 1 ? arena_printf(arena, "%d", same) : "");
    s->size = ARENA_ARRAY(arena, int64_t, (size_t)array->rank + 1);
    s->fold = ARENA_ARRAY(arena, int64_t, (size_t)array->rank + 1);
    return s;
}

Scratch *scratch_box(const Made *m, const CSymbol *array, isl_map *elements)
{
    isl_fixed_box *box = isl_map_get_range_simple_fixed_box_hull(elements);
    Scratch       *s   = NULL;
    if (isl_fixed_box_is_valid(box) == isl_bool_true) {
        s                   = scratch_new(m, array, isl_fixed_box_get_offset(box));
        isl_multi_val *size = isl_fixed_box_get_size(box);
        for (int d = 0; d < array->rank; d++) {
            isl_val *v = isl_multi_val_get_val(size, d);
            s->size[d] = isl_val_get_num_si(v);
            isl_val_free(v);
        }
        isl_multi_val_free(size);
    }
    isl_fixed_box_free(box);
    isl_map_free(elements);
    return s;
}

isl_map *scratch_places(const Scratch *s)
{
    isl_multi_aff *last = isl_multi_aff_copy(s->offset);
    for (int d = 0; d < s->rank; d++) {
        isl_aff *end = isl_multi_aff_get_aff(last, d);
        end          = isl_aff_add_constant_val(end, isl_val_int_from_si(isl_aff_get_ctx(end), s->size[d] - 1));
        last         = isl_multi_aff_set_aff(last, d, end);
    }
    isl_map *all = isl_map_universe(isl_multi_aff_get_space(s->offset));
    all = isl_map_lower_bound_multi_pw_aff(all, isl_multi_pw_aff_from_multi_aff(isl_multi_aff_copy(s->offset)));
    all = isl_map_upper_bound_multi_pw_aff(all, isl_multi_pw_aff_from_multi_aff(last));
    for (int d = 0; d < s->rank; d++) /* a fold has a place for any element */
        if (s->fold[d]) {
            all = isl_map_project_out(all, isl_dim_out, (unsigned)d, 1);
            all = isl_map_insert_dims(all, isl_dim_out, (unsigned)d, 1);
        }
    return isl_map_set_tuple_name(all, isl_dim_out, s->array->name);
}

void scratch_use(Made *m, const Scratch *scratch)
{
    for (size_t i = 0; i < m->run.count; i++)
        for (size_t k = 0; k < m->run.at[i].accesses.count; k++)
            if (m->run.at[i].accesses.at[k].access->array == scratch->array)
                m->run.at[i].accesses.at[k].scratch = scratch;
}

/* Does the group write elements of the array that it also reads as they were before, or does another group write the
 * array? Then a tile's copy of an element depends on what its neighbours have done. */
static bool updates(const Made *m, const CSymbol *array)
{
    const Scop    *s       = m->t->scop;
    isl_union_set *before  = isl_union_set_empty(isl_set_get_space(s->context));
    isl_union_set *written = isl_union_set_copy(before);
    isl_union_map *live_in = NULL; /* of the array */
    size_t         writers = 0, here = 0;
    for (size_t i = 0; i < s->statements.count; i++)
        writers += s->statements.at[i].accesses.at[s->statements.at[i].accesses.count - 1].array == array;
    for (size_t i = 0; i < m->run.count; i++) {
        const Statement *st    = m->run.at[i].source;
        const Access    *write = &st->accesses.at[st->accesses.count - 1];
        if (write->array != array)
            continue;
        here++;
        if (!live_in) {
            isl_space *space = isl_space_range(isl_map_get_space(write->relation));
            isl_set   *whole = isl_set_universe(space);
            live_in = isl_union_map_intersect_range(isl_union_map_copy(s->live_in), isl_union_set_from_set(whole));
        }
        written = isl_union_set_union(written, isl_union_set_from_set(isl_map_range(isl_map_copy(write->relation))));
    }
    for (size_t i = 0; live_in && i < m->run.count; i++) {
        isl_union_set *own = isl_union_set_from_set(isl_set_copy(m->run.at[i].source->domain));
        isl_union_map *in  = isl_union_map_intersect_domain(isl_union_map_copy(live_in), own);
        before             = isl_union_set_union(before, isl_union_map_range(in));
    }
    isl_union_map_free(live_in);
    isl_union_set *both  = isl_union_set_intersect(before, written);
    isl_bool       apart = isl_union_set_is_empty(both);
    isl_union_set_free(both);
    return apart != isl_bool_true || here != writers;
}

/* Does the array surely have these elements? */
static bool are_there(const Made *m, const CSymbol *array, isl_map *elements)
{
    isl_set *read = isl_map_range(isl_map_copy(elements)), *known = scop_elements(m->t->scop, array);
    bool     all = isl_set_is_subset(read, known) == isl_bool_true;
    isl_set_free(read);
    isl_set_free(known);
    return all;
}

static bool make_one(Made *m, const CSymbol *array)
{
    if (updates(m, array))
        return false;
    Tiled   *t       = m->t;
    isl_map *written = all_touched(m, array, true), *read = all_touched(m, array, false);
    isl_map *all     = read ? isl_map_union(isl_map_copy(written), isl_map_copy(read)) : isl_map_copy(written);
    Scratch *scratch = scratch_box(m, array, all);
    isl_map *in      = read ? isl_map_subtract(read, isl_map_copy(written)) : NULL;
    isl_map_free(written);
    if (!scratch) {
        isl_map_free(in);
        return false;
    }
    vec_push(t->scop->arena, &t->scratch, scratch);
    scratch_use(m, scratch);
    bool copied = in && isl_map_is_empty(in) != isl_bool_true, there = !copied || are_there(m, array, in);
    if (copied)
        vec_push(t->scop->arena, &m->in, scratch_copy(m, scratch, isl_map_coalesce(in), false));
    else
        isl_map_free(in);
    isl_map *out = scop_dies(array) && only_here(m, array) ? NULL : share_written(m, array);
    if (!out)
        return there;
    bool own = isl_map_is_injective(out) == isl_bool_true;
    vec_push(t->scop->arena, &m->out, scratch_copy(m, scratch, out, true));
    return own && there;
}

bool scratch_make(Made *m)
{
    const Scop *s = m->t->scop;
    for (size_t i = 0; i < s->region->symbols.count; i++) {
        const CSymbol *array = s->region->symbols.at[i];
        if (scop_private(s, array) || !writes(m, array) ||
            (!overlaps(m, array) && !(scop_dies(array) && only_here(m, array))))
            continue;
        if (!make_one(m, array))
            return false;
    }
    return true;
}

int64_t scratch_bytes(const Scratch *s)
{
    int64_t n = type_bits(s->array->type) / 8;
    for (int d = 0; d < s->rank; d++)
        n *= s->fold[d] ? s->fold[d] : s->size[d];
    return n;
}

int64_t scratch_most(const Tiled *t)
{
    int64_t most = 0;
    for (size_t i = 0; i < t->scratch.count; i++) {
        int64_t sum = 0;
        for (size_t k = 0; k < t->scratch.count; k++)
            if (t->scratch.at[k]->tile == t->scratch.at[i]->tile)
                sum += scratch_bytes(t->scratch.at[k]);
        most = sum > most ? sum : most;
    }
    return most;
}
