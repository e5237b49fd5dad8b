/* SPDX-License-Identifier: MIT */
/* Values during elaboration: weak literals, typed expressions, and their common types.
 *
 * A literal is weak: it takes the type of the other operand. Numbers made of literals alone stay weak, integers exact
 * in 128 bits, floats in f64. */
#include "lang/elab.h"

#include <math.h>

static const __int128 weak_most = (__int128)1 << 100;

ElabValue value_int(__int128 v)
{
    return (ElabValue){ .kind = VAL_INT, .integer = v };
}
ElabValue value_float(double v)
{
    return (ElabValue){ .kind = VAL_FLOAT, .real = v, .real32 = (float)v };
}
ElabValue value_expr(const Expr *e)
{
    return e ? (ElabValue){ .kind = VAL_EXPR, .expr = e } : ERROR_VALUE;
}
bool value_is_weak(ElabValue v)
{
    return v.kind == VAL_INT || v.kind == VAL_FLOAT;
}

static double weak_real(ElabValue v)
{
    return v.kind == VAL_INT ? (double)v.integer : v.real;
}

/* An integer of 128 bits in decimal. */
static const char *weak_text(Elab *el, __int128 v)
{
    char              digits[48];
    int               at = sizeof digits;
    unsigned __int128 u  = v < 0 ? -(unsigned __int128)v : (unsigned __int128)v;
    digits[--at]         = 0;
    do
        digits[--at] = (char)('0' + (int)(u % 10));
    while (u /= 10);
    return arena_printf(el->arena, "%s%s", v < 0 ? "-" : "", digits + at);
}

const void *hash_key(const uintptr_t *parts, size_t count)
{
    uintptr_t h = 1;
    for (size_t i = 0; i < count; i++) {
        h = (h ^ parts[i]) * (uintptr_t)0x9E3779B97F4A7C15u;
        h ^= h >> 29;
    }
    return (const void *)(h | 1); /* never NULL */
}

const char *value_describe(Elab *el, ElabValue v)
{
    switch (v.kind) {
    case VAL_INT: return arena_printf(el->arena, "the integer %s", weak_text(el, v.integer));
    case VAL_FLOAT: return arena_printf(el->arena, "the number %g", v.real);
    case VAL_EXPR: return type_table[v.expr->type].name;
    case VAL_TUPLE: return arena_printf(el->arena, "a tuple of %d", v.count);
    case VAL_FUNC:
        return v.func->boundary ? "a function" : arena_printf(el->arena, "the function `%s`", v.func->func->name);
    case VAL_TYPE: return arena_printf(el->arena, "the type %s", type_table[v.type].name);
    case VAL_DIM: return "a dimension of an input";
    case VAL_TEMPLATE: return arena_printf(el->arena, "the template `%s`", v.entry->name);
    case VAL_EXTERN: return arena_printf(el->arena, "the C function `%s`", v.entry->name);
    case VAL_BUILTIN: return arena_printf(el->arena, "the function `%s` of the language", v.builtin->name);
    default: return "an error";
    }
}

bool value_known_int(ElabValue v, __int128 *out)
{
    if (v.kind == VAL_INT)
        *out = v.integer;
    else if (v.kind == VAL_EXPR && v.expr->op == EX_INT && v.expr->type != KN_BOOL)
        *out = v.expr->type == KN_U64 ? (__int128)(uint64_t)v.expr->u.i : v.expr->u.i;
    else
        return false;
    return true;
}

bool value_known_bool(ElabValue v, bool *out)
{
    if (v.kind != VAL_EXPR || v.expr->op != EX_INT || v.expr->type != KN_BOOL)
        return false;
    *out = v.expr->u.i != 0;
    return true;
}

/* ---- Conversions ------------------------------------------------------------------------ */

