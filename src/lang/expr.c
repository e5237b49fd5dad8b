/* SPDX-License-Identifier: MIT */
/* Expressions: from syntax to values. */
#include "lang/elab.h"

/* ---- Function references ---------------------------------------------------------------- */

static bool same_outside(const FuncRef *a, const FuncRef *b)
{
    if (!a->outside || !b->outside)
        return a->outside == b->outside;
    for (int i = 0; i < a->func->component_count; i++)
        if (a->outside[i] != b->outside[i])
            return false;
    return true;
}

static bool same_ref(const FuncRef *a, const FuncRef *b)
{
    return a->boundary == b->boundary && a->func == b->func && a->base == b->base &&
           !memcmp(a->min, b->min, sizeof a->min) && !memcmp(a->extent, b->extent, sizeof a->extent) &&
           same_outside(a, b);
}

FuncRef *ref_intern(Elab *el, const FuncRef *like)
{
    uintptr_t parts[3 + 2 * KN_MAX_RANK] = { (uintptr_t)like->boundary, (uintptr_t)like->func, (uintptr_t)like->base };
    for (int d = 0; d < KN_MAX_RANK; d++) {
        parts[3 + 2 * d] = (uintptr_t)like->min[d];
        parts[4 + 2 * d] = (uintptr_t)like->extent[d];
    }
    const void *key   = hash_key(parts, sizeof parts / sizeof *parts);
    FuncRef    *first = map_get_mutable(&el->refs, key);
    for (FuncRef *r = first; r; r = r->next)
        if (same_ref(r, like))
            return r;
    FuncRef *r = ARENA_NEW(el->arena, FuncRef);
    *r         = *like;
    r->next    = first;
    map_set_mutable(&el->refs, key, r);
    if (r->boundary)
        vec_push(el->arena, &el->boundaries, r);
    return r;
}

FuncRef *ref_of(Elab *el, Func *f)
{
    return ref_intern(el, &(FuncRef){ .func = f });
}

int ref_rank(const FuncRef *f)
{
    return f->func->rank;
}

const Func *ref_input(const FuncRef *f)
{
    return f->func->kind == FUNC_INPUT ? f->func : NULL;
}

/* ---- Calls of functions ----------------------------------------------------------------- */

/* The variables that `..` stands for are bound under the names "..0", "..1" …. */
static const Env *rest_binding(const Env *env, const char *name)
{
    for (; !env->scope; env = env->up)
        if (env->name == name)
            return env;
    return NULL;
}

static const char *rest_name(Elab *el, int i)
{
    return intern(el->cx, arena_printf(el->arena, "..%d", i));
}

/* Adds the arguments that `..` stands for; false after a diagnostic. */
static bool add_rest(Elab *el, const Env *env, const Ast *a, int rank, int *n, const Expr **args)
{
    const int missing = rank - *n;
    for (int i = 0; i < missing; i++) {
        const Env *b = rest_binding(env, rest_name(el, i));
        if (!b) {
            diag_error(el->cx, a->loc, "`..` stands for the arguments of the definition that its `..` stands for",
                       i ? "`..` stands for %d here, but %d arguments are missing"
                         : "the definition around this has no `..` among its arguments",
                       i, missing);
            return false;
        }
        args[(*n)++] = b->value.expr;
    }
    return true;
}

static ElabValue call_func(Elab *el, const Env *env, const FuncRef *f, const Ast *call)
{
    const int   rank = ref_rank(f);
    const Expr *args[KN_MAX_RANK + 1];
    int         n  = 0;
    bool        ok = true;
    for (int i = 1; i < call->count && n <= rank; i++) {
        const Ast *a = call->kids[i];
        if (a->kind == AST_REST && i == call->count - 1) {
            if (!add_rest(el, env, a, rank, &n, args))
                return ERROR_VALUE;
            continue;
        }
        if (call->labels[i] || a->kind == AST_RANGE || a->kind == AST_REST) {
            diag_error(el->cx, call->labels[i] ? call->labels[i]->loc : a->loc,
                       a->kind == AST_REST ? "`..` is the last argument" : NULL,
                       call->labels[i] ? "coordinates are given in order, without names"
                                       : "a coordinate is needed here, not a range");
            return ERROR_VALUE;
        }
        const Expr *e = value_to_index(el, elab_expr(el, env, a), a->loc);
        ok &= e != NULL;
        if (n < rank)
            args[n] = e;
        n++;
    }
    if (n != rank) {
        diag_error(el->cx, call->loc, f->func->loc.source ? NULL : "see its definition",
                   "`%s` has %d argument%s, but is called with %d", f->func->name, rank, rank == 1 ? "" : "s",
                   n > rank ? call->count - 1 : n);
        if (f->func->loc.source)
            diag_note(el->cx, f->func->loc, "`%s` is defined here", f->func->name);
        return ERROR_VALUE;
    }
    return ok ? call_ref(el, f, args) : ERROR_VALUE;
}

