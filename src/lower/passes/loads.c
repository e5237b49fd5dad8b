/* SPDX-License-Identifier: MIT */
/* Loads: what the copies of an unrolled loop read is read before the first of them stores.
 *
 * Takes   kernels after unrolling.
 * Gives   stores that follow one another and read global memory that an earlier one changes, as the copies of a scan
 *         do, with their loads before them, in lets, where these are of elements that no earlier one stores.
 * Holds   so the loads of all copies are under way at once: a scan waits for memory once for all copies instead of once
 *         for each. Two elements are different if their indices differ by a constant, or by a stride times a constant:
 *         strides of scratch are never 0. A load that a choice may leave out stays. */
#include "lower/lower.h"

#include <string.h>

enum { MOST_LOADS = 256 }; /* before the stores of one run */

typedef struct LoadPass {
    Lower             *lw;
    int                number;            /* of lets so far, for names */
    const Expr        *loads[MOST_LOADS]; /* before the run, */
    const char        *names[MOST_LOADS]; /* and what they are called */
    int                count;
    const Stmt *const *earlier;            /* the stores of the run before the one looked at */
    int                earlier_count, own; /* how many; of `loads`, the first that are not its own */
    bool               kernel, scan;
} LoadPass;

/* ---- Elements --------------------------------------------------------------------------------- */

/* Is it a stride, as flattening names them? */
static bool is_stride(const Expr *e)
{
    const char *end = e->op == EX_VAR && e->type == KN_I64 ? strrchr(e->u.name, '.') : NULL;
    return end && !strcmp(end, ".stride");
}

/* Do two atoms, products with one stride, differ by a constant times the stride, and not by 0? */
static bool factors_differ(const Expr *a, const Expr *b)
{
    int64_t more;
    for (int i = 0; a->op == EX_MUL && b->op == EX_MUL && i < 4; i++)
        if (a->args[i & 1] == b->args[i >> 1] && is_stride(a->args[i & 1]) &&
            expr_difference(a->args[!(i & 1)], b->args[!(i >> 1)], &more))
            return more != 0;
    return false;
}

/* Are they indices of different elements of a scratch buffer? */
static bool are_different(LoadPass *p, const Expr *a, const Expr *b)
{
    Linear  x, y;
    int64_t more;
    if (expr_difference(a, b, &more))
        return more != 0;
    if (!expr_linear(p->lw->arena, a, &x) || !expr_linear(p->lw->arena, b, &y) || x.constant != y.constant ||
        x.count != y.count)
        return false;
    const Expr *left = NULL, *right = NULL; /* the only atoms that one has alone */
    int64_t     factor = 0;
    for (int i = 0; i < x.count; i++) {
        int j = 0;
        while (j < y.count && (y.atoms[j] != x.atoms[i] || y.coefficients[j] != x.coefficients[i]))
            j++;
        if (j == y.count && left)
            return false;
        left   = j == y.count ? x.atoms[i] : left;
        factor = j == y.count ? x.coefficients[i] : factor;
    }
    for (int j = 0; j < y.count; j++) {
        int i = 0;
        while (i < x.count && (y.atoms[j] != x.atoms[i] || y.coefficients[j] != x.coefficients[i]))
            i++;
        if (i == x.count && (right || y.coefficients[j] != factor))
            return false;
        right = i == x.count ? y.atoms[j] : right;
    }
    return left && right && factors_differ(left, right);
}

/* ---- A run of stores -------------------------------------------------------------------------- */

static void find_obstacle(const Expr *e, void *user)
{
    *(bool *)user |= e->op == EX_LOAD || e->op == EX_EXTERN;
}

/* May the load come before the earlier stores? */
static bool can_move(LoadPass *p, const Expr *load)
{
    bool memory = false;
    expr_visit(p->lw->exprs, load->args[0], find_obstacle, &memory);
    for (int i = 0; i < p->earlier_count && !memory; i++) {
        const Place *place = &p->earlier[i]->store.places[0];
        if (place->buffer == load->u.buffer &&
            (place->buffer->kind != BUFFER_SCRATCH || !are_different(p, load->args[0], place->index)))
            return false;
    }
    return !memory;
}

