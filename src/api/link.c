/* SPDX-License-Identifier: MIT */
/* Loading compiled code: its symbols get their addresses.
 *
 * Code sees the runtime, the mathematics of libm, memory moves, and the C functions of the context; nothing else. A C
 * function that was given again since the code was loaded has another address: then the object is loaded once more,
 * which takes a fraction of a millisecond. */
#include "api/compile.h"

#include "runtime/device.h"

#include <math.h>
#include <stdio.h>

typedef struct Known {
    const char *name;
    void (*function)(void);
} Known;

#define ROW(name)  { #name, (void (*)(void))name },
#define BOTH(name) ROW(name) ROW(name##f)

/* clang-format off */
static const Known known[] = {
    ROW(kn_rt_enter) ROW(kn_rt_leave) ROW(kn_rt_need) ROW(kn_rt_fail) ROW(kn_rt_alloc) ROW(kn_rt_free)
    ROW(kn_rt_parallel) ROW(kn_rt_stage) ROW(kn_rt_stage_query) ROW(kn_rt_lock) ROW(kn_rt_unlock)
    ROW(kn_rt_profile_enter) ROW(kn_rt_profile_leave)
    ROW(kn_rt_enter_device) ROW(kn_rt_device_enter) ROW(kn_rt_device_leave) ROW(kn_rt_device_alloc)
    ROW(kn_rt_device_free) ROW(kn_rt_device_present) ROW(kn_rt_host_need) ROW(kn_rt_launch)
    ROW(memcpy) ROW(memmove) ROW(memset)
    BOTH(sqrt) BOTH(exp) BOTH(exp2) BOTH(log) BOTH(log2) BOTH(pow) BOTH(sin) BOTH(cos) BOTH(tan) BOTH(atan2)
    BOTH(tanh) BOTH(erf) BOTH(fma) BOTH(floor) BOTH(ceil) BOTH(trunc) BOTH(rint) BOTH(nearbyint) BOTH(roundeven)
    BOTH(fmod) BOTH(ldexp)
};
/* clang-format on */
enum { KNOWN_COUNT = sizeof known / sizeof *known };

/* A function's address as that of anything; POSIX promises that it can be held. */
static Symbol symbol(const char *name, void (*function)(void))
{
    Symbol s = { .name = name };
    memcpy(&s.address, &function, sizeof s.address);
    return s;
}

/* What the context gives under that name now. */
static Extern current(kn_context *cx, const char *name)
{
    const Extern *e = map_get(&cx->externs, name);
    return e ? *e : (Extern){ 0 };
}

static bool same(const Extern *a, const Extern *b)
{
    return a->function == b->function && a->stage == b->stage && a->user == b->user;
}

/* Are the C functions those that the code was loaded with? Takes note of those that are there now; a diagnostic for
 * each that is not. */
static bool externs_changed(kn_context *cx, Compiled *c)
{
    bool changed = false;
    for (int i = 0; i < c->extern_count; i++) {
        const Extern now = current(cx, c->externs[i]);
        changed          = changed || !same(&now, &c->bound[i]);
        c->bound[i]      = now;
        if (!now.function && !now.stage)
            diag_status(cx, KN_ERROR_ARGUMENT,
                        "the C function `%s` is not there; give it with kn_extern_function or kn_extern_stage, or "
                        "`kiln run --load LIBRARY`",
                        c->externs[i]);
    }
    return changed;
}

/* All symbols for the code. An extern stage is two: the function, and NAME.user, whose address is the pointer that it
 * is to be given; what was not given yet may be either. */
static const Symbol *all_symbols(kn_context *cx, const Compiled *c, int *count)
{
    Symbol *out = ARENA_ARRAY(&cx->call, Symbol, KNOWN_COUNT + 2 * (size_t)c->extern_count);
    int     n   = 0;
    for (int i = 0; i < KNOWN_COUNT; i++)
        out[n++] = symbol(known[i].name, known[i].function);
    for (int i = 0; i < c->extern_count; i++) {
        const Extern *e = &c->bound[i];
        out[n++] = e->stage ? symbol(c->externs[i], (void (*)(void))e->stage) : symbol(c->externs[i], e->function);
        if (e->stage || !e->function)
            out[n++] = (Symbol){ arena_printf(&cx->call, "%s.user", c->externs[i]), e->user };
    }
    *count = n;
    return out;
}

/* The runtime forgets kernels whose constant is about to go. */
void compiled_unload(Compiled *c)
{
    char name[1024];
    if (!c->loaded)
        return;
    if (c->has_kernels && snprintf(name, sizeof name, "%s.kernels", c->symbol) < (int)sizeof name)
        kn_rt_device_forget(c->codegen->lookup(c->loaded, name));
    c->codegen->unload(c->loaded);
    c->loaded   = NULL;
    c->function = NULL;
}

/* Loads the object; NULL, with the reason where there is one, if that cannot be done or it lacks the function. */
static CompiledFunction *load_quietly(kn_context *cx, Compiled *c, Emitted *error)
{
    int           count;
    const Symbol *symbols = all_symbols(cx, c, &count);
    compiled_unload(c);
    c->loaded     = c->codegen->load(c->object.at, c->object.size, symbols, count, error);
    void *address = c->loaded ? c->codegen->lookup(c->loaded, c->symbol) : NULL;
    memcpy(&c->function, &address, sizeof c->function);
    return c->function;
}

static void load(kn_context *cx, Compiled *c)
{
    Emitted error = { 0 };
    if (load_quietly(cx, c, &error))
        return;
    if (!c->loaded)
        backend_error(cx, c->codegen, "the compiled code cannot be loaded", &error);
    else
        diag_error_as(cx, ERROR_INTERNAL, (Loc){ 0 }, NULL,
                      "the compiled code has no function `%s`: this is a mistake in Kiln", c->symbol);
}

/* C functions may be given later: then what was loaded for the trial is not kept. */
bool compiled_loads(kn_context *cx, Compiled *c)
{
    Emitted    error = { 0 };
    const bool fine  = load_quietly(cx, c, &error) != NULL;
    c->codegen->release(&error);
    if (c->extern_count || !fine)
        compiled_unload(c);
    return fine;
}

CompiledFunction *compiled_function(kn_module *m)
{
    kn_context *cx      = m->pipeline->cx;
    Compiled   *c       = m->compiled;
    const bool  changed = externs_changed(cx, c);
    if (!cx->error_count && (changed || !c->loaded))
        load(cx, c);
    return cx->error_count ? NULL : c->function;
}
