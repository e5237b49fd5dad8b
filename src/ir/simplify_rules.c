/* SPDX-License-Identifier: MIT */
/* The rules that are not about linear forms, as a table; the matcher.
 *
 * Each row descends in weight (rule_weight) and uses no variable more often on the right than on the left, or weighs
 * the same and has a root of smaller ExprOp; so rewriting by the table ends, whatever the order of application. */
#include "ir/simplify_rules.h"
#include "ir/simplify_parts.h"

const Rule rule_table[] = {
    /* Conditions. What stands second in && and || may be guarded by the first, so the first only goes where it stands
     * elsewhere before it. */
    { "!!p", "p", NULL, RULE_ALL },
    { "!(x < y)", "y <= x", NULL, RULE_ALL },
    { "!(x <= y)", "y < x", NULL, RULE_ALL },
    { "!(x == y)", "x != y", NULL, RULE_ALL },
    { "!(x != y)", "x == y", NULL, RULE_ALL },
    { "true && p", "p", NULL, RULE_ALL },
    { "p && true", "p", NULL, RULE_ALL },
    { "false && p", "false", NULL, RULE_ALL },
    { "p && false", "false", NULL, RULE_ALL },
    { "p && p", "p", NULL, RULE_ALL },
    { "p && !p", "false", NULL, RULE_ALL },
    { "!p && p", "false", NULL, RULE_ALL },
    { "(p && q) && p", "p && q", NULL, RULE_ALL },
    { "(p && q) && q", "p && q", NULL, RULE_ALL },
    { "p && (p && q)", "p && q", NULL, RULE_ALL },
    { "p && (q && p)", "p && q", NULL, RULE_ALL },
    { "p && (p || q)", "p", NULL, RULE_ALL },
    { "(p || q) && p", "p", NULL, RULE_ALL },
    { "true || p", "true", NULL, RULE_ALL },
    { "p || true", "true", NULL, RULE_ALL },
    { "false || p", "p", NULL, RULE_ALL },
    { "p || false", "p", NULL, RULE_ALL },
    { "p || p", "p", NULL, RULE_ALL },
    { "p || !p", "true", NULL, RULE_ALL },
    { "!p || p", "true", NULL, RULE_ALL },
    { "(p || q) || p", "p || q", NULL, RULE_ALL },
    { "(p || q) || q", "p || q", NULL, RULE_ALL },
    { "p || (p || q)", "p || q", NULL, RULE_ALL },
    { "p || (q || p)", "p || q", NULL, RULE_ALL },
    { "p || (p && q)", "p", NULL, RULE_ALL },
    { "(p && q) || p", "p", NULL, RULE_ALL },
    { "p & true", "p", NULL, RULE_ALL },
    { "p & false", "false", NULL, RULE_ALL },
    { "p & p", "p", NULL, RULE_ALL },
    { "p | true", "true", NULL, RULE_ALL },
    { "p | false", "p", NULL, RULE_ALL },
    { "p | p", "p", NULL, RULE_ALL },
    { "p ^ true", "!p", NULL, RULE_ALL },
    { "p ^ false", "p", NULL, RULE_ALL },
    { "p ^ p", "false", NULL, RULE_ALL },
    { "p == true", "p", NULL, RULE_ALL },
    { "p == false", "!p", NULL, RULE_ALL },
    { "p == p", "true", NULL, RULE_ALL },
    { "p != true", "!p", NULL, RULE_ALL },
    { "p != false", "p", NULL, RULE_ALL },
    { "p != p", "false", NULL, RULE_ALL },

    /* Choices */
    { "select(true, a, b)", "a", NULL, RULE_ALL },
    { "select(false, a, b)", "b", NULL, RULE_ALL },
    { "select(p, a, a)", "a", NULL, RULE_ALL },
    { "select(!p, a, b)", "select(p, b, a)", NULL, RULE_ALL },
    { "select(p, select(p, a, b), d)", "select(p, a, d)", NULL, RULE_ALL },
    { "select(p, a, select(p, b, d))", "select(p, a, d)", NULL, RULE_ALL },
    { "select(p, a, select(q, a, b))", "select(p || q, a, b)", NULL, RULE_ALL },
    { "select(p, select(q, a, b), b)", "select(p && q, a, b)", NULL, RULE_ALL },
    { "select(p, true, false)", "p", NULL, RULE_ALL },
    { "select(p, false, true)", "!p", NULL, RULE_ALL },
    { "select(p, q, false)", "p && q", NULL, RULE_ALL },
    { "select(p, true, q)", "p || q", NULL, RULE_ALL },
    { "select(x < y, x, y)", "min(x, y)", NULL, RULE_ALL },
    { "select(x < y, y, x)", "max(x, y)", NULL, RULE_ALL },
    { "select(x <= y, x, y)", "min(x, y)", NULL, RULE_ALL },
    { "select(x <= y, y, x)", "max(x, y)", NULL, RULE_ALL },
    { "select(x == y, x, y)", "y", NULL, RULE_ALL },
    { "select(x < y, x, z)", "min(x, z)", "exact(y - 1) && z == y - 1", RULE_ALL },
    { "select(x < y, z, x)", "max(x, z)", "exact(y - 1) && z == y - 1", RULE_ALL },
    { "select(x < y, y, z)", "max(y, z)", "exact(x + 1) && z == x + 1", RULE_ALL },
    { "select(x < y, z, y)", "min(y, z)", "exact(x + 1) && z == x + 1", RULE_ALL },
    { "select(x <= y, x, z)", "min(x, z)", "exact(y + 1) && z == y + 1", RULE_ALL },
    { "select(x <= y, z, x)", "max(x, z)", "exact(y + 1) && z == y + 1", RULE_ALL },
    { "select(x <= y, y, z)", "max(y, z)", "exact(x - 1) && z == x - 1", RULE_ALL },
    { "select(x <= y, z, y)", "min(y, z)", "exact(x - 1) && z == x - 1", RULE_ALL },

    /* Min and max */
    { "min(x, x)", "x", NULL, RULE_ALL },
    { "max(x, x)", "x", NULL, RULE_ALL },
    { "min(max(x, y), x)", "x", NULL, RULE_ALL },
    { "max(min(x, y), x)", "x", NULL, RULE_ALL },
    { "max(min(x, y), min(x, z))", "min(max(y, z), x)", NULL, RULE_ALL },
    { "min(max(x, y), max(x, z))", "max(min(y, z), x)", NULL, RULE_ALL },
    { "max(min(x, y), z)", "min(max(x, z), y)", "z <= y", RULE_ALL },
    { "max(x, select(p, x, y))", "x", "y <= x", RULE_ALL },
    { "min(x, select(p, x, y))", "x", "x <= y", RULE_ALL },
    { "abs(x)", "x", "0 <= x", RULE_ALL },
    { "abs(x)", "-x", "x <= 0", RULE_ALL },
    { "abs(abs(x))", "abs(x)", NULL, RULE_ALL },

    /* Quotients and remainders */
    { "x / 0", "0", NULL, RULE_ALL },
    { "x % 0", "0", NULL, RULE_ALL },
    { "0 / x", "0", NULL, RULE_ALL },
    { "0 % x", "0", NULL, RULE_ALL },
    { "x / 1", "x", NULL, RULE_ALL },
    { "x % 1", "0", NULL, RULE_ALL },
    { "x % x", "0", NULL, RULE_ALL },
    { "x % c0 / c0", "0", NULL, RULE_ALL },
    { "x / c0 / c1", "x / (c0 * c1)", "0 < c0 && 0 < c1 && exact(c0 * c1)", RULE_ALL },
    { "(x / c0 + c2) / c1", "(x + c2 * c0) / (c0 * c1)",
      "0 < c0 && 0 < c1 && exact(c0 * c1) && exact(c2 * c0) && exact(x + c2 * c0) && exact(x / c0 + c2)", RULE_ALL },
    { "x % c0 % c1", "x % c1", "0 < c1 && 0 < c0 && c0 % c1 == 0", RULE_ALL },
    { "(x % c0 + y) % c1", "(x + y) % c1", "0 < c1 && 0 < c0 && c0 % c1 == 0 && exact(x + y) && exact(x % c0 + y)",
      RULE_ALL },
    { "(y - x % c0) % c1", "(y - x) % c1", "0 < c1 && 0 < c0 && c0 % c1 == 0 && exact(y - x) && exact(y - x % c0)",
      RULE_ALL },
    { "x & c0", "x % (c0 + 1)", "0 < c0 && exact(c0 + 1) && (c0 & (c0 + 1)) == 0", RULE_INDEX },

    /* Bits */
    { "x & 0", "0", NULL, RULE_ALL },
    { "x & x", "x", NULL, RULE_ALL },
    { "x & -1", "x", NULL, RULE_ALL },
    { "x | 0", "x", NULL, RULE_ALL },
    { "x | x", "x", NULL, RULE_ALL },
    { "x | -1", "-1", NULL, RULE_ALL },
    { "x ^ 0", "x", NULL, RULE_ALL },
    { "x ^ x", "0", NULL, RULE_ALL },
    { "~~x", "x", NULL, RULE_ALL },

    /* Comparisons with min, max and quotients */
    { "min(x, y) < z", "x < z", "z <= y", RULE_ALL },
    { "min(x, y) <= z", "x <= z", "z < y", RULE_ALL },
    { "z < min(x, y)", "z < x", "z < y", RULE_ALL },
    { "z <= min(x, y)", "z <= x", "z <= y", RULE_ALL },
    { "max(x, y) < z", "x < z", "y < z", RULE_ALL },
    { "max(x, y) <= z", "x <= z", "y <= z", RULE_ALL },
    { "z < max(x, y)", "z < x", "y <= z", RULE_ALL },
    { "z <= max(x, y)", "z <= x", "y < z", RULE_ALL },
    { "min(x, y) < x", "y < x", NULL, RULE_ALL },
    { "x <= min(x, y)", "x <= y", NULL, RULE_ALL },
    { "x < max(x, y)", "x < y", NULL, RULE_ALL },
    { "max(x, y) <= x", "y <= x", NULL, RULE_ALL },
    { "min(x, y) == x", "x <= y", NULL, RULE_ALL },
    { "max(x, y) == x", "y <= x", NULL, RULE_ALL },
    { "min(x, y) != x", "y < x", NULL, RULE_ALL },
    { "max(x, y) != x", "x < y", NULL, RULE_ALL },
    { "x / c0 <= c1", "x <= c1 * c0 + (c0 - 1)", "0 < c0 && exact(c1 * c0 + (c0 - 1))", RULE_ALL },
    { "c1 <= x / c0", "c1 * c0 <= x", "0 < c0 && exact(c1 * c0)", RULE_ALL },
};
const int rule_count = sizeof rule_table / sizeof *rule_table;

