/* SPDX-License-Identifier: MIT */
/* Arrays that may overlap.
 *
 * Takes   the arrays of a region. C's parameters and pointers may point into one another where the source does not say
 *         `restrict`; dependences were computed as if they did not.
 * Gives   a condition on their addresses under which they do not: what the region accesses of one ends before what it
 *         accesses of the other begins, along the outermost dimension. Where a subscript depends on data and nothing
 *         says how large the array is, that is not known: the condition is false. */
#include "poly/emit/writer.h"

#include <isl/aff.h>

/* What is accessed of an array: of its outermost subscript, the first and the last. */
typedef struct Extent {
    const CSymbol *array;
    bool           asked;        /* only where the array may overlap another one: it takes isl a while */
    const char    *first, *last; /* NULL: not known */
} Extent;

isl_set *accessed(const Scop *scop, const CSymbol *array)
{
    isl_set *all = NULL;
    for (size_t i = 0; i < scop->statements.count; i++)
        for (size_t k = 0; k < scop->statements.at[i].accesses.count; k++) {
            const Access *a = &scop->statements.at[i].accesses.at[k];
            if (a->array != array)
                continue;
            isl_set *part = isl_map_range(
                isl_map_intersect_domain(isl_map_copy(a->relation), isl_set_copy(scop->statements.at[i].domain)));
            all = all ? isl_set_union(all, part) : part;
        }
    return all;
}

const char *end_text(Writer *w, isl_pw_aff *end)
{
    isl_ast_build *build = isl_ast_build_from_context(isl_set_copy(w->tiled->scop->context));
    isl_ast_expr  *e     = isl_ast_build_expr_from_pw_aff(build, isl_pw_aff_coalesce(end));
    w->failed |= !e;
    const char *text = e ? ast_string(w, e, 10) : "0";
    isl_ast_expr_free(e);
    isl_ast_build_free(build);
    return text;
}

static bool is_bounded(isl_set *all)
{
    return isl_set_dim_has_lower_bound(all, isl_dim_set, 0) == isl_bool_true &&
           isl_set_dim_has_upper_bound(all, isl_dim_set, 0) == isl_bool_true;
}

static bool find_extent(Writer *w, Extent *e)
{
    isl_set *all = e->asked ? NULL : accessed(w->tiled->scop, e->array);
    if (all && is_bounded(all)) {
        e->first = end_text(w, isl_set_dim_min(isl_set_copy(all), 0));
        e->last  = end_text(w, isl_set_dim_max(isl_set_copy(all), 0));
    }
    isl_set_free(all);
    e->asked = true;
    return e->first != NULL;
}

static bool is_used(const Scop *scop, const CSymbol *array)
{
    bool used = false;
    for (size_t i = 0; i < scop->statements.count; i++)
        for (size_t k = 0; k < scop->statements.at[i].accesses.count; k++)
            used |= scop->statements.at[i].accesses.at[k].array == array;
    return used;
}

static void add_address(Text *t, const Extent *e, bool end)
{
    text_printf(t, "(__UINTPTR_TYPE__)&%s[%s%s]", e->array->name, end ? e->last : e->first, end ? " + 1" : "");
}

const char *disjoint_condition(Writer *w)
{
    const Region *r    = w->tiled->scop->region;
    VEC(Extent) arrays = { 0 };
    for (size_t i = 0; i < r->symbols.count; i++)
        if (r->symbols.at[i]->kind == CSYMBOL_ARRAY && !r->symbols.at[i]->local && r->symbols.at[i]->rank &&
            is_used(w->tiled->scop, r->symbols.at[i]))
            vec_push(w->arena, &arrays, ((Extent){ .array = r->symbols.at[i] }));
    Text t;
    text_init(&t, w->arena);
    for (size_t i = 0; i < arrays.count; i++)
        for (size_t k = 0; k < i; k++) {
            Extent *a = &arrays.at[k], *b = &arrays.at[i];
            if ((a->array->restricted && b->array->restricted) || (!a->array->written && !b->array->written))
                continue;
            if (!find_extent(w, a) || !find_extent(w, b))
                return "0";
            text_add(&t, t.count ? " && (" : "(");
            add_address(&t, a, true);
            text_add(&t, " <= ");
            add_address(&t, b, false);
            text_add(&t, " || ");
            add_address(&t, b, true);
            text_add(&t, " <= ");
            add_address(&t, a, false);
            text_add(&t, ")");
        }
    return t.count ? text_string(&t) : NULL;
}
