/* SPDX-License-Identifier: MIT */
/* Runs a program in every way that must agree.
 *
 *   value     the interpreter gives, bit for bit, what pointwise.h says
 *   access    none of the interpreter's own checks fires: its regions hold every access
 *   smaller   a part of the box asked for has the same values there
 *   strides   so do buffers with gaps, turned around and with their dimensions in another order; nothing between the
 *             elements is touched
 *   format    so does the program after kn_format
 *   fit       what kn_fit finds can be run
 *   memory    running out of memory anywhere is an error return, and leaks nothing */
#include "cases.h"
#include "pointwise.h"
#include "lang/lang.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const uint64_t pointwise_work = 3000000;

/* ---- The ways ------------------------------------------------------------------------------ */

static Pointwise *pointwise_of(const Run *r, const kn_buffer **inputs, kn_scalar *params)
{
    int param = 0;
    for (int i = 0; i < r->count; i++) {
        const kn_port port = kn_port_get(r->p, i);
        if (port.kind == KN_INPUT)
            inputs[i] = &r->grid[i].b; /* inputs are the first ports and the first functions, in one order */
        else if (port.kind == KN_PARAM)
            params[param++] = r->args[i].value;
    }
    return pointwise_new(r->p, inputs, params, pointwise_work);
}

/* Every output at every point, against the pointwise evaluator. */
static Verdict against_pointwise(Run *r)
{
    const kn_buffer **inputs = calloc(r->p->funcs.count + 1, sizeof *inputs);
    kn_scalar         params[MOST_PORTS];
    Pointwise        *pw        = pointwise_of(r, inputs, params);
    Verdict           verdict   = PROGRAM_PASSED;
    size_t            output    = 0;
    int               component = 0;
    r->report->compared         = true;
    for (int i = 0; i < r->count && verdict == PROGRAM_PASSED && r->report->compared; i++) {
        if (!is_output(r, i))
            continue;
        const Func      *f = r->p->outputs.at[output].func;
        const kn_buffer *b = &r->grid[i].b;
        for (int64_t n = 0, count = grid_points(b); n < count; n++) {
            int64_t at[KN_MAX_RANK];
            Number  want;
            grid_point(b, n, at);
            const PointwiseStatus status = pointwise_value(pw, f, component, at, &want);
            /* An input is read outside where Kiln has shown, without looking, that the value is of no consequence: no
             * comparison then. */
            r->report->compared = status != POINTWISE_TIRED && status != POINTWISE_OUTSIDE;
            if (!r->report->compared)
                break;
            const Number got = number_load(b->type, grid_at(b, at));
            if (status != POINTWISE_OK)
                verdict =
                    fail(r->report, "value", "%s at point %lld: %s", r->args[i].name, (long long)n, pointwise_why(pw));
            else if (!number_same(got, want))
                verdict = fail(r->report, "value", "%s at point %lld: %g (%lld), by definition %g (%lld)",
                               r->args[i].name, (long long)n, got.type >= KN_F16 ? got.as.f : 0.0, (long long)got.as.i,
                               want.type >= KN_F16 ? want.as.f : 0.0, (long long)want.as.i);
            if (verdict != PROGRAM_PASSED)
                break;
        }
        if (++component == f->component_count) {
            component = 0;
            output++;
        }
    }
    pointwise_free(pw);
    free(inputs);
    return verdict;
}

