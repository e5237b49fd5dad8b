/* SPDX-License-Identifier: MIT */
/* Lanes: operators, loads and stores on vectors of GCC's extension.
 *
 * Takes   operands of which at least one is a RAMP or LANES.
 * Gives   an expression of a vector type: by C's operators where they mean the same on vectors, else by a function over
 *         the lanes, made of the operator's scalar text, which compilers turn into vector instructions.
 * Holds   a bool in lanes is a mask: 0 or -1 in integers as wide as what was compared. */
#include "codegen/c/c.h"

#include <string.h>

/* ---- As lanes ---- */

static const char *all_function(CGen *g, kn_type t)
{
    const char *vt = c_vector_type(g, t, g->lanes), *name = c_print(g, "%s_all", vt);
    if (!c_helper_new(g, name))
        return name;
    Text list;
    text_init(&list, g->arena);
    for (int i = 0; i < g->lanes; i++)
        text_add(&list, i ? ", a" : "a");
    text_printf(&g->lane_helpers, "KN_LANE %s %s(%s a)\n{\n", vt, name, c_memory_type(t));
    c_text_wrapped(g, &g->lane_helpers, 1, c_print(g, "return (%s){ %s };", vt, text_string(&list)));
    text_add(&g->lane_helpers, "}\n\n");
    return name;
}

/* base, base + step, … */
static const char *ramp_text(CGen *g, kn_type t, CValue v)
{
    const char *vt = c_vector_type(g, t, g->lanes);
    const char *name =
        c_print(g, "%s_ramp_%s%lld", vt, v.step < 0 ? "m" : "", v.step < 0 ? -(long long)v.step : (long long)v.step);
    if (c_helper_new(g, name)) {
        const char *all = all_function(g, t);
        Text        list;
        text_init(&list, g->arena);
        for (int i = 0; i < g->lanes; i++)
            text_printf(&list, "%s%lld", i ? ", " : "", (long long)(v.step * i));
        text_printf(&g->lane_helpers, "KN_LANE %s %s(%s a)\n{\n", vt, name, c_type(t));
        c_text_wrapped(g, &g->lane_helpers, 1, c_print(g, "return %s(a) + (%s){ %s };", all, vt, text_string(&list)));
        text_add(&g->lane_helpers, "}\n\n");
    }
    v.shape = UNIFORM;
    v.step  = 0;
    return c_print(g, "%s(%s)", name, c_full(g, v));
}

const char *c_lanes(CGen *g, kn_type t, CValue v)
{
    if (v.shape == LANES)
        return c_full(g, v);
    if (v.shape == RAMP)
        return ramp_text(g, t, v);
    return c_print(g, "%s(%s)", all_function(g, t), c_full(g, v));
}

const char *c_as_mask(CGen *g, CValue v, int bits)
{
    if (v.shape == LANES && v.mask == bits)
        return c_full(g, v);
    if (v.shape == LANES)
        return c_print(g, "__builtin_convertvector(%s, %s)", c_full(g, v), c_mask_type(g, bits, g->lanes));
    const kn_type t = bits == 8 ? KN_I8 : bits == 16 ? KN_I16 : bits == 32 ? KN_I32 : KN_I64;
    return c_print(g, "%s(-(%s))", all_function(g, t), c_full(g, v));
}

/* ---- Operators ---- */

static int mask_bits(kn_type t)
{
    return type_bits(t) < 8 ? 8 : type_bits(t);
}

static bool is_short_float(kn_type t)
{
    return t == KN_F16 || t == KN_BF16;
}

static CValue result(const char *text, Precedence prec)
{
    return (CValue){ .text = text, .prec = prec, .shape = LANES };
}

