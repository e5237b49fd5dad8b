/* SPDX-License-Identifier: MIT */
/* The state of the backend: its memory and errors, the stack of scopes, the names. */
#include "codegen/llvm/llvm.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Errors and memory ---- */

static void error_print(Emitted *e, const char *format, va_list args)
{
    va_list again;
    va_copy(again, args);
    const int n = vsnprintf(NULL, 0, format, again);
    va_end(again);
    char *text = malloc((size_t)(n < 0 ? 0 : n) + 1);
    if (!text)
        return;
    text[0] = 0;
    vsnprintf(text, (size_t)(n < 0 ? 0 : n) + 1, format, args);
    free(e->bytes);
    *e = (Emitted){ .bytes = text, .size = strlen(text) };
}

bool error_set(Emitted *e, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    error_print(e, format, args);
    va_end(args);
    return false;
}

void gen_fail(Gen *g, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    error_print(g->error, format, args);
    va_end(args);
    longjmp(g->bail, 1);
}

/* A slot of g->blocks for one more block. */
static void **block_slot(Gen *g)
{
    if (g->block_count == g->block_capacity) {
        const size_t capacity = g->block_capacity ? 2 * g->block_capacity : 64;
        void       **grown    = realloc(g->blocks, capacity * sizeof *grown);
        if (!grown)
            gen_fail(g, "out of memory");
        g->blocks         = grown;
        g->block_capacity = capacity;
    }
    return &g->blocks[g->block_count];
}

void *gen_alloc(Gen *g, size_t size)
{
    void **slot = block_slot(g);
    *slot       = calloc(1, size ? size : 1);
    if (!*slot)
        gen_fail(g, "out of memory");
    g->block_count++;
    return *slot;
}

void *gen_grow(Gen *g, void *at, size_t count, size_t size)
{
    size_t i = g->block_count;
    while (at && i > 0 && g->blocks[i - 1] != at)
        i--;
    void **slot  = at ? &g->blocks[i - 1] : block_slot(g);
    void  *grown = realloc(at, count * size);
    if (!grown)
        gen_fail(g, "out of memory");
    if (!at)
        g->block_count++;
    *slot = grown;
    return grown;
}

/* ---- Scopes ---- */

void scope_push(Gen *g, LLVMBasicBlockRef block)
{
    if (g->depth + 1 == g->scope_capacity) {
        g->scope_capacity *= 2;
        g->scopes = gen_grow(g, g->scopes, (size_t)g->scope_capacity, sizeof *g->scopes);
    }
    if (!block)
        block = g->scopes[g->depth].block;
    const int loop        = g->scopes[g->depth].loop;
    g->scopes[++g->depth] = (CodeScope){ .block = block, .serial = ++g->serial, .loop = loop };
}

void scope_push_loop(Gen *g, LLVMBasicBlockRef block)
{
    scope_push(g, block);
    g->scopes[g->depth].loop = g->depth;
}

void scope_pop(Gen *g)
{
    g->depth--;
    g->scopes[g->depth].block = g->scopes[g->depth + 1].block;
}

LLVMBasicBlockRef block_new(Gen *g, const char *name)
{
    return LLVMAppendBasicBlockInContext(g->cx, g->f->f, name);
}

void go_to(Gen *g, LLVMBasicBlockRef block)
{
    g->scopes[g->depth].block = block;
}

void at_level(Gen *g, int level)
{
    LLVMBasicBlockRef block = g->scopes[level].block;
    LLVMValueRef      last  = LLVMGetBasicBlockTerminator(block);
    if (last)
        LLVMPositionBuilderBefore(g->b, last);
    else
        LLVMPositionBuilderAtEnd(g->b, block);
}

/* ---- Names ---- */

static size_t name_hash(const char *name, size_t capacity)
{
    return (size_t)((uint64_t)(uintptr_t)name * 0x9E3779B97F4A7C15u >> 20) & (capacity - 1);
}

/* Its place in the table, or the empty one where it would be. */
static NameBinding *binding_slot(Function *f, const char *name)
{
    size_t i = name_hash(name, f->binding_capacity);
    while (f->bindings[i].name && f->bindings[i].name != name)
        i = (i + 1) & (f->binding_capacity - 1);
    return &f->bindings[i];
}

static void bindings_grow(Gen *g, Function *f)
{
    const NameBinding *old = f->bindings;
    const size_t       n   = f->binding_capacity;
    f->binding_capacity    = n ? 2 * n : 64;
    f->bindings            = gen_alloc(g, f->binding_capacity * sizeof *f->bindings);
    for (size_t i = 0; i < n; i++)
        if (old[i].name)
            *binding_slot(f, old[i].name) = old[i];
}

/* What is known of expressions with a name holds no longer when the name is bound to something of another kind. */
void forget_coordinates(Gen *g)
{
    memset(g->coordinate, 0, g->program->exprs->count * sizeof *g->coordinate);
}

NameBinding *bind(Gen *g, const char *name, ShapedValue v, bool coordinate)
{
    Function *f = g->f;
    if (2 * f->binding_count >= f->binding_capacity)
        bindings_grow(g, f);
    NameBinding *slot = binding_slot(f, name);
    f->binding_count += !slot->name;
    if (slot->name && slot->coordinate != coordinate)
        forget_coordinates(g);
    *slot = (NameBinding){ .name = name, .value = v, .coordinate = coordinate, .live = true };
    return slot;
}

void unbind(Gen *g, const char *name)
{
    binding_slot(g->f, name)->live = false;
}

NameBinding *binding_find(Gen *g, const char *name)
{
    if (!g->f->binding_capacity)
        return NULL;
    NameBinding *slot = binding_slot(g->f, name);
    return slot->name && slot->live ? slot : NULL;
}
