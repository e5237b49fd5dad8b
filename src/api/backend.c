/* SPDX-License-Identifier: MIT */
/* Finding what belongs to this library: backends, and the runtime that built pipelines are linked with.
 *
 * Both are looked for by name in the folders where this library can be: beside it (or the program it is part of), above
 * it (the build folder, seen from its tests), in the library folder of the same installation, in the library folder of
 * the build's options. Only then does the system's own search for libraries have its turn.
 *
 * Nothing is kept in static memory: dlopen gives the same library again, and RTLD_NODELETE lets it stay when contexts
 * go. */
#include "api/backend.h"

#include <dlfcn.h>
#include <kiln_places.h>
#include <unistd.h>

/* Where to look, seen from the own folder; an absolute path is taken as it is. */
static const char *const places[] = {
    "", "../", KN_LIBDIR_FROM_BIN "/", KN_LIBDIR "/", KN_DATADIR_FROM_BIN "/", KN_DATADIR "/"
};
enum { PLACE_COUNT = sizeof places / sizeof *places };

/* The folder of the file this code is in, with its last slash; "" if that is not known. */
static const char *own_folder(Arena *arena)
{
    Dl_info about;
    if (!dladdr(places, &about) || !about.dli_fname)
        return "";
    const char *name = about.dli_fname;
    if (!strchr(name, '/')) { /* a program found through PATH: what it was called as says nothing */
        char          path[4096];
        const ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);
        if (n <= 0)
            return "";
        path[n] = 0;
        name    = arena_strdup(arena, path);
    }
    return arena_strndup(arena, name, (size_t)(strrchr(name, '/') - name) + 1);
}

static const char *place(Arena *arena, const char *own, int i, const char *name)
{
    return arena_printf(arena, "%s%s%s", places[i][0] == '/' ? "" : own, places[i], name);
}

const char *companion_find(Arena *arena, const char *name)
{
    const char *own = own_folder(arena);
    for (int i = 0; i < PLACE_COUNT; i++) {
        const char *path = place(arena, own, i, name);
        if (access(path, R_OK) == 0)
            return path;
    }
    return NULL;
}

/* The backend in that file; NULL, with the reason in *why, if it cannot be used. */
static const Codegen *open_backend(Arena *arena, const char *path, const char **why)
{
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (!library) {
        const char *reason = dlerror();
        *why               = arena_strdup(arena, reason ? reason : "unknown error");
        return NULL;
    }
    void *symbol = dlsym(library, "kiln_codegen");
    if (!symbol) {
        *why = arena_printf(arena, "%s is not Kiln's backend: it has no function kiln_codegen", path);
        return NULL;
    }
    CodegenEntry *entry;
    memcpy(&entry, &symbol, sizeof entry); /* POSIX promises that dlsym's pointer can hold a function's */
    const Codegen *codegen = entry();
    if (!codegen)
        *why = arena_printf(arena, "%s could not be started", path);
    return codegen;
}

bool companion_read(kn_context *cx, Arena *arena, const char *name, Bytes *out)
{
    const char *path = companion_find(arena, name);
    if (path && file_read_whole(arena, path, out))
        return true;
    diag_status(cx, KN_ERROR_FILE,
                "%s, which belongs to Kiln, is not beside its library: build or install Kiln as a whole", name);
    return false;
}

/* The backend in its library, wherever that is. */
static const Codegen *find_backend(kn_context *cx, const char *library)
{
    const char    *found = companion_find(&cx->call, library), *why = "";
    const Codegen *codegen = open_backend(&cx->call, found ? found : library, &why);
    if (!codegen)
        diag_status(cx, KN_ERROR_FILE,
                    "the compiler's backend cannot be loaded (%s): build or install Kiln as a whole, so that %s is "
                    "beside %s or in %s, and the "
                    "library of LLVM is there; without it the interpreter still runs: kn_options.interpret, or kiln "
                    "run --interpret",
                    why, library, *own_folder(&cx->call) ? own_folder(&cx->call) : "the program", KN_LIBDIR);
    return codegen;
}

const Codegen *backend_load(kn_context *cx, const Backend *backend)
{
    const Codegen *codegen = map_get(&cx->slots, backend);
    if (codegen)
        return codegen;
    codegen = backend->library ? find_backend(cx, backend->library) : backend->entry();
    if (codegen)
        map_set(&cx->slots, backend, codegen);
    return codegen;
}
