/* SPDX-License-Identifier: MIT */
/* The range of an expression in an environment, and the accesses that evaluating it can make.
 *
 * Sums are put into linear form first. Over a box of independent variables the range of an affine form is exact, and x
 * - x is 0. Modulo 2^n a form equals the value, however intermediate sums wrap; if the range of the form lies in the
 * type, it is the range of the value. A fact about another form (K >= 0) bounds this one: L = (L - K) + K >= min(L -
 * K), and L = (L + K) - K <= max(L + K). */
#include "analysis/evaluate.h"

#include <math.h>

static const Linear no_form; /* in Evaluator.forms: there is none */

/* ---- Environments ----------------------------------------------------------------------- */

static void environment_fresh(Evaluator *ev, Environment *env)
{
    if (!env->cells)
        env->cells = ARENA_ARRAY(ev->arena, Cell, ev->pipeline->exprs.count);
    env->stamp       = ++ev->stamps;
    env->dead        = false;
    env->known.count = 0;
    env->fact_count  = 0;
}

void environment_reset(Evaluator *ev)
{
    ev->level          = 0;
    ev->variable_count = 0;
    environment_fresh(ev, &ev->environment[0]);
    ev->environment[0].limit = ev->work + MOST_WORK;
}

void environment_bind(Evaluator *ev, const char *name, Range range)
{
    if (ev->variable_count < MOST_VARIABLES)
        ev->variables[ev->variable_count++] = (BoundVariable){ name, range };
}

Branch branch_enter(Evaluator *ev, const Expr *condition, bool truth)
{
    const Range c = evaluate(ev, condition);
    if (truth ? range_is_false(c) : range_is_true(c))
        return (Branch){ .dead = true };
    const Environment *outer = environment_now(ev);
    if (c.lo == c.hi || ev->level == MOST_LEVELS || ev->work >= outer->limit)
        return (Branch){ 0 };
    ev->level++;
    Environment *inner = environment_now(ev);
    environment_fresh(ev, inner);
    inner->limit = ev->work + (outer->limit - ev->work) / 2;
    memcpy(inner->facts, outer->facts, sizeof outer->facts[0] * (size_t)outer->fact_count);
    inner->fact_count = outer->fact_count;
    for (size_t i = 0; i < outer->known.count; i++) {
        const KnownRange k = outer->known.at[i];
        vec_push(ev->arena, &inner->known, k);
        inner->cells[k.node->id] = (Cell){ .range = k.range, .evaluated = inner->stamp };
    }
    assume(ev, condition, truth);
    if (inner->dead)
        ev->level--;
    return (Branch){ .dead = inner->dead, .entered = !inner->dead };
}

void branch_leave(Evaluator *ev, Branch b)
{
    ev->level -= b.entered;
}

/* ---- Linear forms ----------------------------------------------------------------------- */

static bool is_comparison(const Expr *e)
{
    return e->op == EX_LT || e->op == EX_LE || e->op == EX_EQ || e->op == EX_NE;
}

/* Two forms as one: a*ka + b*kb, atom by atom in the order of ids. */
typedef struct Merge {
    const Linear *a, *b;
    int           ka, kb, i, j;
} Merge;

static const Expr *merge_next(Merge *m, Wide *coefficient)
{
    while (m->i < m->a->count || m->j < m->b->count) {
        const Expr *left  = m->i < m->a->count ? m->a->atoms[m->i] : NULL;
        const Expr *right = m->j < m->b->count ? m->b->atoms[m->j] : NULL;
        const Expr *atom  = !right || (left && left->id <= right->id) ? left : right;
        *coefficient      = 0;
        if (left == atom)
            *coefficient += (Wide)m->a->coefficients[m->i++] * m->ka;
        if (right == atom)
            *coefficient += (Wide)m->b->coefficients[m->j++] * m->kb;
        if (*coefficient)
            return atom;
    }
    return NULL;
}

static const Linear *difference(Evaluator *ev, const Linear *a, const Linear *b)
{
    Linear *out       = ARENA_NEW(ev->arena, Linear);
    Merge   m         = { .a = a, .b = b, .ka = 1, .kb = -1 };
    out->constant     = a->constant - b->constant; /* expr_linear keeps both far from overflow */
    out->atoms        = ARENA_ARRAY(ev->arena, const Expr *, (size_t)(a->count + b->count));
    out->coefficients = ARENA_ARRAY(ev->arena, int64_t, (size_t)(a->count + b->count));
    Wide        k;
    const Expr *atom;
    while ((atom = merge_next(&m, &k))) {
        out->atoms[out->count]          = atom;
        out->coefficients[out->count++] = (int64_t)k;
    }
    return out;
}

static const Linear *make_form(Evaluator *ev, const Expr *e)
{
    if (is_comparison(e)) {
        const Linear *a = evaluate_form(ev, e->args[0]), *b = evaluate_form(ev, e->args[1]);
        return a && b ? difference(ev, a, b) : &no_form;
    }
    Linear form;
    if (!expr_linear(ev->arena, e, &form))
        return &no_form;
    Linear *kept = ARENA_NEW(ev->arena, Linear);
    *kept        = form;
    return kept;
}