/* ---- Kinds of expressions --------------------------------------------------------------- */

static ElabValue elab_index(Elab *el, const Env *env, const Ast *a)
{
    const char *name = family_name(el, env, a);
    return name ? lookup(el, env, name, a->loc) : ERROR_VALUE;
}

static ElabValue component(Elab *el, ElabValue v, const Ast *a)
{
    if (v.kind == VAL_ERROR)
        return v;
    if (v.kind != VAL_TUPLE) {
        diag_error(el->cx, a->loc, NULL, "only a tuple has components; this is %s", value_describe(el, v));
        return ERROR_VALUE;
    }
    if (a->integer >= (unsigned)v.count) {
        diag_error(el->cx, a->loc, NULL, "this tuple has the components .0 to .%d", v.count - 1);
        return ERROR_VALUE;
    }
    return v.items[(int)a->integer];
}

static const struct {
    const char *name;
    int         dim;
} extents[] = { { "width", 0 }, { "height", 1 }, { "channels", 2 } };

static ElabValue input_field(Elab *el, const Func *in, const Ast *a)
{
    for (int d = 0; d < in->rank; d++)
        if (in->args[d] == a->name)
            return (ElabValue){ .kind = VAL_DIM, .of = { in, d } };
    for (size_t i = 0; i < sizeof extents / sizeof *extents; i++)
        if (!strcmp(extents[i].name, a->name) && extents[i].dim < in->rank)
            return value_expr(expr_dim(el->pool, EX_DIM_EXTENT, in, extents[i].dim));
    Text t;
    text_init(&t, el->arena);
    for (int d = 0; d < in->rank; d++)
        text_printf(&t, "%s.%s", d ? ", " : "", in->args[d]);
    for (size_t i = 0; i < sizeof extents / sizeof *extents && extents[i].dim < in->rank; i++)
        text_printf(&t, ", .%s", extents[i].name);
    diag_error(el->cx, a->loc, arena_printf(el->arena, "it has %s", text_string(&t)), "the input `%s` has no `.%s`",
               in->name, a->name);
    return ERROR_VALUE;
}

static ElabValue dim_field(Elab *el, ElabValue v, const Ast *a)
{
    const Expr *min    = expr_dim(el->pool, EX_DIM_MIN, v.of.input, v.of.dim),
               *extent = expr_dim(el->pool, EX_DIM_EXTENT, v.of.input, v.of.dim);
    if (!strcmp(a->name, "min"))
        return value_expr(min);
    if (!strcmp(a->name, "extent"))
        return value_expr(extent);
    if (!strcmp(a->name, "max"))
        return value_expr(expr_binary(el->pool, EX_SUB, KN_I32, expr_binary(el->pool, EX_ADD, KN_I32, min, extent),
                                      expr_int(el->pool, KN_I32, 1)));
    diag_error(el->cx, a->loc, "it has .min, .extent and .max", "a dimension has no `.%s`", a->name);
    return ERROR_VALUE;
}

static ElabValue elab_field(Elab *el, const Env *env, const Ast *a)
{
    ElabValue v = elab_expr(el, env, a->kids[0]);
    if (!a->name)
        return component(el, v, a);
    if (v.kind == VAL_DIM)
        return dim_field(el, v, a);
    if (v.kind == VAL_FUNC && ref_input(v.func))
        return input_field(el, ref_input(v.func), a);
    if (v.kind == VAL_FUNC)
        diag_error(el->cx, a->loc, "a function is defined everywhere; the sizes of an input are in.width, in.x.min …",
                   "`%s` is not an input and has no `.%s`", v.func->func->name, a->name);
    else if (v.kind != VAL_ERROR)
        diag_error(el->cx, a->loc, NULL, "%s%s has no `.%s`", v.kind == VAL_EXPR ? "a value of type " : "",
                   value_describe(el, v), a->name);
    return ERROR_VALUE;
}

