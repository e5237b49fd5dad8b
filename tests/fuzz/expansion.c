/* SPDX-License-Identifier: MIT */
/* The mathematical functions for the second oracle: an expansion is the list of its nodes, operands first, each with
 * its latest value. */
#include "expansion.h"
#include "ir/math.h"

#include <stdlib.h>

typedef struct Expansion {
    Arena      *arena;
    const Expr *operands[2];
    VEC(const Expr *) nodes;
    Number *values; /* by id */
} Expansion;

struct Expansions {
    kn_context *cx;
    ExprPool    pool;
    Expansion  *known[EX_COUNT][KN_TYPE_COUNT];
};

Expansions *expansions_new(void)
{
    Expansions *x = calloc(1, sizeof *x);
    if (x && (x->cx = kn_context_new(NULL))) {
        context_begin(x->cx);
        expr_pool_init(&x->pool, x->cx, &x->cx->arena);
    }
    return x;
}

void expansions_free(Expansions *x)
{
    if (x)
        kn_context_free(x->cx);
    free(x);
}

static void add_node(const Expr *e, void *user)
{
    Expansion *n = user;
    vec_push(n->arena, &n->nodes, e);
}

static Expansion *expand(Expansions *x, ExprOp op, kn_type type)
{
    Arena      *arena = &x->cx->arena;
    Expansion  *n     = ARENA_NEW(arena, Expansion);
    const Expr *a = n->operands[0] = expr_var(&x->pool, type, intern(x->cx, "a"));
    const Expr *b = n->operands[1] = expr_var(&x->pool, type, intern(x->cx, "b"));
    const Expr *e =
        expr_op_table[op].arity == 1 ? expr_unary(&x->pool, op, type, a) : expr_binary(&x->pool, op, type, a, b);
    n->arena = arena;
    expr_visit(&x->pool, math_expand(&x->pool, e), add_node, n);
    n->values = ARENA_ARRAY(arena, Number, x->pool.count);
    return n;
}

static Number evaluate(const Expansion *n, const Expr *e, const Number *operands)
{
    Number a[3], r = { 0 };
    for (uint32_t i = 0; i < e->count; i++)
        a[i] = n->values[e->args[i]->id];
    switch ((ExprOp)e->op) {
    case EX_VAR: return operands[e == n->operands[1]];
    case EX_FLOAT: return number_float(e->type, e->u.f);
    case EX_INT: return number_int(e->type, e->type == KN_U64 ? (__int128)(uint64_t)e->u.i : e->u.i);
    case EX_SELECT: return a[a[0].as.i ? 1 : 2];
    default:
        if (!number_apply(e->op, e->type, (int)e->count, a, &r))
            abort(); /* an expansion has basic operators only */
        return r;
    }
}

bool expansions_apply(Expansions *x, ExprOp op, const Number *operands, Number *out)
{
    if (!math_has(op))
        return false;
    Expansion **known = &x->known[op][operands[0].type];
    if (!*known)
        *known = expand(x, op, operands[0].type);
    for (size_t i = 0; i < (*known)->nodes.count; i++) {
        const Expr *e = (*known)->nodes.at[i];
        *out = (*known)->values[e->id] = evaluate(*known, e, operands);
    }
    return true;
}
