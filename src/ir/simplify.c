/* SPDX-License-Identifier: MIT */
/* The simplifier's walk: scopes, the answers of each scope, and the steps that a node goes through. */
#include "ir/simplify_parts.h"

/* ---- Answers ---------------------------------------------------------------------------- */

/* Answers live as long as the scope they were made in, and those of the scopes around go on to hold: a new name changes
 * nothing about expressions that do not contain it. A new fact may say more about any of them, so it begins an epoch in
 * which all is asked again; but for intervals, if it narrows none. */
static void grow_answers(Simplifier *s)
{
    const size_t capacity = 2 * (size_t)s->pool->count + 256;
    Answer     **table    = ARENA_ARRAY(s->arena, Answer *, capacity);
    if (s->answer_capacity)
        memcpy(table, s->answers, s->answer_capacity * sizeof *table);
    s->answers         = table;
    s->answer_capacity = capacity;
}

static Answer *new_answer(Simplifier *s)
{
    Answer *a = s->unused;
    if (!a)
        return ARENA_NEW(s->arena, Answer);
    s->unused = a->before;
    *a        = (Answer){ 0 };
    return a;
}

Answer *answer_for(Simplifier *s, const Expr *e)
{
    if (e->id >= s->answer_capacity)
        grow_answers(s);
    Answer *a = s->answers[e->id];
    if (a && a->epoch == s->epoch)
        return a;
    a              = new_answer(s);
    a->epoch       = s->epoch;
    a->before      = s->answers[e->id];
    a->known_epoch = s->known_epoch;
    if (a->before && a->before->known_epoch == s->known_epoch)
        a->known = a->before->known;
    s->answers[e->id] = a;
    vec_push(s->arena, &s->logged, e->id);
    return a;
}

/* Forgets what was found out since there were `count`. */
static void drop_answers(Simplifier *s, size_t count)
{
    while (s->logged.count > count) {
        const uint32_t id = s->logged.at[--s->logged.count];
        Answer        *a  = s->answers[id];
        s->answers[id]    = a->before;
        a->before         = s->unused;
        s->unused         = a;
    }
}

/* ---- Scopes ----------------------------------------------------------------------------- */

Simplifier *simplifier_new(ExprPool *pool, Arena *arena)
{
    Simplifier *s = ARENA_NEW(arena, Simplifier);
    s->pool       = pool;
    s->arena      = arena;
    s->rules      = rules_read(arena, pool->cx);
    map_init(&s->bindings, arena);
    map_init(&s->narrowed, arena);
    return s;
}

void simplifier_ask(Simplifier *s, SimplifierRange *range, void *user)
{
    s->ask      = range;
    s->ask_user = user;
}

static void set_until_pop(Simplifier *s, Map *map, const void *key, const void *value)
{
    const Undo undo = { map, key, map_get(map, key) };
    vec_push(s->arena, &s->undos, undo);
    map_set(map, key, value);
}

static void open_scope(Simplifier *s)
{
    const Scope scope = { s->epoch, s->known_epoch, s->logged.count, s->facts.count, s->undos.count };
    vec_push(s->arena, &s->scopes, scope);
}

/* More is known now, also of what has been asked before. */
static void refresh(Simplifier *s)
{
    s->epoch = ++s->last_epoch;
}

/* Also of the values of atoms. */
static void refresh_known(Simplifier *s)
{
    refresh(s);
    s->known_epoch = s->epoch;
}

/* A name that was asked for before it was bound is no new one. */
static void bind_name(Simplifier *s, const char *name, kn_type type, Binding *b)
{
    const Expr *v = expr_var(s->pool, type, name);
    open_scope(s);
    if (v->id < s->answer_capacity && s->answers[v->id] &&
        (s->answers[v->id]->epoch == s->epoch || s->answers[v->id]->known_epoch == s->known_epoch))
        refresh_known(s);
    set_until_pop(s, &s->bindings, name, b);
}

void simplifier_pop(Simplifier *s)
{
    const Scope *scope = &s->scopes.at[--s->scopes.count];
    while (s->undos.count > scope->undos) {
        const Undo *u = &s->undos.at[--s->undos.count];
        map_set(u->map, u->key, u->value);
    }
    s->facts.count = scope->facts;
    s->epoch       = scope->epoch;
    s->known_epoch = scope->known_epoch;
    drop_answers(s, scope->answers);
}

static Binding *new_binding(Simplifier *s)
{
    Binding *b = ARENA_NEW(s->arena, Binding);
    b->level   = (int)s->scopes.count;
    return b;
}

void simplifier_push_let(Simplifier *s, const char *name, const Expr *value)
{
    Binding *b = new_binding(s);
    value      = simplify(s, value);
    b->known   = known_of(s, value);
    b->instead = value->op == EX_INT || value->op == EX_FLOAT || value->op == EX_VAR ? value : NULL;
    if (is_integer(value)) {
        b->min = b->max = value;
        b->low = b->high = form_of_end(s, value);
    }
    bind_name(s, name, (kn_type)value->type, b);
}

