/* SPDX-License-Identifier: MIT */
/* Mathematical functions: exp, log, pow, sin … become sequences of basic operators (ir/math.h). So do, in code for
 * GPUs, quotients of integers of up to 16 bits by constants: a division takes a dozen instructions there.
 *
 * Holds   the sequence is the same in every backend and in the interpreter. A quotient has the same bits.
 * From    Markstein, "Computation of elementary functions on the IBM RISC System/6000 processor", 1990 (a quotient
 *         corrected by its remainder). */
#include "ir/math.h"
#include "lower/lower.h"

#include <math.h>

typedef struct Expansion {
    StmtMap   map;
    ExprPool *pool;
    bool      gpu;
    Map       done, quotients;
} Expansion;

/* Is x / c = q + (x - q c) (1/c), with q = x (1/c), for all integers from `least` on? */
static bool is_corrected_quotient(int32_t least, int32_t most, float c)
{
    const float inverse = 1 / c;
    bool        same    = isnormal(c) && isnormal(inverse);
    for (int32_t i = least; same && i <= most; i++) {
        const float x = (float)i, q = x * inverse, corrected = fmaf(fmaf(-q, c, x), inverse, q);
        same = corrected == x / c && !signbit(corrected) == !signbit(x / c);
    }
    return same;
}

/* A quotient of a small integer by a constant as three operations; NULL: it is no such quotient, or another value. */
static const Expr *corrected_quotient(ExprPool *pool, const Expr *e)
{
    const Expr *x = e->args[0], *by = e->args[1];
    if (x->op != EX_CAST || by->op != EX_FLOAT)
        return NULL;
    const kn_type from = (kn_type)x->args[0]->type;
    if (type_is_float(from) || from == KN_BOOL || kn_type_size(from) > 2)
        return NULL;
    const int   bits        = 8 * (int)kn_type_size(from);
    const bool  is_unsigned = from == KN_U8 || from == KN_U16;
    const int   half        = 1 << (bits - 1);
    const float c           = (float)by->u.f;
    if (!is_corrected_quotient(is_unsigned ? 0 : -half, is_unsigned ? 2 * half - 1 : half - 1, c))
        return NULL;
    const Expr  two     = { .op = EX_MUL, .type = KN_F32, .strict = true, .count = 2 };
    const Expr  three   = { .op = EX_FMA, .type = KN_F32, .strict = true, .count = 3 };
    const Expr *inverse = expr_float(pool, KN_F32, 1 / c), *minus = expr_float(pool, KN_F32, -c);
    const Expr *q    = expr_rebuild(pool, &two, (const Expr *[]){ x, inverse });
    const Expr *rest = expr_rebuild(pool, &three, (const Expr *[]){ q, minus, x });
    return expr_rebuild(pool, &three, (const Expr *[]){ rest, inverse, q });
}

static const Expr *expand_node(void *user, const Expr *e)
{
    Expansion *x = user;
    if (math_has((ExprOp)e->op))
        return math_expand(x->pool, e);
    if (!x->gpu || e->op != EX_DIV || e->type != KN_F32)
        return e;
    const Expr *known = map_get(&x->quotients, e);
    if (!known) {
        known = corrected_quotient(x->pool, e);
        known = known ? known : e;
        map_set(&x->quotients, e, known);
    }
    return known;
}

static const Expr *expand_expr(void *user, const Expr *e)
{
    Expansion  *x      = user;
    const Expr *result = map_get(&x->done, e);
    if (!result) {
        result = expr_rewrite(x->pool, e, expand_node, user);
        map_set(&x->done, e, result);
    }
    return result;
}

static const Stmt *expand_stmt(void *user, const Stmt *s)
{
    return stmt_map(&((Expansion *)user)->map, s);
}

const Stmt *lower_math(Lower *lw, const Stmt *s)
{
    Expansion x = { .map = { lw->arena, expand_stmt, expand_expr, NULL }, .pool = lw->exprs, .gpu = lw->gpu };
    map_init(&x.done, lw->arena);
    map_init(&x.quotients, lw->arena);
    x.map.user = &x;
    return s ? stmt_map(&x.map, s) : NULL;
}