static ElabValue call_extern(Elab *el, const Env *env, const Entry *x, const Ast *call)
{
    const int     n      = x->item->target->count - 1;
    const kn_type result = elab_type(el, x->env, x->item->type);
    const Expr  **args   = ARENA_ARRAY(el->arena, const Expr *, (size_t)n);
    if (call->count - 1 != n) {
        diag_error(el->cx, call->loc, NULL, "`%s` has %d argument%s, but is called with %d", x->name, n,
                   n == 1 ? "" : "s", call->count - 1);
        return ERROR_VALUE;
    }
    bool ok = result != KN_NONE;
    for (int i = 0; i < n; i++) {
        const kn_type t = elab_type(el, x->env, x->item->target->kids[i + 1]);
        if (t == KN_NONE)
            return ERROR_VALUE;
        if (t == KN_F16 || t == KN_BF16 || result == KN_F16 || result == KN_BF16) {
            diag_error(el->cx, x->loc, "use f32", "a C function takes and returns no %s",
                       t == KN_F16 || result == KN_F16 ? "f16" : "bf16");
            return ERROR_VALUE;
        }
        args[i] = value_to_type(el, elab_expr(el, env, call->kids[i + 1]), t, call->kids[i + 1]->loc,
                                "the argument of the C function");
        ok &= args[i] != NULL;
    }
    return ok ? value_expr(expr_extern(el->pool, x->name, result, n, args)) : ERROR_VALUE;
}

/* A conversion: T(e). A weak value is converted as it is, so u8(300) wraps to 44 and f64(0.1) has all its digits. */
static ElabValue call_type(Elab *el, const Env *env, kn_type t, const Ast *call)
{
    if (call->count != 2) {
        diag_error(el->cx, call->loc, NULL, "a conversion takes one value, as in %s(e)", type_table[t].name);
        return ERROR_VALUE;
    }
    ElabValue v = elab_expr(el, env, call->kids[1]);
    if (v.kind == VAL_INT && !type_is_float(t))
        return value_expr(t == KN_BOOL ? expr_bool(el->pool, v.integer != 0)
                                       : expr_int(el->pool, t, (int64_t)v.integer));
    if (value_is_weak(v) && type_is_float(t))
        return value_expr(value_to_type(el, v, t, call->loc, "the conversion"));
    const Expr *e = value_to_expr(el, v, call->kids[1]->loc);
    return e ? value_expr(convert(el, e, t)) : ERROR_VALUE;
}

static ElabValue call_builtin(Elab *el, const Env *env, const Builtin *b, const Ast *call)
{
    const int n = call->count - 1;
    if (!call->clause && (n < b->min_args || (b->max_args >= 0 && n > b->max_args))) {
        diag_error(el->cx, call->loc, NULL,
                   b->min_args == b->max_args ? "`%s` takes %d argument%s, not %d"
                                              : "`%s` takes at least %d argument%s, not %d",
                   b->name, b->min_args, b->min_args == 1 ? "" : "s", n);
        return ERROR_VALUE;
    }
    if (call->clause && b->apply != apply_reduction && strcmp(b->name, "min") && strcmp(b->name, "max")) {
        diag_error(el->cx, call->clause->loc, "sum, product, min, max, all, any, argmin and argmax do",
                   "`%s` takes no `for`", b->name);
        return ERROR_VALUE;
    }
    return b->apply(el, env, call, b);
}