/* Operators that cost more weigh more: / and % above *, & and the choice above all that they may become. */
int rule_weight(ExprOp op)
{
    switch (op) {
    case EX_SELECT: return 4;
    case EX_BIT_AND: return 3;
    case EX_ABS: return 2;
    default: return 1;
    }
}

/* ---- Reading ---------------------------------------------------------------------------- */

typedef struct ReadRule {
    const Pattern *pattern, *result, *condition;
    RuleTypes      types;
    int            next; /* of the same root, or -1 */
} ReadRule;

struct RuleTable {
    ReadRule *rules;
    int       first[EX_COUNT];
};

RuleTable *rules_read(Arena *arena, kn_context *cx)
{
    RuleTable *t = ARENA_NEW(arena, RuleTable);
    t->rules     = ARENA_ARRAY(arena, ReadRule, (size_t)rule_count);
    for (int op = 0; op < EX_COUNT; op++)
        t->first[op] = -1;
    context_spend(cx, (uint64_t)rule_count);
    for (int i = rule_count - 1; i >= 0; i--) {
        const Rule *from         = &rule_table[i];
        ReadRule   *r            = &t->rules[i];
        r->pattern               = pattern_read(arena, from->pattern);
        r->result                = pattern_read(arena, from->result);
        r->condition             = from->condition ? pattern_read(arena, from->condition) : NULL;
        r->types                 = from->types;
        r->next                  = t->first[r->pattern->op];
        t->first[r->pattern->op] = i;
    }
    return t;
}

