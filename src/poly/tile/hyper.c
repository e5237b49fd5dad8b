/* SPDX-License-Identifier: MIT */
/* Hyperplanes for tiling.
 *
 * Takes   the instances below a loop and their dependences; the coefficients of a hyperplane.
 * Gives   a shift c_s for each statement such that h_r(y) + c_r >= h_s(x) + c_s for each dependence x -> y, s -> r.
 *         With w_sr the least h_r(y) - h_s(x), that is a system of difference constraints, solved by Bellman and Ford's
 *         relaxation; a negative cycle says that no shifts will do.
 * From    Bondhugula et al. 2008 (tiling hyperplanes), 2017 (concurrent start). */
#include "poly/tile/hyper.h"
#include "poly/model/model.h"
#include "poly/tile/order.h"

#include <isl/ilp.h>

/* The number of bands that are around the statement, at the node and above. */
static int bands_above(isl_schedule_node *node)
{
    return (int)isl_schedule_node_get_schedule_depth(node);
}

static isl_aff *iterator(const Statement *st, int k)
{
    return isl_aff_var_on_domain(isl_local_space_from_space(isl_set_get_space(st->domain)), isl_dim_set, (unsigned)k);
}

/* When the loop runs an instance: its iterator, negated where it counts down; NULL if that is not one function. */
static isl_aff *time_of(isl_schedule_node *loop, const Statement *st)
{
    isl_multi_union_pw_aff *band = isl_schedule_node_band_get_partial_schedule(loop);
    isl_union_pw_aff       *all  = isl_multi_union_pw_aff_get_union_pw_aff(band, 0);
    isl_space  *to   = isl_space_add_dims(isl_space_from_domain(isl_set_get_space(st->domain)), isl_dim_out, 1);
    isl_pw_aff *when = isl_union_pw_aff_extract_pw_aff(all, to);
    isl_union_pw_aff_free(all);
    isl_multi_union_pw_aff_free(band);
    when         = isl_pw_aff_gist(when, isl_set_copy(st->domain));
    isl_aff *out = isl_pw_aff_isa_aff(when) == isl_bool_true ? isl_pw_aff_as_aff(isl_pw_aff_copy(when)) : NULL;
    isl_pw_aff_free(when);
    return out;
}

static const Access *write_of(const Statement *st)
{
    return &st->accesses.at[st->accesses.count - 1];
}

/* The subscript of the statement's write along array dimension d as a function of the iterators; NULL if it is not one
 * piece. */
static isl_aff *subscript(const Statement *st, int d)
{
    isl_map *map            = isl_map_copy(write_of(st)->relation);
    int      n              = (int)isl_map_dim(map, isl_dim_out);
    map                     = isl_map_project_out(map, isl_dim_out, (unsigned)d + 1, (unsigned)(n - d - 1));
    map                     = isl_map_project_out(map, isl_dim_out, 0, (unsigned)d);
    isl_pw_multi_aff *p     = isl_pw_multi_aff_from_map(map);
    isl_pw_aff       *value = isl_pw_multi_aff_get_pw_aff(p, 0);
    isl_pw_multi_aff_free(p);
    value        = isl_pw_aff_gist(value, isl_set_copy(st->domain));
    isl_aff *out = isl_pw_aff_isa_aff(value) == isl_bool_true ? isl_pw_aff_as_aff(isl_pw_aff_copy(value)) : NULL;
    isl_pw_aff_free(value);
    return out;
}

/* The axis of a statement inside fewer loops: where another statement, with a loop for that axis, writes the same array
 * at [… iterator + constant …], the subscript there less the constant. */
static isl_aff *axis_by_write(const Axes *x, const Statement *st, int axis)
{
    for (size_t i = 0; i < x->statement_count; i++) {
        const Statement *other = x->statements[i];
        if (other->depth < x->outer + x->count || write_of(other)->array != write_of(st)->array)
            continue;
        for (int d = 0; d < write_of(st)->array->rank; d++) {
            isl_aff *there = subscript(other, d);
            isl_aff *less  = there ? isl_aff_sub(isl_aff_copy(there), iterator(other, x->outer + axis)) : NULL;
            isl_aff_free(there);
            if (less && isl_aff_is_cst(less) == isl_bool_true) {
                isl_val *constant = isl_aff_get_constant_val(less);
                isl_aff_free(less);
                isl_aff *here = subscript(st, d);
                return here ? isl_aff_add_constant_val(here, isl_val_neg(constant)) : (isl_val_free(constant), NULL);
            }
            isl_aff_free(less);
        }
    }
    return NULL;
}

/* Does one of the statements have all the parameters that the others have? Where two have extents that are not
 * comparable, isl took over 50 s in one case for the bounds of the tile loops around both. */
static bool comparable(const Axes *x)
{
    for (size_t i = 0; i < x->statement_count; i++) {
        bool all = true;
        for (size_t k = 0; k < x->statement_count && all; k++)
            for (size_t p = 0; p < x->scop->parameters.count && all; p++)
                all = isl_set_involves_dims(x->statements[k]->domain, isl_dim_param, (unsigned)p, 1) != isl_bool_true ||
                      isl_set_involves_dims(x->statements[i]->domain, isl_dim_param, (unsigned)p, 1) == isl_bool_true;
        if (all)
            return true;
    }
    return false;
}

