/* SPDX-License-Identifier: MIT */
/* The diagnostics of a failure: the chain of functions, the box needed, the box given, and the remedy. */
#include "analysis/boxes.h"
#include "base/text.h"

#include <stdio.h>

/* "x 0..194, y 0..162", half open as ranges are in the language. */
static void print_box(Text *out, const Func *f, const Box *box)
{
    for (int d = 0; d < f->rank; d++)
        text_printf(out, "%s%s %lld..%lld", d ? ", " : "", f->args[d], (long long)box->min[d],
                    (long long)box->max[d] + 1);
    if (!f->rank)
        text_add(out, "one value");
}

static void bounds_error(kn_context *cx, kn_status status, Loc loc, const char *remedy, const char *message)
{
    cx->status = cx->status ? cx->status : status;
    diag_error(cx, loc, remedy, "%s", message);
}

static Loc where_of(const Failure *f)
{
    return f->update ? f->update->loc : f->reader ? f->reader->loc : f->func->loc;
}

/* ---- Chains ----------------------------------------------------------------------------- */

/* An end of a dimension of a function's box. */
typedef struct BoxEnd {
    const Func *func;
    int         dim, side;
} BoxEnd;

/* The end of the reader's box that an end of its producer's box comes from: that of the first of its variables in the
 * index, on the other side if the coefficient is negative. */
static bool reader_end(Boxes *b, BoxEnd *end)
{
    const Cause *c = &b->need[end->func->id].cause[end->dim][end->side];
    if (!c->reader)
        return false;
    const Linear *form = c->access ? evaluate_form(&b->evaluator, c->access->args[end->dim]) : NULL;
    BoxEnd        next = { c->reader, end->dim < c->reader->rank ? end->dim : c->reader->rank - 1, end->side };
    for (int i = form ? form->count - 1 : -1; i >= 0; i--)
        for (int d = 0; d < c->reader->rank; d++)
            if (form->atoms[i]->op == EX_VAR && form->atoms[i]->u.name == c->reader->args[d])
                next = (BoxEnd){ c->reader, d, form->coefficients[i] > 0 ? end->side : !end->side };
    *end = next;
    return next.dim >= 0;
}

/* Notes that a stored function as a guard narrows nothing. */
static void note_hidden(Boxes *b, const Expr *guard)
{
    Text call, formula;
    if (!guard)
        return;
    const Func *f = guard->u.call.func;
    text_init(&call, &b->cx->call);
    text_init(&formula, &b->cx->call);
    expr_print(&call, guard);
    for (int d = 0; d < f->rank; d++)
        text_printf(&formula, "%s%s", d ? ", " : "", f->args[d]);
    text_add(&formula, ") = ");
    expr_print(&formula, f->values[guard->u.call.index]);
    diag_note(b->cx, f->loc,
              "the guard `%s` is not seen: it is a stored function, whose values are not known when regions are; "
              "make it a formula: `def %s(%s`",
              text_string(&call), f->name, text_string(&formula));
}

/* The hidden guard of one of the reads between `end` and the output. */
static const Expr *guard_of_chain(Boxes *b, BoxEnd end)
{
    enum { MOST = 100 };
    const Expr *found = NULL;
    bool        more  = true;
    for (int i = 0; i < MOST && more && !found; i++) {
        const Cause c = b->need[end.func->id].cause[end.dim][end.side];
        found         = c.reader && c.access ? hidden_guard(b->pipeline, c.reader, c.access) : NULL;
        more          = reader_end(b, &end);
    }
    return found;
}

/* "in <- blurx <- out over x 0..192": the functions from `end` to the output that asked. The middle of a long chain is
 * left out. Returns the output's function. */
static const Func *print_chain(Text *out, Boxes *b, BoxEnd end)
{
    enum { SHOWN = 12, MOST = 100000 };
    VEC(const Func *) chain = { 0 };
    vec_push(out->arena, &chain, end.func);
    for (int i = 0; i < MOST && reader_end(b, &end); i++)
        if (end.func != chain.at[chain.count - 1])
            vec_push(out->arena, &chain, end.func);
    for (size_t i = 0; i < chain.count; i++) {
        const size_t from_end = chain.count - i;
        if (i < SHOWN / 2 || from_end <= SHOWN / 2)
            text_printf(out, "%s%s", i ? " <- " : "", chain.at[i]->name);
        else if (i == SHOWN / 2)
            text_printf(out, " <- … %zu more …", chain.count - SHOWN);
    }
    const Func *last = chain.at[chain.count - 1];
    if (last->rank) {
        text_add(out, " over ");
        print_box(out, last, &b->need[last->id].box);
    }
    return last;
}

