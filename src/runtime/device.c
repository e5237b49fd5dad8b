/* SPDX-License-Identifier: MIT */
/* Devices: counted, opened, closed; the kernels loaded on them; what is told when one fails.
 *
 * All devices are in a list under one mutex of the process, their registry, which is also held while a driver's library
 * is loaded and a device is opened. A device's own lock guards its memory and modules. The registry is taken first.
 *
 * A device is lost when its driver says so (an illegal address, a hardware error), and in the child of a fork, which no
 * driver survives. Then every function for it fails with the reason.
 */
#include "runtime/device_parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const DeviceOps *kn_rt_device_ops[DEVICE_KINDS] = {
    [KN_DEVICE_CUDA] = &kn_rt_cuda_ops, [KN_DEVICE_OPENCL] = &kn_rt_opencl_ops
};

static pthread_mutex_t device_registry = PTHREAD_MUTEX_INITIALIZER;
static kn_device      *devices;
static kn_device      *default_devices[DEVICE_KINDS];
static pthread_once_t  device_fork_once = PTHREAD_ONCE_INIT;

/* ---- Errors ----------------------------------------------------------------------------- */

int kn_rt_device_error(DeviceError *error, int status, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(error->text, sizeof error->text, format, args);
    va_end(args);
    return status;
}

/* A line of a message begins with who wanted what: "blur: CUDA device 0 (NVIDIA H200): …". */
static int tell_device(kn_rt *rt, const char *who, const kn_device *d, int status, const char *text)
{
    return kn_rt_error(rt, (kn_status)status, "%s: %s device %d (%s): %s", who, d->ops->name, d->info.index,
                       d->info.name, text);
}

int kn_rt_device_fail(kn_rt *rt, const char *who, kn_device *d, int status, const DeviceError *error)
{
    if (error->lost && !atomic_load(&d->lost)) {
        pthread_mutex_lock(&d->lock);
        memcpy(d->reason, error->text, sizeof d->reason);
        atomic_store(&d->lost, true);
        pthread_mutex_unlock(&d->lock);
    }
    return tell_device(rt, who, d, status, error->text);
}

int kn_rt_device_usable(kn_rt *rt, const char *who, kn_device *d)
{
    if (!atomic_load(&d->lost))
        return KN_OK;
    char text[DEVICE_ERROR_SIZE + 80];
    snprintf(text, sizeof text, "it cannot be used any more: %s", d->reason);
    return tell_device(rt, who, d, KN_ERROR_DEVICE, text);
}

/* ---- Forks ------------------------------------------------------------------------------ */

static void device_fork_prepare(void)
{
    pthread_mutex_lock(&device_registry);
}

static void device_fork_parent(void)
{
    pthread_mutex_unlock(&device_registry);
}

/* The child has the parent's memory, and none of the driver's threads. */
static void device_fork_child(void)
{
    pthread_mutex_init(&device_registry, NULL);
    for (kn_device *d = devices; d; d = d->next) {
        pthread_mutex_init(&d->lock, NULL);
        snprintf(d->reason, sizeof d->reason, "it was opened before a fork; open devices in the child only");
        d->forked = true;
        atomic_store(&d->lost, true);
    }
}

static void device_fork_register(void)
{
    pthread_atfork(device_fork_prepare, device_fork_parent, device_fork_child);
}

/* ---- Devices ---------------------------------------------------------------------------- */

/* The table of a kind; NULL: there is no such kind. */
static const DeviceOps *device_ops(int kind)
{
    return kind > 0 && kind < DEVICE_KINDS ? kn_rt_device_ops[kind] : NULL;
}

static int unknown_kind(kn_rt *rt, const char *who, int kind)
{
    return kn_rt_error(rt, KN_ERROR_ARGUMENT, "%s: %d is no kind of device; use KN_DEVICE_CUDA or KN_DEVICE_OPENCL",
                       who, kind);
}