/* ---- Matching --------------------------------------------------------------------------- */

enum { MOST_GOALS = 16 };

typedef struct Match {
    Simplifier *s;
    const Expr *bound[PATTERN_VARIABLES];
    kn_type     type; /* of the integers; KN_NONE: none is bound yet */
    RuleTypes   types;
} Match;

/* What is still to be matched, the next one last. */
typedef struct Goals {
    int            count;
    const Pattern *pattern[MOST_GOALS];
    const Expr    *expr[MOST_GOALS];
} Goals;

static bool is_type_allowed(const Match *m, kn_type t)
{
    return type_is_int(t) && (m->types == RULE_ALL || t == KN_I32 || t == KN_I64);
}

static bool bind(Match *m, const Pattern *p, const Expr *e)
{
    const kn_type t = (kn_type)e->type;
    if (m->bound[p->variable])
        return m->bound[p->variable] == e;
    if (p->kind == PATTERN_CONDITION && t != KN_BOOL)
        return false;
    if (p->kind == PATTERN_CONSTANT && e->op != EX_INT)
        return false;
    if (p->kind == PATTERN_INT || p->kind == PATTERN_CONSTANT) {
        if (!is_type_allowed(m, t) || (m->type != KN_NONE && m->type != t))
            return false;
        m->type = t;
    }
    m->bound[p->variable] = e;
    return true;
}

