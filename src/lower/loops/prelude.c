/* SPDX-License-Identifier: MIT */
/* Preludes: lets, allocations, conditions and statements that come before or around the code that follows them.
 *
 * Takes   pieces, outermost first, while the code inside is not there yet.
 * Gives   the pieces around the finished code (prelude_close).
 * Holds   while a prelude is open, the simplifier knows the lets and conditions in it. */
#include "lower/loops/build.h"

void prelude_open(Build *b, Prelude *w)
{
    w->opened = b->names.count;
}

/* A let around what follows; what is known of its name is for the caller to push. */
static const char *add_let(Build *b, Prelude *w, const char *name, const Expr *value)
{
    Lower      *lw    = b->lw;
    PreludeItem wrap  = { .kind = PRELUDE_LET, .name = intern(lw->cx, name), .value = value };
    BoundName   scope = { .name = wrap.name, .value = value };
    vec_push(lw->arena, &w->items, wrap);
    vec_push(lw->arena, &b->names, scope);
    w->pushed++;
    return wrap.name;
}

const Expr *prelude_let(Build *b, Prelude *w, const char *name, const Expr *value)
{
    Lower *lw = b->lw;
    value     = simplify(lw->simplifier, value);
    name      = add_let(b, w, name, value);
    simplifier_push_let(lw->simplifier, name, value);
    return value->op == EX_INT || value->op == EX_VAR ? value : expr_var(lw->exprs, (kn_type)value->type, name);
}

const Expr *prelude_let_between(Build *b, Prelude *w, const char *name, const Expr *value, const Expr *min,
                                const Expr *max)
{
    Lower *lw = b->lw;
    name      = add_let(b, w, name, simplify(lw->simplifier, value));
    simplifier_push_range(lw->simplifier, name, min, max);
    return expr_var(lw->exprs, KN_I32, name);
}

void prelude_alloc(Build *b, Prelude *w, const Buffer *buffer, const Expr *count)
{
    PreludeItem wrap = { .kind = PRELUDE_ALLOC, .buffer = buffer, .value = count };
    vec_push(b->lw->arena, &w->items, wrap);
}

void prelude_before(Build *b, Prelude *w, const Stmt *s)
{
    PreludeItem wrap = { .kind = PRELUDE_BEFORE, .stmt = s };
    vec_push(b->lw->arena, &w->items, wrap);
}

void prelude_if(Build *b, Prelude *w, const Expr *condition)
{
    condition        = simplify(b->lw->simplifier, condition);
    PreludeItem wrap = { .kind = PRELUDE_IF, .value = condition };
    vec_push(b->lw->arena, &w->items, wrap);
    simplifier_push_fact(b->lw->simplifier, condition);
    w->pushed++;
}

static const Stmt *alloc_stmt(Arena *a, const Buffer *buffer, const Expr *count, const Stmt *body)
{
    if (!body)
        return NULL;
    Stmt *s         = ARENA_NEW(a, Stmt);
    s->kind         = STMT_ALLOC;
    s->alloc.buffer = buffer;
    s->alloc.count  = count;
    s->alloc.body   = body;
    return s;
}

const Stmt *prelude_close(Build *b, Prelude *w, const Stmt *core)
{
    Arena *a = b->lw->arena;
    for (size_t i = w->items.count; i-- > 0;) {
        const PreludeItem *at = &w->items.at[i];
        switch (at->kind) {
        case PRELUDE_LET: core = stmt_let(a, at->name, at->value, core); break;
        case PRELUDE_ALLOC: core = alloc_stmt(a, at->buffer, at->value, core); break;
        case PRELUDE_BEFORE: core = stmt_pair(a, at->stmt, core); break;
        case PRELUDE_IF: core = stmt_if(a, at->value, core, NULL); break;
        }
    }
    for (; w->pushed; w->pushed--)
        simplifier_pop(b->lw->simplifier);
    b->names.count = w->opened;
    return core;
}

Buffer *build_scratch(Build *b, const char *name, kn_type type)
{
    Lower  *lw     = b->lw;
    Buffer *buffer = ARENA_NEW(lw->arena, Buffer);
    *buffer        = (Buffer){ .name  = intern(lw->cx, name),
                               .id    = (int)lw->program->buffers.count,
                               .kind  = BUFFER_SCRATCH,
                               .type  = type,
                               .dense = -1 };
    vec_push(lw->arena, &lw->program->buffers, buffer);
    return buffer;
}

const Expr *build_load(Build *b, const Buffer *buffer, const Expr *index)
{
    return expr_load(b->lw->exprs, buffer, KN_I32, x_cast(b->lw, KN_I64, index));
}

const Stmt *build_store(Build *b, const Buffer *buffer, const Expr *index, const Expr *value)
{
    return stmt_store(b->lw->arena, buffer, x_cast(b->lw, KN_I64, index), value);
}

const Stmt *build_check(Build *b, kn_status status, const Expr *condition, const char *message)
{
    Stmt *s            = ARENA_NEW(b->lw->arena, Stmt);
    s->kind            = STMT_CHECK;
    s->check.status    = status;
    s->check.condition = condition;
    s->check.message   = message;
    return s;
}
