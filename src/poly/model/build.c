/* SPDX-License-Identifier: MIT */
/* Region to Scop: domains, the order of the text, accesses.
 *
 * Takes   a region.
 * Gives   its statements with their instances, and the schedule tree of the text: a band for each loop, a sequence for
 *         each block.
 * Holds   each loop runs over exactly the values that C gives its iterator: its bounds are affine, its iterator does
 *         not wrap, and the comparison does not convert it to another value. */
#include "poly/model/access.h"
#include "poly/model/depend.h"
#include "poly/model/model.h"
#include "poly/source/source.h"

#include <isl/options.h>

typedef struct Builder {
    Scop *s;
    VEC(const CSymbol *) iterators;
    isl_set *ranges;
    bool     failed;
} Builder;

static Affine at_domain(Builder *b, isl_set *domain)
{
    return (Affine){
        .scop = b->s, .depth = b->iterators.count, .iterators = b->iterators.at, .domain = domain, .ranges = b->ranges
    };
}

static void *refuse_at(Builder *b, CPlace place, const char *remedy, const char *message)
{
    if (!scop_isl_error(b->s))
        diag_error(b->s->arena->cx, region_loc(b->s->region, place), remedy, "%s", message);
    b->failed = true;
    return NULL;
}

/* { [i…, x] } in the loop: x from first, by step, while the comparison holds. Takes the values of the loops around it.
 */
static isl_set *loop_values(Builder *b, const CStmt *st, isl_set *outer)
{
    Affine  a    = at_domain(b, outer);
    int64_t step = st->step;
    bool    up   = step > 0;
    bool agree   = up ? st->compare == COP_LT || st->compare == COP_LE : st->compare == COP_GT || st->compare == COP_GE;
    if (!agree) {
        isl_set_free(outer);
        return refuse_at(b, st->place, "compare by <, <= with a step up, by >, >= with a step down",
                         "the loop runs away from its bound");
    }
    isl_pw_aff *first = affine_value(&a, st->first);
    isl_pw_aff *last  = first ? affine_value(&a, st->last) : NULL;
    if (!last) {
        affine_refuse(&a, first ? "the bound of a loop" : "the first value of a loop");
        isl_pw_aff_free(first);
        isl_set_free(outer);
        b->failed = true;
        return NULL;
    }
    isl_set         *inner = isl_set_add_dims(outer, isl_dim_set, 1);
    unsigned         at    = (unsigned)b->iterators.count;
    isl_local_space *ls    = isl_local_space_from_space(isl_set_get_space(inner));
    isl_pw_aff      *x     = isl_pw_aff_from_aff(isl_aff_var_on_domain(ls, isl_dim_set, at));
    first                  = isl_pw_aff_add_dims(first, isl_dim_in, 1);
    last                   = isl_pw_aff_add_dims(last, isl_dim_in, 1);
    isl_pw_aff *run        = isl_pw_aff_sub(isl_pw_aff_copy(x), first);
    if (!up)
        run = isl_pw_aff_neg(run);
    inner = isl_set_intersect(inner, isl_pw_aff_nonneg_set(isl_pw_aff_copy(run)));
    if (step != 1 && step != -1) {
        run   = isl_pw_aff_mod_val(run, isl_val_int_from_si(b->s->isl, up ? step : -step));
        inner = isl_set_intersect(inner, isl_pw_aff_zero_set(run));
    } else {
        isl_pw_aff_free(run);
    }
    isl_pw_aff *v      = isl_pw_aff_copy(x);
    isl_set    *while_ = st->compare == COP_LT   ? isl_pw_aff_lt_set(v, last)
                         : st->compare == COP_LE ? isl_pw_aff_le_set(v, last)
                         : st->compare == COP_GT ? isl_pw_aff_gt_set(v, last)
                                                 : isl_pw_aff_ge_set(v, last);
    inner              = isl_set_intersect(inner, while_);

    kn_type type = st->iterator->type, bound = st->last->type;
    Affine  in = { .scop = b->s, .domain = inner, .ranges = b->ranges };
    /* The value after the last one is computed too. Overflow of int and longer signed types is undefined. */
    isl_pw_aff *next  = isl_pw_aff_add_constant_val(isl_pw_aff_copy(x), isl_val_int_from_si(b->s->isl, step));
    bool        wraps = !(type_is_signed(type) && type_bits(type) >= 32) && !affine_fits(&in, next, type);
    bool        turns =
        type_is_signed(type) && !type_is_signed(bound) && type_bits(bound) >= 32 && !affine_fits(&in, x, bound);
    isl_pw_aff_free(next);
    isl_pw_aff_free(x);
    if (!wraps && !turns)
        return inner;
    isl_set_free(inner);
    return refuse_at(b, st->place, "use a signed iterator and a signed bound, int or longer",
                     wraps ? "the iterator may wrap around before the loop ends"
                           : "the iterator may be negative where it is compared with an unsigned bound");
}