static bool may_swap(const Pattern *p)
{
    switch (p->op) {
    case EX_ADD:
    case EX_MUL:
    case EX_MIN:
    case EX_MAX:
    case EX_BIT_AND:
    case EX_BIT_OR:
    case EX_BIT_XOR:
    case EX_EQ:
    case EX_NE: return true;
    default: return false;
    }
}

static bool match_goals(Match *m, Goals g);

static bool match_operands(Match *m, const Goals *rest, const Pattern *p, const Expr *e, bool swap)
{
    Goals       g    = *rest;
    const Match kept = *m;
    if (g.count + p->count > MOST_GOALS)
        return false;
    for (int i = p->count - 1; i >= 0; i--) {
        g.pattern[g.count] = p->args[i];
        g.expr[g.count++]  = e->args[swap ? 1 - i : i];
    }
    if (match_goals(m, g))
        return true;
    *m = kept;
    return false;
}

static bool match_goals(Match *m, Goals g)
{
    while (g.count) {
        const Pattern *p = g.pattern[--g.count];
        const Expr    *e = g.expr[g.count];
        if (p->kind == PATTERN_OP) {
            if (e->op != p->op || (int)e->count != p->count)
                return false;
            return match_operands(m, &g, p, e, false) || (may_swap(p) && match_operands(m, &g, p, e, true));
        }
        if (p->kind == PATTERN_NUMBER
                ? !is_integer(e) || e->op != EX_INT || e->u.i != type_wrap((kn_type)e->type, p->value)
            : p->kind == PATTERN_TRUTH ? e->type != KN_BOOL || e->op != EX_INT || e->u.i != p->value
                                       : !bind(m, p, e))
            return false;
    }
    return true;
}

