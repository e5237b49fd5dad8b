/* SPDX-License-Identifier: MIT */
/* Building ahead of time: does the compiled function accept inputs that are large enough?
 *
 * Takes   a lowered program, and sizes: those of `estimate`, or defaults (schedulers/graph/graph_binding.c).
 * How     The interpreter's analysis gives the box of each input that is read at these sizes. The executor then runs
 * the program's bounds checks, with all computation removed, on inputs of exactly those boxes. Holds   a program that
 * passes may still ask for more at other sizes: docs/language.md lists the limits of compiled code. */
#include "api/ahead.h"

#include "analysis/regions.h"
#include "interp/execute.h"
#include "schedulers/graph/graph.h"

/* ---- The checks alone ---- */

/* Keeps the computation of box tables, which belong to no function; drops that of functions. */
static const Stmt *checks_of(void *user, const Stmt *s)
{
    const StmtMap *map = user;
    switch (s->kind) {
    case STMT_PRODUCE:
    case STMT_PREFETCH:
    case STMT_KERNEL:
    case STMT_SYNC:
    case STMT_STAGE: return NULL;
    case STMT_STORE: return s->store.places[0].buffer->func ? NULL : s;
    case STMT_ALLOC: return s->alloc.buffer->func ? checks_of(user, s->alloc.body) : stmt_map(map, s);
    default: return stmt_map(map, s);
    }
}

/* ---- Sizes ---- */

typedef struct Sizes {
    kn_pipeline *p;
    Arena       *arena;
    RunArgs      binding;
    bool         suit;
} Sizes;

/* An input whose size the program does not use is exactly as large as the box that is read. */
static void find_sizes(void *arg)
{
    Sizes  *s = arg;
    Regions regions;
    s->binding = graph_binding(s->p, s->arena);
    s->suit    = regions_compute(s->p, s->arena, &s->binding, true, &regions);
    for (size_t i = 0; s->suit && i < s->p->funcs.count; i++)
        if (s->p->funcs.at[i]->kind == FUNC_INPUT && regions.of[i].needed &&
            !pipeline_uses_size(s->p, s->p->funcs.at[i]))
            s->binding.input[i] = regions.of[i].box;
}

/* A buffer of that box whose values are never read: all rows share one row of memory. */
static kn_buffer *port(Arena *arena, const Buffer *buffer, const Box *box)
{
    kn_buffer *b = ARENA_NEW(arena, kn_buffer);
    *b           = (kn_buffer){ .type = buffer->type, .rank = buffer->rank };
    for (int d = 0; d < buffer->rank; d++)
        b->dim[d] = (kn_dim){ .min    = (int32_t)box->min[d],
                              .extent = (int32_t)(box->max[d] - box->min[d] + 1),
                              .stride = d == buffer->dense };
    return b;
}

static const Box *input_box(const Sizes *s, const char *name)
{
    for (size_t i = 0; i < s->p->funcs.count; i++)
        if (!strcmp(s->p->funcs.at[i]->name, name))
            return &s->binding.input[i];
    return NULL;
}

static bool has_stages(const kn_pipeline *p)
{
    bool found = false;
    for (size_t i = 0; i < p->funcs.count; i++)
        found |= p->funcs.at[i]->kind == FUNC_STAGE;
    return found;
}

bool ahead_suits(kn_pipeline *p, const Program *program, Arena *arena)
{
    Sizes sizes = { .p = p, .arena = arena };
    if (has_stages(p) || p->cx->silent[WARN_INTERPRETED] || !context_attempt(p->cx, find_sizes, &sizes) || !sizes.suit)
        return true;
    StmtMap map        = { .arena = arena, .stmt = checks_of };
    Program checks     = *program;
    map.user           = &map;
    checks.body        = program->body ? checks_of(&map, program->body) : NULL;
    kn_buffer **ports  = ARENA_ARRAY(arena, kn_buffer *, (size_t)program->port_count);
    int         output = -1; /* ports of outputs come after those of inputs, in order, each component a port */
    for (int i = 0; i < program->port_count; i++) {
        const Buffer *b = program->buffers.at[i];
        output += b->kind == BUFFER_OUTPUT && !b->component;
        ports[i] = port(arena, b, output >= 0 ? &sizes.binding.output[output] : input_box(&sizes, b->func));
    }
    if (!checks.body || execute(&checks, ports, sizes.binding.param, NULL) == KN_OK)
        return true;
    diag_error(
        p->cx, (Loc){ 0 },
        "clamp the index, or guard it by comparing its own variables with numbers, parameters and sizes; --no-warn "
        "interpreted builds it all the same, for inputs that are larger",
        "built ahead of time it would refuse an input of just this size, and has no interpreter to fall back on");
    return false;
}
