/* SPDX-License-Identifier: MIT */
/* Scans in chunks that can be computed on their own: checkpoint.
 *
 *   f.update(k).checkpoint(r, ro, ri, n, e)
 *                                  with update k:  f(x, p(r)) = step(f(x, p(r-1)), r)  for r in lo..hi,  p(r) = a +- r
 *                                  and P(x, y) what f is before it. Chunk q has the steps e + q*n .. e + q*n + n-1;
 *                                  first = (lo - e) / n, last = (hi - 1 - e) / n.
 *                                  f.checkpoint(x, q) is the value before chunk q:
 *                                      f.checkpoint(x, q)              = P(x, p(lo-1))
 *                                      f.checkpoint(x, first + ro + 1) = if lo <= r then step(before, r) else before
 *                                          for ro in 0..last - first, ri in 0..n
 *                                          with r = e + (first + ro)*n + ri, and before = f.checkpoint(x, first + ro)
 *                                          where ri is 0, f.checkpoint(x, first + ro + 1) else
 *                                  f.chunk(x, i, q) is step e + q*n + i, from the value before its chunk on:
 *                                      f.chunk(x, i, q)  = f.checkpoint(x, q)
 *                                      f.chunk(x, ri, q) = if lo <= r < hi then step(before, r) else f.checkpoint(x, q)
 *                                          for ri in 0..n
 *                                  f(x, y) = if lo - 1 <= r < hi then f.chunk(x, (r - e) % n, (r - e) / n) else P(x, y)
 *                                          where y = p(r)
 *
 * Every step is the one that it was, of the same values: nothing is regrouped. The image is read once for the
 * checkpoints, which are 1/n of it; then each reader of f can compute the chunk that it needs, in its own loops. A scan
 * backward after a scan forward, which would read it from memory, does not need it there.
 *
 * Takes   an update that is a scan (legal/scan.h), with no other update before it that is still there.
 * Gives   the functions above. Update k has no steps any more: void, or gone where no other follows. What the update
 *         after it reads of f at places that it writes itself at this step or later is read of the chunks.
 * Holds   a chunk asks for nothing beyond what the scan asked for, whichever chunk it is and whoever wants it: its own
 *         condition sees to that. So conditions around its readers do not narrow it (Func.total), and its box is whole
 *         chunks, of constant size. */
#include "legal/scan.h"
#include "plan/planner.h"

typedef struct Checkpoint {
    Planner     *pl;
    ExprPool    *pool;
    Func        *f, *states, *chunks;
    Update       u; /* as it was */
    Scan         scan;
    int64_t      size;
    const Expr  *lo, *hi, *begin; /* begin: a step that a chunk begins with */
    const Expr  *first;           /* the chunk of step lo */
    const Expr **before;          /* P, by component, over the arguments of f */
} Checkpoint;

/* ---- Arithmetic ------------------------------------------------------------------------- */

static const Expr *number(const Checkpoint *k, int64_t n)
{
    return expr_int(k->pool, KN_I32, n);
}

/* A constant where both are: so bounds stay constants. */
static const Expr *op(const Checkpoint *k, ExprOp o, const Expr *a, const Expr *b)
{
    int64_t x, y;
    if (expr_is_int(a, &x) && expr_is_int(b, &y)) {
        const int64_t q = o == EX_DIV ? (x - ((x % y) + y) % y) / y : 0;
        return number(k, o == EX_ADD ? x + y : o == EX_SUB ? x - y : o == EX_MUL ? x * y : q);
    }
    if (expr_is_int(b, &y) && !y && (o == EX_ADD || o == EX_SUB))
        return a;
    return o == EX_ADD && expr_is_int(a, &x) && !x ? b : expr_binary(k->pool, o, KN_I32, a, b);
}

/* a - b, which is often a constant. */
static const Expr *difference(const Checkpoint *k, const Expr *a, const Expr *b)
{
    int64_t n;
    return expr_difference(a, b, &n) ? number(k, n) : op(k, EX_SUB, a, b);
}

/* a <= b */
static const Expr *at_most(const Checkpoint *k, const Expr *a, const Expr *b)
{
    return expr_binary(k->pool, EX_LE, KN_BOOL, a, b);
}

