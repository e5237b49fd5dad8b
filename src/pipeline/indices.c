/* SPDX-License-Identifier: MIT */
/* Indices whose terms depend on each other, written so that intervals of the terms are tight.
 *
 * Takes   a checked pipeline.
 * Gives   the same one, with three kinds of sums in the indices of calls written in another way:
 *
 *             a - a % n             n * (a / n)         n a positive constant
 *             a - n * (a / n)       a % n
 *             y + t - (1 << t/2)    y + clamp(t - (1 << t/2), lo, hi)
 *
 *         of which the last has terms that are functions of one variable t, or of one atom, of few values. All are
 *         tried: the clamp changes nothing.
 * Holds   values are as before. Whoever adds intervals of terms forgets that they have a common variable, and now need
 *         not know: interpreter, schedulers and compiled code, with sizes or without, find the same tighter boxes.
 *         Values are tried where the range of t is a constant, whatever the sizes: that of a reduction variable, or of
 *         a coordinate at which all readers read within constants. */
#include "ir/fold.h"
#include "ir/simplify.h"
#include "ir/stmt.h"
#include "pipeline/pipeline.h"

enum {
    MOST_VALUES = 256, /* of the common variable: each is tried */
    MOST_NODES  = 64,  /* of a term that is looked into */
    MOST_BASES  = 16   /* variables and atoms that terms of a sum may have in common */
};

/* lo > hi: no values. */
typedef struct Limits {
    int64_t lo, hi;
} Limits;

static const Limits no_values = { INT64_MAX, INT64_MIN }, any_value = { INT64_MIN, INT64_MAX };

typedef struct Indices {
    kn_pipeline *p;
    Arena        scratch;
    Map          candidates;  /* sums with terms that have a variable in common */
    Limits     **coordinates; /* per function id and dimension: where it is read */
    Simplifier  *known;       /* the ranges of the variables of the definition at hand */
    Map          done[2];     /* node -> what it becomes; [1]: in an index */
} Indices;

/* ---- Terms of a sum ---------------------------------------------------------------------- */

static bool is_sum(const Expr *e)
{
    return e->type == KN_I32 && (e->op == EX_ADD || e->op == EX_SUB || e->op == EX_NEG || e->op == EX_MUL);
}

typedef struct Bases {
    int         count;
    const Expr *at[MOST_BASES];
} Bases;

static void add_base(Bases *b, const Expr *e)
{
    for (int i = 0; i < b->count; i++)
        if (b->at[i] == e)
            return;
    if (b->count < MOST_BASES)
        b->at[b->count++] = e;
}

/* Adds the variables of an operator's operands. */
static void add_variables(const Expr *e, Bases *b, int *nodes)
{
    if (e->op == EX_VAR)
        add_base(b, e);
    for (uint32_t i = 0; i < e->count && e->op != EX_CALL && --*nodes >= 0; i++)
        add_variables(e->args[i], b, nodes);
}

/* Does it depend on `base`? */
static bool mentions(const Expr *e, const Expr *base, int *nodes)
{
    bool found = e == base;
    for (uint32_t i = 0; i < e->count && !found && --*nodes >= 0; i++)
        found = mentions(e->args[i], base, nodes);
    return found;
}

/* Is it made of `base` and constants? */
static bool is_function_of(const Expr *e, const Expr *base, int *nodes)
{
    if (e == base || e->op == EX_INT)
        return true;
    if (--*nodes < 0 || !e->count || e->op == EX_CALL || e->op == EX_EXTERN)
        return false;
    for (uint32_t i = 0; i < e->count; i++)
        if (!is_function_of(e->args[i], base, nodes))
            return false;
    return true;
}

/* What terms may have in common: variables of operators, and operators. */
static Bases bases_of(const Linear *form)
{
    Bases b     = { 0 };
    int   nodes = MOST_NODES;
    for (int i = 0; i < form->count; i++)
        if (form->atoms[i]->op != EX_VAR)
            add_variables(form->atoms[i], &b, &nodes);
    for (int i = 0; i < form->count; i++)
        if (form->atoms[i]->op != EX_VAR)
            add_base(&b, form->atoms[i]);
    return b;
}

