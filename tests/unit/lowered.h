/* SPDX-License-Identifier: MIT */
/* Lowered programs made by hand, and run twice: compiled by the backend, and by an evaluator that knows scalars
 * only. */
#ifndef KILN_TESTS_LOWERED_H
#define KILN_TESTS_LOWERED_H

#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "check.h"
#include "codegen/backend.h"
#include "interp/ops.h"
#include "pipeline/pipeline.h"
#include "runtime/device.h"

enum { MOST_BUFFERS = 256, MOST_NAMES = 64 };

/* A program under construction, with the memory of its ports. */
typedef struct Lowered {
    kn_context *cx;
    Arena       arena;
    ExprPool    pool;
    Program     p;
    kn_buffer   ports[MOST_BUFFERS];    /* what the compiled code is given */
    char       *expected[MOST_BUFFERS]; /* the evaluator's memory of every buffer, and its elements */
    int64_t     count[MOST_BUFFERS];
    uint64_t    params[8];
    char       *maps[MOST_BUFFERS]; /* of the ports' memory */
    size_t      map_sizes[MOST_BUFFERS];
} Lowered;

static const Codegen *backend;
static const Target  *lowered_target = &target_table[0];

static inline bool backend_open(void)
{
    void *library = dlopen(KILN_LLVM, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        CHECK(false, "%s", dlerror());
        return false;
    }
    CodegenEntry *entry;
    *(void **)&entry = dlsym(library, "kiln_codegen");
    backend          = entry();
    return true;
}

static inline void lowered_begin(Lowered *l)
{
    memset(l, 0, sizeof *l);
    l->cx = kn_context_new(NULL);
    arena_init(&l->arena, l->cx);
    expr_pool_init(&l->pool, l->cx, &l->arena);
    l->p = (Program){ .cx = l->cx, .arena = &l->arena, .exprs = &l->pool, .name = "test", .strict_float = true };
}

static inline void lowered_end(Lowered *l)
{
    for (size_t i = 0; i < l->p.buffers.count; i++) {
        free(l->expected[i]);
        if (l->maps[i])
            munmap(l->maps[i], l->map_sizes[i]);
    }
    arena_free(&l->arena);
    kn_context_free(l->cx);
}

static inline Buffer *lowered_buffer(Lowered *l, const char *name, BufferKind kind, kn_type type)
{
    Buffer *b = ARENA_NEW(&l->arena, Buffer);
    *b =
        (Buffer){ .name = intern(l->cx, name), .id = (int)l->p.buffers.count, .kind = kind, .type = type, .dense = -1 };
    vec_push(&l->arena, &l->p.buffers, b);
    return b;
}

/* Memory that ends where a page ends behind which nothing may be touched: compiled code that reads too far is
 * caught. */
static inline void *guarded(Lowered *l, int id, size_t bytes)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE), size = (bytes + page - 1) / page * page + page;
    char        *map = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    mprotect(map + size - page, page, PROT_NONE);
    l->maps[id]      = map;
    l->map_sizes[id] = size;
    return map + size - page - bytes;
}

/* A dense port of one dimension. */
static inline Buffer *lowered_port(Lowered *l, const char *name, BufferKind kind, kn_type type, int32_t extent)
{
    Buffer *b = lowered_buffer(l, name, kind, type);
    b->rank   = 1;
    b->dense  = 0;
    l->p.port_count++;
    l->ports[b->id]    = (kn_buffer){ .data = guarded(l, b->id, (size_t)extent * kn_type_size(type)),
                                      .type = type,
                                      .rank = 1,
                                      .dim  = { { 0, extent, 1 } } };
    l->expected[b->id] = calloc((size_t)extent, kn_type_size(type));
    l->count[b->id]    = extent;
    return b;
}

static inline void lowered_set(Lowered *l, const Buffer *b, int64_t i, Lane v)
{
    lane_store(b->type, (char *)l->ports[b->id].data + (size_t)i * kn_type_size(b->type), v);
    lane_store(b->type, l->expected[b->id] + (size_t)i * kn_type_size(b->type), v);
}

/* ---- Expressions in short ---- */

