/* SPDX-License-Identifier: MIT */
/* Ranges against brute force: random expressions over random boxes, every point evaluated.
 *
 * The range must hold every value, the boxes recorded must hold every access, and for affine expressions the range must
 * be exact. The seed of a failure is printed; `test_ranges SEED COUNT` repeats it. */
#include "analysis/evaluate.h"
#include "base/text.h"
#include "interp/formula.h"
#include "pipeline/pipeline.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- Random expressions ----------------------------------------------------------------- */

typedef struct Maker {
    kn_pipeline *p;
    const Func  *lut; /* u8(i), an input */
    uint64_t     seed;
} Maker;

static uint32_t dice(Maker *m, uint32_t n)
{
    m->seed = m->seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(m->seed >> 33) % n;
}

static const kn_type int_types[]   = { KN_I32, KN_I32, KN_I32, KN_U8, KN_I8, KN_U16, KN_I16, KN_U32, KN_I64, KN_U64 };
static const ExprOp  int_binary[]  = { EX_ADD,    EX_SUB,      EX_MUL, EX_DIV, EX_MOD,     EX_MIN,    EX_MAX,
                                       EX_AVG_UP, EX_AVG_DOWN, EX_SHL, EX_SHR, EX_BIT_AND, EX_BIT_OR, EX_BIT_XOR };
static const ExprOp  int_unary[]   = { EX_NEG, EX_ABS, EX_BIT_NOT, EX_POPCOUNT, EX_CLZ };
static const ExprOp  comparisons[] = { EX_LT, EX_LE, EX_EQ, EX_NE };
static const ExprOp  flt_binary[]  = { EX_ADD, EX_SUB, EX_MUL, EX_DIV, EX_MIN, EX_MAX, EX_POW, EX_ATAN2 };
static const ExprOp  flt_unary[]   = { EX_NEG, EX_ABS, EX_FLOOR, EX_CEIL, EX_ROUND, EX_TRUNC, EX_SQRT,
                                       EX_EXP, EX_LOG, EX_TANH,  EX_SIN,  EX_COS,   EX_ERF };
#define PICK(m, table) table[dice(m, sizeof table / sizeof *table)]

static const Expr *make_int(Maker *m, kn_type type, int depth);

static const Expr *make_variable(Maker *m)
{
    return expr_var(&m->p->exprs, KN_I32, intern(m->p->cx, dice(m, 2) ? "x" : "y"));
}

static const Expr *make_float(Maker *m, int depth)
{
    ExprPool *pool = &m->p->exprs;
    if (depth == 0)
        return expr_float(pool, KN_F32, (double)(int)dice(m, 64) / 8 - 3);
    switch (dice(m, 5)) {
    case 0: return expr_unary(pool, EX_CAST, KN_F32, make_int(m, PICK(m, int_types), depth - 1));
    case 1: return expr_unary(pool, PICK(m, flt_unary), KN_F32, make_float(m, depth - 1));
    default: return expr_binary(pool, PICK(m, flt_binary), KN_F32, make_float(m, depth - 1), make_float(m, depth - 1));
    }
}

static const Expr *make_condition(Maker *m, int depth)
{
    ExprPool *pool = &m->p->exprs;
    if (depth > 1 && dice(m, 3) == 0) {
        const ExprOp ops[] = { EX_AND, EX_OR, EX_BIT_AND, EX_BIT_OR };
        return expr_binary(pool, PICK(m, ops), KN_BOOL, make_condition(m, depth - 1), make_condition(m, depth - 1));
    }
    if (dice(m, 6) == 0)
        return expr_unary(pool, EX_BIT_NOT, KN_BOOL, make_condition(m, depth > 0 ? depth - 1 : 0));
    if (dice(m, 6) == 0)
        return expr_binary(pool, PICK(m, comparisons), KN_BOOL, make_float(m, depth), make_float(m, depth));
    const kn_type type = dice(m, 3) ? KN_I32 : PICK(m, int_types);
    return expr_binary(pool, PICK(m, comparisons), KN_BOOL, make_int(m, type, depth), make_int(m, type, depth));
}

