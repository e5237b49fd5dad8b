/* SPDX-License-Identifier: MIT */
/* Inline reductions: sum(e for i in a..b) is a hidden function with an update.
 *
 *     sum(e for i in a..b where c)   becomes   out.sum(x, y) = 0
 *                                              out.sum(x, y) += e    for i in a..b where c
 *
 * over the variables x, y that e, the bounds and the condition use. One mechanism then gives all reductions their
 * meaning, their order and their schedules. Only in an update that reduces over its own function, a(x, t) = sum(a(x+i,
 * t-1) for i in -1..2) for t in …, a function beside it would see it half done: there the terms are written out, in the
 * same order. */
#include "lang/elab.h"

static bool is_arg(const Builtin *b)
{
    return !strncmp(b->name, "arg", 3);
}

/* A memoized reduction: an equal one is the same function. */
typedef struct Reduction Reduction;
struct Reduction {
    Reduction  *next; /* of the same value */
    const char *kind;
    Func       *func;
    const Expr *where;
};

typedef struct FreeVars {
    int         rvar_count;
    const RVar *rvars;
    int         count;
    const char *names[KN_MAX_RANK + 1];
} FreeVars;

static void add_free_var(const Expr *e, void *user)
{
    FreeVars *fv = user;
    if (e->op != EX_VAR)
        return;
    for (int i = 0; i < fv->rvar_count; i++)
        if (fv->rvars[i].name == e->u.name)
            return;
    for (int i = 0; i < fv->count; i++)
        if (fv->names[i] == e->u.name)
            return;
    if (fv->count <= KN_MAX_RANK)
        fv->names[fv->count++] = e->u.name;
}

/* Puts the variables in the order in which the definition around them names them. */
static void order_as_written(FreeVars *fv, const Env *env)
{
    int done = fv->count;
    for (; !env->scope; env = env->up)
        for (int i = 0; i < done; i++)
            if (env->value.kind == VAL_EXPR && env->value.expr->op == EX_VAR &&
                env->value.expr->u.name == fv->names[i]) {
                const char *name = fv->names[i];
                memmove(&fv->names[i], &fv->names[i + 1], (size_t)(done - i - 1) * sizeof *fv->names);
                fv->names[--done] = name;
            }
}

/* What accumulation begins with, in type t. */
static const Expr *identity(Elab *el, ExprOp op, kn_type t)
{
    switch (op) {
    case EX_ADD: return type_is_float(t) ? expr_float(el->pool, t, 0) : expr_int(el->pool, t, 0);
    case EX_MUL: return type_is_float(t) ? expr_float(el->pool, t, 1) : expr_int(el->pool, t, 1);
    case EX_AND: return expr_bool(el->pool, true);
    case EX_OR: return expr_bool(el->pool, false);
    case EX_MIN:
        return type_is_float(t) ? expr_float(el->pool, t, __builtin_inf())
                                : expr_int(el->pool, t, t == KN_U64 ? -1 : type_max(t));
    default: return type_is_float(t) ? expr_float(el->pool, t, -__builtin_inf()) : expr_int(el->pool, t, type_min(t));
    }
}

static bool same_domain(const Update *u, int count, const RVar *rvars)
{
    if (u->rvar_count != count)
        return false;
    for (int i = 0; i < count; i++)
        if (u->rvars[i].name != rvars[i].name || u->rvars[i].lo != rvars[i].lo || u->rvars[i].hi != rvars[i].hi)
            return false;
    return true;
}

/* The components of a reduction: one, or for argmin and argmax the reduction variables and the extreme. Where a
 * condition may skip the first point, one hidden flag more: whether any point was taken. */
static int visible_count(const Builtin *b, const FreeVars *fv)
{
    return is_arg(b) ? fv->rvar_count + 1 : 1;
}

static int component_count(const Builtin *b, const FreeVars *fv, const Expr *where)
{
    return visible_count(b, fv) + (is_arg(b) && where);
}

