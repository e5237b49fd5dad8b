/* Runs a program in every way that must agree.
 *
 *   value     the interpreter gives, bit for bit, what pointwise.h says
 *   access    none of the interpreter's own checks fires: its regions hold every access
 *   smaller   a part of the box asked for has the same values there
 *   strides   so do buffers with gaps, turned around and with their dimensions in another order; nothing between the elements is touched
 *   format    so does the program after kn_format
 *   fit       what kn_fit finds can be run
 *   memory    running out of memory anywhere is an error return, and leaks nothing */
#include "check.h"
#include "pointwise.h"
#include "lang/lang.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_PORTS = 32, MOST_POINTS = 60000, GAP = 0xA5 };
static const uint64_t pointwise_work = 3000000;

/* ---- MemoryUse that is counted, and fails when told to -------------------------------------- */

typedef struct MemoryUse {
    int64_t live, count;
    int64_t fail_at;            /* the number of the allocation that fails; -1: none */
} MemoryUse;

static void *memory_allocate(void *user, size_t size)
{
    MemoryUse *m = user;
    if (m->count++ == m->fail_at)
        return NULL;
    void *block = malloc(size);
    m->live += block != NULL;
    return block;
}

static void memory_release(void *user, void *block)
{
    MemoryUse *m = user;
    m->live -= block != NULL;
    free(block);
}

static kn_context *context_with(MemoryUse *m)
{
    return kn_context_new(&(kn_config){ .allocate = memory_allocate, .release = memory_release, .user = m,
                                        .memory_limit = (size_t)256 << 20, .quota = 20000000 });
}

/* ---- What stands in the comments --------------------------------------------------------- */

typedef struct Slot {
    char     name[32];
    uint64_t number;            /* an input's seed, a parameter's value */
    int      rank;
    kn_dim   dim[KN_MAX_RANK];
} Slot;

typedef struct Case {
    Slot slots[MOST_PORTS];
    int  count;
} Case;

static Case read_comments(const char *text)
{
    Case c = { .count = 0 };
    for (const char *at = text; at && c.count < MOST_PORTS; at = strchr(at, '\n'), at = at ? at + 1 : NULL) {
        Slot s = { .rank = 0 };
        char kind[8];
        int  used = 0;
        if (sscanf(at, "//@ %7s %31s%n", kind, s.name, &used) != 2)
            continue;
        at += used;
        unsigned long long number;
        if (strcmp(kind, "output") && sscanf(at, " %llu%n", &number, &used) == 1) {
            s.number = number;
            at += used;
        }
        int min, extent;
        while (s.rank < KN_MAX_RANK && sscanf(at, "%*[ ]%d:%d%n", &min, &extent, &used) == 2) {
            s.dim[s.rank++] = (kn_dim){ min, extent, 0 };
            at += used;
        }
        c.slots[c.count++] = s;
    }
    return c;
}

/* The slot of a port; of best.1 it is that of best. */
static const Slot *find_slot(const Case *c, const char *port)
{
    for (int i = 0; i < c->count; i++) {
        const size_t n = strlen(c->slots[i].name);
        if (!strncmp(c->slots[i].name, port, n) && (!port[n] || port[n] == '.'))
            return &c->slots[i];
    }
    return NULL;
}

/* ---- Grids: buffers with memory of their own ---------------------------------------------- */

typedef struct Grid {
    kn_buffer      b;
    unsigned char *block;
    size_t         size;
} Grid;

static uint64_t mix(uint64_t v)
{
    v = (v ^ v >> 30) * 0xBF58476D1CE4E5B9u;
    v = (v ^ v >> 27) * 0x94D049BB133111EBu;
    return v ^ v >> 31;
}

/* Sets strides and memory by mins and extents: dense, or (layout not 0) in another order, with gaps, some backwards. */
static void grid_allocate(Grid *g, uint64_t layout)
{
    int     order[KN_MAX_RANK];
    int64_t stride = layout % 5 == 1 ? 3 : 1, first = 0;
    for (int d = 0; d < g->b.rank; d++)
        order[d] = d;
    for (int d = g->b.rank - 1; d > 0 && layout; d--) {
        const int other = (int)(mix(layout + (uint64_t)d) % (uint64_t)(d + 1)), kept = order[d];
        order[d]     = order[other];
        order[other] = kept;
    }
    for (int i = 0; i < g->b.rank; i++) {
        kn_dim *dim = &g->b.dim[order[i]];
        dim->stride = stride;
        stride *= dim->extent + (layout ? (int64_t)(mix(layout ^ (uint64_t)i << 8) % 3) : 0);
        if (layout && mix(layout * 7 + (uint64_t)i) % 3 == 0) {
            first += dim->stride * (dim->extent - 1);
            dim->stride = -dim->stride;
        }
    }
    const size_t one = kn_type_size(g->b.type);
    g->size          = (size_t)stride * one;
    g->block         = malloc(g->size + 1);
    memset(g->block, GAP, g->size + 1);
    g->b.data = g->block + (size_t)first * one;
}

