/* Upper bounds of the extents of boxes.
 *
 * Takes   a box whose ends are expressions, named by lets.
 * Gives   the largest number of coordinates that it can have along a dimension, and the extent that its storage gets.
 * Holds   a bound that is given is proved. Where none is found, storage takes the extent as an expression. */
#include "lower/loops/build.h"

enum { MOST_EXTENT = 1 << 16 }; /* larger bounds are not used */

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

/* Is the extent never above `most`? */
static bool is_at_most(Build *b, const Expr *extent, int64_t most)
{
    return simplifier_proves(b->lw->simplifier, x_le(b->lw, extent, x_int(b->lw, most)));
}

/* A number that `extent` is never above. Lets are opened one after another, the newest first, and after each what both
 * ends have in common cancels: of first + min(rest, 4) - first nothing is left but the minimum. Intervals of what the
 * lets at last stand for do not see that. */
static int64_t opened_most(Build *b, const Expr *extent)
{
    enum { MOST_OPENED = 8 };
    Lower  *lw = b->lw;
    int64_t lo, hi, most;
    simplifier_bounds(lw->simplifier, extent, &lo, &most);
    for (size_t i = b->names.count, opened = 0; i-- > 0 && opened < MOST_OPENED;) {
        const BoundName *s     = &b->names.at[i];
        const Map        names = names_of(b, extent);
        if (!s->value || !map_get(&names, s->name))
            continue;
        opened++;
        extent = simplify(lw->simplifier, expr_substitute(lw->exprs, extent, 1, &s->name, &s->value));
        simplifier_bounds(lw->simplifier, extent, &lo, &hi);
        most = hi < most ? hi : most;
    }
    return most;
}

/* An interval is found with few steps, and often no interval at all where windows feed windows: then small numbers are
 * tried, each of which is worth a proof. */
int64_t box_max_extent(Build *b, const SymBox *box, int d)
{
    enum { MOST_TRIED = 64 };
    const Expr *extent = x_extent(b->lw, box->min[d], box->max[d]);
    int64_t     hi     = opened_most(b, extent);
    if (hi <= MOST_EXTENT)
        return hi > 0 ? hi : -1;
    for (hi = 2; hi <= MOST_TRIED && !is_at_most(b, extent, hi); hi *= 2)
        ;
    while (hi <= MOST_TRIED && hi > 1 && is_at_most(b, extent, hi - 1))
        hi--;
    return hi <= MOST_TRIED ? hi : -1;
}

/* What a let stands for. */
static const Expr *let_opened(const Build *b, const Expr *e)
{
    for (size_t i = b->names.count; e->op == EX_VAR && i-- > 0;)
        if (b->names.at[i].name == e->u.name)
            return b->names.at[i].value ? b->names.at[i].value : e;
    return e;
}

/* A number that max - min is never above. Of min(…, min + 31) the part that has a name in common with the other end is
 * to be found here: a proof, which opens all lets, loses the name. Looks `depth` deep. */
static int64_t most_apart(Build *b, const Expr *min, const Expr *max, int depth)
{
    int64_t    lo, hi, part;
    const bool low = max->op != EX_MIN && min->op == EX_MAX;
    simplifier_bounds(b->lw->simplifier, x_sub(b->lw, max, min), &lo, &hi);
    for (int i = 0; i < 2 && depth && (low || max->op == EX_MIN); i++) {
        part = low ? most_apart(b, min->args[i], max, depth - 1) : most_apart(b, min, max->args[i], depth - 1);
        hi   = part < hi ? part : hi;
    }
    return hi;
}

/* Constant inside loops, where a tile is seldom much smaller than it may be: then strides are constants, and small
 * storage is on the stack. At root what may be is what the ranges of parameters allow, which can be any number of times
 * what is needed: there it is constant if it is small. */
const Expr *storage_extent(Build *b, bool root, const Expr *min, const Expr *max)
{
    enum { SMALL = 16, DEPTH = 4 };
    const int64_t most   = root ? SMALL : 1 << 16;
    Lower        *lw     = b->lw;
    const Expr   *extent = x_max(lw, x_extent(lw, min, max), x_int(lw, 1));
    int64_t       lo, hi;
    simplifier_bounds(lw->simplifier, extent, &lo, &hi);
    const int64_t opened = hi <= SMALL ? hi : most_apart(b, let_opened(b, min), let_opened(b, max), DEPTH) + 1;
    hi                   = opened >= 1 && opened < hi ? opened : hi;
    return hi <= most || hi == lo ? x_int(lw, hi) : extent;
}