static const Expr *make_leaf(Maker *m, kn_type type)
{
    ExprPool     *pool  = &m->p->exprs;
    const int64_t big[] = { INT32_MAX, INT32_MIN, 255, 1 << 20, INT64_MAX, -1 };
    if (type == KN_I32 && dice(m, 3))
        return make_variable(m);
    return expr_int(pool, type, dice(m, 12) ? (int64_t)dice(m, 12) - 3 : PICK(m, big));
}

static const Expr *make_int(Maker *m, kn_type type, int depth)
{
    ExprPool *pool = &m->p->exprs;
    if (depth <= 0)
        return make_leaf(m, type);
    switch (dice(m, 12)) {
    case 0: return make_leaf(m, type);
    case 1: {
        const ExprOp casts[] = { EX_CAST, EX_SAT_CAST };
        return expr_unary(pool, PICK(m, casts), type,
                          dice(m, 3) ? make_int(m, PICK(m, int_types), depth - 1) : make_float(m, depth - 1));
    }
    case 2: return expr_unary(pool, PICK(m, int_unary), type, make_int(m, type, depth - 1));
    case 3:
    case 4:
        return expr_ternary(pool, EX_SELECT, type, make_condition(m, depth - 1), make_int(m, type, depth - 1),
                            make_int(m, type, depth - 1));
    case 5: {
        const Expr *index = make_int(m, KN_I32, depth - 1);
        const Expr *call  = expr_call(pool, m->lut, 0, KN_U8, 1, &index);
        return type == KN_U8 ? call : expr_unary(pool, EX_CAST, type, call);
    }
    default:
        return expr_binary(pool, PICK(m, int_binary), type, make_int(m, type, depth - 1), make_int(m, type, depth - 1));
    }
}

/* a*x + b*y + c in a random shape; the two variables at most once each, so that the range over the box has all values
 * it says. */
static const Expr *make_affine(Maker *m)
{
    ExprPool   *pool = &m->p->exprs;
    const Expr *sum  = expr_int(pool, KN_I32, (int)dice(m, 41) - 20);
    for (int i = 0; i < 5; i++) {
        const Expr *term =
            expr_binary(pool, EX_MUL, KN_I32, expr_int(pool, KN_I32, (int)dice(m, 9) - 4), make_variable(m));
        sum = expr_binary(pool, dice(m, 2) ? EX_ADD : EX_SUB, KN_I32, dice(m, 2) ? sum : term,
                          sum == term  ? term
                          : dice(m, 2) ? sum
                                       : term);
    }
    return dice(m, 2) ? sum : expr_binary(pool, EX_DIV, KN_I32, sum, expr_int(pool, KN_I32, 1 + (int)dice(m, 7)));
}

/* ---- The meaning, point by point -------------------------------------------------------- */

typedef struct Number {
    Wide   i;
    double f;
} Number;

typedef struct Point {
    int64_t x, y;
    Wide    least, most; /* indices of the accesses made */
} Point;

static Number value(Point *at, const Expr *e);

static Wide wrap(kn_type type, Wide v)
{
    const Wide size = (Wide)1 << type_bits(type);
    v               = v - wide_floor_div(v, size) * size;
    return type_is_signed(type) && v >= size / 2 ? v - size : v;
}

static Wide limit(kn_type type, Wide v)
{
    const Range all = range_of_type(type);
    return v < all.lo ? all.lo : v > all.hi ? all.hi : v;
}

static Wide shift(kn_type type, Wide v, Wide n)
{
    const int bits = type_bits(type);
    if (n >= 0)
        return n >= bits ? 0 : wrap(type, v * ((Wide)1 << n));
    return n <= -bits ? (v < 0 ? -1 : 0) : wide_floor_div(v, (Wide)1 << -n);
}

static Wide int_binary_value(ExprOp op, kn_type type, Wide a, Wide b)
{
    switch (op) {
    case EX_ADD: return wrap(type, a + b);
    case EX_SUB: return wrap(type, a - b);
    case EX_MUL:
        return wrap(type,
                    (Wide)((unsigned __int128)a * (unsigned __int128)b % ((unsigned __int128)1 << type_bits(type))));
    case EX_DIV: return b == 0 ? 0 : wrap(type, b > 0 ? wide_floor_div(a, b) : -wide_floor_div(a, -b));
    case EX_MOD: return b == 0 ? 0 : a - wide_floor_div(a, b < 0 ? -b : b) * (b < 0 ? -b : b);
    case EX_MIN: return wide_min(a, b);
    case EX_MAX: return wide_max(a, b);
    case EX_AVG_UP: return wide_floor_div(a + b + 1, 2);
    case EX_AVG_DOWN: return wide_floor_div(a + b, 2);
    case EX_SHL: return shift(type, a, b);
    case EX_SHR: return shift(type, a, -b);
    case EX_BIT_AND: return a & b;
    case EX_BIT_OR: return a | b;
    case EX_BIT_XOR: return a ^ b;
    case EX_LT: return a < b;
    case EX_LE: return a <= b;
    case EX_EQ: return a == b;
    case EX_NE: return a != b;
    default: abort();
    }
}

