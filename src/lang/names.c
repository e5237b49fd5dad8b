/* SPDX-License-Identifier: MIT */
/* Names: scopes, lookup, and resolving an entry when it is first asked for. */
#include "lang/elab.h"

NameScope *scope_new(Elab *el, NameScope *up, const char *prefix)
{
    NameScope *s = ARENA_NEW(el->arena, NameScope);
    s->up        = up;
    s->prefix    = prefix;
    map_init(&s->entries, el->arena);
    return s;
}

Entry *scope_find(const NameScope *s, const char *name)
{
    return map_get_mutable(&s->entries, name);
}

const Env *env_root(Elab *el, NameScope *scope)
{
    Env *e   = ARENA_NEW(el->arena, Env);
    e->scope = scope;
    return e;
}

const Env *env_push(Elab *el, const Env *up, const char *name, ElabValue v)
{
    Env *e = ARENA_NEW(el->arena, Env);
    *e     = (Env){ .up = up, .name = name, .value = v };
    return e;
}

NameScope *env_scope(const Env *env)
{
    while (!env->scope)
        env = env->up;
    return env->scope;
}

const char *unique_name(Elab *el, const char *wanted)
{
    const char     *name  = intern(el->cx, wanted);
    const uintptr_t count = (uintptr_t)map_get(&el->name_counts, name) + 1;
    map_set(&el->name_counts, name, (void *)count);
    return count == 1 ? name : unique_name(el, arena_printf(el->arena, "%s.%d", wanted, (int)count));
}

/* ---- Near misses ------------------------------------------------------------------------ */

/* What other languages call our types. */
/* clang-format off */
static const struct { const char *theirs, *ours; } foreign_types[] = {
    { "float", "f32" },   { "double", "f64" },  { "half", "f16" },    { "bfloat16", "bf16" }, { "int", "i32" },
         { "uint", "u32" },
    { "float16", "f16" }, { "float32", "f32" }, { "float64", "f64" }, { "int8", "i8" },       { "int16", "i16" },
       { "int32", "i32" },
    { "int64", "i64" },   { "uint8", "u8" },    { "uint16", "u16" },  { "uint32", "u32" },    { "uint64", "u64" },
      { "byte", "u8" },
    { "int8_t", "i8" },   { "int16_t", "i16" }, { "int32_t", "i32" }, { "int64_t", "i64" },   { "uint8_t", "u8" },
    { "uint16_t", "u16" }, { "uint32_t", "u32" }, { "uint64_t", "u64" },
};
/* clang-format on */

const char *suggest_type(const char *name)
{
    for (size_t i = 0; i < sizeof foreign_types / sizeof *foreign_types; i++)
        if (!strcmp(foreign_types[i].theirs, name))
            return foreign_types[i].ours;
    const char *types[KN_TYPE_COUNT - 1];
    for (int t = 1; t < KN_TYPE_COUNT; t++)
        types[t - 1] = type_table[t].name;
    return kn_closest_name(name, types, KN_TYPE_COUNT - 1);
}

const char *suggest_name(Elab *el, const Env *env, const char *name)
{
    enum { MOST = 200 };
    VEC(const char *) known = { 0 };
    for (; !env->scope; env = env->up)
        vec_push(el->arena, &known, env->name);
    for (const NameScope *s = env->scope; s; s = s->up)
        for (size_t i = 0; i < s->order.count && i < MOST; i++)
            vec_push(el->arena, &known, s->order.at[i]->name);
    const char  *built_in[MOST];
    const size_t n = builtin_names(built_in, MOST);
    for (size_t i = 0; i < n; i++)
        vec_push(el->arena, &known, built_in[i]);
    const char *closest = kn_closest_name(name, known.at, (int)known.count);
    return text_did_you_mean(el->arena, closest ? closest : suggest_type(name));
}

/* "the family has g[0], g[1]" if the name is a family's, or a member of which others exist. */
static const char *family_members(Elab *el, const Env *env, const char *name)
{
    const size_t base = strcspn(name, "[");
    Text         text;
    int          count = 0;
    text_init(&text, el->arena);
    for (const NameScope *s = env_scope(env); s; s = s->up)
        for (size_t i = 0; i < s->order.count; i++)
            if (!strncmp(s->order.at[i]->name, name, base) && s->order.at[i]->name[base] == '[' && count++ < 12)
                text_printf(&text, "%s%s", count > 1 ? ", " : "", s->order.at[i]->name);
    return count ? arena_printf(el->arena, "the family has %s%s", text_string(&text), count > 12 ? " …" : "") : NULL;
}

