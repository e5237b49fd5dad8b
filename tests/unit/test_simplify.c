/* SPDX-License-Identifier: MIT */
/* The simplifier: a table of expressions and what becomes of them, every rule of its table by brute force, and random
 * expressions, whose values must stay.
 *
 * `test_simplify SEED COUNT` repeats random cases. */
#include "check.h"

#include "base/text.h"
#include "interp/ops.h"
#include "ir/simplify_parts.h"
#include "ir/simplify_rules.h"
#include "pipeline/pipeline.h"
#include "steps.h"

#include <stdlib.h>
#include <string.h>

/* ---- The table -------------------------------------------------------------------------- */

typedef struct Line {
    const char *scopes; /* "x in 0 to 7; n = x + 1; x < y": ranges (? for an end not known), lets and facts */
    const char *in, *out;
} Line;

/* clang-format off */
static const Line rows[] = {
    /* sums */
    { "", "x + 3 - x", "3" },
    { "", "y + x + 1 + x + 2", "x*2 + y + 3" },
    { "", "2*(x + y) - (y - x)", "x*3 + y" },
    { "", "3 - x", "3 - x" },
    { "", "-x - 3", "-3 - x" },
    { "", "0 - 4*x", "x * -4" },
    { "", "(x + 1) * 4 - 4", "x * 4" },
    { "", "x << 3", "x * 8" },
    { "", "u8a + u8b - u8a", "u8b" },
    { "", "x * (2 * y)", "x*y*2" },
    { "", "x*y - y*x", "0" },
    { "", "(max(x, y) + 3) - max(y, x)", "3" },
    { "", "min(x + 1, 5) - min(x, 4)", "1" },
    { "x in 0 to 999", "min(n, 16*x + 15) - min(16*x, n - 15)", "15" },
    { "", "min(x, y) - x", "min(y - x, 0)" },
    { "", "min(x + 7, n - 1) - x + 1", "min(n - x, 8)" },
    { "", "max(x, y) - min(x, y)", "max(x, y) - min(x, y)" },
    { "", "x - x/2*2", "x % 2" },
    { "", "x + 3 - (x + 3)/4*4", "(x + 3) % 4" },
    { "", "x - (x + 3)/4*4", "(x + 3)%4 - 3" },
    { "", "(x*2 + y)/8*8 + (x*2 + y)%8", "x*2 + y" },
    /* quotients and remainders */
    { "", "(x*4 + 7)/4", "x + 1" },
    { "", "(x*4 + 7)%4", "3" },
    { "", "(x + 8)/4", "x/4 + 2" },
    { "", "(x - 1)/4", "(x + 3)/4 - 1" },
    { "", "(x*2 + 1)/2", "x" },
    { "", "(x*4 + y)/4", "x + y/4" },
    { "", "(x*4 + 2)/8", "x / 2" },
    { "", "(x*4 + 6)/8", "(x + 1) / 2" },
    { "", "(x*4) % 8", "x % 2 * 4" },
    { "", "(x/2)/3", "x / 6" },
    { "", "((x + 1)/2 + 1)/2", "(x + 3) / 4" },
    { "", "(x % 8)/8", "0" },
    { "", "x % 8 % 4", "x % 4" },
    { "", "(x % 8 + y) % 4", "(x + y) % 4" },
    { "", "(x + y*8) % 8", "x % 8" },
    { "x in 0 to 7", "x % 8", "x" },
    { "x in 8 to 15", "x % 8", "x - 8" },
    { "x in 0 to 7", "x / 8", "0" },
    { "y in 0 to n/8; x in 0 to 7", "(y*8 + x)/8", "y" },
    { "y in 0 to n/8; x in 0 to 7", "(y*8 + x)%8", "x" },
    { "y in 0 to 99; z in 0 to 99; x in 0 to 7", "(min(y*8, z*4) + x) / 2", "x/2 + min(y*8, z*4) / 2" },
    { "y in 0 to 99; z in 0 to 99; x in 0 to 7", "(min(y*8, z*4) + x) % 2", "x % 2" },
    { "y in 0 to 99; z in 0 to 99; x in 0 to 1", "(max(y*8, z*4 + 4) + x) % 4", "x" },
    { "", "x >> 2", "x / 4" },
    { "", "x & 7", "x % 8" },
    { "", "i32a + 8 - i32a % 4", "i32a - i32a%4 + 8" },
    { "", "(i32a + 8) / 4", "(i32a + 8) / 4" },       /* may wrap */
    { "", "(i32a*4) / 4", "i32a * 4 / 4" },
    { "", "(i32a*4 + 5) % 4", "1" },                  /* 4 divides 2^32 */
    { "x in x0 to x0 + 7", "(x - x0) / 8", "0" },
    { "x in x0 to x0 + 7", "(x - x0) % 8", "x - x0" },
    { "n = x0*8", "(n + 3) % 8", "3" },
    { "x in 0 to 999; z = x*32 + y", "z / 2", "x*16 + y / 2" },
    { "x in 0 to 999; n = x/2*2; z = n + y", "z % 2", "y % 2" },
    { "n = x0*8", "n % 4 == 1", "false" },
    /* min and max */
    { "", "min(x + 1, x + 3)", "x + 1" },
    { "", "max(x + 1, x + 3)", "x + 3" },
    { "", "min(x - 1, y - 1)", "min(x, y) - 1" },
    { "", "min(min(y, x), min(x, y + 2))", "min(x, y)" },
    { "", "max(min(x, 9), 0)", "min(max(x, 0), 9)" },
    { "", "max(min(max(x, 0), 9), 0)", "min(max(x, 0), 9)" },
    { "n in 1 to ?", "clamp(clamp(x, 0, n - 1), 0, n - 1)", "min(max(x, 0), n - 1)" },
    { "x in 0 to n - 1", "clamp(x, 0, n - 1)", "x" },
    { "x in 1 to n - 2", "clamp(x + 1, 0, n - 1)", "x + 1" },
    { "x in 0 to n - 1", "clamp(x - 1, 0, n - 1)", "max(x - 1, 0)" },
    { "x in 0 to 7", "max(x, 0) + min(x, 9)", "x * 2" },
    { "", "max(min(x, y), min(x, z))", "min(x, max(y, z))" },
    { "", "min(u8a, u8(255))", "u8a" },
    { "", "min(i32a + 1, i32a)", "min(i32a, i32a + 1)" },   /* may wrap */
    { "y = min(x + 8, n)", "min(y, n)", "y" },
    { "y in x0 to min(x0 + 7, n - 1)", "min(y, n - 1)", "y" },
    { "y in x0 to min(x0 + 7, n - 1)", "y <= x0 + 7", "true" },
    /* comparisons */
    { "", "x + 3 < y + 5", "x <= y + 1" },
    { "", "x <= n - 1", "x < n" },
    { "", "4*x < 4*y + 3", "x <= y" },
    { "", "x + 1 > x", "true" },
    { "", "i32a + 1 > i32a", "i32a < i32a + 1" },     /* may wrap */
    { "", "i32a + 1 == i32a + 2", "false" },
    { "", "2*x == 2*y + 1", "false" },
    { "", "x - y == 0", "x == y" },
    { "", "x/4 <= 3", "x <= 15" },
    { "", "x/4 < x/4 + 1", "true" },
    { "", "x/4*4 <= x", "true" },
    { "", "x < x/4*4 + 4", "true" },
    { "", "min(x, y) <= x", "true" },
    { "", "min(x, y) < x", "y < x" },
    { "", "x <= min(x, y) - 1", "false" },
    { "x in 0 to 9", "x < 10 && x >= 0", "true" },
    { "x in 0 to 9", "x == 10", "false" },
    { "x < y", "x <= y", "true" },
    { "x < y", "y <= x", "false" },
    { "x < y && y < z", "x + 1 < z", "true" },
    { "x >= 4", "max(x, 3)", "x" },
    { "x + y <= n", "x + y - 1 < n", "true" },
    { "x == y + 1", "y < x", "true" },
    /* conditions and choices */
    { "", "!(x < y)", "y <= x" },
    { "", "x < y && !(x < y)", "false" },
    { "", "x <= 3 && x <= 5", "x <= 3" },
    { "", "x <= 3 || x <= 5", "x <= 5" },
    { "", "x < 3 && 5 < x", "false" },
    { "", "if x < y then x else y", "min(x, y)" },
    { "", "if x < 5 then x else 5", "min(x, 5)" },
    { "", "if x < 0 then 0 else if n - 1 < x then n - 1 else x", "if x <= -1 then 0 else min(x, n - 1)" },
    { "", "if n <= x then n - 1 else x", "min(x, n - 1)" },
    { "", "(x < 3 && y < 3) && x < 5", "x <= 2 && y <= 2" },
    { "x in 1 to n - 1", "if 0 <= x && x < n then i32a else 0", "i32a" },
    { "", "if !(x == y) then 1 else 2", "if x != y then 1 else 2" },
    { "x < y", "if x < y then 1 else 2", "1" },
    { "", "if x < y then (if x < y then 1 else 2) else 3", "if x < y then 1 else 3" },
    { "", "if x < y then 4 else 4", "4" },
    /* what lowering makes of splits, stencils and pyramids */
    { "n in 1 to ?; x in 0 to (n+7)/8 - 1; y in 0 to min(n - x*8, 8) - 1", "x*8 + y < n", "true" },
    { "n in 8 to ?; x in 0 to (n+7)/8 - 1; y in 0 to 7", "min(x*8, n - 8) + y < n", "true" },
    { "n in 8 to ?; x in 0 to (n+7)/8 - 1; y in 0 to 7", "min(x*8, n - 8) + y >= 0", "true" },
    { "x in 0 to n/2 - 1", "clamp(x*2 + 1, 0, n - 1)", "x*2 + 1" },
    { "x in 8 to n - 9", "min(n - 1, x + 8) - max(x - 8, 0) + 1", "17" },
    { "x0 <= n - 8", "min(x0 + 8, n) - x0", "8" },
    { "n in 0 to 1000; x in 0 to n; y in 0 to 7", "(x*8 + y)/4 - x*2", "y/4" },
    { "", "max((x + 1)/2, x/2)", "(x + 1)/2" },
    { "", "(x/2 + 1)*2 - x", "2 - x%2" },
    { "", "min(x, x/2*2)", "x/2*2" },
    { "", "(n + 7)/8*8 - n < 8", "true" },
    { "", "i64(y*4 + 2) / i64(4)", "i64(y)" },
    { "", "u8(clamp(i32(u8a), 0, 255))", "u8a" },
    /* lets */
    { "n = 5", "x + n", "x + 5" },
    { "n = y + 1", "n - y", "1" },
    { "n = y + 1", "n > y", "true" },
    { "n = y + 1; m = n + 1", "m - y == 2", "true" },
    { "y in 0 to 99; x in 1 to 999; n = x + y - 1; y <= n - 7", "x < 8", "false" },
    /* conversions */
    { "", "i64(x + 3) - i64(x)", "i64(3)" },
    { "", "i64(x + y) + i64(z)", "i64(x) + i64(y) + i64(z)" },
    { "", "i64(i32a + 1)", "i64(i32a + 1)" },
    { "", "i32(i64(x) + i64(1))", "x + 1" },
    { "", "i32(i64(x))", "x" },
    { "", "u8(i32(u8a))", "u8a" },
    { "x in 0 to 9", "i32(u8(x))", "x" },
    { "", "i32(u8(x))", "i32(u8(x))" },
    { "x in 0 to 9", "sat_u8(x)", "u8(x)" },
    /* floats keep their bits */
    { "", "f * 1.0", "f" },
    { "", "f + 0.0", "f + 0.0" },
    { "", "f - f", "f - f" },
    { "", "f * 0.0", "f * 0.0" },
    { "n = 3", "f + 0.5 * f32(n)", "f + 1.5" },
    { "n = 255", "x + i32(min(max(0.587 * f32(n) + 0.114 * f32(n), 0.0), 200.0))", "x + 178" },
    { "n = 1", "f32(n) <= 1.5", "true" },
};
/* clang-format on */

