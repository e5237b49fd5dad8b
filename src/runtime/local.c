/* SPDX-License-Identifier: MIT */
/* What threads keep of instances, and the registry of both.
 *
 * A Local is in two lists: that of its instance, which frees it when it is destroyed, and that of its thread, which
 * frees it when it ends. Either may come first, on any thread; so both lists change only under the registry's mutex. To
 * find its Local a thread takes no lock: it remembers the last one together with the id of the instance, and an id is
 * never used twice.
 *
 * fork(): the child has the forking thread only. The registry is held across the fork, and in the child each pool
 * begins anew and no lock is held. So pipelines work in the child, unless it was forked from inside a pipeline's loop,
 * or the parent ran one in another thread on the same instance at that moment and the child needs what that thread left
 * half done: nothing of the runtime is, but an instance's allocator may be.
 */
#include "runtime/internal.h"

static pthread_mutex_t registry = PTHREAD_MUTEX_INITIALIZER;
static kn_rt          *instances;
static uint64_t        last_id;

static pthread_once_t key_once = PTHREAD_ONCE_INIT;
static pthread_key_t  key;      /* a thread's list of Locals */
static atomic_bool    key_made; /* and not deleted */

void kn_rt_registry_lock(void)
{
    pthread_mutex_lock(&registry);
}

void kn_rt_registry_unlock(void)
{
    pthread_mutex_unlock(&registry);
}

/* Takes it from both lists and frees it; the registry is held. */
static void local_free(Local *local)
{
    kn_rt *rt    = local->rt;
    *local->link = local->next;
    if (local->next)
        local->next->link = local->link;
    *local->thread_link = local->thread_next;
    if (local->thread_next)
        local->thread_next->thread_link = local->thread_link;
    kn_rt_scratch_drop(rt, &local->scratch);
    kn_rt_profile_retire(rt, &local->profile);
    kn_rt_release(rt, local);
}

/* At the end of a thread. */
static void thread_ended(void *ended)
{
    Thread *t = ended;
    kn_rt_registry_lock();
    while (t->locals)
        local_free(t->locals);
    kn_rt_registry_unlock();
}

static void fork_child(void)
{
    pthread_mutex_init(&registry, NULL);
    for (kn_rt *rt = instances; rt; rt = rt->next) {
        kn_rt_pool_forked(&rt->pool);
        for (int i = 0; i < LOCK_COUNT; i++)
            atomic_store_explicit(&rt->locks[i].held, false, memory_order_relaxed);
    }
}

static void make_key(void)
{
    pthread_atfork(kn_rt_registry_lock, kn_rt_registry_unlock, fork_child);
    atomic_store(&key_made, pthread_key_create(&key, thread_ended) == 0);
}

void kn_rt_register(kn_rt *rt)
{
    pthread_once(&key_once, make_key);
    rt->id   = ++last_id;
    rt->next = instances;
    rt->link = &instances;
    if (rt->next)
        rt->next->link = &rt->next;
    instances = rt;
}

void kn_rt_unregister(kn_rt *rt)
{
    while (rt->locals)
        local_free(rt->locals);
    *rt->link = rt->next;
    if (rt->next)
        rt->next->link = rt->link;
}

/* The thread's Local of rt if there is one; the registry is held. */
static Local *local_find(Thread *t, const kn_rt *rt)
{
    for (Local *l = t->locals; l; l = l->thread_next)
        if (l->rt == rt)
            return l;
    return NULL;
}

static void local_link(Thread *t, Local *local)
{
    kn_rt *rt   = local->rt;
    local->next = rt->locals;
    local->link = &rt->locals;
    if (local->next)
        local->next->link = &local->next;
    rt->locals         = local;
    local->thread_next = t->locals;
    local->thread_link = &t->locals;
    if (local->thread_next)
        local->thread_next->thread_link = &local->thread_next;
    t->locals = local;
}

/* Makes a Local. NULL if the thread-exit callback that would free it cannot be registered. */
static Local *local_new(Thread *t, kn_rt *rt)
{
    if (!atomic_load(&key_made) || pthread_setspecific(key, t))
        return NULL;
    Local *local = kn_rt_allocate(rt, sizeof *local);
    if (!local)
        return NULL;
    *local = (Local){ .rt = rt };
    kn_rt_registry_lock();
    local_link(t, local);
    kn_rt_registry_unlock();
    return local;
}

Local *kn_rt_local(kn_rt *rt)
{
    Thread *t = kn_rt_thread();
    if (t->local_rt == rt->id)
        return t->local;
    kn_rt_registry_lock();
    Local *local = local_find(t, rt);
    kn_rt_registry_unlock();
    if (!local)
        local = local_new(t, rt);
    if (local) {
        t->local_rt = rt->id;
        t->local    = local;
    }
    return local;
}

void kn_rt_local_end(kn_rt *rt)
{
    Thread *t = kn_rt_thread();
    kn_rt_registry_lock();
    Local *local = local_find(t, rt);
    if (local)
        local_free(local);
    t->local_rt = 0;
    kn_rt_registry_unlock();
}

void kn_rt_local_unload(void)
{
    if (atomic_exchange(&key_made, false))
        pthread_key_delete(key);
}
