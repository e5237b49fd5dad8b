/* SPDX-License-Identifier: MIT */
/* Templates: a `def` makes functions of functions, or is a formula with holes.
 *
 * A formula, def mean(a, b) = (a + b) / 2, stands for its value with the arguments, whatever they are, put in. The
 * other kind has a body: an instance is the body filed once more, in a scope of its own, with the arguments bound. The
 * same template with the same arguments is the same instance, so `up(f)(x, y) + up(f)(x+1, y)` computes up(f) once. An
 * instance is named after what it defines: g[2] = down(g[1]) gives g[2] and its inner stage g[2].dx. */
#include "lang/elab.h"

typedef struct Instance Instance;
struct Instance {
    Instance    *next; /* of the same key */
    const Entry *template_;
    ElabValue   *args;
    ElabValue    result;
    bool         busy;
};

/* A hash of an argument. */
static uintptr_t value_hash(ElabValue v)
{
    uint64_t bits = 0;
    switch (v.kind) {
    case VAL_INT: return (uintptr_t)v.integer;
    case VAL_FLOAT: memcpy(&bits, &v.real, sizeof bits); return (uintptr_t)bits;
    case VAL_EXPR: return (uintptr_t)v.expr;
    case VAL_FUNC: return (uintptr_t)v.func;
    case VAL_TYPE: return (uintptr_t)v.type;
    default: return 0;
    }
}

static bool same_value(ElabValue a, ElabValue b)
{
    if (a.kind != b.kind)
        return false;
    switch (a.kind) {
    case VAL_INT: return a.integer == b.integer;
    case VAL_FLOAT:
        return !memcmp(&a.real, &b.real, sizeof a.real) &&
               !memcmp(&a.real32, &b.real32, sizeof a.real32); /* 0.0 is not -0.0 */
    case VAL_EXPR: return a.expr == b.expr;
    case VAL_FUNC: return a.func == b.func;
    case VAL_TYPE: return a.type == b.type;
    default: return false;
    }
}

static const void *instance_key(Elab *el, const Entry *t, int count, const ElabValue *args)
{
    uintptr_t *parts = ARENA_ARRAY(el->arena, uintptr_t, (size_t)count + 1);
    parts[0]         = (uintptr_t)t;
    for (int i = 0; i < count; i++)
        parts[i + 1] = value_hash(args[i]);
    return hash_key(parts, (size_t)count + 1);
}

static Instance *find_instance(Instance *first, const Entry *t, int count, const ElabValue *args)
{
    for (Instance *in = first; in; in = in->next) {
        bool same = in->template_ == t;
        for (int k = 0; same && k < count; k++)
            same = same_value(in->args[k], args[k]);
        if (same)
            return in;
    }
    return NULL;
}

static void find_point(const Expr *e, void *user)
{
    if (e->op == EX_VAR || e->op == EX_CALL || e->op == EX_EXTERN)
        *(bool *)user = true;
}

/* An argument of an instance: a function, a type, or a number that is the same at every point. */
static bool argument_ok(Elab *el, const Entry *t, ElabValue v, Loc loc)
{
    bool differs = false;
    if (v.kind == VAL_EXPR)
        expr_visit(el->pool, v.expr, find_point, &differs);
    const char *formula = suggest_formula(el, t);
    const bool fixed = v.kind == VAL_FUNC || v.kind == VAL_TYPE || value_is_weak(v) || (v.kind == VAL_EXPR && !differs);
    if (!fixed && v.kind != VAL_ERROR)
        diag_error(el->cx, loc,
                   formula   ? formula
                   : differs ? "what differs from point to point is read inside, through a function"
                             : NULL,
                   "the argument of a template with a body is a function, a type or a number that is the same at every "
                   "point, this is %s",
                   value_describe(el, v));
    return fixed;
}

/* The body's one `return`, which ends it. */
static const Item *find_return(Elab *el, const Entry *t)
{
    const Item *it = t->item;
    for (int i = 0; i + 1 < it->count; i++)
        if (it->body[i]->kind == ITEM_RETURN) {
            diag_error(el->cx, it->body[i]->loc, NULL, "`return` is the last item of a template");
            return NULL;
        }
    if (!it->count || it->body[it->count - 1]->kind != ITEM_RETURN) {
        diag_error(el->cx, t->loc, "end it with: return (x, y) = …", "the template `%s` does not end in `return`",
                   t->name);
        return NULL;
    }
    return it->body[it->count - 1];
}

