/* SPDX-License-Identifier: MIT */
/* Multiples: wide accesses where wide.c has made first columns, strides and lengths of rows multiples by their form.
 *
 * Takes   kernels after unrolling. Where an input is read through `edge`, blocks at its border have loads at columns
 *         max(min(x + i, last), 0), for several i.
 * Clamped gives, where x and the number of columns are multiples of a few elements, loads of the elements side by side
 *         that x + i is one of, at max(min(x + i - i % 4, last - 3), 0): a group lies inside the row or outside of it
 *         as a whole. The value is the group's first element if it lies before the row, its last if it lies behind,
 *         else the element itself. The loads of a group are neighbours of known alignment: a backend joins them.
 * Then    coordinates that are multiples of a few elements, such as where the tile of a block begins, are products with
 *         that number, also through minima and maxima: by the factors in its index a backend knows how an access is
 *         aligned.
 * Holds   what is no multiple by its form stays as it is. */
#include "lower/bounds/index_expr.h"
#include "lower/passes/pass_tools.h"

enum { MOST_BYTES = 16 };

/* Is it a multiple of n by its form? */
static bool is_multiple(const Expr *e, int64_t n)
{
    int64_t value;
    if (expr_is_int(e, &value))
        return value % n == 0;
    if (e->op == EX_ADD || e->op == EX_SUB || e->op == EX_MIN || e->op == EX_MAX)
        return is_multiple(e->args[0], n) && is_multiple(e->args[1], n);
    return e->op == EX_MUL && (is_multiple(e->args[0], n) || is_multiple(e->args[1], n));
}

/* ---- Clamped rows ----------------------------------------------------------------------------------- */

/* A column that is clamped to a row. */
typedef struct Clamp {
    const Expr *column; /* without the clamps */
    const Expr *count;  /* of the row */
} Clamp;

/* Takes clamps to 0, and to one less than a count that is a multiple of n, off. False: there are not both. */
static bool open_clamp(Lower *lw, const Expr *e, int64_t n, Clamp *c)
{
    bool    low = false;
    int64_t zero;
    c->count = NULL;
    while (e->type == KN_I32 && (e->op == EX_MAX || e->op == EX_MIN)) {
        const Expr *bound = e->args[1], *next = simplify(lw->simplifier, x_add(lw, bound, x_int(lw, 1)));
        const bool  is_zero = e->op == EX_MAX && expr_is_int(bound, &zero) && !zero;
        if (!is_zero && (e->op == EX_MAX || c->count || !is_multiple(next, n)))
            return false;
        low |= is_zero;
        c->count = is_zero ? c->count : next;
        e        = e->args[0];
    }
    c->column = e;
    return low && c->count;
}

/* The column as a multiple of n and what is left, below n. False: it has no such form. */
static bool divide(Lower *lw, const Expr *column, int64_t n, const Expr **group, int64_t *rest)
{
    Linear form;
    if (!expr_linear(lw->arena, column, &form))
        return false;
    *rest  = (form.constant % n + n) % n;
    *group = simplify(lw->simplifier, x_sub(lw, column, x_int(lw, *rest)));
    return is_multiple(*group, n);
}

typedef struct Swap {
    const Expr *from, *to;
} Swap;

static const Expr *swap_node(void *user, const Expr *e)
{
    const Swap *s = user;
    return e == s->from ? s->to : e;
}

/* The load with element `at` of the group that begins at column `first` in the place of its term. */
static const Expr *load_at(Lower *lw, const Expr *load, const Expr *term, const Expr *first, int64_t at)
{
    Swap s = { term, x_op(lw, EX_ADD, x_cast(lw, KN_I64, first), expr_int(lw->exprs, KN_I64, at)) };
    return expr_load(lw->exprs, load->u.buffer, (kn_type)load->type,
                     expr_rewrite(lw->exprs, load->args[0], swap_node, &s));
}

/* The load by groups of n elements, if `term` of its index is a clamped column; else NULL. */
static const Expr *by_groups(Lower *lw, const Expr *load, const Expr *term, int64_t n)
{
    Clamp       c;
    const Expr *group;
    int64_t     rest;
    if (!open_clamp(lw, term->args[0], n, &c) || !divide(lw, c.column, n, &group, &rest))
        return NULL;
    const Expr *zero = x_int(lw, 0), *most = x_sub(lw, c.count, x_int(lw, n));
    const Expr *first  = x_max(lw, x_min(lw, group, most), zero);
    const Expr *behind = x_select(lw, x_op(lw, EX_LT, most, group), load_at(lw, load, term, first, n - 1),
                                  load_at(lw, load, term, first, rest));
    return x_select(lw, x_op(lw, EX_LT, group, zero), load_at(lw, load, term, first, 0), behind);
}

static const Expr *load_node(void *user, const Expr *e)
{
    Lower  *lw = user;
    Linear  form;
    int64_t n = e->op == EX_LOAD ? MOST_BYTES / (int64_t)kn_type_size((kn_type)e->type) : 0;
    if (n < 2 || e->u.buffer->kind != BUFFER_INPUT || !expr_linear(lw->arena, e->args[0], &form))
        return e;
    for (; n > 1; n /= 2)
        for (int i = 0; i < form.count; i++) {
            const Expr *term  = form.atoms[i];
            const Expr *value = term->op == EX_CAST && term->type == KN_I64 && form.coefficients[i] == 1
                                    ? by_groups(lw, e, term, n)
                                    : NULL;
            if (value)
                return value;
        }
    return e;
}

static const Expr *loads(void *user, const Expr *e)
{
    Lower *lw = user;
    return expr_rewrite(lw->exprs, e, load_node, lw);
}

static const Stmt *clamped(void *user, const Stmt *s)
{
    Lower        *lw = user;
    const StmtMap m  = { lw->arena, clamped, loads, lw };
    return stmt_map(&m, s);
}

static const Stmt *find_clamped(void *user, const Stmt *s)
{
    Lower        *lw = user;
    const StmtMap m  = { lw->arena, s->kind == STMT_KERNEL ? clamped : find_clamped, NULL, lw };
    return stmt_map(&m, s);
}

const Stmt *lower_clamped(Lower *lw, const Stmt *s)
{
    return s ? find_clamped(lw, s) : NULL;
}

/* ---- Products --------------------------------------------------------------------------------------- */

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
