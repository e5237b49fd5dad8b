/* SPDX-License-Identifier: MIT */
/* Definitions: the pure one makes a function, later ones are its updates. */
#include "lang/elab.h"

/* ---- What `..` stands for --------------------------------------------------------------- */

/* The first call in `a` whose last argument is `..`. */
static const Ast *find_rest(const Ast *a)
{
    if (a->kind == AST_CALL && a->count > 1 && a->kids[a->count - 1]->kind == AST_REST)
        return a;
    for (int i = 0; i < a->count; i++) {
        const Ast *found = find_rest(a->kids[i]);
        if (found)
            return found;
    }
    return NULL;
}

/* The number of arguments that `..` stands for in a definition, and their names; false after a diagnostic. */
static bool rest_of(Elab *el, const Env *env, const Ast *value, Loc loc, int *count, const char **names)
{
    const Ast *call = find_rest(value);
    if (!call) {
        diag_error(el->cx, loc, "call a function with `..` too: f(x, y, ..)",
                   "`..` stands for nothing: the value does not use it");
        return false;
    }
    ElabValue f = elab_expr(el, env, call->kids[0]);
    if (f.kind != VAL_FUNC) {
        if (f.kind != VAL_ERROR)
            diag_error(el->cx, call->kids[0]->loc, NULL, "`..` is an argument of functions, this is %s",
                       value_describe(el, f));
        return false;
    }
    const int given = call->count - 2;
    *count          = ref_rank(f.func) - given;
    if (*count < 0) {
        diag_error(el->cx, call->loc, NULL, "`%s` has %d argument%s, but is called with %d", f.func->func->name,
                   ref_rank(f.func), ref_rank(f.func) == 1 ? "" : "s", given);
        return false;
    }
    for (int i = 0; i < *count; i++)
        names[i] = f.func->func->args[given + i];
    return true;
}

/* ---- Pure definitions ------------------------------------------------------------------- */

static bool is_taken(const char *name, const char *const *names, int count)
{
    for (int i = 0; i < count; i++)
        if (names[i] == name)
            return true;
    return false;
}

/* The names of the arguments of a pure definition, those of `..` included; -1 after a diagnostic. */
static int argument_names(Elab *el, const Env *env, const Ast *call, const Ast *body, const char **names, int *rest)
{
    int n = 0;
    *rest = 0;
    for (int i = 1; i < call->count; i++) {
        const Ast *a = call->kids[i];
        if (a->kind == AST_REST && i == call->count - 1) {
            const char *more[KN_MAX_RANK + 1];
            if (!rest_of(el, env, body, a->loc, rest, more))
                return -1;
            for (int k = 0; k < *rest && n < KN_MAX_RANK; k++) {
                const char *name = more[k];
                while (is_taken(name, names, n))
                    name = intern(el->cx, arena_printf(el->arena, "%s_", name));
                names[n++] = name;
            }
            return n;
        }
        if (a->kind != AST_NAME || call->labels[i]) {
            if (a->kind != AST_ERROR)
                diag_error(el->cx, a->loc, "define f(x, y) = … first; later definitions of f may have any index",
                           "the arguments of the first definition are plain variables");
            return -1;
        }
        if (is_taken(a->name, names, n)) {
            diag_error(el->cx, a->loc, NULL, "two arguments are called `%s`", a->name);
            return -1;
        }
        if (n == KN_MAX_RANK) {
            diag_error(el->cx, a->loc, NULL, "a function has at most %d arguments", KN_MAX_RANK);
            return -1;
        }
        names[n++] = a->name;
    }
    return n;
}

/* The values of a definition's right side: one expression per component. */
static const Expr **components(Elab *el, ElabValue v, Loc loc, int *count)
{
    if (v.kind == VAL_ERROR)
        return NULL;
    *count           = v.kind == VAL_TUPLE ? v.count : 1;
    const Expr **out = ARENA_ARRAY(el->arena, const Expr *, (size_t)*count);
    for (int i = 0; i < *count; i++) {
        out[i] = value_to_expr(el, v.kind == VAL_TUPLE ? v.items[i] : v, loc);
        if (!out[i])
            return NULL;
    }
    return out;
}