static isl_schedule *walk(Builder *b, const CStmt *st, isl_set *domain);

/* { S[i…] -> [±i_k] } for the statements of a loop's body. */
static isl_schedule *insert_loop(isl_schedule *body, size_t k, int64_t step)
{
    isl_union_set *domain = isl_schedule_get_domain(body);
    isl_set_list  *sets   = isl_union_set_get_set_list(domain);
    isl_union_set_free(domain);
    isl_union_pw_aff *all = NULL;
    for (int i = 0; i < isl_set_list_n_set(sets); i++) {
        isl_set          *set = isl_set_list_get_set(sets, i);
        isl_local_space  *ls  = isl_local_space_from_space(isl_set_get_space(set));
        isl_aff          *aff = isl_aff_var_on_domain(ls, isl_dim_set, (unsigned)k);
        isl_pw_aff       *pa  = isl_pw_aff_from_aff(step < 0 ? isl_aff_neg(aff) : aff);
        isl_union_pw_aff *one = isl_union_pw_aff_from_pw_aff(isl_pw_aff_intersect_domain(pa, set));
        all                   = all ? isl_union_pw_aff_union_add(all, one) : one;
    }
    isl_set_list_free(sets);
    return isl_schedule_insert_partial_schedule(body, isl_multi_union_pw_aff_from_union_pw_aff(all));
}

static isl_schedule *walk_for(Builder *b, const CStmt *st, isl_set *domain)
{
    isl_set *inner = loop_values(b, st, domain);
    if (!inner)
        return NULL;
    size_t k = b->iterators.count;
    vec_push(b->s->arena, &b->iterators, st->iterator);
    isl_schedule *body = walk(b, st->body, inner);
    b->iterators.count = k;
    return body ? insert_loop(body, k, st->step) : NULL;
}

/* One after the other; either may be nothing. */
static isl_schedule *then(isl_schedule *first, isl_schedule *second)
{
    return !first ? second : !second ? first : isl_schedule_sequence(first, second);
}

static isl_schedule *walk_if(Builder *b, const CStmt *st, isl_set *domain)
{
    Affine   a   = at_domain(b, domain);
    isl_set *yes = affine_condition(&a, st->condition);
    if (!yes) {
        a.remedy = a.remedy ? a.remedy : "where it depends on data, write target = condition ? value : target";
        affine_refuse(&a, "the condition");
        isl_set_free(domain);
        b->failed = true;
        return NULL;
    }
    isl_set      *no    = isl_set_subtract(isl_set_copy(domain), isl_set_copy(yes));
    isl_schedule *first = walk(b, st->body, isl_set_intersect(domain, yes));
    if (!st->otherwise) {
        isl_set_free(no);
        return first;
    }
    return then(first, walk(b, st->otherwise, no));
}

static isl_schedule *walk_assign(Builder *b, const CStmt *st, isl_set *domain)
{
    Scop     *s    = b->s;
    Statement made = { .name      = arena_printf(s->arena, "S%zu", s->statements.count),
                       .assign    = st,
                       .depth     = (int)b->iterators.count,
                       .iterators = ARENA_ARRAY(s->arena, const CSymbol *, b->iterators.count + 1) };
    for (size_t i = 0; i < b->iterators.count; i++)
        made.iterators[i] = b->iterators.at[i];
    domain = isl_set_coalesce(isl_set_intersect_params(domain, isl_set_copy(s->context)));
    if (isl_set_is_empty(domain) == isl_bool_true) { /* under a condition that never holds */
        isl_set_free(domain);
        return NULL;
    }
    Affine a    = at_domain(b, domain);
    b->failed   = !accesses_add(&a, &made) || b->failed;
    made.domain = isl_set_set_tuple_name(domain, made.name);
    for (int i = 0; i < made.depth; i++)
        made.domain = isl_set_set_dim_name(made.domain, isl_dim_set, (unsigned)i, made.iterators[i]->name);
    vec_push(s->arena, &s->statements, made);
    return b->failed ? NULL : isl_schedule_from_domain(isl_union_set_from_set(isl_set_copy(made.domain)));
}

