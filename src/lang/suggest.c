/* SPDX-License-Identifier: MIT */
/* Suggestions for definitions that are not legal: remedies that show the line to write. */
#include "lang/elab.h"

/* ---- Coordinates without arguments ------------------------------------------------------ */

typedef struct UnboundNames {
    Elab       *el;
    const char *names[KN_MAX_RANK];
    int         count;
} UnboundNames;

static bool is_unknown(Elab *el, const Env *env, const char *name)
{
    ElabValue v;
    return !is_known(env, name) && kn_type_from_name(name) == KN_NONE && !builtin_constant(el, name, &v) &&
           !builtin_find(name);
}

static void add_coordinate(UnboundNames *c, const Env *env, const char *name, bool in_call)
{
    for (int i = 0; i < c->count; i++)
        if (c->names[i] == name)
            return;
    if (c->count < KN_MAX_RANK && is_unknown(c->el, env, name) && (in_call || !suggest_name(c->el, env, name)))
        c->names[c->count++] = name;
}

/* Binds the names of a clause or a let. */
static const Env *bind(Elab *el, const Env *env, const char *const *names, int count)
{
    for (int i = 0; i < count; i++)
        env = env_push(el, env, names[i], ERROR_VALUE);
    return env;
}

/* The unknown names in `a`: all among the arguments of a function; elsewhere only those that resemble no known name. */
static void find_coordinates(UnboundNames *c, const Env *env, const Ast *a, bool in_call)
{
    if (a->kind == AST_NAME)
        add_coordinate(c, env, a->name, in_call);
    if (a->kind == AST_BLOCK)
        env = bind(c->el, env, a->names, a->count - 1);
    if (a->kind == AST_CALL && a->clause)
        env = bind(c->el, env, a->clause->names, a->clause->count);
    if (a->kind == AST_CALL) {
        const Ast *callee = a->kids[0];
        in_call           = callee->kind != AST_NAME || takes_coordinates(env, callee->name);
        if (callee->kind != AST_NAME)
            find_coordinates(c, env, callee, false);
    }
    for (int i = a->kind == AST_CALL || a->kind == AST_INDEX; i < a->count; i++)
        find_coordinates(c, env, a->kids[i], in_call);
}

const char *suggest_coordinates(Elab *el, const Env *env, const Ast *value)
{
    UnboundNames c = { .el = el };
    Text         list;
    text_init(&list, el->arena);
    if (!el->lost)
        find_coordinates(&c, env, value, false);
    for (int i = 0; i < c.count; i++)
        text_printf(&list, "%s%s", i ? ", " : "", c.names[i]);
    return c.count ? text_string(&list) : NULL;
}

/* ---- Numbers ---------------------------------------------------------------------------- */

const char *text_of(Elab *el, Loc loc)
{
    enum { LONGEST = 60 };
    const size_t n = loc.source ? loc.end - loc.start : 0;
    if (!n || n > LONGEST || memchr(loc.source->text + loc.start, '\n', n))
        return "…";
    return arena_strndup(el->arena, loc.source->text + loc.start, n);
}

static void find_unknown_now(const Expr *e, void *user)
{
    *(bool *)user |= e->op == EX_VAR || e->op == EX_PARAM || e->op == EX_CALL || e->op == EX_EXTERN ||
                     e->op == EX_DIM_MIN || e->op == EX_DIM_EXTENT;
}

bool known_now(Elab *el, ElabValue v)
{
    bool unknown = false;
    if (v.kind == VAL_EXPR)
        expr_visit(el->pool, v.expr, find_unknown_now, &unknown);
    return !unknown;
}

const char *suggest_function(Elab *el, const char *name, Loc value)
{
    return arena_printf(el->arena,
                        "a number that follows from sizes, parameters or data is a function without arguments: "
                        "`%s() = %s`, read as `%s()`",
                        name, text_of(el, value), name);
}

/* ---- Formulas --------------------------------------------------------------------------- */

const char *suggest_formula(Elab *el, const Entry *t)
{
    const Item *it = t->item, *last = it->count ? it->body[it->count - 1] : NULL;
    if (!last || last->kind != ITEM_RETURN || last->target)
        return NULL;
    const char *head = text_of(el, it->target->loc), *value = text_of(el, last->value->loc);
    return arena_printf(el->arena, "a formula of numbers has no body and no `return`: `def %s = %s%s%s`", head,
                        it->count == 1 ? "" : "{ let a = …  ", value, it->count == 1 ? "" : " }");
}
