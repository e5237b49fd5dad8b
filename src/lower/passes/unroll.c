/* SPDX-License-Identifier: MIT */
/* Unrolling: a loop of a few iterations becomes copies of its body.
 *
 * Takes   a statement after flattening.
 * Gives   the statement with each `unroll` loop of constant extent as a block of copies, with the variable replaced by
 *         its value in each, and likewise loops of threads over elements of registers, whose indices must be constants.
 *         Inner loops come first, so the size counted is the size copied. A let that adds to the variable, such as the
 *         coordinate of a split, is substituted too: then loads that copies share are seen to be equal.
 * Holds   the copies of one loop have at most MOST_NODES statements and expression nodes, in a program with
 *         kernels MOST_KERNEL_NODES. A loop that would have more, or whose extent is not constant, is serial. No
 * `unroll` loop is left. */
#include "lower/passes/pass_tools.h"

enum {
    MOST_NODES        = 20000,
    MOST_KERNEL_NODES = 60000, /* of a kernel's loop: 8 steps of 8x8 sums are 30,000 */
    MOST_ELEMENTS     = 64,    /* iterations of a loop over registers */
    MOST_LETS         = 256    /* in its body that are looked through */
};

const Stmt *unroll_loop(Lower *lw, const Stmt *loop)
{
    const int64_t most = lw->gpu ? MOST_KERNEL_NODES : MOST_NODES;
    int64_t       n;
    if (!expr_is_int(loop->loop.extent, &n))
        return loop_as(lw->arena, loop, LOOP_SERIAL);
    if (n <= 0)
        return NULL;
    if (n > most || n * stmt_size(lw->exprs, loop->loop.body, most + 1) > most)
        return loop_as(lw->arena, loop, LOOP_SERIAL);
    const Stmt  *body   = stmt_without_sums(lw, loop->loop.body, loop->loop.name);
    const Stmt **copies = ARENA_ARRAY(lw->arena, const Stmt *, (size_t)n);
    for (int64_t i = 0; i < n; i++) {
        const Expr *value = index_add(lw->exprs, loop->loop.min, expr_int(lw->exprs, (kn_type)loop->loop.min->type, i));
        copies[i]         = stmt_substitute(lw->exprs, lw->arena, body, 1, &loop->loop.name, &value);
    }
    return stmt_block(lw->arena, (int)n, copies);
}

/* ---- Loops over registers -------------------------------------------------------------------------- */

typedef struct ElementWalk {
    Lower      *lw;
    const char *loop;
    const char *names[MOST_LETS];  /* lets inside the loop, */
    const Expr *values[MOST_LETS]; /* and their values, without such names */
    int         count;
    bool        named; /* the loop's variable occurs */
    bool        found; /* an element of a register whose index varies */
} ElementWalk;

static void find_name(const Expr *e, void *user)
{
    ElementWalk *w = user;
    w->named |= e->op == EX_VAR && e->u.name == w->loop;
}

/* Does an index of a register vary with the loop? What cancels does not count. */
static void note_index(ElementWalk *w, const Buffer *b, const Expr *index)
{
    if (w->found || b->memory != MEMORY_REGISTER)
        return;
    index    = simplify(w->lw->simplifier, expr_substitute(w->lw->exprs, index, w->count, w->names, w->values));
    w->named = false;
    expr_visit(w->lw->exprs, index, find_name, w);
    w->found = w->named;
}

static void find_element(const Expr *e, void *user)
{
    if (e->op == EX_LOAD)
        note_index(user, e->u.buffer, e->args[0]);
}

static void element_expr(void *user, const Expr *e)
{
    ElementWalk *w = user;
    if (!w->found)
        expr_visit(w->lw->exprs, e, find_element, w);
}

static void element_stmt(void *user, const Stmt *s)
{
    ElementWalk *w     = user;
    const int    outer = w->count;
    for (int i = 0; s->kind == STMT_STORE && i < s->store.count; i++)
        note_index(w, s->store.places[i].buffer, s->store.places[i].index);
    stmt_children(s, element_expr, NULL, w);
    if (w->found)
        return;
    if (s->kind == STMT_LET && w->count < MOST_LETS) {
        w->values[w->count]  = expr_substitute(w->lw->exprs, s->let.value, w->count, w->names, w->values);
        w->names[w->count++] = s->let.name;
    }
    stmt_children(s, NULL, element_stmt, w);
    w->count = outer;
}

/* Is it a serial loop of a few iterations over elements of registers? */
static bool is_over_registers(Lower *lw, const Stmt *s)
{
    int64_t n;
    if (s->loop.kind != LOOP_SERIAL || !expr_is_int(s->loop.extent, &n) || n > MOST_ELEMENTS)
        return false;
    ElementWalk *w = ARENA_NEW(lw->arena, ElementWalk);
    w->lw          = lw;
    w->loop        = s->loop.name;
    element_stmt(w, s->loop.body);
    return w->found;
}

/* ---- The pass --------------------------------------------------------------------------------------- */

typedef struct UnrollPass {
    Lower *lw;
    bool   kernel, thread; /* inside a kernel, inside its threads */
} UnrollPass;

static const Stmt *unroll(void *user, const Stmt *s)
{
    UnrollPass      *p     = user;
    const UnrollPass outer = *p;
    const StmtMap    m     = { p->lw->arena, unroll, NULL, p };
    const bool       range = p->kernel && s->kind == STMT_FOR;
    p->kernel |= s->kind == STMT_KERNEL;
    p->thread |= s->kind == STMT_FOR && loop_table[s->loop.kind].thread;
    if (range)
        simplifier_push_range(p->lw->simplifier, s->loop.name, s->loop.min, loop_last(p->lw, s));
    s  = stmt_map(&m, s);
    *p = outer;
    const bool copies =
        s && s->kind == STMT_FOR && (s->loop.kind == LOOP_UNROLL || (p->thread && is_over_registers(p->lw, s)));
    if (range)
        simplifier_pop(p->lw->simplifier);
    return copies ? unroll_loop(p->lw, s) : s;
}

const Stmt *lower_unroll(Lower *lw, const Stmt *s)
{
    UnrollPass p = { .lw = lw };
    return s ? unroll(&p, s) : NULL;
}
