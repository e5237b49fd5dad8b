/* Loop partitioning: boundary conditions and tails cost nothing where they decide nothing.
 *
 * Takes   a statement after flattening.
 * Gives   one that does the same, in which a serial loop `for v` whose body has conditions that v decides (see
 *         partition_claim.c) is
 *             let v.part.steady = …, v.part.edge = …
 *             for v from min to v.part.steady - 1:           the body without its tail guards
 *             for v from v.part.steady to v.part.edge - 1:   the body with its conditions decided
 *             for v from v.part.edge on:                     the body
 *         where each part may have no iterations, whatever the sizes. If the condition of a branch is all that ends the
 *         steady state, it has the other value in the last part. A guard is the condition of a branch that is all a
 *         vector loop does. Where one is there, and what is stored has less than 32 bits, the last part is two: vectors
 *         while the guard holds, and lanes one after the other for the rest, since masks are dear for small types. The
 *         side of a branch that images of a usual size do not come to is left as it is, and what is to be unrolled
 *         there is a loop. A loop around others, or of one iteration, is not copied to save it scalar operations.
 * Holds   at most one loop of a nest is partitioned, the innermost that has something to decide: code grows to at most
 *         four times its size. Left alone are bodies of more than MOST_NODES and loops of few iterations without
 *         vectors. Conditions are decided by innermost loops, and by outer ones where the innermost moves what is
 *         compared slower than they do (the taps of a filter within the vectors of a row); a loop that has a vector
 *         loop with a guard right inside it comes before the loops in it.
 * From    Ragan-Kelley et al. 2013, section 4.5. */
#include "lower/bounds/value_range.h"
#include "lower/passes/partition.h"

enum { MOST_NODES = 20000, LEAST_ITERATIONS = 64 };

typedef struct Pass {
    Lower      *lw;
    Arena      *scratch;
    Simplifier *known;
    SizeGuess   guess, sizes;
    Map         reach;       /* see Partition.reach */
    bool        partitioned; /* something inside the statement looked at */
} Pass;

/* ---- The steady state --------------------------------------------------------------------------- */

/* A walk over the body of a loop. */
typedef struct Steady {
    Partition p;
    const Stmt *
        vector; /* the vector loop in which the statement looked at stands alone, but for lets; NULL if there is none */
    Varying     changed; /* with what was decided: names whose value is another where it is not */
    const Stmt *decided; /* the branch whose condition is the first upper constraint, or the opposite, or NULL; */
    bool        side;    /* its value in the steady state */
    Map guards; /* branches whose condition always holds where the guards' constraints do, and the vector loops around
                   them */
} Steady;

static const Stmt *steady(void *user, const Stmt *s);

static const Expr *steady_expr(void *user, const Expr *e)
{
    return partition_expr(&((Steady *)user)->p, e);
}

