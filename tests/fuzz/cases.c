/* SPDX-License-Identifier: MIT */
/* A program with its arguments: what its comments say, buffers, runs, comparisons. */
#include "cases.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

/* ---- Memory that is counted, and fails when told to -------------------------------------- */

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

kn_context *context_with(MemoryUse *m)
{
    return kn_context_new(&(kn_config){ .allocate     = memory_allocate,
                                        .release      = memory_release,
                                        .user         = m,
                                        .memory_limit = (size_t)256 << 20,
                                        .quota        = 20000000 });
}

/* ---- What stands in the comments --------------------------------------------------------- */

Case read_comments(const char *text)
{
    Case c = { .count = 0 };
    for (const char *at = text; at && c.count < MOST_PORTS; at = strchr(at, '\n'), at = at ? at + 1 : NULL) {
        Slot s    = { .rank = 0 };
        int  used = 0;
        if (sscanf(at, "//@ %7s %31s%n", s.kind, s.name, &used) != 2)
            continue;
        at += used;
        if (!strcmp(s.kind, "layout")) {
            c.layout = strtoull(s.name, NULL, 10);
            continue;
        }
        unsigned long long number;
        if (strcmp(s.kind, "output") && sscanf(at, " %llu%n", &number, &used) == 1) {
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
static int slot_index(const Case *c, const char *port)
{
    for (int i = 0; i < c->count; i++) {
        const size_t n = strlen(c->slots[i].name);
        if (!strncmp(c->slots[i].name, port, n) && (!port[n] || port[n] == '.'))
            return i;
    }
    return -1;
}

const Slot *find_slot(const Case *c, const char *port)
{
    const int i = slot_index(c, port);
    return i < 0 ? NULL : &c->slots[i];
}

Slot *change_slot(Case *c, const char *port)
{
    const int i = slot_index(c, port);
    return i < 0 ? NULL : &c->slots[i];
}

/* ---- Grids: buffers with memory of their own ---------------------------------------------- */

uint64_t mix(uint64_t v)
{
    v = (v ^ v >> 30) * 0xBF58476D1CE4E5B9u;
    v = (v ^ v >> 27) * 0x94D049BB133111EBu;
    return v ^ v >> 31;
}

/* Memory against the forbidden page behind it, or (at_front) against the one before it: compiled code that goes one
 * element too far dies. */
static void grid_map(Grid *g, bool at_front)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE), inside = (g->size + page - 1) / page * page;
    g->mapped_size    = inside + 2 * page;
    g->mapped         = mmap(NULL, g->mapped_size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    unsigned char *at = (unsigned char *)g->mapped + page;
    if (g->mapped == MAP_FAILED || mprotect(at, inside, PROT_READ | PROT_WRITE))
        abort();
    g->block = at_front ? at : at + inside - g->size;
}

void grid_allocate(Grid *g, uint64_t layout)
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
        stride *= (dim->extent ? dim->extent : 1) + (layout ? (int64_t)(mix(layout ^ (uint64_t)i << 8) % 3) : 0);
        if (layout && dim->extent && mix(layout * 7 + (uint64_t)i) % 3 == 0) {
            first += dim->stride * (dim->extent - 1);
            dim->stride = -dim->stride;
        }
    }
    const size_t one = kn_type_size(g->b.type);
    g->size          = (size_t)stride * one;
    grid_map(g, layout % 4 == 3);
    memset(g->block, GAP, g->size);
    g->b.data = grid_points(&g->b) || layout % 2 ? g->block + (size_t)first * one : NULL;
}

void grid_free(Grid *g)
{
    if (g->mapped)
        munmap(g->mapped, g->mapped_size);
    g->mapped = NULL;
    g->block  = NULL;
}

double region_points(const kn_region *regions, int count)
{
    double points = 0;
    for (int i = 0; i < count; i++) {
        double n = 1;
        for (int d = 0; d < regions[i].rank; d++)
            n *= regions[i].extent[d];
        points += n;
    }
    return points;
}

int64_t grid_points(const kn_buffer *b)
{
    int64_t n = 1;
    for (int d = 0; d < b->rank; d++)
        n *= b->dim[d].extent;
    return n;
}

/* The coordinates of the n-th point, x fastest. */
void grid_point(const kn_buffer *b, int64_t n, int64_t *at)
{
    for (int d = 0; d < b->rank; d++) {
        at[d] = b->dim[d].min + n % b->dim[d].extent;
        n /= b->dim[d].extent;
    }
}

