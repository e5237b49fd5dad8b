/* SPDX-License-Identifier: MIT */
/* What the passes share: see pass_tools.h. */
#include "lower/passes/pass_tools.h"

/* ---- Size ------------------------------------------------------------------------------- */

typedef struct SizeCount {
    ExprPool *pool;
    int64_t   count, most;
} SizeCount;

static void size_node(const Expr *e, void *user)
{
    (void)e;
    ((SizeCount *)user)->count++;
}

static void size_expr(void *user, const Expr *e)
{
    SizeCount *z = user;
    if (z->count < z->most)
        expr_visit(z->pool, e, size_node, z);
}

static void size_stmt(void *user, const Stmt *s)
{
    SizeCount *z = user;
    z->count++;
    if (z->count < z->most)
        stmt_children(s, size_expr, size_stmt, z);
}

int64_t stmt_size(ExprPool *pool, const Stmt *s, int64_t most)
{
    SizeCount z = { pool, 0, most };
    size_stmt(&z, s);
    return z.count < most ? z.count : most;
}

/* ---- Dependence --------------------------------------------------------------------------- */

static const char yes[] = "yes", no[] = "no";

void varying_init(Varying *v, ExprPool *pool, Arena *arena, const char *variable)
{
    *v = (Varying){ .pool = pool, .arena = arena };
    map_init(&v->names, arena);
    map_init(&v->known, arena);
    if (variable)
        map_set(&v->names, variable, yes);
}

bool varying_expr(Varying *v, const Expr *e)
{
    if (e->op == EX_VAR)
        return map_get(&v->names, e->u.name) == yes;
    if (!e->count)
        return e->op == EX_EXTERN && v->reads;
    const char *known = map_get(&v->known, e);
    if (known)
        return known == yes;
    bool varies =
        e->op == EX_LOAD ? v->reads || map_get(&v->names, e->u.buffer) == yes : e->op == EX_EXTERN && v->reads;
    for (uint32_t i = 0; i < e->count && !varies; i++)
        varies = varying_expr(v, e->args[i]);
    map_set(&v->known, e, (varies ? yes : no));
    return varies;
}

void varying_bind(Varying *v, const char *name, bool varies)
{
    const char *before = map_get(&v->names, name), *now = varies ? yes : no;
    if (before && before != now)
        map_init(&v->known,
                 v->arena); /* a sibling bound it to a value of the other kind: answers found there do not hold here */
    map_set(&v->names, name, now);
}

void varying_buffer(Varying *v, const Buffer *buffer)
{
    map_init(&v->known, v->arena);
    map_set(&v->names, buffer, yes);
}

/* ---- Sums ----------------------------------------------------------------------------------- */

typedef struct SumWalk {
    Lower      *lw;
    const char *name;         /* NULL: any */
    bool        named, other; /* the name occurs in it; it is no sum of variables and constants */
} SumWalk;

static void find_terms(const Expr *e, void *user)
{
    SumWalk *sum = user;
    sum->named |= e->op == EX_VAR && (!sum->name || e->u.name == sum->name);
    sum->other |= e->op != EX_VAR && e->op != EX_INT && e->op != EX_ADD && e->op != EX_SUB && e->op != EX_MUL;
}

static const Stmt *without_sums(void *user, const Stmt *s)
{
    SumWalk      *w = user;
    const StmtMap m = { w->lw->arena, without_sums, NULL, w };
    if (s->kind != STMT_LET)
        return stmt_map(&m, s);
    SumWalk sum = { .name = w->name };
    expr_visit(w->lw->exprs, s->let.value, find_terms, &sum);
    if (!sum.named || sum.other || type_is_float((kn_type)s->let.value->type))
        return stmt_map(&m, s);
    return without_sums(w, stmt_substitute(w->lw->exprs, w->lw->arena, s->let.body, 1, &s->let.name, &s->let.value));
}

const Stmt *stmt_without_sums(Lower *lw, const Stmt *s, const char *name)
{
    SumWalk w = { .lw = lw, .name = name };
    return without_sums(&w, s);
}

/* ---- Making --------------------------------------------------------------------------------- */

const Stmt *loop_as(Arena *a, const Stmt *loop, LoopKind kind)
{
    return stmt_for(a, loop->loop.name, kind, loop->loop.min, loop->loop.extent, loop->loop.body);
}

