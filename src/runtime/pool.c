/* SPDX-License-Identifier: MIT */
/* The thread pool: parallel loops, shared out in chunks.
 *
 * A loop lives on the stack of the thread that called kn_rt_parallel, its owner. The owner publishes it in the pool's
 * list, takes chunks of its iterations until none is left, takes it out of the list, and waits for the threads that
 * still are in a chunk. Idle threads of the pool help with the published loop that has the fewest helpers. A chunk is a
 * part of what is left, so chunks grow smaller towards the end (Polychronopoulos and Kuck 1987).
 *
 * Nesting: a body may call kn_rt_parallel. A thread that waits for its loop works only on loops begun by iterations of
 * that loop. So whom one waits for is always deeper in the nest, and nobody waits in a circle; and a stack is never
 * deeper than the nest.
 *
 * An error ends the loop: the first status is kept with its text, the rest of the iterations is not begun, nor that of
 * loops inside. Its text goes to the owner's thread.
 *
 * Threads are made when a loop first needs them, with all signals blocked, so that the program's handlers run on the
 * program's threads. A thread that cannot be made is done without. Bodies run under the floating-point environment of
 * the owner, on whichever thread.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* sched_getaffinity */
#endif
#include "runtime/internal.h"

#include <fenv.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct ParallelLoop {
    kn_rt          *rt;
    kn_rt_body     *body;
    void           *closure;
    int32_t         min, extent;
    int             shares;        /* a chunk is this part of what is left */
    _Atomic int64_t next;          /* the first iteration that nobody has taken */
    atomic_int      status;        /* the first that was not 0 */
    atomic_int      helpers;       /* threads in it but the owner; changed under the pool's lock */
    ParallelLoop   *parent;        /* whose iteration the owner was in */
    ParallelLoop   *older, **link; /* the pool's list; *link is this */
    bool            is_waiting;    /* the owner waits on `done` */
    pthread_cond_t  done;          /* no helper is left, or there is a loop inside to help with */
    fenv_t          env;
    int             cpu; /* where the owner was when it began; -1 if that cannot be told */
    char            error[ERROR_SIZE];
};

enum {
    CHUNKS_PER_THREAD = 4,
    SPINS             = 2000, /* looks before a thread sleeps: some 50 µs */
    STACK_BYTES       = 8 << 20
};

static void pause_cpu(void)
{
#if defined __x86_64__ || defined __i386__
    __builtin_ia32_pause();
#elif defined __aarch64__
    __asm__ volatile("yield");
#endif
}

/* ---- One loop --------------------------------------------------------------------------- */

/* The status that ended the loop, or one around it; 0 while it goes on. */
static int loop_status(const ParallelLoop *loop)
{
    for (; loop; loop = loop->parent) {
        const int status = atomic_load_explicit(&loop->status, memory_order_relaxed);
        if (status)
            return status;
    }
    return 0;
}

static bool loop_has_work(const ParallelLoop *loop)
{
    return atomic_load_explicit(&loop->next, memory_order_relaxed) < loop->extent;
}

/* Takes the iterations *from .. *to-1. */
static bool loop_take(ParallelLoop *loop, int64_t *from, int64_t *to)
{
    int64_t next = atomic_load_explicit(&loop->next, memory_order_relaxed), chunk;
    do {
        const int64_t left = loop->extent - next;
        if (left <= 0)
            return false;
        chunk = left / loop->shares > 1 ? left / loop->shares : 1;
    } while (!atomic_compare_exchange_weak_explicit(&loop->next, &next, next + chunk, memory_order_relaxed,
                                                    memory_order_relaxed));
    *from = next;
    *to   = next + chunk;
    return true;
}

/* One iteration; the first that fails ends the loop and leaves its text. */
static int loop_step(ParallelLoop *loop, int64_t i)
{
    const int status = loop->body(loop->rt, (int32_t)(loop->min + i), loop->closure);
    int       none   = 0;
    if (status && atomic_compare_exchange_strong(&loop->status, &none, status)) {
        memcpy(loop->error, kn_rt_thread()->error, ERROR_SIZE);
        atomic_store_explicit(&loop->next, loop->extent, memory_order_relaxed);
    }
    return status;
}

