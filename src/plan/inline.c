/* SPDX-License-Identifier: MIT */
/* Inlining: functions that are computed where they are used, never stored.
 *
 * Takes   drafts in which every call is as it was written.
 * Gives   the same without the functions that the schedule inlines, nor those it is silent about that are best inlined:
 *             - read at one place, where each of its points is asked for once;
 *             - cheap (MOST_POINTWISE operations) and read only at the reader's own point;
 *             - hardly more than a read (MOST_TRIVIAL).
 *         Reductions are inlined only if the schedule says so, and expand.c can write them as one expression.
 * Holds   nothing grows exponentially by default: a function read at several points is inlined only if it is cheap with
 *         all that is inlined into it. Where the schedule asks for growth, equal points are one node, because index
 *         arithmetic is brought into one form; the rest is the quota's. */
#include "plan/planner.h"

enum { MOST_POINTWISE = 8, MOST_TRIVIAL = 2, MOST_SINGLE = 400 };

/* ---- How a function is read ------------------------------------------------------------- */

typedef struct Reads {
    int  places;    /* distinct calls */
    bool scattered; /* some call is not at the reader's point */
    bool repeated;  /* some call asks for a point more than once */
    bool by_extern;
} Reads;

static bool is_read(const Reads *r)
{
    return r->places || r->by_extern;
}

typedef struct ReadWalk {
    Planner      *pl;
    Reads        *reads; /* by draft */
    const Func   *reader;
    const Update *update;
    Map           seen;
    Arena         scratch;
} ReadWalk;

/* The number of a variable of the reading definition: dimension, or FIRST_RVAR + i; -1 if it is none. */
static int variable_number(const ReadWalk *w, const Expr *e)
{
    for (int d = 0; d < w->reader->rank; d++)
        if (e->u.name == w->reader->args[d] && (!w->update || w->update->is_free[d]))
            return d;
    for (int i = 0; w->update && i < w->update->rvar_count; i++)
        if (e->u.name == w->update->rvars[i].name)
            return FIRST_RVAR + i;
    return -1;
}

static uint32_t all_variables(const ReadWalk *w)
{
    uint32_t all = 0;
    for (int d = 0; d < w->reader->rank; d++)
        if (!w->update || w->update->is_free[d])
            all |= 1u << d;
    for (int i = 0; w->update && i < w->update->rvar_count; i++)
        all |= 1u << (FIRST_RVAR + i);
    return all;
}

static void note_call(ReadWalk *w, const Expr *e)
{
    Reads   *r         = &w->reads[e->u.call.func->id];
    uint32_t used      = 0;
    bool     pointwise = true, linear = true;
    for (uint32_t i = 0; i < e->count; i++) {
        Linear     form;
        const bool known = expr_linear(&w->scratch, e->args[i], &form);
        if (known && form.count == 0)
            continue;
        const int v = known && form.count == 1 && form.atoms[0]->op == EX_VAR ? variable_number(w, form.atoms[0]) : -1;
        linear &= v >= 0;
        pointwise &= v >= 0 && e->args[i]->op == EX_VAR && !(used & 1u << v);
        used |= v >= 0 ? 1u << v : 0;
    }
    r->places++;
    r->scattered |= !pointwise;
    r->repeated |= !linear || used != all_variables(w);
}

static void walk_reads(const Expr *e, void *user)
{
    ReadWalk *w = user;
    if (map_get(&w->seen, e))
        return;
    map_set(&w->seen, e, w);
    context_spend(w->pl->cx, 1);
    if (e->op == EX_CALL && e->u.call.func != w->reader)
        note_call(w, e);
    for (uint32_t i = 0; i < e->count; i++)
        walk_reads(e->args[i], user);
}

/* Readers first: what is read only by functions that no output needs is not read. */
static Reads *find_reads(Planner *pl)
{
    Reads *reads = ARENA_ARRAY(pl->arena, Reads, pl->drafts.count);
    for (size_t i = pl->drafts.count; i-- > 0;) {
        const Func *f = pl->drafts.at[i]->func;
        if (!is_read(&reads[i]) && !pl->drafts.at[i]->plan->is_output)
            continue;
        for (int k = -1; k < f->update_count; k++) {
            ReadWalk w = { .pl = pl, .reads = reads, .reader = f, .update = k < 0 ? NULL : &f->updates[k] };
            scratch_begin(&w.scratch, pl->cx);
            map_init(&w.seen, &w.scratch);
            def_roots(f, k, false, walk_reads, &w);
            scratch_end(&w.scratch);
        }
        for (int k = 0; k < f->stage_arg_count; k++)
            if (f->stage_args[k].func)
                reads[f->stage_args[k].func->id].by_extern = true;
    }
    return reads;
}

/* ---- What a function costs -------------------------------------------------------------- */

static int op_cost(const Expr *e)
{
    switch ((ExprOp)e->op) {
    case EX_INT:
    case EX_FLOAT:
    case EX_VAR:
    case EX_PARAM: return 0;
    case EX_DIV:
    case EX_MOD:
    case EX_SQRT:
    case EX_RSQRT: return 4;
    case EX_EXP:
    case EX_LOG:
    case EX_POW:
    case EX_SIN:
    case EX_COS:
    case EX_TAN:
    case EX_ATAN2:
    case EX_TANH:
    case EX_ERF:
    case EX_EXTERN: return 16;
    default: return 1;
    }
}

static void add_cost(const Expr *e, void *user)
{
    *(int *)user += op_cost(e);
}