int kn_device_count(kn_device_kind kind)
{
    kn_rt           *rt    = kn_rt_of(NULL);
    const DeviceOps *ops   = device_ops((int)kind);
    DeviceError      error = { 0 };
    int              count = 0;
    kn_rt_error_clear();
    if (!ops) {
        unknown_kind(rt, "kn_device_count", (int)kind);
        return 0;
    }
    pthread_mutex_lock(&device_registry);
    const int status = ops->count(&count, &error);
    pthread_mutex_unlock(&device_registry);
    if (status)
        kn_rt_error(rt, (kn_status)status, "kn_device_count: %s: %s", ops->name, error.text);
    return status ? 0 : count;
}

/* Whether there is a device of that kind. */
static bool device_exists(int kind)
{
    static _Atomic(signed char) known[DEVICE_KINDS]; /* 1: yes; -1: no */
    const DeviceOps            *ops = device_ops(kind);
    if (ops && !atomic_load(&known[kind])) {
        DeviceError error = { 0 };
        int         count = 0;
        pthread_mutex_lock(&device_registry);
        const int status = ops->count(&count, &error);
        pthread_mutex_unlock(&device_registry);
        atomic_store(&known[kind], status || !count ? -1 : 1);
    }
    return ops && atomic_load(&known[kind]) > 0;
}

/* What the environment asks for; -1: no place. */
static int place_of_environment(void)
{
    const char *text = getenv("KN_PLACE");
    if (!text || !*text)
        return KN_ANYWHERE;
    return strcmp(text, "host") == 0 ? KN_ON_HOST : strcmp(text, "device") == 0 ? KN_ON_DEVICE : -1;
}

static bool any_on_device(const kn_rt_program *program, const kn_buffer *const *given)
{
    for (int i = 0; i < program->port_count; i++)
        if (given[i] && given[i]->device)
            return true;
    return false;
}

int32_t kn_rt_device_present(kn_rt *rt, const kn_rt_program *program, int32_t kind, const kn_buffer *const *given)
{
    rt              = kn_rt_of(rt);
    const int asked = atomic_load(&rt->place), place = asked ? asked : place_of_environment();
    if (place < 0) {
        kn_rt_error_clear();
        kn_rt_error(rt, KN_ERROR_ARGUMENT, "%s: KN_PLACE of the environment is `%s`; it can be host or device",
                    program->name, getenv("KN_PLACE"));
        return -1;
    }
    if (any_on_device(program, given))
        return 1;
    if (place != KN_ANYWHERE)
        return place == KN_ON_DEVICE;
    if (kind & KN_RT_PREFERS_HOST)
        return 0;
    if (device_exists(kind))
        return 1;
    kn_rt_trace(rt, KN_RT_NO_DEVICE, program->name, NULL, kind);
    return 0;
}

kn_status kn_rt_set_place(kn_rt *rt, kn_place place)
{
    rt = kn_rt_of(rt);
    kn_rt_error_clear();
    if ((int)place < KN_ANYWHERE || place > KN_ON_DEVICE)
        return (kn_status)kn_rt_error(rt, KN_ERROR_ARGUMENT, "kn_rt_set_place: there is no place %d", (int)place);
    atomic_store(&rt->place, (int)place);
    return KN_OK;
}

kn_place kn_rt_last_place(void)
{
    return kn_rt_thread()->place;
}

/* Adds a device to the list; the registry is held. */
static void device_link(kn_device *d)
{
    d->next = devices;
    d->link = &devices;
    if (d->next)
        d->next->link = &d->next;
    devices = d;
}

/* The registry is held. */
static kn_device *device_open(kn_rt *rt, const char *who, const DeviceOps *ops, int kind, int index)
{
    DeviceError error = { 0 };
    int         count = 0, status = ops->count(&count, &error);
    if (!status && (index < 0 || index >= count))
        status =
            kn_rt_device_error(&error, KN_ERROR_DEVICE, "there is no device %d, but %d: 0 is the first", index, count);
    kn_device *d = status ? NULL : calloc(1, sizeof *d);
    if (!status && !d)
        status = kn_rt_device_error(&error, KN_ERROR_LIMIT, "out of memory");
    if (d) {
        d->ops        = ops;
        d->info.kind  = (kn_device_kind)kind;
        d->info.index = index;
        atomic_init(&d->lost, false);
        status = ops->open(index, &d->state, &d->info, &error);
    }
    if (status) {
        kn_rt_error(rt, (kn_status)status, "%s: %s: %s", who, ops->name, error.text);
        free(d);
        return NULL;
    }
    d->memory.limit = (size_t)(d->info.memory / 4);
    pthread_mutex_init(&d->lock, NULL);
    pthread_once(&device_fork_once, device_fork_register);
    device_link(d);
    return d;
}

