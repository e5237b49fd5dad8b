/* SPDX-License-Identifier: MIT */
/* The work of a point: operations, weighted by throughput, and elements read.
 *
 * Each node of an expression counts once, however often it is used: the compiler computes it once. Invariants count
 * nothing, even if they differ from step to step of a sum (weights computed from the step's number). Neither do
 * indices, unless they depend on data or are computed in floats, as a warp's are. The unit is an operation on a vector
 * of the node's widest type: a u8 operation in a u32 node is a quarter. */
#include "schedulers/graph/graph_internal.h"

#include <math.h>

/* Weights for integers and for floats; 0 stands for 1. */
typedef struct Weight {
    float whole, real;
} Weight;

/* clang-format off */
static const Weight weights[EX_COUNT] = {
    [EX_EXTERN] = { 20, 20 }, [EX_DIV] = { 20, 4 },  [EX_MOD] = { 22, 4 },     [EX_SAT_CAST] = { 2, 2 },
                    [EX_MUL_SHIFT] = { 3, 3 },
    [EX_POPCOUNT] = { 3, 3 }, [EX_CLZ] = { 3, 3 },   [EX_ABSD] = { 2, 2 },     [EX_SQRT] = { 5, 5 },
                          [EX_RSQRT] = { 6, 6 },
    [EX_EXP] = { 14, 14 },    [EX_LOG] = { 16, 16 }, [EX_POW] = { 32, 32 },    [EX_SIN] = { 20, 20 },
                    [EX_COS] = { 20, 20 },
    [EX_TAN] = { 28, 28 },    [EX_ATAN2] = { 30, 30 }, [EX_TANH] = { 22, 22 }, [EX_ERF] = { 24, 24 },
};
/* clang-format on */

/* Instructions of a thread of a device, which has no vectors: ptxas gets so many for f32. 0 stands for the weight. */
static const float lane_weights[EX_COUNT] = {
    [EX_EXP] = 58, [EX_LOG] = 74,  [EX_POW] = 240,  [EX_SIN] = 76, [EX_COS] = 74,
    [EX_TAN] = 78, [EX_TANH] = 78, [EX_ATAN2] = 64, [EX_ERF] = 86,
};

void formulas_init(Formulas *f, kn_pipeline *p, Arena *arena)
{
    *f = (Formulas){ .properties = ARENA_ARRAY(arena, uint8_t, p->exprs.count),
                     .seen       = ARENA_ARRAY(arena, uint32_t, p->exprs.count),
                     .moves      = ARENA_ARRAY(arena, uint32_t, p->exprs.count),
                     .planes     = ARENA_ARRAY(arena, uint32_t, p->exprs.count) };
}

enum { KNOWN = 1, VARIES = 2, CALLS = 4, SIZED = 8, FLOATS = 16 };

/* Does it depend on the point, call a function, use a size, compute in floats? */
static int properties(Formulas *f, const Expr *e)
{
    uint8_t *answer = &f->properties[e->id];
    if (!*answer) {
        int all = KNOWN | (e->op == EX_VAR ? VARIES : 0) | (e->op == EX_CALL ? CALLS : 0) |
                  (e->op == EX_DIM_MIN || e->op == EX_DIM_EXTENT ? SIZED : 0) |
                  (type_is_float((kn_type)e->type) ? FLOATS : 0);
        for (uint32_t i = 0; i < e->count; i++)
            all |= properties(f, e->args[i]);
        *answer = (uint8_t)all;
    }
    return *answer;
}

bool formulas_read(Formulas *f, const Expr *e)
{
    return (properties(f, e) & VARIES) && (properties(f, e) & (CALLS | FLOATS));
}

static bool first_visit(Formulas *f, const Expr *e)
{
    const bool first = f->seen[e->id] != f->stamp;
    f->seen[e->id]   = f->stamp;
    return first;
}

/* ---- Weights ---------------------------------------------------------------------------- */

