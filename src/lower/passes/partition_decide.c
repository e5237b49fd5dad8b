/* SPDX-License-Identifier: MIT */
/* Conditions that are decided in the steady state of a loop, and the iterations for which they are.
 *
 * A node that compares two integers has sides. Each is taken where affine forms are not negative:
 *     min(a, b)       a where b - a >= 0            b where a - b >= 0             max likewise
 *     a < b           true where b - a - 1 >= 0     false where a - b >= 0         <= likewise
 *     a == b          false where a - b - 1 >= 0    false where b - a - 1 >= 0     != likewise
 *     a % m           a where a >= 0 and m - 1 - a >= 0;   a / m is 0 there
 *     |a|             a where a >= 0                -a where -a >= 0
 * A form that is affine in the loop's variable v is not negative on a half-line of v. An iteration counts only if all
 * its lanes and inner iterations are on it. The side with most iterations for guessed sizes is taken. None is if less
 * than half of the loop would be steady. So clamps, tail guards and the interior of an image are decided, and the
 * modulo of a folded buffer is not. Operands come first: in min(max(x, a), b) the outer node sees x. */
#include "lower/passes/partition.h"

/* One side of a node: its value, and the constraints under which it is taken. */
typedef struct DecidedSide {
    const Expr *value;
    int         count;
    Constraint  needs[2];
    bool        rare;     /* taken only if guessed sizes are known to favour it */
    int64_t     min, end; /* of the steady state with it, guessed */
} DecidedSide;

static int64_t floor_ratio(int64_t a, int64_t b)
{
    return a / b - (a % b < 0); /* b > 0 */
}

/* Narrows the guessed steady state of a side to where the constraint holds; false if that is not known. */
static bool narrow_side(Partition *p, DecidedSide *s, const Constraint *c)
{
    int64_t rest = 0;
    if (c->rest && !guess_value(p->guess, c->rest, &rest))
        return false;
    rest += c->constant;
    if (c->step > 0) {
        const int64_t low = -floor_ratio(rest, c->step); /* v >= -rest/step */
        s->min            = low > s->min ? low : s->min;
    } else {
        const int64_t end = floor_ratio(rest, -c->step) + 1; /* v <= rest/-step */
        s->end            = end < s->end ? end : s->end;
    }
    return true;
}

/* Adds the constraint a - b - less >= 0 to a side. */
static bool side_needs(Partition *p, DecidedSide *s, const Affine *a, const Affine *b, int64_t less)
{
    Affine f;
    return affine_difference(a, b, less, &f) && affine_constraint(p, &f, &s->needs[s->count++]);
}

/* Of two constraints that differ by a constant the tighter one is kept. */
static void add_constraint(Partition *p, Constraint c)
{
    int64_t      k;
    Constraints *list = c.step > 0 ? &p->lower : p->guard ? &p->guards : &p->upper;
    p->guard_low |= p->guard && c.step > 0;
    p->decisions++;
    p->upper_decisions += list == &p->upper;
    if (c.rest && c.rest->op == EX_ADD && expr_is_int(c.rest->args[1], &k)) {
        c.constant += k;
        c.rest = c.rest->args[0];
    }
    for (size_t i = 0; i < list->count; i++)
        if (list->at[i].step == c.step && list->at[i].rest == c.rest) {
            if (c.constant < list->at[i].constant)
                list->at[i].constant = c.constant;
            return;
        }
    vec_push(p->scratch, list, c);
}

/* A value that is the same for all lanes and copies is one scalar operation, unless it selects what lanes compute. With
 * unrolled copies, vectors may share values. */
static bool is_cheap(Partition *p, const Expr *e)
{
    const bool scalar = p->branch ? p->vectors < 2 : e->op == EX_MIN || e->op == EX_MAX;
    return scalar && !varying_expr(&p->lanes, e) && !varying_expr(&p->copies, e);
}