kn_device *kn_device_open(kn_device_kind kind, int index)
{
    kn_rt           *rt  = kn_rt_of(NULL);
    const DeviceOps *ops = device_ops((int)kind);
    kn_rt_error_clear();
    if (!ops) {
        unknown_kind(rt, "kn_device_open", (int)kind);
        return NULL;
    }
    pthread_mutex_lock(&device_registry);
    kn_device *d = device_open(rt, "kn_device_open", ops, (int)kind, index);
    pthread_mutex_unlock(&device_registry);
    return d;
}

void kn_device_close(kn_device *d)
{
    if (!d || default_devices[d->info.kind] == d)
        return;
    pthread_mutex_lock(&device_registry);
    *d->link = d->next;
    if (d->next)
        d->next->link = d->link;
    pthread_mutex_unlock(&device_registry);
    DeviceError error = { 0 };
    if (!d->forked)
        (void)d->ops->sync(d->state, &error); /* what failed can be told to nobody any more */
    kn_rt_device_memory_drop(d);
    kn_rt_kernels_drop(kn_rt_of(NULL), &d->profiles);
    while (d->modules) {
        DeviceModule *m = d->modules;
        d->modules      = m->next;
        if (!d->forked)
            d->ops->unload(d->state, m->module);
        free(m);
    }
    if (!d->forked)
        d->ops->close(d->state);
    pthread_mutex_destroy(&d->lock);
    free(d);
}

/* The index that the environment asks for. */
static int wanted_index(void)
{
    const char *text = getenv("KN_DEVICE");
    char       *end;
    const long  index = text ? strtol(text, &end, 10) : 0;
    return text && (end == text || *end || index < 0 || index > 1 << 20) ? -1 : (int)index;
}

static kn_device *default_device(kn_rt *rt, const char *who, int kind)
{
    const DeviceOps *ops = device_ops(kind);
    if (!ops) {
        unknown_kind(rt, who, kind);
        return NULL;
    }
    pthread_mutex_lock(&device_registry);
    kn_device *d     = default_devices[kind];
    const int  index = d ? 0 : wanted_index();
    if (index < 0)
        kn_rt_error(rt, KN_ERROR_ARGUMENT, "%s: KN_DEVICE of the environment is `%s`, which is no index of a device",
                    who, getenv("KN_DEVICE"));
    else if (!d)
        d = default_devices[kind] = device_open(rt, who, ops, kind, index);
    pthread_mutex_unlock(&device_registry);
    return d;
}

kn_device *kn_device_default(kn_device_kind kind)
{
    kn_rt_error_clear();
    return default_device(kn_rt_of(NULL), "kn_device_default", (int)kind);
}

kn_status kn_rt_set_device(kn_rt *rt, kn_device *d)
{
    kn_rt_error_clear();
    atomic_store(&kn_rt_of(rt)->device, d);
    return KN_OK;
}

kn_device *kn_rt_device_of(kn_rt *rt, const char *who, int kind)
{
    kn_device *d = atomic_load(&rt->device);
    return d && (int)d->info.kind == kind ? d : default_device(rt, who, kind);
}

/* ---- What users ask of one -------------------------------------------------------------- */

/* Begins a function of the users' on a device. */
static int device_begin(const char *who, kn_device *d)
{
    kn_rt *rt = kn_rt_of(NULL);
    kn_rt_error_clear();
    if (!d)
        return kn_rt_error(rt, KN_ERROR_ARGUMENT, "%s: no device was given (NULL)", who);
    return kn_rt_device_usable(rt, who, d);
}

/* Ends it. */
static kn_status device_end(const char *who, kn_device *d, int status, const DeviceError *error)
{
    return (kn_status)(status ? kn_rt_device_fail(kn_rt_of(NULL), who, d, status, error) : KN_OK);
}

