/* SPDX-License-Identifier: MIT */
/* The C front end on any bytes, taken as preprocessed text: no crash, no leak, no endless loop. What can be said about
 * any text at all:
 *
 *   - regions are read, or there is a diagnostic, which can be printed
 *   - a region that was read and printed, put back where it was, reads as a region that prints the same */
#include "target.h"

#include "poly/source/source.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void demand(bool condition, const char *what, const char *text)
{
    if (condition)
        return;
    fprintf(stderr, "%s\n%s\n", what, text);
    abort();
}

typedef struct Reading {
    kn_context   *cx;
    Arena        *arena;
    const Source *source;
    Regions       regions;
    bool          good;
} Reading;

static void read_regions(void *arg)
{
    Reading *r = arg;
    r->good    = source_regions(r->cx, r->arena, r->source, r->source->text, NULL, &r->regions);
}

static const char *printed(Arena *arena, const Region *region)
{
    Text t;
    text_init(&t, arena);
    region_print(&t, region);
    return text_string(&t);
}

/* The source with every region printed, between its pragmas. */
static const Source *put_back(Reading *r)
{
    Text    t;
    size_t  at = 0;
    Source *s  = ARENA_NEW(r->arena, Source);
    text_init(&t, r->arena);
    for (size_t i = 0; i < r->regions.items.count; i++) {
        const Region *region = r->regions.items.at[i];
        text_add_n(&t, r->source->text + at, region->begin - at);
        text_printf(&t, "#pragma scop\n%s\n#pragma endscop", printed(r->arena, region));
        at = region->end;
    }
    text_add_n(&t, r->source->text + at, r->source->length - at);
    *s = (Source){ r->source->name, text_string(&t), t.count };
    return s;
}

static void read_again(void *arg)
{
    Reading *r     = arg;
    Reading  again = { .cx = r->cx, .arena = r->arena, .source = put_back(r) };
    read_regions(&again);
    demand(again.good, "a region that was printed is not read", again.source->text);
    demand(again.regions.items.count == r->regions.items.count, "a region is lost", again.source->text);
    for (size_t i = 0; i < r->regions.items.count; i++)
        demand(!strcmp(printed(again.arena, r->regions.items.at[i]), printed(again.arena, again.regions.items.at[i])),
               "a region that was printed reads as another", again.source->text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    kn_context *cx   = kn_context_new(&(kn_config){ .memory_limit = (size_t)64 << 20, .quota = 1000000 });
    char       *text = malloc(size + 1);
    if (!cx || !text)
        abort();
    memcpy(text, data, size);
    text[size]          = 0;
    const Source source = { "fuzz.c", text, strlen(text) };
    Arena        arena;
    Reading      reading = { .cx = cx, .arena = &arena, .source = &source };
    arena_init(&arena, cx);
    context_begin(cx);
    const bool ended = context_call(cx, read_regions, &reading);
    if (!ended || !reading.good)
        demand(kn_diagnostic_count(cx) > 0 && *kn_error_text(cx), "an error without a word", text);
    else
        demand(!cx->error_count, "an error with regions", text);
    if (ended && reading.good)
        context_call(cx, read_again, &reading);
    arena_free(&arena);
    kn_context_free(cx);
    free(text);
    return 0;
}
