/* SPDX-License-Identifier: MIT */
/* What is known of the value of each node: the interval it lies in, and its remainder modulo some number.
 *
 * Intervals are of integers, before wrapping: an operator's interval is computed as if it did not wrap, and where that
 * leaves the type the whole type is the answer. A remainder modulo m survives wrapping modulo 2^n as one modulo gcd(m,
 * 2^n). Remainders as in Granger, "Static analysis of arithmetical congruences", 1989. Answers are kept per node and
 * scope. */
#include "ir/simplify_parts.h"

static const int64_t most_modulus  = (int64_t)1 << 30;
static const Wide    most_variable = (Wide)1
                                  << 28; /* of an i32 variable: a coordinate, checked when compiled code is called */

int64_t gcd(int64_t a, int64_t b)
{
    uint64_t x = a < 0 ? 0 - (uint64_t)a : (uint64_t)a, y = b < 0 ? 0 - (uint64_t)b : (uint64_t)b;
    while (y) {
        const uint64_t r = x % y;
        x                = y;
        y                = r;
    }
    return x > INT64_MAX ? (int64_t)1 << 62
                         : (int64_t)x; /* of the least value with itself or 0: half of it divides too */
}

Wide floor_div_wide(Wide a, Wide b)
{
    return a / b - (a % b < 0);
}

/* ---- Values of Known -------------------------------------------------------------------- */

static Known interval(Wide lo, Wide hi)
{
    return (Known){ lo, hi, 1, 0 };
}

static Known constant(Wide v)
{
    const bool small = v >= INT64_MIN && v <= INT64_MAX;
    return (Known){ v, v, small ? 0 : 1, small ? (int64_t)v : 0 };
}

Known known_type(kn_type t)
{
    if (!type_is_int(t))
        return interval(0, 1);
    return interval(type_min(t), (Wide)type_min(t) + ((Wide)1 << type_bits(t)) - 1);
}

bool known_fits(Known k, kn_type t)
{
    const Known all = known_type(t);
    return k.lo >= all.lo && k.hi <= all.hi;
}

/* With a remainder modulo m; m = 0: the value. */
static Known with_remainder(Known k, int64_t m, int64_t r)
{
    if (m > most_modulus)
        m = m & -m; /* its power of two is the part worth keeping */
    if (m > most_modulus)
        m = most_modulus;
    k.modulus   = m;
    k.remainder = m ? floor_mod(r, m) : r;
    return k;
}

/* A value of either. */
static Known joined(Known a, Known b)
{
    Known         k     = interval(wide_min(a.lo, b.lo), wide_max(a.hi, b.hi));
    Wide          d     = (Wide)a.remainder - b.remainder;
    const int64_t apart = d >= INT64_MIN && d <= INT64_MAX ? (int64_t)d : 1;
    const int64_t m     = gcd(gcd(a.modulus, b.modulus), apart);
    return with_remainder(k, m, a.remainder);
}

/* What is left of an operator's interval in its type. */
static Known into_type(Known k, kn_type t)
{
    if (known_fits(k, t))
        return k;
    const int64_t power = type_bits(t) < 31 ? (int64_t)1 << type_bits(t) : most_modulus;
    return with_remainder(known_type(t), k.modulus ? gcd(k.modulus, power) : power, k.remainder);
}

/* ---- Operators -------------------------------------------------------------------------- */

static Known product(Known a, Known b)
{
    const Wide least = -((Wide)1 << 62), most = (Wide)1 << 62;
    if (a.lo < least || a.hi > most || b.lo < least || b.hi > most)
        return interval(-WIDE_MOST, WIDE_MOST);
    const Wide p = a.lo * b.lo, q = a.lo * b.hi, r = a.hi * b.lo, t = a.hi * b.hi;
    Known      k = interval(wide_min(wide_min(p, q), wide_min(r, t)), wide_max(wide_max(p, q), wide_max(r, t)));
    /* (ma*i + ra) * (mb*j + rb) = ra*rb modulo gcd(ma*mb, ma*rb, mb*ra) */
    if (a.modulus > most_modulus || b.modulus > most_modulus || a.remainder > most_modulus ||
        b.remainder > most_modulus || a.remainder < -most_modulus || b.remainder < -most_modulus)
        return k;
    const int64_t m = gcd(gcd(a.modulus * b.modulus, a.modulus * b.remainder), b.modulus * a.remainder);
    return with_remainder(k, m, a.remainder * b.remainder);
}

/* By any b: the quotient's absolute value is at most the dividend's plus one where negative; exact for positive
 * constants. */
