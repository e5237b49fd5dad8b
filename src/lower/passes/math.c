/* SPDX-License-Identifier: MIT */
/* Mathematical functions: exp, log, pow, sin … become sequences of basic operators (ir/math.h).
 *
 * Holds   the sequence is the same in every backend and in the interpreter. */
#include "ir/math.h"
#include "lower/lower.h"

typedef struct Expansion {
    StmtMap   map;
    ExprPool *pool;
    Map       done;
} Expansion;

static const Expr *expand_node(void *user, const Expr *e)
{
    return math_has((ExprOp)e->op) ? math_expand(((Expansion *)user)->pool, e) : e;
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
    Expansion x = { .map = { lw->arena, expand_stmt, expand_expr, NULL }, .pool = lw->exprs };
    map_init(&x.done, lw->arena);
    x.map.user = &x;
    return s ? stmt_map(&x.map, s) : NULL;
}
