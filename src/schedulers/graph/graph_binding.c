/* SPDX-License-Identifier: MIT */
/* Numbers for a pipeline of unknown size.
 *
 * Outputs are as large as their estimates, or have 1024 points along the first two dimensions and 3 along the others.
 *         An
 * input starts with the extents of the output's dimensions of the same names, because its reader may use its size
 * (edge, a sum over all of it). Then it becomes what is needed of it, until that is a fixed point. An input whose size
 * is not used is there at once. */
#include "analysis/boxes.h"
#include "schedulers/graph/graph.h"

enum { ROUNDS = 4 };

static int64_t usual_extent(int d)
{
    return d < 2 ? USUAL_EXTENT : USUAL_CHANNELS;
}

static void size_outputs(const kn_pipeline *p, RunArgs *b)
{
    for (size_t i = 0; i < p->outputs.count; i++)
        for (int d = 0; d < p->outputs.at[i].func->rank; d++)
            b->output[i].max[d] = (p->outputs.at[i].estimate ? p->outputs.at[i].estimate[d] : usual_extent(d)) - 1;
}

/* The extent of an output's dimension of this name, if there is one. */
static int64_t extent_like(const kn_pipeline *p, const RunArgs *b, const char *name, int dim)
{
    for (size_t i = 0; i < p->outputs.count; i++)
        for (int d = 0; d < p->outputs.at[i].func->rank; d++)
            if (p->outputs.at[i].func->args[d] == name)
                return b->output[i].max[d] + 1;
    return usual_extent(dim);
}

static void guess_inputs(const kn_pipeline *p, RunArgs *b)
{
    for (size_t i = 0; i < p->funcs.count; i++)
        for (int d = 0; p->funcs.at[i]->kind == FUNC_INPUT && d < p->funcs.at[i]->rank; d++)
            b->input[i].max[d] = extent_like(p, b, p->funcs.at[i]->args[d], d) - 1;
}

/* A parameter without a default: the middle of its range, or 1. */
static kn_scalar usual_value(const Param *q)
{
    if (q->has_default)
        return q->value;
    if (!q->has_range)
        return type_is_float(q->type) ? kn_float(1) : kn_int(1);
    return type_is_float(q->type) ? kn_float(q->lo.as.f / 2 + q->hi.as.f / 2) : kn_int(q->lo.as.i / 2 + q->hi.as.i / 2);
}

/* Makes the inputs what is needed of them, and no smaller if `grow`. true: nothing has changed. */
static bool fit_inputs(kn_pipeline *p, Arena *scratch, RunArgs *b, bool grow)
{
    Boxes boxes;
    bool  same = true;
    boxes_init(&boxes, p, scratch, b);
    if (!boxes_compute(&boxes, NULL, NULL) && boxes.failure.kind != FAIL_INPUT)
        return true;
    for (size_t i = 0; i < p->funcs.count; i++)
        for (int d = 0; p->funcs.at[i]->kind == FUNC_INPUT && boxes.need[i].needed && d < p->funcs.at[i]->rank; d++) {
            const Box *need = &boxes.need[i].box;
            int64_t   *min = &b->input[i].min[d], *max = &b->input[i].max[d];
            same = same && need->min[d] >= *min && need->max[d] <= *max &&
                   (grow || (need->min[d] == *min && need->max[d] == *max));
            *min = grow && *min < need->min[d] ? *min : need->min[d];
            *max = grow && *max > need->max[d] ? *max : need->max[d];
        }
    return same;
}

RunArgs graph_binding(kn_pipeline *p, Arena *arena)
{
    RunArgs b = { .input  = ARENA_ARRAY(arena, Box, p->funcs.count),
                  .param  = ARENA_ARRAY(arena, kn_scalar, p->params.count),
                  .output = ARENA_ARRAY(arena, Box, p->outputs.count) };
    size_outputs(p, &b);
    guess_inputs(p, &b);
    for (size_t i = 0; i < p->params.count; i++)
        b.param[i] = usual_value(p->params.at[i]);
    Arena scratch;
    scratch_begin(&scratch, p->cx);
    bool done = false;
    for (int round = 0; round < 2 * ROUNDS && !done; round++)
        done = fit_inputs(p, &scratch, &b, round >= ROUNDS);
    scratch_end(&scratch);
    return b;
}
