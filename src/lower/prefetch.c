/* Prefetch: asks for what a loop will need some iterations later.
 *
 * Takes   a nest in which the loop has just been opened, or one inside it, and a function that is stored outside it.
 * Gives   the hull of what the definition reads of that function within one iteration of the loop last opened, with i + ahead in the place of the named loop's
 *         variable i, brought into the storage: a prefetch for each cache line of it, up to a bound. Around vectors the loop last opened is the one just outside
 *         the vector: while a row is computed, a row to come is asked for, line by line.
 * Holds   nothing is read that would not be: an end of the box that depends on data is the end of the storage. */
#include "lower/build.h"

enum { LINE = 64, MOST_LINES = 16, MOST_ROWS = 16, MOST_PLANES = 4 };

/* The loop of the nest in whose iterations the lines of a prefetch at `loop` are asked for: the innermost serial one around the vector, but none of a reduction. */
static int fetch_level(const Nest *n, int loop)
{
    const PlanLoop *loops = n->def->loops;
    int             level = loop, vector = loop;
    for (int i = loop + 1; i < n->def->loop_count; i++)
        if (loops[i].kind == LOOP_VECTOR)
            vector = i;
    for (int i = loop + 1; i < vector && !loops[i].is_reduction && loops[i].kind != LOOP_PARALLEL; i++)
        if (loops[i].kind == LOOP_SERIAL)
            level = i;
    return level;
}

/* Does each iteration of the loop go on where the one before ended: are its iterations vectors? */
static bool goes_on(const Nest *n, int loop)
{
    const PlanDef *def = n->def;
    for (int i = 0; i < def->step_count; i++)
        for (int k = loop + 1; k < def->loop_count; k++)
            if (def->steps[i].kind == STEP_SPLIT && def->steps[i].outer == def->loops[loop].var && def->steps[i].inner == def->loops[k].var)
                return def->loops[k].kind == LOOP_VECTOR;
    return false;
}

typedef struct Fetch {
    Build      *b;
    const Func *f;
    bool        any;
    SymBox      box;
} Fetch;

/* The smaller (larger) of two ends; NULL, which has no bound, counts as that. */
static const Expr *hull(Lower *lw, ExprOp op, bool any, const Expr *a, const Expr *b)
{
    return !any ? b : a && b ? x_op(lw, op, a, b) : NULL;
}

static void fetch_access(void *user, const Expr *call, const Span *index, const Expr *alive, const Expr *decided, unsigned unsafe)
{
    Fetch *at = user;
    (void)alive;
    (void)decided;
    (void)unsafe;
    if (call->u.call.func != at->f)
        return;
    for (int d = 0; d < at->f->rank; d++) {
        at->box.min[d] = hull(at->b->lw, EX_MIN, at->any, at->box.min[d], index[d].min);
        at->box.max[d] = hull(at->b->lw, EX_MAX, at->any, at->box.max[d], index[d].max);
    }
    at->any = true;
}

static void find_reads(const Expr *e, void *user)
{
    *(bool *)user |= e->op == EX_CALL || e->op == EX_LOAD || e->op == EX_EXTERN;
}

/* The end of a box, `ahead` iterations of the loop later, between min and max; `other` where it is not known. */
static const Expr *later(Build *b, const Expr *end, const char *loop, int64_t ahead, const Expr *min, const Expr *max, const Expr *other)
{
    Lower *lw    = b->lw;
    bool   reads = !end;
    for (size_t i = b->scopes.count; end && i-- > 0;) {
        const Scope *s = &b->scopes.at[i];
        if (s->value)
            end = expr_substitute(lw->exprs, end, 1, &s->name, &s->value);
        if (s->name == loop)
            break;
    }
    if (end)
        expr_visit(lw->exprs, end, find_reads, &reads);
    if (reads)
        return other;
    const Expr *then = x_add(lw, expr_var(lw->exprs, KN_I32, loop), x_int(lw, ahead));
    return simplify(lw->simplifier, x_max(lw, x_min(lw, expr_substitute(lw->exprs, end, 1, &loop, &then), max), min));
}

