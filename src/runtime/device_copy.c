/* SPDX-License-Identifier: MIT */
/* Buffers with a copy on a device: made, freed, and copied by need.
 *
 * Both copies have one layout: element i of one is element i of the other. A view with gaps between its rows (a part of
 * an image) has them on the device, too; they are not copied, since on the host they are another's.
 */
#include "runtime/device_parts.h"

bool kn_rt_device_range(const kn_buffer *b, int64_t *low, int64_t *high)
{
    const int64_t size = kn_rt_type_size((int)b->type);
    *low               = 0;
    *high              = size;
    for (int d = 0; d < b->rank; d++) {
        const int64_t steps = b->dim[d].extent > 1 ? b->dim[d].extent - 1 : 0;
        int64_t      *end   = b->dim[d].stride < 0 ? low : high, reach;
        if (__builtin_mul_overflow(steps, b->dim[d].stride, &reach) || __builtin_mul_overflow(reach, size, &reach) ||
            __builtin_add_overflow(*end, reach, end))
            return false;
    }
    int64_t bytes;
    return !__builtin_sub_overflow(*high, *low, &bytes);
}

static bool has_no_element(const kn_buffer *b)
{
    for (int d = 0; d < b->rank; d++)
        if (b->dim[d].extent <= 0)
            return true;
    return false;
}

void kn_rt_device_point(kn_buffer *b, kn_device *d, const DeviceBlock *block, int64_t low)
{
    b->device = d;
    b->handle = d->ops->addresses ? block->memory - (uint64_t)kn_rt_device_begin(low) : block->memory;
}

/* Gives the buffer memory on the device. */
static int attach(kn_rt *rt, const char *who, kn_device *d, kn_buffer *b)
{
    DeviceBlock *block;
    int64_t      low, high;
    DeviceError  error = { 0 };
    if (!kn_rt_device_range(b, &low, &high))
        return kn_rt_error(rt, KN_ERROR_ARGUMENT, "%s: a buffer's strides reach beyond the address space", who);
    const int status = kn_rt_device_take(d, (size_t)(high - kn_rt_device_begin(low)), &block, &error);
    if (status)
        return kn_rt_device_fail(rt, who, d, status, &error);
    kn_rt_device_point(b, d, block, low);
    return KN_OK;
}

/* ---- Copies ----------------------------------------------------------------------------- */

typedef struct RowDim {
    int64_t extent, stride; /* in bytes, > 0 */
} RowDim;

/* The elements as rows of bytes: dims[0] is a row with stride 1, the others are by ascending stride, and none goes on
 * where the one before ends. Rows that overlap (of an input) are one. Returns how many there are. */
static int rows_of(const kn_buffer *b, RowDim dims[KN_MAX_RANK + 1])
{
    const int64_t size = kn_rt_type_size((int)b->type);
    int           n = 0, kept = 1;
    RowDim        sorted[KN_MAX_RANK];
    for (int d = 0; d < b->rank; d++) {
        if (b->dim[d].extent < 2 || b->dim[d].stride == 0)
            continue;
        const int64_t stride = (b->dim[d].stride < 0 ? -b->dim[d].stride : b->dim[d].stride) * size;
        int           i      = n++;
        for (; i > 0 && sorted[i - 1].stride > stride; i--)
            sorted[i] = sorted[i - 1];
        sorted[i] = (RowDim){ b->dim[d].extent, stride };
    }
    dims[0] = (RowDim){ size, 1 };
    for (int i = 0; i < n; i++)
        if (kept == 1 && sorted[i].stride <= dims[0].extent)
            dims[0].extent += (sorted[i].extent - 1) * sorted[i].stride;
        else if (sorted[i].stride == dims[kept - 1].stride * dims[kept - 1].extent)
            dims[kept - 1].extent *= sorted[i].extent;
        else
            dims[kept++] = sorted[i];
    return kept;
}

/* Queues the copies of all rows, two dimensions at a time. */
static int queue_rows(kn_device *d, DeviceCopy *copy, const RowDim *dims, int count, DeviceError *error)
{
    int64_t at[KN_MAX_RANK + 1] = { 0 };
    copy->width                 = (size_t)dims[0].extent;
    copy->height                = count > 1 ? (size_t)dims[1].extent : 1;
    copy->pitch                 = count > 1 ? (size_t)dims[1].stride : copy->width;
    char *const  host           = copy->host;
    const size_t first          = copy->offset;
    for (;;) {
        size_t offset = 0;
        for (int i = 2; i < count; i++)
            offset += (size_t)(at[i] * dims[i].stride);
        copy->host       = host + offset;
        copy->offset     = first + offset;
        const int status = d->ops->copy(d->state, copy, error);
        if (status)
            return status;
        int i = 2;
        while (i < count && ++at[i] == dims[i].extent)
            at[i++] = 0;
        if (i >= count)
            return KN_OK;
    }
}

int kn_rt_device_copy(kn_rt *rt, const char *who, const kn_buffer *b, bool to_host)
{
    kn_device  *d     = b->device;
    DeviceError error = { 0 };
    RowDim      dims[KN_MAX_RANK + 1];
    int64_t     low, high;
    if (to_host && has_no_element(b))
        return KN_OK;
    if (!b->data)
        return kn_rt_error(rt, KN_ERROR_ARGUMENT,
                           "%s: a buffer has a copy on a device only, and one on the host is needed; point its data at "
                           "memory",
                           who);
    if (!kn_rt_device_range(b, &low, &high))
        return kn_rt_error(rt, KN_ERROR_ARGUMENT, "%s: a buffer's strides reach beyond the address space", who);
    DeviceCopy  copy   = { .to_host = to_host,
                           .memory  = d->ops->addresses ? b->handle + (uint64_t)low : b->handle,
                           .offset  = d->ops->addresses ? 0 : (size_t)(low - kn_rt_device_begin(low)),
                           .host    = (char *)b->data + low };
    int         status = queue_rows(d, &copy, dims, rows_of(b, dims), &error);
    DeviceError waited = { 0 };
    const int   wrong  = d->ops->sync(d->state, &waited); /* in any case: the host's memory is in use until then */
    if (!status && wrong) {
        status = wrong;
        error  = waited;
    }
    return status ? kn_rt_device_fail(rt, who, d, status, &error) : KN_OK;
}

