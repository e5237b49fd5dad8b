/* SPDX-License-Identifier: MIT */
/* The range of an expression, whatever sizes, parameters and pixels are given: see value_range.h.
 *
 * Takes   an expression.
 * Gives   its range by the rules of interval.c. A call is followed into the function: the range of its pure definition
 *         joined with those of its updates. Recursive updates are iterated a few times.
 * Holds   a range that does not reach a fixed point is the whole type. Each function is asked once. */
#include "analysis/value_range.h"
#include "ir/stmt.h"

enum { ROUNDS = 3 };

static Range range_of(ValueRanges *v, Map *memo, const Expr *e);

/* The declared range of a parameter. */
static Range param_range(const Expr *e)
{
    const Param  *q    = e->u.param;
    const kn_type type = (kn_type)e->type;
    if (!q->has_range)
        return range_of_type(type);
    Range lo = range_of_scalar(type, q->lo), hi = range_of_scalar(type, q->hi);
    if (type_is_float(type))
        return range_float(lo.flo, hi.fhi, false);
    return range_int(lo.lo, wide_max(lo.lo, hi.hi - 1));
}

static Range *whole_types(ValueRanges *v, const Func *f)
{
    Range *r = ARENA_ARRAY(v->arena, Range, (size_t)f->component_count);
    for (int c = 0; c < f->component_count; c++)
        r[c] = range_of_type(f->types[c]);
    return r;
}

/* One iteration: joins the values of the updates, given the range so far. True: a fixed point. */
static bool join_definitions(ValueRanges *v, const Func *f, Range *r)
{
    bool fixed_point = true;
    Map  memo;
    map_init(&memo, v->arena);
    for (int u = 0; u < f->update_count; u++)
        for (int c = 0; c < f->component_count; c++) {
            const Range joined = range_union(f->types[c], r[c], range_of(v, &memo, f->updates[u].values[c]));
            fixed_point        = fixed_point && range_equal(f->types[c], joined, r[c]);
            r[c]               = joined;
        }
    return fixed_point;
}

static const Range *function_range(ValueRanges *v, const Func *f)
{
    if (v->of[f->id])
        return v->of[f->id];
    if (f->kind != FUNC_DEFINED || v->asking[f->id])
        return v->of[f->id] = whole_types(v, f);
    Range *r         = ARENA_ARRAY(v->arena, Range, (size_t)f->component_count);
    v->asking[f->id] = true;
    Map memo;
    map_init(&memo, v->arena);
    for (int c = 0; c < f->component_count; c++)
        r[c] = range_of(v, &memo, f->values[c]);
    v->of[f->id]     = r;
    bool fixed_point = f->update_count == 0;
    for (int round = 0; round < ROUNDS && !fixed_point; round++)
        fixed_point = join_definitions(v, f, r);
    v->asking[f->id]    = false;
    return v->of[f->id] = fixed_point ? r : whole_types(v, f);
}

static Range compute_range(ValueRanges *v, Map *memo, const Expr *e)
{
    const kn_type type = (kn_type)e->type;
    switch ((ExprOp)e->op) {
    case EX_INT: return range_int(e->u.i, e->u.i);
    case EX_FLOAT: return range_of_scalar(type, kn_float(e->u.f));
    case EX_VAR: return type == KN_I32 ? range_int(-MOST_COORDINATE, MOST_COORDINATE) : range_of_type(type);
    case EX_PARAM: return param_range(e);
    case EX_CALL: return function_range(v, e->u.call.func)[e->u.call.index];
    case EX_SELECT: return range_union(type, range_of(v, memo, e->args[1]), range_of(v, memo, e->args[2]));
    case EX_AND:
    case EX_OR:
    case EX_EXTERN:
    case EX_LOAD:
    case EX_DIM_MIN:
    case EX_DIM_EXTENT: return range_of_type(type);
    default: break;
    }
    Range args[3];
    for (uint32_t i = 0; i < e->count && i < 3; i++)
        args[i] = range_of(v, memo, e->args[i]);
    return range_apply((ExprOp)e->op, type, (kn_type)e->args[0]->type, args);
}

static Range range_of(ValueRanges *v, Map *memo, const Expr *e)
{
    const Range *known = map_get(memo, e);
    if (known)
        return *known;
    context_spend(v->cx, 1);
    Range *r = ARENA_NEW(v->arena, Range);
    *r       = compute_range(v, memo, e);
    map_set(memo, e, r);
    return *r;
}

void value_ranges_init(ValueRanges *v, kn_context *cx, int functions, Arena *arena)
{
    *v = (ValueRanges){ .cx     = cx,
                        .arena  = arena,
                        .of     = ARENA_ARRAY(arena, Range *, (size_t)functions),
                        .asking = ARENA_ARRAY(arena, bool, (size_t)functions) };
    map_init(&v->memo, arena);
}

Range value_range_of(ValueRanges *v, const Expr *e)
{
    return range_of(v, &v->memo, e);
}

Range value_range_component(ValueRanges *v, const Func *f, int component)
{
    return function_range(v, f)[component];
}
