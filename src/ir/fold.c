/* SPDX-License-Identifier: MIT */
/* Operators on constants: exactly what the language says (docs/language.md), for integers and bool; of floats what is
 * exact or correctly rounded everywhere: conversions, the four basic operators, the least and the greatest,
 * comparisons. So the ends of a table that floats choose from are numbers, and its size is known.
 *
 * A constant is carried as the node has it: sign- or zero-extended to 64 bits, u64 as its bits. */
#include "ir/fold.h"

#include <math.h>

int64_t floor_div(int64_t a, int64_t b)
{
    if (b == 0 || b == -1)
        return (int64_t)((uint64_t)a * (uint64_t)b);
    return a / b - (a % b < 0 ? (b > 0) - (b < 0) : 0);
}

int64_t floor_mod(int64_t a, int64_t b)
{
    if (b == 0 || b == -1)
        return 0;
    const int64_t r = a % b;
    return r >= 0 ? r : b > 0 ? r + b : r - b;
}

/* v * 2^s rounded down, modulo 2^64; the sign comes in from the left, or 0. */
static int64_t shifted(int64_t v, int64_t s, bool is_signed)
{
    if (s >= 0)
        return s < 64 ? (int64_t)((uint64_t)v << s) : 0;
    if (is_signed)
        return v >> (s > -64 ? -s : 63);
    return s > -64 ? (int64_t)((uint64_t)v >> -s) : 0;
}

/* The amount of a shift, brought into -limit .. limit. */
static int64_t amount(const Expr *e, int64_t limit)
{
    if (e->type == KN_U64 && e->u.i < 0)
        return limit;
    return e->u.i > limit ? limit : e->u.i < -limit ? -limit : e->u.i;
}

/* (a * b) >> s with the whole product. */
static int64_t mul_shift(int64_t a, int64_t b, int64_t s, bool is_signed)
{
    if (s < 0)
        return shifted((int64_t)((uint64_t)a * (uint64_t)b), -s, is_signed);
    if (is_signed)
        return (int64_t)((__int128)a * b >> (s < 128 ? s : 127));
    return s < 128 ? (int64_t)((unsigned __int128)(uint64_t)a * (uint64_t)b >> s) : 0;
}

static uint64_t plain_bits(kn_type t, int64_t v)
{
    return (uint64_t)v << (64 - type_bits(t)) >> (64 - type_bits(t));
}

static int64_t leading_zeros(kn_type t, int64_t v)
{
    const uint64_t bits = plain_bits(t, v);
    return bits ? __builtin_clzll(bits) - (64 - type_bits(t)) : type_bits(t);
}

/* a < b, as the type orders them. */
static bool less(kn_type t, int64_t a, int64_t b)
{
    return t == KN_U64 ? (uint64_t)a < (uint64_t)b : a < b;
}

static bool unary(ExprOp op, kn_type t, int64_t a, int64_t *r)
{
    switch (op) {
    case EX_NEG: *r = (int64_t)(0 - (uint64_t)a); return true;
    case EX_ABS: *r = type_is_signed(t) && a < 0 ? (int64_t)(0 - (uint64_t)a) : a; return true;
    case EX_BIT_NOT: *r = t == KN_BOOL ? !a : ~a; return true;
    case EX_POPCOUNT: *r = __builtin_popcountll(plain_bits(t, a)); return true;
    case EX_CLZ: *r = leading_zeros(t, a); return true;
    default: return false;
    }
}

/* Of operands of type t. The result is right once wrapped. */
static bool binary(ExprOp op, kn_type t, int64_t a, int64_t b, int64_t *r)
{
    const uint64_t x = (uint64_t)a, y = (uint64_t)b;
    const bool     is_u64 = t == KN_U64;
    const int64_t  half   = is_u64 ? (int64_t)((x ^ y) >> 1) : (a ^ b) >> 1;
    switch (op) {
    case EX_ADD: *r = (int64_t)(x + y); return true;
    case EX_SUB: *r = (int64_t)(x - y); return true;
    case EX_MUL: *r = (int64_t)(x * y); return true;
    case EX_DIV: *r = !is_u64 ? floor_div(a, b) : b ? (int64_t)(x / y) : 0; return true;
    case EX_MOD: *r = !is_u64 ? floor_mod(a, b) : b ? (int64_t)(x % y) : 0; return true;
    case EX_MIN: *r = less(t, a, b) ? a : b; return true;
    case EX_MAX: *r = less(t, b, a) ? a : b; return true;
    case EX_ABSD: *r = (int64_t)(less(t, b, a) ? x - y : y - x); return true;
    case EX_AVG_UP: *r = (int64_t)((x | y) - (uint64_t)half); return true;
    case EX_AVG_DOWN: *r = (int64_t)((x & y) + (uint64_t)half); return true;
    case EX_BIT_AND:
    case EX_AND: *r = a & b; return true;
    case EX_BIT_OR:
    case EX_OR: *r = a | b; return true;
    case EX_BIT_XOR: *r = a ^ b; return true;
    case EX_LT: *r = less(t, a, b); return true;
    case EX_LE: *r = !less(t, b, a); return true;
    case EX_EQ: *r = a == b; return true;
    case EX_NE: *r = a != b; return true;
    default: return false;
    }
}

