/* Making, walking and rewriting statements. */
#include "ir/stmt.h"

const char *const loop_kind_names[] = { "for", "parallel", "vector", "unroll" };

static Stmt *make(Arena *a, StmtKind kind)
{
    Stmt *s = ARENA_NEW(a, Stmt);
    s->kind = kind;
    return s;
}

static const Stmt *copy(Arena *a, const Stmt *s)
{
    Stmt *c = ARENA_NEW(a, Stmt);
    *c      = *s;
    return c;
}

const Stmt *stmt_let(Arena *a, const char *name, const Expr *value, const Stmt *body)
{
    if (!body)
        return NULL;
    Stmt *s      = make(a, STMT_LET);
    s->let.name  = name;
    s->let.value = value;
    s->let.body  = body;
    return s;
}

const Stmt *stmt_for(Arena *a, const char *name, LoopKind kind, const Expr *min, const Expr *extent, const Stmt *body)
{
    if (!body)
        return NULL;
    Stmt *s        = make(a, STMT_FOR);
    s->loop.name   = name;
    s->loop.kind   = kind;
    s->loop.min    = min;
    s->loop.extent = extent;
    s->loop.body   = body;
    return s;
}

static int count_items(int count, const Stmt *const *items)
{
    int n = 0;
    for (int i = 0; i < count; i++)
        n += !items[i] ? 0 : items[i]->kind == STMT_BLOCK ? items[i]->block.count : 1;
    return n;
}

const Stmt *stmt_block(Arena *a, int count, const Stmt *const *items)
{
    const int n = count_items(count, items);
    if (!n)
        return NULL;
    Stmt *s        = make(a, STMT_BLOCK);
    s->block.items = ARENA_ARRAY(a, const Stmt *, (size_t)n);
    for (int i = 0; i < count; i++) {
        if (!items[i])
            continue;
        if (items[i]->kind == STMT_BLOCK) {
            memcpy(&s->block.items[s->block.count], items[i]->block.items,
                   (size_t)items[i]->block.count * sizeof *items);
            s->block.count += items[i]->block.count;
        } else {
            s->block.items[s->block.count++] = items[i];
        }
    }
    return n == 1 ? s->block.items[0] : s;
}

const Stmt *stmt_pair(Arena *a, const Stmt *first, const Stmt *second)
{
    return stmt_block(a, 2, (const Stmt *[]){ first, second });
}

const Stmt *stmt_if(Arena *a, const Expr *condition, const Stmt *yes, const Stmt *no)
{
    int64_t v;
    if (expr_is_int(condition, &v))
        return v ? yes : no;
    if (!yes && !no)
        return NULL;
    Stmt *s = make(a, STMT_IF);
    if (!yes) {
        Stmt *nothing = make(a, STMT_BLOCK);
        yes           = nothing;
    }
    s->branch.condition = condition;
    s->branch.yes       = yes;
    s->branch.no        = no;
    return s;
}

const Stmt *stmt_produce(Arena *a, const char *func, int update, const Stmt *body)
{
    return body ? copy(a, &(Stmt){ .kind = STMT_PRODUCE, .produce = { func, update, body } }) : NULL;
}

const Stmt *stmt_store(Arena *a, const Buffer *buffer, const Expr *index, const Expr *value)
{
    Stmt *s          = make(a, STMT_STORE);
    s->store.count   = 1;
    s->store.places  = ARENA_NEW(a, Place);
    *s->store.places = (Place){ buffer, index, value };
    return s;
}

/* ---- Rewriting -------------------------------------------------------------------------- */

static const Expr *map_expr(const StmtMap *m, const Expr *e)
{
    return e && m->expr ? m->expr(m->user, e) : e;
}

static const Stmt *map_stmt(const StmtMap *m, const Stmt *s)
{
    return s && m->stmt ? m->stmt(m->user, s) : s;
}

/* A list of expressions; the old one if none changes. */
static const Expr **map_exprs(const StmtMap *m, int count, const Expr **list)
{
    const Expr **result = list;
    for (int i = 0; list && i < count; i++) {
        const Expr *e = map_expr(m, list[i]);
        if (e != list[i] && result == list) {
            result = ARENA_ARRAY(m->arena, const Expr *, (size_t)count);
            memcpy(result, list, (size_t)count * sizeof *list);
        }
        result[i] = e;
    }
    return result;
}

