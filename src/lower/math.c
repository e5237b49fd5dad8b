/* Mathematical functions become what they are defined as.
 *
 * Takes   a statement after flattening.
 * Gives   the same statement without exp, log, pow, sin, cos, tan, atan2, tanh and erf: each is its expansion (ir/math.h), operator by operator, so that every
 *         backend gives the interpreter's bits.
 * Holds   an expansion is deeper than what it replaces; a value that has become deep is bound to a name in front of the statement, and so no
 *         expression passes EXPR_MAX_DEPTH. */
#include "ir/math.h"
#include "lower/lower.h"

enum { DEEP = EXPR_MAX_DEPTH / 2 };

typedef struct Named {
    const char *name;
    const Expr *value;
} Named;

typedef struct Expansion {
    Lower     *lw;
    VEC(Named) named;           /* of the statement being rewritten */
    int        count;           /* of all names made */
} Expansion;

static const Expr *expand_node(void *user, const Expr *e)
{
    Expansion  *x = user;
    const Expr *r = math_expand(x->lw->exprs, e);
    if (r == e || r->depth < DEEP)
        return r;
    const Named n = { intern(x->lw->cx, arena_printf(x->lw->arena, "math.%d", x->count++)), r };
    vec_push(x->lw->arena, &x->named, n);
    return expr_var(x->lw->exprs, (kn_type)r->type, n.name);
}

static const Expr *expand_expr(void *user, const Expr *e)
{
    Expansion *x = user;
    return expr_rewrite(x->lw->exprs, e, expand_node, x);
}

/* Names are bound in front of the statement whose own expressions have them; those of its parts are bound inside. */
static const Stmt *expand_stmt(void *user, const Stmt *s)
{
    Expansion    *x     = user;
    const StmtMap parts = { x->lw->arena, expand_stmt, NULL, x }, own = { x->lw->arena, NULL, expand_expr, x };
    s = stmt_map(&parts, s);
    s = stmt_map(&own, s);
    while (x->named.count) {
        const Named n = x->named.at[--x->named.count];
        s = stmt_let(x->lw->arena, n.name, n.value, s);
    }
    return s;
}

const Stmt *lower_math(Lower *lw, const Stmt *s)
{
    Expansion x = { .lw = lw };
    return s ? expand_stmt(&x, s) : NULL;
}