#define ARGS "x, y, z, n, m, x0"
enum { MOST_SCOPES = 4 };

/* One case: its program has the expression, and all that its scopes speak of, as components of one tuple. */
typedef struct Case {
    const Line        *row;
    kn_pipeline       *p;
    Simplifier        *s;
    const Expr *const *parts; /* of the tuple that are not used yet */
    int                scopes;
} Case;

static const char *trimmed(char *text)
{
    while (*text == ' ')
        text++;
    for (size_t n = strlen(text); n && text[n - 1] == ' ';)
        text[--n] = 0;
    return text;
}

/* Calls on each scope: the name and its one or two parts, or only a condition. */
static void each_scope(const char *scopes, void (*visit)(void *user, const char *name, const char *a, const char *b),
                       void       *user)
{
    char copy[256], *rest = copy, *one;
    snprintf(copy, sizeof copy, "%s", scopes);
    while ((one = strsep(&rest, ";")) != NULL && *trimmed(one)) {
        char *in = strstr(one, " in "), *let = strstr(one, " = ");
        if (in) {
            char *to = strstr(in, " to ");
            *in = *to = 0;
            visit(user, trimmed(one), trimmed(in + 4), trimmed(to + 4));
        } else if (let) {
            *let = 0;
            visit(user, trimmed(one), trimmed(let + 3), NULL);
        } else {
            visit(user, NULL, trimmed(one), NULL);
        }
    }
}