static bool weak_fits(__int128 v, kn_type t)
{
    const int      bits = type_bits(t) - type_is_signed(t);
    const __int128 hi = ((__int128)1 << bits) - 1, lo = type_is_signed(t) ? -hi - 1 : 0;
    return t != KN_BOOL && v >= lo && v <= hi;
}

/* An integer constant as a float is rounded once: through f64 where that is exact, through the hardware otherwise. */
static const Expr *float_of_int(Elab *el, kn_type t, __int128 v)
{
    return expr_float(el->pool, t, t == KN_F64 ? (double)v : (double)(float)v);
}

const Expr *convert(Elab *el, const Expr *e, kn_type t)
{
    const kn_type from = (kn_type)e->type;
    if (from == t)
        return e;
    if (e->op == EX_INT && !type_is_float(t))
        return t == KN_BOOL ? expr_bool(el->pool, e->u.i != 0) : expr_int(el->pool, t, e->u.i);
    if (e->op == EX_INT && type_is_float(t))
        return float_of_int(el, t, from == KN_U64 ? (__int128)(uint64_t)e->u.i : e->u.i);
    if (e->op == EX_FLOAT && type_is_float(t))
        return expr_float(el->pool, t, e->u.f);
    return expr_unary(el->pool, EX_CAST, t, e);
}

/* "-128..127" */
static const char *range_of(Elab *el, kn_type t)
{
    const __int128 hi = ((__int128)1 << (type_bits(t) - type_is_signed(t))) - 1;
    return arena_printf(el->arena, "%s..%s", weak_text(el, type_is_signed(t) ? -hi - 1 : 0), weak_text(el, hi));
}

/* A weak value as a constant of type t; the type is a float if the value is one. `other_side` if it takes the type of
 * another operand. */
static const Expr *weak_to_type(Elab *el, ElabValue v, kn_type t, Loc loc, bool other_side)
{
    if (v.kind == VAL_FLOAT)
        return expr_float(el->pool, t, t == KN_F32 ? (double)v.real32 : v.real);
    if (type_is_float(t))
        return float_of_int(el, t, v.integer);
    if (weak_fits(v.integer, t))
        return expr_int(el->pool, t, (int64_t)v.integer);
    const char *name = type_table[t].name;
    diag_error(el->cx, loc,
               other_side ? arena_printf(el->arena, "%s holds %s; convert the other side first, as in i32(e)", name,
                                         range_of(el, t))
                          : arena_printf(el->arena, "%s holds %s; to wrap it write %s(…)", name, range_of(el, t), name),
               "%s does not fit %s", value_describe(el, v), name);
    return NULL;
}

/* Diagnoses a value that is no number. */
static void not_a_number(Elab *el, ElabValue v, Loc loc)
{
    const char *remedy = NULL;
    if (v.kind == VAL_FUNC)
        remedy = "call it with coordinates, as in f(x, y)";
    else if (v.kind == VAL_TUPLE)
        remedy = "take a component: .0, .1 …";
    else if (v.kind == VAL_TYPE)
        remedy = "a conversion is a call, as in f32(e)";
    else if (v.kind == VAL_DIM)
        remedy = "it has .min, .extent and .max";
    else if (v.kind == VAL_TEMPLATE || v.kind == VAL_EXTERN || v.kind == VAL_BUILTIN)
        remedy = "call it with arguments";
    diag_error(el->cx, loc, remedy, "a number is needed here, this is %s", value_describe(el, v));
}

const Expr *value_to_expr(Elab *el, ElabValue v, Loc loc)
{
    if (v.kind == VAL_EXPR)
        return v.expr;
    if (v.kind == VAL_FLOAT)
        return weak_to_type(el, v, KN_F32, loc, false);
    if (v.kind == VAL_INT && weak_fits(v.integer, KN_I32))
        return weak_to_type(el, v, KN_I32, loc, false);
    if (v.kind == VAL_INT)
        diag_error(el->cx, loc, "give it a type, as in u32(4_000_000_000)",
                   "%s does not fit i32, the type of a bare integer", value_describe(el, v));
    else if (v.kind != VAL_ERROR)
        not_a_number(el, v, loc);
    return NULL;
}

