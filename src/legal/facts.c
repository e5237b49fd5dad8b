/* SPDX-License-Identifier: MIT */
/* Facts of a definition.
 *
 * The language runs an update step by step over its reduction variables, in lexicographic order, and at every point of
 * the free variables at once. The points of one step do not see each other (pipeline/check.c). What an update may do
 * beyond that follows from the places of its own function that it reads and writes. */
#include "legal/facts.h"

/* ---- Variables -------------------------------------------------------------------------- */

typedef struct VariableWalk {
    const Func   *f;
    const Update *u; /* NULL: the pure definition */
    uint32_t      vars;
    bool          calls;
} VariableWalk;

static void note_variable(const Expr *e, void *user)
{
    VariableWalk *w = user;
    w->calls |= e->op == EX_CALL;
    if (e->op != EX_VAR)
        return;
    for (int d = 0; d < w->f->rank; d++)
        if ((!w->u || w->u->is_free[d]) && w->f->args[d] == e->u.name)
            w->vars |= 1u << d;
    for (int i = 0; w->u && i < w->u->rvar_count; i++)
        if (w->u->rvars[i].name == e->u.name)
            w->vars |= 1u << (FIRST_RVAR + i);
}

uint32_t def_variables(ExprPool *pool, const Func *f, int update, const Expr *e)
{
    VariableWalk w = { .f = f, .u = update < 0 ? NULL : &f->updates[update] };
    expr_visit(pool, e, note_variable, &w);
    return w.vars;
}

/* ---- Reads of itself -------------------------------------------------------------------- */

typedef struct SelfWalk {
    const Func   *f;
    const Update *u;
    DefFacts     *facts;
} SelfWalk;

static void note_self_read(const Expr *e, void *user)
{
    const SelfWalk *w = user;
    if (e->op != EX_CALL || e->u.call.func != w->f)
        return;
    w->facts->reads_self = true;
    for (int d = 0; d < w->f->rank; d++)
        if (e->args[d] != w->u->args[d]) {
            w->facts->own_place = false;
            w->facts->other_points |= w->u->is_free[d] ? 1u << d : 0;
        }
}

bool is_written_place(const Func *f, const Update *u, const Expr *e, int component)
{
    if (e->op != EX_CALL || e->u.call.func != f || (int)e->u.call.index != component)
        return false;
    for (int d = 0; d < f->rank; d++)
        if (e->args[d] != u->args[d])
            return false;
    return true;
}

/* Associative and commutative on integers; a difference only as the sum of what is taken away. */
static bool is_associative(ExprOp op, bool self_first)
{
    switch (op) {
    case EX_ADD:
    case EX_MUL:
    case EX_MIN:
    case EX_MAX:
    case EX_BIT_AND:
    case EX_BIT_OR:
    case EX_BIT_XOR:
    case EX_AND:
    case EX_OR: return true;
    case EX_SUB: return self_first;
    default: return false;
    }
}

/* Is component c made by f(args) op e, where e does not read f? */
static bool component_combines(ExprPool *pool, const Func *f, const Update *u, int c)
{
    const Expr *e = u->values[c];
    for (int k = 0; k < 2 && e->count == 2; k++)
        if (is_associative((ExprOp)e->op, k == 0) && is_written_place(f, u, e->args[k], c) &&
            !expr_reads(pool, e->args[1 - k], f))
            return true;
    return false;
}

static void find_combination(ExprPool *pool, const Func *f, const Update *u, DefFacts *facts)
{
    bool combines = true, exact = true;
    for (int c = 0; c < f->component_count; c++) {
        combines = combines && component_combines(pool, f, u, c);
        exact &= !type_is_float(f->types[c]);
    }
    for (int d = 0; d < f->rank; d++)
        combines = combines && !expr_reads(pool, u->args[d], f);
    for (int i = 0; i < u->rvar_count; i++)
        combines = combines && !expr_reads(pool, u->rvars[i].lo, f) && !expr_reads(pool, u->rvars[i].hi, f);
    combines        = combines && (!u->where || !expr_reads(pool, u->where, f));
    facts->combines = combines && exact;
    facts->inexact  = combines && !exact;
}

/* ---- Steps ------------------------------------------------------------------------------ */

int64_t rvar_steps(const RVar *v)
{
    int64_t steps;
    return expr_difference(v->hi, v->lo, &steps) && steps >= 1 && steps <= INT32_MAX ? steps : 0;
}

static int64_t step_count(const Update *u)
{
    int64_t count = 1;
    for (int i = 0; i < u->rvar_count; i++)
        count = count > INT32_MAX ? 0 : count * rvar_steps(&u->rvars[i]);
    return count;
}

