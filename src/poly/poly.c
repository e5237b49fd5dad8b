/* SPDX-License-Identifier: MIT */
/* `kiln tile` from end to end: regions are read, modelled, tiled and proved; code takes their place in the file.
 *
 * Takes   a C file and options.
 * Gives   the file with its regions replaced; all other bytes are as they were. */
#include "poly/poly.h"

#include "poly/source/source.h"

/* The file with `texts` in place of its regions. */
static const char *splice(Arena *arena, const Source *source, const Regions *regions, const char *const *texts)
{
    Text   t;
    size_t at = 0;
    text_init(&t, arena);
    for (size_t i = 0; i < regions->items.count; i++) {
        const Region *r = regions->items.at[i];
        text_add_n(&t, source->text + at, r->begin - at);
        text_add(&t, texts[i]);
        at = r->end;
    }
    text_add_n(&t, source->text + at, source->length - at);
    return text_string(&t);
}

static const char *tile(PolyCall *call)
{
    Regions     regions      = { 0 };
    const char *preprocessed = source_preprocess(call->cx, call->arena, call->source, call->options);
    if (!preprocessed || !source_regions(call->cx, call->arena, call->source, preprocessed, &regions))
        return NULL;
    const char **texts = ARENA_ARRAY(call->arena, const char *, regions.items.count);
    for (size_t i = 0; i < regions.items.count; i++) {
        Text t;
        text_init(&t, call->arena);
        region_print(&t, regions.items.at[i]);
        texts[i] = text_string(&t);
    }
    return splice(call->arena, call->source, &regions, texts);
}

__attribute__((visibility("default"))) const Poly *kiln_poly(void);

const Poly *kiln_poly(void)
{
    static const Poly poly = { .tile = tile };
    return &poly;
}
