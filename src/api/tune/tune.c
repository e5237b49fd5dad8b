/* SPDX-License-Identifier: MIT */
/* kn_tune: a search for a fast schedule, by measured times.
 *
 * Takes   a pipeline, arguments as for kn_run, and how to search.
 * Gives   the text of a schedule, with comments that say where, when and how surely it was found to be how much faster.
 */
#include <stdio.h>

#include "api/tune/search.h"

typedef struct NameCall {
    kn_context *cx;
    const char *found, *name;
} NameCall;

static void keep_name(void *arg)
{
    NameCall *call = arg;
    call->name     = intern(call->cx, call->found);
}

const char *kn_processor_name(kn_context *cx)
{
    static const char field[] = "model name";
    char              line[256];
    if (!cx)
        return "";
    FILE *file  = fopen("/proc/cpuinfo", "r"); /* nothing is allocated while it is open */
    bool  found = false;
    while (file && !found && fgets(line, sizeof line, file))
        found = !strncmp(line, field, strlen(field));
    if (file)
        fclose(file);
    const char *colon = found ? strchr(line, ':') : NULL;
    if (!colon)
        return "";
    line[strcspn(line, "\n")] = 0;
    NameCall call             = { .cx = cx, .found = colon + 1 + strspn(colon + 1, " ") };
    return context_try(cx, keep_name, &call) ? call.name : "";
}

kn_pass kn_tune_algorithm_get(int index)
{
    if (index < 0 || index >= tune_algorithm_count)
        return (kn_pass){ 0 };
    return (kn_pass){ tune_algorithms[index].name, tune_algorithms[index].summary };
}

typedef struct Tune {
    Search    search;
    kn_tuned *out;
} Tune;

static void work(void *arg)
{
    Tune *t = arg;
    if (search_prepare(&t->search))
        search_run(&t->search, t->out);
}

kn_status kn_tune(kn_pipeline *p, const kn_options *options, const kn_tune_options *how, const kn_arg *args, int count,
                  kn_tuned *out)
{
    if (!p || !out)
        return KN_ERROR_ARGUMENT;
    static const kn_tune_options defaults = { 0 };
    Tune t = { { .p = p, .given = options, .how = how ? how : &defaults, .args = args, .count = count }, out };
    *out   = (kn_tuned){ 0 };
    search_begin(&t.search);
    context_begin(p->cx);
    context_call(p->cx, work, &t);
    search_end(&t.search);
    return p->cx->status;
}
