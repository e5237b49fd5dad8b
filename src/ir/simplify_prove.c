/* SPDX-License-Identifier: MIT */
/* Proofs about forms: numbers that they are never below.
 *
 * A form of integers is bounded below by its terms' intervals. It is also never below the form in which a term k * atom
 * is replaced by something not above it:
 *     min(a, b), if      with k > 0: the smaller of what a and b give;  with k < 0: the larger
 *     max(a, b)          the other way round
 *     n / c              (n - c + 1) / c for k > 0, n / c for k < 0, the form being multiplied by c
 *     a variable         the near end of its range, innermost scope first
 * and first of all, what a let stands for if that is a min or max: two of them may cancel. So may one with the end of
 * a variable's range. All of these are tried in this order, a bounded number of times. Facts that hold where the form
 * stands are taken away from it first: f >= 0 if f - g >= 0 and g >= 0. */
#include "ir/simplify_parts.h"

typedef struct Proof {
    Simplifier *s;
    Wide        enough;
    int         steps;
} Proof;

static Wide lower(Proof *p, const Form *f);

/* f with term i replaced by k times `by`. */
static bool replaced(Simplifier *s, const Form *f, int i, const Expr *by, Form *out)
{
    const int64_t k = f->terms[i].k;
    form_copy(out, f);
    form_remove(out, i);
    return form_add_exact(s, out, by, k);
}

static bool is_same_value(Simplifier *s, const Expr *cast)
{
    const Expr *a = cast->args[0];
    return cast->op == EX_CAST && is_integer(cast) && is_integer(a) && known_fits(known_of(s, a), (kn_type)cast->type);
}

static Wide lower_of_choice(Proof *p, const Form *f, int i)
{
    const Expr *atom  = f->terms[i].atom;
    const bool  any   = atom->op != EX_SELECT && (atom->op == EX_MAX) == (f->terms[i].k > 0);
    const int   first = atom->op == EX_SELECT;
    Form        a, b;
    const bool  has_a = replaced(p->s, f, i, atom->args[first], &a),
               has_b  = replaced(p->s, f, i, atom->args[first + 1], &b);
    const Wide la     = has_a ? lower(p, &a) : -WIDE_MOST;
    if (any && la >= p->enough)
        return la;
    if (!any && la <= -WIDE_MOST)
        return la;
    const Wide lb = has_b ? lower(p, &b) : -WIDE_MOST;
    return any ? wide_max(la, lb) : wide_min(la, lb);
}

/* k * (n / c) for c > 0: c / g * f with g = gcd(c, k), in which the term is k / g * n, less k / g * (c - 1) if k >
 * 0. */
static Wide lower_of_quotient(Proof *p, const Form *f, int i)
{
    const Expr   *atom = f->terms[i].atom;
    const int64_t k = f->terms[i].k, c = atom->args[1]->u.i, g = gcd(c, k);
    const int64_t scale = c / g;
    Form          rest, scaled;
    form_copy(&rest, f);
    form_remove(&rest, i);
    form_clear(&scaled, 0);
    if (!form_add(&scaled, &rest, scale) || !form_add_exact(p->s, &scaled, atom->args[0], k / g))
        return -WIDE_MOST;
    if (k > 0)
        scaled.constant -= (Wide)(k / g) * (c - 1);
    const Wide enough = p->enough;
    p->enough         = enough >= WIDE_MOST ? WIDE_MOST : (enough - 1) * scale + 1;
    const Wide l      = lower(p, &scaled);
    p->enough         = enough;
    return l <= -WIDE_MOST ? l : -floor_div_wide(-l, scale);
}

/* What the variable of a let stands for, if there is a min or max in it; else NULL. */
static const Form *let_extreme(Simplifier *s, const Expr *atom)
{
    const Binding *b = atom->op == EX_VAR ? map_get(&s->bindings, atom->u.name) : NULL;
    if (!b || b->low != b->high)
        return NULL;
    for (int i = 0; b->low && i < b->low->count; i++)
        if (b->low->terms[i].atom->op == EX_MIN || b->low->terms[i].atom->op == EX_MAX)
            return b->low;
    return NULL;
}

/* The near end of the range of a variable, if a min, max or choice in it cancels with another term of the form; else
 * NULL. Opened, such a term would cancel no more. */
static const Form *cancelling_end(Simplifier *s, const Form *f, int i)
{
    const Expr    *atom = f->terms[i].atom;
    const Binding *b    = atom->op == EX_VAR ? map_get(&s->bindings, atom->u.name) : NULL;
    const Form    *end  = !b || b->low == b->high ? NULL : f->terms[i].k > 0 ? b->low : b->high;
    for (int j = 0; end && j < end->count; j++)
        for (int k = 0; k < f->count; k++) {
            const Expr *other  = f->terms[k].atom;
            const bool  opened = other->op == EX_MIN || other->op == EX_MAX || other->op == EX_SELECT;
            if (opened && other == end->terms[j].atom && f->terms[i].k * end->terms[j].k == -f->terms[k].k)
                return end;
        }
    return NULL;
}

