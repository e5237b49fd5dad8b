/* SPDX-License-Identifier: MIT */
/* Vectors whose reads lie inside, or outside: clamps and guards of indices made of data, removed behind a test.
 *
 * Takes   a statement after `clean`. A read at a place made of data (a warp, a flow) is clamped to what is stored,
 *         max(min(E + a, k), 0), and at a constant boundary guarded: if lo <= E + a && E + a < hi then f[…] else 0.
 * Gives   for the stores of a vector loop that have such reads
 *             if L <= E && E <= U for all lanes (Stmt.branch.whole): the stores without these clamps and guards
 *             else if no guard holds in any lane: the stores with what stands behind the guards, which reads nothing
 *             else: the stores as they were
 *         E is the i32 that clamps and sums end at, one for each coordinate that is read. Every clamp and guard of
 *         E + a bounds E from one side by something that all lanes have in common; L is the largest, U the smallest of
 *         these. Taps at E and E + 1 are adjacent elements then, which the backend loads together. E + stride * F is
 *         computed in 32 bits for elements of 8 and 16, where the invariant part of the test says that it fits. Of
 *         wider ones these indices make gather instructions, which take twice as long as loads on Zen 3.
 * Holds   L and U lie within ±2^30 and a within ±2^29, as far as the simplifier knows, or nothing is changed. So
 *         between L and U no sum E + a wraps, i64(E + a) is i64(E) + i64(a), and clamps and guards do nothing. */
#include "ir/simplify.h"
#include "lower/bounds/value_range.h"
#include "lower/passes/pass_tools.h"

enum { MOST_ROOTS = 8, MOST_INVARIANT = 16, MOST_GUARDS = 16, MOST_TERMS = 4, MOST_NODES = 4000 };
static const int64_t most_offset = (int64_t)1 << 29, most_bound = (int64_t)1 << 30;

typedef struct Pass {
    Lower      *lw;
    Arena      *scratch;
    Simplifier *known; /* of everything around the statement visited */
    Varying     varying;
    Map         data; /* names in the vector loop that stand for data */
    Map         made; /* of expressions: Made */
    bool        vector;
} Pass;

/* E of the header, and its bounds. */
typedef struct Root {
    const Expr *e, *low, *high; /* NULL: none */
    bool        moved;          /* E + a is read for some a that is not 0 */
} Root;

/* The stores of one vector loop. */
typedef struct Stores {
    Pass       *pass;
    Map         become; /* what stands for a node where all lanes are inside */
    Map         behind; /* what stands for a guarded node where the guard holds in no lane */
    Root        roots[MOST_ROOTS];
    int         root_count;
    const Expr *invariant[MOST_INVARIANT]; /* guards that all lanes have in common */
    int         invariant_count;
    const Expr *guards[MOST_GUARDS]; /* of each guard, what differs from lane to lane */
    int         guard_count;
    bool        image; /* some bound is the size of an image: what differs from run to run */
    bool        failed;
} Stores;

/* ---- Data and bounds ---- */

/* What an expression is made of. A row of `made_of` for each of the four. */
typedef struct Made {
    bool data, loads;
} Made;

static const Made made_of[] = { { 0, 0 }, { 0, 1 }, { 1, 0 }, { 1, 1 } };

/* Each node is asked once: a chain of reads at places that were read is as deep as it is large. */
static const Made *made(Pass *p, const Expr *e)
{
    const Made *m = map_get(&p->made, e);
    if (m)
        return m;
    const bool load = e->op == EX_LOAD, cast = e->op == EX_CAST && type_is_float((kn_type)e->args[0]->type);
    bool       data = load || cast || (e->op == EX_VAR && map_get(&p->data, e->u.name)), loads = load;
    for (uint32_t i = 0; i < e->count; i++) {
        m = made(p, e->args[i]);
        data |= m->data;
        loads |= m->loads;
    }
    m = &made_of[2 * data + loads];
    map_set(&p->made, e, m);
    return m;
}

/* Does it differ from lane to lane, by more than the lane's number? */
static bool is_data(Pass *p, const Expr *e)
{
    return varying_expr(&p->varying, e) && made(p, e)->data;
}