/* The one atom of a form that is >= 0 has an interval of its own. */
static void narrow_atom(Simplifier *s, const Form *f)
{
    if (f->count != 1)
        return;
    const Term    t   = f->terms[0];
    const Narrow *old = map_get(&s->narrowed, t.atom);
    Narrow       *n   = ARENA_NEW(s->arena, Narrow);
    *n                = old ? *old : (Narrow){ -WIDE_MOST, WIDE_MOST };
    if (t.k > 0)
        n->lo = wide_max(n->lo, -floor_div_wide(f->constant, t.k));
    else
        n->hi = wide_min(n->hi, floor_div_wide(f->constant, -(Wide)t.k));
    const Known known = known_of(s, t.atom);
    if (n->lo <= known.lo && n->hi >= known.hi)
        return;
    set_until_pop(s, &s->narrowed, t.atom, n);
    refresh_known(s);
}

static void add_form(Simplifier *s, Fact *fact)
{
    Form plain;
    fact->has_form = true;
    narrow_atom(s, &fact->form);
    form_copy(&plain, &fact->form);
    form_without_lets(s, &plain); /* x.max - x.min >= 31 may be extent >= 32 */
    if (fact->form.count > 1)
        narrow_atom(s, &plain);
    vec_push(s->arena, &s->facts, *fact);
}

void simplifier_push_range(Simplifier *s, const char *name, const Expr *min, const Expr *max)
{
    Binding *b    = new_binding(s);
    b->known      = known_of(s, expr_var(s->pool, KN_I32, name));
    b->min        = min ? simplify(s, min) : NULL;
    b->max        = max ? simplify(s, max) : NULL;
    b->low        = b->min ? form_of_end(s, b->min) : NULL;
    b->high       = b->max ? form_of_end(s, b->max) : NULL;
    const Wide lo = b->min ? known_of(s, b->min).lo : b->known.lo, hi = b->max ? known_of(s, b->max).hi : b->known.hi;
    if (lo <= hi && lo <= b->known.hi && hi >= b->known.lo) { /* else nothing is ever computed here */
        b->known.lo = wide_max(b->known.lo, lo);
        b->known.hi = wide_min(b->known.hi, hi);
    }
    bind_name(s, name, KN_I32, b);
    Fact some = { 0 }; /* a variable that has a value has a range: max - min >= 0 */
    if (b->min && b->max && form_add_exact(s, &some.form, b->max, 1) && form_add_exact(s, &some.form, b->min, -1) &&
        some.form.count)
        add_form(s, &some);
    refresh(s);
}

/* a == b as two facts: b - a >= 0 and a - b >= 0. */
static void add_equality(Simplifier *s, Fact *fact)
{
    for (int sign = -1; sign <= 1; sign += 2) {
        fact->form = (Form){ 0 };
        if (form_add_exact(s, &fact->form, fact->condition->args[0], sign) &&
            form_add_exact(s, &fact->form, fact->condition->args[1], -sign))
            add_form(s, fact);
    }
}

static void add_fact(Simplifier *s, const Expr *condition, bool value)
{
    if (condition->op == EX_BIT_NOT) {
        add_fact(s, condition->args[0], !value);
        return;
    }
    if (condition->op == (value ? EX_AND : EX_OR) || (condition->op == (value ? EX_BIT_AND : EX_BIT_OR))) {
        add_fact(s, condition->args[0], value);
        add_fact(s, condition->args[1], value);
        return;
    }
    Fact fact = { .condition = condition, .value = value };
    if (condition->op == (value ? EX_EQ : EX_NE) && is_integer(condition->args[0]))
        add_equality(s, &fact);
    else if (form_condition(s, condition, value, &fact.form))
        add_form(s, &fact);
    else
        vec_push(s->arena, &s->facts, fact);
}

void simplifier_push_fact(Simplifier *s, const Expr *condition)
{
    condition = simplify(s, condition);
    open_scope(s);
    if (condition->op != EX_INT)
        add_fact(s, condition, true);
    refresh(s);
}

/* ---- Steps ------------------------------------------------------------------------------ */

const Expr *make_int(Simplifier *s, kn_type type, Wide v)
{
    return expr_int(s->pool, type, (int64_t)(uint64_t)v);
}

const Expr *make_unary(Simplifier *s, ExprOp op, kn_type type, const Expr *a)
{
    return simplify_top(s, expr_unary(s->pool, op, type, a));
}

const Expr *make_binary(Simplifier *s, ExprOp op, kn_type type, const Expr *a, const Expr *b)
{
    return simplify_top(s, expr_binary(s->pool, op, type, a, b));
}

/* x >> c = x / 2^c for the types of indices; the products that << makes are sums. */
static const Expr *step_shift(Simplifier *s, const Expr *e)
{
    const kn_type type = (kn_type)e->type;
    const Expr   *by   = e->args[1];
    if ((type != KN_I32 && type != KN_I64) || by->op != EX_INT || by->u.i < 0 || by->u.i >= type_bits(type) - 1)
        return e;
    if (e->op == EX_SHL)
        return step_sum(s, e);
    return make_binary(s, EX_DIV, type, e->args[0], expr_int(s->pool, type, (int64_t)1 << by->u.i));
}