/* ---- Lookup ----------------------------------------------------------------------------- */

static Entry *find_entry(const Env *env, const char *name)
{
    for (const NameScope *s = env_scope(env); s; s = s->up) {
        Entry *e = scope_find(s, name);
        if (e)
            return e;
    }
    return NULL;
}

bool is_known(const Env *env, const char *name)
{
    for (const Env *v = env; !v->scope; v = v->up)
        if (v->name == name)
            return true;
    return find_entry(env, name) != NULL;
}

bool takes_coordinates(const Env *env, const char *name)
{
    for (const Env *v = env; !v->scope; v = v->up)
        if (v->name == name)
            return v->value.kind == VAL_FUNC;
    const Entry *e = find_entry(env, name);
    return e && (e->kind == ENTRY_INPUT || e->kind == ENTRY_FUNC || e->kind == ENTRY_STAGE || e->kind == ENTRY_ALIAS);
}

/* "a formula is over x, y": the variables of the environment, the first one first. */
static const char *formula_variables(Elab *el, const Env *env)
{
    const char *list = NULL;
    for (; !env->scope; env = env->up)
        list = list ? arena_printf(el->arena, "%s, %s", env->name, list) : env->name;
    return list ? arena_printf(el->arena, "a formula is over %s", list) : "a formula of rank 0 has no variables";
}

static void unknown_name(Elab *el, const Env *env, const char *name, Loc loc)
{
    const size_t base = strcspn(name, "[");
    if (el->cx->error_count > el->cx->config.max_errors) { /* nobody will read the remedy */
        diag_error(el->cx, loc, NULL, "unknown name `%s`", name);
        return;
    }
    const char *remedy =
        !strcmp(name, "not") ? "the opposite of a condition is written !c" : family_members(el, env, name);
    const Entry *single = name[base] ? find_entry(env, intern_n(el->cx, name, base)) : NULL;
    if (single && single->item->broken)
        return;
    if (!remedy && single)
        remedy = arena_printf(el->arena, "`%.*s` is no family and has no index", (int)base, name);
    if (!remedy)
        remedy = suggest_name(el, env, name);
    if (!remedy && el->in_formula)
        remedy = formula_variables(el, env);
    if (!remedy && el->current && !name[base])
        remedy =
            arena_printf(el->arena,
                         "it is no function, constant or parameter, and neither an argument of `%s` nor a reduction "
                         "variable (for %s in a..b)",
                         el->current, name);
    diag_error(el->cx, loc, remedy, "unknown name `%s`", name);
}

ElabValue lookup(Elab *el, const Env *env, const char *name, Loc loc)
{
    for (const Env *v = env; !v->scope; v = v->up)
        if (v->name == name)
            return v->value;
    Entry *e = find_entry(env, name);
    if (e) {
        e->asked = true;
        return entry_value(el, e, loc);
    }

    ElabValue     v;
    const kn_type type = kn_type_from_name(name);
    if (type != KN_NONE)
        return (ElabValue){ .kind = VAL_TYPE, .type = type };
    if (builtin_constant(el, name, &v))
        return v;
    const Builtin *b = builtin_find(name);
    if (b)
        return (ElabValue){ .kind = VAL_BUILTIN, .builtin = b };

    if (!el->lost)
        unknown_name(el, env, name, loc);
    return ERROR_VALUE;
}

const char *member_name(Elab *el, const Env *env, const char *base, const Ast *index)
{
    __int128 i;
    if (!base || !elab_known_int(el, env, index, "the index of a family", &i))
        return NULL;
    if (i < -1000000 || i > 1000000) {
        diag_error(el->cx, index->loc, NULL, "the index of a family is between -1000000 and 1000000");
        return NULL;
    }
    return intern(el->cx, arena_printf(el->arena, "%s[%d]", base, (int)i));
}

const char *family_name(Elab *el, const Env *env, const Ast *a)
{
    if (a->kind == AST_NAME)
        return a->name;
    if (a->kind == AST_INDEX)
        return member_name(el, env, family_name(el, env, a->kids[0]), a->kids[1]);
    if (a->kind != AST_ERROR)
        diag_error(el->cx, a->loc, "a family is indexed by its name, as in g[2](x, y)",
                   "the name of a function is needed here");
    return NULL;
}

