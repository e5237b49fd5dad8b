/* SPDX-License-Identifier: MIT */
/* Narrowing: integers are stored with the bits that their consumers need (demanded bits), and that their values have.
 *
 * Takes   functions as they will be computed: inlined ones are gone.
 * Gives   the same, but for components of integers of which every reader needs only the low 16 or 32 bits: those are of
 *         the unsigned type of that width, what is stored is converted to it, and what is read is converted back.
 *         u16(sum(w * in(x+r))) adds in i32; its sum needs 16 bits. Likewise, on CPUs, components all values of which
 *         lie in a type of 16 or 32 bits: a sum of 25 bytes needs 16, whatever it is declared as.
 * Holds   outputs, what extern stages read, and what indices and bounds depend on, stay. Sums, differences, products
 * and bit operations of wrapping integers need of their operands the bits that are needed of them, and no more; so do
 * both branches of `if`, and conversions to integers. All other operations, indices, conditions and bounds need all
 * bits. A function that reads itself is as wide as the widest of its reads. A conversion is passed down to the leaves,
 * so that f(x) = f(x) + e stays of that form. Not below 16 bits: vectors have no products of bytes. */
#include "analysis/value_range.h"
#include "plan/planner.h"

enum {
    LEAST_BITS = 16,
    IN_INDEX   = 128 /* above all widths: an index depends on it, and the bounds of that follow from its definition */
};

/* ---- What values there are --------------------------------------------------------------- */

/* The step that a sum f(…) = f(…) + e adds; NULL: it is another update. */
static const Expr *added_step(const Func *f, int component)
{
    const Expr *value = f->updates[0].values[component];
    for (int i = 0; i < 2 && value->op == EX_ADD; i++) {
        const Expr *call = value->args[i];
        if (call->op == EX_CALL && call->u.call.func == f && (int)call->u.call.index == component)
            return value->args[1 - i];
    }
    return NULL;
}

/* The range of a component. Sums of a constant number of steps have as many times the range of a step. */
static Range component_range(ValueRanges *v, ExprPool *pool, const Func *f, int component)
{
    const bool     sum   = f->update_count == 1 && !f->updates[0].gone && added_step(f, component);
    const DefFacts facts = sum ? def_facts(pool, f, 0) : (DefFacts){ 0 };
    if (!facts.combines || facts.steps <= 0)
        return value_range_component(v, f, component);
    const Range init = value_range_of(v, f->values[component]), step = value_range_of(v, added_step(f, component));
    if (facts.steps > INT32_MAX || !range_within(KN_I32, step) || !range_within(KN_I32, init))
        return range_of_type(f->types[component]);
    return range_int(init.lo + facts.steps * wide_min(step.lo, 0), init.hi + facts.steps * wide_max(step.hi, 0));
}

/* The narrowest type that has all values of a component. */
static kn_type type_of_range(ValueRanges *v, ExprPool *pool, const Func *f, int component)
{
    static const kn_type narrower[] = { KN_U16, KN_I16, KN_U32, KN_I32 };
    const kn_type        type       = f->types[component];
    if (!type_is_int(type) || type_bits(type) <= LEAST_BITS)
        return type;
    const Range r = component_range(v, pool, f, component);
    for (size_t i = 0; i < sizeof narrower / sizeof *narrower; i++)
        if (type_bits(narrower[i]) < type_bits(type) && range_within(narrower[i], r))
            return narrower[i];
    return type;
}

/* ---- How many bits are needed ----------------------------------------------------------- */

typedef struct Needs {
    Planner  *pl;
    uint8_t **bits; /* by draft and component: 0 if nothing reads it */
    kn_type **type; /* by draft and component: the narrowest that has all its values */
    Map       seen; /* expression -> the bits that it was walked with */
    bool      deep; /* there is no room for conversions */
} Needs;

/* 16, 32 or 64 bits that so many fit in. */
static int round_bits(int bits)
{
    return bits <= LEAST_BITS ? LEAST_BITS : bits <= 32 ? 32 : 64;
}

/* Does an operation need of its operands just the low bits that are needed of it? */
static bool is_ring(const Expr *e)
{
    switch ((ExprOp)e->op) {
    case EX_ADD:
    case EX_SUB:
    case EX_MUL:
    case EX_NEG:
    case EX_BIT_AND:
    case EX_BIT_OR:
    case EX_BIT_XOR:
    case EX_BIT_NOT: return type_is_int((kn_type)e->type);
    default: return false;
    }
}

