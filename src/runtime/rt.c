/* SPDX-License-Identifier: MIT */
/* Instances: made, ended, and the one of the process.
 *
 * The process's own is static, so that making it cannot fail; it is set up on first use. When the library or program
 * that holds this code is unloaded its threads are ended, if none is busy: a thread must not run code that is gone.
 * Scratch that other threads of the program keep then stays: at the end of a process they may still be using it.
 * (Before dlclose() of a pipeline, kn_rt_trim in such threads gives it back.)
 */
#include "runtime/internal.h"

#include <stdlib.h>
#ifdef __linux__
#include <sys/mman.h>
#endif

static const size_t default_scratch_limit = (size_t)1 << 30;

/* Blocks of this size and more ask for huge pages, which take 512 times fewer page faults. */
static const size_t huge_page = (size_t)2 << 20;

static void *allocate_default(void *user, size_t bytes)
{
    (void)user;
#ifdef MADV_HUGEPAGE
    if (bytes >= 2 * huge_page) {
        const size_t rounded = (bytes + huge_page - 1) / huge_page * huge_page;
        void        *block   = aligned_alloc(huge_page, rounded);
        if (block)
            (void)madvise(block, rounded, MADV_HUGEPAGE);
        return block;
    }
#endif
    return malloc(bytes);
}

static void release_default(void *user, void *block)
{
    (void)user;
    free(block);
}

static void rt_init(kn_rt *rt, const kn_rt_hooks *hooks)
{
    if (hooks)
        rt->hooks = *hooks;
    if (!rt->hooks.allocate) {
        rt->hooks.allocate = allocate_default;
        rt->hooks.release  = release_default;
    }
    if (!rt->hooks.scratch_limit)
        rt->hooks.scratch_limit = default_scratch_limit;
    atomic_init(&rt->calls, 0);
    for (int i = 0; i < LOCK_COUNT; i++)
        atomic_init(&rt->locks[i].held, false);
    kn_rt_pool_init(&rt->pool, rt->hooks.threads);
    kn_rt_registry_lock();
    kn_rt_register(rt);
    kn_rt_registry_unlock();
}

static kn_rt          own;
static pthread_once_t own_once = PTHREAD_ONCE_INIT;
static atomic_bool    own_made;

static void make_own(void)
{
    rt_init(&own, NULL);
    atomic_store_explicit(&own_made, true, memory_order_release);
}

kn_rt *kn_rt_of(kn_rt *rt)
{
    if (rt)
        return rt;
    if (!atomic_load_explicit(&own_made, memory_order_acquire))
        pthread_once(&own_once, make_own);
    return &own;
}

__attribute__((destructor)) static void unload(void)
{
    if (atomic_load_explicit(&own_made, memory_order_acquire)) {
        kn_rt_pool_stop(&own.pool, false);
        kn_rt_local_end(&own);
    }
    kn_rt_local_unload();
}

kn_rt *kn_rt_new(const kn_rt_hooks *hooks)
{
    if (hooks && !hooks->allocate != !hooks->release)
        return NULL;
    void *base = hooks && hooks->allocate ? hooks->allocate(hooks->user, sizeof(kn_rt) + CACHE_LINE + sizeof(void *))
                                          : allocate_default(NULL, sizeof(kn_rt) + CACHE_LINE + sizeof(void *));
    if (!base)
        return NULL;
    /* Aligned by hand, since an allocator need not; what it gave is kept right before. */
    const uintptr_t at = ((uintptr_t)base + sizeof(void *) + CACHE_LINE - 1) / CACHE_LINE * CACHE_LINE;
    kn_rt          *rt = (kn_rt *)at;
    *rt                = (kn_rt){ 0 };
    ((void **)at)[-1]  = base;
    rt_init(rt, hooks);
    return rt;
}

void kn_rt_destroy(kn_rt *rt)
{
    if (!rt || rt == &own)
        return;
    kn_rt_pool_stop(&rt->pool, true);
    kn_rt_pool_destroy(&rt->pool);
    kn_rt_registry_lock();
    kn_rt_unregister(rt);
    kn_rt_profile_drop(rt);
    kn_rt_registry_unlock();
    kn_rt_release(rt, ((void **)rt)[-1]);
}

/* Threads cannot be ended from inside a loop that they may be working on. */
static kn_status outside_loops(kn_rt *rt, const char *function)
{
    kn_rt_error_clear();
    if (!kn_rt_thread()->loop)
        return KN_OK;
    return (kn_status)kn_rt_error(rt, KN_ERROR_ARGUMENT,
                                  "%s: called from inside a parallel loop; call it between pipelines", function);
}

kn_status kn_rt_set_threads(kn_rt *rt, int threads)
{
    rt                     = kn_rt_of(rt);
    const kn_status status = outside_loops(rt, "kn_rt_set_threads");
    if (status)
        return status;
    kn_rt_pool_set_threads(&rt->pool, threads);
    return KN_OK;
}

int kn_rt_threads(kn_rt *rt)
{
    rt = kn_rt_of(rt);
    return kn_rt_pool_threads(&rt->pool);
}

kn_status kn_rt_trim(kn_rt *rt)
{
    rt                     = kn_rt_of(rt);
    const kn_status status = outside_loops(rt, "kn_rt_trim");
    if (status)
        return status;
    kn_rt_pool_stop(&rt->pool, true);
    kn_rt_scratch_expire(rt);
    return KN_OK;
}
