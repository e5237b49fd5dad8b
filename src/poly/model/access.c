/* SPDX-License-Identifier: MIT */
/* Accesses as relations from instances to elements.
 *
 * Takes   an assignment and the set of its instances.
 * Gives   one relation for each NAME or INDEX node that is memory. A scalar that the region writes is an array without
 *         dimensions; one that it does not write is a constant, no access.
 * Holds   writes are exact. A read under an affine condition is restricted to it. */
#include "poly/model/access.h"
#include "poly/model/model.h"
#include "poly/source/source.h"

void affine_refuse(const Affine *a, const char *what)
{
    kn_context *cx = a->scop->arena->cx;
    Text        text;
    if (scop_isl_error(a->scop)) /* then the expression is not to blame: scop_new says why */
        return;
    text_init(&text, a->scop->arena);
    region_print_expr(&text, a->failed);
    diag_error(cx, region_loc(a->scop->region, a->failed->place), a->remedy, "%s is not affine: `%s`: %s", what,
               text_string(&text), a->why);
}

/* { [i] -> [x] } with x in the extent along dimension d, if that is known: a subscript that is not affine. */
static isl_map *any_element(Affine *a, const CSymbol *array, int d, bool *unsure)
{
    isl_set     *domain = isl_set_copy(a->domain);
    isl_map     *any = isl_map_from_domain_and_range(domain, isl_set_universe(isl_space_set_alloc(a->scop->isl, 0, 1)));
    const CExpr *extent = array->extents ? array->extents[d] : NULL;
    isl_pw_aff  *size   = extent ? affine_value(a, extent) : NULL;
    any                 = isl_map_lower_bound_si(any, isl_dim_out, 0, 0);
    if (!size) {
        a->failed = NULL;
        *unsure   = true;
        return any;
    }
    isl_map *below = isl_map_from_pw_aff(isl_pw_aff_add_constant_val(size, isl_val_negone(a->scop->isl)));
    below          = isl_map_apply_range(below, isl_map_lex_ge(isl_space_set_alloc(a->scop->isl, 0, 1)));
    return isl_map_intersect(any, below);
}

static bool is_memory(const CExpr *e)
{
    if (e->kind == CEXPR_INDEX)
        return true;
    return e->kind == CEXPR_NAME && e->symbol->kind == CSYMBOL_SCALAR && e->symbol->written;
}

static bool reads_of(Affine *a, Statement *st, const CExpr *e);

static bool add_access(Affine *a, Statement *st, const CExpr *e, bool write)
{
    Scop    *s      = a->scop;
    bool     unsure = a->unsure;
    isl_map *map =
        isl_map_from_domain_and_range(isl_set_copy(a->domain), isl_set_universe(isl_space_set_alloc(s->isl, 0, 0)));
    if (e->kind == CEXPR_INDEX && e->count != e->symbol->rank) {
        diag_error(s->arena->cx, region_loc(s->region, e->place), "use a subscript for each dimension",
                   "`%s` has %d dimensions and %d subscripts here", e->symbol->name, e->symbol->rank, e->count);
        isl_map_free(map);
        return false;
    }
    for (int d = 0; e->kind == CEXPR_INDEX && d < e->count; d++) {
        isl_pw_aff *value = affine_value(a, e->args[d]);
        if (!value && write) {
            affine_refuse(a, "the subscript of an element that is written");
            isl_map_free(map);
            return false;
        }
        a->failed  = NULL;
        isl_map *x = value ? isl_map_from_pw_aff(value) : any_element(a, e->symbol, d, &unsure);
        map        = isl_map_flat_range_product(map, isl_map_intersect_domain(x, isl_set_copy(a->domain)));
        if (!value && !reads_of(a, st, e->args[d])) {
            isl_map_free(map);
            return false;
        }
    }
    map = isl_map_set_tuple_name(map, isl_dim_out, e->symbol->name);
    map = isl_map_set_tuple_name(map, isl_dim_in, st->name);
    vec_push(s->arena, &st->accesses, ((Access){ e, e->symbol, write, unsure, map }));
    return true;
}

/* The reads of an operand that is evaluated where `where` holds (NULL: it may be). Takes `where`. */
static bool reads_where(Affine *a, Statement *st, const CExpr *e, isl_set *where)
{
    isl_set   *domain = a->domain;
    const bool unsure = a->unsure;
    if (where)
        a->domain = isl_set_intersect(isl_set_copy(domain), where);
    a->unsure |= !where;
    bool ok = reads_of(a, st, e);
    if (where)
        isl_set_free(a->domain);
    a->domain = domain;
    a->unsure = unsure;
    return ok;
}

static bool reads_of(Affine *a, Statement *st, const CExpr *e)
{
    if (is_memory(e))
        return add_access(a, st, e, false);
    bool chooses = e->kind == CEXPR_CHOICE;
    bool logic   = e->kind == CEXPR_BINARY && (e->op == COP_AND || e->op == COP_OR);
    if (!chooses && !logic) {
        for (int k = 0; k < e->count; k++)
            if (!reads_of(a, st, e->args[k]))
                return false;
        return true;
    }
    if (!reads_of(a, st, e->args[0]))
        return false;
    isl_set *yes = affine_condition(a, e->args[0]);
    a->failed    = NULL;
    isl_set *no  = yes ? isl_set_complement(isl_set_copy(yes)) : NULL;
    if (logic) {
        isl_set_free(e->op == COP_AND ? no : yes);
        return reads_where(a, st, e->args[1], e->op == COP_AND ? yes : no);
    }
    bool ok = reads_where(a, st, e->args[1], yes);
    return reads_where(a, st, e->args[2], no) && ok;
}

/* { x } between the least and the greatest of a set of numbers. Takes it. */
static isl_set *between(isl_set *numbers)
{
    isl_space *space = isl_set_get_space(numbers);
    isl_set   *from  = isl_set_apply(isl_set_copy(numbers), isl_map_lex_le(isl_space_copy(space)));
    return isl_set_coalesce(isl_set_intersect(from, isl_set_apply(numbers, isl_map_lex_ge(space))));
}

isl_set *scop_elements(const Scop *s, const CSymbol *array)
{
    const unsigned rank = (unsigned)array->rank;
    isl_set       *all = NULL, *box = NULL;
    for (size_t i = 0; i < s->statements.count; i++)
        for (size_t k = 0; k < s->statements.at[i].accesses.count; k++) {
            const Access *x = &s->statements.at[i].accesses.at[k];
            if (x->array != array || x->unsure)
                continue;
            isl_set *one = isl_map_range(isl_map_copy(x->relation));
            all          = all ? isl_set_union(all, one) : one;
        }
    for (unsigned d = 0; all && d < rank; d++) {
        isl_set *one = isl_set_project_out(isl_set_copy(all), isl_dim_set, d + 1, rank - d - 1);
        one          = between(isl_set_project_out(one, isl_dim_set, 0, d));
        box          = box ? isl_set_flat_product(box, one) : one;
    }
    if (!rank)
        return all;
    isl_set_free(all);
    return box ? isl_set_set_tuple_name(box, array->name) : NULL;
}

bool accesses_add(Affine *a, Statement *st)
{
    return reads_of(a, st, st->assign->value) && add_access(a, st, st->assign->target, true);
}
