/* SPDX-License-Identifier: MIT */
/* Vector loops whose bodies all lanes can execute together.
 *
 * Takes   a statement after flattening.
 * Gives   one that does the same, in which the body of each vector loop can run in lanes:
 *         - A loop in it is serial, with bounds that are the same for all lanes. Where they were not, it runs over the
 *           hull, [min over lanes of min, max over lanes of max], and each lane is masked to its own range.
 *         - Scratch memory is allocated around the vector loop, `lanes` times as much. Element i of lane l is
 *           i*lanes + l, so equal elements of all lanes are contiguous.
 *         A loop that cannot be had so is serial: inner bounds without a known hull (loaded from memory, say), scratch
 *         whose size differs between lanes, checks, calls of extern stages, a single lane. Of nested vector loops the
 *         inner one stays; the outer is unrolled if that is small enough, else serial.
 * Holds   the shape of a value (scalar, ramp or lanes) is left to the backend. */
#include "ir/simplify.h"
#include "lower/bounds/expr_ends.h"
#include "lower/bounds/value_range.h"
#include "lower/passes/pass_tools.h"

typedef struct Vectorize {
    Lower *lw;
    Arena *scratch;
    VEC(const Stmt *) around; /* lets and loops around the statement visited */
} Vectorize;

/* Scratch that moves out of the loop, and its elements per lane. */
typedef struct Moved {
    const Buffer *buffer;
    const Expr   *count;
} Moved;

/* One vector loop. */
typedef struct Lanes {
    Vectorize  *pass;
    Arena      *scratch;
    const Stmt *loop;
    int64_t     count;
    Varying     varying;
    Map         lets;   /* name of a varying let -> its value */
    Simplifier *known;  /* what holds at the inner loop whose bounds are visited */
    Map         values; /* name of an inner invariant let -> its value, in names from outside the loop, if it has one */
    Map         inner;  /* names bound inside the loop */
    int         branches; /* inside the loop, around the statement visited */
    bool        failed;
    VEC(Moved) moved;
} Lanes;

/* ---- Intervals over the lanes --------------------------------------------------------------- */

static bool lane_interval(Lanes *l, Map *done, const Expr *e, Interval *out);

static Interval interval_hull(const EndMaker *maker, Interval a, Interval b)
{
    const End none = end_number(0);
    return (Interval){ end_apply(maker, END_MIN, a.lo, b.lo, none), end_apply(maker, END_MAX, a.hi, b.hi, none) };
}

/* From the intervals of the operands, by the rules of the analysis. */
static bool operator_interval(Lanes *l, Map *done, const Expr *e, Interval *out)
{
    const EndMaker maker = expr_end_maker(l->pass->lw);
    const bool     rule  = interval_has_rule((ExprOp)e->op);
    Interval       args[3];
    if (e->count > 3 || !type_is_int((kn_type)e->type) || (e->op != EX_SELECT && !rule))
        return false;
    for (uint32_t i = e->op == EX_SELECT; i < e->count; i++)
        if (type_is_float((kn_type)e->args[i]->type) || !lane_interval(l, done, e->args[i], &args[i]))
            return false;
    *out = rule ? interval_apply(&maker, (ExprOp)e->op, (kn_type)e->type, (kn_type)e->args[0]->type, args)
                : interval_hull(&maker, args[1], args[2]);
    return end_is_known(out->lo) && end_is_known(out->hi);
}

static bool find_interval(Lanes *l, Map *done, const Expr *e, Interval *out)
{
    const Expr *min = l->loop->loop.min;
    if (!varying_expr(&l->varying, e)) {
        const Range all = range_of_type((kn_type)e->type);
        *out            = (Interval){ expr_end(l->known, e, all.lo), expr_end(l->known, e, all.hi) };
        return true;
    }
    if (e->op == EX_VAR && e->u.name == l->loop->loop.name) {
        *out = (Interval){ expr_end(l->known, min, 0), expr_end(l->known, loop_last(l->pass->lw, l->loop), 0) };
        return true;
    }
    if (e->op == EX_VAR) {
        const Expr *value = map_get(&l->lets, e->u.name);
        return value && lane_interval(l, done, value, out);
    }
    return operator_interval(l, done, e, out);
}

/* The least and the largest value that an integer expression has in any lane, both the same for all lanes. `done` has
 * the intervals of the nodes seen, `done` itself where there is none. */