static bool has_load(Pass *p, const Expr *e)
{
    return made(p, e)->loads;
}

/* Which operand is data, where the other one is the same for all lanes; -1: none. */
static int data_operand(Pass *p, const Expr *e)
{
    const bool first = varying_expr(&p->varying, e->args[0]), second = varying_expr(&p->varying, e->args[1]);
    const int  at = first && !second ? 0 : second && !first ? 1 : -1;
    return at >= 0 && is_data(p, e->args[at]) ? at : -1;
}

/* Does the i32 lie within ±most? */
static bool is_within(Stores *s, const Expr *e, int64_t most)
{
    int64_t lo, hi;
    simplifier_bounds(s->pass->known, e, &lo, &hi);
    return lo >= -most && hi <= most;
}

static const Expr *sum(Stores *s, ExprOp op, const Expr *a, const Expr *b)
{
    ExprPool *pool = s->pass->lw->exprs;
    return simplify(s->pass->known, op == EX_ADD ? index_add(pool, a, b) : index_sub(pool, a, b));
}

static Root *find_root(Stores *s, const Expr *e)
{
    for (int i = 0; i < s->root_count; i++)
        if (s->roots[i].e == e)
            return &s->roots[i];
    return NULL;
}

static Root *root_of(Stores *s, const Expr *e)
{
    Root *r = find_root(s, e);
    if (r)
        return r;
    if (s->root_count == MOST_ROOTS) {
        s->failed = true;
        return &s->roots[0];
    }
    s->roots[s->root_count] = (Root){ .e = e };
    return &s->roots[s->root_count++];
}

/* Notes that E + offset is at least, or at most, `end`. */
static void bound_root(Stores *s, Root *r, const Expr *end, const Expr *offset, bool upper)
{
    int64_t      number;
    ExprPool    *pool = s->pass->lw->exprs;
    const Expr  *by   = sum(s, EX_SUB, end, offset);
    const Expr **at   = upper ? &r->high : &r->low;
    *at = *at ? simplify(s->pass->known, expr_binary(pool, upper ? EX_MIN : EX_MAX, KN_I32, *at, by)) : by;
    s->failed |= !is_within(s, by, most_bound);
    s->image |= !expr_is_int(by, &number);
}

/* Is there room for one more? */
static bool note(const Expr **all, int *count, int most, const Expr *e)
{
    for (int i = 0; i < *count; i++)
        if (all[i] == e)
            return true;
    if (*count == most)
        return false;
    all[(*count)++] = e;
    return true;
}

static void take_invariant(Stores *s, const Expr *e)
{
    s->failed |= !simplifier_proves(s->pass->known, e) &&
                 !note(s->invariant, &s->invariant_count, MOST_INVARIANT, simplify(s->pass->known, e));
}

/* ---- What can be left out ---- */

/* e = E + *offset, where its clamps do nothing: E, whose bounds say so. */
static Root *peel(Stores *s, const Expr *e, const Expr **offset)
{
    const int at = e->count == 2 ? data_operand(s->pass, e) : -1;
    if (at >= 0 && (e->op == EX_MIN || e->op == EX_MAX)) {
        Root *r = peel(s, e->args[at], offset);
        bound_root(s, r, e->args[1 - at], *offset, e->op == EX_MIN);
        map_set(&s->become, e, index_add(s->pass->lw->exprs, r->e, *offset));
        return r;
    }
    if (at >= 0 && (e->op == EX_ADD || (e->op == EX_SUB && at == 0))) {
        Root *r = peel(s, e->args[at], offset);
        *offset = sum(s, (ExprOp)e->op, *offset, e->args[1 - at]);
        s->failed |= !is_within(s, *offset, most_offset);
        return r;
    }
    *offset = expr_int(s->pass->lw->exprs, KN_I32, 0);
    return root_of(s, e);
}

