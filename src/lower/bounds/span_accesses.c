/* SPDX-License-Identifier: MIT */
/* The accesses that evaluating an expression can make.
 *
 * Takes   an expression, in an environment of spans.
 * Gives   each call in it with the spans of its indices, under the conditions of the branches around it. A function
 *         that is total (ir/func.h) is asked for boxes of constant extent where it can be.
 * Holds   a call is told of once for each set of branches that it stands in. */
#include "lower/bounds/span_parts.h"

/* Is it an integer index by operators whose spans account for wrapping, made of variables and invariants? */
static bool is_exact(SpanEnv *sp, const Expr *e)
{
    if (e->type != KN_I32 || reads_memory(sp, e))
        return false;
    switch ((ExprOp)e->op) {
    case EX_INT:
    case EX_VAR:
    case EX_PARAM: return true;
    case EX_ADD:
    case EX_SUB:
    case EX_NEG:
    case EX_MUL:
    case EX_DIV:
    case EX_MOD:
    case EX_MIN:
    case EX_MAX:
        for (uint32_t i = 0; i < e->count; i++)
            if (!is_exact(sp, e->args[i]))
                return false;
        return e->op != EX_MUL || is_loop_invariant(sp, e->args[0]) || is_loop_invariant(sp, e->args[1]);
    default: return false;
    }
}

/* The span outside all branches. Branches entered on the way overwrite the levels of those around, so these are kept
 * and put back. */
static SymSpan span_anywhere(SpanEnv *sp, const Expr *e)
{
    const int depth = sp->depth;
    SpanLevel kept[SPAN_BRANCHES];
    memcpy(kept, &sp->level[1], sizeof kept);
    sp->depth       = 0;
    const SymSpan s = span_of(sp, e);
    sp->depth       = depth;
    memcpy(&sp->level[1], kept, sizeof kept);
    return s;
}

typedef struct Mention {
    const SpanEnv *sp;
    bool           found;
} Mention;

static void mention_node(const Expr *e, void *user)
{
    Mention *m = user;
    for (int level = 1; level <= m->sp->depth && e->op == EX_VAR && !m->found; level++)
        for (size_t i = 0; i < m->sp->level[level].guarded.count; i++)
            m->found |= m->sp->level[level].guarded.at[i] == e;
}

/* Does the index depend on a variable that `satisfiable` is about? Else it is the same whether the branch is entered or
 * not. This is asked of the expression, not of its span, so that every loop gives the same answer. */
static bool is_guarded(SpanEnv *sp, const Expr *call)
{
    Mention m = { .sp = sp };
    for (uint32_t d = 0; d < call->count && sp->level[sp->depth].satisfiable; d++)
        expr_visit(sp->lw->exprs, call->args[d], mention_node, &m);
    return m.found;
}

/* An upper bound of its extent, or a very large number. */
static int64_t most_extent(SpanEnv *sp, SymSpan s)
{
    int64_t lo = 0, hi = INT64_MAX;
    if (s.min && s.max)
        simplifier_bounds(sp->lw->simplifier, x_sub(sp->lw, s.max, s.min), &lo, &hi);
    return hi;
}

/* Conditions do not narrow the index of a function that is total where its extent would have a worse bound. Of two ends
 * that are always the same, one counts; constants count where they are as near to each other as the ends may be apart.
 */
static SymSpan span_of_total(SpanEnv *sp, SymSpan base, SymSpan narrowed)
{
    enum { MOST_WHOLE = 4096 };
    const int64_t whole = most_extent(sp, base), narrow = most_extent(sp, narrowed);
    const int64_t most = whole < narrow ? whole : narrow;
    SymSpan       s    = whole < narrow ? base : narrowed;
    int64_t       first, last, none;
    if (!s.min || !s.max)
        return s;
    simplifier_bounds(sp->lw->simplifier, s.min, &first, &none);
    simplifier_bounds(sp->lw->simplifier, s.max, &none, &last);
    if (most == 0)
        s.min = s.max = s.min->depth < s.max->depth ? s.min : s.max;
    else if (most <= MOST_WHOLE && last - first <= most)
        s = (SymSpan){ x_int(sp->lw, first), x_int(sp->lw, last) };
    return s;
}

/* Of an input, derived bounds count too: boxes inside loops do not depend on it. */
static void tell_access(SpanEnv *sp, const Expr *call)
{
    Lower           *lw        = sp->lw;
    const SpanLevel *now       = &sp->level[sp->depth];
    const Expr      *reachable = x_and(lw, now->reachable, sp->checking ? now->satisfiable : NULL);
    const bool       input     = sp->checking && call->u.call.func->kind == FUNC_INPUT,
               always          = !now->guard && reachable == sp->level[0].reachable;
    SymSpan  index[KN_MAX_RANK];
    unsigned must_clamp = 0, nonmonotonic = 0;
    for (int d = 0; d < (int)call->count; d++) {
        const SymSpan base = sp->depth ? span_anywhere(sp, call->args[d]) : span_of(sp, call->args[d]);
        sp->deriving       = input;
        index[d]           = span_of(sp, call->args[d]);
        if (call->u.call.func->total)
            index[d] = span_of_total(sp, base, index[d]);
        sp->deriving     = false;
        const bool moved = base.min != index[d].min || base.max != index[d].max, exact = is_exact(sp, call->args[d]);
        must_clamp |= (unsigned)(!always || moved || !exact) << d;
        nonmonotonic |= (unsigned)!exact << d;
    }
    const Expr *satisfiable = is_guarded(sp, call) ? now->satisfiable : NULL;
    const Expr *guard       = x_and(lw, now->guard, satisfiable);
    if (satisfiable)
        must_clamp = ~0u;
    if (input && !always)
        guard = x_and(lw, x_and(lw, guard, reachable), now->derived);
    sp->access(sp->user, call, index, reachable, guard, must_clamp, nonmonotonic);
}

static void visit_arm(SpanEnv *sp, const Expr *condition, bool truth, const Expr *arm)
{
    if (!reads_memory(sp, arm))
        return;
    const bool entered = span_env_enter(sp, condition, truth);
    visit_accesses(sp, arm);
    if (entered)
        span_env_leave(sp);
}

void visit_accesses(SpanEnv *sp, const Expr *e)
{
    if (!reads_memory(sp, e) || map_get(&sp->level[sp->depth].visited, e))
        return;
    map_set(&sp->level[sp->depth].visited, e, e);
    context_spend(sp->lw->cx, 1);
    sp->work++;
    if (e->op == EX_SELECT) {
        visit_accesses(sp, e->args[0]);
        visit_arm(sp, e->args[0], true, e->args[1]);
        visit_arm(sp, e->args[0], false, e->args[2]);
        return;
    }
    if (e->op == EX_AND || e->op == EX_OR) {
        visit_accesses(sp, e->args[0]);
        visit_arm(sp, e->args[0], e->op == EX_AND, e->args[1]);
        return;
    }
    for (uint32_t i = 0; i < e->count; i++)
        visit_accesses(sp, e->args[i]);
    if (e->op == EX_CALL)
        tell_access(sp, e);
}
