/* SPDX-License-Identifier: MIT */
/* Loads: what the copies of an unrolled loop read is read before the first of them stores.
 *
 * Takes   kernels after unrolling.
 * Gives   stores that follow one another and read memory that an earlier one changes, as the copies of a scan
 *         do, with their loads before them, in lets, where these are of elements that no earlier one stores. Where
 *         the stores are all of a loop, these are the loads of its next iteration, into registers. Functions that
 *         the loop computes in registers are stores of it.
 * Holds   so the loads of all copies are under way at once: a scan waits for memory once for all copies instead of once
 *         for each, or computes while it waits. What one iteration passes to the next stays in a register. Two elements
 * are different if their indices differ by a constant, or by a stride times a constant: strides of scratch are never 0.
 * A load that a choice may leave out stays. */
#include "lower/bounds/index_expr.h"
#include "lower/passes/pass_tools.h"

#include <string.h>

enum {
    MOST_LOADS  = 256, /* before the stores of one run */
    MOST_AHEAD  = 72,  /* before those of the iteration before */
    MOST_STORES = 256, /* of a loop */
    MOST_ALLOCS = 8
};

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
    for (int i = 0; e->op == EX_LOAD && e->u.buffer->memory != MEMORY_REGISTER && i < p->earlier_count; i++)
        p->scan |= p->earlier[i]->store.places[0].buffer == e->u.buffer;
}

/* Does one read a buffer in memory that another has stored to before? */
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

/* Finds the loads that come before the stores, and gives the stores with names in their place. */
static const Stmt *collect_loads(LoadPass *p, int count, const Stmt *const *stores)
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
    return stmt_block(lw->arena, count, moved);
}

/* The stores with their loads before them. */
static const Stmt *move_loads(LoadPass *p, int count, const Stmt *const *stores)
{
    const Stmt *s = collect_loads(p, count, stores);
    for (int i = p->count; i-- > 0;)
        s = stmt_let(p->lw->arena, p->names[i], p->loads[i], s);
    return s;
}

/* ---- Loads ahead of their iteration ------------------------------------------------------------ */

/* Registers of a thread, for so many values. */
static const Buffer *new_registers(LoadPass *p, kn_type type)
{
    Lower  *lw = p->lw;
    Buffer *b  = ARENA_NEW(lw->arena, Buffer);
    *b         = (Buffer){ .name   = intern(lw->cx, arena_printf(lw->arena, "ahead.%d", p->number++)),
                           .id     = (int)lw->program->buffers.count,
                           .kind   = BUFFER_SCRATCH,
                           .type   = type,
                           .dense  = -1,
                           .memory = MEMORY_REGISTER };
    vec_push(lw->arena, &lw->program->buffers, b);
    return b;
}

static const Stmt *set_register(LoadPass *p, const Buffer *b, const Expr *value)
{
    Arena *a         = p->lw->arena;
    Stmt  *s         = ARENA_NEW(a, Stmt);
    s->kind          = STMT_STORE;
    s->store.count   = 1;
    s->store.places  = ARENA_NEW(a, Place);
    *s->store.places = (Place){ b, expr_int(p->lw->exprs, KN_I64, 0), value };
    return s;
}

static const Expr *at_iteration(LoadPass *p, const Stmt *loop, const Expr *e, int64_t more)
{
    ExprPool   *pool = p->lw->exprs;
    const Expr *i    = expr_var(pool, (kn_type)loop->loop.min->type, loop->loop.name);
    const Expr *to   = index_add(pool, i, expr_int(pool, (kn_type)i->type, more));
    return simplify(p->lw->simplifier, expr_substitute(pool, e, 1, &loop->loop.name, &to));
}

/* Can the load of the next iteration come before the stores of this one? */
static bool can_move_ahead(LoadPass *p, const Stmt *loop, const Expr *load, int count, const Stmt *const *stores)
{
    const Expr *index = at_iteration(p, loop, load->args[0], 1);
    for (int i = 0; i < count; i++) {
        const Place *place = &stores[i]->store.places[0];
        if (place->buffer == load->u.buffer && !are_different(p, index, place->index))
            return false;
    }
    return true;
}

/* The element that the next iteration loads, if a store of this one is the last to it. */
static bool is_carried(LoadPass *p, const Stmt *loop, const Expr *load, int count, const Stmt *const *stores)
{
    const Expr *index = at_iteration(p, loop, load->args[0], 1);
    int64_t     more;
    for (int i = count; i-- > 0;) {
        const Place *place = &stores[i]->store.places[0];
        if (place->buffer == load->u.buffer && expr_difference(index, place->index, &more) && !more)
            return true;
        if (place->buffer == load->u.buffer && !are_different(p, index, place->index))
            return false;
    }
    return false;
}

/* The load as another value of the loop's variable has it. */
static const Expr *load_for(LoadPass *p, const Stmt *loop, const Expr *load, const Expr *value)
{
    const Expr *index = expr_substitute(p->lw->exprs, load->args[0], 1, &loop->loop.name, &value);
    return expr_load(p->lw->exprs, load->u.buffer, (kn_type)load->type, simplify(p->lw->simplifier, index));
}