/* The step begin + chunk*size + inner. */
static const Expr *step_at(const Checkpoint *k, const Expr *chunk, const Expr *inner)
{
    return op(k, EX_ADD, op(k, EX_ADD, k->begin, op(k, EX_MUL, chunk, number(k, k->size))), inner);
}

/* p(step) */
static const Expr *place_of(const Checkpoint *k, const Expr *step)
{
    return op(k, k->scan.way > 0 ? EX_ADD : EX_SUB, k->scan.origin, step);
}

/* The step that writes the coordinate. */
static const Expr *step_of(const Checkpoint *k, const Expr *place)
{
    return k->scan.way > 0 ? difference(k, place, k->scan.origin) : difference(k, k->scan.origin, place);
}

/* ---- Values ----------------------------------------------------------------------------- */

static const Expr **own_arguments(const Checkpoint *k, const Func *g)
{
    const Expr **args = ARENA_ARRAY(k->pl->arena, const Expr *, (size_t)g->rank);
    for (int d = 0; d < g->rank; d++)
        args[d] = expr_var(k->pool, KN_I32, g->args[d]);
    return args;
}

/* P at the arguments of g, at `place` along the scan. */
static const Expr *value_before(const Checkpoint *k, const Func *g, int component, const Expr *place)
{
    const Expr **args = own_arguments(k, g);
    args[k->scan.dim] = place;
    return expr_substitute(k->pool, k->before[component], k->f->rank, k->f->args, args);
}

static const Expr *call_at(const Checkpoint *k, const Func *g, int component, const Expr *coordinate)
{
    const Expr **args = own_arguments(k, g);
    args[k->scan.dim] = coordinate;
    return expr_call(k->pool, g, component, g->types[component], g->rank, args);
}

/* f(args), after the scan and before all that follows it. */
static const Expr *scanned(const Checkpoint *k, int component, const Expr *const *args)
{
    const Func  *f    = k->f;
    const Expr  *step = step_of(k, args[k->scan.dim]);
    const Expr  *from = difference(k, step, k->begin), *size = number(k, k->size);
    const Expr **at = ARENA_ARRAY(k->pl->arena, const Expr *, (size_t)f->rank + 1);
    for (int d = 0; d < f->rank; d++)
        at[d] = args[d];
    at[k->scan.dim] = expr_binary(k->pool, EX_MOD, KN_I32, from, size);
    at[f->rank]     = expr_binary(k->pool, EX_DIV, KN_I32, from, size);
    const Expr *in  = expr_binary(k->pool, EX_AND, KN_BOOL, at_most(k, op(k, EX_SUB, k->lo, number(k, 1)), step),
                                  at_most(k, step, op(k, EX_SUB, k->hi, number(k, 1))));
    return expr_ternary(k->pool, EX_SELECT, f->types[component], in,
                        expr_call(k->pool, k->chunks, component, f->types[component], f->rank + 1, at),
                        expr_substitute(k->pool, k->before[component], f->rank, f->args, args));
}

/* A step of the scan as a definition of g has it. */
typedef struct StepOf {
    const Checkpoint *k;
    const Func       *g;
    const Expr      **previous; /* by component */
    const Expr       *step;
} StepOf;

static const Expr *replace_read(void *user, const Expr *e)
{
    const StepOf *s = user;
    int64_t       back;
    if (e->op != EX_CALL || e->u.call.func != s->k->f || !scan_distance(s->k->f, &s->k->u, &s->k->scan, e, &back))
        return e;
    return back ? s->previous[e->u.call.index]
                : value_before(s->k, s->g, (int)e->u.call.index, place_of(s->k, s->step));
}

static const Expr *step_value(StepOf *s, int component)
{
    const Checkpoint *k     = s->k;
    const char      **from  = ARENA_ARRAY(k->pl->arena, const char *, (size_t)k->f->rank + 1);
    const Expr      **to    = ARENA_ARRAY(k->pl->arena, const Expr *, (size_t)k->f->rank + 1);
    int               count = 0;
    for (int d = 0; d < k->f->rank; d++)
        if (d != k->scan.dim) {
            from[count] = k->f->args[d];
            to[count++] = expr_var(k->pool, KN_I32, s->g->args[d]);
        }
    from[count] = k->u.rvars[0].name;
    to[count++] = s->step;
    return expr_substitute(k->pool, expr_rewrite(k->pool, k->u.values[component], replace_read, s), count, from, to);
}

/* ---- The functions ---------------------------------------------------------------------- */

