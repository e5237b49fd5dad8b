/* SPDX-License-Identifier: MIT */
/* What a condition says of the spans inside its branch.
 *
 * Takes   a condition that holds, or does not, where a branch is entered.
 * Gives   tighter spans of the variables, sums and other nodes that it compares, until the branch is left; and the
 *         conditions under which the branch is entered at all. */
#include "lower/bounds/span_parts.h"

/* The branch around is entered only if this holds. */
static void note_reachable(SpanEnv *sp, const Expr *condition)
{
    const Expr **holds = sp->deriving ? &sp->level[sp->depth].derived : &sp->level[sp->depth].reachable;
    if (sp->checking)
        *holds = x_and(sp->lw, *holds, condition);
}

static void narrow(SpanEnv *sp, const Expr *node, const Expr *min, const Expr *max);
static void assume_order(SpanEnv *sp, const Expr *a, const Expr *b, int64_t shift);

/* What a bound of a node says of its operands: it is passed down through conversions that change nothing, sums,
 * quotients by a constant, magnitudes, and min and max of the right side. That is for inputs alone. Boxes of functions
 * follow from plain bounds of variables, which are cheap to keep at every loop. */
static void narrow_parts(SpanEnv *sp, const Expr *node, const Expr *min, const Expr *max)
{
    Lower      *lw = sp->lw;
    const Expr *a  = node->count ? node->args[0] : NULL;
    int64_t     d;
    switch ((ExprOp)node->op) {
    case EX_CAST:
        if (type_is_int((kn_type)a->type) && type_is_int((kn_type)node->type) &&
            range_within((kn_type)node->type, value_range(lw, a)) &&
            range_within((kn_type)a->type, value_range(lw, min ? min : max)))
            narrow(sp, a, min ? x_cast(lw, (kn_type)a->type, min) : NULL,
                   max ? x_cast(lw, (kn_type)a->type, max) : NULL);
        break;
    case EX_DIV:
        if (node->type == KN_I32 && expr_is_int(node->args[1], &d) && d > 0)
            narrow(sp, a, min ? scaled(lw, min, d) : NULL,
                   max ? x_add(lw, scaled(lw, max, d), x_int(lw, d - 1)) : NULL);
        break;
    case EX_ADD:
    case EX_SUB:
        if (node->type == KN_I32)
            assume_order(sp, min ? min : node, min ? node : max, 0);
        break;
    case EX_ABS:
        if (node->type == KN_I32 && max) {
            narrow(sp, a, x_neg(lw, max), NULL);
            narrow(sp, a, NULL, max);
        }
        break;
    case EX_MIN:
    case EX_MAX:
        for (int i = 0; i < 2 && (node->op == EX_MIN ? min : max); i++)
            narrow(sp, node->args[i], min, max);
        break;
    default: break;
    }
}

/* Uses that min <= node, or node <= max; the other is NULL. Both ends are moved to the side where the condition holds,
 * so a span is never empty. Where the condition holds nowhere the span has one point too many, and `reachable` says
 * that it is not read. */
static void narrow(SpanEnv *sp, const Expr *node, const Expr *min, const Expr *max)
{
    if (!min && !max)
        return;
    Lower        *lw  = sp->lw;
    const SymSpan was = span_of(sp, node);
    const ExprOp  op  = min ? EX_MAX : EX_MIN;
    const Expr   *end = min ? min : max, *near = min ? was.min : was.max, *beyond = min ? was.max : was.min;
    const Expr   *now_near = near ? x_op(lw, op, near, end) : end,
               *now_beyond = beyond ? x_op(lw, op, beyond, end) : NULL;
    const SymSpan now      = min ? (SymSpan){ now_near, now_beyond } : (SymSpan){ now_beyond, now_near };
    if (now.min != was.min || now.max != was.max) {
        span_env_know(sp, node, now);
        if (beyond && (sp->deriving || !reads_memory(sp, node)) && !type_is_float((kn_type)node->type))
            note_reachable(sp, min ? x_le(lw, end, beyond) : x_le(lw, beyond, end));

        span_env_forget(&sp->level[sp->depth], lw->arena);
    }
    if (sp->deriving)
        narrow_parts(sp, node, min, max);
}

