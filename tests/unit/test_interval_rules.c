/* SPDX-License-Identifier: MIT */
/* The rules of integer operators against all values: every rule, on all intervals of small numbers and of those at the
 * ends of a type.
 *
 * Numbers: an interval holds every value that the interpreter's operator gives, and is the hull of these in as
 * many cases as the table says. Expressions: the span that lowering makes for variables with given ends has, for
 * every choice of these, the ends that the rule gives for the numbers. */
#include <string.h>

#include "analysis/interval_rules.h"
#include "check.h"
#include "interp/ops.h"
#include "lower/bounds/span.h"

/* ---- What is tested ------------------------------------------------------------------------- */

/* An operator; how many of a hundred intervals are the hull, at least; and whether an interval may be the whole type
 * because a value may have wrapped. */
typedef struct Tested {
    ExprOp op;
    int    operands;
    int    exact;
    bool   wraps;
} Tested;

static const Tested tested[] = {
    { EX_NEG, 1, 100, true },    { EX_ABS, 1, 100, true },      { EX_BIT_NOT, 1, 100, false },
    { EX_CLZ, 1, 100, false },   { EX_POPCOUNT, 1, 60, false }, { EX_ADD, 2, 100, true },
    { EX_SUB, 2, 100, true },    { EX_MUL, 2, 100, true },      { EX_DIV, 2, 100, true },
    { EX_MOD, 2, 80, false },    { EX_MIN, 2, 100, false },     { EX_MAX, 2, 100, false },
    { EX_ABSD, 2, 100, false },  { EX_AVG_UP, 2, 100, false },  { EX_AVG_DOWN, 2, 100, false },
    { EX_SHL, 2, 100, true },    { EX_SHR, 2, 100, true },      { EX_BIT_AND, 2, 70, false },
    { EX_BIT_OR, 2, 55, false }, { EX_BIT_XOR, 2, 30, false },  { EX_LT, 2, 100, false },
    { EX_LE, 2, 100, false },    { EX_EQ, 2, 100, false },      { EX_NE, 2, 100, false },
};
enum { TESTED = sizeof tested / sizeof *tested };

static kn_type result_type(ExprOp op, kn_type type)
{
    if (op == EX_LT || op == EX_LE || op == EX_EQ || op == EX_NE)
        return KN_BOOL;
    static const kn_type unsigned_of[KN_TYPE_COUNT] = { [KN_I8] = KN_U8, [KN_I32] = KN_U32, [KN_I64] = KN_U64 };
    return op == EX_ABSD && type_is_signed(type) ? unsigned_of[type] : type;
}

static Wide as_wide(kn_type type, int64_t v)
{
    return type == KN_U64 ? (Wide)(uint64_t)v : v;
}

static Wide value_of(ExprOp op, kn_type to, int count, kn_type type, const int64_t *v)
{
    const kn_type types[3] = { type, type, type };
    Lane          lanes[3];
    for (int i = 0; i < count; i++)
        lanes[i].i = v[i];
    return as_wide(to, operator_apply(op, to, count, types, lanes).i);
}

/* ---- Numbers -------------------------------------------------------------------------------- */

/* Windows of the numbers of i8 and u8 in which all intervals are taken. */
static const int windows[2][4][2] = { { { -9, 9 }, { -128, -124 }, { 123, 127 }, { -128, 127 } },
                                      { { 0, 18 }, { 124, 131 }, { 251, 255 }, { 0, 255 } } };

typedef struct Intervals {
    int   count;
    Range at[256];
} Intervals;

static Intervals all_intervals(bool is_unsigned)
{
    Intervals list = { 0 };
    for (int w = 0; w < 3; w++)
        for (int lo = windows[is_unsigned][w][0]; lo <= windows[is_unsigned][w][1]; lo++)
            for (int hi = lo; hi <= windows[is_unsigned][w][1]; hi++)
                list.at[list.count++] = range_int(lo, hi);
    list.at[list.count++] = range_int(windows[is_unsigned][3][0], windows[is_unsigned][3][1]);
    return list;
}