/* ---- An input that is too small --------------------------------------------------------- */

static const int64_t most_remedy_steps = 1 << 14;

static const char *dim_text(char *buffer, size_t size, int64_t min, int64_t max)
{
    if (min > max)
        snprintf(buffer, size, "nothing");
    else
        snprintf(buffer, size, "%lld..%lld", (long long)min, (long long)max + 1);
    return buffer;
}

/* "--size out=190x160" and, if it does not begin at 0, "--origin out=1,1": the largest box of that output that would
 * do; false if there is none, or finding it takes too long. */
static bool print_remedy(Text *out, Boxes *b, const Func *output)
{
    kn_pipeline *p       = b->pipeline;
    Box         *outputs = ARENA_ARRAY(out->arena, Box, p->outputs.count);
    FitDim       dims[KN_MAX_RANK];
    memcpy(outputs, b->binding->output, p->outputs.count * sizeof *outputs);
    for (size_t i = 0; i < p->outputs.count; i++) {
        if (p->outputs.at[i].func != output || !output->rank)
            continue;
        const Box asked  = outputs[i];
        b->is_frugal     = true;
        b->steps_left    = most_remedy_steps;
        const bool found = largest_output(b, outputs, (int)i, dims);
        b->is_frugal     = false;
        if (!found || b->steps_left < 0)
            return false;
        bool moved = false;
        text_printf(out, "--size %s=", p->outputs.at[i].name);
        for (int d = 0; d < output->rank; d++) {
            const int64_t min = asked.min[d] > outputs[i].min[d] ? asked.min[d] : outputs[i].min[d];
            const int64_t max = asked.max[d] < outputs[i].max[d] ? asked.max[d] : outputs[i].max[d];
            if (min > max)
                return false;
            outputs[i].min[d] = min;
            moved |= min != 0;
            text_printf(out, "%s%lld", d ? "x" : "", (long long)(max - min + 1));
        }
        if (moved)
            text_printf(out, " --origin %s=", p->outputs.at[i].name);
        for (int d = 0; moved && d < output->rank; d++)
            text_printf(out, "%s%lld", d ? "," : "", (long long)outputs[i].min[d]);
        return true;
    }
    return false;
}

static const char *input_remedy(Boxes *b, const Func *input, const Func *output)
{
    Text size;
    text_init(&size, &b->cx->call);
    if (!print_remedy(&size, b, output))
        return arena_printf(&b->cx->call,
                            "give a larger `%s`, ask for a smaller output, or read it through a boundary: edge(%s)",
                            input->name, input->name);
    return arena_printf(&b->cx->call, "ask for a smaller output (%s), or read `%s` through a boundary: edge(%s)",
                        text_string(&size), input->name, input->name);
}

/* What is kept while the remedy is computed, which computes other boxes. */
typedef struct InputError {
    const Func *input, *output;
    const char *message, *boxes, *chain;
    const Expr *guard; /* a guard that narrows nothing */
} InputError;

static InputError describe_input(Boxes *b, const Func *f, int dim)
{
    const Box *given = &b->binding->input[f->id], *box = &b->need[f->id].box;
    char       have[48], want[48];
    Text       boxes, chain;
    text_init(&boxes, &b->cx->call);
    text_init(&chain, &b->cx->call);
    text_add(&boxes, "needed: ");
    print_box(&boxes, f, box);
    text_add(&boxes, "; given: ");
    print_box(&boxes, f, given);
    const BoxEnd end     = { f, dim, box->min[dim] >= given->min[dim] };
    const Func  *output  = print_chain(&chain, b, end);
    const char  *message = arena_printf(&b->cx->call, "input `%s` is too small: %s %s is needed, %s is given", f->name,
                                        f->args[dim], dim_text(want, sizeof want, box->min[dim], box->max[dim]),
                                        dim_text(have, sizeof have, given->min[dim], given->max[dim]));
    return (InputError){ f, output, message, text_string(&boxes), text_string(&chain), guard_of_chain(b, end) };
}

static int short_dim(Boxes *b, const Func *f)
{
    const Box *given = &b->binding->input[f->id], *box = &b->need[f->id].box;
    for (int d = 0; d < f->rank && f->kind == FUNC_INPUT && b->need[f->id].needed; d++)
        if (box->min[d] < given->min[d] || box->max[d] > given->max[d])
            return d;
    return -1;
}

