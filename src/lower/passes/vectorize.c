/* Vector loops made fit for lanes.
 *
 * Takes   a statement after flattening.
 * Gives   one that does the same, in which the body of each vector loop is something that lanes can do together:
 *           a loop in it is serial and its bounds are the same for all lanes. Where they were not, it runs over all
 *           values that some lane needs, [min over lanes of min, max over lanes of max], and each lane takes part where
 *           the value is its own; scratch memory is allocated around the loop, `lanes` times as much: element i of lane
 *           l is i*lanes + l, so that lanes that address the same element touch neighbours.
 *         A loop for which that cannot be had is serial: one whose inner bounds have no ends that can be said
 *         beforehand (they are read from memory, say), one with scratch whose size the lanes do not agree on, one that
 *         checks, needs or calls a stage, and one of a single lane. Of nested vector loops the inner one stays; the
 *         outer is unrolled if that is small enough, and serial else.
 * Holds   what shape a value has is the backend's business: shapes are not looked at here. */
#include "ir/simplify.h"
#include "lower/bounds/value_range.h"
#include "lower/passes/pass_tools.h"

typedef struct Vectorize {
    Lower *lw;
    Arena *scratch;
    VEC(const Stmt *) around; /* lets and loops around the statement looked at */
} Vectorize;

/* The least and the largest value an expression has in any lane, both the same for all lanes. */
typedef struct LaneRange {
    const Expr *lo, *hi;
} LaneRange;

/* Scratch that moves out of the loop, and how many elements one lane has. */
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
    Map         lets;  /* name of a varying let -> its value */
    Simplifier *known; /* what holds at the loop whose bounds are looked at */
    Map values;    /* name of an inner let that does not vary -> its value, in terms of what is bound outside the loop;
                      absent if there is none */
    Map  inner;    /* names bound inside the loop */
    int  branches; /* around the statement looked at, inside the loop */
    bool failed;
    VEC(Moved) moved;
} Lanes;

static const Expr *last_of(Lower *lw, const Stmt *loop)
{
    return index_sub(lw->exprs, index_add(lw->exprs, loop->loop.min, loop->loop.extent),
                     expr_int(lw->exprs, (kn_type)loop->loop.min->type, 1));
}

/* ---- Spans -------------------------------------------------------------------------------- */

static bool lane_range_of(Lanes *l, Map *done, const Expr *e, LaneRange *out);

/* Does a sum, difference, negation or product never leave its type? */
static bool never_wraps(Lanes *l, const Expr *e)
{
    __int128 lo = 0, hi = 0;
    for (uint32_t i = 0; i < e->count; i++) {
        int64_t a, b;
        simplifier_bounds(l->known, e->args[i], &a, &b);
        if (i == 0) {
            lo = e->op == EX_NEG ? -(__int128)b : a;
            hi = e->op == EX_NEG ? -(__int128)a : b;
        } else if (e->op == EX_ADD) {
            lo += a;
            hi += b;
        } else if (e->op == EX_SUB) {
            lo -= b;
            hi -= a;
        } else {
            const __int128 p[4] = { lo * a, lo * b, hi * a, hi * b };
            lo = hi = p[0];
            for (int k = 1; k < 4; k++) {
                lo = p[k] < lo ? p[k] : lo;
                hi = p[k] > hi ? p[k] : hi;
            }
        }
    }
    const __int128 most = (__int128)1 << (type_bits((kn_type)e->type) - 1);
    return type_is_signed((kn_type)e->type) && lo >= -most && hi < most;
}

static const Expr *both(Lanes *l, ExprOp op, const Expr *a, const Expr *b)
{
    return a == b && (op == EX_MIN || op == EX_MAX) ? a : expr_binary(l->pass->lw->exprs, op, (kn_type)a->type, a, b);
}

static bool range_sum(Lanes *l, const Expr *e, LaneRange a, LaneRange b, LaneRange *out)
{
    const bool minus = e->op == EX_SUB;
    *out             = (LaneRange){ both(l, (ExprOp)e->op, a.lo, minus ? b.hi : b.lo),
                                    both(l, (ExprOp)e->op, a.hi, minus ? b.lo : b.hi) };
    return never_wraps(l, e);
}