/* Is the value better than the extreme so far, or the first that is a number? */
static const Expr *is_better(Elab *el, const Builtin *b, const Expr *extreme, const Expr *found, const Expr *value)
{
    const bool  least  = b->op == EX_MIN;
    const Expr *better = expr_binary(el->pool, EX_LT, KN_BOOL, least ? value : extreme, least ? extreme : value);
    if (!found)
        return better;
    const Expr *first = expr_binary(el->pool, EX_AND, KN_BOOL, expr_unary(el->pool, EX_BIT_NOT, KN_BOOL, found),
                                    expr_binary(el->pool, EX_EQ, KN_BOOL, value, value));
    return expr_binary(el->pool, EX_OR, KN_BOOL, better, first);
}

/* One step: the old values with one more, or for argmin and argmax the reduction variables and the extreme where it is
 * better. */
static void step(Elab *el, const Builtin *b, int visible, int n, const Expr *const *old, const Expr *const *vars,
                 const Expr *value, const Expr **out)
{
    const int last = visible - 1;
    if (!is_arg(b)) {
        out[0] = expr_binary(el->pool, b->op, (kn_type)value->type, old[0], value);
        return;
    }
    const Expr *better = is_better(el, b, old[last], n > visible ? old[visible] : NULL, value);
    for (int i = 0; i < n; i++) {
        const Expr *now = i < last ? vars[i] : i == last ? value : expr_bool(el->pool, true);
        out[i]          = expr_ternary(el->pool, EX_SELECT, (kn_type)old[i]->type, better, now, old[i]);
    }
}

/* What the components begin with. */
static void initial(Elab *el, const Builtin *b, int visible, int n, const RVar *rvars, const Expr *value,
                    const Expr **out)
{
    for (int i = 0; i + 1 < visible; i++)
        out[i] = rvars[i].lo;
    out[visible - 1] = identity(el, b->op, (kn_type)value->type);
    if (n > visible)
        out[visible] = expr_bool(el->pool, false);
}

static Func *make_function(Elab *el, const Builtin *b, Loc loc, const FreeVars *fv, const Expr *value,
                           const Expr *where)
{
    const int   visible = visible_count(b, fv), n = component_count(b, fv, where);
    const char *name   = arena_printf(el->arena, "%s.%s", el->current ? el->current : "", b->name);
    Func       *f      = pipeline_add_func(el->p, FUNC_DEFINED, unique_name(el, name), loc, fv->count, fv->names);
    f->component_count = n;
    f->types           = ARENA_ARRAY(el->arena, kn_type, (size_t)n);
    f->values          = ARENA_ARRAY(el->arena, const Expr *, (size_t)n);
    initial(el, b, visible, n, fv->rvars, value, f->values);
    Update *u     = ARENA_NEW(el->arena, Update);
    u->loc        = loc;
    u->args       = ARENA_ARRAY(el->arena, const Expr *, (size_t)f->rank);
    u->is_free    = ARENA_ARRAY(el->arena, bool, (size_t)f->rank);
    u->values     = ARENA_ARRAY(el->arena, const Expr *, (size_t)n);
    u->rvar_count = fv->rvar_count;
    u->rvars      = ARENA_ARRAY(el->arena, RVar, (size_t)fv->rvar_count);
    u->where      = where;
    const Expr *vars[TUPLE_MAX], *old[TUPLE_MAX];
    for (int i = 0; i < fv->rvar_count; i++) {
        u->rvars[i] = fv->rvars[i];
        vars[i]     = expr_var(el->pool, KN_I32, fv->rvars[i].name);
    }
    for (int d = 0; d < f->rank; d++) {
        u->args[d]    = expr_var(el->pool, KN_I32, f->args[d]);
        u->is_free[d] = true;
    }
    for (int i = 0; i < n; i++) {
        f->types[i] = (kn_type)f->values[i]->type;
        old[i]      = expr_call(el->pool, f, i, f->types[i], f->rank, u->args);
    }
    f->updates      = u;
    f->update_count = 1;
    step(el, b, visible, n, old, vars, value, u->values);
    return f;
}

