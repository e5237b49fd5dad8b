/* SPDX-License-Identifier: MIT */
/* The float functions against the C library in long double: the largest error of each over many arguments, which must
 * be at most what ir/math.h and docs/language.md state; values at the edges; ranges that may not be left, and functions
 * that may not fall. `test_math COUNT` takes so many arguments per sweep, and prints what it finds. */
#include "interp/formula.h"
#include "ir/math.h"
#include "check.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

enum { ROW = 256 };

/* A function of a type, made ready; sqrt and rsqrt, which are operators of their own, too. */
typedef struct Function {
    ExprOp   op;
    kn_type  type;
    Formula *formula; /* NULL: an operator */
} Function;

static kn_context *cx;

static Function function(ExprOp op, kn_type type)
{
    return (Function){ op, type, math_has(op) ? formula_new(cx, &cx->arena, op, type) : NULL };
}

static void apply(const Function *f, Lane *r, const Lane *a, const Lane *b, int n)
{
    if (f->formula) {
        formula_run(f->formula, r, a, b, n);
        return;
    }
    for (int i = 0; i < n; i++)
        r[i] = operator_apply(f->op, f->type, 1, &f->type, &a[i]);
}

static double apply_one(const Function *f, double a, double b)
{
    Lane r;
    apply(f, &r, &(Lane){ .f = type_round(f->type, a) }, &(Lane){ .f = type_round(f->type, b) }, 1);
    return r.f;
}

/* ---- Errors ----------------------------------------------------------------------------- */

typedef long double Exact;

static Exact rsqrt_exact(Exact x)
{
    return 1 / sqrtl(x);
}

/* Arguments from lo to hi (and their negatives if `mirrored`), evenly or, with 0 < lo, with evenly distributed
 * logarithms; the nearest multiples of `step` if it has one. */
typedef struct Span {
    double lo, hi;
    bool   mirrored, logarithmic;
    double step;
} Span;

typedef struct Sweep {
    ExprOp op;
    Exact (*exact1)(Exact);
    Exact (*exact2)(Exact, Exact);
    Span a, b;
} Sweep;

#define NONE                                                                                                           \
    {                                                                                                                  \
        0, 0, false, false, 0                                                                                          \
    }

