/* SPDX-License-Identifier: MIT */
/* Min, max and comparisons of integers that did not wrap, and conditions that imply each other. */
#include "ir/simplify_parts.h"

/* ---- min and max ------------------------------------------------------------------------ */

typedef struct Operands {
    int         count;
    const Expr *at[MOST_OPERANDS];
} Operands;

/* The operands of nested min (or max); a nested one that would be too many stays whole. */
static void collect(Operands *o, const Expr *e, ExprOp op, int reserve)
{
    if (e->op == op && o->count + reserve + 2 <= MOST_OPERANDS) {
        collect(o, e->args[0], op, reserve + 1);
        collect(o, e->args[1], op, reserve);
        return;
    }
    o->at[o->count++] = e;
}

static void remove_operand(Operands *o, int i)
{
    o->count--;
    memmove(&o->at[i], &o->at[i + 1], (size_t)(o->count - i) * sizeof o->at[0]);
}

/* Drops each operand that another one is never above (for max: never below). */
static void drop_dominated(Simplifier *s, Operands *o, bool is_max)
{
    for (int i = 0; i < o->count; i++)
        for (int j = o->count - 1; j >= 0; j--) {
            if (i == j || !prove_at_most(s, o->at[is_max ? j : i], o->at[is_max ? i : j]))
                continue;
            remove_operand(o, j);
            i -= j < i;
        }
}

static void sort_operands(Operands *o)
{
    for (int i = 1; i < o->count; i++)
        for (int j = i; j > 0 && expr_order(o->at[j], o->at[j - 1]) < 0; j--) {
            const Expr *t = o->at[j];
            o->at[j]      = o->at[j - 1];
            o->at[j - 1]  = t;
        }
}

/* The terms, and the constant, that all the operands have alike; false if there are none or the operands without them
 * might wrap. */
static bool common_part(Simplifier *s, const Operands *o, kn_type type, Form *common, Form *rest)
{
    const Known all = known_type(type);
    for (int i = 0; i < o->count; i++)
        if (!form_exact(s, o->at[i], &rest[i]))
            return false;
    *common       = (Form){ 0 };
    bool constant = rest[0].constant != 0;
    for (int i = 0; i < o->count; i++)
        constant &= rest[i].constant == rest[0].constant && rest[i].count > 0;
    common->constant = constant ? rest[0].constant : 0;
    for (int t = 0; t < rest[0].count; t++) {
        bool alike = true;
        for (int i = 1; i < o->count && alike; i++) {
            alike = false;
            for (int u = 0; u < rest[i].count; u++)
                alike |= rest[i].terms[u].atom == rest[0].terms[t].atom && rest[i].terms[u].k == rest[0].terms[t].k;
        }
        if (alike)
            form_add_term(common, rest[0].terms[t].atom, rest[0].terms[t].k);
    }
    if (!common->count && !common->constant)
        return false;
    for (int i = 0; i < o->count; i++) {
        Wide lo, hi;
        if (!form_add(&rest[i], common, -1))
            return false;
        form_range(s, &rest[i], &lo, &hi);
        if (lo < all.lo || hi > all.hi)
            return false;
    }
    return true;
}

/* One in the other, each but the outermost simplified. */
static const Expr *nested(Simplifier *s, const Operands *o, ExprOp op, kn_type type)
{
    const Expr *e = o->at[0];
    for (int i = 1; i < o->count; i++)
        e = expr_binary(s->pool, op, type, i > 1 ? simplify_top(s, e) : e, o->at[i]);
    return e;
}

/* Nested ones are one set of operands, in order, constants last, none of them provably needless; what all have in
 * common stands outside. */
const Expr *step_extreme(Simplifier *s, const Expr *e)
{
    const ExprOp  op   = (ExprOp)e->op;
    const kn_type type = (kn_type)e->type;
    Operands      o    = { 0 };
    Form          common, rest[MOST_OPERANDS];
    if (!is_integer(e))
        return e;
    collect(&o, e, op, 0);
    drop_dominated(s, &o, op == EX_MAX);
    if (o.count > 1 && common_part(s, &o, type, &common, rest)) {
        for (int i = 0; i < o.count; i++)
            o.at[i] = simplify_top(s, form_expr(s, &rest[i], type));
        const Expr *inner = simplify_top(s, nested(s, &o, op, type));
        Form        sum   = { .bits = type_bits(type) };
        if (form_add(&sum, &common, 1) && form_add_value(&sum, inner, 1))
            return form_expr(s, &sum, type);
    }
    sort_operands(&o);
    return nested(s, &o, op, type);
}

/* ---- Comparisons ------------------------------------------------------------------------ */

static int64_t common_factor(const Form *f)
{
    int64_t g = 0;
    for (int i = 0; i < f->count; i++)
        g = gcd(g, f->terms[i].k);
    return g;
}

