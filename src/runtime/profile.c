/* SPDX-License-Identifier: MIT */
/* The profiler: for each function of a program, the time that threads spent in its own code, and how often it was
 * computed.
 *
 * A thread has a stack of the functions it is computing; at each enter and leave, the time since the last is charged to
 * the top. So times are exclusive, and those of one thread add up. Counters belong to one thread, which changes them
 * with plain loads and stores; a report reads those of all threads, and sees each of them at some moment. When a thread
 * ends, its counts are added to the program's.
 */
#include "runtime/internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef struct Counter {
    _Atomic int64_t ns, calls;
} Counter;

struct Profiled {
    const kn_rt_program *program; /* only compared */
    Profiled            *next;
    int                  count;
    Counter             *past; /* of threads that have ended */
    const char          *name;
    const char         **funcs;
};

struct Counts {
    Profiled *profiled;
    Counts   *next;
    Counter   at[];
};

static int64_t now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

/* By the one thread whose counter it is, or under the registry. */
static void add(_Atomic int64_t *counter, int64_t n)
{
    atomic_store_explicit(counter, atomic_load_explicit(counter, memory_order_relaxed) + n, memory_order_relaxed);
}

/* ---- Programs and their counters --------------------------------------------------------- */

static char *append(char **at, const char *text)
{
    char *copy = *at;
    strcpy(copy, text);
    *at += strlen(text) + 1;
    return copy;
}

/* All of it is one block: the struct, the counters, the table of names, the names. */
static Profiled *profiled_new(kn_rt *rt, const kn_rt_program *program)
{
    const size_t count = (size_t)program->func_count;
    size_t       bytes = sizeof(Profiled) + count * (sizeof(Counter) + sizeof(char *)) + strlen(program->name) + 1;
    for (size_t i = 0; i < count; i++)
        bytes += strlen(program->funcs[i]) + 1;
    Profiled *p = kn_rt_allocate(rt, bytes);
    if (!p)
        return NULL;
    memset(p, 0, bytes);
    p->program = program;
    p->count   = program->func_count;
    p->past    = (Counter *)(p + 1);
    p->funcs   = (const char **)(p->past + count);
    char *text = (char *)(p->funcs + count);
    p->name    = append(&text, program->name);
    for (size_t i = 0; i < count; i++)
        p->funcs[i] = append(&text, program->funcs[i]);
    p->next      = rt->profiled;
    rt->profiled = p;
    return p;
}

static Profiled *profiled_find(kn_rt *rt, const kn_rt_program *program)
{
    Profiled *p = rt->profiled;
    while (p && p->program != program)
        p = p->next;
    return p ? p : profiled_new(rt, program);
}

/* A thread's new counters for a program. */
static Counts *counts_new(kn_rt *rt, Profile *profile, const kn_rt_program *program)
{
    kn_rt_registry_lock();
    Profiled *p = profiled_find(rt, program);
    Counts   *c = p ? kn_rt_allocate(rt, sizeof *c + (size_t)p->count * sizeof(Counter)) : NULL;
    if (c) {
        memset(c, 0, sizeof *c + (size_t)p->count * sizeof(Counter));
        c->profiled     = p;
        c->next         = profile->counts;
        profile->counts = c;
    }
    kn_rt_registry_unlock();
    return c;
}

static Counts *counts_of(kn_rt *rt, Profile *profile, const kn_rt_program *program)
{
    for (Counts *c = profile->counts; c; c = c->next)
        if (c->profiled->program == program)
            return c;
    return counts_new(rt, profile, program);
}

void kn_rt_profile_retire(kn_rt *rt, Profile *profile)
{
    for (Counts *c = profile->counts, *next; c; c = next) {
        for (int i = 0; i < c->profiled->count; i++) {
            add(&c->profiled->past[i].ns, atomic_load_explicit(&c->at[i].ns, memory_order_relaxed));
            add(&c->profiled->past[i].calls, atomic_load_explicit(&c->at[i].calls, memory_order_relaxed));
        }
        next = c->next;
        kn_rt_release(rt, c);
    }
    profile->counts = NULL;
}

