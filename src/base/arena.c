/* SPDX-License-Identifier: MIT */
/* Memory that is freed at once: blocks in a list, small requests cut from the newest. */
#include "base/context.h"

#include <stdarg.h>
#include <stdio.h>

enum { ALIGNMENT = 64, FIRST_BLOCK = 1 << 10, BLOCK_SIZE = 1 << 16 };

struct ArenaBlock {
    ArenaBlock *next;
    char        padding[ALIGNMENT - sizeof(ArenaBlock *)];
};

void arena_init(Arena *a, kn_context *cx)
{
    *a = (Arena){ .cx = cx, .room = FIRST_BLOCK };
}

void arena_free(Arena *a)
{
    while (a->blocks) {
        ArenaBlock *next = a->blocks->next;
        context_release(a->cx, a->blocks);
        a->blocks = next;
    }
    a->at = a->end = NULL;
}

void scratch_begin(Arena *a, kn_context *cx)
{
    *a            = (Arena){ .cx = cx, .outer = cx->scratches };
    cx->scratches = a;
}

void scratch_end(Arena *a)
{
    a->cx->scratches = a->outer;
    arena_free(a);
}

void arena_move(Arena *to, Arena *from)
{
    ArenaBlock **end = &from->blocks;
    while (*end)
        end = &(*end)->next;
    *end         = to->blocks;
    to->blocks   = from->blocks;
    from->blocks = NULL;
    from->at = from->end = NULL;
}

/* A block with room for `size` bytes after its header. */
static char *block_new(Arena *a, size_t size)
{
    static const char why[] =
        "out of memory: what was asked for needs more than the limit of this context (kn_config.memory_limit)";
    const bool  fits = size <= SIZE_MAX - sizeof(ArenaBlock);
    ArenaBlock *b    = fits ? context_allocate(a->cx, size + sizeof *b) : NULL;
    if (!b && fits)
        b = context_borrow(a->cx, size + sizeof *b, why);
    if (!b)
        context_bail(a->cx, KN_ERROR_LIMIT, why);
    b->next   = a->blocks;
    a->blocks = b;
    return (char *)(b + 1);
}

void *arena_alloc(Arena *a, size_t size)
{
    const size_t unit = sizeof(max_align_t);
    if (size >= BLOCK_SIZE / 4)
        return block_new(a, size);
    size = (size + unit - 1) / unit * unit;
    if ((size_t)(a->end - a->at) < size) {
        const size_t room = a->room > size ? a->room : size;
        a->at             = block_new(a, room);
        a->end            = a->at + room;
        a->room           = 2 * room < BLOCK_SIZE ? 2 * room : BLOCK_SIZE; /* many arenas stay small */
    }
    void *p = a->at;
    a->at += size;
    return p;
}

void *arena_array(Arena *a, size_t count, size_t size)
{
    if (size && count > SIZE_MAX / size)
        context_bail(a->cx, KN_ERROR_LIMIT, "out of memory: an array is larger than the address space");
    return arena_alloc(a, count * size);
}

char *arena_strndup(Arena *a, const char *s, size_t n)
{
    char *copy = arena_alloc(a, n + 1);
    memcpy(copy, s, n);
    return copy;
}

char *arena_strdup(Arena *a, const char *s)
{
    return arena_strndup(a, s, strlen(s));
}

char *arena_printf(Arena *a, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    const int n = vsnprintf(NULL, 0, format, args);
    va_end(args);
    char *s = arena_alloc(a, (size_t)(n < 0 ? 0 : n) + 1);
    va_start(args, format);
    vsnprintf(s, (size_t)(n < 0 ? 0 : n) + 1, format, args);
    va_end(args);
    return s;
}
