/* SPDX-License-Identifier: MIT */
/* The built-in functions: a table, the handlers of its rows, and the conversion of arguments to a common type. */
#include "lang/elab.h"

#include <math.h>

/* The value of argument i, which must be a plain one. */
static ElabValue argument(Elab *el, const Env *env, const Ast *call, int i)
{
    const Ast *a = call->kids[i + 1];
    if (call->labels[i + 1]) {
        diag_error(el->cx, call->labels[i + 1]->loc, NULL,
                   "the arguments of this function are given in order, without names");
        return ERROR_VALUE;
    }
    return elab_expr(el, env, a);
}

static Loc arg_loc(const Ast *call, int i)
{
    return call->kids[i + 1]->loc;
}

/* The common type of all arguments: of the typed ones first, then of the literals; KN_NONE after a diagnostic. */
static kn_type meeting_type(Elab *el, const Ast *call, int n, const ElabValue *v, const char *name)
{
    kn_type t = KN_NONE;
    for (int i = 0; i < n; i++) {
        const Expr *e = value_is_weak(v[i]) ? NULL : value_to_expr(el, v[i], arg_loc(call, i));
        if (!e && !value_is_weak(v[i]))
            return KN_NONE;
        const kn_type next = !e ? t : t == KN_NONE ? (kn_type)e->type : type_meet(t, (kn_type)e->type);
        if (e && next == KN_NONE) {
            diag_error(el->cx, arg_loc(call, i), "convert it, as in u8(c)", "`%s` has no meaning for %s and %s", name,
                       type_table[t].name, type_table[e->type].name);
            return KN_NONE;
        }
        t = next;
    }
    for (int i = 0; i < n; i++)
        if (v[i].kind == VAL_FLOAT && (t == KN_NONE || type_is_int(t)))
            t = KN_F32;
    return t == KN_NONE ? KN_I32 : t;
}

/* Converts all arguments to their common type; to a float type if `as_float` (integers become f32). */
static kn_type meet_arguments(Elab *el, const Ast *call, int n, const ElabValue *v, bool as_float, const char *name,
                              const Expr **out)
{
    kn_type t = meeting_type(el, call, n, v, name);
    if (t == KN_NONE)
        return t;
    if (t == KN_BOOL) {
        diag_error(el->cx, call->loc, "convert it, as in u8(c)", "`%s` has no meaning for bool", name);
        return KN_NONE;
    }
    if (as_float && type_is_int(t))
        t = KN_F32;
    for (int i = 0; i < n; i++) {
        out[i] = value_is_weak(v[i]) ? value_to_type(el, v[i], t, arg_loc(call, i), NULL) : convert(el, v[i].expr, t);
        if (!out[i])
            return KN_NONE;
    }
    return t;
}

static bool all_weak(const ElabValue *v, int n)
{
    for (int i = 0; i < n; i++)
        if (!value_is_weak(v[i]))
            return false;
    return true;
}

static double weak_number(ElabValue v)
{
    return v.kind == VAL_INT ? (double)v.integer : v.real;
}

enum { MOST_ARGS = 64 };

/* The values of the arguments; NULL if one is an error. Allocated in the arena: calls nest deeply. */
static ElabValue *arguments(Elab *el, const Env *env, const Ast *call)
{
    const int n = call->count - 1;
    if (n > MOST_ARGS) {
        diag_error(el->cx, call->loc, NULL, "at most %d arguments are possible", MOST_ARGS);
        return NULL;
    }
    ElabValue *v  = ARENA_ARRAY(el->arena, ElabValue, (size_t)n + 1);
    bool       ok = true;
    for (int i = 0; i < n; i++) {
        v[i] = argument(el, env, call, i);
        ok &= v[i].kind != VAL_ERROR;
    }
    return ok ? v : NULL;
}

/* exp, sqrt, atan2 …: floats; integers become f32; weak numbers are computed now, in f64. */
static ElabValue apply_float(Elab *el, const Env *env, const Ast *call, const Builtin *b)
{
    const Expr *e[3];
    const int   n = call->count - 1;
    ElabValue  *v = arguments(el, env, call);
    if (!v)
        return ERROR_VALUE;
    if (b->fold && all_weak(v, n))
        return value_float(b->fold(weak_number(v[0]), n > 1 ? weak_number(v[1]) : 0));
    const kn_type t = meet_arguments(el, call, n, v, true, b->name, e);
    if (t == KN_NONE)
        return ERROR_VALUE;
    return value_expr(n == 1   ? expr_unary(el->pool, b->op, t, e[0])
                      : n == 2 ? expr_binary(el->pool, b->op, t, e[0], e[1])
                               : expr_ternary(el->pool, b->op, t, e[0], e[1], e[2]));
}