static int64_t float_to_int(kn_type t, double v)
{
    if (t == KN_U64)
        return v >= ldexp(1, 64) ? -1 : v > 0 ? (int64_t)(uint64_t)v : 0;
    if (v >= ldexp(1, type_bits(t) - type_is_signed(t)))
        return type_max(t);
    return v <= (double)type_min(t) ? type_min(t) : v == v ? (int64_t)v : 0;
}

/* Floats narrower than f64 are computed in f32. Infinities and what is no number stay to be computed. */
static const Expr *fold_floats(ExprPool *pool, const Expr *e)
{
    const double a = e->args[0]->u.f, b = e->args[1]->u.f;
    const bool   is_double = e->args[0]->type == KN_F64;
    const float  x = (float)a, y = (float)b;
    double       r;
    switch ((ExprOp)e->op) {
    case EX_ADD: r = is_double ? a + b : (double)(x + y); break;
    case EX_SUB: r = is_double ? a - b : (double)(x - y); break;
    case EX_MUL: r = is_double ? a * b : (double)(x * y); break;
    case EX_DIV:
        if (b == 0)
            return NULL;
        r = is_double ? a / b : (double)(x / y);
        break;
    case EX_MIN: r = a < b ? a : b; break;
    case EX_MAX: r = a > b ? a : b; break;
    case EX_LT: return expr_bool(pool, a < b);
    case EX_LE: return expr_bool(pool, a <= b);
    case EX_EQ: return expr_bool(pool, a == b);
    case EX_NE: return expr_bool(pool, a != b);
    default: return NULL;
    }
    return isfinite(r) ? expr_float(pool, (kn_type)e->type, r) : NULL;
}

static int64_t saturated(kn_type from, kn_type to, int64_t v)
{
    if (from == KN_U64 && v < 0)
        return to == KN_U64 ? v : type_max(to);
    return v < type_min(to) ? type_min(to) : v > type_max(to) ? type_max(to) : v;
}

static double int_to_float(kn_type from, kn_type to, int64_t v)
{
    if (to == KN_F64)
        return from == KN_U64 ? (double)(uint64_t)v : (double)v;
    return from == KN_U64 ? (double)(float)(uint64_t)v : (double)(float)v;
}

static const Expr *convert(ExprPool *pool, const Expr *e)
{
    const Expr   *a  = e->args[0];
    const kn_type to = (kn_type)e->type, from = (kn_type)a->type;
    if (a->op == EX_FLOAT && type_is_float(to))
        return expr_float(pool, to, a->u.f);
    if (a->op == EX_FLOAT)
        return expr_int(pool, to, to == KN_BOOL ? a->u.f != 0 : float_to_int(to, a->u.f));
    if (type_is_float(to))
        return expr_float(pool, to, int_to_float(from, to, a->u.i));
    if (to == KN_BOOL)
        return expr_bool(pool, a->u.i != 0);
    return expr_int(pool, to, e->op == EX_SAT_CAST ? saturated(from, to, a->u.i) : a->u.i);
}

const Expr *fold_constant(ExprPool *pool, const Expr *e)
{
    if (!e->count)
        return NULL;
    const Expr *const *a = e->args;
    if ((e->op == EX_CAST || e->op == EX_SAT_CAST) && (a[0]->op == EX_INT || a[0]->op == EX_FLOAT))
        return convert(pool, e);
    if (e->count == 2 && a[0]->op == EX_FLOAT && a[1]->op == EX_FLOAT)
        return fold_floats(pool, e);
    for (uint32_t i = 0; i < e->count; i++)
        if (a[i]->op != EX_INT)
            return NULL;
    const ExprOp  op   = (ExprOp)e->op;
    const kn_type from = (kn_type)a[0]->type;
    const bool    sign = from != KN_U64; /* as carried, only u64 is not a signed number */
    int64_t       r;
    if (op == EX_SHL || op == EX_SHR)
        r = shifted(a[0]->u.i, op == EX_SHL ? amount(a[1], 64) : -amount(a[1], 64), sign);
    else if (op == EX_MUL_SHIFT)
        r = mul_shift(a[0]->u.i, a[1]->u.i, amount(a[2], 128), sign);
    else if (op == EX_SELECT)
        return a[0]->u.i ? a[1] : a[2];
    else if (e->count == 1 ? !unary(op, from, a[0]->u.i, &r)
                           : e->count != 2 || !binary(op, from, a[0]->u.i, a[1]->u.i, &r))
        return NULL;
    return expr_int(pool, (kn_type)e->type, e->type == KN_BOOL ? r & 1 : r);
}
