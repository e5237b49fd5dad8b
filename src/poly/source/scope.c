/* SPDX-License-Identifier: MIT */
/* The names in scope: what is declared hides what has its name outside, until its block ends. */
#include "poly/source/parser.h"

void scope_begin(Parser *p)
{
    p->depth++;
}

void scope_end(Parser *p)
{
    while (p->newest && p->newest->depth == p->depth) {
        CEntry *e = p->newest;
        map_set_mutable(e->kind == ENTRY_TAG ? &p->tags : &p->names, e->name, e->shadowed);
        p->newest = e->previous;
    }
    p->depth--;
}

void scope_add(Parser *p, CEntry *entry)
{
    Map *map        = entry->kind == ENTRY_TAG ? &p->tags : &p->names;
    entry->depth    = p->depth;
    entry->shadowed = map_get_mutable(map, entry->name);
    entry->previous = p->newest;
    p->newest       = entry;
    map_set_mutable(map, entry->name, entry);
}

CEntry *scope_find(const Parser *p, const char *name)
{
    return map_get_mutable(&p->names, name);
}

CEntry *scope_find_tag(const Parser *p, const char *name)
{
    return map_get_mutable(&p->tags, name);
}