static bool has_common_base(const Linear *form)
{
    const Bases b = bases_of(form);
    for (int k = 0; k < b.count; k++) {
        int terms = 0;
        for (int i = 0, nodes = MOST_NODES; i < form->count; i++, nodes = MOST_NODES)
            terms += mentions(form->atoms[i], b.at[k], &nodes);
        if (terms > 1)
            return true;
    }
    return false;
}

static void note_candidates(Indices *x)
{
    const ExprPool *pool = &x->p->exprs;
    for (size_t i = 0; i < pool->capacity; i++) {
        const Expr *e = pool->table[i];
        Linear      form;
        if (e && is_sum(e) && expr_linear(&x->scratch, e, &form) && form.count > 1 && has_common_base(&form))
            map_set(&x->candidates, e, e);
    }
}

/* ---- Ranges of variables ----------------------------------------------------------------- */

/* With the ranges that are constants of the variables of definition `update` of f (-1: the pure one). */
static Simplifier *knowing_variables(Indices *x, const Func *f, int update)
{
    ExprPool     *pool = &x->p->exprs;
    Simplifier   *s    = simplifier_new(pool, &x->scratch);
    const Update *u    = update < 0 ? NULL : &f->updates[update];
    for (int d = 0; d < f->rank; d++) {
        const Limits at = x->coordinates[f->id][d];
        if (at.lo <= at.hi && at.lo > INT32_MIN && (!u || u->is_free[d]))
            simplifier_push_range(s, f->args[d], expr_int(pool, KN_I32, at.lo), expr_int(pool, KN_I32, at.hi));
    }
    for (int i = 0; u && i < u->rvar_count; i++) {
        Limits at, none;
        simplifier_bounds(s, u->rvars[i].lo, &at.lo, &none.lo);
        simplifier_bounds(s, u->rvars[i].hi, &none.hi, &at.hi);
        if (at.lo < at.hi)
            simplifier_push_range(s, u->rvars[i].name, expr_int(pool, KN_I32, at.lo),
                                  expr_int(pool, KN_I32, at.hi - 1));
    }
    return s;
}

typedef struct Reading {
    Indices      *x;
    const Func   *f;
    const Update *u;
    Simplifier   *known;
} Reading;

/* An update that reads itself at another of its free coordinates may need any there, step by step. */
static void note_shifted(const Expr *e, void *user)
{
    Reading *r = user;
    for (uint32_t d = 0; e->op == EX_CALL && e->u.call.func == r->f && d < e->count; d++)
        if (r->u->is_free[d] && e->args[d] != r->u->args[d])
            r->x->coordinates[r->f->id][d] = any_value;
}

/* Adds the range of each index of a call to those at which the function is read. An update that reads itself at its own
 * free coordinate adds none. */
static void note_read(const Expr *e, void *user)
{
    Reading *r = user;
    for (uint32_t d = 0; e->op == EX_CALL && d < e->count; d++) {
        Limits *at = &r->x->coordinates[e->u.call.func->id][d], read;
        if (e->u.call.func == r->f && r->u->is_free[d])
            continue;
        simplifier_bounds(r->known, e->args[d], &read.lo, &read.hi);
        if (read.lo < -MOST_COORDINATE || read.hi > MOST_COORDINATE)
            read = any_value;
        at->lo = read.lo < at->lo ? read.lo : at->lo;
        at->hi = read.hi > at->hi ? read.hi : at->hi;
    }
}

/* What C reads has any coordinates. */
static void note_stage(Indices *x, const Func *f)
{
    for (int i = 0; i < f->stage_arg_count; i++)
        for (int d = 0; f->stage_args[i].func && d < f->stage_args[i].func->rank; d++)
            x->coordinates[f->stage_args[i].func->id][d] = any_value;
}