static Known quotient(Known a, Known b)
{
    if (!known_constant(b) || b.lo <= 0) {
        const Wide most = wide_max(a.hi, -a.lo);
        if (b.lo > 0)
            return interval(wide_min(a.lo, 0), wide_max(a.hi, 0));
        return interval(a.lo >= 0 && b.lo >= 0 ? 0 : -most, most);
    }
    const int64_t c = b.remainder;
    Known         k = interval(floor_div_wide(a.lo, b.lo), floor_div_wide(a.hi, b.lo));
    if (!b.modulus && a.modulus && a.modulus % c == 0 && a.modulus > c)
        return with_remainder(k, a.modulus / c, floor_div(a.remainder, c));
    return k;
}

static Known modulo(Known a, Known b)
{
    if (b.modulus || b.remainder <= 0) {
        const Wide most = wide_max(wide_max(b.hi, -b.lo) - 1, 0);
        return interval(0, a.lo >= 0 ? wide_min(a.hi, most) : most);
    }
    const int64_t c = b.remainder;
    if (floor_div_wide(a.lo, c) == floor_div_wide(a.hi, c)) {
        const Wide base = floor_div_wide(a.lo, c) * c;
        return a.modulus && base <= most_modulus && base >= -most_modulus
                   ? with_remainder(interval(a.lo - base, a.hi - base), a.modulus, a.remainder - (int64_t)base)
                   : interval(a.lo - base, a.hi - base);
    }
    const int64_t m = gcd(a.modulus, c); /* of the remainders only those that are r modulo m */
    const int64_t r = m ? floor_mod(a.remainder, m) : 0;
    return with_remainder(interval(r, m ? c - m + r : c - 1), m, r);
}

static Known extreme(bool is_max, Known a, Known b)
{
    if (a.lo >= b.hi)
        return is_max ? a : b;
    if (b.lo >= a.hi)
        return is_max ? b : a;
    Known k = joined(a, b);
    k.lo    = is_max ? wide_max(a.lo, b.lo) : wide_min(a.lo, b.lo);
    k.hi    = is_max ? wide_max(a.hi, b.hi) : wide_min(a.hi, b.hi);
    return k;
}

static Known absolute(Known a)
{
    if (a.lo >= 0)
        return a;
    const Wide most = wide_max(a.hi, -a.lo);
    return interval(a.hi < 0 ? -a.hi : 0, most);
}

/* x & y with y in 0 .. hi lies in 0 .. hi. */
static Known bit_and(Known a, Known b, kn_type t)
{
    if (a.lo >= 0 && b.lo >= 0)
        return interval(0, wide_min(a.hi, b.hi));
    return a.lo >= 0 ? interval(0, a.hi) : b.lo >= 0 ? interval(0, b.hi) : known_type(t);
}

/* The sum's interval as a form; the ends of its variables' ranges may say more than their numbers do. */
static Known sum(Simplifier *s, const Expr *e)
{
    Form f;
    form_of(e, &f);
    if (f.count == 1 && f.terms[0].atom == e)
        return known_type((kn_type)e->type);
    int64_t m = 0, r = (int64_t)f.constant;
    for (int i = 0; i < f.count; i++) {
        const Known   a = known_of(s, f.terms[i].atom);
        const int64_t k = f.terms[i].k;
        int64_t       km, kr;
        if (__builtin_mul_overflow(k, a.modulus, &km) || __builtin_mul_overflow(k, a.remainder, &kr) ||
            __builtin_add_overflow(r, kr, &r) || km == INT64_MIN)
            m = 1, r = 0;
        else
            m = gcd(m, km);
    }
    const int64_t power = type_bits((kn_type)e->type) < 31 ? (int64_t)1 << type_bits((kn_type)e->type) : most_modulus;
    const Wide    was   = f.constant;
    if (!form_fit(s, &f, (kn_type)e->type))
        return with_remainder(known_type((kn_type)e->type), gcd(m, power), r);
    if (f.constant != was)
        m = gcd(m, power);
    Known k;
    form_range(s, &f, &k.lo, &k.hi);
    if (f.count > 1 && s->ranging < RANGE_NESTED) {
        Form minus = { 0 };
        s->ranging++;
        k.lo = wide_max(k.lo, form_lower(s, &f, WIDE_MOST));
        if (form_add(&minus, &f, -1))
            k.hi = wide_min(k.hi, -form_lower(s, &minus, WIDE_MOST));
        s->ranging--;
    }
    return with_remainder(k, m, r);
}

static Known variable(Simplifier *s, const Expr *e)
{
    const Binding *b = map_get(&s->bindings, e->u.name);
    if (b && known_fits(b->known, (kn_type)e->type))
        return b->known;
    return e->type == KN_I32 ? interval(-most_variable, most_variable) : known_type((kn_type)e->type);
}