/* ---- For users -------------------------------------------------------------------------- */

/* A buffer for a device: with a shape, and flags that mean something. */
static int check_for_device(kn_rt *rt, const char *who, const kn_buffer *b)
{
    if (!b)
        return kn_rt_error(rt, KN_ERROR_ARGUMENT, "%s: no buffer was given (NULL)", who);
    if (!kn_rt_type_name((int)b->type) || b->rank < 0 || b->rank > KN_MAX_RANK)
        return kn_rt_error(rt, KN_ERROR_ARGUMENT, "%s: the buffer has the type %d and the rank %d: it has no shape yet",
                           who, (int)b->type, (int)b->rank);
    if (b->flags & ~(uint32_t)(KN_HOST_NEWER | KN_DEVICE_NEWER) || b->reserved[0] || b->reserved[1] || b->reserved[2])
        return kn_rt_error(rt, KN_ERROR_ARGUMENT,
                           "%s: the buffer's device part has unknown flags, or reserved is not zero; set all fields "
                           "behind dim to zero",
                           who);
    return KN_OK;
}

/* It is to get a copy there. */
static int check_new_device(kn_rt *rt, const char *who, kn_device *d, const kn_buffer *b)
{
    kn_rt_error_clear();
    const int status = check_for_device(rt, who, b);
    if (status)
        return status;
    if (!d)
        return kn_rt_error(rt, KN_ERROR_ARGUMENT, "%s: no device was given (NULL)", who);
    if (b->device)
        return kn_rt_error(rt, KN_ERROR_ARGUMENT,
                           "%s: the buffer has a copy on a device already; call kn_buffer_free_device first", who);
    return kn_rt_device_usable(rt, who, d);
}

kn_status kn_buffer_alloc_device(kn_buffer *b, kn_device *d)
{
    kn_rt *rt     = kn_rt_of(NULL);
    int    status = check_new_device(rt, "kn_buffer_alloc_device", d, b);
    if (!status)
        status = attach(rt, "kn_buffer_alloc_device", d, b);
    if (!status)
        b->flags = 0;
    return (kn_status)status;
}

kn_status kn_buffer_wrap_device(kn_buffer *b, kn_device *d, uint64_t handle)
{
    kn_rt *rt     = kn_rt_of(NULL);
    int    status = check_new_device(rt, "kn_buffer_wrap_device", d, b);
    if (status)
        return (kn_status)status;
    if (!handle)
        return (kn_status)kn_rt_error(rt, KN_ERROR_ARGUMENT, "kn_buffer_wrap_device: the handle is 0");
    if (d->ops->addresses && handle % DEVICE_ALIGN)
        return (kn_status)kn_rt_error(rt, KN_ERROR_ARGUMENT,
                                      "kn_buffer_wrap_device: the address on the device must be a multiple of %d, as "
                                      "that of all memory from the driver is; copy what lies elsewhere",
                                      DEVICE_ALIGN);
    kn_rt_device_share(d, handle);
    b->device = d;
    b->handle = handle;
    b->flags  = KN_DEVICE_NEWER;
    return KN_OK;
}

void kn_buffer_free_device(kn_buffer *b)
{
    if (!b || !b->device)
        return;
    kn_rt_device_unshare(b->device, b->handle);
    b->device = NULL;
    b->handle = 0;
    b->flags  = 0;
}

kn_status kn_copy_to_device(kn_device *d, kn_buffer *b)
{
    kn_rt      *rt  = kn_rt_of(NULL);
    const char *who = "kn_copy_to_device";
    kn_rt_error_clear();
    int status = check_for_device(rt, who, b);
    if (status)
        return (kn_status)status;
    if (b->device && b->device != d)
        return (kn_status)kn_rt_error(rt, KN_ERROR_ARGUMENT,
                                      "%s: the buffer has a copy on another device; call "
                                      "kn_buffer_free_device first",
                                      who);
    const bool is_new = !b->device;
    if (is_new)
        status = kn_buffer_alloc_device(b, d);
    else
        status = kn_rt_device_usable(rt, who, d);
    if (status || b->flags & KN_DEVICE_NEWER)
        return (kn_status)status;
    if ((is_new || b->flags & KN_HOST_NEWER) && !has_no_element(b))
        status = kn_rt_device_copy(rt, who, b, false);
    if (!status)
        b->flags = 0;
    else if (is_new)
        kn_buffer_free_device(b);
    return (kn_status)status;
}

kn_status kn_copy_to_host(kn_buffer *b)
{
    kn_rt      *rt  = kn_rt_of(NULL);
    const char *who = "kn_copy_to_host";
    kn_rt_error_clear();
    int status = check_for_device(rt, who, b);
    if (status || !b->device || !(b->flags & KN_DEVICE_NEWER))
        return (kn_status)status;
    status = kn_rt_device_usable(rt, who, b->device);
    if (!status)
        status = kn_rt_device_copy(rt, who, b, true);
    if (!status)
        b->flags = 0;
    return (kn_status)status;
}
