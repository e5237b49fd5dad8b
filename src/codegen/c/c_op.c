/* SPDX-License-Identifier: MIT */
/* The operators on scalars, as text: a table of printers. Each says in C what interp/ops.c computes.
 *
 * Takes   the operands' texts.
 * Gives   an expression without undefined behaviour whatever the operands are: what may wrap is computed unsigned, what
 *         may be divided by zero or shifted too far goes through a small function of the support.
 * Holds   a value of 32 bits or more has exactly its C type, or one that promotes to it; a smaller one may have type
 * int, with a value that its type holds. f16 and bf16 are their bits.
 */
#include "codegen/c/c.h"

typedef struct Op {
    CGen         *g;
    const Expr   *e;
    const CValue *args;
    bool          wraps;
} Op;

static kn_type from_type(const Op *o)
{
    return o->e->args[0]->type;
}

static bool is_short_float(kn_type t)
{
    return t == KN_F16 || t == KN_BF16;
}

static CValue value(const char *text, Precedence prec)
{
    return (CValue){ .text = text, .prec = prec };
}

static const char *operand(const Op *o, int i, Precedence at_least)
{
    return c_operand(o->g, o->args[i], at_least);
}

/* As an argument of a function. */
static const char *argument(const Op *o, int i)
{
    return c_full(o->g, o->args[i]);
}

/* ---- Short floats ---- */

/* The operand in the type that it is computed in. */
static CValue widened(const Op *o, int i)
{
    const kn_type t = o->e->args[i]->type;
    if (!is_short_float(t))
        return o->args[i];
    c_section(o->g, "half");
    return value(c_print(o->g, "kn_f32_of_%s(%s)", kn_type_name(t), argument(o, i)), P_PRIMARY);
}

static CValue narrowed(const Op *o, kn_type t, CValue v)
{
    if (!is_short_float(t))
        return v;
    c_section(o->g, "half");
    return value(c_print(o->g, "kn_%s_of_f32(%s)", kn_type_name(t), c_full(o->g, v)), P_PRIMARY);
}

/* ---- Arithmetic ---- */

typedef struct Sign {
    const char *text;
    Precedence  prec, right; /* right: of the second operand, at least */
} Sign;

static const Sign signs[EX_COUNT] = {
    [EX_ADD] = { "+", P_ADD, P_MUL },
    [EX_SUB] = { "-", P_ADD, P_MUL },
    [EX_MUL] = { "*", P_MUL, P_UNARY },
    [EX_DIV] = { "/", P_MUL, P_UNARY },
};

static CValue infix(const Op *o, CValue a, const char *sign, CValue b, Precedence prec, Precedence left,
                    Precedence right)
{
    return value(c_print(o->g, "%s %s %s", c_operand(o->g, a, left), sign, c_operand(o->g, b, right)), prec);
}

static CValue arithmetic(const Op *o, CValue a, CValue b)
{
    const Sign s = signs[o->e->op];
    return infix(o, a, s.text, b, s.prec, s.prec, s.right);
}

static CValue cast(const Op *o, const char *type, CValue v)
{
    return value(c_print(o->g, "(%s)%s", type, c_operand(o->g, v, P_UNARY)), P_UNARY);
}

/* A product or sum in the unsigned type, back in its own. */
static CValue wrapped(const Op *o)
{
    const kn_type t             = o->e->type;
    const char   *unsigned_type = type_bits(t) == 64 ? "uint64_t" : "uint32_t";
    if (type_bits(t) < 32 && o->e->op != EX_MUL)
        return cast(o, c_type(t), arithmetic(o, o->args[0], o->args[1]));
    if (type_bits(t) < 32) /* in int the product of two u16 could overflow */
        return cast(o, c_type(t), arithmetic(o, cast(o, unsigned_type, o->args[0]), o->args[1]));
    return cast(o, c_type(t), arithmetic(o, cast(o, unsigned_type, o->args[0]), cast(o, unsigned_type, o->args[1])));
}