/* A float made an integer. */
static Known rounded(Simplifier *s, const Expr *e)
{
    int64_t lo, hi;
    return s->ask && s->ask(s->ask_user, e, &lo, &hi) ? interval(lo, hi) : known_type((kn_type)e->type);
}

static Known shift_right(Known a, Known by, kn_type t)
{
    if (by.modulus || by.remainder < 0 || by.remainder >= type_bits(t))
        return known_type(t);
    const Wide d = (Wide)1 << by.remainder;
    return interval(floor_div_wide(a.lo, d), floor_div_wide(a.hi, d));
}

static Known compute(Simplifier *s, const Expr *e)
{
    const kn_type t = (kn_type)e->type;
    Known         a = { 0 }, b = { 0 };
    if (e->count && e->op != EX_CALL && e->op != EX_EXTERN && e->op != EX_LOAD && e->op != EX_SELECT) {
        a = known_of(s, e->args[0]);
        if (e->count > 1)
            b = known_of(s, e->args[1]);
    }
    switch ((ExprOp)e->op) {
    case EX_INT: return constant(t == KN_U64 ? (Wide)(uint64_t)e->u.i : e->u.i);
    case EX_VAR: return variable(s, e);
    case EX_DIM_MIN:
    case EX_DIM_EXTENT: return interval(-most_variable, most_variable);
    case EX_ADD:
    case EX_SUB:
    case EX_NEG: return sum(s, e);
    case EX_SHL: return e->args[1]->op == EX_INT ? sum(s, e) : known_type(t);
    case EX_MUL:
        if (e->args[0]->op == EX_INT || e->args[1]->op == EX_INT)
            return sum(s, e);
        return product(a, b);
    case EX_DIV: return quotient(a, b);
    case EX_MOD: return modulo(a, b);
    case EX_MIN: return extreme(false, a, b);
    case EX_MAX: return extreme(true, a, b);
    case EX_ABS: return absolute(a);
    case EX_ABSD: return interval(0, wide_max(a.hi - b.lo, b.hi - a.lo));
    case EX_AVG_UP:
    case EX_AVG_DOWN: return interval(wide_min(a.lo, b.lo), wide_max(a.hi, b.hi));
    case EX_POPCOUNT:
    case EX_CLZ: return interval(0, type_bits((kn_type)e->args[0]->type));
    case EX_SHR: return shift_right(a, b, t);
    case EX_BIT_AND: return bit_and(a, b, t);
    case EX_SELECT: return joined(known_of(s, e->args[1]), known_of(s, e->args[2]));
    case EX_CAST:
        if (t == KN_BOOL)
            return known_type(t);
        return type_is_float((kn_type)e->args[0]->type) ? rounded(s, e) : a;
    case EX_SAT_CAST: {
        const Known all = known_type(t);
        if (t == KN_BOOL || type_is_float((kn_type)e->args[0]->type))
            return all;
        if (known_fits(a, t))
            return a;
        return interval(wide_min(wide_max(a.lo, all.lo), all.hi), wide_max(wide_min(a.hi, all.hi), all.lo));
    }
    default: return known_type(t);
    }
}

/* Narrowed by the facts about this very node; a contradiction (code that is never reached) leaves it as it is. */
static Known narrowed(Simplifier *s, const Expr *e, Known k)
{
    const Narrow *n = map_get(&s->narrowed, e);
    if (!n || n->lo > k.hi || n->hi < k.lo)
        return k;
    k.lo = wide_max(k.lo, n->lo);
    k.hi = wide_min(k.hi, n->hi);
    return k.lo == k.hi ? constant(k.lo) : k;
}

/* A type that is not an integer or bool has no interval; it is given that of bool, which nobody asks for. */
Known known_of(Simplifier *s, const Expr *e)
{
    Answer *answer = answer_for(s, e);
    if (answer->known)
        return *answer->known;
    context_spend(s->pool->cx, 1);
    const Known k           = narrowed(s, e, into_type(compute(s, e), (kn_type)e->type));
    Known      *kept        = ARENA_NEW(s->arena, Known);
    *kept                   = k;
    answer_for(s, e)->known = kept;
    return k;
}

void simplifier_bounds(Simplifier *s, const Expr *e, int64_t *lo, int64_t *hi)
{
    const Known k = known_of(s, e);
    *lo           = (int64_t)wide_min(k.lo, INT64_MAX);
    *hi           = (int64_t)wide_min(k.hi, INT64_MAX);
}