/* The same program with outputs changed by `change`, and another layout. */
static Verdict again(const Run *whole, const Case *c, int margin, const char *text, uint64_t layout, Choices *choices,
                     const char *kind)
{
    MemoryUse memory = { .fail_at = -1 };
    Run       r;
    run_begin(&r, &memory, whole->report, text);
    Verdict verdict = r.m && run_shape(&r, c, margin) ? PROGRAM_PASSED : judge(whole->report, r.cx, KN_OK, kind);
    for (int i = 0; choices && verdict == PROGRAM_PASSED && i < r.count; i++)
        for (int d = 0; is_output(&r, i) && d < r.grid[i].b.rank; d++) {
            kn_dim       *dim  = &r.grid[i].b.dim[d];
            const int32_t skip = (int32_t)choose(choices, (uint64_t)dim->extent);
            const kn_port port = kn_port_get(r.p, i), before = kn_port_get(r.p, i ? i - 1 : 0);
            const char   *dot = strchr(port.name, '.');
            if (i && dot && !strncmp(before.name, port.name, (size_t)(dot - port.name)) && before.kind == KN_OUTPUT) {
                *dim = r.grid[i - 1].b.dim[d]; /* the components of a tuple have one box */
                continue;
            }
            dim->min += skip;
            dim->extent -= skip;
            dim->extent = dim->extent > 0 ? 1 + (int32_t)choose(choices, (uint64_t)dim->extent) : 0;
        }
    if (verdict == PROGRAM_PASSED) {
        run_allocate(&r, c, layout);
        const kn_status status = run_go(&r);
        verdict                = status ? judge(whole->report, r.cx, status, kind) : compare(&r, whole, kind);
    }
    for (int i = 0; verdict == PROGRAM_PASSED && i < r.count; i++)
        if (is_output(&r, i)) {
            size_t  touched = 0;
            int64_t at[KN_MAX_RANK];
            for (int64_t n = 0, count = grid_points(&r.grid[i].b); n < count; n++) {
                grid_point(&r.grid[i].b, n, at);
                memset(grid_at(&r.grid[i].b, at), GAP, kn_type_size(r.grid[i].b.type));
            }
            for (size_t k = 0; k < r.grid[i].size; k++)
                touched += r.grid[i].block[k] != GAP;
            if (touched)
                verdict = fail(whole->report, kind, "%s: %zu bytes between the elements were written", r.args[i].name,
                               touched);
        }
    run_end(&r);
    return verdict != PROGRAM_FAILED && memory.live
               ? fail(whole->report, "leak", "%lld blocks after %s", (long long)memory.live, kind)
               : verdict;
}

static Verdict formatted(const Run *whole, const Case *c, int margin, const char *text)
{
    const char *once  = kn_format(whole->cx, "program.kiln", text, -1);
    const char *twice = once ? kn_format(whole->cx, "program.kiln", once, -1) : NULL;
    if (!twice)
        return judge(whole->report, whole->cx, KN_OK, "format");
    if (strcmp(once, twice))
        return fail(whole->report, "format", "a second kn_format changes the text");
    return again(whole, c, margin, once, 0, NULL, "format");
}

/* What kn_fit says is enough is enough, and nothing is touched but the outputs' shapes. */
static Verdict fitted(Run *r, const Case *c, int margin)
{
    if (!run_shape(r, c, margin))
        return PROGRAM_SKIPPED;
    for (int i = 0; i < r->count; i++)
        if (is_output(r, i))
            r->grid[i].b = (kn_buffer){ .rank = 0 };
    if (kn_fit(r->m, r->args, r->count) != KN_OK)
        return PROGRAM_SKIPPED;
    const kn_region *regions;
    int              count;
    for (int i = 0; i < r->count; i++)
        if (is_output(r, i) && !r->grid[i].b.type)
            return PROGRAM_SKIPPED;
    const kn_status status = kn_bounds(r->m, r->args, r->count, &regions, &count);
    return status ? judge(r->report, r->cx, status, "fit") : PROGRAM_PASSED;
}

static Verdict out_of_memory(const Case *c, int margin, const char *text, Report *report, int64_t fail_at)
{
    MemoryUse memory = { .fail_at = fail_at };
    Run       r;
    run_begin(&r, &memory, report, text);
    if (r.m && run_shape(&r, c, margin)) {
        run_allocate(&r, c, 0);
        run_go(&r);
    }
    if (r.cx)
        kn_error_text(r.cx);
    run_end(&r);
    return memory.live ? fail(report, "leak", "%lld blocks after allocation %lld failed", (long long)memory.live,
                              (long long)fail_at)
                       : PROGRAM_PASSED;
}

