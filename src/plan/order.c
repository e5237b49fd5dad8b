/* The order of an update's steps: what its loops may do without changing a result.
 *
 * The language runs an update step by step over its reduction variables, in lexicographic order, and at every point of
 * the free variables at once. The points of one step do not see each other (pipeline/check.c). So loops over free
 * variables may be nested in any order, and run at once; and, with S the set of places that the update reads of its own
 * function:
 *
 *   free outside reduction      each point goes through all its steps before the next: right iff every read in S is at
 *   the reader's own point
 *                               of the free variables
 *   another order of steps      right iff f(args) = f(args) op e with op exact, associative and commutative, and
 *   nothing else reads f; or steps at once               iff no two of these steps touch a common place: f(… c*r …)
 *   with S nothing but the written place. Steps at
 *                               once that do touch one need `atomic` beside the first condition. */
#include "plan/planner.h"

/* ---- Self reads ------------------------------------------------------------------------- */

typedef struct SelfWalk {
    const Func   *f;
    const Update *u;
    SelfReads     found;
} SelfWalk;

static void note_self_read(const Expr *e, void *user)
{
    SelfWalk *w = user;
    if (e->op != EX_CALL || e->u.call.func != w->f)
        return;
    w->found.any = true;
    for (int d = 0; d < w->f->rank; d++)
        if (e->args[d] != w->u->args[d]) {
            w->found.only_own_place = false;
            w->found.other_points |= w->u->is_free[d];
        }
}

/* Operators by which a value is gathered: exact on integers in any order. */
static bool gathers(ExprOp op, bool self_first)
{
    switch (op) {
    case EX_ADD:
    case EX_MUL:
    case EX_MIN:
    case EX_MAX:
    case EX_BIT_AND:
    case EX_BIT_OR:
    case EX_BIT_XOR:
    case EX_AND:
    case EX_OR: return true;
    case EX_SUB: return self_first;
    default: return false;
    }
}

static bool is_own_place(const Func *f, const Update *u, const Expr *e, int component)
{
    if (e->op != EX_CALL || e->u.call.func != f || (int)e->u.call.index != component)
        return false;
    for (int d = 0; d < f->rank; d++)
        if (e->args[d] != u->args[d])
            return false;
    return true;
}

/* Is component c made by f(args) op e, where e does not read f? */
static bool is_gathered(ExprPool *pool, const Func *f, const Update *u, int c)
{
    const Expr *e = u->values[c];
    for (int k = 0; k < 2 && e->count == 2; k++)
        if (gathers((ExprOp)e->op, k == 0) && is_own_place(f, u, e->args[k], c) && !expr_reads(pool, e->args[1 - k], f))
            return true;
    return false;
}

SelfReads self_reads(Planner *pl, const Func *f, const Update *u)
{
    ExprPool *pool   = &pl->plan->exprs;
    SelfWalk  w      = { .f = f, .u = u, .found = { .only_own_place = true } };
    bool      inside = true, exact = true;
    def_visit(pool, f, (int)(u - f->updates), note_self_read, &w);
    for (int c = 0; c < f->component_count; c++) {
        inside &= is_gathered(pool, f, u, c);
        exact &= !type_is_float(f->types[c]);
    }
    for (int d = 0; d < f->rank; d++)
        inside &= !expr_reads(pool, u->args[d], f);
    for (int i = 0; i < u->rvar_count; i++)
        inside &= !expr_reads(pool, u->rvars[i].lo, f) && !expr_reads(pool, u->rvars[i].hi, f);
    inside &= !u->where || !expr_reads(pool, u->where, f);
    w.found.combines = inside && exact;
    w.found.inexact  = inside && !exact;
    return w.found;
}

/* ---- Places ----------------------------------------------------------------------------- */

/* The variables of an update (bits as in Loop.vars) that an expression is over. */
typedef struct VarWalk {
    const Func   *f;
    const Update *u;
    uint32_t      vars;
} VarWalk;

