/* Hash tables from a pointer to a pointer, in an arena. Interned names and hash-consed expressions are
 * equal iff their pointers are, so this is the only kind of table needed. */
#ifndef KILN_BASE_MAP_H
#define KILN_BASE_MAP_H

#include "base/arena.h"

typedef struct Map {
    Arena       *arena;
    const void **keys;
    void       **values;
    size_t       count, capacity;
} Map;

void  map_init(Map *m, Arena *arena);
void *map_get(const Map *m, const void *key);              /* NULL if absent */
void  map_set(Map *m, const void *key, void *value);       /* key not NULL */

#endif
