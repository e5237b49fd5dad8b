/* SPDX-License-Identifier: MIT */
/* Hash tables from a pointer to a pointer, in an arena. Interned names and hash-consed expressions are
 * equal iff their pointers are, so this is the only kind of table needed. */
#ifndef KILN_BASE_MAP_H
#define KILN_BASE_MAP_H

#include "base/arena.h"

/* The value of a key: const, or mutable by whoever looks it up. */
typedef union MapValue {
    const void *kept;
    void *mutable;
} MapValue;

typedef struct Map {
    Arena       *arena;
    const void **keys;
    MapValue    *values;
    size_t       count, capacity;
} Map;

void map_init(Map *m, Arena *arena);

const void *map_get(const Map *m, const void *key);              /* NULL if absent */
void        map_set(Map *m, const void *key, const void *value); /* key not NULL */

/* The same for a map whose values are changed after they were set. map_get may read them; map_get_mutable is only for
 * such maps. So const is kept. */
void *map_get_mutable(const Map *m, const void *key);
void  map_set_mutable(Map *m, const void *key, void *value);

#endif