/* Uses that form >= 0. A single varying atom is bounded itself; of several the sum is. */
static void assume_form(SpanEnv *sp, const Linear *form)
{
    Lower *lw = sp->lw;
    Linear varying, invariant;
    bool   whole = true;
    split_form(sp, form, &varying, &invariant);
    const Expr *base = span_sum(sp, &invariant, atom_spans(sp, &invariant, &whole)).min;
    if (varying.count == 1) {
        const int64_t c     = varying.coefficients[0];
        const Expr   *limit = x_op(lw, EX_DIV, base, x_int(lw, c < 0 ? -c : c));
        if (c > 0)
            narrow(sp, varying.atoms[0], x_neg(lw, limit), NULL);
        else
            narrow(sp, varying.atoms[0], NULL, limit);
    } else if (varying.count > 1 && !sp->deriving) {
        const SymSpan s     = span_known_sum(sp, &varying, span_sum(sp, &varying, atom_spans(sp, &varying, &whole)));
        const SpanSum sum   = { varying, x_neg(lw, base), true };
        SpanLevel    *level = &sp->level[sp->depth];
        vec_push(lw->arena, &level->sums, sum);
        if (s.max)
            note_reachable(sp, x_le(lw, sum.bound, s.max));
        span_env_forget(level, lw->arena);
    }
}

/* The end plus a small number; the end itself where it is a float, or the sum may wrap. */
static const Expr *moved_by(Lower *lw, const Expr *end, int64_t shift)
{
    const kn_type type = end ? (kn_type)end->type : KN_NONE;
    if (!end || !shift || !type_is_int(type))
        return end;
    const Range r = value_range(lw, end);
    return range_within(type, range_int(r.lo + shift, r.hi + shift)) ? x_add(lw, end, expr_int(lw->exprs, type, shift))
                                                                     : end;
}

/* Uses that a + shift <= b. */
static void assume_order(SpanEnv *sp, const Expr *a, const Expr *b, int64_t shift)
{
    Lower *lw = sp->lw;
    Linear form;
    if (a->type == KN_I32) {
        const Expr *difference = expr_binary(lw->exprs, EX_SUB, KN_I32, b, a);
        if (!expr_linear(lw->arena, difference, &form))
            return;
        form.constant -= shift;
        assume_form(sp, &form);
    }
    if (a->type != KN_I32 && a->type != KN_BOOL) {
        narrow(sp, a, NULL, moved_by(lw, span_of(sp, b).max, -shift));
        narrow(sp, b, moved_by(lw, span_of(sp, a).min, shift), NULL);
    }
}

/* The ranges have a point where the branch is entered only if this condition on a variable holds. */
static void note_satisfiable(SpanEnv *sp, const Expr *variable, const Expr *condition)
{
    vec_push(sp->lw->arena, &sp->level[sp->depth].guarded, variable);
    const Expr **holds = sp->deriving ? &sp->level[sp->depth].derived : &sp->level[sp->depth].satisfiable;
    *holds             = x_and(sp->lw, *holds, condition);
}

/* Uses that node != limit, an invariant. An end of the span that equals it moves inward by one. A span of that one
 * number stays as it is, and `satisfiable` says that the branch is not entered. (A part of a range has another number
 * only if the whole range has: boxes inside loops lie in those outside.) */
static void exclude(SpanEnv *sp, const Expr *node, const Expr *limit)
{
    Lower        *lw  = sp->lw;
    const SymSpan was = span_of(sp, node);
    if (!was.min || !was.max)
        return;
    const Expr *one = expr_int(lw->exprs, (kn_type)node->type, 1), *first = x_op(lw, EX_EQ, was.min, limit),
               *last  = x_op(lw, EX_EQ, was.max, limit);
    const SymSpan now = { x_select(lw, first, x_min(lw, x_add(lw, was.min, one), was.max), was.min),
                          x_select(lw, last, x_max(lw, x_sub(lw, was.max, one), was.min), was.max) };
    note_satisfiable(sp, node, x_op(lw, EX_OR, x_op(lw, EX_NE, was.min, limit), x_op(lw, EX_NE, was.max, limit)));
    if (now.min == was.min && now.max == was.max)
        return;
    span_env_know(sp, node, now);
    span_env_forget(&sp->level[sp->depth], lw->arena);
}

/* Is a - b a varying variable, or its negative, less an invariant? Then a == b where the variable is *limit. */
static const Expr *variable_against(SpanEnv *sp, const Expr *a, const Expr *b, const Expr **limit)
{
    Lower *lw = sp->lw;
    Linear form, varying, invariant;
    bool   whole = true;
    if (a->type != KN_I32 || reads_memory(sp, a) || reads_memory(sp, b) ||
        !expr_linear(lw->arena, expr_binary(lw->exprs, EX_SUB, KN_I32, a, b), &form))
        return NULL;
    split_form(sp, &form, &varying, &invariant);
    if (varying.count != 1 || varying.atoms[0]->op != EX_VAR ||
        (varying.coefficients[0] != 1 && varying.coefficients[0] != -1))
        return NULL;
    const Expr *base = span_sum(sp, &invariant, atom_spans(sp, &invariant, &whole)).min;
    *limit           = varying.coefficients[0] > 0 ? x_neg(lw, base) : base;
    return varying.atoms[0];
}