static CValue op_sum(const Op *o)
{
    const kn_type t = o->e->type;
    if (type_is_float(t))
        return narrowed(o, t, arithmetic(o, widened(o, 0), widened(o, 1)));
    if (!o->wraps || t == KN_U32 || t == KN_U64)
        return arithmetic(o, o->args[0], o->args[1]);
    return wrapped(o);
}

static CValue op_neg(const Op *o)
{
    const kn_type t = o->e->type;
    if (type_is_float(t)) {
        const CValue v = value(c_print(o->g, "-%s", c_operand(o->g, widened(o, 0), P_PRIMARY)), P_UNARY);
        return narrowed(o, t, v);
    }
    if (!o->wraps)
        return value(c_print(o->g, "-%s", operand(o, 0, P_PRIMARY)), P_UNARY);
    const char  *unsigned_type = type_bits(t) == 64 ? "uint64_t" : "uint32_t";
    const CValue v             = value(c_print(o->g, "0 - (%s)%s", unsigned_type, operand(o, 0, P_UNARY)), P_ADD);
    return cast(o, c_type(t), v);
}

/* ---- Division ---- */

static bool constant(const Expr *e, int64_t *c)
{
    return expr_is_int(e, c);
}

static bool never_negative(const Op *o)
{
    return !type_is_signed(from_type(o)) || (!o->wraps && c_range(o->g, o->e->args[0]).lo >= 0);
}

static int log2_of(int64_t c)
{
    return c > 0 && !(c & (c - 1)) ? __builtin_ctzll((uint64_t)c) : -1;
}

/* Euclidean and total: by 0 it is 0, the least value by -1 wraps. */
static void write_division(CGen *g, kn_type t, const char *name, bool quotient)
{
    const char *ct = c_type(t), *wide = type_bits(t) == 64 ? "int64_t" : "int32_t";
    text_printf(&g->helpers, "KN_INLINE %s %s(%s a, %s b)\n{\n", ct, name, ct, ct);
    if (!type_is_signed(t))
        text_printf(&g->helpers, "  return b ? (%s)(a %s b) : 0;\n}\n\n", ct, quotient ? "/" : "%");
    else if (quotient)
        text_printf(&g->helpers,
                    "  if (b == 0 || b == -1)\n    return (%s)((u%s)a * (u%s)b);\n"
                    "  return (%s)(a / b - (a %% b < 0 ? (b > 0 ? 1 : -1) : 0));\n}\n\n",
                    ct, wide, wide, ct);
    else
        text_printf(&g->helpers,
                    "  if (b == 0 || b == -1)\n    return 0;\n  const %s r = a %% b;\n"
                    "  return (%s)(r >= 0 ? r : b > 0 ? r + b : r - b);\n}\n\n",
                    wide, ct);
}

static CValue divide(const Op *o, bool quotient)
{
    const kn_type t = o->e->type;
    int64_t       c;
    const char   *sign  = quotient ? "/" : "%";
    const bool    known = constant(o->e->args[1], &c) && c != 0;
    if (known && (!type_is_signed(t) || (never_negative(o) && c > 0)))
        return infix(o, o->args[0], sign, o->args[1], P_MUL, P_MUL, P_UNARY);
    if (known && c > 0 && log2_of(c) >= 0 && quotient)
        return value(c_print(o->g, "%s >> %d", operand(o, 0, P_UNARY), log2_of(c)), P_SHIFT);
    if (known && c > 0 && log2_of(c) >= 0)
        return value(c_print(o->g, "%s & %s", operand(o, 0, P_UNARY), c_int_text(o->g, t, c - 1)), P_BIT_AND);
    const char *a = argument(o, 0), *b = argument(o, 1);
    const char *name = c_print(o->g, "kn_%s_%s", quotient ? "div" : "mod", kn_type_name(t));
    if (c_helper_new(o->g, name))
        write_division(o->g, t, name, quotient);
    return value(c_print(o->g, "%s(%s, %s)", name, a, b), P_PRIMARY);
}