/* Is e = c*v + something without the update's variables, c so small that nothing wraps, and v the variable of `bit`? */
static bool moves_with(ExprPool *pool, const Func *f, int update, const Expr *e, uint32_t bit)
{
    enum { MOST_FACTOR = 4 }; /* extents are below 2^30 */
    Arena  scratch;
    Linear form;
    bool   moves = false;
    scratch_begin(&scratch, pool->cx);
    if (expr_linear(&scratch, e, &form))
        for (int i = 0; i < form.count; i++) {
            const uint32_t vars = def_variables(pool, f, update, form.atoms[i]);
            const int64_t  c    = form.coefficients[i];
            if (vars && (vars != bit || form.atoms[i]->op != EX_VAR || c > MOST_FACTOR || c < -MOST_FACTOR)) {
                moves = false;
                break;
            }
            moves |= vars == bit;
        }
    scratch_end(&scratch);
    return moves;
}

static uint32_t steps_apart(ExprPool *pool, const Func *f, int update)
{
    const Update *u     = &f->updates[update];
    uint32_t      apart = 0;
    for (int i = 0; i < u->rvar_count; i++)
        for (int d = 0; d < f->rank; d++) {
            const uint32_t bit = 1u << (FIRST_RVAR + i);
            if (!(apart & bit) && !u->is_free[d] && moves_with(pool, f, update, u->args[d], bit))
                apart |= bit;
        }
    return apart;
}

/* ---- All -------------------------------------------------------------------------------- */

static void update_facts(ExprPool *pool, const Func *f, int update, DefFacts *facts)
{
    const Update *u    = &f->updates[update];
    SelfWalk      self = { f, u, facts };
    def_visit(pool, f, update, note_self_read, &self);
    find_combination(pool, f, u, facts);
    for (int i = 0; i < u->rvar_count; i++) {
        VariableWalk over = { .f = f, .u = u };
        expr_visit(pool, u->rvars[i].lo, note_variable, &over);
        expr_visit(pool, u->rvars[i].hi, note_variable, &over);
        facts->rvars |= 1u << (FIRST_RVAR + i);
        facts->bounds[i] = over.vars;
        facts->bounding |= over.vars;
        facts->bounds_read |= over.calls;
    }
    facts->steps = step_count(u);
    facts->apart = facts->own_place ? steps_apart(pool, f, update) : 0;
}

DefFacts def_facts(ExprPool *pool, const Func *f, int update)
{
    DefFacts facts = { .own_place = true, .steps = 1 };
    for (int d = 0; d < f->rank; d++)
        facts.free |= update < 0 || f->updates[update].is_free[d] ? 1u << d : 0;
    if (update >= 0)
        update_facts(pool, f, update, &facts);
    return facts;
}

/* ---- Inlining --------------------------------------------------------------------------- */

/* Are its bounds constants, not just the difference of the two? */
static bool has_constant_bounds(const Update *u)
{
    int64_t v;
    for (int i = 0; i < u->rvar_count; i++)
        if (!expr_is_int(u->rvars[i].lo, &v) || !expr_is_int(u->rvars[i].hi, &v))
            return false;
    return true;
}

static bool is_pointwise(ExprPool *pool, const Func *f, int update)
{
    DefFacts facts = { .own_place = true };
    SelfWalk self  = { f, &f->updates[update], &facts };
    for (int d = 0; d < f->rank; d++)
        if (!f->updates[update].is_free[d])
            return false;
    def_visit(pool, f, update, note_self_read, &self);
    return facts.own_place;
}

bool func_expands(ExprPool *pool, const Func *f)
{
    int64_t steps = 0;
    for (int k = 0; k < f->update_count; k++) {
        const Update *u    = &f->updates[k];
        const int64_t more = has_constant_bounds(u) && !u->where ? step_count(u) : 0;
        steps += more;
        if (!more || steps > MOST_EXPANDED_STEPS || !is_pointwise(pool, f, k))
            return false;
    }
    return true;
}

InlineFault inline_check(const Func *f, bool is_output, bool read_by_extern, bool expands)
{
    if (is_output)
        return INLINE_OUTPUT;
    if (f->kind != FUNC_DEFINED)
        return f->kind == FUNC_INPUT ? INLINE_INPUT : INLINE_EXTERN;
    if (!expands)
        return INLINE_UPDATES;
    return read_by_extern ? INLINE_AS_WHOLE : INLINE_LEGAL;
}