void kn_rt_kernels_drop(kn_rt *rt, KernelProfile **list)
{
    while (*list) {
        KernelProfile *p = *list;
        *list            = p->next;
        kn_rt_release(rt, p);
    }
}

void kn_rt_profile_drop(kn_rt *rt)
{
    kn_rt_kernels_drop(rt, &rt->kernels);
    for (Profiled *p = rt->profiled, *next; p; p = next) {
        next = p->next;
        kn_rt_release(rt, p);
    }
    rt->profiled = NULL;
}

void kn_rt_profile_reset(kn_rt *rt)
{
    rt = kn_rt_of(rt);
    kn_rt_registry_lock();
    for (Local *l = rt->locals; l; l = l->next)
        kn_rt_profile_retire(rt, &l->profile);
    kn_rt_profile_drop(rt);
    kn_rt_registry_unlock();
}

/* ---- Measuring -------------------------------------------------------------------------- */

/* Charges the time up to now to the function on top. */
static void charge(Profile *p)
{
    const int64_t t = now();
    if (p->depth > 0 && p->depth <= MOST_NESTED && p->stack[p->depth - 1].counts)
        add(&p->stack[p->depth - 1].counts->at[p->stack[p->depth - 1].func].ns, t - p->since);
    p->since = t;
}

static const char *func_name(const kn_rt_program *program, int32_t func)
{
    return func >= 0 && func < program->func_count ? program->funcs[func] : NULL;
}

void kn_rt_profile_enter(kn_rt *rt, const kn_rt_program *program, int32_t func)
{
    rt                = kn_rt_of(rt);
    Local      *local = kn_rt_local(rt);
    const char *name  = func_name(program, func);
    kn_rt_trace(rt, KN_RT_FUNC_BEGIN, program->name, name, 0);
    if (!local)
        return;
    Profile *p = &local->profile;
    charge(p);
    if (p->depth < MOST_NESTED)
        p->stack[p->depth] = (Frame){ name ? counts_of(rt, p, program) : NULL, func };
    p->depth++;
}

void kn_rt_profile_leave(kn_rt *rt, const kn_rt_program *program, int32_t func)
{
    rt           = kn_rt_of(rt);
    Local *local = kn_rt_local(rt);
    kn_rt_trace(rt, KN_RT_FUNC_END, program->name, func_name(program, func), 0);
    if (!local || local->profile.depth == 0)
        return;
    Profile *p = &local->profile;
    charge(p);
    p->depth--;
    if (p->depth < MOST_NESTED && p->stack[p->depth].counts)
        add(&p->stack[p->depth].counts->at[p->stack[p->depth].func].calls, 1);
}

/* ---- The report -------------------------------------------------------------------------- */

typedef struct ProfileRow {
    const char *name;
    int64_t     ns, calls;
} ProfileRow;

static int by_time(const void *a, const void *b)
{
    const ProfileRow *x = a, *y = b;
    return x->ns != y->ns ? (x->ns < y->ns) - (x->ns > y->ns) : strcmp(x->name, y->name);
}

/* The counts of all threads, the longest time first; the registry is held. */
static void collect_rows(kn_rt *rt, const Profiled *p, ProfileRow *rows)
{
    for (int i = 0; i < p->count; i++)
        rows[i] = (ProfileRow){ p->funcs[i], atomic_load_explicit(&p->past[i].ns, memory_order_relaxed),
                                atomic_load_explicit(&p->past[i].calls, memory_order_relaxed) };
    for (const Local *l = rt->locals; l; l = l->next)
        for (const Counts *c = l->profile.counts; c; c = c->next)
            for (int i = 0; c->profiled == p && i < p->count; i++) {
                rows[i].ns += atomic_load_explicit(&c->at[i].ns, memory_order_relaxed);
                rows[i].calls += atomic_load_explicit(&c->at[i].calls, memory_order_relaxed);
            }
    qsort(rows, (size_t)p->count, sizeof *rows, by_time);
}

