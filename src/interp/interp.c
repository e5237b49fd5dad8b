/* SPDX-License-Identifier: MIT */
/* The reference interpreter: storage for each function from its definition to its last reader, the functions in order,
 * and the outputs at the end. */
#include "interp/interp.h"
#include "interp/call_c.h"
#include "interp/define.h"

/* Which storage is not read after each function: first[i] is one that function i reads last, next[] the others. */
typedef struct Expiry {
    int *first, *next; /* -1: no more */
} Expiry;

static Expiry find_expiry(Run *run)
{
    kn_pipeline *p     = run->p;
    const int    count = (int)p->funcs.count;
    int         *last  = ARENA_ARRAY(&run->arena, int, (size_t)count);
    Expiry       x = { ARENA_ARRAY(&run->arena, int, (size_t)count + 1), ARENA_ARRAY(&run->arena, int, (size_t)count) };
    for (int i = 0; i < count; i++) {
        FuncList callees = { { 0 } };
        func_callees(&run->arena, p->funcs.at[i], &callees);
        last[i]    = i;
        x.first[i] = -1;
        for (size_t k = 0; k < callees.items.count; k++)
            last[callees.items.at[k]->id] = i;
    }
    for (size_t i = 0; i < p->outputs.count; i++)
        last[p->outputs.at[i].func->id] = count;
    for (int i = 0; i < count; i++) {
        x.next[i]        = x.first[last[i]];
        x.first[last[i]] = i;
    }
    return x;
}

static void store_input(Run *run, const Func *f)
{
    FuncStorage *s = &run->storage[f->id];
    s->views       = ARENA_NEW(&run->arena, View);
    s->views[0]    = view_of_buffer(run->inputs[f->id]);
}

static void store_function(Run *run, const Func *f)
{
    FuncStorage *s = &run->storage[f->id];
    s->views       = ARENA_ARRAY(&run->arena, View, (size_t)f->component_count);
    for (int c = 0; c < f->component_count; c++)
        s->views[c] = view_alloc(&s->arena, f->types[c], f->rank, &run->regions->of[f->id].box);
}

static void run_defined(Run *run, const Func *f)
{
    run_pure(run, f);
    for (int u = 0; u < f->update_count; u++) {
        arena_free(&run->scratch);
        run_update(run, f, u);
    }
}

static void run_function(Run *run, const Func *f)
{
    if (f->kind == FUNC_INPUT) {
        if (run->inputs[f->id])
            store_input(run, f);
        return;
    }
    if (!run->regions->of[f->id].needed)
        return;
    store_function(run, f);
    if (f->kind == FUNC_STAGE)
        run_stage(run, f);
    else
        run_defined(run, f);
    arena_free(&run->scratch);
}

static void copy_outputs(Run *run)
{
    kn_buffer *const *to = run->outputs;
    for (size_t i = 0; i < run->p->outputs.count; i++) {
        const Func *f     = run->p->outputs.at[i].func;
        const View *views = run->storage[f->id].views; /* none if no point was asked for */
        for (int c = 0; c < f->component_count; c++, to++)
            if (views)
                view_copy(&views[c], *to);
    }
}

static void run_pipeline(void *arg)
{
    Run         *run   = arg;
    kn_pipeline *p     = run->p;
    const int    count = (int)p->funcs.count;
    FuncStorage *all   = ARENA_ARRAY(&run->arena, FuncStorage, (size_t)count);
    for (int i = 0; i < count; i++)
        arena_init(&all[i].arena, p->cx);
    run->storage        = all;
    const Expiry expiry = find_expiry(run);
    for (int i = 0; i < count; i++) {
        run_function(run, p->funcs.at[i]);
        for (int k = expiry.first[i]; k >= 0; k = expiry.next[k]) {
            all[k].views = NULL;
            arena_free(&all[k].arena);
        }
    }
    copy_outputs(run);
}

kn_status interpret(kn_pipeline *p, const RunArgs *binding, const Regions *regions, kn_buffer *const *inputs,
                    kn_buffer *const *outputs)
{
    Run run = { .p = p, .binding = binding, .regions = regions, .inputs = inputs, .outputs = outputs };
    arena_init(&run.arena, p->cx);
    arena_init(&run.scratch, p->cx);
    const bool done = context_call(p->cx, run_pipeline, &run);
    for (size_t i = 0; run.storage && i < p->funcs.count; i++)
        arena_free(&run.storage[i].arena);
    arena_free(&run.scratch);
    arena_free(&run.arena);
    return done ? KN_OK : p->cx->status;
}