static bool is_int_cast(const Expr *e)
{
    return e->op == EX_CAST && type_is_int((kn_type)e->type) && type_is_int((kn_type)e->args[0]->type);
}

static void need(Needs *n, const Expr *e, int bits)
{
    n->deep |= e->depth > EXPR_MAX_DEPTH / 2;
    const int most = round_bits(type_bits((kn_type)e->type));
    bits           = bits < most || bits == IN_INDEX ? bits : most;
    if ((intptr_t)map_get(&n->seen, e) >= bits)
        return;
    map_set(&n->seen, e, (void *)(intptr_t)bits);
    context_spend(n->pl->cx, 1);
    if (e->op == EX_CALL) {
        uint8_t  *of  = &n->bits[e->u.call.func->id][e->u.call.index];
        const int all = type_bits(n->type[e->u.call.func->id][e->u.call.index]);
        bits          = bits < all || bits == IN_INDEX ? bits : round_bits(all);
        *of           = *of < bits ? (uint8_t)bits : *of;
        bits          = IN_INDEX; /* of the arguments */
    }
    for (uint32_t i = 0; i < e->count; i++)
        need(n, e->args[i],
             bits == IN_INDEX || is_ring(e) || is_int_cast(e) || (e->op == EX_SELECT && i > 0) ? bits : 64);
}

static void need_in_bounds(const Expr *e, void *user)
{
    need(user, e, IN_INDEX);
}

/* All that the definitions of f need, where so many bits of its components are. */
static void need_definitions(Needs *n, const Func *f, const uint8_t *bits)
{
    for (int k = -1; k < f->update_count; k++) {
        const Expr **values = k < 0 ? f->values : f->updates[k].values;
        for (int c = 0; values && c < f->component_count; c++)
            need(n, values[c], bits[c]);
        if (k < 0)
            continue;
        for (int d = 0; d < f->rank; d++)
            need(n, f->updates[k].args[d], IN_INDEX);
        if (f->updates[k].where)
            need(n, f->updates[k].where, 64);
        def_roots(f, k, true, need_in_bounds, n);
    }
}

static bool is_read(const Needs *n, const Func *f)
{
    for (int c = 0; c < f->component_count; c++)
        if (n->bits[f->id][c])
            return true;
    return false;
}

/* Once more for as long as its reads of itself need more: three widths, so a few times at most. */
static void need_function(Needs *n, const FuncDraft *draft)
{
    const Func *f    = draft->func;
    uint8_t    *bits = n->bits[f->id];
    Arena       scratch;
    int         before, after;
    if (draft->plan->is_output)
        memset(bits, 64, (size_t)f->component_count);
    if (draft->inlined || !is_read(n, f))
        return;
    for (int i = 0; i < f->stage_arg_count; i++)
        if (f->stage_args[i].func)
            memset(n->bits[f->stage_args[i].func->id], 64, (size_t)f->stage_args[i].func->component_count);
    do {
        before = after = 0;
        for (int c = 0; c < f->component_count; c++)
            before += bits[c];
        scratch_begin(&scratch, n->pl->cx);
        map_init(&n->seen, &scratch);
        need_definitions(n, f, bits);
        scratch_end(&scratch);
        for (int c = 0; c < f->component_count; c++)
            after += bits[c];
    } while (after != before);
}

/* ---- Conversions ------------------------------------------------------------------------ */

typedef struct Narrowing {
    ExprPool *pool;
    kn_type   type;
    Map       done;
    Arena     scratch;
} Narrowing;

static bool is_plain_shift(const Expr *e)
{
    int64_t by;
    return e->op == EX_SHL && expr_is_int(e->args[1], &by) && by >= 0 && by < 64;
}

/* The low bits of e, in the type: exact for all that wraps. */
static const Expr *low_bits(Narrowing *n, const Expr *e)
{
    const Expr *result = map_get(&n->done, e);
    if (result)
        return result;
    const int bits = type_bits(n->type);
    if (e->type == n->type) {
        result = e;
    } else if (e->op == EX_INT) {
        result = expr_int(n->pool, n->type, e->u.i);
    } else if (is_int_cast(e) && type_bits((kn_type)e->type) >= bits) {
        const bool narrower = type_bits((kn_type)e->args[0]->type) < bits;
        result              = narrower ? expr_unary(n->pool, EX_CAST, n->type, e->args[0]) : low_bits(n, e->args[0]);
    } else if (type_bits((kn_type)e->type) > bits && (is_ring(e) || e->op == EX_SELECT || is_plain_shift(e))) {
        const Expr *args[3];
        for (uint32_t i = 0; i < e->count; i++)
            args[i] =
                (e->op == EX_SELECT && i == 0) || (e->op == EX_SHL && i == 1) ? e->args[i] : low_bits(n, e->args[i]);
        result = e->count == 1   ? expr_unary(n->pool, (ExprOp)e->op, n->type, args[0])
                 : e->count == 2 ? expr_binary(n->pool, (ExprOp)e->op, n->type, args[0], args[1])
                                 : expr_ternary(n->pool, (ExprOp)e->op, n->type, args[0], args[1], args[2]);
    } else {
        result = expr_unary(n->pool, EX_CAST, n->type, e);
    }
    map_set(&n->done, e, result);
    return result;
}