/* A function over the lanes whose body is the operator's scalar text. */
static CValue lane_function(CGen *g, const Expr *e, const CValue *args)
{
    static const char *const letters[] = { "a[i]", "b[i]", "c[i]" };
    CValue                   scalars[3];
    Text                     name, parameters, call;
    int64_t                  c;
    text_init(&name, g->arena);
    text_init(&parameters, g->arena);
    text_init(&call, g->arena);
    text_printf(&name, "%sx%d_%s_%s", kn_type_name(e->type), g->lanes, expr_op_table[e->op].name,
                kn_type_name(e->args[0]->type));
    const bool constant_last =
        (e->op == EX_DIV || e->op == EX_MOD || e->op == EX_SHL || e->op == EX_SHR || e->op == EX_MUL_SHIFT) &&
        expr_is_int(e->args[e->count - 1], &c);
    if (e->count == 3 || e->op == EX_SHL || e->op == EX_SHR)
        text_printf(&name, "_%s", kn_type_name(e->args[e->count - 1]->type));
    if (constant_last)
        text_printf(&name, "_%s%lld", c < 0 ? "m" : "", c < 0 ? -(long long)c : (long long)c);
    if ((e->op == EX_CAST || e->op == EX_SAT_CAST) && expr_clamped_within(e->args[0], e->type))
        text_add(&name, "_within");
    const char *comma = "";
    for (uint32_t i = 0; i < e->count; i++) {
        const kn_type t = e->args[i]->type;
        if (constant_last && i + 1 == e->count) {
            scalars[i] = args[i];
            continue;
        }
        scalars[i] = (CValue){ .text = letters[i], .prec = P_PRIMARY };
        if (t == KN_BOOL) {
            scalars[i].text = c_print(g, "(%s != 0)", letters[i]);
            text_printf(&parameters, "%s%s %c", comma, c_mask_type(g, 8, g->lanes), 'a' + (int)i);
            text_printf(&call, "%s%s", comma, c_as_mask(g, args[i], 8));
        } else {
            text_printf(&parameters, "%s%s %c", comma, c_vector_type(g, t, g->lanes), 'a' + (int)i);
            text_printf(&call, "%s%s", comma, c_lanes(g, t, args[i]));
        }
        comma = ", ";
    }
    const char *fn = c_identifier(g, text_string(&name));
    const char *vt = e->type == KN_BOOL ? c_mask_type(g, 8, g->lanes) : c_vector_type(g, e->type, g->lanes);
    if (c_helper_new(g, fn)) {
        const CValue v = c_operator(g, e, scalars, true);
        text_printf(&g->lane_helpers,
                    "KN_LANE %s %s(%s)\n{\n  %s r = { 0 };\n  KN_UNROLL for (int i = 0; i < %d; i++)\n", vt, fn,
                    text_string(&parameters), vt, g->lanes);
        c_text_wrapped(g, &g->lane_helpers, 2,
                       e->type == KN_BOOL ? c_print(g, "r[i] = -(%s);", c_full(g, v))
                                          : c_print(g, "r[i] = (%s)(%s);", c_memory_type(e->type), c_full(g, v)));
        text_add(&g->lane_helpers, "  return r;\n}\n\n");
    }
    CValue v = result(c_print(g, "%s(%s)", fn, text_string(&call)), P_PRIMARY);
    v.mask   = 8;
    return v;
}

/* The operand of an operator of C: floats and constants may stay scalars. */
static const char *native_operand(CGen *g, const Expr *e, CValue v, Precedence at_least)
{
    if (v.shape == LANES)
        return c_operand(g, v, at_least);
    if (v.shape == UNIFORM && (e->type == KN_F32 || e->type == KN_F64 || e->op == EX_INT))
        return c_operand(g, v, at_least);
    return c_lanes(g, e->type, v);
}

static CValue arithmetic(CGen *g, const Expr *e, const CValue *args)
{
    static const char *const signs[EX_COUNT] = { [EX_ADD] = "+", [EX_SUB] = "-", [EX_MUL] = "*", [EX_DIV] = "/" };
    const Precedence         prec            = e->op == EX_ADD || e->op == EX_SUB ? P_ADD : P_MUL;
    if (!type_is_signed(e->type) || type_is_float(e->type) || !c_wraps(g, e)) {
        const char *a = native_operand(g, e->args[0], args[0], prec);
        const char *b = native_operand(g, e->args[1], args[1], prec == P_ADD ? P_MUL : P_UNARY);
        return result(c_print(g, "%s %s %s", a, signs[e->op], b), prec);
    }
    const char *u  = c_vector_type(g, type_table[e->type].as_unsigned, g->lanes),
               *vt = c_vector_type(g, e->type, g->lanes);
    CValue a       = result(c_lanes(g, e->type, args[0]), args[0].shape == LANES ? args[0].prec : P_PRIMARY),
           b       = result(c_lanes(g, e->type, args[1]), args[1].shape == LANES ? args[1].prec : P_PRIMARY);
    return result(c_print(g, "(%s)((%s)%s %s (%s)%s)", vt, u, c_operand(g, a, P_UNARY), signs[e->op], u,
                          c_operand(g, b, P_UNARY)),
                  P_UNARY);
}

