/* SPDX-License-Identifier: MIT */
/* Multiples: where tiles begin, as products with the number of elements of a wide access.
 *
 * Takes   kernels after unrolling, in which wide.c has made first columns and strides multiples by their form.
 * Gives   coordinates that are multiples of a few elements, such as where the tile of a block begins, as products with
 *         that number, also through minima and maxima: by the factors in its index a backend knows how an access is
 *         aligned. */
#include "lower/bounds/index_expr.h"
#include "lower/passes/pass_tools.h"

enum { MOST_BYTES = 16 };

bool is_multiple(const Expr *e, int64_t n)
{
    int64_t value;
    if (expr_is_int(e, &value))
        return value % n == 0;
    if (e->op == EX_ADD || e->op == EX_SUB || e->op == EX_MIN || e->op == EX_MAX)
        return is_multiple(e->args[0], n) && is_multiple(e->args[1], n);
    return e->op == EX_MUL && (is_multiple(e->args[0], n) || is_multiple(e->args[1], n));
}

/* e / n of such an expression. */
static const Expr *quotient(Lower *lw, const Expr *e, int64_t n)
{
    int64_t value;
    if (expr_is_int(e, &value))
        return x_int(lw, value / n);
    if (e->op != EX_MUL)
        return x_op(lw, (ExprOp)e->op, quotient(lw, e->args[0], n), quotient(lw, e->args[1], n));
    const int by = is_multiple(e->args[1], n) ? 1 : 0;
    return x_op(lw, EX_MUL, e->args[!by], quotient(lw, e->args[by], n));
}

/* The most elements of which an i32 is a multiple, as wide accesses have them. */
static int64_t multiple_of(const Expr *e)
{
    int64_t n = e->type == KN_I32 && e->op != EX_INT ? MOST_BYTES : 1;
    while (n > 1 && !is_multiple(e, n))
        n /= 2;
    return n;
}

static const Expr *as_multiple_node(void *user, const Expr *e)
{
    Lower        *lw = user;
    const int64_t n  = e->op == EX_MIN || e->op == EX_MAX ? multiple_of(e) : 1;
    return n == 1 ? e : x_op(lw, EX_MUL, quotient(lw, e, n), x_int(lw, n));
}

static const Expr *as_multiple(void *user, const Expr *e)
{
    Lower *lw = user;
    return expr_rewrite(lw->exprs, e, as_multiple_node, lw);
}

static const Stmt *multiples(void *user, const Stmt *s)
{
    Lower        *lw = user;
    const StmtMap m  = { lw->arena, multiples, as_multiple, lw };
    const int64_t n  = s->kind == STMT_LET ? multiple_of(s->let.value) : 1;
    if (n == 1)
        return stmt_map(&m, s);
    const char *name  = intern(lw->cx, arena_printf(lw->arena, "%s@%d", s->let.name, (int)n));
    const Expr *whole = x_op(lw, EX_MUL, x_var(lw, name), x_int(lw, n));
    const Stmt *body  = stmt_substitute(lw->exprs, lw->arena, s->let.body, 1, &s->let.name, &whole);
    return stmt_let(lw->arena, name, quotient(lw, s->let.value, n), multiples(lw, body));
}

static const Stmt *find_multiples(void *user, const Stmt *s)
{
    Lower        *lw = user;
    const StmtMap m  = { lw->arena, s->kind == STMT_KERNEL ? multiples : find_multiples, NULL, lw };
    return stmt_map(&m, s);
}

const Stmt *lower_multiples(Lower *lw, const Stmt *s)
{
    return s ? find_multiples(lw, s) : NULL;
}
