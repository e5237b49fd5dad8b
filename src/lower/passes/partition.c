/* SPDX-License-Identifier: MIT */
/* Loop partitioning: peels a prologue and an epilogue, so that boundary conditions and tails cost nothing in between.
 *
 * Takes   a statement after flattening.
 * Gives   one that does the same, in which a serial loop `for v` whose body has conditions that v decides (see
 *         partition_decide.c) is
 *             let v.part.steady = …, v.part.edge = …
 *             for v from min to v.part.steady - 1:           the body without its tail guards
 *             for v from v.part.steady to v.part.edge - 1:   the body with its conditions decided
 *             for v from v.part.edge on:                     the body
 *         Vectors of more than BORDER_LANES in the first and the last part, also inside steps, are loops over narrower
 *         ones, partitioned the same way: lanes that are clamped are gathered, and few of the narrow vectors have any.
 *         Each part may be empty, for all sizes. If the condition of one branch alone ends the steady state, it is
 *         known in the epilogue too.
 * Guards  A guard is the condition of a branch that is the whole body of a vector loop. With a guard and stores of less
 *         than 32 bits the epilogue is two loops: vectors while the guard holds, then single lanes, because masks are
 *         expensive for small types.
 * Costs   A side of a branch that guessed sizes do not reach is left as it is, and its unrolled loops are serial. A
 *         loop around others, or of one iteration, is not copied to save scalar operations. Bodies of more than
 *         MOST_NODES and short loops without vectors are left alone.
 * Holds   at most one loop of a nest is partitioned, the innermost that has something to decide, and the vectors of its
 *         borders: code grows to at most eight times its size. A condition is decided by an outer loop if that has the
 *         larger stride in what is compared (the taps of a filter within the vectors of a row). A loop with a guarded
 *         vector loop right inside it comes before the loops in it.
 * From    Ragan-Kelley et al. 2013, section 4.5. */
#include "lower/bounds/value_range.h"
#include "lower/passes/partition.h"

enum {
    MOST_NODES       = 20000,
    LEAST_ITERATIONS = 64,
    BORDER_LANES     = 16 /* of the vectors of a prologue and an epilogue */
};

typedef struct Pass {
    Lower      *lw;
    Arena      *scratch;
    Simplifier *known;
    SizeGuess   guess, sizes;
    Map         outer_strides; /* see Partition.outer_strides */
    bool        partitioned;   /* something inside the statement visited was */
} Pass;

/* ---- The steady state --------------------------------------------------------------------------- */

/* A walk over the body of a loop. */
typedef struct Steady {
    Partition   p;
    const Stmt *vector;  /* the vector loop whose body is the statement visited, but for lets; NULL: there is none */
    Varying     changed; /* names whose value differs outside the steady state */
    const Stmt
        *decided; /* the branch whose condition is the first upper constraint, or its negation; NULL: there is none */
    bool side;    /* its value in the steady state */
    Map  guards;  /* branches whose condition holds where the constraints of the guards do, and the vector loops around
                     them */
} Steady;

static const Stmt *steady_stmt(void *user, const Stmt *s);

static const Expr *steady_expr(void *user, const Expr *e)
{
    return partition_expr(&((Steady *)user)->p, e);
}

static const Stmt *steady_let(Steady *w, const Stmt *s)
{
    Partition  *p      = &w->p;
    const Expr *value  = partition_expr(p, s->let.value);
    const bool  varies = varying_expr(&p->varying, value);
    Affine      f, *kept = NULL;
    if (varies && affine_of_let(p, value, &f)) {
        kept  = ARENA_NEW(p->scratch, Affine);
        *kept = f;
    }
    map_set(&p->affines, s->let.name, kept);
    map_set(&p->values, s->let.name, varies ? NULL : partition_outside(p, value));
    varying_bind(&p->varying, s->let.name, varies);
    varying_bind(&p->lanes, s->let.name, varying_expr(&p->lanes, value));
    varying_bind(&p->copies, s->let.name, varying_expr(&p->copies, value));
    varying_bind(&w->changed, s->let.name, value != s->let.value || varying_expr(&w->changed, value));
    simplifier_push_let(p->known, s->let.name, value);
    const Stmt *body = steady_stmt(w, s->let.body);
    simplifier_pop(p->known);
    return stmt_let(p->lw->arena, s->let.name, value, body);
}

typedef struct LoopSearch {
    unsigned kinds; /* a bit each */
    bool     found;
} LoopSearch;