/* NULL: nothing to execute, or a refusal. Takes the values of the loops around it. */
static isl_schedule *walk(Builder *b, const CStmt *st, isl_set *domain)
{
    switch (st->kind) {
    case CSTMT_FOR: return walk_for(b, st, domain);
    case CSTMT_IF: return walk_if(b, st, domain);
    case CSTMT_ASSIGN: return walk_assign(b, st, domain);
    case CSTMT_BLOCK: break;
    }
    isl_schedule *all = NULL;
    for (int i = 0; i < st->count && !b->failed; i++)
        all = then(all, walk(b, st->items[i], isl_set_copy(domain)));
    isl_set_free(domain);
    return all;
}

/* The parameters, what their types say of them, and what the declarations of arrays say: an extent is positive. */
static void parameters(Builder *b)
{
    Scop         *s = b->s;
    const Region *r = s->region;
    for (size_t i = 0; i < r->symbols.count; i++) {
        const CSymbol *sym = r->symbols.at[i];
        if (sym->kind == CSYMBOL_SCALAR && !sym->written && type_is_int(sym->type))
            vec_push(s->arena, &s->parameters, sym);
    }
    isl_space *space = isl_space_set_alloc(s->isl, (unsigned)s->parameters.count, 0);
    for (size_t p = 0; p < s->parameters.count; p++)
        space = isl_space_set_dim_id(space, isl_dim_param, (unsigned)p,
                                     isl_id_alloc(s->isl, s->parameters.at[p]->name, NULL));
    isl_set *point = isl_set_universe(space); /* no loop around it */
    b->ranges      = isl_set_params(isl_set_copy(point));
    for (size_t p = 0; p < s->parameters.count; p++) {
        kn_type  t    = s->parameters.at[p]->type;
        isl_val *high = isl_val_2exp(isl_val_int_from_si(s->isl, type_bits(t) - type_is_signed(t)));
        b->ranges     = isl_set_upper_bound_val(b->ranges, isl_dim_param, (unsigned)p, isl_val_sub_ui(high, 1));
        /* isl_set_lower_bound_si negates the int that it is given: not for INT_MIN */
        isl_val *low = isl_val_int_from_si(s->isl, type_min(t));
        b->ranges    = isl_set_lower_bound_val(b->ranges, isl_dim_param, (unsigned)p, low);
    }
    s->context = isl_set_params(isl_set_copy(point));
    for (size_t p = 0; p < s->parameters.count; p++)
        if (type_min(s->parameters.at[p]->type) == 0)
            s->context = isl_set_lower_bound_si(s->context, isl_dim_param, (unsigned)p, 0);
    Affine a = at_domain(b, point);
    for (size_t i = 0; i < r->symbols.count; i++) {
        const CSymbol *sym = r->symbols.at[i];
        for (int d = 0; sym->kind == CSYMBOL_ARRAY && sym->extents && d < sym->rank; d++) {
            isl_pw_aff *extent = sym->extents[d] ? affine_value(&a, sym->extents[d]) : NULL;
            if (extent)
                s->context = isl_set_intersect(s->context, isl_set_params(isl_pw_aff_pos_set(extent)));
            a.failed = NULL;
        }
    }
    isl_set_free(point);
    b->ranges = isl_set_intersect(b->ranges, isl_set_copy(s->context));
}

Scop *scop_new(Arena *arena, isl_ctx *isl, Watch *watch, const Region *region)
{
    Scop *s = ARENA_NEW(arena, Scop);
    *s      = (Scop){
             .arena = arena, .isl = isl, .quota = isl_ctx_get_max_operations(isl), .watch = watch, .region = region
    };
    Builder b = { .s = s };
    scop_budget(s, 200);
    parameters(&b);
    isl_space *none = isl_set_get_space(s->context);
    isl_set   *zero = isl_set_universe(isl_space_set_from_params(none));
    s->schedule     = walk(&b, region->body, zero);
    isl_set_free(b.ranges);
    if (scop_isl_error(s)) {
        scop_isl_failed(s);
        b.failed = true;
    }
    if (!b.failed && !s->schedule && s->statements.count == 0) {
        diag_error(arena->cx, region_loc(region, region->body->place), NULL,
                   "no assignment of the region is ever executed");
        b.failed = true;
    }
    if (!b.failed) {
        scop_budget(s, 200);
        scop_collect(s);
        scop_privatize(s);
        if (scop_depend(s))
            return s;
        scop_isl_failed(s);
    }
    scop_free(s);
    return NULL;
}
