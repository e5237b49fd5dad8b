/* Modules: from a finished pipeline and options to something that runs; and the end of contexts.
 *
 * Takes   a pipeline that passed its checks, and the names of a scheduler and a target.
 * Gives   a module in the pipeline's arena, or the diagnostic that lists the names this version knows.
 */
#include "api/module.h"

#include "base/text.h"

/* The words an option may have. The first is the default, meant by NULL. Those from `here` on are of later versions: since they change
 * speed and never results, they are taken with a warning. */
typedef struct Choice {
    const char        *option;
    const char *const *names;
    size_t             count, here;
} Choice;

static const char *const scheduler_names[] = { "none", "auto", "dp", "reuse", "greedy" };
static const char *const target_names[]    = { "host" };

static const Choice schedulers = { "scheduler", scheduler_names, sizeof scheduler_names / sizeof *scheduler_names, 1 };
static const Choice targets    = { "target", target_names, sizeof target_names / sizeof *target_names, 1 };

/* The known word that `name` is; NULL, after a diagnostic, if it is none of them. */
static const char *choose(kn_context *cx, const Choice *choice, const char *name)
{
    if (!name)
        return choice->names[0];
    Text known;
    text_init(&known, &cx->call);
    for (size_t i = 0; i < choice->count; i++) {
        if (!strcmp(choice->names[i], name)) {
            if (i >= choice->here)
                diag_warning(cx, (Loc){ 0 }, NULL, "the %s `%s` comes with a later version: it would change the speed, not the result",
                             choice->option, name);
            return choice->names[i];
        }
        if (i < choice->here)
            text_printf(&known, "%s%s", i ? ", " : "", choice->names[i]);
    }
    const char *near = text_near_miss(name, choice->names, choice->count);
    diag_status(cx, KN_ERROR_ARGUMENT, "there is no %s `%s`%s%s%s; this version knows: %s", choice->option, name,
                near ? ", did you mean `" : "", near ? near : "", near ? "`?" : "", text_string(&known));
    return NULL;
}

typedef struct Compile {
    kn_pipeline      *pipeline;
    const kn_options *options;
    kn_module        *module;
} Compile;

static void compile(void *arg)
{
    Compile     *call = arg;
    kn_pipeline *p    = call->pipeline;
    kn_options   options = call->options ? *call->options : (kn_options){ 0 };
    options.scheduler    = choose(p->cx, &schedulers, options.scheduler);
    options.target       = choose(p->cx, &targets, options.target);
    if (!p->finished)
        diag_status(p->cx, KN_ERROR_ARGUMENT, "the pipeline `%s` is not finished: call kn_pipeline_finish first", p->name);
    if (p->cx->error_count)
        return;
    kn_module *m = ARENA_NEW(&p->arena, kn_module);
    *m           = (kn_module){ p, options };
    call->module = m;
}

kn_module *kn_compile(kn_pipeline *p, const kn_options *options)
{
    if (!p)
        return NULL;
    Compile call = { p, options, NULL };
    context_begin(p->cx);
    context_try(p->cx, compile, &call);
    return call.module;
}

void kn_context_free(kn_context *cx)
{
    if (!cx)
        return;
    while (cx->pipelines)
        pipeline_free(cx->pipelines, false);
    for (size_t i = 0; i < cx->blocks.count; i++)
        context_release(cx, cx->blocks.at[i]);
    arena_free(&cx->call);
    arena_free(&cx->arena);
    if (cx->plain)
        freelocale(cx->plain);
    cx->config.release(cx->config.user, cx);
}
