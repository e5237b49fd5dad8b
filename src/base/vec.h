/* SPDX-License-Identifier: MIT */
/* Growing arrays in an arena.
 *
 *     VEC(int) v = { 0 };
 *     vec_push(arena, &v, 3);
 *     for (size_t i = 0; i < v.count; i++) use(v.at[i]);
 */
#ifndef KILN_BASE_VEC_H
#define KILN_BASE_VEC_H

#include "base/arena.h"

#define VEC(T)                                                                                                         \
    struct {                                                                                                           \
        T     *at;                                                                                                     \
        size_t count, capacity;                                                                                        \
    }

/* The array for at least one more element: the old one, or a copy of it in twice the space. */
void *vec_grow(Arena *a, void *at, size_t count, size_t *capacity, size_t size);

#define vec_push(arena, v, value)                                                                                      \
    do {                                                                                                               \
        if ((v)->count == (v)->capacity)                                                                               \
            (v)->at = vec_grow(arena, (v)->at, (v)->count, &(v)->capacity, sizeof *(v)->at);                           \
        (v)->at[(v)->count++] = (value);                                                                               \
    } while (0)

#endif