/* ---- Entries ---------------------------------------------------------------------------- */

/* Diagnoses a cycle: an entry that is needed to resolve itself, with the path. */
static void report_cycle(Elab *el, const Entry *e, Loc loc)
{
    Text   chain;
    size_t from = el->busy.count;
    while (from > 0 && el->busy.at[from - 1] != e)
        from--;
    if (from == el->busy.count && e->kind == ENTRY_FUNC) {
        diag_error(
            el->cx, loc,
            arena_printf(
                el->arena,
                "begin with its values before the recursion, `%s(…) = 0`, then write the recursion as an update: "
                "`%s(…) = … for k in a..b`",
                e->name, e->name),
            "the first definition of `%s` reads `%s` itself", e->name, e->name);
        return;
    }
    text_init(&chain, el->arena);
    for (size_t i = from ? from - 1 : 0; i < el->busy.count; i++)
        text_printf(&chain, "%s -> ", el->busy.at[i]->full_name);
    diag_error(el->cx, loc, e->kind == ENTRY_FUNC ? "only the updates of a function may read it" : NULL,
               "`%s` is defined in terms of itself: %s%s", e->name, text_string(&chain), e->full_name);
}

/* The text of -D for a const or type of the main program, as an expression of its own. */
static const Ast *override_of(Elab *el, const Entry *e)
{
    const char *text = env_scope(e->env) == el->global ? map_get(&el->cx->defines, e->name) : NULL;
    if (!text)
        return NULL;
    vec_push(el->arena, &el->used_defines, e->name);
    Source *s = ARENA_NEW(el->arena, Source);
    *s        = (Source){ arena_printf(el->arena, "-D %s", e->name), text, strlen(text) };
    return parse_expression(el->cx, el->arena, s);
}

static ElabValue const_value(Elab *el, const Entry *e)
{
    const Ast *given = override_of(el, e), *a = given ? given : e->item->value;
    ElabValue  v = elab_expr(el, given ? el->global_env : e->env, a);
    if (v.kind != VAL_EXPR && !value_is_weak(v)) {
        if (v.kind != VAL_ERROR)
            diag_error(el->cx, a->loc, v.kind == VAL_TUPLE ? no_lists : NULL, "a constant is a number, this is %s",
                       value_describe(el, v));
        return ERROR_VALUE;
    }
    if (!known_now(el, v)) {
        diag_error(el->cx, a->loc, suggest_function(el, e->name, a->loc),
                   "the value of the constant `%s` is not known here", e->name);
        return ERROR_VALUE;
    }
    return v;
}

static ElabValue type_value(Elab *el, const Entry *e)
{
    const Ast    *given = override_of(el, e);
    const kn_type t     = elab_type(el, given ? el->global_env : e->env, given ? given : e->item->type);
    return t == KN_NONE ? ERROR_VALUE : (ElabValue){ .kind = VAL_TYPE, .type = t };
}

/* A scalar known now, converted to type t. */
static bool known_scalar(Elab *el, const Env *env, const char *name, const Ast *a, kn_type t, kn_scalar *out)
{
    ElabValue v = elab_expr(el, env, a);
    bool      truth;
    if (v.kind == VAL_ERROR)
        return false;
    if (t == KN_BOOL && value_known_bool(v, &truth)) {
        *out = kn_int(truth);
        return true;
    }
    const Expr *e = value_to_type(el, v, t, a->loc, "the parameter");
    if (!e)
        return false;
    if (e->op != EX_INT && e->op != EX_FLOAT) {
        diag_error(el->cx, a->loc, suggest_function(el, name, a->loc),
                   "the default and the range of a parameter are constants");
        return false;
    }
    *out = e->op == EX_INT ? kn_int(e->u.i) : kn_float(e->u.f);
    return true;
}

static bool scalar_less(kn_type t, kn_scalar a, kn_scalar b)
{
    return type_is_float(t)    ? a.as.f < b.as.f
           : type_is_signed(t) ? a.as.i < b.as.i
                               : (uint64_t)a.as.i < (uint64_t)b.as.i;
}

