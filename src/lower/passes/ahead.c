/* SPDX-License-Identifier: MIT */
/* Loads ahead: what the next iteration puts into shared memory is read while this one computes.
 *
 * Takes   kernels after registers.c, and the plan's prefetches. A loop of the block with a prefetch has the form
 *             for i: P(i) C(i)
 *         where P computes functions in shared memory from the function that is prefetched, and C is the rest.
 * Gives   load(first); for i: { store(i); if there is a next one: load(i + 1); C(i) }
 *         where `load` computes the values of P into registers of the threads, and `store` puts them into shared
 *         memory. Both have the thread loops, lets and guards of P, so a thread stores what it has loaded.
 * Holds   iff P reads nothing that the loop stores, its values are stored by P alone, and a thread has one iteration of
 *         P's thread loops, no serial loop in it and at most MOST_ELEMENTS values of each buffer. Other functions are
 *         computed as before: a prefetch is about time alone. barriers.c finds the barriers afterwards. */
#include "ir/kernel.h"
#include "lower/bounds/index_expr.h"

#include <string.h>

enum { MOST_ELEMENTS = 64, MOST_MOVED = 16 };

typedef struct MovedBuffer {
    const Buffer *shared, *own; /* own: the same values in registers of the threads */
    const Stmt   *alloc;
    int64_t       elements; /* of `own`, so far */
} MovedBuffer;

typedef enum Part { PART_LOAD, PART_STORE } Part;

typedef struct AheadPass {
    Lower      *lw;
    Map         own; /* of a shared buffer */
    const Stmt *kernel, *loop;
    int        *stores; /* of the loop, by Buffer.id */
    MovedBuffer moved[MOST_MOVED];
    int         count;
    const Stmt *producers[MOST_MOVED];
    int         producer_count;
    Part        part;
    const char *lane; /* the vector loop around and its extent; NULL: none */
    const Expr *lane_min;
    int64_t     lanes;
} AheadPass;

/* ---- What can be moved -------------------------------------------------------------------------- */

static void count_stores(void *user, const Stmt *s)
{
    AheadPass *p = user;
    for (int i = 0; s->kind == STMT_STORE && i < s->store.count; i++)
        p->stores[s->store.places[i].buffer->id]++;
    stmt_children(s, NULL, count_stores, p);
}

typedef struct Candidate {
    AheadPass *p;
    bool       reads; /* the function that is prefetched */
    bool       obstacle;
    int        stores[MOST_MOVED]; /* to the buffers of the loop, in the order of `moved` */
    int64_t    lanes;
    int        allocs; /* of the loop, in `moved` */
} Candidate;

/* Does a prefetch at this loop name the function? */
static bool is_prefetched(const AheadPass *p, const char *func)
{
    const Plan *plan = p->lw->plan;
    for (int i = 0; func && i < plan->func_count; i++)
        for (int k = 0; plan->funcs[i].defs && k < 1 + plan->funcs[i].func->update_count; k++) {
            const PlanDef *def = &plan->funcs[i].defs[k];
            for (int j = 0; j < def->prefetch_count; j++)
                if (def->loops[def->prefetches[j].loop].var == p->loop->loop.name &&
                    !strcmp(def->prefetches[j].func->name, func))
                    return true;
        }
    return false;
}

static void candidate_node(const Expr *e, void *user)
{
    Candidate *c = user;
    if (e->op == EX_EXTERN)
        c->obstacle = true;
    if (e->op != EX_LOAD)
        return;
    c->reads |= is_prefetched(c->p, e->u.buffer->func);
    c->obstacle |= c->p->stores[e->u.buffer->id] > 0;
}

static void candidate_expr(void *user, const Expr *e)
{
    Candidate *c = user;
    if (e)
        expr_visit(c->p->lw->exprs, e, candidate_node, c);
}

/* Does the block have a thread for each iteration of the nest? Of a nest with lanes a thread may have several. */
static bool has_all_threads(const AheadPass *p, const Stmt *s)
{
    const ThreadNest n  = thread_nest(s);
    const int threads[] = { p->kernel->kernel.threads_x, p->kernel->kernel.threads_y, p->kernel->kernel.threads_z };
    int64_t   extent;
    for (int i = 0; i < GPU_AXES; i++)
        if (n.loops[i] && (!expr_is_int(n.loops[i]->loop.extent, &extent) || extent > threads[i]))
            return false;
    return true;
}