Func *define_function(Elab *el, const Env *env, const char *full_name, Loc loc, const Ast *call, const Ast *body)
{
    const char *names[KN_MAX_RANK + 1];
    int         rest, count;
    const int   rank = argument_names(el, env, call, body, names, &rest);
    if (rank < 0 || (call->clause && (diag_error(el->cx, call->clause->loc, NULL, "`for` has no meaning here"), true)))
        return NULL;
    for (int d = 0; d < rank; d++)
        env = env_push(el, env, names[d], value_expr(expr_var(el->pool, el->var_type, names[d])));
    for (int i = 0; i < rest; i++)
        env = env_push(el, env, intern(el->cx, arena_printf(el->arena, "..%d", i)),
                       value_expr(expr_var(el->pool, el->var_type, names[rank - rest + i])));
    const Expr **values = components(el, elab_expr(el, env, body), body->loc, &count);
    if (!values)
        return NULL;
    Func *f            = pipeline_add_func(el->p, FUNC_DEFINED, full_name, loc, rank, names);
    f->component_count = count;
    f->values          = values;
    f->types           = ARENA_ARRAY(el->arena, kn_type, (size_t)count);
    for (int i = 0; i < count; i++)
        f->types[i] = (kn_type)values[i]->type;
    return f;
}

/* Expressions of the builder have no source location: notes the definition that has the error. */
static void note_definition(Elab *el, const Item *it, int errors_before)
{
    if (el->cx->error_count > errors_before && !it->value->loc.source)
        diag_note(el->cx, it->loc, "in this definition");
}

void define_pure(Elab *el, Entry *e)
{
    const Definition d = e->definitions.at[0];
    if (d.item->op != T_SET) {
        diag_error(el->cx, d.item->loc, arena_printf(el->arena, "say what it begins with: %s(…) = 0", e->name),
                   "the first definition of `%s` is an update", e->name);
        return;
    }
    if (d.item->clause) {
        diag_error(
            el->cx, d.item->clause->loc,
            arena_printf(el->arena, "begin with %s(…) = 0 everywhere, then the update; or use sum(… for …)", e->name),
            "the first definition of `%s` has no reduction variables", e->name);
        return;
    }
    const int errors = el->cx->error_count;
    e->func = define_function(el, d.env, unique_name(el, e->full_name), d.item->loc, d.item->target, d.item->value);
    note_definition(el, d.item, errors);
}

/* ---- Reduction variables ---------------------------------------------------------------- */

typedef struct VarSearch {
    const char *name;
    bool        found;
} VarSearch;

static void find_var(const Expr *e, void *user)
{
    VarSearch *s = user;
    s->found |= e->op == EX_VAR && e->u.name == s->name;
}

static bool uses_variable(Elab *el, ElabValue v, const char *name)
{
    VarSearch s = { name, false };
    if (v.kind == VAL_EXPR)
        expr_visit(el->pool, v.expr, find_var, &s);
    for (int i = 0; v.kind == VAL_TUPLE && i < v.count; i++)
        s.found |= uses_variable(el, v.items[i], name);
    for (const FuncRef *f = v.kind == VAL_FUNC ? v.func : NULL; f && f->boundary; f = f->base)
        for (int d = 0; d < f->func->rank; d++)
            if (f->extent[d]) {
                expr_visit(el->pool, f->min[d], find_var, &s);
                expr_visit(el->pool, f->extent[d], find_var, &s);
            }
    return s.found;
}

/* Does a value of this environment use a variable of that name (as the pipeline calls it)? A new variable must not
 * capture it. */
static bool is_variable(Elab *el, const Env *env, const char *name)
{
    for (; !env->scope; env = env->up)
        if (uses_variable(el, env->value, name))
            return true;
    return false;
}

