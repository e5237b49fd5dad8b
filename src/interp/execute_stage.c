/* SPDX-License-Identifier: MIT */
/* Extern stages in lowered code: calls of C functions that fill boxes, and the queries before.
 *
 * Takes   a stage statement with the storage of its operands.
 * Gives   a step that asks the stage what it needs, or lets it compute.
 * Holds   what a stage is given lies in its storage. What it computes counts as written. */
#include "interp/executor.h"

/* The storage of an operand as a buffer, from its values: min, extent and stride of each dimension. */
static kn_buffer operand_buffer(Executor *ex, const ExecStep *s, const StageOperand *o, const LaneValues *values,
                                int lane)
{
    const BufferMemory *store = &ex->memories[o->buffer->id];
    kn_buffer           b     = { .type = o->buffer->type, .rank = o->rank };
    int64_t             low = 0, high = 0;
    bool                empty = !store->per_lane;
    for (int d = 0; d < o->rank; d++) {
        b.dim[d]            = (kn_dim){ (int32_t)values[3 * d].lane[lane].i, (int32_t)values[3 * d + 1].lane[lane].i,
                                        values[3 * d + 2].lane[lane].i };
        const int64_t reach = (b.dim[d].extent - (int64_t)1) * b.dim[d].stride;
        *(reach < 0 ? &low : &high) += reach;
        empty = empty || b.dim[d].extent <= 0;
    }
    if (empty)
        return b;
    expect_current(ex, store, o == &s->stmt->stage->output);
    const LaneMemory *mem = memory_of_lane(store, lane, s->width);
    if (low < mem->low || high > mem->high)
        executor_mistake(ex, "the extern stage `%s` is given more of `%s` than there is", s->stmt->stage->name,
                         o->buffer->name);
    b.data = mem->data;
    return b;
}

/* The part of the output that is to be computed. It counts as written. */
static kn_buffer output_buffer(Executor *ex, const ExecStep *s, const LaneValues *values, int lane)
{
    const StageCall  *call  = s->stmt->stage;
    kn_buffer         whole = operand_buffer(ex, s, &call->output, values, lane), b = whole;
    const LaneValues *box   = values + 3 * call->output.rank;
    int64_t           first = 0, points = 1;
    for (int d = 0; d < b.rank; d++) {
        b.dim[d].min       = (int32_t)box[2 * d].lane[lane].i;
        b.dim[d].extent    = (int32_t)box[2 * d + 1].lane[lane].i;
        const int64_t skip = (int64_t)b.dim[d].min - whole.dim[d].min;
        if (b.dim[d].extent > 0 && (skip < 0 || skip + b.dim[d].extent > whole.dim[d].extent))
            executor_mistake(ex, "the extern stage `%s` is to compute more than its storage holds", call->name);
        first += skip * b.dim[d].stride;
        points *= b.dim[d].extent > 0 ? b.dim[d].extent : 0;
    }
    b.data = points && whole.data ? (char *)whole.data + first * (int64_t)kn_type_size(b.type) : NULL;
    for (int64_t n = 0; b.data && n < points; n++) {
        int64_t at = first, rest = n;
        for (int d = 0; d < b.rank; d++, rest /= b.dim[d - 1].extent)
            at += rest % b.dim[d].extent * b.dim[d].stride;
        const LaneMemory *mem              = memory_of_lane(&ex->memories[call->output.buffer->id], lane, s->width);
        mem->shadow[at - mem->low].defined = true;
        mem->shadow[at - mem->low].writer  = ex->strand;
    }
    return b;
}

static const Extern *find_stage(Executor *ex, const StageCall *call)
{
    const Extern *known = map_get(&ex->cx->externs, call->symbol);
    if (!known || !known->stage)
        context_bail(ex->cx, KN_ERROR_ARGUMENT,
                     arena_printf(&ex->cx->call, "the extern stage `%s` is not there; give it with kn_extern_stage",
                                  call->symbol));
    return known;
}

static kn_scalar scalar_of(const Expr *e, const LaneValues *v, int lane)
{
    return type_is_float(e->type) ? kn_float(v->lane[lane].f) : kn_int(v->lane[lane].i);
}

/* Stores the answer for one argument in the table, unless nothing of it is needed. */
static void take_answer(Executor *ex, const ExecStep *s, const StageOperand *o, const kn_buffer *b, int64_t at,
                        int lane)
{
    const LaneMemory *mem  = memory_of_lane(&ex->memories[s->stmt->stage->table->id], lane, s->width);
    bool              some = true;
    for (int d = 0; d < o->rank; d++) {
        if (b->rank != o->rank || b->dim[d].extent < 0)
            context_bail(ex->cx, KN_ERROR_ARGUMENT,
                         arena_printf(&ex->cx->call,
                                      "the extern stage `%s` answered with a wrong rank or a negative extent",
                                      s->stmt->stage->symbol));
        some = some && b->dim[d].extent;
    }
    for (int d = 0; some && d < o->rank; d++) {
        const int32_t ends[] = { b->dim[d].min, (int32_t)((int64_t)b->dim[d].min + b->dim[d].extent - 1) };
        memcpy(mem->data + (at + 2 * d) * (int64_t)sizeof *ends, ends, sizeof ends);
    }
}

