/* SPDX-License-Identifier: MIT */
/* Running lowered code: the entry of the executor.
 *
 * Takes   a program and the buffers of its ports.
 * Gives   values in the output buffers, and counts of what was done.
 * Holds   a port that lacks stride 1 where the code was vectorized for it is used through a dense copy, as the runtime
 *         does. */
#include "interp/executor.h"

#include <stdarg.h>
#include <stdio.h>

/* ---- Entering ---------------------------------------------------------------------------- */

__attribute__((format(printf, 3, 4))) static void bind(Executor *ex, int64_t value, const char *format, ...)
{
    char    name[256];
    va_list args;
    va_start(args, format);
    vsnprintf(name, sizeof name, format, args);
    va_end(args);
    VariableSlot *slot    = ARENA_NEW(&ex->arena, VariableSlot);
    slot->width           = 1;
    slot->value           = lane_values_new(ex, 1);
    slot->value.lane[0].i = value;
    map_set(&ex->slots, intern(ex->cx, name), slot);
}

/* Copies every element of one buffer to the same coordinates of another of the same box, along the dimensions below
 * `rank`. */
static void copy_elements(const kn_buffer *to, const kn_buffer *from, int rank, int64_t to_index, int64_t from_index)
{
    const size_t size = kn_type_size(to->type);
    if (!rank) {
        memcpy((char *)to->data + to_index * (int64_t)size, (const char *)from->data + from_index * (int64_t)size,
               size);
        return;
    }
    const kn_dim *t = &to->dim[rank - 1], *f = &from->dim[rank - 1];
    for (int64_t i = 0; i < t->extent; i++)
        copy_elements(to, from, rank - 1, to_index + i * t->stride, from_index + i * f->stride);
}

static bool is_empty(const kn_buffer *b)
{
    bool empty = false;
    for (int d = 0; d < b->rank; d++)
        empty |= b->dim[d].extent <= 0;
    return empty;
}

/* An empty input as the runtime passes it to code: one row, with an element for the clamped index of an unused load. */
static kn_buffer *empty_port(Executor *ex, const Buffer *buffer, const kn_buffer *given)
{
    kn_buffer *row = ARENA_NEW(&ex->arena, kn_buffer);
    *row           = *given;
    for (int d = 0; d < given->rank; d++)
        row->dim[d].stride = d == (buffer->dense < 0 ? 0 : buffer->dense);
    return row;
}

/* The buffer that the code uses for a port: the one given, or a copy that is dense where the code needs it. */
static kn_buffer *dense_port(Executor *ex, const Buffer *buffer, kn_buffer *given)
{
    const int dense = buffer->dense;
    if (dense < 0 || dense >= given->rank || given->dim[dense].stride == 1)
        return given;
    kn_buffer *copy   = ARENA_NEW(&ex->arena, kn_buffer);
    int64_t    stride = given->dim[dense].extent, count = 1;
    *copy                   = *given;
    copy->dim[dense].stride = 1;
    for (int d = 0; d < given->rank; d++) {
        count *= given->dim[d].extent > 0 ? given->dim[d].extent : 0;
        if (d == dense)
            continue;
        copy->dim[d].stride = stride;
        stride *= given->dim[d].extent;
    }
    copy->data = arena_array(&ex->arena, (size_t)count + 1, kn_type_size(given->type));
    if (count && buffer->kind == BUFFER_INPUT)
        copy_elements(copy, given, given->rank, 0, 0);
    return copy;
}

