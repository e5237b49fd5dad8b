/* SPDX-License-Identifier: MIT */
/* Calling compiled code: the arguments as it takes them, its errors as diagnostics. */
#include "api/call.h"

#include "api/compile.h"
#include "api/threads.h"
#include "interp/ops.h"
#include "runtime/device.h"

kn_buffer **port_buffers(kn_pipeline *p, const Arguments *a)
{
    size_t outputs = 0;
    for (size_t o = 0; o < p->outputs.count; o++)
        outputs += (size_t)p->outputs.at[o].func->component_count;
    kn_buffer **ports = ARENA_ARRAY(&p->cx->call, kn_buffer *, p->funcs.count + outputs + 1);
    size_t      n     = 0;
    for (size_t i = 0; i < p->funcs.count; i++)
        if (p->funcs.at[i]->kind == FUNC_INPUT)
            ports[n++] = a->inputs[p->funcs.at[i]->id];
    for (size_t i = 0; i < outputs; i++)
        ports[n++] = a->outputs[i];
    return ports;
}

static bool fits_coordinates(const Box *box, int rank)
{
    for (int d = 0; d < rank; d++)
        if (box->min[d] < -MOST_COORDINATE || box->max[d] > MOST_COORDINATE)
            return false;
    return true;
}

bool call_possible(kn_pipeline *p, const Arguments *a)
{
    for (size_t i = 0; i < p->funcs.count; i++)
        if (p->funcs.at[i]->kind == FUNC_INPUT && !fits_coordinates(&a->binding.input[i], p->funcs.at[i]->rank))
            return false;
    for (size_t o = 0; o < p->outputs.count; o++)
        if (!fits_coordinates(&a->binding.output[o], p->outputs.at[o].func->rank))
            return false;
    return true;
}

/* Each parameter in 8 bytes, in the form its type has in memory. */
static const uint64_t *param_memory(kn_pipeline *p, const Arguments *a)
{
    uint64_t *memory = ARENA_ARRAY(&p->cx->call, uint64_t, p->params.count);
    for (size_t i = 0; i < p->params.count; i++) {
        const kn_type type = p->params.at[i]->type;
        lane_store(type, &memory[i], lane_from_scalar(type, a->binding.param[i]));
    }
    return memory;
}

/* What the runtime said, a diagnostic for each line. */
static void tell_errors(kn_context *cx, kn_status status, const char *text)
{
    while (*text) {
        const size_t n = strcspn(text, "\n");
        if (status == KN_ERROR_PROGRAM) /* a check of check_access: nothing else of compiled code has this status */
            diag_error_as(cx, ERROR_INTERNAL, (Loc){ 0 }, NULL, "%.*s", (int)n, text);
        else
            diag_status(cx, status, "%.*s", (int)n, text);
        text += n + (text[n] == '\n');
    }
    if (!cx->error_count)
        diag_status(cx, status, "the compiled code ended with status %d", (int)status);
}

/* Are the boxes and values those of the last check? Records them if not. */
static bool checked_before(kn_pipeline *p, Checked *c, const RunArgs *binding)
{
    const size_t inputs = p->funcs.count * sizeof(Box), outputs = p->outputs.count * sizeof(Box),
                 params = p->params.count * sizeof(kn_scalar);
    if (!c->input) {
        c->input  = ARENA_ARRAY(&p->arena, Box, p->funcs.count + p->outputs.count);
        c->output = c->input + p->funcs.count;
        c->param  = ARENA_ARRAY(&p->arena, kn_scalar, p->params.count);
    } else if (c->fine && !memcmp(c->input, binding->input, inputs) && !memcmp(c->output, binding->output, outputs) &&
               !memcmp(c->param, binding->param, params)) {
        return true;
    }
    c->fine = false;
    memcpy(c->input, binding->input, inputs);
    memcpy(c->output, binding->output, outputs);
    memcpy(c->param, binding->param, params);
    return false;
}

/* Checks the regions as the language defines them: an unbounded or too small one is an error, with the chain of
 * functions from output to input. Skipped if the boxes are those of the last call. */
static bool check_regions(kn_pipeline *p, Checked *c, const RunArgs *binding)
{
    Regions regions;
    if (!checked_before(p, c, binding))
        c->fine = regions_compute(p, &p->cx->call, binding, false, &regions);
    return c->fine;
}

CallResult call_compiled(kn_module *m, const Arguments *a)
{
    kn_pipeline      *p        = m->pipeline;
    kn_context       *cx       = p->cx;
    CompiledFunction *function = compiled_function(m);
    if (!function || !check_regions(p, &m->compiled->checked, &a->binding))
        return CALL_DONE;
    kn_buffer     **ports  = port_buffers(p, a);
    const uint64_t *params = param_memory(p, a);
    kn_rt          *rt     = threads_get(cx);
    if (!rt)
        context_bail(cx, KN_ERROR_LIMIT, "out of memory");
    threads_set(cx, m->options.threads);
    const int status = function(rt, (const kn_buffer *const *)ports, params);
    if (status == KN_RT_LARGE)
        return CALL_LARGE;
    if (status == KN_ERROR_BOUNDS && !m->options.check_access)
        return CALL_INTERPRET;
    if (status != KN_OK)
        tell_errors(cx, (kn_status)status, kn_rt_last_error());
    return CALL_DONE;
}
