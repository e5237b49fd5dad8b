/* SPDX-License-Identifier: MIT */
/* Sums: one form, in order, in which quotients meet their remainders and min and max meet what they are compared with.
 *
 *     k*n - k*c*(n/c)            = k*(n%c)           for any n: that is what % means
 *     k*c*(n/c) + k*(n%c)        = k*n
 *     k*min(a+d, b+d) - k*min(a, b) = k*d            where nothing wraps
 *     r + min(a, b)              = min(r+a, r+b)     where nothing wraps and fewer terms are left:
 *                                                    min(x + 7, n - 1) - x = min(n - x - 1, 7) */
#include "ir/simplify_parts.h"

static int64_t coefficient(const Form *f, const Expr *atom)
{
    for (int i = 0; i < f->count; i++)
        if (f->terms[i].atom == atom)
            return f->terms[i].k;
    return 0;
}

static bool is_by_constant(const Expr *e, ExprOp op)
{
    return e->op == op && e->args[1]->op == EX_INT && e->args[1]->u.i != 0;
}

/* Term i is k * (n % c), and k*c * (n / c) is there too: both become k * n. */
static bool join_parts(Form *f, int i)
{
    const Expr   *mod = f->terms[i].atom;
    const int64_t k   = f->terms[i].k;
    for (int j = 0; j < f->count; j++) {
        const Expr *div = f->terms[j].atom;
        int64_t     kc;
        if (!is_by_constant(div, EX_DIV) || div->args[0] != mod->args[0] || div->args[1] != mod->args[1] ||
            __builtin_mul_overflow(k, mod->args[1]->u.i, &kc) || f->terms[j].k != kc)
            continue;
        Form g;
        form_copy(&g, f);
        form_remove(&g, i > j ? i : j);
        form_remove(&g, i > j ? j : i);
        if (!form_add_value(&g, mod->args[0], k))
            return false;
        form_copy(f, &g);
        return true;
    }
    return false;
}

/* Term i is -k*c * (n / c), and all terms of k * n are there too: they become k * (n % c). */
static bool make_remainder(Simplifier *s, Form *f, int i)
{
    const Expr   *div = f->terms[i].atom;
    const int64_t c = div->args[1]->u.i, kc = f->terms[i].k;
    if (c == -1 || kc % c)
        return false;
    const int64_t k = -(kc / c);
    Form          n, g;
    form_copy(&g, f);
    form_of(div->args[0], &n);
    for (int t = 0; t < n.count; t++) {
        int64_t wanted;
        if (__builtin_mul_overflow(k, n.terms[t].k, &wanted) || coefficient(f, n.terms[t].atom) != wanted)
            return false;
    }
    form_remove(&g, i);
    if (!n.count || !form_add(&g, &n, -k) ||
        !form_add_value(&g, make_binary(s, EX_MOD, (kn_type)div->type, div->args[0], div->args[1]), k))
        return false;
    form_copy(f, &g);
    return true;
}

static bool join_quotients(Simplifier *s, Form *f)
{
    for (int i = 0; i < f->count; i++) {
        if (is_by_constant(f->terms[i].atom, EX_MOD) && join_parts(f, i))
            return true;
        if (is_by_constant(f->terms[i].atom, EX_DIV) && make_remainder(s, f, i))
            return true;
    }
    return false;
}

/* The operands of nested min (or max), in their order; 0 if there are too many. */
static int operands(const Expr *e, ExprOp op, const Expr **out, int count)
{
    if (e->op != op) {
        if (count == MOST_OPERANDS)
            return 0;
        out[count] = e;
        return count + 1;
    }
    count = operands(e->args[0], op, out, count);
    return count ? operands(e->args[1], op, out, count) : 0;
}

/* The one of the operands that differs from `e` by a constant, which is e - it; -1 if there is none. */
static int at_distance(Simplifier *s, const Expr *e, const Expr *const *among, int count, Wide *distance)
{
    for (int i = 0; i < count; i++) {
        Form d;
        form_clear(&d, 0);
        if (form_add_exact(s, &d, e, 1) && form_add_exact(s, &d, among[i], -1) && !d.count) {
            *distance = d.constant;
            return i;
        }
    }
    return -1;
}

/* Is each operand of a one of b plus the same constant, in whatever order? */
static bool same_distance(Simplifier *s, const Expr *a, const Expr *b, Wide *distance)
{
    const Expr *in_a[MOST_OPERANDS], *in_b[MOST_OPERANDS];
    const int   count = operands(a, (ExprOp)a->op, in_a, 0);
    if (!count || operands(b, (ExprOp)b->op, in_b, 0) != count)
        return false;
    for (int i = 0; i < count; i++) {
        Wide      d;
        const int j = at_distance(s, in_a[i], in_b, count - i, &d);
        if (j < 0 || (i && d != *distance))
            return false;
        *distance = d;
        in_b[j]   = in_b[count - i - 1];
    }
    return true;
}

static bool is_extreme(const Expr *e)
{
    return e->op == EX_MIN || e->op == EX_MAX;
}

bool form_cancel_extremes(Simplifier *s, Form *f)
{
    for (int i = 0; i < f->count; i++)
        for (int j = i + 1; is_extreme(f->terms[i].atom) && j < f->count; j++) {
            const Expr *a = f->terms[i].atom, *b = f->terms[j].atom;
            Wide        distance = 0;
            if (a->op != b->op || f->terms[i].k != -f->terms[j].k || !same_distance(s, a, b, &distance))
                continue;
            Form shift;
            form_clear(&shift, 0);
            shift.constant = distance;
            if (!form_add(f, &shift, f->terms[i].k))
                return false;
            form_remove(f, j);
            form_remove(f, i);
            return true;
        }
    return false;
}