/* floor, ceil, round, trunc: the identity on integers. */
static ElabValue apply_rounding(Elab *el, const Env *env, const Ast *call, const Builtin *b)
{
    ElabValue v = argument(el, env, call, 0);
    if (v.kind == VAL_INT)
        return v;
    if (v.kind == VAL_FLOAT)
        return value_float(b->fold(v.real, 0));
    const Expr *e = value_to_expr(el, v, arg_loc(call, 0));
    if (!e)
        return ERROR_VALUE;
    if (e->type == KN_BOOL) {
        diag_error(el->cx, call->loc, "convert it, as in u8(c)", "`%s` has no meaning for bool", b->name);
        return ERROR_VALUE;
    }
    return value_expr(type_is_float((kn_type)e->type) ? expr_unary(el->pool, b->op, (kn_type)e->type, e) : e);
}

/* min and max of two or more, left to right; weak ones are folded. With `for`: a reduction. */
static ElabValue apply_extreme(Elab *el, const Env *env, const Ast *call, const Builtin *b)
{
    if (call->clause)
        return apply_reduction(el, env, call, b);
    const int  n = call->count - 1;
    ElabValue *v = arguments(el, env, call);
    if (!v)
        return ERROR_VALUE;
    ElabValue m = v[0];
    for (int i = 1; i < n; i++) {
        if (m.kind == VAL_INT && v[i].kind == VAL_INT) {
            m = b->op == EX_MIN ? (m.integer < v[i].integer ? m : v[i]) : (m.integer > v[i].integer ? m : v[i]);
        } else if (value_is_weak(m) && value_is_weak(v[i])) {
            const double x = weak_number(m), y = weak_number(v[i]);
            m = value_float(b->op == EX_MIN ? (x < y ? x : y) : (x > y ? x : y));
        } else {
            const Expr   *x, *y;
            const kn_type t = values_meet(el, m, arg_loc(call, 0), v[i], arg_loc(call, i),
                                          arena_printf(el->arena, "`%s`", b->name), &x, &y);
            if (t == KN_BOOL)
                diag_error(el->cx, call->loc, "use && or ||", "`%s` has no meaning for bool", b->name);
            if (t == KN_NONE || t == KN_BOOL)
                return ERROR_VALUE;
            m = value_expr(expr_binary(el->pool, b->op, t, x, y));
        }
    }
    return m;
}

/* clamp(v, lo, hi) = min(max(v, lo), hi) */
static ElabValue apply_clamp(Elab *el, const Env *env, const Ast *call, const Builtin *b)
{
    const Expr *e[3];
    ElabValue  *v = arguments(el, env, call);
    if (!v)
        return ERROR_VALUE;
    if (v[0].kind == VAL_INT && v[1].kind == VAL_INT && v[2].kind == VAL_INT) {
        const __int128 low = v[0].integer > v[1].integer ? v[0].integer : v[1].integer;
        return value_int(low < v[2].integer ? low : v[2].integer);
    }
    const kn_type t = meet_arguments(el, call, 3, v, false, b->name, e);
    if (t == KN_NONE)
        return ERROR_VALUE;
    return value_expr(expr_binary(el->pool, EX_MIN, t, expr_binary(el->pool, EX_MAX, t, e[0], e[1]), e[2]));
}

/* lerp(a, b, w) = a*(1 - w) + b*w */
static ElabValue apply_lerp(Elab *el, const Env *env, const Ast *call, const Builtin *b)
{
    const Expr *e[3];
    ElabValue  *v = arguments(el, env, call);
    if (!v)
        return ERROR_VALUE;
    const kn_type t = meet_arguments(el, call, 3, v, true, b->name, e);
    if (t == KN_NONE)
        return ERROR_VALUE;
    const Expr *rest = expr_binary(el->pool, EX_SUB, t, expr_float(el->pool, t, 1), e[2]);
    return value_expr(expr_binary(el->pool, EX_ADD, t, expr_binary(el->pool, EX_MUL, t, e[0], rest),
                                  expr_binary(el->pool, EX_MUL, t, e[1], e[2])));
}

