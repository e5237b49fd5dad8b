/* SPDX-License-Identifier: MIT */
/* Boundaries: what a function is outside a box.
 *
 * A boundary is a rewriting of coordinates, per dimension with min m and extent e, made where the function is called:
 *
 *     edge             m + clamp(x - m, 0, e-1)                               a a | a b c | c c
 *     wrap             m + (x - m) mod e                                      b c | a b c | a b
 *     mirror           t = (x - m) mod 2e,            m + min(t, 2e-1-t)      b a | a b c | c b
 *     mirror_interior  t = (x - m) mod max(2e-2, 1),  m + min(t, 2e-2-t)      c b | a b c | b a
 *     constant         f(edge) inside the box, v outside
 *
 * The result is clamped into the box in every case, so that the region read is never larger than it. */
#include "lang/elab.h"

typedef struct Boundary {
    const char *name;
    const Expr *(*index)(Elab *el, const Expr *x, const Expr *min, const Expr *extent);
    bool has_value;
} Boundary;

static const Expr *i32(Elab *el, int64_t v)
{
    return expr_int(el->pool, KN_I32, v);
}

/* a o b, with the zeros of a box that begins at 0 left out. */
static const Expr *op(Elab *el, ExprOp o, const Expr *a, const Expr *b)
{
    int64_t v;
    if ((o == EX_ADD || o == EX_SUB) && expr_is_int(b, &v) && v == 0)
        return a;
    if (o == EX_ADD && expr_is_int(a, &v) && v == 0)
        return b;
    return expr_binary(el->pool, o, KN_I32, a, b);
}

static const Expr *last_of(Elab *el, const Expr *min, const Expr *extent)
{
    return op(el, EX_SUB, op(el, EX_ADD, min, extent), i32(el, 1));
}

static const Expr *edge_index(Elab *el, const Expr *x, const Expr *min, const Expr *extent)
{
    return op(el, EX_MIN, op(el, EX_MAX, x, min), last_of(el, min, extent));
}

static const Expr *wrap_index(Elab *el, const Expr *x, const Expr *min, const Expr *extent)
{
    return edge_index(el, op(el, EX_ADD, min, op(el, EX_MOD, op(el, EX_SUB, x, min), extent)), min, extent);
}

/* min + min(t, last - t) with t = (x - min) mod period */
static const Expr *fold_back(Elab *el, const Expr *x, const Expr *min, const Expr *extent, const Expr *period,
                             const Expr *last)
{
    const Expr *t = op(el, EX_MOD, op(el, EX_SUB, x, min), period);
    return edge_index(el, op(el, EX_ADD, min, op(el, EX_MIN, t, op(el, EX_SUB, last, t))), min, extent);
}

static const Expr *mirror_index(Elab *el, const Expr *x, const Expr *min, const Expr *extent)
{
    const Expr *twice = op(el, EX_MUL, extent, i32(el, 2));
    return fold_back(el, x, min, extent, twice, op(el, EX_SUB, twice, i32(el, 1)));
}

static const Expr *interior_index(Elab *el, const Expr *x, const Expr *min, const Expr *extent)
{
    const Expr *last = op(el, EX_SUB, op(el, EX_MUL, extent, i32(el, 2)), i32(el, 2));
    return fold_back(el, x, min, extent, op(el, EX_MAX, last, i32(el, 1)), last);
}

static const Boundary boundaries[] = {
    { "edge", edge_index, false },     { "constant", edge_index, true },
    { "mirror", mirror_index, false }, { "mirror_interior", interior_index, false },
    { "wrap", wrap_index, false },
};

static const Boundary *boundary_find(const char *name)
{
    for (size_t i = 0; i < sizeof boundaries / sizeof *boundaries; i++)
        if (!strcmp(boundaries[i].name, name))
            return &boundaries[i];
    return NULL;
}

/* min <= x && x < min + extent over all dimensions with a boundary. */
static const Expr *inside(Elab *el, const FuncRef *f, const Expr *const *args)
{
    const Expr *all = NULL;
    for (int d = 0; d < ref_rank(f); d++) {
        if (!f->extent[d])
            continue;
        const Expr *low  = expr_binary(el->pool, EX_LE, KN_BOOL, f->min[d], args[d]);
        const Expr *high = expr_binary(el->pool, EX_LE, KN_BOOL, args[d], last_of(el, f->min[d], f->extent[d]));
        const Expr *both = expr_binary(el->pool, EX_AND, KN_BOOL, low, high);
        all              = all ? expr_binary(el->pool, EX_AND, KN_BOOL, all, both) : both;
    }
    return all;
}