bool axes_init(Axes *x, const Scop *s, isl_schedule_node *loop, isl_union_map *dependences)
{
    *x = (Axes){ .scop = s, .loop = loop };
    if (isl_schedule_node_get_type(loop) != isl_schedule_node_band || isl_schedule_node_band_n_member(loop) != 1)
        return false;
    x->outer          = bands_above(loop);
    x->statements     = ARENA_ARRAY(s->arena, const Statement *, s->statements.count);
    isl_union_set *in = isl_schedule_node_get_domain(loop);
    for (size_t i = 0; i < s->statements.count; i++) {
        const Statement *st   = &s->statements.at[i];
        isl_set         *here = isl_union_set_extract_set(in, isl_set_get_space(st->domain));
        if (isl_set_plain_is_empty(here) == isl_bool_false) {
            x->statements[x->statement_count++] = st;
            x->count                            = st->depth - x->outer > x->count ? st->depth - x->outer : x->count;
        }
        isl_set_free(here);
    }
    isl_union_set_free(in);
    x->at = (isl_aff * (*)[MOST_AXES]) arena_array(s->arena, x->statement_count, sizeof *x->at);
    if (x->count < 2 || x->count > MOST_AXES || !comparable(x))
        return false;
    bool complete = true;
    for (size_t i = 0; i < x->statement_count; i++)
        for (int k = 0; k < x->count; k++) {
            const Statement *st    = x->statements[i];
            bool             fewer = k > 0 && st->depth < x->outer + x->count;
            x->at[i][k]            = !k ? time_of(loop, st) : fewer ? axis_by_write(x, st, k) : NULL;
            if (k && !x->at[i][k] && x->outer + k < st->depth)
                x->at[i][k] = iterator(st, x->outer + k);
            complete = complete && x->at[i][k];
        }
    x->dependences    = order_remaining(loop, dependences);
    isl_union_map *by = order_remaining(loop, s->private_flow); /* both ways: such instances share every tile */
    x->dependences    = isl_union_map_union(x->dependences, isl_union_map_reverse(by));
    return complete;
}

void axes_free(Axes *x)
{
    for (size_t i = 0; x->at && i < x->statement_count; i++)
        for (int k = 0; k < MOST_AXES; k++)
            isl_aff_free(x->at[i][k]);
    isl_union_map_free(x->dependences);
}

/* h of one statement, without its shift. */
static isl_aff *plane(const Axes *x, const Hyper *h, size_t st)
{
    isl_aff *sum = isl_aff_zero_on_domain(isl_local_space_from_space(isl_set_get_space(x->statements[st]->domain)));
    for (int k = 0; k < x->count; k++)
        if (h->coefficient[k])
            sum = isl_aff_add(sum, isl_aff_scale_val(isl_aff_copy(x->at[st][k]),
                                                     isl_val_int_from_si(x->scop->isl, h->coefficient[k])));
    return sum;
}

/* The least growth of h from a source in `from` to a sink in `to`. false: there is no least. *any: there is a
 * dependence. */
static bool least_growth(const Axes *x, const Hyper *h, size_t from, size_t to, bool *any, int64_t *out)
{
    isl_space *space = isl_space_map_from_domain_and_range(isl_set_get_space(x->statements[from]->domain),
                                                           isl_set_get_space(x->statements[to]->domain));
    isl_map   *map   = isl_union_map_extract_map(x->dependences, space);
    *any             = isl_map_plain_is_empty(map) != isl_bool_true;
    if (!*any) {
        isl_map_free(map);
        return true;
    }
    map             = isl_map_apply_domain(map, isl_map_from_aff(plane(x, h, from)));
    map             = isl_map_apply_range(map, isl_map_from_aff(plane(x, h, to)));
    isl_set *growth = isl_map_deltas(map);
    isl_val *least  = isl_set_dim_min_val(growth, 0);
    scop_isl_unbounded(x->scop);
    bool bounded = isl_val_is_int(least) == isl_bool_true;
    *out         = bounded ? isl_val_get_num_si(least) : 0;
    *any         = isl_val_is_infty(least) != isl_bool_true && isl_val_is_nan(least) != isl_bool_true; /* of nothing */
    bounded      = bounded || !*any;
    isl_val_free(least);
    return bounded;
}

bool hyper_shift(const Axes *x, Hyper *h)
{
    size_t   n      = x->statement_count;
    Arena   *arena  = x->scop->arena;
    int64_t *growth = ARENA_ARRAY(arena, int64_t, n * n + 1);
    bool    *any    = ARENA_ARRAY(arena, bool, n *n + 1);
    h->shift        = ARENA_ARRAY(arena, int64_t, n + 1);
    for (size_t s = 0; s < n; s++)
        for (size_t r = 0; r < n; r++)
            if (!least_growth(x, h, s, r, &any[s * n + r], &growth[s * n + r]))
                return false;
    bool changed = true;
    for (size_t round = 0; changed && round <= n; round++) {
        changed = false;
        for (size_t s = 0; s < n; s++)
            for (size_t r = 0; r < n; r++)
                if (any[s * n + r] && h->shift[s] > h->shift[r] + growth[s * n + r]) {
                    h->shift[s] = h->shift[r] + growth[s * n + r];
                    changed     = true;
                }
    }
    return !changed;
}

isl_union_pw_aff *hyper_tile(const Axes *x, const Hyper *h, int64_t size)
{
    isl_union_pw_aff *all = NULL;
    for (size_t i = 0; i < x->statement_count; i++) {
        isl_ctx *isl   = x->scop->isl;
        isl_aff *aff   = isl_aff_add_constant_val(plane(x, h, i), isl_val_int_from_si(isl, h->shift[i]));
        aff            = isl_aff_floor(isl_aff_scale_down_val(aff, isl_val_int_from_si(isl, size)));
        isl_pw_aff *pa = isl_pw_aff_intersect_domain(isl_pw_aff_from_aff(aff), isl_set_copy(x->statements[i]->domain));
        isl_union_pw_aff *one = isl_union_pw_aff_from_pw_aff(pa);
        all                   = all ? isl_union_pw_aff_union_add(all, one) : one;
    }
    return all;
}
