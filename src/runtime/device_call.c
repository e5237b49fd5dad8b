/* SPDX-License-Identifier: MIT */
/* Calls of pipelines with kernels: the device is chosen, buffers are copied by need, kernels are launched.
 *
 * Takes   the buffers that kn_rt_enter_device made usable.
 * Gives   kernels and code of the host that each see the newest values.
 * Holds   a buffer's flags say which copy is newer, from the beginning of the call to its end:
 *           an input of the host alone begins with KN_HOST_NEWER, so that it is copied when a kernel first needs it;
 *           an output begins without a flag: its values are not defined on either side, and are not copied;
 *           whoever writes sets its own flag and, before, has made its own copy current, because it may write a part.
 *         A failing call changes nothing of what the user gave but the values of outputs. Memory is freed in any case.
 *
 * Launches wait in a batch until code of the host needs a result, something is copied or the call ends, so that a
 * driver may start all of them at once. A block of memory that was freed meanwhile is used again by this call alone:
 * kernels that use it may not have been queued yet.
 */
#include "runtime/device_parts.h"

#include <string.h>

enum {
    BATCH_WORDS    = 256, /* that a call has room for at first */
    BATCH_LAUNCHES = 1024 /* after which a batch is started */
};

struct kn_rt_call {
    kn_rt               *rt;
    const kn_rt_program *program;
    const kn_rt_kernels *given; /* the kernels of the program */
    kn_device           *device;
    kn_buffer           *used; /* the ports */
    pthread_mutex_t      lock; /* of what follows, and of buffers' flags: kernels may be launched in parallel loops */
    const kn_rt_kernels *kernels; /* those of the launches that wait: the ones given, or those for large buffers */
    void                *module;  /* which has them */
    DeviceBlock         *blocks, *spare; /* made for this call: in use, and freed */
    uint64_t            *words;          /* of the launches that wait, see DeviceBatch */
    size_t               word_count, word_room;
    int                  launch_count;
    uint64_t             first_words[BATCH_WORDS];
};

/* ---- The device ------------------------------------------------------------------------- */

static const char *word_for(const kn_rt_port *port)
{
    return port->is_output ? "output" : "input";
}

/* That of the ports that have one, else that of the instance. */
static int choose_device(kn_rt *rt, const kn_rt_program *program, const kn_rt_kernels *kernels, const kn_buffer *used,
                         kn_device **device)
{
    const kn_rt_port *port = NULL; /* that has *device */
    *device                = NULL;
    for (int i = 0; i < program->port_count; i++) {
        const kn_rt_port *p = &program->ports[i];
        kn_device        *d = used[i].device;
        if (d && (int)d->info.kind != kernels->kind)
            return kn_rt_error(rt, KN_ERROR_ARGUMENT,
                               "%s: %s `%s` has a copy on a device of %s, and the kernels are for %s; copy it to the "
                               "host and call kn_buffer_free_device",
                               program->name, word_for(p), p->name, d->ops->name,
                               kn_rt_device_ops[kernels->kind]->name);
        if (d && d->ops->addresses && used[i].handle % DEVICE_ALIGN)
            return kn_rt_error(rt, KN_ERROR_ARGUMENT,
                               "%s: %s `%s`: its address on the device, the handle, must be a multiple of %d",
                               program->name, word_for(p), p->name, DEVICE_ALIGN);
        if (d && *device && d != *device)
            return kn_rt_error(rt, KN_ERROR_ARGUMENT, "%s: %s `%s` and %s `%s` are on different devices (%s %d and %d)",
                               program->name, word_for(port), port->name, word_for(p), p->name, d->ops->name,
                               (*device)->info.index, d->info.index);
        if (d) {
            *device = d;
            port    = p;
        }
    }
    if (!*device)
        *device = kn_rt_device_of(rt, program->name, kernels->kind);
    return *device ? kn_rt_device_usable(rt, program->name, *device) : KN_ERROR_DEVICE;
}