/* The value of a function, perhaps through a boundary, at these coordinates. */
ElabValue call_ref(Elab *el, const FuncRef *f, const Expr *const *args)
{
    const Func *func = f->func;
    if (f->boundary) {
        const Expr *moved[KN_MAX_RANK];
        for (int d = 0; d < func->rank; d++)
            moved[d] = f->extent[d] ? f->boundary->index(el, args[d], f->min[d], f->extent[d]) : args[d];
        ElabValue   v      = call_ref(el, f->base, moved);
        const Expr *within = f->boundary->has_value ? inside(el, f, args) : NULL;
        if (!within)
            return v;
        if (v.kind == VAL_EXPR)
            return value_expr(expr_ternary(el->pool, EX_SELECT, (kn_type)v.expr->type, within, v.expr, f->outside[0]));
        for (int i = 0; i < v.count; i++)
            v.items[i].expr = expr_ternary(el->pool, EX_SELECT, func->types[i], within, v.items[i].expr, f->outside[i]);
        return v;
    }
    if (func->component_count == 1)
        return value_expr(expr_call(el->pool, func, 0, func->types[0], func->rank, args));
    ElabValue t = { .kind  = VAL_TUPLE,
                    .count = func->component_count,
                    .items = ARENA_ARRAY(el->arena, ElabValue, (size_t)func->component_count) };
    for (int i = 0; i < t.count; i++)
        t.items[i] = value_expr(expr_call(el->pool, func, i, func->types[i], func->rank, args));
    return t;
}

/* x: lo..hi */
static bool named_range(Elab *el, const Env *env, FuncRef *r, const Ast *label, const Ast *range)
{
    int d = 0;
    if (range->kind != AST_RANGE || !label || label->kind != AST_NAME) {
        diag_error(el->cx, range->loc,
                   "the region is given as edge(f, x: 0..w, y: 0..h); coordinates stand behind: edge(in)(x, y)",
                   "the range of a dimension is needed here");
        return false;
    }
    while (d < r->func->rank && r->func->args[d] != label->name)
        d++;
    if (d == r->func->rank) {
        diag_error(el->cx, label->loc, NULL, "`%s` has no dimension `%s`", r->func->name, label->name);
        return false;
    }
    if (r->extent[d]) {
        diag_error(el->cx, label->loc, NULL, "the range of `%s` is given twice", label->name);
        return false;
    }
    ElabValue   lo = elab_expr(el, env, range->kids[0]), hi = elab_expr(el, env, range->kids[1]);
    const Expr *from = value_to_index(el, lo, range->kids[0]->loc), *to = value_to_index(el, hi, range->kids[1]->loc);
    if (!from || !to)
        return false;
    __int128 a, b;
    if (value_known_int(lo, &a) && value_known_int(hi, &b) && b <= a) {
        diag_error(el->cx, range->loc, NULL, "this range is empty: a boundary needs at least one point to repeat");
        return false;
    }
    r->min[d] = from;
    r->extent[d] =
        binary_value(el, T_SUB, value_expr(to), range->kids[1]->loc, value_expr(from), range->kids[0]->loc).expr;
    r->extent[d] = from->op == EX_INT && from->u.i == 0 ? to : r->extent[d];
    return true;
}

/* The value outside, per component of the function. */
static bool outside_value(Elab *el, const Env *env, FuncRef *r, const Ast *a)
{
    ElabValue v = elab_expr(el, env, a);
    const int n = r->func->component_count;
    if (v.kind == VAL_ERROR)
        return false;
    if (v.kind == VAL_TUPLE ? v.count != n : n != 1) {
        diag_error(el->cx, a->loc, NULL, "`%s` has %d components, so the value outside has as many", r->func->name, n);
        return false;
    }
    r->outside = ARENA_ARRAY(el->arena, const Expr *, (size_t)n);
    for (int i = 0; i < n; i++) {
        r->outside[i] =
            value_to_type(el, v.kind == VAL_TUPLE ? v.items[i] : v, r->func->types[i], a->loc, "the function");
        if (!r->outside[i])
            return false;
    }
    return true;
}

ElabValue apply_boundary(Elab *el, const Env *env, const Ast *call, const Builtin *b)
{
    ElabValue f = elab_expr(el, env, call->kids[1]);
    if (f.kind == VAL_ERROR)
        return f;
    if (f.kind != VAL_FUNC || call->labels[1]) {
        diag_error(el->cx, call->kids[1]->loc, "as in edge(in)(x, y)", "`%s` goes around a function, this is %s",
                   b->name, value_describe(el, f));
        return ERROR_VALUE;
    }
    FuncRef r = { .boundary = boundary_find(b->name), .func = f.func->func, .base = f.func };
    int     i = 2;
    if (r.boundary->has_value && !outside_value(el, env, &r, call->kids[i++]))
        return ERROR_VALUE;
    const bool  ranges = i < call->count;
    const Func *in     = ref_input(f.func);
    if (!ranges && !in) {
        diag_error(el->cx, call->loc,
                   arena_printf(el->arena, "give it: %s(%s, x: 0..w, y: 0..h)", b->name, r.func->name),
                   "`%s` is not an input: its boundary needs a region", r.func->name);
        return ERROR_VALUE;
    }
    for (int d = 0; !ranges && d < in->rank; d++) {
        r.min[d]    = expr_dim(el->pool, EX_DIM_MIN, in, d);
        r.extent[d] = expr_dim(el->pool, EX_DIM_EXTENT, in, d);
    }
    for (; i < call->count; i++)
        if (!named_range(el, env, &r, call->labels[i], call->kids[i]))
            return ERROR_VALUE;
    return (ElabValue){ .kind = VAL_FUNC, .func = ref_intern(el, &r) };
}