const Expr *value_to_type(Elab *el, ElabValue v, kn_type t, Loc loc, const char *what)
{
    if ((v.kind == VAL_INT && t != KN_BOOL) || (v.kind == VAL_FLOAT && type_is_float(t)))
        return weak_to_type(el, v, t, loc, !what);
    const Expr *e = value_to_expr(el, v, loc);
    if (!e)
        return NULL;
    if (type_meet((kn_type)e->type, t) != t) {
        diag_error(el->cx, loc, arena_printf(el->arena, "convert it: %s(…)", type_table[t].name),
                   "%s is %s, but this is %s", what, type_table[t].name, type_table[e->type].name);
        return NULL;
    }
    return convert(el, e, t);
}

const Expr *value_to_bool(Elab *el, ElabValue v, Loc loc)
{
    if (v.kind == VAL_ERROR)
        return NULL;
    if (v.kind == VAL_EXPR && v.expr->type == KN_BOOL)
        return v.expr;
    const bool number = v.kind == VAL_EXPR || value_is_weak(v);
    diag_error(el->cx, loc, number ? "compare it, as in e != 0" : NULL, "a condition (bool) is needed here, this is %s",
               value_describe(el, v));
    return NULL;
}

const Expr *value_to_index(Elab *el, ElabValue v, Loc loc)
{
    if (v.kind == VAL_FLOAT) {
        diag_error(el->cx, loc, "convert it: i32(floor(e))", "coordinates are integers, this is %s",
                   value_describe(el, v));
        return NULL;
    }
    const Expr *e = value_to_expr(el, v, loc);
    if (!e || e->type == KN_I32)
        return e;
    const kn_type t = (kn_type)e->type;
    if (type_is_int(t) && (type_bits(t) < 32))
        return convert(el, e, KN_I32);
    diag_error(el->cx, loc, type_is_float(t) ? "convert it: i32(floor(e))" : "convert it: i32(e)",
               "coordinates are i32, this is %s", type_table[t].name);
    return NULL;
}

/* ---- Meeting ---------------------------------------------------------------------------- */

kn_type values_meet(Elab *el, ElabValue a, Loc loc_a, ElabValue b, Loc loc_b, const char *what, const Expr **ea,
                    const Expr **eb)
{
    *ea = *eb = NULL;
    if (a.kind == VAL_ERROR || b.kind == VAL_ERROR)
        return KN_NONE;
    kn_type t;
    if (value_is_weak(a) && value_is_weak(b)) {
        t = a.kind == VAL_FLOAT || b.kind == VAL_FLOAT ? KN_F32 : KN_I32;
    } else if (value_is_weak(a) || value_is_weak(b)) {
        const bool  weak_a = value_is_weak(a);
        const Expr *e      = value_to_expr(el, weak_a ? b : a, weak_a ? loc_b : loc_a);
        if (!e)
            return KN_NONE;
        t = (kn_type)e->type;
        if ((weak_a ? a : b).kind == VAL_FLOAT && type_is_int(t))
            t = KN_F32;
    } else {
        const Expr *x = value_to_expr(el, a, loc_a), *y = value_to_expr(el, b, loc_b);
        if (!x || !y)
            return KN_NONE;
        t = type_meet((kn_type)x->type, (kn_type)y->type);
    }
    if (t == KN_NONE || (t == KN_BOOL && (value_is_weak(a) || value_is_weak(b)))) {
        const bool equal = !strcmp(what, "`==`") || !strcmp(what, "`!=`");
        diag_error(el->cx, loc_join(loc_a, loc_b),
                   equal ? "a condition stands alone: c, or !c; and two are compared at a time: a == b && b == c"
                         : "convert the condition to a number, as in u8(c)",
                   "%s has no meaning for %s and %s", what, value_describe(el, a), value_describe(el, b));
        return KN_NONE;
    }
    *ea = value_is_weak(a) ? weak_to_type(el, a, t, loc_a, true) : convert(el, a.expr, t);
    *eb = value_is_weak(b) ? weak_to_type(el, b, t, loc_b, true) : convert(el, b.expr, t);
    return *ea && *eb ? t : KN_NONE;
}