static const Sweep sweeps[] = {
    { EX_SQRT, sqrtl, NULL, { 0, 1e4, false, false, 0 }, NONE },
    { EX_RSQRT, rsqrt_exact, NULL, { 1e-4, 1e4, false, true, 0 }, NONE },
    { EX_EXP, expl, NULL, { 1e-9, 1, true, true, 0 }, NONE },
    { EX_EXP, expl, NULL, { 0, 89, true, false, 0 }, NONE },
    { EX_EXP, expl, NULL, { 80, 750, true, false, 0 }, NONE },
    { EX_EXP, expl, NULL, { 85, 105, true, false, 0 }, NONE },
    { EX_LOG, logl, NULL, { 1e-45, 3e38, false, true, 0 }, NONE },
    { EX_LOG, logl, NULL, { 1e-320, 1e308, false, true, 0 }, NONE },
    { EX_LOG, logl, NULL, { 0.5, 2, false, false, 0 }, NONE },
    { EX_SIN, sinl, NULL, { 1e-30, 1, true, true, 0 }, NONE },
    { EX_SIN, sinl, NULL, { 0, 20, true, false, 0 }, NONE },
    { EX_SIN, sinl, NULL, { 1, 131072, true, true, 0 }, NONE },
    { EX_SIN, sinl, NULL, { 1e5, 1e12, true, true, 0 }, NONE },
    { EX_COS, cosl, NULL, { 0, 20, true, false, 0 }, NONE },
    { EX_COS, cosl, NULL, { 1, 131072, true, true, 0 }, NONE },
    { EX_COS, cosl, NULL, { 1e5, 1e12, true, true, 0 }, NONE },
    { EX_TAN, tanl, NULL, { 1e-30, 1, true, true, 0 }, NONE },
    { EX_TAN, tanl, NULL, { 0, 20, true, false, 0 }, NONE },
    { EX_TAN, tanl, NULL, { 1, 131072, true, true, 0 }, NONE },
    { EX_TAN, tanl, NULL, { 1e5, 1e12, true, true, 0 }, NONE },
    { EX_SIN, sinl, NULL, { 1, 131072, true, true, M_PI_2 }, NONE },
    { EX_SIN, sinl, NULL, { 1, 0x1p40, true, true, M_PI_2 }, NONE },
    { EX_COS, cosl, NULL, { 1, 131072, true, true, M_PI_2 }, NONE },
    { EX_COS, cosl, NULL, { 1, 0x1p40, true, true, M_PI_2 }, NONE },
    { EX_TAN, tanl, NULL, { 1, 131072, true, true, M_PI_2 }, NONE },
    { EX_TAN, tanl, NULL, { 1, 0x1p40, true, true, M_PI_2 }, NONE },
    { EX_TANH, tanhl, NULL, { 1e-30, 1, true, true, 0 }, NONE },
    { EX_TANH, tanhl, NULL, { 0, 21, true, false, 0 }, NONE },
    { EX_ERF, erfl, NULL, { 1e-30, 1, true, true, 0 }, NONE },
    { EX_ERF, erfl, NULL, { 0, 6.5, true, false, 0 }, NONE },
    { EX_POW, NULL, powl, { 1e-38, 1e38, false, true, 0 }, { 0, 5, true, false, 0 } },
    { EX_POW, NULL, powl, { 0.5, 2, false, false, 0 }, { 1e-3, 1000, true, true, 0 } },
    { EX_POW, NULL, powl, { 1e-300, 1e300, false, true, 0 }, { 1e-3, 1000, true, true, 0 } },
    { EX_ATAN2, NULL, atan2l, { 1e-3, 1e3, true, true, 0 }, { 1e-3, 1e3, true, true, 0 } },
    { EX_ATAN2, NULL, atan2l, { 0, 1, true, false, 0 }, { 0, 1, true, false, 0 } },
    { EX_ATAN2, NULL, atan2l, { 1e-45, 3e38, true, true, 0 }, { 1e-45, 3e38, true, true, 0 } },
};

/* The same numbers in every run: x' = a*x + c modulo 2^64, of which the upper bits are used (Knuth's MMIX
 * constants). */
static double fraction(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (double)(*state >> 11) / 9007199254740992.0;
}

static double draw(const Span *s, uint64_t *state)
{
    const double at = fraction(state),
                 v  = s->logarithmic ? exp(log(s->lo) + (log(s->hi) - log(s->lo)) * at) : s->lo + (s->hi - s->lo) * at;
    const double near = s->step != 0 ? rint(v / s->step) * s->step : v;
    return s->mirrored && fraction(state) < 0.5 ? -near : near;
}

static double stated(ExprOp op, kn_type type)
{
    return op == EX_SQRT ? (type == KN_F64 ? 0.5001 : 0.51) : op == EX_RSQRT ? 1.5 : math_error(op, type);
}

/* The distance between neighbours of the type around v; that of the smallest numbers below the normal ones. */
static Exact unit_in_last_place(kn_type t, Exact v)
{
    const int least = t == KN_F16 ? -14 : t == KN_F64 ? -1022 : -126, exponent = v == 0 ? least : ilogbl(v);
    return ldexpl(1, (exponent < least ? least : exponent) + 1 - type_table[t].mantissa);
}

static double greatest(kn_type t)
{
    return t == KN_F16 ? 65504 : t == KN_BF16 ? 0x1.fep127 : t == KN_F32 ? (double)FLT_MAX : DBL_MAX;
}

static bool is_wave(ExprOp op)
{
    return op == EX_SIN || op == EX_COS || op == EX_TAN;
}

typedef struct Worst {
    double error, a, b, got;
} Worst;