/* The registers of the loads of a loop over copies, NULL where a load stays. Iterations take them by turns, so that no
 * value is moved from one to another. What one iteration passes to the next has one register. */
typedef struct Ahead {
    const Buffer *own[2][MOST_LOADS];
    bool          kept[MOST_LOADS]; /* it is what a store of the iteration before has stored */
    bool          any;
} Ahead;

static void plan_ahead(LoadPass *p, const Stmt *loop, int count, const Stmt *const *stores, Ahead *out)
{
    for (int i = 0; i < p->count; i++) {
        const Expr *load = p->loads[i];
        out->kept[i]     = is_carried(p, loop, load, count, stores);
        if (!out->kept[i] && !can_move_ahead(p, loop, load, count, stores))
            continue;
        for (int turn = 0; turn < 2; turn++)
            out->own[turn][i] = turn && out->kept[i] ? out->own[0][i] : new_registers(p, (kn_type)load->type);
        out->any = true;
    }
}

/* Sets the registers of an iteration: with `kept` those that the iteration before has stored, else the others. */
static const Stmt *set_ahead(LoadPass *p, const Stmt *loop, const Ahead *ahead, int turn, const Expr *value, bool kept)
{
    const Stmt *s = NULL;
    for (int i = 0; i < p->count; i++)
        if (ahead->own[turn][i] && ahead->kept[i] == kept)
            s = stmt_pair(p->lw->arena, s, set_register(p, ahead->own[turn][i], load_for(p, loop, p->loads[i], value)));
    return s;
}

/* An iteration, which takes its loads from registers and sets those of the next, if there is one. */
static const Stmt *iteration(LoadPass *p, const Stmt *loop, const Ahead *ahead, const Stmt *stores, int turn,
                             const Expr *value, bool next)
{
    ExprPool   *pool = p->lw->exprs;
    Arena      *a    = p->lw->arena;
    const Expr *zero = expr_int(pool, KN_I64, 0), *one = expr_int(pool, (kn_type)value->type, 1);
    const Stmt *s    = stmt_substitute(pool, a, stores, 1, &loop->loop.name, &value);
    const Expr *then = index_add(pool, value, one);
    if (next)
        s = stmt_pair(a, set_ahead(p, loop, ahead, !turn, then, false),
                      stmt_pair(a, s, set_ahead(p, loop, ahead, !turn, then, true)));
    for (int k = p->count; k-- > 0;) {
        const Buffer *own = ahead->own[turn][k];
        const Expr   *load =
            own ? expr_load(pool, own, (kn_type)p->loads[k]->type, zero) : load_for(p, loop, p->loads[k], value);
        s = stmt_let(a, p->names[k], load, s);
    }
    return s;
}

static const Stmt *with_body(Arena *a, const Stmt *alloc, const Stmt *body)
{
    Stmt *s       = ARENA_NEW(a, Stmt);
    *s            = *alloc;
    s->alloc.body = body;
    return s;
}

static const Stmt *with_registers(LoadPass *p, const Ahead *ahead, const Stmt *s)
{
    for (int k = 0; k < 2 * p->count; k++) {
        const Buffer *own = ahead->own[k & 1][k >> 1];
        if (!own || ((k & 1) && ahead->kept[k >> 1]))
            continue;
        Stmt *alloc         = ARENA_NEW(p->lw->arena, Stmt);
        alloc->kind         = STMT_ALLOC;
        alloc->alloc.buffer = own;
        alloc->alloc.count  = expr_int(p->lw->exprs, KN_I64, 1);
        alloc->alloc.body   = s;
        s                   = alloc;
    }
    return s;
}

/* The body of a loop as stores alone. */
typedef struct Run {
    LoadPass   *p;
    const Stmt *loop;
    const Stmt *stores[MOST_STORES], *allocs[MOST_ALLOCS]; /* allocs: of registers */
    int         count, alloc_count;
    const Expr *condition; /* that the stores are under, the same for all iterations; NULL: none */
    bool        plain;
} Run;

/* Is the condition the same in all iterations, whatever they store? */
static bool is_invariant(Run *r, const Expr *e)
{
    bool memory = false;
    expr_visit(r->p->lw->exprs, e, find_obstacle, &memory);
    return !memory && !expr_has_variable(r->p->lw->exprs, e, r->loop->loop.name);
}