static void loop_work(ParallelLoop *loop)
{
    Thread       *t     = kn_rt_thread();
    ParallelLoop *outer = t->loop;
    int64_t       i, to;
    t->loop = loop;
    kn_rt_error_clear();
    while (loop_take(loop, &i, &to))
        for (; i < to && !loop_status(loop); i++)
            loop_step(loop, i);
    t->loop = outer;
}

/* After the last thread has left: the status, with its text in this thread. */
static int loop_result(ParallelLoop *loop)
{
    const int status = atomic_load(&loop->status);
    Thread   *t      = kn_rt_thread();
    if (!status)
        return loop_status(loop->parent);
    memcpy(t->error, loop->error, ERROR_SIZE);
    t->error_length = strlen(t->error);
    return status;
}

/* ---- The list of loops; the pool's lock is held ------------------------------------------ */

static bool is_inside(const ParallelLoop *loop, const ParallelLoop *outer)
{
    do
        loop = loop->parent;
    while (loop && loop != outer);
    return loop != NULL;
}

/* The loop that has iterations left and the fewest helpers, the newest of those; only loops inside `outer` unless
 * NULL. */
static ParallelLoop *pool_pick(Pool *pool, const ParallelLoop *outer)
{
    ParallelLoop *best   = NULL;
    int           fewest = 0;
    for (ParallelLoop *l = pool->newest; l; l = l->older) {
        const int helpers = atomic_load_explicit(&l->helpers, memory_order_relaxed);
        if (loop_has_work(l) && (!outer || is_inside(l, outer)) && (!best || helpers < fewest)) {
            best   = l;
            fewest = helpers;
        }
    }
    return best;
}

static int this_cpu(void)
{
#ifdef __linux__
    return sched_getcpu();
#else
    return -1;
#endif
}

/* Migrates off the CPU `cpu`, on which another thread has work. The system normally wakes a thread on an idle CPU, but
 * not while all are busy. Two threads on one CPU may then stay there for many runs of a loop. The affinity mask of the
 * thread is restored. */
static void leave_cpu(int cpu)
{
#ifdef __linux__
    cpu_set_t all, others;
    if (cpu < 0 || this_cpu() != cpu || sched_getaffinity(0, sizeof all, &all))
        return;
    others = all;
    CPU_CLR(cpu, &others);
    if (CPU_COUNT(&others) && !sched_setaffinity(0, sizeof others, &others))
        sched_setaffinity(0, sizeof all, &all);
#else
    (void)cpu;
#endif
}

/* Runs iterations of a loop of the list until none is left; releases the lock meanwhile. Decrements `helpers` last: the
 * owner waits for that. */
static void pool_help(Pool *pool, ParallelLoop *loop)
{
    atomic_fetch_add_explicit(&loop->helpers, 1, memory_order_relaxed);
    pthread_mutex_unlock(&pool->lock);
    fenv_t env;
    fegetenv(&env);
    fesetenv(&loop->env);
    if (pool->may_spin)
        leave_cpu(loop->cpu);
    loop_work(loop);
    fesetenv(&env);
    pthread_mutex_lock(&pool->lock);
    if (loop->is_waiting)
        pthread_cond_signal(&loop->done);
    atomic_fetch_sub_explicit(&loop->helpers, 1, memory_order_release);
}

/* ---- Threads ---------------------------------------------------------------------------- */

/* Polls for a new loop for a while; the lock is not held. */
static void pool_spin(Pool *pool, unsigned seen)
{
    for (int i = 0; i < SPINS && atomic_load_explicit(&pool->published, memory_order_relaxed) == seen; i++)
        pause_cpu();
}

static void *worker_main(void *arg)
{
    Pool *pool     = arg;
    bool  has_spun = false;
    pthread_mutex_lock(&pool->lock);
    while (!pool->stop) {
        ParallelLoop *loop = pool_pick(pool, NULL);
        if (loop) {
            pool->busy++;
            pool_help(pool, loop);
            pool->busy--;
            has_spun = false;
        } else if (pool->may_spin && !has_spun) {
            const unsigned seen = atomic_load_explicit(&pool->published, memory_order_relaxed);
            pthread_mutex_unlock(&pool->lock);
            pool_spin(pool, seen);
            pthread_mutex_lock(&pool->lock);
            has_spun = true;
        } else {
            pool->idle++;
            pthread_cond_wait(&pool->work, &pool->lock);
            pool->idle--;
            has_spun = false;
        }
    }
    pthread_mutex_unlock(&pool->lock);
    return NULL;
}