/* Output text; keeps counting characters when the space is full, as snprintf does. */
typedef struct Report {
    char  *text;
    size_t size, length;
} Report;

__attribute__((format(printf, 2, 3))) static void report(Report *r, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    const size_t room = r->length < r->size ? r->size - r->length : 0;
    const int    n    = vsnprintf(room ? r->text + r->length : NULL, room, format, args);
    va_end(args);
    r->length += n > 0 ? (size_t)n : 0;
}

static void report_program(Report *r, const Profiled *p, const ProfileRow *rows)
{
    int64_t all = 0;
    for (int i = 0; i < p->count; i++)
        all += rows[i].ns;
    report(r, "%s: %.3f ms, all threads together\n        ms      %%      calls  function\n", p->name,
           (double)all * 1e-6);
    for (int i = 0; i < p->count; i++)
        report(r, "%10.3f  %5.1f  %9lld  %s\n", (double)rows[i].ns * 1e-6,
               all ? 100.0 * (double)rows[i].ns / (double)all : 0.0, (long long)rows[i].calls, rows[i].name);
}

/* The kernels of a program, in the order of their first launches. */
static void report_kernels(Report *r, const kn_rt *rt, const char *pipeline)
{
    double all = 0;
    for (const KernelProfile *k = rt->kernels; k; k = k->next)
        all += strcmp(k->profile.pipeline, pipeline) ? 0 : k->profile.seconds;
    if (all > 0)
        report(r, "%s: %.3f ms in kernels\n        ms      %%   launches  kernel\n", pipeline, all * 1e3);
    for (const KernelProfile *k = rt->kernels; k && all > 0; k = k->next) {
        const kn_kernel_profile *p = &k->profile;
        if (strcmp(p->pipeline, pipeline))
            continue;
        report(r, "%10.3f  %5.1f  %9lld  %s: %lld blocks of %d threads", p->seconds * 1e3, 100 * p->seconds / all,
               (long long)p->launches, p->kernel, (long long)p->blocks, (int)p->threads);
        if (p->registers)
            report(r, ", %d at once on a multiprocessor, %d registers, %d bytes spilled, %d bytes shared",
                   (int)p->resident_blocks, (int)p->registers, (int)p->spilled_bytes, (int)p->shared_bytes);
        report(r, "\n");
    }
}

/* Whether nothing of the pipeline of a kernel was reported yet: it has no functions on the host, and no kernel before
 * this one. */
static bool only_kernels(const kn_rt *rt, const KernelProfile *k)
{
    for (const Profiled *p = rt->profiled; p; p = p->next)
        if (!strcmp(p->name, k->profile.pipeline))
            return false;
    const KernelProfile *first = rt->kernels;
    while (strcmp(first->profile.pipeline, k->profile.pipeline))
        first = first->next;
    return first == k;
}

size_t kn_rt_profile_report(kn_rt *rt, char *text, size_t size)
{
    rt       = kn_rt_of(rt);
    Report r = { text, size, 0 };
    if (size)
        text[0] = 0;
    kn_rt_registry_lock();
    for (const Profiled *p = rt->profiled; p; p = p->next) {
        ProfileRow *rows = kn_rt_allocate(rt, ((size_t)p->count + 1) * sizeof *rows);
        if (!rows) {
            report(&r, "%s: no memory for its profile\n", p->name);
            continue;
        }
        collect_rows(rt, p, rows);
        report_program(&r, p, rows);
        report_kernels(&r, rt, p->name);
        kn_rt_release(rt, rows);
    }
    for (const KernelProfile *k = rt->kernels; k; k = k->next)
        if (only_kernels(rt, k))
            report_kernels(&r, rt, k->profile.pipeline);
    kn_rt_registry_unlock();
    return r.length;
}