static void show(const char *what, kn_type type, const Range *a, Range r, Range hull)
{
    printf("%s of %s, %d..%d and %d..%d: %lld..%lld, values %lld..%lld\n", what, type_table[type].name, (int)a[0].lo,
           (int)a[0].hi, (int)a[1].lo, (int)a[1].hi, (long long)r.lo, (long long)r.hi, (long long)hull.lo,
           (long long)hull.hi);
}

/* Is the interval sound, and is it exact? */
static bool check_hull(const Tested *t, kn_type type, const Range *a, Range hull)
{
    const kn_type to = result_type(t->op, type);
    const Range   r = range_apply(t->op, to, type, a), all = range_of_type(to);
    const bool    sound  = r.lo <= hull.lo && hull.hi <= r.hi;
    const bool    shifts = t->op == EX_SHL || t->op == EX_SHR || (t->op == EX_MUL_SHIFT && a[2].lo < 0);
    const bool    small  = !shifts && a[0].lo >= -9 && a[0].hi <= 9 && a[1].lo >= -9 && a[1].hi <= 9;
    const bool    is_all = r.lo == all.lo && r.hi == all.hi && t->wraps && !(small && type == KN_I8);
    CHECK(sound, "a value is outside");
    if (!sound)
        show(expr_op_table[t->op].name, type, a, r, hull);
    return is_all || (r.lo == hull.lo && r.hi == hull.hi);
}

/* All values of the operator, at [a + 128][b + 128]. */
static int16_t values[512][512];

static void fill_values(const Tested *t, kn_type type)
{
    const Range all = range_of_type(type);
    for (int64_t a = (int64_t)all.lo; a <= all.hi; a++)
        for (int64_t b = t->operands > 1 ? (int64_t)all.lo : 0; b <= (t->operands > 1 ? all.hi : 0); b++)
            values[a + 128][b + 128] =
                (int16_t)value_of(t->op, result_type(t->op, type), t->operands, type, (int64_t[]){ a, b });
}

static Range hull_of_values(Range a, Range b)
{
    Range r = range_int(INT16_MAX, INT16_MIN);
    for (int i = (int)a.lo; i <= a.hi; i++)
        for (int k = (int)b.lo; k <= b.hi; k++)
            r = range_int(wide_min(r.lo, values[i + 128][k + 128]), wide_max(r.hi, values[i + 128][k + 128]));
    return r;
}

static void check_numbers(const Tested *t, kn_type type)
{
    const Intervals list  = all_intervals(type == KN_U8);
    int             cases = 0, exact = 0;
    fill_values(t, type);
    for (int i = 0; i < list.count; i++)
        for (int k = 0; k < (t->operands > 1 ? list.count : 1); k++) {
            const Range a[3] = { list.at[i], t->operands > 1 ? list.at[k] : range_int(0, 0) };
            exact += check_hull(t, type, a, hull_of_values(a[0], a[1]));
            cases++;
        }
    CHECK(exact * 100.0 >= cases * (double)t->exact, "%s of %s: only %d of %d are exact", expr_op_table[t->op].name,
          type_table[type].name, exact, cases);
}

/* `and` with ones in bits first..last, `or` with zeros there: exact. */
static void check_mask(const Tested *t, kn_type type, int first, int last)
{
    const Intervals list = all_intervals(type == KN_U8);
    const int       ones = (2 << last) - (1 << first);
    const int64_t   mask = type_wrap(type, t->op == EX_BIT_AND ? ones : ~ones);
    for (int i = 0; i < list.count; i++) {
        const Range a[3] = { list.at[i], range_int(mask, mask) }, hull = hull_of_values(a[0], a[1]);
        const bool  exact = check_hull(t, type, a, hull);
        CHECK(exact, "a mask is not exact");
        if (!exact)
            show(expr_op_table[t->op].name, type, a, range_apply(t->op, type, type, a), hull);
    }
}