/* A product with, or a quotient by, a constant. */
static bool range_scaled(Lanes *l, const Expr *e, LaneRange a, LaneRange b, LaneRange *out)
{
    int64_t k;
    if (e->op == EX_MUL && expr_is_int(a.lo, &k) && a.lo == a.hi) {
        const LaneRange swap = a;
        a                    = b;
        b                    = swap;
    }
    if (b.lo != b.hi || !expr_is_int(b.lo, &k) || (e->op == EX_DIV && k <= 0) ||
        (e->op == EX_MUL && !never_wraps(l, e)))
        return false;
    *out = (LaneRange){ both(l, (ExprOp)e->op, k < 0 ? a.hi : a.lo, b.lo),
                        both(l, (ExprOp)e->op, k < 0 ? a.lo : a.hi, b.lo) };
    return true;
}

static bool range_node(Lanes *l, const Expr *e, const LaneRange *a, LaneRange *out)
{
    ExprPool *pool = l->pass->lw->exprs;
    int64_t   k;
    switch ((ExprOp)e->op) {
    case EX_ADD:
    case EX_SUB: return range_sum(l, e, a[0], a[1], out);
    case EX_MUL:
    case EX_DIV: return range_scaled(l, e, a[0], a[1], out);
    case EX_NEG:
        *out = (LaneRange){ expr_unary(pool, EX_NEG, (kn_type)e->type, a[0].hi),
                            expr_unary(pool, EX_NEG, (kn_type)e->type, a[0].lo) };
        return never_wraps(l, e);
    case EX_MIN:
    case EX_MAX:
        *out = (LaneRange){ both(l, (ExprOp)e->op, a[0].lo, a[1].lo), both(l, (ExprOp)e->op, a[0].hi, a[1].hi) };
        return true;
    case EX_SELECT:
        *out = (LaneRange){ both(l, EX_MIN, a[1].lo, a[2].lo), both(l, EX_MAX, a[1].hi, a[2].hi) };
        return true;
    case EX_MOD:
        if (!expr_is_int(e->args[1], &k) || k <= 0)
            return false;
        *out = (LaneRange){ expr_int(pool, (kn_type)e->type, 0), expr_int(pool, (kn_type)e->type, k - 1) };
        return true;
    case EX_CAST:
        if (!type_is_signed((kn_type)e->args[0]->type) ||
            type_bits((kn_type)e->args[0]->type) > type_bits((kn_type)e->type))
            return false;
        *out = (LaneRange){ expr_unary(pool, EX_CAST, (kn_type)e->type, a[0].lo),
                            expr_unary(pool, EX_CAST, (kn_type)e->type, a[0].hi) };
        return true;
    default: return false;
    }
}

static bool range_known(Lanes *l, Map *done, const Expr *e, LaneRange *out)
{
    if (!varying_expr(&l->varying, e)) {
        *out = (LaneRange){ e, e };
        return true;
    }
    if (e->op == EX_VAR && e->u.name == l->loop->loop.name) {
        *out = (LaneRange){ l->loop->loop.min, last_of(l->pass->lw, l->loop) };
        return true;
    }
    if (e->op == EX_VAR) {
        const Expr *value = map_get(&l->lets, e->u.name);
        return value && lane_range_of(l, done, value, out);
    }
    if (e->count > 3 || !type_is_int((kn_type)e->type))
        return false;
    LaneRange operands[3] = { { 0 } };
    for (uint32_t i = e->op == EX_SELECT; i < e->count; i++)
        if (!type_is_int((kn_type)e->args[i]->type) || !lane_range_of(l, done, e->args[i], &operands[i]))
            return false;
    return range_node(l, e, operands, out);
}

/* The span of an integer expression, by intervals from the leaves up; `done` has the spans of the nodes seen, empty
 * where there is none. */
static bool lane_range_of(Lanes *l, Map *done, const Expr *e, LaneRange *out)
{
    const LaneRange *seen = map_get(done, e);
    if (!seen) {
        LaneRange *found = ARENA_NEW(l->scratch, LaneRange);
        if (!range_known(l, done, e, found))
            *found = (LaneRange){ NULL, NULL };
        map_set(done, e, found);
        seen = found;
    }
    *out = *seen;
    return seen->lo != NULL;
}

/* What is known here of all that encloses the statement looked at. Few loops need it, so it is made for those. */
static Simplifier *knowledge(Vectorize *x, Arena *scratch)
{
    Simplifier *known = base_simplifier(x->lw, scratch);
    for (size_t i = 0; i < x->around.count; i++) {
        const Stmt *s = x->around.at[i];
        if (s->kind == STMT_LET)
            simplifier_push_let(known, s->let.name, s->let.value);
        else
            simplifier_push_range(known, s->loop.name, s->loop.min, last_of(x->lw, s));
    }
    return known;
}