/* Uses that a == b. Where the variable never has that value, the branch is not entered. */
static void assume_same(SpanEnv *sp, const Expr *a, const Expr *b)
{
    Lower        *lw = sp->lw;
    const Expr   *limit, *node = variable_against(sp, a, b, &limit);
    const SymSpan was = node ? span_of(sp, node) : (SymSpan){ NULL, NULL };
    if (was.min && was.max)
        note_satisfiable(sp, node, x_and(lw, x_le(lw, was.min, limit), x_le(lw, limit, was.max)));
    assume_order(sp, a, b, 0);
    assume_order(sp, b, a, 0);
}

/* Uses that a != b. A variable is kept from that value. Else it does not hold where both are the same number. */
static void assume_other(SpanEnv *sp, const Expr *a, const Expr *b)
{
    Lower      *lw = sp->lw;
    const Expr *limit, *node = variable_against(sp, a, b, &limit);
    if (node) {
        exclude(sp, node, limit);
        return;
    }
    if (a->type != KN_I32 || reads_memory(sp, a) || reads_memory(sp, b))
        return;
    const SymSpan p = span_of(sp, a), q = span_of(sp, b);
    if (p.min && p.max && q.min && q.max)
        note_reachable(sp, x_op(lw, EX_OR, x_op(lw, EX_NE, p.min, q.max), x_op(lw, EX_NE, p.max, q.min)));
}

static void assume(SpanEnv *sp, const Expr *c, bool truth)
{
    switch ((ExprOp)c->op) {
    case EX_AND:
    case EX_OR:
    case EX_BIT_AND:
    case EX_BIT_OR:
        if ((c->op == EX_AND || c->op == EX_BIT_AND) == truth) {
            assume(sp, c->args[0], truth);
            assume(sp, c->args[1], truth);
        }
        break;
    case EX_BIT_NOT: assume(sp, c->args[0], !truth); break;
    case EX_LT:
        if (truth)
            assume_order(sp, c->args[0], c->args[1], 1);
        else if (!type_is_float((kn_type)c->args[0]->type))
            assume_order(sp, c->args[1], c->args[0], 0);
        break;
    case EX_LE:
        if (truth)
            assume_order(sp, c->args[0], c->args[1], 0);
        else if (!type_is_float((kn_type)c->args[0]->type))
            assume_order(sp, c->args[1], c->args[0], 1);
        break;
    case EX_EQ:
    case EX_NE:
        if ((c->op == EX_EQ) == truth) {
            assume_same(sp, c->args[0], c->args[1]);
        } else {
            assume_other(sp, c->args[0], c->args[1]);
        }
        break;
    case EX_CAST: /* bool(n) is n != 0 */
        if (c->args[0]->type == KN_I32)
            assume(sp, expr_binary(sp->lw->exprs, EX_NE, KN_BOOL, c->args[0], x_int(sp->lw, 0)), truth);
        break;
    default: break;
    }
}

bool span_env_enter(SpanEnv *sp, const Expr *condition, bool truth)
{
    if (sp->depth == SPAN_BRANCHES || sp->work > SPAN_WORK)
        return false;
    const Expr *reachable = sp->level[sp->depth].reachable, *guard = sp->level[sp->depth].guard,
               *satisfiable = sp->level[sp->depth].satisfiable, *derived = sp->level[sp->depth].derived;
    sp->depth++;
    SpanLevel *level = &sp->level[sp->depth];
    *level = (SpanLevel){ .reachable = reachable, .guard = guard, .satisfiable = satisfiable, .derived = derived };
    span_env_forget(level, sp->lw->arena);
    map_init(&level->visited, sp->lw->arena);
    if (!is_loop_invariant(sp, condition)) {
        const bool deriving = sp->deriving;
        for (int i = 0; i < 1 + sp->checking; i++) {
            sp->deriving = i;
            assume(sp, condition, truth);
        }
        sp->deriving = deriving;
        return true;
    }
    if (!truth)
        condition = simplify(sp->lw->simplifier, expr_unary(sp->lw->exprs, EX_BIT_NOT, KN_BOOL, condition));
    level->guard = x_and(sp->lw, guard, condition);
    if (sp->checking)
        level->reachable = x_and(sp->lw, reachable, condition);
    return true;
}

void span_env_leave(SpanEnv *sp)
{
    sp->depth--;
}
