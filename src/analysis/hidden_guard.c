/* SPDX-License-Identifier: MIT */
/* Guards that the analysis does not see: a condition that is a stored function of coordinates.
 *
 * In `if ok(x) then in(x - 1) else 0` with ok(x) = x > 0 the read is guarded. But boxes are found without the values
 * of stored functions: only a condition that is written in place narrows. This finds the function, for the message. */
#include "analysis/boxes.h"

typedef struct GuardSearch {
    ExprPool   *pool;
    const Expr *access; /* the read that is guarded */
    const Expr *found;  /* the call in its condition */
} GuardSearch;

typedef struct Contains {
    const Expr *node;
    bool        found;
} Contains;

static void find_node(const Expr *e, void *user)
{
    Contains *c = user;
    c->found |= e == c->node;
}

static bool contains(ExprPool *pool, const Expr *e, const Expr *node)
{
    Contains c = { node, false };
    expr_visit(pool, e, find_node, &c);
    return c.found;
}

/* A condition on coordinates, sizes and parameters alone: it could be written in place. */
static bool is_plain_condition(ExprPool *pool, const Expr *call)
{
    const Func *f = call->u.call.func;
    if (call->op != EX_CALL || f->kind != FUNC_DEFINED || f->update_count || call->type != KN_BOOL)
        return false;
    return !expr_reads_any(pool, f->values[call->u.call.index]);
}

typedef struct Condition {
    ExprPool   *pool;
    const Expr *call;
} Condition;

static void find_condition(const Expr *e, void *user)
{
    Condition *c = user;
    if (e->op == EX_CALL && is_plain_condition(c->pool, e))
        c->call = e;
}

/* The call in the condition of such a function; NULL: there is none. */
static const Expr *stored_condition(ExprPool *pool, const Expr *condition)
{
    Condition c = { pool, NULL };
    expr_visit(pool, condition, find_condition, &c);
    return c.call;
}

static void find_guard(const Expr *e, void *user)
{
    GuardSearch *s       = user;
    const bool   guards  = e->op == EX_SELECT || e->op == EX_AND || e->op == EX_OR;
    bool         guarded = false;
    for (uint32_t i = 1; guards && !s->found && i < e->count; i++)
        guarded |= contains(s->pool, e->args[i], s->access);
    if (guarded)
        s->found = stored_condition(s->pool, e->args[0]);
}

const Expr *hidden_guard(kn_pipeline *p, const Func *reader, const Expr *access)
{
    GuardSearch s = { .pool = &p->exprs, .access = access };
    if (reader->kind != FUNC_DEFINED)
        return NULL;
    for (int u = -1; u < reader->update_count && !s.found; u++) {
        def_visit(&p->exprs, reader, u, find_guard, &s);
        if (u >= 0 && reader->updates[u].where && !s.found)
            s.found = stored_condition(s.pool, reader->updates[u].where);
    }
    return s.found;
}