/* ---- Building --------------------------------------------------------------------------- */

static const Expr *build(Match *m, const Pattern *p)
{
    Simplifier *s = m->s;
    if (p->kind == PATTERN_NUMBER)
        return expr_int(s->pool, m->type, p->value);
    if (p->kind == PATTERN_TRUTH)
        return expr_bool(s->pool, p->value);
    if (p->kind != PATTERN_OP)
        return m->bound[p->variable];
    const Expr *args[3] = { NULL };
    for (int i = 0; i < p->count; i++)
        args[i] = build(m, p->args[i]);
    const bool    is_condition = p->op >= EX_LT && p->op <= EX_OR;
    const kn_type type         = is_condition ? KN_BOOL : (kn_type)args[p->op == EX_SELECT]->type;
    const Expr   *e            = p->count == 1   ? expr_unary(s->pool, p->op, type, args[0])
                                 : p->count == 2 ? expr_binary(s->pool, p->op, type, args[0], args[1])
                                                 : expr_ternary(s->pool, p->op, type, args[0], args[1], args[2]);
    return simplify_top(s, e);
}

/* The interval of a sum or product of what is bound, as integers. */
static void reach(Match *m, const Pattern *p, Wide *lo, Wide *hi)
{
    if (p->kind != PATTERN_OP || (p->op != EX_ADD && p->op != EX_SUB && p->op != EX_MUL)) {
        const Known k = known_of(m->s, build(m, p));
        *lo           = k.lo;
        *hi           = k.hi;
        return;
    }
    Wide al, ah, bl, bh;
    reach(m, p->args[0], &al, &ah);
    reach(m, p->args[1], &bl, &bh);
    const Wide most = (Wide)1 << 62;
    if (p->op == EX_MUL && (al < -most || ah > most || bl < -most || bh > most)) {
        *lo = -WIDE_MOST;
        *hi = WIDE_MOST;
    } else if (p->op == EX_MUL) {
        *lo = wide_min(wide_min(al * bl, al * bh), wide_min(ah * bl, ah * bh));
        *hi = wide_max(wide_max(al * bl, al * bh), wide_max(ah * bl, ah * bh));
    } else {
        *lo = p->op == EX_ADD ? al + bl : al - bh;
        *hi = p->op == EX_ADD ? ah + bh : ah - bl;
    }
}

/* Is the condition known to hold? */
static bool holds(Match *m, const Pattern *p)
{
    if (!p)
        return true;
    if (p->kind == PATTERN_EXACT) {
        Wide lo, hi;
        reach(m, p->args[0], &lo, &hi);
        return known_fits((Known){ lo, hi, 1, 0 }, m->type);
    }
    if (p->op == EX_AND)
        return holds(m, p->args[0]) && holds(m, p->args[1]);
    const Expr *a = build(m, p->args[0]), *b = build(m, p->args[1]);
    return prove_compare(m->s, p->op, a, b) == 1;
}

static void find_reads(const Expr *e, void *user)
{
    *(bool *)user &= e->op != EX_CALL && e->op != EX_LOAD && e->op != EX_EXTERN;
}

bool is_plain(ExprPool *pool, const Expr *e)
{
    bool plain = true;
    expr_visit(pool, e, find_reads, &plain);
    return plain;
}

const Expr *rules_apply(Simplifier *s, const Expr *e)
{
    for (int i = s->rules->first[e->op]; i >= 0; i = s->rules->rules[i].next) {
        const ReadRule *r = &s->rules->rules[i];
        Match           m = { .s = s, .types = r->types };
        Goals           g = { .count = 1, .pattern = { r->pattern }, .expr = { e } };
        if (match_goals(&m, g) && holds(&m, r->condition)) {
            const Expr *result = build(&m, r->result);
            if (result != e)
                return result;
        }
    }
    return e;
}