static void find_loop(void *user, const Stmt *s)
{
    LoopSearch *l = user;
    l->found |= s->kind == STMT_FOR && (l->kinds >> s->loop.kind & 1);
    if (!l->found)
        stmt_children(s, NULL, find_loop, l);
}

static bool has_loop_of(const Stmt *s, unsigned kinds)
{
    LoopSearch l = { .kinds = kinds };
    find_loop(&l, s);
    return l.found;
}

/* Is there a loop that is not unrolled? */
static bool has_loop(const Stmt *s)
{
    return has_loop_of(s, ~(1u << LOOP_VECTOR | 1u << LOOP_UNROLL));
}

/* Is there a loop to be unrolled? */
static bool has_copies(const Stmt *s)
{
    return has_loop_of(s, 1u << LOOP_UNROLL);
}

/* The vector loops in a statement. */
typedef struct Vectors {
    int     count, direct; /* all, and those that are not inside another loop of it */
    int64_t lanes;         /* of the first; 0: they are not constant */
    int     loops;         /* around the statement visited */
} Vectors;

static void find_vector(void *user, const Stmt *s)
{
    Vectors   *v    = user;
    const bool loop = s->kind == STMT_FOR && s->loop.kind != LOOP_UNROLL;
    if (loop && s->loop.kind == LOOP_VECTOR) {
        if (!v->count++)
            expr_is_int(s->loop.extent, &v->lanes);
        v->direct += !v->loops;
    }
    v->loops += loop;
    stmt_children(s, NULL, find_vector, user);
    v->loops -= loop;
}

static Vectors find_vectors(const Stmt *s)
{
    Vectors v = { 0 };
    find_vector(&v, s);
    return v;
}

static const Stmt *steady_loop(Steady *w, const Stmt *s)
{
    Partition *p       = &w->p;
    const bool vector  = s->loop.kind == LOOP_VECTOR;
    bool       changed = varying_expr(&w->changed, s->loop.min) || varying_expr(&w->changed, s->loop.extent);
    if (!has_loop(s->loop.body)) {
        const Expr *min = partition_expr(p, s->loop.min), *extent = partition_expr(p, s->loop.extent);
        changed |= min != s->loop.min || extent != s->loop.extent;
        s = stmt_for(p->lw->arena, s->loop.name, s->loop.kind, min, extent, s->loop.body);
    }
    varying_bind(&w->changed, s->loop.name, changed);
    Affine f, *kept = NULL;
    if (affine_of_loop_variable(p, s, &f)) {
        kept  = ARENA_NEW(p->scratch, Affine);
        *kept = f;
    }
    map_set(&p->affines, s->loop.name, kept);
    varying_bind(&p->varying, s->loop.name, true);
    varying_bind(&p->lanes, s->loop.name, vector);
    varying_bind(&p->copies, s->loop.name, !vector);
    simplifier_push_range(p->known, s->loop.name, s->loop.min, loop_last(p->lw, s));
    int *around = vector ? NULL : s->loop.kind == LOOP_UNROLL ? &p->unrolled_loops : &p->serial_loops;
    if (around)
        ++*around;
    const Stmt *body = steady_stmt(w, s->loop.body);
    if (around)
        --*around;
    simplifier_pop(p->known);
    return stmt_for(p->lw->arena, s->loop.name, s->loop.kind, s->loop.min, s->loop.extent, body);
}

static void find_store(void *user, const Stmt *s)
{
    *(bool *)user |= s->kind == STMT_STORE || s->kind == STMT_STAGE;
    stmt_children(s, NULL, find_store, user);
}

/* Does it only prefetch? Then it is not worth a copy of the statements around it. */
static bool only_prefetches(const Stmt *s)
{
    bool stores = false;
    find_store(&stores, s);
    return !stores;
}

/* Keeps the branch if its condition, a comparison, was decided by one constraint: the first upper one, and the same for
 * all lanes and inner iterations. `decisions`: how many there were before it. */
static void note_decided(Steady *w, const Stmt *s, const Expr *condition, int decisions, int upper_decisions)
{
    const Partition *p    = &w->p;
    const ExprOp     op   = (ExprOp)s->branch.condition->op;
    int64_t          side = 0;
    const bool       first =
        p->decisions == decisions + 1 && upper_decisions == 0 && p->upper_decisions == 1 && p->upper.at[0].exact;
    if (first && (op == EX_LT || op == EX_LE) && expr_is_int(condition, &side) && !w->decided) {
        w->decided = s;
        w->side    = side;
    }
}