static bool lane_interval(Lanes *l, Map *done, const Expr *e, Interval *out)
{
    const void *seen = map_get(done, e);
    if (!seen) {
        Interval *found = ARENA_NEW(l->scratch, Interval);
        seen            = find_interval(l, done, e, found) ? found : (const void *)done;
        map_set(done, e, seen);
    }
    if (seen != done)
        *out = *(const Interval *)seen;
    return seen != done;
}

/* What is known of everything around the statement visited. Made on demand: few loops need it. */
static Simplifier *facts_around(Vectorize *x, Arena *scratch)
{
    Simplifier *known = base_simplifier(x->lw, scratch);
    for (size_t i = 0; i < x->around.count; i++) {
        const Stmt *s = x->around.at[i];
        if (s->kind == STMT_LET)
            simplifier_push_let(known, s->let.name, s->let.value);
        else
            simplifier_push_range(known, s->loop.name, s->loop.min, loop_last(x->lw, s));
    }
    return known;
}

/* An end of the hull of a loop bound over the lanes; NULL: it has none. */
static const Expr *bound_over_lanes(Lanes *l, const Expr *e, bool upper)
{
    Map           done;
    Interval      r;
    const kn_type type = (kn_type)e->type;
    const Range   all  = range_of_type(type);
    map_init(&done, l->scratch);
    if (!lane_interval(l, &done, simplify(l->known, e), &r))
        return NULL;
    const End end = upper ? r.hi : r.lo;
    return end_same(end, end_number(upper ? all.hi : all.lo)) ? NULL : end_expr(l->pass->lw, type, end);
}

/* ---- The body ------------------------------------------------------------------------------ */

static const Stmt *lane_stmt(void *user, const Stmt *s);

typedef struct OuterNames {
    Lanes *lanes;
    bool   failed;
} OuterNames;

static const Expr *outer_name_node(void *user, const Expr *e)
{
    OuterNames *o = user;
    o->failed |= e->op == EX_LOAD || e->op == EX_EXTERN;
    if (e->op != EX_VAR || !map_get(&o->lanes->inner, e->u.name))
        return e;
    const Expr *value = map_get(&o->lanes->values, e->u.name);
    o->failed |= !value;
    return value ? value : e;
}

/* The expression in names from outside the vector loop; NULL: it has none. */
static const Expr *in_outer_names(Lanes *l, const Expr *e)
{
    OuterNames o = { l, false };
    e            = expr_rewrite(l->pass->lw->exprs, e, outer_name_node, &o);
    return o.failed ? NULL : e;
}

static const Moved *moved(const Lanes *l, const Buffer *buffer)
{
    for (size_t i = 0; i < l->moved.count; i++)
        if (l->moved.at[i].buffer == buffer)
            return &l->moved.at[i];
    return NULL;
}

/* The index of an access: the lane's own element if the buffer moves. */
static const Expr *lane_index(Lanes *l, const Buffer *buffer, const Expr *index)
{
    ExprPool *pool = l->pass->lw->exprs;
    if (!moved(l, buffer))
        return index;
    const Expr *lane = index_sub(pool, expr_var(pool, KN_I32, l->loop->loop.name), l->loop->loop.min);
    index            = expr_binary(pool, EX_MUL, KN_I64, index, expr_int(pool, KN_I64, l->count));
    return expr_binary(pool, EX_ADD, KN_I64, index, expr_unary(pool, EX_CAST, KN_I64, lane));
}

static const Expr *move_node(void *user, const Expr *e)
{
    Lanes *l = user;
    if (e->op != EX_LOAD || !moved(l, e->u.buffer))
        return e;
    return expr_load(l->pass->lw->exprs, e->u.buffer, (kn_type)e->type, lane_index(l, e->u.buffer, e->args[0]));
}

static const Expr *lane_expr(void *user, const Expr *e)
{
    Lanes *l = user;
    return l->moved.count ? expr_rewrite(l->pass->lw->exprs, e, move_node, l) : e;
}

static const Stmt *lane_store(Lanes *l, const Stmt *s)
{
    Stmt *c         = ARENA_NEW(l->pass->lw->arena, Stmt);
    *c              = *s;
    c->store.places = ARENA_ARRAY(l->pass->lw->arena, Place, (size_t)s->store.count);
    for (int i = 0; i < s->store.count; i++) {
        const Place *p = &s->store.places[i];
        c->store.places[i] =
            (Place){ p->buffer, lane_index(l, p->buffer, lane_expr(l, p->index)), lane_expr(l, p->value) };
    }
    return c;
}