static Worst measure(const Sweep *s, kn_type t, int count)
{
    const Function f     = function(s->op, t);
    uint64_t       state = 1;
    Worst          worst = { 0 };
    for (int i = 0; i < count; i += ROW) {
        Lane a[ROW], b[ROW], r[ROW];
        for (int l = 0; l < ROW; l++) {
            a[l].f = type_round(t, draw(&s->a, &state));
            b[l].f = s->exact2 ? type_round(t, draw(&s->b, &state)) : 0;
        }
        apply(&f, r, a, b, ROW);
        for (int l = 0; l < ROW; l++) {
            const Exact want = s->exact1 ? s->exact1(a[l].f) : s->exact2(a[l].f, b[l].f);
            if (!(fabsl(want) <= greatest(t)) || (is_wave(s->op) && fabs(a[l].f) > math_reach(t)))
                continue;
            const Exact error = fabsl(r[l].f - want) / unit_in_last_place(t, want);
            if (!(error <= worst.error))
                worst = (Worst){ (double)error, a[l].f, b[l].f, r[l].f };
        }
    }
    return worst;
}

static void test_errors(int count, bool print)
{
    static const kn_type types[] = { KN_F16, KN_BF16, KN_F32, KN_F64 };
    for (size_t i = 0; i < sizeof sweeps / sizeof *sweeps; i++)
        for (int k = 0; k < (LDBL_MANT_DIG > DBL_MANT_DIG ? 4 : 3); k++) {
            const Sweep *s    = &sweeps[i];
            const Worst  w    = measure(s, types[k], types[k] == KN_F32 ? count : count / 4);
            const char  *name = expr_op_table[s->op].text, *type = kn_type_name(types[k]);
            CHECK(w.error <= stated(s->op, types[k]),
                  "%s of %s: %.3f units in the last place at %a %a, which gives %a; %.2f are stated", name, type,
                  w.error, w.a, w.b, w.got, stated(s->op, types[k]));
            if (print)
                printf("%-6s %-5s %g..%g: %.3f at %a %a\n", name, type, s->a.lo, s->a.hi, w.error, w.a, w.b);
        }
}

/* ---- Edges ------------------------------------------------------------------------------ */

#define INF INFINITY