/* ---- Operators -------------------------------------------------------------------------- */

static ElabValue too_large(Elab *el, Loc loc)
{
    diag_error(el->cx, loc, "constants are exact up to 100 bits; use a float", "this constant is too large");
    return ERROR_VALUE;
}

/* Euclidean division: the remainder is never negative; by zero: 0. */
static __int128 weak_div(__int128 a, __int128 b)
{
    if (b == 0)
        return 0;
    const __int128 q = a / b, r = a % b;
    return r >= 0 ? q : b > 0 ? q - 1 : q + 1;
}

static __int128 weak_shift(__int128 a, __int128 by)
{
    if (by < 0)
        return by < -126 ? (a < 0 ? -1 : 0) : a >> (int)-by;
    return a == 0                                ? 0
           : by > 100                            ? weak_most * 2
           : (a < 0 ? -a : a) >> (120 - (int)by) ? weak_most * 2
                                                 : a * ((__int128)1 << (int)by);
}

static ElabValue weak_binary_int(Elab *el, TokenKind op, __int128 a, __int128 b, Loc loc)
{
    __int128 v = 0;
    switch (op) {
    case T_ADD: v = a + b; break;
    case T_SUB: v = a - b; break;
    case T_MUL: v = __builtin_mul_overflow(a, b, &v) ? weak_most * 2 : v; break;
    case T_DIV: v = weak_div(a, b); break;
    case T_MOD: v = b == 0 ? 0 : a - weak_div(a, b) * b; break;
    case T_SHL: v = weak_shift(a, b); break;
    case T_SHR: v = weak_shift(a, -b); break;
    case T_AND: v = a & b; break;
    case T_OR: v = a | b; break;
    case T_XOR: v = a ^ b; break;
    case T_LT: return value_expr(expr_bool(el->pool, a < b));
    case T_LE: return value_expr(expr_bool(el->pool, a <= b));
    case T_GT: return value_expr(expr_bool(el->pool, a > b));
    case T_GE: return value_expr(expr_bool(el->pool, a >= b));
    case T_EQ: return value_expr(expr_bool(el->pool, a == b));
    default: return value_expr(expr_bool(el->pool, a != b));
    }
    return v > weak_most || v < -weak_most ? too_large(el, loc) : value_int(v);
}

static ElabValue weak_binary_float(Elab *el, TokenKind op, double a, double b, Loc loc)
{
    switch (op) {
    case T_ADD: return value_float(a + b);
    case T_SUB: return value_float(a - b);
    case T_MUL: return value_float(a * b);
    case T_DIV: return value_float(a / b);
    case T_MOD: return value_float(a - b * floor(a / b));
    case T_LT: return value_expr(expr_bool(el->pool, a < b));
    case T_LE: return value_expr(expr_bool(el->pool, a <= b));
    case T_GT: return value_expr(expr_bool(el->pool, a > b));
    case T_GE: return value_expr(expr_bool(el->pool, a >= b));
    case T_EQ: return value_expr(expr_bool(el->pool, a == b));
    case T_NE: return value_expr(expr_bool(el->pool, a != b));
    default:
        diag_error(el->cx, loc, NULL, "`%s` works on integers, this is a float", token_text(op));
        return ERROR_VALUE;
    }
}

