/* SPDX-License-Identifier: MIT */
/* Simplification of statements.
 *
 * Takes   a statement after flattening.
 * Gives   a statement that does the same, in which
 *         - every expression is simplified under the ranges of loops, lets and conditions around it;
 *         - a branch whose condition is decided is the side taken, and a check that always holds is gone;
 *         - adjacent branches on one condition are one;
 *         - a branch that is the whole body of a loop and has an invariant condition is hoisted out of the loop;
 *         - a loop without iterations is gone, a loop of one iteration is its body with a let, behind a branch if it
 *           may have none; those of kernels apart;
 *         - a let that is unused, or whose value is a constant or a variable, is gone;
 *         - blocks are flat, and no branch, loop or let is empty.
 * Holds   one walk: expressions are simplified on the way in, uses are counted on the way out. */
#include "ir/simplify.h"
#include "lower/bounds/value_range.h"
#include "lower/lower.h"

typedef struct Clean {
    Lower      *lw;
    Simplifier *known;
    Map         used; /* names in the result so far, up to the let or loop that binds them */
} Clean;

static const Stmt *clean(void *user, const Stmt *s);

static void use_node(const Expr *e, void *user)
{
    if (e->op == EX_VAR)
        map_set(user, e->u.name, e);
}

static void use(Clean *c, const Expr *e)
{
    expr_visit(c->lw->exprs, e, use_node, &c->used);
}

/* Was the name used since it was bound? Asked at the end of its scope: another binding may follow. */
static bool take_use(Clean *c, const char *name)
{
    const bool used = map_get(&c->used, name) != NULL;
    if (used)
        map_set(&c->used, name, NULL);
    return used;
}

static const Expr *clean_expr(void *user, const Expr *e)
{
    Clean      *c      = user;
    const Expr *result = simplify(c->known, e);
    use(c, result);
    return result;
}

static const Expr *not_(Clean *c, const Expr *condition)
{
    return expr_unary(c->lw->exprs, EX_BIT_NOT, KN_BOOL, condition);
}

/* `body` with the name bound to a simplified value. */
static const Stmt *clean_let(Clean *c, const char *name, const Expr *value, const Stmt *body)
{
    simplifier_push_let(c->known, name, value);
    body = clean(c, body);
    simplifier_pop(c->known);
    if (!take_use(c, name))
        return body;
    use(c, value);
    return stmt_let(c->lw->arena, name, value, body);
}

typedef struct Dependence {
    const char *name;
    bool        found;
} Dependence;

static void find_dependence(const Expr *e, void *user)
{
    Dependence *d = user;
    d->found |= e->op == EX_LOAD || e->op == EX_EXTERN || (e->op == EX_VAR && e->u.name == d->name);
}

/* Is it a branch without an else, whose condition depends neither on memory nor on this name (NULL: no name)? */
static bool is_plain_branch(Clean *c, const Stmt *s, const char *name)
{
    Dependence d = { name, s->kind != STMT_IF || s->branch.no };
    if (!d.found)
        expr_visit(c->lw->exprs, s->branch.condition, find_dependence, &d);
    return !d.found;
}

/* A loop of a kernel stays: it says who does what is inside, and the form of kernels has it there. */
static bool is_of_kernel(LoopKind kind)
{
    return kind == LOOP_BLOCK || loop_table[kind].thread;
}

/* A loop whose body is a branch with an invariant condition: the branch around the loop. */
static const Stmt *loop_around(Clean *c, const char *name, LoopKind kind, const Expr *min, const Expr *extent,
                               const Stmt *body)
{
    if (is_of_kernel(kind) || !is_plain_branch(c, body, name))
        return stmt_for(c->lw->arena, name, kind, min, extent, body);
    return stmt_if(c->lw->arena, body->branch.condition, loop_around(c, name, kind, min, extent, body->branch.yes),
                   NULL);
}

/* Merges adjacent branches on the same condition. */
static const Stmt *joined_branches(Clean *c, const Stmt *s)
{
    Arena *a = c->lw->arena;
    if (!s || s->kind != STMT_BLOCK)
        return s;
    const Stmt **items = ARENA_ARRAY(a, const Stmt *, (size_t)s->block.count);
    int          count = 0;
    for (int i = 0; i < s->block.count; i++) {
        const Stmt *item = s->block.items[i], *last = count ? items[count - 1] : NULL;
        if (last && is_plain_branch(c, last, NULL) && is_plain_branch(c, item, NULL) &&
            last->branch.condition == item->branch.condition)
            items[count - 1] =
                stmt_if(a, item->branch.condition, stmt_pair(a, last->branch.yes, item->branch.yes), NULL);
        else
            items[count++] = item;
    }
    return count == s->block.count ? s : stmt_block(a, count, items);
}