static void grid_free(Grid *g)
{
    free(g->block);
    g->block = NULL;
}

static int64_t grid_points(const kn_buffer *b)
{
    int64_t n = 1;
    for (int d = 0; d < b->rank; d++)
        n *= b->dim[d].extent;
    return n;
}

/* The coordinates of the n-th point, x fastest. */
static void grid_point(const kn_buffer *b, int64_t n, int64_t *at)
{
    for (int d = 0; d < b->rank; d++) {
        at[d] = b->dim[d].min + n % b->dim[d].extent;
        n /= b->dim[d].extent;
    }
}

static unsigned char *grid_at(const kn_buffer *b, const int64_t *at)
{
    int64_t offset = 0;
    for (int d = 0; d < b->rank; d++)
        offset += (at[d] - b->dim[d].min) * b->dim[d].stride;
    return (unsigned char *)b->data + offset * (int64_t)kn_type_size(b->type);
}

/* Noise that depends on the coordinates only: all values of an integer, or small ones; eighths, and what is special about floats. */
static Number noise(kn_type type, uint64_t seed, int rank, const int64_t *at)
{
    static const double special[] = { 0.0, -0.0, 1.0 / 0.0, -1.0 / 0.0, 0.0 / 0.0, 1e300, -1e-300, 65504, 0.1, 3e38 };
    uint64_t            v         = mix(seed + 1);
    for (int d = 0; d < rank; d++)
        v = mix(v * 31 + (uint64_t)at[d] + 17);
    if (type >= KN_F16)
        return number_float(type, seed % 3 == 2 && v % 4 == 0 ? special[v / 4 % 10] : (double)((int64_t)(v >> 8) % 64) / 8);
    return number_int(type, seed % 2 ? (__int128)(v >> 8) : (__int128)(v % 10));
}

static void grid_fill(Grid *g, uint64_t seed)
{
    int64_t at[KN_MAX_RANK];
    for (int64_t n = 0, count = grid_points(&g->b); n < count; n++) {
        grid_point(&g->b, n, at);
        number_store(noise(g->b.type, seed, g->b.rank, at), grid_at(&g->b, at));
    }
}

/* ---- A program with its arguments --------------------------------------------------------- */

typedef struct Run {
    MemoryUse      *memory;
    kn_context  *cx;
    kn_pipeline *p;
    kn_module   *m;
    int          count;
    Grid         grid[MOST_PORTS];      /* by port; none for parameters */
    kn_arg       args[MOST_PORTS];
    Report      *report;
} Run;

__attribute__((format(printf, 3, 4))) static Verdict fail(Report *r, const char *kind, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(r->text, sizeof r->text, format, args);
    va_end(args);
    r->kind = kind;
    return PROGRAM_FAILED;
}

static void run_begin(Run *r, MemoryUse *memory, Report *report, const char *text)
{
    *r = (Run){ .memory = memory, .cx = context_with(memory), .report = report };
    r->p = r->cx ? kn_parse(r->cx, "program.kiln", text, -1) : NULL;
    r->m = kn_compile(r->p, NULL);
}

static void run_free_grids(Run *r)
{
    for (int i = 0; i < r->count; i++)
        grid_free(&r->grid[i]);
}

static void run_end(Run *r)
{
    run_free_grids(r);
    kn_context_free(r->cx);
}

/* Sets the shape of every argument; inputs are `margin` larger on every side than the comment says. */
static bool run_shape(Run *r, const Case *c, int margin)
{
    r->count = kn_port_count(r->p) < MOST_PORTS ? kn_port_count(r->p) : 0;
    for (int i = 0; i < r->count; i++) {
        const kn_port port = kn_port_get(r->p, i);
        const Slot   *slot = find_slot(c, port.name);
        if (!slot || (port.kind != KN_PARAM && slot->rank != port.rank))
            return false;
        kn_buffer *b = &r->grid[i].b;
        *b           = (kn_buffer){ .type = port.type, .rank = port.rank };
        memcpy(b->dim, slot->dim, sizeof b->dim);
        for (int d = 0; d < port.rank && port.kind == KN_INPUT; d++) {
            b->dim[d].min -= margin;
            b->dim[d].extent += 2 * margin;
        }
        r->args[i] = (kn_arg){ .name = port.name, .buffer = port.kind == KN_PARAM ? NULL : b };
        r->args[i].value = port.type >= KN_F16 ? kn_float((double)slot->number) : kn_int((int64_t)slot->number);
    }
    return r->count > 0;
}

