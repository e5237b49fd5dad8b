/* Buffers: their memory, and the checks that make them safe to use. */
#include "image/buffer.h"

static int64_t magnitude(int64_t v)
{
    return v < 0 ? (v == INT64_MIN ? INT64_MAX : -v) : v;
}

static bool is_empty(const kn_buffer *b)
{
    for (int d = 0; d < b->rank; d++)
        if (b->dim[d].extent <= 0)
            return true;
    return false;
}

int64_t buffer_count(const kn_buffer *b)
{
    if (is_empty(b))
        return 0;
    int64_t n = 1;
    for (int d = 0; d < b->rank; d++)
        n *= b->dim[d].extent;
    return n;
}

/* Sets strides to dense, x fastest. A stride too large for 64 bits is set to INT64_MAX, which buffer_check refuses. */
static void buffer_set_dense(kn_buffer *b)
{
    int64_t stride = 1;
    for (int d = 0; d < b->rank; d++) {
        b->dim[d].stride = stride;
        if (__builtin_mul_overflow(stride, (int64_t)b->dim[d].extent, &stride))
            stride = INT64_MAX;
    }
}

/* New memory has no copy on a device. */
static void buffer_set_host(kn_buffer *b)
{
    b->device = NULL;
    b->handle = 0;
    b->flags  = 0;
    memset(b->reserved, 0, sizeof b->reserved);
}

kn_status buffer_check_shape(kn_context *cx, const kn_buffer *b, const char *name)
{
    if (!b)
        return diag_status(cx, KN_ERROR_ARGUMENT, "%s: no buffer was given (NULL)", name);
    if (!kn_type_name(b->type))
        return diag_status(cx, KN_ERROR_ARGUMENT, "%s: %d is no element type; use one of KN_BOOL … KN_F64", name,
                           (int)b->type);
    if (b->rank < 0 || b->rank > KN_MAX_RANK)
        return diag_status(cx, KN_ERROR_ARGUMENT, "%s: rank %d; a buffer has 0 to %d dimensions", name, b->rank,
                           KN_MAX_RANK);
    int64_t bytes = (int64_t)kn_type_size(b->type);
    for (int d = 0; d < b->rank; d++) {
        const kn_dim *dim = &b->dim[d];
        if (dim->extent < 0)
            return diag_status(cx, KN_ERROR_ARGUMENT, "%s: dimension %d has the negative extent %d", name, d,
                               dim->extent);
        if (dim->extent > 0 && (int64_t)dim->min + dim->extent - 1 > INT32_MAX)
            return diag_status(cx, KN_ERROR_ARGUMENT,
                               "%s: dimension %d begins at %d and has extent %d: its last coordinate is beyond %d",
                               name, d, dim->min, dim->extent, INT32_MAX);
    }
    for (int d = 0; d < b->rank && !is_empty(b); d++)
        if (__builtin_mul_overflow(bytes, (int64_t)b->dim[d].extent, &bytes))
            return diag_status(cx, KN_ERROR_ARGUMENT,
                               "%s: its extents multiply to more elements than an address can count", name);
    return KN_OK;
}

/* The first and one past the last byte that a buffer touches, relative to data. False if that is beyond 64 bits. */
static bool byte_range(const kn_buffer *b, int64_t *from, int64_t *to)
{
    const int64_t size = (int64_t)kn_type_size(b->type);
    *from              = 0;
    *to                = size;
    if (is_empty(b)) {
        *to = 0;
        return true;
    }
    for (int d = 0; d < b->rank; d++) {
        int64_t  reach;
        int64_t *end = b->dim[d].stride < 0 ? from : to;
        if (__builtin_mul_overflow((int64_t)b->dim[d].extent - 1, b->dim[d].stride, &reach) ||
            __builtin_mul_overflow(reach, size, &reach) || __builtin_add_overflow(*end, reach, end))
            return false;
    }
    return true;
}

/* Whether data + [from, to) lies in the address space. */
static bool is_addressable(const void *data, int64_t from, int64_t to)
{
    const __int128 base = (__int128)(uintptr_t)data;
    return base + from >= 0 && base + to <= (__int128)UINTPTR_MAX;
}

/* Two coordinates may share an element unless, in order of |stride|, each stride passes what all smaller ones reach
 * together: |s_i| > sum over j < i of (extent_j - 1) |s_j|. Returns a dimension that fails, or -1. */
static int overlapping_dimension(const kn_buffer *b)
{
    int order[KN_MAX_RANK], n = 0;
    for (int d = 0; d < b->rank; d++) {
        if (b->dim[d].extent < 2)
            continue;
        int i = n++;
        for (; i > 0 && magnitude(b->dim[order[i - 1]].stride) > magnitude(b->dim[d].stride); i--)
            order[i] = order[i - 1];
        order[i] = d;
    }
    __int128 reach = 0;
    for (int i = 0; i < n; i++) {
        const kn_dim *dim = &b->dim[order[i]];
        if (magnitude(dim->stride) <= reach)
            return order[i];
        reach += (__int128)(dim->extent - 1) * magnitude(dim->stride);
    }
    return -1;
}