/* A branch; `around`: the vector loop whose body it is, or NULL. */
static const Stmt *steady_if(Steady *w, const Stmt *s, const Stmt *around)
{
    Partition *p = &w->p;
    p->guard     = around && !s->branch.no && !varying_expr(&w->changed, s->branch.condition);
    p->guard_low = false;
    p->branch    = !has_copies(
           s); /* a buffer that is unrolled on one side and looped over on the other cannot stay in registers */
    const int   decisions = p->decisions, upper_decisions = p->upper_decisions;
    const Expr *condition = partition_expr(p, s->branch.condition);
    p->branch             = false;
    note_decided(w, s, condition, decisions, upper_decisions);
    if (p->guard && condition == expr_bool(p->lw->exprs, true) && !p->guard_low) {
        map_set(&w->guards, s, s);
        map_set(&w->guards, around, around);
    }
    p->guard        = false;
    const Stmt *yes = steady_stmt(w, s->branch.yes), *no = s->branch.no ? steady_stmt(w, s->branch.no) : NULL;
    return stmt_if(p->lw->arena, condition, yes, no);
}

static const Stmt *steady_stmt(void *user, const Stmt *s)
{
    Steady       *w      = user;
    const StmtMap m      = { w->p.lw->arena, steady_stmt, steady_expr, w };
    const Stmt   *around = w->vector;
    if (s->kind != STMT_LET && s->kind != STMT_PRODUCE)
        w->vector = s->kind == STMT_FOR && s->loop.kind == LOOP_VECTOR ? s : NULL;
    switch (s->kind) {
    case STMT_LET: s = steady_let(w, s); break;
    case STMT_FOR: s = only_prefetches(s) ? s : steady_loop(w, s); break;
    case STMT_IF: s = steady_if(w, s, around); break;
    default: s = stmt_map(&m, s); break;
    }
    w->vector = around;
    return s;
}

/* ---- The other parts ------------------------------------------------------------------------------ */

/* The body where its guards hold. */
static const Stmt *without_guards(void *user, const Stmt *s)
{
    Steady       *w = user;
    const StmtMap m = { w->p.lw->arena, without_guards, NULL, w };
    if (s->kind == STMT_IF && map_get(&w->guards, s))
        return without_guards(w, s->branch.yes);
    return stmt_map(&m, s);
}

/* The body where the only upper constraint does not hold. Lower ones hold, as in the steady state. */
static const Stmt *past_upper_bound(void *user, const Stmt *s)
{
    Steady       *w = user;
    const StmtMap m = { w->p.lw->arena, past_upper_bound, NULL, w };
    if (s == w->decided)
        return w->side ? s->branch.no : s->branch.yes;
    return stmt_map(&m, s);
}

static void find_small_type(void *user, const Stmt *s)
{
    bool *found = user;
    for (int i = 0; s->kind == STMT_STORE && i < s->store.count; i++)
        *found |= type_bits(s->store.places[i].buffer->type) < 32;
    stmt_children(s, NULL, find_small_type, found);
}

/* Vector loops with a guard become serial if they store small types. */
static const Stmt *lane_by_lane(void *user, const Stmt *s)
{
    Steady       *w     = user;
    const StmtMap m     = { w->p.lw->arena, lane_by_lane, NULL, w };
    bool          small = false;
    if (s->kind == STMT_FOR && s->loop.kind == LOOP_VECTOR && map_get(&w->guards, s))
        find_small_type(&small, s);
    return small ? loop_as(w->p.lw->arena, s, LOOP_SERIAL) : stmt_map(&m, s);
}

/* `for v from first to end - 1: body` */
static const Stmt *make_part(Lower *lw, const Stmt *loop, const Expr *first, const Expr *end, const Stmt *body)
{
    return stmt_for(lw->arena, loop->loop.name, LOOP_SERIAL, first, index_sub(lw->exprs, end, first), body);
}

/* Lets without bodies, the outermost first. */
typedef VEC(Stmt *) Lets;

