/* SPDX-License-Identifier: MIT */
/* Quotients and remainders by positive constants, of numbers that did not wrap.
 *
 *     (c*a + r) / c       = a + r/c
 *     (c*a + r) % c       = r % c                          also of numbers that wrapped, if c divides 2^n
 *     (d*a + r) / (d*m)   = (a + r/d) / m
 *     (d*a + r) % (d*m)   = d * ((a + r/d) % m) + r % d
 *
 *     (m + r) / c         = m/c + r/c                      of m = min(c*a, c*b) and whatever else is known to be a
 *     multiple; (m + r) % c = r % c
 *
 * A let is taken for what it stands for where that has a multiple of c in it: of x = 32*i + lane, x / 2 is 16*i +
 * lane/2. The constant in a dividend is brought into 0 .. c-1, so that (x + 8)/4 and (x/4) + 2 are one. */
#include "ir/simplify_parts.h"

static bool divisor(const Expr *e, int64_t *c)
{
    *c = e->args[1]->op == EX_INT ? e->args[1]->u.i : 0;
    return is_integer(e) && *c > 0;
}

static bool fits_type(Simplifier *s, const Form *f, kn_type type)
{
    Wide        lo, hi;
    const Known all = known_type(type);
    form_range(s, f, &lo, &hi);
    return lo >= all.lo && hi <= all.hi;
}

/* Of c and the coefficients. */
static int64_t common_factor(const Form *f, int64_t c)
{
    for (int i = 0; i < f->count; i++)
        c = gcd(c, f->terms[i].k);
    return c;
}

static Wide modulo_wide(Wide a, Wide b)
{
    return a - floor_div_wide(a, b) * b;
}

/* f / d, each term being a multiple of d, the constant rounded down. */
static void divide_form(Form *f, int64_t d)
{
    for (int i = 0; i < f->count; i++)
        f->terms[i].k /= d;
    f->constant = floor_div_wide(f->constant, d);
}

/* Is k * atom known to be a multiple of c, but for a constant? */
static bool is_multiple(Simplifier *s, const Term *t, int64_t c)
{
    const Known k = known_of(s, t->atom);
    return t->k % c == 0 || (k.modulus > 1 && k.modulus % c == 0);
}

/* k * atom as a form, where the atom is a let of a sum or product and c divides some term of that; else false. */
static bool opened(Simplifier *s, const Term *t, int64_t c, Form *out)
{
    const Binding *b   = t->atom->op == EX_VAR ? map_get(&s->bindings, t->atom->u.name) : NULL;
    bool           any = false;
    *out               = (Form){ 0 };
    if (!b || !b->min || b->min != b->max || !form_add_exact(s, out, b->min, t->k))
        return false;
    for (int i = 0; i < out->count; i++)
        any |= is_multiple(s, &out->terms[i], c);
    return any && (out->count > 1 || out->terms[0].k % c == 0);
}

/* Lets whose values have multiples of c are replaced by these. */
static void open_lets(Simplifier *s, Form *n, int64_t c)
{
    for (int i = 0; i < n->count; i++) {
        Form value, sum = *n;
        if (n->terms[i].k % c == 0 || !opened(s, &n->terms[i], c, &value))
            continue;
        form_remove(&sum, i);
        if (form_add(&sum, &value, 1)) {
            *n = sum;
            i  = -1;
        }
    }
}

/* Is k * atom = *rest modulo c? */
static bool has_remainder(Simplifier *s, const Term *t, int64_t c, Wide *rest)
{
    const Known   k = known_of(s, t->atom);
    const int64_t d = c / gcd(c, t->k);
    *rest           = (Wide)t->k * k.remainder;
    return k.modulus % d == 0;
}

/* Takes from a sum of several terms those that are multiples of c for a reason of their own, like min(8*a, 8*b), and
 * adds their quotients to `whole`: they and the rest often change in different loops. */
