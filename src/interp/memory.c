/* SPDX-License-Identifier: MIT */
/* The memory of the executor: every access is checked for its index, its value and concurrent accesses.
 *
 * A race is found by strands (executor.h): an element records the last strand that wrote it and the last that read it.
 * A store of the value that is there already changes nothing and is no race: a tail that is shifted inward computes
 * points twice. */
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
    const size_t bytes = (size_t)count * kn_type_size(type);
    mem->low           = 0;
    mem->high          = count - 1;
    mem->data          = arena_array(arena, (size_t)count, kn_type_size(type));
    mem->shadow        = ARENA_ARRAY(arena, Shadow, (size_t)count);
    for (size_t i = 0; i < bytes; i++)
        mem->data[i] = (char)(0xA5 ^ i * 0x3B);
    for (int64_t i = 0; i < count; i++)
        mem->shadow[i].exists = true;
}

/* ---- Company ----------------------------------------------------------------------------- */

/* May the strands run at the same time? */
static bool are_concurrent(const Executor *ex, uint32_t a, uint32_t b)
{
    const Strand *all = ex->strands.at;
    for (uint32_t i = a; i != 0 && a != b; i = all[i].parent)
        for (uint32_t k = b; k != 0; k = all[k].parent)
            if (i != k && all[i].loop == all[k].loop)
                return true;
    return false;
}

static const char *producer(const Executor *ex)
{
    return ex->producing ? ex->producing->func : "(outside of all functions)";
}

__attribute__((noreturn)) static void refuse_race(Executor *ex, const BufferMemory *s, int64_t index, const char *what)
{
    executor_mistake(ex, "`%s` %s element %lld of `%s`, which another iteration of the same parallel loop %s",
                     producer(ex), what, (long long)index, s->buffer->name,
                     "may be changing or reading at that moment");
}

static Shadow *find(Executor *ex, const BufferMemory *s, const LaneMemory *mem, int64_t index, const char *what)
{
    if (!s->per_lane)
        executor_mistake(ex, "`%s` %s `%s`, which is not allocated here", producer(ex), what, s->buffer->name);
    if (index < mem->low || index > mem->high)
        executor_mistake(ex, "`%s` %s `%s` at index %lld, but it has %lld..%lld", producer(ex), what, s->buffer->name,
                         (long long)index, (long long)mem->low, (long long)mem->high);
    Shadow *shadow = &mem->shadow[index - mem->low];
    if (!shadow->exists)
        executor_mistake(ex, "`%s` %s `%s` at index %lld, between its elements", producer(ex), what, s->buffer->name,
                         (long long)index);
    return shadow;
}

/* ---- Accesses ---------------------------------------------------------------------------- */

Lane memory_load(Executor *ex, const BufferMemory *s, int lane, int width, int64_t index, uint8_t *undefined)
{
    const LaneMemory *mem    = s->per_lane ? memory_of_lane(s, lane, width) : NULL;
    Shadow           *shadow = find(ex, s, mem, index, "reads");
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
    if (shadow->writer && are_concurrent(ex, shadow->writer, ex->strand) && !(ex->in_atomic && shadow->atomic))
        refuse_race(ex, s, index, "reads");
    if (!ex->in_atomic)
        shadow->reader = ex->strand;
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
    const LaneMemory *mem    = s->per_lane ? memory_of_lane(s, lane, width) : NULL;
    Shadow           *shadow = find(ex, s, mem, index, "writes");
    const size_t      size   = kn_type_size(s->buffer->type);
    char             *at     = mem->data + index * (int64_t)size;
    char              bytes[8];
    if (s->buffer->kind == BUFFER_INPUT)
        executor_mistake(ex, "`%s` writes the input `%s`", producer(ex), s->buffer->name);
    if (undefined && s->buffer->kind == BUFFER_OUTPUT)
        executor_mistake(ex, "`%s` writes to `%s` at index %lld what comes from memory that was never written",
                         producer(ex), s->buffer->name, (long long)index);
    lane_store(s->buffer->type, bytes, v);
    const bool changes = !shadow->defined || undefined || memcmp(bytes, at, size) != 0;
    if (changes && shadow->event == ex->event && !ex->in_atomic)
        executor_mistake(ex, "two lanes of a vector loop of `%s` write different values to element %lld of `%s`",
                         producer(ex), (long long)index, s->buffer->name);
    if (changes && !(ex->in_atomic && shadow->atomic) &&
        ((shadow->writer && are_concurrent(ex, shadow->writer, ex->strand)) ||
         (shadow->reader && are_concurrent(ex, shadow->reader, ex->strand))))
        refuse_race(ex, s, index, "writes");
    count_point(ex, s, shadow);
    memcpy(at, bytes, size);
    shadow->defined = !undefined;
    shadow->atomic  = ex->in_atomic;
    shadow->writer  = ex->strand;
    shadow->event   = ex->event;
    s->counts->stored += (int64_t)size;
}
