/* SPDX-License-Identifier: MIT */
/* Expressions of C as affine functions.
 *
 * Takes   an expression of an integer type and the instances at which it is evaluated.
 * Gives   a quasi-affine, piecewise function of iterators and parameters.
 * Holds   on these instances C computes the same integer: unsigned results and conversions are proved to be in range,
 *         dividends not to be negative. Signed overflow is undefined in C and does not happen. */
#include "poly/model/affine.h"

static void *not_affine(Affine *a, const CExpr *e, const char *why, const char *remedy)
{
    if (!a->failed) {
        a->failed = e;
        a->why    = why;
        a->remedy = remedy;
    }
    return NULL;
}

static isl_local_space *local_space(const Affine *a)
{
    return isl_local_space_from_space(isl_set_get_space(a->domain));
}

static isl_pw_aff *number(const Affine *a, int64_t v)
{
    isl_val *val = isl_val_int_from_si(a->scop->isl, v);
    return isl_pw_aff_from_aff(isl_aff_val_on_domain(local_space(a), val));
}

bool affine_constant(const CExpr *e, int64_t *out)
{
    int64_t l, r;
    if (e->kind == CEXPR_INT) {
        *out = e->u.i;
        return true;
    }
    if (e->kind == CEXPR_CAST && type_is_int(e->type) && type_is_int(e->args[0]->type) &&
        affine_constant(e->args[0], &l)) {
        *out = type_wrap(e->type, l);
        return true;
    }
    if (e->kind == CEXPR_UNARY && e->op == COP_NEG && affine_constant(e->args[0], &l) && l != INT64_MIN) {
        *out = type_wrap(e->type, -l);
        return true;
    }
    if (e->kind != CEXPR_BINARY || !type_is_int(e->type) || !affine_constant(e->args[0], &l) ||
        !affine_constant(e->args[1], &r))
        return false;
    bool over = e->op == COP_ADD   ? __builtin_add_overflow(l, r, out)
                : e->op == COP_SUB ? __builtin_sub_overflow(l, r, out)
                : e->op == COP_MUL ? __builtin_mul_overflow(l, r, out)
                                   : true;
    if (!over)
        *out = type_wrap(e->type, *out);
    return !over;
}

/* The smallest and the largest value of an integer type. */
static isl_val *type_bound(isl_ctx *isl, kn_type type, bool largest)
{
    if (!largest)
        return isl_val_int_from_si(isl, type_min(type));
    return isl_val_sub_ui(isl_val_2exp(isl_val_int_from_si(isl, type_bits(type) - type_is_signed(type))), 1);
}

static bool on_domain(Affine *a, isl_set *where)
{
    isl_set *left = isl_set_subtract(isl_set_intersect_params(isl_set_copy(a->domain), isl_set_copy(a->ranges)), where);
    isl_bool empty = isl_set_is_empty(left);
    isl_set_free(left);
    return empty == isl_bool_true;
}

bool affine_fits(Affine *a, isl_pw_aff *value, kn_type type)
{
    isl_ctx    *isl  = a->scop->isl;
    isl_pw_aff *low  = isl_pw_aff_from_aff(isl_aff_val_on_domain(local_space(a), type_bound(isl, type, false)));
    isl_pw_aff *high = isl_pw_aff_from_aff(isl_aff_val_on_domain(local_space(a), type_bound(isl, type, true)));
    return on_domain(a, isl_set_intersect(isl_pw_aff_ge_set(isl_pw_aff_copy(value), low),
                                          isl_pw_aff_le_set(isl_pw_aff_copy(value), high)));
}

static bool never_negative(Affine *a, isl_pw_aff *value)
{
    return on_domain(a, isl_pw_aff_nonneg_set(isl_pw_aff_copy(value)));
}

/* The result of unsigned arithmetic, if it does not wrap. */
static isl_pw_aff *unwrapped(Affine *a, const CExpr *e, isl_pw_aff *value)
{
    if (!value || type_is_signed(e->type) || affine_fits(a, value, e->type))
        return value;
    isl_pw_aff_free(value);
    return not_affine(a, e, "unsigned arithmetic may wrap here",
                      "use signed integers, or write a bound that excludes it");
}

