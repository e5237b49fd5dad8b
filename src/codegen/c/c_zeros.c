/* SPDX-License-Identifier: MIT */
/* Which arrays begin as zeros.
 *
 * Takes   an allocation of constant size.
 * Gives   whether iterations of a loop in it store in the array under a condition, as lanes do that are masked.
 * Holds   no array is read where it was not written; the zeros are for compilers.
 *
 * clang 15, and with it PoCL 3.1, vectorizes `for (…) if (c) a[0] = v;` to a comparison with what a[0] was before. If
 * that is undefined, so is the comparison, and the value that was stored is lost. Arrays of more than MOST_ZEROS
 * elements are not kept in registers, and what is in memory is some value. */
#include "codegen/c/c.h"

enum { MOST_ZEROS = 64 };

typedef struct Search {
    const Buffer *buffer;
    bool          in_loop, masked, found;
} Search;

static bool is_loop(const Stmt *s)
{
    return s->kind == STMT_FOR && s->loop.kind != LOOP_BLOCK && s->loop.kind != LOOP_THREAD &&
           s->loop.kind != LOOP_LANE;
}

static void find_masked_store(void *user, const Stmt *s)
{
    Search *around = user, inside = *around;
    inside.in_loop |= is_loop(s);
    inside.masked |= inside.in_loop && s->kind == STMT_IF;
    for (int i = 0; s->kind == STMT_STORE && i < s->store.count; i++)
        inside.found |= inside.masked && s->store.places[i].buffer == inside.buffer;
    if (!inside.found)
        stmt_children(s, NULL, find_masked_store, &inside);
    around->found |= inside.found;
}

const char *c_initial(const Stmt *alloc, int64_t count)
{
    Search search = { .buffer = alloc->alloc.buffer };
    if (count <= MOST_ZEROS)
        find_masked_store(&search, alloc->alloc.body);
    return search.found ? " = { 0 }" : "";
}
