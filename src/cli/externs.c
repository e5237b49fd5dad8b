/* SPDX-License-Identifier: MIT */
/* --load LIB.so: the C functions that a program declares with `extern`, from shared libraries. */
#include "cli.h"

#include <dlfcn.h>
#include <string.h>

/* The address of a symbol in the libraries of --load, or NULL. */
static void *find_symbol(const Bindings *b, const char *name)
{
    void *symbol = NULL;
    for (int i = 0; i < b->library_count && !symbol; i++)
        symbol = dlsym(b->libraries[i], name);
    return symbol;
}

static int open_libraries(Cli *cli, Bindings *b)
{
    b->libraries = cli_alloc(cli, sizeof *b->libraries * (size_t)(cli->given_count + 1));
    const char *path;
    for (int i = 0; (path = option_value(cli, OPTION_LOAD, i)); i++) {
        const size_t n     = strlen(path) + 3;
        char        *place = cli_alloc(cli, n);
        snprintf(place, n, "%s%s", strchr(path, '/') ? "" : "./", path);
        void *library = dlopen(place, RTLD_NOW | RTLD_LOCAL);
        if (!library)
            return failed("--load: %s", dlerror());
        b->libraries[b->library_count++] = library;
    }
    return DONE;
}

/* Hands the library the C functions that the program declares. POSIX promises that dlsym's pointer can hold a
 * function's. */
int externs_load(Cli *cli, Bindings *b)
{
    const int status = open_libraries(cli, b);
    if (status != DONE || b->library_count == 0)
        return status;
    for (int i = 0; i < kn_extern_count(b->program.pipeline); i++) {
        const char *name   = kn_extern_name(b->program.pipeline, i);
        void       *symbol = find_symbol(b, name);
        if (!symbol)
            return failed("%s declares `extern … %s`, which no library of --load has", b->program.path, name);
        kn_status added;
        if (kn_extern_is_stage(b->program.pipeline, i)) {
            kn_stage *stage;
            memcpy(&stage, &symbol, sizeof stage);
            added = kn_extern_stage(cli->cx, name, stage, NULL);
        } else {
            void (*function)(void);
            memcpy(&function, &symbol, sizeof function);
            added = kn_extern_function(cli->cx, name, function);
        }
        if (added != KN_OK)
            return report_about(cli, name);
    }
    return DONE;
}

void externs_close(Bindings *b)
{
    for (int i = 0; i < b->library_count; i++)
        dlclose(b->libraries[i]);
}