bool elab_clause(Elab *el, const Env **env, const Clause *c, int *count, RVar **rvars, const Expr **where)
{
    bool ok = true;
    *count  = c->count;
    *rvars  = ARENA_ARRAY(el->arena, RVar, (size_t)c->count);
    *where  = NULL;
    if (c->count > 2 * KN_MAX_RANK) {
        diag_error(el->cx, c->loc, NULL, "at most %d reduction variables are possible", 2 * KN_MAX_RANK);
        return false;
    }
    for (int i = 0; i < c->count; i++) {
        RVar *r = &(*rvars)[i];
        r->name = c->names[i];
        for (int k = 0; k < i; k++)
            if (c->names[k] == c->names[i]) {
                diag_error(el->cx, c->locs[i], NULL, "two reduction variables are called `%s`", c->names[i]);
                return false;
            }
        while (is_variable(el, *env, r->name))
            r->name = intern(el->cx, arena_printf(el->arena, "%s_", r->name));
        r->lo = value_to_index(el, elab_expr(el, *env, c->lo[i]), c->lo[i]->loc);
        r->hi = value_to_index(el, elab_expr(el, *env, c->hi[i]), c->hi[i]->loc);
        ok &= r->lo && r->hi;
        *env = env_push(el, *env, c->names[i], value_expr(expr_var(el->pool, KN_I32, r->name)));
    }
    if (c->where) {
        *where = value_to_bool(el, elab_expr(el, *env, c->where), c->where->loc);
        ok &= *where != NULL;
    }
    return ok;
}

/* ---- Updates ---------------------------------------------------------------------------- */

static bool in_clause(const Clause *c, const char *name)
{
    for (int i = 0; c && i < c->count; i++)
        if (c->names[i] == name)
            return true;
    return false;
}

/* A plain variable on the left is free if the name has no other meaning. */
static bool is_free_variable(const Env *env, const Clause *c, const Func *f, int d, const Ast *a)
{
    return a->kind == AST_NAME && !in_clause(c, a->name) && (f->args[d] == a->name || !is_known(env, a->name));
}

/* Pushes the free variables of the left side, under the names written, as the function's own. */
static const Env *push_free(Elab *el, const Env *env, const Func *f, const Ast *const *args, const Clause *c,
                            bool *is_free)
{
    const Env *outer = env;
    for (int d = 0; d < f->rank; d++) {
        is_free[d] = !args[d] || is_free_variable(outer, c, f, d, args[d]);
        for (int k = 0; k < d && args[d]; k++) /* f(x, x): the second is an index that uses the first */
            if (is_free[k] && args[k] && args[d]->kind == AST_NAME && args[k]->name == args[d]->name)
                is_free[d] = false;
        if (is_free[d])
            env = env_push(el, env, args[d] ? args[d]->name : f->args[d],
                           value_expr(expr_var(el->pool, KN_I32, f->args[d])));
    }
    return env;
}

/* The left side's arguments, NULL for each that `..` stands for; false after a diagnostic. */
static bool left_arguments(Elab *el, const Ast *call, const Func *f, const Ast **args, int *rest)
{
    const int  given = call->count - 1;
    const bool dots  = given > 0 && call->kids[given]->kind == AST_REST;
    const int  plain = given - dots;
    *rest            = dots ? f->rank - plain : 0;
    if (dots ? plain > f->rank : plain != f->rank) {
        diag_error(el->cx, call->loc, NULL, "`%s` has %d argument%s, but is given %d", f->name, f->rank,
                   f->rank == 1 ? "" : "s", plain);
        if (f->loc.source)
            diag_note(el->cx, f->loc, "`%s` is defined here", f->name);
        return false;
    }
    for (int d = 0; d < f->rank; d++)
        args[d] = d < plain ? call->kids[d + 1] : NULL;
    return true;
}