static double division_weight(const Expr *e, bool is_real)
{
    int         exponent;
    int64_t     by;
    const Expr *divisor = e->args[1];
    if (divisor->op == EX_FLOAT)
        return fabs(frexp(divisor->u.f, &exponent)) == 0.5 ? OPS_BY_POWER : weights[e->op].real;
    if (!expr_is_int(divisor, &by))
        return is_real ? weights[e->op].real : weights[e->op].whole;
    return by > 0 && (by & (by - 1)) == 0 ? OPS_BY_POWER : OPS_BY_CONSTANT;
}

/* A sum with a product becomes a fused multiply-add. */
static bool is_contracted(const Expr *e)
{
    if ((e->op != EX_ADD && e->op != EX_SUB) || e->strict)
        return false;
    return e->args[0]->op == EX_MUL || e->args[1]->op == EX_MUL;
}

/* A condition on coordinates, and what it selects: loops are partitioned where it changes, so that it is free inside.
 */
static bool is_partitioned(Formulas *f, const Expr *e)
{
    const Expr *condition = e->op == EX_SELECT ? e->args[0] : e;
    return condition->type == KN_BOOL && !(properties(f, condition) & CALLS);
}

static double weight_of(Formulas *f, const Expr *e)
{
    const kn_type type    = (kn_type)e->type;
    const bool    is_real = type_is_float(type) || (e->count && type_is_float((kn_type)e->args[0]->type));
    const bool    no_op   = e->count == 0 || e->op == EX_CALL || e->op == EX_REINTERPRET;
    if (no_op || is_partitioned(f, e) || (is_real && is_contracted(e)))
        return 0;
    if (e->op == EX_DIV || e->op == EX_MOD)
        return division_weight(e, is_real);
    if (e->op == EX_CAST && type_bits(type) == type_bits((kn_type)e->args[0]->type) && !is_real)
        return 0;
    const float w = is_real ? weights[e->op].real : weights[e->op].whole;
    return w > 0 ? w : 1;
}

static int bits_of(kn_type type)
{
    return type_bits(type) < 8 ? 8 : type_bits(type);
}

/* The width that the operation works at: of conversions the wider side, of comparisons that of the operands. */
static int width_of(const Expr *e)
{
    int bits = bits_of((kn_type)e->type);
    for (uint32_t i = 0; i < e->count && e->op != EX_CALL && e->op != EX_SELECT; i++)
        bits = bits_of((kn_type)e->args[i]->type) > bits ? bits_of((kn_type)e->args[i]->type) : bits;
    return bits;
}

/* ---- Definitions ------------------------------------------------------------------------ */

typedef struct Walk {
    Formulas     *formulas;
    GraphNode    *node; /* where widths are collected; else NULL */
    const Func   *func;
    const Update *update;
    int           wide;
    Work         *work;
} Walk;

static void note_width(GraphNode *s, kn_type type)
{
    const int bits = bits_of(type);
    s->narrow      = s->narrow == 0 || bits < s->narrow ? bits : s->narrow;
    s->wide        = bits > s->wide ? bits : s->wide;
}

/* Does it depend on a coordinate or on data, and not on steps alone? */
static bool moves(const Walk *w, const Expr *e)
{
    uint32_t *answer = &w->formulas->moves[e->id];
    if (*answer / 2 != w->formulas->stamp) {
        bool yes = e->op == EX_CALL || e->op == EX_VAR;
        for (int i = 0; e->op == EX_VAR && w->update && i < w->update->rvar_count; i++)
            yes &= w->update->rvars[i].name != e->u.name;
        for (uint32_t i = 0; i < e->count && !yes; i++)
            yes = moves(w, e->args[i]);
        *answer = 2 * w->formulas->stamp + yes;
    }
    return *answer & 1;
}

