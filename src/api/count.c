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

/* The points of a function that the outputs need: those of its box; -1 where it is not of the pipeline but of the plan. */
static int64_t points_needed(const kn_pipeline *p, const Regions *regions, const char *name)
{
    for (size_t i = 0; i < p->funcs.count; i++) {
        const Func *f      = p->funcs.at[i];
        int64_t     points = 1;
        if (strcmp(f->name, name) != 0)
            continue;
        for (int d = 0; d < f->rank; d++) {
            const int64_t extent = regions->of[f->id].box.max[d] - regions->of[f->id].box.min[d] + 1;
            points *= extent > 0 ? extent : 0;
        }
        return regions->of[f->id].needed ? points : 0;
    }
    return -1;
}

/* An update meets a point as often as its steps say: only what pure definitions compute more than once is redundant. */
static void print_definitions(Text *t, const kn_pipeline *p, const Regions *regions, const ExecuteCounts *counts)
{
    text_printf(t, "%-24s %14s %14s %14s\n", "computed", "points", "needed", "redundant");
    for (int i = 0; i < counts->definition_count; i++) {
        const DefinitionCounts *d      = &counts->definitions[i];
        const int64_t           needed = d->update < 0 ? points_needed(p, regions, d->func->name) : -1;
        text_printf(t, "%-24s %14" PRId64, definition_name(&p->cx->call, d), d->points);
        if (needed >= 0)
            text_printf(t, " %14" PRId64 " %14" PRId64, needed, d->points > needed ? d->points - needed : 0);
        text_add(t, "\n");
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
    Regions       regions;
    if (!regions_compute(p, &p->cx->call, &a->binding, false, &regions) ||
        execute(program, port_buffers(p, a), program_params(p, program, a), &counts) != KN_OK)
        return;
    Text t;
    text_init(&t, &p->cx->call);
    print_definitions(&t, p, &regions, &counts);
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
