/* SPDX-License-Identifier: MIT */
/* Channels: what the copies of an unrolled loop cover all of.
 *
 * Takes   the code of a block of a kernel, and the lets of the host around it.
 * Gives   the same for calls whose output has along a dimension, as colours, exactly as many elements as a loop over
 *         it has unrolled copies, counted from 0; and the condition of that. In it the copies know their coordinates:
 *         choices between channels are made by the compiler, and no guard is left.
 * Holds   other calls need the code as it was. */
#include "lower/bounds/index_expr.h"
#include "lower/passes/pass_tools.h"

enum { MOST_CHANNELS = 4, MOST_KNOWN = 256 };

typedef struct ChannelPass {
    Lower          *lw;
    const HostLets *host;
    const char     *names[MOST_KNOWN]; /* sizes that are known under the condition, */
    const Expr     *values[MOST_KNOWN];
    int             count;
    const Expr     *condition;
} ChannelPass;

static const Expr *under(ChannelPass *p, const Expr *e)
{
    return simplify(p->lw->simplifier, expr_substitute(p->lw->exprs, e, p->count, p->names, p->values));
}

static const char *size_name(ChannelPass *p, const Buffer *b, const char *what, int dim)
{
    return intern(p->lw->cx, arena_printf(p->lw->arena, "%s.%s.%d", b->name, what, dim));
}

/* Is the loop one iteration if the output has so many elements along the dimension? Then they are assumed. */
static bool assume(ChannelPass *p, const Expr *extent, const Buffer *b, int dim, int64_t copies)
{
    Lower      *lw   = p->lw;
    const char *name = size_name(p, b, "extent", dim);
    int64_t     iterations;
    if (!expr_has_variable(lw->exprs, extent, name) || p->count + 2 > 2 * MOST_CHANNELS)
        return false;
    const Expr *size = x_int(lw, copies), *zero = x_int(lw, 0);
    p->names[p->count]      = name;
    p->values[p->count]     = size;
    p->names[p->count + 1]  = size_name(p, b, "min", dim);
    p->values[p->count + 1] = zero;
    p->count += 2;
    if (!expr_is_int(under(p, extent), &iterations) || iterations != 1) {
        p->count -= 2;
        return false;
    }
    for (int i = p->count - 2; i < p->count; i++)
        p->condition = x_and(lw, p->condition, x_op(lw, EX_EQ, x_var(lw, p->names[i]), p->values[i]));
    return true;
}

/* The number of copies of an unrolled loop that is all of the body but lets; 0: none. */
static int64_t copies_in(const Stmt *s)
{
    int64_t n;
    while (s && s->kind == STMT_LET)
        s = s->let.body;
    return s && s->kind == STMT_FOR && s->loop.kind == LOOP_UNROLL && expr_is_int(s->loop.extent, &n) ? n : 0;
}

static void look(void *user, const Stmt *s)
{
    ChannelPass   *p      = user;
    const Program *all    = p->lw->program;
    const int64_t  copies = s->kind == STMT_FOR && s->loop.kind == LOOP_SERIAL ? copies_in(s->loop.body) : 0;
    if (copies > 1) {
        const Expr *extent =
            expr_substitute(p->lw->exprs, s->loop.extent, p->host->count, p->host->names, p->host->values);
        for (int i = 0, done = 0; i < all->port_count && !done; i++)
            for (int d = 0; all->buffers.at[i]->kind == BUFFER_OUTPUT && d < all->buffers.at[i]->rank && !done; d++)
                done = assume(p, extent, all->buffers.at[i], d, copies);
    }
    stmt_children(s, NULL, look, p);
}

const Stmt *with_channels(Lower *lw, const HostLets *host, const Stmt *s, const Expr **condition)
{
    ChannelPass p = { .lw = lw, .host = host };
    look(&p, s);
    *condition = p.condition;
    if (!p.condition)
        return s;
    const int sizes = p.count;
    for (int i = 0; i < host->count && p.count < MOST_KNOWN; i++) {
        int64_t     value;
        const Expr *e = simplify(lw->simplifier, expr_substitute(lw->exprs, host->values[i], sizes, p.names, p.values));
        if (expr_is_int(e, &value) && e->type == KN_I32) {
            p.names[p.count]    = host->names[i];
            p.values[p.count++] = e;
        }
    }
    return stmt_substitute(lw->exprs, lw->arena, s, p.count, p.names, p.values);
}