/* The update of a new function, with names of its own, without values. */
static Update *begin_update(Checkpoint *k, Func *g, const Directive *d)
{
    const Update *names = &draft_of(k->pl, g)->origin->updates[0];
    Update       *u     = &g->updates[0];
    *u                  = (Update){ .loc = d->loc, .is_free = names->is_free, .rvar_count = names->rvar_count };
    u->args             = own_arguments(k, g);
    u->values           = ARENA_ARRAY(k->pl->arena, const Expr *, (size_t)g->component_count);
    u->rvars            = ARENA_ARRAY(k->pl->arena, RVar, (size_t)u->rvar_count);
    g->values           = ARENA_ARRAY(k->pl->arena, const Expr *, (size_t)g->component_count);
    for (int i = 0; i < u->rvar_count; i++)
        u->rvars[i].name = fresh_name(k->pl, arena_printf(k->pl->arena, "%s.u0.%s", g->name, names->rvars[i].name));
    return u;
}

static void make_states(Checkpoint *k, const Directive *d)
{
    Func       *g   = k->states;
    Update     *u   = begin_update(k, g, d);
    const Expr *one = number(k, 1), *ro = expr_var(k->pool, KN_I32, u->rvars[0].name),
               *ri    = expr_var(k->pool, KN_I32, u->rvars[1].name);
    const Expr *chunk = op(k, EX_ADD, k->first, ro), *next = op(k, EX_ADD, chunk, one);
    const Expr *last     = op(k, EX_DIV, difference(k, op(k, EX_SUB, k->hi, one), k->begin), number(k, k->size));
    StepOf      s        = { k, g, ARENA_ARRAY(k->pl->arena, const Expr *, (size_t)g->component_count), NULL };
    s.step               = step_at(k, chunk, ri);
    u->rvars[0].lo       = number(k, 0);
    u->rvars[0].hi       = difference(k, last, k->first);
    u->rvars[1].lo       = number(k, 0);
    u->rvars[1].hi       = number(k, k->size);
    u->args[k->scan.dim] = next;
    for (int c = 0; c < g->component_count; c++) {
        g->values[c] = value_before(k, g, c, place_of(k, op(k, EX_SUB, k->lo, one)));
        s.previous[c] =
            expr_ternary(k->pool, EX_SELECT, g->types[c], expr_binary(k->pool, EX_EQ, KN_BOOL, ri, number(k, 0)),
                         call_at(k, g, c, chunk), call_at(k, g, c, next));
    }
    for (int c = 0; c < g->component_count; c++) {
        u->values[c] = step_value(&s, c);
        if (k->begin != k->lo)
            u->values[c] =
                expr_ternary(k->pool, EX_SELECT, g->types[c], at_most(k, k->lo, s.step), u->values[c], s.previous[c]);
    }
}

static void make_chunks(Checkpoint *k, const Directive *d)
{
    Func        *h  = k->chunks;
    Update      *u  = begin_update(k, h, d);
    const Expr  *ri = expr_var(k->pool, KN_I32, u->rvars[0].name), *chunk = u->args[h->rank - 1];
    StepOf       s       = { k, h, ARENA_ARRAY(k->pl->arena, const Expr *, (size_t)h->component_count), NULL };
    const Expr **at      = ARENA_ARRAY(k->pl->arena, const Expr *, (size_t)k->f->rank);
    s.step               = step_at(k, chunk, ri);
    u->rvars[0].lo       = number(k, 0);
    u->rvars[0].hi       = number(k, k->size);
    u->args[k->scan.dim] = ri;
    for (int i = 0; i < k->f->rank; i++)
        at[i] = i == k->scan.dim ? chunk : u->args[i];
    for (int c = 0; c < h->component_count; c++) {
        h->values[c] = expr_call(k->pool, k->states, c, h->types[c], k->f->rank, at);
        s.previous[c] =
            expr_ternary(k->pool, EX_SELECT, h->types[c], expr_binary(k->pool, EX_EQ, KN_BOOL, ri, number(k, 0)),
                         h->values[c], call_at(k, h, c, op(k, EX_SUB, ri, number(k, 1))));
    }
    const Expr *in = expr_binary(k->pool, EX_AND, KN_BOOL, at_most(k, k->lo, s.step),
                                 at_most(k, s.step, op(k, EX_SUB, k->hi, number(k, 1))));
    for (int c = 0; c < h->component_count; c++)
        u->values[c] = expr_ternary(k->pool, EX_SELECT, h->types[c], in, step_value(&s, c), h->values[c]);
    h->total = true;
}