static inline const Expr *ex_i32(Lowered *l, int64_t v)
{
    return expr_int(&l->pool, KN_I32, v);
}
static inline const Expr *ex_i64(Lowered *l, int64_t v)
{
    return expr_int(&l->pool, KN_I64, v);
}
static inline const Expr *ex_var(Lowered *l, const char *name)
{
    return expr_var(&l->pool, KN_I32, intern(l->cx, name));
}
static inline const Expr *ex_op(Lowered *l, ExprOp op, const Expr *a, const Expr *b)
{
    return expr_binary(&l->pool, op, a->type, a, b);
}
static inline const Expr *ex_test(Lowered *l, ExprOp op, const Expr *a, const Expr *b)
{
    return expr_binary(&l->pool, op, KN_BOOL, a, b);
}
static inline const Expr *ex_wide(Lowered *l, const Expr *a)
{
    return expr_unary(&l->pool, EX_CAST, KN_I64, a);
}
static inline const Expr *ex_load(Lowered *l, const Buffer *b, const Expr *i32)
{
    return expr_load(&l->pool, b, b->type, ex_wide(l, i32));
}
static inline const Stmt *st_store(Lowered *l, const Buffer *b, const Expr *i32, const Expr *v)
{
    return stmt_store(&l->arena, b, ex_wide(l, i32), v);
}
static inline const Stmt *st_for(Lowered *l, LoopKind kind, const char *name, int64_t min, int64_t extent,
                                 const Stmt *body)
{
    return stmt_for(&l->arena, intern(l->cx, name), kind, ex_i32(l, min), ex_i32(l, extent), body);
}

/* ---- The evaluator ---- */

typedef struct Evaluator Evaluator;
struct Evaluator {
    Lowered    *l;
    const char *names[MOST_NAMES];
    Lane        values[MOST_NAMES];
    int         count;
    int         outside;                               /* accesses outside the buffers */
    void (*launch)(Evaluator *ev, const Stmt *kernel); /* of a kernel; NULL: it is executed as the loops it is */
    void *program;                                     /* for that */
};

static inline char *element(Evaluator *ev, const Buffer *b, int64_t i)
{
    if (i < 0 || i >= ev->l->count[b->id]) {
        ev->outside++;
        return NULL;
    }
    return ev->l->expected[b->id] + (size_t)i * kn_type_size(b->type);
}

static inline size_t param_place(const Program *p, const Param *param)
{
    size_t i = 0;
    while (i < p->params.count && p->params.at[i] != param)
        i++;
    return i < p->params.count ? i : 0;
}

static inline Lane evaluate(Evaluator *ev, const Expr *e)
{
    Lane    args[3];
    kn_type types[3];
    switch (e->op) {
    case EX_INT: return (Lane){ .i = e->u.i };
    case EX_FLOAT: return (Lane){ .f = e->u.f };
    case EX_PARAM: return lane_load(e->type, &ev->l->params[param_place(&ev->l->p, e->u.param)]);
    case EX_VAR:
        for (int i = ev->count; i-- > 0;)
            if (ev->names[i] == e->u.name)
                return ev->values[i];
        return (Lane){ .i = strstr(e->u.name, ".extent.0") ? ev->l->ports[0].dim[0].extent : 0 };
    case EX_LOAD: {
        const char *at = element(ev, e->u.buffer, evaluate(ev, e->args[0]).i);
        return at ? lane_load(e->type, at) : (Lane){ 0 };
    }
    case EX_AND: return evaluate(ev, e->args[0]).i ? evaluate(ev, e->args[1]) : (Lane){ 0 };
    case EX_OR: return evaluate(ev, e->args[0]).i ? (Lane){ .i = 1 } : evaluate(ev, e->args[1]);
    case EX_SELECT: return evaluate(ev, e->args[evaluate(ev, e->args[0]).i ? 1 : 2]);
    default:
        for (uint32_t i = 0; i < e->count; i++) {
            args[i]  = evaluate(ev, e->args[i]);
            types[i] = e->args[i]->type;
        }
        return operator_apply(e->op, e->type, (int)e->count, types, args);
    }
}

static inline void execute(Evaluator *ev, const Stmt *s);

static inline void execute_with(Evaluator *ev, const char *name, Lane v, const Stmt *body)
{
    ev->names[ev->count]    = name;
    ev->values[ev->count++] = v;
    execute(ev, body);
    ev->count--;
}

static inline void execute_store(Evaluator *ev, const Stmt *s)
{
    Lane  values[8];
    char *at[8];
    for (int i = 0; i < s->store.count; i++) {
        values[i] = evaluate(ev, s->store.places[i].value);
        at[i]     = element(ev, s->store.places[i].buffer, evaluate(ev, s->store.places[i].index).i);
    }
    for (int i = 0; i < s->store.count; i++)
        if (at[i])
            lane_store(s->store.places[i].buffer->type, at[i], values[i]);
}