static void add_part(void *user, const char *name, const char *a, const char *b)
{
    (void)name;
    Text *t = user;
    if (strcmp(a, "?"))
        text_printf(t, ", %s", a);
    if (b && strcmp(b, "?"))
        text_printf(t, ", %s", b);
}

static void push_scope(void *user, const char *name, const char *a, const char *b)
{
    Case       *c  = user;
    const Expr *ea = strcmp(a, "?") ? *c->parts++ : NULL, *eb = b && strcmp(b, "?") ? *c->parts++ : NULL;
    const char *kept = name ? intern(c->p->cx, name) : NULL;
    c->scopes++;
    if (b)
        simplifier_push_range(c->s, kept, ea, eb);
    else if (name)
        simplifier_push_let(c->s, kept, ea);
    else
        simplifier_push_fact(c->s, ea);
}

static const char *shown(Arena *arena, const Expr *e)
{
    Text t;
    text_init(&t, arena);
    expr_print(&t, e);
    return text_string(&t);
}

/* Texts are compared without blanks: they are for reading. */
static bool same_text(const char *a, const char *b)
{
    for (;; a++, b++) {
        while (*a == ' ')
            a++;
        while (*b == ' ')
            b++;
        if (*a != *b)
            return false;
        if (!*a)
            return true;
    }
}

