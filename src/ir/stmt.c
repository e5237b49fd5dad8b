/* SPDX-License-Identifier: MIT */
/* Making, walking and rewriting statements. Walking and rewriting go through the table of fields. */
#include "ir/fields.h"

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

const Stmt *stmt_if_whole(Arena *a, const Expr *condition, const Stmt *yes, const Stmt *no)
{
    const Stmt *s = stmt_if(a, condition, yes, no);
    if (!s || s->kind != STMT_IF || s->branch.condition != condition)
        return s;
    Stmt c         = *s;
    c.branch.whole = true;
    return copy(a, &c);
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

static bool map_record(const StmtMap *m, const Record *r, char *at);

/* Maps the records that a field points to, in copies; it points to them if any changes. */
static bool map_records(const StmtMap *m, const Record *r, int count, char *field)
{
    char *copies = arena_alloc(m->arena, (size_t)count * r->size);
    bool  any    = false;
    memcpy(copies, field_pointer(field), (size_t)count * r->size);
    for (int i = 0; i < count; i++)
        any |= map_record(m, r, copies + (size_t)i * r->size);
    if (any)
        memcpy(field, &copies, sizeof copies);
    return any;
}

static bool map_one_expr(const StmtMap *m, const Expr **e)
{
    const Expr *old = *e;
    *e              = map_expr(m, old);
    return *e != old;
}

static bool map_list(const StmtMap *m, int count, const Expr ***list)
{
    const Expr **old = *list;
    *list            = map_exprs(m, count, old);
    return *list != old;
}

static bool map_one_stmt(const StmtMap *m, const Stmt **s)
{
    const Stmt *old = *s;
    *s              = map_stmt(m, old);
    return *s != old;
}

/* Sets what is new in a copy; has anything changed? */
static bool map_record(const StmtMap *m, const Record *r, char *at)
{
    bool any = false;
    for (int i = 0; i < r->count; i++) {
        const Field *f = &r->fields[i];
        char        *p = at + f->offset;
        switch (f->kind) {
        case FIELD_EXPR: any |= map_one_expr(m, (const Expr **)p); break;
        case FIELD_EXPRS: any |= map_list(m, *(const int *)(at + f->count), (const Expr ***)p); break;
        case FIELD_BODY:
        case FIELD_ELSE: any |= map_one_stmt(m, (const Stmt **)p); break;
        case FIELD_OPERAND: any |= map_record(m, field_record(f->kind), p); break;
        case FIELD_STAGE: any |= map_records(m, field_record(f->kind), 1, p); break;
        case FIELD_OPERANDS:
        case FIELD_PLACES: any |= map_records(m, field_record(f->kind), *(const int *)(at + f->count), p); break;
        default: break;
        }
    }
    return any;
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

/* Does the statement lack what it does? */
static bool lacks_body(const Stmt *s)
{
    const Record *r = &stmt_records[s->kind];
    for (int i = 0; i < r->count; i++)
        if (r->fields[i].kind == FIELD_BODY && !*(const Stmt *const *)((const char *)s + r->fields[i].offset))
            return true;
    return false;
}

const Stmt *stmt_map(const StmtMap *m, const Stmt *s)
{
    if (s->kind == STMT_BLOCK)
        return map_block(m, s);
    Stmt c = *s;
    if (!map_record(m, &stmt_records[s->kind], (char *)&c))
        return s;
    if (s->kind == STMT_IF && (c.branch.condition != s->branch.condition || !c.branch.yes))
        return (s->branch.whole ? stmt_if_whole : stmt_if)(m->arena, c.branch.condition, c.branch.yes, c.branch.no);
    return lacks_body(&c) ? NULL : copy(m->arena, &c);
}

/* ---- Walking ------------------------------------------------------------------------------ */

typedef struct Children {
    void (*expr)(void *user, const Expr *e);
    void (*stmt)(void *user, const Stmt *s);
    void *user;
} Children;

static void each_expr(const Children *c, int count, const Expr *const *list)
{
    for (int i = 0; c->expr && list && i < count; i++)
        if (list[i])
            c->expr(c->user, list[i]);
}

static void each_stmt(const Children *c, int count, const Stmt *const *list)
{
    for (int i = 0; c->stmt && i < count; i++)
        if (list[i])
            c->stmt(c->user, list[i]);
}

static void walk_record(const Children *c, const Record *r, const char *at)
{
    for (int i = 0; i < r->count; i++) {
        const Field  *f     = &r->fields[i];
        const char   *p     = at + f->offset;
        const int    *n     = (const int *)(at + f->count); /* of a list */
        const Record *inner = field_record(f->kind);
        switch (f->kind) {
        case FIELD_EXPR: each_expr(c, 1, (const Expr *const *)p); break;
        case FIELD_EXPRS: each_expr(c, *n, *(const Expr *const *const *)p); break;
        case FIELD_BODY:
        case FIELD_ELSE: each_stmt(c, 1, (const Stmt *const *)p); break;
        case FIELD_STMTS: each_stmt(c, *n, *(const Stmt *const *const *)p); break;
        case FIELD_OPERAND: walk_record(c, inner, p); break;
        case FIELD_STAGE: walk_record(c, inner, field_pointer(p)); break;
        case FIELD_OPERANDS:
        case FIELD_PLACES:
            for (int k = 0; k < *n; k++)
                walk_record(c, inner, field_pointer(p) + (size_t)k * inner->size);
            break;
        default: break;
        }
    }
}

void stmt_children(const Stmt *s, void (*expr)(void *user, const Expr *e), void (*stmt)(void *user, const Stmt *s),
                   void       *user)
{
    const Children c = { expr, stmt, user };
    walk_record(&c, &stmt_records[s->kind], (const char *)s);
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