/* A coordinate in an index. */
static void look_at_coordinate(const Expr *e, void *user)
{
    Stores     *s    = user;
    ExprPool   *pool = s->pass->lw->exprs;
    const Expr *offset;
    if (s->failed || e->op != EX_CAST || e->type != KN_I64 || e->args[0]->type != KN_I32 ||
        !is_data(s->pass, e->args[0]))
        return;
    Root       *r    = peel(s, e->args[0], &offset);
    const Expr *wide = expr_unary(pool, EX_CAST, KN_I64, r->e), *more = expr_unary(pool, EX_CAST, KN_I64, offset);
    r->moved |= offset != expr_int(pool, KN_I32, 0);
    map_set(&s->become, e, index_add(pool, wide, simplify(s->pass->known, more)));
}

/* Is it a conjunction of comparisons of data with what lanes have in common, and of what they have in common? */
static bool is_guard(Pass *p, const Expr *e, bool *data)
{
    if (e->op == EX_AND)
        return is_guard(p, e->args[0], data) && is_guard(p, e->args[1], data);
    if (!varying_expr(&p->varying, e))
        return !has_load(p, e);
    const bool fine = (e->op == EX_LT || e->op == EX_LE) && e->args[0]->type == KN_I32 && data_operand(p, e) >= 0;
    *data |= fine;
    return fine;
}

/* Notes the bounds that a guard gives. */
static void take_guard(Stores *s, const Expr *e)
{
    if (e->op == EX_AND) {
        take_guard(s, e->args[0]);
        take_guard(s, e->args[1]);
        return;
    }
    if (!varying_expr(&s->pass->varying, e)) {
        take_invariant(s, e);
        return;
    }
    const int   at   = data_operand(s->pass, e);
    const Expr *end  = e->args[1 - at], *offset;
    const Expr *one  = expr_int(s->pass->lw->exprs, KN_I32, e->op == EX_LT);
    Root       *root = peel(s, e->args[at], &offset);
    bound_root(s, root, sum(s, at ? EX_ADD : EX_SUB, end, one), offset, at == 0);
}

/* The conditions of a guard that differ from lane to lane. */
static const Expr *varying_part(Pass *p, const Expr *e)
{
    if (e->op != EX_AND)
        return varying_expr(&p->varying, e) ? e : NULL;
    const Expr *a = varying_part(p, e->args[0]), *b = varying_part(p, e->args[1]);
    return a && b ? expr_binary(p->lw->exprs, EX_AND, KN_BOOL, a, b) : a ? a : b;
}

static void look_at_node(const Expr *e, void *user)
{
    Stores *s    = user;
    bool    data = false;
    if (s->failed)
        return;
    if (e->op == EX_LOAD)
        expr_visit(s->pass->lw->exprs, e->args[0], look_at_coordinate, s);
    if (e->op == EX_SELECT && has_load(s->pass, e->args[1]) && !has_load(s->pass, e->args[2]) &&
        is_guard(s->pass, e->args[0], &data) && data) {
        take_guard(s, e->args[0]);
        map_set(&s->become, e, e->args[1]);
        if (note(s->guards, &s->guard_count, MOST_GUARDS, varying_part(s->pass, e->args[0])))
            map_set(&s->behind, e, e->args[2]);
    }
}

static void look_at_expr(void *user, const Expr *e)
{
    Stores *s = user;
    expr_visit(s->pass->lw->exprs, e, look_at_node, s);
}

/* ---- Indices of 32 bits ---- */

/* An i64 index as i64(lanes) + rest. */
typedef struct Narrow {
    Stores     *stores;
    const Expr *lanes;   /* i32: E + i32(stride) * F …; NULL: 0 */
    const Expr *rest;    /* i64, without E; NULL: 0 */
    const Expr *reach;   /* i64: the largest |E| + |stride| * |F| … */
    int         terms;   /* with an E */
    bool        strided; /* some E has a stride */
} Narrow;

static const Expr *total(ExprPool *pool, const Expr *a, const Expr *b)
{
    return a ? index_add(pool, a, b) : b;
}

/* factor * e, where no factor is 1. */
static const Expr *times(ExprPool *pool, const Expr *factor, const Expr *e)
{
    return factor ? expr_binary(pool, EX_MUL, (kn_type)e->type, factor, e) : e;
}

