/* SPDX-License-Identifier: MIT */
/* A program with a schedule, lowered and run step by step: what was computed, and how much. */
#ifndef KILN_TESTS_COUNTED_H
#define KILN_TESTS_COUNTED_H

#include "check.h"
#include "interp/execute.h"
#include "lower/lower.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_PORTS = 8 };

typedef struct Counted {
    kn_context   *cx;
    kn_pipeline  *p;
    Arena         arena;
    Program      *program;
    int           vector_bits;      /* of the default schedule's vectors; 0: as usual */
    kn_buffer     port[MOST_PORTS]; /* inputs, then outputs, in the order of the program; dense, in the context */
    kn_arg        args[MOST_PORTS]; /* the same, for kn_run and kn_bounds */
    int           count;
    ExecuteCounts counts;
} Counted;

static inline void counted_lower(void *arg)
{
    Counted        *c = arg;
    const Schedule *schedule;
    if (!plan_choose(c->p, NULL, NULL, &schedule))
        return;
    Plan *plan = plan_make(c->p, schedule, &c->arena, (PlanTarget){ .vector_bits = c->vector_bits });
    c->program = plan ? lower(plan, &(LowerOptions){ .strict_float = true }) : NULL;
}

/* False after a failed check. The last schedule given counts. */
static inline bool counted_begin_bits(Counted *c, kn_context *cx, const char *name, const char *text,
                                      const char *schedule, int vector_bits)
{
    *c = (Counted){ .cx = cx, .p = kn_parse(cx, name, text, -1), .vector_bits = vector_bits };
    CHECK(c->p && kn_schedule_parse(c->p, "test.sched", schedule, -1) == KN_OK, "%s: %s", name, kn_error_text(cx));
    arena_init(&c->arena, cx);
    context_begin(cx);
    if (c->p)
        context_try(cx, counted_lower, c);
    CHECK(c->program, "%s with %s: %s", name, schedule, kn_error_text(cx));
    return c->program != NULL;
}

static inline bool counted_begin(Counted *c, kn_context *cx, const char *name, const char *text, const char *schedule)
{
    return counted_begin_bits(c, cx, name, text, schedule, 0);
}

static inline void counted_end(Counted *c)
{
    for (int i = 0; i < c->count; i++)
        kn_buffer_free(c->cx, &c->port[i]);
    arena_free(&c->arena);
    kn_pipeline_free(c->p);
}

/* Buffers with the output's mins and extents as given and inputs with noise in them: with these extents, or, if that is
 * NULL, as large as they need be. */
static inline bool counted_buffers(Counted *c, const int32_t *min, const int32_t *extent, const int32_t *input)
{
    kn_module       *m = kn_compile(c->p, &(kn_options){ .interpret = true });
    const kn_region *regions;
    int              region_count;
    for (int kind = KN_INPUT; kind <= KN_OUTPUT; kind++)
        for (int i = 0; i < kn_port_count(c->p); i++) {
            const kn_port port = kn_port_get(c->p, i);
            if (port.kind != (kn_port_kind)kind || kind == KN_PARAM)
                continue;
            kn_buffer *b        = &c->port[c->count];
            c->args[c->count++] = (kn_arg){ port.name, .buffer = b };
            *b                  = (kn_buffer){ .type = port.type, .rank = port.rank };
            for (int d = 0; d < port.rank; d++)
                b->dim[d] =
                    kind == KN_INPUT ? (kn_dim){ 0, input ? input[d] : 0, 0 } : (kn_dim){ min[d], extent[d], 0 };
        }
    const int inputs = c->program->port_count - 1;
    if (!input && kn_bounds(m, c->args + inputs, 1, &regions, &region_count) == KN_OK)
        for (int i = 0; i < inputs; i++)
            for (int r = 0; r < region_count; r++)
                for (int d = 0; !strcmp(regions[r].name, c->args[i].name) && d < regions[r].rank; d++)
                    c->port[i].dim[d] = (kn_dim){ regions[r].min[d], regions[r].extent[d], 0 };
    for (int i = 0; i < c->count; i++)
        if (kn_buffer_alloc(c->cx, &c->port[i]) || (i < inputs && kn_fill_noise(c->cx, &c->port[i], 1))) {
            CHECK(false, "%s", kn_error_text(c->cx));
            return false;
        }
    return true;
}

static inline void counted_execute(void *arg)
{
    Counted   *c = arg;
    kn_buffer *ports[MOST_PORTS];
    kn_scalar *params = ARENA_ARRAY(&c->arena, kn_scalar, c->program->params.count + 1);
    for (int i = 0; i < c->count; i++)
        ports[i] = &c->port[i];
    for (size_t i = 0; i < c->program->params.count; i++)
        params[i] = c->program->params.at[i]->value;
    if (execute(c->program, ports, params, &c->counts) != KN_OK)
        c->counts = (ExecuteCounts){ 0 };
}

static inline bool counted_run(Counted *c)
{
    context_begin(c->cx);
    const bool done = context_try(c->cx, counted_execute, c) && c->counts.buffers;
    CHECK(done, "%s", kn_error_text(c->cx));
    return done;
}

static inline int64_t counted_points(const Counted *c, const char *func)
{
    for (int i = 0; i < c->counts.definition_count; i++)
        if (!strcmp(c->counts.definitions[i].func, func) && c->counts.definitions[i].update < 0)
            return c->counts.definitions[i].points;
    return -1;
}

/* Bytes of the largest allocation. */
static inline int64_t counted_storage(const Counted *c, const char *buffer)
{
    for (size_t i = 0; i < c->program->buffers.count; i++)
        if (!strcmp(c->program->buffers.at[i]->name, buffer))
            return c->counts.buffers[c->program->buffers.at[i]->id].largest;
    return -1;
}

/* The same run interpreted and compiled: is the output, port `output`, the same in all three? Overwrites it. */
static inline bool counted_same_bits(Counted *c, int output)
{
    static const kn_options ways[] = { { .interpret = true }, { .strict_float = true, .check_access = true } };
    const kn_buffer        *b      = &c->port[output];
    size_t                  size   = kn_type_size(b->type);
    for (int d = 0; d < b->rank; d++)
        size *= (size_t)b->dim[d].extent;
    void *copy = malloc(size);
    memcpy(copy, b->data, size);
    bool same = true;
    for (int i = 0; i < 2; i++) {
        memset(b->data, 0x5A, size);
        kn_module *m = kn_compile(c->p, &ways[i]);
        CHECK(m && kn_run(m, c->args, c->count) == KN_OK, "%s", kn_error_text(c->cx));
        same = same && !memcmp(copy, b->data, size);
    }
    free(copy);
    return same;
}

#endif