static CValue op_div(const Op *o)
{
    const kn_type t = o->e->type;
    if (type_is_float(t))
        return narrowed(o, t, arithmetic(o, widened(o, 0), widened(o, 1)));
    return divide(o, true);
}

static CValue op_mod(const Op *o)
{
    return divide(o, false);
}

/* ---- Order ---- */

static const char *const compare_signs[EX_COUNT] = { [EX_LT] = "<", [EX_LE] = "<=", [EX_EQ] = "==", [EX_NE] = "!=" };

static CValue op_compare(const Op *o)
{
    const Precedence prec = o->e->op == EX_LT || o->e->op == EX_LE ? P_LESS : P_EQUAL;
    return infix(o, widened(o, 0), compare_signs[o->e->op], widened(o, 1), prec, P_SHIFT + 1, P_SHIFT + 1);
}

/* kn_min_f32(a, b): a < b ? a : b. */
static CValue op_extreme(const Op *o)
{
    const kn_type t    = o->e->type;
    const bool    min  = o->e->op == EX_MIN;
    const char   *name = c_print(o->g, "kn_%s_%s", min ? "min" : "max", kn_type_name(t)), *ct = c_type(t);
    if (c_helper_new(o->g, name)) {
        const char *order = min ? "<" : ">";
        const char *test  = is_short_float(t) ? c_print(o->g, "kn_f32_of_%s(a) %s kn_f32_of_%s(b)", kn_type_name(t),
                                                        order, kn_type_name(t))
                                              : c_print(o->g, "a %s b", order);
        if (is_short_float(t))
            c_section(o->g, "half");
        text_printf(&o->g->helpers, "KN_INLINE %s %s(%s a, %s b)\n{\n  return %s ? a : b;\n}\n\n", ct, name, ct, ct,
                    test);
    }
    return value(c_print(o->g, "%s(%s, %s)", name, argument(o, 0), argument(o, 1)), P_PRIMARY);
}

static CValue op_abs(const Op *o)
{
    const kn_type t = o->e->type;
    if (type_is_float(t)) {
        const CValue v = widened(o, 0);
        return narrowed(o, t,
                        value(c_print(o->g, "%s(%s)", t == KN_F64 ? "fabs" : "fabsf", c_full(o->g, v)), P_PRIMARY));
    }
    if (!type_is_signed(t))
        return o->args[0];
    const char *name = c_print(o->g, "kn_abs_%s", kn_type_name(t)), *ct = c_type(t);
    const char *wide = type_bits(t) == 64 ? "uint64_t" : "uint32_t";
    if (c_helper_new(o->g, name))
        text_printf(&o->g->helpers, "KN_INLINE %s %s(%s a)\n{\n  return (%s)(a < 0 ? 0 - (%s)a : (%s)a);\n}\n\n", ct,
                    name, ct, ct, wide, wide);
    return value(c_print(o->g, "%s(%s)", name, argument(o, 0)), P_PRIMARY);
}

/* ---- Small functions of integers ---- */

/* A function of the operands, each of its own type, made of this expression of a, b. */
static CValue small_function(const Op *o, const char *word, int count, const char *expression)
{
    const kn_type t    = from_type(o);
    const char   *name = c_print(o->g, "kn_%s_%s", word, kn_type_name(t));
    if (c_helper_new(o->g, name))
        text_printf(&o->g->helpers, "KN_INLINE %s %s(%s a%s%s)\n{\n  return (%s)(%s);\n}\n\n", c_type(o->e->type), name,
                    c_type(t), count > 1 ? c_print(o->g, ", %s", c_type(t)) : "", count > 1 ? " b" : "",
                    c_type(o->e->type), expression);
    return value(count > 1 ? c_print(o->g, "%s(%s, %s)", name, argument(o, 0), argument(o, 1))
                           : c_print(o->g, "%s(%s)", name, argument(o, 0)),
                 P_PRIMARY);
}

