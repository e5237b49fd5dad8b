/* SPDX-License-Identifier: MIT */
/* Modules: from a finished pipeline and options to something that runs.
 *
 * Takes   a pipeline that passed its checks, and the names of a scheduler and a target.
 * Gives   a module in the pipeline's arena, or the diagnostic that lists the names this version knows.
 */
#include "api/backend.h"
#include "api/compile.h"
#include "api/schedule.h"

/* The target of a module: "host", which is the default, or this machine and a device; NULL, after a diagnostic, for any
 * other name. */
static const char *module_target(kn_context *cx, const char *name)
{
    const Target *target = target_find(name);
    if (target && target->is_host)
        return target->name;
    const char **here  = ARENA_ARRAY(&cx->call, const char *, (size_t)target_count);
    size_t       count = 0;
    for (int i = 0; i < target_count; i++)
        if (target_table[i].is_host)
            here[count++] = target_table[i].name;
    if (target)
        diag_status(cx, KN_ERROR_ARGUMENT,
                    "a module is for this machine, the target host; kn_build, or `kiln build`, makes code for %s",
                    name);
    else
        diag_unknown(cx, "there is no target", name, "this version knows", here, count);
    return NULL;
}

static const char *keep(kn_pipeline *p, const char *s)
{
    return s ? arena_strdup(&p->arena, s) : NULL;
}

bool options_take(kn_pipeline *p, const kn_options *given, kn_options *out)
{
    *out           = given ? *given : (kn_options){ 0 };
    out->scheduler = keep(p, scheduler_choose(p->cx, out->scheduler));
    out->target    = keep(p, out->target);
    out->schedule  = keep(p, out->schedule);
    out->cache     = keep(p, out->cache);
    if (out->threads < 0)
        diag_status(p->cx, KN_ERROR_ARGUMENT,
                    "threads is %d: give how many there shall be, or 0 for as many as there are CPUs", out->threads);
    if (!p->finished)
        diag_status(p->cx, KN_ERROR_ARGUMENT, "the pipeline `%s` is not finished: call kn_pipeline_finish first",
                    p->name);
    return p->cx->error_count == 0;
}

typedef struct Compile {
    kn_pipeline      *pipeline;
    const kn_options *options;
    kn_module        *module;
    const Codegen    *codegen;
    Emitted           object; /* of the backend, to be released */
} Compile;

static void compile(void *arg)
{
    Compile     *call = arg;
    kn_pipeline *p    = call->pipeline;
    kn_options   options;
    const bool   fine = options_take(p, call->options, &options);
    options.target    = module_target(p->cx, options.target);
    if (!fine || p->cx->error_count)
        return;
    kn_module *m = ARENA_NEW(&p->arena, kn_module);
    *m           = (kn_module){ .pipeline = p, .options = options };
    if (!options.interpret && (call->codegen = backend_load(p->cx, backend_loading())))
        compile_module(m, call->codegen, false, &call->object);
    if (!p->cx->error_count)
        call->module = m;
}

kn_module *kn_compile(kn_pipeline *p, const kn_options *options)
{
    if (!p)
        return NULL;
    Compile call = { .pipeline = p, .options = options };
    context_begin(p->cx);
    const bool done = context_call(p->cx, compile, &call);
    if (call.object.bytes)
        call.codegen->release(&call.object);
    return done ? call.module : NULL;
}

static void enlarge(void *arg)
{
    Compile *call = arg;
    compile_module(call->module, call->codegen, true, &call->object);
}

kn_status module_enlarge(kn_module *m)
{
    kn_context *cx     = m->pipeline->cx;
    Compiled   *before = m->compiled;
    Compile     call   = { .module = m, .codegen = before->codegen };
    context_begin(cx);
    context_call(cx, enlarge, &call);
    if (call.object.bytes)
        call.codegen->release(&call.object);
    if (cx->status)
        m->compiled = before;
    else
        compiled_unload(before);
    return cx->status;
}

bool kn_from_cache(const kn_module *m)
{
    return m && m->compiled && m->compiled->from_cache;
}

const char *kn_target_name(int index)
{
    return index >= 0 && index < target_count ? target_table[index].name : NULL;
}

int kn_target_device(const char *name)
{
    const Target *target = target_find(name);
    return target ? (int)target->device : 0;
}

kn_pass kn_pass_get(int index)
{
    const LowerPassList *list = &lower_pass_lists[PASSES_CPU];
    if (index < 0 || index >= list->count)
        return (kn_pass){ 0 };
    return (kn_pass){ list->at[index].name, list->at[index].summary };
}