static void take_multiples(Simplifier *s, Form *n, int64_t c, kn_type type, Form *whole)
{
    for (int i = n->count - 1; i >= 0 && n->count > 1; i--) {
        const int64_t common = gcd(c, n->terms[i].k);
        Form          more   = *whole;
        Wide          rest;
        if (!has_remainder(s, &n->terms[i], c, &rest) || modulo_wide(rest, c))
            continue;
        const Expr *part = make_binary(s, EX_DIV, type, n->terms[i].atom, make_int(s, type, c / common));
        if (form_add_exact(s, &more, part, n->terms[i].k / common)) {
            *whole = more;
            form_remove(n, i);
        }
    }
}

const Expr *step_divide(Simplifier *s, const Expr *e)
{
    int64_t       c;
    const kn_type type = (kn_type)e->type;
    Form          n, whole = { 0 };
    if (!divisor(e, &c) || !form_exact(s, e->args[0], &n))
        return e;
    open_lets(s, &n, c);
    for (int i = n.count - 1; i >= 0; i--)
        if (n.terms[i].k % c == 0) {
            form_add_term(&whole, n.terms[i].atom, n.terms[i].k / c);
            form_remove(&n, i);
        }
    take_multiples(s, &n, c, type, &whole);
    whole.constant += floor_div_wide(n.constant, c);
    n.constant      = modulo_wide(n.constant, c);
    const int64_t d = common_factor(&n, c);
    divide_form(&n, d);
    if (!fits_type(s, &n, type))
        return e;
    const Expr *rest = expr_binary(s->pool, EX_DIV, type, form_expr(s, &n, type), make_int(s, type, c / d));
    if (rest == e)
        return e;
    Form sum = { .bits = type_bits(type) };
    if (!n.count)
        return form_add(&sum, &whole, 1) ? form_expr(s, &sum, type) : e;
    const Expr *dividend = simplify_top(s, rest->args[0]);
    rest                 = make_binary(s, EX_DIV, type, dividend, rest->args[1]);
    if (!whole.count && !whole.constant)
        return rest;
    return form_add(&sum, &whole, 1) && form_add_value(&sum, rest, 1) ? form_expr(s, &sum, type) : e;
}

/* n % c, where n lies between two multiples of c: n less the lower one. */
static const Expr *between_multiples(Simplifier *s, const Form *n, int64_t c, kn_type type, Known known)
{
    const Wide q = floor_div_wide(known.lo, c);
    if (q != floor_div_wide(known.hi, c))
        return NULL;
    Form f = *n;
    f.constant -= q * c;
    return form_expr(s, &f, type);
}

const Expr *step_modulo(Simplifier *s, const Expr *e)
{
    int64_t       c;
    const kn_type type = (kn_type)e->type;
    Form          n;
    Wide          sure;
    if (!divisor(e, &c))
        return e;
    const bool exact = form_exact(s, e->args[0], &n);
    if (exact) {
        const Expr *inside = between_multiples(s, &n, c, type, known_of(s, e->args[0]));
        if (inside)
            return inside;
        open_lets(s, &n, c);
    } else if ((c & (c - 1)) == 0) {
        form_of(e->args[0], &n);
        n.bits = 0;
    } else {
        return e;
    }
    for (int i = n.count - 1; i >= 0; i--)
        if (has_remainder(s, &n.terms[i], c, &sure)) {
            n.constant += sure;
            form_remove(&n, i);
        } else if (n.terms[i].k >= c || n.terms[i].k <= -c) {
            n.terms[i].k = floor_mod(n.terms[i].k, c);
        }
    n.constant         = modulo_wide(n.constant, c);
    const int64_t d    = exact ? common_factor(&n, c) : 1;
    const int64_t rest = (int64_t)modulo_wide(n.constant, d);
    divide_form(&n, d);
    if (exact && !fits_type(s, &n, type))
        return e;
    if (!n.count)
        return make_int(s, type, d * modulo_wide(n.constant, c / d) + rest);
    const Expr *dividend = form_expr(s, &n, type);
    const Expr *result   = expr_binary(s->pool, EX_MOD, type, dividend, make_int(s, type, c / d));
    if (result == e)
        return e;
    result   = make_binary(s, EX_MOD, type, simplify_top(s, dividend), make_int(s, type, c / d));
    Form sum = { .bits = type_bits(type), .constant = rest };
    return form_add_value(&sum, result, d) ? form_expr(s, &sum, type) : e;
}