const Linear *evaluate_form(Evaluator *ev, const Expr *e)
{
    if (!ev->forms[e->id])
        ev->forms[e->id] = make_form(ev, e);
    return ev->forms[e->id] == &no_form ? NULL : ev->forms[e->id];
}

/* The range of a*ka + b*kb as whole numbers. *common: the two have an atom in common. */
static Range merged_range(Evaluator *ev, const Linear *a, int ka, const Linear *b, int kb, bool *common)
{
    const Wide  constant = (Wide)a->constant * ka + (Wide)b->constant * kb;
    Range       r        = range_int(constant, constant);
    Merge       m        = { .a = a, .b = b, .ka = ka, .kb = kb };
    Wide        k;
    const Expr *atom;
    int         terms = 0;
    for (; (atom = merge_next(&m, &k)); terms++) {
        const Range v = evaluate(ev, atom);
        r.lo += k > 0 ? k * v.lo : k * v.hi;
        r.hi += k > 0 ? k * v.hi : k * v.lo;
    }
    *common = terms < a->count + b->count;
    return r;
}

Range evaluate_sum(Evaluator *ev, const Linear *form, int sign)
{
    bool common;
    return merged_range(ev, form, sign, &no_form, 1, &common);
}

Range evaluate_linear(Evaluator *ev, const Linear *form, int sign, uint32_t below)
{
    bool               common;
    Range              r   = evaluate_sum(ev, form, sign);
    const Environment *env = environment_now(ev);
    for (int i = 0; i < env->fact_count && form->count > 1; i++) {
        const RangeFact *f = &env->facts[i];
        if (f->form->atoms[f->form->count - 1]->id >= below)
            continue;
        const Range less = merged_range(ev, form, sign, f->form, -f->sign, &common);
        if (common)
            r.lo = wide_max(r.lo, less.lo - f->shift);
        const Range more = merged_range(ev, form, sign, f->form, f->sign, &common);
        if (common)
            r.hi = wide_min(r.hi, more.hi + f->shift);
    }
    return r;
}

/* ---- Evaluation ------------------------------------------------------------------------- */

static Range evaluate_variable(Evaluator *ev, const Expr *e)
{
    for (int i = 0; i < ev->variable_count; i++)
        if (ev->variables[i].name == e->u.name)
            return ev->variables[i].range;
    return range_of_type((kn_type)e->type);
}

static Range evaluate_param(Evaluator *ev, const Expr *e)
{
    for (size_t i = 0; i < ev->pipeline->params.count; i++)
        if (ev->pipeline->params.at[i] == e->u.param)
            return range_of_scalar((kn_type)e->type, ev->binding->param[i]);
    return range_of_type((kn_type)e->type);
}

static Range evaluate_dim(Evaluator *ev, const Expr *e)
{
    const Box    *b = &ev->binding->input[e->u.call.func->id];
    const int     d = (int)e->u.call.index;
    const int64_t v = e->op == EX_DIM_MIN ? b->min[d] : b->max[d] - b->min[d] + 1;
    return range_fit((kn_type)e->type, v, v);
}

static Range evaluate_call(Evaluator *ev, const Expr *e)
{
    const Range *values = ev->values[e->u.call.func->id];
    return values ? values[e->u.call.index] : range_of_type((kn_type)e->type);
}

/* The range of `e` where the condition is `truth`; false: never. */
static bool evaluate_branch(Evaluator *ev, const Expr *condition, bool truth, const Expr *e, Range *out)
{
    const Branch b = branch_enter(ev, condition, truth);
    if (b.dead)
        return false;
    *out = evaluate(ev, e);
    branch_leave(ev, b);
    return true;
}

static Range evaluate_select(Evaluator *ev, const Expr *e)
{
    Range      yes, no;
    const bool may   = evaluate_branch(ev, e->args[0], true, e->args[1], &yes);
    const bool else_ = evaluate_branch(ev, e->args[0], false, e->args[2], &no);
    if (may && else_)
        return range_union((kn_type)e->type, yes, no);
    return may ? yes : else_ ? no : range_of_type((kn_type)e->type);
}

/* a && b: the second is evaluated where the first is true; a || b: where it is false. */
static Range evaluate_logic(Evaluator *ev, const Expr *e)
{
    const bool  is_and = e->op == EX_AND;
    const Range a      = evaluate(ev, e->args[0]);
    Range       b;
    if (!evaluate_branch(ev, e->args[0], is_and, e->args[1], &b))
        return a;
    return is_and ? range_int(wide_min(a.lo, b.lo), wide_min(a.hi, b.hi))
                  : range_int(wide_max(a.lo, b.lo), wide_max(a.hi, b.hi));
}