const kn_device_info *kn_device_describe(const kn_device *d)
{
    return d ? &d->info : NULL;
}

kn_status kn_device_free_memory(kn_device *d, uint64_t *bytes)
{
    DeviceError error  = { 0 };
    const int   status = device_begin("kn_device_free_memory", d);
    return status ? (kn_status)status
                  : device_end("kn_device_free_memory", d, d->ops->free_memory(d->state, bytes, &error), &error);
}

kn_status kn_device_set_cache_limit(kn_device *d, uint64_t bytes)
{
    const int status = device_begin("kn_device_set_cache_limit", d);
    if (status)
        return (kn_status)status;
    pthread_mutex_lock(&d->lock);
    d->memory.limit = bytes > SIZE_MAX ? SIZE_MAX : (size_t)bytes;
    kn_rt_device_keep(d, d->memory.limit);
    pthread_mutex_unlock(&d->lock);
    return KN_OK;
}

kn_status kn_device_sync(kn_device *d)
{
    DeviceError error  = { 0 };
    const int   status = device_begin("kn_device_sync", d);
    return status ? (kn_status)status : device_end("kn_device_sync", d, d->ops->sync(d->state, &error), &error);
}

kn_status kn_device_set_stream(kn_device *d, void *stream)
{
    DeviceError error  = { 0 };
    const int   status = device_begin("kn_device_set_stream", d);
    return status ? (kn_status)status
                  : device_end("kn_device_set_stream", d, d->ops->set_stream(d->state, stream, &error), &error);
}

void *kn_device_context(const kn_device *d)
{
    return d ? d->ops->context(d->state) : NULL;
}

/* ---- Kernels ---------------------------------------------------------------------------- */

/* Takes kernels whose code is gone, or goes, out of the list; NULL: they are not there. With the lock. */
static DeviceModule *module_take(kn_device *d, const kn_rt_kernels *kernels)
{
    DeviceModule **link = &d->modules;
    while (*link && (*link)->kernels != kernels)
        link = &(*link)->next;
    DeviceModule *m = *link;
    if (m)
        *link = m->next;
    return m;
}

static void module_unload(kn_device *d, DeviceModule *m)
{
    DeviceError error = { 0 };
    if (m && !d->forked) {
        (void)d->ops->sync(d->state, &error); /* a failure is told again by the next function for the device */
        d->ops->unload(d->state, m->module);
    }
    free(m);
}

/* The lock is held while kernels are loaded, so that they are loaded once. */
int kn_rt_device_module(kn_rt *rt, const char *who, kn_device *d, const kn_rt_kernels *kernels, void **module)
{
    DeviceError error  = { 0 };
    int         status = KN_OK;
    pthread_mutex_lock(&d->lock);
    DeviceModule *m = d->modules;
    while (m && m->kernels != kernels)
        m = m->next;
    if (m && m->id != kernels->id) {
        module_unload(d, module_take(d, kernels));
        m = NULL;
    }
    if (!m) {
        m      = calloc(1, sizeof *m);
        status = m ? d->ops->load(d->state, kernels, &m->module, &error)
                   : kn_rt_device_error(&error, KN_ERROR_LIMIT, "out of memory");
        if (status) {
            free(m);
        } else {
            m->kernels = kernels;
            m->id      = kernels->id;
            m->next    = d->modules;
            d->modules = m;
        }
    }
    *module = status ? NULL : m->module;
    pthread_mutex_unlock(&d->lock);
    return status ? kn_rt_device_fail(rt, who, d, status, &error) : KN_OK;
}

void kn_rt_device_forget(const kn_rt_kernels *kernels)
{
    pthread_mutex_lock(&device_registry);
    for (kn_device *d = devices; d; d = d->next) {
        pthread_mutex_lock(&d->lock);
        DeviceModule *m = module_take(d, kernels);
        pthread_mutex_unlock(&d->lock);
        module_unload(d, m);
    }
    pthread_mutex_unlock(&device_registry);
    if (kernels && kernels->large)
        kn_rt_device_forget(kernels->large);
}