static ElabValue apply_abs(Elab *el, const Env *env, const Ast *call, const Builtin *b)
{
    ElabValue v = argument(el, env, call, 0);
    if (v.kind == VAL_INT)
        return value_int(v.integer < 0 ? -v.integer : v.integer);
    if (v.kind == VAL_FLOAT)
        return value_float(fabs(v.real));
    const Expr *e = value_to_expr(el, v, arg_loc(call, 0));
    if (!e)
        return ERROR_VALUE;
    if (e->type == KN_BOOL) {
        diag_error(el->cx, call->loc, "convert it, as in u8(c)", "`%s` has no meaning for bool", b->name);
        return ERROR_VALUE;
    }
    return value_expr(type_is_signed((kn_type)e->type) ? expr_unary(el->pool, EX_ABS, (kn_type)e->type, e) : e);
}

/* |a - b|: of integers in the unsigned type, of floats abs(a - b). */
static ElabValue apply_absd(Elab *el, const Env *env, const Ast *call, const Builtin *b)
{
    const Expr *e[3];
    ElabValue  *v = arguments(el, env, call);
    if (!v)
        return ERROR_VALUE;
    const kn_type t = meet_arguments(el, call, 2, v, false, b->name, e);
    if (t == KN_NONE)
        return ERROR_VALUE;
    if (type_is_float(t))
        return value_expr(expr_unary(el->pool, EX_ABS, t, expr_binary(el->pool, EX_SUB, t, e[0], e[1])));
    return value_expr(expr_binary(el->pool, EX_ABSD, type_table[t].as_unsigned, e[0], e[1]));
}

/* avg_up, avg_down, popcount, clz: integers. */
static ElabValue apply_integer(Elab *el, const Env *env, const Ast *call, const Builtin *b)
{
    const Expr *e[3];
    const int   n = call->count - 1;
    ElabValue  *v = arguments(el, env, call);
    if (!v)
        return ERROR_VALUE;
    const kn_type t = meet_arguments(el, call, n, v, false, b->name, e);
    if (t == KN_NONE)
        return ERROR_VALUE;
    if (type_is_float(t)) {
        diag_error(el->cx, call->loc, NULL, "`%s` works on integers, this is %s", b->name, type_table[t].name);
        return ERROR_VALUE;
    }
    return value_expr(n == 1 ? expr_unary(el->pool, b->op, t, e[0]) : expr_binary(el->pool, b->op, t, e[0], e[1]));
}

/* mul_shift(a, b, s): the amount has its own type. */
static ElabValue apply_mul_shift(Elab *el, const Env *env, const Ast *call, const Builtin *b)
{
    const Expr *e[2];
    ElabValue  *v = arguments(el, env, call);
    if (!v)
        return ERROR_VALUE;
    const kn_type t = meet_arguments(el, call, 2, v, false, b->name, e);
    const Expr   *s = value_to_expr(el, v[2], arg_loc(call, 2));
    if (t == KN_NONE || !s)
        return ERROR_VALUE;
    if (type_is_float(t) || !type_is_int((kn_type)s->type)) {
        diag_error(el->cx, call->loc, NULL, "`%s` works on integers", b->name);
        return ERROR_VALUE;
    }
    return value_expr(expr_ternary(el->pool, EX_MUL_SHIFT, t, e[0], e[1], s));
}

/* select(c1: e1, c2: e2, else: e3) is a chain of choices: if c1 then e1 else if c2 then e2 else e3. */
static ElabValue apply_select(Elab *el, const Env *env, const Ast *call, const Builtin *b)
{
    (void)b;
    const int last  = call->count - 1;
    Ast      *chain = call->kids[last];
    for (int i = last; i >= 1; i--) {
        const Ast *label   = call->labels[i];
        const bool is_else = label && label->kind == AST_NAME && !strcmp(label->name, "else");
        if (!label || is_else != (i == last)) {
            diag_error(el->cx, label ? label->loc : call->kids[i]->loc, "select(c1: e1, c2: e2, else: e3)",
                       i == last ? "the last choice of `select` is `else: value`"
                                 : "a choice of `select` is `condition: value`");
            return ERROR_VALUE;
        }
        if (i == last)
            continue;
        Ast *choice     = ast_new(el->arena, AST_IF, loc_join(label->loc, call->kids[last]->loc), 3);
        choice->kids[0] = call->labels[i];
        choice->kids[1] = call->kids[i];
        choice->kids[2] = chain;
        chain           = choice;
    }
    return elab_expr(el, env, chain);
}

