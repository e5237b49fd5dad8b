/* SPDX-License-Identifier: MIT */
/* Scratch: blocks that a thread keeps for its next use of the same size, so that in the steady state nothing is
 * allocated.
 *
 * Sizes are rounded up to classes, four to an octave: class c has (4 + c % 4) * 2^(c/4 + 6) bytes, 256 at least, so at
 * most a quarter is lost. A block that is freed goes to its class's list, newest first, since that one is in the cache.
 * What a thread keeps is bounded in two ways: in bytes, by the hook scratch_limit; and in age, counted in calls of
 * pipelines on the instance: what the last 64 did not use is given back.
 *
 * A block may be freed by another thread than the one that got it; that one keeps it then.
 */
#include "runtime/internal.h"

enum {
    SPARE        = 64, /* readable bytes behind the end */
    MOST_BITS    = 48, /* of a size that is asked for at all */
    SMALLEST_LOG = 8,
    MOST_AGE     = 64
};

/* What stands before the memory handed out. */
struct ScratchBlock {
    void         *base; /* what the allocator gave */
    ScratchBlock *class_next, *class_previous;
    ScratchBlock *newer, *older;
    uint64_t      used; /* the instance's calls when it was freed */
    int32_t       size_class;
};

_Static_assert(sizeof(ScratchBlock) <= CACHE_LINE, "the header takes one cache line");

void *kn_rt_allocate(kn_rt *rt, size_t bytes)
{
    return rt->hooks.allocate(rt->hooks.user, bytes);
}

void kn_rt_release(kn_rt *rt, void *block)
{
    rt->hooks.release(rt->hooks.user, block);
}

static size_t class_size(int c)
{
    return (size_t)(4 + c % 4) << (c / 4 + SMALLEST_LOG - 2);
}

/* The smallest class of at least `bytes`: with 2^e < bytes <= 2^(e+1), the ceiling of (bytes - 2^e) / 2^(e-2) quarters
 * above 2^e. */
static int class_of(size_t bytes)
{
    if (bytes <= (size_t)1 << SMALLEST_LOG)
        return 0;
    const int    e       = 63 - __builtin_clzll((unsigned long long)(bytes - 1));
    const size_t quarter = (size_t)1 << (e - 2);
    return (e - SMALLEST_LOG) * 4 + (int)((bytes - ((size_t)1 << e) + quarter - 1) / quarter);
}

static void *block_memory(ScratchBlock *b)
{
    return (char *)b + CACHE_LINE;
}

static ScratchBlock *block_of(void *memory)
{
    return (ScratchBlock *)((char *)memory - CACHE_LINE);
}

/* Takes a block out of both lists. */
static void scratch_remove(Scratch *s, ScratchBlock *b)
{
    *(b->class_previous ? &b->class_previous->class_next : &s->free[b->size_class]) = b->class_next;
    if (b->class_next)
        b->class_next->class_previous = b->class_previous;
    *(b->newer ? &b->newer->older : &s->newest) = b->older;
    *(b->older ? &b->older->newer : &s->oldest) = b->newer;
    s->kept -= class_size(b->size_class);
}

static void scratch_add(Scratch *s, ScratchBlock *b)
{
    ScratchBlock **class_list = &s->free[b->size_class];
    b->class_previous         = NULL;
    b->class_next             = *class_list;
    if (b->class_next)
        b->class_next->class_previous = b;
    *class_list                                 = b;
    b->newer                                    = NULL;
    b->older                                    = s->newest;
    *(b->older ? &b->older->newer : &s->oldest) = b;
    s->newest                                   = b;
    s->kept += class_size(b->size_class);
}

/* Frees the oldest blocks while there are too many bytes or they are too old. */
static void scratch_bound(kn_rt *rt, Scratch *s, size_t limit)
{
    const uint64_t now = atomic_load_explicit(&rt->calls, memory_order_relaxed);
    for (ScratchBlock *b = s->oldest; b && (s->kept > limit || b->used + MOST_AGE < now); b = s->oldest) {
        scratch_remove(s, b);
        kn_rt_release(rt, b->base);
    }
}

void kn_rt_scratch_drop(kn_rt *rt, Scratch *s)
{
    scratch_bound(rt, s, 0);
}

void kn_rt_scratch_expire(kn_rt *rt)
{
    atomic_fetch_add_explicit(&rt->calls, MOST_AGE + 1, memory_order_relaxed);
    kn_rt_local_end(rt);
}

/* A new block from the allocator, its memory aligned to a cache line. */
static ScratchBlock *block_new(kn_rt *rt, int size_class)
{
    void *base = kn_rt_allocate(rt, class_size(size_class) + 2 * CACHE_LINE - 1);
    if (!base)
        return NULL;
    ScratchBlock *b = (ScratchBlock *)(((uintptr_t)base + CACHE_LINE - 1) / CACHE_LINE * CACHE_LINE);
    *b              = (ScratchBlock){ .base = base, .size_class = size_class };
    return b;
}

void *kn_rt_alloc(kn_rt *rt, int64_t bytes)
{
    rt = kn_rt_of(rt);
    if (bytes < 0 || bytes >> MOST_BITS) {
        kn_rt_error(rt, KN_ERROR_LIMIT,
                    "out of memory: a function's values would take more than 2^%d bytes; ask for a smaller output",
                    MOST_BITS);
        return NULL;
    }
    const int     size_class = class_of((size_t)bytes + SPARE);
    Local        *local      = kn_rt_local(rt);
    ScratchBlock *b          = local ? local->scratch.free[size_class] : NULL;
    if (b)
        scratch_remove(&local->scratch, b);
    else
        b = block_new(rt, size_class);
    if (!b) {
        kn_rt_error(rt, KN_ERROR_LIMIT, "out of memory: no %lld bytes for a function's values", (long long)bytes);
        return NULL;
    }
    return block_memory(b);
}

void kn_rt_free(kn_rt *rt, void *memory)
{
    if (!memory)
        return;
    rt                  = kn_rt_of(rt);
    ScratchBlock *b     = block_of(memory);
    Local        *local = kn_rt_local(rt);
    if (!local) {
        kn_rt_release(rt, b->base);
        return;
    }
    b->used = atomic_load_explicit(&rt->calls, memory_order_relaxed);
    scratch_add(&local->scratch, b);
    scratch_bound(rt, &local->scratch, rt->hooks.scratch_limit);
}
