/* SPDX-License-Identifier: MIT */
/* Private variables.
 *
 * Takes   the accesses of scalars that are dead behind the region, and of arrays that are declared in it.
 * Gives   for such a variable v whose uses all stand inside k common loops, and whose values flow from a write to reads
 *         inside one iteration of these loops only, relations S[i_1…i_n] -> v[i_1…i_k, …]: every iteration has its own.
 * Holds   dependences by reuse of the variable's memory are gone. In return the accesses of one iteration must stay
 *         together in the generated code; private_flow tells the shapes, and the proof checks it. */
#include "poly/model/depend.h"
#include "poly/model/model.h"

#include <isl/flow.h>

bool scop_dies(const CSymbol *symbol)
{
    return symbol->local || symbol->temporary;
}

bool scop_private(const Scop *s, const CSymbol *symbol)
{
    for (size_t i = 0; i < s->privates.count; i++)
        if (s->privates.at[i] == symbol)
            return true;
    return false;
}

static bool uses(const Statement *st, const CSymbol *v)
{
    for (size_t k = 0; k < st->accesses.count; k++)
        if (st->accesses.at[k].array == v)
            return true;
    return false;
}

/* The number of loops around all uses of the variable. */
static int common_loops(const Scop *s, const CSymbol *v)
{
    const Statement *first = NULL;
    int              k     = 0;
    for (size_t i = 0; i < s->statements.count; i++) {
        const Statement *st = &s->statements.at[i];
        if (!uses(st, v))
            continue;
        if (!first) {
            first = st;
            k     = st->depth;
        }
        for (int d = 0; d < k; d++)
            if (d >= st->depth || st->iterators[d] != first->iterators[d])
                k = d;
    }
    return k;
}

/* { S[i…] -> [i_1…i_k] } on the statement's space. */
static isl_map *iteration(const Statement *st, int k)
{
    isl_space *space = isl_set_get_space(st->domain);
    isl_map   *map   = isl_map_from_multi_aff(
            isl_multi_aff_project_out_map(space, isl_dim_set, (unsigned)k, (unsigned)(st->depth - k)));
    return isl_map_reset_tuple_id(map, isl_dim_out);
}

/* The flow by the variable; *whole: every read has a source. */
static isl_union_map *flow_by(const Scop *s, const CSymbol *v, bool *whole)
{
    isl_union_map *reads  = isl_union_map_empty(isl_set_get_space(s->context));
    isl_union_map *writes = isl_union_map_copy(reads);
    for (size_t i = 0; i < s->statements.count; i++)
        for (size_t k = 0; k < s->statements.at[i].accesses.count; k++) {
            const Access *a = &s->statements.at[i].accesses.at[k];
            if (a->array == v && a->write)
                writes = isl_union_map_add_map(writes, isl_map_copy(a->relation));
            else if (a->array == v)
                reads = isl_union_map_add_map(reads, isl_map_copy(a->relation));
        }
    isl_union_set *of    = isl_union_set_union(isl_union_map_domain(isl_union_map_copy(reads)),
                                               isl_union_map_domain(isl_union_map_copy(writes)));
    isl_schedule  *order = isl_schedule_intersect_domain(isl_schedule_copy(s->schedule), isl_union_set_universe(of));
    isl_union_access_info *info = isl_union_access_info_from_sink(reads);
    info                        = isl_union_access_info_set_must_source(info, writes);
    info                        = isl_union_access_info_set_schedule(info, order);
    isl_union_flow *flow        = isl_union_access_info_compute_flow(info);
    isl_union_map  *none        = isl_union_flow_get_may_no_source(flow);
    isl_union_map  *by          = isl_union_flow_get_may_dependence(flow);
    *whole                      = isl_union_map_is_empty(none) == isl_bool_true;
    isl_union_map_free(none);
    isl_union_flow_free(flow);
    return by;
}

/* Does the flow by the variable stay inside one iteration of the k outermost loops? */
static bool stays(const Scop *s, const CSymbol *v, isl_union_map *flow, int k)
{
    isl_union_map *at = isl_union_map_empty(isl_set_get_space(s->context));
    for (size_t i = 0; i < s->statements.count; i++)
        if (uses(&s->statements.at[i], v))
            at = isl_union_map_add_map(at, iteration(&s->statements.at[i], k));
    isl_union_map *back = isl_union_map_reverse(isl_union_map_copy(at));
    isl_union_map *same = isl_union_map_apply_range(at, back);
    isl_bool       in   = isl_union_map_is_subset(flow, same);
    isl_union_map_free(same);
    return in == isl_bool_true;
}

static void expand(Scop *s, const CSymbol *v, int k)
{
    for (size_t i = 0; i < s->statements.count; i++)
        for (size_t n = 0; n < s->statements.at[i].accesses.count; n++) {
            Access *a = &s->statements.at[i].accesses.at[n];
            if (a->array != v)
                continue;
            isl_map *element = isl_map_reset_tuple_id(a->relation, isl_dim_out);
            a->relation      = isl_map_flat_range_product(iteration(&s->statements.at[i], k), element);
            a->relation      = isl_map_set_tuple_name(a->relation, isl_dim_out, v->name);
        }
}

void scop_privatize(Scop *s)
{
    s->private_flow = isl_union_map_empty(isl_set_get_space(s->context));
    for (size_t i = 0; i < s->region->symbols.count; i++) {
        const CSymbol *v = s->region->symbols.at[i];
        bool           candidate =
            v->written && ((v->kind == CSYMBOL_SCALAR && scop_dies(v)) || (v->kind == CSYMBOL_ARRAY && v->local));
        int k = candidate ? common_loops(s, v) : 0;
        if (!k)
            continue;
        bool           whole;
        isl_union_map *flow = flow_by(s, v, &whole);
        if (whole && stays(s, v, flow, k)) {
            expand(s, v, k);
            vec_push(s->arena, &s->privates, v);
            s->private_flow = isl_union_map_union(s->private_flow, flow);
        } else {
            isl_union_map_free(flow);
        }
    }
    if (s->privates.count)
        scop_collect(s);
}
