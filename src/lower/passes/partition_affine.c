/* SPDX-License-Identifier: MIT */
/* Affine forms: integer expressions of a loop's body as affine functions of the loop's variable.
 *
 * Takes   an integer expression. Lets of the body are substituted.
 * Gives   its affine form. A quotient by a constant k is (a - a%k) / k, where a%k is a term in 0..k-1; so a form is
 *         exact, with a denominator, and everything that is not affine is a term between two bounds.
 * Holds   sums are exact modulo 2^n however they wrap, so it suffices that the value of the whole form lies in the
 *         type. That is checked wherever order matters. */
#include "ir/coordinates.h"
#include "lower/passes/partition.h"

#include <math.h>

static const int64_t most = (int64_t)1 << 32; /* of coefficients and constants */

static bool fits(int64_t v)
{
    return v > -most && v < most;
}

/* *to += a * b */
static bool add_product(int64_t *to, int64_t a, int64_t b)
{
    int64_t product;
    return !__builtin_mul_overflow(a, b, &product) && fits(product) && fits(*to += product);
}

static bool scale(Affine *f, int64_t factor)
{
    bool fine = fits(f->constant *= factor) && fits(f->step *= factor);
    for (int i = 0; i < f->count; i++)
        fine = fine && fits(f->terms[i].coefficient *= factor);
    return fine;
}

static bool add_term(Affine *f, AffineTerm t)
{
    if (!t.coefficient)
        return true;
    int i = 0;
    while (i < f->count && f->terms[i].atom != t.atom)
        i++;
    if (i == MOST_TERMS)
        return false;
    if (i == f->count) {
        f->terms[f->count++] = t;
        return fits(t.coefficient);
    }
    f->terms[i].coefficient += t.coefficient;
    if (!f->terms[i].coefficient)
        f->terms[i] = f->terms[--f->count];
    return i >= f->count || fits(f->terms[i].coefficient);
}

/* f += factor * g, over the product of the denominators if they differ. */
bool affine_add(Affine *f, int64_t factor, const Affine *g)
{
    Affine h = *g;
    if (f->denominator != h.denominator) {
        const int64_t a = h.denominator, b = f->denominator;
        if (a * b > 1 << 16 || !scale(f, a) || !scale(&h, b))
            return false;
        f->denominator = a * b;
    }
    bool fine = add_product(&f->constant, h.constant, factor) && add_product(&f->step, h.step, factor);
    for (int i = 0; i < h.count && fine; i++) {
        AffineTerm t = h.terms[i];
        fine = !__builtin_mul_overflow(t.coefficient, factor, &t.coefficient) && fits(t.coefficient) && add_term(f, t);
    }
    return fine;
}

bool affine_difference(const Affine *a, const Affine *b, int64_t less, Affine *out)
{
    *out = *a;
    return affine_add(out, -1, b) && add_product(&out->constant, -less, out->denominator);
}

/* ---- Ranges ----------------------------------------------------------------------------------- */

static void add_range(Partition *p, const Expr *e, int64_t coefficient, __int128 *lo, __int128 *hi)
{
    int64_t a, b;
    simplifier_bounds(p->known, e, &a, &b);
    *lo += (__int128)coefficient * (coefficient > 0 ? a : b);
    *hi += (__int128)coefficient * (coefficient > 0 ? b : a);
}

/* Does the value of e, whose form is f, always lie in the type? Its names are coordinates. In the form lets are
 * substituted, and intervals do not see that what they add up to is a coordinate. */
static bool in_type(Partition *p, const Expr *e, const Affine *f, kn_type type)
{
    int nodes = 64;
    if (coordinate_magnitude(e, &nodes) < ldexp(1, type_bits(type) - 1))
        return true;
    __int128 lo = f->constant, hi = f->constant;
    if (f->step)
        add_range(p, expr_var(p->lw->exprs, KN_I32, p->loop->loop.name), f->step, &lo, &hi);
    for (int i = 0; i < f->count; i++)
        add_range(p, f->terms[i].atom, f->terms[i].coefficient, &lo, &hi);
    const __int128 end = ((__int128)1 << (type_bits(type) - 1)) * f->denominator;
    return lo >= -end && hi < end;
}

/* ---- Expressions ------------------------------------------------------------------------------ */

static bool is_index(const Expr *e)
{
    return e->type == KN_I32 || e->type == KN_I64;
}