static Wide int_unary_value(ExprOp op, kn_type type, Wide a)
{
    Wide bits = 0, bare = a & (((Wide)1 << type_bits(type)) - 1);
    switch (op) {
    case EX_NEG: return wrap(type, -a);
    case EX_ABS: return wrap(type, a < 0 ? -a : a);
    case EX_BIT_NOT: return type == KN_BOOL ? !a : wrap(type, ~a);
    case EX_POPCOUNT:
        for (; bare; bare &= bare - 1)
            bits++;
        return bits;
    case EX_CLZ:
        for (; bare; bare >>= 1)
            bits++;
        return type_bits(type) - bits;
    default: abort();
    }
}

/* A function that math_has(), of f32: formulas are made once. */
static double math_value(ExprOp op, double a, double b)
{
    static kn_context *cx;
    static Formula    *formulas[EX_COUNT];
    if (!cx) {
        cx = kn_context_new(NULL);
        context_begin(cx);
    }
    if (!formulas[op])
        formulas[op] = formula_new(cx, &cx->arena, op, KN_F32);
    Lane r;
    formula_run(formulas[op], &r, &(Lane){ .f = a }, &(Lane){ .f = b }, 1);
    return r.f;
}

static double float_value(ExprOp op, double a, double b)
{
    switch (op) {
    case EX_ADD: return type_round(KN_F32, a + b);
    case EX_SUB: return type_round(KN_F32, a - b);
    case EX_MUL: return type_round(KN_F32, a * b);
    case EX_DIV: return type_round(KN_F32, a / b);
    case EX_MIN: return a < b ? a : b;
    case EX_MAX: return a > b ? a : b;
    case EX_NEG: return -a;
    case EX_ABS: return fabs(a);
    case EX_FLOOR: return floor(a);
    case EX_CEIL: return ceil(a);
    case EX_ROUND: return nearbyint(a);
    case EX_TRUNC: return trunc(a);
    case EX_SQRT: return type_round(KN_F32, sqrt(a));
    default: return math_value(op, a, b);
    }
}

static Number converted(const Expr *e, Number a)
{
    const kn_type from = (kn_type)e->args[0]->type, type = (kn_type)e->type;
    if (type_is_float(type))
        return (Number){ .f = type_round(type, (double)a.i) };
    if (!type_is_float(from))
        return (Number){ .i = e->op == EX_CAST ? wrap(type, a.i) : limit(type, a.i) };
    const double big = 1e25;
    return (Number){ .i = isnan(a.f) ? 0 : limit(type, (Wide)(a.f > big ? big : a.f < -big ? -big : a.f)) };
}

static Number comparison(const Expr *e, Number a, Number b)
{
    if (!type_is_float((kn_type)e->args[0]->type))
        return (Number){ .i = int_binary_value((ExprOp)e->op, KN_BOOL, a.i, b.i) };
    return (Number){ .i = e->op == EX_LT   ? a.f < b.f
                          : e->op == EX_LE ? a.f <= b.f
                          : e->op == EX_EQ ? a.f == b.f
                                           : a.f != b.f };
}

static Number lazy(Point *at, const Expr *e)
{
    const bool c = value(at, e->args[0]).i;
    if (e->op == EX_SELECT)
        return value(at, c ? e->args[1] : e->args[2]);
    return c == (e->op == EX_AND) ? value(at, e->args[1]) : (Number){ .i = c };
}

static Number access_value(Point *at, const Expr *e)
{
    const Wide i = value(at, e->args[0]).i;
    at->least    = wide_min(at->least, i);
    at->most     = wide_max(at->most, i);
    return (Number){ .i = (Wide)(((uint64_t)i * 0x9E3779B97F4A7C15u) >> 56) };
}

