/* Claims: which nodes of a loop's body have one known side in the steady state, and for which iterations that is.
 *
 * A node that compares two integers has sides, each taken where motions are not negative:
 *     min(a, b)       a where b - a >= 0            b where a - b >= 0             max likewise
 *     a < b           true where b - a - 1 >= 0     false where a - b >= 0         <= likewise
 *     a == b          false where a - b - 1 >= 0    false where b - a - 1 >= 0     != likewise
 *     a % m           a where a >= 0 and m - 1 - a >= 0;   a / m is 0 there
 *     |a|             a where a >= 0                -a where -a >= 0
 * A motion that is linear in the loop's variable v is not negative for a half-line of v, an iteration being on it only
 * if all its lanes and inner iterations are. The side taken is the one with most iterations for typical sizes, and none
 * is if less than half of the loop would be left steady: so the ends of a clamp, the guard of a tail and the inside of
 * an image become steady, and the modulo of a folded buffer does not. Operands come first: in min(max(x, a), b) the
 * outer node sees x. */
#include "lower/passes/partition.h"

/* One side of a node: what it is, and the motions that are not negative there. */
typedef struct Side {
    const Expr *value;
    int         count;
    Constraint  needs[2];
    bool        rare;     /* not taken unless sizes are known to favour it */
    int64_t     min, end; /* of the steady state with it, typically */
} Side;

static int64_t floor_ratio(int64_t a, int64_t b)
{
    return a / b - (a % b < 0); /* b > 0 */
}

/* Narrows the typical steady state of a side to where the constraint holds; false if that is not known. */
static bool narrow(Partition *p, Side *s, const Constraint *c)
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

/* Adds to a side that a - b - less >= 0. */
static bool need(Partition *p, Side *s, const Motion *a, const Motion *b, int64_t less)
{
    Motion f;
    return motion_difference(a, b, less, &f) && motion_constraint(p, &f, &s->needs[s->count++]);
}

