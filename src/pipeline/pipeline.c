/* SPDX-License-Identifier: MIT */
/* Pipelines: creation, adding functions, finding callees. */
#include "pipeline/pipeline.h"

#include <stdio.h>
#include <sys/stat.h>

static void free_owned(kn_context *cx, Owned *o)
{
    (void)cx;
    pipeline_free((kn_pipeline *)(void *)o, false);
}

kn_pipeline *pipeline_new(kn_context *cx, const char *name)
{
    kn_pipeline *p = context_allocate(cx, sizeof *p);
    if (!p) {
        diag_status(cx, KN_ERROR_LIMIT, "out of memory");
        return NULL;
    }
    p->owned.free = free_owned;
    p->cx         = cx;
    p->name       = name;
    context_own(cx, &p->owned);
    arena_init(&p->arena, cx);
    expr_pool_init(&p->exprs, cx, &p->arena);
    return p;
}

void pipeline_on_free(kn_pipeline *p, OnFree *c)
{
    c->next    = p->on_free;
    p->on_free = c;
}

void pipeline_free(kn_pipeline *p, bool keep)
{
    for (OnFree *c = p->on_free; c; c = c->next)
        c->run(c);
    context_disown(p->cx, &p->owned);
    if (keep)
        arena_move(&p->cx->call, &p->arena);
    else
        arena_free(&p->arena);
    context_release(p->cx, p);
}

void kn_pipeline_free(kn_pipeline *p)
{
    if (p)
        pipeline_free(p, true); /* the last diagnostics may point into its text */
}

Func *pipeline_add_func(kn_pipeline *p, FuncKind kind, const char *name, Loc loc, int rank, const char *const *args)
{
    Func *f = ARENA_NEW(&p->arena, Func);
    f->kind = kind;
    f->name = name;
    f->loc  = loc;
    f->rank = rank;
    f->id   = (int)p->funcs.count;
    f->args = ARENA_ARRAY(&p->arena, const char *, (size_t)rank);
    if (rank)
        memcpy(f->args, args, (size_t)rank * sizeof *args);
    vec_push(&p->arena, &p->funcs, f);
    return f;
}

bool pipeline_uses_size(const kn_pipeline *p, const Func *input)
{
    for (size_t i = 0; i < p->exprs.capacity; i++) {
        const Expr *e = p->exprs.table[i];
        if (e && (e->op == EX_DIM_MIN || e->op == EX_DIM_EXTENT) && e->u.call.func == input)
            return true;
    }
    return false;
}

/* ---- Files ------------------------------------------------------------------------------ */

static const char *read_from_disk(kn_pipeline *p, const char *path, size_t *size)
{
    struct stat about;
    if (stat(path, &about) || !S_ISREG(about.st_mode)) /* a folder has no text, a pipe may never end */
        return NULL;
    FILE *file = fopen(path, "rb");
    if (!file)
        return NULL;
    /* The size is taken first: nothing may bail out while the file is open. */
    long length = fseek(file, 0, SEEK_END) ? -1 : ftell(file);
    fclose(file);
    if (length < 0)
        return NULL;
    char *text = arena_alloc(&p->arena, (size_t)length + 1);
    file       = fopen(path, "rb");
    if (!file)
        return NULL;
    *size         = fread(text, 1, (size_t)length, file);
    const bool ok = !ferror(file) && *size == (size_t)length;
    fclose(file);
    return ok ? text : NULL;
}

typedef struct CopyCall {
    Arena      *arena;
    const char *text;
    size_t      size;
} CopyCall;

static void copy_text(void *arg)
{
    CopyCall *call = arg;
    call->text     = arena_strndup(call->arena, call->text, call->size);
}

