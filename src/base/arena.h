/* SPDX-License-Identifier: MIT */
/* Memory that is freed at once.
 *
 * An arena hands out zeroed memory and frees all of it together. All memory of the library comes from
 * arenas, and all arenas draw on their context: its allocator, its limit. Running out does not return:
 * it bails out to the innermost context_try (context.h), which frees what was begun. So code that allocates
 * never checks, and memory exhaustion is an error return at the interface. */
#ifndef KILN_BASE_ARENA_H
#define KILN_BASE_ARENA_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "kiln.h"

typedef struct ArenaBlock ArenaBlock;

typedef struct Arena Arena;
struct Arena {
    kn_context *cx;
    ArenaBlock *blocks;
    char       *at, *end;
    size_t      room;  /* of the next block */
    Arena      *outer; /* of a scratch arena: the one begun before it */
};

void arena_init(Arena *a, kn_context *cx);
void arena_free(Arena *a);
/* An arena on the stack of a function, from begin to end. Bailing out of the function ends it too. */
void scratch_begin(Arena *a, kn_context *cx);
void scratch_end(Arena *a);
/* Moves the blocks of `from` to `to`; `from` is empty afterwards. */
void arena_move(Arena *to, Arena *from);

/* Zeroed, aligned for any type (64 bytes for blocks of a page and more). Bails out if there is no memory. */
void *arena_alloc(Arena *a, size_t size);
/* count * size with an overflow check. */
void                                       *arena_array(Arena *a, size_t count, size_t size);
char                                       *arena_strdup(Arena *a, const char *s);
char                                       *arena_strndup(Arena *a, const char *s, size_t n);
__attribute__((format(printf, 2, 3))) char *arena_printf(Arena *a, const char *format, ...);

#define ARENA_NEW(arena, T)      ((T *)arena_alloc(arena, sizeof(T)))
#define ARENA_ARRAY(arena, T, n) ((T *)arena_array(arena, n, sizeof(T)))

#endif
