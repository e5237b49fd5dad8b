/* Buffers: checks before use, addresses, and a walk over all elements.
 *
 * A buffer comes from outside and may say anything. buffer_check() makes sure of everything the rest of the library
 * relies on: the type and rank exist, no extent is negative, every address lies within the address space, and no device
 * has a newer copy. */
#ifndef KILN_IMAGE_BUFFER_H
#define KILN_IMAGE_BUFFER_H

#include "base/context.h"
#include "ir/type.h"

/* Diagnoses what is wrong with a buffer that is called `name`. An output must also give each coordinate an element of
 * its own. Returns KN_OK or KN_ERROR_ARGUMENT. Called inside a context_try. */
kn_status buffer_check(kn_context *cx, const kn_buffer *b, const char *name, bool is_output);
/* The same without a look at `data`, the strides and the device part: type, rank, mins and extents. */
kn_status buffer_check_shape(kn_context *cx, const kn_buffer *b, const char *name);

/* The number of elements of a checked buffer. */
int64_t buffer_count(const kn_buffer *b);

/* Whether the byte ranges of two checked buffers have a byte in common. */
bool buffers_overlap(const kn_buffer *a, const kn_buffer *b);

/* Reserves an entry of cx->blocks, so that buffer_allocate_at cannot bail out. */
size_t buffer_reserve(kn_context *cx);
/* Dense memory for a buffer of good shape, recorded at `slot` and not cleared. False, and nothing changed, if there is
 * none. */
bool buffer_allocate_at(kn_context *cx, kn_buffer *b, size_t slot);
/* Frees a block of the context. Any other address is left alone. */
void buffer_release(kn_context *cx, kn_buffer *b);

/* The address of an element; `index` counts from the mins. */
static inline char *buffer_address(const kn_buffer *b, const int32_t *index)
{
    int64_t offset = 0;
    for (int d = 0; d < b->rank; d++)
        offset += index[d] * b->dim[d].stride;
    return (char *)b->data + offset * (int64_t)kn_type_size(b->type);
}

/* Visits every element of a checked buffer, x fastest:
 *
 *     for (BufferWalk w = walk_begin(b); w.more; walk_next(&w)) use(w.at, w.index);
 */
typedef struct BufferWalk {
    const kn_buffer *b;
    char            *at;
    int32_t          index[KN_MAX_RANK]; /* counted from the mins */
    int64_t          step;               /* bytes along x */
    bool             more;
} BufferWalk;

static inline BufferWalk walk_begin(const kn_buffer *b)
{
    BufferWalk w = { .b = b, .at = b->data, .more = buffer_count(b) > 0 };
    w.step       = b->rank > 0 ? b->dim[0].stride * (int64_t)kn_type_size(b->type) : 0;
    return w;
}

static inline void walk_next(BufferWalk *w)
{
    if (w->b->rank > 0 && ++w->index[0] < w->b->dim[0].extent) {
        w->at += w->step;
        return;
    }
    int d = 0;
    while (d < w->b->rank && (d == 0 || ++w->index[d] >= w->b->dim[d].extent))
        w->index[d++] = 0;
    w->more = d < w->b->rank;
    w->at   = buffer_address(w->b, w->index);
}

#endif