static const Expr *move_load(void *user, const Expr *e)
{
    LoadPass *p = user;
    if (e->op != EX_LOAD || p->count == MOST_LOADS || !can_move(p, e))
        return e;
    int i = p->own;
    while (i < p->count && p->loads[i] != e)
        i++;
    if (i == p->count) {
        p->loads[i] = e;
        p->names[i] = intern(p->lw->cx, arena_printf(p->lw->arena, "%s.read.%d", e->u.buffer->name, p->number++));
        p->count++;
    }
    return expr_var(p->lw->exprs, (kn_type)e->type, p->names[i]);
}

static void find_choice(const Expr *e, void *user)
{
    *(bool *)user |= e->op == EX_SELECT || e->op == EX_AND || e->op == EX_OR;
}

static bool is_plain_store(LoadPass *p, const Stmt *s)
{
    bool choice = false;
    if (s->kind != STMT_STORE || s->store.count != 1 || s->store.atomic)
        return false;
    expr_visit(p->lw->exprs, s->store.places[0].value, find_choice, &choice);
    return !choice;
}

static void find_own_load(const Expr *e, void *user)
{
    LoadPass *p = user;
    for (int i = 0; e->op == EX_LOAD && e->u.buffer->memory == MEMORY_GLOBAL && i < p->earlier_count; i++)
        p->scan |= p->earlier[i]->store.places[0].buffer == e->u.buffer;
}

/* Does one read a buffer in global memory that another has stored to before? */
static bool is_scan(LoadPass *p, int count, const Stmt *const *stores)
{
    p->scan    = false;
    p->earlier = stores;
    for (int i = 1; i < count && !p->scan; i++) {
        p->earlier_count = i;
        expr_visit(p->lw->exprs, stores[i]->store.places[0].value, find_own_load, p);
    }
    return p->scan;
}

/* The stores with their loads before them. */
static const Stmt *move_loads(LoadPass *p, int count, const Stmt *const *stores)
{
    Lower       *lw    = p->lw;
    const Stmt **moved = ARENA_ARRAY(lw->arena, const Stmt *, (size_t)count);
    p->count           = 0;
    for (int i = 0; i < count; i++) {
        const Place *place     = &stores[i]->store.places[0];
        p->earlier             = stores;
        p->earlier_count       = i;
        p->own                 = p->count;
        Stmt *s                = ARENA_NEW(lw->arena, Stmt);
        *s                     = *stores[i];
        s->store.places        = ARENA_NEW(lw->arena, Place);
        *s->store.places       = *place;
        s->store.places->value = expr_rewrite(lw->exprs, place->value, move_load, p);
        moved[i]               = s;
    }
    const Stmt *s = stmt_block(lw->arena, count, moved);
    for (int i = p->count; i-- > 0;)
        s = stmt_let(lw->arena, p->names[i], p->loads[i], s);
    return s;
}

static const Stmt *visit(void *user, const Stmt *s)
{
    LoadPass     *p      = user;
    const bool    kernel = p->kernel;
    const StmtMap m      = { p->lw->arena, visit, NULL, p };
    p->kernel |= s->kind == STMT_KERNEL;
    s         = stmt_map(&m, s);
    p->kernel = kernel;
    if (!kernel || !s || s->kind != STMT_BLOCK)
        return s;
    const Stmt **items = ARENA_ARRAY(p->lw->arena, const Stmt *, (size_t)s->block.count);
    int          count = 0;
    for (int i = 0, n; i < s->block.count; i += n) {
        for (n = 0; i + n < s->block.count && is_plain_store(p, s->block.items[i + n]);)
            n++;
        const bool scan = n > 1 && is_scan(p, n, &s->block.items[i]);
        n               = scan ? n : 1;
        items[count++]  = scan ? move_loads(p, n, &s->block.items[i]) : s->block.items[i];
    }
    return stmt_block(p->lw->arena, count, items);
}

const Stmt *lower_loads(Lower *lw, const Stmt *s)
{
    LoadPass *p = ARENA_NEW(lw->arena, LoadPass);
    p->lw       = lw;
    return s ? visit(p, s) : NULL;
}