/* The largest |E|, an i32. */
static const Expr *most_of(Stores *s, const Root *r)
{
    ExprPool *pool = s->pass->lw->exprs;
    int64_t   lo, hi;
    simplifier_bounds(s->pass->known, r->e, &lo, &hi);
    s->failed |= (!r->low && lo < -most_bound) || (!r->high && hi > most_bound);
    const Expr *low  = r->low ? r->low : expr_int(pool, KN_I32, lo),
               *high = r->high ? r->high : expr_int(pool, KN_I32, hi);
    return simplify(s->pass->known, expr_binary(pool, EX_MAX, KN_I32, high, expr_unary(pool, EX_NEG, KN_I32, low)));
}

/* Adds factor * E, and notes that the factor has to fit into 32 bits. */
static void add_root(Narrow *n, const Root *r, const Expr *factor)
{
    Stores     *s    = n->stores;
    ExprPool   *pool = s->pass->lw->exprs;
    const Expr *most = expr_unary(pool, EX_CAST, KN_I64, most_of(s, r)), *by = NULL, *size = NULL;
    if (factor) {
        by         = simplify(s->pass->known, expr_unary(pool, EX_CAST, KN_I32, factor));
        size       = simplify(s->pass->known, expr_unary(pool, EX_ABS, KN_I64, factor));
        n->strided = true;
        take_invariant(s, expr_binary(pool, EX_LE, KN_BOOL, expr_int(pool, KN_I64, -INT32_MAX), factor));
        take_invariant(s, expr_binary(pool, EX_LE, KN_BOOL, factor, expr_int(pool, KN_I64, INT32_MAX)));
    }
    n->terms++;
    n->lanes = total(pool, n->lanes, times(pool, by, r->e));
    n->reach = total(pool, n->reach, times(pool, size, most));
}

/* Adds factor * e. */
static void add_terms(Narrow *n, const Expr *e, const Expr *factor)
{
    Stores     *s      = n->stores;
    ExprPool   *pool   = s->pass->lw->exprs;
    Varying    *v      = &s->pass->varying;
    const bool  varies = varying_expr(v, e);
    const Root *r      = varies && e->op == EX_CAST ? find_root(s, e->args[0]) : NULL;
    if (r) {
        add_root(n, r, factor);
    } else if (varies && (e->op == EX_ADD || e->op == EX_SUB)) {
        add_terms(n, e->args[0], factor);
        add_terms(n, e->args[1], e->op == EX_ADD ? factor : times(pool, factor, expr_int(pool, KN_I64, -1)));
    } else if (varies && e->op == EX_MUL && varying_expr(v, e->args[0]) != varying_expr(v, e->args[1])) {
        const int at = varying_expr(v, e->args[1]);
        add_terms(n, e->args[at], times(pool, factor, e->args[1 - at]));
    } else {
        n->rest = total(pool, n->rest, times(pool, factor, e));
    }
}

/* The index of a read inside. A plane has less than 2^31 elements, or the stores stay as they are: what MOST_TERMS
 * strides below 2^31 reach with coordinates up to 2^30 fits into 64 bits. */
static const Expr *narrow(Stores *s, const Expr *index, bool *same)
{
    ExprPool *pool = s->pass->lw->exprs;
    Narrow    n    = { .stores = s };
    add_terms(&n, index, NULL);
    if (!n.strided || n.terms > MOST_TERMS)
        return index;
    take_invariant(s, expr_binary(pool, EX_LE, KN_BOOL, n.reach, expr_int(pool, KN_I64, INT32_MAX)));
    *same = false;
    return total(pool, n.rest, expr_unary(pool, EX_CAST, KN_I64, n.lanes));
}

/* ---- Stores without it ---- */

typedef struct Strip {
    Stores    *stores;
    const Map *become;
    Map        done;
} Strip;

/* A root is not looked into: its own reads keep their clamps. */
static const Expr *stripped(Strip *x, const Expr *e)
{
    const Expr *r = map_get(&x->done, e), *instead = map_get(x->become, e);
    if (r || find_root(x->stores, e))
        return r ? r : e;
    if (instead && instead != e) {
        r = stripped(x, instead);
    } else {
        const Expr **args = ARENA_ARRAY(x->stores->pass->scratch, const Expr *, (size_t)e->count + 1);
        bool         same = true;
        for (uint32_t i = 0; i < e->count; i++) {
            args[i] = stripped(x, e->args[i]);
            same &= args[i] == e->args[i];
        }
        if (e->op == EX_LOAD && x->become == &x->stores->become && type_bits((kn_type)e->type) < 32)
            args[0] = narrow(x->stores, args[0], &same);
        r = same ? e : expr_rebuild(x->stores->pass->lw->exprs, e, args);
    }
    map_set(&x->done, e, r);
    return r;
}