static CValue op_absd(const Op *o)
{
    const char *u = type_bits(from_type(o)) == 64 ? "uint64_t" : "uint32_t";
    return small_function(o, "absd", 2, c_print(o->g, "a > b ? (%s)a - (%s)b : (%s)b - (%s)a", u, u, u, u));
}

/* a + b = 2*(a | b) - (a ^ b) = 2*(a & b) + (a ^ b): halves need no wider sum. */
static CValue op_average(const Op *o)
{
    const bool up = o->e->op == EX_AVG_UP;
    if (type_bits(o->e->type) <= 16)
        return small_function(o, up ? "avg_up" : "avg_down", 2, up ? "(a + b + 1) >> 1" : "(a + b) >> 1");
    return small_function(o, up ? "avg_up" : "avg_down", 2,
                          up ? "(a | b) - ((a ^ b) >> 1)" : "(a & b) + ((a ^ b) >> 1)");
}

/* The bits of the operand, as an unsigned number. */
static const char *plain_bits(const Op *o)
{
    return c_type(type_table[from_type(o)].as_unsigned);
}

static CValue op_popcount(const Op *o)
{
    c_section(o->g, "bits");
    const CValue v = value(c_print(o->g, "kn_popcount((%s)%s)", plain_bits(o), operand(o, 0, P_UNARY)), P_PRIMARY);
    return cast(o, c_type(o->e->type), v);
}

static CValue op_clz(const Op *o)
{
    c_section(o->g, "bits");
    const CValue v = value(
        c_print(o->g, "kn_clz((%s)%s, %d)", plain_bits(o), operand(o, 0, P_UNARY), type_bits(from_type(o))), P_PRIMARY);
    return cast(o, c_type(o->e->type), v);
}

/* ---- Shifts ---- */

/* The amount as an int64_t that does not overflow when negated. */
static const char *amount(const Op *o, int i)
{
    const kn_type t = o->e->args[i]->type;
    if (type_bits(t) < 64)
        return argument(o, i);
    c_section(o->g, "clamp_amount");
    return c_print(o->g, "%s(%s)", t == KN_U64 ? "kn_amount_u" : "kn_amount", argument(o, i));
}

static CValue op_shift(const Op *o)
{
    const kn_type t    = o->e->type;
    const bool    left = o->e->op == EX_SHL;
    const int     bits = type_bits(t);
    int64_t       s;
    if (constant(o->e->args[1], &s) && s >= 0 && s < bits) {
        if (!left)
            return value(c_print(o->g, "%s >> %d", operand(o, 0, P_UNARY), (int)s), P_SHIFT);
        const CValue wide = cast(o, bits == 64 ? "uint64_t" : "uint32_t", o->args[0]);
        return cast(o, c_type(t), value(c_print(o->g, "%s << %d", c_full(o->g, wide), (int)s), P_SHIFT));
    }
    c_section(o->g, "shift");
    const CValue v = value(c_print(o->g, "%s(%s, %s(int64_t)%s, %d)", type_is_signed(t) ? "kn_shift" : "kn_shift_u",
                                   argument(o, 0), left ? "" : "-", c_print(o->g, "(%s)", amount(o, 1)), bits),
                           P_PRIMARY);
    return cast(o, c_type(t), v);
}

/* (a * b) >> s: the product in twice the width. */
static CValue op_mul_shift(const Op *o)
{
    const kn_type t    = o->e->type;
    const bool    sign = type_is_signed(t);
    int64_t       s;
    if (type_bits(t) <= 32 && constant(o->e->args[2], &s) && s >= 0 && s < 2 * type_bits(t)) {
        const char  *wide = type_bits(t) <= 16 ? (sign ? "int32_t" : "uint32_t") : (sign ? "int64_t" : "uint64_t");
        const CValue p    = infix(o, cast(o, wide, o->args[0]), "*", o->args[1], P_MUL, P_MUL, P_UNARY);
        return cast(o, c_type(t), value(c_print(o->g, "%s >> %d", c_operand(o->g, p, P_PRIMARY), (int)s), P_SHIFT));
    }
    c_section(o->g, "mul_shift");
    const CValue v = value(c_print(o->g, "%s(%s, %s, (int64_t)(%s))", sign ? "kn_mul_shift" : "kn_mul_shift_u",
                                   argument(o, 0), argument(o, 1), amount(o, 2)),
                           P_PRIMARY);
    return cast(o, c_type(t), v);
}