static void candidate_stmt(void *user, const Stmt *s)
{
    static const bool allowed[STMT_COUNT] = { [STMT_LET] = true,   [STMT_IF] = true,      [STMT_BLOCK] = true,
                                              [STMT_STORE] = true, [STMT_PRODUCE] = true, [STMT_FOR] = true };
    Candidate        *c                   = user;
    const int64_t     outer               = c->lanes;
    c->obstacle |= !allowed[s->kind] || (s->kind == STMT_STORE && s->store.atomic);
    if (s->kind == STMT_FOR && s->loop.kind == LOOP_VECTOR) {
        c->obstacle |= outer > 1 || !expr_is_int(s->loop.extent, &c->lanes);
    } else if (s->kind == STMT_FOR)
        c->obstacle |= !loop_table[s->loop.kind].thread || !has_all_threads(c->p, s);
    for (int i = 0; s->kind == STMT_STORE && i < s->store.count; i++) {
        int k = 0;
        while (k < c->allocs && c->p->moved[k].shared != s->store.places[i].buffer)
            k++;
        c->obstacle |= k == c->allocs;
        if (k < c->allocs)
            c->stores[k]++;
    }
    stmt_children(s, candidate_expr, candidate_stmt, c);
    c->lanes = outer;
}

/* How often the buffer is stored to, and how many elements a thread has of it. */
static void count_elements(void *user, const Stmt *s)
{
    AheadPass *p     = user;
    int64_t    lanes = 1;
    if (s->kind == STMT_FOR && s->loop.kind == LOOP_VECTOR && expr_is_int(s->loop.extent, &lanes))
        p->lanes = lanes;
    for (int i = 0; s->kind == STMT_STORE && i < s->store.count; i++)
        for (int k = 0; k < p->count; k++)
            if (p->moved[k].shared == s->store.places[i].buffer)
                p->moved[k].elements += p->lanes;
    stmt_children(s, NULL, count_elements, p);
    if (s->kind == STMT_FOR && s->loop.kind == LOOP_VECTOR)
        p->lanes = 1;
}

/* A function computed in the loop, of which all values can be loaded ahead. */
static bool is_movable(AheadPass *p, const Stmt *s)
{
    Candidate c = { .p = p, .lanes = 1, .allocs = p->count };
    candidate_stmt(&c, s);
    bool any = false;
    for (int k = 0; k < c.allocs; k++) {
        any |= c.stores[k] > 0;
        c.obstacle |= c.stores[k] > 0 && c.stores[k] != p->stores[p->moved[k].shared->id];
    }
    if (c.obstacle || !c.reads || !any || p->producer_count == MOST_MOVED)
        return false;
    for (int k = 0; k < p->count; k++)
        p->moved[k].elements = 0;
    p->lanes = 1;
    count_elements(p, s);
    for (int k = 0; k < p->count; k++)
        if (p->moved[k].elements > MOST_ELEMENTS)
            return false;
    return true;
}

/* Collects what can be moved of the body: `plain` is whether the lets and conditions around are the same in every
 * iteration or known before it. */
static void find_movable(AheadPass *p, const Stmt *s)
{
    Candidate c = { .p = p };
    if (s->kind == STMT_LET)
        candidate_expr(&c, s->let.value);
    if (s->kind == STMT_IF)
        candidate_expr(&c, s->branch.condition);
    if (c.obstacle)
        return;
    if (s->kind == STMT_LET)
        find_movable(p, s->let.body);
    else if (s->kind == STMT_IF && !s->branch.no)
        find_movable(p, s->branch.yes);
    else if (s->kind == STMT_ALLOC) {
        if (s->alloc.buffer->memory == MEMORY_SHARED && p->count < MOST_MOVED)
            p->moved[p->count++] = (MovedBuffer){ .shared = s->alloc.buffer, .alloc = s };
        find_movable(p, s->alloc.body);
    } else if (s->kind == STMT_PRODUCE && is_movable(p, s))
        p->producers[p->producer_count++] = s;
    for (int i = 0; s->kind == STMT_BLOCK && i < s->block.count; i++)
        find_movable(p, s->block.items[i]);
}

static bool is_moved(const AheadPass *p, const Stmt *s)
{
    int i = 0;
    while (i < p->producer_count && p->producers[i] != s)
        i++;
    return i < p->producer_count;
}

/* ---- The parts ------------------------------------------------------------------------------------ */

static MovedBuffer *moved_buffer(AheadPass *p, const Buffer *b)
{
    int k = 0;
    while (k < p->count && p->moved[k].shared != b)
        k++;
    return k < p->count ? &p->moved[k] : NULL;
}

