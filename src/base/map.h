/* Hash tables from a pointer to a pointer, in an arena. Interned names and hash-consed expressions are
 * equal iff their pointers are, so this is the only kind of table needed. */
#ifndef KILN_BASE_MAP_H
#define KILN_BASE_MAP_H

#include "base/arena.h"

/* What a key stands for: something to read, or something that whoever finds it may change. */
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

/* The same for a map of values that are changed after they were put there. map_get reads them too; map_get_mutable is
 * for no other map, so const is kept. */
void *map_get_mutable(const Map *m, const void *key);
void  map_set_mutable(Map *m, const void *key, void *value);

#endif