/* ---- Bits and bools ---- */

static CValue op_bits(const Op *o)
{
    static const struct {
        const char *sign;
        Precedence  prec;
    } table[EX_COUNT] = {
        [EX_BIT_AND] = { "&", P_BIT_AND },
        [EX_BIT_OR]  = { "|", P_BIT_OR },
        [EX_BIT_XOR] = { "^", P_BIT_XOR },
    };
    return infix(o, o->args[0], table[o->e->op].sign, o->args[1], table[o->e->op].prec, P_UNARY, P_UNARY);
}

static CValue op_not(const Op *o)
{
    const kn_type t = o->e->type;
    if (t == KN_BOOL)
        return value(c_print(o->g, "!%s", operand(o, 0, P_PRIMARY)), P_UNARY);
    const Expr *a = o->e->args[0];
    if (a->op == EX_CAST && a->args[0]->type == KN_BOOL) /* compilers warn of ~ on a condition */
        return cast(o, c_type(t), value(c_print(o->g, "%s ? -2 : -1", operand(o, 0, P_EQUAL)), P_CHOICE));
    if (type_bits(t) < 32 && !type_is_signed(t)) /* gcc warns of ~ of a promoted value that is compared with 0 */
        return small_function(o, "not", 1, c_print(o->g, "(%s)~a", c_type(t)));
    return value(c_print(o->g, "~%s", operand(o, 0, P_PRIMARY)), P_UNARY);
}

static CValue op_and(const Op *o)
{
    const bool and = o->e->op == EX_AND;
    return infix(o, o->args[0], and? "&&" : "||", o->args[1], and? P_AND : P_OR, and? P_AND : P_EQUAL,
                 and? P_AND : P_EQUAL);
}

static CValue op_select(const Op *o)
{
    return value(c_print(o->g, "%s ? %s : %s", operand(o, 0, P_EQUAL), operand(o, 1, P_OR), operand(o, 2, P_CHOICE)),
                 P_CHOICE);
}

/* ---- Floats ---- */

static CValue op_float_function(const Op *o)
{
    static const char *const names[EX_COUNT] = {
        [EX_FLOOR] = "floor", [EX_CEIL] = "ceil", [EX_ROUND] = "rint", [EX_TRUNC] = "trunc", [EX_SQRT] = "sqrt",
    };
    const kn_type t = o->e->type;
    const CValue  v = widened(o, 0);
    return narrowed(
        o, t, value(c_print(o->g, "%s%s(%s)", names[o->e->op], t == KN_F64 ? "" : "f", c_full(o->g, v)), P_PRIMARY));
}

static CValue op_rsqrt(const Op *o)
{
    const kn_type t = o->e->type;
    const CValue  v = widened(o, 0);
    return narrowed(o, t,
                    value(t == KN_F64 ? c_print(o->g, "1.0 / sqrt(%s)", c_full(o->g, v))
                                      : c_print(o->g, "1.0f / sqrtf(%s)", c_full(o->g, v)),
                          P_MUL));
}

static CValue op_fma(const Op *o)
{
    const kn_type t = o->e->type;
    const char   *a = c_full(o->g, widened(o, 0)), *b = c_full(o->g, widened(o, 1)), *c = c_full(o->g, widened(o, 2));
    return narrowed(o, t, value(c_print(o->g, "%s(%s, %s, %s)", t == KN_F64 ? "fma" : "fmaf", a, b, c), P_PRIMARY));
}

/* ---- Conversions ---- */