/* A let for a bound of the loop. */
static const Expr *name_bound(Steady *w, Lets *lets, const char *what, const Expr *value)
{
    Lower *lw    = w->p.lw;
    Stmt  *s     = ARENA_NEW(lw->arena, Stmt);
    s->kind      = STMT_LET;
    s->let.name  = intern(lw->cx, arena_printf(w->p.scratch, "%s.part.%s", w->p.loop->loop.name, what));
    s->let.value = value;
    vec_push(w->p.scratch, lets, s);
    return expr_var(lw->exprs, KN_I32, s->let.name);
}

static const Stmt *split_loop(Pass *x, const Stmt *loop, bool tail);

/* A wide vector loop of a border as a loop over narrower ones, which is partitioned again: what is clamped is gathered
 * lane by lane, and most of the narrow vectors are inside. */
static const Stmt *in_narrow_vectors(Pass *x, const Stmt *s)
{
    Lower      *lw   = x->lw;
    ExprPool   *pool = lw->exprs;
    const char *name = intern(lw->cx, arena_printf(lw->arena, "%s.part", s->loop.name));
    int64_t     lanes;
    if (!expr_is_int(s->loop.extent, &lanes) || lanes < 2 * BORDER_LANES || lanes % BORDER_LANES)
        return s;
    const Expr *step   = expr_int(pool, KN_I32, BORDER_LANES);
    const Expr *lane   = expr_binary(pool, EX_ADD, KN_I32, expr_var(pool, KN_I32, s->loop.name),
                                     expr_binary(pool, EX_MUL, KN_I32, expr_var(pool, KN_I32, name), step));
    const Stmt *body   = stmt_substitute(pool, lw->arena, s->loop.body, 1, &s->loop.name, &lane);
    const Stmt *narrow = stmt_for(lw->arena, s->loop.name, LOOP_VECTOR, s->loop.min, step, body);
    return split_loop(x,
                      stmt_for(lw->arena, name, LOOP_SERIAL, expr_int(pool, KN_I32, 0),
                               expr_int(pool, KN_I32, lanes / BORDER_LANES), narrow),
                      false);
}

static const Stmt *border_stmt(void *user, const Stmt *s)
{
    Pass         *x = user;
    const StmtMap m = { x->lw->arena, border_stmt, NULL, x };
    return s->kind == STMT_FOR && s->loop.kind == LOOP_VECTOR ? in_narrow_vectors(x, s) : stmt_map(&m, s);
}

/* The body of a loop in its prologue or epilogue, where the loop's variable is guessed to have that value. */
static const Stmt *border_of(Pass *x, const Steady *w, const Expr *value, const Stmt *body)
{
    if (!body || !w->p.pays)
        return body;
    guess_let(&x->guess, w->p.loop->loop.name, value);
    return border_stmt(x, body);
}

/* The loop in parts. Let L be the least v that all lower constraints allow, G the first that a guard does not allow,
 * and H the first that an upper constraint or a guard does not allow, all within min..end. Then steady = min(L, G),
 * edge = max(steady, H), guard = max(edge, G). If G < L nothing is steady: H <= G. Where the guessed prologue is empty
 * but the real one is not, nothing is steady either: that saves a copy. */
static const Stmt *make_parts(Pass *x, Steady *w, const Stmt *loop, const Stmt *body)
{
    Partition  *p       = &w->p;
    Lower      *lw      = p->lw;
    ExprPool   *pool    = lw->exprs;
    Lets        lets    = { 0 };
    const bool  guarded = p->guards.count > 0, high = p->upper.count > 0;
    const bool  never = p->lower.count && p->guess_known && p->steady_min <= p->guess_min && high && !guarded;
    const bool  low   = p->lower.count && !never;
    const Expr *min   = name_bound(w, &lets, "first", loop->loop.min);
    const Expr *end   = name_bound(w, &lets, "end", index_add(pool, loop->loop.min, loop->loop.extent));
    const Expr *held  = guarded ? name_bound(w, &lets, "guard", partition_bound(p, &p->guards, min, end)) : NULL;

    const Expr *first = min;
    if (low) {
        first = partition_bound(p, &p->lower, min, end);
        first = name_bound(w, &lets, "steady", guarded ? expr_binary(pool, EX_MIN, KN_I32, first, held) : first);
    }
    const Expr *edge = high ? partition_bound(p, &p->upper, min, end) : held;
    if (high && guarded)
        edge = expr_binary(pool, EX_MIN, KN_I32, edge, held);
    edge = edge ? expr_binary(pool, EX_MAX, KN_I32, edge, first) : end;
    if (never)
        edge = expr_ternary(pool, EX_SELECT, KN_I32,
                            expr_binary(pool, EX_LE, KN_BOOL, partition_bound(p, &p->lower, min, end), min), edge, min);
    edge = edge == end ? end : name_bound(w, &lets, "edge", edge);

    const bool  over     = w->decided && p->upper_decisions == 1 && !guarded && !never;
    const Stmt *free     = guarded ? without_guards(w, loop->loop.body) : loop->loop.body;
    const Stmt *last     = guarded ? lane_by_lane(w, loop->loop.body)
                           : over  ? past_upper_bound(w, loop->loop.body)
                                   : loop->loop.body;
    const bool  split    = guarded && last != loop->loop.body && high;
    const Stmt *items[4] = {
        low ? make_part(lw, loop, min, first, border_of(x, w, loop->loop.min, free)) : NULL,
        make_part(lw, loop, first, edge, body),
        split ? make_part(lw, loop, edge, held, free) : NULL,
        last && (high || guarded)
            ? make_part(lw, loop, split ? held : edge, end, border_of(x, w, loop_last(lw, loop), last))
            : NULL,
    };
    const Stmt *result = stmt_block(lw->arena, 4, items);
    for (size_t i = lets.count; i-- > 0;) {
        lets.at[i]->let.body = result;
        result               = lets.at[i];
    }
    return result;
}