static ElabValue apply_strict(Elab *el, const Env *env, const Ast *call, const Builtin *b)
{
    (void)b;
    const bool before = el->pool->strict;
    el->pool->strict  = true;
    ElabValue v       = argument(el, env, call, 0);
    el->pool->strict  = before;
    return v;
}

/* reinterpret(T, e): the same bits as another type of the same width. */
static ElabValue apply_reinterpret(Elab *el, const Env *env, const Ast *call, const Builtin *b)
{
    (void)b;
    const kn_type t = elab_type(el, env, call->kids[1]);
    const Expr   *e = t == KN_NONE ? NULL : value_to_expr(el, argument(el, env, call, 1), arg_loc(call, 1));
    if (!e)
        return ERROR_VALUE;
    if (t == KN_BOOL || e->type == KN_BOOL || type_bits(t) != type_bits((kn_type)e->type)) {
        diag_error(el->cx, call->loc, NULL, "%s and %s do not have the same number of bits", type_table[e->type].name,
                   type_table[t].name);
        return ERROR_VALUE;
    }
    return value_expr(e->type == t ? e : expr_unary(el->pool, EX_REINTERPRET, t, e));
}

/* sat_u8(e) …: the type is in the name. */
static ElabValue apply_saturate(Elab *el, const Env *env, const Ast *call, const Builtin *b)
{
    const kn_type t = kn_type_from_name(b->name + 4);
    const Expr   *e = value_to_expr(el, argument(el, env, call, 0), arg_loc(call, 0));
    if (!e)
        return ERROR_VALUE;
    if (e->type == KN_BOOL) {
        diag_error(el->cx, call->loc, "convert it, as in u8(c)", "`%s` has no meaning for bool", b->name);
        return ERROR_VALUE;
    }
    return value_expr(e->type == t ? e : expr_unary(el->pool, EX_SAT_CAST, t, e));
}

/* ---- The table -------------------------------------------------------------------------- */

#define FOLD1(name, f)                                                                                                 \
    static double fold_##name(double a, double b)                                                                      \
    {                                                                                                                  \
        (void)b;                                                                                                       \
        return f(a);                                                                                                   \
    }
/* clang-format off */
FOLD1(floor, floor) FOLD1(ceil, ceil) FOLD1(round, rint) FOLD1(trunc, trunc)
FOLD1(sqrt, sqrt) FOLD1(exp, exp) FOLD1(log, log) FOLD1(sin, sin) FOLD1(cos, cos)
FOLD1(tan, tan) FOLD1(tanh, tanh) FOLD1(erf, erf)
    /* clang-format on */

    static double fold_rsqrt(double a, double b)
{
    (void)b;
    return 1 / sqrt(a);
}
static double fold_pow(double a, double b)
{
    return pow(a, b);
}
static double fold_atan2(double a, double b)
{
    return atan2(a, b);
}

