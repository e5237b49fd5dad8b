/* SPDX-License-Identifier: MIT */
/* Parallel loops, and parts of large functions: the body becomes a function of its own, which gets what it uses from
 * outside in a closure. */
#include "codegen/llvm/llvm.h"

#include <stdio.h>

enum { MOST_STORES = 64 }; /* of a function that is made in one piece */

/* What the body uses of the function around it. */
typedef struct Captured {
    Gen           *g;
    NameBinding   *names;
    int            name_count, name_capacity;
    const Buffer **buffers;
    int            buffer_count;
    bool          *has_buffer; /* by id */
} Captured;

static void capture_buffer(Captured *c, const Buffer *b)
{
    if (!b || b->kind != BUFFER_SCRATCH || c->has_buffer[b->id] || !c->g->f->buffers[b->id].base)
        return;
    c->has_buffer[b->id]          = true;
    c->buffers[c->buffer_count++] = b;
}

static bool is_captured(const Captured *c, const char *name)
{
    for (int i = 0; i < c->name_count; i++)
        if (c->names[i].name == name)
            return true;
    return false;
}

/* Ports' variables are read again from the ports. */
static void capture_name(Captured *c, const char *name)
{
    const NameBinding *b = binding_find(c->g, name);
    if (!b || (b->value.named == c->g->f->base && !b->captured) || is_captured(c, name))
        return;
    if (c->name_count == c->name_capacity) {
        c->name_capacity = c->name_capacity ? 2 * c->name_capacity : 16;
        c->names         = gen_grow(c->g, c->names, (size_t)c->name_capacity, sizeof *c->names);
    }
    c->names[c->name_count++] = *b;
}

static void capture_expr(void *user, const Expr *e)
{
    Captured *c = user;
    if (!e || c->g->seen[e->id] == c->g->statement)
        return;
    c->g->seen[e->id] = c->g->statement;
    if (e->op == EX_VAR)
        capture_name(c, e->u.name);
    if (e->op == EX_LOAD)
        capture_buffer(c, e->u.buffer);
    for (uint32_t i = 0; i < e->count; i++)
        capture_expr(c, e->args[i]);
}

static void capture_stmt(void *user, const Stmt *s)
{
    Captured *c = user;
    if (s->kind == STMT_STORE)
        for (int i = 0; i < s->store.count; i++)
            capture_buffer(c, s->store.places[i].buffer);
    if (s->kind == STMT_PREFETCH)
        capture_buffer(c, s->prefetch.buffer);
    if (s->kind == STMT_SYNC)
        capture_buffer(c, s->sync.buffer);
    if (s->kind == STMT_STAGE) {
        capture_buffer(c, s->stage->output.buffer);
        for (int i = 0; i < s->stage->count; i++)
            capture_buffer(c, s->stage->operands[i].buffer);
        capture_buffer(c, s->stage->table);
    }
    stmt_children(s, capture_expr, capture_stmt, c);
}

static Captured capture(Gen *g, const Stmt *body)
{
    const size_t n = g->program->buffers.count;
    Captured     c = { .g          = g,
                       .buffers    = gen_alloc(g, n * sizeof *c.buffers),
                       .has_buffer = gen_alloc(g, n * sizeof *c.has_buffer) };
    statement_begin(g);
    if (body)
        capture_stmt(&c, body);
    return c;
}

/* The closure: the ports, the parameters, the call of the device, then the names, then address and largest index of
 * each buffer and, if kernels use it, the address of its kn_buffer. */
static LLVMTypeRef closure_type(Gen *g, const Captured *c)
{
    LLVMTypeRef *types = gen_alloc(g, (size_t)(3 + c->name_count + 3 * c->buffer_count) * sizeof *types);
    unsigned     n     = 0;
    types[n++]         = g->t.ptr;
    types[n++]         = g->t.ptr;
    if (g->f->call)
        types[n++] = g->t.ptr;
    for (int i = 0; i < c->name_count; i++)
        types[n++] = LLVMTypeOf(c->names[i].value.v);
    for (int i = 0; i < c->buffer_count; i++) {
        types[n++] = g->t.ptr;
        types[n++] = g->t.i64;
        if (g->f->buffers[c->buffers[i]->id].on_device)
            types[n++] = g->t.ptr;
    }
    return LLVMStructTypeInContext(g->cx, types, n, false);
}

