/* SPDX-License-Identifier: MIT */
/* Peeling: the first iteration of a loop that fills its windows before it.
 *
 * Takes   kernels, with serial loops whose bodies test for the first iteration: march.c makes such.
 * Gives   the first iteration, in which the tests hold, and then a loop over the others, in which they do not. So the
 *         number of rows that is computed is a constant in both.
 * Holds   a loop without such a test stays as it is. */
#include "lower/bounds/index_expr.h"
#include "lower/passes/pass_tools.h"

typedef struct PeelPass {
    Lower      *lw;
    const Expr *var, *min; /* of the loop that is looked at */
    bool        found;
    bool        holds; /* what its tests are */
} PeelPass;

static bool is_first_test(const PeelPass *p, const Expr *e)
{
    return e->op == EX_EQ && e->args[0] != e->args[1] &&
           ((e->args[0] == p->var && e->args[1] == p->min) || (e->args[1] == p->var && e->args[0] == p->min));
}

static void find_test(const Expr *e, void *user)
{
    PeelPass *p = user;
    p->found |= is_first_test(p, e);
}

static void look_expr(void *user, const Expr *e)
{
    PeelPass *p = user;
    if (!p->found)
        expr_visit(p->lw->exprs, e, find_test, p);
}

static void look(void *user, const Stmt *s)
{
    PeelPass *p = user;
    if (!p->found)
        stmt_children(s, look_expr, look, p);
}

static const Expr *decide_node(void *user, const Expr *e)
{
    const PeelPass *p = user;
    return is_first_test(p, e) ? expr_int(p->lw->exprs, KN_BOOL, p->holds) : e;
}

static const Expr *decide_expr(void *user, const Expr *e)
{
    PeelPass *p = user;
    return expr_rewrite(p->lw->exprs, e, decide_node, p);
}

static const Stmt *decide(void *user, const Stmt *s)
{
    PeelPass     *p = user;
    const StmtMap m = { p->lw->arena, decide, decide_expr, p };
    return stmt_map(&m, s);
}

static const Stmt *peel_loop(PeelPass *p, const Stmt *s)
{
    Lower      *lw  = p->lw;
    const Expr *one = x_int(lw, 1);
    p->var          = expr_var(lw->exprs, (kn_type)s->loop.min->type, s->loop.name);
    p->min          = s->loop.min;
    p->found        = false;
    look(p, s->loop.body);
    if (!p->found)
        return s;
    p->holds          = true;
    const Stmt *first = stmt_let(lw->arena, s->loop.name, s->loop.min, decide(p, s->loop.body));
    p->holds          = false;
    const Stmt *rest  = stmt_for(lw->arena, s->loop.name, s->loop.kind, x_add(lw, s->loop.min, one),
                                 x_sub(lw, s->loop.extent, one), decide(p, s->loop.body));
    return stmt_pair(lw->arena, stmt_if(lw->arena, x_le(lw, one, s->loop.extent), first, NULL), rest);
}

static const Stmt *peel(void *user, const Stmt *s)
{
    PeelPass     *p = user;
    const StmtMap m = { p->lw->arena, peel, NULL, p };
    s               = stmt_map(&m, s);
    return s && s->kind == STMT_FOR && (s->loop.kind == LOOP_SERIAL || s->loop.kind == LOOP_UNROLL) &&
                   s->loop.min->type == KN_I32
               ? peel_loop(p, s)
               : s;
}

static const Stmt *find_kernels(void *user, const Stmt *s)
{
    PeelPass     *p = user;
    const StmtMap m = { p->lw->arena, s->kind == STMT_KERNEL ? peel : find_kernels, NULL, p };
    return stmt_map(&m, s);
}

const Stmt *lower_peel(Lower *lw, const Stmt *s)
{
    PeelPass p = { .lw = lw };
    return s ? find_kernels(&p, s) : NULL;
}