static const Builtin builtins[] = {
    { "abs", 1, 1, apply_abs, EX_ABS, NULL },
    { "absd", 2, 2, apply_absd, EX_ABSD, NULL },
    { "all", 1, 1, apply_reduction, EX_AND, NULL },
    { "any", 1, 1, apply_reduction, EX_OR, NULL },
    { "argmax", 1, 1, apply_reduction, EX_MAX, NULL },
    { "argmin", 1, 1, apply_reduction, EX_MIN, NULL },
    { "atan2", 2, 2, apply_float, EX_ATAN2, fold_atan2 },
    { "avg_down", 2, 2, apply_integer, EX_AVG_DOWN, NULL },
    { "avg_up", 2, 2, apply_integer, EX_AVG_UP, NULL },
    { "ceil", 1, 1, apply_rounding, EX_CEIL, fold_ceil },
    { "clamp", 3, 3, apply_clamp, EX_MIN, NULL },
    { "clz", 1, 1, apply_integer, EX_CLZ, NULL },
    { "constant", 2, -1, apply_boundary, EX_SELECT, NULL },
    { "cos", 1, 1, apply_float, EX_COS, fold_cos },
    { "edge", 1, -1, apply_boundary, EX_SELECT, NULL },
    { "erf", 1, 1, apply_float, EX_ERF, fold_erf },
    { "exp", 1, 1, apply_float, EX_EXP, fold_exp },
    { "floor", 1, 1, apply_rounding, EX_FLOOR, fold_floor },
    { "fma", 3, 3, apply_float, EX_FMA, NULL },
    { "lerp", 3, 3, apply_lerp, EX_ADD, NULL },
    { "log", 1, 1, apply_float, EX_LOG, fold_log },
    { "max", 2, -1, apply_extreme, EX_MAX, NULL },
    { "min", 2, -1, apply_extreme, EX_MIN, NULL },
    { "mirror", 1, -1, apply_boundary, EX_SELECT, NULL },
    { "mirror_interior", 1, -1, apply_boundary, EX_SELECT, NULL },
    { "mul_shift", 3, 3, apply_mul_shift, EX_MUL_SHIFT, NULL },
    { "popcount", 1, 1, apply_integer, EX_POPCOUNT, NULL },
    { "pow", 2, 2, apply_float, EX_POW, fold_pow },
    { "product", 1, 1, apply_reduction, EX_MUL, NULL },
    { "reinterpret", 2, 2, apply_reinterpret, EX_REINTERPRET, NULL },
    { "round", 1, 1, apply_rounding, EX_ROUND, fold_round },
    { "rsqrt", 1, 1, apply_float, EX_RSQRT, fold_rsqrt },
    { "sat_i16", 1, 1, apply_saturate, EX_SAT_CAST, NULL },
    { "sat_i32", 1, 1, apply_saturate, EX_SAT_CAST, NULL },
    { "sat_i64", 1, 1, apply_saturate, EX_SAT_CAST, NULL },
    { "sat_i8", 1, 1, apply_saturate, EX_SAT_CAST, NULL },
    { "sat_u16", 1, 1, apply_saturate, EX_SAT_CAST, NULL },
    { "sat_u32", 1, 1, apply_saturate, EX_SAT_CAST, NULL },
    { "sat_u64", 1, 1, apply_saturate, EX_SAT_CAST, NULL },
    { "sat_u8", 1, 1, apply_saturate, EX_SAT_CAST, NULL },
    { "select", 1, -1, apply_select, EX_SELECT, NULL },
    { "sin", 1, 1, apply_float, EX_SIN, fold_sin },
    { "sqrt", 1, 1, apply_float, EX_SQRT, fold_sqrt },
    { "strict", 1, 1, apply_strict, EX_SELECT, NULL },
    { "sum", 1, 1, apply_reduction, EX_ADD, NULL },
    { "tan", 1, 1, apply_float, EX_TAN, fold_tan },
    { "tanh", 1, 1, apply_float, EX_TANH, fold_tanh },
    { "trunc", 1, 1, apply_rounding, EX_TRUNC, fold_trunc },
    { "wrap", 1, -1, apply_boundary, EX_SELECT, NULL },
};
enum { BUILTIN_COUNT = sizeof builtins / sizeof *builtins };

const Builtin *builtin_find(const char *name)
{
    for (int i = 0; i < BUILTIN_COUNT; i++)
        if (!strcmp(builtins[i].name, name))
            return &builtins[i];
    return NULL;
}

bool builtin_constant(Elab *el, const char *name, ElabValue *out)
{
    static const struct {
        const char *name;
        double      value;
    } numbers[] = { { "pi", 3.14159265358979323846 }, { "inf", INFINITY }, { "nan", NAN } };
    if (!strcmp(name, "true") || !strcmp(name, "false")) {
        *out = value_expr(expr_bool(el->pool, name[0] == 't'));
        return true;
    }
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (!strcmp(numbers[i].name, name)) {
            *out = value_float(numbers[i].value);
            return true;
        }
    return false;
}

size_t builtin_names(const char **out, size_t most)
{
    size_t n = 0;
    for (int i = 0; i < BUILTIN_COUNT && n < most; i++)
        out[n++] = builtins[i].name;
    for (int t = 1; t < KN_TYPE_COUNT && n < most; t++)
        out[n++] = type_table[t].name;
    return n;
}