/* The value of the return: a function defined on the spot, or one made elsewhere. */
static ElabValue returned(Elab *el, const Env *env, const Entry *t, const Item *ret, const char *name)
{
    if (ret->broken)
        return ERROR_VALUE;
    if (ret->target) {
        Func *f = define_function(el, env, name, ret->loc, ret->target, ret->value);
        return f ? (ElabValue){ .kind = VAL_FUNC, .func = ref_of(el, f) } : ERROR_VALUE;
    }
    const char *coordinates = suggest_coordinates(el, env, ret->value);
    if (coordinates) {
        diag_error(el->cx, ret->value->loc,
                   arena_printf(el->arena, "name its arguments: `return (%s) = %s`", coordinates,
                                text_of(el, ret->value->loc)),
                   "the function that `%s` returns has no arguments, but its value uses %s", t->name, coordinates);
        return ERROR_VALUE;
    }
    ElabValue v = elab_expr(el, env, ret->value);
    if (v.kind != VAL_FUNC && v.kind != VAL_ERROR) {
        diag_error(el->cx, ret->value->loc,
                   arena_printf(el->arena, "%s; a function has arguments: return (x, y) = …", suggest_formula(el, t)),
                   "a template returns a function, this is %s", value_describe(el, v));
        return ERROR_VALUE;
    }
    return v;
}

static const Env *bind_arguments(Elab *el, const Entry *t, const Env *env, const ElabValue *args)
{
    for (int i = 0; i + 1 < t->item->target->count; i++)
        env = env_push(el, env, t->item->target->kids[i + 1]->name, args[i]);
    return env;
}

static ElabValue make_instance(Elab *el, const Entry *t, Instance *in, const char *wanted)
{
    const Item *ret = find_return(el, t);
    if (!ret)
        return ERROR_VALUE;
    const char *current = el->current;
    const bool  strict  = el->pool->strict;
    if (!wanted)
        wanted = arena_printf(el->arena, "%s%s%s", current ? current : "", current ? "." : "", t->name);
    const char *name  = unique_name(el, wanted);
    NameScope  *scope = scope_new(el, env_scope(t->env), arena_printf(el->arena, "%s.", name));
    const Env  *env   = bind_arguments(el, t, env_root(el, scope), in->args);
    el->current       = name;
    el->pool->strict  = false;
    el->depth += 20;
    file_items(el, env, t->item->body, t->item->count - 1);
    ElabValue v = returned(el, env, t, ret, name);
    el->depth -= 20;
    el->current      = current;
    el->pool->strict = strict;
    return v;
}

/* def f(a, b) = value: the value, with the arguments in the place of their names. */
static ElabValue apply_formula(Elab *el, const Entry *t, const ElabValue *args)
{
    const Env *env = bind_arguments(el, t, t->env, args);
    el->depth += 10;
    el->generic++;
    ElabValue v = elab_expr(el, env, t->item->value);
    el->generic--;
    el->depth -= 10;
    return v;
}

/* The arguments of a call of a template; NULL after a diagnostic. */
static ElabValue *template_arguments(Elab *el, const Env *env, const Entry *t, const Ast *call)
{
    const int n = t->item->target->count - 1;
    if (call->count - 1 != n) {
        diag_error(el->cx, call->loc, NULL, "the template `%s` has %d argument%s, but is given %d", t->name, n,
                   n == 1 ? "" : "s", call->count - 1);
        return NULL;
    }
    ElabValue *args = ARENA_ARRAY(el->arena, ElabValue, (size_t)n + 1);
    bool       ok   = true;
    for (int i = 0; i < n; i++) {
        args[i] = elab_expr(el, env, call->kids[i + 1]);
        ok &= args[i].kind != VAL_ERROR && (t->item->value || argument_ok(el, t, args[i], call->kids[i + 1]->loc));
    }
    return ok ? args : NULL;
}

ElabValue instantiate(Elab *el, const Env *env, const Entry *t, const Ast *call, const char *wanted)
{
    const int  n    = t->item->target->count - 1;
    ElabValue *args = template_arguments(el, env, t, call);
    if (!args)
        return ERROR_VALUE;
    if (t->item->value)
        return apply_formula(el, t, args);
    const void *key   = instance_key(el, t, n, args);
    Instance   *first = map_get_mutable(&el->instances, key), *in = find_instance(first, t, n, args);
    if (in && in->busy) {
        diag_error(el->cx, call->loc, NULL, "the template `%s` needs itself with the same arguments", t->name);
        return ERROR_VALUE;
    }
    if (in)
        return in->result;
    if (el->depth > ELAB_MAX_DEPTH / 2) {
        diag_error(el->cx, call->loc, "end the recursion with a condition on a constant",
                   "templates are nested too deep");
        return ERROR_VALUE;
    }
    in  = ARENA_NEW(el->arena, Instance);
    *in = (Instance){ .next = first, .template_ = t, .args = args, .busy = true };
    context_spend(el->cx, INSTANCE_COST);
    map_set_mutable(&el->instances, key, in);
    const int errors = el->cx->error_count;
    el->templates++;
    in->result = make_instance(el, t, in, wanted);
    el->templates--;
    in->busy = false;
    if (el->cx->error_count > errors && !el->templates)
        diag_note(el->cx, call->loc, "`%s` is used here", t->name);
    return in->result;
}