static const Expr *outside_node(void *user, const Expr *e)
{
    Partition  *p     = user;
    const Expr *value = e->op == EX_VAR ? map_get(&p->values, e->u.name) : NULL;
    return value ? value : e;
}

const Expr *partition_outside(Partition *p, const Expr *e)
{
    return expr_rewrite(p->lw->exprs, e, outside_node, p);
}

/* An atom between two values. */
static Affine bounded_term(const Expr *atom, const Expr *lo, const Expr *hi, bool inner)
{
    return (Affine){ .denominator = 1, .count = 1, .terms = { { atom, 1, lo, hi, inner } } };
}

static bool find_affine(Partition *p, const Expr *e, Affine *out);

static bool affine_of_name(Partition *p, const Expr *e, Affine *out)
{
    if (e->u.name == p->loop->loop.name) {
        *out = (Affine){ .denominator = 1, .step = 1 };
        return true;
    }
    const Affine *known = map_get(&p->affines, e->u.name);
    if (known)
        *out = *known;
    return known != NULL;
}

/* a % k lies in 0..k-1 for all a. */
static Affine affine_of_remainder(Partition *p, const Expr *e, int64_t k)
{
    ExprPool *pool = p->lw->exprs;
    return bounded_term(e, expr_int(pool, (kn_type)e->type, 0), expr_int(pool, (kn_type)e->type, k - 1), false);
}

/* a / k = (a - a%k) / k */
static bool affine_of_quotient(Partition *p, const Expr *e, int64_t k, Affine *out)
{
    const Expr  *rest  = expr_binary(p->lw->exprs, EX_MOD, (kn_type)e->type, e->args[0], e->args[1]);
    const Affine minus = affine_of_remainder(p, rest, k);
    if (k > 1 << 16 || !find_affine(p, e->args[0], out) || !in_type(p, e->args[0], out, (kn_type)e->type) ||
        !affine_add(out, -1, &minus))
        return false;
    out->denominator *= k;
    return out->denominator <= 1 << 16;
}

/* The operand that a product scales by a constant; NULL: it does not. */
static const Expr *scaled_operand(const Expr *e, int64_t *k)
{
    for (int i = 0; i < 2; i++)
        if (expr_is_int(e->args[i], k) && fits(*k))
            return e->args[1 - i];
    return NULL;
}

/* An expression that is no sum, scaled value or number: one term, or the form of the let that it names. */
static bool affine_of_atom(Partition *p, const Expr *e, Affine *out)
{
    int64_t k;
    if (!varying_expr(&p->varying, e)) {
        const Expr *value = partition_outside(p, e);
        *out              = bounded_term(value, value, value, false);
        return value == e || find_affine(p, value, out);
    }
    switch ((ExprOp)e->op) {
    case EX_VAR: return affine_of_name(p, e, out);
    case EX_CAST:
        return find_affine(p, e->args[0], out) && in_type(p, e->args[0], out, (kn_type)e->args[0]->type) &&
               in_type(p, e->args[0], out, (kn_type)e->type);
    case EX_DIV: return expr_is_int(e->args[1], &k) && k > 0 && affine_of_quotient(p, e, k, out);
    case EX_MOD:
        if (!expr_is_int(e->args[1], &k) || k <= 0 || !fits(k))
            return false;
        *out = affine_of_remainder(p, e, k);
        return true;
    default: return false;
    }
}

static bool find_affine(Partition *p, const Expr *e, Affine *out)
{
    int64_t     k;
    Affine      f;
    const Expr *base;
    if (--p->budget < 0 || !is_index(e))
        return false;
    *out = (Affine){ .denominator = 1 };
    switch ((ExprOp)e->op) {
    case EX_INT: out->constant = e->u.i; return fits(e->u.i);
    case EX_ADD:
    case EX_SUB:
        return find_affine(p, e->args[0], out) && find_affine(p, e->args[1], &f) &&
               affine_add(out, e->op == EX_SUB ? -1 : 1, &f);
    case EX_NEG: return find_affine(p, e->args[0], out) && scale(out, -1);
    case EX_MUL:
        base = scaled_operand(e, &k);
        return base ? find_affine(p, base, &f) && affine_add(out, k, &f) : affine_of_atom(p, e, out);
    default: return affine_of_atom(p, e, out);
    }
}

bool affine_of(Partition *p, const Expr *e, Affine *out)
{
    p->budget = 256;
    return find_affine(p, e, out) && in_type(p, e, out, (kn_type)e->type);
}