static const Expr *strip_expr(void *user, const Expr *e)
{
    return stripped(user, e);
}

static const Stmt *strip_stmt(void *user, const Stmt *s)
{
    const StmtMap m = { ((Strip *)user)->stores->pass->lw->arena, strip_stmt, strip_expr, user };
    return stmt_map(&m, s);
}

/* The stores with what stands for their nodes. */
static const Stmt *rewritten(Stores *s, const Map *become, const Stmt *stores)
{
    Strip strip = { .stores = s, .become = become };
    map_init(&strip.done, s->pass->scratch);
    return strip_stmt(&strip, stores);
}

static const Expr *both(Stores *s, const Expr *a, const Expr *b)
{
    return a ? expr_binary(s->pass->lw->exprs, EX_AND, KN_BOOL, a, b) : b;
}

/* Are all lanes inside? NULL: there is nothing to ask, or it says too little. */
static const Expr *is_inside(Stores *s)
{
    ExprPool   *pool = s->pass->lw->exprs;
    const Expr *all  = NULL;
    for (int i = 0; i < s->invariant_count; i++)
        all = both(s, all, s->invariant[i]);
    for (int i = 0; i < s->root_count; i++) {
        const Root *r = &s->roots[i];
        int64_t     lo, hi;
        simplifier_bounds(s->pass->known, r->e, &lo, &hi);
        if ((r->low || r->high || r->moved) && ((!r->low && lo < -most_bound) || (!r->high && hi > most_bound)))
            return NULL;
        if (r->low)
            all = both(s, all, expr_binary(pool, EX_LE, KN_BOOL, r->low, r->e));
        if (r->high)
            all = both(s, all, expr_binary(pool, EX_LE, KN_BOOL, r->e, r->high));
    }
    return all;
}

/* Does no guard hold in any lane? NULL: there is none. */
static const Expr *is_outside(Stores *s)
{
    const Expr *all = NULL;
    for (int i = 0; i < s->guard_count; i++)
        all = both(s, all, expr_unary(s->pass->lw->exprs, EX_BIT_NOT, KN_BOOL, s->guards[i]));
    return all;
}

/* ---- The pass ---- */

/* Stores one after the other, and names around them for what all lanes have in common: the channel of a copy. */
static bool is_store(Pass *p, const Stmt *s)
{
    if (s->kind == STMT_LET)
        return !varying_expr(&p->varying, s->let.value) && !has_load(p, s->let.value) && is_store(p, s->let.body);
    if (s->kind != STMT_BLOCK)
        return s->kind == STMT_STORE && !s->store.atomic;
    for (int i = 0; i < s->block.count; i++)
        if (!is_store(p, s->block.items[i]))
            return false;
    return s->block.count > 0;
}

typedef struct Name {
    Lower      *lw;
    const char *name;
    const Expr *value;
} Name;

static const Expr *put_expr(void *user, const Expr *e)
{
    const Name *n = user;
    return expr_substitute(n->lw->exprs, e, 1, &n->name, &n->value);
}

static const Stmt *put(void *user, const Stmt *s)
{
    const StmtMap m = { ((Name *)user)->lw->arena, put, put_expr, user };
    return stmt_map(&m, s);
}

/* The stores with what names stand for in their place, so that copies are asked together. */
static const Stmt *without_lets(void *user, const Stmt *s)
{
    Lower        *lw = user;
    const StmtMap m  = { lw->arena, without_lets, NULL, lw };
    if (s->kind != STMT_LET)
        return stmt_map(&m, s);
    Name n = { lw, s->let.name, s->let.value };
    return without_lets(lw, put(&n, s->let.body));
}

static void look_at_store(void *user, const Stmt *s)
{
    stmt_children(s, look_at_expr, look_at_store, user);
}

