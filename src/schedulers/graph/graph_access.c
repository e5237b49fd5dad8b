/* SPDX-License-Identifier: MIT */
/* From the index of an access to an AccessRange.
 *
 * Takes   an integer expression over the coordinates of the reader and its reduction variables, in an environment of
 *         the evaluator.
 * Gives   its AccessRange; an enclosing interval where it has no such form.
 * How     Sums by their linear form; then quotients and shifts by known numbers, min and max with known numbers,
 *         conversions that keep the value, and `if` as the hull of both branches. A reduction variable is its range.
 *         Any other expression (values of functions, remainders, products of coordinates) is the evaluator's range of
 *         it over the reader's whole box; its coordinates are noted as `jumps`.
 * Holds   `exact` iff the evaluator, asked about a smaller box, gives the same range. An expression that wraps is
 *         never decomposed. */
#include "schedulers/graph/graph_internal.h"

enum { MOST_NODES = 256 };
static const int64_t most_number = (int64_t)1 << 40;

static AccessRange reach_of(Reader *r, const Expr *e);

/* ---- What depends on the point ---------------------------------------------------------- */

static int find_dimension(const Reader *r, const char *name)
{
    for (int d = 0; d < r->func->rank; d++)
        if (r->func->args[d] == name && (r->update < 0 || r->func->updates[r->update].is_free[d]))
            return d;
    return -1;
}

static bool has_fixed_range(const Reader *r, const char *name)
{
    const Update *u = r->update < 0 ? NULL : &r->func->updates[r->update];
    for (int i = 0; u && i < u->rvar_count; i++)
        if (u->rvars[i].name == name)
            return r->fixed >> i & 1;
    return false;
}

/* The range of a function's value does not depend on where it is read. That of a coordinate does, and that of a
 * reduction variable whose bounds depend on one. */
bool speaks_of_point(Reader *r, const Expr *e)
{
    uint32_t *answer = &r->coordinates[e->id];
    if (*answer / 2 != r->stamp) {
        bool yes = e->op == EX_VAR && !has_fixed_range(r, e->u.name);
        for (uint32_t i = 0; i < e->count && e->op != EX_CALL; i++)
            yes |= speaks_of_point(r, e->args[i]);
        *answer = 2 * r->stamp + yes;
    }
    return *answer & 1;
}

bool access_is_conditional(Reader *r)
{
    const Environment *env = environment_now(r->evaluator);
    for (size_t i = 0; i < env->known.count; i++)
        if (speaks_of_point(r, env->known.at[i].node))
            return true;
    for (int i = 0; i < env->fact_count; i++)
        for (int k = 0; k < env->facts[i].form->count; k++)
            if (speaks_of_point(r, env->facts[i].form->atoms[k]))
                return true;
    return false;
}

/* ---- Expressions ------------------------------------------------------------------------ */

/* Is it one number, the same for all points? */
static bool known_number(Reader *r, const Expr *e, int64_t *v)
{
    const Range range = evaluate(r->evaluator, e);
    if (range.lo != range.hi || range.lo < -most_number || range.hi > most_number || speaks_of_point(r, e))
        return false;
    *v = (int64_t)range.lo;
    return true;
}

/* Is it a remainder by which neighbours stay side by side: of a long period, but where it wraps around, as at the
 * border of an image, or the parity, of which vectors are made by shuffles? */
static bool keeps_neighbours(Reader *r, const Expr *e)
{
    int64_t period;
    if (e->op != EX_MOD || !known_number(r, e->args[1], &period))
        return false;
    const Range of = evaluate(r->evaluator, e->args[0]);
    return period <= 2 || period >= LONG_PERIOD || of.hi - of.lo < 2 * period;
}

/* Notes the coordinates in an expression that has no linear form. */
static void note_jumps(Reader *r, const Expr *e)
{
    if (e->op == EX_CALL || !speaks_of_point(r, e) || --r->budget < 0 || keeps_neighbours(r, e))
        return;
    const int d = e->op == EX_VAR ? find_dimension(r, e->u.name) : -1;
    r->jumps |= d >= 0 ? 1u << d : 0;
    for (uint32_t i = 0; i < e->count; i++)
        note_jumps(r, e->args[i]);
}

/* The evaluator's range of it. */
static AccessRange numbers_of(Reader *r, const Expr *e)
{
    note_jumps(r, e);
    const Range range = evaluate(r->evaluator, e);
    if (range.lo < -most_number || range.hi > most_number) {
        r->failed = true;
        return access_range_numbers(0, 0, false);
    }
    return access_range_numbers((int64_t)range.lo, (int64_t)range.hi, !speaks_of_point(r, e));
}

static AccessRange variable_reach(Reader *r, const Expr *e)
{
    const int d = find_dimension(r, e->u.name);
    return d >= 0 ? access_range_coordinate(d) : numbers_of(r, e);
}

/* a mod p is a where it does not wrap around. */
static AccessRange remainder_reach(Reader *r, const Expr *e)
{
    int64_t period, lo, hi;
    if (!known_number(r, e->args[1], &period))
        return numbers_of(r, e);
    const AccessRange a = reach_of(r, e->args[0]);
    access_range_span(&a, &r->root, &lo, &hi);
    return lo >= 0 && hi < period ? a : numbers_of(r, e);
}

/* Mirror boundaries: min(t, last - t) with t = a mod period. Up to half a period outside, it is a reflected: last - 2*a
 * above, last - period - 2*a below, relative to a. */