static void report_inputs(Boxes *b)
{
    VEC(InputError) errors = { 0 };
    for (size_t i = 0; i < b->pipeline->funcs.count; i++) {
        const Func *f   = b->pipeline->funcs.at[i];
        const int   dim = short_dim(b, f);
        if (dim >= 0)
            vec_push(&b->cx->call, &errors, describe_input(b, f, dim));
    }
    for (size_t i = 0; i < errors.count; i++) {
        const InputError *e = &errors.at[i];
        bounds_error(b->cx, KN_ERROR_BOUNDS, e->input->loc, input_remedy(b, e->input, e->output), e->message);
        if (e->input->rank > 1)
            diag_note(b->cx, (Loc){ 0 }, "%s", e->boxes);
        diag_note(b->cx, (Loc){ 0 }, "needed by %s", e->chain);
        note_hidden(b, e->guard);
    }
}

/* ---- The others ------------------------------------------------------------------------- */

static void report_unbounded(Boxes *b, const Failure *f)
{
    Arena      *arena = &b->cx->call;
    const char *dim   = f->func->args[f->dim];
    Text        access, index;
    text_init(&access, arena);
    text_init(&index, arena);
    if (!f->access) {
        bounds_error(b->cx, KN_ERROR_BOUNDS, where_of(f),
                     "coordinates lie in -2^31..2^31-1, and an extent is at most 2^30",
                     arena_printf(arena, "the region of `%s` is too large in %s", f->func->name, dim));
        return;
    }
    expr_print(&access, f->access);
    expr_print(&index, f->access->args[f->dim]);
    bounds_error(b->cx, KN_ERROR_BOUNDS, where_of(f),
                 arena_printf(arena, "bound the index, e.g. clamp(%s, 0, 255)", text_string(&index)),
                 arena_printf(arena,
                              "the region of `%s` needed by `%s` is unbounded in %s: it is read at `%s`, where the "
                              "index may be any number",
                              f->func->name, f->reader->name, dim, text_string(&access)));
    note_hidden(b, hidden_guard(b->pipeline, f->reader, f->access));
}

static void report_reduction(Boxes *b, const Failure *f)
{
    Text range;
    text_init(&range, &b->cx->call);
    const RVar *v = &f->update->rvars[f->dim];
    expr_print(&range, v->lo);
    text_add(&range, "..");
    expr_print(&range, v->hi);
    bounds_error(b->cx, KN_ERROR_BOUNDS, f->update->loc, "bound the range, e.g. for v in 0..clamp(n, 0, 1000)",
                 arena_printf(&b->cx->call, "the reduction variable `%s` of `%s` is unbounded: its range is `%s`",
                              v->name, f->func->name, text_string(&range)));
}

static void report_large(Boxes *b, const Failure *f)
{
    Text box;
    text_init(&box, &b->cx->call);
    print_box(&box, f->func, &b->need[f->func->id].box);
    bounds_error(b->cx, KN_ERROR_BOUNDS, f->func->loc, "ask for a smaller output, or bound the indices it is read with",
                 arena_printf(&b->cx->call, "the region of `%s` is too large: %s is more than 2^%d points",
                              f->func->name, text_string(&box), most_points_log2));
}

static void report_no_stage(Boxes *b, const Failure *f)
{
    bounds_error(
        b->cx, KN_ERROR_ARGUMENT, f->func->loc,
        "make it known with kn_extern_stage, or load it with `kiln run --load LIBRARY`",
        arena_printf(&b->cx->call, "the extern stage `%s` of `%s` is not known", f->func->symbol, f->func->name));
}

static void report_stage(Boxes *b, const Failure *f)
{
    Arena *arena = &b->cx->call;
    bounds_error(
        b->cx, KN_ERROR_BOUNDS, f->func->loc, NULL,
        f->code ? arena_printf(arena, "the extern stage `%s` refused the query for its regions: it returned %d",
                               f->func->symbol, f->code)
                : arena_printf(arena, "the extern stage `%s` answered with a wrong rank or a negative extent for `%s`",
                               f->func->symbol, f->reader->name));
}

void report_failure(Boxes *b)
{
    const Failure f = b->failure;
    switch (f.kind) {
    case FAIL_NONE: return;
    case FAIL_UNBOUNDED: report_unbounded(b, &f); return;
    case FAIL_REDUCTION: report_reduction(b, &f); return;
    case FAIL_LARGE: report_large(b, &f); return;
    case FAIL_INPUT: report_inputs(b); return;
    case FAIL_NO_STAGE: report_no_stage(b, &f); return;
    case FAIL_STAGE: report_stage(b, &f); return;
    }
}