unsigned char *grid_at(const kn_buffer *b, const int64_t *at)
{
    int64_t offset = 0;
    for (int d = 0; d < b->rank; d++)
        offset += (at[d] - b->dim[d].min) * b->dim[d].stride;
    return (unsigned char *)b->data + offset * (int64_t)kn_type_size(b->type);
}

/* Noise that depends on the coordinates only: all values of an integer, or small ones; eighths, and what is special
 * about floats. */
static Number noise(kn_type type, uint64_t seed, int rank, const int64_t *at)
{
    static const double special[] = { 0.0, -0.0, 1.0 / 0.0, -1.0 / 0.0, 0.0 / 0.0, 1e300, -1e-300, 65504, 0.1, 3e38 };
    uint64_t            v         = mix(seed + 1);
    for (int d = 0; d < rank; d++)
        v = mix(v * 31 + (uint64_t)at[d] + 17);
    if (type >= KN_F16)
        return number_float(type,
                            seed % 3 == 2 && v % 4 == 0 ? special[v / 4 % 10] : (double)((int64_t)(v >> 8) % 64) / 8);
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

Verdict fail(Report *r, const char *kind, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(r->text, sizeof r->text, format, args);
    va_end(args);
    r->kind = kind;
    return PROGRAM_FAILED;
}

void run_begin(Run *r, MemoryUse *memory, Report *report, const char *text)
{
    *r   = (Run){ .memory = memory, .cx = context_with(memory), .report = report };
    r->p = r->cx ? kn_parse(r->cx, "program.kiln", text, -1) : NULL;
    r->m = kn_compile(r->p, &(kn_options){ .interpret = true });
}

void run_free_grids(Run *r)
{
    for (int i = 0; i < r->count; i++)
        grid_free(&r->grid[i]);
}

void run_end(Run *r)
{
    run_free_grids(r);
    kn_context_free(r->cx);
}

/* Sets the shape of every argument; inputs are `margin` larger on every side than the comment says. */
bool run_shape(Run *r, const Case *c, int margin)
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
        r->args[i]       = (kn_arg){ .name = port.name, .buffer = port.kind == KN_PARAM ? NULL : b };
        r->args[i].value = port.type >= KN_F16 ? kn_float((double)slot->number) : kn_int((int64_t)slot->number);
    }
    return r->count > 0;
}

void run_allocate(Run *r, const Case *c, uint64_t layout)
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

kn_status run_go(Run *r)
{
    return kn_run(r->m, r->args, r->count);
}

bool is_output(const Run *r, int i)
{
    return kn_port_get(r->p, i).kind == KN_OUTPUT;
}

/* Where `part` has a point, `whole` has the same value. */
Verdict compare(const Run *part, const Run *whole, const char *kind)
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
                return fail(part->report, kind, "%s at point %lld: %g (%lld), before %g (%lld)", part->args[i].name,
                            (long long)n, x.type >= KN_F16 ? x.as.f : 0.0, (long long)x.as.i,
                            y.type >= KN_F16 ? y.as.f : 0.0, (long long)y.as.i);
        }
    }
    return PROGRAM_PASSED;
}

/* ---- Verdicts ------------------------------------------------------------------------------ */

/* What a refusal of a call that should have gone well means. */
Verdict judge(Report *report, kn_context *cx, kn_status status, const char *kind)
{
    const char *text = kn_error_text(cx);
    if (diag_has(cx, ERROR_INTERNAL))
        return fail(report, "access", "%s", text);
    if (status == KN_ERROR_LIMIT)
        return PROGRAM_SKIPPED;
    return fail(report, kind, "%s", text);
}

/* Finds shapes that suffice, and are not too large. */
Verdict find_shape(Run *r, const Case *c, int *margin)
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
        double points = region_points(regions, count);
        for (int i = 0; i < r->count; i++)
            points += r->args[i].buffer ? (double)grid_points(r->args[i].buffer) : 0;
        return points <= MOST_POINTS ? PROGRAM_PASSED : PROGRAM_SKIPPED;
    }
    if (diag_has(r->cx, ERROR_INTERNAL))
        return fail(r->report, "access", "%s", kn_error_text(r->cx));
    return PROGRAM_SKIPPED;
}

double seconds_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}