/* The same in every float type; exact, but for `near`, which is rounded to the type. */
static const struct Edge {
    ExprOp op;
    double a, b, want;
} edges[] = {
    { EX_EXP, 0, 0, 1 },
    { EX_EXP, -0.0, 0, 1 },
    { EX_EXP, INF, 0, INF },
    { EX_EXP, -INF, 0, 0 },
    { EX_EXP, NAN, 0, NAN },
    { EX_EXP, 800, 0, INF },
    { EX_EXP, -800, 0, 0 },
    { EX_LOG, 1, 0, 0 },
    { EX_LOG, 0, 0, -INF },
    { EX_LOG, -0.0, 0, -INF },
    { EX_LOG, INF, 0, INF },
    { EX_LOG, -1, 0, NAN },
    { EX_LOG, -INF, 0, NAN },
    { EX_LOG, NAN, 0, NAN },
    { EX_SIN, 0, 0, 0 },
    { EX_SIN, -0.0, 0, -0.0 },
    { EX_SIN, INF, 0, NAN },
    { EX_SIN, -INF, 0, NAN },
    { EX_SIN, NAN, 0, NAN },
    { EX_COS, 0, 0, 1 },
    { EX_COS, -0.0, 0, 1 },
    { EX_COS, INF, 0, NAN },
    { EX_COS, NAN, 0, NAN },
    { EX_TAN, 0, 0, 0 },
    { EX_TAN, -0.0, 0, -0.0 },
    { EX_TAN, -INF, 0, NAN },
    { EX_TAN, NAN, 0, NAN },
    { EX_TANH, 0, 0, 0 },
    { EX_TANH, -0.0, 0, -0.0 },
    { EX_TANH, INF, 0, 1 },
    { EX_TANH, -INF, 0, -1 },
    { EX_TANH, 30, 0, 1 },
    { EX_TANH, -30, 0, -1 },
    { EX_TANH, NAN, 0, NAN },
    { EX_ERF, 0, 0, 0 },
    { EX_ERF, -0.0, 0, -0.0 },
    { EX_ERF, INF, 0, 1 },
    { EX_ERF, -INF, 0, -1 },
    { EX_ERF, 7, 0, 1 },
    { EX_ERF, -7, 0, -1 },
    { EX_ERF, NAN, 0, NAN },
    /* pow, as F.10.4.4 lists them */
    { EX_POW, 0, -3, INF },
    { EX_POW, -0.0, -3, -INF },
    { EX_POW, 0, -2, INF },
    { EX_POW, -0.0, -2, INF },
    { EX_POW, -0.0, -2.5, INF },
    { EX_POW, -0.0, -INF, INF },
    { EX_POW, 0, 3, 0 },
    { EX_POW, -0.0, 3, -0.0 },
    { EX_POW, -0.0, 2, 0 },
    { EX_POW, -0.0, 2.5, 0 },
    { EX_POW, -1, INF, 1 },
    { EX_POW, -1, -INF, 1 },
    { EX_POW, 1, NAN, 1 },
    { EX_POW, 1, INF, 1 },
    { EX_POW, NAN, 0, 1 },
    { EX_POW, NAN, -0.0, 1 },
    { EX_POW, INF, 0, 1 },
    { EX_POW, 0, 0, 1 },
    { EX_POW, -2, 0.5, NAN },
    { EX_POW, -2, -2.5, NAN },
    { EX_POW, 0.5, -INF, INF },
    { EX_POW, 2, -INF, 0 },
    { EX_POW, 0.5, INF, 0 },
    { EX_POW, -2, INF, INF },
    { EX_POW, -INF, -3, -0.0 },
    { EX_POW, -INF, -2, 0 },
    { EX_POW, -INF, 3, -INF },
    { EX_POW, -INF, 2, INF },
    { EX_POW, -INF, 2.5, INF },
    { EX_POW, INF, -1, 0 },
    { EX_POW, INF, 1, INF },
    { EX_POW, NAN, 1, NAN },
    { EX_POW, 2, NAN, NAN },
    { EX_POW, NAN, NAN, NAN },
    { EX_POW, -2, 3, -8 },
    { EX_POW, -2, 4, 16 },
    { EX_POW, -2, -1, -0.5 },
    { EX_POW, 2, 10, 1024 },
    { EX_POW, 9, 0.5, 3 },
    { EX_POW, 2, -8, 0x1p-8 },
    { EX_POW, 10, 400, INF },
    { EX_POW, 10, -400, 0 },
    { EX_POW, -1000, 201, -INF },
    { EX_POW, -1000, -201, -0.0 },
    { EX_POW, 3, 1, 3 },
    { EX_POW, -1, 255, -1 },
    { EX_POW, -1, 256, 1 },
    { EX_POW, -1, 1e30, 1 },
    /* atan2, as F.10.1.4 lists them */
    { EX_ATAN2, 0, 0, 0 },
    { EX_ATAN2, -0.0, 0, -0.0 },
    { EX_ATAN2, 0, -0.0, M_PI },
    { EX_ATAN2, -0.0, -0.0, -M_PI },
    { EX_ATAN2, 0, -1, M_PI },
    { EX_ATAN2, -0.0, -1, -M_PI },
    { EX_ATAN2, 0, 1, 0 },
    { EX_ATAN2, -0.0, 1, -0.0 },
    { EX_ATAN2, 1, 0, M_PI_2 },
    { EX_ATAN2, -1, -0.0, -M_PI_2 },
    { EX_ATAN2, 1, -INF, M_PI },
    { EX_ATAN2, -1, INF, -0.0 },
    { EX_ATAN2, INF, 1, M_PI_2 },
    { EX_ATAN2, -INF, -1, -M_PI_2 },
    { EX_ATAN2, INF, INF, M_PI_4 },
    { EX_ATAN2, INF, -INF, 3 * M_PI_4 },
    { EX_ATAN2, -INF, INF, -M_PI_4 },
    { EX_ATAN2, NAN, 1, NAN },
    { EX_ATAN2, 1, NAN, NAN },
    { EX_ATAN2, 1, 1, M_PI_4 },
};