/* The term to be replaced next: by the form, if there is one, else in a way that its operator decides. -1: none. Lets
 * come before quotients: these lose their remainder when they are replaced, and one may cancel with what a let stands
 * for. */
static int next_term(Simplifier *s, const Form *f, const Form **by)
{
    int  quotient = -1, variable = -1, level = -1;
    bool exact = false;
    for (int i = 0; i < f->count; i++)
        if ((*by = let_extreme(s, f->terms[i].atom)))
            return i;
    for (int i = 0; i < f->count; i++)
        if ((*by = cancelling_end(s, f, i)))
            return i;
    for (int i = 0; i < f->count; i++) {
        const Expr *atom = f->terms[i].atom;
        if (atom->op == EX_MIN || atom->op == EX_MAX || atom->op == EX_SELECT ||
            (atom->op == EX_CAST && is_same_value(s, atom))) {
            *by = NULL;
            return i;
        }
        if (atom->op == EX_DIV && atom->args[1]->op == EX_INT && atom->args[1]->u.i > 0)
            quotient = i;
        if (atom->op != EX_VAR)
            continue;
        const Binding *b   = map_get(&s->bindings, atom->u.name);
        const Form    *end = !b ? NULL : f->terms[i].k > 0 ? b->low : b->high;
        const bool     let = end && b->low == b->high;
        if (end && end->count && (let > exact || (let == exact && b->level > level))) {
            level    = b->level;
            exact    = let;
            variable = i;
            *by      = end;
        }
    }
    if (quotient < 0 || exact)
        return variable;
    *by = NULL;
    return quotient;
}

/* Term i replaced by k times a form. */
static Wide lower_of_end(Proof *p, const Form *f, int i, const Form *by)
{
    Form next;
    form_copy(&next, f);
    form_remove(&next, i);
    return form_add(&next, by, f->terms[i].k) ? lower(p, &next) : -WIDE_MOST;
}

static Wide lower_of_cast(Proof *p, const Form *f, int i)
{
    Form next;
    return replaced(p->s, f, i, f->terms[i].atom->args[0], &next) ? lower(p, &next) : -WIDE_MOST;
}

static Wide lower(Proof *p, const Form *whole)
{
    Wide        best, hi;
    const Form *by;
    Form        without;
    form_copy(&without, whole);
    while (form_cancel_extremes(p->s, &without))
        ;
    const Form *f = &without;
    form_range(p->s, f, &best, &hi);
    context_spend(p->s->pool->cx, 1);
    if (best >= p->enough || (hi < p->enough && p->enough < WIDE_MOST) || --p->steps < 0)
        return best;
    const int i = next_term(p->s, f, &by);
    if (i < 0)
        return best;
    const ExprOp op = (ExprOp)f->terms[i].atom->op;
    const Wide   l  = by              ? lower_of_end(p, f, i, by)
                      : op == EX_DIV  ? lower_of_quotient(p, f, i)
                      : op == EX_CAST ? lower_of_cast(p, f, i)
                                      : lower_of_choice(p, f, i);
    return wide_max(best, l);
}

Wide form_lower(Simplifier *s, const Form *f, Wide enough)
{
    Proof p = { s, enough, enough >= WIDE_MOST ? RANGE_STEPS : PROOF_STEPS };
    return lower(&p, f);
}

/* f >= 0 itself, or f >= g for a fact g >= 0 (or the sum of two) with which a term cancels. */
static bool prove_with_facts(Proof *p, const Form *f, int depth)
{
    const Simplifier *s = p->s;
    if (lower(p, f) >= 0)
        return true;
    for (size_t n = 0; depth && p->steps > 0 && n < s->facts.count && n < MOST_FACTS; n++) {
        const Fact *fact = &s->facts.at[s->facts.count - 1 - n];
        Form        rest;
        if (!fact->has_form)
            continue;
        form_copy(&rest, f);
        if (form_add(&rest, &fact->form, -1) && rest.count <= f->count + fact->form.count - 2 &&
            prove_with_facts(p, &rest, depth - 1))
            return true;
    }
    return false;
}