static void enter_port(Executor *ex, const Buffer *buffer, const kn_buffer *given)
{
    BufferMemory *store = &ex->memories[buffer->id];
    if (given->type != buffer->type || given->rank != buffer->rank)
        context_bail(ex->cx, KN_ERROR_ARGUMENT,
                     arena_printf(&ex->cx->call, "the buffer given as `%s` has another type or rank", buffer->name));
    store->width    = 1;
    store->per_lane = ARENA_NEW(&ex->arena, LaneMemory);
    if (buffer->kind == BUFFER_INPUT && is_empty(given)) {
        const int32_t extent = given->dim[buffer->dense < 0 ? 0 : buffer->dense].extent;
        lane_memory_allocate(&ex->arena, store->per_lane, given->type, extent > 1 ? extent : 1);
    } else {
        lane_memory_of_port(ex, store->per_lane, given, buffer->kind == BUFFER_OUTPUT);
    }
    for (int d = 0; d < given->rank; d++) {
        bind(ex, given->dim[d].min, "%s.min.%d", buffer->name, d);
        bind(ex, given->dim[d].extent, "%s.extent.%d", buffer->name, d);
        bind(ex, given->dim[d].stride, "%s.stride.%d", buffer->name, d);
    }
    bind(ex, store->per_lane->high + 1, "%s.count", buffer->name);
}

/* A kernel touches the buffer: it has a copy on the device. */
static void note_device(Executor *ex, const Buffer *b)
{
    if (b->kind != BUFFER_SCRATCH)
        ex->memories[b->id].on_device = true;
}

static void count_produces(void *user, const Stmt *s)
{
    *(size_t *)user += s->kind == STMT_PRODUCE;
    stmt_children(s, NULL, count_produces, user);
}

typedef struct ExecuteCall {
    Executor          executor;
    kn_buffer *const *ports;
} ExecuteCall;

static void run_program(void *arg)
{
    ExecuteCall *entry    = arg;
    Executor    *ex       = &entry->executor;
    Program     *p        = ex->program;
    size_t       produces = 0;
    ex->memories          = ARENA_ARRAY(&ex->arena, BufferMemory, p->buffers.count);
    map_init(&ex->slots, &ex->arena);
    vec_push(&ex->arena, &ex->strands, ((Strand){ 0, 0 }));
    vec_push(&ex->arena, &ex->loops, ((StrandLoop){ 0 }));
    *ex->counts = (ExecuteCounts){ .buffers = ARENA_ARRAY(p->arena, BufferCounts, p->buffers.count) };
    for (size_t i = 0; i < p->buffers.count; i++) {
        ex->memories[i].buffer    = p->buffers.at[i];
        ex->memories[i].counts    = &ex->counts->buffers[i];
        ex->memories[i].on_device = p->buffers.at[i]->memory == MEMORY_GLOBAL;
    }
    for (size_t k = 0; k < p->kernels.count; k++)
        for (size_t i = 0; i < p->kernels.at[k]->buffers.count; i++)
            note_device(ex, p->kernels.at[k]->buffers.at[i].buffer);
    kn_buffer **used = ARENA_ARRAY(&ex->arena, kn_buffer *, (size_t)p->port_count + 1);
    for (int i = 0; i < p->port_count; i++) {
        used[i] = p->buffers.at[i]->kind == BUFFER_INPUT && is_empty(entry->ports[i])
                      ? empty_port(ex, p->buffers.at[i], entry->ports[i])
                      : dense_port(ex, p->buffers.at[i], entry->ports[i]);
        enter_port(ex, p->buffers.at[i], used[i]);
    }
    if (!p->body)
        return;
    count_produces(&produces, p->body);
    ex->counts->definitions = ARENA_ARRAY(p->arena, DefinitionCounts, produces);
    const ExecStep *step    = make_step(ex, p->body, 1);
    const uint8_t   all     = true;
    step->run(ex, step, &all);
    for (int i = 0; i < p->port_count; i++)
        if (used[i] != entry->ports[i] && p->buffers.at[i]->kind == BUFFER_OUTPUT)
            copy_elements(entry->ports[i], used[i], used[i]->rank, 0, 0);
}

kn_status execute(Program *p, kn_buffer *const *ports, const kn_scalar *params, ExecuteCounts *counts)
{
    ExecuteCounts unwanted;
    ExecuteCall   entry = {
          .executor = { .cx = p->cx, .program = p, .params = params, .counts = counts ? counts : &unwanted },
          .ports    = ports
    };
    arena_init(&entry.executor.arena, p->cx);
    const bool done = context_call(p->cx, run_program, &entry);
    arena_free(&entry.executor.arena);
    return done ? KN_OK : p->cx->status;
}
