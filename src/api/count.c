/* Counting: the lowered program is run step by step, and what it did is told as a table. */
#include "api/call.h"
#include "api/compile.h"
#include "api/threads.h"
#include "interp/execute.h"

#include <inttypes.h>

typedef struct CountCall {
    kn_module    *m;
    const kn_arg *args;
    int           count;
    const char   *text;
} CountCall;

/* "blurx", "hist.update(0)" */
static const char *definition_name(Arena *arena, const DefinitionCounts *d)
{
    return d->update < 0 ? d->func->name : arena_printf(arena, "%s.update(%d)", d->func->name, d->update);
}

static void print_definitions(Text *t, Arena *arena, const ExecuteCounts *counts)
{
    text_printf(t, "%-24s %14s %14s\n", "computed", "points", "again");
    for (int i = 0; i < counts->definition_count; i++) {
        const DefinitionCounts *d = &counts->definitions[i];
        text_printf(t, "%-24s %14" PRId64 " %14" PRId64 "\n", definition_name(arena, d), d->points, d->points - d->fresh);
    }
}

static void print_buffers(Text *t, const Program *program, const ExecuteCounts *counts)
{
    text_printf(t, "\n%-24s %14s %14s %14s %14s\n", "memory, in bytes", "loaded", "stored", "largest", "allocations");
    for (size_t i = 0; i < program->buffers.count; i++) {
        const Buffer       *b = program->buffers.at[i];
        const BufferCounts *c = &counts->buffers[b->id];
        text_printf(t, "%-24s %14" PRId64 " %14" PRId64, b->name, c->loaded, c->stored);
        if (b->kind == BUFFER_SCRATCH)
            text_printf(t, " %14" PRId64 " %14" PRId64, c->largest, c->allocations);
        text_add(t, "\n");
    }
}

static void print_totals(Text *t, const ExecuteCounts *counts)
{
    text_printf(t, "\nscratch: %" PRId64 " bytes at a time, %" PRId64 " over the run\n", counts->peak_bytes, counts->total_bytes);
    text_printf(t, "parallel loops: %" PRId64 " with %" PRId64 " iterations\n", counts->parallel_loops, counts->parallel_iterations);
    text_printf(t, "vector loops: %" PRId64 " with %" PRId64 " lanes\n", counts->vector_loops, counts->vector_lanes);
    text_printf(t, "work: %" PRId64 " stores; span: %" PRId64 "\n", counts->work, counts->span);
}

/* The parameters in the order of the program's. */
static const kn_scalar *program_params(kn_pipeline *p, const Program *program, const Arguments *a)
{
    kn_scalar *values = ARENA_ARRAY(&p->cx->call, kn_scalar, program->params.count);
    for (size_t i = 0; i < program->params.count; i++)
        for (size_t k = 0; k < p->params.count; k++)
            if (!strcmp(p->params.at[k]->name, program->params.at[i]->name))
                values[i] = a->binding.param[k];
    return values;
}

static void count_program(CountCall *call, Program *program, const Arguments *a)
{
    kn_pipeline  *p = call->m->pipeline;
    ExecuteCounts counts;
    if (execute(program, port_buffers(p, a), program_params(p, program, a), &counts) != KN_OK)
        return;
    Text t;
    text_init(&t, &p->cx->call);
    print_definitions(&t, &p->cx->call, &counts);
    print_buffers(&t, program, &counts);
    print_totals(&t, &counts);
    call->text = text_string(&t);
}

static void count(void *arg)
{
    CountCall   *call = arg;
    kn_pipeline *p    = call->m->pipeline;
    Arguments    a;
    Targets      targets;
    if (!arguments_bind(p, FOR_RUN, call->args, call->count, &a) || !targets_parse(p->cx, call->m->options.target, "host", &targets))
        return;
    Arena arena;
    scratch_begin(&arena, p->cx);
    const Plan *plan    = compile_plan(p, &call->m->options, &targets, &arena);
    Program    *program = plan ? compile_program(plan, &call->m->options, &targets, NULL) : NULL;
    if (program)
        count_program(call, program, &a);
    scratch_end(&arena);
}

const char *kn_count(kn_module *m, const kn_arg *args, int arg_count)
{
    if (!m)
        return NULL;
    kn_context *cx   = m->pipeline->cx;
    CountCall   call = { .m = m, .args = args, .count = arg_count };
    context_begin(cx);
    return context_try(cx, count, &call) && !cx->error_count ? call.text : NULL;
}

typedef struct ProfileCall {
    kn_context *cx;
    const char *text;
} ProfileCall;

static void profile(void *arg)
{
    ProfileCall *call = arg;
    kn_rt       *rt   = threads_get(call->cx);
    if (!rt)
        context_bail(call->cx, KN_ERROR_LIMIT, "out of memory");
    const size_t size = kn_rt_profile_report(rt, NULL, 0) + 1;
    char        *text = arena_alloc(&call->cx->call, size);
    kn_rt_profile_report(rt, text, size);
    call->text = text;
}

const char *kn_profile(kn_context *cx)
{
    if (!cx)
        return NULL;
    ProfileCall call = { .cx = cx };
    context_begin(cx);
    return context_try(cx, profile, &call) ? call.text : NULL;
}