static const Stmt *clean_loop(Clean *c, const Stmt *s)
{
    ExprPool   *pool   = c->lw->exprs;
    const Expr *min    = simplify(c->known, s->loop.min);
    const Expr *extent = simplify(c->known, s->loop.extent);
    const Expr *one    = expr_int(pool, (kn_type)extent->type, 1);
    if (extent == one && !is_of_kernel(s->loop.kind))
        return clean_let(c, s->loop.name, min, s->loop.body);
    if (simplifier_proves(c->known, expr_binary(pool, EX_LT, KN_BOOL, extent, one)))
        return NULL;
    if (!is_of_kernel(s->loop.kind) && simplifier_proves(c->known, expr_binary(pool, EX_LE, KN_BOOL, extent, one)))
        return clean(c, stmt_if(c->lw->arena, expr_binary(pool, EX_LE, KN_BOOL, one, extent),
                                stmt_let(c->lw->arena, s->loop.name, min, s->loop.body), NULL));
    const Expr *end = expr_binary(pool, EX_ADD, (kn_type)min->type, min, extent);
    simplifier_push_fact(c->known, expr_binary(pool, EX_LE, KN_BOOL, one, extent));
    simplifier_push_range(c->known, s->loop.name, min, expr_binary(pool, EX_SUB, (kn_type)min->type, end, one));
    const Stmt *body = clean(c, s->loop.body);
    simplifier_pop(c->known);
    simplifier_pop(c->known);
    take_use(c, s->loop.name);
    if (!body)
        return NULL;
    use(c, min);
    use(c, extent);
    return loop_around(c, s->loop.name, s->loop.kind, min, extent, body);
}

/* One side of a branch, under its condition. */
static const Stmt *clean_side(Clean *c, const Expr *condition, const Stmt *side)
{
    if (!side)
        return NULL;
    simplifier_push_fact(c->known, condition);
    side = clean(c, side);
    simplifier_pop(c->known);
    return side;
}

static const Stmt *clean_if(Clean *c, const Stmt *s)
{
    const Expr *condition = simplify(c->known, s->branch.condition);
    const Expr *opposite  = simplify(c->known, not_(c, condition));
    if (simplifier_proves(c->known, condition))
        return clean(c, s->branch.yes);
    if (simplifier_proves(c->known, opposite))
        return s->branch.no ? clean(c, s->branch.no) : NULL;
    const Stmt *yes = clean_side(c, condition, s->branch.yes);
    const Stmt *no  = s->branch.whole ? clean(c, s->branch.no) : clean_side(c, opposite, s->branch.no);
    if (!yes && !no)
        return NULL;
    use(c, condition);
    if (s->branch.whole)
        return stmt_if_whole(c->lw->arena, condition, yes, no);
    return yes ? stmt_if(c->lw->arena, condition, yes, no) : stmt_if(c->lw->arena, opposite, no, NULL);
}

static const Stmt *clean(void *user, const Stmt *s)
{
    Clean        *c = user;
    const StmtMap m = { c->lw->arena, clean, clean_expr, c };
    switch (s->kind) {
    case STMT_LET: return clean_let(c, s->let.name, simplify(c->known, s->let.value), s->let.body);
    case STMT_FOR: return clean_loop(c, s);
    case STMT_IF: return clean_if(c, s);
    case STMT_CHECK: return simplifier_proves(c->known, s->check.condition) ? NULL : stmt_map(&m, s);
    case STMT_BLOCK: return s->block.count ? joined_branches(c, stmt_map(&m, s)) : NULL;
    default: return stmt_map(&m, s);
    }
}

const Stmt *lower_simplify(Lower *lw, const Stmt *s)
{
    if (!s)
        return NULL;
    Arena scratch;
    scratch_begin(&scratch, lw->cx);
    Clean c = { .lw = lw, .known = base_simplifier(lw, &scratch) };
    map_init(&c.used, &scratch);
    s = clean(&c, s);
    scratch_end(&scratch);
    return s;
}
