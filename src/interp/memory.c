/* Memory of the machine: every access is checked for its place, its value and its company.
 *
 * A race is told by strands (machine.h): an element remembers the last strand that wrote it and the last that read it.
 * A store that finds the value it brings already there changes nothing and is no race: a tail that is shifted inward
 * computes points twice. */
#include "interp/machine.h"

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
static void mark_elements(Room *room, const kn_buffer *b, int rank, int64_t index, bool defined)
{
    if (!rank) {
        room->shadow[index - room->low].exists  = true;
        room->shadow[index - room->low].defined = defined;
        return;
    }
    for (int64_t i = 0; i < b->dim[rank - 1].extent; i++)
        mark_elements(room, b, rank - 1, index + i * b->dim[rank - 1].stride, defined);
}

void room_of_port(Machine *m, Room *room, const kn_buffer *b, bool is_output)
{
    room->data = b->data;
    index_range(b, &room->low, &room->high);
    if (room->high < room->low)
        return;
    room->shadow = ARENA_ARRAY(&m->arena, Shadow, (size_t)(room->high - room->low) + 1);
    mark_elements(room, b, b->rank, 0, !is_output);
}

void room_allocate(Arena *arena, Room *room, kn_type type, int64_t count)
{
    const size_t bytes = (size_t)count * kn_type_size(type);
    room->low          = 0;
    room->high         = count - 1;
    room->data         = arena_array(arena, (size_t)count, kn_type_size(type));
    room->shadow       = ARENA_ARRAY(arena, Shadow, (size_t)count);
    for (size_t i = 0; i < bytes; i++)
        room->data[i] = (char)(0xA5 ^ i * 0x3B);
    for (int64_t i = 0; i < count; i++)
        room->shadow[i].exists = true;
}

/* ---- Company ----------------------------------------------------------------------------- */

/* May the strands run at the same time? */
static bool are_concurrent(const Machine *m, uint32_t a, uint32_t b)
{
    const Strand *all = m->strands.at;
    for (uint32_t i = a; i != 0 && a != b; i = all[i].parent)
        for (uint32_t k = b; k != 0; k = all[k].parent)
            if (i != k && all[i].loop == all[k].loop)
                return true;
    return false;
}

static const char *producer(const Machine *m)
{
    return m->producing ? m->producing->func : "(outside of all functions)";
}

__attribute__((noreturn)) static void refuse_race(Machine *m, const Store *s, int64_t index, const char *what)
{
    machine_mistake(m, "`%s` %s element %lld of `%s`, which another iteration of the same parallel loop %s",
                    producer(m), what, (long long)index, s->buffer->name, "may be changing or reading at that moment");
}

static Shadow *find(Machine *m, const Store *s, const Room *room, int64_t index, const char *what)
{
    if (!s->rooms)
        machine_mistake(m, "`%s` %s `%s`, which is not allocated here", producer(m), what, s->buffer->name);
    if (index < room->low || index > room->high)
        machine_mistake(m, "`%s` %s `%s` at index %lld, but it has %lld..%lld", producer(m), what, s->buffer->name,
                        (long long)index, (long long)room->low, (long long)room->high);
    Shadow *shadow = &room->shadow[index - room->low];
    if (!shadow->exists)
        machine_mistake(m, "`%s` %s `%s` at index %lld, between its elements", producer(m), what, s->buffer->name,
                        (long long)index);
    return shadow;
}

/* ---- Accesses ---------------------------------------------------------------------------- */

Lane memory_load(Machine *m, const Store *s, int lane, int width, int64_t index, uint8_t *bad)
{
    const Room  *room   = s->rooms ? store_room(s, lane, width) : NULL;
    Shadow      *shadow = find(m, s, room, index, "reads");
    const size_t size   = kn_type_size(s->buffer->type);
    if (!shadow->defined) {
        m->counts->undefined_loads++;
        *bad = true;
    }
    s->counts->loaded += (int64_t)size;
    return lane_load(s->buffer->type, room->data + index * (int64_t)size);
}

void memory_watch(Machine *m, const Store *s, int lane, int width, int64_t index)
{
    Shadow *shadow = find(m, s, store_room(s, lane, width), index, "reads");
    if (shadow->writer && are_concurrent(m, shadow->writer, m->strand) && !(m->in_atomic && shadow->atomic))
        refuse_race(m, s, index, "reads");
    if (!m->in_atomic)
        shadow->reader = m->strand;
}

/* Counts a store of the definition that is being produced. */
static void count_point(Machine *m, const Store *s, Shadow *shadow)
{
    DefinitionCounts *d = m->producing;
    if (!d || s->buffer->func != d->func || s->buffer->component)
        return;
    const uint8_t bit = (uint8_t)(1u << ((unsigned)(d->update + 1) & 7));
    d->points++;
    d->fresh += !(shadow->definitions & bit);
    shadow->definitions |= bit;
}

void memory_store(Machine *m, const Store *s, int lane, int width, int64_t index, Lane v, bool bad)
{
    const Room  *room   = s->rooms ? store_room(s, lane, width) : NULL;
    Shadow      *shadow = find(m, s, room, index, "writes");
    const size_t size   = kn_type_size(s->buffer->type);
    char        *at     = room->data + index * (int64_t)size;
    char         bytes[8];
    if (s->buffer->kind == BUFFER_INPUT)
        machine_mistake(m, "`%s` writes the input `%s`", producer(m), s->buffer->name);
    if (bad && s->buffer->kind == BUFFER_OUTPUT)
        machine_mistake(m, "`%s` writes to `%s` at index %lld what comes from memory that was never written",
                        producer(m), s->buffer->name, (long long)index);
    lane_store(s->buffer->type, bytes, v);
    const bool changes = !shadow->defined || bad || memcmp(bytes, at, size) != 0;
    if (changes && shadow->event == m->event && !m->in_atomic)
        machine_mistake(m, "two lanes of a vector loop of `%s` write different values to element %lld of `%s`",
                        producer(m), (long long)index, s->buffer->name);
    if (changes && !(m->in_atomic && shadow->atomic) &&
        ((shadow->writer && are_concurrent(m, shadow->writer, m->strand)) ||
         (shadow->reader && are_concurrent(m, shadow->reader, m->strand))))
        refuse_race(m, s, index, "writes");
    count_point(m, s, shadow);
    memcpy(at, bytes, size);
    shadow->defined = !bad;
    shadow->atomic  = m->in_atomic;
    shadow->writer  = m->strand;
    shadow->event   = m->event;
    s->counts->stored += (int64_t)size;
}