/* ---- What it is worth ------------------------------------------------------------------------------- */

/* Does one scalar operation per iteration matter? Not in a loop around others, or of a single iteration. */
static bool is_hot(Pass *x, const Stmt *loop)
{
    const Expr *once = expr_binary(x->lw->exprs, EX_LE, KN_BOOL, loop->loop.extent, expr_int(x->lw->exprs, KN_I32, 1));
    return !has_loop(loop->loop.body) && !simplifier_proves(x->known, once);
}

/* ---- The pass --------------------------------------------------------------------------------------- */

/* The loop in parts, or unchanged if there is nothing to decide. `tail`: guards are decided, too. */
static const Stmt *split_loop(Pass *x, const Stmt *loop, bool tail)
{
    Lower      *lw      = x->lw;
    Vectors     vectors = find_vectors(loop->loop.body);
    const Expr *few =
        expr_binary(lw->exprs, EX_LT, KN_BOOL, loop->loop.extent, expr_int(lw->exprs, KN_I32, LEAST_ITERATIONS));
    if (stmt_size(lw->exprs, loop->loop.body, MOST_NODES) == MOST_NODES ||
        (!vectors.count && simplifier_proves(x->known, few)))
        return loop;
    Arena scratch;
    scratch_begin(&scratch, lw->cx);
    Steady     w = { .p = { .lw            = lw,
                            .scratch       = &scratch,
                            .known         = x->known,
                            .guess         = &x->guess,
                            .outer_strides = &x->outer_strides,
                            .loop          = loop,
                            .vectors       = vectors.direct,
                            .row_step      = vectors.lanes } };
    Partition *p = &w.p;
    varying_init(&p->varying, lw->exprs, &scratch, loop->loop.name);
    p->varying.reads = true;
    map_init(&p->affines, &scratch);
    map_init(&p->values, &scratch);
    map_init(&w.guards, &scratch);
    varying_init(&p->lanes, lw->exprs, &scratch, NULL);
    varying_init(&p->copies, lw->exprs, &scratch, NULL);
    varying_init(&w.changed, lw->exprs, &scratch, NULL);
    int64_t extent = 0;
    p->guess_known = guess_value(&x->guess, loop->loop.min, &p->guess_min) &&
                     guess_value(&x->guess, loop->loop.extent, &extent) && extent > 0;
    p->steady_min = p->guess_min;
    p->steady_end = p->guess_end = p->guess_min + extent;

    simplifier_push_range(x->known, loop->loop.name, loop->loop.min, loop_last(lw, loop));
    const Stmt *body = steady_stmt(&w, loop->loop.body);
    simplifier_pop(x->known);
    if ((p->guards.count || (!tail && p->lower.count + p->upper.count)) &&
        (p->pays || (p->per_iteration && is_hot(x, loop)))) {
        x->partitioned = true;
        loop           = make_parts(x, &w, loop, body);
    }
    scratch_end(&scratch);
    return loop;
}

/* Binds a name to its outer stride. */
static void set_outer_stride(Pass *x, const char *name, int64_t value)
{
    int64_t *box = value ? ARENA_NEW(x->scratch, int64_t) : NULL;
    if (box)
        *box = value;
    map_set(&x->outer_strides, name, box);
}