static const Stmt *lane_prefetch(Lanes *l, const Stmt *s)
{
    Stmt *c           = ARENA_NEW(l->pass->lw->arena, Stmt);
    *c                = *s;
    c->prefetch.index = lane_index(l, s->prefetch.buffer, lane_expr(l, s->prefetch.index));
    return c;
}

static const Stmt *lane_alloc(Lanes *l, const Stmt *s)
{
    int64_t     n;
    const Expr *count = varying_expr(&l->varying, s->alloc.count) ? NULL : in_outer_names(l, s->alloc.count);
    if (!count || (l->branches && !expr_is_int(count, &n))) {
        l->failed = true; /* also inside a branch, which may be what bounds the size */
        return s;
    }
    const Moved *before = moved(l, s->alloc.buffer);
    if (!before)
        vec_push(l->scratch, &l->moved, ((Moved){ s->alloc.buffer, count }));
    else if (before->count != count)
        l->failed = true;
    varying_buffer(&l->varying, s->alloc.buffer);
    return lane_stmt(l, s->alloc.body);
}

static const Stmt *lane_let(Lanes *l, const Stmt *s)
{
    const bool  varies = varying_expr(&l->varying, s->let.value);
    const Expr *value  = varies ? NULL : in_outer_names(l, s->let.value);
    varying_bind(&l->varying, s->let.name, varies);
    map_set(&l->inner, s->let.name, s);
    map_set(&l->lets, s->let.name, varies ? s->let.value : NULL);
    map_set(&l->values, s->let.name, value);
    vec_push(l->pass->scratch, &l->pass->around, s);
    const Stmt *body = lane_stmt(l, s->let.body);
    l->pass->around.count--;
    return stmt_let(l->pass->lw->arena, s->let.name, lane_expr(l, s->let.value), body);
}

/* A loop whose bounds differ between lanes: over the hull, each lane masked to its range. */
static const Stmt *lane_loop_hull(Lanes *l, const Stmt *s, const Stmt *body)
{
    Lower      *lw    = l->pass->lw;
    ExprPool   *pool  = lw->exprs;
    const Expr *var   = expr_var(pool, KN_I32, s->loop.name);
    const Expr *end   = index_add(pool, s->loop.min, s->loop.extent);
    l->known          = facts_around(l->pass, l->scratch);
    const Expr *first = bound_over_lanes(l, s->loop.min, false), *last = bound_over_lanes(l, end, true);
    if (!first || !last) {
        l->failed = true;
        return s;
    }
    const Expr *takes = expr_binary(pool, EX_AND, KN_BOOL, expr_binary(pool, EX_LE, KN_BOOL, s->loop.min, var),
                                    expr_binary(pool, EX_LT, KN_BOOL, var, end));
    return stmt_for(lw->arena, s->loop.name, LOOP_SERIAL, first, index_sub(pool, last, first),
                    stmt_if(lw->arena, takes, body, NULL));
}

static const Stmt *lane_loop(Lanes *l, const Stmt *s)
{
    Lower      *lw   = l->pass->lw;
    const bool  hull = varying_expr(&l->varying, s->loop.min) || varying_expr(&l->varying, s->loop.extent);
    const Expr *min = lane_expr(l, s->loop.min), *extent = lane_expr(l, s->loop.extent);
    varying_bind(&l->varying, s->loop.name, false);
    map_set(&l->inner, s->loop.name, s);
    map_set(&l->values, s->loop.name, NULL);
    vec_push(l->pass->scratch, &l->pass->around, s);
    l->branches += hull;
    const Stmt *body = lane_stmt(l, s->loop.body);
    l->branches -= hull;
    l->pass->around.count--;
    return hull ? lane_loop_hull(l, s, body) : stmt_for(lw->arena, s->loop.name, LOOP_SERIAL, min, extent, body);
}