static bool mirror_reach(Reader *r, const Expr *e, AccessRange *out)
{
    const Expr *t = e->args[0], *rest = e->args[1];
    int64_t     period, last, lo, hi;
    if (e->op != EX_MIN || t->op != EX_MOD || rest->op != EX_SUB || rest->args[1] != t)
        return false;
    if (!known_number(r, t->args[1], &period) || !known_number(r, rest->args[0], &last))
        return false;
    const AccessRange a = reach_of(r, t->args[0]);
    access_range_span(&a, &r->root, &lo, &hi);
    if (lo < -period / 2 || hi >= period || last < period - 1 || last > period)
        return false;
    const int64_t     up = last - period - 2 * lo, down = 2 * hi - last;
    const AccessRange fold = access_range_numbers(down > 0 ? -down : 0, lo < 0 && up > 0 ? up : 0, false);
    *out                   = access_range_add(&a, &fold, &r->root);
    *out                   = access_range_clamp(out, 0, last / 2);
    return true;
}

/* min(a, number) and max(a, number) are clamps. Of two varying operands it is the hull. */
static AccessRange extreme_reach(Reader *r, const Expr *e)
{
    int64_t     number;
    AccessRange mirror;
    if (mirror_reach(r, e, &mirror))
        return mirror;
    for (int i = 0; i < 2; i++)
        if (known_number(r, e->args[i], &number)) {
            const AccessRange a = reach_of(r, e->args[1 - i]);
            return e->op == EX_MIN ? access_range_clamp(&a, no_least, number) : access_range_clamp(&a, number, no_most);
        }
    const AccessRange a = reach_of(r, e->args[0]), b = reach_of(r, e->args[1]);
    AccessRange       both = access_range_hull(&a, &b, &r->root);
    both.exact             = false;
    return both;
}

static AccessRange select_reach(Reader *r, const Expr *e)
{
    const Range condition = evaluate(r->evaluator, e->args[0]);
    if (range_is_true(condition) || range_is_false(condition))
        return reach_of(r, e->args[range_is_true(condition) ? 1 : 2]);
    const AccessRange yes = reach_of(r, e->args[1]), no = reach_of(r, e->args[2]);
    AccessRange       both = access_range_hull(&yes, &no, &r->root);
    both.exact             = false;
    return both;
}

/* An expression that is no sum. */
static AccessRange atom_reach(Reader *r, const Expr *e)
{
    int64_t     number;
    AccessRange a;
    switch ((ExprOp)e->op) {
    case EX_VAR: return variable_reach(r, e);
    case EX_MIN:
    case EX_MAX: return extreme_reach(r, e);
    case EX_SELECT: return select_reach(r, e);
    case EX_MOD: return remainder_reach(r, e);
    case EX_DIV:
        if (!known_number(r, e->args[1], &number) || number <= 0)
            break;
        a = reach_of(r, e->args[0]);
        return access_range_divide(&a, number, &r->root);
    case EX_SHR:
        if (!known_number(r, e->args[1], &number) || number < 0 || number > 30)
            break;
        a = reach_of(r, e->args[0]);
        return access_range_divide(&a, (int64_t)1 << number, &r->root);
    case EX_MUL:
        for (int i = 0; i < 2; i++)
            if (known_number(r, e->args[i], &number)) {
                a = reach_of(r, e->args[1 - i]);
                return access_range_scale(&a, number, &r->root);
            }
        break;
    case EX_CAST:
        if (type_is_int((kn_type)e->args[0]->type) &&
            range_within((kn_type)e->type, evaluate(r->evaluator, e->args[0])))
            return reach_of(r, e->args[0]);
        break;
    default: break;
    }
    return numbers_of(r, e);
}

static AccessRange sum_reach(Reader *r, const Linear *form)
{
    AccessRange sum = access_range_numbers(form->constant, form->constant, true);
    for (int i = 0; i < form->count && !r->failed; i++) {
        const AccessRange atom = atom_reach(r, form->atoms[i]),
                          part = access_range_scale(&atom, form->coefficients[i], &r->root);
        sum                    = access_range_add(&sum, &part, &r->root);
    }
    return sum;
}

/* The range of its linear form, if the expression cannot have wrapped. */
static AccessRange reach_of(Reader *r, const Expr *e)
{
    const Linear *form = --r->budget > 0 && !r->failed ? evaluate_form(r->evaluator, e) : NULL;
    if (!form)
        return numbers_of(r, e);
    const AccessRange reach = form->count == 1 && form->atoms[0] == e ? atom_reach(r, e) : sum_reach(r, form);
    int64_t           lo, hi;
    access_range_span(&reach, &r->root, &lo, &hi);
    return lo < -most_number || hi > most_number || !range_within((kn_type)e->type, range_int(lo, hi))
               ? numbers_of(r, e)
               : reach;
}

AccessRange index_access_range(Reader *r, const Expr *index, Range range)
{
    r->budget         = MOST_NODES;
    r->failed         = false;
    r->jumps          = 0;
    AccessRange reach = reach_of(r, index);
    int64_t     lo, hi;
    access_range_span(&reach, &r->root, &lo, &hi);
    const bool tighter =
        access_is_conditional(r) &&
        (lo > range.lo || hi < range.hi); /* the condition narrows a part more than the whole: not for every box */
    if (r->failed || reach.var < 0 || tighter)
        reach = access_range_numbers((int64_t)range.lo, (int64_t)range.hi, !speaks_of_point(r, index));
    reach       = access_range_clip(&reach, (int64_t)range.lo, (int64_t)range.hi, &r->root);
    reach.exact = reach.exact && !access_is_conditional(r);
    return reach;
}