static CValue compare(CGen *g, const Expr *e, const CValue *args)
{
    static const char *const signs[EX_COUNT] = { [EX_LT] = "<", [EX_LE] = "<=", [EX_EQ] = "==", [EX_NE] = "!=" };
    const kn_type            t               = e->args[0]->type;
    CValue                   v[2];
    for (int i = 0; i < 2; i++)
        v[i] = result(c_lanes(g, t, args[i]), args[i].shape == LANES ? args[i].prec : P_PRIMARY);
    CValue r = result(c_print(g, "%s %s %s", c_operand(g, v[0], P_ADD), signs[e->op], c_operand(g, v[1], P_ADD)),
                      e->op == EX_LT || e->op == EX_LE ? P_LESS : P_EQUAL);
    r.mask   = mask_bits(t);
    return r;
}

/* Operators of bools on masks, as wide as the widest. */
static CValue logic(CGen *g, const Expr *e, const CValue *args)
{
    static const struct {
        const char *sign;
        Precedence  prec;
    } signs[EX_COUNT] = {
        [EX_AND] = { "&", P_BIT_AND },   [EX_OR] = { "|", P_BIT_OR },       [EX_BIT_AND] = { "&", P_BIT_AND },
        [EX_BIT_OR] = { "|", P_BIT_OR }, [EX_BIT_XOR] = { "^", P_BIT_XOR }, [EX_NE] = { "^", P_BIT_XOR },
        [EX_EQ] = { "^ ~", P_BIT_XOR },
    };
    int bits = 0;
    for (uint32_t i = 0; i < e->count; i++)
        bits = args[i].shape == LANES && args[i].mask > bits ? args[i].mask : bits;
    CValue r;
    if (e->op == EX_BIT_NOT)
        r = result(c_print(g, "~%s", c_operand(g, args[0], P_PRIMARY)), P_UNARY);
    else
        r = result(
            c_print(g, "(%s) %s (%s)", c_as_mask(g, args[0], bits), signs[e->op].sign, c_as_mask(g, args[1], bits)),
            signs[e->op].prec);
    if (e->op == EX_EQ)
        r = result(c_print(g, "~((%s) ^ (%s))", c_as_mask(g, args[0], bits), c_as_mask(g, args[1], bits)), P_UNARY);
    r.mask = bits;
    return r;
}

/* m ? a : b by the bits of a mask, which compilers turn into a blend. A loop over the lanes gcc leaves as it is. */
static const char *choose_function(CGen *g, kn_type t, int bits)
{
    const char *mt   = c_mask_type(g, bits, g->lanes);
    const char *vt   = t == KN_BOOL ? mt : c_vector_type(g, t, g->lanes);
    const char *name = c_print(g, "%s_choose", vt);
    if (c_helper_new(g, name))
        text_printf(&g->lane_helpers,
                    "KN_LANE %s %s(%s m, %s a, %s b)\n{\n  return (%s)((m & (%s)a) | (~m & (%s)b));\n}\n\n", vt, name,
                    mt, vt, vt, vt, mt, mt);
    return name;
}

/* The lesser or the larger; the distance. Both choose by a comparison. */
static CValue by_order(CGen *g, const Expr *e, const CValue *args)
{
    const kn_type t  = e->type;
    const char   *vt = c_vector_type(g, t, g->lanes), *op = e->op == EX_MIN ? "min" : e->op == EX_MAX ? "max" : "absd";
    const char   *name = c_print(g, "%s_%s", vt, op);
    if (c_helper_new(g, name)) {
        const char *choice = choose_function(g, t, mask_bits(t));
        text_printf(&g->lane_helpers, "KN_LANE %s %s(%s a, %s b)\n{\n  return %s(a %s b, %s);\n}\n\n", vt, name, vt, vt,
                    choice, e->op == EX_MIN ? "<" : ">", e->op == EX_ABSD ? "a - b, b - a" : "a, b");
    }
    return result(c_print(g, "%s(%s, %s)", name, c_lanes(g, t, args[0]), c_lanes(g, t, args[1])), P_PRIMARY);
}