const char *pipeline_read_file(kn_pipeline *p, const char *path, size_t *size)
{
    const kn_config *c = &p->cx->config;
    if (!c->read_file)
        return read_from_disk(p, path, size);
    char *given = c->read_file(c->user, path, size);
    if (!given)
        return NULL;
    CopyCall   call = { &p->arena, given, *size };
    const bool ok   = context_try(p->cx, copy_text, &call);
    c->release(c->user, given);
    return ok ? call.text : NULL;
}

/* ---- Walks ------------------------------------------------------------------------------ */

/* Calls visit on every root expression of a definition: values, arguments, bounds, conditions, stage arguments. */
static void func_roots(const Func *f, void (*visit)(const Expr *e, void *user), void *user)
{
    for (int i = 0; f->values && i < f->component_count; i++)
        visit(f->values[i], user);
    for (int k = 0; k < f->update_count; k++) {
        const Update *u = &f->updates[k];
        for (int i = 0; i < u->rvar_count; i++) {
            visit(u->rvars[i].lo, user);
            visit(u->rvars[i].hi, user);
        }
        if (u->where)
            visit(u->where, user);
        for (int d = 0; d < f->rank; d++)
            visit(u->args[d], user);
        for (int i = 0; i < f->component_count; i++)
            visit(u->values[i], user);
    }
    for (int i = 0; i < f->stage_arg_count; i++)
        if (f->stage_args[i].value)
            visit(f->stage_args[i].value, user);
}

typedef struct CalleeWalk {
    Arena      *arena;
    const Func *self;
    FuncList   *out;
    Map         seen; /* expressions and functions */
} CalleeWalk;

static bool first_time(CalleeWalk *w, const void *what)
{
    if (map_get(&w->seen, what))
        return false;
    map_set(&w->seen, what, w);
    return true;
}

static void add_callee(CalleeWalk *w, const Func *g)
{
    if (g != w->self && first_time(w, g))
        vec_push(w->arena, &w->out->items, g);
}

static void walk_callees(const Expr *e, void *user)
{
    CalleeWalk *w = user;
    if (!first_time(w, e))
        return;
    if (e->op == EX_CALL || e->op == EX_DIM_MIN || e->op == EX_DIM_EXTENT)
        add_callee(w, e->u.call.func);
    for (uint32_t i = 0; i < e->count; i++)
        walk_callees(e->args[i], user);
}

void def_roots(const Func *f, int update, bool bounds, void (*visit)(const Expr *e, void *user), void *user)
{
    const Update *u = update < 0 ? NULL : &f->updates[update];
    for (int i = 0; u && i < u->rvar_count; i++) {
        visit(u->rvars[i].lo, user);
        visit(u->rvars[i].hi, user);
    }
    if (bounds)
        return;
    if (u && u->where)
        visit(u->where, user);
    for (int d = 0; u && d < f->rank; d++)
        visit(u->args[d], user);
    const Expr *const *values = u ? u->values : f->values;
    for (int i = 0; values && i < f->component_count; i++)
        visit(values[i], user);
    for (int i = 0; !u && i < f->stage_arg_count; i++)
        if (f->stage_args[i].value)
            visit(f->stage_args[i].value, user);
}

typedef struct DefVisit {
    ExprPool *pool;
    void (*visit)(const Expr *e, void *user);
    void *user;
} DefVisit;

static void visit_root(const Expr *e, void *user)
{
    const DefVisit *v = user;
    expr_visit(v->pool, e, v->visit, v->user);
}

void def_visit(ExprPool *pool, const Func *f, int update, void (*visit)(const Expr *e, void *user), void *user)
{
    DefVisit v = { pool, visit, user };
    def_roots(f, update, false, visit_root, &v);
}

void func_callees(Arena *arena, const Func *f, FuncList *out)
{
    CalleeWalk w = { .arena = arena, .self = f, .out = out };
    map_init(&w.seen, arena);
    *out = (FuncList){ 0 };
    func_roots(f, walk_callees, &w);
    for (int i = 0; i < f->stage_arg_count; i++)
        if (f->stage_args[i].func)
            add_callee(&w, f->stage_args[i].func);
}