static void run_allocate(Run *r, const Case *c, uint64_t layout)
{
    for (int i = 0; i < r->count; i++) {
        const kn_port port = kn_port_get(r->p, i);
        if (port.kind == KN_PARAM)
            continue;
        grid_allocate(&r->grid[i], layout ? layout + (uint64_t)i : 0);
        if (port.kind == KN_INPUT)
            grid_fill(&r->grid[i], find_slot(c, port.name)->number);
    }
}

static kn_status run_go(Run *r)
{
    return kn_run(r->m, r->args, r->count);
}

static bool is_output(const Run *r, int i)
{
    return kn_port_get(r->p, i).kind == KN_OUTPUT;
}

/* Where `part` has a point, `whole` has the same value. */
static Verdict compare(const Run *part, const Run *whole, const char *kind)
{
    int64_t at[KN_MAX_RANK];
    for (int i = 0; i < part->count; i++) {
        if (!is_output(part, i))
            continue;
        const kn_buffer *a = &part->grid[i].b, *b = &whole->grid[i].b;
        for (int64_t n = 0, count = grid_points(a); n < count; n++) {
            grid_point(a, n, at);
            const Number x = number_load(a->type, grid_at(a, at)), y = number_load(b->type, grid_at(b, at));
            if (!number_same(x, y))
                return fail(part->report, kind, "%s at point %lld: %g (%lld), before %g (%lld)", part->args[i].name, (long long)n,
                            x.type >= KN_F16 ? x.as.f : 0.0, (long long)x.as.i, y.type >= KN_F16 ? y.as.f : 0.0, (long long)y.as.i);
        }
    }
    return PROGRAM_PASSED;
}

/* ---- The ways ------------------------------------------------------------------------------ */

/* What a refusal of a call that should have gone well means. */
static Verdict judge(Report *report, kn_context *cx, kn_status status, const char *kind)
{
    const char *text = kn_error_text(cx);
    if (strstr(text, "mistake in Kiln"))
        return fail(report, "access", "%s", text);
    if (status == KN_ERROR_LIMIT)
        return PROGRAM_SKIPPED;
    return fail(report, kind, "%s", text);
}

/* Finds shapes that suffice, and are not too large. */
static Verdict find_shape(Run *r, const Case *c, int *margin)
{
    static const int margins[] = { 0, 2, 7, 24 };
    const kn_region *regions;
    int              count;
    for (size_t k = 0; k < sizeof margins / sizeof *margins; k++) {
        if (!run_shape(r, c, margins[k]))
            return fail(r->report, "refused", "the ports are not those of the comments");
        if (kn_bounds(r->m, r->args, r->count, &regions, &count) != KN_OK)
            continue;
        *margin       = margins[k];
        double points = 0;
        for (int i = 0; i < count; i++) {
            double n = 1;
            for (int d = 0; d < regions[i].rank; d++)
                n *= regions[i].extent[d];
            points += n;
        }
        for (int i = 0; i < r->count; i++)
            points += r->args[i].buffer ? (double)grid_points(r->args[i].buffer) : 0;
        return points <= MOST_POINTS ? PROGRAM_PASSED : PROGRAM_SKIPPED;
    }
    if (strstr(kn_error_text(r->cx), "mistake in Kiln"))
        return fail(r->report, "access", "%s", kn_error_text(r->cx));
    return PROGRAM_SKIPPED;
}