/* What is read of a function that is narrower now, in the type that it had. */
static const Expr *widen_call(void *user, const Expr *e)
{
    ExprPool *pool = user;
    if (e->op != EX_CALL || e->u.call.func->types[e->u.call.index] == e->type)
        return e;
    const kn_type type = e->u.call.func->types[e->u.call.index];
    return expr_unary(pool, EX_CAST, (kn_type)e->type,
                      expr_call(pool, e->u.call.func, (int)e->u.call.index, type, (int)e->count, e->args));
}

static void convert_values(Planner *pl, const Func *f, const Expr **values)
{
    for (int c = 0; values && c < f->component_count; c++) {
        Narrowing n = { .pool = &pl->plan->exprs, .type = f->types[c] };
        if (values[c]->type == n.type)
            continue;
        scratch_begin(&n.scratch, pl->cx);
        map_init(&n.done, &n.scratch);
        values[c] = low_bits(&n, values[c]);
        scratch_end(&n.scratch);
    }
}

/* All definitions of f, of which and of whose callees types have changed. */
static void convert_function(Planner *pl, Func *f)
{
    rewrite_function(&pl->plan->exprs, f, widen_call, &pl->plan->exprs);
    convert_values(pl, f, f->values);
    for (int k = 0; k < f->update_count; k++)
        convert_values(pl, f, f->updates[k].values);
}

/* ---- All -------------------------------------------------------------------------------- */

/* Gives the components their narrower types; true if there are any. `least`: those that have all their values. */
static bool choose_types(Planner *pl, Func *f, const uint8_t *bits, const kn_type *least)
{
    bool any = false;
    if (f->kind != FUNC_DEFINED)
        return false;
    kn_type *types = ARENA_ARRAY(pl->arena, kn_type, (size_t)f->component_count);
    for (int c = 0; c < f->component_count; c++) {
        types[c] = f->types[c];
        if (!bits[c] || !type_is_int(types[c]) || type_bits(types[c]) <= bits[c])
            continue;
        types[c] = type_bits(least[c]) == bits[c] ? least[c] : bits[c] == 16 ? KN_U16 : KN_U32;
        any      = true;
    }
    f->types = types;
    return any;
}

void plan_narrow(Planner *pl)
{
    Needs       n   = { .pl   = pl,
                        .bits = ARENA_ARRAY(pl->arena, uint8_t *, pl->drafts.count),
                        .type = ARENA_ARRAY(pl->arena, kn_type *, pl->drafts.count) };
    bool        any = false;
    ValueRanges ranges;
    value_ranges_init(&ranges, pl->cx, (int)pl->drafts.count, pl->arena);
    for (size_t i = 0; i < pl->drafts.count; i++) {
        const Func *f = pl->drafts.at[i]->func;
        n.bits[i]     = ARENA_ARRAY(pl->arena, uint8_t, (size_t)f->component_count);
        n.type[i]     = ARENA_ARRAY(pl->arena, kn_type, (size_t)f->component_count);
        for (int c = 0; c < f->component_count; c++)
            n.type[i][c] = pl->target.kind == TARGET_GPU || f->kind != FUNC_DEFINED || pl->drafts.at[i]->inlined
                               ? f->types[c]
                               : type_of_range(&ranges, &pl->plan->exprs, f, c);
    }
    for (size_t i = pl->drafts.count; i-- > 0;)
        need_function(&n, pl->drafts.at[i]);
    for (size_t i = 0; i < pl->drafts.count && !n.deep; i++)
        any |= choose_types(pl, pl->drafts.at[i]->func, n.bits[i], n.type[i]);
    for (size_t i = 0; any && i < pl->drafts.count; i++)
        if (!pl->drafts.at[i]->inlined)
            convert_function(pl, pl->drafts.at[i]->func);
}