/* Is it over the planes: the last of three arguments or more? */
static bool is_of_planes(const Walk *w, const Expr *e)
{
    uint32_t *answer = &w->formulas->planes[e->id];
    if (*answer / 2 != w->formulas->stamp) {
        bool yes = e->op == EX_VAR && e->u.name == w->func->args[w->func->rank - 1];
        for (uint32_t i = 0; i < e->count && !yes; i++)
            yes = is_of_planes(w, e->args[i]);
        *answer = 2 * w->formulas->stamp + yes;
    }
    return *answer & 1;
}

static void walk(Walk *w, const Expr *e);

/* Indices are addresses; one that is read from memory or computed in floats makes a gather. */
static void walk_call(Walk *w, const Expr *e)
{
    for (uint32_t i = 0; i < e->count; i++) {
        if (!(properties(w->formulas, e->args[i]) & (CALLS | FLOATS)))
            continue;
        if (w->work && formulas_read(w->formulas, e->args[i]))
            w->work->gathers = true;
        walk(w, e->args[i]);
    }
    const bool own = call_is_own_place(w->func, w->update, e);
    if (w->work && !own)
        w->work->loads++;
    if (w->work && own)
        w->work->adds = true;
}

/* The widths of an operation's value and of what it loads. A float conversion of a loaded value is widened by the load.
 * A widened integer may be narrowed again (plan/narrow.c). */
static void note_widths(Walk *w, const Expr *e)
{
    if (!w->node || e->op == EX_VAR)
        return;
    if (e->op != EX_CALL && e->type != KN_BOOL)
        note_width(w->node, (kn_type)e->type);
    for (uint32_t i = 0; i < e->count && !(e->op == EX_CAST && type_is_float((kn_type)e->type)); i++)
        if (e->args[i]->op == EX_CALL && e->args[i]->type != KN_BOOL)
            note_width(w->node, (kn_type)e->args[i]->type);
}

static void walk(Walk *w, const Expr *e)
{
    if (!(properties(w->formulas, e) & VARIES) || !first_visit(w->formulas, e))
        return;
    note_widths(w, e);
    if (e->op == EX_CALL) {
        walk_call(w, e);
        return;
    }
    if (w->work && moves(w, e)) {
        const double ops = weight_of(w->formulas, e) * width_of(e) / w->wide;
        w->work->ops += ops;
        w->work->lane_ops += lane_weights[e->op] > 0 ? lane_weights[e->op] : ops;
        w->work->plane_invariant += w->func->rank > 2 && !is_of_planes(w, e) ? ops : 0;
    }
    for (uint32_t i = 0; i < e->count; i++)
        walk(w, e->args[i]);
}

static void walk_root(Walk *w, const Expr *e)
{
    if (w->node)
        w->node->reads_size |= (properties(w->formulas, e) & SIZED) != 0;
    walk(w, e);
}

static void walk_definition(Walk *w, int update)
{
    const Func *f = w->func;
    w->update     = update < 0 ? NULL : &f->updates[update];
    w->formulas->stamp++;
    for (int c = 0; c < f->component_count; c++)
        walk_root(w, w->update ? w->update->values[c] : f->values[c]);
    if (!w->update)
        return;
    if (w->update->where)
        walk_root(w, w->update->where);
    for (int d = 0; d < f->rank; d++)
        if (properties(w->formulas, w->update->args[d]) & CALLS)
            walk_root(w, w->update->args[d]);
}

void formulas_widths(Formulas *f, GraphNode *s)
{
    Walk w = { .formulas = f, .node = s, .func = s->func };
    for (int c = 0; c < s->func->component_count; c++)
        note_width(s, s->func->types[c]);
    for (int d = 0; d < s->def_count && s->func->kind == FUNC_DEFINED; d++)
        walk_definition(&w, d - 1);
}

void formulas_work(Formulas *f, const GraphNode *s, int update, Work *out)
{
    Walk w = { .formulas = f, .func = s->func, .wide = s->wide, .work = out };
    walk_definition(&w, update);
}