static ElabValue elab_call(Elab *el, const Env *env, const Ast *a)
{
    ElabValue f = elab_expr(el, env, a->kids[0]);
    if (a->clause && f.kind != VAL_BUILTIN && f.kind != VAL_ERROR) {
        diag_error(el->cx, a->clause->loc, "sum, product, min, max, all, any, argmin and argmax do",
                   "%s takes no `for`", value_describe(el, f));
        return ERROR_VALUE;
    }
    switch (f.kind) {
    case VAL_FUNC: return call_func(el, env, f.func, a);
    case VAL_TYPE: return call_type(el, env, f.type, a);
    case VAL_BUILTIN: return call_builtin(el, env, f.builtin, a);
    case VAL_EXTERN: return call_extern(el, env, f.entry, a);
    case VAL_TEMPLATE: return instantiate(el, env, f.entry, a, NULL);
    case VAL_ERROR: return f;
    default:
        diag_error(el->cx, a->loc, value_is_weak(f) || f.kind == VAL_EXPR ? "write * to multiply" : NULL,
                   "%s%s cannot be called", f.kind == VAL_EXPR ? "a value of type " : "", value_describe(el, f));
        return ERROR_VALUE;
    }
}

/* c ? a : b for each component of two values of one shape. */
static ElabValue select_value(Elab *el, const Expr *c, ElabValue a, Loc loc_a, ElabValue b, Loc loc_b)
{
    if (a.kind == VAL_ERROR || b.kind == VAL_ERROR)
        return ERROR_VALUE;
    if (a.kind == VAL_TUPLE || b.kind == VAL_TUPLE) {
        if (a.kind != b.kind || a.count != b.count) {
            diag_error(el->cx, loc_join(loc_a, loc_b), NULL, "the branches do not match: %s and %s",
                       value_describe(el, a), value_describe(el, b));
            return ERROR_VALUE;
        }
        ElabValue t = { .kind  = VAL_TUPLE,
                        .count = a.count,
                        .items = ARENA_ARRAY(el->arena, ElabValue, (size_t)a.count) };
        for (int i = 0; i < a.count; i++)
            t.items[i] = select_value(el, c, a.items[i], loc_a, b.items[i], loc_b);
        return t;
    }
    const Expr   *x, *y;
    const kn_type t = values_meet(el, a, loc_a, b, loc_b, "a choice", &x, &y);
    return t == KN_NONE ? ERROR_VALUE : value_expr(expr_ternary(el->pool, EX_SELECT, t, c, x, y));
}

/* A compile-time condition selects a branch now: the other may then have another type, or be invalid. */
static ElabValue elab_if(Elab *el, const Env *env, const Ast *a)
{
    const Ast  *cond = a->kids[0], *yes = a->kids[1], *no = a->kids[2];
    ElabValue   v = elab_expr(el, env, cond);
    const Expr *c = value_to_bool(el, v, cond->loc);
    bool        known;
    if (c && value_known_bool(v, &known))
        return elab_expr(el, env, known ? yes : no);
    ElabValue x = elab_expr(el, env, yes), y = elab_expr(el, env, no);
    return c ? select_value(el, c, x, yes->loc, y, no->loc) : ERROR_VALUE;
}

static ElabValue elab_block(Elab *el, const Env *env, const Ast *a)
{
    for (int i = 0; i + 1 < a->count; i++)
        env = env_push(el, env, a->names[i], elab_expr(el, env, a->kids[i]));
    return elab_expr(el, env, a->kids[a->count - 1]);
}

static ElabValue elab_tuple(Elab *el, const Env *env, const Ast *a)
{
    if (a->count > TUPLE_MAX) {
        diag_error(el->cx, a->loc, NULL, "a tuple has at most %d components", TUPLE_MAX);
        return ERROR_VALUE;
    }
    ElabValue t = { .kind  = VAL_TUPLE,
                    .count = a->count,
                    .items = ARENA_ARRAY(el->arena, ElabValue, (size_t)a->count) };
    for (int i = 0; i < a->count; i++) {
        t.items[i] = elab_expr(el, env, a->kids[i]);
        if (t.items[i].kind == VAL_ERROR)
            return ERROR_VALUE;
        if (t.items[i].kind == VAL_TUPLE) {
            diag_error(el->cx, a->kids[i]->loc, NULL, "a tuple has no tuples inside");
            return ERROR_VALUE;
        }
    }
    return t;
}

static ElabValue elab_int(Elab *el, const Env *env, const Ast *a)
{
    (void)el, (void)env;
    return a->integer >> 64 ? ERROR_VALUE : value_int((__int128)a->integer);
}

static ElabValue elab_float(Elab *el, const Env *env, const Ast *a)
{
    (void)el, (void)env;
    return (ElabValue){ .kind = VAL_FLOAT, .real = a->real, .real32 = a->real32 };
}

