/* SPDX-License-Identifier: MIT */
/* Making expressions: one node per distinct expression of a pool. */
#include "ir/expr.h"

const ExprOpInfo expr_op_table[EX_COUNT] = {
#define X(name, text, arity, holds, binding, type) { #name, text, arity, HOLDS_##holds, binding, TYPE_##type },
    EXPR_OPS(X)
#undef X
};

void expr_pool_init(ExprPool *pool, kn_context *cx, Arena *arena)
{
    *pool = (ExprPool){ .cx = cx, .arena = arena };
}

static uint32_t mix(uint32_t h, uint64_t v)
{
    h = (h ^ (uint32_t)v) * 0x9E3779B1u;
    h = (h ^ (uint32_t)(v >> 32)) * 0x85EBCA77u;
    return h ^ h >> 15;
}

/* What a node holds, as a number: what distinguishes two nodes beyond operator, type and operands. */
static uint64_t payload(const Expr *e)
{
    uint64_t bits;
    switch (expr_op_table[e->op].holds) {
    case HOLDS_INTEGER: return (uint64_t)e->u.i;
    case HOLDS_NUMBER: memcpy(&bits, &e->u.f, sizeof bits); return bits;
    case HOLDS_NAME: return (uintptr_t)e->u.name;
    case HOLDS_PARAM: return (uintptr_t)e->u.param;
    case HOLDS_BUFFER: return (uintptr_t)e->u.buffer;
    case HOLDS_CALL: return (uintptr_t)e->u.call.func * 31 + e->u.call.index;
    case HOLDS_NOTHING: break;
    }
    return 0;
}

static bool same(const Expr *a, const Expr *b, const Expr *const *args)
{
    if (a->hash != b->hash || a->op != b->op || a->type != b->type || a->strict != b->strict || a->count != b->count ||
        payload(a) != payload(b))
        return false;
    if (expr_op_table[a->op].holds == HOLDS_CALL &&
        (a->u.call.func != b->u.call.func || a->u.call.index != b->u.call.index))
        return false;
    for (uint32_t i = 0; i < a->count; i++)
        if (a->args[i] != args[i])
            return false;
    return true;
}

static void grow(ExprPool *pool)
{
    const Expr **old = pool->table;
    const size_t had = pool->capacity, capacity = had ? had * 2 : 1024;
    pool->table    = ARENA_ARRAY(pool->arena, const Expr *, capacity);
    pool->capacity = capacity; /* only now: the allocation may bail out, and the pool lives on */
    for (size_t k = 0; k < had; k++)
        if (old[k]) {
            size_t i = old[k]->hash & (pool->capacity - 1);
            while (pool->table[i])
                i = (i + 1) & (pool->capacity - 1);
            pool->table[i] = old[k];
        }
}

/* The one node like `key` (without operands) with these operands. */
static const Expr *make(ExprPool *pool, const Expr *like, uint32_t count, const Expr *const *args)
{
    Expr     key   = *like;
    uint32_t depth = 0;
    for (uint32_t i = 0; i < count; i++)
        depth = args[i]->depth > depth ? args[i]->depth : depth;
    if (depth + 1 > EXPR_MAX_DEPTH) {
        pool->too_deep = true;
        return key.type == args[0]->type ? args[0]
               : type_is_float(key.type) ? expr_float(pool, key.type, 0)
                                         : expr_int(pool, key.type, 0);
    }
    context_spend(pool->cx, 1);
    key.depth = (uint16_t)(depth + 1);
    key.count = count;
    key.hash  = mix(mix(key.op * 64u + key.type, payload(&key)), key.strict);
    for (uint32_t i = 0; i < count; i++)
        key.hash = mix(key.hash, args[i]->id);

    if (2 * ((size_t)pool->count + 1) > pool->capacity)
        grow(pool);
    size_t at = key.hash & (pool->capacity - 1);
    while (pool->table[at]) {
        if (same(pool->table[at], &key, args))
            return pool->table[at];
        at = (at + 1) & (pool->capacity - 1);
    }
    Expr *e = arena_alloc(pool->arena, sizeof *e + count * sizeof *args);
    *e      = key;
    e->id   = pool->count++;
    if (count)
        memcpy(e->args, args, count * sizeof *args);
    pool->table[at] = e;
    return e;
}

/* A key for `make`: operator and type, strict where the pool says so and it makes a difference. */
#define NODE(pool, op_, type_)                                                                                         \
    ((Expr){ .op     = (uint8_t)(op_),                                                                                 \
             .type   = (uint8_t)(type_),                                                                               \
             .strict = (pool)->strict && type_is_float(type_) && (op_) > EX_EXTERN })