static void run_row(void *user)
{
    Case       *c     = user;
    Arena      *arena = &c->p->arena;
    const Func *f     = c->p->outputs.at[0].func;
    const Line *row   = c->row;
    c->s              = simplifier_new(&c->p->exprs, arena);
    c->parts          = f->values + 1;
    each_scope(row->scopes, push_scope, c);
    const Expr *r    = simplify(c->s, f->values[0]);
    const char *text = shown(arena, r);
    CHECK(same_text(text, row->out), "[%s] %s -> %s, not %s", row->scopes, row->in, text, row->out);
    CHECK(simplify(c->s, r) == r, "[%s] %s again -> %s", row->scopes, text, shown(arena, simplify(c->s, r)));
    while (c->scopes-- > 0)
        simplifier_pop(c->s);
}

static void check_row(kn_context *cx, const Line *row)
{
    Arena scratch;
    Text  t;
    arena_init(&scratch, cx);
    text_init(&t, &scratch);
    text_printf(&t, "param i32a : i32 param u8a : u8 param u8b : u8 param f : f32 output out out(" ARGS ") = (%s",
                row->in);
    each_scope(row->scopes, add_part, &t);
    text_add(&t, *row->scopes ? ")" : ", 0)");
    Case c = { .row = row, .p = kn_parse(cx, "test.kiln", text_string(&t), -1) };
    CHECK(c.p != NULL, "%s: %s", text_string(&t), kn_error_text(cx));
    if (c.p) {
        CHECK(context_try(cx, run_row, &c), "%s: %s", row->in, kn_error_text(cx));
        kn_pipeline_free(c.p);
    }
    arena_free(&scratch);
}

/* ---- Dice ------------------------------------------------------------------------------- */

static uint64_t seed = 1;

static uint32_t dice(uint32_t n)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(seed >> 33) % n;
}

/* Small numbers, the ends of types, and their neighbours. */
static int64_t any_value(kn_type t)
{
    static const int shifts[] = { 7, 8, 15, 16, 30, 31, 32, 62, 63 };
    const int64_t    small    = (int64_t)dice(9) - 4;
    switch (dice(4)) {
    case 0: return type_wrap(t, (int64_t)((uint64_t)type_max(t) + (uint64_t)small));
    case 1: return type_wrap(t, (int64_t)(((uint64_t)1 << shifts[dice(9)]) + (uint64_t)small));
    case 2: return type_wrap(t, (int64_t)dice(64) - 24);
    default: return type_wrap(t, small);
    }
}

/* The same, or one beside it. */
static int64_t near_value(kn_type t, int64_t v)
{
    return type_wrap(t, (int64_t)((uint64_t)v + dice(3) - 1));
}

static const kn_type int_types[] = { KN_I32, KN_I64, KN_U8, KN_I8, KN_U16, KN_I16, KN_U32, KN_U64 };

/* ---- Rules ------------------------------------------------------------------------------ */

typedef struct Value {
    Lane    lane;
    kn_type type;
} Value;

typedef struct Trial {
    kn_type type;
    Value   at[PATTERN_VARIABLES];
} Trial;

static Wide as_number(Value v)
{
    return v.type == KN_U64 ? (Wide)(uint64_t)v.lane.i : v.lane.i;
}

static Value pattern_value(const Trial *t, const Pattern *p);

/* The number that a sum or product is without wrapping; one that leaves every type stands for those that are too
 * large. */
static Wide whole_number(const Trial *t, const Pattern *p)
{
    if (p->kind == PATTERN_OP && (p->op == EX_ADD || p->op == EX_SUB || p->op == EX_MUL)) {
        const Wide a = whole_number(t, p->args[0]), b = whole_number(t, p->args[1]);
        Wide       product;
        if (p->op == EX_MUL)
            return __builtin_mul_overflow(a, b, &product) || product > WIDE_MOST || product < -WIDE_MOST ? WIDE_MOST
                                                                                                         : product;
        return p->op == EX_ADD ? a + b : a - b;
    }
    return as_number(pattern_value(t, p));
}

static Value pattern_value(const Trial *t, const Pattern *p)
{
    switch (p->kind) {
    case PATTERN_NUMBER: return (Value){ { .i = type_wrap(t->type, p->value) }, t->type };
    case PATTERN_TRUTH: return (Value){ { .i = p->value }, KN_BOOL };
    case PATTERN_EXACT: {
        const Wide  v   = whole_number(t, p->args[0]);
        const Known all = known_type(t->type);
        return (Value){ { .i = v >= all.lo && v <= all.hi }, KN_BOOL };
    }
    case PATTERN_OP: break;
    default: return t->at[p->variable];
    }
    Value   v[3];
    Lane    lanes[3];
    kn_type types[3];
    for (int i = 0; i < p->count; i++) {
        v[i]     = pattern_value(t, p->args[i]);
        lanes[i] = v[i].lane;
        types[i] = v[i].type;
    }
    if (p->op == EX_SELECT)
        return v[0].lane.i ? v[1] : v[2];
    if (p->op == EX_AND || p->op == EX_OR)
        return (Value){ { .i = p->op == EX_AND ? v[0].lane.i && v[1].lane.i : v[0].lane.i || v[1].lane.i }, KN_BOOL };
    const kn_type type = p->op >= EX_LT && p->op <= EX_NE ? KN_BOOL : types[0];
    return (Value){ operator_apply(p->op, type, p->count, types, lanes), type };
}