static isl_pw_aff *name_value(Affine *a, const CExpr *e)
{
    for (size_t i = 0; i < a->depth; i++)
        if (a->iterators[i] == e->symbol)
            return isl_pw_aff_from_aff(isl_aff_var_on_domain(local_space(a), isl_dim_set, (unsigned)i));
    for (size_t p = 0; p < a->scop->parameters.count; p++)
        if (a->scop->parameters.at[p] == e->symbol) {
            int at = isl_set_find_dim_by_name(a->domain, isl_dim_param, e->symbol->name);
            return isl_pw_aff_from_aff(isl_aff_var_on_domain(local_space(a), isl_dim_param, (unsigned)at));
        }
    if (e->symbol->kind == CSYMBOL_ITERATOR)
        return not_affine(a, e, "the iterator of a loop that is not around it", NULL);
    return not_affine(a, e, "a variable that the loops write, or that is no integer",
                      "write the expression in place of the variable");
}

/* 1 where the condition holds, 0 elsewhere. */
static isl_pw_aff *truth(Affine *a, const CExpr *e)
{
    isl_set *yes = affine_condition(a, e);
    return yes ? isl_set_indicator_function(yes) : NULL;
}

static isl_pw_aff *choice(Affine *a, const CExpr *e)
{
    isl_set *yes = affine_condition(a, e->args[0]);
    if (!yes)
        return NULL;
    isl_set    *domain = a->domain;
    isl_pw_aff *v[2];
    for (int k = 0; k < 2; k++) { /* an operand is evaluated, and proved, where it is chosen */
        a->domain = k ? isl_set_subtract(isl_set_copy(domain), isl_set_copy(yes))
                      : isl_set_intersect(isl_set_copy(domain), isl_set_copy(yes));
        v[k]      = affine_value(a, e->args[k + 1]);
        v[k]      = v[k] ? isl_pw_aff_intersect_domain(v[k], isl_set_copy(a->domain)) : NULL;
        isl_set_free(a->domain);
    }
    a->domain = domain;
    isl_set_free(yes);
    if (!v[0] || !v[1]) {
        isl_pw_aff_free(v[0]);
        isl_pw_aff_free(v[1]);
        return NULL;
    }
    return isl_pw_aff_union_add(v[0], v[1]);
}

/* Division and remainder by a positive number: C's truncate and isl's floor agree on dividends that are not negative. A
 * shift to the right and a mask of low bits floor in C too. */
static isl_pw_aff *divide(Affine *a, const CExpr *e)
{
    int64_t by;
    if (!affine_constant(e->args[1], &by) || by < 0 || ((e->op == COP_DIV || e->op == COP_REM) && by == 0))
        return not_affine(a, e->args[1], "not a positive number", "divide by a number in subscripts and bounds");
    if (e->op == COP_SHR) {
        if (by >= 62)
            return not_affine(a, e->args[1], "too large a shift", NULL);
        by = (int64_t)1 << by;
    }
    bool mask = e->op == COP_BIT_AND;
    if (mask && (by & (by + 1)))
        return not_affine(a, e, "a mask that is not of low bits", NULL);
    isl_pw_aff *value = affine_value(a, e->args[0]);
    if (!value)
        return NULL;
    if ((e->op == COP_DIV || e->op == COP_REM) && !never_negative(a, value)) {
        isl_pw_aff_free(value);
        return not_affine(a, e, "the dividend may be negative: C truncates towards zero",
                          "begin the loop where it is not, or add a multiple of the divisor");
    }
    isl_val *val = isl_val_int_from_si(a->scop->isl, mask ? by + 1 : by);
    if (e->op == COP_REM || mask)
        return isl_pw_aff_mod_val(value, val);
    return isl_pw_aff_floor(isl_pw_aff_scale_down_val(value, val));
}

static isl_pw_aff *binary(Affine *a, const CExpr *e)
{
    switch (e->op) {
    case COP_DIV:
    case COP_REM:
    case COP_SHR:
    case COP_BIT_AND: return divide(a, e);
    case COP_ADD:
    case COP_SUB:
    case COP_MUL: break;
    case COP_SHL: {
        int64_t     by;
        isl_pw_aff *value = affine_constant(e->args[1], &by) && by >= 0 && by < 62 ? affine_value(a, e->args[0]) : NULL;
        if (!value)
            return not_affine(a, e, "a shift that is not by a number", NULL);
        return unwrapped(a, e, isl_pw_aff_scale_val(value, isl_val_int_from_si(a->scop->isl, (int64_t)1 << by)));
    }
    case COP_LT:
    case COP_LE:
    case COP_GT:
    case COP_GE:
    case COP_EQ:
    case COP_NE:
    case COP_AND:
    case COP_OR: return truth(a, e);
    default: return not_affine(a, e, "an operator on bits", NULL);
    }
    isl_pw_aff *l = affine_value(a, e->args[0]);
    isl_pw_aff *r = l ? affine_value(a, e->args[1]) : NULL;
    if (!r) {
        isl_pw_aff_free(l);
        return NULL;
    }
    if (e->op == COP_ADD)
        return unwrapped(a, e, isl_pw_aff_add(l, r));
    if (e->op == COP_SUB)
        return unwrapped(a, e, isl_pw_aff_sub(l, r));
    if (isl_pw_aff_is_cst(l) != isl_bool_true && isl_pw_aff_is_cst(r) != isl_bool_true) {
        isl_pw_aff_free(l);
        isl_pw_aff_free(r);
        return not_affine(a, e, "a product of two variables",
                          "declare the array with its dimensions, and use a subscript for each");
    }
    return unwrapped(a, e, isl_pw_aff_mul(l, r));
}