/* Buffers that statements store, and whether an expression reads one. */
typedef struct Writes {
    Map  buffers;
    bool read;
} Writes;

static void find_writes(void *user, const Stmt *s)
{
    Writes *w = user;
    if (s->kind == STMT_STORE)
        for (int i = 0; i < s->store.count; i++)
            map_set(&w->buffers, s->store.places[i].buffer, s);
    stmt_children(s, NULL, find_writes, w);
}

static void find_read(const Expr *e, void *user)
{
    Writes *w = user;
    w->read |= e->op == EX_LOAD && map_get(&w->buffers, e->u.buffer);
}

/* Could a store of the block change what is asked before it? */
static bool is_overwritten(Pass *p, const Expr *condition, const Stmt *s)
{
    Writes w = { 0 };
    if (s->kind != STMT_BLOCK)
        return false;
    map_init(&w.buffers, p->scratch);
    find_writes(&w, s);
    expr_visit(p->lw->exprs, condition, find_read, &w);
    return w.read;
}

static const Stmt *version(Pass *p, const Stmt *stores)
{
    Stores      x = { .pass = p };
    const Stmt *s = without_lets(p->lw, stores);
    if (stmt_size(p->lw->exprs, s, MOST_NODES) == MOST_NODES)
        return stores;
    map_init(&x.become, p->scratch);
    map_init(&x.behind, p->scratch);
    look_at_store(&x, s);
    if (x.failed || !x.image)
        return stores;
    const Stmt *yes    = rewritten(&x, &x.become, s);
    const Expr *inside = x.failed ? NULL : is_inside(&x);
    if (!inside || is_overwritten(p, inside, s))
        return stores;
    const Expr *outside = is_outside(&x);
    const Stmt *no      = outside && !is_overwritten(p, outside, s)
                              ? stmt_if_whole(p->lw->arena, outside, rewritten(&x, &x.behind, s), s)
                              : s;
    return stmt_if_whole(p->lw->arena, inside, yes, no);
}

static const Stmt *visit(void *user, const Stmt *s);

/* A vector loop, with what holds inside it. */
static const Stmt *visit_vector(Pass *p, const Stmt *s)
{
    const StmtMap m = { p->lw->arena, visit, NULL, p };
    varying_init(&p->varying, p->lw->exprs, p->scratch, s->loop.name);
    map_init(&p->data, p->scratch);
    map_init(&p->made, p->scratch);
    p->vector = true;
    s         = stmt_map(&m, s);
    p->vector = false;
    return s;
}

/* A let or a loop: what its name stands for is known inside it. */
static const Stmt *visit_name(Pass *p, const Stmt *s)
{
    const StmtMap m   = { p->lw->arena, visit, NULL, p };
    const bool    let = s->kind == STMT_LET;
    if (let)
        simplifier_push_let(p->known, s->let.name, s->let.value);
    else
        simplifier_push_range(p->known, s->loop.name, s->loop.min, loop_last(p->lw, s));
    if (p->vector && let) {
        const bool data = is_data(p, s->let.value);
        varying_bind(&p->varying, s->let.name, varying_expr(&p->varying, s->let.value));
        map_set(&p->data, s->let.name, data ? s : NULL);
        map_init(&p->made, p->scratch);
    } else if (p->vector) {
        varying_bind(&p->varying, s->loop.name, false);
    }
    s = !let && s->loop.kind == LOOP_VECTOR ? visit_vector(p, s) : stmt_map(&m, s);
    simplifier_pop(p->known);
    return s;
}

static const Stmt *visit(void *user, const Stmt *s)
{
    Pass         *p = user;
    const StmtMap m = { p->lw->arena, visit, NULL, p };
    if (p->vector && is_store(p, s))
        return version(p, s);
    return s->kind == STMT_LET || s->kind == STMT_FOR ? visit_name(p, s) : stmt_map(&m, s);
}

const Stmt *lower_inside(Lower *lw, const Stmt *s)
{
    if (!s)
        return NULL;
    Arena scratch;
    scratch_begin(&scratch, lw->cx);
    Pass p = { .lw = lw, .scratch = &scratch, .known = base_simplifier(lw, &scratch) };
    s      = visit(&p, s);
    scratch_end(&scratch);
    return s;
}
