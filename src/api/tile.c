/* SPDX-License-Identifier: MIT */
/* kn_tile: loads libkiln-poly when a C file is first tiled, and hands it the call. */
#include "api/backend.h"
#include "poly/poly.h"

#include <dlfcn.h>

typedef struct TileCall {
    kn_context            *cx;
    const char            *name, *text;
    size_t                 length;
    const kn_tile_options *options;
    const char            *result, *explained;
} TileCall;

#define LIBRARY "libkiln-poly.so"
static const char slot[] = LIBRARY; /* its address is the key of the loaded library in a context */

static const Poly *poly_load(kn_context *cx)
{
    const Poly *poly = map_get(&cx->slots, slot);
    if (poly)
        return poly;
    const char *found   = companion_find(&cx->call, LIBRARY);
    void       *library = dlopen(found ? found : LIBRARY, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    void       *symbol  = library ? dlsym(library, "kiln_poly") : NULL;
    const char *why     = symbol ? NULL : dlerror();
    if (!symbol) {
        diag_status(
            cx, KN_ERROR_FILE,
            "what tiles loops cannot be loaded (%s): install isl (Debian's libisl-dev), then build and install Kiln "
            "as a whole, so that " LIBRARY " is there",
            why ? why : "it has no function kiln_poly");
        return NULL;
    }
    PolyEntry *entry;
    memcpy(&entry, &symbol, sizeof entry); /* POSIX promises that dlsym's pointer can hold a function's */
    poly = entry();
    map_set(&cx->slots, slot, poly);
    return poly;
}

static void tile(void *arg)
{
    TileCall   *call = arg;
    const Poly *poly = poly_load(call->cx);
    if (!poly)
        return;
    static const kn_tile_options defaults;

    Source *source = ARENA_NEW(&call->cx->call, Source); /* diagnostics point to it */
    source->name   = arena_strdup(&call->cx->call, call->name);
    source->text   = arena_strndup(&call->cx->call, call->text, call->length);
    source->length = call->length;
    PolyCall given = {
        .cx = call->cx, .arena = &call->cx->call, .source = source, .options = call->options ? call->options : &defaults
    };
    call->result    = poly->tile(&given);
    call->explained = given.explained;
}

const char *kn_tile(kn_context *cx, const char *name, const char *text, ptrdiff_t length,
                    const kn_tile_options *options, const char **explained)
{
    if (explained)
        *explained = NULL;
    if (!cx)
        return NULL;
    context_begin(cx);
    if (!name || !text) {
        diag_status(cx, KN_ERROR_ARGUMENT, "kn_tile needs a name and a text");
        return NULL;
    }
    TileCall call = {
        .cx = cx, .name = name, .text = text, .length = length < 0 ? strlen(text) : (size_t)length, .options = options
    };
    if (call.length > KN_MAX_TEXT) {
        diag_status(cx, KN_ERROR_ARGUMENT, "%s is too large: a file has at most %d MiB", name, KN_MAX_TEXT >> 20);
        return NULL;
    }
    if (!context_call(cx, tile, &call) || cx->error_count)
        return NULL;
    if (explained)
        *explained = call.explained;
    return call.result;
}