static const Stmt *fetch_point(Build *b, const Func *f, const Expr *const *args)
{
    Arena *a         = b->lw->arena;
    Stmt  *s         = ARENA_NEW(a, Stmt);
    s->kind          = STMT_PREFETCH;
    s->prefetch.func = f;
    s->prefetch.rank = f->rank;
    s->prefetch.args = ARENA_ARRAY(a, const Expr *, (size_t)f->rank);
    for (int d = 0; d < f->rank; d++)
        s->prefetch.args[d] = args[d];
    return s;
}

/* The i-th dimension of a function in memory. */
static int in_memory(Build *b, const Func *f, int i)
{
    return f->kind == FUNC_INPUT ? i : plan_func(b->plan, f)->order[i];
}

/* max - min of a dimension: a number if it is one before the box is brought into the storage. */
static const Expr *length(Build *b, const SymBox *box, const SymBox *now, int d)
{
    Lower  *lw = b->lw;
    int64_t n;
    if (now->min[d] && now->max[d]) {
        const Expr *e = simplify(lw->simplifier, x_sub(lw, now->max[d], now->min[d]));
        if (expr_is_int(e, &n) && n >= 0)
            return e;
    }
    return x_sub(lw, box->max[d], box->min[d]);
}

/* Loops over the lines, rows and planes of the box, whose lengths are those of `now` where these are numbers. A row may begin within a line, unless the next iteration
 * goes on where this one ends: then that line is for the next. */
static const Stmt *fetch_box(Build *b, const PlanDef *def, const Func *f, const SymBox *box, const SymBox *now, bool dense)
{
    Lower      *lw = b->lw;
    const Expr *args[KN_MAX_RANK], *count[KN_MAX_RANK];
    const char *names[KN_MAX_RANK];
    int64_t     n;
    for (int i = 0; i < f->rank; i++) {
        const int     d    = in_memory(b, f, i);
        const int64_t step = i ? 1 : LINE / (int64_t)kn_type_size(f->types[0]), most = i == 0 ? MOST_LINES : i == 1 ? MOST_ROWS : MOST_PLANES;
        const Expr   *last = x_op(lw, EX_DIV, length(b, box, now, d), x_int(lw, step));
        names[d] = intern(lw->cx, arena_printf(lw->arena, "%s.fetch.%s", def->func->name, f->args[d]));
        count[d] = simplify(lw->simplifier, x_min(lw, x_add(lw, last, x_int(lw, i || dense ? 1 : 2)), x_int(lw, most)));
        args[d]  = x_min(lw, x_add(lw, box->min[d], x_op(lw, EX_MUL, expr_var(lw->exprs, KN_I32, names[d]), x_int(lw, step))), box->max[d]);
    }
    const Stmt *s = fetch_point(b, f, args);
    for (int i = 0; i < f->rank; i++) {
        const int d = in_memory(b, f, i);
        s = stmt_for(lw->arena, names[d], expr_is_int(count[d], &n) ? LOOP_UNROLL : LOOP_SERIAL, x_int(lw, 0), count[d], s);
    }
    return s;
}

static void fetch(Build *b, const Nest *n, const PlanPrefetch *p, bool dense, Wraps *w)
{
    const Func *f    = p->func;
    const char *loop = n->def->loops[p->loop].var;
    Fetch       at   = { .b = b, .f = f };
    if (f->kind != FUNC_INPUT && !b->stored[f->id].known)
        return;
    const SymBox stored = f->kind == FUNC_INPUT ? port_box(b, f) : b->stored[f->id];
    SymBox       box    = { 0 };
    nest_accesses(b, n, fetch_access, &at);
    if (!at.any)
        return;
    for (int d = 0; d < f->rank; d++) {
        box.min[d] = later(b, at.box.min[d], loop, p->ahead, stored.min[d], stored.max[d], stored.min[d]);
        box.max[d] = later(b, at.box.max[d], loop, p->ahead, stored.min[d], stored.max[d], stored.max[d]);
    }
    wrap_before(b, w, fetch_box(b, n->def, f, &box, &at.box, dense));
}

void prefetches(Build *b, const Nest *n, int loop, Wraps *w)
{
    for (int i = 0; i < n->def->prefetch_count; i++) {
        const PlanPrefetch *p = &n->def->prefetches[i];
        if (fetch_level(n, p->loop) == loop)
            fetch(b, n, p, p->loop < loop && goes_on(n, loop), w);
    }
    for (int i = 0; i < n->partner_count; i++)
        if (n->partners[i]->def->with.loop >= loop)
            prefetches(b, n->partners[i], loop, w);
}
