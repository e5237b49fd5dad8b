/* SPDX-License-Identifier: MIT */
/* Linear forms: constant + sum of k * atom.
 *
 * The language's integers wrap, so a sum is its form modulo 2^n whatever its values are. It is that form as an integer
 * too where the interval of the whole form, moved by some multiple of 2^n, lies within the type; how the sum is
 * bracketed plays no part. */
#include "ir/simplify_parts.h"

enum { WALK_STEPS = 96 }; /* nodes of one sum that are walked, as a tree */
static const int64_t most_factor = (int64_t)1 << 40;

/* ---- Order ------------------------------------------------------------------------------ */

/* Variables first, constants last, sums and products before those. */
static int rank(const Expr *e)
{
    const bool is_sum = e->op >= EX_NEG && e->op <= EX_MUL;
    return e->op == EX_VAR ? 0 : e->op == EX_INT ? 2 * EX_COUNT : (int)e->op + 1 + (is_sum ? EX_COUNT : 0);
}

static int compare_to_depth(const Expr *a, const Expr *b, int depth)
{
    if (a == b)
        return 0;
    int order = rank(a) - rank(b);
    if (!order && a->op == EX_VAR)
        order = strcmp(a->u.name, b->u.name);
    if (!order && a->op == EX_INT)
        order = (a->u.i > b->u.i) - (a->u.i < b->u.i);
    for (uint32_t i = 0; !order && depth && i < a->count && i < b->count; i++)
        order = compare_to_depth(a->args[i], b->args[i], depth - 1);
    return order;
}

/* By rank, variables by name, the others by operator and operands; what looks the same near the root, by age. */
int expr_order(const Expr *a, const Expr *b)
{
    const int order = compare_to_depth(a, b, 3);
    return order ? order : (a->id > b->id) - (a->id < b->id);
}

/* ---- Arithmetic ------------------------------------------------------------------------- */

/* The residue of v modulo 2^bits of least absolute value; v itself as an integer. */
static Wide residue(int bits, Wide v)
{
    if (!bits)
        return v;
    const int unused = 64 - bits;
    return (int64_t)((uint64_t)v << unused) >> unused;
}

static bool in_reach(const Form *f, Wide k)
{
    return f->bits || (k >= -most_factor && k <= most_factor);
}

void form_remove(Form *f, int i)
{
    f->count--;
    memmove(&f->terms[i], &f->terms[i + 1], (size_t)(f->count - i) * sizeof f->terms[0]);
}

bool form_add_term(Form *f, const Expr *atom, int64_t k)
{
    int i = 0;
    while (i < f->count && f->terms[i].atom != atom && expr_order(f->terms[i].atom, atom) < 0)
        i++;
    const bool present = i < f->count && f->terms[i].atom == atom;
    const Wide sum     = residue(f->bits, (Wide)k + (present ? f->terms[i].k : 0));
    if (!in_reach(f, sum))
        return false;
    if (!sum) {
        if (present)
            form_remove(f, i);
        return true;
    }
    if (!present) {
        if (f->count == MOST_TERMS)
            return false;
        memmove(&f->terms[i + 1], &f->terms[i], (size_t)(f->count - i) * sizeof f->terms[0]);
        f->count++;
    }
    f->terms[i] = (Term){ atom, (int64_t)sum };
    return true;
}

static bool add_constant(Form *f, Wide v)
{
    f->constant = residue(f->bits, f->constant + v);
    return f->constant > -WIDE_MOST && f->constant < WIDE_MOST;
}

bool form_add(Form *f, const Form *g, int64_t k)
{
    if (!in_reach(f, k))
        return false;
    for (int i = 0; i < g->count; i++) {
        const Wide product = residue(f->bits, (Wide)k * g->terms[i].k);
        if (!in_reach(f, product) || !form_add_term(f, g->terms[i].atom, (int64_t)product))
            return false;
    }
    if (!f->bits && (g->constant > ((Wide)1 << 70) || g->constant < -((Wide)1 << 70)))
        return false;
    return add_constant(f, (Wide)k * g->constant);
}

/* ---- From expressions ------------------------------------------------------------------- */

/* The constant that a term is multiplied by, and the term: e = *k * *rest, for products with constants and shifts by
 * them. */
static bool scaled(const Expr *e, const Expr **rest, int64_t *k)
{
    if (e->op == EX_MUL)
        for (int i = 1; i >= 0; i--)
            if (e->args[i]->op == EX_INT) {
                *k    = e->args[i]->u.i;
                *rest = e->args[1 - i];
                return true;
            }
    if (e->op == EX_SHL && (e->type == KN_I32 || e->type == KN_I64) && e->args[1]->op == EX_INT &&
        e->args[1]->u.i >= 0 && e->args[1]->u.i < type_bits((kn_type)e->type)) {
        *k    = (int64_t)((uint64_t)1 << e->args[1]->u.i);
        *rest = e->args[0];
        return true;
    }
    return false;
}

/* f += k * e modulo 2^bits. */
static bool walk(Form *f, const Expr *e, int64_t k, int *steps)
{
    const Expr *rest;
    int64_t     factor;
    if (--*steps < 0)
        return false;
    if (e->op == EX_INT)
        return add_constant(f, (Wide)k * e->u.i);
    if (e->op == EX_ADD || e->op == EX_SUB)
        return walk(f, e->args[0], k, steps) &&
               walk(f, e->args[1], e->op == EX_ADD ? k : (int64_t)(0 - (uint64_t)k), steps);
    if (e->op == EX_NEG)
        return walk(f, e->args[0], (int64_t)(0 - (uint64_t)k), steps);
    if (scaled(e, &rest, &factor))
        return walk(f, rest, (int64_t)((uint64_t)k * (uint64_t)factor), steps);
    return form_add_term(f, e, k);
}