/* Terms, and the constant beside them. */
static int size(const Form *f)
{
    return f->count + (f->count && f->constant);
}

/* The operands of an extreme, as forms. */
typedef struct Choices {
    int  count;
    Form at[MOST_OPERANDS];
} Choices;

static bool occurs(const Choices *c, const Expr *atom)
{
    for (int n = 0; n < c->count; n++)
        if (coefficient(&c->at[n], atom))
            return true;
    return false;
}

/* r + k * operand for each operand, if each is in the type and fewer terms are left than r and the operands had. */
static bool add_inside(Simplifier *s, Choices *c, const Form *r, int64_t k, kn_type type)
{
    const Known all   = known_type(type);
    int         saved = r->count + (r->constant != 0);
    for (int n = 0; n < c->count; n++) {
        Form part;
        Wide lo, hi;
        form_copy(&part, r);
        if (!form_add(&part, &c->at[n], k))
            return false;
        form_range(s, &part, &lo, &hi);
        if (lo < all.lo || hi > all.hi)
            return false;
        saved += size(&c->at[n]) - size(&part);
        form_copy(&c->at[n], &part);
    }
    return saved > 0;
}

/* Term i is k*min(…), k = ±1. What moves inside: the terms of the sum that occur there too; or else the constant. */
static const Expr *move_inside(Simplifier *s, const Form *sum, int i, bool constant, kn_type type)
{
    const Expr   *in[MOST_OPERANDS], *atom = sum->terms[i].atom, *result = NULL;
    const int64_t k = sum->terms[i].k;
    Choices       c;
    Form          rest, outside;
    c.count = operands(atom, (ExprOp)atom->op, in, 0);
    form_clear(&rest, sum->bits);
    form_clear(&outside, sum->bits);
    *(constant ? &rest.constant : &outside.constant) = sum->constant;
    for (int n = 0; n < c.count; n++)
        form_exact(s, in[n], &c.at[n]);
    for (int n = 0; n < sum->count; n++)
        if (n != i)
            form_add_term(!constant && occurs(&c, sum->terms[n].atom) ? &rest : &outside, sum->terms[n].atom,
                          sum->terms[n].k);
    if (!c.count || (!rest.count && !rest.constant) || !form_add_term(&rest, atom, k) || !form_fit(s, &rest, type))
        return NULL;
    form_add_term(&rest, atom, -k);
    if (!add_inside(s, &c, &rest, k, type))
        return NULL;
    for (int n = 0; n < c.count; n++) {
        const Expr *e = simplify_top(s, form_expr(s, &c.at[n], type));
        result        = result ? make_binary(s, (atom->op == EX_MIN) == (k > 0) ? EX_MIN : EX_MAX, type, result, e) : e;
    }
    return form_add_value(&outside, result, 1) ? form_expr(s, &outside, type) : NULL;
}

static const Expr *move_into_extreme(Simplifier *s, const Form *f, kn_type type)
{
    for (int i = 0; i < f->count; i++)
        if (is_extreme(f->terms[i].atom) && (f->terms[i].k == 1 || f->terms[i].k == -1)) {
            const Expr *e = move_inside(s, f, i, false, type);
            if (!e)
                e = move_inside(s, f, i, true, type);
            if (e)
                return e;
        }
    return NULL;
}

/* A sum whose sum of all terms but the last is simplified. */
static const Expr *with_simple_head(Simplifier *s, const Expr *e)
{
    if (e->op != EX_ADD && e->op != EX_SUB)
        return e;
    const Expr *head = simplify_top(s, e->args[0]);
    return head == e->args[0] ? e : expr_binary(s->pool, (ExprOp)e->op, (kn_type)e->type, head, e->args[1]);
}

const Expr *step_sum(Simplifier *s, const Expr *e)
{
    Form f;
    if (!is_integer(e))
        return e;
    form_of(e, &f);
    while (join_quotients(s, &f) || form_cancel_extremes(s, &f))
        context_spend(s->pool->cx, 1);
    const Expr *moved = move_into_extreme(s, &f, (kn_type)e->type);
    return moved ? moved : with_simple_head(s, form_expr(s, &f, (kn_type)e->type));
}

/* e = *k * rest. */
static const Expr *without_factor(const Expr *e, int64_t *k)
{
    Form f;
    form_of(e, &f);
    *k = 1;
    if (f.count != 1 || f.constant)
        return e;
    *k = f.terms[0].k;
    return f.terms[0].atom;
}

/* Constant factors stand outside, the others in order. */
const Expr *step_product(Simplifier *s, const Expr *e)
{
    if (!is_integer(e))
        return e;
    if (e->args[0]->op == EX_INT || e->args[1]->op == EX_INT)
        return step_sum(s, e);
    int64_t       ka, kb;
    const kn_type type = (kn_type)e->type;
    const Expr   *a = without_factor(e->args[0], &ka), *b = without_factor(e->args[1], &kb);
    const bool    swap = expr_order(b, a) < 0;
    const Expr   *p    = expr_binary(s->pool, EX_MUL, type, swap ? b : a, swap ? a : b);
    const int64_t k    = (int64_t)((uint64_t)ka * (uint64_t)kb);
    if (k == 1)
        return p;
    return make_binary(s, EX_MUL, type, simplify_top(s, p), expr_int(s->pool, type, k));
}