/* Truncated toward zero; beyond the type its nearest value; NaN gives 0. */
static CValue float_to_int(const Op *o, CValue v, kn_type from, kn_type to)
{
    const kn_type wide = from == KN_F64 ? KN_F64 : KN_F32;
    const char   *name = c_print(o->g, "kn_%s_of_%s", kn_type_name(to), kn_type_name(wide)), *ct = c_type(to);
    if (c_helper_new(o->g, name)) {
        const bool  sign  = type_is_signed(to);
        const int   bits  = type_bits(to) - sign;
        const char *f     = wide == KN_F32 ? "f" : "";
        const char *least = sign ? c_print(o->g, "-0x1p%d%s", bits, f) : c_print(o->g, "0.0%s", f);
        const char *min   = !sign ? "0" : c_print(o->g, "INT%d_MIN", type_bits(to)),
                   *max   = c_print(o->g, sign ? "INT%d_MAX" : "UINT%d_MAX", type_bits(to));
        text_printf(&o->g->helpers,
                    "KN_INLINE %s %s(%s a)\n{\n  return a >= 0x1p%d%s ? %s : a > %s ? (%s)a : a <= %s ? %s : 0;\n}\n\n",
                    ct, name, c_type(wide), bits, f, max, least, ct, least, min);
    }
    return value(c_print(o->g, "%s(%s)", name, c_full(o->g, v)), P_PRIMARY);
}

static CValue float_to_float(const Op *o, kn_type from, kn_type to)
{
    if (from == KN_F64 && is_short_float(to)) {
        c_section(o->g, "odd");
        return narrowed(o, to, value(c_print(o->g, "kn_f32_odd(%s)", argument(o, 0)), P_PRIMARY));
    }
    const CValue v = widened(o, 0);
    if (to == KN_F64 || from == KN_F64)
        return cast(o, c_type(to), v);
    return narrowed(o, to, v);
}

/* An integer in a type that holds it, or wrapped. */
static CValue int_to_int(const Op *o, CValue v, kn_type from, kn_type to)
{
    if (from == to)
        return v;
    const bool holds = type_bits(from) < 32 && to == KN_I32; /* promotes by itself */
    if (holds ||
        (type_bits(to) < 32 && !o->wraps && type_is_int(from) && c_range(o->g, o->e->args[0]).lo >= type_min(to) &&
         c_range(o->g, o->e->args[0]).hi <= type_max(to) && type_bits(from) <= 32))
        return v;
    return cast(o, c_type(to), v);
}

static CValue op_cast(const Op *o)
{
    const kn_type from = from_type(o), to = o->e->type;
    if (from == to)
        return o->args[0];
    if (to == KN_BOOL)
        return value(c_print(o->g, "%s != 0", c_operand(o->g, widened(o, 0), P_SHIFT + 1)), P_EQUAL);
    if (type_is_float(from) && type_is_float(to))
        return float_to_float(o, from, to);
    if (type_is_float(from)) {
        const CValue v = widened(o, 0);
        return expr_clamped_within(o->e->args[0], to) ? cast(o, c_type(to), v) : float_to_int(o, v, from, to);
    }
    if (type_is_float(to))
        return narrowed(o, to, cast(o, to == KN_F64 ? "double" : "float", o->args[0]));
    return int_to_int(o, o->args[0], from, to);
}