bool affine_of_let(Partition *p, const Expr *value, Affine *out)
{
    int nodes = 64;
    p->budget = 256;
    return find_affine(p, value, out) &&
           (isfinite(coordinate_magnitude(value, &nodes)) || in_type(p, value, out, (kn_type)value->type));
}

bool affine_of_loop_variable(Partition *p, const Stmt *loop, Affine *out)
{
    ExprPool   *pool = p->lw->exprs;
    const Expr *var = expr_var(pool, KN_I32, loop->loop.name), *one = expr_int(pool, KN_I32, 1);
    if (varying_expr(&p->varying, loop->loop.extent))
        return false;
    const Expr *extent = partition_outside(p, loop->loop.extent);
    if (!varying_expr(&p->varying, loop->loop.min)) {
        const Expr *min = partition_outside(p, loop->loop.min);
        *out            = bounded_term(var, min, index_sub(pool, index_add(pool, min, extent), one), true);
        return true;
    }
    const Affine offset = bounded_term(expr_binary(pool, EX_SUB, KN_I32, var, loop->loop.min),
                                       expr_int(pool, KN_I32, 0), index_sub(pool, extent, one), true);
    return affine_of(p, loop->loop.min, out) && affine_add(out, 1, &offset);
}

/* ---- Constraints ------------------------------------------------------------------------------- */

/* Has an outer serial loop a larger stride in the form? Then that loop is the one to be partitioned, as by the taps of
 * a filter in the vectors of a row; but not a loop over tiles around the one along their rows. */
static bool is_for_outer_loop(Partition *p, const Affine *f)
{
    const int64_t step = f->step < 0 ? -f->step : f->step;
    if (p->row_step && step >= p->row_step)
        return false;
    for (int i = 0; i < f->count; i++) {
        const AffineTerm *t = &f->terms[i];
        const int64_t    *outer_strides =
            !t->inner && t->atom->op == EX_VAR ? map_get(p->outer_strides, t->atom->u.name) : NULL;
        if (outer_strides && *outer_strides * (t->coefficient < 0 ? -t->coefficient : t->coefficient) > step)
            return true;
    }
    return false;
}

static bool varies_inside(const Affine *f)
{
    for (int i = 0; i < f->count; i++)
        if (f->terms[i].inner)
            return true;
    return false;
}

/* The type in which the sum of the terms' worst values does not wrap; KN_NONE: there is none. */
static kn_type sum_type(Partition *p, const Affine *f)
{
    __int128 size =
        (f->constant < 0 ? -f->constant : f->constant) + (f->step < 0 ? -f->step : f->step) + f->denominator;
    for (int i = 0; i < f->count; i++) {
        __int128 lo = 0, hi = 0;
        add_range(p, f->terms[i].coefficient > 0 ? f->terms[i].lo : f->terms[i].hi, f->terms[i].coefficient, &lo, &hi);
        size += -lo > hi ? -lo : hi;
    }
    return size < (__int128)1 << 31 ? KN_I32 : size < (__int128)1 << 62 ? KN_I64 : KN_NONE;
}

static const Expr *scaled(ExprPool *pool, kn_type type, const Expr *e, int64_t factor)
{
    if (e->type != type)
        e = expr_unary(pool, EX_CAST, type, e);
    return factor == 1 ? e : expr_binary(pool, EX_MUL, type, e, expr_int(pool, type, factor));
}

/* n/d >= 0, for integers n that d divides, is n + d - 1 >= 0. It holds for all values of the terms if it holds for the
 * worst. */
bool affine_constraint(Partition *p, const Affine *f, Constraint *out)
{
    ExprPool     *pool = p->lw->exprs;
    const kn_type type = sum_type(p, f);
    if (!f->step || type == KN_NONE || is_for_outer_loop(p, f) || (p->serial_loops && !varies_inside(f)))
        return false;
    *out = (Constraint){ f->step, f->constant + f->denominator - 1, NULL, true };
    for (int i = 0; i < f->count; i++) {
        const AffineTerm *t     = &f->terms[i];
        const Expr       *worst = t->coefficient > 0 ? t->lo : t->hi;
        int64_t           k;
        out->exact &= t->lo == t->hi;
        if (expr_is_int(worst, &k)) {
            out->constant += k * t->coefficient;
            continue;
        }
        const Expr *e = scaled(pool, type, worst, t->coefficient);
        out->rest     = out->rest ? expr_binary(pool, EX_ADD, type, out->rest, e) : e;
    }
    if (out->rest)
        out->rest = simplify(p->known, out->rest);
    return true;
}