/* Functions that are computed in registers in the loop are a part of it. */
static void flatten_body(Run *r, const Stmt *s)
{
    int64_t count;
    bool    memory = false;
    switch (s->kind) {
    case STMT_BLOCK:
        for (int i = 0; i < s->block.count; i++)
            flatten_body(r, s->block.items[i]);
        break;
    case STMT_PRODUCE: flatten_body(r, s->produce.body); break;
    case STMT_LET:
        expr_visit(r->p->lw->exprs, s->let.value, find_obstacle, &memory);
        r->plain &= !memory;
        flatten_body(r, stmt_substitute(r->p->lw->exprs, r->p->lw->arena, s->let.body, 1, &s->let.name, &s->let.value));
        break;
    case STMT_ALLOC:
        r->plain &= s->alloc.buffer->memory == MEMORY_REGISTER && expr_is_int(s->alloc.count, &count) &&
                    r->alloc_count < MOST_ALLOCS;
        if (r->plain)
            r->allocs[r->alloc_count++] = s;
        flatten_body(r, s->alloc.body);
        break;
    case STMT_IF:
        r->plain &= !s->branch.no && is_invariant(r, s->branch.condition);
        r->condition = x_and(r->p->lw, r->condition, s->branch.condition);
        flatten_body(r, s->branch.yes);
        break;
    default:
        r->plain &= is_plain_store(r->p, s) && r->count < MOST_STORES;
        if (r->plain)
            r->stores[r->count++] = s;
    }
}

/* The loop as a run of stores of which one reads what another stores; NULL: it is another loop. */
static const Run *scan_run(LoadPass *p, const Stmt *loop)
{
    Run *r = ARENA_NEW(p->lw->arena, Run);
    *r     = (Run){ .p = p, .loop = loop, .plain = loop->loop.kind == LOOP_SERIAL && loop->loop.body };
    if (r->plain)
        flatten_body(r, loop->loop.body);
    return r->plain && r->count > 1 && is_scan(p, r->count, r->stores) ? r : NULL;
}

/* A loop over copies that store: what the next iteration needs is loaded while this one computes, and what it needs of
 * this one stays in a register. Two iterations are one; the last one or two follow the loop. NULL: it is another loop.
 */
static const Stmt *scan_loop(LoadPass *p, const Stmt *loop)
{
    Lower     *lw    = p->lw;
    Arena     *a     = lw->arena;
    Ahead     *ahead = ARENA_NEW(a, Ahead);
    const Run *run   = scan_run(p, loop);
    if (!run)
        return NULL;
    const Stmt *stores = collect_loads(p, run->count, run->stores);
    if (p->count > MOST_AHEAD)
        return NULL;
    plan_ahead(p, loop, run->count, run->stores, ahead);
    if (!ahead->any)
        return NULL;
    const kn_type type = (kn_type)loop->loop.min->type;
    const Expr   *zero = expr_int(lw->exprs, type, 0), *one = expr_int(lw->exprs, type, 1),
               *two      = expr_int(lw->exprs, type, 2);
    const char *pair     = intern(lw->cx, arena_printf(lw->arena, "%s.pair", loop->loop.name));
    const Expr *pairs    = x_op(lw, EX_DIV, index_sub(lw->exprs, loop->loop.extent, one), two);
    const Expr *even     = index_add(lw->exprs, loop->loop.min, x_op(lw, EX_MUL, expr_var(lw->exprs, type, pair), two));
    const Expr *rest     = index_add(lw->exprs, loop->loop.min, x_op(lw, EX_MUL, pairs, two));
    const Expr *is_two   = x_op(lw, EX_EQ, index_sub(lw->exprs, loop->loop.extent, x_op(lw, EX_MUL, pairs, two)), two);
    const Stmt *last[2]  = { iteration(p, loop, ahead, stores, 0, rest, true),
                             iteration(p, loop, ahead, stores, 1, index_add(lw->exprs, rest, one), false) };
    const Stmt *body[2]  = { iteration(p, loop, ahead, stores, 0, even, true),
                             iteration(p, loop, ahead, stores, 1, index_add(lw->exprs, even, one), true) };
    const Stmt *parts[4] = {
        set_ahead(p, loop, ahead, 0, loop->loop.min, false), set_ahead(p, loop, ahead, 0, loop->loop.min, true),
        stmt_for(a, pair, LOOP_SERIAL, zero, pairs, stmt_pair(a, body[0], body[1])),
        stmt_if(a, is_two, stmt_pair(a, last[0], last[1]), iteration(p, loop, ahead, stores, 0, rest, false))
    };
    const Stmt *all = NULL;
    for (int i = 0; i < 4; i++)
        all = stmt_pair(a, all, parts[i]);
    all = with_registers(p, ahead, stmt_if(a, x_op(lw, EX_LT, zero, loop->loop.extent), all, NULL));
    for (int i = 0; i < run->alloc_count; i++)
        all = with_body(a, run->allocs[i], all);
    return run->condition ? stmt_if(a, run->condition, all, loop) : all;
}

static const Stmt *visit(void *user, const Stmt *s)
{
    LoadPass     *p      = user;
    const bool    kernel = p->kernel;
    const StmtMap m      = { p->lw->arena, visit, NULL, p };
    p->kernel |= s->kind == STMT_KERNEL;
    const Stmt *ahead = kernel && s->kind == STMT_FOR ? scan_loop(p, s) : NULL;
    s                 = ahead ? ahead : stmt_map(&m, s);
    p->kernel         = kernel;
    if (ahead || !kernel || !s || s->kind != STMT_BLOCK)
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