static void check_masks(kn_type type)
{
    static const Tested ops[] = { { EX_BIT_AND, 2, 100, false }, { EX_BIT_OR, 2, 100, false } };
    for (int o = 0; o < 2; o++) {
        fill_values(&ops[o], type);
        for (int first = 0; first < 8; first++)
            for (int last = first; last < 8; last++)
                check_mask(&ops[o], type, first, last);
    }
}

/* (a * b) >> s, exact but where it is shifted to the left. */
static void check_mul_shift(kn_type type)
{
    static const int amounts[][2] = { { 0, 0 }, { 1, 1 }, { 2, 5 }, { 0, 9 }, { 14, 127 }, { -1, -1 }, { -1, 2 } };
    const Tested     t            = { EX_MUL_SHIFT, 3, 100, true };
    const int        first        = type_is_signed(type) ? -4 : 0;
    for (size_t n = 0; n < sizeof amounts / sizeof *amounts; n++)
        for (int box = 0; box < 9 * 9 * 9 * 9; box++) {
            const int lo = first + box % 9, hi = first + box / 9 % 9, below = first + box / 81 % 9,
                      above = first + box / 729;
            if (lo > hi || below > above)
                continue;
            const Range a[3] = { range_int(lo, hi), range_int(below, above), range_int(amounts[n][0], amounts[n][1]) };
            Range       hull = range_int(INT16_MAX, INT16_MIN);
            for (int64_t x = lo; x <= hi; x++)
                for (int64_t y = below; y <= above; y++)
                    for (int64_t s = amounts[n][0]; s <= amounts[n][1]; s++) {
                        const Wide v = value_of(EX_MUL_SHIFT, type, 3, type, (int64_t[]){ x, y, s });
                        hull         = range_int(wide_min(hull.lo, v), wide_max(hull.hi, v));
                    }
            CHECK(check_hull(&t, type, a, hull), "mul_shift by %d..%d is not exact", amounts[n][0], amounts[n][1]);
        }
}

/* One interval: exact, or the whole type where it may have wrapped. */
static void check_cast(ExprOp op, kn_type from, kn_type to, Range a)
{
    Range hull = range_int((Wide)1 << 70, -((Wide)1 << 70));
    for (Wide v = a.lo; v <= a.hi; v++) {
        const Wide r = value_of(op, to, 1, from, (int64_t[]){ (int64_t)v });
        hull         = range_int(wide_min(hull.lo, r), wide_max(hull.hi, r));
    }
    const Range r = range_apply(op, to, from, &a), all = range_of_type(to);
    CHECK((r.lo == hull.lo && r.hi == hull.hi) || (op == EX_CAST && r.lo == all.lo && r.hi == all.hi),
          "%s from %s to %s, %g..%g", expr_op_table[op].name, type_table[from].name, type_table[to].name, (double)a.lo,
          (double)a.hi);
}

static bool is_whole(kn_type type)
{
    return type_is_int(type) || type == KN_BOOL;
}

/* Conversions between all integer types, of intervals around every power of two. */
static void check_casts(kn_type from, kn_type to)
{
    for (int bits = 0; bits < 64; bits++) {
        const Wide at = as_wide(from, type_wrap(from, (int64_t)((uint64_t)1 << bits)));
        for (Wide lo = at - 2; lo <= at + 2; lo++)
            for (Wide hi = lo; hi <= at + 2; hi++)
                if (range_within(from, range_int(lo, hi))) {
                    check_cast(EX_CAST, from, to, range_int(lo, hi));
                    check_cast(EX_SAT_CAST, from, to, range_int(lo, hi));
                }
    }
}

/* ---- Expressions ---------------------------------------------------------------------------- */

