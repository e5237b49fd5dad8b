/* SPDX-License-Identifier: MIT */
/* Unswitching: an invariant choice between loads is made once, outside the loop over a row.
 *
 * Takes   a statement after flattening.
 * Gives   one in which a serial loop right around vectors, whose body selects between two loads by a condition that is
 *         known before the loop (the colour of a mosaic's row), is
 *             if condition: the loop with the first
 *             else:         the loop with the second
 * Holds   a loop has at most 2^MOST_CONDITIONS copies, of at most MOST_NODES nodes together. Choices between values
 *         without loads are left: computing both sides costs less than a copy. */
#include "lower/passes/pass_tools.h"

enum { MOST_CONDITIONS = 2, MOST_NODES = 4000 };

/* ---- Which condition ------------------------------------------------------------------------ */

typedef struct ConditionSearch {
    Lower      *lw;
    Varying     varying; /* with the loop, and every name bound inside it */
    int         vectors; /* vector loops around the statement visited */
    const Expr *found;
} ConditionSearch;

static void find_load(const Expr *e, void *user)
{
    *(bool *)user |= e->op == EX_LOAD;
}

static bool has_load(ExprPool *pool, const Expr *e)
{
    bool found = false;
    expr_visit(pool, e, find_load, &found);
    return found;
}

static void search_node(const Expr *e, void *user)
{
    ConditionSearch *x = user;
    if (e->op != EX_SELECT || x->found || varying_expr(&x->varying, e->args[0]) || e->args[0]->op == EX_INT)
        return;
    if (has_load(x->lw->exprs, e->args[1]) || has_load(x->lw->exprs, e->args[2]))
        x->found = e->args[0];
}

static void search_expr(void *user, const Expr *e)
{
    ConditionSearch *x = user;
    if (x->vectors && !x->found)
        expr_visit(x->lw->exprs, e, search_node, x);
}

static void search(void *user, const Stmt *s)
{
    ConditionSearch *x      = user;
    const bool       vector = s->kind == STMT_FOR && s->loop.kind == LOOP_VECTOR;
    if (s->kind == STMT_FOR)
        varying_bind(&x->varying, s->loop.name, true);
    if (s->kind == STMT_LET)
        varying_bind(&x->varying, s->let.name, true);
    x->vectors += vector;
    stmt_children(s, search_expr, search, x);
    x->vectors -= vector;
}

/* The condition of a choice in a vector of the loop that is known before the loop; NULL: none. */
static const Expr *find_condition(Lower *lw, const Stmt *loop)
{
    Arena scratch;
    scratch_begin(&scratch, lw->cx);
    ConditionSearch x = { .lw = lw };
    varying_init(&x.varying, lw->exprs, &scratch, loop->loop.name);
    x.varying.reads = true;
    search(&x, loop->loop.body);
    scratch_end(&scratch);
    return x.found;
}

/* ---- Deciding it ------------------------------------------------------------------------------ */

typedef struct Decide {
    Lower      *lw;
    const Expr *condition;
    bool        value;
} Decide;

static const Expr *decide_node(void *user, const Expr *e)
{
    const Decide *d = user;
    int64_t       known;
    if (e == d->condition)
        return expr_bool(d->lw->exprs, d->value);
    return e->op == EX_SELECT && expr_is_int(e->args[0], &known) ? e->args[known ? 1 : 2] : e;
}

static const Expr *decide_expr(void *user, const Expr *e)
{
    return expr_rewrite(((Decide *)user)->lw->exprs, e, decide_node, user);
}

static const Stmt *decide(void *user, const Stmt *s)
{
    const StmtMap m = { ((Decide *)user)->lw->arena, decide, decide_expr, user };
    return stmt_map(&m, s);
}

/* ---- The pass ----------------------------------------------------------------------------------- */

/* Is there a vector loop in it, not inside another loop? */
static void find_vector(void *user, const Stmt *s)
{
    bool *found = user;
    *found |= s->kind == STMT_FOR && s->loop.kind == LOOP_VECTOR;
    if (s->kind != STMT_FOR)
        stmt_children(s, NULL, find_vector, found);
}

/* NULL, like `loop`, where a decided loop is empty. */
static const Stmt *unswitch_loop(Lower *lw, const Stmt *loop, int most)
{
    const Expr *condition = most && loop ? find_condition(lw, loop) : NULL;
    if (!condition || stmt_size(lw->exprs, loop, MOST_NODES) == MOST_NODES)
        return loop;
    Decide yes = { lw, condition, true }, no = { lw, condition, false };
    return stmt_if(lw->arena, condition, unswitch_loop(lw, decide(&yes, loop), most - 1),
                   unswitch_loop(lw, decide(&no, loop), most - 1));
}

static const Stmt *unswitch(void *user, const Stmt *s)
{
    Lower        *lw      = user;
    const StmtMap m       = { lw->arena, unswitch, NULL, lw };
    bool          vectors = false;
    if (s->kind != STMT_FOR || s->loop.kind != LOOP_SERIAL)
        return stmt_map(&m, s);
    find_vector(&vectors, s->loop.body);
    return vectors ? unswitch_loop(lw, s, MOST_CONDITIONS) : stmt_map(&m, s);
}

const Stmt *lower_unswitch(Lower *lw, const Stmt *s)
{
    return s ? unswitch(lw, s) : NULL;
}