static void roll(Trial *t)
{
    for (int i = 0; i < PATTERN_VARIABLES; i++) {
        const bool is_condition = i == 4 || i == 5;
        t->at[i] =
            is_condition ? (Value){ { .i = dice(2) }, KN_BOOL } : (Value){ { .i = any_value(t->type) }, t->type };
        if (!is_condition && i && dice(3) == 0)
            t->at[i].lane.i = near_value(t->type, t->at[0].lane.i);
    }
    if (dice(2))
        t->at[10].lane.i = near_value(t->type, t->at[9].lane.i); /* c1 near c0 */
}

/* Weight and number of uses of each variable. What constants alone make is one constant. */
static int pattern_weight(const Pattern *p, int *uses)
{
    if (p->kind == PATTERN_TRUTH || p->is_constant)
        return 1;
    if (p->kind != PATTERN_OP) {
        uses[p->variable]++;
        return 1;
    }
    int weight = rule_weight(p->op);
    for (int i = 0; i < p->count; i++)
        weight += pattern_weight(p->args[i], uses);
    return weight;
}

static void check_descent(const Rule *rule, const Pattern *from, const Pattern *to)
{
    int       before[PATTERN_VARIABLES] = { 0 }, after[PATTERN_VARIABLES] = { 0 };
    const int heavy = pattern_weight(from, before), light = pattern_weight(to, after);
    for (int i = 0; i < PATTERN_VARIABLES; i++)
        CHECK(after[i] <= before[i], "%s -> %s uses a variable more often", rule->pattern, rule->result);
    CHECK(light < heavy || (light == heavy && to->op < from->op), "%s -> %s does not descend: %d, %d", rule->pattern,
          rule->result, heavy, light);
}

static void check_rule(Arena *arena, const Rule *rule)
{
    const Pattern *from = pattern_read(arena, rule->pattern), *to = pattern_read(arena, rule->result);
    const Pattern *condition = rule->condition ? pattern_read(arena, rule->condition) : NULL;
    CHECK(from && to && (condition || !rule->condition), "%s -> %s (%s) cannot be read", rule->pattern, rule->result,
          rule->condition);
    if (!from || !to)
        return;
    check_descent(rule, from, to);
    int tried = 0, wrong = 0;
    for (int n = 0; n < 8 * 4000; n++) {
        Trial t = { .type = int_types[n % (rule->types == RULE_INDEX ? 2 : 8)] };
        roll(&t);
        if (condition && !pattern_value(&t, condition).lane.i)
            continue;
        tried++;
        wrong += pattern_value(&t, from).lane.i != pattern_value(&t, to).lane.i;
    }
    CHECK(!wrong && tried > 50, "%s -> %s: wrong for %d of %d", rule->pattern, rule->result, wrong, tried);
}

/* ---- Constants -------------------------------------------------------------------------- */

/* Every operator on constants is what the interpreter says. */
static void check_folding(kn_context *cx)
{
    Arena    arena;
    ExprPool pool;
    arena_init(&arena, cx);
    expr_pool_init(&pool, cx, &arena);
    for (int n = 0; n < 60000; n++) {
        const ExprOp  op   = (ExprOp)(EX_CAST + n % (EX_NE - EX_CAST + 1));
        const kn_type type = int_types[dice(8)], to = op >= EX_LT     ? KN_BOOL
                                                      : op == EX_ABSD ? type_table[type].as_unsigned
                                                      : op == EX_CAST || op == EX_SAT_CAST ? int_types[dice(8)]
                                                                                           : type;
        const int     count = expr_op_table[op].arity;
        kn_type       types[3];
        Lane          lanes[3];
        const Expr   *args[3];
        if (op == EX_REINTERPRET || !operator_kernel(op, type, to))
            continue;
        for (int i = 0; i < count; i++) {
            const bool amount = i && i == count - 1 && (op == EX_SHL || op == EX_SHR || op == EX_MUL_SHIFT);
            types[i]          = amount ? int_types[dice(8)] : type;
            lanes[i].i        = amount && dice(2) ? type_wrap(types[i], (int64_t)dice(150) - 40) : any_value(types[i]);
            args[i]           = expr_int(&pool, types[i], lanes[i].i);
        }
        const Expr   *e    = count == 1   ? expr_unary(&pool, op, to, args[0])
                             : count == 2 ? expr_binary(&pool, op, to, args[0], args[1])
                                          : expr_ternary(&pool, op, to, args[0], args[1], args[2]);
        const Expr   *r    = fold_constant(&pool, e);
        const int64_t want = operator_apply(op, to, count, types, lanes).i;
        CHECK(r && r->op == EX_INT && r->type == to && r->u.i == want, "%s of %s %lld, %lld is %lld",
              expr_op_table[op].name, type_table[type].name, (long long)lanes[0].i,
              count > 1 ? (long long)lanes[1].i : 0, (long long)want);
    }
    arena_free(&arena);
}