/* Typed operators: the node, whether its result is bool, whether operands are swapped, what it works on. */
typedef enum OperandClass { ON_NUMBERS, ON_INTS, ON_BITS, ON_ANY } OperandClass;
static const struct {
    ExprOp       op;
    bool         compares, swaps;
    OperandClass on;
} typed_ops[T_COUNT] = {
    [T_ADD] = { EX_ADD, false, false, ON_NUMBERS }, [T_SUB] = { EX_SUB, false, false, ON_NUMBERS },
    [T_MUL] = { EX_MUL, false, false, ON_NUMBERS }, [T_DIV] = { EX_DIV, false, false, ON_NUMBERS },
    [T_MOD] = { EX_MOD, false, false, ON_NUMBERS }, [T_AND] = { EX_BIT_AND, false, false, ON_BITS },
    [T_OR] = { EX_BIT_OR, false, false, ON_BITS },  [T_XOR] = { EX_BIT_XOR, false, false, ON_BITS },
    [T_LT] = { EX_LT, true, false, ON_NUMBERS },    [T_GT] = { EX_LT, true, true, ON_NUMBERS },
    [T_LE] = { EX_LE, true, false, ON_NUMBERS },    [T_GE] = { EX_LE, true, true, ON_NUMBERS },
    [T_EQ] = { EX_EQ, true, false, ON_ANY },        [T_NE] = { EX_NE, true, false, ON_ANY },
    [T_SHL] = { EX_SHL, false, false, ON_INTS },    [T_SHR] = { EX_SHR, false, false, ON_INTS },
};

static bool works_on(Elab *el, TokenKind op, kn_type t, Loc loc)
{
    const OperandClass on = typed_ops[op].on;
    const bool         ok = on == ON_ANY || (on == ON_NUMBERS && t != KN_BOOL) || (on == ON_INTS && type_is_int(t)) ||
                    (on == ON_BITS && (type_is_int(t) || t == KN_BOOL));
    if (!ok)
        diag_error(el->cx, loc,
                   t == KN_BOOL
                       ? (typed_ops[op].compares ? "compare two at a time: a < b && b < c" : "convert it, as in u8(c)")
                       : "convert it, as in i32(e)",
                   "`%s` has no meaning for %s", token_text(op), type_table[t].name);
    return ok;
}

/* Constants of one integer type: sums, differences and products are folded, so that they stay known. */
static const Expr *fold_ints(Elab *el, ExprOp op, const Expr *a, const Expr *b)
{
    int64_t x, y;
    if (!type_is_int((kn_type)a->type) || !expr_is_int(a, &x) || !expr_is_int(b, &y))
        return NULL;
    const uint64_t u = (uint64_t)x, v = (uint64_t)y;
    const kn_type  t    = (kn_type)a->type;
    const bool     less = type_is_signed(t) ? x < y : u < v;
    switch (op) {
    case EX_ADD: return expr_int(el->pool, t, (int64_t)(u + v));
    case EX_SUB: return expr_int(el->pool, t, (int64_t)(u - v));
    case EX_MUL: return expr_int(el->pool, t, (int64_t)(u * v));
    case EX_LT: return expr_bool(el->pool, less);
    case EX_LE: return expr_bool(el->pool, less || x == y);
    case EX_EQ: return expr_bool(el->pool, x == y);
    case EX_NE: return expr_bool(el->pool, x != y);
    default: return NULL;
    }
}

/* The amount of a shift has its own type, the result the type of what is shifted. */
static ElabValue shift_value(Elab *el, TokenKind op, ElabValue a, Loc loc_a, ElabValue b, Loc loc_b)
{
    const Expr *x = value_to_expr(el, a, loc_a), *y = value_to_expr(el, b, loc_b);
    if (!x || !y || !works_on(el, op, (kn_type)x->type, loc_a) || !works_on(el, op, (kn_type)y->type, loc_b))
        return ERROR_VALUE;
    return value_expr(expr_binary(el->pool, typed_ops[op].op, (kn_type)x->type, x, y));
}