static const struct {
    TokenKind set;
    ExprOp    op;
} assignments[] = {
    { T_ADD_SET, EX_ADD },
    { T_MUL_SET, EX_MUL },
    { T_MIN_SET, EX_MIN },
    { T_MAX_SET, EX_MAX },
};

/* The new value of component i: the value itself, or the old one with it. */
static const Expr *new_value(Elab *el, const Func *f, int i, TokenKind set, ElabValue v, Loc loc,
                             const Expr *const *args)
{
    const char *what = arena_printf(el->arena, "`%s`", f->name);
    const Expr *e    = value_to_type(el, v, f->types[i], loc, what);
    if (!e || set == T_SET)
        return e;
    if (f->types[i] == KN_BOOL) {
        diag_error(el->cx, loc, "write the choice: f(x) = if … then … else …, or f(x) = f(x) && …",
                   "`%s` has no meaning for bool", token_text(set));
        return NULL;
    }
    const Expr *old = expr_call(el->pool, f, i, f->types[i], f->rank, args);
    for (size_t k = 0; k < sizeof assignments / sizeof *assignments; k++)
        if (assignments[k].set == set)
            return expr_binary(el->pool, assignments[k].op, f->types[i], old, e);
    return NULL;
}

/* The capacity doubles: the array is full where the count is a power of two. */
static void add_update(Elab *el, Func *f, Update u)
{
    const size_t n = (size_t)f->update_count;
    if (!(n & (n - 1))) {
        Update *grown = ARENA_ARRAY(el->arena, Update, n ? 2 * n : 1);
        if (n)
            memcpy(grown, f->updates, n * sizeof *grown);
        f->updates = grown;
    }
    f->updates[f->update_count++] = u;
}

static void make_update(Elab *el, Entry *e, const Definition *def)
{
    Func       *f   = e->func;
    const Item *it  = def->item;
    const Env  *env = def->env;
    const Ast  *args[KN_MAX_RANK];
    Update      u    = { .loc = it->loc };
    int         rest = 0;
    if (it->broken || !left_arguments(el, it->target, f, args, &rest))
        return;
    u.args    = ARENA_ARRAY(el->arena, const Expr *, (size_t)f->rank);
    u.is_free = ARENA_ARRAY(el->arena, bool, (size_t)f->rank);
    env       = push_free(el, env, f, args, it->clause, u.is_free);
    for (int i = 0; i < rest; i++)
        env = env_push(el, env, intern(el->cx, arena_printf(el->arena, "..%d", i)),
                       value_expr(expr_var(el->pool, KN_I32, f->args[f->rank - rest + i])));
    bool ok = !it->clause || elab_clause(el, &env, it->clause, &u.rvar_count, &u.rvars, &u.where);
    for (int d = 0; d < f->rank; d++) {
        u.args[d] = u.is_free[d] ? expr_var(el->pool, KN_I32, f->args[d])
                                 : value_to_index(el, elab_expr(el, env, args[d]), args[d]->loc);
        ok &= u.args[d] != NULL;
    }
    ElabValue v = elab_expr(el, env, it->value);
    if (!ok || v.kind == VAL_ERROR)
        return;
    if ((v.kind == VAL_TUPLE ? v.count : 1) != f->component_count) {
        diag_error(el->cx, it->value->loc, NULL, "`%s` has %d component%s, this is %s", f->name, f->component_count,
                   f->component_count == 1 ? "" : "s", value_describe(el, v));
        return;
    }
    u.values = ARENA_ARRAY(el->arena, const Expr *, (size_t)f->component_count);
    for (int i = 0; i < f->component_count; i++) {
        u.values[i] = new_value(el, f, i, it->op, v.kind == VAL_TUPLE ? v.items[i] : v, it->value->loc, u.args);
        if (!u.values[i])
            return;
    }
    add_update(el, f, u);
}

void define_update(Elab *el, Entry *e, const Definition *d)
{
    const int errors = el->cx->error_count;
    el->updating     = e->func;
    make_update(el, e, d);
    el->updating = NULL;
    note_definition(el, d->item, errors);
}
