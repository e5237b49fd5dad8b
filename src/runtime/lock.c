/* SPDX-License-Identifier: MIT */
/* Locks for atomic stores that no instruction can do: spinlocks, chosen by the address, which different addresses may
 * share. */
#include "runtime/internal.h"

#include <sched.h>

/* Addresses of one cache line have one lock; Fibonacci hashing spreads the lines. */
static Lock *lock_of(kn_rt *rt, const void *address)
{
    const uint64_t line = (uint64_t)(uintptr_t)address / CACHE_LINE;
    return &rt->locks[line * UINT64_C(0x9E3779B97F4A7C15) >> 58];
}

_Static_assert(LOCK_COUNT == 64, "lock_of takes six bits");

/* Spins on a plain load, so that waiting threads share the cache line. Yields after a while: the holder may be
 * descheduled. */
void kn_rt_lock(kn_rt *rt, const void *address)
{
    Lock *lock = lock_of(kn_rt_of(rt), address);
    while (atomic_exchange_explicit(&lock->held, true, memory_order_acquire))
        for (int spins = 0; atomic_load_explicit(&lock->held, memory_order_relaxed); spins++)
            if (spins >= 256)
                sched_yield();
}

void kn_rt_unlock(kn_rt *rt, const void *address)
{
    atomic_store_explicit(&lock_of(kn_rt_of(rt), address)->held, false, memory_order_release);
}