/* Floats: x * 1 and x / 1 are x, whatever x is. */
static const Expr *step_float(const Expr *e)
{
    if (e->op == EX_MUL || e->op == EX_DIV)
        for (int i = e->op == EX_DIV; i < 2; i++)
            if (e->args[i]->op == EX_FLOAT && e->args[i]->u.f == 1)
                return e->args[1 - i];
    return e;
}

typedef const Expr *Step(Simplifier *s, const Expr *e);

/* clang-format off */
static Step *const steps[EX_COUNT] = {
    [EX_ADD] = step_sum,     [EX_SUB] = step_sum,      [EX_NEG] = step_sum,       [EX_MUL] = step_product,
    [EX_SHL] = step_shift,
    [EX_SHR] = step_shift,   [EX_DIV] = step_divide,   [EX_MOD] = step_modulo,    [EX_MIN] = step_extreme,
    [EX_MAX] = step_extreme,
    [EX_LT] = step_compare,  [EX_LE] = step_compare,   [EX_EQ] = step_compare,    [EX_NE] = step_compare,
     [EX_AND] = step_logic,
    [EX_OR] = step_logic,    [EX_CAST] = step_cast,    [EX_SAT_CAST] = step_cast,
};
/* clang-format on */

static const Expr *step_variable(Simplifier *s, const Expr *e)
{
    const Binding *b = map_get(&s->bindings, e->u.name);
    return b && b->instead && b->instead->type == e->type ? b->instead : e;
}

/* A condition that a fact decides. */
static const Expr *step_fact(Simplifier *s, const Expr *e)
{
    for (size_t n = 0; n < s->facts.count && n < MOST_FACTS; n++) {
        const Fact *fact = &s->facts.at[s->facts.count - 1 - n];
        if (fact->condition == e)
            return expr_bool(s->pool, fact->value);
    }
    return e;
}

/* One rewrite of a node whose operands are simplified; the node itself if there is none left. */
static const Expr *rewrite_once(Simplifier *s, const Expr *e)
{
    const Expr *r = fold_constant(s->pool, e);
    if (r || e->op == EX_INT)
        return r ? r : e;
    if (e->op == EX_VAR && (r = step_variable(s, e)) != e)
        return r;
    if (type_is_float((kn_type)e->type) && e->op != EX_SELECT && e->op != EX_CAST)
        return step_float(e);
    if (is_integer(e) || e->type == KN_BOOL) {
        const Known k = known_of(s, e);
        if (known_constant(k) && e->op != EX_CALL && e->op != EX_LOAD && e->op != EX_EXTERN)
            return make_int(s, (kn_type)e->type, k.lo);
    }
    if (e->type == KN_BOOL && (r = step_fact(s, e)) != e)
        return r;
    if (steps[e->op] && (r = steps[e->op](s, e)) != e)
        return r;
    return rules_apply(s, e);
}

const Expr *simplify_top(Simplifier *s, const Expr *e)
{
    const Expr *known = answer_for(s, e)->result;
    if (known)
        return known;
    context_spend(s->pool->cx, 1);
    answer_for(s, e)->result =
        e; /* until there is a better one: who comes back here while it is sought does not start again */
    const Expr *r = e;
    for (int n = 0; n < MOST_STEPS; n++) {
        const Expr *next = rewrite_once(s, r);
        if (next == r)
            break;
        r     = next;
        known = answer_for(s, r)->result;
        if (known) {
            r = known;
            break;
        }
    }
    answer_for(s, r)->result = r;
    answer_for(s, e)->result = r;
    return r;
}

static const Expr *simplify_all(Simplifier *s, const Expr *e)
{
    const Expr *known = answer_for(s, e)->result;
    if (known)
        return known;
    const Expr *small[4], **args = e->count <= 4 ? small : ARENA_ARRAY(s->arena, const Expr *, e->count);
    bool        changed = false;
    for (uint32_t i = 0; i < e->count; i++) {
        args[i] = simplify_all(s, e->args[i]);
        changed |= args[i] != e->args[i];
    }
    const Expr *r            = simplify_top(s, changed ? expr_rebuild(s->pool, e, args) : e);
    answer_for(s, e)->result = r;
    return r;
}

/* A form put in order may be deeper than the sum it was made of. What gets too deep for the pool stays as it was. */
const Expr *simplify(Simplifier *s, const Expr *e)
{
    const bool was     = s->pool->too_deep;
    s->pool->too_deep  = false;
    const Expr *r      = simplify_all(s, e);
    const bool  failed = s->pool->too_deep;
    s->pool->too_deep  = was;
    if (!failed)
        return r;
    refresh_known(s);
    return e;
}

bool simplifier_proves(Simplifier *s, const Expr *condition)
{
    const Expr *e = simplify(s, condition);
    return e->op == EX_INT && e->u.i;
}