/* Is it a fact, but for a constant? Asked first, before what lets stand for uses up the steps of a proof. */
static bool is_fact(const Simplifier *s, const Form *f)
{
    for (size_t n = 0; n < s->facts.count && n < MOST_FACTS; n++) {
        const Fact *fact = &s->facts.at[s->facts.count - 1 - n];
        Form        rest;
        if (!fact->has_form || fact->form.count != f->count)
            continue;
        form_copy(&rest, f);
        if (form_add(&rest, &fact->form, -1) && !rest.count && rest.constant >= 0)
            return true;
    }
    return false;
}

static bool prove_nonnegative(Simplifier *s, const Form *f)
{
    if (is_fact(s, f))
        return true;
    Proof p = { s, 0, 2 * PROOF_STEPS };
    return prove_with_facts(&p, f, 2);
}

/* scale * f + constant >= 0? */
static bool proves(Simplifier *s, const Form *f, int64_t scale, int64_t constant)
{
    Form g;
    form_clear(&g, 0);
    if (!form_add(&g, f, scale))
        return false;
    g.constant += constant;
    return prove_nonnegative(s, &g);
}

/* Are a and b of different remainders? */
static bool remainders_differ(Known a, Known b)
{
    const int64_t m = gcd(a.modulus, b.modulus);
    Wide          d = (Wide)a.remainder - b.remainder;
    return m ? d % m != 0 : d != 0;
}

/* Does the comparison (LT, LE or EQ of integers) always have that value, by forms and facts? */
static bool prove_value(Simplifier *s, const Expr *comparison, bool value)
{
    Form d;
    if (comparison->op != EX_EQ)
        return form_condition(s, comparison, value, &d) && prove_nonnegative(s, &d);
    form_clear(&d, 0);
    if (!form_add_exact(s, &d, comparison->args[1], 1) || !form_add_exact(s, &d, comparison->args[0], -1))
        return false;
    return value ? !d.count && !d.constant : proves(s, &d, 1, -1) || proves(s, &d, -1, -1);
}

/* The same, and remembered: the operands of long chains of min and max are compared again and again. */
static bool is_always(Simplifier *s, ExprOp op, const Expr *a, const Expr *b, bool value)
{
    const Expr *comparison = expr_binary(s->pool, op, KN_BOOL, a, b);
    const int   shift      = value ? 0 : 2;
    if (!(answer_for(s, comparison)->proved >> shift & PROOF_TRIED)) {
        const bool holds = prove_value(s, comparison, value);
        answer_for(s, comparison)->proved |= (uint8_t)((PROOF_TRIED | (holds ? PROOF_FOUND : 0)) << shift);
    }
    return answer_for(s, comparison)->proved >> shift & PROOF_FOUND;
}

bool prove_at_most(Simplifier *s, const Expr *a, const Expr *b)
{
    const Known ka = known_of(s, a), kb = known_of(s, b);
    return a == b || ka.hi <= kb.lo || (ka.lo <= kb.hi && is_always(s, EX_LE, a, b, true));
}

int prove_compare(Simplifier *s, ExprOp op, const Expr *a, const Expr *b)
{
    if (op == EX_NE) {
        const int equal = prove_compare(s, EX_EQ, a, b);
        return equal < 0 ? equal : !equal;
    }
    const Known ka = known_of(s, a), kb = known_of(s, b);
    if (a == b)
        return op != EX_LT;
    if (ka.hi < kb.lo)
        return op != EX_EQ;
    if (kb.hi < ka.lo)
        return 0;
    if (op == EX_LE && ka.hi <= kb.lo)
        return 1;
    if (op == EX_LT && kb.hi <= ka.lo)
        return 0;
    if (op == EX_EQ && remainders_differ(ka, kb))
        return 0;
    return is_always(s, op, a, b, true) ? 1 : is_always(s, op, a, b, false) ? 0 : -1;
}

bool form_condition(Simplifier *s, const Expr *condition, bool value, Form *f)
{
    if ((condition->op != EX_LT && condition->op != EX_LE) || !is_integer(condition->args[0]))
        return false;
    const int strict = condition->op == EX_LT;
    form_clear(f, 0);
    if (!form_add_exact(s, f, condition->args[1], value ? 1 : -1) ||
        !form_add_exact(s, f, condition->args[0], value ? -1 : 1))
        return false;
    f->constant -= value ? strict : 1 - strict;
    return true;
}

int implied(Simplifier *s, const Expr *given, bool value, const Expr *asked)
{
    Form g, yes, no;
    if (given == asked)
        return value;
    if (!form_condition(s, given, value, &g) || !form_condition(s, asked, true, &yes) ||
        !form_condition(s, asked, false, &no))
        return -1;
    if (form_add(&yes, &g, -1) && form_lower(s, &yes, 0) >= 0)
        return 1;
    if (form_add(&no, &g, -1) && form_lower(s, &no, 0) >= 0)
        return 0;
    return -1;
}