static bool widens(kn_type from, kn_type to)
{
    return type_bits(to) - type_is_signed(to) >= type_bits(from) - type_is_signed(from) &&
           (type_is_signed(to) || !type_is_signed(from));
}

isl_pw_aff *affine_value(Affine *a, const CExpr *e)
{
    if (!type_is_int(e->type) && e->type != KN_BOOL)
        return not_affine(a, e, "not an integer", NULL);
    switch (e->kind) {
    case CEXPR_INT: return number(a, e->u.i);
    case CEXPR_NAME: return name_value(a, e);
    case CEXPR_CHOICE: return choice(a, e);
    case CEXPR_CAST: {
        if (e->type == KN_BOOL)
            return truth(a, e);
        isl_pw_aff *value = affine_value(a, e->args[0]);
        if (!value || e->args[0]->type == KN_BOOL || widens(e->args[0]->type, e->type) ||
            affine_fits(a, value, e->type))
            return value;
        isl_pw_aff_free(value);
        return not_affine(a, e, "a conversion that may change the value", "use one signed integer type");
    }
    case CEXPR_UNARY: {
        if (e->op == COP_NOT)
            return truth(a, e);
        if (e->op != COP_NEG)
            return not_affine(a, e, "an operator on bits", NULL);
        isl_pw_aff *value = affine_value(a, e->args[0]);
        return value ? unwrapped(a, e, isl_pw_aff_neg(value)) : NULL;
    }
    case CEXPR_BINARY: return binary(a, e);
    case CEXPR_INDEX: return not_affine(a, e, "an element of an array", NULL);
    case CEXPR_CALL: return not_affine(a, e, "the value of a function", NULL);
    default: return not_affine(a, e, "not an integer", NULL);
    }
}

static isl_set *compare(Affine *a, const CExpr *e)
{
    isl_pw_aff *l = affine_value(a, e->args[0]);
    isl_pw_aff *r = l ? affine_value(a, e->args[1]) : NULL;
    if (!r) {
        isl_pw_aff_free(l);
        return NULL;
    }
    switch (e->op) {
    case COP_LT: return isl_pw_aff_lt_set(l, r);
    case COP_LE: return isl_pw_aff_le_set(l, r);
    case COP_GT: return isl_pw_aff_gt_set(l, r);
    case COP_GE: return isl_pw_aff_ge_set(l, r);
    case COP_EQ: return isl_pw_aff_eq_set(l, r);
    default: return isl_pw_aff_ne_set(l, r);
    }
}

isl_set *affine_condition(Affine *a, const CExpr *e)
{
    if (e->kind == CEXPR_BINARY && e->op >= COP_LT && e->op <= COP_NE)
        return compare(a, e);
    if (e->kind == CEXPR_BINARY && (e->op == COP_AND || e->op == COP_OR)) {
        isl_set *l      = affine_condition(a, e->args[0]);
        isl_set *domain = a->domain; /* the second operand is evaluated where the first leaves it open */
        if (!l)
            return NULL;
        a->domain  = e->op == COP_AND ? isl_set_intersect(isl_set_copy(domain), isl_set_copy(l))
                                      : isl_set_subtract(isl_set_copy(domain), isl_set_copy(l));
        isl_set *r = affine_condition(a, e->args[1]);
        isl_set_free(a->domain);
        a->domain = domain;
        if (!r) {
            isl_set_free(l);
            return NULL;
        }
        return e->op == COP_AND ? isl_set_intersect(l, r) : isl_set_union(l, r);
    }
    if (e->kind == CEXPR_UNARY && e->op == COP_NOT) {
        isl_set *s = affine_condition(a, e->args[0]);
        return s ? isl_set_complement(s) : NULL;
    }
    if (e->kind == CEXPR_CAST && (e->type == KN_BOOL || e->args[0]->type == KN_BOOL))
        return affine_condition(a, e->args[0]);
    isl_pw_aff *value = affine_value(a, e);
    return value ? isl_pw_aff_non_zero_set(value) : NULL;
}