static Number value(Point *at, const Expr *e)
{
    switch ((ExprOp)e->op) {
    case EX_INT: return (Number){ .i = e->type == KN_U64 ? (Wide)(uint64_t)e->u.i : e->u.i };
    case EX_FLOAT: return (Number){ .f = e->u.f };
    case EX_VAR: return (Number){ .i = *e->u.name == 'x' ? at->x : at->y };
    case EX_CALL: return access_value(at, e);
    case EX_AND:
    case EX_OR:
    case EX_SELECT: return lazy(at, e);
    default: break;
    }
    const Number a = value(at, e->args[0]), b = e->count > 1 ? value(at, e->args[1]) : a;
    if (e->op == EX_CAST || e->op == EX_SAT_CAST)
        return converted(e, a);
    if (e->op >= EX_LT && e->op <= EX_NE)
        return comparison(e, a, b);
    if (type_is_float((kn_type)e->type))
        return (Number){ .f = float_value((ExprOp)e->op, a.f, b.f) };
    return (Number){ .i = e->count == 1 ? int_unary_value((ExprOp)e->op, (kn_type)e->type, a.i)
                                        : int_binary_value((ExprOp)e->op, (kn_type)e->type, a.i, b.i) };
}

/* ---- Comparing -------------------------------------------------------------------------- */

typedef struct Trial {
    kn_context *cx;
    uint64_t    seed;
    bool        affine, failed;
} Trial;

typedef struct Recorded {
    Wide least, most;
} Recorded;

static void record(void *user, const Expr *call, const Range *index)
{
    (void)call;
    Recorded *r = user;
    r->least    = wide_min(r->least, index->lo);
    r->most     = wide_max(r->most, index->hi);
}

static void show(Trial *t, const Expr *e, Range x, Range y, Range r, Range seen)
{
    Text text;
    text_init(&text, &t->cx->call);
    expr_print(&text, e);
    printf("FAIL seed %llu: x %lld..%lld y %lld..%lld: range %lld..%lld, seen %lld..%lld\n  %s\n",
           (unsigned long long)t->seed, (long long)x.lo, (long long)x.hi, (long long)y.lo, (long long)y.hi,
           (long long)r.lo, (long long)r.hi, (long long)seen.lo, (long long)seen.hi, text_string(&text));
    t->failed = true;
}

static bool contains(kn_type type, Range r, Number v)
{
    if (!type_is_float(type))
        return v.i >= r.lo && v.i <= r.hi;
    return isnan(v.f) ? r.nan : v.f >= r.flo && v.f <= r.fhi;
}

/* A pipeline of one input, lut : u8(i). */
static kn_pipeline *with_table(kn_context *cx)
{
    kn_pipeline *p = pipeline_new(cx, "ranges");
    Func *f  = pipeline_add_func(p, FUNC_INPUT, intern(cx, "lut"), (Loc){ 0 }, 1, (const char *[]){ intern(cx, "i") });
    f->types = ARENA_NEW(&p->arena, kn_type);
    f->types[0]        = KN_U8;
    f->component_count = 1;
    return p;
}