static const Stmt *steady_let(Steady *w, const Stmt *s)
{
    Partition  *p      = &w->p;
    const Expr *value  = partition_expr(p, s->let.value);
    const bool  varies = varying_expr(&p->varying, value);
    Motion      f, *kept = NULL;
    if (varies && motion_of(p, value, &f)) {
        kept  = ARENA_NEW(p->scratch, Motion);
        *kept = f;
    }
    map_set(&p->motions, s->let.name, kept);
    map_set(&p->values, s->let.name, varies ? NULL : partition_outside(p, value));
    varying_bind(&p->varying, s->let.name, varies);
    varying_bind(&p->lanes, s->let.name, varying_expr(&p->lanes, value));
    varying_bind(&p->copies, s->let.name, varying_expr(&p->copies, value));
    varying_bind(&w->changed, s->let.name, value != s->let.value || varying_expr(&w->changed, value));
    simplifier_push_let(p->known, s->let.name, value);
    const Stmt *body = steady(w, s->let.body);
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

/* Is there a loop that stays one? */
static bool has_loop(const Stmt *s)
{
    return has_loop_of(s, ~(1u << LOOP_VECTOR | 1u << LOOP_UNROLL));
}

/* Is there a loop to be unrolled? */
static bool has_copies(const Stmt *s)
{
    return has_loop_of(s, 1u << LOOP_UNROLL);
}

static void count_vector(void *user, const Stmt *s)
{
    *(int *)user += s->kind == STMT_FOR && s->loop.kind == LOOP_VECTOR;
    if (s->kind != STMT_FOR || s->loop.kind == LOOP_UNROLL)
        stmt_children(s, NULL, count_vector, user);
}

/* The vector loops in it that are not inside another loop of it. */
static int count_vectors(const Stmt *s)
{
    int count = 0;
    count_vector(&count, s);
    return count;
}

static const Expr *last_of(Lower *lw, const Stmt *loop)
{
    return index_sub(lw->exprs, index_add(lw->exprs, loop->loop.min, loop->loop.extent),
                     expr_int(lw->exprs, KN_I32, 1));
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
    Motion f, *kept = NULL;
    if (motion_of_variable(p, s, &f)) {
        kept  = ARENA_NEW(p->scratch, Motion);
        *kept = f;
    }
    map_set(&p->motions, s->loop.name, kept);
    varying_bind(&p->varying, s->loop.name, true);
    varying_bind(&p->lanes, s->loop.name, vector);
    varying_bind(&p->copies, s->loop.name, !vector);
    simplifier_push_range(p->known, s->loop.name, s->loop.min, last_of(p->lw, s));
    int *around = vector ? NULL : s->loop.kind == LOOP_UNROLL ? &p->unrolled : &p->stay;
    if (around)
        ++*around;
    const Stmt *body = steady(w, s->loop.body);
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

/* Does it only ask for cache lines? A loop that does is not worth a copy of those beside it. */
static bool fetches(const Stmt *s)
{
    bool stores = false;
    find_store(&stores, s);
    return !stores;
}

/* Keeps the branch if its condition, a comparison, was claimed by one constraint, the first on v from above, that is
 * the same for all that the loop contains. There were so many claims before it. */
static void note_decided(Steady *w, const Stmt *s, const Expr *condition, int claims, int high_claims)
{
    const Partition *p     = &w->p;
    const ExprOp     op    = (ExprOp)s->branch.condition->op;
    int64_t          side  = 0;
    const bool       first = p->claims == claims + 1 && high_claims == 0 && p->high_claims == 1 && p->highs.at[0].exact;
    if (first && (op == EX_LT || op == EX_LE) && expr_is_int(condition, &side) && !w->decided) {
        w->decided = s;
        w->side    = side;
    }
}

/* A branch; `around`: the vector loop in which it stands alone, or NULL. */
static const Stmt *steady_if(Steady *w, const Stmt *s, const Stmt *around)
{
    Partition *p = &w->p;
    p->guard     = around && !s->branch.no && !varying_expr(&w->changed, s->branch.condition);
    p->guard_low = false;
    p->branch    = !has_copies(s); /* what is unrolled on one side and a loop on the other cannot stay in registers */
    const int   claims = p->claims, high_claims = p->high_claims;
    const Expr *condition = partition_expr(p, s->branch.condition);
    p->branch             = false;
    note_decided(w, s, condition, claims, high_claims);
    if (p->guard && condition == expr_bool(p->lw->exprs, true) && !p->guard_low) {
        map_set(&w->guards, s, s);
        map_set(&w->guards, around, around);
    }
    p->guard        = false;
    const Stmt *yes = steady(w, s->branch.yes), *no = s->branch.no ? steady(w, s->branch.no) : NULL;
    return stmt_if(p->lw->arena, condition, yes, no);
}

static const Stmt *steady(void *user, const Stmt *s)
{
    Steady       *w      = user;
    const StmtMap m      = { w->p.lw->arena, steady, steady_expr, w };
    const Stmt   *around = w->vector;
    if (s->kind != STMT_LET && s->kind != STMT_PRODUCE)
        w->vector = s->kind == STMT_FOR && s->loop.kind == LOOP_VECTOR ? s : NULL;
    switch (s->kind) {
    case STMT_LET: s = steady_let(w, s); break;
    case STMT_FOR: s = fetches(s) ? s : steady_loop(w, s); break;
    case STMT_IF: s = steady_if(w, s, around); break;
    default: s = stmt_map(&m, s); break;
    }
    w->vector = around;
    return s;
}

/* ---- The other parts ------------------------------------------------------------------------------ */

/* The body where its guards hold. */
static const Stmt *unguarded(void *user, const Stmt *s)
{
    Steady       *w = user;
    const StmtMap m = { w->p.lw->arena, unguarded, NULL, w };
    if (s->kind == STMT_IF && map_get(&w->guards, s))
        return unguarded(w, s->branch.yes);
    return stmt_map(&m, s);
}

/* The body where the only upper constraint does not hold. Lower ones do, there as in the steady state. */
static const Stmt *beyond(void *user, const Stmt *s)
{
    Steady       *w = user;
    const StmtMap m = { w->p.lw->arena, beyond, NULL, w };
    if (s == w->decided)
        return w->side ? s->branch.no : s->branch.yes;
    return stmt_map(&m, s);
}

static void find_narrow(void *user, const Stmt *s)
{
    bool *found = user;
    for (int i = 0; s->kind == STMT_STORE && i < s->store.count; i++)
        *found |= type_bits(s->store.places[i].buffer->type) < 32;
    stmt_children(s, NULL, find_narrow, found);
}

/* Vector loops with a guard, lane by lane if they store small types. */
static const Stmt *by_lanes(void *user, const Stmt *s)
{
    Steady       *w     = user;
    const StmtMap m     = { w->p.lw->arena, by_lanes, NULL, w };
    bool          small = false;
    if (s->kind == STMT_FOR && s->loop.kind == LOOP_VECTOR && map_get(&w->guards, s))
        find_narrow(&small, s);
    return small ? loop_as(w->p.lw->arena, s, LOOP_SERIAL) : stmt_map(&m, s);
}

/* `for v from first to end - 1: body` */
static const Stmt *part(Lower *lw, const Stmt *loop, const Expr *first, const Expr *end, const Stmt *body)
{
    return stmt_for(lw->arena, loop->loop.name, LOOP_SERIAL, first, index_sub(lw->exprs, end, first), body);
}

/* Lets in order, the outermost first, that have no body yet. */
typedef VEC(Stmt *) Lets;

/* A name for a bound of the loop, and a let for it. */
static const Expr *named(Steady *w, Lets *lets, const char *what, const Expr *value)
{
    Lower *lw    = w->p.lw;
    Stmt  *s     = ARENA_NEW(lw->arena, Stmt);
    s->kind      = STMT_LET;
    s->let.name  = intern(lw->cx, arena_printf(w->p.scratch, "%s.part.%s", w->p.loop->loop.name, what));
    s->let.value = value;
    vec_push(w->p.scratch, lets, s);
    return expr_var(lw->exprs, KN_I32, s->let.name);
}

/* The loop in parts. Where typical sizes have nothing before the steady state, and there is something, nothing is
 * steady: that saves a copy. Else, with L the least v that all lower constraints allow, G the first that a guard does
 * not and H the first that an upper constraint or a guard does not, all within min..end:  steady = min(L, G), edge =
 * max(steady, H), guard = max(edge, G). If G < L nothing is steady: H <= G. */
static const Stmt *parts(Steady *w, const Stmt *loop, const Stmt *body)
{
    Partition  *p       = &w->p;
    Lower      *lw      = p->lw;
    ExprPool   *pool    = lw->exprs;
    Lets        lets    = { 0 };
    const bool  guarded = p->guards.count > 0, high = p->highs.count > 0;
    const bool  never = p->lows.count && p->typical_known && p->steady_min <= p->typical_min && high && !guarded;
    const bool  low   = p->lows.count && !never;
    const Expr *min   = named(w, &lets, "first", loop->loop.min);
    const Expr *end   = named(w, &lets, "end", index_add(pool, loop->loop.min, loop->loop.extent));
    const Expr *held  = guarded ? named(w, &lets, "guard", partition_bound(p, &p->guards, min, end)) : NULL;

    const Expr *first = min;
    if (low) {
        first = partition_bound(p, &p->lows, min, end);
        first = named(w, &lets, "steady", guarded ? expr_binary(pool, EX_MIN, KN_I32, first, held) : first);
    }
    const Expr *edge = high ? partition_bound(p, &p->highs, min, end) : held;
    if (high && guarded)
        edge = expr_binary(pool, EX_MIN, KN_I32, edge, held);
    edge = edge ? expr_binary(pool, EX_MAX, KN_I32, edge, first) : end;
    if (never)
        edge = expr_ternary(pool, EX_SELECT, KN_I32,
                            expr_binary(pool, EX_LE, KN_BOOL, partition_bound(p, &p->lows, min, end), min), edge, min);
    edge = edge == end ? end : named(w, &lets, "edge", edge);

    const bool  over     = w->decided && p->high_claims == 1 && !guarded && !never;
    const Stmt *free     = guarded ? unguarded(w, loop->loop.body) : loop->loop.body;
    const Stmt *last     = guarded ? by_lanes(w, loop->loop.body) : over ? beyond(w, loop->loop.body) : loop->loop.body;
    const bool  split    = guarded && last != loop->loop.body && high;
    const Stmt *items[4] = {
        low ? part(lw, loop, min, first, free) : NULL,
        part(lw, loop, first, edge, body),
        split ? part(lw, loop, edge, held, free) : NULL,
        last && (high || guarded) ? part(lw, loop, split ? held : edge, end, last) : NULL,
    };
    const Stmt *result = stmt_block(lw->arena, 4, items);
    for (size_t i = lets.count; i-- > 0;) {
        lets.at[i]->let.body = result;
        result               = lets.at[i];
    }
    return result;
}

/* ---- What it is worth ------------------------------------------------------------------------------- */

/* Is one scalar operation for each iteration much? Not for a loop around others, or one that is hardly a loop. */
static bool is_tight(Pass *x, const Stmt *loop)
{
    const Expr *once = expr_binary(x->lw->exprs, EX_LE, KN_BOOL, loop->loop.extent, expr_int(x->lw->exprs, KN_I32, 1));
    return !has_loop(loop->loop.body) && !simplifier_proves(x->known, once);
}

/* ---- The pass --------------------------------------------------------------------------------------- */

/* The loop in parts, or as it is if there is nothing to decide; `tail`: no guard, even. */
static const Stmt *split_loop(Pass *x, const Stmt *loop, bool tail)
{
    Lower      *lw      = x->lw;
    const int   vectors = count_vectors(loop->loop.body);
    const Expr *few =
        expr_binary(lw->exprs, EX_LT, KN_BOOL, loop->loop.extent, expr_int(lw->exprs, KN_I32, LEAST_ITERATIONS));
    if (stmt_size(lw->exprs, loop->loop.body, MOST_NODES) == MOST_NODES ||
        (!vectors && simplifier_proves(x->known, few)))
        return loop;
    Arena scratch;
    scratch_begin(&scratch, lw->cx);
    Steady     w = { .p = { .lw      = lw,
                            .scratch = &scratch,
                            .known   = x->known,
                            .guess   = &x->guess,
                            .reach   = &x->reach,
                            .loop    = loop,
                            .vectors = vectors } };
    Partition *p = &w.p;
    varying_init(&p->varying, lw->exprs, &scratch, loop->loop.name);
    p->varying.reads = true;
    map_init(&p->motions, &scratch);
    map_init(&p->values, &scratch);
    map_init(&w.guards, &scratch);
    varying_init(&p->lanes, lw->exprs, &scratch, NULL);
    varying_init(&p->copies, lw->exprs, &scratch, NULL);
    varying_init(&w.changed, lw->exprs, &scratch, NULL);
    int64_t extent   = 0;
    p->typical_known = guess_value(&x->guess, loop->loop.min, &p->typical_min) &&
                       guess_value(&x->guess, loop->loop.extent, &extent) && extent > 0;
    p->steady_min = p->typical_min;
    p->steady_end = p->typical_end = p->typical_min + extent;

    simplifier_push_range(x->known, loop->loop.name, loop->loop.min, last_of(lw, loop));
    const Stmt *body = steady(&w, loop->loop.body);
    simplifier_pop(x->known);
    if ((p->guards.count || (!tail && p->lows.count + p->highs.count)) &&
        (p->worth || (p->often && is_tight(x, loop)))) {
        x->partitioned = true;
        loop           = parts(&w, loop, body);
    }
    scratch_end(&scratch);
    return loop;
}

/* Binds a name for `reach`: the largest coefficient of the variable of a serial loop in its value. */
static void reach_set(Pass *x, const char *name, int64_t value)
{
    int64_t *box = value ? ARENA_NEW(x->scratch, int64_t) : NULL;
    if (box)
        *box = value;
    map_set(&x->reach, name, box);
}

static int64_t reach_of(Pass *x, const Expr *e)
{
    Linear  form;
    int64_t most = 0;
    if (!type_is_int((kn_type)e->type) || !expr_linear(x->scratch, e, &form))
        return 0;
    for (int i = 0; i < form.count; i++) {
        const int64_t *reach = form.atoms[i]->op == EX_VAR ? map_get(&x->reach, form.atoms[i]->u.name) : NULL;
        int64_t        size  = form.coefficients[i] < 0 ? -form.coefficients[i] : form.coefficients[i];
        if (reach && !__builtin_mul_overflow(size, *reach, &size) && size < (int64_t)1 << 30)
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
    if (serial && count_vectors(s->loop.body) && has_loop(s->loop.body)) {
        s = split_loop(x, s, true);
        if (x->partitioned)
            return s;
    }
    reach_set(x, s->loop.name, serial);
    guess_loop(&x->guess, s);
    simplifier_push_range(x->known, s->loop.name, s->loop.min, last_of(x->lw, s));
    s = stmt_map(&m, s);
    simplifier_pop(x->known);
    if (serial && !x->partitioned)
        s = split_loop(x, s, false);
    x->partitioned |= before;
    return s;
}

/* Code that images of a usual size do not come to: a loop is a loop, and nothing is copied. */
static const Stmt *plain(void *user, const Stmt *s)
{
    Pass         *x = user;
    const StmtMap m = { x->lw->arena, plain, NULL, x };
    s               = stmt_map(&m, s);
    return s && s->kind == STMT_FOR && s->loop.kind == LOOP_UNROLL ? loop_as(x->lw->arena, s, LOOP_SERIAL) : s;
}

/* One side of a branch, which may say how far a loop in it goes. */
static const Stmt *partition_side(Pass *x, const Expr *condition, const Stmt *s)
{
    int64_t usual;
    if (!s)
        return NULL;
    if (guess_value(&x->sizes, condition, &usual) && !usual)
        return plain(x, s);
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
    reach_set(x, s->let.name, reach_of(x, s->let.value));
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
    map_init(&x.reach, &scratch);
    guess_init(&x.guess, lw, &scratch);
    guess_init(&x.sizes, lw, &scratch);
    x.sizes.sizes = true;
    s             = partition(&x, s);
    scratch_end(&scratch);
    return s;
}