static Verdict check_all(Run *r, const Case *c, const char *text, Choices *choices)
{
    int     margin  = 0;
    Verdict verdict = r->m ? find_shape(r, c, &margin) : judge(r->report, r->cx, KN_OK, "refused");
    if (verdict != PROGRAM_PASSED)
        return verdict;
    run_allocate(r, c, 0);
    const kn_status status = run_go(r);
    if (status)
        return judge(r->report, r->cx, status, "run");
    verdict                   = against_pointwise(r);
    const int64_t allocations = r->memory->count;
    if (verdict == PROGRAM_PASSED)
        verdict = again(r, c, margin, text, 1 + choose(choices, 1000), choices, "smaller");
    if (verdict == PROGRAM_PASSED)
        verdict = again(r, c, margin, text, 1 + choose(choices, 1000), NULL, "strides");
    if (verdict == PROGRAM_PASSED && choose(choices, 3) == 0)
        verdict = formatted(r, c, margin, text);
    if (verdict == PROGRAM_PASSED && choose(choices, 2) == 0)
        verdict = out_of_memory(c, margin, text, r->report, choose(choices, (uint64_t)allocations));
    if (verdict == PROGRAM_PASSED && choose(choices, 3) == 0) {
        run_free_grids(r);
        verdict = fitted(r, c, margin);
        if (verdict == PROGRAM_SKIPPED)
            verdict = PROGRAM_PASSED;
    }
    return verdict;
}

Verdict check_program(const char *text, uint64_t seed, Report *report)
{
    MemoryUse  memory  = { .fail_at = -1 };
    Choices    choices = { .seed = seed * 2 + 1 };
    const Case c       = read_comments(text);
    Run        r;
    *report = (Report){ .kind = "" };
    run_begin(&r, &memory, report, text);
    const Verdict verdict = check_all(&r, &c, text, &choices);
    run_end(&r);
    return verdict != PROGRAM_FAILED && memory.live ? fail(report, "leak", "%lld blocks", (long long)memory.live)
                                                    : verdict;
}

/* ---- Formulas ------------------------------------------------------------------------------ */

Verdict check_formula(const char *formula, uint64_t seed, Report *report)
{
    static const char *const dims[]  = { "x", "y" };
    MemoryUse                memory  = { .fail_at = -1 };
    Verdict                  verdict = PROGRAM_PASSED;
    kn_context              *cx      = context_with(&memory);
    const kn_type            type    = (kn_type)(1 + seed % (KN_TYPE_COUNT - 1));
    Grid                     g       = { .b = { .type = type, .rank = 2, .dim = { { -2, 4, 0 }, { 1, 3, 0 } } } };
    *report                          = (Report){ .kind = "" };
    grid_allocate(&g, seed);
    const kn_status status = kn_fill(cx, &g.b, dims, formula);
    kn_pipeline    *p      = status ? NULL : kn_pipeline_new(cx, "formula");
    const Func     *f      = p ? lang_formula(p, formula, 2, dims, g.b.type) : NULL;
    if (!f)
        verdict = judge(report, cx, status, "refused");
    Pointwise *pw = f ? pointwise_new(p, NULL, NULL, pointwise_work) : NULL;
    for (int64_t n = 0; pw && n < grid_points(&g.b) && verdict == PROGRAM_PASSED; n++) {
        int64_t at[KN_MAX_RANK];
        Number  want;
        grid_point(&g.b, n, at);
        const PointwiseStatus found = pointwise_value(pw, f, 0, at, &want);
        report->compared            = found == POINTWISE_OK;
        if (found == POINTWISE_OK && !number_same(number_load(g.b.type, grid_at(&g.b, at)), want))
            verdict = fail(report, "value", "the formula at point %lld", (long long)n);
    }
    pointwise_free(pw);
    grid_free(&g);
    kn_context_free(cx);
    return verdict != PROGRAM_FAILED && memory.live ? fail(report, "leak", "%lld blocks", (long long)memory.live)
                                                    : verdict;
}