/* A statement inside a vector loop. After a failure the result is not used. */
static const Stmt *lane_stmt(void *user, const Stmt *s)
{
    Lanes        *l = user;
    const StmtMap m = { l->pass->lw->arena, lane_stmt, lane_expr, l };
    if (l->failed)
        return s;
    switch (s->kind) {
    case STMT_LET: return lane_let(l, s);
    case STMT_FOR: return lane_loop(l, s);
    case STMT_STORE: return l->moved.count ? lane_store(l, s) : s;
    case STMT_PREFETCH: return l->moved.count ? lane_prefetch(l, s) : s;
    case STMT_ALLOC: return lane_alloc(l, s);
    case STMT_IF:
        l->branches++;
        s = stmt_map(&m, s);
        l->branches--;
        return s;
    default: return stmt_map(&m, s);
    }
}

/* ---- The loops ------------------------------------------------------------------------------- */

typedef struct Content {
    bool vectors, checks;
} Content;

static void look(void *user, const Stmt *s)
{
    Content *c = user;
    c->vectors |= s->kind == STMT_FOR && s->loop.kind == LOOP_VECTOR;
    c->checks |= s->kind == STMT_NEED || s->kind == STMT_CHECK || s->kind == STMT_STAGE;
    stmt_children(s, NULL, look, c);
}

static const Stmt *vectorize_stmt(void *user, const Stmt *s);

/* Allocates the scratch of all lanes around the loop. */
static const Stmt *allocate(Lanes *l, const Stmt *loop)
{
    Lower *lw = l->pass->lw;
    for (size_t i = l->moved.count; i-- > 0;) {
        Stmt *s         = ARENA_NEW(lw->arena, Stmt);
        s->kind         = STMT_ALLOC;
        s->alloc.buffer = l->moved.at[i].buffer;
        s->alloc.count =
            expr_binary(lw->exprs, EX_MUL, KN_I64, l->moved.at[i].count, expr_int(lw->exprs, KN_I64, l->count));
        s->alloc.body = loop;
        loop          = s;
    }
    return loop;
}

/* The loop with its body for lanes; NULL: it cannot be. */
static const Stmt *lane_body(Vectorize *x, const Stmt *loop, int64_t count)
{
    Arena scratch;
    scratch_begin(&scratch, x->lw->cx);
    Lanes l = { .pass = x, .scratch = &scratch, .loop = loop, .count = count };
    varying_init(&l.varying, x->lw->exprs, &scratch, loop->loop.name);
    map_init(&l.lets, &scratch);
    map_init(&l.values, &scratch);
    map_init(&l.inner, &scratch);
    map_set(&l.inner, loop->loop.name, loop);
    vec_push(x->scratch, &x->around, loop);
    const Stmt *body = lane_stmt(&l, loop->loop.body);
    x->around.count--;
    const Stmt *result = NULL;
    if (!l.failed)
        result =
            allocate(&l, stmt_for(x->lw->arena, loop->loop.name, LOOP_VECTOR, loop->loop.min, loop->loop.extent, body));
    scratch_end(&scratch);
    return result;
}

static const Stmt *vectorize_loop(Vectorize *x, const Stmt *loop)
{
    int64_t count;
    Content content = { 0 };
    look(&content, loop->loop.body);
    if (!expr_is_int(loop->loop.extent, &count) || count <= 1 || content.checks)
        return vectorize_stmt(x, loop_as(x->lw->arena, loop, LOOP_SERIAL));
    if (content.vectors) {
        const Stmt *copies = unroll_loop(x->lw, loop);
        return copies ? vectorize_stmt(x, copies) : NULL;
    }
    const Stmt *result = lane_body(x, loop, count);
    return result ? result : loop_as(x->lw->arena, loop, LOOP_SERIAL);
}

/* A statement outside vector loops. */
static const Stmt *vectorize_stmt(void *user, const Stmt *s)
{
    Vectorize    *x = user;
    const StmtMap m = { x->lw->arena, vectorize_stmt, NULL, x };
    if (s->kind == STMT_FOR && s->loop.kind == LOOP_VECTOR)
        return vectorize_loop(x, s);
    if (s->kind != STMT_LET && s->kind != STMT_FOR)
        return stmt_map(&m, s);
    vec_push(x->scratch, &x->around, s);
    s = stmt_map(&m, s);
    x->around.count--;
    return s;
}

const Stmt *lower_vectorize(Lower *lw, const Stmt *s)
{
    if (!s)
        return NULL;
    Arena scratch;
    scratch_begin(&scratch, lw->cx);
    Vectorize x = { .lw = lw, .scratch = &scratch };
    s           = vectorize_stmt(&x, s);
    scratch_end(&scratch);
    return s;
}
