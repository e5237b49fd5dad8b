/* SPDX-License-Identifier: MIT */
/* Counting: runs the lowered program step by step and prints a table of its work. */
#include "api/call.h"
#include "api/compile.h"
#include "api/nest.h"
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
    return d->update < 0 ? d->func : arena_printf(arena, "%s.update(%d)", d->func, d->update);
}

static int64_t box_points(const Box *box, int rank, const bool *counts)
{
    int64_t points = 1;
    for (int d = 0; d < rank; d++)
        if (!counts || counts[d])
            points *= box->max[d] < box->min[d] ? 0 : box->max[d] - box->min[d] + 1;
    return points;
}

/* Steps times free points, added up where each step has its own. */
static int64_t update_points(const Func *f, const Update *u, const UpdateRegion *r)
{
    int64_t steps = 1, points = 0;
    for (int i = 0; i < u->rvar_count; i++)
        steps *= r->hi[i] > r->lo[i] ? r->hi[i] - r->lo[i] : 0;
    for (int64_t s = 0; s < r->steps; s++)
        points += box_points(&r->free[s], f->rank, u->is_free);
    return r->steps ? points : steps ? steps * box_points(r->free, f->rank, u->is_free) : 0;
}

/* The points that breadth-first execution would compute, each once; -1 where a condition decides. */
static int64_t needed_points(const kn_pipeline *p, const Regions *regions, const DefinitionCounts *d)
{
    for (size_t i = 0; i < p->funcs.count; i++) {
        const Func       *f = p->funcs.at[i];
        const FuncRegion *r = &regions->of[f->id];
        if (strcmp(f->name, d->func))
            continue;
        if (d->update < 0)
            return r->needed ? box_points(&r->box, f->rank, NULL) : 0;
        if (d->update < f->update_count && !f->updates[d->update].where)
            return r->needed ? update_points(f, &f->updates[d->update], &r->updates[d->update]) : 0;
    }
    return -1;
}

static bool is_counted(const ExecuteCounts *counts, const char *name)
{
    for (int i = 0; i < counts->definition_count; i++)
        if (!strcmp(counts->definitions[i].func, name))
            return true;
    return false;
}

/* Functions that are inlined everywhere. */
static void print_inlined(Text *t, const kn_pipeline *p, const Regions *regions, const ExecuteCounts *counts)
{
    for (size_t i = 0; i < p->funcs.count; i++) {
        const Func *f = p->funcs.at[i];
        if (f->kind == FUNC_DEFINED && regions->of[f->id].needed && !is_counted(counts, f->name))
            text_printf(t, "%-24s %14s\n", f->name, "inlined");
    }
}

/* Points beyond the needed ones are redundant: computed more than once, or never read. */
static void print_definitions(Text *t, const kn_pipeline *p, const Regions *regions, const ExecuteCounts *counts)
{
    text_printf(t, "%-24s %14s %14s %14s\n", "computed", "points", "needed", "redundant");
    for (int i = 0; i < counts->definition_count; i++) {
        const DefinitionCounts *d      = &counts->definitions[i];
        const int64_t           needed = needed_points(p, regions, d);
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
    text_printf(t, "\nscratch: %" PRId64 " bytes at a time, %" PRId64 " over the run\n", counts->peak_bytes,
                counts->total_bytes);
    text_printf(t, "parallel loops: %" PRId64 ", %" PRId64 " iterations in all\n", counts->parallel_loops,
                counts->parallel_iterations);
    text_printf(t, "vector loops: %" PRId64 ", %" PRId64 " lanes in all\n", counts->vector_loops, counts->vector_lanes);
    text_printf(t, "span: %" PRId64 " points at once; the longest chain has %" PRId64 " of %" PRId64 " stores\n",
                counts->width, counts->span, counts->work);
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

/* `loops`: the program as the first pass made it. */
static void count_program(CountCall *call, Program *program, const Program *loops, const Arguments *a)
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
    print_inlined(&t, p, &regions, &counts);
    print_buffers(&t, program, &counts);
    nest_print_folds(&t, loops);
    print_totals(&t, &counts);
    call->text = text_string(&t);
}

static void count(void *arg)
{
    CountCall   *call = arg;
    kn_pipeline *p    = call->m->pipeline;
    Arguments    a;
    Targets      targets;
    if (!arguments_bind(p, FOR_RUN, call->args, call->count, &a) ||
        !targets_parse(p->cx, call->m->options.target, "host", &targets))
        return;
    Arena arena;
    scratch_begin(&arena, p->cx);
    Plan          *plan    = compile_plan(p, &call->m->options, &targets, &arena);
    Program       *program = plan ? compile_program(plan, &call->m->options, &targets, NULL) : NULL;
    const Program *loops   = program ? compile_loops(plan, &call->m->options, &targets) : NULL;
    if (loops)
        count_program(call, program, loops, &a);
    scratch_end(&arena);
}

const char *kn_count(kn_module *m, const kn_arg *args, int arg_count)
{
    if (!m)
        return NULL;
    kn_context *cx   = m->pipeline->cx;
    CountCall   call = { .m = m, .args = args, .count = arg_count };
    context_begin(cx);
    return context_call(cx, count, &call) && !cx->error_count ? call.text : NULL;
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