/* ---- Written out ------------------------------------------------------------------------ */

enum { MOST_TERMS = 1000 };

/* Does a part of the reduction read the function whose update it stands in? */
static bool reads_updating(Elab *el, const FreeVars *fv, const Expr *value, const Expr *where)
{
    const Func *f = el->updating;
    if (!f)
        return false;
    bool found = expr_reads(el->pool, value, f) || (where && expr_reads(el->pool, where, f));
    for (int i = 0; i < fv->rvar_count; i++)
        found = found || expr_reads(el->pool, fv->rvars[i].lo, f) || expr_reads(el->pool, fv->rvars[i].hi, f);
    return found;
}

/* Unrolls the reduction: all terms in lexicographic order, with the reduction variables replaced by numbers. */
static ElabValue write_out(Elab *el, const Builtin *b, Loc loc, const FreeVars *fv, const Expr *value,
                           const Expr *where)
{
    int64_t     at[TUPLE_MAX], lo[TUPLE_MAX], hi[TUPLE_MAX], terms = 1;
    const char *names[TUPLE_MAX];
    const Expr *numbers[TUPLE_MAX], *old[TUPLE_MAX], *now[TUPLE_MAX];
    const int   visible = visible_count(b, fv), n = component_count(b, fv, where);
    for (int i = 0; i < fv->rvar_count; i++) {
        const bool known = expr_is_int(fv->rvars[i].lo, &lo[i]) && expr_is_int(fv->rvars[i].hi, &hi[i]);
        terms            = known && terms <= MOST_TERMS ? terms * (hi[i] > lo[i] ? hi[i] - lo[i] : 0) : MOST_TERMS + 1;
        names[i]         = fv->rvars[i].name;
        at[i]            = known ? lo[i] : 0;
    }
    if (terms > MOST_TERMS) {
        diag_error(el->cx, loc,
                   "reduce over another function, or write it as an update with one more reduction variable",
                   "a reduction over `%s` inside its own update has constant bounds and at most %d terms",
                   el->updating->name, MOST_TERMS);
        return ERROR_VALUE;
    }
    initial(el, b, visible, n, fv->rvars, value, old);
    for (int64_t t = 0; t < terms; t++) {
        for (int i = 0; i < fv->rvar_count; i++)
            numbers[i] = expr_int(el->pool, KN_I32, at[i]);
        step(el, b, visible, n, old, numbers, expr_substitute(el->pool, value, fv->rvar_count, names, numbers), now);
        const Expr *c = where ? expr_substitute(el->pool, where, fv->rvar_count, names, numbers) : NULL;
        for (int i = 0; i < n; i++)
            old[i] = c ? expr_ternary(el->pool, EX_SELECT, (kn_type)old[i]->type, c, now[i], old[i]) : now[i];
        for (int i = fv->rvar_count - 1; i >= 0 && ++at[i] == hi[i]; i--)
            at[i] = lo[i];
    }
    if (visible == 1)
        return value_expr(old[0]);
    ElabValue v = { .kind = VAL_TUPLE, .count = visible, .items = ARENA_ARRAY(el->arena, ElabValue, (size_t)visible) };
    for (int i = 0; i < visible; i++)
        v.items[i] = value_expr(old[i]);
    return v;
}

/* The result of argmin is a tuple. Its first components begin at the lower bounds, which may use earlier reduction
 * variables: those are not known then. */