static const Stmt *map_block(const StmtMap *m, const Stmt *s)
{
    bool         changed = false;
    const Stmt **items   = ARENA_ARRAY(m->arena, const Stmt *, (size_t)s->block.count);
    for (int i = 0; i < s->block.count; i++) {
        items[i] = map_stmt(m, s->block.items[i]);
        changed |= items[i] != s->block.items[i];
    }
    return changed ? stmt_block(m->arena, s->block.count, items) : s;
}

static const Stmt *map_store(const StmtMap *m, const Stmt *s)
{
    Stmt c         = *s;
    c.store.places = ARENA_ARRAY(m->arena, Place, (size_t)s->store.count);
    bool changed   = false;
    for (int i = 0; i < s->store.count; i++) {
        const Place *p    = &s->store.places[i];
        c.store.places[i] = (Place){ p->buffer, map_expr(m, p->index), map_expr(m, p->value) };
        changed |= c.store.places[i].index != p->index || c.store.places[i].value != p->value;
    }
    return changed ? copy(m->arena, &c) : s;
}

static void map_operand(const StmtMap *m, StageOperand *o)
{
    o->value  = map_expr(m, o->value);
    o->min    = map_exprs(m, o->rank, o->min);
    o->extent = map_exprs(m, o->rank, o->extent);
    o->stride = map_exprs(m, o->rank, o->stride);
}

static const Stmt *map_stage(const StmtMap *m, const Stmt *s)
{
    Stmt       c    = *s;
    StageCall *call = ARENA_NEW(m->arena, StageCall);
    *call           = *s->stage;
    map_operand(m, &call->output);
    call->box_min    = map_exprs(m, call->output.rank, call->box_min);
    call->box_extent = map_exprs(m, call->output.rank, call->box_extent);
    call->operands   = ARENA_ARRAY(m->arena, StageOperand, (size_t)call->count);
    for (int i = 0; i < call->count; i++) {
        call->operands[i] = s->stage->operands[i];
        map_operand(m, &call->operands[i]);
    }
    c.stage = call;
    return copy(m->arena, &c);
}

const Stmt *stmt_map(const StmtMap *m, const Stmt *s)
{
    Stmt c = *s;
    switch (s->kind) {
    case STMT_LET:
        c.let.value = map_expr(m, s->let.value);
        c.let.body  = map_stmt(m, s->let.body);
        if (!c.let.body)
            return NULL;
        break;
    case STMT_FOR:
        c.loop.min    = map_expr(m, s->loop.min);
        c.loop.extent = map_expr(m, s->loop.extent);
        c.loop.body   = map_stmt(m, s->loop.body);
        if (!c.loop.body)
            return NULL;
        break;
    case STMT_BLOCK: return map_block(m, s);
    case STMT_IF:
        c.branch.condition = map_expr(m, s->branch.condition);
        c.branch.yes       = map_stmt(m, s->branch.yes);
        c.branch.no        = map_stmt(m, s->branch.no);
        if (c.branch.condition != s->branch.condition || !c.branch.yes)
            return stmt_if(m->arena, c.branch.condition, c.branch.yes, c.branch.no);
        break;
    case STMT_PRODUCE:
        c.produce.body = map_stmt(m, s->produce.body);
        if (!c.produce.body)
            return NULL;
        break;
    case STMT_PROVIDE:
        c.provide.args   = map_exprs(m, s->provide.rank, s->provide.args);
        c.provide.values = map_exprs(m, s->provide.count, s->provide.values);
        break;
    case STMT_REALIZE:
        c.realize.min    = map_exprs(m, s->realize.rank, s->realize.min);
        c.realize.extent = map_exprs(m, s->realize.rank, s->realize.extent);
        c.realize.body   = map_stmt(m, s->realize.body);
        if (!c.realize.body)
            return NULL;
        break;
    case STMT_STORE: return map_store(m, s);
    case STMT_ALLOC:
        c.alloc.count = map_expr(m, s->alloc.count);
        c.alloc.body  = map_stmt(m, s->alloc.body);
        if (!c.alloc.body)
            return NULL;
        break;
    case STMT_NEED:
        c.need.min = map_expr(m, s->need.min);
        c.need.max = map_expr(m, s->need.max);
        break;
    case STMT_CHECK: c.check.condition = map_expr(m, s->check.condition); break;
    case STMT_STAGE: return map_stage(m, s);
    case STMT_PREFETCH:
        c.prefetch.args  = map_exprs(m, s->prefetch.rank, s->prefetch.args);
        c.prefetch.index = map_expr(m, s->prefetch.index);
        break;
    }
    return memcmp(&c, s, sizeof c) ? copy(m->arena, &c) : s;
}