const Expr *expr_int(ExprPool *pool, kn_type type, int64_t v)
{
    Expr key = NODE(pool, EX_INT, type);
    key.u.i  = type == KN_BOOL ? v != 0 : type_wrap(type, v);
    return make(pool, &key, 0, NULL);
}

const Expr *expr_float(ExprPool *pool, kn_type type, double v)
{
    Expr key = NODE(pool, EX_FLOAT, type);
    key.u.f  = type_round(type, v);
    return make(pool, &key, 0, NULL);
}

const Expr *expr_bool(ExprPool *pool, bool v)
{
    return expr_int(pool, KN_BOOL, v);
}

const Expr *expr_var(ExprPool *pool, kn_type type, const char *interned)
{
    Expr key   = NODE(pool, EX_VAR, type);
    key.u.name = interned;
    return make(pool, &key, 0, NULL);
}

/* Param is known by pointer; its type is the node's. */
const Expr *expr_param(ExprPool *pool, kn_type type, const Param *param)
{
    Expr key    = NODE(pool, EX_PARAM, type);
    key.u.param = param;
    return make(pool, &key, 0, NULL);
}

const Expr *expr_dim(ExprPool *pool, ExprOp op, const Func *input, int dim)
{
    Expr key         = NODE(pool, op, KN_I32);
    key.u.call.func  = input;
    key.u.call.index = (uint32_t)dim;
    return make(pool, &key, 0, NULL);
}

const Expr *expr_call(ExprPool *pool, const Func *f, int component, kn_type type, int count, const Expr *const *args)
{
    Expr key         = NODE(pool, EX_CALL, type);
    key.u.call.func  = f;
    key.u.call.index = (uint32_t)component;
    return make(pool, &key, (uint32_t)count, args);
}

const Expr *expr_extern(ExprPool *pool, const char *interned, kn_type type, int count, const Expr *const *args)
{
    Expr key   = NODE(pool, EX_EXTERN, type);
    key.u.name = interned;
    return make(pool, &key, (uint32_t)count, args);
}

const Expr *expr_load(ExprPool *pool, const Buffer *buffer, kn_type type, const Expr *index)
{
    Expr key     = NODE(pool, EX_LOAD, type);
    key.u.buffer = buffer;
    return make(pool, &key, 1, &index);
}

const Expr *expr_unary(ExprPool *pool, ExprOp op, kn_type type, const Expr *a)
{
    const Expr key = NODE(pool, op, type);
    return make(pool, &key, 1, &a);
}

const Expr *expr_binary(ExprPool *pool, ExprOp op, kn_type type, const Expr *a, const Expr *b)
{
    const Expr key = NODE(pool, op, type);
    return make(pool, &key, 2, (const Expr *[]){ a, b });
}

const Expr *expr_ternary(ExprPool *pool, ExprOp op, kn_type type, const Expr *a, const Expr *b, const Expr *c)
{
    const Expr key = NODE(pool, op, type);
    return make(pool, &key, 3, (const Expr *[]){ a, b, c });
}

const Expr *expr_rebuild(ExprPool *pool, const Expr *like, const Expr *const *args)
{
    return make(pool, like, like->count, args);
}

/* The constant bound that a min or max gives to its first operand, which so is no NaN afterwards; NULL if it is
 * something else. */
static const Expr *bound_of(const Expr *e, ExprOp op)
{
    return e->op == op && e->args[1]->op == EX_FLOAT ? e->args[1] : NULL;
}

bool expr_clamped_within(const Expr *e, kn_type to)
{
    while (e->op == EX_FLOOR || e->op == EX_CEIL || e->op == EX_ROUND || e->op == EX_TRUNC)
        e = e->args[0];
    const Expr *high = bound_of(e, EX_MIN), *low = high ? bound_of(e->args[0], EX_MAX) : NULL;
    if (!high) {
        low  = bound_of(e, EX_MAX);
        high = low ? bound_of(e->args[0], EX_MIN) : NULL;
    }
    return low && high && type_bits(to) <= 32 && low->u.f >= (double)type_min(to) && high->u.f <= (double)type_max(to);
}

bool expr_is_int(const Expr *e, int64_t *v)
{
    if (e->op != EX_INT)
        return false;
    *v = e->u.i;
    return true;
}

/* ---- Walks ------------------------------------------------------------------------------ */

typedef struct Walk {
    kn_context *cx;
    Map         seen;
    void (*visit)(const Expr *e, void *user);
    void *user;
} Walk;

static void walk(Walk *w, const Expr *e)
{
    if (map_get(&w->seen, e))
        return;
    map_set(&w->seen, e, w);
    context_spend(w->cx, 1);
    for (uint32_t i = 0; i < e->count; i++)
        walk(w, e->args[i]);
    w->visit(e, w->user);
}