/* ---- Random expressions ----------------------------------------------------------------- */

enum { VARIABLES = 4 };
static const char *const variable_names[VARIABLES] = { "a", "b", "c", "d" };

/* Variables a, b within fixed numbers, c from a to a + 7, d = b * 4, and u8 and i32 "parameters" of any value, which
 * are variables of names p and q. */
typedef struct World {
    ExprPool   *pool;
    Simplifier *s;
    const Expr *vars[VARIABLES], *byte, *word;
    const Expr *fact; /* that holds, or NULL */
    int64_t     lo[2], hi[2];
} World;

static const Expr *random_int(World *w, kn_type type, int depth);

static const Expr *random_condition(World *w, int depth)
{
    static const ExprOp ops[] = { EX_LT, EX_LE, EX_EQ, EX_NE };
    if (depth > 1 && dice(3) == 0) {
        static const ExprOp joins[] = { EX_AND, EX_OR, EX_BIT_AND, EX_BIT_OR, EX_BIT_XOR };
        return expr_binary(w->pool, joins[dice(5)], KN_BOOL, random_condition(w, depth - 1),
                           random_condition(w, depth - 1));
    }
    if (depth > 1 && dice(5) == 0)
        return expr_unary(w->pool, EX_BIT_NOT, KN_BOOL, random_condition(w, depth - 1));
    const kn_type type = dice(4) ? KN_I32 : int_types[dice(8)];
    return expr_binary(w->pool, ops[dice(4)], KN_BOOL, random_int(w, type, depth - 1), random_int(w, type, depth - 1));
}

static const Expr *random_leaf(World *w, kn_type type)
{
    if (dice(3) == 0)
        return expr_int(w->pool, type, dice(6) ? (int64_t)dice(20) - 6 : any_value(type));
    if (type == KN_I32)
        return dice(6) ? w->vars[dice(VARIABLES)] : w->word;
    if (type == KN_U8)
        return w->byte;
    return expr_unary(w->pool, EX_CAST, type, dice(2) ? w->vars[dice(VARIABLES)] : dice(2) ? w->byte : w->word);
}

static const Expr *random_int(World *w, kn_type type, int depth)
{
    static const ExprOp common[] = { EX_ADD, EX_SUB, EX_ADD, EX_SUB, EX_MIN, EX_MAX, EX_MUL };
    static const ExprOp rare[]   = { EX_MOD,    EX_DIV,     EX_AVG_UP, EX_AVG_DOWN, EX_BIT_AND,
                                     EX_BIT_OR, EX_BIT_XOR, EX_SHL,    EX_SHR,      EX_MUL };
    static const ExprOp one[]    = { EX_NEG, EX_ABS, EX_BIT_NOT, EX_POPCOUNT, EX_CLZ };
    if (depth <= 0)
        return random_leaf(w, type);
    switch (dice(12)) {
    case 0:
    case 1:
    case 2:
    case 3:
    case 4:
        return expr_binary(w->pool, common[dice(6)], type, random_int(w, type, depth - 1),
                           random_int(w, type, depth - 1));
    case 5:
    case 6:
        return expr_binary(w->pool, dice(2) ? EX_DIV : EX_MOD, type, random_int(w, type, depth - 1),
                           expr_int(w->pool, type, 1 + dice(9)));
    case 7:
        return expr_binary(w->pool, EX_MUL, type, random_int(w, type, depth - 1),
                           expr_int(w->pool, type, (int64_t)dice(11) - 3));
    case 8:
        return expr_ternary(w->pool, EX_SELECT, type, random_condition(w, depth - 1), random_int(w, type, depth - 1),
                            random_int(w, type, depth - 1));
    case 9:
        return expr_unary(w->pool, dice(3) ? EX_CAST : EX_SAT_CAST, type, random_int(w, int_types[dice(8)], depth - 1));
    case 10: return expr_unary(w->pool, one[dice(5)], type, random_int(w, type, depth - 1));
    default:
        return expr_binary(w->pool, rare[dice(10)], type, random_int(w, type, depth - 1),
                           random_int(w, type, depth - 1));
    }
}

typedef struct Assignment {
    int64_t vars[VARIABLES], byte, word;
} Assignment;

static int64_t evaluate(const World *w, const Assignment *a, const Expr *e)
{
    if (e->op == EX_INT)
        return e->u.i;
    if (e == w->byte)
        return a->byte;
    if (e == w->word)
        return a->word;
    for (int i = 0; i < VARIABLES; i++)
        if (e == w->vars[i])
            return a->vars[i];
    Lane    lanes[3];
    kn_type types[3];
    for (uint32_t i = 0; i < e->count; i++) {
        lanes[i].i = evaluate(w, a, e->args[i]);
        types[i]   = (kn_type)e->args[i]->type;
    }
    if (e->op == EX_SELECT)
        return lanes[0].i ? lanes[1].i : lanes[2].i;
    if (e->op == EX_AND || e->op == EX_OR)
        return e->op == EX_AND ? lanes[0].i & lanes[1].i : lanes[0].i | lanes[1].i;
    return operator_apply((ExprOp)e->op, (kn_type)e->type, (int)e->count, types, lanes).i;
}