static void note_variable(const Expr *e, void *user)
{
    VarWalk *w = user;
    if (e->op != EX_VAR)
        return;
    for (int d = 0; d < w->f->rank; d++)
        if (w->u->is_free[d] && w->f->args[d] == e->u.name)
            w->vars |= 1u << d;
    for (int i = 0; i < w->u->rvar_count; i++)
        if (w->u->rvars[i].name == e->u.name)
            w->vars |= 1u << (FIRST_RVAR + i);
}

uint32_t update_variables(Planner *pl, const Func *f, const Update *u, const Expr *e)
{
    VarWalk w = { f, u, 0 };
    expr_visit(&pl->plan->exprs, e, note_variable, &w);
    return w.vars;
}

/* Is e = c*v + something without the update's variables, c so small that nothing wraps, and v the variable of `bit`? */
static bool moves_with(Planner *pl, const DefDraft *d, const Expr *e, uint32_t bit)
{
    enum { MOST_FACTOR = 4 }; /* extents are below 2^30 */
    Arena  scratch;
    Linear form;
    bool   moves = false;
    scratch_begin(&scratch, pl->cx);
    if (expr_linear(&scratch, e, &form))
        for (int i = 0; i < form.count; i++) {
            const uint32_t vars = update_variables(pl, d->def->func, d->update, form.atoms[i]);
            const int64_t  c    = form.coefficients[i];
            if (vars && (vars != bit || form.atoms[i]->op != EX_VAR || c > MOST_FACTOR || c < -MOST_FACTOR)) {
                moves = false;
                break;
            }
            moves |= vars == bit;
        }
    scratch_end(&scratch);
    return moves;
}

/* Do steps that differ in one of the reduction variables of `vars` write different places, and read none that another
 * writes? */
static bool steps_apart(Planner *pl, const DefDraft *d, uint32_t vars)
{
    const Func *f = d->def->func;
    if (!d->self.only_own_place)
        return false;
    for (int i = 0; i < d->update->rvar_count; i++) {
        bool apart = !(vars & 1u << (FIRST_RVAR + i));
        for (int k = 0; k < f->rank; k++)
            apart = apart || (!d->update->is_free[k] && moves_with(pl, d, d->update->args[k], 1u << (FIRST_RVAR + i)));
        if (!apart)
            return false;
    }
    return true;
}

/* ---- Checks ----------------------------------------------------------------------------- */

static Loc moved_loc(const DefDraft *d)
{
    return d->moved_by ? d->moved_by->loc : d->update->loc;
}

static uint32_t reduction_variables(const DefDraft *d)
{
    uint32_t all = 0;
    for (int i = 0; i < d->update->rvar_count; i++)
        all |= 1u << (FIRST_RVAR + i);
    return all;
}

static bool check_step_order(Planner *pl, DefDraft *d)
{
    bool   kept = !d->order_lost;
    size_t next = 0;
    for (size_t i = 0; i < d->loops.count; i++)
        if (d->loops.at[i].loop.is_reduction)
            kept &= d->loops.at[i].number == d->order.at[next++];
    if (kept || d->self.combines || steps_apart(pl, d, reduction_variables(d)))
        return true;
    if (d->self.inexact)
        return refuse(pl, moved_loc(d), "keep the reduction loops in their order, or let it add integers",
                      "%s takes its steps in another order: with floats that is another result", def_text(pl, d));
    return refuse(pl, moved_loc(d), "keep the reduction loops in their order",
                  "%s takes its steps in another order, and its result may depend on it: it is not f(…) = f(…) op e "
                  "with integers",
                  def_text(pl, d));
}