/* A Lower without a program, and the numbers that its variables stand for. */
typedef struct Bench {
    kn_context *cx;
    Arena       arena;
    ExprPool    pool;
    Plan        plan;
    Lower       lw;
    const char *names[4]; /* the ends of x and of y */
    int64_t     numbers[4];
    Lane       *known; /* by id of nodes, where `stamp` is the newest */
    uint32_t   *stamps, stamp, room;
} Bench;

static Lane evaluate_node(Bench *b, const Expr *e);

static Lane evaluate_new(Bench *b, const Expr *e)
{
    kn_type types[3];
    Lane    lanes[3];
    if (e->op == EX_INT)
        return (Lane){ .i = e->u.i };
    for (int i = 0; e->op == EX_VAR && i < 4; i++)
        if (e->u.name == b->names[i])
            return (Lane){ .i = b->numbers[i] };
    if (e->op == EX_SELECT)
        return evaluate_node(b, e->args[evaluate_node(b, e->args[0]).i ? 1 : 2]);
    if (e->op == EX_AND || e->op == EX_OR)
        return (evaluate_node(b, e->args[0]).i != 0) == (e->op == EX_OR) ? (Lane){ .i = e->op == EX_OR }
                                                                         : evaluate_node(b, e->args[1]);
    for (uint32_t i = 0; i < e->count; i++) {
        types[i] = (kn_type)e->args[i]->type;
        lanes[i] = evaluate_node(b, e->args[i]);
    }
    return operator_apply((ExprOp)e->op, (kn_type)e->type, (int)e->count, types, lanes);
}

static Lane evaluate_node(Bench *b, const Expr *e)
{
    if (e->id >= b->room) {
        const uint32_t more   = b->pool.count + 1000;
        Lane          *known  = ARENA_ARRAY(&b->arena, Lane, more);
        uint32_t      *stamps = ARENA_ARRAY(&b->arena, uint32_t, more);
        b->known = known, b->stamps = stamps, b->room = more;
    }
    if (b->stamps[e->id] != b->stamp) {
        const Lane v     = evaluate_new(b, e);
        b->known[e->id]  = v;
        b->stamps[e->id] = b->stamp;
    }
    return b->known[e->id];
}

static void bench_begin(Bench *b)
{
    memset(b, 0, sizeof *b);
    b->cx = kn_context_new(NULL);
    context_begin(b->cx);
    arena_init(&b->arena, b->cx);
    expr_pool_init(&b->pool, b->cx, &b->arena);
    b->lw            = (Lower){ .cx = b->cx, .arena = &b->arena, .exprs = &b->pool, .plan = &b->plan };
    b->lw.simplifier = simplifier_new(&b->pool, &b->arena);
    for (int i = 0; i < 4; i++)
        b->names[i] = intern(b->cx, (const char *[]){ "x.min", "x.max", "y.min", "y.max" }[i]);
}

static void bench_end(Bench *b)
{
    arena_free(&b->arena);
    kn_context_free(b->cx);
}

/* How the second operand is given. */
typedef enum Second { SECOND_RUNS, SECOND_FIXED, SECOND_CONSTANT, SECOND_NONE } Second;

/* Does an end say what the number does? No end: that there is no bound among coordinates. Arithmetic on the ends of
 * numbers of 64 bits needs more than there are, so these may say less. */
static bool says(Bench *b, kn_type type, const Expr *end, Wide number, bool is_min, bool less)
{
    const Range all = range_of_type(type);
    const Wide  v   = end ? as_wide(type, evaluate_node(b, end).i) : is_min ? all.lo : all.hi;
    if (less)
        return is_min ? v <= number : v >= number;
    if (end)
        return v == number;
    if (type == KN_I32)
        return is_min ? number <= -MOST_COORDINATE : number >= MOST_COORDINATE;
    return number == (is_min ? all.lo : all.hi);
}