/* Whether two buffers with copies on a device share memory there. */
static bool device_overlap(const kn_device *d, const kn_buffer *a, const kn_buffer *b)
{
    int64_t a_low, a_high, b_low, b_high;
    if (!a->device || !b->device || !kn_rt_device_range(a, &a_low, &a_high) || !kn_rt_device_range(b, &b_low, &b_high))
        return false;
    return d->ops->addresses ? a->handle + (uint64_t)a_low < b->handle + (uint64_t)b_high &&
                                   b->handle + (uint64_t)b_low < a->handle + (uint64_t)a_high
                             : a->handle == b->handle;
}

static int check_device_overlaps(kn_rt *rt, const kn_rt_program *program, const kn_device *d, const kn_buffer *used)
{
    int status = KN_OK;
    for (int i = 0; i < program->port_count; i++)
        for (int k = i + 1; k < program->port_count; k++) {
            const kn_rt_port *a = &program->ports[i], *b = &program->ports[k];
            if ((a->is_output || b->is_output) && device_overlap(d, &used[i], &used[k]))
                status =
                    kn_rt_error(rt, KN_ERROR_ARGUMENT,
                                "%s: %s `%s` and %s `%s` share memory on the device: an output needs memory of its "
                                "own",
                                program->name, word_for(a), a->name, word_for(b), b->name);
        }
    return status;
}

/* ---- Launches that wait ------------------------------------------------------------------ */

/* Queues them; the lock is held, or nobody else has the call. */
static int start_batch(kn_rt_call *call)
{
    const DeviceBatch batch = { call->module, call->kernels, call->words, call->word_count, call->launch_count };
    DeviceError       error = { 0 };
    kn_device        *d     = call->device;
    call->word_count        = 0;
    call->launch_count      = 0;
    if (!batch.count)
        return KN_OK;
    const int status = kn_rt_device_profiled(d, call->program)
                           ? kn_rt_device_run_profiled(d, call->rt, call->program, &batch, &error)
                           : d->ops->run(d->state, &batch, NULL, &error);
    return status ? kn_rt_device_fail(call->rt, call->program->name, d, status, &error) : KN_OK;
}

/* Room for so many more words; NULL: no memory, and the error was told. */
static uint64_t *more_words(kn_rt_call *call, size_t count)
{
    if (call->word_count + count > call->word_room) {
        const size_t room  = 2 * (call->word_count + count);
        uint64_t    *words = kn_rt_alloc(call->rt, (int64_t)(room * sizeof *words));
        if (!words)
            return NULL;
        memcpy(words, call->words, call->word_count * sizeof *words);
        if (call->words != call->first_words)
            kn_rt_free(call->rt, call->words);
        call->words     = words;
        call->word_room = room;
    }
    uint64_t *at = call->words + call->word_count;
    call->word_count += count;
    return at;
}

/* ---- Calls ------------------------------------------------------------------------------ */

/* The flags that the call begins with. An empty output is made one without strides, so that its range is small. */
static void begin_port(const kn_rt_port *port, kn_buffer *used)
{
    if (!port->is_output) {
        if (!used->device)
            used->flags = KN_HOST_NEWER;
        return;
    }
    used->flags = 0;
    bool empty  = false;
    for (int d = 0; d < used->rank; d++)
        empty = empty || used->dim[d].extent <= 0;
    for (int d = 0; d < used->rank && empty; d++)
        used->dim[d].stride = 0;
}

int kn_rt_device_enter(kn_rt *rt, const kn_rt_program *program, const kn_rt_kernels *kernels, kn_buffer *used,
                       kn_rt_call **call)
{
    *call             = NULL;
    rt                = kn_rt_of(rt);
    void      *module = NULL;
    kn_device *d      = NULL;
    int        status = choose_device(rt, program, kernels, used, &d);
    for (int i = 0; i < program->port_count && !status; i++)
        begin_port(&program->ports[i], &used[i]);
    if (!status)
        status = check_device_overlaps(rt, program, d, used);
    if (!status)
        status = kn_rt_device_module(rt, program->name, d, kernels, &module);
    kn_rt_call *c = status ? NULL : kn_rt_alloc(rt, (int64_t)sizeof *c);
    if (!c)
        return status ? status : KN_ERROR_LIMIT;
    memset(c, 0, offsetof(kn_rt_call, first_words));
    c->rt        = rt;
    c->program   = program;
    c->given     = kernels;
    c->kernels   = kernels;
    c->device    = d;
    c->module    = module;
    c->used      = used;
    c->words     = c->first_words;
    c->word_room = BATCH_WORDS;
    pthread_mutex_init(&c->lock, NULL);
    *call = c;
    return KN_OK;
}

