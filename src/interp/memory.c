/* SPDX-License-Identifier: MIT */
/* The memory of the executor: every access is checked for its index, its value and concurrent accesses.
 *
 * A race is found by strands (executor.h): an element records the last strand that wrote it and the last that read it,
 * or one that stands for all that could read it at once.
 * A store of the value that is there already changes nothing and is no race: a tail that is shifted inward computes
 * points twice. Two values that are stored at once to scratch leave one that is not defined: of points that nobody
 * needs they may differ. */
#include "interp/executor.h"

/* ---- Rooms ------------------------------------------------------------------------------- */

/* The smallest and largest index of a buffer's elements; none if it is empty. */
static void index_range(const kn_buffer *b, int64_t *low, int64_t *high)
{
    *low = *high = 0;
    for (int d = 0; d < b->rank; d++) {
        const int64_t reach = (b->dim[d].extent - (int64_t)1) * b->dim[d].stride;
        *(reach < 0 ? low : high) += reach;
        if (b->dim[d].extent <= 0) {
            *low  = 0;
            *high = -1;
            return;
        }
    }
}

/* Marks the elements along the dimensions below `rank`, from `index` on. */
static void mark_elements(LaneMemory *mem, const kn_buffer *b, int rank, int64_t index, bool defined)
{
    if (!rank) {
        mem->shadow[index - mem->low].exists  = true;
        mem->shadow[index - mem->low].defined = defined;
        return;
    }
    for (int64_t i = 0; i < b->dim[rank - 1].extent; i++)
        mark_elements(mem, b, rank - 1, index + i * b->dim[rank - 1].stride, defined);
}

void lane_memory_of_port(Executor *ex, LaneMemory *mem, const kn_buffer *b, bool is_output)
{
    mem->data = b->data;
    index_range(b, &mem->low, &mem->high);
    if (mem->high < mem->low)
        return;
    mem->shadow = ARENA_ARRAY(&ex->arena, Shadow, (size_t)(mem->high - mem->low) + 1);
    mark_elements(mem, b, b->rank, 0, !is_output);
}

void lane_memory_allocate(Arena *arena, LaneMemory *mem, kn_type type, int64_t count)
{
    mem->low    = 0;
    mem->high   = count - 1;
    mem->data   = arena_array(arena, (size_t)count, kn_type_size(type));
    mem->shadow = ARENA_ARRAY(arena, Shadow, (size_t)count);
    lane_memory_spoil(mem, type);
}

void lane_memory_spoil(LaneMemory *mem, kn_type type)
{
    const int64_t count = mem->high + 1;
    const size_t  bytes = (size_t)count * kn_type_size(type);
    for (size_t i = 0; i < bytes; i++)
        mem->data[i] = (char)(0xA5 ^ i * 0x3B);
    for (int64_t i = 0; i < count; i++) {
        mem->shadow[i].exists      = true;
        mem->shadow[i].defined     = false;
        mem->shadow[i].atomic      = false;
        mem->shadow[i].definitions = 0;
    }
}

/* ---- Company ----------------------------------------------------------------------------- */

static const char *producer(const Executor *ex)
{
    return ex->producing ? ex->producing->func : "(outside of all functions)";
}

/* No other strand that may run at the same time did this to the element. */
static void expect_alone(Executor *ex, const BufferMemory *s, uint32_t strand, int64_t index, const char *what)
{
    const uint32_t loop = strand ? concurrent_by(ex, strand, ex->strand) : 0;
    if (loop)
        executor_mistake(ex, "`%s` %s element %lld of `%s`, which %s may be changing or reading at that moment",
                         producer(ex), what, (long long)index, s->buffer->name, ex->loops.at[loop].others);
}

void expect_current(Executor *ex, const BufferMemory *s, bool writes)
{
    if (s->on_device && !(writes ? s->host_writes : s->host_reads))
        executor_mistake(ex, "`%s` %s `%s` on the host, and no sync says so after the kernels before", producer(ex),
                         writes ? "writes" : "reads", s->buffer->name);
}

/* The memory of the buffer that a lane sees from here. */
static LaneMemory *enter(Executor *ex, const BufferMemory *s, int lane, int width, bool writes)
{
    const char *what = writes ? "writes" : "reads";
    if (!s->per_lane)
        executor_mistake(ex, "`%s` %s `%s`, which is not allocated here", producer(ex), what, s->buffer->name);
    if (!ex->block)
        expect_current(ex, s, writes);
    else if (!s->in_kernel && !s->on_device)
        executor_mistake(ex, "`%s` %s `%s` in a kernel, which is memory of the host", producer(ex), what,
                         s->buffer->name);
    if (s->thread && *s->thread < 0)
        executor_mistake(ex, "`%s` %s `%s`, of which each thread has its own, outside thread loops", producer(ex), what,
                         s->buffer->name);
    return memory_of_lane(s, lane, width);
}

static Shadow *find(Executor *ex, const BufferMemory *s, const LaneMemory *mem, int64_t index, const char *what)
{
    if (index < mem->low || index > mem->high)
        executor_mistake(ex, "`%s` %s `%s` at index %lld, but it has %lld..%lld", producer(ex), what, s->buffer->name,
                         (long long)index, (long long)mem->low, (long long)mem->high);
    Shadow *shadow = &mem->shadow[index - mem->low];
    if (!shadow->exists)
        executor_mistake(ex, "`%s` %s `%s` at index %lld, between its elements", producer(ex), what, s->buffer->name,
                         (long long)index);
    return shadow;
}

/* ---- Memory in turns --------------------------------------------------------------------- */