/* The device part: `data` must be up to date. */
static kn_status check_device(kn_context *cx, const kn_buffer *b, const char *name)
{
    if (b->flags & ~(uint32_t)(KN_HOST_NEWER | KN_DEVICE_NEWER) || b->reserved[0] || b->reserved[1] || b->reserved[2])
        return diag_status(cx, KN_ERROR_ARGUMENT,
                           "%s: its device part has unknown flags, or reserved is not zero; set all fields behind dim "
                           "to zero",
                           name);
    if (b->flags & KN_DEVICE_NEWER)
        return diag_status(cx, KN_ERROR_ARGUMENT,
                           "%s: its copy on a device is newer than its data; copy it to the host first, then clear "
                           "KN_DEVICE_NEWER",
                           name);
    return KN_OK;
}

kn_status buffer_check(kn_context *cx, const kn_buffer *b, const char *name, bool is_output)
{
    kn_status status = buffer_check_shape(cx, b, name);
    if (!status)
        status = check_device(cx, b, name);
    if (status || is_empty(b))
        return status;
    if (!b->data)
        return diag_status(cx, KN_ERROR_ARGUMENT, "%s: its data is NULL; point it at memory or call kn_buffer_alloc",
                           name);
    int64_t from, to;
    if (!byte_range(b, &from, &to) || !is_addressable(b->data, from, to))
        return diag_status(cx, KN_ERROR_ARGUMENT, "%s: its strides reach beyond the address space", name);
    const int d = is_output ? overlapping_dimension(b) : -1;
    if (d >= 0)
        return diag_status(
            cx, KN_ERROR_ARGUMENT,
            "%s: overlapping strides: with stride %lld along dimension %d two coordinates share an element, which an "
            "output must not; each stride must pass what the smaller ones reach",
            name, (long long)b->dim[d].stride, d);
    return KN_OK;
}

bool buffers_overlap(const kn_buffer *a, const kn_buffer *b)
{
    int64_t a_from, a_to, b_from, b_to;
    if (is_empty(a) || is_empty(b) || !byte_range(a, &a_from, &a_to) || !byte_range(b, &b_from, &b_to))
        return false;
    const __int128 at = (__int128)(uintptr_t)a->data, bt = (__int128)(uintptr_t)b->data;
    return at + a_from < bt + b_to && bt + b_from < at + a_to;
}

size_t buffer_reserve(kn_context *cx)
{
    for (size_t i = 0; i < cx->blocks.count; i++)
        if (!cx->blocks.at[i])
            return i;
    vec_push(&cx->arena, &cx->blocks, NULL);
    return cx->blocks.count - 1;
}

bool buffer_allocate_at(kn_context *cx, kn_buffer *b, size_t slot)
{
    const int64_t count = buffer_count(b);
    void         *block = count ? context_allocate_raw(cx, (size_t)count * kn_type_size(b->type)) : NULL;
    if (count && !block)
        return false;
    cx->blocks.at[slot] = block;
    b->data             = block;
    buffer_set_dense(b);
    buffer_set_host(b);
    return true;
}

void buffer_release(kn_context *cx, kn_buffer *b)
{
    for (size_t i = 0; b->data && i < cx->blocks.count; i++) {
        if (cx->blocks.at[i] == b->data) {
            context_release(cx, b->data);
            cx->blocks.at[i] = NULL;
            b->data          = NULL;
        }
    }
}

typedef struct AllocCall {
    kn_context *cx;
    kn_buffer  *b;
} AllocCall;

static void alloc_run(void *arg)
{
    const AllocCall *call = arg;
    kn_context      *cx   = call->cx;
    if (buffer_check_shape(cx, call->b, "kn_buffer_alloc"))
        return;
    if (!buffer_allocate_at(cx, call->b, buffer_reserve(cx)))
        diag_status(cx, KN_ERROR_LIMIT,
                    "kn_buffer_alloc: out of memory: %lld elements of %s are more than this context may still use",
                    (long long)buffer_count(call->b), kn_type_name(call->b->type));
    else if (call->b->data)
        memset(call->b->data, 0, (size_t)buffer_count(call->b) * kn_type_size(call->b->type));
}

kn_status kn_buffer_alloc(kn_context *cx, kn_buffer *b)
{
    if (!cx)
        return KN_ERROR_ARGUMENT;
    context_begin(cx);
    AllocCall call = { cx, b };
    context_try(cx, alloc_run, &call);
    return cx->status;
}

void kn_buffer_free(kn_context *cx, kn_buffer *b)
{
    if (cx && b)
        buffer_release(cx, b);
}