/* Readers come after what they read. */
static void find_coordinates(Indices *x)
{
    kn_pipeline *p = x->p;
    x->coordinates = ARENA_ARRAY(&x->scratch, Limits *, p->funcs.count);
    for (size_t i = 0; i < p->funcs.count; i++) {
        x->coordinates[i] = ARENA_ARRAY(&x->scratch, Limits, KN_MAX_RANK);
        for (int d = 0; d < KN_MAX_RANK; d++)
            x->coordinates[i][d] = no_values;
    }
    for (size_t i = 0; i < p->outputs.count; i++)
        for (int d = 0; d < KN_MAX_RANK; d++)
            x->coordinates[p->outputs.at[i].func->id][d] = any_value;
    for (size_t i = p->funcs.count; i-- > 0;) {
        const Func *f = p->funcs.at[i];
        note_stage(x, f);
        for (int u = 0; u < f->update_count; u++)
            def_visit(&p->exprs, f, u, note_shifted, &(Reading){ x, f, &f->updates[u], NULL });
        for (int u = f->update_count - 1; u >= -1 && f->kind == FUNC_DEFINED; u--) {
            Reading r = { x, f, u < 0 ? NULL : &f->updates[u], knowing_variables(x, f, u) };
            def_visit(&p->exprs, f, u, note_read, &r);
        }
    }
}

/* ---- Sums, written anew ------------------------------------------------------------------ */

static const Expr *number(Indices *x, int64_t v)
{
    return expr_int(&x->p->exprs, KN_I32, v);
}

static const Expr *binary(Indices *x, ExprOp op, const Expr *a, const Expr *b)
{
    return expr_binary(&x->p->exprs, op, KN_I32, a, b);
}

/* sum + k * atom; sum may be NULL: 0. */
static const Expr *plus_term(Indices *x, const Expr *sum, const Expr *atom, int64_t k)
{
    const int64_t size = k < 0 ? -k : k;
    const Expr   *term = size == 1 ? atom : binary(x, EX_MUL, atom, number(x, size));
    if (!sum)
        return k < 0 ? expr_unary(&x->p->exprs, EX_NEG, KN_I32, term) : term;
    return binary(x, k < 0 ? EX_SUB : EX_ADD, sum, term);
}

/* sum + k */
static const Expr *plus_number(Indices *x, const Expr *sum, int64_t k)
{
    return !sum ? number(x, k) : !k ? sum : binary(x, k < 0 ? EX_SUB : EX_ADD, sum, number(x, k < 0 ? -k : k));
}

/* The place of the atom in the form, or -1. */
static int find_atom(const Linear *form, const Expr *atom)
{
    for (int i = 0; i < form->count; i++)
        if (form->atoms[i] == atom)
            return i;
    return -1;
}

/* a % n or a & (n - 1), a / n or a >> log2(n), with n a positive constant: n; else 0. */
static int64_t divisor_of(const Expr *e)
{
    int64_t n;
    if (e->count != 2 || !expr_is_int(e->args[1], &n) || n < 0 || n > MOST_COORDINATE)
        return 0;
    switch ((ExprOp)e->op) {
    case EX_MOD:
    case EX_DIV: return n;
    case EX_BIT_AND: return (n & (n + 1)) == 0 && n < MOST_COORDINATE ? n + 1 : 0;
    case EX_SHR: return n <= 28 ? (int64_t)1 << n : 0;
    default: return 0;
    }
}

/* Has the form, for each term of a, as much as k * a, or more with the same sign? */
static bool has_multiple(const Linear *form, const Linear *a, int64_t k)
{
    for (int j = 0; j < a->count; j++) {
        const int     at   = find_atom(form, a->atoms[j]);
        const int64_t need = k * a->coefficients[j], have = at < 0 ? 0 : form->coefficients[at];
        if (need > 0 ? have < need : have > need)
            return false;
    }
    return a->count > 0;
}

/* With m = a % n and q = a / n: k * a - k * m becomes k * n * q, and k * a - k * n * q becomes k * m. Term i is that of
 * m or q. False: the form has not so much of a. */