static bool lane_range(Lanes *l, const Expr *e, LaneRange *out)
{
    Map done;
    map_init(&done, l->scratch);
    return lane_range_of(l, &done, simplify(l->known, e), out);
}

/* ---- The body ------------------------------------------------------------------------------ */

static const Stmt *fit_lanes(void *user, const Stmt *s);

typedef struct Outward {
    Lanes *lanes;
    bool   failed;
} Outward;

static const Expr *outward_node(void *user, const Expr *e)
{
    Outward *o = user;
    o->failed |= e->op == EX_LOAD || e->op == EX_EXTERN;
    if (e->op != EX_VAR || !map_get(&o->lanes->inner, e->u.name))
        return e;
    const Expr *value = map_get(&o->lanes->values, e->u.name);
    o->failed |= !value;
    return value ? value : e;
}

/* The expression in terms of what is bound outside the vector loop; NULL if it cannot be said there. */
static const Expr *outward(Lanes *l, const Expr *e)
{
    Outward o = { l, false };
    e         = expr_rewrite(l->pass->lw->exprs, e, outward_node, &o);
    return o.failed ? NULL : e;
}

static const Moved *moved(const Lanes *l, const Buffer *buffer)
{
    for (size_t i = 0; i < l->moved.count; i++)
        if (l->moved.at[i].buffer == buffer)
            return &l->moved.at[i];
    return NULL;
}

/* Where an access goes: to the lane's own element if the buffer moves. */
static const Expr *place(Lanes *l, const Buffer *buffer, const Expr *index)
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
    return expr_load(l->pass->lw->exprs, e->u.buffer, (kn_type)e->type, place(l, e->u.buffer, e->args[0]));
}

static const Expr *fit_expr(void *user, const Expr *e)
{
    Lanes *l = user;
    return l->moved.count ? expr_rewrite(l->pass->lw->exprs, e, move_node, l) : e;
}

static const Stmt *fit_store(Lanes *l, const Stmt *s)
{
    Stmt *c         = ARENA_NEW(l->pass->lw->arena, Stmt);
    *c              = *s;
    c->store.places = ARENA_ARRAY(l->pass->lw->arena, Place, (size_t)s->store.count);
    for (int i = 0; i < s->store.count; i++) {
        const Place *p     = &s->store.places[i];
        c->store.places[i] = (Place){ p->buffer, place(l, p->buffer, fit_expr(l, p->index)), fit_expr(l, p->value) };
    }
    return c;
}

static const Stmt *fit_prefetch(Lanes *l, const Stmt *s)
{
    Stmt *c           = ARENA_NEW(l->pass->lw->arena, Stmt);
    *c                = *s;
    c->prefetch.index = place(l, s->prefetch.buffer, fit_expr(l, s->prefetch.index));
    return c;
}

static const Stmt *fit_alloc(Lanes *l, const Stmt *s)
{
    int64_t     n;
    const Expr *count = varying_expr(&l->varying, s->alloc.count) ? NULL : outward(l, s->alloc.count);
    if (!count || (l->branches && !expr_is_int(count, &n))) {
        l->failed = true; /* also where a branch may be what keeps the size sensible */
        return s;
    }
    const Moved *before = moved(l, s->alloc.buffer);
    if (!before)
        vec_push(l->scratch, &l->moved, ((Moved){ s->alloc.buffer, count }));
    else if (before->count != count)
        l->failed = true;
    varying_buffer(&l->varying, s->alloc.buffer);
    return fit_lanes(l, s->alloc.body);
}

static const Stmt *fit_let(Lanes *l, const Stmt *s)
{
    const bool  varies = varying_expr(&l->varying, s->let.value);
    const Expr *value  = varies ? NULL : outward(l, s->let.value);
    varying_bind(&l->varying, s->let.name, varies);
    map_set(&l->inner, s->let.name, s);
    map_set(&l->lets, s->let.name, varies ? s->let.value : NULL);
    map_set(&l->values, s->let.name, value);
    vec_push(l->pass->scratch, &l->pass->around, s);
    const Stmt *body = fit_lanes(l, s->let.body);
    l->pass->around.count--;
    return stmt_let(l->pass->lw->arena, s->let.name, fit_expr(l, s->let.value), body);
}

