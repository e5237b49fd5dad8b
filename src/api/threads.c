/* SPDX-License-Identifier: MIT */
/* The instance of the runtime that the compiled code of a context runs with.
 *
 * Its threads allocate concurrently; the context and the user's allocator are not thread-safe. So requests take a lock.
 * They count towards the context's memory limit. */
#include "api/threads.h"

#include <pthread.h>

typedef struct Threads {
    Owned           owned; /* by the context */
    kn_context     *cx;
    kn_rt          *rt;
    pthread_mutex_t lock;
    int             count;
} Threads;

/* Its address is the key of a context's Threads. */
static const char threads_key = 0;

static void *allocate(void *user, size_t size)
{
    Threads *t = user;
    pthread_mutex_lock(&t->lock);
    void *block = context_allocate_raw(t->cx, size);
    pthread_mutex_unlock(&t->lock);
    return block;
}

static void release(void *user, void *block)
{
    Threads *t = user;
    pthread_mutex_lock(&t->lock);
    context_release(t->cx, block);
    pthread_mutex_unlock(&t->lock);
}

static void threads_free(kn_context *cx, Owned *o)
{
    Threads *t = (Threads *)(void *)o;
    context_disown(cx, o);
    kn_rt_destroy(t->rt);
    pthread_mutex_destroy(&t->lock);
    context_release(cx, t);
}

static Threads *threads_new(kn_context *cx)
{
    Threads *t = context_allocate(cx, sizeof *t);
    if (!t)
        return NULL;
    t->owned.free = threads_free;
    t->cx         = cx;
    pthread_mutex_init(&t->lock, NULL);
    t->rt = kn_rt_new(&(kn_rt_hooks){ .user = t, .allocate = allocate, .release = release });
    if (!t->rt) {
        pthread_mutex_destroy(&t->lock);
        context_release(cx, t);
        return NULL;
    }
    context_own(cx, &t->owned);
    map_set_mutable(&cx->slots, &threads_key, t);
    return t;
}

kn_rt *threads_get(kn_context *cx)
{
    Threads *t = map_get_mutable(&cx->slots, &threads_key);
    t          = t ? t : threads_new(cx);
    return t ? t->rt : NULL;
}

void threads_set(kn_context *cx, int count)
{
    Threads *t = map_get_mutable(&cx->slots, &threads_key);
    if (t && t->count != count && kn_rt_set_threads(t->rt, count) == KN_OK)
        t->count = count;
}
