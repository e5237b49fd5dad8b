/* SPDX-License-Identifier: MIT */
/* Ends of intervals that are expressions: see expr_ends.h. */
#include "lower/bounds/expr_ends.h"

static const Expr *as_type(Lower *lw, kn_type type, End a)
{
    return end_is_number(a) ? expr_int(lw->exprs, type, (int64_t)a.least) : x_cast(lw, type, a.expr);
}

static const Expr *as_truth(Lower *lw, End a)
{
    if (end_is_number(a))
        return expr_bool(lw->exprs, a.least != 0);
    if (a.expr->type == KN_BOOL)
        return a.expr;
    return x_op(lw, EX_NE, a.expr, expr_int(lw->exprs, (kn_type)a.expr->type, 0));
}

static bool fits(kn_type type, Wide least, Wide most)
{
    return range_within(type, range_int(least, most));
}

/* The narrowest type that holds operands and result; bool: none does. */
static kn_type type_for(int count, const End *args, Wide least, Wide most)
{
    for (int i = 0; i < count; i++) {
        least = wide_min(least, args[i].least);
        most  = wide_max(most, args[i].most);
    }
    return fits(KN_I32, least, most) ? KN_I32 : fits(KN_I64, least, most) ? KN_I64 : KN_BOOL;
}

/* The operator of each operation. A bit length is the width less the leading zeros. */
static const ExprOp operators[END_OP_COUNT] = {
    [END_ADD] = EX_ADD, [END_SUB] = EX_SUB,       [END_MUL] = EX_MUL,         [END_DIV] = EX_DIV,
    [END_MOD] = EX_MOD, [END_MIN] = EX_MIN,       [END_MAX] = EX_MAX,         [END_ABS] = EX_ABS,
    [END_SHL] = EX_SHL, [END_LENGTH] = EX_CLZ,    [END_BIT_AND] = EX_BIT_AND, [END_BIT_XOR] = EX_BIT_XOR,
    [END_LT] = EX_LT,   [END_LE] = EX_LE,         [END_EQ] = EX_EQ,           [END_AND] = EX_AND,
    [END_OR] = EX_OR,   [END_SELECT] = EX_SELECT,
};

/* By a conversion; there is none to a single bit. */
static const Expr *make_wrapped(Lower *lw, const End *args)
{
    static const kn_type types[2][65] = { { [8] = KN_U8, [16] = KN_U16, [32] = KN_U32, [64] = KN_U64 },
                                          { [8] = KN_I8, [16] = KN_I16, [32] = KN_I32, [64] = KN_I64 } };
    const kn_type        to           = types[args[2].least][args[1].least];
    return args[1].least > 1 ? as_type(lw, to, args[0]) : NULL;
}

static const Expr *make_end(void *user, EndOp op, const End *args, Wide least, Wide most)
{
    Lower       *lw    = user;
    const ExprOp ex    = operators[op];
    const int    first = op == END_SELECT, count = first + (op == END_ABS || op == END_LENGTH ? 1 : 2);
    if (op == END_AND || op == END_OR)
        return x_op(lw, ex, as_truth(lw, args[0]), as_truth(lw, args[1]));
    if (op == END_WRAP)
        return make_wrapped(lw, args);
    const kn_type type = type_for(count, args, least, most);
    if (type == KN_BOOL)
        return NULL;
    const Expr *a = as_type(lw, type, args[first]), *b = count > 1 ? as_type(lw, type, args[first + 1]) : NULL;
    if (op == END_SELECT)
        return x_select(lw, as_truth(lw, args[0]), a, b);
    if (b)
        return x_op(lw, ex, a, b);
    const Expr *e = simplify(lw->simplifier, expr_unary(lw->exprs, ex, type, a));
    return op == END_LENGTH ? x_sub(lw, expr_int(lw->exprs, type, type_bits(type)), e) : e;
}

End expr_end(Simplifier *known, const Expr *e, Wide number)
{
    int64_t lo, hi;
    if (!e)
        return end_number(number);
    if (expr_is_int(e, &lo))
        return end_number(e->type == KN_U64 ? (Wide)(uint64_t)lo : lo);
    simplifier_bounds(known, e, &lo, &hi);
    if (e->type == KN_U64 && hi == INT64_MAX)
        return end_number(number);
    return (End){ lo, hi, lo == hi ? NULL : e };
}

EndMaker expr_end_maker(Lower *lw)
{
    return (EndMaker){ make_end, lw };
}

const Expr *end_expr(Lower *lw, kn_type type, End a)
{
    return type == KN_BOOL ? as_truth(lw, a) : as_type(lw, type, a);
}