static bool arg_bounds_ok(Elab *el, const Builtin *b, const FreeVars *fv, Loc loc)
{
    if (!is_arg(b))
        return true;
    if (fv->rvar_count > TUPLE_MAX - 2) {
        diag_error(el->cx, loc, NULL, "`%s` has at most %d variables: its value is a tuple of them and the extreme",
                   b->name, TUPLE_MAX - 2);
        return false;
    }
    FreeVars used = { 0 };
    for (int i = 0; i < fv->rvar_count; i++)
        expr_visit(el->pool, fv->rvars[i].lo, add_free_var, &used);
    for (int i = 0; i < fv->rvar_count; i++)
        for (int k = 0; k < used.count; k++)
            if (used.names[k] == fv->rvars[i].name) {
                diag_error(el->cx, loc, "use `where` for the triangular part",
                           "the lower bounds of `%s` may not use its own variables", b->name);
                return false;
            }
    return true;
}

/* The visible components of a reduction's value. */
static ElabValue visible_part(Elab *el, const Builtin *b, const FreeVars *fv, Func *f, const Expr *const *args)
{
    ElabValue v = call_ref(el, ref_of(el, f), args);
    if (v.kind == VAL_TUPLE)
        v.count = visible_count(b, fv);
    return v;
}

ElabValue apply_reduction(Elab *el, const Env *env, const Ast *call, const Builtin *b)
{
    if (!call->clause) {
        diag_error(el->cx, call->loc, arena_printf(el->arena, "%s(e for i in -1..2)", b->name), "`%s` needs a `for`",
                   b->name);
        return ERROR_VALUE;
    }
    if (el->in_formula || call->count != 2 || call->labels[1]) {
        diag_error(el->cx, call->loc, NULL,
                   el->in_formula ? "a formula has no reductions" : "`%s` takes one value before its `for`", b->name);
        return ERROR_VALUE;
    }
    FreeVars    fv    = { 0 };
    RVar       *rvars = NULL;
    const Expr *where = NULL;
    if (!elab_clause(el, &env, call->clause, &fv.rvar_count, &rvars, &where))
        return ERROR_VALUE;
    fv.rvars          = rvars;
    ElabValue   v     = elab_expr(el, env, call->kids[1]);
    const bool  logic = b->op == EX_AND || b->op == EX_OR;
    const Expr *value = logic ? value_to_bool(el, v, call->kids[1]->loc) : value_to_expr(el, v, call->kids[1]->loc);
    if (!value)
        return ERROR_VALUE;
    if (!logic && value->type == KN_BOOL) {
        diag_error(el->cx, call->kids[1]->loc, "convert it, as in u32(c)", "`%s` has no meaning for bool", b->name);
        return ERROR_VALUE;
    }
    if (!arg_bounds_ok(el, b, &fv, call->loc))
        return ERROR_VALUE;
    if (reads_updating(el, &fv, value, where))
        return write_out(el, b, call->loc, &fv, value, where);
    expr_visit(el->pool, value, add_free_var, &fv);
    if (where)
        expr_visit(el->pool, where, add_free_var, &fv);
    for (int i = 0; i < fv.rvar_count; i++) {
        expr_visit(el->pool, rvars[i].lo, add_free_var, &fv);
        expr_visit(el->pool, rvars[i].hi, add_free_var, &fv);
    }
    if (fv.count > KN_MAX_RANK) {
        diag_error(el->cx, call->loc, NULL, "this reduction depends on more than %d variables", KN_MAX_RANK);
        return ERROR_VALUE;
    }
    order_as_written(&fv, env);
    const Expr *args[KN_MAX_RANK];
    for (int d = 0; d < fv.count; d++)
        args[d] = expr_var(el->pool, KN_I32, fv.names[d]);

    Reduction *first = map_get_mutable(&el->reductions, value);
    for (const Reduction *k = first; k; k = k->next)
        if (!strcmp(k->kind, b->name) && k->where == where && same_domain(k->func->updates, fv.rvar_count, rvars))
            return visible_part(el, b, &fv, k->func, args);
    Reduction *r = ARENA_NEW(el->arena, Reduction);
    *r           = (Reduction){ first, b->name, make_function(el, b, call->loc, &fv, value, where), where };
    context_spend(el->cx, INSTANCE_COST);
    map_set_mutable(&el->reductions, value, r);
    return visible_part(el, b, &fv, r->func, args);
}