static ElabValue elab_name(Elab *el, const Env *env, const Ast *a)
{
    return lookup(el, env, a->name, a->loc);
}

static ElabValue elab_unary(Elab *el, const Env *env, const Ast *a)
{
    ElabValue v = elab_expr(el, env, a->kids[0]);
    return v.kind == VAL_ERROR ? v : unary_value(el, a->op, v, a->loc);
}

static ElabValue elab_binary(Elab *el, const Env *env, const Ast *a)
{
    ElabValue x = elab_expr(el, env, a->kids[0]), y = elab_expr(el, env, a->kids[1]);
    ElabValue v = binary_value(el, a->op, x, a->kids[0]->loc, y, a->kids[1]->loc);
    if (a->op == T_DIV || a->op == T_SHR)
        warn_dividend(el, x, a->kids[0]->loc);
    warn_comparison(el, env, v, a->loc);
    return v;
}

static ElabValue elab_misplaced(Elab *el, const Env *env, const Ast *a)
{
    (void)env;
    if (a->kind != AST_ERROR)
        diag_error(el->cx, a->loc, NULL,
                   a->kind == AST_REST ? "`..` stands only among the arguments of a call"
                                       : "a range has no meaning here");
    return ERROR_VALUE;
}

/* clang-format off */
static ElabValue (*const elab_kind[])(Elab *el, const Env *env, const Ast *a) = {
    [AST_ERROR] = elab_misplaced, [AST_INT] = elab_int,     [AST_FLOAT] = elab_float,   [AST_NAME] = elab_name,
    [AST_INDEX] = elab_index,     [AST_FIELD] = elab_field, [AST_CALL] = elab_call,     [AST_UNARY] = elab_unary,
    [AST_BINARY] = elab_binary,   [AST_IF] = elab_if,       [AST_BLOCK] = elab_block,   [AST_TUPLE] = elab_tuple,
    [AST_RANGE] = elab_misplaced, [AST_REST] = elab_misplaced,
};
/* clang-format on */

ElabValue elab_expr(Elab *el, const Env *env, const Ast *a)
{
    context_spend(el->cx, EXPR_COST);
    if (el->depth > ELAB_MAX_DEPTH) {
        if (!el->too_deep) /* reported once */
            diag_error(el->cx, a->loc, "name parts of it as functions", "this expression is too deep");
        el->too_deep = true;
        return ERROR_VALUE;
    }
    el->depth++;
    ElabValue v = elab_kind[a->kind](el, env, a);
    el->depth--;
    if (el->pool->too_deep) {
        el->pool->too_deep = false;
        diag_error(el->cx, a->loc, "make a function of a part of it", "this expression is more than %d operations deep",
                   EXPR_MAX_DEPTH);
        return ERROR_VALUE;
    }
    return v;
}

bool elab_known_int(Elab *el, const Env *env, const Ast *a, const char *what, __int128 *out)
{
    ElabValue v = elab_expr(el, env, a);
    if (v.kind == VAL_ERROR || value_known_int(v, out))
        return v.kind != VAL_ERROR;
    diag_error(el->cx, a->loc, "it may use literals, constants and the variables of `repeat`",
               "%s must be an integer that is known here", what);
    return false;
}

kn_type elab_type(Elab *el, const Env *env, const Ast *a)
{
    if (a->kind == AST_ERROR)
        return KN_NONE;
    if (a->kind == AST_NAME && !is_known(env, a->name) && kn_type_from_name(a->name) == KN_NONE) {
        const char *suggestion = text_did_you_mean(el->arena, suggest_type(a->name));
        diag_error(el->cx, a->loc,
                   suggestion ? suggestion : "the types are bool u8 u16 u32 u64 i8 i16 i32 i64 f16 bf16 f32 f64",
                   "`%s` is not a type", a->name);
        return KN_NONE;
    }
    ElabValue v = elab_expr(el, env, a);
    if (v.kind != VAL_TYPE && v.kind != VAL_ERROR)
        diag_error(el->cx, a->loc, NULL, "a type is needed here, this is %s", value_describe(el, v));
    return v.kind == VAL_TYPE ? v.type : KN_NONE;
}