static bool check_free_outside(Planner *pl, DefDraft *d)
{
    const Loop *outside = NULL, *inside = NULL;
    for (size_t i = 0; i < d->loops.count; i++) {
        const Loop *l = &d->loops.at[i];
        if (!l->loop.is_reduction)
            outside = outside ? outside : l;
        else if (outside)
            inside = inside ? inside : l;
    }
    if (!d->self.other_points || (!inside && !d->mixed))
        return true;
    if (!inside)
        return refuse(
            pl, moved_loc(d), "fuse loops of one kind",
            "%s reads other points of the step before: a loop cannot go through its steps and its points together",
            def_text(pl, d));
    return refuse(pl, moved_loc(d), "nest it inside",
                  "%s reads other points of the step before: the loop `%s` over its points cannot be outside the loop "
                  "`%s` over its steps",
                  def_text(pl, d), loop_text(pl, &outside->loop), loop_text(pl, &inside->loop));
}

static const char *at_once(const Loop *l)
{
    return l->loop.kind == LOOP_VECTOR ? "vectorized" : "parallel";
}

static bool check_at_once(Planner *pl, DefDraft *d, const Loop *l)
{
    const Loc loc = l->by ? l->by->loc : moved_loc(d);
    if (!l->loop.is_reduction || (l->loop.kind != LOOP_PARALLEL && l->loop.kind != LOOP_VECTOR) ||
        steps_apart(pl, d, l->vars) || (d->def->atomic && d->self.combines))
        return true;
    if (d->self.combines)
        return refuse(pl, loc, "atomic() beside it; or rfactor",
                      "the loop `%s` cannot be %s: steps of %s may write to the same place", loop_text(pl, &l->loop),
                      at_once(l), def_text(pl, d));
    if (d->self.inexact)
        return refuse(pl, loc,
                      "parallel or vectorize a loop over the function's arguments; atomic() and rfactor keep the "
                      "result of integers only",
                      "the loop `%s` cannot be %s: the float result of %s depends on the order of its steps",
                      loop_text(pl, &l->loop), at_once(l), def_text(pl, d));
    return refuse(pl, loc, "parallel or vectorize a loop over the function's arguments",
                  "the loop `%s` cannot be %s: a step of %s may need what another one writes", loop_text(pl, &l->loop),
                  at_once(l), def_text(pl, d));
}

/* The bounds of a reduction variable must be known where its loops begin. */
static bool check_bounds_of(Planner *pl, DefDraft *d, int r)
{
    const Func    *f    = d->def->func;
    const uint32_t own  = 1u << (FIRST_RVAR + r);
    const RVar    *v    = &d->update->rvars[r];
    uint32_t       over = update_variables(pl, f, d->update, v->lo) | update_variables(pl, f, d->update, v->hi);
    if (d->self.other_points)
        over &= reduction_variables(d); /* all steps are outside all points: lowering makes a condition of the rest */
    const Loop *seen = NULL;
    for (size_t i = 0; i < d->loops.count; i++) {
        const Loop *l = &d->loops.at[i];
        if (l->vars & own)
            seen = seen ? seen : l;
        if (seen && (l->vars & over))
            return refuse(pl, moved_loc(d), seen == l ? "fuse loops whose bounds are apart" : "nest it outside",
                          seen == l ? "the loop `%s` of %s fuses variables of which one bounds the other"
                                    : "the loop `%s` of %s cannot be inside the loop `%s` that it bounds",
                          loop_text(pl, &l->loop), def_text(pl, d), loop_text(pl, &seen->loop));
        if (l->loop.kind == LOOP_VECTOR && (l->vars & over))
            return refuse(pl, l->by ? l->by->loc : moved_loc(d), "vectorize another loop",
                          "the loop `%s` cannot be vectorized: it bounds a reduction of %s, whose steps would differ "
                          "between the lanes",
                          loop_text(pl, &l->loop), def_text(pl, d));
    }
    return true;
}

bool check_order(Planner *pl, DefDraft *d)
{
    if (!d->update)
        return true;
    bool ok = check_step_order(pl, d) && check_free_outside(pl, d);
    for (size_t i = 0; i < d->loops.count && ok; i++)
        ok = check_at_once(pl, d, &d->loops.at[i]);
    for (int r = 0; r < d->update->rvar_count && ok; r++)
        ok = check_bounds_of(pl, d, r);
    return ok;
}