/* (a + b + 1) / 2 or (a + b) / 2 of unsigned numbers, through twice the bits: compilers know it for an average. */
static CValue average(CGen *g, const Expr *e, const CValue *args)
{
    const kn_type t  = e->type;
    const char   *vt = c_vector_type(g, t, g->lanes), *wt = c_vector_type(g, t == KN_U8 ? KN_U16 : KN_U32, g->lanes);
    const char   *name = c_print(g, "%s_average%s", vt, e->op == EX_AVG_UP ? "_up" : "");
    if (c_helper_new(g, name))
        text_printf(&g->lane_helpers,
                    "KN_LANE %s %s(%s a, %s b)\n{\n  return __builtin_convertvector((__builtin_convertvector(a, %s) +\n"
                    "      __builtin_convertvector(b, %s)%s) >> 1, %s);\n}\n\n",
                    vt, name, vt, vt, wt, wt, e->op == EX_AVG_UP ? " + 1" : "", vt);
    return result(c_print(g, "%s(%s, %s)", name, c_lanes(g, t, args[0]), c_lanes(g, t, args[1])), P_PRIMARY);
}

/* Rounded once: clang needs to see whole vectors, gcc a loop. */
static CValue fused(CGen *g, const Expr *e, const CValue *args)
{
    const kn_type t  = e->type;
    const char   *vt = c_vector_type(g, t, g->lanes), *name = c_print(g, "%s_fma", vt);
    if (c_helper_new(g, name))
        text_printf(&g->lane_helpers,
                    "KN_LANE %s %s(%s a, %s b, %s c)\n{\n#if defined __clang__ && defined __FMA__\n"
                    "#pragma STDC FP_CONTRACT ON\n  return a * b + c;\n#else\n  %s r = c;\n"
                    "  KN_UNROLL for (int i = 0; i < %d; i++)\n    r[i] = fma%s(a[i], b[i], c[i]);\n  return r;\n"
                    "#endif\n}\n\n",
                    vt, name, vt, vt, vt, vt, g->lanes, t == KN_F32 ? "f" : "");
    return result(
        c_print(g, "%s(%s, %s, %s)", name, c_lanes(g, t, args[0]), c_lanes(g, t, args[1]), c_lanes(g, t, args[2])),
        P_PRIMARY);
}

static CValue bits_operator(CGen *g, const Expr *e, const CValue *args)
{
    const kn_type t = e->type;
    if (e->op == EX_BIT_NOT)
        return result(c_print(g, "~(%s)", c_lanes(g, t, args[0])), P_UNARY);
    return result(c_print(g, "(%s) %s (%s)", c_lanes(g, t, args[0]),
                          e->op == EX_BIT_AND  ? "&"
                          : e->op == EX_BIT_OR ? "|"
                                               : "^",
                          c_lanes(g, t, args[1])),
                  e->op == EX_BIT_AND  ? P_BIT_AND
                  : e->op == EX_BIT_OR ? P_BIT_OR
                                       : P_BIT_XOR);
}

static CValue choose(CGen *g, const Expr *e, const CValue *args)
{
    const kn_type t    = e->type;
    const int     bits = t == KN_BOOL ? (args[0].shape == LANES ? args[0].mask
                                         : args[1].mask         ? args[1].mask
                                                                : args[2].mask)
                                      : mask_bits(t);
    const char   *a    = t == KN_BOOL ? c_as_mask(g, args[1], bits) : c_lanes(g, t, args[1]);
    const char   *b    = t == KN_BOOL ? c_as_mask(g, args[2], bits) : c_lanes(g, t, args[2]);
    CValue        r;
    if (args[0].shape == UNIFORM) {
        r = result(c_print(g, "%s ? %s : %s", c_operand(g, args[0], P_EQUAL), a, b), P_CHOICE);
    } else {
        const char *name = choose_function(g, t, bits);
        r                = result(c_print(g, "%s(%s, %s, %s)", name, c_as_mask(g, args[0], bits), a, b), P_PRIMARY);
    }
    r.mask = bits;
    return r;
}