/* A loop in which lanes differ on the bounds: over the hull of them, each lane where it takes part. */
static const Stmt *fit_hull(Lanes *l, const Stmt *s, const Stmt *body)
{
    Lower      *lw   = l->pass->lw;
    ExprPool   *pool = lw->exprs;
    const Expr *var  = expr_var(pool, KN_I32, s->loop.name);
    const Expr *end  = index_add(pool, s->loop.min, s->loop.extent);
    LaneRange   first, last;
    l->known = knowledge(l->pass, l->scratch);
    if (!lane_range(l, s->loop.min, &first) || !lane_range(l, end, &last)) {
        l->failed = true;
        return s;
    }
    const Expr *takes = expr_binary(pool, EX_AND, KN_BOOL, expr_binary(pool, EX_LE, KN_BOOL, s->loop.min, var),
                                    expr_binary(pool, EX_LT, KN_BOOL, var, end));
    return stmt_for(lw->arena, s->loop.name, LOOP_SERIAL, first.lo, index_sub(pool, last.hi, first.lo),
                    stmt_if(lw->arena, takes, body, NULL));
}

static const Stmt *fit_loop(Lanes *l, const Stmt *s)
{
    Lower      *lw   = l->pass->lw;
    const bool  hull = varying_expr(&l->varying, s->loop.min) || varying_expr(&l->varying, s->loop.extent);
    const Expr *min = fit_expr(l, s->loop.min), *extent = fit_expr(l, s->loop.extent);
    varying_bind(&l->varying, s->loop.name, false);
    map_set(&l->inner, s->loop.name, s);
    map_set(&l->values, s->loop.name, NULL);
    vec_push(l->pass->scratch, &l->pass->around, s);
    l->branches += hull;
    const Stmt *body = fit_lanes(l, s->loop.body);
    l->branches -= hull;
    l->pass->around.count--;
    return hull ? fit_hull(l, s, body) : stmt_for(lw->arena, s->loop.name, LOOP_SERIAL, min, extent, body);
}

/* A statement inside a vector loop. Once it has failed, what it gives is not looked at. */
static const Stmt *fit_lanes(void *user, const Stmt *s)
{
    Lanes        *l = user;
    const StmtMap m = { l->pass->lw->arena, fit_lanes, fit_expr, l };
    if (l->failed)
        return s;
    switch (s->kind) {
    case STMT_LET: return fit_let(l, s);
    case STMT_FOR: return fit_loop(l, s);
    case STMT_STORE: return l->moved.count ? fit_store(l, s) : s;
    case STMT_PREFETCH: return l->moved.count ? fit_prefetch(l, s) : s;
    case STMT_ALLOC: return fit_alloc(l, s);
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

static const Stmt *fit(void *user, const Stmt *s);

/* Scratch of all lanes around the loop. */
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

/* The loop with its body made fit; NULL if it cannot be. */
static const Stmt *fit_body(Vectorize *x, const Stmt *loop, int64_t count)
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
    const Stmt *body = fit_lanes(&l, loop->loop.body);
    x->around.count--;
    const Stmt *result = NULL;
    if (!l.failed)
        result =
            allocate(&l, stmt_for(x->lw->arena, loop->loop.name, LOOP_VECTOR, loop->loop.min, loop->loop.extent, body));
    scratch_end(&scratch);
    return result;
}

static const Stmt *fit_vector(Vectorize *x, const Stmt *loop)
{
    int64_t count;
    Content content = { 0 };
    look(&content, loop->loop.body);
    if (!expr_is_int(loop->loop.extent, &count) || count <= 1 || content.checks)
        return fit(x, loop_as(x->lw->arena, loop, LOOP_SERIAL));
    if (content.vectors) {
        const Stmt *copies = unroll_loop(x->lw, loop);
        return copies ? fit(x, copies) : NULL;
    }
    const Stmt *result = fit_body(x, loop, count);
    return result ? result : loop_as(x->lw->arena, loop, LOOP_SERIAL);
}

/* A statement outside vector loops. */
static const Stmt *fit(void *user, const Stmt *s)
{
    Vectorize    *x = user;
    const StmtMap m = { x->lw->arena, fit, NULL, x };
    if (s->kind == STMT_FOR && s->loop.kind == LOOP_VECTOR)
        return fit_vector(x, s);
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
    s           = fit(&x, s);
    scratch_end(&scratch);
    return s;
}