/* Operations of the pure definition, each distinct one of a component once. */
static int func_cost(Planner *pl, const Func *f)
{
    int cost = 0;
    for (int i = 0; i < f->component_count; i++)
        expr_visit(&pl->plan->exprs, f->values[i], add_cost, &cost);
    return cost;
}

static bool inlined_by_default(Planner *pl, const Func *f, const Reads *r)
{
    const int cost = func_cost(pl, f);
    if (r->places == 1 && !r->repeated)
        return cost <= MOST_SINGLE;
    return cost <= MOST_TRIVIAL || (!r->scattered && cost <= MOST_POINTWISE);
}

/* ---- Substitution ----------------------------------------------------------------------- */

static bool is_sum(const Expr *e)
{
    return e->type == KN_I32 && (e->op == EX_ADD || e->op == EX_SUB || e->op == EX_NEG || e->op == EX_MUL);
}

/* An i32 sum in its one form. i32 arithmetic wraps, so this is exact. */
static const Expr *tidy_sum(Planner *pl, Arena *scratch, const Expr *e)
{
    Linear form;
    return is_sum(e) && expr_linear(scratch, e, &form) ? linear_sum(&pl->plan->exprs, &form) : e;
}

typedef struct Inlining {
    Planner *pl;
    Arena    scratch;
} Inlining;

/* A node whose operands are whole sums, with these in their one form. */
static const Expr *tidy(void *user, const Expr *e)
{
    Inlining *in  = user;
    bool      any = false;
    for (uint32_t i = 0; i < e->count; i++)
        any |= is_sum(e->args[i]);
    if (!any || is_sum(e))
        return e;
    const Expr **args = ARENA_ARRAY(&in->scratch, const Expr *, e->count);
    for (uint32_t i = 0; i < e->count; i++)
        args[i] = tidy_sum(in->pl, &in->scratch, e->args[i]);
    return expr_rebuild(&in->pl->plan->exprs, e, args);
}

static const Expr *inline_call(void *user, const Expr *e)
{
    Inlining *in = user;
    if (e->op != EX_CALL || !draft_of(in->pl, e->u.call.func)->inlined)
        return e;
    ExprPool    *pool = &in->pl->plan->exprs;
    const Func  *g    = e->u.call.func;
    const Expr **args = ARENA_ARRAY(&in->scratch, const Expr *, e->count);
    for (uint32_t i = 0; i < e->count; i++)
        args[i] = tidy_sum(in->pl, &in->scratch, e->args[i]);
    const Expr *body = expr_substitute(pool, g->values[e->u.call.index], g->rank, g->args, args);
    return expr_rewrite(pool, body, tidy, in);
}

/* Replaces the calls of inlined functions in all definitions of f. */
static void inline_calls(Planner *pl, Func *f)
{
    Inlining in = { .pl = pl };
    scratch_begin(&in.scratch, pl->cx);
    rewrite_function(&pl->plan->exprs, f, inline_call, &in);
    scratch_end(&in.scratch);
}

/* ---- Choice ----------------------------------------------------------------------------- */

/* Why f cannot be inlined, or NULL. */
static const char *obstacle(Planner *pl, const FuncDraft *f, const Reads *r)
{
    static const char *const reasons[] = { [INLINE_LEGAL]    = NULL,
                                           [INLINE_OUTPUT]   = "is an output, stored where the caller says",
                                           [INLINE_EXTERN]   = "is an extern stage, which has no expression",
                                           [INLINE_INPUT]    = "is an input",
                                           [INLINE_UPDATES]  = "has updates, which need its storage",
                                           [INLINE_AS_WHOLE] = "is read by an extern stage, as a whole" };
    const bool               expands   = f->func->kind == FUNC_DEFINED && func_expands(&pl->plan->exprs, f->func);
    return reasons[inline_check(f->func, f->plan->is_output, r->by_extern, expands)];
}

static bool choose(Planner *pl, FuncDraft *f, const Reads *r)
{
    const char      *why   = obstacle(pl, f, r);
    const Directive *asked = directive_is(f->computed_by, DIR_INLINE) ? f->computed_by : NULL;
    if (asked && why)
        return refuse(pl, ERROR_NOT_INLINED, asked->loc,
                      f->plan->is_output ? "leave the directive out" : "compute_root() or compute_at(f, loop)",
                      "`%s` cannot be inlined: it %s", f->func->name, why);
    if (asked && f->shaped_by)
        return refuse(
            pl, ERROR_NO_LOOPS, f->shaped_by->loc, "compute_root() or compute_at(f, loop) instead of inline()",
            "`%s` is inlined: it has no loops and no storage for `%s`", f->func->name, f->shaped_by->info->name);
    f->inlined = asked || (!why && !f->is_scheduled && !f->is_made && !f->func->update_count &&
                           inlined_by_default(pl, f->func, r));
    if (f->inlined)
        expand(pl, f->func);
    return true;
}

bool plan_inline(Planner *pl)
{
    const Reads *reads = find_reads(pl);
    for (size_t i = 0; i < pl->drafts.count; i++) {
        FuncDraft *f             = pl->drafts.at[i];
        f->read_by_extern        = reads[i].by_extern;
        pl->plan->exprs.too_deep = false;
        inline_calls(pl, f->func);
        if (pl->plan->exprs.too_deep)
            return refuse(pl, ERROR_TOO_DEEP, f->computed_by ? f->computed_by->loc : f->func->loc,
                          "compute_root() for one of the functions between",
                          "with what is inlined into it, `%s` is an expression deeper than %d operations",
                          f->func->name, EXPR_MAX_DEPTH);
        if (is_read(&reads[i]) || f->plan->is_output)
            choose(pl, f, &reads[i]);
    }
    return !pl->failed;
}