/* From one type to another in steps for which there are instructions: of floats through 32 bits, and of short integers
 * to twice their bits. gcc takes a larger step lane by lane. */
static CValue converted(CGen *g, const Expr *e, const CValue *args)
{
    const kn_type from = e->args[0]->type, to = e->type;
    const char   *v = c_lanes(g, from, args[0]);
    if (type_is_float(from) && type_bits(to) < 32)
        v = c_print(g, "__builtin_convertvector(%s, %s)", v, c_vector_type(g, KN_I32, g->lanes));
    if (type_is_int(from) && type_bits(from) == 8 && type_bits(to) >= 32)
        v = c_print(g, "__builtin_convertvector(%s, %s)", v, c_vector_type(g, KN_I16, g->lanes));
    if (type_is_int(from) && type_bits(from) < 32 && (type_is_float(to) || type_bits(to) == 64))
        v = c_print(g, "__builtin_convertvector(%s, %s)", v, c_vector_type(g, KN_I32, g->lanes));
    return result(c_print(g, "__builtin_convertvector(%s, %s)", v, c_vector_type(g, to, g->lanes)), P_PRIMARY);
}

/* Toward zero; beyond the type its nearest value; NaN gives 0. Brought into a range that converts first, then what was
 * beyond it put right. */
static CValue float_to_int(CGen *g, const Expr *e, const CValue *args)
{
    const kn_type to = e->type;
    const char   *vt = c_vector_type(g, to, g->lanes), *ft = c_vector_type(g, KN_F32, g->lanes);
    const char   *it = c_vector_type(g, KN_I32, g->lanes), *name = c_print(g, "%s_of_f32", vt);
    if (c_helper_new(g, name)) {
        const bool  whole  = to == KN_I32;
        const char *low    = whole ? "-0x1p31f" : c_print(g, "%d.0f", (int)type_min(to)),
                   *high   = whole ? "0x1.fffffep30f" : c_print(g, "%d.0f", (int)type_max(to));
        const char *choice = choose_function(g, KN_F32, 32), *all = all_function(g, KN_F32);
        text_printf(&g->lane_helpers,
                    "KN_LANE %s %s(%s a)\n{\n  const %s low = %s(%s), high = %s(%s);\n"
                    "  %s r = %s(a > low, a, low);\n  r = %s(r < high, r, high);\n",
                    vt, name, ft, ft, all, low, all, high, ft, choice, choice);
        if (type_is_signed(to) && !whole)
            text_printf(&g->lane_helpers, "  r = %s(a == a, r, %s(0.0f));\n", choice, all);
        text_printf(&g->lane_helpers, "  %s n = __builtin_convertvector(r, %s);\n", it, it);
        if (whole) /* the largest float below 2^31 lacks the last 7 bits */
            text_add(&g->lane_helpers, "  n |= (a >= 0x1p31f) & 127;\n  n &= a == a;\n");
        text_printf(&g->lane_helpers, whole ? "  return n;\n}\n\n" : "  return __builtin_convertvector(n, %s);\n}\n\n",
                    vt);
    }
    return result(c_print(g, "%s(%s)", name, c_lanes(g, KN_F32, args[0])), P_PRIMARY);
}

/* A mask as 0 or 1 of a type. */
static CValue from_bool(CGen *g, const Expr *e, CValue v)
{
    const kn_type t    = e->type;
    const int     bits = mask_bits(t);
    CValue        one  = result(c_print(g, "-(%s)", c_as_mask(g, v, bits)), P_UNARY);
    const char   *vt   = c_vector_type(g, t, g->lanes);
    return type_is_float(t) ? result(c_print(g, "__builtin_convertvector(%s, %s)", one.text, vt), P_PRIMARY)
                            : result(c_print(g, "(%s)%s", vt, one.text), P_UNARY);
}

static bool converts(const Expr *e)
{
    const kn_type from = e->args[0]->type, to = e->type;
    if (from == KN_BOOL || to == KN_BOOL || is_short_float(from) || is_short_float(to))
        return false;
    if (e->op == EX_SAT_CAST && !type_is_float(from) && !type_is_float(to))
        return false;
    return !type_is_float(from) || type_is_float(to) || (expr_clamped_within(e->args[0], to) && to != KN_U32);
}