/* The terms of one sign, made positive. */
static Form side(const Form *f, bool positive)
{
    Form r = { 0 };
    for (int i = 0; i < f->count; i++)
        if ((f->terms[i].k > 0) == positive)
            r.terms[r.count++] = (Term){ f->terms[i].atom, positive ? f->terms[i].k : -f->terms[i].k };
    return r;
}

static bool fits(Simplifier *s, const Form *f, kn_type type)
{
    Wide        lo, hi;
    const Known all = known_type(type);
    form_range(s, f, &lo, &hi);
    return lo >= all.lo && hi <= all.hi;
}

static const Expr *compare_forms(Simplifier *s, ExprOp op, const Form *left, const Form *right, kn_type type)
{
    const Expr *a = simplify_top(s, form_expr(s, left, type)), *b = simplify_top(s, form_expr(s, right, type));
    return expr_binary(s->pool, op, KN_BOOL, a, b);
}

/* d >= 0 as "terms <= terms + constant", with the largest common factor taken out: sum of k*x + c >= 0 iff sum of k/g*x
 * + floor(c/g) >= 0. */
static const Expr *reduced_order(Simplifier *s, const Expr *e, Form *d, kn_type type)
{
    const int64_t g = common_factor(d);
    for (int i = 0; i < d->count; i++)
        d->terms[i].k /= g;
    d->constant = floor_div_wide(d->constant, g);
    Form   left = side(d, false), right = side(d, true);
    ExprOp op = EX_LE;
    if (left.count && right.count && d->constant == -1)
        op = EX_LT;
    else if (right.count && !left.count)
        left.constant = -d->constant;
    else
        right.constant = d->constant;
    return fits(s, &left, type) && fits(s, &right, type) ? compare_forms(s, op, &left, &right, type) : e;
}

/* d == 0 as "terms == terms + constant", the first term positive. Modulo 2^n this needs no proof, but a common factor
 * may be taken out of integers only. */
static const Expr *reduced_equality(Simplifier *s, const Expr *e, Form *d, kn_type type)
{
    if (!d->bits) {
        const int64_t g = common_factor(d);
        if (d->constant % g)
            return expr_bool(s->pool, e->op == EX_NE);
        for (int i = 0; i < d->count; i++)
            d->terms[i].k /= g;
        d->constant /= g;
    }
    const bool first = d->terms[0].k > 0;
    Form       left = side(d, first), right = side(d, !first);
    right.constant = first ? -d->constant : d->constant;
    left.bits = right.bits = type_bits(type);
    return compare_forms(s, (ExprOp)e->op, &left, &right, type);
}

const Expr *step_compare(Simplifier *s, const Expr *e)
{
    const ExprOp  op   = (ExprOp)e->op;
    const kn_type type = (kn_type)e->args[0]->type;
    Form          a, b, d = { 0 };
    if (!type_is_int(type))
        return e;
    const int answer = prove_compare(s, op, e->args[0], e->args[1]);
    if (answer >= 0)
        return expr_bool(s->pool, answer);
    const bool left = form_exact(s, e->args[0], &a), exact = form_exact(s, e->args[1], &b) && left;
    if (op == EX_LT || op == EX_LE) {
        if (!exact || !form_add(&d, &b, 1) || !form_add(&d, &a, -1) || !d.count)
            return e;
        d.constant -= op == EX_LT;
        return reduced_order(s, e, &d, type);
    }
    if (!exact) {
        d.bits = type_bits(type);
        form_of(e->args[0], &a);
        form_of(e->args[1], &b);
    }
    if (!form_add(&d, &a, 1) || !form_add(&d, &b, -1))
        return e;
    if (!d.count)
        return expr_bool(s->pool, (d.constant == 0) == (op == EX_EQ));
    return reduced_equality(s, e, &d, type);
}

/* ---- Conditions ------------------------------------------------------------------------- */

/* implied() by any of the conditions that `given` joins with the same operator. */
static int implied_by_any(Simplifier *s, const Expr *given, ExprOp op, const Expr *asked, int depth)
{
    if (given->op != op || !depth)
        return implied(s, given, op == EX_AND, asked);
    const int answer = implied_by_any(s, given->args[1], op, asked, depth - 1);
    return answer >= 0 ? answer : implied_by_any(s, given->args[0], op, asked, depth - 1);
}

/* Of two conditions joined by && (||): where one decides the other, one is enough. A first one that may guard reads of
 * the second stays. */
const Expr *step_logic(Simplifier *s, const Expr *e)
{
    const ExprOp op = (ExprOp)e->op;
    const Expr  *a = e->args[0], *b = e->args[1];
    const int    then = implied_by_any(s, a, op, b, 3);
    if (then >= 0)
        return then == (op == EX_AND) ? a : expr_bool(s->pool, op == EX_OR);
    if (implied_by_any(s, b, op, a, 3) == (op == EX_AND) && is_plain(s->pool, b))
        return b;
    return e;
}