/* One node on x and y, brought into a type, for all ends of x and y. */
static void check_spans(const Tested *t, kn_type type, Second second, int64_t constant)
{
    enum { FIRST = -5, LAST = 5 };
    Bench b;
    bench_begin(&b);
    Lower        *lw = &b.lw;
    SpanEnv      *sp = ARENA_NEW(&b.arena, SpanEnv);
    const Expr   *ends[4];
    const kn_type to   = result_type(t->op, type);
    const bool    less = type == KN_U64 || (type == KN_I64 && (t->op == EX_SHL || t->op == EX_SHR)) ||
                      (type == KN_U32 && t->op == EX_MUL);
    for (int i = 0; i < 4; i++)
        ends[i] = expr_var(&b.pool, KN_I32, b.names[i]);
    span_env_reset(sp, lw);
    span_env_bind(sp, intern(b.cx, "x"), (SymSpan){ ends[0], ends[1] });
    span_env_bind(sp, intern(b.cx, "y"), (SymSpan){ ends[2], ends[3] });
    const Expr *y = second == SECOND_FIXED ? ends[2] : second == SECOND_CONSTANT ? x_int(lw, constant) : x_var(lw, "y");
    const Expr *a = x_cast(lw, type, x_var(lw, "x")), *c = x_cast(lw, type, y);
    const Expr *e   = second == SECOND_NONE ? expr_unary(&b.pool, t->op, to, a) : expr_binary(&b.pool, t->op, to, a, c);
    const SymSpan s = span_of(sp, e);
    for (int64_t lo = FIRST; lo <= LAST; lo++)
        for (int64_t hi = lo + 1; hi <= LAST; hi++)
            for (int64_t below = second == SECOND_CONSTANT ? constant : FIRST;
                 below <= (second == SECOND_CONSTANT ? constant : LAST); below++)
                for (int64_t above = second == SECOND_RUNS ? below + 1 : below;
                     above <= (second == SECOND_RUNS ? LAST : below); above++) {
                    const Range given[2] = { range_int(lo, hi), range_int(below, above) };
                    Range       args[2];
                    for (int i = 0; i < 2; i++)
                        args[i] = range_apply(EX_CAST, type, KN_I32, &given[i]);
                    const Range r = range_apply(t->op, to, type, args);
                    memcpy(b.numbers, (int64_t[]){ lo, hi, below, above }, sizeof b.numbers);
                    b.stamp++;
                    CHECK(says(&b, to, s.min, r.lo, true, less) && says(&b, to, s.max, r.hi, false, less),
                          "%s of %s: x %d..%d, y %d..%d is not %lld..%lld", expr_op_table[t->op].name,
                          type_table[type].name, (int)lo, (int)hi, (int)below, (int)above, (long long)r.lo,
                          (long long)r.hi);
                }
    bench_end(&b);
}

static void check_expressions(const Tested *t, kn_type type)
{
    if (t->operands == 1) {
        check_spans(t, type, SECOND_NONE, 0);
        return;
    }
    check_spans(t, type, SECOND_RUNS, 0);
    check_spans(t, type, SECOND_FIXED, 0);
    for (int64_t c = -9; c <= 9; c++)
        check_spans(t, type, SECOND_CONSTANT, c);
}

int main(void)
{
    static const kn_type narrow[] = { KN_I8, KN_U8 }, all[] = { KN_I32, KN_U8, KN_I8, KN_U32, KN_I64, KN_U64 };
    for (int i = 0; i < TESTED; i++)
        for (int k = 0; k < 2; k++)
            check_numbers(&tested[i], narrow[k]);
    for (int k = 0; k < 2; k++) {
        check_masks(narrow[k]);
        check_mul_shift(narrow[k]);
    }
    for (int from = 0; from < KN_TYPE_COUNT; from++)
        for (int to = 0; to < KN_TYPE_COUNT; to++)
            if (is_whole((kn_type)from) && is_whole((kn_type)to))
                check_casts((kn_type)from, (kn_type)to);
    for (int i = 0; i < TESTED; i++)
        for (size_t k = 0; k < sizeof all / sizeof *all; k++)
            check_expressions(&tested[i], all[k]);
    return check_done();
}
