/* SPDX-License-Identifier: MIT */
/* Running: the calls that take arguments. All three bind them the same way; then kn_fit asks for boxes of outputs,
 * kn_bounds for boxes of everything, and kn_run computes.
 */
#include "api/call.h"
#include "api/compile.h"
#include "interp/interp.h"
#include "runtime/runtime.h"

typedef struct Call {
    kn_module    *m;
    kn_pipeline  *p;
    const kn_arg *args;
    int           count;
    kn_region    *regions; /* kn_bounds: the answer */
    int           region_count;
    bool          large; /* kn_run: the module has to be compiled for larger buffers */
    void (*work)(void *arg);
    size_t stack;
} Call;

static void work_deep(void *arg)
{
    Call *call = arg;
    context_deep(call->p->cx, call->stack, call->work, call);
}

/* Runs the work of one API call on a stack of `stack` bytes and returns its status. */
static kn_status run_call(kn_module *m, void (*work)(void *), size_t stack, Call *call)
{
    if (!m)
        return KN_ERROR_ARGUMENT;
    kn_context *cx = m->pipeline->cx;
    call->m        = m;
    call->p        = m->pipeline;
    call->work     = work;
    call->stack    = stack;
    context_begin(cx);
    context_try(cx, work_deep, call);
    return cx->status;
}

/* Where the function of that name is defined. */
static Loc loc_of(const kn_pipeline *p, const char *name)
{
    for (size_t i = 0; name && i < p->funcs.count; i++)
        if (!strcmp(p->funcs.at[i]->name, name))
            return p->funcs.at[i]->loc;
    return (Loc){ 0 };
}

/* Warns that the interpreter ran instead of compiled code. */
static void warn_interpreted(kn_pipeline *p, bool possible)
{
    if (possible)
        diag_warning(p->cx, WARN_INTERPRETED, loc_of(p, kn_rt_last_reader()),
                     "clamp the index, or guard it by comparing its own variables with numbers, parameters and sizes",
                     "the interpreter does this call, many times slower, because compiled code asks for more: %s",
                     kn_rt_last_error());
    else
        diag_warning(
            p->cx, WARN_INTERPRETED, (Loc){ 0 }, "move the coordinates of inputs and outputs nearer to 0",
            "the interpreter does this call, many times slower: compiled code has coordinates within ±2^28 only");
}

/* The interpreter works on the host's copies: makes them current. The outputs' become the newer ones. */
static bool use_host_copies(kn_pipeline *p, const Arguments *a)
{
    size_t inputs = 0;
    for (size_t i = 0; i < p->funcs.count; i++)
        inputs += p->funcs.at[i]->kind == FUNC_INPUT;
    kn_buffer **ports = port_buffers(p, a);
    for (size_t i = 0; ports[i]; i++) {
        kn_buffer *b = ports[i];
        if (!b->device)
            continue;
        if (kn_copy_to_host(b) != KN_OK) {
            diag_status(p->cx, KN_ERROR_DEVICE, "%s", kn_rt_last_error());
            return false;
        }
        if (!b->data) {
            diag_status(p->cx, KN_ERROR_ARGUMENT,
                        "the interpreter does this call, and a buffer is on a device only; point its data at memory");
            return false;
        }
        b->flags = i < inputs ? 0 : KN_HOST_NEWER;
    }
    return true;
}

static void run(void *arg)
{
    Call       *call = arg;
    kn_context *cx   = call->p->cx;
    Arguments   a;
    Regions     regions;
    call->m->interpreted     = false;
    const Compiled *compiled = call->m->compiled;
    const Purpose   purpose  = compiled && compiled->has_kernels ? FOR_KERNELS : FOR_RUN;
    if (!arguments_bind(call->p, purpose, call->args, call->count, &a))
        return;
    const bool       possible = compiled && call_possible(call->p, &a);
    const CallResult result   = possible ? call_compiled(call->m, &a) : CALL_INTERPRET;
    call->large               = result == CALL_LARGE;
    if (result != CALL_INTERPRET)
        return;
    if (compiled)
        warn_interpreted(call->p, possible);
    if (purpose == FOR_KERNELS && !use_host_copies(call->p, &a))
        return;
    call->m->interpreted = true;
    if (regions_compute(call->p, &cx->call, &a.binding, false, &regions)) {
        const kn_status status = interpret(call->p, &a.binding, &regions, a.inputs, a.outputs);
        cx->status             = cx->status ? cx->status : status;
    }
}

bool kn_interpreted(const kn_module *m)
{
    return m && m->interpreted;
}

kn_status kn_run(kn_module *m, const kn_arg *args, int count)
{
    Call      call   = { .args = args, .count = count };
    kn_status status = run_call(m, run, STACK_CALL, &call);
    if (call.large && !status)
        status = module_enlarge(m);
    return call.large && !status ? run_call(m, run, STACK_CALL, &call) : status;
}

/* A box of the language's i32 coordinates; an empty one has extent 0. */
static kn_dim dim_of(const Box *box, int d)
{
    const int64_t extent = box->max[d] < box->min[d] ? 0 : box->max[d] - box->min[d] + 1;
    return (kn_dim){ .min = (int32_t)box->min[d], .extent = (int32_t)(extent > INT32_MAX ? INT32_MAX : extent) };
}

static void bounds(void *arg)
{
    Call        *call = arg;
    kn_pipeline *p    = call->p;
    Arguments    a;
    Regions      regions;
    if (!arguments_bind(p, FOR_BOUNDS, call->args, call->count, &a) ||
        !regions_compute(p, &p->cx->call, &a.binding, false, &regions))
        return;
    call->regions = ARENA_ARRAY(&p->cx->call, kn_region, p->funcs.count);
    for (size_t i = p->funcs.count; i-- > 0;) {
        const Func       *f = p->funcs.at[i];
        const FuncRegion *r = &regions.of[f->id];
        if (!r->needed)
            continue;
        kn_region *out = &call->regions[call->region_count++];
        out->name      = f->name;
        out->rank      = f->rank;
        for (int d = 0; d < f->rank; d++) {
            out->min[d]    = dim_of(&r->box, d).min;
            out->extent[d] = dim_of(&r->box, d).extent;
        }
    }
}

kn_status kn_bounds(kn_module *m, const kn_arg *args, int count, const kn_region **regions, int *region_count)
{
    if (!regions || !region_count)
        return KN_ERROR_ARGUMENT;
    Call            call   = { .args = args, .count = count };
    const kn_status status = run_call(m, bounds, STACK_DEEP, &call);
    *regions               = status ? NULL : call.regions;
    *region_count          = status ? 0 : call.region_count;
    return status;
}

static void fit(void *arg)
{
    Call        *call = arg;
    kn_pipeline *p    = call->p;
    Arguments    a;
    if (!arguments_bind(p, FOR_FIT, call->args, call->count, &a) ||
        !regions_fit(p, &p->cx->call, &a.binding, a.given, NULL))
        return;
    kn_buffer **next = a.outputs;
    for (size_t o = 0; o < p->outputs.count; o++) {
        const Func *f = p->outputs.at[o].func;
        for (int c = 0; c < f->component_count; c++, next++) {
            kn_buffer *b = *next;
            if (!b || b->rank)
                continue;
            b->type = f->types[c];
            b->rank = f->rank;
            for (int d = 0; d < f->rank; d++)
                b->dim[d] = dim_of(&a.binding.output[o], d);
        }
    }
}

kn_status kn_fit(kn_module *m, const kn_arg *args, int count)
{
    return run_call(m, fit, STACK_DEEP, &(Call){ .args = args, .count = count });
}
