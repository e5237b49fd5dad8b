/* SPDX-License-Identifier: MIT */
/* Extern stages: a C function says which boxes of its arguments its own box needs.
 *
 * The query has the box of the output and no data. Each function argument is a buffer of the right type and rank,
 * whose mins and extents the C function sets. Scalars are passed as numbers. */
#include "analysis/boxes.h"

static kn_buffer query_buffer(const Func *f, const Box *box)
{
    kn_buffer q = { .type = f->types[0], .rank = f->rank };
    for (int d = 0; box && d < f->rank; d++)
        q.dim[d] = (kn_dim){ .min = (int32_t)box->min[d], .extent = (int32_t)(box->max[d] - box->min[d] + 1) };
    return q;
}

/* The value of a constant expression. Its range is one number; that of a float is at most one unit in the last place
 * wide. */
static kn_scalar number(Evaluator *ev, const Expr *e)
{
    const Range r = evaluate(ev, e);
    if (type_is_float((kn_type)e->type))
        return kn_float(type_round((kn_type)e->type, r.flo / 2 + r.fhi / 2));
    return kn_int((int64_t)(uint64_t)r.lo);
}

static void take_over(Boxes *b, const Func *stage, int arg, const kn_buffer *q)
{
    const Func *f = stage->stage_args[arg].func;
    for (int d = 0; d < f->rank; d++) {
        if (q->dim[d].extent == 0)
            return;
        if (q->dim[d].extent < 0 || q->rank != f->rank) {
            b->failure = (Failure){ .kind = FAIL_STAGE, .func = stage, .reader = f, .dim = arg };
            return;
        }
    }
    for (int d = 0; d < f->rank; d++)
        need_add(b, f, d, q->dim[d].min, (Wide)q->dim[d].min + q->dim[d].extent - 1, (Cause){ .reader = stage });
    b->need[f->id].needed = true;
}

void extern_stage_query(Boxes *b, const Func *f)
{
    const Extern *external = map_get(&b->cx->externs, f->symbol);
    if (!external || !external->stage) {
        b->failure = (Failure){ .kind = FAIL_NO_STAGE, .func = f };
        return;
    }
    Arena     *arena       = b->evaluator.arena;
    kn_buffer *inputs      = ARENA_ARRAY(arena, kn_buffer, (size_t)f->stage_arg_count);
    kn_scalar *values      = ARENA_ARRAY(arena, kn_scalar, (size_t)f->stage_arg_count);
    int        input_count = 0, value_count = 0;
    environment_reset(&b->evaluator);
    for (int i = 0; i < f->stage_arg_count; i++) {
        if (f->stage_args[i].func)
            inputs[input_count++] = query_buffer(f->stage_args[i].func, NULL);
        else
            values[value_count++] = number(&b->evaluator, f->stage_args[i].value);
    }
    kn_buffer output = query_buffer(f, &b->need[f->id].box);
    const int code   = external->stage(true, inputs, input_count, values, value_count, &output, external->user);
    if (code) {
        b->failure = (Failure){ .kind = FAIL_STAGE, .func = f, .code = code };
        return;
    }
    for (int i = 0, k = 0; i < f->stage_arg_count && b->failure.kind == FAIL_NONE; i++)
        if (f->stage_args[i].func)
            take_over(b, f, i, &inputs[k++]);
}