static bool take_multiple(Indices *x, Linear *form, int i)
{
    Linear        a;
    const Expr   *e = form->atoms[i];
    const int64_t n = divisor_of(e), c = form->coefficients[i];
    const bool    is_rest = e->op == EX_MOD || e->op == EX_BIT_AND;
    if (!n || c > MOST_COORDINATE || c < -MOST_COORDINATE || (!is_rest && c % n) ||
        !expr_linear(&x->scratch, e->args[0], &a))
        return false;
    const int64_t k = is_rest ? -c : -c / n;
    if (!has_multiple(form, &a, k))
        return false;
    for (int j = 0; j < a.count; j++)
        form->coefficients[find_atom(form, a.atoms[j])] -= k * a.coefficients[j];
    form->constant -= k * a.constant;
    form->atoms[i]        = binary(x, is_rest ? EX_DIV : EX_MOD, e->args[0], number(x, n));
    form->coefficients[i] = is_rest ? k * n : k;
    return true;
}

/* The value of e where base is v, as a constant of `pool`; NULL: it is not known. */
static const Expr *value_at(ExprPool *pool, const Expr *e, const Expr *base, int64_t v)
{
    const Expr *args[3] = { 0 };
    if (e == base)
        return expr_int(pool, (kn_type)e->type, v);
    if (e->count > 3)
        return NULL;
    for (uint32_t i = 0; i < e->count; i++)
        if (!(args[i] = value_at(pool, e->args[i], base, v)))
            return NULL;
    const Expr *node = expr_rebuild(pool, e, args);
    return e->count ? fold_constant(pool, node) : node;
}

static void widen(Limits *r, int64_t v)
{
    r->lo = v < r->lo ? v : r->lo;
    r->hi = v > r->hi ? v : r->hi;
}

/* The range of the terms' sum, and the sum of their ranges, while base takes every value of `of`. */
static bool try_values(Indices *x, const Linear *form, const Expr *base, const bool *terms, Limits of, Limits *sum,
                       Limits *apart)
{
    ExprPool pool;
    Arena    scratch;
    bool     ok      = true;
    Limits  *of_term = ARENA_ARRAY(&x->scratch, Limits, (size_t)form->count);
    scratch_begin(&scratch, x->p->cx);
    expr_pool_init(&pool, x->p->cx, &scratch);
    for (int i = 0; i < form->count; i++)
        of_term[i] = no_values;
    *sum = no_values;
    for (int64_t v = of.lo; v <= of.hi && ok; v++) {
        int64_t total = 0, value;
        context_spend(x->p->cx, 1);
        for (int i = 0; i < form->count && ok; i++) {
            const Expr *e = terms[i] ? value_at(&pool, form->atoms[i], base, v) : NULL;
            if (!terms[i])
                continue;
            ok = e && expr_is_int(e, &value) && value >= -MOST_COORDINATE && value <= MOST_COORDINATE &&
                 !__builtin_mul_overflow(value, form->coefficients[i], &value) &&
                 !__builtin_add_overflow(total, value, &total);
            if (ok)
                widen(&of_term[i], value);
        }
        widen(sum, total);
    }
    *apart = (Limits){ 0, 0 };
    for (int i = 0; i < form->count && ok; i++)
        if (terms[i]) {
            apart->lo += of_term[i].lo;
            apart->hi += of_term[i].hi;
        }
    scratch_end(&scratch);
    return ok && sum->lo >= -MOST_COORDINATE && sum->hi <= MOST_COORDINATE;
}

/* Adds to the sum the terms that are functions of `base`, between the numbers that they lie between together, and takes
 * them from the form. Only where these are less far apart than those of each added up. */
static const Expr *take_functions(Indices *x, Linear *form, const Expr *base, const Expr *rest)
{
    Limits of, sum, apart;
    bool  *terms = ARENA_ARRAY(&x->scratch, bool, (size_t)form->count);
    int    count = 0;
    if (!type_is_int((kn_type)base->type))
        return rest;
    for (int i = 0, nodes = MOST_NODES; i < form->count; i++, nodes = MOST_NODES) {
        terms[i] = form->coefficients[i] && is_function_of(form->atoms[i], base, &nodes);
        count += terms[i];
    }
    if (count < 2)
        return rest;
    simplifier_bounds(x->known, base, &of.lo, &of.hi);
    if (of.lo < -MOST_COORDINATE || of.hi > MOST_COORDINATE || of.hi - of.lo >= MOST_VALUES || of.hi < of.lo ||
        !try_values(x, form, base, terms, of, &sum, &apart) || (sum.lo <= apart.lo && sum.hi >= apart.hi))
        return rest;
    const Expr *group = NULL;
    for (int i = 0; i < form->count; i++)
        if (terms[i]) {
            group                 = plus_term(x, group, form->atoms[i], form->coefficients[i]);
            form->coefficients[i] = 0;
        }
    group = sum.lo > apart.lo ? binary(x, EX_MAX, group, number(x, sum.lo)) : group;
    group = sum.hi < apart.hi ? binary(x, EX_MIN, group, number(x, sum.hi)) : group;
    return plus_term(x, rest, group, 1);
}