/* Of two constraints with the same variable part one is enough. */
static void add_constraint(Partition *p, Constraint c)
{
    int64_t      k;
    Constraints *list = c.step > 0 ? &p->lows : p->guard ? &p->guards : &p->highs;
    p->guard_low |= p->guard && c.step > 0;
    p->claims++;
    p->high_claims += list == &p->highs;
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

/* What has one value for all lanes and all copies is one operation of a scalar, unless it chooses what lanes compute;
 * of copies the vectors may have values in common. */
static bool is_cheap(Partition *p, const Expr *e)
{
    const bool scalar = p->branch ? p->vectors < 2 : e->op == EX_MIN || e->op == EX_MAX;
    return scalar && !varying_expr(&p->lanes, e) && !varying_expr(&p->copies, e);
}

/* Takes a side: the first of the best. Gives its value, or `e` if none will do. */
static const Expr *choose(Partition *p, const Expr *e, int count, Side *sides)
{
    Side *best = NULL;
    for (int i = 0; i < count; i++) {
        Side *s     = &sides[i];
        bool  known = p->typical_known;
        s->min      = p->steady_min;
        s->end      = p->steady_end;
        for (int k = 0; k < s->count && known; k++)
            known = narrow(p, s, &s->needs[k]);
        if (!known) { /* the side named first, if any */
            s->min = p->steady_min;
            s->end = p->steady_end;
        }
        if (known ? 2 * (s->end - s->min) < p->typical_end - p->typical_min : s->rare)
            continue;
        if (!best || s->end - s->min > best->end - best->min)
            best = s;
    }
    if (!best)
        return e;
    p->steady_min = best->min;
    p->steady_end = best->end;
    p->worth |= !is_cheap(p, e);
    p->often |= !p->unrolled;
    for (int k = 0; k < best->count; k++)
        add_constraint(p, best->needs[k]);
    return best->value;
}

static const Expr *truth(Partition *p, bool v)
{
    return expr_bool(p->lw->exprs, v);
}

/* min, max, < and <=: one order of the operands, or the other. Named first is true, and of a clamp the operand that
 * moves. */
static const Expr *claim_order(Partition *p, const Expr *e, const Motion *a, const Motion *b)
{
    const bool strict = e->op == EX_LT, loose = e->op == EX_LE, value = !strict && !loose;
    const int  moving = varying_expr(&p->varying, e->args[0]) ? 0 : 1;
    const bool first  = !value || (e->op == EX_MIN) == (moving == 0);
    Side       sides[2];
    int        count = 0;
    for (int i = 0; i < 2; i++) {
        const bool less = (i == 0) == first; /* the side where a is the smaller one */
        Side       s    = { .value = value ? e->args[(e->op == EX_MIN) == less ? 0 : 1] : truth(p, less) };
        if (less ? need(p, &s, b, a, strict) : need(p, &s, a, b, loose))
            sides[count++] = s;
    }
    return choose(p, e, count, sides);
}

/* == and !=: apart on one side, or on the other. */
static const Expr *claim_apart(Partition *p, const Expr *e, const Motion *a, const Motion *b)
{
    Side sides[2];
    int  count = 0;
    for (int i = 0; i < 2; i++) {
        Side s = { .value = truth(p, e->op == EX_NE), .rare = true };
        if (i ? need(p, &s, b, a, 1) : need(p, &s, a, b, 1))
            sides[count++] = s;
    }
    return choose(p, e, count, sides);
}

/* % and /, where the first operand is within 0 .. the second - 1. */
static const Expr *claim_period(Partition *p, const Expr *e, const Motion *a, const Motion *m)
{
    const Motion zero = { .denominator = 1 };
    Side         s    = { .value = e->op == EX_MOD ? e->args[0] : expr_int(p->lw->exprs, (kn_type)e->type, 0) };
    s.rare            = !m->step && !m->count;
    const bool can    = need(p, &s, a, &zero, 0) && need(p, &s, m, a, 1);
    return choose(p, e, can, &s);
}

static const Expr *claim_sign(Partition *p, const Expr *e, const Motion *a)
{
    const Motion zero = { .denominator = 1 };
    Side         sides[2];
    int          count = 0;
    sides[0]           = (Side){ .value = e->args[0] };
    count += need(p, &sides[0], a, &zero, 0);
    sides[count] = (Side){ .value = expr_unary(p->lw->exprs, EX_NEG, (kn_type)e->type, e->args[0]) };
    count += need(p, &sides[count], &zero, a, 0);
    return choose(p, e, count, sides);
}

/* What bool operators and selects are once an operand is decided. */
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

static const Expr *claim(void *user, const Expr *e)
{
    Partition *p = user;
    Motion     a, b;
    switch ((ExprOp)e->op) {
    case EX_SELECT:
    case EX_AND:
    case EX_OR:
    case EX_BIT_NOT: return fold(p, e);
    case EX_ABS: return motion_of(p, e->args[0], &a) ? claim_sign(p, e, &a) : e;
    case EX_MIN:
    case EX_MAX:
    case EX_LT:
    case EX_LE:
    case EX_EQ:
    case EX_NE: break;
    case EX_MOD:
    case EX_DIV:
        p->worth |= (e->type == KN_I32 || e->type == KN_I64) && varying_expr(&p->lanes, e);
        break; /* of neighbours: easier where it is known where they begin */
    default: return e;
    }
    if (!varying_expr(&p->varying, e) || !motion_of(p, e->args[0], &a) || !motion_of(p, e->args[1], &b))
        return e;
    if (e->op == EX_MOD || e->op == EX_DIV)
        return claim_period(p, e, &a, &b);
    return e->op == EX_EQ || e->op == EX_NE ? claim_apart(p, e, &a, &b) : claim_order(p, e, &a, &b);
}

const Expr *partition_expr(Partition *p, const Expr *e)
{
    return varying_expr(&p->varying, e) ? expr_rewrite(p->lw->exprs, e, claim, p) : e;
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

/* Within first..end, compared in the type it has. */
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

/* The larger or the smaller, where there are two. */
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
