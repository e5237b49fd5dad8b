/* SPDX-License-Identifier: MIT */
/* Open addressing with linear probing; at most half full. */
#include "base/map.h"

static size_t slot(const Map *m, const void *key)
{
    size_t i = (size_t)(((uintptr_t)key >> 4) * 0x9E3779B97F4A7C15u >> 20) & (m->capacity - 1);
    while (m->keys[i] && m->keys[i] != key)
        i = (i + 1) & (m->capacity - 1);
    return i;
}

void map_init(Map *m, Arena *arena)
{
    *m = (Map){ .arena = arena };
}

static MapValue value_of(const Map *m, const void *key)
{
    return m->capacity ? m->values[slot(m, key)] : (MapValue){ .kept = NULL };
}

const void *map_get(const Map *m, const void *key)
{
    return value_of(m, key).kept;
}

void *map_get_mutable(const Map *m, const void *key)
{
    return value_of(m, key).mutable;
}

/* The map in twice the space; unchanged if there is no memory. */
static void map_grow(Map *m)
{
    const Map    old      = *m;
    const size_t capacity = old.capacity ? old.capacity * 2 : 16;
    const void **keys     = ARENA_ARRAY(m->arena, const void *, capacity);
    m->values             = ARENA_ARRAY(m->arena, MapValue, capacity);
    m->keys               = keys;
    m->capacity           = capacity;
    for (size_t i = 0; i < old.capacity; i++)
        if (old.keys[i]) {
            const size_t at = slot(m, old.keys[i]);
            m->keys[at]     = old.keys[i];
            m->values[at]   = old.values[i];
        }
}

static void put(Map *m, const void *key, MapValue value)
{
    if (2 * (m->count + 1) > m->capacity)
        map_grow(m);
    const size_t at = slot(m, key);
    m->count += !m->keys[at];
    m->keys[at]   = key;
    m->values[at] = value;
}

void map_set(Map *m, const void *key, const void *value)
{
    put(m, key, (MapValue){ .kept = value });
}

void map_set_mutable(Map *m, const void *key, void *value)
{
    put(m, key, (MapValue){ .mutable = value });
}