/* min(a, b) <= (a + b) / 2 <= max(a, b), where neither operand wraps: for mirrors, min(t, 9 - t). */
static Range tighten_extreme(Evaluator *ev, const Expr *e, Range r)
{
    const Linear *a = evaluate_form(ev, e->args[0]), *b = evaluate_form(ev, e->args[1]);
    bool          common;
    if (!a || !b)
        return r;
    const Range sum = merged_range(ev, a, 1, b, 1, &common);
    if (!common || !range_within((kn_type)e->type, evaluate_linear(ev, a, 1, e->id)) ||
        !range_within((kn_type)e->type, evaluate_linear(ev, b, 1, e->id)))
        return r;
    if (e->op == EX_MIN)
        r.hi = wide_min(r.hi, wide_floor_div(sum.hi, 2));
    else
        r.lo = wide_max(r.lo, -wide_floor_div(-sum.lo, 2));
    return r;
}

static Range evaluate_operator(Evaluator *ev, const Expr *e)
{
    const bool is_sum = e->op == EX_ADD || e->op == EX_SUB || e->op == EX_NEG || e->op == EX_MUL;
    if (is_sum && type_is_int((kn_type)e->type)) {
        const Linear *form = evaluate_form(ev, e);
        if (form && !(form->count == 1 && form->atoms[0] == e)) {
            const Range r = evaluate_linear(ev, form, 1, e->id);
            return range_fit((kn_type)e->type, r.lo, r.hi);
        }
    }
    Range args[3];
    for (uint32_t i = 0; i < e->count && i < 3; i++)
        args[i] = evaluate(ev, e->args[i]);
    const Range r = range_apply((ExprOp)e->op, (kn_type)e->type, (kn_type)e->args[0]->type, args);
    return (e->op == EX_MIN || e->op == EX_MAX) && type_is_int((kn_type)e->type) ? tighten_extreme(ev, e, r) : r;
}

static Range evaluate_new(Evaluator *ev, const Expr *e)
{
    switch ((ExprOp)e->op) {
    case EX_INT: return range_of_scalar((kn_type)e->type, kn_int(e->u.i));
    case EX_FLOAT: return range_of_scalar((kn_type)e->type, kn_float(e->u.f));
    case EX_VAR: return evaluate_variable(ev, e);
    case EX_PARAM: return evaluate_param(ev, e);
    case EX_DIM_MIN:
    case EX_DIM_EXTENT: return evaluate_dim(ev, e);
    case EX_CALL: return evaluate_call(ev, e);
    case EX_EXTERN: return range_of_type((kn_type)e->type);
    case EX_SELECT: return evaluate_select(ev, e);
    case EX_AND:
    case EX_OR: return evaluate_logic(ev, e);
    default: return evaluate_operator(ev, e);
    }
}

static void spend(Evaluator *ev)
{
    context_spend(ev->cx, 1);
    ev->work++;
}

Range evaluate(Evaluator *ev, const Expr *e)
{
    const Environment *env = environment_now(ev);
    Cell              *c   = &env->cells[e->id];
    if (c->evaluated != env->stamp) {
        spend(ev);
        c->range     = evaluate_new(ev, e);
        c->evaluated = env->stamp;
    }
    return c->range;
}

/* ---- Accesses --------------------------------------------------------------------------- */

bool has_calls(Evaluator *ev, const Expr *e)
{
    enum { UNKNOWN, NO, YES };
    uint8_t *answer = &ev->calls[e->id];
    if (*answer == UNKNOWN) {
        bool yes = e->op == EX_CALL;
        for (uint32_t i = 0; i < e->count; i++)
            yes |= has_calls(ev, e->args[i]);
        *answer = yes ? YES : NO;
    }
    return *answer == YES;
}

static void visit_branch(Evaluator *ev, const Expr *condition, bool truth, const Expr *e)
{
    if (!has_calls(ev, e))
        return;
    const Branch b = branch_enter(ev, condition, truth);
    if (b.dead)
        return;
    visit(ev, e);
    branch_leave(ev, b);
}

static void record_call(Evaluator *ev, const Expr *e)
{
    Range index[KN_MAX_RANK];
    for (uint32_t i = 0; i < e->count && i < KN_MAX_RANK; i++)
        index[i] = evaluate(ev, e->args[i]);
    ev->record(ev->user, e, index);
}

void visit(Evaluator *ev, const Expr *e)
{
    const Environment *env = environment_now(ev);
    Cell              *c   = &env->cells[e->id];
    if (c->visited == env->stamp || !has_calls(ev, e))
        return;
    c->visited = env->stamp;
    spend(ev);
    switch ((ExprOp)e->op) {
    case EX_SELECT:
        visit(ev, e->args[0]);
        visit_branch(ev, e->args[0], true, e->args[1]);
        visit_branch(ev, e->args[0], false, e->args[2]);
        return;
    case EX_AND:
    case EX_OR:
        visit(ev, e->args[0]);
        visit_branch(ev, e->args[0], e->op == EX_AND, e->args[1]);
        return;
    case EX_CALL: record_call(ev, e); break;
    default: break;
    }
    for (uint32_t i = 0; i < e->count; i++)
        visit(ev, e->args[i]);
}