void expr_visit(ExprPool *pool, const Expr *e, void (*visit)(const Expr *e, void *user), void *user)
{
    if (!e->count) {
        visit(e, user);
        return;
    }
    Arena scratch;
    scratch_begin(&scratch, pool->cx);
    Walk w = { .cx = pool->cx, .visit = visit, .user = user };
    map_init(&w.seen, &scratch);
    walk(&w, e);
    scratch_end(&scratch);
}

typedef struct Search {
    const Func *func;
    bool        found;
} Search;

static void search_call(const Expr *e, void *user)
{
    Search *s = user;
    s->found |= e->op == EX_CALL && (!s->func || e->u.call.func == s->func);
}

bool expr_reads(ExprPool *pool, const Expr *e, const Func *f)
{
    Search s = { f, false };
    expr_visit(pool, e, search_call, &s);
    return s.found;
}

bool expr_is_call_at(const Expr *e, const Func *f, const Expr *const *args)
{
    bool same = e->op == EX_CALL && e->u.call.func == f;
    for (uint32_t d = 0; same && d < e->count; d++)
        same = e->args[d] == args[d];
    return same;
}

static void note_read(const Expr *e, void *reads)
{
    *(bool *)reads |= e->op == EX_CALL || e->op == EX_LOAD || e->op == EX_EXTERN;
}

bool expr_reads_any(ExprPool *pool, const Expr *e)
{
    bool reads = false;
    expr_visit(pool, e, note_read, &reads);
    return reads;
}

typedef struct VariableSearch {
    const char *name;
    bool        found;
} VariableSearch;

static void note_variable(const Expr *e, void *user)
{
    VariableSearch *s = user;
    s->found |= e->op == EX_VAR && e->u.name == s->name;
}

bool expr_has_variable(ExprPool *pool, const Expr *e, const char *interned)
{
    VariableSearch s = { interned, false };
    expr_visit(pool, e, note_variable, &s);
    return s.found;
}

typedef struct Substitution {
    ExprPool          *pool;
    int                count;
    const char *const *names;
    const Expr *const *values;
    Map                done;
    Arena              scratch;
} Substitution;

static const Expr *substitute(Substitution *s, const Expr *e)
{
    const Expr *known = map_get(&s->done, e);
    if (known)
        return known;
    const Expr *result = e;
    if (e->op == EX_VAR) {
        for (int i = 0; i < s->count; i++)
            if (s->names[i] == e->u.name)
                result = s->values[i];
    } else if (e->count) {
        const Expr **args    = ARENA_ARRAY(&s->scratch, const Expr *, e->count);
        bool         changed = false;
        for (uint32_t i = 0; i < e->count; i++) {
            args[i] = substitute(s, e->args[i]);
            changed |= args[i] != e->args[i];
        }
        if (changed)
            result = make(s->pool, e, e->count, args);
    }
    map_set(&s->done, e, result);
    return result;
}

const Expr *expr_substitute(ExprPool *pool, const Expr *e, int count, const char *const *names,
                            const Expr *const *values)
{
    Substitution s = { .pool = pool, .count = count, .names = names, .values = values };
    scratch_begin(&s.scratch, pool->cx);
    map_init(&s.done, &s.scratch);
    const Expr *result = substitute(&s, e);
    scratch_end(&s.scratch);
    return result;
}

typedef struct Rewrite {
    ExprPool *pool;
    const Expr *(*change)(void *user, const Expr *e);
    void *user;
    Map   done;
    Arena scratch;
} Rewrite;

static const Expr *rewrite(Rewrite *r, const Expr *e)
{
    const Expr *result = map_get(&r->done, e);
    if (result)
        return result;
    const Expr **args    = e->count ? ARENA_ARRAY(&r->scratch, const Expr *, e->count) : NULL;
    bool         changed = false;
    for (uint32_t i = 0; i < e->count; i++) {
        args[i] = rewrite(r, e->args[i]);
        changed |= args[i] != e->args[i];
    }
    result = r->change(r->user, changed ? make(r->pool, e, e->count, args) : e);
    map_set(&r->done, e, result);
    return result;
}

const Expr *expr_rewrite(ExprPool *pool, const Expr *e, const Expr *(*change)(void *user, const Expr *e), void *user)
{
    Rewrite r = { .pool = pool, .change = change, .user = user };
    scratch_begin(&r.scratch, pool->cx);
    map_init(&r.done, &r.scratch);
    const Expr *result = rewrite(&r, e);
    scratch_end(&r.scratch);
    return result;
}
