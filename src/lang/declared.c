/* SPDX-License-Identifier: MIT */
/* What a program declares for its surroundings, by name: consts and types for kn_define, externs for kn_extern_*. */
#include "lang/elab.h"

enum { DEFINABLE = 1 << ENTRY_CONST | 1 << ENTRY_TYPE, EXTERNAL = 1 << ENTRY_EXTERN | 1 << ENTRY_STAGE };

/* The index-th entry of these kinds (bits) at the top of the program; NULL beyond the last. *count, if given, gets how
 * many there are. */
static const Entry *declared(const kn_pipeline *p, unsigned kinds, int index, int *count)
{
    const Entry *found = NULL;
    int          n     = 0;
    const Elab  *el    = p ? elab_of(p) : NULL;
    const size_t all   = el ? el->global->order.count : 0;
    for (size_t i = 0; i < all; i++) {
        const Entry *e = el->global->order.at[i];
        if (!(kinds >> e->kind & 1))
            continue;
        if (n++ == index)
            found = e;
    }
    if (count)
        *count = n;
    return found;
}

static int declared_count(const kn_pipeline *p, unsigned kinds)
{
    int count;
    declared(p, kinds, -1, &count);
    return count;
}

static const char *declared_name(const kn_pipeline *p, unsigned kinds, int index)
{
    const Entry *e = declared(p, kinds, index, NULL);
    return e ? e->name : NULL;
}

int kn_const_count(const kn_pipeline *p)
{
    return declared_count(p, DEFINABLE);
}

const char *kn_const_name(const kn_pipeline *p, int index)
{
    return declared_name(p, DEFINABLE, index);
}

int kn_extern_count(const kn_pipeline *p)
{
    return declared_count(p, EXTERNAL);
}

const char *kn_extern_name(const kn_pipeline *p, int index)
{
    return declared_name(p, EXTERNAL, index);
}

bool kn_extern_is_stage(const kn_pipeline *p, int index)
{
    const Entry *e = declared(p, EXTERNAL, index, NULL);
    return e && e->kind == ENTRY_STAGE;
}