static void trial(void *arg)
{
    Trial       *t = arg;
    kn_pipeline *p = with_table(t->cx);
    Maker        m = { .p = p, .lut = p->funcs.at[0], .seed = t->seed * 0x9E3779B97F4A7C15u + 1 };
    dice(&m, 2);
    const Expr   *e       = t->affine ? make_affine(&m) : make_int(&m, PICK(&m, int_types), 2 + (int)dice(&m, 4));
    Box           given   = { .min = { 0 }, .max = { 255 } };
    const RunArgs binding = { .input = &given };
    Evaluator     ev;
    Recorded      recorded = { INT64_MAX, INT64_MIN };
    const int64_t origin[] = { 0, -5, 3, -1, 100, INT32_MAX - 8, INT32_MIN + 2 };
    const int64_t x0       = t->affine ? (int)dice(&m, 30) - 15 : PICK(&m, origin),
                  y0       = t->affine ? (int)dice(&m, 30) - 15 : PICK(&m, origin);
    const Range x = range_int(x0, x0 + dice(&m, 8)), y = range_int(y0, y0 + dice(&m, 8));
    evaluator_init(&ev, p, &p->arena, &binding);
    ev.record = record;
    ev.user   = &recorded;
    environment_reset(&ev);
    environment_bind(&ev, intern(t->cx, "x"), x);
    environment_bind(&ev, intern(t->cx, "y"), y);
    const Range r = evaluate(&ev, e);
    visit(&ev, e);
    Point at   = { .least = INT64_MAX, .most = INT64_MIN };
    Range seen = range_int(INT64_MAX, INT64_MIN);
    for (at.y = (int64_t)y.lo; at.y <= y.hi; at.y++)
        for (at.x = (int64_t)x.lo; at.x <= x.hi; at.x++) {
            const Number v = value(&at, e);
            seen           = range_int(wide_min(seen.lo, v.i), wide_max(seen.hi, v.i));
            if (!contains((kn_type)e->type, r, v) && !t->failed)
                show(t, e, x, y, r, range_int(v.i, v.i));
        }
    if ((at.least < recorded.least || at.most > recorded.most) && at.least <= at.most && !t->failed)
        show(t, e, x, y, range_int(recorded.least, recorded.most), range_int(at.least, at.most));
    if (t->affine && (seen.lo != r.lo || seen.hi != r.hi) && !t->failed)
        show(t, e, x, y, r, seen);
    pipeline_free(p, false);
}

/* Conditions nested 600 deep, both branches of each sharing the next: 2^600 paths, of which only the first levels may
 * be told apart. */
static void shared_conditions(void *arg)
{
    Trial        *t       = arg;
    kn_pipeline  *p       = with_table(t->cx);
    ExprPool     *pool    = &p->exprs;
    const RunArgs binding = { .input = &(Box){ .max = { 255 } } };
    const Expr   *x = expr_var(pool, KN_I32, intern(t->cx, "x")), *e = x;
    Evaluator     ev;
    Recorded      recorded = { INT64_MAX, INT64_MIN };
    for (int i = 0; i < 600; i++) {
        const Expr *index = expr_binary(pool, EX_MIN, KN_I32, e, expr_int(pool, KN_I32, i));
        const Expr *read  = expr_unary(pool, EX_CAST, KN_I32, expr_call(pool, p->funcs.at[0], 0, KN_U8, 1, &index));
        e = expr_ternary(pool, EX_SELECT, KN_I32, expr_binary(pool, EX_LT, KN_BOOL, e, expr_int(pool, KN_I32, i)),
                         expr_binary(pool, EX_ADD, KN_I32, e, read),
                         expr_binary(pool, EX_SUB, KN_I32, e, expr_int(pool, KN_I32, 1)));
    }
    evaluator_init(&ev, p, &p->arena, &binding);
    ev.record = record;
    ev.user   = &recorded;
    environment_reset(&ev);
    environment_bind(&ev, intern(t->cx, "x"), range_int(0, 9));
    const uint64_t before = t->cx->quota_left;
    visit(&ev, e);
    const uint64_t spent = before - t->cx->quota_left;
    printf("shared conditions: %llu steps\n", (unsigned long long)spent);
    t->failed = spent > 20000000;
    pipeline_free(p, false);
}

int main(int argc, char **argv)
{
    const uint64_t first = argc > 1 ? strtoull(argv[1], NULL, 10) : 1,
                   count = argc > 2 ? strtoull(argv[2], NULL, 10) : 20000;
    int failures         = 0;
    for (uint64_t seed = first; seed < first + count && failures < 10; seed++) {
        Trial t = { .cx = kn_context_new(NULL), .seed = seed, .affine = seed % 4 == 0 };
        context_begin(t.cx);
        if (!context_try(t.cx, trial, &t)) {
            printf("FAIL seed %llu: %s\n", (unsigned long long)seed, t.cx->bailed);
            t.failed = true;
        }
        failures += t.failed;
        kn_context_free(t.cx);
    }
    Trial shared = { .cx = kn_context_new(NULL) };
    context_begin(shared.cx);
    failures += !context_try(shared.cx, shared_conditions, &shared) || shared.failed;
    kn_context_free(shared.cx);
    printf("%llu random expressions, %d failures\n", (unsigned long long)count, failures);
    return failures != 0;
}
