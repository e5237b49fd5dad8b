/* SPDX-License-Identifier: MIT */
/* Memory of a device: blocks that are kept when they are freed, because a driver's allocation takes up to milliseconds
 * and its freeing waits for all kernels.
 *
 * A kept block serves a request that leaves at most an eighth of it unused; of those that do, the smallest. As all
 * work of a device is in one queue, a block may be given away while kernels that use it still run: those that will use
 * it next come after them. What is kept is bounded by a limit; beyond it the blocks freed first go. When the driver has
 * no memory left all of them go, and it is asked once more.
 */
#include "runtime/device_parts.h"

#include <stdlib.h>

enum { DEVICE_GRAIN = 512 }; /* bytes: sizes are rounded up to a multiple */

static void block_unlink(DeviceBlock *b)
{
    *b->link = b->next;
    if (b->next)
        b->next->link = b->link;
}

static void block_link(DeviceBlock **list, DeviceBlock *b)
{
    b->next = *list;
    b->link = list;
    if (b->next)
        b->next->link = &b->next;
    *list = b;
}

/* Frees a block that is in no list. */
static void block_free(kn_device *d, DeviceBlock *b)
{
    if (!d->forked)
        d->ops->free(d->state, b->memory);
    free(b);
}

void kn_rt_device_keep(kn_device *d, size_t bytes)
{
    while (d->memory.kept_bytes > bytes) {
        DeviceBlock *oldest = d->memory.kept;
        while (oldest->next)
            oldest = oldest->next;
        block_unlink(oldest);
        d->memory.kept_bytes -= oldest->bytes;
        block_free(d, oldest);
    }
}

bool kn_rt_device_block_fits(const DeviceBlock *b, size_t bytes)
{
    return b->bytes >= bytes && b->bytes - b->bytes / 8 <= bytes + DEVICE_GRAIN;
}

/* The smallest kept block that will do. */
static DeviceBlock *best_kept(const DeviceMemory *memory, size_t bytes)
{
    DeviceBlock *best = NULL;
    for (DeviceBlock *b = memory->kept; b; b = b->next)
        if (kn_rt_device_block_fits(b, bytes) && (!best || b->bytes < best->bytes))
            best = b;
    return best;
}

/* A new block in no list; the lock is held. */
static int new_block(kn_device *d, size_t bytes, DeviceBlock **block, DeviceError *error)
{
    DeviceBlock *b = calloc(1, sizeof *b);
    if (!b)
        return kn_rt_device_error(error, KN_ERROR_LIMIT, "out of memory");
    b->bytes   = bytes;
    int status = d->ops->alloc(d->state, bytes, &b->memory, error);
    if (status && !error->lost && d->memory.kept) {
        kn_rt_device_keep(d, 0);
        status = d->ops->alloc(d->state, bytes, &b->memory, error);
    }
    if (status) {
        free(b);
        return status;
    }
    *block = b;
    return KN_OK;
}

int kn_rt_device_take(kn_device *d, size_t bytes, DeviceBlock **block, DeviceError *error)
{
    if (bytes > SIZE_MAX - DEVICE_GRAIN)
        return kn_rt_device_error(error, KN_ERROR_LIMIT, "out of device memory: %zu bytes are more than any has",
                                  bytes);
    bytes = bytes ? (bytes + DEVICE_GRAIN - 1) / DEVICE_GRAIN * DEVICE_GRAIN : DEVICE_GRAIN;
    pthread_mutex_lock(&d->lock);
    int          status = KN_OK;
    DeviceBlock *b      = best_kept(&d->memory, bytes);
    if (b) {
        block_unlink(b);
        d->memory.kept_bytes -= b->bytes;
    } else {
        status = new_block(d, bytes, &b, error);
    }
    if (!status)
        block_link(&d->memory.used, b);
    pthread_mutex_unlock(&d->lock);
    *block = status ? NULL : b;
    return status;
}

/* Keeps a block that was in use; the lock is held. */
static void keep_block(kn_device *d, DeviceBlock *b)
{
    block_unlink(b);
    block_link(&d->memory.kept, b);
    d->memory.kept_bytes += b->bytes;
    kn_rt_device_keep(d, d->memory.limit);
}

void kn_rt_device_give(kn_device *d, DeviceBlock *b)
{
    pthread_mutex_lock(&d->lock);
    keep_block(d, b);
    pthread_mutex_unlock(&d->lock);
}

/* The block in use that has this handle inside; NULL: it is not one of the device's. The lock is held. */
static DeviceBlock *block_of_handle(const kn_device *d, uint64_t handle)
{
    DeviceBlock *b = d->memory.used;
    while (b && (d->ops->addresses ? handle - b->memory >= b->bytes : handle != b->memory))
        b = b->next;
    return b;
}

void kn_rt_device_share(kn_device *d, uint64_t handle)
{
    pthread_mutex_lock(&d->lock);
    DeviceBlock *b = block_of_handle(d, handle);
    if (b)
        b->sharers++;
    pthread_mutex_unlock(&d->lock);
}

void kn_rt_device_unshare(kn_device *d, uint64_t handle)
{
    pthread_mutex_lock(&d->lock);
    DeviceBlock *b = block_of_handle(d, handle);
    if (b && b->sharers)
        b->sharers--;
    else if (b)
        keep_block(d, b);
    pthread_mutex_unlock(&d->lock);
}

void kn_rt_device_memory_drop(kn_device *d)
{
    kn_rt_device_keep(d, 0);
    while (d->memory.used) {
        DeviceBlock *b = d->memory.used;
        block_unlink(b);
        block_free(d, b);
    }
}
