/* SPDX-License-Identifier: MIT */
/* What is measured of a device: the times of its kernels, and how fast it copies. */
#include "runtime/device_parts.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

/* ---- Kernels ---------------------------------------------------------------------------- */

/* The row of a kernel in a list, made if there is none yet; NULL without memory. */
static KernelProfile *profile_of(KernelProfile **list, kn_rt *rt, kn_device *d, const char *pipeline,
                                 const DeviceBatch *batch, int index)
{
    const kn_rt_kernel *kernel = &batch->kernels->kernels[index];
    KernelProfile     **link   = list;
    for (; *link; link = &(*link)->next)
        if (!strcmp((*link)->profile.pipeline, pipeline) && !strcmp((*link)->profile.kernel, kernel->name))
            return *link;
    const size_t   first = strlen(pipeline) + 1, second = strlen(kernel->name) + 1;
    KernelProfile *p = kn_rt_allocate(rt, sizeof *p + first + second);
    if (!p)
        return NULL;
    *p = (KernelProfile){ .profile = { .pipeline = p->names,
                                       .kernel   = p->names + first,
                                       .threads  = kernel->threads[0] * kernel->threads[1] * kernel->threads[2] } };
    memcpy(p->names, pipeline, first);
    memcpy(p->names + first, kernel->name, second);
    d->ops->kernel_info(d->state, batch->module, kernel, index, &p->profile);
    return *link = p;
}

/* Adds the times of a batch to a list, whose lock is held. */
static void add_times(KernelProfile **list, kn_rt *rt, kn_device *d, const char *pipeline, const DeviceBatch *batch,
                      const double *seconds)
{
    const uint64_t *words = batch->words;
    for (int i = 0; i < batch->count; i++) {
        const int      index = (int)words[LAUNCH_KERNEL];
        KernelProfile *p     = profile_of(list, rt, d, pipeline, batch, index);
        if (p) {
            p->profile.launches++;
            p->profile.seconds += seconds[i];
            p->profile.blocks = (int64_t)(words[LAUNCH_GRID] * words[LAUNCH_GRID + 1] * words[LAUNCH_GRID + 2]);
        }
        words += kn_rt_launch_words(&batch->kernels->kernels[index]);
    }
}

int kn_rt_device_run_profiled(kn_device *d, kn_rt *rt, const kn_rt_program *program, const DeviceBatch *batch,
                              DeviceError *error)
{
    double *seconds = calloc((size_t)batch->count, sizeof *seconds);
    if (!seconds)
        return kn_rt_device_error(error, KN_ERROR_LIMIT, "out of memory");
    const int status = d->ops->run(d->state, batch, seconds, error);
    if (!status && program->func_count > 0) {
        kn_rt_registry_lock();
        add_times(&rt->kernels, rt, d, program->name, batch, seconds);
        kn_rt_registry_unlock();
    }
    pthread_mutex_lock(&d->lock);
    if (!status && atomic_load(&d->profiling))
        add_times(&d->profiles, kn_rt_of(NULL), d, program->name, batch, seconds);
    pthread_mutex_unlock(&d->lock);
    free(seconds);
    return status;
}

kn_status kn_device_set_profile(kn_device *d, bool on)
{
    kn_rt_error_clear();
    if (!d)
        return (kn_status)kn_rt_error(kn_rt_of(NULL), KN_ERROR_ARGUMENT,
                                      "kn_device_set_profile: no device was given (NULL)");
    pthread_mutex_lock(&d->lock);
    kn_rt_kernels_drop(kn_rt_of(NULL), &d->profiles);
    atomic_store(&d->profiling, on);
    pthread_mutex_unlock(&d->lock);
    return KN_OK;
}

bool kn_device_profile_get(kn_device *d, int index, kn_kernel_profile *profile)
{
    if (!d || index < 0)
        return false;
    pthread_mutex_lock(&d->lock);
    const KernelProfile *p = d->profiles;
    while (p && index-- > 0)
        p = p->next;
    if (p)
        *profile = p->profile;
    pthread_mutex_unlock(&d->lock);
    return p != NULL;
}

/* ---- Copies ----------------------------------------------------------------------------- */

enum { MEASURED_GPU = 256 << 20, MEASURED_CPU = 32 << 20 /* bytes */, MEASURED_TIMES = 4 };

static double seconds_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Queues the copy number `what` of kn_device_speed's fields. */
static int queue_measured(kn_device *d, int what, DeviceBlock *const blocks[2], char *host, size_t bytes,
                          DeviceError *error)
{
    const DeviceCopy copy = {
        .to_host = what == 1, .memory = blocks[0]->memory, .host = host, .width = bytes, .height = 1, .pitch = bytes
    };
    return what == 2 ? d->ops->duplicate(d->state, blocks[1]->memory, blocks[0]->memory, bytes, error)
                     : d->ops->copy(d->state, &copy, error);
}

/* The best of some copies, after one that is not measured. */
static int measure_copy(kn_device *d, int what, DeviceBlock *const blocks[2], char *host, size_t bytes, double *speed,
                        DeviceError *error)
{
    const int queued = what == 2 ? 10 : 1; /* inside the device a wait takes as long as a copy */
    double    best   = 0;
    for (int i = 0; i <= MEASURED_TIMES; i++) {
        const double begin  = seconds_now();
        int          status = KN_OK;
        for (int k = 0; k < queued && !status; k++)
            status = queue_measured(d, what, blocks, host, bytes, error);
        DeviceError waited = { 0 };
        const int   wrong  = d->ops->sync(d->state, &waited); /* in any case: `host` is in use until then */
        if (status || wrong) {
            *error = status ? *error : waited;
            return status ? status : wrong;
        }
        const double speed_now = (double)bytes * queued * (what == 2 ? 2 : 1) / (seconds_now() - begin);
        best                   = i > 0 && speed_now > best ? speed_now : best;
    }
    *speed = best;
    return KN_OK;
}

kn_status kn_device_measure(kn_device *d, kn_device_speed *speed)
{
    const char *who = "kn_device_measure";
    kn_rt      *rt  = kn_rt_of(NULL);
    kn_rt_error_clear();
    if (!d || !speed)
        return (kn_status)kn_rt_error(rt, KN_ERROR_ARGUMENT,
                                      "%s: no device, or no place for the result, was given (NULL)", who);
    int status = kn_rt_device_usable(rt, who, d);
    if (status)
        return (kn_status)status;
    const size_t bytes     = d->info.is_gpu && d->info.memory / 4 > MEASURED_GPU ? MEASURED_GPU : MEASURED_CPU;
    DeviceBlock *blocks[2] = { NULL, NULL };
    DeviceError  error     = { 0 };
    char        *host      = malloc(bytes);
    if (host)
        memset(host, 1, bytes);
    else
        status = kn_rt_device_error(&error, KN_ERROR_LIMIT, "out of memory");
    for (int i = 0; i < 2 && !status; i++)
        status = kn_rt_device_take(d, bytes, &blocks[i], &error);
    double *const fields[] = { &speed->to_device, &speed->to_host, &speed->inside };
    for (int i = 0; i < 3 && !status; i++)
        status = measure_copy(d, i, blocks, host, bytes, fields[i], &error);
    for (int i = 0; i < 2; i++)
        if (blocks[i])
            kn_rt_device_give(d, blocks[i]);
    free(host);
    return (kn_status)(status ? kn_rt_device_fail(rt, who, d, status, &error) : KN_OK);
}
