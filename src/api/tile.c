/* SPDX-License-Identifier: MIT */
/* kn_tile: loads libkiln-poly when a C file is first tiled, and hands it the call. What it makes for Kiln's own backend
 * is compiled here, and put into a library with the runtime. */
#include "api/archive.h"
#include "api/backend.h"
#include "api/compile.h"
#include "poly/poly.h"

#include <dlfcn.h>

typedef struct TileCall {
    kn_context            *cx;
    const char            *name, *text;
    size_t                 length;
    const kn_tile_options *options;
    const char            *result, *explained;
    Bytes                  archive;
    const Codegen         *codegen;
    Emitted                held; /* what the backend gave last */
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

/* A library of the functions that the regions call, and the runtime. */
static bool compile_programs(TileCall *call, const PolyPrograms *programs)
{
    static const kn_options defaults;
    kn_context             *cx = call->cx;
    Targets                 targets;
    call->codegen = backend_load(cx, backend_emitting(EMIT_OBJECT));
    if (!call->codegen || !targets_parse(cx, NULL, arch_table[target_find(NULL)->arch].ahead, &targets) ||
        !companion_read(cx, &cx->call, RUNTIME_ARCHIVE, &call->archive))
        return false;
    for (size_t i = 0; i < programs->count; i++) {
        const Program *p    = programs->at[i];
        const char    *name = arena_printf(&cx->call, "%s.o", p->name);
        if (!compile_emit(call->codegen, p, &defaults, &targets, EMIT_OBJECT, false, &call->held))
            return false;
        const Bytes object = { call->held.bytes, call->held.size };
        if (!archive_make(&cx->call, name, object, p->name, call->archive, &call->archive)) {
            diag_status(cx, KN_ERROR_FILE, RUNTIME_ARCHIVE " is damaged: build or install Kiln again");
            return false;
        }
        call->codegen->release(&call->held);
    }
    return true;
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
    if (call->result && given.programs.count && !compile_programs(call, &given.programs))
        call->result = NULL;
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
    const bool done = context_call(cx, tile, &call);
    if (call.held.bytes)
        call.codegen->release(&call.held);
    if (!done || cx->error_count)
        return NULL;
    if (options && options->archive)
        *options->archive = call.archive.at;
    if (options && options->archive_size)
        *options->archive_size = call.archive.size;
    if (explained)
        *explained = call.explained;
    return call.result;
}