static LLVMValueRef closure_field(Gen *g, LLVMTypeRef type, LLVMValueRef closure, unsigned i)
{
    return LLVMBuildStructGEP2(g->b, type, closure, i, "");
}

static LLVMValueRef make_closure(Gen *g, const Captured *c, LLVMTypeRef type)
{
    LLVMPositionBuilderBefore(g->b, LLVMGetBasicBlockTerminator(g->f->entry));
    LLVMValueRef closure = LLVMBuildAlloca(g->b, type, "closure");
    here(g);
    unsigned n = 0;
    LLVMBuildStore(g->b, g->f->used, closure_field(g, type, closure, n++));
    LLVMBuildStore(g->b, g->f->params, closure_field(g, type, closure, n++));
    if (g->f->call)
        LLVMBuildStore(g->b, g->f->call, closure_field(g, type, closure, n++));
    for (int i = 0; i < c->name_count; i++) {
        if (c->names[i].value.shape != UNIFORM)
            gen_fail(g, "a parallel loop stands inside a vector loop");
        LLVMBuildStore(g->b, c->names[i].value.v, closure_field(g, type, closure, n++));
    }
    for (int i = 0; i < c->buffer_count; i++) {
        const BufferState *state = &g->f->buffers[c->buffers[i]->id];
        LLVMBuildStore(g->b, state->base, closure_field(g, type, closure, n++));
        LLVMBuildStore(g->b, state->high, closure_field(g, type, closure, n++));
        if (state->on_device)
            LLVMBuildStore(g->b, state->on_device, closure_field(g, type, closure, n++));
    }
    return closure;
}

static void open_closure(Gen *g, const Captured *c, LLVMTypeRef type, LLVMValueRef closure)
{
    here(g);
    unsigned n   = 0;
    g->f->used   = LLVMBuildLoad2(g->b, g->t.ptr, closure_field(g, type, closure, n++), "used");
    g->f->params = LLVMBuildLoad2(g->b, g->t.ptr, closure_field(g, type, closure, n++), "params");
    if (g->f->outer->call)
        g->f->call = LLVMBuildLoad2(g->b, g->t.ptr, closure_field(g, type, closure, n++), "call");
    for (int i = 0; i < c->name_count; i++) {
        const NameBinding *b  = &c->names[i];
        LLVMValueRef       at = closure_field(g, type, closure, n++);
        LLVMValueRef       v  = LLVMBuildLoad2(g->b, LLVMTypeOf(b->value.v), at, b->name);
        bind(g, b->name, value_constant(g, v), b->coordinate)->captured = true;
    }
    for (int i = 0; i < c->buffer_count; i++) {
        const Buffer *b      = c->buffers[i];
        LLVMValueRef  at     = LLVMBuildLoad2(g->b, g->t.ptr, closure_field(g, type, closure, n++), b->name);
        LLVMValueRef  high   = LLVMBuildLoad2(g->b, g->t.i64, closure_field(g, type, closure, n++), "");
        g->f->buffers[b->id] = (BufferState){ .base     = at,
                                              .low      = i64_const(g, 0),
                                              .high     = high,
                                              .level    = g->f->base,
                                              .elements = g->f->outer->buffers[b->id].elements };
        if (g->f->outer->buffers[b->id].on_device)
            g->f->buffers[b->id].on_device =
                LLVMBuildLoad2(g->b, g->t.ptr, closure_field(g, type, closure, n++), b->name);
    }
}