/* Takes the best side, the first of several. Gives its value, or `e` if none will do. */
static const Expr *choose(Partition *p, const Expr *e, int count, DecidedSide *sides)
{
    DecidedSide *best = NULL;
    for (int i = 0; i < count; i++) {
        DecidedSide *s     = &sides[i];
        bool         known = p->guess_known;
        s->min             = p->steady_min;
        s->end             = p->steady_end;
        for (int k = 0; k < s->count && known; k++)
            known = narrow_side(p, s, &s->needs[k]);
        if (!known) { /* the side that comes first, if any */
            s->min = p->steady_min;
            s->end = p->steady_end;
        }
        if (known ? 2 * (s->end - s->min) < p->guess_end - p->guess_min : s->rare)
            continue;
        if (!best || s->end - s->min > best->end - best->min)
            best = s;
    }
    if (!best)
        return e;
    p->steady_min = best->min;
    p->steady_end = best->end;
    p->pays |= !is_cheap(p, e);
    p->per_iteration |= !p->unrolled_loops;
    for (int k = 0; k < best->count; k++)
        add_constraint(p, best->needs[k]);
    return best->value;
}

static const Expr *truth(Partition *p, bool v)
{
    return expr_bool(p->lw->exprs, v);
}

/* min, max, < and <=: one order of the operands, or the other. The side that comes first is `true`, or the varying
 * operand of a clamp. */
static const Expr *decide_order(Partition *p, const Expr *e, const Affine *a, const Affine *b)
{
    const bool  strict = e->op == EX_LT, loose = e->op == EX_LE, value = !strict && !loose;
    const int   moving = varying_expr(&p->varying, e->args[0]) ? 0 : 1;
    const bool  first  = !value || (e->op == EX_MIN) == (moving == 0);
    DecidedSide sides[2];
    int         count = 0;
    for (int i = 0; i < 2; i++) {
        const bool  less = (i == 0) == first; /* the side where a is the smaller one */
        DecidedSide s    = { .value = value ? e->args[(e->op == EX_MIN) == less ? 0 : 1] : truth(p, less) };
        if (less ? side_needs(p, &s, b, a, strict) : side_needs(p, &s, a, b, loose))
            sides[count++] = s;
    }
    return choose(p, e, count, sides);
}

/* == and !=: decided where the operands differ, on one side or the other. */
static const Expr *decide_equality(Partition *p, const Expr *e, const Affine *a, const Affine *b)
{
    DecidedSide sides[2];
    int         count = 0;
    for (int i = 0; i < 2; i++) {
        DecidedSide s = { .value = truth(p, e->op == EX_NE), .rare = true };
        if (i ? side_needs(p, &s, b, a, 1) : side_needs(p, &s, a, b, 1))
            sides[count++] = s;
    }
    return choose(p, e, count, sides);
}

/* % and /: decided where the first operand is within 0 .. the second - 1. */
static const Expr *decide_period(Partition *p, const Expr *e, const Affine *a, const Affine *m)
{
    const Affine zero = { .denominator = 1 };
    DecidedSide  s    = { .value = e->op == EX_MOD ? e->args[0] : expr_int(p->lw->exprs, (kn_type)e->type, 0) };
    s.rare            = !m->step && !m->count;
    const bool can    = side_needs(p, &s, a, &zero, 0) && side_needs(p, &s, m, a, 1);
    return choose(p, e, can, &s);
}

static const Expr *decide_sign(Partition *p, const Expr *e, const Affine *a)
{
    const Affine zero = { .denominator = 1 };
    DecidedSide  sides[2];
    int          count = 0;
    sides[0]           = (DecidedSide){ .value = e->args[0] };
    count += side_needs(p, &sides[0], a, &zero, 0);
    sides[count] = (DecidedSide){ .value = expr_unary(p->lw->exprs, EX_NEG, (kn_type)e->type, e->args[0]) };
    count += side_needs(p, &sides[count], &zero, a, 0);
    return choose(p, e, count, sides);
}

/* Bool operators and selects with a decided operand. */
static const Expr *fold(Partition *p, const Expr *e)
{
    int64_t k;
    if (e->op == EX_SELECT)
        return expr_is_int(e->args[0], &k) ? e->args[k ? 1 : 2] : e;
    if (e->op == EX_BIT_NOT)
        return e->type == KN_BOOL && expr_is_int(e->args[0], &k) ? truth(p, !k) : e;
    for (int i = 0; i < 2; i++)
        if (expr_is_int(e->args[i], &k))
            return (k != 0) == (e->op == EX_AND) ? e->args[1 - i] : truth(p, k != 0);
    return e;
}