/* Brought into the range of the type first. */
static CValue op_sat_cast(const Op *o)
{
    const kn_type from = from_type(o), to = o->e->type;
    if (type_is_float(from) || to == KN_BOOL || type_is_float(to) || from == KN_BOOL)
        return op_cast(o);
    const bool sign = type_is_signed(from);
    const bool low  = sign && type_min(to) > type_min(from);
    const bool high = type_bits(to) - type_is_signed(to) < type_bits(from) - sign;
    if (!low && !high)
        return int_to_int(o, o->args[0], from, to);
    const char *name = c_print(o->g, "kn_sat_%s_%s", kn_type_name(to), kn_type_name(from)), *ct = c_type(to);
    if (c_helper_new(o->g, name)) {
        const char *min = c_int_text(o->g, from, type_min(to)), *max = c_int_text(o->g, from, type_max(to));
        text_printf(&o->g->helpers, "KN_INLINE %s %s(%s a)\n{\n  return (%s)(%s%sa);\n}\n\n", ct, name, c_type(from),
                    ct, low ? c_print(o->g, "a < %s ? %s : ", min, min) : "",
                    high ? c_print(o->g, "a > %s ? %s : ", max, max) : "");
    }
    return value(c_print(o->g, "%s(%s)", name, argument(o, 0)), P_PRIMARY);
}

/* The same bits in memory. */
static CValue op_reinterpret(const Op *o)
{
    const kn_type from = from_type(o), to = o->e->type;
    CValue        v = o->args[0];
    if (from == KN_F32 || from == KN_F64 || to == KN_F32 || to == KN_F64)
        c_section(o->g, "float_bits");
    if (from == to)
        return v;
    if (from == KN_F32 || from == KN_F64)
        v = value(c_print(o->g, "kn_bits_of_%s(%s)", kn_type_name(from), c_full(o->g, v)), P_PRIMARY);
    if (to == KN_F32 || to == KN_F64)
        return value(c_print(o->g, "kn_%s_of_bits((%s)%s)", kn_type_name(to), to == KN_F32 ? "uint32_t" : "uint64_t",
                             c_operand(o->g, v, P_UNARY)),
                     P_PRIMARY);
    if (to == KN_BOOL)
        return value(c_print(o->g, "%s != 0", c_operand(o->g, v, P_SHIFT + 1)), P_EQUAL);
    return cast(o, c_type(to), v);
}

typedef CValue Printer(const Op *o);

/* clang-format off */
static Printer *const printers[EX_COUNT] = {
    [EX_CAST] = op_cast, [EX_SAT_CAST] = op_sat_cast, [EX_REINTERPRET] = op_reinterpret,
    [EX_NEG] = op_neg, [EX_ADD] = op_sum, [EX_SUB] = op_sum, [EX_MUL] = op_sum, [EX_DIV] = op_div, [EX_MOD] = op_mod,
    [EX_MIN] = op_extreme, [EX_MAX] = op_extreme, [EX_ABS] = op_abs, [EX_ABSD] = op_absd,
    [EX_AVG_UP] = op_average, [EX_AVG_DOWN] = op_average, [EX_MUL_SHIFT] = op_mul_shift,
    [EX_POPCOUNT] = op_popcount, [EX_CLZ] = op_clz, [EX_SHL] = op_shift, [EX_SHR] = op_shift,
    [EX_BIT_AND] = op_bits, [EX_BIT_OR] = op_bits, [EX_BIT_XOR] = op_bits, [EX_BIT_NOT] = op_not,
    [EX_FLOOR] = op_float_function, [EX_CEIL] = op_float_function, [EX_ROUND] = op_float_function,
    [EX_TRUNC] = op_float_function, [EX_SQRT] = op_float_function, [EX_RSQRT] = op_rsqrt, [EX_FMA] = op_fma,
    [EX_LT] = op_compare, [EX_LE] = op_compare, [EX_EQ] = op_compare, [EX_NE] = op_compare,
    [EX_AND] = op_and, [EX_OR] = op_and, [EX_SELECT] = op_select,
};
/* clang-format on */

CValue c_operator(CGen *g, const Expr *e, const CValue *args, bool wraps)
{
    if (!printers[e->op])
        c_fail(g, "it has the operator `%s`", expr_op_table[e->op].name);
    const Op o = { g, e, args, wraps };
    CValue   v = printers[e->op](&o);
    v.level    = 0;
    v.reads    = false;
    for (uint32_t i = 0; i < e->count; i++) {
        v.level = args[i].level > v.level ? args[i].level : v.level;
        v.reads |= args[i].reads;
    }
    return v;
}
