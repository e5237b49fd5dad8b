/* SPDX-License-Identifier: MIT */
/* Upper bounds of the extents of boxes.
 *
 * Takes   a box whose ends are expressions, named by lets.
 * Gives   the largest number of coordinates that it can have along a dimension, and the extent that its storage gets.
 * Holds   a bound that is given is proved. Where none is found, storage takes the extent as an expression. */
#include "lower/loops/build.h"

enum {
    MOST_EXTENT = 1 << 16, /* larger bounds are not used */
    MOST_OPENED = 8,       /* lets */
    FEW_OPENED  = 3,       /* lets, where there is a bound that may be better */
    MOST_TRIED  = 64,      /* as a bound */
    FEW_ROWS    = 16       /* of a window: a bound of no more is good enough */
};

static void note_name(const Expr *e, void *user)
{
    if (e->op == EX_VAR)
        map_set(user, e->u.name, e);
}

static Map names_of(Build *b, const Expr *e)
{
    Map names;
    map_init(&names, b->lw->arena);
    expr_visit(b->lw->exprs, e, note_name, &names);
    return names;
}

/* Is the extent proved to be at most `most`? */
static bool is_at_most(Build *b, const Expr *extent, int64_t most)
{
    return simplifier_proves(b->lw->simplifier, x_le(b->lw, extent, x_int(b->lw, most)));
}

/* The extent with its innermost let opened, whose index in the names is below *at; NULL if there is none. */
static const Expr *open_let(Build *b, const Expr *extent, size_t *at)
{
    const Map names = names_of(b, extent);
    while (*at > 0) {
        const BoundName *s = &b->names.at[--*at];
        if (s->value && map_get(&names, s->name))
            return simplify(b->lw->simplifier, expr_substitute(b->lw->exprs, extent, 1, &s->name, &s->value));
    }
    return NULL;
}

/* An upper bound of the extent. Lets are substituted one after another, the innermost first, and after each the common
 * parts of both ends cancel: first + min(rest, 4) - first is the minimum. Intervals over fully substituted ends do not
 * see that. */
static int64_t bound_through_lets(Build *b, const Expr *extent)
{
    int64_t lo, hi, most;
    size_t  at = b->names.count;
    simplifier_bounds(b->lw->simplifier, extent, &lo, &most);
    for (int opened = 0; opened < MOST_OPENED && (extent = open_let(b, extent, &at)); opened++) {
        simplifier_bounds(b->lw->simplifier, extent, &lo, &hi);
        most = hi < most ? hi : most;
    }
    return most;
}

/* The least bound of at most MOST_TRIED that can be proved; -1: none. */
static int64_t bound_by_proof(Build *b, const Expr *extent)
{
    int64_t hi = 2;
    while (hi <= MOST_TRIED && !is_at_most(b, extent, hi))
        hi *= 2;
    while (hi <= MOST_TRIED && hi > 1 && is_at_most(b, extent, hi - 1))
        hi--;
    return hi <= MOST_TRIED ? hi : -1;
}

/* The value of a let's name. */
static const Expr *let_value(const Build *b, const Expr *e)
{
    for (size_t i = b->names.count; e->op == EX_VAR && i-- > 0;)
        if (b->names.at[i].name == e->u.name)
            return b->names.at[i].value ? b->names.at[i].value : e;
    return e;
}

/* An end of a box at its widest: each part of a hull that counts under a condition alone, and else lies beyond all
 * coordinates, counts. `op`: EX_MIN or EX_MAX. */
static const Expr *widest_end(Build *b, const Expr *end, ExprOp op)
{
    int64_t none;
    if (end->op == op)
        return x_op(b->lw, op, widest_end(b, end->args[0], op), widest_end(b, end->args[1], op));
    const bool part = end->op == EX_SELECT && expr_is_int(end->args[2], &none) &&
                      none == (op == EX_MIN ? MOST_COORDINATE : -MOST_COORDINATE);
    return part ? end->args[1] : end;
}

/* The extent of a box at its widest. */
static const Expr *widest_extent(Build *b, const SymBox *box, int d)
{
    return x_extent(b->lw, widest_end(b, let_value(b, box->min[d]), EX_MIN),
                    widest_end(b, let_value(b, box->max[d]), EX_MAX));
}

/* An interval takes few steps, but has no bound for most chains of windows, or a large one. Then small numbers are
 * tried: each is worth a proof. A fact may be about a let that both ends have in common, as that a row is cut off: so
 * they are tried again with lets opened. */