static Pointwise *pointwise_of(const Run *r, const kn_buffer **inputs, kn_scalar *params)
{
    int param = 0;
    for (int i = 0; i < r->count; i++) {
        const kn_port port = kn_port_get(r->p, i);
        if (port.kind == KN_INPUT)
            inputs[i] = &r->grid[i].b;              /* inputs are the first ports and the first functions, in one order */
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
    r->report->compared = true;
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
            /* An input is read outside where Kiln has shown, without looking, that the value is of no consequence: no comparison then. */
            r->report->compared = status != POINTWISE_TIRED && status != POINTWISE_OUTSIDE;
            if (!r->report->compared)
                break;
            const Number got = number_load(b->type, grid_at(b, at));
            if (status != POINTWISE_OK)
                verdict = fail(r->report, "value", "%s at point %lld: %s", r->args[i].name, (long long)n, pointwise_why(pw));
            else if (!number_same(got, want))
                verdict = fail(r->report, "value", "%s at point %lld: %g (%lld), by definition %g (%lld)", r->args[i].name, (long long)n,
                               got.type >= KN_F16 ? got.as.f : 0.0, (long long)got.as.i, want.type >= KN_F16 ? want.as.f : 0.0, (long long)want.as.i);
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
static Verdict again(const Run *whole, const Case *c, int margin, const char *text, uint64_t layout, Choices *choices, const char *kind)
{
    MemoryUse memory = { .fail_at = -1 };
    Run    r;
    run_begin(&r, &memory, whole->report, text);
    Verdict verdict = r.m && run_shape(&r, c, margin) ? PROGRAM_PASSED : judge(whole->report, r.cx, KN_OK, kind);
    for (int i = 0; choices && verdict == PROGRAM_PASSED && i < r.count; i++)
        for (int d = 0; is_output(&r, i) && d < r.grid[i].b.rank; d++) {
            kn_dim        *dim  = &r.grid[i].b.dim[d];
            const int32_t  skip = (int32_t)choose(choices, (uint64_t)dim->extent);
            const kn_port  port = kn_port_get(r.p, i), before = kn_port_get(r.p, i ? i - 1 : 0);
            const char    *dot  = strchr(port.name, '.');
            if (i && dot && !strncmp(before.name, port.name, (size_t)(dot - port.name)) && before.kind == KN_OUTPUT) {
                *dim = r.grid[i - 1].b.dim[d];              /* the components of a tuple have one box */
                continue;
            }
            dim->min += skip;
            dim->extent -= skip;
            dim->extent = 1 + (int32_t)choose(choices, (uint64_t)dim->extent);
        }
    if (verdict == PROGRAM_PASSED) {
        run_allocate(&r, c, layout);
        const kn_status status = run_go(&r);
        verdict = status ? judge(whole->report, r.cx, status, kind) : compare(&r, whole, kind);
    }
    for (int i = 0; verdict == PROGRAM_PASSED && i < r.count; i++)
        if (is_output(&r, i)) {
            size_t  touched = 0;
            int64_t at[KN_MAX_RANK];
            for (int64_t n = 0, count = grid_points(&r.grid[i].b); n < count; n++) {
                grid_point(&r.grid[i].b, n, at);
                memset(grid_at(&r.grid[i].b, at), GAP, kn_type_size(r.grid[i].b.type));
            }
            for (size_t k = 0; k <= r.grid[i].size; k++)
                touched += r.grid[i].block[k] != GAP;
            if (touched)
                verdict = fail(whole->report, kind, "%s: %zu bytes between the elements were written", r.args[i].name, touched);
        }
    run_end(&r);
    return verdict != PROGRAM_FAILED && memory.live ? fail(whole->report, "leak", "%lld blocks after %s", (long long)memory.live, kind) : verdict;
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
    Run    r;
    run_begin(&r, &memory, report, text);
    if (r.m && run_shape(&r, c, margin)) {
        run_allocate(&r, c, 0);
        run_go(&r);
    }
    if (r.cx)
        kn_error_text(r.cx);
    run_end(&r);
    return memory.live ? fail(report, "leak", "%lld blocks after allocation %lld failed", (long long)memory.live, (long long)fail_at) : PROGRAM_PASSED;
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
    verdict = against_pointwise(r);
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
    MemoryUse     memory  = { .fail_at = -1 };
    Choices    choices = { .seed = seed * 2 + 1 };
    const Case c       = read_comments(text);
    Run        r;
    *report = (Report){ .kind = "" };
    run_begin(&r, &memory, report, text);
    const Verdict verdict = check_all(&r, &c, text, &choices);
    run_end(&r);
    return verdict != PROGRAM_FAILED && memory.live ? fail(report, "leak", "%lld blocks", (long long)memory.live) : verdict;
}

/* ---- Formulas ------------------------------------------------------------------------------ */

Verdict check_formula(const char *formula, uint64_t seed, Report *report)
{
    static const char *const dims[] = { "x", "y" };
    MemoryUse      memory  = { .fail_at = -1 };
    Verdict     verdict = PROGRAM_PASSED;
    kn_context *cx      = context_with(&memory);
    Grid        g       = { .b = { .type = (kn_type)(1 + seed % (KN_TYPE_COUNT - 1)), .rank = 2, .dim = { { -2, 4, 0 }, { 1, 3, 0 } } } };
    *report = (Report){ .kind = "" };
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
    return verdict != PROGRAM_FAILED && memory.live ? fail(report, "leak", "%lld blocks", (long long)memory.live) : verdict;
}