static bool start_thread(pthread_t *thread, Pool *pool)
{
    pthread_attr_t attributes;
    sigset_t       all, before;
    if (pthread_attr_init(&attributes))
        return false;
    (void)pthread_attr_setstacksize(&attributes, STACK_BYTES);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    const bool made = pthread_create(thread, &attributes, worker_main, pool) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    return made;
}

/* Puts a loop into the list, and makes or wakes threads for it. */
static void pool_publish(Pool *pool, ParallelLoop *loop)
{
    const int64_t wanted = loop->extent - 1;
    pthread_mutex_lock(&pool->lock);
    loop->older = pool->newest;
    loop->link  = &pool->newest;
    if (loop->older)
        loop->older->link = &loop->older;
    pool->newest = loop;
    atomic_fetch_add_explicit(&pool->published, 1, memory_order_relaxed);
    int fresh = 0;
    while (!pool->stop && pool->started < kn_rt_pool_threads(pool) - 1 && pool->idle + fresh < wanted &&
           start_thread(&pool->worker[pool->started], pool)) {
        pool->started++;
        fresh++;
    }
    if (wanted >= pool->idle && pool->idle > 0)
        pthread_cond_broadcast(&pool->work);
    else
        for (int64_t i = 0; i < wanted && i < pool->idle; i++)
            pthread_cond_signal(&pool->work);
    for (ParallelLoop *l = loop->parent; l; l = l->parent)
        if (l->rt == loop->rt && l->is_waiting)
            pthread_cond_signal(&l->done);
    pthread_mutex_unlock(&pool->lock);
}

/* Removes the loop from the list and waits until no helper is in it. Meanwhile works on loops nested in it. */
static void pool_wait(Pool *pool, ParallelLoop *loop)
{
    pthread_mutex_lock(&pool->lock);
    *loop->link = loop->older;
    if (loop->older)
        loop->older->link = loop->link;
    if (atomic_load_explicit(&loop->helpers, memory_order_acquire) && pool->may_spin) {
        pthread_mutex_unlock(&pool->lock);
        for (int i = 0; i < SPINS && atomic_load_explicit(&loop->helpers, memory_order_relaxed); i++)
            pause_cpu();
        pthread_mutex_lock(&pool->lock);
    }
    while (atomic_load_explicit(&loop->helpers, memory_order_acquire)) {
        ParallelLoop *inside = pool_pick(pool, loop);
        if (inside) {
            pool_help(pool, inside);
            continue;
        }
        loop->is_waiting = true;
        pthread_cond_wait(&loop->done, &pool->lock);
        loop->is_waiting = false;
    }
    pthread_mutex_unlock(&pool->lock);
}

/* ---- kn_rt_parallel ---------------------------------------------------------------------- */

static void run_shared(Pool *pool, ParallelLoop *loop)
{
    pthread_cond_init(&loop->done, NULL);
    fegetenv(&loop->env);
    loop->cpu = this_cpu();
    pool_publish(pool, loop);
    loop_work(loop);
    pool_wait(pool, loop);
    pthread_cond_destroy(&loop->done);
}

/* An iteration, on a thread that the parallel hook chose. */
static int hooked_task(void *closure, int32_t index)
{
    ParallelLoop *loop   = closure;
    Thread       *t      = kn_rt_thread();
    ParallelLoop *outer  = t->loop;
    int           status = loop_status(loop);
    if (status)
        return status;
    t->loop = loop;
    kn_rt_error_clear();
    status  = loop_step(loop, index);
    t->loop = outer;
    return status;
}

