/* SPDX-License-Identifier: MIT */
/* Vectors whose reads lie inside: clamps and guards of indices made of data, removed behind one test.
 *
 * Takes   a statement after `clean`. A read at a place made of data (a warp, a flow) is clamped to what is stored,
 *         max(min(E + a, k), 0), and at a constant boundary guarded: if lo <= E + a && E + a < hi then f[…] else 0.
 * Gives   for the stores of a vector loop that have such reads
 *             if L <= E && E <= U for all lanes (Stmt.branch.whole): the stores without these clamps and guards
 *             else: the stores as they were
 *         E is the i32 that clamps and sums end at, one for each coordinate that is read. Every clamp and guard of E +
 * a bounds E from one side by something that all lanes have in common; L is the largest, U the smallest of these. Taps
 * at E and E + 1 are adjacent elements then, which the backend loads together. Holds   L and U lie within ±2^30 and a
 * within ±2^29, as far as the simplifier knows, or nothing is changed. So between L and U no sum E + a wraps, i64(E +
 * a) is i64(E) + i64(a), and clamps and guards do nothing. */
#include "ir/simplify.h"
#include "lower/bounds/value_range.h"
#include "lower/passes/pass_tools.h"

enum { MOST_ROOTS = 8, MOST_INVARIANT = 16, MOST_NODES = 4000 };
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
    Root        roots[MOST_ROOTS];
    int         root_count;
    const Expr *invariant[MOST_INVARIANT]; /* guards that all lanes have in common */
    int         invariant_count;
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

static Root *root_of(Stores *s, const Expr *e)
{
    for (int i = 0; i < s->root_count; i++)
        if (s->roots[i].e == e)
            return &s->roots[i];
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

/* ---- What can be left out ---- */

static const Expr *plus(Stores *s, const Expr *root, const Expr *offset)
{
    return index_add(s->pass->lw->exprs, root, offset);
}

/* e = E + *offset, where its clamps do nothing: E, whose bounds say so. */
static Root *peel(Stores *s, const Expr *e, const Expr **offset)
{
    const int at = e->count == 2 ? data_operand(s->pass, e) : -1;
    if (at >= 0 && (e->op == EX_MIN || e->op == EX_MAX)) {
        Root *r = peel(s, e->args[at], offset);
        bound_root(s, r, e->args[1 - at], *offset, e->op == EX_MIN);
        map_set(&s->become, e, plus(s, r->e, *offset));
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

static void note_invariant(Stores *s, const Expr *e)
{
    for (int i = 0; i < s->invariant_count; i++)
        if (s->invariant[i] == e)
            return;
    s->failed |= s->invariant_count == MOST_INVARIANT;
    if (!s->failed)
        s->invariant[s->invariant_count++] = e;
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
        note_invariant(s, e);
        return;
    }
    const int   at   = data_operand(s->pass, e);
    const Expr *end  = e->args[1 - at], *offset;
    const Expr *one  = expr_int(s->pass->lw->exprs, KN_I32, e->op == EX_LT);
    Root       *root = peel(s, e->args[at], &offset);
    bound_root(s, root, sum(s, at ? EX_ADD : EX_SUB, end, one), offset, at == 0);
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
    }
}

static void look_at_expr(void *user, const Expr *e)
{
    Stores *s = user;
    expr_visit(s->pass->lw->exprs, e, look_at_node, s);
}

/* ---- Stores without it ---- */

typedef struct Strip {
    Stores *stores;
    Map     done;
} Strip;

/* A root is not looked into: its own reads keep their clamps. */
static bool is_root(const Stores *s, const Expr *e)
{
    for (int i = 0; i < s->root_count; i++)
        if (s->roots[i].e == e)
            return true;
    return false;
}

static const Expr *stripped(Strip *x, const Expr *e)
{
    const Expr *r = map_get(&x->done, e), *instead = map_get(&x->stores->become, e);
    if (r || is_root(x->stores, e))
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
    look_at_store(&x, s);
    const Expr *inside = x.failed || !x.image ? NULL : is_inside(&x);
    if (!inside || is_overwritten(p, inside, s))
        return stores;
    Strip strip = { .stores = &x };
    map_init(&strip.done, p->scratch);
    return stmt_if_whole(p->lw->arena, inside, strip_stmt(&strip, s), s);
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