/* Nothing that another buffer has in these bytes may be read or written at the same time. */
static void expect_turn(Executor *ex, const BufferMemory *s, const SharedByte *byte, uint32_t strand, const char *what)
{
    const uint32_t loop = strand && byte->buffer != s->buffer ? concurrent_by(ex, strand, ex->strand) : 0;
    if (loop)
        executor_mistake(ex, "`%s` %s `%s` where `%s` has been, which %s may be using at that moment", producer(ex),
                         what, s->buffer->name, byte->buffer->name, ex->loops.at[loop].others);
}

static void watch_bytes(Executor *ex, const BufferMemory *s, int64_t index)
{
    const int64_t size = (int64_t)kn_type_size(s->buffer->type);
    for (int64_t i = index * size; i < (index + 1) * size; i++) {
        SharedByte *byte = &s->bytes[i];
        expect_turn(ex, s, byte, byte->writer, "reads");
        const uint32_t loop = byte->reader ? concurrent_by(ex, byte->reader, ex->strand) : 0;
        byte->reader        = loop ? strand_of_all(ex, loop) : ex->strand;
    }
}

/* The elements of others that lay there are gone. */
static void take_bytes(Executor *ex, const BufferMemory *s, int64_t index, Shadow *shadow)
{
    const int64_t size = (int64_t)kn_type_size(s->buffer->type);
    for (int64_t i = index * size; i < (index + 1) * size; i++) {
        SharedByte *byte = &s->bytes[i];
        expect_turn(ex, s, byte, byte->writer, "writes");
        expect_turn(ex, s, byte, byte->reader, "writes");
        if (byte->owner && byte->owner != shadow)
            byte->owner->defined = false;
        const bool     same = byte->buffer == s->buffer;
        const uint32_t loop = same && byte->writer ? concurrent_by(ex, byte->writer, ex->strand) : 0;
        *byte = (SharedByte){ s->buffer, shadow, loop ? strand_of_all(ex, loop) : ex->strand, same ? byte->reader : 0 };
    }
}

/* ---- Accesses ---------------------------------------------------------------------------- */

Lane memory_load(Executor *ex, const BufferMemory *s, int lane, int width, int64_t index, uint8_t *undefined)
{
    const LaneMemory *mem    = enter(ex, s, lane, width, false);
    const Shadow     *shadow = find(ex, s, mem, index, "reads");
    const size_t      size   = kn_type_size(s->buffer->type);
    if (!shadow->defined) {
        ex->counts->undefined_loads++;
        *undefined = true;
    }
    s->counts->loaded += (int64_t)size;
    return lane_load(s->buffer->type, mem->data + index * (int64_t)size);
}

void memory_watch(Executor *ex, const BufferMemory *s, int lane, int width, int64_t index)
{
    Shadow *shadow = find(ex, s, memory_of_lane(s, lane, width), index, "reads");
    if (!(ex->in_atomic && shadow->atomic))
        expect_alone(ex, s, shadow->writer, index, "reads");
    if (s->bytes)
        watch_bytes(ex, s, index);
    if (ex->in_atomic)
        return;
    const uint32_t loop = shadow->reader ? concurrent_by(ex, shadow->reader, ex->strand) : 0;
    shadow->reader      = loop ? strand_of_all(ex, loop) : ex->strand;
}

/* Counts a store of the definition that is being produced. */
static void count_point(Executor *ex, const BufferMemory *s, Shadow *shadow)
{
    DefinitionCounts *d = ex->producing;
    if (!d || s->buffer->func != d->func || s->buffer->component)
        return;
    const uint8_t bit = (uint8_t)(1u << ((unsigned)(d->update + 1) & 7));
    d->points++;
    d->fresh += !(shadow->definitions & bit);
    shadow->definitions |= bit;
}

void memory_store(Executor *ex, const BufferMemory *s, int lane, int width, int64_t index, Lane v, bool undefined)
{
    const LaneMemory *mem    = enter(ex, s, lane, width, true);
    Shadow           *shadow = find(ex, s, mem, index, "writes");
    const size_t      size   = kn_type_size(s->buffer->type);
    char             *at     = mem->data + index * (int64_t)size;
    char              bytes[8];
    if (s->buffer->kind == BUFFER_INPUT)
        executor_mistake(ex, "`%s` writes the input `%s`", producer(ex), s->buffer->name);
    if (undefined && s->buffer->kind == BUFFER_OUTPUT)
        executor_mistake(
            ex,
            "`%s` writes to `%s` at index %lld what comes from memory that was never written, or by several at once",
            producer(ex), s->buffer->name, (long long)index);
    lane_store(s->buffer->type, bytes, v);
    const bool changes = undefined ? shadow->defined : !shadow->defined || memcmp(bytes, at, size) != 0;
    if (changes && shadow->event == ex->event && !ex->in_atomic)
        executor_mistake(ex, "two lanes of a vector loop of `%s` write different values to element %lld of `%s`",
                         producer(ex), (long long)index, s->buffer->name);
    uint32_t others = 0;
    if (changes && !(ex->in_atomic && shadow->atomic)) {
        others = shadow->writer ? concurrent_by(ex, shadow->writer, ex->strand) : 0;
        if (s->buffer->kind == BUFFER_OUTPUT)
            expect_alone(ex, s, shadow->writer, index, "writes");
        expect_alone(ex, s, shadow->reader, index, "writes");
    }
    if (s->bytes)
        take_bytes(ex, s, index, shadow);
    count_point(ex, s, shadow);
    memcpy(at, bytes, size);
    shadow->defined = !undefined && !others;
    shadow->atomic  = ex->in_atomic;
    shadow->writer  = others ? strand_of_all(ex, others) : ex->strand;
    shadow->event   = ex->event;
    s->counts->stored += (int64_t)size;
}