static int64_t outer_stride(Pass *x, const Expr *e)
{
    Linear  form;
    int64_t most = 0;
    if (!type_is_int((kn_type)e->type) || !expr_linear(x->scratch, e, &form))
        return 0;
    for (int i = 0; i < form.count; i++) {
        const int64_t *outer_strides =
            form.atoms[i]->op == EX_VAR ? map_get(&x->outer_strides, form.atoms[i]->u.name) : NULL;
        int64_t size = form.coefficients[i] < 0 ? -form.coefficients[i] : form.coefficients[i];
        if (outer_strides && !__builtin_mul_overflow(size, *outer_strides, &size) && size < (int64_t)1 << 30)
            most = size > most ? size : most;
    }
    return most;
}

static const Stmt *partition(void *user, const Stmt *s);

static const Stmt *partition_loop(Pass *x, const Stmt *s)
{
    const StmtMap m      = { x->lw->arena, partition, NULL, x };
    const bool    before = x->partitioned;
    const bool    serial = s->loop.kind == LOOP_SERIAL;
    if (s->loop.kind == LOOP_VECTOR)
        return s;
    x->partitioned = false;
    if (serial && find_vectors(s->loop.body).direct && has_loop(s->loop.body)) {
        s = split_loop(x, s, true);
        if (x->partitioned)
            return s;
    }
    set_outer_stride(x, s->loop.name, serial);
    guess_loop(&x->guess, s);
    simplifier_push_range(x->known, s->loop.name, s->loop.min, loop_last(x->lw, s));
    s = stmt_map(&m, s);
    simplifier_pop(x->known);
    if (serial && !x->partitioned)
        s = split_loop(x, s, false);
    x->partitioned |= before;
    return s;
}

/* Code that guessed sizes do not reach: nothing is unrolled or copied. */
static const Stmt *leave_serial(void *user, const Stmt *s)
{
    Pass         *x = user;
    const StmtMap m = { x->lw->arena, leave_serial, NULL, x };
    s               = stmt_map(&m, s);
    return s && s->kind == STMT_FOR && s->loop.kind == LOOP_UNROLL ? loop_as(x->lw->arena, s, LOOP_SERIAL) : s;
}

/* One side of a branch, whose condition may bound a loop in it. */
static const Stmt *partition_side(Pass *x, const Expr *condition, const Stmt *s)
{
    int64_t usual;
    if (!s)
        return NULL;
    if (guess_value(&x->sizes, condition, &usual) && !usual)
        return leave_serial(x, s);
    simplifier_push_fact(x->known, condition);
    s = partition(x, s);
    simplifier_pop(x->known);
    return s;
}

static const Stmt *partition(void *user, const Stmt *s)
{
    Pass         *x = user;
    const StmtMap m = { x->lw->arena, partition, NULL, x };
    if (s->kind == STMT_FOR)
        return partition_loop(x, s);
    if (s->kind == STMT_IF) {
        const Stmt *yes = partition_side(x, s->branch.condition, s->branch.yes);
        const Stmt *no =
            partition_side(x, expr_unary(x->lw->exprs, EX_BIT_NOT, KN_BOOL, s->branch.condition), s->branch.no);
        return stmt_if(x->lw->arena, s->branch.condition, yes, no);
    }
    if (s->kind != STMT_LET)
        return stmt_map(&m, s);
    set_outer_stride(x, s->let.name, outer_stride(x, s->let.value));
    guess_let(&x->guess, s->let.name, s->let.value);
    guess_let(&x->sizes, s->let.name, s->let.value);
    simplifier_push_let(x->known, s->let.name, s->let.value);
    s = stmt_map(&m, s);
    simplifier_pop(x->known);
    return s;
}

const Stmt *lower_partition(Lower *lw, const Stmt *s)
{
    if (!s)
        return NULL;
    Arena scratch;
    scratch_begin(&scratch, lw->cx);
    Pass x = { .lw = lw, .scratch = &scratch, .known = base_simplifier(lw, &scratch) };
    map_init(&x.outer_strides, &scratch);
    guess_init(&x.guess, lw, &scratch);
    guess_init(&x.sizes, lw, &scratch);
    x.sizes.sizes = true;
    s             = partition(&x, s);
    scratch_end(&scratch);
    return s;
}