/* f += k * e, the operands of a sum being atoms. */
static void walk_shallow(Form *f, const Expr *e, int64_t k)
{
    if (e->op == EX_INT)
        add_constant(f, (Wide)k * e->u.i);
    else
        form_add_term(f, e, k);
}

void form_of(const Expr *e, Form *f)
{
    const int bits  = type_bits((kn_type)e->type);
    int       steps = WALK_STEPS;
    form_clear(f, bits);
    if (walk(f, e, 1, &steps))
        return;
    form_clear(f, bits);
    const Expr *rest;
    int64_t     factor;
    if (e->op == EX_ADD || e->op == EX_SUB) {
        walk_shallow(f, e->args[0], 1);
        walk_shallow(f, e->args[1], e->op == EX_ADD ? 1 : -1);
    } else if (scaled(e, &rest, &factor)) {
        walk_shallow(f, rest, factor);
    } else {
        walk_shallow(f, e->op == EX_NEG ? e->args[0] : e, e->op == EX_NEG ? -1 : 1);
    }
}

bool form_add_value(Form *f, const Expr *e, int64_t k)
{
    Form g;
    form_of(e, &g);
    return form_add(f, &g, k);
}

/* ---- As integers ------------------------------------------------------------------------ */

void form_range(Simplifier *s, const Form *f, Wide *lo, Wide *hi)
{
    *lo = *hi = f->constant;
    for (int i = 0; i < f->count; i++) {
        const int64_t k = f->terms[i].k;
        const Known   a = known_of(s, f->terms[i].atom);
        if (k > most_factor || k < -most_factor) {
            *lo = -WIDE_MOST;
            *hi = WIDE_MOST;
            return;
        }
        *lo += k > 0 ? k * a.lo : k * a.hi;
        *hi += k > 0 ? k * a.hi : k * a.lo;
    }
}

bool form_fit(Simplifier *s, Form *f, kn_type type)
{
    Wide       lo, hi;
    const Wide modulus = (Wide)1 << type_bits(type);
    const Wide least   = type_min(type);
    form_range(s, f, &lo, &hi);
    if (lo <= -WIDE_MOST || hi >= WIDE_MOST)
        return false;
    const Wide shift = floor_div_wide(lo - least, modulus) * modulus;
    if (hi - shift > least + modulus - 1)
        return false;
    f->constant -= shift;
    f->bits = 0;
    return true;
}

bool form_exact(Simplifier *s, const Expr *e, Form *f)
{
    form_of(e, f);
    if (form_fit(s, f, (kn_type)e->type))
        return true;
    form_clear(f, 0);
    f->terms[f->count++] = (Term){ e, 1 };
    return false;
}

bool form_add_exact(Simplifier *s, Form *f, const Expr *e, int64_t k)
{
    Form g;
    form_exact(s, e, &g);
    return form_add(f, &g, k);
}

/* The term of a let, and its binding; -1 if there is none. */
static int find_let(Simplifier *s, const Form *f, const Binding **let)
{
    for (int i = 0; i < f->count; i++) {
        *let = f->terms[i].atom->op == EX_VAR ? map_get(&s->bindings, f->terms[i].atom->u.name) : NULL;
        if (*let && (*let)->low && (*let)->low == (*let)->high)
            return i;
    }
    return -1;
}

void form_without_lets(Simplifier *s, Form *f)
{
    const Binding *let;
    for (int i; (i = find_let(s, f, &let)) >= 0;) {
        const int64_t k = f->terms[i].k;
        Form          g;
        form_copy(&g, f);
        form_remove(&g, i);
        if (!form_add(&g, let->low, k))
            break;
        form_copy(f, &g);
    }
}

const Form *form_of_end(Simplifier *s, const Expr *e)
{
    Form *f = ARENA_NEW(s->arena, Form);
    form_exact(s, e, f);
    form_without_lets(s, f);
    return f;
}

/* ---- To expressions --------------------------------------------------------------------- */

static const Expr *add_part(ExprPool *pool, kn_type type, const Expr *sum, const Expr *part, bool minus)
{
    if (!sum)
        return minus ? expr_unary(pool, EX_NEG, type, part) : part;
    return expr_binary(pool, minus ? EX_SUB : EX_ADD, type, sum, part);
}

/* Positive terms, negative terms, the constant. Without a positive term a constant comes first: 3 - x. */
const Expr *form_expr(Simplifier *s, const Form *f, kn_type type)
{
    ExprPool     *pool     = s->pool;
    const Expr   *sum      = NULL;
    const int64_t constant = (int64_t)residue(type_bits(type), f->constant);
    bool          leading  = constant != 0;
    for (int i = 0; i < f->count; i++)
        leading &= f->terms[i].k < 0;
    if (leading)
        sum = expr_int(pool, type, constant);
    for (int minus = 0; minus < 2; minus++)
        for (int i = 0; i < f->count; i++) {
            const Term t = f->terms[i];
            if ((t.k < 0) != minus)
                continue;
            const bool     inside = !sum && t.k != -1; /* -2*x: the sign goes with the factor */
            const uint64_t k      = minus && !inside ? 0 - (uint64_t)t.k : (uint64_t)t.k;
            const Expr    *part =
                k == 1 ? t.atom : expr_binary(pool, EX_MUL, type, t.atom, expr_int(pool, type, (int64_t)k));
            sum = add_part(pool, type, sum, part, minus && !inside);
        }
    if (!sum || (constant && !leading)) {
        const bool minus = sum && constant < 0;
        sum = add_part(pool, type, sum, expr_int(pool, type, minus ? (int64_t)(0 - (uint64_t)constant) : constant),
                       minus);
    }
    return sum;
}
