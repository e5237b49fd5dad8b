/* SPDX-License-Identifier: MIT */
/* The table of warnings, and the switch for each. */
#include "base/context.h"

const Warning warning_table[WARNING_COUNT] = {
#define WARNING_ROW(id, name, on, summary) { name, on, summary },
    WARNINGS(WARNING_ROW)
};

typedef struct SwitchCall {
    kn_context *cx;
    const char *name;
    bool        on;
} SwitchCall;

static void unknown_warning(kn_context *cx, const char *name)
{
    const char *names[WARNING_COUNT];
    for (int i = 0; i < WARNING_COUNT; i++)
        names[i] = warning_table[i].name;
    diag_unknown(cx, "there is no warning", name, "there are", names, WARNING_COUNT);
}

static void switch_warning(void *arg)
{
    const SwitchCall *call = arg;
    int               id   = 0;
    while (id < WARNING_COUNT && strcmp(warning_table[id].name, call->name))
        id++;
    if (id < WARNING_COUNT)
        call->cx->silent[id] = !call->on;
    else
        unknown_warning(call->cx, call->name);
}

kn_status kn_warn(kn_context *cx, const char *name, bool on)
{
    if (!cx)
        return KN_ERROR_ARGUMENT;
    context_begin(cx);
    if (!name)
        return diag_status(cx, KN_ERROR_ARGUMENT, "kn_warn needs the name of a warning");
    context_try(cx, switch_warning, &(SwitchCall){ cx, name, on });
    return cx->status;
}

kn_pass kn_warning_get(int index)
{
    if (index < 0 || index >= WARNING_COUNT)
        return (kn_pass){ 0 };
    return (kn_pass){ warning_table[index].name, warning_table[index].summary };
}
