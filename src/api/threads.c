/* What the compiled code of a context runs with.
 *
 * The runtime asks for memory from all of its threads; the context and its user's allocator are for one thread at a
 * time. So its requests go through a lock. They count towards the context's limit. */
#include "api/threads.h"

#include <pthread.h>

struct Threads {
    kn_context     *cx;
    kn_rt          *rt;
    pthread_mutex_t lock;
    int             count;
};

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

static Threads *threads_new(kn_context *cx)
{
    Threads *t = context_allocate(cx, sizeof *t);
    if (!t)
        return NULL;
    t->cx = cx;
    pthread_mutex_init(&t->lock, NULL);
    t->rt = kn_rt_new(&(kn_rt_hooks){ .user = t, .allocate = allocate, .release = release });
    if (!t->rt) {
        pthread_mutex_destroy(&t->lock);
        context_release(cx, t);
        return NULL;
    }
    return t;
}

kn_rt *threads_get(kn_context *cx)
{
    if (!cx->threads)
        cx->threads = threads_new(cx);
    return cx->threads ? cx->threads->rt : NULL;
}

void threads_set(kn_context *cx, int count)
{
    Threads *t = cx->threads;
    if (t && t->count != count && kn_rt_set_threads(t->rt, count) == KN_OK)
        t->count = count;
}

void threads_free(kn_context *cx)
{
    Threads *t = cx->threads;
    if (!t)
        return;
    kn_rt_destroy(t->rt);
    pthread_mutex_destroy(&t->lock);
    context_release(cx, t);
    cx->threads = NULL;
}