static bool same(double a, double b)
{
    return isnan(a) ? isnan(b) : a == b && signbit(a) == signbit(b);
}

static void test_edges(void)
{
    for (size_t i = 0; i < sizeof edges / sizeof *edges; i++)
        for (kn_type t = KN_F16; t <= KN_F64; t++) {
            if (!type_is_float(t))
                continue;
            const struct Edge *e   = &edges[i];
            const Function     f   = function(e->op, t);
            const double       got = apply_one(&f, e->a, e->b), want = type_round(t, e->want);
            CHECK(same(got, want), "%s(%g, %g) of %s is %a, not %a", expr_op_table[e->op].text, e->a, e->b,
                  kn_type_name(t), got, want);
        }
}

/* Subnormal arguments and results of f32 and f64. */
static void test_subnormals(void)
{
    static const struct {
        ExprOp  op;
        kn_type type;
        double  a, b, want, off; /* off: by so many of the smallest numbers at most */
    } cases[] = {
        { EX_EXP, KN_F32, -100, 0, 0x1.a3p-145, 1 },
        { EX_EXP, KN_F32, -103.9, 0, 0x1p-149, 0 },
        { EX_EXP, KN_F32, -104, 0, 0, 0 },
        { EX_EXP, KN_F64, -745, 0, 0x1p-1074, 0 },
        { EX_EXP, KN_F64, -746, 0, 0, 0 },
        { EX_SIN, KN_F32, 0x1p-149, 0, 0x1p-149, 0 },
        { EX_TANH, KN_F32, -0x1p-140, 0, -0x1p-140, 0 },
        { EX_TANH, KN_F64, 0x1p-1074, 0, 0x1p-1074, 0 },
        { EX_TAN, KN_F64, 0x1p-1074, 0, 0x1p-1074, 0 },
        { EX_POW, KN_F32, 2, -149, 0x1p-149, 0 },
        { EX_POW, KN_F64, 2, -1074, 0x1p-1074, 0 },
        { EX_POW, KN_F32, 0x1p-149, 0.5, 0x1.6a09e6p-75, 0 },
        { EX_ATAN2, KN_F32, 0x1p-149, 1, 0x1p-149, 0 },
        { EX_ATAN2, KN_F32, 0x1p-149, 0x1p-149, M_PI_4, 0 },
        { EX_ERF, KN_F32, 0x1p-130, 0, 0x1.20dd75p-130, 1 },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const Function f   = function(cases[i].op, cases[i].type);
        const double   got = apply_one(&f, cases[i].a, cases[i].b), want = type_round(cases[i].type, cases[i].want);
        const double   least = cases[i].type == KN_F32 ? 0x1p-149 : 0x1p-1074;
        CHECK(fabs(got - want) <= cases[i].off * least, "%s(%a, %a) of %s is %a, not %a",
              expr_op_table[cases[i].op].text, cases[i].a, cases[i].b, kn_type_name(cases[i].type), got, want);
    }
}

/* ---- Ranges ----------------------------------------------------------------------------- */

/* Results stay in [-1, 1], whatever the bits of the argument; a rising function does not fall by more than its
 * error. */