int64_t box_max_extent(Build *b, const SymBox *box, int d)
{
    const Expr *extent = x_extent(b->lw, box->min[d], box->max[d]);
    int64_t     hi     = bound_through_lets(b, extent);
    size_t      at     = b->names.count;
    if (hi <= 0 || hi > MOST_EXTENT)
        hi = bound_by_proof(b, extent);
    if (hi < 0)
        hi = bound_by_proof(b, widest_extent(b, box, d));
    for (int opened = 0; (hi < 0 || hi > FEW_ROWS) && opened < (hi < 0 ? MOST_OPENED : FEW_OPENED) &&
                         (extent = open_let(b, extent, &at));
         opened++) {
        const int64_t proved = hi < 0 || is_at_most(b, extent, FEW_ROWS) ? bound_by_proof(b, extent) : -1;
        hi                   = proved > 0 && (hi < 0 || proved < hi) ? proved : hi;
    }
    return hi;
}

/* An upper bound of a form. c*min(p, q) is at most c*p and c*q, and c*min(p, q) - c*min(r, s) at most the larger of
 * c*(p - r) and c*(q - s); likewise with max. So both ends of a span are clamped, in one way. Looks `depth` deep; for
 * kernels alone, whose storage must have a constant bound. */
static int64_t bound_clamped(Build *b, const Expr *e, int depth);

/* That of e with another atom, or two, in the place of those given: e + c*more. */
static int64_t bound_with(Build *b, const Expr *e, int64_t c, const Expr *more, int depth)
{
    Lower *lw = b->lw;
    return bound_clamped(b, simplify(lw->simplifier, x_add(lw, e, x_op(lw, EX_MUL, x_int(lw, c), more))), depth - 1);
}

static int64_t bound_clamped(Build *b, const Expr *e, int depth)
{
    Lower  *lw = b->lw;
    Linear  form;
    int64_t lo, hi;
    simplifier_bounds(lw->simplifier, e, &lo, &hi);
    if (!depth || !expr_linear(lw->arena, e, &form))
        return hi;
    for (int i = 0; i < form.count; i++) {
        const Expr   *p = form.atoms[i];
        const int64_t c = form.coefficients[i];
        for (int k = 0; k < 2 && p->op == (c > 0 ? EX_MIN : EX_MAX); k++) {
            const int64_t most = bound_with(b, e, c, x_sub(lw, p->args[k], p), depth);
            hi                 = most < hi ? most : hi;
        }
        for (int j = 0; j < 2 * form.count && c > 0 && (p->op == EX_MIN || p->op == EX_MAX); j++) {
            const Expr *q = form.atoms[j / 2];
            if (form.coefficients[j / 2] != -c || q->op != p->op)
                continue;
            const Expr   *gone = x_sub(lw, q, p);
            const int64_t one  = bound_with(b, e, c, x_add(lw, gone, x_sub(lw, p->args[0], q->args[j & 1])), depth),
                          two  = bound_with(b, e, c, x_add(lw, gone, x_sub(lw, p->args[1], q->args[!(j & 1)])), depth);
            const int64_t most = one > two ? one : two;
            hi                 = most < hi ? most : hi;
        }
    }
    return hi;
}

/* An upper bound of max - min. Of min(…, min + 31) the operand that shares a name with the other end counts: a proof,
 * which substitutes all lets, loses the name. Looks `depth` deep. */
static int64_t bound_distance(Build *b, const Expr *min, const Expr *max, int depth)
{
    int64_t    part;
    const bool low = max->op != EX_MIN && min->op == EX_MAX;
    int64_t    hi  = bound_clamped(b, x_sub(b->lw, max, min), b->lw->gpu ? depth : 0);
    for (int i = 0; i < 2 && depth && (low || max->op == EX_MIN); i++) {
        part = low ? bound_distance(b, min->args[i], max, depth - 1) : bound_distance(b, min, max->args[i], depth - 1);
        hi   = part < hi ? part : hi;
    }
    return hi;
}

/* Constant inside loops, where a tile is seldom much smaller than its bound: then strides are constants, and small
 * storage is on the stack. At root the bound comes from the ranges of parameters, and may be far above what is needed:
 * there it is used if it is small. */
const Expr *storage_extent(Build *b, bool root, const Expr *min, const Expr *max)
{
    enum { SMALL = 16, DEPTH = 4 };
    const int64_t most   = root ? SMALL : 1 << 16;
    Lower        *lw     = b->lw;
    const Expr   *extent = x_max(lw, x_extent(lw, min, max), x_int(lw, 1));
    int64_t       lo, hi;
    simplifier_bounds(lw->simplifier, extent, &lo, &hi);
    const int64_t opened = hi <= SMALL ? hi : bound_distance(b, let_value(b, min), let_value(b, max), DEPTH) + 1;
    hi                   = opened >= 1 && opened < hi ? opened : hi;
    return hi <= most || hi == lo ? x_int(lw, hi) : extent;
}