static ElabValue param_value(Elab *el, const Entry *e)
{
    Param *p = ARENA_NEW(el->arena, Param);
    p->name  = e->name;
    p->loc   = e->loc;
    p->type  = elab_type(el, e->env, e->item->type);
    if (p->type == KN_NONE)
        return ERROR_VALUE;
    if (e->item->value)
        p->has_default = known_scalar(el, e->env, e->name, e->item->value, p->type, &p->value);
    if (e->item->lo)
        p->has_range = known_scalar(el, e->env, e->name, e->item->lo, p->type, &p->lo) &&
                       known_scalar(el, e->env, e->name, e->item->hi, p->type, &p->hi);
    if (p->has_range && (p->type == KN_BOOL || scalar_less(p->type, p->hi, p->lo)))
        diag_error(el->cx, e->item->lo->loc, NULL, p->type == KN_BOOL ? "a bool has no range" : "this range is empty");
    else if (p->has_range && p->has_default &&
             (scalar_less(p->type, p->value, p->lo) ||
              (type_is_float(p->type) ? scalar_less(p->type, p->hi, p->value)
                                      : !scalar_less(p->type, p->value, p->hi))))
        diag_error(el->cx, e->item->value->loc, NULL, "the default of `%s` lies outside its own range", e->name);
    vec_push(el->arena, &el->p->params, p);
    return value_expr(expr_param(el->pool, p->type, p));
}

/* The names of dimensions in f32(x, y): distinct plain names. */
static bool dimension_names(Elab *el, const Ast *type, int *rank, const char **names)
{
    *rank = type->count - 1;
    if (*rank > KN_MAX_RANK) {
        diag_error(el->cx, type->loc, NULL, "at most %d dimensions are possible", KN_MAX_RANK);
        return false;
    }
    for (int i = 0; i < *rank; i++) {
        const Ast *a = type->kids[i + 1];
        if (a->kind != AST_NAME || type->labels[i + 1]) {
            if (a->kind != AST_ERROR)
                diag_error(el->cx, a->loc, "as in u8(x, y)", "the name of a dimension is needed here");
            return false;
        }
        names[i] = a->name;
        for (int k = 0; k < i; k++)
            if (names[k] == names[i]) {
                diag_error(el->cx, a->loc, NULL, "two dimensions are called `%s`", names[i]);
                return false;
            }
    }
    return true;
}

static Func *typed_function(Elab *el, const Entry *e, FuncKind kind)
{
    const char *names[KN_MAX_RANK];
    int         rank;
    if (e->item->type->kind != AST_CALL)
        return NULL;
    const kn_type t = elab_type(el, e->env, e->item->type->kids[0]);
    if (t == KN_NONE || !dimension_names(el, e->item->type, &rank, names))
        return NULL;
    Func *f            = pipeline_add_func(el->p, kind, unique_name(el, e->full_name), e->loc, rank, names);
    f->component_count = 1;
    f->types           = ARENA_NEW(el->arena, kn_type);
    f->types[0]        = t;
    return f;
}

static void find_call(const Expr *e, void *user)
{
    *(bool *)user |= e->op == EX_VAR || e->op == EX_CALL;
}

/* A number for a C function is computed once, before the run: only from constants, parameters and sizes. */
static bool known_before_run(Elab *el, const Expr *e, Loc loc)
{
    bool reads = false;
    expr_visit(el->pool, e, find_call, &reads);
    if (reads)
        diag_error(el->cx, loc, "pass the function itself",
                   "a number given to an extern stage is made of constants, parameters and sizes of inputs");
    return !reads;
}

/* extern stage warp(f, k) : f32(x, y): functions become buffers, everything else must be known before the run. */
static Func *stage_function(Elab *el, const Entry *e)
{
    const Ast *call = e->item->target;
    const int  n    = call->count - 1;
    StageArg  *args = ARENA_ARRAY(el->arena, StageArg, (size_t)n);
    for (int i = 0; i < n; i++) {
        const Ast *a = call->kids[i + 1];
        ElabValue  v = elab_expr(el, e->env, a);
        if (v.kind == VAL_FUNC && !v.func->boundary && v.func->func->component_count == 1) {
            args[i].func = v.func->func;
        } else if (v.kind == VAL_FUNC) {
            diag_error(el->cx, a->loc, "define a function of it first: e(x, y) = edge(in)(x, y)",
                       "an extern stage reads plain functions of one component");
            return NULL;
        } else {
            args[i].value = value_to_expr(el, v, a->loc);
            if (!args[i].value || !known_before_run(el, args[i].value, a->loc))
                return NULL;
        }
    }
    Func *f = typed_function(el, e, FUNC_STAGE);
    if (f) {
        f->symbol          = e->name;
        f->stage_args      = args;
        f->stage_arg_count = n;
    }
    return f;
}

