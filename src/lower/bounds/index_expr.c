/* SPDX-License-Identifier: MIT */
/* Index arithmetic, folded as it is made: see index_expr.h.
 *
 * Lowering makes thousands of sums, minima and comparisons of linear forms. The rules here look at these forms alone: a
 * sum is one form, and a minimum or a comparison of forms that differ by a constant is decided. Ranges and facts are
 * left to the simplifier, which sees every value once, when it gets its name. */
#include "lower/bounds/index_expr.h"

const Expr *x_int(Lower *lw, int64_t v)
{
    return expr_int(lw->exprs, KN_I32, v);
}

const Expr *x_var(Lower *lw, const char *name)
{
    return expr_var(lw->exprs, KN_I32, intern(lw->cx, name));
}

/* The form as an expression: terms in the order of the atoms, the constant last. */
static const Expr *from_linear(Lower *lw, kn_type type, const Linear *form)
{
    const Expr *sum = NULL;
    for (int pass = 0; pass < 2; pass++) /* positive terms first */
        for (int i = 0; i < form->count; i++) {
            const int64_t k = form->coefficients[i], size = k < 0 ? -k : k;
            if ((k > 0) != (pass == 0))
                continue;
            const Expr *term =
                size == 1 ? form->atoms[i]
                          : expr_binary(lw->exprs, EX_MUL, type, form->atoms[i], expr_int(lw->exprs, type, size));
            if (!sum)
                sum = k > 0 ? term : expr_binary(lw->exprs, EX_MUL, type, form->atoms[i], expr_int(lw->exprs, type, k));
            else
                sum = expr_binary(lw->exprs, k > 0 ? EX_ADD : EX_SUB, type, sum, term);
        }
    const int64_t c = form->constant;
    if (!sum)
        return expr_int(lw->exprs, type, c);
    if (c == 0)
        return sum;
    return expr_binary(lw->exprs, c < 0 ? EX_SUB : EX_ADD, type, sum, expr_int(lw->exprs, type, c < 0 ? -c : c));
}

static const Expr *make_sum(Lower *lw, const Expr *e)
{
    Linear form;
    return expr_linear(lw->arena, e, &form) ? from_linear(lw, (kn_type)e->type, &form) : e;
}

static const Expr *make_extreme(Lower *lw, ExprOp op, const Expr *a, const Expr *b)
{
    int64_t apart;
    if (a == b)
        return a;
    if (expr_difference(a, b, &apart))
        return (apart < 0) == (op == EX_MIN) ? a : b;
    /* min(min(a, c), b): drop the operand that cannot be the least */
    for (int i = 0; i < 2 && (int)a->op == (int)op; i++)
        if (expr_difference(a->args[i], b, &apart)) {
            const Expr *one = (apart < 0) == (op == EX_MIN) ? a->args[i] : b;
            return one == a->args[i] ? a : make_extreme(lw, op, a->args[1 - i], b);
        }
    const bool swap = a->id > b->id;
    return expr_binary(lw->exprs, op, (kn_type)a->type, swap ? b : a, swap ? a : b);
}

static const Expr *make_compare(Lower *lw, ExprOp op, const Expr *a, const Expr *b)
{
    int64_t apart;
    if (type_is_int((kn_type)a->type) && expr_difference(a, b, &apart))
        return expr_bool(lw->exprs, op == EX_LT   ? apart < 0
                                    : op == EX_LE ? apart <= 0
                                    : op == EX_EQ ? apart == 0
                                                  : apart != 0);
    return expr_binary(lw->exprs, op, KN_BOOL, a, b);
}

static const Expr *make_logic(Lower *lw, ExprOp op, const Expr *a, const Expr *b)
{
    const Expr *const sides[2] = { a, b };
    for (int i = 0; i < 2; i++)
        if (sides[i]->op == EX_INT)
            return (sides[i]->u.i != 0) == (op == EX_AND) ? sides[1 - i] : sides[i];
    return a == b ? a : expr_binary(lw->exprs, op, KN_BOOL, a, b);
}

/* Products, quotients and remainders by a constant. */
static const Expr *make_scaled(Lower *lw, ExprOp op, const Expr *a, const Expr *b)
{
    const Expr *e = expr_binary(lw->exprs, op, (kn_type)a->type, a, b);
    if (op == EX_MUL && type_is_int((kn_type)a->type))
        return make_sum(lw, e);
    if ((b->op == EX_INT && (a->op == EX_INT || b->u.i == 1)) || a->op == EX_INT)
        return simplify(lw->simplifier, e);
    return e;
}

const Expr *x_op(Lower *lw, ExprOp op, const Expr *a, const Expr *b)
{
    switch (op) {
    case EX_ADD:
    case EX_SUB:
        return type_is_float((kn_type)a->type) ? expr_binary(lw->exprs, op, (kn_type)a->type, a, b)
                                               : make_sum(lw, expr_binary(lw->exprs, op, (kn_type)a->type, a, b));
    case EX_MIN:
    case EX_MAX:
        return type_is_float((kn_type)a->type) ? expr_binary(lw->exprs, op, (kn_type)a->type, a, b)
                                               : make_extreme(lw, op, a, b);
    case EX_LT:
    case EX_LE:
    case EX_EQ:
    case EX_NE: return make_compare(lw, op, a, b);
    case EX_AND:
    case EX_OR: return make_logic(lw, op, a, b);
    default: return make_scaled(lw, op, a, b);
    }
}

const Expr *x_neg(Lower *lw, const Expr *a)
{
    const Expr *e = expr_unary(lw->exprs, EX_NEG, (kn_type)a->type, a);
    return type_is_float((kn_type)a->type) ? e : make_sum(lw, e);
}

const Expr *x_select(Lower *lw, const Expr *c, const Expr *a, const Expr *b)
{
    if (a == b)
        return a;
    return c->op == EX_INT ? (c->u.i ? a : b) : expr_ternary(lw->exprs, EX_SELECT, (kn_type)a->type, c, a, b);
}

const Expr *x_cast(Lower *lw, kn_type type, const Expr *a)
{
    if ((kn_type)a->type == type)
        return a;
    const Expr *e = expr_unary(lw->exprs, EX_CAST, type, a);
    return a->op == EX_INT ? simplify(lw->simplifier, e) : e;
}