static CValue vector_value(CGen *g, const Expr *e, const CValue *args)
{
    const kn_type t = e->type, from = e->args[0]->type;
    int64_t       c;
    switch (e->op) {
    case EX_ADD:
    case EX_SUB:
    case EX_MUL: return is_short_float(t) ? lane_function(g, e, args) : arithmetic(g, e, args);
    case EX_DIV:
        if ((type_is_float(t) && !is_short_float(t)) ||
            (expr_is_int(e->args[1], &c) && c > 0 && !type_is_signed(t) && type_is_int(t)))
            return arithmetic(g, e, args);
        if (expr_is_int(e->args[1], &c) && c > 0 && !(c & (c - 1)) && type_is_int(t))
            return result(c_print(g, "(%s) >> %d", c_lanes(g, t, args[0]), __builtin_ctzll((uint64_t)c)), P_SHIFT);
        return lane_function(g, e, args);
    case EX_MOD:
        if (expr_is_int(e->args[1], &c) && c > 0 && !(c & (c - 1)))
            return result(c_print(g, "(%s) & %s", c_lanes(g, t, args[0]), c_lanes(g, t, (CValue){ .offset = c - 1 })),
                          P_BIT_AND);
        return lane_function(g, e, args);
    case EX_SHR:
        if (expr_is_int(e->args[1], &c) && c >= 0 && c < type_bits(t))
            return result(c_print(g, "(%s) >> %d", c_lanes(g, t, args[0]), (int)c), P_SHIFT);
        return lane_function(g, e, args);
    case EX_NEG:
        if (type_is_float(t) && !is_short_float(t))
            return result(c_print(g, "-%s", c_operand(g, args[0], P_PRIMARY)), P_UNARY);
        return lane_function(g, e, args);
    case EX_LT:
    case EX_LE:
    case EX_EQ:
    case EX_NE:
        if (from == KN_BOOL)
            return e->op == EX_EQ || e->op == EX_NE ? logic(g, e, args) : lane_function(g, e, args);
        return is_short_float(from) ? lane_function(g, e, args) : compare(g, e, args);
    case EX_AND:
    case EX_OR: return logic(g, e, args);
    case EX_BIT_AND:
    case EX_BIT_OR:
    case EX_BIT_XOR:
    case EX_BIT_NOT: return t == KN_BOOL ? logic(g, e, args) : bits_operator(g, e, args);
    case EX_MIN:
    case EX_MAX: return is_short_float(t) || t == KN_BOOL ? lane_function(g, e, args) : by_order(g, e, args);
    case EX_FMA: return is_short_float(t) ? lane_function(g, e, args) : fused(g, e, args);
    case EX_ABSD:
        return from == t && type_is_int(t) && !type_is_signed(t) ? by_order(g, e, args) : lane_function(g, e, args);
    case EX_AVG_UP:
    case EX_AVG_DOWN: return t == KN_U8 || t == KN_U16 ? average(g, e, args) : lane_function(g, e, args);
    case EX_SHL:
        if (expr_is_int(e->args[1], &c) && c >= 0 && c < type_bits(t) && !type_is_signed(t))
            return result(c_print(g, "(%s) << %d", c_lanes(g, t, args[0]), (int)c), P_SHIFT);
        return lane_function(g, e, args);
    case EX_REINTERPRET:
        if (t == KN_BOOL || from == KN_BOOL)
            return lane_function(g, e, args);
        return result(c_print(g, "(%s)(%s)", c_vector_type(g, t, g->lanes), c_lanes(g, from, args[0])), P_UNARY);
    case EX_SELECT: return choose(g, e, args);
    case EX_CAST:
    case EX_SAT_CAST:
        if (from == KN_BOOL && !is_short_float(t) && t != KN_BOOL)
            return from_bool(g, e, args[0]);
        if (converts(e))
            return converted(g, e, args);
        return from == KN_F32 && type_is_int(t) && (type_bits(t) < 32 || t == KN_I32) ? float_to_int(g, e, args)
                                                                                      : lane_function(g, e, args);
    default: return lane_function(g, e, args);
    }
}