static const Expr *rewritten(Indices *x, const Expr *e, bool in_index);

static const Expr *rewrite_sum(Indices *x, const Expr *e)
{
    Linear      form;
    const Expr *groups = NULL, *sum = NULL;
    bool        changed = false;
    if (!expr_linear(&x->scratch, e, &form))
        return e;
    for (int i = 0; i < form.count; i++)
        changed |= form.coefficients[i] && take_multiple(x, &form, i);
    const Bases b = bases_of(&form);
    for (int i = 0; i < b.count; i++)
        groups = take_functions(x, &form, b.at[i], groups);
    if (!changed && !groups)
        return e;
    for (int i = 0; i < form.count; i++)
        if (form.coefficients[i])
            sum = plus_term(x, sum, rewritten(x, form.atoms[i], true), form.coefficients[i]);
    if (groups)
        sum = sum ? binary(x, EX_ADD, sum, groups) : groups;
    return plus_number(x, sum, form.constant);
}

/* Terms first, then what they are terms of. */
static const Expr *rewrite_node(Indices *x, const Expr *e, bool in_index)
{
    const bool   inside  = in_index || e->op == EX_CALL;
    const Expr **args    = ARENA_ARRAY(&x->scratch, const Expr *, e->count);
    bool         changed = false;
    if (in_index && map_get(&x->candidates, e)) {
        const Expr *sum = rewrite_sum(x, e);
        if (sum != e)
            return sum;
    }
    for (uint32_t i = 0; i < e->count; i++) {
        args[i] = rewritten(x, e->args[i], inside);
        changed |= args[i] != e->args[i];
    }
    return changed ? expr_rebuild(&x->p->exprs, e, args) : e;
}

static const Expr *rewritten(Indices *x, const Expr *e, bool in_index)
{
    const Expr *known = map_get(&x->done[in_index], e);
    if (!known) {
        known = rewrite_node(x, e, in_index);
        map_set(&x->done[in_index], e, known);
    }
    return known;
}

static void rewrite_all(Indices *x, const Expr **at, int count, bool in_index)
{
    for (int i = 0; i < count; i++)
        at[i] = rewritten(x, at[i], in_index);
}

static void rewrite_definition(Indices *x, Func *f, int update)
{
    x->known = knowing_variables(x, f, update);
    map_init(&x->done[0], &x->scratch);
    map_init(&x->done[1], &x->scratch);
    if (update < 0) {
        rewrite_all(x, f->values, f->component_count, false);
        return;
    }
    Update *u = &f->updates[update];
    for (int i = 0; i < u->rvar_count; i++) {
        rewrite_all(x, &u->rvars[i].lo, 1, false);
        rewrite_all(x, &u->rvars[i].hi, 1, false);
    }
    if (u->where)
        rewrite_all(x, &u->where, 1, false);
    rewrite_all(x, u->args, f->rank, true);
    rewrite_all(x, u->values, f->component_count, false);
}

void pipeline_tighten_indices(kn_pipeline *p)
{
    Indices x = { .p = p };
    scratch_begin(&x.scratch, p->cx);
    map_init(&x.candidates, &x.scratch);
    note_candidates(&x);
    if (x.candidates.count) {
        find_coordinates(&x);
        for (size_t i = 0; i < p->funcs.count; i++)
            for (int u = -1; u < p->funcs.at[i]->update_count && p->funcs.at[i]->kind == FUNC_DEFINED; u++)
                rewrite_definition(&x, p->funcs.at[i], u);
    }
    scratch_end(&x.scratch);
}