/* Asks a stage what it needs. The values: the box, then the scalars. */
static void ask_stage(Executor *ex, const ExecStep *s, int lane)
{
    const StageCall  *call        = s->stmt->stage;
    const Extern     *known       = find_stage(ex, call);
    kn_buffer        *inputs      = ARENA_ARRAY(&ex->arena, kn_buffer, (size_t)call->count + 1);
    kn_scalar        *scalars     = ARENA_ARRAY(&ex->arena, kn_scalar, (size_t)call->count + 1);
    int               input_count = 0, scalar_count = 0;
    const LaneValues *values = s->values;
    kn_buffer         output = { .type = call->output.type, .rank = call->output.rank };
    for (int d = 0; d < output.rank; d++, values += 2) {
        output.dim[d] = (kn_dim){ .min = (int32_t)values[0].lane[lane].i, .extent = (int32_t)values[1].lane[lane].i };
        if (output.dim[d].extent <= 0)
            return;
    }
    for (int i = 0; i < call->count; i++) {
        const StageOperand *o = &call->operands[i];
        if (!o->value)
            inputs[input_count++] = (kn_buffer){ .type = o->type, .rank = o->rank };
        else
            scalars[scalar_count++] = scalar_of(o->value, values++, lane);
    }
    const int failed = known->stage(true, inputs, input_count, scalars, scalar_count, &output, known->user);
    if (failed)
        context_bail(ex->cx, KN_ERROR_ARGUMENT,
                     arena_printf(&ex->cx->call,
                                  "the extern stage `%s` refused the query for its regions: it returned %d",
                                  call->symbol, failed));
    int64_t at = 0;
    for (int i = 0, k = 0; i < call->count; i++)
        if (!call->operands[i].value) {
            take_answer(ex, s, &call->operands[i], &inputs[k++], at, lane);
            at += 2 * call->operands[i].rank;
        }
}

static void call_stage(Executor *ex, const ExecStep *s, int lane)
{
    const StageCall  *call        = s->stmt->stage;
    const LaneValues *values      = s->values;
    kn_buffer        *inputs      = ARENA_ARRAY(&ex->arena, kn_buffer, (size_t)call->count + 1);
    kn_scalar        *scalars     = ARENA_ARRAY(&ex->arena, kn_scalar, (size_t)call->count + 1);
    int               input_count = 0, scalar_count = 0;
    kn_buffer         output = output_buffer(ex, s, values, lane);
    if (!output.data)
        return;
    const Extern *known = find_stage(ex, call);
    values += 5 * call->output.rank;
    for (int i = 0; i < call->count; i++) {
        const StageOperand *o = &call->operands[i];
        if (!o->value)
            inputs[input_count++] = operand_buffer(ex, s, o, values, lane);
        else
            scalars[scalar_count++] = scalar_of(o->value, values, lane);
        values += o->value ? 1 : 3 * o->rank;
    }
    const int failed = known->stage(false, inputs, input_count, scalars, scalar_count, &output, known->user);
    if (failed)
        context_bail(
            ex->cx, KN_ERROR_ARGUMENT,
            arena_printf(&ex->cx->call, "the extern stage `%s` stopped the run: it returned %d", call->name, failed));
}

static void run_stage_call(Executor *ex, const ExecStep *s, const uint8_t *active)
{
    code_run(ex, s->code, active);
    for (int l = 0; l < s->width; l++)
        if (active[l])
            (s->stmt->stage->table ? ask_stage : call_stage)(ex, s, l);
}

static void add_operand(Executor *ex, Code *code, const StageOperand *o, LaneValues **to)
{
    if (o->value) {
        *(*to)++ = code_add(ex, code, o->value);
        return;
    }
    for (int d = 0; d < o->rank; d++) {
        *(*to)++ = code_add(ex, code, o->min[d]);
        *(*to)++ = code_add(ex, code, o->extent[d]);
        *(*to)++ = code_add(ex, code, o->stride[d]);
    }
}

/* The values of a stage: storage of the output, its box, then each operand; where it is only asked, the box and the
 * scalars. */
void make_stage(Executor *ex, ExecStep *step, const Stmt *s)
{
    const StageCall *call = s->stage;
    LaneValues      *to   = ARENA_ARRAY(&ex->arena, LaneValues, (size_t)(call->count + 2) * 3 * KN_MAX_RANK);
    step->run             = run_stage_call;
    step->values          = to;
    if (!call->table)
        add_operand(ex, step->code, &call->output, &to);
    for (int d = 0; d < call->output.rank; d++) {
        *to++ = code_add(ex, step->code, call->box_min[d]);
        *to++ = code_add(ex, step->code, call->box_extent[d]);
    }
    for (int i = 0; i < call->count; i++)
        if (!call->table || call->operands[i].value)
            add_operand(ex, step->code, &call->operands[i], &to);
}