/* ---- Walking: a map that changes nothing -------------------------------------------------- */

typedef struct Children {
    void (*expr)(void *user, const Expr *e);
    void (*stmt)(void *user, const Stmt *s);
    void *user;
} Children;

static void each(const Children *c, int count, const Expr *const *list)
{
    for (int i = 0; c->expr && list && i < count; i++)
        if (list[i])
            c->expr(c->user, list[i]);
}

static void one(const Children *c, const Expr *e)
{
    each(c, 1, &e);
}

static void sub(const Children *c, const Stmt *s)
{
    if (c->stmt && s)
        c->stmt(c->user, s);
}

static void operand(const Children *c, const StageOperand *o)
{
    one(c, o->value);
    each(c, o->rank, o->min);
    each(c, o->rank, o->extent);
    each(c, o->rank, o->stride);
}

static void stage_children(const Children *c, const StageCall *call)
{
    operand(c, &call->output);
    each(c, call->output.rank, call->box_min);
    each(c, call->output.rank, call->box_extent);
    for (int i = 0; i < call->count; i++)
        operand(c, &call->operands[i]);
}

void stmt_children(const Stmt *s, void (*expr)(void *user, const Expr *e), void (*stmt)(void *user, const Stmt *s),
                   void       *user)
{
    const Children c = { expr, stmt, user };
    switch (s->kind) {
    case STMT_LET:
        one(&c, s->let.value);
        sub(&c, s->let.body);
        break;
    case STMT_FOR:
        one(&c, s->loop.min);
        one(&c, s->loop.extent);
        sub(&c, s->loop.body);
        break;
    case STMT_BLOCK:
        for (int i = 0; i < s->block.count; i++)
            sub(&c, s->block.items[i]);
        break;
    case STMT_IF:
        one(&c, s->branch.condition);
        sub(&c, s->branch.yes);
        sub(&c, s->branch.no);
        break;
    case STMT_PRODUCE: sub(&c, s->produce.body); break;
    case STMT_PROVIDE:
        each(&c, s->provide.rank, s->provide.args);
        each(&c, s->provide.count, s->provide.values);
        break;
    case STMT_REALIZE:
        each(&c, s->realize.rank, s->realize.min);
        each(&c, s->realize.rank, s->realize.extent);
        sub(&c, s->realize.body);
        break;
    case STMT_STORE:
        for (int i = 0; i < s->store.count; i++) {
            one(&c, s->store.places[i].index);
            one(&c, s->store.places[i].value);
        }
        break;
    case STMT_ALLOC:
        one(&c, s->alloc.count);
        sub(&c, s->alloc.body);
        break;
    case STMT_NEED:
        one(&c, s->need.min);
        one(&c, s->need.max);
        break;
    case STMT_CHECK: one(&c, s->check.condition); break;
    case STMT_STAGE: stage_children(&c, s->stage); break;
    case STMT_PREFETCH:
        each(&c, s->prefetch.rank, s->prefetch.args);
        one(&c, s->prefetch.index);
        break;
    }
}

typedef struct Substitution {
    StmtMap            map;
    ExprPool          *pool;
    int                count;
    const char *const *names;
    const Expr *const *values;
} Substitution;

static const Expr *substitute_expr(void *user, const Expr *e)
{
    const Substitution *s = user;
    return expr_substitute(s->pool, e, s->count, s->names, s->values);
}

static const Stmt *substitute_stmt(void *user, const Stmt *s)
{
    return stmt_map(&((Substitution *)user)->map, s);
}

const Stmt *stmt_substitute(ExprPool *pool, Arena *a, const Stmt *s, int count, const char *const *names,
                            const Expr *const *values)
{
    Substitution sub_ = { { a, substitute_stmt, substitute_expr, NULL }, pool, count, names, values };
    sub_.map.user     = &sub_;
    return stmt_map(&sub_.map, s);
}