const Expr *index_add(ExprPool *pool, const Expr *a, const Expr *b)
{
    int64_t       x = 0, y = 0;
    const bool    has_x = expr_is_int(a, &x), has_y = expr_is_int(b, &y);
    const kn_type type = (kn_type)a->type;
    if (has_x && has_y)
        return expr_int(pool, type, (int64_t)((uint64_t)x + (uint64_t)y));
    return has_x && !x ? b : has_y && !y ? a : expr_binary(pool, EX_ADD, type, a, b);
}

const Expr *index_sub(ExprPool *pool, const Expr *a, const Expr *b)
{
    int64_t       x = 0, y = 0;
    const bool    has_x = expr_is_int(a, &x), has_y = expr_is_int(b, &y);
    const kn_type type = (kn_type)a->type;
    if (has_x && has_y)
        return expr_int(pool, type, (int64_t)((uint64_t)x - (uint64_t)y));
    return has_y && !y ? a : expr_binary(pool, EX_SUB, type, a, b);
}

const Expr *loop_last(Lower *lw, const Stmt *loop)
{
    return index_sub(lw->exprs, index_add(lw->exprs, loop->loop.min, loop->loop.extent),
                     expr_int(lw->exprs, (kn_type)loop->loop.min->type, 1));
}

/* ---- Loops ------------------------------------------------------------------------------------ */

typedef struct LoopKinds {
    Simplifier *known;
    bool        serial, unrolled; /* serial: and of no constant extent */
} LoopKinds;

static void find_kinds(void *user, const Stmt *s)
{
    LoopKinds *k = user;
    int64_t    extent;
    if (s->kind == STMT_FOR && s->loop.kind == LOOP_SERIAL)
        k->serial |= !expr_is_int(simplify(k->known, s->loop.extent), &extent);
    k->unrolled |= s->kind == STMT_FOR && s->loop.kind == LOOP_UNROLL;
    stmt_children(s, NULL, find_kinds, k);
}

bool has_unrolled(Simplifier *known, const Stmt *body)
{
    LoopKinds k = { .known = known };
    find_kinds(&k, body);
    return k.unrolled && !k.serial;
}

/* ---- Registers ---------------------------------------------------------------------------------- */

typedef struct RegisterSearch {
    Varying varying; /* with the variables of such loops */
    Map     own;     /* the buffers that a thread allocates in registers */
    bool    thread, found;
} RegisterSearch;

static void check_access(RegisterSearch *r, const Buffer *b, const Expr *index)
{
    r->found = r->found || (map_get(&r->own, b) && varying_expr(&r->varying, index));
}

static void find_loads(const Expr *e, void *user)
{
    if (e->op == EX_LOAD)
        check_access(user, e->u.buffer, e->args[0]);
}

static void find_in_expr(void *user, const Expr *e)
{
    RegisterSearch *r = user;
    expr_visit(r->varying.pool, e, find_loads, r);
}

static void find_registers(void *user, const Stmt *s)
{
    RegisterSearch *r     = user;
    const bool      outer = r->thread;
    int64_t         extent;
    if (s->kind == STMT_ALLOC && s->alloc.buffer->memory == MEMORY_REGISTER && r->thread)
        map_set(&r->own, s->alloc.buffer, s);
    for (int i = 0; s->kind == STMT_STORE && i < s->store.count; i++)
        check_access(r, s->store.places[i].buffer, s->store.places[i].index);
    if (s->kind == STMT_LET)
        varying_bind(&r->varying, s->let.name, varying_expr(&r->varying, s->let.value));
    if (s->kind == STMT_FOR) {
        r->thread |= loop_table[s->loop.kind].thread;
        varying_bind(&r->varying, s->loop.name,
                     !loop_table[s->loop.kind].thread && !expr_is_int(s->loop.extent, &extent));
    }
    if (!r->found)
        stmt_children(s, find_in_expr, find_registers, r);
    r->thread = outer;
}

bool indexes_registers(Lower *lw, const Stmt *s)
{
    RegisterSearch r = { 0 };
    varying_init(&r.varying, lw->exprs, lw->arena, NULL);
    map_init(&r.own, lw->arena);
    find_registers(&r, s);
    return r.found;
}
