/* SPDX-License-Identifier: MIT */
/* Stacks: how much is left of the caller's, and a thread with one of its own.
 *
 * A thread rather than a switch of stacks: sanitizers, debuggers and unwinders know threads. Making and joining one
 * takes some 30 us. */
#include "base/stack.h"

#include <signal.h>
#include <stdint.h>
#include <sys/auxv.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The kernel reserves this much address space below the main stack, even if the limit was raised later. */
static const uintptr_t main_most = (uintptr_t)128 << 20;

/* The lowest address of the main thread's stack. The name of the program lies above its first frame. pthread_getattr_np
 * would read /proc/self/maps. */
static bool main_bounds(uintptr_t *low, uintptr_t *high)
{
    struct rlimit limit;
    *high = (uintptr_t)getauxval(AT_EXECFN);
    if (!*high || getrlimit(RLIMIT_STACK, &limit))
        return false;
    *low = *high - (limit.rlim_cur < main_most ? (uintptr_t)limit.rlim_cur : main_most);
    return true;
}

static bool thread_bounds(uintptr_t *low, uintptr_t *high)
{
    pthread_attr_t attributes;
    void          *at;
    size_t         size;
    if (pthread_getattr_np(pthread_self(), &attributes))
        return false;
    const bool known = !pthread_attr_getstack(&attributes, &at, &size);
    pthread_attr_destroy(&attributes);
    *low  = known ? (uintptr_t)at : 0;
    *high = known ? *low + size : 0;
    return known;
}

bool stack_has(size_t size)
{
    uintptr_t       low, high;
    const uintptr_t here = (uintptr_t)__builtin_frame_address(0);
    const bool      main = syscall(SYS_gettid) == getpid();
    return (main ? main_bounds : thread_bounds)(&low, &high) && here < high && here > low && here - low >= size;
}

static void *thread_main(void *arg)
{
    const StackThread *t = arg;
    t->fn(t->arg);
    return NULL;
}

/* Signals are left to the threads of the program around us. */
bool stack_start(StackThread *t, size_t size, void (*fn)(void *arg), void *arg)
{
    pthread_attr_t attributes;
    sigset_t       all, before;
    t->fn  = fn;
    t->arg = arg;
    if (pthread_attr_init(&attributes))
        return false;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    const bool made =
        !pthread_attr_setstacksize(&attributes, size) && !pthread_create(&t->thread, &attributes, thread_main, t);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    return made;
}

void stack_join(StackThread *t)
{
    pthread_join(t->thread, NULL);
}
