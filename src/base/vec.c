/* SPDX-License-Identifier: MIT */
/* Growing arrays: doubling, the old array is left to its arena. */
#include "base/vec.h"

void *vec_grow(Arena *a, void *at, size_t count, size_t *capacity, size_t size)
{
    const size_t larger = *capacity ? *capacity * 2 : 8;
    void        *grown  = arena_array(a, larger, size);
    if (count)
        memcpy(grown, at, count * size);
    *capacity = larger;
    return grown;
}