static inline void execute(Evaluator *ev, const Stmt *s)
{
    if (!s)
        return;
    switch (s->kind) {
    case STMT_LET: execute_with(ev, s->let.name, evaluate(ev, s->let.value), s->let.body); break;
    case STMT_FOR: {
        const int64_t min = evaluate(ev, s->loop.min).i, extent = evaluate(ev, s->loop.extent).i;
        for (int64_t i = min; i < min + extent; i++)
            execute_with(ev, s->loop.name, (Lane){ .i = i }, s->loop.body);
        break;
    }
    case STMT_BLOCK:
        for (int i = 0; i < s->block.count; i++)
            execute(ev, s->block.items[i]);
        break;
    case STMT_IF: execute(ev, evaluate(ev, s->branch.condition).i ? s->branch.yes : s->branch.no); break;
    case STMT_PRODUCE: execute(ev, s->produce.body); break;
    case STMT_KERNEL:
        if (ev->launch)
            ev->launch(ev, s);
        else
            execute(ev, s->kernel.body);
        break;
    case STMT_STORE: execute_store(ev, s); break;
    case STMT_ALLOC: {
        const int id        = s->alloc.buffer->id;
        ev->l->count[id]    = evaluate(ev, s->alloc.count).i;
        ev->l->expected[id] = calloc((size_t)ev->l->count[id] + 1, kn_type_size(s->alloc.buffer->type));
        execute(ev, s->alloc.body);
        free(ev->l->expected[id]);
        ev->l->expected[id] = NULL;
        break;
    }
    default: break;
    }
}

/* ---- A runtime for tests: one thread, and counters ---- */

static int  rt_blocks, rt_locks, rt_fail_alloc, rt_calls;
static char rt_message[256];

static int test_enter(kn_rt *rt, const kn_rt_program *program, const kn_buffer *const *given, kn_buffer *used)
{
    (void)rt;
    for (int i = 0; i < program->port_count; i++)
        used[i] = *given[i];
    return 0;
}

static int test_leave(kn_rt *rt, const kn_rt_program *program, const kn_buffer *const *given, kn_buffer *used,
                      int status)
{
    (void)rt, (void)program, (void)given, (void)used;
    return status;
}

static int test_need(kn_rt *rt, const kn_rt_program *program, int32_t port, int32_t dim, int32_t min, int32_t max,
                     const kn_buffer *used, const char *reader)
{
    (void)rt, (void)program, (void)reader;
    const kn_dim *d = &used[port].dim[dim];
    return min <= max && (min < d->min || max >= d->min + d->extent) ? KN_ERROR_BOUNDS : 0;
}

static int test_fail(kn_rt *rt, const kn_rt_program *program, int32_t status, const char *message)
{
    (void)status;
    (void)rt, (void)program;
    snprintf(rt_message, sizeof rt_message, "%s", message);
    return KN_ERROR_PROGRAM;
}

static void *test_alloc(kn_rt *rt, int64_t bytes)
{
    (void)rt;
    if (rt_fail_alloc && !--rt_fail_alloc)
        return NULL;
    rt_blocks++;
    return aligned_alloc(64, ((size_t)bytes + 127) / 64 * 64);
}

static void test_free(kn_rt *rt, void *block)
{
    (void)rt;
    rt_blocks--;
    free(block);
}

static int test_parallel(kn_rt *rt, kn_rt_body *body, int32_t min, int32_t extent, void *closure)
{
    int status = 0;
    rt_calls++;
    for (int32_t i = min; !status && i < min + extent; i++)
        status = body(rt, i, closure);
    return status;
}

static void test_lock(kn_rt *rt, const void *at)
{
    (void)rt, (void)at;
    rt_locks++;
}
static void test_unlock(kn_rt *rt, const void *at)
{
    (void)rt, (void)at;
    rt_locks--;
}

static int test_stage(kn_rt *rt, const char *name, kn_stage *stage, void *user, kn_buffer *inputs, int32_t input_count,
                      const kn_scalar *values, int32_t value_count, kn_buffer *output)
{
    (void)rt, (void)name;
    return stage(false, inputs, input_count, values, value_count, output, user);
}

/* clang-format off */
static const Symbol test_symbols[] = {
    { "kn_rt_enter", (void *)test_enter }, { "kn_rt_leave", (void *)test_leave },   { "kn_rt_need", (void *)test_need },
    { "kn_rt_fail", (void *)test_fail },   { "kn_rt_alloc", (void *)test_alloc },   { "kn_rt_free", (void *)test_free },
    { "kn_rt_parallel", (void *)test_parallel }, { "kn_rt_lock", (void *)test_lock }, { "kn_rt_unlock",
      (void *)test_unlock },
    { "kn_rt_stage", (void *)test_stage },
};
/* clang-format on */