void gen_parallel(Gen *g, const Stmt *s)
{
    char        name[512];
    Captured    c       = capture(g, s->loop.body);
    LLVMTypeRef type    = closure_type(g, &c);
    LLVMTypeRef args[3] = { g->t.ptr, g->t.i32, g->t.ptr };
    snprintf(name, sizeof name, "%.200s%s.%.200s.%d", g->program->name, g->suffix, s->loop.name, g->parallel_count++);
    Function *f = function_begin(g, name, LLVMFunctionType(g->t.i32, args, 3, false));
    f->rt       = LLVMGetParam(f->f, 0);
    open_closure(g, &c, type, LLVMGetParam(f->f, 2));
    ShapedValue  v = value_constant(g, LLVMGetParam(f->f, 1));
    NameBinding *b = bind(g, s->loop.name, v, true);
    b->captured    = true;
    function_measure(g, s->loop.body);
    gen_stmt(g, s->loop.body);
    LLVMValueRef body = f->f;
    function_end(g);

    statement_begin(g);
    LLVMValueRef min = gen_uniform(g, s->loop.min), extent = gen_uniform(g, s->loop.extent);
    LLVMValueRef closure = make_closure(g, &c, type);
    fail_unless_zero(
        g, rt_call(g, "kn_rt_parallel", g->t.i32, 5, (LLVMValueRef[]){ g->f->rt, body, min, extent, closure }));
}

/* ---- Large functions ---- */

/* Stores of a statement, and loops around loops that are as long as sizes make them, without those of parallel loops,
 * which are functions anyway. */
typedef struct Measure {
    int stores, loops, long_loops;
} Measure;

static void measure(void *user, const Stmt *s)
{
    Measure  *m      = user;
    const int before = m->loops;
    int64_t   extent;
    m->stores += s->kind == STMT_STORE;
    if (s->kind != STMT_FOR || s->loop.kind != LOOP_PARALLEL)
        stmt_children(s, NULL, measure, m);
    if (s->kind != STMT_FOR)
        return;
    m->long_loops += m->loops > before && !expr_is_int(s->loop.extent, &extent);
    m->loops++;
}

void function_measure(Gen *g, const Stmt *body)
{
    Measure m = { 0 };
    if (body)
        measure(&m, body);
    g->f->large = m.stores > MOST_STORES;
}

/* Does the statement write vectors into a tile of the function around it, which LLVM keeps in registers as long as no
 * other function has its address? */
typedef struct TileSearch {
    const Gen *g;
    int        vectors; /* vector loops around */
    bool       found;
} TileSearch;

static void find_tile(void *user, const Stmt *s)
{
    TileSearch *t      = user;
    const bool  vector = s->kind == STMT_FOR && s->loop.kind == LOOP_VECTOR;
    if (s->kind == STMT_STORE && t->vectors)
        for (int i = 0; i < s->store.count; i++)
            t->found |= t->g->f->buffers[s->store.places[i].buffer->id].tile;
    t->vectors += vector;
    stmt_children(s, NULL, find_tile, t);
    t->vectors -= vector;
}

/* What is produced for one vector, or a tile that fits into registers, stays where it is used. */
bool gen_outlined(Gen *g, const Stmt *body)
{
    Measure    m = { 0 };
    TileSearch t = { .g = g };
    if (!g->f->large || g->lanes || !body)
        return false;
    measure(&m, body);
    find_tile(&t, body);
    if (!m.long_loops || !m.stores || t.found)
        return false;
    char         name[512];
    Captured     c       = capture(g, body);
    LLVMTypeRef  type    = closure_type(g, &c);
    LLVMTypeRef  args[2] = { g->t.ptr, g->t.ptr };
    LLVMValueRef closure = make_closure(g, &c, type), rt = g->f->rt;
    LLVMTypeRef  signature = LLVMFunctionType(g->t.i32, args, 2, false);
    snprintf(name, sizeof name, "%.200s%s.part.%d", g->program->name, g->suffix, g->parallel_count++);
    Function *f = function_begin(g, name, signature);
    f->rt       = LLVMGetParam(f->f, 0);
    open_closure(g, &c, type, LLVMGetParam(f->f, 1));
    gen_stmt(g, body);
    function_end(g);
    here(g);
    fail_unless_zero(g, LLVMBuildCall2(g->b, signature, f->f, (LLVMValueRef[]){ rt, closure }, 2, ""));
    return true;
}