CValue c_vector_operator(CGen *g, const Expr *e, const CValue *args)
{
    CValue v = vector_value(g, e, args);
    v.shape  = LANES;
    for (uint32_t i = 0; i < e->count; i++) {
        v.level = args[i].level > v.level ? args[i].level : v.level;
        v.reads |= args[i].reads;
    }
    return v;
}

/* ---- What can be done by vectors ---- */

typedef struct Fit {
    CGen *g;
    Map   varying; /* names */
    Map   bent;    /* those of them that are no ramps */
    Map   known;   /* expressions -> a text if they vary, another if not */
    Map   seen;
    int   widest; /* bits of an element */
    bool  fine;
} Fit;

static bool varies(Fit *f, const Expr *e)
{
    static const char yes[] = "yes", no[] = "no";
    if (e->op == EX_VAR)
        return map_get(&f->varying, e->u.name) != NULL;
    const char *known = map_get(&f->known, e);
    if (!known) {
        known = no;
        for (uint32_t i = 0; i < e->count && known == no; i++)
            known = varies(f, e->args[i]) ? yes : no;
        map_set(&f->known, e, known);
    }
    return known == yes;
}

/* Is it the same in all lanes, or a constant step more from lane to lane? */
static bool is_ramp(Fit *f, const Expr *e)
{
    if (!varies(f, e))
        return true;
    switch (e->op) {
    case EX_VAR: return !map_get(&f->bent, e->u.name);
    case EX_ADD:
    case EX_SUB: return is_ramp(f, e->args[0]) && is_ramp(f, e->args[1]);
    case EX_MUL: return e->args[1]->op == EX_INT && is_ramp(f, e->args[0]);
    case EX_NEG:
    case EX_CAST: return type_is_int(e->args[0]->type) && is_ramp(f, e->args[0]);
    default: return false;
    }
}

static void note_width(Fit *f, kn_type t)
{
    if (type_bits(t) > f->widest)
        f->widest = type_bits(t);
}

/* How wide its lanes are. An index that is a ramp has none. */
static void fit_expr(Fit *f, const Expr *e)
{
    if (!varies(f, e) || map_get(&f->seen, e))
        return;
    map_set(&f->seen, e, e);
    if (e->op == EX_EXTERN)
        f->fine = false;
    if (e->op != EX_VAR)
        note_width(f, e->type);
    if (e->op == EX_LOAD && !is_ramp(f, e->args[0]))
        note_width(f, KN_I32);
    for (uint32_t i = 0; i < e->count && e->op != EX_LOAD; i++)
        fit_expr(f, e->args[i]);
}

static void fit_stmt(void *user, const Stmt *s)
{
    Fit *f = user;
    switch (s->kind) {
    case STMT_LET:
        if (!is_ramp(f, s->let.value))
            map_set(&f->bent, s->let.name, s->let.name);
        if (varies(f, s->let.value))
            map_set(&f->varying, s->let.name, s->let.name);
        break;
    case STMT_FOR: f->fine &= s->loop.kind == LOOP_SERIAL || s->loop.kind == LOOP_UNROLL; break;
    case STMT_IF: f->fine &= !varies(f, s->branch.condition); break;
    case STMT_STORE:
        f->fine &= !s->store.atomic;
        for (int i = 0; i < s->store.count; i++) {
            fit_expr(f, s->store.places[i].value);
            note_width(f, s->store.places[i].buffer->type);
        }
        break;
    case STMT_BLOCK:
    case STMT_PRODUCE:
    case STMT_PREFETCH: break;
    default: f->fine = false;
    }
    stmt_children(s, NULL, fit_stmt, f);
}

bool c_vector_fits(CGen *g, const Stmt *loop, int *lanes)
{
    Fit     f = { .g = g, .fine = true, .widest = 8 };
    int64_t extent;
    map_init(&f.varying, g->arena);
    map_init(&f.bent, g->arena);
    map_init(&f.known, g->arena);
    map_init(&f.seen, g->arena);
    map_set(&f.varying, loop->loop.name, loop->loop.name);
    if (!expr_is_int(loop->loop.extent, &extent) || extent < 2 || extent > 1024 || (extent & (extent - 1)))
        return false;
    if (loop->loop.body)
        fit_stmt(&f, loop->loop.body);
    while (extent > 2 && extent * f.widest > VECTOR_BITS)
        extent /= 2;
    *lanes = (int)extent;
    return f.fine;
}