static void test_ranges(int count)
{
    static const ExprOp bounded[] = { EX_SIN, EX_COS, EX_TANH, EX_ERF };
    for (int k = 0; k < 8; k++) {
        const kn_type  t     = k & 1 ? KN_F64 : KN_F32;
        const Function f     = function(bounded[k / 2], t);
        uint64_t       state = 7;
        int            wrong = 0;
        for (int i = 0; i < count; i++) {
            fraction(&state);
            const double a = lane_load(t, (char *)&state + (t == KN_F32 ? 4 : 0)).f, r = apply_one(&f, a, 0);
            wrong += isnan(a) || (isinf(a) && is_wave(f.op)) ? !isnan(r) : !(r >= -1 && r <= 1);
        }
        CHECK(wrong == 0, "%s of %s leaves [-1, 1] %d times", expr_op_table[f.op].text, kn_type_name(t), wrong);
    }
}

static void test_rising(int count)
{
    static const struct {
        ExprOp op;
        double lo, hi;
    } rising[] = { { EX_EXP, -100, 100 }, { EX_LOG, 0, 10 }, { EX_TANH, -10, 10 }, { EX_ERF, -5, 5 } };
    for (int k = 0; k < 8; k++) {
        const kn_type  t      = k & 1 ? KN_F64 : KN_F32;
        const Function f      = function(rising[k / 2].op, t);
        double         before = -INF;
        int            wrong  = 0;
        for (int i = 0; i <= count; i++) {
            const double at = rising[k / 2].lo + (rising[k / 2].hi - rising[k / 2].lo) * i / count,
                         r  = apply_one(&f, at, 0);
            wrong += r < before - 2 * math_error(f.op, t) * fabs(r) * ldexp(1, 1 - type_table[t].mantissa);
            before = r;
        }
        CHECK(wrong == 0, "%s of %s falls %d times", expr_op_table[f.op].text, kn_type_name(t), wrong);
    }
}

/* ---- Form ------------------------------------------------------------------------------- */

typedef struct Form {
    kn_type real, word, number; /* number: a word with a sign */
    int     nodes, wrong;
} Form;

static void check_node(const Expr *e, void *user)
{
    Form      *f     = user;
    const bool known = e->type == f->real || e->type == f->word || e->type == f->number || e->type == KN_BOOL;
    const bool loose = type_is_float(e->type) && e->count && !e->strict;
    f->nodes++;
    f->wrong += !known || loose || math_has(e->op) || e->op == EX_AND || e->op == EX_OR;
}

/* An expansion is made of basic strict operators of its own types, and is no deeper than is said. */
static void test_form(void)
{
    ExprPool pool;
    expr_pool_init(&pool, cx, &cx->arena);
    for (int op = 0; op < EX_COUNT; op++)
        for (int k = 0; k < 2 && math_has(op); k++) {
            Form        form      = { k ? KN_F64 : KN_F32, k ? KN_U64 : KN_U32, k ? KN_I64 : KN_I32, 0, 0 };
            const Expr *a         = expr_var(&pool, form.real, intern(cx, "a")),
                       *b         = expr_var(&pool, form.real, intern(cx, "b"));
            const Expr *e         = expr_op_table[op].arity == 1 ? expr_unary(&pool, op, form.real, a)
                                                                 : expr_binary(&pool, op, form.real, a, b);
            const Expr *expansion = math_expand(&pool, e);
            expr_visit(&pool, expansion, check_node, &form);
            CHECK(form.wrong == 0, "%s of %s: %d of %d nodes", expr_op_table[op].text, kn_type_name(form.real),
                  form.wrong, form.nodes);
            CHECK(expansion->depth - e->depth <= MATH_DEPTH, "%s of %s is %d deep", expr_op_table[op].text,
                  kn_type_name(form.real), expansion->depth);
            CHECK(math_expand(&pool, expansion) == expansion, "%s of %s is expanded twice", expr_op_table[op].text,
                  kn_type_name(form.real));
        }
}

int main(int argc, char **argv)
{
    const int count = argc > 1 ? atoi(argv[1]) : 100000;
    cx              = kn_context_new(NULL);
    context_begin(cx);
    test_errors(count, argc > 1);
    test_form();
    test_edges();
    test_subnormals();
    test_ranges(count / 4);
    test_rising(count / 4);
    kn_context_free(cx);
    return check_done();
}