/* The user's buffer, of which the caller's declaration says no more than that elements of an input are not changed. */
static kn_buffer *users_buffer(const kn_buffer *given)
{
    return (kn_buffer *)(uintptr_t)given;
}

/* The end of a port. `used` has the user's memory, or a dense copy of it, which kn_rt_leave copies back. */
static int leave_port(kn_rt_call *call, const kn_rt_port *port, const kn_buffer *given, kn_buffer *used)
{
    const bool is_users = used->data == given->data;
    if (given->device && is_users) {
        users_buffer(given)->flags = used->flags;
        return KN_OK;
    }
    int status = KN_OK;
    if (port->is_output && used->flags & KN_DEVICE_NEWER)
        status = kn_rt_device_copy(call->rt, call->program->name, used, true);
    if (port->is_output && given->device)
        users_buffer(given)->flags = KN_HOST_NEWER;
    return status;
}

/* Gives a list of blocks back to the device. */
static void give_blocks(kn_device *d, DeviceBlock **list)
{
    while (*list) {
        DeviceBlock *b = *list;
        *list          = b->call_next;
        kn_rt_device_give(d, b);
    }
}

int kn_rt_device_leave(kn_rt_call *call, const kn_buffer *const *given, int status)
{
    if (!status)
        status = start_batch(call);
    for (int i = 0; i < call->program->port_count && !status; i++)
        status = leave_port(call, &call->program->ports[i], given[i], &call->used[i]);
    give_blocks(call->device, &call->blocks);
    give_blocks(call->device, &call->spare);
    if (call->words != call->first_words)
        kn_rt_free(call->rt, call->words);
    pthread_mutex_destroy(&call->lock);
    kn_rt_free(call->rt, call);
    return status;
}

/* ---- Memory ----------------------------------------------------------------------------- */

/* The smallest block among those that the call has freed that will do, taken from the list. */
static DeviceBlock *take_spare(kn_rt_call *call, size_t bytes)
{
    DeviceBlock **best = NULL;
    for (DeviceBlock **link = &call->spare; *link; link = &(*link)->call_next)
        if (kn_rt_device_block_fits(*link, bytes) && (!best || (*link)->bytes < (*best)->bytes))
            best = link;
    DeviceBlock *b = best ? *best : NULL;
    if (b)
        *best = b->call_next;
    return b;
}

/* Memory on the device for the call, in b; its lock is held. *was_used: kernels that wait may use it. */
static int call_attach(kn_rt_call *call, kn_buffer *b, bool *was_used)
{
    int64_t     low, high;
    DeviceError error  = { 0 };
    int         status = KN_OK;
    if (!kn_rt_device_range(b, &low, &high))
        return kn_rt_error(call->rt, KN_ERROR_ARGUMENT, "%s: a buffer's strides reach beyond the address space",
                           call->program->name);
    const size_t bytes = (size_t)(high - kn_rt_device_begin(low));
    DeviceBlock *block = take_spare(call, bytes);
    *was_used          = block != NULL;
    if (!block)
        status = kn_rt_device_take(call->device, bytes, &block, &error);
    if (status && call->spare && !error.lost) {
        const int started = start_batch(call);
        if (started)
            return started;
        give_blocks(call->device, &call->spare);
        status = kn_rt_device_take(call->device, bytes, &block, &error);
    }
    if (status)
        return kn_rt_device_fail(call->rt, call->program->name, call->device, status, &error);
    kn_rt_device_point(b, call->device, block, low);
    block->call_next = call->blocks;
    call->blocks     = block;
    return KN_OK;
}

/* More elements than an extent can say are two dimensions, of which the inner one is full. */
static kn_buffer scratch_of(int32_t type, int64_t count)
{
    const int64_t row = (int64_t)1 << 20;
    kn_buffer     b   = { .type = (kn_type)type, .rank = 1, .dim = { { 0, (int32_t)count, 1 } } };
    if (count > INT32_MAX) {
        b.rank          = 2;
        b.dim[0].extent = (int32_t)row;
        b.dim[1]        = (kn_dim){ 0, (int32_t)((count + row - 1) / row), row };
    }
    return b;
}

