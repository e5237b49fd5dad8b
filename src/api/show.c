/* SPDX-License-Identifier: MIT */
/* Views of a pipeline, and of the steps of its compilation, as text. */
#include "api/backend.h"
#include "api/compile.h"
#include "api/nest.h"
#include "codegen/ptxas.h"

typedef struct ShowCall {
    kn_pipeline      *p;
    kn_view           view;
    const kn_options *options;
    const char       *pass, *text;
    const Codegen    *codegen;
    Emitted           emitted; /* of the backend, to be released */
} ShowCall;

/* The text lives until the next API call. */
static void show_text(ShowCall *call, void (*print)(Text *t, const void *what), const void *what)
{
    Text t;
    text_init(&t, &call->p->cx->call);
    print(&t, what);
    call->text = text_string(&t);
}

static void print_plan(Text *t, const void *plan)
{
    plan_print(t, plan);
}

static void print_code(Text *t, const void *program)
{
    const Program *p = program;
    if (p->body)
        stmt_print(t, p->body);
}

static void print_nest(Text *t, const void *program)
{
    nest_print(t, program);
}

/* Has the list that pass? NULL: all of them are meant. */
static bool pass_exists(kn_context *cx, const LowerPassList *list, const char *name)
{
    const char **names = ARENA_ARRAY(&cx->call, const char *, (size_t)list->count);
    for (int i = 0; i < list->count; i++) {
        if (!name || !strcmp(list->at[i].name, name))
            return true;
        names[i] = list->at[i].name;
    }
    diag_unknown(cx, "there is no pass", name, "in their order they are", names, (size_t)list->count);
    return false;
}

/* What a view shows. The assembly of a program with kernels is theirs, and so is the IR, where kernels have one. */
static EmitKind view_format(const ShowCall *call, const Program *program, DeviceKind device)
{
    if (call->view == KN_VIEW_ASM)
        return program->kernels.count ? device_format(device) : EMIT_ASM;
    return program->kernels.count && device == emit_table[EMIT_DEVICE_LLVM].of_device ? EMIT_DEVICE_LLVM : EMIT_LLVM;
}

/* What the backend makes of the program. */
static void show_emitted(ShowCall *call, const Program *program, const kn_options *options, const Targets *targets)
{
    kn_context    *cx      = call->p->cx;
    const EmitKind kind    = view_format(call, program, targets->at[0].device);
    const Backend *backend = backend_emitting(kind);
    if (!backend)
        diag_status(cx, KN_ERROR_ARGUMENT, "this version makes no kernels for the target %s", targets->at[0].name);
    call->codegen = backend ? backend_load(cx, backend) : NULL;
    if (!call->codegen || !compile_emit(call->codegen, program, options, targets, kind, false, &call->emitted))
        return;
    call->text         = arena_strndup(&cx->call, call->emitted.bytes, call->emitted.size);
    const char *report = kind == EMIT_PTX ? ptxas_report(&cx->call, call->text) : NULL;
    if (report)
        call->text = arena_printf(&cx->call, "%s%s", call->text, report);
}

/* The views of a pipeline that is compiled. */
static void show_compiled(ShowCall *call, const kn_options *options, Arena *arena)
{
    kn_context *cx = call->p->cx;
    Targets     targets;
    if (!targets_parse(cx, options->target, "host", &targets) ||
        !pass_exists(cx, &lower_pass_lists[targets.at[0].passes], call->pass))
        return;
    Plan *plan = compile_plan(call->p, options, &targets, arena);
    if (!plan)
        return;
    if (call->view == KN_VIEW_PLAN) {
        show_text(call, print_plan, plan);
        return;
    }
    const Program *program =
        call->view == KN_VIEW_LOOPS
            ? compile_loops(plan, options, &targets)
            : compile_program(plan, options, &targets, call->view == KN_VIEW_CODE ? call->pass : NULL);
    if (!program)
        return;
    if (call->view == KN_VIEW_LOOPS)
        show_text(call, print_nest, program);
    else if (call->view == KN_VIEW_CODE)
        show_text(call, print_code, program);
    else
        show_emitted(call, program, options, &targets);
}

static void show(void *arg)
{
    ShowCall    *call = arg;
    kn_pipeline *p    = call->p;
    kn_options   options;
    if (!options_take(p, call->options, &options))
        return;
    if (call->view <= KN_VIEW_SCHEDULE) {
        Text t;
        text_init(&t, &p->cx->call);
        pipeline_show(&t, p, call->view);
        call->text = text_string(&t);
        return;
    }
    Arena arena;
    scratch_begin(&arena, p->cx);
    show_compiled(call, &options, &arena);
    scratch_end(&arena);
}

const char *kn_show_code(kn_pipeline *p, kn_view view, const kn_options *options, const char *pass)
{
    if (!p)
        return NULL;
    ShowCall call = { .p = p, .view = view, .options = options, .pass = pass };
    context_begin(p->cx);
    if ((int)view < KN_VIEW_FUNCS || view > KN_VIEW_ASM) {
        diag_status(p->cx, KN_ERROR_ARGUMENT, "there is no view %d", (int)view);
        return NULL;
    }
    const bool done = context_call(p->cx, show, &call);
    if (call.emitted.bytes)
        call.codegen->release(&call.emitted);
    return done && !p->cx->error_count ? call.text : NULL;
}

const char *kn_show(kn_pipeline *p, kn_view view)
{
    return kn_show_code(p, view, NULL, NULL);
}