/* The registers for values of a shared buffer. */
static const Buffer *own_buffer(AheadPass *p, const Buffer *b)
{
    Lower        *lw  = p->lw;
    const Buffer *own = map_get(&p->own, b);
    if (own)
        return own;
    Buffer *made = ARENA_NEW(lw->arena, Buffer);
    *made        = *b;
    made->name   = intern(lw->cx, arena_printf(lw->arena, "%s.ahead", b->name));
    made->id     = (int)lw->program->buffers.count;
    made->memory = MEMORY_REGISTER;
    vec_push(lw->arena, &lw->program->buffers, made);
    map_set(&p->own, b, made);
    return made;
}

/* The next element of a thread's own values: with the lane inside a vector loop. */
static const Expr *next_element(AheadPass *p, MovedBuffer *m)
{
    ExprPool   *pool = p->lw->exprs;
    const Expr *at   = expr_int(pool, KN_I64, m->elements);
    m->elements += p->lanes;
    if (!p->lane)
        return at;
    const Expr *lane = x_sub(p->lw, expr_var(pool, (kn_type)p->lane_min->type, p->lane), p->lane_min);
    return expr_binary(pool, EX_ADD, KN_I64, at, lane->type == KN_I64 ? lane : expr_unary(pool, EX_CAST, KN_I64, lane));
}

static const Stmt *part_of_store(AheadPass *p, const Stmt *s)
{
    Lower *lw        = p->lw;
    Stmt  *st        = ARENA_NEW(lw->arena, Stmt);
    *st              = *s;
    st->store.places = ARENA_ARRAY(lw->arena, Place, (size_t)s->store.count);
    for (int i = 0; i < s->store.count; i++) {
        const Place *was = &s->store.places[i];
        MovedBuffer *m   = moved_buffer(p, was->buffer);
        const Expr  *at  = next_element(p, m);
        st->store.places[i] =
            p->part == PART_LOAD
                ? (Place){ m->own, at, was->value }
                : (Place){ was->buffer, was->index, expr_load(lw->exprs, m->own, (kn_type)was->value->type, at) };
    }
    return st;
}

static const Stmt *part_of_producer(void *user, const Stmt *s)
{
    AheadPass    *p      = user;
    const StmtMap m      = { p->lw->arena, part_of_producer, NULL, p };
    const bool    vector = s->kind == STMT_FOR && s->loop.kind == LOOP_VECTOR;
    if (s->kind == STMT_STORE)
        return part_of_store(p, s);
    if (vector) {
        p->lane     = s->loop.name;
        p->lane_min = s->loop.min;
        expr_is_int(s->loop.extent, &p->lanes);
    }
    s = stmt_map(&m, s);
    if (vector) {
        p->lane  = NULL;
        p->lanes = 1;
    }
    return s;
}

/* One part of what is moved, with the lets and conditions around it. */
static const Stmt *moved_part(AheadPass *p, const Stmt *s)
{
    Arena *a = p->lw->arena;
    if (is_moved(p, s))
        return part_of_producer(p, s);
    if (s->kind == STMT_ALLOC)
        return moved_part(p, s->alloc.body);
    if (s->kind == STMT_BLOCK) {
        const Stmt **items = ARENA_ARRAY(a, const Stmt *, (size_t)s->block.count);
        for (int i = 0; i < s->block.count; i++)
            items[i] = moved_part(p, s->block.items[i]);
        return stmt_block(a, s->block.count, items);
    }
    const bool  let  = s->kind == STMT_LET;
    const Stmt *body = let                                   ? moved_part(p, s->let.body)
                       : s->kind == STMT_IF && !s->branch.no ? moved_part(p, s->branch.yes)
                                                             : NULL;
    if (!body)
        return NULL;
    return let ? stmt_let(a, s->let.name, s->let.value, body) : stmt_if(a, s->branch.condition, body, NULL);
}

/* A part for one iteration. */
static const Stmt *part_at(AheadPass *p, Part part, const Expr *iteration)
{
    for (int k = 0; k < p->count; k++)
        p->moved[k].elements = 0;
    p->part       = part;
    p->lane       = NULL;
    p->lanes      = 1;
    const Stmt *s = moved_part(p, p->loop->loop.body);
    return stmt_substitute(p->lw->exprs, p->lw->arena, s, 1, &p->loop->loop.name, &iteration);
}