static ElabValue logic_value(Elab *el, TokenKind op, ElabValue a, Loc loc_a, ElabValue b, Loc loc_b)
{
    const Expr *x = value_to_bool(el, a, loc_a), *y = value_to_bool(el, b, loc_b);
    if (!x || !y)
        return ERROR_VALUE;
    const bool is_and = op == T_ANDAND;
    if (x->op == EX_INT)
        return value_expr((x->u.i != 0) == is_and ? y : x);
    return value_expr(expr_binary(el->pool, is_and ? EX_AND : EX_OR, KN_BOOL, x, y));
}

ElabValue binary_value(Elab *el, TokenKind op, ElabValue a, Loc loc_a, ElabValue b, Loc loc_b)
{
    const Loc loc = loc_join(loc_a, loc_b);
    if (a.kind == VAL_ERROR || b.kind == VAL_ERROR)
        return ERROR_VALUE;
    if (op == T_ANDAND || op == T_OROR)
        return logic_value(el, op, a, loc_a, b, loc_b);
    if (a.kind == VAL_INT && b.kind == VAL_INT)
        return weak_binary_int(el, op, a.integer, b.integer, loc);
    if (value_is_weak(a) && value_is_weak(b))
        return weak_binary_float(el, op, weak_real(a), weak_real(b), loc);
    if (op == T_SHL || op == T_SHR)
        return shift_value(el, op, a, loc_a, b, loc_b);

    const Expr   *x, *y;
    const kn_type t = values_meet(el, a, loc_a, b, loc_b, arena_printf(el->arena, "`%s`", token_text(op)), &x, &y);
    if (t == KN_NONE || !works_on(el, op, t, loc))
        return ERROR_VALUE;
    if (op == T_MOD && type_is_float(t)) {
        const Expr *q = expr_unary(el->pool, EX_FLOOR, t, expr_binary(el->pool, EX_DIV, t, x, y));
        return value_expr(expr_binary(el->pool, EX_SUB, t, x, expr_binary(el->pool, EX_MUL, t, y, q)));
    }
    if (typed_ops[op].swaps) {
        const Expr *z = x;
        x             = y;
        y             = z;
    }
    const Expr *folded = fold_ints(el, typed_ops[op].op, x, y);
    return value_expr(folded ? folded
                             : expr_binary(el->pool, typed_ops[op].op, typed_ops[op].compares ? KN_BOOL : t, x, y));
}

ElabValue unary_value(Elab *el, TokenKind op, ElabValue a, Loc loc)
{
    if (a.kind == VAL_INT && op != T_NOT)
        return value_int(op == T_SUB ? -a.integer : ~a.integer);
    if (a.kind == VAL_FLOAT && op == T_SUB)
        return (ElabValue){ .kind = VAL_FLOAT, .real = -a.real, .real32 = -a.real32 };
    if (op == T_NOT) {
        const Expr *c = value_to_bool(el, a, loc);
        if (!c)
            return ERROR_VALUE;
        return value_expr(c->op == EX_INT ? expr_bool(el->pool, !c->u.i)
                                          : expr_unary(el->pool, EX_BIT_NOT, KN_BOOL, c));
    }
    const Expr *e = value_to_expr(el, a, loc);
    if (!e)
        return ERROR_VALUE;
    const kn_type t = (kn_type)e->type;
    if (op == T_SUB ? t == KN_BOOL : type_is_float(t)) {
        diag_error(el->cx, loc,
                   t == KN_BOOL ? "convert it, as in i32(c)"
                                : "convert it, as in i32(e), or take its bits: reinterpret(u32, e)",
                   "`%s` has no meaning for %s", token_text(op), type_table[t].name);
        return ERROR_VALUE;
    }
    if (op == T_SUB && e->op == EX_INT)
        return value_expr(expr_int(el->pool, t, (int64_t) - (uint64_t)e->u.i));
    return value_expr(expr_unary(el->pool, op == T_SUB ? EX_NEG : EX_BIT_NOT, t, e));
}
