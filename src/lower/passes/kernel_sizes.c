/* SPDX-License-Identifier: MIT */
/* Bounds of sizes in kernels.
 *
 * Takes   an extent or a number of elements, and the lets around it.
 * Gives   the largest number that it can be, where that is a small one.
 * Holds   lets are opened one after another, the innermost first: after each, what both ends of a box have in common
 *         cancels. Boxes are differences of coordinates, which are no larger than MOST_COORDINATE: no sum wraps. */
#include "lower/passes/kernel_sizes.h"

enum { MOST_OPENED = 5 /* minima and choices of a sum, in search of a bound */ };

/* A minimum with which a sum grows, or a maximum with which it shrinks; NULL: there is none. */
static const Expr *find_extreme(const Expr *e, bool added)
{
    const Expr *found = NULL;
    if (e->op == (added ? EX_MIN : EX_MAX))
        return e;
    if (e->op == EX_ADD || e->op == EX_SUB) {
        found = find_extreme(e->args[0], added);
        found = found ? found : find_extreme(e->args[1], added == (e->op == EX_ADD));
    }
    int64_t by;
    if ((e->op == EX_MUL || e->op == EX_DIV) && expr_is_int(e->args[1], &by) && by > 0)
        found = find_extreme(e->args[0], added);
    return found;
}

/* The sum with an operand in place of an extreme, there where the sum grows for that. The same extreme may be elsewhere
 * too, where the sum would shrink: min(a, b)/2 - min(a, b) is at most b/2 - min(a, b), and may be more than b/2 - b. */
static const Expr *open_extreme(ExprPool *pool, const Expr *e, bool added, const Expr *extreme, const Expr *by)
{
    int64_t factor;
    if (e == extreme && added == (e->op == EX_MIN))
        return by;
    const bool scaled = (e->op == EX_MUL || e->op == EX_DIV) && expr_is_int(e->args[1], &factor) && factor > 0;
    const bool both   = e->op == EX_ADD || e->op == EX_SUB || e->op == EX_MIN || e->op == EX_MAX;
    if (!scaled && !both)
        return e;
    const Expr *a = open_extreme(pool, e->args[0], added, extreme, by), *b = e->args[1];
    if (both)
        b = open_extreme(pool, b, added == (e->op != EX_SUB), extreme, by);
    return a == e->args[0] && b == e->args[1] ? e : expr_binary(pool, (ExprOp)e->op, e->type, a, b);
}

/* A choice in a sum; NULL: there is none. */
static const Expr *find_choice(const Expr *e)
{
    const Expr *found = NULL;
    if (e->op == EX_SELECT)
        return e;
    if (e->op == EX_ADD || e->op == EX_SUB || e->op == EX_MUL || e->op == EX_MIN || e->op == EX_MAX)
        for (int i = 0; !found && i < 2; i++)
            found = find_choice(e->args[i]);
    return found;
}

typedef struct Decision {
    const Expr *condition;
    bool        holds;
} Decision;

static const Expr *decide_node(void *user, const Expr *e)
{
    const Decision *d = user;
    return e->op == EX_SELECT && e->args[0] == d->condition ? e->args[d->holds ? 1 : 2] : e;
}

static int64_t upper_bound(KernelSizes *z, const Expr *e, int depth);

/* The larger of both sides of a condition, which all choices by it have in common. */
static int64_t choice_bound(KernelSizes *z, const Expr *e, const Expr *choice, int depth)
{
    int64_t hi[2];
    for (int i = 0; i < 2; i++) {
        Decision d = { choice->args[0], i == 0 };
        hi[i]      = upper_bound(z, expr_rewrite(z->lw->exprs, e, decide_node, &d), depth);
    }
    return hi[0] > hi[1] ? hi[0] : hi[1];
}

/* An upper bound of a sum. In place of a minimum that is added each of its operands is tried: of
 * min(end, first + 31) - first the second. */
static int64_t upper_bound(KernelSizes *z, const Expr *e, int depth)
{
    int64_t lo, hi, part;
    e = simplify(z->known, e);
    simplifier_bounds(z->known, e, &lo, &hi);
    const Expr *choice = depth ? find_choice(e) : NULL, *extreme = depth && !choice ? find_extreme(e, true) : NULL;
    if (choice) {
        part = choice_bound(z, e, choice, depth - 1);
        hi   = part < hi ? part : hi;
    }
    for (int i = 0; extreme && i < 2; i++) {
        part = upper_bound(z, open_extreme(z->lw->exprs, e, true, extreme, extreme->args[i]), depth - 1);
        hi   = part < hi ? part : hi;
    }
    return hi;
}

int64_t most_extent(KernelSizes *z, const Expr *extent)
{
    const Expr *open = extent;
    int64_t     most = upper_bound(z, open, MOST_OPENED);
    for (size_t i = z->lets.count; i-- > 0 && most > MOST_CONSTANT;) {
        const Stmt   *let  = z->lets.at[i];
        const Expr   *next = expr_substitute(z->lw->exprs, open, 1, &let->let.name, &let->let.value);
        const int64_t hi   = next == open ? most : upper_bound(z, next, MOST_OPENED);
        most               = hi < most ? hi : most;
        open               = next;
    }
    return most <= MOST_CONSTANT ? most : -1;
}

/* A sum of i64 as one of i32, which coordinates and their differences are; NULL: it is none. */
static const Expr *narrow_sum(KernelSizes *z, const Expr *e)
{
    ExprPool *pool = z->lw->exprs;
    int64_t   value;
    if (e->type == KN_I32)
        return e;
    if (e->op == EX_CAST)
        return e->args[0]->type == KN_I32 ? e->args[0] : NULL;
    if (expr_is_int(e, &value))
        return expr_int(pool, KN_I32, value);
    if (e->op != EX_ADD && e->op != EX_SUB)
        return NULL;
    const Expr *a = narrow_sum(z, e->args[0]), *b = narrow_sum(z, e->args[1]);
    return a && b ? expr_binary(pool, (ExprOp)e->op, KN_I32, a, b) : NULL;
}

/* The largest that a number of elements can be, a product of extents; -1: no small one is known. */
static int64_t most_product(KernelSizes *z, const Expr *e)
{
    int64_t lo[2] = { 0 }, hi, a, b;
    if (e->op == EX_CAST)
        return most_product(z, e->args[0]);
    if (e->op == EX_MUL || e->op == EX_MAX) {
        for (int i = 0; e->op == EX_MUL && i < 2; i++)
            simplifier_bounds(z->known, e->args[i], &lo[i], &hi);
        if (lo[0] < 0 && lo[1] < 0)
            return -1;
        a = most_product(z, e->args[0]);
        b = most_product(z, e->args[1]);
        if (a < 0 || b < 0)
            return -1;
        hi = e->op == EX_MUL ? a * b : a > b ? a : b;
    } else {
        const Expr *narrow = narrow_sum(z, e);
        hi                 = upper_bound(z, narrow ? narrow : e, MOST_OPENED);
    }
    return hi < 0 ? 0 : hi <= MOST_CONSTANT ? hi : -1;
}

int64_t most_elements(KernelSizes *z, const Expr *count)
{
    const Expr *open = simplify(z->known, count);
    int64_t     most = most_product(z, open);
    for (size_t i = z->lets.count; i-- > 0 && most < 0;) {
        const Stmt *let  = z->lets.at[i];
        const Expr *next = expr_substitute(z->lw->exprs, open, 1, &let->let.name, &let->let.value);
        if (next == open)
            continue;
        open = simplify(z->known, next);
        most = most_product(z, open);
    }
    return most;
}