int kn_rt_device_alloc(kn_rt_call *call, kn_buffer *b, int32_t type, int64_t count, int32_t host)
{
    *b = (kn_buffer){ .type = (kn_type)type, .rank = 1, .dim = { { 0, 0, 1 } } };
    if (count <= 0)
        return KN_OK;
    if (count >> 48)
        return kn_rt_error(
            call->rt, KN_ERROR_LIMIT,
            "%s: out of device memory: a function's values would take more than 2^48 elements; ask for a "
            "smaller output",
            call->program->name);
    *b = scratch_of(type, count);
    bool was_used;
    pthread_mutex_lock(&call->lock);
    int status = call_attach(call, b, &was_used);
    pthread_mutex_unlock(&call->lock);
    if (!status && host) {
        int64_t low, high;
        status  = kn_rt_device_range(b, &low, &high) ? KN_OK : KN_ERROR_LIMIT;
        b->data = status ? NULL : kn_rt_alloc(call->rt, high);
        status  = b->data ? status : KN_ERROR_LIMIT;
    }
    if (status)
        kn_rt_device_free(call, b);
    return status;
}

void kn_rt_device_free(kn_rt_call *call, kn_buffer *b)
{
    if (b->handle) {
        pthread_mutex_lock(&call->lock);
        DeviceBlock **link = &call->blocks;
        while ((*link)->memory != b->handle)
            link = &(*link)->call_next;
        DeviceBlock *block = *link;
        *link              = block->call_next;
        block->call_next   = call->spare;
        call->spare        = block;
        pthread_mutex_unlock(&call->lock);
    }
    kn_rt_free(call->rt, b->data);
    *b = (kn_buffer){ .type = b->type, .rank = b->rank };
}

/* ---- Copies by need, and kernels -------------------------------------------------------- */

int kn_rt_host_need(kn_rt_call *call, kn_buffer *b, int32_t access)
{
    int status = KN_OK;
    pthread_mutex_lock(&call->lock);
    if (b->flags & KN_DEVICE_NEWER) {
        status = start_batch(call);
        if (!status)
            status = kn_rt_device_copy(call->rt, call->program->name, b, true);
        if (!status)
            b->flags = 0;
    }
    if (!status && access & KN_RT_WRITE)
        b->flags = KN_HOST_NEWER;
    pthread_mutex_unlock(&call->lock);
    return status;
}

/* The device's copy is made current, or is made, if it has elements or memory on the host. Kernels that wait may use
 * what a copy changes, unless its memory is new to the call. */
static int device_need(kn_rt_call *call, kn_buffer *b)
{
    int  status   = KN_OK;
    bool was_used = true;
    if (!b->handle && (b->data || b->dim[0].extent > 0 || b->rank == 0))
        status = call_attach(call, b, &was_used);
    if (status || !(b->flags & KN_HOST_NEWER) || !b->handle)
        return status;
    if (was_used)
        status = start_batch(call);
    if (!status)
        status = kn_rt_device_copy(call->rt, call->program->name, b, false);
    if (!status)
        b->flags = 0;
    return status;
}

/* The index of element 0, for kernels that take it. */
static uint64_t first_index(const kn_device *d, const kn_buffer *b)
{
    int64_t low, high;
    if (d->ops->addresses || !b->handle || !kn_rt_device_range(b, &low, &high))
        return 0;
    return (uint64_t)(-kn_rt_device_begin(low) / kn_rt_type_size((int)b->type));
}

