/* SPDX-License-Identifier: MIT */
/* Contexts: creation, memory under a limit, interned names, bailing out. */
#include "base/context.h"

#include <errno.h>
#include <stdlib.h>
#ifdef __linux__
#include <sys/mman.h>
#endif

enum {
    MOST_ERRORS = 1000, /* in one call: nobody reads more */
    HUGE_PAGE   = 2 << 20
};

struct Try {
    Try    *outer;
    Arena  *scratches; /* those begun before it */
    Hold   *hold;      /* the one around it */
    jmp_buf back;
};

/* Asks for huge pages for those parts of a block that are whole ones, so that no memory is wasted. An image in 4 KiB
 * pages was measured to be a tenth slower to traverse, and the time varied between processes with the placement of the
 * pages in the caches. */
static void advise_huge(void *block, size_t size)
{
#ifdef MADV_HUGEPAGE
    const uintptr_t first = ((uintptr_t)block + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE,
                    end   = ((uintptr_t)block + size) / HUGE_PAGE * HUGE_PAGE;
    const int had         = errno;
    if (first < end)
        (void)madvise((void *)first, end - first, MADV_HUGEPAGE);
    errno = had;
#else
    (void)block, (void)size;
#endif
}

static void *default_allocate(void *user, size_t size)
{
    (void)user;
    void *block = malloc(size);
    if (block && size > HUGE_PAGE)
        advise_huge(block, size);
    return block;
}

static void default_release(void *user, void *block)
{
    (void)user;
    free(block);
}

enum { HEADER = 64 }; /* before each raw block: its size; keeps 64-byte alignment of what follows */

/* malloc aligns to 16: the block is placed at the first multiple of 64 that leaves room for the header. */
typedef struct BlockHeader {
    void  *raw;
    size_t size;
    bool   borrowed; /* from malloc, and not counted */
} BlockHeader;

static char *block_in(char *raw, size_t size, bool borrowed)
{
    char *block                        = (char *)(((uintptr_t)raw + 2 * HEADER - 1) / HEADER * HEADER);
    ((BlockHeader *)(void *)block)[-1] = (BlockHeader){ raw, borrowed ? 0 : size + 2 * HEADER, borrowed };
    return block;
}

void *context_allocate_raw(kn_context *cx, size_t size)
{
    if (size > SIZE_MAX - 2 * HEADER || size + 2 * HEADER > cx->config.memory_limit - cx->memory_used)
        return NULL;
    char *raw = cx->config.allocate(cx->config.user, size + 2 * HEADER);
    if (!raw)
        return NULL;
    cx->memory_used += size + 2 * HEADER;
    return block_in(raw, size, false);
}

void *context_allocate(kn_context *cx, size_t size)
{
    void *block = context_allocate_raw(cx, size);
    return block ? memset(block, 0, size) : NULL;
}

void context_release(kn_context *cx, void *block)
{
    if (!block)
        return;
    const BlockHeader header = ((BlockHeader *)block)[-1];
    cx->memory_used -= header.size;
    if (header.borrowed)
        free(header.raw);
    else
        cx->config.release(cx->config.user, header.raw);
}

/* Is the bail-out put off? */
static bool put_off(kn_context *cx, const char *why)
{
    if (cx->hold && !cx->hold->why) {
        cx->hold->why = why;
        cx->hold->stop(cx->hold->user);
    }
    return cx->hold != NULL;
}

void *context_borrow(kn_context *cx, size_t size, const char *why)
{
    char *raw = size <= SIZE_MAX - 2 * HEADER && put_off(cx, why) ? calloc(1, size + 2 * HEADER) : NULL;
    return raw ? block_in(raw, size, true) : NULL;
}

void context_hold(kn_context *cx, Hold *h)
{
    cx->hold = h;
}

void context_unhold(kn_context *cx)
{
    const char *why = cx->hold->why;
    cx->hold        = NULL;
    if (why)
        context_bail(cx, KN_ERROR_LIMIT, why);
}

kn_context *kn_context_new(const kn_config *config)
{
    kn_config c    = config ? *config : (kn_config){ 0 };
    c.allocate     = c.allocate ? c.allocate : default_allocate;
    c.release      = c.release ? c.release : default_release;
    c.memory_limit = c.memory_limit ? c.memory_limit : (size_t)8 << 30;
    c.quota        = c.quota ? c.quota : 100000000;
    c.max_errors   = c.max_errors > 0 ? c.max_errors : 50;

    kn_context *cx = c.allocate(c.user, sizeof *cx);
    if (!cx)
        return NULL;
    *cx = (kn_context){ .config = c, .quota_left = c.quota, .plain = newlocale(LC_ALL_MASK, "C", (locale_t)0) };
    for (int i = 0; i < WARNING_COUNT; i++)
        cx->silent[i] = !warning_table[i].on;
    arena_init(&cx->arena, cx);
    arena_init(&cx->call, cx);
    map_init(&cx->slots, &cx->arena);
    map_init(&cx->defines, &cx->arena);
    map_init(&cx->externs, &cx->arena);
    return cx;
}

void context_own(kn_context *cx, Owned *o)
{
    o->next   = cx->owned;
    cx->owned = o;
}

void context_disown(kn_context *cx, const Owned *o)
{
    Owned **link = &cx->owned;
    while (*link && *link != o)
        link = &(*link)->next;
    if (*link)
        *link = o->next;
}

void kn_context_free(kn_context *cx)
{
    if (!cx)
        return;
    while (cx->owned)
        cx->owned->free(cx, cx->owned);
    for (size_t i = 0; i < cx->blocks.count; i++)
        context_release(cx, cx->blocks.at[i]);
    arena_free(&cx->call);
    arena_free(&cx->arena);
    if (cx->plain)
        freelocale(cx->plain);
    cx->config.release(cx->config.user, cx);
}

void context_begin(kn_context *cx)
{
    arena_free(&cx->call);
    cx->diags.at    = NULL;
    cx->diags.count = cx->diags.capacity = 0;
    cx->error_count = cx->warning_count = 0;
    cx->muted                           = false;
    cx->status                          = KN_OK;
    cx->bailed                          = NULL;
    cx->quota_left                      = cx->config.quota;
}

/* Jumps to the innermost context_try. */
__attribute__((noreturn)) static void leave(kn_context *cx)
{
    while (cx->scratches != cx->tries->scratches)
        scratch_end(cx->scratches);
    longjmp(cx->tries->back, 1);
}

bool context_try(kn_context *cx, void (*fn)(void *arg), void *arg)
{
    Try            t      = { .outer = cx->tries, .scratches = cx->scratches, .hold = cx->hold };
    const locale_t before = cx->plain ? uselocale(cx->plain) : (locale_t)0;
    volatile bool  done   = false;
    cx->tries             = &t;
    if (!setjmp(t.back)) {
        fn(arg);
        done = true;
    }
    cx->tries = t.outer;
    cx->hold  = t.hold;
    if (before)
        uselocale(before);
    return done;
}

typedef struct DeepCall {
    kn_context *cx;
    void (*fn)(void *arg);
    void *arg;
    bool  done;
} DeepCall;

static void deep_main(void *arg)
{
    DeepCall *call = arg;
    call->done     = context_try(call->cx, call->fn, call->arg);
}

/* A bail-out on the new thread unwinds that thread's stack, then continues here on the caller's. */
void context_deep(kn_context *cx, size_t stack, void (*fn)(void *arg), void *arg)
{
    DeepCall call = { cx, fn, arg, false };
    if (cx->deep || stack_has(stack)) {
        fn(arg);
        return;
    }
    StackThread thread;
    cx->deep = true;
    if (!stack_start(&thread, STACK_DEEP, deep_main, &call)) {
        cx->deep = false;
        context_bail(cx, KN_ERROR_LIMIT, "the system gives no thread with the stack that this call needs");
    }
    stack_join(&thread);
    cx->deep = false;
    if (!call.done)
        leave(cx);
}

static void deep_here(void *arg)
{
    DeepCall *call = arg;
    context_deep(call->cx, STACK_DEEP, call->fn, call->arg);
}

bool context_call(kn_context *cx, void (*fn)(void *arg), void *arg)
{
    return context_try(cx, deep_here, &(DeepCall){ cx, fn, arg, false });
}

bool context_attempt(kn_context *cx, void (*fn)(void *arg), void *arg)
{
    const size_t      said   = cx->diags.count;
    const int         errors = cx->error_count, warnings = cx->warning_count;
    const kn_status   status = cx->status;
    const char *const bailed = cx->bailed;
    const uint64_t    kept   = cx->quota_left / 2;
    cx->quota_left -= kept;
    const bool done = context_try(cx, fn, arg) && cx->error_count == errors;
    cx->quota_left += kept;
    if (!done) {
        cx->diags.count   = said;
        cx->error_count   = errors;
        cx->warning_count = warnings;
        cx->status        = status;
        cx->bailed        = bailed;
        cx->muted         = false;
    }
    return done;
}

__attribute__((noreturn)) static void bail(kn_context *cx, kn_status status, ErrorId id, const char *message)
{
    cx->status = cx->status ? cx->status : status;
    cx->error_count++;
    cx->bailed       = message;
    cx->bailed_error = id;
    leave(cx);
}

void context_bail(kn_context *cx, kn_status status, const char *message)
{
    bail(cx, status, error_of_status(status), message);
}

void context_bail_internal(kn_context *cx, kn_status status, const char *message)
{
    bail(cx, status, ERROR_INTERNAL, message);
}

void context_spend(kn_context *cx, uint64_t n)
{
    static const char many[]  = "there are too many errors to go on";
    static const char spent[] = "this takes more steps than the quota of the context (kn_config.quota) allows";
    if (cx->error_count >= MOST_ERRORS && !put_off(cx, many))
        context_bail(cx, KN_ERROR_PROGRAM, many);
    if (n > cx->quota_left) {
        cx->quota_left = 0;
        if (put_off(cx, spent))
            return;
        context_bail(cx, KN_ERROR_LIMIT, spent);
    }
    cx->quota_left -= n;
}

static uint32_t name_hash(const char *s, size_t n)
{
    uint32_t h = 2166136261u;
    for (size_t i = 0; i < n; i++)
        h = (h ^ (unsigned char)s[i]) * 16777619u;
    return h;
}

static const char **name_slot(kn_context *cx, const char *s, size_t n)
{
    size_t i = name_hash(s, n) & (cx->name_capacity - 1);
    while (cx->name_table[i] && (strncmp(cx->name_table[i], s, n) || cx->name_table[i][n]))
        i = (i + 1) & (cx->name_capacity - 1);
    return &cx->name_table[i];
}

const char *intern_n(kn_context *cx, const char *name, size_t n)
{
    if (2 * (cx->name_count + 1) > cx->name_capacity) {
        const char **old   = cx->name_table;
        const size_t had   = cx->name_capacity;
        const char **table = ARENA_ARRAY(&cx->arena, const char *, had ? had * 2 : 256);
        cx->name_table     = table;
        cx->name_capacity  = had ? had * 2 : 256;
        for (size_t i = 0; i < had; i++)
            if (old[i])
                *name_slot(cx, old[i], strlen(old[i])) = old[i];
    }
    const char **at = name_slot(cx, name, n);
    if (!*at) {
        *at = arena_strndup(&cx->arena, name, n);
        cx->name_count++;
    }
    return *at;
}

const char *intern(kn_context *cx, const char *name)
{
    return intern_n(cx, name, strlen(name));
}