int kn_rt_parallel(kn_rt *given, kn_rt_body *body, int32_t min, int32_t extent, void *closure)
{
    kn_rt *rt = kn_rt_of(given);
    if (extent <= 0)
        return KN_OK;
    const int    threads = kn_rt_pool_threads(&rt->pool);
    ParallelLoop loop; /* not initialized as a whole: its text is long and seldom used */
    loop.rt         = rt;
    loop.body       = body;
    loop.closure    = closure;
    loop.min        = min;
    loop.extent     = extent;
    loop.shares     = threads * CHUNKS_PER_THREAD;
    loop.parent     = kn_rt_thread()->loop;
    loop.is_waiting = false;
    atomic_init(&loop.next, 0);
    atomic_init(&loop.status, 0);
    atomic_init(&loop.helpers, 0);
    kn_rt_trace(rt, KN_RT_LOOP_BEGIN, NULL, NULL, extent);
    int hooked = 0;
    if (rt->hooks.parallel)
        hooked = rt->hooks.parallel(rt->hooks.user, extent, hooked_task, &loop);
    else if (extent > 1 && threads > 1)
        run_shared(&rt->pool, &loop);
    else
        loop_work(&loop);
    const int status = loop_result(&loop);
    kn_rt_trace(rt, KN_RT_LOOP_END, NULL, NULL, status ? status : hooked);
    return status ? status : hooked;
}

/* ---- The pool as a whole ----------------------------------------------------------------- */

int kn_rt_cpu_count(void)
{
    long count = 0;
#ifdef __linux__
    cpu_set_t set;
    if (!sched_getaffinity(0, sizeof set, &set))
        count = CPU_COUNT(&set);
#endif
    if (count < 1)
        count = sysconf(_SC_NPROCESSORS_ONLN);
    return count < 1 ? 1 : count > MOST_THREADS ? MOST_THREADS : (int)count;
}

/* KN_NUM_THREADS, or the number of CPUs where that is not a positive number. */
static int default_threads(void)
{
    const char *text = getenv("KN_NUM_THREADS");
    char       *end  = NULL;
    const long  n    = text ? strtol(text, &end, 10) : 0;
    if (n < 1 || *end)
        return kn_rt_cpu_count();
    return n > MOST_THREADS ? MOST_THREADS : (int)n;
}

static void set_threads(Pool *pool, int threads)
{
    if (threads <= 0)
        threads = default_threads();
    threads        = threads > MOST_THREADS ? MOST_THREADS : threads;
    pool->may_spin = threads <= kn_rt_cpu_count();
    atomic_store_explicit(&pool->threads, threads, memory_order_relaxed);
}

void kn_rt_pool_init(Pool *pool, int threads)
{
    atomic_init(&pool->threads, 1);
    atomic_init(&pool->published, 0);
    set_threads(pool, threads);
    kn_rt_pool_forked(pool);
}

void kn_rt_pool_forked(Pool *pool)
{
    pthread_mutex_init(&pool->lock, NULL);
    pthread_mutex_init(&pool->control, NULL);
    pthread_cond_init(&pool->work, NULL);
    pool->newest  = NULL;
    pool->started = pool->idle = pool->busy = 0;
    pool->stop                              = false;
}

void kn_rt_pool_stop(Pool *pool, bool wait)
{
    pthread_mutex_lock(&pool->control);
    pthread_mutex_lock(&pool->lock);
    const int count = pool->started;
    if (wait || !pool->busy) {
        pool->stop = true;
        pthread_cond_broadcast(&pool->work);
        pthread_mutex_unlock(&pool->lock);
        for (int i = 0; i < count; i++)
            pthread_join(pool->worker[i], NULL);
        pthread_mutex_lock(&pool->lock);
        pool->started = 0;
        pool->stop    = false;
    }
    pthread_mutex_unlock(&pool->lock);
    pthread_mutex_unlock(&pool->control);
}

void kn_rt_pool_destroy(Pool *pool)
{
    pthread_cond_destroy(&pool->work);
    pthread_mutex_destroy(&pool->lock);
    pthread_mutex_destroy(&pool->control);
}

void kn_rt_pool_set_threads(Pool *pool, int threads)
{
    kn_rt_pool_stop(pool, true);
    pthread_mutex_lock(&pool->lock);
    set_threads(pool, threads);
    pthread_mutex_unlock(&pool->lock);
}

int kn_rt_pool_threads(Pool *pool)
{
    return atomic_load_explicit(&pool->threads, memory_order_relaxed);
}
