/* SPDX-License-Identifier: MIT */
/* Regions for a run: see regions.h.
 *
 * Takes   a pipeline and what is known before a run.
 * Gives   the boxes of all functions (boxes.c), or of the outputs that were not given (largest_output.c).
 * Holds   where there are none, the diagnostics say why (report.c). */
#include "analysis/boxes.h"

typedef struct RegionsCall {
    kn_pipeline   *p;
    Arena         *arena;
    const RunArgs *binding;
    bool           quiet, ok;
    Regions       *out;
} RegionsCall;

static void compute(void *arg)
{
    RegionsCall *call = arg;
    Boxes        b;
    boxes_init(&b, call->p, call->arena, call->binding);
    call->ok = boxes_compute(&b, call->arena, call->out);
    if (!call->ok && !call->quiet)
        report_failure(&b);
}

/* Every run computes its regions. It has the stack that compiled code needs; this needs more. */
bool regions_compute(kn_pipeline *p, Arena *arena, const RunArgs *binding, bool quiet, Regions *out)
{
    RegionsCall call = { p, arena, binding, quiet, false, out };
    context_deep(p->cx, STACK_DEEP, compute, &call);
    return call.ok;
}

bool regions_bounded(kn_pipeline *p, Arena *arena, const RunArgs *binding)
{
    Boxes b;
    boxes_init(&b, p, arena, binding);
    if (boxes_compute(&b, arena, NULL) || (b.failure.kind != FAIL_UNBOUNDED && b.failure.kind != FAIL_REDUCTION))
        return true;
    report_failure(&b);
    return false;
}

/* Why there is no largest output: no box would do, or nothing limits it. */
static void report_misfit(Boxes *b, int index, const FitDim *dims)
{
    const Output *o = &b->pipeline->outputs.at[index];
    for (int d = 0; d < o->func->rank; d++)
        if (dims[d].unlimited && !dims[d].like) {
            b->cx->status = b->cx->status ? b->cx->status : KN_ERROR_BOUNDS;
            diag_error(b->cx, o->loc,
                       arena_printf(&b->cx->call,
                                    "say how large it shall be: --size %s=…, or the extents of its buffer", o->name),
                       "no input limits the output `%s` along %s", o->name, o->func->args[d]);
            return;
        }
    Box *box = &b->binding->output[index];
    for (int d = 0; d < o->func->rank; d++) {
        const DimGuess g = guess_dim(b, o->func->args[d]);
        box->min[d]      = g.min;
        box->max[d]      = g.max;
    }
    if (!boxes_compute(b, NULL, NULL))
        report_failure(b);
}

bool regions_fit(kn_pipeline *p, Arena *arena, RunArgs *binding, const bool *given, FitDim (*dims)[KN_MAX_RANK])
{
    Boxes b;
    boxes_init(&b, p, arena, binding);
    for (size_t i = 0; i < p->outputs.count; i++)
        if (!given[i] && p->outputs.at[i].func->rank)
            binding->output[i] = box_empty();
    for (size_t i = 0; i < p->outputs.count; i++) {
        FitDim fit[KN_MAX_RANK] = { 0 };
        if (!given[i] && p->outputs.at[i].func->rank && !largest_output(&b, binding->output, (int)i, fit)) {
            report_misfit(&b, (int)i, fit);
            return false;
        }
        if (dims)
            memcpy(dims[i], fit, sizeof fit);
    }
    return true;
}