/* Grids and blocks have limits of their own, which a driver's message does not name. */
static int check_grid(kn_rt_call *call, const kn_rt_kernel *kernel, const int32_t *grid)
{
    const kn_device_info *info = &call->device->info;
    for (int i = 0; i < 3; i++)
        if (grid[i] > info->most_blocks[i])
            return kn_rt_error(
                call->rt, KN_ERROR_LIMIT,
                "%s: kernel `%s` has %d blocks along %c, and %s device %d (%s) takes at most %d; ask for a "
                "smaller output, or give a block more threads",
                call->program->name, kernel->name, (int)grid[i], "xyz"[i], call -> device -> ops -> name, info -> index,
                info -> name, (int)info -> most_blocks[i]);
    const int64_t threads = (int64_t)kernel->threads[0] * kernel->threads[1] * kernel->threads[2];
    if (threads > info->most_threads)
        return kn_rt_error(call->rt, KN_ERROR_LIMIT,
                           "%s: kernel `%s` has blocks of %lld threads, and %s device %d (%s) takes at most %d",
                           call->program->name, kernel->name, (long long)threads, call->device->ops->name, info->index,
                           info->name, (int)info->most_threads);
    if (kernel->shared_bytes > 0 && (uint64_t)kernel->shared_bytes > info->block_memory)
        return kn_rt_error(call->rt, KN_ERROR_LIMIT,
                           "%s: a block of kernel `%s` has %d bytes of shared memory, and %s device %d (%s) has %llu; "
                           "the schedule needs smaller tiles",
                           call->program->name, kernel->name, (int)kernel->shared_bytes, call->device->ops->name,
                           info->index, info->name, (unsigned long long)info->block_memory);
    return KN_OK;
}

/* Whether the indices of a buffer are beyond those of the kernels given. */
static bool is_large(const kn_rt_call *call, const kn_buffer *b)
{
    int64_t low, high;
    return call->given->most_elements > 0 && kn_rt_device_range(b, &low, &high) &&
           (high - low) / kn_rt_type_size((int)b->type) > call->given->most_elements;
}

/* The kernels for a launch with these buffers. Those for large ones are loaded when they are first needed. A batch has
 * kernels of one module. */
static int choose_kernels(kn_rt_call *call, const kn_rt_kernel *kernel, const uint64_t *args)
{
    const kn_rt_kernels *kernels = call->given;
    for (int i = 0; i < kernel->buffer_count && kernels == call->given; i++)
        if (is_large(call, (const kn_buffer *)(uintptr_t)args[i]))
            kernels = call->given->large;
    if (kernels == call->kernels)
        return KN_OK;
    void *module = NULL;
    int   status = kernels ? start_batch(call) : KN_RT_LARGE;
    if (!status)
        status = kn_rt_device_module(call->rt, call->program->name, call->device, kernels, &module);
    if (!status) {
        call->kernels = kernels;
        call->module  = module;
    }
    return status;
}

/* Adds a launch to those that wait; the lock is held. */
static int add_launch(kn_rt_call *call, int32_t index, const int32_t *grid, const uint64_t *args)
{
    const kn_rt_kernel *kernel = &call->given->kernels[index];
    int                 status = choose_kernels(call, kernel, args);
    for (int i = 0; i < kernel->buffer_count && !status; i++)
        status = device_need(call, (kn_buffer *)(uintptr_t)args[i]);
    if (!status && call->launch_count == BATCH_LAUNCHES)
        status = start_batch(call);
    uint64_t *words = status ? NULL : more_words(call, kn_rt_launch_words(kernel));
    if (!words)
        return status ? status : KN_ERROR_LIMIT;
    *words++ = (uint64_t)index;
    for (int i = 0; i < 3; i++)
        *words++ = (uint64_t)grid[i];
    for (int i = 0; i < kernel->buffer_count; i++) {
        kn_buffer *b = (kn_buffer *)(uintptr_t)args[i];
        *words++     = b->handle;
        *words++     = first_index(call->device, b);
        if (kernel->access[i] & KN_RT_WRITE)
            b->flags = KN_DEVICE_NEWER;
    }
    for (int i = 0; i < kernel->value_count; i++, words++) {
        *words = 0;
        memcpy(words, &args[kernel->buffer_count + i], kernel->value_size[i]);
    }
    call->launch_count++;
    return KN_OK;
}

int kn_rt_launch(kn_rt_call *call, int32_t index, const int32_t *grid, const uint64_t *args)
{
    if (grid[0] <= 0 || grid[1] <= 0 || grid[2] <= 0)
        return KN_OK;
    int status = check_grid(call, &call->given->kernels[index], grid);
    if (status)
        return status;
    pthread_mutex_lock(&call->lock);
    status = add_launch(call, index, grid, args);
    if (!status && kn_rt_device_profiled(call->device, call->program)) /* inside the function that is measured */
        status = start_batch(call);
    pthread_mutex_unlock(&call->lock);
    return status;
}
