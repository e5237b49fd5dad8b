/* SPDX-License-Identifier: MIT */
/* What programs take from outside: values for their consts, and C functions.
 *
 * They are kept by name in the context. Consts are looked up when a program is parsed, C functions when it runs.
 * Setting a name again replaces the old value. */
#include "base/context.h"

#include <ctype.h>

/* A letter or _, then letters, digits and _. */
static bool is_name(const char *s)
{
    if (!isalpha((unsigned char)*s) && *s != '_')
        return false;
    while (isalnum((unsigned char)*s) || *s == '_')
        s++;
    return !*s;
}

/* The interned form of a name given by the user; NULL, after a diagnostic, if it is none. */
static const char *checked_name(kn_context *cx, const char *name)
{
    if (!name)
        diag_status(cx, KN_ERROR_ARGUMENT, "no name was given");
    else if (!is_name(name))
        diag_status(cx, KN_ERROR_ARGUMENT, "`%s` is not a name: a name is a letter or _, then letters, digits and _",
                    name);
    return cx->status ? NULL : intern(cx, name);
}

typedef struct Define {
    kn_context *cx;
    const char *name, *value;
} Define;

static void define(void *arg)
{
    const Define *call = arg;
    kn_context   *cx   = call->cx;
    const char   *name = checked_name(cx, call->name);
    if (name)
        map_set(&cx->defines, name, call->value ? arena_strdup(&cx->arena, call->value) : NULL);
}

kn_status kn_define(kn_context *cx, const char *name, const char *value)
{
    if (!cx)
        return KN_ERROR_ARGUMENT;
    Define call = { cx, name, value };
    context_begin(cx);
    context_try(cx, define, &call);
    return cx->status;
}

typedef struct Register {
    kn_context *cx;
    const char *name;
    Extern      what;
} Register;

static void register_extern(void *arg)
{
    const Register *call = arg;
    kn_context     *cx   = call->cx;
    const char     *name = checked_name(cx, call->name);
    if (name && !call->what.function && !call->what.stage) {
        diag_status(cx, KN_ERROR_ARGUMENT, "no C function was given for `%s`", name);
    } else if (name) {
        Extern *known = map_get_mutable(&cx->externs, name);
        if (!known) {
            known = ARENA_NEW(&cx->arena, Extern);
            map_set_mutable(&cx->externs, name, known);
        }
        *known = call->what;
    }
}

static kn_status call_register(Register call)
{
    if (!call.cx)
        return KN_ERROR_ARGUMENT;
    context_begin(call.cx);
    context_try(call.cx, register_extern, &call);
    return call.cx->status;
}

kn_status kn_extern_function(kn_context *cx, const char *name, void (*function)(void))
{
    return call_register((Register){ cx, name, { .function = function } });
}

kn_status kn_extern_stage(kn_context *cx, const char *name, kn_stage *stage, void *user)
{
    return call_register((Register){ cx, name, { .stage = stage, .user = user } });
}