/* The body without what is moved. */
static const Stmt *rest(void *user, const Stmt *s)
{
    AheadPass    *p = user;
    const StmtMap m = { p->lw->arena, rest, NULL, p };
    if (is_moved(p, s))
        return NULL;
    if (s->kind == STMT_ALLOC && moved_buffer(p, s->alloc.buffer))
        return rest(p, s->alloc.body);
    if (s->kind == STMT_IF) {
        const Stmt *yes = rest(p, s->branch.yes), *no = s->branch.no ? rest(p, s->branch.no) : NULL;
        return yes ? stmt_if(p->lw->arena, s->branch.condition, yes, no) : NULL;
    }
    return s->kind == STMT_LET || s->kind == STMT_ALLOC || s->kind == STMT_BLOCK ? stmt_map(&m, s) : s;
}

/* ---- Loops ---------------------------------------------------------------------------------------- */

/* Keeps the buffers that are moved, and gives them registers. */
static void choose_buffers(AheadPass *p)
{
    int count = 0;
    for (int k = 0; k < p->count; k++)
        p->moved[k].elements = 0;
    p->lanes = 1;
    for (int i = 0; i < p->producer_count; i++)
        count_elements(p, p->producers[i]);
    for (int k = 0; k < p->count; k++)
        if (p->moved[k].elements) {
            p->moved[k].own   = own_buffer(p, p->moved[k].shared);
            p->moved[count++] = p->moved[k];
        }
    p->count = count;
}

static const Stmt *alloc_around(AheadPass *p, const Buffer *b, const Expr *count, const Stmt *body)
{
    Stmt *s         = ARENA_NEW(p->lw->arena, Stmt);
    s->kind         = STMT_ALLOC;
    s->alloc.buffer = b;
    s->alloc.count  = count;
    s->alloc.body   = body;
    return s;
}

static const Stmt *load_ahead(AheadPass *p, const Stmt *s)
{
    Lower      *lw   = p->lw;
    Arena      *a    = lw->arena;
    const Expr *i    = expr_var(lw->exprs, (kn_type)s->loop.min->type, s->loop.name);
    const Expr *one  = expr_int(lw->exprs, (kn_type)s->loop.min->type, 1);
    const Expr *next = x_add(lw, i, one), *end = x_add(lw, s->loop.min, s->loop.extent);
    choose_buffers(p);
    const Stmt *loads   = lower_simplify(lw, part_at(p, PART_LOAD, next));
    const Stmt *first   = lower_simplify(lw, part_at(p, PART_LOAD, s->loop.min));
    const Stmt *stores  = part_at(p, PART_STORE, i);
    const Stmt *items[] = { stores, stmt_if(a, x_op(lw, EX_LT, next, end), loads, NULL), rest(p, s->loop.body) };
    const Stmt *body    = stmt_block(a, 3, items);
    for (int k = p->count; k-- > 0;)
        body = alloc_around(p, p->moved[k].shared, p->moved[k].alloc->alloc.count, body);
    const Expr *any = x_op(lw, EX_LT, expr_int(lw->exprs, (kn_type)s->loop.extent->type, 0), s->loop.extent);
    const Stmt *all = stmt_pair(a, stmt_if(a, any, first, NULL),
                                stmt_for(a, s->loop.name, s->loop.kind, s->loop.min, s->loop.extent, body));
    for (int k = p->count; k-- > 0;)
        all = alloc_around(p, p->moved[k].own, expr_int(lw->exprs, KN_I64, p->moved[k].elements), all);
    return all;
}

/* A statement of a block. */
static const Stmt *visit(void *user, const Stmt *s)
{
    AheadPass    *p = user;
    const StmtMap m = { p->lw->arena, visit, NULL, p };
    if (s->kind == STMT_FOR && loop_table[s->loop.kind].thread)
        return s;
    s = stmt_map(&m, s);
    if (!s || s->kind != STMT_FOR || s->loop.kind != LOOP_SERIAL)
        return s;
    p->loop   = s;
    p->stores = ARENA_ARRAY(p->lw->arena, int, p->lw->program->buffers.count + 1);
    p->count = p->producer_count = 0;
    count_stores(p, s->loop.body);
    find_movable(p, s->loop.body);
    return p->producer_count ? load_ahead(p, s) : s;
}

static const Stmt *find_kernels(void *user, const Stmt *s)
{
    AheadPass    *p = user;
    const StmtMap m = { p->lw->arena, s->kind == STMT_KERNEL ? visit : find_kernels, NULL, p };
    p->kernel       = s->kind == STMT_KERNEL ? s : NULL;
    return stmt_map(&m, s);
}

const Stmt *lower_ahead(Lower *lw, const Stmt *s)
{
    AheadPass *p = ARENA_NEW(lw->arena, AheadPass);
    p->lw        = lw;
    map_init(&p->own, lw->arena);
    return s ? find_kernels(p, s) : NULL;
}