/* ---- Compiling and comparing ---- */

static inline void lowered_show(Lowered *l, EmitKind kind)
{
    const CodegenOptions o = { .targets = target_table, .target_count = 1 };
    Emitted              out, error;
    if (backend->emit(&l->p, &o, kind, &out, &error))
        puts(out.bytes);
    backend->release(&out);
    backend->release(&error);
}

/* Compiles and calls it with these symbols; the status, or -1 where it could not be compiled or loaded. */
static inline int lowered_run_with(Lowered *l, const CodegenOptions *options, const Symbol *symbols, int symbol_count,
                                   const char *what)
{
    Emitted object, error;
    if (!backend->emit(&l->p, options, EMIT_OBJECT, &object, &error)) {
        CHECK(false, "%s: %s", what, error.bytes ? error.bytes : "no text");
        backend->release(&error);
        backend->release(&object);
        return -1;
    }
    void *loaded = backend->load(object.bytes, object.size, symbols, symbol_count, &error);
    int   status = -1;
    if (loaded) {
        CompiledFunction *f;
        *(void **)&f = backend->lookup(loaded, l->p.name);
        CHECK(f, "%s: the function is not found", what);
        const kn_buffer *given[MOST_BUFFERS];
        for (int i = 0; i < l->p.port_count; i++)
            given[i] = &l->ports[i];
        if (f)
            status = f(NULL, given, l->params);
    } else {
        CHECK(false, "%s: %s", what, error.bytes ? error.bytes : "no text");
    }
    if (loaded && l->p.kernels.count)
        kn_rt_device_forget(backend->lookup(loaded, "test.kernels"));
    backend->release(&object);
    backend->release(&error);
    backend->unload(loaded);
    return status;
}

static inline int lowered_run(Lowered *l, const CodegenOptions *options, const char *what)
{
    return lowered_run_with(l, options, test_symbols, sizeof test_symbols / sizeof *test_symbols, what);
}

static inline bool same_element(kn_type t, const char *a, const char *b)
{
    if (!memcmp(a, b, kn_type_size(t)))
        return true;
    return type_is_float(t) && isnan(type_load_float(t, a)) && isnan(type_load_float(t, b));
}

/* The first element of an output that differs, or -1. */
static inline int64_t lowered_difference(const Lowered *l, const Buffer *b)
{
    const size_t size = kn_type_size(b->type);
    for (int64_t i = 0; i < l->count[b->id]; i++)
        if (!same_element(b->type, (const char *)l->ports[b->id].data + (size_t)i * size,
                          l->expected[b->id] + (size_t)i * size))
            return i;
    return -1;
}

/* Each port of what was compiled against the evaluator's. */
static inline void lowered_differences(const Lowered *l, const char *what)
{
    for (int i = 0; i < l->p.port_count; i++) {
        const Buffer *b    = l->p.buffers.at[i];
        const size_t  size = kn_type_size(b->type);
        const int64_t at   = lowered_difference(l, b);
        const size_t  skip = (size_t)(at < 0 ? 0 : at) * size;
        const Lane    got  = lane_load(b->type, (char *)l->ports[i].data + skip),
                   wanted  = lane_load(b->type, l->expected[i] + skip);
        CHECK(at < 0, "%s: %s[%lld] is %s %lld %g, not %lld %g", what, b->name, (long long)at, kn_type_name(b->type),
              (long long)got.i, got.f, (long long)wanted.i, wanted.f);
    }
}

/* Compiled must give what the evaluator gives: plain, and in `modes` 2 with each access checked too. */
static inline void lowered_compare(Lowered *l, int modes, const char *what)
{
    Evaluator ev = { .l = l };
    execute(&ev, l->p.body);
    CHECK(!ev.outside, "%s: the test itself leaves its buffers", what);
    for (int mode = 0; mode < modes; mode++) {
        const CodegenOptions o      = { .targets = lowered_target, .target_count = 1, .check_access = mode == 1 };
        const int            status = lowered_run(l, &o, what);
        CHECK(status == 0, "%s: status %d %s", what, status, rt_message);
        if (status == 0)
            lowered_differences(l, what);
        CHECK(rt_blocks == 0 && rt_locks == 0, "%s: %d blocks and %d locks are left", what, rt_blocks, rt_locks);
    }
}

#endif