/* ---- f itself --------------------------------------------------------------------------- */

typedef struct Follow {
    const Checkpoint *k;
    const Update     *u;
    Scan              scan;
} Follow;

/* What is written at this step or later is still what the scan has left. */
static const Expr *follow_read(void *user, const Expr *e)
{
    const Follow *w = user;
    int64_t       back;
    if (e->op != EX_CALL || e->u.call.func != w->k->f || !scan_distance(w->k->f, w->u, &w->scan, e, &back) || back > 0)
        return e;
    return scanned(w->k, (int)e->u.call.index, e->args);
}

static void redirect_next(const Checkpoint *k, int update)
{
    Func           *f     = k->f;
    Follow          w     = { k, &f->updates[update], { 0 } };
    const ScanFault fault = scan_place(k->pool, f, w.u, &w.scan);
    if (fault != SCAN_LEGAL && fault != SCAN_BOUNDS)
        return;
    for (int c = 0; c < f->component_count; c++)
        f->updates[update].values[c] = expr_rewrite(k->pool, f->updates[update].values[c], follow_read, &w);
}

static void change_scan(const Checkpoint *k, int update)
{
    Func        *f    = k->f;
    const Expr **args = own_arguments(k, f);
    if (update + 1 < f->update_count)
        redirect_next(k, update + 1);
    const Expr **values = ARENA_ARRAY(k->pl->arena, const Expr *, (size_t)f->component_count);
    for (int c = 0; c < f->component_count; c++)
        values[c] = scanned(k, c, args);
    f->values = values;
    void_update(k->pl, f, update);
}

/* ---- All -------------------------------------------------------------------------------- */

static bool can_checkpoint(Checkpoint *k, const Directive *d)
{
    static const char *const reasons[] = {
        [SCAN_DOMAIN] = "it has several reduction variables or a condition",
        [SCAN_PLACE]  = "it does not write along one argument, from each coordinate to the next",
        [SCAN_BOUNDS] = "its bounds depend on arguments or on values",
        [SCAN_READS]  = "it reads its function elsewhere than at its own place and that of the step before",
    };
    for (int i = 0; i < d->update; i++)
        if (!k->f->updates[i].gone)
            return refuse(k->pl, ERROR_NOT_SCAN, d->loc,
                          "checkpoint the updates before it first, or define it as a "
                          "function of its own",
                          "`checkpoint` of update %d of `%s`: update %d comes before it", d->update, k->f->name, i);
    const ScanFault fault = scan_of(k->pool, k->f, &k->u, &k->scan);
    if (fault == SCAN_LEGAL)
        return true;
    return refuse(k->pl, ERROR_NOT_SCAN, d->loc, "it is for f(x, r) = … f(x, r-1) … for r in a..b; leave it out",
                  "update %d of `%s` is no scan that `checkpoint` knows: %s", d->update, k->f->name, reasons[fault]);
}

bool apply_checkpoint(Planner *pl, FuncDraft *f, DefDraft *def, const Directive *d)
{
    (void)def;
    Checkpoint k = { .pl     = pl,
                     .pool   = &pl->plan->exprs,
                     .f      = f->func,
                     .u      = f->func->updates[d->update],
                     .size   = d->args[3].value,
                     .before = f->func->values };
    use_up(pl, d);
    if (!can_checkpoint(&k, d))
        return false;
    k.lo     = k.u.rvars[0].lo;
    k.hi     = k.u.rvars[0].hi;
    k.begin  = d->arg_count > 4 ? plan_expr(pl, d->args[4].expr) : k.lo;
    k.first  = op(&k, EX_DIV, difference(&k, k.lo, k.begin), number(&k, k.size));
    k.states = add_draft(pl, d->made)->func;
    move_last_draft(pl, draft_place(pl, f));
    k.chunks = add_draft(pl, d->also)->func;
    move_last_draft(pl, draft_place(pl, f));
    draft_of(pl, k.states)->is_made = draft_of(pl, k.chunks)->is_made = true;
    make_states(&k, d);
    make_chunks(&k, d);
    change_scan(&k, d->update);
    return true;
}