static void assign(const World *w, Assignment *a)
{
    for (int i = 0; i < 2; i++)
        a->vars[i] = dice(4) == 0 ? w->lo[i]
                     : dice(3) == 0
                         ? w->hi[i]
                         : w->lo[i] + (int64_t)((uint64_t)dice(1u << 30) % (uint64_t)(w->hi[i] - w->lo[i] + 1));
    a->vars[2] = a->vars[0] + dice(8);
    a->vars[3] = a->vars[1] * 4;
    a->byte    = any_value(KN_U8);
    a->word    = any_value(KN_I32);
}

static void build_world(World *w, kn_context *cx)
{
    ExprPool            *pool   = w->pool;
    static const int64_t ends[] = { -(1 << 28), -100, -7, -1, 0, 1, 5, 8, 64, 1 << 26 };
    for (int i = 0; i < VARIABLES; i++)
        w->vars[i] = expr_var(pool, KN_I32, intern(cx, variable_names[i]));
    w->byte = expr_param(pool, KN_U8, (const Param *)"byte");
    w->word = expr_param(pool, KN_I32, (const Param *)"word");
    for (int i = 0; i < 2; i++) {
        const uint32_t at = dice(10), to = at + dice(10 - at);
        w->lo[i] = ends[at];
        w->hi[i] = ends[to];
        simplifier_push_range(w->s, w->vars[i]->u.name, expr_int(pool, KN_I32, w->lo[i]),
                              expr_int(pool, KN_I32, w->hi[i]));
    }
    simplifier_push_range(w->s, w->vars[2]->u.name, w->vars[0],
                          expr_binary(pool, EX_ADD, KN_I32, w->vars[0], expr_int(pool, KN_I32, 7)));
    simplifier_push_let(w->s, w->vars[3]->u.name,
                        expr_binary(pool, EX_MUL, KN_I32, w->vars[1], expr_int(pool, KN_I32, 4)));
    w->fact = dice(2) ? random_condition(w, 1 + (int)dice(3)) : NULL;
    if (w->fact)
        simplifier_push_fact(w->s, w->fact);
}

static void count_node(const Expr *e, void *user)
{
    (void)e;
    ++*(int *)user;
}

static int node_count(ExprPool *pool, const Expr *e)
{
    int n = 0;
    expr_visit(pool, e, count_node, &n);
    return n;
}

/* Expressions without parameters print; those are shown as they are made. */
static void text_of(Text *t, const World *w, const Expr *e)
{
    if (e->op == EX_INT)
        text_printf(t, "%lld:%s", (long long)e->u.i, type_table[e->type].name);
    else if (e == w->byte || e == w->word)
        text_add(t, (const char *)e->u.param);
    else if (e->op == EX_VAR)
        text_add(t, e->u.name);
    else {
        text_printf(t, "%s.%s(", expr_op_table[e->op].name, type_table[e->type].name);
        for (uint32_t i = 0; i < e->count; i++) {
            text_add(t, i ? ", " : "");
            text_of(t, w, e->args[i]);
        }
        text_add(t, ")");
    }
}

static const char *world_text(Arena *arena, const World *w, const Expr *e)
{
    Text t;
    text_init(&t, arena);
    text_of(&t, w, e);
    return text_string(&t);
}

typedef struct RandomCase {
    kn_context *cx;
    uint64_t    seed;
    int         restless; /* expressions that the simplifier changes again */
} RandomCase;