/* Suggests what to write instead of an alias for something that is not a function. */
static const char *alias_remedy(Elab *el, const Entry *e, ElabValue v)
{
    const Loc value = e->item->value->loc;
    if (value_is_weak(v) || (v.kind == VAL_EXPR && known_now(el, v)))
        return arena_printf(el->arena,
                            "a number is a constant, `const %s = %s`, or a function without arguments, `%s() = %s`",
                            e->name, text_of(el, value), e->name, text_of(el, value));
    if (v.kind == VAL_EXPR)
        return suggest_function(el, e->name, value);
    return arena_printf(el->arena, "a function has arguments: %s(x, y) = …, or %s() = …", e->name, e->name);
}

static ElabValue alias_value(Elab *el, Entry *e)
{
    const Ast  *a           = e->item->value;
    const char *coordinates = suggest_coordinates(el, e->env, a);
    ElabValue   v;
    if (coordinates) {
        diag_error(
            el->cx, e->loc,
            arena_printf(el->arena, "name its arguments: `%s(%s) = %s`", e->name, coordinates, text_of(el, a->loc)),
            "`%s` has no arguments, but its value uses %s", e->name, coordinates);
        return ERROR_VALUE;
    }
    if (a->kind == AST_CALL && a->kids[0]->kind == AST_NAME && is_known(e->env, a->kids[0]->name)) {
        v = elab_expr(el, e->env, a->kids[0]);
        v = v.kind == VAL_TEMPLATE ? instantiate(el, e->env, v.entry, a, e->full_name) : elab_expr(el, e->env, a);
    } else {
        v = elab_expr(el, e->env, a);
    }
    if (v.kind != VAL_FUNC && v.kind != VAL_ERROR) {
        diag_error(el->cx, a->loc, alias_remedy(el, e, v),
                   "`%s` is given no arguments, so a function is needed here; this is %s", e->name,
                   value_describe(el, v));
        return ERROR_VALUE;
    }
    return v;
}

static ElabValue func_value(Elab *el, Func *f)
{
    return f ? (ElabValue){ .kind = VAL_FUNC, .func = ref_of(el, f) } : ERROR_VALUE;
}

static ElabValue resolve(Elab *el, Entry *e)
{
    if (e->item->broken)
        return ERROR_VALUE;
    switch (e->kind) {
    case ENTRY_CONST: return const_value(el, e);
    case ENTRY_TYPE: return type_value(el, e);
    case ENTRY_PARAM: return param_value(el, e);
    case ENTRY_INPUT: return func_value(el, e->func = typed_function(el, e, FUNC_INPUT));
    case ENTRY_STAGE: return func_value(el, e->func = stage_function(el, e));
    case ENTRY_EXTERN: return (ElabValue){ .kind = VAL_EXTERN, .entry = e };
    case ENTRY_TEMPLATE: return (ElabValue){ .kind = VAL_TEMPLATE, .entry = e };
    case ENTRY_ALIAS: return alias_value(el, e);
    default: define_pure(el, e); return func_value(el, e->func);
    }
}

ElabValue entry_value(Elab *el, Entry *e, Loc loc)
{
    if (e->state == ENTRY_DONE)
        return e->value;
    if (e->state == ENTRY_BUSY) {
        report_cycle(el, e, loc);
        return ERROR_VALUE;
    }
    if (el->depth > ELAB_MAX_DEPTH) {
        diag_error(el->cx, loc, "define functions before the ones that read them",
                   "too many definitions refer forwards through each other");
        return ERROR_VALUE;
    }
    const char *current = el->current;
    const bool  strict  = el->pool->strict;
    const int   generic = el->generic;
    el->current         = e->full_name;
    el->generic         = 0;
    el->pool->strict    = false;
    e->state            = ENTRY_BUSY;
    el->depth += 10; /* a definition takes as much stack as a nest of expressions */
    vec_push(el->arena, &el->busy, e);
    e->value = resolve(el, e);
    el->busy.count--;
    el->depth -= 10;
    e->state         = ENTRY_DONE;
    el->current      = current;
    el->generic      = generic;
    el->pool->strict = strict;
    return e->value;
}
