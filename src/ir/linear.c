/* SPDX-License-Identifier: MIT */
/* Linear forms of integer expressions: constant + sum of coefficient * atom.
 *
 * Differences and sums of indices become exact here: (x + 3) - x is 3, 2*x + y - x is x + y. The form is what the
 * expression means if no step wraps; who uses it for more than coordinates has to know that they do not. */
#include "ir/expr.h"

enum { MOST_TERMS = 32 };
static const int64_t most = (int64_t)1 << 40; /* larger numbers are no coordinates */

typedef struct Form {
    int64_t     constant;
    int         count;
    const Expr *atoms[MOST_TERMS];
    int64_t     coefficients[MOST_TERMS];
} Form;

static bool fits(int64_t v)
{
    return v >= -most && v <= most;
}

/* form += factor * atom */
static bool add_term(Form *f, const Expr *atom, int64_t factor)
{
    int i = 0;
    while (i < f->count && f->atoms[i]->id < atom->id)
        i++;
    if (i < f->count && f->atoms[i] == atom) {
        f->coefficients[i] += factor;
        if (f->coefficients[i] == 0) {
            f->count--;
            memmove(&f->atoms[i], &f->atoms[i + 1], (size_t)(f->count - i) * sizeof f->atoms[0]);
            memmove(&f->coefficients[i], &f->coefficients[i + 1], (size_t)(f->count - i) * sizeof f->coefficients[0]);
        }
        return i >= f->count || fits(f->coefficients[i]);
    }
    if (f->count == MOST_TERMS)
        return false;
    memmove(&f->atoms[i + 1], &f->atoms[i], (size_t)(f->count - i) * sizeof f->atoms[0]);
    memmove(&f->coefficients[i + 1], &f->coefficients[i], (size_t)(f->count - i) * sizeof f->coefficients[0]);
    f->atoms[i]        = atom;
    f->coefficients[i] = factor;
    f->count++;
    return true;
}

/* form += factor * e. `budget` bounds the walk: a sum that shares its parts is a graph, and is walked as a tree
 * here. */
static bool add_scaled(Form *f, const Expr *e, int64_t factor, int *budget)
{
    if (!fits(factor) || --*budget < 0)
        return false;
    if (factor == 0)
        return true;
    int64_t c;
    switch ((ExprOp)e->op) {
    case EX_INT:
        if (!fits(e->u.i) || __builtin_mul_overflow(e->u.i, factor, &c) ||
            __builtin_add_overflow(f->constant, c, &f->constant))
            return false;
        return fits(f->constant);
    case EX_ADD: return add_scaled(f, e->args[0], factor, budget) && add_scaled(f, e->args[1], factor, budget);
    case EX_SUB: return add_scaled(f, e->args[0], factor, budget) && add_scaled(f, e->args[1], -factor, budget);
    case EX_NEG: return add_scaled(f, e->args[0], -factor, budget);
    case EX_MUL:
        for (int k = 0; k < 2; k++)
            if (expr_is_int(e->args[k], &c))
                return fits(c) && !__builtin_mul_overflow(c, factor, &c) && add_scaled(f, e->args[1 - k], c, budget);
        return add_term(f, e, factor);
    default: return add_term(f, e, factor);
    }
}

static void to_linear(Arena *arena, const Form *f, Linear *out)
{
    *out              = (Linear){ .constant = f->constant, .count = f->count };
    out->atoms        = ARENA_ARRAY(arena, const Expr *, (size_t)f->count);
    out->coefficients = ARENA_ARRAY(arena, int64_t, (size_t)f->count);
    for (int i = 0; i < f->count; i++) {
        out->atoms[i]        = f->atoms[i];
        out->coefficients[i] = f->coefficients[i];
    }
}

bool expr_linear(Arena *arena, const Expr *e, Linear *out)
{
    Form f      = { 0 };
    int  budget = 256;
    if (!type_is_int((kn_type)e->type) || !add_scaled(&f, e, 1, &budget))
        return false;
    to_linear(arena, &f, out);
    return true;
}

bool expr_difference(const Expr *a, const Expr *b, int64_t *out)
{
    Form f      = { 0 };
    int  budget = 512;
    if (!type_is_int((kn_type)a->type) || a->type != b->type || !add_scaled(&f, a, 1, &budget) ||
        !add_scaled(&f, b, -1, &budget) || f.count)
        return false;
    *out = f.constant;
    return true;
}

static int64_t common_divisor(int64_t a, int64_t b)
{
    while (b) {
        const int64_t rest = a % b;
        a                  = b;
        b                  = rest;
    }
    return a < 0 ? -a : a;
}

int64_t direction_multiple(Direction *d, int64_t n, int64_t m)
{
    if (!n)
        return 0;
    const int64_t k = n < 0 ? -common_divisor(n, m) : common_divisor(n, m);
    if (!d->known)
        *d = (Direction){ true, n / k, m / k };
    return n / k == d->a && m / k == d->c ? k : 0;
}