static void random_case(void *user)
{
    RandomCase *c  = user;
    kn_context *cx = c->cx;
    seed           = c->seed;
    Arena    arena;
    ExprPool pool;
    scratch_begin(&arena, cx);
    expr_pool_init(&pool, cx, &arena);
    World w = { .pool = &pool, .s = simplifier_new(&pool, &arena) };
    build_world(&w, cx);
    for (int n = 0; n < 8; n++) {
        const Expr *e = dice(4) ? random_int(&w, dice(4) ? KN_I32 : int_types[dice(8)], 1 + (int)dice(4))
                                : random_condition(&w, 1 + (int)dice(4));
        const Expr *r = simplify(w.s, e);
        int64_t     lo, hi;
        simplifier_bounds(w.s, e, &lo, &hi);
        bool right = r->type == e->type;
        for (int k = 0; right && k < 24; k++) {
            Assignment a;
            assign(&w, &a);
            if (w.fact && !evaluate(&w, &a, w.fact))
                continue;
            const int64_t v = evaluate(&w, &a, e);
            right =
                v == evaluate(&w, &a, r) && ((v >= lo && v <= hi) || (e->type == KN_U64 && v < 0 && hi == INT64_MAX));
            CHECK(right,
                  "seed %llu, fact %s, a=%lld b=%lld c=%lld byte=%lld word=%lld, ranges %lld..%lld %lld..%lld:\n  %s = "
                  "%lld\n  %s = %lld, %lld..%lld",
                  (unsigned long long)c->seed, w.fact ? world_text(&arena, &w, w.fact) : "none", (long long)a.vars[0],
                  (long long)a.vars[1], (long long)a.vars[2], (long long)a.byte, (long long)a.word, (long long)w.lo[0],
                  (long long)w.hi[0], (long long)w.lo[1], (long long)w.hi[1], world_text(&arena, &w, e), (long long)v,
                  world_text(&arena, &w, r), (long long)evaluate(&w, &a, r), (long long)lo, (long long)hi);
        }
        const int before = node_count(&pool, e), after = node_count(&pool, r);
        CHECK(after <= 2 * before + 4, "seed %llu: %d nodes, then %d:\n  %s\n  %s", (unsigned long long)c->seed, before,
              after, world_text(&arena, &w, e), world_text(&arena, &w, r));
        World fresh         = w;
        fresh.s             = simplifier_new(&pool, &arena);
        const uint64_t kept = seed;
        seed                = c->seed;
        build_world(&fresh, cx);
        seed              = kept;
        const Expr *again = simplify(fresh.s, r);
        c->restless += again != r;
        if (again != r && getenv("VERBOSE"))
            printf("seed %llu restless\n  %s\n  %s\n  %s\n", (unsigned long long)c->seed, world_text(&arena, &w, e),
                   world_text(&arena, &w, r), world_text(&arena, &w, again));
    }
    scratch_end(&arena);
}

static void check_random(uint64_t first, int count)
{
    kn_context *cx       = kn_context_new(NULL);
    int         restless = 0;
    for (int i = 0; i < count && checks_failed < 5; i++) {
        RandomCase c = { .cx = cx, .seed = first + (uint64_t)i };
        context_begin(cx);
        CHECK(context_try(cx, random_case, &c), "seed %llu: %s", (unsigned long long)c.seed, kn_error_text(cx));
        restless += c.restless;
    }
    CHECK(restless == 0, "%d of %d change again", restless, count * 8);
    kn_context_free(cx);
}

/* ---- Steps ------------------------------------------------------------------------------ */

/* A graph of n levels with 2^n paths, and a chain of n lets. */
static void long_chains(void *user)
{
    kn_context *cx = user;
    Arena       arena;
    ExprPool    pool;
    scratch_begin(&arena, cx);
    expr_pool_init(&pool, cx, &arena);
    Simplifier *s = simplifier_new(&pool, &arena);
    const Expr *x = expr_var(&pool, KN_I32, intern(cx, "x")), *y = expr_var(&pool, KN_I32, intern(cx, "y")), *e = x;
    for (int i = 0; i < 600; i++) {
        const Expr *a =
            expr_binary(&pool, EX_MIN, KN_I32, e, expr_binary(&pool, EX_ADD, KN_I32, y, expr_int(&pool, KN_I32, i)));
        const Expr *b = expr_binary(&pool, EX_MAX, KN_I32, e,
                                    expr_binary(&pool, EX_DIV, KN_I32, e, expr_int(&pool, KN_I32, 2 + i % 3)));
        e             = expr_ternary(&pool, EX_SELECT, KN_I32, expr_binary(&pool, EX_LT, KN_BOOL, a, b), a,
                                     expr_binary(&pool, EX_SUB, KN_I32, b, a));
    }
    simplify(s, e);
    e = x;
    for (int i = 0; i < 2000; i++) {
        const char *name = intern(cx, arena_printf(&arena, "v%d", i));
        simplifier_push_let(s, name,
                            expr_binary(&pool, EX_MAX, KN_I32, expr_binary(&pool, EX_ADD, KN_I32, e, e),
                                        expr_binary(&pool, EX_SUB, KN_I32, e, y)));
        e = expr_var(&pool, KN_I32, name);
    }
    simplify(s, e);
    scratch_end(&arena);
}

static void check_steps(void)
{
    enum { MOST = 500000 };
    kn_context *cx = kn_context_new(NULL);
    CHECK(context_try(cx, long_chains, cx), "%s", kn_error_text(cx));
    CHECK(steps_spent(cx) <= MOST, "long chains take %llu steps", (unsigned long long)steps_spent(cx));
    kn_context_free(cx);
}

int main(int argc, char **argv)
{
    if (argc > 2) {
        check_random(strtoull(argv[1], NULL, 10), atoi(argv[2]));
        return check_done();
    }
    kn_context *cx = kn_context_new(NULL);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        check_row(cx, &rows[i]);
    Arena arena;
    arena_init(&arena, cx);
    for (int i = 0; i < rule_count; i++)
        check_rule(&arena, &rule_table[i]);
    arena_free(&arena);
    check_folding(cx);
    kn_context_free(cx);
    check_steps();
    check_random(1, check_fewer(1500));
    return check_done();
}