static const Expr *decide(void *user, const Expr *e)
{
    Partition *p = user;
    Affine     a, b;
    switch ((ExprOp)e->op) {
    case EX_SELECT:
    case EX_AND:
    case EX_OR:
    case EX_BIT_NOT: return fold(p, e);
    case EX_ABS: return affine_of(p, e->args[0], &a) ? decide_sign(p, e, &a) : e;
    case EX_MIN:
    case EX_MAX:
    case EX_LT:
    case EX_LE:
    case EX_EQ:
    case EX_NE: break;
    case EX_MOD:
    case EX_DIV:
        p->pays |= (e->type == KN_I32 || e->type == KN_I64) && varying_expr(&p->lanes, e);
        break; /* of neighbours: simpler once their begin is known */
    default: return e;
    }
    if (!varying_expr(&p->varying, e) || !affine_of(p, e->args[0], &a) || !affine_of(p, e->args[1], &b))
        return e;
    if (e->op == EX_MOD || e->op == EX_DIV)
        return decide_period(p, e, &a, &b);
    return e->op == EX_EQ || e->op == EX_NE ? decide_equality(p, e, &a, &b) : decide_order(p, e, &a, &b);
}

const Expr *partition_expr(Partition *p, const Expr *e)
{
    return varying_expr(&p->varying, e) ? expr_rewrite(p->lw->exprs, e, decide, p) : e;
}

/* ---- Bounds ------------------------------------------------------------------------------------ */

/* The least v with step*v + rest + constant >= 0 for step > 0, ceil(-(rest + constant)/step); the first without it for
 * step < 0, floor((rest + constant)/-step) + 1. */
static const Expr *threshold(Partition *p, const Constraint *c)
{
    ExprPool     *pool = p->lw->exprs;
    const int64_t size = c->step < 0 ? -c->step : c->step;
    const int64_t add  = c->step > 0 ? size - 1 - c->constant : c->constant + size;
    const kn_type type = c->rest ? (kn_type)c->rest->type : add == (int32_t)add ? KN_I32 : KN_I64;
    const Expr   *sum  = expr_int(pool, type, add);
    if (c->rest)
        sum =
            c->step > 0 ? expr_binary(pool, EX_SUB, type, sum, c->rest) : expr_binary(pool, EX_ADD, type, c->rest, sum);
    return size == 1 ? sum : expr_binary(pool, EX_DIV, type, sum, expr_int(pool, type, size));
}

/* Clamped to first..end, compared in its own type. */
static const Expr *clamp(ExprPool *pool, const Expr *e, const Expr *first, const Expr *end)
{
    const kn_type type = (kn_type)e->type;
    if (type != KN_I32) {
        first = expr_unary(pool, EX_CAST, type, first);
        end   = expr_unary(pool, EX_CAST, type, end);
    }
    e = expr_binary(pool, EX_MAX, type, expr_binary(pool, EX_MIN, type, e, end), first);
    return type == KN_I32 ? e : expr_unary(pool, EX_CAST, KN_I32, e);
}

/* The larger or the smaller; `a` may be NULL. */
static const Expr *tighter(ExprPool *pool, bool low, const Expr *a, const Expr *b)
{
    return a && b ? expr_binary(pool, low ? EX_MAX : EX_MIN, (kn_type)a->type, a, b) : a ? a : b;
}

const Expr *partition_bound(Partition *p, const Constraints *list, const Expr *first, const Expr *end)
{
    ExprPool   *pool   = p->lw->exprs;
    const bool  low    = list->at[0].step > 0;
    const Expr *sum[2] = { NULL, NULL }; /* of those in i32, in i64 */
    for (size_t i = 0; i < list->count; i++) {
        const Expr *e    = threshold(p, &list->at[i]);
        const int   wide = e->type != KN_I32;
        sum[wide]        = tighter(pool, low, sum[wide], e);
    }
    for (int i = 0; i < 2; i++)
        sum[i] = sum[i] ? clamp(pool, sum[i], first, end) : NULL;
    return tighter(pool, low, sum[0], sum[1]);
}
